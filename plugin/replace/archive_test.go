// SPDX-License-Identifier: Apache-2.0

package replace_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// An expert elsewhere plans from an archive; where the data is, no archive knows, and nothing can be changed.
func TestPlanFromAnArchive(t *testing.T) {
	file := t.TempDir() + "/demo.zip"
	if res := (plugintest.Run{Args: []string{"report", "demo", "-n", "demo", "--archive", file, "--logs=0"}, Objects: dead().Objects()}).Do(t); res.Code != 0 {
		t.Fatalf("%+v", res)
	}
	for name, args := range map[string][]string{
		"from_archive.txt":         {"replace", target, "--from", file, "--dry-run"},
		"from_archive_skipped.txt": {"replace", target, "--from", file, "--dry-run=client", "--skip-check=data"},
		"from_archive_refused.txt": {"replace", target, "--from", file, "--yes"},
		"from_archive_server.txt":  {"replace", target, "--from", file, "--dry-run=server"},
	} {
		t.Run(name, func(t *testing.T) {
			res := plugintest.Run{Args: args}.Do(t)
			if want := map[bool]int{true: 0, false: 2}[name == "from_archive_skipped.txt"]; res.Code != want {
				t.Errorf("exit %d: %s", res.Code, res.Stderr)
			}
			golden(t, name, strings.ReplaceAll(transcript(args, res), file, "demo.zip"))
		})
	}
}

// TestNoHarm46AReadyKubernetesNodeIsNotDeleted: `kubectl delete node` was printed for a Kubernetes node that was Ready, because the old Pod had been terminating for 61 s; and from old files.
func TestNoHarm46AReadyKubernetesNodeIsNotDeleted(t *testing.T) {
	open := func(also func(*corev1.Pod, *corev1.Node)) []client.Object {
		c := dead()
		svc, pod := c.Service(target), c.Pod(target)
		svc.Labels[api.LabelReplace], svc.Labels[api.LabelReplacingNodeHostID] = "", oldID
		for k, v := range map[string]string{
			api.AnnotationReplaceRequest: "r", api.AnnotationReplaceAccepted: "r", api.AnnotationReplacePVCUIDs: "gone", api.AnnotationReplacePodUID: string(pod.UID),
			api.AnnotationReplaceStartedAt: "2026-11-21T10:00:00Z", api.AnnotationReplaceAttempt: "1", api.AnnotationReplaceOriginalHostID: oldID,
		} {
			svc.Annotations[k] = v
		}
		pod.Spec.NodeName, pod.Finalizers = "k1", []string{"example.com/stays"}
		pod.DeletionTimestamp = &metav1.Time{Time: plugintest.Now.Add(-61 * time.Second)}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "k1"}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
		also(pod, node)
		return append(c.Objects(), node)
	}
	ready := func(*corev1.Pod, *corev1.Node) {}
	for name, tc := range map[string]struct {
		also func(*corev1.Pod, *corev1.Node)
		says string
	}{
		"Ready":            {also: ready, says: "kubectl get node k1"},
		"Ready and marked": {also: func(p *corev1.Pod, _ *corev1.Node) { p.Status.Reason = "NodeLost" }, says: "kubectl get node k1"},
		"Ready, cordoned":  {also: func(_ *corev1.Pod, n *corev1.Node) { n.Spec.Unschedulable = true }, says: "kubectl get node k1"},
		"not Ready":        {also: notReady, says: "check Kubernetes node k1 and bring it back: kubectl describe node k1"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := open(tc.also)
			saved := plugintest.Run{Args: []string{"replace", "status", target, "--from", plugintest.Save(t, objects)}}
			for _, run := range []plugintest.Run{saved, {Args: []string{"replace", "status", target, "-n", "demo"}, Objects: objects}} {
				got := run.Do(t)
				text := strings.Join(strings.Fields(got.Stdout), " ")
				if strings.Contains(text, "kubectl delete") || strings.Contains(text, "--force") || run.Objects != nil && !strings.Contains(text, tc.says) {
					t.Errorf("%v: exit %d, want nothing deleted, and %q:\n%s%s", run.Args, got.Code, tc.says, got.Stdout, got.Stderr)
				}
			}
		})
	}
}

func notReady(_ *corev1.Pod, n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }

// Nothing but a plan is made of saved objects.
func TestNothingElseFromSavedObjects(t *testing.T) {
	file := plugintest.Save(t, dead().Objects())
	for _, args := range [][]string{{"replace", "cancel", target, "--from", file, "--dry-run=client"}, {"replace", "resume", target, "--from", file}} {
		if res := (plugintest.Run{Args: args}).Do(t); res.Code != 2 || !strings.Contains(res.Stderr, "saved objects cannot be changed") || res.Stdout != "" {
			t.Errorf("%v: %+v", args, res)
		}
	}
}

// A replacement that has ended is listed where the user asks for it.
func TestStatusOfWhatIsOver(t *testing.T) {
	c := prepared()
	c.Service(target).Annotations[api.AnnotationReplaceLast] = `{"request":"r","outcome":"Replaced","hostID":"00000000-0000-4000-8000-000000000001","newHostID":"` + oldID +
		`","startedAt":"2026-11-21T10:00:00Z","finishedAt":"2026-11-21T10:01:12Z"}`
	args := []string{"replace", "status", "-n", "demo"}
	if res := (plugintest.Run{Args: args, Objects: c.Objects()}).Do(t); res.Code != 0 || res.Stdout != "No replacement is open.\n" {
		t.Errorf("%+v", res)
	}
	args = append(args, "--all")
	res := plugintest.Run{Args: args, Objects: c.Objects()}.Do(t)
	if res.Code != 0 {
		t.Errorf("%+v", res)
	}
	golden(t, "status_all.txt", transcript(args, res))
	if res := (plugintest.Run{Args: append(args, target), Objects: c.Objects()}).Do(t); res.Code != 2 || !strings.Contains(res.Stderr, "--all cannot be used with a node") {
		t.Errorf("%+v", res)
	}
}
