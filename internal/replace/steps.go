// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Allowed returns the step, or ReadNow if the step cannot be undone and the objects are out of date
// (Cluster.Old).
func Allowed(c *cluster.Cluster, step words.Message) words.Message {
	if !c.Old || !evidence.Irreversible(step) {
		return step
	}
	return ReadNow(c)
}

// ReadNow is the step if the objects are out of date.
func ReadNow(c *cluster.Cluster) words.Message {
	return evidence.Do(words.New(words.ReadNow), evidence.Facts{"namespace": c.Namespace, "cluster": c.Name})
}

// WhileCause is the step for a member whose node is DOWN for a cause that a replacement does not
// remove; zero without one. It never changes a StatefulSet of the Scylla Operator.
func WhileCause(c *cluster.Cluster, member string, cause cluster.Cause, object string) words.Message {
	f := evidence.Facts{
		"namespace": c.Namespace, "cluster": c.Name, "member": member, "pod": member,
		"container": c.Containers().Container(member), "log": Log(c, member), "lower": object, "kubernetesNode": object,
	}
	switch cause {
	case cluster.CauseDecommissionLabel:
		return evidence.Do(words.New(words.SeeDecommissioned), f)
	case cluster.CauseLeaving:
		return Waited(evidence.Do(words.New(words.WaitForLeaving), f), leavingFor(c, member), f)
	case cluster.CauseLeftOut:
		for _, m := range c.Members() {
			if m.State == cluster.MemberNewcomer && !m.PastBarrier() {
				f["target"], f["uid"] = m.Member, string(m.VolumeUID())
				break
			}
		}
		return evidence.Do(words.New(words.ForcePastZeroToken, "node", member), f)
	case cluster.CauseOrder:
		f["statefulSet"] = c.StatefulSet(member).Name
		step := words.New(words.LowerOrdinalFirst, "statefulSet", f["statefulSet"], "node", member, "lower", object)
		switch lower := c.Member(object); {
		case heldForGood(c, member) && !c.Operator && !c.Offline: // a file can lack its Pod
			step.Code = words.ApplyParallel
		case lower != nil && lower.WaitsInBarrier():
			f["show"] = "barrier"
		}
		return evidence.Do(step, f)
	case cluster.CauseKubernetesNode:
		return evidence.Do(words.New(words.MendKubernetesNode, "kubernetesNode", object), f)
	case cluster.CauseCordon:
		return evidence.Do(words.New(words.UncordonNode, "kubernetesNode", object), f)
	case cluster.CauseDataGone:
		return BeginAnew(c)
	case cluster.CausePod, cluster.CauseUnscheduled:
		return podStep(c, member, f)
	case cluster.CauseHalted:
		return HaltedStep(c, member, c.Halted(member).Code)
	case cluster.CauseStarting:
		return StartStep(c, member)
	}
	return words.Message{}
}

// heldForGood reports whether the member's Pod is not created before the Pod of a lower ordinal is
// Ready, which waits for the member: in its barrier or launcher, or for its own replacement. Its
// volume is gone then, and no node is replaced while another one is DOWN. Neither can start.
func heldForGood(c *cluster.Cluster, member string) bool {
	lower := c.HeldByOrder(member)
	if !c.VolumeGone(lower).IsZero() || findsNoSeed(c, lower) {
		return true
	}
	if m := c.Member(lower); m == nil || !m.WaitsInBarrier() {
		return false
	}
	v, err := bootstrap.VerdictOf(c, lower)
	about := func(b matrix.Blocker) bool { return b.Observed.Member == member }
	return err == nil && slices.ContainsFunc(v.Blockers, about)
}

// findsNoSeed reports whether the launcher of a Pod finds no seed on any volume, because the Pod of
// each other node that has joined is not created before this one is Ready.
func findsNoSeed(c *cluster.Cluster, member string) bool {
	choice, launched := bootstrap.SeedChoiceOf(c, member, bootstrap.VolumeUsed)
	return launched && c.Pod(member) != nil && choice.Code == words.SeedsNotUp &&
		!slices.ContainsFunc(choice.Names, func(other string) bool { return c.HeldByOrder(other) != member })
}

