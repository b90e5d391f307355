// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// troubled draws a cluster in which anything may be wrong with any member.
func troubled(t *rapid.T, tb testing.TB) *scene {
	racks, nodes := rapid.IntRange(1, 3).Draw(t, "racks"), rapid.IntRange(1, 2).Draw(t, "nodes")
	st := newStage(tb, racks, nodes)
	st.Reports = nil
	for _, name := range sortedKeys(st.Pods) {
		pod, svc := st.Pods[name], st.Services[name]
		switch rapid.SampledFrom([]string{"well", "well", "well", "no joined annotation", "not joined", "no host ID", "replaced"}).Draw(t, name+" Service") {
		case "no joined annotation":
			delete(svc.Annotations, api.AnnotationNodeJoined)
		case "not joined":
			svc.Annotations[api.AnnotationNodeJoined] = "false"
		case "no host ID":
			delete(svc.Annotations, api.AnnotationHostID)
		case "replaced":
			svc.Labels[api.LabelReplacingNodeHostID] = svc.Annotations[api.AnnotationHostID]
		}
		row := drawRow(t, st, name)
		switch rapid.SampledFrom([]string{"well", "well", "well", "malformed", "absent", "error", "other host ID"}).Draw(t, name+" row") {
		case "malformed":
			pod.Annotations[api.AnnotationNodeStatusReport] = `{"observedNodes":7}`
		case "absent":
			delete(pod.Annotations, api.AnnotationNodeStatusReport)
		case "error":
			row = &api.NodeStatusReport{HostID: row.HostID, Error: new("GET /: refused"), Fault: api.FaultScyllaDB}
			setRow(tb, pod, row)
		case "other host ID":
			row.HostID = hostid.ID(stage.HostID(7, 7))
			setRow(tb, pod, row)
		default:
			setRow(tb, pod, row)
		}
		breakPod(t, st, name)
	}
	return st
}

func setRow(tb testing.TB, pod *corev1.Pod, row *api.NodeStatusReport) {
	text, err := api.EncodeNodeStatusReport(row)
	if err != nil {
		tb.Fatal(err)
	}
	pod.Annotations[api.AnnotationNodeStatusReport] = text
}

func drawRow(t *rapid.T, st *scene, name string) *api.NodeStatusReport {
	row := &api.NodeStatusReport{
		HostID: hostid.ID(st.Services[name].Annotations[api.AnnotationHostID]), ScyllaVersion: "2026.2.0", OwnsTokens: new(rapid.Bool().Draw(t, name+" tokens")),
		OperationMode: rapid.SampledFrom([]string{"NORMAL", "NORMAL", "STARTING", "JOINING", "LEAVING", ""}).Draw(t, name+" mode"),
	}
	for _, other := range sortedKeys(st.Pods) {
		cell := api.ObservedNodeStatusReport{
			HostID: hostid.ID(stage.HostID(int(other[len("demo-rack")]-'0'), int(other[len(other)-1]-'0'))),
			Status: rapid.SampledFrom([]api.NodeStatus{"UP", "UP", "UP", "UP", "UP", "DOWN", "UNKNOWN"}).Draw(t, name+" sees "+other),
			State:  rapid.SampledFrom([]api.NodeState{"", "", "", "", "JOINING", "LEAVING", "BEING_REPLACED"}).Draw(t, name+" has "+other),
		}
		if cell.Status != api.NodeStatusUp {
			cell.Since = &metav1.Time{Time: start.Add(time.Duration(rapid.IntRange(1, 9).Draw(t, "since")) * time.Minute)}
		}
		if rapid.IntRange(0, 9).Draw(t, name+" lists "+other) > 0 {
			row.ObservedNodes = append(row.ObservedNodes, cell)
		}
	}
	return row
}

func breakPod(t *rapid.T, st *scene, name string) {
	pod := st.Pods[name]
	switch rapid.SampledFrom([]string{"well", "well", "well", "well", "gone", "terminating", "ended", "reporter crashed", "reporter not ready", "lost", "not serving"}).Draw(t, name+" Pod") {
	case "gone":
		delete(st.Pods, name)
	case "terminating":
		pod.DeletionTimestamp = &metav1.Time{Time: start}
	case "ended":
		pod.Status.Phase = corev1.PodFailed
	case "reporter crashed":
		pod.Status.InitContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	case "reporter not ready":
		pod.Status.InitContainerStatuses[0].Ready = false
	case "lost":
		pod.Status.Conditions[1].Status = corev1.ConditionFalse
	case "not serving":
		pod.Status.ContainerStatuses[0].Ready = false
	}
}

