// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// leave is a decommission of the nodes with an upper-case letter. A node is "letter:datacenter/rack".
func leave(nodes string) *Leave {
	l := &Leave{nodes: map[hostid.ID]matrix.Ref{}}
	for _, node := range strings.Fields(nodes) {
		letter, place, _ := strings.Cut(node, ":")
		dc, rack, _ := strings.Cut(place, "/")
		id := hostid.ID(strings.ToLower(letter))
		ref := matrix.Ref{Member: string(id), Datacenter: dc, Rack: rack, HostID: id}
		l.nodes[id] = ref
		if letter == string(id) {
			l.Left = append(l.Left, ref)
		} else {
			l.Members = append(l.Members, cluster.Member{Ref: ref})
		}
	}
	return l
}

// sets are "abc bcd": each word is the nodes that have one range.
func sets(text string) (out [][]hostid.ID) {
	for _, word := range strings.Fields(text) {
		var set []hostid.ID
		for _, letter := range word {
			set = append(set, hostid.ID(letter))
		}
		out = append(out, set)
	}
	return out
}

// Each replica needs a node of its own in its datacenter, and a tablet's in general a rack of its own.
func TestMisfits(t *testing.T) {
	t.Parallel()
	const threeRacks = "A:1/r1 b:1/r1 c:1/r2 d:1/r3"
	vnodes := func(name, replicas string) Keyspace { return Keyspace{Name: name, Replicas: sets(replicas)} }
	tablets := func(name, replicas string) Keyspace {
		return Keyspace{Name: name, Replicas: sets(replicas), Tablets: true}
	}
	for name, tc := range map[string]struct {
		nodes     string
		keyspaces []Keyspace
		want      []string // cause keyspaces datacenter/rack replicas left
	}{
		"enough nodes":                  {threeRacks, []Keyspace{vnodes("ks", "acd bcd")}, nil},
		"one node too few":              {"A:1/r1 b:1/r1 c:1/r1", []Keyspace{vnodes("ks", "abc")}, []string{"RFAboveLeft [ks] 1/ 3 2"}},
		"as many nodes as replicas":     {"A:1/r1 b:1/r1 c:1/r1 d:1/r1", []Keyspace{vnodes("ks", "abc bcd")}, nil},
		"the largest range counts":      {"A:1/r1 b:1/r1 c:1/r1", []Keyspace{vnodes("ks", "ab abc bc")}, []string{"RFAboveLeft [ks] 1/ 3 2"}},
		"two keyspaces of one number":   {"A:1/r1 b:1/r1", []Keyspace{vnodes("x", "ab"), vnodes("y", "ab")}, []string{"RFAboveLeft [x y] 1/ 2 1"}},
		"two keyspaces of two":          {"A:1/r1 B:1/r1 c:1/r1", []Keyspace{vnodes("x", "ab"), vnodes("y", "abc")}, []string{"RFAboveLeft [x] 1/ 2 1", "RFAboveLeft [y] 1/ 3 1"}},
		"the last of the datacenter":    {"A:1/r1 b:2/r1", []Keyspace{vnodes("ks", "ab")}, []string{"ReplicasWithoutNode [ks] 1/ 1 0"}},
		"the keyspace is not there":     {"A:1/r1 b:2/r1", []Keyspace{vnodes("ks", "b")}, nil},
		"two datacenters":               {"A:1/r1 B:2/r1 c:2/r1", []Keyspace{vnodes("ks", "abc")}, []string{"ReplicasWithoutNode [ks] 1/ 1 0", "RFAboveLeft [ks] 2/ 2 1"}},
		"another datacenter's replicas": {"A:1/r1 b:1/r1 c:2/r1 d:2/r1", []Keyspace{vnodes("ks", "acd")}, nil},
		"ScyllaDB's own, too few":       {"A:1/r1 b:1/r1", []Keyspace{vnodes("system_auth", "ab")}, []string{"RFOfOwn [system_auth] 1/ 2 1"}},
		"ScyllaDB's own, none left":     {"A:1/r1 b:2/r1", []Keyspace{vnodes("system_auth", "ab")}, nil},
		"ScyllaDB's own, in tablets":    {"A:1/r1 b:1/r1", []Keyspace{tablets("system_x", "ab")}, []string{"RFAboveLeft [system_x] 1/ 2 1"}},
		"on every node by definition": {"A:1/r1 b:1/r1", []Keyspace{vnodes("system_distributed_everywhere", "ab"),
			vnodes("system_replicated_keys", "ab")}, nil},

		"tablets, a node of the rack is left": {threeRacks, []Keyspace{tablets("ks", "acd bcd")}, nil},
		"tablets, the rack is empty then": {"A:1/r1 b:1/r2 c:1/r3 d:1/r3", []Keyspace{tablets("ks", "abc abd")},
			[]string{"RackWithoutNode [ks] 1/r1 3 3"}},
		"tablets, another rack has a place": {"A:1/r1 b:1/r2 c:1/r3 d:1/r4", []Keyspace{tablets("ks", "abc bcd")}, nil},
		"tablets, each has the rack": {"A:1/r1 b:1/r2 c:1/r3 d:1/r4", []Keyspace{tablets("ks", "abc abd")},
			[]string{"RackMaybeNeeded [ks] 1/r1 3 3"}},
		"tablets, two of one range in the rack": {"A:1/r1 B:1/r1 c:1/r2 d:1/r2 e:1/r2", []Keyspace{tablets("ks", "abc cde")}, nil},
		"tablets, too few nodes":                {"A:1/r1 b:1/r2 c:1/r3", []Keyspace{tablets("ks", "abc")}, []string{"RFAboveLeft [ks] 1/ 3 2"}},
		"tablets, a proof before a doubt": {"A:1/r1 B:1/r2 c:1/r3 d:1/r3 e:1/r3", []Keyspace{tablets("ks", "abc acd")},
			[]string{"RackWithoutNode [ks] 1/r2 3 3"}},
		"vnodes, the rack is empty then": {"A:1/r1 b:1/r2 c:1/r3 d:1/r3", []Keyspace{vnodes("ks", "abc abd")}, nil},
		"a replica on an unknown node":   {"A:1/r1 b:1/r1", []Keyspace{tablets("ks", "az")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, m := range leave(tc.nodes).Misfits(tc.keyspaces) {
				got = append(got, fmt.Sprintf("%s %v %s/%s %d %d", m.Cause, m.Keyspaces, m.Place.Datacenter, m.Place.Rack, m.Replicas, m.Left))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEmptyRacks(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ nodes, want string }{
		"one of two":                        {"A:1/r1 b:1/r1", ""},
		"the last":                          {"A:1/r1 b:1/r2", "a"},
		"both":                              {"A:1/r1 B:1/r1 c:1/r2", "a"},
		"one of each":                       {"A:1/r1 B:1/r2 c:1/r3", "a b"},
		"of its name in another datacenter": {"A:1/r1 b:2/r1", "a"},
		"two of one name":                   {"A:1/r1 B:2/r1 c:3/r1", "a b"},
		"one rack is empty, one is not":     {"A:1/r1 B:1/r2 c:1/r2", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, r := range leave(tc.nodes).EmptyRacks() {
				got = append(got, r.Member)
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHowManyRemain(t *testing.T) {
	t.Parallel()
	l := leave("A:1/r1 b:1/r1 c:1/r2 d:2/r1")
	for place, want := range map[[2]string][2]int{{"1", "r1"}: {2, 1}, {"1", "r2"}: {2, 1}, {"2", "r1"}: {1, 1}, {"2", "r2"}: {1, 0}, {"3", "r1"}: {}} {
		if inDatacenter, inRack := l.In(place[0], place[1]); [2]int{inDatacenter, inRack} != want {
			t.Errorf("%v: %d in the datacenter, %d in the rack", place, inDatacenter, inRack)
		}
	}
}
