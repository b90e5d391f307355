// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/inject"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim"
)

func read(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../../docs/examples/scylladb.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// the manifests that are checked, by their names.
func all(t *testing.T) map[string]string {
	t.Helper()
	demo, err := Demo(read(t))
	if err != nil {
		t.Fatal(err)
	}
	res := map[string]string{"scylladb.yaml": read(t), "the demo's": demo}
	for name, text := range maps.Clone(res) {
		m, err := inject.Stream([]byte(text), inject.Options{Image: agent, ControllerNamespace: "kubectl-scylla"}, false)
		if err != nil {
			t.Fatalf("inject %s: %v", name, err)
		}
		res[name+" with guards"] = string(m.Text)
	}
	return res
}

const agent = "registry.example.com/scylla-agent@sha256:DIGEST"

// sets are the StatefulSets of a manifest.
func sets(t *testing.T, name, text string) []appsv1.StatefulSet {
	t.Helper()
	objects, err := manifests.Decode(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var out []appsv1.StatefulSet
	for _, o := range objects {
		if o.GetKind() != "StatefulSet" {
			continue
		}
		var s appsv1.StatefulSet
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &s, true); err != nil {
			t.Fatalf("StatefulSet %s: %v", o.GetName(), err)
		}
		out = append(out, s)
	}
	if len(out) != racks {
		t.Fatalf("%s has %d StatefulSets, want %d", name, len(out), racks)
	}
	return out
}

func scylla(t *testing.T, s *appsv1.StatefulSet) *corev1.Container {
	t.Helper()
	for i := range s.Spec.Template.Spec.Containers {
		if c := &s.Spec.Template.Spec.Containers[i]; c.Name == api.ContainerScyllaDB {
			return c
		}
	}
	t.Fatalf("StatefulSet %s has no container %s", s.Name, api.ContainerScyllaDB)
	return nil
}

func TestDemoNamesTheDifferenceThatDoesNotFit(t *testing.T) {
	t.Parallel()
	_, err := Demo(strings.Replace(read(t), "zone-b", "zone-x", 1))
	if err == nil || !strings.Contains(err.Error(), "zone-b") {
		t.Errorf("error %v, want one that names zone-b", err)
	}
}

// The entrypoint of ScyllaDB's image logs what it cannot write, starts nothing and ends with code 0, so the manifest must be right.
func TestC7EntrypointCanWriteItsFiles(t *testing.T) {
	t.Parallel()
	for name, text := range all(t) {
		for _, s := range sets(t, name, text) {
			c := scylla(t, &s)
			if !*c.SecurityContext.ReadOnlyRootFilesystem {
				t.Errorf("%s: %s has a root that can be written to", name, s.Name)
			}
			env := func(key string) string {
				for _, e := range c.Env {
					if e.Name == key {
						return e.Value
					}
				}
				return ""
			}
			files, err := scyllasim.EntrypointFiles(c.Args, env)
			if err != nil {
				t.Fatal(err)
			}
			// What supervisord in the image and ScyllaDB write besides.
			files = append(files, "/var/tmp/supervisord.pid", "/tmp/x", "/var/lib/scylla/data/x")
			for _, f := range files {
				if why := notWritable(&s, c, f); why != "" {
					t.Errorf("%s: %s cannot write %s: %s", name, s.Name, f, why)
				}
			}
		}
	}
}

// notWritable says why a file cannot be written on a read-only root; empty when it can.
func notWritable(s *appsv1.StatefulSet, c *corev1.Container, file string) string {
	for dir := path.Dir(file); dir != "/"; dir = path.Dir(dir) {
		i := slices.IndexFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return path.Clean(m.MountPath) == dir })
		if i < 0 {
			continue
		}
		m := c.VolumeMounts[i]
		if m.ReadOnly {
			return "mount " + m.MountPath + " is read-only"
		}
		claimed := slices.ContainsFunc(s.Spec.VolumeClaimTemplates, func(v corev1.PersistentVolumeClaim) bool { return v.Name == m.Name })
		empty := slices.ContainsFunc(s.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name && v.EmptyDir != nil })
		if !claimed && !empty {
			return "volume " + m.Name + " is neither claimed nor an emptyDir"
		}
		return ""
	}
	return "no volume is mounted there, and the root is read-only"
}

// A volume over /etc/scylla hides the image's scylla.yaml, without which the entrypoint fails.
func TestC7ImageFilesAreCopied(t *testing.T) {
	t.Parallel()
	for _, s := range sets(t, "scylladb.yaml", read(t)) {
		c := scylla(t, &s)
		for _, dir := range []string{"/etc/scylla", "/etc/scylla.d"} {
			mount := c.VolumeMounts[slices.IndexFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == dir })]
			filled := slices.ContainsFunc(s.Spec.Template.Spec.InitContainers, func(i corev1.Container) bool {
				return i.Image == c.Image && slices.ContainsFunc(i.VolumeMounts, func(m corev1.VolumeMount) bool {
					return m.Name == mount.Name && m.MountPath != dir && strings.Contains(strings.Join(i.Command, " "), "cp -r "+dir+"/. "+m.MountPath)
				})
			})
			if !filled {
				t.Errorf("%s: no init container copies the image's %s into volume %s", s.Name, dir, mount.Name)
			}
		}
	}
}

// What the demo may have and the real ScyllaDB must not.
func TestC7ExampleIsForTheRealImage(t *testing.T) {
	t.Parallel()
	for _, s := range sets(t, "scylladb.yaml", read(t)) {
		c := scylla(t, &s)
		if !strings.HasPrefix(c.Image, "docker.io/scylladb/scylla:") {
			t.Errorf("%s: image %s", s.Name, c.Image)
		}
		// The image's own default is developer mode.
		for _, want := range []string{"--developer-mode=0", "--io-setup=1"} {
			if !slices.Contains(c.Args, want) {
				t.Errorf("%s: no %s in %v", s.Name, want, c.Args)
			}
		}
		if c.Resources.Requests.Cpu().Value() < 1 || !c.Resources.Requests.Memory().Equal(*c.Resources.Limits.Memory()) {
			t.Errorf("%s: resources %v are no production's", s.Name, c.Resources)
		}
		if p := c.ReadinessProbe; p == nil || p.Exec == nil || p.Exec.Command[0] != "/usr/bin/nodetool" {
			t.Errorf("%s: the readiness probe is not a program of the image: %v", s.Name, p)
		}
		for _, all := range [][]corev1.Container{s.Spec.Template.Spec.InitContainers, s.Spec.Template.Spec.Containers} {
			for _, c := range all {
				if c.Name == api.ContainerReporter || c.Name == api.ContainerBarrier || strings.Contains(strings.Join(slices.Concat(c.Command, c.Args), " "), "scylla-agent") {
					t.Errorf("%s: container %s is a guard, which inject adds", s.Name, c.Name)
				}
				if strings.Contains(strings.Join(slices.Concat(c.Command, c.Args), " "), "localhost") || strings.HasPrefix(c.Image, "localhost") {
					t.Errorf("%s: container %s still has the demo's image", s.Name, c.Name)
				}
			}
		}
	}
}
