// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Kinds of documents in document.APIVersion.
const (
	KindPlan       = "ReplacementPlan"
	KindStatus     = "ReplacementStatus"
	KindStatusList = "ReplacementStatusList"
)

// PlanDocument is the plan of a replacement, and whether it is allowed.
type PlanDocument struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	GeneratedAt       metav1.Time `json:"generatedAt"`
	Cluster           string      `json:"cluster"`
	// Member whose node would be replaced, with the host ID of that node.
	Member matrix.Ref `json:"member"`
	// Allowed is true if no check blocks the replacement.
	Allowed bool `json:"allowed"`
	// Resume is true for another attempt after a failed one.
	Resume bool `json:"resume,omitempty"`
	// ManagedBy is the controller that would execute it: kubectl-scylla or scylla-operator.
	ManagedBy string `json:"managedBy"`
	Version   string `json:"version,omitempty"`
	// Procedure is host-id or address; Address is the dead node's address for the latter.
	Procedure replace.Procedure `json:"procedure"`
	Address   string            `json:"address,omitempty"`
	// Claims and Pod will be deleted.
	Claims []ClaimInfo `json:"claims"`
	Pod    *PodInfo    `json:"pod,omitempty"`
	// Streams are the source nodes of the new node's data: the nodes with replicas if StreamsKnown,
	// else all possible ones. Banned are the host IDs that can never return once the new node
	// requests its join.
	Streams      []string    `json:"streams"`
	StreamsKnown bool        `json:"streamsKnown"`
	Banned       []hostid.ID `json:"banned"`
	Checks       []CheckInfo `json:"checks"`
	// Findings are the problems of the cluster, as status shows them.
	Findings []document.Finding `json:"findings"`
	at       time.Time          // of the findings
	// Partial lists the parts that could not be read.
	Partial []cluster.Problem `json:"partial"`
}

// Repeat: see StatusDocument.
func (d *PlanDocument) Repeat(p words.Printer) {
	repeatChecks(p, d.Checks)
	for i := range d.Findings {
		p.Flag(&d.Findings[i].Message, &d.Findings[i].Step)
	}
}

// CheckInfo is one check. Evidence is the fact, `Cure` the fix for an administrator, absent if the
// result is ok.
type CheckInfo struct {
	Name      string         `json:"name"`
	Result    replace.Result `json:"result"`
	Evidence  words.Message  `json:"evidence"`
	Cure      words.Message  `json:"cure,omitzero"`
	Skipped   bool           `json:"skipped,omitempty"`
	Skippable bool           `json:"skippable"`
}

func (c CheckInfo) blocks() bool { return c.Result != replace.OK && !c.Skipped }

func newChecks(checks []replace.Check) []CheckInfo {
	var out []CheckInfo
	for _, c := range checks {
		out = append(out, CheckInfo{Name: c.Name, Result: c.Result, Evidence: c.Evidence, Cure: c.Cure,
			Skipped: c.Skipped, Skippable: c.Skippable})
	}
	return out
}

// ClaimInfo is a PVC with its requested storage.
type ClaimInfo struct {
	Name     string `json:"name"`
	UID      string `json:"uid"`
	Deleting bool   `json:"deleting,omitempty"`
	Size     string `json:"size,omitempty"`
}

// PodInfo names a Pod.
type PodInfo struct {
	Name           string `json:"name"`
	UID            string `json:"uid"`
	KubernetesNode string `json:"kubernetesNode,omitempty"`
}

