// SPDX-License-Identifier: Apache-2.0

// Package replacement replaces dead nodes whose member Services have the replace label. Each
// reconciliation takes one step of package internal/replace, with at most one write. All state that
// a restart needs is in Kubernetes.
//
// It must not decide anything itself, sleep, or touch objects that the Scylla Operator manages.
package replacement

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kubectl-scylla/kubectl-scylla/controller/notice"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// The time until a member with an open replacement is reconciled again. Watches report changes of
// its Service and Pod, but not of other members' rows or of PVCs.
const (
	afterWrite = 100 * time.Millisecond
	afterWait  = 2 * time.Second
	afterHold  = 10 * time.Second // a check blocks it, or it has failed
	afterEnd   = time.Minute      // the outcome is reported for some time
)

// Options are the dependencies of the reconciler; NewID and Stages are optional.
type Options struct {
	// Client writes, and reads Services from the cache to find work. Live reads all input of a
	// decision from the API server: a replacement is rare, and a decision from an outdated cache
	// costs more than a few lists.
	Client client.Client
	Live   client.Reader
	Notice *notice.Recorder
	Log    *slog.Logger
	Clock  clock.PassiveClock
	// NewID returns identities of requests; default: random UUIDs.
	NewID func() string
	// Stages is called with the number of a cluster's replacements per stage, at each change; may
	// be nil.
	Stages func(namespace, cluster string, stages map[string]int)
}

// reconciler takes one step of one member's replacement.
type reconciler struct {
	o Options

	mu sync.Mutex
	// logged is the last logged state, by the Service's UID. It may be lost.
	logged map[types.UID]string
	stages stages
}

// newReconciler returns a reconciler.
func newReconciler(o Options) *reconciler {
	if o.NewID == nil {
		o.NewID = uuid.NewString
	}
	return &reconciler{o: o, logged: map[types.UID]string{}}
}

// Register adds the reconciler to a manager. It works on one member at a time, because one
// replacement forbids another.
func Register(mgr ctrl.Manager, o Options) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("replacement").
		For(&corev1.Service{}, builder.WithPredicates(predicate.NewPredicateFuncs(concerned))).
		Watches(&corev1.Pod{},
			handler.EnqueueRequestsFromMapFunc(func(_ context.Context, pod client.Object) []reconcile.Request {
				// A member Service has its Pod's name.
				return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(pod)}}
			})).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1}).
		Complete(newReconciler(o))
	if err != nil {
		return fmt.Errorf("register the controller of replacements: %w", err)
	}
	return nil
}

func concerned(o client.Object) bool {
	rec := replace.ReadRecord(o.GetLabels(), o.GetAnnotations())
	return rec.Requested || rec.Open() || rec.Request != "" || rec.Last != nil
}

// Reconcile takes one step.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	cached := &corev1.Service{}
	if err := r.o.Client.Get(ctx, req.NamespacedName, cached); err != nil {
		if apierrors.IsNotFound(err) {
			r.at(req.NamespacedName, "", replace.PhaseNone)
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("read service %s: %w", req, err)
	}
	if !cluster.Managed(cached) || !concerned(cached) {
		r.at(req.NamespacedName, "", replace.PhaseNone)
		return reconcile.Result{}, nil
	}
	now := r.o.Clock.Now()
	rec := replace.ReadRecord(cached.Labels, cached.Annotations)
	if !rec.Requested && !rec.Open() && rec.Request == "" {
		// Only the outcome is left. It needs only the Service, and for some time costs one request
		// per reconciliation.
		step := replace.Next(replace.Input{Self: &cluster.Member{Service: cached}, Now: now})
		r.say(ctx, cached, step)
		r.forget(cached.UID)
		r.at(req.NamespacedName, "", replace.PhaseNone)
		if len(step.Events) > 0 {
			// A failed Event is retried; Notice caches written ones, so a repetition costs nothing.
			return reconcile.Result{RequeueAfter: afterEnd}, nil
		}
		return reconcile.Result{}, nil
	}
	reading, err := r.read(ctx, cluster.Key{Namespace: req.Namespace, Name: api.ClusterOf(cached.Labels)})
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("read the cluster of service %s: %w", req, err)
	}
	in := reading.Input(req.Name, now, r.o.NewID())
	svc := reading.Cluster.Service(req.Name)
	if in == nil || !cluster.Managed(svc) {
		return reconcile.Result{}, nil
	}
	step := replace.Next(*in)
	r.log(ctx, svc, step)
	r.at(req.NamespacedName, api.ClusterOf(svc.Labels), step.Phase())
	return r.take(ctx, reading, svc, step)
}

