// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"math"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Somebody who may write the controller's Lease changes it once, and then nobody renews it; or fills it, and the controller renews it. By reports,
// where the Lease decides, a barrier opens only while it is renewed for its cluster. (No member may write a Lease.)
func TestAttack1AForgedLease(t *testing.T) {
	t.Parallel()
	full := func(l *coordinationv1.Lease) {
		l.Annotations["example.com/full"], l.Finalizers = strings.Repeat("x", 200_000), []string{"example.com/kept"}
	}
	for name, tc := range map[string]struct {
		change func(*coordinationv1.Lease)
		renews bool
		opens  bool
	}{
		"200 kB of annotations and a finalizer": {full, true, true},
		"the same, and nobody renews it":        {full, false, false},
		"another holder":                        {func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("evil") }, false, false},
		"no holder":                             {func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("") }, true, false},
		"no list of clusters":                   {func(l *coordinationv1.Lease) { l.Annotations = nil }, true, false},
		"200 kB of other clusters": {func(l *coordinationv1.Lease) {
			l.Annotations[api.AnnotationKeeps] = strings.Repeat("other/demo ", 18_000)
		}, true, false},
		"renewed in the year 9999": {func(l *coordinationv1.Lease) {
			l.Spec.RenewTime = &metav1.MicroTime{Time: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}
		}, false, false},
		"a duration of 68 years":               {func(l *coordinationv1.Lease) { l.Spec.LeaseDurationSeconds = new(int32(math.MaxInt32)) }, false, false},
		"a negative duration":                  {func(l *coordinationv1.Lease) { l.Spec.LeaseDurationSeconds = new(int32(-7)) }, false, false},
		"no renewal, and all that a Lease has": {func(l *coordinationv1.Lease) { l.Spec = coordinationv1.LeaseSpec{} }, true, false},
	} {
		inBubble(t, name, func(t *testing.T) {
			w := newWorld(t, append(peers(), report(down, up), lease("controller-1"))...)
			w.runs(alone)
			time.Sleep(10 * time.Second)
			l := lease("controller-1")
			w.update(l, func() {
				l.Spec.RenewTime = &metav1.MicroTime{Time: l.Spec.RenewTime.Add(time.Second)} // it is seen to advance, once
				tc.change(l)
			})
			stop := make(chan struct{})
			defer close(stop)
			if tc.renews {
				go func() {
					for {
						select {
						case <-stop:
							return
						case <-time.After(10 * time.Second):
						}
						w.update(l, func() {
							if l.Spec.RenewTime != nil {
								l.Spec.RenewTime = &metav1.MicroTime{Time: l.Spec.RenewTime.Add(2 * time.Second)}
							}
						})
					}
				}()
			}
			time.Sleep(20 * time.Minute)
			w.reports(up, up) // it would open now
			w.opensOr(tc.opens, 10*time.Minute)
		})
	}
}
