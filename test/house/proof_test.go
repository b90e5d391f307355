// SPDX-License-Identifier: Apache-2.0

package house

import (
	"slices"
	"strings"
	"testing"

	endtoend "github.com/kubectl-scylla/kubectl-scylla/test/run/covers"
)

// unitOnly are the packages that no end-to-end test names, each with the reason.
var unitOnly = map[string]string{
	"cmd/gen":                     "makes docs, which make verify compares",
	"cmd/internal/lategc":         "a setting of the garbage collector",
	"controller/metrics":          "names of metrics, which are in docs/reference/metrics.md, and the filter of --metrics-secure",
	"controller/remote":           "two Kubernetes clusters: test/e2e/remote has two API servers",
	"controller/scope":            "names and labels, on which every report depends",
	"controller/write":            "writes to an API server: test/e2e/remote and controller have a real one",
	"internal/agent/metrics":      "serves what the tests of barrier and reporter read",
	"internal/api":                "the wire: test/e2e/beside compares it with the Scylla Operator's",
	"internal/base/atomicfile":    "one step of the file system; what writes by it is named by tests",
	"internal/base/bounded":       "limits of input, which no healthy cluster reaches",
	"internal/diagnosis/evidence": "a table; cmd/gen has the test that walks it, test/e2e what is printed of it",
	"internal/api/hostid":         "a type",
	"internal/base/mask":          "removes secrets from texts, which no healthy cluster has",
	"internal/base/memory":        "caches what is parsed; the callers' results are the same without it",
	"internal/base/pattern":       "compiles regular expressions late",
	"internal/scylla/raftlog":     "places in a log; test/simulation has their schedules",
	"internal/base/version":       "build information; make size and test/house/release look at it",
}

// TestEveryPackageIsProved: each end-to-end test declares which packages it proves, and each
// package of the product is named by one, or is in the list above. The runner of `make test`
// chooses end-to-end tests by these declarations.
func TestEveryPackageIsProved(t *testing.T) {
	exists := map[string]bool{}
	for _, p := range load(t) {
		exists[strings.TrimPrefix(p.ImportPath, own)] = true
	}
	named := map[string]bool{}
	for _, dir := range []string{"test/e2e", "test/e2e/attack"} {
		tests, err := endtoend.Read("../../" + dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, test := range tests {
			if dir == "test/e2e" && len(test.Packages) == 0 {
				t.Errorf("%s/%s: %s covers nothing: begin it with covers(t, \"internal/...\")", dir, test.File, test.Name)
			}
			if dir == "test/e2e" && test.Pods == 0 {
				t.Errorf("%s/%s: %s does not state its ScyllaDB Pods: begin it with pods(t, N)", dir, test.File, test.Name)
			}
			for _, p := range test.Packages {
				named[p] = true
				if !exists[p] {
					t.Errorf("%s/%s: %s covers %s, which is no package", dir, test.File, test.Name, p)
				}
			}
		}
	}
	for p := range exists {
		top, _, _ := strings.Cut(p, "/")
		if !slices.Contains([]string{"cmd", "controller", "internal", "plugin"}, top) {
			continue
		}
		switch why, alone := unitOnly[p]; {
		case !named[p] && !alone:
			t.Errorf("no end-to-end test covers %s: name it in the covers(t, ...) of the test that proves it, or give the reason in unitOnly", p)
		case named[p] && alone:
			t.Errorf("an end-to-end test covers %s: take it out of unitOnly (%s)", p, why)
		}
	}
	for p := range unitOnly {
		if !exists[p] {
			t.Errorf("unitOnly has %s, which is no package", p)
		}
	}
}
