// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	codes "github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// texts calls each for every text below v, with its path and a function that sets it.
func texts(v reflect.Value, path string, each func(path string, set func(string))) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			texts(v.Elem(), path, each)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Type != reflect.TypeFor[metav1.Time]() {
				texts(v.Field(i), path+"."+f.Name, each)
			}
		}
	case reflect.Slice:
		for i := range min(v.Len(), 1) {
			texts(v.Index(i), path+"[]", each)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			each(path+"{}", func(s string) { v.SetMapIndex(k, reflect.ValueOf(s).Convert(v.Type().Elem())) })
			break
		}
	case reflect.String:
		each(path, func(s string) { v.SetString(s) })
	}
}

// said is a report with a text in each of its fields that this version prints or a later one adds: codes, names and ScyllaDB's own words.
func said(r *api.ScyllaDBStatusReport) {
	now := metav1.NewTime(plugintest.Now.Add(-time.Minute))
	s := &r.Status
	s.FirstBlocker = "x"
	s.View = &api.StatusReportView{Epoch: 1, Seq: 1, ObservedAt: now, Policy: api.PolicyPermits, Waiting: 1, Hold: string(codes.PermitWaitsForNewcomer),
		Members: []api.StatusReportViewMember{{Name: "demo-dc1-rack3-0", HostID: s.Members[0].HostID, Datacenter: "dc1", Rack: "rack3", State: api.NodeStatusDown, Digest: "x", Contact: api.ContactHeartbeat}},
		Permits: []api.StatusReportViewPermit{{Kind: api.PermitJoin, Member: "demo-dc1-rack2-1", PodUID: "1", PVCUID: "1", Since: now}},
		Queue:   []api.StatusReportViewWaiting{{Member: "demo-dc1-rack2-1", Kind: api.PermitJoin, Reason: string(codes.PermitWaitsForNewcomer), Nodes: []string{"other-0"}}},
	}
	s.Operations = []api.NodeOperation{{HostID: hostid.ID(s.Members[0].HostID), Type: "bootstrap", State: "running", Error: "x"}}
	s.Conditions = []metav1.Condition{{Type: api.ConditionReportsKept, Status: metav1.ConditionFalse, Reason: "x", Message: "x", LastTransitionTime: now}}
	node := &r.Datacenters[0].Nodes[0]
	node.Fault = &api.RowTrouble{Code: string(codes.NotAsked), Object: "x", Words: "x"}
}

// Each text of a cluster report in turn is what somebody with access to it would write: a code that nobody knows, a name or a word of ScyllaDB, with characters that a
// terminal, a browser or a reader would be deceived by.
func TestAttack5NoFieldOfAReportHidesAnything(t *testing.T) {
	t.Parallel()
	stage := func() ([]client.Object, *api.ScyllaDBStatusReport) {
		c := plugintest.New(3, 1).Down("demo-dc1-rack3-0")
		c.Newcomer("dc1", "rack2", 1)
		objects := c.Objects()
		for _, o := range objects {
			if r, ok := o.(*api.ScyllaDBStatusReport); ok {
				said(r)
				return objects, r
			}
		}
		t.Fatal("no report")
		return nil, nil
	}
	_, r := stage()
	var paths []string
	for _, part := range []any{&r.Datacenters, r.Membership, &r.Status} {
		texts(reflect.ValueOf(part), reflect.TypeOf(part).String(), func(path string, _ func(string)) { paths = append(paths, path) })
	}
	shown := 0
	try := func(path, source string, objects []client.Object) {
		for _, args := range []string{"status -o wide", "status -o json", "barrier demo-dc1-rack2-1", "report -o html", "dashboard --once"} {
			got := plugintest.Run{Args: append(strings.Fields(args), "-n", "demo", "--source", source), Objects: objects}.Do(t)
			noneHidden(t, path+": "+args, got)
			if strings.Contains(strings.ToLower(got.Stdout+got.Stderr), "202e") {
				shown++
			}
		}
	}
	for _, path := range paths {
		objects, r := stage()
		for _, part := range []any{&r.Datacenters, r.Membership, &r.Status} {
			texts(reflect.ValueOf(part), reflect.TypeOf(part).String(), func(p string, set func(string)) {
				if p == path {
					set(hiddenText)
				}
			})
		}
		try(path, "report", objects)
	}
	var row []string
	texts(reflect.ValueOf(reported()), "row", func(path string, _ func(string)) { row = append(row, path) })
	for _, path := range row {
		c := plugintest.New(3, 1).Down("demo-dc1-rack3-0").Says(func(_ plugintest.Node, said *api.NodeStatusReport) {
			observed := said.ObservedNodes
			*said = *reported()
			said.ObservedNodes = observed
			texts(reflect.ValueOf(said), "row", func(p string, set func(string)) {
				if p == path {
					set(hiddenText)
				}
			})
		})
		c.Newcomer("dc1", "rack2", 1)
		try(path, "annotation", c.Objects())
	}
	if len(paths) < 35 || len(row) < 15 || shown < 40 {
		t.Errorf("%d and %d texts, shown %d times: this test tries nothing", len(paths), len(row), shown)
	}
}

// reported is a row with a text in each of its fields.
func reported() *api.NodeStatusReport {
	x := "x"
	return &api.NodeStatusReport{
		Error: &x, Fault: api.FaultScyllaDB, HostID: "35d0f1a0-0000-4000-8000-000000000000", OperationMode: "NORMAL", ScyllaVersion: "2026.2.0", Coordinator: "35d0f1a0-0000-4000-8000-000000000000",
		Group0ID: "1", RepairBased: []string{"replace"}, Operations: []api.NodeOperation{{Type: "bootstrap", State: "failed", HostID: "35d0f1a0-0000-4000-8000-000000000000", Error: x}},
		Places: []api.NodePlace{{HostID: "35d0f1a0-0000-4000-8000-000000000000", Datacenter: "dc2", Rack: "r"}}, Process: &api.ScyllaDBProcess{State: "EXITED"},
		Heartbeat: &api.ReportHeartbeat{Port: 8083, Fingerprint: strings.Repeat("0", 64)}, Credential: &api.CredentialReport{},
	}
}
