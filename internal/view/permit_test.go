// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const window = 10 * time.Second

// play is a controller's memory, what the API server has, and a cluster that a test changes.
type play struct {
	granter view.Granter
	scene   view.JoinCandidates
	members []api.StatusReportViewMember
	stored  *api.StatusReportView
	most    int
	old     bool
	log     view.Log
	now     time.Time
}

func up(names ...string) []api.StatusReportViewMember {
	var out []api.StatusReportViewMember
	for _, n := range names {
		out = append(out, api.StatusReportViewMember{Name: n, HostID: idOf(n), State: api.NodeStatusUp})
	}
	return out
}

// idOf is a host ID of the member's own.
func idOf(name string) string {
	return fmt.Sprintf("%08x-0000-4000-8000-000000000000", []byte(name + "+")[:4])
}

// applicant waits in its barrier.
func applicant(member string, kind api.PermitKind) view.Request {
	r := view.Request{
		Member: &cluster.Member{Ref: matrix.Ref{Member: member}, Service: &corev1.Service{}}, Kind: kind, ClaimUID: types.UID("claim-" + member),
	}
	newPod(r, "pod-"+member)
	return r
}

// newPod is one that waits in its barrier, of an image that can join beside others.
func newPod(r view.Request, uid string) {
	r.Pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)}, Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: api.ContainerBarrier}},
		Containers:     []corev1.Container{{Name: api.ContainerScyllaDB, Image: "scylladb/scylla:2026.2.0"}},
	}}
	barrier(r, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
}

// barrier is the state of its Pod's.
func barrier(r view.Request, state corev1.ContainerState) {
	r.Pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerBarrier, State: state}}
}

// opens is a barrier that lets its Pod through.
func opens(r view.Request) {
	barrier(r, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}})
}

// replaces is an applicant in the place of a node.
func replaces(member, dead string) view.Request {
	r := applicant(member, api.PermitReplace)
	r.Service.Labels = map[string]string{api.LabelReplacingNodeHostID: idOf(dead)}
	return r
}

func joins(members ...string) *play {
	p := &play{members: up("a-0", "b-0", "c-0"), stored: &api.StatusReportView{}, now: start}
	for _, m := range members {
		p.scene.Requests = append(p.scene.Requests, applicant(m, api.PermitJoin))
	}
	return p
}

// next settles once more and persists it.
func (p *play) next() view.Permits {
	got := p.granter.Next(&p.scene, view.GrantInput{Members: p.members, Old: p.old, Stored: p.stored, Most: p.most, Log: p.log, Window: window, Now: p.now})
	p.stored = &api.StatusReportView{Policy: api.PolicyPermits, Permits: got.Permits, Queue: got.Queue, Waiting: got.Waiting, Founder: got.Founder}
	return got
}

// pass lets time go by, with a look every two seconds.
func (p *play) pass(d time.Duration) view.Permits {
	p.next()
	for end := p.now.Add(d); p.now.Before(end); {
		p.now = p.now.Add(view.Interval)
		p.next()
	}
	return p.next()
}

func holders(p view.Permits) []string {
	var out []string
	for _, x := range p.Permits {
		out = append(out, x.Member)
	}
	return out
}

func reasons(p view.Permits) []string {
	var out []string
	for _, x := range p.Queue {
		out = append(out, fmt.Sprint(x.Member, " ", x.Reason, " ", x.Nodes))
	}
	return out
}

func wantHolders(t *testing.T, p view.Permits, want ...string) {
	t.Helper()
	if got := holders(p); !slices.Equal(got, want) {
		t.Errorf("permits of %v, want %v; queue %q", got, want, reasons(p))
	}
}

// A member whose barrier has opened without a permit is joining: by force, or under policy reports. Until it has joined no other one gets a permit.
func TestAMemberThatPassedWithoutAPermitIsJoining(t *testing.T) {
	p := joins("b-1", "c-1")
	opens(p.scene.Requests[1])
	got := p.pass(time.Minute)
	wantHolders(t, got)
	if want := "b-1 PermitWaitsForNewcomer [c-1]"; !slices.Equal(reasons(got), []string{want}) {
		t.Errorf("queue %q, want %q", reasons(got), want)
	}
	p.scene.Requests = p.scene.Requests[:1] // it has joined
	wantHolders(t, p.pass(window), "b-1")
}

