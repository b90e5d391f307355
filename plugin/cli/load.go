// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/docs/samples"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/support"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// DefaultControllerNamespace is the controller's namespace in the manifests.
const DefaultControllerNamespace = "kubectl-scylla"

// SourceFlag is the value of --source; other values are refused during parsing.
type SourceFlag cluster.Source

func (f *SourceFlag) String() string { return string(*f) }

// Set implements pflag.Value.
func (f *SourceFlag) Set(text string) error {
	s, err := cluster.ParseSource(text)
	if err != nil {
		return errors.New("must be one of auto, report, annotation, live")
	}
	*f = SourceFlag(s)
	return nil
}

// Type implements pflag.Value.
func (*SourceFlag) Type() string { return "source" }

// ReadFlags select what a read command reads, and from where.
type ReadFlags struct {
	Source SourceFlag
	// From is an archive, a file of saved objects, or "-"; More are further ones.
	From string
	More []string
	// AllNamespaces and Selector select clusters.
	AllNamespaces bool
	Selector      string
	// ControllerNamespace is the namespace of the controller's Lease, which shows whether a
	// controller keeps the reports up to date. Empty skips this check.
	ControllerNamespace string

	selector labels.Selector
}

// AllNamespacesUsage is the usage of --all-namespaces.
const AllNamespacesUsage = "Include clusters in all namespaces."

// AddFlags binds --source and --from; many also binds -A and -l.
func (f *ReadFlags) AddFlags(cmd *cobra.Command, many bool) {
	f.Source = SourceFlag(cluster.SourceAuto)
	cmd.Flags().Var(&f.Source, "source",
		"Source of status reports: report, annotation (of Pods), live (each node by port-forward), auto (the first "+
			"that has any).")
	f.AddFromFlag(cmd)
	cmd.Flags().StringVar(&f.ControllerNamespace, "controller-namespace", DefaultControllerNamespace,
		"Namespace of the controller's Lease. If empty, the Lease is not checked.")
	_ = cmd.RegisterFlagCompletionFunc("source",
		cobra.FixedCompletions([]string{"auto", "report", "annotation", "live"}, cobra.ShellCompDirectiveNoFileComp))
	Rarely(cmd, "controller-namespace")
	if many {
		cmd.Flags().BoolVarP(&f.AllNamespaces, "all-namespaces", "A", false, AllNamespacesUsage)
		cmd.Flags().StringVarP(&f.Selector, "selector", "l", "",
			"Label selector: only clusters whose objects have these labels.")
	}
}

// Validate parses the selector and refuses conflicting flags.
func (f *ReadFlags) Validate() error {
	if f.From != "" {
		switch {
		case f.Source == SourceFlag(cluster.SourceLive) && f.From != "-" && !strings.HasSuffix(f.From, ".zip") &&
			!strings.HasPrefix(f.From, samples.Prefix):
			// An archive may contain live rows; that is known once it is open.
			return exit.Usagef("--source=live queries running nodes and cannot be used with --from")
		case f.Selector != "":
			return exit.Usagef("--selector selects clusters in Kubernetes and cannot be used with --from")
		}
	}
	if f.Selector == "" {
		return nil
	}
	s, err := labels.Parse(f.Selector)
	if err != nil {
		return exit.Usage(fmt.Errorf("invalid --selector=%q: %w", f.Selector, err))
	}
	f.selector = s
	return nil
}

// Live reports whether rows are read from each node: then there is nothing to watch.
func (f *ReadFlags) Live() bool { return f.Source == SourceFlag(cluster.SourceLive) }

// Reader loads clusters as selected by the flags, repeatedly. Saved objects are read once.
type Reader struct {
	d     *Deps
	flags ReadFlags
	c     client.WithWatch // nil for saved objects
	saved *support.Saved
	// machines caches Kubernetes nodes between reads.
	machines kube.Machines
	// Logs searches the logs of the loaded clusters for errors.
	Logs LogReader
}

