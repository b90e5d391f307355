// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
)

// checkHostIDs returns an error unless every member has a valid host ID: readers would reject the
// row.
func (p *picture) checkHostIDs() error {
	if len(p.anonymous) > 0 {
		return fmt.Errorf("member %s has no host ID yet", p.anonymous[0])
	}
	for _, id := range slices.Sorted(maps.Keys(p.addresses)) {
		if _, err := hostid.Parse(id); err != nil {
			return fmt.Errorf("host ID of member %s: %w", p.addresses[id][0], err)
		}
	}
	return nil
}
