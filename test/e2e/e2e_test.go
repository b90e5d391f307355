// SPDX-License-Identifier: Apache-2.0

// Package e2e proves the product's promises on a real Kubernetes: real kubelets run the real images, agents use their own ServiceAccounts'
// tokens, ScyllaDB is simulated but keeps its rules, and faults come from outside.
package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/images"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/scenario"
)

// The boundary of replacements: the last versions that replace nodes by address, and the first that replace them by host ID.
const (
	lastByAddress           = "5.1.18"
	firstByHostID           = "5.2.0"
	lastEnterpriseByAddress = "2022.2.14"
	firstEnterpriseByHostID = "2023.1.0"
)

// newVersion is the first that refuses a replacement while another node is down, where older ones cancel it after the ban.
const newVersion = "2026.3.0"

// binaries is the folder of what runs, below the module's: `make build` must not replace it meanwhile.
const binaries = "bin/e2e"

// patience bounds every wait: many times what it takes on a quiet machine of two cores, for a busy one takes three times as long for everything.
const patience = 5 * time.Minute

// wholeTest bounds a test of many waits, so that one that hangs does not take the whole run with it.
const wholeTest = 25 * time.Minute

var stage struct {
	start, install sync.Once
	world          *scenario.World
	health         *health
	err            error
}

// kubernetes starts three Kubernetes nodes once for all tests of the package, with nothing of ours installed.
func kubernetes(t *testing.T) *scenario.World {
	t.Helper()
	if testing.Short() {
		t.Skip("short: real Kubernetes nodes are left out")
	}
	if missing := cluster.MissingPrerequisites(); len(missing) > 0 {
		t.Skipf("real Kubernetes nodes need: %s", strings.Join(missing, "; "))
	}
	stage.start.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
		defer cancel()
		root, err := filepath.Abs("../..")
		if err != nil {
			stage.err = err
			return
		}
		var flags []string
		if *soak != 0 {
			if flags, stage.err = soakFlags(filepath.Join(root, "bin")); stage.err != nil {
				return
			}
		}
		stage.world, stage.err = scenario.Start(ctx, scenario.Options{Root: root, Dir: filepath.Join(root, binaries), Out: os.Stderr, APIServerFlags: flags,
			Versions: []string{images.DefaultVersion, lastByAddress, firstByHostID, lastEnterpriseByAddress, firstEnterpriseByHostID, newVersion}})
	})
	if stage.err != nil {
		t.Fatalf("start the test cluster: %v", stage.err)
	}
	return stage.world
}

// world is kubernetes with the shipped controller, which is installed once.
func world(t *testing.T) *scenario.World {
	t.Helper()
	w := kubernetes(t)
	stage.install.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		stage.err = w.Install(ctx)
		if stage.err == nil && !*rehearse {
			stage.err = w.Hurry(ctx) // rehearsals measure the shipped times
		}
		stage.health = watchHealth(w)
	})
	if stage.err != nil {
		t.Fatalf("install in the test cluster: %v", stage.err)
	}
	return w
}

// fixture is one cluster of simulated ScyllaDB in a namespace of its own.
type fixture struct {
	*scenario.World
	t         *testing.T
	ctx       context.Context
	namespace string
	most      int // Pods at a time
}

const (
	rack1 = "demo-dc1-rack1"
	rack2 = "demo-dc1-rack2"
	rack3 = "demo-dc1-rack3"
)

// deploy starts a cluster of three and waits until it is ready; the namespace is removed when the test ends.
func deploy(t *testing.T, c scenario.Cluster) *fixture {
	t.Helper()
	f := stageCluster(t, c)
	f.ready(3)
	return f
}

func (f *fixture) ready(n int) {
	f.t.Helper()
	if n > f.most {
		f.t.Fatalf("wait for %d Pods: the test has stated %d at most", n, f.most)
	}
	ctx, cancel := context.WithTimeout(f.ctx, patience)
	defer cancel()
	f.must(f.WaitReady(ctx, f.namespace, n))
}

