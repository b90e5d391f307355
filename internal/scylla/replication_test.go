// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim"
)

func TestReplicationOfASimulatedCluster(t *testing.T) {
	keyspaces, err := scyllasim.ParseKeyspaces("app=datacenter1:3;log=datacenter1:1;hot=datacenter1:2,tablets,table:t1")
	if err != nil {
		t.Fatal(err)
	}
	inBubble(t, 3, scyllasim.Options{Keyspaces: keyspaces}, func(ctx context.Context, t *testing.T, c *scyllasim.Cluster) {
		client := NewClient(c.Node(0).APIURL(), c.Network.Client())
		got, err := client.Replication(ctx)
		if err != nil {
			t.Fatal(err)
		}
		members, err := client.Members(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, m := range members {
			ids = append(ids, m.HostID)
		}
		slices.Sort(ids)
		want := map[string]int{"app": 3, "log": 1, "hot": 2, "system_auth": 3}
		for _, k := range got {
			if k.Name == "system" || k.Name == "system_traces" {
				t.Errorf("%s is among them", k.Name)
			}
			for _, set := range k.Replicas {
				if n, ok := want[k.Name]; ok && len(set) != n {
					t.Errorf("%s: replicas %v, want %d", k.Name, set, n)
				}
				for _, id := range set {
					if !slices.Contains(ids, string(id)) {
						t.Errorf("%s: replica %s is no host ID of %v", k.Name, id, ids)
					}
				}
			}
			if k.Name == "app" && (len(k.Replicas) != 1 || !cmp.Equal(hostid.Texts(k.Replicas[0]), ids)) {
				t.Errorf("app: %v, want all of %v, once", k.Replicas, ids)
			}
		}
		for name := range want {
			if !slices.ContainsFunc(got, func(k maintenance.Keyspace) bool { return k.Name == name && len(k.Replicas) > 0 }) {
				t.Errorf("nothing of %s in %v", name, got)
			}
		}
	})
}

// TestNoHarm20TabletsAreDescribedTableByTable: the ring of a keyspace with tablets is read with each table, in ScyllaDB's own words for it, and where it has none to ask about.
func TestNoHarm20TabletsAreDescribedTableByTable(t *testing.T) {
	const id = "8ebd0000-0000-4000-8000-000000000001"
	for name, tablets := range map[string]string{"it names them": `["app"]`, "before replication=tablets": `[]`} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case strings.HasSuffix(r.URL.Path, "/host_id"):
					_, _ = fmt.Fprintf(w, `[{"key":"10.0.0.1","value":%q}]`, id)
				case r.URL.RawQuery == "replication=tablets":
					asked++
					_, _ = fmt.Fprint(w, tablets)
				case strings.HasSuffix(r.URL.Path, "/keyspaces"):
					_, _ = fmt.Fprint(w, `["app","old"]`)
				case strings.HasSuffix(r.URL.Path, "/describe_ring/old") && r.URL.RawQuery == "", strings.HasSuffix(r.URL.Path, "/describe_ring/app") && r.URL.RawQuery == "table=t1":
					_, _ = fmt.Fprint(w, `[{"endpoints":["10.0.0.1"]}]`)
				case strings.HasPrefix(r.URL.Path, "/column_family"):
					_, _ = fmt.Fprint(w, `[{"ks":"app","cf":"t1"},{"ks":"old","cf":"t2"}]`)
				default:
					w.WriteHeader(http.StatusInternalServerError)
					_, _ = fmt.Fprint(w, `{"message":"std::runtime_error (The keyspace app has tablet table. Query describe_ring with the table parameter!)","code":500}`)
				}
			}))
			defer server.Close()
			got, err := NewClient(server.URL, nil).Replication(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			want := []maintenance.Keyspace{{Name: "app", Tablets: true, Replicas: [][]hostid.ID{{id}}}, {Name: "old", Replicas: [][]hostid.ID{{id}}}}
			if diff := cmp.Diff(want, got); diff != "" || asked != 1 {
				t.Errorf("asked for tablets %d times (-want +got)\n%s", asked, diff)
			}
		})
	}
}

func TestReplicationIsNotGuessed(t *testing.T) {
	const member = `{"key":"10.0.0.1","value":"8ebd0000-0000-4000-8000-000000000001"}`
	for name, c := range map[string]struct{ members, ring, says string }{
		"two members at one address":  {`[` + member + `,{"key":"10.0.0.1","value":"8ebd0000-0000-4000-8000-000000000002"}]`, `[]`, "share address 10.0.0.1"},
		"a replica that is no member": {`[` + member + `]`, `[{"endpoints":["10.0.0.9"]}]`, `"10.0.0.9", which is not the address of a member`},
		"no ring":                     {`[` + member + `]`, ``, "keyspace app"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case strings.HasSuffix(r.URL.Path, "/host_id"):
					_, _ = fmt.Fprint(w, c.members)
				case r.URL.RawQuery == "replication=tablets":
					_, _ = fmt.Fprint(w, `[]`)
				case strings.HasSuffix(r.URL.Path, "/keyspaces"):
					_, _ = fmt.Fprint(w, `["app"]`)
				case c.ring == "":
					w.WriteHeader(http.StatusInternalServerError)
				default:
					_, _ = fmt.Fprint(w, c.ring)
				}
			}))
			defer server.Close()
			if got, err := NewClient(server.URL, nil).Replication(t.Context()); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, %v, want an error with %q", got, err, c.says)
			}
		})
	}
}
