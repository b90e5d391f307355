// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// TestNoHarm47AMirrorOfOurs: the report of another datacenter, copied by our controller there into the namespace of the operator's cluster, is not evidence that our controller manages the cluster.
func TestNoHarm47AMirrorOfOurs(t *testing.T) {
	silent := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kubectl-scylla", Name: api.LeaseName},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("x"), LeaseDurationSeconds: new(int32(15)), RenewTime: &metav1.MicroTime{Time: plugintest.Now.Add(-time.Hour)}},
	}
	mirror := func(r *api.ScyllaDBDatacenterNodesStatusReport, written time.Duration) {
		at := plugintest.Now.Add(-written)
		r.OwnerReferences, r.Labels = nil, map[string]string{api.LabelManagedBy: api.ManagedByUs, api.LabelReportSelector: "demo", api.LabelRemoteReport: "eu"}
		r.Annotations = map[string]string{api.AnnotationCopy: api.CopyPushed, api.AnnotationCopyRenewed: at.Format(time.RFC3339)}
		r.ManagedFields = stage.Written(`{"f:metadata":{"f:annotations":{"f:kubectl-scylla.scylladb.com/copy-renewed":{}}}}`)
		r.ManagedFields[0].Time = &metav1.Time{Time: at}
	}
	one, two := plugintest.New(3, 1), plugintest.New(3, 1).AddDatacenter("eu", 1, 2)
	var copied *api.ScyllaDBDatacenterNodesStatusReport
	of := func(written time.Duration) []client.Object {
		return two.OperatorObjects("dc1", func(r *api.ScyllaDBDatacenterNodesStatusReport) { mirror(r, written); copied = r })
	}
	for name, tc := range map[string]struct {
		objects []client.Object
		code    int
		want    string
	}{
		"renewed":     {of(5 * time.Second), 0, "5 of 5 nodes seen UP by all"},
		"not renewed": {of(time.Hour), 3, "no usable status report from eu/rack1/0 and eu/rack1/1"},
		"left behind": {append(one.OperatorObjects("dc1", nil), copied), 0, "kubectl get scylladbdatacenternodesstatusreports demo-eu-external-1c1up --output yaml --show-managed-fields -n demo"},
	} {
		t.Run(name, func(t *testing.T) {
			got := plugintest.Run{Objects: append(tc.objects, silent), Args: []string{"status", "-n", "demo"}}.Do(t)
			text := strings.Join(strings.Fields(got.Stdout), " ")
			if got.Code != tc.code || !strings.Contains(text, tc.want) {
				t.Errorf("exit %d\n%s%s", got.Code, got.Stdout, got.Stderr)
			}
			if strings.Contains(text, "no response from the controller") {
				t.Errorf("a copy was taken for the work of our controller:\n%s", got.Stdout)
			}
		})
	}
}
