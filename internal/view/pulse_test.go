// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"testing"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
)

// One answer each two seconds: the Beat of each number, and the Heartbeat after the last one.
func TestPulse(t *testing.T) {
	start := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	const missed = -1
	for name, tc := range map[string]struct {
		numbers []int64 // missed for a look without an answer
		want    view.Beat
		digest  string
		after   time.Duration // of the last advance; negative for none
	}{
		"the first number advances nothing":      {[]int64{7}, view.BeatCounts, "d", -1},
		"an advance":                             {[]int64{7, 8}, view.BeatCounts, "d", 2 * time.Second},
		"it stands still for less than limit":    {[]int64{7, 8, 8, 8}, view.BeatCounts, "d", 2 * time.Second},
		"it stands still for longer":             {[]int64{7, 8, 8, 8, 8, 8, 8, 8}, view.BeatStoodStill, "", 2 * time.Second},
		"it went back":                           {[]int64{7, 8, 7}, view.BeatWentBack, "", 2 * time.Second},
		"a late answer does not hide the next":   {[]int64{7, 8, 7, 9}, view.BeatCounts, "d", 6 * time.Second},
		"a missed look confirms no row":          {[]int64{7, 8, missed}, view.BeatCounts, "", 2 * time.Second},
		"the look after a missed one counts":     {[]int64{7, 8, missed, 9}, view.BeatCounts, "d", 6 * time.Second},
		"a hung reporter serves its last number": {[]int64{7, 7, 7, 7, 7, 7, 7}, view.BeatStoodStill, "", -1},
	} {
		t.Run(name, func(t *testing.T) {
			var p view.HeartbeatCounter
			got := view.BeatCounts
			for i, n := range tc.numbers {
				if n == missed {
					p.Miss()
					continue
				}
				got = p.Record(n, "d", start.Add(time.Duration(i)*2*time.Second), 0)
			}
			h := p.Heartbeat()
			if got != tc.want || h.Digest != tc.digest {
				t.Errorf("%v and digest %q, want %v and %q", got, h.Digest, tc.want, tc.digest)
			}
			if tc.after < 0 != h.Advanced.IsZero() || tc.after >= 0 && h.Advanced.Sub(start) != tc.after {
				t.Errorf("advanced at %v, want %v after the start", h.Advanced, tc.after)
			}
		})
	}
}
