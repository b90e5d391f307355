// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/gate"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/viewwire"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const (
	// DefaultLeaseNamespace is the default namespace of the controller.
	DefaultLeaseNamespace = "kubectl-scylla"

	// repeat is the interval between logs of blockers.
	repeat = time.Minute
	// quiet collects changes: hundreds of members may report one change within a second.
	quiet = 500 * time.Millisecond
	// judgeTimeout bounds one judgement of the cluster, including the final check.
	judgeTimeout = 30 * time.Second
	// restartTimeout bounds the check of a bootstrapped volume's owner at the API server.
	restartTimeout = 5 * time.Second
)

// Options of Run.
type Options struct {
	// NewClient is called only if the API server is needed: a bootstrapped node starts without it.
	NewClient func() (client.WithWatch, error)
	// Namespace and Service name the member. Pod (default Service) and PodUID identify this Pod.
	Namespace, Service string
	Pod                string
	PodUID             types.UID
	// Cluster selects the reports; empty takes label scylla/cluster of the Service.
	Cluster string
	// QueryFile has the query's standard output, QueryFile+".code" its exit code.
	QueryFile string
	// DataDir is ScyllaDB's volume, read only if mounted.
	DataDir string
	// PVC is the PVC's name for texts; empty takes it from the cluster.
	PVC string
	// AllowNonReporting is --single-report-allow-non-reporting-host-ids.
	AllowNonReporting bool
	// LeaseNamespace has the controller's Lease, checked if our controller writes the reports.
	LeaseNamespace string
	// Image of ScyllaDB's container and Version of ScyllaDB; Version has priority, both optional.
	Image, Version string
	// Policy of the barrier; empty means cluster.Cluster's DefaultPolicy.
	Policy api.Policy
	// Stabilisation is, by reports, how long all nodes must stay UP; nil takes the health policy.
	Stabilisation *time.Duration
	// Ask returns nil if the reporter of that member confirms its row; nil means HTTPS.
	Ask func(ctx context.Context, member, digest string) error
	// AskView reads the view that a member's reporter relays; nil means HTTPS.
	AskView func(ctx context.Context, member string, q viewwire.Question) (*viewwire.View, error)
	// Launcher, Just and Annotation are gate.Self's.
	Launcher, Just bool
	Annotation     string
	// Disabled is set if feature gate BootstrapSynchronisation is off.
	Disabled bool
	// Listen opens the port of /metrics and /healthz; nil serves nothing.
	Listen func() (net.Listener, error)
	// TerminationLog is an existing file for the reason of a refusal; empty writes none.
	TerminationLog string
	// Clock is the real one if nil.
	Clock clock.WithTicker
	Log   *slog.Logger
}

// Run returns nil if ScyllaDB may start, and never because data was unreadable. Errors: a refusal
// (exit code 2) if waiting cannot help, with the remedy; wrong options (exit code 2); ctx's error.
func Run(ctx context.Context, o Options) error {
	o.Clock = cmp.Or[clock.WithTicker](o.Clock, clock.RealClock{})
	o.Pod = cmp.Or(o.Pod, o.Service)
	registry := prometheus.NewRegistry()
	b := &barrier{Options: o, started: o.Clock.Now(), metrics: NewMetrics(registry)}
	b.reads.barrier = b
	b.Log = b.Log.With("namespace", o.Namespace, "member", o.Service)
	if o.Disabled {
		b.Log.Info("open: "+words.Of(o.Service, words.New(words.StartsUnprotected)), "decision",
			string(bootstrap.DecisionUnprotected))
		return nil
	}
	if o.Namespace == "" || o.Service == "" {
		return exit.Usagef(
			"the member is unknown: set POD_NAMESPACE and POD_NAME (downward API), or --namespace and --service-name")
	}
	b.gate = gate.New(b.self(), &b.reads)
	if v, ok := b.restart(ctx); ok {
		if !v.Satisfied {
			return b.refuse(b.advise(v))
		}
		b.Log.Info("open: "+words.Of(v.Self.Name(), v.Summary), "decision", string(v.Decision))
		return nil
	}
	if err := b.connect(); err != nil {
		return err
	}
	b.events.barrier = b

	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	stop := b.serve(registry, &wg)
	defer func() {
		cancel()
		stop()
		b.drain()
		wg.Wait()
	}()
	return b.wait(ctx)
}

