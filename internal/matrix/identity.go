// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// stray is a running node whose group 0 differs from the recorded one.
type stray struct {
	Ref
	group string
}

// others returns the nodes whose group 0 differs from Options.Identity, nil if that is unknown. A
// node that names the same topology coordinator as a node of the recorded group belongs to the
// recorded cluster. The recovery of a lost majority created a new group 0, and the other node's
// disk was read before that.
func (m *Matrix) others(lines []*line) []stray {
	if m.opts.Identity == "" {
		return nil
	}
	var leaders []hostid.ID
	for _, l := range lines {
		if l.testifies && l.row.Says().Group0ID == m.opts.Identity && l.row.Says().Coordinator != "" {
			leaders = append(leaders, l.row.Says().Coordinator)
		}
	}
	var out []stray
	for _, l := range lines {
		if g := l.row.Says().Group0ID; l.testifies && g != "" && g != m.opts.Identity &&
			!slices.Contains(leaders, l.row.Says().Coordinator) {
			out = append(out, stray{m.nodes[l.node].Ref, g})
		}
	}
	return out
}

// strayFact names the nodes of another cluster; zero if there are none.
func (m *Matrix) strayFact() words.Message {
	if m.strays == nil {
		return words.Message{}
	}
	names := make([]string, len(m.strays))
	for i := range m.strays {
		names[i] = m.strays[i].Name()
	}
	slices.Sort(names)
	return words.New(words.OtherGroupThanRecorded, "nodes", slices.Compact(names), "group", m.strays[0].group,
		"recorded", m.opts.Identity)
}

// Strays returns the nodes whose group 0 differs from the recorded one. The caller must not change
// them.
func (m *Matrix) Strays() []Ref {
	out := make([]Ref, len(m.strays))
	for i := range m.strays {
		out[i] = m.strays[i].Ref
	}
	return out
}

// Group0 returns the ID of the nodes' group 0 if their disks have it and all running nodes agree.
// Empty if no disk has it, or if there are two clusters.
func (m *Matrix) Group0() string {
	id := ""
	for i := range m.lines {
		l := &m.lines[i]
		if !l.testifies || l.row.Says().Group0ID == "" {
			continue
		}
		if id != "" && id != l.row.Says().Group0ID {
			return ""
		}
		id = l.row.Says().Group0ID
	}
	if m.clusters != nil || m.strays != nil {
		return ""
	}
	return id
}
