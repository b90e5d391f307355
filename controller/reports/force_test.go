// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

func (b *bench) overrides(name string) (string, bool) {
	b.t.Helper()
	svc := &corev1.Service{}
	b.get(name, svc)
	text, ok := svc.Annotations[api.AnnotationForceOverrides]
	if volume, bound := svc.Annotations[api.AnnotationForceVolume]; bound {
		text += " for " + volume
	}
	return text, ok
}

// A force set with kubectl annotate, or copied from above, overrides what there was when it was first seen. It overrode all that came later.
func TestAForceIsRecordedWhenFirstSeen(t *testing.T) {
	one, two := stage.UUID("h0"), stage.UUID("h1")
	row := func(id, other string, status api.NodeStatus) string {
		return *text(t, api.NodeStatusReport{HostID: hostid.ID(id), OperationMode: "NORMAL", ObservedNodes: append(sees(api.NodeStatusUp, id), sees(status, other)...)})
	}
	objects := func(more map[string]string) []client.Object {
		o := append(racks(row(one, two, api.NodeStatusDown), row(two, one, api.NodeStatusUp)), set("demo-r3", "dc1", "r3", 1))
		w := waiting("r3", 0, time.Hour)
		w[0].SetAnnotations(more)
		return append(o, w...)
	}
	forced := map[string]string{api.AnnotationForceProceed: "true"}
	want := `[{"reason":"NodeDown","object":"` + two + `"}] for uid-demo-r3-0`

	b := assembled(t, objects(forced)...)
	if got, _ := b.overrides("demo-r3-0"); got != want {
		t.Fatalf("recorded %q, want %q", got, want)
	}
	b.say("demo-r2-0", row(two, one, api.NodeStatusDown))
	b.reconcile()
	if got, _ := b.overrides("demo-r3-0"); got != want {
		t.Errorf("another node is DOWN, and the record became %q", got)
	}
	w, err := b.read(t.Context(), demo.NamespacedName, b.remember(demo.NamespacedName), b.clock.Now())
	b.must(err)
	v, err := bootstrap.VerdictOf(w.Cluster, "demo-r3-0")
	if err != nil || v.Decision != bootstrap.DecisionWait || v.Summary.Code != words.ForceDoesNotCover {
		t.Errorf("decided %s (%s), %v", v.Decision, words.Of("it", v.Summary), err)
	}

	for name, c := range map[string]struct {
		annotations map[string]string
		change      func([]client.Object)
		want        string
		recorded    bool
	}{
		"recorded by who forced": {map[string]string{api.AnnotationForceProceed: "true", api.AnnotationForceOverrides: "[]"}, nil, "[]", true},
		"an unreadable record":   {map[string]string{api.AnnotationForceProceed: "true", api.AnnotationForceOverrides: "x"}, nil, "x", true},
		"copied from above":      {map[string]string{api.AnnotationForceProceed: "true", api.AnnotationForceOverrides: "[]", api.AnnotationForcePropagatedFrom: "StatefulSet/demo-r3"}, nil, "[] for uid-demo-r3-0", true},
		"with a PVC": {forced, func(o []client.Object) {
			o[0] = pvc("demo-r3-0", "claim-1")
		}, strings.Replace(want, "uid-demo-r3-0", "claim-1", 1), true},
		"not forced":     {nil, nil, "", false},
		"no valid value": {map[string]string{api.AnnotationForceProceed: "yes"}, nil, "", false},
		"the Scylla Operator's": {forced, func(o []client.Object) {
			o[len(o)-2].SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "scylla.scylladb.com/v1alpha1", Kind: "ScyllaDBDatacenter", Name: "demo", UID: "x", Controller: new(true)}})
		}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			o := objects(c.annotations)
			if c.change != nil {
				c.change(o)
			}
			b := assembled(t, o...)
			got, recorded := b.overrides("demo-r3-0")
			if diff := cmp.Diff(c.want, got); diff != "" || recorded != c.recorded {
				t.Errorf("recorded %v (-want +got):\n%s", recorded, diff)
			}
		})
	}

	// A write that fails is tried again, and the reports are written all the same.
	b = newBench(t, objects(forced)...)
	b.fail = func(verb string, obj client.Object) error {
		if _, ok := obj.(*corev1.Service); ok && verb == "patch" {
			return errors.New("etcd is away")
		}
		return nil
	}
	if _, err := b.Reconcile(t.Context(), demo); err == nil {
		t.Error("no error")
	}
	b.wantReports(own)
	b.fail = nil
	b.clock.Step(maxBackOff)
	b.reconcile()
	if got, _ := b.overrides("demo-r3-0"); got != want {
		t.Errorf("recorded %q, want %q", got, want)
	}
}
