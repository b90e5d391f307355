// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

const (
	// lookAgain is the interval of checks without a signal.
	lookAgain = 2 * time.Second
	// timeout is how long a controller may ignore a request before the user gets a message.
	timeout = 20 * time.Second
	// eventsEvery is the interval at which Events are listed.
	eventsEvery = 6 * time.Second
)

// showPlan prints the plan: as the requested document at the end of the run, else as text, on
// standard error if a document will follow.
func (o *options) showPlan(d *PlanDocument, last bool) error {
	opts := o.d.Options(false)
	switch {
	case o.output.Text():
		return o.d.Print(d.Text(opts)+"\n", opts)
	case last:
		return o.output.Document(o.d, d)
	}
	opts.Profile = show.Profile(o.d.Streams.ErrOut, o.d.Color, o.d.Environ)
	o.d.Rendered(d.Text(opts) + "\n")
	return nil
}

// follow shows phases until the request ends. It uses the identity of the request, so the outcome
// of another request does not count.
func (o *options) follow(ctx context.Context, s *subject, id string, original hostid.ID) error {
	f := &follower{o: o, s: s, id: id, original: original, start: o.d.Clock.Now()}
	return f.run(ctx, f.check)
}

// followCancel waits until the controller has cleaned up.
func (o *options) followCancel(ctx context.Context, s *subject, id string) error {
	f := &follower{o: o, s: s, id: id, start: o.d.Clock.Now()}
	return f.run(ctx, f.checkCancelled)
}

type follower struct {
	o        *options
	s        *subject
	id       string
	original hostid.ID
	start    time.Time
	phase    string
	since    time.Time
	progress *cli.Progress
	said     map[string]bool
	eventsAt time.Time
	// before is the attempt that was in progress at the time of this request: if that one succeeds,
	// nothing is left for this one.
	before string
}

// verdict is the result of one check.
type verdict struct {
	done     bool
	phase    string // title of the phase; a new one gets its own line
	activity string
	err      error // ends the wait
	last     *StatusDocument
}

func (f *follower) run(ctx context.Context, check func(context.Context) (verdict, error)) error {
	d := f.o.d
	f.since, f.said = f.start, map[string]bool{}
	timeout := f.o.wait.Timeout
	if timeout < 0 {
		timeout = 7 * 24 * time.Hour
	}
	deadline := d.Clock.NewTimer(timeout)
	defer deadline.Stop()
	tick := d.Clock.NewTicker(lookAgain)
	defer tick.Stop()
	defer f.stop()
	// Without a watch the channel is nil, and the ticker alone looks again.
	changed, _ := kube.Watch(ctx, f.o.reader.Client(), f.s.key,
		kube.WatchOptions{Kinds: cluster.KindServices | cluster.KindPods | cluster.KindPVCs})
	var activity string
	for first := true; ; first = false {
		v, err := check(ctx)
		switch {
		case ctx.Err() != nil:
			f.stop()
			return f.interrupted()
		case err != nil && first:
			return err
		case err != nil:
			v = verdict{phase: f.phase, activity: exit.Describe(err).Error() + " (retrying)"}
		}
		f.show(v)
		if v.done || v.err != nil {
			f.stop()
			if v.last != nil {
				if err := f.o.print(v.last); err != nil {
					return err
				}
			}
			return v.err
		}
		activity = v.activity
		if timeout == 0 {
			f.stop()
			return exit.TimedOut(fmt.Errorf("%s: not yet: %s", f.s.member(), activity))
		}
		select {
		case <-ctx.Done():
			f.stop()
			return f.interrupted()
		case <-deadline.C():
			f.stop()
			return exit.WithHint(
				exit.TimedOut(fmt.Errorf("timed out after %s waiting for %s: %s",
					duration.HumanDuration(d.Clock.Since(f.start)), f.s.member(), activity)),
				"the replacement continues without this command; show its progress", f.s.statusCommand()...)
		case _, ok := <-changed:
			if !ok {
				changed = nil
			}
		case <-tick.C():
		}
	}
}

