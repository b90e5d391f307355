// SPDX-License-Identifier: Apache-2.0

// Package status is `kubectl scylla status`: who sees whom, is the cluster healthy, and what stands in a newcomer's way. It reads, it changes
// nothing, and it decides nothing: the document of internal/render says it all.
package status

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/render"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

type options struct {
	// The cluster as typed; empty means all that the flags choose.
	cli.Argument
	cli.ShowFlags
	d *cli.Deps
}

// NewCmd makes the verb.
func NewCmd(d *cli.Deps) *cobra.Command {
	o := &options{d: d}
	cmd := cli.NewCmd(&cobra.Command{
		Use:     "status [CLUSTER]",
		Aliases: []string{"st"},
		Short:   "Say whether every node sees every node UP, and if not, who does not",
		Long: `Say whether every node sees every node UP, and if not, who does not.

The first line is the verdict. Then one line per node: SEEN is how the other nodes
see it ("DOWN 2/5": two of five rows say DOWN), ROW is the state of its own row (ok,
stale, missing, error) with the time since it last changed, POD is its Pod. Then the
matrix of who sees whom, or only the rows that disagree when that does not fit. Then
what stands in a newcomer's way, with the next step.

Exit code: 0 healthy, 3 not healthy, 4 not healthy within --timeout, 1 error.`,
		Example: cli.Examples(
			"# The cluster of namespace demo",
			"kubectl scylla status -n demo",
			"",
			"# Block until it is healthy, at most ten minutes; the exit code tells",
			"kubectl scylla status demo -n demo --wait --timeout 10m",
			"",
			"# Members that somebody sees DOWN, for a script",
			`kubectl scylla status demo -n demo -o jsonpath='{.nodes[?(@.seen.status=="DOWN")].member}'`,
			"",
			"# Ask each node itself: needs no controller, no report and no agent",
			"kubectl scylla status -n demo --source live",
			"",
			"# Look at objects that were saved",
			"kubectl get services,pods,scylladbdatacenternodesstatusreports -n demo -o yaml | kubectl scylla status --from -",
		),
	}, cli.GroupSee, d.CompleteClusters, o)
	o.AddFlags(cmd, "the cluster is healthy")
	return cmd
}

// Validate refuses what does not go together.
func (o *options) Validate(cmd *cobra.Command) error {
	if o.Name != "" && o.Read.Selector != "" {
		return exit.Usagef("name a cluster or choose by --selector, not both")
	}
	return o.ShowFlags.Validate(cmd)
}

// Run shows the status once, at every change, or once it is healthy.
func (o *options) Run(ctx context.Context) error {
	return cli.Show(ctx, o.d, &o.ShowFlags, cli.Shown[[]render.ClusterStatus]{
		Load: o.load, Print: o.print, Verdict: verdict, Key: key, Subject: subject, Wished: healthy,
	})
}

func (o *options) load(ctx context.Context, reader *cli.Reader) ([]render.ClusterStatus, []*kube.Snapshot, error) {
	var snapshots []*kube.Snapshot
	var err error
	if o.Name != "" {
		var s *kube.Snapshot
		s, err = reader.Cluster(ctx, o.Name)
		snapshots = []*kube.Snapshot{s}
	} else {
		snapshots, err = reader.All(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	docs := make([]render.ClusterStatus, len(snapshots))
	for i, s := range snapshots {
		docs[i] = *render.NewClusterStatus(s, o.d.Clock.Now())
		if logs := reader.Logs.Replacements(ctx, s, docs[i].Replacements); logs != nil {
			docs[i] = *render.NewClusterStatusWithLogs(s, o.d.Clock.Now(), logs)
		}
	}
	return docs, snapshots, nil
}

// single is true when one document stands for itself: a script that asks for all always gets a list.
func (o *options) single(docs []render.ClusterStatus) bool {
	return len(docs) == 1 && !o.Read.AllNamespaces && o.Read.Selector == ""
}

func (o *options) print(docs []render.ClusterStatus) error {
	if o.Output.Text() {
		opts := o.d.Options(o.Output.Format() == "wide")
		return o.d.Print(o.text(docs, opts), opts)
	}
	if o.single(docs) {
		return o.Output.Document(o.d, &docs[0])
	}
	if o.Output.Name() {
		return o.Output.Document(o.d, cli.Items(docs)...)
	}
	return o.Output.Document(o.d, render.NewClusterStatusList(docs))
}

func (o *options) text(docs []render.ClusterStatus, opts render.Options) string {
	if o.single(docs) {
		return docs[0].Text(opts)
	}
	if !opts.Wide {
		return render.NewClusterStatusList(docs).Text(opts)
	}
	texts := make([]string, len(docs))
	for i := range docs {
		texts[i] = docs[i].Text(opts)
	}
	return strings.Join(texts, "\n")
}

// verdict is exit code 3 unless every cluster is healthy; the text has said why.
func verdict(docs []render.ClusterStatus) error {
	for i := range docs {
		if !docs[i].Healthy {
			return exit.ConditionNotMet(nil)
		}
	}
	return nil
}

// key is the documents without the moments at which they were made.
func key(docs []render.ClusterStatus) string {
	var b strings.Builder
	for i := range docs {
		d := docs[i]
		d.GeneratedAt, d.TakenAt = metav1.Time{}, nil
		data, err := json.Marshal(&d)
		if err != nil {
			return err.Error()
		}
		b.Write(data)
	}
	return b.String()
}

// healthy is what --wait waits for.
func healthy(docs []render.ClusterStatus) (bool, string, error) {
	for i := range docs {
		if !docs[i].Healthy {
			return false, why(&docs[i], len(docs) > 1), nil
		}
	}
	return true, "", nil
}

func subject(docs []render.ClusterStatus, _ []*kube.Snapshot) string {
	if len(docs) == 1 {
		return fmt.Sprintf("cluster %s/%s to be healthy", docs[0].Namespace, docs[0].Name)
	}
	return fmt.Sprintf("%d clusters to be healthy", len(docs))
}

// why is the first blocker, or the summary where there is none.
func why(d *render.ClusterStatus, named bool) string {
	text := d.FirstBlocker()
	if text == "" {
		text = d.Summary
	}
	if named {
		return d.Namespace + "/" + d.Name + ": " + text
	}
	return text
}
