// SPDX-License-Identifier: Apache-2.0

package diagnosis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/scenes"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// said is a finding as a test writes it: "Kind: sentence".
func said(findings []diagnosis.Finding) []string {
	var out []string
	for _, f := range findings {
		text := string(f.Kind) + ": " + words.Text(f.Message)
		if f.Remark {
			text = "remark " + text
		}
		out = append(out, text)
	}
	return out
}

// twoDatacenters is dc1 and dc2 of three racks with two members each.
func twoDatacenters() *plugintest.Cluster { return plugintest.New(3, 2).AddDatacenter("dc2", 3, 2) }

// secondCluster is one whose first member lost its disk and founded a cluster of its own.
func secondCluster() *plugintest.Cluster {
	const founder, anew = "demo-dc1-rack1-0", "99d2f3a2-9999-4999-8999-999999999999"
	c := plugintest.New(3, 1).NoReports()
	old := c.Node(founder).HostID
	c.Service(founder).Annotations[api.AnnotationHostID] = anew
	return c.Says(func(by plugintest.Node, r *api.NodeStatusReport) {
		r.OperationMode = "NORMAL"
		if by.Name == founder {
			r.HostID, r.ObservedNodes = anew, []api.ObservedNodeStatusReport{{HostID: anew, Status: api.NodeStatusUp}}
			return
		}
		for i := range r.ObservedNodes {
			if string(r.ObservedNodes[i].HostID) == old {
				r.ObservedNodes[i].Status = api.NodeStatusDown
			}
		}
	})
}

func each(c *plugintest.Cluster, do func(a, b plugintest.Node)) *plugintest.Cluster {
	for _, a := range c.Nodes {
		for _, b := range c.Nodes {
			if a.Name != b.Name {
				do(a, b)
			}
		}
	}
	return c
}

// unseen makes every node of one place see none of another, both ways.
func unseen(c *plugintest.Cluster, a, b func(plugintest.Node) bool) *plugintest.Cluster {
	return each(c, func(x, y plugintest.Node) {
		if a(x) && b(y) || b(x) && a(y) {
			c.Sees(x.Name, y.Name, api.NodeStatusDown, scenes.Now.Add(-time.Minute))
		}
	})
}

// newcomers is a cluster of one member that waits to be the first node.
func newcomers() *plugintest.Cluster {
	c := plugintest.New(1, 0)
	c.Newcomer("dc1", "rack1", 0)
	return c
}

// deletes is the deletion of a member's claim, which its Pod keeps there.
func deletes(member string) func(*cluster.Objects) {
	return func(o *cluster.Objects) {
		o.PVCs = append(o.PVCs, corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "data-" + member, DeletionTimestamp: &metav1.Time{Time: scenes.Now.Add(-time.Minute)}},
			Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: "pvc-1"},
		})
	}
}

// rolls has a StatefulSet in the middle of a rollout.
func rolls(o *cluster.Objects, set string) {
	for i := range o.StatefulSets {
		if s := &o.StatefulSets[i]; s.Name == set {
			s.Status = appsv1.StatefulSetStatus{
				Replicas: 2, ReadyReplicas: 2, UpdatedReplicas: 1, CurrentRevision: "a", UpdateRevision: "b",
			}
		}
	}
}

// lostNode is a cluster of which one member is on a Kubernetes node that does not answer.
func lostNode(name string) *plugintest.Cluster {
	c := plugintest.New(3, 2).NoRow(name)
	c.Pod(name).Status.Conditions[1].Status = corev1.ConditionFalse
	for _, n := range c.Nodes {
		if n.Name != name {
			c.Sees(n.Name, name, api.NodeStatusDown, scenes.Now.Add(-time.Minute))
		}
	}
	return c
}

// labelled is a cluster with a member whose Service says that it was decommissioned.
func labelled(member string) *plugintest.Cluster {
	c := plugintest.New(3, 1)
	c.Service(member).Labels[api.LabelDecommissioned] = api.DecommissionedDone
	return c
}

// gone lets a member have left: its ScyllaDB does not serve, and no row lists it.
func gone(c *plugintest.Cluster, member string) *plugintest.Cluster {
	c.NoRow(member).NoReports().Pod(member).Status.ContainerStatuses[0].Ready = false
	id := c.Node(member).HostID
	return c.Says(func(_ plugintest.Node, r *api.NodeStatusReport) {
		r.ObservedNodes = slices.DeleteFunc(r.ObservedNodes, func(o api.ObservedNodeStatusReport) bool { return string(o.HostID) == id })
	})
}

// TestNoHarm16DecommissionedIsWhatRowsSay: the Scylla Operator has set the label on nodes that had
// not left, and deletes the claim of a labelled node.
func TestNoHarm16DecommissionedIsWhatRowsSay(t *testing.T) {
	t.Parallel()
	const member = "demo-dc1-rack2-0"
	sees := func(state api.NodeState, by ...string) *plugintest.Cluster {
		c := labelled(member).NoReports()
		id := c.Node(member).HostID
		return c.Says(func(n plugintest.Node, r *api.NodeStatusReport) {
			for i := range r.ObservedNodes {
				if o := &r.ObservedNodes[i]; string(o.HostID) == id && slices.Contains(by, n.Name) {
					o.State = state
				}
			}
		})
	}
	finding := func(rows string) []string {
		return []string{"DecommissionLabel: Service " + member + " has label scylla/decommissioned=true, but " + rows + " " + member +
			" as a normal member: the Scylla Operator may delete its PVC without a decommission"}
	}
	all := []string{"demo-dc1-rack1-0", member, "demo-dc1-rack3-0"}
	for name, tc := range map[string]struct {
		cluster *plugintest.Cluster
		state   cluster.MemberState
		want    []string
	}{
		"every row lists it":              {labelled(member), cluster.MemberJoined, finding("3 current status reports list")},
		"one row lists it":                {sees(api.NodeStateDecommissioned, all[1:]...), cluster.MemberJoined, finding("1 current status report lists")},
		"the rows have it leaving":        {sees(api.NodeStateLeaving, all...), cluster.MemberLeaving, nil},
		"the rows have it decommissioned": {sees(api.NodeStateDecommissioned, all...), cluster.MemberLeaving, nil},
		"no row lists it":                 {gone(labelled(member), member), cluster.MemberLeaving, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := cluster.New(objectsOf(tc.cluster, nil), cluster.SourceAuto, scenes.Now)
			findings := diagnosis.Of(c)
			if diff := cmp.Diff(tc.want, said(findings)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, m := range c.Members() {
				if m.Member == member && m.State != tc.state {
					t.Errorf("%s is %s, want %s", member, m.State, tc.state)
				}
			}
			for _, f := range findings {
				for _, command := range f.Step.Commands {
					if text := words.Shell(command); !strings.Contains(text, " get service ") && !strings.HasSuffix(text, " -- status") {
						t.Errorf("the step is more than how to look: %s", text)
					}
				}
			}
			check(t, c, findings)
		})
	}
}

