// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// Applicants are the members that have a Service and have not joined, or whose node was removed, in the order in which they are let in: replacements first, because no node joins
// while one is DOWN; then rack by rack, then by ordinal. The caller may change the list.
func (c *Cluster) Applicants() []*Member { return slices.Clone(c.applicants()) }

func (c *Cluster) makeApplicants() []*Member {
	var out []*Member
	for _, m := range c.serviced() {
		if _, leaves := m.Service.Labels[api.LabelDecommissioned]; leaves || m.Service.DeletionTimestamp != nil || m.hasLeft() {
			continue
		}
		if m.Replaces() || !c.isMember(m) {
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(a, b *Member) int {
		if a.Replaces() != b.Replaces() {
			if a.Replaces() {
				return -1
			}
			return 1
		}
		return a.Recorded().Compare(b.Recorded())
	})
	return out
}

// hasLeft is true for a member whose running node answers that it was decommissioned: it is not joining, although it is no member of the cluster any more. Its row also has an
// error, because its gossip has stopped.
func (m *Member) hasLeft() bool {
	return m.Report != nil && matrix.StateOfMode(m.Report.OperationMode) == matrix.StateDecommissioned
}

func (c *Cluster) isMember(m *Member) bool {
	if m.Removed(c.all) {
		return false // even where its Service records a join: a node started there joins anew
	}
	at, ok := c.all.Index(m.RecordedID())
	return m.HasJoined() || ok && c.all.Nodes()[at].Joined
}

// PodUID is that of its Pod; empty while it has none, or one that is being deleted.
func (m *Member) PodUID() types.UID {
	if m.Pod == nil || m.Pod.DeletionTimestamp != nil {
		return ""
	}
	return m.Pod.UID
}

// Replaces is true for a member that replaces a node: by the recorded original host ID, or in the old procedure by address. The Scylla Operator accepts any value of the label, and its
// nodes replace by host ID alone.
func (m *Member) Replaces() bool {
	_, by := m.ReplacedAddress()
	return by || m.Label(api.LabelReplacingNodeHostID) != ""
}

// ReplacedAddress is the address of the node that it replaces by the old procedure, false where it replaces none by address.
func (m *Member) ReplacedAddress() (netip.Addr, bool) {
	address, err := netip.ParseAddr(m.Label(api.LabelReplace))
	return address.Unmap(), err == nil && m.Label(api.LabelReplacingNodeHostID) == "" && (m.c == nil || !m.c.Operator)
}

// MustBeDown are the host IDs that must be DOWN before it starts: of a member that replaces a node that node, which its Service still records in the procedure by address, and the dead
// ones that its replacement ignores; none for any other.
func (m *Member) MustBeDown() []hostid.ID {
	if !m.Replaces() {
		return nil
	}
	id := hostid.Known(m.Label(api.LabelReplacingNodeHostID))
	if _, byAddress := m.ReplacedAddress(); byAddress {
		id = m.RecordedID()
	}
	var down []hostid.ID
	if id != "" {
		down = append(down, id)
	}
	return append(down, m.IgnoredDead()...)
}

// IgnoredDead are the host IDs that its Service lists as dead nodes for a replacement to ignore.
func (m *Member) IgnoredDead() []hostid.ID {
	var ids []hostid.ID
	for _, text := range api.SplitList(m.Annotation(api.AnnotationReplaceIgnoreDead)) {
		if id, err := hostid.Parse(text); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// flagPolicy is the barrier's flag.
const flagPolicy = "--policy"

// DefaultPolicy is the policy of its barrier without the flag. The Scylla Operator gives no permits, so its members use the reports alone; so do members that another report than their
// cluster's judges, because that has no permits for them.
func (m *Member) DefaultPolicy() api.Policy {
	if m.Service != nil && OwnedByOperator(m.Service) || m.JudgedByOther() {
		return api.PolicyReports
	}
	return api.PolicyPermits
}

// JudgedByOther is true where its Service names the report by which the cluster is judged, and that is not the cluster's own. The word of another object is not enough for another
// policy.
func (m *Member) JudgedByOther() bool {
	return m.c != nil && m.c.OverrideRef != "" && m.c.OverrideRef != m.c.Name && m.Annotation(api.AnnotationStatusReportOverrideRef) == m.c.OverrideRef
}

// NeedsPermit is true where its barrier requires a permit, and has not let it through: a node that has been started needs none.
func (m *Member) NeedsPermit() bool {
	spec := m.podSpec()
	return spec != nil && goesByPermits(spec, m.DefaultPolicy()) && (m.Pod == nil || !passed(m.Pod))
}

// goesByPermits is true for Pods whose barrier requires a permit; otherwise is the policy where its flag is not set.
func goesByPermits(spec *corev1.PodSpec, otherwise api.Policy) bool {
	for i := range spec.InitContainers {
		gate := &spec.InitContainers[i]
		if gate.Name != api.ContainerBarrier {
			continue
		}
		policy := string(otherwise)
		words := slices.Concat(gate.Command, gate.Args)
		for at, w := range words {
			if v, ok := strings.CutPrefix(w, flagPolicy+"="); ok {
				policy = v // the last one counts, as for the barrier itself
			} else if w == flagPolicy && at+1 < len(words) {
				policy = words[at+1]
			}
		}
		return policy == string(api.PolicyPermits)
	}
	return false
}
