// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// Each --from adds its objects, as the must-gather of each datacenter: equal objects count once, and one that differs is named. What was saved at different times
// gives no step that cannot be undone, and printed commands read all files again.
func TestSeveralFiles(t *testing.T) {
	t.Parallel()
	objects := func(keep func(client.Object) bool) []client.Object {
		var out []client.Object
		for _, o := range plugintest.New(3, 1).Down("demo-dc1-rack3-0").Objects() {
			if _, report := o.(*api.ScyllaDBDatacenterNodesStatusReport); report || keep(o) {
				out = append(out, o)
			}
		}
		return out
	}
	here := func(o client.Object) bool { return !strings.HasPrefix(o.GetName(), "demo-dc1-rack3") }
	there := func(o client.Object) bool { return !here(o) }
	changed := objects(there)
	for _, o := range changed {
		if r, is := o.(*api.ScyllaDBDatacenterNodesStatusReport); is {
			r.Racks = r.Racks[:1]
		}
	}
	copied := objects(there)
	for _, o := range copied {
		if r, is := o.(*api.ScyllaDBDatacenterNodesStatusReport); is {
			r.Name, r.Racks, r.Labels = "copy", r.Racks[:1], map[string]string{api.LabelReportSelector: r.Labels[api.LabelReportSelector], api.LabelRemoteReport: "true"}
		}
	}
	for name, tc := range map[string]struct {
		other []client.Object
		code  int
		has   []string
		not   string
	}{
		"the other members":         {objects(there), 3, []string{"2 of 3 nodes seen UP by all", "demo-dc1-rack3-0 DOWN", "steps that cannot be undone are not shown"}, "Members without a Pod"},
		"the same file again":       {objects(here), 3, []string{"2 of 3 nodes seen UP by all"}, ""},
		"a report that differs":     {changed, 1, []string{"a.yaml and ", "ScyllaDBDatacenterNodesStatusReport demo/demo-dc1 is in both, and differs"}, ""},
		"a copy of the report":      {copied, 3, []string{"2 of 3 nodes seen UP by all"}, ""},
		"a cluster of another name": {plugintest.NewNamed("shop", "carts", "dc1", 1, 2).Objects(), 3, []string{"demo ", "shop ", "carts "}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := filepath.Join(t.TempDir(), "a.yaml"), filepath.Join(t.TempDir(), "b.yaml")
			for file, list := range map[string][]client.Object{a: objects(here), b: tc.other} {
				if err := os.WriteFile(file, plugintest.SavedYAML(t, list), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r := plugintest.Run{Args: []string{"status", "--from", a, "--from", b}, Environ: []string{"NO_COLOR=1"}}.Do(t)
			text := r.Stdout + r.Stderr
			for _, want := range tc.has {
				if !strings.Contains(text, want) {
					t.Errorf("%q is missing", want)
				}
			}
			if t.Failed() || r.Code != tc.code || tc.not != "" && strings.Contains(text, tc.not) {
				t.Errorf("exit code %d:\n%s", r.Code, text)
			}
			for line := range strings.Lines(text) {
				if strings.Contains(line, "kubectl scylla describe") && !strings.Contains(line, "--from "+a+" --from "+b) {
					t.Errorf("it reads other objects: %s", line)
				}
			}
		})
	}
}
