// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// gap records a request without an answer, once for all its attempts.
func (r *Reader) gap(err error) {
	if err != nil && !slices.ContainsFunc(r.gaps, func(known error) bool { return known.Error() == err.Error() }) {
		r.gaps = append(r.gaps, err)
	}
}

// Gaps are the requests that got no answer when the last row was read and cost only their part of that row: those of a stage of starting that is not reached yet, or of a node in
// trouble. A path that a version does not have is no gap.
func (r *Reader) Gaps() []error { return r.gaps }

// Err is why the last row has an Error; nil where it has none.
func (r *Reader) Err() error { return r.err }

// failed is the row without observations.
func (r *Reader) failed(row api.NodeStatusReport, err error) api.NodeStatusReport {
	r.err = err
	text := err.Error()
	row.ObservedNodes, row.Error, row.Fault = nil, &text, api.FaultScyllaDB
	return row
}
