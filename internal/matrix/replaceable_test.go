// SPDX-License-Identifier: Apache-2.0

package matrix_test

import (
	"testing"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// TestNodeReplaceable: every condition on its own takes the replacement out of every output.
func TestNodeReplaceable(t *testing.T) {
	t.Parallel()
	lost := func() []Row { // C is DOWN for ten minutes and has no row that counts
		rows := three()
		rows[0].Observed[2] = Observation{HostID: idC, Status: Down, Since: ago(10 * time.Minute)}
		rows[1].Observed[2] = Observation{HostID: idC, Status: Down, Since: ago(10 * time.Minute)}
		rows[2].Observed, rows[2].Reported = nil, false
		return rows
	}
	rack := func(r []Row) []Row { // and its rack's other node
		for i := range 2 {
			r[i].Observed = append(r[i].Observed, Observation{HostID: idX, Status: Down, Since: ago(10 * time.Minute)})
		}
		return append(r, Row{Reporter: member("rack3", 1, idX)})
	}
	explained := func(ids ...hostid.ID) func(*Options) {
		return func(o *Options) {
			o.Fates = map[hostid.ID]NodeFacts{}
			for _, id := range ids {
				o.Fates[id] = NodeFacts{Explained: true}
			}
		}
	}
	settled := Options{Namespace: "demo", Settled: ago(5 * time.Minute)}
	for name, tc := range map[string]struct {
		rows func([]Row) []Row
		opts func(*Options)
		id   string
		want bool
	}{
		"lost":                      {want: true},
		"a host ID that nobody has": {id: "0"},
		"it is UP":                  {id: idA},
		"it has a row of its own":   {rows: func(r []Row) []Row { r[2] = three()[2]; return r }},
		"one row says UP":           {rows: func(r []Row) []Row { r[0].Observed[2] = Observation{HostID: idC, Status: Up}; return r }},
		"one row is not sure":       {rows: func(r []Row) []Row { r[0].Observed[2] = Observation{HostID: idC, Status: Unknown}; return r }},
		"one row contradicts itself": {rows: func(r []Row) []Row {
			r[0].Observed = append(r[0].Observed, Observation{HostID: idC, Status: Up})
			return r
		}},
		"a majority says DOWN, and one row UP": {rows: func(r []Row) []Row {
			return append(r, row(member("rack4", 0, idX), up(idA, idB, idC, idX)...))
		}},
		"a majority says DOWN, and one row contradicts itself": {rows: func(r []Row) []Row {
			cells := append(up(idA, idB, idC, idX), Observation{HostID: idC, Status: Down})
			return append(r, row(member("rack4", 0, idX), cells...))
		}},
		"only one row says DOWN for long": {rows: func(r []Row) []Row {
			r[0].Observed[2].Since = ago(time.Minute)
			return r
		}},
		"nobody says since when": {rows: func(r []Row) []Row {
			r[0].Observed[2].Since = time.Time{}
			return r
		}},
		"the rows do not say since when, and its Pod does": {rows: func(r []Row) []Row {
			r[0].Observed[2].Since, r[1].Observed[2].Since = time.Time{}, time.Time{}
			return r
		}, opts: func(o *Options) { o.Fates = map[hostid.ID]NodeFacts{idC: {NotReadySince: ago(time.Hour)}} }},
		"its Pod has not been ready for a minute": {rows: func(r []Row) []Row {
			r[0].Observed[2].Since, r[1].Observed[2].Since = time.Time{}, time.Time{}
			return r
		}, opts: func(o *Options) { o.Fates = map[hostid.ID]NodeFacts{idC: {NotReadySince: ago(time.Minute)}} }},
		"no limit is set":       {opts: func(o *Options) { o.Settled = time.Time{} }},
		"it passes by itself":   {opts: func(o *Options) { o.Fates = map[hostid.ID]NodeFacts{idC: {Passes: true}} }},
		"a replacement is open": {opts: func(o *Options) { o.Fates = map[hostid.ID]NodeFacts{idC: {Member: "demo-rack3-0", Open: true}} }},
		"it has not joined":     {opts: func(o *Options) { o.Fates = map[hostid.ID]NodeFacts{idC: {Joining: true}} }},
		"all have it as LEAVING": {rows: func(r []Row) []Row {
			r[0].Observed[2].State, r[1].Observed[2].State = StateLeaving, StateLeaving
			return r
		}},
		"its whole rack is DOWN":               {rows: rack},
		"one of them for a reason of its own":  {rows: rack, opts: explained(idC)},
		"each of them for a reason of its own": {rows: rack, opts: explained(idC, idX), want: true},
		"it is no member's here":               {rows: func(r []Row) []Row { return r[:2] }},
		"the cluster is in parts":              {rows: func(r []Row) []Row { r[0].Observed[1].Status, r[1].Observed[0].Status = Down, Down; return r }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows, opts, id := lost(), settled, idC
			if tc.rows != nil {
				rows = tc.rows(rows)
			}
			if tc.opts != nil {
				tc.opts(&opts)
			}
			if tc.id != "" {
				id = tc.id
			}
			if got := New(rows, opts).NodeReplaceable(hostid.ID(id)); got != tc.want {
				t.Errorf("NodeReplaceable is %t, want %t", got, tc.want)
			}
		})
	}
}