// A join needs members that are seen UP; a view without any has none.
func TestNoJoinIsPermittedWithoutMembers(t *testing.T) {
	for _, kind := range []api.PermitKind{api.PermitJoin, api.PermitReplace} {
		p := joins("b-1")
		p.scene.Requests[0].Kind, p.members = kind, nil
		got := p.pass(time.Minute)
		wantHolders(t, got)
		if want := "b-1 ReportMissing []"; !slices.Equal(reasons(got), []string{want}) {
			t.Errorf("%s: queue %q, want %q", kind, reasons(got), want)
		}
	}
}

// The window is one of the Pod with its volume: a PVC that was recreated under the same Pod, or a new Pod, begins it again.
func TestTheWindowBeginsAgainWithAnotherVolume(t *testing.T) {
	for name, change := range map[string]func(*view.Request){
		"the PVC": func(r *view.Request) { r.ClaimUID = "another" },
		"the Pod": func(r *view.Request) { newPod(*r, "another") },
	} {
		p := joins("b-1")
		p.pass(window - view.Interval)
		change(&p.scene.Requests[0])
		p.now = p.now.Add(view.Interval)
		if got := p.next(); len(got.Permits) > 0 {
			t.Errorf("%s is another one, and has the window of the one before", name)
		}
		wantHolders(t, p.pass(window), "b-1")
	}
}

// No member has a permit before all conditions have held for the window without interruption.
func TestAPermitIsGivenAfterTheWindowAndNotBefore(t *testing.T) {
	p := joins("b-1")
	p.next()
	wantHolders(t, p.pass(8*time.Second))
	p.members[0].State = api.NodeStatusUnknown
	p.next()
	p.members[0].State = api.NodeStatusUp
	p.next()
	wantHolders(t, p.pass(8*time.Second)) // it broke, and begins anew
	wantHolders(t, p.pass(2*time.Second), "b-1")
	got := p.stored.Permits[0]
	if got.Kind != api.PermitJoin || got.PVCUID != "claim-b-1" || got.PodUID != "pod-b-1" {
		t.Errorf("permit %+v", got)
	}
}

// One at a time, in their order; the next one's window begins when the one before has joined.
func TestPermitsGoRoundOneAfterTheOther(t *testing.T) {
	p := joins("a-1", "b-1", "c-1")
	wantHolders(t, p.pass(window), "a-1")
	if got, want := reasons(p.next()), []string{"b-1 PermitWaitsForTurn [a-1]", "c-1 PermitWaitsForTurn [a-1]"}; !slices.Equal(got, want) {
		t.Errorf("queue %q, want %q", got, want)
	}
	opens(p.scene.Requests[0])
	wantHolders(t, p.pass(time.Hour), "a-1")
	if got := reasons(p.next()); got[0] != "b-1 PermitWaitsForNewcomer [a-1]" {
		t.Errorf("queue %q", got)
	}
	// It has joined.
	p.scene.Requests = p.scene.Requests[1:]
	p.members = up("a-0", "a-1", "b-0", "c-0")
	wantHolders(t, p.next())
	wantHolders(t, p.pass(8*time.Second))
	wantHolders(t, p.pass(2*time.Second), "b-1")
}

// A permit is withdrawn at once when the view turns, and no other member gets one meanwhile. It comes back after the whole window.
func TestAPermitIsWithdrawnAtOnceWhenTheViewTurns(t *testing.T) {
	for name, turn := range map[string]func(*play){
		"a member is DOWN":        func(p *play) { p.members[1].State = api.NodeStatusDown },
		"a member is UNKNOWN":     func(p *play) { p.members[1].State = api.NodeStatusUnknown },
		"a rollout begins":        func(p *play) { p.scene.Requests[0].Refused = string(words.RolloutInProgress) },
		"a node leaves":           func(p *play) { p.scene.Leaving = []string{"c-0"} },
		"nobody reads any more":   func(p *play) { p.old = true },
		"its claim is another":    func(p *play) { p.scene.Requests[0].ClaimUID = "another" },
		"its Pod is another":      func(p *play) { p.scene.Requests[0].Pod.UID = "another" },
		"its barrier has crashed": func(p *play) { barrier(p.scene.Requests[0], corev1.ContainerState{}) },
		"another one has started": func(p *play) { opens(p.scene.Requests[1]) }, // and its permit is lost with etcd
		"a node joins elsewhere":  func(p *play) { p.scene.Strangers = []string{"far-0"} },
	} {
		t.Run(name, func(t *testing.T) {
			p := joins("a-1", "b-1")
			wantHolders(t, p.pass(window), "a-1")
			turn(p)
			wantHolders(t, p.next())
			if name == "a member is DOWN" {
				p.members[1].State = api.NodeStatusUp
				wantHolders(t, p.pass(window-3*time.Second))
				wantHolders(t, p.pass(4*time.Second), "a-1")
			}
		})
	}
}

