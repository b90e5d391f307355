// SPDX-License-Identifier: Apache-2.0

package bootstrap_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/hostids"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/vectors"
)

type wireReport struct {
	DatacenterName string           `json:"datacenterName"`
	Racks          []api.RackReport `json:"racks"`
}

type oracleCase struct {
	ID        int          `json:"id"`
	Mutations []string     `json:"mutations"`
	Reports   []wireReport `json:"reports"`
	Self      struct {
		DC      string `json:"dc"`
		Rack    string `json:"rack"`
		Ordinal int32  `json:"ordinal"`
	} `json:"self"`
	Allow     bool `json:"singleReportAllowNonReportingHostIDs"`
	Satisfied bool `json:"satisfied"`
}

func (c *oracleCase) reports() []api.ScyllaDBDatacenterNodesStatusReport {
	list := make([]api.ScyllaDBDatacenterNodesStatusReport, len(c.Reports))
	for i, r := range c.Reports {
		list[i].DatacenterName, list[i].Racks = r.DatacenterName, r.Racks
	}
	return list
}

func TestSSTableVectors(t *testing.T) {
	var cases []struct {
		ID       string
		Input    struct{ Stdout string }
		Expected struct {
			Bootstrapped bool
			Error        string
		}
	}
	vectors.Read(t, "sstable-bootstrapped-cases.json", &cases)
	if len(cases) != 24 {
		t.Fatalf("%d cases, want 24", len(cases))
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			for _, exitCode := range []int{0, -1} {
				got, detail := ParseQuery([]byte(c.Input.Stdout), exitCode)
				if (got == BootstrappedYes) != c.Expected.Bootstrapped {
					t.Errorf("ParseQuery = %v (%s), want bootstrapped %v", got, words.Text(detail), c.Expected.Bootstrapped)
				}
				// What makes the shipped container fail is Unknown here: the cluster is asked, and nothing crash-loops.
				if (got == BootstrappedUnknown) != (c.Expected.Error != "") {
					t.Errorf("ParseQuery = %v (%s), shipped error %q", got, words.Text(detail), c.Expected.Error)
				}
				if words.Text(detail) == "" {
					t.Error("no detail")
				}
			}
		})
	}
}

// recorded is a case of the Scylla Operator as Decide's input, with the operator's answer.
type recorded struct {
	operator string
	in       Input
}

// recordedCases are the cases of a file by ID. What a file does not give is a member without data, and one other node whose status is the answer of the precondition: in the cases
// of the data directory it is DOWN.
func recordedCases(t *testing.T, file string) map[string]recorded {
	t.Helper()
	var cases []struct {
		ID    string
		Input struct {
			oracleCase
			Stdout                *string
			PreconditionSatisfied bool
			Service               struct {
				Namespace, Name     string
				Labels, Annotations map[string]string
			}
		}
		Expected struct {
			Proceed, Satisfied, Bootstrapped bool
			Error                            string
		}
	}
	vectors.Read(t, file, &cases)
	out := map[string]recorded{}
	for _, c := range cases {
		r := recorded{operator: "waits", in: Input{Disk: BootstrappedNo, AllowNonReporting: c.Input.Allow}}
		switch e := c.Expected; {
		case e.Error != "":
			r.operator = "ends with an error, again and again"
		case e.Proceed || e.Satisfied || e.Bootstrapped:
			r.operator = "opens"
		}
		reports := c.Input.reports()
		if len(reports) == 0 && file != "precondition-cases.json" {
			other, status := hostids.UUID("other"), api.NodeStatusUp
			if !c.Input.PreconditionSatisfied {
				status = api.NodeStatusDown
			}
			reports = []api.ScyllaDBDatacenterNodesStatusReport{{DatacenterName: "elsewhere", Racks: []api.RackReport{{Name: "rack9", Nodes: []api.NodeReport{
				{HostID: &other, ObservedNodes: []api.ObservedNode{{HostID: other, Status: status}}},
			}}}}}
		}
		r.in.Matrix, r.in.Reports = matrix.New(matrix.FromReports(reports), matrix.Options{}), len(reports)
		if c.Input.Stdout != nil {
			r.in.Disk, _ = ParseQuery([]byte(*c.Input.Stdout), 0)
		}
		r.in.Member = member(matrix.Ref{Member: fmt.Sprintf("self-%d", c.Input.Self.Ordinal), Datacenter: "dc1", Rack: "rack1"}, nil)
		if file == "precondition-cases.json" {
			r.in.Member = member(matrix.Ref{Member: fmt.Sprintf("self-%d", c.Input.Self.Ordinal), Datacenter: c.Input.Self.DC, Rack: c.Input.Self.Rack}, nil)
		}
		if svc := c.Input.Service; svc.Name != "" {
			r.in.Member = &cluster.Member{Service: &corev1.Service{}, Namespace: svc.Namespace}
			r.in.Member.Ref.Member, r.in.Member.Service.Labels, r.in.Member.Service.Annotations = svc.Name, svc.Labels, svc.Annotations
		}
		out[c.ID] = r
	}
	return out
}

