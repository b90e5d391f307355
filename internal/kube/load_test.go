// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/golden"
)

var (
	reportsGR = api.GroupVersion.WithResource("scylladbdatacenternodesstatusreports").GroupResource()
	noCRD     = apierrors.NewGenericServerResponse(404, "get", reportsGR, "", "404 page not found", 0, true)
	noKind    = &meta.NoKindMatchError{GroupKind: api.GroupVersion.WithKind("ScyllaDBDatacenterNodesStatusReport").GroupKind()}
	refused   = &url.Error{Op: "Get", URL: "https://10.0.0.1:6443/api", Err: &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connect: connection refused")}}
)

func forbidden(resource string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no"))
}

func TestLoadReadsEachKindOnce(t *testing.T) {
	t.Parallel()
	st := newStage(t, 3, 2)
	var mu sync.Mutex
	calls := map[string]int{}
	c := st.client(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			mu.Lock()
			calls[fmt.Sprintf("%T", list)]++
			mu.Unlock()
			return c.List(ctx, list, opts...)
		},
		Get: func(ctx context.Context, c client.WithWatch, k client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			mu.Lock()
			calls[fmt.Sprintf("%T", o)]++
			mu.Unlock()
			return c.Get(ctx, k, o, opts...)
		},
	})
	s, err := Load(t.Context(), c, key, Everything(cluster.SourceAuto, "system"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{
		"*v1.ServiceList": 1, "*v1.PodList": 1, "*v1.StatefulSetList": 1, "*v1.PersistentVolumeClaimList": 1,
		"*api.ScyllaDBDatacenterNodesStatusReportList": 1, "*api.ScyllaDBStatusReport": 1, "*v1.Lease": 1,
		"*v1.PartialObjectMetadata": 3, // the stage's labels are those of an earlier version, by which the operator adopts
	}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if len(s.Services) != 6 || len(s.Pods) != 6 || len(s.StatefulSets) != 3 || len(s.PVCs) != 6 || len(s.Reports) != 1 {
		t.Errorf("loaded %d Services, %d Pods, %d StatefulSets, %d PVCs, %d reports",
			len(s.Services), len(s.Pods), len(s.StatefulSets), len(s.PVCs), len(s.Reports))
	}
	if s.Key != key || s.Offline || s.Incomplete() != nil {
		t.Errorf("cluster %s, offline %v, incomplete %v", s.Key, s.Offline, s.Incomplete())
	}
	if c := cluster.New(s, cluster.SourceAuto, start); c.Operator || c.Source != cluster.SourceReport || words.Text(c.SourceReason()) != "1 of 1 datacenter report found" {
		t.Errorf("operator %v, source %s, %q", c.Operator, c.Source, words.Text(c.SourceReason()))
	}

	clear(calls)
	if _, err := Load(t.Context(), c, key, LoadOptions{Source: cluster.SourceReport, NoPods: true}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"*v1.ServiceList": 1, "*api.ScyllaDBDatacenterNodesStatusReportList": 1}, calls); diff != "" {
		t.Errorf("requests of a barrier (-want +got):\n%s", diff)
	}
}

func TestLoadLeavesStrangersOut(t *testing.T) {
	t.Parallel()
	st := newStage(t, 1, 1)
	lb := map[string]string{api.LabelCluster: "demo"}
	st.More = []client.Object{
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "demo-client", Labels: lb}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "demo-identity", Labels: map[string]string{
			api.LabelCluster: "demo", api.LabelServiceType: "identity"}}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "cleanup-x", Labels: lb}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "demo-rack1-0", Labels: lb}},
	}
	s := st.load(t, LoadOptions{})
	if len(s.Services) != 1 || len(s.Pods) != 1 {
		t.Errorf("got Services %d, Pods %d; want the member's alone", len(s.Services), len(s.Pods))
	}
}

