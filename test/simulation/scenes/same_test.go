// SPDX-License-Identifier: Apache-2.0

package scenes_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/support"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/scenes"
)

// TestLiveFileAndArchiveAreOneCluster: the same objects, read from an API server, from a file that kubectl wrote, and from an archive, give the same rows, members,
// health and verdicts, by either source.
func TestLiveFileAndArchiveAreOneCluster(t *testing.T) {
	// Not in parallel: kube.Read limits the heap of the whole process, and other tests here fill it.
	// A file does not record that the right to list Pods was missing: a file without Pods is one in which they were not saved.
	all := slices.DeleteFunc(scenes.All(12), func(s scenes.Scene) bool { return s.Name == "no rights" })
	rapid.Check(t, func(rt *rapid.T) {
		scene := rapid.SampledFrom(all).Draw(rt, "scene")
		objects := damaged(rt, scene.Listed())
		source := rapid.SampledFrom([]cluster.Source{cluster.SourceAuto, cluster.SourceReport, cluster.SourceAnnotation}).Draw(rt, "source")
		key := scene.Objects().Key

		server := fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithReturnManagedFields().WithObjects(objects...).Build()
		read, err := kube.Load(rt.Context(), server, key, kube.Everything(source, "scylla-agent"))
		if err != nil {
			rt.Fatal(err)
		}
		live := cluster.New(read, source, scenes.Now)

		saved, err := kube.Read(bytes.NewReader(plugintest.SavedYAML(t, objects)))
		if err != nil {
			rt.Fatal(err)
		}
		if len(saved) != 1 {
			rt.Fatalf("%d clusters in the file", len(saved))
		}
		same(rt, "file", live, cluster.New(saved[0], source, scenes.Now))

		packed, err := support.Pack([]*support.Cluster{{Snapshot: live}}, scenes.Now, support.Limits{})
		if err != nil {
			rt.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := packed.WriteTo(&b); err != nil {
			rt.Fatal(err)
		}
		opened, err := support.Open(&b)
		if err != nil {
			rt.Fatal(err)
		}
		if err := opened.Use(source); err != nil {
			rt.Fatal(err)
		}
		same(rt, "archive", live, opened.Clusters[0].Snapshot)
	})
}

// damaged removes objects, removes fields that decisions use, and garbles rows.
func damaged(t *rapid.T, objects []client.Object) []client.Object {
	out := make([]client.Object, 0, len(objects))
	for _, o := range objects {
		what := rapid.SampledFrom([]string{"", "", "", "", "", "", "", "gone", "no labels of a place", "no annotations", "not joined", "garbled row"}).Draw(t, o.GetName())
		if what == "gone" && len(objects) > 1 {
			continue
		}
		o = o.DeepCopyObject().(client.Object)
		o.SetResourceVersion("")
		switch what {
		case "no labels of a place":
			labels := o.GetLabels()
			delete(labels, api.LabelRack)
			o.SetLabels(labels)
		case "no annotations":
			o.SetAnnotations(nil)
		case "not joined":
			change(o, api.AnnotationNodeJoined, "false")
		case "garbled row":
			change(o, api.AnnotationNodeStatusReport, `{"observedNodes":7}`)
		}
		out = append(out, o)
	}
	return out
}

func change(o client.Object, key, value string) {
	a := o.GetAnnotations()
	if a[key] != "" {
		a[key] = value
		o.SetAnnotations(a)
	}
}

// same fails unless both clusters agree in everything that a person is shown and a barrier decides by.
func same(t *rapid.T, how string, want, got *cluster.Cluster) {
	t.Helper()
	if diff := cmp.Diff(said(t, want), said(t, got)); diff != "" {
		t.Fatalf("%s (-live +%s):\n%s", how, how, diff)
	}
}

func said(t *rapid.T, c *cluster.Cluster) string {
	verdicts := map[string]any{}
	for _, m := range c.Members() {
		if v, err := bootstrap.VerdictOf(c, m.Member); err == nil {
			verdicts[m.Member] = v
		} else {
			verdicts[m.Member+string(m.HostID)] = err.Error()
		}
	}
	b, err := json.MarshalIndent(map[string]any{
		"source": c.Source, "rows": c.Rows(), "members": c.Members(), "health": bootstrap.HealthOf(c), "verdicts": verdicts,
	}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	// A Pod that a file lacks may not have been saved; one that the API server lacks is gone.
	return strings.NewReplacer("PodNotSaved", "PodGone", " is not among the saved objects", " no longer exists").Replace(string(b))
}

var (
	printed = regexp.MustCompile(`kubectl scylla (?:status|describe|barrier|report|replace status) .*`)
	word    = regexp.MustCompile(`[A-Za-z0-9_./:-]+`)
)

// TestNoStepEndsInACircle: a command that status prints, run on the same objects, shows something that status has not shown.
func TestNoStepEndsInACircle(t *testing.T) {
	const gone = "demo-dc1-rack4-1"
	sources := map[string]plugintest.Run{}
	for _, name := range []string{"healthy", "incident", "partition", "replacement", "multi-dc"} {
		sources["sample "+name] = plugintest.Run{Args: []string{"--from", "sample:" + name}}
	}
	saved := func(name string, objects []client.Object) {
		sources[name] = plugintest.Run{Args: []string{"--from", "-"}, Stdin: string(plugintest.SavedYAML(t, objects))}
	}
	for _, s := range scenes.All(12) {
		saved(s.String(), s.Listed())
	}
	saved("an orphan", plugintest.New(4, 2).DownSince(gone, time.Hour).Leftover(gone))
	saved("an orphan, without member Services", slices.DeleteFunc(plugintest.New(4, 2).DownSince(gone, time.Hour).NoReports().Leftover(gone),
		isService))
	saved("a replacement that failed", plugintest.New(4, 1).Down("demo-dc1-rack3-0").Replacing("demo-dc1-rack3-0").Exited("demo-dc1-rack3-0", 1).Objects())
	saved("no ScyllaDB answers", plugintest.New(3, 1).Down("demo-dc1-rack1-0").Down("demo-dc1-rack2-0").Down("demo-dc1-rack3-0").Objects())
	for name, run := range sources {
		t.Run(name, func(t *testing.T) {
			from := run.Args
			run.Args = append([]string{"status"}, from...)
			first := run.Do(t).Stdout
			joined := strings.ReplaceAll(first, "\\\n", "")
			shown := map[string]bool{}
			for _, w := range word.FindAllString(joined, -1) {
				shown[w] = true
			}
			for _, command := range printed.FindAllString(joined, -1) {
				args := strings.Fields(command)[2:]
				if slices.Contains(args, "live") {
					continue // it queries the running nodes
				}
				if !slices.Contains(args, "--from") {
					args = append(args, from...)
				}
				run.Args = args
				got := run.Do(t)
				if fresh := slices.ContainsFunc(word.FindAllString(got.Stdout, -1), func(w string) bool { return !shown[w] }); !fresh || got.Code == 1 || got.Code == 2 {
					t.Errorf("%s: exit %d, nothing new after status\n%s%s", command, got.Code, got.Stdout, got.Stderr)
				}
			}
		})
	}
}

func isService(o client.Object) bool { _, is := o.(*corev1.Service); return is }
