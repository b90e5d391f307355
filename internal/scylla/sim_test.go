// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim"
)

// A dead node is replaced by one with the same address, as happens with a Pod whose Service is its address, in a version whose list of members
// loses one of the two and in one that lists the address twice.
func TestRowsWhileANodeIsReplacedAtItsOwnAddress(t *testing.T) {
	for _, version := range []string{"2025.1.9", "2025.2.1", "2026.2.0"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				c, err := scyllasim.StartCluster(ctx, t.TempDir(), 3, scyllasim.Options{Version: version, StreamTime: 10 * time.Second})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				reader := NewReader(NewClient(c.Node(0).APIURL(), c.Network.Client()))
				status := func(row api.NodeStatusReport, id string) (api.NodeStatus, api.NodeState) {
					for _, o := range row.ObservedNodes {
						if string(o.HostID) == id {
							return o.Status, o.State
						}
					}
					return "", ""
				}
				until := func(what string, check func(api.NodeStatusReport) bool) api.NodeStatusReport {
					t.Helper()
					var last string
					for ctx.Err() == nil {
						row := reader.Read(ctx)
						if check(row) {
							return row
						}
						last, _ = api.EncodeNodeStatusReport(&row)
						time.Sleep(50 * time.Millisecond)
					}
					t.Fatalf("%s: last row %s\n%s", what, last, c.Node(2).Log())
					return api.NodeStatusReport{}
				}
				up := func(row api.NodeStatusReport, ids ...string) bool {
					for _, id := range ids {
						if s, _ := status(row, id); s != api.NodeStatusUp {
							return false
						}
					}
					return row.Error == nil && len(row.ObservedNodes) == len(ids)
				}
				a, b, dead := c.Node(0).HostID(), c.Node(1).HostID(), c.Node(2).HostID()
				row := until("all UP", func(r api.NodeStatusReport) bool { return up(r, a, b, dead) })
				if string(row.HostID) != a || row.OwnsTokens == nil || !*row.OwnsTokens || row.OperationMode != "NORMAL" || !strings.HasPrefix(row.ScyllaVersion, version) {
					t.Errorf("own facts: %+v", row)
				}

				members, err := reader.c.Members(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if v, gaps := ReadVitals(ctx, reader.c, members); len(gaps) > 0 || v.Uptime == nil || *v.Uptime <= 0 || v.Load == nil || *v.Load <= 0 || v.Tokens == nil || *v.Tokens == 0 {
					t.Errorf("vitals %+v, gaps %v", v, gaps)
				}

				c.Node(2).Kill()
				until("the dead node is DOWN", func(r api.NodeStatusReport) bool {
					s, _ := status(r, dead)
					return s == api.NodeStatusDown
				})
				if err := c.Wipe(2); err != nil {
					t.Fatal(err)
				}
				n, err := c.Start(2, func(o *scyllasim.Options) { o.ReplaceNodeFirstBoot = dead })
				if err != nil {
					t.Fatal(err)
				}
				seenReplaced := false
				until("the newcomer has taken over", func(r api.NodeStatusReport) bool {
					s, state := status(r, dead)
					if s == api.NodeStatusUp {
						text, _ := api.EncodeNodeStatusReport(&r)
						t.Fatalf("the dead node is UP: %s", text)
					}
					seenReplaced = seenReplaced || state == api.NodeStateBeingReplaced
					if up(r, a, b, n.HostID()) {
						return true
					}
					if _, newcomer := status(r, n.HostID()); s == "" && newcomer != "" && r.Error == nil {
						text, _ := api.EncodeNodeStatusReport(&r)
						t.Fatalf("the dead node vanished before it was replaced: %s", text)
					}
					return false
				})
				if !seenReplaced {
					t.Error("was never said to be replaced")
				}
				if err := n.WaitReady(ctx); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// The barrier lets any member be the first of a new cluster, also one that is not the seed: it waits for the seed, and the seed's barrier must be
// able to tell that this node has joined nothing, in every version, or both wait for ever.
func TestANodeThatWaitsForItsSeedOwnsNothing(t *testing.T) {
	for _, version := range []string{"5.1.18", "5.4.9", "6.1.2", "6.2.3", "2024.1.5", "2025.1.2", "2025.1.9", "2025.3.0", "2026.2.0"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				c, err := scyllasim.StartCluster(ctx, t.TempDir(), 0, scyllasim.Options{Version: version})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				seed := c.Options(1).ListenAddress // nobody is there yet
				n, err := c.Add(func(o *scyllasim.Options) { o.Seeds = []string{seed} })
				if err != nil {
					t.Fatal(err)
				}
				reader := NewReader(NewClient(n.APIURL(), c.Network.Client()))
				for {
					row := reader.Read(ctx)
					if row.HostID != "" && row.OwnsTokens != nil {
						if *row.OwnsTokens {
							t.Error("a node that waits for its seed says that it owns tokens")
						}
						break
					}
					if ctx.Err() != nil {
						last, _ := api.EncodeNodeStatusReport(&row)
						t.Fatalf("never said that it owns no tokens: last row %s\n%s", last, n.Log())
					}
					time.Sleep(50 * time.Millisecond)
				}
				// The seed comes, and both join.
				if _, err := c.Add(func(o *scyllasim.Options) { o.Seeds = []string{seed} }); err != nil {
					t.Fatal(err)
				}
				if err := n.WaitReady(ctx); err != nil {
					t.Fatal(err)
				}
				if row := reader.Read(ctx); row.OwnsTokens == nil || !*row.OwnsTokens {
					t.Errorf("after the join: %+v", row)
				}
			})
		})
	}
}

