// SPDX-License-Identifier: Apache-2.0

// Command demo is `make demo`: three real Kubernetes nodes, three racks of simulated ScyllaDB in real Pods, and the real commands with their real
// output. `demo once` ends by itself, `demo unguarded` runs the same steps without the barrier.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"golang.org/x/term"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/scenario"
)

const (
	namespace = "demo"
	victim    = "demo-dc1-rack3-0"
	newcomer  = "demo-dc1-rack2-1"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	once, unguarded := false, false
	for _, a := range os.Args[1:] {
		switch a {
		case "once":
			once = true
		case "unguarded":
			unguarded = true
		default:
			fmt.Fprintf(os.Stderr, "demo %q is not known: use once, unguarded or nothing\n", a)
			os.Exit(2)
		}
	}
	stay := !once && term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd()))
	err := run(ctx, os.Stdout, unguarded, stay)
	switch {
	case ctx.Err() != nil && stay:
		// Ctrl-C is the normal end of a demo that stays.
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "interrupted")
		os.Exit(130)
	case err != nil:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, unguarded, stay bool) (err error) {
	began := time.Now()
	dir, err := filepath.Abs("bin")
	if err != nil {
		return fmt.Errorf("find folder for binaries: %w", err)
	}
	w, err := scenario.Start(ctx, scenario.Options{Root: ".", Dir: dir, Out: out})
	if err != nil {
		return err
	}
	defer func() {
		if stopErr := w.Cluster.Stop(); stopErr != nil {
			err = errors.Join(err, stopErr)
		}
		fmt.Fprintln(out, "\nthe three Kubernetes nodes are gone")
	}()
	s := &story{w: w, out: out, ctx: ctx}
	if err := s.tell(unguarded); err != nil {
		if ctx.Err() == nil {
			w.Cluster.Diagnose(os.Stderr)
		}
		return err
	}
	s.chapter("that was it, after %s", time.Since(began).Round(time.Second))
	if !stay {
		return nil
	}
	fmt.Fprintf(out, `The cluster is still there. From another terminal:

    export KUBECONFIG=%s
    export PATH=%s:$PATH
    kubectl scylla status -n demo        (or: kubectl-scylla status -n demo)
    %s -n demo get pods -o wide

Ctrl-C ends it.
`, w.Cluster.Kubeconfig(), dir, w.Cluster.KubectlPath())
	<-ctx.Done()
	return nil
}

type story struct {
	w   *scenario.World
	out io.Writer
	ctx context.Context
}

func (s *story) chapter(format string, args ...any) {
	fmt.Fprintf(s.out, "\n\x1b[1m## %s\x1b[0m\n", fmt.Sprintf(format, args...))
}

// show runs a command of the plugin and prints it with all its output, as a person would see it.
func (s *story) show(wantCode int, args ...string) error {
	fmt.Fprintf(s.out, "\n$ kubectl scylla %s\n", strings.Join(args, " "))
	cmd := exec.CommandContext(s.ctx, s.w.Images.Plugin, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.w.Cluster.Kubeconfig())
	cmd.Stdout, cmd.Stderr = s.out, s.out
	err := cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != wantCode {
		return fmt.Errorf("kubectl scylla %s: exit code %d, want %d: %w", strings.Join(args, " "), code, wantCode, err)
	}
	if wantCode != 0 {
		fmt.Fprintf(s.out, "(exit code %d)\n", wantCode)
	}
	return nil
}

func (s *story) kubectl(args ...string) error {
	fmt.Fprintf(s.out, "\n$ kubectl %s\n", strings.Join(args, " "))
	text, err := s.w.Cluster.Kubectl(s.ctx, args...)
	fmt.Fprint(s.out, text)
	return err
}

// Long: the steps of the demo in their order.
func (s *story) tell(unguarded bool) error {
	ctx, cancel := context.WithTimeout(s.ctx, 20*time.Minute)
	defer cancel()
	s.ctx = ctx
	s.chapter("the controller, and three racks of ScyllaDB, one on each Kubernetes node")
	if err := errors.Join(s.w.Install(ctx), s.w.Hurry(ctx)); err != nil {
		return err
	}
	if err := s.w.Deploy(ctx, scenario.Cluster{Namespace: namespace, Unguarded: unguarded}); err != nil {
		return err
	}
	if err := s.w.WaitReady(ctx, namespace, 3); err != nil {
		return err
	}
	if err := s.kubectl("-n", namespace, "get", "pods", "-o", "wide"); err != nil {
		return err
	}
	if err := s.show(0, "status", "-n", namespace, "--wait", "--timeout=60s"); err != nil {
		return err
	}

	s.chapter("a node dies: %s is frozen, as if its machine hung", victim)
	if err := s.w.Cluster.PauseContainer(ctx, namespace, victim, api.ContainerScyllaDB); err != nil {
		return err
	}
	if err := s.untilSeenDown(ctx); err != nil {
		return err
	}
	if err := s.show(3, "status", "-n", namespace); err != nil {
		return err
	}

	s.chapter("somebody scales rack2 up all the same")
	if err := s.kubectl("-n", namespace, "scale", "statefulset", "demo-dc1-rack2", "--replicas=2"); err != nil {
		return err
	}
	if unguarded {
		return s.harmed(ctx)
	}
	if err := s.untilWaiting(ctx); err != nil {
		return err
	}
	if err := s.kubectl("-n", namespace, "get", "pod", newcomer); err != nil {
		return err
	}
	if err := s.show(3, "barrier", newcomer, "-n", namespace); err != nil {
		return err
	}

	s.chapter("the node returns, the newcomer joins")
	if err := s.w.Cluster.ResumeContainer(ctx, namespace, victim, api.ContainerScyllaDB); err != nil {
		return err
	}
	if err := s.w.WaitReady(ctx, namespace, 4); err != nil {
		return err
	}
	if err := s.kubectl("-n", namespace, "get", "events", "--field-selector=involvedObject.name="+newcomer,
		"-o", `jsonpath={range .items[?(@.reason!="Pulled")]}{.type}{"\t"}{.reason}{"\t"}{.message}{"\n"}{end}`); err != nil {
		return err
	}
	return s.show(0, "status", "-n", namespace, "--wait", "--timeout=60s")
}

