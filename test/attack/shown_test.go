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
	{"What a row may hold", []shown{
		{"a time that no report can say", "a reporter says DOWN since the year 10000, which the report's kind rejects", "its row is malformed and costs itself; the report is written", "controller/reports TestAttack1ATimeThatNoReportCanSayCostsItsRow"},
		{"times at the edges", "times outside the years 1 to 9999, in every spelling and zone", "malformed", "internal/api TestTimesThatNoReportCanSayAreMalformed"},
		{"a host ID that is a command", "`x; touch /tmp/p #` as an observed host ID, and other texts that are no UUID", "malformed", "internal/api TestAttack5AHostIDThatIsNoUUIDMakesItsRowMalformed"},
		{"a row of any bytes", "what a fuzzer finds for the annotation", "decoded, or an error that names the field; never a panic, never UP", "internal/api FuzzNodeStatusReport"},
		{"80,000 empty cells", "one row of 240 kB strips all rows from the report", "that row alone is dropped", "internal/cluster TestAttack6OneRowCannotStripTheOthers"},
		{"a row that is too large", "more cells or bytes than a row may have, and an error or host ID of 200 kB", "malformed, and status stays writable", "internal/api TestAttack6ARowIsBounded"},
		{"a peer's host ID", "a node says that it is another, alive one, to have its Service overwritten", "not recorded, Event HostIDRefused", "controller/members TestAHostIDThatCannotBeTheMembersOwnIsNotRecorded"},
		{"an annotation of nonsense", "one member's annotation cannot be decoded", "it costs that row only", "controller/reports TestAMalformedAnnotationCostsItsRowOnly"},
	}},
	{"What ScyllaDB, or somebody in its place, may answer", []shown{
		{"host IDs that are none", "REST answers with texts for UUIDs", "a row with an error", "internal/scylla TestAttack5AnswersWithoutUUIDsAreARowWithAnError"},
		{"31 MB of answer", "REST answers that do not end, that nest, that repeat", "an error within 64 MiB of memory", "internal/scylla TestHostileAnswersTakeLittleMemory"},
		{"any answer", "what a fuzzer finds for each request", "a row that says UP of nobody without gossip's word", "internal/scylla FuzzReadRow"},
		{"a query file without end", "`launch --query-file /dev/zero`", "an error within 96 MiB", "internal/agent/disk TestQueryFileTakesLittleMemory"},
		{"a reading without a limit", "code that reads what others write, past the one reader that has a limit", "the build fails", "internal/base/bounded TestNothingElseReadsWithoutALimit"},
	}},
	{"What is given to a command", []shown{
		{"copy and paste", "hostile words in every argument of a printed command", "what a POSIX shell reads back is the argument list", "internal/words TestTheShellReadsTheArgumentsBack"},
		{"a hostile host ID on the screen", "status, barrier, replace and report of a cluster that has one", "no command has it unquoted", "internal/show TestAHostileHostIDIsNoCommand"},
		{"hidden characters", "bidi controls, zero width, U+2028, C1 controls", "made visible in every output", "internal/words TestCleanLeavesNothingHidden"},
		{"hidden characters in documents and errors", "the same in JSON, YAML, templates, pages, pictures and errors, which encoders leave as they are", "made visible in every output", "plugin TestAttack5NothingHiddenIsInAnyOutput"},
		{"an error in a file's words", "names and times of saved objects that are a terminal's commands", "made visible in the error", "plugin TestAttack5NothingHiddenIsInAnError"},
		{"a name that is an option, in a file", "Pods, namespaces, labels, containers, claims and Kubernetes nodes of saved objects called `--server=http://evil`, which sends a person's token there", "refused: no API server has such names", "internal/kube TestAttack5AFileHasNoNamesThatAreOptions"},
		{"a name that is an option, in a report", "members of a cluster report called so", "the row stands without a name, and no command has it", "internal/matrix TestAttack5AReportNamesNoOption"},
		{"a large file", "`--from` of a file, pipe or archive that unfolds to gigabytes", "an error that names the limit, within 1 GiB", "internal/kube TestReadTakesLittleMemory"},
		{"a silent pipe", "`--from` of a fifo or standard input to which nobody writes, and SIGINT", "exit code 130 at once", "plugin TestAttack6InterruptWhileReadingSavedObjects"},
		{"an archive that is none", "links, paths that leave it, other formats", "refused", "internal/support TestOpenRefuses"},
		{"a secret in a log", "passwords and tokens in logs, Events and YAML of an archive", "none is left", "internal/support TestNoSecretSurvives"},
		{"a secret in a field", "nine kinds in every object of which an archive is made", "none is in it", "plugin/report TestArchiveHoldsNoSecret"},
	}},
	{"How a barrier is opened", []shown{
		{"a renewed Lease", "the controller leads and renews, and nobody keeps the report", "no barrier opens on it", "internal/agent/barrier TestAttack1ARenewedLeaseIsNotAKeptReport"},
		{"admission rejects the report", "a quota or a policy refuses one kind, on a real API server", "the Lease is given up within 15 s, the controller is not ready, condition ReportsKept says why", "controller TestAttack1And2BarriersTrustOnlyWhatIsKept"},
		{"the same in real Pods", "rejected reports, stalled watches, a deletion that is held back", "no barrier opens, no claim is deleted, status says so", "test/e2e TestAttack1And8BehindAProxyThatBreaks"},
		{"a Lease that was given up", "status is asked in the half minute before it lapses", "the controller is silent: not HEALTHY", "internal/cluster TestAttack1ALeaseThatWasGivenUpIsSilentAtOnce"},
		{"a Lease of the future", "a Lease that was renewed in the year 2999 by a controller that is dead", "the controller is silent", "internal/cluster TestAttack1ALeaseRenewedInTheFutureIsNoSignOfLife"},
		{"a forged view", "a member hands on a view of the highest number there is, in favour of a start, to hide what the others hand on", "the graver word counts: what any of them hands on closes", "internal/agent/barrier TestAttack1AForgedViewHidesNoOtherRelaysView"},
		{"a lost disk", "a volume that cannot be read, is not mounted, is a link, holds other files", "no restart; what could not be looked into blocks", "internal/agent/barrier TestAttack3ALostDiskIsNoRestart"},
		{"a mistyped label", "a Service of another cluster's name, with seeds of the living one", "no first node", "internal/agent/barrier TestAttack4AMistypedLabelMakesNoFirstNode"},
		{"nobody to ask", "a first node without a controller that keeps its cluster", "it waits", "internal/agent/barrier TestAttack4NobodyIsFirstWithoutALiveController"},
		{"2,000 seeds of faults", "kills, rollouts, partitions, clocks that differ, messages that are lost or late, controllers that change, and requests that are dropped, held back, rejected or stalled", "no unsafe join, no second cluster, no wait for ever, no view going backwards", "test/simulation TestSeeds"},
	}},
	{"How a claim is deleted", []shown{
		{"a deletion that is held back", "DELETE arrives 5 s or 30 s late, and the node is back", "it does not fit any more", "controller/replacement TestAttack8ADeletionThatIsHeldBackDoesNotHitANodeThatHasReturned"},
		{"a target that returns", "it is back within 0.1 to 3 s of the label", "it keeps its claim", "controller/replacement TestAttack8ATargetThatReturnsRightAfterTheLabelKeepsItsClaim"},
		{"a death of seconds", "a person overrules every check", "30 s remain", "internal/replace TestAttack8NobodyOverrulesTheFirstThirtySecondsOfADeath"},
		{"the node returns too late", "its claim is Terminating already", "its Pod stays, and it is said how the data is saved", "controller/replacement TestAttack8TheNodeReturnsAfterItsClaimWasDeleted"},
		{"a Pod made anew meanwhile", "the Pod restarts between record and deletion", "its barrier holds it as it held the recorded one", "internal/replace TestAttack8APodThatIsMadeAnewBeforeItsClaimIsDeletedWaits"},
		{"SIGKILL at every request", "the controller dies before and after each request of a replacement", "each claim is deleted once, the replacement ends", "controller/replacement TestKilledAtEveryRequest"},
		{"another's address", "`scylla/replace=ADDRESS` of a peer", "refused", "internal/replace TestAttack10TheAddressMustBeItsOwn"},
	}},
	{"What endures", []shown{
		{"flapping rows", "rows that change all the time", "a write in 2 s at most", "controller/reports TestAttack9FlappingRowsCostAWriteInTwoSeconds"},
		{"an Event that has expired", "a barrier waits for hours", "it is told again, each 10 minutes at most", "internal/agent/barrier TestAttack9TheEventIsToldAgainWhileItBlocks"},
		{"1,000 nodes", "a cold start, a change of every row, a node added and a replacement in a control group of 256 Mi", "nobody is ended for want of memory", "controller TestAttack9TheControllerOfAThousandNodesInLittleMemory"},
		{"a readiness gate", "it is shut, and its Kubernetes node is lost", "its row is old where the node was read", "internal/cluster TestAttack10AReadinessGateDoesNotHideALostKubernetesNode"},
	}},
}

// alsoText is their part of the document.
func alsoText() string {
	var b strings.Builder
	b.WriteString("\n## What else was tried\n\nEach row has the test that makes the attack; `go test ./test/attack` fails where one of them is gone.\n")
	for _, part := range alsoShown {
		fmt.Fprintf(&b, "\n### %s\n\n| attack | what it tries | what happens | test |\n|---|---|---|---|\n", part.heading)
		for _, s := range part.rows {
			fmt.Fprintf(&b, "| %s | %s | %s | `%s` |\n", s.name, s.tries, s.happens, s.test)
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
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
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
		folder, err := filepath.Rel("../..", filepath.Dir(path))
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
