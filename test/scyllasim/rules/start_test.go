// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"strings"
	"testing"
)

func TestNextOfAStart(t *testing.T) {
	t.Parallel()
	older, now := Version{Major: 5, Minor: 4}, Version{Major: 2026, Minor: 2}
	for name, tc := range map[string]struct {
		start Start
		path  Path
		why   string
	}{
		"empty volume":                       {Start{}, Discovers, ""},
		"it has found a cluster":             {Start{Found: true}, Asks, ""},
		"its first node":                     {Start{Alone: true}, Founds, ""},
		"a first zero-token node":            {Start{Alone: true, ZeroToken: true}, Ends, "as zero-token"},
		"a member":                           {Start{Disk: Disk{Completed: true, Group0: true}, State: Normal}, Rejoins, ""},
		"it replaced one":                    {Start{Disk: Disk{Completed: true, Group0: true}, State: Normal, Replaces: "x"}, Rejoins, ""},
		"a member that was removed":          {Start{Disk: Disk{Completed: true, Group0: true}, State: Left}, Ends, "already left the cluster"},
		"its request failed":                 {Start{State: Left}, Discovers, ""},
		"it was accepted, and stopped":       {Start{Disk: Disk{Group0: true}, State: Left}, Unfinished, ""},
		"so was a founder":                   {Start{Disk: Disk{Group0: true}, Alone: true}, Unfinished, ""},
		"one that was decommissioned":        {Start{Disk: Disk{Decommissioned: true}, State: Left}, Ends, "was decommissioned"},
		"and has forgotten who is member":    {Start{Disk: Disk{Decommissioned: true}}, Ends, "was decommissioned"},
		"a replacement":                      {Start{Version: now, Replaces: "x"}, Discovers, ""},
		"before 6.0":                         {Start{Version: older, Replaces: "x"}, Gathers, ""},
		"before 6.0, with its target":        {Start{Version: older, Replaces: "x", Gathered: true, Known: true}, Discovers, ""},
		"one that has found a cluster":       {Start{Version: now, Replaces: "x", Found: true}, Gathers, ""},
		"one without a target":               {Start{Version: now, Replaces: "x", Found: true, Gathered: true}, Ends, "x not found"},
		"one with a target":                  {Start{Version: now, Replaces: "x", Found: true, Gathered: true, Known: true}, Asks, ""},
		"one that knows itself alone":        {Start{Version: now, Replaces: "x", Alone: true}, Ends, "Unable to gossip with any nodes={}"},
		"one that was accepted":              {Start{Version: now, Replaces: "x", Disk: Disk{Group0: true}}, Gathers, ""},
		"its target is there":                {Start{Version: now, Replaces: "x", Disk: Disk{Group0: true}, Gathered: true, Known: true}, Unfinished, ""},
		"its target left when it had joined": {Start{Version: now, Replaces: "x", Disk: Disk{Group0: true}, Gathered: true}, Ends, "x not found"},
	} {
		if path, why := tc.start.Next(); path != tc.path || tc.why == "" && why != "" || !strings.Contains(why, tc.why) {
			t.Errorf("%s: %v %q, want %v %q", name, path, why, tc.path, tc.why)
		}
	}
}

func TestStages(t *testing.T) {
	t.Parallel()
	for kind, want := range map[Kind]struct {
		stages string
		states [4]State
	}{
		Join:    {"join_group0 write_both_read_old write_both_read_new", [4]State{Bootstrapping, Normal, Left, Left}},
		Replace: {"join_group0 write_both_read_old write_both_read_new", [4]State{Replacing, Normal, Left, Left}},
		Leave:   {"write_both_read_old write_both_read_new left_token_ring", [4]State{Decommissioning, Left, Normal, Normal}},
		Remove:  {"write_both_read_old write_both_read_new left_token_ring", [4]State{Removing, Left, Normal, Normal}},
	} {
		var got []string
		for s := kind.First(); s != Done; s = kind.After(s, false) {
			got = append(got, string(s))
			want := map[Stage]Stage{Accept: Rollback, ReadOld: Rollback, ReadNew: ReadNew, LeftRing: LeftRing}[s]
			if s == ReadOld && (kind == Leave || kind == Remove) {
				want = Done
			}
			if back := kind.Failed(s); back != want {
				t.Errorf("%s: %q follows %s when it fails, want %q", kind, back, s, want)
			}
		}
		states := [4]State{kind.Begins(), kind.Ends(), kind.RolledBack(), kind.Cancelled()}
		if strings.Join(got, " ") != want.stages || states != want.states {
			t.Errorf("%s: %v, %v", kind, got, states)
		}
	}
	if Join.After(Accept, true) != Done {
		t.Error("a zero-token node streams")
	}
}
