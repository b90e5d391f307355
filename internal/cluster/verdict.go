// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// BootstrapInput is the decision's input as far as the API has it. The caller adds the facts that only the Pod has (Disk, DiskDetail, Banned). Error: *NotFoundError for an unknown
// member.
func (c *Cluster) BootstrapInput(member string) (bootstrap.Input, error) {
	svc := c.ix.services[member]
	if svc == nil {
		e := &NotFoundError{What: "member", Name: member, In: "cluster " + c.Key.String(), Known: len(c.ix.refs)}
		if _, ok := c.ix.refs[member]; ok {
			e.Cure = "its Pod exists and its member Service does not; the controller makes it, see its log"
		} else {
			e.Nearest = Nearest(member, c.ix.names())
			e.Cure = "the status lists the members"
		}
		return bootstrap.Input{}, e
	}
	self, place := c.ix.refs[member], bootstrap.Place(member, svc.Labels)
	self.Datacenter, self.Rack = place.Datacenter, place.Rack // its barrier reads its Service's labels alone, not its Pod's
	in := bootstrap.Input{
		Self: self, Namespace: c.Namespace, SelfJoined: joined(svc),
		ServiceLabels: svc.Labels, ServiceAnnotations: svc.Annotations,
		DiskDetail: words.New(words.DataDirectoryOfPod),
		Matrix:     c.all, Reports: c.reportCount(), NotVerified: c.all.Options().NotVerified,
		AllowNonReporting: c.allowNonReporting(member),
		Created:           svc.CreationTimestamp.Time, Rollouts: c.rollouts(svc), Version: c.imageVersion(member),
		OwnAddresses: addressesToReplace(svc), ByHostIDAlone: c.Operator,
	}
	if err := c.knowsEnough(in.Self); err != nil {
		return bootstrap.Input{}, fmt.Errorf("judge member %s/%s: without any row it cannot be told from the first node of all: %w", c.Namespace, member, err)
	}
	in.Peers = slices.DeleteFunc(c.Peers(), func(p bootstrap.Peer) bool { return p.Member == member })
	in.ControllerSilent, in.ControllerSilentSince = c.ControllerSilent()
	if pod := c.ix.pods[member]; pod != nil {
		in.PodUID = string(pod.UID)
	}
	in.Held = c.held(member)
	if pod := c.ix.pods[member]; pod != nil {
		if w := barrierWait(pod); w != nil && w.EmptyVolume {
			in.Volume = bootstrap.VolumeEmpty // as its barrier has found
		}
	}
	in.LastListedBy = c.lastListedBy(in.Self.HostID)
	in.Permission = c.permission(member)
	if in.Permission == nil && c.overrides(svc) {
		in.JudgedBy = c.OverrideRef
	}
	in.Initialized = c.StatusReport != nil && c.StatusReport.Status.Initialized
	in.Doubts = c.doubts(member)
	in.Banned = c.banned(member)
	return in, nil
}

// Verdict is the decision of the member's barrier, as far as it is known outside its Pod. Error: as BootstrapInput.
func (c *Cluster) Verdict(member string) (bootstrap.Verdict, error) {
	in, err := c.BootstrapInput(member)
	if err != nil {
		return bootstrap.Verdict{}, err
	}
	return bootstrap.Decide(in), nil
}

// Health is the health of the cluster for every display, condition and metric: a cluster in which a newcomer's barrier has to wait is not healthy.
type Health struct {
	// Healthy is true when there is at least one node, every one is UP in every row, a newcomer would have nothing to wait for, and no node's volume is deleted with its Pod.
	Healthy bool
	// Nodes is how many nodes are judged, Up how many of them every row has UP, Total how many blockers there are, including those that one blocker stands for.
	Nodes, Up, Total int
	// Blockers, the gravest first.
	Blockers []matrix.Blocker
}

// Health judges the cluster. The list of blockers is the caller's own.
func (c *Cluster) Health() Health {
	h := c.health()
	h.Blockers = slices.Clone(h.Blockers)
	return h
}

