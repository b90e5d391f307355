// SPDX-License-Identifier: Apache-2.0

// Package force propagates two annotations to the member Services, where barriers read them: the
// force annotation, and the reference to the report that barriers use. Their origin is a
// StatefulSet, a ScyllaDBDatacenter or a ScyllaCluster. The Secret of a remote may also have the
// reference. Copies are removed once the origin no longer has the annotation. The package writes to
// no Pod, so no Pod restarts. It removes the force annotation from the Service of a member whose
// node has started: a force is for one start. From above a force is for members that have never
// joined.
//
// It must not write to Services that our controller does not manage, nor judge whether forcing is
// safe. It writes an Event for each forced member.
package force

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kubectl-scylla/kubectl-scylla/controller/metrics"
	"github.com/kubectl-scylla/kubectl-scylla/controller/notice"
	"github.com/kubectl-scylla/kubectl-scylla/controller/scope"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
)

// kinds of the Scylla Operator whose annotations are propagated, nearest first. Their CRDs may be
// missing.
var kinds = []schema.GroupVersionKind{api.ScyllaDBDatacenterGVK, api.ScyllaClusterGVK}

// lookForKinds is the interval of checks for a missing CRD.
const lookForKinds = time.Minute

// Options are the dependencies of the reconciler.
type Options struct {
	Client  client.Client
	Notice  *notice.Recorder
	Metrics *metrics.Metrics
	Log     *slog.Logger
	// Kinds returns the Scylla Operator's kinds that are watched so far; nil means none.
	Kinds       func() []schema.GroupVersionKind
	Concurrency int
	// Joined returns the report that aggregates the datacenters of a cluster, and the remote's
	// Secret that names it; nil if remotes are off.
	Joined func(ctx context.Context, namespace, cluster string) (report, secret string, err error)
	// LocalCluster returns the local cluster that a remote's Secret configures, empty for none.
	LocalCluster func(secret client.Object) types.NamespacedName
}

// reconciler reconciles the member Services of one cluster, by namespace and label scylla/cluster.
type reconciler struct{ o Options }

// newReconciler returns a reconciler.
func newReconciler(o Options) *reconciler {
	if o.Kinds == nil {
		o.Kinds = func() []schema.GroupVersionKind { return nil }
	}
	return &reconciler{o}
}

// Register adds the reconciler to a manager, and a search for the Scylla Operator's CRDs that runs
// until all are found.
func Register(mgr ctrl.Manager, o Options, clk clock.Clock) error {
	found := &finder{cache: mgr.GetCache(), mapper: mgr.GetRESTMapper(), clock: clk, log: o.Log}
	o.Kinds = found.kinds
	byCluster := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, obj client.Object) []reconcile.Request {
		if name := api.ClusterOf(obj.GetLabels()); name != "" {
			return []reconcile.Request{
				{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: name}}}
		}
		return nil
	})
	saysMore := builder.WithPredicates(predicate.Or[client.Object](predicate.AnnotationChangedPredicate{},
		predicate.LabelChangedPredicate{}))
	b := ctrl.NewControllerManagedBy(mgr).
		Named("force").
		Watches(&appsv1.StatefulSet{}, byCluster, saysMore).
		Watches(&corev1.Service{}, byCluster, saysMore).
		Watches(&corev1.Pod{}, byCluster, builder.WithPredicates(predicate.Funcs{
			UpdateFunc: func(e event.UpdateEvent) bool { return startsWithForce(mgr.GetClient(), e.ObjectNew) },
		})).
		WithOptions(controller.Options{MaxConcurrentReconciles: max(1, o.Concurrency)})
	if o.Joined != nil { // otherwise permission for Secrets is missing
		b = b.Watches(&corev1.Secret{},
			handler.EnqueueRequestsFromMapFunc(func(_ context.Context, secret client.Object) []reconcile.Request {
				key := o.LocalCluster(secret)
				if key.Name == "" || key.Namespace == "" {
					return nil
				}
				return []reconcile.Request{{NamespacedName: key}}
			}), saysMore)
	}
	c, err := b.Build(newReconciler(o))
	if err != nil {
		return fmt.Errorf("register the controller of force annotations: %w", err)
	}
	found.controller = c
	if err := mgr.Add(found); err != nil {
		return fmt.Errorf("register the search for the Scylla Operator's CRDs: %w", err)
	}
	return nil
}

// startsWithForce reports whether the Pod's member Service has the force annotation.
func startsWithForce(c client.Reader, pod client.Object) bool {
	svc := &corev1.Service{}
	err := c.Get(context.Background(), client.ObjectKeyFromObject(pod), svc) // from the cache
	return err == nil && svc.Annotations[api.AnnotationForceProceed] != ""
}

