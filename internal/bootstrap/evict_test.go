// SPDX-License-Identifier: Apache-2.0

package bootstrap_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
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
			in := Input{Member: member(ref("r1", old), nil), Volume: VolumeEmpty}
			in.Member.Service.Labels[api.LabelReplacingNodeHostID] = old
			if tc.pod != "" {
				in.Member.Pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(tc.pod)}}
			}
			if tc.recorded != "" {
				in.Member.Service.Annotations[api.AnnotationReplacePodUID] = tc.recorded
			}
			v := Decide(in)
			waits := slices.ContainsFunc(v.Blockers, func(b matrix.Blocker) bool { return b.Reason == words.PodToBeReplaced })
			if waits != tc.waits || waits && v.Satisfied {
				t.Errorf("waits for the eviction: %v, want %v; %s", waits, tc.waits, v.Decision)
			}
		})
	}
}
