// SPDX-License-Identifier: Apache-2.0

package replacement

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const (
	hostA   = "aaaaaaaa-0000-4000-8000-000000000001"
	hostB   = "bbbbbbbb-0000-4000-8000-000000000002"
	hostC   = "cccccccc-0000-4000-8000-000000000003"
	hostOld = "dddddddd-0000-4000-8000-000000000004"
	hostNew = "eeeeeeee-0000-4000-8000-000000000005"
)

var t0 = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// all is every text of a step.
func all(s Step) string {
	return strings.Join(append(words.Texts(s.Waiting), words.Text(s.Message), words.Text(s.Cure)), "\n")
}

func ptr[T any](v T) *T { return &v }

func ref(member, rack, hostID string) matrix.Ref {
	return matrix.Ref{HostID: hostid.ID(hostID), Member: member, Datacenter: "dc1", Rack: rack, Ordinal: ptr(int32(0))}
}

func up(ids ...string) []matrix.Observation {
	var out []matrix.Observation
	for _, id := range ids {
		out = append(out, matrix.Observation{HostID: hostid.ID(id), Status: matrix.Up})
	}
	return out
}

func down(id string) matrix.Observation {
	return matrix.Observation{HostID: hostid.ID(id), Status: matrix.Down, Since: t0.Add(-10 * time.Minute)}
}

// base is a cluster of four racks: demo-a-0, demo-b-0 and demo-c-0 are UP and see demo-d-0 DOWN. The replacement of demo-d-0 is not requested yet.
func base() Input {
	in := Input{
		Namespace: "scylla", Cluster: "demo",
		Self: ref("demo-d-0", "d", hostOld),
		Service: Service{
			UID: "svc-d", ResourceVersion: "1", ClusterIP: "10.96.0.4",
			Labels: map[string]string{api.LabelCluster: "demo"},
			Annotations: map[string]string{
				api.AnnotationHostID: hostOld, api.AnnotationNodeJoined: "true",
			},
		},
		Joined:      ptr(true),
		Claims:      []Claim{{Name: "data-demo-d-0", UID: "pvc-1", Size: "100Gi"}},
		Pod:         &Pod{Name: "demo-d-0", UID: "pod-1", Created: t0.Add(-time.Hour), Scheduled: true, Owned: true, KubernetesNode: "k4", IP: "10.244.4.9"},
		StatefulSet: &StatefulSet{Name: "demo-d", Replicas: 1, Datacenter: "dc1", Rack: "d", ClaimTemplates: []string{"data"}, Launcher: release.Yes},
		Version:     "2025.2.1", ByHostID: release.Yes, OperationsKnown: true,
		Now: t0, NewID: "request-1",
	}
	for _, o := range []struct{ member, rack, id string }{{"demo-a-0", "a", hostA}, {"demo-b-0", "b", hostB}, {"demo-c-0", "c", hostC}} {
		in.Others = append(in.Others, Other{Ref: ref(o.member, o.rack, o.id), Joined: ptr(true)})
		in.Rows = append(in.Rows, matrix.Row{
			Reporter: ref(o.member, o.rack, o.id), Reported: true, Observed: append(up(hostA, hostB, hostC), down(hostOld)),
		})
	}
	in.Rows = append(in.Rows, matrix.Row{Reporter: in.Self, Reported: true, Stale: matrix.Trouble{Code: words.PodGone}, Observed: up(hostA, hostB, hostC, hostOld)})
	return in
}

func requested() Input {
	in := base()
	in.Service.Labels[api.LabelReplace] = ""
	in.Service.Annotations[api.AnnotationReplaceRequest] = "request-1"
	return in
}

// after applies the step's patch, as the API server would.
func after(in Input, s Step) Input {
	in.Service.Labels, in.Service.Annotations = maps.Clone(in.Service.Labels), maps.Clone(in.Service.Annotations)
	s.Patch.Apply(&in.Service.Labels, &in.Service.Annotations)
	return in
}

func recorded() Input { in := requested(); return after(in, Next(in)) }

// newPod is the state after deletion: another claim, another Pod.
func newPod() Input {
	in := recorded()
	in.Claims = []Claim{{Name: "data-demo-d-0", UID: "pvc-2"}}
	in.Pod = &Pod{Name: "demo-d-0", UID: "pod-2", Scheduled: true, Owned: true, KubernetesNode: "k5", IP: "10.244.5.7"}
	return in
}

