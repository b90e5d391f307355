// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/rogpeppe/go-internal/testscript"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster/image"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// The namespaces that the scripts look at.
const (
	nsDemo     = "demo"   // three nodes, all UP
	nsDown     = "down"   // one of three nodes is DOWN, and a newcomer waits
	nsForce    = "force"  // the same, for the script that changes it
	nsOperator = "scylla" // as the Scylla Operator writes it
	nsEmpty    = "empty"
	readerName = "reader"
)

// TestScripts runs the built plugin, as kubectl-scylla and as "kubectl scylla", against a real API server: testdata/script holds a script per
// verb, in the language of testscript (scriptParams says what it has besides).
func TestScripts(t *testing.T) {
	covers(t, "cmd/kubectl-scylla", "internal/base/exit", "internal/show/document", "internal/show/grid", "internal/remote", "internal/show", "internal/words", "plugin", "plugin/cli",
		"plugin/completion", "plugin/demo", "plugin/remote", "plugin/uninstall", "plugin/version")
	t.Parallel()
	pods(t, 4)
	s := startScriptStage(t)
	t.Run("script", func(t *testing.T) { testscript.RunT(inTurn{t}, s.scriptParams()) })
	t.Run("examples", s.examples) // some install, so they come last
}

// inTurn runs the scripts one after the other. Side by side each would wait for a place among the tests of the whole package, minutes long, while
// the control planes that were started for them stand idle.
type inTurn struct{ *testing.T }

func (inTurn) Parallel()     {}
func (inTurn) Verbose() bool { return testing.Verbose() }

func (t inTurn) Run(name string, f func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { f(inTurn{t}) })
}

// scriptStage is what all scripts share.
type scriptStage struct {
	ctx context.Context
	bin string // folder with kubectl-scylla and kubectl
	env map[string]string
	c   client.WithWatch
}

func startScriptStage(t *testing.T) *scriptStage {
	t.Helper()
	if testing.Short() {
		t.Skip("short: a real API server is left out")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is missing: the examples cannot be run")
	}
	ctrllog.SetLogger(logr.Discard()) // otherwise the client complains on stderr that no logger is set
	ctx := t.Context()                // every step has its own bound
	dir := t.TempDir()
	s := &scriptStage{ctx: ctx, bin: filepath.Join(dir, "bin"), env: map[string]string{}}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(s.bin, 0o755))

	var wg sync.WaitGroup
	var planes [2]*cluster.Cluster
	errs := make([]error, 3)
	for i := range planes {
		wg.Go(func() { planes[i], errs[i] = cluster.StartControlPlane(t.Context(), cluster.Options{}) })
	}
	wg.Go(func() {
		errs[2] = image.BuildBinary(ctx, "../..", "./cmd/kubectl-scylla", filepath.Join(s.bin, "kubectl-scylla"))
	})
	wg.Wait()
	t.Cleanup(func() {
		for _, p := range planes {
			if p == nil {
				continue
			}
			if err := p.Stop(); err != nil {
				t.Error(err)
			}
		}
	})
	must(errors.Join(errs...))
	kubectl, err := filepath.EvalSymlinks(planes[0].KubectlPath())
	must(err)
	must(os.Symlink(kubectl, filepath.Join(s.bin, "kubectl")))

	// A cluster without the kinds: only Services, Pods and annotations are read there.
	bare := &stagedNamespace{t: t, ctx: ctx, c: connectTo(t, planes[1])}
	bare.namespaces(nsDemo)
	must(planes[1].Component("kube-controller-manager").Kill())
	must(planes[1].Component("kube-scheduler").Kill())
	bare.apply(plugintest.New(3, 1).NoReports().Objects())

	x := &stagedNamespace{t: t, ctx: ctx, c: connectTo(t, planes[0])}
	s.c = x.c
	objects, err := manifests.Objects(manifests.Options{})
	must(err)
	for _, o := range objects {
		must(x.c.Create(ctx, o))
	}
	x.operatorKinds()
	x.namespaces(nsDemo, nsDown, nsForce, nsOperator, nsEmpty)
	x.untilServed()
	// Their controllers would make, adopt and remove Pods: objects shall stay as they are written.
	must(planes[0].Component("kube-controller-manager").Kill())
	must(planes[0].Component("kube-scheduler").Kill())
	x.lease()
	x.apply(plugintest.New(3, 1).Objects())
	x.apply(downCluster(nsDown))
	x.apply(downCluster(nsForce))
	x.apply(operatorCluster(t))

	s.env["KUBECONFIG"] = planes[0].Kubeconfig()
	s.env["BARE"] = planes[1].Kubeconfig()
	s.env["READER"] = x.account(planes[0], dir, readerName, nsDemo, nsDown, nsOperator)
	s.env["NOBODY"] = x.account(planes[0], dir, "nobody")
	return s
}

