// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// Decide answers whether in.Self may start ScyllaDB. It judges in.Matrix from Self's point of view whatever options the matrix was
// built with; in.Matrix nil is the same as one without rows.
//
// The order: a bootstrapped data directory opens; one that can never start again refuses; a member that its peers know is a
// restart and opens; force opens; a replacement opens; then every required node must be seen UP by every row. Nothing else opens,
// but the first node of a cluster that has never had one.
func Decide(in Input) Verdict {
	in.Peers = slices.DeleteFunc(slices.Clone(in.Peers), func(p Peer) bool { return p.Member != "" && p.Member == in.Self.Member })
	v := Verdict{Self: in.Self}
	who := in.Self.Name()

	if in.Disk == BootstrappedYes {
		if in.Banned != "" {
			v.Notes = append(v.Notes, "ScyllaDB has refused this host ID before ("+in.Banned+"); if it does again, "+in.discard())
		}
		return v.open(DecisionBootstrapped, who+" may start: its data directory says that it has bootstrapped")
	}
	if why := in.unusable(); why != "" {
		v.Decision = DecisionRefuse
		v.Summary = who + " cannot start, however long it waits: " + why
		v.Blockers = []matrix.Blocker{{Reason: matrix.ReasonDataDirectory, Observed: in.Self, Detail: why, NextStep: in.discard()}}
		return v
	}

	m := in.judged()
	if in.Disk == BootstrappedUnknown && in.DiskDetail != "" {
		v.Notes = append(v.Notes, "the data directory could not be read ("+in.DiskDetail+"), so the cluster was asked instead")
	}
	if why := in.restart(m); why != "" {
		return v.open(DecisionRestart, who+" may start: it is a restart, "+why)
	}

	force, forced := in.ServiceAnnotations[api.AnnotationForceProceed]
	if forced && force == api.ForceProceedValue {
		v.Blockers, v.Notes = in.precondition(m, v.Notes)
		v.Blockers = append(v.Blockers, in.malformed(false)...)
		matrix.SortBlockers(v.Blockers)
		if len(v.Blockers) == 0 {
			return v.open(DecisionForced, who+" may start: it is forced, and nothing was in its way")
		}
		return v.open(DecisionForced, who+" may start: it is forced, which overrules that "+reasons(v.Blockers))
	}
	if target := in.replaces(); target != "" && !forced {
		if overruled, _ := in.precondition(m, nil); len(overruled) > 0 {
			v.Notes = append(v.Notes, "a replacement does not wait for the others to be UP; what a new node would wait for: "+reasons(overruled))
		}
		return v.open(DecisionReplacing, who+" may start: it replaces the node with "+target)
	}

	v.Blockers, v.Notes = in.precondition(m, v.Notes)
	v.Blockers = append(v.Blockers, in.malformed(forced)...)
	matrix.SortBlockers(v.Blockers)
	switch {
	case len(v.Blockers) > 0:
		v.Decision = DecisionWait
		v = v.Only(slices.Clip(v.Blockers))
	case m.Empty():
		return v.open(DecisionGenesis, who+" may start as the first node: no member of this cluster has ever joined")
	default:
		return v.open(DecisionAllUp, who+" may start: "+allUp(m.Health().Nodes))
	}
	return v
}

// replaces says whom Self replaces: the recorded original host ID, or in the old procedure the address that the request was filled with.
// Empty when it replaces nobody, or when nothing usable is recorded.
func (in *Input) replaces() string {
	if id := in.ServiceLabels[api.LabelReplacingNodeHostID]; id != "" {
		return "host ID " + id
	}
	if a, err := netip.ParseAddr(in.ServiceLabels[api.LabelReplace]); err == nil {
		return "address " + a.String()
	}
	return ""
}

func (v Verdict) open(d Decision, summary string) Verdict {
	v.Satisfied, v.Decision, v.Summary = true, d, summary
	return v
}

// Only is a Verdict that waits, with these of its blockers alone, at least one: for who knows the others to be of no weight.
func (v Verdict) Only(blockers []matrix.Blocker) Verdict {
	v.Blockers, v.Summary = blockers, v.Self.Name()+" must wait: "+reasons(blockers)
	return v
}

