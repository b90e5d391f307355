// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The keyspaces that ScyllaDB creates with SimpleStrategy, which ignores datacenters and racks, and
// their factors, the same from 2025.1 to 2026.3 (db/system_distributed_keyspace.cc:276,
// tracing/trace_keyspace_helper.cc:215). Both distribute by vnodes: SimpleStrategy refuses tablets
// (locator/simple_strategy.cc:74).
var factory = map[string]string{
	"system_distributed": "SimpleStrategy replication_factor=3",
	"system_traces":      "SimpleStrategy replication_factor=2",
}

// mostReplicas in a datacenter.
const mostReplicas = 3

// Datacenter counts what can hold replicas: nodes that own tokens, and the racks with such a node.
type Datacenter struct {
	Racks int `json:"racks"`
	Nodes int `json:"nodes"`
}

// factor is min(3, racks); in a datacenter of one rack, where replicas cannot be spread, min(3,
// nodes). rf_rack_valid_keyspaces and, since 2026.1, enforce_rack_list do not limit it: both
// concern keyspaces with tablets alone, whatever the number of racks (locator/tablets.cc:1127 in
// 2025.1, :1112 in 2025.2, :1120 in 2025.3, :1310 in 2025.4, :1534 in 2026.1, :1650 in 2026.2).
// That a datacenter has enough nodes is checked only where tablets are allocated
// (locator/network_topology_strategy.cc:349 in 2025.1, :309 in 2025.2 to 2025.4, :319 in 2026.1,
// :313 in 2026.2). So every release accepts a factor above the number of racks here.
func (d Datacenter) factor() int {
	if d.Racks == 1 {
		return min(mostReplicas, d.Nodes)
	}
	return min(mostReplicas, d.Racks)
}

// Topology is what the view says of the cluster.
type Topology struct {
	Datacenters map[string]Datacenter `json:"datacenters"`
	// Quiet is false while a node is DOWN, joining or leaving.
	Quiet bool `json:"quiet"`
}

// ItemState is the state of one setting.
type ItemState string

// Values of ItemState.
const (
	Applied ItemState = "Applied"
	// Due is a statement that Apply runs; ToDo one that a person runs, because the mode is not
	// managed.
	Due  ItemState = "Due"
	ToDo ItemState = "ToDo"
	// Waiting has its reason: NotQuiet, WouldLower, DatacenterGone, or the reason of
	// the failed statement.
	Waiting ItemState = "Waiting"
	// Foreign was altered by another user, and is never changed.
	Foreign ItemState = "Foreign"
)

// Reasons of settings that wait.
const (
	NotQuiet       Reason = "NotQuiet"
	WouldLower     Reason = "WouldLower"
	DatacenterGone Reason = "DatacenterGone"
)

// Item is the replication of one keyspace.
type Item struct {
	Keyspace string    `json:"name"`
	State    ItemState `json:"state"`
	Reason   Reason    `json:"reason,omitempty"`
	// Replication is the present one, as "NetworkTopologyStrategy dc1=1"; empty when it could not
	// be read.
	Replication string `json:"replication,omitempty"`
	// Wanted are the factors by datacenter that Due and ToDo need, and a keyspace that could not be
	// read if it still has SimpleStrategy; see Statement.
	Wanted map[string]int32 `json:"wanted,omitempty"`
	// Ours are the replications that this container set or was about to set, the newest last. They
	// are stored before the statement runs.
	Ours []string `json:"ours,omitempty"`
	// RepairDue is true when the replicas moved after a second node had joined: a repair of the
	// keyspace fills the new ones.
	RepairDue bool `json:"repairDue,omitempty"`
}

// Settings are the first settings, for status.initialSettings.
type Settings struct {
	Hash      string    `json:"hash"`
	AppliedAt time.Time `json:"appliedAt,omitzero"`
	Items     []Item    `json:"items"`
}

// Keyspaces are the keyspaces of the first settings, sorted.
func Keyspaces() []string { return slices.Sorted(maps.Keys(factory)) }

