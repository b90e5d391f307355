// SPDX-License-Identifier: Apache-2.0

package matrix_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/vectors"
)

// vectorReport is the neutral form of a datacenter report in test/simulation/vectors; it has the fields of the wire.
type vectorReport struct {
	DatacenterName string           `json:"datacenterName"`
	Racks          []api.RackReport `json:"racks"`
}

type vectorSelf struct {
	DC      string `json:"dc"`
	Rack    string `json:"rack"`
	Ordinal int32  `json:"ordinal"`
}

type precondition struct {
	Reports []vectorReport `json:"reports"`
	Self    vectorSelf     `json:"self"`
	Allow   bool           `json:"singleReportAllowNonReportingHostIDs"`
}

type oracleCase struct {
	precondition
	ID                   int      `json:"id"`
	Mutations            []string `json:"mutations"`
	Satisfied            bool     `json:"satisfied"`
	Seed002              bool     `json:"seed002"`
	Seed002SkipNilHostID bool     `json:"seed002SkipNilHostID"`
	Violations           [4]int   `json:"violations"`
}

func (p *precondition) reports() []api.ScyllaDBDatacenterNodesStatusReport {
	list := make([]api.ScyllaDBDatacenterNodesStatusReport, len(p.Reports))
	for i, r := range p.Reports {
		list[i].DatacenterName, list[i].Racks = r.DatacenterName, r.Racks
	}
	return list
}

func (p *precondition) options() Options {
	ordinal := p.Self.Ordinal
	return Options{
		Self:              &Ref{Datacenter: p.Self.DC, Rack: p.Self.Rack, Ordinal: &ordinal},
		Reports:           len(p.Reports),
		AllowNonReporting: p.Allow,
	}
}

// satisfied is the shipped precondition in terms of this package: an empty matrix has no blocker.
func (p *precondition) satisfied() bool {
	return len(New(FromReports(p.reports()), p.options()).Blockers()) == 0
}

func TestPreconditionVectors(t *testing.T) {
	var cases []struct {
		ID       string
		Input    precondition
		Expected struct{ Satisfied bool }
	}
	vectors.Read(t, "precondition-cases.json", &cases)
	if len(cases) != 13 {
		t.Fatalf("%d cases, want 13", len(cases))
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			m := New(FromReports(c.Input.reports()), c.Input.options())
			if got := len(m.Blockers()) == 0; got != c.Expected.Satisfied {
				t.Errorf("satisfied = %v, want %v; blockers: %v", got, c.Expected.Satisfied, texts(m.Blockers()))
			}
		})
	}
}