// wireReport is the cluster report that the controller writes of a Cluster, as it comes back from the API server.
func wireReport(t interface{ Fatal(...any) }, c *Cluster) *api.ScyllaDBStatusReport {
	report := c.ClusterReport(nil, nil)
	report.Namespace, report.Name = c.Namespace, c.Name
	report.Labels = map[string]string{api.LabelManagedBy: api.ManagedByUs, api.LabelCluster: c.Name}
	b, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	out := &api.ScyllaDBStatusReport{}
	if err := json.Unmarshal(b, out); err != nil {
		t.Fatal(err)
	}
	return out
}

type plainRow struct {
	Row   matrix.Row
	Cells []matrix.Observation
}

// plainRows writes out what rows share, and times to the second, as the wire has them.
func plainRows(rows []matrix.Row) []plainRow {
	var out []plainRow
	for _, r := range rows {
		p := plainRow{Row: r}
		for o := range r.Each() {
			o.Since = o.Since.UTC().Truncate(time.Second)
			p.Cells = append(p.Cells, o)
		}
		slices.SortFunc(p.Cells, func(a, b matrix.Observation) int {
			return CompareRefs(matrix.Ref{HostID: a.HostID}, matrix.Ref{HostID: b.HostID})
		})
		p.Row.Base, p.Row.Observed = nil, nil
		said := r.Says() // the cluster report has these of it
		p.Row.Report = &api.NodeStatusReport{OperationMode: said.OperationMode, ScyllaVersion: said.ScyllaVersion, Coordinator: said.Coordinator, Group0ID: said.Group0ID}
		p.Row.StaleSince = p.Row.StaleSince.UTC().Truncate(time.Second)
		out = append(out, p)
	}
	return out
}

// TestRowsAreTheRowsOfTheReport: the rows that Pods carry are, field by field, those of the cluster report that the controller writes of them,
// read with the Pods at hand (the plugin) and without (a barrier).
func TestRowsAreTheRowsOfTheReport(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		o := troubled(rt, t).objects()
		byPods := New(o, SourceAnnotation, start)
		o.StatusReport = wireReport(rt, byPods)
		want := plainRows(byPods.Rows())
		for name, c := range map[string]*Cluster{
			"with Pods": New(o, SourceReport, start), "without Pods": New(withoutPods(o), SourceReport, start), "by its maker": byPods.WithOwn(o.StatusReport),
		} {
			if diff := cmp.Diff(want, plainRows(c.Rows())); diff != "" {
				rt.Fatalf("%s (-annotations +report):\n%s", name, diff)
			}
		}
	})
}

func withoutPods(o Objects) Objects {
	o.Pods, o.Read = nil, o.Read&^KindPods
	return o
}

// TestOneAnswerToHealthy: the display by either source and the barrier of a fresh newcomer agree on whether the cluster is well.
func TestOneAnswerToHealthy(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		st := troubled(rt, t)
		name := st.Newcomer(1, 9)
		o := st.objects()
		byPods := New(o, SourceAnnotation, start)
		o.StatusReport = wireReport(rt, byPods)
		byReport, inPod := New(o, SourceReport, start), New(withoutPods(o), SourceReport, start)
		want := bootstrap.HealthOf(byPods)
		if diff := cmp.Diff(want, bootstrap.HealthOf(byReport)); diff != "" {
			rt.Fatalf("health (-annotations +report):\n%s", diff)
		}
		if diff := cmp.Diff(bootstrap.HealthOf(byPods.WithReport(o.StatusReport)), bootstrap.HealthOf(byPods.WithOwn(o.StatusReport))); diff != "" {
			rt.Fatalf("health (-report read +report made):\n%s", diff)
		}
		if condition := bootstrap.HealthOf(byPods.WithReport(o.StatusReport)); condition.Healthy != want.Healthy {
			rt.Fatalf("the condition says %v, the display %v", condition.Healthy, want.Healthy)
		}
		if want.Nodes == 0 {
			return // no node has joined: whether the newcomer is the first node is another question
		}
		v, err := bootstrap.VerdictOf(inPod, name)
		if err != nil {
			rt.Fatal(err)
		}
		if v.Satisfied != want.Healthy {
			rt.Fatalf("the barrier says %v (%v), the display %v (%v)", v.Satisfied, v.Blockers, want.Healthy, want.Blockers)
		}
	})
}