// NewReader opens the file or creates the client. The read of a file ends with ctx, even for a pipe
// without a writer.
func (d *Deps) NewReader(ctx context.Context, flags ReadFlags) (*Reader, error) {
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
	saved, err := bounded.Until(ctx, func() (*support.Saved, error) { return d.readAll(flags) })
	if ctx.Err() != nil {
		return nil, exit.Interrupted(fmt.Errorf("read saved objects from %s: %w", flags.From, context.Cause(ctx)))
	}
	if err != nil {
		return nil, err
	}
	r.Age(saved)
	if err := saved.Use(cluster.Source(flags.Source)); err != nil {
		return nil, exit.WithHint(exit.Usage(err), "omit --source to use what is saved")
	}
	if now := d.Clock.Now(); saved.Manifest != nil {
		if r.sample() {
			now = saved.TakenAt
		}
		d.Say(words.Saved("archive", saved.TakenAt, now) + "\n")
	} else if saved.Clusters[0].Snapshot.Old {
		d.Say(words.Saved("saved objects", saved.TakenAt, now) + "\n")
	}
	r.saved, r.Logs.Given = saved, saved.Logs
	return r, nil
}

// Age sets the current age of saved objects. A sample is a lesson without a real cluster, and must
// show all of its steps.
func (r *Reader) Age(saved *support.Saved) {
	if r.c == nil && !r.sample() {
		saved.Age(r.d.Clock.Now())
	}
}

func (r *Reader) sample() bool {
	return strings.HasPrefix(r.flags.From, samples.Prefix) && len(r.flags.More) == 0
}

// Quiet returns a second Reader of the same source without progress output, for callers that own
// the terminal. Both may be used at the same time.
func (r *Reader) Quiet() *Reader {
	d := r.d
	quiet := &Deps{
		Streams: d.Streams, Flags: d.Flags, Clock: d.Clock, Environ: d.Environ, Terminal: d.Terminal,
		RESTConfig: d.RESTConfig, NewClient: d.NewClient, ReadLive: d.ReadLive,
		Replication: d.Replication, WhoAmI: d.WhoAmI, NotRepeated: d.NotRepeated, Color: d.Color, From: d.From,
	}
	quiet.Streams.ErrOut = io.Discard
	out := &Reader{d: quiet, flags: r.flags, c: r.c, saved: r.saved}
	out.Logs = LogReader{Deps: quiet, Archived: out.Archived, Given: r.Logs.Given}
	return out
}

// Deps returns the dependencies of the Reader.
func (r *Reader) Deps() *Deps { return r.d }

// openSaved reads a file or, as of must-gather, a directory.
func openSaved(in io.Reader) (*support.Saved, error) {
	f, isFile := in.(*os.File)
	if !isFile {
		return support.Open(in)
	}
	if info, err := f.Stat(); err != nil || !info.IsDir() {
		return support.Open(in)
	}
	root, err := os.OpenRoot(f.Name())
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // read only
	return support.OpenDirectory(root.FS())
}

func (d *Deps) readSaved(name string) (*support.Saved, error) {
	in, what := d.Streams.In, "standard input"
	if name != "-" {
		open := func(name string) (fs.File, error) { return os.Open(name) }
		if strings.HasPrefix(name, samples.Prefix) {
			open = samples.Open
		}
		f, err := open(name)
		if unknown, ok := errors.AsType[*samples.UnknownError](err); ok {
			return nil, exit.WithHint(exit.Usage(unknown), "list the samples", words.Scylla("", "demo")...)
		}
		if err != nil {
			return nil, exit.WithHint(fmt.Errorf("read saved objects: %w", err), "check the path after --from")
		}
		defer func() { _ = f.Close() }() // read only
		in, what = f, name
	}
	saved, err := openSaved(in)
	if err != nil {
		return nil, exit.WithHint(fmt.Errorf("read saved objects from %s: %w", what, err), kube.SaveAll)
	}
	if len(saved.Clusters) == 0 {
		return nil, exit.WithHint(fmt.Errorf("no ScyllaDB cluster found in %s", what),
			"save one with",
			words.Command{"kubectl", "get",
				"services,pods,statefulsets,persistentvolumeclaims,scylladbdatacenternodesstatusreports," +
					"scylladbstatusreports",
				"-n", "NAMESPACE", "-o", "yaml"}...)
	}
	return saved, nil
}

// Client returns nil for saved objects.
func (r *Reader) Client() client.WithWatch { return r.c }

// namespace to read; "" for all.
func (r *Reader) namespace() (string, error) {
	if r.flags.AllNamespaces {
		return "", nil
	}
	return r.d.Namespace()
}

