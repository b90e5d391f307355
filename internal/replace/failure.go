// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Exit codes of `scylla-agent launch` before it executes ScyllaDB, from sysexits.h. ScyllaDB does
// not use them.
const (
	// the API server did not answer in time; the kubelet restarts the container
	ExitLaunchRetry = 75
	// the replace labels are malformed; a restart fails until they are corrected
	ExitLaunchMalformed = 78
)

// diagnose returns the cause of a failed attempt, nil if none is known. Call it only while the new
// node, whose host ID may be empty, has not joined.
func diagnose(in *Input, original, newcomer hostid.ID) *Diagnosis {
	p := in.Self.Pod
	switch {
	case p != nil && original != "" && in.Self.Says().HostID == original:
		return &Diagnosis{
			Code: words.SameHostID, Text: words.New(words.SameHostID, "pod", p.Name, "hostID", original),
			Cure: words.New(words.SeeMountedVolume),
		}
	case in.Log != nil && in.Log.Code != words.ShadowRound:
		return diagnoseLog(in, original, newcomer)
	}
	if newcomer != "" {
		cure := lookCure(in) // the Service may still record the host ID of an earlier attempt
		if in.Self.Report.LastHostID() == newcomer {
			cure = resumeCure(in, original, newcomer)
		}
		for _, op := range in.Operations {
			if op.HostID == newcomer && op.State == "failed" {
				return &Diagnosis{
					Code: words.ReplaceOperationFailed, Cure: cure,
					Text: words.New(words.ReplaceOperationFailed, "operation", op.Type, "node", newcomer, "error",
						op.Error),
				}
			}
		}
	}
	if in.Self.LastExit() == nil {
		return nil
	}
	return diagnoseExit(in)
}

// FailureOf returns what a known error in the log of a Pod's ScyllaDB shows about its replacement:
// why it failed, or that it contacts its seeds; nil if the error concerns only this start. The fix
// of a replacement differs from the fix of a join.
func FailureOf(pod string, e cluster.LogError) *Diagnosis {
	if evidence.VolumeOf(e.Code) != evidence.Lost && !Refused(e.Code) && e.Code != words.ShadowRound {
		return nil
	}
	return &Diagnosis{Code: e.Code, Text: words.New(words.ScyllaDBSaid, "pod", pod, "text", e.Text)}
}

// diagnoseExit explains a container that exited without a known ScyllaDB log line. The exit code
// comes from the image's entrypoint (dist/docker/docker-entrypoint.py): 0 after SIGTERM and after
// errors of its own. A banned ScyllaDB does not end its container, so no code shows that the volume
// is lost.
func diagnoseExit(in *Input) *Diagnosis {
	p, e := in.Self.Pod, in.Self.LastExit()
	switch {
	case e.ExitCode == ExitLaunchRetry:
		return nil
	case e.ExitCode == ExitLaunchMalformed:
		return &Diagnosis{
			Code: words.ReplaceLabelsMalformed, Text: words.New(words.ReplaceLabelsMalformed, "pod", p.Name, "detail",
				detail(e)),
			Cure: words.New(words.CorrectLabels, "labels", []string{api.LabelReplace, api.LabelReplacingNodeHostID},
				"namespace", in.Namespace, "member", in.Self.Member),
		}
	}
	return &Diagnosis{Code: words.ExitedBeforeJoining, Text: words.New(words.ExitedBeforeJoining,
		"pod", p.Name, "code", int(e.ExitCode), "restarts", int(in.Self.ScyllaDB().RestartCount), "detail", detail(e)),
		Cure: lookCure(in)}
}

