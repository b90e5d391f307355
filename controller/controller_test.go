// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/controller"
	"github.com/kubectl-scylla/kubectl-scylla/controller/scope"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/plane"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/output"
)

// place is one Kubernetes cluster with the controller's rights installed.
type place struct {
	t *testing.T
	*cluster.Cluster
	client client.WithWatch
}

func start(t *testing.T) *place {
	t.Helper()
	c := plane.Start(t)
	cl, err := kube.NewClient(c.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return &place{t: t, Cluster: c, client: cl}
}

// must fails the test on an error.
func (p *place) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// kubectl runs it with that input.
func (p *place) kubectl(input string, args ...string) {
	p.t.Helper()
	if out, err := p.KubectlInput(p.t.Context(), input, args...); err != nil {
		p.t.Fatal(out, err)
	}
}

// install applies the shipped kinds and rights, without the Deployment, for these namespaces or for all.
func (p *place) install(namespaces ...string) {
	p.t.Helper()
	p.installWith(manifests.Options{Namespaces: namespaces})
}

func (p *place) installWith(o manifests.Options) {
	p.t.Helper()
	objs, err := manifests.Objects(o)
	p.must(err)
	var text strings.Builder
	for _, o := range objs {
		b, err := o.MarshalJSON()
		p.must(err)
		text.Write(b)
		text.WriteString("\n---\n")
	}
	p.kubectl(text.String(), "apply", "-f", "-")
	p.kubectl("", "wait", "--for=condition=Established", "--timeout=30s", "crd", "--all")
}

// asController is a configuration with exactly the rights that are shipped.
func (p *place) asController() *rest.Config {
	cfg := p.RESTConfig()
	cfg.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + manifests.Namespace + ":kubectl-scylla-controller",
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + manifests.Namespace, "system:authenticated"},
	}
	return cfg
}

func (p *place) create(objs ...client.Object) {
	p.t.Helper()
	for _, o := range objs {
		p.must(p.client.Create(p.t.Context(), o))
	}
}

// namespace creates it with these objects.
func (p *place) namespace(objs ...client.Object) {
	p.t.Helper()
	p.create(append([]client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}}, objs...)...)
}

// eventually waits until the check returns no error; at the end it fails with the last one.
func (p *place) eventually(what string, cond func(ctx context.Context) error) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	err := cluster.WaitFor(ctx, what, 50*time.Millisecond, func(ctx context.Context) (bool, string, error) {
		err := cond(ctx)
		return err == nil, "", err
	})
	p.must(err)
}

func (p *place) get(ctx context.Context, ns, name string, o client.Object) error {
	return p.client.Get(ctx, types.NamespacedName{Namespace: ns, Name: name}, o)
}

// absent is nil once an object is gone.
func (p *place) absent(ctx context.Context, name string, o client.Object) error {
	if err := p.get(ctx, "demo", name, o); !apierrors.IsNotFound(err) {
		return fmt.Errorf("%T %s: %w", o, name, errors.Join(err, errors.New("is still there")))
	}
	return nil
}

// find is nil if there is an Event that is so; event waits for it.
func (p *place) find(ctx context.Context, is func(e eventsv1.Event) bool) error {
	var l eventsv1.EventList
	if err := p.client.List(ctx, &l, client.InNamespace("demo")); err != nil || slices.ContainsFunc(l.Items, is) {
		return err
	}
	return fmt.Errorf("%d Events, none of it", len(l.Items))
}

func (p *place) event(what string, is func(e eventsv1.Event) bool) {
	p.t.Helper()
	p.eventually("an Event "+what, func(ctx context.Context) error { return p.find(ctx, is) })
}

// report waits for a cluster report that is so.
func (p *place) report(what string, is func(s *api.ScyllaDBStatusReportStatus) bool) (r api.ScyllaDBStatusReport) {
	p.t.Helper()
	p.eventually(what, func(ctx context.Context) error {
		r = api.ScyllaDBStatusReport{}
		if err := p.get(ctx, "demo", "demo", &r); err != nil || is(&r.Status) {
			return err
		}
		return fmt.Errorf("status %+v", r.Status)
	})
	return r
}

