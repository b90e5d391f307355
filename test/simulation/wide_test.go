// SPDX-License-Identifier: Apache-2.0

package simulation

import "testing"

// A barrier that does not look fails in nearly every seed of the world "wide", and each of that world's faults happens.
func TestWide(t *testing.T) {
	kinds, failed := map[string]int{}, 0
	const n = 40
	for _, r := range RunManyOf(Options{Rule: AlwaysOpen, World: Wide, Patience: 1}, 1, n) {
		for k, v := range r.Kinds {
			kinds[k] += v
		}
		if r.Unsafe+r.UnsafeStarts > 0 {
			failed++
		}
	}
	t.Logf("%d of %d fail\n%s", failed, n, kindsOf(kinds))
	if failed < n*95/100 {
		t.Errorf("%d of %d seeds fail with a barrier that is always open", failed, n)
	}
	for _, f := range wideFaults {
		if kinds[f.kind] == 0 {
			t.Errorf("in %d seeds it never happens that %s", n, f.kind)
		}
	}
}
