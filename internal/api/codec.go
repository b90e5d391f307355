// SPDX-License-Identifier: Apache-2.0

package api

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
)

// DecodeNodeStatusReport decodes a Pod annotation in the shipped shape (flat observedNodes) or the
// proposal's (nested nodeStatusReport). Host IDs are converted to canonical UUIDs; other texts are
// errors. A cell without a host ID belongs to no node, and blocks. Unknown fields are skipped,
// statuses are unchanged, and text after the first JSON value is an error.
func DecodeNodeStatusReport(value string) (*NodeStatusReport, error) {
	var both struct {
		NodeStatusReport
		Nested *struct {
			HostID        hostid.ID                  `json:"hostID"`
			ObservedNodes []ObservedNodeStatusReport `json:"observedNodes"`
		} `json:"nodeStatusReport"`
	}
	if len(value) > maxRowBytes {
		return nil, fmt.Errorf("decode node status report: it has %d bytes, more than %d", len(value), maxRowBytes)
	}
	if err := json.Unmarshal([]byte(value), &both); err != nil {
		// err repeats the input
		return nil, fmt.Errorf("decode node status report: %.300s", err.Error())
	}
	r := both.NodeStatusReport
	if both.Nested != nil {
		if r.HostID == "" {
			r.HostID = both.Nested.HostID
		}
		if r.ObservedNodes == nil {
			r.ObservedNodes = both.Nested.ObservedNodes
		}
	}
	if n := max(len(r.ObservedNodes), len(r.Operations)); n > maxRowItems {
		return nil, fmt.Errorf("decode node status report: it lists %d nodes or operations, more than %d", n,
			maxRowItems)
	}
	r.boundTexts()
	if err := r.canonical(); err != nil {
		return nil, err
	}
	// An unusable heartbeat is an error: without it the row would look like a row from a reporter
	// without heartbeats, which only its Pod's status can make stale.
	if h := r.Heartbeat; h != nil && (h.Port < 1 || h.Port > 65535 || !IsFingerprint(h.Fingerprint)) {
		return nil,
			fmt.Errorf(
				"decode node status report: invalid heartbeat port %d or fingerprint %.80q: must be a port and a "+
					"lower-case hex SHA-256", h.Port, h.Fingerprint)
	}
	for i := range r.ObservedNodes {
		o := &r.ObservedNodes[i]
		if err := parse(&o.HostID); err != nil {
			return nil, fmt.Errorf("decode node status report: observedNodes[%d].hostID %w", i, err)
		}
		if t := o.Since; t != nil && !writable(t.Time) {
			return nil, fmt.Errorf("decode node status report: observedNodes[%d].since is outside the years 1 to 9999",
				i)
		}
	}
	// A place without a usable host ID belongs to no node, and no decision requires it.
	r.Places = slices.DeleteFunc(r.Places, func(p NodePlace) bool { return hostid.Known(string(p.HostID)) == "" })
	for i := range r.Places {
		r.Places[i].HostID = hostid.Known(string(r.Places[i].HostID))
	}
	for i := range r.Operations {
		o := &r.Operations[i]
		if err := parse(&o.HostID); err != nil {
			return nil, fmt.Errorf("decode node status report: operations[%d].hostID %w", i, err)
		}
	}
	if err := r.checkLastRow(); err != nil {
		return nil, err
	}
	return &r, nil
}

// canonical converts the node's own IDs to ScyllaDB's spelling.
func (r *NodeStatusReport) canonical() error {
	// Empty until the node has a host ID.
	if err := parse(&r.HostID); err != nil {
		return fmt.Errorf("decode node status report: hostID %w", err)
	}
	if err := parse(&r.Coordinator); err != nil {
		return fmt.Errorf("decode node status report: coordinator %w", err)
	}
	// Two spellings of one ID must not count as two clusters.
	group0, err := hostid.Optional(r.Group0ID)
	if err != nil {
		return fmt.Errorf("decode node status report: group0ID %.80q is not a UUID", r.Group0ID)
	}
	r.Group0ID = string(group0)
	return nil
}

// checkLastRow makes the host IDs of the last row canonical. It drops the last row if the row has
// no error.
func (r *NodeStatusReport) checkLastRow() error {
	last := r.LastRow
	if last == nil {
		return nil
	}
	if r.Error == nil {
		r.LastRow = nil
		return nil
	}
	if n := len(last.ObservedNodes); n > maxRowItems {
		return fmt.Errorf("decode node status report: lastRow lists %d nodes, more than %d", n, maxRowItems)
	}
	if err := parse(&last.HostID); err != nil {
		return fmt.Errorf("decode node status report: lastRow.hostID %w", err)
	}
	for i := range last.ObservedNodes {
		o := &last.ObservedNodes[i]
		if err := parse(&o.HostID); err != nil {
			return fmt.Errorf("decode node status report: lastRow.observedNodes[%d].hostID %w", i, err)
		}
		o.Since = nil
	}
	return nil
}

// Limits of a row, because every Pod can write the annotation. A row of 1,000 nodes has at most 100
// kB.
const (
	maxRowBytes = 256 << 10
	maxRowItems = 4096
	maxRowText  = 2000 // bytes of an error
	maxRowWord  = 200
	// maxRowRepairBased limits the names of node operations; ScyllaDB has five.
	maxRowRepairBased = 16
)

