// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// TestTheGateIsShown: while feature gate BootstrapSynchronisation is off at the controller, status says that no join is protected, with the command
// that turns it on, and barrier says that the member may start. A Lease that is no longer renewed proves nothing.
func TestTheGateIsShown(t *testing.T) {
	const newcomer = "demo-dc1-rack2-1"
	for name, tc := range map[string]struct {
		age time.Duration
		off bool
	}{
		"renewed":     {2 * time.Second, true},
		"not renewed": {time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			renewed := metav1.NewMicroTime(plugintest.Now.Add(-tc.age))
			c := plugintest.New(3, 1).Down("demo-dc1-rack3-0").Add(&coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Namespace: "kubectl-scylla", Name: api.LeaseName, Annotations: map[string]string{api.AnnotationUnprotected: api.KeepMark("demo", "demo")}},
				Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("scylla-agent-1"), RenewTime: &renewed, LeaseDurationSeconds: new(int32(15))},
			})
			c.Newcomer("dc1", "rack2", 1)
			from := plugintest.Save(t, c.Objects())
			status := plugintest.Run{Args: []string{"status", "--from", from}}.Do(t)
			barrier := plugintest.Run{Args: []string{"barrier", newcomer, "--from", from}}.Do(t)
			for what, said := range map[string]bool{
				"status names the gate":    strings.Contains(status.Stdout, "no join is protected: feature gate BootstrapSynchronisation is off at controller scylla-agent-1"),
				"status names the command": strings.Contains(status.Stdout, "kubectl scylla install --feature-gates BootstrapSynchronisation=true"),
				"the barrier opens":        barrier.Code == 0 && strings.Contains(barrier.Stdout, "may start: feature gate BootstrapSynchronisation is off at controller scylla-agent-1"),
			} {
				if said != tc.off {
					t.Errorf("%s: %t, want %t\n%s%s%s", what, said, tc.off, status.Stdout, barrier.Stdout, barrier.Stderr)
				}
			}
		})
	}
}
