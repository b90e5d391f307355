// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sample(source string) Spec {
	return Spec{
		Ref: "localhost/thing:dev",
		Files: []File{
			{Path: "/usr/bin/thing", Source: source, Mode: 0o755},
			{Path: "/var/lib/thing", Dir: true, Mode: 0o700, UID: 999, GID: 998},
			{Path: "/tmp", Dir: true, Mode: 0o1777},
			{Path: "/etc/thing.conf", Content: []byte("a=b\n")},
			{Path: "/thing", Link: "/usr/bin/thing"},
		},
		Users:      []User{{Name: "thing", UID: 999, GID: 998, Home: "/var/lib/thing"}},
		Entrypoint: []string{"/usr/bin/thing"},
		Env:        []string{"PATH=/usr/bin"},
		User:       "999:998",
		WorkDir:    "/var/lib/thing",
		Labels:     map[string]string{"b": "2", "a": "1"},
	}
}

func writeSource(t *testing.T) string {
	t.Helper()
	source := filepath.Join(t.TempDir(), "binary")
	if err := os.WriteFile(source, bytes.Repeat([]byte("\x7fELF"), 5000), 0o700); err != nil {
		t.Fatal(err)
	}
	return source
}

func readTar(t *testing.T, r io.Reader) (headers []*tar.Header, contents map[string][]byte) {
	t.Helper()
	contents = map[string][]byte{}
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return headers, contents
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		headers = append(headers, h)
		contents[h.Name] = b
	}
}

func TestArchiveIsAConsistentOCILayout(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "thing.tar")
	if err := Write(archive, sample(writeSource(t))); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	_, parts := readTar(t, bytes.NewReader(b))
	fetch := func(d descriptor, into any) []byte {
		t.Helper()
		content, ok := parts[blobPath(d)]
		if !ok {
			t.Fatalf("blob %s is missing", d.Digest)
		}
		sum := sha256.Sum256(content)
		if got := "sha256:" + hex.EncodeToString(sum[:]); got != d.Digest || int64(len(content)) != d.Size {
			t.Errorf("%s: blob has digest %s and %d bytes, descriptor says %s and %d", d.MediaType, got, len(content), d.Digest, d.Size)
		}
		if into != nil {
			if err := json.Unmarshal(content, into); err != nil {
				t.Fatal(err)
			}
		}
		return content
	}
	var idx index
	if err := json.Unmarshal(parts["index.json"], &idx); err != nil {
		t.Fatal(err)
	}
	var m manifest
	fetch(idx.Manifests[0], &m)
	var c config
	fetch(m.Config, &c)
	layer := fetch(m.Layers[0], nil)
	if diff := cmp.Diff([]string{m.Layers[0].Digest}, c.RootFS.DiffIDs); diff != "" {
		t.Errorf("layer digest and diff ID differ, though the layer is not compressed:\n%s", diff)
	}
	want := processConfig{User: "999:998", Env: []string{"PATH=/usr/bin"}, Entrypoint: []string{"/usr/bin/thing"},
		WorkingDir: "/var/lib/thing", Labels: map[string]string{"a": "1", "b": "2"}}
	if diff := cmp.Diff(want, c.Config); diff != "" {
		t.Errorf("process config (-want +got):\n%s", diff)
	}

	headers, contents := readTar(t, bytes.NewReader(layer))
	type entry struct {
		Name     string
		Type     byte
		Mode     int64
		UID, GID int
		Link     string
	}
	var got []entry
	for _, h := range headers {
		got = append(got, entry{h.Name, h.Typeflag, h.Mode, h.Uid, h.Gid, h.Linkname})
	}
	wantEntries := []entry{
		{"etc/", tar.TypeDir, 0o755, 0, 0, ""},
		{"etc/group", tar.TypeReg, 0o644, 0, 0, ""},
		{"etc/passwd", tar.TypeReg, 0o644, 0, 0, ""},
		{"etc/thing.conf", tar.TypeReg, 0o644, 0, 0, ""},
		{"thing", tar.TypeSymlink, 0o777, 0, 0, "/usr/bin/thing"},
		{"tmp/", tar.TypeDir, 0o1777, 0, 0, ""},
		{"usr/", tar.TypeDir, 0o755, 0, 0, ""},
		{"usr/bin/", tar.TypeDir, 0o755, 0, 0, ""},
		{"usr/bin/thing", tar.TypeReg, 0o755, 0, 0, ""},
		{"var/", tar.TypeDir, 0o755, 0, 0, ""},
		{"var/lib/", tar.TypeDir, 0o755, 0, 0, ""},
		{"var/lib/thing/", tar.TypeDir, 0o700, 999, 998, ""},
	}
	if diff := cmp.Diff(wantEntries, got); diff != "" {
		t.Errorf("layer (-want +got):\n%s", diff)
	}
	if got, want := string(contents["etc/passwd"]), "thing:x:999:998::/var/lib/thing:/sbin/nologin\n"; got != want {
		t.Errorf("/etc/passwd is %q, want %q", got, want)
	}
}

