// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"bufio"
	"errors"
	"io"
	"regexp"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/pattern"
)

// Diagnosis is a known failure found in a log.
type Diagnosis struct {
	// Code is stable, CamelCase: JoinCancelled, Banned, AlreadyRemoved, Decommissioned, ReplacedNodeNotFound, ...
	Code string `json:"code"`
	// Text is ScyllaDB's own message, without the log's prefix.
	Text string `json:"text"`
	// Cure is the remedy, one or two sentences.
	Cure string `json:"cure"`
	// Poisoned is true when ScyllaDB will never start on this data directory again.
	Poisoned bool `json:"poisoned,omitempty"`
}

const (
	cureNewDirectory = "The data directory can never join: delete the Pod's PersistentVolumeClaim and then the Pod, so that the node starts on an empty volume with a new host ID."
	cureUpFirst      = " Before that, see that every node sees every other node UP (kubectl scylla status)."
	cureReplaceAgain = "The replaced node is banned for good. Start the replacement again with an empty volume and the original host ID (kubectl scylla replace resume)."
	cureWait         = "The cluster refused without keeping anything: wait until the other operation is over, ScyllaDB tries again when it is restarted."
)

type known struct {
	code     string
	poisoned bool
	cure     string
	pattern  func() *regexp.Regexp
}

// failures are ScyllaDB's known fatal errors, by their exact texts. The order matters where one message contains another.
var failures = []known{
	{"JoinCancelled", true, "A node was down when the coordinator looked, so the request was cancelled and this host ID banned. " + cureNewDirectory + cureUpFirst,
		pattern.Lazy(`request canceled because some required nodes are dead|Canceled\. Dead nodes: `)},
	{"RackInvalid", true, "Joining would break the replication of a keyspace over racks; see that replication factors and racks fit. " + cureNewDirectory,
		pattern.Lazy(`its addition would make some existing keyspace RF-rack-invalid`)},
	{"RolledBack", true, "The join was accepted and then rolled back. " + cureNewDirectory + cureUpFirst,
		pattern.Lazy(`Rolled back: `)},
	{"AlreadyRemoved", true, "The cluster has this host ID among those that left. " + cureNewDirectory,
		pattern.Lazy(`The node has already been removed from the cluster|is removed from the cluster\. Can not restart the removed node|A node that already left the cluster cannot be restarted`)},
	{"JoinUnfinished", true, "This host ID has asked to join before and was interrupted. " + cureNewDirectory,
		pattern.Lazy(`The node requested to join before but didn't finish the procedure`)},
	{"Decommissioned", true, "The node was decommissioned. " + cureNewDirectory + " If it is not wanted any more, scale its StatefulSet down.",
		pattern.Lazy(`This node was decommissioned and will not rejoin the ring`)},
	{"ReplacedNodeNotFound", true, "The host ID to replace is not a member: a wrong one, or a replacement that had finished or failed before. Compare it with `kubectl scylla status`. " + cureReplaceAgain,
		pattern.Lazy(`Replaced node with Host ID \S+ not found`)},
	{"ReplaceAliveNode", true, "The node to replace is alive. Stop it first, or do not replace it. " + cureNewDirectory,
		pattern.Lazy(`tried to replace alive node|It is only allowed to replace dead nodes`)},
	{"ReplaceTargetNotNormal", true, "The node to replace is being changed by another operation. See `kubectl scylla status`. " + cureNewDirectory,
		pattern.Lazy(`Cannot replace node \S+ because it is not in the 'normal' state`)},
	{"ReplaceIgnoredAlive", true, "A node on the ignore list is alive: take it off ignore_dead_nodes_for_replace. " + cureNewDirectory,
		pattern.Lazy(`Cannot replace node \S+ because ignored node \S+ is alive`)},
	{"ReplaceOtherDown", true, "Another node is down and not ignored: bring it back, or name its host ID in ignore_dead_nodes_for_replace. " + cureNewDirectory,
		pattern.Lazy(`Cannot replace node \S+ because node \S+ is down and not ignored`)},
	{"ReplaceOtherPlace", true, "A replacement must be in the same datacenter and rack as the node it replaces: mend the rack's configuration. " + cureNewDirectory,
		pattern.Lazy(`Cannot replace node \S+ with a node on a different data center or rack|different data center or rack`)},
	{"ReplaceBootstrapped", false, "The data directory belongs to a member: take the replace option away, or start with an empty volume.",
		pattern.Lazy(`Cannot replace address with a node that is already bootstrapped`)},
	{"AddressExists", false, "A node with this address is a member: replace it (kubectl scylla replace) or remove it first.",
		pattern.Lazy(`A node with address \S+ already exists, cancelling join`)},
	{"NotAliveInTime", true, "A node did not come up for the newcomer within the time the coordinator gives. " + cureNewDirectory + cureUpFirst,
		pattern.Lazy(`Failed to mark node as alive in \d+ ms`)},
	{"JoinRejected", true, "The coordinator refused the request for the reason in the text. " + cureNewDirectory,
		pattern.Lazy(`the topology coordinator rejected request to join the cluster|Join is rejected during validation`)},
	{"Banned", true, "The cluster has banned this host ID; since 2026.1 the process then ends with exit code 0 and is not started again. " + cureNewDirectory,
		pattern.Lazy(`received notification of being banned from the cluster`)},
	{"LegacyTopology", false, "The cluster still runs the topology of old versions: upgrade it to Raft-based topology first.",
		pattern.Lazy(`Cannot join existing cluster in legacy topology operations mode`)},
	{"OtherOperation", false, cureWait,
		pattern.Lazy(`Other bootstrapping/leaving/moving nodes detected, cannot bootstrap`)},
	{"GossipStatusUnknown", false, "Gossip has a node without a status: mend or remove it before adding nodes.",
		pattern.Lazy(`has gossip status=UNKNOWN\. Try fixing it before adding new node`)},
	{"NoSeedReached", false, "No seed answered: check the seeds, DNS, network policies and that a seed is running.",
		pattern.Lazy(`Unable to gossip with any nodes`)},
	{"StartupFailed", false, "ScyllaDB could not start for the reason in the text.",
		pattern.Lazy(`Startup failed: `)},
}

