// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

const notMounted = `MountVolume.SetUp failed for volume "certs" : secret "demo-tls" not found`

// Kubernetes' own words lay in the file, and the note said that one object was skipped.
func TestSavedEventsOfBothAPIsAreRead(t *testing.T) {
	t.Parallel()
	const pod = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "demo-rack1-0", "namespace": "demo", "labels": {"scylla/cluster": "demo"}},
		"spec": {"containers": [{"name": "scylla", "image": "scylladb/scylla"}]}, "status": {"phase": "Pending"}}`
	for name, event := range map[string]string{
		"core/v1": `{"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "demo"}, "type": "Warning", "reason": "FailedMount",
			"involvedObject": {"kind": "Pod", "name": "demo-rack1-0"}, "message": "no room", "count": 3, "lastTimestamp": "2026-11-21T11:59:00Z"}`,
		"events.k8s.io/v1": `{"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e", "namespace": "demo"}, "type": "Warning", "reason": "FailedMount",
			"regarding": {"kind": "Pod", "name": "demo-rack1-0"}, "note": "no room", "eventTime": "2026-11-21T11:50:00.000000Z",
			"series": {"count": 3, "lastObservedTime": "2026-11-21T11:59:00.000000Z"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := kube.Read(strings.NewReader(pod + "\n" + event))
			if err != nil || len(got) != 1 || len(got[0].Events) != 1 {
				t.Fatalf("want one Event: %v, %+v", err, got)
			}
			e := &got[0].Events[0]
			say := []string{e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Message, cluster.EventTime(e).UTC().Format(time.RFC3339)}
			if diff := cmp.Diff([]string{"Pod", "demo-rack1-0", "FailedMount", "no room", "2026-11-21T11:59:00Z"}, say); diff != "" {
				t.Error(diff)
			}
			if strings.Contains(strings.Join(got[0].Notes, " "), "skipped") {
				t.Error("the Event must not be a note:", got[0].Notes)
			}
		})
	}
}

// Events are read once, as warnings of the namespace, and only while a member is not Ready; without the right they are a note.
func TestEventsAreReadWhileAMemberIsNotReady(t *testing.T) {
	t.Parallel()
	event := func(kind, name, typ, reason, message string, ago time.Duration) *corev1.Event {
		return &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name + reason + ago.String()}, Type: typ, Reason: reason,
			Message: message, InvolvedObject: corev1.ObjectReference{Kind: kind, Name: name, Namespace: "demo"},
			LastTimestamp: metav1.NewTime(plugintest.Now.Add(-ago))}
	}
	all := []client.Object{
		event("Pod", "demo-dc1-rack1-0", "Warning", "Unhealthy", "of a member that is Ready", time.Minute),
		event("Pod", "demo-dc1-rack3-0", "Normal", "Pulled", "no warning", time.Minute),
		event("Pod", "demo-dc1-rack3-0", "Warning", "FailedMount", notMounted, time.Minute),
		event("Pod", "demo-dc1-rack3-0", "Warning", "FailedMount", "older", 2*time.Minute),
		event("PersistentVolumeClaim", "data-demo-dc1-rack3-0", "Warning", "ProvisioningFailed", "no class", 3*time.Minute),
		event("StatefulSet", "demo-dc1-rack3", "Warning", "FailedCreate", "create Pod demo-dc1-rack3-0 in StatefulSet demo-dc1-rack3 failed", 4*time.Minute),
		event("Service", "demo-dc1-rack3-0", "Warning", "Other", "not read", time.Minute),
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "", errors.New("no"))
	for name, tc := range map[string]struct {
		cluster *plugintest.Cluster
		err     error
		lists   int
		want    []string
		note    string
	}{
		"all are Ready":  {cluster: plugintest.New(3, 1)},
		"one is not":     {cluster: plugintest.New(3, 1).Down("demo-dc1-rack3-0"), lists: 1, want: []string{"FailedMount " + notMounted, "ProvisioningFailed no class", "FailedCreate create Pod demo-dc1-rack3-0 in StatefulSet demo-dc1-rack3 failed"}},
		"without rights": {cluster: plugintest.New(3, 1).Down("demo-dc1-rack3-0"), err: forbidden, lists: 1, note: "Events of namespace demo not read: no permission to list them; request verb list on resource events"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lists := 0
			c := plugintest.NewClient(append(tc.cluster.Objects(), all...), interceptor.Funcs{
				List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
					if _, ok := list.(*corev1.EventList); ok {
						var o client.ListOptions
						o.ApplyOptions(opts)
						if lists++; o.FieldSelector.String() != "type=Warning" || o.Limit == 0 || o.Namespace != "demo" {
							t.Errorf("unbounded list of Events: %+v", o)
						}
						if tc.err != nil {
							return tc.err
						}
					}
					return c.List(ctx, list, opts...)
				},
			})
			opts := kube.Everything(cluster.SourceAuto, "")
			opts.Machines = &kube.Machines{}
			var o cluster.Objects
			for range 2 { // the second read is of the same moment
				var err error
				if o, err = kube.Load(t.Context(), c, cluster.Key{Namespace: "demo", Name: "demo"}, opts); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			for i := range o.Events {
				got = append(got, o.Events[i].Reason+" "+o.Events[i].Message)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if lists != tc.lists || strings.Join(o.Notes, "") != tc.note {
				t.Errorf("%d lists, want %d; notes %q, want %q", lists, tc.lists, o.Notes, tc.note)
			}
		})
	}
}
