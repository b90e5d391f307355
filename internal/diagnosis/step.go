// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Asks is the caller's knowledge in addition to a Cluster when it requests a step.
type Asks struct {
	// Self is the member that requests it; zero for a display of the whole cluster.
	Self matrix.Ref
	// Claim is the name of Self's PVC by its Pod, if set; it takes precedence over the objects.
	Claim string
	// VolumeUID is cluster.Member's of Self, if set; it takes precedence over the objects.
	VolumeUID types.UID
	Known     Known
}

// Nothing returns the Cluster of a member that could read nothing: only steps that need no objects
// are possible.
func Nothing(namespace string) *cluster.Cluster {
	return cluster.New(cluster.Objects{Key: cluster.Key{Namespace: namespace}}, cluster.SourceReport, time.Time{})
}

// Step returns the step for a blocker of a Cluster by the table only, as in every display of the
// cluster; zero if none is known.
func Step(c *cluster.Cluster, b *matrix.Blocker) words.Message { return newAsker(c, Asks{}).step(b) }

// Advise gives each blocker and note of a verdict its step. A blocker that the cluster also has
// gets the step that every display of the cluster shows. If the Pods were not read, as by a
// barrier, causes are unknown, and only the rules decide.
func Advise(c *cluster.Cluster, v *bootstrap.Verdict, asks Asks) {
	var said given
	if c.KnowsPods() && len(v.Blockers) > 0 {
		health := bootstrap.HealthOf(c)
		said = stepsOf(c, health.Blockers, From(c, health, asks.Known))
	}
	advise(c, v, asks, said)
}

// advise is Advise if the cluster's own blockers have their steps. It returns the causes of the
// blockers, and names the first one in the summary of a verdict that waits.
func advise(c *cluster.Cluster, v *bootstrap.Verdict, asks Asks, said given) []Cause {
	a := newAsker(c, asks)
	a.volumeLost = v.VolumeLost
	v.Blockers = slices.Clone(v.Blockers)
	a.steps(v.Blockers)
	own := func(b *matrix.Blocker) bool {
		return b.Hearsay || b.Observed.HostID != "" && b.Observed.HostID == asks.Self.HostID
	}
	for i := range v.Blockers {
		b := &v.Blockers[i]
		if k, ok := said.key(b); ok && !own(b) {
			b.Step = said.steps[k]
		}
	}
	causes := said.causes(v, own)
	if len(causes) > 0 && causes[0].Finding != nil && v.Summary.Code == words.MustWait {
		v.Summary = words.New(words.MustWait, "reasons", bootstrap.AndMore(causes[0].Message(), len(causes)-1))
	}
	a.notes(v)
	return causes
}

// notes gives each note of a verdict its step, and adds what is known of a split.
func (a *asker) notes(v *bootstrap.Verdict) {
	v.Notes = slices.Clone(v.Notes)
	split := a.c.Matrix().SplitFact()
	if blocks := func(b matrix.Blocker) bool { return b.Reason == words.SplitCluster }; !split.IsZero() &&
		!slices.ContainsFunc(v.Blockers, blocks) {
		v.Notes = append(v.Notes, words.New(words.StartsInSplit, "why", split))
	}
	for i := range v.Notes {
		v.Notes[i] = a.note(v.Notes[i])
	}
}

// pairKey identifies the subject of a blocker.
type pairKey struct {
	reason               words.Code
	observed, observer   hostid.ID
	member, observerName string
	cause                words.Code
	set                  string // StatefulSet of the cause
}

func keyOf(b *matrix.Blocker) pairKey {
	set, _ := b.Cause.Params["statefulSet"].(string)
	return pairKey{b.Reason, b.Observed.HostID, b.Observer.HostID, b.Observed.Member, b.Observer.Member, b.Cause.Code,
		set}
}

// ofCluster returns the key of only its reason, and whether the blocker has no node and no
// StatefulSet.
func ofCluster(b *matrix.Blocker) (pairKey, bool) {
	return pairKey{reason: b.Reason}, b.Observed == matrix.Ref{} && b.Observer == matrix.Ref{} && keyOf(b).set == ""
}

// asker finds steps by the table.
type asker struct {
	c *cluster.Cluster
	m *matrix.Matrix
	Asks
	volumeLost bool             // of Self, by its verdict
	down       bool             // a node is, by the blockers
	reading    *replace.Reading // once a step depends on the checks of a replacement
}

func newAsker(c *cluster.Cluster, asks Asks) *asker { return &asker{c: c, m: c.Matrix(), Asks: asks} }

// asked is one blocker.
type asked struct {
	*asker
	b *matrix.Blocker
	n *matrix.Node // that it is about; nil if the matrix does not have it
	// cause and its object are what keeps the node DOWN.
	cause  cluster.Cause
	object string
}