func (f *follower) interrupted() error {
	f.o.d.Say("the replacement continues; to show its progress: " + f.o.d.Words().Shell(f.s.statusCommand()) + "\n")
	return exit.Interrupted(context.Canceled)
}

func (f *follower) stop() {
	if f.progress != nil {
		f.progress.Stop()
		f.progress = nil
	}
}

// show prints a line with the duration for each ended phase, and shows the current phase.
func (f *follower) show(v verdict) {
	d := f.o.d
	now := d.Clock.Now()
	if v.phase != f.phase {
		f.stop()
		if f.phase != "" {
			tick := "✓"
			if !show.Unicode(d.Environ) {
				tick = "*"
			}
			d.Say(fmt.Sprintf("%s %s (%s)\n", tick, f.phase, duration.HumanDuration(now.Sub(f.since))))
		}
		f.phase, f.since = v.phase, now
	}
	if v.done || v.err != nil || v.phase == "" {
		return
	}
	text := v.phase
	if v.activity != "" {
		text += ": " + v.activity
	}
	if f.progress == nil {
		f.progress = d.NewProgress(text, 0)
	} else {
		f.progress.Update(text)
	}
}

// check reads and judges a replacement once.
func (f *follower) check(ctx context.Context) (verdict, error) {
	s, step, err := f.o.look(ctx, f.s)
	if err != nil {
		return verdict{}, err
	}
	f.warnings(ctx, s)
	doc := newStatusDocument(f.o.d.Clock.Now(), s.key, s.in, step)
	if s.in.Operator {
		return f.operator(s, step, doc), nil
	}
	rec := replace.RecordOf(s.in.Self)
	if rec.Resume == f.id {
		f.before = rec.Accepted
	}
	if l := rec.Last; l != nil && (l.Request == f.id || l.Request == f.before && f.before != "") && !rec.Open() &&
		!rec.Requested {
		if l.Outcome == replace.OutcomeCancelled {
			return verdict{err: exit.Refusedf("the request was withdrawn before anything was deleted"), last: doc}, nil
		}
		doc.addAfterwards(f.o.d.Clock.Now(), s)
		return verdict{done: true, last: doc}, nil
	}
	switch {
	case rec.Accepted != "" && rec.Accepted != f.id && rec.Resume != f.id:
		return verdict{err: fmt.Errorf("request %s superseded this one (%s)", rec.Accepted, f.id), last: doc}, nil
	case !rec.Requested && !rec.Open() && rec.Request != f.id:
		return verdict{err: fmt.Errorf("the request was removed from service %s; its outcome is unknown", s.member()),
			last: doc}, nil
	}
	message, cure := words.Text(step.Message), f.o.d.Words().Text(step.Cure)
	activity := message
	if len(step.Waiting) > 0 {
		activity = strings.Join(words.Texts(step.Waiting), "; ")
	}
	if step.Refused != nil && !f.said[message] {
		// The API server's full message: a live line is too short for it.
		f.said[message] = true
		f.stop()
		text := show.Clean(message)
		if cure != "" {
			text += "\n  > " + show.Clean(cure)
		}
		f.o.d.Warn("%s", text)
	}
	if step.Action.Writes() && f.o.d.Clock.Since(f.since) > timeout {
		activity = fmt.Sprintf("the controller has not acted for %s, check that it is running: %s",
			duration.HumanDuration(f.o.d.Clock.Since(f.since)), message)
	}
	if step.Action == replace.ActionFail && rec.Accepted == f.id {
		return verdict{phase: title(step), err: exit.WithHint(fmt.Errorf("the replacement failed: %s", message), cure),
			last: doc}, nil
	}
	if cure != "" && step.Refused == nil {
		activity += " > " + cure
	}
	return verdict{phase: title(step), activity: activity}, nil
}

