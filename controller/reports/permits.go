// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// claimsAtOnce limits how many PVCs one reconciliation reads from the API server; permits for the
// other members come later in any case.
const claimsAtOnce = 16

// claimOf identifies a PVC by the Pod that uses it: while that Pod exists, Kubernetes keeps its
// PVC, so one read is enough.
type claimOf struct {
	pod   types.UID
	claim string
}

// claims returns the UIDs of the data PVCs of members that wait to join, empty for a missing PVC.
// If a PVC cannot be read, its member is omitted and gets no permit. A known PVC is never omitted,
// because that would withdraw a valid permit and grant it to another member.
func (r *reconciler) claims(ctx context.Context, m *memory, c *cluster.Cluster,
	stored *api.StatusReportView) map[string]types.UID {
	out, known := map[string]types.UID{}, map[claimOf]types.UID{}
	asked := 0
	for _, a := range c.JoinCandidates() {
		if a.PodUID() == "" {
			continue
		}
		k := claimOf{a.PodUID(), a.PVCName}
		uid, ok := m.claims[k]
		if !ok {
			uid, ok = permitted(stored, a)
		}
		if !ok {
			if asked == claimsAtOnce {
				continue
			}
			asked++
			// By name, and metadata only: a list would make the client cache all PVCs.
			p := &metav1.PartialObjectMetadata{}
			p.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
			switch err := r.o.Live.Get(ctx, types.NamespacedName{Namespace: c.Namespace, Name: a.PVCName}, p); {
			case err == nil:
				uid = p.UID
			case !apierrors.IsNotFound(err):
				r.o.Log.WarnContext(ctx, "PVC not read: its member gets no permit", "namespace", c.Namespace, "claim",
					a.PVCName, "error", err)
				continue
			}
		}
		known[k], out[a.PVCName] = uid, uid
	}
	m.claims = known
	return out
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