// TestNoHarm8ADeadScyllaDBIsNotStarting: its container runs on without it, or with it drained, and waiting does not help. Every such cluster is not healthy, so that status ends with
// exit code 3, and no step gives the node up.
func TestNoHarm8ADeadScyllaDBIsNotStarting(t *testing.T) {
	t.Parallel()
	const member, newcomer = "demo-dc1-rack2-0", "demo-dc1-rack1-1"
	at := metav1.NewTime(scenes.Now.Add(-10 * time.Minute))
	const look = "kubectl logs " + member + " -c scylla -n demo"
	process := func(state string, status *int32) *api.NodeStatusReport {
		return &api.NodeStatusReport{Error: new("connection refused"), Process: &api.ScyllaDBProcess{State: state, ExitStatus: status, Ended: &at}}
	}
	mode := func(mode string) *api.NodeStatusReport {
		return &api.NodeStatusReport{Error: new("HTTP 500"), OperationMode: mode}
	}
	// dead is a member whose container runs, and is not ready for so long.
	dead := func(said *api.NodeStatusReport, notReady time.Duration) *plugintest.Cluster {
		c := plugintest.New(3, 1).NoReports().DownSince(member, notReady)
		p := c.Pod(member)
		p.Status.Conditions[1].LastTransitionTime = metav1.NewTime(scenes.Now.Add(-notReady))
		p.Status.ContainerStatuses[0] = corev1.ContainerStatus{Name: api.ContainerScyllaDB,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(scenes.Now.Add(-time.Hour))}}}
		return c.Says(func(by plugintest.Node, r *api.NodeStatusReport) {
			if by.Name == member && said != nil {
				r.ObservedNodes, r.Error, r.OperationMode, r.OwnsTokens, r.Process = nil, said.Error, said.OperationMode, nil, said.Process
			}
		})
	}
	onPod := func(c *plugintest.Cluster, change func(*corev1.Pod)) *plugintest.Cluster {
		change(c.Pod(member))
		return c
	}
	// begun has the container started so long ago.
	begun := func(ago time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(scenes.Now.Add(-ago))
		}
	}
	const long = 10 * time.Minute
	recent := metav1.NewTime(scenes.Now.Add(-time.Minute))
	claim := func(deleting *metav1.Time) func(*cluster.Objects) {
		return func(o *cluster.Objects) {
			o.PVCs = append(o.PVCs, corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "data-" + member, DeletionTimestamp: deleting, Finalizers: []string{"kubernetes.io/pvc-protection"}}})
		}
	}
	isDown := func(why string) []string { return []string{"NodeDown: " + member + " DOWN: " + why} }
	notServing := func(why string) []string { return []string{"NodeDown: " + newcomer + " not Ready: " + why} }
	starting := []string{"NodeStarting: " + member + " starting: waiting for container scylla to become ready"}
	wait := "kubectl get pod " + member + " -n demo"
	for name, tc := range map[string]struct {
		cluster *plugintest.Cluster
		change  func(*cluster.Objects)
		want    []string
		step    string // the first command; none where it is empty
	}{
		"ended with 0, as a banned one": {cluster: dead(process("EXITED", new(int32(0))), long), step: look,
			want: isDown("its ScyllaDB process exited with status 0 at 2026-11-21 11:50:00 UTC, but its container still runs")},
		"given up": {cluster: dead(process("FATAL", nil), long), step: look,
			want: isDown("its ScyllaDB process exited at 2026-11-21 11:50:00 UTC, but its container still runs")},
		"stopped by a person": {cluster: dead(process("STOPPED", new(int32(0))), long), step: look,
			want: isDown("its ScyllaDB process exited with status 0 at 2026-11-21 11:50:00 UTC, but its container still runs")},
		"about to be started again": {cluster: dead(process("BACKOFF", nil), time.Minute), step: look,
			want: isDown("its ScyllaDB process exited at 2026-11-21 11:50:00 UTC and is restarted in its container")},
		"again and again": {cluster: dead(process("RUNNING", nil), time.Minute), step: look,
			want: isDown("its ScyllaDB process exited at 2026-11-21 11:50:00 UTC and is restarted in its container")},
		"ended with 1": {cluster: dead(process("EXITED", new(int32(1))), time.Minute), step: look,
			want: isDown("its ScyllaDB process exited with status 1 at 2026-11-21 11:50:00 UTC and is restarted in its container")},
		"killed": {cluster: dead(process("EXITED", new(int32(-1))), time.Minute), step: look,
			want: isDown("its ScyllaDB process exited on a signal at 2026-11-21 11:50:00 UTC and is restarted in its container")},
		"drained": {cluster: dead(mode("DRAINED"), time.Minute), change: claim(nil), step: "kubectl delete pod " + member + " -n demo",
			want: isDown("it was drained (nodetool drain): it is running, and accepts clients again after a restart")},
		"drained, and its claim goes with its Pod": {cluster: dead(mode("DRAINED"), time.Minute), change: claim(&at),
			want: isDown("it was drained (nodetool drain): it is running, and accepts clients again after a restart")},
		"drained, and its claim is not known": {cluster: dead(mode("DRAINED"), time.Minute),
			want: isDown("it was drained (nodetool drain): it is running, and accepts clients again after a restart")},
		"in maintenance mode": {cluster: dead(mode("MAINTENANCE"), time.Minute), step: "kubectl get pod " + member + " --output yaml -n demo",
			want: isDown("it is in maintenance mode: it is running, but connects to no other node")},
		// Without an answer of supervisord the time decides.
		"refused for long, after it was Ready":     {cluster: dead(mode(""), long), step: look, want: isDown("its container has been running for 1h0m, but ScyllaDB in it does not respond")},
		"refused for a minute, after it was Ready": {cluster: dead(mode(""), time.Minute), step: look, want: isDown("its container has been running for 1h0m, but ScyllaDB in it does not respond")},
		"refused for long":                         {cluster: onPod(dead(mode(""), long), begun(long)), step: look, want: isDown("its container has been running for 10m0s without becoming Ready")},
		"refused for a minute":                     {cluster: onPod(dead(mode(""), time.Minute), begun(time.Minute)), step: wait, want: starting},
		"STARTING for long":                        {cluster: dead(mode("STARTING"), long), step: look, want: isDown("its container has been running for 10m0s without becoming Ready")},
		"STARTING for a minute":                    {cluster: dead(mode("STARTING"), time.Minute), step: wait, want: starting},
		"JOINING for long":                         {cluster: dead(mode("JOINING"), long), step: look, want: starting},
		"long in its barrier, and started a minute ago": {cluster: onPod(dead(mode(""), long), func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(scenes.Now.Add(-time.Minute))})
		}), step: wait, want: starting},
		"started again a minute ago, in a Pod that has not been ready for an hour": {step: look, want: starting,
			cluster: onPod(dead(mode("JOINING"), time.Hour), func(p *corev1.Pod) {
				begun(time.Minute)(p)
				p.Status.ContainerStatuses[0].RestartCount = 22
			})},
		"at its barrier": {step: "kubectl scylla barrier " + member + " -n demo",
			want: []string{"NodeStarting: " + member + " starting: waiting for init container scylladb-bootstrap-barrier to finish"},
			cluster: onPod(dead(mode("JOINING"), time.Minute), func(p *corev1.Pod) {
				p.Status.InitContainerStatuses[2].State = p.Status.ContainerStatuses[0].State
				p.Status.ContainerStatuses[0].State = waits("PodInitializing", "")
			})},
		// What supervisord said is not about this ScyllaDB.
		"of the container before":          {cluster: onPod(dead(process("EXITED", new(int32(0))), time.Minute), begun(time.Minute)), step: wait, want: starting},
		"on the Kubernetes node's network": {cluster: onPod(dead(process("EXITED", new(int32(0))), time.Minute), func(p *corev1.Pod) { p.Spec.HostNetwork = true; begun(time.Minute)(p) }), step: wait, want: starting},
		"of a reporter that is away":       {cluster: onPod(dead(process("EXITED", new(int32(0))), time.Minute), func(p *corev1.Pod) { p.Status.InitContainerStatuses[0].Ready = false; begun(time.Minute)(p) }), step: wait, want: starting},
		"of a Pod that ends":               {cluster: onPod(dead(mode("DRAINED"), time.Minute), func(p *corev1.Pod) { p.DeletionTimestamp = &recent }), want: []string{"NodeStarting: " + member + " starting: waiting for its Pod to terminate"}, step: wait},
		"of a Pod that does not end": {cluster: onPod(dead(mode("DRAINED"), time.Minute), func(p *corev1.Pod) { p.DeletionTimestamp = &at }), step: "kubectl describe pod " + member + " -n demo",
			want: isDown("its Pod has been Terminating for 10m0s after its grace period; container scylla still runs")},
		// New nodes, which no row lists.
		"a new node that ended": {cluster: started(long, process("EXITED", new(int32(1)))), step: strings.Replace(look, member, newcomer, 1),
			want: notServing("its ScyllaDB process exited with status 1 at 2026-11-21 11:50:00 UTC and is restarted in its container")},
		"a new node that waits for its turn": {cluster: started(long, &api.NodeStatusReport{HostID: "99d2f3a2-9999-4999-8999-999999999999", OperationMode: "STARTING"}),
			want: []string{"remark NodeUnheard: " + newcomer + " has been starting, but no node lists it: its seed addresses may be out of date"}, step: strings.Replace(look, member, newcomer, 1)},
		"a new node that streams": {cluster: started(long, &api.NodeStatusReport{HostID: "99d2f3a2-9999-4999-8999-999999999999", OperationMode: "BOOTSTRAP"})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := objectsOf(tc.cluster, nil)
			if tc.change != nil {
				tc.change(&o)
			}
			c := cluster.New(o, cluster.SourceAuto, scenes.Now)
			findings := diagnosis.Of(c)
			if diff := cmp.Diff(tc.want, said(findings)); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			check(t, c, findings)
			for _, f := range findings {
				if f.Step.Commands == nil && tc.step == "" {
					continue
				}
				if f.Step.Commands == nil || words.Shell(f.Step.Commands[0]) != tc.step {
					t.Errorf("step %q, want %q", words.Text(f.Step), tc.step)
				}
			}
			for _, n := range c.Matrix().Nodes() {
				if c.Matrix().NodeReplaceable(n.HostID) {
					t.Errorf("%s may be replaced", n.Name())
				}
			}
		})
	}
}

