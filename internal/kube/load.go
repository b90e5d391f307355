// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Resources as RBAC and people write them.
const (
	resourceServices      = "services"
	resourcePods          = "pods"
	resourceStatefulSets  = "statefulsets.apps"
	resourcePVCs          = "persistentvolumeclaims"
	resourceReports       = "scylladbdatacenternodesstatusreports.scylla.scylladb.com"
	resourceStatusReports = "scylladbstatusreports.scylla.scylladb.com"
	resourceLeases        = "leases.coordination.k8s.io"
)

type kinds uint16

const (
	kindServices kinds = 1 << iota
	kindPods
	kindStatefulSets
	kindPVCs
	kindReports
	kindStatusReport
	kindLease
)

// LoadOptions say what to read. The zero value reads member Services and, as the source auto needs them, reports and Pods.
type LoadOptions struct {
	// Source of rows; empty means SourceAuto. It implies the kinds that it needs: auto reports and Pods, report reports (and
	// Pods, to tell stale rows), annotation Pods, live Pods. The cluster report is read besides when an override names one.
	Source Source
	// NoPods leaves the Pods out of report and auto: no row is then ever marked stale by its Pod, and auto finds no annotations.
	NoPods bool
	// StatefulSets, PVCs, StatusReport and Lease ask for those kinds too.
	StatefulSets, PVCs, StatusReport, Lease bool
	// LeaseNamespace is where the controller's Lease lives; without it no Lease is read.
	LeaseNamespace string
	// Member is read by name when Services may not be listed: a barrier may have leave to see nothing but its own Service.
	Member string
	// Now is the clock, time.Now when nil.
	Now func() time.Time
}

// Everything asks for all kinds, as a status display does.
func Everything(source Source, leaseNamespace string) LoadOptions {
	return LoadOptions{Source: source, StatefulSets: true, PVCs: true, StatusReport: true, Lease: true, LeaseNamespace: leaseNamespace}
}

func (o LoadOptions) kinds() kinds {
	k := kindServices
	switch o.Source {
	case SourceLive, SourceAnnotation:
		k |= kindPods
	default:
		k |= kindReports
		if !o.NoPods {
			k |= kindPods
		}
	}
	for _, more := range []struct {
		asked bool
		kind  kinds
	}{
		{o.StatefulSets, kindStatefulSets}, {o.PVCs, kindPVCs}, {o.StatusReport, kindStatusReport},
		{o.Lease && o.LeaseNamespace != "", kindLease},
	} {
		if more.asked {
			k |= more.kind
		}
	}
	return k
}

// loader collects what parallel reads find.
type loader struct {
	c   client.Reader
	key ClusterKey

	mu sync.Mutex
	s  *Snapshot
}

// note records an error of the API as a Problem, or returns it when it ends everything.
func (l *loader) note(ctx context.Context, verb, resource, ns, name string, err error) error {
	p, fatal := classify(ctx, verb, resource, ns, name, err)
	if p != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.s.Problems = append(l.s.Problems, *p)
	}
	return fatal
}

func (l *loader) set(k kinds, store func(*Snapshot)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	store(l.s)
	l.s.loaded |= k
}

// Load reads one cluster with one list per kind, in parallel. A kind that is forbidden or not installed becomes a Problem and
// the rest is read. Where nothing carries the label scylla/cluster, a StatefulSet of that name that runs ScyllaDB is the cluster.
// Errors: *NotFoundError when there is no trace of the cluster; *UnreachableError when the API server does not answer or refuses the
// credentials; the Problems, joined, when they leave nothing at all.
func Load(ctx context.Context, c client.Reader, key ClusterKey, opts LoadOptions) (*Snapshot, error) {
	if key.Namespace == "" {
		return nil, errors.New("read cluster " + key.Name + ": the namespace is missing")
	}
	if bad := validation.IsValidLabelValue(key.Name); key.Name == "" || len(bad) > 0 {
		return nil, &NotFoundError{
			What: "cluster", Name: key.Name, In: "namespace " + key.Namespace,
			Cure: "a cluster's name is the value of label " + api.LabelCluster + ": letters, digits, dashes, dots and underscores, at most 63",
		}
	}
	now := opts.Now
	if now == nil {
		now = time.Now
	}
	l := &loader{c: c, key: key, s: &Snapshot{Namespace: key.Namespace, Cluster: key.Name, TakenAt: now(), cache: &cache{}}}
	if err := l.readAll(ctx, opts); err != nil {
		return nil, during("read cluster "+key.String(), err)
	}
	if l.s.empty() {
		if err := l.s.Incomplete(); err != nil {
			return nil, fmt.Errorf("read cluster %s: %w", key, err)
		}
		return nil, clusterNotFound(ctx, c, key)
	}
	l.s.finish(opts.Source)
	return l.s, nil
}

