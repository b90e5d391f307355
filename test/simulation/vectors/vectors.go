// SPDX-License-Identifier: Apache-2.0

// Package vectors reads the recorded cases in its own directory. It imports nothing of the product.
package vectors

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/hostids"
)

//go:embed *.json *.gz
var files embed.FS

// Read decodes a file of cases. Short texts that stand for host IDs become UUIDs.
func Read(t testing.TB, name string, into any) {
	t.Helper()
	data, err := files.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(hostids.UUIDs(string(data))), into); err != nil {
		t.Fatalf("decode %s: %v", name, err)
	}
}

// BarrierCase is one situation at a barrier, with the answers of the operator's barrier and of ours: opens, waits, refuses, or "ends with an error, again and again".
type BarrierCase struct {
	// ID is the situation in words, or the ID of a recorded case; Source is "situation", or the file of that case.
	ID, Source     string
	Operator, Ours string
	// Reason is the code of our first blocker. Row and Why are the situation and the reason of the difference in the words of docs/scylla-operator.md, which several cases
	// may share; the answers differ exactly where a case has them.
	Reason, Row, Why string
	// Status is the exit code of kubectl scylla status. Outside is the answer of kubectl scylla barrier, and Saved its answer for saved objects, where it is not Ours.
	Status         int
	Outside, Saved string
}

// Barrier are the barrier's cases of a source in the order of the file, or all of them.
func Barrier(t testing.TB, source string) []BarrierCase {
	t.Helper()
	var cases []BarrierCase
	Read(t, "barrier-cases.json", &cases)
	named := map[string]bool{}
	return slices.DeleteFunc(cases, func(c BarrierCase) bool {
		if named[c.ID] || (c.Operator != c.Ours) != (c.Row != "" && c.Why != "") {
			t.Errorf("case %q: twice %t, the operator's barrier %s, ours %s, row %q, why %q", c.ID, named[c.ID], c.Operator, c.Ours, c.Row, c.Why)
		}
		named[c.ID] = true
		return source != "" && c.Source != source
	})
}

// Oracle are the drawn cases of the precondition, each decoded as a Case.
func Oracle[Case any](t testing.TB) []Case {
	t.Helper()
	data, err := files.ReadFile("precondition-oracle.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	var cases []Case
	for d := json.NewDecoder(strings.NewReader(hostids.UUIDs(string(text)))); d.More(); {
		var c Case
		if err := d.Decode(&c); err != nil {
			t.Fatalf("decode oracle case %d: %v", len(cases)+1, err)
		}
		cases = append(cases, c)
	}
	return cases
}
