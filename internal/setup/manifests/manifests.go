// SPDX-License-Identifier: Apache-2.0

// Package manifests returns the objects that are installed once per Kubernetes cluster: the CRDs,
// the controller, and the RBAC rules of the controller and of the agents in ScyllaDB Pods. It must
// not use a client.
package manifests

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/crds"
)

// Namespace is the controller's namespace.
const Namespace = "kubectl-scylla"

// ControllerRole is the ClusterRole of the controller, and its ClusterRoleBinding. With
// Options.Namespaces, each of these namespaces has a Role and a RoleBinding NamespaceRole instead.
const (
	ControllerRole = "kubectl-scylla-controller"
	NamespaceRole  = "kubectl-scylla-controller-in-namespace"
)

// MetricsBinding is the ClusterRoleBinding of Options.MetricsSecure.
const MetricsBinding = "kubectl-scylla-controller-metrics"

// Canary is the admission policy that denies all users the creation of the namespace with the
// policy's name. It shows install whether policies are enforced.
const Canary = "kubectl-scylla-canary"

// MemberRole is the ClusterRole with the permissions of our agent in a ScyllaDB Pod.
const MemberRole = "kubectl-scylla-member"

// OperatorMemberRole is the ClusterRole with the permissions that our agent needs in a Pod of the
// Scylla Operator in addition to the operator's own.
const OperatorMemberRole = "kubectl-scylla-member-of-operator"

//go:embed controller.yaml
var controller []byte

//go:embed member.yaml
var member []byte

// Options of an installation.
type Options struct {
	// Image of scylla-agent for the controller; empty omits the controller's Deployment (CRDs and
	// RBAC only).
	Image string
	// Replicas of the controller; default one. One is active, the others wait for its Lease.
	Replicas int
	// Namespaces that the controller manages; none means all.
	Namespaces []string
	// MetricsSecure serves the controller's metrics over TLS, to accounts that may get them.
	MetricsSecure bool
	// ControllerArgs are added to the controller's command line.
	ControllerArgs []string
	// OperatorMembers are ServiceAccounts of the Scylla Operator's Pods that get
	// OperatorMemberRole, each by its own RoleBinding.
	OperatorMembers []types.NamespacedName
	// Version is written on the namespace, so that the next installation can read it; empty writes
	// nothing.
	Version string
}

// Objects returns all objects to apply, in a valid order: namespace and CRDs before the objects
// that use them, and the admission policies before the roles that they limit.
func Objects(o Options) ([]*unstructured.Unstructured, error) {
	var objs []*unstructured.Unstructured
	add := func(name string, content []byte) error {
		got, err := Decode(bytes.NewReader(content))
		if err != nil {
			return fmt.Errorf("decode manifest %s: %w", name, err)
		}
		objs = append(objs, got...)
		return nil
	}
	files, err := fs.Glob(crds.FS, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list custom resource definitions: %w", err)
	}
	for _, f := range files {
		b, err := fs.ReadFile(crds.FS, f)
		if err != nil {
			return nil, fmt.Errorf("read custom resource definition %s: %w", f, err)
		}
		if err := add(f, b); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(add("controller.yaml", controller), add("member.yaml", member)); err != nil {
		return nil, err
	}
	for _, m := range o.OperatorMembers {
		objs = append(objs, operatorMember(m))
	}
	var out []*unstructured.Unstructured
	for _, u := range objs {
		if u.GetName() == ControllerRole && strings.HasPrefix(u.GetKind(), "ClusterRole") && len(o.Namespaces) > 0 {
			out = append(out, inNamespaces(u, o.Namespaces)...)
			continue
		}
		label(u)
		if u.GetKind() == "Namespace" && o.Version != "" {
			u.SetAnnotations(map[string]string{VersionAnnotation: o.Version})
		}
		if u.GetKind() == "PodDisruptionBudget" && (o.Replicas < 2 || o.Image == "") ||
			u.GetKind() == "PriorityClass" && o.Image == "" ||
			u.GetName() == MetricsBinding && !o.MetricsSecure {
			continue
		}
		if u.GetKind() != "Deployment" {
			out = append(out, u)
			continue
		}
		if o.Image == "" {
			continue
		}
		if err := controls(u, o); err != nil {
			return nil, err
		}
		out = append(out, u)
	}
	return out, nil
}

// inNamespaces returns a Role for each namespace with the rules of a ClusterRole, or a RoleBinding
// with the subjects of a ClusterRoleBinding.
func inNamespaces(u *unstructured.Unstructured, namespaces []string) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, namespace := range namespaces {
		r := u.DeepCopy()
		r.SetKind(strings.TrimPrefix(u.GetKind(), "Cluster"))
		r.SetNamespace(namespace)
		r.SetName(NamespaceRole)
		if ref, ok := r.Object["roleRef"].(map[string]any); ok {
			ref["kind"], ref["name"] = "Role", NamespaceRole
		}
		label(r)
		all = append(all, r)
	}
	return all
}

