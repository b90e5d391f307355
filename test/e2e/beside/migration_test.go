// SPDX-License-Identifier: Apache-2.0

package beside

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/barrier"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/plane"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/output"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// ringNode is a node of ScyllaDB in a Pod.
type ringNode struct {
	namespace, pod, id string
	operator           bool
}

// migration is a cluster of ScyllaDB with one datacenter in each of two namespaces: one of StatefulSets with our barrier, and one that the test keeps as the operator would.
type migration struct {
	*wire
	nodes []ringNode
	made  int
	// The operator's datacenter.
	*Datacenter
	datacenter string
	objects    map[string]client.Object
	racks      []Rack
}

// in is the same server in another namespace.
func (m *migration) in(namespace string) *wire {
	w := *m.wire
	w.namespace = namespace
	return &w
}

// joins makes a Pod's ScyllaDB a node: its containers run, and all nodes report it.
func (m *migration) joins(namespace, pod string, operator bool) {
	m.t.Helper()
	m.made++
	id := idOf(m.made)
	m.starts(namespace, pod, true)
	if operator {
		m.in(namespace).service(pod, func(s *corev1.Service) {
			s.Annotations[api.AnnotationHostID], s.Annotations[api.AnnotationNodeJoined] = id, "true"
		})
	}
	m.nodes = append(m.nodes, ringNode{namespace, pod, id, operator})
	m.tell()
}

// starts writes the status of a Pod whose init containers have ended, or which is at its barrier.
func (m *migration) starts(namespace, pod string, past bool) (uid types.UID) {
	m.t.Helper()
	w := m.in(namespace)
	p := &corev1.Pod{}
	if err := w.until(func(ctx context.Context) (bool, error) {
		return w.c.Get(ctx, types.NamespacedName{Namespace: namespace, Name: pod}, p) == nil, nil
	}); err != nil {
		m.t.Fatalf("no Pod %s: %v", pod, err)
	}
	ip := fmt.Sprintf("192.0.2.%d", m.made+1)
	s := corev1.PodStatus{Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}, StartTime: new(metav1.Now())}
	for _, typ := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		is := corev1.ConditionTrue
		if !past && typ != corev1.PodScheduled {
			is, s.Phase = corev1.ConditionFalse, corev1.PodPending
		}
		s.Conditions = append(s.Conditions, corev1.PodCondition{Type: typ, Status: is, LastTransitionTime: metav1.Now()})
	}
	runs := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
	for _, c := range p.Spec.InitContainers {
		state := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
		if c.RestartPolicy != nil || !past && c.Name == api.ContainerBarrier {
			state = runs
		}
		s.InitContainerStatuses = append(s.InitContainerStatuses, corev1.ContainerStatus{Name: c.Name, Image: c.Image, ImageID: c.Image, Ready: true, Started: new(true), State: state})
	}
	for _, c := range p.Spec.Containers {
		if !past {
			break
		}
		s.ContainerStatuses = append(s.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, Image: c.Image, ImageID: c.Image, Ready: true, Started: new(true), State: runs})
	}
	w.states(pod, s)
	return p.UID
}

// tell writes the row of each node: it sees all nodes UP but those that are DOWN.
func (m *migration) tell(down ...string) {
	m.t.Helper()
	var cells []api.ObservedNodeStatusReport
	for _, n := range m.nodes {
		status := api.NodeStatusUp
		if slices.Contains(down, n.pod) {
			status = api.NodeStatusDown
		}
		cells = append(cells, stage.Sees(status, n.id)...)
	}
	for _, n := range m.nodes {
		row := api.NodeStatusReport{ObservedNodes: cells}
		if !n.operator {
			row.HostID, row.OperationMode, row.OwnsTokens, row.ScyllaVersion = hostid.ID(n.id), "NORMAL", new(true), "2026.2.0"
			row.Coordinator = hostid.ID(m.nodes[0].id)
		}
		m.in(n.namespace).annotate(n.pod, *stage.RowText(m.t, row))
	}
	m.operate()
}

// lastCheck is what a barrier asks for last: no reporter runs in the Pods here.
const lastCheck = "ReporterSilent"

