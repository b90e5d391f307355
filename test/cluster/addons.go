// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/test/cluster/internal/supervisor"
)

// corefile serves the cluster's names on the router's address; there is no other network to forward to.
const corefile = `.:53 {
    bind ` + routerIP + `
    errors
    kubernetes cluster.local in-addr.arpa {
        kubeconfig %s test-cluster
        ttl 1
        pods insecure
    }
}
`

// startAddons starts what a cluster with Kubernetes nodes has on top of its control plane: DNS and storage.
func (c *Cluster) startAddons(ctx context.Context, begin time.Time) error {
	name := metav1.ObjectMeta{Name: "system:coredns"}
	for _, obj := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: name, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"services", "pods", "namespaces"}, Verbs: []string{"list", "watch"}},
			{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"list", "watch"}},
		}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: name,
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name.Name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name.Name}}},
		storageClass(),
	} {
		if err := c.client.Create(ctx, obj); err != nil {
			return fmt.Errorf("create %T %s: %w", obj, obj.GetName(), err)
		}
	}
	c.tasks.Go(func() { c.provision(c.background) })
	file := fmt.Sprintf(corefile, c.in("pki", "coredns.kubeconfig"))
	if err := os.WriteFile(filepath.Join(c.dir, "Corefile"), []byte(file), 0o644); err != nil {
		return fmt.Errorf("start DNS: %w", err)
	}
	if err := c.Component("coredns").Start(ctx); err != nil {
		return err
	}
	c.step(begin, "DNS answers")
	return nil
}

// waitDNS waits until CoreDNS listens, which it does when it has read the cluster's Services.
func (c *Cluster) waitDNS(ctx context.Context) error {
	return c.waitRunning(ctx, "DNS", "coredns", func(ctx context.Context) (bool, string, error) {
		out, err := c.control.Run(ctx, supervisor.Command{Argv: []string{"ss", "-Hlun", "src", routerIP + ":53"}})
		return strings.TrimSpace(string(out)) != "", "it does not listen yet", err
	})
}

// waitReady waits until the API server has a Ready status of the node that is not older than since.
func (n *node) waitReady(ctx context.Context, since time.Time) error {
	return n.c.waitRunning(ctx, n.name+" to be Ready", n.name+"/kubelet", func(ctx context.Context) (bool, string, error) {
		var obj corev1.Node
		if err := n.c.client.Get(ctx, client.ObjectKey{Name: n.name}, &obj); err != nil {
			return false, "", err
		}
		for _, cond := range obj.Status.Conditions {
			if cond.Type == corev1.NodeReady {
				ready := cond.Status == corev1.ConditionTrue && !cond.LastHeartbeatTime.Time.Before(since)
				return ready, fmt.Sprintf("Ready is %s since %s: %s", cond.Status, cond.LastHeartbeatTime, cond.Message), nil
			}
		}
		return false, "it has no condition Ready", nil
	})
}
