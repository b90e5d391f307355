// SPDX-License-Identifier: Apache-2.0

// Package remote connects to other Kubernetes clusters with datacenters of a local cluster: it
// reads their reports, copies ours there, and records how long each could not be read. Kubeconfigs
// come from Secrets in the controller's namespace:
//
//	apiVersion: v1
//	kind: Secret
//	metadata:
//	  name: demo-eu
//	  labels:
//	    kubectl-scylla.scylladb.com/remote-kubeconfig: eu     # the remote's name
//	    scylla/cluster: demo                                  # the local cluster
//	  annotations:
//	    kubectl-scylla.scylladb.com/local-namespace: demo     # and its namespace
//	    kubectl-scylla.scylladb.com/remote-namespace: demo    # in the remote; default: as here
//	    kubectl-scylla.scylladb.com/remote-cluster: demo      # in the remote; default: as here
//	    # the report that barriers use; default: the cluster's own
//	    internal.scylla-operator.scylladb.com/scylladb-status-report-override-ref: all
//	stringData:
//	  kubeconfig: ...                                         # credentials inline
//
// It must not write locally: package reports does, from State. It must not log or repeat the
// contents of a kubeconfig.
package remote

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kubectl-scylla/kubectl-scylla/controller/notice"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	shared "github.com/kubectl-scylla/kubectl-scylla/internal/remote"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// config is the configuration of one remote, from its Secret.
type config = shared.Config

// fromSecret decodes the Secret of a remote.
var fromSecret = shared.FromSecret

// StaleAfter is how long a remote may be unreachable before its rows are stale.
const StaleAfter = 30 * time.Second

// Options are the dependencies of a Set.
type Options struct {
	Client     client.Reader
	Notice     *notice.Recorder
	Log        *slog.Logger
	Clock      clock.Clock
	Selector   labels.Selector // of Secrets
	Namespace  string          // of Secrets
	Namespaces []string        // of local clusters, none for all: the cache has no other objects
	StaleAfter time.Duration   // default StaleAfter
	// AllowUnsafe allows kubeconfigs whose server is not verified, or is link-local.
	AllowUnsafe bool
	// Dial returns the client of a remote; default: its Client.
	Dial func(config) (client.WithWatch, error)
}

// Set has every configured remote. It is a reconciler of Secrets and a manager's Runnable.
type Set struct {
	o       Options
	started chan struct{} // closed by Start once base is set

	mu      sync.Mutex
	base    context.Context
	runners map[types.NamespacedName]*running
	queue   workqueue.TypedRateLimitingInterface[reconcile.Request]
	begun   time.Time
	wg      sync.WaitGroup
}

type running struct {
	*runner
	cancel context.CancelFunc
	done   chan struct{}
}

// New returns a Set.
func New(o Options) *Set {
	if o.StaleAfter == 0 {
		o.StaleAfter = StaleAfter
	}
	if o.Dial == nil {
		o.Dial = config.Client
	}
	return &Set{o: o, started: make(chan struct{}), runners: map[types.NamespacedName]*running{}, begun: o.Clock.Now()}
}

// Register adds the reconciler of Secrets and the runners to a manager.
func Register(mgr ctrl.Manager, s *Set) error {
	if err := mgr.Add(s); err != nil {
		return fmt.Errorf("register the runners of remote clusters: %w", err)
	}
	if err := ctrl.NewControllerManagedBy(mgr).Named("remotes").For(&corev1.Secret{}).Complete(s); err != nil {
		return fmt.Errorf("register the controller of remote clusters: %w", err)
	}
	return nil
}

// Source notifies another controller, by namespace and name of the local cluster, of a changed
// State.
func (s *Set) Source() source.Source {
	return source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.queue = q
		return nil
	})
}

// Start runs until ctx ends and then waits for all runners.
func (s *Set) Start(ctx context.Context) error {
	s.mu.Lock()
	s.base = ctx
	s.begun = s.o.Clock.Now()
	s.mu.Unlock()
	close(s.started)
	<-ctx.Done()
	s.wg.Wait()
	return nil
}

