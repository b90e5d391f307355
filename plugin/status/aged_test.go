// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// savedScenes are clusters for which some verb names a step that cannot be undone.
func savedScenes() map[string][]client.Object {
	const gone = "demo-dc1-rack4-0"
	banned := plugintest.New(3, 1)
	waits := banned.Newcomer("dc1", "rack1", 1)
	banned.Pod(waits).Status.ContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerScyllaDB, RestartCount: 3, LastTerminationState: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: metav1.NewTime(plugintest.Now), Message: "Startup failed: bootstrap: request canceled because some required nodes are dead: 1"},
	}}}
	return map[string][]client.Object{
		"a dead node":            plugintest.New(4, 1).DownSince(gone, time.Hour).Objects(),
		"a ghost":                plugintest.New(4, 2).DownSince(gone, time.Hour).Leftover(gone),
		"a failed replacement":   plugintest.New(4, 1).Replacing(gone).Exited(gone, 1).Objects(),
		"a newcomer that failed": banned.Objects(),
	}
}

// TestNoHarm13SavedObjectsHaveAnAgeOfTheirOwn: ages count from the newest time in the file, and nothing that cannot be undone rests on a file older than an hour.
func TestNoHarm13SavedObjectsHaveAnAgeOfTheirOwn(t *testing.T) {
	const member = "demo-dc1-rack4-0"
	irreversible := regexp.MustCompile(`delete pvc|delete PVC|delete the Pod's PersistentVolumeClaim|removenode |excludenode|scylla replace (?:resume|[0-9a-f]{8})|--ignore-dead|force-proceed demo`)
	for name, objects := range savedScenes() {
		yaml, zip := plugintest.Save(t, objects), t.TempDir()+"/demo.zip"
		if res := (plugintest.Run{Args: []string{"report", "demo", "-n", "demo", "--archive", zip, "--logs=0"}, Objects: objects}).Do(t); res.Code != 0 {
			t.Fatalf("%+v", res)
		}
		for kind, file := range map[string]string{"YAML": yaml, "archive": zip} {
			t.Run(name+" "+kind, func(t *testing.T) {
				read := func(after time.Duration) (found int, all string) {
					for _, args := range [][]string{
						{"status", "demo", "--all"}, {"status", "demo", "-o", "json"}, {"barrier"}, {"barrier", member}, {"describe", member}, {"report", "demo", "-o", "wide"}, {"report", "demo", "-o", "html"},
						{"replace", "status"}, {"replace", member, "--dry-run=client", "--skip-check=data"}, {"dashboard", "--once"},
					} {
						text := plugintest.Run{Args: append(args, "--from", file), Clock: clocktesting.NewFakeClock(plugintest.Now.Add(after))}.Transcript(t)
						text = strings.ReplaceAll(text, "\\\n", "")
						if said := irreversible.FindAllString(text, -1); len(said) > 0 {
							found++
							all += strings.Join(args, " ") + ": " + strings.Join(said, ", ") + "\n"
						} else if after > time.Hour && !strings.Contains(text, " old") {
							t.Errorf("%v does not say how old the file is:\n%s", args, text)
						}
					}
					return found, all
				}
				if found, _ := read(10 * time.Minute); found == 0 {
					t.Error("a file of ten minutes ago has no step that cannot be undone: this test cannot fail")
				}
				if found, all := read(time.Hour + time.Minute); found > 0 {
					t.Errorf("a file that is older than an hour:\n%s", all)
				}
			})
		}
	}

	renewed := metav1.NewMicroTime(plugintest.Now.Add(-2 * time.Second))
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: "kubectl-scylla", Name: api.LeaseName, Annotations: map[string]string{api.AnnotationKeeps: api.KeepMark("demo", "demo")},
	},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: new("scylla-agent-1"), RenewTime: &renewed, LeaseDurationSeconds: new(int32(15))}}
	week := clocktesting.NewFakeClock(plugintest.Now.Add(7 * 24 * time.Hour))
	for name, tc := range map[string]struct {
		objects []client.Object
		clock   *clocktesting.FakeClock
		want    string
		code    int
	}{
		"a healthy cluster, a week later": {plugintest.New(3, 1).Add(lease).Objects(), week, "HEALTHY", 0},
		"the controller was silent":       {plugintest.New(3, 1).Add(lease, at(plugintest.Now.Add(10*time.Minute))).Objects(), week, "no response from the controller", 3},
		"a node DOWN for twelve seconds":  {plugintest.New(3, 1).Add(lease).DownSince("demo-dc1-rack3-0", 12*time.Second).Objects(), week, "DOWN for 10s", 3},
		"a time that is still to come":    {plugintest.New(3, 1).DownSince("demo-dc1-rack3-0", 12*time.Second).Add(at(plugintest.Now.Add(time.Hour))).Objects(), clocktesting.NewFakeClock(plugintest.Now), "steps that cannot be undone are not shown", 3},
	} {
		res := plugintest.Run{Args: []string{"status", "demo", "--from", plugintest.Save(t, tc.objects)}, Clock: tc.clock}.Do(t)
		if text := strings.Join(strings.Fields(res.Stdout), " "); res.Code != tc.code || !strings.Contains(text, tc.want) || strings.Contains(text, "scylla replace") {
			t.Errorf("%s: exit code %d, want %d with %q:\n%s%s", name, res.Code, tc.code, tc.want, res.Stdout, res.Stderr)
		}
	}

	// A sample is a lesson: all of its steps are to be seen, whatever the year.
	sample := plugintest.Run{Args: []string{"status", "--from", "sample:incident"}, Clock: week}.Do(t)
	if strings.Contains(sample.Stdout+sample.Stderr, "not shown") || strings.Contains(sample.Stderr, " old") {
		t.Errorf("a sample has an age:\n%s%s", sample.Stdout, sample.Stderr)
	}
}

// at is an object of this moment.
func at(moment time.Time) client.Object {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "other", CreationTimestamp: metav1.NewTime(moment)}}
}
