// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/hostids"
)

// canned answers without a socket.
type canned map[string]string

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	body, ok := c[r.URL.Path]
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r}
	if !ok {
		resp.StatusCode, body = http.StatusNotFound, `{"message":"Not found","code":404}`
	}
	resp.Body = io.NopCloser(strings.NewReader(body))
	return resp, nil
}

func (c canned) client() *Client {
	return NewClient("http://localhost:10000", &http.Client{Transport: c})
}

func encoded(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// drawn is the gossip of one node; the node has no other source.
type drawn struct {
	endpoints []endpoint
	ids       []string // by endpoint
	members   []pair
	live      []string
	down      []string
}

func drawCluster(t *rapid.T) drawn {
	var c drawn
	n := rapid.IntRange(1, 8).Draw(t, "nodes")
	addresses := rapid.IntRange(1, n).Draw(t, "addresses") // fewer than nodes: some share
	keep := rapid.IntRange(0, 10)
	var live, down []string
	for i := range n {
		id := fmt.Sprintf("%08x-0000-4000-8000-000000000000", i+1)
		a := fmt.Sprintf("10.0.0.%d", rapid.IntRange(1, addresses).Draw(t, "address"))
		alive := rapid.Bool().Draw(t, "alive")
		e := gossips(a, id, int64(rapid.IntRange(1, 5).Draw(t, "generation")), alive)
		c.ids = append(c.ids, id)
		c.endpoints = append(c.endpoints, e)
		if keep.Draw(t, "member") > 0 {
			c.members = append(c.members, pair{a, id})
		}
		if alive && keep.Draw(t, "in live") > 0 {
			live = append(live, a)
		} else if !alive && keep.Draw(t, "in down") > 0 {
			down = append(down, a)
		}
	}
	c.live, c.down = live, down
	return c
}

func (c drawn) answers(order *rand.Rand) canned {
	shuffled := func(n int, swap func(i, j int)) { order.Shuffle(n, swap) }
	m, e := slices.Clone(c.members), slices.Clone(c.endpoints)
	l, d := slices.Clone(c.live), slices.Clone(c.down)
	shuffled(len(m), func(i, j int) { m[i], m[j] = m[j], m[i] })
	shuffled(len(e), func(i, j int) { e[i], e[j] = e[j], e[i] })
	shuffled(len(l), func(i, j int) { l[i], l[j] = l[j], l[i] })
	shuffled(len(d), func(i, j int) { d[i], d[j] = d[j], d[i] })
	return canned{
		pathVersion: `"2026.2.0"`, pathMembers: encoded(append([]pair{}, m...)), pathEndpoints: encoded(e),
		pathLive: encoded(append([]string{}, l...)), pathDown: encoded(append([]string{}, d...)),
	}
}

func TestNeverUpWithoutGossipsWord(t *testing.T) {
	ups := 0
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t)
		seed := rapid.Uint64().Draw(t, "order")
		row := NewReader(c.answers(rand.New(rand.NewPCG(seed, 1))).client()).Read(t.Context())
		if row.Error != nil {
			t.Fatalf("error %s", *row.Error)
		}
		if len(row.ObservedNodes) != len(c.members) {
			t.Fatalf("%d members, %d in the row", len(c.members), len(row.ObservedNodes))
		}
		for i, e := range c.endpoints {
			k := slices.IndexFunc(row.ObservedNodes, func(o api.ObservedNodeStatusReport) bool { return string(o.HostID) == c.ids[i] })
			if k < 0 {
				continue
			}
			later, alone := false, true
			for j, f := range c.endpoints {
				if i != j && f.Addrs == e.Addrs {
					alone = false
					later = later || f.Generation > e.Generation || (f.Generation == e.Generation && f.IsAlive)
				}
			}
			up := row.ObservedNodes[k].Status == api.NodeStatusUp
			if up && (!e.IsAlive || later || !slices.Contains(c.live, e.Addrs)) {
				t.Fatalf("%s is UP: alive %v, another later at %s %v, live %v", e.Addrs, e.IsAlive, e.Addrs, later, c.live)
			}
			// A node without contrary evidence is UP: the rule must not be kept by returning UNKNOWN for everything.
			if !up && e.IsAlive && alone && slices.Contains(c.live, e.Addrs) && !slices.Contains(c.down, e.Addrs) {
				t.Fatalf("%s is %s", c.ids[i], row.ObservedNodes[k].Status)
			}
			if up {
				ups++
			}
		}
		again := NewReader(c.answers(rand.New(rand.NewPCG(seed, 2))).client()).Read(t.Context())
		a, _ := api.EncodeNodeStatusReport(&row)
		if b, _ := api.EncodeNodeStatusReport(&again); a != b {
			t.Fatalf("the order of ScyllaDB's answers matters:\n%s%s", a, b)
		}
	})
	if ups == 0 {
		t.Error("nobody was ever UP")
	}
}

