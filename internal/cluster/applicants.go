// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
)

// Applicant is a member whose node has not joined: a further one, or one that takes the place of a dead node.
type Applicant struct {
	matrix.Ref
	Created time.Time
	// Claim is the name of its data claim, whether or not it exists.
	Claim string
	// PodUID is empty while it has no Pod.
	PodUID types.UID
	// Waits is true while its barrier runs, Past once its barrier has let it through, also while its ScyllaDB crashes.
	Waits, Past bool
	// Replaces is true for a member that replaces a dead node; Dead then has the host IDs that must be DOWN: the replaced and the ignored ones.
	Replaces bool
	Dead     []hostid.ID
	// Parallel is true where its own image supports joins in parallel.
	Parallel bool
}

// Applicants are the members that have a Service and have not joined, or whose node was removed, in the order in which they are let in: replacements first, because no node joins
// while one is DOWN; then rack by rack, then by ordinal. The caller may change the list.
func (c *Cluster) Applicants() []Applicant { return slices.Clone(c.applicants()) }

func (c *Cluster) makeApplicants() []Applicant {
	peers := c.peersOf()
	var out []Applicant
	for i := range c.Services {
		v := &c.Services[i]
		if _, leaves := v.Labels[api.LabelDecommissioned]; leaves || v.DeletionTimestamp != nil || c.hasLeft(v.Name) {
			continue
		}
		n := Applicant{Ref: c.ix.refs[v.Name], Created: v.CreationTimestamp.Time, Claim: c.ix.pvcName(v.Name)}
		n.Replaces, n.Dead = replacedBy(v)
		if !n.Replaces && c.isMember(v, &peers[i]) {
			continue
		}
		if pod := c.ix.pods[v.Name]; pod != nil && pod.DeletionTimestamp == nil {
			n.PodUID, n.Waits, n.Past = pod.UID, waitsInBarrier(pod), pastBarrier(pod)
		}
		n.Parallel = c.imageVersion(v.Name).SupportsParallelBootstrap() == release.Yes
		out = append(out, n)
	}
	slices.SortStableFunc(out, func(a, b Applicant) int {
		if a.Replaces != b.Replaces {
			if a.Replaces {
				return -1
			}
			return 1
		}
		return a.Compare(b.Ref)
	})
	return out
}

// hasLeft is true for a member whose running node answers that it was decommissioned: it is not joining, although it is no member of the cluster any more. Its row also has an
// error, because its gossip has stopped.
func (c *Cluster) hasLeft(member string) bool {
	said := c.Said(member)
	return said != nil && matrix.StateOfMode(said.OperationMode) == matrix.StateDecommissioned
}

func (c *Cluster) isMember(v *corev1.Service, p *bootstrap.Peer) bool {
	if bootstrap.Removed(c.all, p) {
		return false // even where its Service records a join: a node started there joins anew
	}
	if j := joined(v); j != nil && *j {
		return true
	}
	at, ok := c.all.Index(p.HostID)
	return ok && c.all.Nodes()[at].Joined
}

// replacedBy returns whether the member replaces a node, and the host IDs that must be DOWN for it: by the recorded original host ID, or in the old procedure by address, where the
// Service still records the old node.
func replacedBy(v *corev1.Service) (replaces bool, dead []hostid.ID) {
	id := hostid.Known(v.Labels[api.LabelReplacingNodeHostID])
	if v.Labels[api.LabelReplacingNodeHostID] == "" {
		if _, err := netip.ParseAddr(v.Labels[api.LabelReplace]); err != nil {
			return false, nil
		}
		id = hostid.Known(v.Annotations[api.AnnotationHostID])
	}
	if id != "" {
		dead = append(dead, id)
	}
	return true, append(dead, bootstrap.IgnoredDead(v.Annotations)...)
}

// HasBarrier is true for Pods that the barrier holds back when they join.
func HasBarrier(spec *corev1.PodSpec) bool {
	return slices.ContainsFunc(spec.InitContainers, func(c corev1.Container) bool { return c.Name == api.ContainerBarrier })
}

// pastBarrier is true where a Pod's barrier has let it through. A Pod without a barrier has passed it once its ScyllaDB has been started.
func pastBarrier(pod *corev1.Pod) bool {
	if !HasBarrier(&pod.Spec) {
		return started(pod)
	}
	st := containerStatus(pod.Status.InitContainerStatuses, api.ContainerBarrier)
	return st != nil && st.State.Terminated != nil && st.State.Terminated.ExitCode == 0
}

// flagPolicy is the barrier's flag.
const flagPolicy = "--policy"

// DefaultPolicy is the policy of a member's barrier without the flag. The Scylla Operator gives no permits, so its members use the reports alone; so do members that another
// report than their cluster's judges, because that has no permits for them.
func (c *Cluster) DefaultPolicy(member string) api.Policy {
	if svc := c.ix.services[member]; svc != nil && (OwnedByOperator(svc) || c.overrides(svc)) {
		return api.PolicyReports
	}
	return api.PolicyPermits
}

// overrides reports whether a member's Service names the report by which the cluster is judged, and that is not the cluster's own. The word of another object is not enough for
// another policy.
func (c *Cluster) overrides(svc *corev1.Service) bool {
	return c.OverrideRef != "" && c.OverrideRef != c.Name && svc.Annotations[api.AnnotationStatusReportOverrideRef] == c.OverrideRef
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

// podSpec is the spec of the member's Pod, or without a Pod that of its StatefulSet; nil without either.
func (c *Cluster) podSpec(member string) *corev1.PodSpec {
	if p := c.ix.pods[member]; p != nil {
		return &p.Spec
	}
	if set := c.ix.set(member); set != nil {
		return &set.Spec.Template.Spec
	}
	return nil
}

// permission is the member's permit in the controller's view, as far as it is known outside its Pod; nil where its barrier requires none, or has let it through. The view's age is
// not known here: only a process that watches the view advance knows it.
func (c *Cluster) permission(member string) *bootstrap.Permission {
	spec := c.podSpec(member)
	if spec == nil || !goesByPermits(spec, c.DefaultPolicy(member)) {
		return nil
	}
	if pod := c.ix.pods[member]; pod != nil && pastBarrier(pod) {
		return nil // a node that has been started needs no permit
	}
	p := &bootstrap.Permission{Claim: c.ix.pvcName(member)}
	p.From(c.StatusReport, c.Name)
	if claim := c.ix.pvcs[p.Claim]; claim != nil && claim.UID != "" {
		p.ClaimKnown, p.ClaimUID = true, claim.UID
	}
	if pod := c.ix.pods[member]; pod != nil {
		p.PodUID = pod.UID
	}
	return p
}

// ClaimName is the name of the member's data claim, whether or not it exists.
func (c *Cluster) ClaimName(member string) string { return c.ix.pvcName(member) }
