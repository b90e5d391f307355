// SPDX-License-Identifier: Apache-2.0

package replacement

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// Next derives the state of the member's replacement and the one thing to do about it. It is a function of its input alone.
func Next(in Input) Step {
	rec := ReadRecord(in.Service.Labels, in.Service.Annotations)
	m := &machine{in: &in, rec: rec}
	s := m.next()
	s.Procedure = m.procedure
	s.Original, s.Attempt, s.StartedAt = m.original, rec.Attempt, rec.StartedAt
	if s.Request == "" {
		s.Request = m.request()
	}
	if s.Address == "" && m.procedure == ByAddress {
		s.Address, _ = rec.Address()
	}
	if s.Last == nil {
		s.Last = rec.Last
	}
	return s
}

type machine struct {
	in        *Input
	rec       Record
	procedure Procedure
	original  string
}

func (m *machine) request() string {
	if m.rec.Accepted != "" {
		return m.rec.Accepted
	}
	return m.rec.Request
}

func (m *machine) next() Step {
	in, rec := m.in, m.rec
	m.procedure = rec.Procedure()
	m.original = rec.Original
	if in.Operator {
		return Step{Action: ActionNone, Message: "the Scylla Operator manages this member and replaces its node itself"}
	}
	switch {
	case !rec.Requested && !rec.Open() && rec.Request == "":
		return m.idle()
	case !rec.Requested:
		return m.withdrawn()
	case rec.LabelLost && rec.OriginalError == "":
		return m.restoreLabel()
	case rec.Resume != "" && rec.Resume != rec.Accepted && rec.Open():
		return m.start(rec.Original, true)
	case rec.Accepted == "" && rec.HasOriginal:
		return m.begunElsewhere()
	case rec.Accepted == "":
		if addr, ok := rec.Address(); ok && m.begunByAddress(addr) {
			return m.adopt(addr)
		}
		id, _ := ParseHostID(in.Self.HostID)
		m.original = id
		return m.start(id, false)
	}
	return m.accepted()
}

func (m *machine) idle() Step {
	s := Step{Action: ActionNone, Message: "no replacement is requested"}
	if last := m.rec.Last; last != nil {
		s.Request = last.Request
		s.Message = last.Text()
		// Said again for a while: a controller that was killed between the last write and its Event has not said it.
		if age := m.in.Now.Sub(last.FinishedAt); age >= 0 && age < lastSaid {
			s.Events = []Event{last.event()}
		}
	}
	return s
}

// lastSaid is how long after its end the outcome is still worth an Event.
const lastSaid = 10 * time.Minute

// event is the same Event however often it is made.
func (l Last) event() Event {
	reason := EventFinished
	if l.Outcome == OutcomeCancelled {
		reason = EventCancelled
	}
	return Event{Reason: reason, Note: fmt.Sprintf("%s (request %s)", upperFirst(l.Text()), l.Request)}
}

// Text says the outcome in one sentence.
func (l Last) Text() string {
	if l.Outcome == OutcomeCancelled {
		what := l.HostID
		if what == "" {
			what = "this node"
		}
		return "the request to replace " + what + " was cancelled before anything was deleted"
	}
	old := l.HostID
	if old == "" {
		old = "of an unknown host ID" // another's procedure by address that was continued
	}
	text := fmt.Sprintf("node %s was replaced by %s", old, l.NewHostID)
	if !l.StartedAt.IsZero() && l.FinishedAt.After(l.StartedAt) {
		text += " in " + l.FinishedAt.Sub(l.StartedAt).String()
	}
	return text
}

