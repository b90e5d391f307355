// SPDX-License-Identifier: Apache-2.0

package volume

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
		"empty": {func(t *testing.T, dir string) { folder(t, dir) }, bootstrap.VolumeEmpty, ""},
		"lost+found and stray files": {func(t *testing.T, dir string) {
			folder(t, dir+"/lost+found")
			file(t, dir+"/x")
			file(t, dir+"/data/x")
		}, bootstrap.VolumeEmpty, ""},
		"ScyllaDB's folders, and empty": {func(t *testing.T, dir string) {
			folder(t, dir+"/data/system/local-1")
			folder(t, dir+"/commitlog/schema")
		}, bootstrap.VolumeEmpty, ""},
		"a folder called as a commit log": {func(t *testing.T, dir string) { folder(t, dir+"/commitlog/CommitLog-1.log") }, bootstrap.VolumeEmpty, ""},
		"a link called as a commit log": {func(t *testing.T, dir string) {
			folder(t, dir+"/commitlog")
			link(t, "/etc/hostname", dir+"/commitlog/CommitLog-1.log")
		}, bootstrap.VolumeEmpty, ""},
		"an SSTable of another table":   {func(t *testing.T, dir string) { file(t, dir+"/data/system/peers-1/me-1-big-Data.db") }, bootstrap.VolumeEmpty, ""},
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
