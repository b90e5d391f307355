// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// trouble is what a port-forward to a Pod comes to.
type trouble int

const (
	none trouble = iota
	hangs
	refused
	forbidden
)

// forwards is a live read in which ScyllaDB on every node reports every node UP, except nodes in trouble: these are asked through an API server whose port-forward fails in the
// given way.
func forwards(t *testing.T, c *plugintest.Cluster, in map[string]trouble) func(context.Context, *cluster.Cluster, kube.LiveOptions) (*cluster.Cluster, error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch in[strings.Split(r.URL.Path, "/")[6]] {
		case hangs:
			<-r.Context().Done()
		case forbidden:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"no"}`)
		default:
			http.Error(w, "error dialing backend: connection refused", http.StatusInternalServerError)
		}
	}))
	t.Cleanup(server.Close)
	return func(ctx context.Context, s *cluster.Cluster, _ kube.LiveOptions) (*cluster.Cluster, error) {
		// Only those that never answer are given up soon: the others have all the time that a busy machine needs.
		var silent, answering []corev1.Pod
		for i := range s.Pods {
			switch {
			case in[s.Pods[i].Name] == hangs:
				silent = append(silent, s.Pods[i])
			case in[s.Pods[i].Name] != none || s.Pods[i].Status.Phase != corev1.PodRunning:
				answering = append(answering, s.Pods[i])
			}
		}
		cfg := &rest.Config{Host: server.URL}
		live, problems := kube.Live(ctx, cfg, answering, kube.LiveOptions{PerNodeTimeout: time.Minute})
		more, silence := kube.Live(ctx, cfg, silent, kube.LiveOptions{PerNodeTimeout: 200 * time.Millisecond})
		maps.Copy(live, more)
		problems = append(problems, silence...)
		for _, n := range c.Nodes {
			if live[n.Name] != nil {
				continue
			}
			row := &api.NodeStatusReport{HostID: hostid.ID(n.HostID), OwnsTokens: new(true), OperationMode: "NORMAL", ScyllaVersion: n.Version}
			for _, m := range c.Nodes {
				row.ObservedNodes = append(row.ObservedNodes, api.ObservedNodeStatusReport{HostID: hostid.ID(m.HostID), Status: api.NodeStatusUp})
			}
			live[n.Name] = row
		}
		return s.WithLive(live, nil, problems), nil
	}
}

// shown are the outputs about a cluster, each with the number of first lines that must say that data are missing.
var shown = map[string]struct {
	args  []string
	first int
}{
	"status":       {[]string{"status", "demo", "--all"}, 8},
	"wide":         {[]string{"status", "demo", "-o", "wide"}, 8},
	"clusters":     {[]string{"status", "-l", "scylla/cluster=demo"}, 8},
	"barrier":      {[]string{"barrier", "demo-dc1-rack2-1"}, 8},
	"who waits":    {[]string{"barrier"}, 8},
	"report":       {[]string{"report", "demo"}, 8},
	"page":         {[]string{"report", "demo", "-o", "html"}, 200},
	"dashboard":    {[]string{"dashboard", "demo", "--once", "--width", "120", "--height", "40"}, 8},
	"a screen":     {[]string{"status", "demo"}, 10},
	"document":     {[]string{"status", "demo", "-o", "json"}, 200},
	"all waiting":  {[]string{"barrier", "-o", "json"}, 9999},
	"whole report": {[]string{"report", "demo", "-o", "json"}, 9999},
}

// A node that does not answer, a Pod that does not run and a port-forward that is refused are named everywhere, each with its reason.
func TestPartialAnswersAreSaidEverywhere(t *testing.T) {
	c := plugintest.New(4, 1)
	c.Newcomer("dc1", "rack2", 1)
	live := forwards(t, c, map[string]trouble{"demo-dc1-rack3-0": hangs, "demo-dc1-rack4-0": refused})
	want := []string{
		"no response from Pod demo-dc1-rack2-1: the Pod is Pending, Init:2/3",
		"no response from Pod demo-dc1-rack3-0: timed out",
		"no response from Pod demo-dc1-rack4-0: error dialing backend: connection refused",
	}
	archive := filepath.Join(t.TempDir(), "a.zip")
	if res := (plugintest.Run{Args: []string{"report", "demo", "-n", "demo", "--source=live", "--archive", archive}, Objects: c.Objects(), Live: live}).Do(t); res.Code != 0 {
		t.Fatalf("%+v", res)
	}
	for name, s := range shown {
		t.Run(name, func(t *testing.T) {
			run := plugintest.Run{Args: append(slices.Clone(s.args), "-n", "demo", "--source=live"), Objects: c.Objects(), Live: live}
			if name == "a screen" {
				run.Terminal = cli.Terminal{Out: true, Width: 100, Height: 30}
			}
			res := run.Do(t)
			lines := strings.Split(res.Stdout, "\n")
			head := lines[:min(s.first, len(lines))]
			// However a line is broken or escaped, the words are there.
			text := strings.Join(strings.Fields(strings.NewReplacer("\\", "", `<span class="w">`, "", "</span>", "", `"`, " ").Replace(strings.Join(head, "\n"))), " ")
			if !strings.Contains(strings.ToLower(text), "partial") {
				t.Errorf("it does not say that it is partial:\n%s%s", res.Stdout, res.Stderr)
			}
			for _, w := range want {
				if !strings.Contains(text, w) {
					t.Errorf("it does not say %q:\n%s%s", w, strings.Join(head, "\n"), res.Stderr)
				}
			}
			if slices.Contains(s.args, "-l") {
				return // an archive is not chosen from by labels
			}
			// The archive, opened elsewhere, gives the same output.
			run = plugintest.Run{Args: append(slices.Clone(s.args), "--source=live", "--from", archive), Terminal: run.Terminal}
			saved := run.Do(t)
			if diff := cmp.Diff(plugintest.AsArchived(res.Stdout), plugintest.WithoutFrom(saved.Stdout)); diff != "" {
				t.Errorf("(-live +archive):\n%s%s", diff, saved.Stderr)
			}
		})
	}
	plugintest.Golden(t, "partial-status.txt", plugintest.Run{Args: []string{"status", "demo", "-n", "demo", "--source=live"}, Objects: c.Objects(), Live: live}.Transcript(t))
	plugintest.Golden(t, "partial-clusters.txt", plugintest.Run{Args: []string{"status", "-A", "--source=live"}, Objects: c.Objects(), Live: live}.Transcript(t))
	plugintest.Golden(t, "partial-barrier.txt", plugintest.Run{Args: []string{"barrier", "demo-dc1-rack2-1", "-n", "demo", "--source=live"}, Objects: c.Objects(), Live: live}.Transcript(t))
	plugintest.Golden(t, "partial-dashboard.txt", plugintest.Run{Args: []string{"dashboard", "-n", "demo", "--source=live", "--once", "--width", "80", "--height", "24"}, Objects: c.Objects(), Live: live}.Transcript(t))
}

