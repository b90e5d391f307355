// SPDX-License-Identifier: Apache-2.0

// Package report is `kubectl scylla report`: the report of one cluster in every format, and the
// archive for an expert without access to the cluster. It changes nothing and decides nothing:
// internal/support collects, redacts and opens, internal/show/page draws.
package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/page"
	"github.com/kubectl-scylla/kubectl-scylla/internal/support"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// pageName is the report's HTML page in an archive.
const pageName = "report.html"

// The command's own output formats.
const (
	formatTable = "table"
	formatWide  = "wide"
	formatHTML  = "html"
)

type options struct {
	cli.Argument // the cluster
	d            *cli.Deps
	read         cli.ReadFlags
	output       cli.OutputFlags
	table        cli.TableFlags
	archive      string
	force        bool
	logs         int
}

// defaultLogs is the number of log lines in an archive.
const defaultLogs = 500

// NewCmd returns the command.
func NewCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d}
	cmd := cli.NewCmd(&cobra.Command{
		Use:   "report [CLUSTER]",
		Short: "Show the full report of a cluster, or write an archive to share",
		Long: `Show the full report of a cluster, or write an archive to share.

The report adds to the status its objects, past changes, and waiting containers with log errors.
-o html prints one self-contained page. --archive adds the ends of logs and answers of ScyllaDB's
REST API, and lists what it could not collect. All commands with --from can read it. Page and
archive contain only the fields that the commands read: no environment variables, probes or
annotations of others, and of command lines only flags of ScyllaDB and its agents. Secrets in logs
and messages are redacted; Secrets and ConfigMaps are never read.
Exit code: 0 report written, healthy or not; 1 error; 2 usage, or the file exists.`,
		Example: cli.Examples(
			"# The cluster of namespace demo, as a table",
			"kubectl scylla report -n demo",
			"",
			"# One page, to mail or print",
			"kubectl scylla report demo -n demo -o html > demo.html",
			"",
			"# Write an archive, and inspect it elsewhere",
			"kubectl scylla report demo -n demo --archive demo.zip",
			"kubectl scylla status --from demo.zip",
		),
	}, cli.GroupInspect, d.CompleteClusters, o)
	o.read.AddFlags(cmd, true)
	o.table.AddFlags(cmd)
	o.output.AddFlags(cmd, formatTable, formatWide, formatHTML)
	cmd.Flags().StringVar(&o.archive, "archive", "",
		"Write an archive to FILE.zip instead of showing the report; -o json or yaml lists its contents.")
	cmd.Flags().BoolVar(&o.force, "force", false, "With --archive: overwrite the file if it exists.")
	cmd.Flags().IntVar(&o.logs, "logs", defaultLogs,
		"With --archive: log lines of each unhealthy container, and of its previous instance; 0 keeps none.")
	cli.Rarely(cmd, "force", "sort-by")
	_ = cmd.MarkFlagFilename("archive", "zip")
	return cmd
}

// Validate checks flags, and refuses an existing file before anything is read.
func (o *options) Validate(cmd *cobra.Command) error {
	if err := o.read.Validate(); err != nil {
		return err
	}
	if err := o.output.Validate(); err != nil {
		return err
	}
	if err := o.table.Validate(&o.output); err != nil {
		return err
	}
	onePage := o.output.Format() == formatHTML
	switch {
	case o.Name != "" && o.read.Selector != "":
		return exit.Usagef("specify a cluster or --selector, not both")
	case onePage && o.several():
		return exit.Usagef("-o html shows one cluster: specify its name, or use --archive or another format")
	case onePage && o.table != (cli.TableFlags{}):
		return exit.Usagef("--problems, --sort-by and --no-headers cannot be used with -o html")
	case o.archive != "" && o.table != (cli.TableFlags{}):
		return exit.Usagef("--problems, --sort-by and --no-headers cannot be used with --archive")
	case o.archive == "" && cmd.Flags().Changed("archive"):
		return exit.Usagef("--archive requires a file name")
	case o.archive == "" && o.force:
		return exit.Usagef("--force requires --archive")
	case o.archive == "" && cmd.Flags().Changed("logs"):
		return exit.Usagef("--logs requires --archive")
	case o.logs < 0:
		return exit.Usagef("invalid --logs=%d: must be a number of lines, or 0 for none", o.logs)
	case o.archive == "":
		return nil
	case o.archive == "-":
		return exit.Usagef("--archive cannot write to standard output: specify a file, such as demo.zip")
	case !strings.EqualFold(filepath.Ext(o.archive), ".zip"):
		return exit.WithHint(exit.Usagef("invalid --archive=%s: must be the name of a zip file", o.archive), "use "+
			zipName(o.archive))
	case !slices.Contains([]string{"", formatTable}, o.output.Format()):
		return exit.Usagef("-o %s cannot be used with --archive: use -o json or yaml to list its contents",
			o.output.Format())
	}
	return writeError(support.Writable(o.archive, o.force))
}