// Reconcile updates the annotations of one cluster's member Services.
//
//nolint:funlen // the cases of one annotation, in the order in which they are tested
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	in := kube.CachedOfCluster(req.Namespace, req.Name)
	var services corev1.ServiceList
	if err := r.o.Client.List(ctx, &services, in...); err != nil {
		return reconcile.Result{}, fmt.Errorf("list services of cluster %s: %w", req, err)
	}
	var sets appsv1.StatefulSetList
	if err := r.o.Client.List(ctx, &sets, in...); err != nil {
		return reconcile.Result{}, fmt.Errorf("list statefulsets of cluster %s: %w", req, err)
	}
	var pods corev1.PodList
	if err := r.o.Client.List(ctx, &pods, in...); err != nil {
		return reconcile.Result{}, fmt.Errorf("list pods of cluster %s: %w", req, err)
	}
	podOf := map[string]*corev1.Pod{}
	for i := range pods.Items {
		podOf[pods.Items[i].Name] = &pods.Items[i]
	}
	above, err := r.above(ctx, req.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	joined, err := r.joined(ctx, req.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	bySet := map[string]*appsv1.StatefulSet{}
	for i := range sets.Items {
		bySet[sets.Items[i].Name] = &sets.Items[i]
	}
	complained := map[string]bool{}
	forced, ours, conflict := 0, 0, false
	for i := range services.Items {
		svc := &services.Items[i]
		if !cluster.Managed(svc) || svc.Labels[api.LabelServiceType] != api.ServiceTypeMember {
			continue
		}
		ours++
		objects := above
		if name, ok := scope.StatefulSetOf(svc.Name); ok && bySet[name] != nil {
			objects = append([]object{{kind: "StatefulSet", Object: bySet[name]}}, above...)
		}
		var sources []Source
		for _, o := range objects {
			sources = append(sources, Source{Name: o.kind + "/" + o.GetName(), Annotations: o.GetAnnotations()})
			r.recordWarning(ctx, o.Object, o.kind, complained)
		}
		want := propagate(svc.Annotations, append(sources, joined...))
		spent := want[api.AnnotationForceProceed] == api.ForceProceedValue && cluster.NodeStarted(podOf[svc.Name])
		if spent {
			// The barrier must judge the next start of a node that has started, possibly with an
			// empty volume. An object above keeps its force, for members that have not started.
			api.DropForce(want)
		}
		if !maps.Equal(want, svc.Annotations) && (len(want) > 0 || len(svc.Annotations) > 0) {
			err := r.apply(ctx, svc, want, spent)
			if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
				conflict = true
				continue
			}
			if err != nil {
				return reconcile.Result{}, fmt.Errorf("propagate to service %s/%s: %w", svc.Namespace, svc.Name, err)
			}
		}
		switch v, ok := svc.Annotations[api.AnnotationForceProceed]; {
		case !ok:
		case v == api.ForceProceedValue:
			forced++
			r.recordForce(ctx, svc)
		case svc.Annotations[api.AnnotationForcePropagatedFrom] == "":
			r.recordWarning(ctx, svc, "Service", complained)
		}
	}
	if ours == 0 {
		return reconcile.Result{}, nil
	}
	r.o.Metrics.SetForced(req.Namespace, req.Name, forced)
	if conflict {
		return reconcile.Result{RequeueAfter: time.Second}, nil
	}
	return reconcile.Result{}, nil
}

type object struct {
	kind string
	client.Object
}

// above reads the Scylla Operator's objects with the cluster's name.
func (r *reconciler) above(ctx context.Context, key types.NamespacedName) ([]object, error) {
	var out []object
	for _, gvk := range r.o.Kinds() {
		o := &metav1.PartialObjectMetadata{}
		o.SetGroupVersionKind(gvk)
		switch err := r.o.Client.Get(ctx, key, o); {
		case err == nil:
			out = append(out, object{kind: gvk.Kind, Object: o})
		case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		default:
			return nil, fmt.Errorf("read %s %s: %w", strings.ToLower(gvk.Kind), key, err)
		}
	}
	return out, nil
}

// joined returns the farthest source: the Secret of a remote, with only its override. No Secret
// forces a start.
func (r *reconciler) joined(ctx context.Context, key types.NamespacedName) ([]Source, error) {
	if r.o.Joined == nil {
		return nil, nil
	}
	report, secret, err := r.o.Joined(ctx, key.Namespace, key.Name)
	if err != nil || report == "" {
		return nil, err
	}
	return []Source{
		{Name: "Secret/" + secret, Annotations: map[string]string{api.AnnotationStatusReportOverrideRef: report}}}, nil
}

