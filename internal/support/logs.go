// SPDX-License-Identifier: Apache-2.0

package support

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/pattern"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

func (cl *Cluster) readLogs(ctx context.Context, server Server, limits Limits, progress func(string)) {
	// The logs that explain failed replacements have priority.
	var list, others []*Container
	replacing := replacements(cl.Snapshot)
	for i := range cl.Waiting {
		if c := &cl.Waiting[i]; c.Container == cl.Snapshot.Containers().Container(c.Pod) && replacing[c.Pod] {
			list = append(list, c)
		} else {
			others = append(others, c)
		}
	}
	list = append(list, others...)
	if len(list) > limits.Containers {
		cl.LeftOut = append(cl.LeftOut,
			LeftOut{What: "logs", Why: TooBig,
				Detail: fmt.Sprintf("%d more waiting containers; the logs of the first %d were read",
					len(list)-limits.Containers, limits.Containers)})
		list = list[:limits.Containers]
	}
	var mu sync.Mutex
	var done int
	var g errgroup.Group
	g.SetLimit(4)
	for i := range list {
		g.Go(func() error {
			c := list[i]
			within, cancel := context.WithTimeout(ctx, limits.LogTime)
			err := c.ReadLog(within, server, cl.Snapshot.Namespace, limits)
			var taken Tally
			var tail error
			if err == nil && limits.LogLines > 0 {
				taken, tail = c.readTails(within, server, cl.Snapshot.Namespace, limits)
			}
			cancel()
			mu.Lock()
			defer mu.Unlock()
			done++
			cl.addRedacted(taken)
			if tail != nil {
				cl.Uncollected = append(cl.Uncollected, LeftOut{What: "end of the log of " + c.Pod + "/" + c.Container,
					Why: Failed, Detail: Text(tail.Error())})
			}
			progress(fmt.Sprintf("reading logs of waiting containers: %d of %d", done, len(list)))
			if err == nil {
				return nil
			}
			what := "log of " + c.Pod + "/" + c.Container
			switch {
			case apierrors.IsForbidden(err):
				// One entry for all of them.
				what, err = "logs", fmt.Errorf("request a Role with verb get on resource pods/log: %w",
					trimForbidden(err))
			case apierrors.IsNotFound(err) || apierrors.IsBadRequest(err):
				cl.LeftOut = append(cl.LeftOut, LeftOut{What: what, Why: Absent, Detail: Text(err.Error())})
				return nil
			case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
				err = fmt.Errorf("no response within %s; check that the Pod's Kubernetes node is up", limits.LogTime)
			}
			cl.leaveOut(what, err)
			return nil
		})
	}
	_ = g.Wait() // the functions return no error: failures are in LeftOut
}

// ReadLog sets First, Last and Diagnosis. It reads the previous run's log first if there is one:
// that log has the error which ended the run.
func (c *Container) ReadLog(ctx context.Context, server Server, namespace string, limits Limits) error {
	limits = limits.withDefaults()
	before := *c
	if c.Restarts > 0 {
		if head, err := before.fetch(ctx, server, namespace, limits, true); err == nil &&
			before.diagnose(head, limits) && before.Diagnosis.Code != words.ShadowRound {
			*c = before
			return nil
		}
	}
	now := *c
	head, err := now.fetch(ctx, server, namespace, limits, false)
	if err == nil && (now.diagnose(head, limits) || before.First == nil) {
		*c = now
		return nil
	}
	if before.First != nil {
		*c = before
		return nil // the previous run has an error
	}
	return err
}

func (c *Container) diagnose(log []byte, limits Limits) bool {
	d, ok := scylla.FirstError(bytes.NewReader(log))
	if d.Code == words.ShadowRound && int64(len(log)) >= limits.LogHead {
		return false // the end of the shadow round is not in the head
	}
	if ok {
		d.Text = c.line(d.Text, limits)
		c.Diagnosis = &d
	}
	return ok
}