// downCluster has one node of three DOWN since 45 seconds, and a newcomer that waits at its barrier.
func downCluster(namespace string) []client.Object {
	w := plugintest.NewNamed(namespace, "demo", "dc1", 3, 1)
	since := time.Now().Add(-45 * time.Second) // a replacement wants 30 s
	w.Sees("demo-dc1-rack1-0", "demo-dc1-rack3-0", api.NodeStatusDown, since)
	w.Sees("demo-dc1-rack2-0", "demo-dc1-rack3-0", api.NodeStatusDown, since)
	p := w.Pod("demo-dc1-rack3-0")
	p.Status.Conditions[1].Status, p.Status.Conditions[2].Status = corev1.ConditionFalse, corev1.ConditionFalse
	p.Status.ContainerStatuses[0] = corev1.ContainerStatus{
		Name: api.ContainerScyllaDB, RestartCount: 3,
		State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}},
	}
	w.NoRow("demo-dc1-rack3-0")
	w.Newcomer("dc1", "rack2", 1)
	return w.Objects()
}

// operatorCluster is the cluster of the objects that the Scylla Operator wrote, with the members that its report knows: their Services and Pods
// are those of the first with other names.
func operatorCluster(t *testing.T) []client.Object {
	t.Helper()
	read := func(name string, into any) {
		t.Helper()
		b, err := os.ReadFile(filepath.Join("../../internal/kube/testdata/operator", name))
		if err == nil {
			err = yaml.Unmarshal(b, into)
		}
		if err != nil {
			t.Fatalf("read what the operator wrote: %v", err)
		}
	}
	report := &api.ScyllaDBDatacenterNodesStatusReport{}
	read("report.yaml", report)
	all := []client.Object{report}
	for _, rack := range report.Racks {
		for _, node := range rack.Nodes {
			name := fmt.Sprintf("demo-dc1-%s-%d", rack.Name, node.Ordinal)
			svc, pod := &corev1.Service{}, &corev1.Pod{}
			read("member-service.yaml", svc)
			read("pod.yaml", pod)
			svc.Name, pod.Name = name, name
			svc.Spec.ClusterIP, svc.Spec.ClusterIPs = "", nil
			svc.Spec.Selector = map[string]string{appsv1.StatefulSetPodNameLabel: name}
			svc.Labels[api.LabelRack], pod.Labels[api.LabelRack] = rack.Name, rack.Name
			pod.Labels[api.LabelRackOrdinal], pod.Labels[appsv1.StatefulSetPodNameLabel] = fmt.Sprint(node.Ordinal), name
			if len(node.ObservedNodes) > 0 {
				// The report has its row, so it ran.
				pod.Status.Phase = corev1.PodRunning
				pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerBarrier, Ready: true,
					State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}}}}
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
				pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerScyllaDB, Ready: true, Started: new(true),
					State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: report.CreationTimestamp}}}}
				pod.Status.InitContainerStatuses = nil
			}
			if node.HostID != nil {
				svc.Annotations[api.AnnotationHostID] = *node.HostID
			}
			for i := range pod.Spec.Volumes {
				if claim := pod.Spec.Volumes[i].PersistentVolumeClaim; claim != nil {
					claim.ClaimName = "data-" + name
				}
			}
			pod.Spec.ServiceAccountName, pod.Spec.DeprecatedServiceAccount = "default", ""
			all = append(all, svc, pod)
		}
	}
	for _, gvk := range []struct{ version, kind string }{
		{"scylla.scylladb.com/v1", "ScyllaCluster"}, {"scylla.scylladb.com/v1alpha1", "ScyllaDBDatacenter"},
	} {
		u := &unstructured.Unstructured{}
		u.SetAPIVersion(gvk.version)
		u.SetKind(gvk.kind)
		u.SetNamespace(nsOperator)
		u.SetName("demo")
		u.SetLabels(map[string]string{api.LabelManagedBy: api.ManagedByOperator})
		all = append(all, u)
	}
	return all
}

// stagedNamespace writes objects to an API server that has no Kubernetes nodes.
type stagedNamespace struct {
	t   *testing.T
	ctx context.Context
	c   client.WithWatch
}