// joining: the newcomer is seen by its peers in a given state, and its Pod reports.
func joining(state matrix.State, ownsTokens bool) Input {
	in := newPod()
	in.Pod.HostID, in.Pod.Joined, in.Pod.OperationMode = hostNew, ptr(ownsTokens), "BOOTSTRAP"
	in.Rows = cloneRows(in.Rows)
	for i := range in.Rows {
		if in.Rows[i].Reporter.Member == in.Self.Member {
			continue
		}
		in.Rows[i].Observed = append(in.Rows[i].Observed, matrix.Observation{HostID: hostNew, Status: matrix.Up, State: state})
	}
	return in
}

// joined: the newcomer is a normal member, the old host ID is gone, the Pod is Ready.
func joined() Input {
	in := joining(matrix.StateNormal, true)
	for i := range in.Rows {
		in.Rows[i].Observed = without(in.Rows[i].Observed, hostOld)
	}
	in.Pod.Ready, in.Pod.OperationMode = true, "NORMAL"
	in.Now = t0.Add(7 * time.Minute)
	return in
}

func cloneRows(rows []matrix.Row) []matrix.Row {
	out := make([]matrix.Row, len(rows))
	for i, r := range rows {
		r.Observed = append([]matrix.Observation(nil), r.Observed...)
		out[i] = r
	}
	return out
}

func without(obs []matrix.Observation, id string) []matrix.Observation {
	var out []matrix.Observation
	for _, o := range obs {
		if string(o.HostID) != id {
			out = append(out, o)
		}
	}
	return out
}

// setCell changes what one reporter says of one host ID; reporter "*" means every other member.
func setCell(in Input, reporter, id string, status matrix.Status, state matrix.State) Input {
	in.Rows = cloneRows(in.Rows)
	for i := range in.Rows {
		if in.Rows[i].Reporter.Member == in.Self.Member || reporter != "*" && in.Rows[i].Reporter.Member != reporter {
			continue
		}
		in.Rows[i].Observed = append(without(in.Rows[i].Observed, id), matrix.Observation{HostID: hostid.ID(id), Status: status, State: state, Since: t0.Add(-10 * time.Minute)})
	}
	return in
}

// world is Kubernetes and ScyllaDB as far as a replacement touches them, with a history to hold promises against.
type world struct {
	in      Input // objects as they are
	history []Input

	pvcs, pods int
	started    bool   // ScyllaDB runs on the Pod
	argument   string // with this replace argument
	empty      bool   // the Pod's volume has never been written to
	onPVC      string // UID of the claim that the Pod runs on
	phase      int    // of the join: 0 not begun, 1 replacing, 2 normal with old listed, 3 old gone

	deletions map[string][]string // request -> UIDs of claims whose deletion took effect
	problems  []string
	userCut   bool // a person took the label away
	cancelled bool
}

func newWorld() *world {
	w := &world{in: requested(), pvcs: 1, pods: 1, onPVC: "pvc-1", deletions: map[string][]string{}}
	w.save()
	return w
}

func (w *world) save() {
	c := w.in
	c.Service.Labels, c.Service.Annotations = maps.Clone(c.Service.Labels), maps.Clone(c.Service.Annotations)
	c.Claims = append([]Claim(nil), c.Claims...)
	if c.Pod != nil {
		c.Pod = ptr(*c.Pod)
	}
	c.Rows = cloneRows(c.Rows)
	w.history = append(w.history, c)
}

