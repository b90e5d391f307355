// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// maxSeeds is how many members' addresses a node gets as seeds. One that responds is enough.
const maxSeeds = 3

// Start is the input of the choice of seeds.
type Start struct {
	// Member wants to start. Members are all that have a Service, including Member.
	Member  *cluster.Member
	Members []*cluster.Member
	// Address is the address that Member will have. ByService is true if the addresses are cluster
	// IPs of Services, not Pod IPs.
	Address   string
	ByService bool
	// FormHolder is cluster.FormHolder: the only member that may bootstrap the cluster while it
	// exists.
	FormHolder string
	// External are the seeds that the user gave. A seed that is a member of Members is left to the
	// rule.
	External []string
	// Elsewhere are datacenters and nodes that are known to exist and have no Service here.
	Elsewhere []string
	// Restart is true if Member may restart on its own volume. Then a joined member that is not UP
	// is also a seed, as when the whole cluster starts.
	Restart bool
	// Volume is the state of the data directory as the launcher just read it. The query's answer
	// may be older: a restarted container has the answer of its Pod's first start.
	Volume Volume
}

// StartOf returns the start of a member from objects with Services, Pods and reports. The caller
// adds the address that the member will have and the seeds that the user gave.
func StartOf(c *cluster.Cluster, member string) Start {
	s := Start{Member: c.Member(member), Members: c.Serviced(), FormHolder: c.FormHolder()}
	if s.Member == nil {
		s.Member = &cluster.Member{Ref: matrix.Ref{Member: member}}
	}
	s.Restart = s.Member.EverJoined() && !s.Member.ReplaceRequested && s.Member.Replacing == ""
	members := c.Members()
	for i := range members {
		// A host ID that only gossip has is not a member, nor is a Pod that has not started yet.
		if o := &members[i]; o.Service == nil && o.Node != nil && o.Node.Joined {
			s.Elsewhere = append(s.Elsewhere, o.Name())
		}
	}
	for _, dc := range matrix.NotVerified(c.StatusReport) {
		here := slices.ContainsFunc(s.Members, func(m *cluster.Member) bool { return m.Datacenter == dc })
		if !here && !slices.Contains(s.Elsewhere, dc) {
			s.Elsewhere = append(s.Elsewhere, dc)
		}
	}
	return s
}

// SeedChoiceOf returns the choice of launch for the member on such a volume, without resolving host
// names among the given seeds, which needs its Pod. launched is false if ScyllaDB is not started by
// launch: then another program chooses. The Scylla Operator uses a similar rule.
func SeedChoiceOf(c *cluster.Cluster, member string, volume Volume) (choice SeedChoice, launched bool) {
	m := c.Member(member)
	if m == nil {
		return SeedChoice{}, false
	}
	external, launched := m.LaunchedWith()
	if !launched {
		return SeedChoice{}, false
	}
	s := StartOf(c, member)
	s.External, s.Volume, s.Address = external, volume, cmp.Or(m.SeedAddress(false), member)
	s.Restart = s.Restart && volume == VolumeUsed
	return Seeds(s), true
}

// SeedChoice is the result of Seeds.
type SeedChoice struct {
	// Code is one of the Seeds codes.
	Code words.Code `json:"code"`
	// Seeds are the seeds to start with; empty if Self must not start.
	Seeds []string `json:"seeds,omitempty"`
	// Names are the members or datacenters that Code is about.
	Names []string `json:"names,omitempty"`
}

// Usable reports whether Self may start with Seeds. Otherwise Self would be its own only seed while
// the cluster exists or another member creates it. The result would be a second cluster of the same
// name, or for a replacement a failure after its volume is deleted.
func (c SeedChoice) Usable() bool { return len(c.Seeds) > 0 }

// Message is the choice as a code with parameters.
func (c SeedChoice) Message() words.Message {
	return words.New(c.Code, "names", c.Names, "seeds", c.Seeds)
}

