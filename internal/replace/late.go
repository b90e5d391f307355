// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// TooLate returns why a request can no longer be withdrawn; zero if it can. The deletion of a PVC,
// by any client, is the point of no return: only the label then tells the new node what it
// replaces.
func TooLate(in Input) words.Message {
	if i := slices.IndexFunc(in.Claims, goes); i >= 0 {
		return words.New(words.ClaimIsDeleted, "claim", in.Claims[i].Name)
	}
	rec := RecordOf(in.Self)
	switch {
	case in.Operator && rec.Open():
		return words.New(words.OperatorHasDeleted, "member", in.Self.Member)
	case !in.Operator && !cancelable(in):
		return words.New(words.VolumeDeleted, "member", in.Self.Member)
	}
	return words.Message{}
}

// LostRecord is the remedy if the Scylla Operator has lost the record of a replaced node: its PVC
// is being deleted, and no label gives the reason. Zero if nothing is lost, or the host ID is
// unknown.
func LostRecord(in Input) words.Message {
	rec := RecordOf(in.Self)
	id := in.Self.RecordedID()
	joined := in.Self.HasJoined()
	if id == "" && in.LostHostID != "" {
		// The operator has recreated the Service without the record.
		id, joined = in.LostHostID, true
	}
	_, leaves := in.Self.Service.Labels[api.LabelDecommissioned]
	switch {
	case !in.Operator || rec.Requested || rec.HasOriginal || id == "" || leaves || !joined:
		return words.Message{}
	case !slices.ContainsFunc(in.Claims, goes):
		return words.Message{}
	case in.Self.StatefulSet == nil || in.Self.StatefulSet.DeletionTimestamp != nil || in.Self.Ordinal == nil:
		return words.Message{}
	}
	if first, n := cluster.Ordinals(in.Self.StatefulSet); int(*in.Self.Ordinal) >= first+n {
		return words.Message{} // it is scaled down, and its PVC is deleted with it
	}
	return PutBack(in, id)
}

// PutBack returns the command that continues a replacement by the Scylla Operator. While the old
// Pod exists, it only sets the request. If the host ID is recorded, the operator no longer evicts
// the Pod, and waits indefinitely for another host ID (its sync_services.go,
// finishOngoingReplaceNodeUsingHostID). The eviction deletes the data: the step for a node that is
// alive saves them, and shows how to look unless the node is known to be dead.
func PutBack(in Input, original hostid.ID) words.Message {
	if in.Self.Pod != nil && !in.Self.Deleting() {
		if alive(&in, original) {
			return saveData(&in)
		}
		if !mayEvict(&in, original) {
			return seeOldPod(&in)
		}
		return words.New(words.PutRequestBack).Do(words.Kubectl(in.Namespace, "label", "service", in.Self.Member,
			api.LabelReplace+"="))
	}
	return words.New(words.PutLabelBack, "hostID", original).Do(
		words.Kubectl(in.Namespace, "label", "service", in.Self.Member, api.LabelReplace+"=",
			api.LabelReplacingNodeHostID+"="+string(original)))
}

// mayEvict reports whether the old Pod may be evicted, which deletes its data: for the time dead a
// majority has had the node DOWN, and nothing shows it alive or starting.
func mayEvict(in *Input, original hostid.ID) bool {
	v := &verifier{rowEvidence: newOpinions(in, original, "", nil)}
	return v.checkDown().result == OK && v.checkNotAlive().result == OK && v.checkDownFor().result == OK &&
		!v.containerYoung()
}

// alive reports whether the node is UP in a row, or its Pod is Ready.
func alive(in *Input, original hostid.ID) bool {
	v := newOpinions(in, original, "", nil)
	i, known := v.all.Index(original)
	return len(v.of(original).Up) > 0 || known && v.all.Nodes()[i].SeenUp > 0 || v.checkNotAlive().result == Failed
}

func seeOldPod(in *Input) words.Message {
	return words.New(words.OperatorSeeOldPod).Do(words.Scylla(in.Namespace, "describe", in.Self.Member))
}

// saveData is the step for a node that runs while its PVC is being deleted.
func saveData(in *Input) words.Message {
	f := evidence.Facts{"namespace": in.Namespace, "pod": in.Self.Member,
		"container": in.Containers.Container(in.Self.Member)}
	volume, _ := goingVolume(in)
	if volume == "" {
		return evidence.Do(words.New(words.SaveData, "pod", in.Self.Member), f)
	}
	f["volume"] = volume
	return evidence.Do(words.New(words.SaveVolumeAndData, "pod", in.Self.Member, "volume", volume), f)
}

// oldPodStays reports whether the Pod of the replaced node still exists. Its row has that host ID,
// or it has a Kubernetes node while its PVC is being deleted, on which no new Pod is scheduled. A
// new node requires a new Pod.
func oldPodStays(in Input, original hostid.ID) bool {
	return in.Self.Pod != nil && !in.Self.Deleting() &&
		(original != "" && in.Self.Says().HostID == original ||
			in.Self.Scheduled() && slices.ContainsFunc(in.Claims, goes))
}
