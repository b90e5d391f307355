// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/pattern"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replacement"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
)

// Cluster is everything that is known of one cluster beyond its snapshot as well: what is collected, and what an archive gives back.
type Cluster struct {
	Snapshot *kube.Snapshot
	// Requested is the source that was asked for when the snapshot was taken; auto when empty.
	Requested kube.Source
	// Events about the cluster's objects, the newest last.
	Events []corev1.Event
	// Waiting are the containers that do not run as they should, with the first and last error of their logs.
	Waiting []Container
	// Conditions are the Scylla Operator's own words of what it is about; empty where our controller is in charge.
	Conditions []string
	// Kubernetes is the API server's version; empty when it was not asked or did not say.
	Kubernetes string
	// LeftOut says what was not collected, and why.
	LeftOut []LeftOut

	// asArchived is the source as the archive has it, which choosing again cannot say so well.
	asArchived struct {
		source kube.Source
		reason string
	}
}

// LeftOut is something that could have been collected and was not.
type LeftOut struct {
	// What in plain words: "events", "log of demo-0/scylla".
	What string `json:"what"`
	// Why is Forbidden, Absent, TooBig or Failed.
	Why Why `json:"why"`
	// Detail is the reason in words, with the cure where there is one.
	Detail string `json:"detail,omitempty"`
}

// Why something was left out.
type Why string

// The reasons.
const (
	Forbidden Why = "Forbidden"
	Absent    Why = "Absent"
	TooBig    Why = "TooBig"
	Failed    Why = "Failed"
)

// Word is the reason as a person reads it.
func (w Why) Word() string {
	switch w {
	case Forbidden:
		return "forbidden"
	case Absent:
		return "absent"
	case TooBig:
		return "too big"
	}
	return "failed"
}

// Container is a container that waits, fails or was restarted.
type Container struct {
	Pod       string `json:"pod"`
	Container string `json:"container"`
	Init      bool   `json:"init,omitempty"`
	// State in words: "CrashLoopBackOff, 3 restarts", "Running, not ready".
	State    string `json:"state"`
	Restarts int32  `json:"restarts,omitempty"`
	// First and Last are the first and the last line of its log that speak of an error; absent when none does, or the log was left out.
	First *LogError `json:"firstError,omitempty"`
	Last  *LogError `json:"lastError,omitempty"`
	// Diagnosis is the known failure that the log shows.
	Diagnosis *scylla.Diagnosis `json:"diagnosis,omitempty"`
}

// LogError is one line of a log.
type LogError struct {
	Line string `json:"line"`
	// Previous is true when it is from the container's run before the present one.
	Previous bool `json:"previous,omitempty"`
}

// Limits bound each source. The zero value of a field means its default.
type Limits struct {
	// Events kept, the newest; EventPages of 500 are read at most.
	Events, EventPages int
	// Containers whose logs are read, LogHead and LogTail the bytes of each log that are, Line the bytes of a line that are kept.
	Containers       int
	LogHead, LogTail int64
	Line             int
	// LogTime is how long one container's logs may take: the kubelet of a dead machine does not answer.
	LogTime time.Duration
	// Kind is how many bytes of JSON the objects of one kind may be, Total all files together.
	Kind, Total int64
}

const (
	mib = 1 << 20

	eventPage = 500
)

func (l Limits) withDefaults() Limits {
	return Limits{
		Events: cmp.Or(l.Events, 2000), EventPages: cmp.Or(l.EventPages, 20), Containers: cmp.Or(l.Containers, 50),
		LogHead: cmp.Or(l.LogHead, 8*mib), LogTail: cmp.Or(l.LogTail, 256<<10), Line: cmp.Or(l.Line, 2048),
		LogTime: cmp.Or(l.LogTime, 20*time.Second),
		Kind:    cmp.Or(l.Kind, 128*mib), Total: cmp.Or(l.Total, maxTotal),
	}
}

// Server is what is read past the objects. A nil function is not read.
type Server struct {
	// Log opens a container's log.
	Log func(ctx context.Context, namespace, pod string, opts *corev1.PodLogOptions) (io.ReadCloser, error)
	// Version is the API server's.
	Version func(ctx context.Context) (string, error)
}

