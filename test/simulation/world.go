// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/kubectl-scylla/kubectl-scylla/controller/scope"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
)

// Rule is the rule that holds newcomers back.
type Rule string

const (
	Permits  Rule = "permits"         // this repository's barrier, launcher and controller, policy permits
	Reports  Rule = "reports"         // and policy reports
	Operator Rule = "scylla-operator" // the Scylla Operator's barrier, seeds, report and replacement

	// Bugs that are planted, so that a test sees the invariants fail.
	AlwaysOpen Rule = "always-open" // the barrier lets every node through
	Delay      Rule = "delay"       // it lets each node through after a minute
	NeverOpen  Rule = "never-open"  // and none
)

type Options struct {
	Seed  uint64
	Rule  Rule
	Off   []Off // protections that do nothing
	Trace bool  // keep what happened
	// Patience is after how long every node has to be well when all faults have ended; three hours when zero.
	Patience time.Duration
	// Hole makes no faults but one, again and again: no reporter reaches the API server, a node dies, and a newcomer comes.
	Hole bool
	// Story, when set, is all that happens: no fault is drawn, and no person looks.
	Story *Story
	// Schedule, when set, has all that goes wrong: a cluster of three to six is scaled up.
	Schedule []Placed
	// Mum reporters say neither that they could not write their row, nor what it is.
	Mum bool
	// World is one of years, or Wide; empty for the adversarial one: all that can go wrong, in half an hour.
	World string
	// PerRack is how many nodes each of the three racks has at most, where the world is not a year; three when zero.
	PerRack int32
	// Policy is the health policy in the cluster's report under policy permits; the standard one when nil.
	Policy *api.StatusReportHealthPolicy
}

type Result struct {
	Seed       uint64
	Violations []string
	Counts
	// Kinds counts what went wrong, by kind: of a year and of the faults that were added last.
	Kinds map[string]int
	Trace []string
}

// Counts of one run, or of many.
type Counts struct {
	// Unsafe joins, second clusters, Pods that waited for ever, and views that went backwards.
	Unsafe, SecondClusters, EndlessWaits, Backwards int
	// Unpermitted: starts without leave under policy permits. Together: starts while another newcomer was on its way in.
	Unpermitted, Together int
	// WrongStarts: gates that opened although what they read last, or could have read, forbade it.
	WrongStarts int
	// Let through: joins and replacements that the barrier opened for. Joined of them became members. Lost were cancelled or rolled back because of a
	// node that went down when it was too late.
	LetThrough, Joined, Lost int
	Faults                   int
	Outcomes
}

// Failed is true when an invariant does not hold.
func (r *Result) Failed() bool { return len(r.Violations) > 0 }

var start = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

type world struct {
	Options
	dice
	now    time.Time
	queue  queue
	seq    int
	result Result
	over   bool

	places map[string]scope.Place // of each host ID that was ever drawn

	version  int    // of the API server's objects: each write adds one
	versions [7]int // of the last write of each of cluster.Kinds, and of elsewhere
	// the version that the StatefulSet controller has worked on, and the one in which replacements were judged last, with when
	setsSeen, replaceSeen int
	replaceJudged         time.Time
	uids                  int
	sets                  []*set
	service               map[string]*corev1.Service
	pods                  map[string]*pod
	claims                map[string]*claim
	machine               []*machine
	reports               []api.ScyllaDBDatacenterNodesStatusReport
	status                *api.ScyllaDBStatusReport
	reportsMade           int
	lease                 *coordinationv1.Lease
	podNames              names[*pod]
	serviceNames          names[*corev1.Service]
	claimNames            names[*claim]
	decoder               *cluster.Decoder
	shelf                 shelf
	judged                judged
	ips                   int

	groups []*group
	procs  []*process // that run
	// bearers of each host ID: those of procs that have it
	bearers map[string][]*process
	ghosts  map[string][]*ghost
	part    map[string]int  // member -> side of a network partition; 0 for those that reach every member of side 0
	cut     map[string]bool // member whose machine does not reach the API server
	cutAt   map[string]time.Time

	control controller
	limits  api.StatusReportHealthPolicy
	net     network
	wider   wider
	extra   dice // of what was added last, so that the rest of a seed draws as it did
	early   early
	year    year

	adversary adversary
	eye       observer
	skew      map[string]time.Duration // of clocks

	highest     order // of the views that the API server has had
	highestView *api.StatusReportView
	watcher     watcher
	written     map[types.UID]view.Stamp // the newest view that each cluster report has had
	granted     map[string]types.UID     // member -> claim, by the latest view
	withdrawn   map[string]time.Time     // when a member's permit ended
	notUp       map[string]sighted       // host ID -> when a view that was written had it as not UP last
	stood       time.Time                // when a view was written last

	healed                   bool
	rowsWritten, viewWritten time.Time // of a story's reports

	follower follower
	careless bool // a fault does what no printed step says

	lost    map[string]bool // member whose data is gone for ever and has not been replaced or removed
	trouble map[string]time.Time
}

