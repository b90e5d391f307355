// SPDX-License-Identifier: Apache-2.0

package members

import (
	"fmt"
	"strconv"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// operationDecommissioned is the operation mode of a node that was decommissioned.
const operationDecommissioned = "DECOMMISSIONED"

// Record returns the annotations to set on the member Service from the row of its node: only
// changed keys.
//
//   - The host ID of a node that has not joined never overwrites the host ID of one that has: the
//     recorded one is the only record of a failed node, and a replacement needs it.
//   - joined never changes to false because a query failed or because a restarting node does not
//     own its tokens yet, but only if the node reports that it is decommissioned.
//   - The host ID of the last usable row counts if none is recorded and ScyllaDB does not respond:
//     the node was started while no controller recorded it. That row does not show whether it had
//     joined.
//   - If a node joins that was recorded before without having joined, or that replaced another, now
//     is recorded with its host ID. If it had joined before its first record, the time of its join
//     is unknown. A replacement has its own record.
func Record(annotations map[string]string, row *api.NodeStatusReport, now time.Time) map[string]string {
	if row == nil {
		return nil
	}
	recorded, joined := annotations[api.AnnotationHostID],
		annotations[api.AnnotationNodeJoined] == strconv.FormatBool(true)
	says := cluster.SaysJoined(row)
	want := map[string]string{}
	switch {
	case row.HostID == "" && recorded == "" && row.LastRow != nil:
		want[api.AnnotationHostID] = string(row.LastRow.HostID)
	case row.HostID == "":
		return nil
	case says != nil && *says:
		want[api.AnnotationHostID], want[api.AnnotationNodeJoined] = string(row.HostID), strconv.FormatBool(true)
		notYet := recorded == string(row.HostID) && annotations[api.AnnotationNodeJoined] == strconv.FormatBool(false)
		if another := joined && recorded != "" && recorded != string(row.HostID); notYet || another {
			want[api.AnnotationJoinedAt] = string(row.HostID) + " " + now.UTC().Format(time.RFC3339)
		}
	case joined && recorded != string(row.HostID) && (recorded != "" || says != nil):
		return nil // the recorded join is, or may be, that of another host ID
	case joined:
		want[api.AnnotationHostID] = string(row.HostID)
		if row.OwnsTokens != nil && row.OperationMode == operationDecommissioned {
			want[api.AnnotationNodeJoined] = strconv.FormatBool(false)
		}
	default:
		want[api.AnnotationHostID] = string(row.HostID)
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

// left reports whether the node of a member without ordinal has also left the ScyllaDB cluster, and
// why. A majority of the other members must not list it; one member that lists it, joined or not,
// is enough to deny it. Rows of joined members count, unless they are stale.
func left(m *cluster.Member, others []*cluster.Member) (left bool, why string) {
	id := m.RecordedID()
	if id == "" && !m.HasJoined() {
		return true, "no node ever started in this member"
	}
	witnesses, members := 0, 0
	for _, p := range others {
		if p.HasJoined() {
			members++
		}
		if p.Report == nil {
			continue
		}
		for _, o := range p.Report.ObservedNodes {
			if o.HostID == id {
				return false, p.Name() + " lists host ID " + string(id)
			}
		}
		// A row with an error or without nodes is not evidence of absence.
		if p.HasJoined() && !stale(p.Pod) && p.Report.Error == nil && len(p.Report.ObservedNodes) > 0 {
			witnesses++
		}
	}
	switch {
	case id == "":
		return false, "its host ID is not recorded"
	case members == 0 && !m.HasJoined():
		return true, "it never joined, and no other member exists"
	case 2*witnesses <= members:
		return false, fmt.Sprintf("only %d of the other %d members have a usable status report", witnesses, members)
	}
	return true, "no other member lists host ID " + string(id)
}
