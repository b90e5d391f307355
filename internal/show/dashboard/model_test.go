// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
)

func stripped(s string) string { return ansi.Strip(s) }

// demo has three racks of two; one node is down, one cannot be judged by one other, and a newcomer waits.
func demo() *world {
	w := newWorld(3, 2).down("demo-dc1-rack3-0").sees("demo-dc1-rack1-0", "demo-dc1-rack2-1", "UNKNOWN").sees("demo-dc1-rack1-1", "demo-dc1-rack2-0", "MISSING")
	w.newcomers = []string{"demo-dc1-rack1-2"}
	return w
}

func TestKeys(t *testing.T) {
	cases := map[string]struct {
		keys string
		at   string // cursor
		has  []string
		not  []string
	}{
		"the cursor begins at the gravest pair": {"", "rack1-0 on rack3-0", []string{"[✗]", "sees demo-dc1-rack3-0 DOWN for 15s"}, nil},
		"arrows move":                           {"down left", "rack1-1 on rack2-1", nil, nil},
		"letters move":                          {"j h k l", "rack1-0 on rack3-0", nil, nil},
		"the cursor stops at the edges":         {"up up left left left left left left left left", "rack1-0 on rack1-0", []string{"sees itself UP"}, nil},
		"first and last":                        {"G $ g 0 G $", "rack3-1 on rack3-1", nil, nil},
		"pages":                                 {"pgdown pgdown", "rack3-1 on rack3-0", nil, nil},
		"n goes to the next finding":            {"n", "rack1-0 on rack2-1", []string{"does not know whether demo-dc1-rack2-1 is UP"}, nil},
		"n goes round":                          {"n n n n", "rack1-0 on rack3-0", nil, nil},
		"N goes back, to the member that waits": {"N", "rack1-2 on rack3-0", []string{"waiting for init container"}, nil},
		"tab shows the findings":                {"tab tab", "rack1-0 on rack3-0", []string{"check why its barrier makes it wait"}, []string{"sees demo-dc1-rack3-0 DOWN for"}},
		"enter on a finding jumps, and on to the next observer":    {"tab tab enter", "rack1-1 on rack3-0", nil, nil},
		"a chosen finding jumps to its pair":                       {"tab tab down enter", "rack1-0 on rack2-1", nil, nil},
		"esc leaves the pane":                                      {"tab tab esc", "rack1-0 on rack3-0", []string{"sees demo-dc1-rack3-0 DOWN for"}, nil},
		"the changes begin with what the objects tell of the past": {"shift+tab", "rack1-0 on rack3-0", []string{"02:59:48 demo-dc1-rack2-1 UNKNOWN by demo-dc1-rack1-0"}, nil},
		"help":              {"?", "rack1-0 on rack3-0", []string{"Keys", "next finding", "previous finding"}, []string{"Who sees whom"}},
		"esc leaves help":   {"? esc", "rack1-0 on rack3-0", []string{"Who sees whom"}, []string{"previous finding"}},
		"zoom to racks":     {"z", "dc1/rack1 on dc1/rack3", []string{"by rack", "✗2/4", "dc1/rack1 (3 nodes) on dc1/rack3 (2 nodes): 2 UP, 2 DOWN"}, nil},
		"and back to nodes": {"z z", "rack1-0 on rack3-0", []string{"Who sees whom\n"}, []string{"by rack"}},
		"enter opens two racks at the pair that is bad":   {"z enter", "rack1-0 on rack3-0", []string{"dc1/rack1 on dc1/rack3"}, []string{"▶7"}},
		"enter opens one rack":                            {"z left enter", "rack1-0 on rack2-1", []string{"dc1/rack1 on dc1/rack2"}, nil},
		"esc goes back to the racks":                      {"z enter esc", "dc1/rack1 on dc1/rack3", []string{"by rack"}, nil},
		"a jump leaves the racks":                         {"z n", "rack1-0 on rack2-1", nil, []string{"by rack"}},
		"sort by trouble":                                 {"s", "rack1-0 on rack3-0", []string{"sorted by trouble", "reporter, sees →     6  5  4"}, nil},
		"sort by place again":                             {"s s", "rack1-0 on rack3-0", nil, []string{"sorted"}},
		"filter by text":                                  {"/ rack2 enter", "rack2-0 on rack3-0", []string{"/rack2 (2 by 6)"}, []string{"▶1"}},
		"filter while typing":                             {"/ rack2", "rack2-0 on rack3-0", []string{"/rack2"}, nil},
		"esc while typing brings the old filter back":     {"/ rack2 esc", "rack1-0 on rack3-0", nil, []string{"/rack2 ("}},
		"esc clears the filter":                           {"/ rack2 enter esc", "rack2-0 on rack3-0", nil, []string{"/rack2 ("}},
		"filter by datacenter":                            {"/ dc:dc2 enter", "- on rack3-0", []string{"no match: esc clears the filter"}, nil},
		"filter by rack":                                  {"/ rack:rack3 enter", "rack3-0 on rack3-0", []string{"(2 by 6)"}, nil},
		"filter by a state of pairs":                      {"/ state:down enter", "rack1-0 on rack3-0", []string{"/state:down (5 by 1)"}, nil},
		"filter by what is missing":                       {"/ state:missing enter", "rack1-1 on rack2-0", []string{"(1 by 1)"}, nil},
		"filter by what is not known":                     {"/ state:unknown enter", "rack1-0 on rack2-1", []string{"(1 by 1)"}, nil},
		"filter by UP leaves out nobody who sees anybody": {"/ state:up enter", "rack1-0 on rack1-0", []string{"(5 by 5)"}, nil},
		"filter by a state of nodes":                      {"/ state:newcomer enter", "rack1-2 on rack3-0", []string{"(1 by 6)", "must wait"}, nil},
		"terms must all hold":                             {"/ rack:rack1 space -1 enter", "rack1-1 on rack3-0", []string{"(1 by 6)"}, nil},
		"a filter that cannot be read says why":           {"/ color:red", "- on rack3-0", []string{`unknown filter "color:"`}, nil},
		"and enter does not take it":                      {"/ color:red enter", "- on rack3-0", []string{`unknown filter "color:"`}, nil},
		"a state that is not known":                       {"/ state:sad", "- on rack3-0", []string{`unknown state "sad": use one of up down`}, nil},
		"backspace takes a letter back":                   {"/ rack2- backspace backspace 3 enter", "rack3-0 on rack3-0", []string{"/rack3"}, nil},
		"a jump clears a filter that hides the pair":      {"/ rack1-2 enter N N", "rack1-1 on rack2-0", []string{"filter cleared to show the pair"}, nil},
		"q in the filter is a letter":                     {"/ q", "- on rack3-0", []string{"/q"}, nil},
		"force-proceed asks for whom":                     {"f", "rack1-0 on rack3-0", []string{"force-proceed: which node?", "▶ demo-dc1-rack1-2, Pod"}, nil},
		"esc changes nothing":                             {"f esc", "rack1-0 on rack3-0", []string{"force-proceed: nothing was changed"}, nil},
		"replace proposes the node that is down":          {"r", "rack1-0 on rack3-0", []string{"replace: which node?", "▶ demo-dc1-rack3-0 a0010300, seen DOWN 5/5"}, nil},
		"replace offers what is under the cursor":         {"0 r", "rack1-0 on rack1-0", []string{"  demo-dc1-rack1-0 a0010100", "▶ demo-dc1-rack2-0"}, []string{"demo-dc1-rack3-1"}},
		"enter on a pair opens the details":               {"enter", "rack1-0 on rack3-0", []string{"reporter demo-dc1-rack1-0"}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := newScreen(t, demo(), 80, 24, func(o *Options) {
				o.Actions = Actions{ForceProceed: func(string) error { return nil }, Replace: func(string) error { return nil }}
			})
			s.press(strings.Fields(c.keys)...)
			if got := s.at(); got != c.at {
				t.Errorf("cursor is at %s, want %s", got, c.at)
			}
			s.has(c.has...)
			s.lacks(c.not...)
		})
	}
}

