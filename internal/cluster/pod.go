// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// PodState joins kubectl's STATUS and READY columns. A restartable init container (native sidecar)
// counts as init container and as container.
func PodState(pod *corev1.Pod) string {
	word, between, done, of := podStatus(pod)
	if of == 0 {
		return word
	}
	return word + between + strconv.Itoa(done) + "/" + strconv.Itoa(of)
}

// BecausePod is PodState in a sentence.
func BecausePod(pod *corev1.Pod) words.Message {
	switch word, between, done, of := podStatus(pod); {
	case of == 0:
		return words.New(words.BecausePod, "state", word)
	case between == ":":
		return words.New(words.BecausePodStarts, "passed", done, "inits", of)
	default:
		return words.New(words.BecausePod, "state", word, "ready", done, "containers", of)
	}
}

// podStatus returns the STATUS column, and how many of its containers are ready or, after a colon,
// how many of its init containers have finished.
func podStatus(pod *corev1.Pod) (word, between string, done, of int) {
	if pod == nil {
		return "None", "", 0, 0
	}
	inits := len(pod.Spec.InitContainers)
	passed, ready, failed := initState(pod)
	total := len(pod.Spec.Containers)
	for i := range pod.Spec.InitContainers {
		if isSidecar(&pod.Spec.InitContainers[i]) {
			total++
		}
	}
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Ready {
			ready++
		}
	}
	c := podCondition(pod, corev1.PodInitialized)
	through := c != nil && c.Status == corev1.ConditionTrue
	switch {
	case pod.DeletionTimestamp != nil:
		return "Terminating", " ", ready, total
	case failed != "" && !through:
		return "Init:" + failed, "", 0, 0
	case passed < inits && !through && pod.Status.Phase == corev1.PodPending && podScheduled(pod):
		return "Init", ":", passed, inits
	}
	for i := range pod.Status.ContainerStatuses {
		st := &pod.Status.ContainerStatuses[i]
		if w := st.State.Waiting; w != nil && failing(w.Reason) {
			return w.Reason, " ", ready, total
		}
	}
	switch {
	case failed != "": // a sidecar, long after the start
		return "Init:" + failed, "", 0, 0
	case pod.Status.Phase == corev1.PodRunning:
		return "Running", " ", ready, total
	}
	return cmp.Or(string(pod.Status.Phase), "Unknown"), "", 0, 0
}

// initState walks the init containers in order up to the starting one. passed counts those before
// it, ready the Ready sidecars among these. failed is why the starting one fails.
func initState(pod *corev1.Pod) (passed, ready int, failed string) {
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		st := containerStatus(pod.Status.InitContainerStatuses, c.Name)
		switch {
		case st == nil:
			continue
		case st.State.Terminated != nil && st.State.Terminated.ExitCode == 0:
		case isSidecar(c) && sidecarStarted(st):
			if st.Ready {
				ready++
			}
		case st.State.Terminated != nil || st.State.Waiting != nil && failing(st.State.Waiting.Reason):
			return passed, ready, initReason(st)
		default:
			return passed, ready, ""
		}
		passed++
	}
	return passed, ready, ""
}

// sidecarStarted reports whether the kubelet lets the next container start: a sidecar with a
// startup probe runs before that.
func sidecarStarted(st *corev1.ContainerStatus) bool {
	if st.Started != nil {
		return *st.Started
	}
	return st.State.Running != nil
}

func initReason(st *corev1.ContainerStatus) string {
	if t := st.State.Terminated; t != nil {
		return cmp.Or(t.Reason, fmt.Sprintf("ExitCode:%d", t.ExitCode))
	}
	return st.State.Waiting.Reason
}

// failing reports whether a waiting reason means a fault; false for the reasons of a normal start.
func failing(reason string) bool {
	return reason != "" && reason != "PodInitializing" && reason != "ContainerCreating"
}

func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

func containerStatus(all []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return nil
}

func podScheduled(pod *corev1.Pod) bool {
	c := podCondition(pod, corev1.PodScheduled)
	return c != nil && c.Status == corev1.ConditionTrue || pod.Spec.NodeName != ""
}

