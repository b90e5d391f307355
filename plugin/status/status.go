// SPDX-License-Identifier: Apache-2.0

// Package status is `kubectl scylla status`: the matrix, the cluster's health, and the blockers of
// a new node. It changes nothing and decides nothing: the document of internal/show has all
// results.
package status

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

type options struct {
	// The cluster as typed; empty means all that the flags select.
	cli.Argument
	cli.ShowFlags
	table cli.TableFlags
	d     *cli.Deps
	// all also draws the parts that do not fit the screen.
	all bool
}

// NewCmd returns the command.
func NewCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d}
	cmd := cli.NewCmd(&cobra.Command{
		Use:     "status [CLUSTER]",
		Aliases: []string{"st"},
		Short:   "Show whether all nodes see each other UP, and the cause if not",
		Long: `Show whether all nodes see each other UP, and the cause if not.

The first line is the verdict and its cause. The next lines show the evidence, the next step and
further problems; then the table of nodes, and the matrix "Who sees whom", a status report per line.
  SEEN    status in the reports of the other nodes ("DOWN 2/5": 2 of 5 report it DOWN)
  REPORT  its own status report (fresh, stale, missing, error) and the time since it changed
UNKNOWN means that no status report could be read, or no node has joined. It does not mean DOWN.
Exit code: 0 healthy, 3 not healthy or unknown, 4 not healthy within --timeout, 1 error.`,
		Example: cli.Examples(
			"# Is the cluster of namespace demo healthy?",
			"kubectl scylla status -n demo",
			"",
			"# Wait until it is healthy, at most ten minutes",
			"kubectl scylla status demo -n demo --wait --timeout 10m",
			"",
			"# Members that any node sees DOWN, for a script",
			`kubectl scylla status demo -n demo --no-headers | awk '$3=="DOWN"{print $1}'`,
			"",
			"# Query each node; requires no controller, report or agent",
			"kubectl scylla status -n demo --source live",
		),
	}, cli.GroupInspect, d.CompleteClusters, o)
	o.Formats = []string{"table", "wide"}
	o.AddFlags(cmd, "the cluster is healthy")
	o.table.AddFlags(cmd)
	cmd.Flags().BoolVar(&o.all, "all", false, "Show all nodes, pairs and blockers, even if they exceed the terminal.")
	return cmd
}

// Validate checks arguments and flags.
func (o *options) Validate(cmd *cobra.Command) error {
	if o.Name != "" && o.Read.Selector != "" {
		return exit.Usagef("specify a cluster or --selector, not both")
	}
	if err := o.ShowFlags.Validate(cmd); err != nil {
		return err
	}
	if several := o.Read.AllNamespaces ||
		o.Read.Selector != ""; several && o.table.SortBy != "" && o.Output.Text() && o.Output.Format() != "wide" {
		return exit.Usagef("--sort-by applies to nodes only: specify a cluster, or use -o wide")
	}
	return o.table.Validate(&o.Output)
}

// Run shows the status once, at each change, or once it is healthy.
func (o *options) Run(ctx context.Context) error {
	return cli.Show(ctx, o.d, &o.ShowFlags, cli.Shown[[]document.ClusterStatus]{
		Load: o.load, Print: o.print, Verdict: verdict, Key: key, Subject: subject, Wished: healthy,
		Awaited: o.awaited(), What: what,
	})
}

