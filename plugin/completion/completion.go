// SPDX-License-Identifier: Apache-2.0

// Package completion is `kubectl scylla completion`: scripts with which a shell, or kubectl itself,
// completes commands, flags, clusters and members.
package completion

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// Shells are the names of scripts; kubectl is the executable that kubectl runs to complete "kubectl
// scylla".
func Shells() []string { return []string{"bash", "zsh", "fish", "powershell", "kubectl"} }

// KubectlScript is the content of kubectl_complete-scylla.
const KubectlScript = `#!/bin/sh
# kubectl runs this script to complete "kubectl scylla". Save it on the PATH as the executable kubectl_complete-scylla.
exec kubectl-scylla __complete "$@"
`

type options struct {
	d     *cli.Deps
	cmd   *cobra.Command
	shell string
}

// NewCmd returns the command.
func NewCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d}
	return &cobra.Command{
		Use:   "completion (" + strings.Join(Shells(), "|") + ")",
		Short: "Print a completion script for a shell or for kubectl",
		Long: `Print a completion script for a shell or for kubectl.

kubectl completes "kubectl scylla" once the script of "completion kubectl" is on the PATH as
kubectl_complete-scylla. The scripts of the shells complete the command kubectl-scylla.`,
		Example: cli.Examples(
			"# Make kubectl complete \"kubectl scylla\"; any directory on the PATH works",
			"kubectl scylla completion kubectl > ~/.local/bin/kubectl_complete-scylla",
			"chmod +x ~/.local/bin/kubectl_complete-scylla",
			"",
			"# Complete kubectl-scylla in this bash session",
			"source <(kubectl scylla completion bash)",
			"",
			"# Complete it in every zsh: source this file in ~/.zshrc, after compinit",
			"kubectl scylla completion zsh > ~/.kubectl-scylla.zsh",
		),
		GroupID:               cli.GroupSetup,
		Args:                  cli.AtMost(1),
		ValidArgs:             Shells(),
		DisableFlagsInUseLine: true,
		RunE:                  cli.Run(o),
	}
}

// Complete sets the shell's name.
func (o *options) Complete(cmd *cobra.Command, args []string) error {
	o.cmd = cmd
	if len(args) > 0 {
		o.shell = args[0]
	}
	return nil
}

// Validate refuses unknown shells.
func (o *options) Validate(*cobra.Command) error {
	switch {
	case o.shell == "":
		return exit.Usagef("specify a shell: %s", strings.Join(Shells(), ", "))
	case !strings.Contains(" "+strings.Join(Shells(), " ")+" ", " "+o.shell+" "):
		return exit.Usagef("unknown shell %q: use one of %s", o.shell, strings.Join(Shells(), ", "))
	}
	return nil
}

// Run prints the script.
func (o *options) Run(context.Context) error {
	if err := Write(o.cmd.Root(), o.shell, o.d.Streams.Out); err != nil {
		return fmt.Errorf("write completion for %s: %w", o.shell, err)
	}
	return nil
}

// Write writes the script of a shell for root's commands.
func Write(root *cobra.Command, shell string, w io.Writer) error {
	switch shell {
	case "bash":
		return root.GenBashCompletionV2(w, true)
	case "zsh":
		return root.GenZshCompletion(w)
	case "fish":
		return root.GenFishCompletion(w, true)
	case "powershell":
		return root.GenPowerShellCompletionWithDesc(w)
	case "kubectl":
		_, err := io.WriteString(w, KubectlScript)
		return err
	}
	return fmt.Errorf("unknown shell %q", shell)
}
