// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/crds"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	controlplane "github.com/kubectl-scylla/kubectl-scylla/test/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/plane"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// TestRealAPIServer asks what no fake can answer: whether the static mapper, selectors, the words of refusals, the validation of events
// and patches, and watches across the death of the server are as this package takes them to be.
func TestRealAPIServer(t *testing.T) {
	c := plane.Start(t)
	began := time.Now().Truncate(time.Second)
	cl, err := NewClient(c.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	create := func(objs ...client.Object) {
		t.Helper()
		for _, o := range objs {
			o.SetResourceVersion("")
			if err := cl.Create(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
	}
	st := newStage(t, 1, 2)
	create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: key.Namespace}})
	for _, s := range st.Services {
		s.Spec.ClusterIP, s.Spec.Ports = corev1.ClusterIPNone, []corev1.ServicePort{{Port: 7000}}
		create(s)
	}

	t.Run("kinds are not installed", func(t *testing.T) {
		s, err := Load(t.Context(), cl, key, Everything(cluster.SourceAuto, "default"))
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		for _, p := range s.Problems {
			kinds = append(kinds, string(p.Kind)+" "+p.Resource)
		}
		want := []string{
			"NotFound leases.coordination.k8s.io", "NotInstalled scylladbdatacenternodesstatusreports.scylla.scylladb.com",
			"NotInstalled scylladbstatusreports.scylla.scylladb.com",
		}
		if diff := cmp.Diff(want, kinds); diff != "" {
			t.Errorf("problems (-want +got):\n%s", diff)
		}
		if len(s.Services) != 2 || s.Incomplete() != nil {
			t.Errorf("%d Services, incomplete: %v", len(s.Services), s.Incomplete())
		}
		if keys, err := ListClusters(t.Context(), cl, "", nil); err != nil || len(keys) != 1 || keys[0] != key {
			t.Errorf("clusters %v, %v", keys, err)
		}
	})

	files, err := fs.Glob(crds.FS, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := fs.ReadFile(crds.FS, f)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.KubectlInput(t.Context(), string(b), "apply", "-f", "-"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Kubectl(t.Context(), "wait", "--for=condition=Established", "--timeout=30s", "crd", "--all"); err != nil {
		t.Fatal(err)
	}
	create(st.Reports["dc1"])

	t.Run("everything is read", func(t *testing.T) {
		objects, err := Load(t.Context(), cl, key, LoadOptions{StatefulSets: true, PVCs: true, StatusReport: true})
		if err != nil {
			t.Fatal(err)
		}
		s := cluster.New(objects, cluster.SourceAuto, time.Now())
		if len(s.Problems) != 0 || words.Text(s.SourceReason()) != "1 of 1 datacenter report found" || len(s.Rows()) != 2 {
			t.Errorf("problems %v, %s, %d rows", s.Problems, words.Text(s.SourceReason()), len(s.Rows()))
		}
		if m, err := s.ResolveTarget("demo-rack1-0"); err != nil || m.RowWritten.IsZero() || m.RowWritten.Before(began) {
			t.Errorf("row written %v; the server keeps write times", m.RowWritten)
		}
		_, err = Load(t.Context(), cl, cluster.Key{Namespace: key.Namespace, Name: "dmeo"}, LoadOptions{})
		if _, ok := errors.AsType[*cluster.NotFoundError](err); !ok || !strings.Contains(err.Error(), `did you mean "demo"?`) {
			t.Errorf("misspelt: %v", err)
		}
	})

	t.Run("a user with few rights", func(t *testing.T) {
		for _, args := range [][]string{
			{"-n", key.Namespace, "create", "role", "few", "--verb=list,watch", "--resource=services"},
			{"-n", key.Namespace, "create", "rolebinding", "few", "--role=few", "--user=jane"},
		} {
			if _, err := c.Kubectl(t.Context(), args...); err != nil {
				t.Fatal(err)
			}
		}
		cfg := c.RESTConfig()
		cfg.Impersonate = rest.ImpersonationConfig{UserName: "jane"}
		jane, err := NewClient(cfg)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Load(t.Context(), jane, key, LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range s.Problems {
			got = append(got, string(p.Kind)+": "+p.Message)
		}
		want := []string{
			"Forbidden: list pods in namespace db: forbidden; request a Role with verb list on resource pods",
			"Forbidden: list scylladbdatacenternodesstatusreports.scylla.scylladb.com in namespace db: forbidden; request a Role with verb " +
				"list on resource scylladbdatacenternodesstatusreports.scylla.scylladb.com",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("problems (-want +got):\n%s", diff)
		}
		pod := stage.NewPod(t, "demo-rack1-0", 1, nil)
		_, problems := Live(t.Context(), cfg, []corev1.Pod{*pod}, LiveOptions{})
		if len(problems) != 1 || problems[0].Kind != cluster.ProblemForbidden || problems[0].Resource != "pods/portforward" {
			t.Errorf("port-forward: %v", problems)
		}
		// The right that the message names is enough: nothing is forbidden any more, and there is no such Pod.
		for _, args := range [][]string{
			{"-n", key.Namespace, "create", "role", "forward", "--verb=create", "--resource=pods/portforward"},
			{"-n", key.Namespace, "create", "rolebinding", "forward", "--role=forward", "--user=jane"},
		} {
			if _, err := c.Kubectl(t.Context(), args...); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := controlplane.WaitFor(ctx, "the right to forward", 50*time.Millisecond, func(ctx context.Context) (bool, string, error) {
			_, problems := Live(ctx, cfg, []corev1.Pod{*pod}, LiveOptions{})
			return len(problems) == 1 && problems[0].Kind == cluster.ProblemOther && strings.Contains(problems[0].Message, `pods "demo-rack1-0" not found`), fmt.Sprint(problems), nil
		}); err != nil {
			t.Error(err)
		}
		if live, _ := Live(t.Context(), c.RESTConfig(), []corev1.Pod{*pod}, LiveOptions{}); live["demo-rack1-0"].Error == nil ||
			!strings.Contains(*live["demo-rack1-0"].Error, `pods "demo-rack1-0" not found`) {
			t.Errorf("port-forward to no Pod: %+v", live["demo-rack1-0"])
		}
	})

	var svc corev1.Service
	if err := cl.Get(t.Context(), client.ObjectKey{Namespace: key.Namespace, Name: "demo-rack1-0"}, &svc); err != nil {
		t.Fatal(err)
	}

	t.Run("events are valid and counted up", func(t *testing.T) {
		e := Event{Type: corev1.EventTypeWarning, Reason: "BarrierBlocked", Note: strings.Repeat("ü", 2000), Controller: "scylla-barrier", Now: time.Now()}
		for _, after := range []time.Duration{0, time.Second, 2 * time.Minute, 4 * time.Minute} {
			again := e
			again.Now = e.Now.Add(after)
			if err := Emit(t.Context(), cl, &svc, again); err != nil {
				t.Fatal(err)
			}
		}
		got := events(t, cl)
		if len(got) != 1 || got[0].Series == nil || got[0].Series.Count != 3 {
			t.Errorf("events %+v", got)
		}
		out, err := c.Kubectl(t.Context(), "-n", key.Namespace, "describe", "service", "demo-rack1-0")
		if err != nil || !strings.Contains(out, "BarrierBlocked") {
			t.Errorf("describe does not find the event: %v\n%s", err, out)
		}
	})

	t.Run("patches lose against a later write", func(t *testing.T) {
		stale := svc.DeepCopy()
		force := func(s *corev1.Service) {
			metav1.SetMetaDataAnnotation(&s.ObjectMeta, api.AnnotationForceProceed, "true")
		}
		if err := PatchMetadata(t.Context(), cl, svc.DeepCopy(), force, client.DryRunAll); err != nil {
			t.Error(err)
		}
		if err := PatchMetadata(t.Context(), cl, &svc, force, client.FieldOwner("tester")); err != nil {
			t.Fatal(err)
		}
		if err := PatchMetadata(t.Context(), cl, stale, force); !apierrors.IsConflict(err) {
			t.Errorf("err = %v, want a conflict", err)
		}
		var owner bool
		for _, f := range svc.ManagedFields {
			owner = owner || f.Manager == "tester"
		}
		if !owner {
			t.Error("the field owner is not on record")
		}
	})

	t.Run("watch", func(t *testing.T) {
		states := make(chan bool, 100)
		ch, err := Watch(t.Context(), cl, key, WatchOptions{
			Kinds: WatchFor(Everything(cluster.SourceAuto, "default")).Kinds, LeaseNamespace: "default",
			Connected: func(ok bool, _ error) { states <- ok }, Problem: func(p cluster.Problem) { t.Errorf("problem: %v", p) },
		})
		if err != nil {
			t.Fatal(err)
		}
		wait := func(what string, want bool) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			select {
			case ok := <-states:
				if ok != want {
					t.Errorf("%s: connected %v", what, ok)
				}
			case <-ctx.Done():
				t.Fatalf("%s: no word within a minute", what)
			}
		}
		signal := func(what string) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			select {
			case <-ch:
			case <-ctx.Done():
				t.Fatalf("%s: no signal within a minute", what)
			}
		}
		wait("start", true)
		signal("start")
		drained := func() {
			for {
				select {
				case <-ch:
				case <-time.After(2 * defaultQuiet): //nolint:forbidigo // signals that are on their way; one that comes later fails no check
					return
				}
			}
		}
		drained()
		if err := PatchMetadata(t.Context(), cl, &svc, func(s *corev1.Service) { s.Annotations["x"] = "y" }); err != nil {
			t.Fatal(err)
		}
		signal("change of a Service")
		drained()
		if err := c.KillAPIServer(); err != nil {
			t.Fatal(err)
		}
		wait("API server killed", false)
		if _, err := Load(t.Context(), cl, key, LoadOptions{}); err == nil || !strings.HasPrefix(err.Error(), "read cluster db/demo: the API server is not reachable") {
			t.Errorf("load: %v", err)
		}
		if err := c.StartAPIServer(t.Context()); err != nil {
			t.Fatal(err)
		}
		wait("API server back", true)
		signal("API server back")
	})
}
