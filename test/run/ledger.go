// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

const (
	ledgerPath = "test/run/proof/ledger.jsonl" // committed
	proofPath  = "bin/proof.jsonl"             // of this checkout, as results come
	testPath   = "bin/test.jsonl"              // each test of the last make test
)

// entry is one result of one unit of the proof.
type entry struct {
	Commit  string  `json:"commit"`
	Unit    string  `json:"unit"`
	Key     string  `json:"key"` // of the unit's inputs
	Seconds float64 `json:"seconds"`
	Verdict verdict `json:"verdict"`
	Machine string  `json:"machine"`
}

// flaky is a pass after a failure of the same inputs. It is not green.
const flaky verdict = "flaky"

// book is all results that are known, in their order.
type book []entry

// verdict of a unit with these inputs; empty where it has no result.
func (b book) verdict(unit, key string) verdict {
	var v verdict
	for _, e := range b {
		if e.Unit != unit || e.Key != key {
			continue
		}
		switch {
		case v == fail && e.Verdict == pass || v == flaky || e.Verdict == flaky:
			v = flaky
		default:
			v = e.Verdict
		}
	}
	return v
}

// lastCommit is that of the last entry; empty for an empty book.
func (b book) lastCommit() string {
	if len(b) == 0 {
		return ""
	}
	return b[len(b)-1].Commit
}

func readBook(files ...string) (book, error) {
	var all book
	for _, name := range files {
		b, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("read results: %w", err)
		}
		for d := json.NewDecoder(bytes.NewReader(b)); ; {
			var e entry
			if err := d.Decode(&e); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("read %s: %w; remove the broken line", name, err)
			}
			all = append(all, e)
		}
	}
	return all, nil
}

// write appends entries to a file.
func write(name string, entries ...entry) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	enc := json.NewEncoder(f)
	for _, e := range entries {
		if err = enc.Encode(e); err != nil {
			break
		}
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// timings are what the unit tests of the last `make test` took, if the machine had little else to
// do: each package, and each test of 5 s and more. A house test bounds them.
func timings(ctx context.Context, in *inputs) ([]entry, error) {
	b, err := os.ReadFile(testPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	results, err := timed(b)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w; run make test again", testPath, err)
	}
	units := in.tested(func(name string, p *listed) bool { return name != endToEnd && !needsServer(name, p) })
	var out []entry
	commit, host := head(ctx), machine()
	for _, r := range results {
		if slices.Contains(units, r.Package) {
			name := strings.TrimSpace("time " + r.Package + " " + r.Test)
			out = append(out, entry{commit, name, in.ofTests("time", r.Package), r.Seconds, pass, host})
		}
	}
	return out, nil
}

// timed are the results whose seconds say how fast a test is: passes of packages that ran in this
// run, while the machine had little else to do. A package comes after its tests.
func timed(log []byte) ([]result, error) {
	const slow = 5.0
	var out []result
	tests := map[string][]result{}
	for d := json.NewDecoder(bytes.NewReader(log)); ; {
		var r result
		if err := d.Decode(&r); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		counts := r.Verdict == pass && r.Load <= float64(2*runtime.NumCPU())
		if r.Test != "" {
			if counts && r.Seconds >= slow && !strings.Contains(r.Test, "/") {
				tests[r.Package] = append(tests[r.Package], r)
			}
			continue
		}
		if counts && !r.Cached {
			out = append(append(out, tests[r.Package]...), r)
		}
		delete(tests, r.Package)
	}
}

// record appends the results of this checkout that the ledger lacks, as far as their units still
// have the same inputs.
func record(ctx context.Context, out io.Writer) error {
	in, units, err := proofUnits(ctx)
	if err != nil {
		return err
	}
	timed, err := timings(ctx, in)
	if err != nil {
		return err
	}
	known, err := readBook(ledgerPath)
	if err != nil {
		return err
	}
	mine, err := readBook(proofPath)
	if err != nil {
		return err
	}
	current := map[string]string{}
	for _, u := range units {
		current[u.name] = u.key
	}
	for _, e := range timed {
		current[e.Unit] = e.Key
	}
	seen := map[entry]bool{}
	for _, e := range known {
		seen[e] = true
	}
	var add []entry
	for _, e := range append(mine, timed...) {
		if current[e.Unit] == e.Key && !seen[e] {
			add = append(add, e)
		}
	}
	if err := write(ledgerPath, add...); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d results added to %s\n", len(add), ledgerPath)
	return nil
}

// head is the commit that is checked out, with "+" where the work tree differs from it.
func head(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	dirty, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--", ".", ":!"+ledgerPath).Output()
	if err != nil || len(dirty) > 0 {
		return strings.TrimSpace(string(out)) + "+"
	}
	return strings.TrimSpace(string(out))
}

// machine names what the results were measured on.
func machine() string {
	memory := ""
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		var kib int
		if _, err := fmt.Sscanf(string(b), "MemTotal: %d kB", &kib); err == nil {
			memory = fmt.Sprintf(", %d GiB", (kib+1<<19)>>20)
		}
	}
	return fmt.Sprintf("%s/%s, %d cores%s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), memory)
}
