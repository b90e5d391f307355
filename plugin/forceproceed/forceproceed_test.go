// SPDX-License-Identifier: Apache-2.0

package forceproceed_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
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

const newcomer = "demo-dc1-rack2-1"

func waits() *plugintest.Cluster {
	c := plugintest.New(3, 1).Down("demo-dc1-rack3-0")
	c.Newcomer("dc1", "rack2", 1)
	return c
}

// viewed gives the cluster report a view.
func viewed(objects []client.Object) []client.Object {
	for _, o := range objects {
		if r, ok := o.(*api.ScyllaDBStatusReport); ok {
			r.Status.View = &api.StatusReportView{Epoch: 3, Seq: 41, ObservedAt: metav1.NewTime(plugintest.Now.Add(-12 * time.Second))}
		}
	}
	return objects
}

// state lists what the run left behind: every force annotation and every Event.
func state(t testing.TB, c client.Client) string {
	t.Helper()
	var b strings.Builder
	say := func(kind string, o client.Object) {
		for _, k := range []string{api.AnnotationForceProceed, api.AnnotationForceReason, api.AnnotationForcePropagatedFrom, api.AnnotationForceOverrides, api.AnnotationForceVolume} {
			if v, ok := o.GetAnnotations()[k]; ok {
				_, short, _ := strings.Cut(k, "/")
				fmt.Fprintf(&b, "%s/%s %s=%q\n", kind, o.GetName(), short, v)
			}
		}
	}
	var services corev1.ServiceList
	var sets appsv1.StatefulSetList
	var events eventsv1.EventList
	for _, l := range []client.ObjectList{&services, &sets, &events} {
		if err := c.List(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
	for i := range services.Items {
		say("service", &services.Items[i])
	}
	for i := range sets.Items {
		say("statefulset", &sets.Items[i])
	}
	for _, gvk := range []schema.GroupVersionKind{api.ScyllaDBDatacenterGVK, api.ScyllaClusterGVK} {
		o := &metav1.PartialObjectMetadata{}
		o.SetGroupVersionKind(gvk)
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "demo", Name: "demo"}, o); err == nil {
			say(strings.ToLower(gvk.Kind), o)
		}
	}
	for _, e := range events.Items {
		fmt.Fprintf(&b, "event %s %s about %s/%s: %s\n", e.Type, e.Reason, e.Regarding.Kind, e.Regarding.Name, e.Note)
	}
	return b.String()
}

// recorded is a force past demo-dc1-rack1-0, while demo-dc1-rack3-0 is DOWN; its volume was lost if lost is true.
func recorded(lost bool) *plugintest.Cluster {
	c := waits()
	volume := string(c.Pod(newcomer).UID)
	if lost {
		volume = "uid-of-the-lost-volume"
	}
	c.Service(newcomer).Annotations = map[string]string{api.AnnotationForceProceed: "true", api.AnnotationForceVolume: volume,
		api.AnnotationForceOverrides: `[{"reason":"NodeDown","object":"` + c.Service("demo-dc1-rack1-0").Annotations[api.AnnotationHostID] + `"}]`}
	return c
}

