// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// TestBesideOperator1OurStatefulSetsThatItAdopts: the operator adopts our StatefulSets by the label of an earlier version, and deletes them. The remark names them and the command that
// takes them out of its reach; nothing is scaled, deleted or restarted.
func TestBesideOperator1OurStatefulSetsThatItAdopts(t *testing.T) {
	const relabel = "kubectl label statefulset demo-dc1-rack1 demo-dc1-rack2 demo-dc1-rack3 scylla/cluster=own_demo --overwrite -n demo"
	const upgrade = "kubectl scylla install --upgrade"
	named := func(gvk schema.GroupVersionKind, name string) client.Object {
		o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}}
		o.SetGroupVersionKind(gvk)
		return o
	}
	owned := func(o client.Object, group, kind string) {
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: group, Kind: kind, Name: "demo", UID: "sdc", Controller: new(true)}})
	}
	objects := func(more ...client.Object) []client.Object { return append(healthy().Objects(), more...) }
	services := func(objects []client.Object) []client.Object {
		return edit(objects, "", func(s *corev1.Service) { owned(s, "v1", "Namespace") })
	}
	sets := func(objects []client.Object) []client.Object { // which have our label
		return edit(objects, "", func(s *appsv1.StatefulSet) { s.Labels[api.LabelCluster] = api.OwnCluster("demo") })
	}
	datacenter := named(api.ScyllaDBDatacenterGVK, "demo")
	adopted := edit(services(objects()), "", func(s *appsv1.StatefulSet) { owned(s, api.GroupVersion.String(), "ScyllaDBDatacenter") })
	for name, tc := range map[string]struct {
		objects []client.Object
		want    []string // nothing of adoption when empty
		never   string
	}{
		"a ScyllaDBDatacenter of the name": {services(objects(datacenter)), []string{"ScyllaDBDatacenter demo exists in this namespace", "statefulset demo-dc1-rack1", relabel}, upgrade},
		"a ScyllaCluster":                  {objects(named(api.ScyllaClusterGVK, "demo")), []string{"ScyllaCluster demo exists", "service demo-dc1-rack1-0", relabel}, "removenode"},
		"a ScyllaDBCluster":                {objects(named(api.ScyllaDBClusterGVK, "demo")), []string{"ScyllaDBCluster demo exists", relabel}, "removenode"},
		"of another name":                  {objects(named(api.ScyllaDBDatacenterGVK, "other")), nil, "removenode"},
		"the StatefulSets have our label, a Service has the operator's": {
			sets(objects(datacenter)), []string{"service demo-dc1-rack1-0", upgrade}, "scylla/cluster=own_demo"},
		"nothing is selected": {sets(services(objects(datacenter))), nil, "removenode"},
		"adopted": {adopted, []string{"ScyllaDBDatacenter demo of the Scylla Operator has adopted some of them", relabel,
			"get statefulsets demo-dc1-rack1 demo-dc1-rack2 demo-dc1-rack3 --output yaml"}, "removenode"},
	} {
		t.Run(name, func(t *testing.T) {
			if shows(t, tc.objects, "status -o wide", tc.want, "--replicas", "kubectl delete", "removenode", tc.never); len(tc.want) == 0 {
				shows(t, tc.objects, "status -o wide", nil, "adopt")
			}
		})
	}
}

func operatorDeployment(replicas, available int32) client.Object {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: api.OperatorNamespace, Name: api.OperatorName},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas}, Status: appsv1.DeploymentStatus{AvailableReplicas: available},
	}
}

func operatorLease(renewed time.Duration) client.Object {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: api.OperatorNamespace, Name: api.OperatorLeaseName},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("op-1"), LeaseDurationSeconds: new(int32(60)), RenewTime: &metav1.MicroTime{Time: plugintest.Now.Add(-renewed)},
		},
	}
}

func conditioned(conditions ...any) client.Object {
	o := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "demo", "name": "demo"}, "status": map[string]any{"conditions": conditions},
	}}
	o.SetGroupVersionKind(api.ScyllaDBDatacenterGVK)
	return o
}

func condition(typ, status, reason, message string) map[string]any {
	return map[string]any{"type": typ, "status": status, "reason": reason, "message": message, "lastTransitionTime": "2026-11-21T11:50:00Z"}
}

