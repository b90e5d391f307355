// SPDX-License-Identifier: Apache-2.0

package harm

import (
	"encoding/json"
	"html"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/scenes"
)

// document is what a person may count in the JSON of a cluster.
type document struct {
	TakenAt time.Time
	Counts  struct{ Nodes, Up, Problems, Blockers, Newcomers int }
	Nodes   []struct{ Member string }
	Blockers,
	Newcomers []struct {
		Member   string
		More     int
		Blockers int
	}
	Findings []finding
}

type finding struct {
	Since   time.Time
	Message struct{ Text string }
	Remark  bool
	Step    *step
}

type step struct {
	Text     string
	Commands []struct{ Shell string }
}

// TestTextAndJSONHaveTheSameNumbers: what a screen counts is what the documents count, in every sample and saved cluster.
func TestTextAndJSONHaveTheSameNumbers(t *testing.T) {
	compared := map[string]int{}
	for name, src := range cases(t) {
		do := func(args ...string) string {
			run := src.run
			run.Args = append(args, run.Args...)
			return run.Do(t).Stdout
		}
		read := func(verb string) (items []document) {
			var list struct{ Items []document }
			if err := json.Unmarshal([]byte(do(verb, "-o", "json")), &list); err != nil {
				t.Errorf("%s: %s: %v", name, verb, err)
			}
			return list.Items
		}
		same := func(what string, text, json int) {
			t.Helper()
			if compared[what]++; text != json {
				t.Errorf("%s: %s: %d in the text, %d in the JSON", name, what, text, json)
			}
		}
		docs, text := read("status"), do("status", "--all")
		if len(docs) != 1 {
			continue
		}
		d := docs[0]
		for _, report := range read("report") {
			if diff := cmp.Diff(d.Counts, report.Counts) + cmp.Diff(d.Findings, report.Findings); diff != "" {
				t.Errorf("%s: (-status +report)\n%s", name, diff)
			}
		}
		if len(d.Findings) > 0 && !d.Findings[0].Remark {
			_, cause, _ := strings.Cut(d.Findings[0].Message.Text, ": ")
			html := html.UnescapeString(do("report", "-o", "html"))
			if compared["page"]++; !strings.Contains(html, cause) {
				t.Errorf("%s: the page does not say: %s\n%s", name, cause, html)
			}
		}
		for what, json := range map[string]int{
			`(?m)^Blockers \((\d+)\)`: d.Counts.Blockers, `(?m)^New nodes \((\d+)\)`: d.Counts.Newcomers, `(\d+) of \d+ nodes? seen UP`: d.Counts.Up,
			`\d+ of (\d+) nodes? seen UP`: d.Counts.Nodes, `; and (\d+) more problems?`: d.Counts.Problems - 1,
		} {
			if m := regexp.MustCompile(what).FindStringSubmatch(text); m != nil {
				n, _ := strconv.Atoi(m[1])
				same(what, n, json)
			}
		}
		total := 0
		for _, b := range d.Blockers {
			total += 1 + b.More
		}
		same("blockers[]", total, d.Counts.Blockers)
		same("newcomers[]", len(d.Newcomers), d.Counts.Newcomers)
		same("lines for awk", strings.Count(do("status", "--no-headers"), "\n"), len(d.Nodes))
		for _, n := range d.Newcomers {
			if line := strings.Fields(do("barrier", n.Member, "--no-headers")); len(line) == 7 {
				blockers, _ := strconv.Atoi(line[5])
				same("blockers of a new node", blockers, n.Blockers)
			}
			if m := regexp.MustCompile(`(?m)^Blockers \((\d+)\)`).FindStringSubmatch(do("barrier", n.Member, "-o", "wide")); m != nil {
				blockers, _ := strconv.Atoi(m[1])
				same("its screen", blockers, n.Blockers)
			}
		}
		for _, f := range d.Findings {
			if age := words.Ago(f.Since, d.TakenAt); !f.Since.IsZero() && !d.TakenAt.IsZero() && !strings.Contains(text, " "+age) {
				t.Errorf("%s: no age %s in\n%s", name, age, text)
			}
			if f.Step == nil || f.Step.Commands == nil {
				t.Errorf("%s: a finding has no step, or no list of commands", name)
			}
		}
	}
	if len(compared) < 10 {
		t.Errorf("too little is compared: %v", compared)
	}
}

// called matches a screen of docs/on-call.md.
var called = regexp.MustCompile(`(?s)<!-- call ([a-z ]+) -->\n.*?<!-- end -->`)

// table begins after the findings.
var table = regexp.MustCompile(`(?m)^\d+ of \d+ nodes`)

// TestTheScreensOfTheOnCallPage: each section about a frequent call shows what status prints for it; -update writes it.
func TestTheScreensOfTheOnCallPage(t *testing.T) {
	const page = "../../../../docs/on-call.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	calls, shown := scenes.Calls(), map[string]bool{}
	want := called.ReplaceAllStringFunc(string(text), func(block string) string {
		name := called.FindStringSubmatch(block)[1]
		call, known := calls[name]
		if !known {
			t.Fatalf("no call %q", name)
		}
		shown[name] = true
		got := plugintest.Run{Args: []string{"status", "-n", "demo"}, Objects: call.Objects, Logs: call.Logs, Terminal: cli.Terminal{Out: true, Width: 80, Height: 60}}.Do(t)
		first := got.Stdout[:table.FindStringIndex(got.Stdout)[0]]
		var b strings.Builder
		for line := range strings.Lines("$ kubectl scylla status -n demo\n" + first) {
			b.WriteString(strings.TrimRight("    "+line, " \n") + "\n")
		}
		return "<!-- call " + name + " -->\n\n" + b.String() + "\n<!-- end -->"
	})
	for name := range calls {
		if !shown[name] {
			t.Errorf("call %q has no screen in %s", name, page)
		}
	}
	if plugintest.Updating() {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(text), want); diff != "" {
		t.Errorf("%s differs; run with -update if that is wanted (-want +got):\n%s", page, diff)
	}
}
