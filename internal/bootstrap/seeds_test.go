// SPDX-License-Identifier: Apache-2.0

package bootstrap_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

var seedEpoch = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// seedMember was created so many minutes ago; flags: j joined, u UP, a without address.
func seedMember(name, rack string, minutes int, flags string) *cluster.Member {
	m := aged(member(matrix.Ref{Member: name, Datacenter: "dc1", Rack: rack}, ptr(strings.Contains(flags, "j"))), seedEpoch.Add(-time.Duration(minutes)*time.Minute))
	m.Node = &matrix.Node{}
	if strings.Contains(flags, "u") {
		m.Node.SeenUp = 1
	}
	if !strings.Contains(flags, "a") {
		m.Pod = &corev1.Pod{Status: corev1.PodStatus{PodIP: "ip-" + name}}
	}
	return m
}

func TestA1Seeds(t *testing.T) {
	type ms = []*cluster.Member
	sm := seedMember
	for name, tc := range map[string]struct {
		self   string
		in     Start
		forced bool
		want   SeedChoice
	}{
		"the first of all has itself": {"a", Start{Members: ms{sm("a", "r1", 3, ""), sm("b", "r2", 2, "")}}, false,
			SeedChoice{words.SeedsFirstNode, []string{"ip-a"}, []string{"a"}}},
		"the first by name of one second": {"a", Start{Members: ms{sm("b", "r2", 2, ""), sm("a", "r1", 2, "")}}, false,
			SeedChoice{words.SeedsFirstNode, []string{"ip-a"}, []string{"a"}}},
		"the others wait for it": {"b", Start{Members: ms{sm("b", "r1", 2, ""), sm("a", "r2", 3, "")}}, false,
			SeedChoice{words.SeedsFirstNodePending, nil, []string{"a"}}},
		"a name of a member is no external seed": {"b", Start{Members: ms{sm("a", "r1", 3, ""), sm("b", "r2", 2, "")},
			External: []string{"a", "a.demo", "ip-a", "b", "ip-b", ""}}, false, SeedChoice{words.SeedsFirstNodePending, nil, []string{"a"}}},
		"members that have joined and are UP": {"n", Start{Members: ms{sm("a", "r1", 9, "ju"), sm("b", "r1", 8, "ju"), sm("c", "r2", 7, "j"), sm("d", "r2", 6, "ju"), sm("e", "r3", 5, "u"), sm("f", "r3", 4, "ju"), sm("n", "r1", 1, "")}}, false,
			SeedChoice{words.SeedsFound, []string{"ip-a", "ip-d", "ip-f"}, nil}},
		"the oldest of one rack": {"n", Start{Members: ms{sm("d", "r1", 1, "ju"), sm("a", "r1", 9, "ju"), sm("c", "r1", 7, "ju"), sm("b", "r1", 8, "ju"), sm("n", "r2", 0, "")}}, false,
			SeedChoice{words.SeedsFound, []string{"ip-a", "ip-b", "ip-c"}, nil}},
		"the first member after it lost its disk": {"a", Start{Members: ms{sm("a", "r1", 9, ""), sm("b", "r2", 8, "ju")}, External: []string{"a"}}, false,
			SeedChoice{words.SeedsFound, []string{"ip-b"}, nil}},
		"and its Service says that it has joined": {"a", Start{Members: ms{sm("a", "r1", 9, "ju"), sm("b", "r2", 8, "ju")}}, false,
			SeedChoice{words.SeedsFound, []string{"ip-b"}, nil}},
		"no other is UP": {"a", Start{Members: ms{sm("a", "r1", 9, "j"), sm("b", "r2", 8, "j"), sm("c", "r2", 7, "jua")}}, false,
			SeedChoice{words.SeedsNotUp, nil, []string{"b", "c"}}},
		"no other is UP, and it is forced": {"a", Start{Members: ms{sm("a", "r1", 9, "j"), sm("b", "r2", 8, "j")}}, true,
			SeedChoice{words.SeedsNotUp, nil, []string{"b"}}},
		"the whole cluster comes back": {"a", Start{Members: ms{sm("a", "r1", 9, "j"), sm("b", "r2", 8, "j"), sm("c", "r2", 7, "ja")}, Restart: true}, false,
			SeedChoice{words.SeedsFound, []string{"ip-b"}, nil}},
		"the only member lost its disk":                {"a", Start{Members: ms{sm("a", "r1", 9, "j"), sm("b", "r1", 1, "")}}, false, SeedChoice{words.SeedsOnlySelfJoined, nil, []string{"a"}}},
		"the only member lost its disk, and is forced": {"a", Start{Members: ms{sm("a", "r1", 9, "j")}}, true, SeedChoice{words.SeedsFirstNode, []string{"ip-a"}, []string{"a"}}},
		"the only member comes back on its own volume": {"a", Start{Members: ms{sm("a", "r1", 9, "j"), sm("b", "r1", 1, "")}, Restart: true, Volume: VolumeUsed}, false,
			SeedChoice{words.SeedsOwnVolume, []string{"ip-a"}, []string{"a"}}},
		"on an empty one":               {"a", Start{Members: ms{sm("a", "r1", 9, "j")}, Restart: true, Volume: VolumeEmpty}, false, SeedChoice{words.SeedsOnlySelfJoined, nil, []string{"a"}}},
		"on one that was not looked at": {"a", Start{Members: ms{sm("a", "r1", 9, "j")}, Restart: true}, false, SeedChoice{words.SeedsOnlySelfJoined, nil, []string{"a"}}},
		"to be replaced, on a used one": {"a", Start{Members: ms{sm("a", "r1", 9, "j")}, Volume: VolumeUsed}, false, SeedChoice{words.SeedsOnlySelfJoined, nil, []string{"a"}}},
		"a newcomer on a used one":      {"b", Start{Members: ms{sm("a", "r1", 9, ""), sm("b", "r1", 1, "")}, Volume: VolumeUsed}, false, SeedChoice{words.SeedsFirstNodePending, nil, []string{"a"}}},
		"external seeds come after": {"n", Start{Members: ms{sm("a", "r1", 9, "ju"), sm("n", "r1", 1, "")}, External: []string{"x", "ip-n", "y", "x"}}, false,
			SeedChoice{words.SeedsFound, []string{"ip-a", "x", "y"}, nil}},
		"a second datacenter": {"a", Start{Members: ms{sm("a", "r1", 9, "")}, External: []string{"x"}, Elsewhere: []string{"dc2"}}, false,
			SeedChoice{words.SeedsFound, []string{"x"}, nil}},
		"a second datacenter without external seeds": {"a", Start{Members: ms{sm("a", "r1", 9, "")}, Elsewhere: []string{"dc2"}}, false,
			SeedChoice{words.SeedsElsewhere, nil, []string{"dc2"}}},
		"the founder's Service was created again": {"b", Start{Members: ms{sm("a", "r1", 3, ""), sm("b", "r2", 0, "")}, FormHolder: "b"}, false,
			SeedChoice{words.SeedsFirstNode, []string{"ip-b"}, []string{"b"}}},
		"the oldest waits for the founder": {"a", Start{Members: ms{sm("a", "r1", 3, ""), sm("b", "r2", 0, "")}, FormHolder: "b"}, false,
			SeedChoice{words.SeedsFirstNodePending, nil, []string{"b"}}},
		"the founder no longer exists": {"a", Start{Members: ms{sm("a", "r1", 3, ""), sm("b", "r2", 0, "")}, FormHolder: "c"}, false,
			SeedChoice{words.SeedsFirstNode, []string{"ip-a"}, []string{"a"}}},
		"a founder after others have joined": {"b", Start{Members: ms{sm("a", "r1", 3, "ju"), sm("b", "r2", 0, "")}, FormHolder: "b"}, false,
			SeedChoice{words.SeedsFound, []string{"ip-a"}, nil}},
		"its own Service is not there yet": {"a", Start{}, false, SeedChoice{words.SeedsFirstNodePending, nil, []string{"a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.in.Member = member(matrix.Ref{Member: tc.self}, nil)
			if i := slices.IndexFunc(tc.in.Members, func(m *cluster.Member) bool { return m.Ref.Member == tc.self }); i >= 0 {
				tc.in.Member = tc.in.Members[i]
			}
			if tc.forced {
				tc.in.Member.Service.Annotations[api.AnnotationForceProceed] = api.ForceProceedValue
			}
			tc.in.Address = tc.in.Member.SeedAddress(false)
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
		var members []*cluster.Member
		joined := 0
		for i := range rapid.IntRange(1, 6).Draw(t, "members") {
			flags := ""
			for _, f := range []string{"j", "u"} {
				if rapid.Bool().Draw(t, f) {
					flags += f
				}
			}
			joined += strings.Count(flags, "j")
			members = append(members, seedMember(fmt.Sprintf("m%d", i), fmt.Sprintf("r%d", rapid.IntRange(1, 3).Draw(t, "rack")), rapid.IntRange(0, 2).Draw(t, "age"), flags))
		}
		external := rapid.SliceOf(rapid.SampledFrom([]string{"m0", "m1", "ip-m0", "ip-m1", "m0.demo.svc"})).Draw(t, "external")
		founder := rapid.SampledFrom([]string{"", "m0", "m1", "m5", "gone"}).Draw(t, "founder")
		founders := 0
		for _, self := range members {
			delete(self.Service.Annotations, api.AnnotationForceProceed)
			if rapid.Bool().Draw(t, "forced") {
				self.Service.Annotations[api.AnnotationForceProceed] = api.ForceProceedValue
			}
			address := self.SeedAddress(false)
			c := Seeds(Start{Member: self, Members: members, Address: address, External: external, FormHolder: founder, Restart: rapid.Bool().Draw(t, "restart")})
			others := joined
			if self.HasJoined() {
				others--
			}
			if others > 0 && slices.Contains(c.Seeds, address) {
				t.Fatalf("%s has itself among %v, and others have joined", self.Name(), c.Seeds)
			}
			if c.Code == words.SeedsFirstNode {
				founders++
			}
			if len(c.Seeds) > 3 {
				t.Fatalf("%d seeds", len(c.Seeds))
			}
		}
		if founders > 1 {
			t.Fatalf("%d members found the cluster", founders)
		}
	})
}