// TestAFileIsTheCluster: objects that went through a file give the same Cluster as they did live.
func TestAFileIsTheCluster(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		o := troubled(rt, t).objects()
		b, err := json.Marshal(o)
		if err != nil {
			rt.Fatal(err)
		}
		var again Objects
		if err := json.Unmarshal(b, &again); err != nil {
			rt.Fatal(err)
		}
		live, file := New(o, SourceAuto, start), New(again, SourceAuto, start)
		if diff := cmp.Diff(plainRows(live.Rows()), plainRows(file.Rows())); diff != "" {
			rt.Fatalf("rows (-live +file):\n%s", diff)
		}
		if diff := cmp.Diff(bootstrap.HealthOf(live), bootstrap.HealthOf(file)); diff != "" {
			rt.Fatalf("health (-live +file):\n%s", diff)
		}
	})
}

// The states of the members in a cluster report are those that its own rows agree on, whether or not a matrix was made to find them.
func TestMembersHaveTheStatesOfTheRows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		report := New(troubled(rt, t).objects(), SourceAnnotation, start).ClusterReport(nil, nil)
		m := matrix.New(matrix.FromStatusReport(report), matrix.Options{})
		for _, mb := range report.Status.Members {
			want := api.NodeState("")
			if at, ok := m.Index(hostid.Known(mb.HostID)); ok && m.Nodes()[at].State != matrix.StateNormal {
				want = api.NodeState(m.Nodes()[at].State.String())
			}
			if mb.State != want {
				rt.Fatalf("%s has state %q, want %q", mb.Name, mb.State, want)
			}
		}
	})
}

// What is worked out once is handed to each caller as a list of its own.
func TestListsAreTheCallersOwn(t *testing.T) {
	t.Parallel()
	st := newStage(t, 3, 1)
	name := st.Newcomer(1, 9)
	delete(st.Pods, "demo-rack1-0")
	c := New(st.objects(), SourceAnnotation, start)
	peers, applicants, blockers := c.Serviced(), c.JoinCandidates(), bootstrap.HealthOf(c).Blockers
	if len(peers) != 4 || len(applicants) != 1 || applicants[0].Ref.Member != name {
		t.Fatalf("peers %+v, applicants %+v", peers, applicants)
	}
	if len(blockers) == 0 || blockers[0].Reason == "" {
		t.Fatalf("blockers %+v", blockers)
	}
	clear(peers)
	clear(applicants)
	clear(blockers)
	if got := bootstrap.HealthOf(c); got.Blockers[0].Reason == "" {
		t.Error("a caller has changed the blockers")
	}
	if got := c.Serviced(); got[0] == nil {
		t.Error("a caller has changed the peers")
	}
	if got := c.JoinCandidates(); got[0] == nil {
		t.Error("a caller has changed the applicants")
	}
}

// Objects are the same Cluster in whatever order and however often each was read; of those that were read twice the last counts.
func TestDistinct(t *testing.T) {
	t.Parallel()
	service := func(name, version string) corev1.Service {
		return corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}}
	}
	tests := map[string]struct {
		list, want []corev1.Service
	}{
		"none":          {},
		"in order":      {[]corev1.Service{service("a", "1"), service("b", "1"), service("c", "1")}, []corev1.Service{service("a", "1"), service("c", "1")}},
		"not in order":  {[]corev1.Service{service("c", "1"), service("a", "1"), service("b", "1")}, []corev1.Service{service("a", "1"), service("c", "1")}},
		"twice":         {[]corev1.Service{service("a", "1"), service("a", "2"), service("c", "1")}, []corev1.Service{service("a", "2"), service("c", "1")}},
		"not wanted":    {[]corev1.Service{service("b", "1")}, []corev1.Service{}},
		"last unwanted": {[]corev1.Service{service("a", "1"), service("b", "1")}, []corev1.Service{service("a", "1")}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := slices.Clone(tc.list)
			got := DistinctByName(tc.list, MetaOfService, func(s *corev1.Service) bool { return s.Name != "b" })
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			clear(got)
			if diff := cmp.Diff(before, tc.list); diff != "" {
				t.Errorf("the list that was handed over has changed (-before +after):\n%s", diff)
			}
		})
	}
}
