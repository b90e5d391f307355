// SPDX-License-Identifier: Apache-2.0

package scope_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/controller/scope"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

func TestPlaceOfNamesWhatIsMissing(t *testing.T) {
	full := map[string]string{api.LabelCluster: "c", api.LabelDatacenter: "d", api.LabelRack: "r"}
	if p, err := scope.PlaceOf(&metav1.ObjectMeta{Namespace: "n", Labels: full}); err != nil || p != (scope.Place{Namespace: "n", Cluster: "c", Datacenter: "d", Rack: "r"}) {
		t.Errorf("got %+v, %v", p, err)
	}
	for k := range full {
		some := map[string]string{}
		for l, v := range full {
			if l != k {
				some[l] = v
			}
		}
		if _, err := scope.PlaceOf(&metav1.ObjectMeta{Namespace: "n", Name: "x", Labels: some}); err == nil || !strings.Contains(err.Error(), k) || !strings.Contains(err.Error(), "n/x") {
			t.Errorf("without %s: %v", k, err)
		}
	}
}

func TestOrdinals(t *testing.T) {
	for member, want := range map[string]int32{"a-0": 0, "a-12": 12, "a": -1, "a-": -1, "a-01": -1, "a-b-1": -1, "b-1": -1, "a--1": -1, "a-4294967296": -1} {
		got, ok := scope.Ordinal(member, "a")
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%s: %d, want %d", member, got, want)
		}
	}
}