// replication is ScyllaDB's map as one line: the class without its package, then the options,
// sorted.
func replication(options map[string]string) string {
	parts := []string{class(options["class"])}
	for _, k := range slices.Sorted(maps.Keys(options)) {
		if k != "class" {
			parts = append(parts, k+"="+options[k])
		}
	}
	return strings.Join(parts, " ")
}

// Plan says what each keyspace needs, from its replication now (nil: not readable), the topology
// and the items of the last time. Factors are raised and never lowered.
func Plan(now map[string]map[string]string, t Topology, before []Item, mode Mode) []Item {
	var out []Item
	for _, name := range Keyspaces() {
		item := Item{Keyspace: name}
		if i := slices.IndexFunc(before, func(b Item) bool { return b.Keyspace == name }); i >= 0 {
			item.Ours, item.RepairDue = before[i].Ours, before[i].RepairDue
		}
		item.plan(now[name], t, mode)
		out = append(out, item)
	}
	return out
}

func (i *Item) plan(options map[string]string, t Topology, mode Mode) {
	if options == nil {
		i.State, i.Reason = Waiting, Unreachable
		if want, _, _ := target(nil, t); len(want) > 1 {
			i.Wanted = factors(want)
		}
		return
	}
	i.Replication = replication(options)
	want, gone, lower := target(options, t)
	switch wanted := replication(want); {
	case len(want) == 1: // no datacenter with a token owner
		i.State, i.Reason = Waiting, NotQuiet
	case i.Replication == wanted:
		i.State = Applied
	case i.Replication != factory[i.Keyspace] && !slices.Contains(i.Ours, i.Replication):
		i.State = Foreign
	case lower:
		i.State, i.Reason = Waiting, WouldLower
	case gone:
		i.State, i.Reason = Waiting, DatacenterGone
	case !t.Quiet:
		i.State, i.Reason = Waiting, NotQuiet
	case mode != Managed:
		i.State, i.Wanted = ToDo, factors(want)
	default:
		i.State, i.Wanted = Due, factors(want)
	}
}

// target is the replication that a keyspace needs. gone is true when it names a datacenter that has
// no node now: ScyllaDB refuses such a statement ("Unrecognized strategy option",
// locator/abstract_replication_strategy.cc:92 in 2025.1, locator/network_topology_strategy.cc:292
// in 2026.1). lower is true when SimpleStrategy gives more replicas than the target.
func target(options map[string]string, t Topology) (want map[string]string, gone, lower bool) {
	want = map[string]string{"class": "NetworkTopologyStrategy"}
	nodes, total := 0, 0
	for dc, d := range t.Datacenters {
		if n := d.factor(); n > 0 {
			want[dc] = strconv.Itoa(n)
			nodes, total = nodes+d.Nodes, total+n
		}
	}
	if class(options["class"]) != "NetworkTopologyStrategy" {
		n, _ := strconv.Atoi(options["replication_factor"])
		return want, false, total < min(n, nodes)
	}
	for dc, has := range options {
		if dc == "class" {
			continue
		}
		n, _ := strconv.Atoi(has)
		if wants, ok := want[dc]; !ok {
			want[dc], gone = has, true
		} else if w, _ := strconv.Atoi(wants); n > w {
			want[dc] = has
		}
	}
	return want, gone, false
}

// factors are the numbers of a target by datacenter.
func factors(options map[string]string) map[string]int32 {
	out := map[string]int32{}
	for dc, n := range options {
		if dc != "class" {
			factor, _ := strconv.ParseInt(n, 10, 32)
			out[dc] = int32(factor)
		}
	}
	return out
}

// Statement is the ALTER KEYSPACE for the wanted factors.
func Statement(keyspace string, wanted map[string]int32) string {
	out := "ALTER KEYSPACE " + keyspace + " WITH replication = {'class': 'NetworkTopologyStrategy'"
	for _, dc := range slices.Sorted(maps.Keys(wanted)) {
		out += ", " + Quote(dc) + ": " + Quote(strconv.FormatInt(int64(wanted[dc]), 10))
	}
	return out + "}"
}

