// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// AnnotationBarrier, on a newcomer's own Pod, holds as JSON (see BarrierWait) those reasons to wait that only its barrier knows. Written and removed
// by the barrier, read by every other program that judges the member. It opens no barrier: it only adds reasons to wait.
const AnnotationBarrier = "kubectl-scylla.scylladb.com/barrier"

// Bounds of a BarrierWait, because every Pod can write the annotation.
const (
	maxBarrierWait = 16 << 10
	// MaxBarrierRefusals is how many refusals are kept.
	MaxBarrierRefusals = 20
)

// BarrierWait holds what only the barrier knows while it waits: the reasons beyond the reports, and whether its volume is empty.
//
// +kubebuilder:object:generate=false
type BarrierWait struct {
	// StableSince is since when all nodes that must be UP have been UP without a break, by the clock of the barrier's machine; StableFor is how long
	// that must last.
	// +optional
	StableSince *metav1.Time `json:"stableSince,omitempty"`
	// +optional
	StableFor metav1.Duration `json:"stableFor,omitzero"`
	// Refusals are the blockers that the last check before opening found.
	// +optional
	Refusals []BarrierRefusal `json:"refusals,omitempty"`
	// EmptyVolume is true where the barrier found no file on the volume of its own claim: no node of an earlier Pod is on it.
	// +optional
	EmptyVolume bool `json:"emptyVolume,omitempty"`
}

// BarrierRefusal is one blocker that the last check before opening found.
//
// +kubebuilder:object:generate=false
type BarrierRefusal struct {
	// Reason is the code of a blocker.
	Reason string `json:"reason"`
	// Observed is the host ID of the node concerned, or its member's name where the host ID is unknown; Observer is that of the node whose row reports
	// it.
	// +optional
	Observed string `json:"observed,omitempty"`
	// +optional
	Observer string `json:"observer,omitempty"`
	// Cause adds to reason and names; its sentence is made by the program that shows it.
	// +optional
	Cause words.Coded `json:"cause,omitzero"`
	// Detail is quoted: an error of the network, an annotation's value. Empty where there is a Cause.
	// +optional
	Detail string `json:"detail,omitempty"`
	// Words are the sentence of the cause, or the detail, of barriers before there was a Cause. Read for one more version and not written.
	// +optional
	Words string `json:"words,omitempty"`
}

// EncodeBarrierWait writes the annotation's value. Where it is too long, the last refusals are without their causes and details: those whose reasons are the least grave.
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

// DecodeBarrierWait reads the annotation's value.
func DecodeBarrierWait(value string) (*BarrierWait, error) {
	if len(value) > maxBarrierWait {
		return nil, fmt.Errorf("annotation %s has %d bytes, more than %d", AnnotationBarrier, len(value), maxBarrierWait)
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
