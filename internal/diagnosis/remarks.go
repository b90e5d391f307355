// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Kind is the cause that a finding names.
type Kind string

// Kinds of findings, the most severe first.
const (
	SplitCluster       Kind = "SplitCluster"       // two clusters of one name
	NobodyAsked        Kind = "Unknown"            // no node could be queried, or required data is missing
	RightsMissing      Kind = "RightsMissing"      // the state is unknown because a permission is missing
	Partition          Kind = "Partition"          // parts that do not see each other
	ControllerSilent   Kind = "ControllerSilent"   // the reports are not kept up to date: their rows may be old
	DatacenterDown     Kind = "DatacenterDown"     // all its nodes
	RackDown           Kind = "RackDown"           // all its nodes
	ClaimDeleting      Kind = "ClaimDeleting"      // of a running node: its data is deleted when its Pod ends
	DecommissionLabel  Kind = "DecommissionLabel"  // on the Service of a member: the Scylla Operator deletes its PVC by the label
	KubernetesNodeDown Kind = "KubernetesNodeDown" // and the nodes on it
	ReplacementFailed  Kind = "ReplacementFailed"  // it waits for a user
	NodeDown           Kind = "NodeDown"           // one node
	LinkDown           Kind = "LinkDown"           // nodes that run and do not see each other
	Ghost              Kind = "Ghost"              // a host ID that no member here has
	ReportOutdated     Kind = "ReportOutdated"     // the report differs from the Pods' annotations
	OperatorDegraded   Kind = "OperatorDegraded"   // the Scylla Operator cannot work
	RolloutInProgress  Kind = "RolloutInProgress"  // rollout of a StatefulSet
	PodsNotReady       Kind = "PodsNotReady"       // a StatefulSet lacks Ready Pods, and no finding about its nodes explains it
	ReplacementOpen    Kind = "ReplacementOpen"    // it continues automatically
	NodeStarting       Kind = "NodeStarting"       // it continues automatically
	ReporterSilent     Kind = "ReporterSilent"     // a node that is UP has no usable row
	Unclear            Kind = "Unclear"            // a blocker that no other kind explains
	NoNodes            Kind = "NoNodes"            // no node has joined yet
	Forced             Kind = "Forced"             // remark: a start will skip its barrier
	NodeUnheard        Kind = "NodeUnheard"        // remark: a new node runs, and no node lists it
	NodeEnded          Kind = "NodeEnded"          // remark: the container of a new node ended before it joined, and nothing shows why
	SchemaDisagreement Kind = "SchemaDisagreement" // remark
	VersionMix         Kind = "VersionMix"         // remark
)

var gravity = []Kind{
	SplitCluster, NobodyAsked, RightsMissing, Partition, ControllerSilent, DatacenterDown, RackDown, ClaimDeleting, DecommissionLabel, KubernetesNodeDown, ReplacementFailed,
	NodeDown, LinkDown, Ghost, ReportOutdated, OperatorDegraded, RolloutInProgress, PodsNotReady, ReplacementOpen, NodeStarting, ReporterSilent, Unclear, NoNodes, Forced, NodeUnheard, NodeEnded, SchemaDisagreement, VersionMix,
}

// Kinds returns every kind, the most severe first.
func Kinds() []Kind { return slices.Clone(gravity) }

func (k Kind) rank() int { return slices.Index(gravity, k) }

// remarks adds findings that do not block new nodes.
func (s *scene) remarks() {
	if rights := s.rights(); len(rights) > 0 && !slices.ContainsFunc(s.findings, func(f *Finding) bool { return f.Kind == RightsMissing }) {
		s.remark(Finding{Kind: RightsMissing, Message: words.New(words.FindingRightsMissingPart, "rights", rights), Step: words.New(words.GetRights)})
	}
	s.forced()
	s.unheard()
	s.ended()
	versions := map[string]bool{}
	for _, facts := range s.c.Facts {
		for v := range facts.Schemas {
			versions[v] = versions[v] || v != "UNREACHABLE"
		}
	}
	delete(versions, "UNREACHABLE")
	if len(versions) > 1 {
		s.remark(Finding{Kind: SchemaDisagreement, Message: words.New(words.FindingSchemaDisagreement, "count", len(versions)), Step: words.New(words.WaitForSchema)})
	}
	s.mix()
}

func (s *scene) remark(f Finding) {
	f.Scope.Level, f.Remark = LevelCluster, true
	s.add(f)
}
