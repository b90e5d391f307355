// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	"github.com/kubectl-scylla/kubectl-scylla/internal/support"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const (
	// logEvery is the interval at which a log without known errors is read again.
	logEvery = 15 * time.Second
	// logTimeout limits the reads of all new nodes' logs: a kubelet that does not respond must not
	// delay the status.
	logTimeout = 3 * time.Second
	// maxEndMessage limits a container's termination message in bytes.
	maxEndMessage = 4 << 10
)

// LogReader searches the logs of ScyllaDB containers for known errors, and caches the results. Only
// Deps is required.
type LogReader struct {
	Deps *Deps
	// Archived returns the archived data of a cluster, whose logs are then not read; nil if nothing
	// is archived (see Reader.Archived).
	Archived func(*cluster.Cluster) *support.Cluster
	// Given are logs that the user has, by member; they take precedence.
	Given map[string][]byte

	read map[string]logged // by Pod UID
	// classes are the StorageClasses of full volumes, classesAt is when they were read.
	classes   map[string]cluster.StorageClass
	classesAt time.Time
}

// logged is the result of one read of a Pod's log.
type logged struct {
	found *scylla.Diagnosis
	at    time.Time
	// denied is true if reading logs is forbidden.
	denied bool
}

// FirstError returns the first known error in the log of a Pod's ScyllaDB, nil if there is none or
// the log cannot be read. An archive contains the result of the time when it was packed; saved
// objects have none.
func (l *LogReader) FirstError(ctx context.Context, s *cluster.Cluster, pod, uid string,
	restarts int32) *scylla.Diagnosis {
	if log, ok := l.Given[pod]; ok {
		if d, found := scylla.FirstError(bytes.NewReader(log)); found {
			return &d
		}
		return nil
	}
	if e, ok := s.Logged[pod]; ok { // of an archive
		return &scylla.Diagnosis{Code: e.Code, Text: e.Text}
	}
	if l.Archived != nil {
		if c := l.Archived(s); c != nil {
			i := slices.IndexFunc(c.Waiting, func(w support.Container) bool {
				return w.Pod == pod &&
					w.Container == s.Containers().Container(pod)
			})
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
	if known, ok := l.read[uid]; ok && (known.found != nil && known.found.Code != words.ShadowRound ||
		now.Sub(known.at) < logEvery) {
		return known.found
	}
	c := support.Container{Pod: pod, Container: s.Containers().Container(pod), Restarts: restarts}
	denied := false
	if server, err := l.server(); err == nil {
		// No permission, or no such container run: the other evidence remains.
		denied = apierrors.IsForbidden(c.ReadLog(ctx, server, s.Namespace, support.Limits{}))
	}
	if l.read == nil {
		l.read = map[string]logged{}
	}
	l.read[uid] = logged{c.Diagnosis, now, denied}
	return c.Diagnosis
}

func (l *LogReader) server() (support.Server, error) {
	cfg, err := l.Deps.RESTConfig()
	if err != nil {
		return support.Server{}, err
	}
	// The full clientset would link every kind of Kubernetes, 15 MB.
	return support.NewServer(cfg)
}

// Banned reads the logs of new nodes whose ScyllaDB has run. It returns the cluster with the log
// errors of nodes that ScyllaDB will never let join. If the user cannot read logs, the cluster is
// unchanged.
func (l *LogReader) Banned(ctx context.Context, s *cluster.Cluster) *cluster.Cluster {
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
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

// maxLogged limits the members whose logs Load reads for the reason why they do not run.
const maxLogged = 4

// Read returns the cluster with what the logs show: see Banned and Explained. If a volume is full,
// it also reads whether it can be enlarged.
func (l *LogReader) Read(ctx context.Context, s *cluster.Cluster) *cluster.Cluster {
	return l.growth(ctx, l.Explained(ctx, l.Banned(ctx, s)))
}

// growth returns the cluster with the StorageClasses of its full volumes. Saved objects have them,
// or not.
func (l *LogReader) growth(ctx context.Context, s *cluster.Cluster) *cluster.Cluster {
	names := s.ClassesOfFull()
	if s.Offline || len(names) == 0 || l.Archived != nil && l.Archived(s) != nil {
		return s
	}
	if now := l.Deps.Clock.Now(); l.classes == nil || now.Sub(l.classesAt) >= logEvery {
		c, err := l.Deps.NewClient()
		if err != nil {
			return s
		}
		l.classes, l.classesAt = kube.StorageClasses(ctx, c, names), now
	}
	return s.WithClasses(l.classes)
}

// Explained returns the cluster with the known errors in the logs of members that do not run: their
// containers end, or run and are not ready. If the user cannot read logs, that is a note.
func (l *LogReader) Explained(ctx context.Context, s *cluster.Cluster) *cluster.Cluster {
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	said, notes := map[string]cluster.LogError{}, []string(nil)
	count := 0
	members := slices.Sorted(maps.Keys(s.Unready()))
	slices.SortStableFunc(members, func(a, b string) int { // a failed replacement cannot end by itself
		return matrix.FalseFirst(!replaced(s, a), !replaced(s, b))
	})
	for _, member := range members {
		pod, restarts := started(s, member)
		if pod == nil || cluster.Serving(pod) {
			continue
		}
		if l.Given[member] == nil && !s.Offline { // it is read now
			if count++; count > maxLogged {
				continue
			}
		}
		d := l.FirstError(ctx, s, pod.Name, string(pod.UID), restarts)
		if d == nil {
			d = endError(pod)
		}
		if d != nil {
			said[member] = cluster.LogError{Code: d.Code, Text: d.Text}
		}
		if l.read[string(pod.UID)].denied && len(notes) == 0 {
			notes = []string{"log of " + pod.Name + " not read: no permission; request verb get on resource pods/log"}
		}
	}
	return s.WithLogs(said, notes...)
}

func replaced(s *cluster.Cluster, member string) bool {
	m := s.Member(member)
	return m != nil && (m.Replacing != "" || m.ReplaceRequested)
}

// endError returns the first known error in the termination message of the Pod's ScyllaDB, nil if
// there is none. That message remains if the log was not saved or cannot be read. Kubernetes keeps
// 4 KiB of it. A message from a file may be longer; its end counts.
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

// started returns the member's Pod and its restarts once its ScyllaDB has run, else nil.
func started(s *cluster.Cluster, member string) (*corev1.Pod, int32) {
	for i := range s.Pods {
		p := &s.Pods[i]
		if p.Name != member || p.DeletionTimestamp != nil {
			continue
		}
		for _, st := range p.Status.ContainerStatuses {
			if st.Name == s.Containers().Container(member) &&
				(st.State.Running != nil || st.State.Terminated != nil || st.LastTerminationState.Terminated != nil) {
				return p, st.RestartCount
			}
		}
	}
	return nil, 0
}
