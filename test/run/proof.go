// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/run/covers"
)

// unit is the least that has a result of its own in the proof. Those of one group run in one go
// test; group is nil where the unit is a command.
type unit struct {
	name  string
	key   string // of its inputs
	group *group
	test  string   // within a group: the test, or the package where empty
	pkg   string   // within a group
	args  []string // of the command
}

// group is one go test that gives several units their results.
type group struct {
	name string
	make func(units []unit) goTest
}

var (
	raceGroup = &group{"race", func(units []unit) goTest {
		return goTest{cgo: "1", packages: importPaths(packagesOf(units)),
			args: []string{"-vet=off", "-race", "-shuffle=on", "-count=1", "-timeout=20m", "-skip=" + notInGate}}
	}}
	memoryGroup = &group{"memory", func(units []unit) goTest {
		// The race detector multiplies memory, and so would a neighbour.
		return goTest{cgo: "0", packages: importPaths(packagesOf(units)), args: []string{"-vet=off", "-count=1", "-p=1", "-timeout=15m", "-run=LittleMemory$"}}
	}}
	clusterGroup = &group{"cluster", func(units []unit) goTest {
		return goTest{cgo: "0", packages: importPaths(packagesOf(units)), args: []string{"-vet=off", "-count=1", "-p=1", "-timeout=20m"}}
	}}
	endToEndGroup = &group{"e2e", func(units []unit) goTest {
		return endToEndTests(testsOf(units), 90*time.Minute)
	}}
	rehearsalGroup = &group{"rehearsals", func(units []unit) goTest {
		return endToEndTests(testsOf(units), 90*time.Minute, "-rehearse")
	}}
	soakGroup = &group{"soak", func(units []unit) goTest {
		return endToEndTests(testsOf(units), 90*time.Minute, "-soak=30m")
	}}
	browserGroup = &group{"browser", func(units []unit) goTest {
		return goTest{cgo: "0", packages: importPaths(packagesOf(units)), args: []string{"-vet=off", "-count=1", "-timeout=10m", "-run=" + browserTests}}
	}}
	installGroup = &group{"go install", func(units []unit) goTest {
		return goTest{cgo: "0", packages: importPaths(packagesOf(units)), args: []string{"-vet=off", "-count=1", "-timeout=20m", "-run=^TestGoInstall$"}}
	}}
)

func packagesOf(units []unit) []string {
	out := make([]string, len(units))
	for i, u := range units {
		out[i] = u.pkg
	}
	return out
}

func testsOf(units []unit) []covers.Test {
	out := make([]covers.Test, len(units))
	for i, u := range units {
		out[i].Name = u.test
	}
	return out
}

