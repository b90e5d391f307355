// SPDX-License-Identifier: Apache-2.0

// Package inject is `kubectl scylla inject`: it adds the barrier and its other parts to the
// StatefulSets of a manifest, or removes them, and prints the manifest. For a running cluster it
// does the same and rolls its nodes one by one. Package internal/setup/inject decides the changes
// and the next step; this package reads, prints, writes and waits.
package inject

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/version"
	"github.com/kubectl-scylla/kubectl-scylla/internal/credential"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/inject"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// limit is the maximum size of a manifest; Helm limits a whole release to 1 MiB.
var limit = bounded.Limit{Bytes: 16 << 20, Cure: "specify only the manifest of the ScyllaDB cluster"}

type options struct {
	d      *cli.Deps
	files  files
	output string
	policy string
	root   string
	undo   bool
	// floating accepts an image without a fixed version.
	floating bool
	o        inject.Options

	// Only for a running cluster.
	cluster string
	yes     bool
	dryRun  cli.DryRunFlag
	timeout time.Duration
	skip    []string
}

// NewCmd returns the command.
func NewCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d, dryRun: cli.DryRunNone}
	cmd := &cobra.Command{
		Use:   "inject -f FILE | CLUSTER",
		Short: "Add the reporter, barrier and launcher to a manifest or to a running cluster",
		Long: `Add the reporter, barrier and launcher to a manifest or to a running cluster.

It adds them, labels and RBAC rules to each StatefulSet of ScyllaDB, or names the field to fix and
changes nothing. Run "kubectl scylla install" first. To change the image, run inject again.
With -f it prints the changed manifest and applies nothing; for --root-credential=managed it prints
the command that creates the Secret.
With CLUSTER it shows the changes and asks for confirmation. If all nodes may restart (check
--for=upgrade), it records their host IDs, has ScyllaDB flush system.local, and evicts one Pod at a
time, when all nodes see each other UP. If interrupted, run it again to continue, or use --undo.
Exit code: 0 done, 2 refused, 4 a step exceeded --timeout, 130 interrupted, 1 error.`,
		Example: cli.Examples(
			"# A new cluster, protected from its first node on; -o diff shows the changes",
			"kubectl scylla inject -f scylladb.yaml --image registry.example.com/scylla-agent@sha256:DIGEST | "+
				"kubectl apply -f -",
			"",
			"# A running cluster: show the changes, apply them, revert them",
			"kubectl scylla inject shop -n inject --image registry.example.com/scylla-agent@sha256:DIGEST "+
				"--dry-run=client",
			"kubectl scylla inject shop -n inject --image registry.example.com/scylla-agent@sha256:DIGEST --yes",
			"kubectl scylla inject shop -n inject --undo --yes",
		),
		GroupID:               cli.GroupSetup,
		Args:                  cli.AtMost(1),
		ValidArgsFunction:     d.CompleteClusters,
		DisableFlagsInUseLine: true,
		RunE:                  cli.Run(o),
	}
	o.addFlags(cmd)
	return cmd
}

