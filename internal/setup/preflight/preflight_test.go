// SPDX-License-Identifier: Apache-2.0

package preflight_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/preflight"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const (
	agent = "example.test/scylla-agent:v1"
	own   = "scylladbstatusreports.scylla.scylladb.com"
)

// gated is the spec of a Pod with all four parts.
func gated() corev1.PodSpec {
	return corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: api.ContainerReporter}, {Name: api.ContainerBootstrappedQuery}, {Name: api.ContainerBarrier, Image: agent}},
		Containers:     []corev1.Container{{Name: api.ContainerScyllaDB, Image: "scylladb/scylla:2026.2.0", Command: []string{"/mnt/shared/scylla-agent", "launch", "--", "/docker-entrypoint.py"}, ReadinessProbe: &corev1.Probe{}}},
	}
}

// admitted are the policies as install makes them.
func admitted() []preflight.Admission {
	var out []preflight.Admission
	for _, p := range preflight.Policies {
		out = append(out, preflight.Admission{Policy: p, There: true, Bound: true})
	}
	return out
}

// well is an installation at which nothing is wrong.
func well() *preflight.Input {
	labels := map[string]string{api.LabelCluster: "demo", api.LabelPodType: api.PodTypeNode, appsv1.StatefulSetPodNameLabel: "demo-0"}
	renewed, always := metav1.NewMicroTime(now.Add(-2*time.Second)), policyv1.AlwaysAllow
	one := intstr.FromInt32(1)
	return &preflight.Input{
		Version: "v1.0.0", Installed: "v1.0.0", KubernetesMinor: 36, Now: now, SkewKnown: true,
		Kinds:     []preflight.Kind{{Name: own, Served: []string{"v1alpha1"}}},
		Access:    []preflight.Access{{Who: preflight.You, For: "status", Right: "list pods", Allowed: true}, {Who: "demo/scylla-member", For: "the reporter", Right: "patch pods", Namespace: "demo", Allowed: true}},
		Admission: admitted(),
		Denials:   []preflight.Denial{{Account: "demo/scylla-member", Pod: "demo-0", Denied: true}},
		Controller: &appsv1.Deployment{
			Spec:   appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: agent}}}}},
			Status: appsv1.DeploymentStatus{Replicas: 1, AvailableReplicas: 1},
		},
		Lease: &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{RenewTime: &renewed}},
		Services: []corev1.Service{{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "demo-0"}, Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: map[string]string{appsv1.StatefulSetPodNameLabel: "demo-0"}}},
			{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "db"}, Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone}}},
		Slices: []discoveryv1.EndpointSlice{
			{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Labels: map[string]string{discoveryv1.LabelServiceName: "demo-0"}}, AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.7"}}}},
			{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Labels: map[string]string{discoveryv1.LabelServiceName: "demo-0"}}, AddressType: discoveryv1.AddressTypeIPv6, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"fd00::7"}}}},
		},
		Pods: []corev1.Pod{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "demo-0", Labels: labels, OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Name: "demo", Controller: new(true)}}},
			Spec:       gated(),
			Status:     corev1.PodStatus{PodIP: "10.0.0.7", ContainerStatuses: []corev1.ContainerStatus{{Image: "scylla:2026.2", ImageID: "sha256:1"}}},
		}},
		StatefulSets: []appsv1.StatefulSet{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "demo", Labels: map[string]string{api.LabelCluster: api.OwnCluster("demo"), api.LabelManagedBy: api.ManagedByUs}},
			Spec: appsv1.StatefulSetSpec{
				ServiceName:          "db",
				VolumeClaimTemplates: make([]corev1.PersistentVolumeClaim, 1),
				Template:             corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: gated()},
			},
		}},
		PDBs: []policyv1.PodDisruptionBudget{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "demo"},
			Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, UnhealthyPodEvictionPolicy: &always, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{api.LabelCluster: "demo"}}},
		}},
		Reach: map[string]string{"demo/demo-0": ""},
	}
}

// said are the codes of what is not well.
func said(in *preflight.Input) []words.Code {
	var all []words.Code
	for _, r := range preflight.Check(in) {
		if r.State != preflight.OK {
			all = append(all, r.Text.Code)
		}
	}
	return all
}

