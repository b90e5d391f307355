// SPDX-License-Identifier: Apache-2.0

package scylla

import "slices"

// gap records a request without an answer, once for all its attempts.
func (r *Reader) gap(err error) {
	if err != nil && !slices.ContainsFunc(r.gaps, func(known error) bool { return known.Error() == err.Error() }) {
		r.gaps = append(r.gaps, err)
	}
}

// Gaps are the requests that got no answer when the last row was read and cost only their part of that row: those of a stage of starting that is not reached yet, or of a node in
// trouble. A path that a version does not have is no gap.
func (r *Reader) Gaps() []error { return r.gaps }
