// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const evidenceHead = `# Evidence for steps that cannot be undone

The program prints a step that deletes a claim, removes, replaces or excludes a node, or overrides a ban only on one of these: ScyllaDB's own texts and fields, or Kubernetes objects that
show where the data is. An exit code, a time or something that is missing is not enough: then it prints how to find out. This page is made by ` + "`go run ./cmd/gen`" + `.

Sources are files of [ScyllaDB](https://github.com/scylladb/scylladb), master of 2026-08-21, or the branch of the last version. Branches read: 5.2, 5.4, 6.0 to 6.2, 2025.1 to 2025.4, 2026.1 to 2026.3.

A node whose request was refused before it was stored loses nothing by that. If it stays stopped for longer than 60 s, ScyllaDB 6.1 and later bans its host ID all the same; its next
start says so (AlreadyRemoved).

`

// evidencePage is docs/evidence.md.
func evidencePage() []byte {
	t := &table{used: map[string]bool{}}
	t.WriteString(evidenceHead)
	t.head("The evidence", "", "code", "text or field", "versions", "source", "lost", "not lost")
	texts := map[words.Code][]string{}
	for _, k := range scylla.KnownFailures() {
		texts[k.Code] = k.Texts
	}
	for _, e := range evidence.Table() {
		field := e.Field
		if e.Origin == evidence.Log {
			quoted := make([]string, len(texts[e.Code]))
			for i, text := range texts[e.Code] {
				quoted[i] = "`" + text + "`"
			}
			field = strings.Join(quoted, "<br>")
		}
		versions := ""
		if e.First != "" {
			versions = e.First + " to " + e.Last
		}
		t.row(fmt.Sprintf("`%s`", e.Code), string(e.Origin)+": "+cell(field), strings.TrimSuffix(versions, " to ")+map[bool]string{true: " and later"}[e.First != "" && e.Last == ""],
			strings.Join(e.Source, "<br>"), words.Text(words.New(e.Lost())), words.Text(words.New(e.Kept())))
	}
	t.WriteString("\n")
	t.head("The steps", "Each needs one piece of its evidence.\n\n", "step", "it says", "evidence")
	for _, step := range evidence.Steps() {
		rests := make([]string, len(step.Rests))
		for i, c := range step.Rests {
			rests[i] = "`" + string(c) + "`"
		}
		t.row("`"+string(step.Code)+"`", t.step(step.Code), strings.Join(rests, ", "))
	}
	return []byte(t.String())
}
