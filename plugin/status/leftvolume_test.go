// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// TestNoHarmAVolumeWithoutAMember: a StatefulSet is scaled down while its claims stay. A host ID that is DOWN may be the node of such a claim: scaling back returns it with its data.
func TestNoHarmAVolumeWithoutAMember(t *testing.T) {
	const gone = "demo-dc1-rack4-1"
	nobody := func() *plugintest.Cluster { return plugintest.New(4, 2).DownSince(gone, time.Hour) }
	claim := func(name string, change func(*corev1.PersistentVolumeClaim)) []client.Object {
		pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, Labels: map[string]string{api.LabelCluster: "demo"}}}
		pvc.Status.Phase = corev1.ClaimBound
		if change != nil {
			change(pvc)
		}
		return []client.Object{pvc}
	}
	volume := func(namespace, claim string) []client.Object {
		return []client.Object{&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-7"}, Spec: corev1.PersistentVolumeSpec{
			ClaimRef: &corev1.ObjectReference{Namespace: namespace, Name: claim}, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
		}}}
	}
	scaled := func(objects []client.Object) []client.Object {
		for _, o := range objects {
			if s, ok := o.(*appsv1.StatefulSet); ok && s.Name == "demo-dc1-rack4" {
				*s.Spec.Replicas = 1
			}
		}
		return objects
	}
	const back = "If it was scaled down by mistake, scale it back to "
	for name, tc := range map[string]struct {
		more     []client.Object
		operator bool
		want     string
		removes  bool
	}{
		"no volume":                      {removes: true, want: "this cannot be undone: kubectl scylla nodetool demo-dc1-rack1-0 -n demo -- removenode "},
		"a claim of the next ordinal":    {more: claim("data-demo-dc1-rack4-2", nil), want: back + "3, and the node returns. Check the volume: kubectl describe pvc data-demo-dc1-rack4-2 -n demo"},
		"a claim of its own ordinal":     {more: claim("data-"+gone, nil), want: back + "2, and the node returns: kubectl scale statefulset demo-dc1-rack4 --replicas=2 -n demo"},
		"a claim without a label":        {more: claim("data-"+gone, func(p *corev1.PersistentVolumeClaim) { p.Labels = nil }), want: back + "2"},
		"a claim that is lost":           {more: claim("data-"+gone, func(p *corev1.PersistentVolumeClaim) { p.Status.Phase = corev1.ClaimLost }), removes: true},
		"a claim of another rack":        {more: claim("data-demo-dc1-rack2-7", nil), removes: true},
		"a claim of another StatefulSet": {more: claim("data-other-0", func(p *corev1.PersistentVolumeClaim) { p.Labels = nil }), removes: true},
		"a claim of a StatefulSet that is gone": {more: claim("data-demo-dc1-rack9-0", nil),
			want: "the volume of demo-dc1-rack9-0 still exists, and may have its data; check it: kubectl describe pvc data-demo-dc1-rack9-0 -n demo"},
		"a volume that was retained":           {more: volume("demo", "data-"+gone), want: "Check the volume: kubectl describe pv pv-7"},
		"a volume of another namespace":        {more: volume("other", "data-"+gone), removes: true},
		"a claim, under the Scylla Operator":   {more: claim("data-"+gone, nil), operator: true, want: "rack rack4 of the ScyllaCluster has 1 replica,"},
		"a volume, and a claim of this member": {more: append(claim("data-demo-dc1-rack1-0", nil), volume("demo", "data-demo-dc1-rack1-0")...), removes: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := nobody()
			if tc.operator {
				c = c.Operator()
			}
			objects := scaled(append(c.Leftover(gone), tc.more...))
			var all strings.Builder
			for _, args := range [][]string{{"status", "demo", "--all"}, {"status", "demo", "-o", "json"}, {"describe", c.Node(gone).HostID}, {"report", "demo", "-o", "wide"}, {"replace", "status"}} {
				all.WriteString(plugintest.Run{Args: append(args, "-n", "demo"), Objects: objects}.Transcript(t))
			}
			got := strings.Join(strings.Fields(strings.ReplaceAll(all.String(), "\\\n", "")), " ")
			if removes := strings.Contains(got, "removenode"); removes != tc.removes {
				t.Errorf("removenode named: %t, want %t\n%s", removes, tc.removes, all.String())
			}
			if !strings.Contains(got, tc.want) {
				t.Errorf("want %q in\n%s", tc.want, all.String())
			}
			if strings.Contains(got, "nodetool removenode") {
				t.Errorf("removenode without its guard in\n%s", all.String())
			}
		})
	}
	// The Service of the member is kept: replace refuses, and names no removal either.
	got := plugintest.Run{Args: []string{"replace", gone, "--dry-run", "-n", "demo"}, Objects: scaled(nobody().Objects())}.Do(t)
	if text := got.Stdout + got.Stderr; !strings.Contains(text, "scale it back to 2") || strings.Contains(text, "removenode instead") {
		t.Errorf("replace of a member that was scaled away:\n%s", text)
	}
}
