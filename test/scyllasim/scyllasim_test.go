// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

func TestJoinIsVisibleStepByStep(t *testing.T) {
	inBubble(t, 2, Options{StreamTime: 30 * time.Second}, func(t *testing.T, c *Cluster) {
		old, joiner := c.Node(0), add(t, c, nil)
		eventually(t, "the joiner streams", func() bool { return joiner.Mode() == rules.ModeBootstrap })
		if got := list(t, old, "/storage_service/nodes/joining"); !slices.Equal(got, []string{joiner.Address()}) {
			t.Errorf("nodes/joining = %v", got)
		}
		if got := len(hostIDs(t, old)); got != 3 {
			t.Errorf("host_id has %d entries while the third bootstraps", got)
		}
		if got := list(t, old, "/storage_service/tokens/"+joiner.Address()); len(got) != 0 {
			t.Errorf("a bootstrapping node owns tokens %v", got)
		}
		if code, body := get(t, joiner, "/storage_service/native_transport"); code != 404 || body != `{"message": "Not found", "code": 404}` {
			t.Errorf("native_transport on a joiner: %d %s", code, body)
		}
		last := func() task { l := tasks(t, old); return l[len(l)-1] }
		if got, want := last(), (task{Type: "bootstrap", State: "running", Entity: joiner.HostID()}); got != want {
			t.Errorf("task %+v, want %+v", got, want)
		}
		if v := joiner.local.get("bootstrapped"); v != "" {
			t.Errorf("bootstrapped = %q before the end", v)
		}
		ready(t, joiner)
		if got := list(t, old, "/storage_service/tokens/"+joiner.Address()+"/"); len(got) != tokensPerNode {
			t.Errorf("a normal node owns %d tokens", len(got))
		}
		if got := last().State; got != "done" {
			t.Errorf("task is %s after the join", got)
		}
		if _, body := get(t, joiner, "/storage_service/native_transport"); body != "true" {
			t.Errorf("native transport %s", body)
		}
	})
}

func TestDeadNodeCancelsJoinAndPoisonsTheDataDirectory(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		version   string
		notice    bool
		first     int
		firstText string
		again     int
		againText string
	}{
		"before ban notices": {
			version: "2025.4.1", first: 1, again: 1,
			firstText: "Startup failed: std::runtime_error (the topology coordinator rejected request to join the cluster: request canceled because some required nodes are dead)",
			againText: "Startup failed: std::runtime_error (the topology coordinator rejected request to join the cluster: The node has already been removed from the cluster)",
		},
		"answer read before the notice": {
			version: "2026.1.0", first: 1, again: 0,
			firstText: "request canceled because some required nodes are dead",
			againText: "received notification of being banned from the cluster from",
		},
		"notice read before the answer": {
			version: "2026.1.0", notice: true, first: 0, again: 0,
			firstText: "received notification of being banned from the cluster from",
			againText: "received notification of being banned from the cluster from",
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, Options{Version: tc.version, BanNoticeFirst: tc.notice}, func(t *testing.T, c *Cluster) {
				dead := kill(t, c, 2)
				joiner := add(t, c, nil)
				wantExit(t, joiner, tc.first, tc.firstText)
				id := joiner.HostID()
				if st := c.Node(0).g0.state().State(id); st != rules.Left {
					t.Errorf("the joiner is %q", st)
				}
				eventually(t, "every member lists the failure", func() bool {
					l := tasks(t, c.Node(1))
					return l[len(l)-1] == task{"bootstrap", "failed", "", "Canceled. Dead nodes: {" + dead.HostID() + "}"}
				})
				// All nodes are up again, and still the same data directory cannot join.
				back := restart(t, c, 2, nil)
				ready(t, back)
				waitUp(t, c.Node(0), back.Address())
				waitUp(t, c.Node(1), back.Address())
				again := restart(t, c, 3, nil)
				wantExit(t, again, tc.again, tc.againText)
				if again.HostID() != id {
					t.Errorf("host ID changed from %s to %s", id, again.HostID())
				}
				// A new data directory can.
				if err := c.Wipe(3); err != nil {
					t.Fatal(err)
				}
				ready(t, restart(t, c, 3, nil))
			})
		})
	}
}

func TestJoinsAreSerialised(t *testing.T) {
	inBubble(t, 1, Options{StreamTime: 15 * time.Second}, func(t *testing.T, c *Cluster) {
		a, b := add(t, c, nil), add(t, c, nil)
		eventually(t, "one streams while the other is queued", func() bool {
			l, modes := tasks(t, c.Node(0)), []string{a.Mode(), b.Mode()}
			slices.Sort(modes)
			return len(l) == 3 && l[1].State == "running" && l[2].State == "running" && slices.Equal(modes, []string{rules.ModeBootstrap, rules.ModeStarting})
		})
		if got := len(hostIDs(t, c.Node(0))); got != 2 {
			t.Errorf("%d host IDs; a queued node must not be among them", got)
		}
		if got := list(t, c.Node(0), "/gossiper/endpoint/live"); len(got) != 3 {
			t.Errorf("live %v; a queued node gossips", got)
		}
		ready(t, a)
		ready(t, b)
	})
}

