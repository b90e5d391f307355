// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// LoadOptions selects what to read. The zero value reads member Services, reports and Pods (source
// auto).
type LoadOptions struct {
	// Source of rows; empty means SourceAuto. Each source implies what it reads: auto reads reports
	// and Pods, report reads reports and Pods (to detect stale rows), annotation and live read
	// Pods. If an override names a cluster report, that report is also read.
	Source cluster.Source
	// NoPods omits the Pods from report and auto. Then no row becomes stale because of its Pod, and
	// auto finds no annotations.
	NoPods bool
	// StatefulSets, PVCs, StatusReport and Lease also read those objects.
	StatefulSets, PVCs, StatusReport, Lease bool
	// Operator reads the state of the Scylla Operator if it manages the cluster.
	Operator bool
	// Machines also reads the Kubernetes nodes of the Pods, and the warnings about members that are
	// not Ready, and caches them; nil reads none.
	Machines *Machines
	// LeaseNamespace is the namespace of the controller's Lease; empty reads no Lease.
	LeaseNamespace string
	// Member is the Service to get if listing Services is forbidden: a barrier may have access to
	// its own Service only.
	Member string
}

// Everything returns options that read all objects, as a status display needs them.
func Everything(source cluster.Source, leaseNamespace string) LoadOptions {
	return LoadOptions{Source: source, StatefulSets: true, PVCs: true, StatusReport: true, Lease: true,
		LeaseNamespace: leaseNamespace, Operator: true}
}

// kinds returns the set of kinds to read.
func (o LoadOptions) kinds() cluster.Kinds {
	k := cluster.KindServices
	switch o.Source {
	case cluster.SourceLive, cluster.SourceAnnotation:
		k |= cluster.KindPods
	default:
		k |= cluster.KindReports
		if !o.NoPods {
			k |= cluster.KindPods
		}
	}
	for _, more := range []struct {
		asked bool
		kind  cluster.Kinds
	}{
		{o.StatefulSets, cluster.KindStatefulSets}, {o.PVCs, cluster.KindPVCs},
		{o.StatusReport, cluster.KindStatusReport},
		{o.Lease && o.LeaseNamespace != "", cluster.KindLease},
	} {
		if more.asked {
			k |= more.kind
		}
	}
	return k
}

// loader collects the results of parallel reads.
type loader struct {
	c    client.Reader
	opts LoadOptions

	mu sync.Mutex
	o  cluster.Objects
}

// note records an error of the API as a Problem, or returns it if it ends the whole read.
func (l *loader) note(ctx context.Context, verb, resource, ns, name string, err error) error {
	p, fatal := classify(ctx, verb, resource, ns, name, err)
	if p != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.o.Problems = append(l.o.Problems, *p)
	}
	return fatal
}

func (l *loader) set(k cluster.Kinds, store func(*cluster.Objects)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	store(&l.o)
	l.o.Read |= k
}

// Load reads one cluster with one list per kind, in parallel. A forbidden or missing kind becomes a
// Problem, and Load reads the rest. If no object has label scylla/cluster, cluster.NameOf groups
// the StatefulSets into the cluster. Errors: *cluster.NotFoundError if no object of the cluster
// exists; *UnreachableError if the API server does not respond or refuses the credentials; the
// joined Problems if nothing could be read.
func Load(ctx context.Context, c client.Reader, key cluster.Key, opts LoadOptions) (cluster.Objects, error) {
	if key.Namespace == "" {
		return cluster.Objects{}, errors.New("read cluster " + key.Name + ": the namespace is missing")
	}
	if bad := validation.IsValidLabelValue(key.Name); key.Name == "" || len(bad) > 0 {
		return cluster.Objects{}, &cluster.NotFoundError{
			What: "cluster", Name: key.Name, In: "namespace " + key.Namespace,
			Cure: "a cluster's name is the value of label " + api.LabelCluster +
				": letters, digits, dashes, dots and underscores, at most 63",
		}
	}
	l := &loader{c: c, opts: opts, o: cluster.Objects{Key: key}}
	if err := l.readAll(ctx); err != nil {
		return cluster.Objects{}, during("read cluster "+key.String(), err)
	}
	l.o.Problems = cluster.SortProblems(l.o.Problems)
	if l.o.Empty() {
		if err := cluster.Incomplete(l.o.Problems); err != nil {
			return cluster.Objects{}, fmt.Errorf("read cluster %s: %w", key, err)
		}
		return cluster.Objects{}, clusterNotFound(ctx, c, key)
	}
	return l.o, nil
}

