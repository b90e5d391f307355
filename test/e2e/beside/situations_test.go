// SPDX-License-Identifier: Apache-2.0

package beside

import (
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// Parts of situations.

func down(names ...string) func(*plugintest.Cluster) {
	return func(c *plugintest.Cluster) {
		for _, n := range names {
			c.Down(n)
		}
	}
}

func labels(name string, set map[string]string, drop ...string) func(*objects) {
	return func(o *objects) {
		svc := o.service(name)
		for k, v := range set {
			svc.Labels[k] = v
		}
		for _, k := range drop {
			delete(svc.Labels, k)
		}
	}
}

func annotations(name string, set map[string]string, drop ...string) func(*objects) {
	return func(o *objects) {
		svc := o.service(name)
		if svc.Annotations == nil {
			svc.Annotations = map[string]string{}
		}
		for k, v := range set {
			svc.Annotations[k] = v
		}
		for _, k := range drop {
			delete(svc.Annotations, k)
		}
	}
}

func says(name, text string) func(*objects) { return func(o *objects) { o.says(name, text) } }

func sees(name, observed, status string) func(*objects) {
	return func(o *objects) { o.sees(name, observed, status) }
}

func all(fs ...func(*objects)) func(*objects) {
	return func(o *objects) {
		for _, f := range fs {
			f(o)
		}
	}
}

// nobodySees removes one host ID from every annotation.
func nobodySees(id string) func(*objects) {
	return func(o *objects) {
		for _, x := range o.all {
			if p, is := x.(*corev1.Pod); is {
				text := p.Annotations[api.AnnotationNodeStatusReport]
				for _, status := range []string{"UP", "DOWN"} {
					cell := `{"hostID":"` + id + `","status":"` + status + `"}`
					text = strings.ReplaceAll(strings.ReplaceAll(text, ","+cell, ""), cell+",", "")
				}
				if text != "" {
					o.says(p.Name, text)
				}
			}
		}
	}
}

// lists adds one host ID to the annotations of these Pods.
func lists(id, status string, names ...string) func(*objects) {
	return func(o *objects) {
		for _, n := range names {
			text := o.pod(n).Annotations[api.AnnotationNodeStatusReport]
			o.says(n, strings.Replace(text, "]", `,{"hostID":"`+id+`","status":"`+status+`"}]`, 1))
		}
	}
}

var everybody = []string{first, second, third}

const (
	unknownID = "c0ffee00-5ea1-4d00-8000-000000000099"
	newID     = "c0ffee00-5ea1-4d00-8000-0000000000aa"
)

func idOf(n int) string { return plugintest.HostID(n) }

// genesis is a cluster in which no node has joined yet; the newcomer is the oldest member unless another one is named.
func genesis(oldest string) func(*objects) {
	return func(o *objects) {
		for _, x := range o.all {
			switch x := x.(type) {
			case *corev1.Service:
				delete(x.Annotations, api.AnnotationHostID)
				delete(x.Annotations, api.AnnotationNodeJoined)
				if x.Name == oldest {
					x.CreationTimestamp = metav1.NewTime(plugintest.Start.Add(-time.Hour))
				}
			case *corev1.Pod:
				delete(x.Annotations, api.AnnotationNodeStatusReport)
				x.Status.Phase = corev1.PodPending
				x.Status.ContainerStatuses = nil
				for i := range x.Status.Conditions[1:] {
					x.Status.Conditions[i+1].Status = corev1.ConditionFalse
				}
			}
		}
	}
}

func noReports(o *objects) { o.dropReports() }

// replacing requests the third member's replacement in the state after the eviction: claim and old Pod are gone, the label records the original host
// ID.
func replacing(set map[string]string) func(*plugintest.Cluster) {
	return func(c *plugintest.Cluster) {
		old := c.Node(third)
		for _, n := range []string{first, second} {
			c.Sees(n, third, api.NodeStatusDown, plugintest.Now.Add(-10*time.Minute))
		}
		c.NoRow(third)
		c.Newcomer("dc1", "rack3", 0)
		c.Service(third).Annotations = map[string]string{api.AnnotationHostID: old.HostID, api.AnnotationNodeJoined: "true"}
		for k, v := range set {
			c.Service(third).Labels[k] = v
		}
	}
}

func byHostID() map[string]string {
	return map[string]string{api.LabelReplace: "", api.LabelReplacingNodeHostID: idOf(2)}
}

func also(fs ...func(*plugintest.Cluster)) func(*plugintest.Cluster) {
	return func(c *plugintest.Cluster) {
		for _, f := range fs {
			f(c)
		}
	}
}

// backAgain is the third member, created again after its node was lost, with the record on its Service.
func backAgain(c *plugintest.Cluster) { replacing(nil)(c) }

// twoDatacenters is a ScyllaDBCluster, looked at in the namespace of the first.
func twoDatacenters(c *plugintest.Cluster) { c.AddDatacenter("dc2", 1, 1) }

func mirrored(change func(*api.ScyllaDBDatacenterNodesStatusReport)) func(*objects) {
	return func(o *objects) { change(o.report("demo-dc2-external")) }
}

func noMirror(o *objects) {
	o.drop(func(x client.Object) bool { return x.GetLabels()[api.LabelRemoteReport] != "" })
}

func deployment(replicas, available int32) func(*objects) {
	return func(o *objects) {
		o.add(&appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: api.OperatorNamespace, Name: api.OperatorName},
			Spec:       appsv1.DeploymentSpec{Replicas: &replicas}, Status: appsv1.DeploymentStatus{AvailableReplicas: available},
		})
	}
}

