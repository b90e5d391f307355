// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// A budget for one replica could only block drains; without a controller there is nothing to protect.
func TestReplicasHaveABudget(t *testing.T) {
	for name, tc := range map[string]struct {
		o                 Options
		replicas          string // of the Deployment
		budgets, priority int
	}{
		"by default":       {Options{Image: "x"}, "1", 0, 1},
		"one":              {Options{Image: "x", Replicas: 1}, "1", 0, 1},
		"two":              {Options{Image: "x", Replicas: 2}, "2", 1, 1},
		"three":            {Options{Image: "x", Replicas: 3}, "3", 1, 1},
		"no controller":    {Options{}, "none", 0, 0},
		"no controller, 2": {Options{Replicas: 2}, "none", 0, 0},
	} {
		objects, err := Objects(tc.o)
		if err != nil {
			t.Fatal(err)
		}
		kinds := map[string]int{}
		replicas := "none"
		for _, u := range objects {
			kinds[u.GetKind()]++
			if u.GetKind() == "Deployment" {
				n, _, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "replicas")
				replicas = fmt.Sprint(n)
			}
		}
		if replicas != tc.replicas || kinds["PodDisruptionBudget"] != tc.budgets || kinds["PriorityClass"] != tc.priority {
			t.Errorf("%s: %s replicas, %v", name, replicas, kinds)
		}
	}
}

// TestNamespacesHaveRoles: with namespaces, the controller has no ClusterRole. A Role in each of them has the rules, and the role of its own namespace stays.
func TestNamespacesHaveRoles(t *testing.T) {
	named := func(o Options) map[string]*unstructured.Unstructured {
		objects, err := Objects(o)
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]*unstructured.Unstructured{}
		for _, u := range objects {
			all[u.GetKind()+" "+u.GetNamespace()+"/"+u.GetName()] = u
		}
		return all
	}
	everywhere, some := named(Options{Image: "x"}), named(Options{Image: "x", Namespaces: []string{"a", "b"}})
	for _, kind := range []string{"Role", "RoleBinding"} {
		cluster := "Cluster" + kind + " /" + ControllerRole
		if everywhere[cluster] == nil || some[cluster] != nil {
			t.Errorf("%s: everywhere %v, in two namespaces %v", cluster, everywhere[cluster], some[cluster])
		}
		delete(everywhere, cluster)
		for _, namespace := range []string{"a", "b"} {
			key := kind + " " + namespace + "/" + NamespaceRole
			r := some[key]
			if r == nil || r.GetLabels()[PartOfLabel] != FieldOwner {
				t.Fatalf("%s: %v", key, r)
			}
			delete(some, key)
			want := named(Options{Image: "x"})[cluster]
			if diff := cmp.Diff(want.Object["rules"], r.Object["rules"]); diff != "" {
				t.Errorf("%s (-ClusterRole +Role):\n%s", key, diff)
			}
			if diff := cmp.Diff(want.Object["subjects"], r.Object["subjects"]); diff != "" {
				t.Errorf("%s (-ClusterRoleBinding +RoleBinding):\n%s", key, diff)
			}
			ref, bound := r.Object["roleRef"].(map[string]any)
			if bound != (kind == "RoleBinding") || bound && (ref["kind"] != "Role" || ref["name"] != NamespaceRole) {
				t.Errorf("%s refers to %v", key, ref)
			}
		}
	}
	const controller = "Deployment " + Namespace + "/" + ControllerRole
	for name, tc := range map[string]struct {
		u    *unstructured.Unstructured
		want []string
	}{"everywhere": {everywhere[controller], nil}, "two": {some[controller], []string{"a", "b"}}} {
		d := &appsv1.Deployment{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(tc.u.Object, d); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, Namespaces(d)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	delete(everywhere, controller)
	delete(some, controller)
	if diff := cmp.Diff(everywhere, some); diff != "" {
		t.Errorf("other objects (-everywhere +in two namespaces):\n%s", diff)
	}
}

// TestSecureMetrics: the argument, the scheme for a Prometheus that reads annotations, and the permission to review its token, or none of the three.
func TestSecureMetrics(t *testing.T) {
	for _, secure := range []bool{false, true} {
		objects, err := Objects(Options{Image: "x", MetricsSecure: secure})
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, u := range objects {
			text, err := u.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range []string{`"--metrics-secure"`, `"prometheus.io/scheme":"https"`, `"system:auth-delegator"`} {
				if strings.Contains(string(text), part) {
					found = append(found, u.GetKind()+" "+part)
				}
			}
		}
		want := ""
		if secure {
			want = `ClusterRoleBinding "system:auth-delegator", Deployment "--metrics-secure", Deployment "prometheus.io/scheme":"https"`
		}
		if strings.Join(found, ", ") != want {
			t.Errorf("secure %t: %q", secure, found)
		}
	}
}

// Whoever has the role of a member, and no policy that limits it, can change every Pod of the namespace. So at no moment of an installation is a role there
// without the policies.
func TestPoliciesAreAppliedBeforeTheRolesThatTheyLimit(t *testing.T) {
	for name, o := range map[string]Options{
		"all":                {Image: "x", Replicas: 2},
		"without controller": {OperatorMembers: []types.NamespacedName{{Namespace: "demo", Name: "db-member"}}},
	} {
		objects, err := Objects(o)
		if err != nil {
			t.Fatal(err)
		}
		policies, roles := 0, 0
		for _, u := range objects {
			switch u.GetKind() {
			case "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding":
				if policies++; roles > 0 {
					t.Errorf("%s: %s %s comes after a role that it limits", name, u.GetKind(), u.GetName())
				}
			case "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding":
				text, err := u.MarshalJSON()
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(text), MemberRole) {
					roles++
				}
			}
		}
		if policies != 6 || roles < 2 {
			t.Errorf("%s: %d policies and bindings, %d roles of members", name, policies, roles)
		}
	}
}