// Quote is a CQL string literal.
func Quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// Apply reads, plans and, in mode managed, alters, in one session as the Secret's role. save is
// called before each statement with the replication that it will set, so that a crash between the
// two does not make it look like another user's. Without a Secret the maintenance socket is read,
// and nothing is altered.
func Apply(
	ctx context.Context, db Database, in Input, before Settings, t Topology, now time.Time, save func(Settings) error,
) Settings {
	as := Login{Secret: in.Secret}
	if in.SecretReason != "" && in.Config.Applies() {
		as.Socket, in.Mode = true, Verify
	}
	s, err := db.Open(ctx, as)
	if err != nil {
		return settle(before, Plan(nil, t, before.Items, in.Mode), now, outcome(err).Failure)
	}
	defer s.Close()
	current := map[string]map[string]string{}
	for _, name := range Keyspaces() {
		if options, err := s.Replication(ctx, name); err == nil {
			current[name] = options
		}
	}
	items := Plan(current, t, before.Items, in.Mode)
	for i := range items {
		item := &items[i]
		if item.State != Due {
			continue
		}
		want, _, _ := target(current[item.Keyspace], t)
		item.Ours = remember(item.Ours, item.Replication, replication(want))
		if err := save(settle(before, items, now, nil)); err != nil {
			item.State, item.Reason = Waiting, Unreachable
			continue
		}
		if err := s.Alter(ctx, Statement(item.Keyspace, item.Wanted)); err != nil {
			item.State, item.Reason = Waiting, reasonOf(err)
			continue
		}
		item.State, item.Replication, item.Wanted = Applied, replication(want), nil
		item.RepairDue = item.RepairDue || nodesOf(t) > 1
	}
	return settle(before, items, now, nil)
}

// mostOurs replications are remembered: of statements whose outcome never arrived.
const mostOurs = 6

// remember moves replications to the end of the list; the oldest is forgotten. The present one is
// always among them, so that a statement that does not take effect costs nothing.
func remember(ours []string, last ...string) []string {
	ours = slices.DeleteFunc(slices.Clone(ours), func(o string) bool { return slices.Contains(last, o) })
	ours = append(ours, last...)
	return ours[max(0, len(ours)-mostOurs):]
}

func nodesOf(t Topology) (n int) {
	for _, d := range t.Datacenters {
		n += d.Nodes
	}
	return n
}

func reasonOf(err error) Reason {
	if f := outcome(err).Failure; f != nil {
		return f.Reason
	}
	return Refused
}

// settle dates the settings where an item has changed. It copies the items: what is stored must not
// change with the next step.
func settle(before Settings, items []Item, now time.Time, failed *Failure) Settings {
	items = slices.Clone(items)
	h := sha256.New()
	for i := range items {
		if failed != nil {
			items[i].Reason = failed.Reason
		}
		_, _ = fmt.Fprintln(h, items[i].Keyspace, items[i].State, items[i].Replication)
	}
	s := Settings{Hash: hex.EncodeToString(h.Sum(nil))[:16], AppliedAt: before.AppliedAt, Items: items}
	if s.Hash != before.Hash && !slices.ContainsFunc(items, func(i Item) bool { return i.State != Applied }) {
		s.AppliedAt = now
	}
	return s
}

// Wait is the time until the settings are tried again, after that many tries in a row; a change of
// the topology is a reason at once.
func (s Settings) Wait(tries int) time.Duration {
	byTopology := []Reason{NotQuiet, WouldLower, DatacenterGone}
	if slices.ContainsFunc(s.Items, func(i Item) bool {
		return i.State == Waiting && !slices.Contains(byTopology, i.Reason)
	}) {
		return backOff(tries)
	}
	return daily
}

// With adds the replications that an earlier member has set, and the dates of its settings.
func (s Settings) With(earlier *Settings) Settings {
	if earlier == nil {
		return s
	}
	if s.Hash == "" {
		s.Hash, s.AppliedAt = earlier.Hash, earlier.AppliedAt
	}
	items := slices.Clone(s.Items)
	for _, e := range earlier.Items {
		i := slices.IndexFunc(items, func(i Item) bool { return i.Keyspace == e.Keyspace })
		if i < 0 {
			items = append(items, e)
			continue
		}
		items[i].Ours = remember(e.Ours, items[i].Ours...)
		items[i].RepairDue = items[i].RepairDue || e.RepairDue
	}
	s.Items = items
	return s
}
