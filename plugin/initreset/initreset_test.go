// SPDX-License-Identifier: Apache-2.0

package initreset_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

const group = "11111111-1111-1111-8111-111111111111"

func report() *api.ScyllaDBStatusReport {
	return &api.ScyllaDBStatusReport{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "demo", UID: "report", Labels: map[string]string{api.LabelManagedBy: api.ManagedByUs}},
		Status: api.ScyllaDBStatusReportStatus{
			Initialized: true, Group0ID: group,
			Initialization: &api.StatusReportInitialization{FirstHostID: plugintest.HostID(1), At: metav1.NewTime(plugintest.Now.Add(-24 * time.Hour))},
		},
	}
}

// objects of a cluster; lost is true when every disk is lost: its Pods wait in their barriers, no member has a row, and the Services say that all have joined.
func objects(lost bool, change func(*plugintest.Cluster)) []client.Object {
	c := plugintest.New(2, 1).NoReports()
	r := report()
	for _, n := range c.Nodes {
		if !lost {
			continue
		}
		c.NoRow(n.Name)
		p := c.Pod(n.Name)
		for i := range p.Status.ContainerStatuses {
			p.Status.ContainerStatuses[i] = corev1.ContainerStatus{
				Name: p.Status.ContainerStatuses[i].Name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}},
			}
		}
	}
	c.Add(r, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "data-demo-dc1-rack1-0"}})
	if change != nil {
		change(c)
	}
	return c.Objects()
}

// state lists the remaining records.
func state(t testing.TB, c client.Client) string {
	t.Helper()
	var b strings.Builder
	var services corev1.ServiceList
	var reports api.ScyllaDBStatusReportList
	var events eventsv1.EventList
	for _, l := range []client.ObjectList{&services, &reports, &events} {
		if err := c.List(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range services.Items {
		if s.Annotations[api.AnnotationNodeJoined] != "" {
			fmt.Fprintf(&b, "service/%s has joined as %s\n", s.Name, s.Annotations[api.AnnotationHostID])
		}
	}
	for _, r := range reports.Items {
		fmt.Fprintf(&b, "report/%s initialized %t, group 0 %q\n", r.Name, r.Status.Initialized, r.Status.Group0ID)
	}
	for _, e := range events.Items {
		fmt.Fprintf(&b, "event %s %s about %s/%s: %s\n", e.Type, e.Reason, e.Regarding.Kind, e.Regarding.Name, e.Note)
	}
	return b.String()
}

func TestInitReset(t *testing.T) {
	terminal := cli.Terminal{In: true}
	reset := func(more ...string) []string {
		return append([]string{"init", "reset", "demo", "-n", "demo"}, more...)
	}
	permitted := func(c *plugintest.Cluster) {
		for _, o := range c.Objects() {
			if r, ok := o.(*api.ScyllaDBStatusReport); ok {
				r.Status.View = &api.StatusReportView{Permits: []api.StatusReportViewPermit{{Kind: api.PermitReplace, Member: "demo-dc1-rack2-0"}}}
			}
		}
	}
	noPods := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
		if _, pods := l.(*corev1.PodList); pods {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", fmt.Errorf(`User "ada" cannot list resource "pods"`))
		}
		return c.List(ctx, l, opts...)
	}}
	plugintest.Screens(t, map[string]plugintest.Run{
		"typed":                   {Args: reset("--reason", "the pool is lost"), Objects: objects(true, nil), Terminal: terminal, Stdin: "demo/demo\n"},
		"typed yes":               {Args: reset(), Objects: objects(true, nil), Terminal: terminal, Stdin: "yes\n"},
		"typed another":           {Args: reset(), Objects: objects(true, nil), Terminal: terminal, Stdin: "demo\n"},
		"nobody to ask":           {Args: reset(), Objects: objects(true, nil)},
		"yes alone":               {Args: reset("--yes"), Objects: objects(true, nil)},
		"yes and confirm":         {Args: reset("--yes", "--confirm", "demo/demo"), Objects: objects(true, nil)},
		"yes and confirm another": {Args: reset("--yes", "--confirm", "demo/other"), Objects: objects(true, nil)},
		"confirm alone":           {Args: reset("--confirm", "demo/demo"), Objects: objects(true, nil)},
		"dry run":                 {Args: reset("--dry-run"), Objects: objects(true, nil)},
		"server dry run":          {Args: reset("--dry-run=server"), Objects: objects(true, nil)},
		"nodes are UP":            {Args: reset("--yes", "--confirm", "demo/demo"), Objects: objects(false, nil)},
		"a permit is given":       {Args: reset("--yes", "--confirm", "demo/demo"), Objects: objects(true, permitted)},
		"Pods cannot be read":     {Args: reset("--yes", "--confirm", "demo/demo"), Objects: objects(true, nil), Funcs: noPods},
		"of the Scylla Operator":  {Args: reset("--yes", "--confirm", "demo/demo"), Objects: objects(true, func(c *plugintest.Cluster) { c.Operator() })},
		"group 0 while nodes run": {Args: reset("--group0"), Objects: objects(false, nil), Terminal: terminal, Stdin: "demo/demo\n"},
		"group 0 dry run":         {Args: reset("--group0", "--dry-run"), Objects: objects(false, nil)},
		"no cluster is named":     {Args: []string{"init", "reset", "-n", "demo"}, Objects: objects(true, nil)},
		"an unknown cluster":      {Args: []string{"init", "reset", "dmo", "-n", "demo"}, Objects: objects(true, nil)},
		"nothing to forget":       {Args: []string{"init", "reset", "new", "-n", "new"}, Objects: []client.Object{fresh("new", "new")}},
		"no group 0 is recorded":  {Args: []string{"init", "reset", "new", "-n", "new", "--group0"}, Objects: []client.Object{fresh("new", "new")}},
	}, func(run plugintest.Run, t testing.TB) string {
		run.Client = plugintest.NewClient(run.Objects, run.Funcs)
		before := state(t, run.Client)
		text := run.Transcript(t)
		after := state(t, run.Client)
		if after == before {
			return text + "-- nothing changed --\n"
		}
		return text + "-- left --\n" + after
	})
}

