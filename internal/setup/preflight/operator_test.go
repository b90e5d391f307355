// SPDX-License-Identifier: Apache-2.0

package preflight_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/preflight"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// besides is the namespace of an operator's cluster in which every join is protected, without anything of ours.
func besides(change func(*cluster.Objects)) *preflight.Input {
	at := stage.Now
	renewed, seconds, holder := metav1.NewMicroTime(at.Add(-time.Second)), int32(60), "scylla-operator-1"
	o := cluster.Objects{
		Key: cluster.Key{Namespace: "demo", Name: "demo"},
		OperatorState: &cluster.OperatorState{
			Deployment: "scylla-operator/scylla-operator", Replicas: 2, Available: 2, ReplacesOrphans: new(false),
			Lease: &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "scylla-operator", Name: "scylla-operator-lock"},
				Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &renewed, LeaseDurationSeconds: &seconds}},
		},
		Read: cluster.KindServices | cluster.KindPods | cluster.KindStatefulSets | cluster.KindReports | cluster.KindStatusReport,
	}
	for _, obj := range stage.NewCluster("demo", "demo", "dc1", 3, 1).OperatorObjects("dc1", nil) {
		switch obj := obj.(type) {
		case *corev1.Service:
			o.Services = append(o.Services, *obj)
		case *corev1.Pod:
			obj.OwnerReferences = []metav1.OwnerReference{{Kind: "StatefulSet", Name: obj.Name[:strings.LastIndex(obj.Name, "-")], Controller: new(true)}}
			obj.Spec.NodeName = "on-" + obj.Name
			o.Pods = append(o.Pods, *obj)
		case *appsv1.StatefulSet:
			o.StatefulSets = append(o.StatefulSets, *obj)
		case *api.ScyllaDBDatacenterNodesStatusReport:
			o.Reports = append(o.Reports, *obj)
		}
	}
	change(&o)
	return &preflight.Input{
		Version: "v1.0.0", KubernetesMinor: 36, Now: at, SkewKnown: true,
		Services: o.Services, Pods: o.Pods, StatefulSets: o.StatefulSets,
		Operator: preflight.Operator{Clusters: []*cluster.Cluster{cluster.New(o, cluster.SourceAuto, at)}},
	}
}

// In the operator's namespaces the question is what the operator does: nothing of our installation guards a join there.
func TestOperatorsNamespace(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*cluster.Objects)
		after  func(*preflight.Input)
		want   []string
	}{
		"every join is protected": {},
		"gate off": {change: func(o *cluster.Objects) {
			for i := range o.StatefulSets {
				o.StatefulSets[i].Spec.Template.Spec.InitContainers = nil
				o.Pods[i].Spec.InitContainers = nil
			}
		}, want: slices.Repeat([]string{"failed OperatorGateMissing StepFeatureGate"}, 3)},
		"one Pod of an older template": {change: func(o *cluster.Objects) { o.Pods[1].Spec.InitContainers = nil }, want: []string{"failed PodGateMissing StepOperatorRolls"}},
		"scaled to 0": {change: func(o *cluster.Objects) {
			o.OperatorState.Replicas, o.OperatorState.Available = 0, 0
		}, want: []string{"failed ControllerSilent ScaleOperatorBack"}},
		"its report was deleted: its barriers open": {change: func(o *cluster.Objects) { o.Reports = nil }, want: []string{"failed ReportMissing SeeOperatorLog"}},
		"scaled to 0, and a request that it would carry out": {change: func(o *cluster.Objects) {
			o.OperatorState.Replicas, o.OperatorState.Available = 0, 0
			o.Services[0].Labels[api.LabelReplace] = ""
		}, want: []string{"failed ControllerSilent CancelBeforeStart"}},
		"its Lease is old": {change: func(o *cluster.Objects) {
			o.OperatorState.Lease.Spec.RenewTime = &metav1.MicroTime{Time: stage.Now.Add(-time.Hour)}
		}, want: []string{"failed ControllerSilent StartOperator"}},
		"not readable": {change: func(o *cluster.Objects) {
			o.OperatorState = &cluster.OperatorState{ReplacesOrphans: new(false)}
		}, want: []string{"unknown OperatorNotSeen StepAskRights"}},
		"degraded": {change: func(o *cluster.Objects) {
			o.OperatorState.Conditions = []metav1.Condition{{Type: "StatefulSetControllerDegraded", Status: metav1.ConditionTrue, Reason: "Error"}}
		}, want: []string{"failed OperatorDegraded ReadDegraded"}},
		"replaces orphans by itself": {change: func(o *cluster.Objects) { o.OperatorState.ReplacesOrphans = new(true) }, want: []string{"warning OperatorReplacesOrphans StepKeepOrphans"}},
		"a report of a remote of ours": {change: func(o *cluster.Objects) {
			r := o.Reports[0].DeepCopy()
			r.Name, r.DatacenterName, r.OwnerReferences = "demo-external", "dc2", nil
			r.Labels = map[string]string{api.LabelManagedBy: api.ManagedByUs, api.LabelReportSelector: "demo", api.LabelRemoteReport: "dc2"}
			r.Annotations = map[string]string{api.AnnotationCopy: api.CopyPushed}
			o.Reports = append(o.Reports, *r)
		}, want: []string{"warning RemoteReport StepRemoveRemote"}},
		"an account of a remote of ours":         {after: func(in *preflight.Input) { in.Operator.Remotes = []string{"demo/kubectl-scylla-remote-eu-1"} }, want: []string{"warning RemoteAccount StepRemoveRemote"}},
		"forced":                                 {change: func(o *cluster.Objects) { o.Services[0].Annotations[api.AnnotationForceProceed] = "true" }, want: []string{"warning ForcedNext StepUndoForce"}},
		"no Service, which the operator creates": {after: func(in *preflight.Input) { in.Services = in.Services[1:] }},
		"an agent of ours in its Pods":           {after: func(in *preflight.Input) { in.Operator.Member = true }, want: []string{"failed ControllerMissing StepInstall"}},
		"a StatefulSet of ours beside it": {after: func(in *preflight.Input) {
			in.StatefulSets = append(in.StatefulSets, well().StatefulSets...)
			in.PDBErr = "not read"
		}, want: []string{"failed ControllerMissing StepInstall", "unknown CannotTell ", "warning NoGoverningService StepGoverning"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.change == nil {
				tc.change = func(*cluster.Objects) {}
			}
			in := besides(tc.change)
			if tc.after != nil {
				tc.after(in)
			}
			var got []string
			for _, r := range preflight.Check(in) {
				if r.State != preflight.OK {
					got = append(got, fmt.Sprintf("%s %s %s", r.State, r.Text.Code, r.Step.Code))
				}
				if text := words.Text(r.Text) + words.Text(r.Step); strings.Contains(text, "kubectl scylla inject") || strings.Contains(text, "managed-by=kubectl-scylla") {
					t.Errorf("a step for StatefulSets of ours: %s", text)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