// TestBesideOperator4AFrozenReportIsNotHealthy: the report says that all is well. What the Pods say, and what can be seen of the operator, says otherwise.
func TestBesideOperator4AFrozenReportIsNotHealthy(t *testing.T) {
	healthy := func() []client.Object {
		c := plugintest.New(3, 1)
		c.Newcomer("dc1", "rack1", 1)
		return c.OperatorObjects("dc1", nil)
	}
	says := func(member, text string) []client.Object {
		return edit(healthy(), member, func(p *corev1.Pod) { p.Annotations[api.AnnotationNodeStatusReport] = text })
	}
	sees := func(status string) []client.Object {
		return edit(healthy(), "demo-dc1-rack1-0", func(p *corev1.Pod) { seesThird(p, status) })
	}
	tests := map[string]struct {
		objects []client.Object
		status  string // in the text of status; empty: healthy
	}{
		"all is well, the operator runs":         {append(healthy(), operatorDeployment(2, 2), operatorLease(5*time.Second), conditioned(condition("Degraded", "False", "AsExpected", ""))), ""},
		"nothing can be seen of the operator":    {healthy(), ""},
		"an annotation says DOWN":                {sees("DOWN"), "demo-dc1-rack1-0 (35d0f1a0) sees demo-dc1-rack3-0 (37d2f3a2) DOWN"},
		"an annotation is newer than the report": {sees("DOWN"), "the status report differs from the Pod annotations: the status report of demo-dc1-rack1-0 differs from its Pod's annotation"},
		"an annotation says a word nobody knows": {sees("PERHAPS"), "demo-dc1-rack1-0 (35d0f1a0) reports demo-dc1-rack3-0 (37d2f3a2) as UNKNOWN"},
		"an annotation cannot be decoded": {says("demo-dc1-rack3-0", `{"observedNodes": "none"}`),
			"the annotation of Pod demo-dc1-rack3-0 is unreadable, so the Scylla Operator does not update the report"},
		"an annotation is an error": {says("demo-dc1-rack3-0", `{"error":"connection refused"}`),
			"no usable status report from demo-dc1-rack3-0 (37d2f3a2): cannot query the local ScyllaDB: connection refused"},
		"a Pod was made anew and says nothing": {edit(healthy(), "demo-dc1-rack3-0", func(p *corev1.Pod) { delete(p.Annotations, api.AnnotationNodeStatusReport) }),
			"has no status report any more, but the datacenter report still has it"},
		"the operator is scaled to 0":        {append(healthy(), operatorDeployment(0, 0), operatorLease(5*time.Second)), "the Scylla Operator is scaled to 0 (Deployment scylla-operator/scylla-operator)"},
		"no Pod of the operator runs":        {append(healthy(), operatorDeployment(2, 0)), "no Pod of the Scylla Operator is available (Deployment scylla-operator/scylla-operator: 0 of 2)"},
		"the operator's Lease is old":        {append(healthy(), operatorLease(10*time.Minute)), "has not renewed Lease scylla-operator/scylla-operator-lock"},
		"the operator says that it cannot":   {append(healthy(), conditioned(condition("Degraded", "True", "Error", "x"), condition("ScyllaDBDatacenterNodesStatusReportControllerDegraded", "True", "Error", "cannot decode"))), "condition ScyllaDBDatacenterNodesStatusReportControllerDegraded: Error: cannot decode"},
		"a condition without a reason of it": {append(healthy(), conditioned(condition("Degraded", "True", "AsExpected", ""))), "the Scylla Operator is degraded: condition Degraded"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			code := 3
			if tc.status == "" {
				code = 0
			}
			for _, run := range []plugintest.Run{{Objects: tc.objects}, {Args: []string{"--from", plugintest.Save(t, tc.objects)}}} {
				saved := run.Args
				if len(saved) > 0 && strings.Contains(tc.status, "Lease") {
					continue // saved objects have no time to compare with
				}
				run.Args = append([]string{"status", "-o", "wide", "-n", "demo"}, saved...)
				if got := run.Do(t); got.Code != code || !strings.Contains(got.Stdout, tc.status) || strings.Contains(got.Stdout, "AsExpected") {
					t.Errorf("%v ended with %d, want %d, and does not say %q:\n%s%s", run.Args, got.Code, code, tc.status, got.Stdout, got.Stderr)
				}
				run.Args = append([]string{"barrier", "demo-dc1-rack1-1", "-n", "demo"}, saved...)
				if got := run.Do(t); got.Code != code {
					t.Errorf("%v ended with %d, want %d:\n%s%s", run.Args, got.Code, code, got.Stdout, got.Stderr)
				}
			}
		})
	}
}