// steps gives the blockers their steps. Every observer of one node gets the same.
func (s *asker) steps(blockers []matrix.Blocker) {
	s.down = slices.ContainsFunc(blockers, isNodeDown)
	for k := range blockers {
		b := &blockers[k]
		if k > 0 && sameStep(b, &blockers[k-1]) {
			b.Step = blockers[k-1].Step
			continue
		}
		b.Step = s.step(b)
	}
}

// sameStep reports whether the blockers are two observers of one node with the same reason and no
// cause.
func sameStep(a, b *matrix.Blocker) bool {
	return a.Observer != (matrix.Ref{}) && a.Observed.HostID != "" && a.Observed.HostID == b.Observed.HostID &&
		a.Reason == b.Reason && a.Cause.IsZero() && b.Cause.IsZero() && a.Hearsay == b.Hearsay
}

// step returns the step of a blocker; zero if none is known. A Pod's own annotation leads to a step
// in three cases only. In each, the step only reads, or a user decides after reading.
func (s *asker) step(b *matrix.Blocker) words.Message {
	if b.Hearsay && b.Reason != words.ReporterSilent && b.Reason != words.NoOtherSeed &&
		b.Reason != words.SeedsOfAnotherCluster {
		return words.Message{}
	}
	a := &asked{asker: s, b: b}
	if i, ok := s.m.Index(b.Observed.HostID); ok {
		a.n = &s.m.Nodes()[i]
		a.cause, a.object = s.c.Cause(b.Observed.HostID)
	}
	for _, r := range rules[b.Reason] {
		if r.when != nil && !r.when(a) {
			continue
		}
		if r.take == nil {
			r.take = of(r.steps[0])
		}
		if step := r.take(a); !step.IsZero() {
			return replace.Allowed(s.c, a.waited(step))
		}
	}
	return words.Message{}
}

// note returns a note with the commands that it names.
func (s *asker) note(note words.Message) words.Message {
	a := &asked{asker: s, b: &matrix.Blocker{Observed: s.Self, Cause: note}}
	if note.Code == words.BannedBefore {
		cure := a.discard()
		note = words.New(note.Code, "evidence", note.Params["evidence"], "cure", cure).Do(cure.Commands...)
	} else {
		f := a.facts()
		if member, ok := note.Params["member"].(string); ok {
			f["member"], f["service"], f["uid"] = member, a.serviceVersion(member), a.volumeUID(member)
		}
		if id, ok := note.Params["hostID"].(hostid.ID); ok {
			a.ask(f, a.notListing(id))
		}
		note = evidence.Do(note, f)
	}
	return replace.Allowed(s.c, note)
}

// do returns a step with its commands. params are the facts that its sentence has as parameters.
func (a *asked) do(step words.Code, params ...string) words.Message {
	f, m := a.facts(), words.New(step)
	for _, name := range params {
		if m.Params == nil {
			m.Params = words.Params{}
		}
		m.Params[name] = f[name]
	}
	return evidence.Do(m, f)
}

// facts returns the known facts about the blocker's node, and the objects that its cause names.
func (a *asked) facts() evidence.Facts {
	o := a.b.Observed
	if a.b.Reason == words.HostIDMissing && o == (matrix.Ref{}) {
		o = a.b.Observer
	}
	f := a.factsOf(o.Member)
	maps.Copy(f, evidence.Facts{
		"podNamespace": a.podNamespace(), "member": o.Name(), "node": o.Name(), "first": o.Name(),
		"hostID": string(o.HostID), "claim": a.claim(), "volume": a.volume(),
		"datacenter": o.Datacenter, "founder": a.founder(), "kubernetesNode": a.object,
	})
	for _, name := range []string{"statefulSet", "label", "oldest", "report", "claim"} {
		if text, ok := a.b.Cause.Params[name].(string); ok {
			f[name] = text
		}
	}
	switch a.b.Reason {
	case words.ReportOutdated:
		f["pod"] = firstOf(a.b.Cause.Params["members"])
	case words.PodsNotReady:
		f["object"] = "statefulset " + f["statefulSet"]
		if pod := firstOf(a.b.Cause.Params["pods"]); pod != "" {
			f["object"] = "pod " + pod
		}
	case words.ControllerSilent, words.ReportMissing, words.ReportOutdated:
		if o := a.c.OperatorState; o != nil {
			f["operatorNamespace"], f["operator"], _ = strings.Cut(o.Deployment, "/")
		}
	}
	return f
}

// sidecarStep is the step for a Pod of a StatefulSet that is not Ready because of a container that
// is not ScyllaDB's. While Pods change, such a container may still be starting.
func (a *asked) sidecarStep() words.Message {
	set, _ := a.b.Cause.Params["statefulSet"].(string)
	for _, m := range a.c.Members() {
		if m.StatefulSet == nil || m.StatefulSet.Name != set {
			continue
		}
		if why := a.c.SidecarTrouble(m.Member); !why.IsZero() &&
			(a.b.Reason == words.PodsNotReady || why.Code != words.SidecarNotReady) {
			return replace.SidecarStep(a.c, m.Member, why)
		}
	}
	return words.Message{}
}