// OfCauses are the steps that WhileCause can return.
func OfCauses() []words.Code {
	return slices.Concat([]words.Code{
		words.SeeDecommissioned, words.WaitForLeaving, words.ForcePastZeroToken, words.LowerOrdinalFirst,
		words.ApplyParallel, words.MendKubernetesNode, words.UncordonNode,
		words.BeginAnew, words.WaitForStart, words.SeeBarrier, words.SeeSlowStart,
	}, OfPods(), OfHalted())
}

// Log returns the fact "log" of a member, for commands that show its log: without a Pod, what
// creates it.
func Log(c *cluster.Cluster, member string) string {
	pod := c.Pod(member)
	if set := c.StatefulSet(member); pod == nil && set != nil && c.KnowsPods() {
		return "describe statefulset " + set.Name
	}
	return strings.Join(logArgs(cmp.Or(member, "POD"), cluster.LogOf(pod, c.Containers().Container(member))), " ")
}

// ReporterLog is Log for the member's reporter.
func ReporterLog(c *cluster.Cluster, member string) string {
	pod := c.Pod(member)
	if log := Log(c, member); pod == nil && strings.HasPrefix(log, "describe") {
		return log
	}
	return strings.Join(logArgs(cmp.Or(member, "POD"), cluster.LogOfContainer(pod, api.ContainerReporter)), " ")
}

// logOf is the command that shows the log of the new node of a replacement.
func logOf(in *Input) words.Command {
	pod := in.Self.Pod
	return words.Kubectl(in.Namespace, logArgs(pod.Name, cluster.LogOf(pod, in.Containers.Container(pod.Name)))...)
}

func logArgs(pod string, l cluster.Log) []string {
	switch {
	case l.None:
		return []string{"describe", "pod", pod}
	case l.Previous:
		return []string{"logs", pod, "-c", l.Container, "--previous"}
	}
	return []string{"logs", pod, "-c", l.Container}
}

// BeginAnew is the decision for a person after the data of a whole cluster is lost. The Scylla
// Operator has no command for it.
func BeginAnew(c *cluster.Cluster) words.Message {
	step := words.New(words.BeginAnew)
	if c.Operator {
		return step
	}
	return evidence.Do(step, evidence.Facts{"namespace": c.Namespace, "cluster": c.Name})
}

// HaltedStep is the step for a member whose ScyllaDB does not recover, for the reason why.
func HaltedStep(c *cluster.Cluster, member string, why words.Code) words.Message {
	f := evidence.Facts{"namespace": c.Namespace, "pod": member, "log": Log(c, member)}
	switch why {
	case words.ScyllaDBDrained:
		if !c.KeepsClaims(member) {
			return words.New(words.RestartDrained)
		}
		return evidence.Do(words.New(words.RestartDrained), f)
	case words.ScyllaDBInMaintenance:
		return evidence.Do(words.New(words.EndMaintenance), f)
	}
	return evidence.Do(words.New(words.SeeHaltedScyllaDB), f)
}

// OfHalted are the steps that HaltedStep can return.
func OfHalted() []words.Code {
	return []words.Code{words.RestartDrained, words.EndMaintenance, words.SeeHaltedScyllaDB}
}

// WhileAway is the step for a node whose whole datacenter or rack is DOWN; else zero.
func WhileAway(m *matrix.Matrix, id hostid.ID) words.Message {
	switch dc, rack, away := m.PlaceAway(id); {
	case !away:
		return words.Message{}
	case rack == "":
		return words.New(words.SeeDatacenter, "datacenter", dc)
	default:
		return words.New(words.SeeRack, "datacenter", dc, "rack", rack)
	}
}

// IsElsewhere reports whether a host ID must not be removed because it is elsewhere: the controller
// could be given access to that datacenter.
func IsElsewhere(why words.Message) bool {
	return why.Code == words.StrangerElsewhere || why.Code == words.StrangerRecorded
}