func (l *loader) readAll(ctx context.Context, opts LoadOptions) error {
	if err := l.read(ctx, opts); err != nil {
		return err
	}
	if l.s.empty() {
		if err := l.readUnlabelled(ctx); err != nil {
			return err
		}
	}
	if err := l.readOverride(ctx); err != nil {
		return err
	}
	return l.readUnlabelledPVCs(ctx, opts)
}

func (l *loader) read(ctx context.Context, opts LoadOptions) error {
	need := opts.kinds()
	ns := client.InNamespace(l.key.Namespace)
	ofCluster := client.MatchingLabels{api.LabelCluster: l.key.Name}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return l.readServices(ctx, opts, ns, ofCluster) })
	if need&kindPods != 0 {
		g.Go(func() error {
			var list corev1.PodList
			if err := l.c.List(ctx, &list, ns, ofCluster); err != nil {
				return l.note(ctx, "list", resourcePods, l.key.Namespace, "", err)
			}
			list.Items = slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return !isNodePod(&p) })
			l.set(kindPods, func(s *Snapshot) { s.Pods = list.Items })
			return nil
		})
	}
	if need&kindStatefulSets != 0 {
		g.Go(func() error {
			var list appsv1.StatefulSetList
			if err := l.c.List(ctx, &list, ns, ofCluster); err != nil {
				return l.note(ctx, "list", resourceStatefulSets, l.key.Namespace, "", err)
			}
			l.set(kindStatefulSets, func(s *Snapshot) { s.StatefulSets = list.Items })
			return nil
		})
	}
	if need&kindPVCs != 0 {
		g.Go(func() error {
			var list corev1.PersistentVolumeClaimList
			if err := l.c.List(ctx, &list, ns, ofCluster); err != nil {
				return l.note(ctx, "list", resourcePVCs, l.key.Namespace, "", err)
			}
			l.set(kindPVCs, func(s *Snapshot) { s.PVCs = list.Items })
			return nil
		})
	}
	if need&kindReports != 0 {
		g.Go(func() error {
			var list api.ScyllaDBDatacenterNodesStatusReportList
			if err := l.c.List(ctx, &list, ns, client.MatchingLabels{api.LabelReportSelector: l.key.Name}); err != nil {
				return l.note(ctx, "list", resourceReports, l.key.Namespace, "", err)
			}
			l.set(kindReports, func(s *Snapshot) { s.Reports = list.Items })
			return nil
		})
	}
	if need&kindStatusReport != 0 {
		g.Go(func() error { return l.readStatusReport(ctx, l.key.Name, false) })
	}
	if need&kindLease != 0 {
		g.Go(func() error {
			var lease coordinationv1.Lease
			err := l.c.Get(ctx, client.ObjectKey{Namespace: opts.LeaseNamespace, Name: api.LeaseName}, &lease)
			if err != nil {
				return l.note(ctx, "get", resourceLeases, opts.LeaseNamespace, api.LeaseName, err)
			}
			l.set(kindLease, func(s *Snapshot) { s.Lease = &lease })
			return nil
		})
	}
	return g.Wait()
}

