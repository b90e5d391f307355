// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// Reasons of blockers that are about the asking and not about the cluster, beside those of package matrix.
const (
	ReasonServiceMissing matrix.Reason = "MemberServiceMissing" // the member Service is not there (yet)
	ReasonAPIUnreachable matrix.Reason = "APIUnreachable"       // the API server does not answer
	ReasonIncomplete     matrix.Reason = "ReadingIncomplete"    // part of what the decision needs may not be read
)

const (
	// DefaultDataDir is where ScyllaDB's volume is looked at when it is mounted.
	DefaultDataDir = "/var/lib/scylla"
	// DefaultLeaseNamespace is where the controller is installed.
	DefaultLeaseNamespace = "kubectl-scylla"
	// DefaultTerminationLog is where Kubernetes reads a container's last words.
	DefaultTerminationLog = "/dev/termination-log"

	// reevaluate is how often the cluster is judged again without any sign of a change, repeat how often open blockers are logged.
	reevaluate = 10 * time.Second
	repeat     = time.Minute
	// missingService is how often a member Service that is not there is asked for.
	missingService = 2 * time.Second
	// quiet gathers changes: hundreds of members may report the same flip within a second.
	quiet = 500 * time.Millisecond
	// requestTimeout bounds one reading of the cluster.
	requestTimeout = 15 * time.Second
)

// Options of Run.
type Options struct {
	// NewClient makes the client. It is only called when the API server is needed: a bootstrapped node starts without one.
	NewClient func() (client.WithWatch, error)
	// Namespace and Service name the member. Pod and PodUID name the own Pod, for Events; Pod is Service when empty.
	Namespace, Service string
	Pod                string
	PodUID             types.UID
	// Cluster is the value of the label that selects the reports; empty takes label scylla/cluster of the Service.
	Cluster string
	// QueryFile has the query's standard output, QueryFile+".code" its exit code.
	QueryFile string
	// DataDir is ScyllaDB's volume, looked at only when it is there.
	DataDir string
	// PVC is the claim's name for texts; empty lets the cluster say.
	PVC string
	// AllowNonReporting is --single-report-allow-non-reporting-host-ids.
	AllowNonReporting bool
	// LeaseNamespace holds the controller's Lease, looked at when the reports are our controller's.
	LeaseNamespace string
	// Image of ScyllaDB's container and Version of ScyllaDB, either may be empty; Version wins.
	Image, Version string
	// Disabled is feature gate BootstrapSynchronisation switched off.
	Disabled bool
	// Listen opens the port of /metrics and /healthz when waiting begins; nil serves nothing.
	Listen func() (net.Listener, error)
	// TerminationLog takes the reason of a refusal when the file exists; empty writes none.
	TerminationLog string
	// Clock is the real one when nil, Log slog.Default().
	Clock clock.WithTicker
	Log   *slog.Logger
}

// Run returns nil when ScyllaDB may start. Errors: a refusal (exit code 2), when waiting cannot help, with the cure in its text; wrong
// options (exit code 2); ctx's error when it ends first. It never returns nil on something that it could not read.
func Run(ctx context.Context, o Options) error {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Pod == "" {
		o.Pod = o.Service
	}
	b := &barrier{Options: o, started: o.Clock.Now(), metrics: newMetrics()}
	b.Log = b.Log.With("namespace", o.Namespace, "member", o.Service)
	if o.Disabled {
		b.Log.Info("open: feature gate BootstrapSynchronisation is off, nothing was checked")
		return nil
	}
	if o.Namespace == "" || o.Service == "" {
		return exit.Usagef("the member is not known: set POD_NAMESPACE and POD_NAME from the downward API, or give --namespace and --service-name")
	}
	b.readDisk()
	// What the disk says for certain needs nobody else: a restart must work while the API server is away.
	if b.disk == bootstrap.BootstrappedYes || b.disk == bootstrap.BootstrappedDecommissioned {
		v := bootstrap.Decide(bootstrap.Input{
			Self: bootstrap.Place(o.Service, nil), Namespace: o.Namespace, Disk: b.disk, DiskDetail: b.diskDetail, PVC: b.claim(""),
		})
		if v.Satisfied {
			b.Log.Info("open: "+v.Summary, "decision", string(v.Decision))
			return nil
		}
		if v.Decision == bootstrap.DecisionRefuse {
			return b.refuse(v)
		}
	}
	c, err := o.NewClient()
	if err != nil {
		return fmt.Errorf("make client of the API server: %w", err)
	}
	b.client = c
	b.lease = &leaseWatch{namespace: o.LeaseNamespace}
	b.events = &events{barrier: b}

	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	stop := b.serve(&wg)
	defer func() {
		cancel()
		if stop != nil {
			stop()
		}
		for b.changes != nil { // closed when the watches are at rest
			if _, ok := <-b.changes; !ok {
				b.changes = nil
			}
		}
		wg.Wait()
	}()
	return b.wait(ctx)
}

