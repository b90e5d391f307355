// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// wrongFlag returns a usage error with the flags that may have been meant.
func wrongFlag(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() == "" {
		err = didYouMean(err, nearestFlags(cmd, unknown.GetSpecifiedName()))
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		cause := errors.Unwrap(invalid)
		if want := wanted(invalid.GetFlag()); want != "" || cause == nil {
			cause = errors.New("must be " + cmp.Or(want, invalid.GetFlag().Usage))
		}
		err = fmt.Errorf("invalid --%s=%q: %w", invalid.GetFlag().Name, invalid.GetValue(), cause)
	}
	return exit.WithHint(exit.Usage(err), cli.HelpHint(cmd))
}

// wanted returns the valid values of a flag; empty if the flag's own error has them.
func wanted(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "bool":
		return "true or false"
	case "duration":
		return "a duration such as 30s, 5m or 1h"
	case "int", "int32", "int64", "uint", "uint32", "uint64":
		return "a whole number"
	case "": // parsed by the value itself; its usage lists the values
		return f.Usage
	}
	return ""
}

// nearestFlags searches the flags that the help explains first, and then the other kubectl flags,
// which are short and similar to everything.
func nearestFlags(cmd *cobra.Command, typed string) []string {
	var explained, rest []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Hidden:
		case cmd.Root().PersistentFlags().Lookup(f.Name) == f && !ours[f.Name]:
			rest = append(rest, f.Name)
		default:
			explained = append(explained, f.Name)
		}
	})
	near := cluster.Nearest(typed, explained)
	if len(near) == 0 {
		near = cluster.Nearest(typed, rest)
	}
	for i, name := range near {
		near[i] = "--" + name
	}
	return near
}

// tidy converts cobra's error to one sentence, with the commands that may have been meant,
// including aliases, which cobra omits.
func tidy(below *cobra.Command, err error) error {
	text, _, _ := strings.Cut(err.Error(), "\n")
	if rest, ok := strings.CutPrefix(text, "unknown command "); ok {
		typed, _, _ := strings.Cut(strings.TrimPrefix(rest, `"`), `"`)
		if command, ok := elsewhere[typed]; ok && !below.HasParent() {
			return exit.WithHint(errors.New(text), typed+" is not part of the plugin: run "+command)
		}
		return didYouMean(errors.New(text), nearestCommands(below, typed))
	}
	// "if any flags in the group [watch wait] are set none of the others can be; [wait watch] were
	// all set"
	if _, set, ok := strings.Cut(text, "none of the others can be; ["); ok {
		set, _, _ = strings.Cut(set, "]")
		return fmt.Errorf("--%s cannot be used together", strings.Join(strings.Fields(set), " and --"))
	}
	return err
}

// nearestCommands returns one name for each similar command: its own name, or its alias if only
// that is similar.
func nearestCommands(below *cobra.Command, typed string) []string {
	if meant, ok := habits[typed]; ok && !below.HasParent() {
		return []string{meant}
	}
	of := map[string]*cobra.Command{}
	var names []string
	for _, sub := range below.Commands() {
		for _, name := range append([]string{sub.Name()}, sub.Aliases...) {
			if sub.IsAvailableCommand() {
				of[name] = sub
				names = append(names, name)
			}
		}
	}
	var near []string
	seen := map[*cobra.Command]bool{}
	for _, name := range cluster.Nearest(typed, names) {
		if !seen[of[name]] {
			seen[of[name]] = true
			if len(name) <= 3 {
				name = of[name].Name() // the full name, not an abbreviation
			}
			near = append(near, name)
		}
	}
	return near
}

// habits maps command names of other tools to our commands.
var habits = map[string]string{
	"ls": "status", "list": "status", "get": "status", "ps": "status", "top": "status", "health": "status",
	"info": "status", "show": "describe", "watch": "dashboard",
	"ui": "dashboard", "doctor": "check", "verify": "check", "wait": "status --wait",
	"nodes": "status", "members": "status", "clusters": "status -A", "remove": "uninstall", "delete": "uninstall",
	"rm": "uninstall", "setup": "install", "events": "report", "history": "report", "upgrade": "install --upgrade",
	"dump": "report --archive FILE.zip", "bundle": "report --archive FILE.zip",
}

// elsewhere maps command names to commands of other programs.
var elsewhere = map[string]string{
	"controller": "scylla-agent controller --kubeconfig FILE",
	"logs":       logs, "log": logs, "tail": logs, "exec": run + "COMMAND",
	"sh": run + "bash", "bash": run + "bash", "shell": run + "bash", "ssh": run + "bash",
	"cqlsh": run + "cqlsh", "cql": run + "cqlsh",
}

const (
	logs = "kubectl logs POD -c CONTAINER -n NAMESPACE"
	run  = "kubectl exec -it POD -c CONTAINER -n NAMESPACE -- "
)

func didYouMean(err error, names []string) error {
	if len(names) == 0 {
		return err
	}
	return fmt.Errorf("%w; did you mean %s?", err, strings.Join(names, " or "))
}
