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
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim"
)

// inBubble runs a test of a cluster of the simulator in virtual time, an hour at most.
func inBubble(t *testing.T, nodes int, o scyllasim.Options, test func(context.Context, *testing.T, *scyllasim.Cluster)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		c, err := scyllasim.StartCluster(ctx, t.TempDir(), nodes, o)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		test(ctx, t, c)
	})
}

// readerOf is a reader of one node of the simulator.
func readerOf(c *scyllasim.Cluster, n *scyllasim.Node) *Reader {
	return NewReader(NewClient(n.APIURL(), c.Network.Client()))
}

// until reads rows until one is as the test wants it.
func until(ctx context.Context, t *testing.T, r *Reader, what string, is func(api.NodeStatusReport) bool) api.NodeStatusReport {
	t.Helper()
	for {
		row := r.Read(ctx)
		if is(row) {
			return row
		}
		if ctx.Err() != nil {
			last, _ := api.EncodeNodeStatusReport(&row)
			t.Fatalf("never %s: last row %s", what, last)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// stateOf is what a row says of a node.
func stateOf(row api.NodeStatusReport, id string) api.ObservedNodeStatusReport {
	at := slices.IndexFunc(row.ObservedNodes, func(o api.ObservedNodeStatusReport) bool { return string(o.HostID) == id })
	if at < 0 {
		return api.ObservedNodeStatusReport{}
	}
	return row.ObservedNodes[at]
}

// down is whether a row has a node DOWN.
func down(id string) func(api.NodeStatusReport) bool {
	return func(row api.NodeStatusReport) bool { return stateOf(row, id).Status == api.NodeStatusDown }
}

// A dead node is replaced by one with the same address, as happens with a Pod whose Service is its address, in a version whose list of members
// loses one of the two and in one that lists the address twice.
func TestRowsWhileANodeIsReplacedAtItsOwnAddress(t *testing.T) {
	for _, version := range []string{"2025.1.9", "2025.2.1", "2026.2.0"} {
		t.Run(version, func(t *testing.T) {
			inBubble(t, 3, scyllasim.Options{Version: version, StreamTime: 10 * time.Second}, func(ctx context.Context, t *testing.T, c *scyllasim.Cluster) {
				reader := readerOf(c, c.Node(0))
				up := func(row api.NodeStatusReport, ids ...string) bool {
					return row.Error == nil && len(row.ObservedNodes) == len(ids) &&
						!slices.ContainsFunc(ids, func(id string) bool { return stateOf(row, id).Status != api.NodeStatusUp })
				}
				a, b, dead := c.Node(0).HostID(), c.Node(1).HostID(), c.Node(2).HostID()
				row := until(ctx, t, reader, "all UP", func(r api.NodeStatusReport) bool { return up(r, a, b, dead) })
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
				until(ctx, t, reader, "DOWN", down(dead))
				if err := c.Wipe(2); err != nil {
					t.Fatal(err)
				}
				n, err := c.Start(2, func(o *scyllasim.Options) { o.ReplaceNodeFirstBoot = dead })
				if err != nil {
					t.Fatal(err)
				}
				seenReplaced := false
				until(ctx, t, reader, "taken over", func(r api.NodeStatusReport) bool {
					old := stateOf(r, dead)
					seenReplaced = seenReplaced || old.State == api.NodeStateBeingReplaced
					taken := up(r, a, b, n.HostID())
					vanished := old.Status == "" && stateOf(r, n.HostID()).State != "" && r.Error == nil && !taken
					if old.Status == api.NodeStatusUp || vanished {
						t.Fatalf("the dead node is UP, or vanished before it was replaced: %+v", r)
					}
					return taken
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
			inBubble(t, 0, scyllasim.Options{Version: version}, func(ctx context.Context, t *testing.T, c *scyllasim.Cluster) {
				seed := c.Options(1).ListenAddress // nobody is there yet
				n, err := c.Add(func(o *scyllasim.Options) { o.Seeds = []string{seed} })
				if err != nil {
					t.Fatal(err)
				}
				reader := readerOf(c, n)
				if row := until(ctx, t, reader, "sure of its tokens", func(r api.NodeStatusReport) bool { return r.HostID != "" && r.OwnsTokens != nil }); *row.OwnsTokens {
					t.Error("a node that waits for its seed says that it owns tokens")
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
			inBubble(t, 3, o.options, func(ctx context.Context, t *testing.T, c *scyllasim.Cluster) {
				c.Node(2).Kill()
				until(ctx, t, readerOf(c, c.Node(0)), "DOWN", down(c.Node(2).HostID()))
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
				for _, x := range readerOf(c, c.Node(0)).Read(ctx).Operations {
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
			inBubble(t, 3, scyllasim.Options{Version: version}, func(ctx context.Context, t *testing.T, c *scyllasim.Cluster) {
				reader := readerOf(c, c.Node(0))
				dead := c.Node(2).HostID()
				c.Node(2).Kill()
				until(ctx, t, reader, "DOWN", down(dead))
				if err := c.Wipe(2); err != nil {
					t.Fatal(err)
				}
				newcomer, err := c.Start(2, func(o *scyllasim.Options) { o.ReplaceNodeFirstBoot, o.StreamTime = dead, time.Hour })
				if err != nil {
					t.Fatal(err)
				}
				until(ctx, t, reader, "streaming", func(api.NodeStatusReport) bool { return newcomer.Mode() == "BOOTSTRAP" })
				joiner, err := c.Add(nil)
				if err != nil {
					t.Fatal(err)
				}
				row := until(ctx, t, reader, "queued", func(r api.NodeStatusReport) bool { return len(r.Operations) == 2 })
				byType := cmpopts.SortSlices(func(a, b api.NodeOperation) bool { return a.Type+a.State < b.Type+b.State })
				open, failed := want(dead, newcomer.HostID(), joiner.HostID())
				if diff := cmp.Diff(open, row.Operations, byType); diff != "" {
					t.Errorf("open operations (-want +got):\n%s", diff)
				}
				list, err := reader.c.NodeOperations(ctx)
				if err != nil {
					t.Fatal(err)
				}
				for _, task := range list {
					if task.Open() && task.Type != "replace" {
						if err := reader.c.do(ctx, http.MethodPost, "/task_manager/abort_task/"+task.ID, func(io.Reader) error { return nil }); err != nil {
							t.Fatal(err)
						}
					}
				}
				row = until(ctx, t, reader, "failed", func(r api.NodeStatusReport) bool {
					return slices.ContainsFunc(r.Operations, func(o api.NodeOperation) bool { return o.State == "failed" })
				})
				if diff := cmp.Diff(failed, row.Operations, byType, cmpopts.IgnoreFields(api.NodeOperation{}, "Error")); diff != "" {
					t.Errorf("operations after the join was aborted (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestC3EveryVersionThatHasACoordinatorSaysWhoItIs: a row carries the leader of group 0 from 6.0 on, and none before, which is no gap either.
func TestC3EveryVersionThatHasACoordinatorSaysWhoItIs(t *testing.T) {
	for version, has := range map[string]bool{
		"5.4.9": false, "6.0.1": true, "6.2.3": true, "2025.1.4": true, "2025.4.0": true, "2026.2.0": true, "2026.4.0-dev": true,
	} {
		t.Run(version, func(t *testing.T) {
			inBubble(t, 1, scyllasim.Options{Version: version}, func(ctx context.Context, t *testing.T, c *scyllasim.Cluster) {
				reader := readerOf(c, c.Node(0))
				row := reader.Read(ctx)
				for _, gap := range reader.Gaps() {
					if strings.Contains(gap.Error(), "/raft/") {
						t.Error(gap)
					}
				}
				want := ""
				if has {
					want = c.Node(0).HostID()
				}
				text, err := api.EncodeNodeStatusReport(&row)
				if err != nil {
					t.Fatal(err)
				}
				if back, err := api.DecodeNodeStatusReport(text); err != nil || string(row.Coordinator) != want || back.Coordinator != row.Coordinator {
					t.Errorf("coordinator %q, want %q; read back %+v, %v", row.Coordinator, want, back, err)
				}
			})
		})
	}
}

// TestC5TwoFoundersOfOneNameAreTwoClusters: the answers of two nodes of the simulator that each created a cluster, as a member does that lost its disk and has only itself as seed.
func TestC5TwoFoundersOfOneNameAreTwoClusters(t *testing.T) {
	inBubble(t, 1, scyllasim.Options{}, func(ctx context.Context, t *testing.T, c *scyllasim.Cluster) {
		own := c.Options(1).ListenAddress
		n, err := c.Add(func(o *scyllasim.Options) { o.Seeds = []string{own} })
		if err != nil {
			t.Fatal(err)
		}
		if err := n.WaitReady(ctx); err != nil {
			t.Fatal(err)
		}
		var rows []matrix.Row
		for _, n := range []*scyllasim.Node{c.Node(0), n} {
			said := readerOf(c, n).Read(ctx)
			row := matrix.FromCells([][]api.ObservedNodeStatusReport{said.ObservedNodes})[0]
			row.Reporter, row.Report = matrix.Ref{HostID: said.HostID}, &said
			if said.Coordinator != said.HostID {
				t.Errorf("coordinator %q of the founder %s", said.Coordinator, said.HostID)
			}
			rows = append(rows, row)
		}
		if split := matrix.New(rows, matrix.Options{}).Split(); len(split) != 2 {
			t.Errorf("split %v of rows %+v", split, rows)
		}
	})
}

// TestA5WhetherTopologyIsManagedByRaft: a cluster created before 6.0 reports through its upgrade state that it is not, until an administrator upgrades its topology too.
func TestA5WhetherTopologyIsManagedByRaft(t *testing.T) {
	inBubble(t, 1, scyllasim.Options{Version: "5.4.9"}, func(ctx context.Context, t *testing.T, c *scyllasim.Cluster) {
		if row := readerOf(c, c.Node(0)).Read(ctx); !row.LegacyTopology {
			t.Errorf("5.4: %+v", row)
		}
		c.Node(0).Stop()
		n, err := c.Start(0, func(o *scyllasim.Options) { o.Version = "6.0.1" })
		if err != nil {
			t.Fatal(err)
		}
		reader, upgrading := readerOf(c, n), false
		until(ctx, t, reader, "upgraded", func(row api.NodeStatusReport) bool {
			if row.OperationMode != "NORMAL" {
				return false
			}
			if row.LegacyTopology {
				code, _, err := n.Request(ctx, "POST", "/storage_service/raft_topology/upgrade")
				upgrading = upgrading || err == nil && code == 200
			}
			return !row.LegacyTopology
		})
		if row := reader.Read(ctx); row.LegacyTopology || !upgrading {
			t.Errorf("upgraded: %v, and after it: %+v", upgrading, row)
		}
	})
}

// TestB1AZeroTokenNodeSaysThatItHasJoined: on the way in it does not, and once it serves it does, while it owns no token at all.
func TestB1AZeroTokenNodeSaysThatItHasJoined(t *testing.T) {
	inBubble(t, 2, scyllasim.Options{}, func(ctx context.Context, t *testing.T, c *scyllasim.Cluster) {
		n, err := c.Add(func(o *scyllasim.Options) { o.ZeroToken = true })
		if err != nil {
			t.Fatal(err)
		}
		row := until(ctx, t, readerOf(c, n), "joined", func(row api.NodeStatusReport) bool {
			says := cluster.SaysJoined(&row)
			joined := says != nil && *says
			if !joined && row.OperationMode == "NORMAL" && row.Error == nil && len(row.ObservedNodes) == 3 {
				t.Fatalf("NORMAL among its members, and has not joined: %+v", row)
			}
			return joined
		})
		if row.OperationMode != "NORMAL" || row.OwnsTokens == nil || *row.OwnsTokens {
			t.Errorf("has joined by a row that says mode %s, tokens %v", row.OperationMode, row.OwnsTokens)
		}
		if o := stateOf(readerOf(c, c.Node(0)).Read(ctx), n.HostID()); o.State != "" && o.State != api.NodeStateNormal {
			t.Errorf("its peer has it as %s", o.State)
		}
	})
}