// withdrawn: the label is gone but something of the request is left.
func (m *machine) withdrawn() Step {
	in, rec := m.in, m.rec
	if m.cancelable() {
		for _, uid := range rec.PVCUIDs {
			if c := m.claim(uid); rec.Accepted != "" && c.Kept != rec.Accepted {
				claim := *c
				return Step{
					Action: ActionKeepPVC, Claim: &claim,
					Message: fmt.Sprintf("the request is being withdrawn: PersistentVolumeClaim %s is kept", c.Name),
				}
			}
		}
		last := Last{
			Request: m.request(), Outcome: OutcomeCancelled, HostID: rec.Original,
			StartedAt: rec.StartedAt, FinishedAt: in.Now.UTC().Truncate(time.Second), Attempts: rec.Attempt,
		}
		return Step{
			Action: ActionCancel, Patch: endPatch(last),
			Message: "the request was withdrawn before anything was deleted",
			Events:  []Event{last.event()},
		}
	}
	value := ""
	if m.procedure == ByAddress {
		value, _ = rec.Address()
	}
	msg := fmt.Sprintf("label %s was removed too late: the volume of %s is deleted and the cluster may have banned the old node, so the replacement goes on",
		api.LabelReplace, in.Self.Member)
	return Step{
		Action: ActionCancelRefused, Message: msg,
		Patch:  &Patch{SetLabels: map[string]string{api.LabelReplace: value}},
		Events: []Event{{Warning: true, Reason: EventCancelRefused, Note: upperFirst(msg)}},
	}
}

// cancelable: nothing was accepted, or this first attempt's claims are all still there and untouched.
func (m *machine) cancelable() bool {
	rec := m.rec
	if !rec.Open() {
		return true
	}
	if rec.Accepted == "" || rec.Attempt > 1 || len(rec.PVCUIDs) == 0 {
		return false
	}
	for _, uid := range rec.PVCUIDs {
		c := m.claim(uid)
		if c == nil || c.Deleting {
			return false
		}
	}
	return true
}

// Cancelable reports whether a replacement can still be cancelled.
func Cancelable(in Input) bool {
	m := &machine{in: &in, rec: ReadRecord(in.Service.Labels, in.Service.Annotations)}
	return m.cancelable()
}

func (m *machine) claim(uid string) *Claim {
	for i := range m.in.Claims {
		if m.in.Claims[i].UID == uid {
			return &m.in.Claims[i]
		}
	}
	return nil
}

// restoreLabel puts the label of the original host ID back: the launcher of the new Pod reads it.
func (m *machine) restoreLabel() Step {
	msg := fmt.Sprintf("label %s of service %s was removed or changed during the replacement and is put back", api.LabelReplacingNodeHostID, m.in.Self.Member)
	return Step{
		Action: ActionRecord, Message: msg,
		Patch:  &Patch{SetLabels: map[string]string{api.LabelReplacingNodeHostID: m.rec.Original}},
		Events: []Event{{Warning: true, Reason: EventLabelRestored, Note: upperFirst(msg)}},
	}
}

// begunByAddress tells a request to replace by address from a procedure by address that somebody else is in the middle of: there the
// Service was made anew with the dead node's address in its label, so the member has no host ID, or one that never joined, or that
// of the newcomer, whose address is another.
func (m *machine) begunByAddress(addr string) bool {
	in := m.in
	id, err := ParseHostID(in.Self.HostID)
	if err != nil {
		return true
	}
	if in.Joined != nil && !*in.Joined {
		return true
	}
	own := []string{in.Service.ClusterIP}
	if in.Pod != nil {
		own = append(own, in.Pod.IP)
	}
	t := newView(in, id, "", nil).tally(id)
	return len(t.up) > 0 && !slices.Contains(own, addr)
}

// adopt puts another's procedure by address under our record, without anything to delete.
func (m *machine) adopt(addr string) Step {
	in := m.in
	request := m.rec.Request
	if request == "" {
		request = in.NewID
	}
	m.procedure = ByAddress
	return Step{
		Action: ActionAdopt, Request: request, Address: addr,
		Message: fmt.Sprintf("a replacement of address %s was begun by somebody else and is continued", addr),
		Patch: &Patch{SetAnnotations: map[string]string{
			api.AnnotationReplaceAccepted:  request,
			api.AnnotationReplacePVCUIDs:   api.ReplaceNone,
			api.AnnotationReplacePodUID:    api.ReplaceNone,
			api.AnnotationReplaceStartedAt: stamp(in.Now),
			api.AnnotationReplaceAddress:   addr,
			// Its first attempt was not ours and has deleted the volume.
			api.AnnotationReplaceAttempt: "2",
		}},
		Events: []Event{
			{Reason: EventAdopted, Note: fmt.Sprintf("Replacement of address %s was begun by another controller and is continued", addr)},
			m.deprecated(addr),
		},
	}
}

