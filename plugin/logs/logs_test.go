// SPDX-License-Identifier: Apache-2.0

package logs_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/plugintest"
)

// run executes the verb against an API server that has a log of each container, except rack1's Pod, whose log may not be read. The second value is the request that was served
// last, empty for none.
func run(t *testing.T, term cli.Terminal, args ...string) (plugintest.Result, string) {
	t.Helper()
	var asked atomic.Pointer[string] // the logs of several nodes are asked for side by side
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "rack1-0") {
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"pods \"demo-dc1-rack1-0\" is forbidden: User \"ada\" cannot get resource \"pods/log\" in API group \"\" in the namespace \"demo\""}`)
			return
		}
		asked.Store(new(r.URL.Path + "?" + r.URL.RawQuery))
		_, _ = fmt.Fprintf(w, "%s says\n\x1b[2Jlast", r.URL.Query().Get("container"))
	}))
	t.Cleanup(server.Close)
	c := plugintest.New(3, 1)
	c.Newcomer("dc1", "rack2", 1)
	res := plugintest.Run{Args: append([]string{"logs", "-n", "demo"}, args...), Objects: c.Objects(), Terminal: term, Setup: func(d *cli.Deps) {
		d.RESTConfig = func() (*rest.Config, error) { return &rest.Config{Host: server.URL}, nil }
	}}.Do(t)
	if last := asked.Load(); last != nil {
		return res, *last
	}
	return res, ""
}

func TestLogs(t *testing.T) {
	const path = "/api/v1/namespaces/demo/pods/"
	cases := map[string]struct {
		args                []string
		term                cli.Terminal
		asked, says, beside string
	}{
		"ScyllaDB's": {
			args: []string{"rack3/0"}, asked: path + "demo-dc1-rack3-0/log?container=" + api.ContainerScyllaDB, says: api.ContainerScyllaDB + " says\n\x1b[2Jlast",
		},
		"on a terminal": {
			args: []string{"rack3/0"}, term: cli.Terminal{Out: true}, asked: path + "demo-dc1-rack3-0/log?container=" + api.ContainerScyllaDB,
			says: api.ContainerScyllaDB + " says\n [2Jlast",
		},
		"the barrier's": {
			args: []string{"rack2/1"}, asked: path + "demo-dc1-rack2-1/log?container=" + api.ContainerBarrier, says: api.ContainerBarrier + " says\n\x1b[2Jlast",
			beside: "demo-dc1-rack2-1: ScyllaDB has not started; this is container " + api.ContainerBarrier + "\n",
		},
		"the end of the run before": {
			args:  []string{"rack3/0", "--previous", "--tail", "5", "--timestamps", "--since", "90s", "-c", api.ContainerReporter},
			asked: path + "demo-dc1-rack3-0/log?container=" + api.ContainerReporter + "&previous=true&sinceSeconds=90&tailLines=5&timestamps=true",
			says:  api.ContainerReporter + " says\n\x1b[2Jlast",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			res, asked := run(t, c.term, c.args...)
			if diff := cmp.Diff([]string{c.asked, c.says, c.beside}, []string{asked, res.Stdout, res.Stderr}); diff != "" || res.Code != 0 {
				t.Errorf("exit %d (-want +got):\n%s", res.Code, diff)
			}
		})
	}
}

func TestLogsOfSeveral(t *testing.T) {
	res, _ := run(t, cli.Terminal{}, "--all")
	lines := strings.Split(strings.TrimSuffix(res.Stdout, "\n"), "\n")
	slices.Sort(lines)
	want := []string{
		"demo-dc1-rack2-0 | \x1b[2Jlast", "demo-dc1-rack2-0 | scylla says", "demo-dc1-rack2-1 | \x1b[2Jlast", "demo-dc1-rack2-1 | " + api.ContainerBarrier + " says",
		"demo-dc1-rack3-0 | \x1b[2Jlast", "demo-dc1-rack3-0 | scylla says",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if res.Code != 1 || !strings.Contains(res.Stderr, "1 of 4 nodes failed: demo-dc1-rack1-0: ") || !strings.Contains(res.Stderr, "pods/log") {
		t.Errorf("exit %d: %s", res.Code, res.Stderr)
	}
}

func TestLogsRefused(t *testing.T) {
	for says, args := range map[string][]string{
		"name a member, or choose several":    {},
		"--tail is a number of lines":         {"rack3/0", "--tail", "-2"},
		"--since is an age":                   {"rack3/0", "--since", "-2s"},
		`"rack3/0" is one too many`:           {"rack3/0", "--all"},
		`has no container "x"`:                {"rack3/0", "-c", "x"},
		`no member "rack7/0" in cluster demo`: {"rack7/0"},
	} {
		if res, asked := run(t, cli.Terminal{}, args...); res.Code != 2 || !strings.Contains(res.Stderr, says) || asked != "" {
			t.Errorf("exit %d, asked %q, want 2 and %q: %s", res.Code, asked, says, res.Stderr)
		}
	}
}
