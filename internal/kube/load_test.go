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
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
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
	s, err := Load(t.Context(), c, key, Everything(SourceAuto, "system"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{
		"*v1.ServiceList": 1, "*v1.PodList": 1, "*v1.StatefulSetList": 1, "*v1.PersistentVolumeClaimList": 1,
		"*api.ScyllaDBDatacenterNodesStatusReportList": 1, "*api.ScyllaDBStatusReport": 1, "*v1.Lease": 1,
	}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if len(s.Services) != 6 || len(s.Pods) != 6 || len(s.StatefulSets) != 3 || len(s.PVCs) != 6 || len(s.Reports) != 1 {
		t.Errorf("loaded %d Services, %d Pods, %d StatefulSets, %d PVCs, %d reports",
			len(s.Services), len(s.Pods), len(s.StatefulSets), len(s.PVCs), len(s.Reports))
	}
	if s.Source != SourceReport || s.SourceReason != "1 of 1 datacenter report found" {
		t.Errorf("source %s, %q", s.Source, s.SourceReason)
	}
	if s.Operator || s.Offline || s.TakenAt.IsZero() || s.Incomplete() != nil {
		t.Errorf("operator %v, offline %v, taken %v, incomplete %v", s.Operator, s.Offline, s.TakenAt, s.Incomplete())
	}

	clear(calls)
	if _, err := Load(t.Context(), c, key, LoadOptions{Source: SourceReport, NoPods: true}); err != nil {
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
	st.more = []client.Object{
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

// TestLoadGoesOnWithoutWhatItMayNotRead has one line per cause in its golden file: what is said, and what remains.
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
		s, err := Load(t.Context(), newStage(t, 1, 2).client(tc.funcs), key, tc.opts)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		fmt.Fprintf(&out, "## %s\nsource: %s: %s\nservices %d, pods %d, reports %d; incomplete: %v\n",
			name, s.Source, s.SourceReason, len(s.Services), len(s.Pods), len(s.Reports), s.Incomplete() != nil)
		for _, p := range s.Problems {
			fmt.Fprintf(&out, "%s: %s\n", p.Kind, p.Message)
		}
		out.WriteString("\n")
	}
	golden(t, "problems.txt", out.String())
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
		key   ClusterKey
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
		"misspelt cluster":       {interceptor.Funcs{}, ClusterKey{"db", "dmeo"}},
		"empty namespace":        {interceptor.Funcs{}, ClusterKey{"nowhere", "demo"}},
		"not a label value":      {interceptor.Funcs{}, ClusterKey{"db", "demo cluster!"}},
		"no name":                {interceptor.Funcs{}, ClusterKey{"db", ""}},
		"far from every cluster": {interceptor.Funcs{}, ClusterKey{"db", "xylophone"}},
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
		_, missing := errors.AsType[*NotFoundError](err)
		fmt.Fprintf(&out, "## %s (unreachable %v, not found %v)\n%v\n\n", name, gone, missing, err)
	}
	golden(t, "load_errors.txt", out.String())
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
			HostID: hostID(1, 0), ObservedNodes: []api.ObservedNodeStatusReport{{HostID: hostID(1, 0), Status: "UP"}},
		}}}},
	}
	st := newStage(t, 1, 2)
	st.services["demo-rack1-0"].Annotations[api.AnnotationStatusReportOverrideRef] = "whole"
	s := st.load(t, LoadOptions{StatusReport: true})
	if len(s.Problems) != 1 || s.Problems[0].Kind != ProblemNotFound || s.Rows() != nil {
		t.Errorf("problems %v, rows %v; a report that is named and missing is a problem, and nothing stands in for it", s.Problems, s.Rows())
	}
	if !strings.Contains(s.SourceReason, "could not be read") {
		t.Errorf("reason %q", s.SourceReason)
	}
	st.more = []client.Object{status}
	s = st.load(t, LoadOptions{})
	rows := s.Rows()
	if s.Source != SourceReport || len(rows) != 1 || rows[0].Reporter.HostID != hostID(1, 0) {
		t.Errorf("source %s, rows %+v; want the row of the cluster report alone", s.Source, rows)
	}
	if want := "cluster report whole found, named by annotation internal.scylla-operator.scylladb.com/scylladb-status-report-override-ref"; s.SourceReason != want {
		t.Errorf("reason %q, want %q", s.SourceReason, want)
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
	for _, o := range st.objects() {
		strip(o)
	}
	for _, s := range st.services {
		s.Annotations = nil
	}
	st.sets["demo-rack1"].Spec.Selector.MatchLabels = map[string]string{"app": "mine"}
	clear(st.reports)
	c := st.client(interceptor.Funcs{})
	keys, err := ListClusters(t.Context(), c, "", nil)
	if diff := cmp.Diff([]ClusterKey{{"db", "demo-rack1"}}, keys); err != nil || diff != "" {
		t.Fatalf("clusters: %v\n%s", err, diff)
	}
	s, err := Load(t.Context(), c, keys[0], LoadOptions{PVCs: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Pods) != 2 || len(s.Services) != 2 || len(s.PVCs) != 2 || len(s.Notes) != 1 {
		t.Errorf("pods %d, services %d, claims %d, notes %v", len(s.Pods), len(s.Services), len(s.PVCs), s.Notes)
	}
	m := memberNamed(t, s.Members(), "demo-rack1-1")
	if m.HostID != hostID(1, 1) || m.State != MemberJoined || m.PVC == nil {
		t.Errorf("member %+v", m)
	}
}

func TestListClusters(t *testing.T) {
	t.Parallel()
	st := newStage(t, 1, 1)
	st.more = []client.Object{
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
		want     []ClusterKey
		wantErr  string
	}{
		"everywhere":       {want: []ClusterKey{{"db", "demo"}, {"op", "alpha"}, {"op", "gamma"}}},
		"one namespace":    {ns: "db", want: []ClusterKey{{"db", "demo"}}},
		"by label":         {selector: team, want: []ClusterKey{{"op", "alpha"}}},
		"none":             {ns: "empty"},
		"partly forbidden": {funcs: failMeta("ServiceList", forbidden("services")), ns: "db", want: []ClusterKey{{"db", "demo"}}},
		"all forbidden":    {funcs: failMeta("", forbidden("x")), wantErr: "list services in all namespaces: forbidden; ask for a Role with verb list"},
		"unreachable":      {funcs: failMeta("", refused), wantErr: "the API server cannot be reached"},
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
	st.more = []client.Object{&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "prod-dc1-r1-0", Labels: map[string]string{api.LabelCluster: "prod"}}}}
	two := st.client(interceptor.Funcs{})
	cases := map[string]struct {
		c        client.Reader
		ns, name string
		want     ClusterKey
		wantErr  string
	}{
		"the only one":        {c: one, ns: "db", want: key},
		"by name":             {c: two, ns: "db", name: "demo", want: key},
		"by namespace/name":   {c: two, name: "db/demo", want: key},
		"several":             {c: two, ns: "db", wantErr: "there are 2 clusters in namespace db, name one: demo, prod"},
		"several, everywhere": {c: two, wantErr: "there are 2 clusters in all namespaces, name one: db/demo, db/prod"},
		"misspelt":            {c: two, ns: "db", name: "porod", wantErr: `no cluster "porod" in namespace db; did you mean "prod"?`},
		"none at all":         {c: one, ns: "empty", wantErr: "no cluster in namespace empty; the namespace has no ScyllaDB cluster"},
		"far from all":        {c: one, ns: "db", name: "xylophone", wantErr: `no cluster "xylophone" in namespace db; there are: demo`},
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

func TestSourceIsChosenAndExplained(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(*stage)
		opts   LoadOptions
		source Source
		reason string
	}{
		"reports":              {source: SourceReport, reason: "1 of 1 datacenter report found"},
		"one of two reports":   {change: func(st *stage) { st.services["demo-rack1-1"].Labels[api.LabelDatacenter] = "dc2" }, source: SourceReport, reason: "1 of 2 datacenter reports found (none for dc2)"},
		"no report":            {change: func(st *stage) { clear(st.reports) }, source: SourceAnnotation, reason: "no report found; used Pod annotations of 2 Pods"},
		"some annotations":     {change: func(st *stage) { clear(st.reports); st.pods["demo-rack1-0"].Annotations = nil }, source: SourceAnnotation, reason: "no report found; used Pod annotations of 1 of 2 Pods"},
		"nothing":              {change: func(st *stage) { clear(st.reports); clear(st.pods) }, source: SourceAnnotation, reason: "no report found; no Pod carries a row either: --source=live asks ScyllaDB itself"},
		"annotations wanted":   {opts: LoadOptions{Source: SourceAnnotation}, source: SourceAnnotation, reason: "Pod annotations asked for: Pod annotations of 2 Pods"},
		"reports wanted, none": {change: func(st *stage) { clear(st.reports) }, opts: LoadOptions{Source: SourceReport}, source: SourceReport, reason: "0 of 1 datacenter report found (none for dc1)"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, 1, 2)
			if tc.change != nil {
				tc.change(st)
			}
			s := st.load(t, tc.opts)
			if s.Source != tc.source || s.SourceReason != tc.reason {
				t.Errorf("got %s, %q\nwant %s, %q", s.Source, s.SourceReason, tc.source, tc.reason)
			}
		})
	}
}

