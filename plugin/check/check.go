// SPDX-License-Identifier: Apache-2.0

// Package check is `kubectl scylla check`: it checks that the components that guard joins are
// installed, correct and reachable. It only reads; package preflight judges. It never fixes
// anything.
package check

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/preflight"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// formats of -o.
var formats = []string{"json", "yaml", "junit"}

type options struct {
	d *cli.Deps
	// purpose is the value of --for; what names the member or the Kubernetes node.
	purpose, what string

	pre, anyVersion bool
	all             bool
	output          string
}

// NewCmd returns the command.
func NewCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d}
	cmd := &cobra.Command{
		Use:   "check [--for=restart MEMBER | --for=drain KUBERNETES_NODE | --for=scale|upgrade]",
		Short: "Check that joins are protected, or whether maintenance is safe now",
		Long: `Check that joins are protected, or whether maintenance is safe now. It changes nothing.

It checks CRDs, permissions, admission policy, controller, versions, Pod templates, Pods, probes,
seeds, PodDisruptionBudgets, images, member Services, DNS names, clocks and each reporter, or the
Scylla Operator and its barrier where only it has clusters. Each problem has a next step and a link.

--for checks whether an operation is safe now. It queries every node: each must see all others UP,
and no other operation may be in progress. While the nodes are stopped, every range must keep a
quorum of replicas, and every PodDisruptionBudget must allow it.

Exit code: 0 no check failed (warnings do not count), 3 a check failed or could not run (with --for:
not safe now), 2 no such member or Kubernetes node, or --allow-version is required, 1 error.`,
		Example: cli.Examples(
			"# Are the prerequisites of install and inject met?",
			"kubectl scylla check --pre -n demo",
			"",
			"# Is every join in namespace demo protected?",
			"kubectl scylla check -n demo",
			"",
			"# Is it safe to restart this node, or to drain this Kubernetes node?",
			"kubectl scylla check -n demo --for=restart rack1/0",
			"kubectl scylla check -n demo --for=drain worker-9",
			"",
			"# Is it safe to add a node, or to upgrade?",
			"kubectl scylla check -n demo --for=scale",
			"kubectl scylla check -n demo --for=upgrade -o json",
			"",
			"# For a CI pipeline",
			"kubectl scylla check -n demo -o junit > check.xml",
		),
		GroupID:               cli.GroupInspect,
		Args:                  cli.AtMost(1),
		ValidArgsFunction:     d.CompleteMembers,
		DisableFlagsInUseLine: true,
		RunE:                  cli.Run(o),
	}
	f := cmd.Flags()
	f.BoolVar(&o.pre, "pre", false, "Check the prerequisites of install and inject.")
	f.BoolVar(&o.anyVersion, "allow-version", false, cli.AllowVersionUsage)
	f.StringVar(&o.purpose, "for", "", "Operation to check. One of: "+strings.Join(preflight.Purposes(), ", ")+".")
	_ = cmd.RegisterFlagCompletionFunc("for",
		cobra.FixedCompletions(preflight.Purposes(), cobra.ShellCompDirectiveNoFileComp))
	f.BoolVarP(&o.all, "all-namespaces", "A", false, cli.AllNamespacesUsage)
	f.StringVarP(&o.output, "output", "o", "", "Output format. One of: "+strings.Join(formats, ", ")+".")
	cmd.MarkFlagsMutuallyExclusive("for", "pre")
	cmd.MarkFlagsMutuallyExclusive("for", "all-namespaces")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// Complete sets the member or the Kubernetes node.
func (o *options) Complete(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		o.what = args[0]
	}
	return nil
}

// Validate checks arguments and flags.
func (o *options) Validate(*cobra.Command) error {
	if o.output != "" && !slices.Contains(formats, o.output) {
		return exit.Usagef("unknown output format %q: use one of %s", o.output, strings.Join(formats, ", "))
	}
	named := o.purpose == preflight.ForRestart || o.purpose == preflight.ForDrain
	switch {
	case o.purpose != "" && !slices.Contains(preflight.Purposes(), o.purpose):
		return exit.Usagef("unknown --for=%q: use one of %s", o.purpose, strings.Join(preflight.Purposes(), ", "))
	case o.anyVersion && !o.pre:
		return exit.Usagef("--allow-version requires --pre")
	case named && o.what == "":
		return exit.Usagef("--for=%s requires a member (restart) or a Kubernetes node (drain)", o.purpose)
	case !named && o.what != "":
		return exit.Usagef("unexpected argument %q: only --for=restart and --for=drain take a name", o.what)
	}
	return nil
}

// Run reads, judges and shows the results.
func (o *options) Run(ctx context.Context) error {
	if o.purpose != "" {
		return o.safeNow(ctx)
	}
	p := o.d.Busy("checking")
	in, err := o.gather(ctx)
	p.Stop()
	if err != nil {
		return err
	}
	return o.end(preflight.Check(in))
}

