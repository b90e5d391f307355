// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"
)

// Vitals are a node's values about its process and data; nil if the node returned none.
type Vitals struct {
	Uptime *time.Duration
	// Load is the data on disk in bytes, Tokens the number of the node's ring tokens.
	Load   *int64
	Tokens *int
}

// ReadVitals reads a node's vitals. members is the node's list of members. A value that this
// version, or this stage of the start, does not have is nil; other failed requests are in gaps.
func ReadVitals(ctx context.Context, c *Client, members []Member) (v Vitals, gaps []error) {
	note := func(err error) bool {
		if err != nil && !IsMissing(err) {
			gaps = append(gaps, err)
		}
		return err == nil
	}
	if up, err := c.Uptime(ctx); note(err) {
		v.Uptime = &up
	}
	if load, err := c.Load(ctx); note(err) {
		v.Load = &load
	}
	id, err := c.LocalHostID(ctx)
	if !note(err) {
		return v, gaps
	}
	if address := onlyAddress(members, id); address != "" {
		if tokens, err := c.Tokens(ctx, address); note(err) {
			n := len(tokens)
			v.Tokens = &n
		}
	}
	return v, gaps
}

// onlyAddress returns a member's address, empty if it has none or shares it: ScyllaDB then answers
// for either member.
func onlyAddress(members []Member, id string) string {
	found := ""
	for _, m := range members {
		if m.HostID == id && id != "" {
			if found != "" {
				return ""
			}
			found = m.Address
		}
	}
	for _, m := range members {
		if m.Address == found && m.HostID != id {
			return ""
		}
	}
	return found
}

// Uptime returns how long the node's process has run.
func (c *Client) Uptime(ctx context.Context) (time.Duration, error) {
	var ms float64
	err := c.get(ctx, "/system/uptime_ms", func(b io.Reader) (err error) { ms, err = decodeAmount(b); return })
	return time.Duration(min(ms, float64(math.MaxInt64/int64(time.Millisecond)/2))) * time.Millisecond, err
}

// Load returns the size of the node's data on disk in bytes. ScyllaDB prints a floating-point
// number.
func (c *Client) Load(ctx context.Context) (int64, error) {
	var out float64
	err := c.get(ctx, "/storage_service/load", func(b io.Reader) (err error) { out, err = decodeAmount(b); return })
	return int64(min(out, math.MaxInt64/2)), err
}

// decodeAmount decodes a number >= 0, such as 12 or 1.2e+07, with or without quotes.
func decodeAmount(b io.Reader) (float64, error) {
	data, err := limitValue.Read(b, theAnswer)
	if err != nil {
		return 0, err
	}
	text := string(bytes.Trim(bytes.TrimSpace(data), `"`))
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, fmt.Errorf("unexpected %q: must be a number of 0 or more", clip(text))
	}
	return n, nil
}
