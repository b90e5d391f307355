// SPDX-License-Identifier: Apache-2.0

// Package vectors reads the recorded cases in its own directory. It imports nothing of the product.
package vectors

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
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
	var cases []Case
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var c Case
		if err := json.Unmarshal([]byte(hostids.UUIDs(lines.Text())), &c); err != nil {
			t.Fatalf("decode oracle line %d: %v", len(cases)+1, err)
		}
		cases = append(cases, c)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return cases
}
