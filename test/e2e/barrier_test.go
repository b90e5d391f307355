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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/scenario"
)

// The promise of the whole project: a join is held while a node is down, says why with names, and is released after the node's return.
func TestJoinIsHeldWhileANodeIsDown(t *testing.T) {
	covers(t, "controller/reports", "internal/barrier", "internal/bootstrap", "internal/cluster", "internal/matrix",
		"internal/reporter", "plugin/barrier", "plugin/status")
	t.Parallel()
	pods(t, 4)
	f := deploy(t, scenario.Cluster{})
	if r := f.plugin("status", "--wait", "--timeout=5m"); r.Code != 0 {
		t.Fatalf("status of a healthy cluster: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	victim, newcomer := rack3+"-0", rack2+"-1"
	f.freeze(victim, rack1+"-0")
	f.must(f.Scale(f.ctx, f.namespace, rack2, 2))
	f.untilBarrierRuns(newcomer)
	f.holdsFor(newcomer, 5*time.Second)

	r := f.plugin("barrier", newcomer)
	if r.Code != 3 {
		t.Errorf("barrier of a waiting member: exit %d, want 3", r.Code)
	}
	contains(t, "barrier", r.Stdout, newcomer, victim, "DOWN")
	j := f.plugin("barrier", newcomer, "-o", "json")
	var doc map[string]any
	if err := json.Unmarshal([]byte(j.Stdout), &doc); err != nil {
		t.Errorf("barrier -o json is not JSON: %v\n%s", err, j.Stdout)
	}
	contains(t, "barrier -o json", j.Stdout, `"NodeDown"`, victim)
	if s := f.plugin("status"); s.Code != 3 {
		t.Errorf("status with a node down: exit %d, want 3\n%s", s.Code, s.Stdout)
	} else {
		contains(t, "status", s.Stdout, victim, newcomer)
	}
	if w := f.plugin("barrier", newcomer, "--wait", "--timeout=2s"); w.Code != 4 {
		t.Errorf("barrier --wait past its timeout: exit %d, want 4\n%s", w.Code, w.Stderr)
	}
	log, err := f.ContainerLog(f.ctx, f.namespace, newcomer, api.ContainerBarrier)
	f.must(err)
	contains(t, "the barrier's log", log, victim, "DOWN")
	events, err := f.Cluster.Kubectl(f.ctx, "-n", f.namespace, "get", "events.events.k8s.io", "-o", "yaml")
	f.must(err)
	contains(t, "the Pod's events", events, newcomer, victim)

	f.thaw(victim)
	f.ready(4)
	if r := f.plugin("status", "--wait", "--timeout=5m"); r.Code != 0 {
		t.Errorf("status after the join: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
}

// The same sequence without the barrier does the harm that the barrier is for; otherwise the test above could not fail.
func TestUnguardedClusterIsHarmed(t *testing.T) {
	covers(t, "internal/launch")
	t.Parallel()
	pods(t, 4)
	f := deploy(t, scenario.Cluster{Unguarded: true})
	victim, newcomer := rack3+"-0", rack2+"-1"
	f.freeze(victim, rack1+"-0")
	f.must(f.Scale(f.ctx, f.namespace, rack2, 2))
	poisoned := func(ctx context.Context) (bool, string, error) {
		log, err := f.ContainerLog(ctx, f.namespace, newcomer, api.ContainerScyllaDB)
		return strings.Contains(log, "has already been removed from the cluster") || strings.Contains(log, "being banned"), tail(log, 3), err
	}
	f.waitFor("the join to be cancelled and the host ID banned", poisoned)
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
		return poisoned(ctx)
	})
	if scenario.Ready(f.pod(newcomer)) {
		t.Error("the newcomer is ready: the simulated ScyllaDB has let a banned host ID in")
	}
}

// victimUp is how a row says that a member is UP.
func victimUp(f *fixture, member string) string {
	return fmt.Sprintf(`"hostID":"%s","status":"UP"`, f.service(member).Annotations[api.AnnotationHostID])
}

// A node that has bootstrapped is never held, whatever the others see.
func TestBootstrappedNodeRestartsAtOnce(t *testing.T) {
	covers(t, "internal/barrier", "internal/volume")
	t.Parallel()
	pods(t, 3)
	f := deploy(t, scenario.Cluster{})
	restarted := rack2 + "-0"
	f.freeze(rack3+"-0", rack1+"-0")
	before := f.pod(restarted).UID
	f.must(f.Client.Delete(f.ctx, f.pod(restarted)))
	f.waitFor(restarted+" to be ready again while another node is down", func(ctx context.Context) (bool, string, error) {
		p := &corev1.Pod{}
		if err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: restarted}, p); err != nil {
			return false, "", err
		}
		return p.UID != before && scenario.Ready(p), scenario.Describe(p), nil
	})
	log, err := f.ContainerLog(f.ctx, f.namespace, restarted, api.ContainerBarrier)
	f.must(err)
	contains(t, "the barrier's log", log, "ootstrapped")
}

