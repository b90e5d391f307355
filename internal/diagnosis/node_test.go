// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const (
	idA = "8ebd0fc0-1111-4111-8111-111111111111"
	idB = "35d0f1aa-2222-4222-8222-222222222222"
	idC = "1ffac2bb-3333-4333-8333-333333333333"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

func member(name string, ordinal int32, hostID hostid.ID) matrix.Ref {
	rack := strings.Split(name, "-")[1]
	return matrix.Ref{HostID: hostID, Member: name, Datacenter: "dc1", Rack: rack, Ordinal: &ordinal}
}

var memberA, memberB, memberC = member("demo-rack1-0", 0, idA), member("demo-rack2-0", 0, idB), member("demo-rack3-0", 0, idC)

func row(reporter matrix.Ref, cells ...matrix.Observation) matrix.Row {
	return matrix.Row{Reporter: reporter, Observed: cells, Reported: true}
}

func three() []matrix.Row {
	var rows []matrix.Row
	for _, reporter := range []matrix.Ref{memberA, memberB, memberC} {
		r := row(reporter)
		for _, id := range []hostid.ID{idA, idB, idC} {
			r.Observed = append(r.Observed, matrix.Observation{HostID: id, Status: matrix.Up})
		}
		rows = append(rows, r)
	}
	return rows
}

func newcomer() *matrix.Ref { return new(member("demo-rack1-1", 1, "")) }

// asking are the blockers of a matrix, and the table asked about them.
func asking(rows []matrix.Row, opts matrix.Options) ([]matrix.Blocker, *asker) {
	m := matrix.New(rows, opts)
	ask := &asker{c: Nothing(opts.Namespace), m: m, volumeLost: true}
	if opts.Self != nil {
		ask.Self = *opts.Self
	}
	return m.Blockers(), ask
}