// Reconcile starts, restarts or stops the runner of one Secret.
func (s *Set) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	select {
	case <-s.started:
	case <-ctx.Done():
		return reconcile.Result{}, ctx.Err()
	}
	secret := &corev1.Secret{}
	err := s.o.Client.Get(ctx, req.NamespacedName, secret)
	if err != nil && !apierrors.IsNotFound(err) {
		return reconcile.Result{}, fmt.Errorf("read secret %s: %w", req, err)
	}
	if err != nil || secret.DeletionTimestamp != nil || !s.selected(secret) {
		s.stop(ctx, req.NamespacedName, true)
		return reconcile.Result{}, nil
	}
	config, err := s.fromSecret(secret)
	if !s.manages(config.Namespace) {
		s.o.Notice.Emit(ctx, secret, corev1.EventTypeWarning, "RemoteInvalid", "ReadRemote", fmt.Sprintf(
			"the controller does not manage namespace %s of its local cluster: add it to --namespaces",
			words.Clean(config.Namespace)))
		s.stop(ctx, req.NamespacedName, true)
		return reconcile.Result{}, nil
	}
	if err == nil {
		_, err = config.RESTConfig()
	}
	if err != nil {
		// The remote remains configured: its datacenters keep their last rows, marked as stale.
		s.o.Notice.Emit(ctx, secret, corev1.EventTypeWarning, "RemoteInvalid", "ReadRemote", err.Error())
		s.stop(ctx, req.NamespacedName, false)
		s.notify(config)
		return reconcile.Result{}, nil
	}
	s.mu.Lock()
	current := s.runners[req.NamespacedName]
	s.mu.Unlock()
	if current != nil {
		if current.sameAs(config) {
			return reconcile.Result{}, nil
		}
		elsewhere := current.config.RemoteNamespace != config.RemoteNamespace ||
			current.config.RemoteCluster != config.RemoteCluster
		s.stop(ctx, req.NamespacedName, elsewhere)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.base.Err() != nil {
		return reconcile.Result{}, nil
	}
	runCtx, cancel := context.WithCancel(s.base)
	r := &running{cancel: cancel, done: make(chan struct{}),
		runner: newRunner(config, s.o.Clock, s.o.Log, s.o.StaleAfter, func() { s.notify(config) }, s.o.Dial)}
	s.runners[req.NamespacedName] = r
	s.wg.Go(func() {
		defer close(r.done)
		r.run(runCtx)
	})
	return reconcile.Result{}, nil
}

func (s *Set) fromSecret(secret *corev1.Secret) (config, error) {
	c, err := fromSecret(secret)
	c.AllowUnsafe = s.o.AllowUnsafe
	return c, err
}

func (s *Set) selected(secret *corev1.Secret) bool {
	return secret.Namespace == s.o.Namespace && s.o.Selector.Matches(labels.Set(secret.Labels))
}

// manages reports whether clusters of a namespace are read. An empty name is invalid for another
// reason.
func (s *Set) manages(namespace string) bool {
	return len(s.o.Namespaces) == 0 || namespace == "" || slices.Contains(s.o.Namespaces, namespace)
}

// stop ends a runner. With prune, for a removed remote, it also deletes the copies pushed there.
func (s *Set) stop(ctx context.Context, key types.NamespacedName, prune bool) {
	s.mu.Lock()
	r := s.runners[key]
	delete(s.runners, key)
	s.mu.Unlock()
	if r == nil {
		return
	}
	r.cancel()
	<-r.done
	if prune {
		if err := r.prune(ctx); err != nil {
			r.log.WarnContext(ctx,
				"copies of our reports remain in a remote that is no longer configured: delete them there",
				"namespace", r.config.RemoteNamespace, "reason", reasonOf(err))
		}
	}
	s.notify(r.config)
}

func (s *Set) notify(c config) {
	s.mu.Lock()
	q := s.queue
	s.mu.Unlock()
	if q != nil && c.Cluster != "" && c.Namespace != "" {
		q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: c.Namespace, Name: c.Cluster}})
	}
}