// read lists the PVCs before everything else: the proof that a cancelled request deletes nothing
// depends on this order.
func (r *reconciler) read(ctx context.Context, key cluster.Key) (*reading, error) {
	claims, err := r.claims(ctx, key.Namespace)
	if err != nil {
		return nil, err
	}
	taken := r.o.Clock.Now()
	live := &listed{Reader: r.o.Live}
	objects, err := kube.Load(ctx, live, key, kube.LoadOptions{Source: cluster.SourceAuto, StatefulSets: true,
		StatusReport: true})
	if err != nil {
		return nil, err
	}
	objects.PVCs = claims
	objects.Read |= cluster.KindPVCs
	c := cluster.New(objects, cluster.SourceAuto, taken)
	if err := c.Incomplete(); err != nil {
		return nil, err
	}
	return &reading{replace.Read(c), live.pods}, nil
}

// reading is one reading of a cluster, with the resourceVersion of its list of Pods.
type reading struct {
	*replace.Reading
	pods string
}

// listed is a client.Reader that stores the resourceVersion of the list of Pods.
type listed struct {
	client.Reader
	pods string
}

// List implements client.Reader.
func (l *listed) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := l.Reader.List(ctx, list, opts...)
	if _, ok := list.(*corev1.PodList); ok && err == nil {
		l.pods = list.GetResourceVersion()
	}
	return err
}

func (r *reconciler) claims(ctx context.Context, namespace string) ([]corev1.PersistentVolumeClaim, error) {
	var list corev1.PersistentVolumeClaimList
	if err := r.o.Live.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list persistentvolumeclaims in namespace %s: %w", namespace, err)
	}
	return list.Items, nil
}

// take executes the step. After a conflict, which means outdated input, everything is read and
// judged again.
func (r *reconciler) take(ctx context.Context, reading *reading, svc *corev1.Service,
	step replace.Step) (reconcile.Result, error) {
	var err error
	again := afterWrite
	// Every decision except the deletion recalls a deletion that may still be in transit: the new
	// node may already run on that PVC.
	if step.Action != replace.ActionDeletePVC {
		if changed, err := r.recallDeletions(ctx, reading, svc.Name); err != nil || changed {
			return reconcile.Result{RequeueAfter: afterWrite}, err
		}
	}
	switch step.Action {
	case replace.ActionNone:
		r.say(ctx, svc, step)
		return reconcile.Result{}, nil
	case replace.ActionRefuse, replace.ActionHoldEviction, replace.ActionFail:
		r.say(ctx, svc, step)
		return reconcile.Result{RequeueAfter: afterHold}, nil
	case replace.ActionWaitRefused:
		return reconcile.Result{RequeueAfter: max(step.Refused.Next.Sub(r.o.Clock.Now()), afterWrite)}, nil
	case replace.ActionDeletePVC:
		var wait time.Duration
		if wait, err = r.deleteClaim(ctx, step, reading.pods); err == nil && wait > 0 {
			return reconcile.Result{RequeueAfter: wait}, nil
		}
	case replace.ActionKeepPVC:
		err = r.keepClaim(ctx, step)
	case replace.ActionEvictPod:
		err = r.evict(ctx, reading, svc, step)
	default:
		if step.Patch == nil {
			r.say(ctx, svc, step)
			return reconcile.Result{RequeueAfter: afterWait}, nil
		}
		err = kube.PatchMetadata(ctx, r.o.Client, svc,
			func(s *corev1.Service) { step.Patch.Apply(&s.Labels, &s.Annotations) })
	}
	switch {
	case err == nil:
		r.say(ctx, svc, step)
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		again = time.Second
	case refused(err) && (step.Action == replace.ActionDeletePVC || step.Action == replace.ActionEvictPod):
		return r.refused(ctx, svc, step, err)
	default:
		return reconcile.Result{}, fmt.Errorf("replace the node of service %s/%s: %w", svc.Namespace, svc.Name, err)
	}
	return reconcile.Result{RequeueAfter: again}, nil
}

