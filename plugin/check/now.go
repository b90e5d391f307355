// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/preflight"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// safeNow queries all nodes and shows whether the action is safe.
func (o *options) safeNow(ctx context.Context) error {
	reader, err := o.d.NewReader(ctx,
		cli.ReadFlags{Source: cli.SourceFlag(cluster.SourceLive), ControllerNamespace: cli.DefaultControllerNamespace})
	if err != nil {
		return err
	}
	clusters, stopped, err := o.meant(ctx, reader)
	if err != nil {
		return err
	}
	var results []preflight.Result
	for _, s := range clusters {
		in := &preflight.Now{For: o.purpose, Cluster: s, Stopped: stopped(s)}
		if o.purpose == preflight.ForDrain && len(in.Stopped) == 0 {
			continue
		}
		o.d.GatherNow(ctx, reader.Client(), in)
		results = append(results, preflight.Safe(in)...)
	}
	if len(results) == 0 {
		results = []preflight.Result{{Check: "nodes", Subject: "Kubernetes node " + o.what, State: preflight.OK,
			Text: words.New(words.NobodyThereNow)}}
	}
	if ctx.Err() != nil {
		return exit.Interrupted(ctx.Err())
	}
	return o.end(results)
}

// meant returns the clusters to check, and their members that the action stops.
func (o *options) meant(ctx context.Context, reader *cli.Reader) ([]*cluster.Cluster,
	func(*cluster.Cluster) []cluster.Member, error) {
	if o.purpose == preflight.ForRestart {
		s, m, err := reader.Named(ctx, o.what)
		return []*cluster.Cluster{s}, func(*cluster.Cluster) []cluster.Member { return []cluster.Member{m} }, err
	}
	if o.purpose == preflight.ForDrain {
		switch err := reader.Client().Get(ctx, client.ObjectKey{Name: o.what}, &corev1.Node{}); {
		case apierrors.IsNotFound(err):
			return nil, nil, exit.Refusedf("Kubernetes node %q not found", o.what)
		case err != nil && !apierrors.IsForbidden(err): // the Pods name their Kubernetes node
			return nil, nil, fmt.Errorf("get Kubernetes node %s: %w", o.what, err)
		}
	}
	clusters, err := reader.All(ctx)
	return clusters, func(s *cluster.Cluster) []cluster.Member {
		var there []cluster.Member
		for _, m := range s.Members() {
			if o.purpose == preflight.ForDrain && m.Pod != nil && m.Pod.Spec.NodeName == o.what {
				there = append(there, m)
			}
		}
		return there
	}, err
}
