// SPDX-License-Identifier: Apache-2.0

// Package members keeps one member Service per ordinal of each StatefulSet that our controller
// manages. It records on it the node's own values: its host ID, and whether it has joined.
//
// It must not write to objects of the Scylla Operator, to Pods or to StatefulSets. It never deletes
// the Service of a node that its peers still list. Its annotations are the only record of a host ID
// that must be replaced or removed.
package members

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kubectl-scylla/kubectl-scylla/controller/notice"
	"github.com/kubectl-scylla/kubectl-scylla/controller/scope"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// lookAgain is the interval of checks of a member that is to be retired. A check reads only the
// cache.
const lookAgain = 10 * time.Second

// Options are the dependencies of the reconciler; all are required.
type Options struct {
	// Client reads from the cache, Live from the API server.
	Client client.Client
	Live   client.Reader
	Clock  clock.PassiveClock
	Notice *notice.Recorder
	Log    *slog.Logger
	// Concurrency is how many StatefulSets are reconciled in parallel; default 1.
	Concurrency int
}

// reconciler reconciles one StatefulSet.
type reconciler struct {
	o    Options
	rows *cluster.Decoder
}

// newReconciler returns a reconciler.
func newReconciler(o Options) *reconciler { return &reconciler{o, &cluster.Decoder{}} }

// Register adds the reconciler to a manager.
func Register(mgr ctrl.Manager, o Options) error {
	r := newReconciler(o)
	err := ctrl.NewControllerManagedBy(mgr).
		Named("members").
		For(&appsv1.StatefulSet{}).
		Watches(&corev1.Service{}, handler.EnqueueRequestsFromMapFunc(setOfService)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(),
			&appsv1.StatefulSet{}),
			builder.WithPredicates(nodeSaysMore(r.rows))).
		WithOptions(controller.Options{MaxConcurrentReconciles: max(1, o.Concurrency)}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("register the controller of member Services: %w", err)
	}
	return nil
}

// nodeSaysMore passes updates that change a node's values about itself, or after which they count.
// The node's row changes far more often, with every peer that starts or stops.
func nodeSaysMore(rows *cluster.Decoder) predicate.Funcs {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		if !maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) ||
			e.ObjectOld.GetUID() != e.ObjectNew.GetUID() {
			return true
		}
		before, isPod := e.ObjectOld.(*corev1.Pod)
		if after, ok := e.ObjectNew.(*corev1.Pod); isPod && ok && stale(before) && !stale(after) {
			return true
		}
		was, _ := api.RowOf(e.ObjectOld.GetAnnotations())
		is, _ := api.RowOf(e.ObjectNew.GetAnnotations())
		if was == is {
			return false
		}
		a, errA := rows.Decode(was)
		b, errB := rows.Decode(is)
		if errA != nil || errB != nil {
			return true
		}
		return a.HostID != b.HostID || a.OperationMode != b.OperationMode ||
			!ptr.Equal(cluster.SaysJoined(a), cluster.SaysJoined(b))
	}}
}

// Reconcile updates the member Services of one StatefulSet.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	set := &appsv1.StatefulSet{}
	if err := r.o.Client.Get(ctx, req.NamespacedName, set); err != nil {
		if apierrors.IsNotFound(err) {
			return r.orphans(ctx, req.NamespacedName)
		}
		return reconcile.Result{}, fmt.Errorf("read statefulset %s: %w", req, err)
	}
	if !cluster.Managed(set) || set.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	place, err := scope.PlaceOf(set)
	if err != nil {
		r.o.Notice.Emit(ctx, set, corev1.EventTypeWarning, "LabelMissing", "MakeMemberServices", err.Error())
		return reconcile.Result{}, nil
	}
	w, err := r.read(ctx, set, place.Namespace, place.Cluster)
	if err != nil {
		return reconcile.Result{}, err
	}
	start, n := cluster.Ordinals(set)
	end := start + n
	if other := w.overlaps(place); other != "" {
		r.o.Notice.Emit(ctx, set, corev1.EventTypeWarning, "RackConflict", "MakeMemberServices", fmt.Sprintf(
			"StatefulSet %s already has members with the same ordinals in rack %s of datacenter %s: change the rack "+
				"or the ordinals (spec.ordinals.start) of this StatefulSet",
			other, place.Rack, place.Datacenter))
		return reconcile.Result{}, nil
	}

	for ordinal := start; ordinal < end; ordinal++ {
		if err := r.ensure(ctx, w, Service(set, place, int32(ordinal))); err != nil {
			return settle(err)
		}
	}
	waiting := false
	for _, svc := range w.services {
		ordinal, ok := scope.Ordinal(svc.Name, set.Name)
		if !ok || !cluster.Managed(svc) || owned(svc, set.Name) {
			continue
		}
		if err := r.record(ctx, w, svc); err != nil {
			return settle(err)
		}
		if at := int(ordinal); at < start || at >= end {
			gone, err := r.retire(ctx, w, svc)
			if err != nil {
				return settle(err)
			}
			waiting = waiting || !gone
		}
	}
	if waiting {
		return reconcile.Result{RequeueAfter: lookAgain}, nil
	}
	return reconcile.Result{}, nil
}

