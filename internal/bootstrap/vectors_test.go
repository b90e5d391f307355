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

// TestShouldProceedVectors holds Decide to the shipped order of labels, force, replacement and precondition. The precondition, a
// boolean in the vectors, is a matrix here in which every node is UP, or one is DOWN.
func TestShouldProceedVectors(t *testing.T) {
	// differences maps a case to what Decide says instead, and why.
	differences := map[string]struct {
		why     string
		proceed bool
		reason  words.Code // of the first blocker
	}{
		"should-proceed-extra/force true but no datacenter label": {
			why: "force opens whatever else is wrong: it is the last resort of the person on call", proceed: true, reason: words.LabelMissing,
		},
		"should-proceed-extra/force true but no rack label": {
			why: "force opens whatever else is wrong", proceed: true, reason: words.LabelMissing,
		},
		"should-proceed-extra/empty datacenter and rack label values": {
			why: "a malformed value never opens: no datacenter and no rack is called nothing", reason: words.LabelMissing,
		},
		"should-proceed-extra/ordinal over int32 wraps": {
			why: "a malformed value never opens: the ordinal would be that of another member, whose row would be left out", reason: words.LabelMissing,
		},
		"should-proceed/service with node replacement label": {
			why: "ScyllaDB cancels a replacement while another node is DOWN, after it has banned the target", reason: words.NodeDown,
		},
		"should-proceed-extra/replacing label with an empty value": {
			why: "without a host ID ScyllaDB would start as a plain new node, past the barrier", reason: words.ReplaceRequestInvalid,
		},
	}
	var cases []struct {
		ID    string
		Input struct {
			PreconditionSatisfied bool
			Service               struct {
				Namespace, Name     string
				Labels, Annotations map[string]string
			}
		}
		Expected struct {
			Proceed bool
			Error   string
		}
	}
	vectors.Read(t, "should-proceed-cases.json", &cases)
	if len(cases) != 29 {
		t.Fatalf("%d cases, want 29", len(cases))
	}
	used := 0
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			other := hostids.UUID("other")
			status := api.NodeStatusUp
			if !c.Input.PreconditionSatisfied {
				status = api.NodeStatusDown
			}
			reports := []api.ScyllaDBDatacenterNodesStatusReport{{DatacenterName: "elsewhere", Racks: []api.RackReport{{Name: "rack9", Nodes: []api.NodeReport{
				{HostID: &other, ObservedNodes: []api.ObservedNode{{HostID: other, Status: status}}},
			}}}}}
			self := &cluster.Member{Service: &corev1.Service{}, Namespace: c.Input.Service.Namespace}
			self.Ref.Member, self.Service.Labels, self.Service.Annotations = c.Input.Service.Name, c.Input.Service.Labels, c.Input.Service.Annotations
			v := Decide(Input{
				Member: self, Disk: BootstrappedNo,
				Matrix: matrix.New(matrix.FromReports(reports), matrix.Options{}), Reports: 1,
			})
			proceed, difference := c.Expected.Proceed, ""
			if d, ok := differences[c.ID]; ok {
				used++
				difference = d.why
				if d.proceed == c.Expected.Proceed {
					t.Errorf("difference %q is none", d.why)
				}
				proceed = d.proceed
				if len(v.Blockers) == 0 || v.Blockers[0].Reason != d.reason {
					t.Errorf("blockers %+v, want %s first", v.Blockers, d.reason)
				}
			}
			if v.Satisfied != proceed {
				t.Errorf("Satisfied = %v (%s), want %v %s", v.Satisfied, words.Of(v.Self.Name(), v.Summary), proceed, difference)
			}
			if c.Expected.Error != "" && !proceed {
				if r := v.Blockers[0].Reason; r != words.ForceValueInvalid && r != words.LabelMissing {
					t.Errorf("the shipped barrier fails with %q, here %s comes first", c.Expected.Error, r)
				}
			}
		})
	}
	if used != len(differences) {
		t.Errorf("%d of %d named differences were met", used, len(differences))
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
