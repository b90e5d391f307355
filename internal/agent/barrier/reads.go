// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/gate"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// reads reads for the gate: objects from the API server, and answers from other members' reporters.
type reads struct {
	*barrier
	ctx context.Context // of the present judgement
}

func (r *reads) Now() time.Time { return r.Clock.Now() }

func (r *reads) Cluster() (*cluster.Cluster, *matrix.Blocker) {
	if err := r.connect(); err != nil {
		return nil, r.unread(err)
	}
	key, trouble := r.key(r.ctx)
	if trouble != nil {
		return nil, trouble
	}
	r.metrics.evaluations.Inc()
	taken := r.Now()
	objects, err := r.load(key, false)
	r.watch(key) // after the first verdict's reading, which it would delay; its first signal reads again
	if err != nil {
		return nil, r.unread(err)
	}
	c := cluster.New(objects, cluster.SourceReport, taken)
	if svc := c.Service(r.Service); svc != nil {
		r.metrics.info.Reset()
		r.metrics.info.WithLabelValues(key.Namespace, key.Name, svc.Labels[api.LabelDatacenter]).Set(1)
	}
	if c.Incomplete() != nil {
		r.metrics.apiErrors.Inc()
	}
	return c, nil
}

// load reads what a decision needs, without Pods; operator adds the state of the Scylla Operator.
func (r *reads) load(key cluster.Key, operator bool) (cluster.Objects, error) {
	return kube.Load(r.ctx, r.client, key, kube.LoadOptions{Source: cluster.SourceReport, NoPods: true,
		StatefulSets: true, StatusReport: true, Operator: operator, Member: r.Service})
}

func (r *reads) Report() (*api.ScyllaDBStatusReport, *matrix.Blocker) {
	report, key := &api.ScyllaDBStatusReport{}, types.NamespacedName{Namespace: r.Namespace, Name: r.name}
	if err := r.client.Get(r.ctx, key, report); err != nil {
		return nil, r.unread(fmt.Errorf("read ScyllaDBStatusReport %s: %w", key, err))
	}
	return report, nil
}

func (r *reads) LeaseName() string { return r.LeaseNamespace + "/" + api.LeaseName }

func (r *reads) Lease() (*coordinationv1.Lease, words.Message) {
	l := &coordinationv1.Lease{}
	err := r.client.Get(r.ctx, types.NamespacedName{Namespace: r.LeaseNamespace, Name: api.LeaseName}, l)
	switch {
	case apierrors.IsNotFound(err):
		return nil, words.Message{}
	case apierrors.IsForbidden(err):
		return nil, words.New(words.LeaseForbidden, "lease", r.LeaseName())
	case err != nil:
		return nil, words.New(words.LeaseUnread, "lease", r.LeaseName(), "error", gate.OneLine(err))
	}
	return l, words.Message{}
}

func (r *reads) Claim(name string) (uid types.UID, deleting bool, x *matrix.Blocker) {
	claim, err := r.meta("PersistentVolumeClaim", name)
	switch {
	case err == nil:
		return claim.UID, claim.DeletionTimestamp != nil, nil
	case apierrors.IsNotFound(err):
		return "", false, nil
	}
	return "", false, r.unread(err)
}

// PodUID comes from the downward API, else from the Pod of that name.
func (r *reads) PodUID() (types.UID, *matrix.Blocker) {
	if r.barrier.PodUID != "" {
		return r.barrier.PodUID, nil
	}
	pod, err := r.meta("Pod", r.Pod)
	if err != nil {
		return "", r.unread(err)
	}
	return pod.UID, nil
}

func (r *reads) meta(kind, name string) (*metav1.PartialObjectMetadata, error) {
	o := &metav1.PartialObjectMetadata{}
	if err := r.connect(); err != nil {
		return o, err
	}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	return o, r.client.Get(r.ctx, types.NamespacedName{Namespace: r.Namespace, Name: name}, o)
}

// Ran comes from the row of this Pod: its reporter writes it at its next poll. A failure leaves it
// unknown, which only makes the launcher wait.
func (r *reads) Ran() hostid.ID {
	pod := &corev1.Pod{}
	if r.client.Get(r.ctx, types.NamespacedName{Namespace: r.Namespace, Name: r.Pod}, pod) != nil ||
		r.barrier.PodUID != "" && pod.UID != r.barrier.PodUID {
		return ""
	}
	row, err := api.DecodeNodeStatusReport(pod.Annotations[api.AnnotationNodeStatusReport])
	if err != nil {
		return ""
	}
	return row.LastHostID()
}

func (r *reads) Pods(of *cluster.Cluster) (cluster.Objects, map[string]string, *matrix.Blocker) {
	r.metrics.evaluations.Inc()
	digests, decoder := map[string]string{}, &cluster.Decoder{}
	key := cluster.Key{Namespace: r.Namespace, Name: r.name}
	pods, err := kube.Pods(r.ctx, r.client, key, func(pod *corev1.Pod) {
		// the digest is of the whole row
		digests[pod.Name] = api.ReportDigest(pod.Annotations[api.AnnotationNodeStatusReport])
		decoder.Condense(pod)
	})
	if err != nil {
		return cluster.Objects{}, nil, r.unread(err)
	}
	objects := of.Objects
	if !of.Ours() {
		// The Scylla Operator may write the reports: read its state once.
		if objects, err = r.load(key, true); err != nil {
			return cluster.Objects{}, nil, r.unread(err)
		}
	}
	objects.Pods, objects.Decoder = pods, decoder
	objects.Read |= cluster.KindPods
	return objects, digests, nil
}

func (r *reads) Neighbours() (cluster.Neighbourhood, *matrix.Blocker) {
	all, err := kube.Neighbourhood(r.ctx, r.client, r.Namespace)
	if err != nil {
		return all, r.unread(err)
	}
	return all, nil
}

func (r *reads) Relays(members []string) (found []gate.Relay) {
	for _, name := range members {
		pod := &corev1.Pod{}
		if r.client.Get(r.ctx, client.ObjectKey{Namespace: r.Namespace, Name: name}, pod) != nil {
			continue
		}
		if address, fingerprint, serves := cluster.ServedAt(pod); serves {
			found = append(found, gate.Relay{Member: name, Address: address, Fingerprint: fingerprint})
		}
	}
	return found
}
