// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/plugin"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/golden"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/output"
)

// Updating is true when files that are made shall be written and not compared.
func Updating() bool { return golden.Updating() }

// AsArchived is what a dashboard printed of a cluster that was read at Now, as it prints an archive of that moment: only the age differs.
func AsArchived(text string) string {
	return strings.Replace(text, "read 0s ago", "archive of "+words.Moment(Now), 1)
}

// WithoutFrom is what was printed of saved objects, without the --from that its commands repeat: as it is printed of a cluster.
func WithoutFrom(text string) string {
	return cutFrom.ReplaceAllString(printedFrom.ReplaceAllString(text, ""), "$1")
}

// printedFrom is a --from in a command line, in arguments of JSON, and of YAML; cutFrom is one in a line that is cut.
var printedFrom = regexp.MustCompile(`( --from [^\s"'<;,)}]+)|(,\s*"--from",\s*"[^"]*")|(\n\s*- --from\n\s*- \S+)`)

var cutFrom = regexp.MustCompile(`(?m)(kubectl scylla (?:status|barrier|describe|report|dashboard|replace status)[^\n]*? -n demo)( \S*)*…$`)

// bubbleClock advances with the time of a synctest bubble.
type bubbleClock struct {
	clock.RealClock
	began time.Time
}

// BubbleClock is a clock that begins at Now and then keeps the time of the synctest bubble that it is made in.
func BubbleClock() clock.WithTicker { return bubbleClock{began: time.Now()} }

func (c bubbleClock) Now() time.Time                  { return Now.Add(time.Since(c.began)) }
func (c bubbleClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Run is one run of the plugin.
type Run struct {
	Args []string // without the program's name
	// Objects on the API server; Client, when set, stands for it instead.
	Objects []client.Object
	Client  client.WithWatch
	// Funcs let requests fail.
	Funcs interceptor.Funcs
	Stdin string
	// In is the standard input instead of Stdin, where it is more than a text.
	In io.Reader
	// Terminal of the run; the zero value is none.
	Terminal cli.Terminal
	Environ  []string
	// Clock, Now when nil.
	Clock clock.WithTicker
	// Live replaces reading from the nodes.
	Live func(ctx context.Context, s *cluster.Cluster, opts kube.LiveOptions) (*cluster.Cluster, error)
	// Logs are those that containers have, by "POD/CONTAINER".
	Logs map[string]string
	// Setup changes the dependencies before the run.
	Setup func(*cli.Deps)
	// Stdout and Stderr, when set, also receive the output as it is written.
	Stdout, Stderr io.Writer
}

// Result is what a person and a script see.
type Result struct {
	Stdout, Stderr string
	Code           int
}

// NewClient is a fake API server that holds the objects and knows our kinds.
func NewClient(objects []client.Object, funcs interceptor.Funcs) client.WithWatch {
	scheme := kube.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{discoveryv1.AddToScheme, rbacv1.AddToScheme} {
		utilruntime.Must(add(scheme)) // the kinds that check reads
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(kube.NewMapper()).WithReturnManagedFields().WithStatusSubresource(&api.ScyllaDBStatusReport{}).WithIndex(&corev1.Event{}, "type", typeOf).WithObjects(machines(copies(objects))...).WithInterceptorFuncs(funcs).Build()
}

// typeOf lets Events be selected by their type, as an API server does.
func typeOf(o client.Object) []string {
	if e, ok := o.(*corev1.Event); ok {
		return []string{e.Type}
	}
	return nil
}

// of is the fake client for a program that knows the kinds of a scheme, and that has every permission.
func of(c client.WithWatch, scheme *runtime.Scheme) client.Client {
	return interceptor.NewClient(c, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			switch review := o.(type) {
			case *authorizationv1.SelfSubjectAccessReview:
				review.Status.Allowed = true
			case *authorizationv1.SubjectAccessReview:
				review.Status.Allowed = true
			default:
				return c.Create(ctx, o, opts...)
			}
			return nil
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, err := apiutil.GVKForObject(list, scheme); err != nil {
				return err
			}
			return c.List(ctx, list, opts...)
		},
	})
}

// machines adds the Kubernetes nodes that Pods are on and that are not among the objects: each is ready.
func machines(objects []client.Object) []client.Object {
	known := map[string]bool{}
	for _, o := range objects {
		if n, ok := o.(*corev1.Node); ok {
			known[n.Name] = true
		}
	}
	for _, o := range objects {
		p, ok := o.(*corev1.Pod)
		if !ok || p.Spec.NodeName == "" || known[p.Spec.NodeName] {
			continue
		}
		known[p.Spec.NodeName] = true
		objects = append(objects, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: p.Spec.NodeName},
			Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
		})
	}
	return objects
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

// Do runs the plugin.
func (r Run) Do(t testing.TB) Result {
	t.Helper()
	return r.DoContext(t.Context(), t)
}

