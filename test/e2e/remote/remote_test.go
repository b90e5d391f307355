// SPDX-License-Identifier: Apache-2.0

// Package remote runs `kubectl scylla remote` between two real control planes, with the controller that it is for.
package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/controller"
	"github.com/kubectl-scylla/kubectl-scylla/controller/scope"
	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/barrier"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	shared "github.com/kubectl-scylla/kubectl-scylla/internal/remote"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/plugin"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/plane"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/output"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// patience is generous: other tests run beside this one.
const patience = 2 * time.Minute

type side struct {
	*testing.T
	*cluster.Cluster
	client.Client
}

func newSide(t *testing.T) *side {
	t.Helper()
	c := plane.Start(t)
	cl, err := kube.NewClient(c.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return &side{t, c, cl}
}

// scylla runs the plugin as a person does, with this side's kubeconfig and no terminal.
func (s *side) scylla(wantCode int, line string, args ...any) string {
	s.Helper()
	var out bytes.Buffer
	d := cli.New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}, clock.RealClock{}, os.Environ(), func() cli.Terminal { return cli.Terminal{} })
	typed := append([]string{"kubectl-scylla"}, strings.Fields(fmt.Sprintf(line, args...))...)
	if code := plugin.Execute(s.Context(), d, append(typed, "--kubeconfig", s.Kubeconfig())); code != wantCode {
		s.Fatalf("%s: exit %d, want %d\n%s", line, code, wantCode, out.String())
	}
	return out.String()
}

func (s *side) create(objects ...client.Object) {
	s.Helper()
	for _, o := range objects {
		if err := s.Create(s.Context(), o); err != nil {
			s.Fatal(err)
		}
	}
}

func (s *side) until(what string, check func(context.Context) error) {
	s.Helper()
	var last error
	err := wait.PollUntilContextTimeout(s.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	if err != nil {
		s.Fatalf("%s: %v", what, last)
	}
}

// controls runs the controller until the test ends.
func (s *side) controls() {
	s.Helper()
	o := controller.DefaultOptions()
	o.MetricsBindAddress, o.HealthProbeBindAddress = "0", "0"
	o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	ctx, cancel := context.WithCancel(s.Context())
	done := make(chan error, 1)
	go func() { done <- controller.Run(ctx, s.RESTConfig(), o) }()
	s.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			s.Errorf("controller: %v", err)
		}
	})
}

// secret is the one by which the controller here reads the remote.
func (s *side) secret(name string) (*corev1.Secret, error) {
	x := &corev1.Secret{}
	err := s.Get(s.Context(), client.ObjectKey{Namespace: manifests.Namespace, Name: shared.SecretName(name)}, x)
	return x, err
}

const (
	host   = "11111111-0000-4000-8000-000000000009"
	member = "demo-rack1-0"
)

func statefulSet() *appsv1.StatefulSet {
	l := map[string]string{api.LabelCluster: "demo", api.LabelDatacenter: "dc1", api.LabelRack: "rack1"}
	x := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "demo-rack1", Labels: map[string]string{api.LabelManagedBy: api.ManagedByUs}}}
	for k, v := range l {
		x.Labels[k] = v
	}
	x.Spec = appsv1.StatefulSetSpec{
		Replicas: ptr.To(int32(1)), ServiceName: "demo", Selector: &metav1.LabelSelector{MatchLabels: l},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: l}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: api.ContainerScyllaDB, Image: "x"}}}},
	}
	return x
}

