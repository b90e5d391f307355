// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// The reporter has an API token. It must not reach the maintenance socket on ScyllaDB's volume, so
// it mounts an empty directory of the volume, and no other part of a volume of ScyllaDB.
func TestTheReporterMountsNoFileOfScyllaDB(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(fleet, "injected", "*.yaml"))
	if err != nil || len(files) < 7 {
		t.Fatalf("%d manifests, %v", len(files), err)
	}
	for _, file := range files {
		for name, o := range objects(t, input(t, filepath.Join("injected", filepath.Base(file)))) {
			if !strings.HasPrefix(name, "statefulset ") {
				continue
			}
			var set appsv1.StatefulSet
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.(object), &set); err != nil {
				t.Fatal(err)
			}
			spec := set.Spec.Template.Spec
			if len(spec.InitContainers) == 0 || spec.InitContainers[0].Name != api.ContainerReporter {
				continue
			}
			theirs, disks := map[string]bool{}, 0
			for i := range spec.Containers {
				for _, m := range spec.Containers[i].VolumeMounts {
					theirs[m.Name] = m.Name != api.VolumeShared
				}
			}
			for _, m := range spec.InitContainers[0].VolumeMounts {
				if !theirs[m.Name] {
					continue
				}
				if disks++; path.Base(m.SubPath) != api.DirOwn || m.MountPath != api.MountDisk || !m.ReadOnly {
					t.Errorf("%s: %s: reporter mounts %+v", file, name, m)
				}
			}
			if disks != 1 {
				t.Errorf("%s: %s: reporter has %d mounts of ScyllaDB's volumes, want 1", file, name, disks)
			}
		}
	}
}

func TestDiskMount(t *testing.T) {
	t.Parallel()
	ours := func(name, sub string) []corev1.VolumeMount {
		return []corev1.VolumeMount{{Name: name, MountPath: api.MountDisk, SubPath: sub, ReadOnly: true}}
	}
	for name, tc := range map[string]struct {
		mounts []corev1.VolumeMount
		want   []corev1.VolumeMount
	}{
		"the working directory": {[]corev1.VolumeMount{{Name: "a", MountPath: "/var/lib/scylla"}}, ours("a", ".kubectl-scylla")},
		"a parent directory":    {[]corev1.VolumeMount{{Name: "a", MountPath: "/var/lib/"}}, ours("a", ".kubectl-scylla")},
		"with a subPath":        {[]corev1.VolumeMount{{Name: "a", MountPath: "/var/lib/scylla", SubPath: "x/y"}}, ours("a", "x/y/.kubectl-scylla")},
		"the data directory counts": {
			[]corev1.VolumeMount{{Name: "b", MountPath: "/var/lib/scylla/data"}, {Name: "a", MountPath: "/var/lib/scylla"}}, ours("b", ".kubectl-scylla"),
		},
		"a commit log's volume":   {[]corev1.VolumeMount{{Name: "a", MountPath: "/var/lib/scylla/commitlog"}}, nil},
		"a keyspace's volume":     {[]corev1.VolumeMount{{Name: "a", MountPath: "/var/lib/scylla/data/x"}}, nil},
		"a directory of the name": {[]corev1.VolumeMount{{Name: "a", MountPath: "/var/lib/scylla/data2"}}, nil},
		"a subPathExpr":           {[]corev1.VolumeMount{{Name: "a", MountPath: "/var/lib/scylla", SubPathExpr: "$(POD_NAME)"}}, nil},
		"no mount":                {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, (&plan{dataDir: "/var/lib/scylla", mounts: tc.mounts}).diskMount()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
