// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"math"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const (
	// Renewal is how often an unchanged view is renewed while a member may start by it, so that the
	// member's barrier sees it advance.
	Renewal = healthpolicy.PeerCheck
	// queueLimit is the maximum length of the queue in a view.
	queueLimit = 64
	// unusedLimit is how long a barrier may leave a permit unused, in addition to twice the window,
	// while other members wait.
	unusedLimit = 3 * time.Minute
)

// Request is a member that needs a permit, with the results of one poll of the cluster.
type Request struct {
	*cluster.Member
	Kind     api.PermitKind
	ClaimUID types.UID
	// Refused is why bootstrap.Decide blocks it, with at most three nodes (Nodes) of that reason;
	// empty if it does not.
	Refused string
	Nodes   []string
	Seeds   []string
	// Later is set if it was not judged, because others are before it.
	Later bool
}

// JoinCandidates is one poll of the members that want to join. The zero value has none.
type JoinCandidates struct {
	// Requests, in the order of their turns.
	Requests []Request
	// Strangers are joining nodes without a member Service here, Leaving are leaving nodes.
	Strangers, Leaving []string
	// Parallel is true if every running node supports several joins at once.
	Parallel bool
	// Founding is true while a member here has joined, and the cluster does not count as
	// initialised.
	Founding bool
	// Credential tells one member to act on the root credential. Attempting is true until the end
	// of the first attempt.
	Credential *api.StatusReportViewCredential
	Attempting bool
}

// SceneOf reads a cluster. stored is the status of its report. claims has the UIDs of the data PVCs
// that were read, by name; empty for a PVC that does not exist. most is how many may join at once.
func SceneOf(c *cluster.Cluster, stored *api.ScyllaDBStatusReportStatus, claims map[string]types.UID,
	most int) JoinCandidates {
	var s JoinCandidates
	kind := api.PermitForm
	if joined(c) {
		kind = api.PermitJoin
	}
	names, fit := map[string]bool{}, 0
	if stored.View != nil {
		c = c.WithFormHolder(stored.View.Founder)
	}
	for _, one := range candidates(c, stored.View) {
		uid, read := claims[one.PVCName]
		holds := slices.ContainsFunc(carried(stored.View),
			func(p api.StatusReportViewPermit) bool { return p.Member == one.Ref.Member })
		a := Request{Member: one, Kind: kind, ClaimUID: uid, Later: !read || fit >= max(most, 1) && !holds}
		if a.Replaces() {
			a.Kind = api.PermitReplace
		}
		names[a.Name()] = true
		if a.WaitsInBarrier() && !a.Later {
			if !judge(c, &a, stored.Initialized) {
				continue
			}
			if a.Refused == "" {
				fit++
			}
		}
		s.Requests = append(s.Requests, a)
	}
	s.Founding = !stored.Initialized && slices.ContainsFunc(c.Members(), func(m cluster.Member) bool {
		// A cluster that was bootstrapped elsewhere does not show here whether its first node is
		// healthy, nor does a row without a mode. Permits wait for neither.
		said := c.Said(m.Member)
		if said == nil || said.OperationMode == "" {
			return false
		}
		joined := cluster.SaysJoined(said)
		return joined != nil && *joined
	})
	s.Credential = credentialOf(c, stored)
	s.Attempting = s.attempting(c, stored)
	s.Parallel = true
	nodes := c.Matrix().Nodes()
	for i := range nodes {
		n := &nodes[i]
		switch n.State {
		case matrix.StateJoining, matrix.StateReplacing:
			if !names[n.Member] {
				s.Strangers = append(s.Strangers, n.Name())
			}
		case matrix.StateLeaving:
			s.Leaving = append(s.Leaving, n.Name())
		}
		if n.Row != nil && n.Joined {
			v, err := release.Parse(n.Row.Says().ScyllaVersion)
			s.Parallel = s.Parallel && err == nil && v.SupportsParallelBootstrap() == release.Yes &&
				!n.Row.Says().LegacyTopology
		}
	}
	return s
}

// candidates returns the members that want to join, latecomers at the end.
func candidates(c *cluster.Cluster, stored *api.StatusReportView) []*cluster.Member {
	all, late := c.JoinCandidates(), latecomers(stored)
	slices.SortStableFunc(all, func(a, b *cluster.Member) int { return cmp.Compare(late[a.Name()], late[b.Name()]) })
	return all
}

