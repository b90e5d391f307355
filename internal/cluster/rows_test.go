// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// TestRowsGoStaleWithTheirReporter asks for both sources, as the rule is one.
func TestRowsGoStaleWithTheirReporter(t *testing.T) {
	t.Parallel()
	later := metav1.NewTime(start.Add(time.Minute))
	stopReporter := func(p *corev1.Pod, state corev1.ContainerState) {
		p.Status.InitContainerStatuses[0].State, p.Status.InitContainerStatuses[0].Ready = state, false
	}
	operator := func(p *corev1.Pod) {
		p.Spec.InitContainers, p.Status.InitContainerStatuses = nil, nil
	}
	cases := map[string]struct {
		change func(*scene, *corev1.Pod)
		want   string
		since  time.Time
	}{
		"all runs":      {},
		"no Pod":        {change: func(st *scene, p *corev1.Pod) { delete(st.Pods, p.Name) }, want: "Pod db/demo-rack1-0 no longer exists"},
		"Pod failed":    {change: func(_ *scene, p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, want: "Pod db/demo-rack1-0 is Failed"},
		"nothing known": {change: func(_ *scene, p *corev1.Pod) { p.Status = corev1.PodStatus{Phase: corev1.PodRunning} }, want: "the state of container scylla-reporter of Pod db/demo-rack1-0 is unknown"},
		"Pod pending":   {change: func(_ *scene, p *corev1.Pod) { p.Status = corev1.PodStatus{Phase: corev1.PodPending} }, want: "Pod db/demo-rack1-0 is Pending"},
		"reporter killed": {
			change: func(_ *scene, p *corev1.Pod) {
				stopReporter(p, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled", FinishedAt: later}})
			},
			want: "container scylla-reporter of Pod db/demo-rack1-0 terminated (OOMKilled)", since: later.Time,
		},
		"reporter in crash loop": {
			change: func(_ *scene, p *corev1.Pod) {
				stopReporter(p, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}})
			},
			want: "container scylla-reporter of Pod db/demo-rack1-0 is waiting (CrashLoopBackOff)",
		},
		"reporter's loop hangs": {
			change: func(_ *scene, p *corev1.Pod) { p.Status.InitContainerStatuses[0].Ready = false },
			want:   "container scylla-reporter of Pod db/demo-rack1-0 is not ready",
		},
		"Kubernetes node lost": {
			change: func(_ *scene, p *corev1.Pod) {
				p.Status.Conditions[1].Status, p.Status.Conditions[1].LastTransitionTime = corev1.ConditionFalse, later
			},
			want: "Pod db/demo-rack1-0 is on Kubernetes node worker-1, which is not responding", since: later.Time,
		},
		"readiness gate open": {change: func(_ *scene, p *corev1.Pod) {
			p.Status.Conditions[1].Status, p.Status.Conditions[1].Reason = corev1.ConditionFalse, "ReadinessGatesNotReady"
		}},
		"ScyllaDB stopped, reporter runs": {change: func(_ *scene, p *corev1.Pod) {
			p.Status.ContainerStatuses[0] = corev1.ContainerStatus{Name: api.ContainerScyllaDB}
			p.Status.Conditions[1].Status, p.Status.Conditions[2].Status = corev1.ConditionFalse, corev1.ConditionFalse
		}},
		"operator's Pod runs": {change: func(_ *scene, p *corev1.Pod) { operator(p) }},
		"operator's ScyllaDB not ready": {change: func(_ *scene, p *corev1.Pod) {
			operator(p)
			p.Status.ContainerStatuses[0].Ready = false
			p.Status.Conditions[2].Status = corev1.ConditionFalse
		}},
		"operator's ScyllaDB ended": {
			change: func(_ *scene, p *corev1.Pod) {
				operator(p)
				p.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3}}
			},
			want: "container scylla of Pod db/demo-rack1-0 exited (code 3)",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, 1, 2)
			if tc.change != nil {
				tc.change(st, st.Pods["demo-rack1-0"])
			}
			for _, src := range []Source{SourceReport, SourceAnnotation} {
				rows := st.cluster(src).Rows()
				if len(rows) != 2 {
					t.Fatalf("%s: %d rows, want 2", src, len(rows))
				}
				if src == SourceAnnotation && st.Pods["demo-rack1-0"] == nil {
					if rows[0].Reported || rows[0].Trouble.Code != words.PodMissing {
						t.Errorf("%s: row of a Pod that is gone: %+v", src, rows[0])
					}
					continue
				}
				if said(rows[0].Stale, rows[0]) != tc.want || !rows[0].StaleSince.Equal(tc.since) {
					t.Errorf("%s: stale %q since %v, want %q since %v", src, rows[0].Stale, rows[0].StaleSince, tc.want, tc.since)
				}
				if !rows[1].Stale.IsZero() {
					t.Errorf("%s: the other row is stale too: %q", src, rows[1].Stale)
				}
			}
			m := st.cluster(SourceAuto).Matrix()
			if got := len(m.Blockers()) == 0; got != (tc.want == "") {
				t.Errorf("no blockers = %v with stale = %q: %v", got, tc.want, m.Blockers())
			}
		})
	}
	t.Run("the Node is Ready, the Pod says otherwise", func(t *testing.T) {
		t.Parallel()
		st := newStage(t, 1, 2)
		st.Pods["demo-rack1-0"].Status.Conditions[1].Status = corev1.ConditionFalse
		o := st.objects()
		o.Machines = map[string]string{"worker-1": KubernetesNodeReady}
		if got := New(o, SourceReport, start).Rows()[0]; said(got.Stale, got) != "Pod db/demo-rack1-0 has condition Ready False, although its containers are ready" {
			t.Errorf("stale %q", said(got.Stale, got))
		}
	})
	t.Run("Pods not read", func(t *testing.T) {
		t.Parallel()
		st := newStage(t, 1, 2)
		o := st.objects()
		o.Pods, o.Read = nil, o.Read&^KindPods
		for _, r := range New(o, SourceReport, start).Rows() {
			if !r.Stale.IsZero() {
				t.Errorf("row stale for want of knowledge: %q", r.Stale)
			}
		}
	})
}

