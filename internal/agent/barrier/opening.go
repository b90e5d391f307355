// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"golang.org/x/sync/errgroup"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/heartbeat"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/pinned"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const (
	// askTimeout bounds the answer of one reporter, askAll the answers of all. askTogether is the
	// maximum of parallel requests.
	askTimeout  = 2 * time.Second
	askTogether = 64
	askAll      = 15 * time.Second
	// firstLook and maxLook bound the pause between two final checks that fail.
	firstLook = 2 * time.Second
	maxLook   = 15 * time.Second
)

// stability is the state between a verdict that opens and the opening itself.
type stability struct {
	since   time.Time         // since when all are UP continuously; zero if they are not
	refusal bootstrap.Verdict // of the last final check
	refused int               // failed final checks in a row
	next    time.Time         // time of the next final check
}

// settle makes a verdict that would open final: all nodes must stay UP for the window. A final
// check, independent of the reports and the controller, must find no blocker.
func (b *barrier) settle(ctx context.Context, key cluster.Key, v bootstrap.Verdict,
	known *cluster.Cluster) bootstrap.Verdict {
	s := &b.stability
	if !v.Satisfied || !v.Decision.Guarded() {
		*s = stability{}
		return v
	}
	now := b.Clock.Now()
	if s.since.IsZero() {
		s.since = now
	}
	if blockers := b.unpermitted(ctx, key, v, known); len(blockers) > 0 {
		return b.close(v, blockers)
	}
	b.permits.had, b.permits.by = b.byPermits(), view.StampOf(b.permits.views.Latest())
	if s.refused > 0 && now.Before(s.next) {
		refusal := s.refusal
		refusal.Pause = s.next.Sub(now)
		return refusal
	}
	if left := b.unstable(v); s.refused == 0 && left > 0 {
		return b.stabilising(v, left)
	}
	looked := b.lastLook(ctx, key, v, known)
	now = b.Clock.Now()
	if !looked.Satisfied {
		s.refused++
		looked.Pause = min(maxLook, firstLook<<min(s.refused-1, 4))
		s.refusal, s.next = looked, now.Add(looked.Pause)
		return looked
	}
	if s.refused > 0 {
		// The cause of the refusal is gone: its absence must also last for the window.
		*s = stability{since: now}
		if left := b.unstable(v); left > 0 {
			return b.stabilising(v, left)
		}
	}
	if blockers := b.permitted(ctx, key, looked, known); len(blockers) > 0 {
		return b.close(v, blockers)
	}
	return looked
}

// stabilising blocks a verdict until all have been UP for left more.
func (b *barrier) stabilising(v bootstrap.Verdict, left time.Duration) bootstrap.Verdict {
	// in steps: a text per second would flood the log
	v = b.waitVerdict(v, bootstrap.Stabilising(b.window, (b.window-left).Truncate(repeat)))
	// A broken watch must not hide that a node was DOWN and recovered.
	v.Pause = min(left, stabilityLook)
	return v
}

// close blocks a member without a valid permit. The stabilisation time continues, but restarts if a
// permit was withdrawn or has expired.
func (b *barrier) close(v bootstrap.Verdict, blockers []matrix.Blocker) bootstrap.Verdict {
	if b.permits.had {
		if view.StampOf(b.permits.views.Latest()).Newer(b.permits.by) {
			b.metrics.newer.Inc()
		}
		b.stability, b.permits.had = stability{since: b.Clock.Now()}, false
	}
	return b.waitVerdict(v, blockers...)
}

// unstable returns how much longer all must stay UP.
func (b *barrier) unstable(v bootstrap.Verdict) time.Duration {
	if !v.Decision.Stabilises() || b.Launcher != nil && b.Launcher.Just {
		return 0
	}
	return max(0, b.window-b.Clock.Since(b.stability.since))
}

// waitVerdict replaces a verdict that would open by one that waits for blockers.
func (b *barrier) waitVerdict(v bootstrap.Verdict, blockers ...matrix.Blocker) bootstrap.Verdict {
	matrix.SortBlockers(blockers)
	v.Satisfied, v.Decision = false, bootstrap.DecisionWait
	return v.Only(blockers)
}

