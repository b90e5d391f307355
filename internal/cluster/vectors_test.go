// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// assemblyCase has the shape that test/simulation/vectors/README.md describes.
type assemblyCase struct {
	ID    string
	Input struct {
		Datacenter struct {
			Namespace, Name, GossipDatacenterName string
			RackTemplateNodes                     *int
			Racks                                 []struct {
				Name  string
				Nodes *int
			}
		}
		Services []object
		Pods     []object
	}
	Expected struct {
		Error  string
		Report *struct {
			DatacenterName string
			Racks          []struct {
				Name  string
				Nodes []struct {
					Ordinal       int32
					HostID        *string
					ObservedNodes []api.ObservedNodeStatusReport
				}
			}
		}
	}
}

type object struct {
	Namespace, Name string
	Annotations     map[string]string
}

func readAssembly(t testing.TB) []assemblyCase {
	t.Helper()
	data, err := os.ReadFile("../../test/simulation/vectors/assembly-cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []assemblyCase
	if err := json.Unmarshal([]byte(stage.UUIDs(string(data))), &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) != 53 {
		t.Fatalf("%d cases, want 53", len(cases))
	}
	return cases
}

// cluster puts a case's objects together as the reconciler does: what the Scylla Operator finds by name, a Service says by its labels here.
func (c *assemblyCase) cluster() *Cluster {
	dc := c.Input.Datacenter
	o := reportObjects()
	for _, rack := range dc.Racks {
		o.StatefulSets = append(o.StatefulSets, reportSet(dc.GossipDatacenterName, rack.Name))
		prefix := dc.Name + "-" + dc.GossipDatacenterName + "-" + rack.Name + "-"
		for _, s := range c.Input.Services {
			ordinal, err := strconv.Atoi(strings.TrimPrefix(s.Name, prefix))
			if err != nil {
				continue
			}
			m := reportMember{
				name: s.Name, datacenter: dc.GossipDatacenterName, rack: rack.Name, ordinal: ordinal,
				hostID: s.Annotations[api.AnnotationHostID], joined: s.Annotations[api.AnnotationNodeJoined],
			}
			for _, p := range c.Input.Pods {
				if text, ok := p.Annotations[api.AnnotationNodeStatusReport]; ok && p.Name == s.Name && p.Namespace == dc.Namespace {
					m.annotation = &text
				}
			}
			m.addTo(&o)
		}
	}
	return New(o, SourceAnnotation, start)
}

// racks is what the case expects in the wire's shape.
func (c *assemblyCase) racks() []api.RackReport {
	var out []api.RackReport
	for _, r := range c.Expected.Report.Racks {
		rack := api.RackReport{Name: r.Name}
		for _, n := range r.Nodes {
			node := api.NodeReport{Ordinal: n.Ordinal, HostID: n.HostID}
			if len(n.ObservedNodes) > 0 {
				node.ObservedNodes = api.Plain(n.ObservedNodes)
			}
			rack.Nodes = append(rack.Nodes, node)
		}
		out = append(out, rack)
	}
	return out
}

// differences are the cases in which we do not do what the Scylla Operator does, with the reason.
var differences = map[string]struct {
	why  string
	want []api.RackReport
	// malformed names the members whose annotation must be reported as malformed.
	malformed []string
}{}

func init() {
	id := func(s string) *string { return &s }
	up := func(h string) []api.ObservedNodeStatusReport {
		return []api.ObservedNodeStatusReport{{HostID: hostid.ID(h), Status: api.NodeStatusUp}}
	}
	one := func(nodes ...api.NodeReport) []api.RackReport { return []api.RackReport{{Name: "a", Nodes: nodes}} }
	const (
		costsOneRow = "a malformed annotation costs its own row, which then has not reported and blocks; the Scylla Operator fails the whole report, and its old one stays"
		oneValue    = "whatever follows the first JSON value makes an annotation malformed: nobody knows who wrote it or what was lost"
		noWord      = "where the Service says neither true nor false, a node with a recorded host ID that says of itself that it is no newcomer is a member: without its row the cluster would look like one without nodes"
		stays       = "a node that is scaled away stays a member until it is decommissioned, and so does its row"
	)
	for _, name := range []string{"array", "empty string", "not JSON", "number", "only a newline", "truncated", "wrong type of status"} {
		differences["assembly-extra/annotation: "+name] = struct {
			why       string
			want      []api.RackReport
			malformed []string
		}{costsOneRow, one(api.NodeReport{HostID: id(stage.UUID("h0"))}), []string{"basic-dc-a-0"}}
	}
	for _, name := range []string{"trailing garbage after a full value", "two values"} {
		differences["assembly-extra/annotation: "+name] = struct {
			why       string
			want      []api.RackReport
			malformed []string
		}{oneValue, one(api.NodeReport{HostID: id(stage.UUID("h0"))}), []string{"basic-dc-a-0"}}
	}
	add := func(name, why string, want []api.RackReport, malformed ...string) {
		differences["assembly-extra/"+name] = struct {
			why       string
			want      []api.RackReport
			malformed []string
		}{why, want, malformed}
	}
	add("one undecodable annotation fails the whole report (other rack)", costsOneRow, []api.RackReport{
		{Name: "a", Nodes: []api.NodeReport{{HostID: id(stage.UUID("h0")), ObservedNodes: api.Plain(up(stage.UUID("h0")))}}},
		{Name: "b", Nodes: []api.NodeReport{{HostID: id(stage.UUID("h1"))}}},
	}, "basic-dc-b-0")
	add("two undecodable annotations aggregate", costsOneRow, one(api.NodeReport{HostID: id(stage.UUID("h0"))}, api.NodeReport{Ordinal: 1, HostID: id(stage.UUID("h1"))}),
		"basic-dc-a-0", "basic-dc-a-1")
	add("services beyond the desired node count are left out (scale down)", stays, one(
		api.NodeReport{HostID: id(stage.UUID("h0")), ObservedNodes: api.Plain(up(stage.UUID("h0")))}, api.NodeReport{Ordinal: 1, HostID: id(stage.UUID("h1")), ObservedNodes: api.Plain(up(stage.UUID("h0")))}))
	for _, name := range []string{`joined annotation ""`, `joined annotation "1"`, `joined annotation "True"`, "joined annotation absent (a pre-1.22 sidecar)"} {
		add(name, noWord, one(api.NodeReport{HostID: id(stage.UUID("h0")), ObservedNodes: api.Plain(up(stage.UUID("h0")))}))
	}
	add("no node count anywhere", stays, one(api.NodeReport{HostID: id(stage.UUID("h0")), ObservedNodes: api.Plain(up(stage.UUID("h0")))}))
}

func TestAssemblyAgreesWithTheScyllaOperator(t *testing.T) {
	used := map[string]bool{}
	for _, c := range readAssembly(t) {
		t.Run(c.ID, func(t *testing.T) {
			judged := c.cluster()
			all := judged.LocalReports()
			if len(all) != 1 {
				t.Fatalf("reports %+v, want one", all)
			}
			got := all[0]
			d, differs := differences[c.ID]
			used[c.ID] = true
			want := d.want
			if differs {
				t.Log(d.why)
			} else {
				if c.Expected.Report == nil {
					t.Fatalf("the Scylla Operator fails with %q and no difference is stated", c.Expected.Error)
				}
				want = c.racks()
				if got.Datacenter != c.Expected.Report.DatacenterName {
					t.Errorf("datacenter %q, want %q", got.Datacenter, c.Expected.Report.DatacenterName)
				}
			}
			if diff := cmp.Diff(want, got.Racks); diff != "" {
				t.Errorf("racks (-want +got):\n%s", diff)
			}
			var bad []string
			for _, m := range judged.Malformed() {
				bad = append(bad, m.Pod.Name)
			}
			if diff := cmp.Diff(d.malformed, bad); diff != "" {
				t.Errorf("malformed (-want +got):\n%s", diff)
			}
			if c.Expected.Report != nil && differs && cmp.Diff(c.racks(), got.Racks) == "" {
				t.Error("no difference any more: take it off the list")
			}
		})
	}
	for name := range differences {
		if !used[name] {
			t.Errorf("difference %q belongs to no case", name)
		}
	}
}
