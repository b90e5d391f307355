// SPDX-License-Identifier: Apache-2.0

// Package samples makes the archives of docs/samples from simulated clusters, with the users' command: kubectl scylla report --archive.
package samples

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/kubectl-scylla/kubectl-scylla/docs/samples"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/internal/support"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation"
)

// most bytes that all samples together may take in the plugin.
const most = 200 << 10

// dead is the member whose node dies in two of the stories.
const dead = "demo-dc1-rack3-0"

// stories are what the samples are the end of. The nodes join one after the other, a day passes, and then something happens.
func stories(t *testing.T) map[string]*simulation.Story {
	t.Helper()
	const since = 20 * time.Minute // all have joined by then
	story := func(lasts time.Duration, sets ...[]*appsv1.StatefulSet) *simulation.Story {
		return &simulation.Story{
			Sets: slices.Concat(sets...), HostID: plugintest.HostID, Lasts: since + lasts,
			Acts: []simulation.Act{{At: since - time.Minute, Do: simulation.Play.ADayLater}},
		}
	}
	act := func(s *simulation.Story, after time.Duration, do func(simulation.Play)) {
		s.Acts = append(s.Acts, simulation.Act{At: since + after, Do: do})
	}
	all := map[string]*simulation.Story{
		"healthy":     story(5*time.Minute, sets(t, "dc1", 1)),
		"incident":    story(8*time.Minute, sets(t, "dc1", 1)),
		"partition":   story(9*time.Minute, sets(t, "eu-central-1", 1), sets(t, "us-east-1", 1)),
		"replacement": story(20*time.Minute, sets(t, "dc1", 1)),
		"multi-dc":    story(5*time.Minute+14*time.Second, sets(t, "eu-central-1", 2), sets(t, "us-east-1", 1)),
	}
	act(all["incident"], 2*time.Minute, func(p simulation.Play) { p.BreakDisk(dead) })
	act(all["incident"], 6*time.Minute, func(p simulation.Play) { p.Scale("demo-dc1-rack2") })
	act(all["partition"], 5*time.Minute, func(p simulation.Play) { p.CutOff("us-east-1") })
	act(all["multi-dc"], 5*time.Minute, func(p simulation.Play) { p.Scale("demo-us-east-1-rack1") })
	// The Kubernetes node of a member is lost. While the new node streams, another one is restarted: ScyllaDB rolls the replacement back.
	replaced := all["replacement"]
	act(replaced, 2*time.Minute, func(p simulation.Play) { p.LoseMachine(dead) })
	act(replaced, 8*time.Minute, func(p simulation.Play) { p.Replace(dead, "6f1c8d3e-52b7-4a0e-9c41-7d2f8e5b9a10") })
	act(replaced, 9*time.Minute, func(p simulation.Play) { p.DeleteMachine(dead) })
	act(replaced, 9*time.Minute, func(p simulation.Play) { p.RestartWhileReplacing("demo-dc1-rack1-0") })
	return all
}

// sets are the StatefulSets of docs/examples in a datacenter, as inject prints them.
func sets(t *testing.T, datacenter string, members int32) []*appsv1.StatefulSet {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "examples", "scylladb.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	manifest := strings.NewReplacer("orders", "demo", "dc1", datacenter).Replace(string(b))
	r := plugintest.Run{Args: []string{"inject", "-f", "-", "--image", "registry.example.com/scylla-agent:v1.0.0"}, Stdin: manifest}.Do(t)
	if r.Code != 0 {
		t.Fatalf("inject: exit code %d\n%s", r.Code, r.Stderr)
	}
	objects, err := manifests.Decode(strings.NewReader(r.Stdout))
	if err != nil {
		t.Fatal(err)
	}
	var out []*appsv1.StatefulSet
	for _, o := range objects {
		if o.GetKind() != "StatefulSet" {
			continue
		}
		s := &appsv1.StatefulSet{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, s); err != nil {
			t.Fatal(err)
		}
		s.Spec.Replicas = &members
		out = append(out, s)
	}
	return out
}

// TestSamplesAreCurrent makes each sample anew. With -update it writes them.
func TestSamplesAreCurrent(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "docs", "samples")
	total := 0
	told := stories(t)
	for _, s := range samples.All() {
		made := filepath.Join(t.TempDir(), s.Name+".zip")
		end := simulation.Tell(told[s.Name])
		r := plugintest.Run{
			Args: []string{"report", "demo", "-n", "demo", "--archive", made, "--logs=0"}, Objects: end.Objects, Clock: clocktesting.NewFakeClock(end.At), Logs: end.Logs,
		}.Do(t)
		if r.Code != 0 {
			t.Fatalf("%s: exit code %d\n%s%s", s.Name, r.Code, r.Stdout, r.Stderr)
		}
		b, err := os.ReadFile(made)
		if err != nil {
			t.Fatal(err)
		}
		kept := filepath.Join(dir, s.Name+".zip")
		if plugintest.Updating() {
			if err := os.WriteFile(kept, b, 0o644); err != nil { //nolint:gosec // a sample is for everybody
				t.Fatal(err)
			}
		}
		have, err := os.ReadFile(kept)
		if err != nil {
			t.Fatalf("%v: run `make samples`", err)
		}
		total += len(have)
		if diff := cmp.Diff(contents(t, have), contents(t, b)); diff != "" {
			t.Errorf("%s is not what the plugin makes (-have +made), run `make samples`:\n%s", kept, diff)
		}
	}
	if total > most {
		t.Errorf("the samples are %d bytes, more than %d", total, most)
	}
}