func quits(cmd tea.Cmd) bool {
	if cmd == nil {
		return false
	}
	_, ok := cmd().(tea.QuitMsg)
	return ok
}

func TestQuit(t *testing.T) {
	s := newScreen(t, demo(), 80, 24)
	if !quits(s.press("q")) || s.interrupted {
		t.Error("q does not quit quietly")
	}
	if !quits(newScreen(t, demo(), 30, 8).press("q")) {
		t.Error("q does not quit on a screen that is too small")
	}
	s = newScreen(t, demo(), 80, 24)
	if !quits(s.press("/", "ctrl+c")) || !s.interrupted {
		t.Error("ctrl+c does not interrupt while typing")
	}
}

// The cursor stays on its nodes while others come and go.
func TestCursorStaysOnItsNodes(t *testing.T) {
	w := demo()
	s := newScreen(t, w, 80, 24)
	s.press("right") // rack1-0 on rack3-1
	w.members = 3
	w.newcomers = nil
	s.loads(w)
	if got := s.at(); got != "rack1-0 on rack3-1" {
		t.Errorf("three more nodes move the cursor to %s", got)
	}
	s.press("z")
	s.loads(w)
	if got := s.at(); got != "dc1/rack1 on dc1/rack3" {
		t.Errorf("a new snapshot moves the cursor to %s", got)
	}
	w.racks = 2
	w.not, w.failed = nil, nil
	s.loads(w)
	if got := s.at(); got != "dc1/rack1 on dc1/rack2" {
		t.Errorf("when its rack is gone the cursor is at %s", got)
	}
}

