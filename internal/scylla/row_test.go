// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

const (
	idA = "8ebd2a16-0000-4000-8000-00000000000a"
	idB = "35d00000-0000-4000-8000-00000000000b"
	idC = "1ffa0000-0000-4000-8000-00000000000c"
	idD = "77dd0000-0000-4000-8000-00000000000d"

	pathMembers   = "/storage_service/host_id"
	pathLive      = "/gossiper/endpoint/live"
	pathDown      = "/gossiper/endpoint/down"
	pathEndpoints = "/failure_detector/endpoints"
	pathLocal     = "/storage_service/hostid/local"
	pathMode      = "/storage_service/operation_mode"
	pathVersion   = "/storage_service/scylla_release_version"
	pathTasks     = "/task_manager/list_module_tasks/node_ops"
	pathTarget    = "/v2/config/replace_node_first_boot"
)

// seen is a row in short: "35d0=UP 8ebd=DOWN/LEAVING", by the first four characters.
func seen(row api.NodeStatusReport) string {
	var out []string
	for _, o := range row.ObservedNodes {
		s := string(o.HostID[:min(4, len(o.HostID))]+"=") + string(o.Status)
		if o.State != "" {
			s += "/" + string(o.State)
		}
		out = append(out, s)
	}
	if row.Error != nil {
		out = append(out, "error")
	}
	return strings.Join(out, " ")
}

// usual are the answers of node A in a cluster of A and B, both alive.
func usual() map[string]answer {
	return map[string]answer{
		pathLocal:                            text(idA),
		pathMode:                             text("NORMAL"),
		pathVersion:                          text("2026.2.0-0.20260801.abcdef"),
		pathMembers:                          list(pair{"10.0.0.1", idA}, pair{"10.0.0.2", idB}),
		pathLive:                             list("10.0.0.1", "10.0.0.2"),
		pathDown:                             list[string](),
		pathEndpoints:                        list(gossips("10.0.0.1", idA, 100, true), gossips("10.0.0.2", idB, 101, true)),
		pathTasks:                            list[task](),
		"/storage_service/nodes/joining":     list[string](),
		"/storage_service/nodes/leaving":     list[string](),
		"/storage_service/tokens/10.0.0.1":   list("-1", "5"),
		"/storage_service/tokens/10.0.0.2":   list("7"),
		"/storage_service/generation_number": {body: "100"},
	}
}

func with(change map[string]answer) map[string]answer {
	m := usual()
	for k, v := range change {
		m[k] = v
		if v == gone {
			delete(m, k)
		}
	}
	return m
}

// gone takes an answer away: 404.
var gone = answer{status: -1}

func TestRowOfAHealthyNode(t *testing.T) {
	n := newFakeNode(t, usual())
	row := NewReader(n.client()).Read(t.Context())
	want := api.NodeStatusReport{
		HostID: idA, OperationMode: "NORMAL", ScyllaVersion: "2026.2.0-0.20260801.abcdef", OwnsTokens: new(true),
		ObservedNodes: []api.ObservedNodeStatusReport{{HostID: idB, Status: "UP"}, {HostID: idA, Status: "UP"}},
	}
	if diff := cmp.Diff(want, row); diff != "" {
		t.Error(diff)
	}
	if n.count(pathMembers) != 1 {
		t.Errorf("a picture that fits together was read %d times", n.count(pathMembers))
	}
}

