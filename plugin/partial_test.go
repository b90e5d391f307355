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
