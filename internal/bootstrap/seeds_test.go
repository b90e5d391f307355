// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

var seedEpoch = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// seedMember is "NAME RACK AGE-IN-MINUTES", address 10.0.0.N after the name's digits; flags: j joined, u UP, a without address.
func seedMember(name, rack string, minutes int, flags string) SeedMember {
	m := SeedMember{Name: name, Datacenter: "dc1", Rack: rack, Address: "ip-" + name, Created: seedEpoch.Add(-time.Duration(minutes) * time.Minute)}
	for _, f := range flags {
		switch f {
		case 'j':
			m.Joined = true
		case 'u':
			m.Up = true
		case 'a':
			m.Address = ""
		}
	}
	return m
}

func TestA1Seeds(t *testing.T) {
	type ms = []SeedMember
	sm := seedMember
	for name, tc := range map[string]struct {
		in   SeedInput
		want SeedChoice
	}{
		"the first of all has itself": {SeedInput{Members: ms{sm("a", "r1", 3, ""), sm("b", "r2", 2, "")}, Self: "a"},
			SeedChoice{words.SeedsFirstNode, []string{"ip-a"}, []string{"a"}}},
		"the first by name of one second": {SeedInput{Members: ms{sm("b", "r2", 2, ""), sm("a", "r1", 2, "")}, Self: "a"},
			SeedChoice{words.SeedsFirstNode, []string{"ip-a"}, []string{"a"}}},
		"the others wait for it": {SeedInput{Members: ms{sm("b", "r1", 2, ""), sm("a", "r2", 3, "")}, Self: "b"},
			SeedChoice{words.SeedsFirstNodePending, nil, []string{"a"}}},
		"a name of a member is no external seed": {SeedInput{Members: ms{sm("a", "r1", 3, ""), sm("b", "r2", 2, "")}, Self: "b",
			External: []string{"a", "a.demo", "ip-a", "b", "ip-b", ""}}, SeedChoice{words.SeedsFirstNodePending, nil, []string{"a"}}},
		"members that have joined and are UP": {SeedInput{Members: ms{sm("a", "r1", 9, "ju"), sm("b", "r1", 8, "ju"), sm("c", "r2", 7, "j"), sm("d", "r2", 6, "ju"), sm("e", "r3", 5, "u"), sm("f", "r3", 4, "ju"), sm("n", "r1", 1, "")}, Self: "n"},
			SeedChoice{words.SeedsFound, []string{"ip-a", "ip-d", "ip-f"}, nil}},
		"the oldest of one rack": {SeedInput{Members: ms{sm("d", "r1", 1, "ju"), sm("a", "r1", 9, "ju"), sm("c", "r1", 7, "ju"), sm("b", "r1", 8, "ju"), sm("n", "r2", 0, "")}, Self: "n"},
			SeedChoice{words.SeedsFound, []string{"ip-a", "ip-b", "ip-c"}, nil}},
		"the first member after it lost its disk": {SeedInput{Members: ms{sm("a", "r1", 9, ""), sm("b", "r2", 8, "ju")}, Self: "a", External: []string{"a"}},
			SeedChoice{words.SeedsFound, []string{"ip-b"}, nil}},
		"and its Service says that it has joined": {SeedInput{Members: ms{sm("a", "r1", 9, "ju"), sm("b", "r2", 8, "ju")}, Self: "a"},
			SeedChoice{words.SeedsFound, []string{"ip-b"}, nil}},
		"no other is UP": {SeedInput{Members: ms{sm("a", "r1", 9, "j"), sm("b", "r2", 8, "j"), sm("c", "r2", 7, "jua")}, Self: "a"},
			SeedChoice{words.SeedsNotUp, nil, []string{"b", "c"}}},
		"no other is UP, and it is forced": {SeedInput{Members: ms{sm("a", "r1", 9, "j"), sm("b", "r2", 8, "j")}, Self: "a", Forced: true},
			SeedChoice{words.SeedsNotUp, nil, []string{"b"}}},
		"the whole cluster comes back": {SeedInput{Members: ms{sm("a", "r1", 9, "j"), sm("b", "r2", 8, "j"), sm("c", "r2", 7, "ja")}, Self: "a", Restart: true},
			SeedChoice{words.SeedsFound, []string{"ip-b"}, nil}},
		"the only member lost its disk":                {SeedInput{Members: ms{sm("a", "r1", 9, "j"), sm("b", "r1", 1, "")}, Self: "a"}, SeedChoice{words.SeedsOnlySelfJoined, nil, []string{"a"}}},
		"the only member lost its disk, and is forced": {SeedInput{Members: ms{sm("a", "r1", 9, "j")}, Self: "a", Forced: true}, SeedChoice{words.SeedsFirstNode, []string{"ip-a"}, []string{"a"}}},
		"the only member comes back on its own volume": {SeedInput{Members: ms{sm("a", "r1", 9, "j"), sm("b", "r1", 1, "")}, Self: "a", Restart: true, Volume: VolumeUsed},
			SeedChoice{words.SeedsOwnVolume, []string{"ip-a"}, []string{"a"}}},
		"on an empty one":               {SeedInput{Members: ms{sm("a", "r1", 9, "j")}, Self: "a", Restart: true, Volume: VolumeEmpty}, SeedChoice{words.SeedsOnlySelfJoined, nil, []string{"a"}}},
		"on one that was not looked at": {SeedInput{Members: ms{sm("a", "r1", 9, "j")}, Self: "a", Restart: true}, SeedChoice{words.SeedsOnlySelfJoined, nil, []string{"a"}}},
		"to be replaced, on a used one": {SeedInput{Members: ms{sm("a", "r1", 9, "j")}, Self: "a", Volume: VolumeUsed}, SeedChoice{words.SeedsOnlySelfJoined, nil, []string{"a"}}},
		"a newcomer on a used one":      {SeedInput{Members: ms{sm("a", "r1", 9, ""), sm("b", "r1", 1, "")}, Self: "b", Volume: VolumeUsed}, SeedChoice{words.SeedsFirstNodePending, nil, []string{"a"}}},
		"external seeds come after": {SeedInput{Members: ms{sm("a", "r1", 9, "ju"), sm("n", "r1", 1, "")}, Self: "n", External: []string{"x", "ip-n", "y", "x"}},
			SeedChoice{words.SeedsFound, []string{"ip-a", "x", "y"}, nil}},
		"a second datacenter": {SeedInput{Members: ms{sm("a", "r1", 9, "")}, Self: "a", External: []string{"x"}, Elsewhere: []string{"dc2"}},
			SeedChoice{words.SeedsFound, []string{"x"}, nil}},
		"a second datacenter without external seeds": {SeedInput{Members: ms{sm("a", "r1", 9, "")}, Self: "a", Elsewhere: []string{"dc2"}},
			SeedChoice{words.SeedsElsewhere, nil, []string{"dc2"}}},
		"its own Service is not there yet": {SeedInput{Self: "a"}, SeedChoice{words.SeedsFirstNodePending, nil, []string{"a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if i := slices.IndexFunc(tc.in.Members, func(m SeedMember) bool { return m.Name == tc.in.Self }); i >= 0 {
				tc.in.SelfAddress = tc.in.Members[i].Address
			}
			got := Seeds(tc.in)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.Usable() != (len(tc.want.Seeds) > 0) {
				t.Errorf("usable %v", got.Usable())
			}
		})
	}
}