// judge uses the same decision as the member's barrier. False for a member that needs no permit: it
// restarts, or a user has forced its start.
func judge(c *cluster.Cluster, a *Request, initialized bool) bool {
	in, err := bootstrap.Of(c, a.Name())
	if err != nil {
		a.Refused = string(words.ReportMissing)
		return true
	}
	// The barrier's other conditions, including the permit, are omitted, except for a volume that
	// only the barrier sees: with it, the member would keep others from their turn.
	in.Permission, in.Initialized, in.VolumeUID = nil, initialized, cmp.Or(a.ClaimUID, a.PodUID())
	in.Held = slices.DeleteFunc(in.Held, func(b matrix.Blocker) bool { return b.Reason != words.VolumeUnreadable })
	v := bootstrap.Decide(in)
	if !v.Satisfied {
		a.Refused = string(v.Blockers[0].Reason)
		for _, b := range v.Blockers {
			name := b.Observed.Name()
			if b.Reason == v.Blockers[0].Reason && b.Observed != (matrix.Ref{}) && name != a.Name() &&
				!slices.Contains(a.Nodes, name) && len(a.Nodes) < 3 {
				a.Nodes = append(a.Nodes, name)
			}
		}
		return true
	}
	needs := v.Decision.Permit()
	if needs == "" {
		return false
	}
	a.Kind = needs
	volume := bootstrap.VolumeEmpty
	if needs == api.PermitForm {
		volume = bootstrap.VolumeUsed // it may have started before, which only its barrier can tell
	}
	if choice, launched := bootstrap.SeedChoiceOf(c, a.Name(), volume); launched {
		a.Seeds = choice.Seeds
		if !choice.Usable() || choice.Code == words.SeedsFirstNode && needs != api.PermitForm {
			a.Refused = string(words.NoOtherSeed)
		}
	}
	return true
}

// GrantInput is the input of a grant in addition to the Scene.
type GrantInput struct {
	// Members with their debounced states. The view's hold is not included: the decision judges it
	// for each member, because a rollout that waits for the new node itself blocks all others.
	Members []api.StatusReportViewMember
	// Old is true while the cluster's data is older than ContactLimit.
	Old bool
	// Stored is the view in the API server; nil if there is none. Only its permits are carried on:
	// a permit that was not persisted was never given.
	Stored *api.StatusReportView
	// Most is how many may join at once if their versions allow it. Window is how long all
	// conditions must be met without interruption before a permit is given.
	Most int
	// Log is the state of the log of group 0 at the last poll.
	Log    Log
	Window time.Duration
	Now    time.Time
}

// Granter stores since when each request could have had a permit, and since when each permit is
// unused. The zero value stores nothing; a process that takes over starts with it.
type Granter struct {
	ready, unused map[string]time.Time
}

// Permits are the part of a view about permits.
type Permits struct {
	Permits []api.StatusReportViewPermit
	Queue   []api.StatusReportViewWaiting
	Waiting int32
	Founder string
	// Open is true while a member may start by a permit and has not.
	Open bool
}

// Next decides which members have a permit now, and why the others wait.
func (g *Granter) Next(s *JoinCandidates, by GrantInput) Permits {
	var out Permits
	if by.Stored != nil {
		out.Founder = by.Stored.Founder
	}
	turn := turn{scene: s, by: by, founder: out.Founder,
		active: slices.Clone(s.Strangers), joins: len(s.Strangers) == 0}
	late := latecomers(by.Stored)
	for i := range s.Requests {
		if a := &s.Requests[i]; a.PastBarrier() {
			turn.begins(a)
		}
	}
	held := map[string]bool{}
	out.Permits = g.carry(&turn, late)
	for _, p := range out.Permits {
		held[p.Member] = true
		out.Open = out.Open || !s.applicant(p.Member).PastBarrier()
	}
	ready := map[string]time.Time{}
	var queue []api.StatusReportViewWaiting
	for _, a := range s.inTurn(late) {
		if a.PastBarrier() || held[a.Name()] {
			continue
		}
		why := turn.against(a)
		switch {
		case why.Reason != "":
		case turn.full(a):
			why = waits(a, ahead(s, turn.active), turn.active...)
		case !since(g.ready, ready, a, by, by.Window) || late[a.Name()] == math.MaxInt:
			why = waits(a, words.PermitWaitsForStability)
			turn.begins(a)
		// in parallel to the request's own stabilisation
		case a.Kind == api.PermitJoin && (s.Founding || s.Attempting):
			why = s.waitsForFirst(a)
			turn.begins(a)
		default:
			out.Permits = append(out.Permits, a.permit(by.Now))
			if a.Kind == api.PermitForm {
				out.Founder, turn.founder = a.Name(), a.Name()
			}
			out.Open = true
			turn.begins(a)
			continue
		}
		if a.WaitsInBarrier() && late[a.Name()] > 0 {
			why = waits(a, words.PermitUnused)
		}
		queue = append(queue, why)
	}
	out.Waiting, out.Queue = int32(len(queue)), shortened(queue)
	g.ready = ready
	return out
}

