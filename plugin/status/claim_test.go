// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// TestAttack8AClaimThatIsDeletedUnderALiveNode: every node is UP and Ready, and the volume of one is deleted when its Pod ends. The output says so, says how to save the data,
// and does not advise to restart or replace anything.
func TestAttack8AClaimThatIsDeletedUnderALiveNode(t *testing.T) {
	const target = "demo-dc1-rack2-0"
	objects := func(operator, asked bool) []client.Object {
		c := plugintest.New(3, 1)
		if asked {
			c.Service(target).Labels[api.LabelReplace] = ""
		}
		all := c.Objects()
		if operator {
			all = c.OperatorObjects("dc1", nil)
		}
		return append(all, &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "demo", Name: "data-" + target, Labels: map[string]string{api.LabelCluster: "demo"},
				Finalizers: []string{"kubernetes.io/pvc-protection"}, DeletionTimestamp: &metav1.Time{Time: plugintest.Now},
			},
			Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pvc-rack2"},
		})
	}
	says := []string{
		"data-" + target + " of running node " + target + " Terminating", "do not restart or delete Pod " + target,
		"kubectl patch persistentvolume pvc-rack2", "nodetool decommission",
	}
	for name, args := range map[string][]string{
		"status":     {"status", "-n", "demo"},
		"describe":   {"describe", target, "-n", "demo"},
		"report":     {"report", "-n", "demo", "-o", "wide"},
		"a document": {"status", "-n", "demo", "-o", "yaml"},
	} {
		for _, operator := range []bool{false, true} {
			for _, asked := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, operator %t, replacement asked for %t", name, operator, asked), func(t *testing.T) {
					got := plugintest.Run{Objects: objects(operator, asked), Args: args}.Do(t)
					text := strings.Join(strings.Fields(strings.ReplaceAll(got.Stdout, "\\\n", " ")), " ")
					want := says
					if name == "a document" {
						want = []string{"kind: ClaimDeleting", "claim: data-" + target, "pod: " + target}
					}
					for _, w := range want {
						if !strings.Contains(text, w) {
							t.Errorf("does not say %q", w)
						}
					}
					if wantCode := map[bool]int{true: 0, false: 3}[name == "report" || name == "describe"]; got.Code != wantCode || strings.Contains(text, "kubectl scylla replace "+target) {
						t.Errorf("exit %d", got.Code)
					}
					if t.Failed() {
						t.Errorf("it says\n%s%s", got.Stdout, got.Stderr)
					}
				})
			}
		}
	}
}
