// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// one is a benchmark of package x without a size.
func one(name string, ns float64, bytes, allocs int64) result {
	return result{key: key{pkg: "x", name: name}, nanoseconds: ns, bytes: bytes, allocs: allocs}
}

func TestCompare(t *testing.T) {
	for name, tc := range map[string]struct {
		base, here []result
		want       []string // the benchmarks that are worse
	}{
		"equal":                               {base: []result{one("A", 5e6, 9e6, 7000)}, here: []result{one("A", 5e6, 9e6, 7000)}},
		"a fifth more of all":                 {base: []result{one("A", 5e6, 1e6, 1000)}, here: []result{one("A", 6e6, 1.2e6, 1200)}},
		"better":                              {base: []result{one("A", 5e6, 1e6, 1000)}, here: []result{one("A", 5, 1, 0)}},
		"time":                                {base: []result{one("A", 5e6, 1e6, 1000)}, here: []result{one("A", 6.1e6, 1e6, 1000)}, want: []string{"x A: time x1.22"}},
		"bytes":                               {base: []result{one("A", 5e6, 1e6, 1000)}, here: []result{one("A", 4e6, 2e6, 1000)}, want: []string{"x A: bytes x2.00"}},
		"allocations":                         {base: []result{one("A", 5e6, 1e6, 1000)}, here: []result{one("A", 5e6, 1e6, 1300)}, want: []string{"x A: allocations x1.30"}},
		"allocations where none were":         {base: []result{one("A", 5e6, 0, 0)}, here: []result{one("A", 5e6, 16, 1)}, want: []string{"x A: allocations 1, not 0"}},
		"all three":                           {base: []result{one("A", 5e6, 1e6, 1000)}, here: []result{one("A", 1e7, 2e6, 2000)}, want: []string{"x A: time x2.00, bytes x2.00, allocations x2.00"}},
		"less than 1 us, 1 kB, 5 allocations": {base: []result{one("A", 300, 100, 3)}, here: []result{one("A", 1250, 1000, 7)}},
		"more than that":                      {base: []result{one("A", 300, 100, 3)}, here: []result{one("A", 1301, 1101, 8)}, want: []string{"x A: time x4.34, bytes x11.01, allocations x2.67"}},
		"only on one side":                    {base: []result{one("A", 5e6, 1, 1)}, here: []result{one("B", 9e9, 1, 1)}},
		"the lowest counts": {
			base: []result{one("A", 6e6, 1e6, 1000), one("A", 5e6, 2e6, 1500), one("A", 7e6, 2e6, 1100)},
			here: []result{one("A", 9e6, 3e6, 1300), one("A", 5.9e6, 1e6, 1200), one("A", 8e6, 4e6, 1400)},
		},
		"one of two sizes": {
			base: []result{{key: key{"x", "A", 3}, nanoseconds: 4e6}, {key: key{"x", "A", 30}, nanoseconds: 4e6}},
			here: []result{{key: key{"x", "A", 3}, nanoseconds: 4e6}, {key: key{"x", "A", 30}, nanoseconds: 8e6}},
			want: []string{"x A/N=30: time x2.00"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := report(&out, "abc", compare(lowest(tc.base), lowest(tc.here)))
			var got []string
			if err != nil {
				got = strings.Split(err.Error(), "\n  ")[1:]
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("worse (-want +got):\n%s", diff)
			}
			if name == "only on one side" && (!strings.Contains(out.String(), "only in abc") || !strings.Contains(out.String(), "only here")) {
				t.Errorf("table:\n%s", out.String())
			}
		})
	}
}

func TestPage(t *testing.T) {
	results := []result{
		{key: rule, nanoseconds: 300e6, bytes: 409e6, allocs: 44086}, {key: ours, nanoseconds: 1e6, bytes: 1e6, allocs: 54}, {key: poll, nanoseconds: 50e6, bytes: 3e6, allocs: 9000},
	}
	for _, g := range growth {
		for _, n := range grownTo {
			if k := (key{g.pkg, g.name, n}); k != ours {
				results = append(results, result{key: k, nanoseconds: float64(n) * float64(n)})
			}
		}
	}
	idle := machine{cpu: "AMD EPYC", cores: 2, load: "0.50", date: "2026-12-01 10:00 UTC", commit: "abc"}
	us, kubectl := start{"kubectl-scylla version", 10 * time.Millisecond}, start{"kubectl version --client", 40 * time.Millisecond}
	text, err := page(idle, results, us, kubectl)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"- Machine: AMD EPYC, 2 cores, ", "- Measured: 2026-12-01 10:00 UTC, commit abc\n", "- Load average before the first benchmark: 0.50\n",
		"| verdict of a cluster report of 1,000 nodes | 1ms, 1.0MB, 54 allocations | the Scylla Operator's rule by the same rows: 300ms, 409.0MB, 44086 allocations, 300 times as long |",
		"| `kubectl-scylla version` | 10ms | `kubectl version --client`: 40ms, 4 times as long |", "one in 5 s: 1.00 % of a core",
		"| `status` | 10us | 1ms | 100ms | 2.00 |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "busy") {
		t.Error("busy at a load of 0.50 on two cores")
	}
	idle.load, kubectl.took = "0.51", 0
	if text, err = page(idle, results, us, kubectl); err != nil || !strings.Contains(text, "The machine was busy") || !strings.Contains(text, "no kubectl for `kubectl version --client`") {
		t.Errorf("%v\n%s", err, text)
	}
	if _, err = page(idle, results[1:], us, kubectl); err == nil || !strings.Contains(err.Error(), "no result of internal/matrix VerdictNaive/N=1000") {
		t.Errorf("error %v, want one that names the benchmark", err)
	}
}
