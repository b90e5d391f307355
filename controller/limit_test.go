// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/heartbeat"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/pinned"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster/image"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/memory"
)

const (
	crowd    = 1000     // nodes
	atRest   = 96 << 20 // bytes, once every reporter has been asked a few times and nothing changes
	few      = 48 << 20 // bytes at most with three nodes
	perRack  = 250
	allTries = 3 * time.Minute // on a machine that does other work; it takes a tenth of that
)

// shipped is the controller's container as `install` applies it.
func (p *place) shipped() corev1.Container {
	p.t.Helper()
	objects, err := manifests.Objects(manifests.Options{Image: "x"})
	p.must(err)
	d := &appsv1.Deployment{}
	at := slices.IndexFunc(objects, func(u *unstructured.Unstructured) bool { return u.GetKind() == "Deployment" })
	p.must(runtime.DefaultUnstructuredConverter.FromUnstructured(objects[at].Object, d))
	return d.Spec.Template.Spec.Containers[0]
}

// reporters answers heartbeats for every node of the crowd, each at an address of its own.
type reporters struct {
	port        int32
	fingerprint string
	rows        sync.Map // address -> row
	beats       atomic.Int64
	nodes       int // in each row
}

func (p *place) newReporters(nodes int) *reporters {
	p.t.Helper()
	key, err := pinned.NewKey("crowd")
	p.must(err)
	// All of 127.0.0.0/8 is this machine; a listener on one of these addresses would accept connections to that address alone.
	l, err := (&net.ListenConfig{}).Listen(p.t.Context(), "tcp4", ":0")
	p.must(err)
	r := &reporters{port: int32(l.Addr().(*net.TCPAddr).Port), fingerprint: key.Fingerprint, nodes: nodes}
	ctx, cancel := context.WithCancel(context.WithoutCancel(p.t.Context()))
	ended := make(chan error, 1)
	go func() {
		ended <- pinned.Serve(ctx, l, bounded.Connections{Total: 2 * crowd, PerAddress: 2 * crowd}, key, r, slog.New(slog.DiscardHandler))
	}()
	p.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			p.t.Error(err)
		}
	})
	return r
}

func (r *reporters) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	host, _, err := net.SplitHostPort(req.Context().Value(http.LocalAddrContextKey).(net.Addr).String())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	row, _ := r.rows.Load(host)
	text, _ := row.(string)
	w.Header().Set("ETag", strconv.Quote(api.ReportDigest(text)))
	w.Header().Set(heartbeat.Header, strconv.FormatInt(r.beats.Add(1), 10))
	w.WriteHeader(http.StatusNotModified)
}

func crowdID(i int) string      { return fmt.Sprintf("11111111-1111-4111-8111-%012d", i) }
func crowdAddress(i int) string { return fmt.Sprintf("127.1.%d.%d", i/200, i%200+1) }

// crowdRow is the row of node i, as its reporter writes it; down is the node that it sees DOWN, -1 for none.
func (r *reporters) crowdRow(t *testing.T, i, down int) string {
	row := &api.NodeStatusReport{
		HostID: hostid.ID(crowdID(i)), OwnsTokens: ptr.To(true), OperationMode: "NORMAL", ScyllaVersion: "2026.2.0-0.20260901.0123456789ab", Coordinator: hostid.ID(crowdID(0)),
		Heartbeat: &api.ReportHeartbeat{Port: r.port, Fingerprint: r.fingerprint},
	}
	for j := range r.nodes {
		seen := api.ObservedNodeStatusReport{HostID: hostid.ID(crowdID(j)), Status: api.NodeStatusUp}
		if j == down {
			seen.Status, seen.Since = api.NodeStatusDown, &metav1.Time{Time: time.Unix(1_700_000_000, 0).UTC()}
		}
		row.ObservedNodes = append(row.ObservedNodes, seen)
	}
	text, err := api.EncodeNodeStatusReport(row)
	if err != nil {
		t.Error(err)
	}
	r.rows.Store(crowdAddress(i), text)
	return text
}

