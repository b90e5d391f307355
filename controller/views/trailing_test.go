// SPDX-License-Identifier: Apache-2.0

package views_test

import (
	"slices"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/raftlog"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// wait keeps the members alive until the waiting member has a permit.
func (b *bench) wait(name string, all []*reporter) {
	b.t.Helper()
	b.permitted()
	b.live(8, all)
	if got := b.permitted(); !slices.Equal(got, []string{name}) {
		b.t.Fatalf("permits of %v; queue %+v, members %+v", got, b.stored.Queue, b.stored.Members)
	}
}

// behind lets the first member lead and the third one be so many entries behind it.
func behind(all []*reporter, entries int64) {
	const commit = 10_000_000
	all[0].SetLog(raftlog.State{Known: true, Leader: true, Commit: commit, Apply: commit})
	all[1].SetLog(raftlog.State{Known: true, Commit: commit, Apply: commit})
	all[2].SetLog(raftlog.State{Known: true, Commit: commit - entries, Apply: commit - entries})
}

// A member that is further behind than the health policy allows is UNKNOWN after two looks in a row, not DOWN, and no node joins; one that is at the limit is UP. The number alone
// writes nothing.
func TestAMemberThatTrailsIsUnknownAndHoldsNewcomers(t *testing.T) {
	b, all := withHeartbeats(t)
	name := b.newcomer(2, 1)
	behind(all, view.Trailing)
	b.wait(name, all)
	b.want("UP UP UP")

	behind(all, 5210)
	b.live(2, all) // asked once, looked at once
	b.want("UP UP UP")
	behind(all, 0)
	b.live(3, all)
	b.want("UP UP UP")
	behind(all, 5210)
	b.live(3, all)
	b.want("UP UP UNKNOWN")
	if got := b.permitted(); len(got) > 0 {
		t.Errorf("permits of %v while a member is behind", got)
	}
	if m := b.stored.Members[2]; m.Cause != api.CauseTrailing || m.DownSince != nil {
		t.Errorf("%+v", m)
	}
	const want = "demo-rack3-0 is 5210 entries of the group 0 log behind demo-rack1-0, more than the health policy allows (field trailing)"
	if got := words.Text(bootstrap.Waits(b.stored.Queue[0])); got != want {
		t.Errorf("%s waits because %q", name, got)
	}

	writes := b.writes
	for entries := range int64(20) {
		behind(all, 5000+entries)
		b.live(1, all)
		b.want("UP UP UNKNOWN")
	}
	if b.writes != writes {
		t.Errorf("%d views were written because a number changed", b.writes-writes)
	}

	behind(all, 1000)
	b.live(2, all)
	b.want("UP UP UNKNOWN")
	b.live(1, all)
	b.want("UP UP UP")
	if m := b.stored.Members[2]; m.Cause != "" {
		t.Errorf("%+v", m)
	}
	b.wait(name, all)
}

// A cluster's own number counts.
func TestTrailingIsTheOneOfTheHealthPolicy(t *testing.T) {
	b, all := withHeartbeats(t)
	b.report = &api.ScyllaDBStatusReport{}
	b.report.Status.HealthPolicy = healthpolicy.Standard(healthpolicy.Stabilisation, 3)
	b.report.Status.HealthPolicy.Trailing = 6000
	behind(all, 5210)
	b.live(8, all)
	b.want("UP UP UP")
	b.report.Status.HealthPolicy.Trailing = 5209
	b.live(3, all)
	b.want("UP UP UNKNOWN")
}

// A controller that takes over does not take a member for UP that is behind.
func TestAControllerThatTakesOverAndAMemberThatTrails(t *testing.T) {
	b, all := withHeartbeats(t)
	behind(all, 5210)
	b.live(8, all)
	b.want("UP UP UNKNOWN")
	b.epoch++
	b.restart()
	b.live(8, all)
	b.want("UP UP UNKNOWN")
}

// Where no member has indexes, or none leads, members must have one schema version; where none has a version either there is no condition.
func TestSchemasCountWhereTheIndexesAreNotKnown(t *testing.T) {
	const one, other = "59adb24e-f3cd-3e02-97f0-5b395827453f", "00000000-0000-4000-8000-000000000002"
	b, all := withHeartbeats(t)
	name := b.newcomer(2, 1)
	b.wait(name, all) // nothing is told
	for _, r := range all {
		r.SetLog(raftlog.State{Schema: one})
	}
	b.live(2, all)
	b.wait(name, all)

	all[1].SetLog(raftlog.State{Schema: other})
	b.live(2, all)
	if got := b.permitted(); len(got) > 0 {
		t.Errorf("permits of %v while schemas differ", got)
	}
	if w := b.stored.Queue[0]; w.Reason != string(words.PermitWaitsForSchema) || !slices.Equal(w.Nodes, []string{"demo-rack1-0", "demo-rack2-0"}) {
		t.Errorf("%+v", w)
	}
	b.want("UP UP UP")

	// The indexes are known again: they count, whatever the schemas are at this moment.
	for i, r := range all {
		r.SetLog(raftlog.State{Known: true, Leader: i == 0, Commit: 7, Apply: 7, Schema: []string{one, other, one}[i]})
	}
	b.live(2, all)
	b.wait(name, all)
	// No member leads.
	all[0].SetLog(raftlog.State{Known: true, Commit: 7, Apply: 7, Schema: one})
	b.live(2, all)
	if got := b.permitted(); len(got) > 0 {
		t.Errorf("permits of %v while schemas differ and nobody leads", got)
	}
}
