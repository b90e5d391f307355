// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// DefaultVersion is simulated when no version is chosen.
const DefaultVersion = "2026.2.0"

// The ports of every node.
const (
	storagePort = "7000"
	cqlPort     = "9042"
	apiPort     = "10000"
)

// Options configure a node. The zero value of a field means ScyllaDB's default unless said otherwise.
type Options struct {
	// Version to behave as; DefaultVersion if empty.
	Version string
	// Speed is how many times faster than wall time all of ScyllaDB's own intervals run; 1 if zero.
	Speed float64
	// Dir is the work directory (/var/lib/scylla). It must be set and is all that survives a restart.
	Dir string

	ClusterName string // "Test Cluster" if empty
	DC, Rack    string // "datacenter1", "rack1" if empty
	// Seeds are addresses or names; a name stands for all addresses it resolves to at that moment. Empty: the node's own address.
	Seeds []string

	ListenAddress    string // must be set
	BroadcastAddress string // ListenAddress if empty
	RPCAddress       string // ListenAddress if empty
	APIAddress       string // 127.0.0.1 if empty

	// ZeroToken is join_ring=false: the node becomes a member that owns no token. Since 6.2.
	ZeroToken bool
	// Keyspaces are the user keyspaces of the cluster; the node that founds the cluster creates them, every other node ignores them.
	Keyspaces []Keyspace

	// Authenticator of CQL clients, such as PasswordAuthenticator. Empty: AllowAllAuthenticator, and no CQL protocol.
	Authenticator string
	// MaintenanceSocket is ignore (if empty) or workdir.
	MaintenanceSocket string
	// CQLTLS serves CQL with a certificate that the node makes.
	CQLTLS bool
	// CQLHolds are events of CQL clients that the node holds once each: "after CREATE ROLE", as in package cql.
	CQLHolds []string

	ReplaceNodeFirstBoot    string
	ReplaceAddressFirstBoot string
	IgnoreDeadNodes         []string

	// StreamTime is how long a bootstrap, replace, decommission or removenode moves data. 3 s if zero.
	StreamTime time.Duration
	// TabletRebuildTime is how long a replacing node waits, already normal, before it is COMPLETED. 2 s if zero.
	TabletRebuildTime time.Duration
	// BanNoticeFirst decides a race of versions since 2026.1: a cancelled joiner reads the notice of its ban (exit 0) before the
	// coordinator's answer (exit 1).
	BanNoticeFirst bool

	// Log receives log lines; nil discards them (Node.Log still has them).
	Log io.Writer
	// Network is a firewall shared by nodes of one process; nil means none.
	Network *Network
}

func (o *Options) defaults() error {
	if o.Dir == "" {
		return errors.New("start node: Options.Dir is empty; give the work directory")
	}
	if net.ParseIP(o.ListenAddress) == nil {
		return fmt.Errorf("start node: Options.ListenAddress %q is not an IP address", o.ListenAddress)
	}
	o.Version = cmp.Or(o.Version, DefaultVersion)
	o.ClusterName = cmp.Or(o.ClusterName, "Test Cluster")
	o.DC = cmp.Or(o.DC, "datacenter1")
	o.Rack = cmp.Or(o.Rack, "rack1")
	o.BroadcastAddress = cmp.Or(o.BroadcastAddress, o.ListenAddress)
	o.RPCAddress = cmp.Or(o.RPCAddress, o.ListenAddress)
	o.APIAddress = cmp.Or(o.APIAddress, "127.0.0.1")
	o.StreamTime = cmp.Or(o.StreamTime, 3*time.Second)
	o.TabletRebuildTime = cmp.Or(o.TabletRebuildTime, 2*time.Second)
	if len(o.Seeds) == 0 {
		o.Seeds = []string{o.BroadcastAddress}
	}
	return nil
}

// clock is the time of a node. All durations given to it are ScyllaDB's own (a gossip round is one second); the clock converts
// them to wall time.
type clock struct {
	start time.Time
	speed float64
}

// newClock returns a clock that runs speed times as fast as wall time. A speed of zero or less means 1.
func newClock(speed float64) *clock {
	if speed <= 0 {
		speed = 1
	}
	return &clock{start: time.Now(), speed: speed}
}

// Now returns the node's time. Only differences mean something: a fast clock runs ahead of wall time.
func (c *clock) Now() time.Time {
	return c.start.Add(time.Duration(float64(time.Since(c.start)) * c.speed))
}

// After fires once d of the node's time has passed.
func (c *clock) After(d time.Duration) <-chan time.Time { return time.After(c.Real(d)) }

// sleep waits d of the node's time; its error is that of ctx, which ended before.
func (c *clock) sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-c.After(d):
	case <-ctx.Done():
	}
	return ctx.Err()
}

// Real converts a duration of the node's time to wall time.
func (c *clock) Real(d time.Duration) time.Duration { return time.Duration(float64(d) / c.speed) }
