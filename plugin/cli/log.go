// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bundle"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/render"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replacement"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
)

const (
	// maxLog bounds what is read of a log: the first error of a start is near its beginning.
	maxLog = 8 << 20
	// logEvery is how often a log is read again while nothing was found in it.
	logEvery = 15 * time.Second
	// logPatience is how long a status waits for the logs of all new nodes: a kubelet that does not answer must not hold it up.
	logPatience = 3 * time.Second
)

// LogReader looks for known errors in the logs of ScyllaDB containers, and remembers what it found. The zero value but for Deps is ready.
type LogReader struct {
	Deps *Deps
	// Archived gives what an archive holds of a cluster, whose logs are then not read again; nil when nothing is archived (see Reader.Archived).
	Archived func(*kube.Snapshot) *bundle.Cluster

	read map[string]logged // by Pod UID
}

// logged is what was found in a Pod's log, and when it was read.
type logged struct {
	found *scylla.Diagnosis
	at    time.Time
}

// FirstError is the first known error in the log of a Pod's ScyllaDB, nil when there is none or the log cannot be read: in the container's last
// run before this one first, since the first error is soon buried under restarts. What was found once stays: a log is only added to.
func (l *LogReader) FirstError(ctx context.Context, namespace, pod, uid string, restarts int32) *scylla.Diagnosis {
	now := l.Deps.Clock.Now()
	if known, ok := l.read[uid]; ok && (known.found != nil || now.Sub(known.at) < logEvery) {
		return known.found
	}
	var found *scylla.Diagnosis
	for _, previous := range []bool{true, false} {
		if previous && restarts == 0 {
			continue
		}
		log, err := l.open(ctx, namespace, pod, previous)
		if err != nil {
			continue // no leave, or no such run: the other evidence stands
		}
		d, ok := scylla.FirstError(io.LimitReader(log, maxLog))
		_ = log.Close() // it was only read
		if ok {
			found = &d
			break
		}
	}
	if l.read == nil {
		l.read = map[string]logged{}
	}
	l.read[uid] = logged{found, now}
	return found
}

func (l *LogReader) open(ctx context.Context, namespace, pod string, previous bool) (io.ReadCloser, error) {
	cfg, err := l.Deps.RESTConfig()
	if err != nil {
		return nil, err
	}
	// Not the ordinary clientset: it brings every kind of Kubernetes along, 15 MB of them.
	server, err := bundle.NewServer(cfg)
	if err != nil {
		return nil, err
	}
	return server.Log(ctx, namespace, pod, &corev1.PodLogOptions{Container: api.ContainerScyllaDB, Previous: previous, LimitBytes: ptr.To(int64(maxLog))})
}

// Failure is an error in a log as the reason why a replacement failed; nil when the node may still join. The cure of a replacement is another
// than that of a plain join, so it is left to package replacement.
func Failure(pod string, d *scylla.Diagnosis) *replacement.Diagnosis {
	if d == nil || !d.Poisoned {
		return nil
	}
	return &replacement.Diagnosis{Code: d.Code, Text: fmt.Sprintf("ScyllaDB on Pod %s says: %s", pod, d.Text)}
}

// Replacements reads the logs of new nodes whose replacement has failed or may have; nil when there is none, and then nothing is read.
func (l *LogReader) Replacements(ctx context.Context, s *kube.Snapshot, open []render.Replacement) render.Logs {
	if l.Archived != nil {
		if c := l.Archived(s); c != nil {
			return ArchivedReplacements(c, open)
		}
	}
	if s.Offline {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, logPatience)
	defer cancel()
	return failures(s, open, func(pod *corev1.Pod, restarts int32) *scylla.Diagnosis {
		return l.FirstError(ctx, s.Namespace, pod.Name, string(pod.UID), restarts)
	})
}

// ArchivedReplacements is Replacements of what an archive kept of the logs.
func ArchivedReplacements(c *bundle.Cluster, open []render.Replacement) render.Logs {
	return failures(c.Snapshot, open, func(pod *corev1.Pod, _ int32) *scylla.Diagnosis {
		for i := range c.Waiting {
			if w := &c.Waiting[i]; w.Pod == pod.Name && w.Container == api.ContainerScyllaDB {
				return w.Diagnosis
			}
		}
		return nil
	})
}

func failures(s *kube.Snapshot, open []render.Replacement, find func(*corev1.Pod, int32) *scylla.Diagnosis) render.Logs {
	var logs render.Logs
	for i := range open {
		if open[i].Phase != replacement.PhaseJoin && open[i].Phase != replacement.PhaseFailed {
			continue
		}
		pod, restarts := started(s, open[i].Member)
		if pod == nil {
			continue
		}
		if f := Failure(pod.Name, find(pod, restarts)); f != nil {
			if logs == nil {
				logs = render.Logs{}
			}
			logs[open[i].Member] = f
		}
	}
	return logs
}

// started is the member's Pod once its ScyllaDB has run, with the restarts; nil before.
func started(s *kube.Snapshot, member string) (*corev1.Pod, int32) {
	for i := range s.Pods {
		p := &s.Pods[i]
		if p.Name != member || p.DeletionTimestamp != nil {
			continue
		}
		for _, st := range p.Status.ContainerStatuses {
			if st.Name == api.ContainerScyllaDB && (st.State.Running != nil || st.State.Terminated != nil || st.LastTerminationState.Terminated != nil) {
				return p, st.RestartCount
			}
		}
	}
	return nil, 0
}
