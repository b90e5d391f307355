// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// TestOrderOfObjectsNeverMatters: lists come in any order, and the Cluster is the same.
func TestOrderOfObjectsNeverMatters(t *testing.T) {
	t.Parallel()
	st := newStage(t, 3, 2)
	name := st.Newcomer(2, 2)
	st.Reports["dc1"].Racks[1].Nodes[0].ObservedNodes = nil
	remote := st.Reports["dc1"].DeepCopy()
	remote.Name, remote.DatacenterName, remote.Racks = "east", "dc2", remote.Racks[:1]
	remote.Labels[api.LabelRemoteReport] = "east"
	st.Reports["dc2"] = remote
	want := st.objects()
	type said struct {
		Rows    []matrix.Row
		Members []Member
		Verdict bootstrap.Verdict
		Reason  string
	}
	say := func(t *rapid.T, s *Cluster) string {
		in, err := bootstrap.Of(s, name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(said{s.Rows(), s.Members(), bootstrap.Decide(in), words.Text(s.SourceReason())})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	rapid.Check(t, func(t *rapid.T) {
		for _, src := range []Source{SourceReport, SourceAnnotation} {
			mixed := want
			mixed.Services = rapid.Permutation(want.Services).Draw(t, "services")
			mixed.Pods = rapid.Permutation(want.Pods).Draw(t, "pods")
			mixed.StatefulSets = rapid.Permutation(want.StatefulSets).Draw(t, "sets")
			mixed.PVCs = rapid.Permutation(want.PVCs).Draw(t, "claims")
			mixed.Reports = rapid.Permutation(want.Reports).Draw(t, "reports")
			if diff := cmp.Diff(say(t, New(want, src, start)), say(t, New(mixed, src, start))); diff != "" {
				t.Fatalf("%s: %s", src, diff)
			}
		}
	})
}

func TestReportsAreCounted(t *testing.T) {
	t.Parallel()
	status := &api.ScyllaDBStatusReport{Datacenters: []api.StatusReportDatacenter{{Name: "a"}, {Name: "b"}}}
	reports := func(n int, override string) []api.ScyllaDBDatacenterNodesStatusReport {
		out := make([]api.ScyllaDBDatacenterNodesStatusReport, n)
		for i := range out {
			out[i].Name = fmt.Sprintf("r%d", i)
			if override != "" {
				out[i].Annotations = map[string]string{api.AnnotationStatusReportOverrideRef: override}
			}
		}
		return out
	}
	ours := corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "demo-rack1-0", Labels: map[string]string{api.LabelManagedBy: api.ManagedByUs, api.LabelServiceType: api.ServiceTypeMember}}}
	cases := map[string]struct {
		o      Objects
		source Source
		want   int
	}{
		"two reports":          {Objects{Reports: reports(2, "")}, SourceReport, 2},
		"none":                 {Objects{}, SourceReport, 0},
		"a cluster report":     {Objects{StatusReport: status}, SourceReport, 2},
		"an empty one":         {Objects{StatusReport: &api.ScyllaDBStatusReport{}}, SourceReport, 1},
		"an override":          {Objects{Reports: reports(5, "x"), StatusReport: status}, SourceReport, 2},
		"an override, missing": {Objects{Reports: reports(5, "x")}, SourceReport, 0},
		// A stolen credential of a remote may write reports. Those of our own clusters name no other report.
		"an override that a report of ours names": {Objects{Reports: reports(5, "x"), Services: []corev1.Service{ours}}, SourceReport, 5},
		"annotations": {Objects{Reports: reports(5, "")}, SourceAnnotation, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := New(tc.o, tc.source, start).ReportCount(); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

func TestLenientFlagOfTheMembersOwnBarrier(t *testing.T) {
	t.Parallel()
	const flag = "--single-report-allow-non-reporting-host-ids"
	cases := map[string]struct {
		args []string
		pod  bool
		want bool
	}{
		"operator, strict":  {[]string{"run-bootstrap-barrier", flag + "=false"}, true, false},
		"operator, lenient": {[]string{"run-bootstrap-barrier", flag + "=true"}, true, true},
		"bare":              {[]string{"barrier", flag}, true, true},
		"absent":            {[]string{"barrier"}, true, false},
		"from the template": {[]string{"barrier", flag}, false, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, 1, 1)
			if tc.pod {
				st.Pods["demo-rack1-0"].Spec.InitContainers[2].Command, st.Pods["demo-rack1-0"].Spec.InitContainers[2].Args = tc.args, nil
			} else {
				delete(st.Pods, "demo-rack1-0")
				st.Sets["demo-rack1"].Spec.Template.Spec.InitContainers[2].Args = tc.args
			}
			in, err := bootstrap.Of(st.cluster(SourceAuto), "demo-rack1-0")
			if err != nil || in.AllowNonReporting != tc.want {
				t.Errorf("lenient %v, %v; want %v", in.AllowNonReporting, err, tc.want)
			}
		})
	}
}

func TestLiveRowsOfThoseWhoWereNotAsked(t *testing.T) {
	t.Parallel()
	st := newStage(t, 1, 3)
	delete(st.Pods, "demo-rack1-2")
	s := st.cluster(SourceLive).WithLive(map[string]*api.NodeStatusReport{"demo-rack1-0": {Error: new("refused"), Fault: api.FaultPodUnreachable}}, nil, nil)
	var got []string
	for _, r := range s.Rows() {
		got = append(got, said(r.Trouble, r))
	}
	if diff := cmp.Diff([]string{"refused", "ScyllaDB was not queried", "Pod db/demo-rack1-2 does not exist"}, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if h := s.Matrix().Health(); h.AllUp {
		t.Error("nobody answered, and all is UP")
	}
}

func TestUndecodableAnnotationBesideAReport(t *testing.T) {
	t.Parallel()
	st := newStage(t, 1, 2)
	st.Reports["dc1"].Racks[0].Nodes[0].ObservedNodes = nil
	st.Pods["demo-rack1-0"].Annotations[api.AnnotationNodeStatusReport] = `{`
	rows := st.cluster(SourceAuto).Rows()
	if rows[0].Trouble.Code != words.RowMalformed || !strings.HasPrefix(rows[0].Trouble.Words, "decode node status report: ") || !rows[1].Trouble.IsZero() {
		t.Errorf("troubles %v, %v", rows[0].Trouble, rows[1].Trouble)
	}
	st.Newcomer(1, 2)
	st.Pods["demo-rack1-2"].Annotations[api.AnnotationNodeStatusReport] = `{`
	if m := memberNamed(t, st.cluster(SourceAuto).Members(), "demo-rack1-2"); m.RowTrouble.Code != words.RowMalformed {
		t.Errorf("newcomer's row trouble %v", m.RowTrouble)
	}
}

func TestOwnedByOperator(t *testing.T) {
	t.Parallel()
	owner := func(apiVersion, kind string, controller bool) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Controller: &controller}}}}
	}
	cases := map[string]struct {
		o    *corev1.Service
		want bool
	}{
		"by label":      {&corev1.Service{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{api.LabelManagedBy: api.ManagedByOperator}}}, true},
		"by owner":      {owner("scylla.scylladb.com/v1alpha1", "ScyllaDBDatacenter", false), true},
		"mirrored":      {owner("scylla.scylladb.com/v1alpha1", "RemoteOwner", false), true},
		"a StatefulSet": {owner("apps/v1", "StatefulSet", false), false},
		"another group": {owner("example.com/v1", "ScyllaDBDatacenter", false), false},
		"by hash":       {&corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{api.AnnotationManagedHash: "h"}}}, true},
		"controlled by another kind of the group": {owner("scylla.scylladb.com/v1", "ScyllaCluster", true), true},
		"merely owned by it":                      {owner("scylla.scylladb.com/v1", "ScyllaCluster", false), false},
		"controlled by a StatefulSet":             {owner("apps/v1", "StatefulSet", true), false},
		"hash of the operator, label of ours": {&corev1.Service{ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{api.LabelManagedBy: api.ManagedByUs}, Annotations: map[string]string{api.AnnotationManagedHash: "h"}}}, true},
		"ours": {&corev1.Service{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{api.LabelManagedBy: api.ManagedByUs}}}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := OwnedByOperator(tc.o); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
			ours := tc.o.Labels[api.LabelManagedBy] == api.ManagedByUs
			if got := Managed(tc.o); got != (ours && !tc.want) {
				t.Errorf("managed by us: %v, with our label %v and the operator's %v", got, ours, tc.want)
			}
		})
	}
}
