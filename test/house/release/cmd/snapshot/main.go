// SPDX-License-Identifier: Apache-2.0

// Command snapshot builds the artifacts of .goreleaser.yaml with the go command alone, for this machine's target or, with -all, for every one:
// archives, checksums, bills of materials, the krew manifest, and the images of scylla-agent.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/house/release"
)

func main() {
	out := flag.String("o", "dist", "folder to write to")
	all := flag.Bool("all", false, "every target of .goreleaser.yaml, not this machine's alone")
	version := flag.String("version", "", "version without the v (default: a snapshot of the commit)")
	flag.Parse()
	if err := run(*out, *version, *all); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(out, version string, all bool) error {
	c, err := release.ReadConfig(".goreleaser.yaml")
	if err != nil {
		return err
	}
	f := release.Facts{ShortCommit: git("unknown", "rev-parse", "--short=12", "HEAD"), CommitDate: git("1970-01-01T00:00:00Z", "log", "-1", "--format=%cI"), Env: map[string]string{}}
	for _, e := range os.Environ() {
		name, value, _ := strings.Cut(e, "=")
		f.Env[name] = value
	}
	if f.Version = version; version == "" {
		if f.Version, err = release.Render(c.Snapshot.VersionTemplate, f); err != nil {
			return err
		}
	}
	started := time.Now()
	s := &release.Snapshot{
		Root: ".", Out: out, Config: c, Facts: f,
		Wanted: func(t release.Target) bool { return all || t.OS == runtime.GOOS && t.Arch == runtime.GOARCH },
		Say:    func(name string) { fmt.Println(filepath.Join(out, name)) },
	}
	if err := s.Make(context.Background()); err != nil {
		return err
	}
	fmt.Printf("snapshot of %s made in %s\n", f.Version, time.Since(started).Round(time.Second))
	return nil
}

// git returns the output of a git command, or otherwise where there is no repository, as in an unpacked archive.
func git(otherwise string, args ...string) string {
	b, err := exec.Command("git", args...).Output()
	if err != nil {
		return otherwise
	}
	return strings.TrimSpace(string(b))
}