func (c *Cluster) makeHealth() Health {
	m := c.all
	silent, since := c.ControllerSilent()
	outdated := append(bootstrap.Outdated(m, c.Peers(), silent, since), bootstrap.RolloutBlockers(c.rollouts(nil))...)
	outdated = append(outdated, c.doubts("")...)
	beside := slices.Concat(c.bannedBlockers(), c.haltedBlockers(), c.claimBlockers(), c.labelBlockers())
	h := m.Health()
	out := Health{Healthy: h.AllUp && len(outdated)+len(beside) == 0, Nodes: h.Nodes, Up: h.Up, Total: h.Total + len(outdated) + len(beside)}
	out.Blockers = slices.Concat(h.Blockers, outdated, beside)
	matrix.SortBlockers(out.Blockers)
	for _, b := range outdated {
		if _, ok := m.Index(b.Observed.HostID); !ok && b.Observed.HostID != "" {
			out.Nodes++ // it is no node of the matrix
		}
	}
	return out
}

// ControllerSilent names our controller, and since when it has been silent, where the rows are its reports and it no longer updates them; zero otherwise, also where its Lease
// could not be read.
func (c *Cluster) ControllerSilent() (controller words.Message, since time.Time) {
	if c.Source != SourceReport || !c.Ours() || c.Lease == nil || c.TakenAt.IsZero() {
		return words.Message{}, time.Time{}
	}
	l := c.LeaseState()
	switch {
	case !l.Silent:
		return words.Message{}, time.Time{}
	case l.NotKept:
		return words.New(words.ReportsNotKept, "controller", l.Holder, "lease", c.Lease.Namespace+"/"+c.Lease.Name), time.Time{}
	}
	return words.New(words.ControllerNamed, "controller", cmp.Or(l.Holder, c.Lease.Name)), l.Since
}

// Peers are the members by their Services, including those that have not joined. The caller may change the list.
func (c *Cluster) Peers() []bootstrap.Peer { return slices.Clone(c.peersOf()) }

func (c *Cluster) makePeers() []bootstrap.Peer {
	peers := make([]bootstrap.Peer, len(c.Services))
	for i := range c.Services {
		v := &c.Services[i]
		peers[i] = bootstrap.Peer{
			Ref: c.ix.refs[v.Name], Joined: joined(v), Created: v.CreationTimestamp.Time,
			// While its node is replaced the Pod is the newcomer's, and is no evidence about the recorded node.
			Starting: started(c.ix.pods[v.Name]), Waiting: c.ix.pods[v.Name] != nil && waitsInBarrier(c.ix.pods[v.Name]),
			Image: runningImage(c.ix.pods[v.Name]),
			Idle: v.Labels[api.LabelDecommissioned] == api.DecommissionedDone ||
				c.KnowsPods() && !serving(c.ix.pods[v.Name]) && v.Labels[api.LabelReplacingNodeHostID] == "",
		}
	}
	return peers
}

// knowsEnough is an error when there is no evidence of a cluster and something that could have held some was not readable: then a decision would take ignorance for a new cluster.
func (c *Cluster) knowsEnough(self matrix.Ref) error {
	for i := range c.rows {
		if placeKey(c.rows[i].Reporter) != placeKey(self) {
			return nil
		}
	}
	var errs []error
	for _, p := range c.Problems {
		switch p.Resource {
		case ResourceServices, ResourceReports, ResourceStatusReports:
			if p.Kind != ProblemNotInstalled {
				errs = append(errs, p)
			}
		}
	}
	return errors.Join(errs...)
}

// Ours is true when our controller writes the reports, or will: where there is none yet, and our controller makes the member Services. A new cluster has no other sign of that.
func (c *Cluster) Ours() bool {
	if len(c.Reports) == 0 && c.StatusReport == nil {
		return slices.ContainsFunc(c.Services, func(s corev1.Service) bool { return Managed(&s) })
	}
	return slices.ContainsFunc(c.Reports, func(r api.ScyllaDBDatacenterNodesStatusReport) bool {
		return r.Labels[api.LabelManagedBy] == api.ManagedByUs
	}) || c.StatusReport != nil && c.StatusReport.Labels[api.LabelManagedBy] == api.ManagedByUs
}

// allowNonReporting reads the flag of the member's own barrier.
func (c *Cluster) allowNonReporting(member string) bool {
	spec := c.podSpec(member)
	return spec != nil && lenientBarrier(spec)
}
