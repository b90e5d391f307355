// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unique"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kubectl-scylla/kubectl-scylla/controller/metrics"
	"github.com/kubectl-scylla/kubectl-scylla/controller/notice"
	"github.com/kubectl-scylla/kubectl-scylla/controller/remote"
	"github.com/kubectl-scylla/kubectl-scylla/controller/scope"
	"github.com/kubectl-scylla/kubectl-scylla/controller/write"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// MinInterval is how long after one assembly the next may begin. The first change after a quiet time is written at once, and all that follow
// within the interval together at its end.
const MinInterval = time.Second

// Remotes is what the reconciler needs of package remote.
type Remotes interface {
	For(ctx context.Context, namespace, cluster string) ([]remote.State, error)
	Publish(namespace, cluster string, reports []api.ScyllaDBDatacenterNodesStatusReport)
}

// Options are what the reconciler needs.
type Options struct {
	Client  client.Client
	Clock   clock.PassiveClock
	Notice  *notice.Recorder
	Metrics *metrics.Metrics
	Log     *slog.Logger
	// Remotes is nil when remote datacenters are turned off: copies that are there then count as old.
	Remotes Remotes
	// Off removes the reports instead of keeping them: a report that nobody keeps must not be judged by.
	Off bool
	// MinInterval and StaleAfter have their defaults when zero.
	MinInterval, StaleAfter time.Duration
	Concurrency             int
	// Pulse is called for each empty request: what comes through the queue shows that the loop lives. May be nil.
	Pulse func()
}

// Reconciler reconciles the reports of one cluster, named by its namespace and its scylla/cluster label.
type Reconciler struct {
	o      Options
	writer *write.Reports

	mu       sync.Mutex
	clusters map[types.NamespacedName]*memory
}

// memory is what is remembered of a cluster between reconciliations. All of it may be lost.
type memory struct {
	next    time.Time // no assembly before
	decoded map[string]decoded
	renewed map[string]renewal
	allUp   metav1.ConditionStatus
}

type decoded struct {
	text string
	row  *api.NodeStatusReport
	err  error
}

// renewal is when a pushed copy was last seen to change its mark, by our clock.
type renewal struct {
	value string
	seen  time.Time
}

// New returns a Reconciler.
func New(o Options) *Reconciler {
	o.MinInterval = cmp.Or(o.MinInterval, MinInterval)
	o.StaleAfter = cmp.Or(o.StaleAfter, remote.StaleAfter)
	return &Reconciler{o: o, writer: write.New(), clusters: map[types.NamespacedName]*memory{}}
}

// Reconcile brings the reports of one cluster up to date.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	key := req.NamespacedName
	if key == (types.NamespacedName{}) {
		if r.o.Pulse != nil {
			r.o.Pulse()
		}
		return reconcile.Result{}, nil
	}
	now := r.o.Clock.Now()
	m := r.remember(key)
	if wait := m.next.Sub(now); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	w, err := r.read(ctx, key)
	if err != nil {
		return reconcile.Result{}, err
	}
	if len(w.sets) == 0 || r.o.Off {
		return r.remove(ctx, key, w)
	}
	if problems := validation.IsDNS1123Subdomain(key.Name); len(problems) > 0 {
		r.o.Notice.Emit(ctx, &w.sets[0], corev1.EventTypeWarning, "ClusterNameInvalid", "AssembleReport", fmt.Sprintf(
			"label %s is %q, which cannot name a report: %s", api.LabelCluster, key.Name, problems[0]))
		return reconcile.Result{}, nil
	}
	m.next = now.Add(r.o.MinInterval)
	again, err := r.bring(ctx, key, m, w, now)
	r.o.Metrics.Assembled(now.Unix())
	switch {
	case err == nil:
		return reconcile.Result{RequeueAfter: again}, nil
	case onlyConflicts(err):
		return reconcile.Result{RequeueAfter: r.o.MinInterval}, nil // the newer object is on its way into the cache
	}
	return reconcile.Result{}, err
}