type barrier struct {
	Options
	client  client.WithWatch
	gate    *gate.Gate
	reads   reads
	events  events
	metrics *metrics
	started time.Time

	unannotated bool // a write of the annotation failed

	name      string          // of the cluster, by the flag or the last Service read; else empty
	ctx       context.Context // of the watch: it ends with wait
	watched   cluster.Key
	unwatch   context.CancelFunc
	changes   <-chan struct{}
	changed   atomic.Uint32 // the cluster.Kinds of the changes since the last judgement
	shown     string        // the last logged verdict without ages
	lastShown time.Time
}

// wait judges until the verdict is final.
func (b *barrier) wait(ctx context.Context) error {
	b.ctx = ctx
	for {
		v := b.judge(ctx)
		if ctx.Err() != nil {
			b.Log.Info("stopped while waiting")
			return ctx.Err()
		}
		v = b.advise(b.say(ctx, v))
		b.metrics.observe(v)
		switch {
		case v.Satisfied:
			b.opened(ctx, v)
			return nil
		case v.Decision == bootstrap.DecisionRefuse:
			b.events.emit(ctx, corev1.EventTypeWarning, EventRefused, withNext(v))
			return b.refuse(v)
		}
		b.show(v)
		b.events.waiting(ctx, v)
		timer := b.Clock.NewTimer(v.Pause)
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

// connect creates the client, once.
func (b *barrier) connect() (err error) {
	if b.client != nil {
		return nil
	}
	if b.client, err = b.NewClient(); err != nil {
		return fmt.Errorf("create client for the API server: %w", err)
	}
	return nil
}

// restart is the decision by the disk alone. If the volume's owner is not read in time, a
// bootstrapped volume opens unchecked.
func (b *barrier) restart(ctx context.Context) (bootstrap.Verdict, bool) {
	ctx, cancel := context.WithTimeout(ctx, restartTimeout)
	defer cancel()
	b.reads.ctx = ctx
	v, ok, unverified := b.gate.Restart()
	if unverified != nil {
		b.Log.Warn("volume owner not verified; using the host ID on the volume", "hostID", b.gate.VolumeHostID, "error",
			words.Aging(unverified.Message(), unverified.Since, time.Time{}))
	}
	return v, ok
}

// judge is one judgement, with all that it reads.
func (b *barrier) judge(ctx context.Context) bootstrap.Verdict {
	ctx, cancel := context.WithTimeout(ctx, judgeTimeout)
	defer cancel()
	b.reads.ctx = ctx
	v := b.gate.Judge(cluster.Kinds(b.changed.Swap(0)))
	if gate.ServiceMissing(v) {
		b.name = "" // its label may have been corrected: read it again
	}
	return v
}

// advise adds the next steps to the verdict.
func (b *barrier) advise(v bootstrap.Verdict) bootstrap.Verdict {
	c := b.gate.Seen()
	asks := diagnosis.Asks{Self: v.Self, Claim: b.gate.ClaimOf(c), VolumeUID: b.gate.VolumeUID()}
	if c == nil {
		c = diagnosis.Nothing(b.Namespace)
	}
	diagnosis.Advise(c, &v, asks)
	return v
}

// refuse returns the error of a refusal; the caller prints it.
func (b *barrier) refuse(v bootstrap.Verdict) error {
	text := withNext(v)
	// Only a file that Kubernetes has created: elsewhere /dev must not be written to.
	if f, err := os.OpenFile(b.TerminationLog, os.O_WRONLY|os.O_TRUNC, 0); err == nil {
		_, _ = f.WriteString(text)
		_ = f.Close()
	}
	return exit.Refused(errors.New(text))
}
