// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/muesli/cancelreader"
	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/utils/clock"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
)

// Remote is the body of a verb that runs a command in members' Pods: exec, nodetool, cqlsh.
type Remote struct {
	Targets Targets
	// Program is put before the typed arguments; none for exec.
	Program []string
	// Bare allows the program without arguments.
	Bare bool
	// Ask, where set, is called before the command runs, and may refuse it.
	Ask func(ctx context.Context, targets []Target, command []string) error
	// Stdin is passed to the command; a terminal is so anyway.
	Stdin bool

	d       *Deps
	command []string
}

// NewRemoteCmd makes cmd a verb that runs a command in the Pods of members.
func NewRemoteCmd(d *Deps, cmd *cobra.Command, r *Remote) *cobra.Command {
	r.d = d
	cmd.GroupID, cmd.DisableFlagsInUseLine, cmd.Args = GroupAct, true, cobra.ArbitraryArgs
	cmd.ValidArgsFunction, cmd.RunE = d.CompleteMembers, Run(r)
	r.Targets.AddFlags(cmd, "Run it on")
	cmd.Flags().BoolVarP(&r.Stdin, "stdin", "i", r.Stdin, "Pass standard input to the command. A terminal is passed without it.")
	return cmd
}

// Complete takes the member and the command.
func (r *Remote) Complete(cmd *cobra.Command, args []string) error {
	rest, err := r.Targets.Take(cmd, args)
	if err != nil {
		return err
	}
	r.command = append(append([]string(nil), r.Program...), rest...)
	return nil
}

// Validate refuses a command line without a member, or without a command to run.
func (r *Remote) Validate(cmd *cobra.Command) error {
	if err := r.Targets.Validate(); err != nil {
		return err
	}
	if len(r.command) == len(r.Program) && !r.Bare {
		return exit.Usagef("say what to run after --: %s %s -- ...", cmd.CommandPath(), exampleOf(r.Targets.Name))
	}
	if r.Targets.Several() && r.Stdin && cmd.Flags().Changed("stdin") {
		return exit.Usagef("standard input can be read once: --stdin goes with one member")
	}
	return nil
}

func exampleOf(name string) string {
	if name == "" {
		return "--all"
	}
	return name
}

// Run runs the command everywhere.
func (r *Remote) Run(ctx context.Context) error {
	targets, err := r.Targets.Find(ctx, r.d)
	if err != nil {
		return err
	}
	if r.Ask != nil {
		if err := r.Ask(ctx, targets, r.command[len(r.Program):]); err != nil {
			return err
		}
	}
	return r.d.Each(ctx, &r.Targets, targets, 0, func(ctx context.Context, t *Target, out, errOut io.Writer) error {
		e := kube.Exec{Namespace: t.Namespace, Pod: t.Pod.Name, Container: t.Container, Command: r.command, Stdout: out, Stderr: errOut}
		if e.Container == "" {
			c := cluster.ScyllaDBContainer(&t.Pod.Spec)
			if c == nil {
				return exit.Refusedf("Pod %s/%s has no container of ScyllaDB: name one with --container", t.Namespace, t.Pod.Name)
			}
			e.Container = c.Name
		}
		if !cluster.ContainerRuns(t.Pod, e.Container) {
			return exit.WithHint(exit.Refusedf("container %s of %s/%s does not run: it waits for %s", e.Container, t.Namespace, t.Member, t.waiting()),
				"see why: kubectl scylla logs "+t.Member+" -n "+t.Namespace)
		}
		if r.Targets.Several() {
			return r.d.Exec(ctx, e)
		}
		return r.d.attached(ctx, e, r.Stdin)
	})
}

func (t *Target) waiting() string {
	if t.Waiting == "" {
		return "its Kubernetes node, or for nobody knows what"
	}
	return t.Waiting
}

// attached runs the command with this process's terminal, where it has one: as a shell would, so that Ctrl-C goes to the command.
func (d *Deps) attached(ctx context.Context, e kube.Exec, stdin bool) error {
	t := d.Terminal()
	if t.In || stdin {
		e.Stdin = d.Streams.In
	}
	if !t.In || !t.Out {
		if t.In && !stdin {
			e.Stdin = nil // its output goes to a file or a pipe: the user would not see the typed text
		}
		return d.Exec(ctx, e)
	}
	restore, err := d.Raw()
	if err != nil {
		return fmt.Errorf("take the terminal over: %w", err)
	}
	defer restore()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The command's end does not end the reading of its input: the next keys that are typed would be lost in it.
	in, err := cancelreader.NewReader(d.Streams.In)
	if err != nil {
		return fmt.Errorf("read the terminal: %w", err)
	}
	defer func() {
		in.Cancel()
		_ = in.Close() // only read from
	}()
	e.Stdin = in
	e.TTY, e.Sizes = true, &sizes{d: d, ctx: ctx}
	return d.Exec(ctx, e)
}

// sizeEvery is how often a terminal is asked for its size: not every system tells of changes.
const sizeEvery = 300 * time.Millisecond

// sizes are the terminal's, each when it changes.
type sizes struct {
	d      *Deps
	ctx    context.Context
	last   remotecommand.TerminalSize
	ticker clock.Ticker
}

// Next implements remotecommand.TerminalSizeQueue.
func (s *sizes) Next() *remotecommand.TerminalSize {
	if s.ticker == nil {
		s.ticker = s.d.Clock.NewTicker(sizeEvery)
	} else {
		select {
		case <-s.ctx.Done():
		case <-s.ticker.C():
		}
	}
	for s.ctx.Err() == nil {
		t := s.d.Terminal()
		if now := (remotecommand.TerminalSize{Width: uint16(t.Width), Height: uint16(t.Height)}); now != s.last {
			s.last = now
			return &now
		}
		select {
		case <-s.ctx.Done():
		case <-s.ticker.C():
		}
	}
	s.ticker.Stop()
	return nil
}

// raw lets every key through to the command.
func (d *Deps) raw() (restore func(), err error) {
	f, ok := d.Streams.In.(*os.File)
	if !ok {
		return func() {}, nil
	}
	state, err := term.MakeRaw(int(f.Fd()))
	if err != nil {
		return nil, err
	}
	return func() { _ = term.Restore(int(f.Fd()), state) }, nil
}

func (d *Deps) exec(ctx context.Context, e kube.Exec) error {
	cfg, err := d.RESTConfig()
	if err != nil {
		return err
	}
	return e.Run(ctx, cfg)
}
