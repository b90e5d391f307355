// SPDX-License-Identifier: Apache-2.0

// Package plugin is the command tree of `kubectl scylla`: the root, its commands in groups, and the
// end of a run. Each command has its own package below, as options -> Complete -> Validate -> Run;
// plugin/cli has the shared parts. It must not contain rules of ScyllaDB and must not import the
// controller.
package plugin

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	crlog "sigs.k8s.io/controller-runtime/pkg/log"

	// Credential plugins of cloud providers and OIDC, as in kubectl.
	_ "k8s.io/client-go/plugin/pkg/client/auth"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/barrier"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/check"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/completion"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/dashboard"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/demo"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/describe"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/forceproceed"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/initreset"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/inject"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/install"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/nodetool"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/remote"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/replace"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/report"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/status"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/uninstall"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/version"
)

// verbs are the commands below the root; the help sorts them within their groups. A new command is
// one line here.
func verbs() []func(*cli.Deps) *cobra.Command {
	return []func(*cli.Deps) *cobra.Command{
		status.NewCmd,
		dashboard.NewCmd,
		barrier.NewCmd,
		replace.NewCmd,
		report.NewCmd,
		describe.NewCmd,
		nodetool.NewCmd,
		forceproceed.NewCmd,
		demo.NewCmd,
		install.NewCmd,
		uninstall.NewCmd,
		check.NewCmd,
		initreset.NewCmd,
		inject.NewCmd,
		remote.NewCmd,
		completion.NewCmd,
		version.NewCmd,
	}
}

// Name is the executable's name, by which kubectl finds it.
const Name = "kubectl-scylla"

// DisplayName is the name in outputs.
const DisplayName = "kubectl scylla"

// NewCmd returns the root command. argv0 is the process name: as a kubectl plugin the command is
// displayed as "kubectl scylla".
func NewCmd(d *cli.Deps, argv0 string) *cobra.Command {
	root := &cobra.Command{
		Use:   Name,
		Short: "Inspect ScyllaDB clusters, and add or replace nodes safely",
		Long: `Inspect ScyllaDB clusters on Kubernetes, and add or replace nodes safely.

ScyllaDB permanently rejects a new node if any node is DOWN when it joins. This plugin shows how
each node sees the others, explains why a new node is waiting, and replaces dead nodes.`,
		Example: cli.Examples(
			"# Is the cluster healthy?",
			"kubectl scylla status -n demo",
			"",
			"# Why is this member waiting?",
			"kubectl scylla barrier demo-dc1-rack2-1 -n demo",
			"",
			"# Replace a dead node",
			"kubectl scylla replace demo-dc1-rack3-0 -n demo",
		),
		SilenceUsage:       true,
		SilenceErrors:      true,
		DisableSuggestions: true, // tidy has better ones
		CompletionOptions:  cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	if strings.HasPrefix(filepath.Base(argv0), "kubectl-") {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: DisplayName}
	}
	root.Version = version.Text()
	root.SetVersionTemplate("{{.Version}}")
	root.Flags().BoolP("version", "v", false, "Print the version.")
	root.SetIn(d.Streams.In)
	root.SetOut(d.Streams.Out)
	root.SetErr(d.Streams.ErrOut)
	root.AddGroup(
		&cobra.Group{ID: cli.GroupInspect, Title: "Inspect:"},
		&cobra.Group{ID: cli.GroupOperate, Title: "Operate:"},
		&cobra.Group{ID: cli.GroupSetup, Title: "Set up:"},
	)
	root.SetHelpCommand(helpCmd())
	d.Flags.AddFlags(root.PersistentFlags())
	root.PersistentFlags().Var(&d.Color, "color",
		"When to use colour. auto: on terminals only; respects NO_COLOR and CLICOLOR_FORCE.")
	root.SetFlagErrorFunc(wrongFlag)
	_ = root.RegisterFlagCompletionFunc("color",
		cobra.FixedCompletions([]string{"auto", "always", "never"}, cobra.ShellCompDirectiveNoFileComp))
	_ = root.RegisterFlagCompletionFunc("namespace", d.CompleteNamespaces)
	_ = root.RegisterFlagCompletionFunc("context", d.CompleteContexts)
	for _, verb := range verbs() {
		root.AddCommand(verb(d))
	}
	// Cobra does not complete aliases. Readers of the proposal look for this one.
	root.ValidArgs = []string{cobra.CompletionWithDesc(forceproceed.Alias, "Alias of force-proceed")}
	root.SetUsageFunc(usage)
	root.SetHelpFunc(help)
	return root
}

