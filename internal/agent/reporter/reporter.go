// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/reporter/publish"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/heartbeat"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/viewwire"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
)

const (
	// DefaultInterval is the default of --status-report-interval, MinInterval its minimum. With a
	// heartbeat its maximum is MaxInterval.
	DefaultInterval = healthpolicy.Interval
	minInterval     = healthpolicy.LeastInterval
	maxInterval     = healthpolicy.MostInterval

	// checkJitter is the largest part of its interval by which a check comes later.
	checkJitter = 0.2
	// lastWords bounds the last poll and write after a stop signal.
	lastWords = 5 * time.Second

	modeNormal = "NORMAL"
)

// Options of Run.
type Options struct {
	// Client reads and patches this Pod.
	Client client.Client
	// Namespace and Pod name this Pod. PodUID, if known, excludes a successor of the same name.
	Namespace, Pod string
	PodUID         types.UID
	// Interval between two polls, at least MinInterval.
	Interval time.Duration
	// ScyllaDB of this Pod.
	ScyllaDB *scylla.Client
	// Metrics of that ScyllaDB, for its position in the group 0 log; nil reads none.
	Metrics *scylla.Client
	// Supervisor is the supervisord of ScyllaDB's container, queried without a row; nil means none.
	Supervisor *scylla.Client
	// Files are the files read in addition to ScyllaDB's API.
	Files
	// Listener serves /healthz, /readyz and /metrics; nil serves nothing. Run closes it.
	Listener net.Listener
	// Heartbeat serves the row with a counter over TLS, see package heartbeat; nil serves none. Run
	// closes it.
	Heartbeat net.Listener
	// LeaseNamespace has the controller's Lease with the address of its views; empty follows no
	// controller. The reporter relays views if it serves a heartbeat.
	LeaseNamespace string
	// Clock is the real one if nil.
	Clock clock.WithTicker
	// Log is slog.Default() if nil.
	Log *slog.Logger
}

// ValidateInterval returns a usage error if d < MinInterval.
func ValidateInterval(d time.Duration) error {
	if d < minInterval {
		return exit.Usagef(
			"invalid --status-report-interval=%v: must be at least %v, for example --status-report-interval=%v", d,
			minInterval, DefaultInterval)
	}
	return nil
}