func (l *loader) readServices(ctx context.Context, opts LoadOptions, sel ...client.ListOption) error {
	var list corev1.ServiceList
	err := l.c.List(ctx, &list, sel...)
	if err == nil {
		list.Items = slices.DeleteFunc(list.Items, func(s corev1.Service) bool { return !isMemberService(&s) })
		l.set(kindServices, func(s *Snapshot) { s.Services = list.Items })
		return nil
	}
	if fatal := l.note(ctx, "list", resourceServices, l.key.Namespace, "", err); fatal != nil || opts.Member == "" {
		return fatal
	}
	var own corev1.Service
	if err := l.c.Get(ctx, client.ObjectKey{Namespace: l.key.Namespace, Name: opts.Member}, &own); err != nil {
		return l.note(ctx, "get", resourceServices, l.key.Namespace, opts.Member, err)
	}
	// Not marked as loaded: the other members stay unknown, and a Problem says so.
	l.set(0, func(s *Snapshot) { s.Services = []corev1.Service{own} })
	return nil
}

// readStatusReport reads a cluster report. That the cluster has none is no problem unless an override names it.
func (l *loader) readStatusReport(ctx context.Context, name string, wanted bool) error {
	var r api.ScyllaDBStatusReport
	err := l.c.Get(ctx, client.ObjectKey{Namespace: l.key.Namespace, Name: name}, &r)
	if err == nil {
		l.set(kindStatusReport, func(s *Snapshot) { s.StatusReport = &r })
		return nil
	}
	p, fatal := classify(ctx, "get", resourceStatusReports, l.key.Namespace, name, err)
	if p != nil && (wanted || p.Kind != ProblemNotFound) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.s.Problems = append(l.s.Problems, *p)
	}
	return fatal
}

// readOverride follows the override reference, whatever was asked for: rows come from there and from nowhere else.
func (l *loader) readOverride(ctx context.Context) error {
	ref := l.s.overrideRef()
	if ref == "" {
		return nil
	}
	l.s.OverrideRef = ref
	if l.s.StatusReport != nil && l.s.StatusReport.Name == ref {
		return nil
	}
	l.s.StatusReport = nil
	return l.readStatusReport(ctx, ref, true)
}

