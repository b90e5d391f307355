// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/controller/scope"
	"github.com/kubectl-scylla/kubectl-scylla/controller/write"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	shared "github.com/kubectl-scylla/kubectl-scylla/internal/remote"
)

const (
	// contactInterval is the time between two reads of a remote whose watch has no events: the
	// watch may be broken.
	contactInterval = 10 * time.Second
	// requestTimeout limits every request except the watch.
	requestTimeout = 10 * time.Second
	// renewInterval is how often the renewal mark of pushed copies changes: several times per
	// StaleAfter of the reading controller.
	renewInterval = 15 * time.Second
	firstRetry    = time.Second
	lastRetry     = 5 * time.Second
	// leastPause merges changes that arrive together into one contact.
	leastPause = 250 * time.Millisecond
)

// State is the last known state of one remote.
type State struct {
	Name string
	// Read is true once this process has read the remote's reports. Reports are the last ones,
	// sorted by name, without copies.
	Read    bool
	Reports []api.ScyllaDBDatacenterNodesStatusReport
	// Stale is true if the remote has not been readable for longer than staleAfter. FailedSince is
	// the time of the first failure, and Reason its cause, with a constant text while the cause is
	// the same.
	Stale       bool
	FailedSince time.Time
	Reason      string
	// PushReason is why our reports cannot be written to the remote, else empty. It makes no local
	// rows stale.
	PushReason string
}

// runner reads one remote's reports, and writes ours there.
type runner struct {
	config     config
	clock      clock.Clock
	log        *slog.Logger
	staleAfter time.Duration
	changed    func() // called when State has changed

	dial   func(config) (client.WithWatch, error)
	writer *write.Reports

	mu          sync.Mutex
	state       State
	started     time.Time
	lastContact time.Time
	outgoing    []api.ScyllaDBDatacenterNodesStatusReport
	gone        bool          // nothing is left of the local cluster
	wake        chan struct{} // outgoing has changed

	// Only the goroutine of run uses these.
	client  client.WithWatch
	renewed time.Time
	version string            // of the last list
	listed  map[string]string // resource versions by name
}

func newRunner(c config, clk clock.Clock, log *slog.Logger, staleAfter time.Duration, changed func(),
	dial func(config) (client.WithWatch, error)) *runner {
	return &runner{
		config: c, clock: clk, log: log.With("remote", c.Name, "cluster", c.Cluster), staleAfter: staleAfter,
		changed: changed, dial: dial,
		writer: write.New(), state: State{Name: c.Name}, started: clk.Now(), wake: make(chan struct{}, 1),
	}
}

// State returns a copy.
func (r *runner) State() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.state
	s.Reports = slices.Clone(s.Reports)
	return s
}

// Publish sets the reports of other datacenters that the remote should have, and whether the local
// cluster is gone.
func (r *runner) Publish(reports []api.ScyllaDBDatacenterNodesStatusReport, gone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if gone == r.gone && slices.EqualFunc(r.outgoing, reports, func(a, b api.ScyllaDBDatacenterNodesStatusReport) bool {
		return a.UID == b.UID && a.ResourceVersion == b.ResourceVersion
	}) {
		return
	}
	r.outgoing, r.gone = reports, gone
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// run contacts the remote until ctx ends.
func (r *runner) run(ctx context.Context) {
	retry := firstRetry
	for ctx.Err() == nil {
		err, pushErr := r.contact(ctx)
		if ctx.Err() != nil {
			return
		}
		r.observe(ctx, err, pushErr)
		if err == nil && pushErr == nil {
			retry = firstRetry
			r.wait(ctx)
			r.pause(ctx, leastPause)
			continue
		}
		r.pause(ctx, retry)
		retry = min(2*retry, lastRetry)
	}
}

func (r *runner) pause(ctx context.Context, d time.Duration) {
	t := r.clock.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C():
	}
}

