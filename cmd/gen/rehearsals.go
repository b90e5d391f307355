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

// rehearsed is the output file of `make rehearse`, in the module.
const rehearsed = "test/e2e/testdata/rehearsals.json"

const (
	// scenarios is their number, from 1.
	scenarios = 16
	// margin is the time in seconds that a kubelet and the test need to detect a change. The page
	// shows it.
	margin = 2.0
)

// timing is one measured time.
type timing struct {
	Rehearsal            int
	Name, What           string
	Documented, Measured float64
}

// rehearsals returns the measured times, a line for each failure. Error: the file cannot be read,
// or a time exceeds its documented limit.
func rehearsals(root string) (string, error) {
	data, err := os.ReadFile(filepath.Join(root, rehearsed))
	if err != nil {
		return "", fmt.Errorf("read what the rehearsals measured: %w", err)
	}
	var times []timing
	if err := json.Unmarshal(data, &times); err != nil {
		return "", fmt.Errorf("read what the rehearsals measured: decode %s: %w", rehearsed, err)
	}
	for number := 1; number <= scenarios; number++ {
		if !slices.ContainsFunc(times, func(t timing) bool { return t.Rehearsal == number }) {
			return "", fmt.Errorf("nothing was measured of rehearsal %d: run make rehearse", number)
		}
	}
	var b strings.Builder
	for i, t := range times {
		if err := t.holds(); err != nil {
			return "", err
		}
		if i == 0 || t.Rehearsal != times[i-1].Rehearsal || t.Name != times[i-1].Name {
			fmt.Fprintf(&b, "%s- %d, %s: ", map[bool]string{true: "\n"}[i > 0], t.Rehearsal, t.Name)
		} else {
			b.WriteString("; ")
		}
		b.WriteString(t.What)
		if t.Measured > 0 {
			b.WriteString(", " + seconds(t.Measured))
		}
		if t.Documented > 0 {
			b.WriteString(" (at most " + seconds(t.Documented) + ")")
		}
	}
	b.WriteString("\n")
	return b.String(), nil
}

// holds returns an error if the measured time exceeds the documented limit.
func (t timing) holds() error {
	if t.Documented > 0 && t.Measured > t.Documented+margin {
		return fmt.Errorf(
			"rehearsal %d (%s): %s took %s, documented are %s at most: find out why, or correct docs/internals.md "+
				"and test/e2e, and give the reason there",
			t.Rehearsal, t.Name, t.What, seconds(t.Measured), seconds(t.Documented))
	}
	return nil
}

func seconds(s float64) string { return time.Duration(s * float64(time.Second)).String() }
