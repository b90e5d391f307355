// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const (
	// askEvents is the interval at which the Events of a Pod that does not start are read.
	askEvents = 5 * time.Second
	// askPods limits the Pods of a cluster whose Events are read: the others lack the same objects.
	askPods = 4
	// saidLately is the maximum age of an Event. A kubelet retries a mount after at most two
	// minutes, and writes an Event each time.
	saidLately = 5 * time.Minute
	// fieldUID selects the Events about one object.
	fieldUID = "regarding.uid"
)

// lacks is the result of reading the Events of a Pod, and when they were read.
type lacks struct {
	missing []cluster.Missing
	at      time.Time
}

// prerequisites returns the condition for Secrets and ConfigMaps that Pods wait for. It needs no
// permission for Secrets: the kubelets' Events name the missing ones. again is the delay of the
// next reconciliation without a change, zero for none.
func (r *reconciler) prerequisites(ctx context.Context, m *memory, w *world, now time.Time) (out []metav1.Condition,
	again time.Duration) {
	known := map[types.UID]lacks{}
	pods := w.Unstarted()
	for i := range pods {
		p := &pods[i]
		again = askEvents
		if len(p.Missing) > 0 {
			continue
		}
		l, ok := m.lacks[p.UID]
		if !ok || now.Sub(l.at) >= askEvents {
			if len(known) >= askPods {
				continue
			}
			missing, err := r.missingFromEvents(ctx, w.Namespace, p.UID, now)
			if err != nil {
				r.o.Log.DebugContext(ctx, "cannot read the Events of a Pod that does not start", "namespace",
					w.Namespace, "pod", p.Pod, "error", err)
				missing = l.missing
			}
			l = lacks{missing, now}
		}
		known[p.UID], p.Missing = l, l.missing
	}
	m.lacks = known
	c, ok := view.Prerequisites(w.Namespace, pods)
	if !ok {
		return nil, again
	}
	text := words.Text(c.Message)
	r.o.Notice.Emit(ctx, &w.sets[0], corev1.EventTypeWarning, "PrerequisitesMissing", "AssembleReport", text)
	return []metav1.Condition{{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: text}}, again
}

// missingFromEvents reads the kubelets' recent Events about the volumes of a Pod.
func (r *reconciler) missingFromEvents(ctx context.Context, namespace string, pod types.UID,
	now time.Time) ([]cluster.Missing, error) {
	var all eventsv1.EventList
	if err := r.o.Live.List(ctx, &all, client.InNamespace(namespace), client.MatchingFields{fieldUID: string(pod)},
		client.Limit(100)); err != nil {
		return nil, err
	}
	var said []string
	for i := range all.Items {
		e := &all.Items[i]
		at := e.DeprecatedLastTimestamp.Time
		if e.EventTime.After(at) {
			at = e.EventTime.Time
		}
		if e.Series != nil && e.Series.LastObservedTime.After(at) {
			at = e.Series.LastObservedTime.Time
		}
		if e.Regarding.UID == pod && e.Type == corev1.EventTypeWarning && now.Sub(at) <= saidLately {
			said = append(said, e.Note)
		}
	}
	return cluster.MissingIn(strings.Join(said, "\n")), nil
}
