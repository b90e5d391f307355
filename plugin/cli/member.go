// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// MemberForms is the help text about the forms of a member.
const MemberForms = `MEMBER: a Pod or member Service (or pod/NAME), RACK/ORDINAL, IP address, host ID or its prefix.`

// Member finds a member by any form that cluster.Resolve accepts, and loads its cluster. Unknown
// and ambiguous names are refused with the candidates.
func (r *Reader) Member(ctx context.Context, typed string) (*cluster.Cluster, cluster.Member, error) {
	clusters, err := r.around(ctx, typed)
	if err != nil {
		return nil, cluster.Member{}, err
	}
	s, m, err := cluster.Resolve(clusters, typed)
	if err != nil {
		return nil, cluster.Member{}, exit.Refused(err)
	}
	return s, m, nil
}

// Named is Member for a command that needs a member's Kubernetes objects: a host ID without member
// is refused.
func (r *Reader) Named(ctx context.Context, typed string) (*cluster.Cluster, cluster.Member, error) {
	s, m, err := r.Member(ctx, typed)
	if err == nil && m.Member == "" {
		err = exit.WithHint(exit.Refusedf("no member has host ID %s", m.HostID), "show which nodes list it",
			words.Scylla(s.Namespace, "status")...)
	}
	return s, m, err
}

// around loads the clusters that may have the member: only its own cluster if typed is its name.
func (r *Reader) around(ctx context.Context, typed string) ([]*cluster.Cluster, error) {
	if name := cluster.MemberName(typed); r.c != nil && name != "" && !strings.Contains(name, "/") {
		ns, err := r.namespace()
		if err != nil {
			return nil, err
		}
		if of := r.clusterOf(ctx, ns, name); of != "" {
			s, err := r.load(ctx, cluster.Key{Namespace: ns, Name: of})
			return []*cluster.Cluster{s}, err
		}
	}
	// The Service does not exist or is not readable: typed is another form, or another source has
	// it.
	return r.All(ctx)
}

// clusterOf reads the cluster's name from the labels of the member's Service or Pod; empty if both
// lack it.
func (r *Reader) clusterOf(ctx context.Context, ns, member string) string {
	if ns == "" {
		return "" // several namespaces may have that name
	}
	for _, obj := range []client.Object{&corev1.Service{}, &corev1.Pod{}} {
		if err := r.c.Get(ctx, client.ObjectKey{Namespace: ns, Name: member}, obj); err == nil &&
			api.ClusterOf(obj.GetLabels()) != "" {
			return api.ClusterOf(obj.GetLabels())
		}
	}
	return ""
}

// CompleteMembers completes the names of members in the namespace, with a description. If no name
// begins with the word, it completes the other forms.
func (d *Deps) CompleteMembers(cmd *cobra.Command, args []string, toComplete string) ([]string,
	cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return d.complete(cmd, toComplete,
		func(s *cluster.Cluster, _ cluster.Key) []string { return memberWords(s, toComplete) }, true)
}

// CompleteMemberList is CompleteMembers for a comma-separated flag.
func (d *Deps) CompleteMemberList(cmd *cobra.Command, _ []string, toComplete string) ([]string,
	cobra.ShellCompDirective) {
	before, last := "", toComplete
	if i := strings.LastIndexByte(toComplete, ','); i >= 0 {
		before, last = toComplete[:i+1], toComplete[i+1:]
	}
	return d.complete(cmd, toComplete, func(s *cluster.Cluster, _ cluster.Key) []string {
		words := memberWords(s, last)
		for i := range words {
			words[i] = before + words[i]
		}
		return words
	}, true)
}

func memberWords(s *cluster.Cluster, begun string) []string {
	var names, others []string
	for _, m := range s.Members() {
		if m.Member == "" || m.Service == nil && m.Pod == nil {
			continue
		}
		what := fmt.Sprintf("\t%s, Pod %s", m.State, m.PodState)
		names = append(names, m.Member+what)
		others = append(others, "pod/"+m.Member+what)
		for _, form := range append(m.PlaceNames(), string(m.HostID)) {
			if form != "" {
				others = append(others, form+"\t"+m.Member)
			}
		}
		for _, ip := range m.Addresses() {
			others = append(others, ip.String()+"\t"+m.Member)
		}
	}
	if begun == "" || slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, begun) }) {
		return names
	}
	return others
}

// isAmbiguous reports whether several members have the name.
func isAmbiguous(err error) bool {
	_, ok := errors.AsType[*cluster.AmbiguousError](err)
	return ok
}
