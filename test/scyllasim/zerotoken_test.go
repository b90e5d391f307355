// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

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
		eventually(t, "gossip says NORMAL", func() string {
			if st := c.Node(0).gossip.app(n.HostID(), appStatus); st != "NORMAL," {
				return "STATUS is " + st
			}
			return ""
		})
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