// TestBarrierVectors decides each recorded case of the operator's barrier: its order of data directory, labels, force and replacement, and its precondition. The vectors have both
// answers; where they differ, the reason is in the documents.
func TestBarrierVectors(t *testing.T) {
	for file, want := range map[string]int{"precondition-cases.json": 13, "should-proceed-cases.json": 29, "sstable-bootstrapped-cases.json": 24} {
		cases, named := recordedCases(t, file), vectors.Barrier(t, file)
		if len(cases) != want || len(named) != want {
			t.Errorf("%s: %d cases and %d vectors, want %d", file, len(cases), len(named), want)
		}
		for _, c := range named {
			t.Run(c.ID, func(t *testing.T) {
				r, known := cases[c.ID]
				if !known || r.operator != c.Operator {
					t.Fatalf("recorded %t: the operator's barrier %s, and the vector has %q", known, r.operator, c.Operator)
				}
				v := Decide(r.in)
				ours, reason := "waits", ""
				switch {
				case v.Satisfied:
					ours = "opens"
				case v.Decision == DecisionRefuse:
					ours = "refuses"
				}
				if len(v.Blockers) > 0 {
					reason = string(v.Blockers[0].Reason)
				}
				if ours != c.Ours || reason != c.Reason {
					t.Errorf("our barrier %s (%s), want that it %s (%s): %s", ours, reason, c.Ours, c.Reason, words.Of(v.Self.Name(), v.Summary))
				}
			})
		}
	}
}

// TestOracleThroughDecide holds the whole decision to the shipped precondition over the 2,000 random cases. Beside the duplicates
// that the matrix's own test names, one difference: nothing at all opens only at genesis.
func TestOracleThroughDecide(t *testing.T) {
	var differs []string
	genesis := 0
	for _, c := range vectors.Oracle[oracleCase](t) {
		self := matrix.Ref{Member: fmt.Sprintf("self-%d", c.Self.Ordinal), Datacenter: c.Self.DC, Rack: c.Self.Rack}
		reports := c.reports()
		in := Input{
			Member: member(self, nil), Disk: BootstrappedNo, Matrix: matrix.New(matrix.FromReports(reports), matrix.Options{}),
			Reports: len(reports), AllowNonReporting: c.Allow,
		}
		v := Decide(in)
		if v.Decision == DecisionGenesis {
			genesis++
			if !c.Satisfied {
				t.Errorf("case %d %v: genesis where the shipped operator blocks", c.ID, c.Mutations)
			}
			in.Peers = []*cluster.Member{member(matrix.Ref{Member: "peer-0", HostID: idOwn}, nil)}
			if v := Decide(in); v.Satisfied || v.Blockers[0].Reason != words.ReportMissing {
				t.Errorf("case %d %v: a lost report opens: %s", c.ID, c.Mutations, words.Of(v.Self.Name(), v.Summary))
			}
		}
		if v.Satisfied == c.Satisfied {
			continue
		}
		if v.Satisfied {
			t.Errorf("case %d %v opens, shipped blocks: %s", c.ID, c.Mutations, words.Of(v.Self.Name(), v.Summary))
		}
		switch first := v.Blockers[0].Reason; {
		case first == words.DatacenterNotVerified && c.Allow:
			differs = append(differs, "an empty set with the lenient flag set: there is another datacenter, so this is no genesis")
		case first == words.NodeDown && slices.ContainsFunc(c.Mutations, func(m string) bool {
			return slices.Contains([]string{"dup-observation-down-then-up", "dup-row-host-id-healthy-last", "dup-dc-report-stale", "dup-dc-report"}, m)
		}):
			differs = append(differs, "DOWN and UP of one host ID")
		default:
			t.Errorf("case %d %v differs for another reason: %s", c.ID, c.Mutations, words.Of(v.Self.Name(), v.Summary))
		}
	}
	counts := map[string]int{}
	for _, d := range differs {
		counts[d]++
	}
	t.Logf("genesis: %d", genesis)
	want := map[string]int{
		"an empty set with the lenient flag set: there is another datacenter, so this is no genesis": 68,
		"DOWN and UP of one host ID": 59,
	}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
	if genesis == 0 {
		t.Error("no case is a genesis")
	}
}
