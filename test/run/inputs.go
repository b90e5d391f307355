// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/test/run/covers"
)

// listed is a package as `go list -json` describes it.
type listed struct {
	ImportPath, Dir, ForTest                                   string
	Standard                                                   bool
	Module                                                     *struct{ Path, Version string }
	GoFiles, CgoFiles, EmbedFiles                              []string
	TestGoFiles, XTestGoFiles, TestEmbedFiles, XTestEmbedFiles []string
	TestImports, XTestImports, Deps                            []string
}

// inputs are the packages of the module with what they are made of. A key is a hash of all that
// a unit of the proof is compiled from and reads, so that a change of anything else leaves the
// unit's result in force. The ledger and the docs are never part of one.
type inputs struct {
	root     string
	packages map[string]*listed // by import path; tests are "PATH.test"
	hashes   map[string]string  // of files and folders, once each
}

// alsoReads are the files and folders outside of its own that the tests of a package read.
var alsoReads = map[string][]string{
	"test/house":         {"cmd", "controller", "internal", "plugin", "test"},
	"test/house/release": {".goreleaser.yaml", "Makefile", "cmd/scylla-agent/Dockerfile"},
	"test/cluster":       {controlPlane},
	"test/simulation":    {"test/simulation/vectors"},
}

// Modules of their own: monitoring tests docs/monitoring, helm docs/install/chart.
const (
	monitoring = "test/house/monitoring"
	helm       = "test/e2e/helm"
)

// controlPlane is a module of its own, so go list does not name it.
const controlPlane = "test/cluster/controlplane"

func readInputs(ctx context.Context, root string) (*inputs, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-test",
		"-json=ImportPath,Dir,ForTest,Standard,Module,GoFiles,CgoFiles,EmbedFiles,TestGoFiles,XTestGoFiles,TestEmbedFiles,XTestEmbedFiles,TestImports,XTestImports,Deps", "./...")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	in := &inputs{root: root, packages: map[string]*listed{}, hashes: map[string]string{}}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &listed{}
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			return in, nil
		} else if err != nil {
			return nil, fmt.Errorf("decode the list of packages: %w", err)
		}
		if p.ForTest == "" {
			in.packages[p.ImportPath] = p
		}
	}
}

// own are the packages of the module, relative to it.
func (in *inputs) own(keep func(name string, p *listed) bool) []string {
	var out []string
	for _, path := range slices.Sorted(maps.Keys(in.packages)) {
		if p := in.packages[path]; strings.HasPrefix(path, module+"/") && !strings.HasSuffix(path, ".test") && keep(short(path), p) {
			out = append(out, short(path))
		}
	}
	return out
}

// tested are the packages with tests that keep selects.
func (in *inputs) tested(keep func(name string, p *listed) bool) []string {
	return in.own(func(name string, p *listed) bool { return len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 && keep(name, p) })
}

// closure collects what the packages and all that they import are made of.
func (in *inputs) closure(lines map[string]bool, paths ...string) {
	for _, p := range paths {
		entry := in.packages[p]
		if entry == nil {
			continue
		}
		for _, d := range append(slices.Clone(entry.Deps), p) {
			d, _, _ = strings.Cut(d, " ") // "PATH [PATH.test]"
			dep := in.packages[d]
			switch {
			case dep == nil || dep.Standard || strings.HasSuffix(d, ".test"):
			case strings.HasPrefix(d, module+"/"):
				lines[d+" "+in.files(dep.Dir, slices.Concat(dep.GoFiles, dep.CgoFiles, dep.EmbedFiles))] = true
			case dep.Module != nil:
				lines[dep.Module.Path+"@"+dep.Module.Version] = true
			}
		}
	}
}

// ofTests is the key of the tests of a package of the module.
func (in *inputs) ofTests(kind, name string) string {
	lines := map[string]bool{kind: true}
	p := in.packages[module+"/"+name]
	in.closure(lines, module+"/"+name+".test")
	if p != nil {
		lines["tests "+in.files(p.Dir, slices.Concat(p.TestGoFiles, p.XTestGoFiles, p.TestEmbedFiles, p.XTestEmbedFiles))] = true
		lines["testdata "+in.tree(path.Join(name, "testdata"))] = true
	}
	for _, other := range alsoReads[name] {
		lines[other+" "+in.tree(other)] = true
	}
	return key(lines)
}

// ofEndToEnd is the key of an end-to-end test: the packages that it covers, what ships, the
// simulated ScyllaDB, the test cluster, and the source of the test with the helpers that it
// reaches; not the other tests of its folder.
func (in *inputs) ofEndToEnd(kind, dir string, t covers.Test) string {
	lines := map[string]bool{kind: true}
	for _, p := range append(slices.Clone(t.Packages), "internal/setup/manifests", "internal/setup/inject", "test/scyllasim/cmd/scylla") {
		in.closure(lines, module+"/"+p)
	}
	suite := in.packages[module+"/"+dir+".test"]
	if suite != nil {
		for _, d := range suite.Deps {
			if d, _, _ = strings.Cut(d, " "); strings.HasPrefix(d, module+"/test/") && in.packages[d] != nil {
				dep := in.packages[d]
				lines[d+" "+in.files(dep.Dir, slices.Concat(dep.GoFiles, dep.EmbedFiles))] = true
			}
		}
	}
	trees := []string{controlPlane, "docs/examples", "test/e2e/images"}
	for _, declaration := range t.Source {
		lines[declaration] = true
	}
	if slices.ContainsFunc(t.Source, func(d string) bool { return strings.Contains(d, "testdata") || strings.Contains(d, "golden") }) {
		trees = append(trees, dir+"/testdata")
	}
	for _, other := range trees {
		lines[other+" "+in.tree(other)] = true
	}
	return key(lines)
}

// ofCommands is the key of something that is made of commands and of files.
func (in *inputs) ofCommands(kind string, commands []string, files ...string) string {
	lines := map[string]bool{kind: true}
	for _, c := range commands {
		in.closure(lines, module+"/"+c)
	}
	for _, f := range files {
		lines[f+" "+in.tree(f)] = true
	}
	return key(lines)
}

func key(lines map[string]bool) string {
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(maps.Keys(lines)), "\n")))
	return hex.EncodeToString(sum[:8])
}

// files is the hash of files of a folder.
func (in *inputs) files(dir string, names []string) string {
	id := dir + " " + strings.Join(names, " ")
	if h := in.hashes[id]; h != "" {
		return h
	}
	sum := sha256.New()
	for _, n := range slices.Sorted(slices.Values(names)) {
		b, err := os.ReadFile(filepath.Join(dir, n))
		fmt.Fprintf(sum, "%s %d %v\n%s", n, len(b), err != nil, b)
	}
	in.hashes[id] = hex.EncodeToString(sum.Sum(nil))
	return in.hashes[id]
}

// tree is the hash of a file or of all files below a folder of the module, but for what tests
// write there: the rehearsals' times, and the ledger.
func (in *inputs) tree(name string) string {
	var files []string
	_ = filepath.WalkDir(filepath.Join(in.root, name), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // what is not there has no files
		}
		if rel, err := filepath.Rel(in.root, p); err == nil && rel != ledgerPath && rel != "test/e2e/testdata/rehearsals.json" && !strings.Contains(rel, "testdata/rapid/") {
			files = append(files, rel)
		}
		return nil
	})
	return in.files(in.root, files)
}
