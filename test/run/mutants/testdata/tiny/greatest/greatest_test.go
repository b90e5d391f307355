// SPDX-License-Identifier: Apache-2.0

package greatest

import "testing"

func TestOf(t *testing.T) {
	t.Run("second", func(t *testing.T) {
		if got := Of(1, 2); got != 2 {
			t.Errorf("greater of 1 and 2: %d", got)
		}
	})
}

func TestBoth(t *testing.T) {
	if Of(1, 2) == Least(1, 2) {
		t.Error("the greater is the smaller one")
	}
}