func (o *options) load(ctx context.Context, reader *cli.Reader) ([]document.ClusterStatus, []*cluster.Cluster, error) {
	var snapshots []*cluster.Cluster
	var err error
	if o.Name != "" {
		var s *cluster.Cluster
		s, err = reader.Cluster(ctx, o.Name)
		snapshots = []*cluster.Cluster{s}
	} else {
		snapshots, err = reader.All(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	docs := make([]document.ClusterStatus, len(snapshots))
	for i, s := range snapshots {
		docs[i] = *document.NewClusterStatus(diagnosis.Judge(s, o.d.Clock.Now()))
	}
	return docs, snapshots, nil
}

// single reports whether the text is of one cluster, not a table of clusters.
func (o *options) single(docs []document.ClusterStatus) bool {
	return len(docs) == 1 && !o.Read.AllNamespaces && o.Read.Selector == ""
}

func (o *options) print(docs []document.ClusterStatus) error {
	if o.Output.Text() {
		opts := o.table.Options(o.d.Options(o.Output.Format() == "wide"))
		opts.All = o.all
		return o.d.Print(o.text(docs, opts), opts)
	}
	return o.Output.Document(o.d, document.NewClusterStatusList(o.choose(docs)))
}

// choose returns the documents with the selected nodes. With several clusters, --problems omits
// healthy ones.
func (o *options) choose(docs []document.ClusterStatus) []document.ClusterStatus {
	if !o.table.Problems && o.table.SortBy == "" {
		return docs
	}
	var out []document.ClusterStatus
	for i := range docs {
		if o.table.Problems && docs[i].Healthy && !o.single(docs) {
			continue
		}
		d := docs[i]
		d.Nodes = d.ChosenNodes(o.table.Problems, o.table.SortBy)
		out = append(out, d)
	}
	return out
}

func (o *options) text(docs []document.ClusterStatus, opts show.Options) string {
	switch several := o.Read.AllNamespaces || o.Read.Selector != ""; {
	case opts.NoHeaders && (opts.Wide || !several):
		clusters := make([]*document.ClusterStatus, len(docs))
		for i := range docs {
			clusters[i] = &docs[i]
		}
		return show.Nodes(clusters, opts)
	case o.single(docs):
		return show.Cluster(&docs[0], opts)
	case !opts.Wide:
		return show.Clusters(document.NewClusterStatusList(docs), opts)
	}
	texts := make([]string, len(docs))
	for i := range docs {
		texts[i] = show.Cluster(&docs[i], opts)
	}
	return strings.Join(texts, "\n")
}

// verdict returns exit code 3 unless every cluster is healthy; the output shows the cause.
func verdict(docs []document.ClusterStatus) error {
	for i := range docs {
		if !docs[i].Healthy {
			return exit.ConditionNotMet(nil)
		}
	}
	return nil
}

// key returns the documents as JSON without their times and other values that always change.
func key(docs []document.ClusterStatus) string {
	var b strings.Builder
	for i := range docs {
		d := docs[i]
		d.GeneratedAt, d.TakenAt = metav1.Time{}, nil
		d.Nodes = slices.Clone(d.Nodes)
		for j := range d.Nodes {
			d.Nodes[j].Vitals = cluster.Vitals{} // uptime and load differ at each read
		}
		data, err := json.Marshal(&d)
		if err != nil {
			return err.Error()
		}
		b.Write(data)
	}
	return b.String()
}

// healthy is the condition of --wait.
func healthy(docs []document.ClusterStatus) (bool, string, error) {
	for i := range docs {
		if !docs[i].Healthy {
			return false, why(&docs[i], len(docs) > 1), nil
		}
	}
	return true, "", nil
}

// awaited is the subject of --wait while there is no cluster yet.
func (o *options) awaited() string {
	if o.Name == "" {
		return "a cluster to exist and to be healthy"
	}
	return "cluster " + o.Name + " to exist and to be healthy"
}

// what returns the differences between two reads.
func what(before, after []document.ClusterStatus) (texts []string) {
	old := map[string]*document.ClusterStatus{}
	for i := range before {
		old[before[i].Namespace+"/"+before[i].Name] = &before[i]
	}
	for i := range after {
		d := &after[i]
		name := d.Namespace + "/" + d.Name
		for _, text := range document.Changes(old[name], d) {
			if len(after) > 1 {
				text = name + ": " + text
			}
			texts = append(texts, text)
		}
	}
	return texts
}

func subject(docs []document.ClusterStatus, _ []*cluster.Cluster) string {
	if len(docs) == 1 {
		return fmt.Sprintf("cluster %s/%s to be healthy", docs[0].Namespace, docs[0].Name)
	}
	return fmt.Sprintf("%d clusters to be healthy", len(docs))
}

// why returns the cause.
func why(d *document.ClusterStatus, named bool) string {
	text := d.Summary
	if named {
		return d.Namespace + "/" + d.Name + ": " + text
	}
	return text
}