func lease(renewed time.Duration) func(*objects) {
	return func(o *objects) {
		o.add(&coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: api.OperatorNamespace, Name: api.OperatorLeaseName},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity: new("op-1"), LeaseDurationSeconds: new(int32(60)), RenewTime: &metav1.MicroTime{Time: plugintest.Now.Add(-renewed)},
			},
		})
	}
}

func conditions(typ, status, reason, message string) func(*objects) {
	return func(o *objects) {
		dc := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"namespace": "demo", "name": "demo"},
			"status": map[string]any{"conditions": []any{map[string]any{
				"type": typ, "status": status, "reason": reason, "message": message, "lastTransitionTime": "2026-11-21T11:50:00Z",
			}}},
		}}
		dc.SetGroupVersionKind(api.ScyllaDBDatacenterGVK)
		o.add(dc)
	}
}

// overridden names a cluster report of another program on the newcomer's Service, with these cells in each row; none where there is no such report.
func overridden(cells ...api.ObservedNodeStatusReport) func(*objects) {
	return func(o *objects) {
		annotations(newcomer, map[string]string{api.AnnotationStatusReportOverrideRef: "everywhere"})(o)
		if len(cells) == 0 {
			return
		}
		d := api.StatusReportDatacenter{Name: "dc1"}
		for i := range everybody {
			d.Nodes = append(d.Nodes, api.StatusReportNode{HostID: idOf(i), ObservedNodes: cells})
		}
		o.add(&api.ScyllaDBStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "everywhere"}, Datacenters: []api.StatusReportDatacenter{d}})
	}
}

// joining is a second newcomer whose ScyllaDB runs: its Service records its host ID, and the joined annotation is "false" or absent.
func joining(joined string) func(*plugintest.Cluster) {
	return func(c *plugintest.Cluster) {
		name := c.Newcomer("dc1", "rack2", 1)
		p := c.Pod(name)
		p.Status.Phase = corev1.PodRunning
		p.Status.InitContainerStatuses[2] = corev1.ContainerStatus{Name: api.ContainerBarrier, Ready: true, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}
		p.Status.ContainerStatuses[0] = corev1.ContainerStatus{Name: api.ContainerScyllaDB, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(plugintest.Now.Add(-time.Minute))}}}
		c.Service(name).Annotations = map[string]string{api.AnnotationHostID: newID}
		if joined != "" {
			c.Service(name).Annotations[api.AnnotationNodeJoined] = joined
		}
	}
}

