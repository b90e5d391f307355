// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kubectl-scylla/kubectl-scylla/controller/metrics"
	"github.com/kubectl-scylla/kubectl-scylla/controller/notice"
	"github.com/kubectl-scylla/kubectl-scylla/controller/remote"
	"github.com/kubectl-scylla/kubectl-scylla/controller/scope"
	"github.com/kubectl-scylla/kubectl-scylla/controller/write"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
)

// minInterval is the minimum time between two writes, which limits the cost of rows that change
// constantly. The first change after a quiet time is written at once. Later changes within the
// interval are written together at its end.
const minInterval = 2 * time.Second

// equalPart divides MinInterval: after an assembly that wrote nothing, the cluster is assembled
// again after MinInterval/equalPart.
const equalPart = 4

// maxBackOff limits the pause after errors. The first pause is MinInterval, each further pause
// twice as long.
const maxBackOff = time.Minute

// remotes is the part of package remote that the reconciler needs.
type remotes interface {
	For(ctx context.Context, namespace, cluster string) ([]remote.State, error)
	Publish(namespace, cluster string, reports []api.ScyllaDBDatacenterNodesStatusReport, gone bool)
}

// Views computes the view of a cluster after each assembly; stored is the view in its report.
type Views interface {
	// Status sets the fields of want that do not come from rows; scene has the members that wait to
	// join.
	Status(ctx context.Context, key types.NamespacedName, judged *cluster.Cluster,
		stored *api.ScyllaDBStatusReportStatus, scene view.JoinCandidates, want *api.ScyllaDBStatusReportStatus,
	) view.Initialisation
	// MaxPermits is how many may join in parallel.
	MaxPermits() int
	// Window is the default of the health policy's stabilisation.
	Window() time.Duration
	// Written passes the view that was read back from the report.
	Written(key types.NamespacedName, report types.UID, stored *api.StatusReportView)
	Forget(key types.NamespacedName)
}

// Options are the dependencies of the reconciler.
type Options struct {
	Client client.Client
	// Live reads from the API server: the cache has no field managers.
	Live    client.Reader
	Clock   clock.PassiveClock
	Notice  *notice.Recorder
	Metrics *metrics.Metrics
	Log     *slog.Logger
	// Remotes is nil if remote datacenters are off: existing copies are then stale.
	Remotes remotes
	// Views is nil if the report has no view.
	Views Views
	// Off removes the reports instead of keeping them: barriers must not use a report that no
	// controller updates.
	Off bool
	// MinInterval and StaleAfter have defaults.
	MinInterval, StaleAfter time.Duration
	Concurrency             int
	// Pulse is called after each request, of a cluster or empty: it shows that the loop runs. May
	// be nil.
	Pulse func()
	// Whole returns an error if the installed CRD lacks fields or cannot be read; nil means always
	// complete.
	Whole func() error
	// Kept is called after each assembly, with the time at which it began to read; err is nil if
	// all of the cluster's reports were written or found equal. May be nil.
	Kept func(key types.NamespacedName, began time.Time, err error)
}

// reconciler reconciles the reports of one cluster, by namespace and label scylla/cluster.
type reconciler struct {
	o      Options
	writer *write.Reports
	// failed has the pauses of clusters after errors. The queue's own back-off is lost if a request
	// arrives too early.
	failed workqueue.TypedRateLimiter[types.NamespacedName]

	mu       sync.Mutex
	clusters map[types.NamespacedName]*memory
}

// memory is the state of a cluster between reconciliations. It may be lost.
type memory struct {
	next    time.Time // no assembly before this time
	wrote   bool      // the current assembly has written something
	said    bool      // in the current assembly: the cluster report's status is as desired
	decoder *cluster.Decoder
	renewed map[string]renewal
	allUp   metav1.ConditionStatus
	claims  map[claimOf]types.UID
	dead    view.DeadRows
	lacks   map[types.UID]lacks
}

// renewal is when the mark of a pushed copy last changed, by our clock. fresh is false for the
// first mark.
type renewal struct {
	fresh bool
	value string
	seen  time.Time
}

// New returns a Reconciler.
func New(o Options) *reconciler {
	o.MinInterval = cmp.Or(o.MinInterval, minInterval)
	o.StaleAfter = cmp.Or(o.StaleAfter, remote.StaleAfter)
	return &reconciler{
		o: o, writer: write.New(), clusters: map[types.NamespacedName]*memory{},
		failed: workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](o.MinInterval, maxBackOff),
	}
}

