// SPDX-License-Identifier: Apache-2.0

// Package controller runs as controller, in the cluster from the image and outside it from the
// plugin. It connects one package per reconciler, leader election, health and metrics. It must not
// import the plugin, and contains no rule of ScyllaDB itself.
package controller

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/discovery"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kubectl-scylla/kubectl-scylla/controller/force"
	"github.com/kubectl-scylla/kubectl-scylla/controller/heartbeats"
	"github.com/kubectl-scylla/kubectl-scylla/controller/keep"
	"github.com/kubectl-scylla/kubectl-scylla/controller/members"
	"github.com/kubectl-scylla/kubectl-scylla/controller/metrics"
	"github.com/kubectl-scylla/kubectl-scylla/controller/notice"
	"github.com/kubectl-scylla/kubectl-scylla/controller/remote"
	"github.com/kubectl-scylla/kubectl-scylla/controller/replacement"
	"github.com/kubectl-scylla/kubectl-scylla/controller/reports"
	"github.com/kubectl-scylla/kubectl-scylla/controller/views"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
)

// Default requests per second to the API server and their burst.
const (
	qps   = 50
	burst = 100
)

// shutdownTimeout is how long reconciliations may take to end; a Pod has ten seconds.
const shutdownTimeout = 8 * time.Second

// leaseTimeout limits each request about the Lease.
const leaseTimeout = 5 * time.Second

// Run runs the controller until ctx ends, which is not an error. Errors: invalid options
// (exit.CodeUsage), missing CRDs, an unreachable API server, a lost leadership.
func Run(ctx context.Context, cfg *rest.Config, o Options) error {
	v, err := o.validate()
	if err != nil {
		return err
	}
	cfg = rest.CopyConfig(cfg)
	if cfg.QPS == 0 {
		cfg.QPS, cfg.Burst = qps, burst
	}
	progress := kube.NewProgress()
	keeper, err := newKeeper(cfg, v)
	if err != nil {
		return fmt.Errorf("create the controller for %s: %w", cfg.Host, err)
	}
	mgr, err := newManager(cfg, v, progress, keeper)
	if err != nil {
		return fmt.Errorf("create the controller for %s: %w", cfg.Host, err)
	}
	if err := installed(mgr); err != nil {
		return err
	}
	definitions, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("create the controller for %s: %w", cfg.Host, err)
	}
	k := newKind(definitions.OpenAPIV3().Paths, v.Clock, v.Log.With("controller", "kind"))
	k.look(ctx)
	if err := register(mgr, v, progress, k, keeper); err != nil {
		return err
	}
	v.Log.InfoContext(ctx, "controller starts", "namespaces", v.Namespaces, "leaderElect", v.LeaderElect,
		"leaseNamespace", v.LeaseNamespace,
		"bootstrapSynchronisation", v.synchronise, "remotes", v.remoteSelector != nil)
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run the controller: %w", err)
	}
	v.Log.InfoContext(context.WithoutCancel(ctx), "controller stopped")
	return nil
}

// cacheOptions limit the cache to objects of clusters, and to the fields that are read.
func cacheOptions(v validated) (cache.Options, error) {
	ours, err := labels.NewRequirement(api.LabelCluster, selection.Exists, nil)
	if err != nil {
		return cache.Options{}, err
	}
	ofCluster := labels.NewSelector().Add(*ours)
	byObject := map[client.Object]cache.ByObject{
		&corev1.Pod{}: {Label: ofCluster, Transform: slimPod},
		// written, so only their field managers are dropped
		&corev1.Service{}:     {Label: ofCluster},
		&appsv1.StatefulSet{}: {Label: ofCluster, Transform: slimSet},
	}
	if v.remoteSelector != nil {
		byObject[&corev1.Secret{}] = cache.ByObject{
			Namespaces: map[string]cache.Config{v.RemoteKubeconfigNamespace: {LabelSelector: v.remoteSelector}}}
	}
	var namespaces map[string]cache.Config
	for _, ns := range v.Namespaces {
		if namespaces == nil {
			namespaces = map[string]cache.Config{}
		}
		namespaces[ns] = cache.Config{}
	}
	return cache.Options{
		Scheme: kube.NewScheme(), DefaultNamespaces: namespaces, ByObject: byObject,
		DefaultTransform: cache.TransformStripManagedFields(),
		NewInformer:      newInformer,
	}, nil
}

