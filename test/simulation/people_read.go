// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// readByPerson is the cluster as kubectl reads it at this moment, logs and Kubernetes nodes included.
func (w *world) readByPerson() *cluster.Cluster {
	o := w.objects(everything | cluster.KindPVCs)
	o.Machines, o.NotReadySince = map[string]string{}, map[string]time.Time{}
	for _, m := range w.machine {
		o.Machines[m.name] = w.machineState(m)
		if m.off {
			o.NotReadySince[m.name] = m.since.Add(40 * time.Second)
		}
	}
	o.Volumes, o.Claimed = map[string][]string{}, map[string]string{}
	for _, name := range w.claimNames.of(w.claims) {
		if c := w.claims[name]; c.machine != nil && c.obj.Spec.VolumeName != "" {
			o.Volumes[c.obj.Spec.VolumeName], o.Claimed[name] = []string{c.machine.name}, c.obj.Spec.VolumeName
		}
	}
	now := w.clock(person)
	c := cluster.New(o, cluster.SourceAuto, now)
	c.TakenAt = now
	banned, said := map[string]words.Message{}, map[string]cluster.LogError{}
	unready := c.Unready()
	for _, name := range c.Newcomers() {
		if d, ok := w.firstError(name); ok && d.Lost() {
			banned[name] = words.New(words.ScyllaDBSaid, "pod", name, "text", d.Text)
		}
	}
	for name := range unready { // into a map: the order does not matter
		if d, ok := w.firstError(name); ok {
			said[name] = cluster.LogError{Code: d.Code, Text: d.Text}
		}
	}
	return c.WithBanned(banned).WithLogs(said)
}

func (w *world) machineState(m *machine) string {
	switch {
	case w.objectGone(m):
		return cluster.KubernetesNodeGone
	case m.off && w.now.Sub(m.since) > 40*time.Second:
		return cluster.KubernetesNodeNotReady
	}
	return cluster.KubernetesNodeReady
}

// firstError is what the log of a Pod's ScyllaDB says; no kubelet answers where the machine is off.
func (w *world) firstError(name string) (scylla.Diagnosis, bool) {
	p := w.pods[name]
	switch {
	case p == nil || p.stage != running || p.deleting || p.machine.off || w.isCut(p):
	case p.discovers():
		return scylla.Diagnosis{Code: words.ShadowRound}, true
	case p.failed != "":
		return scylla.Recognise(p.failed)
	}
	return scylla.Diagnosis{}, false
}

// discovers: its ScyllaDB looks for group 0 at addresses that its volume keeps, and has found none.
func (p *pod) discovers() bool {
	return p.proc != nil && !p.proc.gossips && len(p.proc.seeds) > 0 && !p.proc.disk.complete
}

// printedStep is one step that something prints, and the member that it is about.
type printedStep struct {
	about string
	step  words.Message
}

// printedSteps are what status prints, in its order, and then what `barrier` prints of each member that waits.
func printedSteps(j *diagnosis.Judged) []printedStep {
	var out []printedStep
	for i := range j.Findings {
		f := &j.Findings[i]
		about := ""
		if len(f.Scope.Nodes) > 0 {
			about = f.Scope.Nodes[0].Name()
		}
		if !f.Step.IsZero() {
			out = append(out, printedStep{about, f.Step})
		}
	}
	for _, name := range sortedKeys(j.Starts) {
		out = append(out, ofStart(j, name)...)
	}
	return out
}

// ofStart is what `barrier MEMBER` prints.
func ofStart(j *diagnosis.Judged, name string) []printedStep {
	var out []printedStep
	s := j.Starts[name]
	for i := range s.Causes {
		out = append(out, printedStep{name, s.Causes[i].Step()})
	}
	return append(out, ofVerdict(name, &s.Verdict)...)
}

func ofVerdict(name string, v *bootstrap.Verdict) (out []printedStep) {
	for i := range v.Blockers {
		out = append(out, printedStep{name, v.Blockers[i].Step})
	}
	for _, note := range v.Notes {
		out = append(out, printedStep{name, note})
	}
	return out
}

// ofBarrier is what the barrier of a Pod prints, which knows the volume.
func (w *world) ofBarrier(name string) []printedStep {
	p := w.pods[name]
	if p == nil || !p.waits() || p.barrier.gate == nil {
		return nil
	}
	v := p.printed()
	return ofVerdict(name, &v)
}

