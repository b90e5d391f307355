// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/golden"
)

func operatorFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "operator", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// saved prints objects as `kubectl get -o yaml` does.
func savedList(t testing.TB, objects []client.Object) []byte {
	t.Helper()
	list := map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": ""}}
	var items []any
	for _, o := range objects {
		gvk, err := apiutil.GVKForObject(o, NewScheme())
		if err != nil {
			t.Fatal(err)
		}
		u, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			t.Fatal(err)
		}
		u["apiVersion"], u["kind"] = gvk.GroupVersion().String(), gvk.Kind
		items = append(items, u)
	}
	list["items"] = items
	b, err := yaml.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestReadOfTheOperatorsObjects(t *testing.T) {
	t.Parallel()
	all := bytes.Join([][]byte{operatorFile(t, "member-service.yaml"), operatorFile(t, "pod.yaml"), operatorFile(t, "statefulset.yaml"), operatorFile(t, "report.yaml")}, []byte("\n---\n"))
	snaps, err := Read(bytes.NewReader(all))
	if err != nil {
		t.Fatal(err)
	}
	if len(snaps) != 1 || snaps[0].Key != (cluster.Key{Namespace: "scylla", Name: "demo"}) {
		t.Fatalf("got %d snapshots", len(snaps))
	}
	s := cluster.New(snaps[0], cluster.SourceAuto, time.Time{})
	if !s.Operator || !s.Offline || s.Source != cluster.SourceReport || words.Text(s.SourceReason()) != "1 of 1 datacenter report found" || !s.TakenAt.IsZero() {
		t.Errorf("snapshot: operator %v, offline %v, source %s (%s)", s.Operator, s.Offline, s.Source, words.Text(s.SourceReason()))
	}
	golden.JSON(t, "operator_members.json", s.Members())
	in, err := bootstrap.Of(s, "demo-dc1-r1-0")
	if err != nil {
		t.Fatal(err)
	}
	if in.AllowNonReporting || in.Reports != 1 {
		t.Errorf("input %+v", in)
	}
	if v := bootstrap.Decide(in); v.Decision != bootstrap.DecisionRestart {
		t.Errorf("its peers know it as a member, and the verdict is %s: %s", v.Decision, words.Of(v.Self.Name(), v.Summary))
	}
	var texts []string
	for _, b := range s.Matrix().Blockers() {
		texts = append(texts, words.Aging(b.Message(), b.Since, s.TakenAt))
	}
	golden.Text(t, "operator_blockers.txt", strings.Join(texts, "\n")+"\n")
}

func TestReadOfSeveralDatacenters(t *testing.T) {
	t.Parallel()
	snaps, err := Read(bytes.NewReader(operatorFile(t, "multi-dc-reports-in-dcw.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	if len(snaps) != 1 || snaps[0].Name != "multi-dcw" || len(snaps[0].Reports) != 2 {
		t.Fatalf("got %+v", snaps)
	}
	s := cluster.New(snaps[0], cluster.SourceAuto, time.Time{})
	if words.Text(s.SourceReason()) != "2 of 2 datacenter reports found" {
		t.Errorf("reason %q", words.Text(s.SourceReason()))
	}
	rows := s.Rows()
	if len(rows) != 2 || rows[0].Reporter.Datacenter != "dce" || rows[1].Reporter.Datacenter != "dcw" || !rows[0].Stale.IsZero() || !rows[1].Stale.IsZero() {
		t.Errorf("rows %+v", rows)
	}
}

// TestReadSaysWhatLoadSays: saved objects give what the API server gave.
func TestReadSaysWhatLoadSays(t *testing.T) {
	t.Parallel()
	st := newStage(t, 3, 2)
	st.Newcomer(2, 2)
	live := st.load(t, Everything(cluster.SourceAuto, ""))
	list := savedList(t, st.Objects())
	asJSON, err := yaml.YAMLToJSON(list)
	if err != nil {
		t.Fatal(err)
	}
	var docs [][]byte
	for _, o := range st.Objects() {
		docs = append(docs, savedList(t, []client.Object{o}))
	}
	twice := append(append([]byte{}, list...), append([]byte("---\n"), list...)...)
	for name, data := range map[string][]byte{
		"List in YAML": list, "List in JSON": asJSON, "many documents": bytes.Join(docs, []byte("---\n")), "everything twice": twice,
		"JSON values in a row": append(append([]byte{}, asJSON...), asJSON...), "byte order mark": append([]byte("\xef\xbb\xbf"), list...),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			snaps, err := Read(bytes.NewReader(data))
			if err != nil || len(snaps) != 1 {
				t.Fatalf("%d snapshots, %v", len(snaps), err)
			}
			saved := cluster.New(snaps[0], cluster.SourceAuto, time.Time{})
			for what, pair := range map[string][2]any{
				"rows": {live.Rows(), saved.Rows()}, "members": {live.Members(), saved.Members()},
			} {
				a, errA := json.Marshal(pair[0])
				b, errB := json.Marshal(pair[1])
				if errA != nil || errB != nil {
					t.Fatal(errA, errB)
				}
				if diff := cmp.Diff(string(a), string(b)); diff != "" {
					t.Errorf("%s (-live +saved):\n%s", what, diff)
				}
			}
		})
	}
}

