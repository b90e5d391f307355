// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// gap records a failed request, once for all its attempts.
func (r *Reader) gap(err error) {
	if err != nil && !slices.ContainsFunc(r.gaps, func(known error) bool { return known.Error() == err.Error() }) {
		r.gaps = append(r.gaps, err)
	}
}

// Gaps returns the failed requests of the last read that left only part of the row empty, for
// example because the node is still starting. A path that a version does not have is not a gap.
func (r *Reader) Gaps() []error { return r.gaps }

// Err returns the cause of the last row's Error, nil without Error.
func (r *Reader) Err() error { return r.err }

// failed returns row with the error and without observations.
func (r *Reader) failed(row api.NodeStatusReport, err error) api.NodeStatusReport {
	r.err = err
	text := err.Error()
	row.ObservedNodes, row.Error, row.Fault = nil, &text, api.FaultScyllaDB
	return row
}