// A permit survives while its holder is on its way in, whatever the view says: what has begun cannot be called back. It ends with its Pod or its claim.
func TestAPermitSurvivesWhileItsHolderJoins(t *testing.T) {
	p := joins("a-1", "b-1")
	p.pass(window)
	opens(p.scene.Requests[0])
	p.members[2].State = api.NodeStatusDown
	wantHolders(t, p.pass(time.Hour), "a-1")
	p.members[2].State = api.NodeStatusUp
	wantHolders(t, p.pass(time.Hour), "a-1")
	p.scene.Requests[0].Pod = nil
	wantHolders(t, p.next())
	wantHolders(t, p.pass(window), "b-1") // one without a Pod holds up no other
}

// A newcomer that came later and is before it in the order does not take a permit away.
func TestANewcomerAheadTakesNoPermitAway(t *testing.T) {
	p := joins("b-1")
	wantHolders(t, p.pass(window), "b-1")
	p.scene.Requests = slices.Insert(p.scene.Requests, 0, applicant("a-1", api.PermitJoin))
	wantHolders(t, p.pass(window), "b-1")
}

// A replacement needs the replaced and the ignored nodes DOWN, and all other nodes UP.
func TestAReplacementNeedsItsNodesDownAndAllOthersUp(t *testing.T) {
	tests := map[string]struct {
		states string // of a-0, b-0, c-0; b-0 is replaced
		want   []string
	}{
		"only the replaced one is DOWN": {"UP DOWN UP", []string{"b-0"}},
		"another one is DOWN":           {"UP DOWN DOWN", nil},
		"another one is UNKNOWN":        {"UNKNOWN DOWN UP", nil},
		"the replaced one is UP":        {"UP UP UP", nil},
		"the replaced one is UNKNOWN":   {"UP UNKNOWN UP", nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := joins()
			p.scene.Requests = []view.Request{replaces("b-0", "b-0"), applicant("a-1", api.PermitJoin)}
			var s [3]string
			_, _ = fmt.Sscan(tc.states, &s[0], &s[1], &s[2])
			for i := range s {
				p.members[i].State = api.NodeStatus(s[i])
			}
			got := p.pass(window)
			if name == "the replaced one is UP" { // the plain newcomer may join then
				tc.want = []string{"a-1"}
			}
			wantHolders(t, got, tc.want...)
		})
	}
}

// The first node's permit goes to one member for ever, across controllers: one that crashed gets it again, and no other.
func TestACrashedFirstBootGetsItsOwnFormPermitAgainAndNobodyElse(t *testing.T) {
	p := &play{now: start}
	p.scene.Requests = []view.Request{applicant("a-0", api.PermitForm), applicant("b-0", api.PermitForm)}
	p.scene.Requests[1].Refused = string(words.FirstNodePending)
	wantHolders(t, p.pass(window), "a-0")
	// Its Pod is gone, and by then another member would be the first.
	p.scene.Requests[0].Pod = nil
	p.scene.Requests[1].Refused = ""
	p.granter = view.Granter{} // another controller
	wantHolders(t, p.pass(time.Hour))
	if got := reasons(p.next()); got[1] != "b-0 PermitOfFounder [a-0]" {
		t.Errorf("queue %q", got)
	}
	p.scene.Requests[0] = applicant("a-0", api.PermitForm)
	p.scene.Requests[0].Pod.UID = "pod-2"
	wantHolders(t, p.pass(window), "a-0")
}

