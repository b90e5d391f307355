// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/hostids"
)

func loadVectors(t *testing.T, name string, into any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../test/simulation/vectors", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(hostids.UUIDs(string(b))), into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

type httpAnswer struct {
	Status int    `json:"status"`
	Body   string `json:"body"`
}

// Differences from the Scylla Operator's sidecar, each with the reason. What is not named here must agree.
var rowDifferences = map[string]struct {
	reason string
	want   []api.ObservedNodeStatusReport
	error  bool
}{
	"status-report/empty host ID value": {
		"a member without a host ID cannot be joined to anything: the row says so instead of reporting node \"\" UP", nil, true},
	"status-report/two addresses share a host ID": {
		"one host ID is one node: which of the addresses is the present one is not known without gossip's own word",
		[]api.ObservedNodeStatusReport{{HostID: hostid.ID(hostids.UUID("h")), Status: api.NodeStatusUnknown}}, false},
	"status-report/IPv6 written in two forms does not match": {
		"addresses are compared as addresses and not as text",
		[]api.ObservedNodeStatusReport{{HostID: hostid.ID(hostids.UUID("h")), Status: api.NodeStatusUp}}, false},
}

func TestStatusReportVectors(t *testing.T) {
	var cases []struct {
		ID    string `json:"id"`
		Input struct {
			HostID    httpAnswer `json:"GET /storage_service/host_id"`
			Live      httpAnswer `json:"GET /gossiper/endpoint/live/"`
			Transport string     `json:"transport"`
		} `json:"input"`
		Expected struct {
			AnnotationValue string `json:"annotationValue"`
		} `json:"expected"`
	}
	loadVectors(t, "status-report-cases.json", &cases)
	if len(cases) != 21 {
		t.Fatalf("%d cases, want 21", len(cases))
	}
	named := 0
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			n := newFakeNode(t, map[string]answer{
				"/storage_service/host_id": {status: c.Input.HostID.Status, body: c.Input.HostID.Body,
					reset: c.Input.Transport == "reset-host", eof: c.Input.Transport == "eof-host"},
				"/gossiper/endpoint/live": {status: c.Input.Live.Status, body: c.Input.Live.Body},
			})
			// The recorded cases never asked for the dead. ScyllaDB lists there whoever is a member and not alive.
			var members []pair
			var live []string
			_, _ = json.Unmarshal([]byte(c.Input.HostID.Body), &members), json.Unmarshal([]byte(c.Input.Live.Body), &live)
			var down []string
			for _, m := range members {
				if !slices.ContainsFunc(live, func(l string) bool { return canonicalAddress(l) == canonicalAddress(m.Key) }) && m.Value != hostids.UUID("h") {
					down = append(down, m.Key)
				}
			}
			n.set("/gossiper/endpoint/down", list(down...))
			client := n.client()
			if c.Input.Transport == "refused" {
				n.Close()
			}

			first, second := NewReader(client).Read(t.Context()), NewReader(client).Read(t.Context())
			a, err := api.EncodeNodeStatusReport(&first)
			if err != nil {
				t.Fatal(err)
			}
			if b, _ := api.EncodeNodeStatusReport(&second); a != b {
				t.Errorf("not stable across polls: %q, then %q", a, b)
			}
			if strings.Contains(a, "127.0.0.1") {
				t.Errorf("carries an address of the connection: %s", a)
			}

			if d, ok := rowDifferences[c.ID]; ok {
				named++
				if diff := cmp.Diff(d.want, first.ObservedNodes); diff != "" || (first.Error != nil) != d.error {
					t.Errorf("%s: %s\nerror %v", d.reason, diff, first.Error)
				}
				return
			}
			want, err := api.DecodeNodeStatusReport(c.Expected.AnnotationValue)
			if err != nil {
				t.Fatal(err)
			}
			if (want.Error != nil) != (first.Error != nil) {
				t.Fatalf("error %v, want %v", first.Error, want.Error)
			}
			if want.Error != nil {
				// Our texts name the request and never a port: they differ from the recorded ones by design.
				if len(first.ObservedNodes) != 0 {
					t.Errorf("a row with an error must be empty: %v", first.ObservedNodes)
				}
				return
			}
			if a != c.Expected.AnnotationValue {
				t.Errorf("annotation %q, want %q", a, c.Expected.AnnotationValue)
			}
		})
	}
	if named != len(rowDifferences) {
		t.Errorf("%d named differences were met, %d are named", named, len(rowDifferences))
	}
}

func TestSidecarAnnotationVectors(t *testing.T) {
	var cases []struct {
		ID    string `json:"id"`
		Input struct {
			HostIDMap   string            `json:"hostIDMap"`
			HTTPErrors  map[string]int    `json:"httpErrors"`
			LocalHostID string            `json:"localHostID"`
			NodeTokens  map[string]string `json:"nodeTokens"`
		} `json:"input"`
		Expected struct {
			Written map[string]string `json:"annotationsWritten"`
		} `json:"expected"`
	}
	loadVectors(t, "sidecar-annotation-cases.json", &cases)
	if len(cases) != 9 {
		t.Fatalf("%d cases, want 9", len(cases))
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			body := func(path, b string, quoted bool) answer {
				if s := c.Input.HTTPErrors[path]; s != 0 {
					return answer{status: s, body: b}
				}
				if quoted {
					return text(b)
				}
				return answer{body: b}
			}
			n := newFakeNode(t, map[string]answer{
				"/storage_service/hostid/local": body("/storage_service/hostid/local", c.Input.LocalHostID, true),
				"/storage_service/host_id":      body("/storage_service/host_id", c.Input.HostIDMap, false),
				"/gossiper/endpoint/live":       list("10.0.0.1"),
				"/gossiper/endpoint/down":       list[string](),
			})
			for ip, tokens := range c.Input.NodeTokens {
				p := "/storage_service/tokens/" + ip
				n.set(p, body(p, tokens, false))
			}
			got := map[string]string{}
			row := NewReader(n.client()).Read(t.Context())
			if row.HostID != "" {
				got[api.AnnotationHostID] = string(row.HostID)
			}
			if row.OwnsTokens != nil {
				got[api.AnnotationNodeJoined] = map[bool]string{true: "true", false: "false"}[*row.OwnsTokens]
			}
			want := map[string]string{}
			for _, k := range []string{api.AnnotationHostID, api.AnnotationNodeJoined} {
				if v, ok := c.Expected.Written[k]; ok {
					want[k] = v
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
