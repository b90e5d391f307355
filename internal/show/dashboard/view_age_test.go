// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Beside how old what was read is, the screen says which view the controller has and how long it has said so; the age goes on while nothing is read.
func TestTheDashboardSaysHowOldTheViewIs(t *testing.T) {
	w := newWorld(3, 1)
	report := &api.ScyllaDBStatusReport{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{api.LabelManagedBy: api.ManagedByUs}}}
	report.Status.View = &api.StatusReportView{Epoch: 3, Seq: 41, ObservedAt: metav1.NewTime(start.Add(-12 * time.Second))}
	s := &screen{t: t, now: start}
	s.model = NewModel(NewSnapshot(w.snapshot().WithReport(report), statusOf(w.snapshot().WithReport(report), w.readAt), nil, true, w.readAt), Options{Now: func() time.Time { return s.now }, Profile: colorprofile.NoTTY})
	s.send(tea.WindowSizeMsg{Width: 200, Height: 50})
	s.has("view 3.41, unchanged 12s")
	s.now = start.Add(time.Minute)
	s.send(tea.WindowSizeMsg{Width: 200, Height: 50})
	s.has("view 3.41, unchanged 1m12s")
}
