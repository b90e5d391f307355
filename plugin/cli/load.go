// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bundle"
	"github.com/kubectl-scylla/kubectl-scylla/internal/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
)

// DefaultControllerNamespace is where the manifests put our controller.
const DefaultControllerNamespace = "kubectl-scylla"

// SourceFlag is the value of --source; other values are refused when the flag is parsed.
type SourceFlag kube.Source

func (f *SourceFlag) String() string { return string(*f) }

// Set implements pflag.Value.
func (f *SourceFlag) Set(text string) error {
	s, err := kube.ParseSource(text)
	if err != nil {
		return err
	}
	*f = SourceFlag(s)
	return nil
}

// Type implements pflag.Value.
func (*SourceFlag) Type() string { return "auto|report|annotation|live" }

// ReadFlags say what a read verb reads, and from where.
type ReadFlags struct {
	Source SourceFlag
	// From is an archive or a file of saved objects, or "-".
	From string
	// AllNamespaces and Selector choose among clusters.
	AllNamespaces bool
	Selector      string
	// ControllerNamespace is where our controller's Lease is, to tell whether anybody keeps the reports up to date; empty does not look.
	ControllerNamespace string

	selector labels.Selector
}

// AddFlags binds --source and --from, and with many also -A and -l.
func (f *ReadFlags) AddFlags(cmd *cobra.Command, many bool) {
	f.Source = SourceFlag(kube.SourceAuto)
	cmd.Flags().Var(&f.Source, "source", "Where rows come from: the assembled report, the Pods' annotations, or live from each node's own API through a port-forward. auto takes the first that has any.")
	cmd.Flags().StringVar(&f.From, "from", "", "Read saved objects instead of a cluster: an archive of \"report --archive\", or what \"kubectl get ... -o yaml\" printed; - is standard input.")
	cmd.Flags().StringVar(&f.ControllerNamespace, "controller-namespace", DefaultControllerNamespace, "Namespace of the controller, to see whether it is alive. Empty does not look.")
	_ = cmd.RegisterFlagCompletionFunc("source", cobra.FixedCompletions([]string{"auto", "report", "annotation", "live"}, cobra.ShellCompDirectiveNoFileComp))
	if many {
		cmd.Flags().BoolVarP(&f.AllNamespaces, "all-namespaces", "A", false, "Clusters of all namespaces.")
		cmd.Flags().StringVarP(&f.Selector, "selector", "l", "", "Only clusters whose objects carry these labels.")
	}
}

// Validate parses the selector and refuses what does not go together.
func (f *ReadFlags) Validate() error {
	if f.From != "" {
		switch {
		case f.Source == SourceFlag(kube.SourceLive) && f.From != "-" && !strings.HasSuffix(f.From, ".zip"):
			// An archive may hold what the nodes said; opening it tells.
			return exit.Usagef("--source=live asks running nodes: it cannot be used with --from")
		case f.Selector != "":
			return exit.Usagef("--selector chooses among clusters in Kubernetes: it cannot be used with --from")
		}
	}
	if f.Selector == "" {
		return nil
	}
	s, err := labels.Parse(f.Selector)
	if err != nil {
		return exit.Usage(fmt.Errorf("read --selector: %w", err))
	}
	f.selector = s
	return nil
}

// Live is true when rows are asked for from each node: nothing then tells of changes.
func (f *ReadFlags) Live() bool { return f.Source == SourceFlag(kube.SourceLive) }

// Reader loads snapshots as the flags ask, again and again: saved objects are read once.
type Reader struct {
	d     *Deps
	flags ReadFlags
	c     client.WithWatch // nil for saved objects
	saved *bundle.Saved
	// Logs looks for errors in the logs that belong to what is read.
	Logs LogReader
}

// NewReader opens the file or makes the client.
func (d *Deps) NewReader(flags ReadFlags) (*Reader, error) {
	r := &Reader{d: d, flags: flags}
	r.Logs = LogReader{Deps: d, Archived: r.Archived}
	if flags.From == "" {
		c, err := d.NewClient()
		if err != nil {
			return nil, err
		}
		r.c = c
		return r, nil
	}
	saved, err := d.readSaved(flags.From)
	if err != nil {
		return nil, err
	}
	if err := saved.Use(kube.Source(flags.Source)); err != nil {
		return nil, exit.Usage(err)
	}
	if saved.Manifest != nil && !saved.TakenAt.IsZero() {
		d.Say(fmt.Sprintf("archive of %s: everything is as it was then\n", saved.TakenAt.UTC().Format("2006-01-02 15:04:05 UTC")))
	}
	r.saved = saved
	return r, nil
}

func (d *Deps) readSaved(name string) (*bundle.Saved, error) {
	in, what := d.Streams.In, "standard input"
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("read saved objects: %w", err)
		}
		defer func() { _ = f.Close() }() // only read from
		in, what = f, name
	}
	saved, err := bundle.Open(in)
	if err != nil {
		return nil, fmt.Errorf("read saved objects from %s: %w", what, err)
	}
	if len(saved.Clusters) == 0 {
		return nil, exit.WithHint(fmt.Errorf("there is no ScyllaDB cluster in %s", what),
			"save one with: kubectl get services,pods,statefulsets,persistentvolumeclaims,scylladbdatacenternodesstatusreports,scylladbstatusreports -n NAMESPACE -o yaml")
	}
	return saved, nil
}

