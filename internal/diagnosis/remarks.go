// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Kind is the cause that a finding names.
type Kind string

// Kinds of findings, the most severe first.
const (
	SplitCluster Kind = "SplitCluster" // two clusters of one name
	HostIDShared Kind = "HostIDShared" // several members have one host ID
	// no node could be queried, or required data is missing
	NobodyAsked Kind = "Unknown"
	// the state is unknown because a permission is missing
	RightsMissing Kind = "RightsMissing"
	Partition     Kind = "Partition" // parts that do not see each other
	// the reports are not kept up to date: their rows may be old
	ControllerSilent Kind = "ControllerSilent"
	DatacenterDown   Kind = "DatacenterDown" // all its nodes
	RackDown         Kind = "RackDown"       // all its nodes
	// of a running node: its data is deleted when its Pod ends
	ClaimDeleting Kind = "ClaimDeleting"
	// on the Service of a member: the Scylla Operator deletes its PVC by the label
	DecommissionLabel  Kind = "DecommissionLabel"
	DecommissionStuck  Kind = "DecommissionStuck"  // of a member: it does not end without help
	KubernetesNodeDown Kind = "KubernetesNodeDown" // and the nodes on it
	ReplacementFailed  Kind = "ReplacementFailed"  // it waits for a user
	NodeDown           Kind = "NodeDown"           // one node
	LinkDown           Kind = "LinkDown"           // nodes that run and do not see each other
	Ghost              Kind = "Ghost"              // a host ID that no member here has
	ReportOutdated     Kind = "ReportOutdated"     // the report differs from the Pods' annotations
	OperatorDegraded   Kind = "OperatorDegraded"   // the Scylla Operator cannot work
	RolloutInProgress  Kind = "RolloutInProgress"  // rollout of a StatefulSet
	// a StatefulSet lacks Ready Pods, and no finding about its nodes explains it
	PodsNotReady    Kind = "PodsNotReady"
	ReplacementOpen Kind = "ReplacementOpen" // it continues automatically
	NodeStarting    Kind = "NodeStarting"    // it continues automatically
	ReporterSilent  Kind = "ReporterSilent"  // a node that is UP has no usable row
	unclear         Kind = "Unclear"         // a blocker that no other kind explains
	NoNodes         Kind = "NoNodes"         // no node has joined yet
	MajorityLost    Kind = "MajorityLost"    // remark: no topology change is possible
	DiskFull        Kind = "DiskFull"        // remark: a node will soon reject writes
	Forced          Kind = "Forced"          // remark: a start will skip its barrier
	// remark: feature gate BootstrapSynchronisation is off, so no join is protected
	Unprotected Kind = "Unprotected"
	NodeUnheard Kind = "NodeUnheard" // remark: a new node runs, and no node lists it
	// remark: label scylla/node-maintenance is older than a day
	NodeMaintenance  Kind = "NodeMaintenance"
	NodeNotStarted   Kind = "NodeNotStarted"   // remark: a new node does not start
	ClockOff         Kind = "ClockOff"         // remark: the clock of a Kubernetes node is wrong
	DecommissionOpen Kind = "DecommissionOpen" // remark: a node is leaving
	// remark: the label of a replacement that has ended
	ReplacingLabelLeft Kind = "ReplacingLabelLeft"
	SchemaDisagreement Kind = "SchemaDisagreement" // remark
	VersionMix         Kind = "VersionMix"         // remark
	// remark: nodetool status, saved with the objects, differs from a status report
	NodetoolDiffers Kind = "NodetoolDiffers"
	// remark: a controller elsewhere has copied a report here, and no longer renews it
	ReportLeftBehind Kind = "ReportLeftBehind"
	// remark: the Scylla Operator adopts and deletes objects of ours
	BesideOperator Kind = "BesideOperator"
	// remark: the Scylla Operator's barrier accepts a datacenter without rows
	DatacenterNotRead Kind = "DatacenterNotRead"
)

var gravity = []Kind{
	SplitCluster, HostIDShared, NobodyAsked, RightsMissing, Partition, ControllerSilent, DatacenterDown, RackDown,
	ClaimDeleting, DecommissionLabel, DecommissionStuck, KubernetesNodeDown, ReplacementFailed,
	NodeDown, LinkDown, Ghost, ReportOutdated, OperatorDegraded, RolloutInProgress, PodsNotReady, ReplacementOpen,
	NodeStarting, ReporterSilent, unclear, NoNodes, NodetoolDiffers, MajorityLost, BesideOperator, DiskFull,
	Unprotected, Forced, NodeUnheard, NodeMaintenance,
	NodeNotStarted, DecommissionOpen, ReplacingLabelLeft, ClockOff, SchemaDisagreement, VersionMix, ReportLeftBehind,
	DatacenterNotRead,
}

// Kinds returns every kind, the most severe first.
func Kinds() []Kind { return slices.Clone(gravity) }

func (k Kind) rank() int { return slices.Index(gravity, k) }

