// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"cmp"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Coordinator is the topology coordinator: the leader of group 0. Its own view alone decides a
// join.
type Coordinator struct {
	Ref
	// Named is how many rows name it, Rows how many name any node. Named < Rows during an election,
	// or if nodes cannot reach each other.
	Named int `json:"named"`
	Rows  int `json:"rows"`
}

// Message is the coordinator as a fact; zero if no row names one.
func (c Coordinator) Message() words.Message {
	switch {
	case c.Rows == 0:
		return words.Message{}
	case c.HostID == "":
		return words.New(words.TopologyCoordinatorNotAgreed, "rows", c.Rows)
	case c.Named < c.Rows:
		return words.New(words.TopologyCoordinator, "node", c.Name(), "named", c.Named, "rows", c.Rows)
	}
	return words.New(words.TopologyCoordinator, "node", c.Name())
}

// Coordinator returns the node that most rows name as topology coordinator. On a tie it is the node
// that names itself, because nodes without the election result still name the former leader. Zero
// if no usable row names one, as before ScyllaDB 6.0, or if the tie remains.
func (m *Matrix) Coordinator() Coordinator { return m.coordinator }

// elect returns the coordinator by the given lines.
func (m *Matrix) elect(lines []*line) Coordinator {
	type candidate struct {
		id     hostid.ID
		named  int
		itself bool
	}
	var all []candidate
	rows := 0
	for _, l := range lines {
		id := l.row.Says().Coordinator
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
	first := func(a, b candidate) int {
		if c := cmp.Compare(b.named, a.named); c != 0 || a.itself == b.itself {
			return c
		}
		if a.itself {
			return -1
		}
		return 1
	}
	slices.SortStableFunc(all, first)
	if len(all) > 1 && first(all[0], all[1]) == 0 {
		return Coordinator{Rows: rows}
	}
	ref := m.names[all[0].id]
	if i, ok := m.index[all[0].id]; ok {
		ref = m.nodes[i].Ref
	}
	ref.HostID = all[0].id
	return Coordinator{Ref: ref, Named: all[0].named, Rows: rows}
}

// coordinates reports whether the node is the topology coordinator.
func (m *Matrix) coordinates(node int32) bool {
	return m.coordinator.HostID != "" && m.nodes[node].HostID == m.coordinator.HostID
}