func TestForceProceed(t *testing.T) {
	terminal := cli.Terminal{In: true}
	forced := func(c *plugintest.Cluster) *plugintest.Cluster {
		c.Service(newcomer).Annotations = map[string]string{api.AnnotationForceProceed: "true", api.AnnotationForceReason: "drill"}
		return c
	}
	propagated := func(still bool) *plugintest.Cluster {
		c := waits()
		c.Service(newcomer).Annotations = map[string]string{api.AnnotationForceProceed: "true", api.AnnotationForcePropagatedFrom: "StatefulSet/demo-dc1-rack2"}
		if still {
			c.Set("dc1", "rack2").Annotations = map[string]string{api.AnnotationForceProceed: "true"}
		}
		return c
	}
	operatorForced := waits().Operator()
	for _, o := range operatorForced.Objects() {
		if m, ok := o.(*metav1.PartialObjectMetadata); ok {
			m.Annotations = map[string]string{api.AnnotationForceProceed: "true"}
		}
	}
	for _, name := range []string{newcomer, "demo-dc1-rack1-0"} {
		if operatorForced.Service(name).Annotations == nil {
			operatorForced.Service(name).Annotations = map[string]string{}
		}
		operatorForced.Service(name).Annotations[api.AnnotationForceProceed] = "true"
	}
	unmanaged := waits()
	delete(unmanaged.Set("dc1", "rack2").Labels, api.LabelManagedBy)
	noEvents := interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		if _, ok := o.(*eventsv1.Event); ok {
			return apierrors.NewForbidden(schema.GroupResource{Group: "events.k8s.io", Resource: "events"}, "", fmt.Errorf(`User "ada" cannot create resource "events" in API group "events.k8s.io" in the namespace "demo"`))
		}
		return c.Create(ctx, o, opts...)
	}}
	noPatch := interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, newcomer, fmt.Errorf(`User "ada" cannot patch resource "services" in API group "" in the namespace "demo"`))
	}}
	two := waits()
	two.Newcomer("dc1", "rack3", 1)
	cases := map[string]plugintest.Run{
		"asked, yes":                         {Args: []string{"force-proceed", newcomer, "-n", "demo"}, Objects: waits().Objects(), Terminal: terminal, Stdin: "yes\n"},
		"asked, no":                          {Args: []string{"force-proceed", newcomer, "-n", "demo"}, Objects: waits().Objects(), Terminal: terminal, Stdin: "no\n"},
		"asked, y is not yes":                {Args: []string{"force-proceed", newcomer, "-n", "demo"}, Objects: waits().Objects(), Terminal: terminal, Stdin: "y\n"},
		"asked, end of input":                {Args: []string{"force-proceed", newcomer, "-n", "demo"}, Objects: waits().Objects(), Terminal: terminal},
		"nobody to ask":                      {Args: []string{"force-proceed", newcomer, "-n", "demo"}, Objects: waits().Objects()},
		"yes beforehand, with a reason":      {Args: []string{"force-proceed", newcomer, "-n", "demo", "--yes", "--reason", "rack3 is lost"}, Objects: waits().Objects()},
		"saved objects":                      {Args: []string{"force-bootstrap", newcomer, "--from", "sample:incident", "--dry-run=client"}},
		"saved objects cannot be forced":     {Args: []string{"force-proceed", newcomer, "--from", "sample:incident", "-y"}},
		"client dry run":                     {Args: []string{"force-proceed", newcomer, "-n", "demo", "--dry-run=client"}, Objects: waits().Objects()},
		"server dry run":                     {Args: []string{"force-proceed", newcomer, "-n", "demo", "--dry-run=server"}, Objects: waits().Objects()},
		"an unknown dry run":                 {Args: []string{"force-proceed", newcomer, "-n", "demo", "--dry-run=maybe"}, Objects: waits().Objects()},
		"as a name":                          {Args: []string{"force-proceed", newcomer, "-n", "demo", "-y", "-o", "name"}, Objects: waits().Objects()},
		"an unknown format":                  {Args: []string{"force-proceed", newcomer, "-n", "demo", "-y", "-o", "wide"}, Objects: waits().Objects()},
		"nothing blocks":                     {Args: []string{"force-proceed", newcomer, "-n", "demo", "-y"}, Objects: func() []client.Object { c := plugintest.New(3, 1); c.Newcomer("dc1", "rack2", 1); return c.Objects() }()},
		"forced already":                     {Args: []string{"force-proceed", newcomer, "-n", "demo", "-y"}, Objects: forced(waits()).Objects()},
		"forced, and something is new":       {Args: []string{"force-proceed", newcomer, "-n", "demo", "-y"}, Objects: recorded(false).Objects()},
		"forced for a lost volume":           {Args: []string{"force-proceed", newcomer, "-n", "demo", "-y"}, Objects: recorded(true).Objects()},
		"for its volume":                     {Args: []string{"force-proceed", newcomer, "-n", "demo", "-y", "--unless-down", "--volume-uid", string(waits().Pod(newcomer).UID)}, Objects: func() []client.Object { c := plugintest.New(3, 1); c.Newcomer("dc1", "rack2", 1); return c.Objects() }()},
		"unless a node is DOWN":              {Args: []string{"force-proceed", newcomer, "-n", "demo", "-y", "--unless-down"}, Objects: waits().Objects()},
		"for a volume that was lost":         {Args: []string{"force-proceed", newcomer, "-n", "demo", "-y", "--volume-uid", "uid-of-the-lost-volume"}, Objects: waits().Objects()},
		"a datacenter for a volume":          {Args: []string{"force-proceed", "--datacenter", "dc1", "-n", "demo", "-y", "--volume-uid", "x"}, Objects: waits().Objects()},
		"undo":                               {Args: []string{"force-proceed", newcomer, "-n", "demo", "--undo"}, Objects: forced(waits()).Objects()},
		"undo what is not forced":            {Args: []string{"force-proceed", newcomer, "-n", "demo", "--undo"}, Objects: waits().Objects()},
		"undo what would come back":          {Args: []string{"force-proceed", newcomer, "-n", "demo", "--undo"}, Objects: propagated(true).Objects()},
		"undo what was left behind":          {Args: []string{"force-proceed", newcomer, "-n", "demo", "--undo"}, Objects: propagated(false).Objects()},
		"undo with a reason":                 {Args: []string{"force-proceed", newcomer, "-n", "demo", "--undo", "--reason", "x"}, Objects: waits().Objects()},
		"a member that has joined":           {Args: []string{"force-proceed", "demo-dc1-rack1-0", "-n", "demo", "-y"}, Objects: waits().Objects()},
		"an unknown member":                  {Args: []string{"force-proceed", "demo-dc1-rack2-9", "-n", "demo", "-y"}, Objects: waits().Objects()},
		"no member":                          {Args: []string{"force-proceed", "-n", "demo"}, Objects: waits().Objects()},
		"a member and a datacenter":          {Args: []string{"force-proceed", newcomer, "--datacenter", "dc1"}, Objects: waits().Objects()},
		"a member per Service":               {Args: []string{"force-proceed", newcomer, "--per-service"}, Objects: waits().Objects()},
		"a datacenter":                       {Args: []string{"force-proceed", "--datacenter", "dc1", "-n", "demo", "-y"}, Objects: waits().AddDatacenter("dc2", 1, 1).Objects()},
		"a datacenter per Service":           {Args: []string{"force-proceed", "--datacenter", "dc1", "-n", "demo", "-y", "--per-service"}, Objects: waits().Objects()},
		"a datacenter, undo":                 {Args: []string{"force-proceed", "--datacenter", "dc1", "-n", "demo", "--undo"}, Objects: propagated(true).Objects()},
		"an unknown datacenter":              {Args: []string{"force-proceed", "--datacenter", "dc9", "-n", "demo", "-y"}, Objects: waits().Objects()},
		"a datacenter of two clusters":       {Args: []string{"force-proceed", "--datacenter", "dc1", "-n", "demo", "-y"}, Objects: append(waits().Objects(), plugintest.NewNamed("demo", "second", "dc1", 1, 1).Objects()...)},
		"a datacenter of a named cluster":    {Args: []string{"force-proceed", "--datacenter", "dc1", "--cluster", "second", "-n", "demo", "-y"}, Objects: append(waits().Objects(), plugintest.NewNamed("demo", "second", "dc1", 1, 1).Objects()...)},
		"a cluster":                          {Args: []string{"force-proceed", "--cluster", "demo", "-n", "demo", "-y"}, Objects: waits().Objects()},
		"a member and the view":              {Args: []string{"force-proceed", newcomer, "-n", "demo", "-y"}, Objects: viewed(waits().Objects())},
		"several members and the view":       {Args: []string{"force-proceed", "--cluster", "demo", "-n", "demo", "-y", "--per-service"}, Objects: viewed(two.Objects())},
		"nobody waits and the view":          {Args: []string{"force-proceed", "--cluster", "demo", "-n", "demo", "-y"}, Objects: viewed(plugintest.New(3, 1).Objects())},
		"an unknown cluster":                 {Args: []string{"force-proceed", "--cluster", "dmo", "-n", "demo", "-y"}, Objects: waits().Objects()},
		"a cluster where nobody waits":       {Args: []string{"force-proceed", "--cluster", "demo", "-n", "demo", "-y", "--per-service"}, Objects: plugintest.New(3, 1).Objects()},
		"a StatefulSet that is nobody's":     {Args: []string{"force-proceed", "--cluster", "demo", "-n", "demo", "-y"}, Objects: unmanaged.Objects()},
		"the operator's cluster":             {Args: []string{"force-proceed", "--cluster", "demo", "-n", "demo", "-y"}, Objects: waits().Operator().Objects()},
		"the operator's datacenter":          {Args: []string{"force-proceed", "--datacenter", "dc1", "-n", "demo", "-y"}, Objects: waits().Operator().Objects()},
		"the operator's cluster per Service": {Args: []string{"force-proceed", "--cluster", "demo", "-n", "demo", "-y", "--per-service"}, Objects: waits().Operator().Objects()},
		"the operator's member":              {Args: []string{"force-proceed", newcomer, "-n", "demo", "-y"}, Objects: waits().Operator().Objects()},
		"the operator's cluster, undo":       {Args: []string{"force-proceed", "--cluster", "demo", "-n", "demo", "--undo", "--yes"}, Objects: operatorForced.Objects()},
		"the operator's cluster, undo asked": {Args: []string{"force-proceed", "--cluster", "demo", "-n", "demo", "--undo"}, Objects: operatorForced.Objects(), Terminal: terminal, Stdin: "no\n"},
		"the operator's member, comes back":  {Args: []string{"force-proceed", newcomer, "-n", "demo", "--undo"}, Objects: operatorForced.Objects()},
		"the operator's, nothing to undo":    {Args: []string{"force-proceed", "--cluster", "demo", "-n", "demo", "--undo"}, Objects: waits().Operator().Objects()},
		"no right to write Events":           {Args: []string{"force-proceed", newcomer, "-n", "demo", "-y"}, Objects: waits().Objects(), Funcs: noEvents},
		"no right to patch Services":         {Args: []string{"force-proceed", newcomer, "-n", "demo", "-y"}, Objects: waits().Objects(), Funcs: noPatch},
	}
	plugintest.Screens(t, cases, func(run plugintest.Run, t testing.TB) string {
		run.Client = plugintest.NewClient(run.Objects, run.Funcs)
		before := state(t, run.Client)
		text := run.Transcript(t)
		after := state(t, run.Client)
		if after == before {
			return text + "-- nothing changed --\n"
		}
		return text + "-- left behind --\n" + after
	})
}