// Each stage of a starting process, section by section of what is registered when.
func TestRowAtEachStageOfStarting(t *testing.T) {
	notReady := fails(500, "std::runtime_error (The gossiper is not ready yet)")
	for name, c := range map[string]struct {
		answers map[string]answer
		refused bool
		want    string
		error   string
		hostID  string
	}{
		"nobody listens":             {refused: true, want: "error", error: "connection refused"},
		"listens, nothing is there":  {answers: map[string]answer{pathTasks: list[task]()}, want: "error", error: "Not found"},
		"gossiper object, no gossip": {answers: map[string]answer{pathLocal: text(idA), pathMembers: notReady, pathLive: list[string](), pathDown: list[string]()}, want: "error", error: "The gossiper is not ready yet", hostID: idA},
		"host ID not set, 6.2 and later": {answers: map[string]answer{pathLocal: fails(404, "local host ID is not yet set"), pathMembers: notReady},
			want: "error", error: "not ready"},
		"host ID zero, up to 6.1": {answers: map[string]answer{pathLocal: text(zeroHostID), pathMembers: notReady}, want: "error", error: "not ready"},
		"gossips, in no topology": {answers: map[string]answer{pathLocal: text(idA), pathMembers: list[pair](), pathLive: list("10.0.0.1", "10.0.0.2"), pathDown: list[string]()}, hostID: idA},
		"joining, before NORMAL": {answers: with(map[string]answer{pathMode: text("BOOTSTRAP"), "/storage_service/tokens/10.0.0.1": list[string](),
			"/storage_service/nodes/joining": list("10.0.0.1")}), want: "35d0=UP 8ebd=UP/JOINING", hostID: idA},
		"one member's address is not known": {answers: with(map[string]answer{pathMembers: fails(500, "std::runtime_error (No ip address for "+idB+" when one is expected)")}),
			want: "error", error: "No ip address for", hostID: idA},
		"gossip is there, the list of members is not": {answers: with(map[string]answer{pathMembers: gone}), want: "error", error: "HTTP 404", hostID: idA},
		"live fails, members do not":                  {answers: with(map[string]answer{pathLive: fails(500, "boom")}), want: "error", error: "boom", hostID: idA},
		"down fails, members do not":                  {answers: with(map[string]answer{pathDown: fails(500, "boom")}), want: "error", error: "boom", hostID: idA},
		"gossip's own states fail":                    {answers: with(map[string]answer{pathEndpoints: fails(500, "boom")}), want: "error", error: "boom", hostID: idA},
		"states are cut off":                          {answers: with(map[string]answer{pathEndpoints: {body: `[{"addrs":"10.0.0.1","is_al`}}), want: "error", error: "unexpected response", hostID: idA},
		"joining list fails":                          {answers: with(map[string]answer{"/storage_service/nodes/joining": fails(500, "boom")}), want: "error", error: "boom", hostID: idA},
		"decommissioned, gossip gone":                 {answers: with(map[string]answer{pathMode: text("DECOMMISSIONED"), pathMembers: notReady}), want: "error", error: "not ready", hostID: idA},
		"everything else is optional":                 {answers: map[string]answer{pathMembers: usual()[pathMembers], pathLive: usual()[pathLive]}, want: "35d0=UP 8ebd=UP"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newFakeNode(t, c.answers)
			client := n.client()
			if c.refused {
				n.Close()
			}
			row := NewReader(client).Read(t.Context())
			if got := seen(row); got != c.want {
				t.Errorf("row %q, want %q", got, c.want)
			}
			if row.Error != nil && !strings.Contains(*row.Error, c.error) {
				t.Errorf("error %q, want %q in it", *row.Error, c.error)
			}
			if string(row.HostID) != c.hostID {
				t.Errorf("host ID %q, want %q", row.HostID, c.hostID)
			}
		})
	}
}

