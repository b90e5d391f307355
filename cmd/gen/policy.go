// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const policyHead = `# Health policy

Here you find every limit by which the controller and the barriers judge a cluster, and the annotation or flag that changes it. ` + "`go run ./cmd/gen`" + ` writes this page from the
constants of the program. The annotations are ` + "`" + api.AnnotationHealthPrefix + "`" + ` with the suffix of the table, on any StatefulSet of the cluster.
[Internals](../internals.md#health-policy) has the rules.

| limit | value | meaning | annotation | flag |
|---|---|---|---|---|
`

// policyPage returns docs/reference/policy.md.
func policyPage() []byte {
	var b strings.Builder
	b.WriteString(policyHead)
	for _, l := range view.Policy() {
		flag, field := "", ""
		if l.Flag != "" {
			flag = "`" + l.Flag + "`"
		}
		if l.Field != "" {
			field = "`" + l.Field + "`: " + bounds(l.Bounds)
		}
		fmt.Fprintf(&b, "| %s | %v | %s | %s | %s |\n", l.Name, l.Value, cell(words.Text(words.New(l.Meaning))), field,
			flag)
	}
	return []byte(b.String())
}

// bounds returns the valid values of an annotation.
func bounds(m words.Message) string {
	if least, ok := m.Params["least"]; ok {
		return fmt.Sprintf("%v to %v", least, m.Params["most"])
	}
	return cell(strings.TrimPrefix(words.Text(m), "give "))
}
