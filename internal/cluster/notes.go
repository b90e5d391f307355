// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"time"

	"k8s.io/utils/ptr"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Note is a fact of a member that every surface shows next to its Pod. It marshals as its message.
type Note struct {
	words.Message
	// Warn reports whether the fact needs attention: then the narrow table also shows it.
	Warn bool `json:"-"`
}

// Notes returns the facts of a member beyond its state, in display order.
func (m *Member) Notes() []Note {
	var out []Note
	add := func(warn bool, what words.Message) {
		if !what.IsZero() {
			out = append(out, Note{what, warn})
		}
	}
	if m.Force != "" {
		add(true, words.New(words.NoteForced, "value", m.Force))
	}
	add(false, m.Joining())
	if label, on := m.Maintenance(); on {
		var age any
		if m.c != nil && !label.Since.IsZero() && !m.c.TakenAt.IsZero() {
			// In minutes, so that a document one second later is the same.
			age = m.c.TakenAt.Truncate(time.Minute).Sub(label.Since)
		}
		add(true, words.New(words.NoteMaintenance, "age", age, "manager", label.By))
	}
	switch percent, known := m.DiskUsed(); {
	case known:
		add(percent >= DiskFull, words.New(words.NoteDisk, "percent", percent))
	case m.annotated().Heartbeat != nil: // of our reporter, without the mount
		add(false, words.New(words.NoteDiskUnknown))
	}
	return out
}

// Joining returns the progress of the member's join, or of its replacement of another node; zero
// if it does neither, or if the progress is unknown.
func (m *Member) Joining() words.Message {
	annotated, percent := m.annotated(), m.Says().JoinedPercent
	if percent == nil && annotated.OperationMode != modeNormal { // a live query does not return it
		percent = annotated.JoinedPercent
	}
	if p := ptr.Deref(percent, -1); 0 <= p && p < 100 && m.Says().OperationMode != modeNormal {
		return words.New(words.Joining, "percent", int(p))
	}
	return words.Message{}
}

// DiskFull is the first percentage that needs attention. ScyllaDB 2025.4 and later reject writes,
// repairs and incoming tablets at 98 % (critical_disk_utilization_level, db/config.cc:1785;
// replica/database.cc:2785, repair/row_level.cc:3713).
const DiskFull = 90

// DiskUsed returns how full the volume with the node's data is, in percent; false if unknown. With
// every source it is read from the annotation of the Pod.
func (m *Member) DiskUsed() (percent int, known bool) {
	used := ptr.Deref(m.annotated().DiskUsedPercent, -1)
	return int(used), 0 <= used && used <= 100
}

// annotated returns the report in the annotation of the member's Pod, with every source; empty if
// there is none.
func (m *Member) annotated() api.NodeStatusReport {
	if m.c == nil {
		return api.NodeStatusReport{}
	}
	return ptr.Deref(m.c.annotations[m.Ref.Member].report, api.NodeStatusReport{})
}

// Maintenance is label scylla/node-maintenance on a member Service.
type Maintenance struct {
	// By is the field manager that set the label; empty if no managed field has the label.
	By string
	// Since is when that manager last changed one of its fields; the label is at least as old. Zero
	// if unknown.
	Since time.Time
}

// Maintenance returns the label, and reports whether the member's Service has it.
func (m *Member) Maintenance() (Maintenance, bool) {
	if m.Service == nil {
		return Maintenance{}, false
	}
	if _, on := m.Service.Labels[api.LabelNodeMaintenance]; !on {
		return Maintenance{}, false
	}
	var out Maintenance
	for i := range m.Service.ManagedFields {
		entry := &m.Service.ManagedFields[i]
		var fields struct {
			Metadata struct {
				Labels map[string]json.RawMessage `json:"f:labels"`
			} `json:"f:metadata"`
		}
		if entry.FieldsV1 == nil || entry.Time == nil || json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) != nil {
			continue
		}
		// If several managers own the label, the last one counts: the shown age is the shortest.
		if _, owns := fields.Metadata.Labels["f:"+api.LabelNodeMaintenance]; owns && entry.Time.After(out.Since) {
			out = Maintenance{By: entry.Manager, Since: entry.Time.Time}
		}
	}
	return out, true
}
