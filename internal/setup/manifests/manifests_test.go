// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// A budget for one replica could only block drains; without a controller there is nothing to protect.
func TestReplicasHaveABudget(t *testing.T) {
	for name, tc := range map[string]struct {
		o                 Options
		replicas          string // of the Deployment
		budgets, priority int
	}{
		"by default":       {Options{Image: "x"}, "1", 0, 1},
		"one":              {Options{Image: "x", Replicas: 1}, "1", 0, 1},
		"two":              {Options{Image: "x", Replicas: 2}, "2", 1, 1},
		"three":            {Options{Image: "x", Replicas: 3}, "3", 1, 1},
		"no controller":    {Options{}, "none", 0, 0},
		"no controller, 2": {Options{Replicas: 2}, "none", 0, 0},
	} {
		objects, err := Objects(tc.o)
		if err != nil {
			t.Fatal(err)
		}
		kinds := map[string]int{}
		replicas := "none"
		for _, u := range objects {
			kinds[u.GetKind()]++
			if u.GetKind() == "Deployment" {
				n, _, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "replicas")
				replicas = fmt.Sprint(n)
			}
		}
		if replicas != tc.replicas || kinds["PodDisruptionBudget"] != tc.budgets || kinds["PriorityClass"] != tc.priority {
			t.Errorf("%s: %s replicas, %v", name, replicas, kinds)
		}
	}
}

// The controller reads the limit of its control group and sets Go's from it, so who changes the limit changes nothing else.
func TestNoHarm31TheControllerHasRoomForAThousandNodes(t *testing.T) {
	objects, err := Objects(Options{Image: "x"})
	if err != nil {
		t.Fatal(err)
	}
	deployments := 0
	for _, u := range objects {
		if u.GetKind() != "Deployment" {
			continue
		}
		deployments++
		d := &appsv1.Deployment{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, d); err != nil {
			t.Fatal(err)
		}
		c := d.Spec.Template.Spec.Containers[0]
		if c.ImagePullPolicy != corev1.PullIfNotPresent {
			t.Errorf("imagePullPolicy %q: a restart of the controller needs the registry", c.ImagePullPolicy)
		}
		for _, e := range c.Env {
			if e.Name == "GOMEMLIMIT" {
				t.Errorf("GOMEMLIMIT is %s", e.Value)
			}
		}
		if got := c.Resources.Limits.Memory().Value(); got != 256<<20 {
			t.Errorf("the limit is %d MiB", got>>20)
		}
	}
	if deployments != 1 {
		t.Errorf("%d Deployments", deployments)
	}
}
