// SPDX-License-Identifier: Apache-2.0

package cluster

import "time"

const (
	// savedFor is how long a step that cannot be undone may rest on saved objects.
	savedFor = time.Hour
	// ahead is how far the clock of a Pod or of the API server may be ahead of the reader's.
	ahead = time.Minute
)

// Aged is the Cluster of saved objects that are read at now. Objects whose age is not known, or is more than savedFor, are Old.
func (c *Cluster) Aged(now time.Time) *Cluster {
	if age := now.Sub(c.TakenAt); !c.TakenAt.IsZero() && -ahead <= age && age <= savedFor {
		return c
	}
	other := *c
	other.Old = true
	return other.judge(c.want)
}
