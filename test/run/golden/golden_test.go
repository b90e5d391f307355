// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorder is a test that is allowed to fail.
type recorder struct {
	testing.TB
	said []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, _ ...any) { r.said = append(r.said, format) }

func TestAFileIsWrittenOnceAndComparedAfterwards(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "x.txt")
	was := flag.Lookup("update").Value.String()
	t.Cleanup(func() { _ = flag.Set("update", was) })
	_ = flag.Set("update", "true")
	File(t, path, "one\n")
	_ = flag.Set("update", "false")
	File(t, path, "one\n")
	r := &recorder{TB: t}
	File(r, path, "two\n")
	if len(r.said) != 1 || !strings.Contains(r.said[0], "-update") {
		t.Errorf("a difference is said as %q", r.said)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "one\n" {
		t.Errorf("the file became %q, %v", b, err)
	}
}