// First returns the only member that may create the cluster while no member has joined: formHolder
// if it is one of them, else the one with the oldest Service, then the first by name. Nil without
// members. Creation times have whole seconds, so a member that is first must check again a second
// later.
func First(members []*cluster.Member, formHolder string) *cluster.Member {
	if len(members) == 0 {
		return nil
	}
	if at := slices.IndexFunc(members, func(m *cluster.Member) bool { return m.Ref.Member == formHolder }); at >= 0 {
		return members[at]
	}
	return slices.MinFunc(members, byAge)
}

func byAge(a, b *cluster.Member) int {
	return cmp.Or(a.Created().Compare(b.Created()), strings.Compare(a.Ref.Member, b.Ref.Member))
}

// Seeds chooses the seeds of a starting node: at most three addresses of members that have joined
// and are UP, the oldest of each rack first, then the external seeds. Never itself if any other
// node has joined.
func Seeds(s Start) SeedChoice {
	self := s.Member.Ref.Member
	var up, known []*cluster.Member // up, or at least with an address
	var joined []string
	selfJoined := false
	for _, m := range slices.SortedFunc(slices.Values(s.Members), byAge) {
		switch {
		case !m.EverJoined():
			continue
		case m.Ref.Member == self:
			selfJoined = true
			continue
		}
		joined = append(joined, m.Ref.Member)
		if address := m.SeedAddress(s.ByService); address == "" || address == s.Address {
			continue
		}
		known = append(known, m)
		if m.IsUp() {
			up = append(up, m)
		}
	}
	if len(up) == 0 && s.Restart {
		up = known
	}
	forced := s.Member.Forced() // it may create its cluster again, if no other member has joined
	seeds := slices.Concat(s.spread(up), s.external())
	switch {
	case len(seeds) > 0:
		return SeedChoice{Code: words.SeedsFound, Seeds: seeds}
	case len(joined) > 0:
		return SeedChoice{Code: words.SeedsNotUp, Names: joined}
	case len(s.Elsewhere) > 0:
		return SeedChoice{Code: words.SeedsElsewhere, Names: slices.Clone(s.Elsewhere)}
	case selfJoined && s.Restart && s.Volume == VolumeUsed && s.Address != "":
		// ScyllaDB's group 0 is on its volume: it starts as a member and creates no cluster,
		// whatever its seeds are.
		return SeedChoice{Code: words.SeedsOwnVolume, Seeds: []string{s.Address}, Names: []string{self}}
	case selfJoined && !forced:
		return SeedChoice{Code: words.SeedsOnlySelfJoined, Names: []string{self}}
	case selfJoined:
		return SeedChoice{Code: words.SeedsFirstNode, Seeds: []string{s.Address}, Names: []string{self}}
	}
	first := cmp.Or(First(s.Members, s.FormHolder), s.Member).Ref.Member
	if first != self || s.Address == "" {
		return SeedChoice{Code: words.SeedsFirstNodePending, Names: []string{first}}
	}
	return SeedChoice{Code: words.SeedsFirstNode, Seeds: []string{s.Address}, Names: []string{self}}
}

// external returns the user's seeds, except Member and other members.
func (s *Start) external() []string {
	var out []string
	for _, e := range s.External {
		e = strings.TrimSpace(e)
		means := func(name, address string) bool {
			return e == address && address != "" || name != "" && (e == name || strings.HasPrefix(e, name+"."))
		}
		if e == "" || means(s.Member.Ref.Member, s.Address) || slices.Contains(out, e) ||
			slices.ContainsFunc(s.Members,
				func(m *cluster.Member) bool { return means(m.Ref.Member, m.SeedAddress(s.ByService)) }) {
			continue
		}
		out = append(out, e)
	}
	return out
}

// spread returns addresses of members, which are sorted by age: the oldest of each rack, then the
// oldest of the rest, at most maxSeeds.
func (s *Start) spread(members []*cluster.Member) []string {
	var first, rest []string
	seen := map[[2]string]bool{}
	for _, m := range members {
		rack, address := [2]string{m.Datacenter, m.Rack}, m.SeedAddress(s.ByService)
		if seen[rack] {
			rest = append(rest, address)
			continue
		}
		seen[rack] = true
		first = append(first, address)
	}
	all := append(first, rest...)
	return all[:min(len(all), maxSeeds)]
}
