// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// shortened returns at most queueLimit of the queue. The latecomers, which are at its end, stay.
func shortened(queue []api.StatusReportViewWaiting) []api.StatusReportViewWaiting {
	if len(queue) <= queueLimit {
		return queue
	}
	late := slices.IndexFunc(queue, isLate)
	if late < 0 {
		return queue[:queueLimit]
	}
	last := queue[max(late, len(queue)-queueLimit):]
	return slices.Concat(queue[:queueLimit-len(last)], last)
}

func isLate(w api.StatusReportViewWaiting) bool { return w.Reason == string(words.PermitUnused) }

// latecomers returns the members that have left a permit unused, with their places in the queue,
// from 1. Only the stored queue records them.
func latecomers(v *api.StatusReportView) map[string]int {
	out := map[string]int{}
	if v != nil {
		for i, w := range v.Queue {
			if isLate(w) {
				out[w.Member] = i + 1
			}
		}
	}
	return out
}

// inTurn returns the requests in the order of their turns.
func (s *JoinCandidates) inTurn(late map[string]int) []*Request {
	out := make([]*Request, len(s.Requests))
	for i := range s.Requests {
		out[i] = &s.Requests[i]
	}
	slices.SortStableFunc(out, func(a, b *Request) int { return cmp.Compare(late[a.Name()], late[b.Name()]) })
	return out
}

// othersWait reports whether another member waits in its barrier, without a permit.
func (s *JoinCandidates) othersWait(a *Request) bool {
	return slices.ContainsFunc(s.Requests,
		func(b Request) bool { return b.Member != a.Member && b.Refused == "" && b.WaitsInBarrier() })
}
