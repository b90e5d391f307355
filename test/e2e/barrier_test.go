// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/scenario"
)

// The promise of the whole project: a join is held while a node is down, says why with names, and is released after the node's return. That is the third
// rehearsal, held for longer here; in the end a join is forced.
func TestJoinIsHeldWhileANodeIsDown(t *testing.T) {
	covers(t, "controller/reports", "internal/agent/barrier", "internal/bootstrap", "internal/gate", "internal/cluster", "internal/matrix",
		"internal/agent/reporter", "internal/agent/disk", "plugin/barrier", "plugin/forceproceed", "plugin/status")
	t.Parallel()
	pods(t, 5)
	d := &drill{fixture: &fixture{t: t}}
	d.whileHeld = func() {
		d.saysWhoHolds()
		d.restartsAtOnce(deadToo)
		d.wrongForce()
	}
	theThird().perform(d)
	d.forced(rack2 + "-2")
}

// saysWhoHolds checks what each verb, the log and the Events say while newcomer waits for dead.
func (f *fixture) saysWhoHolds() {
	f.t.Helper()
	t := f.t
	r := f.plugin("barrier", newcomer)
	if r.Code != 3 {
		t.Errorf("barrier of a waiting member: exit %d, want 3", r.Code)
	}
	contains(t, "barrier", r.Stdout, newcomer, dead, "DOWN")
	j := f.plugin("barrier", newcomer, "-o", "json")
	var doc map[string]any
	if err := json.Unmarshal([]byte(j.Stdout), &doc); err != nil {
		t.Errorf("barrier -o json is not JSON: %v\n%s", err, j.Stdout)
	}
	contains(t, "barrier -o json", j.Stdout, `"NodeDown"`, dead)
	if s := f.plugin("status"); s.Code != 3 {
		t.Errorf("status with a node down: exit %d, want 3\n%s", s.Code, s.Stdout)
	} else {
		contains(t, "status", s.Stdout, dead, newcomer)
	}
	if w := f.plugin("barrier", newcomer, "--wait", "--timeout=2s"); w.Code != 4 {
		t.Errorf("barrier --wait past its timeout: exit %d, want 4\n%s", w.Code, w.Stderr)
	}
	log, err := f.ContainerLog(f.ctx, f.namespace, newcomer, api.ContainerBarrier)
	f.must(err)
	contains(t, "the barrier's log", log, dead, "DOWN")
	f.untilEvent(newcomer, dead)
}

// restartsAtOnce restarts a member while another node is down: a node that has bootstrapped is never held, whatever the others see.
func (f *fixture) restartsAtOnce(member string) {
	f.t.Helper()
	before := f.pod(member).UID
	f.must(f.Client.Delete(f.ctx, f.pod(member)))
	f.waitFor(member+" to be ready again while another node is down", func(ctx context.Context) (bool, string, error) {
		p := &corev1.Pod{}
		err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: member}, p)
		return err == nil && p.UID != before && scenario.Ready(p), scenario.Describe(p), err
	})
	log, err := f.ContainerLog(f.ctx, f.namespace, member, api.ContainerBarrier)
	f.must(err)
	contains(f.t, "the barrier's log", log, "ootstrapped")
}