func (r *reconciler) apply(ctx context.Context, svc *corev1.Service, want map[string]string, spent bool) error {
	had, from := svc.Annotations[api.AnnotationForceProceed], svc.Annotations[api.AnnotationForcePropagatedFrom]
	if err := kube.PatchMetadata(ctx, r.o.Client, svc, func(s *corev1.Service) { s.Annotations = want }); err != nil {
		return err
	}
	svc.Annotations = want
	now, nowFrom := want[api.AnnotationForceProceed], want[api.AnnotationForcePropagatedFrom]
	if had == now && from == nowFrom {
		return nil
	}
	r.o.Log.InfoContext(ctx, "force annotation propagated", "namespace", svc.Namespace, "member", svc.Name, "value",
		now, "previous", had, "from", nowFrom)
	switch {
	case spent && had == api.ForceProceedValue:
		r.o.Notice.Emit(ctx, svc, corev1.EventTypeNormal, "ForceProceedSpent", "PropagateForce",
			fmt.Sprintf(
				"the node of member %s has started: annotation %s was removed from its Service, and the barrier "+
					"checks its next start", svc.Name, api.AnnotationForceProceed))
	case had == api.ForceProceedValue && now != api.ForceProceedValue:
		r.o.Notice.Emit(ctx, svc, corev1.EventTypeNormal, "ForceProceedWithdrawn", "PropagateForce",
			fmt.Sprintf("%s no longer allows member %s to start regardless of the reports", from, svc.Name))
	}
	return nil
}

// recordForce writes an Event for a force-proceed request.
func (r *reconciler) recordForce(ctx context.Context, svc *corev1.Service) {
	from := "its Service, set manually"
	if f := svc.Annotations[api.AnnotationForcePropagatedFrom]; f != "" {
		from = f
	}
	note := fmt.Sprintf("member %s may start regardless of the reports: annotation %s=%s on %s", svc.Name,
		api.AnnotationForceProceed, api.ForceProceedValue, from)
	if why := svc.Annotations[api.AnnotationForceReason]; why != "" {
		note += "; reason: " + why
	}
	r.o.Notice.Emit(ctx, svc, corev1.EventTypeWarning, "ForceProceed", "PropagateForce", note)
}

// recordWarning writes an Event on an object whose force annotation has a value other than "true",
// which opens no barrier.
func (r *reconciler) recordWarning(ctx context.Context, obj client.Object, kind string, done map[string]bool) {
	v, ok := obj.GetAnnotations()[api.AnnotationForceProceed]
	if !ok || v == api.ForceProceedValue || done[kind+"/"+obj.GetName()] {
		return
	}
	done[kind+"/"+obj.GetName()] = true
	r.o.Notice.Emit(ctx, obj, corev1.EventTypeWarning, "ForceValueInvalid", "PropagateForce", fmt.Sprintf(
		"annotation %s is %q, which blocks every member that it applies to: set it to %q, or remove it",
		api.AnnotationForceProceed, v, api.ForceProceedValue))
}

// finder adds a watch for each of the Scylla Operator's kinds once its CRD is installed.
type finder struct {
	cache      cache.Cache
	mapper     meta.RESTMapper
	controller controller.Controller
	clock      clock.Clock
	log        *slog.Logger

	mu    sync.Mutex
	found []schema.GroupVersionKind
}

var _ manager.Runnable = (*finder)(nil)

func (f *finder) kinds() []schema.GroupVersionKind {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []schema.GroupVersionKind
	for _, k := range kinds {
		if slices.Contains(f.found, k) {
			out = append(out, k)
		}
	}
	return out
}

// Start checks for the CRDs until all are found or ctx ends.
func (f *finder) Start(ctx context.Context) error {
	for {
		missing := false
		for _, k := range kinds {
			if slices.Contains(f.kinds(), k) {
				continue
			}
			if _, err := f.mapper.RESTMapping(k.GroupKind(), k.Version); err != nil {
				missing = true
				continue
			}
			o := &metav1.PartialObjectMetadata{}
			o.SetGroupVersionKind(k)
			err := f.controller.Watch(source.Kind[client.Object](f.cache, o,
				handler.EnqueueRequestsFromMapFunc(func(_ context.Context, obj client.Object) []reconcile.Request {
					return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(obj)}}
				}), predicate.AnnotationChangedPredicate{}))
			if err != nil {
				f.log.WarnContext(ctx, "kind cannot be watched", "kind", k.Kind, "error", err)
				missing = true
				continue
			}
			f.mu.Lock()
			f.found = append(f.found, k)
			f.mu.Unlock()
		}
		if !missing {
			return nil
		}
		t := f.clock.NewTimer(lookForKinds)
		select {
		case <-ctx.Done():
			t.Stop()
			return nil
		case <-t.C():
		}
	}
}
