// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/pattern"
)

// Missing is a Secret or ConfigMap that a Pod needs and that does not exist.
type Missing struct {
	Kind, Name string
}

// String returns kind and name as kubectl accepts them: "secret/demo-tls".
func (m Missing) String() string { return m.Kind + "/" + m.Name }

// notFound matches the kubelet's text in Events about mounts and in container states: secret
// "demo-tls" not found.
var notFound = pattern.Lazy(`\b(secret|configmap) "([^"]{1,253})" not found`)

// MissingIn returns the Secrets and ConfigMaps that a kubelet's message reports as not found.
func MissingIn(words string) []Missing {
	var out []Missing
	for _, m := range notFound().FindAllStringSubmatch(words, -1) {
		one := Missing{Kind: m[1], Name: m[2]}
		if len(validation.IsDNS1123Subdomain(one.Name)) == 0 && !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	slices.SortFunc(out, func(a, b Missing) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	})
	return out
}

// Unstarted is a Pod on a Kubernetes node whose containers have never run.
type Unstarted struct {
	Pod string
	UID types.UID
	// Missing are the missing objects by the states of its containers. Missing objects of its
	// volumes are in Events only.
	Missing []Missing
}

// Unstarted returns the Pods on a Kubernetes node whose containers have never run or that miss an
// object, by name.
func (c *Cluster) Unstarted() []Unstarted {
	var out []Unstarted
	for i := range c.Pods {
		pod := &c.Pods[i]
		if c.ix.services[pod.Name] == nil || pod.DeletionTimestamp != nil || pod.Spec.NodeName == "" ||
			pod.Status.Phase != corev1.PodPending {
			continue
		}
		ran, said := false, []string(nil)
		for _, st := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			ran = ran || st.State.Running != nil || st.State.Terminated != nil ||
				st.LastTerminationState.Terminated != nil
			if st.State.Waiting != nil {
				said = append(said, st.State.Waiting.Message)
			}
		}
		missing := MissingIn(strings.Join(said, "\n"))
		if !ran || len(missing) > 0 {
			out = append(out, Unstarted{Pod: pod.Name, UID: pod.UID, Missing: missing})
		}
	}
	return out
}
