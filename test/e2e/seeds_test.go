// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/scenario"
)

// first is the member that founded the cluster: the oldest Service, by name among those of one second.
func (f *fixture) first() string {
	f.t.Helper()
	var list corev1.ServiceList
	f.must(f.Client.List(f.ctx, &list, client.InNamespace(f.namespace), client.MatchingLabels{api.LabelServiceType: api.ServiceTypeMember}))
	var members []*cluster.Member
	for i := range list.Items {
		members = append(members, &cluster.Member{Ref: matrix.Ref{Member: list.Items[i].Name}, Service: &list.Items[i]})
	}
	m := bootstrap.First(members, "")
	if m == nil {
		f.t.Fatal("no member Services")
	}
	return m.Name()
}

// others are the members of the cluster of three but this one.
func others(member string) []string {
	return slices.DeleteFunc([]string{rack1 + "-0", rack2 + "-0", rack3 + "-0"}, func(m string) bool { return m == member })
}

// sameCluster waits until every member of the cluster of three has all three host IDs in its row, UP. Members of a second cluster would have
// themselves alone.
func (f *fixture) sameCluster() {
	f.t.Helper()
	f.untilAllUp("demo", 3)
	f.healthy()
	for _, member := range []string{rack1 + "-0", rack2 + "-0", rack3 + "-0"} {
		for _, seen := range []string{rack1 + "-0", rack2 + "-0", rack3 + "-0"} {
			f.untilRow(member, victimUp(f, seen))
		}
	}
}

// The first member of all is decommissioned, and its volume is deleted as its barrier says: with itself as seed it would found a second cluster. Who says it once
// more hits no other volume.
func TestA1FirstMemberJoinsItsClusterAnew(t *testing.T) {
	covers(t, "controller/members", "internal/bootstrap", "internal/gate", "internal/agent/launch")
	t.Parallel()
	pods(t, 3)
	f := deploy(t, scenario.Cluster{Mutate: shortGrace})
	f.sameCluster()
	first := f.first()
	old := f.hostID(first)
	f.nodetool(first, "decommission")
	// Without this record a host ID of a minute ago counts as a member for ten minutes more.
	f.waitFor("the decommission to be recorded", func(context.Context) (bool, string, error) {
		joined := f.service(first).Annotations[api.AnnotationNodeJoined]
		return joined == "false", "joined " + joined, nil
	})
	f.must(f.Client.Delete(f.ctx, f.pod(first)))
	patch := `--patch={"metadata":{"uid":"` + string(f.pvc(first).UID) + `"}}`
	same := []string{"patch", "pvc", "data-" + first, "-n", f.namespace, patch}
	cure := []string{"kubectl delete pvc data-" + first + " -n " + f.namespace, "kubectl delete pod " + first + " -n " + f.namespace}
	f.waitFor("the barrier to refuse the old volume and to say what to do", func(ctx context.Context) (bool, string, error) {
		p := &corev1.Pod{}
		if err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: first}, p); err != nil {
			return false, "", client.IgnoreNotFound(err)
		}
		said := ""
		if s := initStatus(p, api.ContainerBarrier); s != nil {
			for _, end := range []*corev1.ContainerStateTerminated{s.State.Terminated, s.LastTerminationState.Terminated} {
				if end != nil {
					said += end.Message
				}
			}
		}
		return strings.Contains(said, "'"+patch+"' && "+cure[0]) && strings.Contains(said, cure[1]), said, nil
	})
	if out, err := f.Cluster.Kubectl(f.ctx, same...); err != nil {
		t.Fatal(out, err)
	}
	for _, line := range cure {
		args := append(strings.Fields(line)[1:], "--wait=false")
		if out, err := f.Cluster.Kubectl(f.ctx, args...); err != nil {
			t.Fatal(line, out, err)
		}
	}
	f.waitFor(first+" to join anew", func(ctx context.Context) (bool, string, error) {
		s := &corev1.Service{}
		err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: first}, s)
		a := s.Annotations
		return a[api.AnnotationHostID] != old && a[api.AnnotationNodeJoined] == "true", a[api.AnnotationHostID] + " joined " + a[api.AnnotationNodeJoined], err
	})
	f.sameCluster()
	f.seededByOthers(first)
	if out, err := f.Cluster.Kubectl(f.ctx, same...); err == nil || !strings.Contains(out+err.Error(), "immutable") {
		t.Errorf("the volume of the new node passes for the old one: %v %s", err, out)
	}
}

