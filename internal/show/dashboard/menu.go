// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"io"
	"slices"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Actions change the cluster. They use the terminal exclusively, ask for confirmation and report
// the result. A nil action is unavailable, for the reason Why.
type Actions struct {
	ForceProceed, Replace func(target string) error
	// Nodetool runs nodetool status on a member.
	Nodetool func(member string) error
	Why      string
	// Describe reads the description of a node, concurrently with the dashboard; it may be slow.
	Describe func(target string) (*Page, error)
}

// done is how an action ended.
type done struct {
	verb, target string
	err          error
	// looked is set if the action changed nothing: it is then not listed as a change.
	looked bool
}

// menu asks for the node of an action. Nodes are kept by host ID, so new snapshots do not close it.
type menu struct {
	verb   string
	nobody string // message if no node can be selected
	run    func(target string) error
	// fits selects the offered nodes, worst the proposed ones.
	fits, worst func(n *shownNode) bool
	target      func(n *shownNode) string
	s           *Snapshot
	nodes       []int
	at          int
}

// forceMenu offers the members that have not joined or have an unknown state.
func forceMenu(run func(string) error) *menu {
	waiting := func(n *shownNode) bool {
		return n.Member != "" && (n.newcomer != nil || n.Membership == cluster.MemberUnknown)
	}
	return &menu{
		verb: "force-proceed", nobody: "no new node is waiting", run: run,
		fits: waiting, worst: func(*shownNode) bool { return false },
		target: func(n *shownNode) string { return n.Member },
	}
}

// replaceMenu offers the nodes that are not UP, and those of extra keys.
func replaceMenu(run func(string) error, extra ...string) *menu {
	bad := func(n *shownNode) bool {
		return n.Seen != nil && n.Seen.Mark() != grid.Up || n.Membership == cluster.MemberGhost
	}
	return &menu{
		verb: "replace", nobody: "no node to replace", run: run,
		fits: func(n *shownNode) bool {
			return n.HostID != "" && n.newcomer == nil && n.Membership != cluster.MemberGossipOnly &&
				(bad(n) || slices.Contains(extra, n.key()))
		},
		worst: bad, target: (*shownNode).key,
	}
}

// load sets a snapshot. The selected node stays selected in any state; false if it is gone.
func (m *menu) load(s *Snapshot) bool {
	chosen := ""
	if m.s != nil {
		chosen = m.chosen().key()
	}
	m.s, m.nodes = s, nil
	m.at = -1
	for i := range s.nodes {
		n := &s.nodes[i]
		// A new node gets its host ID when it joins; before that its member name is its key.
		if is := chosen != "" && (n.key() == chosen || n.Member == chosen); is || m.fits(n) {
			if is {
				m.at = len(m.nodes)
			}
			m.nodes = append(m.nodes, i)
		}
	}
	return m.at >= 0
}

// propose selects the first offered node of keys if it is in trouble, else the first node in
// trouble.
func (m *menu) propose(keys ...string) {
	m.at = -1
	for _, key := range keys {
		if m.at < 0 {
			m.at = slices.IndexFunc(m.nodes, func(i int) bool { return m.s.nodes[i].key() == key })
		}
	}
	if m.at < 0 || !m.worst(m.chosen()) {
		if i := slices.IndexFunc(m.nodes, func(i int) bool { return m.worst(&m.s.nodes[i]) }); i >= 0 {
			m.at = i
		}
	}
	m.at = max(0, m.at)
}

func (m *menu) chosen() *shownNode { return &m.s.nodes[m.nodes[m.at]] }

// update moves the selection; closed reports whether the menu was left, with a command to run, if
// any.
func (m *menu) update(msg tea.KeyPressMsg, k *keyMap) (closed bool, cmd tea.Cmd) {
	m.at = max(0, min(m.at+k.vertical(msg, 10, len(m.nodes)), len(m.nodes)-1))
	switch {
	case key.Matches(msg, k.Back, k.Quit):
		return true, nil
	case key.Matches(msg, k.Enter):
		target, name := m.target(m.chosen()), m.chosen().label()
		return true, tea.Exec(&execution{run: func() error { return m.run(target) }}, func(err error) tea.Msg {
			return done{verb: m.verb, target: name, err: err}
		})
	}
	return false, nil
}

// draw fills a canvas from line y on.
func (m *menu) draw(v *view, c *canvas, y int) {
	w, h := c.width, len(c.lines)-1
	c.at(0, y,
		v.fresh.title.of(v.fitted(m.verb+": which node? The command shows what it will do, and asks for confirmation.",
			w)))
	y += 2
	first := max(0, min(m.at-(h-y)/2, len(m.nodes)-(h-y)))
	for i := first; i < len(m.nodes) && y < h; i++ {
		n, mark, look := &m.s.nodes[m.nodes[i]], "  ", paint{}
		if i == m.at {
			mark, look = v.Cursor+" ", v.fresh.chosen
		}
		text := n.label()
		if n.HostID != "" {
			text += " " + n.Short()
		}
		if n.Seen != nil {
			text += ", seen " + n.Seen.Text()
		}
		text += ", Pod " + n.Pod
		if n.newcomer != nil {
			text += ", " + words.Text(n.newcomer.Summary)
		}
		c.at(0, y, look.of(v.fitted(mark+text, w)))
		y++
	}
}

// execution gives the terminal to a function, which has its own streams.
type execution struct{ run func() error }

func (e *execution) Run() error        { return e.run() }
func (*execution) SetStdin(io.Reader)  {}
func (*execution) SetStdout(io.Writer) {}
func (*execution) SetStderr(io.Writer) {}
