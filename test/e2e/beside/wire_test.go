// SPDX-License-Identifier: Apache-2.0

package beside

import (
	"context"
	"fmt"
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
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/barrier"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/plane"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/output"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// kinds are the operator's other kinds, as far as our programs read them, and the ClusterRole of its Pods.
func kinds() string {
	var b strings.Builder
	for _, k := range []struct{ version, kind, plural string }{
		{"v1alpha1", "ScyllaDBDatacenter", "scylladbdatacenters"}, {"v1", "ScyllaCluster", "scyllaclusters"}, {"v1alpha1", "ScyllaDBCluster", "scylladbclusters"},
	} {
		fmt.Fprintf(&b, `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[3]s.scylla.scylladb.com}
spec:
  group: scylla.scylladb.com
  names: {kind: %[2]s, listKind: %[2]sList, plural: %[3]s, singular: %[4]s}
  scope: Namespaced
  versions:
  - {name: %[1]s, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
`, k.version, k.kind, k.plural, strings.ToLower(k.kind))
	}
	b.WriteString(`apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: scyllacluster-member}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {rbac.operator.scylladb.com/aggregate-to-scylla-member: "true"}}]}
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: scyllacluster-member-own, labels: {rbac.operator.scylladb.com/aggregate-to-scylla-member: "true"}}
rules:
- {apiGroups: [""], resources: [pods, services], verbs: [get, list, watch, patch, update]}
- {apiGroups: [apps], resources: [statefulsets], verbs: [get, list, watch, patch]}
- {apiGroups: [""], resources: [secrets, configmaps], verbs: [get, list, watch]}
- {apiGroups: [scylla.scylladb.com], resources: [scylladbdatacenternodesstatusreports], verbs: [get, list, watch]}
`)
	return b.String()
}

// wire is one namespace of a real API server, with the objects of the operator's cluster demo.
type wire struct {
	t         *testing.T
	plane     *cluster.Cluster
	cfg       *rest.Config
	c         client.WithWatch
	namespace string
	// said is everything that the plugin has printed.
	said *strings.Builder
}

func (w *wire) kubectl(input string, args ...string) string {
	w.t.Helper()
	out, err := w.plane.KubectlInput(w.t.Context(), input, args...)
	if err != nil {
		w.t.Fatal(args, out, err)
	}
	return out
}

// run is one run of the plugin against the server.
func (w *wire) run(args ...string) plugintest.Result {
	w.t.Helper()
	if w.namespace != "" {
		args = append(args, "-n", w.namespace)
	}
	got := plugintest.Run{Args: args, Client: w.c, Clock: clock.RealClock{}, Live: nobody, Setup: func(d *cli.Deps) {
		d.RESTConfig = func() (*rest.Config, error) { return rest.CopyConfig(w.cfg), nil }
		d.ClientOf = func(cfg *rest.Config, scheme *runtime.Scheme) (client.Client, error) {
			return client.New(cfg, client.Options{Scheme: scheme})
		}
	}}.Do(w.t)
	fmt.Fprintf(w.said, "$ %v -> %d\n%s%s", args, got.Code, got.Stdout, got.Stderr)
	return got
}

// want runs the plugin until it ends with this code and text: Kubernetes' own controllers need time.
func (w *wire) want(code int, text string, args ...string) {
	w.t.Helper()
	var got plugintest.Result
	if err := w.until(func(context.Context) (bool, error) {
		got = w.run(args...)
		return got.Code == code && strings.Contains(unfolded(got.Stdout+got.Stderr), text), nil
	}); err != nil {
		w.t.Errorf("%v ended with %d, want %d and %q:\n%s%s", args, got.Code, code, text, got.Stdout, got.Stderr)
	}
}

func (w *wire) until(done wait.ConditionWithContextFunc) error {
	return wait.PollUntilContextTimeout(w.t.Context(), 100*time.Millisecond, 2*time.Minute, true, done)
}

// unfolded takes out the line breaks that make a text fit a screen.
func unfolded(text string) string { return strings.Join(strings.Fields(text), " ") }

func update[T client.Object](w *wire, o T, name string, change func(T)) {
	w.t.Helper()
	var err error
	if w.until(func(ctx context.Context) (bool, error) {
		if err := w.c.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: name}, o); err != nil {
			return false, err
		}
		change(o)
		err = w.c.Update(ctx, o)
		return err == nil, nil
	}) != nil {
		w.t.Fatal(err)
	}
}