// wrongForce: a value other than "true" blocks in plain sight, and heals.
func (f *fixture) wrongForce() {
	f.t.Helper()
	annotate := func(value string) {
		if out, err := f.Cluster.Kubectl(f.ctx, "-n", f.namespace, "annotate", "service", newcomer, api.AnnotationForceProceed+value); err != nil {
			f.t.Fatal(out, err)
		}
	}
	annotate("=yes")
	f.barrierSays(newcomer, string(words.ForceValueInvalid))
	if r := f.plugin("barrier", newcomer); r.Code != 3 || !strings.Contains(r.Stdout, `"yes"`) {
		f.t.Errorf("barrier with a wrong value: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	f.holdsFor(newcomer, 2*time.Second)
	annotate("-")
}

// forced has another newcomer wait for dead, and forces it: exactly "true" opens, records the person and the reason, and can be taken back. ScyllaDB then cancels
// the join, which is why a barrier is there.
func (f *fixture) forced(member string) {
	f.t.Helper()
	t := f.t
	f.freeze(dead, rack1+"-0")
	f.must(f.Scale(f.ctx, f.namespace, rack2, 3))
	f.untilBarrierRuns(member)
	if r := f.plugin("force-proceed", member); r.Code != 2 {
		t.Errorf("force-proceed without a terminal and without --yes: exit %d, want 2\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	r := f.plugin("force-bootstrap", member, "--yes", "--reason=rack3 is being repaired")
	if r.Code != 0 {
		t.Fatalf("force-bootstrap: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	contains(t, "force-bootstrap", r.Stdout+r.Stderr, dead)
	f.waitFor(member+" to leave its barrier", f.left(member))
	f.untilEvent(member, "rack3 is being repaired")
	if r := f.plugin("force-proceed", member, "--undo", "--yes"); r.Code != 0 {
		t.Errorf("force-proceed --undo: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	if v, ok := f.service(member).Annotations[api.AnnotationForceProceed]; ok {
		t.Errorf("after --undo the Service still has %s=%s", api.AnnotationForceProceed, v)
	}
}

// The same sequence without the barrier does the harm that the barrier is for; otherwise the test above could not fail.
func TestUnguardedClusterIsHarmed(t *testing.T) {
	covers(t, "internal/agent/launch")
	t.Parallel()
	pods(t, 4)
	f := deploy(t, scenario.Cluster{Unguarded: true})
	victim, newcomer := rack3+"-0", rack2+"-1"
	f.freeze(victim, rack1+"-0")
	f.must(f.Scale(f.ctx, f.namespace, rack2, 2))
	banned := f.banned(newcomer)
	f.waitFor("the join to be cancelled and the host ID banned", banned)
	f.thaw(victim)
	f.untilRow(rack1+"-0", victimUp(f, victim))
	// The node is back, and the volume is lost all the same.
	f.must(f.Client.Delete(f.ctx, f.pod(newcomer)))
	f.waitFor("the newcomer to be refused on its old volume", func(ctx context.Context) (bool, string, error) {
		p := &corev1.Pod{}
		if err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: newcomer}, p); err != nil {
			return false, "", err
		}
		if p.DeletionTimestamp != nil {
			return false, "the old Pod is still going", nil
		}
		return banned(ctx)
	})
	if scenario.Ready(f.pod(newcomer)) {
		t.Error("the newcomer is ready: the simulated ScyllaDB has let a banned host ID in")
	}
}

// banned is true when ScyllaDB has said that the member's host ID is.
func (f *fixture) banned(member string) func(context.Context) (bool, string, error) {
	return func(ctx context.Context) (bool, string, error) {
		log, err := f.ContainerLog(ctx, f.namespace, member, api.ContainerScyllaDB)
		return strings.Contains(log, "has already been removed from the cluster") || strings.Contains(log, "being banned"), tail(log, 3), err
	}
}

// victimUp is how a row says that a member is UP.
func victimUp(f *fixture, member string) string {
	return fmt.Sprintf(`"hostID":"%s","status":"UP"`, f.service(member).Annotations[api.AnnotationHostID])
}

// system.local is not flushed when a node joins: after a crash the disk says "not bootstrapped" of a node that its peers know as a member. Where
// neither its Service nor a row of its own says that it joined, that is no restart: a person decides, and ScyllaDB's commit log has the rest.
func TestUnflushedNodeRestarts(t *testing.T) {
	covers(t, "internal/bootstrap", "internal/agent/reporter", "internal/agent/reporter/publish", "internal/agent/disk", "plugin/forceproceed")
	t.Parallel()
	pods(t, 4)
	f := stageCluster(t, scenario.Cluster{Env: map[string]string{"SCYLLASIM_STREAM_SECONDS": "20"}})
	f.ready(3)
	newcomer := rack2 + "-1"
	f.must(f.Scale(f.ctx, f.namespace, rack2, 2))
	// The reporter asks for the flush once the node is NORMAL; frozen before that, it never does.
	f.waitFor(newcomer+" to have a recorded host ID", func(ctx context.Context) (bool, string, error) {
		s := &corev1.Service{}
		err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: newcomer}, s)
		return s.Annotations[api.AnnotationHostID] != "", fmt.Sprint(s.Annotations), err
	})
	f.must(f.Cluster.PauseContainer(f.ctx, f.namespace, newcomer, api.ContainerReporter))
	id := f.service(newcomer).Annotations[api.AnnotationHostID]
	f.untilRow(rack1+"-0", fmt.Sprintf(`"hostID":"%s","status":"UP"}`, id)) // a plain member: no state left
	// Frozen, and then killed with its Pod: a killed process alone would be started again in its container within a second, and a start
	// flushes what the commit log has.
	f.must(f.Cluster.PauseContainer(f.ctx, f.namespace, newcomer, api.ContainerScyllaDB))
	f.must(f.Cluster.ResumeContainer(f.ctx, f.namespace, newcomer, api.ContainerReporter))
	before := f.pod(newcomer).UID
	zero := int64(0)
	f.must(f.Client.Delete(f.ctx, f.pod(newcomer), &client.DeleteOptions{GracePeriodSeconds: &zero}))
	f.waitFor(newcomer+" to be made anew", func(ctx context.Context) (bool, string, error) {
		p := &corev1.Pod{}
		err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: newcomer}, p)
		return err == nil && p.UID != before, scenario.Describe(p), client.IgnoreNotFound(err)
	})
	f.untilBarrierRuns(newcomer)
	f.holdsFor(newcomer, 2*time.Second)
	if r := f.plugin("force-proceed", newcomer, "--yes", "--reason=its commit log has what was not flushed"); r.Code != 0 {
		t.Fatalf("force-proceed: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	f.waitFor(newcomer+" to be ready", func(ctx context.Context) (bool, string, error) {
		p := &corev1.Pod{}
		if err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: newcomer}, p); err != nil {
			return false, "", err
		}
		return scenario.Ready(p), scenario.Describe(p), nil
	})
	f.untilRow(rack1+"-0", fmt.Sprintf(`"hostID":"%s","status":"UP"}`, id))
}

