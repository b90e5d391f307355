// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/credential"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/golden"
)

// setIn is the StatefulSet of a stream.
func setIn(t *testing.T, text []byte) (*appsv1.StatefulSet, *unstructured.Unstructured) {
	t.Helper()
	s := &appsv1.StatefulSet{}
	u := &unstructured.Unstructured{Object: objects(t, text)["statefulset shop/db"].(map[string]any)}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, s); err != nil {
		t.Fatal(err)
	}
	return s, u
}

// The container is there where it has a use, and it alone mounts the Secret, without a port and without the token of the API.
func TestRootCredential(t *testing.T) {
	in := input(t, "passwords.yaml")
	with := func(mode credential.Mode) Options {
		o := image
		o.RootCredential = mode
		return o
	}
	managed := stream(t, in, with(credential.Managed), false)
	golden.File(t, filepath.Join(fleet, "injected", "passwords-managed.yaml"), string(managed.Text))
	if len(managed.Secrets) != 1 || managed.Secrets[0].String() != "shop/shop-root-credential" {
		t.Errorf("needs the Secrets %v", managed.Secrets)
	}
	s, u := setIn(t, managed.Text)
	pod := s.Spec.Template.Spec
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		mounts := func(volume string) bool {
			return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == volume })
		}
		own := c.Name == api.ContainerCredential
		if mounts(api.VolumeRootCredential) != own || mounts(api.VolumeCredential) != (own || c.Name == api.ContainerReporter) {
			t.Errorf("%s mounts %+v", c.Name, c.VolumeMounts)
		}
		if !own {
			continue
		}
		for _, m := range c.VolumeMounts {
			if !m.ReadOnly && m.MountPath != api.MountCredential {
				t.Errorf("it may write to %s", m.MountPath)
			}
		}
		token := slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == noToken })
		if len(c.Ports) > 0 || len(c.Env) > 0 || !token || *c.SecurityContext.RunAsUser != 999 {
			t.Errorf("%+v", c)
		}
	}
	tests := map[string]struct {
		in   []byte
		mode credential.Mode
		want credential.Mode
	}{
		"passwords required":     {in, "", credential.Verify},
		"not wanted":             {in, credential.Off, credential.Off},
		"kept":                   {managed.Text, "", credential.Managed},
		"changed":                {managed.Text, credential.Verify, credential.Verify},
		"taken away":             {managed.Text, credential.Off, credential.Off},
		"no passwords":           {input(t, "plain.yaml"), "", ""},
		"by an argument":         {[]byte(strings.Replace(string(input(t, "plain.yaml")), "[--cluster", "[--authenticator=PasswordAuthenticator, --cluster", 1)), "", credential.Verify},
		"a person's annotation":  {[]byte(strings.Replace(string(in), "metadata: {name: db, namespace: shop}", "metadata: {name: db, namespace: shop, annotations: {"+api.AnnotationRootCredential+": managed}}", 1)), "", credential.Managed},
		"certificates, wanted":   {[]byte(strings.Replace(string(in), "PasswordAuthenticator", "com.scylladb.auth.CertificateAuthenticator", 1)), credential.Verify, credential.Verify},
		"certificates, no flags": {[]byte(strings.Replace(string(in), "PasswordAuthenticator", "com.scylladb.auth.CertificateAuthenticator", 1)), "", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s, _ := setIn(t, stream(t, tc.in, with(tc.mode), false).Text)
			got := credential.Mode("")
			for _, c := range s.Spec.Template.Spec.InitContainers {
				if c.Name == api.ContainerCredential {
					got = credential.Mode(strings.TrimPrefix(c.Args[1], api.CredentialMode))
				}
			}
			wants := tc.want
			if wants == credential.Off {
				wants = ""
			}
			if got != wants || s.Annotations[api.AnnotationRootCredential] != string(tc.want) {
				t.Errorf("container %q, annotation %q; want %q", got, s.Annotations[api.AnnotationRootCredential], tc.want)
			}
		})
	}
	odd := []byte(strings.Replace(string(in), "metadata: {name: db, namespace: shop}", "metadata: {name: db, namespace: shop, annotations: {"+api.AnnotationRootCredential+": maybe}}", 1))
	if _, err := Stream(odd, image, false); err == nil || !strings.Contains(err.Error(), "use one of [off verify managed]") {
		t.Errorf("%v", err)
	}
	// A cluster that runs gets the annotation before the Pods are rolled.
	config := &unstructured.Unstructured{Object: objects(t, in)["configmap shop/scylla"].(map[string]any)}
	r, err := Plan(u, with(credential.Verify), []*unstructured.Unstructured{config}, false)
	if err != nil || r.Labelled() || r.Written() || r.WithLabels().GetAnnotations()[api.AnnotationRootCredential] != "verify" {
		t.Errorf("%v, labelled %t", err, r.Labelled())
	}
}
