// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
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
	// changedEvents is how many Events about changed blockers follow each other at once. After them
	// there is one in eventRepeat: flapping nodes are one fact. The next Event includes the changes
	// in between.
	changedEvents = 5
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
	told   string // blockers of the last Event
	toldAt time.Time
	reason string    // reason of the last Event: a repetition has the same name
	full   time.Time // when changedEvents are permitted again; one comes back in each eventRepeat
	failed bool
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
	if e.full.Before(now) {
		e.full = now
	}
	switch changed := text != e.told; {
	case !changed && now.Sub(e.toldAt) < eventRepeat, changed && e.full.Sub(now) > (changedEvents-1)*eventRepeat:
		return
	case changed && e.told != "":
		e.reason, e.full = EventChanged, e.full.Add(eventRepeat)
	}
	e.told, e.toldAt = text, now
	e.emit(ctx, corev1.EventTypeWarning, cmp.Or(e.reason, EventWaiting), withNext(v))
}

func (e *events) emit(ctx context.Context, typ, reason, note string) {
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Pod, UID: e.PodUID}}
	var err error
	if e.PodUID == "" {
		err = e.client.Get(ctx, client.ObjectKeyFromObject(pod), pod)
	}
	if err == nil {
		err = kube.Emit(ctx, e.client, pod, kube.Event{Type: typ, Reason: reason, Note: note, Action: "HoldBootstrap",
			Controller: "scylla-agent-barrier", Instance: e.Pod, Now: e.Clock.Now()})
	}
	if err != nil && !e.failed {
		e.failed = true // logged once: Events only supplement the log
		e.Log.Warn("cannot write an Event for this Pod", "event", reason, "error", gate.OneLine(err))
	}
}

// opened logs and publishes the opening; a failure does not block ScyllaDB.
func (b *barrier) opened(ctx context.Context, v bootstrap.Verdict) {
	typ, reason, text := corev1.EventTypeNormal, EventOpened, words.Of(v.Self.Name(), v.Summary)
	note, attrs := text, []any{"decision", string(v.Decision), "waited",
		b.Clock.Since(b.started).Round(time.Second).String()}
	if len(v.Notes) > 0 {
		attrs = append(attrs, "notes", words.Texts(v.Notes))
	}
	switch v.Decision {
	case bootstrap.DecisionForced:
		by := forcedBy(b.gate.Seen().Service(b.Service))
		typ, reason, note = corev1.EventTypeWarning, EventForced, text+" ("+by+")"
		attrs = append(attrs, "force", by, "overruled", texts(v, time.Time{}))
	case bootstrap.DecisionUnprotected:
		typ = corev1.EventTypeWarning
	}
	b.Log.Info("open: "+text, attrs...)
	if !b.Launcher || b.events.told != "" { // else the barrier has emitted the same Event
		b.events.emit(ctx, typ, reason, note)
	}
}

// forcedBy returns who forced and why, from the Service.
func forcedBy(svc *corev1.Service) string {
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
