// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// A Lease that was renewed in the year 2999 would call a dead controller alive until then.
func TestAttack1ALeaseRenewedInTheFutureIsNoSignOfLife(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		renewed time.Time
		silent  bool
	}{
		"now":                               {now, false},
		"a clock that is an hour ahead":     {now.Add(time.Hour), false},
		"two days ahead":                    {now.Add(48 * time.Hour), true},
		"the year 2999":                     {now.AddDate(973, 0, 0), true},
		"the last moment that can be said":  {time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), true},
		"a minute ago":                      {now.Add(-time.Minute), true},
		"the first moment that can be said": {time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC), true},
	} {
		holder := "controller-a"
		l := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &metav1.MicroTime{Time: tc.renewed}}}
		if got := cluster.LeaseAt(l, now); got.Silent != tc.silent {
			t.Errorf("%s: %+v, want silent %v", name, got, tc.silent)
		}
	}
}
