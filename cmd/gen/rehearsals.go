// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// rehearsed is what `make rehearse` wrote down, inside the module.
const rehearsed = "test/e2e/testdata/rehearsals.json"

const rehearsalsHead = `# Rehearsals

Made by ` + "`make rehearse`" + `: failures made on purpose, in real Pods of simulated ScyllaDB on three real Kubernetes nodes of one machine. Each one begins with a healthy cluster, makes the failure,
proves that it is there, waits until a controller has judged the cluster after it, watches for 10 s that what must not happen does not happen, and ends with a healthy cluster.

The measured times are those of that one run. The simulated ScyllaDB detects failures, streams and bans four times as fast as a real one does, so a documented time that is ScyllaDB's own
is longer. A dash means that nothing is promised.

| no. | what happens | what is waited for | documented, at most | measured |
|---|---|---|---|---|
`

// rehearsalsPage is docs/rehearsals.md. Error: the measured times cannot be read, or a test that it names does not exist.
func rehearsalsPage(root string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(root, rehearsed))
	if err != nil {
		return nil, fmt.Errorf("read what the rehearsals measured: %w", err)
	}
	var times []struct {
		Rehearsal            int
		Name, What           string
		Documented, Measured float64
	}
	if err := json.Unmarshal(data, &times); err != nil {
		return nil, fmt.Errorf("read what the rehearsals measured: decode %s: %w", rehearsed, err)
	}
	var b strings.Builder
	b.WriteString(rehearsalsHead)
	for _, t := range times {
		documented, measured := "-", "-"
		if t.Documented > 0 {
			documented = seconds(t.Documented)
		}
		if t.Measured > 0 {
			measured = seconds(t.Measured)
		}
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s |\n", t.Rehearsal, cell(t.Name), cell(t.What), documented, measured)
	}
	table, err := proofsTable(root, proofs)
	if err != nil {
		return nil, err
	}
	b.WriteString(table)
	return []byte(b.String()), nil
}

func seconds(s float64) string { return time.Duration(s * float64(time.Second)).String() }