// crowdPod is a Pod as an injected StatefulSet makes it, and its status as a kubelet writes it.
func crowdPod(set *appsv1.StatefulSet, ordinal, i int, row string) *corev1.Pod {
	var env []corev1.EnvVar
	for n := range 30 {
		env = append(env, corev1.EnvVar{Name: fmt.Sprintf("SOME_SETTING_%d", n), Value: strings.Repeat("value ", 8)})
	}
	container := func(name string, args ...string) corev1.Container {
		return corev1.Container{
			Name: name, Image: "docker.io/scylladb/scylla:2026.2.0", Command: []string{"/mnt/shared/scylla-agent"}, Args: args, Env: env,
			VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/var/lib/scylla"}, {Name: "shared", MountPath: "/mnt/shared"}},
		}
	}
	reporter := container(api.ContainerReporter, "reporter")
	reporter.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
	status := runs(corev1.ContainerStatus{
		Image: "docker.io/scylladb/scylla:2026.2.0", ImageID: "sha256:" + strings.Repeat("0", 64),
		ContainerID: "containerd://" + strings.Repeat("0", 64),
	}, []string{api.ContainerReporter, api.ContainerBarrier})
	status.PodIP, status.PodIPs = crowdAddress(i), []corev1.PodIP{{IP: crowdAddress(i)}}
	labels := maps.Clone(set.Spec.Selector.MatchLabels)
	labels[appsv1.StatefulSetPodNameLabel] = fmt.Sprintf("%s-%d", set.Name, ordinal)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, Name: fmt.Sprintf("%s-%d", set.Name, ordinal), Labels: labels,
			Annotations:     map[string]string{api.AnnotationNodeStatusReport: row, "example.com/notes": strings.Repeat("x", 2000)},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: set.Name, UID: set.UID, Controller: ptr.To(true)}},
		},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: ptr.To(false), InitContainers: []corev1.Container{reporter, container(api.ContainerBarrier, "barrier")},
			Containers: []corev1.Container{container(api.ContainerScyllaDB, "launch", "--", "/docker-entrypoint.py")},
			Volumes: []corev1.Volume{
				{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
				{Name: "shared", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			},
		},
		Status: status,
	}
}

// crowdService is a member Service as the controller has created and annotated it.
func crowdService(set *appsv1.StatefulSet, ordinal, i int) *corev1.Service {
	labels := maps.Clone(set.Spec.Selector.MatchLabels)
	labels[api.LabelManagedBy], labels[api.LabelServiceType], labels[api.LabelRackOrdinal] = api.ManagedByUs, api.ServiceTypeMember, strconv.Itoa(ordinal)
	name := fmt.Sprintf("%s-%d", set.Name, ordinal)
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, Name: name, Labels: labels, Annotations: map[string]string{api.AnnotationHostID: crowdID(i), api.AnnotationNodeJoined: "true"},
		},
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: map[string]string{appsv1.StatefulSetPodNameLabel: name},
			Ports: []corev1.ServicePort{{Name: "cql", Port: 9042}},
		},
	}
}

// crowded fills a control plane with the objects of a cluster of some racks that has long been running.
func (p *place) crowded(r *reporters, racks int) {
	p.t.Helper()
	// They would delete the Pods, which no kubelet runs, and create others.
	for _, name := range []string{"kube-controller-manager", "kube-scheduler"} {
		p.must(p.Component(name).Kill())
	}
	p.namespace(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "default"}})
	var sets []*appsv1.StatefulSet
	each := r.nodes / racks
	for n := range racks {
		set := rack(fmt.Sprintf("rack%d", n))
		set.Spec.Replicas = ptr.To(int32(each))
		p.create(set)
		full := set.DeepCopy()
		full.Status = ready(set)
		p.must(p.client.Status().Update(p.t.Context(), full))
		sets = append(sets, set)
	}
	p.abreast(r.nodes, func(ctx context.Context, c client.Client, i int) error {
		set, ordinal := sets[i/each], i%each
		return errors.Join(c.Create(ctx, crowdService(set, ordinal, i)), r.create(ctx, p.t, c, set, ordinal, i))
	})
}

// ready is the status of a StatefulSet all of whose Pods are ready.
func ready(set *appsv1.StatefulSet) appsv1.StatefulSetStatus {
	n := *set.Spec.Replicas
	return appsv1.StatefulSetStatus{ObservedGeneration: set.Generation, Replicas: n, ReadyReplicas: n, UpdatedReplicas: n, CurrentReplicas: n, AvailableReplicas: n,
		CurrentRevision: "a", UpdateRevision: "a"}
}

// create creates the Pod of node i with its row.
func (r *reporters) create(ctx context.Context, t *testing.T, c client.Client, set *appsv1.StatefulSet, ordinal, i int) error {
	pod := crowdPod(set, ordinal, i, r.crowdRow(t, i, -1))
	status := pod.Status
	if err := c.Create(ctx, pod); err != nil {
		return err
	}
	pod.Status = status
	return c.Status().Update(ctx, pod)
}

// kubeconfig writes the administrator's into a file, with the identity of the controller, and returns its path.
func (p *place) kubeconfig() string {
	p.t.Helper()
	file, as := filepath.Join(p.t.TempDir(), "kubeconfig"), p.asController().Impersonate
	c, err := clientcmd.LoadFromFile(p.Kubeconfig())
	p.must(err)
	for _, user := range c.AuthInfos {
		user.Impersonate, user.ImpersonateGroups = as.UserName, as.Groups
	}
	p.must(clientcmd.WriteToFile(*c, file))
	return file
}