// StatusDocument is the state of a replacement.
type StatusDocument struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	GeneratedAt       metav1.Time `json:"generatedAt"`
	Cluster           string      `json:"cluster"`
	Member            matrix.Ref  `json:"member"`
	ManagedBy         string      `json:"managedBy"`
	// Request is the identity of the request; empty under the Scylla Operator, which has none.
	Request string `json:"request,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	// Phase is Verify, DeleteVolume, EvictPod, NewPod, Join, Ready, OldNodeGone, Done, Failed,
	// Cancelled or None.
	Phase replace.Phase `json:"phase"`
	// Held is true while a check blocks the next step or the API server refuses it; Refused has the
	// message, the first time, and the next try.
	Held    bool             `json:"held,omitempty"`
	Refused *replace.Refusal `json:"refused,omitempty"`
	// Message is the state in one sentence, Waiting its blockers, `Cure` the fix for an
	// administrator.
	Message words.Message   `json:"message"`
	Waiting []words.Message `json:"waiting"`
	Cure    words.Message   `json:"cure,omitzero"`
	// OriginalHostID is replaced by NewHostID.
	OriginalHostID hostid.ID    `json:"originalHostID,omitempty"`
	NewHostID      hostid.ID    `json:"newHostID,omitempty"`
	StartedAt      *metav1.Time `json:"startedAt,omitempty"`
	FinishedAt     *metav1.Time `json:"finishedAt,omitempty"`
	// Diagnosis is why the attempt failed.
	Diagnosis *DiagnosisInfo `json:"diagnosis,omitempty"`
	Checks    []CheckInfo    `json:"checks"`
	// Conditions are the Scylla Operator's messages.
	Conditions []string `json:"conditions"`
	// Afterwards are the tasks that ScyllaDB's documentation recommends next, for a day after the
	// end of the replacement.
	Afterwards *document.Afterwards `json:"afterwards,omitempty"`
}

// Repeat adds the user's flags to every command of the document.
func (d *StatusDocument) Repeat(p words.Printer) {
	p.Flag(&d.Message, &d.Cure)
	for i := range d.Waiting {
		p.Flag(&d.Waiting[i])
	}
	if d.Diagnosis != nil {
		p.Flag(&d.Diagnosis.Text, &d.Diagnosis.Cure)
	}
	repeatChecks(p, d.Checks)
	if d.Afterwards != nil {
		d.Afterwards.Repeat(p)
	}
}

// Repeat: see StatusDocument.
func (l *StatusList) Repeat(p words.Printer) {
	document.Repeat(p, l.Items)
	for i := range l.Ghosts {
		g := &l.Ghosts[i]
		p.Flag(&g.Evidence, &g.Why)
		g.Command = p.WithFlags(g.Command)
	}
}

func repeatChecks(p words.Printer, checks []CheckInfo) {
	for i := range checks {
		p.Flag(&checks[i].Evidence, &checks[i].Cure)
	}
}

// DiagnosisInfo is a recognised failure.
type DiagnosisInfo struct {
	Code words.Code    `json:"code"`
	Text words.Message `json:"text"`
	Cure words.Message `json:"cure,omitzero"`
}

// StatusList is the document of `replace status`.
type StatusList struct {
	metav1.TypeMeta `json:",inline"`
	GeneratedAt     metav1.Time      `json:"generatedAt"`
	Items           []StatusDocument `json:"items"`
	// `Ghosts` are orphaned host IDs: a cluster still lists them and no member has them. Each has
	// the command that removes it.
	Ghosts []GhostInfo `json:"ghosts"`
}

// GhostInfo is an orphaned host ID of a cluster.
type GhostInfo struct {
	Cluster  string        `json:"cluster"`
	HostID   hostid.ID     `json:"hostID"`
	Evidence words.Message `json:"evidence"`
	// Command removes it; absent while it must not be removed, with the reason in Why.
	Command words.Command `json:"command,omitempty"`
	Why     words.Message `json:"why,omitzero"`
}

func newGhosts(cluster string, ghosts []replace.Ghost) []GhostInfo {
	var out []GhostInfo
	for _, g := range ghosts {
		out = append(out, GhostInfo{Cluster: cluster, HostID: g.HostID, Evidence: g.Evidence, Command: g.Command,
			Why: g.Why})
	}
	return out
}

// DeepCopyObject makes the document a runtime.Object, which cli-runtime's printers require.
func (d *PlanDocument) DeepCopyObject() runtime.Object { return document.DeepCopy(d) }

// DeepCopyObject: see PlanDocument.
func (d *StatusDocument) DeepCopyObject() runtime.Object { return document.DeepCopy(d) }

// DeepCopyObject: see PlanDocument.
func (d *StatusList) DeepCopyObject() runtime.Object { return document.DeepCopy(d) }

// GetObjectKind: see PlanDocument.
func (d *PlanDocument) GetObjectKind() schema.ObjectKind { return &d.TypeMeta }

// GetObjectKind: see PlanDocument.
func (d *StatusDocument) GetObjectKind() schema.ObjectKind { return &d.TypeMeta }

// GetObjectKind: see PlanDocument.
func (d *StatusList) GetObjectKind() schema.ObjectKind { return &d.TypeMeta }

func managedBy(operator bool) string {
	if operator {
		return "scylla-operator"
	}
	return "kubectl-scylla"
}

// addAfterwards adds the remaining tasks if the replacement has ended recently.
func (d *StatusDocument) addAfterwards(now time.Time, s *subject) {
	if d.Phase != replace.PhaseDone {
		return
	}
	list := diagnosis.After(s.reading.Cluster, now)
	if s.in.Operator {
		// The Scylla Operator keeps no record of an ended replacement; this command observed its
		// end.
		list = []diagnosis.Afterwards{diagnosis.AfterReplacement(s.reading.Cluster, s.in.Self.Recorded(),
			d.OriginalHostID, now)}
	}
	for _, a := range document.NewAfterwards(list) {
		if a.Original != "" && a.Node.Member == d.Member.Member {
			d.Afterwards = &a
			return
		}
	}
}

func newPlanDocument(now time.Time, s *subject, p replace.Plan) *PlanDocument {
	d := &PlanDocument{
		TypeMeta:    metav1.TypeMeta{APIVersion: document.APIVersion, Kind: KindPlan},
		ObjectMeta:  metav1.ObjectMeta{Namespace: s.key.Namespace, Name: s.member()},
		GeneratedAt: *document.TimePtr(now), Cluster: s.key.Name, Member: s.in.Self.Recorded(), Allowed: !p.Blocked,
		Resume:    p.Resume,
		ManagedBy: managedBy(s.in.Operator), Version: s.in.Version, Procedure: p.Procedure, Address: p.Address,
		Streams: p.Streams, StreamsKnown: p.StreamsKnown, Banned: p.Banned, Checks: newChecks(p.Checks),
		Partial: s.reading.Cluster.Partial(),
	}
	d.Member.HostID = p.Original
	j := diagnosis.Judge(s.reading.Cluster, now)
	d.Findings, d.at = document.NewClusterStatus(j).Problems(), j.Now
	if pod := s.in.Self.Pod; pod != nil {
		d.Pod = &PodInfo{Name: pod.Name, UID: string(pod.UID), KubernetesNode: pod.Spec.NodeName}
	}
	for _, c := range s.in.Claims {
		info := ClaimInfo{Name: c.Name, UID: string(c.UID), Deleting: c.DeletionTimestamp != nil}
		if size, asked := c.Spec.Resources.Requests[corev1.ResourceStorage]; asked {
			info.Size = size.String()
		}
		d.Claims = append(d.Claims, info)
	}
	return d
}
