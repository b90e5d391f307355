// SPDX-License-Identifier: Apache-2.0

package simulation

// Long: what each kind of person does is one short function, in one place.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// reaction is how long something has to be wrong before a person runs the printed command.
const reaction = time.Minute

// people look every quarter of a minute.
func (w *world) people() {
	if w.Follow {
		w.followStatus()
		return
	}
	if w.now.Before(w.net.gone) {
		return
	}
	wrong := map[string]bool{}
	for _, s := range w.sets {
		for o := range s.replicas {
			name := fmt.Sprintf("%s-%d", s.obj.Name, o)
			p := w.pods[name]
			if s.away || w.well(name) {
				continue
			}
			for what, cure := range w.cures(name, p) {
				key := name + " " + what
				wrong[key] = true
				switch since, known := w.trouble[key]; {
				case !known:
					w.trouble[key] = w.now
				case w.now.Sub(since) >= reaction:
					delete(w.trouble, key)
					delete(wrong, key)
					w.tracef("a person, about %s: %s", name, what)
					cure()
					w.result.Commands++
				}
			}
		}
	}
	for key := range w.trouble {
		if !wrong[key] {
			delete(w.trouble, key)
		}
	}
}

// well is true for a member that serves, reports, and is not being replaced.
func (w *world) well(name string) bool {
	p, svc := w.pods[name], w.service[name]
	if p == nil || svc == nil || p.deleting || p.proc == nil || !p.proc.serves || !p.status.ready || p.status.reporter != reporterWell {
		return false
	}
	rec := replace.ReadRecord(svc.Labels, svc.Annotations)
	return !rec.Requested && !rec.Open() && p.revision == p.set.revisionName()
}

// cures are a person's actions about a member, at most one of them: the printed command.
func (w *world) cures(name string, p *pod) map[string]func() {
	one := func(what string, do func()) map[string]func() { return map[string]func(){what: do} }
	svc := w.service[name]
	if svc == nil {
		return nil
	}
	rec := replace.ReadRecord(svc.Labels, svc.Annotations)
	switch {
	case p == nil && w.member(svc.Annotations[api.AnnotationHostID]) && w.heldByOrder(name):
		// Documented: OrderedReady makes no Pod while a lower ordinal waits. Delete the StatefulSet with --cascade=orphan, apply it with Parallel.
		return one("apply with podManagementPolicy Parallel", func() { w.applyParallel(name) })
	case w.forgotten(name):
		return one("forget the removed node", func() {
			w.annotate(name, func(_, annotations map[string]string) {
				write(annotations, []string{api.AnnotationHostID + "-", api.AnnotationNodeJoined + "-"})
			})
		})
	case rec.Requested || rec.Open():
		return w.replacementCure(name, p)
	case p != nil && p.lost():
		if id := svc.Annotations[api.AnnotationHostID]; !w.choice[name] && w.member(id) {
			return one("replace", func() { w.requestReplace(name) })
		}
		return one("delete node, claim and Pod", func() {
			w.removeRecorded(name)
			w.discard(p.claim)
			w.deletePod(p, true)
		})
	case p != nil && p.stage == running && p.proc != nil && !p.proc.gossips && w.Rule != Operator:
		return w.unheardCure(name, p)
	case p != nil && p.stage == running && p.failed != "" && (p.proc == nil || !p.proc.disk.complete && p.proc.group == nil):
		// The log says that this data directory can never be used again: delete the claim, the node joins anew.
		return one("delete claim and Pod: "+p.failed, func() { w.wipe(p) })
	case p != nil && p.waits() && w.Rule == Operator:
		if w.member(svc.Annotations[api.AnnotationHostID]) && p.query.volume == bootstrapEmpty {
			return one("scylla/replace", func() { w.requestReplace(name) })
		}
	case p != nil && p.waits():
		return w.barrierCure(p)
	}
	return nil
}

// lost is true for a Pod whose machine is gone for ever, or which finds none because its volume is on such a one.
func (p *pod) lost() bool {
	at := p.machine
	if at == nil && p.claim != nil {
		at = p.claim.machine
	}
	return at != nil && at.gone
}