type barrier struct {
	Options
	client  client.WithWatch
	lease   *leaseWatch
	events  *events
	metrics *metrics
	started time.Time

	disk       bootstrap.Bootstrapped
	diskDetail string
	dirEmpty   bool // somebody looked, and there is nothing in it
	dirUsed    bool // somebody looked, and there is something in it
	notes      []string

	ctx       context.Context // of the watch: it lives as long as the waiting
	watching  bool
	changes   <-chan struct{}
	shown     string // the verdict that was last logged, without ages
	lastShown time.Time
}

// wait judges until the verdict is final.
func (b *barrier) wait(ctx context.Context) error {
	b.ctx = ctx
	for {
		v, svc := b.judge(ctx)
		if ctx.Err() != nil {
			b.Log.Info("stopped while waiting")
			return ctx.Err()
		}
		b.metrics.observe(v)
		switch {
		case v.Satisfied:
			b.opened(ctx, v, svc)
			return nil
		case v.Decision == bootstrap.DecisionRefuse:
			b.events.refused(ctx, v)
			return b.refuse(v)
		}
		b.show(v)
		b.events.waiting(ctx, v)
		timer := b.Clock.NewTimer(b.pause(v))
		select {
		case <-ctx.Done():
		case <-timer.C():
		case _, ok := <-b.changes:
			if !ok {
				b.changes = nil
			}
		}
		timer.Stop()
	}
}

// pause is until the next judgement when nothing is heard.
func (b *barrier) pause(v bootstrap.Verdict) time.Duration {
	switch {
	case slices.ContainsFunc(v.Blockers, func(x matrix.Blocker) bool { return x.Reason == ReasonServiceMissing }):
		return missingService
	case slices.ContainsFunc(v.Blockers, func(x matrix.Blocker) bool { return x.Reason == matrix.ReasonControllerSilent }):
		// A controller that lives renews its Lease every two seconds.
		return time.Second
	}
	return reevaluate
}

// judge reads the cluster afresh and decides. Each opening is decided on what was read in the same moment, never on what a watch
// remembers: a watch that has silently broken looks like a cluster in which nothing happens.
func (b *barrier) judge(ctx context.Context) (bootstrap.Verdict, *corev1.Service) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	key, trouble := b.key(ctx)
	if trouble != nil {
		return b.blocked(*trouble), nil
	}
	b.watch(key)
	// Pods cost the square of the cluster's size to read. Our controller marks rows of Pods that do not run itself; for other
	// writers of reports it is worth it, but only in the moment that would open.
	v, snap, svc := b.decide(ctx, key, kube.LoadOptions{Source: kube.SourceReport, NoPods: true, StatusReport: true, Member: b.Service, Now: b.Clock.Now})
	if v.Decision == bootstrap.DecisionAllUp && !ours(snap) {
		v, _, svc = b.decide(ctx, key, kube.LoadOptions{Source: kube.SourceReport, StatusReport: true, Member: b.Service, Now: b.Clock.Now})
	}
	return v, svc
}

func (b *barrier) decide(ctx context.Context, key kube.ClusterKey, opts kube.LoadOptions) (bootstrap.Verdict, *kube.Snapshot, *corev1.Service) {
	b.metrics.evaluations.Inc()
	snap, err := kube.Load(ctx, b.client, key, opts)
	if err != nil {
		return b.blocked(b.unread(err)), nil, nil
	}
	in, err := snap.BootstrapInput(b.Service)
	if err != nil {
		return b.blocked(b.noService(err.Error())), snap, nil
	}
	svc := serviceOf(snap, b.Service)
	in.Disk, in.DiskDetail, in.DataDirectoryEmpty = b.disk, b.diskDetail, b.dirEmpty
	in.PVC, in.AllowNonReporting = b.claim(in.PVC), b.AllowNonReporting
	in.Banned = b.banned(snap, in)
	in.ControllerSilent, in.ControllerSilentSince = "", time.Time{}
	if ours(snap) {
		in.ControllerSilent, in.ControllerSilentSince = b.lease.look(ctx, b.client, b.Clock.Now())
	}
	v := bootstrap.Decide(in)
	v.Notes = append(v.Notes, b.notes...)
	// Only what rests on the reports being whole is held back by a part that could not be read.
	if err := snap.Incomplete(); err != nil && (v.Decision == bootstrap.DecisionAllUp || v.Decision == bootstrap.DecisionGenesis) {
		b.metrics.apiErrors.Inc()
		x := b.blocked(matrix.Blocker{
			Reason: ReasonIncomplete, Detail: oneLine(err),
			NextStep: "give the Pod's ServiceAccount the rights of ClusterRole kubectl-scylla-member",
		})
		x.Notes = v.Notes
		return x, snap, svc
	}
	return v, snap, svc
}