// proofUnits are all units, in the order in which they run: what fails most often and takes least
// comes first.
func proofUnits(ctx context.Context) (*inputs, []unit, error) {
	in, err := readInputs(ctx, ".")
	if err != nil {
		return nil, nil, err
	}
	var all []unit
	packages := func(g *group, kind string, keep func(string, *listed) bool) {
		for _, p := range in.tested(keep) {
			all = append(all, unit{name: kind + " " + p, key: in.ofTests(kind, p), group: g, pkg: p})
		}
	}
	packages(raceGroup, "race", func(name string, _ *listed) bool { return name != endToEnd && !strings.HasPrefix(name, "test/cluster") })
	for _, policy := range []string{"permits", "reports"} {
		all = append(all, unit{name: "seeds " + policy, key: in.ofTests("seeds "+policy, "test/simulation"),
			args: []string{"go", "test", "./test/simulation", "-vet=off", "-count=1", "-timeout=60m", "-run=^TestSeeds$", "-seeds=2000", "-rule=" + policy}},
			unit{name: "seeds wide " + policy, key: in.ofTests("seeds wide "+policy, "test/simulation"),
				args: []string{"go", "test", "./test/simulation", "-vet=off", "-count=1", "-timeout=60m", "-run=^TestSeeds$", "-world=wide",
					fmt.Sprintf("-seeds=%d", wideProved), "-rule=" + policy}})
	}
	packages(memoryGroup, "memory", func(_ string, p *listed) bool {
		return slices.Contains(slices.Concat(p.TestImports, p.XTestImports), module+"/test/run/memory")
	})
	packages(browserGroup, "browser", func(name string, _ *listed) bool { return name == "plugin/report" })
	packages(installGroup, "go-install", func(name string, _ *listed) bool { return name == "test/house/release" })
	commands := []string{"cmd/kubectl-scylla", "cmd/scylla-agent"}
	for _, p := range []string{"internal/matrix", "internal/bootstrap", "internal/gate", "internal/view", "internal/replace"} {
		// Tests of the controller find some bugs of internal/view.
		tests := []string{in.ofTests("mutants", p), in.ofTests("", "controller/views"), in.ofTests("", "controller/reports"), in.tree("test/run/mutants")}
		all = append(all, unit{name: "mutants " + p, key: key(map[string]bool{strings.Join(tests, " "): true}),
			args: []string{"go", "run", "./test/run/mutants", "-run=^" + p + ": "}})
	}
	bySeeds := map[string]bool{in.ofTests("mutants", "test/simulation"): true, in.tree("test/run/mutants"): true}
	all = append(all, unit{name: "mutants by seeds", key: key(bySeeds),
		args: []string{"go", "run", "./test/run/mutants", "-tables=test/run/mutants/gate.txt"}})
	statements := map[string]bool{"seeds-proof": true, in.tree("test/run/mutants"): true}
	for _, p := range in.tested(func(string, *listed) bool { return true }) {
		statements[in.ofTests("", p)] = true
	}
	all = append(all, unit{name: "seeds-proof", args: []string{"make", "seeds-proof"}, key: key(statements)},
		// Modules of their own, so that the gate compiles neither Prometheus nor Helm.
		unit{name: "monitoring", args: []string{"go", "-C", monitoring, "test", "-vet=off", "-count=1", "-timeout=20m", "./..."},
			key: in.ofCommands("monitoring", nil, monitoring, "docs/monitoring")},
		unit{name: "helm", args: []string{"go", "-C", helm, "test", "-vet=off", "-count=1", "-timeout=20m", "./..."},
			key: in.ofCommands("helm", []string{"plugin/install", "plugin/uninstall", "test/e2e/plane"}, helm, "docs/install", "docs/monitoring", controlPlane)},
		unit{name: "snapshot", args: []string{"make", "snapshot"},
			key: in.ofCommands("snapshot", append([]string{"cmd/gen"}, commands...), ".goreleaser.yaml", "cmd/scylla-agent/Dockerfile", "docs/install/chart")},
		unit{name: "vuln", args: []string{"make", "vuln"}, key: in.ofCommands("vuln", nil, "go.mod", "go.sum")})
	fuzz, err := in.fuzzTargets()
	if err != nil {
		return nil, nil, err
	}
	all = append(all, fuzz...)
	packages(clusterGroup, "cluster", func(name string, _ *listed) bool { return strings.HasPrefix(name, "test/cluster") })
	tests, err := covers.Read(endToEnd)
	if err != nil {
		return nil, nil, err
	}
	for _, t := range tests {
		u := unit{name: "e2e " + t.Name, key: in.ofEndToEnd("e2e", endToEnd, t), group: endToEndGroup, test: t.Name, pkg: endToEnd}
		switch t.Name {
		case rehearsed:
			u.group = rehearsalGroup
		case soaked:
			u.group = soakGroup
		}
		all = append(all, u)
	}
	return in, all, nil
}

var fuzzFunc = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

func (in *inputs) fuzzTargets() ([]unit, error) {
	var out []unit
	for _, name := range in.tested(func(string, *listed) bool { return true }) {
		p := in.packages[module+"/"+name]
		for _, file := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			b, err := os.ReadFile(path.Join(p.Dir, file))
			if err != nil {
				return nil, fmt.Errorf("look for fuzz targets: %w", err)
			}
			for _, m := range fuzzFunc.FindAllSubmatch(b, -1) {
				target := string(m[1])
				out = append(out, unit{name: "fuzz " + name + " " + target, key: in.ofTests("fuzz", name), args: []string{
					"go", "test", "./" + name, "-vet=off", "-timeout=10m", "-run=^$", "-fuzz=^" + target + "$", "-fuzztime=10s", "-fuzzminimizetime=10x"}})
			}
		}
	}
	return out, nil
}