// DoContext runs the plugin until ctx ends.
func (r Run) DoContext(ctx context.Context, t testing.TB) Result {
	t.Helper()
	var out, errOut output.Buffer
	var stdout, stderr io.Writer = &out, &errOut
	if r.Stdout != nil {
		stdout = io.MultiWriter(&out, r.Stdout)
	}
	if r.Stderr != nil {
		stderr = io.MultiWriter(&errOut, r.Stderr)
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
	deps := r.deps(t, stdout, stderr)
	deps.NotRepeated = empty
	code := plugin.Execute(ctx, deps, args)
	return Result{Stdout: out.String(), Stderr: errOut.String(), Code: code}
}

func (r Run) deps(t testing.TB, out, errOut io.Writer) *cli.Deps {
	t.Helper()
	clk := r.Clock
	if clk == nil {
		clk = clocktesting.NewFakeClock(Now)
	}
	in := r.In
	if in == nil {
		in = strings.NewReader(r.Stdin)
	}
	d := cli.New(genericiooptions.IOStreams{In: in, Out: out, ErrOut: errOut}, clk, r.Environ, func() cli.Terminal { return r.Terminal })
	c := r.Client
	if c == nil && r.Objects != nil {
		c = NewClient(r.Objects, r.Funcs)
	}
	if c != nil {
		d.NewClient = func() (client.WithWatch, error) { return c, nil }
		d.ClientOf = func(_ *rest.Config, scheme *runtime.Scheme) (client.Client, error) { return of(c, scheme), nil }
		host := sync.OnceValue(func() string { return server(t, r.Logs) })
		d.RESTConfig = func() (*rest.Config, error) { return &rest.Config{Host: host()}, nil }
		if _, bubble := clk.(bubbleClock); bubble {
			d.RESTConfig = func() (*rest.Config, error) { return nil, fmt.Errorf("a bubble has no network") }
		}
	}
	d.ReadLive = func(context.Context, *cluster.Cluster, kube.LiveOptions) (*cluster.Cluster, error) {
		return nil, fmt.Errorf("this test has no nodes to ask")
	}
	if r.Live != nil {
		d.ReadLive = r.Live
	}
	d.Replication = func(_ context.Context, pods []corev1.Pod) ([]maintenance.Keyspace, error) {
		return Replicated(pods), nil
	}
	d.WhoAmI = func(context.Context) string { return "ada@example.com" }
	if r.Setup != nil {
		r.Setup(d)
	}
	return d
}

// Replicated is a keyspace that is held by every node that the Pods see UP, and by one of those that they do not.
func Replicated(pods []corev1.Pod) []maintenance.Keyspace {
	app := maintenance.Keyspace{Name: "app"}
	for i := range pods {
		said, err := api.DecodeNodeStatusReport(pods[i].Annotations[api.AnnotationNodeStatusReport])
		if err != nil || said == nil || len(said.ObservedNodes) == 0 {
			continue
		}
		var up, others []hostid.ID
		for _, o := range said.ObservedNodes {
			if o.Status == api.NodeStatusUp {
				up = append(up, o.HostID)
			} else {
				others = append(others, o.HostID)
			}
		}
		app.Replicas = append(app.Replicas, up)
		for _, id := range others {
			app.Replicas = append(app.Replicas, append(slices.Clone(up), id))
		}
		break
	}
	return []maintenance.Keyspace{app}
}

// server is an API server for what no fake client has: its version, and logs. Run.Setup gives a run another one.
func server(t testing.TB, logs map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/version":
			w.Header().Set("Date", Now.UTC().Format(http.TimeFormat))
			_, _ = fmt.Fprint(w, `{"major":"1","minor":"37","gitVersion":"v1.37.2"}`)
			return
		case "/apis/" + api.GroupVersion.String():
			_, _ = fmt.Fprintf(w, `{"kind":"APIResourceList","groupVersion":%q,"resources":[{"name":"scylladbstatusreports"},{"name":"scylladbdatacenternodesstatusreports"}]}`, api.GroupVersion)
			return
		}
		if log, has := logs[path.Base(path.Dir(r.URL.Path))+"/"+r.URL.Query().Get("container")]; has && path.Base(r.URL.Path) == "log" {
			_, _ = io.WriteString(w, log)
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
	golden.Screen(t, name, text)
}

// Screens compares the transcript of each run with a golden file: what is refused, with nothing on standard output, with refused.txt, which has
// all of these; everything else with a file of its own.
func Screens(t *testing.T, runs map[string]Run, transcript func(Run, testing.TB) string) {
	t.Helper()
	var refused strings.Builder
	ran := 0
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		t.Run(name, func(t *testing.T) {
			text := transcript(runs[name], t)
			if ran++; strings.Contains(text, "-- stdout --\n-- stderr --\n") {
				fmt.Fprintf(&refused, "%s\n%s\n", name, text)
				return
			}
			Golden(t, strings.NewReplacer(" ", "-", ":", "", ",", "").Replace(name)+".txt", text)
		})
	}
	if ran == len(runs) && refused.Len() > 0 {
		Golden(t, "refused.txt", refused.String())
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
	for _, o := range machines(copies(objects)) {
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