// event is one thing to do; of those at one moment the one that was asked for first comes first.
type event struct {
	at  time.Duration // since start
	seq int
	do  func()
}

// queue is sorted. Package container/heap would allocate for each event, and most of what a seed does is small.
type queue []event

func (q *queue) push(e event) {
	at, _ := slices.BinarySearchFunc(*q, e, func(a, b event) int { return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(b.seq, a.seq)) })
	*q = slices.Insert(*q, at, e)
}

func (q queue) next() *event { return &q[len(q)-1] }

func (q *queue) pop() event {
	e := *q.next()
	*q.next() = event{}
	*q = (*q)[:len(*q)-1]
	return e
}

func (w *world) after(d time.Duration, do func()) {
	w.seq++
	w.queue.push(event{w.now.Sub(start) + d, w.seq, do})
}

// every calls do again and again, the first time after d.
func (w *world) every(d time.Duration, do func()) {
	var again func()
	again = func() {
		do()
		w.after(d, again)
	}
	w.after(d, again)
}

// dice draw for one purpose, so that what goes wrong for one draws nothing from the rest of a seed: the same seed under another rule has the same kills, rollouts
// and partitions.
type dice struct{ *rand.Rand }

func newDice(o *Options, purpose uint64) dice { return dice{rand.New(rand.NewPCG(o.Seed, purpose))} }

func (d dice) between(low, high time.Duration) time.Duration { return lasts(d.Rand, low, high) }

func (d dice) chance(p float64) bool { return d.Float64() < p }

func pick[T any](w *world, list []T) T { return pickBy(w.Rand, list) }

func (w *world) tracef(format string, args ...any) {
	if w.Trace {
		w.result.Trace = append(w.result.Trace, fmt.Sprintf("%8s  ", w.now.Sub(start).Round(100*time.Millisecond))+fmt.Sprintf(format, args...))
	}
}

// violate counts an invariant that does not hold.
func (w *world) violate(count *int, format string, args ...any) {
	*count++
	text := fmt.Sprintf(format, args...)
	w.tracef("VIOLATION: %s", text)
	w.result.Violations = append(w.result.Violations, fmt.Sprintf("at %s: ", w.now.Sub(start).Round(time.Second))+text)
}

// wrote counts a write to the API server.
func (w *world) wrote(kinds cluster.Kinds) {
	w.version++
	for i := range w.versions {
		if kinds&(1<<i) != 0 {
			w.versions[i] = w.version
		}
	}
}

// since is what has been written after that version.
func (w *world) since(version int) (kinds cluster.Kinds) {
	for i, v := range w.versions {
		if v > version {
			kinds |= 1 << i
		}
	}
	return kinds
}

func (w *world) uid() string {
	w.uids++
	if w.Story != nil {
		return fmt.Sprintf("%08x-0000-4000-8000-%012x", 0x5a000000+w.uids*0x10101, w.uids)
	}
	return fmt.Sprintf("uid-%d", w.uids)
}

// hostID draws a random one, as ScyllaDB does.
func (w *world) hostID() string {
	if w.Story != nil {
		return w.Story.HostID(len(w.places))
	}
	a, b := w.Uint64(), w.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", a>>32, a>>16&0xffff, a&0xfff, b>>48&0xfff, b&0xffffffffffff)
}

func Run(o Options) Result {
	w := newWorld(o)
	w.begin()
	w.run()
	return w.result
}