// All loads every cluster that the flags select. If there is none, the error names other places.
func (r *Reader) All(ctx context.Context) ([]*cluster.Cluster, error) {
	if r.c == nil {
		return r.savedIn("")
	}
	ns, err := r.namespace()
	if err != nil {
		return nil, err
	}
	p := r.d.Busy("listing clusters")
	keys, err := kube.ListClusters(ctx, r.c, ns, r.flags.selector)
	p.Stop()
	if err != nil {
		return nil, err
	}
	for _, p := range r.parts(ctx, ns) {
		keys = append(keys, p.Key)
	}
	if len(keys) == 0 {
		return nil, r.none(ctx, ns)
	}
	snapshots := make([]*cluster.Cluster, 0, len(keys))
	for _, k := range keys {
		s, err := r.load(ctx, k)
		if err != nil {
			return nil, err
		}
		snapshots = append(snapshots, s)
	}
	return snapshots, nil
}

// noClusterError means that a place has no cluster.
type noClusterError struct{ In string }

func (e *noClusterError) Error() string { return "no ScyllaDB cluster found in " + e.In }

// none returns the error for a place without clusters; it names the namespaces that have one.
func (r *Reader) none(ctx context.Context, ns string) error {
	if r.flags.selector != nil {
		return exit.WithHint(fmt.Errorf("no ScyllaDB cluster in %s has objects with labels %s", inNamespace(ns),
			r.flags.Selector), "omit --selector to list all")
	}
	err := &noClusterError{In: inNamespace(ns)}
	byLabel := "member Services, StatefulSets and reports are found by the label " + api.LabelCluster
	if ns == "" {
		return exit.WithHint(err, byLabel)
	}
	// The usual cause is a forgotten namespace. A user without permission to list all namespaces
	// gets the plain error.
	elsewhere, lerr := kube.ListClusters(ctx, r.c, "", nil)
	switch {
	case lerr != nil:
		return exit.WithHint(err, "choose another namespace with -n, or list all", words.Scylla("", "status", "-A")...)
	case len(elsewhere) == 0:
		return exit.WithHint(err, "no other namespace has one; "+byLabel)
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
	return exit.WithHint(err, "choose another namespace with -n; there are clusters in: "+
		strings.Join(names, ", ")+more)
}

func inNamespace(ns string) string {
	if ns == "" {
		return "any namespace"
	}
	return "namespace " + ns
}

// savedIn returns the saved clusters in the namespace of -n, if set, and with the name, unless it
// is empty.
func (r *Reader) savedIn(name string) ([]*cluster.Cluster, error) {
	ns := r.d.NamespaceGiven()
	var found []*cluster.Cluster
	var names []string
	for _, s := range r.saved.Snapshots() {
		names = append(names, s.Key.String())
		if (ns == "" || r.flags.AllNamespaces || s.Namespace == ns) && (name == "" || s.Name == name) {
			// For saved objects, it uses the archive's results and reads nothing.
			found = append(found, r.Logs.Read(context.Background(), s))
		}
	}
	if len(found) == 0 {
		return nil, exit.WithHint(fmt.Errorf("the saved objects do not contain this cluster"), "they contain: "+
			strings.Join(names, ", "))
	}
	return found, nil
}

// Cluster loads one cluster by name. Errors: *cluster.NotFoundError, *cluster.AmbiguousError;
// without any cluster, the error of All.
func (r *Reader) Cluster(ctx context.Context, name string) (*cluster.Cluster, error) {
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
	p := r.d.Busy("finding cluster " + name)
	key, err := kube.ResolveCluster(ctx, r.c, ns, name)
	p.Stop()
	if e, ok := errors.AsType[*cluster.NotFoundError](err); ok {
		part, perr := r.part(ctx, ns, name)
		elsewhere, missing := errors.AsType[*cluster.NotFoundError](perr)
		switch {
		case !missing || e.Known == 0 && elsewhere.Known > 0:
			key, err = part, perr
		case e.Known == 0:
			return nil, r.none(ctx, ns) // there is no cluster with any name
		}
	}
	if err != nil {
		return nil, err
	}
	return r.load(ctx, key)
}

func ambiguous(what, name string, in []*cluster.Cluster) error {
	e := &cluster.AmbiguousError{What: what, Name: name, In: "the saved objects"}
	for _, s := range in {
		e.Candidates = append(e.Candidates, s.Key.String())
	}
	return e
}

// Load reads one cluster (see kube.Load).
func (d *Deps) Load(ctx context.Context, c client.Reader, key cluster.Key, opts kube.LoadOptions) (*cluster.Cluster,
	error) {
	now := d.Clock.Now()
	objects, err := kube.Load(ctx, c, key, opts)
	if err != nil {
		return nil, err
	}
	return cluster.New(objects, opts.Source, now), nil
}

// load reads one cluster. It queries the nodes if the user requested it, or if no other source has
// a row.
func (r *Reader) load(ctx context.Context, key cluster.Key) (*cluster.Cluster, error) {
	p := r.d.Busy("reading cluster " + key.String())
	s, err := r.d.Load(ctx, r.c, key, r.options())
	p.Stop()
	if err != nil {
		return nil, err
	}
	switch src := cluster.Source(r.flags.Source); {
	case src == cluster.SourceLive:
		s, err = r.readLive(ctx, s)
	case src == cluster.SourceAuto && silent(s) && len(running(s)) > 0:
		s, err = r.readLive(ctx, s)
	}
	if err != nil {
		return nil, err
	}
	if unknown := s.Unknown(); len(unknown) > 0 {
		s = s.WithElsewhere(kube.RecordedElsewhere(ctx, r.c, s.Key, unknown),
			r.machines.Claimed(ctx, r.c, s.Namespace, time.Now()))
	}
	return r.Logs.Read(ctx, s), nil
}

func (r *Reader) options() kube.LoadOptions {
	return kube.LoadOptions{
		Source: cluster.Source(r.flags.Source), StatefulSets: true, PVCs: true, StatusReport: true,
		Lease: r.flags.ControllerNamespace != "", LeaseNamespace: r.flags.ControllerNamespace, Operator: true,
		Machines: &r.machines,
	}
}

// silent reports whether no member has a row, not even an invalid one.
func silent(s *cluster.Cluster) bool {
	return !slices.ContainsFunc(s.Members(),
		func(m cluster.Member) bool { return m.Reported || !m.RowTrouble.IsZero() })
}

// running returns the names of the Pods whose ScyllaDB runs.
func running(s *cluster.Cluster) []string {
	var names []string
	for i := range s.Pods {
		if st := cluster.ScyllaDBStatus(&s.Pods[i]); st != nil && st.State.Running != nil {
			names = append(names, s.Pods[i].Name)
		}
	}
	return names
}

func (r *Reader) readLive(ctx context.Context, s *cluster.Cluster) (*cluster.Cluster, error) {
	p := r.d.Busy("querying the nodes of " + s.Key.String())
	defer p.Stop()
	asked, err := r.d.ReadLive(ctx, s, kube.LiveOptions{Progress: func(done, total int) {
		p.Update(fmt.Sprintf("querying the nodes of %s: %d of %d responded", s.Key, done, total))
	}})
	if err != nil {
		return nil, fmt.Errorf("query the nodes of %s: %w", s.Key, err)
	}
	return asked, nil
}

// Watch signals possible changes of the clusters; the channel is closed when ctx ends. It returns
// nil if nothing can be watched: the caller then polls.
func (r *Reader) Watch(ctx context.Context, snapshots []*cluster.Cluster) <-chan struct{} {
	if r.c == nil || r.flags.Live() || len(snapshots) != 1 {
		return nil
	}
	changed, err := kube.Watch(ctx, r.c, snapshots[0].Key, kube.WatchFor(r.options()))
	if err != nil {
		return nil
	}
	return changed
}

// Saved reports whether saved objects are read, which never change.
func (r *Reader) Saved() bool { return r.c == nil }

// Now returns the time at which saved objects were read, if known, else the current time.
func (r *Reader) Now() time.Time {
	if r.saved != nil && !r.saved.TakenAt.IsZero() {
		return r.saved.TakenAt
	}
	return r.d.Clock.Now()
}

// Archived returns the additional data of a saved cluster; nil for a cluster read from Kubernetes.
func (r *Reader) Archived(s *cluster.Cluster) *support.Cluster {
	if r.saved == nil {
		return nil
	}
	return r.saved.Cluster(s)
}