// Gather reads what a snapshot lacks: events, and through server the logs of waiting containers and the version. What cannot be read is listed in
// LeftOut; the only error is that ctx ended. progress, when not nil, is told what is being read.
func Gather(ctx context.Context, c client.Reader, s *kube.Snapshot, requested kube.Source, server Server, limits Limits, progress func(string)) (*Cluster, error) {
	limits = limits.withDefaults()
	if progress == nil {
		progress = func(string) {}
	}
	cl := &Cluster{Snapshot: s, Requested: cmp.Or(requested, kube.SourceAuto)}
	for _, p := range s.Problems {
		cl.LeftOut = append(cl.LeftOut, leftOutProblem(p))
	}
	if c != nil {
		progress("reading events")
		cl.readEvents(ctx, c, limits)
	}
	if server.Version != nil {
		v, err := server.Version(ctx)
		if err != nil {
			cl.leaveOut("version of Kubernetes", err)
		}
		cl.Kubernetes = v
	}
	if server.Log != nil && c != nil && s.Operator {
		conditions, err := kube.OperatorConditions(ctx, c, s.Key())
		if err != nil {
			cl.leaveOut("conditions of ScyllaDBDatacenter "+s.Cluster, err)
		}
		cl.Conditions = conditions
	}
	cl.Waiting = waiting(s)
	if server.Log != nil {
		cl.readLogs(ctx, server, limits, progress)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("collect cluster %s: %w", s.Key(), err)
	}
	slices.SortStableFunc(cl.LeftOut, func(a, b LeftOut) int { return cmp.Or(cmp.Compare(a.What, b.What), cmp.Compare(a.Detail, b.Detail)) })
	cl.LeftOut = slices.Compact(cl.LeftOut)
	return cl, nil
}

func leftOutProblem(p kube.Problem) LeftOut {
	l := LeftOut{What: p.Resource, Why: Failed, Detail: Text(p.Message)}
	if p.Name != "" {
		l.What += " " + p.Name
	}
	switch p.Kind {
	case kube.ProblemForbidden:
		l.Why = Forbidden
	case kube.ProblemNotFound, kube.ProblemNotInstalled:
		l.Why = Absent
	}
	return l
}

func (cl *Cluster) leaveOut(what string, err error) {
	l := LeftOut{What: what, Why: Failed, Detail: Text(err.Error())}
	switch {
	case apierrors.IsForbidden(err):
		l.Why = Forbidden
	case apierrors.IsNotFound(err):
		l.Why = Absent
	}
	cl.LeftOut = append(cl.LeftOut, l)
}

func (cl *Cluster) readEvents(ctx context.Context, c client.Reader, limits Limits) {
	related := cl.related()
	next := ""
	for page := 0; ; page++ {
		var list corev1.EventList
		err := c.List(ctx, &list, client.InNamespace(cl.Snapshot.Namespace), client.Limit(eventPage), client.Continue(next))
		if err != nil {
			if apierrors.IsForbidden(err) {
				err = fmt.Errorf("ask for a Role with verb list on resource events: %w", err)
			}
			cl.leaveOut("events", err)
			break
		}
		for i := range list.Items {
			if o := list.Items[i].InvolvedObject; related(o.Kind, o.Name) {
				cl.Events = append(cl.Events, list.Items[i])
			}
		}
		if next = list.Continue; next == "" {
			break
		}
		if page+1 >= limits.EventPages {
			cl.LeftOut = append(cl.LeftOut, LeftOut{What: "events", Why: TooBig, Detail: fmt.Sprintf("the namespace has more than %d; the rest was not looked at", limits.EventPages*eventPage)})
			break
		}
	}
	slices.SortStableFunc(cl.Events, func(a, b corev1.Event) int {
		return cmp.Or(EventTime(&a).Compare(EventTime(&b)), cmp.Compare(a.Name, b.Name))
	})
	if more := len(cl.Events) - limits.Events; more > 0 {
		cl.Events = slices.Clone(cl.Events[more:])
		cl.LeftOut = append(cl.LeftOut, LeftOut{What: "events", Why: TooBig, Detail: fmt.Sprintf("the oldest %d of the cluster's events", more)})
	}
}

// EventTime is when an event last happened; zero when it does not say.
func EventTime(e *corev1.Event) time.Time {
	at := e.LastTimestamp.Time
	if e.Series != nil && e.Series.LastObservedTime.After(at) {
		at = e.Series.LastObservedTime.Time
	}
	for _, t := range []time.Time{e.EventTime.Time, e.FirstTimestamp.Time, e.CreationTimestamp.Time} {
		if at.IsZero() {
			at = t
		}
	}
	return at
}