func newManager(cfg *rest.Config, v validated, progress *kube.Progress, keeper *keep.Keeper) (ctrl.Manager, error) {
	held, err := cacheOptions(v)
	if err != nil {
		return nil, err
	}
	served := metricsserver.Options{BindAddress: v.MetricsBindAddress}
	if v.MetricsSecure {
		served.SecureServing, served.FilterProvider = true, metrics.Secured(v.Clock)
	}
	return ctrl.NewManager(cfg, ctrl.Options{
		Scheme: held.Scheme,
		Logger: logr.FromSlogHandler(v.Log.Handler()),
		Cache:  held,
		NewCache: func(cfg *rest.Config, o cache.Options) (cache.Cache, error) {
			o.HTTPClient = nil // a separate connection, to detect a watch without data
			return cache.New(progress.Config(cfg), o)
		},
		Client: client.Options{
			Cache: &client.CacheOptions{DisableFor: []client.Object{&eventsv1.Event{}}}},
		Metrics:                served,
		HealthProbeBindAddress: v.HealthProbeBindAddress,

		LeaderElection:                      v.LeaderElect,
		LeaderElectionResourceLockInterface: keeper.Lock(v.LeaseNamespace, v.holder),
		LeaderElectionReleaseOnCancel:       true,
		LeaseDuration:                       &v.LeaseDuration,
		RenewDeadline:                       &v.RenewDeadline,
		RetryPeriod:                         &v.RetryPeriod,
		GracefulShutdownTimeout:             ptr.To(shutdownTimeout),

		Controller: config.Controller{
			// A second controller in one process, as in a test of the election, is not an error.
			SkipNameValidation: ptr.To(true),
			// A standby controller has its caches ready when it becomes leader.
			EnableWarmup:          ptr.To(true),
			ReconciliationTimeout: reconcileTimeout,
			Logger:                logr.FromSlogHandler(v.Log.Handler()),
		},
	})
}

// newKeeper returns the keeper of the Lease, with a client of its own: a renewal has a time limit.
func newKeeper(cfg *rest.Config, v validated) (*keep.Keeper, error) {
	limited := rest.CopyConfig(cfg)
	limited.Timeout = leaseTimeout
	cl, err := coordinationv1client.NewForConfig(limited)
	if err != nil {
		return nil, err
	}
	return keep.New(keep.Options{Client: cl, Clock: v.Clock, Log: v.Log.With("controller", "keep"),
		Duration: v.LeaseDuration, Off: !v.synchronise}), nil
}

// installed returns an error unless our CRDs are installed: without them every watch would fail
// repeatedly.
func installed(mgr ctrl.Manager) error {
	for _, kind := range []string{"ScyllaDBDatacenterNodesStatusReport", "ScyllaDBStatusReport"} {
		gk := api.GroupVersion.WithKind(kind).GroupKind()
		_, err := mgr.GetRESTMapper().RESTMapping(gk, api.GroupVersion.Version)
		if meta.IsNoMatchError(err) {
			return exit.WithHint(fmt.Errorf("CRD of %s is not installed", gk),
				"install the CRDs first: kubectl scylla install")
		}
		if err != nil {
			return fmt.Errorf("find kind %s: %w", gk, err)
		}
	}
	return nil
}

// holder returns this process's name in the Lease; in a cluster the Pod's name.
func holder() string {
	host, err := os.Hostname()
	if err != nil {
		host = "controller"
	}
	return host + "_" + string(uuid.NewUUID())
}

// epoch returns a function that reads the number of this leadership term, from 1. Without an
// election it is always 1, and each process continues from the stored view's epoch. Error: another
// process leads; the number alone does not show that after the Lease was deleted.
func epoch(live client.Reader, v validated) func(context.Context) (int64, error) {
	return func(ctx context.Context) (int64, error) {
		if !v.LeaderElect {
			return 1, nil
		}
		ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
		defer cancel()
		l := &coordinationv1.Lease{}
		if err := live.Get(ctx, types.NamespacedName{Namespace: v.LeaseNamespace, Name: api.LeaseName},
			l); err != nil {
			return 0, fmt.Errorf("read Lease %s/%s: %w", v.LeaseNamespace, api.LeaseName, err)
		}
		if by := ptr.Deref(l.Spec.HolderIdentity, ""); by != v.holder {
			return 0, fmt.Errorf("read the term of Lease %s/%s: it is held by %q", v.LeaseNamespace, api.LeaseName, by)
		}
		return int64(ptr.Deref(l.Spec.LeaseTransitions, 0)) + 1, nil
	}
}

