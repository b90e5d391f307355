// SPDX-License-Identifier: Apache-2.0

package beside

import (
	"context"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/plane"
)

// TestNoHarm2AMembersTokenRewritesNoPod: on a real API server, an account with the ClusterRole of a member writes to no Pod but its own, whatever its other rights
// and whatever the Pod's labels. Other accounts keep their permissions: one with the operator's rules, and an administrator with every verb. check proves the denial.
func TestNoHarm2AMembersTokenRewritesNoPod(t *testing.T) {
	t.Parallel()
	p := plane.Start(t)
	admin, err := kube.NewClient(p.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{t: t, plane: p, cfg: p.RESTConfig(), c: admin, said: &strings.Builder{}}
	w.want(0, "", "install", "--no-controller", "--yes")
	w.kubectl("", "wait", "--for=condition=Established", "--timeout=30s", "crd", "--all")
	w.kubectl("", "create", "namespace", "db")
	w.kubectl("", "-n", "db", "create", "role", "operators", "--verb=get,list,watch,patch,update", "--resource=pods,services") // memberRules
	for account, role := range map[string]string{"member": "--clusterrole=kubectl-scylla-member", "operators": "--role=operators", "root": "--clusterrole=cluster-admin"} {
		w.kubectl("", "-n", "db", "create", "serviceaccount", account)
		w.kubectl("", "-n", "db", "create", "rolebinding", account, role, "--serviceaccount=db:"+account)
	}
	w.kubectl("", "-n", "db", "create", "rolebinding", "more", "--clusterrole=edit", "--serviceaccount=db:member")
	labels := map[string]string{api.LabelCluster: "db", api.LabelPodType: api.PodTypeNode}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "db", Labels: labels}, Spec: appsv1.StatefulSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels}, ServiceName: "db",
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{ServiceAccountName: "member",
			InitContainers: []corev1.Container{{Name: api.ContainerBarrier, Image: "x"}}, Containers: []corev1.Container{{Name: "scylla", Image: "x"}}}},
	}}
	web := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "web"}, Spec: corev1.PodSpec{ServiceAccountName: "root", Containers: []corev1.Container{{Name: "web", Image: "good"}}}}
	for _, o := range []client.Object{set, web} {
		if err := admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	own := &corev1.Pod{}
	if err := w.until(func(ctx context.Context) (bool, error) {
		return admin.Get(ctx, client.ObjectKey{Namespace: "db", Name: "db-0"}, own) == nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	as := func(account string) client.Client {
		cfg := p.RESTConfig()
		cfg.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:db:" + account, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:db", "system:authenticated"},
			Extra: map[string][]string{"authentication.kubernetes.io/pod-name": {own.Name}, "authentication.kubernetes.io/pod-uid": {string(own.UID)}}}
		c, err := kube.NewClient(cfg)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	patch := func(name, text string) func(client.Client) error {
		return func(c client.Client) error {
			return c.Patch(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: name}}, client.RawPatch(types.StrategicMergePatchType, []byte(text)))
		}
	}
	const image, label, row = `{"spec":{"containers":[{"name":"web","image":"evil"}]}}`, `{"metadata":{"labels":{"x":"y"}}}`, `{"metadata":{"annotations":{"` + api.AnnotationNodeStatusReport + `":"{}"}}}`
	for name, tc := range map[string]struct {
		account string
		do      func(client.Client) error
		denied  bool
	}{
		"its own row":                 {"member", patch("db-0", row), false},
		"a label of its own":          {"member", patch("db-0", `{"metadata":{"labels":{"x":"member"}}}`), true},
		"the image of other software": {"member", patch("web", image), true},
		"the row of other software":   {"member", patch("web", row), true},
		"a new Pod, with a right to it": {"member", func(c client.Client) error {
			return c.Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "new"}, Spec: web.Spec})
		}, true},
		"a deletion, with a right to it": {"member", func(c client.Client) error { return c.Delete(t.Context(), web.DeepCopy()) }, true},
		"an eviction, with a right to it": {"member", func(c client.Client) error {
			return c.SubResource("eviction").Create(t.Context(), web.DeepCopy(), eviction())
		}, true},
		"the operator's, to a node's Pod":   {"operators", patch("db-0", label), false},
		"the operator's, to other software": {"operators", patch("web", label), false},
		"of every verb":                     {"root", patch("db-0", label), false},
	} {
		if err := tc.do(as(tc.account)); (err != nil) != tc.denied || err != nil && !strings.Contains(err.Error(), "kubectl-scylla-own-pod-only") {
			t.Errorf("%s: %v, want denied %t by kubectl-scylla-own-pod-only", name, err, tc.denied)
		}
	}
	w.namespace = "db"
	w.want(3, "serviceaccount db/member: the API server denies it a write to another Pod (dry run)", "check")
	w.kubectl("", "patch", "validatingadmissionpolicybinding", "kubectl-scylla-own-pod-only", "--type=merge", "-p", `{"spec":{"validationActions":["Warn"]}}`)
	w.want(3, "serviceaccount db/member: the API server allows it to write to Pod db-0", "check")
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(own), own); err != nil || len(own.Annotations) != 1 {
		t.Errorf("check has changed the Pod: %v, %v", own.Annotations, err)
	}
}

func eviction() *policyv1.Eviction {
	return &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "web"}}
}

// TestNoHarm2InstallRefusesWhereAdmissionPoliciesAreOff: nothing of it is applied, and exit code 2.
func TestNoHarm2InstallRefusesWhereAdmissionPoliciesAreOff(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a Kubernetes control plane")
	}
	p, err := cluster.StartControlPlane(t.Context(), cluster.Options{APIServerFlags: []string{"--disable-admission-plugins=ValidatingAdmissionPolicy"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	admin, err := kube.NewClient(p.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{t: t, plane: p, cfg: p.RESTConfig(), c: admin, said: &strings.Builder{}}
	w.want(2, "does not enforce admission policies", "install", "--no-controller", "--yes")
	if out := w.kubectl("", "get", "clusterroles,validatingadmissionpolicies,crds,namespaces", "-o", "name"); strings.Contains(out, "kubectl-scylla") || strings.Contains(out, "scylladb.com") {
		t.Errorf("a refused installation has left something:\n%s", out)
	}
}
