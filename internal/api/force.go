// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"errors"
	"fmt"
)

// AnnotationForceOverrides, next to AnnotationForceProceed, is JSON: the list of ForceOverride.
// With it the force overrides these reasons and no others; without it, all. The CLI writes it
// together with the force; our controller writes it when it first sees a force without it. Read by
// our barrier; the Scylla Operator's barrier ignores it.
const AnnotationForceOverrides = "kubectl-scylla.scylladb.com/force-overrides"

// AnnotationForceVolume, next to AnnotationForceOverrides, is the UID of the member's data PVC when
// the force was given, or of its Pod if it has no PVC. A recorded force counts for that volume
// alone: a volume that replaces a lost one is another start. Written and read as
// AnnotationForceOverrides; a record of an older version lacks it, and counts for nothing.
const AnnotationForceVolume = "kubectl-scylla.scylladb.com/force-volume"

// DropForce removes a force, and all that is recorded of it, from the annotations of an object.
func DropForce(annotations map[string]string) {
	for _, k := range []string{AnnotationForceProceed, AnnotationForcePropagatedFrom, AnnotationForceReason,
		AnnotationForceOverrides, AnnotationForceVolume} {
		delete(annotations, k)
	}
}

// maxForceOverrides bounds the annotation. All annotations of an object may have 256 KiB.
const maxForceOverrides = 96 << 10

// ForceOverride is one reason that a force overrides. NodeDown and less severe reasons include
// every less severe reason about the same object.
//
// +kubebuilder:object:generate=false
type ForceOverride struct {
	// Reason is the code of a blocker.
	Reason string `json:"reason"`
	// Object is a host ID, a member without one, a StatefulSet or a datacenter; empty for the
	// cluster.
	Object string `json:"object,omitempty"`
}

// EncodeForceOverrides returns the annotation's value. If it is too long, the last reasons are left
// out, so that they block.
func EncodeForceOverrides(list []ForceOverride) (string, error) {
	for keep := len(list); ; keep = keep * 9 / 10 {
		b, err := json.Marshal(append([]ForceOverride{}, list[:keep]...))
		if err != nil {
			return "", fmt.Errorf("encode the overridden reasons: %w", err)
		}
		if len(b) <= maxForceOverrides {
			return string(b), nil
		}
	}
}

// DecodeForceOverrides decodes the annotation's value.
func DecodeForceOverrides(value string) ([]ForceOverride, error) {
	if len(value) > maxForceOverrides {
		return nil, errors.New("decode the overridden reasons: too long")
	}
	var list []ForceOverride
	if err := json.Unmarshal([]byte(value), &list); err != nil {
		return nil, fmt.Errorf("decode the overridden reasons: %w", err)
	}
	return list, nil
}
