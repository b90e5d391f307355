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

	"charm.land/lipgloss/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/output"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

func TestTableFlags(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args   string
		stdout []string // lines, whole or their beginnings
		not    string
		code   int
		stderr string
	}{
		"only problems":           {args: "--problems", stdout: []string{"4  dc1  rack3  demo-dc1-rack3-0"}, not: "1  dc1  rack1  demo-dc1-rack1-0  35d0f1a0  UP", code: 3},
		"the worst first":         {args: "--sort-by seen --no-headers", stdout: []string{"demo-dc1-rack3-0  37d2f3a2-5ea1-4d00-8000-000000000002  DOWN  2/2  error  -", "demo-dc1-rack1-0"}, not: "NOT HEALTHY", code: 3},
		"problems as a document":  {args: "--problems -o jsonpath={.items[*].nodes[*].member}", stdout: []string{"demo-dc1-rack2-1 demo-dc1-rack3-0"}, code: 3},
		"table is the plain text": {args: "-o table", stdout: []string{"✗ NOT HEALTHY"}, code: 3},
		"several clusters":        {args: "-A --problems --no-headers", stdout: []string{"demo  demo  NOT_HEALTHY  2/3  1  1  report  NodeDown  0"}, not: "NAMESPACE", code: 3},
		"Pods for kubectl":        {args: "-o name --problems", stdout: []string{"pod/demo-dc1-rack2-1", "pod/demo-dc1-rack3-0"}, not: "rack1", code: 3},
		"a format that is none":   {args: "-o xml", code: 2, stderr: `unknown output format "xml": use one of table, wide, json, yaml, name, jsonpath=`},
		"an order that is none":   {args: "--sort-by age", code: 2, stderr: "must be one of host-id"},
		"headers of a document":   {args: "--no-headers -o json", code: 2, stderr: "--no-headers requires a table"},
		"the order of no nodes":   {args: "-A --sort-by seen", code: 2, stderr: "--sort-by applies to nodes only"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := plugintest.Run{Args: append([]string{"status", "-n", "demo"}, strings.Fields(tc.args)...), Objects: demoDown().Objects()}.Do(t)
			if got.Code != tc.code || !strings.Contains(got.Stderr, tc.stderr) {
				t.Fatalf("exit %d, want %d:\n%s%s", got.Code, tc.code, got.Stdout, got.Stderr)
			}
			lines := strings.Split(got.Stdout, "\n")
			for _, want := range tc.stdout {
				for len(lines) > 0 && !strings.HasPrefix(lines[0], want) {
					lines = lines[1:]
				}
				if len(lines) == 0 {
					t.Errorf("no line begins with %q, or not in this order:\n%s", want, got.Stdout)
				}
			}
			if tc.not != "" && strings.Contains(got.Stdout, tc.not) {
				t.Errorf("it has %q:\n%s", tc.not, got.Stdout)
			}
		})
	}
}

// TestPrintedCommandsRepeatTheFlags that say which cluster it is, and the context is shown where it is not the current one.
func TestPrintedCommandsRepeatTheFlags(t *testing.T) {
	t.Parallel()
	got := plugintest.Run{Args: []string{"status", "-n", "demo", "--context", "prod east", "--as", "ada"}, Objects: demoDown().Objects()}.Do(t)
	for _, want := range []string{
		"\n    kubectl '--context=prod east' --as=ada logs demo-dc1-rack3-0 -c scylla --previous -n demo\n", "\ncontext prod east; 2 of 3 nodes seen UP",
	} {
		if !strings.Contains(got.Stdout, want) {
			t.Errorf("it lacks %q:\n%s%s", want, got.Stdout, got.Stderr)
		}
	}
}

