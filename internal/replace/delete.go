// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// begunElsewhere continues a replacement whose original host ID another controller recorded. The
// Scylla Operator deletes the PVC before it writes the label, so nothing is deleted here.
func (m *machine) begunElsewhere() Step {
	if !m.rec.OriginalError.IsZero() {
		return m.refuse(verify(m.in, m.rec, "", false))
	}
	return m.afterDeletion()
}

// accepted continues an attempt that our controller has recorded.
func (m *machine) accepted() Step {
	rec := m.rec
	if !rec.OriginalError.IsZero() {
		return m.refuse(verify(m.in, rec, "", false))
	}
	if !rec.PVCsRecorded {
		// An accepted request without the list of PVCs is a damaged record. Only the deletion
		// requires the list.
		return m.afterDeletion()
	}
	for _, uid := range rec.PVCUIDs {
		c := m.claim(uid)
		if c == nil || goes(c) {
			continue
		}
		switch {
		case m.replacedInPlace():
			return m.join()
		case m.podAnew():
			return m.recordPod()
		}
		return m.deletePVC(c)
	}
	return m.afterDeletion()
}

// replacedInPlace reports whether the new node has joined on a PVC that was to be deleted first.
// The PVC was empty, its Pod was recreated between the record and the deletion, and the barrier let
// that Pod start as the replacement. Nothing is left to delete.
func (m *machine) replacedInPlace() bool {
	in := m.in
	id := newcomerID(in, m.original)
	if in.Self.Deleting() || !in.Self.Owned() || id == "" || m.original == "" {
		return false
	}
	v := newOpinions(in, m.original, id, m.rec.IgnoreDead)
	return len(v.notJoined(id)) == 0 && v.of(m.original).Listing() == 0
}

// podAnew reports whether the present Pod differs from the recorded one and must be evicted.
func (m *machine) podAnew() bool {
	p := m.in.Self.Pod
	return p != nil && p.UID != "" && string(p.UID) != m.rec.PodUID && m.in.Self.Owned() && !m.in.Self.Deleting()
}

// recordPod records the present Pod as the Pod to evict, so that its barrier blocks it.
func (m *machine) recordPod() Step {
	p := m.in.Self.Pod
	return Step{
		Action: ActionRecord, Message: words.New(words.ReplacePodAnew, "pod", p.Name),
		Patch: &Patch{SetAnnotations: map[string]string{api.AnnotationReplacePodUID: string(p.UID)}},
	}
}

// deletePVC runs the checks again before it deletes. Once one of several PVCs is deleted, only a
// live old node stops the deletion of the others.
func (m *machine) deletePVC(claim *corev1.PersistentVolumeClaim) Step {
	v := verify(m.in, m.rec, m.original, m.rec.Attempt > 1)
	if m.rec.touched(m.claim) {
		v.checks = slices.DeleteFunc(v.checks,
			func(c Check) bool { return c.Name != CheckDown && c.Name != CheckNotAlive })
	}
	if v.blocked() {
		return m.refuse(v)
	}
	uid := string(claim.UID)
	return m.backOff(Step{
		Action: ActionDeletePVC, Claim: claim, Checks: v.checks, Address: v.address,
		Message: words.New(words.ClaimDeletes, "claim", claim.Name, "uid", uid),
		Events: []Event{
			{Reason: EventPVCDeleted, Note: words.New(words.ClaimDeleted, "claim", claim.Name, "uid", uid, "hostID",
				m.original, "request", m.request())}},
	}, words.New(words.ClaimCannotBeDeleted, "claim", claim.Name))
}

// oldPod reports whether the present Pod is the recorded one, or runs on a recorded PVC.
func (m *machine) oldPod() bool {
	p := m.in.Self.Pod
	if p == nil {
		return false
	}
	if string(p.UID) == m.rec.PodUID {
		return true
	}
	// A Pod without a Kubernetes node has never run; it will get the new PVC.
	return m.in.Self.Scheduled() &&
		slices.ContainsFunc(m.rec.PVCUIDs, func(uid string) bool { return m.claim(uid) != nil })
}

func (m *machine) afterDeletion() Step {
	in := m.in
	if m.oldPod() {
		return m.evict()
	}
	p := in.Self.Pod
	switch {
	case p == nil:
		s := Step{Action: ActionWaitNewPod, Cure: in.Order,
			Message: words.New(words.WaitNewPod, "pod", in.Self.Member)}
		for _, c := range in.Claims {
			if goes(c) {
				s.Waiting = append(s.Waiting, words.New(words.ClaimGoing, "claim", c.Name))
			}
		}
		if c := checkStatefulSet(in); c.result != OK {
			s.Waiting, s.Cure = append(s.Waiting, c.evidence), c.cure
		}
		return s
	case !in.Self.Owned():
		return foreignPod(p)
	case in.Self.Deleting():
		return m.waitPodGone()
	}
	return m.join()
}

