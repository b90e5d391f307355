// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/scenario"
)

// muteFile on a volume makes the query of it tell nothing at all, as before 2025.2.
const muteFile = "/var/lib/scylla/mute"

// anArbiterAndSilentDisks makes the node of rack3 one without tokens, and has no disk say that it is COMPLETED, as where system.local was not flushed.
func anArbiterAndSilentDisks(s *appsv1.StatefulSet) {
	shortGrace(s)
	pod := &s.Spec.Template.Spec
	for i := range pod.InitContainers {
		if c := &pod.InitContainers[i]; c.Name == api.ContainerBootstrappedQuery {
			c.Command[2] += "; if [ -e " + muteFile + " ]; then : > " + api.FileBootstrappedQuery + "; echo 100 > " + api.FileBootstrappedQuery + ".code; fi; said=$(cat " + api.FileBootstrappedQuery + "); printf '%s' \"${said/COMPLETED/IN_PROGRESS}\" > " + api.FileBootstrappedQuery
		}
	}
	for i := range pod.Containers {
		if c := &pod.Containers[i]; c.Name == api.ContainerScyllaDB && s.Name == rack3 {
			c.Args = append(c.Args, "--join-ring=false")
		}
	}
}

// The joins that must not be let through, and the waits that must end, one after the other in one cluster.
func TestA2A3B1B2B3OneCluster(t *testing.T) {
	covers(t, "controller/members", "internal/agent/barrier", "internal/bootstrap", "internal/gate", "internal/matrix", "internal/agent/reporter")
	t.Parallel()
	pods(t, 4)
	f := stageCluster(t, scenario.Cluster{Namespace: "waits", Mutate: anArbiterAndSilentDisks})
	members := []string{rack1 + "-0", rack2 + "-0", rack3 + "-0"}
	f.part("A2 one member alone founds the cluster", func(f *fixture) {
		f.ready(3)
		f.sameCluster()
		founders := 0
		for _, m := range members {
			log, err := f.ContainerLog(f.ctx, f.namespace, m, api.ContainerScyllaDB)
			f.must(err)
			if strings.Contains(log, string(words.SeedsFirstNode)) {
				founders++
				if m != f.first() {
					f.t.Errorf("%s founded the cluster, and %s is its first member", m, f.first())
				}
				continue
			}
			barrier, err := f.ContainerLog(f.ctx, f.namespace, m, api.ContainerBarrier)
			f.must(err)
			contains(f.t, "the log of "+m+"'s barrier", barrier, f.first())
		}
		if founders != 1 {
			f.t.Errorf("%d members were the first node", founders)
		}
	})
	f.part("B1 a node without tokens has joined", func(f *fixture) {
		arbiter := rack3 + "-0"
		f.untilRow(arbiter, `"ownsTokens":false`)
		if a := f.service(arbiter).Annotations; a[api.AnnotationNodeJoined] != "true" {
			f.t.Errorf("annotations of %s: %v", arbiter, a)
		}
		f.healthy()
	})
	f.part("A3 a newcomer waits for a rollout", func(f *fixture) { f.rolloutHolds(rack1, rack2+"-1") })
	f.part("B2 a removed node is not waited for", func(f *fixture) { f.removedIsForgotten(rack2+"-1", rack1+"-0") })
	all := append(members, rack2+"-1")
	f.part("B3 the whole cluster starts cold", func(f *fixture) { f.startsCold(all) })
	f.part("B3 the whole cluster starts cold, and no disk tells whose it is", func(f *fixture) {
		for _, m := range all {
			_, err := f.Cluster.Kubectl(f.ctx, "-n", f.namespace, "exec", m, "-c", api.ContainerScyllaDB, "--", "/bin/sh", "-c", "echo > "+muteFile)
			f.must(err)
		}
		f.startsCold(all)
		for _, m := range all {
			log, err := f.ContainerLog(f.ctx, f.namespace, m, api.ContainerBarrier)
			f.must(err)
			contains(f.t, "the log of "+m+"'s barrier", log, `"hostID":""`) // the volume has no host ID
		}
	})
	f.part("C5 the nodes tell one group 0", func(f *fixture) {
		ids := map[string]bool{}
		f.waitFor("every row to tell it", func(ctx context.Context) (bool, string, error) {
			clear(ids)
			said := ""
			for _, m := range all {
				p := &corev1.Pod{}
				if err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: m}, p); err != nil {
					return false, "", err
				}
				row, err := api.DecodeNodeStatusReport(p.Annotations[api.AnnotationNodeStatusReport])
				if err != nil {
					return false, "", err
				}
				ids[row.Group0ID] = true
				said += m + " " + row.Group0ID + " "
			}
			return !ids[""], said, nil
		})
		if len(ids) != 1 {
			f.t.Errorf("IDs of group 0: %v", ids)
		}
	})
}