// seededByOthers checks the launcher's choice in a member's log.
func (f *fixture) seededByOthers(member string) {
	f.t.Helper()
	log, err := f.ContainerLog(f.ctx, f.namespace, member, api.ContainerScyllaDB)
	f.must(err)
	var chosen string
	for line := range strings.Lines(log) {
		if strings.Contains(line, string(words.SeedsFound)) {
			chosen = line
		}
	}
	if own := f.pod(member).Status.PodIP; chosen == "" || strings.Contains(chosen, own+" ") || strings.Contains(chosen, own+"]") || strings.Contains(chosen, `"`+own+`"`) {
		f.t.Errorf("seeds of %s (%s): %q\n%s", member, own, chosen, tail(log, 20))
	}
}

// The first member of all loses its disk and is replaced; the volume is deleted by the replacement.
func TestA1FirstMemberIsReplaced(t *testing.T) {
	covers(t, "controller/replacement", "internal/bootstrap", "internal/agent/launch")
	t.Parallel()
	pods(t, 3)
	f := deploy(t, scenario.Cluster{Mutate: shortGrace})
	f.sameCluster()
	first := f.first()
	old, claim := f.hostID(first), f.claim(first)
	f.kill(first, others(first)[0])
	for _, o := range others(first) {
		f.untilRow(o, `"hostID":"`+old+`","status":"DOWN"`)
	}
	if r := f.replace(first, "--yes", "--timeout=10m", atOnce); r.Code != 0 {
		t.Fatalf("replace: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	f.replaced(first, old, claim)
	f.sameCluster()
	f.seededByOthers(first)
}

// Deleted with everything that they own and applied again, the StatefulSets find the cluster that there was; a member that lost its volume meanwhile
// founds no other.
func TestA7StatefulSetsAreDeletedAndAppliedAgain(t *testing.T) {
	covers(t, "controller/members", "controller/reports", "internal/agent/barrier", "internal/bootstrap")
	t.Parallel()
	pods(t, 3)
	f := deploy(t, scenario.Cluster{Mutate: shortGrace})
	f.sameCluster()
	first := f.first()
	ids := map[string]string{}
	for _, m := range append(others(first), first) {
		ids[m] = f.hostID(m)
	}
	if out, err := f.Cluster.Kubectl(f.ctx, "-n", f.namespace, "delete", "statefulset", rack1, rack2, rack3); err != nil {
		t.Fatal(out, err)
	}
	f.waitFor("all Pods to be gone", func(ctx context.Context) (bool, string, error) {
		pods, err := f.Pods(ctx, f.namespace)
		return len(pods) == 0, fmt.Sprint(len(pods)), err
	})
	for m, id := range ids {
		if a := f.service(m).Annotations; a[api.AnnotationHostID] != id || a[api.AnnotationNodeJoined] != "true" {
			t.Fatalf("annotations of %s: %v, want host ID %s", m, a, id)
		}
	}
	lost := f.pvc(first)
	f.must(f.Client.Delete(f.ctx, lost))
	// A Pod that finds its claim still Terminating waits until something else wakes the StatefulSet's controller.
	f.waitFor("the claim to be gone", func(ctx context.Context) (bool, string, error) {
		err := f.Client.Get(ctx, client.ObjectKeyFromObject(lost), &corev1.PersistentVolumeClaim{})
		return apierrors.IsNotFound(err), "", client.IgnoreNotFound(err)
	})
	f.must(f.Deploy(f.ctx, scenario.Cluster{Namespace: f.namespace, Mutate: shortGrace}))
	for _, m := range others(first) {
		f.untilExists(m)
		f.untilReady(m)
	}
	f.untilExists(first)
	f.untilBarrierRuns(first)
	f.waitFor("the barrier to point at a later replacement", func(ctx context.Context) (bool, string, error) {
		log, err := f.ContainerLog(ctx, f.namespace, first, api.ContainerBarrier)
		return strings.Contains(log, "do not replace it yet"), tail(log, 3), err
	})
	f.holdsFor(first, 3*time.Second)

	claim := f.claim(first)
	if r := f.replace(first, "--yes", "--timeout=10m", atOnce); r.Code != 0 {
		t.Fatalf("replace: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	f.replaced(first, ids[first], claim)
	f.sameCluster()
	for _, m := range others(first) {
		if id := f.hostID(m); id != ids[m] {
			t.Errorf("%s had host ID %s and has %s", m, ids[m], id)
		}
	}
}

func (f *fixture) untilExists(member string) {
	f.t.Helper()
	f.waitFor("Pod "+member, func(ctx context.Context) (bool, string, error) {
		err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: member}, &corev1.Pod{})
		return err == nil, "", client.IgnoreNotFound(err)
	})
}
