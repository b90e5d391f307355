// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/remote"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// installed is an API server with everything that install applies. Somebody else has applied the ClusterRole changed; helm: a release of Helm has all.
func installed(t *testing.T, changed string, namespaces ...string) client.Client {
	t.Helper()
	objects, err := manifests.Objects(manifests.Options{Image: "x", Replicas: 2, Namespaces: namespaces})
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]*unstructured.Unstructured{}
	for _, u := range objects {
		managed := []metav1.ManagedFieldsEntry{{Manager: manifests.FieldOwner, Operation: metav1.ManagedFieldsOperationApply}}
		if u.GetName() == changed && u.GetKind() == "ClusterRole" {
			managed[0].Manager = "somebody"
		}
		if changed == helm {
			u.SetLabels(map[string]string{api.LabelManagedBy: "Helm"})
			u.SetAnnotations(map[string]string{"meta.helm.sh/release-name": "r", "meta.helm.sh/release-namespace": "n"})
		}
		u.SetManagedFields(managed)
		there[u.GetKind()+strings.TrimPrefix(u.GetNamespace(), manifests.Namespace)+u.GetName()] = u
	}
	return fake.NewClientBuilder().WithScheme(runtime.NewScheme()).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
			u := obj.(*unstructured.Unstructured)
			have, ok := there[u.GetKind()+key.Name]
			if !ok {
				return apierrors.NewNotFound(schema.GroupResource{Resource: u.GetKind()}, key.Name)
			}
			u.Object = have.DeepCopy().Object
			return nil
		},
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			all := list.(*unstructured.UnstructuredList)
			for _, u := range there {
				if u.GetKind()+"List" == all.GetKind() {
					all.Items = append(all.Items, *u)
				}
			}
			return nil
		},
	}).Build()
}

// The step of a refusal works where it is pasted: it names the object and its namespace.
func TestRefuse(t *testing.T) {
	meta := func(namespace, name string, labels map[string]string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}
	}
	barrier := &appsv1.StatefulSet{ObjectMeta: meta("demo", "db-a", map[string]string{api.LabelCluster: "shop"})}
	barrier.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: api.ContainerBarrier}}
	operators := barrier.DeepCopy()
	operators.Labels[api.LabelManagedBy] = api.ManagedByOperator
	for name, tc := range map[string]struct {
		objects []client.Object
		want    string
	}{
		"nothing":                {nil, ""},
		"the operator's barrier": {[]client.Object{operators}, ""},
		"a replacement": {[]client.Object{&corev1.Service{ObjectMeta: meta("demo", "db-a-0", map[string]string{api.LabelReplace: ""})}},
			"kubectl scylla replace cancel db-a-0 -n demo"},
		"a replacement by the operator": {[]client.Object{&corev1.Service{ObjectMeta: meta("demo", "op-a-0", map[string]string{api.LabelReplace: "", api.LabelManagedBy: api.ManagedByOperator})}}, ""},
		"a barrier":                     {[]client.Object{barrier}, "kubectl scylla inject shop --undo -n demo"},
		"a remote": {[]client.Object{&corev1.Secret{ObjectMeta: meta(manifests.Namespace, "kubectl-scylla-remote-eu", map[string]string{api.LabelRemoteKubeconfig: "eu"})}},
			"kubectl scylla remote remove eu"},
		"the account of a remote": {[]client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: manifests.Namespace, UID: "12345678-9"}},
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: manifests.Namespace, Name: "kubectl-scylla-remote-eu", Labels: map[string]string{api.LabelRemoteKubeconfig: "eu"},
				Annotations: map[string]string{api.AnnotationRemoteLocalNamespace: "shop", api.AnnotationRemoteNamespace: "far"}}},
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: manifests.Namespace, Name: "kubectl-scylla-remote-us", Labels: map[string]string{api.LabelRemoteKubeconfig: "us"},
				Annotations: map[string]string{api.AnnotationRemoteLocalNamespace: "shop"}}}},
			"eu (ServiceAccount far/kubectl-scylla-remote-eu-12345678 there), us (ServiceAccount shop/kubectl-scylla-remote-us-12345678 there)"},
		"a remote without a name": {[]client.Object{&corev1.Secret{ObjectMeta: meta(manifests.Namespace, "x", map[string]string{api.LabelRemoteKubeconfig: ""})}},
			"kubectl scylla remote remove x"},
		"a Secret elsewhere": {[]client.Object{&corev1.Secret{ObjectMeta: meta("demo", "x", map[string]string{api.LabelRemoteKubeconfig: "eu"})}}, ""},
	} {
		c := fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithObjects(tc.objects...).Build()
		err := refuse(t.Context(), c)
		text := ""
		if err != nil {
			text = exit.Message(err)
		}
		if (err == nil) != (tc.want == "") || !strings.Contains(text, tc.want) || err != nil && exit.Code(err) != exit.CodeUsage {
			t.Errorf("%s: %q, want %q", name, text, tc.want)
		}
	}
}

