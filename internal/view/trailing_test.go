// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/raftlog"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const (
	schemaA = "59adb24e-f3cd-3e02-97f0-5b395827453f"
	schemaB = "00000000-0000-4000-8000-000000000002"
)

func leads(commit int64) raftlog.State {
	return raftlog.State{Known: true, Leader: true, Commit: commit, Apply: commit, Schema: schemaA}
}

func follows(apply int64) raftlog.State {
	return raftlog.State{Known: true, Commit: apply, Apply: apply, Schema: schemaA}
}

// What three members' heartbeats say of the log of group 0 in one look.
func TestLogOf(t *testing.T) {
	at := start
	for name, c := range map[string]struct {
		said   []raftlog.State
		change func(e []view.Sighting, h map[string]view.Heartbeat)
		leader string
		behind map[string]int64 // by name
		differ []string
	}{
		"a leader and two that follow":        {[]raftlog.State{leads(6000), follows(790), follows(6000)}, nil, "a-0", map[string]int64{"a-0": 0, "b-0": 5210, "c-0": 0}, nil},
		"a leader that has not applied":       {[]raftlog.State{{Known: true, Leader: true, Commit: 6000, Apply: 10}, follows(6000), follows(6000)}, nil, "a-0", map[string]int64{"a-0": 5990, "b-0": 0, "c-0": 0}, nil},
		"asked after the leader":              {[]raftlog.State{leads(6000), follows(6003), follows(6000)}, nil, "a-0", map[string]int64{"a-0": 0, "b-0": 0, "c-0": 0}, nil},
		"a follower's commit index is behind": {[]raftlog.State{leads(6000), {Known: true, Commit: 9999, Apply: 5000}, follows(6000)}, nil, "a-0", map[string]int64{"a-0": 0, "b-0": 1000, "c-0": 0}, nil},
		"nobody leads":                        {[]raftlog.State{follows(1), follows(6000), follows(6000)}, nil, "", nil, nil},
		"two say that they lead":              {[]raftlog.State{leads(6000), leads(1), follows(1)}, nil, "", nil, nil},
		"the leader's heartbeat is old": {[]raftlog.State{leads(6000), follows(1), follows(6000)}, func(_ []view.Sighting, h map[string]view.Heartbeat) {
			x := h["a-0"]
			x.Advanced = at.Add(-view.ContactLimit - 1)
			h["a-0"] = x
		}, "", nil, nil},
		"a leader of before, whose heartbeat is old": {[]raftlog.State{leads(1), leads(6000), follows(1)}, func(_ []view.Sighting, h map[string]view.Heartbeat) {
			x := h["a-0"]
			x.Advanced = at.Add(-view.ContactLimit - 1)
			h["a-0"] = x
		}, "b-0", map[string]int64{"b-0": 0, "c-0": 5999}, nil},
		"the answer was about another row": {[]raftlog.State{leads(6000), follows(1), follows(1)}, func(e []view.Sighting, _ map[string]view.Heartbeat) { e[1].Digest = "other" },
			"a-0", map[string]int64{"a-0": 0, "c-0": 5999}, nil},
		"a reporter without heartbeat": {[]raftlog.State{leads(6000), follows(1), follows(6000)}, func(e []view.Sighting, _ map[string]view.Heartbeat) { e[1].Report = nil },
			"a-0", map[string]int64{"a-0": 0, "c-0": 0}, nil},
		"indexes known, and schemas differ": {[]raftlog.State{leads(6000), {Known: true, Apply: 5999, Schema: schemaB}, follows(6000)}, nil,
			"a-0", map[string]int64{"a-0": 0, "b-0": 1, "c-0": 0}, nil},
		"indexes not known, and schemas are one": {[]raftlog.State{{Schema: schemaA}, {Schema: schemaA}, {}}, nil, "", nil, nil},
		"indexes not known, and schemas differ":  {[]raftlog.State{{}, {Schema: schemaA}, {Schema: schemaB}}, nil, "", nil, []string{"b-0", "c-0"}},
		"one member's not known, schemas differ": {[]raftlog.State{leads(6000), {Schema: schemaB}, follows(6000)}, nil, "a-0", map[string]int64{"a-0": 0, "c-0": 0}, []string{"a-0", "b-0"}},
		"nobody says anything of it":             {[]raftlog.State{{}, {}, {}}, nil, "", nil, nil},
		"a schema that was said too long ago":    {[]raftlog.State{{Schema: schemaA}, {Schema: schemaB}, {}}, func(_ []view.Sighting, h map[string]view.Heartbeat) { delete(h, "b-0") }, "", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var all []view.Sighting
			heard := map[string]view.Heartbeat{}
			for i, n := range []string{"a-0", "b-0", "c-0"} {
				all = append(all, view.Sighting{Member: &cluster.Member{Ref: matrix.Ref{Member: n, HostID: hostid.Known(idOf(n))}, Pod: &corev1.Pod{}, Report: &api.NodeStatusReport{Heartbeat: &api.ReportHeartbeat{}}}, Digest: n})
				heard[n] = view.Heartbeat{Digest: n, Advanced: at, Log: c.said[i]}
			}
			if c.change != nil {
				c.change(all, heard)
			}
			got := view.LogOf(all, func(m string) view.Heartbeat { return heard[m] }, at)
			want := map[string]int64{}
			for n, entries := range c.behind {
				want[idOf(n)] = entries
			}
			if got.Leader != c.leader || !maps.Equal(got.Behind, want) || !slices.Equal(got.Differ, c.differ) {
				t.Errorf("got %+v, want leader %q, behind %v, differ %v", got, c.leader, want, c.differ)
			}
		})
	}
}

