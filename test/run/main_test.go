// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What go test -json prints becomes counts, the reasons of skips, and the first complaint of each failed test.
func TestTally(t *testing.T) {
	const pkg = "github.com/kubectl-scylla/kubectl-scylla/test/e2e"
	type want struct {
		Passed, Failed, Skipped int
		Skips                   map[string]int
		Broken, Failures        []string
	}
	cases := map[string]struct {
		events []string
		want   want
		prints string // part of the output
	}{
		"pass and skip": {
			events: []string{
				`{"Action":"pass","Package":"` + pkg + `","Test":"TestA"}`,
				`{"Action":"output","Package":"` + pkg + `","Test":"TestB","Output":"    e2e_test.go:60: real Kubernetes nodes need: root\n"}`,
				`{"Action":"output","Package":"` + pkg + `","Test":"TestB","Output":"--- SKIP: TestB (0.00s)\n"}`,
				`{"Action":"skip","Package":"` + pkg + `","Test":"TestB"}`,
			},
			want: want{Passed: 1, Skipped: 1, Skips: map[string]int{"real Kubernetes nodes need: root": 1}},
		},
		"a failure says its first complaint": {
			events: []string{
				`{"Action":"output","Package":"` + pkg + `","Test":"TestC","Output":"=== RUN   TestC\n"}`,
				`{"Action":"output","Package":"` + pkg + `","Test":"TestC","Output":"    replace_test.go:7: wait for 3 ready Pods: 2\n"}`,
				`{"Action":"output","Package":"` + pkg + `","Test":"TestC","Output":"        and more\n"}`,
				`{"Action":"fail","Package":"` + pkg + `","Test":"TestC"}`,
				`{"Action":"fail","Package":"` + pkg + `"}`,
			},
			want: want{Failed: 1, Failures: []string{"test/e2e TestC: replace_test.go:7: wait for 3 ready Pods: 2\n        and more"}},
		},
		"a data race is printed, whichever test it was said in": {
			events: []string{
				`{"Action":"output","Package":"` + pkg + `","Test":"TestD","Output":"WARNING: DATA RACE\n"}`,
				`{"Action":"pass","Package":"` + pkg + `","Test":"TestD"}`,
				`{"Action":"output","Package":"` + pkg + `","Test":"TestE","Output":"    testing.go:1712: race detected during execution of test\n"}`,
				`{"Action":"fail","Package":"` + pkg + `","Test":"TestE"}`,
				`{"Action":"fail","Package":"` + pkg + `"}`,
			},
			want:   want{Passed: 1, Failed: 1, Failures: []string{"test/e2e TestE: testing.go:1712: race detected during execution of test"}},
			prints: "WARNING: DATA RACE\n",
		},
		"a test without a result is printed": {
			events: []string{
				`{"Action":"output","Package":"` + pkg + `","Test":"TestF","Output":"panic: test timed out after 15m0s\n"}`,
				`{"Action":"fail","Package":"` + pkg + `"}`,
			},
			want:   want{Broken: []string{"test/e2e"}},
			prints: "panic: test timed out after 15m0s\n",
		},
		"a package that does not compile counts": {
			events: []string{`{"Action":"fail","Package":"` + pkg + `"}`},
			want:   want{Broken: []string{"test/e2e"}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := &tally{skips: map[string]int{}}
			held, failedIn := map[string][]string{}, map[string]bool{}
			var out bytes.Buffer
			for _, e := range c.events {
				got.add(&out, e+"\n", held, failedIn)
			}
			if c.want.Skips == nil {
				c.want.Skips = map[string]int{}
			}
			if diff := cmp.Diff(c.want, want{got.passed, got.failed, got.skipped, got.skips, got.broken, got.failures}); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(out.String(), c.prints) {
				t.Errorf("prints %q, want %q in it", out.String(), c.prints)
			}
		})
	}
}