func (l *loader) readAll(ctx context.Context) error {
	if err := l.read(ctx); err != nil {
		return err
	}
	if l.o.Empty() {
		if err := l.readUnlabelled(ctx); err != nil {
			return err
		}
	}
	if err := l.readOverride(ctx); err != nil {
		return err
	}
	if err := l.readOperator(ctx); err != nil {
		return err
	}
	l.readNamesakes(ctx)
	if err := l.readUnlabelledPVCs(ctx); err != nil {
		return err
	}
	if l.opts.Machines != nil {
		l.o.Machines = l.opts.Machines.read(ctx, l.c, l.o.Pods, time.Now(), l.readVolumes(ctx)...)
		l.o.NotReadySince = l.opts.Machines.notReadySince()
		l.readEvents(ctx)
	}
	return nil
}

func (l *loader) read(ctx context.Context) error {
	need := l.opts.kinds()
	g, ctx := errgroup.WithContext(ctx)
	for i := range kinds {
		k := &kinds[i]
		switch {
		case need&k.bit == 0:
		case k.bit == cluster.KindStatusReport:
			g.Go(func() error { return l.readStatusReport(ctx, l.o.Name, false) })
		case k.bit == cluster.KindLease:
			g.Go(func() error { return l.readLease(ctx) })
		default:
			g.Go(func() error { return l.list(ctx, k) })
		}
	}
	return g.Wait()
}

func (l *loader) list(ctx context.Context, k *kind) error {
	list := k.newList()
	err := l.c.List(ctx, list, client.InNamespace(l.o.Namespace), k.of(l.o.Name))
	if err == nil {
		l.set(k.bit, func(o *cluster.Objects) { k.store(list, o) })
		return nil
	}
	if fatal := l.note(ctx, "list", k.resource, l.o.Namespace, "", err); fatal != nil ||
		k.bit != cluster.KindServices || l.opts.Member == "" {
		return fatal
	}
	var own corev1.Service
	if err := l.c.Get(ctx, client.ObjectKey{Namespace: l.o.Namespace, Name: l.opts.Member}, &own); err != nil {
		return l.note(ctx, "get", k.resource, l.o.Namespace, l.opts.Member, err)
	}
	// Services is not marked as read: the other members stay unknown, and a Problem shows why.
	l.set(0, func(o *cluster.Objects) { o.Services = []corev1.Service{own} })
	return nil
}

func (l *loader) readLease(ctx context.Context) error {
	var lease coordinationv1.Lease
	err := l.c.Get(ctx, client.ObjectKey{Namespace: l.opts.LeaseNamespace, Name: api.LeaseName}, &lease)
	if err != nil {
		return l.note(ctx, "get", cluster.ResourceLeases, l.opts.LeaseNamespace, api.LeaseName, err)
	}
	l.set(cluster.KindLease, func(o *cluster.Objects) { o.Lease = &lease })
	return nil
}

// readStatusReport reads a cluster report. A missing report is a problem only if an override names
// it.
func (l *loader) readStatusReport(ctx context.Context, name string, wanted bool) error {
	var r api.ScyllaDBStatusReport
	err := l.c.Get(ctx, client.ObjectKey{Namespace: l.o.Namespace, Name: name}, &r)
	if err == nil {
		l.set(cluster.KindStatusReport, func(o *cluster.Objects) { o.StatusReport = &r })
		return nil
	}
	p, fatal := classify(ctx, "get", cluster.ResourceStatusReports, l.o.Namespace, name, err)
	if p != nil && (wanted || p.Kind != cluster.ProblemNotFound) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.o.Problems = append(l.o.Problems, *p)
	}
	return fatal
}

// readOverride reads the cluster report that the override names. For every source, rows then come
// only from that report.
func (l *loader) readOverride(ctx context.Context) error {
	ref := l.o.Override()
	if ref == "" {
		return nil
	}
	if l.o.StatusReport != nil && l.o.StatusReport.Name == ref {
		return nil
	}
	l.o.StatusReport = nil
	return l.readStatusReport(ctx, ref, true)
}

// readUnlabelled finds a cluster without our labels: its StatefulSets by cluster.NameOf, or by the
// name of one of them.
func (l *loader) readUnlabelled(ctx context.Context) error {
	sets, err := l.unprepared(ctx)
	if err != nil || len(sets) == 0 {
		return err
	}
	if err := l.readSets(ctx, sets); err != nil {
		return err
	}
	names := make([]string, len(sets))
	for i := range sets {
		names[i] = sets[i].Name
	}
	what := "StatefulSet"
	if len(sets) > 1 {
		what += "s"
	}
	l.o.Notes = append(l.o.Notes, fmt.Sprintf("no object has the label %s=%s; showing %s %s", api.LabelCluster,
		l.o.Name, what, strings.Join(names, ", ")))
	return nil
}