// TestNoHarm12ARunningMemberIsNotForced: a force of a running member changed nothing, exited with 0
// and stayed in force for the next start.
func TestNoHarm12ARunningMemberIsNotForced(t *testing.T) {
	c := waits()
	starting := c.Newcomer("dc1", "rack3", 1)
	c.Pod(starting).Status.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	for name, want := range map[string]int{"demo-dc1-rack1-0": 2, newcomer: 0, starting: 0} {
		api := plugintest.NewClient(c.Objects(), interceptor.Funcs{})
		before := state(t, api)
		res := plugintest.Run{Args: []string{"force-proceed", name, "-n", "demo", "-y"}, Client: api}.Do(t)
		if res.Code != want || want != 0 && (state(t, api) != before || !strings.Contains(res.Stderr, "is running")) {
			t.Errorf("%s: exit %d, want %d: %s%s", name, res.Code, want, res.Stdout, res.Stderr)
		}
	}
}

// Between looking and acting a person thinks: the annotation must land on the object as it is then.
func TestForceSurvivesAConflict(t *testing.T) {
	conflicts := 0
	c := plugintest.NewClient(waits().Objects(), interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
		if conflicts++; conflicts == 1 {
			return apierrors.NewConflict(schema.GroupResource{Resource: "services"}, o.GetName(), fmt.Errorf("changed meanwhile"))
		}
		return c.Patch(ctx, o, p, opts...)
	}})
	res := plugintest.Run{Args: []string{"force-proceed", newcomer, "-n", "demo", "-y"}, Client: c}.Do(t)
	if res.Code != 0 || res.Stdout != "service/"+newcomer+" annotated\n" {
		t.Fatalf("exit %d: %s%s", res.Code, res.Stdout, res.Stderr)
	}
	var svc corev1.Service
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "demo", Name: newcomer}, &svc); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("true", svc.Annotations[api.AnnotationForceProceed]); diff != "" {
		t.Errorf("annotation (-want +got):\n%s", diff)
	}
}
