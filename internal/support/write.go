// SPDX-License-Identifier: Apache-2.0

package support

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/atomicfile"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
)

// WriteTo writes the zip file, deterministically.
func (a *Archive) WriteTo(w io.Writer) (int64, error) {
	count := &counter{w: w}
	z := zip.NewWriter(count)
	data, err := json.MarshalIndent(&a.Manifest, "", " ")
	if err != nil {
		return 0, fmt.Errorf("encode %s: %w", manifestName, err)
	}
	// The manifest is first, for a person who opens the file manually.
	for _, f := range append([]file{{name: manifestName, data: append(data, '\n')}}, a.files...) {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: a.Manifest.CreatedAt.Time}
		h.SetMode(0o600)
		out, err := z.CreateHeader(h)
		if err == nil {
			_, err = out.Write(f.data)
		}
		if err != nil {
			return count.n, fmt.Errorf("write %s: %w", f.name, err)
		}
	}
	if err := z.Close(); err != nil {
		return count.n, fmt.Errorf("write the archive: %w", err)
	}
	return count.n, nil
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// ErrExists means that the file exists and must not be overwritten.
var ErrExists = errors.New("already exists")

// Writable checks early whether WriteFile could write name: its directory exists, and the file does
// not exist, or force allows replacing it.
func Writable(name string, force bool) error {
	dir, err := os.Stat(filepath.Dir(name))
	if errors.Is(err, os.ErrNotExist) {
		return exit.WithHint(fmt.Errorf("write %s: directory %s does not exist", filepath.Base(name),
			filepath.Dir(name)), "create the directory first")
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, errors.Unwrap(err))
	}
	if !dir.IsDir() {
		return fmt.Errorf("write %s: %s is not a directory", name, filepath.Dir(name))
	}
	switch info, err := os.Lstat(name); {
	case err == nil && info.IsDir():
		return fmt.Errorf("write %s: it is a directory", name)
	case err == nil && !force:
		return fmt.Errorf("write %s: %w", name, ErrExists)
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("write %s: %w", name, errors.Unwrap(err))
	}
	return nil
}

// WriteFile atomically writes the archive to name, readable by its owner only, and returns its size
// in bytes. Error: ErrExists if name exists, unless force allows replacing it.
func (a *Archive) WriteFile(name string, force bool) (written int64, err error) {
	if err := Writable(name, force); err != nil {
		return 0, err
	}
	write := func(w io.Writer) error { written, err = a.WriteTo(w); return err }
	placed := func(tmp, name string) error { return place(tmp, name, force) }
	if err := atomicfile.Write(name, 0o600, write, placed); err != nil {
		return 0, err
	}
	return written, nil
}

// place gives the finished file its name.
func place(tmp, name string, force bool) error {
	if force {
		return os.Rename(tmp, name)
	}
	// A link, unlike a rename, fails if another process has created the file.
	err := os.Link(tmp, name)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrExist):
		return ErrExists
	}
	// A file system without links.
	if _, err := os.Lstat(name); err == nil {
		return ErrExists
	}
	return os.Rename(tmp, name)
}

func size(n int64) string {
	switch {
	case n >= 10*mib:
		return fmt.Sprintf("%d MiB", n/mib)
	case n >= mib:
		return fmt.Sprintf("%.1f MiB", float64(n)/mib)
	case n >= 1024:
		return fmt.Sprintf("%d KiB", n/1024)
	}
	return fmt.Sprintf("%d bytes", n)
}

// Size returns a number of bytes in readable units.
func Size(n int64) string { return size(n) }