// TestNoHarm12StatusShowsWhatIsForced: a force was only a word in the line of its Pod.
func TestNoHarm12StatusShowsWhatIsForced(t *testing.T) {
	t.Parallel()
	c := plugintest.New(3, 1)
	c.Service("demo-dc1-rack2-0").Annotations[api.AnnotationForceProceed] = "true"
	o := objectsOf(c, nil)
	findings := diagnosis.Of(cluster.New(o, cluster.SourceAuto, scenes.Now))
	if diff := cmp.Diff([]string{"remark Forced: forced: demo-dc1-rack2-0; the next start skips the barrier"}, said(findings)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	if got, want := words.Shell(findings[0].Step.Commands[0]), "kubectl scylla force-proceed demo-dc1-rack2-0 --undo -n demo"; got != want {
		t.Errorf("step %q, want %q", got, want)
	}
	for i := range o.StatefulSets {
		if s := &o.StatefulSets[i]; s.Name == "demo-dc1-rack3" {
			s.Annotations = map[string]string{api.AnnotationForceProceed: "true"}
		}
	}
	forced := o.Services[slices.IndexFunc(o.Services, func(s corev1.Service) bool { return s.Name == "demo-dc1-rack2-0" })].Annotations
	forced[api.AnnotationForceOverrides], forced[api.AnnotationForceVolume] = "[]", string(c.Pod("demo-dc1-rack2-0").UID)
	findings = diagnosis.Of(cluster.New(o, cluster.SourceAuto, scenes.Now))
	if diff := cmp.Diff([]string{"remark Forced: forced: StatefulSet demo-dc1-rack3 and demo-dc1-rack2-0; the next start skips the barrier"}, said(findings)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	forced[api.AnnotationForceVolume] = "lost"
	findings = diagnosis.Of(cluster.New(o, cluster.SourceAuto, scenes.Now))
	if diff := cmp.Diff([]string{"remark Forced: forced: StatefulSet demo-dc1-rack3; the next start skips the barrier"}, said(findings)); diff != "" {
		t.Errorf("of another volume (-want +got):\n%s", diff)
	}
}

// silent has the controller's Lease as its holder left it an hour ago.
func silent(holder string) func(*cluster.Objects) {
	return func(o *cluster.Objects) {
		o.Read |= cluster.KindLease
		o.Lease = &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, RenewTime: &metav1.MicroTime{Time: scenes.Now.Add(-time.Hour)}}}
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	const down, up = api.NodeStatusDown, api.NodeStatusUnknown
	rack := func(dc, name string) func(plugintest.Node) bool {
		return func(n plugintest.Node) bool { return n.Datacenter == dc && n.Rack == name }
	}
	ghosts := plugintest.New(3, 2).Down("demo-dc1-rack3-1")
	mixed := unseen(twoDatacenters(), func(n plugintest.Node) bool { return n.Datacenter == "dc1" }, func(n plugintest.Node) bool { return n.Datacenter == "dc2" })
	mixed.Down("demo-dc1-rack1-0")
	three := plugintest.New(2, 2).AddDatacenter("dc2", 2, 2).AddDatacenter("dc3", 2, 2)
	versions := plugintest.New(3, 1)
	versions.Nodes[0].Version = "2025.3.0"
	seen := map[diagnosis.Kind]bool{}
	for name, tc := range map[string]struct {
		cluster *plugintest.Cluster
		// operator makes a cluster of the Scylla Operator, of which it changes one Pod.
		operator func(*corev1.Pod)
		change   func(*cluster.Objects)
		known    diagnosis.Known
		want     []string
	}{
		"a partition in one rack":  {cluster: unseen(plugintest.New(1, 3), func(n plugintest.Node) bool { return n.Ordinal == 0 }, func(n plugintest.Node) bool { return n.Ordinal > 0 }), want: []string{"Partition: demo-dc1-rack1-0 (1) and demo-dc1-rack1-1 + demo-dc1-rack1-2 (2) do not see each other"}},
		"a partition and a node":   {cluster: mixed, want: []string{"Partition: dc1 (5) and dc2 (6) do not see each other", "NodeDown: demo-dc1-rack1-0 DOWN: scylla exits with code 1, 3 restarts"}},
		"two datacenters of three": {cluster: unseen(three, func(n plugintest.Node) bool { return n.Datacenter == "dc1" }, func(n plugintest.Node) bool { return n.Datacenter == "dc2" }), want: []string{"LinkDown: dc1 (4) and dc2 (4) do not see each other; other nodes see both"}},
		"two racks of three":       {cluster: unseen(plugintest.New(3, 2), rack("dc1", "rack1"), rack("dc1", "rack2")), want: []string{"LinkDown: dc1/rack1 (2) and dc1/rack2 (2) do not see each other; other nodes see both"}},
		"a rack and a node": {
			cluster: twoDatacenters().Down("demo-dc1-rack1-0").Down("demo-dc1-rack1-1").Down("demo-dc2-rack1-0"),
			want:    []string{"NodeDown: demo-dc1-rack1-0, demo-dc1-rack1-1 and demo-dc2-rack1-0 DOWN, each: scylla exits with code 1, 3 restarts"},
		},
		"a node and a link": {
			cluster: plugintest.New(3, 2).Down("demo-dc1-rack3-0").Sees("demo-dc1-rack1-0", "demo-dc1-rack2-0", down, time.Time{}),
			want:    []string{"NodeDown: demo-dc1-rack3-0 DOWN: scylla exits with code 1, 3 restarts", "LinkDown: demo-dc1-rack1-0 sees running node demo-dc1-rack2-0 DOWN"},
		},
		"a replacement and another node": {
			cluster: plugintest.New(3, 2).Replacing("demo-dc1-rack2-0").Down("demo-dc1-rack3-0"),
			want:    []string{"NodeDown: demo-dc1-rack3-0 DOWN: scylla exits with code 1, 3 restarts", "ReplacementOpen: replacement of demo-dc1-rack2-0 in progress"},
		},
		"a rollout and a node": {cluster: plugintest.New(3, 2).Down("demo-dc1-rack3-0"), change: func(o *cluster.Objects) { rolls(o, "demo-dc1-rack1") }, want: []string{
			"NodeDown: demo-dc1-rack3-0 DOWN: scylla exits with code 1, 3 restarts",
			"RolloutInProgress: rollout in progress: StatefulSet demo-dc1-rack1 has 1 of 2 Pods updated",
		}},
		"a Kubernetes node and a reporter": {cluster: lostNode("demo-dc1-rack2-0").NoRow("demo-dc1-rack3-0"), want: []string{
			"KubernetesNodeDown: Kubernetes node worker-1 is not responding: demo-dc1-rack2-0 runs on it",
			"ReporterSilent: no usable status report from demo-dc1-rack3-0",
		}},
		"a silent controller and a partition": {
			cluster: unseen(plugintest.New(3, 2), rack("dc1", "rack1"), func(n plugintest.Node) bool { return n.Rack != "rack1" }),
			change:  silent(""), want: []string{
				"Partition: dc1/rack1 (2) and dc1/rack2 + dc1/rack3 (4) do not see each other",
				"ControllerSilent: no response from the controller; its reports may be out of date",
			},
		},
		"a node that nobody hears": {
			cluster: plugintest.New(3, 1).Sees("demo-dc1-rack1-0", "demo-dc1-rack2-0", down, time.Time{}).Sees("demo-dc1-rack3-0", "demo-dc1-rack2-0", down, time.Time{}),
			want:    []string{"LinkDown: 2 nodes see demo-dc1-rack2-0 DOWN, but it is running and sends status reports"},
		},
		"a node that is not sure": {cluster: plugintest.New(3, 1).Sees("demo-dc1-rack1-0", "demo-dc1-rack2-0", up, time.Time{}), want: []string{"Unclear: 1 node reports demo-dc1-rack2-0 as UNKNOWN"}},
		"a reporter":              {cluster: plugintest.New(3, 1).NoRow("demo-dc1-rack2-0"), want: []string{"ReporterSilent: no usable status report from demo-dc1-rack2-0"}},
		"a Pod that is not there": {cluster: plugintest.New(3, 1).Ghost("demo-dc1-rack2-0"), want: []string{"NodeDown: demo-dc1-rack2-0 not Ready: it has no Pod"}},
		"a ghost": {cluster: ghosts, change: func(o *cluster.Objects) {
			o.Services = slices.DeleteFunc(o.Services, func(s corev1.Service) bool { return s.Name == "demo-dc1-rack3-1" })
			o.Pods = slices.DeleteFunc(o.Pods, func(p corev1.Pod) bool { return p.Name == "demo-dc1-rack3-1" })
			for i := range o.StatefulSets {
				if o.StatefulSets[i].Name == "demo-dc1-rack3" {
					o.StatefulSets[i].Spec.Replicas = new(int32(1))
				}
			}
		}, want: []string{"Ghost: demo-dc1-rack3-1 is orphaned: it belongs to no member"}},
		"a replacement that failed": {cluster: plugintest.New(3, 1).Replacing("demo-dc1-rack2-0"), known: diagnosis.Known{
			Failed: map[hostid.ID]words.Message{hostid.ID(plugintest.New(3, 1).Node("demo-dc1-rack2-0").HostID): words.New("the disk is full")},
		}, want: []string{"ReplacementFailed: replacement of demo-dc1-rack2-0 failed: the disk is full"}},
		"a controller that is silent": {cluster: plugintest.New(3, 1), change: silent("controller-1"), want: []string{"ControllerSilent: no response from the controller: controller-1; its reports may be out of date"}},
		"a report that is not kept": {operator: func(p *corev1.Pod) {
			p.ManagedFields, p.Annotations[api.AnnotationNodeStatusReport] = nil, strings.Replace(p.Annotations[api.AnnotationNodeStatusReport], `"UP"`, `"DOWN"`, 1)
		}, want: []string{
			"LinkDown: demo-dc1-rack3-0 sees running node demo-dc1-rack1-0 DOWN",
			"ReportOutdated: the status report differs from the Pod annotations: the status report of demo-dc1-rack3-0 differs from its Pod's annotation",
		}},
		"an operator that cannot do its work": {operator: func(*corev1.Pod) {}, change: func(o *cluster.Objects) {
			o.OperatorState = &cluster.OperatorState{Conditions: []metav1.Condition{{Type: "Degraded", Status: metav1.ConditionTrue, Reason: "Error"}}}
		}, want: []string{"OperatorDegraded: the Scylla Operator is degraded: condition Degraded: Error"}},
		"a claim that is deleted under a node that lives": {cluster: plugintest.New(3, 1), change: deletes("demo-dc1-rack2-0"), want: []string{
			"ClaimDeleting: PersistentVolumeClaim data-demo-dc1-rack2-0 of running node demo-dc1-rack2-0 Terminating: its data is lost when Pod demo-dc1-rack2-0 stops",
		}},
		"a claim that is deleted under a node that lives and that somebody sees DOWN": {
			cluster: plugintest.New(3, 1).Sees("demo-dc1-rack1-0", "demo-dc1-rack2-0", down, time.Time{}), change: deletes("demo-dc1-rack2-0"), want: []string{
				"ClaimDeleting: PersistentVolumeClaim data-demo-dc1-rack2-0 of running node demo-dc1-rack2-0 Terminating: its data is lost when Pod demo-dc1-rack2-0 stops",
				"LinkDown: demo-dc1-rack1-0 sees running node demo-dc1-rack2-0 DOWN",
			},
		},
		"a claim that is deleted while its node is replaced": {
			cluster: plugintest.New(3, 1).Replacing("demo-dc1-rack2-0"), change: deletes("demo-dc1-rack2-0"),
			want: []string{"ReplacementOpen: replacement of demo-dc1-rack2-0 in progress"},
		},
		"a claim that is deleted under a node that is DOWN": {
			cluster: plugintest.New(3, 1).Down("demo-dc1-rack2-0"), change: deletes("demo-dc1-rack2-0"),
			want: []string{"NodeDown: demo-dc1-rack2-0 DOWN: scylla exits with code 1, 3 restarts"},
		},
		"a claim that is deleted with its Pod": {cluster: plugintest.New(3, 1), change: func(o *cluster.Objects) {
			deletes("demo-dc1-rack2-0")(o)
			for i := range o.Pods {
				if o.Pods[i].Name == "demo-dc1-rack2-0" {
					o.Pods[i].DeletionTimestamp = &metav1.Time{Time: scenes.Now}
				}
			}
		}, want: []string{"NodeStarting: demo-dc1-rack2-0 starting: waiting for its Pod to terminate"}},
		"a claim that is deleted of a node that is only labelled as decommissioned": {cluster: labelled("demo-dc1-rack2-0"), change: deletes("demo-dc1-rack2-0"), want: []string{
			"ClaimDeleting: PersistentVolumeClaim data-demo-dc1-rack2-0 of running node demo-dc1-rack2-0 Terminating: its data is lost when Pod demo-dc1-rack2-0 stops",
			"DecommissionLabel: Service demo-dc1-rack2-0 has label scylla/decommissioned=true, but 3 current status reports list demo-dc1-rack2-0 as a normal member: " +
				"the Scylla Operator may delete its PVC without a decommission",
		}},
		"a claim that is deleted of a node that was decommissioned": {cluster: gone(labelled("demo-dc1-rack2-0"), "demo-dc1-rack2-0"), change: deletes("demo-dc1-rack2-0")},
		"two Services record one host ID": {cluster: plugintest.New(4, 1), change: func(o *cluster.Objects) {
			for i := range o.Services {
				if s := &o.Services[i]; s.Name == "demo-dc1-rack4-0" {
					s.Annotations = map[string]string{api.AnnotationHostID: plugintest.HostID(1), api.AnnotationNodeJoined: "true"}
				}
			}
		}, want: []string{"HostIDShared: several members have one host ID: demo-dc1-rack2-0 and demo-dc1-rack4-0 have host ID " + plugintest.HostID(1),
			"ReportOutdated: the status report differs from the Pod annotations: the status report of demo-dc1-rack4-0 differs from its Pod's annotation"}},
		"nobody has joined":    {cluster: newcomers(), want: []string{"NoNodes: no node has joined yet, 1 new node waiting"}},
		"nobody says anything": {cluster: plugintest.New(1, 2).NoRow("demo-dc1-rack1-0").NoRow("demo-dc1-rack1-1"), want: []string{"Unknown: no status report from any node"}},
		"two clusters": {cluster: secondCluster(), want: []string{
			"SplitCluster: two clusters have the same name: the members listed by demo-dc1-rack2-0 + demo-dc1-rack3-0, demo-dc1-rack1-0 have no host ID in common, " +
				"and all these nodes are in operation",
			"NodeDown: host ID 35d0f1a0-5ea1-4d00-8000-000000000000 DOWN, and it belongs to no member here: its datacenter and rack are unknown: " +
				"no majority of the status reports has them (try --source=live)",
		}},
		"a newcomer whose container ended": {cluster: ended(), want: []string{
			"remark NodeNotStarted: the ScyllaDB container of demo-dc1-rack1-1 exited with code 0 before the node joined; the code does not show the cause",
		}},
		"a maintenance label that is older than a day": {cluster: plugintest.New(3, 1).Maintenance("demo-dc1-rack2-0", 25*time.Hour), want: []string{
			"remark NodeMaintenance: demo-dc1-rack2-0 has had label scylla/node-maintenance, set by kubectl-label",
		}},
		"a disk that is nearly full": {cluster: plugintest.New(3, 1).Says(disk("demo-dc1-rack2-0", 90)), want: []string{
			"remark DiskFull: the disk of demo-dc1-rack2-0 is 90 % full: ScyllaDB 2025.4 and later reject writes, repairs and tablets at 98 %",
		}},
		"a disk that is not":                       {cluster: plugintest.New(3, 1).Says(disk("demo-dc1-rack2-0", 89))},
		"a disk that is more than full is unknown": {cluster: plugintest.New(3, 1).Says(disk("demo-dc1-rack2-0", 101))},
		"a disk that is nearly full, of a node that is DOWN": {cluster: plugintest.New(3, 1).Down("demo-dc1-rack2-0").Says(disk("demo-dc1-rack2-0", 100)), want: []string{
			"NodeDown: demo-dc1-rack2-0 DOWN: scylla exits with code 1, 3 restarts",
			"remark DiskFull: the disk of demo-dc1-rack2-0 is 100 % full: ScyllaDB 2025.4 and later reject writes, repairs and tablets at 98 %",
		}},
		"a maintenance label of today": {cluster: plugintest.New(3, 1).Maintenance("demo-dc1-rack2-0", 23*time.Hour)},
		"a maintenance label of unknown age": {cluster: plugintest.New(3, 1).Maintenance("demo-dc1-rack2-0", 25*time.Hour), change: func(o *cluster.Objects) {
			for i := range o.Services {
				o.Services[i].ManagedFields = nil
			}
		}},
		"a saved nodetool status that differs": {cluster: plugintest.New(3, 1), change: func(o *cluster.Objects) {
			o.Gathered = map[string]cluster.Gathered{"demo-dc1-rack1-0": {Status: map[hostid.ID]string{hostid.ID(plugintest.HostID(1)): "DN"}}}
		}, want: []string{"remark NodetoolDiffers: demo-dc1-rack2-0 is DN by nodetool-status.log of demo-dc1-rack1-0, and UP by its status report"}},
		"different versions": {cluster: versions, want: []string{"remark VersionMix: the nodes run different versions: 2025.2.1 and 2025.3.0"}},
		"one version, by a report in full and by the tag of an image": {cluster: plugintest.New(3, 1).Says(func(by plugintest.Node, said *api.NodeStatusReport) {
			if said.ScyllaVersion = ""; by.Name == "demo-dc1-rack1-0" {
				said.ScyllaVersion = "2025.2.1-0.20250801.9d1b1e2"
			}
		})},
		"a StatefulSet that lacks a ready Pod": {cluster: plugintest.New(3, 1), change: func(o *cluster.Objects) {
			o.StatefulSets[0].Status = appsv1.StatefulSetStatus{Replicas: 1, UpdatedReplicas: 1, CurrentRevision: "a", UpdateRevision: "a"}
		}, want: []string{"PodsNotReady: StatefulSet demo-dc1-rack1 has 0 Ready Pods for 1 joined member"}},
		"different schemas": {cluster: plugintest.New(3, 1), change: func(o *cluster.Objects) {
			o.Facts = map[string]cluster.LiveFacts{"demo-dc1-rack1-0": {Schemas: map[string][]string{"a": {"10.0.0.1"}, "b": {"10.0.0.2"}, "UNREACHABLE": {"10.0.0.3"}}}}
		}, want: []string{"remark SchemaDisagreement: the nodes have 2 different schema versions"}},
		"a report that was left behind": {cluster: plugintest.New(3, 1), change: func(o *cluster.Objects) {
			left := api.ScyllaDBDatacenterNodesStatusReport{DatacenterName: "eu"}
			left.Name, left.Labels, left.Annotations = "left", map[string]string{api.LabelReportSelector: o.Name, api.LabelRemoteReport: "eu"}, map[string]string{api.AnnotationCopy: api.CopyPushed}
			left.ManagedFields = stage.Written(`{"f:metadata":{"f:annotations":{"f:` + api.AnnotationCopyRenewed + `":{}}}}`)
			left.ManagedFields[0].Time.Time = scenes.Now.Add(-time.Hour)
			o.Reports = append(o.Reports, left)
		}, want: []string{"remark ReportLeftBehind: report left of datacenter eu, copied here from elsewhere, has not been renewed, and no node here lists its nodes; the Scylla Operator's barrier waits for them"}},
		"a datacenter of external seeds": {cluster: plugintest.New(3, 1), change: func(o *cluster.Objects) {
			list := plugintest.New(3, 1).AddDatacenter("dc2", 1, 2).OperatorObjects("dc1", nil)
			for _, obj := range list {
				delete(obj.GetLabels(), api.LabelParentScyllaDBCluster)
			}
			*o = plugintest.Objects(o.Key, list)
		}, want: []string{"remark DatacenterNotRead: 2 nodes of another datacenter have no status report here, which the Scylla Operator's barrier accepts (--single-report-allow-non-reporting-host-ids); every node here sees them UP"}},
		"part of the cluster not readable": {cluster: plugintest.New(3, 1), change: func(o *cluster.Objects) {
			o.Problems = []cluster.Problem{{Verb: "list", Resource: cluster.ResourcePVCs, Kind: cluster.ProblemForbidden}}
		}, want: []string{"remark RightsMissing: part of the cluster not readable: you cannot list persistentvolumeclaims"}},
	} {
		for _, want := range tc.want {
			kind, _, _ := strings.Cut(strings.TrimPrefix(want, "remark "), ":")
			seen[diagnosis.Kind(kind)] = true
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := objectsOf(tc.cluster, tc.operator)
			if tc.change != nil {
				tc.change(&o)
			}
			c := cluster.New(o, cluster.SourceAuto, scenes.Now)
			findings := diagnosis.From(c, bootstrap.HealthOf(c), tc.known)
			if diff := cmp.Diff(tc.want, said(findings)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			check(t, c, findings)
		})
	}
	for _, s := range scenes.All(12) {
		for _, f := range diagnosis.Of(s.Cluster()) {
			seen[f.Kind] = true
		}
	}
	seen[diagnosis.NodeUnheard], seen[diagnosis.Forced] = true, true                 // TestNoHarm8ADeadScyllaDBIsNotStarting, TestNoHarm12StatusShowsWhatIsForced
	seen[diagnosis.ClockOff] = true                                                  // TestTimesOfAWrongClock
	seen[diagnosis.ReplacingLabelLeft] = true                                        // TestTheLabelOfAReplacementThatHasEnded
	seen[diagnosis.DecommissionStuck], seen[diagnosis.DecommissionOpen] = true, true // TestADecommissionThatDoesNotEnd
	seen[diagnosis.BesideOperator] = true                                            // plugin/status.TestBesideOperator1OurStatefulSetsThatItAdopts
	seen[diagnosis.MajorityLost] = true                                              // TestGroup0WithoutMajority
	seen[diagnosis.Unprotected] = true                                               // plugin/status.TestTheGateIsShown
	for _, kind := range diagnosis.Kinds() {
		if !seen[kind] {
			t.Errorf("no test and no scene has a finding of kind %s", kind)
		}
	}
}

// objectsOf are those of a cluster; with change, of one that the Scylla Operator manages, one Pod of which is changed.
func objectsOf(c *plugintest.Cluster, change func(*corev1.Pod)) cluster.Objects {
	if change == nil {
		return scenes.Objects(c)
	}
	list := plugintest.New(3, 1).OperatorObjects("dc1", nil)
	for _, o := range list {
		if p, ok := o.(*corev1.Pod); ok && p.Name == "demo-dc1-rack3-0" {
			change(p)
		}
	}
	return plugintest.Objects(cluster.Key{Namespace: "demo", Name: "demo"}, list)
}

// check tests the properties of all findings: every blocker is explained, there are no problems exactly for a healthy cluster, they are ordered by gravity, every code has
// words, and no node that recovers by itself is to be replaced.
func check(t interface {
	Helper()
	Errorf(string, ...any)
}, c *cluster.Cluster, findings []diagnosis.Finding) {
	t.Helper()
	h := bootstrap.HealthOf(c)
	explained := map[int]bool{}
	problems, last := 0, -1
	for _, f := range findings {
		for _, k := range f.Blockers {
			explained[k] = true
		}
		rank := slices.Index(diagnosis.Kinds(), f.Kind)
		if !f.Remark {
			problems++
			if rank < last {
				t.Errorf("%s stands behind what is less grave", f.Kind)
			}
			last = rank
		}
		if text := words.Text(f.Message); rank < 0 || text == "" || strings.Contains(text, "Finding") || strings.ContainsAny(text, "{}[]") {
			t.Errorf("%s says %q", f.Kind, text)
		}
		if f.Step.IsZero() {
			t.Errorf("%s has no next step", f.Kind)
		}
		if step := strings.ReplaceAll(words.Text(f.Step), "scylla replace status", ""); strings.Contains(step, "scylla replace ") && f.Kind != diagnosis.NodeDown && f.Kind != diagnosis.ReplacementFailed && f.Kind != diagnosis.ReplacementOpen {
			t.Errorf("%s suggests %q", f.Kind, step)
		}
	}
	for k, b := range h.Blockers {
		if !explained[k] {
			t.Errorf("no finding explains %s", words.Aging(b.Message(), b.Since, time.Time{}))
		}
	}
	if h.Healthy != (problems == 0) {
		t.Errorf("healthy is %v with %d problems", h.Healthy, problems)
	}
}

func TestScenes(t *testing.T) {
	t.Parallel()
	for _, s := range scenes.All(99) {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			c := s.Cluster()
			findings := diagnosis.Of(c)
			check(t, c, findings)
			if s.Name == "healthy" {
				return
			}
			if len(findings) != 1 {
				t.Fatalf("one cause is %d findings: %q", len(findings), said(findings))
			}
			if text := words.Text(findings[0].Message); !strings.Contains(text, s.FirstLine) {
				t.Errorf("it is said to be %q", text)
			}
			// no object of a scene shows that a volume is lost
			if got := strings.Contains(words.Text(findings[0].Step), "kubectl scylla replace ") && s.Name != "replacement"; got {
				t.Errorf("suggests a replacement: %s", words.Text(findings[0].Step))
			}
		})
	}
}