// seesThird has the annotation of a Pod say this of the third member.
func seesThird(p *corev1.Pod, status string) {
	const key = api.AnnotationNodeStatusReport
	id := `"hostID":"` + plugintest.HostID(2) + `","status":"`
	p.Annotations[key] = strings.Replace(p.Annotations[key], id+`UP"`, id+status+`"`, 1)
}

// TestBesideOperator4AReportThatIsOnItsWay: a new annotation blocks at once, with the node that it has DOWN as the cause; that the report differs is a cause after 30 s.
func TestBesideOperator4AReportThatIsOnItsWay(t *testing.T) {
	c := plugintest.New(3, 1)
	c.Newcomer("dc1", "rack1", 1)
	objects := edit(c.OperatorObjects("dc1", nil), "demo-dc1-rack1-0", func(p *corev1.Pod) {
		seesThird(p, "DOWN")
		p.ManagedFields[0].Time = &metav1.Time{Time: plugintest.Now.Add(-2 * time.Second)}
	})
	got := plugintest.Run{Objects: objects, Args: []string{"status", "-n", "demo", "-o", "wide"}}.Do(t)
	findings, _, _ := strings.Cut(got.Stdout, "Blockers")
	if got.Code != 3 || !strings.Contains(findings, "DOWN") || strings.Contains(findings, "differs from the Pod annotations") {
		t.Errorf("written two seconds ago: the node that is DOWN is the cause, and nobody is called silent; got %d\n%s", got.Code, got.Stdout)
	}
}

// TestNoHarm47AMirrorOfOurs: the report of another datacenter, copied by our controller there into the namespace of the operator's cluster, is not evidence that our controller manages the cluster.
func TestNoHarm47AMirrorOfOurs(t *testing.T) {
	silent := controllerLease(time.Hour, "other")
	mirror := func(r *api.ScyllaDBDatacenterNodesStatusReport, written time.Duration) {
		at := plugintest.Now.Add(-written)
		r.OwnerReferences, r.Labels = nil, map[string]string{api.LabelManagedBy: api.ManagedByUs, api.LabelReportSelector: "demo", api.LabelRemoteReport: "eu"}
		r.Annotations = map[string]string{api.AnnotationCopy: api.CopyPushed, api.AnnotationCopyRenewed: at.Format(time.RFC3339)}
		r.ManagedFields = stage.Written(`{"f:metadata":{"f:annotations":{"f:kubectl-scylla.scylladb.com/copy-renewed":{}}}}`)
		r.ManagedFields[0].Time = &metav1.Time{Time: at}
	}
	one, two := plugintest.New(3, 1), plugintest.New(3, 1).AddDatacenter("eu", 1, 2)
	var copied *api.ScyllaDBDatacenterNodesStatusReport
	of := func(written time.Duration) []client.Object {
		return two.OperatorObjects("dc1", func(r *api.ScyllaDBDatacenterNodesStatusReport) { mirror(r, written); copied = r })
	}
	for name, tc := range map[string]struct {
		objects []client.Object
		code    string
		want    string
	}{
		"renewed":     {of(5 * time.Second), exit0, "5 of 5 nodes seen UP by all"},
		"not renewed": {of(time.Hour), exit3, "no usable status report from eu/rack1/0 and eu/rack1/1"},
		"left behind": {append(one.OperatorObjects("dc1", nil), copied), exit0, "kubectl get scylladbdatacenternodesstatusreports demo-eu-external-1c1up --output yaml --show-managed-fields -n demo"},
	} {
		t.Run(name, func(t *testing.T) {
			shows(t, append(tc.objects, silent), "status", []string{tc.code, tc.want}, "no response from the controller")
		})
	}
}

// TestNoHarm47ANodeThatRunsDoesNotWait: with the operator's feature gate off no Pod has a barrier, and a new node whose ScyllaDB runs waits for nothing, whatever the verdict.
func TestNoHarm47ANodeThatRunsDoesNotWait(t *testing.T) {
	for _, joined := range []string{"", "false", "all are UP"} {
		c, want := plugintest.New(3, 1), []string{exit0, "3 of 3 nodes seen UP by all, 1 new node starting"}
		if joined != "all are UP" {
			c, want = c.Down("demo-dc1-rack1-0"), []string{exit3, "ScyllaDB is running, no barrier delays it"}
		}
		n := c.Newcomer("dc1", "rack2", 1)
		if joined == "false" {
			c.Service(n).Annotations = map[string]string{api.AnnotationNodeJoined: joined, api.AnnotationHostID: plugintest.HostID(9)}
		}
		objects := edit(c.OperatorObjects("dc1", nil), "", func(p *corev1.Pod) { p.Spec.InitContainers, p.Status.InitContainerStatuses = nil, nil })
		edit(objects, "", func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.InitContainers = nil })
		edit(objects, n, func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodRunning
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerScyllaDB, Started: new(true), State: up}}
		})
		shows(t, objects, "status", want, "must wait")
	}
}