// Until a key is pressed the cursor follows the trouble.
func TestUntouchedCursorFollowsTrouble(t *testing.T) {
	w := newWorld(3, 1)
	s := newScreen(t, w, 80, 24)
	s.has("✓ HEALTHY demo/demo: 3 of 3 nodes seen UP by all", "every node sees"[:0])
	w.down("demo-dc1-rack2-0")
	s.loads(w)
	if got := s.at(); got != "rack1-0 on rack2-0" {
		t.Errorf("cursor is at %s", got)
	}
	s.press("down", "left")
	w.down("demo-dc1-rack1-0")
	s.loads(w)
	if got := s.at(); got != "rack2-0 on rack1-0" {
		t.Errorf("a touched cursor is moved to %s", got)
	}
}

func TestHistory(t *testing.T) {
	w := newWorld(3, 1)
	s := newScreen(t, w, 120, 40)
	s.now = s.now.Add(time.Minute)
	w.lease = s.now
	w.down("demo-dc1-rack3-0")
	w.newcomers = []string{"demo-dc1-rack1-1"}
	s.loads(w)
	s.has("Changes 5", "03:01:03 NOT HEALTHY, was HEALTHY", "03:01:03 demo-dc1-rack3-0 DOWN (was UP) by", "03:01:03 demo-dc1-rack1-1 is new: Newcomer",
		"03:01:03 status report of demo-dc1-rack3-0: error, was fresh", "03:01:03 Pod of demo-dc1-rack3-0: CrashLoopBackOff 0/1")
	s.now = s.now.Add(time.Minute)
	w.newcomers, w.not, w.failed, w.lease = nil, nil, nil, s.now
	s.loads(w)
	s.press("shift+tab")
	s.has("03:02:03 HEALTHY, was NOT HEALTHY", "03:02:03 demo-dc1-rack3-0 UP (was DOWN) by demo-dc1-rack1-0", "demo-dc1-rack1-1 is gone", "status report of demo-dc1-rack3-0: fresh, was error")
	s.now = s.now.Add(time.Minute)
	s.loads(w)
	s.has("controller NOT RESPONDING")
	if !s.changes.log[len(s.changes.log)-1].Bad {
		t.Error("a silent controller is not bad news")
	}
	n := len(s.changes.log)
	s.now = s.now.Add(time.Second)
	if s.loads(w); len(s.changes.log) != n {
		t.Errorf("a longer silence is a change: %+v", s.changes.log[n:])
	}
	for range 2 * maxHistory / 5 {
		s.now = s.now.Add(time.Second)
		w.lease = s.now
		if w.failed == nil {
			w.failed, w.not = map[string]string{}, map[[2]string]api.NodeStatus{}
			w.down("demo-dc1-rack3-0")
		} else {
			w.failed, w.not = nil, nil
		}
		s.loads(w)
	}
	if n = len(s.changes.log); n != maxHistory {
		t.Errorf("%d changes are kept", n)
	}
}

