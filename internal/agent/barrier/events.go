// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/gate"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Reasons of the Events on this Pod.
const (
	EventWaiting = "BootstrapWaiting" // waiting begins
	EventChanged = "BootstrapBlockersChanged"
	EventOpened  = "BootstrapAllowed"
	EventForced  = "BootstrapForced"
	EventRefused = "BootstrapRefused"
)

const (
	// eventPause is the minimum time between two Events about blockers; the next Event includes the
	// changes in between. It doubles with each change up to eventRepeat: flapping nodes are one
	// fact.
	eventPause = 30 * time.Second
	// settling is the minimum duration of a wait for a renewal of the controller's Lease, or for
	// stabilisation, that causes an Event.
	settling = 10 * time.Second
	// eventRepeat is the interval between Events about the same blockers. The API server raises the
	// Event's count and deletes the Event after an hour.
	eventRepeat  = 10 * time.Minute
	eventTimeout = 5 * time.Second
)

// events writes Events on the Pod. A failure does not change the barrier's behaviour.
type events struct {
	*barrier
	pod    *corev1.Pod
	told   string // blockers of the last Event
	toldAt time.Time
	reason string // reason of the last Event: a repetition has the same name
	// changes counts Events in a row with changed blockers; differed is the last time at which the
	// blockers differed from those in the last Event.
	changes  int
	differed time.Time
	failed   bool
}

func (e *events) waiting(ctx context.Context, v bootstrap.Verdict) {
	now := e.Clock.Now()
	blockers := slices.DeleteFunc(slices.Clone(v.Blockers), func(b matrix.Blocker) bool {
		return b.Reason == words.APIUnreachable || b.Reason == words.Isolated ||
			b.Reason == words.ControllerSilent && now.Sub(e.started) < settling ||
			b.Reason == words.Stabilising && e.gate.Window() < settling
	})
	if len(blockers) == 0 {
		return
	}
	if len(blockers) < len(v.Blockers) {
		v = v.Only(blockers)
	}
	// Nodes and reasons only; ages and counts change continuously.
	text := strings.Join(texts(v, time.Time{}), "\n")
	if text != e.told {
		e.differed = now
	}
	if now.Sub(e.differed) >= eventRepeat {
		e.changes = 0
	}
	const doublings = 5 // enough to exceed eventRepeat
	pause := min(eventRepeat, eventPause<<min(e.changes, doublings))
	if text == e.told {
		pause = eventRepeat
	}
	if e.told != "" && now.Sub(e.toldAt) < pause {
		return
	}
	if e.told != "" && text != e.told {
		e.reason = EventChanged
		e.changes++
	}
	e.told, e.toldAt = text, now
	reason := cmp.Or(e.reason, EventWaiting)
	note := words.Of(v.Self.Name(), v.Summary)
	if next := nextStep(v); next != "" {
		note += ". Next step: " + next
	}
	e.emit(ctx, kube.Event{Type: corev1.EventTypeWarning, Reason: reason, Note: note})
}

func (e *events) opened(ctx context.Context, v bootstrap.Verdict, svc *corev1.Service) {
	if v.Decision == bootstrap.DecisionForced {
		note := words.Of(v.Self.Name(), v.Summary) + " (" + forcedBy(svc) + ")"
		e.emit(ctx, kube.Event{Type: corev1.EventTypeWarning, Reason: EventForced, Note: note})
		return
	}
	kind := corev1.EventTypeNormal
	if v.Decision == bootstrap.DecisionUnprotected {
		kind = corev1.EventTypeWarning
	}
	e.emit(ctx, kube.Event{Type: kind, Reason: EventOpened, Note: words.Of(v.Self.Name(), v.Summary)})
}

func (e *events) refused(ctx context.Context, v bootstrap.Verdict) {
	note := words.Of(v.Self.Name(), v.Summary)
	if next := nextStep(v); next != "" {
		note += "; " + next
	}
	e.emit(ctx, kube.Event{Type: corev1.EventTypeWarning, Reason: EventRefused, Note: note})
}

func (e *events) emit(ctx context.Context, ev kube.Event) {
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	ev.Action, ev.Controller, ev.Instance, ev.Now = "HoldBootstrap", "scylla-agent-barrier", e.Pod, e.Clock.Now()
	pod, err := e.ownPod(ctx)
	if err == nil {
		err = kube.Emit(ctx, e.client, pod, ev)
	}
	if err != nil && !e.failed {
		e.failed = true // logged once: Events only supplement the log
		e.Log.Warn("cannot write an Event for this Pod", "event", ev.Reason, "error", gate.OneLine(err))
	}
}

func (e *events) ownPod(ctx context.Context) (*corev1.Pod, error) {
	if e.pod != nil {
		return e.pod, nil
	}
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name, pod.UID = e.Namespace, e.Pod, e.PodUID
	if pod.UID == "" {
		if err := e.client.Get(ctx, types.NamespacedName{Namespace: e.Namespace, Name: e.Pod}, pod); err != nil {
			return nil, err
		}
	}
	e.pod = pod
	return pod, nil
}

// opened logs and publishes the opening; a failure does not block ScyllaDB.
func (b *barrier) opened(ctx context.Context, v bootstrap.Verdict) {
	var svc *corev1.Service
	if b.gate != nil && b.gate.Seen() != nil {
		svc = b.gate.Seen().Service(b.Service)
	}
	attrs := []any{"decision", string(v.Decision), "waited", b.Clock.Since(b.started).Round(time.Second).String()}
	if len(v.Notes) > 0 {
		attrs = append(attrs, "notes", words.Texts(v.Notes))
	}
	if v.Decision == bootstrap.DecisionForced {
		attrs = append(attrs, "force", forcedBy(svc), "overruled", texts(v, time.Time{}))
	}
	b.Log.Info("open: "+words.Of(v.Self.Name(), v.Summary), attrs...)
	if b.Launcher == nil || b.events.told != "" { // else the barrier has emitted the same Event
		b.events.opened(ctx, v, svc)
	}
}

// openUnchecked opens a barrier whose own feature gate is off. The Event is published if the API
// server can be reached.
func (b *barrier) openUnchecked(ctx context.Context) {
	v := bootstrap.Verdict{Satisfied: true, Decision: bootstrap.DecisionUnprotected,
		Self: matrix.Ref{Member: b.Service}, Summary: words.New(words.StartsUnprotected)}
	b.events = &events{barrier: b}
	if b.NewClient != nil && b.Namespace != "" && b.Service != "" {
		if c, err := b.NewClient(); err == nil {
			b.client = c
			b.opened(ctx, v)
			return
		}
	}
	b.Log.Info("open: "+words.Of(b.Service, v.Summary), "decision", string(v.Decision))
}

// forcedBy returns who forced and why, from the Service.
func forcedBy(svc *corev1.Service) string {
	if svc == nil {
		return "annotation " + api.AnnotationForceProceed
	}
	text := "annotation " + api.AnnotationForceProceed + " on Service " + svc.Name
	if from := svc.Annotations[api.AnnotationForcePropagatedFrom]; from != "" {
		text += ", propagated from " + from
	} else if f := cluster.LastOwner(svc.ManagedFields, "annotations", api.AnnotationForceProceed); f != nil {
		text += ", set by " + f.Manager + " at " + f.Time.UTC().Format(time.RFC3339)
	}
	if why := svc.Annotations[api.AnnotationForceReason]; why != "" {
		return text + ", reason: " + why
	}
	return text + ", no reason specified"
}
