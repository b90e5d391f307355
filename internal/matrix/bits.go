// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"iter"
	"math/bits"
)

// bitset is a fixed-size set of node indexes. All sets of one matrix have the same length, and bits
// beyond the last node stay zero.
type bitset []uint64

func chunks(n int) int { return (n + 63) / 64 }

func (b bitset) set(i int32)      { b[i>>6] |= 1 << (i & 63) }
func (b bitset) clear(i int32)    { b[i>>6] &^= 1 << (i & 63) }
func (b bitset) has(i int32) bool { return b[i>>6]&(1<<(i&63)) != 0 }

func (b bitset) or(other bitset) {
	for w := range b {
		b[w] |= other[w]
	}
}

func (b bitset) count() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// minus yields the members of b that are not in other, in order.
func (b bitset) minus(other bitset) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for w := range b {
			for left := b[w] &^ other[w]; left != 0; left &= left - 1 {
				if !yield(int32(w<<6 + bits.TrailingZeros64(left))) {
					return
				}
			}
		}
	}
}

// all yields the members of b, in order.
func (b bitset) all() iter.Seq[int32] { return b.minus(make(bitset, len(b))) }

// same reports whether both share the same memory.
func (b bitset) same(other bitset) bool { return len(b) > 0 && len(other) > 0 && &b[0] == &other[0] }