func newWorld(o Options) *world {
	w := &world{
		Options: o, dice: newDice(&o, 0x5c711a), now: start, service: map[string]*corev1.Service{}, pods: map[string]*pod{},
		claims: map[string]*claim{}, places: map[string]scope.Place{}, bearers: map[string][]*process{}, ghosts: map[string][]*ghost{}, part: map[string]int{}, cut: map[string]bool{}, cutAt: map[string]time.Time{}, lost: map[string]bool{},
		trouble: map[string]time.Time{}, skew: map[string]time.Duration{},
		written: map[types.UID]view.Stamp{}, granted: map[string]types.UID{}, withdrawn: map[string]time.Time{}, notUp: map[string]sighted{}, decoder: &cluster.Decoder{},
	}
	w.year.size = years[o.World]
	w.result.Seed, w.result.Kinds, w.limits = o.Seed, map[string]int{}, *cmp.Or(o.Policy, healthpolicy.Standard(view.Stabilisation, 0))
	w.eye = observer{map[string]time.Time{}, map[string]could{}, map[*process]began{}}
	if w.without(OffGrantWindow) {
		p := w.limits
		p.Stabilisation.Duration = 0
		w.Policy = &p
	}
	w.extra = newDice(&o, 0x1ea5e)
	return w
}

func (w *world) run() {
	for len(w.queue) > 0 && !w.over {
		e := w.queue.pop()
		w.now = start.Add(e.at)
		e.do()
	}
}

// begin makes the cluster, all its actors, and what goes wrong.
func (w *world) begin() {
	if w.Schedule != nil {
		w.besiege()
		return
	}
	w.networkFaults()
	w.reportFaults()
	w.earlyFaults()
	w.makeCluster()
	w.actors()
	w.every(15*time.Second, w.people)
	if w.yearly() {
		w.beginYear()
		return
	}
	w.every(10*time.Second, w.watchdog)
	w.schedule()
	w.crowd()
	w.widen()
}

// actors are all that works by itself.
func (w *world) actors() {
	w.every(time.Second, w.statefulSets)
	w.every(time.Second, w.kubelets)
	w.every(time.Second, w.coordinate)
	if w.permits() {
		w.every(time.Second, w.lead)
		w.every(3*time.Second, w.follow)
	} else {
		w.every(time.Second, w.controllerTick)
	}
	w.every(2*time.Second, w.replacements)
	w.every(time.Second, w.barriers)
	w.every(time.Second, w.launchers)
	w.every(time.Second, w.observe)
}

// sorted keys, for maps have no order and a seed must replay.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// names are the sorted keys of one map, made again after changed. They are never written, so that a loop over them may add to and delete from the map.
type names[V any] struct {
	sorted []string
	is     bool
}

func (n *names[V]) changed() { n.is = false }

func (n *names[V]) of(m map[string]V) []string {
	if !n.is {
		n.sorted, n.is = sortedKeys(m), true
	}
	return n.sorted
}

// mostSkew is how far a clock may be off, to either side.
const mostSkew = 4 * time.Minute

// person is the name of the people's clock.
const person = "person"

// clock is the time of an actor's clock: a machine's, a controller's, a person's. It runs as the world's does, and is off by what is drawn for it once. Moments
// that are only ever compared with moments of the same process are the world's own. With the Scylla Operator's rule, and in every third seed, all clocks agree.
func (w *world) clock(who string) time.Time {
	if w.Rule == Operator || w.Seed%3 == 0 || w.yearly() {
		return w.now.Add(w.wider.jumped[who])
	}
	off, known := w.skew[who]
	if !known {
		h := fnv.New64a()
		_, _ = h.Write([]byte(who)) // a hash never fails
		off = time.Duration(rand.New(rand.NewPCG(w.Seed, h.Sum64())).Int64N(int64(2*mostSkew))) - mostSkew
		w.skew[who] = off
	}
	return w.now.Add(off + w.wider.jumped[who])
}

// clock of the machine that the Pod is on.
func (p *pod) clock(w *world) time.Time {
	if p.machine == nil {
		return w.now
	}
	return w.clock(p.machine.name)
}

// processClock is the clock of one process. Nothing in a simulation waits by it.
type processClock struct {
	clock.WithTicker
	w   *world
	who string
}

func (c processClock) Now() time.Time                  { return c.w.clock(c.who) }
func (c processClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
