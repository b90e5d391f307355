// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// A force overrides the reasons that it records; any other reason is new, and blocks. By
// matrix.Rank a recorded NodeDown, or less, also covers every less severe reason about the same
// object: a DOWN node that turns UNKNOWN is not news. More severe reasons have no such order among
// each other: a missing label does not cover a volume that may be a copy.

// Overrides returns the record of a force that overrides these blockers in addition to had.
func Overrides(had []api.ForceOverride, blockers []matrix.Blocker) []api.ForceOverride {
	sorted := slices.Clone(blockers)
	matrix.SortBlockers(sorted)
	out, covered := slices.Clone(had), coversOf(had)
	for i := range sorted {
		if b := &sorted[i]; !covered.has(b) {
			r := api.ForceOverride{Reason: string(b.Reason), Object: b.Object()}
			covered.add(r)
			out = append(out, r)
		}
	}
	return out
}

// OverridesOf returns the record of a member's force that overrides every reason that the API shows
// now. Errors: as Of.
func OverridesOf(c *cluster.Cluster, member string) ([]api.ForceOverride, error) {
	in, err := Of(c, member)
	if err != nil {
		return nil, err
	}
	in.prepare()
	blockers, _ := in.overridden(in.judged(), nil)
	return Overrides(nil, blockers), nil
}

// force returns the verdict of a member whose Service forces its start. Without a record, which the
// Scylla Operator does not know, it overrides every reason.
func (in *Input) force(v Verdict, m *matrix.Matrix) Verdict {
	v.Blockers, v.Notes = in.overridden(m, v.Notes)
	record, recorded := in.Member.ForceOverrides()
	if fresh := uncovered(record, v.Blockers); recorded && len(fresh) > 0 {
		volume := func(b matrix.Blocker) bool { return b.Cause.Code == words.VolumeOfUnknownHostID }
		var down []matrix.Blocker
		if others := slices.DeleteFunc(slices.Clone(fresh), volume); len(others) > 0 {
			fresh = others
		} else { // as without a force: the step of an unknown volume must not cover a DOWN node as well
			other := func(b matrix.Blocker) bool { return b.Reason != words.NodeDown }
			down = slices.DeleteFunc(slices.Clone(v.Blockers), other)
		}
		v.Decision, v.Summary = DecisionWait, words.New(words.ForceDoesNotCover, "reasons", reasons(fresh))
		v = v.Only(fresh)
		v.Blockers = append(down, fresh...)
		if covered := in.Member.ForceCovers(); len(covered) > 0 {
			v.Notes = append(v.Notes, words.New(words.ForceCovers, "reasons", covered))
		}
		return v
	}
	if len(v.Blockers) == 0 {
		return v.open(DecisionForced, words.New(words.StartsForced))
	}
	return v.open(DecisionForced, words.New(words.StartsForcedOverBlockers, "reasons", reasons(v.Blockers)))
}

// overridden returns the blockers that a force overrides, with notes. The barrier's own report
// counts only for what no other object shows, because the Pod can write it.
func (in *Input) overridden(m *matrix.Matrix, notes []words.Message) ([]matrix.Blocker, []words.Message) {
	blockers, notes := in.precondition(m, notes)
	blockers = append(blockers, in.malformed(false)...)
	blockers = append(blockers, in.unknownVolume(m)...)
	for _, b := range in.Held {
		if b.Reason == words.ControllerSilent && in.ControllerSilent.IsZero() ||
			b.Reason == words.VolumeUnreadable && in.Volume == VolumeNotLooked {
			blockers = append(blockers, b)
		}
	}
	matrix.SortBlockers(blockers)
	return blockers, notes
}

// uncovered returns the blockers that the record does not cover.
func uncovered(record []api.ForceOverride, blockers []matrix.Blocker) []matrix.Blocker {
	covered := coversOf(record)
	return slices.DeleteFunc(slices.Clone(blockers), func(b matrix.Blocker) bool { return covered.has(&b) })
}

// covers is a record, by object.
type covers map[string][]words.Code

func coversOf(record []api.ForceOverride) covers {
	c := covers{}
	for _, r := range record {
		c.add(r)
	}
	return c
}

func (c covers) add(r api.ForceOverride) { c[r.Object] = append(c[r.Object], words.Code(r.Reason)) }

func (c covers) has(b *matrix.Blocker) bool {
	rank, down := matrix.Rank(b.Reason), matrix.Rank(words.NodeDown)
	return slices.ContainsFunc(c[b.Object()], func(recorded words.Code) bool {
		r := matrix.Rank(recorded)
		return recorded == b.Reason || down <= r && r <= rank
	})
}
