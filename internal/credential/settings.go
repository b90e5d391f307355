// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
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

// factor is min(3, racks); in a datacenter of one rack, where replicas cannot be spread, min(3,
// nodes). rf_rack_valid_keyspaces and, since 2026.1, enforce_rack_list do not limit it: both
// concern keyspaces with tablets alone, whatever the number of racks (locator/tablets.cc:1127 in
// 2025.1, :1112 in 2025.2, :1120 in 2025.3, :1310 in 2025.4, :1534 in 2026.1, :1650 in 2026.2).
// That a datacenter has enough nodes is checked only where tablets are allocated
// (locator/network_topology_strategy.cc:349 in 2025.1, :309 in 2025.2 to 2025.4, :319 in 2026.1,
// :313 in 2026.2). So every release accepts a factor above the number of racks here.
func factor(d api.StatusReportViewDatacenter) int32 {
	if d.Racks == 1 {
		return min(mostReplicas, d.Nodes)
	}
	return min(mostReplicas, d.Racks)
}

// States of a setting.
const (
	Applied api.InitialSettingState = "Applied"
	// Due is a statement that Apply runs; ToDo one that a person runs, because the mode is not
	// managed.
	Due  api.InitialSettingState = "Due"
	ToDo api.InitialSettingState = "ToDo"
	// Waiting has its reason: NotQuiet, WouldLower, DatacenterGone, or the reason of
	// the failed statement.
	Waiting api.InitialSettingState = "Waiting"
	// Foreign was altered by another user, and is never changed.
	Foreign api.InitialSettingState = "Foreign"
)

// Reasons of settings that wait.
const (
	NotQuiet       Reason = "NotQuiet"
	WouldLower     Reason = "WouldLower"
	DatacenterGone Reason = "DatacenterGone"
)

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
func Plan(
	now map[string]map[string]string, t *api.StatusReportViewCredential, before []api.InitialSetting, mode Mode,
) (out []api.InitialSetting) {
	for _, name := range Keyspaces() {
		item := api.InitialSetting{Name: name}
		if i := indexOf(before, name); i >= 0 {
			item.Ours, item.RepairDue = before[i].Ours, before[i].RepairDue
		}
		plan(&item, now[name], t, mode)
		out = append(out, item)
	}
	return out
}

func indexOf(items []api.InitialSetting, name string) int {
	return slices.IndexFunc(items, func(i api.InitialSetting) bool { return i.Name == name })
}

func plan(i *api.InitialSetting, options map[string]string, t *api.StatusReportViewCredential, mode Mode) {
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
	case i.Replication != factory[i.Name] && !slices.Contains(i.Ours, i.Replication):
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
func target(
	options map[string]string, t *api.StatusReportViewCredential,
) (want map[string]string, gone, lower bool) {
	want = map[string]string{"class": "NetworkTopologyStrategy"}
	nodes, total := int32(0), int32(0)
	for dc, d := range t.Datacenters {
		if n := factor(d); n > 0 {
			want[dc] = strconv.Itoa(int(n))
			nodes, total = nodes+d.Nodes, total+n
		}
	}
	if class(options["class"]) != "NetworkTopologyStrategy" {
		n, _ := strconv.Atoi(options["replication_factor"])
		return want, false, int(total) < min(n, int(nodes))
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
	ctx context.Context, db Database, in Input, before api.InitialSettings,
	t *api.StatusReportViewCredential, now time.Time, save func(api.InitialSettings) error,
) api.InitialSettings {
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
		want, _, _ := target(current[item.Name], t)
		item.Ours = remember(item.Ours, item.Replication, replication(want))
		if err := save(settle(before, items, now, nil)); err != nil {
			item.State, item.Reason = Waiting, Unreachable
			continue
		}
		if err := s.Alter(ctx, Statement(item.Name, item.Wanted)); err != nil {
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

func nodesOf(t *api.StatusReportViewCredential) (n int32) {
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

// settle dates the settings after a change. It copies the items: what is stored must not change with
// the next step.
func settle(
	before api.InitialSettings, items []api.InitialSetting, now time.Time, failed *Failure,
) api.InitialSettings {
	s := api.InitialSettings{AppliedAt: before.AppliedAt, Items: slices.Clone(items)}
	text, applied := "", true
	for i := range s.Items {
		item := &s.Items[i]
		if failed != nil {
			item.Reason = failed.Reason
		}
		text += fmt.Sprintln(item.Name, item.State, item.Replication)
		applied = applied && item.State == Applied
	}
	if s.Hash = api.ReportDigest(text); applied && s.Hash != before.Hash {
		s.AppliedAt = &metav1.Time{Time: now}
	}
	return s
}

// WaitSettings is the time until the settings are tried again, after that many tries in a row; a
// change of the topology is a reason at once.
func WaitSettings(s *api.InitialSettings, tries int) time.Duration {
	byTopology := []Reason{NotQuiet, WouldLower, DatacenterGone}
	if slices.ContainsFunc(s.Items, func(i api.InitialSetting) bool {
		return i.State == Waiting && !slices.Contains(byTopology, i.Reason)
	}) {
		return backOff(tries)
	}
	return daily
}

// Merge adds the replications that an earlier member has set, and the dates of its settings.
func Merge(s api.InitialSettings, earlier *api.InitialSettings) api.InitialSettings {
	if earlier == nil {
		return s
	}
	if s.Hash == "" {
		s.Hash, s.AppliedAt = earlier.Hash, earlier.AppliedAt
	}
	items := slices.Clone(s.Items)
	for _, e := range earlier.Items {
		i := indexOf(items, e.Name)
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
