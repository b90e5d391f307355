// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/memory"
)

// With an endless or far too large query file it is unknown whether the node has bootstrapped, and reading it takes little memory.
func TestQueryFileTakesLittleMemory(t *testing.T) {
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, 1<<40); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"/dev/zero": "/dev/zero: not a regular file",
		large:       "/large is larger than 1 MiB; set --query-file to the output file of the query container",
	} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			memory.Under(t, 96<<20, func(t *testing.T) {
				if got := ReadQuery(name); got.Bootstrapped != bootstrap.BootstrappedUnknown || !strings.Contains(words.Text(got.Detail), want) {
					t.Errorf("%v: %s, want %s", got.Bootstrapped, words.Text(got.Detail), want)
				}
			})
		})
	}
}

// Barrier and launcher read the query by one rule. Without an exit code only the output counts.
func TestReadQuery(t *testing.T) {
	const completed, host = `[{"bootstrapped":"COMPLETED","host_id":"8ebd0fc0-1111-4111-8111-111111111111"}]`, "8ebd0fc0-1111-4111-8111-111111111111"
	tests := map[string]struct {
		out, code string
		want      bootstrap.Bootstrapped
		row       bool
	}{
		"completed":                              {completed, "0\n", bootstrap.BootstrappedYes, true},
		"completed, without an exit code":        {completed, "", bootstrap.BootstrappedYes, true},
		"completed, and the code is no number":   {completed, "killed", bootstrap.BootstrappedYes, true},
		"completed, and the query failed":        {completed, "1", bootstrap.BootstrappedUnknown, true},
		"no row":                                 {"[]", "0", bootstrap.BootstrappedNo, false},
		"no row, without an exit code":           {"[]", "", bootstrap.BootstrappedNo, false},
		"nothing, without an exit code":          {"", "", bootstrap.BootstrappedUnknown, false},
		"cut off, without an exit code":          {completed[:20], "", bootstrap.BootstrappedUnknown, true},
		"null, without an exit code":             {`[{"bootstrapped":null}]`, "", bootstrap.BootstrappedNo, true},
		"decommissioned, without an exit code":   {`[{"bootstrapped":"DECOMMISSIONED"}]`, "", bootstrap.BootstrappedDecommissioned, true},
		"an empty output of a query that failed": {"", "1", bootstrap.BootstrappedUnknown, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "bootstrapped.json")
			for path, text := range map[string]string{file: tc.out, file + ".code": tc.code} {
				if path == file || text != "" {
					if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			got := ReadQuery(file)
			if got.Bootstrapped != tc.want || got.HasRow != tc.row || (got.HostID == host) != (tc.out == completed) || got.Detail.IsZero() {
				t.Errorf("%+v, want %v", got, tc.want)
			}
		})
	}
	if got := ReadQuery(filepath.Join(t.TempDir(), "none")); got.Bootstrapped != bootstrap.BootstrappedUnknown || got.Detail.IsZero() {
		t.Errorf("without a file: %+v", got)
	}
}
