// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/barrier"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// withBarrier is a member whose barrier, with these arguments, opened so long ago.
func withBarrier(objects []client.Object, ago time.Duration, args ...string) []client.Object {
	pod := objects[1].(*corev1.Pod)
	pod.UID = "uid-3"
	pod.Spec.InitContainers = append(withoutBarrier(objects)[1].(*corev1.Pod).Spec.InitContainers, corev1.Container{Name: api.ContainerBarrier, Args: args,
		Env: []corev1.EnvVar{{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{}}, {Name: "WAIT", Value: "7s"}}})
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerBarrier,
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(time.Now().Add(-ago))}}}}
	return objects
}

func withoutBarrier(objects []client.Object) []client.Object {
	pod := objects[1].(*corev1.Pod)
	pod.Spec.InitContainers = slices.DeleteFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == api.ContainerBarrier })
	return objects
}

// TestTheLauncherRepeatsTheJudgementOfItsBarrier: before each start of a node that is not known to be bootstrapped, with the flags of the barrier, and with nothing else.
func TestTheLauncherRepeatsTheJudgementOfItsBarrier(t *testing.T) {
	two := func() []client.Object { return append(member(1, "true", 1, 2), member(2, "true", 1, 2)...) }
	for name, tc := range map[string]struct {
		objects func() []client.Object
		query   string
		refuses error
		judges  bool
		want    func(barrier.Options) bool
	}{
		"a new node": {func() []client.Object {
			return withBarrier(member(3, ""), time.Hour, "barrier", "--policy=reports", "--lease-namespace=ours", "--stabilisation=$(WAIT)",
				"--service-name=$(POD_NAME)", "--scylla-data-dir=/data", "--later=x", "--when-controller-silent=Peers")
		}, unset, nil, true, func(o barrier.Options) bool {
			return o.Policy == api.PolicyReports && o.LeaseNamespace == "ours" && *o.Stabilisation == 7*time.Second && o.Service == "demo-r3-0" &&
				o.DataDir == "/data" && o.PodUID == "uid-3" && !o.Just && o.Listen != nil
		}},
		"right after the opening": {func() []client.Object { return withBarrier(member(3, ""), time.Second, "barrier") }, unset, nil, true,
			func(o barrier.Options) bool { return o.Just && o.Policy == "" && o.Stabilisation == nil }},
		"without an answer about the disk": {func() []client.Object { return withBarrier(member(3, ""), time.Hour) }, "", nil, true, nil},
		"refused":                          {func() []client.Object { return withBarrier(member(3, ""), time.Hour) }, unset, errors.New("banned"), true, nil},
		"a restart":                        {func() []client.Object { return withBarrier(member(3, "true"), time.Hour) }, completed, nil, false, nil},
		"a Pod without a barrier":          {func() []client.Object { return withoutBarrier(member(3, "")) }, unset, nil, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := clients(two(), tc.objects()).Build()
				judged, started := 0, ""
				o := options(c, "demo-r3-0", "sh")
				o.Environ = []string{"POD_NAME=demo-r3-0"}
				o.Exec = func(_ string, argv, _ []string) error { started = strings.Join(argv, " "); return nil }
				o.Judge = func(_ context.Context, o barrier.Options) error {
					if judged++; tc.want != nil && !tc.want(o) {
						t.Errorf("judges with %+v", o)
					}
					// meanwhile the first seed goes DOWN
					for _, o := range append(member(1, "true"), member(2, "true", -1, 2)...) {
						if err := c.Update(t.Context(), o); err != nil {
							t.Fatal(err)
						}
					}
					return tc.refuses
				}
				o.queried(t, tc.query)
				err := Run(t.Context(), o)
				if !errors.Is(err, tc.refuses) || (started == "") != (tc.refuses != nil) || (judged == 1) != tc.judges {
					t.Errorf("%v, started %q, judged %d times", err, started, judged)
				}
				if tc.judges && tc.refuses == nil && started != "sh --seeds=10.0.0.2" {
					t.Errorf("started %q, and the seeds have changed during the judgement", started)
				}
			})
		})
	}
}
