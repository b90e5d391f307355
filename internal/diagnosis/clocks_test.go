// SPDX-License-Identifier: Apache-2.0

package diagnosis_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/scenes"
)

// TestTimesOfAWrongClock: ages rest on what a reporter's clock said, so a node that was DOWN for a minute seemed DOWN for hours, and the other way round.
func TestTimesOfAWrongClock(t *testing.T) {
	t.Parallel()
	const gone = "demo-dc1-rack3-0"
	// says sets since when two reporters have the node DOWN, relative to now; their Pods are an hour old, their rows were written four minutes ago.
	at := func(first, second time.Duration) *plugintest.Cluster {
		c := plugintest.New(3, 1).DownSince(gone, time.Minute)
		for _, pod := range []string{"demo-dc1-rack1-0", "demo-dc1-rack2-0"} {
			c.Pod(pod).CreationTimestamp = metav1.NewTime(scenes.Now.Add(-time.Hour))
		}
		return c.Says(func(by plugintest.Node, said *api.NodeStatusReport) {
			for i := range said.ObservedNodes {
				if o := &said.ObservedNodes[i]; o.Since != nil {
					since := map[string]time.Duration{"demo-dc1-rack1-0": first, "demo-dc1-rack2-0": second}[by.Name]
					o.Since = &metav1.Time{Time: scenes.Now.Add(since)}
				}
			}
		})
	}
	written := scenes.Now.Add(-4 * time.Minute)
	for name, tc := range map[string]struct {
		cluster *plugintest.Cluster
		change  func(*cluster.Objects)
		want    []string // of clocks
		since   time.Time
	}{
		"both clocks are right":           {cluster: at(-30*time.Minute, -30*time.Minute), since: scenes.Now.Add(-30 * time.Minute)},
		"one clock is two hours ahead":    {cluster: at(2*time.Hour, -10*time.Minute), want: []string{"the clock of worker-1 is at least 2h0m ahead; its times are not used"}, since: written},
		"one clock is three hours behind": {cluster: at(-3*time.Hour, -10*time.Minute), want: []string{"the clock of worker-1 is at least 2h0m behind; its times are not used"}, since: written},
		"both are behind":                 {cluster: at(-3*time.Hour, -5*time.Hour), want: []string{"the clock of worker-1 is at least 4h0m behind; its times are not used"}, since: written},
		"both are behind, write times are unknown": {cluster: at(-3*time.Hour, -5*time.Hour), change: func(o *cluster.Objects) {
			for i := range o.Pods {
				o.Pods[i].ManagedFields = nil
			}
		}, want: []string{"the clock of worker-1 is at least 4h0m behind; its times are not used"}},
		"behind by less than shows it": {cluster: at(-69*time.Minute, -69*time.Minute), since: scenes.Now.Add(-69 * time.Minute)},
		"the row is of an earlier Pod": {cluster: at(-3*time.Hour, -3*time.Hour), change: func(o *cluster.Objects) {
			for i := range o.Pods {
				delete(o.Pods[i].Annotations, api.AnnotationNodeStatusReport)
			}
		}, since: scenes.Now.Add(-3 * time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := plugintest.Objects(cluster.Key{Namespace: "demo", Name: "demo"}, tc.cluster.Objects())
			if tc.change != nil {
				tc.change(&o)
			}
			c := cluster.New(o, cluster.SourceReport, scenes.Now)
			var got []string
			for _, f := range diagnosis.Of(c) {
				if f.Kind == diagnosis.ClockOff {
					got = append(got, words.Text(f.Message))
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if since := c.Matrix().DownSince(hostid.ID(tc.cluster.Node(gone).HostID)); !since.Equal(tc.since) {
				t.Errorf("DOWN since %v, want %v", since, tc.since)
			}
		})
	}
}
