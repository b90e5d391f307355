// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// mostReplicas is the maximum number of replicas that an annotation may request for one rack.
const mostReplicas = 1000

// scaling is a StatefulSet whose replicas must change, or cannot be decided: then Invalid is set.
type scaling struct {
	Set      *appsv1.StatefulSet
	Replicas int32
	Invalid  bool
	Message  words.Message
}

// Scale returns the changes of replicas that are due now, only for StatefulSets with annotation
// api.AnnotationWantedReplicas that our controller manages. Until a cluster is initialised, it has
// the one member that may create it. Afterwards racks are scaled up one after the other, each when
// all existing members have joined. Replicas are never lowered after a node has joined, or may have
// started to join.
func Scale(c *cluster.Cluster, stored *api.ScyllaDBStatusReportStatus) []scaling {
	var out []scaling
	var ours []handed
	for i := range c.StatefulSets {
		s := &c.StatefulSets[i]
		text, is := s.Annotations[api.AnnotationWantedReplicas]
		if !is || s.DeletionTimestamp != nil || !cluster.Managed(s) {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 0 || n > mostReplicas {
			out = append(out,
				scaling{Set: s, Invalid: true, Message: words.New(words.WantedReplicasBad, "set", s.Name, "value",
					api.Clip(text, 60), "most", mostReplicas)})
			continue
		}
		first, replicas := cluster.Ordinals(s)
		ours = append(ours, handed{s, first, replicas, int(n)})
	}
	slices.SortFunc(ours, func(a, b handed) int {
		la, lb := a.set.Labels, b.set.Labels
		return cmp.Or(strings.Compare(la[api.LabelDatacenter], lb[api.LabelDatacenter]),
			strings.Compare(la[api.LabelRack], lb[api.LabelRack]), strings.Compare(a.set.Name, b.set.Name))
	})
	switch {
	case len(ours) == 0 || c.Operator || !c.Matrix().SplitFact().IsZero():
		return out
	case stored.Initialized:
		return append(out, raise(c, ours)...)
	case joined(c):
		// a first node is still to come, or had joined before the first poll of any controller:
		// nothing is lowered
		return out
	}
	return append(out, capped(c, stored, ours)...)
}

// handed is a StatefulSet whose replicas we set.
type handed struct {
	set       *appsv1.StatefulSet
	first     int // ordinal
	is, wants int // replicas
}

// upTo returns how many replicas the StatefulSet needs for a member, 0 if it cannot have so many.
func (h *handed) upTo(member string) int {
	text, ok := strings.CutPrefix(member, h.set.Name+"-")
	ordinal, err := strconv.Atoi(text)
	if n := ordinal - h.first + 1; ok && err == nil && n > 0 && n <= max(h.wants, h.is) {
		return n
	}
	return 0
}

// raise gives the first rack with too few replicas the number that it wants, when every existing
// member has joined.
func raise(c *cluster.Cluster, ours []handed) []scaling {
	joined := map[string]bool{}
	for _, m := range c.Serviced() {
		joined[m.Ref.Member] = m.HasJoined()
	}
	for i := range c.StatefulSets {
		s := &c.StatefulSets[i]
		first, n := cluster.Ordinals(s)
		for at := range n {
			if !joined[s.Name+"-"+strconv.Itoa(first+at)] {
				return nil
			}
		}
	}
	for _, h := range ours {
		if h.is < h.wants {
			return []scaling{
				{Set: h.set, Replicas: int32(h.wants), Message: words.New(words.ReplicasAreRaised, "set", h.set.Name,
					"from", h.is, "to", h.wants)}}
		}
	}
	return nil
}

// capped leaves the one member that may create the cluster. It lowers nothing if any other may have
// started to join.
func capped(c *cluster.Cluster, stored *api.ScyllaDBStatusReportStatus, ours []handed) []scaling {
	applicants := c.JoinCandidates()
	first := ""
	if v := stored.View; v != nil && (c.Member(v.Founder) != nil ||
		slices.ContainsFunc(ours, func(h handed) bool { return h.upTo(v.Founder) > 0 })) {
		first = v.Founder
	} else if m := bootstrap.First(applicants, ""); m != nil {
		first = m.Ref.Member
	}
	for _, a := range applicants {
		if a.PastBarrier() && a.Ref.Member != first {
			return nil
		}
	}
	if first == "" {
		for _, h := range ours {
			if h.wants > 0 {
				first = h.set.Name + "-" + strconv.Itoa(h.first)
				break
			}
		}
	}
	var out []scaling
	for _, h := range ours {
		if to := h.upTo(first); to != h.is {
			out = append(out,
				scaling{Set: h.set, Replicas: int32(to), Message: words.New(words.ReplicasAreCapped, "set", h.set.Name,
					"from", h.is, "to", to, "wanted", h.wants)})
		}
	}
	return out
}