// contact reads the remote's reports once and writes ours there. The two errors are separate,
// because a remote that cannot be written is still readable.
func (r *runner) contact(ctx context.Context) (readErr, pushErr error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if r.client == nil {
		c, err := r.dial(r.config)
		if err != nil {
			return err, nil
		}
		r.client = c
	}
	all, version, err := r.config.List(ctx, r.client)
	if err != nil {
		return err, nil
	}
	r.version, r.listed = version, map[string]string{}
	for _, report := range all {
		r.listed[report.Name] = report.ResourceVersion
	}
	r.mu.Lock()
	outgoing, gone := r.outgoing, r.gone
	r.mu.Unlock()
	for i := range all {
		if slices.ContainsFunc(outgoing, func(o api.ScyllaDBDatacenterNodesStatusReport) bool {
			return o.UID != "" &&
				o.UID == all[i].UID
		}) {
			return errSelf, nil
		}
	}
	var theirs []api.ScyllaDBDatacenterNodesStatusReport
	for _, report := range all {
		if _, copied := report.Labels[api.LabelRemoteReport]; !copied {
			report.ManagedFields = nil
			theirs = append(theirs, report)
		}
	}
	r.mu.Lock()
	same := r.state.Read &&
		slices.EqualFunc(r.state.Reports, theirs, func(a, b api.ScyllaDBDatacenterNodesStatusReport) bool {
			return a.UID == b.UID && a.ResourceVersion == b.ResourceVersion
		})
	r.state.Read, r.state.Reports = true, theirs
	r.mu.Unlock()
	if !same {
		r.changed()
	}
	return nil, r.push(ctx, all, outgoing, gone)
}

// push writes our reports to the remote. It skips datacenters of the remote itself, and datacenters
// that the remote's own controller pulls.
func (r *runner) push(ctx context.Context, there, outgoing []api.ScyllaDBDatacenterNodesStatusReport,
	gone bool) error {
	known := map[string]bool{}
	ours := map[string]*api.ScyllaDBDatacenterNodesStatusReport{}
	for i := range there {
		if t := &there[i]; t.Annotations[api.AnnotationCopyPusher] == string(r.config.UID) {
			ours[t.Name] = t
		} else if t.Annotations[api.AnnotationCopy] != api.CopyPushed {
			known[t.DatacenterName] = true
		}
	}
	if now := r.clock.Now(); now.Sub(r.renewed) >= renewInterval {
		r.renewed = now
	}
	var errs []error
	wanted := map[string]bool{}
	for i := range outgoing {
		o := &outgoing[i]
		if known[o.DatacenterName] || o.Labels[api.LabelRemoteReport] == r.config.Name {
			continue
		}
		want := r.outgoingCopy(o)
		wanted[want.Name] = true
		if !r.writer.Differs(ours[want.Name], want) {
			continue
		}
		if err := r.writer.Write(ctx, r.client, ours[want.Name], want); err != nil {
			errs = append(errs, fmt.Errorf("push: %w", err))
		}
	}
	for name, t := range ours {
		// A datacenter that is only unknown here at this moment remains. A copy is removed only if
		// the remote has its own report of the datacenter, so that its rows do not count twice, or
		// if the cluster here is gone.
		if wanted[name] || !known[t.DatacenterName] && !gone {
			continue
		}
		if err := r.remove(ctx, t); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (r *runner) outgoingCopy(o *api.ScyllaDBDatacenterNodesStatusReport) *api.ScyllaDBDatacenterNodesStatusReport {
	want := &api.ScyllaDBDatacenterNodesStatusReport{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: r.config.RemoteNamespace,
			Name:      scope.ObjectName(r.config.RemoteCluster, o.DatacenterName, "external"),
			Labels: map[string]string{
				api.LabelManagedBy:      api.ManagedByUs,
				api.LabelReportSelector: r.config.RemoteCluster,
				api.LabelRemoteReport:   labelValue(o.DatacenterName),
			},
			Annotations: map[string]string{
				api.AnnotationCopy:        api.CopyPushed,
				api.AnnotationCopyOf:      o.Namespace + "/" + o.Name,
				api.AnnotationCopyPusher:  string(r.config.UID),
				api.AnnotationCopyRenewed: r.renewed.UTC().Format(time.RFC3339),
			},
		},
		DatacenterName: o.DatacenterName,
		Racks:          o.Racks,
	}
	for _, k := range []string{api.AnnotationStaleSince, api.AnnotationStaleReason} {
		if v, ok := o.Annotations[k]; ok {
			want.Annotations[k] = v
		}
	}
	return want
}

// labelValue converts a datacenter's name to a valid label value: ScyllaDB accepts names that
// Kubernetes refuses.
func labelValue(datacenter string) string {
	if len(validation.IsValidLabelValue(datacenter)) == 0 {
		return datacenter
	}
	hashed := scope.ObjectName(datacenter)
	return "datacenter-" + hashed[strings.LastIndexByte(hashed, '-')+1:]
}

func (r *runner) remove(ctx context.Context, t *api.ScyllaDBDatacenterNodesStatusReport) error {
	err := r.writer.Delete(ctx, r.client, r.client, t)
	if left, ok := errors.AsType[*write.NotOursError](err); ok {
		r.log.WarnContext(ctx, "report in the remote not changed", "namespace", t.Namespace, "report", t.Name, "why",
			left.Why)
		return nil
	}
	return err
}

// prune deletes the copies pushed because of this remote's Secret, after the remote was removed
// from the configuration.
func (r *runner) prune(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if r.client == nil {
		c, err := r.dial(r.config)
		if err != nil {
			return err
		}
		r.client = c
	}
	all, _, err := r.config.List(ctx, r.client)
	if err != nil {
		return err
	}
	var errs []error
	for i := range all {
		if all[i].Annotations[api.AnnotationCopyPusher] == string(r.config.UID) {
			errs = append(errs, r.remove(ctx, &all[i]))
		}
	}
	return errors.Join(errs...)
}

// observe updates State with the result of a contact.
func (r *runner) observe(ctx context.Context, err, pushErr error) {
	now := r.clock.Now()
	r.mu.Lock()
	before := r.state
	if err == nil {
		r.lastContact = now
		r.state.Stale, r.state.FailedSince, r.state.Reason = false, time.Time{}, ""
	} else {
		if r.state.FailedSince.IsZero() {
			r.state.FailedSince = now
		}
		r.state.Reason = reasonOf(err)
		last := r.lastContact
		if last.IsZero() {
			last = r.started
		}
		r.state.Stale = now.Sub(last) >= r.staleAfter
	}
	r.state.PushReason = ""
	if pushErr != nil {
		r.state.PushReason = reasonOf(pushErr)
	}
	after := r.state
	r.mu.Unlock()
	if after.Reason != before.Reason {
		if err != nil {
			r.log.WarnContext(ctx, "remote not reachable", "reason", after.Reason, "error", err)
		} else {
			r.log.InfoContext(ctx, "remote reachable again")
		}
	}
	if after.PushReason != before.PushReason && pushErr != nil {
		r.log.WarnContext(ctx, "cannot write reports to a remote", "reason", after.PushReason, "error", pushErr)
	}
	if after.Stale != before.Stale || after.Stale && after.Reason != before.Reason ||
		after.PushReason != before.PushReason {
		r.changed()
	}
}

// wait returns after a possible change in the remote or here, at the latest after contactInterval.
func (r *runner) wait(ctx context.Context) {
	// The server may also not answer the request for a watch.
	ctx, cancel := context.WithTimeout(ctx, contactInterval)
	defer cancel()
	t := r.clock.NewTimer(contactInterval)
	defer t.Stop()
	// From the version of the list on: a watch without one begins with all reports, in one answer.
	w, err := r.client.Watch(ctx, &api.ScyllaDBDatacenterNodesStatusReportList{}, append(r.config.Selection(),
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: r.version}})...)
	if err != nil {
		// The next contact detects whether the remote is gone; until then polling is enough.
		select {
		case <-ctx.Done():
		case <-r.wake:
		case <-t.C():
		}
		return
	}
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
			return
		case <-t.C():
			return
		case e, ok := <-w.ResultChan():
			if !ok {
				return
			}
			// Our own copies change at each renewal, which needs no other contact.
			o, err := meta.Accessor(e.Object)
			if err == nil &&
				(r.listed[o.GetName()] == o.GetResourceVersion() ||
					o.GetAnnotations()[api.AnnotationCopyPusher] == string(r.config.UID)) {
				continue
			}
			return
		}
	}
}