// Joined returns the ScyllaDBStatusReport that a remote's Secret names for a local cluster, and
// that Secret's name. The first Secret by name counts; empty if no Secret names a report.
func (s *Set) Joined(ctx context.Context, namespace, cluster string) (report, secret string, err error) {
	all, err := s.configured(ctx, namespace, cluster)
	for _, c := range all { // the kubeconfig there need not be usable
		if c.StatusReport != "" && c.from.DeletionTimestamp == nil {
			return c.StatusReport, c.from.Name, nil
		}
	}
	return "", "", err
}

// configured is the remote of one Secret. err is why it is not usable.
type configured struct {
	config
	from *corev1.Secret
	err  error
}

// configured lists the remotes of a local cluster by the names of their Secrets.
func (s *Set) configured(ctx context.Context, namespace, cluster string) ([]configured, error) {
	var secrets corev1.SecretList
	if err := s.o.Client.List(ctx, &secrets, client.InNamespace(s.o.Namespace),
		client.MatchingLabelsSelector{Selector: s.o.Selector}); err != nil {
		return nil, fmt.Errorf("list secrets of remotes: %w", err)
	}
	slices.SortFunc(secrets.Items, func(a, b corev1.Secret) int { return strings.Compare(a.Name, b.Name) })
	var all []configured
	for i := range secrets.Items {
		c, err := s.fromSecret(&secrets.Items[i])
		if c.Namespace == namespace && c.Cluster == cluster {
			all = append(all, configured{c, &secrets.Items[i], err})
		}
	}
	return all, nil
}

// LocalCluster returns the local cluster that a remote's Secret configures; empty for another
// Secret, and for a namespace that the controller does not manage.
func (s *Set) LocalCluster(secret client.Object) types.NamespacedName {
	if secret.GetLabels()[api.LabelRemoteKubeconfig] == "" ||
		!s.manages(secret.GetAnnotations()[api.AnnotationRemoteLocalNamespace]) {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: secret.GetAnnotations()[api.AnnotationRemoteLocalNamespace],
		Name: api.ClusterOf(secret.GetLabels())}
}

// For returns the remotes configured for a local cluster, sorted by name. A remote that this
// process has not read yet has Read false, and Stale true after staleAfter.
func (s *Set) For(ctx context.Context, namespace, cluster string) ([]State, error) {
	all, err := s.configured(ctx, namespace, cluster)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var out []State
	for _, c := range all {
		if seen[c.Name] {
			s.o.Notice.Emit(ctx, c.from, corev1.EventTypeWarning, "RemoteInvalid", "ReadRemote",
				fmt.Sprintf("another Secret already defines remote %s of cluster %s/%s: rename this remote", c.Name,
					namespace, cluster))
			continue
		}
		seen[c.Name] = true
		if c.err == nil {
			_, c.err = c.RESTConfig()
		}
		out = append(out, s.stateOf(c.config, c.err))
	}
	slices.SortFunc(out, func(a, b State) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func (s *Set) stateOf(c config, invalid error) State {
	s.mu.Lock()
	r, begun := s.runners[c.Secret], s.begun
	s.mu.Unlock()
	if r != nil {
		return r.State()
	}
	st := State{Name: c.Name}
	if invalid != nil {
		st.Stale, st.Reason = true, invalid.Error()
		return st
	}
	if s.o.Clock.Since(begun) >= s.o.StaleAfter {
		st.Stale, st.FailedSince, st.Reason = true, begun, "not queried yet"
	}
	return st
}

// Publish sets the reports of other datacenters that each remote of a cluster should have. Reports
// that came from a remote are not sent back to it. gone is set once nothing is left of the cluster
// here: then each remote loses the copies that were pushed because of it.
func (s *Set) Publish(namespace, cluster string, reports []api.ScyllaDBDatacenterNodesStatusReport, gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.runners {
		if r.config.Namespace == namespace && r.config.Cluster == cluster {
			r.Publish(reports, gone)
		}
	}
}