// lastLook is the final check before opening. It checks the rows in the Pods' annotations, the
// member's seeds, and the reporters, which must answer. No controller is needed. The verdicts by
// report and by annotations must both open.
func (b *barrier) lastLook(ctx context.Context, key cluster.Key, v bootstrap.Verdict,
	known *cluster.Cluster) bootstrap.Verdict {
	b.metrics.evaluations.Inc()
	digests, decoder := map[string]string{}, &cluster.Decoder{}
	pods, err := kube.Pods(ctx, b.client, key, condense(digests, decoder))
	if err != nil {
		return b.waitVerdict(v, b.unlisted(err))
	}
	objects := known.Objects
	if !ours(known) {
		// The Scylla Operator may write the reports: read its state once.
		objects, err = kube.Load(ctx, b.client, key, kube.LoadOptions{
			Source: cluster.SourceReport, NoPods: true, StatefulSets: true, StatusReport: true, Operator: true,
			Member: b.Service,
		})
		if err != nil {
			return b.waitVerdict(v, b.unread(err))
		}
	}
	objects.Pods, objects.Decoder = pods, decoder
	objects.Read |= cluster.KindPods
	reported := cluster.New(objects, cluster.SourceReport, b.Clock.Now())
	in, err := b.input(reported)
	if err != nil {
		return b.waitVerdict(v, noService(words.Clean(err.Error()), words.Message{}))
	}
	carried := cluster.New(objects, cluster.SourceAnnotation, b.Clock.Now())
	by := bootstrap.Decide(in)
	if carriesRows(pods, b.Service) || ours(known) {
		said, err := b.input(carried)
		if err != nil {
			return b.waitVerdict(v, noService(words.Clean(err.Error()), words.Message{}))
		}
		said.Reports = in.Reports // the lenient flag depends on it
		by = b.both(by, bootstrap.Decide(said))
	}
	if !by.Satisfied {
		return by
	}
	blockers := b.notFirst(ctx, v, carried)
	if choice, launched := bootstrap.SeedChoiceOf(carried, b.Service, in.Volume); launched &&
		(!choice.Usable() || choice.Code == words.SeedsFirstNode && v.Decision != bootstrap.DecisionGenesis) {
		blockers = append(blockers, bootstrap.NoOtherSeed(v.Self, choice))
	}
	if len(blockers) == 0 {
		blockers = b.askReporters(ctx, carried.Reporters(b.Service), digests)
	}
	if len(blockers) > 0 {
		return b.waitVerdict(v, blockers...)
	}
	return v
}

// both combines the verdicts by the report and by the Pods' rows: both must open. If they differ,
// the Pods' rows show the cause.
func (b *barrier) both(byReport, byPods bootstrap.Verdict) bootstrap.Verdict {
	outdated := slices.DeleteFunc(slices.Clone(byReport.Blockers),
		func(x matrix.Blocker) bool { return x.Reason != words.ReportOutdated })
	switch {
	case byReport.Satisfied:
		return byPods
	case byPods.Satisfied || len(outdated) == 0 || byReport.Decision == bootstrap.DecisionRefuse:
		return byReport
	case byPods.Decision == bootstrap.DecisionRefuse:
		return byPods
	}
	return b.waitVerdict(byPods, slices.Concat(byPods.Blockers, outdated)...)
}

// unlisted is the blocker if the final check could not list Pods.
func (b *barrier) unlisted(err error) matrix.Blocker {
	b.metrics.apiErrors.Inc()
	if apierrors.IsForbidden(err) {
		return matrix.Blocker{Reason: words.ReadingIncomplete, Detail: oneLine(exit.Describe(err))}
	}
	return matrix.Blocker{Reason: words.APIUnreachable, Detail: oneLine(exit.Describe(err))}
}

// carriesRows reports whether Pods other than the member's have rows: another writer's reports may
// come from another source.
func carriesRows(pods []corev1.Pod, member string) bool {
	for i := range pods {
		if pods[i].Name != member && len(pods[i].Annotations) > 0 {
			return true
		}
	}
	return false
}

// condense records the digest of each Pod's row before decoding it.
func condense(digests map[string]string, decoder *cluster.Decoder) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		digests[pod.Name] = api.ReportDigest(pod.Annotations[api.AnnotationNodeStatusReport])
		decoder.Condense(pod)
	}
}

