// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// line is how ScyllaDB logs.
func line(level, module, text string) string {
	return level + " 2026-08-01 12:00:00,123 [shard  0:main] " + module + " - " + text + "\n"
}

func startupFailed(text string) string {
	return line("ERROR", "init", "Startup failed: std::runtime_error ("+text+")")
}

const rejected = "the topology coordinator rejected request to join the cluster: request canceled because some required nodes are dead"

func TestFirstError(t *testing.T) {
	boot := line("INFO ", "init", "Scylla version 2026.2.0-0.20260801.abcdef with build-id 0 starting ...")
	banned := line("ERROR", "raft_topology", "received notification of being banned from the cluster from "+idA+", terminating.")
	removed := startupFailed("The node has already been removed from the cluster")
	shadow := line("INFO ", "gossip", "Gossip shadow round started with nodes={10.0.0.1}")
	again := line("INFO ", "gossip", "Connect nodes={10.0.0.1} again ... (1 seconds passed)")
	for name, c := range map[string]struct {
		log  string
		code words.Code
		lost bool
		text string
	}{
		"join cancelled":                           {boot + startupFailed(rejected), "JoinCancelled", true, "Startup failed: std::runtime_error (" + rejected + ")"},
		"join cancelled, buried under restarts":    {boot + startupFailed(rejected) + strings.Repeat(boot+removed, 500), "JoinCancelled", true, ""},
		"banned with exit code 0":                  {boot + line("INFO ", "join", "request to join placed") + banned, "Banned", true, "received notification of being banned from the cluster from " + idA + ", terminating."},
		"seeds first, the join after":              {boot + startupFailed("Unable to gossip with any nodes={10.0.0.1} (ShadowRound).") + boot + startupFailed(rejected), "JoinCancelled", true, ""},
		"seeds only":                               {boot + startupFailed("Unable to gossip with any nodes={10.0.0.1} (ShadowRound)."), "NoSeedReached", false, ""},
		"already removed, the cause is gone":       {boot + removed, "AlreadyRemoved", true, ""},
		"removed, text of a restart":               {startupFailed("The node 10.0.0.1 with host_id " + idA + " is removed from the cluster. Can not restart the removed node to join the cluster again!"), "AlreadyRemoved", true, ""},
		"left":                                     {startupFailed("A node that already left the cluster cannot be restarted"), "AlreadyRemoved", true, ""},
		"unfinished":                               {startupFailed("The node requested to join before but didn't finish the procedure. Please clear the data directory and restart."), "JoinUnfinished", false, ""},
		"decommissioned":                           {startupFailed("This node was decommissioned and will not rejoin the ring unless all existing data is removed and the node is bootstrapped again"), "Decommissioned", true, ""},
		"replaced node not found":                  {startupFailed("Replaced node with Host ID " + idB + " not found"), "ReplacedNodeNotFound", false, ""},
		"replaced node alive":                      {startupFailed("tried to replace alive node " + idB), "ReplaceAliveNode", false, ""},
		"replaced node leads":                      {startupFailed("It is only allowed to replace dead nodes, however the node that was requested to be replaced is still seen as the group0 leader after 10s"), "ReplaceAliveNode", false, ""},
		"replaced node not normal":                 {startupFailed("Cannot replace node " + idB + " because it is not in the 'normal' state"), "ReplaceTargetNotNormal", false, ""},
		"ignored node alive":                       {startupFailed("Cannot replace node " + idB + " because ignored node " + idC + " is alive"), "ReplaceIgnoredAlive", false, ""},
		"another node down":                        {startupFailed("Cannot replace node " + idB + " because node " + idC + " is down and not ignored; "), "ReplaceOtherDown", false, ""},
		"another rack":                             {startupFailed("Cannot replace node " + idB + "/10.0.0.2 with a node on a different data center or rack. Current location=dc1/r1"), "ReplaceOtherPlace", false, ""},
		"replace option on a member's volume":      {startupFailed("Cannot replace address with a node that is already bootstrapped"), "ReplaceBootstrapped", false, ""},
		"address exists":                           {startupFailed("A node with address 10.0.0.1 already exists, cancelling join. Use replace_address if you want to replace this node."), "AddressExists", false, ""},
		"not alive in time":                        {startupFailed("Failed to mark node as alive in 30000 ms, nodes={10.0.0.1}"), "NotAliveInTime", false, ""},
		"rejected for another reason":              {startupFailed("the topology coordinator rejected request to join the cluster: wait for CDC"), "JoinRejected", false, ""},
		"NoHarm10: the newer text of another rack": {startupFailed("the topology coordinator rejected request to join the cluster: Cannot replace node in dc1/r1 with node in dc1/r2"), "ReplacePlaceRefused", false, ""},
		"NoHarm10: with and without tokens":        {startupFailed("the topology coordinator rejected request to join the cluster: Cannot replace the zero-token node " + idB + " with a token-owning node"), "ReplaceTokensRefused", false, ""},
		"NoHarm10: older than the cluster":         {startupFailed("the topology coordinator rejected request to join the cluster: Feature check failed. The node does not support some features that are enabled by the cluster: {X}"), "FeatureCheckFailed", true, ""},
		"NoHarm10: wait_for_ip":                    {startupFailed("the topology coordinator rejected request to join the cluster: wait_for_ip failed, error std::runtime_error (x)"), "AddressNotKnown", true, ""},
		"NoHarm10: member without its record":      {startupFailed("no entry for request id 3b0c"), "RequestNotFound", false, ""},
		"NoHarm10: no majority of group 0":         {startupFailed("group [1] raft operation [read_barrier] timed out, there is no raft quorum"), "ReadBarrierTimedOut", false, ""},
		"NoHarm10: a coordinator's log, of others": {line("WARN", "raft_topology", "removenode: Rolled back: failed") + line("INFO", "raft_topology", "request canceled because some required nodes are dead"), "", false, ""},
		"NoHarm10: kept, then lost":                {startupFailed("tried to replace alive node "+idB) + removed, "AlreadyRemoved", true, ""},
		"racks":                                    {startupFailed("the topology coordinator rejected request to join the cluster: Cannot add the node because its addition would make some existing keyspace RF-rack-invalid"), "RackInvalid", true, ""},
		"rolled back":                              {startupFailed("the topology coordinator rejected request to join the cluster: Rolled back: Failed stream ranges: 10.0.0.1"), "RolledBack", true, ""},
		"legacy topology":                          {startupFailed("Cannot join existing cluster in legacy topology operations mode because"), "LegacyTopology", false, ""},
		"another operation, legacy":                {startupFailed("Other bootstrapping/leaving/moving nodes detected, cannot bootstrap while consistent_rangemovement is true (check_for_endpoint_collision)"), "OtherOperation", false, ""},
		"gossip status unknown":                    {startupFailed("Node 10.0.0.1 has gossip status=UNKNOWN. Try fixing it before adding new node to the cluster."), "GossipStatusUnknown", false, ""},
		"anything else that ended it":              {startupFailed("Could not access /var/lib/scylla/data"), "StartupFailed", false, "Startup failed: std::runtime_error (Could not access /var/lib/scylla/data)"},
		"with the runtime's own time stamps":       {"2026-08-01T12:00:00.123456789Z " + startupFailed(rejected), "JoinCancelled", true, "Startup failed: std::runtime_error (" + rejected + ")"},
		"Windows line ends, no last line end":      {"x\r\n" + strings.TrimSuffix(removed, "\n") + "\r", "AlreadyRemoved", true, "Startup failed: std::runtime_error (The node has already been removed from the cluster)"},
		"what was before a good start is history":  {startupFailed("Unable to gossip with any nodes={}") + line("INFO ", "init", "Scylla version 2026.2.0 initialization completed."), "", false, ""},
		"and what comes after it is not":           {line("INFO ", "init", "Scylla version 2026.2.0 initialization completed.") + removed, "AlreadyRemoved", true, ""},
		"nothing known":                            {boot + line("WARN ", "gossip", "failure_detector_loop: Got error in the loop"), "", false, ""},
		"NoHarm7: in the shadow round":             {boot + shadow + again, "ShadowRound", false, "Gossip shadow round started with nodes={10.0.0.1}"},
		"NoHarm7: in a later shadow round":         {boot + shadow + again + startupFailed("Unable to gossip with any nodes={10.0.0.1} (ShadowRound).") + boot + shadow, "ShadowRound", false, ""},
		"NoHarm7: refused before that":             {startupFailed("tried to replace alive node "+idB) + boot + shadow, "ReplaceAliveNode", false, ""},
		"NoHarm7: past it":                         {boot + shadow + again + line("INFO ", "gossip", "Gossip shadow round finished with nodes_talked={10.0.0.1}"), "", false, ""},
		"NoHarm7: skipped":                         {boot + shadow + line("WARN ", "gossip", "All nodes={10.0.0.1} are down for get_endpoint_states verb. Skip ShadowRound."), "", false, ""},
		"NoHarm7: in discovery":                    {boot + shadow + line("INFO ", "raft_group0", "server "+idA+" found no local group 0. Discovering..."), "", false, ""},
		"NoHarm7: stopped in it":                   {boot + shadow + line("INFO ", "init", "Startup interrupted"), "", false, ""},
		"no asynchronous I/O":                      {"FATAL: Exception during startup, aborting: std::runtime_error (Could not setup Async I/O: Resource temporarily unavailable. The most common cause is not enough request capacity in /proc/sys/fs/aio-max-nr.)\n2026-11-21 11:59:01,107 INFO exited: scylla (exit status 7; not expected)\n", "AioExhausted", false, ""},
		"a full file system":                       {boot + line("ERROR", "commitlog", "Exception in segment reservation: storage_io_error (Storage I/O error: 28: No space left on device)"), "DiskNoSpace", false, ""},
		"a full file system, at the entrypoint":    {"OSError: [Errno 28] No space left on device: '/etc/scylla.d/io.conf'\n", "DiskNoSpace", false, ""},
		"a damaged file":                           {boot + startupFailed("sstables::malformed_sstable_exception (Failed to read partition from SSTable /x/me-3g-big-Data.db: invalid row flags)"), "SSTableMalformed", false, ""},
		"two addresses of one host ID":             {boot + line("ERROR", "system_keyspace", "duplicate IP for host_id "+idA+", first IP 10.1.0.21, second IP 10.1.0.22") + "Aborting on shard 0, in scheduling group gossip.\n" + boot, "DuplicateAddress", false, ""},
		"an address that was replaced before":      {boot + startupFailed("Cannot replace_address 10.9.0.41 because it doesn't exist in gossip"), "ReplaceNotInGossip", false, ""},
		"killed in its container":                  {boot + line("INFO ", "init", "Scylla version 2025.2.1 initialization completed.") + "2026-11-21 11:58:00,100 INFO exited: scylla (terminated by SIGKILL; not expected)\n", "ScyllaDBKilled", false, ""},
		"killed, and well since":                   {"2026-11-21 11:58:00,100 INFO exited: scylla (terminated by SIGKILL; not expected)\n" + boot + line("INFO ", "init", "Scylla version 2025.2.1 initialization completed."), "", false, ""},
		"stopped as expected":                      {"2026-11-21 11:58:00,100 INFO exited: scylla (exit status 0; expected)\n", "", false, ""},
		"a decommission without a place":           {line("ERROR", "raft_topology", "tablets draining failed with std::runtime_error (x). Aborting the topology operation"), "TabletsNotDrained", false, ""},
		"an operation, and then its own end":       {line("ERROR", "raft_topology", "tablets draining failed with x") + startupFailed("Could not access /var/lib/scylla/data"), "StartupFailed", false, ""},
		"a member without its address":             {line("WARN", "gossip", "=== Gossip round FAIL: std::runtime_error (Host 10.1.0.9 does not have HOST_ID application_state)"), "MemberWithoutAddress", false, ""},
		"the last voter":                           {line("ERROR", "storage_service", "decommission[0bb2]: Operation failed: std::invalid_argument (The configuration must have at least one voter)"), "LastVoter", false, ""},
		"nothing":                                  {"", "", false, ""},
		"a line longer than any buffer is skipped": {strings.Repeat("x", 10*maxLine) + "\n" + removed, "AlreadyRemoved", true, ""},
		"a known text at the head of such a line":  {strings.TrimSuffix(removed, "\n") + strings.Repeat("x", 10*maxLine) + "\n", "AlreadyRemoved", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d, ok := FirstError(strings.NewReader(c.log))
			if ok != (c.code != "") || d.Code != c.code || d.Lost() != c.lost {
				t.Fatalf("%+v, %v; want %s", d, ok, c.code)
			}
			if c.text != "" && d.Text != c.text {
				t.Errorf("text %q, want %q", d.Text, c.text)
			}
			if ok && d.Text == "" {
				t.Errorf("no text: %+v", d)
			}
		})
	}
}

