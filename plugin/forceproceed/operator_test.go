// SPDX-License-Identifier: Apache-2.0

package forceproceed_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// operatorForced is a cluster of the Scylla Operator that was forced as a whole: everything that the operator copies it to carries it. without leaves the
// ScyllaCluster out, as where people write a ScyllaDBDatacenter.
func operatorForced(without bool) []client.Object {
	var out []client.Object
	objects := append(waits().Operator().Objects(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Namespace: "demo", Name: "demo-client", Labels: map[string]string{api.LabelCluster: "demo", api.LabelServiceType: "identity"},
	}})
	for _, o := range objects {
		m, partial := o.(*metav1.PartialObjectMetadata)
		switch {
		case without && partial && m.Kind == api.ScyllaClusterGVK.Kind:
			continue
		case without && partial:
			m.OwnerReferences = nil
		}
		if _, pod := o.(*corev1.Pod); !pod {
			a := o.GetAnnotations()
			if a == nil {
				a = map[string]string{}
			}
			a[api.AnnotationForceProceed] = "true"
			o.SetAnnotations(a)
		}
		out = append(out, o)
	}
	return out
}

// TestBesideOperator6ForcingADatacenterRestartsPods: it is said before it is asked, for a ScyllaDBDatacenter as for a ScyllaCluster, with the form that restarts
// nothing; and --undo leaves nothing behind.
func TestBesideOperator6ForcingADatacenterRestartsPods(t *testing.T) {
	for name, args := range map[string][]string{"cluster": {"--cluster", "demo"}, "datacenter": {"--datacenter", "dc1"}} {
		t.Run(name, func(t *testing.T) {
			c := plugintest.NewClient(waits().Operator().Objects(), interceptor.Funcs{})
			got := plugintest.Run{Client: c, Args: append([]string{"force-proceed", "-n", "demo"}, args...)}.Do(t)
			for _, want := range []string{"every Pod of the cluster restarts", "kubectl scylla force-proceed " + newcomer + " -n demo"} {
				if got.Code != 2 || !strings.Contains(got.Stderr, want) {
					t.Errorf("exit %d, and it does not say %q:\n%s", got.Code, want, got.Stderr)
				}
			}
		})
	}
	for name, without := range map[string]bool{"a ScyllaCluster": false, "a ScyllaDBDatacenter alone": true} {
		t.Run("undo of "+name, func(t *testing.T) {
			c := plugintest.NewClient(operatorForced(without), interceptor.Funcs{})
			run := plugintest.Run{Client: c, Args: []string{"force-proceed", "-n", "demo", "--cluster", "demo", "--undo"}}
			if got := run.Do(t); got.Code != 2 || !strings.Contains(got.Stderr, "every Pod of the cluster restarts") {
				t.Errorf("exit %d: it restarts Pods and does not ask:\n%s", got.Code, got.Stderr)
			}
			run.Args = append(run.Args, "--yes")
			if got := run.Do(t); got.Code != 0 {
				t.Fatalf("exit %d:\n%s%s", got.Code, got.Stdout, got.Stderr)
			}
			for _, line := range strings.Split(state(t, c), "\n") {
				if !strings.HasPrefix(line, "event ") && line != "" {
					t.Errorf("left behind: %s", line)
				}
			}
		})
	}
}