// remarks adds findings that do not block new nodes.
func (s *scene) remarks() {
	if rights := s.rights(); len(rights) > 0 &&
		!slices.ContainsFunc(s.findings, func(f *Finding) bool { return f.Kind == RightsMissing }) {
		s.remark(Finding{Kind: RightsMissing, Message: words.New(words.FindingRightsMissingPart, "rights", rights),
			Step: words.New(words.GetRights)})
	}
	s.disputes()
	s.majority()
	s.adoptable()
	s.disks()
	if by := s.c.UnprotectedBy(); by != "" {
		s.remark(Finding{Kind: Unprotected, Message: words.New(words.FindingUnprotected, "controller", by),
			Step: s.do(words.ProtectAgain, nil)})
	}
	s.forced()
	s.maintenance()
	s.unheard()
	s.newNodes()
	s.leaving()
	s.leftLabels()
	s.clocks()
	versions := map[string]bool{}
	for _, facts := range s.c.Facts {
		for v := range facts.Schemas {
			versions[v] = versions[v] || v != "UNREACHABLE"
		}
	}
	delete(versions, "UNREACHABLE")
	if len(versions) > 1 {
		s.remark(
			Finding{Kind: SchemaDisagreement, Message: words.New(words.FindingSchemaDisagreement, "count",
				len(versions)), Step: replace.Waited(words.New(words.WaitForSchema), 0, nil)})
	}
	s.mix()
	if n := len(s.c.AcceptedUnread()); n > 0 {
		s.remark(Finding{Kind: DatacenterNotRead, Message: words.New(words.FindingDatacenterNotRead, "count", n),
			Step: words.New(words.CheckThere)})
	}
	if r, since := s.c.LeftReport(); r != nil {
		s.remark(Finding{Kind: ReportLeftBehind, Since: since,
			Message: words.New(words.FindingReportLeftBehind, "report", r.Name, "datacenter", r.DatacenterName),
			Step:    s.do(words.DeleteLeftReport, evidence.Facts{"report": r.Name})})
	}
}

func (s *scene) remark(f Finding) {
	f.Scope.Level, f.Remark = LevelCluster, true
	s.add(f)
}

// disputes reports nodes that the saved nodetool status shows differently from a status report.
func (s *scene) disputes() {
	all := s.c.Disputes()
	for len(all) > 0 {
		first := all[0]
		var members []string
		all = slices.DeleteFunc(all, func(d cluster.Dispute) bool {
			same := d.Of == first.Of && d.Nodetool == first.Nodetool
			if same {
				members = append(members, d.Member)
			}
			return same
		})
		s.remark(Finding{
			Kind: NodetoolDiffers, Scope: Scope{Nodes: []matrix.Ref{first.Of}},
			Message: words.New(words.FindingNodetoolDiffers, "members", members, "node", first.Of.Name(),
				"code", first.Nodetool, "status", first.Row.String()),
			Step: s.do(words.SeeWhichIsNewer, evidence.Facts{"pod": first.Member}),
		})
	}
}

// disks reports nodes with a nearly full disk.
func (s *scene) disks() {
	members := s.c.Members()
	for i := range members {
		m := &members[i]
		if percent, known := m.DiskUsed(); known && percent >= cluster.DiskFull {
			s.remark(Finding{
				Kind: DiskFull, Scope: Scope{Nodes: []matrix.Ref{m.Ref}},
				Message: words.New(words.FindingDiskFull, "node", m.Name(), "percent", percent, "by", m.DiskUsedBy()),
				Step:    replace.VolumeStep(s.c, m.Member),
			})
		}
	}
}

// maintenanceForgotten is the minimum age for the remark: an upgrade or a repair of one node takes
// hours.
const maintenanceForgotten = 24 * time.Hour

// maintenance reports members with an old label scylla/node-maintenance, and adds the label to the
// evidence of findings about a node that is DOWN or not Ready.
func (s *scene) maintenance() {
	members := s.c.Members()
	for i := range members {
		m := &members[i]
		label, on := m.Maintenance()
		if !on {
			continue
		}
		for _, f := range s.findings {
			if m.OfOperator() && aboutPod(f, m) { // on a plain StatefulSet the label has no effect
				s.mayBeMaintenance(f, m)
			}
		}
		if label.Since.IsZero() || s.c.TakenAt.Sub(label.Since) < maintenanceForgotten {
			continue
		}
		s.remark(Finding{
			Kind: NodeMaintenance, Scope: Scope{Nodes: []matrix.Ref{m.Ref}}, Since: label.Since,
			Message: words.New(words.FindingNodeMaintenance, "node", m.Name(), "manager", label.By),
			Step:    s.do(words.SeeMaintenance, evidence.Facts{"member": m.Member}),
		})
	}
}

// aboutPod reports whether the finding means that the member is DOWN or its Pod is not Ready.
func aboutPod(f *Finding, m *cluster.Member) bool {
	switch f.Kind {
	case NodeDown, NodeStarting, RackDown, DatacenterDown:
		return slices.ContainsFunc(f.Scope.Nodes, func(r matrix.Ref) bool { return r.Member == m.Member })
	case PodsNotReady:
		return m.StatefulSet != nil && f.Message.Params["statefulSet"] == m.StatefulSet.Name && !m.Ready()
	}
	return false
}

// mayBeMaintenance adds the member's label to the evidence of a finding.
func (*scene) mayBeMaintenance(f *Finding, m *cluster.Member) {
	if f.Evidence.Code == words.NumbersMaintenance { // of another member
		nodes, _ := f.Evidence.Params["nodes"].([]string)
		f.Evidence.Params["nodes"] = append(nodes, m.Name())
		return
	}
	f.Evidence = words.New(words.NumbersMaintenance, "numbers", f.Evidence, "nodes", []string{m.Name()})
}
