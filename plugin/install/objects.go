// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// Documents returns objects as a stream of YAML documents.
func Documents(objects []*unstructured.Unstructured) ([]byte, error) {
	var all []byte
	for _, u := range objects {
		b, err := yaml.Marshal(u.Object)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", Name(u), err)
		}
		all = append(append(all, "---\n"...), b...)
	}
	if len(all) == 0 {
		return nil, errors.New("no objects to print")
	}
	return all, nil
}

// Delete deletes an object unless another one with the same name has replaced it.
func Delete(ctx context.Context, c client.Client, u *unstructured.Unstructured, dryRun cli.DryRunFlag) error {
	uid := u.GetUID()
	opts := []client.DeleteOption{client.Preconditions{UID: &uid},
		client.PropagationPolicy(metav1.DeletePropagationBackground)}
	switch dryRun {
	case cli.DryRunClient:
		return nil
	case cli.DryRunServer:
		opts = append(opts, client.DryRunAll)
	}
	if err := client.IgnoreNotFound(c.Delete(ctx, u, opts...)); err != nil {
		return fmt.Errorf("remove %s: %w", Name(u), err)
	}
	return nil
}

// Name returns an object's name as kubectl prints it: kind.group/name.
func Name(u *unstructured.Unstructured) string {
	kind := strings.ToLower(u.GetKind())
	if g := u.GroupVersionKind().Group; g != "" {
		kind += "." + g
	}
	if u.GetName() == manifests.NamespaceRole { // the same name in several namespaces
		return kind + "/" + u.GetName() + " in namespace " + u.GetNamespace()
	}
	return kind + "/" + u.GetName()
}