// Reconcile updates the reports of one cluster.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if r.o.Pulse != nil {
		// After each request: empty ones wait in the queue behind every cluster.
		defer r.o.Pulse()
	}
	key := req.NamespacedName
	if key == (types.NamespacedName{}) {
		return reconcile.Result{}, nil
	}
	now := r.o.Clock.Now()
	m := r.remember(key)
	if wait := m.next.Sub(now); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	w, err := r.read(ctx, key, m, now)
	if err != nil {
		r.kept(key, now, err)
		return reconcile.Result{}, err
	}
	if len(w.sets) == 0 || r.o.Off {
		return r.remove(ctx, key, w)
	}
	if problems := validation.IsDNS1123Subdomain(key.Name); len(problems) > 0 {
		r.o.Notice.Emit(ctx, &w.sets[0], corev1.EventTypeWarning, "ClusterNameInvalid", "AssembleReport", fmt.Sprintf(
			"label %s is %q, which is not a valid name for a report: %s", api.LabelCluster, key.Name, problems[0]))
		r.kept(key, now, fmt.Errorf("label %s is not a valid name for a report: %s", api.LabelCluster, problems[0]))
		return reconcile.Result{}, nil
	}
	m.wrote = false
	again, err := r.bring(ctx, key, m, w, now)
	if m.next = now.Add(r.o.MinInterval); !m.wrote && err == nil {
		m.next = now.Add(r.o.MinInterval / equalPart)
	}
	r.o.Metrics.Assembled(now.Unix())
	switch {
	case err == nil:
		r.failed.Forget(key)
		r.kept(key, now, nil)
		return reconcile.Result{RequeueAfter: again}, nil
	case onlyConflicts(err):
		// The cache will soon have the newer object.
		return reconcile.Result{RequeueAfter: r.o.MinInterval}, nil
	}
	m.next = now.Add(r.failed.When(key))
	r.kept(key, now, err)
	r.notKept(ctx, key, m, w, err, now)
	return reconcile.Result{}, err
}

func (r *reconciler) remember(key types.NamespacedName) *memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.clusters[key]
	if m == nil {
		m = &memory{decoder: &cluster.Decoder{}, renewed: map[string]renewal{}}
		r.clusters[key] = m
	}
	return m
}

func onlyConflicts(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(joined.Unwrap(), func(e error) bool { return !onlyConflicts(e) })
	}
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

// world is the input of one reconciliation, read from the cache.
type world struct {
	*cluster.Cluster
	sets    []appsv1.StatefulSet // ours, with a place
	reports map[string]*report   // reports that the cluster's barriers select, by name
	status  *api.ScyllaDBStatusReport
	remotes []remote.State
	// gone is set if the cluster has no StatefulSet, Pod or Service. A member Service outlives its
	// StatefulSet while its node may be a member.
	gone bool
}

func (r *reconciler) read(ctx context.Context, key types.NamespacedName, m *memory, now time.Time) (*world, error) {
	in := kube.CachedOfCluster(key.Namespace, key.Name)
	var sets appsv1.StatefulSetList
	var services corev1.ServiceList
	var pods corev1.PodList
	var reports api.ScyllaDBDatacenterNodesStatusReportList
	for _, l := range []struct {
		list client.ObjectList
		what string
		in   []client.ListOption
	}{
		{&sets, "statefulsets", in}, {&services, "services", in}, {&pods, "pods", in},
		{&reports, "datacenter reports",
			[]client.ListOption{client.InNamespace(key.Namespace),
				client.MatchingLabels{api.LabelReportSelector: key.Name}}},
	} {
		if err := r.o.Client.List(ctx, l.list, l.in...); err != nil {
			return nil, fmt.Errorf("list %s of cluster %s: %w", l.what, key, err)
		}
	}
	w := &world{reports: map[string]*report{}, gone: len(sets.Items)+len(services.Items)+len(pods.Items) == 0}
	for _, s := range sets.Items {
		if _, err := scope.PlaceOf(&s); err == nil && cluster.Managed(&s) {
			w.sets = append(w.sets, s)
		}
	}
	slices.SortFunc(w.sets, func(a, b appsv1.StatefulSet) int { return strings.Compare(a.Name, b.Name) })
	services.Items = slices.DeleteFunc(services.Items, func(s corev1.Service) bool {
		return !cluster.Managed(&s) || s.Labels[api.LabelServiceType] != api.ServiceTypeMember
	})
	for i := range reports.Items {
		w.reports[reports.Items[i].Name] = &reports.Items[i]
	}
	status := &api.ScyllaDBStatusReport{}
	switch err := r.o.Client.Get(ctx, key, status); {
	case err == nil:
		w.status = status
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("read cluster report %s: %w", key, err)
	}
	if r.o.Remotes != nil {
		var err error
		if w.remotes, err = r.o.Remotes.For(ctx, key.Namespace, key.Name); err != nil {
			return nil, err
		}
	}
	w.Cluster = cluster.New(cluster.Objects{
		Key: cluster.Key{Namespace: key.Namespace, Name: key.Name}, Services: services.Items, Pods: pods.Items,
		StatefulSets: w.sets, Reports: reports.Items,
		StatusReport: w.status, Decoder: m.decoder,
		Read: cluster.KindServices | cluster.KindPods | cluster.KindStatefulSets | cluster.KindReports |
			cluster.KindStatusReport,
	}, cluster.SourceAnnotation, now)
	return w, nil
}