func (w *wire) service(name string, change func(*corev1.Service)) {
	w.t.Helper()
	update(w, &corev1.Service{}, name, change)
}

func (w *wire) annotate(pod, text string) {
	w.t.Helper()
	update(w, &corev1.Pod{}, pod, func(p *corev1.Pod) {
		if p.Annotations == nil {
			p.Annotations = map[string]string{}
		}
		p.Annotations[api.AnnotationNodeStatusReport] = text
	})
}

// make writes the cluster: the test creates the operator's objects, Kubernetes the Pods, and the test writes their status as the kubelet and the
// sidecars would.
func (w *wire) make() (rows map[string]string) {
	w.t.Helper()
	create := func(o client.Object) {
		w.t.Helper()
		if err := w.c.Create(w.t.Context(), o); err != nil {
			w.t.Fatal(err)
		}
	}
	c := plugintest.NewNamed(w.namespace, "demo", "dc1", 3, 1)
	c.Newcomer("dc1", "rack1", 1)
	create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}})
	owner := func(gvk string, parent *unstructured.Unstructured, kind string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": gvk, "kind": kind, "metadata": map[string]any{"namespace": w.namespace, "name": "demo"}}}
		if parent != nil {
			o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: parent.GetAPIVersion(), Kind: parent.GetKind(), Name: "demo", UID: parent.GetUID(), Controller: new(true)}})
		}
		create(o)
		return o
	}
	dc := owner("scylla.scylladb.com/v1alpha1", owner("scylla.scylladb.com/v1", nil, "ScyllaCluster"), "ScyllaDBDatacenter")
	rows = map[string]string{}
	var pods []*corev1.Pod
	for _, o := range c.OperatorObjects("dc1", nil) {
		o.SetUID("")
		o.SetManagedFields(nil)
		o.SetCreationTimestamp(metav1.Time{})
		if len(o.GetOwnerReferences()) > 0 {
			o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: dc.GetAPIVersion(), Kind: dc.GetKind(), Name: "demo", UID: dc.GetUID(), Controller: new(true)}})
		}
		switch o := o.(type) {
		case *corev1.Pod:
			pods = append(pods, o)
			continue
		case *corev1.Service:
			o.Spec.Ports = []corev1.ServicePort{{Port: 7000}}
		case *appsv1.StatefulSet:
			o.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
			o.Spec.Template.Labels = maps.Clone(o.Spec.Template.Labels)
			for _, l := range []map[string]string{o.Spec.Template.Labels, o.Spec.Selector.MatchLabels} {
				l[api.LabelManagedBy] = api.ManagedByOperator
			}
			s := &o.Spec.Template.Spec
			s.NodeName, s.Volumes = "", nil
			for i := range s.InitContainers {
				s.InitContainers[i].Image = "operator:1"
			}
			o.Spec.VolumeClaimTemplates[0].Spec = corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			}
		}
		create(o)
	}
	for _, like := range pods {
		key := client.ObjectKeyFromObject(like)
		if err := w.until(func(ctx context.Context) (bool, error) { return w.c.Get(ctx, key, &corev1.Pod{}) == nil, nil }); err != nil {
			w.t.Fatalf("no Pod %s: %v", key, err)
		}
		w.states(like.Name, like.Status)
		if text, speaks := like.Annotations[api.AnnotationNodeStatusReport]; speaks {
			rows[like.Name] = text
			w.annotate(like.Name, text)
		}
	}
	return rows
}

func (w *wire) states(pod string, status corev1.PodStatus) {
	w.t.Helper()
	var err error
	if w.until(func(ctx context.Context) (bool, error) {
		p := &corev1.Pod{}
		if err := w.c.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: pod}, p); err != nil {
			return false, err
		}
		p.Status = status
		err = w.c.Status().Update(ctx, p)
		return err == nil, nil
	}) != nil {
		w.t.Fatal(err)
	}
}

