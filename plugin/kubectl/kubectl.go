// SPDX-License-Identifier: Apache-2.0

// Package kubectl has the commands that the user's kubectl executes: exec, cqlsh, logs and
// nodetool. They select Pod and container and then run kubectl, without interpreting the command.
// The exception is a topology change with nodetool: a finding against it, or several nodes, require
// confirmation.
package kubectl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
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

const help = cli.MemberForms + `

Runs kubectl from PATH and passes it the given flags, such as --context.

`

// The exit codes of logs, and of the verbs that run a command.
const (
	logsCodes = `Exit code: that of kubectl; 2 if refused before: no such member, no Pod, or no kubectl.`
	runCodes  = `Exit code: that of kubectl or of the command; with --all 1 if it failed on any node;
2 if refused before: no such member, not running, not confirmed, or no kubectl.`
)

// Exec returns the command exec.
func Exec(d *cli.Deps) *cobra.Command {
	v := &verb{d: d}
	cmd := v.command("exec (MEMBER | --all) -- COMMAND [ARGS...]",
		"Run a command in the ScyllaDB container of one or all nodes", "",
		"# A shell on a node", "kubectl scylla exec rack1/0 -n demo -- bash", "",
		"# Do all nodes have the same settings?",
		"kubectl scylla exec --all -n demo -- bash -c 'cat /etc/scylla/scylla.yaml'", "",
		"# Which version does each node run?", "kubectl scylla exec --all -n demo -- scylla --version")
	v.bindYes(cmd)
	return cmd
}

// Cqlsh returns the command cqlsh.
func Cqlsh(d *cli.Deps) *cobra.Command {
	return (&verb{d: d, program: "cqlsh"}).command("cqlsh (MEMBER | --all) [-- ARGS...]",
		"Open the CQL shell on a node",
		"Runs the cqlsh of the ScyllaDB image and passes standard input to it.\n\n",
		"# A CQL shell", "kubectl scylla cqlsh rack1/0 -n demo", "",
		"# One statement", `kubectl scylla cqlsh rack1/0 -n demo -- -e "DESCRIBE KEYSPACES"`, "",
		"# The same on every node",
		`kubectl scylla cqlsh --all -n demo -- -e "SELECT release_version FROM system.local"`)
}

// Nodetool returns the command nodetool.
func Nodetool(d *cli.Deps) *cobra.Command {
	v := &verb{d: d, program: "nodetool"}
	cmd := v.command("nodetool (MEMBER | --all) -- COMMAND [ARGS...]", "Run nodetool on one or all nodes",
		`Before decommission, removenode, excludenode, rebuild, drain, stopdaemon, disablegossip and
disablebinary it reads the cluster status. It asks for confirmation if a finding argues against the
command, or if it would run on several nodes at once. The Scylla Operator does not detect their
changes.

`, "# Which nodes does this node see?", "kubectl scylla nodetool rack1/0 -n demo -- status", "",
		"# Do all nodes report the same?", "kubectl scylla nodetool --all -n demo -- status", "",
		"# Without confirmation, even if a node is DOWN",
		"kubectl scylla nodetool rack1/2 -n demo --yes -- decommission")
	v.bindYes(cmd)
	return cmd
}

func (v *verb) bindYes(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&v.yes, "yes", "y", false, cli.YesUsage)
}

// nodetool returns the arguments of nodetool if the command runs it; else nil.
func (v *verb) nodetool() []string {
	run := slices.Concat(strings.Fields(v.program), v.typed)
	if len(run) == 0 || path.Base(run[0]) != "nodetool" {
		return nil
	}
	return run[1:]
}