// end shows the results and returns the verdict.
func (o *options) end(results []preflight.Result) error {
	if err := o.print(results); err != nil {
		return err
	}
	if i := slices.IndexFunc(results, func(r preflight.Result) bool {
		return r.Text.Code == words.ScyllaVersionNoQuery && r.State == preflight.Failed
	}); i >= 0 {
		return exit.WithStep(exit.Refusedf("%s: %s", results[i].Subject, words.Text(results[i].Text)), results[i].Step)
	}
	if worst := preflight.Worst(results); worst == preflight.Failed || worst == preflight.Unknown {
		return exit.ConditionNotMet(nil)
	}
	return nil
}

func (o *options) print(results []preflight.Result) error {
	var b []byte
	var err error
	switch o.output {
	case "json":
		b, err = json.MarshalIndent(newDocument(results, o.d.Words()), "", "    ")
		b = append(words.VisibleJSON(b), '\n')
	case "yaml":
		b, err = yaml.Marshal(newDocument(results, o.d.Words()))
		b = []byte(words.Visible(string(b)))
	case "junit":
		b, err = xml.MarshalIndent(newSuite(results), "", "  ")
		b = []byte(xml.Header + words.VisibleMarkup(string(b)) + "\n")
	default:
		opts := o.d.Options(false)
		return o.d.Print(text(results), opts)
	}
	if err != nil {
		return fmt.Errorf("encode results: %w", err)
	}
	if _, err := o.d.Streams.Out.Write(b); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return nil
}

// report is the document of -o json and -o yaml.
type report struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	State      preflight.State `json:"state"`
	Results    []result        `json:"results"`
}

type result struct {
	Check   string          `json:"check"`
	Subject string          `json:"subject,omitempty"`
	State   preflight.State `json:"state"`
	Text    words.Message   `json:"text"`
	Step    words.Message   `json:"step,omitzero"`
	// Link is the page about a result with a step.
	Link string `json:"link,omitempty"`
}

func newDocument(results []preflight.Result, p words.Printer) *report {
	d := &report{APIVersion: document.APIVersion, Kind: "Check", State: preflight.Worst(results), Results: []result{}}
	for _, r := range results {
		d.Results = append(d.Results, result{r.Check, r.Subject, r.State, p.Flagged(r.Text), p.Flagged(r.Step),
			link(r)})
	}
	return d
}

// link returns the page about a result with a step, else "".
func link(r preflight.Result) string {
	if r.Step.IsZero() {
		return ""
	}
	return words.Link(r.Text.Code)
}

// suite is the JUnit format for pipelines: a warning is a passed case with output.
type suite struct {
	XMLName  xml.Name   `xml:"testsuite"`
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Cases    []testcase `xml:"testcase"`
}

type testcase struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Failure *trouble `xml:"failure,omitempty"`
	Error   *trouble `xml:"error,omitempty"`
	Output  string   `xml:"system-out,omitempty"`
}

type trouble struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func newSuite(results []preflight.Result) *suite {
	s := &suite{Name: "kubectl scylla check", Tests: len(results)}
	for _, r := range results {
		c := testcase{Class: r.Check, Name: strings.TrimSpace(r.Check + " " + r.Subject)}
		t := &trouble{Message: words.Text(r.Text), Text: strings.TrimSpace(words.Text(r.Step) + "\n" + link(r))}
		switch r.State {
		case preflight.Failed:
			c.Failure = t
			s.Failures++
		case preflight.Unknown:
			c.Error = t
			s.Errors++
		case preflight.Warning:
			c.Output = "warning: " + t.Message
		case preflight.OK:
			c.Output = t.Message
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}

// text returns one line per result, the verdict first, with the next step below its result.
func text(results []preflight.Result) string {
	count := map[preflight.State]int{}
	for _, r := range results {
		count[r.State]++
	}
	var b strings.Builder
	warnings := words.Count(count[preflight.Warning], "warning", "warnings")
	switch failed, unknown := count[preflight.Failed], count[preflight.Unknown]; {
	case failed+unknown == 0:
		fmt.Fprintf(&b, "%s: %s, %s\n\n", show.Good.Paint("ok"), words.Count(len(results), "check", "checks"), warnings)
	default:
		fmt.Fprintf(&b, "%s: %d of %s failed, %d could not run, %s\n\n", show.Bad.Paint("not ok"), failed,
			words.Count(len(results), "check", "checks"), unknown, warnings)
	}
	look := map[preflight.State]show.Style{preflight.Failed: show.Bad, preflight.Unknown: show.Warn,
		preflight.Warning: show.Warn, preflight.OK: show.Good}
	for _, r := range results {
		subject := r.Subject
		if subject != "" {
			subject += ": "
		}
		fmt.Fprintf(&b, "%s  %-11s  %s%s\n", look[r.State].Paint(fmt.Sprintf("%-7s", r.State)), r.Check,
			show.Clean(subject), words.Text(r.Text))
		if !r.Step.IsZero() {
			fmt.Fprintf(&b, "%[1]s%[2]s\n%[1]s%[3]s\n", strings.Repeat(" ", 22), words.Text(r.Step),
				show.Dim.Paint(link(r)))
		}
	}
	return b.String()
}