// bring writes the changed reports. again is the delay of the next reconciliation without a change,
// zero for none.
func (r *reconciler) bring(ctx context.Context, key types.NamespacedName, m *memory, w *world,
	now time.Time) (again time.Duration, err error) {
	h := r.resolve(ctx, m, w, now)
	lacking, soon := r.prerequisites(ctx, m, w, now)
	h.conditions = append(h.conditions, lacking...)
	local := w.LocalReports()
	r.recordWarning(ctx, key, w, local)
	copies, foreign, unread, again := r.foreign(key, m, w, local, now)
	if soon > 0 && (again == 0 || soon < again) {
		again = soon
	}

	var errs []error
	try := func(err error) bool {
		if err != nil {
			errs = append(errs, err)
		}
		return err == nil
	}
	wanted := map[string]bool{}
	var publish []report
	for _, want := range append(datacenterReports(key, w, local), copies...) {
		wanted[want.Name] = true
		existing := w.reports[want.Name]
		if existing != nil {
			if why := write.Foreign(existing); why != "" {
				try(fmt.Errorf("report %s/%s has the name of our report but is not ours (%s): delete it",
					want.Namespace, want.Name, why))
				continue
			}
		}
		if r.writer.Differs(existing, want) {
			if m.wrote = true; try(r.writer.Write(ctx, r.o.Client, existing, want)) {
				r.o.Metrics.Wrote("ScyllaDBDatacenterNodesStatusReport")
			}
		}
		out := *want
		if existing != nil {
			out.UID, out.ResourceVersion = existing.UID, existing.ResourceVersion
		}
		publish = append(publish, out)
	}
	for name, existing := range w.reports {
		if !wanted[name] && r.superfluous(existing, copies) {
			try(r.delete(ctx, &w.sets[0], existing))
		}
	}
	in := reading{w, h, local, foreign, unread, errors.Join(errs...)}
	m.said = try(r.bringStatus(ctx, key, m, in, now))
	try(r.recordForces(ctx, in))
	try(r.scale(ctx, w))
	if r.o.Remotes != nil {
		r.o.Remotes.Publish(key.Namespace, key.Name, publish, false)
	}
	return again, errors.Join(errs...)
}

// superfluous reports whether an unwanted report is ours to delete. It is the report of a
// datacenter without StatefulSet, a copy whose remote was removed from the configuration, or a copy
// pushed by a remote that our controller now pulls.
func (r *reconciler) superfluous(existing *api.ScyllaDBDatacenterNodesStatusReport,
	copies []*api.ScyllaDBDatacenterNodesStatusReport) bool {
	if existing.Labels[api.LabelManagedBy] != api.ManagedByUs {
		return false // no Event: without our label the report was never ours
	}
	switch existing.Annotations[api.AnnotationCopy] {
	case api.CopyPushed:
		return slices.ContainsFunc(copies, func(c *api.ScyllaDBDatacenterNodesStatusReport) bool {
			_, stale := c.Annotations[api.AnnotationStaleSince]
			return !stale && c.DatacenterName == existing.DatacenterName &&
				c.Annotations[api.AnnotationCopy] == api.CopyPulled
		})
	case api.CopyPulled:
		return r.o.Remotes != nil // if remotes are off, they are still configured
	}
	return true
}

