// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster/image"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/plane"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// The dashboard as a person has it: the real binary in a real terminal against a real API server, which then goes away and comes back.
func TestDashboardInATerminal(t *testing.T) {
	covers(t, "internal/diagnosis", "internal/show/dashboard", "plugin/dashboard")
	t.Parallel()
	pods(t, 4)
	if testing.Short() {
		t.Skip("short: a real API server is left out")
	}
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("tmux is missing: the dashboard is not tried in a real terminal")
	}
	ctx, cancel := context.WithTimeout(t.Context(), wholeTest)
	defer cancel()
	binary := filepath.Join(t.TempDir(), "kubectl-scylla")
	if err := image.BuildBinary(ctx, "../..", "./cmd/kubectl-scylla", binary); err != nil {
		t.Fatal(err)
	}
	p := plane.Start(t)
	s := &stagedCluster{t: t, ctx: ctx}
	s.connect(p.RESTConfig())
	s.install(p.RESTConfig())
	world := plugintest.New(3, 1)
	s.apply(world)

	term := &terminal{t: t, ctx: ctx, tmux: tmux, socket: filepath.Join(t.TempDir(), "tmux")}
	term.start(80, 24, append(p.KubectlEnviron(), "KUBECONFIG="+p.Kubeconfig()), binary+" dashboard -n demo")
	term.shows("the healthy cluster", "✓ HEALTHY demo/demo: 3 of 3 nodes seen UP by all")
	term.golden("dashboard_healthy.txt")

	// A node goes down and a newcomer waits: no key is pressed.
	since := time.Now().Add(-12 * time.Second)
	world.Sees("demo-dc1-rack1-0", "demo-dc1-rack3-0", api.NodeStatusDown, since)
	world.Sees("demo-dc1-rack2-0", "demo-dc1-rack3-0", api.NodeStatusDown, since)
	newcomer := world.Newcomer("dc1", "rack2", 1)
	s.apply(world)
	term.shows("the node that is down", "NOT HEALTHY", "✗ demo-dc1-rack1-0 sees demo-dc1-rack3-0 DOWN", "seen DOWN 2/2")
	term.keys("n")
	term.shows("the member that waits", "▶3 demo-dc1-rack2-1")
	term.keys("Up")
	term.shows("the pair of the next observer", "✗ demo-dc1-rack2-0 sees demo-dc1-rack3-0 DOWN")
	term.golden("dashboard_down.txt")
	term.keys("Tab", "Tab")
	term.shows("the findings", "• 2 nodes see demo-dc1-rack3-0 DOWN", "▶ demo-dc1-rack2-1 waiting for")
	term.keys("Tab")
	term.shows("the changes", "NOT HEALTHY, was HEALTHY", "demo-dc1-rack3-0 DOWN (was UP) by demo-dc1-rack1-0, demo-dc1-rack2-0", newcomer+" is new: Newcomer")
	term.keys("Escape")
	term.shows("the matrix again", "observed demo-dc1-rack3-0")
	term.keys("/", "rack2-0", "Enter")
	term.shows("the filter", "/rack2-0 (1 by 3)")
	term.keys("Escape")
	term.hides("/rack2-0 (")
	term.keys("?")
	term.shows("help", "Keys", "force-proceed")
	term.keys("Escape")
	term.shows("the matrix after help", "Who sees whom")
	term.resize(40, 12)
	term.shows("the smallest screen", "Detail", "Who sees whom", " lines")
	term.golden("dashboard_small.txt")
	term.resize(30, 8)
	term.shows("a screen that is too small", "30x8 is too small", "NOT HEALTHY")
	term.resize(120, 40)
	term.shows("a large screen", "Findings", "Changes", "│ ✗ demo-dc1-rack2-0 sees demo-dc1-rack3-0 DOWN")
	term.resize(80, 24)
	term.shows("the screen as before", "q quit")

	term.keys("z")
	term.shows("racks", "Who sees whom by rack")
	term.keys("z")
	term.shows("nodes", "▶2 demo-dc1-rack2-0")

	// The page of the node in trouble, of the other one, and a command that has the terminal for itself.
	term.keys("Enter")
	term.shows("the page of the node", "demo/demo-dc1-rack3-0: ", "Seen by:         DOWN", "esc back")
	term.keys("Tab")
	term.shows("the page of the other", "demo/demo-dc1-rack2-0: ", "It sees:         DOWN")
	term.keys("t")
	term.shows("the command's end", "$ kubectl scylla nodetool demo-dc1-rack2-0 -n demo -- status", "Press Enter to return to the dashboard")
	term.keys("Enter")
	term.shows("the page again", "demo/demo-dc1-rack2-0: ", "esc back")
	term.keys("Escape")
	term.shows("the matrix after the page", "▶2 demo-dc1-rack2-0")

	// The command asks as it does on a command line; another answer changes nothing.
	term.keys("f")
	term.shows("the choice", "force-proceed: which node?", newcomer)
	term.keys("Enter")
	term.shows("the command's question", "$ kubectl scylla force-proceed "+newcomer+" -n demo", `Type "yes" to continue`)
	term.keys("no", "Enter")
	term.shows("the refusal", "not confirmed: nothing was changed", "Press Enter to return to the dashboard")
	if v := s.service(newcomer).Annotations[api.AnnotationForceProceed]; v != "" {
		t.Errorf("the answer was no, and the Service is annotated with %q", v)
	}
	term.keys("Enter")
	term.shows("the dashboard again", "force-proceed "+newcomer+": not confirmed", "Who sees whom")
	term.keys("f", "Enter")
	term.shows("the command's question again", `Type "yes" to continue`)
	term.keys("yes", "Enter")
	term.shows("the command's end", "service/"+newcomer+" annot") // the line may end here: the answer can come before the question
	if v := s.service(newcomer).Annotations[api.AnnotationForceProceed]; v != api.ForceProceedValue {
		t.Errorf("the Service of the forced member is annotated with %q", v)
	}
	term.keys("Enter")
	term.shows("the dashboard after the force", "Who sees whom", "force-proceed "+newcomer+": done")
	term.shows("the newcomer that may start", "may start: it is")

	// The API server dies: the screen must say so by itself, keep what was known, and refuse to act on it.
	if err := p.KillAPIServer(); err != nil {
		t.Fatal(err)
	}
	term.shows("the lost connection", "CONNECTION LOST since", "LAST KNOWN: NOT HEALTHY", "✗")
	term.hides("force-proceed " + newcomer + ": done") // a note goes by itself
	term.golden("dashboard_lost.txt")
	term.keys("f")
	term.shows("the refusal to act", "not now: the screen is out of date")
	if err := p.StartAPIServer(ctx); err != nil {
		t.Fatal(err)
	}
	term.shows("the connection again", "✗ NOT HEALTHY")
	term.hides("CONNECTION LOST")

	// It hangs: no connection breaks, nothing arrives.
	if err := p.PauseAPIServer(); err != nil {
		t.Fatal(err)
	}
	term.shows("the API server that hangs", "CONNECTION LOST since")
	if err := p.ResumeAPIServer(); err != nil {
		t.Fatal(err)
	}
	term.hides("CONNECTION LOST")

	term.keys("q")
	term.shows("the end", "exit code 0")
	if screen := term.screen(); strings.Contains(screen, "Who sees whom") {
		t.Errorf("the dashboard has left its screen behind:\n%s", screen)
	}
	term.run(binary + " dashboard -n demo --once --width 80 --height 24 >/dev/null")
	term.shows("one frame's exit code", "exit code 3")
	term.run(binary + " dashboard -n demo | cat")
	term.shows("no terminal", "the dashboard requires a terminal")
	term.run(binary + " dashboard -n demo")
	term.shows("the dashboard once more", "NOT HEALTHY")
	term.keys("C-c")
	term.shows("the interrupt", "interrupted", "exit code 130")
}

