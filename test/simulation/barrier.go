// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"cmp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/launch"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/gate"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// query is the answer of the init containers before the barrier about the volume. It stays in the Pod's emptyDir when a container is restarted.
type query struct {
	disk   bootstrap.Bootstrapped
	volume bootstrap.Volume
	hostID string
}

// silentQuery: in one of so many seeds the query of system.local never answers, as before 2025.2, or where it is killed.
const silentQuery = 4

// silent is true in a world whose disks never return their host IDs.
func (w *world) silent() bool {
	return w.Seed%silentQuery == 0 && w.Rule != Operator && !w.yearly() || w.without(OffHostID) || !versions[w.wider.image].SSTableQuery()
}

// query is the query of system.local (3.3): what was not flushed, it does not see (3.4).
func (w *world) query(d *disk) query {
	q := query{disk: bootstrap.BootstrappedNo, volume: bootstrap.VolumeUsed}
	switch {
	case d.id == "" && !w.without(OffFiles):
		return query{disk: bootstrap.BootstrappedUnknown, volume: bootstrap.VolumeEmpty}
	case !d.row || w.silent():
		q.disk = bootstrap.BootstrappedUnknown // no SSTable to load, or no tool to load it
	case d.flushed:
		q.disk, q.hostID = bootstrap.BootstrappedYes, d.id
	default:
		q.hostID = d.id
	}
	return q
}

// barrier is the init container of one Pod, or its launcher: the shipped gate, which reads this world.
type barrier struct {
	gate    *gate.Gate
	reads   *reads
	verdict bootstrap.Verdict
	version int       // of the objects at the last judgement
	next    time.Time // when it judges again without a change
	last    order     // of the views that it went by, for the invariants
}

// opening is the moment in which a barrier let a Pod through.
type opening struct {
	member   string
	at       time.Time
	decision bootstrap.Decision
}

func (p *pod) decision() string {
	if p.opened == nil {
		return "nobody"
	}
	return string(p.opened.decision)
}

// barriers is one second of every barrier.
func (w *world) barriers() {
	for _, name := range w.podNames.of(w.pods) {
		p := w.pods[name]
		if p == nil || p.stage != atBarrier || p.deleting || p.machine.off {
			continue
		}
		if w.judge(p) {
			w.open(p)
		}
	}
}

// say writes to the Pod what its gate has to say; the annotation goes when it opens.
func (w *world) say(p *pod) {
	b := p.barrier
	if b.gate == nil {
		return
	}
	text, due := b.gate.Annotate(b.verdict)
	switch {
	case !due:
		return
	case w.isCut(p):
		b.verdict = b.gate.Annotated(b.verdict, unreachable(), false)
		return
	}
	edit(w, &p.obj, func(o *corev1.Pod) {
		if metav1.SetMetaDataAnnotation(&o.ObjectMeta, api.AnnotationBarrier, text); text == "" {
			delete(o.Annotations, api.AnnotationBarrier)
		}
	})
	b.verdict = b.gate.Annotated(b.verdict, nil, false)
}

func (w *world) open(p *pod) {
	v := p.barrier.verdict
	p.opened = &opening{member: p.name, at: w.now, decision: v.Decision}
	w.judgePermit(p, v.Decision)
	switch v.Decision {
	case bootstrap.DecisionAllUp, bootstrap.DecisionGenesis, bootstrap.DecisionReplacing:
		w.result.LetThrough++
	}
	w.tracef("%s: barrier opens: %s (%s)", p.name, v.Decision, v.Summary.Code)
	p.stage, p.launcher = launching, launcher{next: w.now.Add(w.between(time.Second, 3*time.Second))}
	w.cutLauncher(p)
	w.cross(p, Opening)
}

// judge is true when the barrier opens.
func (w *world) judge(p *pod) bool {
	b := p.barrier
	switch w.Rule {
	case AlwaysOpen, Delay:
		if b.next.IsZero() && w.Rule == Delay && p.stage == atBarrier {
			b.next = w.now.Add(time.Minute)
		}
		b.verdict = bootstrap.Verdict{Satisfied: !w.now.Before(b.next), Decision: bootstrap.DecisionAllUp}
		return b.verdict.Satisfied
	case NeverOpen:
		return false
	case Operator:
		b.verdict = w.operatorJudges(p)
		return b.verdict.Satisfied
	}
	if b.gate == nil {
		self := w.self(p)
		b.reads = &reads{w: w, p: p, record: record{just: self.Just}}
		b.gate = gate.New(self, b.reads)
	}
	b.reads.until, b.reads.told = w.now.Add(judgeTimeout), nil
	if v, ok, _ := b.gate.Restart(); ok {
		b.verdict = v
		return v.Satisfied
	}
	changed := w.since(b.version) & watched
	if changed == 0 && w.now.Before(b.next) {
		return false
	}
	b.version = w.version
	b.reads.began = b.reads.n
	v := b.gate.Judge(changed)
	if p.barrier != b || w.pods[p.name] != p {
		return false // its container ended meanwhile
	}
	b.next = w.now.Add(v.Pause)
	if w.Trace && v.Summary.Key() != b.verdict.Summary.Key() {
		w.tracef("%s: barrier: %s", p.name, v.Summary.Key())
	}
	b.verdict = v
	w.judgeOrder(p)
	w.say(p)
	if b.verdict.Satisfied {
		w.judgeOpening(p, b.verdict)
	}
	return b.verdict.Satisfied
}

