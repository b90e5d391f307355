// SPDX-License-Identifier: Apache-2.0

// Package replace is `kubectl scylla replace` with its subcommands: it shows what replacing a dead node means, makes every check that the controller
// will make, asks, sets the documented label and follows the replacement to its end. What may be replaced and how far it is, package
// internal/replace says; here is only how people see it.
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
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// defaultTimeout is long: streaming a node's data takes hours.
const defaultTimeout = 4 * time.Hour

// options of all four commands; each binds the flags that it takes.
type options struct {
	d      *cli.Deps
	read   cli.ReadFlags
	output cli.OutputFlags
	wait   cli.WaitFlags
	dryRun cli.DryRunFlag

	target                 string
	ignoreDead, skipChecks []string
	hostID                 string
	original               hostid.ID // by hostID
	yes                    bool
	resume                 bool // the command is `replace resume`
	list                   bool // the command is `replace status`, which needs no node
	plans                  bool // the command shows a plan, which --dry-run=client makes of saved objects too
	all                    bool // `replace status` also lists replacements that have ended

	// newID makes identities of requests.
	newID func() string
	// act is the action of the command.
	act func(context.Context) error

	reader *cli.Reader
}

func newOptions(d *cli.Deps) *options {
	return &options{d: d, dryRun: cli.DryRunNone, newID: uuid.NewString}
}

// NewCmd makes the verb. Its subcommands cannot be taken for a node: a host ID is hexadecimal, a Pod's name ends in its ordinal, and rack/ordinal has a
// slash.
func NewCmd(d *cli.Deps) *cobra.Command {
	o := newOptions(d)
	o.act = o.runReplace
	cmd := &cobra.Command{
		Use:   "replace NODE",
		Short: "Replace a dead node by its host ID, checked before and followed to the end",
		Long: `Replace a dead node by its host ID, checked before and followed to the end.

NODE is a Pod, a member Service, rack/ordinal, an IP address, or a host ID or its first
8 characters or more. It prints what will be deleted and what cannot be undone, makes every
check with its evidence, and asks for the first 8 characters of the host ID. Then it
sets the label scylla/replace on the member Service: our controller (or, where it
manages the cluster, the Scylla Operator) does the rest, and this command shows how
far it is. Ctrl-C ends the watching, not the replacement.

The cluster bans the dead node as soon as the new one asks to replace it, whether
that succeeds or not. A failed attempt is therefore not undone but resumed: the same
original host ID and a fresh volume.

Exit code: 0 replaced (or asked for, with --wait=false), 1 the attempt failed, 2
refused by a check, 4 not replaced within --timeout.`,
		Example: cli.Examples(
			"# What would happen, and would it be allowed?",
			"kubectl scylla replace demo-dc1-rack3-0 -n demo --dry-run=client",
			"",
			"# The same for somebody elsewhere, from an archive of \"report --archive\"",
			"kubectl scylla replace demo-dc1-rack3-0 --from demo.zip --dry-run=client",
			"",
			"# Replace it, and follow it to the end",
			"kubectl scylla replace demo-dc1-rack3-0 -n demo",
			"",
			"# Another node is dead too, and will be replaced next",
			"kubectl scylla replace rack3/0 -n demo --ignore-dead rack2/0",
			"",
			"# How far are the replacements of this namespace? What has failed, and why?",
			"kubectl scylla replace status -n demo",
			"",
			"# Try again after a failed attempt",
			"kubectl scylla replace resume demo-dc1-rack2-0 -n demo",
			"",
			"# Withdraw the request, as long as nothing is deleted",
			"kubectl scylla replace cancel demo-dc1-rack3-0 -n demo",
		),
		GroupID: cli.GroupAct,
	}
	o.bind(cmd, false)
	o.bindAsking(cmd)
	cmd.AddGroup(&cobra.Group{ID: group, Title: "Of a replacement that was asked for:"})
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
		Short: "List open replacements, with the cause and the cure of what has failed",
		Long: `List open replacements, with the cause and the cure of what has failed, and host IDs
that the cluster still lists and no member has. With NODE, that of one member, open or
last.

Exit code: 0 all is under way or over, 3 a replacement has failed or is held up, by a
check, a disruption budget or the API server.`,
		Example: cli.Examples(
			"# How far are the replacements of this namespace? What has failed, and why?",
			"kubectl scylla replace status -n demo",
			"",
			"# Of one member, the last one that has ended too",
			"kubectl scylla replace status demo-dc1-rack3-0 -n demo",
			"",
			"# Those that are over, too: when they were, and how they ended",
			"kubectl scylla replace status -n demo --all",
			"",
			"# Of all namespaces, for a script",
			"kubectl scylla replace status -A -o json",
		),
		GroupID: group,
	}
	o.bind(cmd, true)
	cmd.Flags().BoolVar(&o.all, "all", false, "Also the last replacement of each member that is over.")
	return cmd
}