// unheardCure is for a newcomer of which status prints how to look: a person finds in its log that it still looks for group 0, with addresses that its volume keeps, and no node
// lists it.
func (w *world) unheardCure(name string, p *pod) map[string]func() {
	o := w.objects(everything)
	o.Machines = w.machineStates()
	for _, f := range diagnosis.Of(cluster.New(o, cluster.SourceAuto, w.clock(person))) {
		if f.Kind == diagnosis.NodeUnheard && f.Scope.Nodes[0].Member == name {
			return map[string]func(){"delete claim and Pod: unheard": func() { w.wipe(p) }}
		}
	}
	return nil
}

// machineStates are the states of the Pods' Kubernetes nodes, as the node controller writes them.
func (w *world) machineStates() map[string]string {
	states := map[string]string{}
	for _, name := range w.podNames.of(w.pods) {
		if p := w.pods[name]; p.machine != nil {
			states[p.machine.name] = cluster.KubernetesNodeReady
			if p.status.lost {
				states[p.machine.name] = cluster.KubernetesNodeNotReady
			}
		}
	}
	return states
}

// member is true for a host ID that the cluster lists.
func (w *world) member(id string) bool {
	return slices.ContainsFunc(w.groups, func(g *group) bool { return id != "" && g.members[id] != "" })
}

// discard is kubectl delete pvc, by a person.
func (w *world) discard(c *claim) {
	w.harmOfDeletion(c)
	w.deleteClaim(c)
}

func (w *world) wipe(p *pod) {
	p.failed = ""
	w.discard(p.claim)
	w.deletePod(p, false)
}

// barrierCure does the first of the printed steps that fits what the person knows.
func (w *world) barrierCure(p *pod) map[string]func() {
	v := w.printed(p)
	for _, b := range v.Blockers {
		for _, c := range b.Step.Commands {
			if do := w.command(c); do != nil {
				return map[string]func(){strings.Join(c, " "): func() {
					for _, c := range b.Step.Commands {
						if do := w.command(c); do != nil {
							do()
						}
					}
				}}
			}
		}
	}
	for _, note := range v.Notes {
		// only if this is the volume of that host ID, says the note
		if id, _ := note.Params["hostID"].(hostid.ID); (note.Code == words.MayWaitForItself || note.Code == words.JoinNotRecorded) &&
			string(id) == p.claim.disk.id {
			return map[string]func(){strings.Join(note.Commands[1], " "): func() {
				w.force(p.name, nil)
				w.after(20*time.Second, func() { w.forceAgain(p) })
			}}
		}
	}
	return nil
}