func allUp(nodes int) string {
	if nodes == 1 {
		return "the one node there is sees itself UP"
	}
	return fmt.Sprintf("all %d nodes are seen UP by every one that reports", nodes)
}

// reasons says the gravest blocker in full and counts the rest.
func reasons(blockers []matrix.Blocker) string {
	groups, total := matrix.GroupBlockers(blockers)
	text := groups[0].Text(time.Time{}) // without ages: the same facts give the same sentence
	switch rest := total - groups[0].Total; {
	case rest == 1:
		text += ", and one more reason"
	case rest > 1:
		text += fmt.Sprintf(", and %d more reasons", rest)
	}
	return text
}

// unusable says why the data directory can never start again; empty when it can.
func (in *Input) unusable() string {
	switch {
	case in.Disk == BootstrappedDecommissioned:
		return "its data directory belongs to a node that was decommissioned, and ScyllaDB will not start on it"
	case in.Banned != "":
		return "the cluster has banned the host ID in its data directory (" + in.Banned + ")"
	}
	return ""
}

// discard is the cure for a data directory that nothing else can cure.
func (in *Input) discard() string {
	pvc := in.PVC
	if pvc == "" {
		pvc = "of " + in.Self.Name()
	}
	text := "delete PVC " + pvc + ", and the member starts again as a new node"
	if in.PVC != "" && in.Self.Member != "" {
		text += ": kubectl delete pvc " + in.PVC + in.flag() + " --wait=false && kubectl delete pod " + in.Self.Member + in.flag()
	}
	return text
}

// flag makes a command go to Self's namespace.
func (in *Input) flag() string {
	if in.Namespace == "" {
		return ""
	}
	return " -n " + in.Namespace
}

// judged is the matrix as Self has to see it.
func (in *Input) judged() *matrix.Matrix {
	m := in.Matrix
	if m == nil {
		m = matrix.New(nil, matrix.Options{})
	}
	opts := matrix.Options{
		Self:              &in.Self,
		Reports:           in.Reports,
		AllowNonReporting: in.AllowNonReporting,
		NotVerified:       slices.Concat(in.NotVerified, m.Options().NotVerified),
		Namespace:         in.Namespace,
		Fates:             m.Options().Fates,
	}
	return m.Judge(opts)
}

// restart says why Self is a member that only comes back; empty when there is no such evidence.
//
// ScyllaDB does not flush system.local when a node has joined, so after a hard crash the disk may say "no" about a node that
// everybody else has as a member, and holding that one back would hold back the only thing that can end its being DOWN. A data
// directory with nothing in it is another matter: its node is gone, and starting it would ask for a join. So is a member whose
// recorded node is to be replaced: its data are taken away, or about to be.
func (in *Input) restart(m *matrix.Matrix) string {
	if in.DataDirectoryEmpty || in.Self.HostID == "" {
		return ""
	}
	target := in.ServiceLabels[api.LabelReplacingNodeHostID]
	if _, requested := in.ServiceLabels[api.LabelReplace]; target == in.Self.HostID || (requested && target == "") {
		return ""
	}
	if peer, ok := knownBy(m, in.Self.HostID); ok {
		return peer.Name() + " has its host ID " + in.Self.HostID + " as a member"
	}
	if m.Empty() && len(in.Peers) == 0 && !in.otherDatacenter(m) && in.SelfJoined != nil && *in.SelfJoined {
		return "it has joined before and is the only member, so there is nobody else to ask"
	}
	return ""
}

// knownBy finds a peer that lists hostID as a full member. Fresh rows decide; only where there is none at all, as when the whole
// cluster comes back at once, old rows do, because membership does not age as liveness does. One row that has the host ID as a
// newcomer, as replaced or as gone is enough to say no.
func knownBy(m *matrix.Matrix, hostID string) (peer matrix.Ref, ok bool) {
	self, listed := m.Index(hostID)
	if !listed {
		return matrix.Ref{}, false
	}
	nodes := m.Nodes()
	fresh := slices.ContainsFunc(nodes, func(n matrix.Node) bool { return n.Reports && n.HostID != hostID })
	for i := range nodes {
		n := &nodes[i]
		if i == self || n.Self || n.Reports != fresh {
			continue
		}
		c := m.Cell(i, self)
		if c.Status == matrix.Missing {
			continue
		}
		if c.State != matrix.StateNormal && c.State != matrix.StateLeaving {
			return matrix.Ref{}, false
		}
		if !ok {
			peer, ok = n.Ref, true
		}
	}
	return peer, ok
}