// TestNoHarm47WhatControllersElsewhereHaveHere: accounts with tokens that do not expire, and copied reports, which block the operator's barrier, are listed with the command that shows whether they are in use: nothing here proves that they are not.
func TestNoHarm47WhatControllersElsewhereHaveHere(t *testing.T) {
	account := remote.There("demo", remote.Account("eu", "12345678"))[0]
	other := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "kubectl-scylla-remote-of-a-user"}}
	report := func(name, copied string) client.Object {
		return &api.ScyllaDBDatacenterNodesStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: "op", Name: name,
			Labels: map[string]string{api.LabelRemoteReport: "eu"}, Annotations: map[string]string{api.AnnotationCopy: copied}}}
	}
	c := fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithObjects(account, other, report("pushed", api.CopyPushed), report("pulled", api.CopyPulled)).Build()
	got, err := elsewhere(t.Context(), c, func(c words.Command) string { return strings.Join(c, " ") })
	if err != nil || len(got) != 2 ||
		!strings.HasSuffix(got[0], "kubectl get serviceaccount kubectl-scylla-remote-eu-12345678 --output yaml --show-managed-fields -n demo") ||
		!strings.HasSuffix(got[1], "kubectl get scylladbdatacenternodesstatusreport pushed --output yaml --show-managed-fields -n op") {
		t.Errorf("%v, %q", err, got)
	}
}

const helm = "helm"

// The roles in the namespaces of the controller go first, and are in no list of objects that an installation without them has.
func TestRolesInNamespacesAreRemoved(t *testing.T) {
	remove, _, err := look(t.Context(), installed(t, "", "a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, u := range remove[:min(4, len(remove))] {
		found = append(found, u.GetKind()+" "+u.GetNamespace()+"/"+u.GetName())
	}
	slices.Sort(found)
	const role = "/kubectl-scylla-controller-in-namespace"
	if want := []string{"Role a" + role, "Role b" + role, "RoleBinding a" + role, "RoleBinding b" + role}; !slices.Equal(found, want) {
		t.Errorf("first %q, want %q", found, want)
	}
	if remove, stay, err := look(t.Context(), installed(t, helm, "a")); err != nil || len(remove) > 0 || len(stay) != 3 {
		t.Errorf("of Helm: %v, %v, %q", err, remove, stay)
	}
}

// What Helm has taken over stays, although install applied it once: Helm would not create it again.
func TestObjectsOfHelmStay(t *testing.T) {
	remove, stay, err := look(t.Context(), installed(t, helm))
	if err != nil || len(remove) > 0 || len(stay) != 3 || !strings.HasSuffix(stay[2], " objects of Helm release n/r stay: helm uninstall removes them") {
		t.Errorf("%v, %v, %q", err, remove, stay)
	}
}

// A role of members is removed before the policies that limit it, and they stay while it stays.
func TestPoliciesOutliveTheRolesThatTheyLimit(t *testing.T) {
	roles := []string{manifests.MemberRole, manifests.OperatorMemberRole}
	for _, changed := range append(roles, "") {
		remove, stay, err := look(t.Context(), installed(t, changed))
		if err != nil {
			t.Fatal(err)
		}
		first, last, kept := len(remove), -1, 0
		for i, u := range remove {
			switch {
			case strings.HasPrefix(u.GetKind(), "ValidatingAdmissionPolicy"):
				first = min(first, i)
			case slices.Contains(roles, u.GetName()):
				last = i
			}
		}
		for _, line := range stay {
			if strings.HasPrefix(line, "validatingadmissionpolicy") && strings.HasSuffix(line, "it limits clusterrole.rbac.authorization.k8s.io/"+changed) {
				kept++
			}
		}
		switch {
		case changed == "" && (first >= len(remove) || last < 0 || last > first || kept > 0):
			t.Errorf("policy %d of the list, role %d, %d kept", first, last, kept)
		case changed != "" && (first < len(remove) || kept != 6):
			t.Errorf("%s stays, and policy %d of the list is removed, %d kept: %v", changed, first, kept, stay)
		}
	}
}
