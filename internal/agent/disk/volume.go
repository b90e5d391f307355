// SPDX-License-Identifier: Apache-2.0

// Package disk reads the state of ScyllaDB's volume, with the same logic for barrier and launcher:
// whether the mounted directory has ScyllaDB's files, and the output of the query of system.local.
// It reads no content of ScyllaDB's files and makes no decision.
package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
)

// DefaultDir is the mount point of ScyllaDB's volume.
const DefaultDir = "/var/lib/scylla"

// The folders of ScyllaDB's working directory, and the keyspace in each data directory. ScyllaDB
// creates the commit log's folder before the first table's.
var (
	workFolders      = []string{"data", "commitlog", "schema_commitlog", "hints", "view_hints"}
	commitLogFolders = []string{"commitlog", "schema_commitlog"}
	commitLogs       = []string{"commitlog/*", "commitlog/schema/*", "schema_commitlog/*"}
)

const (
	systemKeyspace = "system"
	localTable     = "system/local-*/*-Data.db"
)

// Look returns whether the volume has ScyllaDB's files: SSTables of system.local, or commit logs.
// Other files prove nothing. dir is ScyllaDB's working directory (/var/lib/scylla). It may also be
// its data directory (/var/lib/scylla/data, as in `scylla sstable query` and the Scylla Operator),
// with the commit log next to it. The error is why a directory was not examined: it is neither of
// these, does not exist, is unreadable, or is behind a symbolic link. That is not the same as
// empty. Only a mounted volume without files is empty before ScyllaDB's first start.
func Look(dir string) (bootstrap.Volume, error) {
	return look(filepath.Clean(dir), mounted)
}

func look(dir string, mounted func(string) bool) (bootstrap.Volume, error) {
	work, data, err := layout(dir, mounted)
	if err != nil {
		return bootstrap.VolumeUnreadable, err
	}
	for _, pattern := range append([]string{data + "/" + localTable}, commitLogs...) {
		switch used, err := holds(work, strings.Split(pattern, "/")); {
		case err != nil:
			return bootstrap.VolumeUnreadable, err
		case used:
			return bootstrap.VolumeUsed, nil
		}
	}
	if has(filepath.Join(work, data), systemKeyspace) && !has(work, commitLogFolders...) {
		return bootstrap.VolumeUnreadable,
			errors.New("the commit log is not in " + work + ", and ScyllaDB may have written only there")
	}
	return bootstrap.VolumeEmpty, nil
}

// layout returns ScyllaDB's working directory and its data directory's name; dir is either.
func layout(dir string, mounted func(string) bool) (work, data string, err error) {
	parent, base := filepath.Dir(dir), filepath.Base(dir)
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && unused(parent, mounted):
		return parent, base, nil
	case err != nil:
		return "", "", err
	case !info.IsDir():
		return "", "", errors.New("not a directory")
	case has(dir, systemKeyspace): // first, because a keyspace may be called data
		return parent, base, nil
	case has(dir, workFolders...), unused(dir, mounted):
		return dir, "data", nil
	case has(parent, commitLogFolders...):
		return parent, base, nil
	}
	if _, err := os.ReadDir(dir); err != nil {
		return "", "", err
	}
	return "", "",
		errors.New("not ScyllaDB's working or data directory: specify the directory that contains data and commitlog")
}

// has reports whether dir has an entry of any type with one of these names.
func has(dir string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	})
}

// unused reports whether dir is a mounted volume without files: ScyllaDB has never started on it.
// The kubelet creates api.DirOwn before the barrier starts.
func unused(dir string, mounted func(string) bool) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && mounted(dir) &&
		!slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
			return e.Name() != "lost+found" &&
				e.Name() != api.DirOwn
		})
}

var limitMounts = bounded.Limit{Bytes: 1 << 20, Cure: "specify a mounted volume"}

// mounted reports whether a volume is mounted at dir (proc_pid_mountinfo(5), fifth field).
func mounted(dir string) bool {
	b, err := limitMounts.ReadFile("the list of mounts", "/proc/self/mountinfo")
	return err == nil && slices.ContainsFunc(strings.Split(string(b), "\n"), func(line string) bool {
		f := strings.Fields(line)
		return len(f) > 4 && f[4] == dir
	})
}

// holds reports whether a regular file matches the pattern, given as path elements. A directory
// that cannot be listed is an error: filepath.Glob treats it as empty. A symbolic link is also an
// error: its target may be on no volume.
func holds(dir string, pattern []string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if ok, err := filepath.Match(pattern[0], e.Name()); err != nil || !ok {
			continue // the patterns are valid
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
