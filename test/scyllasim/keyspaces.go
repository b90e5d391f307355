// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Keyspace is a user keyspace with NetworkTopologyStrategy. It holds no data; describe_ring tells where its replicas would be.
type Keyspace struct {
	Name string `json:"name"`
	// Replicas is the replication factor of each datacenter.
	Replicas map[string]int `json:"replicas"`
	// Tablets says that the keyspace distributes its tables as tablets; its ring can only be described table by table.
	Tablets bool     `json:"tablets,omitempty"`
	Tables  []string `json:"tables,omitempty"`
}

// systemKeyspaces are the keyspaces of every node. Those of local strategy have no replicas elsewhere.
var systemKeyspaces = []struct {
	name  string
	local bool
}{
	{"system", true}, {"system_schema", true}, {"system_auth", false}, {"system_distributed", false}, {"system_distributed_everywhere", false},
	{"system_traces", false},
}

// ParseKeyspaces reads keyspaces from text such as "app=dc1:3,dc2:3;log=dc1:1;hot=dc1:3,tablets,table:t1". A keyspace without a
// datacenter, or with a number that is none, is an error.
func ParseKeyspaces(s string) ([]Keyspace, error) {
	var out []Keyspace
	for part := range strings.SplitSeq(s, ";") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		name, spec, ok := strings.Cut(part, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("parse keyspace %q: want NAME=DATACENTER:REPLICAS[,DATACENTER:REPLICAS...][,tablets][,table:NAME]", part)
		}
		k := Keyspace{Name: strings.TrimSpace(name), Replicas: map[string]int{}}
		for _, f := range splitList(spec) {
			dc, num, pair := strings.Cut(f, ":")
			switch {
			case f == "tablets":
				k.Tablets = true
			case pair && dc == "table" && num != "":
				k.Tables = append(k.Tables, num)
			default:
				rf, err := strconv.Atoi(num)
				if !pair || err != nil || rf < 0 {
					return nil, fmt.Errorf("parse keyspace %q: %q is not DATACENTER:REPLICAS, tablets or table:NAME", part, f)
				}
				k.Replicas[dc] = rf
			}
		}
		if len(k.Replicas) == 0 {
			return nil, fmt.Errorf("parse keyspace %q: no datacenter has replicas; add DATACENTER:REPLICAS", part)
		}
		out = append(out, k)
	}
	return out, nil
}

// replicasOf returns the host IDs of the replicas of the range that ends at ring[at], datacenter by datacenter: from there along the
// ring the next nodes on racks that have no replica yet, and nodes on the same rack only when the racks are fewer than the replicas.
func (k Keyspace) replicasOf(ring []ringToken, at int) []string {
	var out []string
	for _, dc := range sortedKeys(k.Replicas) {
		var chosen, skipped []string
		racks, all := map[string]bool{}, map[string]bool{}
		for _, r := range ring {
			if r.node.DC == dc {
				all[r.node.Rack] = true
			}
		}
		for i := range ring {
			n := ring[(at+i)%len(ring)].node
			switch {
			case len(chosen) == k.Replicas[dc]:
			case n.DC != dc || slices.Contains(chosen, n.HostID) || slices.Contains(skipped, n.HostID):
			case racks[n.Rack] && len(racks) < len(all):
				skipped = append(skipped, n.HostID)
			default:
				racks[n.Rack] = true
				chosen = append(chosen, n.HostID)
			}
			if len(racks) == len(all) {
				for len(skipped) > 0 && len(chosen) < k.Replicas[dc] {
					chosen, skipped = append(chosen, skipped[0]), skipped[1:]
				}
			}
		}
		out = append(out, chosen...)
	}
	return out
}

func (s *topology) keyspace(name string) (Keyspace, bool) {
	if s == nil {
		return Keyspace{}, false
	}
	i := slices.IndexFunc(s.Keyspaces, func(k Keyspace) bool { return k.Name == name })
	if i < 0 {
		return Keyspace{}, false
	}
	return s.Keyspaces[i], true
}

// systemReplicas returns a system keyspace as it is distributed: on every owner, or, without Replicas, on each node for itself.
func systemReplicas(s *topology, name string) Keyspace {
	k := Keyspace{Name: name}
	for _, x := range systemKeyspaces {
		if x.name == name && !x.local {
			k.Replicas = map[string]int{}
			for _, t := range s.sorted() {
				k.Replicas[t.DC]++
			}
		}
	}
	return k
}

func (n *Node) knownKeyspace(ks string) error {
	for _, k := range systemKeyspaces {
		if k.name == ks {
			return nil
		}
	}
	if _, ok := n.g0.state().keyspace(ks); ok {
		return nil
	}
	return badParam("Can't find a keyspace %s", ks)
}

// apiKeyspaces lists keyspaces: type is user, non_local_strategy or all (also when it is left out or unknown), replication is tablets,
// vnodes or all.
func (n *Node) apiKeyspaces(c apiCall) (any, error) {
	kind, replication := c.FormValue("type"), c.FormValue("replication")
	out := []string{}
	keep := func(name string, tablets bool) {
		if replication == "" || replication == "all" || (replication == "tablets") == tablets {
			out = append(out, name)
		}
	}
	if s := n.g0.state(); s != nil {
		for _, k := range s.Keyspaces {
			keep(k.Name, k.Tablets)
		}
	}
	for _, k := range systemKeyspaces {
		if kind != "user" && (kind != "non_local_strategy" || !k.local) {
			keep(k.name, false)
		}
	}
	return out, nil
}

// apiDescribeRing prints every range of a keyspace with its replicas. Nodes that are DOWN are replicas like any other.
func (n *Node) apiDescribeRing(c apiCall) (any, error) {
	if err := n.knownKeyspace(c.param); err != nil {
		return nil, err
	}
	s := n.g0.state()
	k, user := s.keyspace(c.param)
	table := c.FormValue("table")
	switch {
	case user && table != "" && !slices.Contains(k.Tables, table):
		return nil, badParam("Can't find a column family %s in keyspace %s", table, k.Name)
	case k.Tablets && table == "":
		return nil, runtimeErrorf("The keyspace %s has tablet table. Query describe_ring with the table parameter!", k.Name)
	case !user:
		k = systemReplicas(s, c.param)
	}
	ring := s.ring()
	out := streamed{}
	for i, r := range ring {
		hosts, details := []string{}, []any{}
		ids := k.replicasOf(ring, i)
		if k.Replicas == nil {
			ids = []string{n.hostID} // LocalStrategy
		}
		for _, id := range ids {
			ip, err := n.mustAddress(id)
			if err != nil {
				return nil, err
			}
			t := s.node(id)
			hosts = append(hosts, ip)
			details = append(details, obj{{"host", ip}, {"datacenter", t.DC}, {"rack", t.Rack}})
		}
		out = append(out, obj{
			{"start_token", itoa(ring[(i+len(ring)-1)%len(ring)].token)}, {"end_token", itoa(r.token)},
			{"endpoints", hosts}, {"rpc_endpoints", hosts}, {"endpoint_details", details},
		})
	}
	return out, nil
}

// apiTables lists the tables of user keyspaces: api/column_family.cc, get_column_family. A keyspace without named tables has one.
func (n *Node) apiTables(apiCall) (any, error) {
	out := streamed{}
	if s := n.g0.state(); s != nil {
		for _, k := range s.Keyspaces {
			tables := k.Tables
			if len(tables) == 0 {
				tables = []string{"t"}
			}
			for _, t := range tables {
				out = append(out, obj{{"ks", k.Name}, {"cf", t}, {"type", "ColumnFamilies"}})
			}
		}
	}
	return out, nil
}
