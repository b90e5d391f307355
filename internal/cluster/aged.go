// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

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

// Allowed is the step itself, or how to look where it cannot be undone and the objects are Old.
func (c *Cluster) Allowed(step words.Message) words.Message {
	if !c.Old || !evidence.Irreversible(step) {
		return step
	}
	return c.ReadNow()
}

// ReadNow is the step for Old objects.
func (c *Cluster) ReadNow() words.Message {
	return words.New(words.ReadNow).Do(words.Scylla(c.Namespace, "status", c.Name))
}