func TestFirstErrorOfALogThatBreaksOff(t *testing.T) {
	broken := io.MultiReader(strings.NewReader(startupFailed(rejected)), iotest.ErrReader(errors.New("connection lost")))
	if d, ok := FirstError(broken); !ok || d.Code != "JoinCancelled" {
		t.Errorf("%+v, %v", d, ok)
	}
}

func TestRecogniseTaskErrors(t *testing.T) {
	for text, code := range map[string]words.Code{
		"Canceled. Dead nodes: {" + idB + "}":      "JoinCancelled",
		"Rolled back: Failed stream ranges: 1":     "RolledBack",
		"Join is rejected during validation":       "JoinInvalid",
		"operation was aborted by somebody's hand": "",
	} {
		if d, ok := Recognise(text); ok != (code != "") || d.Code != code {
			t.Errorf("%q: %+v", text, d)
		}
	}
}

func TestCure(t *testing.T) {
	for code, want := range map[words.Code]words.Code{
		words.JoinCancelled:  words.JoinCancelled,
		words.Decommissioned: words.CureDecommissioned,
		words.NodeDown:       "", // of the catalogue, and no text of a log
		"Newer":              "",
	} {
		if got := Cure(code).Code; got != want {
			t.Errorf("%s: %q, want %q", code, got, want)
		}
	}
}

func FuzzFirstError(f *testing.F) {
	f.Add([]byte(startupFailed(rejected)))
	f.Add([]byte("\n\r\x00"))
	f.Add([]byte(strings.Repeat("y", 2*maxLine) + "\nRolled back: z"))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, ok := FirstError(bytes.NewReader(b))
		if ok != (d.Code != "") || len(d.Text) > maxErrorMessage+len("…") {
			t.Fatalf("%+v, %v", d, ok)
		}
		// A log that is read in small pieces says the same.
		if e, _ := FirstError(iotest.OneByteReader(bytes.NewReader(b))); e != d {
			t.Fatalf("%+v, in pieces %+v", d, e)
		}
	})
}