// Client is nil for saved objects.
func (r *Reader) Client() client.WithWatch { return r.c }

// namespace to look in; "" for all.
func (r *Reader) namespace() (string, error) {
	if r.flags.AllNamespaces {
		return "", nil
	}
	return r.d.Namespace()
}

// All loads every cluster that the flags choose. An error says where to look when there is none.
func (r *Reader) All(ctx context.Context) ([]*kube.Snapshot, error) {
	if r.c == nil {
		return r.savedIn("")
	}
	ns, err := r.namespace()
	if err != nil {
		return nil, err
	}
	p := r.d.Busy("looking for clusters")
	keys, err := kube.ListClusters(ctx, r.c, ns, r.flags.selector)
	p.Stop()
	if err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return nil, r.none(ctx, ns)
	}
	snapshots := make([]*kube.Snapshot, 0, len(keys))
	for _, k := range keys {
		s, err := r.load(ctx, k)
		if err != nil {
			return nil, err
		}
		snapshots = append(snapshots, s)
	}
	return snapshots, nil
}

// none says that there is no cluster, and where there are some.
func (r *Reader) none(ctx context.Context, ns string) error {
	if r.flags.selector != nil {
		return exit.WithHint(fmt.Errorf("no ScyllaDB cluster in %s has objects with labels %s", inNamespace(ns), r.flags.Selector), "leave --selector out to see all")
	}
	err := fmt.Errorf("there is no ScyllaDB cluster in %s", inNamespace(ns))
	byLabel := "member Services, StatefulSets and reports are found by the label " + api.LabelCluster
	if ns == "" {
		return exit.WithHint(err, byLabel)
	}
	// Most often the namespace is forgotten. Whoever may not list all namespaces is not bothered with that.
	elsewhere, lerr := kube.ListClusters(ctx, r.c, "", nil)
	switch {
	case lerr != nil:
		return exit.WithHint(err, "choose another namespace with -n, or look into all: kubectl scylla status -A")
	case len(elsewhere) == 0:
		return exit.WithHint(err, "there is none in any other either; "+byLabel)
	}
	var names []string
	for _, k := range elsewhere {
		names = append(names, k.Namespace)
	}
	names = slices.Compact(names)
	more := ""
	if len(names) > 5 {
		names, more = names[:5], ", ..."
	}
	return exit.WithHint(err, "choose another namespace with -n; there are clusters in: "+strings.Join(names, ", ")+more)
}

func inNamespace(ns string) string {
	if ns == "" {
		return "any namespace"
	}
	return "namespace " + ns
}

// savedIn gives the saved clusters of the namespace of -n, if that was given, with the name, if that is not empty.
func (r *Reader) savedIn(name string) ([]*kube.Snapshot, error) {
	ns := r.d.NamespaceGiven()
	var found []*kube.Snapshot
	var names []string
	for _, s := range r.saved.Snapshots() {
		names = append(names, s.Key().String())
		if (ns == "" || r.flags.AllNamespaces || s.Namespace == ns) && (name == "" || s.Cluster == name) {
			found = append(found, s)
		}
	}
	if len(found) == 0 {
		return nil, exit.WithHint(fmt.Errorf("the saved objects do not hold this cluster"), "they hold: "+strings.Join(names, ", "))
	}
	return found, nil
}

// Cluster loads one cluster by name. Errors: *kube.NotFoundError, *kube.AmbiguousError; where there is no cluster at all that of All.
func (r *Reader) Cluster(ctx context.Context, name string) (*kube.Snapshot, error) {
	if r.c == nil {
		found, err := r.savedIn(name)
		if err != nil {
			return nil, err
		}
		if len(found) > 1 {
			return nil, ambiguous("cluster", name, found)
		}
		return found[0], nil
	}
	ns, err := r.namespace()
	if err != nil {
		return nil, err
	}
	p := r.d.Busy("looking for cluster " + name)
	key, err := kube.ResolveCluster(ctx, r.c, ns, name)
	p.Stop()
	if e, ok := errors.AsType[*kube.NotFoundError](err); ok && e.Known == 0 {
		return nil, r.none(ctx, ns) // whatever its name: there is none at all
	}
	if err != nil {
		return nil, err
	}
	return r.load(ctx, key)
}

func ambiguous(what, name string, in []*kube.Snapshot) error {
	e := &kube.AmbiguousError{What: what, Name: name, In: "the saved objects"}
	for _, s := range in {
		e.Candidates = append(e.Candidates, s.Key().String())
	}
	return e
}