func stageCluster(t *testing.T, c scenario.Cluster) *fixture {
	t.Helper()
	if c.Namespace == "" {
		c.Namespace = strings.ToLower(strings.Map(func(r rune) rune {
			if r == '/' || r == '_' || r == ' ' || r == '#' {
				return '-'
			}
			return r
		}, strings.TrimPrefix(t.Name(), "Test")))
		if len(c.Namespace) > 50 {
			c.Namespace = c.Namespace[:50]
		}
	}
	f := inNamespace(t, world(t), c.Namespace)
	f.must(f.World.Deploy(f.ctx, c))
	return f
}

// inNamespace is a fixture whose namespace, which the test makes, is removed when the test ends.
func inNamespace(t *testing.T, w *scenario.World, namespace string) *fixture {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wholeTest) // every wait has its own bound beside this one
	t.Cleanup(cancel)
	f := &fixture{World: w, t: t, ctx: ctx, namespace: namespace, most: mostPods(t)}
	t.Cleanup(func() {
		if t.Failed() {
			f.explain()
		}
		f.remove()
	})
	return f
}

// remove deletes the namespace and waits for its Pods, whose room the next test takes. The rest goes in the background.
func (f *fixture) remove() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}
	if err := f.Client.Delete(ctx, ns); err != nil && !apierrors.IsNotFound(err) {
		f.t.Errorf("remove namespace %s: %v", f.namespace, err)
	}
	err := cluster.WaitFor(ctx, "the Pods of "+f.namespace+" to be gone", time.Second, func(ctx context.Context) (bool, string, error) {
		// Again and again: a Pod may be made before the namespace is Terminating. Not 0, which removes a Pod before its processes.
		if err := f.Client.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(f.namespace), client.GracePeriodSeconds(1)); err != nil {
			return false, "", err
		}
		var l corev1.PodList
		err := f.Client.List(ctx, &l, client.InNamespace(f.namespace))
		return err == nil && len(l.Items) == 0, fmt.Sprintf("%d Pods", len(l.Items)), err
	})
	if err != nil {
		f.t.Log(err)
	}
}

// part is one of several stories in one cluster: it begins where the one before has ended, so that none follows one that fails.
func (f *fixture) part(name string, do func(*fixture)) {
	f.t.Helper()
	ok := f.t.Run(name, func(t *testing.T) {
		of := *f
		of.t = t
		do(&of)
	})
	if !ok {
		f.t.FailNow()
	}
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// explain prints what a person would look at first.
func (f *fixture) explain() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	pods, err := f.Pods(ctx, f.namespace)
	if err != nil {
		f.t.Log(err)
	}
	for _, p := range pods {
		f.t.Logf("pod %s: %s", p.Name, scenario.Describe(&p))
		f.t.Logf("  row: %s", p.Annotations[api.AnnotationNodeStatusReport])
		for _, c := range []string{api.ContainerReporter, api.ContainerBarrier, api.ContainerScyllaDB} {
			if log, err := f.ContainerLog(ctx, p.Namespace, p.Name, c); err == nil && log != "" {
				f.t.Logf("  %s of %s:\n%s", c, p.Name, tail(log, 15))
			}
		}
	}
	for _, args := range [][]string{
		{"-n", f.namespace, "get", "services", "-o", "yaml"},
		{"-n", f.namespace, "get", "scylladbdatacenternodesstatusreports,scylladbstatusreports", "-o", "yaml"},
		{"-n", f.namespace, "get", "events"},
		{"-n", "kubectl-scylla", "logs", "deployment/kubectl-scylla-controller", "--tail=40"},
	} {
		if out, err := f.Cluster.Kubectl(ctx, args...); err == nil {
			f.t.Logf("kubectl %s\n%s", strings.Join(args, " "), tail(out, 120))
		}
	}
}