// startsCold takes all Pods away at once, and has every member come back as the node that it was.
func (f *fixture) startsCold(members []string) {
	f.t.Helper()
	ids := map[string]string{}
	for _, m := range members {
		ids[m] = f.hostID(m)
		f.must(f.Client.Delete(f.ctx, f.pod(m), client.GracePeriodSeconds(0)))
	}
	f.ready(len(members))
	f.healthy()
	for m, id := range ids {
		if now := f.hostID(m); now != id {
			f.t.Errorf("%s had host ID %s and has %s", m, id, now)
		}
	}
}

// rolloutHolds rolls a StatefulSet to where no Kubernetes node is, and has a newcomer of another one wait for it, until the rollout is taken back.
func (f *fixture) rolloutHolds(rolled, newcomer string) {
	f.t.Helper()
	roll := func(selector map[string]string) {
		s := &appsv1.StatefulSet{}
		key := client.ObjectKey{Namespace: f.namespace, Name: rolled}
		f.must(f.Client.Get(f.ctx, key, s))
		changed := s.DeepCopy()
		changed.Spec.Template.Spec.NodeSelector = selector
		f.must(f.Client.Patch(f.ctx, changed, client.MergeFrom(s)))
	}
	s := &appsv1.StatefulSet{}
	f.must(f.Client.Get(f.ctx, client.ObjectKey{Namespace: f.namespace, Name: rolled}, s))
	before, old := s.Spec.Template.Spec.NodeSelector, f.pod(rolled+"-0").UID
	roll(map[string]string{"nobody": "has-this-label"})
	f.waitFor("the rollout to take the Pod", func(ctx context.Context) (bool, string, error) {
		p := &corev1.Pod{}
		err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: rolled + "-0"}, p)
		return err == nil && p.UID != old, scenario.Describe(p), client.IgnoreNotFound(err)
	})
	f.must(f.Scale(f.ctx, f.namespace, strings.TrimSuffix(newcomer, "-1"), 2))
	f.untilBarrierRuns(newcomer)
	f.barrierSays(newcomer, string(words.RolloutInProgress))
	// The plugin reads Pods, too: the only one is of the newest revision, so what is left of the rollout is a Pod that is not ready.
	if r := f.plugin("barrier", newcomer, "-o", "json"); !strings.Contains(r.Stdout, `"`+string(words.PodsNotReady)+`"`) {
		f.t.Errorf("barrier does not name the Pod that is not ready: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	f.holdsFor(newcomer, 3*time.Second)
	roll(before)
	// A StatefulSet does not take back a Pod that was never ready. It may be gone already.
	never := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: rolled + "-0"}}
	f.must(client.IgnoreNotFound(f.Client.Delete(f.ctx, never)))
	f.ready(4)
	f.healthy()
}

// removedIsForgotten removes a member's node while its Service stays, and has the member join anew: its barrier does not wait for the node that was removed.
func (f *fixture) removedIsForgotten(member, by string) {
	f.t.Helper()
	old := f.hostID(member)
	f.freeze(member, by)
	for _, other := range []string{rack1 + "-0", rack2 + "-0", rack3 + "-0"} {
		f.untilRow(other, fmt.Sprintf(`"hostID":"%s","status":"DOWN"`, old)) // the topology coordinator refuses it before
	}
	f.nodetool(by, "removenode", old)
	f.waitFor("the node to be removed", func(ctx context.Context) (bool, string, error) {
		p := &corev1.Pod{}
		err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: by}, p)
		row := p.Annotations[api.AnnotationNodeStatusReport]
		return row != "" && !strings.Contains(row, old), row, err
	})
	if a := f.service(member).Annotations; a[api.AnnotationHostID] != old {
		f.t.Fatalf("annotations of %s: %v, want the removed host ID %s", member, a, old)
	}
	// Within ten minutes of its join, rows without a node may be from before it.
	joined := api.AnnotationJoinedAt + "=" + old + " " + time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	if out, err := f.Cluster.Kubectl(f.ctx, "-n", f.namespace, "annotate", "--overwrite", "service", member, joined); err != nil {
		f.t.Fatal(out, err)
	}
	f.must(f.Client.Delete(f.ctx, f.pvc(member)))
	f.must(f.Client.Delete(f.ctx, f.pod(member), client.GracePeriodSeconds(0)))
	f.waitFor(member+" to join anew", func(ctx context.Context) (bool, string, error) {
		s := &corev1.Service{}
		err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: member}, s)
		a := s.Annotations
		return a[api.AnnotationHostID] != old && a[api.AnnotationNodeJoined] == "true", a[api.AnnotationHostID] + " joined " + a[api.AnnotationNodeJoined], err
	})
	f.ready(4)
	f.healthy()
}