func TestRemoteBetweenTwoControlPlanes(t *testing.T) {
	here, there := newSide(t), newSide(t)
	to := "--remote-kubeconfig " + there.Kubeconfig()
	for _, s := range []*side{here, there} {
		s.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "demo"}})
	}
	here.create(statefulSet())

	// In the wrong order each step names the missing one, and creates nothing.
	if out := here.scylla(2, "remote add eu demo -n demo %s --yes", to); !strings.Contains(out, "no controller here") {
		t.Error(out)
	}
	here.scylla(0, "install --no-controller --yes")
	if out := here.scylla(2, "remote add eu demo -n demo %s --yes", to); !strings.Contains(out, "the CRDs are not installed there") {
		t.Error(out)
	}
	there.scylla(0, "install --no-controller --yes")
	if out := here.scylla(2, "remote add eu demo -n demo --remote-kubeconfig %s --yes", here.Kubeconfig()); !strings.Contains(out, "has the cluster itself") {
		t.Error(out)
	}
	if out := here.scylla(0, "remote add eu demo -n demo %s --dry-run=client", to); strings.Count(out, "(dry run)") != 5 {
		t.Error(out)
	}
	if out := here.scylla(2, "remote add eu demo -n demo %s", to); !strings.Contains(out, "cannot ask for confirmation") {
		t.Error(out)
	}
	if _, err := here.secret("eu"); !apierrors.IsNotFound(err) {
		t.Fatalf("a dry run, or one that nobody confirmed, has made the Secret: %v", err)
	}
	if out := here.scylla(0, "remote list"); !strings.Contains(out, "no remotes") {
		t.Error(out)
	}

	here.scylla(0, "remote add eu -n demo %s --yes", to) // the only cluster of the namespace
	here.scylla(0, "remote add eu demo -n demo %s --yes", to)
	if out := here.scylla(0, "remote list"); !strings.Contains(out, "eu") || !strings.Contains(out, there.RESTConfig().Host) || strings.Count(out, "\n") != 2 {
		t.Error(out)
	}
	if out := here.scylla(3, "remote check eu"); !strings.Contains(out, "no report of demo in namespace demo there") {
		t.Error(out)
	}
	there.create(&api.ScyllaDBDatacenterNodesStatusReport{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "demo-dc2", Labels: map[string]string{api.LabelReportSelector: "demo"}}, DatacenterName: "dc2",
		Racks: []api.RackReport{{Name: "r", Nodes: []api.NodeReport{{HostID: ptr.To(host), ObservedNodes: []api.ObservedNode{{HostID: host, Status: api.NodeStatusUp}}}}}},
	})
	if out := here.scylla(0, "remote check"); !strings.Contains(out, "1 reports of demo") {
		t.Error(out)
	}
	leastRights(here)

	// The controller reads the remote with the Secret, and copies its own report there.
	here.controls()
	copied, pushed := scope.ObjectName("demo", "eu", "dc2", "external"), scope.ObjectName("demo", "dc1", "external")
	here.until("the report of there", func(ctx context.Context) error {
		return here.Get(ctx, client.ObjectKey{Namespace: "demo", Name: copied}, &api.ScyllaDBDatacenterNodesStatusReport{})
	})
	there.until("our report there", func(ctx context.Context) error {
		return there.Get(ctx, client.ObjectKey{Namespace: "demo", Name: pushed}, &api.ScyllaDBDatacenterNodesStatusReport{})
	})

	if out := here.scylla(2, "remote remove eu %s", to); !strings.Contains(out, "cannot ask for confirmation") {
		t.Error(out)
	}
	if out := here.scylla(0, "remote remove eu %s --dry-run=client", to); strings.Count(out, "(dry run)") != 6 {
		t.Error(out)
	}
	if _, err := here.secret("eu"); err != nil {
		t.Fatal(err)
	}
	if out := here.scylla(0, "remote remove eu %s --yes", to); strings.Count(out, "deleted") != 6 {
		t.Error(out)
	}
	if err := there.Get(t.Context(), client.ObjectKey{Namespace: "demo", Name: pushed}, &api.ScyllaDBDatacenterNodesStatusReport{}); !apierrors.IsNotFound(err) {
		t.Errorf("our report is left behind there: %v", err)
	}
	if _, err := here.secret("eu"); !apierrors.IsNotFound(err) {
		t.Errorf("the Secret is still there: %v", err)
	}
	var accounts corev1.ServiceAccountList
	if err := there.List(t.Context(), &accounts, client.InNamespace("demo"), client.HasLabels{"app.kubernetes.io/part-of"}); err != nil || len(accounts.Items) > 0 {
		t.Errorf("accounts that are left: %v, %v", accounts.Items, err)
	}
	here.until("the copy to go", func(ctx context.Context) error {
		err := here.Get(ctx, client.ObjectKey{Namespace: "demo", Name: copied}, &api.ScyllaDBDatacenterNodesStatusReport{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %w", err)
	})
	here.scylla(1, "remote remove eu --yes")
}

// says plays reporter and kubelet: the member's row, and its Pod whose containers run and are ready.
func (s *side) says(row api.NodeStatusReport) {
	s.Helper()
	s.until("a row of "+member, func(ctx context.Context) error {
		p := &corev1.Pod{}
		if err := s.Get(ctx, client.ObjectKey{Namespace: "demo", Name: member}, p); err != nil {
			return err
		}
		before := p.DeepCopy()
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, api.AnnotationNodeStatusReport, *stage.RowText(s, row))
		if err := s.Patch(ctx, p, client.MergeFrom(before)); err != nil {
			return err
		}
		before = p.DeepCopy()
		running := func(name string) []corev1.ContainerStatus {
			return []corev1.ContainerStatus{{Name: name, Image: "x", ImageID: "x", Ready: true, Started: new(true),
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
		}
		p.Status.Phase, p.Status.PodIP, p.Status.PodIPs = corev1.PodRunning, "192.0.2.1", []corev1.PodIP{{IP: "192.0.2.1"}}
		p.Status.InitContainerStatuses, p.Status.ContainerStatuses = running(api.ContainerReporter), running(api.ContainerScyllaDB)
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		return s.Status().Patch(ctx, p, client.MergeFrom(before))
	})
}

// rows are the rows of the datacenter's report, once every node in them sees the one of there with that status.
func (s *side) rows(dc string, status api.NodeStatus) (out api.StatusReportDatacenter) {
	s.Helper()
	s.until("the report of "+dc, func(ctx context.Context) error {
		out = api.StatusReportDatacenter{Name: dc}
		r := &api.ScyllaDBDatacenterNodesStatusReport{}
		if err := s.Get(ctx, client.ObjectKey{Namespace: "demo", Name: scope.ObjectName("demo", dc)}, r); err != nil {
			return err
		}
		for _, rack := range r.Racks {
			for _, n := range rack.Nodes {
				cells := stage.Cells(n.ObservedNodes)
				if n.HostID == nil || !slices.Contains(cells, api.ObservedNodeStatusReport{HostID: host, Status: status}) {
					return fmt.Errorf("row %+v", n)
				}
				out.Nodes = append(out.Nodes, api.StatusReportNode{HostID: *n.HostID, ObservedNodes: cells})
			}
		}
		if len(out.Nodes) == 0 {
			return errors.New("no rows")
		}
		return nil
	})
	return out
}

// TestDatacentersJoinedByAReport: another program makes one report of the datacenters on two control planes, and the Secret of the remote names it. A
// barrier without a flag judges by that report alone, by name: it waits while there is none and while the node of the other datacenter is DOWN, and opens
// once all are UP, without a permit. The name goes with the remote.
func TestDatacentersJoinedByAReport(t *testing.T) {
	const joined, newcomer = "everywhere", "demo-rack1-1"
	here, there := newSide(t), newSide(t)
	for dc, s := range map[string]*side{"dc1": here, "dc2": there} {
		s.scylla(0, "install --no-controller --yes")
		set := statefulSet()
		for _, labels := range []map[string]string{set.Labels, set.Spec.Selector.MatchLabels, set.Spec.Template.Labels} {
			labels[api.LabelDatacenter] = dc
		}
		set.Spec.Template.Spec.InitContainers = []corev1.Container{
			{Name: api.ContainerReporter, Image: "x", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}, {Name: api.ContainerBarrier, Image: "x"},
		}
		if s == here {
			set.Spec.Replicas = ptr.To(int32(2))
		}
		s.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}, set)
		s.controls()
	}
	own := hostid.ID(stage.UUID("here"))
	row := func(id hostid.ID, status api.NodeStatus) api.NodeStatusReport {
		return api.NodeStatusReport{HostID: id, OperationMode: "NORMAL", OwnsTokens: new(true), Heartbeat: &api.ReportHeartbeat{Port: 8083, Fingerprint: strings.Repeat("a", 64)},
			ObservedNodes: append(stage.Sees(api.NodeStatusUp, string(own)), stage.Sees(status, host)...)}
	}
	here.says(row(own, api.NodeStatusUp))
	there.says(row(host, api.NodeStatusDown)) // of a ScyllaDB that starts
	if out := here.scylla(2, "remote add eu demo -n demo --remote-kubeconfig %s --status-report demo --yes", there.Kubeconfig()); !strings.Contains(out, "its barriers use anyway") {
		t.Error(out)
	}
	if out := here.scylla(2, "remote add eu demo -n demo --remote-kubeconfig %s --status-report Every/where --yes", there.Kubeconfig()); !strings.Contains(out, "must be the name of a ScyllaDBStatusReport") {
		t.Error(out)
	}
	here.scylla(0, "remote add eu demo -n demo --remote-kubeconfig %s --status-report %s --yes", there.Kubeconfig(), joined)
	named := func(want string) {
		t.Helper()
		here.until("the report on the member Service", func(ctx context.Context) error {
			svc := &corev1.Service{}
			if err := here.Get(ctx, client.ObjectKey{Namespace: "demo", Name: newcomer}, svc); err != nil {
				return err
			}
			if got := svc.Annotations[api.AnnotationStatusReportOverrideRef]; got != want {
				return fmt.Errorf("it names %q, want %q", got, want)
			}
			return nil
		})
	}
	named(joined)

	lines, done, dir := &output.Buffer{}, make(chan error, 1), t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		done <- barrier.Run(ctx, barrier.Options{
			NewClient: func() (client.WithWatch, error) { return kube.NewClient(here.RESTConfig()) }, Namespace: "demo", Service: newcomer,
			QueryFile: filepath.Join(dir, "none"), DataDir: dir, LeaseNamespace: manifests.Namespace, Stabilisation: new(time.Duration(0)),
			Ask: func(context.Context, string, string) error { return nil }, Log: slog.New(slog.NewJSONHandler(lines, nil)),
		})
	}()
	ended := false
	defer func() {
		if cancel(); !ended {
			<-done
		}
	}()
	waits := func(why string) {
		t.Helper()
		here.until("the barrier to wait: "+why, func(context.Context) error {
			select {
			case err := <-done:
				ended = true
				t.Fatalf("the barrier ended: %v\n%s", err, lines)
			default:
			}
			if !strings.Contains(lines.String(), why) {
				return errors.New(lines.String())
			}
			return nil
		})
	}
	waits("cluster report " + joined + " is named by annotation")

	report := &api.ScyllaDBStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: joined}}
	report.Datacenters = []api.StatusReportDatacenter{here.rows("dc1", api.NodeStatusUp), there.rows("dc2", api.NodeStatusDown)}
	here.create(report)
	waits("NodeDown: ")

	there.says(row(host, api.NodeStatusUp))
	report.Datacenters[1] = there.rows("dc2", api.NodeStatusUp)
	if err := here.Update(t.Context(), report); err != nil {
		t.Fatal(err)
	}
	here.until("the barrier to open", func(context.Context) error {
		select {
		case err := <-done:
			ended = true
			if by := "policy reports: annotation " + api.AnnotationStatusReportOverrideRef + " names ScyllaDBStatusReport " + joined; err != nil || !strings.Contains(lines.String(), by) {
				t.Errorf("the barrier ended with %v and does not say %q:\n%s", err, by, lines)
			}
			return nil
		default:
			return errors.New(lines.String())
		}
	})

	here.scylla(0, "remote remove eu --remote-kubeconfig %s --yes", there.Kubeconfig())
	named("")
}

// leastRights tries requests that the account must not be able to make.
func leastRights(here *side) {
	here.Helper()
	s, err := here.secret("eu")
	if err != nil {
		here.Fatal(err)
	}
	config, err := shared.FromSecret(s)
	if err != nil {
		here.Fatal(err)
	}
	cfg, err := config.RESTConfig()
	if err != nil {
		here.Fatal(err)
	}
	c, err := kube.NewClient(cfg)
	if err != nil {
		here.Fatal(err)
	}
	for what, err := range map[string]error{
		"Secrets":              c.List(here.Context(), &corev1.SecretList{}, client.InNamespace("demo")),
		"Pods":                 c.List(here.Context(), &corev1.PodList{}, client.InNamespace("demo")),
		"Services":             c.List(here.Context(), &corev1.ServiceList{}, client.InNamespace("demo")),
		"reports elsewhere":    c.List(here.Context(), &api.ScyllaDBDatacenterNodesStatusReportList{}, client.InNamespace("default")),
		"the cluster's report": c.List(here.Context(), &api.ScyllaDBStatusReportList{}, client.InNamespace("demo")),
	} {
		if !apierrors.IsForbidden(err) {
			here.Errorf("the account may read %s: %v", what, err)
		}
	}
}
