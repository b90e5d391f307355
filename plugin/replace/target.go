// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"context"
	"fmt"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// subject is the member to act on.
type subject struct {
	reading *replace.Reading
	in      *replace.Input
	key     cluster.Key
}

func (s *subject) member() string { return s.in.Self.Member }

// leastPrefix is the shortest prefix of a host ID for a deletion.
const leastPrefix = 8

// find reads the member's cluster and finds the target. A member whose node was replaced is also
// found by its original host ID.
func (o *options) find(ctx context.Context) (*subject, error) {
	s, m, err := o.reader.Member(ctx, o.target)
	if err != nil {
		return nil, err
	}
	if m.Service == nil {
		return nil, o.noService(s, m)
	}
	typed := cluster.MemberName(o.target)
	if len(typed) < leastPrefix && typed != m.Member && !o.list &&
		(m.HostID.Begins(typed) || m.Replacing.Begins(typed)) {
		return nil,
			exit.Refusedf("host ID prefix %q is too short: specify at least %d characters of %s, or use the name %s",
				o.target, leastPrefix, m.HostID, m.Member)
	}
	r := replace.Read(s)
	return &subject{reading: r, in: r.Input(m.Member, o.reader.Now(), o.newID()), key: s.Key}, nil
}

// noService returns the error for a target without member, usually an orphaned host ID.
func (o *options) noService(s *cluster.Cluster, m cluster.Member) error {
	if m.HostID == "" {
		return exit.WithHint(exit.Refusedf("%s/%s has no member Service", s.Namespace, o.target),
			"the controller creates member Services: check that it is running", words.Scylla(s.Namespace, "status")...)
	}
	for _, g := range replace.Read(s).Ghosts(o.reader.Now()) {
		if g.HostID != m.HostID {
			continue
		}
		hint := o.d.Words().Text(g.Why)
		if g.Command != nil {
			if hint != "" {
				hint += "; then "
			}
			hint += "remove it from the cluster: " + o.d.Words().Shell(g.Command)
		}
		return exit.WithHint(exit.Refusedf("no member has host ID %s, so it cannot be replaced", m.HostID), hint)
	}
	return exit.Refusedf("no member here has host ID %s, so it cannot be replaced", m.HostID)
}

// nameDead converts the names in --ignore-dead to host IDs. A check verifies that they are members
// and DOWN.
func (o *options) nameDead(s *subject) error {
	for i, raw := range o.ignoreDead {
		id, err := hostid.Parse(raw)
		if err == nil {
			o.ignoreDead[i] = string(id)
			continue
		}
		m, err := s.reading.Cluster.ResolveTarget(raw)
		if err != nil {
			return exit.Refused(fmt.Errorf("--ignore-dead: %w", err))
		}
		if m.HostID == "" {
			return exit.Refusedf("--ignore-dead: the host ID of %s is unknown: specify the host ID", raw)
		}
		o.ignoreDead[i] = string(m.HostID)
	}
	if target := replace.MakePlan(*s.in).Original; slices.Contains(o.ignoreDead, string(target)) {
		return exit.Refusedf("--ignore-dead: %s is the node to replace and cannot be ignored", target)
	}
	return nil
}
