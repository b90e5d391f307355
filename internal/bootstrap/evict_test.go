// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"slices"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// A member that lost its volume waits at its barrier when its replacement is recorded. That Pod is evicted, with its claim: the replacement must begin in the
// next one only.
func TestTheReplacementBeginsInTheNextPod(t *testing.T) {
	const old = "cccccccc-0000-4000-8000-000000000003"
	tests := map[string]struct {
		pod, recorded string
		waits         bool
	}{
		"the recorded Pod":    {pod: "pod-1", recorded: "pod-1", waits: true},
		"the next one":        {pod: "pod-2", recorded: "pod-1"},
		"nobody looked":       {recorded: "pod-1"},
		"there was none":      {pod: "pod-1", recorded: api.ReplaceNone},
		"recorded by another": {pod: "pod-1"},
		"neither is known":    {},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			ordinal := int32(0)
			in := Input{
				Self: matrix.Ref{Member: "demo-r1-0", Datacenter: "dc1", Rack: "r1", Ordinal: &ordinal, HostID: old}, Namespace: "demo", PodUID: tc.pod,
				ServiceLabels: map[string]string{api.LabelReplacingNodeHostID: old}, ServiceAnnotations: map[string]string{}, Volume: VolumeEmpty,
			}
			if tc.recorded != "" {
				in.ServiceAnnotations[api.AnnotationReplacePodUID] = tc.recorded
			}
			v := Decide(in)
			waits := slices.ContainsFunc(v.Blockers, func(b matrix.Blocker) bool { return b.Reason == words.PodToBeReplaced })
			if waits != tc.waits || waits && v.Satisfied {
				t.Errorf("waits for the eviction: %v, want %v; %s", waits, tc.waits, v.Decision)
			}
		})
	}
}
