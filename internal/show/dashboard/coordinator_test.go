// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

func TestC3TheDashboardNamesTheCoordinator(t *testing.T) {
	w := newWorld(3, 1)
	live := map[string]*api.NodeStatusReport{}
	for _, p := range w.places() {
		row := &api.NodeStatusReport{HostID: hostid.ID(p.id), OperationMode: "NORMAL", Coordinator: hostid.ID(w.places()[0].id)}
		for _, q := range w.places() {
			row.ObservedNodes = append(row.ObservedNodes, api.ObservedNodeStatusReport{HostID: hostid.ID(q.id), Status: api.NodeStatusUp})
		}
		live[p.name] = row
	}
	asked, err := w.snapshot().WithLive(live, nil, nil).Using(cluster.SourceLive)
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{t: t, now: start}
	s.model = NewModel(NewSnapshot(asked, statusOf(asked, w.readAt), nil, true, w.readAt), Options{Now: func() time.Time { return s.now }, Profile: colorprofile.NoTTY})
	s.send(tea.WindowSizeMsg{Width: 200, Height: 50})
	s.has("the topology coordinator is "+w.places()[0].name, ", topology coordinator,")
}