// Two datacenters of the operator, connected by externalSeeds: it copies no report, and its barrier accepts that.
func TestDatacentersOfExternalSeeds(t *testing.T) {
	t.Parallel()
	const note, noRemote, force = "note: 2 nodes of another datacenter have no status report here", "remote add", "kubectl scylla force-proceed"
	manual := func(c *plugintest.Cluster, flags ...string) []client.Object {
		command := func(s *corev1.PodSpec) {
			for i := 0; len(flags) > 0 && i < len(s.InitContainers); i++ {
				s.InitContainers[i].Command = flags
			}
		}
		objects := edit(c.OperatorObjects("dc1", nil), "", func(o client.Object) { delete(o.GetLabels(), api.LabelParentScyllaDBCluster) })
		edit(objects, "", func(p *corev1.Pod) { command(&p.Spec) })
		return edit(objects, "", func(s *appsv1.StatefulSet) { command(&s.Spec.Template.Spec) })
	}
	two := func() *plugintest.Cluster {
		c := plugintest.New(3, 1)
		c.AddDatacenter("dc2", 1, 2)
		return c
	}
	joining := func() *plugintest.Cluster {
		c := two()
		c.Newcomer("dc1", "rack1", 1)
		return c
	}
	of := func(c *plugintest.Cluster) string { return c.Nodes[len(c.Nodes)-1].Name }
	down := two()
	down.Sees("demo-dc1-rack1-0", of(down), api.NodeStatusDown, plugintest.Now)
	here := two().Down("demo-dc1-rack2-0")
	for name, tc := range map[string]struct {
		objects []client.Object
		has     []string
		not     []string
	}{
		"all UP":                       {manual(two()), []string{exit0, "HEALTHY demo/demo: 5 of 5 nodes", note}, []string{noRemote, "force-proceed"}},
		"all UP, a new node":           {manual(joining()), []string{exit0, "HEALTHY", note}, []string{noRemote, "force-proceed"}},
		"one there is DOWN for one":    {manual(down), []string{exit3, "NOT HEALTHY"}, []string{note, noRemote, "force-proceed"}},
		"one here is DOWN":             {manual(here), []string{exit3, "NOT HEALTHY", "demo-dc1-rack2-0"}, []string{noRemote, "force-proceed"}},
		"the barrier does not accept":  {manual(joining(), "/mnt/shared/scylla-operator", "run-bootstrap-barrier"), []string{exit3, "NOT HEALTHY", "Check there that every node sees every node UP", force}, []string{note, noRemote}},
		"the same, and a node is DOWN": {manual(here, "/mnt/shared/scylla-operator", "run-bootstrap-barrier"), []string{exit3, "NOT HEALTHY"}, []string{note, noRemote, "force-proceed"}},
		"part of a ScyllaDBCluster":    {two().OperatorObjects("dc1", nil), []string{exit3, "NOT HEALTHY"}, []string{note, noRemote}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shows(t, tc.objects, "status --all", tc.has, tc.not...)
		})
	}
}

// TestBesideOperator10AJoiningMemberIsWaitedFor: under the operator a node has no row before it has joined, while its peers list it. The output must not say that its reporter
// should write.
func TestBesideOperator10AJoiningMemberIsWaitedFor(t *testing.T) {
	c := plugintest.New(3, 1)
	const member = "demo-dc1-rack3-0"
	c.Service(member).Annotations[api.AnnotationNodeJoined] = "false"
	objects := edit(c.OperatorObjects("dc1", nil), "", func(r *api.ScyllaDBDatacenterNodesStatusReport) { r.Racks = r.Racks[:2] })
	edit(objects, member, func(p *corev1.Pod) { delete(p.Annotations, api.AnnotationNodeStatusReport) })
	shows(t, objects, "status -o wide", []string{exit3, "until it has joined"}, "reporter writes")
}

