// SPDX-License-Identifier: Apache-2.0

package scylla

import "testing"

// B has the address of C, which is dead and which this Reader has not seen: only the ring, and gossip of 2025.2, show that a member is missing.
func TestARowIsCompleteByEvidenceAlone(t *testing.T) {
	const ring, upgrade = "/storage_service/tokens", "/storage_service/raft_topology/upgrade"
	hidden := list(gossips("10.0.0.1", idA, 100, true), gossips("10.0.0.2", idB, 101, true), gossips("10.0.0.2", idC, 90, false))
	for name, c := range map[string]struct {
		version string
		answers map[string]answer
		want    bool
	}{
		"each token is one of a listed node":   {want: true},
		"gossip by host ID has nobody else":    {version: "2025.2.1", want: true},
		"the ring has a token of a third node": {answers: map[string]answer{ring: list("-1", "5", "7", "9")}},
		"the ring is not known":                {answers: map[string]answer{ring: gone}},
		"gossip has another one at an address": {version: "2025.2.1", answers: map[string]answer{pathEndpoints: hidden}},
		"the list has the dead one": {answers: map[string]answer{
			pathMembers: list(pair{"10.0.0.1", idA}, pair{"10.0.0.2", idC})}},
		"gossip does not have a listed node":       {answers: map[string]answer{pathEndpoints: list(gossips("10.0.0.1", idA, 100, true))}},
		"topology without Raft":                    {answers: map[string]answer{upgrade: text("not_upgraded")}},
		"nobody says whether Raft manages it":      {answers: map[string]answer{upgrade: gone}},
		"a version that lists both at one address": {version: "2025.3.0"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.version == "" {
				c.version = "2025.1.4"
			}
			answers := with(map[string]answer{pathVersion: text(c.version + "-0.20250701.abcdef"), ring: list("-1", "5", "7"), upgrade: text("done")})
			n := newFakeNode(t, answers)
			r := NewReader(n.client())
			if before := r.Read(t.Context()).Complete; before != (c.version != "2025.3.0") {
				t.Fatalf("before: %v", before)
			}
			r = NewReader(n.client())
			n.change(c.answers)
			for range 2 {
				if got := r.Read(t.Context()).Complete; got != c.want {
					t.Errorf("complete: %v, want %v", got, c.want)
				}
			}
		})
	}
}

// The proof takes a request for each node. It is made again when a list has changed, and each minute.
func TestAProofIsMadeAgain(t *testing.T) {
	const ring = "/storage_service/tokens"
	n := newFakeNode(t, with(map[string]answer{pathVersion: text("2025.1.4-0.20250701.abcdef"), ring: list("-1", "5", "7"),
		"/storage_service/raft_topology/upgrade": text("done")}))
	r := NewReader(n.client())
	for i := range provenReads {
		if !r.Read(t.Context()).Complete || n.count(ring) != 1 {
			t.Fatalf("read %d: the ring was read %d times", i, n.count(ring))
		}
	}
	n.set(ring, list("-1", "5", "7", "9"))
	if r.Read(t.Context()).Complete {
		t.Error("a minute later it is not made again")
	}
	n.set(ring, list("-1", "5", "7"))
	if !r.Read(t.Context()).Complete {
		t.Error("the ring has no other token any more")
	}
	n.set(ring, list("-1", "5", "7", "9"))
	n.set(pathEndpoints, list(gossips("10.0.0.1", idA, 100, true), gossips("10.0.0.2", idB, 105, true)))
	if r.Read(t.Context()).Complete {
		t.Error("a node has started again")
	}
}
