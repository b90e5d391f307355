// SPDX-License-Identifier: Apache-2.0

package support

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
)

// Container is a container that waits, fails or was restarted.
type Container struct {
	Pod       string `json:"pod"`
	Container string `json:"container"`
	Init      bool   `json:"init,omitempty"`
	// State as text: "CrashLoopBackOff, 3 restarts", "Running, not ready".
	State    string `json:"state"`
	Restarts int32  `json:"restarts,omitempty"`
	// First and Last are the first and last error lines of its log; nil without the line or the
	// log.
	First *LogError `json:"firstError,omitempty"`
	Last  *LogError `json:"lastError,omitempty"`
	// Diagnosis is the known failure that the log shows.
	Diagnosis *scylla.Diagnosis `json:"diagnosis,omitempty"`
	// Log and PreviousLog are the redacted last lines of the logs of this run and the previous one;
	// empty if they were not read.
	Log         string `json:"-"`
	PreviousLog string `json:"-"`
}

// LogError is one line of a log that reports an error.
type LogError struct {
	Line string `json:"line"`
	// Previous is set for a line of the container's previous run.
	Previous bool `json:"previous,omitempty"`
}

// replacements returns the members with an open or requested replacement.
func replacements(s *cluster.Cluster) map[string]bool {
	out := map[string]bool{}
	for i := range s.Services {
		rec := replace.ReadRecord(s.Services[i].Labels, s.Services[i].Annotations)
		out[s.Services[i].Name] = rec.Requested || rec.Open()
	}
	return out
}

// waiting lists the containers that crash, fail, wait with a reason, or block others.
func waiting(s *cluster.Cluster) []Container {
	var out []Container
	replacing := replacements(s)
	for i := range s.Pods {
		p := &s.Pods[i]
		sidecar := map[string]bool{}
		for _, c := range p.Spec.InitContainers {
			sidecar[c.Name] = c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		}
		for _, st := range p.Status.InitContainerStatuses {
			if state, ok := waitingState(st, !sidecar[st.Name]); ok {
				out = append(out, Container{Pod: p.Name, Container: st.Name, Init: true, State: state,
					Restarts: st.RestartCount})
			}
		}
		for _, st := range p.Status.ContainerStatuses {
			state, ok := waitingState(st, false)
			if !ok && st.Name == s.Containers().Container(p.Name) && replacing[p.Name] &&
				(st.State.Running != nil || st.State.Terminated != nil) {
				// Its log shows whether the replacement can still succeed.
				state, ok = "replaces another node", true
			}
			if ok {
				out = append(out, Container{Pod: p.Name, Container: st.Name, State: state, Restarts: st.RestartCount})
			}
		}
	}
	return out
}

// waitingState returns the state as text; false for a container in its normal state or in a normal
// start. A oneShot container blocks the others while it runs.
func waitingState(st corev1.ContainerStatus, oneShot bool) (string, bool) {
	var state string
	switch {
	case st.State.Waiting != nil:
		if r := st.State.Waiting.Reason; (r == "PodInitializing" || r == "ContainerCreating" || r == "") &&
			st.RestartCount == 0 {
			return "", false
		}
		state = cmp.Or(st.State.Waiting.Reason, "Waiting")
	case st.State.Terminated != nil:
		if st.State.Terminated.ExitCode == 0 {
			return "", false
		}
		state = fmt.Sprintf("%s, exit code %d", cmp.Or(st.State.Terminated.Reason, "Terminated"),
			st.State.Terminated.ExitCode)
	case st.State.Running != nil && oneShot:
		state = "Running, other containers wait for it"
	case st.State.Running != nil && !st.Ready:
		state = "Running, not ready"
	default:
		return "", false
	}
	switch st.RestartCount {
	case 0:
	case 1:
		state += ", 1 restart"
	default:
		state += fmt.Sprintf(", %d restarts", st.RestartCount)
	}
	return state, true
}
