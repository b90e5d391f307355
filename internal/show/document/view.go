// SPDX-License-Identifier: Apache-2.0

package document

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// ViewStamp identifies the controller's view beside which a document was made, and since when the controller has held it, by the controller's clock.
type ViewStamp struct {
	Epoch      int64       `json:"epoch"`
	Seq        int64       `json:"seq"`
	ObservedAt metav1.Time `json:"observedAt"`
}

// ClusterView is the stamp of one cluster of several.
type ClusterView struct {
	Namespace string `json:"namespace"`
	Cluster   string `json:"cluster"`
	ViewStamp `json:",inline"`
}

// NewViewStamp is that of the cluster's view; nil where it has none.
func NewViewStamp(s *cluster.Cluster) *ViewStamp {
	if v := viewOf(s); v != nil {
		return &ViewStamp{Epoch: v.Epoch, Seq: v.Seq, ObservedAt: v.ObservedAt}
	}
	return nil
}

// Text says it with its age, which compares the controller's clock with this one's, as the sentence says; with the zero time it has none. Nothing for nil.
func (v *ViewStamp) Text(now time.Time) string {
	if v == nil {
		return ""
	}
	return words.Text(words.New(words.ControllerViewAge, "epoch", v.Epoch, "seq", v.Seq, "age", words.Ago(v.ObservedAt.Time, now)))
}

// viewOf is the controller's view of the cluster; nil where the cluster report has none, or is not ours.
func viewOf(s *cluster.Cluster) *api.StatusReportView {
	if s.StatusReport == nil || s.StatusReport.Labels[api.LabelManagedBy] != api.ManagedByUs {
		return nil
	}
	return s.StatusReport.Status.View.DeepCopy()
}

// ViewText is the controller's view in one line; nothing where there is none. Its age compares the controller's clock with this one's, as the sentence says.
func (d *ClusterStatus) ViewText() string {
	v, up := d.View, 0
	if v == nil {
		return ""
	}
	var down, unknown []string
	for _, m := range v.Members {
		name := cmp.Or(m.Name, hostid.Known(m.HostID).Short())
		switch m.State {
		case api.NodeStatusUp:
			up++
		case api.NodeStatusDown:
			down = append(down, name)
		default:
			unknown = append(unknown, name)
		}
	}
	var permitted []string
	for _, x := range v.Permits {
		permitted = append(permitted, x.Member)
	}
	var waiting any // nothing is said where no member waits
	if n := max(len(v.Queue), int(v.Waiting)); n > 0 {
		waiting = n
	}
	return words.Text(words.New(words.ControllerView, "permitted", permitted, "waiting", waiting, "epoch", v.Epoch, "seq", v.Seq, "up", up, "members", len(v.Members),
		"down", down, "unknown", unknown, "age", words.Ago(v.ObservedAt.Time, d.At()), "hold", v.Hold))
}