// errSelf means that a remote's kubeconfig points to the local cluster and namespace.
var errSelf = errors.New(
	"the kubeconfig leads to the reports here: a remote must be another Kubernetes cluster or namespace")

// reasonOf returns why a contact failed. The text is constant while the cause is the same: no
// ports, no addresses, no credentials.
func reasonOf(err error) string {
	if refusal := shared.Refusal(err); refusal != nil {
		return refusal.Error()
	}
	var dns *net.DNSError
	switch {
	case errors.Is(err, errSelf):
		return errSelf.Error()
	case apierrors.IsUnauthorized(err):
		return "its API server refuses the credentials"
	case apierrors.IsForbidden(err):
		return "its API server forbids reading or writing reports"
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		return "its API server does not have the CRDs: install them there"
	case apierrors.IsConflict(err):
		return "a report there has changed meanwhile"
	case errors.As(err, &dns):
		return "its API server's name cannot be resolved"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "its API server refuses connections"
	case strings.Contains(err.Error(), "x509:") || strings.Contains(err.Error(), "tls:"):
		return "its API server's certificate is not trusted"
	case errors.Is(err, context.DeadlineExceeded), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return "its API server does not respond in time"
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return fmt.Sprintf("its API server responds with %d %s", status.Status().Code, status.Status().Reason)
	}
	return "its API server is not reachable"
}

func (r *runner) sameAs(c config) bool { return r.config.Same(c) }