// fresh is a member Service of a cluster that was never founded.
func fresh(namespace, name string) client.Object {
	c := plugintest.NewNamed(namespace, name, "dc1", 1, 1)
	svc := c.Service(c.Nodes[0].Name)
	svc.Annotations = nil
	return svc
}

// Each request may be its last: repeated, it does the rest, and until then the cluster stays initialised.
func TestInitResetIsSafeToRepeat(t *testing.T) {
	args := []string{"init", "reset", "demo", "-n", "demo", "--yes", "--confirm", "demo/demo"}
	for point := range 3 {
		made, ended := 0, false
		stop := func() error {
			if ended || made >= point {
				ended = true
				return fmt.Errorf("the process has ended")
			}
			made++
			return nil
		}
		dead := true
		c := plugintest.NewClient(objects(true, nil), interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				if dead && stop() != nil {
					return fmt.Errorf("the process has ended")
				}
				return c.Patch(ctx, o, p, opts...)
			},
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				if dead && stop() != nil {
					return fmt.Errorf("the process has ended")
				}
				return c.Delete(ctx, o, opts...)
			},
		})
		if res := (plugintest.Run{Args: args, Client: c}).Do(t); res.Code == 0 {
			t.Fatalf("point %d: exit 0", point)
		}
		if got := state(t, c); !strings.Contains(got, "report/demo initialized true") {
			t.Errorf("point %d: ended too early, and left %s", point, got)
		}
		dead = false
		for range 2 {
			if res := (plugintest.Run{Args: args, Client: c}).Do(t); res.Code != 0 {
				t.Fatalf("point %d: exit %d: %s", point, res.Code, res.Stderr)
			}
			if got := state(t, c); strings.Contains(got, "joined") || strings.Contains(got, "report/") {
				t.Errorf("point %d: left %s", point, got)
			}
		}
	}
}

// What has changed between looking and writing is looked at again: a member that has come up meanwhile is refused.
func TestInitResetLooksAgain(t *testing.T) {
	deletes := 0
	c := plugintest.NewClient(objects(true, nil), interceptor.Funcs{Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
		if deletes++; deletes > 1 {
			return c.Delete(ctx, o, opts...)
		}
		var p corev1.Pod
		if err := c.Get(ctx, client.ObjectKey{Namespace: "demo", Name: "demo-dc1-rack1-0"}, &p); err != nil {
			return err
		}
		for i := range p.Status.ContainerStatuses {
			p.Status.ContainerStatuses[i].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
		}
		if err := c.Status().Update(ctx, &p); err != nil {
			return err
		}
		return apierrors.NewConflict(schema.GroupResource{Resource: "scylladbstatusreports"}, o.GetName(), fmt.Errorf("changed meanwhile"))
	}})
	res := plugintest.Run{Args: []string{"init", "reset", "demo", "-n", "demo", "--yes", "--confirm", "demo/demo"}, Client: c}.Do(t)
	if res.Code != 2 || !strings.Contains(res.Stderr, "ScyllaDB is running in demo-dc1-rack1-0") || !strings.Contains(state(t, c), "report/demo initialized true") {
		t.Errorf("exit %d: %s%s", res.Code, res.Stderr, state(t, c))
	}
}
