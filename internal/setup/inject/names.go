// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Names of what an injection adds.
var (
	ownContainers = []string{api.ContainerReporter, api.ContainerCredential, containerCopy,
		api.ContainerBootstrappedQuery, api.ContainerBarrier}
	ownVolumes = []string{volumeShared, api.VolumeCredential, api.VolumeRootCredential}
)

// checkNames refuses names of ours that the Pods already have, whether this injection adds that
// part or not: a later one can.
func (p *plan) checkNames() {
	spec := &p.set.Spec.Template.Spec
	for field, list := range map[string][]corev1.Container{"initContainers": spec.InitContainers,
		"containers": spec.Containers} {
		for i := range list {
			if name := list[i].Name; slices.Contains(ownContainers, name) {
				p.refuse("spec.template.spec.%s: %s already exists and was not injected: remove it first", field, name)
			}
		}
	}
	for i := range spec.Volumes {
		if name := spec.Volumes[i].Name; slices.Contains(ownVolumes, name) {
			p.refuse("spec.template.spec.volumes: volume %s already exists and was not injected: rename it", name)
		}
	}
	for i := range p.set.Spec.VolumeClaimTemplates {
		if name := p.set.Spec.VolumeClaimTemplates[i].Name; slices.Contains(ownVolumes, name) {
			p.refuse("spec.volumeClaimTemplates: %s is the name of a volume that inject adds: use another name", name)
		}
	}
}
