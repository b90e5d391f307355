// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const output = `goos: linux
goarch: amd64
pkg: example/x
BenchmarkVerdict/N=3-2         	   69674	      3273 ns/op	    4232 B/op	      29 allocs/op
BenchmarkVerdict/N=1000-2      	      15	  15973926 ns/op	 1007157 B/op	      50 allocs/op
BenchmarkDecode/N=3-2          	    1000	      1500000000 ns/op	  84.68 MB/s	     12 B/op	       1 allocs/op
BenchmarkPage/N=1000-2         	      14	  78071467 ns/op	    553163 page-B	 7157 B/op	     50 allocs/op
BenchmarkParse-2               	  500000	       812.5 ns/op	     400 B/op	       9 allocs/op
PASS
ok  	example/x	17.124s
`

func TestTable(t *testing.T) {
	results, err := parse("./x", strings.NewReader(output))
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := write(&got, results); err != nil {
		t.Fatal(err)
	}
	want := `
time / bytes / allocations                 N=3             N=1000
x
  Verdict                   3.27us / 4.2kB / 29  16ms / 1.0MB / 50
  Decode                         1.5s / 12B / 1                  -
  Page                                     -  78.1ms / 7.2kB / 50 (page 553.2kB)
  Parse                        812ns / 400B / 9
`
	squeeze := func(s string) []string {
		var lines []string
		for l := range strings.Lines(strings.TrimSpace(s)) {
			lines = append(lines, strings.Join(strings.Fields(l), " "))
		}
		return lines
	}
	if diff := cmp.Diff(squeeze(want), squeeze(got.String())); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestPackagesWithBenchmarks(t *testing.T) {
	root := t.TempDir()
	for path, text := range map[string]string{
		"a/a_test.go":          "package a\n\nfunc BenchmarkX(b *testing.B) {}\n",
		"a/b/b_test.go":        "package b\n\nfunc TestX(t *testing.T) {}\n",
		"c/c.go":               "package c\n\nfunc BenchmarkX() {}\n",
		"c/testdata/d_test.go": "package d\n\nfunc BenchmarkX(b *testing.B) {}\n",
		"other/go.mod":         "module other\n",
		"other/o_test.go":      "package o\n\nfunc BenchmarkX(b *testing.B) {}\n",
		".hidden/h_test.go":    "package h\n\nfunc BenchmarkX(b *testing.B) {}\n",
	} {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := packagesWithBenchmarks(root)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"./a"}, got); diff != "" {
		t.Errorf("packages (-want +got):\n%s", diff)
	}
}

func TestNoBenchmarksIsAnError(t *testing.T) {
	var out, errs bytes.Buffer
	if err := run(t.Context(), []string{"-root", t.TempDir()}, &out, &errs); err == nil || !strings.Contains(err.Error(), "repository's root") {
		t.Errorf("error %v, want one that says where to run this", err)
	}
}
