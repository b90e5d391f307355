// SPDX-License-Identifier: Apache-2.0

package bootstrap_test

import (
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// A permit is for one kind of start, of one Pod, on one volume; a caller outside the Pod that knows neither shows the permit as it is.
func TestAPermitIsForOneStartOfOneMember(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Permission)
		kind   api.PermitKind
		want   words.Code // nothing: it may start
	}{
		"its own":              {change: func(*Permission) {}},
		"another Pod's":        {change: func(p *Permission) { p.PodUID = "pod-2" }, want: words.PermitForOtherPod},
		"no Pod's":             {change: func(p *Permission) { p.View.Permits[0].PodUID = "" }, want: words.PermitForOtherPod},
		"the Pod is unknown":   {change: func(p *Permission) { p.PodUID = "" }},
		"another PVC's":        {change: func(p *Permission) { p.ClaimUID = "claim-2" }, want: words.PermitForOtherClaim},
		"its PVC is gone":      {change: func(p *Permission) { p.ClaimUID = "" }, want: words.PermitForOtherClaim},
		"the PVC is unknown":   {change: func(p *Permission) { p.ClaimUID, p.ClaimKnown = "", false }},
		"of another kind":      {change: func(*Permission) {}, kind: api.PermitReplace, want: words.PermitForOtherKind},
		"of another member":    {change: func(p *Permission) { p.View.Permits[0].Member = "demo-r2-0" }, want: words.PermitNotQueued},
		"of an older view":     {change: func(p *Permission) { p.Old = words.New(words.ViewNotSeenToAdvance) }, want: words.ViewNotSeenToAdvance},
		"of another report":    {change: func(p *Permission) { p.Override = "everywhere" }, want: words.ViewOfAnOverride},
		"of a view that holds": {change: func(p *Permission) { p.View.Hold = "RolloutInProgress" }, want: words.ViewHolds},
	} {
		t.Run(name, func(t *testing.T) {
			self := ref("r1", "")
			p := Permission{
				View: &api.StatusReportView{Policy: api.PolicyPermits, Permits: []api.StatusReportViewPermit{
					{Kind: api.PermitJoin, Member: self.Member, PVCUID: "claim-1", PodUID: "pod-1"},
				}},
				Claim: "data", ClaimKnown: true, ClaimUID: "claim-1", PodUID: "pod-1",
			}
			tc.change(&p)
			kind := api.PermitJoin
			if tc.kind != "" {
				kind = tc.kind
			}
			var got words.Code
			if blockers := p.Blockers(self, kind, nil); len(blockers) > 0 {
				got = blockers[0].Cause.Code
			}
			if got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
