// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/render"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replacement"
)

// Kinds of documents, of render.APIVersion.
const (
	KindPlan       = "ReplacementPlan"
	KindStatus     = "ReplacementStatus"
	KindStatusList = "ReplacementStatusList"
)

// PlanDocument is what a replacement would do, and whether it would be allowed.
type PlanDocument struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	GeneratedAt       metav1.Time `json:"generatedAt"`
	Cluster           string      `json:"cluster"`
	// Member whose node would be replaced; its hostID is the one that is replaced.
	Member matrix.Ref `json:"member"`
	// Allowed is true when no check holds it up.
	Allowed bool `json:"allowed"`
	// Resume is true for another attempt after a failed one.
	Resume bool `json:"resume,omitempty"`
	// ManagedBy is who would do it: kubectl-scylla or scylla-operator.
	ManagedBy string `json:"managedBy"`
	Version   string `json:"version,omitempty"`
	// Procedure is host-id or address; Address is that of the dead node in the latter.
	Procedure replacement.Procedure `json:"procedure"`
	Address   string                `json:"address,omitempty"`
	// Claims and Pod are deleted.
	Claims []replacement.Claim `json:"claims"`
	Pod    *PodInfo            `json:"pod,omitempty"`
	// Streams are the nodes that the new one streams from; Banned the host IDs that can never come back once it has asked.
	Streams []string            `json:"streams"`
	Banned  []string            `json:"banned"`
	Checks  []replacement.Check `json:"checks"`
	// Partial is what could not be read.
	Partial []kube.Problem `json:"partial,omitempty"`
}

// PodInfo names a Pod.
type PodInfo struct {
	Name           string `json:"name"`
	UID            string `json:"uid"`
	KubernetesNode string `json:"kubernetesNode,omitempty"`
}