// system.local is not flushed when a node joins: after a crash the disk says "not bootstrapped" of a node that its peers know as a member. Where
// neither its Service nor a row of its own says that it joined, that is no restart: a person decides, and ScyllaDB's commit log has the rest.
func TestUnflushedNodeRestarts(t *testing.T) {
	covers(t, "internal/bootstrap", "internal/reporter", "internal/volume", "plugin/forceproceed")
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

// Exactly "true" opens, records the person and the reason, and can be taken back; other values block in plain sight.
func TestForce(t *testing.T) {
	covers(t, "internal/barrier", "internal/bootstrap", "plugin/forceproceed")
	t.Parallel()
	pods(t, 4)
	f := deploy(t, scenario.Cluster{})
	newcomer := rack2 + "-1"
	f.freeze(rack3+"-0", rack1+"-0")
	f.must(f.Scale(f.ctx, f.namespace, rack2, 2))
	f.untilBarrierRuns(newcomer)

	// A value that means nothing is shown, and heals.
	out, err := f.Cluster.Kubectl(f.ctx, "-n", f.namespace, "annotate", "service", newcomer, api.AnnotationForceProceed+"=yes")
	if err != nil {
		t.Fatal(out, err)
	}
	f.waitFor("barrier to name the wrong value", func(ctx context.Context) (bool, string, error) {
		r, err := f.Plugin(ctx, "barrier", newcomer, "-n", f.namespace)
		return r.Code == 3 && strings.Contains(r.Stdout, `"yes"`), r.Stdout, err
	})
	f.holdsFor(newcomer, 2*time.Second)

	if r := f.plugin("force-proceed", newcomer); r.Code != 2 {
		t.Errorf("force-proceed without a terminal and without --yes: exit %d, want 2\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	r := f.plugin("force-bootstrap", newcomer, "--yes", "--reason=rack3 is being repaired")
	if r.Code != 0 {
		t.Fatalf("force-bootstrap: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	contains(t, "force-bootstrap", r.Stdout+r.Stderr, rack3+"-0")
	f.waitFor(newcomer+" to leave its barrier", func(ctx context.Context) (bool, string, error) {
		p := f.pod(newcomer)
		s := initStatus(p, api.ContainerBarrier)
		return s != nil && s.State.Terminated != nil && s.State.Terminated.ExitCode == 0, scenario.Describe(p), nil
	})
	f.waitFor("an Event that records the forced start", func(ctx context.Context) (bool, string, error) {
		events, err := f.Cluster.Kubectl(ctx, "-n", f.namespace, "get", "events.events.k8s.io", "-o", "yaml")
		return strings.Contains(events, "rack3 is being repaired"), tail(events, 30), err
	})
	if r := f.plugin("force-proceed", newcomer, "--undo", "--yes"); r.Code != 0 {
		t.Errorf("force-proceed --undo: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	if v, ok := f.service(newcomer).Annotations[api.AnnotationForceProceed]; ok {
		t.Errorf("after --undo the Service still has %s=%s", api.AnnotationForceProceed, v)
	}
}

// On the StatefulSet the force reaches the member Services without restarting a Pod, and goes when it is removed.
func TestForceOnStatefulSetIsPropagatedAndTakenBack(t *testing.T) {
	covers(t, "controller/force")
	t.Parallel()
	pods(t, 3)
	f := deploy(t, scenario.Cluster{})
	before := f.pod(rack2 + "-0")
	sts := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: rack2}}
	annotate := func(value string) {
		t.Helper()
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, api.AnnotationForceProceed, value)
		f.must(f.Client.Patch(f.ctx, sts, client.RawPatch("application/merge-patch+json", patch)))
	}
	annotate(`"true"`)
	f.waitFor("the member Service to be forced", func(ctx context.Context) (bool, string, error) {
		a := f.service(rack2 + "-0").Annotations
		return a[api.AnnotationForceProceed] == "true", fmt.Sprint(a), nil
	})
	if v := f.service(rack1 + "-0").Annotations[api.AnnotationForceProceed]; v != "" {
		t.Errorf("the force of %s reached %s: %q", rack2, rack1, v)
	}
	annotate("null")
	f.waitFor("the force to be taken back", func(ctx context.Context) (bool, string, error) {
		_, there := f.service(rack2 + "-0").Annotations[api.AnnotationForceProceed]
		return !there, "still there", nil
	})
	after := f.pod(rack2 + "-0")
	if before.UID != after.UID || restarts(before) != restarts(after) {
		t.Errorf("forcing restarted %s", after.Name)
	}
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
	covers(t, "controller/views", "internal/barrier", "internal/view")
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
					return strings.Contains(log, leaving+" leaves the cluster"), tail(log, 3), err
				})
			}
			f.waitFor(newcomer+" to leave its barrier", func(ctx context.Context) (bool, string, error) {
				p := &corev1.Pod{}
				if err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: newcomer}, p); err != nil {
					return false, "", err
				}
				s := initStatus(p, api.ContainerBarrier)
				return s != nil && s.State.Terminated != nil && s.State.Terminated.ExitCode == 0, scenario.Describe(p), nil
			})
		})
	}
}