// malformed lists what is wrong with Self's own Service.
func (in *Input) malformed(forced bool) []matrix.Blocker {
	var list []matrix.Blocker
	if forced {
		list = append(list, matrix.Blocker{
			Reason: matrix.ReasonForceInvalid, Observed: in.Self, Detail: in.ServiceAnnotations[api.AnnotationForceProceed],
			NextStep: "set it to \"true\", or take it away with --undo: kubectl scylla force-proceed " + in.Self.Name() + in.flag(),
		})
	}
	if target, replacing := in.ServiceLabels[api.LabelReplacingNodeHostID]; replacing && target == "" {
		list = append(list, matrix.Blocker{
			Reason: matrix.ReasonReplaceInvalid, Observed: in.Self,
			NextStep: "give it the host ID of the node to replace, or remove the label: without one ScyllaDB would start as a plain new node",
		})
	}
	missing := func(what, cure string) {
		list = append(list, matrix.Blocker{Reason: matrix.ReasonLabelMissing, Observed: in.Self, Detail: what, NextStep: cure})
	}
	for _, label := range []struct{ key, value string }{
		{api.LabelDatacenter, in.Self.Datacenter},
		{api.LabelRack, in.Self.Rack},
	} {
		if label.value == "" {
			missing("label "+label.key+" is missing or empty on its Service", "label the Service: kubectl label service "+in.Self.Name()+" "+label.key+"=NAME"+in.flag())
		}
	}
	if in.Self.Ordinal == nil {
		missing("the name of its Service does not end in a dash and an ordinal", "a member Service is called as its Pod: STATEFULSET-ORDINAL")
	}
	return list
}

// precondition lists what a newcomer has to wait for, and what is worth saying besides.
func (in *Input) precondition(m *matrix.Matrix, notes []string) ([]matrix.Blocker, []string) {
	blockers := slices.Clone(m.Blockers())
	if m.Empty() {
		if why := in.notNew(m); why != "" {
			step := "see that the controller runs and that the reporters of the members that have joined are up; what there is: kubectl scylla report" + in.flag()
			if in.otherDatacenter(m) && !in.anyJoined() {
				step = "see by hand that every node of the other datacenter sees every node UP, then: kubectl scylla force-proceed " + in.Self.Name() + in.flag()
			}
			blockers = append(blockers, matrix.Blocker{Reason: matrix.ReasonReportMissing, Detail: why, NextStep: step})
		}
	}
	others := slices.DeleteFunc(slices.Clone(in.Peers), func(p Peer) bool { return p.HostID == in.Self.HostID })
	blockers = append(blockers, Outdated(m, others, in.ControllerSilent, in.ControllerSilentSince)...)
	matrix.SortBlockers(blockers)
	return blockers, append(notes, remarks(m)...)
}

// Outdated lists why rows that say UP may no longer be what the nodes say: members that have joined since, and a controller that keeps
// the reports no more. silent and since are as in Input.
func Outdated(m *matrix.Matrix, members []Peer, silent string, since time.Time) []matrix.Blocker {
	return append(behind(m, members), silence(silent, since)...)
}

func silence(controller string, since time.Time) []matrix.Blocker {
	if controller == "" {
		return nil
	}
	return []matrix.Blocker{{
		Reason: matrix.ReasonControllerSilent, Detail: controller, Since: since,
		NextStep: "start the controller again; until then nobody can tell whether the reports are still true",
	}}
}

