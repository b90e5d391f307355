// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// sayPause is the least time between two writes of the annotation, however often nodes go DOWN and come back.
const sayPause = 5 * time.Second

// said is what the annotation of the own Pod holds.
type said struct {
	text   string
	at     time.Time
	failed bool
}

// say keeps in the own Pod's annotation what only this barrier knows: how long all must stay UP still, and what the last look before opening found. So
// that whoever looks at the cluster from outside can say it too. Nothing that fails here changes what the barrier does.
func (b *barrier) say(ctx context.Context, v bootstrap.Verdict) {
	text := ""
	if w := b.heldBy(v); w != nil {
		encoded, err := api.EncodeBarrierWait(w)
		if err != nil {
			b.Log.Warn("cannot say what is waited for", "error", oneLine(err))
			return
		}
		text = encoded
	}
	now := b.Clock.Now()
	if text == b.said.text || !v.Satisfied && !b.said.at.IsZero() && now.Sub(b.said.at) < sayPause {
		return
	}
	b.said.at = now
	if err := b.annotate(ctx, text); err != nil {
		if !b.said.failed {
			b.said.failed = true // said once: it is the log's business that matters
			b.Log.Warn("cannot write to the own Pod what is waited for", "error", oneLine(err))
		}
		return
	}
	b.said.text = text
}

// heldBy is what the verdict waits for beyond the reports, nil where it does not.
func (b *barrier) heldBy(v bootstrap.Verdict) *api.BarrierWait {
	if v.Satisfied || b.stability.since.IsZero() {
		return nil
	}
	if slices.ContainsFunc(v.Blockers, func(x matrix.Blocker) bool { return x.Reason == matrix.ReasonStabilising }) {
		since := metav1.NewTime(b.stability.since.UTC().Truncate(time.Second))
		return &api.BarrierWait{StableSince: &since, StableFor: metav1.Duration{Duration: b.Stabilisation}}
	}
	if slices.ContainsFunc(v.Blockers, func(x matrix.Blocker) bool { return x.Reason == matrix.ReasonPermitPending }) {
		return nil // the view says it to everybody
	}
	w := &api.BarrierWait{}
	for _, x := range v.Blockers[:min(len(v.Blockers), api.MaxBarrierRefusals)] {
		r := api.BarrierRefusal{Reason: string(x.Reason), Observed: nameOf(x.Observed), Observer: nameOf(x.Observer), Words: x.Detail}
		if !x.Cause.IsZero() {
			r.Words = words.Text(x.Cause)
		}
		const enough = 300
		if runes := []rune(r.Words); len(runes) > enough {
			r.Words = string(runes[:enough])
		}
		w.Refusals = append(w.Refusals, r)
	}
	return w
}

func nameOf(r matrix.Ref) string {
	if r.HostID != "" {
		return string(r.HostID)
	}
	return r.Member
}

// annotate writes the annotation, or takes it away where text is empty.
func (b *barrier) annotate(ctx context.Context, text string) error {
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	value := any(text)
	if text == "" {
		value = nil
	}
	meta := map[string]any{"annotations": map[string]any{api.AnnotationBarrier: value}}
	if b.PodUID != "" {
		meta["uid"] = b.PodUID // the API server refuses when the Pod of this name is another one by now
	}
	patch, err := json.Marshal(map[string]any{"metadata": meta})
	if err != nil {
		return err
	}
	pod := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Pod}}
	pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	return b.client.Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch))
}
