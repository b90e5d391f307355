// SPDX-License-Identifier: Apache-2.0

package simulation

import "testing"

// With --when-controller-silent=Peers newcomers are let in while no controller leads, and nothing goes wrong by it that may not.
func TestNewcomersAreLetInByPeersAlone(t *testing.T) {
	sum := Total{}
	for seed := uint64(13); seed <= 13*14; seed += 13 {
		if seed%7 == 0 {
			continue // without heartbeats the flag lets no node in
		}
		r := Run(Options{Seed: seed, Rule: Permits})
		sum.Add(&r)
		complain(t, r, false)
	}
	t.Logf("%+v", sum)
	if sum.ByPeers < sum.Seeds/4 {
		t.Errorf("%d starts by peers in %d seeds: nothing happened", sum.ByPeers, sum.Seeds)
	}
}

// All rows are UP, no reporter can write another one, and a node dies while no controller leads: only the heartbeats show it, and a newcomer waits for them.
func TestTheHoleStaysClosedByPeers(t *testing.T) {
	by := map[Rule]Total{}
	for _, rule := range []Rule{PeersBelieved, Permits} {
		sum := Total{}
		for _, seed := range []uint64{234, 351, 377, 572} {
			r := Run(Options{Seed: seed, Rule: rule, Hole: true, Mum: true})
			sum.Add(&r)
			if rule == Permits {
				complain(t, r, false)
			}
		}
		by[rule] = sum
	}
	t.Logf("rows are believed %+v, heartbeats %+v", by[PeersBelieved], by[Permits])
	if by[PeersBelieved].Unsafe == 0 {
		t.Error("there is no hole without heartbeats: this test proves nothing")
	}
}
