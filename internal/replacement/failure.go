// SPDX-License-Identifier: Apache-2.0

package replacement

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// Exit codes of `scylla-agent launch` before it has become ScyllaDB. They are those of sysexits.h, which ScyllaDB does not use.
const (
	ExitLaunchRetry     = 75 // the API server did not answer in time; the kubelet starts the container again
	ExitLaunchMalformed = 78 // the replace labels cannot be used; starting again does not help until they are corrected
)

// Codes of diagnoses made from objects. The log of the container has more (package scylla).
const (
	DiagnosisOperationFailed = "ReplaceOperationFailed"
	DiagnosisBanned          = "ExitedAsBanned"
	DiagnosisExited          = "ExitedBeforeJoining"
	DiagnosisSameHostID      = "SameHostID"
	DiagnosisLabels          = "ReplaceLabelsMalformed"
)

// Codes that package scylla gives to refusals that come before ScyllaDB has placed the request: nothing is banned, and the process, which its
// supervisor starts again and again on the same data, goes on by itself once the reason is gone.
const (
	DiagnosisUnknownTarget = "ReplacedNodeNotFound"
	DiagnosisAliveTarget   = "ReplaceAliveNode"
	DiagnosisOtherDown     = "ReplaceOtherDown" // since 2026.3; before, the request is placed and then cancelled
)

// diagnose recognises a failed attempt. It is asked only while the newcomer has not joined. newcomer may be empty.
func diagnose(in *Input, original, newcomer string) *Diagnosis {
	cure := resumeCure(in, original, newcomer)
	p := in.Pod
	if p != nil && original != "" && norm(p.HostID) == original {
		return &Diagnosis{
			Code: DiagnosisSameHostID,
			Text: fmt.Sprintf("new Pod %s runs with the old host ID %s: it is on the old node's data", p.Name, original),
			Cure: "a node cannot replace itself; see which volume the Pod has mounted",
		}
	}
	if in.Log != nil {
		d := *in.Log
		switch {
		case d.Cure != "":
		case d.Code == DiagnosisUnknownTarget && original != "":
			d.Cure = fmt.Sprintf("host ID %s is no member: a wrong one, or removed meanwhile (kubectl scylla status -n %s lists the members). Nothing can take its place: %s",
				original, in.Namespace, takeBack(in))
		case d.Code == DiagnosisAliveTarget && original != "":
			d.Cure = fmt.Sprintf("node %s is alive and cannot be replaced. If it is to be given up, stop it: ScyllaDB tries again by itself. If it was named by mistake: %s",
				newView(in, original, newcomer, nil).holder(original), takeBack(in))
		case d.Code == DiagnosisOtherDown:
			down, ids := othersDown(in, original, newcomer)
			if len(down) == 0 {
				down = []string{"that node"}
			}
			d.Cure = fmt.Sprintf("bring %s back: nothing was placed, and ScyllaDB tries again by itself", and(down))
			if len(ids) > 0 {
				d.Cure += "; or, if dead for good: " + resumeCommand(in, ids)
			}
		default:
			d.Cure = cure
		}
		return &d
	}
	if newcomer != "" {
		for _, op := range in.Operations {
			if norm(op.HostID) != newcomer || op.State != "failed" {
				continue
			}
			text := fmt.Sprintf("ScyllaDB's %s operation of new node %s failed", op.Type, newcomer)
			if op.Error != "" {
				text += ": " + op.Error
			}
			return &Diagnosis{Code: DiagnosisOperationFailed, Text: text, Cure: cure}
		}
	}
	if p == nil || p.ScyllaDB.Exited == nil {
		return nil
	}
	e := p.ScyllaDB.Exited
	switch {
	case e.Code == ExitLaunchRetry:
		return nil
	case e.Code == ExitLaunchMalformed:
		return &Diagnosis{
			Code: DiagnosisLabels, Text: fmt.Sprintf("ScyllaDB on Pod %s was not started: the replace labels of its Service cannot be used%s", p.Name, detail(e)),
			Cure: fmt.Sprintf("correct labels %s and %s of service %s/%s", api.LabelReplace, api.LabelReplacingNodeHostID, in.Namespace, in.Self.Member),
		}
	case e.Code == 0:
		return &Diagnosis{
			Code: DiagnosisBanned,
			Text: fmt.Sprintf("ScyllaDB on Pod %s exited with code 0 before it joined: the cluster has banned it%s", p.Name, detail(e)), Cure: cure,
		}
	}
	return &Diagnosis{
		Code: DiagnosisExited,
		Text: fmt.Sprintf("ScyllaDB on Pod %s exited with code %d before it joined (%d restarts)%s; the first error in its log says why",
			p.Name, e.Code, p.ScyllaDB.Restarts, detail(e)), Cure: cure,
	}
}

// resumeCure is another attempt, after what would make that fail as well.
func resumeCure(in *Input, original, newcomer string) string {
	down, ids := othersDown(in, original, newcomer)
	if len(down) == 0 {
		return "the new volume is poisoned and cannot be used again: " + resumeCommand(in, nil)
	}
	return fmt.Sprintf("the new volume is poisoned and cannot be used again. Bring %s back first, then: %s; or, if dead for good: %s",
		and(down), resumeCommand(in, nil), resumeCommand(in, ids))
}