// A partition is not answered with "replace it".
func TestPartition(t *testing.T) {
	w := newWorld(2, 2).apart()
	s := newScreen(t, w, 120, 40)
	s.has("dc1/rack1 (2) and dc1/rack2 (2) do not see each other", "fix the network first")
	s.lacks("check the end of its log")
	w.not = nil
	s.loads(w)
	s.lacks("fix the network")
	s.has("the parts of the cluster see each other again")
}

func TestLostConnection(t *testing.T) {
	w := demo()
	s := newScreen(t, w, 80, 24, func(o *Options) { o.Actions.ForceProceed = func(string) error { return nil } })
	fresh := s.Frame()
	s.now = s.now.Add(40 * time.Second)
	s.send(Lost{Since: s.now.Add(-5 * time.Second), Err: errors.New("cannot reach the API server: connection refused")})
	s.has("CONNECTION LOST since 03:00:38 (5s): cannot reach the API server", "? LAST KNOWN: NOT HEALTHY", "read 43s ago, at 03:00:00", "[✗]")
	s.lacks("SILENT") // the controller is not blamed for what we do not hear
	if strings.Contains(s.Frame(), newTheme(colorprofile.TrueColor, true, false).cells[grid.Up][lightOff].pre) {
		t.Error("what is old is as green as ever")
	}
	if !strings.Contains(fresh, newTheme(colorprofile.TrueColor, true, false).cells[grid.Up][lightOff].pre) {
		t.Error("what is fresh is not green")
	}
	s.now = s.now.Add(10 * time.Second)
	s.send(Lost{Since: s.now, Err: errors.New("still refused")})
	s.has("since 03:00:38 (15s): still refused")
	s.send(Contact{})
	s.has("CONNECTION LOST")                    // an answer alone makes nothing new
	s.has("sees demo-dc1-rack3-0 DOWN for 12s") // as of the last reading
	s.press("f")
	s.has("force-proceed: not now: the screen is out of date")
	s.send(tick(s.now))
	s.now = s.now.Add(noteTime)
	s.send(tick(s.now))
	s.has("not now")
	s.now = s.now.Add(time.Second)
	s.send(tick(s.now))
	s.lacks("not now")
	s.loads(w)
	s.lacks("CONNECTION LOST", "LAST KNOWN")
	s.press("shift+tab")
	s.has("connection lost: cannot reach the API server", "cluster readable again after 26s")
	s.send(Lost{Since: s.now, Reached: true, Err: errors.New("no cluster demo in namespace demo")})
	s.has("CANNOT READ THE CLUSTER since")
}

// The menu stays on its node while snapshots come, whatever numbers the nodes have then.
func TestMenuStays(t *testing.T) {
	w := demo()
	var target string
	s := newScreen(t, w, 80, 24, func(o *Options) {
		o.Actions.Replace = func(id string) error { target = id; return nil }
	})
	s.press("r", "up")
	s.has("▶ demo-dc1-rack2-1 a0010201, seen UNKNOWN 1/4")
	w.members, w.newcomers = 3, nil
	delete(w.not, [2]string{"demo-dc1-rack1-0", "demo-dc1-rack2-1"})
	s.loads(w)
	s.has("replace: which node?", "▶ demo-dc1-rack2-1 a0010201, seen UP") // what it has become is shown
	if !strings.HasPrefix(s.menu.target(s.menu.chosen()), "a0010201-") || target != "" {
		t.Errorf("the menu is for %s, and ran for %q", s.menu.target(s.menu.chosen()), target)
	}
	s.send(Lost{Since: s.now, Err: errors.New("gone")})
	s.press("enter")
	s.has("replace: not now: the screen is out of date")
	s.loads(w)
	w.racks = 1
	s.loads(w)
	s.has("replace: demo-dc1-rack2-1 is gone", "Who sees whom")
}

