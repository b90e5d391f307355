// SPDX-License-Identifier: Apache-2.0

// Package inject is `kubectl scylla inject`: it adds what guards joins to the StatefulSets of a manifest, or takes it out again, and prints the manifest.
// What is added is decided by package internal/inject; this package reads, prints and tells.
package inject

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"github.com/spf13/cobra"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/inject"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// limit is what a manifest may be; Helm's own is 1 MiB for a whole release.
var limit = bounded.Limit{Bytes: 16 << 20, Cure: "give the manifest of the ScyllaDB cluster only"}

type options struct {
	d      *cli.Deps
	files  []string
	output string
	policy string
	undo   bool
	o      inject.Options
}

// NewCmd makes the verb.
func NewCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d}
	cmd := &cobra.Command{
		Use:   "inject -f FILE",
		Short: "Add reporter, barrier and launcher to a manifest of ScyllaDB",
		Long: `Add to every StatefulSet of ScyllaDB in a manifest what guards its joins: the reporter
(a sidecar), the query and the barrier (init containers), the launcher (it starts ScyllaDB
with the right seeds), the labels by which the controller finds it, and the rights.
Everything else is printed as it was.

It prints the manifest and applies nothing. Injecting again changes what has changed, the
image for one; --undo takes everything out. It refuses, with the field and the cure, where
the result could not be right: then nothing is printed.

Install the kinds, the rights and the controller first (kubectl scylla install). The Pods
of a cluster that runs are replaced once the manifest is applied, those of several racks
at the same time: apply one StatefulSet, wait until "kubectl scylla status --wait" says
HEALTHY, and only then apply the next.`,
		Example: cli.Examples(
			"# See what would change",
			"kubectl scylla inject -f scylladb.yaml --image localhost/scylla-agent:dev -o diff",
			"",
			"# A new cluster, guarded from its first node on",
			"kubectl scylla inject -f scylladb.yaml --image localhost/scylla-agent:dev | kubectl apply -f -",
			"",
			"# Take everything out of the manifest again",
			"kubectl scylla inject -f injected.yaml --undo > scylladb.yaml",
		),
		GroupID:               cli.GroupSetup,
		Args:                  cli.AtMost(0),
		DisableFlagsInUseLine: true,
		RunE:                  cli.Run(o),
	}
	f := cmd.Flags()
	f.StringArrayVarP(&o.files, "filename", "f", nil, "Manifest, YAML or JSON; - is standard input. May be repeated.")
	f.StringVar(&o.o.Image, "image", "", "Image of scylla-agent.")
	f.StringVar(&o.o.Cluster, "cluster-label", "", "Value of label scylla/cluster, where the manifest does not say it.")
	f.StringVar(&o.o.Datacenter, "datacenter", "", "ScyllaDB's name of the datacenter, where the manifest does not say it.")
	f.StringVar(&o.o.Rack, "rack", "", "ScyllaDB's name of the rack, where the manifest does not say it.")
	f.StringVar(&o.o.ControllerNamespace, "controller-namespace", cli.DefaultControllerNamespace, "Namespace of the controller.")
	f.StringVar(&o.policy, "policy", string(api.PolicyReports), "What the barriers go by. reports: the reports alone. permits: a permit of the controller as well, one newcomer at a time.")
	f.BoolVar(&o.undo, "undo", false, "Take out what was injected.")
	f.StringVarP(&o.output, "output", "o", "yaml", "yaml: the manifest. diff: what changes in it.")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"yaml", "diff"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("policy", cobra.FixedCompletions([]string{string(api.PolicyReports), string(api.PolicyPermits)}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json")
	return cmd
}

// Complete finds the namespace of objects that name none.
func (o *options) Complete(*cobra.Command, []string) error {
	ns, err := o.d.Namespace()
	if err != nil {
		return err
	}
	o.o.Namespace = ns
	if o.policy == string(api.PolicyPermits) {
		o.o.Policy = api.PolicyPermits // the other one is the barrier's own default
	}
	return nil
}

// Validate refuses what does not go together.
func (o *options) Validate(*cobra.Command) error {
	switch {
	case len(o.files) == 0:
		return exit.Usagef("give the manifest with -f FILE, or -f - for standard input")
	case o.undo && o.o.Image != "":
		return exit.Usagef("--image does not go with --undo, which adds nothing")
	case !o.undo && o.o.Image == "":
		return exit.Usagef("give the image of scylla-agent with --image")
	case o.policy != string(api.PolicyReports) && o.policy != string(api.PolicyPermits):
		return exit.Usagef("policy %q is not known: use one of reports, permits", o.policy)
	case o.output != "yaml" && o.output != "diff":
		return exit.Usagef("output format %q is not known: use one of yaml, diff", o.output)
	}
	return nil
}

// Run prints the changed manifest.
func (o *options) Run(ctx context.Context) error {
	var in bytes.Buffer
	for _, name := range o.files {
		b, err := bounded.Until(ctx, func() ([]byte, error) { return o.read(name) })
		if err != nil {
			if ctx.Err() != nil {
				return exit.Interrupted(fmt.Errorf("read %s: %w", name, context.Cause(ctx)))
			}
			return err
		}
		if in.Len() > 0 {
			in.WriteString("\n---\n")
		}
		in.Write(b)
	}
	m, err := inject.Stream(in.Bytes(), o.o, o.undo)
	if err != nil {
		return exit.Refused(err)
	}
	if len(m.Changes) == 0 {
		return exit.Refusedf("%s: no StatefulSet there runs ScyllaDB (a container named scylla, or one with an image scylladb/scylla)", strings.Join(o.files, ", "))
	}
	out := m.Text
	if o.output == "diff" {
		if out, err = diff(m.Changes); err != nil {
			return err
		}
	}
	if _, err := o.d.Streams.Out.Write(out); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	o.tell(m)
	return nil
}

func (o *options) read(name string) ([]byte, error) {
	if name == "-" {
		return limit.Read(o.d.Streams.In, "the manifest")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	defer func() { _ = f.Close() }() // only read from
	b, err := limit.Read(f, name)
	if err != nil {
		return nil, fmt.Errorf("read manifest %s: %w", name, err)
	}
	return b, nil
}

// tell says on standard error what was done, and what to know before it is applied.
func (o *options) tell(m *inject.Manifest) {
	done, none := "injected", "was injected before, nothing changes"
	if o.undo {
		done, none = "no longer injected", "was not injected"
	}
	for i := range m.Changes {
		c := &m.Changes[i]
		if c.Before == c.After {
			o.d.Say(c.Name + " " + none + "\n")
		} else {
			o.d.Say(c.Name + " " + done + "\n")
		}
		for _, n := range c.Notes {
			o.d.Warn("%s: %s", c.Name, n)
		}
	}
	for _, a := range m.Added {
		o.d.Say(a + " added\n")
	}
}

func diff(changes []inject.Change) ([]byte, error) {
	var out bytes.Buffer
	for i := range changes {
		c := &changes[i]
		err := difflib.WriteUnifiedDiff(&out, difflib.UnifiedDiff{
			A: difflib.SplitLines(c.Before), B: difflib.SplitLines(c.After), FromFile: c.Name, ToFile: c.Name + " injected", Context: 3,
		})
		if err != nil {
			return nil, fmt.Errorf("compare %s: %w", c.Name, err)
		}
	}
	return out.Bytes(), nil
}