// harmed shows what happens without the barrier.
func (s *story) harmed(ctx context.Context) error {
	s.chapter("nothing holds the newcomer back: ScyllaDB cancels its join")
	err := cluster.WaitFor(ctx, "ScyllaDB to refuse the newcomer for good", 500*time.Millisecond, func(ctx context.Context) (bool, string, error) {
		log, err := s.w.ContainerLog(ctx, namespace, newcomer, api.ContainerScyllaDB)
		return strings.Contains(log, "has already been removed from the cluster") || strings.Contains(log, "being banned"), lastLine(log), err
	})
	if err != nil {
		return err
	}
	log, err := s.w.ContainerLog(ctx, namespace, newcomer, api.ContainerScyllaDB)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "\n$ kubectl -n %s logs %s -c scylla | grep -E 'ERROR|banned|removed'\n", namespace, newcomer)
	shown := 0
	for l := range strings.Lines(log) {
		if strings.Contains(l, "ERROR") || strings.Contains(l, "banned") || strings.Contains(l, "removed") {
			fmt.Fprint(s.out, l)
			if shown++; shown == 6 {
				break
			}
		}
	}
	s.chapter("the node returns - and it does not help: the newcomer's host ID is banned, its volume is lost")
	if err := s.w.Cluster.ResumeContainer(ctx, namespace, victim, api.ContainerScyllaDB); err != nil {
		return err
	}
	err = cluster.WaitFor(ctx, "the old members to be ready again", 500*time.Millisecond, func(ctx context.Context) (bool, string, error) {
		pods, err := s.w.Pods(ctx, namespace)
		ready := 0
		for _, p := range pods {
			if scenario.Ready(&p) {
				ready++
			}
		}
		return ready == 3, fmt.Sprintf("%d ready", ready), err
	})
	if err != nil {
		return err
	}
	// Deleting the Pod keeps the volume, and the volume keeps the banned host ID.
	if err := s.kubectl("-n", namespace, "delete", "pod", newcomer, "--wait=true"); err != nil {
		return err
	}
	err = cluster.WaitFor(ctx, "the newcomer to be refused again", 500*time.Millisecond, func(ctx context.Context) (bool, string, error) {
		log, err := s.w.ContainerLog(ctx, namespace, newcomer, api.ContainerScyllaDB)
		return strings.Contains(log, "has already been removed from the cluster") || strings.Contains(log, "banned"), lastLine(log), err
	})
	if err != nil {
		return err
	}
	if err := s.kubectl("-n", namespace, "logs", newcomer, "-c", api.ContainerScyllaDB, "--tail=3"); err != nil {
		return err
	}
	return s.kubectl("-n", namespace, "get", "pods")
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndex(s, "\n")+1:]
}

// untilSeenDown waits until the rows of both others are in the report.
func (s *story) untilSeenDown(ctx context.Context) error {
	return cluster.WaitFor(ctx, "the others to see "+victim+" DOWN", 500*time.Millisecond, func(ctx context.Context) (bool, string, error) {
		r, err := s.w.Plugin(ctx, "status", "-n", namespace, "-o", "json")
		return strings.Count(r.Stdout, `"NodeDown"`) >= 2, fmt.Sprintf("exit code %d", r.Code), err
	})
}

func (s *story) untilWaiting(ctx context.Context) error {
	return cluster.WaitFor(ctx, newcomer+" to wait at its barrier", 500*time.Millisecond, func(ctx context.Context) (bool, string, error) {
		var p corev1.Pod
		if err := s.w.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: newcomer}, &p); err != nil {
			return false, "", err
		}
		for _, c := range p.Status.InitContainerStatuses {
			if c.Name == api.ContainerBarrier && c.State.Running != nil {
				// A few seconds, so that it is seen to wait and has seen the controller's Lease renewed.
				return time.Since(c.State.Running.StartedAt.Time) > 5*time.Second, scenario.Describe(&p), nil
			}
		}
		return false, scenario.Describe(&p), nil
	})
}
