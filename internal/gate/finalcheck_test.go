// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"testing"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// refusing is a Reads whose final check always fails.
type refusing struct{ at }

func (r *refusing) Pods(*cluster.Cluster) (cluster.Objects, map[string]string, *matrix.Blocker) {
	return cluster.Objects{}, nil, &matrix.Blocker{Reason: words.APIUnreachable}
}

// Between two final checks the verdict is that of the earlier one. Seen stays with it: a step about a Service at its resource version, made for the earlier verdict
// from the later Service, forgets a member (seed 614255 by reports).
func TestNoHarmARefusalIsOfTheObjectsThatItsCheckRead(t *testing.T) {
	r := &refusing{at{now: time.Now()}}
	g := New(Self{Member: "demo-0", Policy: api.PolicyReports, Stabilisation: new(time.Duration)}, r)
	reading := func() *cluster.Cluster { return cluster.New(cluster.Objects{}, cluster.SourceReport, r.now) }
	judge := func(known *cluster.Cluster) *cluster.Cluster {
		g.seen = known // as decide does
		if v := g.settle(bootstrap.Verdict{Satisfied: true, Decision: bootstrap.DecisionAllUp}, known); v.Satisfied {
			t.Fatalf("opens: %+v", v)
		}
		return g.Seen()
	}
	checked, later := reading(), reading()
	if judge(checked) != checked {
		t.Error("the first check is not of its own reading")
	}
	r.now = r.now.Add(firstLook - 1)
	if judge(later) != checked {
		t.Error("the verdict of the first check has the objects of a later reading")
	}
	r.now = r.now.Add(1)
	if judge(later) != later {
		t.Error("the second check is not of its own reading")
	}
}