// delete deletes a report that is entirely ours. Any other report remains, with an Event about
// regarding.
func (r *reconciler) delete(ctx context.Context, regarding, obj client.Object) error {
	err := r.writer.Delete(ctx, r.o.Client, r.o.Live, obj)
	if left, ok := errors.AsType[*write.NotOursError](err); ok {
		r.o.Notice.Emit(ctx, regarding, corev1.EventTypeWarning, "ReportLeftAlone", "AssembleReport", fmt.Sprintf(
			"report %s has label %s=%s but is not ours, so it is not deleted: %s; remove the label",
			obj.GetName(), api.LabelManagedBy, api.ManagedByUs, left.Why))
		return nil
	}
	return err
}

// remove deletes the reports of a cluster that was deleted or that our controller no longer
// manages.
func (r *reconciler) remove(ctx context.Context, key types.NamespacedName, w *world) (reconcile.Result, error) {
	r.mu.Lock()
	delete(r.clusters, key)
	r.mu.Unlock()
	if r.o.Views != nil {
		// first, because the next poll would set again what is forgotten later
		r.o.Views.Forget(key)
	}
	r.failed.Forget(key)
	r.o.Metrics.Forget(key.Namespace, key.Name)
	if r.o.Remotes != nil && w.gone {
		r.o.Remotes.Publish(key.Namespace, key.Name, nil, true)
	}
	var errs []error
	for _, existing := range w.reports {
		// The controller that pushed a copy also deletes it.
		if existing.Labels[api.LabelManagedBy] == api.ManagedByUs &&
			existing.Annotations[api.AnnotationCopy] != api.CopyPushed {
			errs = append(errs, r.delete(ctx, existing, existing))
		}
	}
	if w.status != nil && w.status.Labels[api.LabelManagedBy] == api.ManagedByUs {
		errs = append(errs, r.delete(ctx, w.status, w.status))
	}
	if err := errors.Join(errs...); err != nil && !onlyConflicts(err) {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, nil
}

// recordWarning writes an Event for each invalid row and each report that would be too large.
func (r *reconciler) recordWarning(ctx context.Context, key types.NamespacedName, w *world,
	local []cluster.LocalReport) {
	for _, bad := range w.Malformed() {
		r.o.Notice.Emit(ctx, bad.Pod, corev1.EventTypeWarning, "NodeStatusReportMalformed", "AssembleReport",
			fmt.Sprintf(
				"annotation %s of pod %s/%s cannot be decoded, so its node has no status report: %v; its reporter "+
					"will write a new one",
				api.AnnotationNodeStatusReport, bad.Pod.Namespace, bad.Pod.Name, bad.Err))
	}
	for _, d := range local {
		if d.TooLarge {
			r.o.Notice.Emit(ctx, &w.sets[0], corev1.EventTypeWarning, "DatacenterReportTooLarge", "AssembleReport",
				fmt.Sprintf(
					"the report of datacenter %s would exceed %d bytes, so it contains no observations: make barriers "+
						"use ScyllaDBStatusReport %s (annotation %s)",
					d.Datacenter, cluster.MaxReportBytes, key.Name, api.AnnotationStatusReportOverrideRef))
		}
	}
}

// owners returns the owner references of a report: garbage collection deletes it after its last
// owner.
func owners(sets []appsv1.StatefulSet, datacenter string) []metav1.OwnerReference {
	var out []metav1.OwnerReference
	for i := range sets {
		s := &sets[i]
		if datacenter == "" || s.Labels[api.LabelDatacenter] == datacenter {
			out = append(out, metav1.OwnerReference{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "StatefulSet",
				Name: s.Name, UID: s.UID})
		}
	}
	return out
}

func datacenterReports(key types.NamespacedName, w *world, local []cluster.LocalReport) []*report {
	var out []*report
	for _, d := range local {
		o := owners(w.sets, d.Datacenter)
		if len(o) == 0 {
			// The datacenter's StatefulSets are gone but Services remain: its nodes may still be
			// members.
			o = owners(w.sets, "")
		}
		out = append(out, &api.ScyllaDBDatacenterNodesStatusReport{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: key.Namespace, Name: scope.ObjectName(key.Name, d.Datacenter), OwnerReferences: o,
				Labels: map[string]string{
					api.LabelManagedBy: api.ManagedByUs, api.LabelDatacenter: d.Datacenter,
					api.LabelReportSelector: key.Name,
				},
			},
			DatacenterName: d.Datacenter,
			Racks:          d.Racks,
		})
	}
	return out
}
