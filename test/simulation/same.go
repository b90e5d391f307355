// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Comparisons, of which a seed makes thousands: mostly nothing has changed.

// sameObject is what our controllers write by. Where package reflect finds no difference there is none, and it is quicker to say so.
func sameObject(a, b any) bool { return reflect.DeepEqual(a, b) || equality.Semantic.DeepEqual(a, b) }

// sameButView is true for cluster reports that differ in the controller's view at most.
func sameButView(a, b *api.ScyllaDBStatusReport) bool {
	x, y := *a, *b
	x.Status.View, y.Status.View = nil, nil
	return sameObject(x, y)
}