// command does what a person types; nil for what only shows something, or does not fit.
func (w *world) command(c words.Command) func() {
	args := slices.DeleteFunc(slices.Clone(c), func(a string) bool { return strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--ignore-dead") })
	if i := slices.Index(c, "-n"); i >= 0 {
		args = slices.DeleteFunc(args, func(a string) bool { return a == c[i+1] && a == namespace })
	}
	text := strings.Join(args, " ")
	last := args[len(args)-1]
	switch {
	case strings.HasPrefix(text, "kubectl delete pvc"):
		if cl := w.claims[last]; cl != nil {
			return func() { w.discard(cl) }
		}
	case strings.HasPrefix(text, "kubectl delete pod"):
		if p := w.pods[last]; p != nil {
			return func() { w.deletePod(p, p.machine != nil && p.machine.gone) }
		}
	case strings.HasPrefix(text, "kubectl scylla replace resume"):
		name, ignore := args[4], ""
		if v, ok := strings.CutPrefix(last, "--ignore-dead="); ok {
			ignore = v
		}
		return func() { w.resume(name, api.SplitList(ignore)) }
	case strings.HasPrefix(text, "kubectl scylla replace ") && len(args) == 4:
		return w.replaceCommand(args[3])
	case strings.HasPrefix(text, "kubectl scylla force-proceed"):
		return func() { w.force(last, nil) }
	case text == "kubectl scylla status":
		return w.ghostCommand()
	case strings.HasPrefix(text, "kubectl annotate service"):
		return func() {
			w.annotate(args[3], func(_, annotations map[string]string) { write(annotations, args[4:]) })
		}
	case strings.HasPrefix(text, "kubectl label service"):
		return func() { w.annotate(args[3], func(labels, _ map[string]string) { write(labels, args[4:]) }) }
	}
	return nil
}

// force is kubectl scylla force-proceed: it overrides, and records, what the person has read. A minute later the person takes it back.
func (w *world) force(name string, had []api.ForceOverride) {
	var read []matrix.Blocker
	if p := w.pods[name]; p != nil && p.barrier != nil {
		read = p.barrier.verdict.Blockers
	}
	w.recordForce(name, had, read)
	w.after(time.Minute, func() { w.takeForceBack(name) })
}

// recordForce is what the verb writes.
func (w *world) recordForce(name string, had []api.ForceOverride, read []matrix.Blocker) {
	record, err := api.EncodeForceOverrides(bootstrap.Overrides(had, read))
	if err != nil {
		w.violate("the record of a force: %v", err)
	}
	w.tracef("the force of %s overrides %s", name, record)
	w.annotate(name, func(_, annotations map[string]string) {
		annotations[api.AnnotationForceProceed], annotations[api.AnnotationForceOverrides] = api.ForceProceedValue, record
		if c := w.claims["data-"+name]; c != nil {
			annotations[api.AnnotationForceVolume] = string(c.obj.UID)
		}
	})
}

// takeForceBack is force-proceed --undo.
func (w *world) takeForceBack(name string) {
	w.annotate(name, func(_, annotations map[string]string) {
		delete(annotations, api.AnnotationForceProceed)
		delete(annotations, api.AnnotationForceOverrides)
		delete(annotations, api.AnnotationForceVolume)
	})
}

// ghostCommand is what status prints of a host ID that no member has: a removenode, where it may be removed.
func (w *world) ghostCommand() func() {
	o := w.objects(everything | cluster.KindPVCs)
	o.Claimed = map[string]string{} // a disk goes with its claim
	c := cluster.New(o, cluster.SourceAuto, w.clock(person))
	for _, ghost := range replace.Read(c).Ghosts(w.clock(person)) {
		if len(ghost.Command) == 0 && !w.nobodys(ghost) {
			continue
		}
		id, ignore := ghost.HostID, []string(nil)
		if ghost.Why.Code == words.GhostExcludeFirst { // excluded nodes need no ignore list
			exclude := ghost.Why.Commands[0]
			ignore = exclude[slices.Index(exclude, "excludenode")+1:]
		}
		if i := slices.Index(ghost.Command, "--ignore-dead-nodes"); i >= 0 {
			ignore = api.SplitList(ghost.Command[i+1])
		}
		for _, g := range w.groups {
			if g.members[string(id)] == normal {
				return func() { w.removeNode(g, string(id), ignore) }
			}
		}
	}
	return nil
}

// nobodys is what a person finds who looks where the reason says, into the log of the first start of each of those members, or onto its volume: it has another host ID.
func (w *world) nobodys(ghost replace.Ghost) bool {
	members, _ := ghost.Why.Params["members"].([]string)
	return ghost.Why.Code == words.StrangerMayBeOurs && !slices.ContainsFunc(members, func(name string) bool {
		c := w.claims["data-"+name] // its volume, where there is no Pod with a log
		return c == nil || c.disk.id == string(ghost.HostID)
	})
}

// forceAgain is a person who knows whose the volume is, and now reads that the force does not cover the volume.
func (w *world) forceAgain(p *pod) {
	svc := w.service[p.name]
	other := func(b matrix.Blocker) bool { return b.Reason != words.VolumeUnreadable }
	if svc == nil || w.pods[p.name] != p || p.barrier == nil || p.barrier.verdict.Summary.Code != words.ForceDoesNotCover || slices.ContainsFunc(p.barrier.verdict.Blockers, other) {
		return
	}
	had, _ := (&cluster.Member{Service: svc}).ForceOverrides()
	w.force(p.name, had)
}

// write is what kubectl makes of KEY=VALUE and KEY-.
func write(m map[string]string, terms []string) {
	for _, word := range terms {
		if k, v, is := strings.Cut(word, "="); is {
			m[k] = v
			continue
		}
		delete(m, strings.TrimSuffix(word, "-"))
	}
}

// replaceCommand is kubectl scylla replace, of a node whose data is gone: a node that only restarts is not replaced.
func (w *world) replaceCommand(target string) func() {
	for _, name := range w.serviceNames.of(w.service) {
		svc := w.service[name]
		if name != target && svc.Annotations[api.AnnotationHostID] != target {
			continue
		}
		p := w.pods[name]
		// A volume that is not COMPLETED never comes back (5.4): its barrier reports that, and opens for a node that only restarts.
		empty := p != nil && (p.claim.disk.id != svc.Annotations[api.AnnotationHostID] || p.stage == atBarrier && !p.claim.disk.complete)
		if w.lost[name] || empty {
			if w.choice[name] {
				return func() { w.removeRecorded(name) }
			}
			if in := w.replacementInput(name); in != nil && w.Rule != Operator && replace.Superseded(*in) != "" {
				return func() { w.supersede(name, *in) } // as the verb does
			}
			return func() { w.requestReplace(name) }
		}
	}
	return nil
}

func (w *world) replacementInput(name string) *replace.Input {
	return replace.Read(cluster.New(w.objects(everything|cluster.KindPVCs), cluster.SourceAuto, w.clock(person))).Input(name, w.clock(person), "")
}

// removeRecorded is nodetool removenode of the node that a member's Service records.
func (w *world) removeRecorded(name string) {
	id := w.service[name].Annotations[api.AnnotationHostID]
	for _, g := range w.groups {
		if g.members[id] == normal {
			w.removeNode(g, id, w.otherLost(name))
		}
	}
}

// forgetLoss: a node that was lost has been removed. Until then it is one that others have to ignore.
func (w *world) forgetLoss(id string) {
	for name := range w.lost { // deletion alone: the order does not matter
		if svc := w.service[name]; svc != nil && svc.Annotations[api.AnnotationHostID] == id {
			delete(w.lost, name)
		}
	}
}

// dead are other members whose data is gone too: they must be ignored, or the replacements wait for each other.
func (w *world) otherLost(name string) []string {
	var out []string
	for _, other := range sortedKeys(w.lost) {
		svc := w.service[other]
		if svc == nil || other == name {
			continue
		}
		if id := svc.Annotations[api.AnnotationHostID]; w.member(id) && w.running(id) == nil { // else it is the new node
			out = append(out, id)
		}
	}
	return out
}

func (w *world) requestReplace(name string, skip ...string) {
	id := fmt.Sprintf("person-%d", w.version)
	w.tracef("kubectl scylla replace %s ignoring %q skipping %q", name, shorts(w.otherLost(name)), skip)
	w.annotate(name, func(labels, annotations map[string]string) {
		if w.Rule == Operator {
			labels[api.LabelReplace] = ""
			return
		}
		replace.RequestPatch(id, w.otherLost(name), skip).Apply(&labels, &annotations)
	})
}

func (w *world) resume(name string, ignore []string) {
	id := fmt.Sprintf("resume-%d", w.version)
	w.tracef("kubectl scylla replace resume %s ignoring %s", name, shorts(ignore))
	w.annotate(name, func(labels, annotations map[string]string) {
		rec := replace.ReadRecord(labels, annotations)
		replace.ResumePatch(rec, id, "", ignore, nil).Apply(&labels, &annotations)
	})
}

// replacementCure is what `replace status` prints of a replacement that stands still.
func (w *world) replacementCure(name string, p *pod) map[string]func() {
	if w.Rule == Operator {
		return w.operatorReplacementCure(name, p)
	}
	if p != nil && p.waits() && !p.deleting && p.machine != nil && !p.machine.off {
		if cure := w.barrierCure(p); cure != nil {
			return cure
		}
	}
	objects := w.objects(everything | cluster.KindPVCs)
	objects.Machines = w.machineStates() // as replace status reads them
	in := replace.Read(cluster.New(objects, cluster.SourceAuto, w.clock(person))).Input(name, w.clock(person), "")
	if in == nil {
		return nil
	}
	if p != nil && p.failed != "" {
		in.Log = &replace.Diagnosis{Code: diagnosed(p.failed), Text: words.New(diagnosed(p.failed))}
	}
	if p != nil && p.proc != nil && !p.proc.gossips && p.failed == "" {
		in.Log = &replace.Diagnosis{Code: words.ShadowRound, Text: words.New(words.ShadowRound)}
	}
	step := replace.Next(*in)
	if (step.Cure.Code == words.CureVolumeLost || step.Cure.Code == words.CureUnrecordedLost) && (p == nil || p.claim.machine == nil || !p.claim.machine.gone) {
		return nil // the machine comes back, and a person knows it
	}
	cures := step.Cure.Commands
	if step.Diagnosis != nil {
		cures = step.Diagnosis.Cure.Commands
		if step.Diagnosis.Cure.Code == words.CureLook && !listed(in.Matrix, in.Self.Says().HostID) {
			cures = []words.Command{words.Scylla(in.Namespace, "replace", "resume", name)} // a person who has looked finds that it is no member
		}
	}
	if step.Action == replace.ActionRefuse {
		return w.heldCure(name, step)
	}
	if step.Action != replace.ActionFail && step.Action != replace.ActionWaitPodGone && (step.Action != replace.ActionWaitJoin || len(cures) == 0) {
		return nil
	}
	if step.Diagnosis != nil && step.Diagnosis.Code == words.NewcomerIsMember {
		return map[string]func(){"replace the newcomer": func() { w.supersede(name, *in) }}
	}
	for _, command := range cures {
		if do := w.command(command); do != nil {
			return map[string]func(){"replacement " + string(step.Action) + ": " + strings.Join(command, " "): func() {
				for _, command := range cures {
					if do := w.command(command); do != nil {
						do()
						if strings.Contains(strings.Join(command, " "), "replace resume") {
							break // one of the two, without ignoring first
						}
					}
				}
				if p != nil {
					p.failed = ""
				}
			}}
		}
	}
	return nil
}

// heldCure: a replacement is held up by another node that is lost as well, by a Pod that stands at its barrier or has no machine, or there is nothing to
// replace any more. The cures that its checks print are --ignore-dead and --skip-check.
func (w *world) heldCure(name string, step replace.Step) map[string]func() {
	svc := w.service[name]
	rec := replace.ReadRecord(svc.Labels, svc.Annotations)
	// Whether or not anything has begun: no node waits for a Pod that cannot end.
	for _, c := range step.Checks {
		if c.Name == replace.CheckMember && c.Blocks() &&
			slices.Contains([]words.Code{words.CureStartAsNew, words.CureUnrecordedLost, words.CureRecordNewcomer}, c.Cure.Code) {
			return map[string]func(){string(c.Cure.Code): func() {
				for _, command := range c.Cure.Commands {
					if do := w.command(command); do != nil {
						do()
					}
				}
			}}
		}
		if c.Name != replace.CheckStatefulSet || !c.Blocks() {
			continue
		}
		for _, command := range c.Cure.Commands {
			if do := w.command(command); do != nil {
				return map[string]func(){strings.Join(command, " "): do}
			}
		}
	}
	if rec.Open() {
		stale := func(c replace.Check) bool { return c.Blocks() && c.Name == replace.CheckIgnoreList }
		if rec.Resume != "" && rec.Resume != rec.Accepted && slices.ContainsFunc(step.Checks, stale) {
			return map[string]func(){"replace resume, without who is not a member": func() { w.resume(name, w.otherLost(name)) }}
		}
		// A node that was to be ignored has been removed meanwhile: take it from the ignore list. Nothing is deleted yet.
		if other := w.otherLost(name); rec.Resume != "" && rec.Resume != rec.Accepted && !slices.ContainsFunc(other, func(id string) bool { return slices.Contains(rec.IgnoreDead, id) }) &&
			slices.ContainsFunc(step.Checks, func(c replace.Check) bool { return c.Blocks() && c.Name == replace.CheckOthersUp }) && len(other) > 0 {
			// Of another attempt the volume is gone: only the attempt is asked for anew.
			return map[string]func(){"replace resume --ignore-dead": func() { w.resume(name, other) }}
		}
		// Nor is it when another node is lost that was not to be ignored, whose own replacement waits for this one, or when its StatefulSet is rolled, which waits for
		// this very Pod: it is asked for anew, then with --ignore-dead or --skip-check.
		other := !slices.ContainsFunc(w.otherLost(name), func(id string) bool { return slices.Contains(rec.IgnoreDead, id) })
		if slices.ContainsFunc(step.Checks, func(c replace.Check) bool {
			return c.Blocks() && (c.Name == replace.CheckIgnoreList || c.Name == replace.CheckJustStarted || c.Name == replace.CheckOthersUp && len(w.otherLost(name)) > 0 && other)
		}) {
			return map[string]func(){"replace cancel, to ask for it anew": func() {
				w.annotate(name, func(labels, annotations map[string]string) { replace.CancelPatch().Apply(&labels, &annotations) })
			}}
		}
		return nil
	}
	if !w.member(svc.Annotations[api.AnnotationHostID]) {
		return map[string]func(){"replace cancel": func() {
			w.annotate(name, func(labels, annotations map[string]string) { replace.CancelPatch().Apply(&labels, &annotations) })
		}}
	}
	skip := slices.Clone(rec.SkipChecks)
	for _, c := range step.Checks {
		if c.Blocks() && c.Name == replace.CheckJustStarted {
			skip = append(skip, c.Name)
		}
	}
	sorted := func(list []string) []string { return slices.Sorted(slices.Values(list)) }
	if others := w.otherLost(name); len(skip) > len(rec.SkipChecks) || !slices.Equal(sorted(rec.IgnoreDead), sorted(others)) {
		return map[string]func(){"replace --ignore-dead --skip-check": func() { w.requestReplace(name, skip...) }}
	}
	return nil
}

func (w *world) supersede(name string, in replace.Input) {
	id := replace.Superseded(in)
	if id == "" {
		return
	}
	w.lost[name] = true
	w.tracef("kubectl scylla replace %s, the newcomer of %s", short(string(id)), name)
	w.annotate(name, func(labels, annotations map[string]string) {
		rec := replace.ReadRecord(labels, annotations)
		replace.SupersedePatch(rec, id, fmt.Sprintf("person-%d", w.version), w.otherLost(name), nil, w.clock(person)).Apply(&labels, &annotations)
	})
	if p := w.pods[name]; p != nil {
		p.failed = ""
	}
}

// listed is true where a row lists a new node.
func listed(m *matrix.Matrix, id hostid.ID) bool {
	return id != "" && m.Opinion(id).Listing() > 0
}

// diagnosed is what package scylla makes of ScyllaDB's last words.
func diagnosed(text string) words.Code {
	d, _ := scylla.Recognise(text)
	return cmp.Or(d.Code, words.JoinCancelled)
}

func (w *world) setOf(name string) *set {
	for _, s := range w.sets {
		if strings.HasPrefix(name, s.obj.Name+"-") {
			return s
		}
	}
	return nil
}

// heldByOrder is true where status says so.
func (w *world) heldByOrder(name string) bool {
	return cluster.New(w.objects(everything), cluster.SourceAuto, w.clock(person)).HeldByOrder(name) != ""
}

func (w *world) applyParallel(name string) {
	s := w.setOf(name)
	o := s.obj.DeepCopy()
	o.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
	s.obj = o
	w.wrote()
}