// stagedCluster writes the objects of a cluster to an API server without Kubernetes nodes.
type stagedCluster struct {
	t   *testing.T
	ctx context.Context
	c   client.WithWatch
}

func (s *stagedCluster) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stagedCluster) connect(cfg *rest.Config) {
	s.t.Helper()
	c, err := kube.NewClient(cfg)
	s.must(err)
	s.c = c
}

// install makes the kinds known and the namespace.
func (s *stagedCluster) install(cfg *rest.Config) {
	s.t.Helper()
	objects, err := manifests.Objects(manifests.Options{})
	s.must(err)
	plain, err := client.New(cfg, client.Options{})
	s.must(err)
	for _, o := range objects {
		if o.GetKind() == "CustomResourceDefinition" {
			s.must(plain.Create(s.ctx, o))
		}
	}
	s.must(s.c.Create(s.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}))
	s.must(cluster.WaitFor(s.ctx, "the kinds to be served and the default service account", 100*time.Millisecond, func(ctx context.Context) (bool, string, error) {
		if err := s.c.List(ctx, &api.ScyllaDBDatacenterNodesStatusReportList{}, client.InNamespace("demo")); err != nil {
			return false, "", err
		}
		err := s.c.Get(ctx, client.ObjectKey{Namespace: "demo", Name: "default"}, &corev1.ServiceAccount{})
		return err == nil, "", err
	}))
}

