// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// follower is somebody who knows nothing but what `kubectl scylla status` prints, and does that.
type follower struct {
	late    time.Duration // from reading to doing
	plan    *plan
	next    time.Time            // when to look again
	since   time.Time            // since when not all is well
	done    map[string]time.Time // when a step was followed last
	traced  string
	refused []printedStep        // what a refusal printed
	looked  map[string]bool      // commands that only show something
	held    map[string]time.Time // since when a replacement is refused because its Pod may be starting
	open    map[string]*trouble  // by member
}

type plan struct {
	about    string
	code     words.Code
	commands []words.Command
	due      time.Time
}

type trouble struct{ steps int }

const (
	lookAgain = 3 * time.Minute // where nothing was to be done
	anHour    = time.Hour
	typing    = 20 * time.Second
	stepAgain = 10 * time.Minute // the same step, where it has changed nothing
	circle    = 10               // steps of one trouble
)

// beginFollowing: in every fourth seed the person is always an hour late.
func (w *world) beginFollowing() {
	w.follower = follower{late: typing, done: map[string]time.Time{}, held: map[string]time.Time{}, open: map[string]*trouble{}}
	if w.World == PeopleWorld && rand.New(rand.NewPCG(w.Seed, 0xf0110)).IntN(4) == 0 {
		w.follower.late = anHour
		w.Patience = 8 * time.Hour
	}
}

// followStatus is a quarter of a minute of that person.
func (w *world) followStatus() {
	f := &w.follower
	if f.done == nil {
		w.beginFollowing()
	}
	w.countTroubles()
	switch {
	case f.plan != nil && w.now.Before(f.plan.due):
		return
	case f.plan != nil:
		w.carryOut(f.plan)
		f.plan, f.next = nil, w.now.Add(reaction)
		return
	case len(f.open) == 0 || w.now.Before(f.next):
		return
	}
	f.next = w.now.Add(reaction)
	if w.now.Sub(f.since) < reaction {
		return
	}
	if f.plan = w.readStatus(); f.plan != nil {
		f.plan.due = w.now.Add(f.late)
		w.tracef("a person reads, about %s: %s %v", f.plan.about, f.plan.code, f.plan.commands)
	} else if w.healed {
		f.next = w.now.Add(lookAgain)
	}
}

// countTroubles opens and closes them: a member is not well, and is well again.
func (w *world) countTroubles() {
	f := &w.follower
	unwell := w.unwell()
	if len(f.open) == 0 {
		f.since = w.now
	}
	for _, name := range unwell {
		if s := w.setOf(name); f.open[name] == nil && s != nil && !s.away {
			f.open[name] = &trouble{}
		}
	}
	for _, name := range sortedKeys(f.open) {
		t := f.open[name]
		if slices.Contains(unwell, name) {
			continue
		}
		delete(f.open, name)
		delete(f.held, name)
		if t.steps > 0 {
			w.result.Healed++
			w.result.HealSteps += t.steps
		}
	}
}

// leaveUnhealed counts at the end those who were helped in vain, and those whom nothing but a person can help: not whose volume is a copy, which only a person can find.
func (w *world) leaveUnhealed() {
	f := &w.follower
	n := 0
	for name, t := range f.open { // a count: the order does not matter
		p := w.pods[name]
		if t.steps > 0 || w.lost[name] || p != nil && p.lost() {
			n++
		}
	}
	w.result.Unhealed += n
	w.traceSteps(diagnosis.Judge(w.readByPerson(), w.clock(person)))
	for _, name := range w.unwell() {
		w.tracef("unhealed: %s: %s", name, w.why(name))
	}
}

// readStatus is the first printed step that says to do something, of those that were not done just now.
func (w *world) readStatus() *plan {
	f := &w.follower
	j := diagnosis.Judge(w.readByPerson(), w.clock(person), sortedKeys(f.open)...)
	w.traceSteps(j)
	f.looked = map[string]bool{}
	plan := w.planOf(j, append(f.refused, printedSteps(j)...))
	f.refused = nil
	for _, name := range sortedKeys(f.open) { // and then what `barrier` and `describe` print of each
		if plan != nil {
			break
		}
		plan = w.planOf(j, append(w.ofBarrier(name), w.ofLog(j, words.Scylla(namespace, "describe", name))))
	}
	return plan
}

// planOf is the first of these steps that says to do something, and was not done just now.
func (w *world) planOf(j *diagnosis.Judged, steps []printedStep) *plan {
	for _, s := range steps {
		if code, do := w.actions(j, s, 0); len(do) > 0 && w.now.Sub(w.follower.done[fmt.Sprint(code, do)]) >= stepAgain {
			return &plan{about: s.about, code: code, commands: do}
		}
	}
	return nil
}

// traceSteps notes what is printed, where that has changed.
func (w *world) traceSteps(j *diagnosis.Judged) {
	if !w.Trace {
		return
	}
	text := ""
	for i := range j.Findings {
		f := &j.Findings[i]
		text += fmt.Sprintf("; %s %s: %s %s", f.Kind, f.Message.Code, f.Step.Code, f.Step.Params)
	}
	if text != w.follower.traced {
		w.follower.traced = text
		w.tracef("status prints%s", text)
	}
}

