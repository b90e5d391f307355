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
// concern only keyspaces with tablets, for any number of racks (locator/tablets.cc:1127 in 2025.1,
// :1112 in 2025.2, :1120 in 2025.3, :1310 in 2025.4, :1534 in 2026.1, :1650 in 2026.2). ScyllaDB
// checks only on allocation of tablets that a datacenter has enough nodes
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
	// Apply runs the statement of a setting that is Due once the status has its replication.
	Due = api.SettingDue
	// A person runs the statement of a setting that is ToDo, because the mode is not managed.
	ToDo api.InitialSettingState = "ToDo"
	// Waiting has a reason: NotQuiet, WouldLower, DatacenterGone, or why the statement failed.
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

// replication returns ScyllaDB's map as one line: the class without its package, then the options,
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

// Plan returns the state of each keyspace. now has its replication, nil if not readable; before are
// the items of the last plan. Factors are raised and never lowered.
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

// target returns the replication that a keyspace needs. gone is true if it names a datacenter that
// has no node now: ScyllaDB refuses such a statement ("Unrecognized strategy option",
// locator/abstract_replication_strategy.cc:92 in 2025.1, locator/network_topology_strategy.cc:292
// in 2026.1). lower is true if SimpleStrategy gives more replicas than the target.
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

// factors returns the factors of a target by datacenter.
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

// Statement returns the ALTER KEYSPACE for the wanted factors.
func Statement(keyspace string, wanted map[string]int32) string {
	out := "ALTER KEYSPACE " + keyspace + " WITH replication = {'class': 'NetworkTopologyStrategy'"
	for _, dc := range slices.Sorted(maps.Keys(wanted)) {
		out += ", " + Quote(dc) + ": " + Quote(strconv.FormatInt(int64(wanted[dc]), 10))
	}
	return out + "}"
}

// Quote returns text as a CQL string literal.
func Quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// Ready reports whether the status has the replication of a setting that is due.
func Ready(s, status *api.InitialSettings) bool {
	return s != nil && slices.ContainsFunc(s.Items, func(i api.InitialSetting) bool {
		return i.State == Due && isStored(&i, status)
	})
}

func isStored(item *api.InitialSetting, status *api.InitialSettings) bool {
	if status == nil {
		return false
	}
	i := indexOf(status.Items, item.Name)
	return i >= 0 && slices.Contains(status.Items[i].Ours, wanted(item))
}

// wanted returns the wanted replication as one line.
func wanted(i *api.InitialSetting) string {
	options := map[string]string{"class": "NetworkTopologyStrategy"}
	for dc, n := range i.Wanted {
		options[dc] = strconv.FormatInt(int64(n), 10)
	}
	return replication(options)
}

// Apply reads, plans and, in mode managed, alters the keyspaces in one session as the Secret's
// role. A statement runs only if its replication is in t.Settings, the stored status: if the result
// is lost, that replication is not another user's. Without a Secret it reads through the
// maintenance socket and alters nothing.
func Apply(
	ctx context.Context, db Database, in Input, before api.InitialSettings, t *api.StatusReportViewCredential,
	now time.Time,
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
		want := wanted(item)
		item.Ours = remember(item.Ours, item.Replication, want)
		if !isStored(item, t.Settings) {
			continue
		}
		if err := s.Alter(ctx, Statement(item.Name, item.Wanted)); err != nil {
			item.State, item.Reason = Waiting, reasonOf(err)
			continue
		}
		item.State, item.Replication, item.Wanted = Applied, want, nil
		item.RepairDue = item.RepairDue || nodesOf(t) > 1
	}
	return settle(before, items, now, nil)
}

// mostOurs bounds the remembered replications of statements whose outcome never arrived.
const mostOurs = 6

// remember moves replications to the end of the list, and drops the oldest. The list always
// contains the present one, in case a statement takes no effect.
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

// settle returns the settings for the status, dated after a change. It copies the items, because
// stored settings must not change with the next step.
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

// WaitSettings returns the time until the next attempt, after that many attempts in a row. A change
// of the topology starts one at once.
func WaitSettings(s *api.InitialSettings, tries int) time.Duration {
	byTopology := []Reason{NotQuiet, WouldLower, DatacenterGone}
	if slices.ContainsFunc(s.Items, func(i api.InitialSetting) bool {
		return i.State == Waiting && !slices.Contains(byTopology, i.Reason)
	}) {
		return backOff(tries)
	}
	return daily
}

// Merge adds the replications that an earlier member has set, and the date of its settings.
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