// multi is a ScyllaDBCluster in namespace multi, whose datacenter dc1 is in namespace demo; dc2 is in the namespace of the second argument.
func multi(kubernetes, namespace string) client.Object {
	sc := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "multi", "name": "shop"},
		"spec": map[string]any{"datacenters": []any{
			map[string]any{"name": "dc1", "remoteKubernetesClusterName": "here"}, map[string]any{"name": "dc2", "remoteKubernetesClusterName": kubernetes},
		}},
		"status": map[string]any{"datacenters": []any{
			map[string]any{"name": "dc1", "remoteNamespaceName": "demo"}, map[string]any{"name": "dc2", "remoteNamespaceName": namespace},
		}},
	}}
	sc.SetGroupVersionKind(api.ScyllaDBClusterGVK)
	return sc
}

// TestBesideOperator10ReadersFollowAScyllaDBCluster: in the namespace of a ScyllaDBCluster there is no member; each verb that reads goes where its status says.
func TestBesideOperator10ReadersFollowAScyllaDBCluster(t *testing.T) {
	objects := plugintest.New(3, 1).OperatorObjects("dc1", nil)
	away := append(slices.Clone(objects), multi("west", "demo-7x2k1"))
	const elsewhere = "datacenter dc2 of ScyllaDBCluster multi/shop is in namespace demo-7x2k1 of Kubernetes cluster west, not in this one"
	second := append(append(slices.Clone(objects), multi("here", "demo2")), plugintest.NewNamed("demo2", "demo", "dc1", 3, 1).OperatorObjects("dc1", nil)...)
	none := []client.Object{multi("west", "demo-7x2k1")}
	cases := map[string]struct {
		objects []client.Object
		args    []string
		code    int
		out     string
		err     string
	}{
		"status":                          {away, []string{"status"}, 0, "demo/demo", elsewhere},
		"status, the datacenter's name":   {away, []string{"status", "demo"}, 0, "demo/demo", elsewhere},
		"status, the ScyllaDBCluster":     {away, []string{"status", "shop"}, 0, "demo/demo", elsewhere},
		"status, another name":            {away, []string{"status", "shopp"}, 1, "", `did you mean "shop"`},
		"barrier":                         {away, []string{"barrier"}, 0, "No member is waiting", elsewhere},
		"barrier of a member":             {away, []string{"barrier", "demo-dc1-rack1-0"}, 0, "demo/demo", elsewhere},
		"describe":                        {away, []string{"describe", "rack1/0"}, 0, "demo/demo", elsewhere},
		"report":                          {away, []string{"report"}, 0, "demo/demo", elsewhere},
		"report, the ScyllaDBCluster":     {away, []string{"report", "shop"}, 0, "demo/demo", elsewhere},
		"dashboard":                       {away, []string{"dashboard", "--once"}, 0, "demo/demo", elsewhere},
		"dashboard, the ScyllaDBCluster":  {away, []string{"dashboard", "shop", "--once"}, 0, "demo/demo", elsewhere},
		"dashboard, two datacenters here": {second, []string{"dashboard", "--once"}, 2, "", "there are 2 clusters in namespaces demo, demo2, specify one: demo/demo, demo2/demo"},
		"report, two datacenters here":    {second, []string{"report", "shop"}, 2, "", "specify one: demo/demo, demo2/demo"},
		"report, one of two, by its name": {second, []string{"report", "demo2/demo"}, 0, "demo2/demo", ""},
		"report, no datacenter here":      {none, []string{"report"}, 1, "", elsewhere},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := plugintest.Run{Objects: tc.objects, Args: append(tc.args, "-n", "multi")}.Do(t)
			if got.Code != tc.code || !strings.Contains(got.Stdout, tc.out) || !strings.Contains(got.Stderr, tc.err) {
				t.Errorf("exit %d, want %d with %q and %q\n%s%s", got.Code, tc.code, tc.out, tc.err, got.Stdout, got.Stderr)
			}
		})
	}
}

// TestBesideOperator4AnEmptyReportIsNoNewCluster: the operator's report has no row, while Services say that their nodes have joined.
func TestBesideOperator4AnEmptyReportIsNoNewCluster(t *testing.T) {
	c := plugintest.New(3, 1)
	c.Newcomer("dc1", "rack1", 1)
	objects := edit(c.OperatorObjects("dc1", nil), "", func(r *api.ScyllaDBDatacenterNodesStatusReport) { r.Racks = nil })
	shows(t, nil, "status --from "+plugintest.Save(t, objects), []string{exit3, "no status report from any node"}, "no node has joined")
}