// carryOut runs the commands that still apply.
func (w *world) carryOut(p *plan) {
	f := &w.follower
	f.done[fmt.Sprint(p.code, p.commands)] = w.now
	ran := 0
	for _, c := range p.commands {
		do := w.followed(c)
		if do == nil {
			w.tracef("a person: %s does not apply any more", strings.Join(c, " "))
			continue
		}
		w.tracef("a person, about %s: %s", p.about, strings.Join(c, " "))
		if ran++; !do() {
			break
		}
	}
	w.result.Commands += ran
	if ran == 0 {
		return
	}
	w.result.Steps++
	t := f.open[p.about]
	if names := sortedKeys(f.open); t == nil && len(names) > 0 {
		t = f.open[names[0]] // of a host ID without a member
	}
	if t == nil {
		return
	}
	if t.steps++; t.steps == circle && w.Rule != Operator {
		w.violate(&w.result.Circles, "status leads in a circle: the %dth step about %s is %s %v", circle, p.about, p.code, p.commands)
	}
}

// followed does what a person types who knows only what is printed; nil where kubectl finds no such object. False ends the step: it was refused.
func (w *world) followed(c words.Command) func() bool {
	args := plain(c)
	text, last := strings.Join(args, " "), args[len(args)-1]
	always := func(do func()) func() bool { return func() bool { do(); return true } }
	switch {
	case w.outdated(c, args):
		return func() bool { return false }
	case strings.HasPrefix(text, "kubectl delete pod"):
		if p := w.pods[last]; p != nil {
			return always(func() { w.deletePod(p, slices.Contains(c, "--force")) })
		}
		return nil
	case strings.HasPrefix(text, "kubectl patch pvc"):
		cl := w.claims[last]
		return func() bool { return cl != nil && slices.Contains(c, "--patch="+evidence.SameUID(string(cl.obj.UID))) }
	case strings.HasPrefix(text, "kubectl delete pvc"):
		if cl := w.claims[last]; cl != nil {
			return always(func() { w.discard(cl) })
		}
	case strings.HasPrefix(text, "kubectl annotate service"):
		if w.service[args[3]] == nil {
			return nil
		}
		return always(func() {
			if slices.Contains(args, api.AnnotationHostID+"-") {
				w.harmOfForgetting(args[3])
			}
			w.annotate(args[3], func(_, annotations map[string]string) { write(annotations, args[4:]) })
		})
	case strings.HasPrefix(text, "kubectl label service"):
		return always(func() { w.annotate(args[3], func(labels, _ map[string]string) { write(labels, args[4:]) }) })
	case strings.HasPrefix(text, "kubectl delete statefulset"):
		for _, s := range w.sets {
			if s.obj.Name == last {
				return always(func() { w.applyParallel(podName(s, 0)) })
			}
		}
		return nil
	case strings.HasPrefix(text, "kubectl scylla force-proceed"):
		if w.service[last] != nil {
			return always(func() { w.forceAsShown(last, slices.Contains(c, "--undo")) })
		}
		return nil
	case strings.HasPrefix(text, "kubectl scylla nodetool"):
		return w.nodetool(c)
	case strings.HasPrefix(text, "kubectl scylla replace "):
		return w.replaceVerb(args, c)
	}
	return nil
}

// outdated: the command is for a Service, a volume or blockers as they were, and is refused.
func (w *world) outdated(c words.Command, args []string) bool {
	name, svc, cl := args[len(args)-1], w.service[args[min(3, len(args)-1)]], w.claims["data-"+args[len(args)-1]]
	return slices.ContainsFunc(c, func(arg string) bool {
		version, of := strings.CutPrefix(arg, "--resource-version=")
		uid, on := strings.CutPrefix(arg, "--volume-uid=")
		return of && svc != nil && version != svc.ResourceVersion || on && (cl == nil || uid != string(cl.obj.UID)) || arg == "--unless-down" && diagnosis.ForceLoses(diagnosis.Judge(w.readByPerson(), w.clock(person), name).Starts[name].Verdict) != nil
	})
}

// plain is a command without its flags, and their values.
func plain(c words.Command) []string {
	var out []string
	for i := 0; i < len(c); i++ {
		switch {
		case c[i] == "-n":
			i++
		case !strings.HasPrefix(c[i], "-"):
			out = append(out, c[i])
		}
	}
	return out
}