// Logs returns the command logs.
func Logs(d *cli.Deps) *cobra.Command {
	cmd := (&verb{d: d, logs: true}).command("logs MEMBER",
		"Show the log of ScyllaDB, or of the container that ScyllaDB waits for", "",
		"# The last lines of a node's log", "kubectl scylla logs rack1/0 -n demo --tail 50", "",
		"# The log before the crash", "kubectl scylla logs rack1/0 -n demo --previous", "",
		"# The log of the last ten minutes", "kubectl scylla logs rack1/0 -n demo --since 10m")
	cmd.GroupID = cli.GroupInspect
	cmd.Flags().BoolP("follow", "f", false, "Stream new lines, until Ctrl-C.")
	cmd.Flags().BoolP("previous", "p", false, "Show the log of the previous container instance.")
	cmd.Flags().Bool("timestamps", false, "Begin each line with its timestamp.")
	cmd.Flags().Int64("tail", -1, "Number of last lines to show; -1 shows all.")
	cmd.Flags().Duration("since", 0, "Show only lines newer than this duration, such as 10m.")
	return cmd
}

// verb is one of these commands, with the user's input.
type verb struct {
	d                          *cli.Deps
	logs, all, yes             bool
	program, member, container string
	token                      string   // the user's --token, which is not among flags
	typed, flags               []string // the command for the container, and the flags for kubectl
}

func (v *verb) command(use, short, long string, examples ...string) *cobra.Command {
	codes := runCodes
	if v.logs {
		codes = logsCodes
	}
	cmd := &cobra.Command{
		Use: use, Short: short, Long: short + ".\n\n" + long + help + codes, Example: cli.Examples(examples...),
		GroupID:               cli.GroupOperate,
		DisableFlagsInUseLine: true, Args: v.arguments, ValidArgsFunction: v.d.CompleteMembers,
		RunE: func(cmd *cobra.Command, _ []string) error { return v.run(cmd.Context()) },
	}
	cmd.Flags().StringVarP(&v.container, "container", "c", "", "Name of the container, if not ScyllaDB's.")
	if !v.logs {
		cmd.Flags().BoolVar(&v.all, "all", false,
			"Run on all nodes of the namespace; each line begins with the member.")
		cmd.Flags().BoolP("stdin", "i", false, "Pass standard input to the command. A terminal is always passed.")
		cmd.MarkFlagsMutuallyExclusive("all", "stdin")
	}
	return cmd
}

// arguments sets the flags, the member and the command. Without --, the first argument is the
// member.
func (v *verb) arguments(cmd *cobra.Command, args []string) error {
	without := []string{"all", "container", "yes", "token"}
	if t := v.d.Flags.BearerToken; t != nil && *t != "" {
		v.token = *t
		without = append(without, "kubeconfig", "user") // see withToken
	}
	v.typed, v.flags = args, cli.Handed(cmd.Flags(), without...)
	before := cmd.ArgsLenAtDash()
	if !v.all && len(args) > 0 && before != 0 {
		v.member, v.typed = args[0], args[1:]
	}
	switch {
	case before > 1, v.all && before > 0, v.logs && len(v.typed) > 0:
		return fmt.Errorf("unexpected argument %q: use %s", v.typed[0], cmd.UseLine())
	case v.member == "" && !v.all:
		return fmt.Errorf("specify a member: %s", cmd.UseLine())
	case len(v.typed) == 0 && !v.logs && v.program != "cqlsh":
		return fmt.Errorf("specify a command after --: %s", cmd.UseLine())
	}
	return nil
}

