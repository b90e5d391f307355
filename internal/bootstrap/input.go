// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"fmt"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Of returns the input of a member's decision from the API. The caller adds the facts that only the
// Pod has (Disk, DiskDetail, Banned). It returns *cluster.NotFoundError for a member that is
// unknown or has no Service.
func Of(c *cluster.Cluster, member string) (Input, error) {
	m := c.Member(member)
	if m == nil || m.Service == nil {
		return Input{}, c.NoService(member)
	}
	self := m.ByService()
	if err := c.KnowsEnough(self); err != nil {
		return Input{},
			fmt.Errorf(
				"judge member %s/%s: without any status report it cannot be distinguished from the first node: %w",
				c.Namespace, member, err)
	}
	in := Input{
		Member: m, DiskDetail: words.New(words.DataDirectoryOfPod),
		Matrix: c.Matrix(), Reports: c.ReportCount(), NotVerified: c.Matrix().Options().NotVerified,
		AllowNonReporting: m.AllowsNonReporting(),
		Peers:             slices.DeleteFunc(c.Serviced(), func(p *cluster.Member) bool { return p == m }),
		Rollouts:          maintenance.Rollouts(c, m), Version: m.ImageVersion(),
		Held: held(c, m), LastListedBy: c.LastListedBy(self.HostID), Permission: permission(c, m),
		FormHolder:  c.FormHolder(),
		Initialized: c.StatusReport != nil && c.StatusReport.Status.Initialized, Doubts: c.Doubts(member),
		VolumeUID: m.VolumeUID(), Banned: m.Banned(), Ran: m.RanAs(), SharedBy: c.SharedBy(member),
	}
	in.ControllerSilent, in.ControllerSilentSince = c.ControllerSilent()
	in.Unprotected = c.UnprotectedBy()
	if m.EmptyVolume() {
		in.Volume = VolumeEmpty // found by its barrier
	}
	if in.Permission == nil && m.JudgedByOther() {
		in.JudgedBy = c.OverrideRef
	}
	return in, nil
}

// VerdictOf returns the decision of the member's barrier, as far as the API shows it. Errors: as
// Of.
func VerdictOf(c *cluster.Cluster, member string) (Verdict, error) {
	in, err := Of(c, member)
	if err != nil {
		return Verdict{}, err
	}
	barrier := in.Member.Barrier()
	if in.AtBarrier = barrier.AtBarrier(); barrier.Refused {
		in.Refused = barrier.Message
	}
	return Decide(in), nil
}

// permission returns the member's permit in the controller's view, as far as the API shows it; nil
// if it needs none. The view's age is unknown here: only a process that watches the view advance
// can measure it.
func permission(c *cluster.Cluster, m *cluster.Member) *Permission {
	if !m.NeedsPermit() {
		return nil
	}
	p := &Permission{Claim: m.PVCName}
	p.From(c.StatusReport, c.Name)
	if m.PVC != nil && m.PVC.UID != "" {
		p.ClaimKnown, p.ClaimUID = true, m.PVC.UID
	}
	if m.Pod != nil {
		p.PodUID = m.Pod.UID
	}
	return p
}
