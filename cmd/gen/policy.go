// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/code"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const policyHead = `# Health policy

Made by ` + "`go run ./cmd/gen`" + ` from the constants of internal/view.

The limits of time by which nodes are judged. They are constants of the program but where a flag is named.

| limit | value | meaning | changed by |
|---|---|---|---|
`

const policyTail = `
A node that has been DOWN for as long is named by condition ` + "`NodeReplaceable`" + ` of the cluster's ` + "`ScyllaDBStatusReport`" + ` and by an Event, with the command that replaces it:
when most of the other members say so in fresh rows and none says otherwise, it has no row of its own that counts, the cluster is not in parts, and nothing
else is known of it that forbids it. No controller replaces or removes a node by itself: ScyllaDB bans a removed host ID for ever.
`

// policyPage is docs/health-policy.md.
func policyPage() []byte {
	var b strings.Builder
	b.WriteString(policyHead)
	for _, l := range view.Policy() {
		flag := "-"
		if l.Flag != "" {
			flag = "`" + l.Flag + "`"
		}
		fmt.Fprintf(&b, "| %s | %v | %s | %s |\n", l.Name, l.Value, cell(words.Text(code.New(l.Meaning))), flag)
	}
	b.WriteString(policyTail)
	return []byte(b.String())
}
