// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
)

const (
	// ringTimeout limits the reads of all replica placement from one node, ringQuestion those of
	// one keyspace.
	ringTimeout, ringQuestion = 90 * time.Second, 30 * time.Second
	// ringNodes is the largest number of nodes that are tried, one after the other.
	ringNodes = 3
)

// errNobodyToAsk means that no other node's Pod can respond.
var errNobodyToAsk = errors.New("no other node is running, so none can be queried")

// Witnesses returns the other Pods that run ScyllaDB, nodes seen UP first. Each can return the
// replica placement.
func Witnesses(s *cluster.Cluster, without string) []corev1.Pod {
	var up, others []corev1.Pod
	for _, m := range s.Members() {
		c := (*corev1.Container)(nil)
		if m.Pod != nil {
			c = cluster.ScyllaDBContainer(&m.Pod.Spec)
		}
		if c == nil || m.Member == without || !cluster.ContainerRuns(m.Pod, c.Name) {
			continue
		}
		if i, ok := s.Matrix().Index(m.HostID); ok && m.HostID != "" && s.Matrix().Nodes()[i].SeenDown == 0 {
			up = append(up, *m.Pod)
		} else {
			others = append(others, *m.Pod)
		}
	}
	return slices.Concat(up, others)
}

func (d *Deps) replication(ctx context.Context, pods []corev1.Pod) ([]maintenance.Keyspace, error) {
	cfg, err := d.RESTConfig()
	if err != nil {
		return nil, err
	}
	last := errNobodyToAsk
	for i := range pods[:min(ringNodes, len(pods))] {
		var found []maintenance.Keyspace
		answered := false
		_, problems := kube.Live(ctx, cfg, pods[i:i+1],
			kube.LiveOptions{PerNodeTimeout: ringTimeout,
				Ask: func(ctx context.Context, _ string, c *scylla.Client) []error {
					keyspaces, err := c.WithTimeout(ringQuestion).Replication(ctx)
					if err != nil {
						last = fmt.Errorf("query %s: %w", pods[i].Name, err)
						return nil
					}
					found, answered = keyspaces, true
					return nil
				}})
		switch {
		case answered:
			return found, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case len(problems) > 0:
			last = problems[0]
			if problems[0].Kind == cluster.ProblemForbidden {
				return nil, last
			}
		}
	}
	return nil, last
}

func (d *Deps) flushLocal(ctx context.Context, pod corev1.Pod) error {
	cfg, err := d.RESTConfig()
	if err != nil {
		return err
	}
	var asked bool
	var failed error
	rows, _ := kube.Live(ctx, cfg, []corev1.Pod{pod},
		kube.LiveOptions{Ask: func(ctx context.Context, _ string, c *scylla.Client) []error {
			asked, failed = true, c.FlushSystemLocal(ctx)
			return nil
		}})
	switch row := rows[pod.Name]; {
	case asked:
		return failed
	case row != nil && row.Error != nil:
		return errors.New(*row.Error)
	}
	return errNobodyToAsk
}
