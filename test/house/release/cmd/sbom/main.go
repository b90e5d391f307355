// SPDX-License-Identifier: Apache-2.0

// Command sbom writes the software bill of materials of a Go binary as SPDX 2.3 in JSON: sbom -dir DIR -created TIME -o FILE BINARY. goreleaser calls it for each
// binary, with names below its folder of results.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kubectl-scylla/kubectl-scylla/test/house/release"
)

func main() {
	out := flag.String("o", "", "file to write")
	created := flag.String("created", "", "time of the release, RFC 3339")
	dir := flag.String("dir", ".", "folder to which the names of files are relative")
	flag.Parse()
	if err := run(below(*dir, flag.Arg(0)), *created, below(*dir, *out)); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func below(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

func run(binary, created, out string) error {
	d, err := release.SBOM(binary, created)
	if err != nil {
		return err
	}
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	if err := d.Write(f); err != nil {
		return err
	}
	return f.Close()
}
