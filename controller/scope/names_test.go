// SPDX-License-Identifier: Apache-2.0

package scope_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/controller/scope"
)

func TestNamesOfDatacentersWithOtherCharacters(t *testing.T) {
	for datacenter, want := range map[string]string{"AWS_US_EAST_1": "demo-aws-us-east-1-", "aws.us": "demo-aws.us-", "a_.b": "demo-a--b-", "eu..1": "demo-eu--1-", "Zürich 1": "demo-z-rich-1-"} {
		if got := scope.ObjectName("demo", datacenter); !strings.HasPrefix(got, want) || len(got) != len(want)+5 {
			t.Errorf("%s: %q, want %q and five digits", datacenter, got, want)
		}
	}
}

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

// Labels have more characters than names, and the datacenter in a report of a remote is any text.
func TestNamesAreValidAndApart(t *testing.T) {
	label := rapid.OneOf(rapid.StringMatching(`[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?`), rapid.StringMatching(`[-_.a]{1,300}`), rapid.String())
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