// podNamespace returns the namespace of commands about the node's Pod. It is empty for a node
// without a member name: its namespace is different or unknown.
func (a *asked) podNamespace() string {
	switch {
	case a.n == nil:
		return a.c.Namespace
	case a.n.Member == "":
		return ""
	case a.n.Row != nil:
		return cmp.Or(a.n.Row.Namespace, a.c.Namespace)
	}
	return a.c.Namespace
}

func (a *asked) claim() string {
	if a.Claim != "" && a.b.Observed.Member == a.Self.Member {
		return a.Claim
	}
	return a.c.ClaimName(a.b.Observed.Member)
}

// volume returns the volume of the blocker's PVC; empty if unknown.
func (a *asked) volume() string {
	if a.b.Reason != words.ClaimDeleting {
		return ""
	}
	for _, p := range a.c.Claims(a.b.Observed.Member) {
		if p.Name == a.b.Cause.Params["claim"] {
			return p.Spec.VolumeName
		}
	}
	return ""
}

func (a *asked) hasCause() bool { return !a.b.Cause.IsZero() }

func (a *asked) lacksCluster() bool { return a.b.Cause.Params["label"] == api.LabelCluster }

// founder returns the member that must create the cluster before the member that waits for its
// permit.
func (a *asked) founder() string {
	if a.b.Reason != words.PermitPending || a.c.StatusReport == nil || a.c.StatusReport.Status.View == nil ||
		!a.m.Empty() {
		return ""
	}
	if f := a.c.StatusReport.Status.View.Founder; f != a.b.Observed.Member {
		return f
	}
	return ""
}

// discard returns the step for a data directory that cannot be reused: delete its PVC and its Pod.
func (a *asked) discard() words.Message {
	switch {
	case a.claim() == "":
		return words.New(words.DiscardClaimOf, "member", a.b.Observed.Name())
	case a.b.Observed.Member == "":
		return words.New(words.DiscardClaim, "claim", a.claim())
	}
	return a.do(words.DiscardClaim, "claim")
}

func (a *asked) tellClustersApart() words.Message {
	step := words.New(words.TellClustersApart)
	for _, first := range a.m.Witnesses() {
		if first.Member != "" { // else its Pod is elsewhere
			step = evidence.Do(step, a.factsOf(first.Member))
		}
	}
	return step
}

func (a *asked) tellGroupApart() words.Message {
	f := a.factsOf(a.m.Strays()[0].Member)
	if r := a.c.StatusReport; r != nil {
		f["report"] = cmp.Or(r.Name, a.c.Name) // a report that is being created has no name yet
	}
	return evidence.Do(words.New(words.TellGroupApart), f)
}

// factsOf returns the facts for commands that query a member.
func (s *asker) factsOf(member string) evidence.Facts {
	return evidence.Facts{
		"namespace": s.c.Namespace, "cluster": s.c.Name, "report": s.c.Name, "member": member, "pod": member,
		"container": s.c.Containers().Container(member), "log": replace.Log(s.c, member),
		"reporterLog": replace.ReporterLog(s.c, member), "service": s.serviceVersion(member),
		"uid": s.volumeUID(member),
	}
}

// volumeUID returns the UID of a member's volume; empty if it is unknown.
func (s *asker) volumeUID(member string) string {
	m := s.c.Member(member)
	switch {
	case s.VolumeUID != "" && member == s.Self.Member:
		return string(s.VolumeUID)
	case m != nil:
		return string(m.VolumeUID())
	}
	return ""
}

// serviceVersion returns the resource version of a member's Service; empty if it is unknown.
func (s *asker) serviceVersion(member string) string {
	if svc := s.c.Service(member); svc != nil {
		return svc.ResourceVersion
	}
	return ""
}

// forceSelf takes a step that lets Self start; without a Self, the command has a placeholder.
func forceSelf(step words.Code) func(*asked) words.Message {
	return func(a *asked) words.Message { return evidence.Do(words.New(step), a.factsOf(a.Self.Member)) }
}

// oldPodStep is the step for a new node in a Pod of an old template, whose image is too old.
func (a *asked) oldPodStep() words.Message { return replace.OldPodStep(a.c, a.Self.Member) }

// queuedFor reports whether the controller gives Self no permit for that reason.
func (a *asked) queuedFor(reason words.Code) bool {
	why, _ := a.b.Cause.Params["why"].(words.Message)
	return why.Code == words.PermitWaitsForReason && why.Params["reason"] == string(reason)
}

