// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Names of the checks.
const (
	CheckRequest      = "request"
	CheckHostID       = "host-id"
	CheckBootstrapped = "bootstrapped"
	CheckMember       = "member"
	CheckDown         = "down"
	CheckDownFor      = "down-for"
	CheckNotAlive     = "not-alive"
	CheckJustStarted  = "just-started"
	CheckAttempt      = "attempt-ended"
	CheckIgnoreList   = "ignore-list"
	CheckRows         = "rows-fresh"
	CheckOthersUp     = "others-up"
	CheckQuorum       = "quorum"
	CheckData         = "data"
	CheckNoOperation  = "no-operation"
	CheckVersion      = "version"
	CheckAddress      = "address"
	CheckPlace        = "place"
	CheckStatefulSet  = "statefulset"
	CheckLauncher     = "launcher"
	CheckSeeds        = "seeds"
)

// How long a node on an intact volume may take to start before it is taken for dead. The health policy sets how long it must have been DOWN.
const (
	// floorDown is the minimum that no flag overrides: gossip needs up to 22 s to tell a dead node from one that was paused.
	floorDown    = 30 * time.Second
	startingTime = 5 * time.Minute
)

// finding is the result of one check.
type finding struct {
	result         Result
	evidence, cure words.Message
	// hard is set where this result cannot be skipped although the check can.
	hard bool
}

func ok(evidence words.Message) finding { return finding{result: OK, evidence: evidence} }

func failed(evidence, cure words.Message) finding {
	return finding{result: Failed, evidence: evidence, cure: cure}
}

func unknown(evidence, cure words.Message) finding {
	return finding{result: Unknown, evidence: evidence, cure: cure}
}

// check is one line of the table.
type check struct {
	name string
	// fixed checks guard against losing data or the original host ID: no flag skips them.
	fixed bool
	// first is set where no other check is possible while it fails.
	first bool
	// applies tells whether the check is run; nil means always.
	applies func(*verifier) bool
	run     func(*verifier) finding
}

// checks lists all of them in the order in which they are made.
func checks() []check {
	return []check{
		// label and annotations of the request can be read
		{name: CheckRequest, fixed: true, run: (*verifier).checkRequest},
		// the member's host ID is recorded; everything else is about it
		{name: CheckHostID, fixed: true, first: true, run: (*verifier).checkHostID},
		// the node has joined once, else there is nothing to replace
		{name: CheckBootstrapped, run: (*verifier).checkBootstrapped},
		// peers list it as a normal member
		{name: CheckMember, run: func(v *verifier) finding { return v.member }},
		// DOWN in a majority of fresh rows, UP in none
		{name: CheckDown, fixed: true, run: func(v *verifier) finding { return v.checkDown() }},
		// for long enough
		{name: CheckDownFor, applies: func(v *verifier) bool { return v.of(v.target).MajorityDown() }, run: (*verifier).checkDownFor},
		// not alive by its own row and Kubernetes' objects either
		{name: CheckNotAlive, run: func(v *verifier) finding { return v.checkNotAlive() }},
		// nor on its way back
		{name: CheckJustStarted, applies: func(v *verifier) bool { return !v.resume }, run: (*verifier).checkJustStarted},
		// the failed attempt is over
		{name: CheckAttempt, applies: func(v *verifier) bool { return v.resume }, run: (*verifier).checkAttempt},
		// the ignored nodes are members and dead
		{name: CheckIgnoreList, fixed: true, applies: func(v *verifier) bool { return len(v.rec.IgnoreDead) > 0 }, run: (*verifier).checkIgnoreList},
		// every other node has a row
		{name: CheckRows, run: (*verifier).checkRows},
		// all others see each other UP
		{name: CheckOthersUp, run: (*verifier).checkOthersUp},
		// a majority of the members is alive
		{name: CheckQuorum, run: (*verifier).checkQuorum},
		// every range of the target has another copy that is alive, and a quorum
		{name: CheckData, applies: func(v *verifier) bool { return v.in.Data != nil }, run: (*verifier).checkData},
		// no other topology operation is under way
		{name: CheckNoOperation, run: (*verifier).checkNoOperation},
		// the version supports the procedure
		{name: CheckVersion, run: (*verifier).checkVersion},
		// by address only: it is the target's and no other member's
		{name: CheckAddress, fixed: true, applies: func(v *verifier) bool { return v.procedure == ByAddress }, run: (*verifier).checkAddress},
		// same datacenter and rack
		{name: CheckPlace, run: (*verifier).checkPlace},
		// a StatefulSet creates the new Pod and its volume
		{name: CheckStatefulSet, run: func(v *verifier) finding { return checkStatefulSet(v.in) }},
		// the new Pod gets the replace argument
		{name: CheckLauncher, applies: func(v *verifier) bool { return !v.in.Operator }, run: (*verifier).checkLauncher},
		// the new Pod has a seed other than itself
		{name: CheckSeeds, applies: func(v *verifier) bool { return v.in.Seeds != nil }, run: (*verifier).checkSeeds},
	}
}

// CheckNames lists the checks that --skip-check takes.
func CheckNames() []string {
	var out []string
	for _, c := range checks() {
		if !c.fixed {
			out = append(out, c.name)
		}
	}
	return out
}

// verifier makes the checks for one target.
type verifier struct {
	*opinions
	rec Record
	// resume is set for an attempt after a failed one; the newcomer of the failed one then does not count as alive.
	resume    bool
	procedure Procedure
	// address is the one to replace in the procedure by address, once checkAddress has found it.
	address string
	member  finding
}

// verification is the result of verify.
type verification struct {
	checks    []Check
	procedure Procedure
	address   string
}

func (v verification) blocked() bool { return slices.ContainsFunc(v.checks, Check.Blocks) }

// verify makes all checks for replacing target.
func verify(in *Input, rec Record, target hostid.ID, resume bool) verification {
	var newcomer hostid.ID
	if resume {
		newcomer = newcomerID(in, target)
	}
	v := &verifier{opinions: newOpinions(in, target, newcomer, rec.IgnoreDead), rec: rec, resume: resume, procedure: ByHostID}
	switch {
	case rec.Open():
		v.procedure = rec.Procedure()
	case in.ByHostID == release.No:
		v.procedure = ByAddress
	}
	v.member = v.checkMember()
	out := verification{procedure: v.procedure}
	for _, c := range checks() {
		if c.applies != nil && !c.applies(v) {
			continue
		}
		f := c.run(v)
		out.checks = append(out.checks, Check{
			Name: c.name, Result: f.result, Evidence: f.evidence, Cure: f.cure, Skippable: !c.fixed && !f.hard,
			Skipped: f.result != OK && !c.fixed && !f.hard && slices.Contains(rec.SkipChecks, c.name),
		})
		if c.first && f.result != OK {
			break
		}
	}
	out.address = v.address
	return out
}