// behind lists the members that have joined by the word of their Services while the rows are older than that: nobody's row mentions them, or
// the rows still have them as joining and none of their own has come. What such a member sees is not known, whatever the rows say. Of an empty
// matrix it says nothing: that no member has a row is one finding, not many.
func behind(m *matrix.Matrix, members []Peer) []matrix.Blocker {
	if m.Empty() {
		return nil
	}
	var list []matrix.Blocker
	for i := range members {
		p := &members[i]
		if p.HostID == "" || p.Joined == nil || !*p.Joined {
			continue
		}
		detail := "its Service says that it has joined, and no report mentions it"
		if at, ok := m.Index(p.HostID); ok {
			n := &m.Nodes()[at]
			newcomer := n.State == matrix.StateJoining || n.State == matrix.StateReplacing
			if n.Reports || !newcomer || m.Lenient() {
				continue // it has a row, or the matrix says itself that it lacks one
			}
			detail = "its Service says that it has joined, and the report has it as " + strings.ToLower(n.State.String()) + " still"
		}
		list = append(list, matrix.Blocker{
			Reason: matrix.ReasonRowMissing, Observed: p.Ref, Detail: detail,
			NextStep: "see that the controller runs: the report is older than the member",
		})
	}
	return list
}

// remarks says what was taken on trust.
func remarks(m *matrix.Matrix) []string {
	var notes []string
	if m.Lenient() {
		dcs := slices.Clone(m.Options().NotVerified)
		slices.Sort(dcs)
		for _, dc := range slices.Compact(dcs) {
			notes = append(notes, "datacenter "+dc+" was not verified: nobody here can ask its nodes")
		}
		silent := 0
		for _, n := range m.Nodes() {
			if n.Row == nil && n.SeenUp > 0 {
				silent++
			}
		}
		const by = "accepted by --single-report-allow-non-reporting-host-ids"
		switch {
		case silent == 1:
			notes = append(notes, "1 host ID without a row of its own was "+by)
		case silent > 1:
			notes = append(notes, fmt.Sprintf("%d host IDs without a row of their own were %s", silent, by))
		}
	}
	for _, n := range m.Nodes() {
		if n.State != matrix.StateNormal && n.SeenUp+n.SeenDown+n.SeenUnknown > 0 {
			notes = append(notes, n.Ref.String()+" is "+n.State.String()+", as every row that mentions it says")
		}
	}
	return notes
}

// notNew says why an empty matrix is not the beginning of a cluster; empty when it is.
func (in *Input) notNew(m *matrix.Matrix) string {
	var why []string
	if in.SelfJoined != nil && *in.SelfJoined {
		why = append(why, in.Self.Name()+" itself has joined before")
	}
	for i := range in.Peers {
		switch p := &in.Peers[i]; {
		case p.Joined != nil && *p.Joined:
			why = append(why, p.Name()+" has joined")
		case p.Joined == nil && p.HostID != "":
			why = append(why, p.Name()+" has a host ID")
		}
	}
	if in.otherDatacenter(m) {
		why = append(why, "another datacenter exists")
	}
	const enough = 3
	if len(why) > enough {
		why = append(why[:enough], fmt.Sprintf("and %d more", len(why)-enough))
	}
	return strings.Join(why, ", ")
}

// anyJoined is true when a member here has joined, so that a report of this datacenter should exist.
func (in *Input) anyJoined() bool {
	return slices.ContainsFunc(in.Peers, func(p Peer) bool { return p.Joined != nil && *p.Joined })
}

// otherDatacenter is true when another datacenter is known. The lenient flag says so too: it is set where there are external seeds.
func (in *Input) otherDatacenter(m *matrix.Matrix) bool {
	return in.AllowNonReporting || len(m.Options().NotVerified) > 0
}

// Place reads a member's place from its Service: labels datacenter and rack, ordinal from the digits after the name's last dash.
// What is absent, empty or out of range stays empty in the Ref, and Decide blocks on it.
func Place(serviceName string, labels map[string]string) matrix.Ref {
	r := matrix.Ref{Member: serviceName, Datacenter: labels[api.LabelDatacenter], Rack: labels[api.LabelRack]}
	dash := strings.LastIndexByte(serviceName, '-')
	if n, err := strconv.ParseUint(serviceName[dash+1:], 10, 32); dash >= 0 && err == nil && n <= math.MaxInt32 {
		ordinal := int32(n)
		r.Ordinal = &ordinal
	}
	return r
}