// say plays reporter and kubelet: the row, and a Pod whose containers run and are ready.
func (p *place) say(pod, row string) {
	p.t.Helper()
	p.eventually("a row of "+pod, func(ctx context.Context) error {
		o := &corev1.Pod{}
		if err := p.get(ctx, "demo", pod, o); err != nil {
			return err
		}
		before := o.DeepCopy()
		if o.Annotations == nil {
			o.Annotations = map[string]string{}
		}
		o.Annotations[api.AnnotationNodeStatusReport] = row
		if err := p.client.Patch(ctx, o, client.MergeFrom(before)); err != nil {
			return err
		}
		if len(o.Status.InitContainerStatuses) > 0 {
			return nil
		}
		before = o.DeepCopy()
		o.Status = runs(corev1.ContainerStatus{Image: "x", ImageID: "x"}, []string{api.ContainerReporter})
		return p.client.Status().Patch(ctx, o, client.MergeFrom(before))
	})
}

// runs is the status of a Pod whose containers run and are ready; like has their other fields.
func runs(like corev1.ContainerStatus, init []string) corev1.PodStatus {
	running := func(names ...string) (out []corev1.ContainerStatus) {
		for _, like.Name = range names {
			like.Ready, like.Started = true, ptr.To(true)
			like.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
			out = append(out, like)
		}
		return out
	}
	return corev1.PodStatus{
		Phase: corev1.PodRunning, InitContainerStatuses: running(init...), ContainerStatuses: running(api.ContainerScyllaDB),
		Conditions: []corev1.PodCondition{
			{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionTrue},
		},
	}
}

func (p *place) condition(kind string, want metav1.ConditionStatus, words string) {
	p.t.Helper()
	p.report(fmt.Sprintf("condition %s=%s with %q", kind, want, words), func(s *api.ScyllaDBStatusReportStatus) bool {
		c := meta.FindStatusCondition(s.Conditions, kind)
		return c != nil && c.Status == want && strings.Contains(c.Message, words)
	})
}

func rack(name string) *appsv1.StatefulSet {
	l := map[string]string{api.LabelCluster: "demo", api.LabelDatacenter: "dc1", api.LabelRack: name}
	s := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "demo-" + name, Labels: map[string]string{api.LabelManagedBy: api.ManagedByUs}}}
	maps.Copy(s.Labels, l)
	s.Spec = appsv1.StatefulSetSpec{
		Replicas: ptr.To(int32(1)), ServiceName: "demo", PodManagementPolicy: appsv1.ParallelPodManagement, Selector: &metav1.LabelSelector{MatchLabels: l},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: l}, Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: api.ContainerReporter, Image: "x", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)}},
			Containers:     []corev1.Container{{Name: api.ContainerScyllaDB, Image: "x"}},
		}},
	}
	return s
}

func row(own string, down string, ids ...string) string {
	r := &api.NodeStatusReport{HostID: hostid.ID(own), OwnsTokens: ptr.To(true), OperationMode: "NORMAL"}
	for _, id := range ids {
		s := api.NodeStatusUp
		if id == down {
			s = api.NodeStatusDown
		}
		r.ObservedNodes = append(r.ObservedNodes, api.ObservedNodeStatusReport{HostID: hostid.ID(id), Status: s})
	}
	text, err := api.EncodeNodeStatusReport(r)
	if err != nil {
		panic(err)
	}
	return text
}

// run is a controller in this process.
type run struct {
	health, metrics string
	cancel          context.CancelFunc
	done            chan error
	log             *output.Buffer
}

var ports atomic.Int32

// ownHost is an address of this machine that no other process uses: the process ID is in it.
func ownHost() string {
	pid := os.Getpid()
	return fmt.Sprintf("127.%d.%d.%d", 1+pid>>16, pid>>8&255, pid&255)
}