func situations() []situation {
	force := func(v string) map[string]string { return map[string]string{api.AnnotationForceProceed: v} }
	usedVolume := []string{"commitlog/CommitLog-1.log", "data/system/local-1/md-1-big-Data.db"}
	return []situation{
		// Statuses in rows.
		{name: "all UP"},
		{name: "a node is DOWN", cluster: down(third)},
		{name: "two nodes are DOWN", cluster: down(second, third)},
		{name: "one node sees another DOWN", objects: sees(first, third, "DOWN")},
		{name: "one node lacks another", objects: func(o *objects) {
			o.says(first, `{"observedNodes":[{"hostID":"`+idOf(0)+`","status":"UP"},{"hostID":"`+idOf(1)+`","status":"UP"}]}`)
		}},
		{name: "a node does not see itself UP", objects: sees(first, first, "DOWN")},
		{name: "a status in lower case", objects: sees(first, third, "up")},
		{name: "a status that nobody knows", objects: sees(first, third, "PERHAPS")},
		{name: "a status is empty", objects: sees(first, third, "")},
		{name: "an annotation is an error", objects: says(third, `{"error":"connection refused"}`+"\n")},
		{name: "an annotation is an empty error", objects: says(third, `{"error":""}`+"\n")},
		{name: "an annotation is an empty object", objects: says(third, "{}\n")},
		{name: "an annotation is null", objects: says(third, "null\n")},
		{name: "an annotation has error and nodes", objects: func(o *objects) {
			o.says(third, strings.Replace(o.pod(third).Annotations[api.AnnotationNodeStatusReport], "{", `{"error":"x",`, 1))
		}},
		{name: "an annotation has garbage behind it", objects: func(o *objects) {
			o.says(third, o.pod(third).Annotations[api.AnnotationNodeStatusReport]+"garbage")
		}},
		{name: "a node is listed DOWN and then UP", objects: func(o *objects) { o.sees(first, third, "DOWN"); lists(idOf(2), "UP", first)(o) }},
		{name: "a node is listed UP and then DOWN", objects: lists(idOf(2), "DOWN", first)},
		{name: "a host ID in capitals", objects: func(o *objects) {
			o.says(first, strings.ReplaceAll(o.pod(first).Annotations[api.AnnotationNodeStatusReport], idOf(2), strings.ToUpper(idOf(2))))
		}},
		{name: "a joined member has no Pod", objects: func(o *objects) { o.dropPod(third) }},
		{name: "a joined member's Service has no host ID", objects: annotations(third, nil, api.AnnotationHostID)},
		{name: "a joined member's Service has an empty host ID", objects: annotations(third, map[string]string{api.AnnotationHostID: ""})},
		{name: "a joined member's Service has a host ID that is none", objects: annotations(third, map[string]string{api.AnnotationHostID: "nonsense"})},
		{name: "two members' Services record one host ID", objects: annotations(third, map[string]string{api.AnnotationHostID: idOf(1)})},
		{name: "a host ID that no member has, UP for all", objects: lists(unknownID, "UP", everybody...)},
		{name: "a host ID that no member has, DOWN for all", objects: lists(unknownID, "DOWN", everybody...)},
		{name: "a host ID that no member has, for one alone", objects: lists(unknownID, "UP", first)},
		{name: "Services say nothing of joining, as those of 1.21", objects: func(o *objects) {
			for _, n := range everybody {
				delete(o.service(n).Annotations, api.AnnotationNodeJoined)
			}
		}, after: func(o *objects) {
			// 1.21 writes rows for members that have a host ID.
			for _, n := range everybody {
				o.service(n).Annotations[api.AnnotationNodeJoined] = "true"
			}
			o.assemble()
			for _, n := range everybody {
				delete(o.service(n).Annotations, api.AnnotationNodeJoined)
			}
		}},

		// Newcomers beside it, and members that leave.
		{name: "the newcomer's last host ID is listed UP", objects: all(annotations(newcomer, map[string]string{api.AnnotationHostID: newID, api.AnnotationNodeJoined: "false"}), lists(newID, "UP", everybody...))},
		{name: "the newcomer's last host ID is listed DOWN", objects: all(annotations(newcomer, map[string]string{api.AnnotationHostID: newID, api.AnnotationNodeJoined: "false"}), lists(newID, "DOWN", everybody...))},
		{name: "the newcomer's last host ID is listed by nobody", objects: annotations(newcomer, map[string]string{api.AnnotationHostID: newID, api.AnnotationNodeJoined: "false"})},
		{name: "another newcomer waits too", cluster: func(c *plugintest.Cluster) { c.Newcomer("dc1", "rack2", 1) }},
		{name: "another node joins and is listed UP", cluster: joining("false"), objects: lists(newID, "UP", everybody...)},
		{name: "another node joins, its Service says nothing yet", cluster: joining(""), objects: lists(newID, "UP", everybody...)},
		{name: "another node joins and is listed DOWN", cluster: joining("false"), objects: lists(newID, "DOWN", everybody...)},
		{name: "another node joins and is not listed yet", cluster: joining("false")},
		{name: "another node has joined and has no row yet", cluster: joining("true"), objects: lists(newID, "UP", everybody...)},
		{name: "a node is being decommissioned", objects: func(o *objects) {
			labels(third, map[string]string{api.LabelDecommissioned: "false"})(o)
			*o.set("demo-dc1-rack3").Spec.Replicas = 0
		}},
		{name: "a node was decommissioned", objects: func(o *objects) {
			labels(third, map[string]string{api.LabelDecommissioned: "true"})(o)
			*o.set("demo-dc1-rack3").Spec.Replicas = 0
			nobodySees(idOf(2))(o)
			o.dropPod(third)
		}},
		{name: "a node was removed, its Service is left", objects: func(o *objects) {
			nobodySees(idOf(2))(o)
			o.dropPod(third)
		}},
		{name: "a member is under maintenance", objects: labels(third, map[string]string{"scylla/node-maintenance": ""})},

		// First nodes, reports that are missing.
		{name: "the first node of all", objects: genesis(newcomer), after: noReports},
		{name: "the first node of all, an empty report", objects: genesis(newcomer)},
		{name: "a second new node while there is none", objects: genesis(first), after: noReports},
		{name: "a second new node, an empty report", objects: genesis(first)},
		{name: "the first node of all, lenient flag set", cluster: twoDatacenters, objects: all(genesis(newcomer), noMirror), after: noReports},
		{name: "the first node of all, its seeds are another cluster's", objects: func(o *objects) {
			genesis(newcomer)(o)
			o.pod(newcomer).Spec.Containers[0].Args = []string{"--seeds=10.9.9.9"}
			o.set("demo-dc1-rack1").Spec.Template.Spec.Containers[0].Args = []string{"--seeds=10.9.9.9"}
		}, after: noReports},
		{name: "the report is lost", after: noReports},
		{name: "the report is another cluster's by its selector", after: func(o *objects) { o.report("demo-dc1").Labels[api.LabelReportSelector] = "other" }},
		{name: "the report is empty and members have joined", after: func(o *objects) { o.report("demo-dc1").Racks = nil }},

		// Two datacenters.
		{name: "two datacenters, all UP", cluster: twoDatacenters},
		{name: "two datacenters, the other's node is DOWN", cluster: also(twoDatacenters, down(remote))},
		{name: "two datacenters, the other's report is frozen", cluster: also(twoDatacenters, down(remote)), objects: mirrored(func(r *api.ScyllaDBDatacenterNodesStatusReport) { r.Racks[0].Nodes[0].ObservedNodes = nil })},
		{name: "two datacenters, the other sees a node here DOWN", cluster: func(c *plugintest.Cluster) {
			twoDatacenters(c)
			c.Sees(remote, third, api.NodeStatusDown, plugintest.Now.Add(-time.Minute))
		}},
		{name: "two datacenters, the other's report is gone, its nodes are UP", cluster: twoDatacenters, objects: noMirror},
		{name: "two datacenters, the other's report is gone, its node is DOWN", cluster: also(twoDatacenters, down(remote)), objects: noMirror},
		{name: "two datacenters, only one here sees the other's node", cluster: twoDatacenters, objects: func(o *objects) {
			noMirror(o)
			id := idOf(3)
			for _, n := range []string{first, second} {
				o.says(n, strings.Replace(o.pod(n).Annotations[api.AnnotationNodeStatusReport], `,{"hostID":"`+id+`","status":"UP"}`, "", 1))
			}
		}},
		{name: "two datacenters, the report here is lost", cluster: twoDatacenters, after: func(o *objects) {
			o.drop(func(x client.Object) bool {
				r, is := x.(*api.ScyllaDBDatacenterNodesStatusReport)
				return is && r.DatacenterName == "dc1"
			})
		}},

		// A report of another program, by annotation.
		{name: "an override names a report that does not exist", objects: overridden()},
		{name: "an override names a report in which a node is DOWN", objects: overridden(append(stage.Sees(api.NodeStatusUp, idOf(0), idOf(1)), stage.Sees(api.NodeStatusDown, idOf(2))...)...)},
		{name: "an override names a report in which all are UP", objects: overridden(stage.Sees(api.NodeStatusUp, idOf(0), idOf(1), idOf(2))...)},

		// Force.
		{name: "forced, a node is DOWN", cluster: down(third), objects: annotations(newcomer, force("true"))},
		{name: "forced, all UP", objects: annotations(newcomer, force("true"))},
		{name: "force has the value True", objects: annotations(newcomer, force("True"))},
		{name: "force has the value false", objects: annotations(newcomer, force("false"))},
		{name: "force has no value", objects: annotations(newcomer, force(""))},
		{name: "force has a space before true", objects: annotations(newcomer, force(" true"))},
		{name: "forced without the label of its rack", objects: all(annotations(newcomer, force("true")), labels(newcomer, nil, api.LabelRack))},
		{name: "forced, and an annotation cannot be decoded", objects: annotations(newcomer, force("true")), after: says(third, "{")},
		{name: "forced, and it replaces while a node is DOWN", member: third, cluster: also(replacing(byHostID()), down(second)), objects: annotations(third, force("true"))},
		{name: "force is wrong, and it replaces", member: third, cluster: replacing(byHostID()), objects: annotations(third, force("yes"))},

		// Labels of place.
		{name: "no label of its datacenter", objects: labels(newcomer, nil, api.LabelDatacenter)},
		{name: "no label of its rack", objects: labels(newcomer, nil, api.LabelRack)},
		{name: "an empty label of its datacenter", objects: labels(newcomer, map[string]string{api.LabelDatacenter: ""})},
		{name: "an empty label of its rack", objects: labels(newcomer, map[string]string{api.LabelRack: ""})},
		{name: "the label of another datacenter", objects: labels(newcomer, map[string]string{api.LabelDatacenter: "dc9"})},

		// Replacements.
		{name: "a replacement is asked for, the Pod not evicted yet", member: third, cluster: replacing(map[string]string{api.LabelReplace: ""})},
		{name: "a replacement, the replaced node is DOWN", member: third, cluster: replacing(byHostID())},
		{name: "a replacement, another node is DOWN", member: third, cluster: also(replacing(byHostID()), down(second))},
		{name: "a replacement, the replaced node is UP", member: third, cluster: replacing(byHostID()), objects: func(o *objects) {
			for _, n := range []string{first, second} {
				o.says(n, strings.ReplaceAll(o.pod(n).Annotations[api.AnnotationNodeStatusReport], "DOWN", "UP"))
			}
		}},
		{name: "a replacement, one node sees the replaced one UP", member: third, cluster: replacing(byHostID()), objects: func(o *objects) {
			o.says(first, strings.ReplaceAll(o.pod(first).Annotations[api.AnnotationNodeStatusReport], "DOWN", "UP"))
		}},
		{name: "a replacement, nobody lists the replaced node any more", member: third, cluster: replacing(byHostID()), objects: nobodySees(idOf(2))},
		{name: "a replacement of nobody: the label is empty", member: third, cluster: replacing(map[string]string{api.LabelReplace: "", api.LabelReplacingNodeHostID: ""})},
		{name: "a replacement of nobody: the label is no host ID", member: third, cluster: replacing(map[string]string{api.LabelReplace: "", api.LabelReplacingNodeHostID: "nonsense"})},
		{name: "a replacement of a node that lives elsewhere", member: third, cluster: replacing(map[string]string{api.LabelReplace: "", api.LabelReplacingNodeHostID: idOf(1)})},
		{name: "a replacement whose request was taken away", member: third, cluster: replacing(map[string]string{api.LabelReplacingNodeHostID: idOf(2)})},
		{name: "a replacement, the new host ID is recorded", member: third, cluster: replacing(byHostID()), objects: annotations(third, map[string]string{api.AnnotationHostID: newID, api.AnnotationNodeJoined: "false"})},
		{name: "a replacement, no report", member: third, cluster: replacing(byHostID()), after: noReports},
		{name: "a replacement, an annotation is an error", member: third, cluster: replacing(byHostID()), objects: says(second, `{"error":"x"}`)},
		{name: "a replacement by its own address alone", member: third, cluster: replacing(map[string]string{api.LabelReplace: "10.96.0.3"}), objects: func(o *objects) { o.service(third).Spec.ClusterIP = "10.96.0.3" }},
		{name: "a replacement by its own address alone, another node is DOWN", member: third, cluster: also(replacing(map[string]string{api.LabelReplace: "10.96.0.3"}), down(second)), objects: func(o *objects) { o.service(third).Spec.ClusterIP = "10.96.0.3" }},
		{name: "a replacement by another node's address", member: third, cluster: replacing(map[string]string{api.LabelReplace: "10.96.0.2"}), objects: func(o *objects) { o.service(third).Spec.ClusterIP = "10.96.0.3" }},
		{name: "another member is being replaced", cluster: replacing(byHostID())},
		{name: "another member's replacement is asked for", cluster: replacing(map[string]string{api.LabelReplace: ""})},
		{name: "another member's replacement has joined, the old node is still listed", cluster: replacing(byHostID()), objects: func(o *objects) {
			annotations(third, map[string]string{api.AnnotationHostID: newID})(o)
			lists(newID, "UP", first, second)(o)
			o.says(third, strings.ReplaceAll(o.pod(first).Annotations[api.AnnotationNodeStatusReport], "x", "x"))
		}},

		// Members that come back.
		{name: "back, its disk says so, a node is DOWN", member: third, query: queryCompleted, files: usedVolume, cluster: also(backAgain, down(second))},
		{name: "back, its disk says nothing, a node is DOWN", member: third, files: usedVolume, cluster: also(backAgain, down(second))},
		{name: "back, its disk says nothing, all others UP", member: third, files: usedVolume, cluster: backAgain},
		{name: "back with an empty volume", member: third, cluster: backAgain},
		{name: "back, its disk says nothing, one row lacks it", member: third, files: usedVolume, cluster: backAgain, objects: func(o *objects) {
			o.says(first, `{"observedNodes":[{"hostID":"`+idOf(0)+`","status":"UP"},{"hostID":"`+idOf(1)+`","status":"UP"}]}`)
		}},
		{name: "back, nobody lists it any more", member: third, files: usedVolume, cluster: backAgain, objects: nobodySees(idOf(2))},
		{name: "its join was cut short while a node is DOWN", member: third, files: usedVolume, query: queryNo, cluster: also(backAgain, down(second)), objects: annotations(third, map[string]string{api.AnnotationNodeJoined: "false"})},
		{name: "back with another member's host ID, its disk says so", member: third, query: queryCompleted, files: usedVolume, cluster: backAgain, objects: annotations(third, map[string]string{api.AnnotationHostID: idOf(1)})},
		{name: "back with a completed copy of another member's volume", member: third, query: `[{"bootstrapped":"COMPLETED","host_id":"` + idOf(1) + `"}]`, files: usedVolume, cluster: backAgain},
		{name: "back with another member's host ID, its join was cut short while a node is DOWN", member: third, query: `[{"bootstrapped":"IN_PROGRESS"}]`, files: usedVolume, cluster: also(backAgain, down(second)), objects: annotations(third, map[string]string{api.AnnotationHostID: idOf(1)})},
		{name: "its disk was decommissioned", query: queryDecommissioned, files: usedVolume},
		{name: "its query failed", query: queryFailed},

		// Reports that are not kept.
		{name: "the operator is scaled to 0", after: deployment(0, 0)},
		{name: "no Pod of the operator runs", after: deployment(2, 0)},
		{name: "an annotation says DOWN, the report UP", after: sees(first, third, "DOWN")},
		{name: "an annotation says UP, the report DOWN", objects: sees(first, third, "DOWN"), after: func(o *objects) {
			o.says(first, strings.ReplaceAll(o.pod(first).Annotations[api.AnnotationNodeStatusReport], "DOWN", "UP"))
		}},
		{name: "one annotation cannot be decoded", after: says(third, "{")},
		{name: "one annotation cannot be decoded, another says DOWN", after: all(says(third, "{"), sees(first, second, "DOWN"))},
		{name: "an annotation is empty text", after: says(third, "")},
		{name: "the newcomer's own annotation cannot be decoded", after: says(newcomer, "{")},
		{name: "an annotation has become an error", after: says(third, `{"error":"x"}`)},
		{name: "a member has joined since the report", cluster: joining("true"), after: func(o *objects) {
			lists(newID, "UP", everybody...)(o)
			o.says("demo-dc1-rack2-1", o.pod(first).Annotations[api.AnnotationNodeStatusReport])
		}},
		{name: "a Pod no longer exists since the report", after: func(o *objects) { o.dropPod(third) }},
		{name: "a Pod was made anew and says nothing", after: func(o *objects) { delete(o.pod(third).Annotations, api.AnnotationNodeStatusReport) }},

		{name: "the operator's Lease is not renewed", after: lease(10 * time.Minute)},
		{name: "the operator runs and renews its Lease", after: all(deployment(2, 2), lease(5*time.Second))},
		{name: "the operator says Degraded", after: conditions("ScyllaDBDatacenterNodesStatusReportControllerDegraded", "True", "Error", "request is too large")},
		{name: "the operator says AsExpected", after: conditions("ScyllaDBDatacenterNodesStatusReportControllerDegraded", "False", "AsExpected", "")},
		{name: "an annotation was written a moment ago and says DOWN", after: func(o *objects) {
			o.sees(first, third, "DOWN")
			o.pod(first).ManagedFields[0].Time = &metav1.Time{Time: plugintest.Now.Add(-2 * time.Second)}
		}},

		// Pods, Kubernetes nodes, rollouts.
		{name: "a member's container crashes, its row is left", objects: func(o *objects) {
			o.pod(third).Status.ContainerStatuses[0] = corev1.ContainerStatus{Name: api.ContainerScyllaDB, RestartCount: 3, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}
		}},
		{name: "a member's Kubernetes node is lost", objects: func(o *objects) { o.pod(third).Status.Conditions[1].Status = corev1.ConditionFalse }},
		{name: "a member's Pod is being deleted", objects: func(o *objects) {
			p := o.pod(third)
			p.Finalizers, p.DeletionTimestamp = []string{"test/holds"}, &metav1.Time{Time: plugintest.Now.Add(-time.Minute)}
		}},
		{name: "a StatefulSet is being rolled", objects: func(o *objects) {
			s := o.set("demo-dc1-rack3")
			s.Status = appsv1.StatefulSetStatus{Replicas: 1, ReadyReplicas: 1, CurrentRevision: "a", UpdateRevision: "b", UpdatedReplicas: 0, CurrentReplicas: 1}
		}},
		{name: "its image is older than the cluster's", objects: func(o *objects) { o.pod(newcomer).Spec.Containers[0].Image = "scylladb/scylla:5.4.0" }},
		{name: "its ScyllaDB ended with exit code 0 before it had joined", objects: func(o *objects) {
			p := o.pod(newcomer)
			p.Status.Phase = corev1.PodRunning
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerScyllaDB, RestartCount: 1, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 0}}}}
		}, files: usedVolume},
	}
}
