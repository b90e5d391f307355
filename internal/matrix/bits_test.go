// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestBitsetIsASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "size")
		genMember := rapid.Int32Range(0, int32(n-1))
		a, b := make(bitset, chunks(n)), make(bitset, chunks(n))
		inA, inB := map[int32]bool{}, map[int32]bool{}
		for _, i := range rapid.SliceOf(genMember).Draw(t, "a") {
			a.set(i)
			inA[i] = true
		}
		for _, i := range rapid.SliceOf(genMember).Draw(t, "b") {
			b.set(i)
			inB[i] = true
		}
		for _, i := range rapid.SliceOf(genMember).Draw(t, "cleared") {
			a.clear(i)
			delete(inA, i)
		}
		var all, minus []int32
		for i := range int32(n) {
			if a.has(i) != inA[i] {
				t.Errorf("has(%d) = %v", i, a.has(i))
			}
			if inA[i] {
				all = append(all, i)
				if !inB[i] {
					minus = append(minus, i)
				}
			}
		}
		if got := slices.Collect(a.all()); !slices.Equal(got, all) || a.count() != len(all) {
			t.Errorf("all() = %v, count() = %d, want %v", got, a.count(), all)
		}
		if got := slices.Collect(a.minus(b)); !slices.Equal(got, minus) {
			t.Errorf("minus = %v, want %v", got, minus)
		}
		for i := range a.all() { // an early end is an end
			if i != all[0] {
				t.Errorf("first member %d, want %d", i, all[0])
			}
			break
		}
		a.or(b)
		for i := range int32(n) {
			if a.has(i) != (inA[i] || inB[i]) {
				t.Errorf("after or: has(%d) = %v", i, a.has(i))
			}
		}
		if a.same(b) || !a.same(a) {
			t.Error("same")
		}
	})
}
