// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const troubleshootingHead = `# Troubleshooting by symptom

Look for the words that you see. This page is made by ` + "`go run ./cmd/gen`" + ` from the codes, the sentences and the source that states them, so that it says what the
program says. *Words in italics* stand for names and values, [words in brackets] are there only where something is known. NAMESPACE, MEMBER and the like in
commands are yours to fill in; the program prints each command with them filled in.

Start with ` + "`kubectl scylla status -n NAMESPACE`" + `: its first line is the cause, the line with the arrow is what to do.

`

// troubleshooting is docs/troubleshooting.md; used has every code on it.
func troubleshooting(s *source) (page []byte, used map[string]bool) {
	t := &table{used: map[string]bool{}, pairs: map[string][]said{}}
	var texts []said
	for _, p := range s.pairs() {
		if strings.HasPrefix(p.dir, "plugin") || p.dir == "controller" {
			texts = append(texts, p)
		} else {
			t.pairs[p.says] = append(t.pairs[p.says], p)
		}
	}
	t.WriteString(troubleshootingHead)
	t.findings()
	t.reasons(s)
	t.rows()
	t.group("What `kubectl scylla check` finds", "", "preflight")
	t.group("Why a replacement is refused, held up or has failed", "`kubectl scylla replace MEMBER` names each check that is not met, "+
		"`replace status` what an open replacement waits for. The whole procedure: [replacement.md](replacement.md).\n\n", "replacement")
	t.errors(texts)
	t.logs()
	return []byte(t.String()), t.used
}

type table struct {
	strings.Builder
	used  map[string]bool
	pairs map[string][]said
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

// of are the pairs of a statement, each once and in order.
func (t *table) of(says string) []said {
	list := slices.Clone(t.pairs[says])
	key := func(p said) string { return p.cause + "\x00" + p.step + "\x00" + strings.Join(p.commands, "\x00") }
	slices.SortFunc(list, func(a, b said) int { return cmp.Compare(key(a), key(b)) })
	return slices.CompactFunc(list, func(a, b said) bool { return key(a) == key(b) })
}

func (t *table) findings() {
	t.head("The first line of `status`", "What is wrong with the cluster as a whole; codes as in `findings[].message.code` of `-o json`.\n\n", "it says", "code", "do")
	for _, c := range words.All() {
		if !strings.HasPrefix(string(c), "Finding") {
			continue
		}
		steps := t.of(string(c))
		if len(steps) == 0 {
			t.row(t.says(string(c), nil), "`"+string(c)+"`", "the step of [the reason](#why-a-newcomer-waits) or [the node](#what-helps-a-node) behind it")
		}
		for _, p := range steps {
			t.row(t.says(p.says, nil), "`"+p.says+"`", t.says(p.step, p.commands))
		}
		if len(steps) > 0 && slices.Contains(ofNode, string(c)) {
			t.row(t.says(string(c), nil), "`"+string(c)+"`", "else the step of [the node](#what-helps-a-node)")
		}
	}
}

// ofNode are findings that have a step of their own only in some cases.
var ofNode = []string{"FindingNodeDown", "FindingNodeNotServing", "FindingGhost"}

// reasons are those of package matrix, the gravest first, and the barrier's own.
func (t *table) reasons(s *source) {
	t.WriteString("\n")
	t.head("Why a newcomer waits", "`kubectl scylla barrier MEMBER -n NAMESPACE`, the barrier's log and Events say one or more of these. What each means at length: "+
		"[barrier.md](barrier.md#reasons).\n\n", "it says", "code", "because", "do")
	var all []string
	for _, r := range matrix.Reasons() {
		all = append(all, string(r))
	}
	all = append(all, "MemberServiceMissing", "APIUnreachable", "ReadingIncomplete")
	for _, r := range all {
		list := t.of(r)
		if len(list) == 0 {
			t.row(t.says(r, nil), "`"+r+"`", "", "the step of [the node](#what-helps-a-node)")
		}
		for _, p := range list {
			t.row(t.says(r, nil), "`"+r+"`", t.says(p.cause, nil), t.says(p.step, p.commands))
		}
	}
	t.WriteString("\n### What helps a node\n\nOne of these stands beside each node that is DOWN, not seen or silent; which one depends on what else is known of it.\n\n")
	t.row("code", "do")
	t.row("---", "---")
	done := map[string]bool{}
	for _, f := range []string{"nextStep", "downStep", "errorStep"} {
		for _, m := range s.made("matrix", f) {
			if text := t.says(m.code, m.commands); !done[text] {
				done[text] = true
				t.row("`"+m.code+"`", text)
			}
		}
	}
}

func (t *table) rows() {
	t.WriteString("\n")
	t.head("Why a row is missing or old", "What follows `RowMissing`, `RowError` and `RowStale`.\n\n", "it says", "code")
	for _, c := range words.Rows() {
		t.row(t.says(string(c), nil), "`"+string(c)+"`")
	}
}

// group is everything that a package states with a step beside it.
func (t *table) group(title, text, pkg string) {
	t.WriteString("\n")
	t.head(title, text, "it says", "code", "do")
	var all []string
	for says, list := range t.pairs {
		if slices.ContainsFunc(list, func(p said) bool { return strings.HasSuffix(p.dir, "/"+pkg) }) {
			all = append(all, says)
		}
	}
	slices.Sort(all)
	for _, says := range all {
		for i, p := range t.of(says) {
			anchor := ""
			if i == 0 {
				_, name, _ := strings.Cut(words.Link(words.Code(says)), "#")
				anchor = `<a id="` + name + `"></a>`
			}
			t.row(t.says(says, nil), anchor+"`"+says+"`", t.says(p.step, p.commands))
		}
	}
}

func (t *table) errors(texts []said) {
	t.WriteString("\n")
	t.head("What the commands end with", "Errors with a hint. Exit codes: [reference/exit-codes.md](reference/exit-codes.md).\n\n", "error", "do")
	slices.SortFunc(texts, func(a, b said) int { return cmp.Or(cmp.Compare(a.says, b.says), cmp.Compare(a.step, b.step)) })
	for _, p := range slices.CompactFunc(texts, func(a, b said) bool { return a.says == b.says && a.step == b.step }) {
		t.row(cell(p.says), cell(p.step))
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
