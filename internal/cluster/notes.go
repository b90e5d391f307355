// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
		add(true, words.New(words.NoteForced, "value", m.Force, "reasons", m.ForceCovers()))
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
	if percent, known := m.DiskUsed(); known {
		add(percent >= DiskFull, words.New(words.NoteDisk, "percent", percent, "by", m.DiskUsedBy()))
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
	if p := ptr.Deref(percent, -1); 0 <= p && p <= 100 && m.Says().OperationMode != modeNormal {
		return words.New(words.Joining, "percent", int(p))
	}
	return words.Message{}
}

// DiskFull is the first percentage that needs attention. ScyllaDB 2025.4 and later reject writes,
// repairs and incoming tablets at 98 % (critical_disk_utilization_level, db/config.cc:1785;
// replica/database.cc:2785, repair/row_level.cc:3713).
const DiskFull = 90

// DiskUsed returns how full the volume with the node's data is, in percent; false if unknown. With
// every source it is read from the annotation of the Pod, else from the saved output of df.
func (m *Member) DiskUsed() (percent int, known bool) {
	used := ptr.Deref(m.annotated().DiskUsedPercent, -1)
	if m.DiskUsedBy() != "" {
		used = *m.objects().Gathered[m.Ref.Member].DiskUsedPercent
	}
	return int(used), 0 <= used && used <= 100
}

// DiskUsedBy returns the file that DiskUsed is read from; empty for the annotation of the Pod.
func (m *Member) DiskUsedBy() string {
	if m.annotated().DiskUsedPercent != nil || m.objects().Gathered[m.Ref.Member].DiskUsedPercent == nil {
		return ""
	}
	return "df.log"
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
	// If several managers own the label, the last one counts: the shown age is the shortest.
	owner := LastOwner(m.Service.ManagedFields, "labels", api.LabelNodeMaintenance)
	if owner == nil {
		return Maintenance{}, true
	}
	return Maintenance{By: owner.Manager, Since: owner.Time.Time}, true
}

// ReplaceAsker returns who set label scylla/replace in a cluster of the Scylla Operator: its field
// manager, or the operator itself, which sets the label only for a node whose volume's Kubernetes
// node is gone (pkg/controller/orphanedpv/sync.go:152, 1.15 to 1.21). Zero if unknown: saved
// objects often have no managed fields.
func (m *Member) ReplaceAsker() words.Message {
	if m == nil || m.Service == nil || m.c == nil || !m.c.Operator {
		return words.Message{}
	}
	owner := LastOwner(m.Service.ManagedFields, "labels", api.LabelReplace)
	if owner == nil {
		return words.Message{}
	}
	// The API server cuts the user agent "scylla-operator (linux/amd64) ..." at its slash.
	if name, _, _ := strings.Cut(owner.Manager, " "); name == api.OperatorName {
		return words.New(words.AskedByOperator)
	}
	return words.New(words.AskedBy, "manager", owner.Manager)
}

// LastOwner returns the entry of the manager that last changed its fields, of those that own the
// key of an object's metadata map: "labels" or "annotations". nil if no dated entry has the key.
func LastOwner(entries []metav1.ManagedFieldsEntry, in, key string) (last *metav1.ManagedFieldsEntry) {
	for i := range entries {
		e := &entries[i]
		var fields struct {
			Metadata map[string]map[string]json.RawMessage `json:"f:metadata"`
		}
		if e.FieldsV1 == nil || e.Time == nil || json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields) != nil {
			continue
		}
		if _, owns := fields.Metadata["f:"+in]["f:"+key]; owns && (last == nil || e.Time.After(last.Time.Time)) {
			last = e
		}
	}
	return last
}