// ownAddress has a port below those that the system gives away.
func ownAddress() string { return net.JoinHostPort(ownHost(), strconv.Itoa(20_000+int(ports.Add(1)))) }

func (p *place) run() *run { return p.runBy(p.asController()) }

// runBy also changes how the API server is reached, and which namespaces are managed.
func (p *place) runBy(cfg *rest.Config, namespaces ...string) *run {
	p.t.Helper()
	return p.runWith(cfg, func(o *controller.Options) { o.Namespaces = namespaces })
}

func (p *place) runWith(cfg *rest.Config, set func(*controller.Options)) *run {
	p.t.Helper()
	r := &run{health: ownAddress(), metrics: ownAddress(), done: make(chan error, 1), log: &output.Buffer{}}
	o := controller.DefaultOptions()
	o.HealthProbeBindAddress, o.MetricsBindAddress = r.health, r.metrics
	o.LeaseDuration, o.RenewDeadline, o.RetryPeriod = 3*time.Second, 2*time.Second, 200*time.Millisecond
	o.RemoteStaleAfter = 20 * time.Second
	set(&o)
	o.Log = slog.New(slog.NewTextHandler(r.log, nil))
	ctx, cancel := context.WithCancel(p.t.Context())
	r.cancel = cancel
	go func() { r.done <- controller.Run(ctx, cfg, o) }()
	p.t.Cleanup(func() {
		cancel()
		<-r.done
		if p.t.Failed() {
			_, _ = io.WriteString(os.Stderr, r.log.String())
		}
	})
	return r
}

// stop ends a controller as a Pod's end does.
func (r *run) stop(t *testing.T) {
	t.Helper()
	r.cancel()
	err := <-r.done
	r.done <- nil // for the cleanup
	if err != nil {
		t.Errorf("run: %v", err)
	}
}

func get(ctx context.Context, url string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, string(b), err
}

func (r *run) ready(ctx context.Context) error {
	code, body, err := get(ctx, "http://"+r.health+"/readyz")
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("%d %s", code, body)
	}
	return err
}

const h0, h1, h9 = "00000000-0000-4000-8000-000000000000", "11111111-0000-4000-8000-000000000000", "99999999-0000-4000-8000-000000000000"