// unprepared returns the StatefulSets of the cluster. If listing is forbidden, it gets only the
// StatefulSet with the cluster's name.
func (l *loader) unprepared(ctx context.Context) ([]appsv1.StatefulSet, error) {
	var list appsv1.StatefulSetList
	err := l.c.List(ctx, &list, client.InNamespace(l.o.Namespace))
	if apierrors.IsForbidden(err) {
		list.Items = make([]appsv1.StatefulSet, 1)
		err = l.c.Get(ctx, client.ObjectKey{Namespace: l.o.Namespace, Name: l.o.Name}, &list.Items[0])
	}
	if err != nil {
		_, fatal := classify(ctx, "list", cluster.ResourceStatefulSets, l.o.Namespace, "", err)
		return nil, fatal
	}
	if sets := cluster.Unprepared(list.Items, l.o.Name); len(sets) > 0 {
		return sets, nil
	}
	for i := range list.Items {
		if s := &list.Items[i]; s.Name == l.o.Name && s.Labels[api.LabelCluster] == "" && cluster.RunsScyllaDB(s) {
			return cluster.Unprepared(list.Items, cluster.NameOf(s)), nil
		}
	}
	return nil, nil
}

// readSets reads the Pods of StatefulSets by their selectors, and the Services named after the
// StatefulSets or after members without a StatefulSet.
func (l *loader) readSets(ctx context.Context, sets []appsv1.StatefulSet) error {
	l.set(cluster.KindStatefulSets, func(o *cluster.Objects) { o.StatefulSets = sets })
	mine := map[string]bool{}
	for i := range sets {
		s := &sets[i]
		selector, err := metav1.LabelSelectorAsSelector(s.Spec.Selector)
		if err != nil {
			return fmt.Errorf("read StatefulSet %s/%s: selector: %w", s.Namespace, s.Name, err)
		}
		var pods corev1.PodList
		if err := l.c.List(ctx, &pods, client.InNamespace(l.o.Namespace),
			client.MatchingLabelsSelector{Selector: selector}); err != nil {
			return l.note(ctx, "list", cluster.ResourcePods, l.o.Namespace, "", err)
		}
		// If the selectors of two StatefulSets overlap, each keeps only its own Pods.
		pods.Items = slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool {
			owner := metav1.GetControllerOf(&p)
			return owner != nil && owner.Name != s.Name
		})
		l.set(cluster.KindPods, func(o *cluster.Objects) { o.Pods = append(o.Pods, pods.Items...) })
		for i := range pods.Items {
			mine[pods.Items[i].Name] = true
		}
		for _, name := range cluster.MemberNames(s) {
			mine[name] = true
		}
	}
	var svcs corev1.ServiceList
	if err := l.c.List(ctx, &svcs, client.InNamespace(l.o.Namespace)); err != nil {
		return l.note(ctx, "list", cluster.ResourceServices, l.o.Namespace, "", err)
	}
	svcs.Items = slices.DeleteFunc(svcs.Items, func(s corev1.Service) bool { return !mine[s.Name] })
	l.set(cluster.KindServices, func(o *cluster.Objects) { o.Services = svcs.Items })
	return nil
}

// LoadSets reads the cluster of these StatefulSets, whatever their labels: while the barrier is
// being added or removed, only some objects have them. It reads only StatefulSets, Pods, Services
// and PVCs.
func LoadSets(ctx context.Context, c client.Reader, key cluster.Key, sets []appsv1.StatefulSet) (cluster.Objects,
	error) {
	l := &loader{c: c, opts: LoadOptions{Source: cluster.SourceLive, PVCs: true}, o: cluster.Objects{Key: key}}
	if err := l.readSets(ctx, sets); err != nil {
		return cluster.Objects{}, during("read cluster "+key.String(), err)
	}
	l.o.Problems = cluster.SortProblems(l.o.Problems)
	if err := cluster.Incomplete(l.o.Problems); err != nil {
		return cluster.Objects{}, fmt.Errorf("read cluster %s: %w", key, err)
	}
	return l.o, nil
}

// readUnlabelledPVCs lists all PVCs of the namespace if the cluster's PVCs cannot have its label.
// PVCs get the labels of the claim template and of the StatefulSet's selector, which on a plain
// StatefulSet may lack it.
func (l *loader) readUnlabelledPVCs(ctx context.Context) error {
	o := &l.o
	if !l.opts.PVCs || o.Read&cluster.KindPVCs == 0 || len(o.PVCs) > 0 || len(o.Pods)+len(o.StatefulSets) == 0 {
		return nil
	}
	var list corev1.PersistentVolumeClaimList
	if err := l.c.List(ctx, &list, client.InNamespace(o.Namespace)); err != nil {
		return l.note(ctx, "list", cluster.ResourcePVCs, o.Namespace, "", err)
	}
	o.PVCs = list.Items
	return nil
}
