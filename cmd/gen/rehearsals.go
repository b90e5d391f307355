// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// rehearsed is what `make rehearse` wrote down, inside the module.
const rehearsed = "test/e2e/testdata/rehearsals.json"

const rehearsalsHead = `# Rehearsals

Made by ` + "`make rehearse`" + `: failures made on purpose, in real Pods of simulated ScyllaDB on three real Kubernetes nodes of one machine. Each one begins with a healthy cluster, makes the failure,
proves that it is there, waits until a controller has judged the cluster after it, watches for 10 s that what must not happen does not happen, and ends with a healthy cluster.

All of the 16 scenarios are here, and all of them run in real Pods: Pods are cut off from each other in their network namespaces, and processes frozen by SIGSTOP. In 6 and 8 the barrier reads through a proxy in its
own Pod, which goes on to answer with the reports that it had: that is what being cut off from the controller is for a barrier, which reads nothing but the API server and its peers.

The measured times are those of runs on one busy machine of two cores. A documented time is computed from the defaults ([availability.md](availability.md#how-long-it-takes)). ` + "`go run ./cmd/gen`" + ` fails where a
measured time is more than 2 s beyond the documented one, which is what a kubelet and the test take to see a change. The simulated ScyllaDB detects failures, streams and bans four times as fast as a real one does, so a documented time that is ScyllaDB's own
is longer. A dash means that nothing is promised.

| no. | what happens | what is waited for | documented, at most | measured |
|---|---|---|---|---|
`

const (
	// scenarios is how many there are, from 1.
	scenarios = 16
	// margin, in seconds, is what a kubelet and the test take to see a change. It is stated on the page.
	margin = 2.0
)

// timing is one line of them.
type timing struct {
	Rehearsal            int
	Name, What           string
	Documented, Measured float64
}

// rehearsalsPage is docs/rehearsals.md. Error: the measured times cannot be read, or a test that it names does not exist.
func rehearsalsPage(root string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(root, rehearsed))
	if err != nil {
		return nil, fmt.Errorf("read what the rehearsals measured: %w", err)
	}
	var times []timing
	if err := json.Unmarshal(data, &times); err != nil {
		return nil, fmt.Errorf("read what the rehearsals measured: decode %s: %w", rehearsed, err)
	}
	for number := 1; number <= scenarios; number++ {
		if !slices.ContainsFunc(times, func(t timing) bool { return t.Rehearsal == number }) {
			return nil, fmt.Errorf("nothing was measured of rehearsal %d: run make rehearse", number)
		}
	}
	var b strings.Builder
	b.WriteString(rehearsalsHead)
	for _, t := range times {
		if err := t.holds(); err != nil {
			return nil, err
		}
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

// holds is an error where the measured time breaks the documented one.
func (t timing) holds() error {
	if t.Documented > 0 && t.Measured > t.Documented+margin {
		return fmt.Errorf("rehearsal %d (%s): %s took %s, documented are %s at most: find out why, or correct docs/availability.md and test/e2e, and say why there",
			t.Rehearsal, t.Name, t.What, seconds(t.Measured), seconds(t.Documented))
	}
	return nil
}

func seconds(s float64) string { return time.Duration(s * float64(time.Second)).String() }
