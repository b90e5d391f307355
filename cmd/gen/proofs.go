// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// proof is one promise of initialisation or availability, with the tests that would fail without it, each as its package's directory and its name.
type proof struct {
	row   string
	what  string
	tests []string
}

const proofsHead = `
## Which test proves what

What is promised about the beginning of a cluster (I) and about the time while a controller is away (A), and the tests that fail where it is not so. ` + "`go run ./cmd/gen`" + ` fails
where a test that is named here does not exist. The numbers are those of the specification; one that is not built yet is named below the table, any other that is left out is no promise.

| no. | what is promised | tests |
|---|---|---|
`

var proofs = []proof{
	{"I1", "a cluster that is not initialised is judged apart, until it is", []string{"controller/reports TestTheFirstNodeInitialises", "controller/reports TestAFirstNodeThatIsNotWell"}},
	{"I2", "one permit at a time, and one to found the cluster; nobody joins before it is initialised", []string{
		"internal/view TestPermitsAreSafe", "controller/views TestNobodyJoinsBeforeTheClusterIsInitialised", "test/e2e TestTwoNewcomersJoinOneAfterTheOtherUnderPermits"}},
	{"I3", "of several empty members one founds the cluster", []string{"internal/bootstrap TestA2OneMemberFoundsTheCluster", "internal/bootstrap TestA1NeverASecondCluster"}},
	{"I4", "the first node has to be well by its own word, not its Pod ready", []string{"controller/reports TestAFirstNodeThatIsNotWell"}},
	{"I5", "no permit while a Secret or ConfigMap of the Pod does not exist, and its name is said", []string{
		"controller/reports TestRow5PrerequisitesMissing", "controller/reports TestPrerequisitesByTheStateOfAContainer"}},
	{"I6", "a cluster that has begun is never begun again", []string{"controller/reports TestAClusterThatWasJustHandedOverIsNotANewOne", "test/simulation TestSeeds"}},
	{"I8", "initialised is set once, and before anything that can fail", []string{
		"controller/reports TestInitialisationIsWrittenBeforeWhatFails", "controller/reports TestInitialisationSurvivesACrashAtEachPoint"}},
	{"I10", "a report that is lost is made again, and founds nothing", []string{"controller/reports TestARecoveredCluster", "controller/reports TestALostReportIsMadeAgainWithItsRows"}},
	{"I11", "a first boot that crashed gets its own permit again, and nobody else's", []string{"internal/view TestACrashedFirstBootGetsItsOwnFormPermitAgainAndNobodyElse"}},
	{"I13", "a node that has been DOWN for long is named with the command that replaces it", []string{
		"internal/matrix TestNodeReplaceable", "controller/reports TestNodeReplaceable", "internal/view TestTakingOver"}},
	{"I14", "what a look goes by may be 10 s old", []string{"controller/views TestWhatIsLookedAtGrowsOld", "controller/views TestHeartbeatsGrowOld"}},
	{"I15", "all has to hold for 10 s without a break", []string{
		"internal/agent/barrier TestA3StabilisationWindow", "internal/agent/barrier TestA3StabilisationBeginsAnewAfterABreak", "internal/view TestAPermitIsGivenAfterTheWindowAndNotBefore"}},
	{"I16", "a member that is more than 1000 entries of group 0's log behind is UNKNOWN, and nobody joins; where that is not known, schemas have to agree", []string{
		"internal/view TestLogOf", "internal/view TestAMemberThatTrailsHoldsNewcomers", "internal/view TestSchemasThatDifferHoldNewcomersWhileTheIndexesAreNotKnown",
		"controller/views TestAMemberThatTrailsIsUnknownAndHoldsNewcomers", "controller/views TestSchemasCountWhereTheIndexesAreNotKnown",
		"controller/views TestTrailingIsTheOneOfTheHealthPolicy", "internal/scylla TestReadLog", "internal/agent/reporter TestTheLogIsSaidAndNotWritten"}},
	{"I17", "the minimum quorum is the floor of the clean-up, by profile, and no gate of joins", []string{
		"internal/view/healthpolicy TestResolve", "controller/reports TestDeadReportsThatAreKept"}},
	{"I18", "the row of a node that no member lists is cleaned up, off below a quorum of 3, and no node is ever removed", []string{
		"controller/reports TestDeadReportsAreCleanedUp", "controller/reports TestDeadReportsThatAreKept", "internal/view/healthpolicy TestResolve"}},
	{"I19", "every field of the health policy can be overridden within bounds, resolved once, and everybody goes by it", []string{
		"internal/view/healthpolicy TestResolve", "internal/view/healthpolicy TestBounds", "controller/reports TestTheHealthPolicyIsResolvedOnceIntoTheStatus",
		"controller/reports TestTheHealthPolicySetsTheWindowOfTheFirstNode", "controller/reports TestTheHealthPolicySetsWhenANodeIsDead",
		"internal/agent/barrier TestTheWindowIsTheOneOfTheHealthPolicy"}},
	{"I20", "nobody joins while Pods are rolled", []string{"controller/views TestARolloutHolds", "internal/cluster TestANewcomerAndARollout"}},
	{"I21", "nobody joins while a node leaves", []string{"internal/view TestAPermitIsWithdrawnAtOnceWhenTheViewTurns", "test/e2e TestDecommissionDuringAJoin"}},
	{"I22", "no second cluster, whatever is lost", []string{"test/simulation TestSeeds", "internal/bootstrap TestA1NeverASecondCluster"}},
	{"I23", "newcomers go member by member, rack by rack; several only where every version allows it", []string{
		"controller/views TestNewcomersGoRackByRack", "internal/view TestSeveralAtOnceOnlyWhereEveryVersionAllowsIt"}},

	{"A1", "a former leader's view loses by epoch and seq", []string{
		"controller/views TestAFormerLeaderWritesNoView", "controller/views TestALeaseThatWasMadeAnew", "internal/view TestNoViewGoesBackwards", "test/simulation TestSeeds"}},
	{"A2", "the leader alone serves views", []string{"controller TestTheLeaderAloneServesViews", "controller/views TestAFormerLeaderServesNoView"}},
	{"A3", "a node that has joined starts without a controller", []string{"internal/agent/barrier TestBootstrappedDiskOpensWithoutTheAPI", "test/e2e TestJoinIsHeldWhileANodeIsDown"}},
	{"A4", "nobody starts, and no disk is deleted, on evidence that is old", []string{
		"internal/agent/barrier TestAViewThatStopsToAdvanceIsTooOld", "test/e2e TestWithoutTheController",
		"controller/replacement TestAttack8ADeletionThatIsHeldBackDoesNotHitANodeThatHasReturned"}},
	{"A5", "a permit ends with the view that nobody stands by any more", []string{"internal/agent/barrier TestAViewThatStopsToAdvanceIsTooOld", "internal/view TestTheAgeOfAView"}},
	{"A6", "a newer view closes at once", []string{"internal/agent/barrier TestANewerViewClosesAtOnceAndTheWindowBeginsAnew", "internal/view TestAPermitIsWithdrawnAtOnceWhenTheViewTurns",
		"internal/agent/barrier TestARelayClosesWithinTheTimeThatIsDocumented"}},
	{"A7", "who reaches nobody waits, and says so", []string{"internal/agent/barrier TestIsolatedWhileTheAPIServerIsAway", "internal/agent/barrier TestControllerThatFallsSilentWhileWaiting"}},
	{"A8", "a barrier begins closed", []string{"internal/agent/barrier TestAPermitOpensOnceTheViewIsSeenToAdvance", "internal/view TestTheAgeOfAView"}},
	{"A9", "after it has closed, all has to hold anew", []string{"internal/agent/barrier TestANewerViewClosesAtOnceAndTheWindowBeginsAnew"}},
	{"A10", "only what is newer is adopted; anything else changes nothing", []string{
		"internal/view TestNoViewGoesBackwards", "internal/view TestHandedViewsNeverGoBack", "internal/view TestAReportThatIsMadeAnewBeginsANewOrder",
		"internal/agent/barrier TestALateViewOfAFormerReportNeverOpens", "internal/agent/barrier TestAViewThatGoesBackOpensNothingAndIsSaid", "internal/peer/viewwire TestAnyAnswerIsAViewOrAnError"}},
	{"A11", "a view that is handed on says its age", []string{"controller/views TestTheServedViewIsTheWrittenOneAndItsAgeIsByOneClock", "internal/peer/viewwire TestAViewIsHandedOnAsItIs"}},
	{"A12", "without a controller the members decide only where a person has asked for it", []string{
		"internal/agent/barrier TestPeersOpensByTheMembersAlone", "internal/agent/barrier TestPeersNeverOpensOnLess", "internal/setup/inject TestWhatIsDoneWhileNoControllerLeadsIsKept"}},
	{"A13", "DOWN counts at once, UNKNOWN after three looks, UP after two; who hangs holds up nobody", []string{
		"internal/view TestDebounce", "controller/views TestStatesAreDebounced", "controller/heartbeats TestMembersThatHangHoldUpNobody", "controller/heartbeats TestOnlyWhatIsSeenToAdvanceCounts", "controller/heartbeats TestALeaseIsAHeartbeat", "test/e2e TestAFrozenReporterMakesItsMemberUnknown"}},
	{"A18", "replacements and forced starts survive the controller", []string{
		"controller/replacement TestKilledAtEveryRequest", "controller/replacement TestOldLeaderGoesOn", "controller/force TestPropagateTakesBackExactlyWhatItGave"}},
	{"A20", "a whole cluster starts again without anybody", []string{"internal/cluster TestB3TheWholeClusterStartsOnItsLastRows"}},
	{"hole", "all rows are UP, no reporter can write, and a node dies: nobody is let through", []string{
		"internal/agent/barrier TestAllRowsUPWhileReportersAreCutOffAndANodeDies", "controller/views TestNoPermitWhileAllRowsSayUPAndReportersAreCutOff",
		"controller/views TestTheHoleRowsAllUpReportersCutOffANodeDies", "test/simulation TestTheHoleOfReportsIsClosedByPermits"}},
}