// TestLoadGoesOnWithoutWhatItMayNotRead has one line per cause in its golden file: the problem, and the parts that remain.
func TestLoadGoesOnWithoutWhatItMayNotRead(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		funcs interceptor.Funcs
		opts  LoadOptions
	}{
		"pods forbidden":          {funcs: failingList[*corev1.PodList](forbidden("pods"))},
		"reports forbidden":       {funcs: failingList[*api.ScyllaDBDatacenterNodesStatusReportList](forbidden("reports"))},
		"reports not installed":   {funcs: failingList[*api.ScyllaDBDatacenterNodesStatusReportList](noCRD)},
		"reports not in mapper":   {funcs: failingList[*api.ScyllaDBDatacenterNodesStatusReportList](noKind)},
		"services forbidden":      {funcs: failingList[*corev1.ServiceList](forbidden("services"))},
		"own service only":        {funcs: failingList[*corev1.ServiceList](forbidden("services")), opts: LoadOptions{Member: "demo-rack1-0"}},
		"claims forbidden":        {funcs: failingList[*corev1.PersistentVolumeClaimList](forbidden("persistentvolumeclaims")), opts: LoadOptions{PVCs: true}},
		"pods time out":           {funcs: failingList[*corev1.PodList](apierrors.NewTimeoutError("slow", 1))},
		"server too busy":         {funcs: failingList[*corev1.PodList](apierrors.NewTooManyRequests("wait", 1))},
		"internal error":          {funcs: failingList[*corev1.PodList](apierrors.NewInternalError(errors.New("etcd lost")))},
		"no lease":                {opts: LoadOptions{Lease: true, LeaseNamespace: "kubectl-scylla"}},
		"nothing missing":         {},
		"no cluster report is no": {opts: LoadOptions{StatusReport: true}},
	}
	var out strings.Builder
	for _, name := range sortedKeys(cases) {
		tc := cases[name]
		objects, err := Load(t.Context(), newStage(t, 1, 2).client(tc.funcs), key, tc.opts)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		s := cluster.New(objects, tc.opts.Source, start)
		fmt.Fprintf(&out, "## %s\nsource: %s: %s\nservices %d, pods %d, reports %d; incomplete: %v\n",
			name, s.Source, words.Text(s.SourceReason()), len(s.Services), len(s.Pods), len(s.Reports), s.Incomplete() != nil)
		for _, p := range s.Problems {
			fmt.Fprintf(&out, "%s: %s\n", p.Kind, p.Message)
		}
		out.WriteString("\n")
	}
	golden.Text(t, "problems.txt", out.String())
}

func TestLoadFailsAsAWhole(t *testing.T) {
	t.Parallel()
	all := func(err error) interceptor.Funcs {
		return interceptor.Funcs{
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return err },
			Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				return err
			},
		}
	}
	cases := map[string]struct {
		funcs interceptor.Funcs
		key   cluster.Key
	}{
		"connection refused":  {all(refused), key},
		"request timed out":   {all(&url.Error{Op: "Get", URL: "https://x", Err: context.DeadlineExceeded}), key},
		"credentials refused": {all(apierrors.NewUnauthorized("token has expired")), key},
		"everything forbidden": {interceptor.Funcs{
			List: func(_ context.Context, _ client.WithWatch, l client.ObjectList, _ ...client.ListOption) error {
				return forbidden("x")
			},
			Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				return forbidden("x")
			},
		}, key},
		"misspelt cluster":       {interceptor.Funcs{}, cluster.Key{Namespace: "db", Name: "dmeo"}},
		"empty namespace":        {interceptor.Funcs{}, cluster.Key{Namespace: "nowhere", Name: "demo"}},
		"not a label value":      {interceptor.Funcs{}, cluster.Key{Namespace: "db", Name: "demo cluster!"}},
		"no name":                {interceptor.Funcs{}, cluster.Key{Namespace: "db", Name: ""}},
		"far from every cluster": {interceptor.Funcs{}, cluster.Key{Namespace: "db", Name: "xylophone"}},
	}
	var out strings.Builder
	for _, name := range sortedKeys(cases) {
		tc := cases[name]
		_, err := Load(t.Context(), newStage(t, 1, 2).client(tc.funcs), tc.key, LoadOptions{})
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		_, gone := errors.AsType[*UnreachableError](err)
		_, missing := errors.AsType[*cluster.NotFoundError](err)
		fmt.Fprintf(&out, "## %s (unreachable %v, not found %v)\n%v\n\n", name, gone, missing, err)
	}
	golden.Text(t, "load_errors.txt", out.String())
}

func TestLoadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	block := interceptor.Funcs{List: func(ctx context.Context, _ client.WithWatch, _ client.ObjectList, _ ...client.ListOption) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	if _, err := Load(ctx, newStage(t, 1, 1).client(block), key, LoadOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want context.Canceled", err)
	}
}

func TestLoadFollowsTheOverride(t *testing.T) {
	t.Parallel()
	status := &api.ScyllaDBStatusReport{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "whole"},
		Datacenters: []api.StatusReportDatacenter{{Name: "dc1", Nodes: []api.StatusReportNode{{
			HostID: hostID(1, 0), ObservedNodes: []api.ObservedNodeStatusReport{{HostID: hostid.ID(hostID(1, 0)), Status: "UP"}},
		}}}},
	}
	st := newStage(t, 1, 2)
	st.Services["demo-rack1-0"].Annotations[api.AnnotationStatusReportOverrideRef] = "whole"
	s := st.load(t, LoadOptions{StatusReport: true})
	if len(s.Problems) != 1 || s.Problems[0].Kind != cluster.ProblemNotFound || s.Rows() != nil {
		t.Errorf("problems %v, rows %v; a report that is named and missing is a problem, and nothing stands in for it", s.Problems, s.Rows())
	}
	if !strings.Contains(words.Text(s.SourceReason()), "could not be read") {
		t.Errorf("reason %q", words.Text(s.SourceReason()))
	}
	st.More = []client.Object{status}
	s = st.load(t, LoadOptions{})
	rows := s.Rows()
	if s.Source != cluster.SourceReport || len(rows) != 1 || string(rows[0].Reporter.HostID) != hostID(1, 0) {
		t.Errorf("source %s, rows %+v; want the row of the cluster report alone", s.Source, rows)
	}
	if want := "cluster report whole found, named by annotation internal.scylla-operator.scylladb.com/scylladb-status-report-override-ref"; words.Text(s.SourceReason()) != want {
		t.Errorf("reason %q, want %q", words.Text(s.SourceReason()), want)
	}
}

func TestLoadFindsAnUnpreparedStatefulSet(t *testing.T) {
	t.Parallel()
	st := newStage(t, 1, 2)
	strip := func(o client.Object) {
		l := o.GetLabels()
		for k := range l {
			if strings.HasPrefix(k, "scylla") || k == api.LabelManagedBy {
				delete(l, k)
			}
		}
		l["app"] = "mine"
		o.SetLabels(l)
	}
	for _, o := range st.Objects() {
		strip(o)
	}
	for _, s := range st.Services {
		s.Annotations = nil
	}
	st.Sets["demo-rack1"].Spec.Selector.MatchLabels = map[string]string{"app": "mine"}
	clear(st.Reports)
	c := st.client(interceptor.Funcs{})
	keys, err := ListClusters(t.Context(), c, "", nil)
	if diff := cmp.Diff([]cluster.Key{{Namespace: "db", Name: "demo-rack1"}}, keys); err != nil || diff != "" {
		t.Fatalf("clusters: %v\n%s", err, diff)
	}
	objects, err := Load(t.Context(), c, keys[0], LoadOptions{PVCs: true})
	if err != nil {
		t.Fatal(err)
	}
	s := cluster.New(objects, cluster.SourceAuto, start)
	if len(s.Pods) != 2 || len(s.Services) != 2 || len(s.PVCs) != 2 || len(s.Notes) != 1 {
		t.Errorf("pods %d, services %d, claims %d, notes %v", len(s.Pods), len(s.Services), len(s.PVCs), s.Notes)
	}
	m, err := s.ResolveTarget("demo-rack1-1")
	if err != nil || string(m.HostID) != hostID(1, 1) || m.State != cluster.MemberJoined || m.PVC == nil {
		t.Errorf("member %+v, %v", m, err)
	}
}

