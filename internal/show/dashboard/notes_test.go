// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// The detail of a node contains its notes.
func TestTheDetailHasTheNotes(t *testing.T) {
	c := newWorld(3, 1).snapshot()
	for i := range c.Services {
		c.Services[i].Labels[api.LabelNodeMaintenance] = ""
		c.Services[i].Annotations = map[string]string{api.AnnotationForceProceed: "true"}
	}
	read, err := c.Using(c.Source)
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{t: t, now: start}
	s.model = NewModel(NewSnapshot(read, statusOf(read, start), nil, true, start), Options{Now: func() time.Time { return s.now }, Profile: colorprofile.NoTTY})
	s.send(tea.WindowSizeMsg{Width: 200, Height: 50})
	s.has("  forced=true", "  label node-maintenance")
}
