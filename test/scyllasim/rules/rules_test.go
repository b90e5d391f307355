// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// assumed are the rules that ScyllaDB's source does not state, nor our facts about it.
var assumed = []string{
	"every other normal node has one, in all versions; since 2025.2 service/raft/group0_voter_handler.cc gives it to five at most.",
	"of two of one kind the one that was queued first begins.",
}

func TestAssumedRules(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	sentence := regexp.MustCompile(`(?s)Assumed: (.*?\.)(?: |$|\n)`)
	var got []string
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range sentence.FindAllStringSubmatch(strings.ReplaceAll(string(b), "\n//", ""), -1) {
			got = append(got, m[1])
		}
	}
	t.Log("assumed:\n" + strings.Join(got, "\n"))
	if d := cmp.Diff(assumed, got); d != "" {
		t.Error(d)
	}
}

type cluster struct {
	states  map[string]State
	ignored []string
}

func (c cluster) State(id string) State  { return c.states[id] }
func (c cluster) Ignored(id string) bool { return slices.Contains(c.ignored, id) }
func (c cluster) Normal() []string {
	var out []string
	for id, s := range c.states {
		if s == Normal {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

func TestNext(t *testing.T) {
	t.Parallel()
	c := cluster{map[string]State{"a": Normal, "b": Normal, "c": Normal, "new": None, "left": Left}, []string{"c"}}
	for name, tc := range map[string]struct {
		down  []string
		queue []Kind
		want  int
	}{
		"all are UP": {nil, []Kind{Join}, 0},
		"a join is cancelled for one that is DOWN":      {[]string{"a"}, []Kind{Join}, -1},
		"also for an ignored one":                       {[]string{"c"}, []Kind{Join}, -1},
		"a replacement passes over ignored ones":        {[]string{"c"}, []Kind{Replace}, 0},
		"and over no other":                             {[]string{"a", "c"}, []Kind{Replace}, -1},
		"a removal keeps a join in the queue":           {[]string{"c"}, []Kind{Join, Remove}, 1},
		"a replacement comes first":                     {nil, []Kind{Leave, Join, Replace}, 2},
		"the first of two joins":                        {nil, []Kind{Join, Join}, 0},
		"one that has left, or never came, is not dead": {[]string{"left", "new"}, []Kind{Join}, 0},
	} {
		dead := Dead(c, func(id string) bool { return !slices.Contains(tc.down, id) })
		if got := Next(c, tc.queue, func(k Kind) Kind { return k }, dead); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
	for id, want := range map[string]bool{"a": false, "c": true, "left": true, "unknown": false} {
		if Banned(c, id) != want {
			t.Errorf("%s is banned: %v", id, !want)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	c := cluster{map[string]State{"a": Normal, "b": Normal, "gone": Normal, "also": Normal, "ignored": Normal, "left": Left, "leaving": Decommissioning}, []string{"ignored"}}
	alive := func(id string) bool { return id == "a" || id == "b" || id == "leaving" }
	older, newer := Version{Major: 2026, Minor: 2}.Features(), Version{Major: 2026, Minor: 10}.Features()
	here, there := Place{DC: "dc1", Rack: "r1"}, Place{DC: "dc1", Rack: "r2"}
	replace := func(r Replacement) string { return r.Refused(c, alive) }
	remove := func(r Removal) string { return r.Refused(c, alive) }
	for name, tc := range map[string]struct{ got, want string }{
		"a new node":                         {AskedBefore(Absent), ""},
		"one that has left":                  {AskedBefore(Left), "already been removed"},
		"one that has asked":                 {AskedBefore(None), "didn't finish the procedure"},
		"a target that is UP":                {replace(Replacement{Target: "a"}), "tried to replace alive node a"},
		"a target that has left":             {replace(Replacement{Target: "left"}), "not in the 'normal' state"},
		"another rack":                       {replace(Replacement{Target: "gone", Old: here, New: there}), "in dc1/r1 with node in dc1/r2"},
		"another node DOWN, up to 2026.2":    {replace(Replacement{Target: "gone"}), ""},
		"another node DOWN":                  {replace(Replacement{Target: "gone", OtherDown: true}), "node also is down and not ignored"},
		"it is on the list":                  {replace(Replacement{Target: "gone", Ignore: []string{"also"}, OtherDown: true}), ""},
		"one on the list is UP":              {replace(Replacement{Target: "gone", Ignore: []string{"also", "b"}, OtherDown: true}), "ignored node b is alive"},
		"the target has left meanwhile":      {TurnedAway(c, Replace, "left", "", ""), "not in the 'normal' state"},
		"it has not":                         {TurnedAway(c, Replace, "gone", newer, newer), ""},
		"it is older than the cluster":       {TurnedAway(c, Join, "", older, newer), "Feature check failed"},
		"so is a node that leaves":           {TurnedAway(c, Leave, "", older, newer), ""},
		"removal of a node that is UP":       {remove(Removal{Target: "a"}), "maybe you should use decommission"},
		"removal of one that leaves":         {remove(Removal{Target: "leaving"}), "is in 'decommissioning' state"},
		"removal of nobody":                  {remove(Removal{Target: "left"}), "is not found"},
		"removal of the last owner":          {remove(Removal{Target: "gone", LastOwner: true}), "the last token-owning node"},
		"removal, another one DOWN":          {remove(Removal{Target: "gone", OtherDown: true}), "node also is down and not ignored"},
		"removal, with the list":             {remove(Removal{Target: "gone", Ignore: []string{"also"}, OtherDown: true}), ""},
		"a token owner for a zero-token one": {replace(Replacement{Target: "gone", Old: Place{ZeroToken: true}}), "the zero-token node gone with"},
	} {
		if tc.want == "" && tc.got != "" || !strings.Contains(tc.got, tc.want) {
			t.Errorf("%s: %q, want %q", name, tc.got, tc.want)
		}
	}
}

func TestDetector(t *testing.T) {
	t.Parallel()
	start := time.Unix(0, 0)
	d := Detector{Last: start, Timeout: FailureDetectorTimeout}
	now := start.Add(EchoInterval)
	for !d.Observe(false, now) && now.Sub(start) < time.Minute {
		now = now.Add(EchoInterval)
	}
	if took := now.Sub(start); took != LastDown {
		t.Errorf("DOWN after %v, want %v", took, LastDown)
	}
	d.Last = now
	for range 100 {
		now = now.Add(EchoInterval)
		if d.Observe(true, now) {
			t.Fatal("DOWN although every echo came back")
		}
	}
}

func TestLeads(t *testing.T) {
	t.Parallel()
	voters := []string{"a", "b", "c", "d"}
	for name, tc := range map[string]struct {
		id      string
		reaches []string
		want    bool
	}{
		"a majority":        {"a", []string{"b", "c"}, true},
		"half of them":      {"a", []string{"b"}, false},
		"it is no voter":    {"x", voters, false},
		"others do not add": {"a", []string{"x", "y"}, false},
	} {
		if got := Leads(voters, tc.id, func(id string) bool { return slices.Contains(tc.reaches, id) }); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestBreaks(t *testing.T) {
	t.Parallel()
	c := cluster{map[string]State{"a": Normal, "b": Normal, "gone": Removing, "new": Bootstrapping, "leaving": Decommissioning, "c": Normal}, []string{"c"}}
	for name, tc := range map[string]struct {
		k    Kind
		id   string
		down []string
		want bool
	}{
		"all are UP":                  {Join, "new", nil, false},
		"another one is DOWN":         {Join, "new", []string{"a"}, true},
		"the newcomer is":             {Join, "new", []string{"new"}, true},
		"the removed node is":         {Remove, "gone", []string{"gone"}, false},
		"another one, in a removal":   {Remove, "gone", []string{"gone", "a"}, true},
		"an ignored one":              {Remove, "gone", []string{"gone", "c"}, false},
		"an ignored one, in a join":   {Join, "new", []string{"c"}, true},
		"one that leaves is cut off":  {Leave, "leaving", []string{"leaving"}, true},
		"one that leaves, all others": {Leave, "leaving", nil, false},
	} {
		if got := Breaks(c, tc.k, tc.id, func(id string) bool { return !slices.Contains(tc.down, id) }); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestEnabled(t *testing.T) {
	t.Parallel()
	old, now := Version{Major: 2026, Minor: 2}.Features(), Version{Major: 2026, Minor: 3}.Features()
	for name, tc := range map[string]struct {
		was  string
		have []string
		dead []string
		want string
	}{
		"all have them":            {old, []string{now, now}, nil, now},
		"one has not":              {old, []string{now, old}, nil, old},
		"one is DOWN":              {old, []string{now, now}, []string{"a"}, old},
		"they are never taken off": {now, []string{old, old}, nil, now},
		"nobody is there":          {old, nil, nil, old},
	} {
		if got := Enabled(tc.was, tc.have, tc.dead); got != tc.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
