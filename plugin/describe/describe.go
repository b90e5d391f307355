// SPDX-License-Identifier: Apache-2.0

// Package describe is `kubectl scylla describe`: all facts about one node, on one screen. It
// changes nothing and judges nothing: the diagnosis comes from package diagnosis.
package describe

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/support"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

type options struct {
	cli.Argument
	d      *cli.Deps
	read   cli.ReadFlags
	output cli.OutputFlags
	log    string
}

// NewCmd returns the command.
func NewCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d}
	cmd := cli.NewCmd(&cobra.Command{
		Use:     "describe [MEMBER]",
		Aliases: []string{"node"},
		Short:   "Show details of one node: status, Pod, log, Events and next step",
		Long: `Show details of one node: status, Pod, log, Events and next step.

It shows the node's problems and the next step, which nodes see it and which nodes it sees, its Pod,
containers, restarts, PVC, Kubernetes node and IP, the last errors of its log with their meaning,
and its Events. With --from it shows the content of an archive. It lists what it could not read.

` + cli.MemberForms + `
The host ID can also be one that only other nodes list.
With --source=live it adds the node's uptime, data size and number of tokens.

Exit code: 0 shown, whatever the status, 2 no such member, 1 error.`,
		Example: cli.Examples(
			"# Details of one node",
			"kubectl scylla describe demo-dc1-rack3-0 -n demo",
			"",
			"# What a saved log means; without a member, the log alone",
			"kubectl scylla describe rack2/1 -n demo --log scylla.log",
			"",
			"# Its IP address, for a script",
			"kubectl scylla describe rack3/0 -n demo -o jsonpath='{.items[*].pod.ip}'",
			"",
			"# From an archive",
			"kubectl scylla describe rack2/1 --from sample:incident",
		),
	}, cli.GroupInspect, d.CompleteMembers, o)
	o.read.AddFlags(cmd, false)
	o.output.AddFlags(cmd, "wide")
	cmd.Flags().StringVar(&o.log, "log", "", "file with the log of the member's ScyllaDB, as written by kubectl logs "+
		"(- for standard input): the errors in it are explained")
	return cmd
}

// Validate requires a member.
func (o *options) Validate(*cobra.Command) error {
	if o.Name == "" && o.log == "" {
		return exit.Usagef("specify a member")
	}
	if err := o.read.Validate(); err != nil {
		return err
	}
	return o.output.Validate()
}

// Run reads and shows.
func (o *options) Run(ctx context.Context) error {
	log, err := o.given()
	if err != nil {
		return err
	}
	opts := o.d.Options(o.output.Format() == "wide")
	if o.Name == "" {
		doc := newLogDocument(log, o.d.Clock.Now())
		if !o.output.Text() {
			return o.output.Document(o.d, document.NewList(KindList, doc))
		}
		return o.d.Print(show.Facts(doc.logFacts(opts), opts.Width), opts)
	}
	reader, err := o.d.NewReader(ctx, o.read)
	if err != nil {
		return err
	}
	doc, err := read(ctx, o.d, reader, o.Name, log)
	if err != nil {
		return err
	}
	if !o.output.Text() {
		return o.output.Document(o.d, document.NewList(KindList, doc))
	}
	return o.d.Print(show.Facts(doc.Facts(opts), opts.Width), opts)
}

// limitLog bounds a given log.
var limitLog = bounded.Limit{Bytes: 32 << 20, Cure: "give only its end: tail -c 8M"}

// given reads the log of --log; nil without it.
func (o *options) given() ([]byte, error) {
	switch o.log {
	case "":
		return nil, nil
	case "-":
		return limitLog.Read(o.d.Streams.In, "the log")
	}
	log, err := limitLog.ReadFile("the log", o.log)
	if err != nil {
		return nil, exit.WithHint(err, "check the path after --log")
	}
	return log, nil
}

// Read returns the description of the member that typed names. The document lists parts that could
// not be read. Errors: no such member, or the cluster cannot be read.
func Read(ctx context.Context, d *cli.Deps, reader *cli.Reader, typed string) (*Document, error) {
	return read(ctx, d, reader, typed, nil)
}

// read is Read with a log that the user has; nil for none.
func read(ctx context.Context, d *cli.Deps, reader *cli.Reader, typed string, log []byte) (*Document, error) {
	s, m, err := reader.Member(ctx, typed)
	if err != nil {
		return nil, err
	}
	if log == nil {
		log = reader.Logs.Given[m.Member] // saved with the objects
	} else if m.Member != "" {
		reader.Logs.Given = map[string][]byte{m.Member: log}
		s = reader.Logs.Read(ctx, s)
		if again := s.Member(m.Member); again != nil {
			m = *again
		}
	}
	p := d.Busy("reading the objects of " + typed)
	defer p.Stop()
	// The whole cluster's status: findings concern the cluster.
	status := document.NewClusterStatus(diagnosis.Judge(s, d.Clock.Now()))
	around := gather(ctx, d, reader, s, &m)
	if log != nil {
		around.log = &support.Container{Pod: m.Member, Container: s.Containers().Container(m.Member)}
		around.log.Take(log)
	}
	if ctx.Err() != nil {
		return nil, exit.Interrupted(ctx.Err())
	}
	return newDocument(s, &m, status, around, d.Clock.Now()), nil
}
