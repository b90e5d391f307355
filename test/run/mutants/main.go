// SPDX-License-Identifier: Apache-2.0

// Command mutants is `make mutants`: it plants the bugs of mutants.txt, one at a time, and reports
// whether a test fails; those of gate.txt with the simulation alone. No file of the checkout changes:
// the compiler reads an overlay.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// together is how many mutants run at the same time. Each compiles and links a test of its own.
const together = 2

func main() {
	var o options
	tables := flag.String("tables", "test/run/mutants/mutants.txt", "the planted bugs, one or more files with a comma between them")
	flag.BoolVar(&o.rows, "rows", false, "only mutants of a row of docs/reference/seeds.md, by the tests that are recorded and by no others")
	pattern := flag.String("run", "", "only mutants whose rows and \"package: name\" match this regular expression")
	flag.BoolVar(&o.list, "list", false, "list the mutants with their tests, and run nothing")
	flag.BoolVar(&o.record, "record", false, "run every test of each package, and write down all tests that fail")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o.tables = strings.Split(*tables, ",")
	var err error
	if o.run, err = regexp.Compile(*pattern); err == nil {
		err = run(ctx, o, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

type options struct {
	root               string // the folder of the module; the working directory where empty
	tables             []string
	run                *regexp.Regexp
	list, record, rows bool
}

func run(ctx context.Context, o options, out io.Writer) error {
	tables, err := readTables(o.root, o.tables)
	if err != nil {
		return err
	}
	var chosen []*mutant
	var errs []error
	for _, t := range tables {
		for _, m := range t.mutants {
			if o.run.MatchString(m.String()+" "+strings.Join(m.rows, " ")) && (len(m.rows) > 0 || !o.rows) {
				chosen, errs = append(chosen, m), append(errs, m.locate(o.root))
			}
		}
	}
	if err := errors.Join(errs...); err != nil || o.list {
		for _, m := range chosen {
			fmt.Fprintf(out, "%s: %s\n", m, m.tests())
		}
		return err
	}
	if len(chosen) == 0 {
		return fmt.Errorf("no mutant of %s matches %q", strings.Join(o.tables, ","), o.run)
	}
	scratch, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	w := &worker{options: o, scratch: scratch}
	if err := errors.Join(w.unchanged(ctx, chosen), w.seedsUnchanged(ctx, chosen)); err != nil {
		return err
	}
	counts, err := w.tryAll(ctx, chosen, out)
	if err != nil {
		return err
	}
	if o.record {
		for _, t := range tables {
			errs = append(errs, t.write())
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "%d found, %d missed", counts[found], counts[missed])
	if counts[unseen] > 0 {
		fmt.Fprintf(out, ", %d that no seed can find", counts[unseen])
	}
	fmt.Fprintln(out)
	switch {
	case counts[broken] > 0:
		return fmt.Errorf("%d mutants are broken: correct them in %s", counts[broken], strings.Join(o.tables, ","))
	case counts[missed] > 0:
		return fmt.Errorf("%d mutants are missed: write a test that fails for each", counts[missed])
	}
	return nil
}

// Verdicts of a mutant.
const (
	found  = "found"
	missed = "MISSED"
	broken = "BROKEN"
)

type worker struct {
	options
	scratch string
}

// tryAll prints a line for each mutant as it ends, and counts them by verdict.
func (w *worker) tryAll(ctx context.Context, chosen []*mutant, out io.Writer) (map[string]int, error) {
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(together)
	counts := map[string]int{}
	for i, m := range chosen {
		g.Go(func() error {
			start := time.Now()
			verdict, text := w.try(ctx, m, i)
			mu.Lock()
			defer mu.Unlock()
			if ctx.Err() != nil {
				return ctx.Err() // the verdict is that of an interrupted test
			}
			counts[verdict]++
			name := m.String()
			if w.rows {
				name = strings.Join(m.rows, " ") + " " + name
			}
			fmt.Fprintf(out, "%-6s %5.1fs  %s: %s\n", verdict, time.Since(start).Seconds(), name, text)
			return nil
		})
	}
	err := g.Wait()
	return counts, err
}

// unchanged runs the tests without a mutant: one that fails already would find every mutant. For
// rows it runs the recorded tests alone.
func (w *worker) unchanged(ctx context.Context, chosen []*mutant) error {
	names := map[string][]string{}
	for _, m := range chosen {
		for _, r := range m.red {
			names[r.pkg] = append(names[r.pkg], r.names...)
		}
	}
	args := []string{"test", "-vet=off"}
	if w.rows {
		args = append(args, "-run=^("+strings.Join(slices.Concat(slices.Collect(maps.Values(names))...), "|")+")$")
	}
	if len(names) == 0 {
		return nil
	}
	for _, pkg := range slices.Sorted(maps.Keys(names)) {
		args = append(args, "./"+pkg)
	}
	if text, err := w.command(ctx, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("run the tests without a mutant: %w\n%s", err, text)
	}
	return nil
}

func (w *worker) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = w.root
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// try runs the recorded tests of one mutant. If none of them fails, for example after a test was
// renamed, it runs the whole package, but for a row, whose own tests must find it.
func (w *worker) try(ctx context.Context, m *mutant, number int) (verdict, text string) {
	changed := filepath.Join(w.scratch, fmt.Sprintf("%d.go", number))
	overlay, err := w.overlay(m, changed)
	if err != nil {
		return broken, err.Error()
	}
	if m.seeds != "" {
		verdict, text = w.bySeed(ctx, m, overlay)
		return verdict, strings.ReplaceAll(text, changed, m.file)
	}
	recorded := m.tests()
	var failed []string
	for i := range m.red {
		r := &m.red[i]
		var names []string
		if len(r.names) > 0 && !w.record {
			names, err = w.test(ctx, overlay, r.pkg, "-failfast", "-run=^("+strings.Join(r.names, "|")+")$")
		}
		switch {
		case err != nil || len(names) > 0 || w.rows:
		case w.record:
			if names, err = w.test(ctx, overlay, r.pkg); len(names) > 0 {
				r.names = names
			}
		default:
			names, err = w.test(ctx, overlay, r.pkg, "-failfast")
		}
		if err != nil {
			return broken, strings.ReplaceAll(err.Error(), changed, m.file)
		}
		if failed = append(failed, names...); len(failed) > 0 && !w.record {
			break
		}
	}
	if len(failed) == 0 {
		return missed, "recorded: " + recorded
	}
	return found, strings.Join(failed, " ")
}

// overlay writes the changed file, and the file that puts it in place of the original.
func (w *worker) overlay(m *mutant, changed string) (string, error) {
	original, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	content, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return "", err
	}
	overlay := changed + ".json"
	return overlay, errors.Join(os.WriteFile(changed, m.changed, 0o600), os.WriteFile(overlay, content, 0o600))
}

// test returns the tests of the package that fail with the overlay, without their subtests.
func (w *worker) test(ctx context.Context, overlay, pkg string, flags ...string) ([]string, error) {
	args := append([]string{"test", "-json", "-count=1", "-vet=off", "-timeout=3m", "-overlay=" + overlay, "./" + pkg}, flags...)
	usesRapid, err := imports(filepath.Join(w.root, pkg), "pgregory.net/rapid")
	if err != nil {
		return nil, err
	}
	if usesRapid { // the same result each time, and no file in the checkout
		args = append(args, "-rapid.seed=1", "-rapid.nofailfile", "-rapid.shrinktime=1ms")
	}
	cmd := w.command(ctx, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	runErr := cmd.Run()
	var names []string
	var began, panicked string // top-level tests
	var output strings.Builder
	d := json.NewDecoder(&stdout)
	for d.More() {
		var e struct{ Action, Test, Output string }
		if err := d.Decode(&e); err != nil {
			return nil, fmt.Errorf("read go test %s: %w", pkg, err)
		}
		switch {
		case e.Action == "run" && !strings.Contains(e.Test, "/"):
			began = e.Test
		case e.Action == "output" && strings.HasPrefix(e.Output, "panic: "):
			panicked = began
		case e.Action == "build-fail":
			return nil, fmt.Errorf("does not compile: %s", strings.TrimSpace(output.String()))
		case e.Action == "build-output" || e.Action == "output" && e.Test == "":
			output.WriteString(e.Output)
		case e.Action == "fail" && e.Test != "" && !strings.Contains(e.Test, "/"):
			names = append(names, e.Test)
		}
	}
	if runErr != nil && len(names) == 0 && panicked != "" {
		names = append(names, panicked) // in a goroutine of its own, which fails no test
	}
	if runErr != nil && len(names) == 0 {
		return nil, fmt.Errorf("no test of %s failed, but go test did: %w: %s%s",
			pkg, runErr, stderr.String(), output.String())
	}
	slices.Sort(names)
	return names, nil
}

// imports reports whether a test file in the folder imports the package.
func imports(dir, pkg string) (bool, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || bytes.Contains(text, []byte(`"`+pkg+`"`)) {
			return err == nil, err
		}
	}
	return false, err
}

// mutant is one planted bug.
type mutant struct {
	line     int // in the table
	name, in string
	rows     []string // of docs/reference/seeds.md that it contradicts
	old, new string
	red      []red
	seeds    string // the seed or schedule of the simulation that finds it, alone; or "none: " and why

	file    string // that has the line
	changed []byte // its text with the bug
}

// red lists the tests of one package that fail for a mutant.
type red struct {
	pkg   string
	names []string
	line  int // in the table
}

func (m *mutant) String() string { return m.in + ": " + m.name }

func (m *mutant) tests() string {
	if m.seeds != "" {
		return m.seeds
	}
	var out []string
	for _, r := range m.red {
		out = append(out, path.Base(r.pkg)+" "+strings.Join(r.names, " "))
	}
	return strings.Join(out, ", ")
}

// locate finds the old line in the package, in any file that is compiled or embedded, at any line
// and with any indentation.
func (m *mutant) locate(root string) error {
	var files []string
	for _, suffix := range []string{".go", ".yaml"} {
		some, err := filepath.Glob(filepath.Join(root, m.in, "*"+suffix))
		if err != nil {
			return err
		}
		files = append(files, some...)
	}
	var at []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		lines := strings.SplitAfter(string(text), "\n")
		for i, line := range lines {
			if strings.TrimSpace(line) == m.old {
				at = append(at, fmt.Sprintf("%s:%d", file, i+1))
				lines[i] = strings.Replace(line, m.old, m.new, 1)
				m.file, m.changed = file, []byte(strings.Join(lines, ""))
			}
		}
	}
	switch len(at) {
	case 1:
		return nil
	case 0:
		return fmt.Errorf("line %d, %s: no file of %s has the line %q: write the line as it is now, or its new package",
			m.line, m, m.in, m.old)
	}
	return fmt.Errorf("line %d, %s: the line %q is not unique (%s): choose another line for the same bug",
		m.line, m, m.old, strings.Join(at, ", "))
}

// readTables returns an error if two mutants have one name.
func readTables(root string, files []string) ([]*table, error) {
	var out []*table
	names := map[string]bool{}
	for _, file := range files {
		t, err := readTable(filepath.Join(root, file))
		if err != nil {
			return nil, err
		}
		for _, m := range t.mutants {
			if names[m.String()] {
				return nil, fmt.Errorf("%s:%d: %s needs a name of its own", file, m.line, m)
			}
			names[m.String()] = true
		}
		out = append(out, t)
	}
	return out, nil
}

// table is one file of mutants.
type table struct {
	file    string
	lines   []string
	mutants []*mutant
}

func readTable(file string) (*table, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	t := &table{file: file, lines: strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")}
	var m *mutant
	for i, line := range t.lines {
		key, value, ok := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case ok && key == "name":
			m = &mutant{line: i + 1, name: value}
			t.mutants = append(t.mutants, m)
		case m == nil || !ok || !m.set(key, value, i):
			return nil, fmt.Errorf("%s:%d: a mutant has the lines name, in, old, new, seeds or red, and maybe rows, not %q",
				file, i+1, line)
		}
	}
	for _, m := range t.mutants {
		if m.name == "" || m.in == "" || m.old == "" || m.old == m.new || (len(m.red) == 0) == (m.seeds == "") {
			return nil, fmt.Errorf("%s:%d: %s needs a name, in, old, another new, and red or seeds", file, m.line, m)
		}
	}
	return t, nil
}

func (m *mutant) set(key, value string, line int) bool {
	switch key {
	case "in":
		m.in = value
	case "old":
		m.old = value
	case "new":
		m.new = value
	case "rows":
		m.rows = strings.Fields(value)
	case "seeds":
		m.seeds = value
	case "red":
		words := strings.Fields(value)
		if len(words) == 0 {
			return false
		}
		m.red = append(m.red, red{pkg: words[0], names: words[1:], line: line})
	default:
		return false
	}
	return true
}

// write writes the table with the names of the tests that fail now.
func (t *table) write() error {
	for _, m := range t.mutants {
		for _, r := range m.red {
			t.lines[r.line] = strings.Join(append([]string{"red: ", r.pkg}, r.names...), " ")
		}
	}
	return os.WriteFile(t.file, []byte(strings.Join(t.lines, "\n")+"\n"), 0o644)
}
