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
	CheckOperator     = "operator"
)

// Limits of checks down-for and just-started. The health policy sets the usual minimum of DOWN.
const (
	// floorDown is the minimum time of DOWN that no flag overrides. Gossip needs up to 22 s to
	// distinguish a dead node from a paused one.
	floorDown    = 30 * time.Second
	startingTime = 5 * time.Minute
)

// finding is the result of one check.
type finding struct {
	result         Result
	evidence, cure words.Message
	// hard forbids skipping this result, even if the check can be skipped.
	hard bool
}

func ok(evidence words.Message) finding { return finding{result: OK, evidence: evidence} }

func failed(evidence, cure words.Message) finding {
	return finding{result: Failed, evidence: evidence, cure: cure}
}

func unknown(evidence, cure words.Message) finding {
	return finding{result: Unknown, evidence: evidence, cure: cure}
}

// check is one entry of the table.
type check struct {
	name string
	// fixed checks prevent the loss of data or of the original host ID; no flag skips them.
	fixed bool
	// first stops the checks after this one if it does not pass.
	first bool
	// applies reports whether the check runs; nil means always.
	applies func(*verifier) bool
	run     func(*verifier) finding
}

// checks returns all checks, in the order in which verify runs them.
func checks() []check {
	return []check{
		// the labels and annotations of the request are readable
		{name: CheckRequest, fixed: true, run: (*verifier).checkRequest},
		// the member's host ID is recorded; all later checks use it
		{name: CheckHostID, fixed: true, first: true, run: (*verifier).checkHostID},
		// the node has joined before; otherwise there is nothing to replace
		{name: CheckBootstrapped, run: (*verifier).checkBootstrapped},
		// other nodes list it as a normal member
		{name: CheckMember, run: func(v *verifier) finding { return v.member }},
		// DOWN in a majority of fresh rows, UP in none
		{name: CheckDown, fixed: true, run: func(v *verifier) finding { return v.checkDown() }},
		// DOWN long enough
		{name: CheckDownFor, applies: func(v *verifier) bool { return v.of(v.target).MajorityDown() },
			run: (*verifier).checkDownFor},
		// its own row and its Pod do not show it alive
		{name: CheckNotAlive, fixed: true, run: func(v *verifier) finding { return v.checkNotAlive() }},
		// its Pod is not restarting on an intact volume
		{name: CheckJustStarted, applies: func(v *verifier) bool { return !v.resume },
			run: (*verifier).checkJustStarted},
		// the failed attempt has ended
		{name: CheckAttempt, applies: func(v *verifier) bool { return v.resume }, run: (*verifier).checkAttempt},
		// the ignored nodes are members and DOWN
		{name: CheckIgnoreList, fixed: true, applies: func(v *verifier) bool { return len(v.rec.IgnoreDead) > 0 },
			run: (*verifier).checkIgnoreList},
		// every other node has a usable row
		{name: CheckRows, run: (*verifier).checkRows},
		// all other nodes see each other UP
		{name: CheckOthersUp, run: (*verifier).checkOthersUp},
		// group 0 has a leader, or a majority of the members is UP
		{name: CheckQuorum, run: (*verifier).checkQuorum},
		// every range of the target has another replica that is UP, and a quorum
		{name: CheckData, applies: func(v *verifier) bool { return v.in.Data != nil }, run: (*verifier).checkData},
		// no other topology operation is in progress
		{name: CheckNoOperation, run: (*verifier).checkNoOperation},
		// the version supports the procedure
		{name: CheckVersion, run: (*verifier).checkVersion},
		// by address only: the address belongs to the target and to no other member
		{name: CheckAddress, fixed: true, applies: func(v *verifier) bool { return v.procedure == ByAddress },
			run: (*verifier).checkAddress},
		// same datacenter and rack
		{name: CheckPlace, run: (*verifier).checkPlace},
		// a StatefulSet creates the new Pod and its volume
		{name: CheckStatefulSet, run: func(v *verifier) finding { return checkStatefulSet(v.in) }},
		// the new Pod gets the replace argument
		{name: CheckLauncher, applies: func(v *verifier) bool { return !v.in.Operator },
			run: (*verifier).checkLauncher},
		// the Scylla Operator runs now: later it carries out a request without any check
		{name: CheckOperator, applies: func(v *verifier) bool { return v.in.Operator }, run: (*verifier).checkOperator},
		// the new Pod has a seed other than itself
		{name: CheckSeeds, applies: func(v *verifier) bool { return v.in.Seeds != nil }, run: (*verifier).checkSeeds},
	}
}

// CheckNames returns the checks that --skip-check accepts.
func CheckNames() []string {
	var out []string
	for _, c := range checks() {
		if !c.fixed {
			out = append(out, c.name)
		}
	}
	return out
}

// verifier runs the checks for one target.
type verifier struct {
	*rowEvidence
	rec Record
	// resume is set for an attempt after a failed one. The new node of the failed attempt then does
	// not count as alive.
	resume    bool
	procedure Procedure
	// address is the address to replace (procedure by address only); checkAddress sets it.
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

// verify runs all checks for replacing target.
func verify(in *Input, rec Record, target hostid.ID, resume bool) verification {
	var newcomer hostid.ID
	if resume {
		newcomer = newcomerID(in, target)
	}
	v := &verifier{rowEvidence: newOpinions(in, target, newcomer, rec.IgnoreDead), rec: rec, resume: resume,
		procedure: byHostID}
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
