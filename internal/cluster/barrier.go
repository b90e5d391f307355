// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// barrierRefuses is the exit code of a barrier that refuses, because waiting cannot help (exit.CodeUsage).
const barrierRefuses = 2

// BarrierPhase is the phase of the barrier container of a Pod.
type BarrierPhase string

const (
	BarrierNoPod   BarrierPhase = "NoPod"      // there is no Pod
	BarrierAbsent  BarrierPhase = "Absent"     // the Pod has no barrier: nothing holds it back
	BarrierPending BarrierPhase = "NotStarted" // it has not started yet
	BarrierWaiting BarrierPhase = "Waiting"    // it runs, and waits
	BarrierPassed  BarrierPhase = "Passed"     // it opened
	BarrierFailed  BarrierPhase = "Failed"     // it ended with an error
)

// BarrierState is the barrier container's state.
type BarrierState struct {
	Phase BarrierPhase `json:"phase"`
	// Since is when it came into that phase; absent when not known.
	Since *metav1.Time `json:"since,omitempty"`
	// Message is the error of a failed barrier; empty where it gave none, and End is how it ended.
	Message string                           `json:"message,omitempty"`
	End     *corev1.ContainerStateTerminated `json:"-"`
	// Refused is true when it ended because waiting cannot help.
	Refused bool `json:"refused,omitempty"`
}

// Barrier is the state of its Pod's barrier.
func (m *Member) Barrier() BarrierState {
	pod := m.Pod
	if pod == nil {
		return BarrierState{Phase: BarrierNoPod}
	}
	has := HasBarrier(&pod.Spec)
	for _, st := range pod.Status.InitContainerStatuses {
		if st.Name != api.ContainerBarrier {
			continue
		}
		switch {
		case st.State.Running != nil:
			return BarrierState{Phase: BarrierWaiting, Since: known(st.State.Running.StartedAt)}
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
	// The barrier gives its reason to Kubernetes when it refuses, and only then.
	s.Refused = t.ExitCode == barrierRefuses && s.Message != ""
	return s
}

// AtBarrier is true while its barrier has not let it through, also where it has no Pod.
func (s BarrierState) AtBarrier() bool { return s.Phase != BarrierPassed && s.Phase != BarrierAbsent }

// MayWait is true for a member that may be kept from starting, or would be if it had a Pod.
func (m *Member) MayWait() bool {
	switch m.Barrier().Phase {
	case BarrierWaiting, BarrierFailed, BarrierPending:
		return true
	case BarrierPassed:
		return false
	}
	return m.State == MemberNewcomer
}

// known is nil for no time.
func known(t metav1.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
