// SPDX-License-Identifier: Apache-2.0

package cluster

import "time"

// Vitals are what a node says of its process and its data when it is asked itself (SourceLive). A value is nil where the node did not say it, or nobody asked.
type Vitals struct {
	// UptimeSeconds is for how long its process had run.
	UptimeSeconds *int64 `json:"uptimeSeconds,omitempty"`
	// LoadBytes is how much data it has on disk.
	LoadBytes *int64 `json:"loadBytes,omitempty"`
	// Tokens is how many tokens of the ring it owns; 0 where it owns none.
	Tokens *int `json:"tokens,omitempty"`
}

// Uptime as a duration; false where the node did not say.
func (v Vitals) Uptime() (time.Duration, bool) {
	if v.UptimeSeconds == nil {
		return 0, false
	}
	return time.Duration(*v.UptimeSeconds) * time.Second, true
}
