// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// Saved objects show what the API server shows, from a file, standard input and an archive, but for ages and the word that says so.
func TestSavedObjectsShowTheSame(t *testing.T) {
	for name, objects := range map[string][]client.Object{
		"healthy": healthy().Objects(), "down": demoDown().Objects(), "operator": demoDown().Operator().Objects(), "a failed replacement": failedReplacement().Objects(),
		"a ghost": append(ghost(), claimed(), &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "of-another"}}),
	} {
		t.Run(name, func(t *testing.T) {
			live := plugintest.Run{Args: []string{"status", "-o", "json", "-n", "demo", "demo"}, Objects: objects}.Do(t)
			archive, yaml := filepath.Join(t.TempDir(), "demo.zip"), string(plugintest.SavedYAML(t, objects))
			if res := (plugintest.Run{Args: []string{"report", "demo", "-n", "demo", "--archive", archive}, Objects: objects}).Do(t); res.Code == 1 {
				t.Fatalf("exit %d\n%s", res.Code, res.Stderr)
			}
			for _, from := range []string{plugintest.Save(t, objects), "-", archive} {
				if name == "a ghost" && from != archive {
					continue // a file may lack its volume
				}
				saved := plugintest.Run{Args: []string{"status", "-o", "json", "--from", from}, Stdin: yaml}.Do(t)
				if live.Code != saved.Code || saved.Stderr != "" && from != archive {
					t.Errorf("%s: exit %d live, %d saved; stderr %q", from, live.Code, saved.Code, saved.Stderr)
				}
				if diff := cmp.Diff(facts(t, live.Stdout), facts(t, plugintest.WithoutFrom(saved.Stdout))); diff != "" {
					t.Errorf("%s (-live +saved):\n%s", from, diff)
				}
			}
		})
	}
}

// facts is a document without what tells when and how it was read.
func facts(t *testing.T, document string) map[string]any {
	t.Helper()
	var list struct{ Items []map[string]any }
	if err := json.Unmarshal([]byte(document), &list); err != nil || len(list.Items) != 1 {
		t.Fatalf("%v in %s", err, document)
	}
	m := list.Items[0]
	for _, k := range []string{"takenAt", "generatedAt", "source", "notes"} {
		delete(m, k)
	}
	return m
}

// TestSavedKubernetesNodes: in a file, one that is missing may only not have been saved; an archive has what the API server answered.
func TestSavedKubernetesNodes(t *testing.T) {
	objects := pending(onlyDown("demo-dc1-rack3-0", "disk")).Objects()
	archive := filepath.Join(t.TempDir(), "demo.zip")
	plugintest.Run{Args: []string{"report", "demo", "-n", "demo", "--archive", archive}, Objects: objects}.Do(t)
	for from, gone := range map[string]bool{plugintest.Save(t, objects): false, archive: true} {
		got := flat(plugintest.Run{Args: []string{"status", "--all", "--from", from}}.Transcript(t))
		if strings.Contains(got, "kubectl scylla replace 3") != gone || strings.Contains(got, "kubectl get nodes") == gone {
			t.Errorf("want it gone: %t, in\n%s", gone, got)
		}
	}
}

// A removal bans a host ID for good, and a PVC without a member may have its data: of objects that were saved without PVCs, or without that of a member, nothing names one.
func TestNoRemovalByObjectsWithoutPVCs(t *testing.T) {
	const member = "demo-dc1-rack4-0"
	for want, objects := range map[string][]client.Object{
		"the PersistentVolumeClaims were not read": ghost(),
		"do not remove: it may be the node of " + member: append(plugintest.New(4, 2).DownSince(member, time.Hour).Leftover(member), claimed(),
			&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "of-another"}}),
		"check that no PersistentVolume is kept for the PVC of a former member": append(ghost(), claimed(), &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "of-another"}}),
	} {
		got := flat(plugintest.Run{Args: []string{"status", "--all", "--from", "-"}, Stdin: string(plugintest.SavedYAML(t, objects))}.Transcript(t))
		if !strings.Contains(got, want) || strings.Contains(got, "removenode") != strings.HasPrefix(want, "check") {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
}

// claimed is a member's PVC: without one in the file nobody knows that the PVCs were saved.
func claimed() client.Object {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "demo", Name: "data-demo-dc1-rack1-0", Labels: map[string]string{api.LabelCluster: "demo"}}}
}

