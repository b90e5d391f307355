// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// nothingToReplace is the remedy if no row lists the replaced node. After a replacement had begun,
// the new node may be gone as well, as when ScyllaDB rolled its join back after a power failure. A
// person then removes the request, and the member joins as a new node on an empty volume.
//
// The first command changes nothing, and fails if the PVC is another one by then. The next removes
// the annotations before the labels: a controller that finds the record without the label
// restores the label. kubectl ignores an annotation that does not exist. While a row lists a host
// ID without a member, which may be the new node, there are only the commands of unrecorded. For
// several PVCs there are none. The commands require a fresh row of every other member, and of a
// majority: the PVC may have a member's data, and one row that is out of date is no evidence.
func (v *verifier) nothingToReplace() words.Message {
	in := v.in
	if cure := unrecorded(in, v.target); v.resume && !cure.IsZero() {
		return cure
	}
	unowned := false
	for i, n := range v.m.Nodes() {
		unowned = unowned || v.m.Appears(i) && n.Member == "" &&
			!slices.ContainsFunc(in.Others, func(o *cluster.Member) bool { return o.RecordedID() == n.HostID })
	}
	gap := v.checkRows().result != OK || 2*v.of(v.target).Total() <= len(v.expected())+len(v.ignored)
	gap = gap || v.m.Hides(in.Self.Ref)
	if !v.resume || in.Operator || in.Self.Pod == nil || len(in.Claims) != 1 || unowned || gap {
		return words.New(words.ReplaceNothingToReplace)
	}
	claim := in.Claims[0]
	return words.New(words.CureStartAsNew, "member", in.Self.Member).Do(
		words.Kubectl(in.Namespace, "patch", "pvc", claim.Name, "--patch="+evidence.SameUID(string(claim.UID))),
		words.Kubectl(in.Namespace, "annotate", "service", in.Self.Member,
			api.AnnotationReplaceRequest+"-", api.AnnotationReplaceResume+"-", api.AnnotationReplaceIgnoreDead+"-",
			api.AnnotationReplaceSkipChecks+"-",
			api.AnnotationReplaceAccepted+"-", api.AnnotationReplacePVCUIDs+"-", api.AnnotationReplacePodUID+"-",
			api.AnnotationReplaceStartedAt+"-",
			api.AnnotationReplaceAttempt+"-", api.AnnotationReplaceOriginalHostID+"-", api.AnnotationReplaceAddress+"-",
			api.AnnotationReplaceRefused+"-"),
		words.Kubectl(in.Namespace, "label", "service", in.Self.Member, api.LabelReplace+"-",
			api.LabelReplacingNodeHostID+"-"),
		words.Kubectl(in.Namespace, "delete", "pvc", "--wait=false", claim.Name),
		words.Kubectl(in.Namespace, "delete", "pod", in.Self.Pod.Name),
	)
}