// unbuilt are the rows of the specification that nothing does yet, or nothing will.
var unbuilt = []struct{ row, what string }{
	{"I9", "the root credential comes later: nothing makes, keeps or checks the superuser's password"},
	{"I12", "the initial settings of a new cluster come later: nothing changes a keyspace's replication, or any other setting, after the first node"},
}

// proofsTable is the table of all. Error: a test that does not exist.
func proofsTable(root string, all []proof) (string, error) {
	var b strings.Builder
	b.WriteString(proofsHead)
	for _, p := range all {
		if len(p.tests) == 0 {
			return "", fmt.Errorf("row %s (%s) has no test: name one", p.row, p.what)
		}
		for _, t := range p.tests {
			if err := testExists(root, t); err != nil {
				return "", fmt.Errorf("row %s (%s): %w", p.row, p.what, err)
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", p.row, cell(p.what), quoted(p.tests))
	}
	b.WriteString("\nNot built:\n\n")
	for _, u := range unbuilt {
		if slices.ContainsFunc(all, func(p proof) bool { return p.row == u.row }) {
			return "", fmt.Errorf("row %s has a test and is said not to be built: take it out of one list", u.row)
		}
		fmt.Fprintf(&b, "- %s: %s.\n", u.row, u.what)
	}
	return b.String(), nil
}

// testExists is an error if a test, given as its package's directory and its name, does not exist.
func testExists(root, test string) error {
	dir, name, _ := strings.Cut(test, " ")
	ok, err := hasTest(filepath.Join(root, dir), name)
	if err == nil && !ok {
		err = fmt.Errorf("it names %s, which is no test in %s: name the one that proves it now", name, dir)
	}
	return err
}

// hasTest says whether a directory's tests have one of that name.
func hasTest(dir, name string) (bool, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return false, fmt.Errorf("look for tests in %s: %w", dir, err)
	}
	is := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(name) + `\(`)
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return false, fmt.Errorf("look for %s: %w", name, err)
		}
		if is.Match(text) {
			return true, nil
		}
	}
	return false, nil
}