func TestListClusters(t *testing.T) {
	t.Parallel()
	st := newStage(t, 1, 1)
	st.More = []client.Object{
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "op", Name: "alpha-dc1-r1-0", Labels: map[string]string{
			api.LabelCluster: "alpha", api.LabelServiceType: api.ServiceTypeMember, "team": "a"}}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "op", Name: "beta-client", Labels: map[string]string{api.LabelCluster: "beta"}}},
		&api.ScyllaDBDatacenterNodesStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: "op", Name: "r", Labels: map[string]string{api.LabelReportSelector: "gamma"}}},
	}
	team, err := labels.Parse("team=a")
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		funcs    interceptor.Funcs
		ns       string
		selector labels.Selector
		want     []cluster.Key
		wantErr  string
	}{
		"everywhere":       {want: []cluster.Key{{Namespace: "db", Name: "demo"}, {Namespace: "op", Name: "alpha"}, {Namespace: "op", Name: "gamma"}}},
		"one namespace":    {ns: "db", want: []cluster.Key{{Namespace: "db", Name: "demo"}}},
		"by label":         {selector: team, want: []cluster.Key{{Namespace: "op", Name: "alpha"}}},
		"none":             {ns: "empty"},
		"partly forbidden": {funcs: failMeta("ServiceList", forbidden("services")), ns: "db", want: []cluster.Key{{Namespace: "db", Name: "demo"}}},
		"all forbidden":    {funcs: failMeta("", forbidden("x")), wantErr: "list services in all namespaces: forbidden; request a Role with verb list"},
		"unreachable":      {funcs: failMeta("", refused), wantErr: "the API server is not reachable"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ListClusters(t.Context(), st.client(tc.funcs), tc.ns, tc.selector)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("err = %v, want %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("clusters (-want +got):\n%s", diff)
			}
		})
	}
}

// failMeta lets requests for metadata of one kind of list fail, all requests when kind is empty.
func failMeta(kind string, err error) interceptor.Funcs {
	return interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		if kind == "" || list.GetObjectKind().GroupVersionKind().Kind == kind {
			return err
		}
		return c.List(ctx, list, opts...)
	}}
}

func TestResolveCluster(t *testing.T) {
	t.Parallel()
	st := newStage(t, 1, 1)
	one := st.client(interceptor.Funcs{})
	st.More = []client.Object{&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "prod-dc1-r1-0", Labels: map[string]string{api.LabelCluster: "prod"}}}}
	two := st.client(interceptor.Funcs{})
	cases := map[string]struct {
		c        client.Reader
		ns, name string
		want     cluster.Key
		wantErr  string
	}{
		"the only one":        {c: one, ns: "db", want: key},
		"by name":             {c: two, ns: "db", name: "demo", want: key},
		"by namespace/name":   {c: two, name: "db/demo", want: key},
		"several":             {c: two, ns: "db", wantErr: "there are 2 clusters in namespace db, specify one: demo, prod"},
		"several, everywhere": {c: two, wantErr: "there are 2 clusters in all namespaces, specify one: db/demo, db/prod"},
		"misspelt":            {c: two, ns: "db", name: "porod", wantErr: `no cluster "porod" in namespace db; did you mean "prod"?`},
		"none at all":         {c: one, ns: "empty", wantErr: "no cluster in namespace empty; the namespace has no ScyllaDB cluster"},
		"far from all":        {c: one, ns: "db", name: "xylophone", wantErr: `no cluster "xylophone" in namespace db; clusters: demo`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ResolveCluster(t.Context(), tc.c, tc.ns, tc.name)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("err = %v, want %q", err, tc.wantErr)
				}
				return
			}
			if err != nil || got != tc.want {
				t.Errorf("got %v, %v, want %v", got, err, tc.want)
			}
		})
	}
}

