// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const codesHead = `# Codes

Here you find what each code of the output means, which steps follow from it, and which evidence a step requires. ` + "`go run ./cmd/gen`" + ` writes this page from the tables of the program.

*Words in italics* stand for names and values. [Words in brackets] appear only if the value is known. The program prints each command with your names in it and with ` + "`-n NAMESPACE`" + `.
A code has the same meaning in ` + "`-o json`" + `, conditions, Events, metrics and logs.

A step that several codes share has a name, and its text is under [Steps](#steps). The first step that fits applies. If no step fits a finding, the step of its blocker or node applies.
`

// codesPage returns docs/reference/codes.md; used has every code on it.
func codesPage() (text []byte, used map[string]bool) {
	p := &codes{used: map[string]bool{}, times: map[words.Code]int{}}
	p.WriteString(codesHead)
	sections := p.sections()
	for _, s := range sections {
		for _, e := range s.entries {
			for _, step := range e.steps {
				p.count(step)
			}
		}
	}
	for _, step := range append(diagnosis.StepsFor(words.NodeDown), replace.OfPods()...) {
		p.share(step)
	}
	for _, step := range evidence.Steps() {
		p.share(step.Code)
	}
	for _, s := range sections {
		fmt.Fprintf(&p.Builder, "\n## %s\n\n%s\n", s.title, s.about)
		for _, e := range s.entries {
			p.entry(e, s.linked)
		}
	}
	p.nodeSteps()
	p.evidence()
	p.steps()
	return []byte(p.String()), p.used
}

// entry is one code with its steps; node adds the steps of a node.
type entry struct {
	code  words.Code
	steps []words.Code
	node  bool
}

// section has a heading for each code if linked is true.
type section struct {
	title, about string
	entries      []entry
	linked       bool
}

// codes writes the page.
type codes struct {
	strings.Builder
	used map[string]bool
	// times counts the uses of each step, and order has their first uses. A step that is used once
	// is printed with its code.
	times map[words.Code]int
	order []words.Code
}

func (p *codes) count(step words.Code) {
	if p.times[step]++; p.times[step] == 1 {
		p.order = append(p.order, step)
	}
}

// share counts a step as shared, so that it gets its own heading.
func (p *codes) share(step words.Code) {
	p.count(step)
	p.times[step]++
}

func (p *codes) sections() []section {
	findings := section{"Findings", "The first line of `kubectl scylla status`; in JSON `findings[].message.code`.",
		nil, false}
	for _, c := range words.All() {
		if strings.HasPrefix(string(c), "Finding") {
			findings.entries = append(findings.entries, entry{code: c, steps: diagnosis.StepsFor(c)})
		}
	}
	blockers := section{"Blockers",
		"Why a new node waits, most severe first: `kubectl scylla barrier MEMBER -n NAMESPACE`, the log of the " +
			"barrier, Events.", nil, false}
	helps := diagnosis.StepsFor(words.NodeDown)
	for _, c := range append(matrix.Reasons(), words.MemberServiceMissing, words.APIUnreachable,
		words.ReadingIncomplete) {
		steps := diagnosis.StepsFor(c)
		own := slices.DeleteFunc(slices.Clone(steps), func(c words.Code) bool {
			return len(steps) >= len(helps) &&
				slices.Contains(helps, c)
		})
		blockers.entries = append(blockers.entries, entry{c, own, len(own) < len(steps)})
	}
	rows := section{"Why a status report is missing or out of date",
		"The cause of `RowMissing`, `RowError` and `RowStale`.", nil, false}
	for _, c := range words.Rows() {
		rows.entries = append(rows.entries, entry{code: c})
	}
	return []section{
		findings, blockers, rows, pods(),
		group("Checks", "`kubectl scylla check` prints these.", words.OfChecks()),
		group("Replacements",
			"`kubectl scylla replace MEMBER` and `kubectl scylla replace status` print these. [Replace a "+
				"node](../replace-a-node.md) has the procedure.", words.OfReplacements()),
	}
}

// pods returns the causes that Kubernetes or ScyllaDB's log gives for a Pod that does not run.
func pods() section {
	s := section{"Why a Pod does not run",
		"The cause that a finding names for a node that is DOWN, a new node or a replacement, from the status of the Pod, its " +
			"Events, its PVC and its StatefulSet, or from ScyllaDB's log. It has one step, and none deletes data. The texts of the log are under [Evidence](#evidence).", nil, false}
	for _, r := range replace.PodRules() {
		if slices.ContainsFunc(evidence.Table(), func(e evidence.Item) bool { return e.Code == r.Cause }) {
			continue // listed there, with its step
		}
		if n := len(s.entries); n > 0 && s.entries[n-1].code == r.Cause {
			s.entries[n-1].steps = append(s.entries[n-1].steps, r.Step)
			continue
		}
		s.entries = append(s.entries, entry{code: r.Cause, steps: []words.Code{r.Step}})
	}
	return s
}

// group returns the section of a package's codes with steps.
func group(title, about string, steps map[words.Code][]words.Code) section {
	s := section{title, about, nil, true}
	for _, c := range slices.Sorted(maps.Keys(steps)) {
		s.entries = append(s.entries, entry{code: c, steps: steps[c]})
	}
	return s
}

func (p *codes) heading(c words.Code) {
	p.used[string(c)] = true
	fmt.Fprintf(&p.Builder, "\n### %s\n\n", c)
}

// entry writes a code; linked adds a heading, for codes to which the program or a step links.
func (p *codes) entry(e entry, linked bool) {
	if linked {
		p.heading(e.code)
	} else {
		p.used[string(e.code)] = true
		fmt.Fprintf(&p.Builder, "\n**%s** ", e.code)
	}
	p.WriteString(p.says(e.code, nil))
	var named []string
	for _, step := range e.steps {
		if p.times[step] > 1 {
			named = append(named, to(step))
			continue
		}
		p.WriteString("<br>→ " + p.step(step))
	}
	if e.node {
		named = append(named, "[node steps](#node-steps)")
	}
	if len(named) > 0 {
		p.WriteString("<br>→ " + strings.Join(named, ", "))
	}
	p.WriteString("\n")
}

// to returns the link to a code.
func to(c words.Code) string {
	return fmt.Sprintf("[%s](#%s)", c, strings.ToLower(string(c)))
}

func cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "|", `\|`), "\n", " ")
}

// says returns a code's sentence, or the code itself if it has no sentence.
func (p *codes) says(c words.Code, commands []string) string {
	p.used[string(c)] = true
	text, ok := shape(c, commands, italic)
	if !ok {
		return "`" + string(c) + "`"
	}
	return cell(text)
}

func italic(name string) string { return "*" + name + "*" }

// mostCommands is the largest number of commands in one sentence.
const mostCommands = 4

// step returns a step with its commands. The program prints the steps whose commands depend on
// objects (packages replacement and preflight).
func (p *codes) step(c words.Code) string {
	made := (evidence.Facts{}).Commands(c)
	if sentence, _ := words.Sentence(c); len(made) == 0 && !strings.Contains(sentence, "{*}") {
		return p.says(c, slices.Repeat([]string{"*command*"}, mostCommands))
	}
	var commands []string
	for _, command := range made {
		commands = append(commands, "`"+strings.ReplaceAll(words.Shell(command), " -n NAMESPACE", "")+"`")
	}
	return p.says(c, commands)
}

func (p *codes) nodeSteps() {
	var list []string
	for _, c := range diagnosis.StepsFor(words.NodeDown) {
		list = append(list, to(c))
	}
	fmt.Fprintf(&p.Builder,
		"\n## Node steps\n\nThe step for a node that is DOWN, not seen or not responding, in the order in which "+
			"they are tried: %s.\n", strings.Join(list, ", "))
}

const evidenceAbout = `
## Evidence

The program prints a step that deletes a PVC, removes, replaces or excludes a node, or overrides a ban only on evidence from this section: a text or field of ScyllaDB, or a Kubernetes
object that shows where the data is. An exit code, a time or an absent object is not evidence: the program then prints how to find out.

` + "`status`, `barrier`, `report` and `replace`" + ` read these texts from ` + "`kubectl logs POD -c scylla --previous`" + `. File and line are in [ScyllaDB](https://github.com/scylladb/scylladb), master of 2026-08-21, or in the
branch of the last version; branches 5.2 to 2026.3 were read. A node whose request ScyllaDB refused before storing it loses nothing. If that node then stays stopped for more than
60 s, ScyllaDB 6.1 and later bans its host ID: its next start shows ` + "`AlreadyRemoved`" + `.
`

// evidence writes the evidence, grouped by what is lost.
func (p *codes) evidence() {
	p.WriteString(evidenceAbout)
	texts := map[words.Code][]string{}
	for _, k := range scylla.KnownFailures() {
		texts[k.Code] = k.Texts
	}
	type fate struct{ lost, kept words.Code }
	var order []fate
	items := map[fate][]evidence.Item{}
	for _, e := range evidence.Table() {
		f := fate{e.Lost(), e.Kept()}
		if items[f] == nil {
			order = append(order, f)
		}
		items[f] = append(items[f], e)
	}
	for i, f := range order {
		remedies := map[words.Code]string{}
		times := map[string]int{}
		for _, e := range items[f] {
			if texts[e.Code] == nil {
				continue
			}
			remedies[e.Code] = words.Text(scylla.Cure(e.Code))
			for _, s := range sentences(remedies[e.Code]) {
				times[s]++
			}
		}
		// A sentence that most texts share is printed once, before them.
		most := len(remedies) / 2
		var shared []string
		for _, e := range items[f] {
			var own []string
			for _, s := range sentences(remedies[e.Code]) {
				switch {
				case times[s] <= most:
					own = append(own, s)
				case !slices.Contains(shared, s):
					shared = append(shared, s)
				}
			}
			remedies[e.Code] = strings.Join(own, " ")
		}
		fmt.Fprintf(&p.Builder, "\n### Evidence %d\n\n%s. %s.\n", i+1, words.Upper(words.Text(words.New(f.lost))),
			words.Upper(words.Text(words.New(f.kept))))
		if len(shared) > 0 {
			p.WriteString("Unless a text below states otherwise: " + strings.Join(shared, " ") + "\n")
		}
		for _, e := range items[f] {
			p.item(e, texts[e.Code], remedies[e.Code])
		}
	}
}

// sentences splits a text after each full stop.
func sentences(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.ReplaceAll(text, ". ", ".\n"), "\n")
}

func (p *codes) item(e evidence.Item, texts []string, remedy string) {
	p.used[string(e.Code)] = true
	field := cell(e.Field)
	if e.Origin == evidence.Log {
		quoted := make([]string, len(texts))
		for i, text := range texts {
			quoted[i] = "`" + text + "`"
		}
		field = strings.Join(quoted, ", ")
	} else {
		field = string(e.Origin) + ": " + field
	}
	where := make([]string, len(e.Source))
	for i, source := range e.Source {
		file, line, _ := strings.Cut(source, ":")
		if where[i] = source; i > 0 && strings.HasPrefix(e.Source[i-1], file+":") {
			where[i] = ":" + line
		}
	}
	versions := ""
	switch {
	case e.First != "" && e.Last != "":
		versions = "; " + e.First + " to " + e.Last
	case e.First != "":
		versions = "; since " + e.First
	}
	source := cmp.Or("; "+strings.Join(where, ", "), "")
	if len(where) == 0 {
		source = ""
	}
	fmt.Fprintf(&p.Builder, "\n**%s** %s%s%s.", e.Code, field, versions, source)
	if remedy = strings.TrimSpace(remedy); remedy != "" {
		p.WriteString("<br>" + cell(remedy))
	}
	for _, r := range replace.PodRules() {
		if r.Cause == e.Code {
			p.WriteString("<br>→ " + to(r.Step))
		}
	}
	p.WriteString("\n")
}

// steps writes the shared steps, each with the evidence that it requires.
func (p *codes) steps() {
	p.WriteString("\n## Steps\n\nA step with evidence requires one of the named texts, fields or objects.\n")
	var lost []words.Code
	for _, e := range evidence.Table() {
		if e.Origin == evidence.Log && e.Volume == evidence.Lost {
			lost = append(lost, e.Code)
		}
	}
	for _, c := range p.order {
		if p.times[c] == 1 {
			continue
		}
		p.heading(c)
		p.WriteString(p.step(c) + "\n")
		rests := evidence.For(c)
		var named []string
		if containsAll(rests, lost) {
			named = append(named, "a log text of [evidence 1](#evidence-1) or [2](#evidence-2)")
			rests = slices.DeleteFunc(slices.Clone(rests), func(c words.Code) bool { return slices.Contains(lost, c) })
		}
		for _, r := range rests {
			named = append(named, "`"+string(r)+"`")
		}
		if len(named) > 0 {
			p.WriteString("\nEvidence: " + strings.Join(named, ", ") + ".\n")
		}
	}
}

func containsAll(list, all []words.Code) bool {
	return !slices.ContainsFunc(all, func(c words.Code) bool { return !slices.Contains(list, c) })
}
