// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"fmt"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const (
	// leaderless is how long rows may name no topology coordinator: an election takes seconds.
	leaderless = time.Minute
	// restarted is the time in which nodes that were restarted together are UP again.
	restarted = 10 * time.Minute
)

// handbook is ScyllaDB's manual, with a folder for each branch; lostNodes is its page about lost
// nodes. The procedure of 2025.1 is that of every version before 2025.2.
const (
	handbook  = "https://docs.scylladb.com/manual/"
	lostNodes = "troubleshooting/handling-node-failures.html"
)

// majority reports that group 0 has lost its majority: half of the nodes or more are DOWN, and the
// rows of the others have named no topology coordinator for some time. A count alone proves
// nothing, because at most five nodes vote since 2025.2. A leader without a majority steps down.
func (s *scene) majority() {
	total, down := 0, 0
	for i := range s.m.Nodes() {
		n := &s.m.Nodes()[i]
		if !n.Joined || n.Removed {
			continue
		}
		total++
		if n.SeenUp == 0 && n.SeenDown > 0 && (n.DownSince.IsZero() || s.c.TakenAt.Sub(n.DownSince) >= restarted) {
			down++
		}
	}
	if down == 0 || 2*down < total || s.m.Coordinator().Rows > 0 {
		return
	}
	witness, version := s.leaderless()
	if witness == nil {
		return
	}
	f := s.asker.factsOf(witness.Member)
	step := words.New(words.BringBackMajority, "page", handbook+
		fmt.Sprintf("branch-%d.%d/", version.Major, version.Minor)+lostNodes)
	if version.RecoversByLeader() != release.Yes {
		step = words.New(words.BringBackMajorityOld, "page", handbook+"branch-2025.1/"+lostNodes)
	}
	s.remark(Finding{Kind: MajorityLost, Message: words.New(words.FindingMajorityLost, "down", down, "total", total),
		Step: evidence.Do(step, f)})
}

// leaderless returns a NORMAL member whose row could name a topology coordinator, with its version;
// nil if there is none, or if such a row is too young.
func (s *scene) leaderless() (witness *cluster.Member, version release.Version) {
	members := s.c.Members()
	for i := range members {
		m := &members[i]
		said := m.Says()
		v, _, err := release.Effective(said.ScyllaVersion, "")
		if err != nil || !m.Reported || !m.RowStale.IsZero() || said.OperationMode != "NORMAL" || said.LegacyTopology ||
			v.KnowsTopologyByRaft() != release.Yes {
			continue
		}
		if since := m.RowUnchangedSince(); !since.IsZero() && s.c.TakenAt.Sub(since) < leaderless {
			return nil, release.Version{}
		}
		if witness == nil {
			witness, version = m, v
		}
	}
	return witness, version
}