// apply makes the objects as they are in world. StatefulSets are left out: their controller would make and remove Pods by itself.
func (s *stagedCluster) apply(world *plugintest.Cluster) {
	s.t.Helper()
	for _, o := range world.Objects() {
		if _, ok := o.(*appsv1.StatefulSet); ok {
			continue
		}
		o, ok := o.DeepCopyObject().(client.Object)
		if !ok {
			s.t.Fatalf("%T is no object", o)
		}
		o.SetManagedFields(nil)
		o.SetUID("")
		pod, isPod := o.(*corev1.Pod)
		var status corev1.PodStatus
		if isPod {
			status = pod.Status
			complete(pod)
		}
		old, ok := o.DeepCopyObject().(client.Object)
		if !ok {
			s.t.Fatalf("%T is no object", o)
		}
		switch err := s.c.Get(s.ctx, client.ObjectKeyFromObject(o), old); {
		case apierrors.IsNotFound(err):
			s.must(s.c.Create(s.ctx, o))
		case err != nil:
			s.t.Fatal(err)
		case isPod:
			old.SetAnnotations(o.GetAnnotations())
			s.must(s.c.Update(s.ctx, old))
			o = old
		default:
			o.SetResourceVersion(old.GetResourceVersion())
			s.must(s.c.Update(s.ctx, o))
		}
		if isPod {
			p, ok := o.(*corev1.Pod)
			if !ok {
				s.t.Fatalf("%T is no Pod", o)
			}
			p.Status = status
			s.must(s.c.Status().Update(s.ctx, p))
		}
	}
}

// complete adds what a real API server insists on, and keeps the scheduler away.
func complete(pod *corev1.Pod) {
	pod.Spec.NodeName, pod.Spec.SchedulerName = "", "nobody"
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if list[i].Image == "" {
				list[i].Image = "localhost/none:none"
			}
		}
	}
}

func (s *stagedCluster) service(name string) *corev1.Service {
	s.t.Helper()
	svc := &corev1.Service{}
	s.must(s.c.Get(s.ctx, client.ObjectKey{Namespace: "demo", Name: name}, svc))
	return svc
}

// terminal is a real one, without a person.
type terminal struct {
	t            *testing.T
	ctx          context.Context
	tmux, socket string
	environ      []string
}

