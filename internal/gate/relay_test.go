// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"math"
	"testing"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
)

// at is a Reads that has only the time.
type at struct {
	Reads
	now time.Time
}

func (a *at) Now() time.Time { return a.now }

// relaying is a Reads whose members relay views, each within a second.
type relaying struct {
	at
	told []Told
}

func (r *relaying) Relays([]string) []Relay { return make([]Relay, len(r.told)) }

func (r *relaying) Views([]Relay) []Told {
	r.now = r.now.Add(time.Second)
	return r.told
}

// Nothing signs a view. Which relayed views close, when the API server's view 3.41 of report-1 lets the member start. None opens, and none hides another.
func TestAttack1WhichRelayedViewCloses(t *testing.T) {
	const limit = healthpolicy.ViewLimit
	of := func(epoch, seq int64, age time.Duration, permits ...api.StatusReportViewPermit) Told {
		return Told{Answered: true, Report: "report-1", Age: age,
			View: &api.StatusReportView{Epoch: epoch, Seq: seq, Policy: api.PolicyPermits, Permits: permits}}
	}
	permit := api.StatusReportViewPermit{Kind: api.PermitJoin, Member: "demo-0"}
	forged := of(math.MaxInt64, math.MaxInt64, 0, permit)
	other := of(3, 42, 0)
	other.Report = "report-2"
	untold := of(3, 42, 0)
	untold.Report = ""
	for name, c := range map[string]struct {
		told   []Told
		closes bool
	}{
		"a newer one without the permit":        {[]Told{of(3, 42, 0)}, true},
		"one of a later term":                   {[]Told{of(4, 1, 0)}, true},
		"one relay of two has it":               {[]Told{{}, of(3, 42, 0)}, true},
		"a newer one with the permit":           {[]Told{of(3, 42, 0, permit)}, false},
		"the same":                              {[]Told{of(3, 41, 0)}, false},
		"an older one":                          {[]Told{of(3, 40, 0)}, false},
		"one of an earlier term":                {[]Told{of(2, 900, 0)}, false},
		"one at the limit, with the request":    {[]Told{of(3, 42, limit-time.Second)}, true},
		"one beyond it":                         {[]Told{of(3, 42, limit-time.Second+1)}, false},
		"an age that overflows":                 {[]Told{of(3, 42, math.MaxInt64)}, false},
		"an age before the request":             {[]Told{of(3, 42, -1)}, false},
		"one of another report":                 {[]Told{other}, false},
		"one of a report that it does not tell": {[]Told{untold}, false},
		"a forged one before a true one":        {[]Told{forged, of(3, 42, 0)}, true},
		"a forged one after a true one":         {[]Told{of(3, 42, 0), forged}, true},
		"a forged one alone":                    {[]Told{forged}, false},
		"no answer, and none that has a view":   {[]Told{{}, {Answered: true}}, false},
	} {
		g := New(Self{Member: "demo-0"}, &relaying{at{now: time.Now()}, c.told})
		g.permits.views.Of("report-1", time.Time{})
		p := bootstrap.Permission{View: of(3, 41, 0, permit).View}
		blockers := g.turned(cluster.New(cluster.Objects{}, cluster.SourceReport, time.Now()), p, func(p *bootstrap.Permission) []matrix.Blocker {
			return p.Blockers(matrix.Ref{Member: "demo-0"}, api.PermitJoin, nil)
		})
		if (len(blockers) > 0) != c.closes {
			t.Errorf("%s: %+v", name, blockers)
		}
	}
}