//nolint:funlen // one registration after the other, with its dependencies
func register(mgr ctrl.Manager, v validated, progress *kube.Progress, k *kind, keeper *keep.Keeper) error {
	m, err := metrics.New(crmetrics.Registry)
	if err != nil {
		return err
	}
	log := v.Log
	said := notice.New(mgr.GetClient(), v.Clock, log)
	p := &pulse{clock: v.Clock, elected: mgr.Elected()}
	if err := mgr.Add(p); err != nil {
		return fmt.Errorf("register the heartbeat: %w", err)
	}

	if err := members.Register(mgr, members.Options{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Clock: v.Clock, Notice: said,
		Log: log.With("controller", "members"), Concurrency: v.Concurrency,
	}); err != nil {
		return err
	}

	options := reports.Options{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Clock: v.Clock, Notice: said, Metrics: m,
		Log: log.With("controller", "reports"),
		Off: !v.synchronise, StaleAfter: v.RemoteStaleAfter, Concurrency: v.Concurrency, Pulse: p.beat, Whole: k.whole,
	}
	tracker := views.New(views.Options{
		Clock: v.Clock, Log: log.With("controller", "views"), Epoch: epoch(mgr.GetAPIReader(), v),
		MaxPermits: v.MaxPermits, Window: v.Stabilisation,
		Heartbeats: heartbeats.New(heartbeats.Options{
			Clock: v.Clock, Log: log.With("controller", "heartbeats"),
			Missed: func(t heartbeats.Target, why heartbeats.Why) {
				m.HeartbeatMissed(t.Pod.Namespace, t.Cluster, string(why))
			},
		}),
		Observe: func(key types.NamespacedName, h metrics.Heartbeats) {
			m.SetHeartbeats(key.Namespace, key.Name, h)
		},
		ObserveView: func(key types.NamespacedName, v metrics.View) { m.SetView(key.Namespace, key.Name, v) },
	})
	if v.synchronise {
		options.Views = tracker
		if err := mgr.Add(tracker); err != nil {
			return fmt.Errorf("register the tracker of views: %w", err)
		}
	}
	served, err := newViewServer(v.ViewBindAddress, mgr.Elected(), tracker.Served, log.With("controller", "views"))
	if err != nil {
		return err
	}
	if served != nil {
		if err := mgr.Add(served); err != nil {
			return fmt.Errorf("register the server of views: %w", err)
		}
	}
	sources := []source.Source{p.source(), tracker.Source()}
	forces := force.Options{Client: mgr.GetClient(), Notice: said, Metrics: m, Log: log.With("controller", "force"),
		Concurrency: v.Concurrency}
	if v.remoteSelector != nil {
		set := remote.New(remote.Options{
			Client: mgr.GetClient(), Notice: said, Log: log.With("controller", "remotes"), Clock: v.Clock,
			Selector: v.remoteSelector, Namespace: v.RemoteKubeconfigNamespace, StaleAfter: v.RemoteStaleAfter,
			AllowUnsafe: v.AllowUnsafeRemotes, Namespaces: v.Namespaces,
		})
		if err := remote.Register(mgr, set); err != nil {
			return err
		}
		options.Remotes, forces.Joined, forces.LocalCluster = set, set.Joined, set.LocalCluster
		sources = append(sources, set.Source())
	}
	options.Kept = keeper.Assembled
	r := reports.New(options)
	if v.LeaderElect {
		keeper.Of(r.Clusters, func() error {
			return errors.Join(progress.Check(), p.silent(max(v.LeaseDuration, 3*pulseInterval)))
		}, served.at(v.PodIP))
		if err := mgr.AddReadyzCheck("kept", keeper.Check(mgr.Elected())); err != nil {
			return fmt.Errorf("register the check of the Lease: %w", err)
		}
		sources = append(sources, keeper.Source())
	}
	if err := reports.Register(mgr, r, sources...); err != nil {
		return err
	}

	if err := replacement.Register(mgr, replacement.Options{
		Client: mgr.GetClient(), Live: lean{mgr.GetAPIReader(), mgr.GetClient()}, Notice: said,
		Log: log.With("controller", "replacement"), Clock: v.Clock,
		Stages: m.SetReplacements,
	}); err != nil {
		return err
	}

	if v.synchronise {
		if err := force.Register(mgr, forces, v.Clock); err != nil {
			return err
		}
	}

	if err := errors.Join(
		mgr.Add(k),
		mgr.AddReadyzCheck("kind", k.check),
		mgr.AddReadyzCheck("caches", synced(mgr.GetCache())),
		mgr.AddReadyzCheck("loop", p.check(notReadyAfter)),
		mgr.AddHealthzCheck("loop", p.check(deadAfter)),
	); err != nil {
		return fmt.Errorf("register the health checks: %w", err)
	}
	return nil
}