// owned reports whether another object than the StatefulSet controls a Service.
func owned(svc *corev1.Service, set string) bool {
	o := metav1.GetControllerOf(svc)
	return o != nil && o.Kind != kindNamespace && (o.Kind != kindStatefulSet || o.Name != set)
}

// settle turns a conflict into a requeue: the cache will soon have the newer object.
func settle(err error) (reconcile.Result, error) {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return reconcile.Result{RequeueAfter: time.Second}, nil
	}
	return reconcile.Result{}, err
}

// world is the input of one reconciliation, read from the cache. set is nil if the StatefulSet is
// gone.
type world struct {
	set      *appsv1.StatefulSet
	sets     []appsv1.StatefulSet
	services []*corev1.Service
	byName   map[string]*corev1.Service
	pods     map[string]*corev1.Pod
	rows     *cluster.Decoder
	// namespace returns the UID of the namespace, which is read once.
	namespace func() (types.UID, error)
}

func (r *reconciler) read(ctx context.Context, set *appsv1.StatefulSet, namespace, cluster string) (*world, error) {
	in := kube.CachedOfCluster(namespace, cluster)
	var services corev1.ServiceList
	if err := r.o.Client.List(ctx, &services, in...); err != nil {
		return nil, fmt.Errorf("list services of cluster %s/%s: %w", namespace, cluster, err)
	}
	var pods corev1.PodList
	if err := r.o.Client.List(ctx, &pods, in...); err != nil {
		return nil, fmt.Errorf("list pods of cluster %s/%s: %w", namespace, cluster, err)
	}
	var sets appsv1.StatefulSetList
	if err := r.o.Client.List(ctx, &sets, in...); err != nil {
		return nil, fmt.Errorf("list statefulsets of cluster %s/%s: %w", namespace, cluster, err)
	}
	w := &world{set: set, sets: sets.Items, byName: map[string]*corev1.Service{}, pods: map[string]*corev1.Pod{},
		rows: r.rows, namespace: sync.OnceValues(func() (types.UID, error) { return r.namespaceUID(ctx, namespace) })}
	for i := range services.Items {
		s := &services.Items[i]
		w.services = append(w.services, s)
		w.byName[s.Name] = s
	}
	for i := range pods.Items {
		w.pods[pods.Items[i].Name] = &pods.Items[i]
	}
	return w, nil
}

// overlaps returns the name of an older StatefulSet with the same datacenter, rack and ordinals, or
// "". Reports identify a member by datacenter, rack and ordinal. If two members shared them, a new
// node that excludes its own row would also exclude the other's.
func (w *world) overlaps(place scope.Place) string {
	start, n := cluster.Ordinals(w.set)
	for i := range w.sets {
		s := &w.sets[i]
		p, err := scope.PlaceOf(s)
		if err != nil || p != place || s.Name == w.set.Name || !cluster.Managed(s) {
			continue
		}
		older := s.CreationTimestamp.Before(&w.set.CreationTimestamp) ||
			s.CreationTimestamp.Equal(&w.set.CreationTimestamp) && s.Name < w.set.Name
		if from, m := cluster.Ordinals(s); older && from < start+n && start < from+m {
			return s.Name
		}
	}
	return ""
}

// member returns the member of a Service.
func (w *world) member(svc *corev1.Service) *cluster.Member {
	pod := w.pods[svc.Name]
	return &cluster.Member{Ref: matrix.Ref{Member: svc.Name}, Service: svc, Pod: pod, Joined: cluster.Joined(svc),
		Report: rowOf(w.rows, pod)}
}