// agent runs the barrier of scylla-agent in the newcomer's Pod until it logs a reason to wait; with as, under the rights of the operator's Pods.
func (w *wire) agent(as bool, reason string) {
	w.t.Helper()
	cfg := rest.CopyConfig(w.cfg)
	p := &corev1.Pod{}
	if err := w.c.Get(w.t.Context(), types.NamespacedName{Namespace: w.namespace, Name: newcomer}, p); err != nil {
		w.t.Fatal(err)
	}
	if as {
		cfg.Impersonate = rest.ImpersonationConfig{
			UserName: "system:serviceaccount:" + w.namespace + ":demo-member", Groups: []string{"system:serviceaccounts", "system:authenticated"},
			Extra: map[string][]string{"authentication.kubernetes.io/pod-name": {newcomer}, "authentication.kubernetes.io/pod-uid": {string(p.UID)}},
		}
	}
	c, err := kube.NewClient(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Minute)
	defer cancel()
	lines := &output.Buffer{}
	dir := w.t.TempDir()
	err = barrier.Run(ctx, barrier.Options{
		Stabilisation: new(time.Duration(0)),
		NewClient:     func() (client.WithWatch, error) { return c, nil }, Namespace: w.namespace, Service: newcomer, PodUID: p.UID, DataDir: dir, QueryFile: filepath.Join(dir, "none"),
		LeaseNamespace: "kubectl-scylla", Image: "scylladb/scylla:2025.2.1", Ask: func(context.Context, string, string) error { return nil },
		Log: slog.New(slog.NewJSONHandler(&until{text: reason, stop: cancel, to: lines}, nil)),
	})
	if err == nil || !strings.Contains(lines.String(), reason) {
		w.t.Errorf("the barrier ended with %v and did not wait for %s (as the operator's Pod: %t):\n%s", err, reason, as, lines.String())
	}
}

// until stops at a line with a text.
type until struct {
	text string
	stop context.CancelFunc
	to   *output.Buffer
}

func (u *until) Write(p []byte) (int, error) {
	if strings.Contains(string(p), u.text) {
		u.stop()
	}
	return u.to.Write(p)
}

