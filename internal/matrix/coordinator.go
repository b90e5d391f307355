// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"cmp"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/code"
	"github.com/kubectl-scylla/kubectl-scylla/internal/hostid"
)

// What is known of the topology coordinator.
const (
	FactCoordinator   code.Code = "TopologyCoordinator"          // node; named and rows where not every row names it
	FactNoCoordinator code.Code = "TopologyCoordinatorNotAgreed" // rows
)

// Coordinator is the topology coordinator: the leader of group 0, whose own view alone decides a join.
type Coordinator struct {
	Ref
	// Named is how many rows name it, Rows how many name anybody: fewer than all while another is being elected, or where nodes are out of touch.
	Named int `json:"named"`
	Rows  int `json:"rows"`
}

// Message says who it is; zero where no row says anything.
func (c Coordinator) Message() code.Message {
	switch {
	case c.Rows == 0:
		return code.Message{}
	case c.HostID == "":
		return code.New(FactNoCoordinator, "rows", c.Rows)
	case c.Named < c.Rows:
		return code.New(FactCoordinator, "node", c.Name(), "named", c.Named, "rows", c.Rows)
	}
	return code.New(FactCoordinator, "node", c.Name())
}

// Coordinator is the node that most rows name as topology coordinator, of two that are named as often the one that names itself: a leader that was
// replaced is remembered by those who have not heard of it. Zero where no row that counts names one, as before ScyllaDB 6.0, and where that does not tell.
func (m *Matrix) Coordinator() Coordinator { return m.coordinator }

// elect finds the coordinator by the lines that count.
func (m *Matrix) elect(lines []*line) Coordinator {
	type candidate struct {
		id     hostid.ID
		named  int
		itself bool
	}
	var all []candidate
	rows := 0
	for _, l := range lines {
		id := l.row.Coordinator
		if id == "" {
			continue
		}
		rows++
		i := slices.IndexFunc(all, func(c candidate) bool { return c.id == id })
		if i < 0 {
			i = len(all)
			all = append(all, candidate{id: id})
		}
		all[i].named++
		all[i].itself = all[i].itself || m.nodes[l.node].HostID == id
	}
	if rows == 0 {
		return Coordinator{}
	}
	graver := func(a, b candidate) int {
		if c := cmp.Compare(b.named, a.named); c != 0 || a.itself == b.itself {
			return c
		}
		if a.itself {
			return -1
		}
		return 1
	}
	slices.SortStableFunc(all, graver)
	if len(all) > 1 && graver(all[0], all[1]) == 0 {
		return Coordinator{Rows: rows}
	}
	ref := m.names[all[0].id]
	if i, ok := m.index[all[0].id]; ok {
		ref = m.nodes[i].Ref
	}
	ref.HostID = all[0].id
	return Coordinator{Ref: ref, Named: all[0].named, Rows: rows}
}

// coordinates is true for the node that is the coordinator.
func (m *Matrix) coordinates(node int32) bool {
	return m.coordinator.HostID != "" && m.nodes[node].HostID == m.coordinator.HostID
}
