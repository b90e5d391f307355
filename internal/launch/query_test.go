// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/test/memory"
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
		"/dev/zero": "/dev/zero: it is not a regular file",
		large:       "/large is larger than 1 MiB; give --query-file the file that the query's init container wrote",
	} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			memory.Under(t, 96<<20, func(t *testing.T) {
				o := Options{QueryFile: name}
				if got, detail := o.bootstrapped(); got != bootstrap.BootstrappedUnknown || !strings.Contains(detail, want) {
					t.Errorf("%v: %s, want %s", got, detail, want)
				}
			})
		})
	}
}
