// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/gate"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// say writes the facts that only this barrier has to this Pod's annotation. A failure does not
// change the behaviour of the init container.
func (b *barrier) say(ctx context.Context, v bootstrap.Verdict) bootstrap.Verdict {
	text, due := b.gate.Annotate(v)
	if !due {
		return v
	}
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	value := any(text)
	if text == "" {
		value = nil // removes the annotation
	}
	meta := map[string]any{"annotations": map[string]any{api.AnnotationBarrier: value}}
	if b.PodUID != "" {
		meta["uid"] = b.PodUID // the API server refuses if a new Pod has this name
	}
	patch, err := json.Marshal(map[string]any{"metadata": meta})
	if err == nil {
		pod := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Pod}}
		pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
		err = b.client.Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch))
	}
	if err == nil {
		return b.gate.Annotated(v, nil, false)
	}
	if !b.unannotated {
		b.unannotated = true // logged once: the annotation only supplements the log
		b.Log.Warn("cannot write the blockers to this Pod", "error", gate.OneLine(err))
	}
	failed := b.unread(fmt.Errorf("write annotation %s of Pod %s/%s: %w", api.AnnotationBarrier, b.Namespace, b.Pod,
		err))
	return b.gate.Annotated(v, failed, apierrors.IsForbidden(err) || apierrors.IsInvalid(err))
}

// show logs changed blockers at once, and unchanged ones every minute.
func (b *barrier) show(v bootstrap.Verdict) {
	now := b.Clock.Now()
	fresh := words.Of(v.Self.Name(), v.Summary) + "\n" + strings.Join(texts(v, time.Time{}), "\n")
	if fresh == b.shown && now.Sub(b.lastShown) < repeat {
		return
	}
	what := "waiting"
	if fresh == b.shown {
		what = "still waiting"
	}
	b.shown, b.lastShown = fresh, now
	attrs := []any{"waited", now.Sub(b.started).Round(time.Second).String(), "blockers", texts(v, now)}
	if next := nextStep(v); next != "" {
		attrs = append(attrs, "nextStep", next)
	}
	if len(v.Notes) > 0 {
		attrs = append(attrs, "notes", words.Texts(v.Notes))
	}
	b.Log.Info(what+": "+words.Of(v.Self.Name(), v.Summary), attrs...)
}

// texts returns one line per blocking node; without ages if now is zero.
func texts(v bootstrap.Verdict, now time.Time) []string {
	groups, total := matrix.GroupBlockers(v.Blockers)
	const enough = 20
	var out []string
	for i, g := range groups {
		if i == enough {
			out = append(out, fmt.Sprintf("and others: %d blockers in total", total))
			break
		}
		out = append(out, string(g.Reason)+": "+words.Aging(g.Message(), g.Since, now))
	}
	return out
}

func nextStep(v bootstrap.Verdict) string {
	for _, x := range v.Blockers {
		if !x.Step.IsZero() {
			return words.Text(x.Step)
		}
	}
	return ""
}

// withNext returns the text of a verdict with its next step.
func withNext(v bootstrap.Verdict) string {
	text := words.Of(v.Self.Name(), v.Summary)
	if next := nextStep(v); next != "" {
		text += "; next step: " + next
	}
	return text
}