// TestEveryBlockerIsExplained of clusters in which anything is wrong with anybody.
func TestEveryBlockerIsExplained(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c := plugintest.New(rapid.IntRange(1, 3).Draw(rt, "racks"), rapid.IntRange(1, 2).Draw(rt, "members"))
		if rapid.Bool().Draw(rt, "two datacenters") {
			c.AddDatacenter("dc2", 2, 1)
		}
		for _, a := range c.Nodes {
			for _, b := range c.Nodes {
				if status := rapid.SampledFrom([]api.NodeStatus{"UP", "UP", "UP", "UP", "DOWN", "UNKNOWN", ""}).Draw(rt, a.Name+" "+b.Name); status != api.NodeStatusUp {
					c.Sees(a.Name, b.Name, status, scenes.Now.Add(-time.Duration(rapid.IntRange(0, 600).Draw(rt, "age"))*time.Second))
				}
			}
		}
		for _, n := range c.Nodes {
			spoil(rt, c, n)
		}
		if rapid.Bool().Draw(rt, "no reports") {
			c.NoReports()
		}
		o := scenes.Objects(c)
		if rapid.IntRange(0, 4).Draw(rt, "Pods") == 0 {
			o.Pods, o.Read = nil, o.Read&^cluster.KindPods
			o.Problems = []cluster.Problem{{Verb: "list", Resource: cluster.ResourcePods, Kind: cluster.ProblemForbidden}}
		}
		built := cluster.New(o, cluster.SourceAuto, scenes.Now)
		check(rt, built, diagnosis.Of(built))
	})
}