func TestRowIsJoinedByHostID(t *testing.T) {
	// B is dead, and the Pod that replaces it (host ID C) has its address.
	shared := list(pair{"10.0.0.1", idA}, pair{"10.0.0.2", idB}, pair{"10.0.0.2", idC})
	replacing := list(task{"t1", "replace", "cluster", "running", idC, ""})
	a := gossips("10.0.0.1", idA, 100, true)
	two := func(id string, generation int64, alive bool) endpoint {
		return gossips("10.0.0.2", id, generation, alive)
	}
	beside := func(key string, value any) answer { return list(pair{"10.0.0.1", idA}, pair{key, value}) }
	of := func(kind, scope, state string) answer { return list(task{"t", kind, scope, state, idB, ""}) }
	const joining, leaving = "/storage_service/nodes/joining", "/storage_service/nodes/leaving"
	const taken, unknown, both = "1ffa=UP 35d0=DOWN 8ebd=UP", "1ffa=UNKNOWN 35d0=UNKNOWN 8ebd=UP", "35d0=UP 8ebd=UP"
	type answers = map[string]answer
	for name, c := range map[string]struct {
		answers map[string]answer
		want    string
	}{
		"same address, gossip tells them apart": {
			answers{pathMembers: shared, pathEndpoints: list(a, two(idB, 101, false), two(idC, 102, true))}, taken},
		"same address, gossip keyed by address knows the newcomer only": {
			answers{pathMembers: shared, pathEndpoints: list(a, two(idC, 102, true))}, taken},
		"same address, gossip has not noticed the death: the later process is there": {
			answers{pathMembers: shared, pathEndpoints: list(a, two(idB, 101, true), two(idC, 102, true))}, taken},
		"same address in both of gossip's lists": {answers{pathMembers: shared, pathDown: list("10.0.0.2"),
			pathEndpoints: list(a, two(idB, 101, false), two(idC, 102, true))}, taken},
		"same address, no identities, a replacement under way": {
			answers{pathMembers: shared, pathEndpoints: gone, pathTasks: replacing}, "1ffa=UP/REPLACING 35d0=DOWN/BEING_REPLACED 8ebd=UP"},
		"the same, of a version whose task names the replaced one": {answers{pathMembers: shared, pathEndpoints: gone,
			pathVersion: text("2026.4.0-dev"), pathTasks: of("replace", "cluster", "running")}, "1ffa=UP/REPLACING 35d0=DOWN/BEING_REPLACED 8ebd=UP"},
		"same address, no identities, no evidence": {answers{pathMembers: shared, pathEndpoints: gone}, unknown},
		"same address, two of one generation": {
			answers{pathMembers: shared, pathEndpoints: list(a, two(idB, 101, true), two(idC, 101, true))}, unknown},
		"same address, both dead": {answers{pathMembers: shared, pathLive: list("10.0.0.1"), pathDown: list("10.0.0.2"), pathTasks: replacing,
			pathEndpoints: list(a, two(idB, 101, false), two(idC, 102, false))}, "1ffa=DOWN/REPLACING 35d0=DOWN/BEING_REPLACED 8ebd=UP"},
		"a queued newcomer gossips from a dead member's address and is no member yet": {
			answers{pathEndpoints: list(a, two(idC, 102, true))}, "35d0=DOWN 8ebd=UP"},
		"the address is alive and gossip knows nobody there": {answers{pathEndpoints: list(a)}, "35d0=UNKNOWN 8ebd=UP"},
		"gossip has no identity at all": {
			answers{pathEndpoints: list(gossips("10.0.0.1", "", 100, true), two("", 101, true))}, both},
		"alive by address, dead by host ID": {answers{pathEndpoints: list(a, two(idB, 101, false))}, "35d0=UNKNOWN 8ebd=UP"},
		"in neither list":                   {answers{pathLive: list("10.0.0.1")}, "35d0=UNKNOWN 8ebd=UP"},
		"in the list of the dead": {answers{pathLive: list("10.0.0.1"), pathDown: list("10.0.0.2"),
			pathEndpoints: list(a, two(idB, 101, false))}, "35d0=DOWN 8ebd=UP"},
		"in the list of the dead, alive by gossip's states": {
			answers{pathLive: list("10.0.0.1"), pathDown: list("10.0.0.2")}, "35d0=DOWN 8ebd=UP"},
		"in both lists, alone at its address": {answers{pathDown: list("10.0.0.2")}, "35d0=UNKNOWN 8ebd=UP"},
		"in both lists, because who had the address before is dead": {
			answers{pathDown: list("10.0.0.2"), pathEndpoints: list(a, two(idC, 50, false), two(idB, 101, true))}, both},
		"IPv6 in two spellings": {answers{
			pathMembers:   list(pair{"fd00:0:0:0:0:0:0:1", idA}, pair{"FD00::2", idB}),
			pathLive:      list("fd00::1", "fd00:0::0002"),
			pathEndpoints: list(gossips("fd00::1", idA, 100, true), gossips("fd00:0:0:0:0:0:0:2", idB, 101, true)),
		}, both},
		"host IDs in capitals": {answers{
			pathMembers:   list(pair{"10.0.0.1", strings.ToUpper(idA)}, pair{"10.0.0.2", strings.ToUpper(idB)}),
			pathEndpoints: list(gossips("10.0.0.1", strings.ToUpper(idA), 100, true), two(idB, 101, true)),
		}, both},
		"a null host ID that gossip knows": {answers{pathMembers: beside("10.0.0.2", nil)}, both},
		"a null host ID that nobody knows": {answers{pathMembers: beside("10.0.0.3", nil)}, "error"},
		"a zero host ID that nobody knows": {answers{pathMembers: beside("10.0.0.3", zeroHostID), pathEndpoints: gone}, "error"},
		"a member that moved to another address": {answers{
			pathMembers: list(pair{"10.0.0.1", idA}, pair{"10.0.0.2", idB}, pair{"10.0.0.9", idB}),
			pathLive:    list("10.0.0.1", "10.0.0.9"), pathDown: list("10.0.0.2"),
			pathEndpoints: list(a, two(idB, 90, false), gossips("10.0.0.9", idB, 101, true)),
		}, both},
		"an address that is none": {
			answers{pathMembers: beside("node-b", idB), pathLive: list("10.0.0.1", "node-b"), pathEndpoints: gone}, both},
		"its own host ID is missing from its own list": {answers{pathMembers: list(pair{"10.0.0.2", idB})}, "35d0=UP 8ebd=UNKNOWN"},
		"its own host ID is missing while it joins": {
			answers{pathMembers: list(pair{"10.0.0.2", idB}), pathMode: text("STARTING")}, "35d0=UP"},
		"NORMAL with no members at all": {answers{pathMembers: list[pair]()}, "8ebd=UNKNOWN"},

		"joining by address":           {answers{joining: list("10.0.0.2")}, "35d0=UP/JOINING 8ebd=UP"},
		"leaving by address":           {answers{leaving: list("10.0.0.2")}, "35d0=UP/LEAVING 8ebd=UP"},
		"bootstrap by task":            {answers{pathTasks: of("bootstrap", "cluster", "running")}, "35d0=UP/JOINING 8ebd=UP"},
		"decommission by task":         {answers{pathTasks: of("decommission", "cluster", "running")}, "35d0=UP/LEAVING 8ebd=UP"},
		"removal by task":              {answers{pathTasks: of("remove node", "cluster", "created")}, "35d0=UP/LEAVING 8ebd=UP"},
		"rebuild is no change":         {answers{pathTasks: of("rebuild", "cluster", "running")}, both},
		"a finished task is no state":  {answers{pathTasks: of("bootstrap", "cluster", "done")}, both},
		"a part of a task is no state": {answers{pathTasks: of("bootstrap", "node", "running")}, both},
		"no task manager, 6.1":         {answers{pathTasks: gone, joining: list("10.0.0.2")}, "35d0=UP/JOINING 8ebd=UP"},
		"the newcomer knows whom it replaces at another address": {answers{
			pathMode: text("BOOTSTRAP"), pathTarget: text(idB), pathTasks: list(task{"t", "replace", "cluster", "running", idA, ""}),
			pathLive: list("10.0.0.1"), pathDown: list("10.0.0.2"), pathEndpoints: list(a, two(idB, 90, false)),
		}, "35d0=DOWN/BEING_REPLACED 8ebd=UP/REPLACING"},
		"an old replace option of a member says nothing": {answers{pathTarget: text(idB)}, both},
	} {
		t.Run(name, func(t *testing.T) {
			n := newFakeNode(t, with(c.answers))
			first := NewReader(n.client()).Read(t.Context())
			if got := seen(first); got != c.want {
				t.Errorf("row %q, want %q (error %v)", got, c.want, first.Error)
			}
			second := NewReader(n.client()).Read(t.Context())
			a, _ := api.EncodeNodeStatusReport(&first)
			if b, _ := api.EncodeNodeStatusReport(&second); a != b {
				t.Errorf("the same facts gave %s, then %s", a, b)
			}
		})
	}
}