// Without leave to ask the nodes, auto shows what the objects say; both name the right.
func TestWithoutTheRightToForward(t *testing.T) {
	c := plugintest.New(3, 1).NoReports()
	in := map[string]trouble{}
	for _, n := range c.Nodes {
		c.NoRow(n.Name)
		in[n.Name] = forbidden
	}
	run := plugintest.Run{Objects: c.Objects(), Live: forwards(t, c, in), Environ: []string{"LANG=C.UTF-8", "COLUMNS=250"}}
	for _, verb := range []string{"status", "dashboard", "report"} {
		for source, from := range map[string]string{"auto": "annotation", "live": "live"} {
			run.Args = []string{verb, "-n", "demo", "--source", source}
			if verb == "dashboard" {
				run.Args = append(run.Args, "--once", "--width", "200")
			}
			res := run.Do(t)
			const right = "partial: create pods/portforward in namespace demo: forbidden; request a Role with verb create on resource pods/portforward\n"
			if !strings.Contains(res.Stdout, "source: "+from) || strings.Count(strings.ReplaceAll(res.Stdout, " \n", "\n"), right) != 1 {
				t.Errorf("%s --source=%s: exit %d\n%s%s", verb, source, res.Code, res.Stdout, res.Stderr)
			}
			var list struct {
				Items []struct{ Partial []cluster.Problem }
			}
			run.Args = []string{"status", "-n", "demo", "--source", source, "-o", "json"}
			if err := json.Unmarshal([]byte(run.Do(t).Stdout), &list); err != nil || len(list.Items) != 1 || len(list.Items[0].Partial) != 1 {
				t.Errorf("document: %v %+v", err, list)
			} else if p := list.Items[0].Partial[0]; p.Verb != "create" || p.Resource != "pods/portforward" || p.Namespace != "demo" {
				t.Errorf("document: %+v", list)
			}
		}
	}
	run.Args, run.Environ = []string{"status", "-n", "demo"}, nil
	plugintest.Golden(t, "partial-may-not-ask.txt", run.Transcript(t))
}

