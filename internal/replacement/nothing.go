// SPDX-License-Identifier: Apache-2.0

package replacement

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/code"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// nothingToReplace is the remedy where no row lists the replaced node. After a replacement that had begun, the new node may be gone as well, as when ScyllaDB took its join
// back after a power failure: then the request has to be removed by hand, and the member joins as a new node on an empty volume. The annotations go first, because a
// controller that finds the record without the label puts the label back. While a row lists a host ID without a member, it may be the new node: no commands then.
func (v *verifier) nothingToReplace() code.Message {
	in := v.in
	unowned := slices.ContainsFunc(v.m.Nodes(), func(n matrix.Node) bool {
		return n.Member == "" && !slices.ContainsFunc(in.Others, func(o Other) bool { return o.HostID == n.HostID })
	})
	if !v.resume || in.Operator || in.Pod == nil || len(in.Claims) == 0 || unowned {
		return code.New(saysReplaceNothingToReplace)
	}
	remove := func(kind string, from map[string]string, keys ...string) code.Command {
		c := []string{kind, "service", in.Self.Member}
		for _, k := range keys {
			if _, is := from[k]; is {
				c = append(c, k+"-")
			}
		}
		return code.Kubectl(in.Namespace, c...)
	}
	do := []code.Command{
		remove("annotate", in.Service.Annotations, recordKeys...),
		remove("label", in.Service.Labels, api.LabelReplace, api.LabelReplacingNodeHostID),
	}
	for i := range in.Claims {
		do = append(do, code.Kubectl(in.Namespace, "delete", "pvc", "--wait=false", in.Claims[i].Name))
	}
	return code.New(CureStartAsNew, "member", in.Self.Member).Do(append(do, code.Kubectl(in.Namespace, "delete", "pod", in.Pod.Name))...)
}
