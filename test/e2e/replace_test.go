// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/scenario"
)

// A frozen ScyllaDB takes no signal: the kubelet kills it after the grace period.
func shortGrace(s *appsv1.StatefulSet) {
	seconds := int64(3)
	s.Spec.Template.Spec.TerminationGracePeriodSeconds = &seconds
}

// kill freezes a member's ScyllaDB and waits until Kubernetes sees it, too: a replacement does not touch a Pod that is ready.
func (f *fixture) kill(member, observer string) {
	f.t.Helper()
	f.freeze(member, observer)
	f.waitFor(member+" to be not ready", func(ctx context.Context) (bool, string, error) {
		p := &corev1.Pod{}
		err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: member}, p)
		return err == nil && !scenario.Ready(p), scenario.Describe(p), err
	})
}

func (f *fixture) hostID(member string) string {
	f.t.Helper()
	return f.service(member).Annotations[api.AnnotationHostID]
}

func (f *fixture) claim(member string) types.UID {
	f.t.Helper()
	c := &corev1.PersistentVolumeClaim{}
	f.must(f.Client.Get(f.ctx, client.ObjectKey{Namespace: f.namespace, Name: "data-" + member}, c))
	return c.UID
}

func (f *fixture) healthy() {
	f.t.Helper()
	if r := f.plugin("status", "--wait", "--timeout=90s"); r.Code != 0 {
		f.t.Fatalf("status: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
}

// replaced checks what must be true after a replacement: another host ID, another volume, no label left, everyone sees everyone.
func (f *fixture) replaced(member, oldID string, oldClaim types.UID) {
	f.t.Helper()
	s := f.service(member)
	if id := s.Annotations[api.AnnotationHostID]; id == oldID || id == "" {
		f.t.Errorf("host ID of %s is %q after the replacement of %s", member, id, oldID)
	}
	for _, l := range []string{api.LabelReplace, api.LabelReplacingNodeHostID} {
		if v, ok := s.Labels[l]; ok {
			f.t.Errorf("label %s=%q is left", l, v)
		}
	}
	if f.claim(member) == oldClaim {
		f.t.Errorf("%s still has its old volume", member)
	}
	f.healthy()
	for _, p := range []string{rack1 + "-0", member} {
		if row := f.pod(p).Annotations[api.AnnotationNodeStatusReport]; strings.Contains(row, oldID) {
			f.t.Errorf("%s still lists %s: %s", p, oldID, row)
		}
	}
}

func TestReplaceADeadNode(t *testing.T) {
	t.Parallel()
	f := deploy(t, scenario.Cluster{Mutate: shortGrace})
	f.healthy()
	victim := rack3 + "-0"
	old, claim := f.hostID(victim), f.claim(victim)

	// Alive: refused, and nothing is touched.
	r := f.plugin("replace", victim, "--yes")
	if r.Code != 2 {
		t.Errorf("replace of a live node: exit %d, want 2\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	contains(t, "the refusal", r.Stdout+r.Stderr, victim, "UP")
	if f.claim(victim) != claim {
		t.Fatal("the refused replacement has deleted the volume")
	}
	if _, ok := f.service(victim).Labels[api.LabelReplace]; ok {
		t.Error("the refused replacement has labelled the Service")
	}

	f.kill(victim, rack1+"-0")
	f.untilRow(rack2+"-0", `"DOWN"`)
	if r := f.plugin("replace", old[:8]); r.Code != 2 {
		t.Errorf("replace without a terminal and without --yes: exit %d, want 2\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	if r := f.plugin("replace", old[:8], "--dry-run=client"); r.Code != 0 {
		t.Errorf("replace --dry-run=client: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	} else if f.claim(victim) != claim {
		t.Fatal("a dry run has deleted the volume")
	}
	r = f.plugin("replace", old[:8], "--yes", "--timeout=4m")
	if r.Code != 0 {
		t.Fatalf("replace: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	f.replaced(victim, old, claim)
}

// The label is enough, as the proposal has it; a replacement that is asked for while another node is down waits, and can be withdrawn.
func TestReplaceByLabelAndCancel(t *testing.T) {
	t.Parallel()
	f := deploy(t, scenario.Cluster{Mutate: shortGrace})
	f.must(f.Scale(f.ctx, f.namespace, rack1, 2))
	f.must(f.Scale(f.ctx, f.namespace, rack2, 2))
	f.ready(5)
	f.healthy()
	victim, other := rack3+"-0", rack2+"-1"
	old, claim := f.hostID(victim), f.claim(victim)
	f.kill(victim, rack1+"-0")
	f.kill(other, rack1+"-0")
	f.untilRow(rack1+"-0", fmt.Sprintf(`"hostID":"%s","status":"DOWN"`, old))
	f.untilRow(rack1+"-0", fmt.Sprintf(`"hostID":"%s","status":"DOWN"`, f.hostID(other)))

	label := func(value string) {
		t.Helper()
		if out, err := f.Cluster.Kubectl(f.ctx, "-n", f.namespace, "label", "service", victim, api.LabelReplace+value); err != nil {
			t.Fatal(out, err)
		}
	}
	label("=")
	f.waitFor("the controller to refuse: another node is down", func(ctx context.Context) (bool, string, error) {
		r, err := f.Plugin(ctx, "replace", "--status", "-n", f.namespace)
		return strings.Contains(r.Stdout, other), r.Stdout + r.Stderr, err
	})
	if f.claim(victim) != claim {
		t.Fatal("the volume was deleted while another node is down")
	}
	if r := f.plugin("replace", "--cancel", victim, "--yes"); r.Code != 0 {
		t.Fatalf("replace --cancel: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	if _, ok := f.service(victim).Labels[api.LabelReplace]; ok {
		t.Error("after --cancel the label is still there")
	}

	// With the other dead node named, it goes ahead; the other one is replaced next.
	otherID, otherClaim := f.hostID(other), f.claim(other)
	if r := f.plugin("replace", victim, "--yes", "--ignore-dead", otherID, "--timeout=4m"); r.Code != 0 {
		t.Fatalf("replace --ignore-dead: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	if id := f.hostID(victim); id == old {
		t.Errorf("%s still has host ID %s", victim, id)
	}
	label = func(value string) {
		t.Helper()
		if out, err := f.Cluster.Kubectl(f.ctx, "-n", f.namespace, "label", "service", other, api.LabelReplace+value); err != nil {
			t.Fatal(out, err)
		}
	}
	label("=")
	f.waitFor(other+" to be replaced by its label alone", func(ctx context.Context) (bool, string, error) {
		s := &corev1.Service{}
		err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: other}, s)
		_, open := s.Labels[api.LabelReplace]
		return err == nil && !open && s.Annotations[api.AnnotationHostID] != otherID, fmt.Sprint(s.Labels, s.Annotations), err
	})
	f.replaced(other, otherID, otherClaim)
}

// A newcomer that dies while it joins is banned, its volume is lost, and the node it was to replace is banned too: --resume goes on with the
// original host ID on a fresh volume.
func TestReplaceResumesAFailedAttempt(t *testing.T) {
	t.Parallel()
	f := deploy(t, scenario.Cluster{Mutate: shortGrace, Env: map[string]string{"SCYLLASIM_STREAM_SECONDS": "40"}})
	f.healthy()
	victim := rack3 + "-0"
	old, claim := f.hostID(victim), f.claim(victim)
	f.kill(victim, rack1+"-0")
	f.untilRow(rack2+"-0", `"DOWN"`)
	if r := f.plugin("replace", old, "--yes", "--wait=false"); r.Code != 0 {
		t.Fatalf("replace: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	f.waitFor("the newcomer to stream", func(ctx context.Context) (bool, string, error) {
		p := &corev1.Pod{}
		if err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: rack1 + "-0"}, p); err != nil {
			return false, "", err
		}
		row := p.Annotations[api.AnnotationNodeStatusReport]
		return strings.Contains(row, `"REPLACING"`), row, nil
	})
	f.must(f.Cluster.SignalContainer(f.ctx, f.namespace, victim, api.ContainerScyllaDB, syscall.SIGKILL))
	f.waitFor("the failed attempt to be recognised", func(ctx context.Context) (bool, string, error) {
		r, err := f.Plugin(ctx, "replace", "--status", "-n", f.namespace)
		return strings.Contains(r.Stdout, "--resume"), r.Stdout + r.Stderr, err
	})
	if got := f.service(victim).Labels[api.LabelReplacingNodeHostID]; got != old {
		t.Errorf("the original host ID is %q, want %q", got, old)
	}
	failed := f.claim(victim)
	// While ScyllaDB has not given the failed attempt up, another one is refused.
	f.waitFor("--resume to be accepted", func(ctx context.Context) (bool, string, error) {
		r, err := f.Plugin(ctx, "replace", "--resume", victim, "--yes", "--wait=false", "-n", f.namespace)
		return r.Code == 0, tail(r.Stderr, 3), err
	})
	f.waitFor("the resumed replacement to be finished", func(ctx context.Context) (bool, string, error) {
		s := &corev1.Service{}
		err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: victim}, s)
		_, open := s.Labels[api.LabelReplace]
		return err == nil && !open, fmt.Sprint(s.Labels, s.Annotations), err
	})
	if f.claim(victim) == failed {
		t.Error("--resume kept the volume of the failed attempt")
	}
	f.replaced(victim, old, claim)
}

// A replacement that the Scylla Operator (or another version) began is continued and not restarted: its label is there, the volume is gone, and
// the new volume is not deleted.
func TestReplacementBegunByAnotherControllerIsContinued(t *testing.T) { // stops the controller of all: not parallel
	f := deploy(t, scenario.Cluster{Mutate: shortGrace})
	f.healthy()
	victim := rack3 + "-0"
	old, claim := f.hostID(victim), f.claim(victim)
	f.kill(victim, rack1+"-0")
	f.untilRow(rack2+"-0", `"DOWN"`)
	resume := f.stopController()
	defer resume()
	// What the Scylla Operator does: both labels, claim and Pod deleted.
	if out, err := f.Cluster.Kubectl(f.ctx, "-n", f.namespace, "label", "service", victim, api.LabelReplace+"=", api.LabelReplacingNodeHostID+"="+old); err != nil {
		t.Fatal(out, err)
	}
	f.must(f.Client.Delete(f.ctx, &corev1.PersistentVolumeClaim{ObjectMeta: f.pvc(victim).ObjectMeta}))
	f.must(f.Client.Delete(f.ctx, f.pod(victim)))
	f.waitFor("a new volume", func(ctx context.Context) (bool, string, error) {
		c := &corev1.PersistentVolumeClaim{}
		err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: "data-" + victim}, c)
		if apierrors.IsNotFound(err) {
			return false, "no claim", nil
		}
		return err == nil && c.UID != claim && c.DeletionTimestamp == nil, string(c.UID), err
	})
	fresh := f.claim(victim)
	resume()
	f.waitFor("the replacement to be finished", func(ctx context.Context) (bool, string, error) {
		s := &corev1.Service{}
		err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: victim}, s)
		_, open := s.Labels[api.LabelReplace]
		return err == nil && !open && s.Annotations[api.AnnotationHostID] != old, fmt.Sprint(s.Labels, s.Annotations), err
	})
	f.replaced(victim, old, claim)
	if f.claim(victim) != fresh {
		t.Error("the controller deleted the volume of a replacement that was under way")
	}
}

