// SPDX-License-Identifier: Apache-2.0

// Package story is what `make demo` shows: a node dies, somebody scales up all the same, the new node waits at its
// barrier and joins once the node has returned. It prints each command with its real output and fails when a command
// ends with another exit code than the story needs. It neither starts Kubernetes nor installs the controller.
package story

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/demo/terminal"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/scenario"
)

// Pods of the story.
const (
	Victim  = "demo-dc1-rack3-0"
	NewNode = "demo-dc1-rack2-1"
)

const poll = 500 * time.Millisecond

// Story is one cluster of simulated ScyllaDB in a namespace of its own.
type Story struct {
	terminal.Terminal
	world     *scenario.World
	namespace string
}

// New returns a story in w, whose controller is installed.
func New(w *scenario.World, namespace string, out io.Writer) *Story {
	return &Story{world: w, namespace: namespace,
		Terminal: terminal.Terminal{Out: out, Plugin: w.Images.Plugin, Kubeconfig: w.Cluster.Kubeconfig()}}
}

// Guarded deploys three racks and plays the story with the barrier. Long: the steps in their order.
func (s *Story) Guarded(ctx context.Context) error {
	if err := s.untilScaled(ctx, false); err != nil {
		return err
	}
	if err := s.untilWaiting(ctx); err != nil {
		return err
	}
	if err := s.kubectl(ctx, "get", "pod", NewNode); err != nil {
		return err
	}
	if err := s.Show(ctx, exit.CodeNotMet, "barrier", NewNode, "-n", s.namespace); err != nil {
		return err
	}

	s.Chapter("the node returns, the new node joins")
	if err := s.world.Cluster.ResumeContainer(ctx, s.namespace, Victim, api.ContainerScyllaDB); err != nil {
		return err
	}
	if err := s.untilRecorded(ctx); err != nil {
		return err
	}
	if err := s.world.WaitReady(ctx, s.namespace, 4); err != nil {
		return err
	}
	if err := s.kubectl(ctx, "get", "events", "--field-selector=involvedObject.name="+NewNode,
		"-o", `jsonpath={range .items[?(@.reason!="Pulled")]}{.type}{"\t"}{.reason}{"\t"}{.message}{"\n"}{end}`); err != nil {
		return err
	}
	return s.Show(ctx, exit.CodeOK, "status", "-n", s.namespace, "--wait", "--timeout=5m")
}

// untilScaled plays what both stories have in common: three racks, one of them frozen, another scaled up.
func (s *Story) untilScaled(ctx context.Context, unguarded bool) error {
	s.Chapter("three racks of ScyllaDB, one on each Kubernetes node")
	if err := s.world.Deploy(ctx, scenario.Cluster{Namespace: s.namespace, Unguarded: unguarded}); err != nil {
		return err
	}
	if err := s.world.WaitReady(ctx, s.namespace, 3); err != nil {
		return err
	}
	if err := s.kubectl(ctx, "get", "pods", "-o", "wide"); err != nil {
		return err
	}
	if err := s.Show(ctx, exit.CodeOK, "status", "-n", s.namespace, "--wait", "--timeout=5m"); err != nil {
		return err
	}

	s.Chapter("a node dies: %s is frozen, as if its machine hung", Victim)
	if err := s.world.Cluster.PauseContainer(ctx, s.namespace, Victim, api.ContainerScyllaDB); err != nil {
		return err
	}
	if err := s.untilSeenDown(ctx); err != nil {
		return err
	}
	if err := s.Show(ctx, exit.CodeNotMet, "status", "-n", s.namespace); err != nil {
		return err
	}

	s.Chapter("somebody scales rack2 up all the same")
	return s.kubectl(ctx, "scale", "statefulset", "demo-dc1-rack2", "--replicas=2")
}

// Unguarded plays the story without the barrier, and shows what ScyllaDB does to the new node.
func (s *Story) Unguarded(ctx context.Context) error {
	if err := s.untilScaled(ctx, true); err != nil {
		return err
	}
	s.Chapter("nothing holds the new node back: ScyllaDB cancels its join")
	if err := s.untilRefused(ctx, "has already been removed from the cluster", "being banned"); err != nil {
		return err
	}
	if err := s.showRefusal(ctx); err != nil {
		return err
	}

	s.Chapter("the node returns - and it does not help: the new node's host ID is banned, its volume is lost")
	if err := s.world.Cluster.ResumeContainer(ctx, s.namespace, Victim, api.ContainerScyllaDB); err != nil {
		return err
	}
	if err := s.untilMembersReady(ctx); err != nil {
		return err
	}
	// Deleting the Pod keeps the volume, and the volume keeps the banned host ID.
	if err := s.kubectl(ctx, "delete", "pod", NewNode, "--wait=true"); err != nil {
		return err
	}
	if err := s.untilRefused(ctx, "has already been removed from the cluster", "banned"); err != nil {
		return err
	}
	if err := s.kubectl(ctx, "logs", NewNode, "-c", api.ContainerScyllaDB, "--tail=3"); err != nil {
		return err
	}
	return s.kubectl(ctx, "get", "pods")
}