// ensure creates a member Service, or corrects the existing one.
func (r *reconciler) ensure(ctx context.Context, w *world, want *corev1.Service) error {
	svc := w.byName[want.Name]
	if svc == nil || metav1.GetControllerOf(svc) == nil {
		uid, err := w.namespace()
		if err != nil {
			return err
		}
		want.OwnerReferences = ownedBy(want.Namespace, uid)
	}
	if svc == nil {
		err := r.o.Client.Create(ctx, want)
		if err == nil {
			r.o.Log.InfoContext(ctx, "member service created", "namespace", want.Namespace, "service", want.Name)
			return nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create service %s/%s: %w", want.Namespace, want.Name, err)
		}
		// It exists but is not in the cache: it was just created, or has no cluster label.
		svc = &corev1.Service{}
		if err := r.o.Live.Get(ctx, client.ObjectKeyFromObject(want), svc); err != nil {
			return fmt.Errorf("read service %s/%s: %w", want.Namespace, want.Name, err)
		}
	}
	if !cluster.Managed(svc) {
		if !cluster.OwnedByOperator(svc) {
			r.o.Notice.Emit(ctx, w.set, corev1.EventTypeWarning, "MemberServiceConflict", "MakeMemberServices",
				fmt.Sprintf(
					"service %s has the name of a member Service: delete it, or set label %s=%s on it to let the "+
						"controller manage it", svc.Name, api.LabelManagedBy, api.ManagedByUs))
		}
		return nil
	}
	if owned(svc, w.set.Name) {
		o := metav1.GetControllerOf(svc)
		r.o.Notice.Emit(ctx, w.set, corev1.EventTypeWarning, "MemberServiceConflict", "MakeMemberServices", fmt.Sprintf(
			"service %s belongs to %s %s: rename one StatefulSet so that their members have different names", svc.Name,
			o.Kind, o.Name))
		return nil
	}
	if err := kube.PatchMetadata(ctx, r.o.Client, svc,
		func(s *corev1.Service) { adopt(s, want, w.set.Name) }); err != nil {
		return fmt.Errorf("label service %s/%s: %w", svc.Namespace, svc.Name, err)
	}
	if svc.Spec.PublishNotReadyAddresses && maps.Equal(svc.Spec.Selector, want.Spec.Selector) {
		return nil
	}
	mended := svc.DeepCopy()
	mended.Spec.PublishNotReadyAddresses, mended.Spec.Selector = true, want.Spec.Selector
	if err := r.o.Client.Patch(ctx, mended,
		client.MergeFromWithOptions(svc, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("correct service %s/%s: %w", svc.Namespace, svc.Name, err)
	}
	return nil
}

// record copies the node's values about itself from its Pod to its Service. The row of a stale Pod
// may be older than the Service.
func (r *reconciler) record(ctx context.Context, w *world, svc *corev1.Service) error {
	pod := w.pods[svc.Name]
	if stale(pod) {
		return nil
	}
	row := rowOf(w.rows, pod)
	set := Record(svc.Annotations, row, r.o.Clock.Now())
	if len(set) == 0 {
		return nil
	}
	id := cmp.Or(row.HostID, hostid.Known(set[api.AnnotationHostID]))
	if why := w.foreign(svc.Name, id); why != "" {
		r.o.Notice.Emit(ctx, svc, corev1.EventTypeWarning, "HostIDRefused", "RecordMember", fmt.Sprintf(
			"host ID %s in the Pod's status report is not recorded: %s", words.Clean(fmt.Sprintf("%.80q", id)), why))
		return nil
	}
	old := svc.Annotations[api.AnnotationHostID]
	err := kube.PatchMetadata(ctx, r.o.Client, svc, func(s *corev1.Service) {
		if s.Annotations == nil {
			s.Annotations = map[string]string{}
		}
		maps.Copy(s.Annotations, set)
	})
	if err != nil {
		return fmt.Errorf("record host ID on service %s/%s: %w", svc.Namespace, svc.Name, err)
	}
	r.o.Log.InfoContext(ctx, "member recorded", "namespace", svc.Namespace, "member", svc.Name, "hostID", id,
		"joined", svc.Annotations[api.AnnotationNodeJoined], "previousHostID", old)
	return nil
}

// foreign returns why a host ID cannot belong to a member's own node, else "".
func (w *world) foreign(member string, hostID hostid.ID) string {
	for _, s := range w.services {
		if s.Name != member && hostid.Known(s.Annotations[api.AnnotationHostID]) == hostID {
			return "the Service of member " + s.Name +
				" has this host ID; if the volume was moved, delete that Service first"
		}
	}
	return ""
}

// stale reports whether a Pod's row may be out of date, or the Pod is missing.
func stale(pod *corev1.Pod) bool {
	if pod == nil {
		return true
	}
	why, _ := cluster.Stale(pod)
	return !why.IsZero()
}

// rowOf decodes the row in a Pod's annotation; nil if it is absent or invalid (package reports
// writes the Event for that).
func rowOf(rows *cluster.Decoder, pod *corev1.Pod) *api.NodeStatusReport {
	if pod == nil {
		return nil
	}
	text, _ := api.RowOf(pod.Annotations)
	row, _ := rows.Decode(text)
	return row
}
