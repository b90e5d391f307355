// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// proof is one promise of initialisation or availability with its tests, each as directory of the
// package and name of the test. The tests fail if the promise is broken.
type proof struct {
	row   string
	what  string
	tests []string
}

var proofs = []proof{
	{"I1", "until it is initialised, a cluster is judged by separate rules",
		[]string{"controller/reports TestTheFirstNodeInitialises", "controller/reports TestAFirstNodeThatIsNotWell"}},
	{"I2", "one permit at a time, and one for the first node; no node joins before the cluster is initialised",
		[]string{
			"internal/view TestPermitsAreSafe", "controller/views TestNobodyJoinsBeforeTheClusterIsInitialised",
			"test/e2e TestTwoNewcomersJoinOneAfterTheOtherUnderPermits"}},
	{"I3", "of several empty members one bootstraps the cluster",
		[]string{"internal/bootstrap TestA2OneMemberFoundsTheCluster", "internal/bootstrap TestA1NeverASecondCluster"}},
	{"I4", "the report of the first node must show it healthy; a Ready Pod is not enough",
		[]string{"controller/reports TestAFirstNodeThatIsNotWell"}},
	{"I5", "no permit while a Secret or ConfigMap of the Pod does not exist; the output names it", []string{
		"controller/reports TestRow5PrerequisitesMissing",
		"controller/reports TestPrerequisitesByTheStateOfAContainer"}},
	{"I6", "a cluster that has started is never bootstrapped again",
		[]string{"controller/reports TestAClusterThatWasJustHandedOverIsNotANewOne", "test/simulation TestSeeds"}},
	{"I8", "initialised is set once, before any step that can fail", []string{
		"controller/reports TestInitialisationIsWrittenBeforeWhatFails",
		"controller/reports TestInitialisationSurvivesACrashAtEachPoint"}},
	{"I9",
		"the root credential is created and verified from every state, with a crash at each step; a lost Secret " +
			"gets no new password", []string{
			"internal/credential TestRoundsEndWell", "internal/credential/cql TestRound",
			"controller/reports TestTheRootCredentialInTheStatus", "plugin/inject TestTheSecretIsStoredFirst"}},
	{"I10", "a lost report is recreated, and its loss never lets a member bootstrap a cluster",
		[]string{"controller/reports TestARecoveredCluster",
			"controller/reports TestALostReportIsMadeAgainWithItsRows"}},
	{"I11", "after a crashed first start, the same member gets its permit again, and no other member",
		[]string{"internal/view TestACrashedFirstBootGetsItsOwnFormPermitAgainAndNobodyElse"}},
	{"I12",
		"the first settings are attempted before the second node, for a minute at most; factors are raised and " +
			"never lowered", []string{
			"controller/reports TestTheFirstAttemptPrecedesTheSecondNode", "internal/credential TestPlan",
			"internal/credential TestSettingsFollowGrowth"}},
	{"I13", "a node that has been DOWN for the limit is named, and a replacement only if its volume is lost", []string{
		"internal/matrix TestNodeReplaceable", "controller/reports TestNodeReplaceable",
		"internal/view TestTakingOver"}},
	{"I14", "the data of a poll may be 10 s old",
		[]string{"controller/views TestWhatIsLookedAtGrowsOld", "controller/views TestHeartbeatsGrowOld"}},
	{"I15", "all conditions must hold continuously for 10 s", []string{
		"internal/agent/barrier TestA3StabilisationWindow",
		"internal/agent/barrier TestA3StabilisationBeginsAnewAfterABreak",
		"internal/view TestAPermitIsGivenAfterTheWindowAndNotBefore"}},
	{"I16",
		"a member more than 1,000 entries behind in the log of group 0 is UNKNOWN, and no node joins; if the lag is " +
			"unknown, the schemas must agree", []string{
			"internal/view TestLogOf", "internal/view TestAMemberThatTrailsHoldsNewcomers",
			"internal/view TestSchemasThatDifferHoldNewcomersWhileTheIndexesAreNotKnown",
			"controller/views TestAMemberThatTrailsIsUnknownAndHoldsNewcomers",
			"controller/views TestSchemasCountWhereTheIndexesAreNotKnown",
			"controller/views TestTrailingIsTheOneOfTheHealthPolicy", "internal/scylla TestReadLog",
			"internal/agent/reporter TestTheLogIsSaidAndNotWritten"}},
	{"I17", "the minimum quorum of the profile limits the clean-up and blocks no join", []string{
		"internal/view/healthpolicy TestResolve", "controller/reports TestDeadReportsThatAreKept"}},
	{"I18",
		"the clean-up removes the row of a node that no member lists, is off below a quorum of 3, and never removes " +
			"a node", []string{
			"controller/reports TestDeadReportsAreCleanedUp", "controller/reports TestDeadReportsThatAreKept",
			"internal/view/healthpolicy TestResolve"}},
	{"I19", "each field of the health policy can be overridden within bounds and is resolved once for all readers",
		[]string{
			"internal/view/healthpolicy TestResolve", "internal/view/healthpolicy TestBounds",
			"controller/reports TestTheHealthPolicyIsResolvedOnceIntoTheStatus",
			"controller/reports TestTheHealthPolicySetsTheWindowOfTheFirstNode",
			"controller/reports TestTheHealthPolicySetsWhenANodeIsDead",
			"internal/agent/barrier TestTheWindowIsTheOneOfTheHealthPolicy"}},
	{"I20", "no node joins while Pods are rolled",
		[]string{"controller/views TestARolloutHolds", "internal/maintenance TestANewcomerAndARollout"}},
	{"I21", "no node joins while a node leaves", []string{"internal/view TestAPermitIsWithdrawnAtOnceWhenTheViewTurns",
		"test/e2e TestDecommissionDuringAJoin"}},
	{"I22", "no second cluster, whatever is lost",
		[]string{"test/simulation TestSeeds", "internal/bootstrap TestA1NeverASecondCluster"}},
	{"I23", "new nodes join member by member, rack by rack; several at once only if every version allows it", []string{
		"controller/views TestNewcomersGoRackByRack", "internal/view TestSeveralAtOnceOnlyWhereEveryVersionAllowsIt"}},

	{"A1", "the view of a former leader loses by epoch and seq", []string{
		"controller/views TestAFormerLeaderWritesNoView", "controller/views TestALeaseThatWasMadeAnew",
		"internal/view TestNoViewGoesBackwards", "test/simulation TestSeeds"}},
	{"A2", "only the leader serves views",
		[]string{"controller TestTheLeaderAloneServesViews", "controller/views TestAFormerLeaderServesNoView"}},
	{"A3", "a joined node starts without a controller",
		[]string{"internal/agent/barrier TestBootstrappedDiskOpensWithoutTheAPI",
			"test/e2e TestJoinIsHeldWhileANodeIsDown"}},
	{"A4", "no node starts and no disk is deleted on old evidence", []string{
		"internal/agent/barrier TestAViewThatStopsToAdvanceIsTooOld", "test/e2e TestWithoutTheController",
		"controller/replacement TestAttack8ADeletionThatIsHeldBackDoesNotHitANodeThatHasReturned"}},
	{"A5", "a permit ends with a view that no controller confirms any more",
		[]string{"internal/agent/barrier TestAViewThatStopsToAdvanceIsTooOld", "internal/view TestTheAgeOfAView"}},
	{"A6", "a newer view closes at once",
		[]string{"internal/agent/barrier TestANewerViewClosesAtOnce",
			"internal/view TestAPermitIsWithdrawnAtOnceWhenTheViewTurns",
			"internal/agent/barrier TestANewerRelayedViewCloses"}},
	{"A7", "a barrier that reaches no peer waits and reports it",
		[]string{"internal/agent/barrier TestIsolatedWhileTheAPIServerIsAway",
			"internal/agent/barrier TestControllerThatFallsSilentWhileWaiting"}},
	{"A8", "a barrier starts closed", []string{"internal/agent/barrier TestAPermitOpensOnceTheViewIsSeenToAdvance",
		"internal/view TestTheAgeOfAView"}},
	{"A9", "after closing, all conditions must hold again from the start",
		[]string{"internal/agent/barrier TestANewerViewClosesAtOnce",
			"internal/view TestAPermitIsWithdrawnAtOnceWhenTheViewTurns"}},
	{"A10", "a barrier adopts only newer views; others change nothing", []string{
		"internal/view TestNoViewGoesBackwards", "internal/view TestHandedViewsNeverGoBack",
		"internal/view TestAReportThatIsMadeAnewBeginsANewOrder",
		"internal/agent/barrier TestALateViewOfAFormerReportNeverOpens",
		"internal/agent/barrier TestAViewThatGoesBackOpensNothingAndIsSaid",
		"internal/peer/viewwire TestAnyAnswerIsAViewOrAnError"}},
	{"A11", "a relayed view carries its age",
		[]string{"controller/views TestTheServedViewIsTheWrittenOneAndItsAgeIsByOneClock",
			"internal/peer/viewwire TestAViewIsHandedOnAsItIs"}},
	{"A12", "without a controller no new node starts", []string{
		"internal/agent/barrier TestControllerThatIsSilentBlocks",
		"internal/agent/barrier TestControllerThatFallsSilentWhileWaiting"}},
	{"A13", "DOWN counts at once, UNKNOWN after three polls, UP after two; a member that hangs delays no other",
		[]string{
			"internal/view TestDebounce", "controller/views TestStatesAreDebounced",
			"controller/heartbeats TestMembersThatHangHoldUpNobody",
			"controller/heartbeats TestOnlyWhatIsSeenToAdvanceCounts",
			"test/e2e TestAFrozenReporterMakesItsMemberUnknown"}},
	{"A18", "replacements and forced starts survive the controller", []string{
		"controller/replacement TestKilledAtEveryRequest", "controller/replacement TestOldLeaderGoesOn",
		"controller/force TestPropagateTakesBackExactlyWhatItGave"}},
	{"A20", "a whole cluster restarts without help",
		[]string{"internal/cluster TestB3TheWholeClusterStartsOnItsLastRows"}},
	{"hole", "all rows are UP, no reporter can write, and a node fails: no barrier opens", []string{
		"internal/agent/barrier TestAllRowsUPWhileReportersAreCutOffAndANodeDies",
		"controller/views TestNoPermitWhileAllRowsSayUPAndReportersAreCutOff",
		"controller/views TestTheHoleRowsAllUpReportersCutOffANodeDies",
		"test/simulation TestTheHoleOfReportsIsClosedByPermits"}},
}

// proofsList returns the list of all proofs. Error: a test does not exist.
func proofsList(root string, all []proof) (string, error) {
	var b strings.Builder
	for _, p := range all {
		if len(p.tests) == 0 {
			return "", fmt.Errorf("row %s (%s) has no test: name one", p.row, p.what)
		}
		for _, t := range p.tests {
			if err := testExists(root, t); err != nil {
				return "", fmt.Errorf("row %s (%s): %w", p.row, p.what, err)
			}
		}
		fmt.Fprintf(&b, "- %s: %s. %s\n", p.row, p.what, tests(p.tests))
	}
	return b.String(), nil
}

// tests returns a list of tests as text, each as PACKAGE.TEST.
func tests(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return "`" + strings.ReplaceAll(strings.Join(list, "`, `"), " Test", ".Test") + "`"
}

// testExists returns an error if a test, given as directory and name, does not exist.
func testExists(root, test string) error {
	dir, name, _ := strings.Cut(test, " ")
	ok, err := hasTest(filepath.Join(root, dir), name)
	if err == nil && !ok {
		err = fmt.Errorf("it names %s, which is no test in %s: name the test that proves it now", name, dir)
	}
	return err
}

// hasTest reports whether a directory has a test with that name.
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
