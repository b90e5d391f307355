// SPDX-License-Identifier: Apache-2.0

package cluster

import "time"

// Vitals are a node's answers about its process and its data (SourceLive). A value is nil if the
// node did not return it or was not queried.
type Vitals struct {
	// UptimeSeconds is how long its process has run.
	UptimeSeconds *int64 `json:"uptimeSeconds,omitempty"`
	// LoadBytes is the size of its data on disk.
	LoadBytes *int64 `json:"loadBytes,omitempty"`
	// Tokens is how many tokens of the ring it owns; may be 0.
	Tokens *int `json:"tokens,omitempty"`
}

// Uptime returns the uptime; false if the node did not return it.
func (v Vitals) Uptime() (time.Duration, bool) {
	if v.UptimeSeconds == nil {
		return 0, false
	}
	return time.Duration(*v.UptimeSeconds) * time.Second, true
}
