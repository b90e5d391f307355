// SPDX-License-Identifier: Apache-2.0

package cluster

import "time"

// Vitals are a node's answers about its process and its data (SourceLive). A value is nil where the node did not return it, or was not asked.
type Vitals struct {
	// UptimeSeconds is how long its process has run.
	UptimeSeconds *int64 `json:"uptimeSeconds,omitempty"`
	// LoadBytes is the size of its data on disk.
	LoadBytes *int64 `json:"loadBytes,omitempty"`
	// Tokens is how many tokens of the ring it owns; 0 where it owns none.
	Tokens *int `json:"tokens,omitempty"`
}

// Uptime as a duration; false where the node did not return it.
func (v Vitals) Uptime() (time.Duration, bool) {
	if v.UptimeSeconds == nil {
		return 0, false
	}
	return time.Duration(*v.UptimeSeconds) * time.Second, true
}
