// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
)

// desk answers a dashboard's pages and commands, and remembers what was asked for.
type desk struct {
	asked []string
	err   error
}

func (d *desk) actions(o *Options) {
	run := func(verb string) func(string) error {
		return func(member string) error {
			d.asked = append(d.asked, verb+" "+member)
			return d.err
		}
	}
	o.Actions = Actions{
		Nodetool: run("nodetool"),
		Describe: func(target string) (*Page, error) {
			d.asked = append(d.asked, "describe "+target)
			if d.err != nil {
				return nil, d.err
			}
			page := &Page{Command: "kubectl --context=test logs " + target + " -c scylla -n demo --a-flag-that-is-long-enough-to-be-cut-on-the-screen-of-a-person"}
			page.Lines = []pageLine{
				{Name: "demo/" + target, Text: "it is DOWN", Style: show.Bad}, {Name: "Next", Text: "look at that ScyllaDB:"}, {Text: page.Command, Command: true}, {},
			}
			for i := range 30 {
				page.Lines = append(page.Lines, pageLine{Name: fmt.Sprintf("Fact %d", i), Text: strings.Repeat("a word ", 15)})
			}
			return page, nil
		},
	}
}

// answers runs a command of the model and sends what it gives.
func (s *screen) answers(cmd tea.Cmd) {
	s.t.Helper()
	if cmd == nil {
		s.t.Fatal("nothing is asked for")
	}
	s.send(cmd())
}

// enter opens the page of the node in trouble, tab goes to the other one of the pair, esc leaves; snapshots come meanwhile.
func TestPage(t *testing.T) {
	d := &desk{}
	s := newScreen(t, demo(), 80, 24, d.actions, plain)
	cmd := s.press("enter")
	s.has("reading details of demo-dc1-rack3-0", "esc back")
	s.answers(cmd)
	s.has("demo/demo-dc1-rack3-0: it is DOWN", "Fact 0:", "NOT HEALTHY demo/demo", "+", "t nodetool")
	s.lacks("Who sees whom", "Fact 29", "--a-flag-that-is-long-enough-to-be-cut-on-the-screen-of-a-person")
	// The command stands on one line, which is cut; y copies the whole.
	s.has("                 kubectl --context=test logs demo-dc1-rack3-0 -c scylla -n demo")
	if got := fmt.Sprint(s.press("y")()); !strings.HasSuffix(got, "screen-of-a-person") || !strings.HasPrefix(got, "kubectl --context=test logs") {
		t.Errorf("copied %q", got)
	}
	s.press("G")
	s.has("Fact 29:")
	s.lacks("it is DOWN")
	s.press("g")
	s.loads(demo())
	s.has("it is DOWN")
	s.answers(s.press("tab"))
	s.has("demo/demo-dc1-rack1-0: it is DOWN")
	if cmd := s.press("esc"); cmd != nil || s.page != nil {
		t.Error("esc does not leave the page")
	}
	s.has("Who sees whom")
	if got := fmt.Sprint(d.asked); got != "[describe demo-dc1-rack3-0 describe demo-dc1-rack1-0]" {
		t.Errorf("asked for %s", got)
	}
	s.press("0", "g", "down", "down") // on a newcomer, whatever it is asked to see
	s.answers(s.press("enter"))
	s.has("demo/demo-dc1-rack1-2: it is DOWN")
	for _, size := range sizes[:2] {
		s.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		screenFile(t, fmt.Sprintf("page_%dx%d", size[0], size[1]), s.Frame())
	}
}

// An open page is read again every ten seconds while something can have changed; what cannot be read leaves what was.
func TestPageIsReadAgain(t *testing.T) {
	d := &desk{}
	s := newScreen(t, demo(), 80, 24, d.actions)
	s.answers(s.press("enter"))
	again := func(after time.Duration) bool {
		s.now = s.now.Add(after)
		return s.page.tick(s.now) != nil
	}
	if again(pageEvery - time.Second) {
		t.Error("it is read again at once")
	}
	if !again(time.Second) {
		t.Error("it is not read again")
	}
	if again(time.Minute) {
		t.Error("it is asked for twice at a time")
	}
	s.send(pageRead{key: s.page.nodes[0].key(), err: errors.New("the API server is away")})
	s.has("cannot read it: the API server is away", "the lines below were read before", "it is DOWN")
	s.send(pageRead{key: "of another", page: &Page{Lines: []pageLine{{Name: "x", Text: "not this one"}}}})
	s.lacks("not this one")
	s.send(pageRead{key: s.page.nodes[0].key(), page: &Page{Lines: []pageLine{{Name: "x", Text: "is UP again"}}}})
	s.has("is UP again")
	if cmd := s.press("y"); cmd != nil {
		t.Error("a page without a command copies one")
	}
	s.has("nothing to copy")
}

// The key runs nodetool on the node that enter would open, and on the page's.
func TestKeyOfThePod(t *testing.T) {
	d := &desk{}
	s := newScreen(t, demo(), 80, 24, d.actions)
	if s.press("t") == nil {
		t.Error("t runs nothing")
	}
	s.answers(s.press("enter"))
	if s.press("t") == nil || s.page == nil {
		t.Error("t on a page runs nothing, or leaves it")
	}
	s.send(done{verb: "nodetool", target: "demo-dc1-rack3-0", err: errors.New("ScyllaDB does not run"), looked: true})
	s.has("nodetool demo-dc1-rack3-0: ScyllaDB does not run")
	if n := len(s.changes.log); n > 0 && strings.HasPrefix(s.changes.log[n-1].Text, "nodetool") {
		t.Error("what only looked is among the changes")
	}
	s.press("esc", "z")
	if s.press("t") != nil {
		t.Error("nodetool runs on a rack")
	}
	s.has("which node?")

	saved := newScreen(t, demo(), 80, 24, func(o *Options) { o.Actions.Why = "saved objects run nothing" })
	if saved.press("t") != nil {
		t.Error("a saved node is asked")
	}
	saved.has("nodetool: saved objects run nothing")
	saved.press("enter")
	if saved.focus != paneDetail {
		t.Error("without pages enter does not go to the details")
	}
}

// Changes from before the dashboard arrive later and are inserted by time; the selection stays on the same change.
func TestPastIsPutInItsPlace(t *testing.T) {
	w := newWorld(3, 1).down("demo-dc1-rack3-0").down("demo-dc1-rack2-0")
	s := newScreen(t, w, 120, 40)
	s.press("shift+tab", "down")
	looked := *s.changes.item(s.changes.at)
	s.send(Past{Changes: []Change{
		{At: start.Add(-time.Hour), Text: "Pod demo-dc1-rack3-0: BackOff\x1b[2J", Bad: true}, {At: start.Add(-time.Second), Text: "condition AllNodesUp: False"},
	}})
	if got := *s.changes.item(s.changes.at); got != looked {
		t.Errorf("the chosen change was %q and is %q", looked.Text, got.Text)
	}
	if got := s.changes.item(0).Text; got != "condition AllNodesUp: False" {
		t.Errorf("the newest is %q", got)
	}
	if got := s.changes.item(s.changes.len() - 1).Text; got != "Pod demo-dc1-rack3-0: BackOff [2J" {
		t.Errorf("the oldest is %q", got)
	}
}