// Invariant 11: no node starts with itself as seed once any other has joined, and of all members at most one founds the cluster.
func TestA1NeverASecondCluster(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var members []SeedMember
		joined := 0
		for i := range rapid.IntRange(1, 6).Draw(t, "members") {
			m := SeedMember{
				Name: fmt.Sprintf("m%d", i), Rack: fmt.Sprintf("r%d", rapid.IntRange(1, 3).Draw(t, "rack")), Address: fmt.Sprintf("10.0.0.%d", i),
				Created: seedEpoch.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "created")) * time.Second),
				Joined:  rapid.Bool().Draw(t, "joined"), Up: rapid.Bool().Draw(t, "up"),
			}
			if m.Joined {
				joined++
			}
			members = append(members, m)
		}
		external := rapid.SliceOf(rapid.SampledFrom([]string{"m0", "m1", "10.0.0.0", "10.0.0.1", "m0.demo.svc"})).Draw(t, "external")
		founders := 0
		for _, self := range members {
			c := Seeds(SeedInput{Members: members, Self: self.Name, SelfAddress: self.Address, External: external, Restart: rapid.Bool().Draw(t, "restart"),
				Forced: rapid.Bool().Draw(t, "forced")})
			others := joined
			if self.Joined {
				others--
			}
			if others > 0 && slices.Contains(c.Seeds, self.Address) {
				t.Fatalf("%s has itself among %v, and others have joined", self.Name, c.Seeds)
			}
			if c.Code == words.SeedsFirstNode {
				founders++
			}
			if len(c.Seeds) > maxSeeds {
				t.Fatalf("%d seeds", len(c.Seeds))
			}
		}
		if founders > 1 {
			t.Fatalf("%d members found the cluster", founders)
		}
	})
}