// Two members share an address while one replaces the other there: a list of addresses does not show which of them joins or leaves.
func TestASharedAddressShowsNoState(t *testing.T) {
	const other = "cccccccc-0000-4000-8000-00000000000c"
	for _, path := range []string{"/storage_service/nodes/joining", "/storage_service/nodes/leaving"} {
		n := newFakeNode(t, with(map[string]answer{
			pathMembers: list(pair{"10.0.0.1", idA}, pair{"10.0.0.2", idB}, pair{"10.0.0.2", other}), path: list("10.0.0.2"),
		}))
		row := NewReader(n.client()).Read(t.Context())
		if len(row.ObservedNodes) != 3 {
			t.Fatalf("%s: the row is %q", path, seen(row))
		}
		for _, o := range row.ObservedNodes {
			if o.State != "" {
				t.Errorf("%s: %s is %s", path, o.HostID, o.State)
			}
		}
	}
}

// Up to 2025.2 the list of members is a map by address.
func TestALostHostIDDoesNotVanish(t *testing.T) {
	before := map[string]answer{pathVersion: text("2025.1.9-0.20250701.abcdef")}
	// C replaces B with B's address, and the map has one of the two.
	endpoints := list(gossips("10.0.0.1", idA, 100, true), gossips("10.0.0.2", idC, 102, true))
	running := list(task{"t", "replace", "cluster", "running", idC, ""})
	for name, c := range map[string]struct {
		version string
		then    map[string]answer
		want    string
	}{
		"the replaced one is lost": {then: map[string]answer{
			pathMembers: list(pair{"10.0.0.1", idA}, pair{"10.0.0.2", idC}), pathEndpoints: endpoints, pathTasks: running,
			"/storage_service/tokens/10.0.0.2": list[string](),
		}, want: "1ffa=UP/REPLACING 35d0=DOWN/BEING_REPLACED 8ebd=UP"},
		"the newcomer is lost, its address is alive": {then: map[string]answer{
			pathEndpoints: endpoints, pathTasks: running, "/storage_service/tokens/10.0.0.2": list[string](),
		}, want: "35d0=DOWN/BEING_REPLACED 8ebd=UP"},
		"the replacement is over: it has tokens": {then: map[string]answer{
			pathMembers: list(pair{"10.0.0.1", idA}, pair{"10.0.0.2", idC}), pathEndpoints: endpoints,
		}, want: "1ffa=UP 8ebd=UP"},
		"the replacement is over: the task is done": {then: map[string]answer{
			pathMembers: list(pair{"10.0.0.1", idA}, pair{"10.0.0.2", idC}), pathEndpoints: endpoints,
			pathTasks: list(task{"t", "replace", "cluster", "done", idC, ""}), "/storage_service/tokens/10.0.0.2": list[string](),
		}, want: "1ffa=UP 8ebd=UP"},
		"no tokens, nobody knows": {then: map[string]answer{
			pathMembers: list(pair{"10.0.0.1", idA}, pair{"10.0.0.2", idC}), pathEndpoints: gone,
			"/storage_service/tokens/10.0.0.2": fails(500, "boom"), pathTasks: gone,
		}, want: "1ffa=UNKNOWN 35d0=UNKNOWN 8ebd=UP"},
		"removed, its address is nobody's": {then: map[string]answer{
			pathMembers: list(pair{"10.0.0.1", idA}), pathLive: list("10.0.0.1"), pathEndpoints: list(gossips("10.0.0.1", idA, 100, true)),
		}, want: "8ebd=UP"},
		"a version that lists both loses nobody": {version: "2025.3.0-0.20250901.abcdef", then: map[string]answer{
			pathMembers: list(pair{"10.0.0.1", idA}, pair{"10.0.0.2", idC}), pathEndpoints: endpoints, pathTasks: running,
			"/storage_service/tokens/10.0.0.2": list[string](),
		}, want: "1ffa=UP/REPLACING 8ebd=UP"},
	} {
		t.Run(name, func(t *testing.T) {
			start := maps.Clone(before)
			if c.version != "" {
				start[pathVersion] = text(c.version)
			}
			n := newFakeNode(t, with(start))
			r := NewReader(n.client())
			if got := seen(r.Read(t.Context())); got != "35d0=UP 8ebd=UP" {
				t.Fatalf("before: %q", got)
			}
			n.change(c.then)
			for range 3 {
				got := seen(r.Read(t.Context()))
				if got != c.want {
					t.Errorf("after: %q, want %q", got, c.want)
				}
			}
		})
	}
}