func (f *fixture) pvc(member string) *corev1.PersistentVolumeClaim {
	f.t.Helper()
	c := &corev1.PersistentVolumeClaim{}
	f.must(f.Client.Get(f.ctx, client.ObjectKey{Namespace: f.namespace, Name: "data-" + member}, c))
	return c
}

// A member whose disk is lost must not join under its old name: the message says that this is a replacement.
func TestALostDiskIsNotARestart(t *testing.T) {
	t.Parallel()
	f := deploy(t, scenario.Cluster{Mutate: shortGrace})
	f.healthy()
	victim := rack3 + "-0"
	f.must(f.Client.Delete(f.ctx, f.pvc(victim)))
	f.must(f.Client.Delete(f.ctx, f.pod(victim)))
	f.untilBarrierRuns(victim)
	f.waitFor("the barrier to point at a replacement", func(ctx context.Context) (bool, string, error) {
		log, err := f.ContainerLog(ctx, f.namespace, victim, api.ContainerBarrier)
		return strings.Contains(log, "kubectl scylla replace"), tail(log, 3), err
	})
}

// Before 5.2 a node is replaced by its address, with a warning that this is deprecated.
func TestReplaceOnAnOldVersion(t *testing.T) {
	t.Parallel()
	f := deploy(t, scenario.Cluster{Version: oldVersion, Mutate: shortGrace})
	f.healthy()
	victim := rack3 + "-0"
	old, claim, address := f.hostID(victim), f.claim(victim), f.pod(victim).Status.PodIP
	f.kill(victim, rack1+"-0")
	f.untilRow(rack2+"-0", `"DOWN"`)
	r := f.plugin("replace", victim, "--yes", "--timeout=4m")
	if r.Code != 0 {
		t.Fatalf("replace: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	contains(t, "replace", r.Stdout+r.Stderr, address, "deprecated")
	f.replaced(victim, old, claim)
	events, err := f.Cluster.Kubectl(f.ctx, "-n", f.namespace, "get", "events.events.k8s.io", "-o", "yaml")
	f.must(err)
	contains(t, "the events", events, "deprecated")
}