// TestBesideOperatorOnTheWire runs the plugin and the agent's barrier on a real API server with the operator's kinds instead of ours, after ours and before ours.
func TestBesideOperatorOnTheWire(t *testing.T) {
	t.Parallel()
	p := plane.Start(t)
	c, err := kube.NewClient(p.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	theirs := filepath.Join("..", "testdata", "operator-crd.yaml")
	const definition = "scylladbdatacenternodesstatusreports.scylla.scylladb.com"
	for i, tc := range []struct {
		name  string
		order []string
	}{{"instead of ours", []string{"theirs"}}, {"after ours", []string{"ours", "theirs"}}, {"before ours", []string{"theirs", "ours"}}} {
		t.Run(tc.name, func(t *testing.T) {
			w := &wire{t: t, plane: p, cfg: p.RESTConfig(), c: c, said: &strings.Builder{}}
			w.kubectl(kinds(), "apply", "-f", "-")
			for _, which := range tc.order {
				if which == "ours" {
					w.want(0, "", "install", "--no-controller", "--yes")
					continue
				}
				// The operator's documented installation and upgrade: no --force-conflicts.
				w.kubectl("", "apply", "--server-side", "--field-manager=operator-release", "-f", theirs)
			}
			w.kubectl("", "wait", "--for=condition=Established", "--timeout=30s", "crd", "--all")
			w.namespace = fmt.Sprintf("db%d", i)
			w.situations(w.make(), slices.Contains(tc.order, "ours"))
			for _, word := range never {
				if strings.Contains(w.said.String()[strings.Index(w.said.String(), "[status"):], word) {
					t.Errorf("the plugin says %q:\n%s", word, w.said)
				}
			}
			// The upgrade goes through after all of this, too.
			w.kubectl("", "apply", "--server-side", "--field-manager=operator-release", "-f", theirs)
			w.kubectl("", "delete", "namespace", w.namespace, "--timeout=60s", "--wait=false")
			w.kubectl("", "delete", "crd", definition, "--timeout=30s")
		})
	}
}

// situations runs the numbered situations, one after the other, and reverts each.
func (w *wire) situations(rows map[string]string, ours bool) {
	t := w.t
	t.Helper()
	w.want(0, "3 of 3 nodes seen UP", "status")
	w.want(0, "OPEN", "barrier", newcomer)

	// 4: the Pods' annotations are compared with the report, which no controller writes here, so that it is frozen. A report may be ten seconds late.
	w.annotate(third, "{")
	w.want(3, "the annotation of Pod "+third+" is unreadable, so the Scylla Operator does not update the report", "status")
	w.want(3, "WAIT", "barrier", newcomer)
	w.want(0, "NOT HEALTHY", "report")
	if ours {
		namespace := w.namespace
		w.namespace = "" // install takes none
		w.want(0, "rolebinding.rbac.authorization.k8s.io/kubectl-scylla-member-of-operator-demo-member applied", "install", "--no-controller", "--yes", "--operator-member="+namespace+":demo-member")
		w.namespace = namespace
		w.kubectl(fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: demo-member, namespace: %[1]s},
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: scyllacluster-member}, subjects: [{kind: ServiceAccount, name: demo-member, namespace: %[1]s}]}`, w.namespace), "apply", "-f", "-")
	}
	w.agent(ours, "ReportOutdated")
	w.annotate(third, rows[third])
	w.annotate(first, strings.Replace(rows[first], `"hostID":"`+idOf(2)+`","status":"UP"`, `"hostID":"`+idOf(2)+`","status":"DOWN"`, 1))
	w.want(3, "DOWN", "status")
	w.agent(ours, "NodeDown")
	w.annotate(first, rows[first])
	w.want(0, "3 of 3 nodes seen UP", "status")
	off := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: api.OperatorNamespace, Name: api.OperatorName},
		Spec: appsv1.DeploymentSpec{Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}},
		}},
	}
	_ = w.c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: api.OperatorNamespace}}) // it may be there
	if err := w.c.Create(t.Context(), off); err != nil {
		t.Fatal(err)
	}
	w.want(3, "the Scylla Operator is scaled to 0", "status")
	w.want(3, "the Scylla Operator is scaled to 0", "barrier", newcomer)
	w.operatorAway(rows)
	w.kubectl(aliveRole(t), "apply", "-f", "-")
	w.agent(ours, "the Scylla Operator is scaled to 0")
	if err := w.c.Delete(t.Context(), off); err != nil {
		t.Fatal(err)
	}

	// 1: a host ID that no member here has is not a ghost where another datacenter may exist.
	for name, text := range rows {
		w.annotate(name, strings.Replace(text, "]", `,{"hostID":"`+unknownID+`","status":"DOWN"}]`, 1))
	}
	w.service(newcomer, func(s *corev1.Service) { s.Labels[api.LabelParentScyllaDBCluster] = "multi" })
	w.want(3, "in another datacenter", "status")
	if strings.Contains(w.said.String(), "removenode") {
		t.Errorf("removenode is named:\n%s", w.said)
	}
	w.service(newcomer, func(s *corev1.Service) { delete(s.Labels, api.LabelParentScyllaDBCluster) })
	for name, text := range rows {
		w.annotate(name, text)
	}

	// 3: a restart needs evidence.
	dead := strings.ReplaceAll(rows[first], `"hostID":"`+idOf(2)+`","status":"UP"`, `"hostID":"`+idOf(2)+`","status":"DOWN"`)
	for _, name := range []string{first, second} {
		w.annotate(name, dead)
	}
	var running, waiting corev1.PodStatus
	for name, into := range map[string]*corev1.PodStatus{third: &running, newcomer: &waiting} {
		p := &corev1.Pod{}
		if err := w.c.Get(t.Context(), types.NamespacedName{Namespace: w.namespace, Name: name}, p); err != nil {
			t.Fatal(err)
		}
		*into = p.Status
	}
	w.states(third, waiting)
	w.want(3, "UNSURE", "barrier", third)
	w.service(third, func(s *corev1.Service) { s.Annotations[api.AnnotationNodeJoined] = "false" })
	w.want(3, "WAIT", "barrier", third)

	// 9: an address is no replacement for the operator's nodes, and a node is DOWN.
	w.service(third, func(s *corev1.Service) { s.Labels[api.LabelReplace] = "10.96.0.3" })
	w.want(3, "WAIT", "barrier", third)
	w.service(third, func(s *corev1.Service) {
		s.Annotations[api.AnnotationNodeJoined], s.Labels[api.LabelReplace] = "true", ""
	})

	// 8: a budget blocks the operator.
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "demo", Labels: map[string]string{api.LabelCluster: "demo"}},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: new(intstr.FromInt32(3)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{api.LabelCluster: "demo"}}},
	}
	w.want(0, "the Scylla Operator deletes PVC and Pod", "replace", "status", third)
	if err := w.c.Create(t.Context(), budget); err != nil {
		t.Fatal(err)
	}
	w.want(3, "PodDisruptionBudget demo allows no disruption", "replace", "status", third)

	// 5: after the deletion of the claim no request can be withdrawn, and the lost record is offered.
	w.claimGoes(t)

	// 8: a newcomer that ScyllaDB has banned, by its last words: the exit code says nothing.
	w.states(third, running)
	w.service(third, func(s *corev1.Service) {
		delete(s.Labels, api.LabelReplace)
		delete(s.Labels, api.LabelReplacingNodeHostID)
	})
	for name, text := range rows {
		w.annotate(name, text)
	}
	banned := waiting
	banned.Phase = corev1.PodRunning
	banned.ContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerScyllaDB, RestartCount: 1, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 0, Message: "init - Startup failed: std::runtime_error (" +
		"the topology coordinator rejected request to join the cluster: request canceled because some required nodes are dead)"}}}}
	w.states(newcomer, banned)
	w.want(3, "request canceled because some required nodes are dead", "status")
	w.want(3, "REFUSED", "barrier", newcomer)
	w.states(newcomer, waiting)

	// 6: the command that forces a datacenter warns that Pods restart, and is reverted on every object that it was copied to.
	for _, scope := range [][]string{{"--cluster", "demo"}, {"--datacenter", "dc1"}} {
		w.want(2, "every Pod of the cluster restarts", append([]string{"force-proceed"}, scope...)...)
	}
	forced := api.AnnotationForceProceed + "=true"
	w.kubectl("", "annotate", "-n", w.namespace, "scyllacluster,scylladbdatacenter,services,statefulsets", "--all", forced)
	w.want(0, "", "force-proceed", "--cluster", "demo", "--undo", "--yes")
	if left := w.kubectl("", "get", "-n", w.namespace, "scyllacluster,scylladbdatacenter,services,statefulsets", "-o", "jsonpath={.items[*].metadata.annotations}"); strings.Contains(left, api.AnnotationForceProceed) {
		t.Errorf("the force is left: %s", left)
	}
}

// aliveRole is the Role that the document gives for the operator's namespace.
func aliveRole(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	_, role, ok := strings.Cut(string(data), "```yaml\n")
	role, _, closed := strings.Cut(role, "```")
	if !ok || !closed {
		t.Fatal("the document has no Role")
	}
	return role
}

