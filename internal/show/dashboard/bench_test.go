// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"testing"

	tea "charm.land/bubbletea/v2"
)

// A frame of 1,000 x 1,000 cells, of which a large terminal shows its part; the promise is 8 ms.
func BenchmarkFrame(b *testing.B) {
	for name, keys := range map[string][]string{"nodes": {"z"}, "racks": nil, "trouble": {"z", "s"}, "filtered": {"z", "/", "state:down", "enter"}} {
		b.Run("1000x1000/"+name, func(b *testing.B) {
			s := newScreen(b, thousand(), 240, 70)
			s.press(keys...)
			b.ReportAllocs()
			for b.Loop() {
				if s.View().Content == "" {
					b.Fatal("nothing is drawn")
				}
			}
		})
	}
}

// A key and the frame that follows.
func BenchmarkKey(b *testing.B) {
	s := newScreen(b, thousand(), 240, 70)
	s.press("z")
	keys := []tea.KeyPressMsg{{Code: tea.KeyDown}, {Code: tea.KeyRight}, {Code: tea.KeyUp}, {Code: tea.KeyLeft}}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.Update(keys[i%len(keys)])
		if s.View().Content == "" {
			b.Fatal("nothing is drawn")
		}
	}
}

// Preparing a snapshot happens outside the event loop.
func BenchmarkSnapshot(b *testing.B) {
	w := thousand()
	previous := w.first()
	k := w.snapshot()
	b.ReportAllocs()
	for b.Loop() {
		NewSnapshot(k, statusOf(k, start), previous, true, start)
	}
}
