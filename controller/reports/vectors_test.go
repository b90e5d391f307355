// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// assemblyCase has the shape that test/vectors/README.md describes.
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
	data, err := os.ReadFile("../../test/vectors/assembly-cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []assemblyCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) != 53 {
		t.Fatalf("%d cases, want 53", len(cases))
	}
	return cases
}

// input puts a case's objects together as the reconciler does: what the Scylla Operator finds by name, a Service says by its labels here.
func (c *assemblyCase) input() Input {
	dc := c.Input.Datacenter
	in := Input{Datacenter: dc.GossipDatacenterName}
	for _, rack := range dc.Racks {
		in.Racks = append(in.Racks, rack.Name)
		prefix := dc.Name + "-" + dc.GossipDatacenterName + "-" + rack.Name + "-"
		for _, s := range c.Input.Services {
			ordinal, err := strconv.Atoi(strings.TrimPrefix(s.Name, prefix))
			if err != nil {
				continue
			}
			m := Member{
				Name: s.Name, Namespace: dc.Namespace, Rack: rack.Name, Ordinal: int32(ordinal),
				HostID: s.Annotations[api.AnnotationHostID], Joined: s.Annotations[api.AnnotationNodeJoined] == "true",
			}
			for _, p := range c.Input.Pods {
				if text, ok := p.Annotations[api.AnnotationNodeStatusReport]; ok && p.Name == s.Name && p.Namespace == dc.Namespace {
					m.Annotation = &text
				}
			}
			in.Members = append(in.Members, m)
		}
	}
	return in
}

// racks is what the case expects in the wire's shape.
func (c *assemblyCase) racks() []api.RackReport {
	var out []api.RackReport
	for _, r := range c.Expected.Report.Racks {
		rack := api.RackReport{Name: r.Name}
		for _, n := range r.Nodes {
			node := api.NodeReport{Ordinal: n.Ordinal, HostID: n.HostID}
			if len(n.ObservedNodes) > 0 {
				node.ObservedNodes = n.ObservedNodes
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
	// malformed names the members whose annotation must be complained about.
	malformed []string
}{}

func init() {
	id := func(s string) *string { return &s }
	up := func(h string) []api.ObservedNodeStatusReport {
		return []api.ObservedNodeStatusReport{{HostID: h, Status: api.NodeStatusUp}}
	}
	one := func(nodes ...api.NodeReport) []api.RackReport { return []api.RackReport{{Name: "a", Nodes: nodes}} }
	const (
		costsOneRow = "a malformed annotation costs its own row, which then has not reported and blocks; the Scylla Operator fails the whole report, and its old one stays"
		oneValue    = "whatever follows the first JSON value makes an annotation malformed: nobody knows who wrote it or what was lost"
		stays       = "a node that is scaled away stays a member until it is decommissioned, and so does its row"
	)
	for _, name := range []string{"array", "empty string", "not JSON", "number", "only a newline", "truncated", "wrong type of status"} {
		differences["assembly-extra/annotation: "+name] = struct {
			why       string
			want      []api.RackReport
			malformed []string
		}{costsOneRow, one(api.NodeReport{HostID: id("h0")}), []string{"basic-dc-a-0"}}
	}
	for _, name := range []string{"trailing garbage after a full value", "two values"} {
		differences["assembly-extra/annotation: "+name] = struct {
			why       string
			want      []api.RackReport
			malformed []string
		}{oneValue, one(api.NodeReport{HostID: id("h0")}), []string{"basic-dc-a-0"}}
	}
	add := func(name, why string, want []api.RackReport, malformed ...string) {
		differences["assembly-extra/"+name] = struct {
			why       string
			want      []api.RackReport
			malformed []string
		}{why, want, malformed}
	}
	add("one undecodable annotation fails the whole report (other rack)", costsOneRow, []api.RackReport{
		{Name: "a", Nodes: []api.NodeReport{{HostID: id("h0"), ObservedNodes: up("h0")}}},
		{Name: "b", Nodes: []api.NodeReport{{HostID: id("h1")}}},
	}, "basic-dc-b-0")
	add("two undecodable annotations aggregate", costsOneRow, one(api.NodeReport{HostID: id("h0")}, api.NodeReport{Ordinal: 1, HostID: id("h1")}),
		"basic-dc-a-0", "basic-dc-a-1")
	add("services beyond the desired node count are left out (scale down)", stays, one(
		api.NodeReport{HostID: id("h0"), ObservedNodes: up("h0")}, api.NodeReport{Ordinal: 1, HostID: id("h1"), ObservedNodes: up("h0")}))
	add("no node count anywhere", stays, one(api.NodeReport{HostID: id("h0"), ObservedNodes: up("h0")}))
}

func TestAssemblyAgreesWithTheScyllaOperator(t *testing.T) {
	used := map[string]bool{}
	for _, c := range readAssembly(t) {
		t.Run(c.ID, func(t *testing.T) {
			got := Assemble(c.input())
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
				if got.Name != c.Expected.Report.DatacenterName {
					t.Errorf("datacenter %q, want %q", got.Name, c.Expected.Report.DatacenterName)
				}
			}
			if diff := cmp.Diff(want, got.Racks); diff != "" {
				t.Errorf("racks (-want +got):\n%s", diff)
			}
			var bad []string
			for _, m := range got.Malformed {
				bad = append(bad, m.Pod)
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