// TestWaitForAClusterThatIsNotThereYet: the wait begins before anything exists.
func TestWaitForAClusterThatIsNotThereYet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		there := atomic.Bool{}
		c := plugintest.NewClient(plugintest.New(3, 1).Objects(), interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if !there.Load() {
				return nil
			}
			return c.List(ctx, list, opts...)
		}})
		done := make(chan plugintest.Result, 1)
		go func() {
			done <- plugintest.Run{Args: []string{"status", "demo", "-n", "demo", "--wait"}, Client: c, Clock: plugintest.BubbleClock()}.Do(t)
		}()
		synctest.Wait()
		there.Store(true)
		const waits = "waiting for cluster demo to exist and to be healthy: no ScyllaDB cluster found in namespace demo (0s of 5m0s)"
		if got := <-done; got.Code != 0 || !strings.Contains(got.Stdout, "HEALTHY demo/demo: 3 of 3") || !strings.Contains(got.Stderr, waits) {
			t.Errorf("exit %d:\n%s%s", got.Code, got.Stdout, got.Stderr)
		}
	})
}

// watched runs a watch over a cluster in which a node dies after the first state.
func watched(t *testing.T, args ...string) (got plugintest.Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := plugintest.NewClient(plugintest.New(3, 1).NoReports().Objects(), interceptor.Funcs{})
		var out output.Buffer
		done := make(chan plugintest.Result, 1)
		go func() {
			done <- plugintest.Run{
				Args: append([]string{"status", "demo", "-n", "demo", "--watch"}, args...), Client: c, Clock: plugintest.BubbleClock(), Stdout: &out,
			}.DoContext(ctx, t)
		}()
		synctest.Wait()
		if !strings.Contains(strings.ReplaceAll(out.String(), `"`, ""), "3 of 3") {
			t.Errorf("the first state does not come:\n%s", out.String())
		}
		for _, o := range plugintest.New(3, 1).NoReports().Down("demo-dc1-rack3-0").Objects() {
			if o.GetAnnotations()[api.AnnotationNodeStatusReport] == "" {
				continue
			}
			current := o.DeepCopyObject().(client.Object)
			if err := c.Get(ctx, client.ObjectKeyFromObject(o), current); err != nil {
				t.Fatal(err)
			}
			current.SetAnnotations(o.GetAnnotations())
			if err := c.Update(ctx, current); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		cancel()
		got = <-done
	})
	return got
}

// TestWatchIntoAFile: each state has its time and what changed.
func TestWatchIntoAFile(t *testing.T) {
	t.Parallel()
	got := watched(t)
	if first, _, _ := strings.Cut(got.Stdout, "\n"); !strings.HasPrefix(first, "--- 2026-11-21 12:00:") || strings.Contains(first, ": H") {
		t.Errorf("the first state begins with %q", first)
	}
	if !strings.Contains(got.Stdout, " UTC: HEALTHY → NOT HEALTHY; ") || !strings.Contains(got.Stdout, "demo-dc1-rack3-0 is seen UP → DOWN") {
		t.Errorf("what changed is not told:\n%s", got.Stdout)
	}
}

// TestAWatchedDocumentHasNoDates: what a program reads is a sequence of documents.
func TestAWatchedDocumentHasNoDates(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"whole": {"-o", "json"}, "problems": {"-o", "json", "--problems", "--sort-by", "seen"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := watched(t, append([]string{"--context", "prod"}, args...)...)
			if strings.Contains(got.Stdout, "--- 20") || strings.Contains(got.Stdout, "--context=prod --context=prod") {
				t.Errorf("a document has dates between, or flags twice:\n%s", got.Stdout)
			}
			for dec := json.NewDecoder(strings.NewReader(got.Stdout)); dec.More(); {
				var doc map[string]any
				if err := dec.Decode(&doc); err != nil || doc["kind"] != "ClusterStatusList" {
					t.Fatalf("standard output is no sequence of documents: %v", err)
				}
			}
		})
	}
}

