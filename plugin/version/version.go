// SPDX-License-Identifier: Apache-2.0

// Package version is `kubectl scylla version`: the version of this binary. It sends no request.
package version

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/version"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// Document is the document of -o json and -o yaml.
type Document struct {
	APIVersion   string `json:"apiVersion"`
	Kind         string `json:"kind"`
	version.Info `json:",inline"`
}

type options struct {
	d      *cli.Deps
	format string
}

// NewCmd returns the command.
func NewCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long:  "Print the version. It does not contact the API server.",
		Example: cli.Examples(
			"# The release and its commit",
			"kubectl scylla version",
			"",
			"# Only the release, for a script",
			"kubectl scylla version -o short",
			"",
			"# With commit, date, Go version and platform",
			"kubectl scylla version -o json",
		),
		GroupID:               cli.GroupSetup,
		Args:                  cli.AtMost(0),
		DisableFlagsInUseLine: true,
		RunE:                  cli.Run(o),
	}
	cmd.Flags().StringVarP(&o.format, "output", "o", "", "Output format. One of: short, json, yaml.")
	_ = cmd.RegisterFlagCompletionFunc("output",
		cobra.FixedCompletions([]string{"short", "json", "yaml"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (*options) Complete(*cobra.Command, []string) error { return nil }

// Validate refuses unknown formats.
func (o *options) Validate(*cobra.Command) error {
	switch o.format {
	case "", "short", "json", "yaml":
		return nil
	}
	return exit.Usagef("unknown output format %q: use one of short, json, yaml", o.format)
}

// Run prints.
func (o *options) Run(context.Context) error {
	info := version.Get()
	doc := Document{APIVersion: document.APIVersion, Kind: "Version", Info: info}
	var text []byte
	var err error
	switch o.format {
	case "short":
		text = []byte(info.Version + "\n")
	case "json":
		text, err = json.MarshalIndent(doc, "", "    ")
		text = append(text, '\n')
	case "yaml":
		text, err = yaml.Marshal(doc)
	default:
		text = []byte(Text())
	}
	if err != nil {
		return fmt.Errorf("encode version: %w", err)
	}
	if _, err := o.d.Streams.Out.Write(text); err != nil {
		return fmt.Errorf("write version: %w", err)
	}
	return nil
}

// Text returns the output of the command and of the flag --version.
func Text() string {
	info := version.Get()
	text := fmt.Appendf(nil, "kubectl-scylla %s\n", info.Short())
	if info.Date != "" {
		text = fmt.Appendf(text, "built from a commit of %s\n", info.Date)
	}
	return string(fmt.Appendf(text, "%s, %s\n", info.GoVersion, info.Platform))
}