func (m *machine) waitPodGone() Step {
	p := m.in.Self.Pod
	s := Step{Action: ActionWaitPodGone, Message: words.New(words.WaitPodGone, "pod", p.Name)}
	if why, cure := m.in.cannotEnd(); !why.IsZero() {
		s.Waiting, s.Cure = []words.Message{why}, cure
	}
	return s
}

// overdue is the time after its deletion deadline from which a terminating Pod's Kubernetes node
// counts as not responding. The node controller marks only Pods whose containers were Ready before.
const overdue = time.Minute

// cannotEnd returns why the old Pod cannot terminate, and the remedy; else zero. The remedy deletes
// nothing: a Kubernetes node that is not responding may still run the Pod.
func (in *Input) cannotEnd() (why, cure words.Message) {
	p, node := in.Self.Pod, in.Self.KubernetesNode()
	if !in.Self.Deleting() || node.Name == "" {
		return words.Message{}, words.Message{}
	}
	gone := node.State == cluster.KubernetesNodeGone
	switch lost := in.Self.KubernetesNodeLost() && !node.Ready(); {
	case lost && !gone:
		why = words.New(words.PodCannotEnd, "pod", p.Name, "node", node.Name)
		return why, words.New(words.MendKubernetesNode, "kubernetesNode", node.Name).Do(
			words.Kubectl("", "describe", "node", node.Name))
	case lost:
		why = words.New(words.PodNodeGone, "pod", p.Name, "node", node.Name)
	case in.Now.Sub(p.DeletionTimestamp.Time) > overdue:
		why = words.New(words.PodOverdue, "pod", p.Name, "node", node.Name, "by",
			clock(p.DeletionTimestamp.Time, in.Now))
	default:
		return words.Message{}, words.Message{}
	}
	return why, words.New(words.SeeWhyPodStays).Do(words.Kubectl(in.Namespace, "describe", "pod", p.Name),
		words.Kubectl("", "get", "node", node.Name))
}

// evict evicts the old Pod, unless it is running again. The deletion of its PVC cannot be undone,
// but the data exists as long as the Pod runs.
func (m *machine) evict() Step {
	in, p := m.in, m.in.Self.Pod
	if in.Self.Deleting() {
		return m.waitPodGone()
	}
	if !in.Self.Owned() {
		return foreignPod(p)
	}
	v := newOpinions(in, m.original, "", m.rec.IgnoreDead)
	var alive []Check
	if c := v.checkDown(); m.original != "" && c.result == Failed {
		alive = append(alive, Check{Name: CheckDown, Result: c.result, Evidence: c.evidence, Cure: c.cure})
	}
	if c := v.checkNotAlive(); c.result == Failed {
		alive = append(alive, Check{Name: CheckNotAlive, Result: c.result, Evidence: c.evidence, Cure: c.cure})
	}
	if len(alive) > 0 {
		msg := words.New(words.OldNodeCameBack, "pod", p.Name, "evidence", alive[0].Evidence)
		// A PVC that was not read may exist: then nothing deletes the data.
		cure := words.New(words.OldNodeCameBackLook)
		volume, going := goingVolume(in)
		switch {
		case volume != "":
			cure = words.New(words.OldNodeCameBackKeep, "volume", volume)
		case going:
			cure = words.New(words.OldNodeCameBackCure)
		}
		cure = evidence.Do(cure, evidence.Facts{"namespace": in.Namespace, "claim": in.Self.PVCName, "pod": p.Name,
			"container": in.Containers.Container(p.Name), "volume": volume})
		return Step{
			Action: ActionHoldEviction, Message: msg, Checks: alive, Cure: cure,
			Events: []Event{{Warning: true, Reason: EventRefused, Note: msg}},
		}
	}
	uid := string(p.UID)
	return m.backOff(Step{
		Action: ActionEvictPod, PodUID: uid, Message: words.New(words.PodEvicts, "pod", p.Name, "uid", uid),
		Events: []Event{
			{Reason: EventPodEvicted, Note: words.New(words.PodEvicted, "pod", p.Name, "uid", uid, "hostID", m.original,
				"request", m.request())}},
	}, words.New(words.PodCannotBeEvicted, "pod", p.Name))
}

// goingVolume returns the volume of a PVC that is being deleted, empty if no such PVC has one, and
// reports whether a PVC is being deleted.
func goingVolume(in *Input) (volume string, going bool) {
	for _, c := range in.Claims {
		if goes(c) {
			volume, going = cmp.Or(volume, c.Spec.VolumeName), true
		}
	}
	return volume, going
}

func foreignPod(p *corev1.Pod) Step {
	return Step{Action: ActionWaitNewPod, Message: words.New(words.PodForeign, "pod", p.Name),
		Cure: words.New(words.PodOfAnotherDelete)}
}