func (r *Reconciler) remember(key types.NamespacedName) *memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.clusters[key]
	if m == nil {
		m = &memory{decoded: map[string]decoded{}, renewed: map[string]renewal{}}
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

// world is what one reconciliation looks at, all of it from the cache.
type world struct {
	sets     []appsv1.StatefulSet // ours, with a place
	services []corev1.Service     // ours
	pods     map[string]*corev1.Pod
	reports  map[string]*api.ScyllaDBDatacenterNodesStatusReport // selected by the cluster's barriers, by name
	status   *api.ScyllaDBStatusReport
	remotes  []remote.State
}

func (r *Reconciler) read(ctx context.Context, key types.NamespacedName) (*world, error) {
	in := []client.ListOption{client.InNamespace(key.Namespace), client.MatchingLabels{api.LabelCluster: key.Name}}
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
		{&reports, "datacenter reports", []client.ListOption{client.InNamespace(key.Namespace), client.MatchingLabels{api.LabelReportSelector: key.Name}}},
	} {
		if err := r.o.Client.List(ctx, l.list, l.in...); err != nil {
			return nil, fmt.Errorf("list %s of cluster %s: %w", l.what, key, err)
		}
	}
	w := &world{pods: map[string]*corev1.Pod{}, reports: map[string]*api.ScyllaDBDatacenterNodesStatusReport{}}
	for _, s := range sets.Items {
		if _, err := scope.PlaceOf(&s); err == nil && scope.Managed(&s) {
			w.sets = append(w.sets, s)
		}
	}
	slices.SortFunc(w.sets, func(a, b appsv1.StatefulSet) int { return strings.Compare(a.Name, b.Name) })
	for _, s := range services.Items {
		if scope.Managed(&s) && s.Labels[api.LabelServiceType] == api.ServiceTypeMember {
			w.services = append(w.services, s)
		}
	}
	for i := range pods.Items {
		w.pods[pods.Items[i].Name] = &pods.Items[i]
	}
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
	return w, nil
}

// bring writes what is different. again is when to look although nothing has happened, zero for never.
func (r *Reconciler) bring(ctx context.Context, key types.NamespacedName, m *memory, w *world, now time.Time) (again time.Duration, err error) {
	local := r.assemble(m, w)
	local = r.complain(ctx, key, w, local)
	copies, foreign, unread, again := r.foreign(key, m, w, local, now)

	var errs []error
	try := func(err error) bool {
		if err != nil {
			errs = append(errs, err)
		}
		return err == nil
	}
	wanted := map[string]bool{}
	var publish []api.ScyllaDBDatacenterNodesStatusReport
	for _, want := range append(datacenterReports(key, w, local), copies...) {
		wanted[want.Name] = true
		existing := w.reports[want.Name]
		if existing != nil && existing.Labels[api.LabelManagedBy] != api.ManagedByUs {
			try(fmt.Errorf("report %s/%s is in the way and not ours: delete it", want.Namespace, want.Name))
			continue
		}
		if r.writer.Differs(existing, want) && try(r.writer.Write(ctx, r.o.Client, existing, want)) {
			r.o.Metrics.Wrote("ScyllaDBDatacenterNodesStatusReport")
		}
		out := *want
		if existing != nil {
			out.UID, out.ResourceVersion = existing.UID, existing.ResourceVersion
		}
		publish = append(publish, out)
	}
	for name, existing := range w.reports {
		if !wanted[name] && r.superfluous(existing, copies) {
			try(r.delete(ctx, existing))
		}
	}
	try(r.bringStatus(ctx, key, m, w, ClusterInput{Local: local, Foreign: foreign, Unread: unread, Previous: w.status}, now))
	if r.o.Remotes != nil {
		r.o.Remotes.Publish(key.Namespace, key.Name, publish)
	}
	return again, errors.Join(errs...)
}

