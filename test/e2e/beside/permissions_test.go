// SPDX-License-Identifier: Apache-2.0

package beside

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/plane"
)

// operatorRules and memberRules are the rules of the operator's two roles, scylla-operator adefed4ef, deploy/operator: 00_operator.clusterrole_def.yaml:7-348
// and 00_scyllacluster_member_clusterrole_def.yaml:7-64, as "group resources: verbs". The operator has neither escalate nor bind.
var (
	operatorRules = []string{
		" events: create patch update", " nodes endpoints persistentvolumes: get list watch", " persistentvolumeclaims pods: delete get list patch update watch", " pods/eviction: create",
		" configmaps endpoints endpoints/restricted namespaces secrets serviceaccounts services: *", "apps statefulsets daemonsets deployments: *", "apps statefulsets/scale daemonsets/finalizers: update",
		"scylla.scylladb.com scyllaclusters scylladbmonitorings scylladbdatacenters remotekubernetesclusters scylladbclusters scylladbmanagerclusterregistrations scylladbmanagertasks" +
			" scylladbdatacenternodesstatusreports nodeconfigs nodeconfigs/status scyllaoperatorconfigs scyllaoperatorconfigs/status: *",
		"scylla.scylladb.com scyllaclusters/status scylladbmonitorings/status scylladbdatacenters/status remotekubernetesclusters/status scylladbclusters/status" +
			" scylladbmanagerclusterregistrations/status scylladbmanagertasks/status: get list patch update watch",
		"scylla.scylladb.com scyllaclusters/finalizers scylladbclusters/finalizers remotekubernetesclusters/finalizers scylladbdatacenters/finalizers scylladbmonitorings/finalizers" +
			" scylladbmanagerclusterregistrations/finalizers scylladbmanagertasks/finalizers scylladbdatacenternodesstatusreports/finalizers nodeconfigs/finalizers: update",
		"coordination.k8s.io leases: *", "policy poddisruptionbudgets: *", "policy poddisruptionbudgets/finalizers: update", "batch jobs: *", "networking.k8s.io ingresses: *",
		"rbac.authorization.k8s.io clusterroles clusterrolebindings roles rolebindings: *", "monitoring.coreos.com prometheuses prometheusrules servicemonitors: *",
		" configmaps/finalizers secrets/finalizers pods/finalizers: update", "discovery.k8s.io endpointslices endpointslices/restricted: *",
	}
	memberRules = []string{
		" pods services: get list patch update watch", " secrets configmaps: get list watch", "apps statefulsets: get list patch watch", " configmaps/finalizers secrets/finalizers: update",
		"scylla.scylladb.com scylladbdatacenternodesstatusreports: get list watch",
	}
)

// aggregated are a role and the one that it takes in, as the operator has them.
func aggregated(name, label string, rules []string) []client.Object {
	part := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name + "-rules", Labels: map[string]string{label: "true"}}}
	for _, r := range rules {
		what, verbs, _ := strings.Cut(r, ": ")
		if verbs == "*" {
			verbs = "create delete get list patch update watch"
		}
		words := strings.Split(what, " ")
		part.Rules = append(part.Rules, rbacv1.PolicyRule{APIGroups: words[:1], Resources: words[1:], Verbs: strings.Fields(verbs)})
	}
	whole := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}}
	whole.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{label: "true"}}}}
	return []client.Object{part, whole}
}