// fetch reads a log's head and, if it is longer, its tail, returns both, and sets First and Last.
func (c *Container) fetch(ctx context.Context, server Server, namespace string, limits Limits, previous bool) ([]byte,
	error) {
	head, err := read(ctx, server, namespace, c.Pod, &corev1.PodLogOptions{Container: c.Container, Previous: previous,
		LimitBytes: &limits.LogHead}, limits.LogHead)
	if err != nil {
		return nil, err
	}
	first, last := errorLines(head)
	if int64(len(head)) >= limits.LogHead {
		lines := int64(200)
		tail, err := read(ctx, server, namespace, c.Pod,
			&corev1.PodLogOptions{Container: c.Container, Previous: previous,
				TailLines: &lines}, limits.LogTail)
		if err == nil {
			if f, l := errorLines(tail); l != "" {
				first, last = cmp.Or(first, f), l
			}
			head = slices.Concat(head, []byte("\n"), tail)
		}
	}
	if first != "" {
		c.First, c.Last = &LogError{Line: c.line(first, limits), Previous: previous},
			&LogError{Line: c.line(last, limits), Previous: previous}
	}
	return head, nil
}

// Take sets First, Last and Diagnosis from a log that the user has.
func (c *Container) Take(log []byte) {
	limits := Limits{}.withDefaults()
	if first, last := errorLines(log); first != "" {
		c.First, c.Last = &LogError{Line: c.line(first, limits)}, &LogError{Line: c.line(last, limits)}
	}
	if d, ok := scylla.FirstError(bytes.NewReader(log)); ok {
		d.Text = c.line(d.Text, limits)
		c.Diagnosis = &d
	}
}

func (*Container) line(s string, limits Limits) string {
	s = Text(strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD")))
	if len(s) <= limits.Line {
		return s
	}
	return strings.ToValidUTF8(s[:limits.Line], "") + "..."
}

// readTails sets Log and PreviousLog, and returns the redactions.
func (c *Container) readTails(ctx context.Context, server Server, namespace string, limits Limits) (Tally, error) {
	taken := Tally{}
	tail := func(previous bool) (string, error) {
		lines := int64(limits.LogLines)
		// The API cuts the last lines at their end: read more bytes than are kept.
		data, err := read(ctx, server, namespace, c.Pod,
			&corev1.PodLogOptions{Container: c.Container, Previous: previous,
				TailLines: &lines}, limits.LogHead)
		if err != nil {
			return "", err
		}
		if more := len(data) - int(limits.LogTail); more > 0 {
			data = data[more:]
			data = data[bytes.IndexByte(data, '\n')+1:]
		}
		clean, n := logText(data)
		taken.Add(n)
		return clean, nil
	}
	var err error
	if c.Restarts > 0 {
		// The kubelet may have deleted the log of the previous run.
		if c.PreviousLog, err = tail(true); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsBadRequest(err) {
			return taken, err
		}
	}
	c.Log, err = tail(false)
	return taken, err
}

func read(ctx context.Context, server Server, namespace, pod string, opts *corev1.PodLogOptions, most int64) ([]byte,
	error) {
	r, err := server.Log(ctx, namespace, pod, opts)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // read-only
	data, err := bounded.Head(r, most)
	if err != nil && len(data) == 0 {
		return nil, fmt.Errorf("read log of %s/%s: %w", pod, opts.Container, err)
	}
	return data, nil
}

// errorWords are how ScyllaDB, its scripts, Go programs and shells mark an error line.
var errorWords = pattern.Lazy(
	`(?i)(^|[^\w-])(error|fatal|panic|critical|exception|traceback|failed|refused|cannot|can't|unable)([^\w-]|$)|level=(error|fatal)|^E\d{4} `)

func errorLines(log []byte) (first, last string) {
	for line := range bytes.Lines(log) {
		if errorWords().Match(line[:min(len(line), 4096)]) {
			if first == "" {
				first = string(line)
			}
			last = string(line)
		}
	}
	return first, last
}