// howReplaced takes a step that shows the progress of the node's replacement, or of Self's if the
// node has none.
func howReplaced(step words.Code) func(*asked) words.Message {
	return func(a *asked) words.Message {
		return evidence.Do(words.New(step), a.factsOf(cmp.Or(a.fate().Member, a.Self.Name())))
	}
}

func (a *asked) fate() matrix.NodeFacts {
	if a.n == nil {
		return matrix.NodeFacts{}
	}
	return a.m.Options().Fates[a.n.HostID]
}

func (a *asked) isSelf() bool { return a.Self.HostID != "" && a.n.HostID == a.Self.HostID }

func (a *asked) isSelfWithoutData() bool { return a.isSelf() && a.volumeLost }

// isOrphan reports whether the node is a member of the cluster that is DOWN and that nothing here
// explains: no member has, replaces or reports it, and nothing shows another datacenter.
func (a *asked) isOrphan(n *matrix.Node) bool {
	return n.HostID != "" && n.Member == "" && n.Row == nil && n.Joined && !n.Removed && n.SeenDown > 0 &&
		n.SeenUp == 0 && a.m.Options().Fates[n.HostID] == (matrix.NodeFacts{}) && !a.c.MayBeElsewhere()
}

// hasOrphan reports whether a node other than the blocker's is an orphan.
func (a *asked) hasOrphan() bool {
	nodes := a.m.Nodes()
	for i := range nodes {
		if n := &nodes[i]; n.HostID != a.n.HostID && a.isOrphan(n) {
			return true
		}
	}
	return false
}

func (a *asked) isNormalMember() bool { return a.n.Member != "" && a.n.State == matrix.StateNormal }

// recordsJoin reports whether a Service records the node's join: rows that have it as a new node
// are older.
func (a *asked) recordsJoin() bool {
	m := a.c.Member(a.n.Member)
	return m != nil && m.HasJoined() && m.RecordedID() == a.n.HostID
}

// few reports whether at most half of the rows have the node DOWN.
func (a *asked) few() bool {
	return 2*a.n.SeenDown <= a.n.SeenUp+a.n.SeenDown+a.n.SeenUnknown+a.n.NotSeen
}

// mayRollBack reports whether the node may still be joining, so that ScyllaDB rolls its join back
// when it stops. One fresh row with states that lists it as a plain member proves that its join has
// ended: then a member is DOWN. Rows without states, as those from elsewhere, prove nothing.
func (a *asked) mayRollBack() bool {
	return a.n.State != matrix.StateNormal || !slices.ContainsFunc(a.m.Nodes(), func(o matrix.Node) bool {
		if r := o.Row; o.Self || r == nil || r.NoStates || !r.Reported || !r.Trouble.IsZero() || !r.Stale.IsZero() {
			return false
		}
		for cell := range o.Row.Each() {
			if cell.HostID == a.n.HostID {
				return cell.State == matrix.StateNormal
			}
		}
		return false
	})
}

// isElsewhere reports whether no node of the node's datacenter is a member here.
func (a *asked) isElsewhere() bool {
	return a.n.Member == "" && a.n.Datacenter != "" &&
		!slices.ContainsFunc(a.m.Nodes(),
			func(o matrix.Node) bool { return o.Member != "" && o.Datacenter == a.n.Datacenter })
}

// fault returns the origin of the trouble with the node's row.
func (a *asked) fault() matrix.Fault {
	t := matrix.Trouble{Code: a.b.Cause.Code, Object: fmt.Sprint(a.b.Cause.Params["object"])}
	return t.Fault(a.c.Containers().Container(a.n.Member))
}

// isFaulty reports whether ScyllaDB is the origin of the trouble with the node's row.
func (a *asked) isFaulty() bool {
	return a.n.Row != nil && !a.n.Row.Trouble.IsZero() &&
		a.n.Row.Trouble.Fault(a.c.Containers().Container(a.n.Member)) == matrix.FaultScyllaDB
}

// whileCause leaves out that the member itself is starting: that is what the verdict is about.
func (a *asked) whileCause() words.Message {
	if a.isSelf() && a.cause == cluster.CauseStarting {
		return words.Message{}
	}
	return replace.WhileCause(a.c, a.n.Member, a.cause, a.object)
}

// volumeGone reports whether the objects show that the node's volume no longer exists, and the
// other nodes agree that it is DOWN.
func (a *asked) volumeGone() bool {
	return a.m.AllDown(a.n.HostID) && !a.c.VolumeGone(a.n.Member).IsZero()
}

func (a *asked) later() words.Message {
	if a.reading == nil {
		a.reading = replace.Read(a.c)
	}
	return a.reading.Later(a.n.Member)
}

func (a *asked) replaceLost() words.Message {
	return evidence.Do(words.New(words.ReplaceLost, "why", a.c.VolumeGone(a.n.Member)), a.facts())
}
