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
	system  bool
}

// keyspaces are those of users, then those of every node. A system keyspace has replicas on every owner, or, of local strategy and without
// Replicas, each node for itself.
func (n *Node) keyspaces() []Keyspace {
	s := n.g0.state()
	if s == nil {
		s = &topology{}
	}
	everywhere := map[string]int{}
	for _, t := range s.sorted() {
		everywhere[t.DC]++
	}
	out := append(slices.Clone(s.Keyspaces), Keyspace{Name: "system", system: true}, Keyspace{Name: "system_schema", system: true})
	for _, name := range []string{"system_auth", "system_distributed", "system_distributed_everywhere", "system_traces"} {
		out = append(out, Keyspace{Name: name, Replicas: everywhere, system: true})
	}
	return out
}

func (n *Node) keyspace(name string) (Keyspace, error) {
	all := n.keyspaces()
	if i := slices.IndexFunc(all, func(k Keyspace) bool { return k.Name == name }); i >= 0 {
		return all[i], nil
	}
	return Keyspace{}, badParam("Can't find a keyspace %s", name)
}

// ParseKeyspaces reads keyspaces from text such as "app=dc1:3,dc2:3;log=dc1:1;hot=dc1:3,tablets,table:t1". A keyspace without a
// datacenter, or with a number that is none, is an error.
func ParseKeyspaces(s string) ([]Keyspace, error) {
	var out []Keyspace
	for part := range strings.SplitSeq(s, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, spec, _ := strings.Cut(part, "=")
		k, bad := Keyspace{Name: strings.TrimSpace(name), Replicas: map[string]int{}}, name == ""
		for _, f := range splitList(spec) {
			dc, num, _ := strings.Cut(f, ":")
			rf, err := strconv.Atoi(num)
			switch {
			case f == "tablets":
				k.Tablets = true
			case dc == "table" && num != "":
				k.Tables = append(k.Tables, num)
			case err != nil || rf < 0:
				bad = true
			default:
				k.Replicas[dc] = rf
			}
		}
		if bad || len(k.Replicas) == 0 {
			return nil, fmt.Errorf("parse keyspace %q: want NAME=DATACENTER:REPLICAS[,DATACENTER:REPLICAS...][,tablets][,table:NAME]", part)
		}
		out = append(out, k)
	}
	return out, nil
}

// replicasOf returns the host IDs of the replicas of the range that ends at ring[at], datacenter by datacenter: the next nodes along the ring.
// Racks do not count.
func (k Keyspace) replicasOf(ring []ringToken, at int) []string {
	var out []string
	for _, dc := range sortedKeys(k.Replicas) {
		var chosen []string
		for i := range ring {
			if n := ring[(at+i)%len(ring)].node; n.DC == dc && len(chosen) < k.Replicas[dc] {
				chosen = addUnique(chosen, n.HostID)
			}
		}
		out = append(out, chosen...)
	}
	return out
}

// apiKeyspaces lists keyspaces: type is user, non_local_strategy or all (also when it is left out or unknown), replication is tablets,
// vnodes or all.
func (n *Node) apiKeyspaces(c apiCall) (any, error) {
	kind, replication := c.FormValue("type"), c.FormValue("replication")
	out := []string{}
	for _, k := range n.keyspaces() {
		hidden := kind == "user" && k.system || kind == "non_local_strategy" && k.Replicas == nil
		if !hidden && (replication == "" || replication == "all" || (replication == "tablets") == k.Tablets) {
			out = append(out, k.Name)
		}
	}
	return out, nil
}

// apiDescribeRing prints every range of a keyspace with its replicas. Nodes that are DOWN are replicas like any other.
func (n *Node) apiDescribeRing(c apiCall) (any, error) {
	k, err := n.keyspace(c.param)
	if err != nil {
		return nil, err
	}
	if k.Tablets && c.FormValue("table") == "" {
		return nil, runtimeErrorf("The keyspace %s has tablet table. Query describe_ring with the table parameter!", k.Name)
	}
	ring, out := n.g0.state().ring(), []any{}
	for i, r := range ring {
		hosts := []string{}
		ids := k.replicasOf(ring, i)
		if k.Replicas == nil {
			ids = []string{n.hostID} // LocalStrategy
		}
		for _, id := range ids {
			ip, err := n.mustAddress(id)
			if err != nil {
				return nil, err
			}
			hosts = append(hosts, ip)
		}
		out = append(out, map[string]any{
			"start_token": itoa(ring[(i+len(ring)-1)%len(ring)].token), "end_token": itoa(r.token), "endpoints": hosts, "rpc_endpoints": hosts,
		})
	}
	return out, nil
}

// apiTables lists the tables of user keyspaces: api/column_family.cc, get_column_family. A keyspace without named tables has one.
func (n *Node) apiTables(apiCall) (any, error) {
	out := []any{}
	for _, k := range n.keyspaces() {
		tables := k.Tables
		if len(tables) == 0 {
			tables = []string{"t"}
		}
		for _, t := range tables {
			if !k.system {
				out = append(out, map[string]string{"ks": k.Name, "cf": t, "type": "ColumnFamilies"})
			}
		}
	}
	return out, nil
}