// ofSet is what the barriers of a StatefulSet's Pods print that are not Ready.
func (w *world) ofSet(set string) []printedStep {
	var out []printedStep
	for _, p := range w.podsThat(func(p *pod) bool { return p.set.obj.Name == set && !p.isReady() }) {
		out = append(out, w.ofBarrier(p.name)...)
	}
	return out
}

// ofReplacement is what `replace status MEMBER` prints.
func ofReplacement(j *diagnosis.Judged, name string) []printedStep {
	s := j.Replacing[name].Step
	if s == nil {
		return nil
	}
	out := []printedStep{{name, s.Cure}}
	if s.Diagnosis != nil {
		out = append(out, printedStep{name, s.Diagnosis.Cure})
	}
	for i := range s.Checks {
		if s.Checks[i].Blocks() {
			out = append(out, printedStep{name, s.Checks[i].Cure})
		}
	}
	return out
}

// longDiscovery is how long a person sees it discover before that person believes the printed step.
const longDiscovery = 10 * time.Minute

// ofLog is what a log says whose volume can never join: the sentence names the claim and the Pod, and how a replacement is resumed.
func (w *world) ofLog(j *diagnosis.Judged, look words.Command) printedStep {
	name := look[2]
	if look[1] == "scylla" {
		name = look[3]
	}
	d, ok := w.firstError(name)
	switch {
	case ok && d.Code == words.ShadowRound: // it has "Discovering", and no node lists it
		if w.now.Sub(w.pods[name].proc.since) < longDiscovery {
			return printedStep{}
		}
	case ok && (d.Code == words.JoinUnfinished || d.Code == words.RequestNotFound): // see whether a node lists its host ID
		if id := w.pods[name].claim.disk.id; j.Cluster.Matrix().Opinion(hostid.ID(id)).Listing() > 0 && j.Replacing[name].Original == "" {
			return printedStep{name, words.New(d.Code).Do(words.Scylla(namespace, "replace", id))}
		}
	case !ok || !d.Lost():
		return printedStep{}
	}
	step := words.New(d.Code)
	if j.Replacing[name].Original != "" {
		return printedStep{name, step.Do(words.Scylla(namespace, "replace", "resume", name))}
	}
	return printedStep{name, step.Do(words.Kubectl(namespace, "delete", "pvc", "data-"+name, "--wait=false"),
		words.Kubectl(namespace, "delete", "pod", name))}
}

// actions are the commands by which a step changes something, of those that the one who reads it has a reason to run. A step without any leads to what its looks show.
func (w *world) actions(j *diagnosis.Judged, s printedStep, depth int) (words.Code, []words.Command) {
	if s.step.IsZero() || depth > 3 {
		return "", nil
	}
	var do []words.Command
	for _, c := range s.step.Commands {
		if changes(c) {
			do = append(do, c)
		}
	}
	if branch := branches[s.step.Code]; branch != nil {
		do = branch(w, s, do)
	}
	if len(do) > 0 {
		return s.step.Code, do
	}
	for _, next := range w.looks(j, s) {
		if code, do := w.actions(j, next, depth+1); len(do) > 0 {
			return code, do
		}
	}
	return "", nil
}

// looks are the steps that a step names: in it, or in what its commands print.
func (w *world) looks(j *diagnosis.Judged, s printedStep) []printedStep {
	var out []printedStep
	for _, name := range []string{"cure", "why", "first"} {
		if m, ok := s.step.Params[name].(words.Message); ok {
			out = append(out, printedStep{s.about, m})
		}
	}
	for _, c := range s.step.Commands {
		key := strings.Join(c, " ")
		if w.follower.looked[key] {
			continue // nobody looks twice
		}
		w.follower.looked[key] = true
		switch {
		case strings.HasPrefix(key, "kubectl scylla replace status "):
			out = append(out, ofReplacement(j, c[4])...)
		case strings.HasPrefix(key, "kubectl scylla describe "), strings.HasPrefix(key, "kubectl logs "):
			out = append(out, w.ofLog(j, c))
		case strings.HasPrefix(key, "kubectl scylla barrier ") && len(c) > 3:
			if _, judged := j.Starts[c[3]]; !judged {
				j = diagnosis.Judge(j.Cluster, j.Made, c[3])
			}
			out = append(out, ofStart(j, c[3])...)
			out = append(out, w.ofBarrier(c[3])...)
		case strings.HasPrefix(key, "kubectl rollout status statefulset/"):
			out = append(out, w.ofSet(strings.TrimPrefix(c[3], "statefulset/"))...)
		case strings.HasPrefix(key, "kubectl describe statefulset "):
			out = append(out, w.ofSet(c[3])...)
		}
	}
	return out
}

