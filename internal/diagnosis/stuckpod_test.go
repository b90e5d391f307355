// SPDX-License-Identifier: Apache-2.0

package diagnosis_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/scenes"
)

// The old Pod of a replacement does not end. Where its Kubernetes node is lost, the replacement has
// the step that goes on; otherwise nothing is to be forced.
func TestAReplacementWhosePodDoesNotEnd(t *testing.T) {
	const member = "demo-dc1-rack2-0"
	c := plugintest.New(3, 1).Replacing(member)
	c.Pod(member).DeletionTimestamp = &metav1.Time{Time: scenes.Now.Add(-10 * time.Minute)}
	snap := cluster.New(scenes.Objects(c), cluster.SourceReport, scenes.Now)
	waits := words.New(words.ReplacementWaits, "cure", words.New(words.PodCannotEndCure))
	for name, tc := range map[string]struct {
		known diagnosis.Known
		want  words.Code
	}{
		"nothing is known of its Kubernetes node": {diagnosis.Known{}, words.SeeEnding},
		"its Kubernetes node is lost": {diagnosis.Known{Steps: map[hostid.ID]words.Message{
			hostid.ID(c.Node(member).HostID): waits}}, words.ReplacementWaits},
	} {
		t.Run(name, func(t *testing.T) {
			for _, f := range diagnosis.From(snap, bootstrap.HealthOf(snap), tc.known) {
				if f.Kind != diagnosis.ReplacementOpen {
					continue
				}
				if f.Step.Code != tc.want {
					t.Errorf("step %s, want %s", f.Step.Code, tc.want)
				}
				return
			}
			t.Error("no finding of the replacement")
		})
	}
}
