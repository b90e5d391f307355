// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// The relays of a member are others, each once, of all racks, and not those of every other member.
func TestRelays(t *testing.T) {
	t.Parallel()
	const racks, each, most = 3, 6, 6
	st := newStage(t, racks, each)
	c := st.cluster(SourceAnnotation)
	asked := map[string]bool{}
	for _, self := range sortedKeys(st.Services) {
		relays := c.Relays(self, most)
		of := map[string]int{}
		for _, name := range relays {
			asked[name] = true
			of[strings.TrimRight(name, "0123456789")]++
		}
		if unique := slices.Compact(slices.Sorted(slices.Values(relays))); len(unique) != most || len(of) != racks || slices.Contains(relays, self) {
			t.Errorf("%s: %v", self, relays)
		}
	}
	if len(asked) != racks*each {
		t.Errorf("%d of %d members are asked by others", len(asked), racks*each)
	}
	if few := newStage(t, 2, 1).cluster(SourceAnnotation).Relays("demo-rack1-0", most); !slices.Equal(few, []string{"demo-rack2-0"}) {
		t.Errorf("%v", few)
	}
}