func (m *machine) deprecated(addr string) Event {
	return Event{Warning: true, Reason: EventAddressDeprecated, Note: fmt.Sprintf(
		"ScyllaDB %s replaces %s by its address %s (replace_address_first_boot), which is deprecated; upgrade to 5.2, 2023.1 or later to replace by host ID",
		orUnknown(m.in.Version), m.in.Self.Member, addr)}
}

func orUnknown(version string) string {
	if version == "" {
		return "of unknown version"
	}
	return version
}

// start verifies and records: a new replacement of target, or another attempt at it.
func (m *machine) start(target string, resume bool) Step {
	in, rec := m.in, m.rec
	v := verify(in, rec, target, resume)
	m.procedure = v.procedure
	request := rec.Request
	if resume {
		request = rec.Resume
	}
	if v.blocked() {
		s := m.refuse(v)
		s.Request = request
		return s
	}
	if request == "" {
		request = in.NewID
	}
	var uids []string
	for _, c := range in.Claims {
		uids = append(uids, c.UID)
	}
	slices.Sort(uids)
	pod := api.ReplaceNone
	if in.Pod != nil {
		pod = in.Pod.UID
	}
	started := in.Now
	if resume && !rec.StartedAt.IsZero() {
		started = rec.StartedAt
	}
	attempt := 1
	if resume {
		attempt = max(rec.Attempt, 1) + 1
	}
	patch := &Patch{SetLabels: map[string]string{}, SetAnnotations: map[string]string{
		api.AnnotationReplaceRequest:   request,
		api.AnnotationReplaceAccepted:  request,
		api.AnnotationReplacePVCUIDs:   listOrNone(uids),
		api.AnnotationReplacePodUID:    pod,
		api.AnnotationReplaceStartedAt: stamp(started),
		api.AnnotationReplaceAttempt:   strconv.Itoa(attempt),
	}}
	s := Step{Action: ActionRecord, Request: request, Checks: v.checks, Patch: patch, Address: v.address}
	what := target
	if !resume || rec.Accepted == "" {
		patch.SetAnnotations[api.AnnotationReplaceOriginalHostID] = target
	}
	switch v.procedure {
	case ByHostID:
		patch.SetLabels[api.LabelReplacingNodeHostID] = target
	case ByAddress:
		what = fmt.Sprintf("%s (address %s)", target, v.address)
		patch.SetLabels[api.LabelReplace] = v.address
		patch.SetAnnotations[api.AnnotationReplaceAddress] = v.address
		s.Events = append(s.Events, m.deprecated(v.address))
	}
	reason, verb := EventStarted, "is replaced"
	if resume {
		reason, verb = EventResumed, fmt.Sprintf("is replaced in attempt %d", attempt)
	}
	s.Message = fmt.Sprintf("all checks passed; host ID %s is recorded before anything is deleted", target)
	note := fmt.Sprintf("Node %s %s (request %s)", what, verb, request)
	if skipped := skippedNames(v.checks); len(skipped) > 0 {
		note += "; checks skipped by request: " + strings.Join(skipped, ", ")
	}
	s.Events = append(s.Events, Event{Reason: reason, Note: note})
	return s
}

func skippedNames(checks []Check) []string {
	var out []string
	for _, c := range checks {
		if c.Skipped {
			out = append(out, c.Name)
		}
	}
	return out
}

func (m *machine) refuse(v verification) Step {
	blockers := v.blockers()
	s := Step{Action: ActionRefuse, Checks: v.checks, Address: v.address, Cure: blockers[0].Cure}
	var parts []string
	for _, b := range blockers {
		s.Waiting = append(s.Waiting, b.Name+": "+b.Evidence)
		parts = append(parts, b.Name+": "+b.Evidence)
	}
	s.Message = "nothing is deleted: " + semicolons(parts)
	s.Events = []Event{{Warning: true, Reason: EventRefused, Note: fmt.Sprintf("Replacement of %s is held up: %s", m.in.Self.Member, semicolons(parts))}}
	return s
}

