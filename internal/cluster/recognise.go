// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// NameOf returns the name of a StatefulSet's cluster, empty if it does not run ScyllaDB. It is the
// label scylla/cluster; without it ScyllaDB's --cluster-name, else the headless Service that the
// racks of one cluster share, else the StatefulSet's name. All commands use this rule: StatefulSets
// of one namespace with the same name are one cluster.
func NameOf(s *appsv1.StatefulSet) string {
	if name := api.ClusterOf(s.Labels); name != "" {
		return name
	}
	c := ScyllaDBContainer(&s.Spec.Template.Spec)
	if c == nil {
		return ""
	}
	if name := Argument(c, "--cluster-name"); name != "" && len(validation.IsValidLabelValue(name)) == 0 {
		return name
	}
	return cmp.Or(s.Spec.ServiceName, s.Name)
}

// Unprepared returns the StatefulSets of a list that run ScyllaDB and belong to a cluster by NameOf
// only, without its label.
func Unprepared(list []appsv1.StatefulSet, name string) []appsv1.StatefulSet {
	var out []appsv1.StatefulSet
	for i := range list {
		if s := &list[i]; api.ClusterOf(s.Labels) == "" && NameOf(s) == name {
			out = append(out, *s)
		}
	}
	return out
}

// Argument returns the value of one of ScyllaDB's options on a container's command line, as
// --name=value or --name value; empty if absent.
func Argument(c *corev1.Container, names ...string) string {
	line := slices.Concat(c.Command, c.Args)
	for i, arg := range line {
		for _, name := range names {
			if v, ok := strings.CutPrefix(arg, name+"="); ok {
				return v
			}
			if arg == name && i+1 < len(line) {
				return line[i+1]
			}
		}
	}
	return ""
}

// RunsScyllaDB reports whether the StatefulSet has a container that runs ScyllaDB, by
// ScyllaDBContainer.
func RunsScyllaDB(s *appsv1.StatefulSet) bool { return ScyllaDBContainer(&s.Spec.Template.Spec) != nil }

// ScyllaDBContainer returns the container that runs ScyllaDB, nil if there is none. The first of
// these rules that matches any container decides: the name scylla; the image scylladb/scylla; an
// image scylla of another registry, such as a mirror; a command that is ScyllaDB's; ScyllaDB's
// three ports.
func ScyllaDBContainer(spec *corev1.PodSpec) *corev1.Container {
	for _, is := range []func(*corev1.Container) bool{
		func(c *corev1.Container) bool { return c.Name == api.ContainerScyllaDB },
		func(c *corev1.Container) bool {
			parent, last := imageName(c.Image)
			return parent == "scylladb" && ofScyllaDB(last)
		},
		func(c *corev1.Container) bool { _, last := imageName(c.Image); return ofScyllaDB(last) },
		startsScyllaDB,
		hasScyllaDBPorts,
	} {
		for i := range spec.Containers {
			if is(&spec.Containers[i]) {
				return &spec.Containers[i]
			}
		}
	}
	return nil
}

func ofScyllaDB(name string) bool { return name == "scylla" || name == "scylla-enterprise" }

// imageName returns the last two components of an image's repository: "scylladb" and "scylla".
func imageName(image string) (parent, last string) {
	image, _, _ = strings.Cut(image, "@")
	parts := strings.Split(image, "/")
	last, _, _ = strings.Cut(parts[len(parts)-1], ":")
	if len(parts) > 1 {
		parent = parts[len(parts)-2]
	}
	return parent, last
}

// startsScyllaDB reports whether the command is the server's binary. The image's entrypoint alone
// proves nothing: other images have one with that name.
func startsScyllaDB(c *corev1.Container) bool {
	return len(c.Command) > 0 && path.Base(c.Command[0]) == "scylla"
}

// hasScyllaDBPorts reports whether the container has ScyllaDB's ports. Cassandra also has the first
// two; only ScyllaDB has the REST API.
func hasScyllaDBPorts(c *corev1.Container) bool {
	has := func(port int32) bool {
		return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.ContainerPort == port })
	}
	return has(9042) && (has(7000) || has(7001)) && has(10000)
}
