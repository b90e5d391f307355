// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/plugin"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

var update = flag.Bool("update", false, "write golden files instead of comparing with them")

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Run is one run of the plugin.
type Run struct {
	Args []string // without the program's name
	// Objects on the API server; Client, when set, stands for it instead.
	Objects []client.Object
	Client  client.WithWatch
	// Funcs let requests fail.
	Funcs interceptor.Funcs
	Stdin string
	// Terminal of the run; the zero value is none.
	Terminal cli.Terminal
	Environ  []string
	// Clock, Now when nil.
	Clock clock.WithTicker
	// Live replaces reading from the nodes.
	Live func(ctx context.Context, s *kube.Snapshot, opts kube.LiveOptions) error
	// Setup changes the dependencies before the run.
	Setup func(*cli.Deps)
	// Stdout, when set, also gets what is written to standard output, as it is written.
	Stdout io.Writer
}

// Result is what a person and a script see.
type Result struct {
	Stdout, Stderr string
	Code           int
}

// NewClient is a fake API server that holds the objects and knows our kinds.
func NewClient(objects []client.Object, funcs interceptor.Funcs) client.WithWatch {
	return fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithRESTMapper(kube.NewMapper()).WithReturnManagedFields().WithObjects(copies(objects)...).WithInterceptorFuncs(funcs).Build()
}

// copies: the fake client changes what it is given.
func copies(objects []client.Object) []client.Object {
	out := make([]client.Object, len(objects))
	for i, o := range objects {
		c, ok := o.DeepCopyObject().(client.Object)
		if !ok {
			panic(fmt.Sprintf("%T is no client.Object", o))
		}
		out[i] = c
	}
	return out
}

// Buffer is a bytes.Buffer for several goroutines.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// Do runs the plugin.
func (r Run) Do(t testing.TB) Result {
	t.Helper()
	return r.DoContext(t.Context(), t)
}

// DoContext runs the plugin until ctx ends.
func (r Run) DoContext(ctx context.Context, t testing.TB) Result {
	t.Helper()
	var out, errOut Buffer
	var stdout io.Writer = &out
	if r.Stdout != nil {
		stdout = io.MultiWriter(&out, r.Stdout)
	}
	// A kubeconfig of the machine that runs the test must not matter. It is given as a flag, and not as the flag's default, which help shows.
	empty := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(empty, []byte("apiVersion: v1\nkind: Config\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"/usr/local/bin/kubectl-scylla"}
	rest := r.Args
	if len(rest) > 0 && strings.HasPrefix(rest[0], "__complete") {
		args, rest = append(args, rest[0]), rest[1:]
	}
	args = append(append(args, "--kubeconfig="+empty), rest...)
	code := plugin.Execute(ctx, r.deps(t, stdout, &errOut), args)
	return Result{Stdout: out.String(), Stderr: errOut.String(), Code: code}
}

func (r Run) deps(t testing.TB, out, errOut io.Writer) *cli.Deps {
	t.Helper()
	clk := r.Clock
	if clk == nil {
		clk = clocktesting.NewFakeClock(Now)
	}
	d := cli.New(genericiooptions.IOStreams{In: strings.NewReader(r.Stdin), Out: out, ErrOut: errOut}, clk, r.Environ, func() cli.Terminal { return r.Terminal })
	c := r.Client
	if c == nil && r.Objects != nil {
		c = NewClient(r.Objects, r.Funcs)
	}
	if c != nil {
		d.NewClient = func() (client.WithWatch, error) { return c, nil }
		host := sync.OnceValue(func() string { return server(t) })
		d.RESTConfig = func() (*rest.Config, error) { return &rest.Config{Host: host()}, nil }
	}
	d.ReadLive = func(context.Context, *kube.Snapshot, kube.LiveOptions) error {
		return fmt.Errorf("this test has no nodes to ask")
	}
	if r.Live != nil {
		d.ReadLive = r.Live
	}
	d.WhoAmI = func(context.Context) string { return "ada@example.com" }
	if r.Setup != nil {
		r.Setup(d)
	}
	return d
}

// server is an API server for what no fake client has: its version, and containers without a log. Run.Setup gives a run another one.
func server(t testing.TB) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/version" {
			_, _ = fmt.Fprint(w, `{"major":"1","minor":"37","gitVersion":"v1.37.2"}`)
			return
		}
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"BadRequest","code":400,"message":"the container has no log"}`)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// Transcript is the whole of a run as one text for a golden file.
func (r Run) Transcript(t testing.TB) string {
	t.Helper()
	res := r.Do(t)
	var b strings.Builder
	fmt.Fprintf(&b, "$ kubectl scylla %s\n", strings.Join(quoted(r.Args), " "))
	fmt.Fprintf(&b, "-- stdout --\n%s", res.Stdout)
	fmt.Fprintf(&b, "-- stderr --\n%s", res.Stderr)
	fmt.Fprintf(&b, "-- exit %d --\n", res.Code)
	return b.String()
}

func quoted(args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = a
		if strings.ContainsAny(a, " '{}*\"") || a == "" {
			out[i] = "'" + a + "'"
		}
	}
	return out
}

// Golden compares text with testdata/NAME below the package under test; -update writes it. Escape sequences are written as \x1b so that a
// reader and a diff can see them.
func Golden(t testing.TB, name, text string) {
	t.Helper()
	text = strings.ReplaceAll(text, "\x1b", `\x1b`)
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("read golden file (write it with -update): %v", err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", file, diff)
	}
}

// Save writes objects as `kubectl get ... -o yaml` does, and gives the file's name.
func Save(t testing.TB, objects []client.Object) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "saved.yaml")
	if err := os.WriteFile(file, SavedYAML(t, objects), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// SavedYAML is the objects as one List.
func SavedYAML(t testing.TB, objects []client.Object) []byte {
	t.Helper()
	scheme := kube.NewScheme()
	list := map[string]any{"apiVersion": "v1", "kind": "List"}
	var items []any
	for _, o := range copies(objects) {
		gvk := o.GetObjectKind().GroupVersionKind()
		if gvk.Empty() {
			gvks, _, err := scheme.ObjectKinds(o)
			if err != nil {
				t.Fatal(err)
			}
			gvk = gvks[0]
		}
		items = append(items, asMap(t, o, gvk))
	}
	list["items"] = items
	data, err := yaml.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func asMap(t testing.TB, o client.Object, gvk schema.GroupVersionKind) map[string]any {
	t.Helper()
	o.GetObjectKind().SetGroupVersionKind(gvk)
	data, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]any{}
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	return m
}