// begunElsewhere: the original host ID is recorded but not by us. Whoever recorded it has deleted the volume before (the Scylla
// Operator writes the label last), so nothing is deleted here.
func (m *machine) begunElsewhere() Step {
	if m.rec.OriginalError != "" {
		return m.refuse(verify(m.in, m.rec, "", false))
	}
	return m.afterDeletion()
}

// accepted: this attempt is recorded by us.
func (m *machine) accepted() Step {
	rec := m.rec
	if rec.OriginalError != "" {
		return m.refuse(verify(m.in, rec, "", false))
	}
	if !rec.PVCsRecorded {
		// Accepted without the list is a record that somebody has damaged; deleting needs the list, going on does not.
		return m.afterDeletion()
	}
	for _, uid := range rec.PVCUIDs {
		c := m.claim(uid)
		if c == nil || c.Deleting {
			continue
		}
		return m.deletePVC(c)
	}
	return m.afterDeletion()
}

// deletePVC verifies once more, at this moment. Once one of several claims is gone only life of the old node holds the rest back.
func (m *machine) deletePVC(c *Claim) Step {
	v := verify(m.in, m.rec, m.original, m.rec.Attempt > 1)
	if m.claimsTouched() {
		v.checks = slices.DeleteFunc(v.checks, func(c Check) bool { return c.Name != CheckDown && c.Name != CheckNotAlive })
	}
	if v.blocked() {
		return m.refuse(v)
	}
	claim := *c
	return m.heed(Step{
		Action: ActionDeletePVC, Claim: &claim, Checks: v.checks, Address: v.address,
		Message: fmt.Sprintf("PersistentVolumeClaim %s (UID %s) is deleted", claim.Name, claim.UID),
		Events: []Event{{Reason: EventPVCDeleted, Note: fmt.Sprintf("PersistentVolumeClaim %s (UID %s) of dead node %s deleted (request %s)",
			claim.Name, claim.UID, m.original, m.request())}},
	}, fmt.Sprintf("PersistentVolumeClaim %s cannot be deleted", claim.Name))
}

func (m *machine) claimsTouched() bool {
	for _, uid := range m.rec.PVCUIDs {
		if c := m.claim(uid); c == nil || c.Deleting {
			return true
		}
	}
	return false
}

// oldPod reports whether the Pod that exists is the old one: it is the recorded one, or one that runs on a recorded claim.
func (m *machine) oldPod() bool {
	p := m.in.Pod
	if p == nil {
		return false
	}
	if p.UID == m.rec.PodUID {
		return true
	}
	for _, uid := range m.rec.PVCUIDs {
		// A Pod without a Kubernetes node has never run; it will get the new claim.
		if c := m.claim(uid); c != nil && p.Scheduled {
			return true
		}
	}
	return false
}

func (m *machine) afterDeletion() Step {
	in := m.in
	if m.oldPod() {
		return m.evict()
	}
	p := in.Pod
	switch {
	case p == nil:
		s := Step{Action: ActionWaitNewPod, Message: fmt.Sprintf("waiting for the StatefulSet to make Pod %s", in.Self.Member)}
		for _, c := range in.Claims {
			if c.Deleting {
				s.Waiting = append(s.Waiting, fmt.Sprintf("PersistentVolumeClaim %s is still being deleted", c.Name))
			}
		}
		if c := checkStatefulSet(in); c.Result != OK {
			s.Waiting, s.Cure = append(s.Waiting, c.Evidence), c.Cure
		}
		return s
	case !p.Owned:
		return Step{
			Action: ActionWaitNewPod, Message: fmt.Sprintf("Pod %s is not controlled by the member's StatefulSet", p.Name),
			Cure: "delete or rename the foreign Pod",
		}
	case p.Deleting:
		return m.waitPodGone()
	}
	return m.join()
}

func (m *machine) waitPodGone() Step {
	p := m.in.Pod
	s := Step{Action: ActionWaitPodGone, Message: fmt.Sprintf("waiting for the old Pod %s to end", p.Name)}
	if p.KubernetesNodeGone != "" {
		s.Waiting = []string{fmt.Sprintf("Kubernetes node %s %s, so nobody can confirm that Pod %s has ended", p.KubernetesNode, p.KubernetesNodeGone, p.Name)}
		s.Cure = fmt.Sprintf("when that machine is certainly off: kubectl delete node %s (or kubectl delete pod %s -n %s --force --grace-period=0)",
			p.KubernetesNode, p.Name, m.in.Namespace)
	}
	return s
}

