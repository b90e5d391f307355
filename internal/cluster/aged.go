// SPDX-License-Identifier: Apache-2.0

package cluster

import "time"

const (
	// savedFor is the maximum age of saved objects that a step that cannot be undone may use.
	savedFor = time.Hour
	// ahead is the maximum clock difference between a Pod or the API server and the reader.
	ahead = time.Minute
)

// Aged returns the Cluster of saved objects that are read at the time now. Objects are Old if their
// age is unknown or exceeds savedFor.
func (c *Cluster) Aged(now time.Time) *Cluster {
	if age := now.Sub(c.TakenAt); !c.TakenAt.IsZero() && -ahead <= age && age <= savedFor {
		return c
	}
	other := *c
	other.Old = true
	return other.judge(c.want)
}