// B lives on at the former address of C, which is dead. Before 2025.2 gossip has B there and C nowhere.
func TestAMemberIsNotLostWhenAnotherOneMovesToItsAddress(t *testing.T) {
	const ring, of3 = "/storage_service/tokens", "/storage_service/tokens/10.0.0.3"
	a := gossips("10.0.0.1", idA, 100, true)
	three := map[string]answer{
		pathMembers: list(pair{"10.0.0.1", idA}, pair{"10.0.0.2", idB}, pair{"10.0.0.3", idC}),
		pathLive:    list("10.0.0.1", "10.0.0.2"), pathDown: list("10.0.0.3"),
		pathEndpoints:                      list(gossips("10.0.0.1", idA, 100, true), gossips("10.0.0.2", idB, 101, true), gossips("10.0.0.3", idC, 102, false)),
		"/storage_service/tokens/10.0.0.3": list("9"), ring: list("-1", "5", "7", "9"),
	}
	moved := map[string]answer{
		pathMembers: list(pair{"10.0.0.1", idA}, pair{"10.0.0.3", idB}), pathLive: list("10.0.0.1", "10.0.0.3"), pathDown: list[string](),
		pathEndpoints:                      list(gossips("10.0.0.1", idA, 100, true), gossips("10.0.0.3", idB, 103, true)),
		"/storage_service/tokens/10.0.0.3": list("7"), "/storage_service/tokens/10.0.0.2": list[string](),
	}
	byID := list(gossips("10.0.0.1", idA, 100, true), gossips("10.0.0.3", idB, 103, true), gossips("10.0.0.3", idC, 102, false))
	done := func(kind string) answer { return list(task{"t", kind, "cluster", "done", "", ""}) }
	// newcomer is node D at the address of C, while B is where it was.
	newcomer := func(generationOfB int64, more map[string]answer) map[string]answer {
		answers := map[string]answer{pathMembers: list(pair{"10.0.0.1", idA}, pair{"10.0.0.2", idB}, pair{"10.0.0.3", idD}),
			pathLive: list("10.0.0.1", "10.0.0.2", "10.0.0.3"), "/storage_service/tokens/10.0.0.2": list("7"),
			pathEndpoints: list(a, gossips("10.0.0.2", idB, generationOfB, true), gossips("10.0.0.3", idD, 104, true))}
		maps.Copy(answers, more)
		return answers
	}
	const all, left = "1ffa=DOWN 35d0=UP 8ebd=UP", "35d0=UP 8ebd=UP"
	for name, c := range map[string]struct {
		version       string
		before, after map[string]answer // beside three and moved
		then          map[string]answer
		want, last    string
		forgotten     string // in place of last, where the evidence was of before the restart
		noRestart     bool
	}{
		"it stays DOWN":                               {want: all, last: all},
		"gossip by host ID has it":                    {version: "2025.2.1", after: map[string]answer{pathEndpoints: byID}, then: map[string]answer{ring: gone}, want: all, last: all},
		"gossip by host ID has it no longer":          {version: "2025.2.1", after: map[string]answer{pathEndpoints: byID}, then: map[string]answer{ring: list("-1", "5", "7"), pathEndpoints: moved[pathEndpoints]}, want: all, last: left},
		"the list has it and not the other":           {after: map[string]answer{pathMembers: list(pair{"10.0.0.1", idA}, pair{"10.0.0.3", idC})}, want: all, last: all},
		"its tokens are nobody's any more":            {then: map[string]answer{ring: list("-1", "5", "7")}, want: all, last: left, forgotten: all},
		"the ring is not known":                       {after: map[string]answer{ring: gone}, want: all, last: all},
		"the ring is not known, and removed":          {after: map[string]answer{ring: gone}, then: map[string]answer{pathTasks: done("remove node")}, want: all, last: left, forgotten: all},
		"the ring is not known, and replaced":         {after: map[string]answer{ring: gone}, then: map[string]answer{pathTasks: done("replace")}, want: all, last: left, forgotten: all},
		"a removal of before is none of it":           {before: map[string]answer{pathTasks: done("remove node")}, after: map[string]answer{ring: gone}, want: all, last: all},
		"a removal that has tokens left is another's": {then: map[string]answer{pathTasks: done("remove node")}, want: all, last: all},
		"a rebuild removes nobody":                    {after: map[string]answer{ring: gone}, then: map[string]answer{pathTasks: done("rebuild")}, want: all, last: all},
		"a removal that goes on":                      {after: map[string]answer{ring: gone}, then: map[string]answer{pathTasks: list(task{"t", "remove node", "cluster", "running", "", ""})}, want: all, last: all},
		"it owned no tokens":                          {after: map[string]answer{ring: list("-1", "5", "7")}, want: all, last: all},
		"it owned no tokens, and is removed":          {after: map[string]answer{ring: list("-1", "5", "7")}, then: map[string]answer{pathTasks: done("remove node")}, want: all, last: left},
		"a new node joined at the address": {after: newcomer(101, map[string]answer{of3: list("11"), ring: list("-1", "5", "7", "9", "11")}),
			want: "1ffa=DOWN 35d0=UP 77dd=UP 8ebd=UP", last: "1ffa=DOWN 35d0=UP 77dd=UP 8ebd=UP"},
		"a replacement at its address that failed": {
			after: newcomer(101, map[string]answer{of3: list[string](), pathTasks: list(task{"t", "replace", "cluster", "running", "", ""})}),
			then: map[string]answer{pathMembers: three[pathMembers], pathLive: three[pathLive], pathDown: list("10.0.0.3"),
				pathTasks:     list(task{"t", "replace", "cluster", "failed", "", ""}),
				pathEndpoints: list(a, gossips("10.0.0.2", idB, 101, true))},
			want: "1ffa=DOWN/BEING_REPLACED 35d0=UP 77dd=UP/REPLACING 8ebd=UP", last: all, noRestart: true},
		"a replacement of another one while it is DOWN": {then: map[string]answer{of3: list[string](),
			pathTasks: list(task{"t", "replace", "cluster", "running", "", ""})}, want: all, last: all},
		"a replaced one, whose new node has the address": {then: newcomer(105, map[string]answer{of3: list("9"), pathTasks: done("replace")}),
			want: all, last: "35d0=UP 77dd=UP 8ebd=UP"},
	} {
		for _, restarts := range []bool{false, true} {
			if restarts && c.noRestart {
				continue
			}
			t.Run(fmt.Sprintf("%s, restart %v", name, restarts), func(t *testing.T) {
				start := with(three)
				start[pathVersion] = text("2025.1.3-0.20250701.abcdef")
				if c.version != "" {
					start[pathVersion] = text(c.version)
				}
				maps.Copy(start, c.before)
				n := newFakeNode(t, start)
				r := NewReader(n.client())
				read := func(want string) {
					t.Helper()
					for range 3 {
						row := r.Read(t.Context())
						if got := seen(row); got != want {
							t.Fatalf("%q, want %q (%v)", got, want, row.Error)
						}
						if restarts {
							r = NewReader(n.client())
							r.Remember(row)
						}
					}
				}
				read(all)
				n.change(moved)
				n.change(c.after)
				read(c.want)
				n.change(c.then)
				if restarts && c.forgotten != "" {
					c.last = c.forgotten
				}
				read(c.last)
			})
		}
	}
}

