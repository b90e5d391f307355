// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// TestANodeOfNobodyThatSomeSeeUp: "host ID X DOWN: it is not DOWN" was one sentence.
func TestANodeOfNobodyThatSomeSeeUp(t *testing.T) {
	const gone = "demo-dc1-rack5-0"
	for name, tc := range map[string]struct {
		down int // how many of the four others see it DOWN
		want string
	}{
		"one of four":   {1, "1 of 4 nodes sees host ID 39d4f5a4-5ea1-4d00-8000-000000000004 DOWN, 3 see it UP; it belongs to no member here → do not remove it, because it is running; check routes, firewalls and NetworkPolicies from demo-dc1-rack1-0 to it, ports 7000 and 7001"},
		"three of four": {3, "3 of 4 nodes see host ID 39d4f5a4-5ea1-4d00-8000-000000000004 DOWN, 1 sees it UP; it belongs to no member here → do not remove it, because it is running; check it where it runs"},
	} {
		t.Run(name, func(t *testing.T) {
			c := plugintest.New(5, 1)
			id := c.Node(gone).HostID
			objects := c.Says(func(by plugintest.Node, said *api.NodeStatusReport) {
				for i := range said.ObservedNodes {
					if o := &said.ObservedNodes[i]; string(o.HostID) == id && by.Name < "demo-dc1-rack"+string(rune('1'+tc.down)) {
						o.Status = api.NodeStatusDown
					}
				}
			}).Leftover(gone)
			got := plugintest.Run{Args: []string{"status", "demo", "-n", "demo", "--source=annotation"}, Objects: objects}.Do(t)
			if text := strings.Join(strings.Fields(got.Stdout), " "); got.Code != 3 || !strings.Contains(text, tc.want) {
				t.Errorf("exit %d, want %q in\n%s", got.Code, tc.want, got.Stdout)
			}
		})
	}
}

// TestAnOrdinalThatNoStatefulSetWants: its row is still in the report after its rack was scaled down: status said HEALTHY, barrier "wait".
func TestAnOrdinalThatNoStatefulSetWants(t *testing.T) {
	const gone = "demo-dc1-rack3-1"
	var objects []client.Object
	for _, o := range plugintest.New(3, 2).Objects() {
		switch o := o.(type) {
		case *appsv1.StatefulSet:
			if o.Name == "demo-dc1-rack3" {
				*o.Spec.Replicas = 1
			}
		case *corev1.Service, *corev1.Pod:
			if o.GetName() == gone {
				continue
			}
		}
		objects = append(objects, o)
	}
	for verb, want := range map[string]string{"status": "✓ HEALTHY", "barrier": "No member is waiting"} {
		got := plugintest.Run{Args: []string{verb, "-n", "demo"}, Objects: objects}.Do(t)
		if got.Code != 0 || !strings.Contains(got.Stdout+got.Stderr, want) {
			t.Errorf("%s: exit %d, want %q in\n%s%s", verb, got.Code, want, got.Stdout, got.Stderr)
		}
	}
}