// TestNextSteps: the node memberC (demo-rack3-0) is in trouble, and every blocker about it has the step that helps.
func TestNextSteps(t *testing.T) {
	const gone = "99990000-4444-4444-8444-444444444444"
	down := func(state matrix.State) func([]matrix.Row) []matrix.Row {
		return func(rows []matrix.Row) []matrix.Row {
			n := 2
			if state != matrix.StateNormal {
				n = 3 // only what all agree on counts
			}
			for i := range rows[:n] {
				rows[i].Observed[2] = matrix.Observation{HostID: idC, Status: matrix.Down, State: state, Since: ago(10 * time.Minute)}
			}
			return rows
		}
	}
	// c changes the row of memberC itself.
	c := func(change func(*matrix.Row)) func([]matrix.Row) []matrix.Row {
		return func(rows []matrix.Row) []matrix.Row { change(&rows[2]); return rows }
	}
	failed := func(fault matrix.Fault) func([]matrix.Row) []matrix.Row {
		codes := map[matrix.Fault]matrix.Trouble{
			matrix.FaultReporter: {Code: words.RowMalformed}, matrix.FaultScyllaDB: {Code: words.ScyllaDBNoAnswer}, matrix.FaultPod: {Code: words.PodUnreachable}, matrix.FaultReport: {Code: words.ReportDamaged},
		}
		return c(func(r *matrix.Row) { r.Observed, r.Trouble = nil, codes[fault] })
	}
	stale := c(func(r *matrix.Row) { r.Stale = matrix.Trouble{Code: words.PodGone} })
	silent := c(func(r *matrix.Row) { r.Observed, r.Reported = nil, false })
	both := func(changes ...func([]matrix.Row) []matrix.Row) func([]matrix.Row) []matrix.Row {
		return func(rows []matrix.Row) []matrix.Row {
			for _, change := range changes {
				rows = change(rows)
			}
			return rows
		}
	}
	ghost := func(rows []matrix.Row) []matrix.Row {
		for i := range rows {
			rows[i].Observed = append(rows[i].Observed, matrix.Observation{HostID: gone, Status: matrix.Down})
		}
		return rows
	}
	parted := func(rows []matrix.Row) []matrix.Row { // C sees no other node, and no other node sees it
		rows[2].Observed[0].Status, rows[2].Observed[1].Status = matrix.Down, matrix.Down
		return down(matrix.StateNormal)(rows)
	}
	itself := func(f matrix.NodeFacts) matrix.Options {
		return matrix.Options{Self: &memberC, Namespace: "demo", Fates: map[hostid.ID]matrix.NodeFacts{idC: f}}
	}
	const former = "replace the former node of this member, which the cluster still lists; this cannot be undone: kubectl scylla replace " + idC + " -n demo"
	// unmade is a row of ours that could not be made: it does not even have the mode of its node.
	unmade := c(func(r *matrix.Row) {
		r.Observed, r.NoStates, r.Trouble = nil, true, matrix.Trouble{Code: words.ScyllaDBNoAnswer, Words: "connection refused"}
	})
	stateless := func(rows []matrix.Row) []matrix.Row {
		for i := range rows {
			rows[i].NoStates = true
		}
		return rows
	}
	fate := func(f matrix.NodeFacts) matrix.Options {
		return matrix.Options{Namespace: "demo", Fates: map[hostid.ID]matrix.NodeFacts{idC: f}}
	}
	demo := matrix.Options{Namespace: "demo"}
	long := matrix.Options{Namespace: "demo", Settled: ago(5 * time.Minute)}
	somewhere := long
	somewhere.Namespace = ""
	d, e, s, m, g := words.NodeDown, words.RowError, words.RowStale, words.RowMissing, words.DatacenterNotVerified
	const (
		reach      = "check that its Pod is running and reachable: kubectl get pod demo-rack3-0 -n demo"
		logOf      = "kubectl logs demo-rack3-0 -c scylla -n demo"
		resume     = "the replacement failed: kubectl scylla replace resume demo-rack3-0 -n demo"
		underWay   = "wait up to 12h0m until its replacement has finished; check its progress: kubectl scylla replace status demo-rack3-0 -n demo"
		removenode = "remove this orphaned host ID, which belongs to no member; this cannot be undone: kubectl scylla nodetool demo-rack1-0 -n demo -- removenode " + gone
	)
	tests := map[string]struct {
		change func([]matrix.Row) []matrix.Row
		opts   matrix.Options
		// want is the one step of all blockers, which are of these reasons.
		reasons []words.Code
		want    string
		known   hostid.ID // the node whose step package replace knows
	}{
		"DOWN, and it lives": {down(matrix.StateNormal), demo, []words.Code{d, d}, "fix the network between it and the nodes that see it DOWN; do not replace it: it sends status reports, so it is running", ""},
		"DOWN, and nobody says in which namespace": {
			both(down(matrix.StateNormal), silent), somewhere, []words.Code{d, d, m}, "check that its Pod is running and reachable: kubectl get pod demo-rack3-0", "",
		},
		"DOWN, and it lives in another namespace": {
			both(both(down(matrix.StateNormal), silent), c(func(r *matrix.Row) { r.Namespace = "other" })), long, []words.Code{d, d, m},
			"check that its Pod is running and reachable: kubectl get pod demo-rack3-0 -n other", "",
		},
		"DOWN, and its ScyllaDB does not answer": {both(down(matrix.StateNormal), failed(matrix.FaultScyllaDB)), long, []words.Code{d, d, e}, "check the ScyllaDB log: " + logOf, ""},
		"DOWN, and it has no Pod":                {both(down(matrix.StateNormal), failed(matrix.FaultPod)), long, []words.Code{d, d, e}, reach, ""},
		"DOWN, and its row is old":               {both(down(matrix.StateNormal), stale), long, []words.Code{d, d, s}, reach, ""},
		"DOWN, and it has no row":                {both(down(matrix.StateNormal), silent), long, []words.Code{d, d, m}, reach, ""},
		"DOWN, and nobody says since when":       {both(down(matrix.StateNormal), failed(matrix.FaultScyllaDB)), demo, []words.Code{d, d, e}, "check the ScyllaDB log: " + logOf, ""},
		"DOWN while joining":                     {down(matrix.StateJoining), demo, []words.Code{d, d, d}, "wait up to 12h0m until it has joined; if it stopped, check its log: " + logOf, ""},
		"DOWN while replacing":                   {down(matrix.StateReplacing), demo, []words.Code{d, d, d}, "wait up to 12h0m until it has joined; if it stopped, check its log: " + logOf, ""},
		"DOWN while leaving": {
			down(matrix.StateLeaving), demo, []words.Code{d, d, d},
			"start it again so that it can finish leaving; check its log for why it stopped: " + logOf, "",
		},
		"being replaced, and no more is known": {down(matrix.StateBeingReplaced), demo, []words.Code{d, d, d}, "wait up to 12h0m until its replacement has joined", ""},
		"out of sight": {
			parted, demo, []words.Code{d, d, d, d}, "fix the network first (routes, firewalls, NetworkPolicies; ports 7000 and 7001); do not replace any node", "",
		},

		"a replacement is open": {both(down(matrix.StateNormal), failed(matrix.FaultScyllaDB)), fate(matrix.NodeFacts{Member: "demo-rack3-0", Open: true}), []words.Code{d, d, e}, underWay, ""},
		"a replacement is open and the row old": {both(down(matrix.StateBeingReplaced), stale), matrix.Options{
			Self: newcomer(), Namespace: "demo", Fates: map[hostid.ID]matrix.NodeFacts{idC: {Member: "demo-rack3-0", Open: true}},
		}, []words.Code{d, d, s}, underWay, ""},
		"a replacement is asked for": {
			both(down(matrix.StateNormal), silent), fate(matrix.NodeFacts{Member: "demo-rack3-0"}), []words.Code{d, d, m},
			"wait up to 2m0s: its replacement is requested; check its progress: kubectl scylla replace status demo-rack3-0 -n demo", "",
		},
		"a replacement failed": {
			both(down(matrix.StateNormal), failed(matrix.FaultScyllaDB)), fate(matrix.NodeFacts{Member: "demo-rack3-0", Open: true}), []words.Code{d, d, e}, resume, idC,
		},
		"the failed replacement of the very member that wants to start": {
			down(matrix.StateNormal), matrix.Options{Self: &memberC, Fates: map[hostid.ID]matrix.NodeFacts{idC: {Member: "demo-rack3-0"}}}, []words.Code{d, d, m}, resume, idC,
		},
		"the former node of the very member that wants to start": {
			down(matrix.StateNormal), matrix.Options{Self: &memberC, Namespace: "demo"}, []words.Code{d, d, m},
			"replace the former node of this member, which the cluster still lists; this cannot be undone: kubectl scylla replace " + idC + " -n demo", "",
		},
		"a member whose Service does not say yet that it has joined, and that wants to start": {
			down(matrix.StateNormal), itself(matrix.NodeFacts{Joining: true}), []words.Code{d, d, m}, former, "",
		},
		"the same, while a row could not be made": {
			both(down(matrix.StateNormal), unmade), itself(matrix.NodeFacts{Joining: true}), []words.Code{d, d, m}, former, "",
		},
		"a newcomer whose join was cut short": {
			down(matrix.StateJoining), itself(matrix.NodeFacts{Joining: true}), []words.Code{d, d}, "wait up to 30m0s until no node lists it: its join was interrupted, and ScyllaDB rolls it back automatically; check its log: kubectl logs demo-rack3-0 -c scylla -n demo", "",
		},
		"a newcomer of rows without states": {
			both(down(matrix.StateNormal), stateless), itself(matrix.NodeFacts{Joining: true}), []words.Code{d, d, m}, "wait up to 30m0s until no node lists it: its join was interrupted, and ScyllaDB rolls it back automatically; check its log: kubectl logs demo-rack3-0 -c scylla -n demo", "",
		},
		"DOWN, past its join by one row, while rows from elsewhere have no states": {
			both(down(matrix.StateNormal), both(unmade, func(rows []matrix.Row) []matrix.Row { rows[1].NoStates = true; return rows })),
			itself(matrix.NodeFacts{Joining: true}), []words.Code{d, d, m}, former, "",
		},
		"a ghost": {ghost, demo, []words.Code{d, d, d, m}, removenode, gone},
		"a host ID that nobody here knows": {
			ghost, demo, []words.Code{d, d, d, m}, "if it runs in another datacenter, start it there; check whether it is an orphaned host ID that can be removed: kubectl scylla status -n demo", "",
		},

		"its ScyllaDB does not answer": {failed(matrix.FaultScyllaDB), demo, []words.Code{e}, "check the ScyllaDB log: " + logOf, ""},
		"its Pod cannot be reached":    {failed(matrix.FaultPod), demo, []words.Code{e}, "check that its Pod is running and reachable: kubectl get pod demo-rack3-0 -n demo", ""},
		"its row cannot be read": {
			failed(matrix.FaultReporter), demo, []words.Code{e},
			"wait up to 5m0s for its next status report; if the problem persists, check the reporter log: kubectl logs demo-rack3-0 -c scylla-reporter -n demo", "",
		},
		"the report does not fit together": {failed(matrix.FaultReport), demo, []words.Code{e}, "check that the controller is running: it rewrites the report", ""},
		"its row is old":                   {stale, demo, []words.Code{s}, "check that it and its reporter are running: kubectl get pod demo-rack3-0 -n demo", ""},
		"its row is old and comes from elsewhere": {
			both(stale, c(func(r *matrix.Row) { r.Reporter.Member = "" })), demo, []words.Code{s}, "check that the report of its datacenter dc1 is updated and readable", "",
		},
		"it has no row": {silent, demo, []words.Code{m}, "check that demo-rack3-0 is running and that its reporter updates the Pod's annotation", ""},
		"a datacenter that nobody can ask": {
			nil, matrix.Options{Self: newcomer(), Namespace: "demo", NotVerified: []string{"dc2"}}, []words.Code{g},
			"check there manually that every node sees every node UP, then let the new node skip the barrier; its start cannot be undone: kubectl scylla force-proceed demo-rack1-1 -n demo", "",
		},
		"a datacenter that nobody can ask, for nobody in particular": {
			nil, matrix.Options{NotVerified: []string{"dc2"}}, []words.Code{g},
			"check there manually that every node sees every node UP, then let the new node skip the barrier; its start cannot be undone: kubectl scylla force-proceed MEMBER", "",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			rows := three()
			if tc.change != nil {
				rows = tc.change(rows)
			}
			var reasons []words.Code
			blockers, ask := asking(rows, tc.opts)
			if tc.known != "" {
				ask.Known.Steps = map[hostid.ID]words.Message{tc.known: words.New(words.Code(tc.want))}
			}
			for i := range blockers {
				reasons = append(reasons, blockers[i].Reason)
				if got := words.Text(ask.step(&blockers[i])); got != tc.want {
					t.Errorf("%s:\n got %s\nwant %s", blockers[i].Reason, got, tc.want)
				}
			}
			if diff := cmp.Diff(tc.reasons, reasons); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
		})
	}
	rows := []matrix.Row{row(memberA, matrix.Observation{HostID: idA, Status: matrix.Up}, matrix.Observation{HostID: idC, Status: matrix.Down, State: matrix.StateJoining})}
	blockers, ask := asking(rows, demo)
	if got := words.Text(ask.step(&blockers[0])); !strings.HasSuffix(got, "kubectl logs POD -c scylla") {
		t.Errorf("the step for a node whose Pod nobody knows: %q", got)
	}
}
