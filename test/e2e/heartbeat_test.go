// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/scenario"
)

// states are the members of the stored view, as "name=STATE/Contact".
func (f *fixture) states(ctx context.Context) (string, error) {
	r := &api.ScyllaDBStatusReport{}
	if err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: "demo"}, r); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	if r.Status.View == nil {
		return "no view", nil
	}
	var out []string
	for _, m := range r.Status.View.Members {
		out = append(out, fmt.Sprintf("%s=%s/%s", m.Name, m.State, m.Contact))
	}
	return strings.Join(out, " "), nil
}

func (f *fixture) untilStates(want string) {
	f.t.Helper()
	f.waitFor("the view to say "+want, func(ctx context.Context) (bool, string, error) {
		got, err := f.states(ctx)
		return got == want, got, err
	})
}

// untilMissed waits until the controller's log says why a member's heartbeat is missing.
func (f *fixture) untilMissed(member, why string) {
	f.t.Helper()
	f.waitFor("the controller to name the heartbeat of "+member, func(ctx context.Context) (bool, string, error) {
		var l corev1.PodList
		if err := f.Client.List(ctx, &l, client.InNamespace("kubectl-scylla")); err != nil || len(l.Items) != 1 {
			return false, fmt.Sprintf("%d Pods of the controller", len(l.Items)), err
		}
		log, err := f.ContainerLog(ctx, l.Items[0].Namespace, l.Items[0].Name, l.Items[0].Spec.Containers[0].Name)
		for line := range strings.Lines(log) {
			if strings.Contains(line, "heartbeat missing") && strings.Contains(line, f.namespace) && strings.Contains(line, member) && strings.Contains(line, why) {
				return true, "", nil
			}
		}
		return false, tail(log, 3), err
	})
}

// A reporter that is frozen writes nothing, and its row has UP. The controller asks real reporters in real Pods, as they are shipped; the frozen one makes its
// member UNKNOWN, and no other. When it goes on, so does the member.
func TestAFrozenReporterMakesItsMemberUnknown(t *testing.T) {
	covers(t, "controller/heartbeats", "controller/views", "internal/peer/heartbeat", "internal/peer/pinned", "internal/agent/reporter")
	t.Parallel()
	pods(t, 3)
	f := deploy(t, scenario.Cluster{})
	all := func(second string) string {
		return fmt.Sprintf("%s-0=UP/Heartbeat %s-0=%s/Heartbeat %s-0=UP/Heartbeat", rack1, rack2, second, rack3)
	}
	f.untilStates(all("UP"))
	row := f.pod(rack2 + "-0").Annotations[api.AnnotationNodeStatusReport]

	f.must(f.Cluster.PauseContainer(f.ctx, f.namespace, rack2+"-0", api.ContainerReporter))
	f.untilStates(all("UNKNOWN"))
	if got := f.pod(rack2 + "-0").Annotations[api.AnnotationNodeStatusReport]; got != row || !strings.Contains(row, `"UP"`) {
		t.Errorf("the row was written anew: %s, was %s", got, row)
	}
	f.untilMissed(rack2+"-0", "TimedOut")
	f.must(f.Cluster.ResumeContainer(f.ctx, f.namespace, rack2+"-0", api.ContainerReporter))
	f.untilStates(all("UP"))

	// Where the view is served, the Lease says.
	var l coordinationv1.Lease
	f.must(f.Client.Get(f.ctx, client.ObjectKey{Namespace: "kubectl-scylla", Name: api.LeaseName}, &l))
	if address, _, ok := api.ViewAt(l.Annotations); !ok || !strings.HasSuffix(address, ":8443") {
		t.Errorf("the Lease says that views are at %q", l.Annotations[api.AnnotationViewAt])
	}
}