// evict ends the old Pod, unless it has come back to life: its claim cannot be undeleted, but as long as the Pod runs the data is there.
func (m *machine) evict() Step {
	in, p := m.in, m.in.Pod
	if p.Deleting {
		return m.waitPodGone()
	}
	if !p.Owned {
		return Step{
			Action: ActionWaitNewPod, Message: fmt.Sprintf("Pod %s is not controlled by the member's StatefulSet", p.Name),
			Cure: "delete or rename the foreign Pod",
		}
	}
	v := newView(in, m.original, "", m.rec.IgnoreDead)
	var alive []Check
	if m.original != "" {
		if c := v.checkDown(); c.Result == Failed {
			alive = append(alive, c)
		}
	}
	if c := v.checkNotAlive(); c.Result == Failed {
		alive = append(alive, c)
	}
	if len(alive) > 0 {
		msg := fmt.Sprintf("the old node came back after its claim was deleted; Pod %s is left running: %s", p.Name, alive[0].Evidence)
		return Step{
			Action: ActionHoldEviction, Message: msg, Checks: alive,
			Cure: fmt.Sprintf("its data lives only as long as this Pod: decommission the node (kubectl exec %s -n %s -c %s -- nodetool decommission), "+
				"or stop ScyllaDB and the replacement goes on", p.Name, in.Namespace, api.ContainerScyllaDB),
			Events: []Event{{Warning: true, Reason: EventRefused, Note: upperFirst(msg)}},
		}
	}
	return m.heed(Step{
		Action: ActionEvictPod, PodUID: p.UID,
		Message: fmt.Sprintf("Pod %s (UID %s) is evicted", p.Name, p.UID),
		Events: []Event{{Reason: EventPodEvicted, Note: fmt.Sprintf("Pod %s (UID %s) of dead node %s evicted (request %s)",
			p.Name, p.UID, m.original, m.request())}},
	}, fmt.Sprintf("Pod %s cannot be evicted", p.Name))
}

// newcomerID is the host ID of the member's new node: the Pod's own word, else what the Service records when it is not the old one.
func newcomerID(in *Input, original string) string {
	if in.Pod != nil {
		if id, err := ParseHostID(in.Pod.HostID); err == nil && id != original {
			return id
		}
	}
	if id, err := ParseHostID(in.Self.HostID); err == nil && id != original {
		return id
	}
	return ""
}

func (m *machine) join() Step {
	in, p := m.in, m.in.Pod
	id := newcomerID(in, m.original)
	v := newView(in, m.original, id, m.rec.IgnoreDead)
	waiting := v.notJoined(id)
	if len(waiting) > 0 {
		s := Step{Action: ActionWaitJoin, NewHostID: id, Waiting: waiting}
		stands := standstill(in)
		if d := diagnose(in, m.original, id); d != nil {
			s.Action, s.Diagnosis = ActionFail, d
			s.Message, s.Cure = d.Text, d.Cure
			s.Events = []Event{{Warning: true, Reason: EventFailed, Note: fmt.Sprintf("Replacement of %s by Pod %s failed: %s. %s", m.original, p.Name, d.Text, d.Cure)}}
			return s
		}
		switch {
		case id == "":
			s.Message = fmt.Sprintf("waiting for ScyllaDB on new Pod %s to start", p.Name)
			if len(stands) > 0 {
				s.Waiting = stands
			}
		default:
			if !p.ScyllaDB.Running {
				s.Waiting = append(stands, waiting...)
			}
			s.Message = fmt.Sprintf("waiting for new node %s on Pod %s to join", id, p.Name)
		}
		return s
	}
	joined := Event{Reason: EventJoined, Note: fmt.Sprintf("Node %s on Pod %s joined in place of %s (request %s)", id, p.Name, m.original, m.request())}
	if !p.Ready {
		return Step{
			Action: ActionWaitReady, NewHostID: id, Message: fmt.Sprintf("node %s has joined; waiting for Pod %s to be Ready", id, p.Name),
			Waiting: standstill(in),
			Events:  []Event{joined},
		}
	}
	if m.original != "" {
		if t := v.tally(m.original); t.listing() > 0 {
			by := concat(t.up, t.down, t.unknown)
			return Step{
				Action: ActionWaitOldGone, NewHostID: id,
				Message: fmt.Sprintf("node %s has joined; waiting for old host ID %s to leave the cluster", id, m.original),
				Waiting: []string{fmt.Sprintf("%s still %s %s", and(by), verb(by, "lists", "list"), m.original)},
				Events:  []Event{joined},
			}
		}
	}
	last := Last{
		Request: m.request(), Outcome: OutcomeReplaced, HostID: m.original, NewHostID: id,
		StartedAt: m.rec.StartedAt, FinishedAt: in.Now.UTC().Truncate(time.Second), Attempts: m.rec.Attempt,
	}
	return Step{
		Action: ActionFinish, NewHostID: id, Patch: endPatch(last), Message: last.Text(), Last: &last,
		Events: []Event{last.event()},
	}
}