func TestALostHostIDIsRememberedThroughARestartOfTheReader(t *testing.T) {
	n := newFakeNode(t, with(map[string]answer{
		pathVersion: text("2025.2.1-0.20250701.abcdef"),
		pathMembers: list(pair{"10.0.0.1", idA}, pair{"10.0.0.2", idC}),
		pathTasks:   list(task{"t", "replace", "cluster", "running", idC, ""}),
		pathEndpoints: list(gossips("10.0.0.1", idA, 100, true), gossips("10.0.0.2", idB, 90, false),
			gossips("10.0.0.2", idC, 102, true)),
		"/storage_service/tokens/10.0.0.2": list[string](),
	}))
	r := NewReader(n.client())
	r.Remember(api.NodeStatusReport{ObservedNodes: []api.ObservedNodeStatusReport{{HostID: idB, Status: "UP"}, {HostID: ""}, {HostID: idA}}})
	if got, want := seen(r.Read(t.Context())), "1ffa=UP/REPLACING 35d0=DOWN/BEING_REPLACED 8ebd=UP"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	n.set(pathEndpoints, list(gossips("10.0.0.1", idA, 100, true), gossips("10.0.0.2", idC, 102, true)))
	r = NewReader(n.client())
	r.Remember(api.NodeStatusReport{ObservedNodes: []api.ObservedNodeStatusReport{{HostID: idB, Status: "UP"}}})
	if got, want := seen(r.Read(t.Context())), "1ffa=UP/REPLACING 35d0=UNKNOWN 8ebd=UP"; got != want {
		t.Errorf("gossip has forgotten it: %q, want %q", got, want)
	}
}

