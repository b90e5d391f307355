// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// ofDecommissions are the messages of decommissions that do not end, by their causes.
var ofDecommissions = map[words.Code]words.Code{
	words.DecommissionFailed: words.FindingDecommissionFailed,
	words.DecommissionSlow:   words.FindingDecommissionSlow,
	words.DecommissionNotRun: words.FindingDecommissionNotRun,
	words.DecommissionEnded:  words.FindingDecommissioned,
}

// decommissions explains the decommissions that do not end.
func (s *scene) decommissions() {
	for k := range s.h.Blockers {
		b := &s.h.Blockers[k]
		if b.Reason != words.DecommissionStuck {
			continue
		}
		message := words.New(ofDecommissions[b.Cause.Code], "node", b.Observed.Name())
		maps.Copy(message.Params, b.Cause.Params)
		s.add(Finding{
			Kind: DecommissionStuck, Scope: Scope{Level: LevelNode, Nodes: []matrix.Ref{b.Observed}},
			Message: message, Step: b.Step,
		}, k)
	}
}

// leaving reports the decommissions in progress, and failed attempts without a known node: up to
// 2025.4 ScyllaDB does not name it, and lists a failed attempt for an hour even after a later one.
func (s *scene) leaving() {
	all := s.c.Decommissions()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		d, m := all[name], s.c.Member(name)
		f := Finding{Kind: DecommissionOpen, Since: d.Since()}
		switch {
		case name == "":
			f.Message = words.New(words.FindingDecommissionUnnamed, "error", cluster.FirstLine(d.Error))
			f.Step = (&asked{asker: s.asker, b: &matrix.Blocker{Observed: s.anyMember()}}).whyNotLeft(d.Error)
		case m == nil || !d.Requested && !d.Running || d.Ended || s.explainedBy(DecommissionStuck, m):
			continue
		default:
			f.Scope.Nodes = []matrix.Ref{m.Ref}
			f.Message = words.New(words.FindingDecommissionOpen, "node", m.Name())
			f.Step = s.do(words.WaitForDecommission, s.asker.factsOf(name), "limit", cluster.DecommissionUnchanged)
		}
		s.remark(f)
	}
}

// anyMember returns a member that can show what all nodes show, without its host ID and rack. Its
// datacenter is set if the cluster has only one.
func (s *scene) anyMember() (one matrix.Ref) {
	for _, m := range s.c.Serviced() {
		switch {
		case m.Pod == nil:
		case one.Member == "":
			one = matrix.Ref{Member: m.Member, Datacenter: m.Datacenter}
		case m.Datacenter != one.Datacenter:
			one.Datacenter = ""
			return one
		}
	}
	return one
}

// explainedBy reports whether a finding of that kind about the member exists.
func (s *scene) explainedBy(kind Kind, m *cluster.Member) bool {
	return slices.ContainsFunc(s.findings, func(f *Finding) bool {
		return f.Kind == kind &&
			slices.ContainsFunc(f.Scope.Nodes, func(n matrix.Ref) bool { return n.Member == m.Member })
	})
}

// stuckDecommission takes the step for a decommission that does not end.
func (a *asked) stuckDecommission() words.Message {
	o, f := a.b.Observed, a.facts()
	switch a.b.Cause.Code {
	case words.DecommissionFailed:
		text, _ := a.b.Cause.Params["error"].(string)
		return a.whyNotLeft(text)
	case words.DecommissionEnded:
		n, _ := a.b.Cause.Params["replicas"].(int)
		if last, _ := a.b.Cause.Params["last"].(bool); !last || a.c.Operator {
			f["pod"] = o.Member
			return evidence.Do(words.New(words.KeepDecommissioned), f)
		}
		f["wanted"] = strconv.Itoa(n - 1)
		return evidence.Do(words.New(words.ScaleDownDecommissioned, "statefulSet", f["statefulSet"], "wanted", n-1), f)
	case words.DecommissionNotRun:
		return evidence.Do(words.New(words.SeeDecommission, "pod", o.Name()), f)
	}
	return evidence.Do(words.New(words.SeeSlowDecommission, "pod", a.atCoordinator(f)), f)
}

// whyNotLeft takes the step for a failed decommission with ScyllaDB's error.
func (a *asked) whyNotLeft(text string) words.Message {
	o, f := a.b.Observed, a.facts()
	if evidence.WithoutPlace(text) && o.Datacenter != "" {
		return evidence.Do(words.New(words.AddNodeOrLowerRF, "rack", o.Rack, "datacenter", o.Datacenter), f)
	}
	return evidence.Do(words.New(words.SeeDecommission, "pod", a.atCoordinator(f)), f)
}

// atCoordinator directs the commands for a log to the topology coordinator, which runs the
// operation; to the node itself if it is unknown. It returns the name.
func (a *asked) atCoordinator(f evidence.Facts) string {
	if i, ok := a.m.Index(a.m.Coordinator().HostID); ok && a.m.Nodes()[i].Member != "" {
		member := f["member"]
		maps.Copy(f, a.factsOf(a.m.Nodes()[i].Member))
		f["member"] = member
	}
	return cmp.Or(f["pod"], "the topology coordinator")
}