// The controller needs its permissions in its namespaces only, and no printed command gives it more.
func TestTheControllerOfSomeNamespaces(t *testing.T) {
	for name, tc := range map[string]struct {
		managed []string
		checked string // empty: all namespaces
		want    []string
	}{
		"all, all":     {nil, "", []string{""}},
		"all, one":     {nil, "demo", []string{"demo"}},
		"two, all":     {[]string{"a", "demo"}, "", []string{"a", "demo"}},
		"two, one":     {[]string{"a", "demo"}, "demo", []string{"demo"}},
		"two, another": {[]string{"a", "demo"}, "b", nil},
	} {
		in := &preflight.Input{Namespaces: tc.managed}
		if got := in.ManagedIn(tc.checked); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	step := func(plant func(*preflight.Input)) string {
		in := well()
		in.Namespaces = []string{"a", "demo"}
		plant(in)
		var all []string
		for _, r := range preflight.Check(in) {
			if r.State != preflight.OK {
				all = append(all, string(r.Text.Code)+": "+words.Text(r.Step))
			}
		}
		return strings.Join(all, "\n")
	}
	for name, tc := range map[string]struct {
		plant func(*preflight.Input)
		want  string
	}{
		"nothing is wrong": {func(*preflight.Input) {}, ""},
		"another version": {func(in *preflight.Input) { in.Installed = "v0.9.0" },
			"VersionsDiffer: install the same version of both: kubectl scylla install --upgrade --namespaces=a,demo"},
		"no controller":     {func(in *preflight.Input) { in.Controller = nil }, "ControllerMissing: install it: kubectl scylla install --namespaces=a,demo"},
		"another namespace": {func(in *preflight.Input) { in.Namespaces = []string{"z", "a"} }, "NamespaceNotManaged: add the namespace: kubectl scylla install --namespaces=a,demo,z"},
		"a StatefulSet that is not ours": {func(in *preflight.Input) {
			in.Namespaces = []string{"a"}
			in.StatefulSets, in.PDBs = nil, nil
		}, ""},
	} {
		if got := step(tc.plant); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// Each planted fault gives a result of its own, with a sentence and a step, and no other result.
func TestEachFaultHasItsLine(t *testing.T) {
	scylla := func(in *preflight.Input) *corev1.Container {
		return &in.StatefulSets[0].Spec.Template.Spec.Containers[0]
	}
	without := func(name string) func(*preflight.Input) {
		return func(in *preflight.Input) {
			spec := &in.StatefulSets[0].Spec.Template.Spec
			for i := range spec.InitContainers {
				if spec.InitContainers[i].Name == name {
					spec.InitContainers[i].Name = "other"
				}
			}
		}
	}
	two, ifBudget := intstr.FromInt32(2), policyv1.IfHealthyBudget
	old := metav1.NewMicroTime(now.Add(-time.Minute))
	tests := map[string]struct {
		plant func(*preflight.Input)
		want  words.Code
		state preflight.State
	}{
		"old Kubernetes": {func(in *preflight.Input) { in.KubernetesMinor = 28 }, words.KubernetesTooOld, preflight.Failed},
		"a label that lets the operator adopt it, later": {func(in *preflight.Input) { in.StatefulSets[0].Labels[api.LabelCluster] = "demo" }, words.AdoptableLater, preflight.Warning},
		"a label that lets the operator adopt it": {func(in *preflight.Input) {
			in.StatefulSets[0].Labels[api.LabelCluster] = "demo"
			in.Operator.Namesakes = map[cluster.Key]string{{Namespace: "demo", Name: "demo"}: "ScyllaCluster demo"}
		}, words.AdoptableNow, preflight.Failed},
		"adopted": {func(in *preflight.Input) {
			in.StatefulSets[0].Labels[api.LabelCluster] = "demo"
			in.StatefulSets[0].OwnerReferences = []metav1.OwnerReference{{APIVersion: "scylla.scylladb.com/v1alpha1", Kind: "ScyllaDBDatacenter", Name: "demo", Controller: new(true)}}
		}, words.AdoptedSet, preflight.Failed},
		"kind missing":                    {func(in *preflight.Input) { in.Kinds[0].Served = nil }, words.KindMissing, preflight.Failed},
		"kind of another version":         {func(in *preflight.Input) { in.Kinds[0].Served = []string{"v1"} }, words.KindNotServed, preflight.Failed},
		"kinds may not be read":           {func(in *preflight.Input) { in.Kinds[0].Err = "forbidden" }, words.CannotTell, preflight.Unknown},
		"a role that blocks the operator": {func(in *preflight.Input) { in.Aggregated = "x" }, words.BlocksOperator, preflight.Failed},
		"our role may not be read":        {func(in *preflight.Input) { in.AggregatedErr = "forbidden" }, words.CannotTell, preflight.Unknown},
		"right of the person missing":     {func(in *preflight.Input) { in.Access[0].Allowed = false }, words.RightMissing, preflight.Warning},
		"right of the members missing":    {func(in *preflight.Input) { in.Access[1].Allowed = false }, words.RightMissing, preflight.Failed},
		"right of the controller": {func(in *preflight.Input) {
			in.Access[0] = preflight.Access{Who: preflight.TheController, Right: "patch services"}
		}, words.RightMissing, preflight.Failed},
		"clock ahead":                 {func(in *preflight.Input) { in.Skew = time.Minute }, words.ClockDiffers, preflight.Warning},
		"no policy of Pods":           {func(in *preflight.Input) { in.Admission[0].There = false }, words.PolicyMissing, preflight.Failed},
		"policy of Pods not bound":    {func(in *preflight.Input) { in.Admission[0].Bound = false }, words.PolicyNotBound, preflight.Failed},
		"a member's write is allowed": {func(in *preflight.Input) { in.Denials[0].Denied = false }, words.WriteNotDenied, preflight.Failed},
		"nobody may try as a member":  {func(in *preflight.Input) { in.Denials[0].Err = "cannot impersonate" }, words.CannotTell, preflight.Unknown},
		"no policy of Events":         {func(in *preflight.Input) { in.Admission[1].There = false }, words.PolicyMissing, preflight.Failed},
		"policy of Events not bound":  {func(in *preflight.Input) { in.Admission[1].Bound = false }, words.PolicyNotBound, preflight.Failed},
		"policies may not be read":    {func(in *preflight.Input) { in.Admission[1].Err = "forbidden" }, words.CannotTell, preflight.Unknown},
		"no controller":               {func(in *preflight.Input) { in.Controller = nil }, words.ControllerMissing, preflight.Failed},
		"controller down":             {func(in *preflight.Input) { in.Controller.Status.AvailableReplicas = 0 }, words.ControllerNotReady, preflight.Failed},
		"a namespace of nobody":       {func(in *preflight.Input) { in.Namespaces = []string{"other"} }, words.NamespaceNotManaged, preflight.Failed},
		"no leader":                   {func(in *preflight.Input) { in.Lease = nil }, words.LeaseMissing, preflight.Failed},
		"leader silent":               {func(in *preflight.Input) { in.Lease.Spec.RenewTime = &old }, words.LeaseOld, preflight.Failed},
		"another version":             {func(in *preflight.Input) { in.Installed = "v0.9.0" }, words.VersionsDiffer, preflight.Warning},
		"another agent":               {func(in *preflight.Input) { in.StatefulSets[0].Spec.Template.Spec.InitContainers[2].Image = "other" }, words.AgentImageDiffers, preflight.Warning},
		"no reporter":                 {without(api.ContainerReporter), words.GateMissing, preflight.Failed},
		"no query":                    {without(api.ContainerBootstrappedQuery), words.GateMissing, preflight.Failed},
		"no barrier":                  {without(api.ContainerBarrier), words.GateMissing, preflight.Failed},
		"no launcher":                 {func(in *preflight.Input) { scylla(in).Command = []string{"/docker-entrypoint.py"} }, words.GateMissing, preflight.Failed},
		"no readiness probe":          {func(in *preflight.Input) { scylla(in).ReadinessProbe = nil }, words.ReadinessMissing, preflight.Warning},
		"a liveness probe":            {func(in *preflight.Input) { scylla(in).LivenessProbe = &corev1.Probe{} }, words.LivenessKills, preflight.Warning},
		"seeds of its own":            {func(in *preflight.Input) { scylla(in).Args = []string{"--seeds=10.0.0.1,demo-0.demo.svc"} }, words.SeedsOfOwn, preflight.Warning},
		"rolled by hand": {func(in *preflight.Input) {
			in.StatefulSets[0].Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
		}, words.OnDelete, preflight.Warning},
		"no claims":                      {func(in *preflight.Input) { in.StatefulSets[0].Spec.VolumeClaimTemplates = nil }, words.NoClaim, preflight.Failed},
		"no budget":                      {func(in *preflight.Input) { in.PDBs = nil }, words.BudgetMissing, preflight.Warning},
		"budget of two":                  {func(in *preflight.Input) { in.PDBs[0].Spec.MaxUnavailable = &two }, words.BudgetTooWide, preflight.Warning},
		"budget holds what is not ready": {func(in *preflight.Input) { in.PDBs[0].Spec.UnhealthyPodEvictionPolicy = &ifBudget }, words.BudgetHoldsUnhealthy, preflight.Warning},
		"nodes of two versions": {func(in *preflight.Input) {
			p := in.Pods[0].DeepCopy()
			p.Annotations = map[string]string{api.AnnotationNodeStatusReport: `{"observedNodes":[],"scyllaVersion":"2026.3.0"}`}
			in.Pods = append(in.Pods, *p)
		}, words.ScyllaVersionsDiffer, preflight.Warning},
		"an unfinished candidate": {func(in *preflight.Input) {
			p := in.Pods[0].DeepCopy()
			p.Annotations = map[string]string{api.AnnotationNodeStatusReport: `{"observedNodes":[],"scyllaVersion":"2026.2.0-rc1"}`}
			in.Pods = append(in.Pods, *p)
		}, words.ScyllaVersionsDiffer, preflight.Warning},
		"no version":     {func(in *preflight.Input) { in.Pods[0].Spec.Containers[0].Image = "scylladb/scylla:latest" }, words.ScyllaVersionUnknown, preflight.Warning},
		"an old version": {func(in *preflight.Input) { in.Pods[0].Spec.Containers[0].Image = "scylladb/scylla:5.1.18" }, words.ScyllaVersionOld, preflight.Warning},
		"a tag pushed again": {func(in *preflight.Input) {
			p := in.Pods[0].DeepCopy()
			p.Status.ContainerStatuses[0].ImageID = "sha256:2"
			in.Pods = append(in.Pods, *p)
		}, words.ImagesDiffer, preflight.Warning},
		"no member Service":       {func(in *preflight.Input) { in.Services = in.Services[1:] }, words.ServiceMissing, preflight.Failed},
		"Service of another":      {func(in *preflight.Input) { in.Services[0].Spec.Selector = map[string]string{"a": "b"} }, words.ServiceSelectsOther, preflight.Failed},
		"a Pod without a barrier": {func(in *preflight.Input) { in.Pods[0].Spec.InitContainers[2].Name = "other" }, words.PodGateMissing, preflight.Failed},
		"a Pod without launcher":  {func(in *preflight.Input) { in.Pods[0].Spec.Containers[0].Command = nil }, words.PodGateMissing, preflight.Failed},
		"a name without address":  {func(in *preflight.Input) { in.Slices = in.Slices[1:] }, words.NameLeadsElsewhere, preflight.Failed},
		"a name of two": {func(in *preflight.Input) {
			in.Slices[0].Endpoints[0].Addresses = append(in.Slices[0].Endpoints[0].Addresses, "10.0.0.8")
		}, words.NameLeadsElsewhere, preflight.Failed},
		"a name that hides":        {func(in *preflight.Input) { in.Services[0].Spec.PublishNotReadyAddresses = false }, words.NameHidden, preflight.Warning},
		"no governing Service":     {func(in *preflight.Input) { in.Services = in.Services[:1] }, words.NoGoverningService, preflight.Warning},
		"names may not be read":    {func(in *preflight.Input) { in.SlicesErr = "forbidden" }, words.CannotTell, preflight.Unknown},
		"reporter does not answer": {func(in *preflight.Input) { in.Reach["demo/demo-0"] = "refused" }, words.ReporterDoesNotAnswer, preflight.Failed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := well()
			tt.plant(in)
			if diff := cmp.Diff([]words.Code{tt.want}, said(in)); diff != "" {
				t.Error(diff)
			}
			for _, r := range preflight.Check(in) {
				if r.State == preflight.OK {
					continue
				}
				if r.State != tt.state || words.Text(r.Text) == "" || r.Step.IsZero() && r.State != preflight.Unknown {
					t.Errorf("%+v", r)
				}
				if got := preflight.Worst(preflight.Check(in)); got != tt.state {
					t.Errorf("worst is %s", got)
				}
			}
		})
	}
	if len(tests) < 20 {
		t.Errorf("%d planted faults, want at least 20", len(tests))
	}
}

func TestNothingIsWrong(t *testing.T) {
	results := preflight.Check(well())
	if got := preflight.Worst(results); got != preflight.OK {
		t.Errorf("worst is %s: %v", got, said(well()))
	}
	if len(results) < 10 {
		t.Errorf("only %d results", len(results))
	}
}

// A node also reports its build, which its image does not name: both are one version.
func TestOneVersionByTwoWords(t *testing.T) {
	in := well()
	p := in.Pods[0].DeepCopy()
	p.Annotations = map[string]string{api.AnnotationNodeStatusReport: `{"observedNodes":[],"scyllaVersion":"2026.2.0-0.20260708.eb74b9ff6239"}`}
	in.Pods = append(in.Pods, *p)
	if diff := cmp.Diff([]words.Code(nil), said(in)); diff != "" {
		t.Error(diff)
	}
}

// Before an installation none of its objects is reported as missing.
func TestPre(t *testing.T) {
	in := &preflight.Input{Pre: true, KubernetesMinor: 36, SkewKnown: true, Now: now, Kinds: []preflight.Kind{{Name: own}}, StatefulSets: well().StatefulSets, PDBs: well().PDBs, Pods: well().Pods}
	without := in.StatefulSets[0].Spec.Template.Spec.DeepCopy()
	without.InitContainers = nil
	without.Containers[0].Command = nil
	in.StatefulSets[0].Spec.Template.Spec = *without
	if diff := cmp.Diff([]words.Code(nil), said(in)); diff != "" {
		t.Error(diff)
	}
}

// Below 2025.2.0 the disk cannot be queried: the person has to accept that before an injection.
func TestPreWithoutTheQuery(t *testing.T) {
	for name, tc := range map[string]struct {
		image, managedBy string
		accepted         bool
		want             []preflight.State
	}{
		"older":           {image: "scylladb/scylla:2025.1.4", want: []preflight.State{preflight.Failed}},
		"open source":     {image: "scylladb/scylla:6.2.3", want: []preflight.State{preflight.Failed}},
		"accepted":        {image: "scylladb/scylla:5.1.18", accepted: true, want: []preflight.State{preflight.Warning}},
		"the first of it": {image: "scylladb/scylla:2025.2.0"},
		"not known":       {image: "scylladb/scylla:latest"},
		"the operator's":  {image: "scylladb/scylla:6.2.3", managedBy: api.ManagedByOperator},
	} {
		in := &preflight.Input{Pre: true, AnyVersion: tc.accepted, KubernetesMinor: 36, SkewKnown: true, Now: now, Kinds: []preflight.Kind{{Name: own}}, StatefulSets: well().StatefulSets}
		s := &in.StatefulSets[0]
		delete(s.Labels, api.LabelCluster) // not ours yet
		if tc.managedBy != "" {
			s.Labels[api.LabelManagedBy] = tc.managedBy
		}
		s.Spec.Template.Spec.Containers[0].Image = tc.image
		var got []preflight.State
		for _, r := range preflight.Check(in) {
			if r.Text.Code == words.ScyllaVersionNoQuery {
				got = append(got, r.State)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Every admission policy that install applies is looked for, under the name that it has there; the canary is install's own.
func TestEveryPolicyIsLookedFor(t *testing.T) {
	objects, err := manifests.Objects(manifests.Options{Image: "x"})
	if err != nil {
		t.Fatal(err)
	}
	var applied, looked []string
	for _, o := range objects {
		if strings.HasPrefix(o.GetKind(), "ValidatingAdmissionPolicy") && o.GetName() != manifests.Canary {
			applied = append(applied, o.GetName())
		}
	}
	for _, p := range preflight.Policies {
		looked = append(looked, p.Name, p.Name)
	}
	slices.Sort(applied)
	slices.Sort(looked)
	if diff := cmp.Diff(applied, looked); diff != "" || len(looked) == 0 {
		t.Errorf("policies (-applied +looked for):\n%s", diff)
	}
}

// TestNoHarm12CheckShowsWhatIsForced: nothing but the status showed a force, and only as a word.
func TestNoHarm12CheckShowsWhatIsForced(t *testing.T) {
	t.Parallel()
	in := well()
	in.Services[0].Annotations = map[string]string{api.AnnotationForceProceed: "true"}
	in.StatefulSets[0].Annotations = map[string]string{api.AnnotationForceProceed: "true"}
	var got []string
	for _, r := range preflight.Check(in) {
		if r.Check == "force" {
			got = append(got, string(r.State)+" "+r.Subject+" "+words.Shell(r.Step.Commands[0]))
		}
	}
	want := []string{
		"warning statefulset demo/demo kubectl scylla force-proceed --cluster demo --undo -n demo",
		"warning service demo/demo-0 kubectl scylla force-proceed demo-0 --undo -n demo",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNoHarm19TheContainerMayHaveAnyName: a cluster without any barrier passed where ScyllaDB's container is not called scylla.
func TestNoHarm19TheContainerMayHaveAnyName(t *testing.T) {
	t.Parallel()
	in := well()
	for _, spec := range []*corev1.PodSpec{&in.StatefulSets[0].Spec.Template.Spec, &in.Pods[0].Spec} {
		spec.Containers[0].Name = "db"
	}
	if got := said(in); len(got) > 0 {
		t.Errorf("nothing is wrong with container db, and got %q", got)
	}
	bare := &in.StatefulSets[0].Spec.Template.Spec
	bare.InitContainers, bare.Containers[0].Command, bare.Containers[0].ReadinessProbe = nil, nil, nil
	want := []words.Code{words.GateMissing, words.GateMissing, words.GateMissing, words.GateMissing, words.ReadinessMissing}
	if diff := cmp.Diff(want, said(in)); diff != "" {
		t.Errorf("without any gate (-want +got):\n%s", diff)
	}
}

// Racks that fail together are a warning; one zone for a whole datacenter, or an unknown one, is none.
func TestRacks(t *testing.T) {
	for name, tc := range map[string]struct {
		pods, zones string // RACK@NODE and NODE=ZONE
		want        []words.Code
	}{
		"one rack for each node and zone":      {"a@1 b@2 c@3", "1=x 2=y 3=z", nil},
		"two racks on one Kubernetes node":     {"a@1 b@1 c@3", "1=x 3=z", []words.Code{words.RacksOnOneNode, words.RacksInOneZone}},
		"the same, the zones unknown":          {"a@1 b@1 c@3", "", []words.Code{words.RacksOnOneNode}},
		"two members of one rack on one":       {"a@1 a@1 b@2", "1=x 2=y", nil},
		"two racks in one zone":                {"a@1 b@2 c@3", "1=x 2=x 3=z", []words.Code{words.RacksInOneZone}},
		"all racks in one zone":                {"a@1 b@2 c@3", "1=x 2=x 3=x", nil},
		"a rack in two zones":                  {"a@1 a@2 b@3", "1=x 2=y 3=z", []words.Code{words.RackInZones}},
		"a zone of one node is unknown":        {"a@1 a@2 b@3", "1=x 3=z", nil},
		"a Pod without a Kubernetes node":      {"a@1 b@", "1=x", nil},
		"another datacenter on the same nodes": {"a@1 d2/b@1", "1=x", nil},
	} {
		t.Run(name, func(t *testing.T) {
			in := well()
			in.Zones = map[string]string{}
			for _, z := range strings.Fields(tc.zones) {
				node, zone, _ := strings.Cut(z, "=")
				in.Zones[node] = zone
			}
			for _, p := range strings.Fields(tc.pods) {
				place, node, _ := strings.Cut(p, "@")
				dc, rack, two := strings.Cut(place, "/")
				if !two {
					dc, rack = "d1", place
				}
				pod := in.Pods[0].DeepCopy()
				pod.Spec.NodeName = node
				pod.Labels[api.LabelDatacenter], pod.Labels[api.LabelRack] = dc, rack
				in.Pods = append(in.Pods, *pod)
			}
			if diff := cmp.Diff(tc.want, said(in)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
