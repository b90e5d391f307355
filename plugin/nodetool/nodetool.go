// SPDX-License-Identifier: Apache-2.0

// Package nodetool is `kubectl scylla nodetool`. It selects Pod and container, and the user's
// kubectl runs nodetool there. A topology change requires confirmation if a finding argues against
// it, or if it is for several nodes.
package nodetool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// options is the user's input.
type options struct {
	d        *cli.Deps
	all, yes bool
	member   string
	token    string   // the user's --token, which is not among flags
	typed    []string // the arguments of nodetool
	flags    []string // for kubectl
}

// NewCmd returns the command.
func NewCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d}
	cmd := &cobra.Command{
		Use: "nodetool (MEMBER | --all) -- COMMAND [ARGS...]", Short: "Run nodetool on one or all nodes",
		Long: `Run nodetool on one or all nodes.

Before decommission, removenode, excludenode, rebuild, drain, stopdaemon, disablegossip and
disablebinary it reads the cluster status. It asks for confirmation if a finding argues against the
command, or if it would run on several nodes at once. The Scylla Operator does not detect their
changes.

` + cli.MemberForms + `

Runs kubectl from PATH and passes it the given flags, such as --context.

Exit code: that of kubectl or of nodetool; with --all 1 if it failed on any node; 2 if refused
before: no such member, not running, not confirmed, or no kubectl.`,
		Example: cli.Examples(
			"# Which nodes does this node see?", "kubectl scylla nodetool rack1/0 -n demo -- status", "",
			"# Do all nodes report the same?", "kubectl scylla nodetool --all -n demo -- status", "",
			"# Without confirmation, even if a node is DOWN",
			"kubectl scylla nodetool rack1/2 -n demo --yes -- decommission"),
		GroupID:               cli.GroupOperate,
		DisableFlagsInUseLine: true, Args: o.arguments, ValidArgsFunction: d.CompleteMembers,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "Run on all nodes of the namespace; each line begins with the member.")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, cli.YesUsage)
	return cmd
}

// arguments sets the flags, the member and the command. Without --, the first argument is the
// member.
func (o *options) arguments(cmd *cobra.Command, args []string) error {
	without := []string{"all", "yes", "token"}
	if t := o.d.Flags.BearerToken; t != nil && *t != "" {
		o.token = *t
		without = append(without, "kubeconfig", "user") // see withToken
	}
	o.typed, o.flags = args, cli.Handed(cmd.Flags(), without...)
	before := cmd.ArgsLenAtDash()
	if !o.all && len(args) > 0 && before != 0 {
		o.member, o.typed = args[0], args[1:]
	}
	switch {
	case before > 1, o.all && before > 0:
		return fmt.Errorf("unexpected argument %q: use %s", o.typed[0], cmd.UseLine())
	case o.member == "" && !o.all:
		return fmt.Errorf("specify a member: %s", cmd.UseLine())
	case len(o.typed) == 0:
		return fmt.Errorf("specify a command after --: %s", cmd.UseLine())
	}
	return nil
}

// run finds the members, asks for confirmation if needed, and runs kubectl.
func (o *options) run(ctx context.Context) error {
	members, against, err := o.members(ctx)
	if err != nil {
		return err
	}
	bin, err := exec.LookPath("kubectl")
	if err != nil {
		return exit.WithHint(exit.Refusedf("kubectl not found in PATH: it runs this command"),
			"install kubectl, or add its directory to PATH")
	}
	remove, err := o.withToken()
	if err != nil {
		return err
	}
	defer remove()
	for _, m := range against {
		o.d.Warn("%s", o.d.Words().Text(m))
	}
	if len(against) > 0 {
		err = o.d.Confirm(ctx, fmt.Sprintf("Run nodetool %s anyway?", strings.Join(o.typed, " ")), "yes")
	}
	if err == nil && o.all {
		err = o.each(ctx, bin, members)
	} else if err == nil {
		err = o.kubectl(ctx, bin, &members[0], o.d.Streams.In, o.d.Streams.Out, o.d.Streams.ErrOut)
	}
	ended, ok := errors.AsType[*exec.ExitError](err)
	if ctx.Err() != nil || ok && ended.ExitCode() < 0 { // the same Ctrl-C ends both
		return exit.Interrupted(err)
	} else if ok {
		return &exit.Error{Code: ended.ExitCode()} // kubectl has printed the cause
	}
	return err
}