// A join while a node is down: what the peers' task manager and the newcomer's log say of it, and what a restart on the same volume says.
func TestACancelledJoinIsRecognised(t *testing.T) {
	for name, o := range map[string]struct {
		options scyllasim.Options
		code    words.Code
		exit    int
	}{
		"the coordinator's answer first, exit 1": {scyllasim.Options{Version: "2025.2.1"}, "JoinCancelled", 1},
		"the notice of the ban first, exit 0":    {scyllasim.Options{Version: "2026.2.0", BanNoticeFirst: true}, "Banned", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				c, err := scyllasim.StartCluster(ctx, t.TempDir(), 3, o.options)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				client := NewClient(c.Node(0).APIURL(), c.Network.Client())
				c.Node(2).Kill()
				for {
					if down, err := client.Down(ctx); err == nil && len(down) == 1 {
						break
					} else if ctx.Err() != nil {
						t.Fatal("never DOWN")
					}
					time.Sleep(50 * time.Millisecond)
				}
				n, err := c.Add(nil)
				if err != nil {
					t.Fatal(err)
				}
				if code := n.ExitCode(); code != o.exit {
					t.Errorf("exit code %d", code)
				}
				first := n.Log()
				if d, ok := FirstError(strings.NewReader(first)); !ok || d.Code != o.code || !d.Lost() {
					t.Errorf("first log: %+v, %v\n%s", d, ok, first)
				}
				var op api.NodeOperation
				for _, x := range NewReader(client).Read(ctx).Operations {
					if x.State == "failed" { // neither version names the node of a task that has ended, and nobody looked while it was open
						op = x
					}
				}
				if op.HostID != "" || op.Type != "bootstrap" || op.State != "failed" || !strings.Contains(op.Error, c.Node(2).HostID()) {
					t.Errorf("operation %+v", op)
				}
				if d, ok := Recognise(op.Error); !ok || d.Code != "JoinCancelled" {
					t.Errorf("task error %q: %+v", op.Error, d)
				}
				again, err := c.Start(3, nil)
				if err != nil {
					t.Fatal(err)
				}
				again.ExitCode()
				d, ok := FirstError(strings.NewReader(again.Log()))
				if !ok || !d.Lost() && d.Code != "JoinUnfinished" {
					t.Errorf("second log: %+v\n%s", d, again.Log())
				}
				if d, _ := FirstError(strings.NewReader(first + again.Log())); d.Code != o.code {
					t.Errorf("both logs: %+v", d)
				}
			})
		})
	}
}