// zipName returns the name with .zip instead of the suffix of another archive format.
func zipName(name string) string {
	for _, other := range []string{".tar.gz", ".tgz", ".tar.xz", ".tar.zst", ".tar", ".gz", ".7z"} {
		if short, found := strings.CutSuffix(name, other); found && short != "" {
			return short + ".zip"
		}
	}
	return name + ".zip"
}

// writeError converts an existing file to a refusal.
func writeError(err error) error {
	if errors.Is(err, support.ErrExists) {
		return exit.WithHint(exit.Refused(err), "add --force to overwrite it, or specify another file")
	}
	return err
}

// Run shows the report, or packs it.
func (o *options) Run(ctx context.Context) error {
	reader, err := o.d.NewReader(ctx, o.read)
	if err != nil {
		return err
	}
	clusters, err := o.collect(ctx, reader)
	if err != nil {
		return err
	}
	// The report is drawn from a packed archive, so that both have the same content and the page is
	// redacted.
	a, err := support.Pack(clusters, o.d.Clock.Now(), support.Limits{})
	if err != nil {
		return err
	}
	saved, err := a.Saved()
	if err != nil {
		return fmt.Errorf("open the new archive: %w", err)
	}
	reader.Age(saved)
	if err := saved.Use(clusters[0].Requested); err != nil {
		return err
	}
	reports := make([]*page.Report, len(saved.Clusters))
	for i, c := range saved.Clusters {
		reports[i] = o.page(ctx, saved, c)
	}
	if o.archive != "" {
		return o.write(a, reports)
	}
	return o.show(reports)
}

// several reports whether every cluster that the flags select is wanted.
func (o *options) several() bool {
	return o.Name == "" && (o.read.AllNamespaces || o.read.Selector != "")
}