// diagnoseLog adds the remedy for a replacement to the diagnosis of the log. Since 2026.3, ScyllaDB
// refuses ReplacedNodeNotFound, ReplaceAliveNode and ReplaceOtherDown before it stores the request;
// older versions place the request and cancel it. Nothing is then banned and no volume is lost. The
// supervisor restarts ScyllaDB on the same data, which continues once the reason is removed.
func diagnoseLog(in *Input, original, newcomer hostid.ID) *Diagnosis {
	d, v, place := *in.Log, newOpinions(in, original, newcomer, nil), in.Self.Ref
	place.HostID = original
	switch {
	case !d.Cure.IsZero():
	case (d.Code == words.ReplacedNodeNotFound || d.Code == words.JoinUnfinished || d.Code == words.RequestNotFound) &&
		newcomerIsMember(in, original, newcomer):
		// ScyllaDB was restarted before it had recorded its join. Its volume is a member's.
		d.Code = words.NewcomerIsMember
		d.Text = words.New(words.NewcomerIsMember, "node", newcomer, "original", original, "says", d.Text)
		d.Cure = words.New(words.CureNewcomerIsMember).Do(
			words.Scylla(in.Namespace, "replace", string(newcomer), "--skip-check="+CheckJustStarted)) // by its log
	case d.Code == words.ReplacedNodeNotFound && original != "" && v.m.NoneLists(place):
		d.Cure = words.New(words.CureTakeBack, "hostID", original, "status",
			command(words.Scylla(in.Namespace, "status"))).Do(takeBack(in)...)
	case d.Code == words.ReplaceAliveNode && len(v.of(original).Up) > 0:
		d.Cure = words.New(words.CureAliveTarget, "node", v.holder(original)).Do(takeBack(in)...)
	case original != "" && (d.Code == words.ReplacedNodeNotFound || d.Code == words.ReplaceAliveNode):
		d.Cure = lookCure(in) // the rows do not confirm it
	case d.Code == words.ReplaceOtherDown:
		down, ignore := othersDown(in, original, newcomer)
		switch {
		case len(down) == 0:
			d.Cure = words.New(words.CureBringBack, "nodes", []string{"that node"})
		case len(ignore) > 0:
			d.Cure = words.New(words.CureBringBackOrResume, "nodes", down).Do(replaceCommand(in, ignore))
		default:
			d.Cure = words.New(words.CureBringBack, "nodes", down)
		}
	case evidence.VolumeOf(d.Code) == evidence.Lost:
		d.Cure = resumeCure(in, original, newcomer)
	case evidence.VolumeOf(d.Code) == evidence.Kept:
		d.Cure = words.New(words.CureNothingStored).Do(words.Scylla(in.Namespace, "replace", "status", in.Self.Member))
	default:
		d.Cure = lookCure(in)
	}
	return &d
}

// lookCure is the remedy if the failure does not show whether the new volume is lost. It deletes
// nothing.
func lookCure(in *Input) words.Message {
	look := words.New(words.CureLook).Do(words.Scylla(in.Namespace, "describe", in.Self.Member))
	if in.Self.Pod != nil {
		look = look.Do(logOf(in))
	}
	return look
}

// Refused reports whether c is a text with which ScyllaDB rejects the request of a new node,
// whether or not its volume is lost.
func Refused(c words.Code) bool {
	switch c {
	case words.ReplacedNodeNotFound, words.JoinUnfinished, words.ReplaceAliveNode, words.ReplaceOtherDown,
		words.RequestNotFound, words.ReplaceTargetNotNormal,
		words.ReplaceIgnoredAlive, words.ReplaceOtherPlace, words.ReplacePlaceRefused, words.ReplaceTokensRefused,
		words.JoinRejected, words.NotAliveInTime:
		return true
	}
	return false
}

func command(c words.Command) words.Message { return words.New(words.SayCommand).Do(c) }

// newcomerIsMember reports whether a fresh row lists the new node as a normal member, and no row
// lists the replaced node.
func newcomerIsMember(in *Input, original, newcomer hostid.ID) bool {
	if newcomer == "" || original == "" {
		return false
	}
	v := newOpinions(in, original, newcomer, nil)
	return len(v.of(newcomer).States[matrix.StateNormal]) > 0 && v.of(original).Listing() == 0
}