// Run polls until ctx ends, and once more, so that the row does not outlive the node. It then
// returns nil. Errors: wrong options (exit code 2); the Pod does not exist or was replaced.
func Run(ctx context.Context, o Options) error {
	if err := ValidateInterval(o.Interval); err != nil {
		return err
	}
	if o.Namespace == "" || o.Pod == "" {
		return exit.Usagef("the Pod name is unknown: set POD_NAMESPACE and POD_NAME (downward API)")
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	r := newReporter(o)

	var wg sync.WaitGroup
	if o.Heartbeat != nil {
		stop, err := r.serveHeartbeat(ctx, &wg)
		if err != nil {
			return err
		}
		defer func() { stop(); wg.Wait() }()
	}
	if o.Listener != nil {
		stop := r.serve(o.Listener, &wg)
		defer func() { stop(); wg.Wait() }()
	}
	defer o.ScyllaDB.CloseIdleConnections()
	if o.Metrics != nil {
		defer o.Metrics.CloseIdleConnections()
	}
	if o.Supervisor != nil {
		defer o.Supervisor.CloseIdleConnections()
	}
	return r.loop(ctx)
}

func newReporter(o Options) *reporter {
	registry := prometheus.NewRegistry()
	r := &reporter{
		Options: o, reader: scylla.NewReader(o.ScyllaDB), registry: registry, metrics: NewMetrics(registry),
		relay: &relay{clock: o.Clock}, fetch: viewwire.Fetch,
	}
	r.reader.Supervisor = o.Supervisor
	r.Log = r.Log.With("namespace", o.Namespace, "pod", o.Pod)
	return r
}

type reporter struct {
	Options
	reader   *scylla.Reader
	registry *prometheus.Registry
	metrics  *metrics
	beat     heartbeat.Beat
	where    *api.ReportHeartbeat // nil without a heartbeat
	relay    *relay
	fetch    func(context.Context, *http.Client, viewwire.Question) (*viewwire.View, error)

	// Only for the loop.
	state       publish.State
	version     string // resourceVersion of the Pod at the last reading or write
	diskUsed    *int32 // in the last row
	lastError   string // of the row, to log changes only
	flushed     int64  // the ScyllaDB process that was flushed
	spell       int64  // counts NORMAL periods if ScyllaDB reports no generation
	wasNormal   bool
	flushTries  int
	nextFlush   time.Time
	orderFailed bool

	// Shared with the HTTP handlers.
	mu         sync.Mutex
	polled     time.Time // end of the last poll
	unwritten  time.Time // of state
	writeError string
}

func (r *reporter) loop(ctx context.Context) error {
	ticker := r.Clock.NewTicker(r.Interval)
	defer ticker.Stop()
	r.Log.Info("reporting", "interval", r.Interval.String())
	for {
		if err := r.step(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return r.last(ctx)
		case <-ticker.C():
		}
	}
}

// last writes the final row: ScyllaDB's container stops before its native sidecars. A row with UP
// would outlive the node for as long as the Pod object exists.
func (r *reporter) last(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	r.state.Hurry()
	if err := r.step(ctx); err != nil {
		// A Pod that is deleted by force is gone before its containers: there is no annotation
		// left.
		r.Log.Info("stopped, because the Pod no longer exists", "reason", err.Error())
		return nil
	}
	r.Log.Info("stopped")
	return nil
}

// step polls once and writes changes. It returns only permanent errors.
func (r *reporter) step(ctx context.Context) error {
	row := r.poll(ctx)
	r.complete(ctx, &row)
	r.flush(ctx, row)
	if !r.state.Restored() {
		if !r.state.Due(r.Clock.Now()) {
			r.show(nil)
			return nil
		}
		if err := r.restore(ctx); err != nil {
			return r.apiFailed(ctx, "read", err)
		}
		if r.state.Value() != "" {
			// ScyllaDB's list may lack members of the last row.
			row = r.poll(ctx)
			r.complete(ctx, &row)
		}
	}
	r.state.Stamp(&row, r.Clock.Now())
	r.state.Keep(&row)
	value, err := api.EncodeNodeStatusReport(&row)
	if err != nil {
		return fmt.Errorf("report of pod %s/%s: %w", r.Namespace, r.Pod, err)
	}
	// Before the write: readers of the heartbeat must see a row that cannot be written.
	if r.beat.Say(value, row.Error == nil); row.Error == nil {
		r.metrics.heartbeats.Inc()
	}
	return r.bring(ctx, value)
}

// bring brings the annotation to the row, as package publish decides.
func (r *reporter) bring(ctx context.Context, value string) error {
	tries := r.state.Tries()
	switch r.state.Next(value, r.Clock.Now()) {
	case publish.Rest:
		r.settled(tries)
		return nil
	case publish.Check:
		r.settled(tries)
		switch _, err := r.readBack(ctx); {
		case errors.Is(err, errReplaced) || apierrors.IsNotFound(err):
			return r.apiFailed(ctx, "read", err)
		case err != nil:
			r.state.Unchecked(r.Clock.Now())
			return nil //nolint:nilerr // the row is written, and the check is repeated
		case r.state.Has(value):
			return nil
		}
	case publish.ReadBack:
		if _, err := r.readBack(ctx); err != nil {
			return r.apiFailed(ctx, "read", err)
		}
		if r.state.Has(value) {
			r.settled(tries)
			return nil
		}
	}
	if err := r.write(ctx, value); err != nil {
		r.metrics.writes.WithLabelValues("error").Inc()
		return r.apiFailed(ctx, "write", err)
	}
	r.metrics.writes.WithLabelValues("ok").Inc()
	r.state.Wrote(value)
	r.settled(tries)
	return nil
}

func (r *reporter) poll(ctx context.Context) api.NodeStatusReport {
	ctx, cancel := context.WithTimeout(ctx, min(max(2*r.Interval, 5*time.Second), 15*time.Second))
	defer cancel()
	row := r.reader.Read(ctx)
	now := r.Clock.Now()

	text, result := "", "row"
	if row.Error != nil {
		text, result = *row.Error, "error"
	}
	if text != r.lastError {
		if text != "" {
			r.Log.Info("no status report", "error", text)
		} else {
			r.Log.Info("status report restored", "observedNodes", len(row.ObservedNodes))
		}
		r.lastError = text
	}
	r.metrics.observe(row, result, now)
	r.mu.Lock()
	r.polled = now
	r.mu.Unlock()
	return row
}

// restore reads the annotation, once: a restarted reporter keeps its times and does not rewrite it.
func (r *reporter) restore(ctx context.Context) error {
	pod, err := r.readBack(ctx)
	if err != nil {
		return err
	}
	if r.PodUID == "" {
		r.PodUID = pod.UID
	}
	old := r.state.Restore()
	if name := api.ClusterOf(pod.Labels); name != "" {
		r.relay.of(types.NamespacedName{Namespace: r.Namespace, Name: name})
		r.metrics.info.WithLabelValues(r.Namespace, name, pod.Labels[api.LabelDatacenter]).Set(1)
	}
	if old != nil {
		r.reader.Remember(*old)
	}
	return nil
}

func ownPod(namespace, name string) *metav1.PartialObjectMetadata {
	p := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	p.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	return p
}

var errReplaced = errors.New("another Pod now has this name: this reporter's Pod was replaced")

func (r *reporter) replaced() error {
	return fmt.Errorf("pod %s/%s: %w", r.Namespace, r.Pod, errReplaced)
}

// apiFailed backs off, or returns a permanent error.
func (r *reporter) apiFailed(ctx context.Context, verb string, err error) error {
	switch {
	case errors.Is(err, errReplaced):
		return err
	case apierrors.IsConflict(err):
		return r.replaced()
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s pod %s/%s: does not exist: %w", verb, r.Namespace, r.Pod, err)
	case over(ctx):
		return nil
	}
	r.state.Failed(r.Clock.Now())
	text := exit.Describe(err)
	if tries := r.state.Tries(); tries == 1 || tries%20 == 0 {
		r.Log.Warn("cannot "+verb+" this Pod, retrying", "error", text.Error(), "attempts", tries)
	}
	r.show(text)
	return nil
}

func over(ctx context.Context) bool { return ctx.Err() != nil }

// show copies for readers of /readyz since when the row is unwritten, and the last error.
func (r *reporter) show(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unwritten = r.state.Unwritten()
	switch {
	case r.unwritten.IsZero():
		r.writeError = ""
	case err != nil:
		r.writeError = err.Error()
	}
}

// settled shows the state, and logs that the Pod is written again after failed tries.
func (r *reporter) settled(tries int) {
	if tries > 0 && r.state.Tries() == 0 {
		r.Log.Info("this Pod is written again", "attempts", tries)
	}
	r.show(nil)
}

// flush flushes once per ScyllaDB process. The generation is the second of the process's start;
// versions without it count as restarted after each period without NORMAL.
func (r *reporter) flush(ctx context.Context, row api.NodeStatusReport) {
	if row.OperationMode != modeNormal || row.HostID == "" {
		r.wasNormal = false
		return
	}
	if !r.wasNormal {
		r.wasNormal, r.spell = true, r.spell+1
	}
	process, err := r.ScyllaDB.Generation(ctx)
	switch {
	case err != nil && !scylla.IsMissing(err):
		return
	case err != nil:
		process = -r.spell
	}
	if process == r.flushed || r.Clock.Now().Before(r.nextFlush) {
		return
	}
	if err := r.ScyllaDB.FlushSystemLocal(ctx); err != nil {
		if ctx.Err() != nil {
			return
		}
		r.flushTries++
		r.nextFlush = r.Clock.Now().Add(publish.Backoff(r.flushTries, time.Minute))
		r.metrics.flushes.WithLabelValues("error").Inc()
		if r.flushTries == 1 {
			r.Log.Warn("cannot flush system.local, retrying", "error", err.Error())
		}
		return
	}
	// After a failure, the next clean stop flushes, or the next start replays the commit log.
	if err := r.ScyllaDB.FlushScyllaLocal(ctx); err != nil {
		r.Log.Info("system.scylla_local was not flushed: the disk may not contain the ID of group 0 yet", "error",
			err.Error())
	}
	r.flushed, r.flushTries, r.nextFlush = process, 0, time.Time{}
	r.metrics.flushes.WithLabelValues("ok").Inc()
	r.Log.Info("system.local flushed: the data directory now records that this node has bootstrapped", "hostID",
		row.HostID)
}

// ready returns nil while publish.Ready is true, else the reason.
func (r *reporter) ready() error {
	now := r.Clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case publish.Ready(r.polled, r.unwritten, now, r.Interval):
		return nil
	case r.polled.IsZero():
		return errors.New("ScyllaDB is not polled yet")
	case !publish.Ready(r.polled, time.Time{}, now, r.Interval):
		return fmt.Errorf("ScyllaDB was last polled %v ago, the limit is %v", now.Sub(r.polled).Round(time.Second),
			3*r.Interval)
	}
	return fmt.Errorf("a change has not been written to the Pod for %v: %s",
		now.Sub(r.unwritten).Round(time.Second), r.writeError)
}