// A newcomer that joins while its menu is open gets a host ID, and is the same node.
func TestMenuStaysOnANewcomerThatJoins(t *testing.T) {
	w := demo()
	s := newScreen(t, w, 80, 24, func(o *Options) { o.Actions.ForceProceed = func(string) error { return nil } })
	s.press("down", "down", "f")
	s.has("▶ demo-dc1-rack1-2, Pod")
	w.members, w.newcomers = 3, nil
	s.loads(w)
	s.has("▶ demo-dc1-rack1-2 a0010102, seen UP")
	s.press("esc")
	if got := s.at(); got != "rack1-2 on rack3-0" {
		t.Errorf("cursor is at %s", got)
	}
}

// The command of the chosen finding goes to the clipboard.
func TestCopy(t *testing.T) {
	s := newScreen(t, demo(), 80, 24)
	cmd := s.press("y")
	if cmd == nil {
		t.Fatal("nothing is copied")
	}
	if got, want := fmt.Sprint(cmd()), "kubectl logs demo-dc1-rack3-0 -c scylla --previous -n demo"; got != want {
		t.Errorf("copied %q, want %q", got, want)
	}
	s.has("copied: kubectl logs demo-dc1-rack3-0 -c scylla --previous -n demo")
	if cmd := s.press("n", "y"); cmd != nil {
		t.Error("a step without a command is copied")
	}
	s.has("nothing to copy: this finding has no command")
	for command, copied := range map[string]bool{
		"kubectl describe pod a -n demo": true, "kubectl scylla replace status a -n demo": true, "kubectl delete pod a -n demo": true,
		"kubectl scylla replace a -n demo": false, "kubectl delete pvc a -n demo": false, "kubectl scylla force-proceed a": false,
		"kubectl scylla nodetool a -- removenode ID": false, "kubectl exec a -- nodetool decommission": false, "kubectl scylla init reset a": false,
	} {
		if cmd := s.clip(command); (cmd != nil) != copied {
			t.Errorf("%s is copied: %v", command, cmd != nil)
		}
	}
}

// Racks and datacenters are opened level by level, and left again.
func TestLevels(t *testing.T) {
	w := newWorld(2, 3)
	w.datacenters = []string{"dc1", "dc2"}
	w.sees("demo-dc2-rack1-0", "demo-dc1-rack1-1", api.NodeStatusDown)
	s := newScreen(t, w, 80, 24)
	for _, step := range []struct{ key, at, has string }{
		{"z", "dc2/rack1 on dc1/rack1", "Who sees whom by rack"},
		{"z", "dc2 on dc1", "Who sees whom by datacenter"},
		{"enter", "dc2/rack1 on dc1/rack1", "by rack · dc2 on dc1"},
		{"enter", "demo-dc2-rack1-0 on rack1-1", "Who sees whom · dc2/rack1 on dc1/rack1"},
		{"esc", "dc2/rack1 on dc1/rack1", "by rack · dc2 on dc1"},
		{"esc", "dc2 on dc1", "Who sees whom by datacenter"},
		{"z", "demo-dc2-rack1-0 on rack1-0", "Who sees whom"},
	} {
		s.press(step.key)
		s.has(step.has)
		if got := s.at(); got != step.at {
			t.Errorf("%s goes to %s, want %s", step.key, got, step.at)
		}
	}
}

// An archive is as old as it says, however late it is read.
func TestArchive(t *testing.T) {
	k := demo().snapshot()
	k.Offline = true
	s := &screen{t: t, now: start.Add(time.Hour)}
	s.model = NewModel(NewSnapshot(k, statusOf(k, start), nil, true, start), Options{Now: func() time.Time { return s.now }, Profile: colorprofile.NoTTY})
	s.send(tea.WindowSizeMsg{Width: 120, Height: 40})
	s.has("saved objects of 2026-11-21 03:00:00 UTC · source: report", "controller was alive", "DOWN for 12s")
	s.lacks("\nread ", "controller alive", " ago")
}