// members returns the members to run on, and the findings against a topology change.
func (o *options) members(ctx context.Context) (members []cluster.Member, against []words.Message, err error) {
	read := cli.ReadFlags{Source: cli.SourceFlag(cluster.SourceAnnotation)}
	asks := !o.yes && diagnosis.ChangesTopology(o.typed)
	if asks {
		read = cli.ReadFlags{Source: cli.SourceFlag(cluster.SourceAuto),
			ControllerNamespace: cli.DefaultControllerNamespace}
	}
	r, err := o.d.NewReader(ctx, read)
	if err != nil {
		return nil, nil, err
	}
	var clusters []*cluster.Cluster
	if o.all {
		clusters, err = r.All(ctx)
	} else if c, m, failed := r.Named(ctx, o.member); failed != nil {
		err = failed
	} else {
		clusters, members = []*cluster.Cluster{c}, []cluster.Member{m}
	}
	for _, c := range clusters {
		if asks {
			against = append(against, diagnosis.AgainstTopology(c, o.typed)...)
		}
		for _, m := range c.Members() {
			if o.all && m.Pod != nil {
				members = append(members, m)
			}
		}
	}
	if err == nil && len(members) == 0 {
		err = exit.Refusedf("no node of %s has a Pod", clusters[0].Key)
	}
	if asks && len(members) > 1 {
		names := make([]string, len(members))
		for i, m := range members {
			names[i] = m.Name()
		}
		against = append([]words.Message{words.New(words.RunsAtOnce, "command", strings.Join(o.typed, " "),
			"members", names)}, against...)
	}
	return members, against, err
}

// kubectl runs kubectl for one member until it ends. A nil reader means no input.
func (o *options) kubectl(ctx context.Context, bin string, m *cluster.Member, in io.Reader,
	out, errOut io.Writer) error {
	why, container := "has no Pod", ""
	if m.Pod != nil {
		if c := cluster.ScyllaDBContainer(&m.Pod.Spec); c != nil && cluster.ContainerRuns(m.Pod, c.Name) {
			container = c.Name
		}
		why = "does not run ScyllaDB: it waits for " + cmp.Or(words.Text(m.Waiting), "an unknown cause")
	}
	if container == "" {
		return exit.WithHint(exit.Refusedf("member %s/%s %s", m.Namespace, m.Member, why), "show why",
			words.Scylla(m.Namespace, "describe", m.Member)...)
	}
	args := []string{"exec"}
	if t := o.d.Terminal(); !o.all && t.In && t.Out {
		args = append(args, "--stdin", "--tty")
	}
	args = append(append(args, o.flags...), "--namespace="+m.Namespace, "--container="+container, m.Pod.Name,
		"--", "nodetool")
	c := exec.CommandContext(ctx, bin, append(args, o.typed...)...) //nolint:gosec // the user's own kubectl
	c.Stdin, c.Stdout, c.Stderr, c.WaitDelay = in, out, errOut, 5*time.Second
	// SIGTERM lets kubectl restore the terminal.
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	return c.Run()
}

// each runs the command for every member, even if it fails for some.
func (o *options) each(ctx context.Context, bin string, members []cluster.Member) error {
	var g errgroup.Group
	g.SetLimit(8)
	var streams sync.Mutex
	failed := make([]string, len(members))
	for i, m := range members {
		g.Go(func() error {
			out := &show.Lines{Mutex: &streams, To: o.d.Streams.Out, Before: m.Member + " | ",
				Clean: o.d.Terminal().Out}
			errOut := &show.Lines{Mutex: &streams, To: o.d.Streams.ErrOut, Before: out.Before,
				Clean: o.d.Terminal().Err}
			if err := errors.Join(o.kubectl(ctx, bin, &m, nil, out, errOut), out.Close(), errOut.Close()); err != nil {
				failed[i] = m.Member + ": " + err.Error()
			}
			return nil
		})
	}
	_ = g.Wait() // the functions return no error: each is in failed
	if failed = slices.DeleteFunc(failed, func(text string) bool { return text == "" }); len(failed) > 0 {
		return fmt.Errorf("%d of %d nodes failed: %s", len(failed), len(members), strings.Join(failed, "; "))
	}
	return nil
}
