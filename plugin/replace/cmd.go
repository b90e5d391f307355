// SPDX-License-Identifier: Apache-2.0

// Package replace is `kubectl scylla replace` with its subcommands. It shows the consequences of
// replacing a dead node and runs every check of the controller. Then it asks for confirmation, sets
// the documented label and follows the replacement to its end. Package internal/replace decides
// what may be replaced and computes the progress; this package displays it.
package replace

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// defaultTimeout is long: streaming a node's data takes hours.
const defaultTimeout = 4 * time.Hour

// options of all four commands; each binds its own flags.
type options struct {
	d      *cli.Deps
	read   cli.ReadFlags
	output cli.OutputFlags
	wait   cli.WaitFlags
	dryRun cli.DryRunFlag

	target                 string
	ignoreDead, skipChecks []string
	hostID                 string
	original               hostid.ID // from --host-id
	yes                    bool
	resume                 bool // the command is `replace resume`
	list                   bool // the command is `replace status`, which needs no node
	plans                  bool // the command shows a plan, even of saved objects
	all                    bool // `replace status` also lists replacements that have ended

	// newID returns identities of requests.
	newID func() string
	// act is the action of the command.
	act func(context.Context) error

	reader *cli.Reader
	// machines caches Kubernetes nodes between the checks of a replacement in progress.
	machines kube.Machines
}

func newOptions(d *cli.Deps) *options {
	return &options{d: d, dryRun: cli.DryRunNone, newID: uuid.NewString}
}

// NewCmd returns the command. Its subcommands cannot be mistaken for a node: a host ID is
// hexadecimal, a Pod's name ends in its ordinal, and rack/ordinal has a slash.
func NewCmd(d *cli.Deps) *cobra.Command {
	o := newOptions(d)
	o.act = o.runReplace
	cmd := &cobra.Command{
		Use:   "replace NODE",
		Short: "Replace a dead node by its host ID, after safety checks",
		Long: `Replace a dead node by its host ID, after safety checks.

NODE is a Pod, a member Service, RACK/ORDINAL, an IP address, or 8 or more characters of a host ID.
It shows what will be deleted and what cannot be undone, runs every check, and asks for the first 8
characters of the host ID. Then it labels the member Service with scylla/replace: the controller (or
the Scylla Operator) replaces the node. Ctrl-C stops only the display; to withdraw: replace cancel.
The cluster bans the dead node as soon as the new node requests the replacement, even if that fails.
A failed attempt is therefore resumed, not undone: same original host ID, fresh volume.
Exit code: 0 replaced (or requested), 1 attempt failed, 2 no such node or refused, 4 --timeout over.`,
		Example: cli.Examples(
			"# Show what would happen, and whether it is allowed",
			"kubectl scylla replace demo-dc1-rack3-0 -n demo --dry-run=client",
			"",
			"# Replace a dead node, and show the progress",
			"kubectl scylla replace demo-dc1-rack3-0 -n demo",
			"",
			"# Another node is also dead, and will be replaced next",
			"kubectl scylla replace rack3/0 -n demo --ignore-dead rack2/0",
		),
		GroupID: cli.GroupOperate,
	}
	o.bind(cmd, false)
	o.bindAsking(cmd)
	cmd.AddGroup(&cobra.Group{ID: group, Title: "For a requested replacement:"})
	cmd.AddCommand(newStatusCmd(d), newResumeCmd(d), newCancelCmd(d))
	return cmd
}

// group of the subcommands in the help.
const group = "replacement"

func newStatusCmd(d *cli.Deps) *cobra.Command {
	o := newOptions(d)
	o.act, o.list = o.runStatus, true
	cmd := &cobra.Command{
		Use:   "status [NODE]",
		Short: "List open replacements, with the cause and fix of failed ones",
		Long: `List open replacements, with the cause and fix of failed ones, and host IDs without a member. With
NODE it shows the open or last replacement of that member.

Exit code: 0 all in progress or finished, 3 a replacement has failed or is blocked by a check, a
PodDisruptionBudget, the API server, or a Scylla Operator that does not run, 2 no such node.`,
		Example: cli.Examples(
			"# Progress and failures in this namespace",
			"kubectl scylla replace status -n demo",
			"",
			"# One member, even if its replacement has finished",
			"kubectl scylla replace status demo-dc1-rack3-0 -n demo",
			"",
			"# Also finished replacements, with their times and results",
			"kubectl scylla replace status -n demo --all",
			"",
			"# All namespaces, for a script",
			"kubectl scylla replace status -A -o json",
		),
		GroupID: group,
	}
	o.bind(cmd, true)
	cmd.Flags().BoolVar(&o.all, "all", false, "Also list the last finished replacement of each member.")
	return cmd
}