func (o *options) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	o.files.addFlags(cmd)
	f.StringVar(&o.o.Image, "image", version.AgentImage(), "Image of scylla-agent.")
	cli.AddFloatingTagFlag(cmd, &o.floating)
	f.StringVar(&o.o.Cluster, "cluster-label", "", "Value of label scylla/cluster, if it is not in the manifest.")
	f.StringVar(&o.o.Datacenter, "datacenter", "", "Datacenter name in ScyllaDB, if it is not in the manifest.")
	f.StringVar(&o.o.Rack, "rack", "", "Rack name in ScyllaDB, if it is not in the manifest.")
	f.StringVar(&o.o.ControllerNamespace, "controller-namespace", cli.DefaultControllerNamespace,
		"Namespace of the controller.")
	f.StringVar(&o.policy, "policy", "",
		"What a barrier requires to open. permits: status reports and a permit; the controller admits one new node "+
			"at a time. reports: status reports only. Default: as injected before, otherwise permits.")
	f.StringVar(&o.o.FeatureGates, "feature-gates", "",
		"BootstrapSynchronisation=true|false. false: barriers open at once and check nothing. Default: as before, "+
			"otherwise true.")
	f.StringVar(&o.root, "root-credential", "",
		"Root credential. verify: log in, change nothing. managed: create the role of Secret "+
			"CLUSTER-root-credential, and disable the default superuser. off: no container. Default: as before, "+
			"otherwise verify if ScyllaDB requires passwords.")
	f.BoolVar(&o.o.AnyVersion, "allow-version", false, cli.AllowVersionUsage)
	o.addOne(cmd)
	f.DurationVar(&o.o.Interval, "status-report-interval", 0,
		"How often a reporter polls its ScyllaDB, 1s to 30s; a status report is valid for twice as long. Default: "+
			"as injected before, otherwise 5s.")
	f.BoolVar(&o.undo, "undo", false, "Remove what inject added.")
	f.StringVarP(&o.output, "output", "o", "",
		"Output format. yaml: the manifest (default of -f). diff: the changes (default of CLUSTER).")
	f.BoolVarP(&o.yes, "yes", "y", false, cli.YesUsage)
	f.DurationVar(&o.timeout, "timeout", 10*time.Minute,
		"Timeout of one step, such as a node being UP again. Only with CLUSTER.")
	f.StringSliceVar(&o.skip, "skip-check", nil,
		"Checks to skip: data (a quorum of replicas per range), create (the API server accepts the new Pod). Only "+
			"with CLUSTER.")
	o.dryRun.AddFlag(cmd)
	cli.Rarely(cmd, "policy", "allow-floating-tag", "allow-version", "cluster-label", "controller-namespace",
		"datacenter", "feature-gates", "rack", "root-credential", "start-with-one",
		"status-report-interval")
	_ = cmd.RegisterFlagCompletionFunc("skip-check",
		cobra.FixedCompletions([]string{checkData, checkCreate}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("output",
		cobra.FixedCompletions([]string{"yaml", "diff"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("policy",
		cobra.FixedCompletions([]string{string(api.PolicyPermits), string(api.PolicyReports)},
			cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("root-credential",
		cobra.FixedCompletions([]string{string(credential.Off), string(credential.Verify), string(credential.Managed)},
			cobra.ShellCompDirectiveNoFileComp))
}

// Complete sets the namespace of objects that name none.
func (o *options) Complete(cmd *cobra.Command, args []string) error {
	ns, err := o.d.Namespace()
	if err != nil {
		return err
	}
	o.o.Namespace = ns
	o.o.Policy = api.Policy(o.policy)
	o.o.RootCredential = credential.Mode(o.root)
	if len(args) > 0 {
		o.cluster = args[0]
	}
	if o.undo && !cmd.Flags().Changed("image") {
		o.o.Image = ""
	}
	return nil
}

// Validate checks arguments and flags.
func (o *options) Validate(cmd *cobra.Command) error {
	switch {
	case !o.files.set() && o.cluster == "":
		return exit.Usagef(
			"specify a manifest with -f FILE (-f - for standard input) or -k DIRECTORY, or a running cluster")
	case (o.files.set() || o.files.recursive) && o.cluster != "":
		return exit.Usagef("-f, -k and -R cannot be used with the running cluster %q", o.cluster)
	case o.undo && o.o.Image != "":
		return exit.Usagef("--image cannot be used with --undo")
	case !o.undo && o.o.Image == "":
		return exit.Usagef("specify the image of scylla-agent with --image")
	case o.policy != "" && o.o.Policy != api.PolicyReports && o.o.Policy != api.PolicyPermits:
		return exit.Usagef("unknown --policy=%q: use one of permits, reports", o.policy)
	case o.o.FeatureGates != "" && o.undo:
		return exit.Usagef("--feature-gates cannot be used with --undo")
	case o.root != "" && !slices.Contains(inject.CredentialModes(), o.o.RootCredential):
		return exit.Usagef("unknown --root-credential=%q: use one of off, verify, managed", o.root)
	case o.root != "" && o.undo:
		return exit.Usagef("--root-credential cannot be used with --undo")
	case o.o.AnyVersion && o.undo:
		return exit.Usagef("--allow-version cannot be used with --undo")
	case cmd.Flags().Changed("status-report-interval") && !inject.IsInterval(o.o.Interval):
		return exit.Usagef("invalid --status-report-interval=%v: must be a duration from %v to %v", o.o.Interval,
			healthpolicy.LeastInterval, healthpolicy.MostInterval)
	case o.o.Interval != 0 && o.undo:
		return exit.Usagef("--status-report-interval cannot be used with --undo")
	case o.output != "" && o.output != "yaml" && o.output != "diff":
		return exit.Usagef("unknown output format %q: use one of yaml, diff", o.output)
	case o.cluster != "" && o.output == "yaml":
		return exit.Usagef("-o yaml requires -f: for a running cluster, inject shows the changes")
	case o.cluster != "" && o.o.Cluster != "":
		return exit.Usagef("--cluster-label requires -f: running cluster %s keeps its name", o.cluster)
	case slices.ContainsFunc(o.skip, func(s string) bool { return s != checkData && s != checkCreate }):
		return exit.Usagef("unknown --skip-check=%q: use one of data, create", strings.Join(o.skip, ","))
	}
	if o.cluster == "" {
		for _, name := range []string{"yes", "timeout", "skip-check", "dry-run"} {
			if cmd.Flags().Changed(name) {
				return exit.Usagef("--%s cannot be used with -f, which applies nothing", name)
			}
		}
	}
	if _, err := api.ParseFeatureGates(o.o.FeatureGates); err != nil {
		return exit.Usagef("--feature-gates: %w", err)
	}
	if err := o.checkOne(); err != nil || o.undo {
		return err
	}
	return cli.CheckImage(o.o.Image, o.floating)
}

// Run prints the changed manifest, or changes the running cluster.
func (o *options) Run(ctx context.Context) error {
	if o.cluster != "" {
		return o.runLive(ctx)
	}
	return o.runManifest(ctx)
}

func (o *options) runManifest(ctx context.Context) error {
	in, err := o.read(ctx)
	if err != nil {
		return err
	}
	m, err := inject.Stream(in, o.o, o.undo)
	if err != nil {
		return exit.Refused(err)
	}
	if len(m.Changes) == 0 {
		return exit.WithHint(
			exit.Refusedf(
				"%s: no StatefulSet runs ScyllaDB (a container named scylla, or with an image scylladb/scylla)",
				strings.Join(o.files.all(), ", ")),
			"check the file; for another image, name the container scylla")
	}
	if err := o.mayStartWithOne(ctx, m.HandedOver); err != nil {
		return err
	}
	out := m.Text
	if o.output == "diff" {
		out = diff(m.Changes)
	}
	if _, err := o.d.Streams.Out.Write(out); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	o.tell(m)
	if o.root != "" { // otherwise it exists since an earlier injection, or is lost
		for _, key := range m.Secrets {
			o.tellSecret(key)
		}
	}
	return nil
}

// tell prints the changes on standard error, with warnings about applying them.
func (o *options) tell(m *inject.Manifest) {
	done, none := "injected", "unchanged"
	if o.undo {
		done, none = "no longer injected", "not injected"
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
	o.tellCost(m.Changes)
}

// tellCost prints what each Pod of the changed StatefulSets requests more.
func (o *options) tellCost(changes []inject.Change) {
	for i := range changes {
		if c := &changes[i]; c.Cost != "" && c.Before != c.After {
			o.d.Say(c.Name + ": " + c.Cost + "\n")
		}
	}
}

func diff(changes []inject.Change) []byte {
	var out bytes.Buffer
	for _, c := range changes {
		out.WriteString(udiff.Unified(c.Name, c.Name+" injected", c.Before, c.After))
	}
	return out.Bytes()
}