// TestTheGateIsShown: while feature gate BootstrapSynchronisation is off at the controller, status says that no join is protected, with the command
// that turns it on, and barrier says that the member may start. A Lease that is no longer renewed proves nothing.
func TestTheGateIsShown(t *testing.T) {
	const gate = "feature gate BootstrapSynchronisation is off at controller kubectl-scylla-controller-0"
	const protects = "kubectl scylla install --feature-gates BootstrapSynchronisation=true"
	for age, off := range map[time.Duration]bool{2 * time.Second: true, time.Hour: false} {
		c := down().Add(controllerLease(age, api.AnnotationUnprotected))
		c.Newcomer("dc1", "rack2", 1)
		from := " --from " + plugintest.Save(t, c.Objects())
		if off {
			shows(t, nil, "status"+from, []string{"no join is protected: " + gate, protects})
			shows(t, nil, "barrier "+joiner+from, []string{"may start: " + gate, exit0})
		} else {
			shows(t, nil, "status"+from, []string{exit3}, gate, protects)
			shows(t, nil, "barrier "+joiner+from, []string{exit3}, gate)
		}
	}
}

// TestANodeOfNobodyThatSomeSeeUp: "host ID X DOWN: it is not DOWN" was one sentence.
func TestANodeOfNobodyThatSomeSeeUp(t *testing.T) {
	const gone = "demo-dc1-rack5-0"
	for name, tc := range map[string]struct {
		down int // how many of the four others see it DOWN
		want string
	}{
		"one of four":   {1, "1 of 4 nodes sees host ID 39d4f5a4-5ea1-4d00-8000-000000000004 DOWN, 3 see it UP; it belongs to no member here → do not remove it, because it is running; check routes, firewalls and NetworkPolicies from demo-dc1-rack1-0 to it, ports 7000 and 7001"},
		"three of four": {3, "3 of 4 nodes see host ID 39d4f5a4-5ea1-4d00-8000-000000000004 DOWN, 1 sees it UP; it belongs to no member here → do not remove it, because it is running; check it where it runs"},
	} {
		t.Run(name, func(t *testing.T) {
			c := plugintest.New(5, 1)
			id := c.Node(gone).HostID
			objects := c.Says(func(by plugintest.Node, said *api.NodeStatusReport) {
				for i := range said.ObservedNodes {
					if o := &said.ObservedNodes[i]; string(o.HostID) == id && by.Name < "demo-dc1-rack"+string(rune('1'+tc.down)) {
						o.Status = api.NodeStatusDown
					}
				}
			}).Leftover(gone)
			shows(t, objects, "status demo --source=annotation", []string{exit3, tc.want})
		})
	}
}

// TestAnOrdinalThatNoStatefulSetWants: its row is still in the report after its rack was scaled down: status said HEALTHY, barrier "wait".
func TestAnOrdinalThatNoStatefulSetWants(t *testing.T) {
	const gone = "demo-dc1-rack3-1"
	objects := edit(plugintest.New(3, 2).Objects(), "demo-dc1-rack3", func(s *appsv1.StatefulSet) { *s.Spec.Replicas = 1 })
	objects = slices.DeleteFunc(objects, func(o client.Object) bool { return o.GetName() == gone })
	for verb, want := range map[string]string{"status": "✓ HEALTHY", "barrier": "No member is waiting"} {
		shows(t, objects, verb, []string{exit0, want})
	}
}

// Four members of which two have one host ID are not three healthy nodes: the line says what it counts.
func TestMembersWithOneHostIDAreCounted(t *testing.T) {
	t.Parallel()
	const fourth = "demo-dc1-rack4-0"
	for _, c := range []*plugintest.Cluster{plugintest.New(4, 1), plugintest.New(4, 1).Operator()} {
		c.Nodes = c.Nodes[:3]
		delete(c.Pod(fourth).Annotations, api.AnnotationNodeStatusReport)
		c.Service(fourth).Annotations[api.AnnotationHostID] = c.Nodes[1].HostID
		for _, source := range []string{"auto", "report", "annotation"} {
			shows(t, c.Objects(), "status --source="+source, []string{exit3, "several members have one host ID", "3 of 3 host IDs seen UP by all, of 4 members"}, "of 3 nodes")
		}
	}
}
