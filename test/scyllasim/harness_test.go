// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// patience is in the time of a synctest bubble, in which each of these clusters lives.
const patience = time.Hour

// TestMain makes the channel of package net's resolver outside of all bubbles: one test looks a name up, and in a second bubble that panics.
func TestMain(m *testing.M) {
	_, _ = net.DefaultResolver.LookupHost(context.Background(), "localhost")
	os.Exit(m.Run())
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func startCluster(t *testing.T, size int, base Options) *Cluster {
	t.Helper()
	c, err := StartCluster(testContext(t), t.TempDir(), size, base)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	t.Cleanup(func() {
		if t.Failed() {
			for _, n := range c.all {
				t.Logf("--- %s\n%s", n.Address(), n.Log())
			}
		}
	})
	return c
}

// inBubble runs a test with a cluster in a bubble of its own.
func inBubble(t *testing.T, size int, base Options, test func(t *testing.T, c *Cluster)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, startCluster(t, size, base)) })
}

// kill ends a node, and waits until all others mark it DOWN.
func kill(t *testing.T, c *Cluster, i int) *Node {
	t.Helper()
	c.Node(i).Kill()
	waitAllDown(t, c, c.Node(i))
	return c.Node(i)
}

func waitAllDown(t *testing.T, c *Cluster, of *Node) {
	t.Helper()
	for _, n := range c.nodes {
		if n.ctx.Err() == nil {
			waitDown(t, n, of.Address())
		}
	}
}

func waitLeft(t *testing.T, c *Cluster, id string) {
	t.Helper()
	eventually(t, id+" is left", func() bool { return c.Node(0).g0.state().State(id) == rules.Left })
}

func waitTasks(t *testing.T, n *Node, want int) {
	t.Helper()
	eventually(t, "the tasks", func() bool { return len(tasks(t, n)) == want })
}

// post returns status and body.
func post(t *testing.T, n *Node, path string) string {
	t.Helper()
	code, body, err := n.Request(testContext(t), "POST", path)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(code, " ", body)
}

// eventually polls until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func get(t *testing.T, n *Node, path string) (int, string) {
	t.Helper()
	code, body, err := n.Request(testContext(t), "GET", path)
	if err != nil {
		return 0, err.Error()
	}
	return code, body
}

// read decodes an answer of the node's REST API.
func read[T any](t *testing.T, n *Node, path string) (out T) {
	t.Helper()
	if code, body := get(t, n, path); code != 200 || json.Unmarshal([]byte(body), &out) != nil {
		t.Fatal(path, code, body)
	}
	return out
}

func list(t *testing.T, n *Node, path string) []string { t.Helper(); return read[[]string](t, n, path) }

func text(t *testing.T, n *Node, path string) string { t.Helper(); return read[string](t, n, path) }

type kv struct{ Key, Value string }

func hostIDs(t *testing.T, n *Node) []kv {
	t.Helper()
	return read[[]kv](t, n, "/storage_service/host_id")
}

func waitDown(t *testing.T, observer *Node, observed string) {
	t.Helper()
	eventually(t, observer.Address()+" marks "+observed+" DOWN", func() bool {
		return !slices.Contains(list(t, observer, "/gossiper/endpoint/live"), observed)
	})
}

func wantExit(t *testing.T, n *Node, code int, texts ...string) {
	t.Helper()
	select {
	case <-n.Done():
	case <-time.After(patience):
		t.Fatalf("%s did not end; mode %s", n.Address(), n.Mode())
	}
	if n.ExitCode() != code {
		t.Errorf("exit code %d, want %d", n.ExitCode(), code)
	}
	for _, x := range texts {
		if !strings.Contains(n.Log(), x) {
			t.Errorf("log has no %q", x)
		}
	}
}

func add(t *testing.T, c *Cluster, change func(o *Options)) *Node {
	t.Helper()
	n, err := c.Add(change)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func restart(t *testing.T, c *Cluster, i int, change func(o *Options)) *Node {
	t.Helper()
	n, err := c.Start(i, change)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func ready(t *testing.T, n *Node) {
	t.Helper()
	if err := n.WaitReady(testContext(t)); err != nil {
		t.Fatal(err)
	}
}

type task struct{ Type, State, Entity, Error string }

func tasks(t *testing.T, n *Node) []task {
	t.Helper()
	var out []task
	for _, s := range read[[]struct {
		TaskID string `json:"task_id"`
	}](t, n, "/task_manager/list_module_tasks/node_ops") {
		out = append(out, read[task](t, n, "/task_manager/task_status/"+s.TaskID))
	}
	return out
}
