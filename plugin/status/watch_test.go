// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/output"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// running is a command that goes on: what it has printed, the API server that it reads, its interruption, and the time of its bubble.
type running struct {
	output.Buffer
	client.WithWatch
	interrupt func()
	pass      func(time.Duration)
}

// during runs status of a cluster in a bubble, and calls meanwhile once it waits for the first time.
func during(t *testing.T, c client.WithWatch, args string, meanwhile func(*running)) (got plugintest.Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r := running{WithWatch: c, interrupt: cancel, pass: func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}}
		done := make(chan plugintest.Result, 1)
		go func() {
			done <- plugintest.Run{Args: append(strings.Fields("status demo -n demo"), strings.Fields(args)...), Client: c,
				Clock: plugintest.BubbleClock(), Stdout: &r.Buffer}.DoContext(ctx, t)
		}()
		synctest.Wait()
		meanwhile(&r)
		got = <-done
	})
	return got
}

// becomes writes the Pods and reports of another state of the cluster.
func (r *running) becomes(t *testing.T, state *plugintest.Cluster) {
	t.Helper()
	for _, o := range state.Objects() {
		switch o.(type) {
		case *corev1.Pod, *api.ScyllaDBDatacenterNodesStatusReport, *api.ScyllaDBStatusReport:
			old := o.DeepCopyObject().(client.Object)
			if err := r.Get(t.Context(), client.ObjectKeyFromObject(o), old); err != nil {
				t.Fatal(err)
			}
			o.SetResourceVersion(old.GetResourceVersion())
			if err := r.Update(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func healthy() *plugintest.Cluster { return plugintest.New(3, 1) }

func down() *plugintest.Cluster { return plugintest.New(3, 1).Down("demo-dc1-rack3-0") }

func serving(c *plugintest.Cluster) client.WithWatch {
	return plugintest.NewClient(c.Objects(), interceptor.Funcs{})
}

func TestWaitUntilHealthy(t *testing.T) {
	res := during(t, serving(down()), "--wait", func(r *running) { r.becomes(t, healthy()) })
	if res.Code != 0 || !strings.Contains(res.Stdout, "HEALTHY demo/demo: 3 of 3") {
		t.Errorf("exit %d:\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	if want := "waiting for cluster demo/demo to be healthy: demo-dc1-rack3-0 DOWN: scylla exits with code 1, 3 restarts (0s of "; !strings.Contains(res.Stderr, want) {
		t.Errorf("stderr:\n%s\nwant first:\n%s", res.Stderr, want)
	}
}

func TestWaitTimesOut(t *testing.T) {
	res := during(t, serving(down()), "--wait --timeout 10m", func(*running) {})
	if res.Code != 4 || !strings.Contains(res.Stderr, "error: timed out after 10m") || !strings.Contains(res.Stdout, "NOT HEALTHY") {
		t.Errorf("exit %d, want 4, the reason, and the last status:\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
}

// TestWaitForAClusterThatIsNotThereYet: the wait begins before anything exists.
func TestWaitForAClusterThatIsNotThereYet(t *testing.T) {
	there := atomic.Bool{}
	c := plugintest.NewClient(healthy().Objects(), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if !there.Load() {
				return nil
			}
			return c.List(ctx, list, opts...)
		},
	})
	got := during(t, c, "--wait", func(*running) { there.Store(true) })
	const waits = "waiting for cluster demo to exist and to be healthy: no ScyllaDB cluster found in namespace demo (0s of 5m0s)"
	if got.Code != 0 || !strings.Contains(got.Stdout, "HEALTHY demo/demo: 3 of 3") || !strings.Contains(got.Stderr, waits) {
		t.Errorf("exit %d:\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
}

func TestInterrupt(t *testing.T) {
	for _, flag := range []string{"--wait", "--watch"} {
		if res := during(t, serving(down()), flag, func(r *running) { r.interrupt() }); res.Code != 130 || !strings.HasSuffix(res.Stderr, "interrupted\n") {
			t.Errorf("%s: exit %d, stderr %q", flag, res.Code, res.Stderr)
		}
	}
}

// watched is a watch in which nothing changes for 20 seconds, and then a node dies.
func watched(t *testing.T, args string) plugintest.Result {
	t.Helper()
	return during(t, serving(healthy()), args, func(r *running) {
		r.pass(20 * time.Second)
		if n := strings.Count(r.String(), "3 of 3 nodes seen UP"); n != 1 && !strings.Contains(args, "json") {
			t.Errorf("written %d times without a change:\n%s", n, r.String())
		}
		r.becomes(t, down())
		r.pass(10 * time.Second)
		r.interrupt()
	})
}

// TestWatchIntoAFile: each state is written once, with its time and what changed.
func TestWatchIntoAFile(t *testing.T) {
	got := watched(t, "-w")
	if first, _, _ := strings.Cut(got.Stdout, "\n"); !strings.HasPrefix(first, "--- 2026-11-21 12:00:") || strings.Contains(first, ": H") {
		t.Errorf("the first state begins with %q", first)
	}
	if !strings.Contains(got.Stdout, " UTC: HEALTHY → NOT HEALTHY; ") || !strings.Contains(got.Stdout, "demo-dc1-rack3-0 is seen UP → DOWN") {
		t.Errorf("what changed is not told:\n%s", got.Stdout)
	}
}

// TestAWatchedDocumentHasNoDates: what a program reads is a sequence of documents.
func TestAWatchedDocumentHasNoDates(t *testing.T) {
	for _, args := range []string{"-o json", "-o json --problems --sort-by seen"} {
		got := watched(t, "--watch --context prod "+args)
		if strings.Contains(got.Stdout, "--- 20") || strings.Contains(got.Stdout, "--context=prod --context=prod") {
			t.Errorf("%s: a document has dates between, or flags twice:\n%s", args, got.Stdout)
		}
		n := 0
		for dec := json.NewDecoder(strings.NewReader(got.Stdout)); dec.More(); n++ {
			var doc map[string]any
			if err := dec.Decode(&doc); err != nil || doc["kind"] != "ClusterStatusList" {
				t.Fatalf("standard output is no sequence of documents: %v", err)
			}
		}
		if n != 2 {
			t.Errorf("%s: %d documents, want one before and one after the change", args, n)
		}
	}
}
