// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"testing"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// at is a Reads that has only the time.
type at struct {
	Reads
	now time.Time
}

func (a *at) Now() time.Time { return a.now }

// Counted is what a newer view has closed, and nothing else that closes: a view that has grown old, for one.
func TestClosingsByANewerViewAreCounted(t *testing.T) {
	now := time.Now()
	g := New(Self{}, &at{now: now})
	had := func(seq int64) {
		g.permits.views.Adopt(&api.StatusReportView{Epoch: 1, Seq: seq}, now)
		g.permits.had, g.permits.by = true, view.StampOf(g.permits.views.Latest())
	}
	closed := func() int {
		g.close(bootstrap.Verdict{}, []matrix.Blocker{{Reason: words.PermitPending}})
		return g.Newer
	}
	had(41)
	if n := closed(); n != 0 {
		t.Errorf("%v, and no newer view has come", n)
	}
	had(41)
	g.permits.views.Adopt(&api.StatusReportView{Epoch: 1, Seq: 42}, now)
	if n := closed(); n != 1 {
		t.Errorf("%v, want 1", n)
	}
	if n := closed(); n != 1 {
		t.Errorf("%v, and it had no permit any more", n)
	}
}