func restarts(p *corev1.Pod) (n int32) {
	for _, s := range append(p.Status.InitContainerStatuses, p.Status.ContainerStatuses...) {
		n += s.RestartCount
	}
	return n
}

// Two newcomers at once do not hold up each other for ever.
func TestTwoNewcomersAtOnce(t *testing.T) {
	covers(t, "controller/views", "internal/view")
	t.Parallel()
	pods(t, 5)
	f := deploy(t, scenario.Cluster{})
	f.must(f.Scale(f.ctx, f.namespace, rack2, 2))
	f.must(f.Scale(f.ctx, f.namespace, rack3, 2))
	f.ready(5)
	if r := f.plugin("status", "--wait", "--timeout=5m"); r.Code != 0 {
		t.Errorf("status after two joins: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
}

// A decommission does not hold up a join under policy reports. Under permits no node is let in while a node leaves, and the newcomer joins once it has left, although the
// Pod of the node that left still runs.
func TestDecommissionDuringAJoin(t *testing.T) {
	covers(t, "controller/views", "internal/agent/barrier", "internal/view")
	t.Parallel()
	for _, policy := range []api.Policy{api.PolicyReports, api.PolicyPermits} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			pods(t, 5)
			stream := map[api.Policy]string{api.PolicyReports: "60", api.PolicyPermits: "180"}[policy]
			f := deploy(t, scenario.Cluster{Env: map[string]string{"SCYLLASIM_STREAM_SECONDS": stream}, Mutate: func(s *appsv1.StatefulSet) { goBy(s, policy) }})
			f.must(f.Scale(f.ctx, f.namespace, rack2, 2))
			leaving := rack2 + "-1"
			f.ready(4)
			// The call blocks until the node has left; it is made from inside the Pod's network and left to itself.
			go func() {
				_, _ = f.Cluster.Kubectl(f.ctx, "-n", f.namespace, "exec", leaving, "-c", api.ContainerScyllaDB, "--", "/usr/bin/nodetool", "decommission")
			}()
			f.untilRow(rack1+"-0", `"LEAVING"`)
			newcomer := rack3 + "-1"
			f.must(f.Scale(f.ctx, f.namespace, rack3, 2))
			if policy == api.PolicyPermits {
				f.waitFor("the newcomer's barrier to name the node that leaves", func(ctx context.Context) (bool, string, error) {
					log, err := f.ContainerLog(ctx, f.namespace, newcomer, api.ContainerBarrier)
					return strings.Contains(log, leaving+" is leaving the cluster"), tail(log, 3), err
				})
			}
			f.waitFor(newcomer+" to leave its barrier", f.left(newcomer))
		})
	}
}