func newResumeCmd(d *cli.Deps) *cobra.Command {
	o := newOptions(d)
	o.act, o.resume = o.runReplace, true
	cmd := &cobra.Command{
		Use:   "resume NODE",
		Short: "Resume a failed attempt: original host ID, fresh volume",
		Long: `Resume a failed attempt with the original host ID and a fresh volume. Plan, checks and progress are
as with replace.

Exit code: 0 replaced (with --wait=false: requested), 1 attempt failed, 2 no such node or refused by
a check, 4 not replaced within --timeout.`,
		Example: cli.Examples(
			"# Resume after a failed attempt",
			"kubectl scylla replace resume demo-dc1-rack2-0 -n demo",
			"",
			"# Show whether it is allowed",
			"kubectl scylla replace resume demo-dc1-rack2-0 -n demo --dry-run=client",
			"",
			"# Another node has failed meanwhile, and will be replaced next",
			"kubectl scylla replace resume demo-dc1-rack2-0 -n demo --ignore-dead rack3/0",
		),
		GroupID: group,
	}
	o.bind(cmd, false)
	o.bindAsking(cmd)
	cmd.Flags().StringVar(&o.hostID, "host-id", "", "Original host ID, if it is missing on the Service.")
	return cmd
}

func newCancelCmd(d *cli.Deps) *cobra.Command {
	o := newOptions(d)
	o.act = o.runCancel
	cmd := &cobra.Command{
		Use:   "cancel NODE",
		Short: "Withdraw a request; possible until the volume is deleted",
		Long: `Withdraw the request to replace a node; possible until its volume is deleted.

Exit code: 0 withdrawn, 2 no such node or too late, 4 not withdrawn within --timeout, 1 error.`,
		Example: cli.Examples(
			"# Withdraw the request",
			"kubectl scylla replace cancel demo-dc1-rack3-0 -n demo",
			"",
			"# By rack and ordinal, without waiting for the controller",
			"kubectl scylla replace cancel rack3/0 -n demo --wait=false",
			"",
			"# Show what would change",
			"kubectl scylla replace cancel rack3/0 -n demo --dry-run=server",
		),
		GroupID: group,
	}
	o.bind(cmd, false)
	o.bindWaiting(cmd, "the request is withdrawn")
	return cmd
}

// bind adds the flags of all commands. many is set for a command that only reads.
func (o *options) bind(cmd *cobra.Command, many bool) {
	cmd.Args, cmd.DisableFlagsInUseLine = cli.AtMost(1), true
	cmd.ValidArgsFunction, cmd.RunE = o.d.CompleteMembers, cli.Run(o)
	o.read.AddFlags(cmd, many)
	cli.Rarely(cmd, "from", "source")
	o.output.AddFlags(cmd)
	if !many {
		cli.Rarely(cmd, "output")
	}
	if !many {
		_ = cmd.Flags().MarkHidden("from") // refused with a reason, except for a plan
	}
}

func (o *options) bindWaiting(cmd *cobra.Command, until string) {
	o.dryRun.AddFlag(cmd)
	o.wait.Wait = true
	o.wait.AddFlags(cmd, until)
	cmd.Flags().Lookup("timeout").DefValue = defaultTimeout.String()
	o.wait.Timeout = defaultTimeout
}

func (o *options) bindAsking(cmd *cobra.Command) {
	o.bindWaiting(cmd, "the node is replaced")
	f := cmd.Flags()
	f.Lookup("from").Hidden, o.plans = false, true
	f.StringSliceVar(&o.ignoreDead, "ignore-dead", nil,
		"Other dead nodes to ignore: also banned, so replace or remove them.")
	f.StringSliceVar(&o.skipChecks, "skip-check", nil, "Checks to skip, as named in the plan; recorded in an Event.")
	f.BoolVarP(&o.yes, "yes", "y", false, cli.YesUsage)
	_ = cmd.RegisterFlagCompletionFunc("ignore-dead", o.d.CompleteMemberList)
	_ = cmd.RegisterFlagCompletionFunc("skip-check",
		cobra.FixedCompletions(replace.CheckNames(), cobra.ShellCompDirectiveNoFileComp))
}

// Complete sets the node.
func (o *options) Complete(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		o.target = args[0]
	}
	return nil
}

// Validate checks flags.
func (o *options) Validate(cmd *cobra.Command) error {
	err := errors.Join(o.read.Validate(), o.output.Validate())
	if cmd.Flags().Lookup("timeout") != nil {
		err = errors.Join(err, o.wait.Validate(cmd))
	}
	switch {
	case err != nil:
		return err
	case o.target == "" && !o.list:
		return exit.Usagef(
			"specify a node: its Pod, member Service, RACK/ORDINAL, IP address, or 8 or more characters of its host ID")
	case o.read.From != "" && !o.list && (!o.plans || o.dryRun != cli.DryRunClient):
		return exit.Usagef(
			"saved objects cannot be changed: use --from with replace --dry-run=client, or with replace status")
	case o.all && o.target != "":
		return exit.Usagef("--all cannot be used with a node: replace status %s already shows its last replacement",
			o.target)
	}
	if o.hostID != "" {
		id, err := hostid.Parse(o.hostID)
		if err != nil {
			return exit.Usagef("invalid --host-id: %w", err)
		}
		o.original = id
	}
	for _, name := range o.skipChecks {
		if !slices.Contains(replace.CheckNames(), name) {
			return exit.Usagef("unknown --skip-check=%q: use one of %s", name, strings.Join(replace.CheckNames(), ", "))
		}
	}
	return nil
}

// Run executes the command.
func (o *options) Run(ctx context.Context) error {
	if o.read.Source == "" {
		o.read.Source = cli.SourceFlag(cluster.SourceAuto)
	}
	reader, err := o.d.NewReader(ctx, o.read)
	if err != nil {
		return err
	}
	o.reader = reader
	return o.act(ctx)
}
