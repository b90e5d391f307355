// SPDX-License-Identifier: Apache-2.0

// Package volume examines the directory where ScyllaDB's volume is mounted: whether ScyllaDB's own files are in it. It reads no file's content and
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

// ScyllaDB's own files, below its data directory: the SSTables of system.local, and the commit logs. Other files prove nothing.
var ownFiles = []string{"data/system/local-*/*-Data.db", "commitlog/*", "commitlog/schema/*", "schema_commitlog/*"}

// Look returns whether ScyllaDB's own files are in the volume. A volume that is not mounted, may not be read, or is behind a symbolic link was not
// examined, which is not the same as empty: the error gives the reason.
func Look(dir string) (bootstrap.Volume, error) {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return bootstrap.VolumeUnreadable, err
	case !info.IsDir():
		return bootstrap.VolumeUnreadable, errors.New("it is not a directory")
	}
	for _, pattern := range ownFiles {
		switch used, err := holds(dir, strings.Split(pattern, "/")); {
		case err != nil:
			return bootstrap.VolumeUnreadable, err
		case used:
			return bootstrap.VolumeUsed, nil
		}
	}
	return bootstrap.VolumeEmpty, nil
}

// holds is true where a regular file matches the pattern, whose parts are given. A directory on the way that cannot be listed is an error:
// filepath.Glob treats it as empty. A symbolic link is one too: its target may be on no volume at all.
func holds(dir string, pattern []string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if ok, err := filepath.Match(pattern[0], e.Name()); err != nil || !ok {
			continue // the patterns are well formed
		}
		name := filepath.Join(dir, e.Name())
		switch {
		case len(pattern) == 1 && e.Type().IsRegular():
			return true, nil
		case len(pattern) == 1:
		case e.Type()&fs.ModeSymlink != 0:
			return false, errors.New(name + " is a symbolic link")
		default:
			if used, err := holds(name, pattern[1:]); used || err != nil {
				return used, err
			}
		}
	}
	return false, nil
}
