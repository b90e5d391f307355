// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// TestEverySurfaceShowsOneProgress: the dashboard said "in progress, wait" of a replacement that had failed, with the resume command in status.
func TestEverySurfaceShowsOneProgress(t *testing.T) {
	const cancelled = "ERROR 2026-11-21 08:00:00,000 [shard 0:main] init - Startup failed: std::runtime_error (the topology coordinator rejected request to join the cluster: request canceled because some required nodes are dead)\n"
	requested := plugintest.New(4, 1).DownSince(replaced, plugintest.Now.Sub(plugintest.Now.Add(-3600e9)))
	requested.Service(replaced).Labels[api.LabelReplace] = ""
	runs := plugintest.New(4, 1).Replacing(replaced)
	runs.Pod(replaced).Status.ContainerStatuses[0] = corev1.ContainerStatus{Name: api.ContainerScyllaDB,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(plugintest.Now.Add(-600e9))}}}
	for name, tc := range map[string]struct {
		cluster *plugintest.Cluster
		log     string
		failed  bool
		resume  bool
	}{
		"requested":                        {cluster: requested},
		"in progress":                      {cluster: plugintest.New(4, 1).Replacing(replaced)},
		"its new node joins":               {cluster: runs},
		"it exited":                        {cluster: failedReplacement(), failed: true},
		"it exited, and its log shows why": {cluster: failedReplacement(), log: cancelled, failed: true, resume: true},
		"it runs, and its log shows that it has failed": {cluster: runs, log: cancelled, failed: true, resume: true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, args := range [][]string{{"status", "demo"}, {"status", "demo", "-o", "json"}, {"describe", replaced}, {"barrier", replaced}, {"replace", "status", replaced},
				{"dashboard", "demo", "--once", "--width=200", "--height=80"}, {"report", "demo", "-o", "json"}, {"report", "demo", "-o", "html"}} {
				run := plugintest.Run{Args: append(args, "-n", "demo"), Objects: tc.cluster.Objects(), Logs: map[string]string{replaced + "/scylla": tc.log}}
				out := strings.Join(strings.Fields(run.Do(t).Stdout), " ")
				failed := strings.Contains(strings.ReplaceAll(out, "Failed", "failed"), "failed") && !strings.Contains(out, `"failed":false`)
				resume := strings.Contains(strings.ReplaceAll(out, `", "`, " "), "replace resume")
				if failed != tc.failed || resume != tc.resume {
					t.Errorf("%v: failed %v, resume %v:\n%.3000s", args, failed, resume, out)
				}
			}
		})
	}
}
