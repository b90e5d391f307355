// SPDX-License-Identifier: Apache-2.0

// Package inject is `kubectl scylla inject`: it adds the guards of joins to the StatefulSets of a manifest, or removes them again, and prints the manifest; or it does so in a
// running cluster, and rolls its nodes one after the other. Package internal/setup/inject decides the changes and the next step; this package reads, prints, writes and waits.
package inject

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/version"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/inject"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// limit is the maximum size of a manifest; Helm's own is 1 MiB for a whole release.
var limit = bounded.Limit{Bytes: 16 << 20, Cure: "give the manifest of the ScyllaDB cluster only"}

type options struct {
	d      *cli.Deps
	files  []string
	output string
	policy string
	silent string
	undo   bool
	// floating accepts an image without a fixed version.
	floating bool
	o        inject.Options

	// Of a cluster that runs.
	cluster string
	yes     bool
	dryRun  cli.DryRunFlag
	timeout time.Duration
	skip    []string
}

// NewCmd makes the verb.
func NewCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d, dryRun: cli.DryRunNone}
	cmd := &cobra.Command{
		Use:   "inject -f FILE | CLUSTER",
		Short: "Guard joins: add reporter, barrier and launcher to a manifest, or to a cluster that runs",
		Long: `Add to every StatefulSet of ScyllaDB what guards its joins: the reporter (a sidecar), the
query and the barrier (init containers), the launcher (it starts ScyllaDB with the right
seeds), the labels by which the controller finds it, and the rights. It refuses, with the
field and the cure, where the result could not be right: then nothing is done. Injecting
again changes what has changed, the image for one; --undo takes everything out.
Install the kinds, the rights and the controller first (kubectl scylla install).
The counts stay yours: only the annotation kubectl-scylla.scylladb.com/wanted-replicas hands
one to the controller, which then starts with one member and raises rack by rack.

With -f it prints the manifest and applies nothing; everything else in it stays as it was.

With CLUSTER it changes the StatefulSets that run, and rolls their nodes. It shows what will
change and asks. Before anything is rolled, every node is asked whether it may be restarted
(kubectl scylla check --for=upgrade), its host ID is recorded, and its ScyllaDB writes
system.local to its disk. Then node by node: it is asked again (check --for=restart), its
Pod is evicted, so that disruption budgets hold, and before the next one every node must see
every node UP. Meanwhile the update strategy is OnDelete, and is put back in the end. Where
it is stopped, at any moment, the same command goes on, and --undo goes back.

Exit code: 0 done, 2 refused, 4 something took longer than --timeout, 130 interrupted, 1 error.`,
		Example: cli.Examples(
			"# See what would change",
			"kubectl scylla inject -f scylladb.yaml --image registry.example.com/scylla-agent@sha256:DIGEST -o diff",
			"",
			"# A new cluster, guarded from its first node on",
			"kubectl scylla inject -f scylladb.yaml --image registry.example.com/scylla-agent@sha256:DIGEST | kubectl apply -f -",
			"",
			"# Take everything out of the manifest again",
			"kubectl scylla inject -f injected.yaml --undo > scylladb.yaml",
			"",
			"# A cluster that runs: see what would change, then guard it node by node, and back",
			"kubectl scylla inject shop -n inject --image registry.example.com/scylla-agent@sha256:DIGEST --dry-run=client",
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
	f.StringArrayVarP(&o.files, "filename", "f", nil, "Manifest, YAML or JSON; - is standard input. May be repeated.")
	f.StringVar(&o.o.Image, "image", version.AgentImage(), "Image of scylla-agent.")
	cli.AddFloatingTagFlag(cmd, &o.floating)
	f.StringVar(&o.o.Cluster, "cluster-label", "", "Value of label scylla/cluster, where the manifest does not say it.")
	f.StringVar(&o.o.Datacenter, "datacenter", "", "ScyllaDB's name of the datacenter, where the manifest does not say it.")
	f.StringVar(&o.o.Rack, "rack", "", "ScyllaDB's name of the rack, where the manifest does not say it.")
	f.StringVar(&o.o.ControllerNamespace, "controller-namespace", cli.DefaultControllerNamespace, "Namespace of the controller.")
	f.StringVar(&o.policy, "policy", "", "What the barriers go by. permits: a permit of the controller, one newcomer at a time, beside the reports. reports: the reports alone. Not given, it stays as it was injected, and is permits otherwise.")
	f.StringVar(&o.silent, "when-controller-silent", "", "What barriers that go by permits do while no controller leads. Wait: for one. Peers: a node joins by the members alone. Not given, it stays as it was injected, and is the cluster's health policy's otherwise.")
	f.StringVar(&o.o.Heartbeat, "heartbeat", "", "How the controller learns that a reporter still asks its ScyllaDB. poll: it asks each 2s. lease: it watches a Lease of the Pod, where a network forbids it to ask. Not given, it stays as it was injected, and is poll otherwise.")
	f.BoolVar(&o.o.AnyVersion, "allow-version", false, "Take a ScyllaDB older than 2025.2.0, whose disk cannot be queried: a restart is then known as one only while the API server and the other nodes answer.")
	f.DurationVar(&o.o.Interval, "status-report-interval", 0, "How often a reporter asks its ScyllaDB, 1s to 30s; a row counts for twice as long. Not given, it stays as it was injected, and is 5s otherwise.")
	f.BoolVar(&o.undo, "undo", false, "Take out what was injected.")
	f.StringVarP(&o.output, "output", "o", "", "yaml: the manifest, the default of -f. diff: what changes, the default of CLUSTER.")
	f.BoolVarP(&o.yes, "yes", "y", false, "Do not ask. Of CLUSTER.")
	f.DurationVar(&o.timeout, "timeout", 10*time.Minute, "How long to wait for one thing, as for a node to be UP again. Of CLUSTER.")
	f.StringSliceVar(&o.skip, "skip-check", nil, "Do not look whether every range keeps a quorum of copies: data. Of CLUSTER.")
	o.dryRun.AddFlag(cmd)
	_ = cmd.RegisterFlagCompletionFunc("skip-check", cobra.FixedCompletions([]string{checkData}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"yaml", "diff"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("policy", cobra.FixedCompletions([]string{string(api.PolicyPermits), string(api.PolicyReports)}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("when-controller-silent", cobra.FixedCompletions([]string{string(api.WhenSilentWait), string(api.WhenSilentPeers)}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("heartbeat", cobra.FixedCompletions([]string{inject.HeartbeatPoll, inject.HeartbeatLease}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json")
}

// Complete finds the namespace of objects that name none.
func (o *options) Complete(cmd *cobra.Command, args []string) error {
	ns, err := o.d.Namespace()
	if err != nil {
		return err
	}
	o.o.Namespace = ns
	o.o.Policy = api.Policy(o.policy)
	o.o.WhenSilent = api.WhenSilent(o.silent)
	if len(args) > 0 {
		o.cluster = args[0]
	}
	if o.undo && !cmd.Flags().Changed("image") {
		o.o.Image = ""
	}
	return nil
}

// Validate refuses arguments and flags that do not fit together.
func (o *options) Validate(cmd *cobra.Command) error {
	switch {
	case len(o.files) == 0 && o.cluster == "":
		return exit.Usagef("give the manifest with -f FILE, or -f - for standard input, or the name of a cluster that runs")
	case len(o.files) > 0 && o.cluster != "":
		return exit.Usagef("-f FILE does not go with the name of a cluster that runs, and %q is one", o.cluster)
	case o.undo && o.o.Image != "":
		return exit.Usagef("--image does not go with --undo, which adds nothing")
	case !o.undo && o.o.Image == "":
		return exit.Usagef("give the image of scylla-agent with --image")
	case o.policy != "" && o.o.Policy != api.PolicyReports && o.o.Policy != api.PolicyPermits:
		return exit.Usagef("policy %q is not known: use one of permits, reports", o.policy)
	case o.silent != "" && o.o.WhenSilent != api.WhenSilentWait && o.o.WhenSilent != api.WhenSilentPeers:
		return exit.Usagef("--when-controller-silent %q is not known: use one of %s, %s", o.silent, api.WhenSilentWait, api.WhenSilentPeers)
	case o.silent != "" && o.policy == string(api.PolicyReports):
		return exit.Usagef("--when-controller-silent is of --policy=%s: by reports, barriers need no controller's view", api.PolicyPermits)
	case o.silent != "" && o.undo:
		return exit.Usagef("--when-controller-silent does not go with --undo, which adds nothing")
	case o.o.Heartbeat != "" && o.o.Heartbeat != inject.HeartbeatPoll && o.o.Heartbeat != inject.HeartbeatLease:
		return exit.Usagef("--heartbeat %q is not known: use one of %s, %s", o.o.Heartbeat, inject.HeartbeatPoll, inject.HeartbeatLease)
	case o.o.Heartbeat != "" && o.undo:
		return exit.Usagef("--heartbeat does not go with --undo, which adds nothing")
	case o.o.AnyVersion && o.undo:
		return exit.Usagef("--allow-version does not go with --undo, which adds nothing")
	case cmd.Flags().Changed("status-report-interval") && !inject.IsInterval(o.o.Interval):
		return exit.Usagef("--status-report-interval is %v: give a duration from %v to %v", o.o.Interval, healthpolicy.LeastInterval, healthpolicy.MostInterval)
	case o.o.Interval != 0 && o.undo:
		return exit.Usagef("--status-report-interval does not go with --undo, which adds nothing")
	case o.output != "" && o.output != "yaml" && o.output != "diff":
		return exit.Usagef("output format %q is not known: use one of yaml, diff", o.output)
	case o.cluster != "" && o.output == "yaml":
		return exit.Usagef("-o yaml is of -f FILE: of a cluster that runs the difference is shown")
	case o.cluster != "" && o.o.Cluster != "":
		return exit.Usagef("--cluster-label is of -f FILE: a cluster that runs keeps the name %s, by which it was found", o.cluster)
	case slices.ContainsFunc(o.skip, func(s string) bool { return s != checkData }):
		return exit.Usagef("--skip-check %q is not known: use data", strings.Join(o.skip, ","))
	}
	if o.cluster == "" {
		for _, name := range []string{"yes", "timeout", "skip-check", "dry-run"} {
			if cmd.Flags().Changed(name) {
				return exit.Usagef("--%s is of a cluster that runs: with -f nothing is applied", name)
			}
		}
	}
	if o.undo {
		return nil
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
		return exit.WithHint(exit.Refusedf("%s: no StatefulSet there runs ScyllaDB (a container named scylla, or one with an image scylladb/scylla)", strings.Join(o.files, ", ")),
			"check the file; a container of ScyllaDB under another image is known by its name")
	}
	out := m.Text
	if o.output == "diff" {
		out = diff(m.Changes)
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
		return nil, exit.WithHint(fmt.Errorf("read manifest: %w", err), "check the path after -f; - is standard input")
	}
	defer func() { _ = f.Close() }() // only read from
	b, err := limit.Read(f, name)
	if err != nil {
		return nil, fmt.Errorf("read manifest %s: %w", name, err)
	}
	return b, nil
}

// tell reports the changes on standard error, with warnings about applying them.
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

func diff(changes []inject.Change) []byte {
	var out bytes.Buffer
	for _, c := range changes {
		out.WriteString(udiff.Unified(c.Name, c.Name+" injected", c.Before, c.After))
	}
	return out.Bytes()
}