// related tells the cluster's objects from the rest of the namespace, those that are gone among them.
func (cl *Cluster) related() func(kind, name string) bool {
	s := cl.Snapshot
	names := map[[2]string]bool{}
	add := func(kind, name string) { names[[2]string{kind, name}] = true }
	for _, m := range s.Members() {
		if m.Member == "" {
			continue
		}
		add("Service", m.Member)
		add("Pod", m.Member)
		if m.PVCName != "" {
			add("PersistentVolumeClaim", m.PVCName)
		}
	}
	for i := range s.StatefulSets {
		add("StatefulSet", s.StatefulSets[i].Name)
	}
	for i := range s.PVCs {
		add("PersistentVolumeClaim", s.PVCs[i].Name)
	}
	for i := range s.Reports {
		add("ScyllaDBDatacenterNodesStatusReport", s.Reports[i].Name)
	}
	if s.StatusReport != nil {
		add("ScyllaDBStatusReport", s.StatusReport.Name)
	}
	for _, gvk := range []string{api.ScyllaClusterGVK.Kind, api.ScyllaDBDatacenterGVK.Kind, "ScyllaDBStatusReport"} {
		add(gvk, s.Cluster)
	}
	return func(kind, name string) bool {
		if names[[2]string{kind, name}] {
			return true
		}
		set, ordinal := name, ""
		if i := strings.LastIndexByte(name, '-'); i >= 0 {
			set, ordinal = name[:i], name[i+1:]
		}
		return kind == "Pod" && ordinal != "" && strings.Trim(ordinal, "0123456789") == "" && names[[2]string{"StatefulSet", set}]
	}
}

// replacements are the members whose node is being replaced.
func replacements(s *kube.Snapshot) map[string]bool {
	out := map[string]bool{}
	for i := range s.Services {
		rec := replacement.ReadRecord(s.Services[i].Labels, s.Services[i].Annotations)
		out[s.Services[i].Name] = rec.Requested || rec.Open()
	}
	return out
}

// waiting lists the containers that a person would look at: those that crash, fail, wait with a reason, or hold the others up.
func waiting(s *kube.Snapshot) []Container {
	var out []Container
	replacing := replacements(s)
	for i := range s.Pods {
		p := &s.Pods[i]
		sidecar := map[string]bool{}
		for _, c := range p.Spec.InitContainers {
			sidecar[c.Name] = c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		}
		for _, st := range p.Status.InitContainerStatuses {
			if state, ok := waitingState(st, !sidecar[st.Name]); ok {
				out = append(out, Container{Pod: p.Name, Container: st.Name, Init: true, State: state, Restarts: st.RestartCount})
			}
		}
		for _, st := range p.Status.ContainerStatuses {
			state, ok := waitingState(st, false)
			if !ok && st.Name == api.ContainerScyllaDB && replacing[p.Name] && (st.State.Running != nil || st.State.Terminated != nil) {
				// Its log tells whether the replacement can still succeed.
				state, ok = "replaces another node", true
			}
			if ok {
				out = append(out, Container{Pod: p.Name, Container: st.Name, State: state, Restarts: st.RestartCount})
			}
		}
	}
	return out
}

// waitingState is the state in words; false for a container that is as it should be, and one that only waits for its turn. oneShot
// containers hold the others up while they run.
func waitingState(st corev1.ContainerStatus, oneShot bool) (string, bool) {
	var state string
	switch {
	case st.State.Waiting != nil:
		if r := st.State.Waiting.Reason; (r == "PodInitializing" || r == "ContainerCreating" || r == "") && st.RestartCount == 0 {
			return "", false
		}
		state = cmp.Or(st.State.Waiting.Reason, "Waiting")
	case st.State.Terminated != nil:
		if st.State.Terminated.ExitCode == 0 {
			return "", false
		}
		state = fmt.Sprintf("%s, exit code %d", cmp.Or(st.State.Terminated.Reason, "Terminated"), st.State.Terminated.ExitCode)
	case st.State.Running != nil && oneShot:
		state = "Running, and the others wait for it"
	case st.State.Running != nil && !st.Ready:
		state = "Running, not ready"
	default:
		return "", false
	}
	switch st.RestartCount {
	case 0:
	case 1:
		state += ", 1 restart"
	default:
		state += fmt.Sprintf(", %d restarts", st.RestartCount)
	}
	return state, true
}