// Time in which a command has the terminal, or the machine sleeps, is no silence.
func TestActionIsNoSilence(t *testing.T) {
	s := newScreen(t, demo(), 80, 24)
	s.ticks(5 * time.Second)
	s.now = s.now.Add(10 * time.Minute)
	s.ticks(5 * time.Second)
	s.lacks("NO UPDATES", "NOT RESPONDING")
	s.ticks(silence)
	s.has("NO UPDATES")
}

// A feed that says nothing at all is not trusted either.
func TestSilentFeed(t *testing.T) {
	s := newScreen(t, demo(), 80, 24)
	s.ticks(silence + time.Second) // the first tick begins to count
	s.lacks("NO UPDATES")
	s.ticks(time.Second)
	s.has("NO UPDATES since 03:00:03 (32s)", "LAST KNOWN")
	s.send(Contact{})
	s.lacks("NO UPDATES")
	saved := newScreen(t, demo(), 80, 24, func(o *Options) { o.Live = false })
	saved.now = saved.now.Add(time.Hour)
	saved.lacks("NO UPDATES")
}

func TestActions(t *testing.T) {
	var asked []string
	ran := func(verb string, err error) func(string) error {
		return func(target string) error {
			asked = append(asked, verb+" "+target)
			return err
		}
	}
	s := newScreen(t, demo(), 80, 24, func(o *Options) {
		o.Actions = Actions{ForceProceed: ran("force", nil), Replace: ran("replace", errors.New("refused: rack1 has no quorum"))}
	})
	if cmd := s.press("f", "enter"); cmd == nil {
		t.Fatal("nothing is run")
	}
	// The framework runs the command; the model only learns how it ended.
	if err := (&execution{run: func() error { return s.opts.Actions.ForceProceed("demo-dc1-rack1-2") }}).Run(); err != nil {
		t.Fatal(err)
	}
	s.send(done{verb: "force-proceed", target: "demo-dc1-rack1-2"})
	s.has("force-proceed demo-dc1-rack1-2: done")
	s.send(done{verb: "replace", target: "demo-dc1-rack3-0", err: s.opts.Actions.Replace("a0000004")})
	s.has("replace demo-dc1-rack3-0: refused: rack1 has no quorum")
	s.press("shift+tab")
	s.has("force-proceed demo-dc1-rack1-2 was run from here", "refused: rack1 has no quorum")
	if got := fmt.Sprint(asked); got != "[force demo-dc1-rack1-2 replace a0000004]" {
		t.Error(got)
	}

	saved := newScreen(t, newWorld(3, 1).down("demo-dc1-rack3-0"), 200, 24, func(o *Options) {
		o.Actions.Why = "saved objects cannot be changed"
		o.Actions.Describe = func(string) (*Page, error) { return &Page{}, nil }
	})
	lastLine := func() string {
		lines := strings.Split(strings.TrimRight(stripped(saved.Frame()), "\n"), "\n")
		return lines[len(lines)-1]
	}
	// What cannot be done with saved objects is not offered.
	saved.has("n next finding", "y copy")
	for _, press := range []string{"", "enter"} {
		if press != "" {
			saved.press(press)
		}
		for _, key := range []string{"force-proceed", "replace", "t nodetool"} {
			if strings.Contains(lastLine(), key) {
				t.Errorf("saved objects are offered %q: %s", key, lastLine())
			}
		}
	}
	if !strings.Contains(lastLine(), "esc back  y copy") {
		t.Errorf("no page: %s", lastLine())
	}
	saved.press("esc", "r")
	saved.has("replace: saved objects cannot be changed")
	calm := newScreen(t, newWorld(3, 1), 80, 24, func(o *Options) { o.Actions.ForceProceed = ran("force", nil) })
	calm.press("f")
	calm.has("no new node is waiting")
	calm.press("n")
	calm.has("none: all nodes see each other UP")
}