// standstill says why ScyllaDB does not run on the new Pod, or not as Kubernetes would have it.
func standstill(in *Input) []string {
	p := in.Pod
	if p.Waiting == "" {
		return nil
	}
	out := []string{fmt.Sprintf("Pod %s waits for %s", p.Name, p.Waiting)}
	if e := p.ScyllaDB.Exited; e != nil && e.Code == ExitLaunchRetry && !p.ScyllaDB.Running {
		out = append(out, "its launcher got no answer from the API server (exit code 75) and tries again")
	}
	for _, b := range p.Barrier {
		out = append(out, "its barrier waits: "+b)
	}
	for _, c := range in.Claims {
		if c.Unbound && !p.Scheduled {
			out = append(out, fmt.Sprintf("PersistentVolumeClaim %s is not bound to a volume", c.Name))
		}
	}
	return out
}

// notJoined lists what is missing until the newcomer has joined; empty when it has. It has when it owns tokens by its own word (or by
// the member Service, for rows that are not ours), and is UP and a normal member in a fresh row of every other node.
func (v *view) notJoined(id string) []string {
	in := v.in
	if id == "" {
		return []string{"the new node has no host ID yet"}
	}
	var out []string
	tokens := in.Joined != nil && *in.Joined && norm(in.Self.HostID) == id
	if p := in.Pod; p.OwnsTokens != nil && norm(p.HostID) == id {
		tokens = *p.OwnsTokens
	}
	if !tokens {
		out = append(out, fmt.Sprintf("%s owns no tokens yet%s", short(id), inMode(in.Pod)))
	}
	byID := map[string]witness{}
	for _, w := range v.rows {
		if old, ok := byID[w.id]; !ok || !old.fresh {
			byID[w.id] = w
		}
	}
	var notUp, notNormal, silent []string
	for _, observer := range v.expected() {
		w, ok := byID[observer]
		if !ok || !w.fresh {
			silent = append(silent, v.name(observer))
			continue
		}
		c, ok := w.cells[id]
		switch {
		case !ok || c.status != matrix.Up:
			notUp = append(notUp, w.label)
		case c.state != matrix.StateNormal:
			notNormal = append(notNormal, w.label)
		}
	}
	if len(notUp) > 0 {
		out = append(out, fmt.Sprintf("%s %s not see %s UP", and(notUp), verb(notUp, "does", "do"), short(id)))
	}
	if len(notNormal) > 0 {
		out = append(out, fmt.Sprintf("%s %s not list %s as a normal member", and(notNormal), verb(notNormal, "does", "do"), short(id)))
	}
	if len(silent) > 0 {
		out = append(out, fmt.Sprintf("%s %s no fresh row", and(silent), verb(silent, "has", "have")))
	}
	if len(v.expected()) == 0 {
		out = append(out, "no other node says whom it sees")
	}
	return out
}

func inMode(p *Pod) string {
	if p == nil || p.OperationMode == "" {
		return ""
	}
	return " (mode " + p.OperationMode + ")"
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