func TestControllerWithTheRightsThatAreShipped(t *testing.T) {
	p := start(t)

	missing := controller.DefaultOptions()
	missing.HealthProbeBindAddress, missing.MetricsBindAddress = "0", "0"
	if err := controller.Run(t.Context(), p.RESTConfig(), missing); err == nil || !strings.Contains(exit.Message(err), "kubectl scylla install") {
		t.Fatalf("without the kinds: %v", err)
	}

	p.install()
	p.namespace(rack("rack1"), rack("rack2"))
	before := goleak.IgnoreCurrent()
	first := p.run()
	p.eventually("readiness", first.ready)

	for _, member := range []string{"demo-rack1-0", "demo-rack2-0"} {
		p.eventually("a Service of "+member, func(ctx context.Context) error {
			return p.get(ctx, "demo", member, &corev1.Service{})
		})
	}
	p.say("demo-rack1-0", row(h0, "", h0, h1))
	p.say("demo-rack2-0", row(h1, "", h0, h1))
	p.condition(api.ConditionAllNodesUp, metav1.ConditionTrue, "2 nodes")
	s := &corev1.Service{}
	p.must(p.get(t.Context(), "demo", "demo-rack1-0", s))
	if s.Annotations[api.AnnotationHostID] != h0 || s.Annotations[api.AnnotationNodeJoined] != "true" {
		t.Errorf("annotations %v", s.Annotations)
	}
	if out, err := p.Kubectl(t.Context(), "-n", "demo", "get", "scylladbstatusreports"); err != nil || !strings.Contains(out, "2/2") {
		t.Errorf("printer columns: %v\n%s", err, out)
	}

	p.say("demo-rack1-0", row(h0, h1, h0, h1))
	p.condition(api.ConditionAllNodesUp, metav1.ConditionFalse, "demo-rack1-0")
	p.say("demo-rack1-0", row(h0, "", h0, h1))
	p.condition(api.ConditionAllNodesUp, metav1.ConditionTrue, "")

	p.say("demo-rack2-0", "nope")
	p.condition(api.ConditionRowsDecoded, metav1.ConditionFalse, "demo/demo-rack2-0")
	p.event("about the Pod", func(e eventsv1.Event) bool {
		return e.Reason == "NodeStatusReportMalformed" && e.Regarding.Name == "demo-rack2-0"
	})
	p.say("demo-rack2-0", row(h1, "", h0, h1))
	p.condition(api.ConditionRowsDecoded, metav1.ConditionTrue, "")
	p.condition(api.ConditionAllNodesUp, metav1.ConditionTrue, "")

	name := scope.ObjectName("demo", "dc1")
	report := &api.ScyllaDBDatacenterNodesStatusReport{}
	p.must(p.get(t.Context(), "demo", name, report))
	p.must(p.client.Delete(t.Context(), report))
	p.eventually("the report again", func(ctx context.Context) error {
		again := &api.ScyllaDBDatacenterNodesStatusReport{}
		if err := p.get(ctx, "demo", name, again); err != nil || again.UID != report.UID && len(again.Racks) == 2 {
			return err
		}
		return errors.New("it is still the old one")
	})

	// Both members run, so a force that somebody has left on one is spent, and is taken back.
	running := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "demo-rack1-0"}}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, api.AnnotationForceProceed, api.ForceProceedValue)
	p.must(p.client.Patch(t.Context(), running, client.RawPatch(types.MergePatchType, patch)))
	p.eventually("the force of a running member to be gone", func(ctx context.Context) error {
		err := p.get(ctx, "demo", "demo-rack1-0", running)
		if err != nil || running.Annotations[api.AnnotationForceProceed] == "" {
			return err
		}
		return errors.New("it is still there")
	})

	code, body, err := get(t.Context(), "http://"+first.metrics+"/metrics")
	if err != nil || code != http.StatusOK || !strings.Contains(body, `kubectl_scylla_cluster_nodes{cluster="demo",namespace="demo"} 2`) ||
		!strings.Contains(body, `kubectl_scylla_cluster_all_up{cluster="demo",namespace="demo"} 1`) {
		t.Errorf("metrics: %d, %v", code, err)
	}

	// A second one waits, ready, and takes over as soon as the first has gone.
	second := p.run()
	p.eventually("readiness of the second", second.ready)
	holder, _, _ := p.lease(t.Context())
	first.stop(t)
	p.eventually("a new leader", func(ctx context.Context) error {
		if now, _, _ := p.lease(ctx); now == holder || now == "" {
			return fmt.Errorf("held by %q", now)
		}
		return nil
	})
	p.say("demo-rack1-0", row(h0, h1, h0, h1))
	p.condition(api.ConditionAllNodesUp, metav1.ConditionFalse, "demo-rack1-0")

	// The reports of a cluster that is gone go too.
	for _, s := range []string{"rack1", "rack2"} {
		p.must(p.client.Delete(t.Context(), rack(s)))
	}
	p.eventually("no reports", func(ctx context.Context) error {
		var l api.ScyllaDBDatacenterNodesStatusReportList
		if err := p.client.List(ctx, &l); err != nil || len(l.Items) > 0 {
			return errors.Join(err, fmt.Errorf("%d are left", len(l.Items)))
		}
		return p.absent(ctx, "demo", &api.ScyllaDBStatusReport{})
	})
	second.stop(t)
	p.eventually("the Lease given back", func(ctx context.Context) error {
		if now, _, _ := p.lease(ctx); now != "" {
			return fmt.Errorf("held by %q", now)
		}
		return nil
	})
	http.DefaultClient.CloseIdleConnections()
	goleak.VerifyNone(t, before, goleak.IgnoreAnyFunction("net/http/internal/http2.(*ClientConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*http2ClientConn).readLoop"))
	if strings.Contains(second.log.String(), "forbidden") || strings.Contains(first.log.String(), "forbidden") {
		t.Errorf("a right is missing:\n%s\n%s", first.log, second.log)
	}
}

