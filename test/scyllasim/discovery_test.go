// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"os"
	"testing"
)

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