// TestWantOfRightsIsNoKnowledge: what may not be read is neither gone nor absent.
func TestWantOfRightsIsNoKnowledge(t *testing.T) {
	t.Parallel()
	st := newStage(t, 1, 2)
	o, err := Load(t.Context(), st.client(failingList[*corev1.PodList](forbidden("pods"))), key, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range cluster.New(o, cluster.SourceAuto, start).Rows() {
		if !r.Stale.IsZero() {
			t.Errorf("row stale for want of rights: %v", r.Stale)
		}
	}
	// One member alone, as when the first node of all starts.
	name := "demo-rack1-0"
	st = newStage(t, 1, 1)
	clear(st.Reports)
	st.Services[name].Annotations = nil
	st.Pods[name].Annotations = nil
	for what, funcs := range map[string]interceptor.Funcs{
		"services": failingList[*corev1.ServiceList](forbidden("services")),
		"reports":  failingList[*api.ScyllaDBDatacenterNodesStatusReportList](forbidden("reports")),
	} {
		o, err := Load(t.Context(), st.client(funcs), key, LoadOptions{Member: name})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bootstrap.Of(cluster.New(o, cluster.SourceAuto, start), name); err == nil || !strings.Contains(err.Error(), "cannot be distinguished from the first node") {
			t.Errorf("%s not readable: err = %v; ignorance must not read as a new cluster", what, err)
		}
	}
}

// TestLoadKeepsTheClaimThatAPodNames: without the label a claim is the cluster's when a member uses it, whatever its name, or when it is named as a
// template's claim of a member is.
func TestLoadKeepsTheClaimThatAPodNames(t *testing.T) {
	t.Parallel()
	st := newStage(t, 1, 1)
	st.Pods["demo-rack1-0"].Spec.Volumes[0].PersistentVolumeClaim.ClaimName = "restored"
	claim := st.PVCs["data-demo-rack1-0"]
	claim.Name, claim.Labels = "restored", nil
	st.More = []client.Object{
		&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "logs-demo-rack1-0"}},
		&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "stranger"}},
	}
	s := st.load(t, LoadOptions{PVCs: true})
	if m, err := s.ResolveTarget("demo-rack1-0"); err != nil || m.PVC == nil || m.PVC.Name != "restored" || len(s.PVCs) != 2 {
		t.Errorf("%d claims, member %+v, %v", len(s.PVCs), m, err)
	}
}

// Racks without our labels are one cluster, found by its name or by that of any rack; their Pods are told apart although their labels overlap.
func TestLoadPutsTheRacksOfAnUnpreparedClusterTogether(t *testing.T) {
	t.Parallel()
	st := newStage(t, 3, 1)
	for _, o := range st.Objects() {
		o.SetLabels(map[string]string{"app": "mine"})
	}
	for name, set := range st.Sets {
		set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "mine"}}
		set.Spec.ServiceName = "shop"
		for i := range st.Pods {
			if strings.HasPrefix(i, name+"-") {
				st.Pods[i].OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: name, UID: "1", Controller: new(true)}}
			}
		}
	}
	clear(st.Services)
	clear(st.Reports)
	c := st.client(interceptor.Funcs{})
	keys, err := ListClusters(t.Context(), c, "", nil)
	if diff := cmp.Diff([]cluster.Key{{Namespace: "db", Name: "shop"}}, keys); err != nil || diff != "" {
		t.Fatalf("clusters: %v\n%s", err, diff)
	}
	for _, name := range []string{"shop", "demo-rack2"} {
		objects, err := Load(t.Context(), c, cluster.Key{Namespace: "db", Name: name}, LoadOptions{Source: cluster.SourceLive})
		if err != nil || len(objects.StatefulSets) != 3 || len(objects.Pods) != 3 {
			t.Errorf("%s: %d StatefulSets, %d Pods, %v", name, len(objects.StatefulSets), len(objects.Pods), err)
		}
	}
	var list appsv1.StatefulSetList
	if err := c.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	objects, err := LoadSets(t.Context(), c, cluster.Key{Namespace: "db", Name: "any"}, list.Items[:2])
	if err != nil || len(objects.Pods) != 2 || len(objects.StatefulSets) != 2 {
		t.Errorf("two of them: %d Pods, %v", len(objects.Pods), err)
	}
}

func TestLoadFindsAnUnpreparedStatefulSetBesideALabelledService(t *testing.T) {
	t.Parallel()
	st := newStage(t, 1, 1)
	set, pod := st.Sets["demo-rack1"], st.Pods["demo-rack1-0"]
	set.Name, set.Labels, set.Spec.Selector = "demo", nil, &metav1.LabelSelector{MatchLabels: map[string]string{"app": "mine"}}
	pod.Name, pod.Labels = "demo-0", map[string]string{"app": "mine"}
	clear(st.Services)
	clear(st.Reports)
	clear(st.PVCs)
	st.More = []client.Object{&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "demo-client", Labels: map[string]string{api.LabelCluster: "demo"}}}}
	if s := st.load(t, LoadOptions{}); len(s.Pods) != 1 || len(s.Services) != 0 || len(s.Notes) != 1 {
		t.Errorf("%d Pods, %d Services, notes %v", len(s.Pods), len(s.Services), s.Notes)
	}
}
