// SPDX-License-Identifier: Apache-2.0

// Package atomicfile writes a file in one step. It knows no format and decides no file name.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write writes a temporary file in the folder of name, and renames it by place: a reader finds the
// file of before or all of the new one. place is os.Rename, or a function that keeps an existing
// file. After an error the file of before is unchanged.
func Write(
	name string, perm fs.FileMode, write func(io.Writer) error, place func(tmp, name string) error,
) error {
	tmp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err == nil {
		err = errors.Join(write(tmp), tmp.Chmod(perm), tmp.Sync(), tmp.Close())
		if err == nil {
			err = place(tmp.Name(), name)
		}
		_ = os.Remove(tmp.Name()) // already moved after a rename
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