// superfluous says whether a report that is not wanted is ours to delete: one of a datacenter that has no StatefulSet any more, a
// copy whose remote was taken out of the configuration, or one that was pushed here by a remote that is now pulled.
func (r *Reconciler) superfluous(existing *api.ScyllaDBDatacenterNodesStatusReport, copies []*api.ScyllaDBDatacenterNodesStatusReport) bool {
	if existing.Labels[api.LabelManagedBy] != api.ManagedByUs {
		return false
	}
	switch existing.Annotations[api.AnnotationCopy] {
	case api.CopyPushed:
		return slices.ContainsFunc(copies, func(c *api.ScyllaDBDatacenterNodesStatusReport) bool {
			_, stale := c.Annotations[api.AnnotationStaleSince]
			return !stale && c.DatacenterName == existing.DatacenterName && c.Annotations[api.AnnotationCopy] == api.CopyPulled
		})
	case api.CopyPulled:
		return r.o.Remotes != nil // turned off is not the same as taken out
	}
	return true
}

func (r *Reconciler) delete(ctx context.Context, obj client.Object) error {
	uid := obj.GetUID()
	if err := r.o.Client.Delete(ctx, obj, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete report %s/%s: %w", obj.GetNamespace(), obj.GetName(), err)
	}
	r.writer.Forget(client.ObjectKeyFromObject(obj))
	return nil
}