// forceAsShown records what the verb shows: what blocks the member now.
func (w *world) forceAsShown(name string, undo bool) {
	if undo {
		w.annotate(name, func(_, annotations map[string]string) { api.DropForce(annotations) })
		return
	}
	c := w.readByPerson()
	v := diagnosis.Judge(c, w.clock(person), name).Starts[name].Verdict
	var had []api.ForceOverride
	if m := c.Member(name); m != nil && m.ForceVoid(m.VolumeUID()).IsZero() {
		had, _ = m.ForceOverrides()
	}
	if p := w.pods[name]; p != nil && p.waits() { // what its annotation says, and no other object shows
		v.Blockers = append(v.Blockers, slices.DeleteFunc(slices.Clone(p.barrier.verdict.Blockers), func(b matrix.Blocker) bool {
			return b.Reason != words.VolumeUnreadable
		})...)
	}
	if v.Decision == bootstrap.DecisionRefuse {
		v.Blockers = nil
	}
	record, err := api.EncodeForceOverrides(bootstrap.Overrides(had, v.Blockers))
	if err != nil {
		panic(err) // strings always marshal
	}
	w.tracef("the force of %s overrides %s", name, record)
	w.annotate(name, func(_, annotations map[string]string) {
		annotations[api.AnnotationForceProceed], annotations[api.AnnotationForceOverrides] = api.ForceProceedValue, record
		if c := w.claims["data-"+name]; c != nil {
			annotations[api.AnnotationForceVolume] = string(c.obj.UID)
		}
	})
}

// nodetool is removenode and excludenode, on a member that runs.
func (w *world) nodetool(c words.Command) func() bool {
	i := slices.Index(c, "--")
	p := w.pods[c[3]]
	if i < 0 || p == nil || p.proc == nil || p.proc.group == nil {
		return nil
	}
	g, args := p.proc.group, c[i+1:]
	switch args[0] {
	case "excludenode":
		return func() bool {
			for _, id := range args[1:] {
				w.ban(g, id)
			}
			return true
		}
	case "removenode":
		id, ignore := args[len(args)-1], []string(nil)
		if k := slices.Index(args, "--ignore-dead-nodes"); k >= 0 {
			ignore = api.SplitList(args[k+1])
		}
		for _, x := range g.order {
			if x != id && g.banned[x] && !slices.Contains(ignore, x) {
				ignore = append(ignore, x) // excluded nodes need no list
			}
		}
		return func() bool { return w.removeNode(g, id, ignore) }
	}
	return nil
}

// replaceVerb is kubectl scylla replace and its sub-commands. What its checks print on a refusal is followed at once: names of nodes to ignore, a check to skip.
func (w *world) replaceVerb(args []string, c words.Command) func() bool {
	verb, target := args[3], args[len(args)-1]
	name := w.memberOf(target)
	if name == "" {
		return nil
	}
	id := fmt.Sprintf("person-%d", w.version)
	var ignore, skips []string
	for _, a := range c {
		if v, ok := strings.CutPrefix(a, "--ignore-dead="); ok {
			ignore = api.SplitList(v)
		} else if v, ok := strings.CutPrefix(a, "--skip-check="); ok {
			skips = api.SplitList(v)
		}
	}
	if verb == "cancel" {
		return func() bool {
			w.annotate(name, func(labels, annotations map[string]string) { replace.CancelPatch().Apply(&labels, &annotations) })
			return true
		}
	}
	resume := verb == "resume"
	return func() bool {
		skip := slices.Clone(skips)
		for range 4 {
			done, checks := w.asks(name, func(in *replace.Input) *replace.Patch {
				rec := replace.RecordOf(in.Self)
				switch {
				case resume:
					return replace.ResumePatch(rec, id, "", ignore, skip)
				case rec.Open() && replace.Superseded(*in) != "":
					return replace.SupersedePatch(rec, replace.Superseded(*in), id, ignore, skip, in.Now)
				}
				return replace.RequestPatch(id, ignore, skip)
			}, resume)
			if done {
				if p := w.pods[name]; p != nil && resume {
					p.failed = ""
				}
				return true
			}
			changed := false
			for _, check := range checks {
				w.tracef("refused by %s: %s, %s", check.Name, check.Evidence.Code, check.Cure.Code)
				switch check.Cure.Code {
				case words.IgnoredTakeOff:
					ignore, changed = nil, len(ignore) > 0
				case words.ReplaceReadLog:
					if d, _ := w.firstError(name); (d.Code == words.JoinUnfinished || d.Code == words.RequestNotFound) && !slices.Contains(skip, check.Name) {
						skip, changed = append(skip, check.Name), true // it never starts on this volume
					}
				case words.ReplaceStartingWait, words.ReplaceCheckYourself:
					if w.follower.held[name].IsZero() {
						w.follower.held[name] = w.now
					}
					if w.now.Sub(w.follower.held[name]) >= stepAgain && !slices.Contains(skip, check.Name) {
						skip, changed = append(skip, check.Name), true // it has not started
					}
				}
			}
			if !changed {
				for _, check := range checks {
					w.follower.refused = append(w.follower.refused, printedStep{name, check.Cure})
				}
				return false
			}
		}
		return false
	}
}

// memberOf is the member by its name or its host ID.
func (w *world) memberOf(target string) string {
	for _, name := range w.serviceNames.of(w.service) {
		if name == target || w.service[name].Annotations[api.AnnotationHostID] == target {
			return name
		}
	}
	return ""
}
