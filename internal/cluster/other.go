// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// other returns the row of a running node whose host ID differs from the host ID in its Service;
// nil otherwise. A member that lost its volume and bootstrapped a second cluster is such a node
// until its Service records the new host ID.
func (s *statement) other() *matrix.Other {
	if s.trouble.Code != words.OtherHostID || s.said.Error != nil || s.said.OperationMode != modeNormal {
		return nil
	}
	o := &matrix.Other{HostID: s.said.HostID, Group0: s.said.Group0ID}
	for _, c := range s.said.ObservedNodes {
		o.HostIDs = append(o.HostIDs, c.HostID)
	}
	if joined := SaysJoined(s.said); joined == nil || !*joined || !slices.Contains(o.HostIDs, o.HostID) {
		return nil
	}
	return o
}
