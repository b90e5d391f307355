// SPDX-License-Identifier: Apache-2.0

package barrier_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// TestBesideOperator3ThePluginSaysWhatItCannotKnow: a member whose Pod is at its barrier may have lost its volume. The plugin cannot know that, so it must not say that the
// barrier opens within seconds.
func TestBesideOperator3ThePluginSaysWhatItCannotKnow(t *testing.T) {
	c := plugintest.New(3, 1).Down("demo-dc1-rack3-0")
	name := c.Newcomer("dc1", "rack3", 0) // its Pod made anew
	c.Service(name).Annotations = map[string]string{api.AnnotationHostID: c.Node(name).HostID, api.AnnotationNodeJoined: "true"}
	for _, args := range [][]string{{"barrier", name, "-n", "demo"}, {"barrier", name, "--from", plugintest.Save(t, c.OperatorObjects("dc1", nil))}} {
		run := plugintest.Run{Args: args}
		if len(args) > 3 && args[2] == "-n" {
			run.Objects = c.OperatorObjects("dc1", nil)
		}
		got := run.Do(t)
		if got.Code != 3 || !strings.Contains(got.Stdout, "UNSURE") || !strings.Contains(got.Stdout, "only its Pod can check") ||
			strings.Contains(got.Stdout, "OPEN") || strings.Contains(got.Stdout, "opens within seconds") {
			t.Errorf("%v ended with %d:\n%s%s", args, got.Code, got.Stdout, got.Stderr)
		}
	}
	// Its Service does not say that it has joined, and the operator's rows have no states: it is a newcomer, and a node is DOWN.
	delete(c.Service(name).Annotations, api.AnnotationNodeJoined)
	got := plugintest.Run{Objects: c.OperatorObjects("dc1", nil), Args: []string{"barrier", name, "-n", "demo"}}.Do(t)
	if got.Code != 3 || !strings.Contains(got.Stdout, "WAIT") {
		t.Errorf("without the joined annotation it ended with %d:\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
}

// TestBesideOperator9NoTimeIsPromisedOfItsBarrier: the operator's barrier opens by the operator's report, which a new row reaches later than ours, and by its own rules.
func TestBesideOperator9NoTimeIsPromisedOfItsBarrier(t *testing.T) {
	const theirs, ours = "a node that joined can take 35s to appear in its report", "opens within seconds"
	cases := map[string]struct {
		change      func(*corev1.Pod)
		want, never string
	}{
		"the operator's":                   {func(*corev1.Pod) {}, theirs, ours},
		"our agent in the operator's Pods": {func(p *corev1.Pod) { p.Spec.InitContainers[0].Command = []string{"/scylla-agent", "barrier"} }, ours, theirs},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := plugintest.New(3, 1)
			newcomer := c.Newcomer("dc1", "rack2", 1)
			objects := c.OperatorObjects("dc1", nil)
			for _, o := range objects {
				if p, ok := o.(*corev1.Pod); ok && p.Name == newcomer {
					tc.change(p)
				}
			}
			got := plugintest.Run{Objects: objects, Args: []string{"barrier", newcomer, "-n", "demo"}}.Do(t)
			if !strings.Contains(got.Stdout, tc.want) || strings.Contains(got.Stdout, tc.never) {
				t.Errorf("exit %d, want %q and not %q\n%s%s", got.Code, tc.want, tc.never, got.Stdout, got.Stderr)
			}
		})
	}
}
