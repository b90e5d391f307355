// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseKeyspaces(t *testing.T) {
	t.Parallel()
	got, err := ParseKeyspaces(" app=dc1:3,dc2:2 ; hot=dc1:1,tablets,table:t1,table:t2 ;")
	want := []Keyspace{
		{Name: "app", Replicas: map[string]int{"dc1": 3, "dc2": 2}},
		{Name: "hot", Replicas: map[string]int{"dc1": 1}, Tablets: true, Tables: []string{"t1", "t2"}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{"app", "=dc1:3", "app=", "app=dc1", "app=dc1:x", "app=dc1:-1", "app=tablets"} {
		if got, err := ParseKeyspaces(bad); err == nil {
			t.Errorf("%q is read as %v", bad, got)
		}
	}
}

// TestReplicas holds the placement against its definition: as many replicas as nodes allow, and no rack twice while another rack is free.
func TestReplicas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var ring []ringToken
		perDC, racks := map[string]int{}, map[string]map[string]bool{"dc1": {}, "dc2": {}}
		for i := range rapid.IntRange(1, 9).Draw(t, "nodes") {
			n := &topoNode{
				HostID: fmt.Sprint("n", i), DC: rapid.SampledFrom([]string{"dc1", "dc2"}).Draw(t, "dc"),
				Rack: rapid.SampledFrom([]string{"r1", "r2", "r3"}).Draw(t, "rack"),
			}
			perDC[n.DC]++
			racks[n.DC][n.Rack] = true
			for j := range 3 {
				ring = append(ring, ringToken{int64(i + 100*j), n})
			}
		}
		ring = rapid.Permutation(ring).Draw(t, "ring")
		k := Keyspace{Replicas: map[string]int{"dc1": rapid.IntRange(0, 4).Draw(t, "rf1"), "dc2": rapid.IntRange(0, 4).Draw(t, "rf2")}}
		node := map[string]*topoNode{}
		for _, r := range ring {
			node[r.node.HostID] = r.node
		}
		for at := range ring {
			ids := k.replicasOf(ring, at)
			if slices.Sort(ids); len(slices.Compact(slices.Clone(ids))) != len(ids) {
				t.Fatalf("a replica twice: %v", ids)
			}
			for dc, rf := range k.Replicas {
				var used []string
				for _, id := range ids {
					if node[id].DC == dc {
						used = append(used, node[id].Rack)
					}
				}
				if want := min(rf, perDC[dc]); len(used) != want {
					t.Fatalf("%d replicas in %s, want %d", len(used), dc, want)
				}
				slices.Sort(used)
				if got, want := len(slices.Compact(used)), min(rf, len(racks[dc])); got != want {
					t.Fatalf("replicas of %s on %d racks, want %d", dc, got, want)
				}
			}
		}
	})
}

func TestKeyspacesAndTheirRings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		keyspaces, err := ParseKeyspaces("app=datacenter1:2;log=datacenter1:1;hot=datacenter1:3,tablets,table:t1")
		if err != nil {
			t.Fatal(err)
		}
		c := startCluster(t, 1, Options{Keyspaces: keyspaces})
		for range 2 {
			ready(t, add(t, c, func(o *Options) { o.Keyspaces = nil })) // the founder's count
		}
		zero := add(t, c, func(o *Options) { o.ZeroToken = true })
		ready(t, zero)
		n := c.Node(1)
		for query, want := range map[string][]string{
			"":                              {"app", "log", "hot", "system", "system_schema", "system_auth", "system_distributed", "system_distributed_everywhere", "system_traces"},
			"?type=all&replication=tablets": {"hot"},
			"?type=user":                    {"app", "log", "hot"},
			"?type=user&replication=vnodes": {"app", "log"},
			"?type=non_local_strategy":      {"app", "log", "hot", "system_auth", "system_distributed", "system_distributed_everywhere", "system_traces"},
		} {
			if got := list(t, n, "/storage_service/keyspaces"+query); !slices.Equal(got, want) {
				t.Errorf("keyspaces%s: %v, want %v", query, got, want)
			}
		}
		type ringRange struct {
			Start   string   `json:"start_token"`
			End     string   `json:"end_token"`
			Hosts   []string `json:"endpoints"`
			RPC     []string `json:"rpc_endpoints"`
			Details []struct{ Host, Datacenter, Rack string }
		}
		c.Node(0).Kill() // a replica that is DOWN stays a replica
		for path, replicas := range map[string]int{"app": 2, "log": 1, "hot?table=t1": 3, "system_auth": 3, "system": 1} {
			var ring []ringRange
			if err := n.GetJSON(testContext(t), "/storage_service/describe_ring/"+path, &ring); err != nil {
				t.Fatal(err)
			}
			if len(ring) != 3*tokensPerNode {
				t.Errorf("%s: %d ranges", path, len(ring))
			}
			for i, r := range ring {
				if len(r.Hosts) != replicas || len(r.RPC) != replicas || slices.Contains(r.Hosts, zero.Address()) {
					t.Fatalf("%s: replicas %v of range %d", path, r.Hosts, i)
				}
				if before := ring[(i+len(ring)-1)%len(ring)]; r.Start != before.End {
					t.Fatalf("%s: range %d begins at %s, the one before ends at %s", path, i, r.Start, before.End)
				}
			}
		}
		for path, want := range map[string]string{
			"nope":           "400 ",
			"app?table=nope": "400 ",
			"hot":            "500 ",
		} {
			code, body := get(t, n, "/storage_service/describe_ring/"+path)
			if got := fmt.Sprint(code, " ", body); !strings.HasPrefix(got, want) {
				t.Errorf("%s: %s, want %s", path, got, want)
			}
		}
		_, body := get(t, n, "/storage_service/describe_ring/log")
		first := strings.SplitAfter(body, "]}")[0]
		if !strings.HasPrefix(first, `[{"start_token": "`) || !strings.Contains(first, `"endpoint_details": [{"host": "10.0.0.`) {
			t.Errorf("form: %s", first)
		}
	})
}
