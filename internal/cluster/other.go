// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// other is the row of a node that serves with another host ID than the one that its Service records; nil otherwise. A member that lost its volume and created a second cluster is
// one, until its Service records the new host ID.
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
