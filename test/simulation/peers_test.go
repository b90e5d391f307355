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
	believed := Total{}
	for seed := uint64(13); believed.Unsafe < 3 && seed < 13*100; seed += 13 {
		o := Options{Seed: seed, Rule: Permits, Off: []Off{OffPeersBeats}, Hole: true, Mum: true}
		r := Run(o)
		if believed.Add(&r); r.Unsafe == 0 {
			continue
		}
		o.Off = nil
		complain(t, Run(o), false)
	}
	if t.Logf("rows are believed %+v", believed); believed.Unsafe < 3 {
		t.Error("there is no hole without heartbeats: this test proves nothing")
	}
}