// A look that was missed forgets what was said of the log before.
func TestAPulseForgetsTheLogOfALookThatWasMissed(t *testing.T) {
	for name, miss := range map[string]func(*view.HeartbeatCounter){
		"missed":      func(p *view.HeartbeatCounter) { p.Miss() },
		"went back":   func(p *view.HeartbeatCounter) { p.Record(1, "d", start, 0) },
		"stood still": func(p *view.HeartbeatCounter) { p.Record(7, "d", start.Add(time.Minute), 0) },
		"not told":    func(p *view.HeartbeatCounter) { p.Record(8, "d", start, 0) },
	} {
		var p view.HeartbeatCounter
		p.Record(7, "d", start, 0)
		p.SetLog(leads(1))
		if p.Heartbeat().Log != leads(1) {
			t.Errorf("%s: %+v", name, p.Heartbeat())
		}
		if miss(&p); p.Heartbeat().Log != (raftlog.State{}) {
			t.Errorf("%s: %+v", name, p.Heartbeat().Log)
		}
	}
}

func trailing(name string) api.StatusReportViewMember {
	m := up(name)[0]
	m.State, m.Cause = api.NodeStatusUnknown, api.CauseTrailing
	return m
}

// A newcomer that waits because a member is too far behind gets its name, how far it is behind, and the leader.
func TestAMemberThatTrailsHoldsNewcomers(t *testing.T) {
	log := view.Log{Leader: "c-0", Behind: map[string]int64{idOf("a-0"): 5210, idOf("b-0"): 1001, idOf("c-0"): 0}}
	silent := up("b-0")[0]
	silent.State = api.NodeStatusUnknown
	for name, c := range map[string]struct {
		members []api.StatusReportViewMember
		want    string
		entries int64
	}{
		"one":                          {append(up("b-0", "c-0"), trailing("a-0")), "d-0 PermitWaitsForLog [a-0 c-0]", 5210},
		"the furthest of two":          {append(up("c-0"), trailing("b-0"), trailing("a-0")), "d-0 PermitWaitsForLog [a-0 c-0]", 5210},
		"another one is silent":        {append(up("c-0"), trailing("a-0"), silent), "d-0 PermitWaitsForMembers [a-0 b-0]", 0},
		"it is at the limit and is UP": {up("a-0", "b-0", "c-0"), "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := joins("d-0")
			p.pass(window)
			if len(p.stored.Permits) != 1 {
				t.Fatal("no permit before")
			}
			p.members, p.log = c.members, log
			got := p.next()
			if c.want == "" {
				wantHolders(t, got, "d-0")
				return
			}
			wantHolders(t, got) // withdrawn
			if r := reasons(got); !slices.Equal(r, []string{c.want}) || got.Queue[0].Entries != c.entries {
				t.Errorf("%q, %d entries; want %q, %d", r, got.Queue[0].Entries, c.want, c.entries)
			}
			// The number alone is no new view: it would be written each two seconds.
			a, b := *p.stored, *p.stored
			b.Queue = slices.Clone(b.Queue)
			if b.Queue[0].Entries++; !view.Same(&a, &b) {
				t.Error("another number is another view")
			}
		})
	}
}

// A dead node that is to be replaced must be DOWN: that it was last heard to be behind is no cause to wait for its log.
func TestATargetThatTrailsIsATargetThatIsNotDown(t *testing.T) {
	p := &play{members: append(up("b-0", "c-0"), trailing("a-0")), stored: &api.StatusReportView{}, now: start}
	p.scene.Requests = append(p.scene.Requests, replaces("d-0", "a-0"))
	if got := reasons(p.next()); !slices.Equal(got, []string{"d-0 " + string(words.PermitWaitsForTargetDown) + " [a-0]"}) {
		t.Errorf("%q", got)
	}
}

// While it is not known how far members are behind, they must have one schema. A first node has no other to agree with.
func TestSchemasThatDifferHoldNewcomersWhileTheIndexesAreNotKnown(t *testing.T) {
	p := joins("d-0")
	p.pass(window)
	p.log.Differ = []string{"a-0", "c-0"}
	got := p.next()
	wantHolders(t, got)
	if r := reasons(got); !slices.Equal(r, []string{"d-0 PermitWaitsForSchema [a-0 c-0]"}) {
		t.Errorf("%q", r)
	}
	p.log.Differ = nil
	wantHolders(t, p.pass(window-view.Interval))
	wantHolders(t, p.pass(2*view.Interval), "d-0")
}
