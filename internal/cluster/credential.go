// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// RootCredential returns the mode of the container of the credential in the member's Pod; off if
// the Pod has none, or the annotation of the StatefulSet stops it.
func (m *Member) RootCredential() api.RootCredentialMode {
	if m.Pod == nil ||
		m.StatefulSet != nil && m.StatefulSet.Annotations[api.AnnotationRootCredential] == api.CredentialOff {
		return api.CredentialOff
	}
	init := m.Pod.Spec.InitContainers
	i := slices.IndexFunc(init, func(c corev1.Container) bool { return c.Name == api.ContainerCredential })
	if i < 0 {
		return api.CredentialOff
	}
	for _, arg := range init[i].Args {
		if mode, ok := strings.CutPrefix(arg, api.CredentialMode); ok {
			return api.RootCredentialMode(mode)
		}
	}
	return api.CredentialOff
}