func TestQueuedJoinIsJudgedAgainWhenItsTurnComes(t *testing.T) {
	inBubble(t, 3, Options{Version: "2025.3.0", StreamTime: 10 * time.Second}, func(t *testing.T, c *Cluster) {
		slow := func(o *Options) { o.StreamTime = time.Hour } // it never gets to the end
		first := add(t, c, slow)
		eventually(t, "the first joiner streams", func() bool { return first.Mode() == rules.ModeBootstrap })
		second := add(t, c, slow)
		waitTasks(t, c.Node(0), 5)
		// The first joiner dies while it streams: it is rolled back, and is no normal node that could hold up the second.
		first.Kill()
		eventually(t, "the first join is rolled back", func() bool {
			return strings.HasPrefix(tasks(t, c.Node(0))[3].Error, "Rolled back: Failed stream ranges: ")
		})
		// A member dies while the second streams: the second is rolled back, and the third, whose turn comes now, is cancelled.
		third := add(t, c, slow)
		waitTasks(t, c.Node(0), 6)
		c.Node(2).Kill()
		wantExit(t, second, 1, "Bootstrap failed. See earlier errors (Rolled back: Failed stream ranges: ")
		wantExit(t, third, 1, "request canceled because some required nodes are dead")
	})
}

func TestCleanStopIsDownAtOnceAndKillOnlyByDetector(t *testing.T) {
	inBubble(t, 3, Options{}, func(t *testing.T, c *Cluster) {
		began := time.Now()
		c.Node(2).Stop()
		if code := c.Node(2).ExitCode(); code != 0 {
			t.Errorf("exit code %d after a clean stop", code)
		}
		waitDown(t, c.Node(0), c.Node(2).Address())
		stopped := time.Since(began)
		began = time.Now()
		c.Node(1).Kill()
		waitDown(t, c.Node(0), c.Node(1).Address())
		killed := time.Since(began)
		if killed < 20*time.Second || killed > 25*time.Second {
			t.Errorf("DOWN %v after a kill, want 22 s, give or take an echo", killed)
		}
		if stopped >= killed {
			t.Errorf("DOWN %v after a clean stop, %v after a kill: the stop was not announced", stopped, killed)
		}
	})
}

func TestRestartedNodeSeesEverybodyDownAtFirst(t *testing.T) {
	inBubble(t, 3, Options{}, func(t *testing.T, c *Cluster) {
		c.Node(1).Stop()
		c.Network.Cut(c.Node(1).Address(), c.Node(0).Address())
		c.Network.Cut(c.Node(1).Address(), c.Node(2).Address())
		n := restart(t, c, 1, nil)
		eventually(t, "gossip runs", func() bool {
			code, _ := get(t, n, "/storage_service/host_id")
			return code == 200
		})
		if got := list(t, n, "/gossiper/endpoint/live"); !slices.Equal(got, []string{n.Address()}) {
			t.Errorf("live %v", got)
		}
		if got := list(t, n, "/gossiper/endpoint/down"); len(got) != 2 {
			t.Errorf("down %v", got)
		}
		if got := len(hostIDs(t, n)); got != 3 {
			t.Errorf("%d members after a restart alone", got)
		}
		c.Network.HealAll()
		if err := c.WaitAllUp(testContext(t)); err != nil {
			t.Fatal(err)
		}
	})
}

func TestPeersFollowANewAddressByHostID(t *testing.T) {
	inBubble(t, 2, Options{}, func(t *testing.T, c *Cluster) {
		id := c.Node(1).HostID()
		c.Node(1).Kill()
		moved := c.Options(9).ListenAddress
		n := restart(t, c, 1, func(o *Options) { o.ListenAddress, o.APIAddress = moved, moved })
		ready(t, n)
		eventually(t, "the new address is known", func() bool {
			ids := hostIDs(t, c.Node(0))
			return slices.Contains(ids, kv{moved, id}) && len(ids) == 2
		})
		waitUp(t, c.Node(0), moved)
	})
}

