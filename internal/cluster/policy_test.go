// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// What a member's barrier goes by as its Pod tells from outside: its flag, the last one where there are several; without one permits, and the reports alone where the Scylla
// Operator manages its Service.
func TestWhatABarrierGoesBy(t *testing.T) {
	byOperator := func(s *corev1.Service) { s.Labels[api.LabelManagedBy] = api.ManagedByOperator }
	named := func(report string) func(*corev1.Service) {
		return func(s *corev1.Service) {
			metav1.SetMetaDataAnnotation(&s.ObjectMeta, api.AnnotationStatusReportOverrideRef, report)
		}
	}
	for name, tc := range map[string]struct {
		args   []string
		change func(*corev1.Service)
		report string // name of the cluster report; empty for none
		past   bool   // its Pod has been let through
		other  string // report that another member's Service names
		note   bool   // the verdict names the report that an override names
		cause  words.Code
	}{
		"nothing said":                         {args: []string{"barrier"}, cause: words.NoViewYet},
		"a report without a view":              {args: []string{"barrier"}, report: "demo", cause: words.NoViewYet},
		"an override's report":                 {args: []string{"barrier"}, report: "everywhere", cause: words.ViewOfAnOverride},
		"an override by its own Service":       {args: []string{"barrier"}, report: "everywhere", change: named("everywhere"), note: true},
		"an override, and permits are said":    {args: []string{"barrier", "--policy=permits"}, report: "everywhere", change: named("everywhere"), cause: words.ViewOfAnOverride},
		"an override by another Service":       {args: []string{"barrier"}, report: "everywhere", other: "everywhere", cause: words.ViewOfAnOverride},
		"two overrides":                        {args: []string{"barrier"}, report: "all", other: "all", change: named("everywhere"), cause: words.ViewOfAnOverride},
		"its own report by an override":        {args: []string{"barrier"}, report: "demo", change: named("demo"), cause: words.NoViewYet},
		"permits":                              {args: []string{"barrier", "--policy=permits"}, cause: words.NoViewYet},
		"reports":                              {args: []string{"barrier", "--policy=reports"}},
		"reports, in two words":                {args: []string{"barrier", "--policy", "reports"}},
		"the last one counts":                  {args: []string{"--policy=reports", "--policy=permits"}, cause: words.NoViewYet},
		"the operator's, nothing said":         {args: []string{"barrier"}, change: byOperator},
		"the operator's, and permits are said": {args: []string{"--policy=permits"}, change: byOperator, cause: words.NoViewYet},
		"past its barrier":                     {args: []string{"barrier"}, past: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := stage.New(3, 1)
			newcomer := s.Newcomer(3, 1)
			gate := s.Pods[newcomer].Spec.InitContainers
			gate[slices.IndexFunc(gate, func(c corev1.Container) bool { return c.Name == api.ContainerBarrier })].Args = tc.args
			if tc.past {
				s.Pods[newcomer].Status.InitContainerStatuses = s.Pods["demo-rack1-0"].Status.InitContainerStatuses
			}
			if tc.change != nil {
				tc.change(s.Services[newcomer])
			}
			if tc.other != "" {
				named(tc.other)(s.Services["demo-rack1-0"])
			}
			var o Objects
			for _, obj := range s.Objects() {
				switch obj := obj.(type) {
				case *corev1.Service:
					o.Services = append(o.Services, *obj)
				case *corev1.Pod:
					o.Pods = append(o.Pods, *obj)
				}
			}
			o.Key = Key{Namespace: stage.Namespace, Name: stage.Name}
			if tc.report != "" {
				o.StatusReport = &api.ScyllaDBStatusReport{}
				o.StatusReport.Name = tc.report
			}
			v, err := bootstrap.VerdictOf(New(o, SourceAnnotation, stage.Start), newcomer)
			if err != nil {
				t.Fatal(err)
			}
			if note := slices.ContainsFunc(v.Notes, func(m words.Message) bool { return m.Code == words.JudgedByOverride && m.Params["report"] == tc.report }); note != tc.note {
				t.Errorf("notes %+v", v.Notes)
			}
			at := slices.IndexFunc(v.Blockers, func(b matrix.Blocker) bool { return b.Reason == words.PermitPending })
			switch {
			case tc.cause == "" && !v.Satisfied:
				t.Errorf("blocked by %+v", v.Blockers)
			case tc.cause != "" && at < 0:
				t.Errorf("satisfied %v, blockers %+v", v.Satisfied, v.Blockers)
			case tc.cause != "" && v.Blockers[at].Cause.Code != tc.cause:
				t.Errorf("cause %v", v.Blockers[at].Cause)
			}
		})
	}
}
