// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/credential"
)

// kubernetesQoS is the QoS class as Kubernetes computes it: sums over all containers, after the API server has set each missing request to its limit.
func kubernetesQoS(spec *corev1.PodSpec) corev1.PodQOSClass {
	sums := [2]map[corev1.ResourceName]int64{{}, {}}
	guaranteed := true
	for _, c := range append(append([]corev1.Container{}, spec.Containers...), spec.InitContainers...) {
		bounded := 0
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			limit, limited := c.Resources.Limits[name]
			request, set := c.Resources.Requests[name]
			if !set && limited {
				request = limit
			}
			if n := request.MilliValue(); n > 0 {
				sums[0][name] += n
			}
			if n := limit.MilliValue(); n > 0 {
				sums[1][name] += n
				bounded++
			}
		}
		guaranteed = guaranteed && bounded == 2
	}
	switch {
	case len(sums[0])+len(sums[1]) == 0:
		return corev1.PodQOSBestEffort
	case guaranteed && cmp.Equal(sums[0], sums[1]):
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}

// drawResources gives a container any resources, or those of a Guaranteed Pod.
func drawResources(rt *rapid.T, c object, guaranteed bool) {
	quantity := func(what string, values ...string) string { return rapid.SampledFrom(values).Draw(rt, what) }
	cpu, memory := quantity("cpu", "0", "100m", "4"), quantity("memory", "0", "64Mi", "32Gi")
	limits, requests := object{}, object{}
	if guaranteed {
		limits = object{"cpu": "2", "memory": "8Gi"}
		cpu, memory = "2", "8Gi"
	}
	for name, value := range map[string]string{"cpu": cpu, "memory": memory} {
		if !guaranteed && rapid.Bool().Draw(rt, "limit") {
			limits[name] = value
		}
		if rapid.Bool().Draw(rt, "request") {
			requests[name] = value
		}
	}
	c["resources"] = object{"limits": limits, "requests": requests}
}

// For any Pod: it has the QoS class that it had, and no added container gets CPUs of its own.
func TestTheQoSClassIsKept(t *testing.T) {
	plain := input(t, "plain.yaml")
	seen := map[corev1.PodQOSClass]int{}
	rapid.Check(t, func(rt *rapid.T) {
		docs, err := split(plain)
		if err != nil {
			rt.Fatal(err)
		}
		set := docs[1].root
		_, spec := podTemplate(set)
		guaranteed := rapid.Bool().Draw(rt, "guaranteed")
		bare := rapid.Bool().Draw(rt, "no resources")
		init := object{"name": "mine", "image": "x"}
		spec["initContainers"] = []any{init}
		for _, c := range append(spec["containers"].([]any), init) {
			if delete(c.(object), "resources"); !bare {
				drawResources(rt, c.(object), guaranteed)
			}
		}
		o := image
		o.RootCredential = rapid.SampledFrom(CredentialModes()).Draw(rt, "credential")
		before, err := typed(set)
		if err != nil {
			rt.Fatal(err)
		}
		r, err := statefulSet(set, o, nil)
		if err != nil {
			rt.Fatal(err)
		}
		after, err := typed(r.Object)
		if err != nil {
			rt.Fatal(err)
		}
		was, is := kubernetesQoS(&before.Spec.Template.Spec), kubernetesQoS(&after.Spec.Template.Spec)
		seen[was]++
		if was != is || !strings.Contains(r.Cost, string(was)) {
			rt.Fatalf("QoS class %s becomes %s: %s", was, is, r.Cost)
		}
		if got := qosOf(&before.Spec.Template.Spec); got != was {
			rt.Fatalf("qosOf = %s, want %s", got, was)
		}
		for _, c := range after.Spec.Template.Spec.InitContainers {
			if cpu := c.Resources.Limits[corev1.ResourceCPU]; c.Name != "mine" && cpu.MilliValue()%1000 == 0 && cpu.MilliValue() > 0 {
				rt.Fatalf("%s gets %s CPUs of its own", c.Name, &cpu)
			}
		}
	})
	if len(seen) < 3 {
		t.Errorf("only %v were drawn", seen)
	}
}

// The plan names each container with its request, and what a Pod requests more: init containers that end cost only what exceeds the others.
func TestThePlanHasTheCost(t *testing.T) {
	for name, tc := range map[string]struct {
		cpu, memory string
		want        string
	}{
		"a large ScyllaDB": {"4", "32Gi", "each Pod requests cpu 200m memory 256Mi more (" + api.ContainerReporter + " cpu 100m memory 128Mi, " + api.ContainerCredential +
			" cpu 100m memory 128Mi, scylla-agent-copy cpu 100m memory 128Mi, " + api.ContainerBootstrappedQuery + " cpu 500m memory 2Gi, " + api.ContainerBarrier +
			" cpu 100m memory 128Mi): QoS class Guaranteed is unchanged"},
		"less than the query": {"300m", "1Gi", "each Pod requests cpu 400m memory 1280Mi more ("},
	} {
		docs, err := split(input(t, "plain.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		set := docs[1].root
		list, _, _ := unstructured.NestedSlice(set.Object, "spec", "template", "spec", "containers")
		of := object{"cpu": tc.cpu, "memory": tc.memory}
		list[0].(object)["resources"] = object{"limits": of}
		if err := unstructured.SetNestedSlice(set.Object, list[:1], "spec", "template", "spec", "containers"); err != nil {
			t.Fatal(err)
		}
		o := image
		o.RootCredential = credential.Verify
		r, err := statefulSet(set, o, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(r.Cost, tc.want) {
			t.Errorf("%s: %s\nwant %s", name, r.Cost, tc.want)
		}
	}
}

// Sidecars run beside the containers, and other init containers before them.
func TestDemand(t *testing.T) {
	c := func(cpu string, sidecar bool) corev1.Container {
		out := corev1.Container{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}}
		if sidecar {
			out.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		}
		return out
	}
	for name, tc := range map[string]struct {
		init, containers []corev1.Container
		want             string
	}{
		"containers":               {nil, []corev1.Container{c("1", false), c("2", false)}, "3"},
		"a smaller init container": {[]corev1.Container{c("2", false)}, []corev1.Container{c("3", false)}, "3"},
		"a larger one":             {[]corev1.Container{c("4", false), c("5", false)}, []corev1.Container{c("3", false)}, "5"},
		"a sidecar":                {[]corev1.Container{c("1", true)}, []corev1.Container{c("3", false)}, "4"},
		"before an init container": {[]corev1.Container{c("1", true), c("4", false)}, []corev1.Container{c("3", false)}, "5"},
		"after an init container":  {[]corev1.Container{c("4", false), c("1", true)}, []corev1.Container{c("1", false)}, "4"},
	} {
		got := demand(&corev1.PodSpec{InitContainers: tc.init, Containers: tc.containers}, requests)
		if got.Cpu().String() != tc.want {
			t.Errorf("%s: %s, want %s", name, got.Cpu(), tc.want)
		}
	}
}
