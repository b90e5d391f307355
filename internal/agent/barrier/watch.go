// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/gate"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// key returns the cluster of the member Service.
func (b *barrier) key(ctx context.Context) (cluster.Key, *matrix.Blocker) {
	if b.name = cmp.Or(b.Cluster, b.name); b.name != "" {
		return cluster.Key{Namespace: b.Namespace, Name: b.name}, nil
	}
	var svc corev1.Service
	err := b.client.Get(ctx, types.NamespacedName{Namespace: b.Namespace, Name: b.Service}, &svc)
	switch {
	case apierrors.IsNotFound(err):
		return cluster.Key{}, new(gate.NoService("",
			words.New(words.ServiceDoesNotExist, "namespace", b.Namespace, "service", b.Service)))
	case err != nil:
		return cluster.Key{}, b.unread(fmt.Errorf("read Service %s/%s: %w", b.Namespace, b.Service, err))
	case api.ClusterOf(svc.Labels) == "":
		return cluster.Key{}, &matrix.Blocker{
			Reason: words.LabelMissing, Observed: cluster.Place(b.Service, svc.Labels),
			Cause: words.New(words.ServiceLabelMissing, "label", api.LabelCluster),
		}
	}
	b.name = api.ClusterOf(svc.Labels)
	return cluster.Key{Namespace: b.Namespace, Name: b.name}, nil
}

// watch starts one watch once the cluster is known. If it fails, only the intervals remain.
func (b *barrier) watch(key cluster.Key) {
	if b.watched == key || b.ctx == nil {
		return // watched, or the disk alone decides
	}
	if b.unwatch != nil {
		b.unwatch()
		b.drain()
	}
	var ctx context.Context
	ctx, b.unwatch = context.WithCancel(b.ctx)
	b.watched = key
	changes, err := kube.Watch(ctx, b.client, key, kube.WatchOptions{
		Kinds: cluster.KindServices | cluster.KindReports | cluster.KindStatusReport, Quiet: quiet,
		Changed: func(k cluster.Kinds) { b.changed.Or(uint32(k)) },
		Connected: func(ok bool, err error) {
			switch {
			case ok:
				b.Log.Info("watching the member Services and reports of the cluster", "cluster", key.Name)
			case err != nil:
				b.metrics.apiErrors.Inc()
				b.Log.Warn("a watch ended, restarting it", "error", gate.OneLine(err))
			}
		},
		Problem: func(p cluster.Problem) {
			b.Log.Warn("cannot watch, polling instead", "problem", p.Message)
		},
	})
	if err != nil {
		b.Log.Warn("cannot watch, polling instead", "error", gate.OneLine(err))
		return
	}
	b.changes = changes
}

// drain waits until the watches have stopped: they close their channel.
func (b *barrier) drain() {
	for b.changes != nil {
		if _, ok := <-b.changes; !ok {
			b.changes = nil
		}
	}
}

// unread is the blocker if something could not be read.
func (b *barrier) unread(err error) *matrix.Blocker {
	b.metrics.apiErrors.Inc()
	if e, ok := errors.AsType[*cluster.NotFoundError](err); ok {
		return new(gate.NoService(words.Clean(e.Error()), words.Message{}))
	}
	reason := words.APIUnreachable
	if apierrors.IsForbidden(err) {
		reason = words.ReadingIncomplete
	}
	return &matrix.Blocker{Reason: reason, Detail: gate.OneLine(exit.Describe(err))}
}