// podWaiting returns what a Pod waits for: its Kubernetes node, its init containers in order, then
// ScyllaDB itself. Zero if ScyllaDB's container is ready.
func podWaiting(pod *corev1.Pod) (what words.Message, since time.Time) {
	if pod.DeletionTimestamp != nil {
		return words.New(words.WaitsForEnd), pod.DeletionTimestamp.Time
	}
	if !podScheduled(pod) {
		if c := podCondition(pod, corev1.PodScheduled); c != nil {
			return words.New(words.WaitsForKubernetesNode, "words", cmp.Or(c.Message, c.Reason)),
				c.LastTransitionTime.Time
		}
		return words.New(words.WaitsForKubernetesNode), pod.CreationTimestamp.Time
	}
	for a := range pendingContainers(pod) {
		if a.kind == words.Container && a.st != nil && a.st.Ready {
			break
		}
		what, since = containerWaiting(a, pod)
		if isSidecar(a.Container) && what.Code == words.WaitsForFinish {
			what.Code = words.WaitsForStart // it never finishes
		}
		return what, since
	}
	return words.Message{}, time.Time{}
}

// pending is a container with its status, nil if there is none, and kind InitContainer or
// Container.
type pending struct {
	*corev1.Container
	kind words.Code
	st   *corev1.ContainerStatus
}

func (p pending) name() words.Message { return words.New(p.kind, "container", p.Name) }

// pendingContainers yields the init containers that have not finished, or as sidecars not started,
// in order, and then ScyllaDB's container.
func pendingContainers(pod *corev1.Pod) iter.Seq[pending] {
	return func(yield func(pending) bool) {
		for i := range pod.Spec.InitContainers {
			c := &pod.Spec.InitContainers[i]
			st := containerStatus(pod.Status.InitContainerStatuses, c.Name)
			passed := st != nil && (isSidecar(c) && sidecarStarted(st) ||
				!isSidecar(c) && st.State.Terminated != nil && st.State.Terminated.ExitCode == 0)
			if !passed && !yield(pending{c, words.InitContainer, st}) {
				return
			}
		}
		for i := range pod.Spec.Containers {
			c := &pod.Spec.Containers[i]
			st := containerStatus(pod.Status.ContainerStatuses, c.Name)
			// the Scylla Operator's ScyllaDB waits for this container
			if c.Name == api.ContainerIgnition && st != nil && !st.Ready && !yield(pending{c, words.Container, st}) {
				return
			}
		}
		if c := ScyllaDBContainer(&pod.Spec); c != nil {
			yield(pending{c, words.Container, containerStatus(pod.Status.ContainerStatuses, c.Name)})
		}
	}
}

// sidecars yields the sidecars and the containers other than ScyllaDB's that are not ready.
func sidecars(pod *corev1.Pod) iter.Seq[pending] {
	return func(yield func(pending) bool) {
		database := ScyllaDBContainer(&pod.Spec)
		for i := range pod.Spec.InitContainers {
			c := &pod.Spec.InitContainers[i]
			st := containerStatus(pod.Status.InitContainerStatuses, c.Name)
			if isSidecar(c) && st != nil && !st.Ready && !yield(pending{c, words.InitContainer, st}) {
				return
			}
		}
		for i := range pod.Spec.Containers {
			c := &pod.Spec.Containers[i]
			st := containerStatus(pod.Status.ContainerStatuses, c.Name)
			if c != database && st != nil && !st.Ready && !yield(pending{c, words.Container, st}) {
				return
			}
		}
	}
}