// said is a row's trouble in words.
func said(t matrix.Trouble, r matrix.Row) string {
	return words.Text(t.Message(r.Namespace + "/" + r.Reporter.Name()))
}

func TestRowsOfAnnotations(t *testing.T) {
	t.Parallel()
	type brief struct {
		Member   string
		HostID   string
		Cells    int
		Reported bool
		Error    string
	}
	id := hostID(1, 0)
	fine := brief{Member: "demo-rack1-1", HostID: hostID(1, 1), Cells: 2, Reported: true}
	cases := map[string]struct {
		change func(*testing.T, *scene)
		want   []brief
	}{
		"both report": {want: []brief{{"demo-rack1-0", id, 2, true, ""}, fine}},
		"a newcomer has no row": {
			change: func(t *testing.T, st *scene) { st.Newcomer(1, 2) },
			want:   []brief{{"demo-rack1-0", id, 2, true, ""}, fine},
		},
		"one that has not joined has none, whatever it says": {
			change: func(_ *testing.T, st *scene) {
				st.Services["demo-rack1-0"].Annotations[api.AnnotationNodeJoined] = "false"
			},
			want: []brief{fine},
		},
		"garbage costs its own row": {
			change: func(_ *testing.T, st *scene) {
				st.Pods["demo-rack1-0"].Annotations[api.AnnotationNodeStatusReport] = `{"observedNodes":7}`
			},
			want: []brief{{"demo-rack1-0", id, 0, false, "decode node status report: json: cannot unmarshal number into Go struct field " +
				".NodeStatusReport.observedNodes of type []api.ObservedNodeStatusReport"}, fine},
		},
		"no annotation": {
			change: func(_ *testing.T, st *scene) { st.Pods["demo-rack1-0"].Annotations = nil },
			want:   []brief{{"demo-rack1-0", id, 0, false, ""}, fine},
		},
		"the reporter's own error": {
			change: func(_ *testing.T, st *scene) {
				st.Pods["demo-rack1-0"].Annotations[api.AnnotationNodeStatusReport] = `{"error":"refused"}`
			},
			want: []brief{{"demo-rack1-0", id, 0, false, "cannot query the local ScyllaDB: refused"}, fine},
		},
		"another node than the Service records": {
			change: func(t *testing.T, st *scene) {
				st.Pods["demo-rack1-0"] = stage.NewPod(t, "demo-rack1-0", 1, &api.NodeStatusReport{
					HostID: hostid.ID(hostID(9, 9)), OperationMode: "NORMAL", ObservedNodes: []api.ObservedNodeStatusReport{{HostID: hostid.ID(id), Status: "UP"}}})
			},
			want: []brief{{"demo-rack1-0", id, 0, false,
				"the Pod reports host ID " + hostID(9, 9) + ", but its Service records a different one"}, fine},
		},
		"the newcomer that replaces this very node": {
			change: func(t *testing.T, st *scene) {
				st.Services["demo-rack1-0"].Labels[api.LabelReplacingNodeHostID] = id
				st.Pods["demo-rack1-0"] = stage.NewPod(t, "demo-rack1-0", 1, &api.NodeStatusReport{HostID: hostid.ID(hostID(9, 9)), OperationMode: "JOINING"})
			},
			want: []brief{fine},
		},
		"no Service, no word of having joined: the node's own counts": {
			change: func(t *testing.T, st *scene) {
				clear(st.Services)
				st.Pods["demo-rack1-0"] = stage.NewPod(t, "demo-rack1-0", 1, &api.NodeStatusReport{HostID: hostid.ID(id), OperationMode: "JOINING", OwnsTokens: new(false)})
				st.Pods["demo-rack1-0"].Status.ContainerStatuses[0].Ready = false
			},
			want: []brief{fine},
		},
		"a zero-token node is a member": {
			change: func(t *testing.T, st *scene) {
				clear(st.Services)
				st.Pods["demo-rack1-0"] = stage.NewPod(t, "demo-rack1-0", 1, &api.NodeStatusReport{HostID: hostid.ID(id), OperationMode: "NORMAL", OwnsTokens: new(false),
					ObservedNodes: []api.ObservedNodeStatusReport{{HostID: hostid.ID(id), Status: "UP"}}})
			},
			want: []brief{{"demo-rack1-0", id, 1, true, ""}, fine},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, 1, 2)
			if tc.change != nil {
				tc.change(t, st)
			}
			var got []brief
			for _, r := range st.cluster(SourceAnnotation).Rows() {
				n := 0
				for range r.Each() {
					n++
				}
				got = append(got, brief{r.Reporter.Member, string(r.Reporter.HostID), n, r.Reported, said(r.Trouble, r)})
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReportRowsSayWhyThereIsNone(t *testing.T) {
	t.Parallel()
	st := newStage(t, 1, 2)
	st.Reports["dc1"].Racks[0].Nodes[0].ObservedNodes = nil
	st.Pods["demo-rack1-0"].Annotations[api.AnnotationNodeStatusReport] = `{"error":"gossiper is not ready","scyllaVersion":"2026.2.0"}`
	rows := st.cluster(SourceAuto).Rows()
	if rows[0].Trouble != (matrix.Trouble{Code: words.ScyllaDBNoAnswer, Words: "gossiper is not ready"}) || rows[0].Says().ScyllaVersion != "2026.2.0" || rows[0].Reported || !rows[0].Stale.IsZero() {
		t.Errorf("row = %+v", rows[0])
	}
	if rows[1].Says().ScyllaVersion != "2026.2.0" || rows[1].Says().OperationMode != "NORMAL" || rows[1].Reporter.Member != "demo-rack1-1" {
		t.Errorf("row = %+v", rows[1])
	}
}

func TestRemoteRowsNeedNoPodHere(t *testing.T) {
	t.Parallel()
	st := newStage(t, 1, 1)
	remote := newStage(t, 2, 1).Reports["dc1"].DeepCopy()
	remote.Name, remote.DatacenterName = "demo-dc2", "dc2"
	remote.Labels[api.LabelRemoteReport] = "east"
	st.Reports["dc2"] = remote
	s := st.cluster(SourceAuto)
	if words.Text(s.SourceReason()) != "2 of 2 datacenter reports found" {
		t.Errorf("reason %q", words.Text(s.SourceReason()))
	}
	for _, r := range s.Rows() {
		if !r.Stale.IsZero() {
			t.Errorf("row %v is stale: %v", r.Reporter, r.Stale)
		}
	}
	// Host IDs of dc2/rack1 and dc1/rack1 are the same in this stage; the one of rack2 is only remote.
	for _, m := range s.Members() {
		if string(m.HostID) == hostID(2, 0) && (m.State != MemberRemote || !m.Reported) {
			t.Errorf("member %+v, want a remote one", m)
		}
	}
}

func TestRowWrittenComesFromTheServersWriteTimes(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration, field string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: "m" + field, Time: new(metav1.NewTime(start.Add(d))), FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(fmt.Sprintf(`{"f:metadata":{"f:annotations":{"f:%s":{}}},"f:%s":{}}`, field, field))}
	}
	st := newStage(t, 1, 1)
	pod, report := st.Pods["demo-rack1-0"], st.Reports["dc1"]
	pod.ManagedFields = []metav1.ManagedFieldsEntry{at(time.Second, api.AnnotationNodeStatusReport), at(time.Hour, "other")}
	report.ManagedFields = []metav1.ManagedFieldsEntry{at(2*time.Second, "racks"), at(time.Hour, "labels"), at(time.Second, "racks")}
	o := Objects{
		Key: key, Pods: []corev1.Pod{*pod}, Services: []corev1.Service{*st.Services["demo-rack1-0"]}, Reports: []api.ScyllaDBDatacenterNodesStatusReport{*report},
	}
	for src, want := range map[Source]time.Time{SourceAnnotation: start.Add(time.Second), SourceReport: start.Add(2 * time.Second)} {
		if m := memberNamed(t, New(o, src, start).Members(), "demo-rack1-0"); !m.RowWritten.Equal(want) {
			t.Errorf("%s: written %v, want %v", src, m.RowWritten, want)
		}
	}
}

func TestBootstrapInput(t *testing.T) {
	t.Parallel()
	st := newStage(t, 3, 1)
	name := st.Newcomer(2, 1)
	st.Services["demo-rack3-0"].Labels[api.LabelReplacingNodeHostID] = hostID(3, 0)
	st.Pods[name].Spec.InitContainers[2].Args = []string{"barrier", "--single-report-allow-non-reporting-host-ids", "--policy=reports"}
	s := st.cluster(SourceAuto)
	in, err := bootstrap.Of(s, name)
	if err != nil {
		t.Fatal(err)
	}
	if self := in.Member.ByService(); self.Member != name || self.Rack != "rack2" || *self.Ordinal != 1 || in.Member.Namespace != "db" || in.Member.Joined != nil {
		t.Errorf("self %+v", self)
	}
	if in.Reports != 1 || !in.AllowNonReporting || in.Disk != bootstrap.BootstrappedUnknown || in.DiskDetail.IsZero() {
		t.Errorf("input %+v", in)
	}
	if len(in.Peers) != 3 || in.Peers[0].Member != "demo-rack1-0" || in.Peers[0].Joined == nil || !*in.Peers[0].Joined {
		t.Errorf("peers %+v", in.Peers)
	}
	delete(st.Services["demo-rack3-0"].Labels, api.LabelReplacingNodeHostID)

	verdict := func(source Source) bootstrap.Verdict {
		t.Helper()
		in, err := bootstrap.Of(st.cluster(source), name)
		if err != nil {
			t.Fatal(err)
		}
		in.Disk = bootstrap.BootstrappedNo
		return bootstrap.Decide(in)
	}
	if v := verdict(SourceAuto); !v.Satisfied || v.Decision != bootstrap.DecisionAllUp {
		t.Errorf("all up: %+v", v)
	}
	st.Reports["dc1"].Racks[0].Nodes[0].ObservedNodes[2].Status = api.NodeStatusDown
	v := verdict(SourceReport)
	if v.Satisfied || len(v.Blockers) == 0 || v.Blockers[0].Observer.Member != "demo-rack1-0" || v.Blockers[0].Observed.Member != "demo-rack3-0" {
		t.Errorf("a node is down, and the verdict does not name it: %+v", v)
	}
	clear(st.Reports)
	clear(st.Pods)
	st.Pods[name] = stage.NewPod(t, name, 2, nil)
	if v := verdict(SourceAuto); v.Satisfied {
		t.Errorf("a lost report reads as %s", v.Decision)
	}
	for n := range st.Services {
		if n != name {
			delete(st.Services, n)
		}
	}
	if v := verdict(SourceAuto); !v.Satisfied || v.Decision != bootstrap.DecisionGenesis {
		t.Errorf("first node of all: %+v", v)
	}
	for _, resource := range []string{ResourceServices, ResourceReports, ResourceStatusReports} {
		o := st.objects()
		o.Problems = []Problem{{Verb: "list", Resource: resource, Namespace: "db", Kind: ProblemForbidden, Message: "forbidden"}}
		if _, err := bootstrap.Of(New(o, SourceAuto, start), name); err == nil || !strings.Contains(err.Error(), "cannot be distinguished from the first node") {
			t.Errorf("%s not readable: err = %v; ignorance must not read as a new cluster", resource, err)
		}
		o.Problems[0].Kind = ProblemNotInstalled
		if _, err := bootstrap.Of(New(o, SourceAuto, start), name); err != nil {
			t.Errorf("%s not installed: %v", resource, err)
		}
	}
}

func TestBootstrapInputNamesTheNearest(t *testing.T) {
	t.Parallel()
	st := newStage(t, 2, 1)
	delete(st.Services, "demo-rack2-0")
	s := st.cluster(SourceAuto)
	for name, want := range map[string]string{
		"demo-rakc1-0": `no member "demo-rakc1-0" in cluster db/demo; did you mean "demo-rack1-0" or "demo-rack2-0"?`,
		"zzz":          `no member "zzz" in cluster db/demo; the status lists the members`,
		"demo-rack2-0": `no member "demo-rack2-0" in cluster db/demo; its Pod exists but its member Service does not; the controller creates the Service: check the controller log`,
	} {
		if _, err := bootstrap.Of(s, name); err == nil || err.Error() != want {
			t.Errorf("%s: %v\nwant %s", name, err, want)
		}
	}
}

func TestResolveTarget(t *testing.T) {
	t.Parallel()
	st := newStage(t, 3, 2)
	st.Pods["demo-rack2-1"].Status.PodIP, st.Services["demo-rack2-1"].Spec.ClusterIP = "10.1.2.3", "fd00::7"
	s := st.cluster(SourceAuto)
	id := hostID(2, 1)
	cases := map[string]struct{ text, want, wantErr string }{
		"Pod":                     {text: "demo-rack2-1", want: id},
		"Pod with kind":           {text: "pod/demo-rack2-1", want: id},
		"Service with kind":       {text: "svc/demo-rack2-1", want: id},
		"host ID":                 {text: id, want: id},
		"host ID in capitals":     {text: strings.ToUpper(id), want: id},
		"rack/ordinal":            {text: "rack2/1", want: id},
		"rack-ordinal":            {text: "rack2-1", want: id},
		"datacenter/rack/ordinal": {text: "dc1/rack2/1", want: id},
		"prefix":                  {text: id[:10], want: id},
		"prefix as printed":       {text: id[:8] + "…", want: id},
		"prefix of two":           {text: id[:7], wantErr: `"` + id[:7] + `" matches 2 members in cluster db/demo, specify one: demo-rack2-0 (` + hostID(2, 0) + `), demo-rack2-1 (` + id + `)`},
		"prefix too short":        {text: id[:3], wantErr: `no member "` + id[:3] + `" in cluster db/demo`},
		"IP of the Pod":           {text: "10.1.2.3", want: id},
		"IP of the Pod, mapped":   {text: "::ffff:10.1.2.3", want: id},
		"IP of the Service":       {text: "fd00:0::7", want: id},
		"IP of nobody":            {text: "10.9.9.9", wantErr: `no member "10.9.9.9"`},
		"misspelt":                {text: "demo-rack2-11", wantErr: `did you mean "demo-rack2-1"`},
		"misspelt host ID":        {text: "b" + id[1:], wantErr: id},
		"empty":                   {text: " ", wantErr: "specify a Pod, rack/ordinal, an IP address, a host ID or its prefix"},
		"namespace-like":          {text: "rack9/9", wantErr: "no member"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := s.ResolveTarget(tc.text)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("err = %v, want %q", err, tc.wantErr)
				}
				return
			}
			if err != nil || string(m.HostID) != tc.want {
				t.Errorf("got %s, %v, want %s", m.HostID, err, tc.want)
			}
		})
	}
	t.Run("a name that the replaced node bears, too", func(t *testing.T) {
		t.Parallel()
		st := newStage(t, 3, 1)
		svc := st.Services["demo-rack3-0"]
		svc.Labels[api.LabelReplacingNodeHostID] = hostID(3, 0)
		svc.Annotations[api.AnnotationHostID], svc.Annotations[api.AnnotationNodeJoined] = hostID(9, 9), "false"
		s := st.cluster(SourceAuto)
		named := 0
		for _, m := range s.Members() {
			if m.Ref.Member == "demo-rack3-0" {
				named++
			}
		}
		if m, err := s.ResolveTarget("demo-rack3-0"); err != nil || string(m.HostID) != hostID(9, 9) || named != 2 {
			t.Errorf("got %s, %v out of %d of that name, want the one with the Service", m.HostID, err, named)
		}
		if m, err := s.ResolveTarget(hostID(3, 0)); err != nil || string(m.HostID) != hostID(9, 9) {
			t.Errorf("by the host ID that is replaced: got %s, %v, want the member that replaces it", m.HostID, err)
		}
	})
	t.Run("one name in two clusters", func(t *testing.T) {
		t.Parallel()
		other := newStage(t, 3, 2)
		o := other.cluster(SourceAuto)
		o.Key.Name = "second"
		_, _, err := Resolve([]*Cluster{s, o}, "rack2/1")
		want := `"rack2/1" matches 2 members in clusters db/demo, db/second, specify one: demo-rack2-1 of db/demo (` + id + `), demo-rack2-1 of db/second (` + id + `)`
		if err == nil || err.Error() != want {
			t.Errorf("err = %v\nwant %s", err, want)
		}
	})
	t.Run("ambiguous prefix", func(t *testing.T) {
		t.Parallel()
		st := newStage(t, 1, 2)
		for i, n := range []string{"demo-rack1-0", "demo-rack1-1"} {
			st.Services[n].Annotations[api.AnnotationHostID] = fmt.Sprintf("abcdef01-0000-4000-8000-%012d", i)
			st.Pods[n].Annotations = nil
		}
		clear(st.Reports)
		_, err := st.cluster(SourceAuto).ResolveTarget("abcdef01")
		if want := `"abcdef01" matches 2 members in cluster db/demo, specify one: demo-rack1-0 (abcdef01-0000-4000-8000-000000000000), demo-rack1-1 (abcdef01-0000-4000-8000-000000000001)`; err == nil || err.Error() != want {
			t.Errorf("err = %v\nwant %s", err, want)
		}
	})
}
