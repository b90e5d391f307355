// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// Which container runs ScyllaDB is told by its name, image, command or ports, whatever stands beside it.
func TestTheContainerThatRunsScyllaDB(t *testing.T) {
	t.Parallel()
	ports := func(list ...int32) []corev1.ContainerPort {
		var out []corev1.ContainerPort
		for _, p := range list {
			out = append(out, corev1.ContainerPort{ContainerPort: p})
		}
		return out
	}
	for name, tt := range map[string]struct {
		c    corev1.Container
		want bool
	}{
		"the name":             {corev1.Container{Name: api.ContainerScyllaDB, Image: "mine:1"}, true},
		"the image":            {corev1.Container{Image: "scylladb/scylla:2025.1"}, true},
		"the image by digest":  {corev1.Container{Image: "docker.io/scylladb/scylla@sha256:00"}, true},
		"a mirror with a port": {corev1.Container{Image: "mirror:5000/a/scylladb/scylla-enterprise:2023.1"}, true},
		"a flat mirror":        {corev1.Container{Image: "registry.example.com/db/scylla:2026.1"}, true},
		"no registry":          {corev1.Container{Image: "scylla"}, true},
		"the server":           {corev1.Container{Image: "mine:1", Command: []string{"/usr/bin/scylla", "--smp=2"}}, true},
		"its ports":            {corev1.Container{Image: "mine:1", Ports: ports(7000, 9042, 10000)}, true},
		"its ports with TLS":   {corev1.Container{Image: "mine:1", Ports: ports(9042, 10000, 7001)}, true},
		"the operator":         {corev1.Container{Image: "scylladb/scylla-operator:1"}, false},
		"the manager's agent":  {corev1.Container{Image: "scylladb/scylla-manager-agent:3"}, false},
		"Cassandra":            {corev1.Container{Image: "cassandra:5", Ports: ports(7000, 7001, 9042), Command: []string{"docker-entrypoint.sh"}}, false},
		"an entrypoint":        {corev1.Container{Image: "mine:1", Command: []string{"/docker-entrypoint.py"}}, false},
		"nothing":              {corev1.Container{}, false},
	} {
		spec := &corev1.PodSpec{Containers: []corev1.Container{{Name: "jmx", Image: "example.com/jmx-exporter:1", Ports: ports(7199)}, tt.c}}
		if got := ScyllaDBContainer(spec) == &spec.Containers[1]; got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
	both := &corev1.PodSpec{Containers: []corev1.Container{{Image: "mirror/scylla"}, {Image: "scylladb/scylla"}}}
	if ScyllaDBContainer(both) != &both.Containers[1] {
		t.Error("a better rule does not go first")
	}
}

func TestNameOf(t *testing.T) {
	t.Parallel()
	set := func(label, service, image string, args ...string) *appsv1.StatefulSet {
		s := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db-a"}}
		if label != "" {
			s.Labels = map[string]string{api.LabelCluster: label}
		}
		s.Spec.ServiceName = service
		s.Spec.Template.Spec.Containers = []corev1.Container{{Image: image, Args: args}}
		return s
	}
	const image = "scylladb/scylla:2026.2"
	for name, tt := range map[string]struct {
		s    *appsv1.StatefulSet
		want string
	}{
		"the label":                     {set("shop", "db", image, "--cluster-name=other"), "shop"},
		"a label without ScyllaDB":      {set("shop", "db", "mine"), "shop"},
		"its argument":                  {set("", "db", image, "--cluster-name=shop"), "shop"},
		"its argument in two words":     {set("", "db", image, "--smp=1", "--cluster-name", "shop"), "shop"},
		"a name that is no label value": {set("", "db", image, "--cluster-name", "the shop"), "db"},
		"the Service of its racks":      {set("", "db", image), "db"},
		"its own name":                  {set("", "", image), "db-a"},
		"no ScyllaDB":                   {set("", "db", "mine"), ""},
	} {
		if got := NameOf(tt.s); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	list := []appsv1.StatefulSet{*set("shop", "db", image), *set("", "shop", image), *set("", "db", image), *set("", "shop", "mine")}
	if got := Unprepared(list, "shop"); len(got) != 1 || got[0].Spec.ServiceName != "shop" {
		t.Errorf("unprepared: %v", got)
	}
}
