// SPDX-License-Identifier: Apache-2.0

package replacement

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/code"
	"github.com/kubectl-scylla/kubectl-scylla/internal/hostid"
)

// TooLate says why a request can no longer be withdrawn; zero while it can. The point of no return is the deletion of a claim, by whoever deletes it: from
// then on the label is all that tells the new node whom it replaces.
func TooLate(in Input) code.Message {
	for i := range in.Claims {
		if in.Claims[i].Deleting {
			return code.New(SaysClaimIsDeleted, "claim", in.Claims[i].Name)
		}
	}
	rec := ReadRecord(in.Service.Labels, in.Service.Annotations)
	switch {
	case in.Operator && rec.Open():
		return code.New(SaysOperatorHasDeleted, "member", in.Self.Member)
	case !in.Operator && !Cancelable(in):
		return code.New(SaysVolumeDeleted, "member", in.Self.Member)
	}
	return code.Message{}
}

// LostRecord is how the record of whom a member's new node replaces is put back, where the Scylla Operator has lost it: its claim is being deleted, and no label
// says any more why. Zero where nothing is lost, or nothing is known that could be put back.
func LostRecord(in Input) code.Message {
	rec := ReadRecord(in.Service.Labels, in.Service.Annotations)
	id := in.Self.HostID
	joined := in.Joined != nil && *in.Joined
	if id == "" && in.LostHostID != "" {
		// The operator has made the Service anew, and it says nothing.
		id, joined = in.LostHostID, true
	}
	_, leaves := in.Service.Labels[api.LabelDecommissioned]
	switch {
	case !in.Operator || rec.Requested || rec.HasOriginal || id == "" || leaves || !joined:
		return code.Message{}
	case !slices.ContainsFunc(in.Claims, func(c Claim) bool { return c.Deleting }):
		return code.Message{}
	case in.StatefulSet == nil || in.StatefulSet.Deleting || in.Self.Ordinal == nil || *in.Self.Ordinal >= in.StatefulSet.First+in.StatefulSet.Replicas:
		return code.Message{} // it is scaled away, and its claim with it
	}
	return PutBack(in.Namespace, in.Self.Member, id)
}

// PutBack is the command that records again whom a member's new node replaces.
func PutBack(namespace, member string, original hostid.ID) code.Message {
	return code.New(SaysPutLabelBack, "hostID", original).Do(
		code.Kubectl(namespace, "label", "service", member, api.LabelReplace+"=", api.LabelReplacingNodeHostID+"="+string(original)))
}