// askReporters checks that each reporter still polls its ScyllaDB and has the row of its Pod's
// annotation, in parallel within limits. It returns a blocker for each failure. A reporter that
// cannot write gets a different row with the next change, so the judged row is out of date. If a
// permit is required, the reporter's pinned TLS endpoint must also confirm the row, because
// anything at the Pod's address can answer plain HTTP.
func (b *barrier) askReporters(ctx context.Context, reporters []*cluster.Member,
	digests map[string]string) []matrix.Blocker {
	ctx, cancel := context.WithTimeout(ctx, askAll)
	defer cancel()
	ask := b.Ask
	if ask == nil {
		client := newAsker()
		defer client.CloseIdleConnections()
		ask = func(ctx context.Context, address, digest string) error {
			return askReporter(ctx, client, address, digest)
		}
	}
	silent := make([]error, len(reporters))
	var g errgroup.Group
	g.SetLimit(askTogether)
	for i := range reporters {
		g.Go(func() error {
			address, port := reporters[i].ReporterAt()
			switch {
			case port == 0:
				silent[i] = lookError(words.New(words.ReporterWithoutPort))
			case address == "":
				silent[i] = lookError(words.New(words.ReporterWithoutAddress))
			case ctx.Err() != nil:
				silent[i] = lookError(words.New(words.ReporterNotAsked))
			default:
				one, cancel := context.WithTimeout(ctx, askTimeout)
				defer cancel()
				digest := digests[reporters[i].Ref.Member]
				if silent[i] = ask(one, address, digest); silent[i] == nil && b.byPermits() {
					silent[i] = b.confirms(one, reporters[i], digest)
				}
			}
			return nil
		})
	}
	_ = g.Wait() // the functions return no error: each reporter has its own
	var blockers []matrix.Blocker
	for i, err := range silent {
		if err != nil {
			blockers = append(blockers, b.noAnswer(reporters[i].Ref, err))
		}
	}
	return blockers
}

// confirms returns nil if the reporter has the row with that digest, by the certificate that its
// Pod's annotation names. If the network forbids that request, the reporter writes its counter to a
// Lease. That Lease must have the row for that Pod, and a view that is not older than the health
// policy's view limit must have seen the counter advance. For operator's Pods and remote
// datacenters only that view counts.
func (b *barrier) confirms(ctx context.Context, r *cluster.Member, digest string) error {
	switch h := r.Heartbeat(); {
	case h == nil:
		return lookError(words.New(words.ReporterWithoutTLS))
	case h.Lease:
		var l coordinationv1.Lease
		key := types.NamespacedName{Namespace: b.Namespace, Name: heartbeat.LeaseName(r.Ref.Member)}
		if err := b.client.Get(ctx, key, &l); err != nil {
			return fmt.Errorf("read Lease %s: %w", key, err)
		}
		_, err := heartbeat.Read(&l, r.Pod.UID, digest)
		return err
	case r.HeartbeatAt() == "":
		return lookError(words.New(words.ReporterWithoutAddress))
	case b.AskHeartbeat != nil:
		_, err := b.AskHeartbeat(ctx, r.Ref.Member)
		return err
	default:
		c := pinned.NewClient(h.Fingerprint)
		defer c.CloseIdleConnections()
		_, err := heartbeat.Ask(ctx, c, r.HeartbeatAt(), digest)
		return err
	}
}

// lookError is why a reporter has not confirmed its row, as determined by this package.
type lookError words.Message

func (e lookError) Error() string { return words.Text(words.Message(e)) }

// noAnswer is the blocker of a reporter without confirmation. It quotes network errors.
func (b *barrier) noAnswer(node matrix.Ref, err error) matrix.Blocker {
	why, ok := errors.AsType[lookError](err)
	if errors.Is(err, heartbeat.ErrOtherRow) {
		why, ok = lookError(words.New(words.ReporterHasOtherRow)), true
	}
	if !ok {
		return bootstrap.ReporterSilent(node, oneLine(err))
	}
	x := bootstrap.ReporterSilent(node, "")
	x.Cause = words.Message(why)
	return x
}

// newAsker returns a client that ignores proxies, like the kubelet's probes.
func newAsker() *http.Client {
	return &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true, ResponseHeaderTimeout: askTimeout,
			MaxResponseHeaderBytes: 16 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// askReporter returns nil if the reporter at that address is ready and its row has that digest. An
// older reporter sends no digest.
func askReporter(ctx context.Context, c *http.Client, address, digest string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := c.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return lookError(words.New(words.ReporterTimedOut, "address", address, "limit", askTimeout.String()))
		}
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusOK {
		if said := resp.Header.Values(heartbeat.RowHeader); len(said) > 0 && !slices.Equal(said, []string{digest}) {
			return heartbeat.ErrOtherRow
		}
		return nil
	}
	const enough = 200
	// only the status code is evaluated; the text is for people
	said, _ := bounded.Head(resp.Body, enough)
	return lookError(words.New(words.ReporterRefuses, "address", address, "status", resp.Status, "words",
		strings.Join(strings.Fields(string(said)), " ")))
}
