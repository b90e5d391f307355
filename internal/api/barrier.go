// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// AnnotationBarrier, on a new node's own Pod, is JSON (see BarrierWait): the blockers that only its
// barrier can detect. Written and removed by the barrier and the launcher, read by every other
// program that judges the member. It only adds blockers and never opens a barrier.
const AnnotationBarrier = "kubectl-scylla.scylladb.com/barrier"

// Limits of a BarrierWait, because every Pod can write the annotation.
const (
	maxBarrierWait = 16 << 10
	// MaxBarrierRefusals is the largest number of refusals that the barrier writes.
	MaxBarrierRefusals = 20
)

// BarrierWait is the state that only a waiting barrier has: the blockers beyond the reports, and
// whether its volume is empty.
//
// +kubebuilder:object:generate=false
type BarrierWait struct {
	// StableSince is the time since which all nodes that must be UP have been UP continuously, by
	// the clock of the barrier's Kubernetes node. StableFor is the required duration.
	// +optional
	StableSince *metav1.Time `json:"stableSince,omitempty"`
	// +optional
	StableFor metav1.Duration `json:"stableFor,omitzero"`
	// Refusals are the blockers that the last check before opening found.
	// +optional
	Refusals []BarrierRefusal `json:"refusals,omitempty"`
	// EmptyVolume is true if the volume of the member's PVC contains no file, so it holds no node
	// of an earlier Pod.
	// +optional
	EmptyVolume bool `json:"emptyVolume,omitempty"`
	// Launcher is true if the Pod's barrier has opened, and the launcher waits by the same rules.
	// It then decides more than a display: the controller judges the Pod as one in its barrier.
	// +optional
	Launcher bool `json:"launcher,omitempty"`
}

// BarrierRefusal is one blocker that the last check before opening found.
//
// +kubebuilder:object:generate=false
type BarrierRefusal struct {
	// Reason is the code of a blocker.
	Reason string `json:"reason"`
	// Observed is the host ID of the blocking node, or its member name if the host ID is unknown.
	// Observer is the host ID of the node whose row reports it.
	// +optional
	Observed string `json:"observed,omitempty"`
	// +optional
	Observer string `json:"observer,omitempty"`
	// Cause explains reason and names; the displaying program formats the sentence.
	// +optional
	Cause words.Coded `json:"cause,omitzero"`
	// Detail is literal text: a network error or an annotation's value. Empty if Cause is set.
	// +optional
	Detail string `json:"detail,omitempty"`
	// Words is the sentence of the cause, or the detail, from barriers without Cause. It is still
	// read for one version, and never written.
	// +optional
	Words string `json:"words,omitempty"`
}

// EncodeBarrierWait returns the annotation's value. If the value is too long, the last refusals,
// which are the least severe, lose their causes and details.
func EncodeBarrierWait(w *BarrierWait) (string, error) {
	short := *w
	short.Refusals = slices.Clone(w.Refusals)
	for i := len(short.Refusals) - 1; ; i-- {
		b, err := json.Marshal(&short)
		if err != nil {
			return "", fmt.Errorf("encode the blockers: %w", err)
		}
		if len(b) <= maxBarrierWait || i < 0 {
			return string(b), nil
		}
		short.Refusals[i].Cause, short.Refusals[i].Detail = words.Coded{}, ""
	}
}

// DecodeBarrierWait decodes the annotation's value.
func DecodeBarrierWait(value string) (*BarrierWait, error) {
	if len(value) > maxBarrierWait {
		return nil, fmt.Errorf("annotation %s has %d bytes, more than %d", AnnotationBarrier, len(value),
			maxBarrierWait)
	}
	var w BarrierWait
	if err := json.Unmarshal([]byte(value), &w); err != nil {
		return nil, fmt.Errorf("annotation %s: %w", AnnotationBarrier, err)
	}
	w.Refusals = w.Refusals[:min(len(w.Refusals), MaxBarrierRefusals)]
	for i := range w.Refusals {
		w.Refusals[i].Cause = words.Coded(words.FromOutside(words.Message(w.Refusals[i].Cause)))
	}
	return &w, nil
}
