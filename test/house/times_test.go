// SPDX-License-Identifier: Apache-2.0

package house

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"strings"
	"testing"
)

const (
	mostPackage = 20.0 // seconds of the unit tests of a package, on two cores that are idle else
	mostTest    = 5.0
)

// slow are the packages, and the tests as "PACKAGE TEST", that may take longer, each with the reason.
var slow = map[string]struct {
	most float64
	why  string
}{
	"controller/replacement TestKilledAtEveryRequest":            {8, "the controller ends after each of its requests in turn"},
	"controller/replacement TestResumeKilledAtEveryRequest":      {10, "the command ends after each of its requests in turn"},
	"plugin/inject TestLiveDiesAfterEveryWrite":                  {20, "the command ends after each of more than 30 writes in turn, and goes on"},
	"plugin/inject TestLiveUndoDiesAfterEveryWrite":              {16, "the same on the way back"},
	"plugin/report TestArchiveShowsWhatWasLive":                  {10, "every verb, live and from the archive"},
	"test/e2e/doors TestDoorWithoutACluster":                     {20, "links the program that the README's commands run"},
	"test/simulation/scenes TestLiveFileAndArchiveAreOneCluster": {12, "every scene through three sources"},
	"test/simulation TestSeeds":                                  {15, "100 seeds by each of two policies"},
}

// TestUnitTestsAreFast reads what `make proof-record` has recorded of an idle machine: a test that
// measured itself would fail where the machine is busy.
func TestUnitTestsAreFast(t *testing.T) {
	f, err := os.Open("../run/proof/ledger.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	type entry struct {
		Commit, Unit string
		Seconds      float64
	}
	last := map[string]entry{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		if name, ok := strings.CutPrefix(e.Unit, "time "); ok {
			last[name] = e
			// A test that is fast by now is not recorded again.
			maps.DeleteFunc(last, func(other string, old entry) bool {
				return strings.HasPrefix(other, name+" ") && old.Commit != e.Commit
			})
		}
	}
	for name, e := range last {
		seconds, most := e.Seconds, mostPackage
		if strings.Contains(name, " ") {
			most = mostTest
		}
		switch excuse, ok := slow[name]; {
		case seconds > max(most, excuse.most):
			t.Errorf("%s takes %.1f s, more than %.0f: make it faster, or give the reason in the list", name, seconds, max(most, excuse.most))
		case ok && seconds <= most:
			t.Errorf("%s takes %.1f s: take it out of the list", name, seconds)
		}
	}
	for name := range slow {
		if _, ok := last[name]; !ok {
			t.Errorf("%s is in the list, and the ledger has no time of it: take it out", name)
		}
	}
}