// TestAPipeIsWhole: what does not go to a terminal is not shortened, folded or limited, whatever COLUMNS says; a terminal of 80x24 has the status of a cluster of any size.
func TestAPipeIsWhole(t *testing.T) {
	t.Parallel()
	down := func(racks, members int) []client.Object {
		return plugintest.New(racks, members).Down("demo-dc1-rack3-0").Objects()
	}
	clusters := map[string][]client.Object{
		"3 nodes": down(3, 1), "12 nodes": down(4, 3), "60 nodes": down(4, 15), "healthy": plugintest.New(3, 1).Objects(), "60 healthy": plugintest.New(4, 15).Objects(),
		"newcomer": demoDown().Objects(), "two datacenters": plugintest.New(3, 9).AddDatacenter("us-east-1", 3, 9).Down("demo-us-east-1-rack2-4").Objects(),
	}
	for name, objects := range clusters {
		run := plugintest.Run{Args: []string{"status", "-n", "demo"}, Objects: objects, Environ: []string{"LANG=C.UTF-8", "COLUMNS=80"}}
		pipe := run.Do(t).Stdout
		for _, o := range objects {
			if pod, is := o.(*corev1.Pod); is && strings.Count(pipe, " "+pod.Name+" ") < 2 && !strings.Contains(name, "newcomer") {
				t.Errorf("%s: Pod %s is not in the table and in the matrix:\n%s", name, pod.Name, pipe)
			}
		}
		if strings.Contains(pipe, "…") || strings.Contains(pipe, "--all") {
			t.Errorf("%s: something is left out:\n%s", name, pipe)
		}
		run.Terminal = cli.Terminal{Out: true, Width: 80, Height: 24}
		screen := run.Do(t).Stdout
		lines := strings.Split(strings.TrimSuffix(screen, "\n"), "\n")
		for _, line := range lines {
			if lipgloss.Width(line) > 80 {
				t.Errorf("%s: a line is too long: %s", name, line)
			}
		}
		if len(lines) > 23 || !strings.Contains(lines[0], "HEALTHY demo/demo") {
			t.Errorf("%s: %d lines:\n%s", name, len(lines), screen)
		}
	}
	for _, flag := range []string{"--all", "-o=wide"} {
		if all := (plugintest.Run{Args: []string{"status", "-n", "demo", flag}, Objects: clusters["60 nodes"]}).Do(t); strings.Count(all.Stdout, "\n") < 120 || !strings.Contains(all.Stdout, " datacenter); managed by kubectl-scylla\n") {
			t.Errorf("%s leaves something out, or breaks lines:\n%s", flag, all.Stdout)
		}
	}
	script := plugintest.Run{Args: []string{"status", "-n", "demo", "--no-headers"}, Objects: clusters["60 nodes"]}.Do(t)
	if n := strings.Count(script.Stdout, "\n"); n != 60 || !strings.Contains(script.Stdout, "  fresh  4m0s  Running           2/2  ") {
		t.Errorf("--no-headers has %d lines, want one of each node:\n%s", n, script.Stdout)
	}
}

// TestEveryLineHasTheColumns that the page names, one word each, also of a node without a Pod, a host ID or a report; awk '$3=="DOWN"{print $1}' finds the node.
func TestEveryLineHasTheColumns(t *testing.T) {
	t.Parallel()
	left := demoDown()
	left.Pod("demo-dc1-rack2-0").Status.Phase = corev1.PodPending
	for name, objects := range map[string][]client.Object{
		"a node is DOWN": left.Objects(), "begins": begins(), "no reports": plugintest.New(3, 1).NoReports().Objects(), "60 nodes": plugintest.New(4, 15).Down("demo-dc1-rack3-0").Objects(),
	} {
		for args, columns := range map[string]string{
			"status --no-headers": show.PlainNodes, "status -o wide --no-headers": show.PlainNodes + " " + show.PlainWide,
			"status -A --no-headers": show.PlainClusters, "barrier --no-headers": show.PlainBarriers, "report --no-headers": show.PlainNodes,
		} {
			for _, terminal := range []cli.Terminal{{}, {Out: true, Width: 80, Height: 24}} {
				got := plugintest.Run{Args: append(strings.Fields(args), "-n", "demo"), Objects: objects, Terminal: terminal}.Do(t)
				down := ""
				for line := range strings.Lines(got.Stdout) {
					words := strings.Fields(line)
					if len(words) != len(strings.Fields(columns)) {
						t.Errorf("%s: %s: want the columns %s:\n%s", name, args, columns, line)
					} else if words[2] == "DOWN" {
						down += words[0]
					}
				}
				if (down == "demo-dc1-rack3-0") != (strings.HasPrefix(columns, show.PlainNodes) && (name == "60 nodes" || name == "a node is DOWN")) {
					t.Errorf("%s: %s: DOWN is %q:\n%s", name, args, down, got.Stdout)
				}
			}
		}
	}
}