// carry returns the stored permits that stay. A member with a permit that stays unused while others
// wait is added to late: it goes to the end of the queue. A stored permit may be older than the new
// nodes that have started since: etcd was restored, or they are of another Kubernetes cluster.
func (g *Granter) carry(t *turn, late map[string]int) []api.StatusReportViewPermit {
	var out []api.StatusReportViewPermit
	unused := map[string]time.Time{}
	for _, p := range carried(t.by.Stored) {
		a := t.scene.applicant(p.Member)
		if a == nil || a.PodUID() != p.PodUID || a.ClaimUID != p.PVCUID {
			continue // it has joined, or its Pod or its PVC no longer exists
		}
		if why := t.against(a); !a.PastBarrier() &&
			(!a.WaitsInBarrier() || a.Kind != p.Kind || why.Reason != "" || t.full(a)) {
			// withdrawn: its barrier no longer waits, it needs another kind, there is a reason
			// against it, or others have started
			continue
		}
		// No other member may have the permit to bootstrap the cluster.
		if since(g.unused, unused, a, t.by, unusedLimit+2*t.by.Window) && !a.PastBarrier() &&
			p.Kind != api.PermitForm && t.scene.othersWait(a) {
			late[a.Name()] = math.MaxInt
			continue
		}
		if out = append(out, p); !a.PastBarrier() {
			t.begins(a)
		}
	}
	g.unused = unused
	return out
}

// waitsForFirst returns what the first node must do before the second one starts.
func (s *JoinCandidates) waitsForFirst(a *Request) api.StatusReportViewWaiting {
	if s.Founding {
		return waits(a, words.PermitWaitsForFirstNode)
	}
	return waits(a, words.PermitWaitsForCredential, s.Credential.Member)
}

// permit returns the permit that lets the member start.
func (a *Request) permit(now time.Time) api.StatusReportViewPermit {
	return api.StatusReportViewPermit{
		Kind: a.Kind, Member: a.Name(), PVCUID: a.ClaimUID, PodUID: a.PodUID(), Seeds: a.Seeds[:min(16, len(a.Seeds))],
		Since: metav1.NewTime(now.UTC().Truncate(time.Second)),
	}
}

// since stores since when the request is in this state, and reports whether that is at least long
// ago.
func since(was, is map[string]time.Time, a *Request, by GrantInput, long time.Duration) bool {
	key := string(a.Kind) + "/" + a.Name() + "/" + string(a.PodUID()) + "/" + string(a.ClaimUID)
	from, ok := was[key]
	if !ok {
		from = by.Now
	}
	is[key] = from
	return by.Now.Sub(from) >= long
}

func carried(v *api.StatusReportView) []api.StatusReportViewPermit {
	if v == nil {
		return nil
	}
	return v.Permits
}

func (s *JoinCandidates) applicant(member string) *Request {
	for i := range s.Requests {
		if s.Requests[i].Name() == member {
			return &s.Requests[i]
		}
	}
	return nil
}

// ahead returns the state of the active members: waiting for a joining member takes longer than
// waiting for a member whose turn it is.
func ahead(s *JoinCandidates, active []string) words.Code {
	for _, name := range active {
		if a := s.applicant(name); a == nil || a.PastBarrier() {
			return words.PermitWaitsForNewcomer
		}
	}
	return words.PermitWaitsForTurn
}

func waits(a *Request, reason words.Code, nodes ...string) api.StatusReportViewWaiting {
	return api.StatusReportViewWaiting{Member: a.Name(), Kind: a.Kind, Reason: string(reason),
		Nodes: slices.Clone(nodes[:min(3, len(nodes))])}
}

