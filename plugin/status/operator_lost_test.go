// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// TestBesideOperator10ALostHostIDDeletesNoClaim: a Service that says that its node has joined has lost its host ID; no output advises to delete the claim.
func TestBesideOperator10ALostHostIDDeletesNoClaim(t *testing.T) {
	objects := plugintest.New(3, 1).Down("demo-dc1-rack3-0").OperatorObjects("dc1", nil)
	for _, o := range objects {
		if s, is := o.(*corev1.Service); is && s.Name == "demo-dc1-rack3-0" {
			delete(s.Annotations, api.AnnotationHostID)
		}
	}
	got := plugintest.Run{Args: []string{"replace", "demo-dc1-rack3-0", "--dry-run=client", "--from", plugintest.Save(t, objects)}}.Transcript(t)
	if strings.Contains(got, "delete its PVC") || !strings.Contains(got, "delete nothing. Run kubectl scylla status") {
		t.Error(got)
	}
}