func TestParseSource(t *testing.T) {
	t.Parallel()
	if s, err := ParseSource("LIVE"); err != nil || s != SourceLive {
		t.Errorf("got %q, %v", s, err)
	}
	if _, err := ParseSource("guess"); err == nil || !strings.Contains(err.Error(), "auto, report, annotation or live") {
		t.Errorf("err = %v", err)
	}
}

func TestLeaseAt(t *testing.T) {
	t.Parallel()
	now := start
	lease := func(holder string, age time.Duration) *coordinationv1.Lease {
		return &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kubectl-scylla", Name: api.LeaseName},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity: &holder, LeaseDurationSeconds: new(int32(15)), RenewTime: new(metav1.NewMicroTime(now.Add(-age))),
			},
		}
	}
	never := lease("x", 0)
	never.Spec.RenewTime = nil
	cases := map[string]*coordinationv1.Lease{
		"fresh": lease("ctrl-1", 2*time.Second), "at the limit": lease("ctrl-1", 30*time.Second), "silent": lease("ctrl-1", 31*time.Second),
		"given back": lease("", 3*time.Second), "given back long ago": lease("", time.Hour), "clock ahead": lease("ctrl-1", -time.Hour),
		"none": nil, "never renewed": never,
	}
	var out strings.Builder
	for _, name := range sortedKeys(cases) {
		st := LeaseAt(cases[name], now)
		fmt.Fprintf(&out, "%s: silent=%v since=%v: %s\n", name, st.Silent, st.Since.Format(time.TimeOnly), st.Text)
	}
	golden(t, "lease.txt", out.String())
}

