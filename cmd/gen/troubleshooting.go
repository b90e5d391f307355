// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const troubleshootingHead = `# Troubleshooting by symptom

Look for the words that you see. This page is made by ` + "`go run ./cmd/gen`" + ` from the tables of codes, sentences and steps that the program uses, so that it says what the
program says. *Words in italics* stand for names and values, [words in brackets] are there only where something is known. NAMESPACE, MEMBER and the like in
commands are yours to fill in; the program prints each command with them filled in.

Start with ` + "`kubectl scylla status -n NAMESPACE`" + `: its first line is the cause, the line with the arrow is what to do.

`

// troubleshooting is docs/troubleshooting.md; used has every code on it.
func troubleshooting() (page []byte, used map[string]bool) {
	t := &table{used: map[string]bool{}}
	t.WriteString(troubleshootingHead)
	t.findings()
	t.reasons()
	t.rows()
	t.group("What `kubectl scylla check` finds", "", words.OfChecks())
	t.group("Why a replacement is refused, held up or has failed", "`kubectl scylla replace MEMBER` names each check that is not met, "+
		"`replace status` what an open replacement waits for. The whole procedure: [replacement.md](replacement.md).\n\n", words.OfReplacements())
	t.logs()
	return []byte(t.String()), t.used
}

type table struct {
	strings.Builder
	used map[string]bool
}

func cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "|", `\|`), "\n", " ")
}

// says is a code's sentence; a code without one is shown itself.
func (t *table) says(c string, commands []string) string {
	if c == "" {
		return ""
	}
	t.used[c] = true
	quoted := make([]string, len(commands))
	for i, command := range commands {
		quoted[i] = "`" + command + "`"
	}
	text, ok := shape(words.Code(c), quoted, func(name string) string { return "*" + name + "*" })
	if !ok {
		return "`" + c + "`"
	}
	return cell(text)
}

func (t *table) row(cells ...string) { _, _ = fmt.Fprintf(t, "| %s |\n", strings.Join(cells, " | ")) }

func (t *table) head(title, text string, columns ...string) {
	_, _ = fmt.Fprintf(t, "## %s\n\n%s", title, text)
	t.row(columns...)
	t.row(slices.Repeat([]string{"---"}, len(columns))...)
}

// mostCommands is how many commands one sentence can name.
const mostCommands = 4

// steps are the steps of a statement, the one that is tried first at the beginning.
func (t *table) steps(codes []words.Code) string {
	var out []string
	for _, c := range codes {
		out = append(out, t.step(c))
	}
	return strings.Join(out, "<br>or: ")
}

// step is a step with its commands; those that package replace or preflight makes of the objects are left to the program.
func (t *table) step(c words.Code) string {
	var commands []string
	if sentence, _ := words.Sentence(c); len(evidence.Facts{}.Commands(c)) == 0 && !strings.Contains(sentence, "{*}") {
		t.used[string(c)] = true
		text, _ := shape(c, slices.Repeat([]string{"*command*"}, mostCommands), func(name string) string { return "*" + name + "*" })
		return cell(text)
	}
	for _, command := range (evidence.Facts{}).Commands(c) {
		commands = append(commands, words.Shell(command))
	}
	return t.says(string(c), commands)
}

func (t *table) findings() {
	t.head("The first line of `status`", "What is wrong with the cluster as a whole; codes as in `findings[].message.code` of `-o json`.\n\n", "it says", "code", "do")
	const behind = "the step of [the reason](#why-a-newcomer-waits) or [the node](#what-helps-a-node) behind it"
	for _, c := range words.All() {
		if !strings.HasPrefix(string(c), "Finding") {
			continue
		}
		steps := diagnosis.StepsFor(c)
		do := t.steps(steps)
		switch {
		case len(steps) == 0:
			do = behind
		case len(steps) > 1:
			do += "<br>else " + behind
		}
		t.row(t.says(string(c), nil), "`"+string(c)+"`", do)
	}
}

// reasons are those of package matrix, the gravest first, and the barrier's own.
func (t *table) reasons() {
	t.WriteString("\n")
	t.head("Why a newcomer waits", "`kubectl scylla barrier MEMBER -n NAMESPACE`, the barrier's log and Events say one or more of these. What each means at length: "+
		"[barrier.md](barrier.md#reasons).\n\n", "it says", "code", "do")
	helps := diagnosis.StepsFor(words.NodeDown)
	for _, r := range append(matrix.Reasons(), words.MemberServiceMissing, words.APIUnreachable, words.ReadingIncomplete) {
		steps := diagnosis.StepsFor(r)
		own := slices.DeleteFunc(slices.Clone(steps), func(c words.Code) bool { return len(steps) >= len(helps) && slices.Contains(helps, c) })
		do := t.steps(own)
		if len(own) < len(steps) {
			do = strings.TrimPrefix(do+"<br>else the step of [the node](#what-helps-a-node)", "<br>else ")
		}
		t.row(t.says(string(r), nil), "`"+string(r)+"`", do)
	}
	t.WriteString("\n### What helps a node\n\nOne of these stands beside each node that is DOWN, not seen or silent; the first that fits what is known of it.\n\n")
	t.row("code", "do")
	t.row("---", "---")
	for _, c := range helps {
		t.row("`"+string(c)+"`", t.step(c))
	}
}

func (t *table) rows() {
	t.WriteString("\n")
	t.head("Why a row is missing or old", "What follows `RowMissing`, `RowError` and `RowStale`.\n\n", "it says", "code")
	for _, c := range words.Rows() {
		t.row(t.says(string(c), nil), "`"+string(c)+"`")
	}
}

// group are the statements of a package that have a step.
func (t *table) group(title, text string, steps map[words.Code][]words.Code) {
	t.WriteString("\n")
	t.head(title, text, "it says", "code", "do")
	for _, says := range slices.Sorted(maps.Keys(steps)) {
		_, anchor, _ := strings.Cut(words.Link(says), "#")
		t.row(t.says(string(says), nil), `<a id="`+anchor+`"></a>`+"`"+string(says)+"`", t.steps(steps[says]))
	}
}

func (t *table) logs() {
	t.WriteString("\n")
	t.head("What ScyllaDB logs when it cannot join", "`kubectl logs POD -c scylla --previous -n NAMESPACE`; `status`, `barrier` and `report` read it themselves, and "+
		"`replace` too. *Lost* means that ScyllaDB never starts again on that volume; versions and sources: [evidence.md](evidence.md).\n\n", "ScyllaDB says", "code", "the volume", "cause and cure")
	for _, k := range scylla.KnownFailures() {
		volume := string(evidence.VolumeOf(k.Code))
		quoted := make([]string, len(k.Texts))
		for i, text := range k.Texts {
			quoted[i] = "`" + text + "`"
		}
		t.row(strings.Join(quoted, "<br>"), "`"+string(k.Code)+"`", volume, cell(words.Text(scylla.Cure(k.Code))))
	}
}
