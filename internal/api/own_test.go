// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// TestNoObjectHasTheNameOfOurLabel: for every name of an object, the value of OwnCluster is a label, no name of an object, and gives the name back.
func TestNoObjectHasTheNameOfOurLabel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z0-9]([a-z0-9.-]{0,57}[a-z0-9])?`).Draw(t, "name")
		own := api.OwnCluster(name)
		if len(validation.IsValidLabelValue(own)) > 0 || len(validation.IsDNS1123Subdomain(own)) == 0 {
			t.Fatalf("%q is no label, or the name of an object", own)
		}
		if got := api.ClusterOf(map[string]string{api.LabelCluster: own}); got != name {
			t.Fatalf("cluster %q of label %q, want %q", got, own, name)
		}
	})
	if long := strings.Repeat("x", 60); api.OwnCluster(long) != long {
		t.Error("a label of more than 63 characters")
	}
}