// Member finds the cluster of a member by the member's name and loads it. Error: *kube.NotFoundError with the nearest names.
func (r *Reader) Member(ctx context.Context, member string) (*kube.Snapshot, error) {
	if r.c != nil {
		ns, err := r.namespace()
		if err != nil {
			return nil, err
		}
		if name := r.clusterOf(ctx, ns, member); name != "" {
			return r.load(ctx, kube.ClusterKey{Namespace: ns, Name: name})
		}
	}
	// No such Service, or no leave to read it: the name is wrong or the member is known from elsewhere.
	all, err := r.All(ctx)
	if err != nil {
		return nil, err
	}
	var found []*kube.Snapshot
	nearest := &kube.NotFoundError{What: "member", Name: member}
	for _, s := range all {
		_, err := s.BootstrapInput(member)
		if err == nil {
			found = append(found, s)
			continue
		}
		if e, ok := errors.AsType[*kube.NotFoundError](err); !ok {
			return nil, err
		} else if nearest.In == "" || len(nearest.Nearest) == 0 {
			nearest = e
		}
	}
	switch len(found) {
	case 0:
		return nil, nearest
	case 1:
		return found[0], nil
	}
	return nil, ambiguous("member", member, found)
}

// clusterOf reads the cluster's name from the member's Service or Pod; empty when neither says.
func (r *Reader) clusterOf(ctx context.Context, ns, member string) string {
	for _, obj := range []client.Object{&corev1.Service{}, &corev1.Pod{}} {
		if err := r.c.Get(ctx, client.ObjectKey{Namespace: ns, Name: member}, obj); err == nil && obj.GetLabels()[api.LabelCluster] != "" {
			return obj.GetLabels()[api.LabelCluster]
		}
	}
	return ""
}

// load reads one cluster, and asks its nodes when that is wanted or nothing else says anything.
func (r *Reader) load(ctx context.Context, key kube.ClusterKey) (*kube.Snapshot, error) {
	p := r.d.Busy("reading cluster " + key.String())
	s, err := kube.Load(ctx, r.c, key, r.options())
	p.Stop()
	if err != nil {
		return nil, err
	}
	switch src := kube.Source(r.flags.Source); {
	case src == kube.SourceLive:
		return s, r.readLive(ctx, s, "")
	case src == kube.SourceAuto && silent(s) && len(running(s)) > 0:
		return s, r.readLive(ctx, s, "no report and no annotation has a row")
	}
	return s, nil
}

func (r *Reader) options() kube.LoadOptions {
	return kube.LoadOptions{
		Source: kube.Source(r.flags.Source), StatefulSets: true, PVCs: true, StatusReport: true, Now: r.d.Clock.Now,
		Lease: r.flags.ControllerNamespace != "", LeaseNamespace: r.flags.ControllerNamespace,
	}
}

// silent is true when nothing in the snapshot says who sees whom.
func silent(s *kube.Snapshot) bool {
	return !slices.ContainsFunc(s.Members(), func(m kube.Member) bool { return m.Reported || m.RowError != "" })
}

// running names the Pods that could answer.
func running(s *kube.Snapshot) []string {
	var names []string
	for _, p := range s.Pods {
		for _, st := range p.Status.ContainerStatuses {
			if st.Name == api.ContainerScyllaDB && st.State.Running != nil {
				names = append(names, p.Name)
			}
		}
	}
	return names
}

func (r *Reader) readLive(ctx context.Context, s *kube.Snapshot, reason string) error {
	p := r.d.Busy("asking the nodes of " + s.Key().String())
	defer p.Stop()
	err := r.d.ReadLive(ctx, s, kube.LiveOptions{Progress: func(done, total int) {
		p.Update(fmt.Sprintf("asking the nodes of %s: %d of %d answered", s.Key(), done, total))
	}})
	if err != nil {
		return fmt.Errorf("ask the nodes of %s: %w", s.Key(), err)
	}
	if reason == "" {
		return nil
	}
	// Nobody asked for the nodes: without leave to ask them, what was read before is what there is.
	if s.TakeBackLive(kube.Source(r.flags.Source)); s.Source == kube.SourceLive {
		s.SourceReason = reason + "; " + s.SourceReason
	}
	return nil
}

// Watch signals that the snapshots given may have changed; the channel is closed when ctx ends. Nil where nothing can be watched: the caller then
// looks again now and then.
func (r *Reader) Watch(ctx context.Context, snapshots []*kube.Snapshot) <-chan struct{} {
	if r.c == nil || r.flags.Live() || len(snapshots) != 1 {
		return nil
	}
	changed, err := kube.Watch(ctx, r.c, snapshots[0].Key(), kube.WatchFor(r.options()))
	if err != nil {
		return nil
	}
	return changed
}

// Saved is true when saved objects are read: they never change.
func (r *Reader) Saved() bool { return r.c == nil }

// Now is the moment that saved objects are looked at as of: when they were saved, where they say it.
func (r *Reader) Now() time.Time {
	if r.saved != nil && !r.saved.TakenAt.IsZero() {
		return r.saved.TakenAt
	}
	return r.d.Clock.Now()
}

// Archived is what an archive or saved objects hold of a cluster beyond its snapshot; nil for a cluster that was read from Kubernetes.
func (r *Reader) Archived(s *kube.Snapshot) *bundle.Cluster {
	if r.saved == nil {
		return nil
	}
	return r.saved.Cluster(s)
}
