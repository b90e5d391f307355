// SPDX-License-Identifier: Apache-2.0

// Package report is `kubectl scylla report`: the assembled report of one cluster in every form, and the archive that an expert elsewhere needs. It
// reads, it changes nothing in the cluster, and it decides nothing: what is collected, redacted and opened is internal/bundle, what is drawn is
// internal/bundle/page.
package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-scylla/kubectl-scylla/internal/bundle"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bundle/page"
	"github.com/kubectl-scylla/kubectl-scylla/internal/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/render"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// pageName is the report as a page within an archive.
const pageName = "report.html"

// The verb's own output formats.
const (
	formatTable    = "table"
	formatWide     = "wide"
	formatHTML     = "html"
	formatSVG      = "svg"
	formatMarkdown = "markdown"
)

type options struct {
	cli.Argument // the cluster
	d            *cli.Deps
	read         cli.ReadFlags
	output       cli.OutputFlags
	archive      string
	force        bool
}

// NewCmd makes the verb.
func NewCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d}
	cmd := cli.NewCmd(&cobra.Command{
		Use:   "report [CLUSTER]",
		Short: "Show the assembled report of a cluster, or pack it for somebody elsewhere",
		Long: `Show the assembled report of a cluster, or pack it for somebody elsewhere.

The report is all of the status, and the objects that it is assembled from, what changed
when (as far as rows, events and conditions tell), and the containers that wait, with the
first and last error of their logs. As html it is one page that needs nothing else: to
mail, to print, to read on a phone.

--archive packs what an expert needs who cannot reach the cluster: reports, member
Services, Pods with their annotations, StatefulSets, claims, the events of these, versions,
and the first and last error from the logs of waiting containers. What could not be
collected is listed. Every command that reads takes the archive with --from, and shows
what it would have shown then.

Page and archive alike: values of environment variables, arguments and annotations that
could be secrets are taken out; Secrets and ConfigMaps are never read.

Exit code: 0 the report was made, healthy or not; 1 error; 2 usage, or the file exists.`,
		Example: cli.Examples(
			"# The cluster of namespace demo, as a table",
			"kubectl scylla report -n demo",
			"",
			"# A page to mail or print, and the matrix alone as a picture",
			"kubectl scylla report demo -n demo -o html > demo.html",
			"kubectl scylla report demo -n demo -o svg > demo.svg",
			"",
			"# Pack it for an expert, who then looks at it as if it were live",
			"kubectl scylla report demo -n demo --archive demo.zip",
			"kubectl scylla status --from demo.zip",
		),
	}, cli.GroupSee, d.CompleteClusters, o)
	o.read.AddFlags(cmd, false)
	o.output.AddFlags(cmd, formatTable, formatWide, formatHTML, formatSVG, formatMarkdown)
	cmd.Flags().StringVar(&o.archive, "archive", "", "Pack an archive into this file (FILE.zip) instead of showing the report. -o json and -o yaml then print what it holds.")
	cmd.Flags().BoolVar(&o.force, "force", false, "With --archive: replace the file when it exists.")
	_ = cmd.MarkFlagFilename("archive", "zip")
	return cmd
}

// Validate refuses what does not go together, and a file that exists before anything is read.
func (o *options) Validate(cmd *cobra.Command) error {
	if err := o.read.Validate(); err != nil {
		return err
	}
	if err := o.output.Validate(); err != nil {
		return err
	}
	switch {
	case o.archive == "" && cmd.Flags().Changed("archive"):
		return exit.Usagef("--archive needs the name of a file")
	case o.archive == "" && o.force:
		return exit.Usagef("--force is for --archive: without it no file is written")
	case o.archive == "":
		return nil
	case o.archive == "-":
		return exit.Usagef("--archive writes a file, not standard output: name one, such as demo.zip")
	case !slices.Contains([]string{"", formatTable}, o.output.Format()):
		return exit.Usagef("--archive holds the report as a page already: it goes with -o json or yaml, which print what the archive holds, not with -o %s", o.output.Format())
	}
	return writeError(bundle.Writable(o.archive, o.force))
}

// writeError makes an existing file a refusal.
func writeError(err error) error {
	if errors.Is(err, bundle.ErrExists) {
		return exit.WithHint(exit.Refused(err), "add --force to replace it, or name another file")
	}
	return err
}