// savedScenes are clusters for which some verb names a step that cannot be undone.
func savedScenes() map[string][]client.Object {
	const gone = "demo-dc1-rack4-0"
	banned := exited(1, "Startup failed: bootstrap: request canceled because some required nodes are dead: 1")
	return map[string][]client.Object{
		"a dead node":            plugintest.New(4, 1).DownSince(gone, time.Hour).Objects(),
		"a ghost":                append(plugintest.New(4, 2).DownSince("demo-dc1-rack4-1", time.Hour).Leftover("demo-dc1-rack4-1"), claimed()),
		"a failed replacement":   plugintest.New(4, 1).Replacing(gone).Exited(gone, 1).Objects(),
		"a newcomer that failed": joining(corev1.ContainerState{}, banned).Objects(),
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
					for _, args := range []string{
						"status demo --all", "status demo -o json", "barrier", "barrier " + member, "describe " + member, "report demo -o wide", "report demo -o html",
						"replace status", "replace " + member + " --dry-run=client --skip-check=data", "dashboard --once",
					} {
						text := plugintest.Run{Args: append(strings.Fields(args), "--from", file), Clock: clocktesting.NewFakeClock(plugintest.Now.Add(after))}.Transcript(t)
						text = strings.ReplaceAll(text, "\\\n", "")
						if said := irreversible.FindAllString(text, -1); len(said) > 0 {
							found++
							all += args + ": " + strings.Join(said, ", ") + "\n"
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

	lease := controllerLease(2*time.Second, api.AnnotationKeeps)
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

// Each --from adds its objects, as the must-gather of each datacenter: equal objects count once, and one that differs is named. What was saved at different times
// gives no step that cannot be undone, and printed commands read all files again.
func TestSeveralFiles(t *testing.T) {
	t.Parallel()
	objects := func(ours bool) []client.Object {
		return slices.DeleteFunc(down().Objects(), func(o client.Object) bool {
			_, report := o.(*api.ScyllaDBDatacenterNodesStatusReport)
			return !report && strings.HasPrefix(o.GetName(), "demo-dc1-rack3") == ours
		})
	}
	changed := edit(objects(false), "", func(r *api.ScyllaDBDatacenterNodesStatusReport) { r.Racks = r.Racks[:1] })
	copied := edit(objects(false), "", func(r *api.ScyllaDBDatacenterNodesStatusReport) {
		r.Name, r.Racks = "copy", r.Racks[:1]
		r.Labels = map[string]string{api.LabelReportSelector: r.Labels[api.LabelReportSelector], api.LabelRemoteReport: "true"}
	})
	for name, tc := range map[string]struct {
		other []client.Object
		code  int
		has   []string
		not   string
	}{
		"the other members":         {objects(false), 3, []string{"2 of 3 nodes seen UP by all", "demo-dc1-rack3-0 DOWN", "steps that cannot be undone are not shown"}, "Members without a Pod"},
		"the same file again":       {objects(true), 3, []string{"2 of 3 nodes seen UP by all"}, ""},
		"a report that differs":     {changed, 1, []string{"a.yaml and ", "ScyllaDBDatacenterNodesStatusReport demo/demo-dc1 is in both, and differs"}, ""},
		"a copy of the report":      {copied, 3, []string{"2 of 3 nodes seen UP by all"}, ""},
		"a cluster of another name": {plugintest.NewNamed("shop", "carts", "dc1", 1, 2).Objects(), 3, []string{"demo ", "shop ", "carts "}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := filepath.Join(t.TempDir(), "a.yaml"), filepath.Join(t.TempDir(), "b.yaml")
			for file, list := range map[string][]client.Object{a: objects(true), b: tc.other} {
				if err := os.WriteFile(file, plugintest.SavedYAML(t, list), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r := plugintest.Run{Args: []string{"status", "--from", a, "--from", b}, Environ: []string{"NO_COLOR=1"}}.Do(t)
			text := r.Stdout + r.Stderr
			for _, want := range tc.has {
				if !strings.Contains(text, want) {
					t.Errorf("%q is missing", want)
				}
			}
			if t.Failed() || r.Code != tc.code || tc.not != "" && strings.Contains(text, tc.not) {
				t.Errorf("exit code %d:\n%s", r.Code, text)
			}
			for line := range strings.Lines(text) {
				if strings.Contains(line, "kubectl scylla describe") && !strings.Contains(line, "--from "+a+" --from "+b) {
					t.Errorf("it reads other objects: %s", line)
				}
			}
		})
	}
}
