// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

const unknownID = "00000000-0000-4000-8000-0000000000ff"

// replacement starts a node in the rack of node i that is told to replace target.
func replacement(t *testing.T, c *Cluster, i int, target string, change func(o *Options)) *Node {
	t.Helper()
	return add(t, c, func(o *Options) {
		o.Rack = c.Options(i).Rack
		o.ReplaceNodeFirstBoot = target
		if change != nil {
			change(o)
		}
	})
}

func TestReplaceRefusals(t *testing.T) {
	inBubble(t, 2, Options{}, func(t *testing.T, c *Cluster) {
		var n *Node
		for name, tc := range map[string]struct {
			target string
			change func(o *Options)
			text   string
		}{
			"alive target":               {c.Node(1).HostID(), nil, "tried to replace alive node " + c.Node(1).HostID()},
			"not an id":                  {"10.0.0.1", nil, "Unable to parse 10.0.0.1 as host-id"},
			"another rack":               {c.Node(1).HostID(), func(o *Options) { o.Rack = "elsewhere" }, "with a node on a different data center or rack"},
			"nobody answers, before 6.0": {c.Node(1).HostID(), func(o *Options) { o.Seeds, o.Version = []string{"127.0.0.250"}, "5.4.9" }, "Unable to gossip with any nodes={127.0.0.250} (ShadowRound)."},
			"unknown ignored node": {c.Node(1).HostID(), func(o *Options) { o.IgnoreDeadNodes = []string{unknownID} },
				"Could not find ignored dead node " + unknownID},
		} {
			n = replacement(t, c, 1, tc.target, tc.change)
			wantExit(t, n, 1, tc.text)
			if st := c.Node(0).g0.state().State(n.HostID()); st != "" {
				t.Errorf("%s: the refused node is stored as %q", name, st)
			}
			if b := rules.Banned(c.Node(0).g0.state(), c.Node(1).HostID()); b {
				t.Errorf("%s: a refused request banned its target", name)
			}
		}
		// Since 6.0 it looks for group 0 first, without end.
		n = replacement(t, c, 1, c.Node(1).HostID(), func(o *Options) { o.Seeds = []string{"127.0.0.250"} })
		time.Sleep(time.Hour)
		if strings.Contains(n.Log(), "ShadowRound") || n.Mode() != rules.ModeStarting {
			t.Errorf("%s: %s", n.Mode(), n.Log())
		}
	})
}

func TestReplaceWhileAnotherNodeIsDown(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		version   string
		code      int
		text      string
		oldBanned bool
	}{
		"before 2026.3 it is cancelled, and the target is banned already": {
			"2026.2.0", 1, "request canceled because some required nodes are dead", true},
		"since 2026.3 it is refused and costs nothing": {
			"2026.3.0", 1, "is down and not ignored", false},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 5, Options{Version: tc.version}, func(t *testing.T, c *Cluster) {
				target, other := kill(t, c, 2), kill(t, c, 3)
				n := replacement(t, c, 2, target.HostID(), nil)
				wantExit(t, n, tc.code, tc.text)
				if b := rules.Banned(c.Node(0).g0.state(), target.HostID()); b != tc.oldBanned {
					t.Errorf("the target is banned: %v", b)
				}
				if tc.oldBanned {
					wantExit(t, restart(t, c, 2, nil), 0, "received notification of being banned")
				}
				// With the other dead node on the ignore list a fresh attempt with the original host ID works.
				again := replacement(t, c, 2, target.HostID(), func(o *Options) { o.IgnoreDeadNodes = []string{other.HostID()} })
				ready(t, again)
			})
		})
	}
}

// The third cause of "not found": the target has left, because the newcomer has taken its place.
func TestRestartWhileTabletsAreRebuilt(t *testing.T) {
	inBubble(t, 3, Options{Version: "2025.4.1", TabletRebuildTime: time.Hour}, func(t *testing.T, c *Cluster) {
		dead := kill(t, c, 2)
		replacing := func(o *Options) { o.Rack, o.ReplaceNodeFirstBoot = c.Options(2).Rack, dead.HostID() }
		n := replacement(t, c, 2, dead.HostID(), nil)
		eventually(t, "it waits for the tablets", func() bool {
			return strings.Contains(n.Log(), "Waiting for tablet replicas from the replaced node to be rebuilt")
		})
		n.Kill()
		for range 2 { // a crash loop
			wantExit(t, restart(t, c, 3, replacing), 1, "Startup failed: std::runtime_error (Replaced node with Host ID "+dead.HostID()+" not found)")
		}
		if ids := hostIDs(t, c.Node(0)); len(ids) != 3 || !slices.Contains(ids, kv{n.Address(), n.HostID()}) {
			t.Errorf("host_id %v: the newcomer is a normal member", ids)
		}
		wantExit(t, restart(t, c, 3, func(o *Options) { o.Rack = c.Options(2).Rack }), 1, "no entry for request id")
		waitAllDown(t, c, n)
		// The cure is to replace the newcomer.
		ready(t, replacement(t, c, 2, n.HostID(), func(o *Options) { o.TabletRebuildTime = time.Second }))
	})
}

// Before 5.2 and 2023.1 a node can only be replaced by its address.
func TestReplaceByAddress(t *testing.T) {
	inBubble(t, 3, Options{Version: "5.1.18"}, func(t *testing.T, c *Cluster) {
		dead := kill(t, c, 2)
		byAddress := func(address string) *Node {
			return replacement(t, c, 2, "", func(o *Options) { o.ReplaceAddressFirstBoot = address })
		}
		wantExit(t, byAddress("127.0.0.250"), 1, "Cannot replace_address 127.0.0.250 because it doesn't exist in gossip")
		ready(t, byAddress(dead.Address()))
	})
}
