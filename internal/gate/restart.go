// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Restart decides by a definite state of the disk, which needs no other source: a restart must work
// without the API server. ok is false if the disk decides nothing. A start on another member's
// volume is not a restart; unverified is why the owner of the volume could not be read.
func (g *Gate) Restart() (v bootstrap.Verdict, ok bool, unverified *matrix.Blocker) {
	if g.Disk != bootstrap.BootstrappedYes && g.Disk != bootstrap.BootstrappedDecommissioned {
		return bootstrap.Verdict{}, false, nil
	}
	v = bootstrap.Decide(g.unread())
	if v.Satisfied && g.VolumeHostID != "" {
		in, x := g.owner()
		if unverified = x; x == nil {
			if owned := bootstrap.Decide(in); owned.Decision == bootstrap.DecisionRefuse {
				v = owned
			}
		}
	}
	if v.Decision == bootstrap.DecisionRefuse {
		g.volumeUID, _ = g.readVolumeUID(nil) // the step deletes this volume
	}
	return v, v.Satisfied || v.Decision == bootstrap.DecisionRefuse, unverified
}

// owner returns the input that compares the volume's host ID with the records of all members. If
// the member's cluster is unknown, these are all member Services of the namespace.
func (g *Gate) owner() (bootstrap.Input, *matrix.Blocker) {
	c, trouble := g.reads.Cluster()
	if trouble == nil {
		if in, err := g.Input(c); err == nil {
			return in, nil
		}
	} else if trouble.Reason == words.APIUnreachable {
		return bootstrap.Input{}, trouble
	}
	all, trouble := g.reads.Neighbours()
	if trouble != nil {
		return bootstrap.Input{}, trouble
	}
	in := g.unread()
	in.VolumeHostID = g.VolumeHostID
	for i := range all.Services {
		s := &all.Services[i]
		m := &cluster.Member{Ref: cluster.Place(s.Name, s.Labels), Namespace: g.Namespace, Service: s}
		switch {
		case s.Name == g.Member:
			in.Member = m
		case s.Labels[api.LabelServiceType] == api.ServiceTypeMember:
			in.Peers = append(in.Peers, m)
		}
	}
	return in, nil
}

// unread is the input without any reading.
func (g *Gate) unread() bootstrap.Input {
	return bootstrap.Input{Member: &cluster.Member{Ref: cluster.Place(g.Member, nil), Namespace: g.Namespace},
		Disk: g.Disk, DiskDetail: g.DiskDetail}
}