// The controller reads the limit of its control group and sets Go's from it, so who changes the limit changes nothing else.
func TestNoHarm31TheControllerHasRoomForAThousandNodes(t *testing.T) {
	objects, err := Objects(Options{Image: "x"})
	if err != nil {
		t.Fatal(err)
	}
	deployments := 0
	for _, u := range objects {
		if u.GetKind() != "Deployment" {
			continue
		}
		deployments++
		d := &appsv1.Deployment{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, d); err != nil {
			t.Fatal(err)
		}
		c := d.Spec.Template.Spec.Containers[0]
		if c.ImagePullPolicy != corev1.PullIfNotPresent {
			t.Errorf("imagePullPolicy %q: a restart of the controller needs the registry", c.ImagePullPolicy)
		}
		for _, e := range c.Env {
			if e.Name == "GOMEMLIMIT" {
				t.Errorf("GOMEMLIMIT is %s", e.Value)
			}
		}
		if got := c.Resources.Limits.Memory().Value(); got != 128<<20 {
			t.Errorf("the limit is %d MiB", got>>20)
		}
	}
	if deployments != 1 {
		t.Errorf("%d Deployments", deployments)
	}
}

// TestWhatShortensAnOutageOfTheController: tight probes that answer on a busy Kubernetes node, a
// priority above the default of 0, and a budget that never blocks a drain for good.
func TestWhatShortensAnOutageOfTheController(t *testing.T) {
	objects, err := Objects(Options{Image: "x", Replicas: 2})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"Deployment": `"livenessProbe":{"httpGet":{"path":"/healthz","port":"health"},"initialDelaySeconds":10,"periodSeconds":5,"timeoutSeconds":10}` +
			`|"readinessProbe":{"httpGet":{"path":"/readyz","port":"health"},"periodSeconds":2,"timeoutSeconds":5}` +
			`|"priorityClassName":"kubectl-scylla-controller"|{"containerPort":8081,"name":"health"}|"--health-probe-bind-address=:8081"` +
			`|"--leader-elect"|"matchLabels":{"app.kubernetes.io/component":"controller","app.kubernetes.io/name":"kubectl-scylla"}`,
		"PriorityClass": `"name":"kubectl-scylla-controller"|"preemptionPolicy":"PreemptLowerPriority"|"value":1000000`,
		"PodDisruptionBudget": `"spec":{"maxUnavailable":1,"selector":{"matchLabels":{"app.kubernetes.io/component":"controller",` +
			`"app.kubernetes.io/name":"kubectl-scylla"}},"unhealthyPodEvictionPolicy":"AlwaysAllow"}`,
	}
	for _, u := range objects {
		parts, ok := want[u.GetKind()]
		if !ok {
			continue
		}
		delete(want, u.GetKind())
		text, err := u.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		for part := range strings.SplitSeq(parts, "|") {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s lacks %s:\n%s", u.GetKind(), part, text)
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("not among the objects: %v", want)
	}
}