func tail(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

func (f *fixture) plugin(args ...string) scenario.Result {
	f.t.Helper()
	r, err := f.Plugin(f.ctx, append(args, "-n", f.namespace)...)
	f.must(err)
	return r
}

// longDown waits until all others have seen a node DOWN for the 30 s that every replacement requires.
func (f *fixture) longDown(member string) {
	f.t.Helper()
	id := f.hostID(member)
	f.waitFor(member+" to be DOWN for 30 s", func(ctx context.Context) (bool, string, error) {
		pods, err := f.Pods(ctx, f.namespace)
		if err != nil {
			return false, "", err
		}
		for i := range pods {
			row, err := api.DecodeNodeStatusReport(pods[i].Annotations[api.AnnotationNodeStatusReport])
			if err != nil {
				continue // its own, or that of another dead node
			}
			for _, o := range row.ObservedNodes {
				if string(o.HostID) == id && o.Status == api.NodeStatusDown && (o.Since == nil || time.Since(o.Since.Time) < 31*time.Second) {
					return false, fmt.Sprintf("%s has it DOWN since %v", pods[i].Name, o.Since), nil
				}
			}
		}
		return true, "", nil
	})
}

// replace is plugin for "replace MEMBER ...", once the node has been DOWN for long enough.
func (f *fixture) replace(member string, args ...string) scenario.Result {
	f.t.Helper()
	f.longDown(member)
	return f.plugin(slices.Concat([]string{"replace", member}, args)...)
}

func (f *fixture) pod(name string) *corev1.Pod {
	f.t.Helper()
	p := &corev1.Pod{}
	f.must(f.Client.Get(f.ctx, client.ObjectKey{Namespace: f.namespace, Name: name}, p))
	return p
}

func (f *fixture) service(name string) *corev1.Service {
	f.t.Helper()
	s := &corev1.Service{}
	f.must(f.Client.Get(f.ctx, client.ObjectKey{Namespace: f.namespace, Name: name}, s))
	return s
}

// recheck is how long a wait goes without a look when nothing of the namespace changes: logs and the controller's own objects are not watched.
const recheck = 2 * time.Second

// waitFor checks cond whenever something of the namespace has changed, with the fixture's patience. cond starts no process: hundreds of them would take the
// time of the processes that are waited for.
func (f *fixture) waitFor(what string, cond func(ctx context.Context) (bool, string, error)) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.ctx, patience)
	defer cancel()
	var changed <-chan struct{}
	f.must(cluster.WaitFor(ctx, what, 50*time.Millisecond, func(ctx context.Context) (bool, string, error) {
		if changed == nil {
			changed = f.changes(ctx)
		} else {
			select {
			case <-changed:
			case <-time.After(recheck): //nolint:forbidigo // the one wait helper of the end-to-end tests
			case <-ctx.Done():
			}
		}
		return cond(ctx)
	}))
}

// changes receives after a change in the namespace, until ctx ends.
func (f *fixture) changes(ctx context.Context) <-chan struct{} {
	changed := make(chan struct{}, 1)
	for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.ServiceList{}, &corev1.PersistentVolumeClaimList{}, &api.ScyllaDBStatusReportList{}} {
		w, err := f.Client.Watch(ctx, list, client.InNamespace(f.namespace))
		if err != nil {
			continue // the kind is not installed yet, or the API server is away
		}
		go func() {
			defer w.Stop()
			for range w.ResultChan() {
				select {
				case changed <- struct{}{}:
				default:
				}
			}
		}()
	}
	return changed
}

// untilBarrierRuns waits until a member waits in its barrier container.
func (f *fixture) untilBarrierRuns(member string) {
	f.t.Helper()
	f.waitFor(member+" to wait at its barrier", func(ctx context.Context) (bool, string, error) {
		p := &corev1.Pod{}
		if err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: member}, p); err != nil {
			return false, "", err
		}
		s := initStatus(p, api.ContainerBarrier)
		return s != nil && s.State.Running != nil, scenario.Describe(p), nil
	})
}