func TestMouse(t *testing.T) {
	s := newScreen(t, demo(), 80, 24)
	click := func(x, y int) {
		t.Helper()
		s.send(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
	}
	find := func(text string) (x, y int) {
		t.Helper()
		for y, line := range strings.Split(stripped(s.Frame()), "\n") {
			if i := strings.Index(line, text); i >= 0 {
				return ansi.StringWidth(line[:i]), y
			}
		}
		t.Fatalf("no %q on\n%s", text, stripped(s.Frame()))
		return 0, 0
	}
	r := s.layout(s.view()).rects[paneMatrix]
	geo := s.matrix.geometry(r.w, r.h)
	click(geo.prefix+geo.cell*1+1, r.y+geo.head+3)
	if got := s.at(); got != "rack2-0 on rack1-1" && got != "rack1-2 on rack1-1" {
		t.Errorf("the click selects %s", got)
	}
	x, y := find("demo-dc1-rack2-1  ")
	click(x, y)
	if got := s.at(); got != "rack2-1 on rack1-1" {
		t.Errorf("a click on a name selects %s", got)
	}
	click(find("Findings "))
	click(find("• 1 node reports demo-dc1-rack2-1 as UNKNOWN"))
	if got := s.at(); got != "rack1-0 on rack2-1" {
		t.Errorf("a click on a finding selects %s", got)
	}
	click(find("Changes "))
	s.has("▶02:59:48 demo-dc1-rack3-0 DOWN by demo-dc1-rack1-0")
	click(0, 0)
	s.press("esc")
	small := newScreen(t, newWorld(3, 30), 80, 24)
	small.press("z") // ninety nodes are shown by rack
	small.send(tea.MouseWheelMsg{X: 5, Y: 8, Button: tea.MouseWheelDown})
	small.send(tea.MouseWheelMsg{X: 5, Y: 8, Button: tea.MouseWheelDown, Mod: tea.ModShift})
	small.has("rows 4-", "columns 4-")
	small.send(tea.MouseWheelMsg{X: 5, Y: 8, Button: tea.MouseWheelUp})
	small.send(tea.MouseWheelMsg{X: 5, Y: 8, Button: tea.MouseWheelLeft})
	small.has("rows 1-", "columns 1-")
}

// Whatever is pressed, clicked, resized or loaded, the screen has its size, and nothing breaks.
func TestAnythingGoes(t *testing.T) {
	keys := []string{"up", "down", "left", "right", "enter", "esc", "tab", "shift+tab", "pgup", "pgdown", "home", "end", "n", "N", "s", "z", "/", "f", "r", "?", "g", "G",
		"rack1", "state:down", "rack:", "dc:dc1", "backspace", "x", "space"}
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(rapid.IntRange(1, 4).Draw(r, "racks"), rapid.IntRange(1, 12).Draw(r, "members"))
		s := newScreen(t, w, 80, 24, func(o *Options) {
			o.Actions = Actions{ForceProceed: func(string) error { return nil }, Replace: func(string) error { return nil }}
			o.ASCII = rapid.Bool().Draw(r, "ascii")
			if rapid.Bool().Draw(r, "plain") {
				plain(o)
			}
		})
		width, height := 80, 24
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			switch rapid.IntRange(0, 9).Draw(r, "what") {
			case 0:
				width, height = rapid.IntRange(1, 220).Draw(r, "width"), rapid.IntRange(1, 70).Draw(r, "height")
				s.send(tea.WindowSizeMsg{Width: width, Height: height})
			case 1:
				s.send(tea.MouseClickMsg{X: rapid.IntRange(0, 220).Draw(r, "x"), Y: rapid.IntRange(0, 70).Draw(r, "y"), Button: tea.MouseLeft})
			case 2:
				s.send(tea.MouseWheelMsg{X: rapid.IntRange(0, 220).Draw(r, "x"), Y: rapid.IntRange(0, 70).Draw(r, "y"),
					Button: rapid.SampledFrom([]tea.MouseButton{tea.MouseWheelUp, tea.MouseWheelDown, tea.MouseWheelLeft, tea.MouseWheelRight}).Draw(r, "wheel")})
			case 3:
				places := w.places()
				switch a, b := rapid.SampledFrom(places).Draw(r, "a").name, rapid.SampledFrom(places).Draw(r, "b").name; rapid.IntRange(0, 5).Draw(r, "change") {
				case 0:
					w.down(a)
				case 1:
					w.sees(a, b, rapid.SampledFrom([]api.NodeStatus{"DOWN", "UNKNOWN", "MISSING", "UP"}).Draw(r, "status"))
				case 2:
					w.silent[a] = true
				case 3:
					w.ghosts[a] = true
				case 4:
					w.newcomers = append(w.newcomers, fmt.Sprintf("demo-dc1-rack1-%d", w.members+len(w.newcomers)))
				default:
					w.racks, w.members = rapid.IntRange(1, 4).Draw(r, "racks"), rapid.IntRange(0, 12).Draw(r, "members")
					w.newcomers = nil
					if w.members == 0 {
						w.members, w.newcomers = 1, []string{"demo-dc1-rack1-1"}
					}
				}
				if rapid.Bool().Draw(r, "problem") {
					w.problems = []cluster.Problem{{Resource: "pods", Kind: cluster.ProblemForbidden, Message: "pods may not be listed"}}
				}
				s.loads(w)
			case 4:
				s.send(Lost{Since: s.now, Err: errors.New("gone")})
			default:
				s.press(rapid.SampledFrom(keys).Draw(r, "key"))
			}
			frame := s.Frame()
			lines := strings.Split(stripped(frame), "\n")
			if len(lines) > height {
				r.Fatalf("%d lines on %dx%d:\n%s", len(lines), width, height, strings.Join(lines, "\n"))
			}
			for _, line := range lines {
				if n := ansi.StringWidth(line); n > width {
					r.Fatalf("a line of %d cells on %dx%d: %q", n, width, height, line)
				}
			}
			if rows, columns := &s.matrix.rows, &s.matrix.columns; rows.at < 0 || columns.at < 0 || len(rows.items) > 0 && rows.item() < 0 || len(columns.items) > 0 && columns.item() < 0 {
				r.Fatalf("cursor at %d of %d, %d of %d", rows.at, len(rows.items), columns.at, len(columns.items))
			}
		}
	})
}