// limited is the shipped controller, with the shipped arguments and environment, in a control group with the shipped memory limit.
type limited struct {
	*place
	group  *memory.Group
	health string
	began  time.Time
	cmd    *exec.Cmd
	ended  chan error
	said   bytes.Buffer // read it after the end only
}

func (p *place) runLimited(agent, kubeconfig string, env ...string) *limited {
	p.t.Helper()
	container := p.shipped()
	l := &limited{place: p, group: memory.NewGroup(p.t, container.Resources.Limits.Memory().Value()), health: ownAddress(), began: time.Now(), ended: make(chan error, 1)}
	args := []string{"--kubeconfig=" + kubeconfig}
	for _, a := range container.Args {
		switch flag, _, _ := strings.Cut(a, "="); flag {
		case "--lease-namespace":
			a = flag + "=" + manifests.Namespace
		case "--health-probe-bind-address":
			a = flag + "=" + l.health
		case "--metrics-bind-address", "--view-bind-address":
			a = flag + "=" + ownAddress()
		}
		args = append(args, a)
	}
	l.cmd = l.group.Command(p.t, agent, args...)
	l.cmd.Stdout, l.cmd.Stderr = &l.said, &l.said
	l.cmd.Env = append(env, "POD_IP="+ownHost())
	for _, e := range container.Env {
		if e.Value != "" {
			l.cmd.Env = append(l.cmd.Env, e.Name+"="+e.Value)
		}
	}
	p.must(l.cmd.Start())
	go func() { l.ended <- l.cmd.Wait() }()
	return l
}

// until waits for a condition while the controller runs.
func (l *limited) until(what string, cond func(context.Context) error) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), allTries)
	defer cancel()
	if err := cluster.WaitFor(ctx, what, 200*time.Millisecond, func(ctx context.Context) (bool, string, error) {
		select {
		case err := <-l.ended:
			killed, _ := l.group.Killed() // killed by a signal: its exit is an error in any case
			l.ended <- err
			return false, "", cluster.Permanent(fmt.Errorf("the controller has ended (%w); the kernel has ended %d processes for want of memory", err, killed))
		default:
		}
		err := cond(ctx)
		return err == nil, "", err
	}); err != nil {
		l.stop(false)
		l.t.Fatalf("%v\n%d MiB at most\n%s", err, l.group.Peak()>>20, l.said.Bytes()[max(0, l.said.Len()-4000):])
	}
}

// stop ends the controller and logs its memory use; well is false where the controller may already have failed.
func (l *limited) stop(well bool) {
	l.t.Helper()
	_ = l.cmd.Process.Signal(syscall.SIGTERM) // it may have exited already
	err := <-l.ended
	l.ended <- err
	killed, unread := l.group.Killed()
	if well && (err != nil || unread != nil || killed > 0) {
		l.t.Errorf("the controller ends with %v; the kernel has ended %d processes for want of memory (%v)", err, killed, unread)
	}
	l.t.Logf("%d MiB at most after %s", l.group.Peak()>>20, time.Since(l.began).Round(100*time.Millisecond))
}

// rests waits until every reporter has been asked a few times since asked, and reads how much memory the controller then holds.
func (l *limited) rests(r *reporters, asked, most int64) {
	l.t.Helper()
	l.until("every reporter asked more than once", func(context.Context) error {
		if n := r.beats.Load() - asked; n < int64(3*r.nodes) {
			return fmt.Errorf("%d heartbeats", n)
		}
		return nil
	})
	now := l.group.Now()
	l.t.Logf("at rest: %d MiB, %d at most so far", now>>20, l.group.Peak()>>20)
	if now > most {
		l.t.Errorf("at rest the controller of %d nodes holds %d MiB, want %d at most", r.nodes, now>>20, most>>20)
	}
}

// sees waits for a report that is kept and that carries a view made from heartbeats.
func (l *limited) sees(what string, up int, condition metav1.ConditionStatus) {
	l.t.Helper()
	l.until(what, func(ctx context.Context) error {
		if holder, keeps, _ := l.lease(ctx); holder == "" || !slices.Contains(keeps, api.KeepMark("demo", "demo")) {
			return fmt.Errorf("the Lease is held by %q and keeps %v", holder, keeps)
		}
		s := &api.ScyllaDBStatusReport{}
		if err := l.get(ctx, "demo", "demo", s); err != nil {
			return err
		}
		n := 0
		for _, m := range ptr.Deref(s.Status.View, api.StatusReportView{}).Members {
			if m.State == api.NodeStatusUp {
				n++
			}
		}
		if c := meta.FindStatusCondition(s.Status.Conditions, api.ConditionAllNodesUp); n != up || c == nil || c.Status != condition {
			return fmt.Errorf("%d are UP in the view, the condition is %+v", n, c)
		}
		return (&run{health: l.health}).ready(ctx)
	})
	l.t.Logf("%s: %d MiB at most so far", what, l.group.Peak()>>20)
}

