// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	"github.com/kubectl-scylla/kubectl-scylla/internal/support"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const (
	// logEvery is how often a log is read again while nothing was found in it.
	logEvery = 15 * time.Second
	// logPatience is how long a status waits for the logs of all new nodes: a kubelet that does not answer must not hold it up.
	logPatience = 3 * time.Second
	// maxEndMessage is how many bytes of a container's termination message are read.
	maxEndMessage = 4 << 10
)

// LogReader looks for known errors in the logs of ScyllaDB containers, and remembers what it found. The zero value but for Deps is ready.
type LogReader struct {
	Deps *Deps
	// Archived returns the archived data of a cluster, whose logs are then not read again; nil when nothing is archived (see Reader.Archived).
	Archived func(*cluster.Cluster) *support.Cluster

	read map[string]logged // by Pod UID
}

// logged is what was found in a Pod's log, and when it was read.
type logged struct {
	found *scylla.Diagnosis
	at    time.Time
}

// FirstError is the first known error in the log of a Pod's ScyllaDB, nil when there is none or the log cannot be read. For an archive it is the error found when the archive
// was packed; plain saved objects have none.
func (l *LogReader) FirstError(ctx context.Context, s *cluster.Cluster, pod, uid string, restarts int32) *scylla.Diagnosis {
	if l.Archived != nil {
		if c := l.Archived(s); c != nil {
			i := slices.IndexFunc(c.Waiting, func(w support.Container) bool { return w.Pod == pod && w.Container == s.Containers().Container(pod) })
			if i < 0 {
				return nil
			}
			return c.Waiting[i].Diagnosis
		}
	}
	if s.Offline {
		return nil
	}
	now := l.Deps.Clock.Now()
	if known, ok := l.read[uid]; ok && (known.found != nil && known.found.Code != words.ShadowRound || now.Sub(known.at) < logEvery) {
		return known.found
	}
	c := support.Container{Pod: pod, Container: s.Containers().Container(pod), Restarts: restarts}
	if server, err := l.server(); err == nil {
		_ = c.ReadLog(ctx, server, s.Namespace, support.Limits{}) // no leave, or no such run: the other evidence stands
	}
	if l.read == nil {
		l.read = map[string]logged{}
	}
	l.read[uid] = logged{c.Diagnosis, now}
	return c.Diagnosis
}

func (l *LogReader) server() (support.Server, error) {
	cfg, err := l.Deps.RESTConfig()
	if err != nil {
		return support.Server{}, err
	}
	// Not the ordinary clientset: it brings every kind of Kubernetes along, 15 MB of them.
	return support.NewServer(cfg)
}

// Failure is what a log shows of a replacement: the reason why it failed, or that it looks for its seeds; nil when the text is only about this start. The cure of a replacement is another
// than that of a plain join, so it is left to package replace.
func Failure(pod string, d *scylla.Diagnosis) *replace.Diagnosis {
	if d == nil || !d.Lost() && !replace.Refused(d.Code) && d.Code != words.ShadowRound {
		return nil
	}
	return &replace.Diagnosis{Code: d.Code, Text: words.New(words.ScyllaDBSaid, "pod", pod, "text", d.Text)}
}

// Judge is diagnosis.Judge, with the logs of new nodes whose replacement has failed or may have. It reads none where there is no such node.
func (l *LogReader) Judge(ctx context.Context, s *cluster.Cluster, names ...string) *diagnosis.Judged {
	now := l.Deps.Clock.Now()
	j := diagnosis.Judge(s, now, nil, names...)
	if logs := l.replacements(ctx, s, j.Replacing); logs != nil {
		return diagnosis.Judge(s, now, logs, names...)
	}
	return j
}

func (l *LogReader) replacements(ctx context.Context, s *cluster.Cluster, open map[string]diagnosis.Replacing) diagnosis.Logs {
	ctx, cancel := context.WithTimeout(ctx, logPatience)
	defer cancel()
	var logs diagnosis.Logs
	for _, member := range slices.Sorted(maps.Keys(open)) {
		step := open[member].Step
		if step == nil || step.Phase() != replace.PhaseJoin && step.Phase() != replace.PhaseFailed {
			continue
		}
		pod, restarts := started(s, member)
		if pod == nil {
			continue
		}
		if f := Failure(pod.Name, l.FirstError(ctx, s, pod.Name, string(pod.UID), restarts)); f != nil {
			if logs == nil {
				logs = diagnosis.Logs{}
			}
			logs[member] = f
		}
	}
	return logs
}

// Banned reads the logs of newcomers whose ScyllaDB has run, and returns the same cluster with the log's error where ScyllaDB will never let one join. Without the right to
// read logs the cluster is returned unchanged.
func (l *LogReader) Banned(ctx context.Context, s *cluster.Cluster) *cluster.Cluster {
	ctx, cancel := context.WithTimeout(ctx, logPatience)
	defer cancel()
	said := map[string]words.Message{}
	for _, member := range s.Newcomers() {
		pod, restarts := started(s, member)
		if pod == nil {
			continue
		}
		d := l.FirstError(ctx, s, pod.Name, string(pod.UID), restarts)
		if d == nil {
			d = endError(pod)
		}
		if d != nil && d.Lost() {
			said[member] = words.New(words.ScyllaDBSaid, "pod", pod.Name, "text", d.Text)
		}
	}
	return s.WithBanned(said)
}

// endError is the first known error in the message with which the Pod's ScyllaDB ended, which is all there is of a log that was not saved or may not be read; nil
// where there is none. Kubernetes keeps 4 KiB of it; what a file says may be longer, and its end is what counts.
func endError(pod *corev1.Pod) *scylla.Diagnosis {
	end := cluster.LastEnd(pod)
	if end == nil {
		return nil
	}
	text := end.Message[max(0, len(end.Message)-maxEndMessage):]
	if d, found := scylla.FirstError(strings.NewReader(text)); found {
		return &d
	}
	return nil
}

// started is the member's Pod once its ScyllaDB has run, with the restarts; nil before.
func started(s *cluster.Cluster, member string) (*corev1.Pod, int32) {
	for i := range s.Pods {
		p := &s.Pods[i]
		if p.Name != member || p.DeletionTimestamp != nil {
			continue
		}
		for _, st := range p.Status.ContainerStatuses {
			if st.Name == s.Containers().Container(member) && (st.State.Running != nil || st.State.Terminated != nil || st.LastTerminationState.Terminated != nil) {
				return p, st.RestartCount
			}
		}
	}
	return nil, 0
}
