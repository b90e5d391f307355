// SPDX-License-Identifier: Apache-2.0

package preflight_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/preflight"
)

// The root credential has one line, and each setting that is not applied another; none of them fails the check.
func TestCredentials(t *testing.T) {
	report := func(code api.RootCredentialCode, items ...api.InitialSetting) api.ScyllaDBStatusReport {
		return api.ScyllaDBStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop"}, Status: api.ScyllaDBStatusReportStatus{
			RootCredential: &api.RootCredential{Mode: "verify", Code: code}, InitialSettings: &api.InitialSettings{Hash: "h", Items: items},
		}}
	}
	applied := api.InitialSetting{Name: api.SettingHealthPolicy, State: "Applied"}
	todo := api.InitialSetting{Name: "system_traces", State: "ToDo", Replication: "SimpleStrategy replication_factor=2", Wanted: map[string]int32{"dc1": 1}, RepairDue: true}
	for name, tc := range map[string]struct {
		report api.ScyllaDBStatusReport
		want   []string
	}{
		"no container": {report("", applied), nil},
		"verified":     {report("Verified", applied), []string{"credential ok RootVerified"}},
		"open":         {report("DefaultSuperuserOpen", applied), []string{"credential warning RootDefaultOpen"}},
		"unknown":      {report("Unknown", applied), []string{"credential warning RootUnknown"}},
		"settings":     {report("Verified", applied, todo), []string{"credential ok RootVerified", "settings warning SettingToDo", "settings warning RepairIsDue"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := well()
			in.Reports = []api.ScyllaDBStatusReport{tc.report}
			results := preflight.Check(in)
			var got []string
			for _, r := range results {
				if slices.Contains([]string{"credential", "settings"}, r.Check) {
					got = append(got, r.Check+" "+string(r.State)+" "+string(r.Text.Code))
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || preflight.Worst(results) == preflight.Failed {
				t.Errorf("%s\n%s", preflight.Worst(results), diff)
			}
		})
	}
}
