// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Operation modes of a node that runs and serves no requests (storage_service.hh,
// node_external_status).
const (
	modeDrained     = "DRAINED"
	modeMaintenance = "MAINTENANCE"
)

// Halted returns why the ScyllaDB of a member does not start without help although its container
// runs; zero for any other member. It uses supervisord's answer, ScyllaDB's operation mode and the
// time. With the Scylla Operator there is no answer of supervisord: a failed probe ends the
// container, so Halted does not apply.
func (c *Cluster) Halted(member string) words.Message {
	if why := c.Paused(member); !why.IsZero() {
		return why
	}
	if why := c.ended(member); !why.IsZero() {
		return why
	}
	if why := c.unready(member); !why.IsZero() {
		return why
	}
	return c.startsLong(member)
}

// unready returns that a member's container has been running for longer than a start takes, and
// that its ScyllaDB was Ready in it and no longer responds, or has never been Ready as far as is
// known: its process may have been ended and started again in the container.
func (c *Cluster) unready(member string) words.Message {
	st, pod := c.container(member), c.ix.pods[member]
	if st == nil || serving(pod) || c.TakenAt.IsZero() || c.mode(member) != "" || !c.hasJoinedByService(member) {
		return words.Message{}
	}
	begun, since := st.State.Running.StartedAt.Time, podTransition(pod, corev1.PodReady)
	if passed := podCondition(pod, corev1.PodInitialized); passed != nil && passed.LastTransitionTime.After(begun) {
		begun = passed.LastTransitionTime.Time // the barrier is an init container
	}
	runs := c.TakenAt.Sub(begun)
	if begun.IsZero() || runs < LimitStart || !since.IsZero() && since.Sub(begun) < time.Minute {
		return words.Message{}
	}
	return words.New(words.ScyllaDBUnready, "for", runs.Truncate(time.Second))
}

// Paused is Halted for a node that responds: it was drained, or is in maintenance mode.
func (c *Cluster) Paused(member string) words.Message {
	if c.container(member) == nil {
		return words.Message{}
	}
	switch c.mode(member) {
	case modeDrained:
		return words.New(words.ScyllaDBDrained)
	case modeMaintenance:
		return words.New(words.ScyllaDBInMaintenance)
	}
	return words.Message{}
}

// KeepsClaims reports whether the PVCs of a member are known and none is being deleted. Such a PVC
// is deleted with its Pod.
func (c *Cluster) KeepsClaims(member string) bool {
	claims := c.Claims(member)
	return len(claims) > 0 &&
		!slices.ContainsFunc(claims, func(p *corev1.PersistentVolumeClaim) bool { return p.DeletionTimestamp != nil })
}

// container returns the status of the member's ScyllaDB container if it runs on a Kubernetes node
// that responds; nil otherwise, and while its launcher waits, before ScyllaDB.
func (c *Cluster) container(member string) *corev1.ContainerStatus {
	pod := c.ix.pods[member]
	if pod == nil || pod.DeletionTimestamp != nil || c.NodeLost(pod) || waitsInLauncher(pod) {
		return nil
	}
	if st := ScyllaDBStatus(pod); st != nil && st.State.Running != nil {
		return st
	}
	return nil
}

// fresh returns the row of the member's Pod while its reporter runs, nil otherwise.
func (c *Cluster) fresh(member string) *api.NodeStatusReport {
	said := c.annotations[member].report
	if said == nil {
		return nil
	}
	if stale, _ := c.rowStale(c.ix.pods[member]); !stale.IsZero() {
		return nil
	}
	return said
}

// mode returns the operation mode that the node reports now; empty if it reports none.
func (c *Cluster) mode(member string) string {
	if live := c.Live[member]; live != nil && live.OperationMode != "" {
		return live.OperationMode
	}
	if said := c.fresh(member); said != nil {
		return said.OperationMode
	}
	return ""
}

// process returns how the member's ScyllaDB ended within the running container; nil if it has not
// ended or this is unknown. With hostNetwork, the supervisord of another Pod may have answered. The
// kubelet and supervisord use the same clock.
func (c *Cluster) process(member string) *api.ScyllaDBProcess {
	st, said := c.container(member), c.fresh(member)
	if live := c.Live[member]; st == nil || said == nil || said.Process == nil || c.ix.pods[member].Spec.HostNetwork ||
		live != nil && live.Error == nil {
		return nil
	}
	if p := said.Process; p.Ended == nil || !p.Ended.Time.Before(st.State.Running.StartedAt.Time) {
		return p
	}
	return nil // the container was restarted since
}

// ended returns the process as a reason; zero if it has not ended.
func (c *Cluster) ended(member string) words.Message {
	p := c.process(member)
	if p == nil {
		return words.Message{}
	}
	m := words.New(words.ScyllaDBStartsOver)
	if p.State == api.ProcessFatal || p.State == api.ProcessStopped ||
		p.State == api.ProcessExited && p.ExitStatus != nil && *p.ExitStatus == 0 {
		m = words.New(words.ScyllaDBEnded)
	}
	m.Params = words.Params{}
	switch {
	case p.ExitStatus == nil:
	case *p.ExitStatus < 0:
		m.Params["how"] = words.New(words.EndedBySignal)
	default:
		m.Params["how"] = words.New(words.EndedWithStatus, "status", *p.ExitStatus)
	}
	if p.Ended != nil {
		m.Params["ended"] = p.Ended.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	return m
}

// startsLong returns a reason if a start takes longer than a node may be DOWN before it counts as
// dead. A new node waits for its turn and its data for any time, so it is left out. All others are
// members or do not respond.
func (c *Cluster) startsLong(member string) words.Message {
	pod := c.ix.pods[member]
	if c.container(member) == nil || serving(pod) || c.TakenAt.IsZero() {
		return words.Message{}
	}
	since := podTransition(pod, corev1.PodReady)
	if begun := podCondition(pod, corev1.PodInitialized); begun != nil && !since.IsZero() &&
		begun.LastTransitionTime.After(since) {
		since = begun.LastTransitionTime.Time // the barrier is an init container
	}
	took := c.TakenAt.Sub(since)
	if since.IsZero() || took < c.HealthPolicy().Dead.Duration {
		return words.Message{}
	}
	switch mode := c.mode(member); {
	case mode == "":
	case matrix.StateOfMode(mode) != matrix.StateNormal, newcomerMode(mode) && !c.hasJoinedByService(member):
		return words.Message{}
	}
	return words.New(words.ScyllaDBStartsLong, "for", took.Truncate(time.Second))
}

func (c *Cluster) hasJoinedByService(member string) bool {
	j := joined(c.ix.services[member])
	return j != nil && *j
}

// Beside returns the blockers of the cluster that do not block new nodes: nodes that do not start,
// volumes that are being deleted, and wrong labels.
func (c *Cluster) Beside() []matrix.Blocker {
	return slices.Concat(c.haltedBlockers(), c.claimBlockers(), c.labelBlockers(), c.decommissionBlockers())
}

// haltedBlockers returns the new nodes that do not start without help, if no row shows this. A
// cluster with one is not healthy.
func (c *Cluster) haltedBlockers() []matrix.Blocker {
	var out []matrix.Blocker
	for _, name := range c.Newcomers() {
		ref := c.ix.refs[name]
		if at, ok := c.all.Index(ref.HostID); !c.banned(name).IsZero() || ok && c.all.Nodes()[at].SeenDown > 0 {
			continue
		}
		if why := c.Halted(name); !why.IsZero() {
			out = append(out, matrix.Blocker{Reason: words.ScyllaDBHalted, Observed: ref, Cause: why})
		}
	}
	return out
}