// remove takes away the reports of a cluster that was deleted or taken out of our hands.
func (r *Reconciler) remove(ctx context.Context, key types.NamespacedName, w *world) (reconcile.Result, error) {
	r.mu.Lock()
	delete(r.clusters, key)
	r.mu.Unlock()
	r.o.Metrics.Forget(key.Namespace, key.Name)
	var errs []error
	for _, existing := range w.reports {
		// What another controller pushed here is that controller's to take back.
		if existing.Labels[api.LabelManagedBy] == api.ManagedByUs && existing.Annotations[api.AnnotationCopy] != api.CopyPushed {
			errs = append(errs, r.delete(ctx, existing))
		}
	}
	if w.status != nil && w.status.Labels[api.LabelManagedBy] == api.ManagedByUs {
		errs = append(errs, r.delete(ctx, w.status))
	}
	if err := errors.Join(errs...); err != nil && !onlyConflicts(err) {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, nil
}

// assemble makes each local datacenter's rows.
func (r *Reconciler) assemble(m *memory, w *world) []Datacenter {
	inputs := map[string]*Input{}
	at := func(dc string) *Input {
		if inputs[dc] == nil {
			inputs[dc] = &Input{Datacenter: dc, Decode: m.decode}
		}
		return inputs[dc]
	}
	for i := range w.sets {
		p, _ := scope.PlaceOf(&w.sets[i]) // read kept only those that have one
		in := at(p.Datacenter)
		in.Racks = append(in.Racks, p.Rack)
	}
	for i := range w.services {
		s := &w.services[i]
		p, err := scope.PlaceOf(s)
		ordinal, ok := scope.MemberOrdinal(s)
		if err != nil || !ok {
			continue // package members mends the labels
		}
		pod := w.pods[s.Name]
		said, recorded := s.Annotations[api.AnnotationNodeJoined]
		member := Member{
			Name: s.Name, Namespace: s.Namespace, Rack: p.Rack, Ordinal: ordinal, HostID: s.Annotations[api.AnnotationHostID],
			// A node that serves and of which nothing has been recorded yet is a member that has not reported. Without its row a cluster that
			// was handed over a moment ago would look like one that has no nodes, and the next newcomer like its first.
			Joined: said == "true" || !recorded && scope.Serving(pod),
		}
		member.Stale = scope.Stale(pod)
		if pod != nil {
			if text, ok := pod.Annotations[api.AnnotationNodeStatusReport]; ok {
				member.Annotation = &text
			}
		}
		in := at(p.Datacenter)
		in.Members = append(in.Members, member)
	}
	for name := range m.decoded {
		if w.pods[name] == nil {
			delete(m.decoded, name)
		}
	}
	var out []Datacenter
	for _, dc := range slices.Sorted(maps.Keys(inputs)) {
		out = append(out, Assemble(*inputs[dc]))
	}
	return out
}

// decode remembers each member's row: of 1,000 Pods one has changed, and decoding all is most of the work.
func (m *memory) decode(member, text string) (*api.NodeStatusReport, error) {
	if d, ok := m.decoded[member]; ok && d.text == text {
		return d.row, d.err
	}
	row, err := api.DecodeNodeStatusReport(text)
	if err == nil {
		// Every row names the same host IDs: kept once, they are kilobytes and not tens of megabytes.
		for i := range row.ObservedNodes {
			o := &row.ObservedNodes[i]
			o.HostID, o.Status = unique.Make(o.HostID).Value(), unique.Make(o.Status).Value()
		}
		row.ObservedNodes = sorted(row.ObservedNodes)
	}
	m.decoded[member] = decoded{text: text, row: row, err: err}
	return row, err
}

// complain leaves an Event for each row that could not be decoded and each report that would be too large, and bounds the latter.
func (r *Reconciler) complain(ctx context.Context, key types.NamespacedName, w *world, local []Datacenter) []Datacenter {
	for i := range local {
		for _, bad := range local[i].Malformed {
			r.o.Notice.Emit(ctx, w.pods[bad.Pod], corev1.EventTypeWarning, "NodeStatusReportMalformed", "AssembleReport", fmt.Sprintf(
				"annotation %s of pod %s/%s cannot be decoded, so its node counts as not having reported: %v; its reporter writes a new one",
				api.AnnotationNodeStatusReport, bad.Namespace, bad.Pod, bad.Err))
		}
		local[i].Bound(MaxReportBytes)
		if local[i].TooLarge {
			r.o.Notice.Emit(ctx, &w.sets[0], corev1.EventTypeWarning, "DatacenterReportTooLarge", "AssembleReport", fmt.Sprintf(
				"the report of datacenter %s would pass %d bytes, so its rows are without observations: let barriers judge by ScyllaDBStatusReport %s (annotation %s)",
				local[i].Name, MaxReportBytes, key.Name, api.AnnotationStatusReportOverrideRef))
		}
	}
	return local
}

// owners of a report: garbage collection takes it when the last of them is gone.
func owners(sets []appsv1.StatefulSet, datacenter string) []metav1.OwnerReference {
	var out []metav1.OwnerReference
	for i := range sets {
		s := &sets[i]
		if datacenter == "" || s.Labels[api.LabelDatacenter] == datacenter {
			out = append(out, metav1.OwnerReference{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "StatefulSet", Name: s.Name, UID: s.UID})
		}
	}
	return out
}

func datacenterReports(key types.NamespacedName, w *world, local []Datacenter) []*api.ScyllaDBDatacenterNodesStatusReport {
	var out []*api.ScyllaDBDatacenterNodesStatusReport
	for _, d := range local {
		o := owners(w.sets, d.Name)
		if len(o) == 0 {
			// Services are left of a datacenter whose StatefulSets are gone: its nodes may be members still.
			o = owners(w.sets, "")
		}
		out = append(out, &api.ScyllaDBDatacenterNodesStatusReport{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: key.Namespace, Name: scope.ObjectName(key.Name, d.Name), OwnerReferences: o,
				Labels: map[string]string{
					api.LabelManagedBy: api.ManagedByUs, api.LabelCluster: key.Name, api.LabelDatacenter: d.Name, api.LabelReportSelector: key.Name,
				},
			},
			DatacenterName: d.Name,
			Racks:          d.Racks,
		})
	}
	return out
}