// boundTexts truncates texts that are displayed and copied into reports: the API server refuses a
// report that is too large.
func (r *NodeStatusReport) boundTexts() {
	if r.Error != nil {
		text := Clip(*r.Error, maxRowText)
		r.Error = &text
	}
	for _, word := range []*string{&r.Fault, &r.OperationMode, &r.ScyllaVersion} {
		*word = Clip(*word, maxRowWord)
	}
	if p := r.Process; p != nil && p.Ended != nil && !writable(p.Ended.Time) {
		r.Process = nil // dropped: no decision uses it
	} else if p != nil {
		p.State = Clip(p.State, maxRowWord)
	}
	if r.Credential != nil && !r.Credential.usable() {
		r.Credential = nil
	}
	r.RepairBased = r.RepairBased[:min(len(r.RepairBased), maxRowRepairBased)]
	for i := range r.RepairBased {
		r.RepairBased[i] = Clip(r.RepairBased[i], maxRowWord)
	}
	for i := range r.Operations {
		o := &r.Operations[i]
		o.Type, o.State, o.Error = Clip(o.Type, maxRowWord), Clip(o.State, maxRowWord), Clip(o.Error, maxRowText)
	}
	r.Places = r.Places[:min(len(r.Places), MaxPlaces)]
	for i := range r.Places {
		p := &r.Places[i]
		p.Datacenter, p.Rack = Clip(p.Datacenter, maxRowWord), Clip(p.Rack, maxRowWord)
	}
	boundCells(r.ObservedNodes)
	if r.LastRow != nil {
		boundCells(r.LastRow.ObservedNodes)
	}
}

func boundCells(cells []ObservedNodeStatusReport) {
	for i := range cells {
		o := &cells[i]
		o.Status, o.State = NodeStatus(Clip(string(o.Status), maxRowWord)), NodeState(Clip(string(o.State), maxRowWord))
	}
}

// Clip truncates a text to limit bytes plus an ellipsis, at a character boundary.
func Clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "..."
}

// writable reports whether a time can be written back in UTC. A time in year 9999 in a zone west of
// Greenwich is in year 10000 in UTC; the API server would refuse such a report.
func writable(t time.Time) bool {
	y := t.UTC().Year()
	return y >= 1 && y <= 9999
}

// parse replaces a text by its canonical host ID in place; an empty text stays empty.
func parse(id *hostid.ID) (err error) {
	*id, err = hostid.Optional(string(*id))
	return err
}

// IsFingerprint reports whether a text is a SHA-256 in lower-case hex.
func IsFingerprint(text string) bool {
	return len(text) == 2*sha256.Size && strings.Trim(text, "0123456789abcdef") == ""
}

// ReportDigest identifies a member's report, the annotation of its Pod: the first 16 characters of
// its lower-case hex SHA-256. It is empty for an empty report.
func ReportDigest(report string) string {
	return RowText{Rest: report}.Digest()
}

// SplitList splits a comma-separated list. It trims blanks and drops empty items.
func SplitList(s string) []string {
	var out []string
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

// EncodeNodeStatusReport encodes the shipped shape plus our additional fields: rows sorted by host
// ID, one line of JSON with a newline. Equal facts give equal bytes. It does not change r.
func EncodeNodeStatusReport(r *NodeStatusReport) (string, error) {
	c := *r
	c.ObservedNodes = slices.Clone(r.ObservedNodes)
	slices.SortStableFunc(c.ObservedNodes,
		func(a, b ObservedNodeStatusReport) int { return cmp.Compare(a.HostID, b.HostID) })
	c.Operations = slices.Clone(r.Operations)
	slices.SortStableFunc(c.Operations, func(a, b NodeOperation) int {
		return cmp.Or(cmp.Compare(a.HostID, b.HostID), strings.Compare(a.Type+" "+a.State, b.Type+" "+b.State))
	})
	b, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("encode node status report: %w", err)
	}
	return string(b) + "\n", nil
}

// KeepLast adds the last usable row to a row with an error, and returns the row to keep for the
// next call: r itself if r is usable. The last row of another node is dropped.
func (r *NodeStatusReport) KeepLast(last *LastRow) *LastRow {
	if r.Error == nil {
		r.LastRow = nil
		if r.HostID == "" || len(r.ObservedNodes) == 0 {
			return last
		}
		kept := &LastRow{HostID: r.HostID, ObservedNodes: slices.Clone(r.ObservedNodes)}
		for i := range kept.ObservedNodes {
			kept.ObservedNodes[i].Since = nil
		}
		return kept
	}
	if last != nil && r.HostID != "" && r.HostID != last.HostID {
		last = nil
	}
	r.LastRow = last
	return last
}

// LastHostID returns the host ID of the row, else of its last row; empty without either.
func (r *NodeStatusReport) LastHostID() hostid.ID {
	switch {
	case r == nil:
		return ""
	case r.HostID == "" && r.LastRow != nil:
		return r.LastRow.HostID
	}
	return r.HostID
}

// Plain converts a row to the cells of a datacenter report, without states and times.
func Plain(cells []ObservedNodeStatusReport) []ObservedNode {
	if cells == nil {
		return nil
	}
	out := make([]ObservedNode, len(cells))
	for i := range cells {
		out[i] = ObservedNode{HostID: string(cells[i].HostID), Status: cells[i].Status}
	}
	return out
}

// NewMembership returns the sorted host IDs without duplicates, with their digest.
func NewMembership[T ~string](hostIDs []T) *Membership {
	ids := make([]string, len(hostIDs))
	for i := range hostIDs {
		ids[i] = string(hostIDs[i])
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	sum, line := sha256.New(), []byte(nil)
	for i, id := range ids {
		if line = append(line[:0], id...); i < len(ids)-1 {
			line = append(line, '\n')
		}
		_, _ = sum.Write(line) // a hash returns no error
	}
	return &Membership{Digest: hex.EncodeToString(sum.Sum(nil)[:8]), HostIDs: ids}
}