// TestOracle holds the precondition to 2,000 verdicts of the shipped operator. The one named difference: where two observations or
// two rows of one host ID disagree, the shipped operator takes the last, and opens when that is UP; here a DOWN anywhere blocks,
// because no newcomer starts while any row says DOWN. The cases that differ are exactly those, they all are blocked here and open
// there, and DOWN is their only reason.
func TestOracle(t *testing.T) {
	want := map[string]int{
		"dup-dc-report, down-one": 1,
		"dup-dc-report-stale":     5,
		"dup-dc-report-stale, dup-observation-down-then-up, down-one":      1,
		"dup-dc-report-stale, dup-row-host-id-healthy-last":                1,
		"dup-observation-down-then-up":                                     16,
		"dup-observation-down-then-up, self-row-present-nil-host-id":       1,
		"dup-observation-down-then-up, shuffle-observations":               1,
		"dup-observation-down-then-up, shuffle-rows":                       1,
		"dup-observation-down-then-up, toggle-allow, dup-observation-same": 1,
		"dup-row-host-id-healthy-last":                                     18,
		"dup-row-host-id-healthy-last, dup-dc-report":                      1,
		"dup-row-host-id-healthy-last, dup-row-host-id-healthy-last":       1,
		"dup-row-host-id-healthy-last, node-removed-everywhere":            1,
		"dup-row-host-id-healthy-last, toggle-allow":                       2,
		"node-removed-everywhere, dup-observation-down-then-up":            1,
		"self-dc-unknown, dup-observation-down-then-up":                    1,
		"self-row-present-nil-host-id, dup-observation-down-then-up":       1,
		"self-row-present-nil-host-id, dup-row-host-id-healthy-last":       1,
		"shuffle-observations, dup-row-host-id-healthy-last":               1,
		"shuffle-rows, shuffle-observations, dup-observation-down-then-up": 1,
		"toggle-allow, dup-observation-down-then-up":                       1,
		"toggle-allow, dup-row-host-id-healthy-last":                       1,
	}
	cases := vectors.Oracle[oracleCase](t)
	if len(cases) != 2000 {
		t.Fatalf("%d cases, want 2000", len(cases))
	}
	got := map[string]int{}
	for _, c := range cases {
		m := New(FromReports(c.reports()), c.options())
		satisfied := len(m.Blockers()) == 0
		if contradicts := c.Satisfied && c.saysDown(); contradicts != (satisfied != c.Satisfied) {
			t.Errorf("case %d %v: satisfied = %v, shipped %v, a row says DOWN where a later one does not: %v",
				c.ID, c.Mutations, satisfied, c.Satisfied, contradicts)
		}
		if satisfied == c.Satisfied {
			continue
		}
		got[strings.Join(c.Mutations, ", ")]++
		for _, b := range m.Blockers() {
			if b.Reason != words.NodeDown {
				t.Errorf("case %d %v differs by %s, want DOWN alone", c.ID, c.Mutations, words.Aging(b.Message(), b.Since, time.Time{}))
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mutations of the cases that differ (-want +got):\n%s", diff)
	}
}

// saysDown is true when a row other than Self's has any node DOWN, by the wire format alone.
func (p *precondition) saysDown() bool {
	for _, dc := range p.Reports {
		for _, rack := range dc.Racks {
			for _, node := range rack.Nodes {
				if dc.DatacenterName == p.Self.DC && rack.Name == p.Self.Rack && node.Ordinal == p.Self.Ordinal {
					continue
				}
				for _, o := range node.ObservedNodes {
					if o.Status == api.NodeStatusDown {
						return true
					}
				}
			}
		}
	}
	return false
}

// TestOracleCounts compares every blocker with the oracle's independent counts of what is wrong: rows without host ID, host IDs
// without a row, pairs not listed, pairs not UP. Cases with duplicates are left to TestOracle, and those with an empty host ID to
// TestDifferencesFromTheShippedOperator.
func TestOracleCounts(t *testing.T) {
	compared := 0
	for _, c := range vectors.Oracle[oracleCase](t) {
		if c.Violations[0] > 0 || slices.ContainsFunc(c.Mutations, func(m string) bool {
			return strings.HasPrefix(m, "dup-") || m == "empty-string-host-id"
		}) {
			continue
		}
		compared++
		var got [4]int
		for _, b := range New(FromReports(c.reports()), c.options()).Blockers() {
			switch b.Reason {
			case words.HostIDMissing:
				got[0]++
			case words.RowMissing:
				got[1]++
			case words.NodeNotSeen:
				got[2]++
			case words.NodeDown, words.NodeUnknown:
				got[3]++
			}
		}
		want := c.Violations
		// A member that did not report is one blocker here, and one missing pair for each node there.
		silent, nodes := c.silentRows()
		want[1] += silent
		want[2] -= silent * nodes
		if got != want {
			t.Errorf("case %d %v: counts %v, want %v (%d silent rows, %d nodes)", c.ID, c.Mutations, got, want, silent, nodes)
		}
	}
	if compared < 1000 {
		t.Errorf("only %d cases compared", compared)
	}
}

// silentRows counts the rows without observations and the host IDs in rows other than Self's.
func (p *precondition) silentRows() (silent, nodes int) {
	ids := map[string]struct{}{}
	for _, dc := range p.Reports {
		for _, rack := range dc.Racks {
			for _, node := range rack.Nodes {
				if dc.DatacenterName == p.Self.DC && rack.Name == p.Self.Rack && node.Ordinal == p.Self.Ordinal {
					continue
				}
				if len(node.ObservedNodes) == 0 {
					silent++
				}
				ids[*node.HostID] = struct{}{}
				for _, o := range node.ObservedNodes {
					ids[o.HostID] = struct{}{}
				}
			}
		}
	}
	return silent, len(ids)
}

func texts(blockers []Blocker) []string {
	list := make([]string, len(blockers))
	for i := range blockers {
		list[i] = words.Aging(blockers[i].Message(), blockers[i].Since, time.Time{})
	}
	return list
}
