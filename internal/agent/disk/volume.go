// SPDX-License-Identifier: Apache-2.0

// Package disk reads the state of ScyllaDB's volume, for barrier and launcher by one rule: whether ScyllaDB's own files are in the directory where it is mounted, and what the query
// of system.local has printed. It reads no file of ScyllaDB's and judges nothing.
package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
)

// DefaultDir is where ScyllaDB's volume is mounted.
const DefaultDir = "/var/lib/scylla"

// The folders of ScyllaDB's working directory, and the keyspace that each data directory has. ScyllaDB makes the commit log's folder before the
// first table's.
var (
	workFolders      = []string{"data", "commitlog", "schema_commitlog", "hints", "view_hints"}
	commitLogFolders = []string{"commitlog", "schema_commitlog"}
	commitLogs       = []string{"commitlog/*", "commitlog/schema/*", "schema_commitlog/*"}
)

const (
	systemKeyspace = "system"
	localTable     = "system/local-*/*-Data.db"
)

// Look returns whether ScyllaDB's own files are in the volume: SSTables of system.local, or commit logs. Other files prove nothing. dir is ScyllaDB's
// working directory (/var/lib/scylla), or its data directory beside the commit log's (/var/lib/scylla/data, as `scylla sstable query` and the
// Scylla Operator name it). A directory that is neither was not examined, which is not the same as empty, and nor was one that is not there, may not
// be read, or is behind a symbolic link: the error gives the reason. Only a mounted volume without any file is empty before ScyllaDB's first start.
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
		return bootstrap.VolumeUnreadable, errors.New("the commit log is not in " + work + ", and ScyllaDB may have written only there")
	}
	return bootstrap.VolumeEmpty, nil
}

// layout finds ScyllaDB's working directory and the name of the data directory in it; dir may be either.
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
	case has(dir, systemKeyspace): // first, as a keyspace may be called data
		return parent, base, nil
	case has(dir, workFolders...), unused(dir, mounted):
		return dir, "data", nil
	case has(parent, commitLogFolders...):
		return parent, base, nil
	}
	if _, err := os.ReadDir(dir); err != nil {
		return "", "", err
	}
	return "", "", errors.New("not ScyllaDB's working or data directory: specify the directory that contains data and commitlog")
}

// has is true where dir has an entry of one of these names, whatever it is.
func has(dir string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	})
}

// unused is true of a mounted volume without any file: ScyllaDB has not started on it.
func unused(dir string, mounted func(string) bool) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && mounted(dir) && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() != "lost+found" })
}

var limitMounts = bounded.Limit{Bytes: 1 << 20, Cure: "specify a mounted volume"}

// mounted is true where a volume is mounted at dir (proc_pid_mountinfo(5): the fifth field).
func mounted(dir string) bool {
	b, err := limitMounts.ReadFile("the list of mounts", "/proc/self/mountinfo")
	return err == nil && slices.ContainsFunc(strings.Split(string(b), "\n"), func(line string) bool {
		f := strings.Fields(line)
		return len(f) > 4 && f[4] == dir
	})
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
