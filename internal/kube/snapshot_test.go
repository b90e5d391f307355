// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// TestOrderOfObjectsNeverMatters: lists come in any order, and what is said of a cluster is the same.
func TestOrderOfObjectsNeverMatters(t *testing.T) {
	t.Parallel()
	st := newStage(t, 3, 2)
	name := st.newcomer(t, 2, 2)
	st.reports["dc1"].Racks[1].Nodes[0].ObservedNodes = nil
	remote := st.reports["dc1"].DeepCopy()
	remote.Name, remote.DatacenterName, remote.Racks = "east", "dc2", remote.Racks[:1]
	remote.Labels[api.LabelRemoteReport] = "east"
	st.reports["dc2"] = remote
	want := st.load(t, Everything(SourceAuto, ""))
	type said struct {
		Rows    []matrix.Row
		Members []Member
		Verdict bootstrap.Verdict
		Reason  string
	}
	say := func(t *rapid.T, s *Snapshot) string {
		in, err := s.BootstrapInput(name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(said{s.Rows(), s.Members(), bootstrap.Decide(in), s.SourceReason})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	rapid.Check(t, func(t *rapid.T) {
		for _, src := range []Source{SourceReport, SourceAnnotation} {
			got := *want
			got.cache = &cache{}
			got.Services = rapid.Permutation(want.Services).Draw(t, "services")
			got.Pods = rapid.Permutation(want.Pods).Draw(t, "pods")
			got.StatefulSets = rapid.Permutation(want.StatefulSets).Draw(t, "sets")
			got.PVCs = rapid.Permutation(want.PVCs).Draw(t, "claims")
			got.Reports = rapid.Permutation(want.Reports).Draw(t, "reports")
			got.finish(src)
			ordered := *want
			ordered.finish(src)
			if diff := cmp.Diff(say(t, &ordered), say(t, &got)); diff != "" {
				t.Fatalf("%s: %s", src, diff)
			}
		}
	})
}

func TestReportsAreCounted(t *testing.T) {
	t.Parallel()
	status := &api.ScyllaDBStatusReport{Datacenters: []api.StatusReportDatacenter{{Name: "a"}, {Name: "b"}}}
	cases := map[string]struct {
		s    Snapshot
		want int
	}{
		"two reports":          {Snapshot{Source: SourceReport, Reports: make([]api.ScyllaDBDatacenterNodesStatusReport, 2)}, 2},
		"none":                 {Snapshot{Source: SourceReport}, 0},
		"a cluster report":     {Snapshot{Source: SourceReport, StatusReport: status}, 2},
		"an empty one":         {Snapshot{Source: SourceReport, StatusReport: &api.ScyllaDBStatusReport{}}, 1},
		"an override":          {Snapshot{Source: SourceReport, Reports: make([]api.ScyllaDBDatacenterNodesStatusReport, 5), OverrideRef: "x", StatusReport: status}, 2},
		"an override, missing": {Snapshot{Source: SourceReport, Reports: make([]api.ScyllaDBDatacenterNodesStatusReport, 5), OverrideRef: "x"}, 0},
		"annotations":          {Snapshot{Source: SourceAnnotation, Reports: make([]api.ScyllaDBDatacenterNodesStatusReport, 5)}, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tc.s.reportCount(); got != tc.want {
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
				st.pods["demo-rack1-0"].Spec.InitContainers[2].Command, st.pods["demo-rack1-0"].Spec.InitContainers[2].Args = tc.args, nil
			} else {
				delete(st.pods, "demo-rack1-0")
				st.sets["demo-rack1"].Spec.Template.Spec.InitContainers[2].Args = tc.args
			}
			in, err := st.load(t, LoadOptions{StatefulSets: true}).BootstrapInput("demo-rack1-0")
			if err != nil || in.AllowNonReporting != tc.want {
				t.Errorf("lenient %v, %v; want %v", in.AllowNonReporting, err, tc.want)
			}
		})
	}
}

func TestLiveRowsOfThoseWhoWereNotAsked(t *testing.T) {
	t.Parallel()
	st := newStage(t, 1, 3)
	delete(st.pods, "demo-rack1-2")
	s := st.load(t, LoadOptions{Source: SourceLive})
	s.Live = map[string]*api.NodeStatusReport{"demo-rack1-0": {Error: new("refused")}}
	var got []string
	for _, r := range s.Rows() {
		got = append(got, r.Error)
	}
	if diff := cmp.Diff([]string{"refused", "ScyllaDB was not asked", "pod db/demo-rack1-2 does not exist"}, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if h := s.Matrix(matrix.Options{}).Health(); h.AllUp {
		t.Error("nobody answered, and all is UP")
	}
}

func TestUndecodableAnnotationBesideAReport(t *testing.T) {
	t.Parallel()
	st := newStage(t, 1, 2)
	st.reports["dc1"].Racks[0].Nodes[0].ObservedNodes = nil
	st.pods["demo-rack1-0"].Annotations[api.AnnotationNodeStatusReport] = `{`
	rows := st.load(t, LoadOptions{}).Rows()
	if !strings.HasPrefix(rows[0].Error, "decode node status report: ") || rows[1].Error != "" {
		t.Errorf("errors %q, %q", rows[0].Error, rows[1].Error)
	}
	st.newcomer(t, 1, 2)
	st.pods["demo-rack1-2"].Annotations[api.AnnotationNodeStatusReport] = `{`
	if m := memberNamed(t, st.load(t, LoadOptions{}).Members(), "demo-rack1-2"); !strings.HasPrefix(m.RowError, "decode node status report: ") {
		t.Errorf("newcomer's row error %q", m.RowError)
	}
}

func TestOwnedByOperator(t *testing.T) {
	t.Parallel()
	owner := func(apiVersion, kind string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind}}}}
	}
	cases := map[string]struct {
		o    *corev1.Service
		want bool
	}{
		"by label":      {&corev1.Service{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{api.LabelManagedBy: api.ManagedByOperator}}}, true},
		"by owner":      {owner("scylla.scylladb.com/v1alpha1", "ScyllaDBDatacenter"), true},
		"mirrored":      {owner("scylla.scylladb.com/v1alpha1", "RemoteOwner"), true},
		"a StatefulSet": {owner("apps/v1", "StatefulSet"), false},
		"another group": {owner("example.com/v1", "ScyllaDBDatacenter"), false},
		"ours":          {&corev1.Service{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{api.LabelManagedBy: api.ManagedByUs}}}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := OwnedByOperator(tc.o); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestNewClientTouchesNoNetwork(t *testing.T) {
	t.Parallel()
	c, err := NewClient(&rest.Config{Host: "https://192.0.2.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []runtimeKind{
		{"", "v1", "Service", "services"}, {"apps", "v1", "StatefulSet", "statefulsets"}, {"events.k8s.io", "v1", "Event", "events"},
		{"scylla.scylladb.com", "v1alpha1", "ScyllaDBDatacenterNodesStatusReport", "scylladbdatacenternodesstatusreports"},
		{"scylla.scylladb.com", "v1", "ScyllaCluster", "scyllaclusters"}, {"policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets"},
	} {
		m, err := c.RESTMapper().RESTMapping(o.gvk().GroupKind(), o.version)
		if err != nil || m.Resource.Resource != o.resource {
			t.Errorf("%s: %v, %v", o.kind, m, err)
		}
	}
	if _, err := NewClient(&rest.Config{Host: "::"}); err == nil || !strings.HasPrefix(err.Error(), "make client for ::") {
		t.Errorf("err = %v", err)
	}
}

type runtimeKind struct{ group, version, kind, resource string }

func (k runtimeKind) gvk() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: k.group, Version: k.version, Kind: k.kind}
}
