// SPDX-License-Identifier: Apache-2.0

package matrix

// seen counts the rows of the other nodes by their status of a node; without other nodes all counts
// are 0.
type seen struct{ Up, Down, Unknown, Missing int }

// ByOthers counts the rows of the other nodes. The counts of a Node include its own row, which
// proves nothing about itself.
func (n *Node) ByOthers() seen {
	s := seen{n.SeenUp, n.SeenDown, n.SeenUnknown, n.NotSeen}
	if count := s.of(n.Own); n.Reports && *count > 0 {
		*count--
	}
	return s
}

func (s *seen) of(status Status) *int {
	switch status {
	case Up:
		return &s.Up
	case Down:
		return &s.Down
	case Missing:
		return &s.Missing
	}
	return &s.Unknown
}

// Rows returns how many rows of other nodes there are.
func (s seen) Rows() int { return s.Up + s.Down + s.Unknown + s.Missing }