// warnings prints new Warning Events of this request, except those about facts that the phases and
// the end show.
func (f *follower) warnings(ctx context.Context, s *subject) {
	now := f.o.d.Clock.Now()
	if now.Sub(f.eventsAt) < eventsEvery {
		return
	}
	f.eventsAt = now
	var list eventsv1.EventList
	if err := f.o.reader.Client().List(ctx, &list, client.InNamespace(s.key.Namespace)); err != nil {
		return // no permission to read Events: show only the phases
	}
	for i := range list.Items {
		e := &list.Items[i]
		at := e.EventTime.Time
		if e.Series != nil {
			at = e.Series.LastObservedTime.Time
		}
		if e.Type != corev1.EventTypeWarning || e.Regarding.Kind != "Service" || e.Regarding.Name != s.member() ||
			at.Before(f.start.Add(-time.Second)) || f.said[e.Note] ||
			e.Reason == replace.EventFailed || e.Reason == replace.EventEvictionRefused {
			continue
		}
		f.said[e.Note] = true
		f.stop()
		f.o.d.Warn("%s: %s", e.Reason, show.Clean(e.Note))
	}
}

func (f *follower) checkCancelled(ctx context.Context) (verdict, error) {
	s, step, err := f.o.look(ctx, f.s)
	if err != nil {
		return verdict{}, err
	}
	doc := newStatusDocument(f.o.d.Clock.Now(), s.key, s.in, step)
	rec := replace.RecordOf(s.in.Self)
	switch {
	case !rec.Open() && !rec.Requested && rec.Request == "":
		return verdict{done: true, last: doc}, nil
	case rec.Requested || step.Action == replace.ActionCancelRefused:
		return verdict{err: exit.Refusedf("too late to cancel: the replacement continues"), last: doc}, nil
	}
	return verdict{phase: "withdrawing the request", activity: words.Text(step.Message)}, nil
}

// print writes the final document or text.
func (o *options) print(d *StatusDocument) error {
	if !o.output.Text() {
		return o.output.Document(o.d, d)
	}
	opts := o.d.Options(false)
	return o.d.Print(d.Text(o.d.Clock.Now(), opts), opts)
}

// finalDocument prints the state after the request, if a document is requested.
func (o *options) finalDocument(ctx context.Context, s *subject) error {
	if o.output.Text() {
		return nil
	}
	now, step, err := o.look(ctx, s)
	if err != nil {
		return err
	}
	return o.output.Document(o.d, newStatusDocument(o.d.Clock.Now(), now.key, now.in, step))
}

// operator judges a replacement of the Scylla Operator once. The operator has no identity of
// requests; the replaced host ID identifies this one.
func (f *follower) operator(s *subject, step replace.Step, doc *StatusDocument) verdict {
	rec := replace.RecordOf(s.in.Self)
	id := s.in.Self.RecordedID()
	switch {
	case !rec.Requested && !rec.HasOriginal && id != "" && id != f.original:
		doc.OriginalHostID, doc.NewHostID, doc.Phase = f.original, id, replace.PhaseDone
		doc.StartedAt, doc.FinishedAt = document.TimePtr(f.start), document.TimePtr(f.o.d.Clock.Now())
		joined := ""
		if in := s.in; in.Self.Joined != nil && !*in.Self.Joined {
			joined = "has joined"
		}
		doc.Message = words.New(words.OperatorReplaced, "original", f.original, "node", id, "joined", joined)
		doc.addAfterwards(f.o.d.Clock.Now(), s)
		return verdict{done: true, last: doc}
	case !rec.Requested && !rec.HasOriginal:
		return verdict{
			err: fmt.Errorf(
				"the label was removed from service %s and its host ID is still %s: the request was withdrawn",
				s.member(), f.original), last: doc}
	case step.Action == replace.ActionFail:
		return verdict{err: exit.WithStep(fmt.Errorf("the replacement failed: %s", words.Text(step.Message)),
			step.Cure), last: doc}
	}
	activity := words.Text(step.Message)
	if len(step.Waiting) > 0 {
		activity += " (" + strings.Join(words.Texts(step.Waiting), "; ") + ")"
	}
	return verdict{phase: title(step), activity: activity}
}

func title(s replace.Step) string { return words.Text(s.Phase().Title()) }