// self has what only the Pod knows.
func (w *world) self(p *pod) gate.Self {
	s := gate.Self{
		Namespace: namespace, Member: p.name, Pod: p.name, Claim: p.claim.obj.Name, Policy: w.policy(),
		Disk: p.query.disk, Volume: p.query.volume, VolumeHostID: hostid.ID(p.query.hostID), Stabilisation: w.window(),
	}
	if w.without(OffOwner) {
		s.VolumeHostID = ""
	}
	if w.without(OffPermit) {
		s.Policy = api.PolicyReports
	}
	if p.stage == launching {
		s.Volume = w.query(p.claim.disk).volume
		s.WasEmpty = p.query.volume == bootstrap.VolumeEmpty
		s.Launcher, s.Just = true, w.now.Sub(p.opened.at) < 30*time.Second
		s.Annotation = p.obj.Annotations[api.AnnotationBarrier]
	}
	return s
}

const watched = cluster.KindServices | cluster.KindReports | cluster.KindStatusReport

const kindsOfBarrier = cluster.KindServices | cluster.KindStatefulSets | cluster.KindReports | cluster.KindStatusReport

// printed is the barrier's verdict with the next steps that it printed then.
func (p *pod) printed() bootstrap.Verdict {
	v, g := p.barrier.verdict, p.barrier.gate
	if g != nil {
		c := cmp.Or(g.Seen(), diagnosis.Nothing(namespace))
		diagnosis.Advise(c, &v, diagnosis.Asks{Self: v.Self, Claim: g.ClaimOf(c), VolumeUID: g.VolumeUID()})
	}
	return v
}

// startArgs are what ScyllaDB is started with.
type startArgs struct {
	seeds   []string
	replace string
	ignore  []string
}

// launcher is the first thing that ScyllaDB's container does.
type launcher struct {
	next   time.Time
	steps  gate.Launch
	judges bool
	why    string
	ended  time.Time // with a start
}

// launchers is one second of every launcher.
func (w *world) launchers() {
	for _, name := range w.podNames.of(w.pods) {
		p := w.pods[name]
		if p == nil || p.stage != launching || p.deleting || p.machine.off || w.now.Before(p.launcher.next) {
			continue
		}
		if args, ok := w.launch(p); ok {
			p.args, p.stage, p.launcher.ended = args, running, w.now
			w.judgeLaunch(p)
			w.boot(p, args.seeds, args.replace, args.ignore)
			w.cross(p, Starts)
		}
	}
}

func (w *world) launch(p *pod) (*startArgs, bool) {
	l := &p.launcher
	if p.query.disk == bootstrap.BootstrappedYes {
		return &startArgs{}, true // ScyllaDB knows its peers
	}
	if w.Rule == Operator {
		svc := w.service[p.name]
		if svc == nil || w.isCut(p) {
			return nil, false
		}
		return &startArgs{seeds: w.operatorSeeds(p), replace: svc.Labels[api.LabelReplacingNodeHostID]}, true
	}
	// The judgement of the barrier is repeated before each start on a volume that is not known to be COMPLETED.
	for !l.judges || w.without(OffLauncher) || w.judge(p) {
		l.judges = false
		args, code := w.readLaunch(p)
		switch l.steps.Read(code) {
		case gate.LaunchWaits:
			return nil, false
		case gate.LaunchStarts:
			return args, true
		}
		if l.judges = true; !w.without(OffLauncher) {
			p.barrier = &barrier{}
		}
	}
	return nil, false
}

// readLaunch is what the launcher reads for a start; without a code where it cannot start by it.
func (w *world) readLaunch(p *pod) (*startArgs, words.Code) {
	l, svc := &p.launcher, w.service[p.name]
	if svc == nil || w.isCut(p) {
		l.why = "no Service"
		return nil, ""
	}
	args, err := argumentsOf(svc)
	if err != nil {
		l.why = err.Error()
		return nil, ""
	}
	if w.without(OffSeeds) {
		args.seeds = []string{w.pods[w.podNames.of(w.pods)[0]].obj.Status.PodIP}
		return args, "fixed"
	}
	o := w.objects(cluster.KindServices | cluster.KindPods | cluster.KindReports | cluster.KindStatusReport)
	if w.without(OffFounder) {
		eldest(&o, p.name)
	}
	c := cluster.New(o, cluster.SourceAuto, p.clock(w))
	in := bootstrap.StartOf(c, p.name)
	in.Address, in.Volume = p.obj.Status.PodIP, w.query(p.claim.disk).volume
	choice := bootstrap.Seeds(in)
	l.why = choice.Message().Key()
	if !choice.Usable() {
		return nil, ""
	}
	args.seeds = choice.Seeds
	return args, choice.Code
}

// waits is true while the barrier of a Pod keeps it waiting, or its launcher by the same rules.
func (p *pod) waits() bool {
	return p.barrier != nil && (p.stage == atBarrier || p.stage == launching && p.launcher.judges && !p.barrier.verdict.Satisfied)
}

// argumentsOf a member's Service, without seeds.
func argumentsOf(svc *corev1.Service) (*startArgs, error) {
	more, err := launch.Arguments(svc.Labels, svc.Annotations)
	args := &startArgs{}
	for _, arg := range more {
		if id, ok := strings.CutPrefix(arg, launch.FlagReplaceNode+"="); ok {
			args.replace = id
		}
		if ids, ok := strings.CutPrefix(arg, launch.FlagIgnoreDead+"="); ok {
			args.ignore = strings.Split(ids, ",")
		}
	}
	return args, err
}
