// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/launch"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/heartbeat"
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
func (w *world) silent() bool { return w.Seed%silentQuery == 0 && w.Rule != Operator }

// query is the query of system.local (3.3): what was not flushed, it does not see (3.4).
func (w *world) query(d *disk) query {
	q := query{disk: bootstrap.BootstrappedNo, volume: bootstrap.VolumeUsed}
	switch {
	case d.id == "":
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

// barrier is the init container of one Pod.
type barrier struct {
	monitor  cluster.LeaseMonitor
	renewed  time.Time
	looked   bool
	advanced bool
	judged   time.Time
	version  int
	verdict  bootstrap.Verdict
	began    time.Time
	stable   time.Time // since when all is UP without a break
	leave    leave
	// launcher is set when the launcher judges; just while the window of the barrier that has just opened counts.
	launcher, just bool

	gone  bool // at the last look the Lease had no holder, or had not been renewed for too long
	peers peering
}

// opening is the moment in which a barrier let a Pod through.
type opening struct {
	member   string
	at       time.Time
	decision bootstrap.Decision
	byPeers  bool // and not by a permit
	// down are the members that had been out of reach for longer than the bound.
	down []string
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
		w.say(p)
	}
}

// say has the Pod say that its barrier waits on an empty volume, or that its launcher waits, as package barrier does; the annotation goes when they open.
func (w *world) say(p *pod) {
	text := ""
	switch {
	case w.Rule == Operator:
	case p.stage == launching && p.waits():
		text = `{"launcher":true}`
	case p.stage == atBarrier && p.query.volume == bootstrap.VolumeEmpty:
		text = `{"emptyVolume":true}`
	}
	if p.obj.Annotations[api.AnnotationBarrier] == text || w.cut[p.name] {
		return
	}
	o := p.obj.DeepCopy()
	if text == "" {
		delete(o.Annotations, api.AnnotationBarrier)
	} else {
		metav1.SetMetaDataAnnotation(&o.ObjectMeta, api.AnnotationBarrier, text)
	}
	p.obj = o
	w.wrote()
}

func (w *world) open(p *pod) {
	v := p.barrier.verdict
	p.opened = &opening{member: p.name, at: w.now, decision: v.Decision, byPeers: p.barrier.peers.opened}
	if p.opened.byPeers {
		w.result.ByPeers++
	}
	p.opened.down = w.longDown()
	w.judgePermit(p, v.Decision)
	switch v.Decision {
	case bootstrap.DecisionAllUp, bootstrap.DecisionGenesis, bootstrap.DecisionReplacing:
		w.result.LetThrough++
	}
	w.tracef("%s: barrier opens: %s (%s)", p.name, v.Decision, v.Summary.Code)
	p.stage, p.launcher = launching, launcher{next: w.now.Add(w.between(time.Second, 3*time.Second))}
	w.cutLauncher(p)
}

// judge is true when the barrier opens.
func (w *world) judge(p *pod) bool {
	b := p.barrier
	if b.began.IsZero() {
		b.began = w.now
	}
	switch w.Rule {
	case AlwaysOpen:
		b.verdict = bootstrap.Verdict{Satisfied: true, Decision: bootstrap.DecisionAllUp}
		return true
	case NeverOpen:
		return false
	case Operator:
		b.verdict = w.operatorJudges(p)
		return b.verdict.Satisfied
	}
	if p.query.disk == bootstrap.BootstrappedYes { // needs no other source, unless the volume is another member's
		b.verdict = bootstrap.Decide(bootstrap.Input{Member: &cluster.Member{Ref: cluster.Place(p.name, nil)}, Disk: p.query.disk})
		if v, ok := w.verdict(p); ok && !w.cut[p.name] && v.Decision == bootstrap.DecisionRefuse {
			b.verdict = v
		}
		return b.verdict.Satisfied
	}
	if w.cut[p.name] {
		return false
	}
	silent := b.lease(w)
	again := 10 * time.Second
	switch {
	case w.peers() && b.silent():
		again = time.Second
	case b.leaveless():
		again = w.limits.PeerCheck.Duration
	}
	if b.version == w.version && w.now.Sub(b.judged) < again && silent == b.silent() {
		return false
	}
	b.judged, b.version = w.now, w.version
	v, ok := w.verdict(p)
	if !ok {
		return false
	}
	v = w.byPeers(p, w.settle(p, v))
	b.just = b.just && !slices.ContainsFunc(v.Blockers, func(x matrix.Blocker) bool { return !isControllerSilent(x) })
	if w.Trace && v.Summary.Key() != b.verdict.Summary.Key() {
		w.tracef("%s: barrier: %s", p.name, v.Summary.Key())
	}
	b.verdict = v
	return v.Satisfied
}

// settle is the stabilisation window and the last look before opening, as package barrier has them.
func (w *world) settle(p *pod, v bootstrap.Verdict) bootstrap.Verdict {
	b := p.barrier
	if !v.Satisfied || !v.Decision.Guarded() {
		b.stable = time.Time{}
		return v
	}
	if b.stable.IsZero() {
		b.stable = w.now
	}
	if blockers := w.unpermitted(p, v, w.read()); len(blockers) > 0 {
		return b.closed(w, v, blockers)
	}
	b.leave.had = w.permits()
	if elapsed := w.now.Sub(b.stable); v.Decision.Stabilises() && elapsed < stabilisation && !b.just {
		b.version = -1 // looks again each second
		return wait(v, bootstrap.Stabilising(stabilisation, 0))
	}
	looked := w.lastLook(p, v)
	if !looked.Satisfied {
		b.stable = time.Time{} // what refused has to heal, and to hold
		return looked
	}
	if blockers := w.unpermitted(p, looked, w.read()); len(blockers) > 0 {
		return b.closed(w, looked, blockers)
	}
	return looked
}

func wait(v bootstrap.Verdict, blockers ...matrix.Blocker) bootstrap.Verdict {
	v.Satisfied, v.Decision = false, bootstrap.DecisionWait
	return v.Only(blockers)
}

// lastLook is at the rows that the Pods carry, at the seeds that the launcher would choose, and at the reporters, which have to answer.
func (w *world) lastLook(p *pod, v bootstrap.Verdict) bootstrap.Verdict {
	objects := w.objects(everything)
	for _, source := range []cluster.Source{cluster.SourceReport, cluster.SourceAnnotation} {
		in, err := bootstrap.Of(cluster.New(objects, source, p.clock(w)), p.name)
		if err != nil {
			return wait(v, bootstrap.ReporterSilent(v.Self, err.Error()))
		}
		if by := bootstrap.Decide(w.input(p, in)); !by.Satisfied {
			return by
		}
	}
	carried := cluster.New(objects, cluster.SourceAnnotation, p.clock(w))
	if choice, launched := bootstrap.SeedChoiceOf(carried, p.name, w.query(p.claim.disk).volume); launched &&
		(!choice.Usable() || choice.Code == words.SeedsFirstNode && v.Decision != bootstrap.DecisionGenesis) {
		return wait(v, bootstrap.NoOtherSeed(v.Self, choice))
	}
	for _, r := range carried.Reporters(p.name) {
		q := w.pods[r.Ref.Member]
		if q == nil || q.machine == nil || q.machine.off || q.reporter.state(w.now) != reporterWell || !w.Mum && q.reporter.beat.row != q.obj.Annotations[api.AnnotationNodeStatusReport] {
			return wait(v, bootstrap.ReporterSilent(r.Ref, "no answer"))
		}
		if w.permits() && !w.confirms(q, r) {
			return wait(v, bootstrap.ReporterSilent(r.Ref, "nothing confirms its row"))
		}
	}
	return v
}

// confirms is the pinned answer of a reporter, or what is on its Lease, as package barrier has it. Mum reporters do not tell their row, and every answer of theirs confirms it.
func (w *world) confirms(p *pod, r *cluster.Member) bool {
	digest := api.ReportDigest(p.obj.Annotations[api.AnnotationNodeStatusReport])
	switch {
	case r.Heartbeat() == nil || !w.Mum && p.fingerprint() != r.Heartbeat().Fingerprint:
		return false
	case !r.Heartbeat().Lease:
		return w.Mum || p.reporter.beat.digest == digest
	}
	l := w.leases[p.name]
	if l == nil {
		return false
	}
	_, err := heartbeat.Read(l, r.Pod.UID, digest)
	return err == nil
}

// lease is true while no renewal is seen, as package barrier has it.
func (b *barrier) lease(w *world) bool {
	renewed := w.lease.Spec.RenewTime.Time
	b.monitor.Observe(w.lease, w.now)
	if b.looked && !renewed.Equal(b.renewed) && *w.lease.Spec.HolderIdentity != "" {
		b.advanced = true
	}
	b.looked, b.renewed = true, renewed
	_, _, gone := b.monitor.Silent(w.now)
	if b.gone = gone || *w.lease.Spec.HolderIdentity == ""; b.gone {
		b.advanced = false
	}
	return !b.advanced
}

// leaveless is true while nothing but the controller's view keeps the member waiting.
func (b *barrier) leaveless() bool {
	return slices.ContainsFunc(b.verdict.Blockers, func(x matrix.Blocker) bool {
		return slices.Contains([]words.Code{words.PermitPending, words.PermitForOther, words.ViewHeld}, x.Reason)
	})
}

func (b *barrier) silent() bool {
	return slices.ContainsFunc(b.verdict.Blockers, isControllerSilent)
}

// verdict is what the barrier decides on what it reads now: Services, reports and StatefulSets, no Pods.
func (w *world) verdict(p *pod) (bootstrap.Verdict, bool) {
	in, err := bootstrap.Of(w.readByBarrier(p), p.name)
	if err != nil {
		return bootstrap.Verdict{}, false // no member Service yet
	}
	return bootstrap.Decide(w.input(p, in)), true
}

func (w *world) readByBarrier(p *pod) *cluster.Cluster {
	return cluster.New(w.objects(cluster.KindServices|cluster.KindStatefulSets|cluster.KindReports|cluster.KindStatusReport), cluster.SourceReport, p.clock(w))
}

// printed is the barrier's verdict with the next steps that it prints.
func (w *world) printed(p *pod) bootstrap.Verdict {
	v := p.barrier.verdict
	diagnosis.Advise(w.readByBarrier(p), &v, diagnosis.Asks{Self: v.Self})
	return v
}

// input adds what only the Pod knows.
func (w *world) input(p *pod, in bootstrap.Input) bootstrap.Input {
	in.Disk, in.Volume, in.VolumeHostID = p.query.disk, p.query.volume, hostid.ID(p.query.hostID)
	in.ControllerSilent, in.ControllerSilentSince, in.Held, in.Permission = words.Message{}, time.Time{}, nil, nil
	b := p.barrier
	if b.launcher {
		in.Opened, in.Volume = true, w.query(p.claim.disk).volume
		if row, err := api.DecodeNodeStatusReport(p.obj.Annotations[api.AnnotationNodeStatusReport]); err == nil {
			in.Ran = row.LastHostID()
		}
	}
	if !b.advanced && !b.peers.asks {
		in.ControllerSilent = words.New(words.ControllerNamed, "controller", "controller-0")
	}
	return in
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
	first  bool
	judges bool
	choice bootstrap.SeedChoice
	why    string
}

// launchers is one second of every launcher.
func (w *world) launchers() {
	for _, name := range w.podNames.of(w.pods) {
		p := w.pods[name]
		if p == nil || p.stage != launching || p.deleting || p.machine.off || w.now.Before(p.launcher.next) {
			continue
		}
		if args, ok := w.launch(p); ok {
			p.args, p.stage = args, running
			w.judgeLaunch(p)
			w.boot(p, args.seeds, args.replace, args.ignore)
		}
	}
}

func (w *world) launch(p *pod) (*startArgs, bool) {
	l := &p.launcher
	if p.query.disk == bootstrap.BootstrappedYes {
		return &startArgs{}, true // ScyllaDB knows its peers
	}
	if w.Rule == OwnSeed {
		return &startArgs{seeds: []string{p.obj.Status.PodIP}}, true
	}
	if w.cut[p.name] || !w.judgesAgain(p) {
		return nil, false
	}
	svc := w.service[p.name]
	if svc == nil {
		return nil, false
	}
	args := &startArgs{}
	if w.Rule == Operator {
		args.seeds = w.operatorSeeds(p)
		args.replace = svc.Labels[api.LabelReplacingNodeHostID]
		return args, true
	}
	more, err := launch.Arguments(svc.Labels, svc.Annotations)
	if err != nil {
		l.why = err.Error()
		return nil, false
	}
	for _, a := range more {
		args.take(a)
	}
	c := cluster.New(w.objects(cluster.KindServices|cluster.KindPods|cluster.KindReports|cluster.KindStatusReport), cluster.SourceAuto, p.clock(w))
	in := bootstrap.StartOf(c, p.name)
	in.Address, in.Volume = p.obj.Status.PodIP, w.query(p.claim.disk).volume
	l.choice = bootstrap.Seeds(in)
	l.why = l.choice.Message().Key()
	switch {
	case !l.choice.Usable():
		l.first = false
		return nil, false
	case l.choice.Code == words.SeedsFirstNode && !l.first:
		l.first, p.barrier.version = true, -1 // looks a second time
		return nil, false
	}
	args.seeds = l.choice.Seeds
	p.opened.byPeers = p.barrier.peers.opened
	return args, true
}

// judgesAgain is the judgement of the barrier, which the launcher repeats before each start on a volume that is not known to be COMPLETED.
func (w *world) judgesAgain(p *pod) bool {
	switch w.Rule {
	case Operator, LooksOnce, LooksOnceReports: // its sidecar does not, nor a planted bug
		return true
	}
	if l := &p.launcher; !l.judges {
		l.judges = true
		p.barrier = &barrier{launcher: true, just: w.now.Sub(p.opened.at) < 30*time.Second}
	}
	opens := w.judge(p)
	w.say(p)
	return opens
}

// waits is true while the barrier of a Pod keeps it waiting, or its launcher by the same rules.
func (p *pod) waits() bool {
	return p.barrier != nil && (p.stage == atBarrier || p.stage == launching && p.barrier.launcher && !p.barrier.verdict.Satisfied)
}

// take reads one of the launcher's arguments.
func (a *startArgs) take(arg string) {
	if id, ok := strings.CutPrefix(arg, launch.FlagReplaceNode+"="); ok {
		a.replace = id
	}
	if ids, ok := strings.CutPrefix(arg, launch.FlagIgnoreDead+"="); ok {
		a.ignore = strings.Split(ids, ",")
	}
}

// stabilisation is the barrier's default.
const stabilisation = 10 * time.Second

func isControllerSilent(b matrix.Blocker) bool { return b.Reason == words.ControllerSilent }