// contents are the saved objects of an archive, without the page and the manifest, which contain the build's version.
func contents(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range r.File {
		if f.Name == "report.html" || f.Name == "manifest.json" {
			continue
		}
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		all[f.Name] = string(b)
	}
	return all
}

// TestEverySampleShowsWhatItSays opens each from inside the plugin, without any API server, long after it was saved.
func TestEverySampleShowsWhatItSays(t *testing.T) {
	tests := map[string]struct {
		code int
		says string
	}{
		"healthy: status":   {0, "HEALTHY demo/demo: 3 of 3 nodes seen UP"},
		"incident: barrier": {3, "demo-dc1-rack2-1"},
		"incident: replace demo-dc1-rack3-0 --dry-run --skip-check=data": {0, "17 of 18 checks passed, 1 skipped on request."},
		"partition: status":           {3, "NOT HEALTHY demo/demo"},
		"replacement: replace status": {3, "Failed demo/demo-dc1-rack3-0"},
		"replacement: replace resume demo-dc1-rack3-0 --dry-run --skip-check=data": {0, "17 of 18 checks passed, 1 skipped on request."},
		"multi-dc: dashboard": {0, "us-east-1"},
	}
	later := clocktesting.NewFakeClock(plugintest.Now.AddDate(1, 0, 0))
	open := func(sample string, args ...string) plugintest.Result {
		return plugintest.Run{Args: append(args, "--from", samples.Prefix+sample), Clock: later}.Do(t)
	}
	for _, s := range samples.All() {
		t.Run(s.Name, func(t *testing.T) {
			for _, try := range s.Try {
				tt, ok := tests[s.Name+": "+try]
				if !ok {
					t.Fatalf("no case for the sample's own command %q", try)
				}
				args := strings.Fields(try)
				if try == "dashboard" {
					args = append(args, "--once")
				}
				if r := open(s.Name, args...); r.Code != tt.code || !strings.Contains(r.Stdout, tt.says) {
					t.Errorf("%s: exit code %d, want %d and %q in:\n%s%s", try, r.Code, tt.code, tt.says, r.Stdout, r.Stderr)
				}
			}
			for _, verb := range [][]string{
				{"status"}, {"barrier"}, {"replace", "status"}, {"report"}, {"report", "-o", "html"}, {"dashboard", "--once"},
			} {
				r := open(s.Name, verb...)
				if r.Code != 0 && r.Code != 3 {
					t.Errorf("%v: exit code %d\n%s", verb, r.Code, r.Stderr)
				}
				if old := regexp.MustCompile(`\b36\dd`).FindString(r.Stdout); old != "" {
					t.Errorf("%v counts an age, %s, to now and not to when the sample was saved:\n%s", verb, old, r.Stdout)
				}
			}
		})
	}
	// What no saved objects say is the only check that a person has to skip.
	for sample, args := range map[string][]string{"incident": {"replace", dead, "--dry-run"}, "replacement": {"replace", "resume", dead, "--dry-run"}} {
		if r := open(sample, args...); r.Code != 2 || !strings.Contains(r.Stderr, "refused by 1 check: data") {
			t.Errorf("%s of sample %s: exit code %d\n%s%s", args, sample, r.Code, r.Stdout, r.Stderr)
		}
	}
}

// TestSamplesAreWhole: they have what our controller and Kubernetes write, so that no finding in them is one of how they were made.
func TestSamplesAreWhole(t *testing.T) {
	permits := 0
	for _, s := range samples.All() {
		f, err := samples.Open(samples.Prefix + s.Name)
		if err != nil {
			t.Fatal(err)
		}
		saved, err := support.Open(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range saved.Snapshots() {
			if r := c.StatusReport; r == nil || !r.Status.Initialized || r.Status.View == nil || r.Status.View.Policy != api.PolicyPermits {
				t.Errorf("%s: cluster report %+v: want it initialized, with a view", s.Name, r)
				continue
			}
			permits += len(c.StatusReport.Status.View.Permits)
			for i := range c.Pods {
				p := &c.Pods[i]
				if metav1.GetControllerOf(p) == nil || !slices.ContainsFunc(c.PVCs, func(v corev1.PersistentVolumeClaim) bool { return v.Name == "data-"+p.Name }) {
					t.Errorf("%s: Pod %s has no owner or no claim", s.Name, p.Name)
				}
			}
		}
	}
	if permits == 0 {
		t.Error("no sample shows a permit")
	}
}
