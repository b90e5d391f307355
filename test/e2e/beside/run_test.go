// SPDX-License-Identifier: Apache-2.0

package beside

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/barrier"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/output"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

const (
	first, second, third = "demo-dc1-rack1-0", "demo-dc1-rack2-0", "demo-dc1-rack3-0"
	newcomer             = "demo-dc1-rack1-1"
	remote               = "demo-dc2-rack1-0"
)

// Output of the query of a data directory.
const (
	queryNothing        = "[]"
	queryCompleted      = `[{"bootstrapped":"COMPLETED"}]`
	queryNo             = `[{"bootstrapped":"NEEDS_BOOTSTRAP"}]`
	queryFailed         = "not JSON"
	queryDecommissioned = `[{"bootstrapped":"DECOMMISSIONED"}]`
)

// Answers of our barrier other than open and wait, and of the plugin for a member where only its Pod could tell more.
const (
	refuses Answer = "refuses"
	unsure  Answer = "is unsure"
)

// objects are those of one namespace, with the reports that the operator's controller has written.
type objects struct {
	t   *testing.T
	all []client.Object
}

func find[T client.Object](o *objects, name string) T {
	for _, x := range o.all {
		if v, is := x.(T); is && (x.GetName() == name || strings.HasPrefix(x.GetName(), name) && x.GetLabels()[api.LabelReportSelector] != "") {
			return v
		}
	}
	o.t.Fatalf("no object %s", name)
	panic("not reached")
}

func (o *objects) pod(name string) *corev1.Pod         { return find[*corev1.Pod](o, name) }
func (o *objects) service(name string) *corev1.Service { return find[*corev1.Service](o, name) }
func (o *objects) set(name string) *appsv1.StatefulSet { return find[*appsv1.StatefulSet](o, name) }
func (o *objects) report(name string) *api.ScyllaDBDatacenterNodesStatusReport {
	return find[*api.ScyllaDBDatacenterNodesStatusReport](o, name)
}
func (o *objects) add(more ...client.Object) { o.all = append(o.all, more...) }

func (o *objects) drop(is func(client.Object) bool) { o.all = slices.DeleteFunc(o.all, is) }

func (o *objects) dropPod(name string) {
	o.drop(func(x client.Object) bool { _, is := x.(*corev1.Pod); return is && x.GetName() == name })
}

func (o *objects) dropReports() {
	o.drop(func(x client.Object) bool { _, is := x.(*api.ScyllaDBDatacenterNodesStatusReport); return is })
}

// says sets a Pod's annotation, written some minutes ago.
func (o *objects) says(name, text string) {
	p := o.pod(name)
	p.Annotations = maps.Clone(p.Annotations)
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	p.Annotations[api.AnnotationNodeStatusReport] = text
}

// sees changes one status in a Pod's annotation.
func (o *objects) sees(name, observed, status string) {
	id := `"hostID":"` + plugintest.New(3, 1).Node(observed).HostID + `","status":`
	text := o.pod(name).Annotations[api.AnnotationNodeStatusReport]
	changed := strings.Replace(text, id+`"UP"`, id+`"`+status+`"`, 1)
	if text == changed {
		o.t.Fatalf("%s does not say UP of %s: %s", name, observed, text)
	}
	o.says(name, changed)
}

// assemble writes the local report again, as the operator does where every annotation can be decoded; it is the only report of the datacenter.
func (o *objects) assemble() {
	racks, services, pods := Sort(o.all, "dc1")
	made, err := Assemble("demo-dc1", racks, services, pods)
	if err != nil {
		return
	}
	for _, x := range o.all {
		if r, is := x.(*api.ScyllaDBDatacenterNodesStatusReport); is && r.DatacenterName == "dc1" {
			r.Racks = made
		}
	}
}

// situation is one state of a cluster at a newcomer's barrier.
type situation struct {
	name string
	// cluster changes the cluster of three racks, all joined and UP, with a newcomer in the first; objects changes the operator's objects before it
	// writes its report; after changes them afterwards.
	cluster func(*plugintest.Cluster)
	objects func(*objects)
	after   func(*objects)
	// member is the newcomer, when it is another. query is the answer of the query of its data directory, files are the files in it.
	member, query string
	files         []string
}

func (s *situation) build(t *testing.T) *objects {
	t.Helper()
	c := plugintest.New(3, 1)
	if s.cluster != nil {
		s.cluster(c)
	}
	if c.Service(newcomer) == nil && s.member == "" {
		c.Newcomer("dc1", "rack1", 1)
	}
	mirrored := func(*api.ScyllaDBDatacenterNodesStatusReport) {}
	o := &objects{t: t, all: c.OperatorObjects("dc1", mirrored)}
	for _, x := range o.all {
		if p, is := x.(*corev1.Pod); is {
			set := p.Name[:strings.LastIndexByte(p.Name, '-')]
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: set, UID: o.set(set).UID, Controller: new(true)}}
		}
	}
	if s.objects != nil {
		s.objects(o)
	}
	o.assemble()
	if s.after != nil {
		s.after(o)
	}
	return o
}

// answer is the action of one side, with the reason of its first blocker where it waits or refuses.
type answer struct {
	Answer
	reason words.Code
	text   string
}

