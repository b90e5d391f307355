// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// checkData protects data whose only replica is on the target: it would be lost with the volume. A
// keyspace with too few live replicas fails queries at QUORUM until the replacement has ended.
func (v *verifier) checkData() finding {
	if !v.in.Data.Known {
		return unknown(words.New(words.DataNotKnown, "why", v.in.Data.Why),
			words.New(words.DataLookYourself, "check", CheckData))
	}
	var lost, silent, farOnly, noQuorum []string
	holds := 0
	for _, k := range v.in.Data.Keyspaces {
		worst := dataSafe
		held := false
		for _, set := range k.Replicas {
			if slices.Contains(set, v.target) {
				held = true
				worst = min(worst, v.copies(set))
			}
		}
		if held {
			holds++
		}
		switch worst {
		case dataLost:
			lost = append(lost, k.Name)
		case dataSilent:
			silent = append(silent, k.Name)
		case dataFar:
			farOnly = append(farOnly, k.Name)
		case dataNoQuorum:
			noQuorum = append(noQuorum, k.Name)
		case dataSafe:
		}
	}
	var found []words.Message
	for c, names := range map[words.Code][]string{words.DataLost: lost, words.DataNoLiveCopy: silent,
		words.DataNoQuorum: noQuorum} {
		if len(names) > 0 {
			found = append(found, words.New(c, "keyspaces", names))
		}
	}
	if len(farOnly) > 0 {
		found = append(found, words.New(words.DataNoCopyInDatacenter, "keyspaces", farOnly, "datacenter",
			v.in.Self.Datacenter))
	}
	slices.SortFunc(found, compareMessages)
	switch {
	case len(lost)+len(silent) > 0:
		return failed(words.New(words.ReplaceFacts, "facts", found), words.New(words.DataBringBack, "check", CheckData))
	case len(found) > 0:
		return failed(words.New(words.ReplaceFacts, "facts", found), words.New(words.DataRaise, "check", CheckData))
	}
	return ok(words.New(words.DataSafe, "keyspaces", holds))
}

// Results of copies, worst first: how safe a replica set is without the target.
const (
	dataLost     = iota // no other replica
	dataSilent          // no other replica is UP
	dataFar             // no other replica in the target's datacenter
	dataNoQuorum        // too few replicas UP for a quorum, of all or in the datacenter
	dataSafe
)

func (v *verifier) copies(set []hostid.ID) int {
	near := func(id hostid.ID) bool { return v.datacenter(id) == v.in.Self.Datacenter }
	alive := func(id hostid.ID) bool { return id != v.target && v.holdsUp(id) }
	others := slices.DeleteFunc(slices.Clone(set), func(id hostid.ID) bool { return id == v.target })
	switch {
	case len(others) == 0:
		return dataLost
	case !slices.ContainsFunc(others, alive):
		return dataSilent
	case !slices.ContainsFunc(others, near):
		return dataFar
	case !maintenance.Quorum(set, alive, near):
		return dataNoQuorum
	}
	return dataSafe
}

// holdsUp reports whether id is not ignored, UP in a row, and not DOWN in a majority of rows.
func (v *verifier) holdsUp(id hostid.ID) bool {
	t := v.of(id)
	return !v.ignored[id] && len(t.Up) > 0 && 2*len(t.Down) <= t.Total()
}

// datacenter returns the datacenter of a node; the target has its member's datacenter.
func (v *verifier) datacenter(id hostid.ID) string {
	if id == v.target {
		return v.in.Self.Datacenter
	}
	if r, known := v.names[id]; known && r.Datacenter != "" {
		return r.Datacenter
	}
	if i, known := v.m.Index(id); known {
		return v.m.Nodes()[i].Datacenter
	}
	return ""
}

// sharesData reports whether id has a replica of a range of the target. It is true for every node
// if the location of the data is unknown.
func (in *Input) sharesData(target, id hostid.ID) bool {
	if in.Data == nil || !in.Data.Known {
		return true
	}
	for _, k := range in.Data.Keyspaces {
		for _, set := range k.Replicas {
			if slices.Contains(set, target) && slices.Contains(set, id) {
				return true
			}
		}
	}
	return false
}
