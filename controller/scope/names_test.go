// SPDX-License-Identifier: Apache-2.0

package scope_test

import (
	"encoding/json"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/controller/scope"
)

func TestNamesAreTheScyllaOperators(t *testing.T) {
	data, err := os.ReadFile("../../test/simulation/vectors/report-names.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		ID    string
		Input struct{ ClusterName, Datacenter, DatacenterObjectName string }
		// Of a mirrored report and of a datacenter's own one.
		Expected struct{ ExternalReportName, ReportName string }
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) != 9 {
		t.Fatalf("%d cases, want 9", len(cases))
	}
	for _, c := range cases {
		got, want := scope.ObjectName(c.Input.DatacenterObjectName), c.Expected.ReportName
		if want == "" {
			got, want = scope.ObjectName(c.Input.ClusterName, c.Input.Datacenter, "external"), c.Expected.ExternalReportName
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", c.ID, got, want)
		}
	}
}

func TestNamesAreValidAndApart(t *testing.T) {
	label := rapid.StringMatching(`[A-Za-z0-9]([-A-Za-z0-9]{0,60}[A-Za-z0-9])?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SliceOfN(label, 1, 4).Draw(t, "a"), rapid.SliceOfN(label, 1, 4).Draw(t, "b")
		n := scope.ObjectName(a...)
		if problems := validation.IsDNS1123Subdomain(n); len(problems) > 0 {
			t.Fatalf("%q: %v", n, problems)
		}
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		if string(x) != string(y) && scope.ObjectName(b...) == n {
			t.Fatalf("%s and %s both give %q", x, y, n)
		}
	})
}