// proof runs each unit that has no result with its present inputs. Results are kept as they
// come: a call that is stopped loses only what ran at that moment.
func proof(ctx context.Context, out io.Writer, limit time.Duration, only string, list bool) (int, error) {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	wanted, err := regexp.Compile(only)
	if err != nil {
		return exitUsage, fmt.Errorf("invalid -only=%q: must be a regular expression: %w", only, err)
	}
	_, units, err := proofUnits(ctx)
	if err != nil {
		return exitError, err
	}
	units = slices.DeleteFunc(units, func(u unit) bool { return !wanted.MatchString(u.name) })
	known, err := readBook(ledgerPath, proofPath)
	if err != nil {
		return exitError, err
	}
	open := slices.DeleteFunc(slices.Clone(units), func(u unit) bool { return known.verdict(u.name, u.key) != "" })
	if !list {
		fmt.Fprintf(out, "%d of %d units have no result with their present inputs\n", len(open), len(units))
		if err := runUnits(ctx, out, open); err != nil {
			return exitError, err
		}
		if known, err = readBook(ledgerPath, proofPath); err != nil {
			return exitError, err
		}
	}
	return known.sum(out, units, list), nil
}

// sum prints what is not a pass, or all with list, and the line of totals.
func (b book) sum(out io.Writer, units []unit, list bool) int {
	count := map[verdict]int{}
	for _, u := range units {
		v := b.verdict(u.name, u.key)
		count[v]++
		if list || v != pass {
			fmt.Fprintf(out, "%-7s %s\n", cmp.Or(string(v), "-"), u.name)
		}
	}
	bad := count[fail] + count[flaky]
	fmt.Fprintf(out, "%d without a result, %d flaky\n%d passed, %d failed, %d skipped\n", count[""], count[flaky], count[pass], bad, count[skip])
	switch {
	case bad > 0:
		return exitError
	case count[pass]+count[skip] < len(units):
		return exitIncomplete
	}
	return 0
}

func runUnits(ctx context.Context, out io.Writer, open []unit) error {
	commit, host := head(ctx), machine()
	keep := func(u unit, v verdict, seconds float64) error {
		return write(proofPath, entry{commit, u.name, u.key, seconds, v, host})
	}
	if slices.ContainsFunc(open, func(u unit) bool { return u.group == clusterGroup || u.pkg == endToEnd }) {
		if err := buildKubernetes(ctx, out); err != nil {
			return err
		}
	}
	log, err := logFile("bin/proof-tests.jsonl")
	if err != nil {
		return err
	}
	defer log.Close()
	done := map[*group]bool{}
	for _, u := range open {
		if ctx.Err() != nil {
			return nil
		}
		if u.group == nil {
			if err := u.run(ctx, out, keep); err != nil {
				return err
			}
			continue
		}
		if done[u.group] {
			continue
		}
		done[u.group] = true
		fmt.Fprintf(out, "\n-- %s\n", u.group.name)
		byResult := map[[2]string]unit{}
		var members []unit
		for _, m := range open {
			if m.group == u.group {
				byResult[[2]string{m.pkg, m.test}] = m
				members = append(members, m)
			}
		}
		var errs []error
		t := newTally(out, log)
		t.on = func(r result) {
			if m, ok := byResult[[2]string{r.Package, r.Test}]; ok && (r.Verdict != lost || ctx.Err() == nil) && ctx.Err() == nil {
				v := r.Verdict
				if v == lost {
					v = fail
				}
				errs = append(errs, keep(m, v, r.Seconds))
			}
		}
		if err := t.run(ctx, u.group.make(members)); err != nil {
			return err
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
		t.sum()
	}
	return nil
}

// run runs a unit that is a command. Where it fails, its output is printed.
func (u unit) run(ctx context.Context, out io.Writer, keep func(unit, verdict, float64) error) error {
	cmd := exec.CommandContext(ctx, u.args[0], u.args[1:]...)
	endWithChildren(cmd)
	began := time.Now()
	text, err := cmd.CombinedOutput()
	took := time.Since(began).Seconds()
	v := pass
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	switch {
	case ctx.Err() != nil:
		return nil //nolint:nilerr // stopped: no result
	case err != nil:
		v = fail
		fmt.Fprintf(out, "%s\n", text)
	case strings.HasPrefix(lines[len(lines)-1], "SKIPPED"):
		v = skip
		fmt.Fprintln(out, lines[len(lines)-1])
	}
	fmt.Fprintf(out, "%-4s %s %.1fs\n", v, u.name, took)
	return keep(u, v, took)
}
