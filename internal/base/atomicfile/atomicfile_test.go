// SPDX-License-Identifier: Apache-2.0

package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A failed write leaves the file of before, and nothing beside it.
func TestWrite(t *testing.T) {
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	broken := errors.New("disk full")
	tests := map[string]struct {
		write func(io.Writer) error
		place func(tmp, name string) error
		want  string
		err   error
	}{
		"replaced":      {text("new"), os.Rename, "new", nil},
		"write fails":   {func(w io.Writer) error { return errors.Join(text("half")(w), broken) }, os.Rename, "old", broken},
		"name is taken": {text("new"), os.Link, "old", os.ErrExist},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "result.json")
			if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			err := Write(file, 0o640, tc.write, tc.place)
			if !errors.Is(err, tc.err) || err != nil && !strings.HasPrefix(err.Error(), "write "+file+": ") {
				t.Errorf("%v, want %v", err, tc.err)
			}
			got, err := os.ReadFile(file)
			if err != nil || string(got) != tc.want {
				t.Errorf("%q, %v; want %q", got, err, tc.want)
			}
			if info, err := os.Stat(file); err != nil || tc.err == nil && info.Mode() != 0o640 {
				t.Errorf("%v, %v", info.Mode(), err)
			}
			if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
				t.Errorf("%v, %v", files, err)
			}
		})
	}
	if err := Write(filepath.Join(t.TempDir(), "no", "x"), 0o600, text(""), os.Rename); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such folder: %v", err)
	}
}