func TestDecommission(t *testing.T) {
	inBubble(t, 3, Options{StreamTime: 10 * time.Second}, func(t *testing.T, c *Cluster) {
		n := c.Node(0) // the leader: coordination must move on
		done := make(chan string, 1)
		go func() {
			code, body, err := n.Request(context.WithoutCancel(t.Context()), "POST", "/storage_service/decommission")
			done <- fmt.Sprint(code, body, err)
		}()
		eventually(t, "the node is leaving", func() bool {
			return slices.Equal(list(t, c.Node(1), "/storage_service/nodes/leaving"), []string{n.Address()})
		})
		if m := n.Mode(); m != rules.ModeLeaving {
			t.Errorf("mode %s", m)
		}
		if got := <-done; got != "200<nil>" && got != "200 <nil>" {
			t.Errorf("decommission answered %q", got)
		}
		if m := text(t, n, "/storage_service/operation_mode"); m != rules.ModeDecommissioned {
			t.Errorf("mode %s", m)
		}
		if code, body := get(t, n, "/storage_service/host_id"); code != 500 || body != `{"message": "std::runtime_error (The gossiper is not ready yet)", "code": 500}` {
			t.Errorf("host_id on a decommissioned node: %d %s", code, body)
		}
		eventually(t, "peers forget it", func() bool {
			return len(hostIDs(t, c.Node(1))) == 2 && len(list(t, c.Node(2), "/gossiper/endpoint/down")) == 0
		})
		n.Stop()
		again := restart(t, c, 0, nil)
		wantExit(t, again, 1, "Startup failed: std::runtime_error (This node was decommissioned and will not rejoin the ring unless all existing data is removed and the node is bootstrapped again)")
	})
}

func TestDecommissionOfTheLastNodeIsRefused(t *testing.T) {
	inBubble(t, 1, Options{}, func(t *testing.T, c *Cluster) {
		if got := post(t, c.Node(0), "/storage_service/decommission"); !strings.HasPrefix(got, "500 ") || !strings.Contains(got, "Cannot decommission last node in the cluster") {
			t.Error(got)
		}
		if m := c.Node(0).Mode(); m != rules.ModeNormal {
			t.Errorf("mode %s", m)
		}
	})
}

func TestRemoveNode(t *testing.T) {
	inBubble(t, 3, Options{}, func(t *testing.T, c *Cluster) {
		victim := c.Node(2)
		remove := func(id string) string { return post(t, c.Node(0), "/storage_service/remove_node?host_id="+id) }
		if got := remove(victim.HostID()); !strings.Contains(got, "the node being removed is alive, maybe you should use decommission instead") {
			t.Error(got)
		}
		if got := remove("00000000-0000-0000-0000-0000000000ff"); !strings.Contains(got, "is not found in the cluster") {
			t.Error(got)
		}
		if got := remove("x"); !strings.HasPrefix(got, "400 ") {
			t.Error(got)
		}
		kill(t, c, 2)
		if got := remove(victim.HostID()); got != "200 " {
			t.Fatal(got)
		}
		eventually(t, "gone", func() bool { return len(hostIDs(t, c.Node(1))) == 2 })
		wantExit(t, restart(t, c, 2, nil), 0, "received notification of being banned from the cluster from")
		// With the ghost gone a join succeeds.
		ready(t, add(t, c, nil))
	})
}

func split(c *Cluster, leader string) (alone *Node, others []*Node) {
	for _, n := range c.nodes {
		if n.HostID() == leader {
			alone = n
		} else {
			others = append(others, n)
		}
	}
	return alone, others
}

func TestMinorityMakesNoProgress(t *testing.T) {
	inBubble(t, 3, Options{}, func(t *testing.T, c *Cluster) {
		leader := text(t, c.Node(0), "/raft/leader_host")
		alone, others := split(c, leader)
		for _, o := range others {
			c.Network.Cut(alone.Address(), o.Address())
		}
		eventually(t, "the cut-off leader gives up", func() bool { return text(t, alone, "/raft/leader_host") == "00000000-0000-0000-0000-000000000000" })
		eventually(t, "the majority elects another", func() bool {
			return !slices.ContainsFunc(others, func(o *Node) bool {
				return slices.Contains([]string{leader, "00000000-0000-0000-0000-000000000000"}, text(t, o, "/raft/leader_host"))
			})
		})
		waitDown(t, others[0], alone.Address())
		waitDown(t, others[1], alone.Address())
		before := alone.g0.p.Com.Index
		if got := post(t, others[0], "/storage_service/remove_node?host_id="+alone.HostID()); got != "200 " {
			t.Fatalf("remove_node in the majority: %s", got)
		}
		alone.g0.mu.Lock()
		after := alone.g0.p.Com.Index
		alone.g0.mu.Unlock()
		if after != before {
			t.Errorf("the minority committed: %d -> %d", before, after)
		}
		c.Network.HealAll()
		wantExit(t, alone, 0, "received notification of being banned")
	})
}