// othersDown are the nodes besides the replaced and the ignored that a majority sees DOWN, by name and by host ID; ids begins with those that are
// ignored already, since the list is given anew.
func othersDown(in *Input, original, newcomer string) (names, ids []string) {
	v := newView(in, original, newcomer, ReadRecord(in.Service.Labels, in.Service.Annotations).IgnoreDead)
	for _, id := range v.expected() {
		if t := v.tally(id); len(t.down)*2 > t.total() {
			names, ids = append(names, v.name(id)), append(ids, id)
		}
	}
	if len(ids) > 0 {
		ids = slices.Concat(slices.Sorted(maps.Keys(v.ignored)), ids)
	}
	return names, ids
}

func resumeCommand(in *Input, ignore []string) string {
	cmd := "kubectl scylla replace --resume " + in.Self.Member
	if len(ignore) > 0 {
		cmd += " --ignore-dead=" + strings.Join(ignore, ",")
	}
	return cmd + " -n " + in.Namespace
}

// takeBack gives a replacement up whose target cannot be replaced, so that the member starts as a plain new node.
func takeBack(in *Input) string {
	var keys []string
	for _, k := range recordKeys {
		if _, ok := in.Service.Annotations[k]; ok {
			keys = append(keys, k+"-")
		}
	}
	slices.Sort(keys)
	text := "take the replacement back"
	if len(keys) > 0 {
		// The record first: without its labels it would be put back.
		text += fmt.Sprintf(": kubectl annotate service %s %s -n %s && ", in.Self.Member, strings.Join(keys, " "), in.Namespace)
	} else {
		text += ": "
	}
	claims := make([]string, len(in.Claims))
	for i, c := range in.Claims {
		claims[i] = c.Name
	}
	text += fmt.Sprintf("kubectl label service %s %s- %s- -n %s", in.Self.Member, api.LabelReplace, api.LabelReplacingNodeHostID, in.Namespace)
	if len(claims) > 0 {
		text += fmt.Sprintf(" && kubectl delete pvc %s -n %s --wait=false", strings.Join(claims, " "), in.Namespace)
	}
	return text + fmt.Sprintf(" && kubectl delete pod %s -n %s; it then joins as a new node", in.Self.Member, in.Namespace)
}

func detail(e *Exit) string {
	var parts []string
	if e.Reason != "" && e.Reason != "Error" && e.Reason != "Completed" {
		parts = append(parts, e.Reason)
	}
	if msg := strings.TrimSpace(e.Message); msg != "" {
		parts = append(parts, msg)
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ": ") + ")"
}

// Ghost is a host ID that the cluster still lists and that belongs to no member: what a failed replacement or join leaves behind.
type Ghost struct {
	HostID string `json:"hostID"`
	// Evidence says who lists it and how.
	Evidence string `json:"evidence"`
	// Command removes it; empty while it must not be removed, with Why saying why.
	Command string `json:"command,omitempty"`
	Why     string `json:"why,omitempty"`
}

// Ghosts lists the host IDs that fresh rows mention and that no member has, is, or replaces: the same for the input of any member of a cluster.
// A newcomer on its way is none, though its peers list it before its Service does. With a datacenter whose nodes cannot be asked a host
// ID may live there, and no command is given.
func Ghosts(in Input) []Ghost {
	known := map[string]bool{}
	add := func(id string) {
		if id != "" {
			known[norm(id)] = true
		}
	}
	rec := ReadRecord(in.Service.Labels, in.Service.Annotations)
	add(in.Self.HostID)
	add(rec.Original)
	if in.Pod != nil {
		add(in.Pod.HostID)
	}
	for _, o := range in.Others {
		add(o.HostID)
		add(o.PodHostID)
		add(o.Replacing)
	}
	in.Self = matrix.Ref{} // here the member is a witness like any other
	v := newView(&in, "", "", nil)
	var reporters = map[string]bool{}
	for _, r := range in.Rows {
		if r.Reported {
			reporters[norm(r.Reporter.HostID)] = true
		}
	}
	var out []Ghost
	for _, id := range v.listed {
		if known[id] || reporters[id] {
			continue
		}
		t := v.tally(id)
		if t.listing() == 0 || len(t.states[matrix.StateJoining])+len(t.states[matrix.StateReplacing]) > 0 {
			continue
		}
		g := Ghost{HostID: id}
		by := concat(t.up, t.down, t.unknown)
		g.Evidence = fmt.Sprintf("%s %s %s, which no member has", and(by), verb(by, "lists", "list"), id)
		switch {
		case len(t.up) > 0:
			g.Why = fmt.Sprintf("%s %s it UP: it runs somewhere", and(t.up), verb(t.up, "sees", "see"))
		case len(in.NotVerified) > 0:
			g.Why = fmt.Sprintf("it may belong to datacenter %s, whose members are not known here", strings.Join(in.NotVerified, ", "))
		default:
			g.Command = removeNode(&in, v, id)
			if g.Command == "" {
				g.Why = "no node is UP in every row, from which it could be removed"
			}
		}
		out = append(out, g)
	}
	return out
}

// removeNode is the exact command, run on a member that everybody sees UP, with every other dead node named.
func removeNode(in *Input, v *view, id string) string {
	var dead []string
	from := ""
	for _, other := range v.expected() {
		if other == id {
			continue
		}
		t := v.tally(other)
		if len(t.down) > 0 {
			dead = append(dead, other)
			continue
		}
		if from == "" && t.total() == len(t.up) && v.names[other].Member != "" {
			from = v.names[other].Member
		}
	}
	if from == "" {
		return ""
	}
	cmd := fmt.Sprintf("kubectl exec %s -n %s -c %s -- nodetool removenode", from, in.Namespace, api.ContainerScyllaDB)
	if len(dead) > 0 {
		slices.Sort(dead)
		cmd += " --ignore-dead-nodes " + strings.Join(dead, ",")
	}
	return cmd + " " + id
}
