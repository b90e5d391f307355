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

// ViewStamp identifies the controller view of a document. ObservedAt is since when that view has
// been current, by the controller's clock.
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

// NewViewStamp returns the stamp of the cluster's view; nil without one.
func NewViewStamp(s *cluster.Cluster) *ViewStamp {
	if v := viewOf(s); v != nil {
		return &ViewStamp{Epoch: v.Epoch, Seq: v.Seq, ObservedAt: v.ObservedAt}
	}
	return nil
}

// Text returns the stamp with its age at now, by two clocks, which the sentence states; without an
// age for the zero time. Empty for nil.
func (v *ViewStamp) Text(now time.Time) string {
	if v == nil {
		return ""
	}
	return words.Text(words.New(words.ControllerViewAge, "epoch", v.Epoch, "seq", v.Seq, "age",
		words.Ago(v.ObservedAt.Time, now)))
}

// viewOf returns the controller's view of the cluster; nil if the report has none or is not ours.
func viewOf(s *cluster.Cluster) *api.StatusReportView {
	if s.StatusReport == nil || s.StatusReport.Labels[api.LabelManagedBy] != api.ManagedByUs {
		return nil
	}
	return s.StatusReport.Status.View.DeepCopy()
}

// viewFollows is how long a view may differ from rows that have all nodes UP: the controller counts
// a node as UP after it has stayed UP for some polls.
const viewFollows = time.Minute

// ViewText returns the controller's view in one line, with its number if numbered, without names
// and age if brief; empty without one. Its age depends on two clocks, which the sentence states.
func (d *ClusterStatus) ViewText(numbered, brief bool) string {
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
	var waiting any // omitted if no member waits
	if n := max(len(v.Queue), int(v.Waiting)); n > 0 {
		waiting = n
	}
	m := words.New(words.ControllerView, "permitted", permitted, "waiting", waiting, "up", up, "members",
		len(v.Members))
	if !brief {
		m.Params["down"], m.Params["unknown"], m.Params["age"] = down, unknown, words.Ago(v.ObservedAt.Time, d.At())
	}
	if pending := append(down, unknown...); d.Healthy && !brief && len(pending) > 0 &&
		d.At().Sub(v.ObservedAt.Time) < viewFollows {
		delete(m.Params, "down")
		delete(m.Params, "unknown")
		m.Params["pending"] = pending
	}
	if v.Hold != "" {
		hold := words.Code(v.Hold)
		if hold == words.DatacenterNotVerified {
			hold = words.OtherDatacenterUnverified // the view does not name the datacenter
		}
		m.Params["hold"] = words.New(hold)
	}
	if numbered {
		m.Params["epoch"], m.Params["seq"] = v.Epoch, v.Seq
	}
	return words.Text(m)
}