// The same objects read again cost nothing but move time on; any other version, a silent controller or old age makes the document anew.
func TestSameObjectsAreNotJudgedAgain(t *testing.T) {
	read := func(at time.Duration, version string, lease time.Duration) *cluster.Cluster {
		w := newWorld(3, 1)
		w.readAt, w.lease = start.Add(at), start.Add(lease)
		k := w.snapshot()
		for i := range k.Services {
			k.Services[i].ResourceVersion = version
		}
		for i := range k.Pods {
			k.Pods[i].ResourceVersion = "1"
		}
		for i := range k.Reports {
			k.Reports[i].ResourceVersion = "1"
		}
		return k
	}
	first := NewSnapshot(read(0, "1", 0), statusOf(read(0, "1", 0), start), nil, true, start)
	next := NewSnapshot(read(5*time.Second, "1", 4*time.Second), statusOf(read(5*time.Second, "1", 4*time.Second), start), first, true, start)
	if next.facts != first.facts || !next.at.Equal(start.Add(5*time.Second)) || len(next.changes) != 0 {
		t.Errorf("the same objects: same document %v, read at %v, changes %v", next.facts == first.facts, next.at, next.changes)
	}
	for name, k := range map[string]*cluster.Cluster{
		"another version":     read(5*time.Second, "2", 4*time.Second),
		"a silent controller": read(5*time.Second, "1", -time.Minute),
		"old age":             read(time.Minute, "1", 59*time.Second),
	} {
		if NewSnapshot(k, statusOf(k, start), first, true, start).facts == first.facts {
			t.Errorf("%s: the document is used again", name)
		}
	}
	later, before := read(5*time.Second, "", 0), read(0, "", 0)
	if NewSnapshot(later, statusOf(later, start), NewSnapshot(before, statusOf(before, start), nil, true, start), true, start).facts == nil {
		t.Error("objects without versions are not judged")
	}
}