func containerWaiting(a pending, pod *corev1.Pod) (words.Message, time.Time) {
	kind, st := a.name(), a.st
	switch {
	case st == nil:
	case st.State.Running != nil && a.kind == words.InitContainer:
		return words.New(words.WaitsForFinish, "container", kind), st.State.Running.StartedAt.Time
	case st.State.Running != nil:
		since := podTransition(pod, corev1.ContainersReady)
		if started := st.State.Running.StartedAt.Time; !since.IsZero() && started.After(since) {
			since = started // the condition has been False since before the container started
		}
		return words.New(words.WaitsForReady, "container", kind), since
	case st.State.Terminated != nil:
		t := st.State.Terminated
		return words.New(words.WaitsForEnded, "container", kind, "code", t.ExitCode, "words", FirstLine(t.Message)),
			t.FinishedAt.Time
	case st.State.Waiting != nil && st.State.Waiting.Reason != "":
		m := words.New(words.WaitsForContainer, "container", kind, "reason", st.State.Waiting.Reason)
		msg := FirstLine(st.State.Waiting.Message)
		if t := st.LastTerminationState.Terminated; t != nil {
			if msg = FirstLine(t.Message); msg == "" {
				m.Params["code"] = t.ExitCode
			}
		}
		m.Params["words"] = msg
		return m, lastEnd(st)
	}
	return words.New(words.WaitsForStart, "container", kind), pod.CreationTimestamp.Time
}

// FirstLine returns the first line of a container's message, at most 500 characters.
func FirstLine(msg string) string {
	msg, _, _ = strings.Cut(strings.TrimSpace(msg), "\n")
	if r := []rune(msg); len(r) > 500 {
		return string(r[:500]) + "…"
	}
	return msg
}

// Log is where a Pod shows why ScyllaDB is not Ready.
type Log struct {
	Container string
	// Previous is true if only the previous run of the container has a log.
	Previous bool
	// None is true if no container of the Pod has run: only its Events show the reason.
	None bool
}

// LogOf returns the log of ScyllaDB's container once it has run in this Pod and the Pod waits for
// it, before that the log of the init container that ran last. It is container database if nothing
// is known of a Pod's containers. No other container's log shows why a ScyllaDB ended again and
// again whose last run is gone.
func LogOf(pod *corev1.Pod, database string) Log {
	l := Log{Container: database}
	if pod == nil || pod.Status.Phase == "" {
		return l
	}
	l.None = true
	has := func(st *corev1.ContainerStatus) bool {
		of := logOf(st)
		if !of.None {
			l = of
		}
		return !of.None
	}
	if st := containerStatus(pod.Status.ContainerStatuses, api.ContainerIgnition); st != nil && !st.Ready && has(st) {
		return l
	}
	if c := ScyllaDBContainer(&pod.Spec); c != nil {
		l.Container = c.Name
		st := containerStatus(pod.Status.ContainerStatuses, c.Name)
		if has(st) || st != nil && st.State.Waiting != nil && st.State.Waiting.Reason == reasonLoop {
			return l
		}
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		st := containerStatus(pod.Status.InitContainerStatuses, c.Name)
		if !isSidecar(c) || st != nil && !sidecarStarted(st) {
			has(st)
		}
	}
	return l
}

// SidecarLog returns the log of the container that a Pod with a ready ScyllaDB waits for.
func SidecarLog(pod *corev1.Pod) Log {
	for a := range sidecars(pod) {
		return logOf(a.st)
	}
	return Log{None: true}
}

// LogOfContainer returns the log of one container, even if its Pod was not read.
func LogOfContainer(pod *corev1.Pod, name string) Log {
	if pod == nil || pod.Status.Phase == "" {
		return Log{Container: name}
	}
	st := containerStatus(pod.Status.InitContainerStatuses, name)
	if st == nil {
		st = containerStatus(pod.Status.ContainerStatuses, name)
	}
	return logOf(st)
}

// logOf returns the log of a container; None if it has not run, and if its last run is gone.
func logOf(st *corev1.ContainerStatus) Log {
	switch {
	case st == nil:
	case st.State.Running != nil || st.State.Terminated != nil:
		return Log{Container: st.Name, Previous: endsAgain(st)}
	case st.LastTerminationState.Terminated != nil:
		return Log{Container: st.Name, Previous: true}
	}
	return Log{None: true}
}

// ContainerRuns reports whether that container of the Pod runs.
func ContainerRuns(pod *corev1.Pod, name string) bool {
	for _, list := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		if st := containerStatus(list, name); st != nil {
			return st.State.Running != nil
		}
	}
	return false
}
