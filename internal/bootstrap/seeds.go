// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// maxSeeds is how many members' addresses a node gets as seeds. One that answers is enough.
const maxSeeds = 3

// SeedMember is a member of the cluster as the choice of seeds needs it, made from its Service, its Pod and the rows.
type SeedMember struct {
	// Name of the member Service.
	Name, Datacenter, Rack string
	// Address that other nodes connect to; empty when it is not known, as before the Pod has one.
	Address string
	// Created is when the member Service was created.
	Created time.Time
	// Joined is true when its Service or a row has the member's node as joined.
	Joined bool
	// Up is true when at least one row has it UP, and none has it otherwise.
	Up bool
}

// SeedInput is everything that the choice of seeds depends on.
type SeedInput struct {
	// Members are all members that have a Service, Self's among them.
	Members []SeedMember
	// Self is the member that wants to start, SelfAddress the address that it will have.
	Self, SelfAddress string
	// External are the seeds that the user gave. A seed that is a member of Members is left to the rule.
	External []string
	// Elsewhere are datacenters and nodes that are known to exist and have no Service here.
	Elsewhere []string
	// Restart is true when Self may restart on a volume of its own: then a joined member that is not UP is a seed too, as when the whole cluster starts.
	Restart bool
	// Volume is the state of the data directory as the launcher just read it. The query's answer is older: a container that is restarted in its Pod finds the answer of the Pod's
	// first start.
	Volume Volume
	// Forced is true when a person forced Self's start; such a member may create its cluster anew, where no other has joined.
	Forced bool
}

// SeedChoice is the answer.
type SeedChoice struct {
	// Code is one of the Seeds codes.
	Code words.Code `json:"code"`
	// Seeds are the seeds to start with; empty when Self must not start.
	Seeds []string `json:"seeds,omitempty"`
	// Names are the members or datacenters that Code is about.
	Names []string `json:"names,omitempty"`
}

// Usable is true when Self may start with Seeds. Otherwise Self would be its own only seed while the cluster exists, or is created by another member: a second cluster of the same
// name, or for a replacement a failure after its volume is deleted.
func (c SeedChoice) Usable() bool { return len(c.Seeds) > 0 }

// Message is the choice as a code with parameters.
func (c SeedChoice) Message() words.Message {
	return words.New(c.Code, "names", c.Names, "seeds", c.Seeds)
}

// First returns the one member that may create the cluster while none has joined: the one whose Service is the oldest, of several the first by name. False without members.
// Creation times have whole seconds: a member that finds itself first has to check again a second later.
func First(members []SeedMember) (SeedMember, bool) {
	if len(members) == 0 {
		return SeedMember{}, false
	}
	return slices.MinFunc(members, byAge), true
}

func byAge(a, b SeedMember) int {
	return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Name, b.Name))
}

// Seeds chooses the seeds of a starting node: addresses of members that have joined and are UP, the oldest of each rack first, at most three; after them the external ones. Never
// itself once any other node has joined.
func Seeds(in SeedInput) SeedChoice {
	members := slices.SortedFunc(slices.Values(in.Members), byAge)
	external := in.external()
	var up, known []SeedMember // up, or at least with an address
	var joined []string
	selfJoined := false
	for _, m := range members {
		switch {
		case !m.Joined:
			continue
		case m.Name == in.Self:
			selfJoined = true
			continue
		}
		joined = append(joined, m.Name)
		if m.Address == "" || m.Address == in.SelfAddress {
			continue
		}
		known = append(known, m)
		if m.Up {
			up = append(up, m)
		}
	}
	if len(up) == 0 && in.Restart {
		up = known
	}
	seeds := slices.Concat(spread(up), external)
	switch {
	case len(seeds) > 0:
		return SeedChoice{Code: words.SeedsFound, Seeds: seeds}
	case len(joined) > 0:
		return SeedChoice{Code: words.SeedsNotUp, Names: joined}
	case len(in.Elsewhere) > 0:
		return SeedChoice{Code: words.SeedsElsewhere, Names: slices.Clone(in.Elsewhere)}
	case selfJoined && in.Restart && in.Volume == VolumeUsed && in.SelfAddress != "":
		// ScyllaDB's group 0 is on its volume: it starts as a member and creates no cluster, whatever its seeds are.
		return SeedChoice{Code: words.SeedsOwnVolume, Seeds: []string{in.SelfAddress}, Names: []string{in.Self}}
	case selfJoined && !in.Forced:
		return SeedChoice{Code: words.SeedsOnlySelfJoined, Names: []string{in.Self}}
	case selfJoined:
		return SeedChoice{Code: words.SeedsFirstNode, Seeds: []string{in.SelfAddress}, Names: []string{in.Self}}
	}
	first, ok := First(members)
	if ok && first.Name != in.Self || in.SelfAddress == "" {
		return SeedChoice{Code: words.SeedsFirstNodePending, Names: []string{cmp.Or(first.Name, in.Self)}}
	}
	return SeedChoice{Code: words.SeedsFirstNode, Seeds: []string{in.SelfAddress}, Names: []string{in.Self}}
}

// external returns the user's seeds without Self and without those that are members.
func (in *SeedInput) external() []string {
	var out []string
	for _, s := range in.External {
		s = strings.TrimSpace(s)
		means := func(name, address string) bool {
			return s == address && address != "" || name != "" && (s == name || strings.HasPrefix(s, name+"."))
		}
		if s == "" || means(in.Self, in.SelfAddress) || slices.Contains(out, s) ||
			slices.ContainsFunc(in.Members, func(m SeedMember) bool { return means(m.Name, m.Address) }) {
			continue
		}
		out = append(out, s)
	}
	return out
}

// spread returns addresses of members, which are sorted by age: the oldest of each rack, then the oldest of the rest, at most maxSeeds.
func spread(members []SeedMember) []string {
	var first, rest []string
	seen := map[[2]string]bool{}
	for _, m := range members {
		rack := [2]string{m.Datacenter, m.Rack}
		if seen[rack] {
			rest = append(rest, m.Address)
			continue
		}
		seen[rack] = true
		first = append(first, m.Address)
	}
	all := append(first, rest...)
	return all[:min(len(all), maxSeeds)]
}