// prefix is the text of ScyllaDB's logger before a message: "ERROR 2025-09-01 12:00:00,123 [shard 0:main] init - ". Container runtimes can put a time stamp of their own before
// that.
var prefix = pattern.Lazy(`^(?:\S+Z? )?(?:(?:TRACE|DEBUG|INFO|WARN|ERROR)\s+)?\d{4}-\d\d-\d\d[ T][\d:,.]+Z?\s+(?:\[[^\]]*\]\s+)?(?:[\w:.-]+ - )?`)

// started is the line after which earlier failures are history.
var started = pattern.Lazy(`initialization completed\.`)

const maxLine = 16 << 10

// FirstError finds the failure that explains a container log. A process that is restarted on the same directory adds messages that only follow from the first failure, so the first
// one that spoils the directory counts, else the first of any kind; failures before a successful start are ignored. False when no known failure is found. Lines of any length, and
// logs that break off, are accepted.
func FirstError(log io.Reader) (Diagnosis, bool) {
	r := bufio.NewReaderSize(log, maxLine)
	var first Diagnosis
	found := false
	for {
		line, err := r.ReadSlice('\n')
		text := strings.TrimRight(string(line), "\r\n")
		long := errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = r.ReadSlice('\n')
		}
		if started().MatchString(text) && !long {
			first, found = Diagnosis{}, false
		} else if d, ok := recognise(text); ok && (!found || (d.Poisoned && !first.Poisoned)) {
			first, found = d, true
		}
		if err != nil {
			return first, found
		}
	}
}

func recognise(line string) (Diagnosis, bool) {
	for _, k := range failures {
		if k.pattern().MatchString(line) {
			return Diagnosis{Code: k.code, Text: clip(prefix().ReplaceAllString(line, "")), Cure: k.cure, Poisoned: k.poisoned}, true
		}
	}
	return Diagnosis{}, false
}

// Recognise finds a known failure in one message, such as a task's error. False when there is none.
func Recognise(message string) (Diagnosis, bool) { return recognise(message) }
