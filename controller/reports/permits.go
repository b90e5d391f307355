// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// claimsAtOnce limits how many PVCs one reconciliation reads from the API server; permits for the
// other members come later in any case.
const claimsAtOnce = 16

// claimOf identifies a PVC by the Pod that waits with it. Kubernetes keeps the PVC of a Pod that
// runs, so one read is enough; a Pod that was not scheduled yet may get another PVC.
type claimOf struct {
	pod   types.UID
	claim string
}

// claims returns the UIDs of the data PVCs of members that wait in their barriers or have passed
// them, empty for a missing PVC. If a PVC cannot be read or is being deleted, its member is omitted
// and gets no permit. The PVC of a stored permit is omitted only if it is being deleted: the permit
// would be withdrawn and granted to another member.
func (r *reconciler) claims(ctx context.Context, m *memory, c *cluster.Cluster,
	stored *api.StatusReportView) map[string]types.UID {
	out, known := map[string]types.UID{}, map[claimOf]types.UID{}
	asked := 0
	for _, a := range c.JoinCandidates() {
		past := a.PastBarrier()
		if !past && !a.WaitsInBarrier() {
			continue
		}
		k := claimOf{a.PodUID(), a.PVCName}
		uid, ok := m.claims[k]
		granted, has := permitted(stored, a)
		switch {
		case ok:
		case past:
			if uid = granted; !has {
				continue
			}
		case !has && asked == claimsAtOnce:
			continue
		default:
			asked++
			is, err := r.claim(ctx, types.NamespacedName{Namespace: c.Namespace, Name: a.PVCName})
			switch {
			case err != nil && !has:
				r.o.Log.WarnContext(ctx, "PVC not read: its member gets no permit", "namespace", c.Namespace, "claim",
					a.PVCName, "error", err)
				continue
			case err != nil:
				out[a.PVCName] = granted
				continue
			case is.DeletionTimestamp != nil:
				continue
			}
			uid = is.UID
		}
		known[k], out[a.PVCName] = uid, uid
	}
	m.claims = known
	return out
}

// claim reads a PVC, by name and metadata only: a list would make the client cache all PVCs. It
// returns an empty object for a missing PVC.
func (r *reconciler) claim(ctx context.Context, key types.NamespacedName) (*metav1.PartialObjectMetadata, error) {
	p := &metav1.PartialObjectMetadata{}
	p.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
	return p, client.IgnoreNotFound(r.o.Live.Get(ctx, key, p))
}

// permitted returns the PVC UID of the stored permit of a's Pod, false if there is none. A new
// leader has no other record of it.
func permitted(stored *api.StatusReportView, a *cluster.Member) (types.UID, bool) {
	if stored != nil {
		for _, p := range stored.Permits {
			if p.Member == a.Name() && p.PodUID == a.PodUID() {
				return p.PVCUID, true
			}
		}
	}
	return "", false
}

// announcePermits writes Events and counts permits after they are stored: an unwritten permit was
// never granted.
func (r *reconciler) announcePermits(ctx context.Context, w *world, written *api.ScyllaDBStatusReport) {
	is := written.Status.View
	if r.o.Views == nil || is == nil {
		return
	}
	var was *api.StatusReportView
	if w.status != nil {
		was = w.status.Status.View
	}
	r.o.Metrics.SetPermits(written.Namespace, written.Name, len(is.Permits), max(len(is.Queue), int(is.Waiting)))
	joined := func(member string) bool {
		m := w.Member(member)
		return m != nil && m.HasJoined()
	}
	for _, change := range view.Changes(was, is, joined) {
		typ := corev1.EventTypeNormal
		if change.What == view.PermitWithdrawn {
			typ = corev1.EventTypeWarning
		}
		r.o.Metrics.Permit(written.Namespace, written.Name, string(change.Kind), change.What)
		text := words.Text(change.Message)
		r.o.Notice.Emit(ctx, written, typ, "Permit"+change.What, "GrantPermit", text)
		r.o.Log.InfoContext(ctx, "permit "+text, "namespace", written.Namespace, "cluster", written.Name, "member",
			change.Member, "kind", string(change.Kind),
			"epoch", is.Epoch, "seq", is.Seq)
	}
}
