// SPDX-License-Identifier: Apache-2.0

// Package check is `kubectl scylla check`: it checks that the components that guard joins are
// installed, correct and reachable. It only reads; package preflight judges. It never fixes
// anything.
package check

import (
	"context"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/preflight"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// formatJUnit is the format of pipelines.
const formatJUnit = "junit"

type options struct {
	d *cli.Deps
	// purpose is the value of --for; what names the members or the Kubernetes node. datacenter and
	// rack select the members of a decommission instead.
	purpose          string
	what             []string
	datacenter, rack string

	// read has --from; saved objects answer only --for.
	read cli.ReadFlags

	pre, anyVersion bool
	all             bool
	output          cli.OutputFlags
	plain           cli.PlainFlag
}

// NewCmd returns the command.
func NewCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d}
	cmd := &cobra.Command{
		Use: "check [--for=restart MEMBER | --for=drain KUBERNETES_NODE | --for=scale|upgrade | " +
			"--for=decommission MEMBER...]",
		Short: "Check that joins are protected, or whether maintenance is safe now",
		Long: `Check that joins are protected, or whether maintenance is safe now. It changes nothing.

It checks the installation, permissions, versions, Pods, seeds, PodDisruptionBudgets, names, clocks
and each reporter, or the Scylla Operator and its barrier. Each problem has a next step and a link.

--for checks whether an operation is safe now. It queries every node: each must see all others UP,
and no other operation may be in progress. While the nodes are stopped, every range must keep a
quorum of replicas, and every PodDisruptionBudget must allow it. --for=decommission instead checks
that Kubernetes can remove the Pods, and that the other nodes have a place for every replica.
With --from it checks saved objects: what only a node can answer is unknown.

Exit code: 0 no check failed (warnings do not count), 3 a check failed, or its result is unknown
(with --for: not safe now), 2 no such member, or --allow-version is required, 1 error.`,
		Example: cli.Examples(
			"# Are the prerequisites met, and is every join in namespace demo protected?",
			"kubectl scylla check --pre -n demo",
			"kubectl scylla check -n demo -o junit > check.xml",
			"",
			"# Is it safe to restart this node, or to drain this Kubernetes node?",
			"kubectl scylla check -n demo --for=restart rack1/0",
			"kubectl scylla check -n demo --for=drain worker-9",
			"",
			"# May this datacenter leave, and in which steps?",
			"kubectl scylla check -n demo --for=decommission --datacenter=dc2",
		),
		GroupID:               cli.GroupInspect,
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
	f.StringVar(&o.datacenter, "datacenter", "", "Datacenter that may leave, with --for=decommission.")
	f.StringVar(&o.rack, "rack", "", "Rack that may leave, with --for=decommission.")
	_ = cmd.RegisterFlagCompletionFunc("datacenter", d.CompleteDatacenters)
	f.BoolVarP(&o.all, "all-namespaces", "A", false, cli.AllNamespacesUsage)
	o.read.AddFromFlag(cmd)
	o.output.NoName = true
	o.output.AddFlags(cmd, formatJUnit)
	o.plain.AddFlag(cmd)
	cmd.MarkFlagsMutuallyExclusive("for", "pre")
	cmd.MarkFlagsMutuallyExclusive("for", "all-namespaces")
	return cmd
}

// Complete sets the member or the Kubernetes node.
func (o *options) Complete(_ *cobra.Command, args []string) error {
	o.what = args
	o.d.ReadsFiles = o.purpose != "" // else an error must not suggest --from
	return nil
}