// Run shows the report, or packs it.
func (o *options) Run(ctx context.Context) error {
	reader, err := o.d.NewReader(o.read)
	if err != nil {
		return err
	}
	s, err := reader.Cluster(ctx, o.Name)
	if err != nil {
		return err
	}
	c := reader.Archived(s)
	if c == nil {
		if c, err = o.gather(ctx, reader, s); err != nil {
			return err
		}
	}
	// What is shown is what an archive would hold, so that both say the same, and nothing gets onto a page to mail that is taken out of an archive.
	a, err := bundle.Pack([]*bundle.Cluster{c}, o.d.Clock.Now(), bundle.Limits{})
	if err != nil {
		return err
	}
	saved, err := a.Saved()
	if err != nil {
		return fmt.Errorf("open what was packed: %w", err)
	}
	if err := saved.Use(c.Requested); err != nil {
		return err
	}
	r := o.page(ctx, saved)
	if o.archive != "" {
		return o.write(a, r)
	}
	return o.show(r)
}

// gather reads events, logs and versions.
func (o *options) gather(ctx context.Context, reader *cli.Reader, s *kube.Snapshot) (*bundle.Cluster, error) {
	cfg, err := o.d.RESTConfig()
	if err != nil {
		return nil, err
	}
	server, err := bundle.NewServer(cfg)
	if err != nil {
		return nil, err
	}
	p := o.d.Busy("reading what belongs to cluster " + s.Key().String())
	defer p.Stop()
	c, err := bundle.Gather(ctx, reader.Client(), s, kube.Source(o.read.Source), server, bundle.Limits{}, p.Update)
	if err != nil {
		return nil, exit.Interrupted(err)
	}
	return c, nil
}

// page draws the one cluster that was packed.
func (o *options) page(ctx context.Context, saved *bundle.Saved) *page.Report {
	c, now := saved.Clusters[0], o.d.Clock.Now()
	r := page.New(c, now, nil)
	logs := cli.LogReader{Deps: o.d, Archived: saved.Cluster}
	if found := logs.Replacements(ctx, c.Snapshot, r.Replacements); found != nil {
		r = page.New(c, now, found)
	}
	return r
}

func (o *options) show(r *page.Report) error {
	if !o.output.Text() {
		return o.output.Document(o.d, r)
	}
	var write func(io.Writer, *page.Report) error
	switch o.output.Format() {
	case formatHTML:
		write = page.HTML
	case formatSVG:
		write = page.SVG
	case formatMarkdown:
		write = page.Markdown
	default:
		opts := o.d.Options(o.output.Format() == formatWide)
		return o.d.Print(r.Text(opts), opts)
	}
	// Whole or not at all: a page that breaks off looks like a page.
	var b bytes.Buffer
	if err := write(&b, r); err != nil {
		return err
	}
	if _, err := b.WriteTo(o.d.Streams.Out); err != nil {
		return fmt.Errorf("write to standard output: %w", err)
	}
	return nil
}

// write adds the page to the archive and writes it.
func (o *options) write(a *bundle.Archive, r *page.Report) error {
	p := o.d.Busy("packing " + o.archive)
	defer p.Stop()
	var b bytes.Buffer
	if err := page.HTML(&b, r); err != nil {
		return err
	}
	a.Add(pageName, b.Bytes())
	n, err := a.WriteFile(o.archive, o.force)
	if err != nil {
		return writeError(err)
	}
	if !o.output.Text() {
		return o.output.Document(o.d, &a.Manifest)
	}
	opts := o.d.Options(false)
	return o.d.Print(summary(&a.Manifest, o.archive, n), opts)
}

// summary says where the archive is, how big, what is in it, and what is not.
func summary(m *bundle.Manifest, name string, size int64) string {
	var b strings.Builder
	if abs, err := filepath.Abs(name); err == nil {
		name = abs
	}
	var clusters []string
	for _, c := range m.Clusters {
		clusters = append(clusters, c.String())
	}
	fmt.Fprintf(&b, "Wrote %s: %s, %d files, cluster %s.\n", name, bundle.Size(size), len(m.Files)+1, strings.Join(clusters, ", "))
	total, parts := 0, []string(nil)
	for _, rule := range slices.Sorted(maps.Keys(m.Redacted)) {
		total += m.Redacted[rule]
		parts = append(parts, fmt.Sprintf("%s (%d)", rule, m.Redacted[rule]))
	}
	if total > 0 {
		fmt.Fprintf(&b, "Taken out: %s.\n", strings.Join(parts, ", "))
	} else {
		b.WriteString("Taken out: nothing, there was nothing that looks like a secret.\n")
	}
	b.WriteString("Never read: Secrets, ConfigMaps.\n")
	if len(m.LeftOut) == 0 {
		b.WriteString("Left out: nothing.\n")
	} else {
		fmt.Fprintf(&b, "Left out (%d):\n", len(m.LeftOut))
		for _, l := range m.LeftOut {
			fmt.Fprintf(&b, "  %s\n", page.LeftOutLine(l))
		}
	}
	fmt.Fprintf(&b, "Look at it: kubectl scylla status --from %s, or open %s in it.\n", render.Clean(filepath.Base(name)), pageName)
	return b.String()
}