// ours runs our barrier of a member until it logs a reason to wait; without one, until it opens.
func (m *migration) ours(namespace, pod, reason string) {
	m.t.Helper()
	uid := m.starts(namespace, pod, false)
	ctx, cancel := context.WithTimeout(m.t.Context(), 2*time.Minute)
	defer cancel()
	text := reason
	if text == "" {
		text = "no line has this"
	}
	lines, dir := &output.Buffer{}, m.t.TempDir()
	err := barrier.Run(ctx, barrier.Options{
		Stabilisation: new(time.Duration(0)), NewClient: func() (client.WithWatch, error) { return m.c, nil }, Namespace: namespace, Service: pod, PodUID: uid,
		DataDir: dir, QueryFile: filepath.Join(dir, "none"), LeaseNamespace: "kubectl-scylla", Image: "scylladb/scylla:2026.2.0",
		Ask: func(context.Context, string, string) error { return nil }, Log: slog.New(slog.NewJSONHandler(&until{text: text, stop: cancel, to: lines}, nil)),
	})
	if (err == nil) != (reason == "") || !strings.Contains(lines.String(), reason) {
		m.t.Errorf("the barrier of %s ended with %v and does not say %q:\n%s", pod, err, reason, lines)
	}
}

// step is a command of the page, and what must come of it. A command of nodetool does nothing here: then is what the nodes and the operator do.
type step struct {
	command string
	code    int
	says    string
	then    func()
}

var commandsOnPage = regexp.MustCompile("`((?:kubectl|nodetool) [^`]*)`")

// walk does what a section of the page says, one command after the other. Every command has a step.
func (m *migration) walk(section, end string, names *strings.Replacer, steps []step) {
	m.t.Helper()
	data, err := os.ReadFile(document)
	if err != nil {
		m.t.Fatal(err)
	}
	_, text, begun := strings.Cut(string(data), section)
	text, _, ended := strings.Cut(text, end)
	var page, known []string
	for _, c := range commandsOnPage.FindAllStringSubmatch(text, -1) {
		page = append(page, c[1])
	}
	for _, s := range steps {
		known = append(known, s.command)
	}
	if diff := cmp.Diff(known, page); diff != "" || !begun || !ended {
		m.t.Fatalf("the commands under %q have no steps here (-walk +page):\n%s", section, diff)
	}
	for _, s := range steps {
		m.t.Log(s.command)
		line, piped, _ := strings.Cut(names.Replace(s.command), " | kubectl ")
		args := strings.Fields(strings.ReplaceAll(line, `"`, ""))
		switch {
		case args[0] == "nodetool":
		case args[1] != "scylla":
			m.kubectl("", args[1:]...)
		case piped != "":
			got := m.run(args[2:]...)
			if got.Code != s.code {
				m.t.Fatalf("%s: %d\n%s%s", line, got.Code, got.Stdout, got.Stderr)
			}
			m.kubectl(got.Stdout, strings.Fields(piped)...)
		default:
			args = args[2:]
			if slices.Contains([]string{"force-proceed", "remote", "uninstall"}, args[0]) {
				args = append(args, "--yes", "--kubeconfig", m.plane.Kubeconfig())
			}
			m.want(s.code, s.says, args...)
		}
		if s.then != nil {
			s.then()
		}
		if m.t.Failed() {
			m.t.FailNow()
		}
	}
}

