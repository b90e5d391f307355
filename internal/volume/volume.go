// SPDX-License-Identifier: Apache-2.0

// Package volume looks into the directory where ScyllaDB's volume is mounted: whether ScyllaDB's own files are in it. It reads no file's content and
// judges nothing.
package volume

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
)

// DefaultDir is where ScyllaDB's volume is mounted.
const DefaultDir = "/var/lib/scylla"

// ScyllaDB's own files, below its data directory: the SSTables of system.local, and the commit logs. A file of anybody else says nothing.
var ownFiles = []string{"data/system/local-*/*-Data.db", "commitlog/*", "commitlog/schema/*", "schema_commitlog/*"}

// Look finds out whether ScyllaDB's own files are in the volume. A volume that is not mounted, may not be read, or stands behind a symbolic link was not
// looked into, which is not the same as empty: the error says why.
func Look(dir string) (bootstrap.Volume, error) {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return bootstrap.VolumeUnreadable, err
	case !info.IsDir():
		return bootstrap.VolumeUnreadable, errors.New("it is not a directory")
	}
	if _, err := os.ReadDir(dir); err != nil {
		return bootstrap.VolumeUnreadable, err
	}
	for _, pattern := range ownFiles {
		for part := pattern; part != "."; part = filepath.Dir(part) {
			if strings.Contains(part, "*") {
				continue
			}
			if _, err := os.ReadDir(filepath.Join(dir, part)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return bootstrap.VolumeUnreadable, err
			}
		}
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return bootstrap.VolumeUnreadable, err
		}
		for _, name := range found {
			if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() {
				return bootstrap.VolumeUsed, nil
			}
		}
	}
	return bootstrap.VolumeEmpty, nil
}