// Validate checks arguments and flags.
func (o *options) Validate(*cobra.Command) error {
	if err := o.output.Validate(); err != nil {
		return err
	}
	if err := o.plain.Validate(&o.output); err != nil {
		return err
	}
	most, chosen := 0, o.datacenter+o.rack != ""
	switch o.purpose {
	case preflight.ForRestart, preflight.ForDrain:
		most = 1
	case preflight.ForDecommission:
		most = len(o.what)
	}
	leaves := o.purpose == preflight.ForDecommission
	switch {
	case o.purpose != "" && !slices.Contains(preflight.Purposes(), o.purpose):
		return exit.Usagef("unknown --for=%q: use one of %s", o.purpose, strings.Join(preflight.Purposes(), ", "))
	case o.read.From != "" && o.purpose == "":
		return exit.Usagef("--from requires --for: the other checks query the API server")
	case o.anyVersion && !o.pre:
		return exit.Usagef("--allow-version requires --pre")
	case chosen && !leaves:
		return exit.Usagef("--datacenter and --rack require --for=%s", preflight.ForDecommission)
	case leaves && chosen == (len(o.what) > 0):
		return exit.Usagef("--for=%s requires members, or a --datacenter or --rack", o.purpose)
	case most == 1 && len(o.what) == 0 && o.purpose == preflight.ForDrain:
		return exit.WithHint(exit.Usagef("--for=drain requires a Kubernetes node: --for=drain KUBERNETES_NODE"),
			"list the Kubernetes nodes", words.Kubectl("", "get", "nodes")...)
	case most == 1 && len(o.what) == 0:
		return exit.WithHint(exit.Usagef("--for=restart requires a member: --for=restart MEMBER"),
			"list the members", words.Scylla(o.d.NamespaceGiven(), "status")...)
	case len(o.what) > most:
		return exit.Usagef("unexpected argument %q: --for=restart and --for=drain take one name, "+
			"--for=decommission takes several", o.what[most])
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
	return o.end(preflight.Check(in), nil)
}

// end shows the results, and the steps of the action if it has several, and returns the verdict.
func (o *options) end(results []preflight.Result, steps []words.Message) error {
	if err := o.print(results, steps); err != nil {
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

func (o *options) print(results []preflight.Result, steps []words.Message) error {
	if !o.output.Text() {
		return o.output.Document(o.d, newDocument(results, steps, o.d.Words()))
	}
	switch opts := o.d.Options(false); {
	case o.plain.NoHeaders:
		return o.d.Print(lines(results), opts)
	case o.output.Format() != formatJUnit:
		return o.d.Print(text(results, o.d.Words())+ordered(steps, o.d.Words()), opts)
	}
	b, err := xml.MarshalIndent(newSuite(results), "", "  ")
	if err != nil {
		return fmt.Errorf("encode results: %w", err)
	}
	if _, err := o.d.Streams.Out.Write([]byte(xml.Header + words.VisibleMarkup(string(b)) + "\n")); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return nil
}

// lines returns one line per result for awk, in the columns show.PlainChecks.
func lines(results []preflight.Result) string {
	rows := make([][]string, len(results))
	for i, r := range results {
		rows[i] = []string{string(r.State), r.Check, r.Subject, string(r.Text.Code)}
	}
	return show.ScriptTable(rows)
}

// report is the document of -o json and -o yaml.
type report struct {
	metav1.TypeMeta `json:",inline"`
	State           preflight.State `json:"state"`
	Results         []result        `json:"results"`
	// Steps are the steps of --for=decommission in their order.
	Steps []words.Message `json:"steps"`
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

func newDocument(results []preflight.Result, steps []words.Message, p words.Printer) *report {
	d := &report{TypeMeta: metav1.TypeMeta{APIVersion: document.APIVersion, Kind: "Check"},
		State: preflight.Worst(results)}
	for _, r := range results {
		d.Results = append(d.Results, result{r.Check, r.Subject, r.State, p.Flagged(r.Text), p.Flagged(r.Step),
			link(r)})
	}
	for _, step := range steps {
		d.Steps = append(d.Steps, p.Flagged(step))
	}
	return d
}

// DeepCopyObject implements runtime.Object for the printers of cli-runtime.
func (r *report) DeepCopyObject() runtime.Object { return document.DeepCopy(r) }

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
func text(results []preflight.Result, p words.Printer) string {
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
			show.Clean(subject), p.Text(r.Text))
		if !r.Step.IsZero() {
			fmt.Fprintf(&b, "%[1]s%[2]s\n%[1]s%[3]s\n", strings.Repeat(" ", 22), p.Text(r.Step),
				show.Dim.Paint(link(r)))
		}
	}
	return b.String()
}

// ordered returns the steps as a numbered list; empty without any.
func ordered(steps []words.Message, p words.Printer) string {
	var b strings.Builder
	for i, step := range steps {
		if i == 0 {
			b.WriteString("\nIn this order:\n")
		}
		fmt.Fprintf(&b, "%2d. %s\n", i+1, p.Text(step))
	}
	return b.String()
}