// readUnlabelled finds a cluster that nobody prepared: a StatefulSet of that name that runs ScyllaDB, its Pods, and the Services
// that are named as they are.
func (l *loader) readUnlabelled(ctx context.Context) error {
	var sts appsv1.StatefulSet
	if err := l.c.Get(ctx, client.ObjectKey{Namespace: l.key.Namespace, Name: l.key.Name}, &sts); err != nil {
		// That there is none, or that it may not be read, leaves the cluster not found.
		_, fatal := classify(ctx, "get", resourceStatefulSets, l.key.Namespace, l.key.Name, err)
		return fatal
	}
	if !runsScyllaDB(&sts) || sts.Labels[api.LabelCluster] != "" {
		return nil
	}
	l.set(kindStatefulSets, func(s *Snapshot) { s.StatefulSets = []appsv1.StatefulSet{sts} })
	selector, err := metav1.LabelSelectorAsSelector(sts.Spec.Selector)
	if err != nil {
		return fmt.Errorf("read StatefulSet %s/%s: selector: %w", sts.Namespace, sts.Name, err)
	}
	var pods corev1.PodList
	if err := l.c.List(ctx, &pods, client.InNamespace(l.key.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return l.note(ctx, "list", resourcePods, l.key.Namespace, "", err)
	}
	l.set(kindPods, func(s *Snapshot) { s.Pods = pods.Items })
	var svcs corev1.ServiceList
	if err := l.c.List(ctx, &svcs, client.InNamespace(l.key.Namespace)); err != nil {
		return l.note(ctx, "list", resourceServices, l.key.Namespace, "", err)
	}
	mine := map[string]bool{}
	for i := range pods.Items {
		mine[pods.Items[i].Name] = true
	}
	svcs.Items = slices.DeleteFunc(svcs.Items, func(s corev1.Service) bool { return !mine[s.Name] })
	l.set(kindServices, func(s *Snapshot) { s.Services = svcs.Items })
	l.s.Notes = append(l.s.Notes, fmt.Sprintf("nothing carries the label %s=%s; showing StatefulSet %s", api.LabelCluster, l.key.Name, l.key.Name))
	return nil
}

// readUnlabelledPVCs lists all claims of the namespace when those of the cluster cannot carry its label: claims get the labels of
// the claim template and of the StatefulSet's selector, which on plain StatefulSets need not have it.
func (l *loader) readUnlabelledPVCs(ctx context.Context, opts LoadOptions) error {
	s := l.s
	if !opts.PVCs || s.loaded&kindPVCs == 0 || len(s.PVCs) > 0 || len(s.Pods)+len(s.StatefulSets) == 0 {
		return nil
	}
	ix := s.index()
	wanted := map[string]bool{}
	for name := range ix.pods {
		wanted[ix.pvcName(name)] = true
	}
	for name := range ix.services {
		wanted[ix.pvcName(name)] = true
	}
	var list corev1.PersistentVolumeClaimList
	if err := l.c.List(ctx, &list, client.InNamespace(l.key.Namespace)); err != nil {
		return l.note(ctx, "list", resourcePVCs, l.key.Namespace, "", err)
	}
	s.PVCs = slices.DeleteFunc(list.Items, func(p corev1.PersistentVolumeClaim) bool { return !wanted[p.Name] })
	return nil
}

// empty is true when there is no trace of the cluster.
func (s *Snapshot) empty() bool {
	return len(s.Services)+len(s.Pods)+len(s.StatefulSets)+len(s.PVCs)+len(s.Reports) == 0 && s.StatusReport == nil
}

// overrideRef is the override annotation of any of the cluster's objects: the Scylla Operator copies a datacenter's annotations to
// its Services and reports, on plain StatefulSets it is on these.
func (s *Snapshot) overrideRef() string {
	for i := range s.Services {
		if v := s.Services[i].Annotations[api.AnnotationStatusReportOverrideRef]; v != "" {
			return v
		}
	}
	for i := range s.StatefulSets {
		if v := s.StatefulSets[i].Annotations[api.AnnotationStatusReportOverrideRef]; v != "" {
			return v
		}
	}
	for i := range s.Reports {
		if v := s.Reports[i].Annotations[api.AnnotationStatusReportOverrideRef]; v != "" && !isRemote(&s.Reports[i]) {
			return v
		}
	}
	return ""
}

// finish sorts what was read and settles owner and source.
func (s *Snapshot) finish(want Source) {
	byName := func(a, b string) int { return cmp.Compare(a, b) }
	slices.SortFunc(s.Services, func(a, b corev1.Service) int { return byName(a.Name, b.Name) })
	slices.SortFunc(s.Pods, func(a, b corev1.Pod) int { return byName(a.Name, b.Name) })
	slices.SortFunc(s.StatefulSets, func(a, b appsv1.StatefulSet) int { return byName(a.Name, b.Name) })
	slices.SortFunc(s.PVCs, func(a, b corev1.PersistentVolumeClaim) int { return byName(a.Name, b.Name) })
	slices.SortFunc(s.Reports, func(a, b api.ScyllaDBDatacenterNodesStatusReport) int {
		return cmp.Or(cmp.Compare(a.DatacenterName, b.DatacenterName), byName(a.Name, b.Name))
	})
	s.Problems = sortProblems(s.Problems)
	s.Operator = s.ownedByOperator()
	s.Source, s.SourceReason = s.chooseSource(want)
}

func (s *Snapshot) ownedByOperator() bool {
	for i := range s.Services {
		if OwnedByOperator(&s.Services[i]) {
			return true
		}
	}
	for i := range s.StatefulSets {
		if OwnedByOperator(&s.StatefulSets[i]) {
			return true
		}
	}
	for i := range s.Reports {
		if OwnedByOperator(&s.Reports[i]) {
			return true
		}
	}
	for i := range s.Pods {
		if s.Pods[i].Labels[api.LabelManagedBy] == api.ManagedByOperator {
			return true
		}
	}
	return false
}

// OwnedByOperator is true for an object that the Scylla Operator manages, by its label or its owner: not ours to write.
func OwnedByOperator(obj metav1.Object) bool {
	if obj.GetLabels()[api.LabelManagedBy] == api.ManagedByOperator {
		return true
	}
	return slices.ContainsFunc(obj.GetOwnerReferences(), func(o metav1.OwnerReference) bool {
		return strings.HasPrefix(o.APIVersion, api.GroupVersion.Group+"/") && (o.Kind == api.ScyllaDBDatacenterGVK.Kind || o.Kind == "RemoteOwner")
	})
}

// isRemote is true for a report that was copied in from another Kubernetes cluster or namespace: its members have no Pods here.
func isRemote(r *api.ScyllaDBDatacenterNodesStatusReport) bool {
	_, ok := r.Labels[api.LabelRemoteReport]
	return ok
}

// isMemberService tells the Service of one member from those of the cluster.
func isMemberService(s *corev1.Service) bool {
	if t, ok := s.Labels[api.LabelServiceType]; ok {
		return t == api.ServiceTypeMember
	}
	_, ok := s.Spec.Selector[appsv1.StatefulSetPodNameLabel]
	return ok
}

// isNodePod tells ScyllaDB's Pods from others that carry the cluster's label, those of the Scylla Operator's jobs for one.
func isNodePod(p *corev1.Pod) bool {
	if t, ok := p.Labels[api.LabelPodType]; ok {
		return t == api.PodTypeNode
	}
	_, ofSet := p.Labels[appsv1.StatefulSetPodNameLabel]
	return ofSet || scyllaContainer(&p.Spec) != nil
}

// runsScyllaDB recognises a StatefulSet of ScyllaDB by its container's name or image.
func runsScyllaDB(s *appsv1.StatefulSet) bool {
	return slices.ContainsFunc(s.Spec.Template.Spec.Containers, func(c corev1.Container) bool {
		return c.Name == api.ContainerScyllaDB || isScyllaDBImage(c.Image)
	})
}

func isScyllaDBImage(image string) bool {
	image, _, _ = strings.Cut(image, "@")
	path := strings.Split(image, "/")
	last, _, _ := strings.Cut(path[len(path)-1], ":")
	return len(path) > 1 && path[len(path)-2] == "scylladb" && (last == "scylla" || last == "scylla-enterprise")
}

// ListClusters finds the clusters in a namespace ("" = all) from member Services, StatefulSets and reports, sorted. A selector
// (nil = everything) is applied to the labels of those objects. Only metadata travels. Where nothing carries the cluster label,
// StatefulSets that run ScyllaDB count as clusters of their own name. The error is non-nil when nothing was found and something
// could not be read.
func ListClusters(ctx context.Context, c client.Reader, ns string, selector labels.Selector) ([]ClusterKey, error) {
	if selector == nil {
		selector = labels.Everything()
	}
	sources := []struct {
		gvk             schema.GroupVersionKind
		label, resource string
	}{
		{corev1.SchemeGroupVersion.WithKind("ServiceList"), api.LabelCluster, resourceServices},
		{appsv1.SchemeGroupVersion.WithKind("StatefulSetList"), api.LabelCluster, resourceStatefulSets},
		{api.GroupVersion.WithKind("ScyllaDBDatacenterNodesStatusReportList"), api.LabelReportSelector, resourceReports},
	}
	var (
		mu       sync.Mutex
		problems []Problem
		found    = map[ClusterKey]bool{}
	)
	g, gctx := errgroup.WithContext(ctx)
	for _, src := range sources {
		g.Go(func() error {
			has, err := labels.NewRequirement(src.label, selection.Exists, nil)
			if err != nil {
				return fmt.Errorf("select by label %s: %w", src.label, err)
			}
			list := &metav1.PartialObjectMetadataList{}
			list.SetGroupVersionKind(src.gvk)
			err = c.List(gctx, list, client.InNamespace(ns), client.MatchingLabelsSelector{Selector: selector.DeepCopySelector().Add(*has)})
			p, fatal := classify(gctx, "list", src.resource, ns, "", err)
			if fatal != nil {
				return fatal
			}
			mu.Lock()
			defer mu.Unlock()
			if p != nil {
				problems = append(problems, *p)
				return nil
			}
			for i := range list.Items {
				o := &list.Items[i]
				if src.resource == resourceServices && !namesMember(o) {
					continue
				}
				if name := o.Labels[src.label]; name != "" {
					found[ClusterKey{o.Namespace, name}] = true
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, during("find clusters in "+inNamespace(ns), err)
	}
	if len(found) == 0 {
		var list appsv1.StatefulSetList
		err := c.List(ctx, &list, client.InNamespace(ns), client.MatchingLabelsSelector{Selector: selector})
		p, fatal := classify(ctx, "list", resourceStatefulSets, ns, "", err)
		if fatal != nil {
			return nil, during("find clusters in "+inNamespace(ns), fatal)
		}
		if p != nil {
			problems = append(problems, *p)
		}
		for i := range list.Items {
			if s := &list.Items[i]; runsScyllaDB(s) {
				found[ClusterKey{s.Namespace, s.Name}] = true
			}
		}
	}
	keys := slices.SortedFunc(maps.Keys(found), func(a, b ClusterKey) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	if len(keys) == 0 {
		return nil, (&Snapshot{Problems: sortProblems(problems)}).Incomplete()
	}
	return keys, nil
}

// namesMember tells a member's Service by metadata alone.
func namesMember(o metav1.Object) bool {
	if t, ok := o.GetLabels()[api.LabelServiceType]; ok {
		return t == api.ServiceTypeMember
	}
	_, ordinal, ok := cutOrdinal(o.GetName())
	return ok && ordinal >= 0
}

// ResolveCluster finds the cluster that a person means: by name in the namespace, or with an empty name the only one there.
// Errors: *NotFoundError with the nearest names, *AmbiguousError when the name is empty and there are several; those of ListClusters.
func ResolveCluster(ctx context.Context, c client.Reader, ns, name string) (ClusterKey, error) {
	keys, err := ListClusters(ctx, c, ns, nil)
	if err != nil {
		return ClusterKey{}, err
	}
	if name == "" {
		switch len(keys) {
		case 1:
			return keys[0], nil
		case 0:
			return ClusterKey{}, notFoundAmong("", ns, keys)
		}
		return ClusterKey{}, &AmbiguousError{What: "cluster", In: inNamespace(ns), Candidates: keyNames(keys, ns)}
	}
	var hits []ClusterKey
	for _, k := range keys {
		if k.Name == name || k.String() == name {
			hits = append(hits, k)
		}
	}
	switch len(hits) {
	case 1:
		return hits[0], nil
	case 0:
		if ns != "" {
			// An unlabelled StatefulSet beside labelled clusters is not listed, and Load finds it all the same.
			if _, err := Load(ctx, c, ClusterKey{ns, name}, LoadOptions{Source: SourceReport, NoPods: true}); err == nil {
				return ClusterKey{ns, name}, nil
			}
		}
		return ClusterKey{}, notFoundAmong(name, ns, keys)
	}
	return ClusterKey{}, &AmbiguousError{What: "cluster", Name: name, In: inNamespace(ns), Candidates: keyNames(hits, ns)}
}

func inNamespace(ns string) string {
	if ns == "" {
		return "all namespaces"
	}
	return "namespace " + ns
}

func keyNames(keys []ClusterKey, ns string) []string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.Name
		if ns == "" {
			names[i] = k.String()
		}
	}
	return names
}

// clusterNotFound looks for the nearest names; what cannot be listed leaves them out.
func clusterNotFound(ctx context.Context, c client.Reader, key ClusterKey) error {
	keys, err := ListClusters(ctx, c, key.Namespace, nil)
	if err != nil {
		keys = nil
	}
	return notFoundAmong(key.Name, key.Namespace, keys)
}

func notFoundAmong(name, ns string, keys []ClusterKey) error {
	e := &NotFoundError{What: "cluster", Name: name, In: inNamespace(ns), Known: len(keys)}
	names := keyNames(keys, ns)
	e.Nearest = Nearest(name, names)
	switch {
	case len(keys) == 0 && ns != "":
		e.Cure = "the namespace has no ScyllaDB cluster; choose another with -n, or list all with \"kubectl scylla status -A\""
	case len(keys) == 0:
		e.Cure = "no member Service, StatefulSet or report carries the label " + api.LabelCluster
	default:
		e.Cure = "there are: " + strings.Join(names[:min(8, len(names))], ", ")
	}
	return e
}