func spoil(rt *rapid.T, c *plugintest.Cluster, n plugintest.Node) {
	p, v := c.Pod(n.Name), c.Service(n.Name)
	switch rapid.SampledFrom([]string{"", "", "", "", "down", "no row", "no Pod", "lost", "init", "not ready", "replaced", "no host ID", "leaving", "malformed"}).Draw(rt, n.Name) {
	case "down":
		c.Down(n.Name)
	case "no row":
		c.NoRow(n.Name)
	case "no Pod":
		c.Ghost(n.Name)
	case "lost":
		p.Status.Conditions[1].Status = corev1.ConditionFalse
	case "init":
		p.Status.Phase = corev1.PodPending
		p.Status.InitContainerStatuses[2].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
		p.Status.ContainerStatuses[0] = corev1.ContainerStatus{Name: api.ContainerScyllaDB}
	case "not ready":
		p.Status.ContainerStatuses[0].Ready = false
	case "replaced":
		v.Labels[api.LabelReplacingNodeHostID] = n.HostID
	case "no host ID":
		delete(v.Annotations, api.AnnotationHostID)
	case "leaving":
		v.Labels[api.LabelDecommissioned] = "false"
	case "malformed":
		p.Annotations = map[string]string{api.AnnotationNodeStatusReport: fmt.Sprint("{", n.Ordinal)}
	}
}
