// SPDX-License-Identifier: Apache-2.0

package api

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// DecodeNodeStatusReport reads a pod annotation in the shipped shape (flat observedNodes) or the proposal's (nested
// nodeStatusReport). Unknown fields are skipped and statuses kept as they are; anything after the first JSON value is an error.
func DecodeNodeStatusReport(value string) (*NodeStatusReport, error) {
	var both struct {
		NodeStatusReport
		Nested *struct {
			HostID        string                     `json:"hostID"`
			ObservedNodes []ObservedNodeStatusReport `json:"observedNodes"`
		} `json:"nodeStatusReport"`
	}
	if err := json.Unmarshal([]byte(value), &both); err != nil {
		return nil, fmt.Errorf("decode node status report: %w", err)
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
	return &r, nil
}

// EncodeNodeStatusReport writes the shipped shape plus our additive fields: rows sorted by host ID, one JSON line that ends in
// a newline. The same facts give the same bytes. It does not change r.
func EncodeNodeStatusReport(r *NodeStatusReport) (string, error) {
	c := *r
	c.ObservedNodes = slices.Clone(r.ObservedNodes)
	slices.SortStableFunc(c.ObservedNodes, func(a, b ObservedNodeStatusReport) int { return strings.Compare(a.HostID, b.HostID) })
	c.Operations = slices.Clone(r.Operations)
	slices.SortStableFunc(c.Operations, func(a, b NodeOperation) int {
		return strings.Compare(a.HostID+" "+a.Type+" "+a.State, b.HostID+" "+b.Type+" "+b.State)
	})
	b, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("encode node status report: %w", err)
	}
	return string(b) + "\n", nil
}

// NewMembership sorts, deduplicates and digests host IDs.
func NewMembership(hostIDs []string) *Membership {
	ids := slices.Clone(hostIDs)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	sum := sha256.Sum256([]byte(strings.Join(ids, "\n")))
	return &Membership{Digest: hex.EncodeToString(sum[:])[:16], HostIDs: ids}
}