func TestLeaseMonitorUsesItsOwnClockOnly(t *testing.T) {
	t.Parallel()
	lease := func(holder string, renewed time.Time) *coordinationv1.Lease {
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: new(int32(10)), RenewTime: new(metav1.NewMicroTime(renewed)),
		}}
	}
	// The controller's clock is a year off: it must not matter.
	theirs := start.AddDate(-1, 0, 0)
	var m LeaseMonitor
	silent := func(at time.Duration) bool {
		_, _, s := m.Silent(start.Add(at))
		return s
	}
	if silent(time.Hour) {
		t.Error("silent before the first look")
	}
	m.Observe(lease("a", theirs), start)
	m.Observe(lease("a", theirs), start.Add(20*time.Second))
	if silent(20 * time.Second) {
		t.Error("silent at twice the duration")
	}
	if !silent(21 * time.Second) {
		t.Error("not silent after twice the duration without renewal")
	}
	if who, since, _ := m.Silent(start.Add(21 * time.Second)); who != "a" || !since.Equal(start) {
		t.Errorf("who %q since %v", who, since)
	}
	m.Observe(lease("a", theirs.Add(time.Second)), start.Add(25*time.Second))
	if silent(45 * time.Second) {
		t.Error("silent right after a renewal")
	}
	m.Observe(lease("b", theirs.Add(-time.Hour)), start.Add(46*time.Second))
	if silent(60 * time.Second) {
		t.Error("a new holder with an older clock is a sign of life")
	}
	m.Observe(lease("", theirs.Add(-time.Hour)), start.Add(61*time.Second))
	if silent(70*time.Second) || !silent(100*time.Second) {
		t.Error("a lease given back counts from the last sign of life, with the ordinary limit")
	}
	m.Observe(nil, start.Add(101*time.Second))
	if silent(131*time.Second) || !silent(132*time.Second) {
		t.Error("a lease that vanishes counts from when it was seen to vanish")
	}
}

func TestBootstrapInputKnowsASilentController(t *testing.T) {
	t.Parallel()
	st := newStage(t, 1, 2)
	name := st.newcomer(t, 1, 2)
	renewed := start.Add(time.Hour - time.Minute)
	st.more = []client.Object{&coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "sys", Name: api.LeaseName},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("ctrl-1"), LeaseDurationSeconds: new(int32(15)), RenewTime: new(metav1.NewMicroTime(renewed))},
	}}
	in, err := st.load(t, LoadOptions{Lease: true, LeaseNamespace: "sys"}).BootstrapInput(name)
	if err != nil {
		t.Fatal(err)
	}
	if in.ControllerSilent != "ctrl-1" || !in.ControllerSilentSince.Equal(renewed) {
		t.Errorf("silent %q since %v", in.ControllerSilent, in.ControllerSilentSince)
	}
	st.reports["dc1"].Labels[api.LabelManagedBy] = api.ManagedByOperator
	if in, err = st.load(t, LoadOptions{Lease: true, LeaseNamespace: "sys"}).BootstrapInput(name); err != nil || in.ControllerSilent != "" {
		t.Errorf("silent %q, err %v: the operator's reports are not our controller's to keep", in.ControllerSilent, err)
	}
}

func TestMatrixIsNamedAndNotVerified(t *testing.T) {
	t.Parallel()
	st := newStage(t, 1, 2)
	st.services["demo-rack1-1"].Labels[api.LabelDatacenter] = "dc2"
	m := st.load(t, LoadOptions{}).Matrix(matrix.Options{})
	var reasons []matrix.Reason
	for _, b := range m.Blockers() {
		reasons = append(reasons, b.Reason)
	}
	if diff := cmp.Diff([]matrix.Reason{matrix.ReasonDatacenterUnverified}, reasons); diff != "" {
		t.Errorf("blockers (-want +got):\n%s", diff)
	}
	if i, ok := m.Index(hostID(1, 0)); !ok || m.Nodes()[i].Member != "demo-rack1-0" {
		t.Errorf("node of %s is not named by its member", hostID(1, 0))
	}
}