// A user with rights in the cluster's namespace alone still gets the whole cluster: that the controller's Lease may not be read is a remark.
func TestAControllerThatMayNotBeSeenIsNoGap(t *testing.T) {
	noLease := interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
		if _, ok := obj.(*coordinationv1.Lease); ok {
			return apierrors.NewForbidden(schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}, key.Name, errors.New("no"))
		}
		return c.Get(ctx, key, obj, opts...)
	}}
	res := plugintest.Run{Args: []string{"status", "-n", "demo"}, Objects: plugintest.New(3, 1).Objects(), Funcs: noLease, Environ: []string{"LANG=C.UTF-8", "COLUMNS=250"}}.Do(t)
	if strings.Contains(res.Stdout, "partial") || !strings.Contains(res.Stdout, "\nnote: get leases.coordination.k8s.io kubectl-scylla/kubectl-scylla-controller: forbidden;") {
		t.Errorf("exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
}

// lists lets every list fail in namespaces but "allowed" with what fail gives for its resource.
func lists(fail func(ns string, gr schema.GroupResource) error) interceptor.Funcs {
	return interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			var o client.ListOptions
			o.ApplyOptions(opts)
			gvk, err := c.GroupVersionKindFor(list)
			if err != nil {
				return err
			}
			resource, _ := meta.UnsafeGuessKindToResource(gvk.GroupVersion().WithKind(strings.TrimSuffix(gvk.Kind, "List")))
			if err := fail(o.Namespace, resource.GroupResource()); err != nil {
				return err
			}
			return c.List(ctx, list, opts...)
		},
		// Only the names that a person types are got before anything is listed; there are none.
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			return apierrors.NewNotFound(corev1.Resource("services"), key.Name)
		},
	}
}

func mayNotList(ns string, gr schema.GroupResource) error {
	where := fmt.Sprintf(" in the namespace %q", ns)
	if ns == "" {
		where = " at the cluster scope"
	}
	return apierrors.NewForbidden(gr, "", fmt.Errorf(`User "bob" cannot list resource %q in API group %q%s`, gr.Resource, gr.Group, where))
}

