// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
)

// TestAttack3WhatCouldNotBeLookedIntoIsNotEmpty: the barrier decides by this result.
func TestAttack3WhatCouldNotBeLookedIntoIsNotEmpty(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		make func(t *testing.T, dir string)
		want bootstrap.Volume
		err  string
	}{
		"not there": {func(*testing.T, string) {}, bootstrap.VolumeUnreadable, "no such file"},
		"a file":    {func(t *testing.T, dir string) { file(t, dir) }, bootstrap.VolumeUnreadable, "not a directory"},
		"a link to a used one": {func(t *testing.T, dir string) {
			file(t, dir+"-real/commitlog/CommitLog-1.log")
			link(t, dir+"-real", dir)
		}, bootstrap.VolumeUnreadable, "not a directory"},
		"stray files": {func(t *testing.T, dir string) {
			folder(t, dir+"/lost+found")
			file(t, dir+"/x")
			file(t, dir+"/data/x")
		}, bootstrap.VolumeEmpty, ""},
		"neither layout":             {func(t *testing.T, dir string) { file(t, dir+"/x/y") }, bootstrap.VolumeUnreadable, "not ScyllaDB's working or data directory"},
		"no volume is mounted there": {func(t *testing.T, dir string) { folder(t, dir) }, bootstrap.VolumeUnreadable, "not ScyllaDB's working or data directory"},
		"tables, and the commit log is elsewhere": {func(t *testing.T, dir string) {
			folder(t, dir+"/data/system/peers-1")
		}, bootstrap.VolumeUnreadable, "the commit log is not in"},
		"ScyllaDB's folders, and empty": {func(t *testing.T, dir string) {
			folder(t, dir+"/data/system/local-1")
			folder(t, dir+"/commitlog/schema")
		}, bootstrap.VolumeEmpty, ""},
		"a folder called as a commit log": {func(t *testing.T, dir string) { folder(t, dir+"/commitlog/CommitLog-1.log") }, bootstrap.VolumeEmpty, ""},
		"a link called as a commit log": {func(t *testing.T, dir string) {
			folder(t, dir+"/commitlog")
			link(t, "/etc/hostname", dir+"/commitlog/CommitLog-1.log")
		}, bootstrap.VolumeEmpty, ""},
		"an SSTable of another table": {func(t *testing.T, dir string) {
			file(t, dir+"/data/system/peers-1/me-1-big-Data.db")
			folder(t, dir+"/commitlog")
		}, bootstrap.VolumeEmpty, ""},
		"an SSTable of system.local":    {func(t *testing.T, dir string) { file(t, dir+"/data/system/local-1/me-1-big-Data.db") }, bootstrap.VolumeUsed, ""},
		"a commit log":                  {func(t *testing.T, dir string) { file(t, dir+"/commitlog/CommitLog-1.log") }, bootstrap.VolumeUsed, ""},
		"a schema commit log":           {func(t *testing.T, dir string) { file(t, dir+"/schema_commitlog/SchemaLog-1.log") }, bootstrap.VolumeUsed, ""},
		"a linked folder":               {func(t *testing.T, dir string) { folder(t, dir); link(t, t.TempDir(), dir+"/data") }, bootstrap.VolumeUnreadable, "symbolic link"},
		"a file where a folder belongs": {func(t *testing.T, dir string) { file(t, dir+"/data") }, bootstrap.VolumeUnreadable, "not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "scylla")
			tc.make(t, dir)
			got, err := Look(dir)
			if got != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%v, %v; want %v, %q", got, err, tc.want, tc.err)
			}
		})
	}
}

// TestTheDataDirectoryIsNamed: the Scylla Operator's barrier is given /var/lib/scylla/data. A member that has flushed nothing is not one that lost its
// disk, whichever of the two directories is named.
func TestTheDataDirectoryIsNamed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		folders, files []string
		mounted        string
		want           bootstrap.Volume
	}{
		"flushed":                      {files: []string{"data/system/local-1/me-1-big-Data.db"}, folders: []string{"commitlog"}, want: bootstrap.VolumeUsed},
		"nothing is flushed":           {folders: []string{"data/system/local-1"}, files: []string{"commitlog/CommitLog-1.log"}, want: bootstrap.VolumeUsed},
		"no table yet":                 {folders: []string{"data"}, files: []string{"commitlog/CommitLog-1.log"}, want: bootstrap.VolumeUsed},
		"a keyspace called data":       {folders: []string{"data/data/t-1", "data/system/local-1"}, files: []string{"commitlog/CommitLog-1.log"}, want: bootstrap.VolumeUsed},
		"no file":                      {folders: []string{"data/system/local-1", "commitlog"}, want: bootstrap.VolumeEmpty},
		"a new volume":                 {folders: []string{"lost+found"}, mounted: ".", want: bootstrap.VolumeEmpty},
		"our directory, and no volume": {folders: []string{api.DirOwn}, want: bootstrap.VolumeUnreadable},
		"a new volume with ours":       {folders: []string{"lost+found", api.DirOwn}, mounted: ".", want: bootstrap.VolumeEmpty},
		"ours and something else":      {folders: []string{api.DirOwn}, files: []string{"x"}, mounted: ".", want: bootstrap.VolumeUnreadable},
		"ours and a commit log":        {folders: []string{api.DirOwn, "data"}, files: []string{"commitlog/CommitLog-1.log"}, mounted: ".", want: bootstrap.VolumeUsed},
		"nothing there, and no volume": {want: bootstrap.VolumeUnreadable},
		"a volume with something else": {files: []string{"x"}, mounted: ".", want: bootstrap.VolumeUnreadable},
		"the commit log is elsewhere":  {folders: []string{"data/system/local-1"}, want: bootstrap.VolumeUnreadable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work := t.TempDir()
			for _, f := range tc.folders {
				folder(t, filepath.Join(work, f))
			}
			for _, f := range tc.files {
				file(t, filepath.Join(work, f))
			}
			is := func(dir string) bool { return tc.mounted != "" && dir == filepath.Join(work, tc.mounted) }
			for _, dir := range []string{work, filepath.Join(work, "data")} {
				if got, err := look(dir, is); got != tc.want || (err == nil) == (tc.want == bootstrap.VolumeUnreadable) {
					t.Errorf("%s: %v, %v; want %v", strings.TrimPrefix(dir, work), got, err, tc.want)
				}
			}
		})
	}
}

// TestAVolumeIsMounted: only the kernel's list says so.
func TestAVolumeIsMounted(t *testing.T) {
	t.Parallel()
	if dir := t.TempDir(); mounted(dir) {
		t.Errorf("%s is taken for a volume", dir)
	}
	if !mounted("/proc") {
		t.Error("/proc is not taken for a volume")
	}
}

// TestAttack3AVolumeThatMayNotBeReadIsNotEmpty needs a user without root's rights.
func TestAttack3AVolumeThatMayNotBeReadIsNotEmpty(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything: run as another user")
	}
	for _, part := range []string{"", "/commitlog", "/data/system/local-1"} {
		dir := t.TempDir()
		folder(t, dir+part)
		if err := os.Chmod(dir+part, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(dir+part, 0o700) })
		if got, err := Look(dir); got != bootstrap.VolumeUnreadable || err == nil {
			t.Errorf("%q: %v, %v", part, got, err)
		}
	}
}

func folder(t *testing.T, name string) {
	t.Helper()
	if err := os.MkdirAll(name, 0o755); err != nil {
		t.Fatal(err)
	}
}

func file(t *testing.T, name string) {
	t.Helper()
	folder(t, filepath.Dir(name))
	if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, name string) {
	t.Helper()
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}
