// SPDX-License-Identifier: Apache-2.0

package beside

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/golden"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/vectors"
)

// TestBesideOperatorSituations judges each situation by the operator's rule, by our barrier in the Pod, and by the plugin, from the API server and
// from a file, and compares the answers with the vectors.
func TestBesideOperatorSituations(t *testing.T) {
	expected := map[string]vectors.BarrierCase{}
	for _, c := range vectors.Barrier(t, "situation") {
		expected[c.ID] = c
	}
	for _, s := range situations() {
		t.Run(s.name, func(t *testing.T) {
			want, known := expected[s.name]
			if !known {
				t.Fatal("there is no vector for it, or it is there twice")
			}
			delete(expected, s.name)
			o := s.build(t)
			if theirs := s.their(o); string(theirs) != want.Operator {
				t.Errorf("the operator's barrier %s, want that it %s", theirs, want.Operator)
			}
			ours := s.our(t, o)
			if string(ours.Answer) != want.Ours || string(ours.reason) != want.Reason {
				t.Errorf("our barrier %s (%s), want that it %s (%s):\n%s", ours.Answer, ours.reason, want.Ours, want.Reason, ours.text)
			}
			outside := want.Ours
			for _, saved := range []bool{false, true} {
				if other := map[bool]string{false: want.Outside, true: want.Saved}[saved]; other != "" {
					outside = other
				}
				said, status := s.outsider(t, o, saved)
				if string(said.Answer) != outside {
					t.Errorf("saved %t: the plugin says that it %s, want %s:\n%s", saved, said.Answer, outside, said.text)
				}
				if status.Code != want.Status && (!saved || want.Saved == "") {
					t.Errorf("saved %t: status ended with %d, want %d:\n%s%s", saved, status.Code, want.Status, status.Stdout, status.Stderr)
				}
			}
		})
	}
	for name := range expected {
		t.Errorf("a vector, and no situation: %s", name)
	}
}

const document = "../../../docs/scylla-operator.md"

// TestBesideOperatorTheDocumentHasEveryDifference: the table of docs/scylla-operator.md is generated from the vectors; -update writes it.
func TestBesideOperatorTheDocumentHasEveryDifference(t *testing.T) {
	type line struct {
		vectors.BarrierCase
		ours []string
	}
	var lines []*line
	for _, c := range vectors.Barrier(t, "") {
		if c.Row == "" {
			continue
		}
		ours := c.Ours
		if ours == string(Opens) {
			ours = "*opens*"
		} else if c.Reason != "" {
			ours += ", `" + c.Reason + "`"
		}
		at := slices.IndexFunc(lines, func(l *line) bool { return l.Row == c.Row })
		if at < 0 {
			lines = append(lines, &line{BarrierCase: c})
			at = len(lines) - 1
		}
		if l := lines[at]; l.Operator != c.Operator || l.Why != c.Why {
			t.Errorf("%s and %s are one row, and their words are not the same", c.ID, l.ID)
		} else if !slices.Contains(l.ours, ours) {
			l.ours = append(l.ours, ours)
		}
	}
	var b strings.Builder
	b.WriteString("| situation | the operator's barrier | ours | why |\n|---|---|---|---|\n")
	for _, l := range lines {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", l.Row, l.Operator, strings.ReplaceAll(strings.Join(l.ours, " or "), "or waits, ", "or "), l.Why)
	}
	data, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- situations -->\n", "<!-- end of situations -->"
	before, rest, ok := strings.Cut(string(data), begin)
	now, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the table", document)
	}
	if golden.Updating() {
		if err := os.WriteFile(document, []byte(before+begin+b.String()+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(b.String(), now); diff != "" {
		t.Errorf("%s is not what the vectors say; go test ./test/e2e/beside -update (-want +got):\n%s", document, diff)
	}
}

// TestAssemble compares Assemble with the observed reports of the operator.
func TestAssemble(t *testing.T) {
	var cases []struct {
		ID    string
		Input struct {
			Datacenter struct {
				Name, GossipDatacenterName string
				RackTemplateNodes          *int32
				Racks                      []struct {
					Name  string
					Nodes *int32
				}
			}
			Services, Pods []struct {
				Name        string
				Annotations map[string]string
			}
		}
		Expected struct {
			Report *struct{ Racks []api.RackReport }
			Error  string
		}
	}
	vectors.Read(t, "assembly-cases.json", &cases)
	if len(cases) < 50 {
		t.Fatal(len(cases))
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			services, pods := map[string]*corev1.Service{}, map[string]*corev1.Pod{}
			for _, s := range c.Input.Services {
				services[s.Name] = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: s.Name, Annotations: s.Annotations}}
			}
			for _, p := range c.Input.Pods {
				pods[p.Name] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Annotations: p.Annotations}}
			}
			var racks []Rack
			for _, r := range c.Input.Datacenter.Racks {
				n := r.Nodes
				if n == nil {
					n = c.Input.Datacenter.RackTemplateNodes
				}
				if n == nil {
					n = new(int32(0))
				}
				racks = append(racks, Rack{r.Name, *n})
			}
			dc := c.Input.Datacenter
			got, err := Assemble(dc.Name+"-"+dc.GossipDatacenterName, racks, services, pods)
			if (err != nil) != (c.Expected.Error != "") {
				t.Fatalf("error %v, observed %q", err, c.Expected.Error)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(flat(c.Expected.Report.Racks), flat(got)); diff != "" {
				t.Errorf("racks (-observed +got):\n%s", diff)
			}
		})
	}
}

// flat returns one line for each cell, sorted: the order within a row matters only for duplicates, of which the last stays last.
func flat(racks []api.RackReport) []string {
	var out []string
	for _, r := range racks {
		out = append(out, r.Name)
		for _, n := range r.Nodes {
			id := "none"
			if n.HostID != nil {
				id = "ID " + *n.HostID
			}
			out = append(out, fmt.Sprintf("%s %d %s", r.Name, n.Ordinal, id))
			for _, o := range n.ObservedNodes {
				out = append(out, fmt.Sprintf("%s %d %s %s %s", r.Name, n.Ordinal, id, o.HostID, o.Status))
			}
		}
	}
	slices.Sort(out)
	return out
}