// key is the cluster that the member Service belongs to.
func (b *barrier) key(ctx context.Context) (kube.ClusterKey, *matrix.Blocker) {
	if b.Cluster != "" {
		return kube.ClusterKey{Namespace: b.Namespace, Name: b.Cluster}, nil
	}
	var svc corev1.Service
	err := b.client.Get(ctx, types.NamespacedName{Namespace: b.Namespace, Name: b.Service}, &svc)
	switch {
	case apierrors.IsNotFound(err):
		x := b.noService("Service " + b.Namespace + "/" + b.Service + " does not exist")
		return kube.ClusterKey{}, &x
	case err != nil:
		x := b.unread(fmt.Errorf("read Service %s/%s: %w", b.Namespace, b.Service, err))
		return kube.ClusterKey{}, &x
	case svc.Labels[api.LabelCluster] == "":
		return kube.ClusterKey{}, &matrix.Blocker{
			Reason: matrix.ReasonLabelMissing, Observed: bootstrap.Place(b.Service, svc.Labels),
			Detail:   "label " + api.LabelCluster + " is missing or empty on its Service",
			NextStep: "label the Service with the cluster's name, or give the barrier --selector-label-value",
		}
	}
	b.Cluster = svc.Labels[api.LabelCluster]
	return kube.ClusterKey{Namespace: b.Namespace, Name: b.Cluster}, nil
}

// watch begins once, when the cluster is known. A watch that cannot be had only makes the barrier slower: it judges at intervals too.
func (b *barrier) watch(key kube.ClusterKey) {
	if b.watching {
		return
	}
	b.watching = true
	changes, err := kube.Watch(b.ctx, b.client, key, kube.WatchOptions{
		Services: true, Reports: true, StatusReports: true, Quiet: quiet,
		Connected: func(ok bool, err error) {
			switch {
			case ok:
				b.Log.Info("watching the member Services and reports of the cluster", "cluster", key.Name)
			case err != nil:
				b.metrics.apiErrors.Inc()
				b.Log.Warn("a watch broke off, opening it again", "error", oneLine(err))
			}
		},
		Problem: func(p kube.Problem) { b.Log.Warn("cannot watch, looking at intervals instead", "problem", p.Message) },
	})
	if err != nil {
		b.Log.Warn("cannot watch, looking at intervals instead", "error", oneLine(err))
		return
	}
	b.changes = changes
}

func (b *barrier) blocked(x matrix.Blocker) bootstrap.Verdict {
	self := bootstrap.Place(b.Service, nil)
	return bootstrap.Verdict{
		Decision: bootstrap.DecisionWait, Self: self, Blockers: []matrix.Blocker{x},
		Summary: b.Service + " must wait: " + x.Detail, Notes: slices.Clone(b.notes),
	}
}

func (b *barrier) noService(detail string) matrix.Blocker {
	return matrix.Blocker{
		Reason: ReasonServiceMissing, Detail: detail,
		NextStep: "the controller makes one Service for each member: see that it runs, and that the StatefulSet has label " +
			api.LabelManagedBy + "=" + api.ManagedByUs,
	}
}

func (b *barrier) unread(err error) matrix.Blocker {
	b.metrics.apiErrors.Inc()
	if e, ok := errors.AsType[*kube.NotFoundError](err); ok {
		return b.noService(e.Error())
	}
	return matrix.Blocker{Reason: ReasonAPIUnreachable, Detail: oneLine(exit.Describe(err)), NextStep: "the barrier never opens without having read the reports, and goes on trying"}
}

// refuse makes the one message of a refusal; whoever runs the barrier prints it.
func (b *barrier) refuse(v bootstrap.Verdict) error {
	text := v.Summary
	if len(v.Blockers) > 0 && v.Blockers[0].NextStep != "" {
		text += "; " + v.Blockers[0].NextStep
	}
	if b.TerminationLog != "" {
		// Only where Kubernetes has made the file: elsewhere /dev is no place to write to.
		if f, err := os.OpenFile(b.TerminationLog, os.O_WRONLY|os.O_TRUNC, 0); err == nil {
			_, _ = f.WriteString(text)
			_ = f.Close()
		}
	}
	return exit.Refused(errors.New(text))
}

