// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/plugintest"
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
		"the worst first":         {args: "--sort-by seen --no-headers", stdout: []string{"4  dc1  rack3  demo-dc1-rack3-0", "1  dc1  rack1"}, not: "NOT HEALTHY", code: 3},
		"columns":                 {args: "-o custom-columns=MEMBER:.member,SEEN:.seen.status,NODE:{.kubernetesNode.state}", stdout: []string{"MEMBER            SEEN    NODE", "demo-dc1-rack1-0  UP      Ready"}, code: 3},
		"columns without headers": {args: "--no-headers --problems --sort-by member -o custom-columns=MEMBER:.member,IP:.podIP", stdout: []string{"demo-dc1-rack2-1  <none>", "demo-dc1-rack3-0  <none>"}, not: "MEMBER", code: 3},
		"problems as a document":  {args: "--problems -o jsonpath={.nodes[*].member}", stdout: []string{"demo-dc1-rack2-1 demo-dc1-rack3-0"}, code: 3},
		"table is the plain text": {args: "-o table", stdout: []string{"✗ NOT HEALTHY"}, code: 3},
		"several clusters":        {args: "-A --problems --no-headers", stdout: []string{"demo"}, not: "NAMESPACE", code: 3},
		"a column that is none":   {args: "-o custom-columns=MEMBER", code: 2, stderr: "write HEADER:.path"},
		"a path that is none":     {args: "-o custom-columns=A:.[", code: 2, stderr: "read column A"},
		"an order that is none":   {args: "--sort-by age", code: 2, stderr: "must be one of host-id"},
		"headers of a document":   {args: "--no-headers -o json", code: 2, stderr: "--no-headers is for tables"},
		"the order of no nodes":   {args: "-A --sort-by seen", code: 2, stderr: "--sort-by orders nodes"},
		"a command without watch": {args: "--exec true", code: 2, stderr: "--exec does nothing without --watch"},
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
		"\n    kubectl '--context=prod east' --as=ada logs demo-dc1-rack3-0 -c scylla -n demo\n", "\ncontext prod east: 2 of 3 nodes UP",
	} {
		if !strings.Contains(got.Stdout, want) {
			t.Errorf("it lacks %q:\n%s%s", want, got.Stdout, got.Stderr)
		}
	}
}

// TestWaitForAClusterThatIsNotThereYet: the wait begins before anything exists.
func TestWaitForAClusterThatIsNotThereYet(t *testing.T) {
	t.Parallel()
	objects := plugintest.New(3, 1).Objects()
	var there atomic.Bool
	c := plugintest.NewClient(objects, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		if !there.Load() {
			return nil
		}
		return c.List(ctx, list, opts...)
	}})
	clk := clocktesting.NewFakeClock(plugintest.Now)
	var said plugintest.Buffer
	done := make(chan plugintest.Result, 1)
	go func() {
		done <- plugintest.Run{Args: []string{"status", "demo", "-n", "demo", "--wait"}, Client: c, Clock: clk, Stderr: &said}.Do(t)
	}()
	const waits = "waiting for cluster demo to exist and to be healthy: there is no ScyllaDB cluster in namespace demo (0s of 5m0s)"
	for {
		select {
		case got := <-done:
			if got.Code != 0 || !strings.Contains(got.Stdout, "HEALTHY demo/demo: 3 of 3") || !strings.Contains(got.Stderr, waits) {
				t.Errorf("exit %d:\n%s%s", got.Code, got.Stdout, got.Stderr)
			}
			return
		case <-time.After(5 * time.Millisecond):
			// No time passes before the wait has been told of, however slow the machine is.
			if strings.Contains(said.String(), "waiting for cluster") {
				there.Store(true)
				clk.Step(time.Second)
			}
		}
	}
}

// TestWatchIntoAFile: each state has its time and what changed, and the command runs at each change, not at the first look.
func TestWatchIntoAFile(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	clk := clocktesting.NewFakeClock(plugintest.Now)
	c := plugintest.NewClient(plugintest.New(3, 1).NoReports().Objects(), interceptor.Funcs{})
	told := filepath.Join(t.TempDir(), "told")
	var out plugintest.Buffer
	done := make(chan plugintest.Result, 1)
	go func() {
		done <- plugintest.Run{
			Args: []string{"status", "demo", "-n", "demo", "--watch", "--exec", `printf '%s|%s\n' "$SCYLLA_VERDICT" "$SCYLLA_CHANGES" >> ` + told}, Client: c, Clock: clk, Stdout: &out,
		}.DoContext(ctx, t)
	}()
	until := func(what string, step time.Duration, is func() bool) {
		t.Helper()
		for deadline := time.After(time.Minute); !is(); {
			select {
			case <-deadline:
				t.Fatalf("%s does not come:\n%s", what, out.String())
			case <-time.After(5 * time.Millisecond):
				clk.Step(step)
			}
		}
	}
	until("the first state", 0, func() bool { return strings.Contains(out.String(), "HEALTHY demo/demo: 3 of 3") })
	down := plugintest.New(3, 1).NoReports().Down("demo-dc1-rack3-0")
	for _, o := range down.Objects() {
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
	until("the command", time.Second, func() bool { text, _ := os.ReadFile(told); return strings.Contains(string(text), "NOT HEALTHY|") })
	cancel()
	got := <-done
	if first, _, _ := strings.Cut(got.Stdout, "\n"); !strings.HasPrefix(first, "--- 2026-11-21 12:00:") || strings.Contains(first, ": H") {
		t.Errorf("the first state begins with %q", first)
	}
	if !strings.Contains(got.Stdout, " UTC: HEALTHY → NOT HEALTHY; ") || !strings.Contains(got.Stdout, "demo-dc1-rack3-0 is seen UP → DOWN") {
		t.Errorf("what changed is not told:\n%s", got.Stdout)
	}
}
