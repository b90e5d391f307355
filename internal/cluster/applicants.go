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

// JoinCandidates returns the members with a Service that have not joined or whose node was removed.
// Order: replacements first, because no node can join while a node is DOWN; then by rack and
// ordinal. The caller may change the list.
func (c *Cluster) JoinCandidates() []*Member {
	return slices.Clone(c.derived.applicants.get(c.derived.of, (*Cluster).makeApplicants))
}

func (c *Cluster) makeApplicants() []*Member {
	var out []*Member
	for _, m := range c.derived.servicedOnce() {
		if _, leaves := m.Service.Labels[api.LabelDecommissioned]; leaves || m.Service.DeletionTimestamp != nil ||
			m.hasLeft() {
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

// hasLeft reports whether the running node reports that it was decommissioned. Such a node is not
// joining. Its row also has an error, because its gossip has stopped.
func (m *Member) hasLeft() bool {
	return m.Report != nil && matrix.StateOfMode(m.Report.OperationMode) == matrix.StateDecommissioned
}

func (c *Cluster) isMember(m *Member) bool {
	if m.Removed(c.all) {
		return false // even if its Service records a join: a node that starts there must join again
	}
	at, ok := c.all.Index(m.RecordedID())
	return m.HasJoined() || ok && c.all.Nodes()[at].Joined
}

// PodUID returns the UID of the member's Pod; empty if it has no Pod or the Pod is being deleted.
func (m *Member) PodUID() types.UID {
	if m.Pod == nil || m.Pod.DeletionTimestamp != nil {
		return ""
	}
	return m.Pod.UID
}

// Replaces reports whether the member replaces a node: by the recorded original host ID, or in the
// old procedure by address. The Scylla Operator accepts any value of the label; its nodes replace
// by host ID only.
func (m *Member) Replaces() bool {
	_, by := m.ReplacedAddress()
	return by || m.Label(api.LabelReplacingNodeHostID) != ""
}

// ReplacedAddress returns the address of the node that the member replaces by the old procedure;
// false if it replaces no node by address.
func (m *Member) ReplacedAddress() (netip.Addr, bool) {
	address, err := netip.ParseAddr(m.Label(api.LabelReplace))
	return address.Unmap(), err == nil && m.Label(api.LabelReplacingNodeHostID) == "" && (m.c == nil || !m.c.Operator)
}

// MustBeDown returns the host IDs that must be DOWN before the member starts; nil if it replaces no
// node. They are the replaced node and the dead nodes that the replacement ignores. In the
// procedure by address, the member's Service still records the replaced node.
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

// IgnoredDead returns the host IDs of the dead nodes that a replacement must ignore, as the
// member's Service lists them.
func (m *Member) IgnoredDead() []hostid.ID {
	var ids []hostid.ID
	for _, text := range api.SplitList(m.Annotation(api.AnnotationReplaceIgnoreDead)) {
		if id, err := hostid.Parse(text); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

const flagPolicy = "--policy"

// DefaultPolicy returns the policy of the member's barrier without the flag. The Scylla Operator
// gives no permits, so its members use reports only. The same applies to members that another
// cluster's report judges, because that report has no permits for them.
func (m *Member) DefaultPolicy() api.Policy {
	if m.Service != nil && OwnedByOperator(m.Service) || m.JudgedByOther() {
		return api.PolicyReports
	}
	return api.PolicyPermits
}

// JudgedByOther reports whether the cluster is judged by the report of another cluster and the
// member's own Service names that report. Another object's reference alone does not change the
// policy.
func (m *Member) JudgedByOther() bool {
	return m.c != nil && m.c.OverrideRef != "" && m.c.OverrideRef != m.c.Name &&
		m.Annotation(api.AnnotationStatusReportOverrideRef) == m.c.OverrideRef
}

// NeedsPermit reports whether the member's barrier requires a permit and has not opened. A node
// that was started needs none.
func (m *Member) NeedsPermit() bool {
	spec := m.podSpec()
	return spec != nil && goesByPermits(spec, m.DefaultPolicy()) && (m.Pod == nil || !passed(m.Pod))
}

// goesByPermits reports whether the Pods' barrier requires a permit. otherwise is the policy if its
// flag is not set.
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
				policy = v // the last one counts, as in the barrier
			} else if w == flagPolicy && at+1 < len(words) {
				policy = words[at+1]
			}
		}
		return policy == string(api.PolicyPermits)
	}
	return false
}
