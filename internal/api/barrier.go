// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AnnotationBarrier on a newcomer's own Pod is what its barrier waits for and no other object tells, as JSON (see BarrierWait). Written and taken
// away by the barrier, read by whoever judges the member from outside its Pod. It opens nothing: it only adds what must be waited for.
const AnnotationBarrier = "kubectl-scylla.scylladb.com/barrier"

// What a BarrierWait may be: the annotation comes from a Pod.
const (
	maxBarrierWait = 16 << 10
	// MaxBarrierRefusals is how many refusals are kept.
	MaxBarrierRefusals = 20
)

// BarrierWait is what a barrier waits for where the reports alone would open it.
type BarrierWait struct {
	// StableSince is since when all that must be UP is UP without a break, by the clock of the barrier's machine; StableFor is how long that has to hold.
	// +optional
	StableSince *metav1.Time `json:"stableSince,omitempty"`
	// +optional
	StableFor metav1.Duration `json:"stableFor,omitzero"`
	// Refusals are what the last look before opening found.
	// +optional
	Refusals []BarrierRefusal `json:"refusals,omitempty"`
}

// BarrierRefusal is one thing that the last look before opening found.
type BarrierRefusal struct {
	// Reason is the code of a blocker.
	Reason string `json:"reason"`
	// Observed is the host ID, or where there is none the member, that it is about; Observer that of whose row says it.
	// +optional
	Observed string `json:"observed,omitempty"`
	// +optional
	Observer string `json:"observer,omitempty"`
	// Words are what was answered.
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
