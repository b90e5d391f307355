// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

const replaced = "demo-dc1-rack3-0"

func failedReplacement() *plugintest.Cluster {
	return plugintest.New(4, 1).Replacing(replaced).Exited(replaced, 0)
}

func TestStatusOfReplacements(t *testing.T) {
	ghost := plugintest.New(3, 2).DownSince("demo-dc1-rack2-1", time.Hour).Leftover("demo-dc1-rack2-1")
	plugintest.Screens(t, map[string]plugintest.Run{
		"a failed replacement as JSON": {Args: []string{"status", "demo", "-n", "demo", "-o", "jsonpath={.items[0].replacements}"},
			Objects: failedReplacement().Objects()},
		"a ghost as JSON": {Args: []string{"status", "demo", "-n", "demo", "-o", "jsonpath={.items[0].leftovers}"}, Objects: ghost},
	}, plugintest.Run.Transcript)
}

// Saved objects tell failure and ghosts as the API server does.
func TestSavedReplacementsShowTheSame(t *testing.T) {
	for name, objects := range map[string][]client.Object{
		"failed": failedReplacement().Objects(), "ghost": append(plugintest.New(3, 2).DownSince("demo-dc1-rack2-1", time.Hour).Leftover("demo-dc1-rack2-1"),
			&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "of-another"}}),
	} {
		t.Run(name, func(t *testing.T) {
			live := plugintest.Run{Args: []string{"status", "-o", "json", "-n", "demo", "demo"}, Objects: objects}.Do(t)
			saved := plugintest.Run{Args: []string{"status", "-o", "json", "--from", "-"}, Stdin: string(plugintest.SavedYAML(t, objects))}.Do(t)
			if !strings.Contains(live.Stdout, `"cure"`) && !strings.Contains(live.Stdout, `"command"`) {
				t.Errorf("nothing is shown:\n%s", live.Stdout)
			}
			if diff := cmp.Diff(facts(t, live.Stdout), facts(t, plugintest.WithoutFrom(saved.Stdout))); diff != "" {
				t.Errorf("(-live +saved):\n%s", diff)
			}
		})
	}
}

// The reason is in the log of the run before the last one. Only the logs of members that do not run are read, once.
func TestLogsAreReadOfWhatDoesNotRun(t *testing.T) {
	var asked atomic.Int32
	logs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		text := "ERROR 2026-11-21 09:00:00,000 [shard 0:main] init - Startup failed: std::runtime_error (The node has already been removed from the cluster)\n"
		if r.URL.Query().Get("previous") == "true" {
			text = "ERROR 2026-11-21 08:00:00,000 [shard 0:main] init - Startup failed: std::runtime_error (the topology coordinator rejected request to join the cluster: request canceled because some required nodes are dead)\n" + text
		}
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(logs.Close)
	setup := func(d *cli.Deps) {
		d.RESTConfig = func() (*rest.Config, error) { return &rest.Config{Host: logs.URL}, nil }
	}
	for _, verb := range [][]string{{"status", "demo"}, {"barrier", replaced}} {
		asked.Store(0)
		res := plugintest.Run{Args: append(verb, "-n", "demo"), Objects: failedReplacement().Objects(), Setup: setup}.Do(t)
		if !strings.Contains(res.Stdout, "log of ScyllaDB on Pod") || !strings.Contains(res.Stdout, "some required nodes are dead") ||
			!strings.Contains(res.Stdout, "kubectl scylla replace resume "+replaced+" -n demo") {
			t.Errorf("%v:\n%s%s", verb, res.Stdout, res.Stderr)
		}
		if asked.Load() != 1 {
			t.Errorf("%v: %d logs were read, want that of the run before", verb, asked.Load())
		}
		asked.Store(0)
		_ = plugintest.Run{Args: append(verb, "-n", "demo"), Objects: plugintest.New(4, 1).Objects(), Setup: setup}.Do(t)
		if asked.Load() != 0 {
			t.Errorf("%v: %d logs were read though every node runs", verb, asked.Load())
		}
	}
}

// An archive shows the failure that was there when it was collected.
func TestArchivedReplacementShowsTheSame(t *testing.T) {
	name := filepath.Join(t.TempDir(), "demo.zip")
	if res := (plugintest.Run{Args: []string{"report", "demo", "-n", "demo", "--archive", name}, Objects: failedReplacement().Objects()}).Do(t); res.Code == 1 {
		t.Fatalf("exit %d\n%s", res.Code, res.Stderr)
	}
	fields := "jsonpath={.items[0].replacements}"
	live := plugintest.Run{Args: []string{"status", "demo", "-n", "demo", "-o", fields}, Objects: failedReplacement().Objects()}.Do(t)
	archived := plugintest.Run{Args: []string{"status", "--from", name, "-o", fields}}.Do(t)
	if diff := cmp.Diff(live.Stdout, plugintest.WithoutFrom(archived.Stdout)); diff != "" || !strings.Contains(live.Stdout, `"failure"`) {
		t.Errorf("(-live +archived):\n%s%s", diff, archived.Stderr)
	}
}