// changes is true for a command that does more than show.
func changes(c words.Command) bool {
	args := c[1:]
	switch {
	case len(args) == 0:
		return false
	case args[0] == "delete", args[0] == "label", args[0] == "annotate", args[0] == "scale", args[0] == "uncordon", args[0] == "patch":
		return true
	case args[0] != "scylla" || len(args) < 2:
		return false
	case args[1] == "nodetool":
		return strings.Contains(strings.Join(args, " "), "-- removenode") || strings.Contains(strings.Join(args, " "), "-- excludenode")
	case args[1] == "replace":
		return len(args) > 2 && args[2] != "status"
	}
	return args[1] == "force-proceed"
}

// branches are what somebody finds who looks as the step says, by the step's code: which of its commands that person then runs. A step that is not here has no condition.
var branches = map[words.Code]func(w *world, s printedStep, do []words.Command) []words.Command{
	words.CureResumeAfter: func(_ *world, _ printedStep, do []words.Command) []words.Command {
		return do[1:] // the other node comes back, or something shows that it is lost
	},

	words.TellVolume:       when((*world).ownVolume),
	words.JoinNotRecorded:  when((*world).ownVolume),
	words.MayWaitForItself: when((*world).ownVolume),

	words.CheckElsewhereThenForce:       when((*world).allReach),
	words.CheckThereThenForce:           when((*world).allReach),
	words.CheckOtherDatacenterThenForce: when((*world).allReach),
	words.NameOneCluster:                when((*world).allReach),
	words.ForcePastZeroToken:            when((*world).allReach),

	words.SeeIfRemoved: when(func(w *world, s printedStep) bool {
		id, _ := s.step.Params["hostID"].(string)
		return slices.ContainsFunc(w.groups, func(g *group) bool { return g.left[id] }) // node_state in system.topology
	}),
	words.CureAliveTarget:     never, // it was not named by mistake
	words.BeginAnew:           never,
	words.CancelBeforeStart:   never,
	words.OldNodeCameBackCure: never,
	words.SeeMaintenance:      never,
	words.RestartOldPod: when(func(w *world, s printedStep) bool {
		p := w.pods[s.about]
		return p != nil && w.mayStop(p)
	}),
}

func when(finds func(w *world, s printedStep) bool) func(*world, printedStep, []words.Command) []words.Command {
	return func(w *world, s printedStep, do []words.Command) []words.Command {
		if finds(w, s) {
			return do
		}
		return nil
	}
}

func never(*world, printedStep, []words.Command) []words.Command { return nil }

// ownVolume: the volume was from the beginning that of the member, or of the node that the step names.
func (w *world) ownVolume(s printedStep) bool {
	c := w.claims["data-"+s.about]
	svc := w.service[s.about]
	if c == nil || svc == nil {
		return false
	}
	id := svc.Annotations[api.AnnotationHostID]
	if of, ok := s.step.Params["hostID"]; ok {
		id = strings.TrimSpace(words.Text(words.New(words.LogCure, "text", of)))
	}
	return c.disk.id == id && id != "" || s.step.Code == words.TellVolume && id == "" && !c.disk.copied
}

// allReach: every node is in reach of every other.
func (w *world) allReach(printedStep) bool {
	for _, g := range w.groups {
		for _, id := range g.order {
			if s := w.running(id); g.members[id] == normal && (s == nil || !g.down[id].IsZero()) {
				return false
			}
		}
	}
	return true
}

// asks is what `kubectl scylla replace` does: the shipped checks, of now. False is a refusal, with what the checks print.
func (w *world) asks(name string, patch func(*replace.Input) *replace.Patch, resume bool) (bool, []replace.Check) {
	in := replace.Read(w.readByPerson()).Input(name, w.clock(person), "")
	if in == nil || !resume && !replace.OpenAlready(*in).IsZero() {
		return false, nil
	}
	in.Data = &replace.Data{Known: true}
	p := patch(in)
	if plan := replace.MakePlan(in.With(p)); plan.Blocked {
		return false, plan.Blockers()
	}
	w.annotate(name, func(labels, annotations map[string]string) { p.Apply(&labels, &annotations) })
	return true, nil
}