// Several only where the flag says so, all are plain joins, and every version allows it.
func TestSeveralAtOnceOnlyWhereEveryVersionAllowsIt(t *testing.T) {
	p := joins("a-1", "b-1", "c-1")
	p.most, p.scene.Parallel = 2, true
	wantHolders(t, p.pass(window), "a-1", "b-1")
	p = joins("a-1", "b-1", "c-1")
	p.most = 2
	wantHolders(t, p.pass(window), "a-1")
	p = joins("a-1", "b-1")
	p.most, p.scene.Parallel = 2, true
	p.scene.Requests[1].Pod.Spec.Containers[0].Image = "scylladb/scylla:2026.1.0"
	wantHolders(t, p.pass(window), "a-1")
	p = joins("a-1")
	p.most, p.scene.Parallel, p.scene.Strangers = 2, true, []string{"x"}
	wantHolders(t, p.pass(window))
}

// Whatever happens, in whatever order, with controllers that change and writes that are lost: never more permits than allowed, never a second founder, never a
// permit while a member is DOWN or UNKNOWN, and always the first one of those that could.
func TestPermitsAreSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &play{now: start, most: rapid.IntRange(1, 3).Draw(t, "most")}
		p.scene.Parallel = rapid.Bool().Draw(t, "parallel")
		form := rapid.Bool().Draw(t, "new cluster")
		names := []string{"a-1", "b-1", "c-1"}
		for _, n := range names {
			kind := api.PermitJoin
			if form {
				kind = api.PermitForm
			}
			p.scene.Requests = append(p.scene.Requests, applicant(n, kind))
		}
		if !form {
			p.members = up("a-0", "b-0")
		}
		founder, pods := "", 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			p.now = p.now.Add(view.Interval)
			a := &p.scene.Requests[rapid.IntRange(0, 2).Draw(t, "who")]
			switch rapid.IntRange(0, 9).Draw(t, "what") { // rapid draws small numbers more often: mostly time passes
			case 9:
				p.granter = view.Granter{}
			case 8:
				if len(p.members) > 0 {
					p.members[rapid.IntRange(0, 1).Draw(t, "member")].State = rapid.SampledFrom([]api.NodeStatus{api.NodeStatusUp, api.NodeStatusDown, api.NodeStatusUnknown}).Draw(t, "state")
				}
			case 7: // a new Pod
				pods++
				newPod(*a, fmt.Sprint("pod", pods))
			case 3: // its barrier opens, if it may
				if p.stored != nil && slices.Contains(holders(view.Permits{Permits: p.stored.Permits}), a.Name()) {
					opens(*a)
				}
			case 6:
				a.ClaimUID = types.UID(fmt.Sprint("claim", pods))
			case 4, 5:
				a.Refused = rapid.SampledFrom([]string{"", "", string(words.FirstNodePending)}).Draw(t, "refused")
			}
			before := p.stored
			got := p.granter.Next(&p.scene, view.GrantInput{Members: p.members, Stored: p.stored, Most: p.most, Log: p.log, Window: window, Now: p.now})
			most := 1
			if p.scene.Parallel && !form {
				most = p.most
			}
			if len(got.Permits) > most {
				t.Fatalf("%d permits, at most %d: %v", len(got.Permits), most, holders(got))
			}
			allUp := !slices.ContainsFunc(p.members, func(m api.StatusReportViewMember) bool { return m.State != api.NodeStatusUp })
			for _, x := range got.Permits {
				i := slices.IndexFunc(p.scene.Requests, func(a view.Request) bool { return a.Name() == x.Member })
				a := p.scene.Requests[i]
				if !a.PastBarrier() && (!allUp || a.Refused != "") {
					t.Fatalf("%s may start, and it is not so that all are UP and nothing speaks against it: %+v, %q", x.Member, p.members, a.Refused)
				}
				if x.PVCUID != a.ClaimUID || x.PodUID != a.PodUID() {
					t.Fatalf("permit %+v of %+v", x, a)
				}
				if was := before != nil && slices.Contains(holders(view.Permits{Permits: before.Permits}), x.Member); was {
					continue
				}
				for _, b := range p.scene.Requests[:i] { // no applicant before it could have it as well and has none
					if !b.PastBarrier() && b.WaitsInBarrier() && b.Refused == "" && !slices.Contains(holders(got), b.Name()) &&
						(!form || got.Founder == "" || got.Founder == b.Name()) && !slices.ContainsFunc(got.Queue, func(w api.StatusReportViewWaiting) bool {
						return w.Member == b.Name() && w.Reason == "PermitWaitsForStability"
					}) {
						t.Fatalf("%s came before %s: %q", x.Member, b.Name(), reasons(got))
					}
				}
			}
			if rapid.IntRange(0, 4).Draw(t, "write") == 0 {
				continue // the write is refused: no reader has seen it
			}
			if form && got.Founder != "" {
				if founder != "" && founder != got.Founder {
					t.Fatalf("%s and %s had a permit to found the cluster", founder, got.Founder)
				}
				founder = got.Founder
			}
			p.stored = &api.StatusReportView{Permits: got.Permits, Queue: got.Queue, Founder: got.Founder}
		}
	})
}

