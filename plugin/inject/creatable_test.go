// SPDX-License-Identifier: Apache-2.0

package inject_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// A Pod that the API server refuses is found before anything is changed, and again before each eviction: no node is stopped that could not come back.
func TestNoNodeIsStoppedWhosePodCannotBeCreated(t *testing.T) {
	forbidden := func(text string) error {
		return apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New(text))
	}
	full := forbidden("exceeded quota: compute, requested: requests.cpu=30m, used: requests.cpu=60m, limited: requests.cpu=70m")
	quota := func(resourceName corev1.ResourceName, hard, used string) *corev1.ResourceQuota {
		list := func(q string) corev1.ResourceList { return corev1.ResourceList{resourceName: resource.MustParse(q)} }
		return &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "inject", Name: "compute"}, Status: corev1.ResourceQuotaStatus{Hard: list(hard), Used: list(used)}}
	}
	for name, tc := range map[string]struct {
		refusal error // of every new Pod with a barrier
		from    int   // after this many evictions
		quota   *corev1.ResourceQuota
		qos     corev1.PodQOSClass // of the new Pods; the running ones are Guaranteed
		args    []string
		code    int
		says    string
	}{
		"a standard":              {refusal: forbidden("violates PodSecurity \"restricted:latest\""), code: 2, says: "Pod db-a-0 with the new template cannot be created"},
		"a policy, later":         {refusal: forbidden("ValidatingAdmissionPolicy 'x' denied request"), from: 1, code: 4, says: "Pod db-b-0 with the new template cannot be created"},
		"a webhook that fails":    {refusal: apierrors.NewInternalError(errors.New("failed calling webhook")), code: 2, says: "failed calling webhook"},
		"an invalid Pod":          {refusal: apierrors.NewBadRequest("no"), code: 2, says: "cannot be created"},
		"the server is not there": {refusal: errors.New("connection refused"), code: 1, says: "create Pod inject/db-a-0 as a dry run: connection refused"},
		"accepted by the person":  {refusal: forbidden("no"), args: []string{"--skip-check=create"}, code: 0, says: "is protected"},
		"a full quota":            {refusal: full, quota: quota(corev1.ResourceRequestsCPU, "65m", "60m"), code: 2, says: "it requires requests.cpu 10m more, and quota compute has 5m left"},
		"room for the difference": {refusal: full, quota: quota(corev1.ResourceRequestsCPU, "70m", "60m"), code: 0, says: "is protected"},
		"a quota of Pods":         {refusal: full, quota: quota(corev1.ResourcePods, "3", "3"), code: 0, says: "is protected"},
		"a quota of limits":       {refusal: full, quota: quota(corev1.ResourceLimitsMemory, "100Mi", "0"), code: 2, says: "limits.memory"},
		"another QoS class":       {qos: corev1.PodQOSBurstable, code: 2, says: "Pod db-a-0 would have QoS class Burstable instead of Guaranteed"},
		"the same QoS class":      {qos: corev1.PodQOSGuaranteed, code: 0, says: "is protected"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil)
			if tc.quota != nil {
				if err := s.c.Create(t.Context(), tc.quota); err != nil {
					t.Fatal(err)
				}
			}
			if tc.qos != "" {
				s.guaranteed()
			}
			evictions, tried := 0, 0
			s.evicted = func() { evictions++ }
			s.c = interceptor.NewClient(s.c, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
				pod, ok := obj.(*corev1.Pod)
				if !ok || len((&client.CreateOptions{}).ApplyOptions(opts).DryRun) == 0 || !cluster.HasBarrier(&pod.Spec) {
					return c.Create(ctx, obj, opts...)
				}
				tried++
				if pod.Name != "" || pod.GenerateName == "" || pod.Spec.Hostname == "" || !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil }) {
					t.Errorf("it is no Pod of a StatefulSet: %+v", pod)
				}
				if tc.refusal != nil && evictions >= tc.from {
					return tc.refusal
				}
				pod.Status.QOSClass = tc.qos
				return nil
			}})
			r := s.run(append([]string{agent, "--yes"}, tc.args...)...)
			if r.Code != tc.code || !strings.Contains(r.Stderr, tc.says) || tc.code != 0 && evictions != tc.from {
				t.Errorf("exit %d, want %d and %q; %d evictions, wrote %v\n%s", r.Code, tc.code, tc.says, evictions, s.writes, r.Stderr)
			}
			if tc.code != 0 && tc.from == 0 && len(s.writes) > 0 {
				t.Errorf("refused, and wrote %v", s.writes)
			}
			if tc.code == 0 && tc.args == nil && tried < 6 {
				t.Errorf("only %d dry runs, want one of each StatefulSet at first and one before each eviction", tried)
			}
		})
	}
}

// guaranteed makes the running Pods Guaranteed.
func (s *stage) guaranteed() {
	s.t.Helper()
	var pods corev1.PodList
	if err := s.c.List(s.t.Context(), &pods); err != nil {
		s.t.Fatal(err)
	}
	for i := range pods.Items {
		pods.Items[i].Status.QOSClass = corev1.PodQOSGuaranteed
		if err := s.c.Status().Update(s.t.Context(), &pods.Items[i]); err != nil {
			s.t.Fatal(err)
		}
	}
}
