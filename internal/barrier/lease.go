// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
)

// leaseWatch judges whether the controller that keeps the reports is alive. It believes only in renewals that it has seen happen: a
// report that says all UP is worth nothing when its writer died an hour ago, and two machines' clocks are not to be compared.
type leaseWatch struct {
	namespace string
	monitor   kube.LeaseMonitor
	first     time.Time // first look, own clock
	renewed   time.Time // the Lease's word at the last look
	looked    bool
	advanced  bool // a renewal by a holder was seen
}

// look reads the Lease; silent is empty when the controller is alive, else it says who is silent or why that cannot be told.
func (w *leaseWatch) look(ctx context.Context, c client.Reader, now time.Time) (silent string, since time.Time) {
	if w.first.IsZero() {
		w.first = now
	}
	name := w.namespace + "/" + api.LeaseName
	var l coordinationv1.Lease
	err := c.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: api.LeaseName}, &l)
	switch {
	case apierrors.IsNotFound(err):
		w.monitor.Observe(nil, now)
		return "there is no Lease " + name + ", so no controller has led there (is --lease-namespace right?)", w.first
	case apierrors.IsForbidden(err):
		return "Lease " + name + " may not be read, so nobody can tell whether the controller lives: bind Role kubectl-scylla-lease-reader", w.first
	case err != nil:
		return "Lease " + name + " cannot be read: " + oneLine(err), w.first
	}
	holder := ""
	if l.Spec.HolderIdentity != nil {
		holder = *l.Spec.HolderIdentity
	}
	var renewed time.Time
	if l.Spec.RenewTime != nil {
		renewed = l.Spec.RenewTime.Time
	}
	w.monitor.Observe(&l, now)
	// A holder that stops gives the Lease back by renewing it once more in nobody's name.
	if w.looked && !renewed.Equal(w.renewed) && holder != "" {
		w.advanced = true
	}
	w.looked, w.renewed = true, renewed
	switch who, since, gone := w.monitor.Silent(now); {
	case holder == "":
		w.advanced = false
		return "no controller leads: Lease " + name + " has no holder", w.first
	case gone:
		w.advanced = false
		if who == "" {
			who = holder
		}
		return fmt.Sprintf("controller %s has not renewed Lease %s for more than twice its duration", who, name), since
	case !w.advanced:
		return fmt.Sprintf("controller %s has not been seen to renew Lease %s yet", holder, name), w.first
	}
	return "", time.Time{}
}