// A barrier that does not open keeps its permit from the others for minutes at most: then it is the last in the queue, and those before it join.
func TestAnUnusedPermitGoesToTheNext(t *testing.T) {
	t.Parallel()
	const limit = 3*time.Minute + 2*window
	p := joins("a-1", "b-1", "c-1")
	wantHolders(t, p.pass(window), "a-1")
	wantHolders(t, p.pass(limit-view.Interval), "a-1")
	wantHolders(t, p.pass(view.Interval))
	if got, want := reasons(p.next()), []string{"b-1 PermitWaitsForStability []", "c-1 PermitWaitsForTurn [b-1]", "a-1 PermitUnused []"}; !slices.Equal(got, want) {
		t.Errorf("queue %q, want %q", got, want)
	}
	wantHolders(t, p.pass(window), "b-1")
	p.granter = view.Granter{} // another controller
	opens(p.scene.Requests[1])
	wantHolders(t, p.pass(time.Hour), "b-1") // it joins
	p.scene.Requests = slices.Delete(p.scene.Requests, 1, 2)
	wantHolders(t, p.pass(window), "c-1")
	wantHolders(t, p.pass(limit+window), "a-1") // two that cannot open take turns
	wantHolders(t, p.pass(limit+window), "c-1")
	p.scene.Requests = slices.DeleteFunc(p.scene.Requests, func(r view.Request) bool { return r.Name() == "c-1" })
	wantHolders(t, p.pass(window), "a-1")
	wantHolders(t, p.pass(time.Hour), "a-1") // nobody else waits
}

func TestAnUnusedPermitThatNoOtherMemberCouldUseStays(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*play){
		"the others cannot start":   func(p *play) { p.scene.Requests[1].Refused = string(words.NoOtherSeed) },
		"the other's Pod is absent": func(p *play) { p.scene.Requests[1].Pod = nil },
		"it has started":            func(p *play) { opens(p.scene.Requests[0]) },
		"the first node of all": func(p *play) {
			p.members = nil
			for i := range p.scene.Requests {
				p.scene.Requests[i].Kind = api.PermitForm
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := joins("a-1", "b-1")
			if name != "it has started" {
				change(p)
			}
			wantHolders(t, p.pass(window), "a-1")
			change(p)
			wantHolders(t, p.pass(time.Hour), "a-1")
		})
	}
}

// A new Pod of the member has a barrier of its own, and its turn is the ordinary one.
func TestANewPodTakesItsTurnAgain(t *testing.T) {
	t.Parallel()
	p := joins("a-1", "b-1")
	p.pass(window)
	wantHolders(t, p.pass(3*time.Minute+2*window))
	p.scene.Requests[0].Pod = nil
	p.next()
	newPod(p.scene.Requests[0], "pod-2")
	if got, want := reasons(p.next()), []string{"a-1 PermitWaitsForStability []", "b-1 PermitWaitsForTurn [a-1]"}; !slices.Equal(got, want) {
		t.Errorf("queue %q, want %q", got, want)
	}
}

// However long the queue is, it records who has left a permit unused.
func TestTheQueueKeepsThoseThatLeftAPermitUnused(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprintf("m-%03d", i))
	}
	p := joins(names...)
	p.pass(window)
	got := p.pass(3*time.Minute + 2*window)
	if queue := reasons(got); len(queue) != 64 || queue[63] != "m-000 PermitUnused []" || got.Waiting != 100 {
		t.Errorf("%d waiting, queue of %d: %q", got.Waiting, len(queue), queue)
	}
	wantHolders(t, p.pass(window), "m-001")
}
