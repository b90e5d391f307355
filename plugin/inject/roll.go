// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/adopt"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/inject"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/preflight"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// often is the interval of checks for the next step; each check queries all nodes.
const often = 2 * time.Second

// roll takes one step after another, each from the current state, until none is left. It may be
// interrupted after any step: see internal/setup/inject.
func (l *live) roll(ctx context.Context) error {
	subject := l.key.String() + " to be injected"
	if l.undo {
		subject = l.key.String() + " to be reverted"
	}
	for !l.finished {
		err := l.d.Wait(ctx, cli.Wait{Subject: subject, Timeout: l.timeout, Every: often,
			Check: func(ctx context.Context) (bool, string, error) {
				why, err := l.step(ctx)
				if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
					return false, "another client changed it meanwhile: retrying", nil
				}
				return why == "", why, err
			}})
		if err != nil {
			return err
		}
	}
	return nil
}

// step executes the next step, or returns why it must wait.
func (l *live) step(ctx context.Context) (why string, err error) {
	sets, err := l.look(ctx)
	if err != nil {
		return "", err
	}
	objects, err := l.objects(ctx, sets)
	if err != nil {
		return "", err
	}
	now := cluster.New(objects, cluster.SourceAnnotation, l.d.Clock.Now())
	states := make([]inject.State, len(sets))
	for i, s := range sets {
		states[i] = inject.State{Name: s.typed.Name, Labelled: s.Labelled(), Written: s.Written(), Held: s.Held(),
			Undo: l.undo,
			Seen: s.typed.Status.ObservedGeneration >= s.typed.Generation && s.typed.Status.UpdateRevision != ""}
		for _, name := range slices.Backward(cluster.MemberNames(s.typed)) {
			states[i].Members = append(states[i].Members, now.Member(name))
		}
	}
	next := inject.Next(states)
	if next.Do == inject.DoEnd {
		if why, err := l.well(ctx, objects, preflight.ForScale, ""); why != "" || err != nil {
			return why, err
		}
		l.finished = true
		return "", l.clean(ctx, sets)
	}
	s := sets[next.Set]
	switch next.Do {
	case inject.DoLabel:
		if err = l.labelPods(ctx, s, objects.Pods); err == nil {
			err = l.update(ctx, s.WithLabels())
		}
		l.told(err, "%s labeled", inject.Name(s.Have))
		return "", err
	case inject.DoTemplate:
		return l.template(ctx, sets, s, objects.Pods)
	case inject.DoMend:
		return l.evict(ctx, next.Member.Pod)
	case inject.DoEvict:
		if why, err := l.creatable(ctx, s, next.Member.Member, objects.Pods, nil); why != "" || err != nil {
			return why, err
		}
		if why, err := l.well(ctx, objects, preflight.ForRestart, next.Member.Member); why != "" || err != nil {
			return why, err
		}
		return l.evict(ctx, next.Member.Pod)
	case inject.DoRelease:
		if why, err := l.well(ctx, objects, preflight.ForScale, ""); why != "" || err != nil {
			return why, err
		}
		u, err := inject.Released(s.Have)
		if err == nil {
			err = l.update(ctx, u)
		}
		l.told(err, "%s done, its update strategy is restored", inject.Name(s.Have))
		return "", err
	default:
		return next.Why, nil
	}
}

func (l *live) told(err error, format string, args ...any) {
	if err == nil {
		l.d.Say(fmt.Sprintf(format, args...) + "\n")
	}
}

// template has every node's host ID recorded and its system.local flushed, and then writes the
// template. A StatefulSet that is already on hold has its records; an undo needs none.
func (l *live) template(ctx context.Context, sets []set, s set, pods []corev1.Pod) (why string, err error) {
	if l.undo {
		if err := l.labelPods(ctx, s, pods); err != nil {
			return "", err
		}
	}
	if !l.undo && !s.Held() {
		who, err := adopt.Run(ctx, &world{live: l, sets: sets})
		if refusal, ok := errors.AsType[*adopt.Refusal](err); ok {
			return refusal.Error(), nil
		}
		if err != nil {
			return "", err
		}
		l.told(nil, "the host IDs of %d nodes are recorded, and each node has written system.local to its disk",
			len(who))
	}
	u, err := s.WithTemplate()
	if err != nil {
		return "", err
	}
	err = l.update(ctx, u)
	l.told(err, "%s configured", inject.Name(s.Have))
	return "", err
}

