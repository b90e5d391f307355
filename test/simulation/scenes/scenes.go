// SPDX-License-Identifier: Apache-2.0

// Package scenes is one table of clusters with faults, of several sizes, for every output for people: the same scenes are rendered as text, page and
// dashboard, and compared with the suggestions that each of them may make. It decides nothing.
package scenes

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// Scene is one cluster in one situation.
type Scene struct {
	// Name of the situation, Nodes how many there are.
	Name  string
	Nodes int
	// FirstLine is what the first line of every output must contain.
	FirstLine string

	size size
	make func(*set)
}

type size struct {
	datacenters    []string
	racks, members int
}

var sizes = map[int]size{
	12:  {[]string{"eu-central-1", "us-east-1"}, 3, 2},
	27:  {[]string{"eu-central-1", "us-east-1", "us-west-2"}, 3, 3},
	99:  {[]string{"eu-central-1", "us-east-1", "us-west-2"}, 3, 11},
	504: {[]string{"ap-south-1", "eu-central-1", "us-east-1", "us-west-2"}, 3, 42},
}

type situation struct {
	name, first string
	make        func(*set)
}

var situations = []situation{
	{"healthy", "HEALTHY", func(*set) {}},
	{"node", "demo-eu-central-1-rack2-1 DOWN", func(s *set) { s.Down("demo-eu-central-1-rack2-1") }},
	{"node for long", "demo-eu-central-1-rack2-1 DOWN", func(s *set) { s.downSince("demo-eu-central-1-rack2-1", 10*time.Minute) }},
	{"rack", "rack eu-central-1/rack2 DOWN", func(s *set) {
		s.dead(func(n plugintest.Node) bool { return n.Datacenter == "eu-central-1" && n.Rack == "rack2" })
	}},
	{"datacenter", "datacenter eu-central-1 DOWN", func(s *set) { s.dead(func(n plugintest.Node) bool { return n.Datacenter == "eu-central-1" }) }},
	{"Kubernetes node", "Kubernetes node worker-7 is not responding", func(s *set) { s.lost("demo-eu-central-1-rack1-0", "demo-eu-central-1-rack2-1") }},
	{"link", "demo-eu-central-1-rack1-0 and demo-us-east-1-rack1-0 do not see each other", func(s *set) {
		s.apart(s.Node("demo-eu-central-1-rack1-0"), s.Node("demo-us-east-1-rack1-0"))
	}},
	{"link one way", "demo-eu-central-1-rack1-0 sees running node demo-us-east-1-rack1-0 DOWN", func(s *set) {
		s.Sees("demo-eu-central-1-rack1-0", "demo-us-east-1-rack1-0", api.NodeStatusDown, since)
	}},
	{"partition", "do not see each other", (*set).partition},
	{"rollout", "rollout in progress", func(s *set) { s.restarting("demo-eu-central-1-rack3-1", true) }},
	{"restart", "demo-eu-central-1-rack3-1 starting", func(s *set) { s.restarting("demo-eu-central-1-rack3-1", false) }},
	{"replacement", "replacement of demo-eu-central-1-rack1-0 in progress", (*set).replacement},
	{"no rights", "you cannot list pods", func(s *set) { s.forbidden = true }},
}

// All returns every situation at every size of at most that many nodes; zero means all.
func All(most int) []Scene {
	var out []Scene
	for _, n := range []int{12, 27, 99, 504} {
		if most > 0 && n > most {
			continue
		}
		for _, s := range situations {
			out = append(out, Scene{Name: s.name, Nodes: n, FirstLine: s.first, size: sizes[n], make: s.make})
		}
	}
	return out
}

func (s Scene) String() string { return fmt.Sprintf("%d %s", s.Nodes, s.Name) }

var Now = plugintest.Now

var since = plugintest.Now.Add(-90 * time.Second)

// Cluster is the scene as it was read.
func (s Scene) Cluster() *cluster.Cluster { return cluster.New(s.Objects(), cluster.SourceAuto, Now) }

func (s Scene) Objects() cluster.Objects {
	built := s.built()
	return built.objects()
}

// Listed are the objects of the scene, one by one.
func (s Scene) Listed() []client.Object {
	built := s.built()
	return slices.DeleteFunc(built.Cluster.Objects(), func(o client.Object) bool {
		_, pod := o.(*corev1.Pod)
		return pod && built.forbidden
	})
}

// built has in large clusters rows in the annotations of the Pods only.
func (s Scene) built() *set {
	built := &set{Cluster: plugintest.NewNamed("demo", "demo", s.size.datacenters[0], s.size.racks, s.size.members)}
	for _, dc := range s.size.datacenters[1:] {
		built.AddDatacenter(dc, s.size.racks, s.size.members)
	}
	built.machines()
	built.revisions()
	s.make(built)
	if s.Nodes > 27 || built.forbidden {
		built.NoReports()
	}
	return built
}

// set is a Cluster that is being set up.
type set struct {
	*plugintest.Cluster
	forbidden bool
}