func TestRejoinOfAnUnfinishedJoinNeverSucceeds(t *testing.T) {
	inBubble(t, 2, Options{Version: "2025.3.1", StreamTime: 60 * time.Second}, func(t *testing.T, c *Cluster) {
		j := add(t, c, nil)
		eventually(t, "streams", func() bool { return j.Mode() == rules.ModeBootstrap })
		j.Kill()
		waitLeft(t, c, j.HostID())
		for range 2 {
			wantExit(t, restart(t, c, 2, nil), 1, "no entry for request id")
		}
	})
}

func TestOrphanIsBannedAfterAMinute(t *testing.T) {
	inBubble(t, 2, Options{}, func(t *testing.T, c *Cluster) {
		// Its snitch is refused synchronously, so no request is stored; but it gossiped.
		n := add(t, c, func(o *Options) { o.Snitch = "Ec2Snitch" })
		wantExit(t, n, 1, "rejected request to join the cluster: Snitch name check failed")
		if st := c.Node(0).g0.state().State(n.HostID()); st != "" {
			t.Fatalf("state %q right after", st)
		}
		waitLeft(t, c, n.HostID())
	})
}

func TestOnlyTheCoordinatorsOwnViewCounts(t *testing.T) {
	inBubble(t, 3, Options{}, func(t *testing.T, c *Cluster) {
		_, others := split(c, text(t, c.Node(0), "/raft/leader_host"))
		// The two others see each other DOWN; the leader sees both.
		c.Network.Cut(others[0].Address(), others[1].Address())
		waitDown(t, others[0], others[1].Address())
		waitDown(t, others[1], others[0].Address())
		ready(t, add(t, c, nil))
	})
}

func TestZeroTokenNodeIsANormalMemberWithoutTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		zero := func(o *Options) { o.ZeroToken = true }
		c := startCluster(t, 2, Options{})
		n := add(t, c, zero)
		ready(t, n)
		if err := c.WaitAllUp(testContext(t)); err != nil {
			t.Fatal(err)
		}
		for _, observer := range []*Node{c.Node(0), n} {
			if ids := hostIDs(t, observer); !slices.Contains(ids, kv{n.Address(), n.HostID()}) {
				t.Errorf("%s: host_id %v has no zero-token node", observer.Address(), ids)
			}
			if got := list(t, observer, "/storage_service/tokens/"+n.Address()); len(got) != 0 {
				t.Errorf("%s: tokens %v", observer.Address(), got)
			}
		}
		if m := text(t, n, "/storage_service/operation_mode"); m != rules.ModeNormal {
			t.Errorf("mode %s", m)
		}
		if strings.Contains(n.Log(), "entering BOOTSTRAP mode") {
			t.Error("a node without tokens streamed")
		}
		eventually(t, "gossip says NORMAL", func() bool { return c.Node(0).gossip.app(n.HostID(), appStatus) == "NORMAL," })
		if v := n.local.get("bootstrapped"); v != "COMPLETED" {
			t.Errorf("bootstrapped is %q", v)
		}
		n.Stop()
		n = restart(t, c, 2, zero)
		ready(t, n)

		kill(t, c, 2)
		wantExit(t, replacement(t, c, 2, n.HostID(), nil), 1, "Cannot replace the zero-token node "+n.HostID()+" with a token-owning node")
		again := replacement(t, c, 2, n.HostID(), zero)
		ready(t, again)
		if ids := hostIDs(t, c.Node(0)); len(ids) != 3 || !slices.Contains(ids, kv{again.Address(), again.HostID()}) {
			t.Errorf("host_id after the replacement: %v", ids)
		}
	})
}

func TestZeroTokenRefusals(t *testing.T) {
	inBubble(t, 0, Options{}, func(t *testing.T, c *Cluster) {
		wantExit(t, add(t, c, func(o *Options) { o.ZeroToken = true }), 1, "Cannot start the first node in the cluster as zero-token")
		if err := c.Wipe(0); err != nil {
			t.Fatal(err)
		}
		ready(t, restart(t, c, 0, nil))
		ready(t, add(t, c, func(o *Options) { o.ZeroToken = true }))
		if got := post(t, c.Node(0), "/storage_service/decommission"); !strings.HasPrefix(got, "500 ") || !strings.Contains(got, "Cannot decommission the last token-owning node in the cluster") {
			t.Errorf("decommission of the only owner: %s", got)
		}
		o := c.Options(5)
		o.Version, o.ZeroToken = "6.1.0", true
		if _, err := StartNode(t.Context(), o); err == nil || !strings.Contains(err.Error(), "has no zero-token nodes") {
			t.Errorf("6.1 as a zero-token node: %v", err)
		}
	})
}
