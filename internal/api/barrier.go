// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
type BarrierRefusal struct {
	// Reason is the code of a blocker.
	Reason string `json:"reason"`
	// Observed is the host ID of the node concerned, or its member's name where the host ID is unknown; Observer is that of the node whose row reports
	// it.
	// +optional
	Observed string `json:"observed,omitempty"`
	// +optional
	Observer string `json:"observer,omitempty"`
	// Words are the text of the answer.
	// +optional
	Words string `json:"words,omitempty"`
}

// EncodeBarrierWait writes the annotation's value.
func EncodeBarrierWait(w *BarrierWait) (string, error) {
	b, err := json.Marshal(w)
	if err != nil {
		return "", fmt.Errorf("encode what the barrier waits for: %w", err)
	}
	return string(b), nil
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
	return &w, nil
}