// turn is one step of all requests.
type turn struct {
	scene   *JoinCandidates
	by      GrantInput
	founder string
	active  []string // joining, or permitted to start
	joins   bool     // and all of them are plain joins
}

func (t *turn) begins(a *Request) {
	t.active, t.joins = append(t.active, a.Name()), t.joins && a.Kind == api.PermitJoin
}

// full reports whether no new node may join in addition to the active ones.
func (t *turn) full(a *Request) bool { return len(t.active) >= t.most(a) }

// against returns the reason against a permit for the request, without the other requests; its
// Reason is empty if there is none.
func (t *turn) against(a *Request) api.StatusReportViewWaiting {
	var dead []hostid.ID
	if a.Kind == api.PermitReplace {
		dead = a.MustBeDown()
	}
	notUp := bootstrap.NotUp(t.by.Members, dead)
	switch {
	case t.by.Old:
		return waits(a, words.PermitWaitsForReading)
	case a.Kind == api.PermitForm && t.founder != "" && t.founder != a.Name():
		return waits(a, words.PermitOfFounder, t.founder)
	case a.Kind != api.PermitForm && len(t.by.Members) == 0:
		return waits(a, words.ReportMissing)
	case len(notUp) > 0:
		if behind, ok := t.behind(a, dead); ok {
			return behind
		}
		return waits(a, t.notAsNeeded(dead), notUp...)
	case a.Kind != api.PermitForm && len(t.by.Log.Differ) > 0:
		return waits(a, words.PermitWaitsForSchema, t.by.Log.Differ...)
	case len(t.scene.Leaving) > 0:
		return waits(a, words.PermitWaitsForLeaving, t.scene.Leaving...)
	case !a.WaitsInBarrier():
		return waits(a, words.PermitWaitsForPod)
	case a.Refused != "":
		return waits(a, words.Code(a.Refused), a.Nodes...)
	case a.Later:
		return waits(a, words.PermitWaitsForTurn, t.before(a)...)
	}
	return api.StatusReportViewWaiting{}
}

// notAsNeeded distinguishes a member that is not UP from one that must be DOWN and is not.
func (t *turn) notAsNeeded(dead []hostid.ID) words.Code {
	others := slices.DeleteFunc(slices.Clone(t.by.Members),
		func(m api.StatusReportViewMember) bool { return slices.Contains(dead, hostid.Known(m.HostID)) })
	if len(bootstrap.NotUp(others, nil)) == 0 {
		return words.PermitWaitsForTargetDown
	}
	return words.PermitWaitsForMembers
}

// behind returns the reason that the members in a wrong state are too far behind in the log of
// group 0; false if one of them has another cause.
func (t *turn) behind(a *Request, dead []hostid.ID) (api.StatusReportViewWaiting, bool) {
	var out api.StatusReportViewWaiting
	for i := range t.by.Members {
		m := &t.by.Members[i]
		if len(bootstrap.NotUp(t.by.Members[i:i+1], dead)) == 0 {
			continue
		}
		if m.Cause != api.CauseTrailing || slices.Contains(dead, hostid.Known(m.HostID)) {
			return out, false
		}
		ref := matrix.Ref{Member: m.Name, HostID: hostid.Known(m.HostID)}
		if n := t.by.Log.Behind[key(ref.HostID, ref.Member)]; out.Reason == "" || n > out.Entries {
			out = waits(a, words.PermitWaitsForLog, ref.Name())
			if out.Entries = n; t.by.Log.Leader != "" {
				out.Nodes = append(out.Nodes, t.by.Log.Leader)
			}
		}
	}
	return out, true
}

// before returns the member whose turn comes before this one's.
func (t *turn) before(a *Request) []string {
	for i := range t.scene.Requests {
		if b := &t.scene.Requests[i]; b.WaitsInBarrier() && !b.Later && b.Refused == "" && b.Member != a.Member {
			return []string{b.Name()}
		}
	}
	return nil
}

// most returns how many may join at once, including this member. It exceeds 1 only if all of them
// are plain joins and every version allows it.
func (t *turn) most(a *Request) int {
	if a.Kind == api.PermitJoin && t.joins && a.ImageVersion().SupportsParallelBootstrap() == release.Yes &&
		t.scene.Parallel {
		return max(1, t.by.Most)
	}
	return 1
}
