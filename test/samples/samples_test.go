// SPDX-License-Identifier: Apache-2.0

// Package samples makes the archives of docs/samples from simulated clusters, with the users' command: kubectl scylla report --archive.
package samples

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/docs/samples"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/plugintest"
)

// most bytes that all samples together may take in the plugin.
const most = 200 << 10

// scenes are the clusters by the name of their sample.
var scenes = map[string]func() []client.Object{
	"healthy": func() []client.Object { return plugintest.New(3, 1).Objects() },
	"incident": func() []client.Object {
		w := plugintest.New(3, 1)
		w.Newcomer("dc1", "rack2", 1)
		return w.Down("demo-dc1-rack3-0").Objects()
	},
	"partition": func() []client.Object {
		w := plugintest.NewNamed("demo", "demo", "eu-central-1", 3, 1).AddDatacenter("us-east-1", 3, 1)
		for _, from := range w.Nodes {
			for _, to := range w.Nodes {
				if from.Datacenter != to.Datacenter {
					w.Sees(from.Name, to.Name, api.NodeStatusDown, plugintest.Now.Add(-4*time.Minute))
				}
			}
		}
		return w.Objects()
	},
	"replacement": func() []client.Object { return plugintest.New(3, 1).Replacing("demo-dc1-rack3-0").Objects() },
	"multi-dc": func() []client.Object {
		w := plugintest.NewNamed("demo", "demo", "eu-central-1", 3, 2).AddDatacenter("us-east-1", 3, 1)
		w.Newcomer("us-east-1", "rack1", 1)
		return w.Objects()
	},
}

// TestSamplesAreCurrent makes each sample anew. With -update it writes them.
func TestSamplesAreCurrent(t *testing.T) {
	dir := filepath.Join("..", "..", "docs", "samples")
	total := 0
	for _, s := range samples.All() {
		made := filepath.Join(t.TempDir(), s.Name+".zip")
		r := plugintest.Run{Args: []string{"report", "demo", "-n", "demo", "--archive", made, "--logs=0"}, Objects: scenes[s.Name]()}.Do(t)
		if r.Code != 0 {
			t.Fatalf("%s: exit code %d\n%s%s", s.Name, r.Code, r.Stdout, r.Stderr)
		}
		b, err := os.ReadFile(made)
		if err != nil {
			t.Fatal(err)
		}
		kept := filepath.Join(dir, s.Name+".zip")
		if plugintest.Updating() {
			if err := os.WriteFile(kept, b, 0o644); err != nil { //nolint:gosec // a sample is for everybody
				t.Fatal(err)
			}
		}
		have, err := os.ReadFile(kept)
		if err != nil {
			t.Fatalf("%v: run `make samples`", err)
		}
		total += len(have)
		if diff := cmp.Diff(contents(t, have), contents(t, b)); diff != "" {
			t.Errorf("%s is not what the plugin makes (-have +made), run `make samples`:\n%s", kept, diff)
		}
	}
	if total > most {
		t.Errorf("the samples are %d bytes, more than %d", total, most)
	}
}

// contents are the saved objects of an archive, without the page and the manifest, which contain the build's version.
func contents(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range r.File {
		if f.Name == "report.html" || f.Name == "manifest.json" {
			continue
		}
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		all[f.Name] = string(b)
	}
	return all
}

// TestEverySampleShowsWhatItSays opens each from inside the plugin, without any API server.
func TestEverySampleShowsWhatItSays(t *testing.T) {
	tests := map[string]struct {
		args []string
		code int
		says string
	}{
		"healthy":     {[]string{"status"}, 0, "HEALTHY demo/demo: 3 of 3 nodes seen UP"},
		"incident":    {[]string{"barrier"}, 3, "demo-dc1-rack2-1"},
		"partition":   {[]string{"status"}, 3, "NOT HEALTHY demo/demo"},
		"replacement": {[]string{"replace", "status"}, 0, "demo-dc1-rack3-0"},
		"multi-dc":    {[]string{"dashboard", "--once"}, 0, "us-east-1"},
	}
	for _, s := range samples.All() {
		t.Run(s.Name, func(t *testing.T) {
			tt, ok := tests[s.Name]
			if !ok || strings.Join(tt.args, " ") != s.Try && s.Try != "dashboard" {
				t.Fatalf("no case for the sample's own command %q", s.Try)
			}
			r := plugintest.Run{Args: append(tt.args, "--from", samples.Prefix+s.Name)}.Do(t)
			if r.Code != tt.code || !strings.Contains(r.Stdout, tt.says) {
				t.Errorf("exit code %d, want %d and %q in:\n%s%s", r.Code, tt.code, tt.says, r.Stdout, r.Stderr)
			}
			for _, verb := range [][]string{{"status"}, {"barrier"}, {"report"}, {"report", "-o", "html"}, {"report", "-o", "svg"}, {"dashboard", "--once"}} {
				if r := (plugintest.Run{Args: append(verb, "--from", samples.Prefix+s.Name)}).Do(t); r.Code != 0 && r.Code != 3 {
					t.Errorf("%v: exit code %d\n%s", verb, r.Code, r.Stderr)
				}
			}
		})
	}
}