// The agent in a Pod may write to its own Pod only, and there to its own annotations only.
func TestAgentMayWriteToItsOwnPodOnly(t *testing.T) {
	covers(t, "internal/manifests")
	t.Parallel()
	pods(t, 3)
	f := deploy(t, scenario.Cluster{})
	// As the agent of rack1-0: its ServiceAccount with a token bound to that Pod.
	token, err := f.Cluster.Kubectl(f.ctx, "-n", f.namespace, "create", "token", "scylla-member",
		"--bound-object-kind=Pod", "--bound-object-name="+rack1+"-0")
	f.must(err)
	cfg := rest.AnonymousClientConfig(f.Cluster.RESTConfig())
	cfg.BearerToken = strings.TrimSpace(token)
	c, err := client.New(cfg, client.Options{Scheme: f.Client.Scheme()})
	f.must(err)
	as := func(pod, patch string) error {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: pod}}
		return c.Patch(f.ctx, p, client.RawPatch("application/merge-patch+json", []byte(patch)))
	}
	annotation := `{"metadata":{"annotations":{"` + api.AnnotationBarrier + `":"{}"}}}`
	if err := as(rack1+"-0", annotation); err != nil {
		t.Errorf("annotate its own Pod: %v", err)
	}
	if err := as(rack2+"-0", annotation); !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
		t.Errorf("annotating another Pod was not refused: %v", err)
	}
	if err := as(rack1+"-0", `{"metadata":{"annotations":{"probe.example/x":"1"}}}`); !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
		t.Errorf("an annotation that is none of its own was not refused: %v", err)
	}
	if err := as(rack1+"-0", `{"metadata":{"labels":{"probe.example/x":"1"}}}`); !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
		t.Errorf("labelling its own Pod was not refused: %v", err)
	}
	if err := c.Get(f.ctx, client.ObjectKey{Namespace: f.namespace, Name: "any"}, &corev1.Secret{}); !apierrors.IsForbidden(err) {
		t.Errorf("reading Secrets was not refused: %v", err)
	}
}