// bringStatus writes the cluster report.
func (r *Reconciler) bringStatus(ctx context.Context, key types.NamespacedName, m *memory, w *world, in ClusterInput, now time.Time) error {
	if w.status != nil && w.status.Labels[api.LabelManagedBy] != api.ManagedByUs {
		return fmt.Errorf("cluster report %s is in the way and not ours: delete it, or label it %s=%s", key, api.LabelManagedBy, api.ManagedByUs)
	}
	want := Aggregate(in)
	allUp, reasons, health := judge(want)
	conditions := []metav1.Condition{allUp, rowsDecoded(in.Local), remotesReachable(w.remotes, in, r.o.Remotes != nil)}
	if c, ok := overridden(ctx, r.o.Client, key, w); ok {
		conditions = append(conditions, c)
	}
	if c, ok := reportsComplete(key, in.Local); ok {
		conditions = append(conditions, c)
	}
	if w.status != nil {
		want.Status.Conditions = slices.Clone(w.status.Status.Conditions)
	}
	for _, t := range []string{api.ConditionOverridden, api.ConditionReportsComplete} {
		if !slices.ContainsFunc(conditions, func(c metav1.Condition) bool { return c.Type == t }) {
			meta.RemoveStatusCondition(&want.Status.Conditions, t)
		}
	}
	for _, c := range conditions {
		c.LastTransitionTime = metav1.NewTime(now)
		meta.SetStatusCondition(&want.Status.Conditions, c)
	}
	r.measure(key, w, in, health.Nodes, health.Up, health.AllUp, reasons)

	obj := &api.ScyllaDBStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	if w.status != nil {
		obj = w.status.DeepCopy()
	}
	if obj.Labels == nil {
		obj.Labels = map[string]string{}
	}
	maps.Copy(obj.Labels, map[string]string{api.LabelManagedBy: api.ManagedByUs, api.LabelCluster: key.Name})
	obj.OwnerReferences = owners(w.sets, "")
	obj.Membership, obj.Datacenters = want.Membership, want.Datacenters
	switch {
	case w.status == nil:
		if err := r.o.Client.Create(ctx, obj); err != nil {
			return fmt.Errorf("create cluster report %s: %w", key, err)
		}
		r.o.Metrics.Wrote("ScyllaDBStatusReport")
	case !equality.Semantic.DeepEqual(obj, w.status):
		if err := r.o.Client.Update(ctx, obj); err != nil {
			return fmt.Errorf("update cluster report %s: %w", key, err)
		}
		r.o.Metrics.Wrote("ScyllaDBStatusReport")
	}
	// The rows go first: between the two requests a row may look fresher than it is for as long as it did before, never longer.
	if w.status == nil || !equality.Semantic.DeepEqual(want.Status, w.status.Status) {
		obj.Status = want.Status
		if err := r.o.Client.Status().Update(ctx, obj); err != nil {
			return fmt.Errorf("update status of cluster report %s: %w", key, err)
		}
	}
	r.announce(ctx, m, obj, allUp)
	return nil
}

// announce leaves an Event and a log line when a newcomer could join and no longer can, or the reverse.
func (r *Reconciler) announce(ctx context.Context, m *memory, report *api.ScyllaDBStatusReport, allUp metav1.Condition) {
	if m.allUp == allUp.Status {
		return
	}
	first := m.allUp == ""
	m.allUp = allUp.Status
	if first {
		return
	}
	typ, reason := corev1.EventTypeNormal, "AllNodesUp"
	if allUp.Status != metav1.ConditionTrue {
		typ, reason = corev1.EventTypeWarning, "NotAllNodesUp"
	}
	r.o.Notice.Emit(ctx, report, typ, reason, "AssembleReport", allUp.Message)
	r.o.Log.InfoContext(ctx, "cluster changed", "namespace", report.Namespace, "cluster", report.Name, "allNodesUp", allUp.Status, "reason", allUp.Reason, "message", allUp.Message)
}

func (r *Reconciler) measure(key types.NamespacedName, w *world, in ClusterInput, nodes, up int, allUp bool, reasons map[string]int) {
	c := metrics.Cluster{Nodes: nodes, Up: up, AllUp: allUp, Blockers: reasons, Remotes: map[string]bool{}}
	for _, d := range in.Local {
		c.RowsMalformed += len(d.Malformed)
		for _, m := range d.Members {
			if m.RowStale {
				c.RowsStale++
			}
		}
	}
	for _, s := range w.remotes {
		c.Remotes[s.Name] = s.Read && !s.Stale
	}
	r.o.Metrics.Set(key.Namespace, key.Name, c)
}