// migrates begins with a control plane, our controller, and two namespaces.
func migrates(t *testing.T, namespaces ...string) *migration {
	t.Helper()
	t.Parallel()
	p := plane.Start(t)
	c, err := kube.NewClient(p.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	m := &migration{wire: &wire{t: t, plane: p, cfg: p.RESTConfig(), c: c, said: &strings.Builder{}}}
	m.kubectl(kinds(), "apply", "-f", "-")
	m.want(0, "", "install", "--no-controller", "--yes")
	m.controls()
	for _, ns := range namespaces {
		m.kubectl("", "create", "namespace", ns)
	}
	return m
}

// named puts the names of this test into a command.
func (m *migration) named(pairs ...string) *strings.Replacer {
	return strings.NewReplacer(append(pairs, "CONTEXT", strings.TrimSpace(m.kubectl("", "config", "current-context")), "IMAGE", "agent:1", "CLUSTER", "shop", "DATACENTER", "db")...)
}

// TestTheMigrationPageToTheOperator walks from StatefulSets with our barrier to the operator.
func TestTheMigrationPageToTheOperator(t *testing.T) {
	m := migrates(t, "shop")
	injected := m.run("inject", "-f", "../../simulation/manifests/plain.yaml", "--image", "agent:1")
	m.kubectl(injected.Stdout, "apply", "-f", "-")
	old := m.in("shop")
	for i := range 3 {
		m.joins("shop", fmt.Sprintf("db-%d", i), false)
	}
	healthy := func() { old.want(0, fmt.Sprintf("%d of %[1]d nodes seen UP by all", len(m.nodes)), "status") }
	healthy()
	next := func(rack string) {
		pod := m.grow(rack)
		m.barrier(pod, Opens)
		m.joins("operator", pod, true)
	}
	m.walk("**To the operator**", "Never apply", m.named("OLD", "shop", "NEW", "operator", "STATEFULSET", "db", "COUNT", "2"), []step{
		{command: "kubectl create namespace NEW"},
		{command: "kubectl scylla remote add operator CLUSTER -n OLD --remote-context CONTEXT --remote-namespace NEW --remote-cluster DATACENTER", then: func() {
			m.operates("operator", "db", "dc2", "rack1", "rack2")
			m.mirrored("operator", 3)
			// Its first node already waits for the nodes of the old datacenter.
			m.tell("db-1")
			pod := m.grow("rack1")
			m.barrier(pod, Waits)
			m.tell()
			m.barrier(pod, Opens)
			m.joins("operator", pod, true)
		}},
		{command: "kubectl scylla status -n OLD", says: "4 of 4 nodes seen UP by all", then: func() {
			for _, rack := range []string{"rack2", "rack1", "rack2"} {
				next(rack)
				healthy()
			}
			m.in("operator").want(0, "7 of 7 nodes seen UP by all", "status")
		}},
		{command: "nodetool rebuild -- OLD_DATACENTER"},
		{command: "nodetool decommission", then: func() { m.leaves("db-2") }},
		{command: "kubectl scale statefulset STATEFULSET -n OLD --replicas=COUNT", then: func() {
			m.gone("db-2")
			healthy()
			for i := 1; i >= 0; i-- {
				pod := fmt.Sprintf("db-%d", i)
				m.leaves(pod)
				m.kubectl("", "scale", "statefulset", "db", "-n", "shop", fmt.Sprintf("--replicas=%d", i))
				m.gone(pod)
			}
			m.mirrored("operator", 0)
		}},
		{command: "kubectl delete statefulset STATEFULSET -n OLD"},
		{command: "kubectl scylla remote remove operator --remote-context CONTEXT", says: "deleted", then: func() {
			next("rack1")
			m.in("operator").want(0, "5 of 5 nodes seen UP by all", "status")
			if left := m.kubectl("", "get", "scylladbdatacenternodesstatusreports,serviceaccounts,roles,rolebindings,secrets", "-n", "operator", "-o", "name"); strings.Contains(left, "external") || strings.Contains(left, "kubectl-scylla") {
				m.t.Errorf("left in the operator's namespace:\n%s", left)
			}
		}},
		{command: "kubectl scylla uninstall"},
	})
}

// leaves makes a node of ours leave by nodetool decommission: no other node lists it.
func (m *migration) leaves(pod string) {
	m.t.Helper()
	at := slices.IndexFunc(m.nodes, func(n ringNode) bool { return n.pod == pod })
	left := m.nodes[at]
	m.nodes = slices.Delete(m.nodes, at, at+1)
	m.in(left.namespace).annotate(pod, *stage.RowText(m.t, api.NodeStatusReport{HostID: hostid.ID(left.id), OperationMode: "DECOMMISSIONED", OwnsTokens: new(false)}))
	m.tell()
}

// gone waits until our controller has deleted the Service of a member that has left; no kubelet ends its Pod here.
func (m *migration) gone(pod string) {
	m.t.Helper()
	m.kubectl("", "delete", "pod", pod, "-n", "shop", "--force", "--ignore-not-found")
	if m.until(func(ctx context.Context) (bool, error) {
		return apierrors.IsNotFound(m.c.Get(ctx, types.NamespacedName{Namespace: "shop", Name: pod}, &corev1.Service{})), nil
	}) != nil {
		m.t.Fatalf("Service %s is kept", pod)
	}
}

// TestTheMigrationPageToStatefulSets walks from the operator to StatefulSets with our barrier.
func TestTheMigrationPageToStatefulSets(t *testing.T) {
	m := migrates(t, "operator", "shop", "alone")
	m.operates("operator", "db", "dc1", "rack1", "rack2")
	for _, rack := range []string{"rack1", "rack2", "rack1"} {
		pod := m.grow(rack)
		m.barrier(pod, Opens)
		m.joins("operator", pod, true)
	}
	healthy := func() { m.in("shop").want(0, fmt.Sprintf("%d of %[1]d nodes seen UP by all", len(m.nodes)), "status") }
	data, err := os.ReadFile("../../simulation/manifests/plain.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := func(namespace string) string {
		name := filepath.Join(t.TempDir(), "new.yaml")
		text := strings.NewReplacer("--seeds=db-0.db", "--seeds=192.0.2.1", "namespace: shop", "namespace: "+namespace).Replace(string(data))
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	m.unconnected(file("alone"))
	m.walk("**To your StatefulSets**", "**To the operator**", m.named("OLD", "operator", "NEW", "shop", "new.yaml", file("shop"), "MEMBER", "db-2"), []step{
		{command: "kubectl scylla remote add operator CLUSTER -n NEW --remote-context CONTEXT --remote-namespace OLD --remote-cluster DATACENTER"},
		{command: "kubectl scylla inject -f new.yaml --image IMAGE | kubectl apply -f -", then: func() {
			m.tell("db-dc1-rack2-0")
			m.ours("shop", "db-0", "NodeDown")
			m.tell()
			m.ours("shop", "db-0", "")
			m.joins("shop", "db-0", false)
			healthy()
			m.ours("shop", "db-1", lastCheck)
			m.joins("shop", "db-1", false)
			healthy()
			m.in("operator").want(0, "5 of 5 nodes seen UP by all", "status")
		}},
		{command: `kubectl scylla force-proceed MEMBER -n NEW --reason "checked"`, then: func() {
			m.ours("shop", "db-2", "")
			m.joins("shop", "db-2", false)
			healthy()
		}},
		{command: "nodetool rebuild -- OLD_DATACENTER", then: func() {
			// The operator scales its racks down, one node after the other.
			for len(m.nodes) > 3 {
				m.shrink()
				healthy()
			}
		}},
		{command: "kubectl scylla remote remove operator --remote-context CONTEXT", says: "deleted"},
		{command: "kubectl scylla status -n NEW", says: "3 of 3 nodes seen UP by all"},
	})
}

// unconnected applies StatefulSets in a namespace of their own without the remote: each side lacks the rows of the other, and the operator's barrier opens although a node
// does not report to it.
func (m *migration) unconnected(file string) {
	m.t.Helper()
	m.kubectl(m.run("inject", "-f", file, "--image", "agent:1").Stdout, "apply", "-f", "-")
	m.ours("alone", "db-0", "SeedsOfAnotherCluster")
	m.joins("alone", "db-0", false)
	for _, namespace := range []string{"alone", "operator"} {
		m.in(namespace).want(3, "no usable status report from host ID", "status")
	}
	m.in("alone").want(3, "remote add NAME shop --remote-context CONTEXT --remote-namespace NAMESPACE -n alone", "status")
	m.in("alone").want(3, `"reason": "RowMissing"`, "barrier", "db-1", "-o", "json")
	m.barrier(m.grow("rack2"), Opens)
	m.nodes = m.nodes[:len(m.nodes)-1]
	m.tell()
	m.kubectl("", "delete", "namespace", "alone", "--wait=false")
}
