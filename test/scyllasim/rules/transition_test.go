// SPDX-License-Identifier: Apache-2.0

package rules

import "testing"

func TestTransitions(t *testing.T) {
	t.Parallel()
	for kind, want := range map[Kind][4]State{
		Join:    {Bootstrapping, Normal, Left, Left},
		Replace: {Replacing, Normal, Left, Left},
		Leave:   {Decommissioning, Left, Normal, Normal},
		Remove:  {Removing, Left, Normal, Normal},
	} {
		if got := [4]State{kind.Begins(), kind.Ends(), kind.RolledBack(), kind.Cancelled()}; got != want {
			t.Errorf("%s: %v, want %v", kind, got, want)
		}
	}
}
