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

// LoadOptions say what to read. The zero value reads member Services and, as the source auto needs them, reports and Pods.
type LoadOptions struct {
	// Source of rows; empty means SourceAuto. It implies the kinds that it needs: auto reports and Pods, report reports (and
	// Pods, to tell stale rows), annotation Pods, live Pods. The cluster report is read besides when an override names one.
	Source cluster.Source
	// NoPods leaves the Pods out of report and auto: no row is then ever marked stale by its Pod, and auto finds no annotations.
	NoPods bool
	// StatefulSets, PVCs, StatusReport and Lease ask for those kinds too.
	StatefulSets, PVCs, StatusReport, Lease bool
	// Operator asks for what can be seen of the Scylla Operator where it manages the cluster.
	Operator bool
	// Machines reads the Kubernetes nodes that the Pods are on too, not each time anew; nil reads none.
	Machines *Machines
	// LeaseNamespace is where the controller's Lease lives; without it no Lease is read.
	LeaseNamespace string
	// Member is read by name when Services may not be listed: a barrier may have leave to see nothing but its own Service.
	Member string
}

// Everything asks for all kinds, as a status display does.
func Everything(source cluster.Source, leaseNamespace string) LoadOptions {
	return LoadOptions{Source: source, StatefulSets: true, PVCs: true, StatusReport: true, Lease: true, LeaseNamespace: leaseNamespace, Operator: true}
}

// kinds is the set of kinds that are read.
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
		{o.StatefulSets, cluster.KindStatefulSets}, {o.PVCs, cluster.KindPVCs}, {o.StatusReport, cluster.KindStatusReport},
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

// note records an error of the API as a Problem, or returns it when it ends everything.
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

// Load reads one cluster with one list per kind, in parallel. A kind that is forbidden or not installed becomes a Problem and
// the rest is read. Where nothing carries the label scylla/cluster, the cluster is made up of StatefulSets by cluster.NameOf.
// Errors: *cluster.NotFoundError when there is no trace of the cluster; *UnreachableError when the API server does not answer or refuses the
// credentials; the Problems, joined, when they leave nothing at all.
func Load(ctx context.Context, c client.Reader, key cluster.Key, opts LoadOptions) (cluster.Objects, error) {
	if key.Namespace == "" {
		return cluster.Objects{}, errors.New("read cluster " + key.Name + ": the namespace is missing")
	}
	if bad := validation.IsValidLabelValue(key.Name); key.Name == "" || len(bad) > 0 {
		return cluster.Objects{}, &cluster.NotFoundError{
			What: "cluster", Name: key.Name, In: "namespace " + key.Namespace,
			Cure: "a cluster's name is the value of label " + api.LabelCluster + ": letters, digits, dashes, dots and underscores, at most 63",
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
	if err := l.readUnlabelledPVCs(ctx); err != nil {
		return err
	}
	if l.opts.Machines != nil {
		l.o.Machines = l.opts.Machines.read(ctx, l.c, l.o.Pods, time.Now(), l.readVolumes(ctx)...)
		l.o.NotReadySince = l.opts.Machines.notReadySince()
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
	err := l.c.List(ctx, list, client.InNamespace(l.o.Namespace), client.MatchingLabels{k.label: l.o.Name})
	if err == nil {
		l.set(k.bit, func(o *cluster.Objects) { k.store(list, o) })
		return nil
	}
	if fatal := l.note(ctx, "list", k.resource, l.o.Namespace, "", err); fatal != nil || k.bit != cluster.KindServices || l.opts.Member == "" {
		return fatal
	}
	var own corev1.Service
	if err := l.c.Get(ctx, client.ObjectKey{Namespace: l.o.Namespace, Name: l.opts.Member}, &own); err != nil {
		return l.note(ctx, "get", k.resource, l.o.Namespace, l.opts.Member, err)
	}
	// Not marked as read: the other members stay unknown, and a Problem says so.
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

// readStatusReport reads a cluster report. That the cluster has none is no problem unless an override names it.
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

// readOverride follows the override reference, for every source: rows then come from there and from nowhere else.
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

// readUnlabelled finds a cluster without our labels: its StatefulSets, by cluster.NameOf or by the name of one of them.
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
	l.o.Notes = append(l.o.Notes, fmt.Sprintf("no object has the label %s=%s; showing %s %s", api.LabelCluster, l.o.Name, what, strings.Join(names, ", ")))
	return nil
}

// unprepared are the StatefulSets of the cluster. Without the right to list them, only the one with the cluster's name is tried.
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

// readSets reads the Pods of StatefulSets by their selectors, and the Services with the names of the StatefulSets or of members without one.
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
		if err := l.c.List(ctx, &pods, client.InNamespace(l.o.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
			return l.note(ctx, "list", cluster.ResourcePods, l.o.Namespace, "", err)
		}
		// Where the selectors of two StatefulSets overlap, each keeps its own Pods.
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

// LoadSets reads the cluster that these StatefulSets make up, whatever labels they and their Pods carry: while guards are put in or taken out some have them and
// some not. Nothing but StatefulSets, Pods, Services and claims is read.
func LoadSets(ctx context.Context, c client.Reader, key cluster.Key, sets []appsv1.StatefulSet) (cluster.Objects, error) {
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

// readUnlabelledPVCs lists all claims of the namespace when those of the cluster cannot carry its label: claims get the labels of
// the claim template and of the StatefulSet's selector, which on plain StatefulSets need not have it.
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
