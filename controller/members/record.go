// SPDX-License-Identifier: Apache-2.0

package members

import (
	"fmt"
	"strconv"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// operationDecommissioned is ScyllaDB's word for a node that has left by itself.
const operationDecommissioned = "DECOMMISSIONED"

// Record returns what the member Service's annotations should say after the member's node has spoken: only the keys to set.
//
//   - A host ID that has not joined never overwrites one that has: the recorded one is the only trace of a node that died, and a
//     replacement needs it.
//   - joined never goes back to false because something could not be asked, nor because a restarting node does not own its tokens
//     yet; only a node that says itself that it is decommissioned has left.
//   - When a node joins that was recorded before without having joined, or that has taken the place of another, now is recorded with its host ID. A node
//     that has joined before anything was recorded of it was not seen to join, and one that replaces another has the record of its replacement.
func Record(annotations map[string]string, row *api.NodeStatusReport, now time.Time) map[string]string {
	if row == nil || row.HostID == "" {
		return nil
	}
	recorded, joined := annotations[api.AnnotationHostID], annotations[api.AnnotationNodeJoined] == strconv.FormatBool(true)
	says := cluster.SaysJoined(row)
	want := map[string]string{}
	switch {
	case says != nil && *says:
		want[api.AnnotationHostID], want[api.AnnotationNodeJoined] = row.HostID, strconv.FormatBool(true)
		notYet := recorded == row.HostID && annotations[api.AnnotationNodeJoined] == strconv.FormatBool(false)
		if another := joined && recorded != "" && recorded != row.HostID; notYet || another {
			want[api.AnnotationJoinedAt] = row.HostID + " " + now.UTC().Format(time.RFC3339)
		}
	case joined && recorded != "" && recorded != row.HostID:
		return nil
	case joined:
		want[api.AnnotationHostID] = row.HostID
		if row.OwnsTokens != nil && row.OperationMode == operationDecommissioned {
			want[api.AnnotationNodeJoined] = strconv.FormatBool(false)
		}
	default:
		want[api.AnnotationHostID] = row.HostID
		if says != nil {
			want[api.AnnotationNodeJoined] = strconv.FormatBool(false)
		}
	}
	for k, v := range want {
		if annotations[k] == v {
			delete(want, k)
		}
	}
	return want
}

// Departure judges whether the node of a member whose ordinal is gone has left the ScyllaDB cluster too.
type Departure struct {
	HostID string
	Joined bool
	// Peers are the rows of the other members of the cluster as far as they could be read.
	Peers []PeerRow
}

// PeerRow is what another member says.
type PeerRow struct {
	Member string
	// Joined members count as witnesses; what any row says against leaving counts.
	Joined bool
	// Stale rows are no witnesses.
	Stale bool
	Row   *api.NodeStatusReport
}

// Left says whether the node is no member any more, and why. It takes a majority of the other members to say so, and one to deny it.
func (d Departure) Left() (left bool, why string) {
	if d.HostID == "" && !d.Joined {
		return true, "no node ever started there"
	}
	witnesses, members := 0, 0
	for _, p := range d.Peers {
		if p.Joined {
			members++
		}
		if p.Row == nil {
			continue
		}
		for _, o := range p.Row.ObservedNodes {
			if o.HostID == d.HostID && o.State != api.NodeStateDecommissioned {
				return false, p.Member + " lists host ID " + d.HostID
			}
		}
		// A row with an error or without anybody in it is not evidence of absence.
		if p.Joined && !p.Stale && p.Row.Error == nil && len(p.Row.ObservedNodes) > 0 {
			witnesses++
		}
	}
	switch {
	case d.HostID == "":
		return false, "its host ID is not recorded"
	case members == 0 && !d.Joined:
		return true, "it never joined, and there is no other member"
	case 2*witnesses <= members:
		return false, fmt.Sprintf("only %d of the other %d members can be asked", witnesses, members)
	}
	return true, "no other member lists host ID " + d.HostID
}