// A change between two reads must not be mixed into one picture.
func TestChangeBetweenReads(t *testing.T) {
	a, b := gossips("10.0.0.1", idA, 100, true), gossips("10.0.0.2", idB, 101, true)
	members := []pair{{"10.0.0.1", idA}, {"10.0.0.2", idB}}
	flip := make([]answer, 50)
	for i := range flip {
		flip[i] = list("10.0.0.1", fmt.Sprintf("10.0.1.%d", i))
	}
	type answers = map[string][]answer
	for name, c := range map[string]struct {
		answers map[string][]answer
		want    string
		rounds  int
	}{
		"a node joins between members and live": {answers{
			pathMembers:   {list(members...), list(append(members, pair{"10.0.0.3", idC})...)},
			pathLive:      {list("10.0.0.1", "10.0.0.2", "10.0.0.3")},
			pathEndpoints: {list(a, b, gossips("10.0.0.3", idC, 102, true))},
		}, "1ffa=UP 35d0=UP 8ebd=UP", 2},
		"a node dies between live and down": {answers{
			pathLive:      {list("10.0.0.1", "10.0.0.2"), list("10.0.0.1")},
			pathDown:      {list("10.0.0.2")},
			pathEndpoints: {list(a, gossips("10.0.0.2", idB, 101, false))},
		}, "35d0=DOWN 8ebd=UP", 1},
		"it never comes to rest": {answers{pathLive: flip}, "35d0=UNKNOWN 8ebd=UP", rounds},
	} {
		t.Run(name, func(t *testing.T) {
			n := newFakeNode(t, usual())
			for p, list := range c.answers {
				n.set(p, list...)
			}
			if got := seen(NewReader(n.client()).Read(t.Context())); got != c.want || n.count(pathMembers) != c.rounds {
				t.Errorf("%q in %d rounds, want %q in %d", got, n.count(pathMembers), c.want, c.rounds)
			}
		})
	}
}