func TestSameInputGivesSameBytes(t *testing.T) {
	first, second := writeSource(t), writeSource(t)
	if err := os.Chmod(second, 0o600); err != nil { // neither mode, time nor place of the source may show
		t.Fatal(err)
	}
	a, b := filepath.Join(t.TempDir(), "a.tar"), filepath.Join(t.TempDir(), "b.tar")
	if err := Write(a, sample(first)); err != nil {
		t.Fatal(err)
	}
	other := sample(second)
	slices.Reverse(other.Files)
	if err := Write(b, other); err != nil {
		t.Fatal(err)
	}
	x, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(x, y) {
		t.Error("the same files listed in another order gave other bytes")
	}
	info, err := Read(a)
	if err != nil {
		t.Fatal(err)
	}
	if info.Ref != "localhost/thing:dev" || !strings.HasPrefix(info.Digest, "sha256:") {
		t.Errorf("Read gave %+v", info)
	}
	changed := sample(first)
	changed.Files[3].Content = []byte("a=c\n")
	if err := Write(b, changed); err != nil {
		t.Fatal(err)
	}
	if after, err := Read(b); err != nil || after.Digest == info.Digest {
		t.Errorf("other content has the same digest %s (error %v)", after.Digest, err)
	}
}

func TestBadSpecIsRefusedAndNamesTheEntry(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Spec)
		want   string
	}{
		"name without tag":           {func(s *Spec) { s.Ref = "localhost/thing" }, `"localhost/thing" is not of the form`},
		"name without host":          {func(s *Spec) { s.Ref = "thing:dev" }, `"thing:dev" is not of the form`},
		"relative path":              {func(s *Spec) { s.Files[0].Path = "thing" }, `file "thing": path must be absolute`},
		"two kinds at once":          {func(s *Spec) { s.Files[0].Dir = true }, `file "/usr/bin/thing": set exactly one`},
		"no kind":                    {func(s *Spec) { s.Files[2].Dir = false }, `file "/tmp": set exactly one`},
		"same path twice":            {func(s *Spec) { s.Files[2].Path = "/thing/" }, `file "/thing": listed twice`},
		"file below a file":          {func(s *Spec) { s.Files[2].Path = "/etc/thing.conf/x" }, "/etc/thing.conf is not a directory"},
		"source missing":             {func(s *Spec) { s.Files[0].Source = "/does/not/exist" }, `file "/usr/bin/thing": open /does/not/exist`},
		"source is a directory":      {func(s *Spec) { s.Files[0].Source = "/" }, `file "/usr/bin/thing": source / is not a regular file`},
		"users and own /etc/passwd":  {func(s *Spec) { s.Files[3].Path = "/etc/passwd" }, `file "/etc/passwd": listed twice`},
		"path that is only the root": {func(s *Spec) { s.Files[1].Path = "/x/.." }, `file "/x/..": path must be absolute and below /`},
	} {
		t.Run(name, func(t *testing.T) {
			spec := sample(writeSource(t))
			tc.change(&spec)
			dir := t.TempDir()
			archive := filepath.Join(dir, "thing.tar")
			err := Write(archive, spec)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want it to say %q", err, tc.want)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("left %s behind", left[0].Name())
			}
		})
	}
}
