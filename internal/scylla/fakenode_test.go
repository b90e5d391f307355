// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// answer is one HTTP answer of a node.
type answer struct {
	status int
	body   string
	// reset breaks the connection with a reset, eof closes it; both without any answer.
	reset, eof bool
}

// fakeNode answers by path, without a trailing slash as ScyllaDB does; a path that is not there is 404 "Not found".
type fakeNode struct {
	*httptest.Server
	mu       sync.Mutex
	answers  map[string][]answer // the last one repeats
	requests []string
}

func newFakeNode(t *testing.T, answers map[string]answer) *fakeNode {
	t.Helper()
	n := &fakeNode{answers: map[string][]answer{}}
	for p, a := range answers {
		n.answers[p] = []answer{a}
	}
	n.Server = httptest.NewServer(http.HandlerFunc(n.serve))
	t.Cleanup(n.Close)
	return n
}

func (n *fakeNode) set(path string, answers ...answer) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answers[path] = answers
}

// change sets answers by path; gone takes one away.
func (n *fakeNode) change(answers map[string]answer) {
	for p, a := range answers {
		if n.set(p, a); a == gone {
			n.set(p)
		}
	}
}

func (n *fakeNode) next(path string) (answer, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.requests = append(n.requests, path)
	list := n.answers[path]
	if len(list) == 0 {
		return answer{}, false
	}
	if len(list) > 1 {
		n.answers[path] = list[1:]
	}
	return list[0], true
}

func (n *fakeNode) count(path string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := 0
	for _, r := range n.requests {
		if r == path {
			c++
		}
	}
	return c
}

func (n *fakeNode) serve(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimRight(r.URL.Path, "/")
	a, ok := n.next(path)
	if !ok {
		a = answer{status: http.StatusNotFound, body: `{"message": "Not found", "code": 404}`}
	}
	if a.reset || a.eof {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		if tcp, ok := conn.(interface{ SetLinger(int) error }); ok && a.reset {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
		return
	}
	w.Header().Set("Content-Type", "text/plain") // as older ScyllaDB says of its JSON
	if a.status == 0 {
		a.status = http.StatusOK
	}
	w.WriteHeader(a.status)
	_, _ = w.Write([]byte(a.body))
}

func (n *fakeNode) client() *Client { return NewClient(n.URL, nil) }

func jsonOf(v any) answer {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return answer{body: string(b)}
}

func text(s string) answer { return jsonOf(s) }

func fails(status int, message string) answer {
	return answer{status: status, body: fmt.Sprintf(`{"message": %q, "code": %d}`, message, status)}
}

type pair struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
}

func list[T any](items ...T) answer {
	if items == nil {
		items = []T{}
	}
	return jsonOf(items)
}

type state struct {
	State   int    `json:"application_state"`
	Value   string `json:"value"`
	Version int    `json:"version"`
}

type endpoint struct {
	Addrs      string  `json:"addrs"`
	States     []state `json:"application_state"`
	Generation int64   `json:"generation"`
	Version    int     `json:"version"`
	UpdateTime int64   `json:"update_time"`
	IsAlive    bool    `json:"is_alive"`
}

func gossips(address, id string, generation int64, alive bool) endpoint {
	states := []state{{State: 0, Value: "NORMAL,1"}, {State: 13, Value: "-1;5"}}
	if id != "" {
		states = append(states, state{State: stateHostID, Value: id})
	}
	return endpoint{Addrs: address, States: states, Generation: generation, IsAlive: alive, UpdateTime: 1}
}

type task struct {
	ID     string `json:"task_id"`
	Type   string `json:"type"`
	Kind   string `json:"kind"`
	State  string `json:"state"`
	Entity string `json:"entity"`
	End    string `json:"end_time"`
}