func TestReadOfOddInput(t *testing.T) {
	t.Parallel()
	service := string(operatorFile(t, "member-service.yaml"))
	report := string(operatorFile(t, "report.yaml"))
	cases := map[string]string{
		"nothing":                    "",
		"only comments":              "# nothing\n---\n# here\n",
		"garbage":                    "\x00\x01\x02",
		"text":                       "Error from server (NotFound): services \"x\" not found\n",
		"broken YAML":                service + "---\nkind: Service\n  metadata: [\n",
		"a number":                   "42",
		"no kind":                    "metadata: {name: x}",
		"wrong type":                 "apiVersion: v1\nkind: Service\nmetadata: {name: x-0, namespace: ns}\nspec: {ports: 7}\n",
		"wrong type in a List":       "kind: List\nitems: [{kind: Pod, metadata: {name: a}}, {kind: Pod, metadata: {name: b-0, namespace: ns}, spec: {containers: x}}]",
		"no name":                    "kind: Service\nmetadata: {namespace: ns, labels: {scylla/cluster: c}}",
		"other kinds only":           "kind: Secret\nmetadata: {name: x}\n---\nkind: ConfigMap\nmetadata: {name: w}\n",
		"truncated JSON":             `{"kind":"List","items":[{"kind":"Service","metadata":{"name":"x-0"`,
		"report of nobody":           "apiVersion: scylla.scylladb.com/v1alpha1\nkind: ScyllaDBDatacenterNodesStatusReport\nmetadata: {name: r, namespace: ns}\n---\n" + service,
		"report of two":              strings.ReplaceAll(strings.ReplaceAll(report, "status-report-selector: demo", "x: w"), "scylla/cluster: demo", "x/c: w") + "---\n" + service + "---\n" + strings.ReplaceAll(service, "scylla/cluster: demo", "scylla/cluster: b"),
		"Lists all the way":          strings.Repeat(`{"kind":"List","items":[`, 20) + strings.Repeat(`]}`, 20),
		"fine, with strangers":       service + "---\nkind: Secret\nmetadata: {name: x}\n---\nkind: Service\nmetadata: {name: w, namespace: scylla}\n---\nkind: Pod\nmetadata: {name: job, namespace: scylla}\n",
		"cluster report alone":       "kind: ScyllaDBStatusReport\nmetadata: {name: c, namespace: ns}\ndatacenters: [{name: dc1}]",
		"stray cluster report":       service + "---\nkind: ScyllaDBStatusReport\nmetadata: {name: c, namespace: ns}\n",
		"flow-style YAML":            "{kind: Service, metadata: {name: c-0, namespace: ns, labels: {scylla/cluster: c}}, spec: {selector: {statefulset.kubernetes.io/pod-name: c-0}}}",
		"report alone":               report,
		"joined without a separator": service + service,
		"joined in braces":           "{\n\"kind\":\"Service\",\"metadata\":{\"name\":\"a\"},\n\"kind\":\"Service\",\"metadata\":{\"name\":\"b\"}}",
		"joined in a List":           "kind: List\nitems:\n- kind: Service\n  metadata:\n    name: c-0\n  kind: Service\n  metadata:\n    name: c-1\n",
		"a log of ScyllaDB":          "Linux 5.15\nINFO  2026-11-21 11:40:00,001 [shard 0:main] init - starting\n",
		"output of nodetool status":  "Datacenter: dc1\n===============\nStatus=Up/Down\n|/ State=Normal/Leaving/Joining/Moving\n",
		"typed list":                 "kind: ServiceList\nitems: [{metadata: {name: c-0, namespace: ns, labels: {scylla/cluster: c, scylla-operator.scylladb.com/scylla-service-type: member}}}]",
	}
	var out strings.Builder
	for _, name := range sortedKeys(cases) {
		snaps, err := Read(strings.NewReader(cases[name]))
		fmt.Fprintf(&out, "## %s\n", name)
		if err != nil {
			fmt.Fprintf(&out, "error: %v\n\n", err)
			continue
		}
		for _, o := range snaps {
			s := cluster.New(o, cluster.SourceAuto, time.Time{})
			fmt.Fprintf(&out, "%s: %d Services, %d Pods, %d reports, source %s: %s\n", s.Key, len(s.Services), len(s.Pods), len(s.Reports), s.Source, words.Text(s.SourceReason()))
			for _, n := range s.Notes {
				fmt.Fprintf(&out, "note: %s\n", n)
			}
		}
		out.WriteString("\n")
	}
	golden.Text(t, "read.txt", out.String())
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"member-service.yaml", "pod.yaml", "report.yaml", "multi-dc-reports-in-dcw.yaml"} {
		f.Add(operatorFile(f, name))
	}
	f.Add(savedList(f, newStage(f, 1, 2).Objects()))
	f.Add([]byte(`{"kind":"List","items":[{"kind":"Service","metadata":{"name":"c-0","labels":{"scylla/cluster":"c"}},"spec":{"selector":{"statefulset.kubernetes.io/pod-name":"c-0"}}}]}`))
	f.Add([]byte("kind: StatefulSet\nmetadata: {name: s, namespace: ns, labels: {scylla/cluster: c}}\nspec: {replicas: 2000000000, ordinals: {start: 2000000000}}\n"))
	f.Add([]byte("kind: Pod\nmetadata: {name: c-0, labels: {scylla/cluster: c, scylla-operator.scylladb.com/pod-type: scylladb-node}, annotations: {" +
		api.AnnotationNodeStatusReport + ": '{\"hostID\":\"x\",\"observedNodes\":[{\"hostID\":\"x\",\"status\":\"UP\"}]}'}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		snaps, err := Read(bytes.NewReader(data))
		if (err == nil) == (len(snaps) == 0) {
			t.Fatalf("%d snapshots and error %v", len(snaps), err)
		}
		for _, o := range snaps {
			s := cluster.New(o, cluster.SourceAuto, time.Time{})
			rows, members := s.Rows(), s.Members()
			if len(rows) > 0 && len(members) == 0 && rows[0].Reporter.HostID != "" {
				t.Errorf("rows of host IDs and no member")
			}
			for i := range s.Services {
				in, err := bootstrap.Of(s, s.Services[i].Name)
				if err != nil {
					t.Errorf("input of a Service that exists: %v", err)
				}
				bootstrap.Decide(in)
			}
			if _, err := s.ResolveTarget("c-0"); err != nil && err.Error() == "" {
				t.Error("empty error")
			}
		}
	})
}

// Without a value the Scylla Operator replaces no orphaned node by itself, and what was not read is unknown.
func TestReplacesOrphans(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]*bool{
		"":           new(false),
		`"spec":{},`: new(false),
		`"spec":{"disableAutomaticOrphanedNodeReplacement":true},`:  new(false),
		`"spec":{"disableAutomaticOrphanedNodeReplacement":false},`: new(true),
		"none": nil,
	} {
		text := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a-0","namespace":"db","labels":{"scylla/cluster":"a","scylla/rack":"r"}},"spec":{"containers":[{"name":"scylla"}]}}`
		if spec != "none" {
			text += `{"apiVersion":"scylla.scylladb.com/v1alpha1","kind":"ScyllaDBDatacenter",` + spec + `"metadata":{"name":"a","namespace":"db"}}`
		}
		got, err := Read(strings.NewReader(text))
		if err != nil || len(got) != 1 {
			t.Fatalf("%s: %v, %d clusters", spec, err, len(got))
		}
		var replaces *bool
		if got[0].OperatorState != nil {
			replaces = got[0].OperatorState.ReplacesOrphans
		}
		if diff := cmp.Diff(want, replaces); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", spec, diff)
		}
	}
}