// The client reads from each version what that version's task manager says, and remembers the node of a task that has ended since.
func TestC1TheClientReadsTheTasksOfEachVersion(t *testing.T) {
	type operations = []api.NodeOperation
	unnamed := func(string, string, string) (open, failed operations) {
		return operations{{State: "created"}, {Type: "replace", State: "running"}}, operations{{Type: "replace", State: "running"}, {Type: "bootstrap", State: "failed"}}
	}
	named := func(replace func(dead, newcomer string) string) func(dead, newcomer, joiner string) (open, failed operations) {
		return func(dead, newcomer, joiner string) (open, failed operations) {
			running := api.NodeOperation{Type: "replace", State: "running", HostID: hostid.ID(replace(dead, newcomer))}
			return operations{running, {Type: "bootstrap", State: "running", HostID: hostid.ID(joiner)}}, operations{running, {Type: "bootstrap", State: "failed", HostID: hostid.ID(joiner)}}
		}
	}
	requesting := named(func(_, newcomer string) string { return newcomer })
	target := named(func(dead, _ string) string { return dead })
	for version, want := range map[string]func(dead, newcomer, joiner string) (open, failed operations){
		"6.2.3": unnamed, "2025.1.9": unnamed, "2025.2.2": unnamed, "2025.3.1": unnamed, "2025.4.0": unnamed,
		"2026.1.0": requesting, "2026.2.4": requesting, "2026.3.0": requesting,
		"2026.4.0-dev": target,
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				c, err := scyllasim.StartCluster(ctx, t.TempDir(), 3, scyllasim.Options{Version: version})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				client := NewClient(c.Node(0).APIURL(), c.Network.Client())
				reader := NewReader(client)
				var last operations
				until := func(what string, check func(api.NodeStatusReport) bool) {
					t.Helper()
					for ctx.Err() == nil {
						row := reader.Read(ctx)
						if last = row.Operations; check(row) {
							return
						}
						time.Sleep(50 * time.Millisecond)
					}
					t.Fatalf("%s: last operations %+v\n%s", what, last, c.Node(0).Log())
				}
				dead := c.Node(2).HostID()
				c.Node(2).Kill()
				until("the dead node is DOWN", func(r api.NodeStatusReport) bool {
					return slices.ContainsFunc(r.ObservedNodes, func(o api.ObservedNodeStatusReport) bool {
						return string(o.HostID) == dead && o.Status == api.NodeStatusDown
					})
				})
				if err := c.Wipe(2); err != nil {
					t.Fatal(err)
				}
				newcomer, err := c.Start(2, func(o *scyllasim.Options) { o.ReplaceNodeFirstBoot, o.StreamTime = dead, time.Hour })
				if err != nil {
					t.Fatal(err)
				}
				until("the replacement streams", func(api.NodeStatusReport) bool { return newcomer.Mode() == "BOOTSTRAP" })
				joiner, err := c.Add(nil)
				if err != nil {
					t.Fatal(err)
				}
				until("the join is queued", func(r api.NodeStatusReport) bool { return len(r.Operations) == 2 })
				byType := cmpopts.SortSlices(func(a, b api.NodeOperation) bool { return a.Type+a.State < b.Type+b.State })
				open, failed := want(dead, newcomer.HostID(), joiner.HostID())
				if diff := cmp.Diff(open, last, byType); diff != "" {
					t.Errorf("open operations (-want +got):\n%s", diff)
				}
				list, err := client.NodeOperations(ctx)
				if err != nil {
					t.Fatal(err)
				}
				for _, task := range list {
					if task.Open() && task.Type != "replace" {
						if err := client.do(ctx, http.MethodPost, "/task_manager/abort_task/"+task.ID, func(io.Reader) error { return nil }); err != nil {
							t.Fatal(err)
						}
					}
				}
				until("the join has failed", func(r api.NodeStatusReport) bool {
					return slices.ContainsFunc(r.Operations, func(o api.NodeOperation) bool { return o.State == "failed" })
				})
				if diff := cmp.Diff(failed, last, byType, cmpopts.IgnoreFields(api.NodeOperation{}, "Error")); diff != "" {
					t.Errorf("operations after the join was aborted (-want +got):\n%s", diff)
				}
			})
		})
	}
}