// their runs the operator's barrier.
func (s *situation) their(o *objects) Answer {
	var reports []api.ScyllaDBDatacenterNodesStatusReport
	for _, x := range o.all {
		if r, is := x.(*api.ScyllaDBDatacenterNodesStatusReport); is && r.Labels[api.LabelReportSelector] == "demo" {
			reports = append(reports, *r)
		}
	}
	if s.query == queryFailed {
		return Fails
	}
	return Barrier(o.service(s.who()), strings.Contains(s.query, `"COMPLETED"`), reports, s.lenient(o))
}

func (s *situation) who() string {
	if s.member != "" {
		return s.member
	}
	return newcomer
}

func (s *situation) lenient(o *objects) bool {
	for _, c := range o.pod(s.who()).Spec.InitContainers {
		if slices.Contains(c.Command, "--single-report-allow-non-reporting-host-ids=true") {
			return true
		}
	}
	return false
}

// firstLine is a log that ends the barrier at its first line with a reason to wait, and keeps that line.
type firstLine struct {
	stop  context.CancelFunc
	lines *output.Buffer
}

func (f *firstLine) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "waiting: ") {
		f.stop()
	}
	return f.lines.Write(p)
}

// our runs scylla-agent's barrier in the member's Pod, which opens at once where nothing blocks it.
func (s *situation) our(t *testing.T, o *objects) answer {
	t.Helper()
	dir := t.TempDir()
	for _, f := range append([]string{"hints/x"}, s.files...) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, "data", f)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "data", f), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	query := s.query
	if query == "" {
		query = queryNothing
	}
	file := filepath.Join(dir, "query.json")
	for name, text := range map[string]string{file: query, file + ".code": "0\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := plugintest.NewClient(o.all, interceptor.Funcs{})
	log := &firstLine{stop: cancel, lines: &output.Buffer{}}
	pod := o.pod(s.who())
	err := barrier.Run(ctx, barrier.Options{
		Stabilisation: new(time.Duration(0)),
		NewClient:     func() (client.WithWatch, error) { return c, nil }, Namespace: "demo", Service: s.who(), PodUID: pod.UID, QueryFile: file, DataDir: filepath.Join(dir, "data"),
		AllowNonReporting: s.lenient(o), LeaseNamespace: "kubectl-scylla", Image: pod.Spec.Containers[0].Image,
		Ask: func(context.Context, string, string) error { return nil }, Clock: clocktesting.NewFakeClock(plugintest.Now), Log: slog.New(slog.NewJSONHandler(log, nil)),
	})
	got := answer{Answer: Opens, text: log.lines.String()}
	switch {
	case err == nil:
		return got
	case errors.Is(err, context.Canceled):
		got.Answer = Waits
	case exit.Code(err) == exit.CodeUsage:
		got.Answer, got.text = refuses, err.Error()
		got.reason = words.DataDirectoryUnusable
		return got
	default:
		t.Fatalf("the barrier ended: %v\n%s", err, got.text)
	}
	for line := range strings.Lines(got.text) {
		var l struct {
			Msg      string
			Blockers []string
		}
		if json.Unmarshal([]byte(line), &l) == nil && len(l.Blockers) > 0 {
			reason, _, _ := strings.Cut(l.Blockers[0], ":")
			got.reason, got.text = words.Code(reason), strings.Join(l.Blockers, "\n")
		}
	}
	return got
}

// outsider runs the plugin: its answer for the member, and the exit code of status. saved reads the objects from a file, which is no
// proof of absence.
func (s *situation) outsider(t *testing.T, o *objects, saved bool) (answer, plugintest.Result) {
	t.Helper()
	run := func(args ...string) plugintest.Result {
		if saved {
			return plugintest.Run{Args: append(args, "--from", plugintest.Save(t, o.all))}.Do(t)
		}
		return plugintest.Run{Args: append(args, "-n", "demo"), Objects: o.all, Live: nobody}.Do(t)
	}
	said := run("barrier", s.who(), "-o", "json")
	var list struct {
		Items []struct {
			Verdict struct {
				Satisfied bool
				Decision  string
				Summary   struct{ Code words.Code }
				Blockers  []struct{ Reason words.Code }
			}
		}
	}
	if err := json.Unmarshal([]byte(said.Stdout), &list); err != nil || len(list.Items) != 1 {
		t.Fatalf("barrier -o json: %v\n%s%s", err, said.Stdout, said.Stderr)
	}
	doc := list.Items[0]
	got := answer{Answer: Waits, text: said.Stdout}
	switch {
	case doc.Verdict.Satisfied:
		got.Answer = Opens
	case doc.Verdict.Summary.Code == words.StartsAsMemberIfVolumeHolds || doc.Verdict.Summary.Code == words.StartsAsNewIfVolumeIsEmpty:
		got.Answer = unsure
	case doc.Verdict.Decision == "Refuse":
		got.Answer = refuses
	}
	if want := map[bool]int{true: 0, false: 3}[got.Answer == Opens]; said.Code != want {
		t.Errorf("%s, and barrier ended with %d:\n%s%s", got.Answer, said.Code, said.Stdout, said.Stderr)
	}
	if len(doc.Verdict.Blockers) > 0 {
		got.reason = doc.Verdict.Blockers[0].Reason
	}
	return got, run("status", "-o", "wide")
}

// nobody is a cluster whose nodes do not answer.
func nobody(_ context.Context, c *cluster.Cluster, _ kube.LiveOptions) (*cluster.Cluster, error) {
	return c.WithLive(map[string]*api.NodeStatusReport{}, nil, nil), nil
}