// TestNoHarm1TheOperatorBindsItsRoleAfterOurInstall: on a real API server, an account with exactly the Scylla Operator's permissions creates the RoleBinding that
// each new ScyllaDBDatacenter needs, before our install, after it, with an account chosen by --operator-member, and after uninstall. With the
// ClusterRole of an earlier build the API server refuses it; check finds that role, and the command that it prints is the fix.
func TestNoHarm1TheOperatorBindsItsRoleAfterOurInstall(t *testing.T) {
	t.Parallel()
	p := plane.Start(t)
	scheme := kube.NewScheme()
	utilruntime.Must(rbacv1.AddToScheme(scheme))
	admin, err := client.NewWithWatch(p.RESTConfig(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{t: t, plane: p, cfg: p.RESTConfig(), c: admin, said: &strings.Builder{}}
	create := func(objects ...client.Object) {
		t.Helper()
		for _, o := range objects {
			if err := admin.Create(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
	}
	create(aggregated("scylladb:controller:operator", "rbac.operator.scylladb.com/aggregate-to-scylla-operator", operatorRules)...)
	create(aggregated("scyllacluster-member", api.LabelOperatorAggregation, memberRules)...)
	create(&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "scylladb:controller:operator"}, // 20_clusterrolebinding.yaml:1-12
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "scylladb:controller:operator"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "scylla-operator", Name: "scylla-operator"}}})
	cfg := p.RESTConfig()
	cfg.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:scylla-operator:scylla-operator",
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:scylla-operator", "system:authenticated"}}
	operator, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	step := 0
	// settled returns once Kubernetes has put together both roles from everything that was written before: a last rule, made here, is in them.
	settled := func() {
		t.Helper()
		step++
		mark := fmt.Sprintf("mark%d", step)
		for role, label := range map[string]string{"scylladb:controller:operator": "rbac.operator.scylladb.com/aggregate-to-scylla-operator", "scyllacluster-member": api.LabelOperatorAggregation} {
			create(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: strings.ReplaceAll(role, ":", "-") + mark, Labels: map[string]string{label: "true"}},
				Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{mark}, Verbs: []string{"get"}}}})
			if err := w.until(func(ctx context.Context) (bool, error) {
				r := &rbacv1.ClusterRole{}
				if err := admin.Get(ctx, client.ObjectKey{Name: role}, r); err != nil {
					return false, err
				}
				return strings.Contains(fmt.Sprint(r.Rules), mark), nil
			}); err != nil {
				t.Fatal(role, err)
			}
		}
	}
	// binds creates what the operator creates for a new ScyllaDBDatacenter, in a namespace of its own.
	binds := func() error {
		t.Helper()
		settled()
		namespace := fmt.Sprintf("db%d", step)
		create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
		return operator.Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "db-member"},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "scyllacluster-member"},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "db-member"}}})
	}
	if err := binds(); err != nil {
		t.Fatalf("before our install: %v", err)
	}
	w.want(0, "", "install", "--no-controller", "--yes")
	if err := binds(); err != nil {
		t.Errorf("after our install: %v", err)
	}
	w.want(0, "rolebinding.rbac.authorization.k8s.io/kubectl-scylla-member-of-operator-db-member applied", "install", "--no-controller", "--yes", "--operator-member=db1:db-member")
	if err := binds(); err != nil {
		t.Errorf("with an account that we bind: %v", err)
	}
	may := func() string {
		out, _ := p.Kubectl(t.Context(), "-n", "db1", "auth", "can-i", "list", "scylladbstatusreports.scylla.scylladb.com", "--as=system:serviceaccount:db1:db-member") // no ends with 1
		return strings.TrimSpace(out)
	}
	if got := may(); got != "yes" {
		t.Errorf("the account that we bind may list our reports: %s", got)
	}
	w.want(2, "must be NAMESPACE:SERVICEACCOUNT", "install", "--no-controller", "--operator-member=db-member")

	// The ClusterRole of an earlier build, applied as that build applied it.
	earlier := func() {
		t.Helper()
		w.kubectl(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: kubectl-scylla-member-of-operator, labels: {
app.kubernetes.io/part-of: kubectl-scylla, `+api.LabelOperatorAggregation+`: "true"}}, rules: [{apiGroups: [scylla.scylladb.com], resources: [scylladbstatusreports], verbs: [get, list, watch]},
{apiGroups: [events.k8s.io], resources: [events], verbs: [create, patch, update, get]}]}`, "apply", "--server-side", "--field-manager="+manifests.FieldOwner, "-f", "-")
	}
	earlier()
	if err := binds(); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "attempting to grant RBAC permissions not currently held") {
		t.Errorf("with the ClusterRole of an earlier build: %v", err)
	}
	const fix = "label clusterrole kubectl-scylla-member-of-operator rbac.operator.scylladb.com/aggregate-to-scylla-member-"
	w.want(3, "kubectl "+fix, "check")
	w.kubectl("", strings.Fields(fix)...)
	if err := binds(); err != nil {
		t.Errorf("after the fix that check prints: %v", err)
	}
	if got := w.run("check"); strings.Contains(got.Stdout, "aggregate-to-scylla-member") {
		t.Errorf("check after the fix:\n%s", got.Stdout)
	}
	earlier()
	w.want(0, "", "install", "--no-controller", "--yes")
	if err := binds(); err != nil {
		t.Errorf("after our install over the earlier build's: %v", err)
	}

	w.want(0, "rolebinding.rbac.authorization.k8s.io/kubectl-scylla-member-of-operator-db-member removed", "uninstall", "--yes")
	if got := may(); got != "no" {
		t.Errorf("after uninstall the account may list our reports: %s", got)
	}
	if err := binds(); err != nil {
		t.Errorf("after uninstall: %v", err)
	}
}