func TestOwnsTokens(t *testing.T) {
	notReady := fails(500, "std::runtime_error (The gossiper is not ready yet)")
	const ring, own = "/storage_service/tokens", "/storage_service/tokens/10.0.0.1"
	none, nobody := list[string](), list[pair]()
	// in is a node in a mode that says this of its members and of the ring.
	in := func(mode string, members, tokens answer) map[string]answer {
		return map[string]answer{pathMode: text(mode), pathMembers: members, ring: tokens, pathEndpoints: list[Endpoint]()}
	}
	type answers = map[string]answer
	for name, c := range map[string]struct {
		answers map[string]answer
		want    *bool
	}{
		"owns":                             {nil, new(true)},
		"owns none yet":                    {answers{own: none}, new(false)},
		"cannot be read":                   {answers{own: fails(500, "boom")}, nil},
		"own host ID not known":            {answers{pathLocal: gone}, nil},
		"not in the list":                  {answers{pathMembers: list(pair{"10.0.0.2", idB})}, nil},
		"waits for its seeds, of no ring":  {in("STARTING", notReady, none), new(false)},
		"starts with a ring on its disk":   {in("STARTING", notReady, list("1")), nil},
		"starts, and no ring is told":      {in("STARTING", notReady, fails(500, "boom")), nil},
		"NORMAL with an answer that fails": {in("NORMAL", fails(500, "boom"), none), nil},
		"decommissioned":                   {in("DECOMMISSIONED", notReady, gone), new(false)},
		"knows of members and of no ring":  {in("STARTING", list(pair{"10.0.0.2", idB}), none), nil},
		"waits for its seeds, in a version whose gossip answers before it starts": {in("STARTING", nobody, none), new(false)},
		"starts with a ring on its disk, in such a version":                       {in("STARTING", nobody, list("1")), nil},
		"the address is another's": {answers{
			pathEndpoints: list(gossips("10.0.0.1", idC, 110, true), gossips("10.0.0.2", idB, 101, true))}, nil},
		"the address is shared and nobody knows": {answers{
			pathMembers: list(pair{"10.0.0.1", idA}, pair{"10.0.0.1", idB}), pathEndpoints: gone}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			n := newFakeNode(t, with(c.answers))
			if diff := cmp.Diff(c.want, NewReader(n.client()).Read(t.Context()).OwnsTokens); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOperations(t *testing.T) {
	n := newFakeNode(t, with(map[string]answer{
		pathTasks: list(
			task{"t1", "bootstrap", "cluster", "failed", idC, "2026-08-01T10:00:00Z"},
			task{"t2", "decommission", "cluster", "running", idB, ""},
			task{"t3", "rebuild", "cluster", "done", idA, "2026-08-01T09:00:00Z"},
			task{"t4", "bootstrap", "cluster", "failed", idC, "2026-08-01T10:00:01Z"},
			task{"t5", "bootstrap", "cluster", "running", zeroHostID, ""},
			task{"t6", "", "cluster", "created", "", ""},
			task{"t7", "bootstrap", "node", "running", idA, ""},
		),
		"/task_manager/task_status/t1": {body: `{"id":"t1","state":"failed","error":"Canceled. Dead nodes: {` + idB + `}"}`},
		"/task_manager/task_status/t4": {body: `{"id":"t4","state":"failed","error":"Canceled. Dead nodes: {` + idB + `}"}`},
	}))
	r := NewReader(n.client())
	want := []api.NodeOperation{
		{State: "created"}, {Type: "bootstrap", State: "running"}, // nobody says of which node, and they are under way all the same
		{Type: "bootstrap", State: "failed", HostID: idC, Error: "Canceled. Dead nodes: {" + idB + "}"},
		{Type: "decommission", State: "running", HostID: idB},
	}
	for range 3 {
		if diff := cmp.Diff(want, r.Read(t.Context()).Operations); diff != "" {
			t.Error(diff)
		}
	}
	if c := n.count("/task_manager/task_status/t1"); c != 1 {
		t.Errorf("a failed task was asked for %d times", c)
	}
}

func TestOperationsAreBoundedAndOpenOnesComeFirst(t *testing.T) {
	var tasks []task
	for i := range 100 {
		id := fmt.Sprintf("%08d-0000-4000-8000-000000000000", i+1)
		tasks = append(tasks, task{fmt.Sprint(i), "bootstrap", "cluster", "failed", id, fmt.Sprintf("2026-08-01T10:%02d:%02dZ", i/60, i%60)})
	}
	tasks = append(tasks, task{"open", "replace", "cluster", "created", idC, ""})
	n := newFakeNode(t, with(map[string]answer{pathTasks: list(tasks...)}))
	ops := NewReader(n.client()).Read(t.Context()).Operations
	if len(ops) != maxOperations {
		t.Fatalf("%d operations", len(ops))
	}
	if !slices.ContainsFunc(ops, func(o api.NodeOperation) bool { return o.HostID == idC }) ||
		!slices.ContainsFunc(ops, func(o api.NodeOperation) bool { return strings.HasPrefix(string(o.HostID), "00000100") }) ||
		slices.ContainsFunc(ops, func(o api.NodeOperation) bool { return strings.HasPrefix(string(o.HostID), "00000001") }) {
		t.Errorf("not the open and the latest: %v", ops)
	}
}

func TestCancelledReadSaysSo(t *testing.T) {
	n := newFakeNode(t, usual())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if row := NewReader(n.client()).Read(ctx); row.Error == nil || len(row.ObservedNodes) != 0 {
		t.Errorf("%+v", row)
	}
}

// Up to 2025.4 the task of an operation that is pending has neither type nor node. A new node that
// gossips in that time at the address of the dead one replaces it, then and later.
func TestAReplacementThatIsSeenWhileItIsPending(t *testing.T) {
	n := newFakeNode(t, with(map[string]answer{
		pathVersion: text("2025.1.9"), pathMembers: list(pair{"10.0.0.1", idA}, pair{"10.0.0.2", idB}),
		pathLive: list("10.0.0.1"), pathDown: list("10.0.0.2"),
		pathEndpoints: list(gossips("10.0.0.1", idA, 100, true), gossips("10.0.0.2", idB, 101, false)), pathTasks: list[task](),
	}))
	r := NewReader(n.client())
	r.Read(t.Context())
	n.set(pathLive, list("10.0.0.1", "10.0.0.2"))
	n.set(pathDown, list[string]())
	n.set(pathMembers, list(pair{"10.0.0.1", idA}, pair{"10.0.0.2", idC}))
	n.set(pathEndpoints, list(gossips("10.0.0.1", idA, 100, true), gossips("10.0.0.2", idC, 102, true)))
	n.set("/storage_service/tokens/10.0.0.2", list[string]())
	for _, of := range []task{{"t", "", "cluster", "created", "", ""}, {"t", "replace", "cluster", "running", "", ""}} {
		n.set(pathTasks, list(of))
		if got, want := seen(r.Read(t.Context())), "1ffa=UP/REPLACING 35d0=DOWN/BEING_REPLACED"; !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", of.State, got, want)
		}
	}
}

// TestAttack5AnswersWithoutUUIDsAreARowWithAnError: whoever answers on ScyllaDB's port, what is no host ID gets into no annotation.
func TestAttack5AnswersWithoutUUIDsAreARowWithAnError(t *testing.T) {
	for name, tc := range map[string]struct{ path, body, says string }{
		"its own":     {pathLocal, `"x; touch /tmp/p #"`, `host ID of this node: "x; touch /tmp/p #" is not`},
		"of a member": {pathMembers, `[{"key":"10.0.0.1","value":"` + idA + `"},{"key":"10.0.0.2","value":"x; touch /tmp/p #"}]`, `host ID of member 10.0.0.2: "x; touch /tmp/p #" is not`},
	} {
		c := canned{
			pathLocal: `"` + idA + `"`, pathMode: `"NORMAL"`, pathMembers: `[{"key":"10.0.0.1","value":"` + idA + `"}]`,
			pathLive: `["10.0.0.1"]`, pathDown: `[]`, pathEndpoints: `[]`, pathTasks: `[]`,
		}
		c[tc.path] = tc.body
		row := NewReader(c.client()).Read(t.Context())
		if row.Error == nil || !strings.Contains(*row.Error, tc.says) || len(row.ObservedNodes) > 0 || strings.Contains(string(row.HostID), "touch") {
			t.Errorf("%s: %+v", name, row)
		}
	}
}