// The controller starts beside a thousand nodes within the memory limit that is shipped: it becomes leader, asks every reporter, keeps the reports, and follows a
// change. It is started twice: its cache is filled by a stream, and, as from API servers that stream nothing, by one list.
func TestAttack9TheControllerOfAThousandNodesInLittleMemory(t *testing.T) {
	memory.NewGroup(t, 1<<30) // skips before all the work
	p := start(t)
	agent := filepath.Join(t.TempDir(), "scylla-agent")
	p.must(image.BuildBinary(t.Context(), "..", "./cmd/scylla-agent", agent))
	p.install()
	r := p.newReporters(crowd)
	p.crowded(r, crowd/perRack)
	config := p.kubeconfig()

	l := p.runLimited(agent, config, "KUBE_FEATURE_WatchListClient=false")
	l.sees("reports of a controller that was sent a list", crowd, metav1.ConditionTrue)
	l.stop(true)

	asked := r.beats.Load()
	l = p.runLimited(agent, config)
	l.sees("reports of a controller that was sent a stream", crowd, metav1.ConditionTrue)
	l.rests(r, asked, atRest)
	// A node is added, and the controller creates its Service: every row has one node more, so nothing that is known of the rows is of use.
	r.nodes++
	last := &appsv1.StatefulSet{}
	p.must(p.get(t.Context(), "demo", "demo-rack3", last))
	last.Spec.Replicas = ptr.To(int32(perRack + 1))
	p.must(p.client.Update(t.Context(), last))
	last.Status = ready(last)
	p.must(p.client.Status().Update(t.Context(), last))
	p.must(r.create(t.Context(), t, p.client, last, perRack, crowd))
	p.deny(r, -1)
	l.sees("the same with a node added", crowd+1, metav1.ConditionTrue)
	// Every row changes at once, as when a node dies: all of them are sent and decoded anew.
	p.deny(r, crowd-1)
	l.sees("the same with one node DOWN", crowd, metav1.ConditionFalse)
	// A replacement reads the whole cluster from the API server at each step.
	dead := crowdService(rack(fmt.Sprintf("rack%d", (crowd-1)/perRack)), (crowd-1)%perRack, crowd-1)
	p.must(p.client.Patch(t.Context(), dead.DeepCopy(), client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{%q:""}}}`, api.LabelReplace))))
	l.until("word of the replacement", func(ctx context.Context) error {
		return p.find(ctx, func(e eventsv1.Event) bool {
			return e.Regarding.Name == dead.Name && e.Regarding.Kind == "Service"
		})
	})
	l.stop(true)
}

// A controller of three nodes, as most users have, takes little memory.
func TestAttack9TheControllerOfThreeNodesInLittleMemory(t *testing.T) {
	memory.NewGroup(t, 1<<30) // skips before all the work
	p := start(t)
	agent := filepath.Join(t.TempDir(), "scylla-agent")
	p.must(image.BuildBinary(t.Context(), "..", "./cmd/scylla-agent", agent))
	p.install()
	r := p.newReporters(3)
	p.crowded(r, 3)
	l := p.runLimited(agent, p.kubeconfig())
	l.sees("reports of three nodes", 3, metav1.ConditionTrue)
	l.rests(r, 0, few)
	if most := l.group.Peak(); most > few {
		t.Errorf("the controller of three nodes has held %d MiB, want %d at most", most>>20, few>>20)
	}
	l.stop(true)
}

// deny makes the other nodes report one node DOWN, -1 for none.
func (p *place) deny(r *reporters, down int) {
	p.t.Helper()
	p.abreast(crowd, func(ctx context.Context, c client.Client, i int) error {
		if i == down {
			return nil
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: fmt.Sprintf("demo-rack%d-%d", i/perRack, i%perRack)}}
		before := pod.DeepCopy()
		pod.Annotations = map[string]string{api.AnnotationNodeStatusReport: r.crowdRow(p.t, i, down)}
		return c.Patch(ctx, pod, client.MergeFrom(before))
	})
}

// abreast runs do for every node, several at a time.
func (p *place) abreast(nodes int, do func(ctx context.Context, c client.Client, i int) error) {
	p.t.Helper()
	cfg := p.RESTConfig()
	cfg.QPS = -1
	c, err := kube.NewClient(cfg)
	p.must(err)
	work, ctx := errgroup.WithContext(p.t.Context())
	work.SetLimit(16)
	for i := range nodes {
		work.Go(func() error { return do(ctx, c, i) })
	}
	p.must(work.Wait())
}