func (w *world) complain(format string, args ...any) {
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

func (w *world) bump() { w.in.Service.ResourceVersion += "i" }

// act is one step of a controller that sees the world as it was `ago` changes before. It keeps nothing.
func (w *world) act(ago int) Step {
	seen := w.history[max(0, len(w.history)-1-ago)]
	seen.Now = w.in.Now
	seen.NewID = fmt.Sprintf("invented-%d", len(w.history))
	s := Next(seen)
	switch s.Action {
	case ActionRecord, ActionFinish, ActionCancel, ActionCancelRefused, ActionAdopt:
		if seen.Service.ResourceVersion != w.in.Service.ResourceVersion {
			return s // 409
		}
		before := ReadRecord(w.in.Service.Labels, w.in.Service.Annotations)
		w.in.Service.Labels, w.in.Service.Annotations = maps.Clone(w.in.Service.Labels), maps.Clone(w.in.Service.Annotations)
		s.Patch.Apply(&w.in.Service.Labels, &w.in.Service.Annotations)
		w.bump()
		now := ReadRecord(w.in.Service.Labels, w.in.Service.Annotations)
		if before.HasOriginal && now.HasOriginal && before.Original != now.Original {
			w.complain("original host ID changed from %q to %q", before.Original, now.Original)
		}
		if now.HasOriginal && now.Original != hostOld {
			w.complain("recorded original host ID %q", now.Original)
		}
		if s.Action == ActionFinish && w.phase < 3 {
			w.complain("labels removed in join phase %d", w.phase)
		}
		w.cancelled = w.cancelled || s.Action == ActionCancel
		if s.Action == ActionCancel && len(w.deletions) > 0 {
			w.complain("cancelled after a deletion")
		}
	case ActionDeletePVC:
		for i := range w.in.Claims {
			c := &w.in.Claims[i]
			if c.UID != s.Claim.UID || c.ResourceVersion != s.Claim.ResourceVersion || c.Deleting {
				continue // precondition fails, or nothing changes
			}
			c.Deleting = true
			if w.cancelled {
				w.complain("claim deleted after the request was cancelled")
			}
			w.deletions[s.Request] = append(w.deletions[s.Request], c.UID)
			w.protect()
			break
		}
	case ActionKeepPVC:
		for i := range w.in.Claims {
			if c := &w.in.Claims[i]; c.UID == s.Claim.UID {
				c.Kept = s.Request
				c.ResourceVersion += "i"
			}
		}
	case ActionEvictPod:
		if p := w.in.Pod; p != nil && p.UID == s.PodUID {
			p.Deleting = true
		}
	}
	w.save()
	return s
}

// kubelet ends a terminating Pod and starts ScyllaDB on a new one, through the launcher.
func (w *world) kubelet() {
	p := w.in.Pod
	switch {
	case p == nil:
	case p.Deleting:
		w.in.Pod, w.started, w.argument, w.phase = nil, false, "", min(w.phase, 0)
		w.protect()
	case !w.started && p.UID != "pod-1":
		if w.in.Claims == nil || w.in.Claims[0].Deleting {
			return
		}
		w.onPVC = w.in.Claims[0].UID
		rec := ReadRecord(w.in.Service.Labels, w.in.Service.Annotations)
		if rec.Requested && !rec.HasOriginal {
			return // the launcher waits
		}
		w.started, w.argument = true, string(rec.Original)
		if w.empty && w.argument != hostOld {
			w.complain("ScyllaDB started on an empty volume with argument %q", w.argument)
		}
		if w.empty {
			p.HostID, p.Joined = hostNew, ptr(false)
		} else {
			p.HostID = hostOld
		}
	}
	w.save()
}

// protect is the claim protection: a terminating claim goes once no Pod uses it.
func (w *world) protect() {
	if len(w.in.Claims) > 0 && w.in.Claims[0].Deleting && w.in.Pod == nil {
		w.in.Claims = nil
	}
}

func (w *world) statefulSet() {
	if len(w.in.Claims) > 0 && w.in.Claims[0].Deleting {
		return
	}
	if len(w.in.Claims) == 0 {
		w.pvcs++
		w.in.Claims = []Claim{{Name: "data-demo-d-0", UID: fmt.Sprintf("pvc-%d", w.pvcs)}}
		w.empty = true
	}
	if w.in.Pod == nil {
		w.pods++
		w.in.Pod = &Pod{Name: "demo-d-0", UID: fmt.Sprintf("pod-%d", w.pods), Scheduled: true, Owned: true, KubernetesNode: "k5"}
	}
	w.save()
}

// restart deletes the Pod from outside the controller.
func (w *world) restart() {
	if w.in.Pod != nil && w.phase == 0 {
		w.in.Pod.Deleting = true
		w.save()
	}
}

func (w *world) scylla() {
	p := w.in.Pod
	if p == nil || p.Deleting || !w.started || !w.empty {
		return
	}
	w.phase = min(w.phase+1, 3)
	switch w.phase {
	case 1:
		w.in = setCell(w.in, "*", hostNew, matrix.Up, matrix.StateReplacing)
		w.in = setCell(w.in, "*", hostOld, matrix.Down, matrix.StateBeingReplaced)
	case 2:
		w.in = setCell(w.in, "*", hostNew, matrix.Up, matrix.StateNormal)
		p.Joined = ptr(true)
	case 3:
		for i := range w.in.Rows {
			w.in.Rows[i].Observed = without(w.in.Rows[i].Observed, hostOld)
		}
		p.Ready = true
	}
	w.save()
}

// comeback: the old node is alive again for a moment, while its Pod is still the old one.
func (w *world) comeback(status matrix.Status) {
	if w.phase == 0 && (status == matrix.Down || w.pods == 1 && w.in.Pod != nil) {
		w.in = setCell(w.in, "demo-a-0", hostOld, status, matrix.StateNormal)
		w.save()
	}
}

func (w *world) removeLabel(key string) {
	w.in.Service.Labels = maps.Clone(w.in.Service.Labels)
	delete(w.in.Service.Labels, key)
	w.userCut = w.userCut || key == api.LabelReplace
	w.bump()
	w.save()
}

func (w *world) over() bool {
	r := ReadRecord(w.in.Service.Labels, w.in.Service.Annotations)
	return !r.Requested && !r.Open() && r.Request == ""
}