// FlagNamespaces begins the controller's argument with its namespaces.
const FlagNamespaces = "--namespaces="

// Namespaces returns the namespaces that an installed controller manages; none means all.
func Namespaces(controller *appsv1.Deployment) []string {
	for i := range controller.Spec.Template.Spec.Containers {
		for _, a := range controller.Spec.Template.Spec.Containers[i].Args {
			if list, ok := strings.CutPrefix(a, FlagNamespaces); ok && list != "" {
				return strings.Split(list, ",")
			}
		}
	}
	return nil
}

// operatorMember binds OperatorMemberRole to a ServiceAccount, in its namespace.
func operatorMember(account types.NamespacedName) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
		"metadata": map[string]any{"namespace": account.Namespace, "name": OperatorMemberRole + "-" + account.Name},
		"roleRef": map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
			"name": OperatorMemberRole},
		"subjects": []any{
			map[string]any{"kind": "ServiceAccount", "name": account.Name, "namespace": account.Namespace}},
	}}
}

// controls applies the options to the controller's Deployment.
func controls(u *unstructured.Unstructured, o Options) error {
	if o.Replicas > 1 {
		if err := unstructured.SetNestedField(u.Object, int64(o.Replicas), "spec", "replicas"); err != nil {
			return fmt.Errorf("set replicas of deployment %s: %w", u.GetName(), err)
		}
	}
	containers, _, err := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
	if err != nil {
		return fmt.Errorf("read containers of deployment %s: %w", u.GetName(), err)
	}
	if len(containers) != 1 {
		return fmt.Errorf("set image of deployment %s: it has %d containers, want 1", u.GetName(), len(containers))
	}
	c := containers[0].(map[string]any)
	c["image"] = o.Image
	args, _ := c["args"].([]any)
	if len(o.Namespaces) > 0 {
		args = append(args, FlagNamespaces+strings.Join(o.Namespaces, ","))
	}
	if o.MetricsSecure {
		args = append(args, "--metrics-secure")
		if err := unstructured.SetNestedField(u.Object, "https", "spec", "template", "metadata", "annotations",
			"prometheus.io/scheme"); err != nil {
			return fmt.Errorf("set the scheme of the metrics of deployment %s: %w", u.GetName(), err)
		}
	}
	for _, a := range o.ControllerArgs {
		args = append(args, a)
	}
	c["args"] = args
	if err := unstructured.SetNestedSlice(u.Object, containers, "spec", "template", "spec", "containers"); err != nil {
		return fmt.Errorf("set image of deployment %s: %w", u.GetName(), err)
	}
	return nil
}

// label adds PartOfLabel. Without a label, an object with only a name would have no managed field.
func label(u *unstructured.Unstructured) {
	labels := u.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[PartOfLabel] = FieldOwner
	u.SetLabels(labels)
}

// Decode decodes a stream of YAML or JSON documents and skips empty documents.
func Decode(r io.Reader) ([]*unstructured.Unstructured, error) {
	var objs []*unstructured.Unstructured
	d := yaml.NewYAMLOrJSONDecoder(r, 4096)
	for n := 1; ; n++ {
		u := &unstructured.Unstructured{}
		if err := d.Decode(&u.Object); errors.Is(err, io.EOF) {
			return objs, nil
		} else if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		if len(u.Object) > 0 {
			objs = append(objs, u)
		}
	}
}
