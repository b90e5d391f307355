// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"os"
	"testing"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

func TestA5FeaturesAreEnabledWhenAllNodesHaveThem(t *testing.T) {
	inBubble(t, 2, Options{Version: "2025.3.0"}, func(t *testing.T, c *Cluster) {
		upgrade := func(i int) {
			t.Helper()
			c.Node(i).Stop()
			ready(t, restart(t, c, i, func(o *Options) { o.Version = "2025.4.0" }))
			if err := c.WaitAllUp(testContext(t)); err != nil {
				t.Fatal(err)
			}
		}
		upgrade(1)
		ready(t, add(t, c, nil)) // in the middle of an upgrade the old version may still join
		upgrade(2)
		upgrade(0)
		eventually(t, "the features of 2025.4 are enabled", func() bool {
			return c.Node(1).g0.state().Features == "SCYLLASIM_2025_4"
		})
		old := add(t, c, nil)
		wantExit(t, old, 1, "Feature check failed")
		waitLeft(t, c, old.HostID())
		l := tasks(t, c.Node(0))
		if got := l[len(l)-1]; got.Error != "Join is rejected during validation" {
			t.Errorf("task %+v of the rejected node", got)
		}
		// So a node that runs knows all enabled features, also after a rollback of its version.
		c.Node(2).Stop()
		wantExit(t, restart(t, c, 2, func(o *Options) { o.Version = "2025.3.0" }), 1, "prohibited downgrade procedure")
		ready(t, restart(t, c, 2, func(o *Options) { o.Version = "2025.4.0" }))
	})
}

func TestRestartInTheMiddleOfAJoinRollsItBack(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(n *Node){
		"a clean restart": (*Node).Stop,
		"a crash that nobody marks DOWN before it is over": (*Node).Kill,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, Options{}, func(t *testing.T, c *Cluster) {
				j := add(t, c, func(o *Options) { o.StreamTime = time.Hour })
				eventually(t, "it streams", func() bool { return j.Mode() == rules.ModeBootstrap })
				stop(c.Node(2))
				ready(t, restart(t, c, 2, nil))
				wantExit(t, j, 1, "Bootstrap failed. See earlier errors (Rolled back: ")
				waitLeft(t, c, j.HostID())
			})
		})
	}
}

func TestThreeNodesThatSeedEachOtherFormOneCluster(t *testing.T) {
	inBubble(t, 0, Options{}, func(t *testing.T, c *Cluster) {
		var seeds []string
		for i := range 3 {
			seeds = append(seeds, c.Options(i).ListenAddress)
		}
		var nodes []*Node
		for range 3 {
			nodes = append(nodes, add(t, c, func(o *Options) { o.Seeds = seeds }))
		}
		for _, n := range nodes {
			ready(t, n)
		}
		if nodes[0].groupID() != nodes[1].groupID() || nodes[1].groupID() != nodes[2].groupID() {
			t.Error("more than one cluster")
		}
	})
}

func TestUnresolvableSeedFailsBeforeAnythingIsStored(t *testing.T) {
	inBubble(t, 0, Options{}, func(t *testing.T, c *Cluster) {
		n := add(t, c, func(o *Options) { o.Seeds = []string{"no-such-name.invalid"} })
		wantExit(t, n, 1, "Bad configuration: invalid value in 'seeds': 'no-such-name.invalid'", "Startup failed: bad_configuration_error")
		if _, err := os.Stat(n.Dir()); !os.IsNotExist(err) {
			t.Errorf("data directory: %v", err)
		}
	})
}
