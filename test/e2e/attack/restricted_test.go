// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"os"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/inject"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/plane"
)

// controllerPod is the Pod that install creates.
func controllerPod(t *testing.T) corev1.PodSpec {
	t.Helper()
	objects, err := manifests.Objects(manifests.Options{Image: "x"})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range objects {
		if u.GetKind() == "Deployment" {
			d := &appsv1.Deployment{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, d); err != nil {
				t.Fatal(err)
			}
			return d.Spec.Template.Spec
		}
	}
	t.Fatal("install has no Deployment")
	return corev1.PodSpec{}
}

// injectedPod is the Pod of an injected StatefulSet. Its ScyllaDB runs as user 999 with all restrictions of Kubernetes, so that only the added
// containers can violate a standard.
func injectedPod(t *testing.T, user int64) corev1.PodSpec {
	t.Helper()
	plain, err := os.ReadFile("../testdata/plain.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var in []string
	for _, doc := range strings.Split(string(plain), "\n---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(doc), &u.Object); err != nil {
			t.Fatal(err)
		}
		if u.GetKind() == "StatefulSet" {
			template := u.Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
			template["securityContext"] = map[string]any{"runAsUser": user, "runAsNonRoot": user != 0}
			for _, c := range template["containers"].([]any) {
				c.(map[string]any)["securityContext"] = map[string]any{
					"allowPrivilegeEscalation": false, "capabilities": map[string]any{"drop": []any{"ALL"}}, "seccompProfile": map[string]any{"type": "RuntimeDefault"},
				}
			}
		}
		b, err := yaml.Marshal(u.Object)
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, string(b))
	}
	m, err := inject.Stream([]byte(strings.Join(in, "---\n")), inject.Options{Image: "x", ControllerNamespace: manifests.Namespace, Namespace: "default"}, false)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := manifests.Decode(strings.NewReader(string(m.Text)))
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range objects {
		if u.GetKind() == "StatefulSet" {
			s := &appsv1.StatefulSet{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, s); err != nil {
				t.Fatal(err)
			}
			for _, claim := range s.Spec.VolumeClaimTemplates { // claims of a Pod that no StatefulSet made
				s.Spec.Template.Spec.Volumes = append(s.Spec.Template.Spec.Volumes, corev1.Volume{Name: claim.Name})
			}
			return s.Spec.Template.Spec
		}
	}
	t.Fatal("nothing was injected")
	return corev1.PodSpec{}
}

// Pods of ours in namespaces that enforce a Pod Security Standard, asked of a real API server.
func TestPodSecurity(t *testing.T) {
	covers(t, "internal/setup/inject", "internal/setup/manifests")
	p := plane.Start(t)
	c, err := kube.NewClient(p.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	// Everything that install applies, with a second controller: kinds, budget, priority class.
	objects, err := manifests.Objects(manifests.Options{Image: "x", Replicas: 2})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, u := range objects {
		b, err := u.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(string(b) + "\n---\n")
	}
	if out, err := p.KubectlInput(t.Context(), text.String(), "apply", "-f", "-"); err != nil || !strings.Contains(out, "poddisruptionbudget.policy/kubectl-scylla-controller created") {
		t.Fatal(out, err)
	}
	for _, level := range []string{"restricted", "baseline"} {
		if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: level, Labels: map[string]string{"pod-security.kubernetes.io/enforce": level}}}); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		level string
		spec  corev1.PodSpec
		// refused is part of the refusal; empty: the Pod is accepted.
		refused string
	}{
		"the controller":                          {"restricted", controllerPod(t), ""},
		"what inject adds":                        {"restricted", injectedPod(t, 999), ""},
		"what inject adds where ScyllaDB is root": {"baseline", injectedPod(t, 0), ""},
		// Root may read the files of another user with DAC_OVERRIDE only; the standard forbids both.
		"the same, restricted":          {"restricted", injectedPod(t, 0), "violates PodSecurity"},
		"a Pod that says nothing of it": {"restricted", corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x"}}}, "violates PodSecurity"},
	} {
		tc.spec.ServiceAccountName, tc.spec.AutomountServiceAccountToken = "", ptr.To(false)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: tc.level, Name: "x"}, Spec: tc.spec}
		err := c.Create(t.Context(), pod, client.DryRunAll)
		if tc.refused == "" && err != nil || tc.refused != "" && (err == nil || !strings.Contains(err.Error(), tc.refused)) {
			t.Errorf("%s in a namespace that is %s: %v, want %q", name, tc.level, err, tc.refused)
		}
	}
}

// The standards do not cover root file systems: all our containers write to volumes only.
func TestRootFileSystemsAreReadOnly(t *testing.T) {
	covers(t, "internal/setup/inject", "internal/setup/manifests")
	for name, spec := range map[string]corev1.PodSpec{"controller": controllerPod(t), "injected": injectedPod(t, 999)} {
		for _, c := range append(spec.InitContainers, spec.Containers...) {
			if c.Name == api.ContainerScyllaDB || c.Image != "x" && !strings.Contains(c.Name, "bootstrapped-query") {
				continue // the person's own
			}
			if s := c.SecurityContext; s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
				t.Errorf("%s: container %s may write to its root file system", name, c.Name)
			}
		}
	}
}
