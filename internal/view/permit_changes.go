// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// samePermits reports whether two views have the same permits. Since is not compared: it is for
// display, and a controller whose views are not stored whole would give a permit repeatedly.
func samePermits(a, b *api.StatusReportView) bool {
	return a.Policy == b.Policy && a.Founder == b.Founder && a.Waiting == b.Waiting &&
		slices.EqualFunc(a.Permits, b.Permits, func(x, y api.StatusReportViewPermit) bool {
			return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Member, y.Member), cmp.Compare(x.PVCUID, y.PVCUID),
				cmp.Compare(x.PodUID, y.PodUID),
				slices.Compare(x.Seeds, y.Seeds)) == 0
		}) &&
		slices.EqualFunc(a.Queue, b.Queue, func(x, y api.StatusReportViewWaiting) bool {
			return x.Member == y.Member && x.Kind == y.Kind && x.Reason == y.Reason && slices.Equal(x.Nodes, y.Nodes)
		})
}

// Values of Change.What.
const (
	PermitGranted   = "Granted"
	PermitWithdrawn = "Withdrawn"
	PermitUsed      = "Used" // its member has joined
)

// change is the change of one permit from one view to the next.
type change struct {
	What    string
	Member  string
	Kind    api.PermitKind
	Message words.Message
}

// Changes returns the permits that were given, withdrawn or used. joined returns whether a member
// has joined since.
func Changes(was, is *api.StatusReportView, joined func(member string) bool) []change {
	same := func(x api.StatusReportViewPermit) func(api.StatusReportViewPermit) bool {
		return func(y api.StatusReportViewPermit) bool {
			return x.Member == y.Member && x.Kind == y.Kind && x.PVCUID == y.PVCUID && x.PodUID == y.PodUID
		}
	}
	var out []change
	for _, p := range carried(was) {
		if slices.ContainsFunc(carried(is), same(p)) {
			continue
		}
		c := change{What: PermitWithdrawn, Member: p.Member, Kind: p.Kind}
		at := slices.IndexFunc(is.Queue, func(w api.StatusReportViewWaiting) bool { return w.Member == p.Member })
		switch {
		case at >= 0:
			c.Message = words.New(words.PermitIsWithdrawn, "member", p.Member, "kind", string(p.Kind), "why",
				bootstrap.Waits(is.Queue[at]))
		case joined(p.Member):
			c.What, c.Message = PermitUsed, words.New(words.PermitIsUsed, "member", p.Member, "kind", string(p.Kind))
		default:
			c.Message = words.New(words.PermitIsWithdrawn, "member", p.Member, "kind", string(p.Kind), "why",
				words.Message{})
		}
		out = append(out, c)
	}
	for _, p := range carried(is) {
		if !slices.ContainsFunc(carried(was), same(p)) {
			out = append(out, change{
				What: PermitGranted, Member: p.Member, Kind: p.Kind,
				Message: words.New(words.PermitIsGranted, "member", p.Member, "kind", string(p.Kind), "seeds", p.Seeds),
			})
		}
	}
	return out
}
