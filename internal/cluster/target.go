// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// ResolveTarget is Resolve in one cluster.
func (c *Cluster) ResolveTarget(text string) (Member, error) {
	_, m, err := Resolve([]*Cluster{c}, text)
	return m, err
}

// Resolve finds the member by typed text:
//   - the name of its Pod or member Service (also as pod/NAME or svc/NAME)
//   - rack/ordinal or datacenter/rack/ordinal
//   - a host ID or its unique prefix of at least 4 characters, also of a node that it replaces
//   - an IP address of its Pod or Service
//
// Errors: *NotFoundError with the nearest names, *AmbiguousError with the candidates.
func Resolve(clusters []*Cluster, text string) (*Cluster, Member, error) {
	typed := strings.TrimSpace(text)
	want := MemberName(typed)
	type hit struct {
		in *Cluster
		m  Member
	}
	var hits []hit
	for _, match := range matchers(want) {
		for _, c := range clusters {
			members := c.Members()
			var found []hit
			for i := range members {
				if match(&members[i]) {
					found = append(found, hit{c, members[i]})
				}
			}
			if len(found) > 1 {
				// A node that is being replaced, or was banned before it joined, also has the
				// member's name; the name selects the node with the Service.
				if own := slices.DeleteFunc(slices.Clone(found), func(h hit) bool { return h.m.Service == nil }); len(
					own) == 1 {
					found = own
				}
			}
			hits = append(hits, found...)
		}
		if len(hits) > 0 {
			break
		}
	}
	switch len(hits) {
	case 1:
		return hits[0].in, hits[0].m, nil
	case 0:
		return nil, Member{}, notResolved(clusters, typed, want)
	}
	e := &AmbiguousError{What: "member", Name: typed, In: inClusters(clusters)}
	for i := range hits {
		name := cmp.Or(hits[i].m.Ref.Member, string(hits[i].m.HostID))
		if len(clusters) > 1 {
			name += " of " + hits[i].in.Key.String()
		}
		e.Candidates = append(e.Candidates, name+describeHost(&hits[i].m))
	}
	slices.Sort(e.Candidates)
	return nil, Member{}, e
}

// MemberName returns the name in a typed text, without a leading kind and without the dots at the
// end of a shortened host ID.
func MemberName(typed string) string {
	want := strings.TrimSpace(typed)
	for _, prefix := range []string{"pod/", "pods/", "svc/", "service/", "services/"} {
		want = strings.TrimPrefix(want, prefix)
	}
	return strings.TrimSuffix(strings.TrimSuffix(want, "…"), "...")
}

// matchers returns the matchers for a typed text, the most specific first: the first that matches
// any member decides.
func matchers(want string) []func(*Member) bool {
	ip, err := netip.ParseAddr(want)
	isIP := err == nil
	exact := hostid.Known(want)
	return []func(*Member) bool{
		func(m *Member) bool { return m.Ref.Member != "" && m.Ref.Member == want },
		func(m *Member) bool {
			return slices.ContainsFunc(hostIDs(m), func(id hostid.ID) bool { return exact != "" && id == exact })
		},
		func(m *Member) bool { return slices.Contains(placeNames(m.Ref), want) },
		func(m *Member) bool { return isIP && slices.Contains(m.Addresses(), ip.Unmap()) },
		func(m *Member) bool {
			return len(want) >= minPrefix && slices.ContainsFunc(hostIDs(m), func(id hostid.ID) bool {
				return id.Begins(want)
			})
		},
	}
}

// hostIDs returns the host IDs of a member: its own, and the host IDs of the node that it replaces.
func hostIDs(m *Member) []hostid.ID {
	var ids []hostid.ID
	if m.HostID != "" {
		ids = append(ids, m.HostID)
	}
	if m.Replacing != "" {
		ids = append(ids, m.Replacing)
	}
	if m.Service != nil {
		// The original host ID was recorded before anything was deleted, and is kept longer than
		// the label.
		if original := hostid.Known(m.Service.Annotations[api.AnnotationReplaceOriginalHostID]); original != "" &&
			original != m.Replacing {
			ids = append(ids, original)
		}
	}
	return ids
}

// Addresses returns the addresses of a member: of its Pod first, then of its Service.
func (m *Member) Addresses() []netip.Addr {
	var texts []string
	if m.Pod != nil {
		texts = append(texts, m.Pod.Status.PodIP)
		for _, ip := range m.Pod.Status.PodIPs {
			texts = append(texts, ip.IP)
		}
	}
	if m.Service != nil {
		texts = append(append(texts, m.Service.Spec.ClusterIP), m.Service.Spec.ClusterIPs...)
	}
	var out []netip.Addr
	for _, text := range texts {
		if ip, err := netip.ParseAddr(text); err == nil && !slices.Contains(out, ip.Unmap()) {
			out = append(out, ip.Unmap())
		}
	}
	return out
}

func notResolved(clusters []*Cluster, typed, want string) error {
	e := &NotFoundError{
		What: "member", Name: typed, In: inClusters(clusters),
		Cure: "specify a Pod, rack/ordinal, an IP address, a host ID or its prefix",
	}
	var names []string
	for _, c := range clusters {
		e.Known += len(c.Members())
		names = append(names, targetNames(c.Members())...)
	}
	if want != "" {
		e.Nearest = Nearest(want, names)
	}
	return e
}

func inClusters(clusters []*Cluster) string {
	names := make([]string, len(clusters))
	for i, c := range clusters {
		names[i] = c.Key.String()
	}
	if len(names) == 1 {
		return "cluster " + names[0]
	}
	more := ""
	if len(names) > 3 {
		names, more = names[:3], " and "+strconv.Itoa(len(names)-3)+" more"
	}
	return "clusters " + strings.Join(names, ", ") + more
}

// minPrefix is the minimum length of a host ID's prefix: fewer characters are more likely a typing
// error. Commands that delete require more.
const minPrefix = 4

func describeHost(m *Member) string {
	if m.Ref.Member == "" || m.HostID == "" {
		return ""
	}
	return " (" + string(m.HostID) + ")"
}

// PlaceNames returns rack/ordinal in the forms that Resolve accepts, the short one first; none if
// the place is unknown.
func (m *Member) PlaceNames() []string { return placeNames(m.Ref) }

func placeNames(r matrix.Ref) []string {
	if r.Ordinal == nil || r.Rack == "" {
		return nil
	}
	short := fmt.Sprintf("%s/%d", r.Rack, *r.Ordinal)
	return []string{short, fmt.Sprintf("%s-%d", r.Rack, *r.Ordinal), r.Datacenter + "/" + short}
}

func targetNames(members []Member) []string {
	var names []string
	for i := range members {
		m := &members[i]
		if m.Ref.Member != "" {
			names = append(names, m.Ref.Member)
		}
		if p := placeNames(m.Ref); p != nil {
			names = append(names, p[0])
		}
		if m.HostID != "" {
			names = append(names, string(m.HostID))
		}
	}
	return names
}
