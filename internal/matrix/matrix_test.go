// SPDX-License-Identifier: Apache-2.0

package matrix_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

const (
	idA = "8ebd0fc0-1111-4111-8111-111111111111"
	idB = "35d0f1aa-2222-4222-8222-222222222222"
	idC = "1ffac2bb-3333-4333-8333-333333333333"
	idX = "77d0f1aa-4444-4444-8444-444444444444"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

func member(rack string, ordinal int32, hostID string) Ref {
	r := Ref{HostID: hostid.ID(hostID), Member: "demo-" + rack + "-0", Datacenter: "dc1", Rack: rack, Ordinal: &ordinal}
	if ordinal > 0 {
		r.Member = "demo-" + rack + "-1"
	}
	return r
}

var (
	memberA = member("rack1", 0, idA)
	memberB = member("rack2", 0, idB)
	memberC = member("rack3", 0, idC)
)

func row(reporter Ref, cells ...Observation) Row {
	return Row{Reporter: reporter, Observed: cells, Reported: true}
}

func up(ids ...string) []Observation {
	var list []Observation
	for _, id := range ids {
		list = append(list, Observation{HostID: hostid.ID(id), Status: Up})
	}
	return list
}

func three() []Row {
	return []Row{row(memberA, up(idA, idB, idC)...), row(memberB, up(idA, idB, idC)...), row(memberC, up(idA, idB, idC)...)}
}

func newcomer() *Ref {
	self := member("rack1", 1, "")
	return &self
}

func TestBlockersByName(t *testing.T) {
	tests := map[string]struct {
		rows []Row
		opts Options
		want []string
	}{
		"everybody sees everybody UP": {rows: three()},
		"one is DOWN for one, with its age": {
			rows: func() []Row {
				rows := three()
				rows[1].Observed[2] = Observation{HostID: idC, Status: Down, Since: ago(12 * time.Second)}
				return rows
			}(),
			want: []string{"NodeDown: demo-rack2-0 (35d0f1aa) sees demo-rack3-0 (1ffac2bb) DOWN for 12s"},
		},
		"a node must see itself UP": {
			rows: func() []Row { rows := three(); rows[0].Observed[0].Status = Down; return rows }(),
			want: []string{"NodeDown: demo-rack1-0 (8ebd0fc0) sees itself DOWN"},
		},
		"a word that is neither UP nor DOWN is not UP": {
			rows: func() []Row { rows := three(); rows[0].Observed[1].Status = Unknown; return rows }(),
			want: []string{"NodeUnknown: demo-rack1-0 (8ebd0fc0) reports demo-rack2-0 (35d0f1aa) as UNKNOWN"},
		},
		"a row lacks a node": {
			rows: func() []Row { rows := three(); rows[2].Observed = rows[2].Observed[:2]; return rows }(),
			want: []string{"NodeNotSeen: demo-rack3-0 (1ffac2bb) does not list demo-rack3-0 (1ffac2bb)"},
		},
		"a member has not reported": {
			rows: func() []Row { rows := three(); rows[2] = Row{Reporter: memberC}; return rows }(),
			want: []string{"RowMissing: no status report from demo-rack3-0 (1ffac2bb)"},
		},
		"a reported row may be empty, which says nothing": {
			rows: func() []Row { rows := three(); rows[2].Observed = nil; return rows }(),
			want: []string{"RowMissing: no status report from demo-rack3-0 (1ffac2bb)"},
		},
		"a member has not reported, and one row alone does not list it": {
			rows: []Row{row(memberA, up(idA)...), {Reporter: memberB}},
			want: []string{
				"RowMissing: no status report from demo-rack2-0 (35d0f1aa)",
				"NodeNotSeen: demo-rack1-0 (8ebd0fc0) does not list demo-rack2-0 (35d0f1aa)",
			},
		},
		"a host ID that others see has no member": {
			rows: []Row{row(memberA, up(idA, idB)...)},
			want: []string{"RowMissing: no status report from host ID " + idB + ""},
		},
		"names come from elsewhere too": {
			rows: []Row{row(memberA, up(idA, idB)...)},
			opts: Options{Names: map[hostid.ID]Ref{idB: memberB}},
			want: []string{"RowMissing: no status report from demo-rack2-0 (35d0f1aa)"},
		},
		"a reporter says why it has no row": {
			rows: func() []Row {
				rows := three()
				rows[2].Trouble = Trouble{Code: words.RowMalformed, Words: "connection refused"}
				return rows
			}(),
			want: []string{"RowError: no usable status report from demo-rack3-0 (1ffac2bb): connection refused"},
		},
		"a row is stale, and what it says does not count": {
			rows: func() []Row {
				rows := three()
				rows[2].Stale, rows[2].StaleSince = Trouble{Code: words.PodGone}, ago(3*time.Minute)
				rows[2].Observed[0].Status = Down
				return rows
			}(),
			want: []string{"RowStale: no current status report from demo-rack3-0 (1ffac2bb) for 3m0s: Pod demo-rack3-0 no longer exists"},
		},
		"a member has no host ID yet": {
			rows: append(three(), Row{Reporter: member("rack2", 1, "")}),
			want: []string{"HostIDMissing: the host ID of demo-rack2-1 is unknown"},
		},
		"a row lists a node without host ID": {
			rows: func() []Row {
				rows := three()
				rows[0].Observed = append(rows[0].Observed, Observation{Status: Up})
				return rows
			}(),
			want: []string{"HostIDMissing: demo-rack1-0 (8ebd0fc0) lists a node without a host ID"},
		},
		"a datacenter was not verified": {
			rows: three(), opts: Options{NotVerified: []string{"dc3", "dc2", "dc3"}},
			want: []string{
				"DatacenterNotVerified: datacenter dc2 is unverified: its nodes are not reachable from here",
				"DatacenterNotVerified: datacenter dc3 is unverified: its nodes are not reachable from here",
			},
		},
		"the gravest comes first": {
			rows: func() []Row {
				rows := three()
				rows[0].Observed = rows[0].Observed[:2]
				rows[1].Observed[0].Status = Unknown
				rows[1].Observed[2].Status = Down
				rows[2].Trouble = Trouble{Code: words.RowMalformed, Words: "no route to host"}
				return rows
			}(),
			want: []string{
				"NodeDown: demo-rack2-0 (35d0f1aa) sees demo-rack3-0 (1ffac2bb) DOWN",
				"RowError: no usable status report from demo-rack3-0 (1ffac2bb): no route to host",
				"NodeUnknown: demo-rack2-0 (35d0f1aa) reports demo-rack1-0 (8ebd0fc0) as UNKNOWN",
				"NodeNotSeen: demo-rack1-0 (8ebd0fc0) does not list demo-rack3-0 (1ffac2bb)",
			},
		},
		"Self's row is left out by place": {
			rows: append(three(), row(member("rack1", 1, "new"), Observation{HostID: idA, Status: Down})),
			opts: Options{Self: newcomer()},
		},
		"Self's row is left out by host ID where the row does not say its place": {
			rows: append(three(), row(Ref{HostID: "new"}, Observation{HostID: idA, Status: Down})),
			opts: Options{Self: func() *Ref { s := member("rack1", 1, "new"); return &s }()},
		},
		"Self's former node is still a member": {
			rows: func() []Row {
				rows := three()[:2]
				rows[0].Observed[2].Status, rows[1].Observed[2].Status = Down, Down
				return append(rows, Row{Reporter: memberC})
			}(),
			opts: Options{Self: &memberC},
			want: []string{
				"NodeDown: demo-rack1-0 (8ebd0fc0) sees demo-rack3-0 (1ffac2bb) DOWN",
				"NodeDown: demo-rack2-0 (35d0f1aa) sees demo-rack3-0 (1ffac2bb) DOWN",
				"RowMissing: no status report from demo-rack3-0 (1ffac2bb)",
			},
		},
		"the lenient rule lets host IDs without a row pass, if they are UP": {
			rows: []Row{row(memberA, up(idA, idB)...)},
			opts: Options{Self: newcomer(), AllowNonReporting: true, Reports: 1, NotVerified: []string{"dc2"}},
		},
		"the lenient rule does not make DOWN UP": {
			rows: []Row{row(memberA, Observation{HostID: idA, Status: Up}, Observation{HostID: idB, Status: Down})},
			opts: Options{Self: newcomer(), AllowNonReporting: true, Reports: 1},
			want: []string{"NodeDown: demo-rack1-0 (8ebd0fc0) sees host ID " + idB + " DOWN"},
		},
		"the lenient rule needs the one report to be of Self's datacenter": {
			rows: []Row{row(memberA, up(idA, idB)...)},
			opts: Options{Self: &Ref{Datacenter: "dc2", Rack: "rack1", Ordinal: new(int32)}, AllowNonReporting: true, Reports: 1},
			want: []string{"RowMissing: no status report from host ID " + idB + ""},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, b := range New(tc.rows, tc.opts).Blockers() {
				got = append(got, string(b.Reason)+": "+words.Aging(b.Message(), b.Since, now))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("blockers (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEvidence tells joining, leaving, replacing and replaced nodes apart by what every row that mentions them says.
func TestEvidence(t *testing.T) {
	const idN = "99990000-4444-4444-8444-444444444444"
	// with adds to every row a cell about idN, which has no row of its own.
	with := func(cells ...Observation) []Row {
		rows := three()
		for i := range rows {
			c := cells[min(i, len(cells)-1)]
			c.HostID = idN
			rows[i].Observed = append(rows[i].Observed, c)
		}
		return rows
	}
	replacing := Options{Fates: map[hostid.ID]NodeFacts{idN: {Member: "demo-rack2-1", Open: true}}}
	tests := map[string]struct {
		rows    []Row
		opts    Options
		display bool // no member wants to start
		want    []words.Code
	}{
		"a second newcomer that is JOINING and UP needs no row": {rows: with(Observation{Status: Up, State: StateJoining})},
		"a second newcomer that is JOINING and DOWN blocks":     {rows: with(Observation{Status: Down, State: StateJoining}), want: []words.Code{words.NodeDown, words.NodeDown, words.NodeDown}},
		"a second newcomer that one row does not list blocks for now": {rows: func() []Row {
			r := with(Observation{Status: Up, State: StateJoining})
			r[0].Observed = r[0].Observed[:3]
			return r
		}(), want: []words.Code{words.NodeNotSeen}},
		"one row that has it as a plain member is no evidence":         {rows: with(Observation{Status: Up, State: StateJoining}, Observation{Status: Up}), want: []words.Code{words.RowMissing}},
		"JOINING for some and REPLACING for others is evidence enough": {rows: with(Observation{Status: Up, State: StateJoining}, Observation{Status: Up, State: StateReplacing})},
		"a LEAVING node that lost its row but is UP does not block":    {rows: with(Observation{Status: Up, State: StateLeaving})},
		"a LEAVING node that is DOWN blocks":                           {rows: with(Observation{Status: Down, State: StateLeaving}), want: []words.Code{words.NodeDown, words.NodeDown, words.NodeDown}},
		"a DECOMMISSIONED node that is DOWN blocks":                    {rows: with(Observation{Status: Down, State: StateDecommissioned}), want: []words.Code{words.NodeDown, words.NodeDown, words.NodeDown, words.RowMissing}},
		"a BEING_REPLACED node with an open replacement blocks":        {rows: with(Observation{Status: Down, State: StateBeingReplaced}), opts: replacing, display: true, want: []words.Code{words.NodeDown, words.NodeDown, words.NodeDown, words.RowMissing}},
		"who wants to start waits for the end of a replacement":        {rows: with(Observation{Status: Down, State: StateBeingReplaced}), opts: replacing, want: []words.Code{words.NodeDown, words.NodeDown, words.NodeDown, words.RowMissing}},
		"a BEING_REPLACED node without an open replacement blocks":     {rows: with(Observation{Status: Down, State: StateBeingReplaced}), want: []words.Code{words.NodeDown, words.NodeDown, words.NodeDown, words.RowMissing}},
		"an open replacement without evidence excuses nothing":         {rows: with(Observation{Status: Down}), opts: replacing, display: true, want: []words.Code{words.NodeDown, words.NodeDown, words.NodeDown, words.RowMissing}},
		"a LEAVING node's own silence is excused": {
			rows: func() []Row {
				rows := with(Observation{Status: Up, State: StateLeaving})
				return append(rows, Row{Reporter: member("rack2", 1, idN), Trouble: Trouble{Code: words.RowMalformed, Words: "connection refused"}})
			}(),
		},
		"a JOINING node's own DOWN is not excused": {
			rows: func() []Row {
				rows := with(Observation{Status: Up, State: StateJoining})
				return append(rows, row(member("rack2", 1, idN), Observation{HostID: idA, Status: Down}, Observation{HostID: idB, Status: Up},
					Observation{HostID: idC, Status: Up}, Observation{HostID: idN, Status: Up, State: StateJoining}))
			}(),
			want: []words.Code{words.NodeDown},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if !tc.display {
				tc.opts.Self = newcomer()
			}
			var got []words.Code
			for _, b := range New(tc.rows, tc.opts).Blockers() {
				got = append(got, b.Reason)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDifferencesFromTheShippedOperator names where the matrix is stricter or wiser than the shipped precondition, beside what
// TestOracle lists. The shipped verdict is in the name.
func TestDifferencesFromTheShippedOperator(t *testing.T) {
	empty := ""
	report := func(nodes ...api.NodeReport) []api.ScyllaDBDatacenterNodesStatusReport {
		return []api.ScyllaDBDatacenterNodesStatusReport{{DatacenterName: "dc1", Racks: []api.RackReport{{Name: "rack1", Nodes: nodes}}}}
	}
	h := "h"
	tests := map[string]struct {
		why       string
		reports   []api.ScyllaDBDatacenterNodesStatusReport
		satisfied bool
		states    map[string]api.NodeState // that our own reporter has read
	}{
		"an empty host ID is not a host ID (shipped: one like any other, satisfied)": {
			why:     "two nodes without one could not be told apart, and a malformed value is never UP",
			reports: report(api.NodeReport{HostID: &empty, ObservedNodes: []api.ObservedNode{{HostID: "", Status: "UP"}}}),
		},
		"DOWN before UP in one row blocks (shipped: the last wins, satisfied)": {
			why:     "no newcomer starts while any row says DOWN",
			reports: report(api.NodeReport{HostID: &h, ObservedNodes: []api.ObservedNode{{HostID: h, Status: "DOWN"}, {HostID: h, Status: "UP"}}}),
		},
		"UP before DOWN in one row blocks, as shipped": {
			reports: report(api.NodeReport{HostID: &h, ObservedNodes: []api.ObservedNode{{HostID: h, Status: "UP"}, {HostID: h, Status: "DOWN"}}}),
		},
		"an empty row before a good one of the same host ID blocks (shipped: the last wins, satisfied)": {
			why:     "which of two rows comes last is an accident of names",
			reports: report(api.NodeReport{HostID: &h}, api.NodeReport{Ordinal: 1, HostID: &h, ObservedNodes: []api.ObservedNode{{HostID: h, Status: "UP"}}}),
		},
		"a second newcomer that all have as JOINING is not waited for (shipped: known but not reporting, blocked)": {
			why: "two newcomers must not hold up each other for ever", satisfied: true, states: map[string]api.NodeState{"j": "JOINING"},
			reports: report(api.NodeReport{HostID: &h, ObservedNodes: []api.ObservedNode{{HostID: h, Status: "UP"}, {HostID: "j", Status: "UP"}}}),
		},
		"a decommission does not hold up a join (shipped: known but not reporting, blocked)": {
			why: "a leaving node loses its row long before it has left", satisfied: true, states: map[string]api.NodeState{"l": "LEAVING"},
			reports: report(api.NodeReport{HostID: &h, ObservedNodes: []api.ObservedNode{{HostID: h, Status: "UP"}, {HostID: "l", Status: "UP"}}}),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			ordinal := int32(9)
			rows := FromReports(tc.reports)
			if tc.states != nil {
				// The datacenter report has no room for states; the cluster report and the Pods' annotations do.
				first := tc.reports[0].Racks[0].Nodes[0]
				cells := stage.Cells(first.ObservedNodes)
				for i := range cells {
					cells[i].State = tc.states[string(cells[i].HostID)]
				}
				rows = FromCells([][]api.ObservedNodeStatusReport{cells})
				rows[0].Reporter = Ref{HostID: hostid.ID(*first.HostID), Datacenter: "dc1", Rack: "rack1", Ordinal: new(int32)}
			}
			m := New(rows, Options{Self: &Ref{Datacenter: "dc1", Rack: "rack1", Ordinal: &ordinal}, Reports: 1})
			if got := len(m.Blockers()) == 0; got != tc.satisfied {
				t.Errorf("satisfied = %v, want %v (%s): %v", got, tc.satisfied, tc.why, texts(m.Blockers()))
			}
		})
	}
}

func TestNodes(t *testing.T) {
	rows := []Row{
		row(memberC, up(idA, idB, idC, "foreign", "h2")...),
		row(memberA, up(idA, idB, idC, "foreign", "h2")...),
		{Reporter: member("rack2", 1, "")},
		{Reporter: member("rack2", 1, "")}, // said twice, by two reports
		{Reporter: memberB, Stale: Trouble{Code: words.PodGone}, Reported: true, Observed: []Observation{{HostID: idA, Status: Down, Since: ago(time.Hour)}}, State: StateLeaving, Report: &api.NodeStatusReport{ScyllaVersion: "2025.2.1"}},
		{Reporter: Ref{HostID: "self", Datacenter: "dc1", Rack: "rack1", Ordinal: newcomer().Ordinal}, Reported: true, Observed: up("self", "only-self-knows")},
	}
	rows[0].Observed[1] = Observation{HostID: idB, Status: Down, Since: ago(time.Minute)}
	rows[1].Observed[1] = Observation{HostID: idB, Status: Down, Since: ago(2 * time.Minute)}
	rows[0].Observed[3].State, rows[1].Observed[3].State = StateJoining, StateJoining
	m := New(rows, Options{Self: newcomer(), Names: map[hostid.ID]Ref{"h2": {Member: "other-rack1-0", Datacenter: "dc2"}}})

	type short struct {
		Name                       string
		State                      State
		Joined, Reports, Self      bool
		Up, Down, Unknown, NotSeen int
		DownSince                  time.Time
	}
	want := []short{
		{Name: "demo-rack1-0 (8ebd0fc0)", Joined: true, Reports: true, Up: 2},
		{Name: "dc1/rack1/1 (self)", Joined: true, Self: true},
		{Name: "demo-rack2-0 (35d0f1aa)", Joined: true, Down: 2, DownSince: ago(time.Minute)},
		{Name: "demo-rack2-1"},
		{Name: "demo-rack3-0 (1ffac2bb)", Joined: true, Reports: true, Up: 2},
		{Name: "other-rack1-0 (h2)", Joined: true, Up: 2},
		{Name: "host ID foreign", State: StateJoining, Up: 2},
		{Name: "host ID only-self-knows"},
	}
	var got []short
	for _, n := range m.Nodes() {
		got = append(got, short{n.Ref.String(), n.State, n.Joined, n.Reports, n.Self, n.SeenUp, n.SeenDown, n.SeenUnknown, n.NotSeen, n.DownSince})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	if m.Nodes()[2].Row.Says().ScyllaVersion != "2025.2.1" {
		t.Error("the row of a node is lost")
	}
	b, ok := m.Index(idB)
	if !ok || b != 2 {
		t.Errorf("Index(%s) = %d, %v", idB, b, ok)
	}
	if _, ok := m.Index("nobody"); ok {
		t.Error("Index finds a host ID that is nowhere")
	}
	cells := map[string]struct {
		observer, observed int
		want               Cell
	}{
		"plainly UP":                 {0, 0, Cell{Status: Up}},
		"DOWN with its age":          {0, 2, Cell{Status: Down, Since: ago(2 * time.Minute)}},
		"a stale row says UNKNOWN":   {2, 0, Cell{Status: Unknown, Since: ago(time.Hour)}},
		"not listed by a stale row":  {2, 4, Cell{Status: Missing}},
		"a member without a row":     {3, 0, Cell{Status: Missing}},
		"a host ID without a row":    {5, 0, Cell{Status: Missing}},
		"Self's row is readable too": {1, 7, Cell{Status: Up}},
	}
	for name, tc := range cells {
		if got := m.Cell(tc.observer, tc.observed); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

func TestLenient(t *testing.T) {
	rows := []Row{row(memberA, up(idA, idB)...)}
	opts := Options{Self: newcomer(), AllowNonReporting: true, Reports: 1}
	if !New(rows, opts).Lenient() {
		t.Error("one report of Self's datacenter, and the rule does not apply")
	}
	for name, change := range map[string]func(*Options){
		"two reports":    func(o *Options) { o.Reports = 2 },
		"no newcomer":    func(o *Options) { o.Self = nil },
		"not asked for":  func(o *Options) { o.AllowNonReporting = false },
		"another's rows": func(o *Options) { o.Self = &Ref{Datacenter: "dc2", Rack: "r", Ordinal: new(int32)} },
	} {
		o := opts
		change(&o)
		if New(rows, o).Lenient() {
			t.Errorf("%s, and the rule applies", name)
		}
	}
}

// TestTwoRowsOfOneHostID says the same pair once, since the earlier time.
func TestTwoRowsOfOneHostID(t *testing.T) {
	for _, ages := range [][2]time.Duration{{time.Minute, time.Hour}, {time.Hour, time.Minute}} {
		rows := three()
		rows[0].Observed[1] = Observation{HostID: idB, Status: Down, Since: ago(ages[0])}
		again := row(member("rack9", 1, idA), up(idA, idB, idC)...)
		again.Observed[1] = Observation{HostID: idB, Status: Down, Since: ago(ages[1])}
		want := []string{"demo-rack1-0 (8ebd0fc0) sees demo-rack2-0 (35d0f1aa) DOWN for 1h0m"}
		var got []string
		m := New(append(rows, again), Options{})
		for _, b := range m.Blockers() {
			got = append(got, words.Aging(b.Message(), b.Since, now))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("blockers (-want +got):\n%s", diff)
		}
		if c := m.Cell(0, 1); c.Status != Down || !c.Since.Equal(ago(time.Hour)) {
			t.Errorf("cell = %v", c)
		}
	}
}

func TestHealth(t *testing.T) {
	rows := three()
	h := New(rows, Options{}).Health()
	if !h.AllUp || h.Nodes != 3 || h.Up != 3 || h.Total != 0 || len(h.Blockers) != 0 {
		t.Errorf("three healthy nodes: %+v", h)
	}
	rows[0].Observed[2].Status = Down
	if h := New(rows, Options{}).Health(); h.AllUp || h.Nodes != 3 || h.Up != 2 || h.Total != 1 {
		t.Errorf("one of three is DOWN for one: %+v", h)
	}
	if h := New(nil, Options{}).Health(); h.AllUp || h.Nodes != 0 || h.Up != 0 {
		t.Errorf("nothing at all must not look healthy: %+v", h)
	}
	if h := New([]Row{{Reporter: memberA}}, Options{}).Health(); h.AllUp || h.Nodes != 1 || h.Up != 0 {
		t.Errorf("a member that nobody has seen is not up: %+v", h)
	}
}

func TestJudgeForSeveralNewcomers(t *testing.T) {
	rows := append(three(), row(member("rack1", 1, "x"), Observation{HostID: idA, Status: Down}))
	m := New(rows, Options{Names: map[hostid.ID]Ref{"x": {Member: "demo-rack1-1"}}})
	if m.Empty() || len(m.Blockers()) == 0 {
		t.Fatal("the newcomer's own row says DOWN and nobody is left out")
	}
	for range 2 {
		forSelf := m.Judge(Options{Self: newcomer()})
		if b := forSelf.Blockers(); len(b) != 0 {
			t.Errorf("judged for the newcomer: %v", texts(b))
		}
		if forSelf.Options().Names == nil {
			t.Error("Judge loses the names")
		}
	}
	other := member("rack2", 1, "")
	if got, want := len(m.Judge(Options{Self: &other}).Blockers()), len(m.Blockers()); got != want {
		t.Errorf("judged for another newcomer: %d blockers, want %d", got, want)
	}
}