func (s *Story) kubectl(ctx context.Context, args ...string) error {
	args = append([]string{"-n", s.namespace}, args...)
	fmt.Fprintf(s.Out, "\n$ kubectl %s\n", strings.Join(args, " "))
	text, err := s.world.Cluster.Kubectl(ctx, args...)
	fmt.Fprint(s.Out, text)
	return err
}

// showRefusal prints the first lines of the new node's log that matter.
func (s *Story) showRefusal(ctx context.Context) error {
	log, err := s.world.ContainerLog(ctx, s.namespace, NewNode, api.ContainerScyllaDB)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "\n$ kubectl -n %s logs %s -c scylla | grep -E 'ERROR|banned|removed'\n", s.namespace, NewNode)
	shown := 0
	for l := range strings.Lines(log) {
		if containsAny(l, "ERROR", "banned", "removed") {
			fmt.Fprint(s.Out, l)
			if shown++; shown == 6 {
				break
			}
		}
	}
	return nil
}

func (s *Story) untilRefused(ctx context.Context, texts ...string) error {
	return cluster.WaitFor(ctx, "ScyllaDB to refuse the new node", poll, func(ctx context.Context) (bool, string, error) {
		log, err := s.world.ContainerLog(ctx, s.namespace, NewNode, api.ContainerScyllaDB)
		return containsAny(log, texts...), lastLine(log), err
	})
}

func (s *Story) untilMembersReady(ctx context.Context) error {
	return cluster.WaitFor(ctx, "the old members to be ready again", poll, func(ctx context.Context) (bool, string, error) {
		pods, err := s.world.Pods(ctx, s.namespace)
		ready := 0
		for _, p := range pods {
			if scenario.Ready(&p) {
				ready++
			}
		}
		return ready == 3, fmt.Sprintf("%d ready", ready), err
	})
}

// untilSeenDown waits until both others report the victim DOWN.
func (s *Story) untilSeenDown(ctx context.Context) error {
	return cluster.WaitFor(ctx, "the others to see "+Victim+" DOWN", poll, func(ctx context.Context) (bool, string, error) {
		pods, err := s.world.Pods(ctx, s.namespace)
		observers := 0
		for _, p := range pods {
			if p.Name != Victim && strings.Contains(p.Annotations[api.AnnotationNodeStatusReport], `"DOWN"`) {
				observers++
			}
		}
		return observers == 2, fmt.Sprintf("%d observers", observers), err
	})
}

// untilWaiting waits until the new node's barrier has written an Event that names the victim.
func (s *Story) untilWaiting(ctx context.Context) error {
	return cluster.WaitFor(ctx, NewNode+" to wait at its barrier", poll, func(ctx context.Context) (bool, string, error) {
		var events corev1.EventList
		var p corev1.Pod
		key := client.ObjectKey{Namespace: s.namespace, Name: NewNode}
		if err := errors.Join(s.world.Client.List(ctx, &events, client.InNamespace(s.namespace)), s.world.Client.Get(ctx, key, &p)); err != nil {
			return false, "", err
		}
		for _, e := range events.Items {
			if e.InvolvedObject.Name == NewNode && strings.Contains(e.Message, Victim) {
				return true, "", nil
			}
		}
		return false, scenario.Describe(&p), nil
	})
}

// untilRecorded waits until the new node counts as a member. Its Pod may be Ready while the report
// still has three nodes, which are healthy without it.
func (s *Story) untilRecorded(ctx context.Context) error {
	return cluster.WaitFor(ctx, "the join of "+NewNode+" to be recorded", poll, func(ctx context.Context) (bool, string, error) {
		var service corev1.Service
		err := s.world.Client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: NewNode}, &service)
		joined := service.Annotations[api.AnnotationNodeJoined]
		return joined == "true", "joined " + joined, err
	})
}

func containsAny(text string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndex(s, "\n")+1:]
}