// Superseded returns the host ID of the new node of an open replacement that is a normal member
// while no row lists the original; else empty. This node can itself be replaced, which ends the
// open replacement (SupersedePatch). The Scylla Operator ends its own replacements.
func Superseded(in Input) hostid.ID {
	if in.Operator {
		return ""
	}
	rec := RecordOf(in.Self)
	id := newcomerID(&in, rec.Original)
	if rec.Open() && newcomerIsMember(&in, rec.Original, id) && in.Self.RecordedID() == id {
		return id
	}
	return ""
}

// resumeCure is the command for another attempt, after the steps without which that attempt would
// also fail.
func resumeCure(in *Input, original, newcomer hostid.ID) words.Message {
	switch down, ignore := othersDown(in, original, newcomer); {
	case len(down) == 0:
		return words.New(words.CureResume).Do(replaceCommand(in, nil))
	case len(ignore) > 0:
		return words.New(words.CureResumeAfter, "nodes", down).Do(replaceCommand(in, nil),
			replaceCommand(in, ignore))
	default:
		return words.New(words.CureResumeAfter, "nodes", down).Do(replaceCommand(in, nil))
	}
}

// othersDown returns the names of the nodes that a row has DOWN, without the replaced and the
// ignored ones. If something shows of each that it cannot come back, ignore is the list with them
// for another attempt, which replaces the old list; else nil, because ScyllaDB bans these nodes.
func othersDown(in *Input, original, newcomer hostid.ID) (names []string, ignore []hostid.ID) {
	v := newOpinions(in, original, newcomer, RecordOf(in.Self).IgnoreDead)
	dead, living := v.down("", func(hostid.ID) bool { return false })
	names, _ = v.named(slices.Concat(dead, living))
	if len(living) == 0 && len(dead) > 0 {
		ignore = v.ignoring(dead)
	}
	return names, ignore
}

// replaceCommand requests another attempt, or the replacement if none is open. If it is the remedy
// for a refused request, it has the skipped checks of that request.
func replaceCommand(in *Input, ignore []hostid.ID) words.Command {
	rec, args := RecordOf(in.Self), []string{"replace", "resume", in.Self.Member}
	if !rec.Open() {
		args = []string{"replace", string(in.Self.RecordedID())}
	}
	if len(ignore) > 0 {
		args = append(args, "--ignore-dead="+hostid.Join(ignore))
	}
	if rec.Pending() && len(rec.SkipChecks) > 0 {
		args = append(args, "--skip-check="+strings.Join(rec.SkipChecks, ","))
	}
	return words.Scylla(in.Namespace, args...)
}

// takeBack returns the commands that cancel a replacement whose target cannot be replaced. The
// member then starts as a plain new node. ScyllaDB has stored nothing, so it starts on the same
// volume. That volume is kept: it has data if this node is a member that stopped before it recorded
// its join.
func takeBack(in *Input) []words.Command {
	ns, member := in.Namespace, in.Self.Member
	var keys []string
	for _, k := range recordKeys {
		if _, there := in.Self.Service.Annotations[k]; there {
			keys = append(keys, k+"-")
		}
	}
	slices.Sort(keys)
	var out []words.Command
	if len(keys) > 0 {
		// The record is removed first: otherwise the controller would restore the labels.
		out = append(out, words.Kubectl(ns, append([]string{"annotate", "service", member}, keys...)...))
	}
	out = append(out, words.Kubectl(ns, "label", "service", member, api.LabelReplace+"-", api.LabelReplacingNodeHostID+
		"-"))
	return append(out, words.Kubectl(ns, "delete", "pod", member))
}

// detail returns the kubelet's reason and message of an exit, without a generic reason.
func detail(e *corev1.ContainerStateTerminated) string {
	reason := e.Reason
	if reason == "Error" || reason == "Completed" {
		reason = ""
	}
	msg := strings.TrimSpace(e.Message)
	if reason != "" && msg != "" {
		return reason + ": " + msg
	}
	return cmp.Or(reason, msg)
}