func (x *terminal) command(args ...string) string {
	x.t.Helper()
	cmd := exec.CommandContext(x.ctx, x.tmux, append([]string{"-u", "-S", x.socket}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		x.t.Fatalf("tmux %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// start runs a shell line in a terminal of the size; its exit code is printed when it ends.
func (x *terminal) start(width, height int, environ []string, line string) {
	x.t.Helper()
	config := x.socket + ".conf"
	if err := os.WriteFile(config, []byte("set -g status off\nset -g remain-on-exit on\nset -s escape-time 20\nset -g default-terminal tmux-256color\n"), 0o600); err != nil {
		x.t.Fatal(err)
	}
	x.environ = append([]string{"LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TZ=UTC"}, environ...)
	x.command("-f", config, "new-session", "-d", "-s", "main", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), x.shell(line))
	x.t.Cleanup(func() {
		// The context of the test has ended by now.
		_ = exec.Command(x.tmux, "-S", x.socket, "kill-server").Run()
	})
}

func (x *terminal) shell(line string) string {
	return "env " + strings.Join(x.environ, " ") + " sh -c '" + line + "'; echo exit code $?; exec sleep 100000"
}

// run begins a new command line in the same terminal.
func (x *terminal) run(line string) {
	x.t.Helper()
	x.command("respawn-pane", "-k", "-t", "main", x.shell(line))
}

func (x *terminal) keys(keys ...string) {
	x.t.Helper()
	x.command(append([]string{"send-keys", "-t", "main"}, keys...)...)
}

func (x *terminal) resize(width, height int) {
	x.t.Helper()
	x.command("resize-window", "-t", "main", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height))
}

func (x *terminal) screen() string {
	x.t.Helper()
	return x.command("capture-pane", "-p", "-t", "main")
}

// shows waits until the screen holds all the texts.
func (x *terminal) shows(what string, texts ...string) { x.t.Helper(); x.until(what, true, texts) }

// hides waits until the screen holds none of the texts.
func (x *terminal) hides(texts ...string) { x.t.Helper(); x.until("their end", false, texts) }

func (x *terminal) until(what string, want bool, texts []string) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.ctx, patience)
	defer cancel()
	var screen string
	err := cluster.WaitFor(ctx, what, 100*time.Millisecond, func(context.Context) (bool, string, error) {
		screen = x.screen()
		for _, text := range texts {
			if strings.Contains(screen, text) != want {
				return false, fmt.Sprintf("%q: found %v", text, !want), nil
			}
		}
		return true, "", nil
	})
	if err != nil {
		x.t.Fatalf("%v\n%s", err, screen)
	}
	if testing.Verbose() {
		x.t.Logf("%s:\n%s", what, screen)
	}
}

// times and what else differs from run to run.
var (
	anyAge   = regexp.MustCompile(`\b\d+(ms|s|m|h|d)(\d+(s|m|h))?\b`)
	anyClock = regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`)
	anyPort  = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	// Where a line is cut depends on how long its age is written.
	// How many lines are left over depends on where the ages before them are wrapped.
	anyMore = regexp.MustCompile(`\+[0-9]+ lines?`)
	anyCut  = regexp.MustCompile(`(new node waiting for AGE)[:…].*`)
	// Several writes are one change or several, as they come.
	anyCount = regexp.MustCompile(`Changes \d+ ?─*`)
)

// golden compares the whole screen, times aside, once it stands: a terminal is drawn in pieces.
func (x *terminal) golden(name string) {
	x.t.Helper()
	want, _ := os.ReadFile(filepath.Join("testdata", name)) // Golden says it when there is none
	ctx, cancel := context.WithTimeout(x.ctx, time.Minute)
	defer cancel()
	var last string
	update := flag.Lookup("update").Value.String() == "true"
	err := cluster.WaitFor(ctx, "the screen of "+name, 500*time.Millisecond, func(context.Context) (bool, string, error) {
		text := anyMore.ReplaceAllString(anyCount.ReplaceAllString(x.screen(), "Changes N "), "+N lines")
		text = anyPort.ReplaceAllString(anyClock.ReplaceAllString(anyAge.ReplaceAllString(text, "AGE"), "TIME"), "SERVER")
		text = anyCut.ReplaceAllString(text, "$1")
		stands := text == last
		last = text
		return text == string(want) || update && stands, "", nil
	})
	if err != nil && ctx.Err() == nil {
		x.t.Fatal(err)
	}
	plugintest.Golden(x.t, name, last)
}