func rowsDecoded(local []Datacenter) metav1.Condition {
	var words []string
	for _, d := range local {
		for _, bad := range d.Malformed {
			words = append(words, fmt.Sprintf("pod %s/%s: %v", bad.Namespace, bad.Pod, bad.Err))
		}
	}
	if len(words) == 0 {
		return metav1.Condition{Type: api.ConditionRowsDecoded, Status: metav1.ConditionTrue, Reason: "AllDecoded", Message: "every row can be read"}
	}
	if more := len(words) - shownBlockers; more > 0 {
		words = append(words[:shownBlockers], fmt.Sprintf("and %d more", more))
	}
	return metav1.Condition{Type: api.ConditionRowsDecoded, Status: metav1.ConditionFalse, Reason: "Malformed", Message: strings.Join(words, "; ")}
}

func remotesReachable(states []remote.State, in ClusterInput, on bool) metav1.Condition {
	c := metav1.Condition{Type: api.ConditionRemotesReachable, Status: metav1.ConditionTrue}
	var words []string
	for _, s := range states {
		if s.Stale {
			words = append(words, fmt.Sprintf("remote %s: %s", s.Name, s.Reason))
		}
	}
	for _, f := range in.Foreign {
		if f.Stale {
			words = append(words, fmt.Sprintf("datacenter %s: %s", f.Name, f.Reason))
		}
	}
	if len(words) > 0 {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, "Unreachable", strings.Join(words, "; ")
		return c
	}
	for _, s := range states {
		if s.PushReason != "" {
			words = append(words, fmt.Sprintf("remote %s: %s", s.Name, s.PushReason))
		}
	}
	switch {
	case len(words) > 0:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, "CopiesNotWritten", strings.Join(words, "; ")
	case slices.ContainsFunc(states, func(s remote.State) bool { return !s.Read }):
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, "NotReadYet", "a remote has not been read yet"
	case len(states) > 0:
		c.Reason, c.Message = "Reachable", fmt.Sprintf("%d remotes have been read", len(states))
	case on:
		c.Reason, c.Message = "NoRemotes", "no remote is configured"
	default:
		c.Reason, c.Message = "NoRemotes", "remote datacenters are turned off"
	}
	return c
}

// overridden says which other report barriers judge by, when an annotation on a StatefulSet makes them.
func overridden(ctx context.Context, c client.Reader, key types.NamespacedName, w *world) (metav1.Condition, bool) {
	by := map[string][]string{}
	for _, s := range w.sets {
		if ref := s.Annotations[api.AnnotationStatusReportOverrideRef]; ref != "" && ref != key.Name {
			by[ref] = append(by[ref], s.Labels[api.LabelDatacenter])
		}
	}
	if len(by) == 0 {
		return metav1.Condition{}, false
	}
	out := metav1.Condition{Type: api.ConditionOverridden, Status: metav1.ConditionTrue, Reason: "OverrideRef"}
	var words []string
	for _, ref := range slices.Sorted(maps.Keys(by)) {
		dcs := by[ref]
		slices.Sort(dcs)
		text := fmt.Sprintf("barriers of %s judge by ScyllaDBStatusReport %s", strings.Join(slices.Compact(dcs), ", "), ref)
		if err := c.Get(ctx, types.NamespacedName{Namespace: key.Namespace, Name: ref}, &api.ScyllaDBStatusReport{}); err != nil {
			out.Status, out.Reason = metav1.ConditionFalse, "NotFound"
			text += ", which cannot be read: they wait"
		}
		words = append(words, text)
	}
	out.Message = strings.Join(words, "; ")
	return out, true
}

func reportsComplete(key types.NamespacedName, local []Datacenter) (metav1.Condition, bool) {
	var words []string
	for _, d := range local {
		if d.TooLarge {
			words = append(words, d.Name)
		}
	}
	if len(words) == 0 {
		return metav1.Condition{}, false
	}
	return metav1.Condition{
		Type: api.ConditionReportsComplete, Status: metav1.ConditionFalse, Reason: "TooLarge",
		Message: fmt.Sprintf("the report of %s would pass %d bytes and is without observations, which blocks; set annotation %s=%s on the StatefulSets",
			strings.Join(words, ", "), MaxReportBytes, api.AnnotationStatusReportOverrideRef, key.Name),
	}, true
}