// StatusDocument is how far a replacement is.
type StatusDocument struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	GeneratedAt       metav1.Time `json:"generatedAt"`
	Cluster           string      `json:"cluster"`
	Member            matrix.Ref  `json:"member"`
	ManagedBy         string      `json:"managedBy"`
	// Request is the identity of the request; empty under the Scylla Operator, which knows none.
	Request string `json:"request,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	// Phase is Verify, DeleteVolume, EvictPod, NewPod, Join, Ready, OldNodeGone, Done, Failed, Cancelled or None.
	Phase replacement.Phase `json:"phase"`
	// Held is true while a check holds it up, or the API server refuses what comes next; Refused has its words, since when, and the next try.
	Held    bool                 `json:"held,omitempty"`
	Refused *replacement.Refusal `json:"refused,omitempty"`
	// Message is the state in one sentence, Waiting what it waits for, Cure what a person can do.
	Message string   `json:"message"`
	Waiting []string `json:"waiting,omitempty"`
	Cure    string   `json:"cure,omitempty"`
	// OriginalHostID is replaced by NewHostID.
	OriginalHostID string                 `json:"originalHostID,omitempty"`
	NewHostID      string                 `json:"newHostID,omitempty"`
	StartedAt      *metav1.Time           `json:"startedAt,omitempty"`
	FinishedAt     *metav1.Time           `json:"finishedAt,omitempty"`
	Diagnosis      *replacement.Diagnosis `json:"diagnosis,omitempty"`
	Checks         []replacement.Check    `json:"checks,omitempty"`
	// Conditions are the Scylla Operator's own words.
	Conditions []string `json:"conditions,omitempty"`
}

// StatusList is the document of --status.
type StatusList struct {
	metav1.TypeMeta `json:",inline"`
	GeneratedAt     metav1.Time      `json:"generatedAt"`
	Items           []StatusDocument `json:"items"`
	// Ghosts are host IDs that a cluster still lists and no member has, with the command that removes each.
	Ghosts []GhostInfo `json:"ghosts,omitempty"`
}

// GhostInfo is a ghost of a cluster.
type GhostInfo struct {
	Cluster           string `json:"cluster"`
	replacement.Ghost `json:",inline"`
}

// DeepCopyObject makes the documents runtime.Objects, which the printers of cli-runtime ask for.
func (d *PlanDocument) DeepCopyObject() runtime.Object { return deepCopy(d) }

// DeepCopyObject as for PlanDocument.
func (d *StatusDocument) DeepCopyObject() runtime.Object { return deepCopy(d) }

// DeepCopyObject as for PlanDocument.
func (d *StatusList) DeepCopyObject() runtime.Object { return deepCopy(d) }

// GetObjectKind as for PlanDocument.
func (d *PlanDocument) GetObjectKind() schema.ObjectKind { return &d.TypeMeta }

// GetObjectKind as for PlanDocument.
func (d *StatusDocument) GetObjectKind() schema.ObjectKind { return &d.TypeMeta }

// GetObjectKind as for PlanDocument.
func (d *StatusList) GetObjectKind() schema.ObjectKind { return &d.TypeMeta }

// deepCopy goes through JSON: a document is what its JSON says.
func deepCopy[T any](d *T) *T {
	out := new(T)
	if data, err := json.Marshal(d); err == nil {
		_ = json.Unmarshal(data, out) // what was marshalled a moment ago
	}
	return out
}

func stamp(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	m := metav1.NewTime(t.UTC().Truncate(time.Second))
	return &m
}

func managedBy(operator bool) string {
	if operator {
		return "scylla-operator"
	}
	return "kubectl-scylla"
}

func newPlanDocument(now time.Time, s *subject, p replacement.Plan) *PlanDocument {
	d := &PlanDocument{
		TypeMeta:    metav1.TypeMeta{APIVersion: render.APIVersion, Kind: KindPlan},
		ObjectMeta:  metav1.ObjectMeta{Namespace: s.key.Namespace, Name: s.member()},
		GeneratedAt: *stamp(now), Cluster: s.key.Name, Member: s.in.Self, Allowed: !p.Blocked, Resume: p.Resume,
		ManagedBy: managedBy(s.in.Operator), Version: s.in.Version, Procedure: p.Procedure, Address: p.Address,
		Claims: p.Claims, Streams: p.Streams, Banned: p.Banned, Checks: p.Checks, Partial: s.cluster.Snapshot.Partial(),
	}
	d.Member.HostID = p.Original
	if p.Pod != nil {
		d.Pod = &PodInfo{Name: p.Pod.Name, UID: p.Pod.UID, KubernetesNode: p.Pod.KubernetesNode}
	}
	return d
}

func mark(c replacement.Check) render.Cell {
	switch {
	case c.Result == replacement.OK:
		return render.Cell{Text: "ok", Style: render.Good}
	case c.Skipped:
		return render.Cell{Text: string(c.Result) + ", skipped", Style: render.Warn}
	case c.Result == replacement.Failed:
		return render.Cell{Text: "failed", Style: render.Bad}
	}
	return render.Cell{Text: "unknown", Style: render.Warn}
}

// checksTable lists checks; evidence wraps below its column rather than being cut, because it is what a person decides by.
func checksTable(checks []replacement.Check, o render.Options) string {
	t := render.Table{Indent: "  ", Columns: []render.Column{{Header: "CHECK"}, {Header: "RESULT"}, {Header: "EVIDENCE"}}}
	used := 2
	wide := [2]int{len("CHECK"), len("RESULT")}
	for _, c := range checks {
		wide[0], wide[1] = max(wide[0], len(c.Name)), max(wide[1], len(mark(c).Text))
	}
	used += wide[0] + wide[1] + 4
	room := 0
	if o.Width > used+20 {
		room = o.Width - used
	}
	for _, c := range checks {
		for i, line := range wrap(c.Evidence, room) {
			if i == 0 {
				t.Rows = append(t.Rows, []render.Cell{render.Text(c.Name), mark(c), render.Text(line)})
			} else {
				t.Rows = append(t.Rows, []render.Cell{render.Text(""), render.Text(""), render.Text(line)})
			}
		}
	}
	return t.String(0, "...")
}

// wrap breaks at blanks; a room of 0 leaves the text whole.
func wrap(text string, room int) []string {
	if room <= 0 || len(text) <= room {
		return []string{text}
	}
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > room {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// Text is the plan for people.
func (d *PlanDocument) Text(o render.Options) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, "%s\n", fmt.Sprintf(format, args...)) }
	// Whatever comes from objects is cleaned: a terminal obeys what it is sent.
	title := "Replace"
	if d.Resume {
		title = "Resume the replacement of"
	}
	line("%s", render.Strong.Paint(render.Clean(fmt.Sprintf("%s %s/%s, a node of cluster %s", title, d.Namespace, d.Name, d.Cluster))))
	how := "by host ID"
	if d.Procedure == replacement.ByAddress {
		how = fmt.Sprintf("by its address %s, which is deprecated: upgrade to ScyllaDB 5.2, 2023.1 or later", d.Address)
	}
	line("  host ID   %s", render.Clean(orDash(d.Member.HostID)))
	line("  place     %s/%s", render.Clean(orDash(d.Member.Datacenter)), render.Clean(orDash(d.Member.Rack)))
	line("  how       ScyllaDB %s, %s, done by %s", render.Clean(orDash(d.Version)), render.Clean(how), d.ManagedBy)
	line("")
	line("%s", render.Strong.Paint("Deleted"))
	for _, c := range d.Claims {
		size := ""
		if c.Size != "" {
			size = c.Size + ", "
		}
		line("  PersistentVolumeClaim %s (%sUID %s) with all its data", render.Clean(c.Name), size, c.UID)
	}
	if len(d.Claims) == 0 {
		line("  no PersistentVolumeClaim: it is gone already")
	}
	if d.Pod != nil {
		on := ""
		if d.Pod.KubernetesNode != "" {
			on = " on Kubernetes node " + d.Pod.KubernetesNode
		}
		line("  Pod %s (UID %s)%s, by eviction", render.Clean(d.Pod.Name), d.Pod.UID, render.Clean(on))
	}
	line("%s", render.Strong.Paint("Then"))
	line("  the StatefulSet makes both anew, and a new node with a new host ID streams the data from")
	for _, l := range wrap(strings.Join(d.Streams, ", "), room(o, 4)) {
		line("    %s", render.Clean(l))
	}
	if len(d.Streams) == 0 {
		line("    nobody: no other node is known to be alive")
	}
	line("%s", render.Strong.Paint("Cannot be undone"))
	line("  the deleted data; and as soon as the new node asks, whether it succeeds or not, the cluster bans for ever")
	for _, id := range d.Banned {
		line("    %s", render.Clean(id))
	}
	line("")
	b.WriteString(checksTable(d.Checks, o))
	for _, c := range d.Checks {
		if c.Blocks() && c.Cure != "" {
			for i, l := range wrap(c.Name+": "+c.Cure, room(o, 4)) {
				lead := "  > "
				if i > 0 {
					lead = "    "
				}
				line("%s%s", lead, render.Clean(l))
			}
		}
	}
	for _, text := range kube.ProblemLines(d.Partial) {
		line("  %s %s", render.Warn.Paint("not read:"), render.Clean(text))
	}
	line("")
	if d.Allowed {
		line("%s", passed(d.Checks))
	} else {
		n := 0
		for _, c := range d.Checks {
			if c.Blocks() {
				n++
			}
		}
		line("%s", render.Bad.Paint(fmt.Sprintf("Held up by %s.", count(n, "check"))))
	}
	return b.String()
}

func passed(checks []replacement.Check) string {
	skipped := 0
	for _, c := range checks {
		if c.Skipped {
			skipped++
		}
	}
	if skipped == 0 {
		return render.Good.Paint(fmt.Sprintf("All %d checks passed.", len(checks)))
	}
	return render.Warn.Paint(fmt.Sprintf("%d of %d checks passed, %d skipped as asked.", len(checks)-skipped, len(checks), skipped))
}

func room(o render.Options, indent int) int {
	if o.Width <= indent+20 {
		return 0
	}
	return o.Width - indent
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func newStatusDocument(now time.Time, key kube.ClusterKey, in *replacement.Input, step replacement.Step) *StatusDocument {
	d := &StatusDocument{
		TypeMeta:    metav1.TypeMeta{APIVersion: render.APIVersion, Kind: KindStatus},
		ObjectMeta:  metav1.ObjectMeta{Namespace: key.Namespace, Name: in.Self.Member},
		GeneratedAt: *stamp(now), Cluster: key.Name, Member: in.Self, ManagedBy: managedBy(in.Operator),
		Request: step.Request, Attempt: step.Attempt, Phase: step.Phase(), Message: step.Message, Waiting: step.Waiting, Cure: step.Cure,
		OriginalHostID: step.Original, NewHostID: step.NewHostID, StartedAt: stamp(step.StartedAt), Diagnosis: step.Diagnosis,
		Held: step.Held(), Refused: step.Refused,
	}
	switch {
	case d.Held:
		d.Checks = step.Checks
	case step.Action == replacement.ActionNone:
		if l := step.Last; l != nil && !in.Operator {
			d.Request, d.Attempt = l.Request, l.Attempts
			d.OriginalHostID, d.NewHostID, d.StartedAt, d.FinishedAt = l.HostID, l.NewHostID, stamp(l.StartedAt), stamp(l.FinishedAt)
			switch l.Outcome {
			case replacement.OutcomeReplaced:
				d.Phase = replacement.PhaseDone
			case replacement.OutcomeCancelled:
				d.Phase = replacement.PhaseCancel
			}
		}
	}
	return d
}

// troubled is true for what needs a person.
func (d *StatusDocument) troubled() bool { return d.Held || d.Phase == replacement.PhaseFailed }

// Text is the status for people.
func (d *StatusDocument) Text(now time.Time, o render.Options) string {
	var b strings.Builder
	line := func(text string) {
		for i, l := range wrap(render.Clean(text), room(o, 2)) {
			if i > 0 {
				l = "  " + l
			}
			b.WriteString(l + "\n")
		}
	}
	style, word := render.Warn, string(d.Phase)
	switch {
	case d.Phase == replacement.PhaseFailed:
		style = render.Bad
	case d.Held:
		style, word = render.Bad, "Held"
	case d.Phase == replacement.PhaseDone && d.FinishedAt != nil:
		style = render.Good
	}
	head := fmt.Sprintf("%s/%s: %s", d.Namespace, d.Name, d.Message)
	for i, l := range wrap(render.Clean(head), room(o, len(word)+1)) {
		if i == 0 {
			b.WriteString(style.Paint(word) + " " + l + "\n")
		} else {
			b.WriteString("  " + l + "\n")
		}
	}
	var facts []string
	if d.OriginalHostID != "" {
		facts = append(facts, "replaces "+d.OriginalHostID)
	}
	if d.NewHostID != "" {
		facts = append(facts, "new host ID "+d.NewHostID)
	}
	if d.StartedAt != nil {
		until := now
		if d.FinishedAt != nil {
			until = d.FinishedAt.Time
		}
		facts = append(facts, "for "+duration.HumanDuration(until.Sub(d.StartedAt.Time)))
	}
	if d.Attempt > 1 {
		facts = append(facts, fmt.Sprintf("attempt %d", d.Attempt))
	}
	if d.Request != "" {
		facts = append(facts, "request "+d.Request)
	}
	if len(facts) > 0 {
		line("  " + strings.Join(facts, ", "))
	}
	for _, w := range d.Waiting {
		line("  - " + w)
	}
	for _, c := range d.Conditions {
		line("  - " + c)
	}
	if d.Cure != "" {
		line("  > " + d.Cure)
	}
	return b.String()
}

// Text is the list for people.
func (l *StatusList) Text(now time.Time, o render.Options) string {
	var b strings.Builder
	if len(l.Items) == 0 {
		b.WriteString("No replacement is open.\n")
	}
	for i := range l.Items {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(l.Items[i].Text(now, o))
	}
	if len(l.Ghosts) > 0 {
		b.WriteString("\n" + render.Strong.Paint("Ghosts") + " (listed by their cluster, nobody's member)\n")
		for _, g := range l.Ghosts {
			for _, t := range wrap(render.Clean(g.Cluster+": "+g.Evidence), room(o, 2)) {
				b.WriteString("  " + t + "\n")
			}
			if g.Command != "" {
				// A command is never broken: it is copied.
				b.WriteString("  > " + render.Clean(g.Command) + "\n")
			} else {
				b.WriteString("  > not to be removed: " + render.Clean(g.Why) + "\n")
			}
		}
	}
	return b.String()
}

func sortDocuments(items []StatusDocument) {
	slices.SortFunc(items, func(a, b StatusDocument) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
}
