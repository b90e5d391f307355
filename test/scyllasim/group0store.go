// SPDX-License-Identifier: Apache-2.0

package scyllasim

import "encoding/json"

type g0Entry struct {
	Term  int64           `json:"term"`
	Index int64           `json:"index"`
	Value json.RawMessage `json:"value"`
}

type g0Persisted struct {
	Term  int64   `json:"term"`
	Voted string  `json:"voted"`
	Acc   g0Entry `json:"accepted"`
	Com   g0Entry `json:"committed"`
}

// g0Record is one line of the journal: what has changed.
type g0Record struct {
	Term  int64    `json:"term"`
	Voted string   `json:"voted,omitempty"`
	Acc   *g0Entry `json:"accepted,omitempty"`
	// Com is the committed value; ComIsAcc says that it is the accepted one, to keep it from being written twice.
	Com      *g0Entry `json:"committed,omitempty"`
	ComIsAcc bool     `json:"commit,omitempty"`
}

func (e *g0Entry) same(o *g0Entry) bool { return e.Term == o.Term && e.Index == o.Index }

// load reads what an earlier process stored. It returns false when this node never belonged to a group 0.
func (g *group0) load() (bool, error) {
	err := g.journal.load(func(line []byte) error {
		var r g0Record
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		g.p.Term, g.p.Voted = r.Term, r.Voted
		if r.Acc != nil {
			g.p.Acc = *r.Acc
		}
		if r.Com != nil {
			g.p.Com = *r.Com
		}
		if r.ComIsAcc {
			g.p.Com = g.p.Acc
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	g.acc = decodeTopology(g.p.Acc.Value)
	g.com.Store(decodeTopology(g.p.Com.Value))
	return g.com.Load() != nil, nil
}

func decodeTopology(b json.RawMessage) *topology {
	if len(b) == 0 {
		return nil
	}
	var t topology
	if json.Unmarshal(b, &t) != nil {
		return nil
	}
	return &t
}

// persistLocked stores the state. It must return before a vote or an acceptance is sent.
func (g *group0) persistLocked() {
	r := g0Record{Term: g.p.Term, Voted: g.p.Voted}
	if !g.p.Acc.same(&g.stored.Acc) {
		r.Acc = &g.p.Acc
	}
	if !g.p.Com.same(&g.stored.Com) {
		if r.ComIsAcc = g.p.Com.same(&g.p.Acc); !r.ComIsAcc {
			r.Com = &g.p.Com
		}
	}
	err := g.journal.append(r, func() any {
		return g0Record{Term: g.p.Term, Voted: g.p.Voted, Acc: &g.p.Acc, Com: &g.p.Com}
	})
	if err != nil {
		g.log.error("raft", "cannot store group 0 state: %v", err)
		return
	}
	g.stored = g.p
}