// helpCmd is cobra's help command, except that help for an unknown command is a usage error.
func helpCmd() *cobra.Command {
	return &cobra.Command{
		Use:                   "help [COMMAND]",
		Short:                 "Show help for a command",
		Long:                  "Show help for a command. The same as COMMAND --help.",
		GroupID:               cli.GroupSetup,
		DisableFlagsInUseLine: true,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, toComplete string) ([]string,
			cobra.ShellCompDirective) {
			var names []string
			for _, sub := range cmd.Root().Commands() {
				if len(args) == 0 && sub.IsAvailableCommand() && strings.HasPrefix(sub.Name(), toComplete) {
					names = append(names, sub.Name()+"\t"+sub.Short)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			sub, _, err := cmd.Root().Find(args)
			if err != nil {
				return exit.WithHint(exit.Usage(tidy(sub, err)), cli.HelpHint(cmd.Root()))
			}
			sub.InitDefaultHelpFlag()
			return sub.Help()
		},
	}
}

// Execute runs the command, prints its error to standard error, and returns the exit code.
func Execute(ctx context.Context, d *cli.Deps, args []string) int {
	root := NewCmd(d, args[0])
	root.SetArgs(args[1:])
	hideUntilTyped(root, args[1:])
	ran := false
	for _, cmd := range root.Commands() {
		wrap(cmd, d, &ran)
	}
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !ran && exit.Code(err) == exit.CodeError {
		// Errors of cobra itself are usage errors: unknown commands, too many arguments,
		// conflicting flags.
		err = exit.WithHint(exit.Usage(tidy(cmd, err)), cli.HelpHint(cmd))
	}
	if ctx.Err() != nil && err != nil && exit.Code(err) == exit.CodeError {
		// An interrupted request can fail with many different errors.
		err = exit.Interrupted(err)
	}
	if e, ok := errors.AsType[*cluster.NotFoundError](err); ok {
		err = whereToLook(cmd, err, e, d.NamespaceGiven())
	}
	if text := exit.MessageBy(err, d.Words()); text != "" {
		d.Say(text + "\n")
	}
	return exit.Code(err)
}

// whereToLook adds the command that lists the existing objects.
func whereToLook(cmd *cobra.Command, err error, e *cluster.NotFoundError, namespace string) error {
	changed := func(name string) bool {
		f := cmd.Flags().Lookup(name)
		return f != nil && f.Changed
	}
	switch {
	case e.What == "member":
		return exit.WithHint(err, "list the members", words.Scylla(namespace, "status")...)
	case e.What == "cluster" && !changed("from") && !changed("all-namespaces"):
		return exit.WithHint(err, "list all clusters", words.Scylla("", "status", "-A")...)
	}
	return exit.WithHint(err, "list the clusters", words.Scylla(namespace, "status")...)
}

// wrap records that a command's body was reached, and whether it can read saved objects.
func wrap(cmd *cobra.Command, d *cli.Deps, ran *bool) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(c *cobra.Command, args []string) error {
			from := c.Flags().Lookup("from")
			*ran, d.ReadsFiles, d.From = true, from != nil, nil
			if from != nil {
				d.From = cli.FromValues(from)
			}
			if from != nil && from.Changed && from.Value.String() == "" {
				// --from=$FILE with an unset variable must not show the running cluster.
				return exit.WithHint(
					exit.Usagef("--from is empty: specify a file, - for standard input, or sample:NAME"),
					cli.HelpHint(c))
			}
			return run(c, args)
		}
	}
	for _, sub := range cmd.Commands() {
		wrap(sub, d, ran)
	}
}

// Quiet discards the libraries' logs: the error in one line has all that a user needs. It changes
// the whole process, so main calls it once.
func Quiet() {
	crlog.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
}