// collect reads the one cluster, or all that the flags select.
func (o *options) collect(ctx context.Context, reader *cli.Reader) ([]*support.Cluster, error) {
	var snapshots []*cluster.Cluster
	var err error
	if o.several() {
		snapshots, err = reader.All(ctx)
	} else {
		var s *cluster.Cluster
		s, err = reader.Cluster(ctx, o.Name)
		snapshots = []*cluster.Cluster{s}
	}
	if err != nil {
		return nil, err
	}
	out := make([]*support.Cluster, len(snapshots))
	for i, s := range snapshots {
		if saved := reader.Archived(s); saved != nil {
			read := *saved
			read.Snapshot, out[i] = s, &read // with what its logs show
			continue
		}
		if out[i], err = o.gather(ctx, reader, s); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// gather reads Events, logs and versions.
func (o *options) gather(ctx context.Context, reader *cli.Reader, s *cluster.Cluster) (*support.Cluster, error) {
	cfg, err := o.d.RESTConfig()
	if err != nil {
		return nil, err
	}
	server, err := support.NewServer(cfg)
	if err != nil {
		return nil, err
	}
	limits := support.Limits{LogLines: o.logs}
	if o.archive == "" {
		// The page shows neither, and port-forwards are slow.
		limits.LogLines, server.Tables = 0, nil
	}
	p := o.d.Busy("reading the objects of cluster " + s.Key.String())
	defer p.Stop()
	server.Progress = p.Update
	c, err := support.Gather(ctx, reader.Client(), s, cluster.Source(o.read.Source), server, limits)
	if err != nil {
		return nil, exit.Interrupted(err)
	}
	c.Context = o.d.Context()
	return c, nil
}

// page returns the page of one packed cluster.
func (o *options) page(ctx context.Context, saved *support.Saved, c *support.Cluster) *page.Report {
	logs := cli.LogReader{Deps: o.d, Archived: saved.Cluster}
	return page.New(c, document.NewClusterStatus(diagnosis.Judge(logs.Read(ctx, c.Snapshot), o.d.Clock.Now())))
}

func (o *options) show(reports []*page.Report) error {
	switch {
	case !o.output.Text():
		return o.document(reports)
	case o.output.Format() == formatHTML:
		return o.showPage(reports[0])
	}
	opts := o.table.Options(o.d.Options(o.output.Format() == formatWide))
	texts, clusters := make([]string, len(reports)), make([]*document.ClusterStatus, len(reports))
	for i, r := range reports {
		clusters[i] = &r.ClusterStatus
		if !opts.NoHeaders {
			texts[i] = r.Text(opts)
		}
	}
	if opts.NoHeaders {
		return o.d.Print(show.Nodes(clusters, opts), opts)
	}
	return o.d.Print(strings.Join(texts, "\n"), opts)
}

// showPage draws the complete page before it writes any of it: a partial page would look complete.
func (o *options) showPage(r *page.Report) error {
	var b bytes.Buffer
	if err := page.HTML(&b, r); err != nil {
		return err
	}
	if _, err := b.WriteTo(o.d.Streams.Out); err != nil {
		return fmt.Errorf("write to standard output: %w", err)
	}
	return nil
}

// document prints the list of reports.
func (o *options) document(reports []*page.Report) error {
	for _, r := range reports {
		if o.table.Problems || o.table.SortBy != "" {
			r.Nodes = r.ChosenNodes(o.table.Problems, o.table.SortBy)
		}
	}
	return o.output.Document(o.d, document.NewList(page.KindList, reports...))
}

// pages returns the names of the pages in an archive.
func pages(reports []*page.Report) []string {
	if len(reports) == 1 {
		return []string{pageName}
	}
	out := make([]string, len(reports))
	for i, r := range reports {
		out[i] = "report-" + r.Namespace + "-" + r.Name + ".html"
	}
	return out
}

// write adds the pages to the archive and writes it.
func (o *options) write(a *support.Archive, reports []*page.Report) error {
	p := o.d.Busy("writing " + o.archive)
	defer p.Stop()
	names := pages(reports)
	for i, r := range reports {
		var b bytes.Buffer
		if err := page.HTML(&b, r); err != nil {
			return err
		}
		a.Add(names[i], b.Bytes())
	}
	n, err := a.WriteFile(o.archive, o.force)
	if err != nil {
		return writeError(err)
	}
	if !o.output.Text() {
		return o.output.Document(o.d, &a.Manifest)
	}
	opts := o.d.Options(false)
	return o.d.Print(summary(&a.Manifest, o.archive, names, n), opts)
}

// summary returns the path of the archive, its size, its contents, and the parts left out.
func summary(m *support.Manifest, name string, pages []string, size int64) string {
	var b strings.Builder
	given := name
	if abs, err := filepath.Abs(name); err == nil {
		name = abs
	}
	var clusters []string
	for _, c := range m.Clusters {
		clusters = append(clusters, c.String())
	}
	fmt.Fprintf(&b, "Wrote %s: %s, %d files, cluster %s.\n", name, support.Size(size), len(m.Files)+len(pages),
		strings.Join(clusters, ", "))
	b.WriteString("Contains only the fields that the commands read.\n")
	total, parts := 0, []string(nil)
	for _, rule := range slices.Sorted(maps.Keys(m.Redacted)) {
		total += m.Redacted[rule]
		parts = append(parts, fmt.Sprintf("%s (%d)", rule, m.Redacted[rule]))
	}
	if total > 0 {
		fmt.Fprintf(&b, "Redacted: %s.\n", strings.Join(parts, ", "))
	} else {
		b.WriteString("Redacted: nothing, no text looks like a secret.\n")
	}
	b.WriteString("Never read: Secrets, ConfigMaps.\n")
	if len(m.LeftOut) == 0 {
		b.WriteString("Not collected: nothing.\n")
	} else {
		fmt.Fprintf(&b, "Not collected (%d):\n", len(m.LeftOut))
		for _, l := range m.LeftOut {
			fmt.Fprintf(&b, "  %s\n", page.LeftOutLine(l))
		}
	}
	fmt.Fprintf(&b, "To inspect it: kubectl scylla status --from %s, or open %s from the archive.\n", shellWord(given),
		strings.Join(pages, ", "))
	return b.String()
}

// shellWord returns the name as one word of a shell.
func shellWord(name string) string {
	name = show.Clean(name)
	if strings.HasPrefix(name, "-") {
		name = "./" + name
	}
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+=,-") == "" {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}