func TestADatacenterInAnotherKubernetesCluster(t *testing.T) {
	t.Parallel()
	here, there := start(t), start(t)
	here.install()
	there.install()
	here.namespace(rack("rack1"))
	there.namespace(&api.ScyllaDBDatacenterNodesStatusReport{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "demo", Name: "demo-dc2", Labels: map[string]string{api.LabelReportSelector: "demo"}},
		DatacenterName: "dc2",
		Racks: []api.RackReport{{Name: "r", Nodes: []api.NodeReport{{HostID: ptr.To(h9), ObservedNodes: []api.ObservedNode{
			{HostID: h0, Status: api.NodeStatusUp}, {HostID: h9, Status: api.NodeStatusUp}}}}}},
	})
	kubeconfig, err := os.ReadFile(there.Kubeconfig())
	here.must(err)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: manifests.Namespace, Name: "demo-eu",
			Labels:      map[string]string{api.LabelRemoteKubeconfig: "eu", api.LabelCluster: "demo"},
			Annotations: map[string]string{api.AnnotationRemoteLocalNamespace: "demo"}},
		Data: map[string][]byte{api.KeyKubeconfig: kubeconfig},
	}
	here.create(secret)
	r := here.run()
	here.say("demo-rack1-0", row(h0, "", h0, h9))
	here.condition(api.ConditionAllNodesUp, metav1.ConditionTrue, "2 nodes")
	here.condition(api.ConditionRemotesReachable, metav1.ConditionTrue, "1 remotes")
	copied := scope.ObjectName("demo", "eu", "dc2", "external")
	if err := here.get(t.Context(), "demo", copied, &api.ScyllaDBDatacenterNodesStatusReport{}); err != nil {
		t.Error(err)
	}
	pushed := scope.ObjectName("demo", "dc1", "external")
	there.eventually("our report there", func(ctx context.Context) error {
		c := &api.ScyllaDBDatacenterNodesStatusReport{}
		if err := there.get(ctx, "demo", pushed, c); err != nil || len(c.Racks) == 1 && len(c.Racks[0].Nodes) == 1 {
			return err
		}
		return fmt.Errorf("it says %+v", c.Racks)
	})

	here.must(there.KillAPIServer())
	here.condition(api.ConditionRemotesReachable, metav1.ConditionFalse, "eu")
	here.condition(api.ConditionAllNodesUp, metav1.ConditionFalse, "dc2")
	report := &api.ScyllaDBStatusReport{}
	here.must(here.get(t.Context(), "demo", "demo", report))
	if len(report.Datacenters) != 2 || !report.Datacenters[1].Stale || len(report.Datacenters[1].Nodes) != 1 || report.Datacenters[1].Nodes[0].MembershipDigest == "" && len(report.Datacenters[1].Nodes[0].ObservedNodes) == 0 {
		t.Errorf("the last rows are gone: %+v", report.Datacenters)
	}
	here.must(there.StartAPIServer(t.Context()))
	here.condition(api.ConditionAllNodesUp, metav1.ConditionTrue, "2 nodes")

	here.must(here.client.Delete(t.Context(), secret))
	here.eventually("both copies gone", func(ctx context.Context) error {
		return errors.Join(here.absent(ctx, copied, &api.ScyllaDBDatacenterNodesStatusReport{}),
			there.absent(ctx, pushed, &api.ScyllaDBDatacenterNodesStatusReport{}))
	})
	for _, text := range []string{"client-key-data", "client-certificate-data", "token:"} {
		if strings.Contains(r.log.String(), text) {
			t.Errorf("the log has %q", text)
		}
	}
}