// refused reports whether the error lasts until an administrator changes something: a disruption
// budget (429, and 500 if a Pod has two), an admission policy, a missing permission. It is false if
// the response was lost.
func refused(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	return apierrors.IsTooManyRequests(err) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err) ||
		status.Status().Reason == metav1.StatusReasonUnknown
}

// refused records on the Service, and in an Event, that the API server refused the step. The step
// is retried later, and nothing else is done until then.
func (r *reconciler) refused(ctx context.Context, svc *corev1.Service, step replace.Step,
	cause error) (reconcile.Result, error) {
	text, budget := refusal(cause)
	delay := 0
	if s, ok := apierrors.SuggestsClientDelay(cause); ok {
		delay = s
	}
	r.o.Notice.Emit(ctx, svc, corev1.EventTypeWarning, replace.EventEvictionRefused, "ReplaceNode",
		words.Text(step.RefusedNote(svc.Name, text)))
	now := r.o.Clock.Now()
	record, patch := step.Refuse(text, budget, now, time.Duration(delay)*time.Second)
	r.o.Log.WarnContext(ctx, "refused by the API server", "namespace", svc.Namespace, "service", svc.Name, "step",
		string(step.Action), "reason", text,
		"times", record.Times, "next", record.Next)
	err := kube.PatchMetadata(ctx, r.o.Client, svc, func(s *corev1.Service) { patch.Apply(&s.Labels, &s.Annotations) })
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return reconcile.Result{}, fmt.Errorf("record the refusal on service %s/%s: %w", svc.Namespace, svc.Name, err)
	}
	return reconcile.Result{RequeueAfter: max(record.Next.Sub(now), afterWrite)}, nil
}

// refusal returns the API server's message. For a disruption budget, budget is true, and text is
// the budget's own message if there is one.
func refusal(err error) (text string, budget bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err.Error(), false
	}
	text = status.Status().Message
	if details := status.Status().Details; details != nil {
		for _, c := range details.Causes {
			if c.Type == policyv1.DisruptionBudgetCause && c.Message != "" {
				text, budget = text+" ("+c.Message+")", true
			}
		}
	}
	return text, budget || strings.Contains(text, "PodDisruptionBudget")
}

func (r *reconciler) forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.logged, uid)
}

func (r *reconciler) say(ctx context.Context, svc *corev1.Service, step replace.Step) {
	for _, e := range step.Events {
		typ := corev1.EventTypeNormal
		if e.Warning {
			typ = corev1.EventTypeWarning
		}
		r.o.Notice.Emit(ctx, svc, typ, e.Reason, "ReplaceNode", words.Upper(words.Text(e.Note)))
	}
}

// log writes each new state to the log once.
func (r *reconciler) log(ctx context.Context, svc *corev1.Service, step replace.Step) {
	message := words.Text(step.Message)
	state := string(step.Action) + " " + message
	r.mu.Lock()
	known := r.logged[svc.UID] == state
	r.logged[svc.UID] = state
	r.mu.Unlock()
	if known {
		return
	}
	level := slog.LevelInfo
	switch step.Action {
	case replace.ActionRefuse, replace.ActionHoldEviction, replace.ActionFail, replace.ActionCancelRefused:
		level = slog.LevelWarn
	}
	for _, e := range step.Events {
		if e.Reason == replace.EventAddressDeprecated {
			r.o.Log.WarnContext(ctx, words.Text(e.Note), "namespace", svc.Namespace, "service", svc.Name)
		}
	}
	r.o.Log.Log(ctx, level, "replacement", "namespace", svc.Namespace, "service", svc.Name, "request", step.Request,
		"step", string(step.Action),
		"hostID", step.Original, "newHostID", step.NewHostID, "code", string(step.Message.Code), "message", message)
}