func seedRows(f *testing.F) {
	var cases []struct {
		Input struct {
			HostID httpAnswer `json:"GET /storage_service/host_id"`
			Live   httpAnswer `json:"GET /gossiper/endpoint/live/"`
		} `json:"input"`
	}
	b, err := os.ReadFile("../../test/simulation/vectors/status-report-cases.json")
	if err != nil {
		f.Fatal(err)
	}
	if err := json.Unmarshal([]byte(hostids.UUIDs(string(b))), &cases); err != nil {
		f.Fatal(err)
	}
	for _, c := range cases {
		f.Add([]byte(c.Input.HostID.Body), []byte(c.Input.Live.Body), []byte("[]"), []byte("[]"), []byte("[]"))
	}
	u := usual()
	f.Add([]byte(u[pathMembers].body), []byte(u[pathLive].body), []byte(u[pathDown].body), []byte(u[pathEndpoints].body),
		[]byte(encoded([]task{{"t", "replace", "cluster", "running", idB, ""}, {"u", "bootstrap", "cluster", "failed", idC, "x"}})))
	f.Add([]byte(`[{"key":"10.0.0.1","value":null}]`), []byte(`["::ffff:10.0.0.1"]`), []byte(`["10.0.0.1"]`),
		[]byte(`[{"addrs":"10.0.0.1","is_alive":true,"application_state":[{"application_state":12,"value":"x"}]}]`), []byte("null"))
}

func FuzzReadRow(f *testing.F) {
	seedRows(f)
	f.Fuzz(func(t *testing.T, members, live, down, endpoints, tasks []byte) {
		c := canned{
			pathLocal: `"` + idA + `"`, pathMode: `"NORMAL"`, pathMembers: string(members), pathLive: string(live), pathDown: string(down),
			pathEndpoints: string(endpoints), pathTasks: string(tasks),
		}
		row := NewReader(c.client()).Read(t.Context())
		again := NewReader(c.client()).Read(t.Context())
		a, err := api.EncodeNodeStatusReport(&row)
		if err != nil {
			t.Fatal(err)
		}
		if b, _ := api.EncodeNodeStatusReport(&again); a != b {
			t.Fatalf("%s%s", a, b)
		}
		back, err := api.DecodeNodeStatusReport(a)
		if err != nil {
			t.Fatalf("our own annotation cannot be read: %v", err)
		}
		if len(back.ObservedNodes) != len(row.ObservedNodes) {
			t.Fatalf("%d nodes written, %d read", len(row.ObservedNodes), len(back.ObservedNodes))
		}
		if row.Error != nil && len(row.ObservedNodes) > 0 {
			t.Fatalf("both a row and an error: %s", a)
		}
		gossip, lerr := decodeStrings(bytes.NewReader(live))
		seen := map[string]bool{}
		for _, o := range row.ObservedNodes {
			if o.HostID == "" || seen[string(o.HostID)] {
				t.Fatalf("empty or repeated host ID: %s", a)
			}
			seen[string(o.HostID)] = true
			if o.Status == api.NodeStatusUp && (lerr != nil || len(gossip) == 0) {
				t.Fatalf("UP though gossip has nobody alive: %s", a)
			}
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{`[]`, `null`, `""`, `"x"`, `[{"key":"a","value":"b"}]`, `[{"key":"a","value":["b"]}]`, `1`, `"5"`, `<html>`, `["a"]`,
		`[{"task_id":"t","entity":"e","type":"bootstrap","state":"FAILED","end_time":5}]`,
		`[{"task_id":"t","type":"bootstrap","state":"FAILED"}]`, `[{"task_id":"b","state":"RUNNING"},{"task_id":"a"},{"task_id":"a","state":"done"}]`,
		encoded([]endpoint{gossips("::1", idA, 1, true)})} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if l, err := decodeStrings(bytes.NewReader(b)); err == nil && !slices.IsSorted(l) {
			t.Fatalf("not sorted: %q", l)
		}
		if m, err := decodeMembers(bytes.NewReader(b)); err == nil && !slices.IsSortedFunc(m, compareMembers) {
			t.Fatalf("not sorted: %v", m)
		}
		if ts, err := decodeTasks(bytes.NewReader(b)); err == nil {
			if !slices.IsSortedFunc(ts, func(a, b Task) int { return strings.Compare(a.ID, b.ID) }) {
				t.Fatalf("not sorted: %+v", ts)
			}
			for _, x := range ts {
				if x.State == "" || x.State != strings.ToLower(x.State) {
					t.Fatalf("a task without a state in lower case: %+v", x)
				}
			}
		}
		_, _ = decodeEndpoints(bytes.NewReader(b))
		_, _ = decodeSchemaVersions(bytes.NewReader(b))
		_, _ = decodeInt(bytes.NewReader(b))
		if s, err := decodeString(bytes.NewReader(b)); err == nil && strings.TrimSpace(s) != s {
			t.Fatalf("%q is not trimmed", s)
		}
		if m := clip(errorMessage(b, 500)); m == "" || len(m) > maxErrorMessage+len("…") {
			t.Fatalf("message %q", m)
		}
		s := string(b)
		if c := canonicalHostID(s); canonicalHostID(c) != c {
			t.Fatalf("%q is not canonical", c)
		}
		if c := canonicalAddress(s); canonicalAddress(c) != c {
			t.Fatalf("%q is not canonical", c)
		}
	})
}

// TestNoHarm46NoPasswordInAnAnswer: ScyllaDB's words get into the annotation of the Pod, and from there into reports and conditions.
func TestNoHarm46NoPasswordInAnAnswer(t *testing.T) {
	const statement = "cannot run CREATE ROLE a WITH PASSWORD = 'hunter2'"
	if got := clip(errorMessage([]byte(`{"message": "`+statement+`"}`), 500)); strings.Contains(got, "hunter2") || !strings.Contains(got, "CREATE ROLE a") {
		t.Error(got)
	}
}
