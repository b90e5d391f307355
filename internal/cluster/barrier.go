// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// barrierRefuses is the exit code of a barrier that cannot open by waiting (exit.CodeUsage).
const barrierRefuses = 2

// barrierPhase is the phase of the barrier container of a Pod.
type barrierPhase string

const (
	BarrierNoPod   barrierPhase = "NoPod"
	BarrierAbsent  barrierPhase = "Absent" // the Pod has no barrier: nothing blocks it
	BarrierPending barrierPhase = "NotStarted"
	BarrierWaiting barrierPhase = "Waiting" // it runs and blocks
	BarrierPassed  barrierPhase = "Passed"  // it opened
	BarrierFailed  barrierPhase = "Failed"  // it ended with an error
)

// BarrierState is the state of the barrier container.
type BarrierState struct {
	Phase barrierPhase `json:"phase"`
	// Since is when this phase began; nil if unknown.
	Since *metav1.Time `json:"since,omitempty"`
	// Message is the error of a failed barrier. It is empty if the barrier gave none; End is how it
	// ended.
	Message string                           `json:"message,omitempty"`
	End     *corev1.ContainerStateTerminated `json:"-"`
	// Refused is true if the barrier ended because waiting cannot help.
	Refused bool `json:"refused,omitempty"`
	// OfOperator is true if the barrier is the Scylla Operator's own program.
	OfOperator bool `json:"-"`
}

// Barrier returns the state of the barrier in the member's Pod.
func (m *Member) Barrier() BarrierState {
	if m.Pod == nil {
		return BarrierState{Phase: BarrierNoPod}
	}
	s := m.barrierState()
	s.OfOperator = slices.ContainsFunc(m.Pod.Spec.InitContainers, func(c corev1.Container) bool {
		return c.Name == api.ContainerBarrier &&
			strings.Contains(strings.Join(slices.Concat(c.Command, c.Args), " "), operatorBarrier)
	})
	return s
}

// operatorBarrier is the command of the Scylla Operator's barrier.
const operatorBarrier = "run-bootstrap-barrier"

func (m *Member) barrierState() BarrierState {
	pod := m.Pod
	has := HasBarrier(&pod.Spec)
	for _, st := range pod.Status.InitContainerStatuses {
		if st.Name != api.ContainerBarrier {
			continue
		}
		switch {
		case st.State.Running != nil:
			return BarrierState{Phase: BarrierWaiting, Since: known(st.State.Running.StartedAt)}
		case waitsInLauncher(pod):
			return BarrierState{Phase: BarrierWaiting, Since: known(metav1.NewTime(m.StartedAt()))}
		case st.State.Terminated != nil && st.State.Terminated.ExitCode == 0:
			return BarrierState{Phase: BarrierPassed, Since: known(st.State.Terminated.FinishedAt)}
		case st.State.Terminated != nil:
			return barrierFailed(st.State.Terminated)
		case st.LastTerminationState.Terminated != nil && st.LastTerminationState.Terminated.ExitCode != 0:
			return barrierFailed(st.LastTerminationState.Terminated)
		}
		has = true
	}
	if !has {
		return BarrierState{Phase: BarrierAbsent}
	}
	return BarrierState{Phase: BarrierPending}
}

func barrierFailed(t *corev1.ContainerStateTerminated) BarrierState {
	s := BarrierState{Phase: BarrierFailed, Since: known(t.FinishedAt), Message: strings.TrimSpace(t.Message), End: t}
	// The barrier writes its termination message when it refuses, and only then.
	s.Refused = t.ExitCode == barrierRefuses && s.Message != ""
	return s
}

// AtBarrier reports whether the barrier has not opened, even if there is no Pod.
func (s BarrierState) AtBarrier() bool { return s.Phase != BarrierPassed && s.Phase != BarrierAbsent }

// MayWait reports whether a barrier may block the member, or would if the member had a Pod.
func (m *Member) MayWait() bool {
	switch m.Barrier().Phase {
	case BarrierWaiting, BarrierFailed, BarrierPending:
		return true
	case BarrierPassed:
		return false
	}
	return m.State == MemberNewcomer
}

// known returns nil for the zero time.
func known(t metav1.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
