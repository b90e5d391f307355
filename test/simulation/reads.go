// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"errors"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/gate"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// reads is what the gate of a Pod reads in this world.
type reads struct {
	w *world
	p *pod
	// until then requests of the present judgement are answered.
	until time.Time
	told  []told // in the present judgement, for the invariants
}

// judgeTimeout bounds the requests of one judgement, as internal/agent/barrier does.
const judgeTimeout = 30 * time.Second

// isCut is true where the Pod does not reach the API server, or its judgement has no time left.
func (r *reads) isCut() bool { return r.w.isCut(r.p) || r.w.now.After(r.until) }

// unreachable is the answer of an API server that a Pod does not reach.
func unreachable() *matrix.Blocker {
	return &matrix.Blocker{Reason: words.APIUnreachable, Detail: errSilent.Error()}
}

// cut is why the Pod does not reach the API server; nil if it does.
func (r *reads) cut() *matrix.Blocker {
	if r.isCut() {
		return unreachable()
	}
	return nil
}

func (r *reads) Now() time.Time { return r.p.clock(r.w) }

// Cluster has the view of what an API server answers, which may be behind.
func (r *reads) Cluster() (*cluster.Cluster, *matrix.Blocker) {
	if x := r.cut(); x != nil {
		return nil, x
	}
	report, _ := r.Report()
	return r.w.cluster(kindsOfBarrier, cluster.SourceReport, r.p.clock(r.w), report), nil
}

// Report has the view and the identity that an API server answers, and all else as it is.
func (r *reads) Report() (*api.ScyllaDBStatusReport, *matrix.Blocker) {
	if r.w.status == nil || r.isCut() {
		return nil, unreachable()
	}
	if !r.w.permits() {
		return r.w.status, nil
	}
	read := r.w.read()
	if read == nil || read == r.w.status {
		return r.w.status, nil
	}
	out := *r.w.status
	out.UID, out.CreationTimestamp, out.Status.View = read.UID, read.CreationTimestamp, read.Status.View
	return &out, nil
}

func (r *reads) LeaseName() string { return "kubectl-scylla/" + api.LeaseName }

func (r *reads) Lease() (*coordinationv1.Lease, words.Message) {
	if r.isCut() {
		return nil, words.New(words.LeaseUnread, "lease", r.LeaseName(), "error", errSilent.Error())
	}
	return r.w.lease, words.Message{}
}

func (r *reads) Claim(name string) (types.UID, bool, *matrix.Blocker) {
	c := r.w.claims[name]
	if x := r.cut(); c == nil || x != nil {
		return "", false, x
	}
	return c.obj.UID, c.deleting, nil
}

func (r *reads) PodUID() (types.UID, *matrix.Blocker) { return r.p.obj.UID, nil }

func (r *reads) Ran() hostid.ID {
	if r.isCut() {
		return ""
	}
	row, err := api.DecodeNodeStatusReport(r.p.obj.Annotations[api.AnnotationNodeStatusReport])
	if err != nil {
		return ""
	}
	return row.LastHostID()
}

func (r *reads) Pods(of *cluster.Cluster) (cluster.Objects, map[string]string, *matrix.Blocker) {
	if x := r.cut(); x != nil {
		return cluster.Objects{}, nil, x
	}
	objects, digests := of.Objects, map[string]string{}
	now := r.w.objects(everything)
	objects.Pods, objects.Decoder, objects.Read = now.Pods, now.Decoder, objects.Read|cluster.KindPods
	for i := range now.Pods {
		digests[now.Pods[i].Name] = api.ReportDigest(now.Pods[i].Annotations[api.AnnotationNodeStatusReport])
	}
	return objects, digests, nil
}

func (r *reads) Neighbours() (cluster.Neighbourhood, *matrix.Blocker) {
	all := r.w.objects(everything)
	return cluster.Neighbourhood{Services: all.Services, Pods: all.Pods}, r.cut()
}

var errSilent = errors.New("no answer")

// Confirm has the pinned answers of reporters. Mum reporters do not tell their row, and every answer of theirs confirms it.
func (r *reads) Confirm(reporters []*cluster.Member, digests map[string]string) []error {
	out := make([]error, len(reporters))
	for i, m := range reporters {
		h, q := m.Heartbeat(), r.w.pods[m.Ref.Member]
		if h == nil || r.w.now.After(r.until) || q == nil || q.machine == nil || q.machine.off || q.reporter.state(r.w.now) != reporterWell ||
			!r.w.Mum && (q.fingerprint() != h.Fingerprint || q.reporter.beat.digest != digests[m.Ref.Member]) {
			out[i] = errSilent
		}
	}
	return out
}

func (r *reads) Relays(members []string) (found []gate.Relay) {
	if r.isCut() {
		return nil
	}
	for _, name := range members {
		q := r.w.pods[name]
		if q == nil {
			continue
		}
		if address, fingerprint, serves := cluster.ServedAt(q.obj); serves {
			found = append(found, gate.Relay{Member: name, Address: address, Fingerprint: fingerprint})
		}
	}
	return found
}

// Views has what the reporters hand on, each by the certificate that it had when the gate looked.
func (r *reads) Views(relays []gate.Relay) []gate.Told {
	out := make([]gate.Told, len(relays))
	for i, q := range relays {
		m := r.w.pods[q.Member]
		if m == nil || m.fingerprint() != q.Fingerprint {
			continue
		}
		out[i] = r.w.handsOn(m, r.p.name)
		if out[i].View != nil && !r.w.lies(q.Member) {
			r.told = append(r.told, told{q.Member, out[i].Report, out[i].View, r.w.now.Add(-out[i].Age)})
		}
	}
	return out
}
