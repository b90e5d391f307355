// SPDX-License-Identifier: Apache-2.0

package replacement

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/code"
	"github.com/kubectl-scylla/kubectl-scylla/internal/hostid"
)

// TooLate returns why a request can no longer be withdrawn; zero while it can. The point of no return is the deletion of a claim, by any client: from
// then on only the label tells the new node which node it replaces.
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

// LostRecord is the remedy where the Scylla Operator has lost the record of the node that a member's new node replaces: its claim is being deleted,
// and no label gives the reason any more. Zero where nothing is lost, or where the host ID is not known.
func LostRecord(in Input) code.Message {
	rec := ReadRecord(in.Service.Labels, in.Service.Annotations)
	id := in.Self.HostID
	joined := in.Joined != nil && *in.Joined
	if id == "" && in.LostHostID != "" {
		// The operator has created the Service again, without the record.
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

// PutBack returns the command that records the replaced node again on a member's Service.
func PutBack(namespace, member string, original hostid.ID) code.Message {
	return code.New(SaysPutLabelBack, "hostID", original).Do(
		code.Kubectl(namespace, "label", "service", member, api.LabelReplace+"=", api.LabelReplacingNodeHostID+"="+string(original)))
}