func newResumeCmd(d *cli.Deps) *cobra.Command {
	o := newOptions(d)
	o.act, o.resume = o.runReplace, true
	cmd := &cobra.Command{
		Use:   "resume NODE",
		Short: "Continue a failed attempt: the original host ID, a fresh volume",
		Long: `Continue a failed attempt with the original host ID and a fresh volume. The plan, the
checks and the following are those of replace.

Exit code: 0 replaced (or asked for, with --wait=false), 1 the attempt failed, 2
refused by a check, 4 not replaced within --timeout.`,
		Example: cli.Examples(
			"# Try again after a failed attempt",
			"kubectl scylla replace resume demo-dc1-rack2-0 -n demo",
			"",
			"# Would it be allowed?",
			"kubectl scylla replace resume demo-dc1-rack2-0 -n demo --dry-run=client",
			"",
			"# Another node has died meanwhile, and will be replaced next",
			"kubectl scylla replace resume demo-dc1-rack2-0 -n demo --ignore-dead rack3/0",
		),
		GroupID: group,
	}
	o.bind(cmd, false)
	o.bindAsking(cmd)
	cmd.Flags().StringVar(&o.hostID, "host-id", "", "The original host ID, where the Service has lost it.")
	return cmd
}

func newCancelCmd(d *cli.Deps) *cobra.Command {
	o := newOptions(d)
	o.act = o.runCancel
	cmd := &cobra.Command{
		Use:   "cancel NODE",
		Short: "Withdraw a request; possible until the volume is deleted",
		Long: `Withdraw the request to replace a node. That is possible until its volume is deleted.

Exit code: 0 withdrawn, 2 too late, 4 not withdrawn within --timeout.`,
		Example: cli.Examples(
			"# Withdraw the request, as long as nothing is deleted",
			"kubectl scylla replace cancel demo-dc1-rack3-0 -n demo",
			"",
			"# By rack and ordinal, without waiting for the controller",
			"kubectl scylla replace cancel rack3/0 -n demo --wait=false",
			"",
			"# What would be changed?",
			"kubectl scylla replace cancel rack3/0 -n demo --dry-run=server",
		),
		GroupID: group,
	}
	o.bind(cmd, false)
	o.bindWaiting(cmd, "the request is withdrawn")
	return cmd
}

// bind adds the flags that all commands have. many is set for a command that only reads.
func (o *options) bind(cmd *cobra.Command, many bool) {
	cmd.Args, cmd.DisableFlagsInUseLine = cli.AtMost(1), true
	cmd.ValidArgsFunction, cmd.RunE = o.d.CompleteMembers, cli.Run(o)
	o.read.AddFlags(cmd, many)
	o.output.AddFlags(cmd)
	if !many {
		_ = cmd.Flags().MarkHidden("from") // refused with a reason, but for a plan
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
	f.StringSliceVar(&o.ignoreDead, "ignore-dead", nil, "Further dead nodes, each named as NODE is, separated by commas. They are banned too and must be replaced or removed next.")
	f.StringSliceVar(&o.skipChecks, "skip-check", nil, "Names of checks to skip, separated by commas; recorded on the Service and in an Event. One of: "+strings.Join(replace.CheckNames(), ", ")+".")
	f.BoolVarP(&o.yes, "yes", "y", false, "Do not ask.")
	_ = cmd.RegisterFlagCompletionFunc("ignore-dead", o.d.CompleteMemberList)
	_ = cmd.RegisterFlagCompletionFunc("skip-check", cobra.FixedCompletions(replace.CheckNames(), cobra.ShellCompDirectiveNoFileComp))
}

// Complete takes the node.
func (o *options) Complete(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		o.target = args[0]
	}
	return nil
}

// Validate refuses what does not go together.
func (o *options) Validate(cmd *cobra.Command) error {
	err := errors.Join(o.read.Validate(), o.output.Validate())
	if cmd.Flags().Lookup("timeout") != nil {
		err = errors.Join(err, o.wait.Validate(cmd))
	}
	switch {
	case err != nil:
		return err
	case o.target == "" && !o.list:
		return exit.Usagef("name the node: a Pod, a member Service, rack/ordinal, an IP, or a host ID or its first 8 characters")
	case o.read.From != "" && !o.list && (!o.plans || o.dryRun != cli.DryRunClient):
		return exit.Usagef("--from reads saved objects, which cannot be changed: use it with replace --dry-run=client, or with replace status")
	case o.all && o.target != "":
		return exit.Usagef("--all lists those of every member: leave %s out, which shows its last one already", o.target)
	}
	if o.hostID != "" {
		id, err := hostid.Parse(o.hostID)
		if err != nil {
			return exit.Usagef("--host-id %w", err)
		}
		o.original = id
	}
	for _, name := range o.skipChecks {
		if !slices.Contains(replace.CheckNames(), name) {
			return exit.Usagef("--skip-check: no check %q can be skipped; one of %s", name, strings.Join(replace.CheckNames(), ", "))
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
