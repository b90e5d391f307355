// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// EverJoined accepts any evidence of a join: creating a second cluster is worse than waiting.
func (m *Member) EverJoined() bool {
	return m.HasJoined() || m.Joined == nil && m.Annotation(api.AnnotationHostID) != "" ||
		m.Node != nil && m.Node.Joined
}

// IsUp reports whether at least one row has its node UP and no row has it DOWN.
func (m *Member) IsUp() bool { return m.Node != nil && m.Node.SeenUp > 0 && m.Node.SeenDown == 0 }

// SeedAddress returns the address that other nodes connect to: the Pod's, or with byService the
// Service's cluster IP; empty if there is none.
func (m *Member) SeedAddress(byService bool) string {
	switch {
	case byService && m.Service != nil && m.Service.Spec.ClusterIP != corev1.ClusterIPNone:
		return m.Service.Spec.ClusterIP
	case byService || m.Pod == nil || m.Pod.DeletionTimestamp != nil:
		return ""
	}
	return m.Pod.Status.PodIP
}

// LaunchedWith returns the seeds on the command line of its ScyllaDB that are not members here.
// launched is false if ScyllaDB is not started by launch: then another program chooses its seeds.
func (m *Member) LaunchedWith() (external []string, launched bool) {
	spec := m.podSpec()
	if spec == nil || !startedByLaunch(spec) {
		return nil, false
	}
	return m.c.externalSeeds(spec), true
}

// startedByLaunch reports whether the Pod's ScyllaDB is started by `scylla-agent launch`, with
// seeds that are known here.
func startedByLaunch(spec *corev1.PodSpec) bool {
	container := ScyllaDBContainer(spec)
	if container == nil {
		return false
	}
	words := slices.Concat(container.Command, container.Args)
	at := slices.Index(words, "launch")
	if at < 1 || path.Base(words[at-1]) != "scylla-agent" {
		return false
	}
	// Only the container can resolve seeds from a variable.
	for i, w := range words {
		if strings.Contains(w, "$(") && (strings.HasPrefix(w, "--seeds") || i > 0 && words[i-1] == "--seeds") {
			return false
		}
	}
	return true
}