// machines gives every member a Kubernetes node of its own.
func (s *set) machines() {
	for i, n := range s.Nodes {
		s.Pod(n.Name).Spec.NodeName = fmt.Sprintf("worker-%d", 100+i)
		s.Pod(n.Name).Status.PodIP = fmt.Sprintf("10.%d.%d.%d", 1+i/2500, i/250%10, 1+i%250)
	}
}

func (s *set) revisions() {
	for _, n := range s.Nodes {
		st := s.Set(n.Datacenter, n.Rack)
		replicas := *st.Spec.Replicas
		st.Status = appsv1.StatefulSetStatus{
			Replicas: replicas, ReadyReplicas: replicas, UpdatedReplicas: replicas, CurrentRevision: "a", UpdateRevision: "a",
		}
	}
}

// dead makes nodes DOWN: their Pods crash and report nothing.
func (s *set) dead(which func(plugintest.Node) bool) {
	for _, n := range s.Nodes {
		if which(n) {
			s.Down(n.Name)
			s.notReady(n)
		}
	}
}

func (s *set) downSince(name string, age time.Duration) {
	s.Down(name)
	s.notReady(s.Node(name))
	for _, n := range s.Nodes {
		if n.Name != name {
			s.Sees(n.Name, name, api.NodeStatusDown, Now.Add(-age))
		}
	}
}

func (s *set) notReady(n plugintest.Node) { s.Set(n.Datacenter, n.Rack).Status.ReadyReplicas-- }

// lost puts members on one Kubernetes node that does not answer.
func (s *set) lost(names ...string) {
	for _, name := range names {
		s.NoRow(name)
		p := s.Pod(name)
		p.Spec.NodeName = "worker-7"
		p.Status.Conditions[1].Status = corev1.ConditionFalse
		p.Status.Conditions[1].LastTransitionTime = metav1.NewTime(since)
		s.notReady(s.Node(name))
		for _, n := range s.Nodes {
			if n.Name != name {
				s.Sees(n.Name, name, api.NodeStatusDown, since)
			}
		}
	}
}

func (s *set) apart(a, b plugintest.Node) {
	s.Sees(a.Name, b.Name, api.NodeStatusDown, since)
	s.Sees(b.Name, a.Name, api.NodeStatusDown, since)
}

func (s *set) partition() {
	for _, a := range s.Nodes {
		for _, b := range s.Nodes {
			if (a.Datacenter == "eu-central-1") != (b.Datacenter == "eu-central-1") {
				s.Sees(a.Name, b.Name, api.NodeStatusDown, since)
			}
		}
	}
}

// restarting puts a member's Pod into its init containers, three seconds after it was created again.
func (s *set) restarting(name string, rolled bool) {
	s.Down(name)
	n := s.Node(name)
	s.notReady(n)
	p := s.Pod(name)
	p.CreationTimestamp = metav1.NewTime(Now.Add(-3 * time.Second))
	p.Status.Phase = corev1.PodPending
	p.Status.InitContainerStatuses[2] = corev1.ContainerStatus{Name: api.ContainerBarrier, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(Now.Add(-2 * time.Second))}}}
	p.Status.ContainerStatuses[0] = corev1.ContainerStatus{Name: api.ContainerScyllaDB, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}}
	if rolled {
		st := s.Set(n.Datacenter, n.Rack)
		st.Status.UpdateRevision, st.Status.UpdatedReplicas = "b", 1
	}
}

func (s *set) replacement() {
	name := "demo-eu-central-1-rack1-0"
	s.Down(name)
	s.notReady(s.Node(name))
	v := s.Service(name)
	v.Labels[api.LabelReplace] = ""
	v.Labels[api.LabelReplacingNodeHostID] = s.Node(name).HostID
}

func (s *set) objects() cluster.Objects {
	o := Objects(s.Cluster)
	o.Machines = map[string]string{}
	for i := range o.Pods {
		o.Machines[o.Pods[i].Spec.NodeName] = cluster.KubernetesNodeReady
	}
	o.Machines["worker-7"] = cluster.KubernetesNodeNotReady
	if s.forbidden {
		o.Machines, o.Pods, o.Read = nil, nil, cluster.KindServices|cluster.KindStatefulSets
		for _, resource := range []string{cluster.ResourcePods, cluster.ResourceReports} {
			o.Problems = append(o.Problems, cluster.Problem{
				Verb: "list", Resource: resource, Namespace: s.Namespace, Kind: cluster.ProblemForbidden,
				Message: "list " + resource + " in namespace " + s.Namespace + ": forbidden; request a Role with verb list on resource " + resource,
			})
		}
	}
	return o
}

// Objects are those of a cluster as they are read from Kubernetes, all of them.
func Objects(c *plugintest.Cluster) cluster.Objects {
	return plugintest.Objects(cluster.Key{Namespace: c.Namespace, Name: c.Name}, c.Objects())
}