func connectTo(t *testing.T, p *cluster.Cluster) client.WithWatch {
	t.Helper()
	scheme := kube.NewScheme()
	if err := rbacv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := authenticationv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(p.RESTConfig(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (s *stagedNamespace) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// namespaces makes them and waits for the service account without which no Pod is let in.
func (s *stagedNamespace) namespaces(names ...string) {
	s.t.Helper()
	for _, name := range names {
		s.must(s.c.Create(s.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	for _, name := range names {
		s.must(cluster.WaitFor(s.ctx, "the default service account of "+name, 50*time.Millisecond, func(ctx context.Context) (bool, string, error) {
			err := s.c.Get(ctx, client.ObjectKey{Namespace: name, Name: "default"}, &corev1.ServiceAccount{})
			return err == nil, "", err
		}))
	}
}

// operatorKinds are the operator's own kinds, of which the plugin reads only names, labels and owners.
func (s *stagedNamespace) operatorKinds() {
	s.t.Helper()
	for _, k := range []struct{ version, kind, plural string }{
		{"v1", "ScyllaCluster", "scyllaclusters"}, {"v1alpha1", "ScyllaDBDatacenter", "scylladbdatacenters"},
	} {
		text := fmt.Sprintf(`{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "%[3]s.scylla.scylladb.com"},
			"spec": {"group": "scylla.scylladb.com", "scope": "Namespaced", "names": {"kind": %[2]q, "plural": %[3]q},
			"versions": [{"name": %[1]q, "served": true, "storage": true,
			"schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}}`, k.version, k.kind, k.plural)
		u := &unstructured.Unstructured{}
		s.must(yaml.Unmarshal([]byte(text), &u.Object))
		s.must(s.c.Create(s.ctx, u))
	}
}

// untilServed waits for the kinds: the API server takes a moment after their definitions.
func (s *stagedNamespace) untilServed() {
	s.t.Helper()
	for _, gvk := range []struct{ version, kind string }{
		{"scylla.scylladb.com/v1", "ScyllaCluster"}, {"scylla.scylladb.com/v1alpha1", "ScyllaDBDatacenter"},
		{"scylla.scylladb.com/v1alpha1", "ScyllaDBDatacenterNodesStatusReport"}, {"scylla.scylladb.com/v1alpha1", "ScyllaDBStatusReport"},
	} {
		s.must(cluster.WaitFor(s.ctx, "kind "+gvk.kind, 50*time.Millisecond, func(ctx context.Context) (bool, string, error) {
			l := &unstructured.UnstructuredList{}
			l.SetAPIVersion(gvk.version)
			l.SetKind(gvk.kind + "List")
			err := s.c.List(ctx, l)
			return err == nil, "", err
		}))
	}
}

// lease says that our controller is alive, for as long as the test may take.
func (s *stagedNamespace) lease() {
	s.t.Helper()
	now := metav1.NewMicroTime(time.Now())
	var keeps []string
	for _, ns := range []string{nsDemo, nsDown, nsForce} {
		keeps = append(keeps, api.KeepMark(ns, "demo"))
	}
	s.must(s.c.Create(s.ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: manifests.Namespace, Name: api.LeaseName, Annotations: map[string]string{api.AnnotationKeeps: strings.Join(keeps, " ")}},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("controller-0"), LeaseDurationSeconds: new(int32(3600)), AcquireTime: &now, RenewTime: &now},
	}))
}

// apply makes objects, and a claim for each Pod that mounts one.
func (s *stagedNamespace) apply(objects []client.Object) {
	s.t.Helper()
	for _, o := range objects {
		o, ok := o.DeepCopyObject().(client.Object)
		if !ok {
			s.t.Fatalf("%T is no object", o)
		}
		o.SetManagedFields(nil)
		o.SetUID("")
		o.SetResourceVersion("")
		switch o := o.(type) {
		case *corev1.Pod:
			s.pod(o)
		case *appsv1.StatefulSet:
			o.Spec.ServiceName = o.Name
			s.images(&o.Spec.Template.Spec)
			for i := range o.Spec.VolumeClaimTemplates {
				o.Spec.VolumeClaimTemplates[i].Spec = claimSpec()
			}
			s.must(s.c.Create(s.ctx, o))
		default:
			s.must(s.c.Create(s.ctx, o))
		}
	}
}

func claimSpec() corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}
}

func (s *stagedNamespace) pod(p *corev1.Pod) {
	s.t.Helper()
	status := p.Status
	p.Spec.NodeName, p.Spec.SchedulerName = "", "nobody"
	s.images(&p.Spec)
	labels := maps.Clone(p.Labels)
	s.must(s.c.Create(s.ctx, p))
	p.Status = status
	s.must(s.c.Status().Update(s.ctx, p))
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		s.must(s.c.Create(s.ctx, &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: v.PersistentVolumeClaim.ClaimName, Labels: labels}, Spec: claimSpec(),
		}))
	}
}