// labelPods adds the cluster's labels to Pods that run without the barrier, or removes them, so
// that readers find all Pods as one cluster during the roll. It restarts nothing. It runs before
// the write of the StatefulSet, which records that it is done.
func (l *live) labelPods(ctx context.Context, s set, pods []corev1.Pod) error {
	for i := range pods {
		p := &pods[i]
		if owner := metav1.GetControllerOf(p); owner == nil || owner.Name != s.typed.Name ||
			cluster.HasBarrier(&p.Spec) {
			continue
		}
		err := kube.PatchMetadata(ctx, l.c, p, func(p *corev1.Pod) {
			for k, v := range s.PodLabels() {
				switch {
				case v == nil:
					delete(p.Labels, k)
				case p.Labels == nil:
					p.Labels = map[string]string{k: *v}
				default:
					p.Labels[k] = *v
				}
			}
		}, client.FieldOwner(manifests.FieldOwner))
		if err != nil {
			return fmt.Errorf("label Pod %s/%s: %w", p.Namespace, p.Name, err)
		}
	}
	return nil
}

// evict evicts a Pod; a disruption budget may refuse it for now.
func (l *live) evict(ctx context.Context, pod *corev1.Pod) (why string, err error) {
	eviction := &policyv1.Eviction{
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}}}
	err = l.c.SubResource("eviction").Create(ctx, pod, eviction)
	switch {
	case apierrors.IsTooManyRequests(err):
		return fmt.Sprintf("a PodDisruptionBudget currently forbids evicting %s", pod.Name), nil
	case err != nil:
		return "", fmt.Errorf("evict Pod %s/%s: %w", l.key.Namespace, pod.Name, err)
	}
	l.told(nil, "%s restarts", pod.Name)
	return "", nil
}

// objects returns the cluster's objects, whatever their labels: during a roll only some have them.
func (l *live) objects(ctx context.Context, sets []set) (cluster.Objects, error) {
	typed := make([]appsv1.StatefulSet, len(sets))
	for i, s := range sets {
		typed[i] = *s.typed
	}
	return kube.LoadSets(ctx, l.c, l.key, typed)
}

// ask returns the cluster of these objects with the live rows of all nodes.
func (l *live) ask(ctx context.Context, objects cluster.Objects) (*cluster.Cluster, error) {
	for i := range objects.StatefulSets {
		// The only rollout that blocks is this roll, or the roll that it reverts; its Pods are
		// checked one by one.
		if _, ours := objects.StatefulSets[i].Annotations[api.AnnotationRolling]; ours {
			objects.StatefulSets[i].Status.UpdateRevision = ""
		}
	}
	p := l.d.Busy("querying the nodes of " + l.key.String())
	defer p.Stop()
	now, err := l.d.ReadLive(ctx, cluster.New(objects, cluster.SourceLive, l.d.Clock.Now()), kube.LiveOptions{})
	if err != nil {
		return nil, fmt.Errorf("query the nodes of %s: %w", l.key, err)
	}
	return now, nil
}

// well returns why an action is not safe now, else "". member is the member to stop, if any.
func (l *live) well(ctx context.Context, objects cluster.Objects, purpose, member string) (why string, err error) {
	now, err := l.ask(ctx, objects)
	if err != nil {
		return "", err
	}
	var stopped []cluster.Member
	for _, m := range now.Members() {
		if member != "" && m.Member == member {
			stopped = append(stopped, m)
		}
	}
	if member != "" && len(stopped) == 0 {
		return "no member is named " + member, nil
	}
	bad := l.unsafe(ctx, now, purpose, stopped)
	if len(bad) == 0 {
		return "", nil
	}
	return sentence(bad[0]), nil
}

// unsafe returns the reasons against the action, as `check --for` does.
func (l *live) unsafe(ctx context.Context, now *cluster.Cluster, purpose string,
	stopped []cluster.Member) []preflight.Result {
	in := &preflight.Now{For: purpose, Cluster: now, Stopped: stopped}
	if purpose != preflight.ForScale {
		l.d.GatherNow(ctx, l.c, in)
	}
	return slices.DeleteFunc(preflight.Safe(in), func(r preflight.Result) bool {
		return r.State == preflight.OK || r.State == preflight.Warning ||
			r.Check == checkData && slices.Contains(l.skip, checkData)
	})
}