// claimGoes deletes the third member's claim while its replacement is asked for.
func (w *wire) claimGoes(t *testing.T) {
	t.Helper()
	claim := "data-" + third
	w.kubectl("", "patch", "pvc", claim, "-n", w.namespace, "--type=merge", "-p", `{"metadata":{"finalizers":["test/holds"]}}`)
	w.kubectl("", "delete", "pvc", claim, "-n", w.namespace, "--wait=false")
	w.want(2, "PVC "+claim+" is being deleted", "replace", "cancel", third, "--wait=false")
	labels := func() map[string]string {
		var s corev1.Service
		if err := w.c.Get(t.Context(), types.NamespacedName{Namespace: w.namespace, Name: third}, &s); err != nil {
			t.Fatal(err)
		}
		return s.Labels
	}
	if _, there := labels()[api.LabelReplace]; !there {
		t.Error("the label is gone")
	}
	w.service(third, func(s *corev1.Service) { delete(s.Labels, api.LabelReplace) })
	// Its old Pod is there: with the host ID recorded the operator would wait for a new node in it without end.
	back := "label service " + third + " " + api.LabelReplace + "= -n " + w.namespace
	const look = "check whether the old node is DOWN" // it has been for seconds, and the eviction deletes its data
	w.want(3, look, "replace", "status", third)
	w.want(2, look, "replace", "cancel", third, "--wait=false")
	w.kubectl("", strings.Fields(back)...)
	if l := labels(); len(l[api.LabelReplacingNodeHostID]) > 0 {
		t.Errorf("labels %v", l)
	}
	w.want(3, "", "replace", "status", third) // its old Pod is not its new node
	w.kubectl("", "patch", "pvc", claim, "-n", w.namespace, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
}
