// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"strings"
	"testing"
)

func TestTransitions(t *testing.T) {
	t.Parallel()
	for kind, want := range map[Kind][4]State{
		Join:    {Bootstrapping, Normal, Left, Left},
		Replace: {Replacing, Normal, Left, Left},
		Leave:   {Decommissioning, Left, Normal, Normal},
		Remove:  {Removing, Left, Normal, Normal},
		Rebuild: {Rebuilding, Normal, Normal, Normal},
	} {
		if got := [4]State{kind.Begins(), kind.Ends(), kind.RolledBack(), kind.Cancelled()}; got != want {
			t.Errorf("%s: %v, want %v", kind, got, want)
		}
	}
}

func TestStartRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		disk  Disk
		state State
		want  string
	}{
		"empty volume":                    {Disk{}, Absent, ""},
		"a member":                        {Disk{Completed: true}, Normal, ""},
		"a member that was removed":       {Disk{Completed: true}, Left, "already left the cluster"},
		"its request failed":              {Disk{}, Left, ""},
		"one that was decommissioned":     {Disk{Decommissioned: true}, Left, "was decommissioned"},
		"and has forgotten who is member": {Disk{Decommissioned: true}, Absent, "was decommissioned"},
	} {
		if got := tc.disk.StartRefused(tc.state); tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