// holdsFor watches that a member stays at its barrier: something that must not happen can only be watched for a while.
func (f *fixture) holdsFor(member string, d time.Duration) {
	f.t.Helper()
	holds := func(p *corev1.Pod) {
		if s := initStatus(p, api.ContainerBarrier); s == nil || s.State.Running == nil {
			f.t.Fatalf("%s has left its barrier: %s", member, scenario.Describe(p))
		}
	}
	ctx, cancel := context.WithTimeout(f.ctx, d)
	defer cancel()
	for ctx.Err() == nil { // once, unless the watch breaks
		w, err := f.Client.Watch(ctx, &corev1.PodList{}, client.InNamespace(f.namespace), client.MatchingFields{"metadata.name": member})
		if ctx.Err() == nil {
			f.must(err)
		}
		if err != nil {
			break
		}
		for e := range w.ResultChan() {
			if p, ok := e.Object.(*corev1.Pod); ok {
				holds(p)
			}
		}
		w.Stop()
	}
	holds(f.pod(member))
}

func initStatus(p *corev1.Pod, name string) *corev1.ContainerStatus {
	i := slices.IndexFunc(p.Status.InitContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Status.InitContainerStatuses[i]
}

// report is the controller's report of a cluster as it is stored.
func (f *fixture) report(ctx context.Context, cluster string) (*api.ScyllaDBStatusReport, error) {
	r := &api.ScyllaDBStatusReport{}
	return r, f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: cluster}, r)
}

// untilAllUp waits until the report of a cluster has so many nodes, and each of them sees each of them UP.
func (f *fixture) untilAllUp(cluster string, nodes int32) {
	f.t.Helper()
	f.waitFor(fmt.Sprintf("a report of %d nodes that are UP", nodes), func(ctx context.Context) (bool, string, error) {
		r, err := f.report(ctx, cluster)
		up := meta.IsStatusConditionTrue(r.Status.Conditions, api.ConditionAllNodesUp)
		return err == nil && up && r.Status.Nodes == nodes, fmt.Sprintf("%d nodes, %+v", r.Status.Nodes, r.Status.Conditions), err
	})
}

// untilEvent waits for an Event about an object of the namespace whose text has all the parts.
func (f *fixture) untilEvent(about string, parts ...string) {
	f.t.Helper()
	f.waitFor(fmt.Sprintf("an Event about %s with %q", about, parts), func(ctx context.Context) (bool, string, error) {
		var l eventsv1.EventList
		err := f.Client.List(ctx, &l, client.InNamespace(f.namespace))
		var notes []string
		for i := range l.Items {
			e := &l.Items[i]
			if e.Regarding.Name != about {
				continue
			}
			notes = append(notes, e.Reason+": "+e.Note)
			if !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(e.Reason+": "+e.Note, p) }) {
				return true, "", nil
			}
		}
		return false, strings.Join(notes, "\n"), err
	})
}

// untilRow waits until a Pod's row contains a text.
func (f *fixture) untilRow(pod, text string) {
	f.t.Helper()
	f.waitFor(fmt.Sprintf("the row of %s to contain %s", pod, text), func(ctx context.Context) (bool, string, error) {
		p := &corev1.Pod{}
		if err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: pod}, p); err != nil {
			return false, "", err
		}
		row := p.Annotations[api.AnnotationNodeStatusReport]
		return strings.Contains(row, text), row, nil
	})
}

// freeze stops all processes of a member's ScyllaDB, as a hung machine would, and waits until another sees it DOWN.
func (f *fixture) freeze(member, observer string) {
	f.t.Helper()
	f.must(f.Cluster.PauseContainer(f.ctx, f.namespace, member, api.ContainerScyllaDB))
	f.t.Cleanup(func() {
		_ = f.Cluster.ResumeContainer(context.Background(), f.namespace, member, api.ContainerScyllaDB)
	})
	f.untilRow(observer, `"DOWN"`)
}

func (f *fixture) thaw(member string) {
	f.t.Helper()
	f.must(f.Cluster.ResumeContainer(f.ctx, f.namespace, member, api.ContainerScyllaDB))
}

func contains(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s does not say %q:\n%s", what, p, text)
		}
	}
}