func (cl *Cluster) readLogs(ctx context.Context, server Server, limits Limits, progress func(string)) {
	// Why a replacement failed is left out last.
	var list, others []*Container
	replacing := replacements(cl.Snapshot)
	for i := range cl.Waiting {
		if c := &cl.Waiting[i]; c.Container == api.ContainerScyllaDB && replacing[c.Pod] {
			list = append(list, c)
		} else {
			others = append(others, c)
		}
	}
	list = append(list, others...)
	if len(list) > limits.Containers {
		cl.LeftOut = append(cl.LeftOut, LeftOut{What: "logs", Why: TooBig, Detail: fmt.Sprintf("%d more waiting containers; the logs of the first %d were read", len(list)-limits.Containers, limits.Containers)})
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
			cancel()
			mu.Lock()
			defer mu.Unlock()
			done++
			progress(fmt.Sprintf("reading logs of waiting containers: %d of %d", done, len(list)))
			if err == nil {
				return nil
			}
			what := "log of " + c.Pod + "/" + c.Container
			switch {
			case apierrors.IsForbidden(err):
				// One sentence for all of them.
				what, err = "logs", fmt.Errorf("ask for a Role with verb get on resource pods/log: %w", trimForbidden(err))
			case apierrors.IsNotFound(err) || apierrors.IsBadRequest(err):
				cl.LeftOut = append(cl.LeftOut, LeftOut{What: what, Why: Absent, Detail: Text(err.Error())})
				return nil
			case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
				err = fmt.Errorf("no answer within %s; is the machine of the Pod up?", limits.LogTime)
			}
			cl.leaveOut(what, err)
			return nil
		})
	}
	_ = g.Wait() // the functions give no error: what fails is left out
}

// trimForbidden takes the name of the one Pod out, so that many refusals are one.
func trimForbidden(err error) error {
	e, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return err
	}
	short := *e
	if _, after, found := strings.Cut(short.ErrStatus.Message, ": "); found {
		short.ErrStatus.Message = after
	}
	return &short
}

// ReadLog fills in what the container's log says. It looks into the run before this one first, where there is one: the first error is soon buried
// under what follows from it.
func (c *Container) ReadLog(ctx context.Context, server Server, namespace string, limits Limits) error {
	limits = limits.withDefaults()
	before := *c
	if c.Restarts > 0 {
		if head, err := before.fetch(ctx, server, namespace, limits, true); err == nil && before.diagnose(head, limits) {
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
		return nil // the run before told
	}
	return err
}

func (c *Container) diagnose(log []byte, limits Limits) bool {
	d, ok := scylla.FirstError(bytes.NewReader(log))
	if ok {
		d.Text = c.line(d.Text, limits)
		c.Diagnosis = &d
	}
	return ok
}

// fetch reads a log's head and, when there is more, its tail; it fills First and Last.
func (c *Container) fetch(ctx context.Context, server Server, namespace string, limits Limits, previous bool) ([]byte, error) {
	head, err := read(ctx, server, namespace, c.Pod, &corev1.PodLogOptions{Container: c.Container, Previous: previous, LimitBytes: &limits.LogHead}, limits.LogHead)
	if err != nil {
		return nil, err
	}
	first, last := errorLines(head)
	if int64(len(head)) >= limits.LogHead {
		lines := int64(200)
		tail, err := read(ctx, server, namespace, c.Pod, &corev1.PodLogOptions{Container: c.Container, Previous: previous, TailLines: &lines}, limits.LogTail)
		if err == nil {
			if f, l := errorLines(tail); l != "" {
				first, last = cmp.Or(first, f), l
			}
		}
	}
	if first != "" {
		c.First, c.Last = &LogError{Line: c.line(first, limits), Previous: previous}, &LogError{Line: c.line(last, limits), Previous: previous}
	}
	return head, nil
}

func (*Container) line(s string, limits Limits) string {
	s = Text(strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD")))
	if len(s) <= limits.Line {
		return s
	}
	return strings.ToValidUTF8(s[:limits.Line], "") + "..."
}

func read(ctx context.Context, server Server, namespace, pod string, opts *corev1.PodLogOptions, most int64) ([]byte, error) {
	r, err := server.Log(ctx, namespace, pod, opts)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // nothing was written
	data, err := io.ReadAll(io.LimitReader(r, most))
	if err != nil && len(data) == 0 {
		return nil, fmt.Errorf("read log of %s/%s: %w", pod, opts.Container, err)
	}
	return data, nil
}

// errorWords are how ScyllaDB, its scripts, Go programs and shells begin a line of error.
var errorWords = pattern.Lazy(`(?i)(^|[^\w-])(error|fatal|panic|critical|exception|traceback|failed|refused|cannot|can't|unable)([^\w-]|$)|level=(error|fatal)|^E\d{4} `)

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