// opened tells everybody; nothing that fails here keeps ScyllaDB from starting.
func (b *barrier) opened(ctx context.Context, v bootstrap.Verdict, svc *corev1.Service) {
	attrs := []any{"decision", string(v.Decision), "waited", b.Clock.Since(b.started).Round(time.Second).String()}
	if len(v.Notes) > 0 {
		attrs = append(attrs, "notes", v.Notes)
	}
	if v.Decision == bootstrap.DecisionForced {
		attrs = append(attrs, "force", forcedBy(svc), "overruled", texts(v, time.Time{}))
	}
	b.Log.Info("open: "+v.Summary, attrs...)
	b.events.opened(ctx, v, svc)
}

// show logs a change of blockers at once, and what still blocks each minute.
func (b *barrier) show(v bootstrap.Verdict) {
	now := b.Clock.Now()
	fresh := v.Summary + "\n" + strings.Join(texts(v, time.Time{}), "\n")
	if fresh == b.shown && now.Sub(b.lastShown) < repeat {
		return
	}
	what := "waiting"
	if fresh == b.shown {
		what = "still waiting"
	}
	b.shown, b.lastShown = fresh, now
	attrs := []any{"waited", now.Sub(b.started).Round(time.Second).String(), "blockers", texts(v, now)}
	if next := nextStep(v); next != "" {
		attrs = append(attrs, "nextStep", next)
	}
	if len(v.Notes) > 0 {
		attrs = append(attrs, "notes", v.Notes)
	}
	b.Log.Info(what+": "+v.Summary, attrs...)
}

// texts are the blockers, one line per node that is in the way; with the zero time without ages.
func texts(v bootstrap.Verdict, now time.Time) []string {
	groups, total := matrix.GroupBlockers(v.Blockers)
	const enough = 20
	var out []string
	for i, g := range groups {
		if i == enough {
			out = append(out, fmt.Sprintf("and others: %d blockers in all", total))
			break
		}
		text := g.Text(now)
		// The reasons of this package are not package matrix' own, which then says the code itself.
		if code := string(g.Reason) + ": "; !strings.HasPrefix(text, code) {
			text = code + text
		}
		out = append(out, text)
	}
	return out
}

func nextStep(v bootstrap.Verdict) string {
	for _, x := range v.Blockers {
		if x.NextStep != "" {
			return x.NextStep
		}
	}
	return ""
}

// forcedBy says who forced and why, as far as the Service tells.
func forcedBy(svc *corev1.Service) string {
	if svc == nil {
		return "annotation " + api.AnnotationForceProceed
	}
	text := "annotation " + api.AnnotationForceProceed + " on Service " + svc.Name
	if from := svc.Annotations[api.AnnotationForcePropagatedFrom]; from != "" {
		text += ", propagated from " + from
	} else if f := fieldManager(svc, api.AnnotationForceProceed); f != nil {
		text += ", set by " + f.Manager
		if f.Time != nil {
			text += " at " + f.Time.UTC().Format(time.RFC3339)
		}
	}
	if why := svc.Annotations[api.AnnotationForceReason]; why != "" {
		return text + ", reason: " + why
	}
	return text + ", no reason given"
}

// fieldManager is whose write an annotation was.
func fieldManager(svc *corev1.Service, annotation string) *metav1.ManagedFieldsEntry {
	for i := range svc.ManagedFields {
		f := &svc.ManagedFields[i]
		if f.FieldsV1 != nil && strings.Contains(string(f.FieldsV1.GetRawBytes()), `"f:`+annotation+`"`) {
			return f
		}
	}
	return nil
}

func (b *barrier) claim(known string) string {
	switch {
	case b.PVC != "":
		return b.PVC
	case known != "":
		return known
	}
	return "data-" + b.Service
}

func ours(s *kube.Snapshot) bool {
	return s != nil && (slices.ContainsFunc(s.Reports, func(r api.ScyllaDBDatacenterNodesStatusReport) bool {
		return r.Labels[api.LabelManagedBy] == api.ManagedByUs
	}) || s.StatusReport != nil && s.StatusReport.Labels[api.LabelManagedBy] == api.ManagedByUs)
}

func serviceOf(s *kube.Snapshot, name string) *corev1.Service {
	for i := range s.Services {
		if s.Services[i].Name == name {
			return &s.Services[i]
		}
	}
	return nil
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