// images gives containers without one an image: a real API server insists.
func (*stagedNamespace) images(spec *corev1.PodSpec) {
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			if list[i].Image == "" {
				list[i].Image = "localhost/none:none"
			}
		}
	}
}

// account makes a ServiceAccount that may look at the namespaces given, and nothing else, and gives a kubeconfig with its token.
func (s *stagedNamespace) account(p *cluster.Cluster, dir, name string, may ...string) string {
	s.t.Helper()
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: nsDemo, Name: name}}
	s.must(s.c.Create(s.ctx, sa))
	for _, ns := range may {
		s.must(s.c.Create(s.ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "kubectl-scylla-view"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: nsDemo, Name: name}},
		}))
	}
	token := &authenticationv1.TokenRequest{}
	s.must(s.c.SubResource("token").Create(s.ctx, sa, token))
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters["test"] = &clientcmdapi.Cluster{Server: p.RESTConfig().Host, CertificateAuthorityData: p.RESTConfig().CAData}
	cfg.AuthInfos["test"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	cfg.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test", Namespace: nsDemo}
	cfg.CurrentContext = "test"
	file := filepath.Join(dir, name+".kubeconfig")
	s.must(clientcmd.WriteToFile(*cfg, file))
	return file
}

// environ of a program that runs in dir.
func (s *scriptStage) environ(dir string) map[string]string {
	env := map[string]string{
		"PATH": s.bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME": dir, "KUBECACHEDIR": filepath.Join(dir, ".cache"),
		"LANG": "C.UTF-8", "TZ": "UTC", "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "250",
	}
	maps.Copy(env, s.env)
	return env
}

func list(environ map[string]string) []string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(environ)) {
		all = append(all, k+"="+environ[k])
	}
	return all
}

// run runs a program in dir without a terminal and gives its exit code.
func (s *scriptStage) run(t *testing.T, dir, program string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	var out, err bytes.Buffer
	// An empty pipe: nil would be /dev/null, which is a character device as terminals are.
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, list(s.environ(dir)), bytes.NewReader(nil), &out, &err
	cmd.WaitDelay = time.Minute
	rerr := cmd.Run()
	if _, ended := errors.AsType[*exec.ExitError](rerr); rerr != nil && !ended {
		t.Fatalf("run %s %s: %v", program, strings.Join(args, " "), rerr)
	}
	return out.String(), err.String(), cmd.ProcessState.ExitCode()
}

// scriptParams has two commands more than testscript: "exits CODE PROGRAM [ARGUMENT...]" is an exec that must end with that code, and
// "interrupted PROGRAM [ARGUMENT...]" one that must end with 130 after Ctrl-C; its stdout is then all that it said.
func (s *scriptStage) scriptParams() testscript.Params {
	return testscript.Params{
		Dir:                "testdata/script",
		RequireUniqueNames: true,
		ContinueOnError:    true, // a run takes minutes: name all that fails
		Setup: func(env *testscript.Env) error {
			for k, v := range s.environ(env.WorkDir) {
				env.Setenv(k, v)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "interrupted": s.interrupted},
	}
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code program [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		got = ended.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// interrupted presses Ctrl-C once the program has said anything.
func (s *scriptStage) interrupted(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: interrupted program [args...]")
	}
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	dir := ts.MkAbs(".")
	environ := s.environ(dir)
	for k := range environ {
		environ[k] = ts.Getenv(k) // the script may have changed it
	}
	said := &firstWrite{w: ts.Stdout(), seen: make(chan struct{})}
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, args[0]), args[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, list(environ), time.Minute
	cmd.Stdout, cmd.Stderr = said, said // the same one: os/exec then writes from one goroutine
	ts.Check(cmd.Start())
	var interrupt error
	select {
	case <-said.seen:
		interrupt = cmd.Process.Signal(os.Interrupt)
	case <-ctx.Done():
		interrupt = errors.New("it says nothing")
	}
	err := cmd.Wait()
	if interrupt != nil {
		ts.Fatalf("interrupt it: %v (it ended with: %v)", interrupt, err)
	}
	if got := cmd.ProcessState.ExitCode(); got != 130 {
		ts.Fatalf("exit code %d, want 130 (%v)", got, err)
	}
}

// firstWrite tells of the first time that anything is written.
type firstWrite struct {
	w    io.Writer
	once sync.Once
	seen chan struct{}
}

func (w *firstWrite) Write(p []byte) (int, error) {
	w.once.Do(func() { close(w.seen) })
	return w.w.Write(p)
}
