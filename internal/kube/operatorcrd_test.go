// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/crds"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/plane"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// TestBesideOperator2ReportsUnderTheOperatorsCRD: on a real API server with the operator's definition of the kind instead of ours, after ours and before ours. The fields that
// remain after pruning decode as rows without states, and no member whose join was cut short may start while a node is DOWN.
func TestBesideOperator2ReportsUnderTheOperatorsCRD(t *testing.T) {
	c := plane.Start(t)
	cl, err := NewClient(c.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	const definition = "scylladbdatacenternodesstatusreports.scylla.scylladb.com"
	theirs, err := os.ReadFile(filepath.Join("..", "..", "test", "e2e", "testdata", "operator-crd.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	ours, err := fs.ReadFile(crds.FS, "scylla.scylladb.com_scylladbdatacenternodesstatusreports.yaml")
	if err != nil {
		t.Fatal(err)
	}
	apply := func(t *testing.T, manager string, data []byte) {
		t.Helper()
		if out, err := c.KubectlInput(t.Context(), string(data), "apply", "--server-side", "--force-conflicts", "--field-manager="+manager, "-f", "-"); err != nil {
			t.Fatal(out, err)
		}
	}
	for i, tc := range []struct {
		name  string
		order []string
	}{{"instead of ours", []string{"theirs"}}, {"after ours", []string{"ours", "theirs"}}, {"before ours", []string{"theirs", "ours"}}} {
		t.Run(tc.name, func(t *testing.T) {
			for _, which := range tc.order {
				apply(t, which, map[string][]byte{"theirs": theirs, "ours": ours}[which])
			}
			if out, err := c.Kubectl(t.Context(), "wait", "--for=condition=Established", "--timeout=30s", "crd", definition); err != nil {
				t.Fatal(out, err)
			}
			namespace := fmt.Sprintf("db%d", i)
			create(t, cl, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
			cutShort(t, cl, namespace)
			if out, err := c.Kubectl(t.Context(), "delete", "crd", definition, "--timeout=30s"); err != nil {
				t.Fatal(out, err)
			}
		})
	}
}

func create(t *testing.T, cl client.Client, o client.Object) {
	t.Helper()
	o.SetResourceVersion("")
	if err := cl.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// cutShort writes a cluster whose third member began to join and was cut short, while the second is DOWN, and judges it by the objects that the server keeps. They are
// complete: they have no field that the operator's definition lacks.
func cutShort(t *testing.T, cl client.Client, namespace string) {
	t.Helper()
	const newcomer = "demo-rack3-0"
	st := newStage(t, 3, 1)
	for _, s := range st.Services {
		s.Namespace, s.Spec.ClusterIP, s.Spec.Ports = namespace, corev1.ClusterIPNone, []corev1.ServicePort{{Port: 7000}}
		if s.Name == newcomer {
			s.Annotations[api.AnnotationNodeJoined] = "false"
		}
		create(t, cl, s)
	}
	report := st.Reports["dc1"]
	report.Namespace, report.Racks = namespace, report.Racks[:2]
	for i := range report.Racks {
		cells := report.Racks[i].Nodes[0].ObservedNodes
		for j := range cells {
			if cells[j].HostID == stage.HostID(2, 0) {
				cells[j].Status = api.NodeStatusDown
			}
		}
	}
	create(t, cl, report)

	var kept api.ScyllaDBDatacenterNodesStatusReport
	if err := cl.Get(t.Context(), client.ObjectKeyFromObject(report), &kept); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(report.Racks, kept.Racks); diff != "" {
		t.Errorf("the server has changed the report (-written +kept):\n%s", diff)
	}
	objects, err := Load(t.Context(), cl, cluster.Key{Namespace: namespace, Name: stage.Name}, LoadOptions{Source: cluster.SourceReport, NoPods: true, StatefulSets: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, joined := range []string{"false", ""} {
		for i := range objects.Services {
			if a := objects.Services[i].Annotations; objects.Services[i].Name == newcomer {
				if a[api.AnnotationNodeJoined] = joined; joined == "" {
					delete(a, api.AnnotationNodeJoined)
				}
			}
		}
		s := cluster.New(objects, cluster.SourceReport, time.Now())
		if len(s.Rows()) != 2 {
			t.Errorf("%d rows, want 2", len(s.Rows()))
		}
		for _, row := range s.Rows() {
			if !row.NoStates {
				t.Errorf("the row of %s counts as one that says states", row.Reporter)
			}
		}
		if v, err := bootstrap.VerdictOf(s, newcomer); err != nil || v.Satisfied {
			t.Errorf("joined %q: decided %s (satisfied %t), %v", joined, v.Decision, v.Satisfied, err)
		}
	}
}