// run finds the members, asks for confirmation if needed, and runs kubectl.
func (v *verb) run(ctx context.Context) error {
	members, against, err := v.members(ctx)
	if err != nil {
		return err
	}
	bin, err := exec.LookPath("kubectl")
	if err != nil {
		return exit.WithHint(exit.Refusedf("kubectl not found in PATH: it runs this command"),
			"install kubectl, or add its directory to PATH")
	}
	remove, err := v.withToken()
	if err != nil {
		return err
	}
	defer remove()
	for _, m := range against {
		v.d.Warn("%s", v.d.Words().Text(m))
	}
	if len(against) > 0 {
		err = v.d.Confirm(ctx, fmt.Sprintf("Run nodetool %s anyway?", strings.Join(v.nodetool(), " ")), "yes")
	}
	if err == nil && v.all {
		err = v.each(ctx, bin, members)
	} else if err == nil {
		err = v.kubectl(ctx, bin, &members[0], v.d.Streams.In, v.d.Streams.Out, v.d.Streams.ErrOut)
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
func (v *verb) members(ctx context.Context) (members []cluster.Member, against []words.Message, err error) {
	read := cli.ReadFlags{Source: cli.SourceFlag(cluster.SourceAnnotation)}
	asks := !v.yes && diagnosis.ChangesTopology(v.nodetool())
	if asks {
		read = cli.ReadFlags{Source: cli.SourceFlag(cluster.SourceAuto),
			ControllerNamespace: cli.DefaultControllerNamespace}
	}
	r, err := v.d.NewReader(ctx, read)
	if err != nil {
		return nil, nil, err
	}
	var clusters []*cluster.Cluster
	if v.all {
		clusters, err = r.All(ctx)
	} else if c, m, failed := r.Named(ctx, v.member); failed != nil {
		err = failed
	} else {
		clusters, members = []*cluster.Cluster{c}, []cluster.Member{m}
	}
	for _, c := range clusters {
		if asks {
			against = append(against, diagnosis.AgainstTopology(c, v.nodetool())...)
		}
		for _, m := range c.Members() {
			if v.all && m.Pod != nil {
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
		against = append([]words.Message{words.New(words.RunsAtOnce, "command", strings.Join(v.nodetool(), " "),
			"members", names)}, against...)
	}
	return members, against, err
}

// kubectl runs kubectl for one member until it ends. A nil reader means no input.
func (v *verb) kubectl(ctx context.Context, bin string, m *cluster.Member, in io.Reader, out, errOut io.Writer) error {
	if m.Pod == nil {
		return exit.WithHint(exit.Refusedf("member %s/%s has no Pod", m.Namespace, m.Member), "show why",
			words.Scylla(m.Namespace, "describe", m.Member)...)
	}
	args, container, db := []string{"exec"}, v.container, ""
	if c := cluster.ScyllaDBContainer(&m.Pod.Spec); c != nil {
		db = c.Name
	}
	switch t := v.d.Terminal(); {
	case v.logs:
		args[0] = "logs"
	case !v.all && t.In && t.Out:
		args = append(args, "--stdin", "--tty")
	case !v.all && v.program == "cqlsh":
		args = append(args, "--stdin")
	}
	switch {
	case container != "": // kubectl checks that it exists
	case !v.logs && db != "" && !cluster.ContainerRuns(m.Pod, db):
		return exit.WithHint(exit.Refusedf("container %s of %s/%s is not running: it waits for %s",
			db, m.Namespace, m.Member, cmp.Or(words.Text(m.Waiting), "an unknown cause")),
			"check its log", words.Scylla(m.Namespace, "logs", m.Member)...)
	case !v.logs:
		container = db
	default:
		if container = cluster.LogOf(m.Pod, db).Container; container != db {
			v.d.Say(fmt.Sprintf("%s: ScyllaDB has not started; showing container %s\n", m.Member, container))
		}
	}
	args = append(append(args, v.flags...), "--namespace="+m.Namespace, "--container="+container, m.Pod.Name)
	if !v.logs {
		args = slices.Concat(args, []string{"--"}, strings.Fields(v.program), v.typed)
	}
	c := exec.CommandContext(ctx, bin, args...) //nolint:gosec // the user's own kubectl
	c.Stdin, c.Stdout, c.Stderr, c.WaitDelay = in, out, errOut, 5*time.Second
	// SIGTERM lets kubectl restore the terminal.
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	return c.Run()
}

// each runs the command for every member, even if it fails for some.
func (v *verb) each(ctx context.Context, bin string, members []cluster.Member) error {
	var g errgroup.Group
	g.SetLimit(8)
	var streams sync.Mutex
	failed := make([]string, len(members))
	for i, m := range members {
		g.Go(func() error {
			out := &show.Lines{Mutex: &streams, To: v.d.Streams.Out, Before: m.Member + " | ",
				Clean: v.d.Terminal().Out}
			errOut := &show.Lines{Mutex: &streams, To: v.d.Streams.ErrOut, Before: out.Before,
				Clean: v.d.Terminal().Err}
			if err := errors.Join(v.kubectl(ctx, bin, &m, nil, out, errOut), out.Close(), errOut.Close()); err != nil {
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
