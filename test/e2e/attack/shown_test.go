// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// shown is an attack that is no request to the API server, or that takes more than one, with the test that makes it.
type shown struct {
	name, tries, happens string
	test                 string // folder and name
}

var alsoShown = []struct {
	heading string
	rows    []shown
}{
	{"Status reports", []shown{
		{"a time that no report can hold", "DOWN since the year 10000, which the CRD rejects", "affects only its own row; the report is written", "controller/reports TestAttack1ATimeThatNoReportCanSayCostsItsRow"},
		{"times at the edges", "times outside the years 1 to 9999", "malformed", "internal/api TestTimesThatNoReportCanSayAreMalformed"},
		{"a host ID that is a command", "`x; touch /tmp/p #` as an observed host ID", "malformed", "internal/api TestAttack5AHostIDThatIsNoUUIDMakesItsRowMalformed"},
		{"a row of any bytes", "any bytes in the annotation (fuzzing)", "decoded, or an error that names the field; never UP", "internal/api FuzzNodeStatusReport"},
		{"80,000 empty cells", "a row of 240 kB that would displace all rows", "dropped alone", "internal/cluster TestAttack6OneRowCannotStripTheOthers"},
		{"a row that is too large", "too many cells, or a host ID of 200 kB", "malformed", "internal/api TestAttack6ARowIsBounded"},
		{"a peer's host ID", "the host ID of a running peer", "not recorded; Event HostIDRefused", "controller/members TestAHostIDThatCannotBeTheMembersOwnIsNotRecorded"},
		{"an annotation of nonsense", "an annotation that cannot be decoded", "affects only its own row", "controller/reports TestAMalformedAnnotationCostsItsRowOnly"},
	}},
	{"Answers of ScyllaDB", []shown{
		{"host IDs that are none", "texts for UUIDs", "a row with an error", "internal/scylla TestAttack5AnswersWithoutUUIDsAreARowWithAnError"},
		{"31 MB of answer", "endless, nested or repeated answers", "an error within 64 MiB", "internal/scylla TestHostileAnswersTakeLittleMemory"},
		{"any answer", "any answer (fuzzing)", "never UP without gossip", "internal/scylla FuzzReadRow"},
		{"a query file without end", "`launch --query-file /dev/zero`", "an error within 96 MiB", "internal/agent/disk TestQueryFileTakesLittleMemory"},
		{"a reading without a limit", "code that reads foreign data without the limited reader", "the build fails", "internal/base/bounded TestNothingElseReadsWithoutALimit"},
	}},
	{"Input of a command", []shown{
		{"copy and paste", "hostile text in every argument of a printed command", "a POSIX shell reads the same arguments", "internal/words TestTheShellReadsTheArgumentsBack"},
		{"a hostile host ID on the screen", "a hostile host ID in status, barrier, replace and report", "quoted in every command", "internal/show TestAHostileHostIDIsNoCommand"},
		{"hidden characters", "bidi controls, zero width, U+2028, C1 controls", "visible in every output", "internal/words TestCleanLeavesNothingHidden"},
		{"hidden characters in documents and errors", "the same in JSON, YAML, templates, pages and pictures", "visible in every output", "plugin TestAttack5NothingHiddenIsInAnyOutput"},
		{"unknown codes", "each text of a status report and of a row, unknown codes included, with such characters", "visible in every output", "plugin TestAttack5NoFieldOfAReportHidesAnything"},
		{"an error in a file's words", "terminal commands in names of saved objects", "visible in the error", "plugin TestAttack5NothingHiddenIsInAnError"},
		{"hidden texts in a manifest", "the same in names of a manifest for inject", "escaped in the output", "plugin TestAttack5NothingHiddenIsInAnInjectedManifest"},
		{"a name that is an option, in a file", "saved objects named `--server=http://evil`, which would receive your token", "refused", "internal/kube TestAttack5AFileHasNoNamesThatAreOptions"},
		{"a name that is an option, in a report", "members of a report named so", "a row without a name", "internal/matrix TestAttack5AReportNamesNoOption"},
		{"a large file", "a file or archive that expands to gigabytes", "an error within 1 GiB", "internal/kube TestReadTakesLittleMemory"},
		{"a silent pipe", "`--from` of a pipe without a writer, and SIGINT", "exit code 130 at once", "plugin TestAttack6InterruptWhileReadingSavedObjects"},
		{"an archive that is none", "an archive with links or outside paths, or of another format", "refused", "internal/support TestOpenRefuses"},
		{"a secret in a log", "passwords and tokens in logs, Events and YAML of an archive", "removed", "internal/support TestNoSecretSurvives"},
		{"a secret in an Event", "a password in a container's message", "not in the Event that quotes it", "controller/replacement TestNoHarm46NoPasswordInAnEvent"},
		{"a secret in our log", "a password in a text that our agent logs", "not in its log", "cmd/scylla-agent TestNoHarm46NoPasswordInTheLog"},
		{"a secret in an answer", "a password in an error of ScyllaDB", "not in status reports", "internal/scylla TestNoHarm46NoPasswordInAnAnswer"},
		{"a secret in a field", "nine kinds of secrets in every object of an archive", "removed", "plugin/report TestArchiveHoldsNoSecret"},
	}},
	{"Opening a barrier", []shown{
		{"a renewed Lease", "a controller that renews its Lease and writes no report", "no barrier opens", "internal/agent/barrier TestAttack1ARenewedLeaseIsNotAKeptReport"},
		{"admission rejects the report", "a quota or an admission policy rejects the report", "the Lease no longer lists the cluster, and after 15 s the controller is not Ready; condition ReportsKept is False", "controller TestAttack1And2BarriersTrustOnlyWhatIsKept"},
		{"the same in real Pods", "rejected reports, stalled watches and delayed deletions in Pods", "no barrier opens; no PVC is deleted", "test/e2e TestAttack1And8BehindAProxyThatBreaks"},
		{"a Lease that was given up", "a released Lease that has not expired", "not HEALTHY", "internal/cluster TestAttack1ALeaseThatWasGivenUpIsSilentAtOnce"},
		{"a forged Lease", "a controller's Lease of 200 kB, with finalizers, another holder, or a duration of 68 years, that no controller renews", "no barrier opens; if the controller renews it, size and finalizers have no effect", "internal/agent/barrier TestAttack1AForgedLease"},
		{"a Lease of the future", "a Lease of a dead controller, renewed in 2999", "not responding", "internal/cluster TestAttack1ALeaseRenewedInTheFutureIsNoSignOfLife"},
		{"a forged view", "a relayed view with the highest number that would hide other views", "any other view still closes", "internal/gate TestAttack1WhichRelayedViewCloses"},
		{"a forged answer of a relay", "a relayed view with a forged permit: of the latest stamp, another cluster, the future, an earlier term, with wrong headers, or without an end", "opens nothing", "internal/agent/barrier TestAttack1NoForgedViewOpens"},
		{"a relay that floods", "a relayed view with texts of megabytes or hidden characters", "ignored, or visible and short in the log and in Events", "internal/agent/barrier TestAttack1ARelayedViewFloodsNothing"},
		{"old answers", "an API server that is behind: old Pods, rows with UP, and an old report with a permit, also alternating with current ones", "opens nothing while a reporter has another row, or relays a newer view", "internal/agent/barrier TestAttack1OldAnswersOfAnAPIServerOpenNothing"},
		{"a lost disk", "a volume that is not readable, not mounted, a link or full of other files", "no restart", "internal/agent/barrier TestAttack3ALostDiskIsNoRestart"},
		{"a mistyped label", "a mistyped cluster label with the seeds of a running cluster", "no first node", "internal/agent/barrier TestAttack4AMistypedLabelMakesNoFirstNode"},
		{"nobody to ask", "a first node without a controller", "waits", "internal/agent/barrier TestAttack4NobodyIsFirstWithoutALiveController"},
		{"a replayed permit", "a permit of an earlier Pod or volume, of another member, that was withdrawn, of a former leader, of a backup of the report, or used by a node that has joined", "opens nothing, neither the barrier nor the launcher", "internal/agent/barrier TestAttack2AReplayedPermitOpensNothing"},
		{"2,000 seeds of faults", "2,000 simulated runs of faults", "no unsafe join, no second cluster, no endless wait", "test/simulation TestSeeds"},
	}},
	{"Deleting a PVC", []shown{
		{"a deletion that is held back", "a deletion that arrives 5 s or 30 s late, after the node returned", "fails", "controller/replacement TestAttack8ADeletionThatIsHeldBackDoesNotHitANodeThatHasReturned"},
		{"a target that returns", "a target that returns within 3 s of the label", "keeps its PVC", "controller/replacement TestAttack8ATargetThatReturnsRightAfterTheLabelKeepsItsClaim"},
		{"a death of seconds", "all checks skipped", "30 s remain", "internal/replace TestAttack8NobodyOverrulesTheFirstThirtySecondsOfADeath"},
		{"the node returns too late", "a target that returns after its PVC is Terminating", "its Pod stays", "controller/replacement TestAttack8TheNodeReturnsAfterItsClaimWasDeleted"},
		{"a Pod made anew meanwhile", "a Pod that restarts between record and deletion", "its barrier waits", "internal/replace TestAttack8APodThatIsMadeAnewBeforeItsClaimIsDeletedWaits"},
		{"SIGKILL at every request", "SIGKILL before and after each request of the controller", "each PVC is deleted once", "controller/replacement TestKilledAtEveryRequest"},
		{"old answers", "an API server that answers with Pods of before the mark of the PVC, in which a node that has returned is DOWN", "the PVC stays; with Pods of the 3 s after the mark, the Pod stays, and with it the volume", "controller/replacement TestAttack8OldAnswersOfAnAPIServerKeepTheVolume"},
		{"another's address", "`scylla/replace=ADDRESS` of a peer", "refused", "internal/replace TestAttack10TheAddressMustBeItsOwn"},
	}},
	{"Load", []shown{
		{"flapping rows", "rows that change continuously", "one write in 2 s at most", "controller/reports TestAttack9FlappingRowsCostAWriteInTwoSeconds"},
		{"an Event that has expired", "a barrier that waits for hours", "a new Event every 10 minutes at most", "internal/agent/barrier TestAttack9TheEventIsToldAgainWhileItBlocks"},
		{"1,000 nodes", "1,000 nodes: cold start, changes, a new node, a replacement", "fits in 128 Mi, and in 96 MiB at rest", "controller TestAttack9TheControllerOfAThousandNodesInLittleMemory"},
		{"three nodes", "three nodes", "the controller takes 48 MiB at most", "controller TestAttack9TheControllerOfThreeNodesInLittleMemory"},
		{"10,000 connections", "10,000 connections to a reporter that stay open", "it stays within 128 MiB, clients included, and responds to a barrier", "internal/agent/reporter TestNoHarm3TenThousandConnectionsTakeLittleMemory"},
		{"metrics over TLS", "metrics of --metrics-secure without a token, with an invalid token, with one of another account, or over HTTP", "refused", "controller TestMetricsOverTLSForAccountsThatMayGetThem"},
		{"a flip", "a node of 400 fails, and each row changes", "0.03 writes of reports and 4 kB for each row, at most", "controller/reports TestAFlipOfManyRowsCostsFewWrites"},
		{"a readiness gate", "a closed readiness gate while the Kubernetes node is lost", "the row is stale if the Kubernetes node is readable", "internal/cluster TestAttack10AReadinessGateDoesNotHideALostKubernetesNode"},
	}},
}

// alsoText is their part of the document.
func alsoText() string {
	var b strings.Builder
	for _, part := range alsoShown {
		fmt.Fprintf(&b, "\n### %s\n\n", part.heading)
		for _, s := range part.rows {
			fmt.Fprintf(&b, "- %s: %s. `%s`\n", s.tries, s.happens, strings.ReplaceAll(s.test, " ", "."))
		}
	}
	return b.String()
}

// Each row names an existing test, and each test of an attack has a row.
func TestEachAttackHasItsTest(t *testing.T) {
	covers(t)
	named := map[string]bool{}
	for _, part := range alsoShown {
		for _, s := range part.rows {
			if named[s.test] {
				t.Errorf("%s: %s is named twice", s.name, s.test)
			}
			named[s.test] = true
		}
	}
	exists := map[string]bool{}
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel("../../..", filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
				exists[filepath.ToSlash(folder)+" "+f.Name.Name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for test := range named {
		if !exists[test] {
			t.Errorf("there is no %s", test)
		}
	}
}