// Where there is nothing to look at, every verb says so in the same words, with the same cure and the same exit code.
func TestEveryVerbSaysTheSameOfNothing(t *testing.T) {
	verbs := []string{
		"status", "status demo", "status -o json", "barrier", "barrier demo-dc1-rack1-0", "report", "report demo", "report --archive " + filepath.Join(t.TempDir(), "x.zip"),
		"dashboard --once", "dashboard demo --once", "replace demo-dc1-rack1-0", "replace status", "replace status demo-dc1-rack1-0",
		"force-proceed demo-dc1-rack1-0", "force-proceed --datacenter dc1", "force-proceed --cluster demo",
	}
	const nothing = "error: no ScyllaDB cluster found in namespace empty\n"
	const nowhere = nothing + "no other namespace has one; member Services, StatefulSets and reports are found by the label scylla/cluster\n"
	elsewhere := append(plugintest.New(1, 1).Objects(), plugintest.NewNamed("prod", "analytics", "eu", 1, 1).Objects()...)
	for name, tc := range map[string]struct {
		objects []client.Object
		fail    func(ns string, gr schema.GroupResource) error
		args    []string
		want    string
	}{
		"an empty namespace": {
			objects: elsewhere,
			want:    nothing + "choose another namespace with -n; there are clusters in: demo, prod\n",
		},
		"nothing anywhere": {want: nowhere},
		"an empty namespace, and no leave to look into others": {
			objects: elsewhere,
			fail: func(ns string, gr schema.GroupResource) error {
				if ns == "" {
					return mayNotList(ns, gr)
				}
				return nil
			},
			want: nothing + "choose another namespace with -n, or list all: kubectl scylla status -A\n",
		},
		"an empty namespace without our kinds": {
			fail: func(_ string, gr schema.GroupResource) error {
				if gr.Group == "scylla.scylladb.com" {
					return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: gr.Group, Kind: gr.Resource}}
				}
				return nil
			},
			want: nowhere,
		},
		"nothing may be listed": {
			fail: mayNotList,
			want: "error: user \"bob\" cannot list scylladbdatacenternodesstatusreports.scylla.scylladb.com in namespace empty\n" +
				"user \"bob\" cannot list services in namespace empty\n" +
				"user \"bob\" cannot list statefulsets.apps in namespace empty\n" +
				"request a Role with these verbs, or use other credentials with --context or --as\n",
		},
		"one kind may not be listed": {
			fail: func(ns string, gr schema.GroupResource) error {
				if gr.Resource == "services" {
					return mayNotList(ns, gr)
				}
				return nil
			},
			want: "error: user \"bob\" cannot list services in namespace empty\n" +
				"request a Role with verb \"list\" on \"services\" in namespace empty, or use other credentials with --context or --as\n",
		},
		"credentials that nobody knows": {
			fail: func(string, schema.GroupResource) error { return apierrors.NewUnauthorized("who are you") },
			want: "error: the API server does not accept these credentials\nlog in again, or use other credentials with --context, --user or --token\n",
		},
		"an API server that does not answer": {
			fail: func(string, schema.GroupResource) error { return context.DeadlineExceeded },
			want: "error: find clusters in namespace empty: the API server did not respond in time; check the network, or allow more time with --request-timeout\n",
		},
		"an API server that is not there": {
			args: []string{"--server", "https://127.0.0.1:1"},
			want: "error: cannot reach the API server at https://127.0.0.1:1: connection refused\ncheck --context and --server, or try: kubectl --server=https://127.0.0.1:1 cluster-info\n",
		},
		"no kubeconfig": {
			args: []string{},
			want: "error: no kubeconfig, so the API server's address is unknown\nset KUBECONFIG or --kubeconfig, or read saved objects with --from FILE\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, verb := range verbs {
				run := plugintest.Run{Args: append(strings.Fields(verb+" -n empty"), tc.args...)}
				if tc.args == nil {
					funcs := interceptor.Funcs{}
					if tc.fail != nil {
						funcs = lists(tc.fail)
					}
					run.Client = plugintest.NewClient(tc.objects, funcs)
				}
				res := run.Do(t)
				if diff := cmp.Diff(plugintest.Result{Stderr: tc.want, Code: 1}, res); diff != "" {
					t.Errorf("%s (-want +got):\n%s", verb, diff)
				}
			}
		})
	}
}

// A cluster is shown although the kind of its reports is not installed; with --source=report the error says why there are none.
func TestWithoutOurKindsTheSourceSaysWhy(t *testing.T) {
	c := plugintest.New(3, 1)
	funcs := interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if gvk, err := c.GroupVersionKindFor(list); err == nil && gvk.Group == "scylla.scylladb.com" {
				return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: gvk.Group, Kind: gvk.Kind}}
			}
			return c.List(ctx, list, opts...)
		},
	}
	for _, verb := range []string{"status", "report", "dashboard --once --width 200"} {
		for source, want := range map[string]string{
			"auto": "source: annotation (no report found: CRD not installed; used Pod annotations of 3 Pods)", "report": "source: report (no report found: CRD not installed)",
		} {
			res := plugintest.Run{Args: strings.Fields(verb + " -n demo --source " + source), Objects: c.NoReports().Objects(), Funcs: funcs, Environ: []string{"LANG=C.UTF-8", "COLUMNS=250"}}.Do(t)
			if !strings.Contains(res.Stdout, want) || strings.Contains(res.Stdout, "partial") {
				t.Errorf("%v --source=%s: exit %d\n%s%s", verb, source, res.Code, res.Stdout, res.Stderr)
			}
		}
	}
}
