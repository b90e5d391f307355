// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

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
				if err := c.WaitAllUp(testContext(t)); err != nil {
					t.Fatal(err)
				}
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

// The leader leaves: coordination must move on.
func TestDecommissionOfTheLeader(t *testing.T) {
	inBubble(t, 3, Options{StreamTime: 10 * time.Second}, func(t *testing.T, c *Cluster) {
		n, _ := split(c, text(t, c.Node(0), "/raft/leader_host"))
		if got := post(t, n, "/storage_service/decommission"); got != "200 " || n.Mode() != rules.ModeDecommissioned {
			t.Errorf("decommission answered %q, mode %s", got, n.Mode())
		}
		n.Stop()
		wantExit(t, restart(t, c, 0, nil), 1, "Startup failed: std::runtime_error (This node was decommissioned and will not rejoin the ring")
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
		before := alone.g0.index()
		if got := post(t, others[0], "/storage_service/remove_node?host_id="+alone.HostID()); got != "200 " {
			t.Fatalf("remove_node in the majority: %s", got)
		}
		if after := alone.g0.index(); after != before {
			t.Errorf("the minority committed: %d -> %d", before, after)
		}
		c.Network.HealAll()
		wantExit(t, alone, 0, "received notification of being banned")
	})
}

func TestZeroTokenRefusals(t *testing.T) {
	inBubble(t, 0, Options{}, func(t *testing.T, c *Cluster) {
		wantExit(t, add(t, c, func(o *Options) { o.ZeroToken = true }), 1, "Cannot start the first node in the cluster as zero-token")
		if err := c.Wipe(0); err != nil {
			t.Fatal(err)
		}
		ready(t, restart(t, c, 0, nil))
		if got := post(t, c.Node(0), "/storage_service/decommission"); !strings.Contains(got, "Cannot decommission last node in the cluster") {
			t.Errorf("decommission of the last node: %s", got)
		}
		zero := add(t, c, func(o *Options) { o.ZeroToken = true })
		ready(t, zero)
		if strings.Contains(zero.Log(), "entering BOOTSTRAP mode") {
			t.Error("a node without tokens streamed")
		}
		if got := post(t, c.Node(0), "/storage_service/decommission"); !strings.HasPrefix(got, "500 ") || !strings.Contains(got, "Cannot decommission the last token-owning node in the cluster") {
			t.Errorf("decommission of the only owner: %s", got)
		}
	})
}
