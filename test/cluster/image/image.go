// SPDX-License-Identifier: Apache-2.0

// Package image writes container images as OCI archives from plain files, without Docker, a registry or a base image.
//
// It owns the bytes of the archive and how the project's static binaries are built; it neither loads nor runs images
// (package test/cluster does). The same input gives the same bytes, and so the same digest, on every machine: no
// clock, no host user and no map order reaches the archive.
package image

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// File is one entry of the image's only layer. Exactly one of Source, Content, Dir and Link says what it is.
type File struct {
	Path    string // absolute path in the image
	Source  string // path on this machine of a regular file to copy
	Content []byte // the content itself; an empty file needs a non-nil Content
	Dir     bool   // a directory; those on the way to another entry are made by themselves (root, 0755)
	Link    string // target of a symbolic link
	Mode    int64  // permission bits with setuid, setgid and sticky; 0 means 0644, for Dir and for Source 0755
	UID     int
	GID     int
}

// User is a line of /etc/passwd and, by the same name, of /etc/group.
type User struct {
	Name string
	UID  int
	GID  int
	Home string // default "/"
}

// Spec describes an image.
type Spec struct {
	Ref        string // full name, as pods write it: localhost/scylla-agent:dev
	Files      []File
	Users      []User // empty: the image has neither /etc/passwd nor /etc/group
	Entrypoint []string
	Cmd        []string
	Env        []string // "NAME=value"
	User       string   // "uid", "uid:gid" or a name out of Users; empty is root
	WorkDir    string
	Labels     map[string]string
	// Architecture of the binaries; that of this machine when empty.
	Architecture string
}

const (
	mediaManifest = "application/vnd.oci.image.manifest.v1+json"
	mediaIndex    = "application/vnd.oci.image.index.v1+json"
	mediaConfig   = "application/vnd.oci.image.config.v1+json"
	mediaLayer    = "application/vnd.oci.image.layer.v1.tar"
)

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

type manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Config        descriptor   `json:"config"`
	Layers        []descriptor `json:"layers"`
}

type config struct {
	Architecture string        `json:"architecture"`
	OS           string        `json:"os"`
	Config       processConfig `json:"config"`
	RootFS       rootFS        `json:"rootfs"`
}

type processConfig struct {
	User       string            `json:"User,omitempty"`
	Env        []string          `json:"Env,omitempty"`
	Entrypoint []string          `json:"Entrypoint,omitempty"`
	Cmd        []string          `json:"Cmd,omitempty"`
	WorkingDir string            `json:"WorkingDir,omitempty"`
	Labels     map[string]string `json:"Labels,omitempty"`
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

// Write writes the image as an OCI archive to archive (a .tar), replacing a former one only when all went well.
// The error names the entry at fault.
//
// Long: the parts of an OCI archive, in the order in which they stand in it.
func Write(archive string, spec Spec) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write image %s to %s: %w", spec.Ref, archive, err)
		}
	}()
	tag, err := tagOf(spec.Ref)
	if err != nil {
		return err
	}
	entries, err := layout(spec)
	if err != nil {
		return err
	}
	dir := filepath.Dir(archive)
	layer, err := os.CreateTemp(dir, ".layer-*")
	if err != nil {
		return fmt.Errorf("create layer: %w", err)
	}
	defer func() { _ = errors.Join(layer.Close(), os.Remove(layer.Name())) }()
	sum := sha256.New()
	if err := writeLayer(io.MultiWriter(layer, sum), entries); err != nil {
		return err
	}
	size, err := layer.Seek(0, io.SeekCurrent)
	if err != nil {
		return fmt.Errorf("measure layer: %w", err)
	}
	layerDesc := descriptor{MediaType: mediaLayer, Digest: "sha256:" + hex.EncodeToString(sum.Sum(nil)), Size: size}

	configJSON, configDesc, err := blob(mediaConfig, config{
		Architecture: cmp.Or(spec.Architecture, runtime.GOARCH), OS: "linux",
		Config: processConfig{User: spec.User, Env: spec.Env, Entrypoint: spec.Entrypoint, Cmd: spec.Cmd,
			WorkingDir: spec.WorkDir, Labels: spec.Labels},
		RootFS: rootFS{Type: "layers", DiffIDs: []string{layerDesc.Digest}},
	})
	if err != nil {
		return err
	}
	manifestJSON, manifestDesc, err := blob(mediaManifest, manifest{SchemaVersion: 2, MediaType: mediaManifest,
		Config: configDesc, Layers: []descriptor{layerDesc}})
	if err != nil {
		return err
	}
	// containerd takes the name from its own annotation; the standard one holds only the tag.
	manifestDesc.Annotations = map[string]string{
		"io.containerd.image.name":          spec.Ref,
		"org.opencontainers.image.ref.name": tag,
	}
	indexJSON, _, err := blob(mediaIndex, index{SchemaVersion: 2, MediaType: mediaIndex, Manifests: []descriptor{manifestDesc}})
	if err != nil {
		return err
	}

	out, err := os.CreateTemp(dir, ".archive-*")
	if err != nil {
		return fmt.Errorf("create archive: %w", err)
	}
	defer func() {
		if err != nil {
			_ = errors.Join(out.Close(), os.Remove(out.Name()))
		}
	}()
	tw := tar.NewWriter(out)
	for _, part := range []struct {
		name    string
		content []byte
	}{
		{"oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{"index.json", indexJSON},
		{blobPath(manifestDesc), manifestJSON},
		{blobPath(configDesc), configJSON},
	} {
		if err := putRegular(tw, part.name, int64(len(part.content)), bytes.NewReader(part.content)); err != nil {
			return err
		}
	}
	if _, err := layer.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("rewind layer: %w", err)
	}
	if err := putRegular(tw, blobPath(layerDesc), size, layer); err != nil {
		return err
	}
	if err := errors.Join(tw.Close(), out.Chmod(0o644), out.Close()); err != nil {
		return fmt.Errorf("finish archive: %w", err)
	}
	return os.Rename(out.Name(), archive)
}

// Info is what an archive says of its image.
type Info struct {
	Ref    string // full name
	Digest string // "sha256:..." of the manifest
}

// Read tells name and digest of the image in an archive that Write has written.
func Read(archive string) (Info, error) {
	f, err := os.Open(archive)
	if err != nil {
		return Info{}, fmt.Errorf("read image archive: %w", err)
	}
	defer f.Close()
	tr := tar.NewReader(f)
	for {
		h, err := tr.Next()
		if err != nil {
			return Info{}, fmt.Errorf("read image archive %s: no index.json found: %w", archive, err)
		}
		if h.Name != "index.json" {
			continue
		}
		var idx index
		if err := json.NewDecoder(tr).Decode(&idx); err != nil {
			return Info{}, fmt.Errorf("read image archive %s: decode index.json: %w", archive, err)
		}
		if len(idx.Manifests) != 1 {
			return Info{}, fmt.Errorf("read image archive %s: index.json lists %d images, want 1", archive, len(idx.Manifests))
		}
		m := idx.Manifests[0]
		ref := m.Annotations["io.containerd.image.name"]
		if ref == "" {
			return Info{}, fmt.Errorf("read image archive %s: index.json does not name the image; write it with this package", archive)
		}
		return Info{Ref: ref, Digest: m.Digest}, nil
	}
}

// BuildFlags are the Makefile's GOFLAGS. With other flags the packages that Kubernetes, the product and the tests share
// would be compiled once more; test/house/release compares them.
var BuildFlags = []string{"-trimpath", "-gcflags=k8s.io/...=-l", "-gcflags=sigs.k8s.io/...=-l",
	"-gcflags=google.golang.org/protobuf/...=-l", "-gcflags=github.com/google/gnostic-models/...=-l"}

// BuildBinary compiles the package of the main module (as ./cmd/scylla-agent, or an import path) in directory dir into
// a static, stripped, path-free binary at out, with more flags of the go command after the usual ones. The error holds
// the compiler's words.
func BuildBinary(ctx context.Context, dir, pkg, out string, more ...string) error {
	args := slices.Concat([]string{"build"}, BuildFlags, []string{"-buildvcs=false", "-ldflags=-s -w"}, more, []string{"-o", out, pkg})
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, text)
	}
	return nil
}

func tagOf(ref string) (string, error) {
	name, tag, ok := strings.Cut(ref[strings.LastIndex(ref, "/")+1:], ":")
	if !ok || name == "" || tag == "" || !strings.Contains(ref, "/") {
		return "", fmt.Errorf("image name %q is not of the form HOST/NAME:TAG, as localhost/scylla-agent:dev", ref)
	}
	return tag, nil
}

// layout returns every entry of the layer, parents before children, in one order whatever order spec has.
func layout(spec Spec) ([]File, error) {
	files := slices.Clone(spec.Files)
	if len(spec.Users) > 0 {
		var passwd, group strings.Builder
		for _, u := range spec.Users {
			fmt.Fprintf(&passwd, "%s:x:%d:%d::%s:/sbin/nologin\n", u.Name, u.UID, u.GID, cmp.Or(u.Home, "/"))
			fmt.Fprintf(&group, "%s:x:%d:\n", u.Name, u.GID)
		}
		files = append(files, File{Path: "/etc/passwd", Content: []byte(passwd.String())},
			File{Path: "/etc/group", Content: []byte(group.String())})
	}
	byPath := map[string]File{}
	for _, f := range files {
		clean := path.Clean(f.Path)
		if !path.IsAbs(f.Path) || clean == "/" {
			return nil, fmt.Errorf("file %q: path must be absolute and below /", f.Path)
		}
		kinds := 0
		for _, set := range []bool{f.Source != "", f.Content != nil, f.Dir, f.Link != ""} {
			if set {
				kinds++
			}
		}
		if kinds != 1 {
			return nil, fmt.Errorf("file %q: set exactly one of Source, Content, Dir and Link", f.Path)
		}
		if _, twice := byPath[clean]; twice {
			return nil, fmt.Errorf("file %q: listed twice", f.Path)
		}
		f.Path = clean
		byPath[clean] = f
	}
	for _, f := range files {
		for dir := path.Dir(path.Clean(f.Path)); dir != "/"; dir = path.Dir(dir) {
			if parent, ok := byPath[dir]; !ok {
				byPath[dir] = File{Path: dir, Dir: true}
			} else if !parent.Dir {
				return nil, fmt.Errorf("file %q: %s is not a directory", f.Path, dir)
			}
		}
	}
	entries := make([]File, 0, len(byPath))
	for _, f := range byPath {
		entries = append(entries, f)
	}
	slices.SortFunc(entries, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return entries, nil
}

func writeLayer(w io.Writer, entries []File) error {
	tw := tar.NewWriter(w)
	for _, f := range entries {
		if err := writeEntry(tw, f); err != nil {
			return fmt.Errorf("file %q: %w", f.Path, err)
		}
	}
	return tw.Close()
}

func writeEntry(tw *tar.Writer, f File) error {
	h := &tar.Header{Name: strings.TrimPrefix(f.Path, "/"), Mode: f.Mode, Uid: f.UID, Gid: f.GID, ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
	switch {
	case f.Dir:
		h.Typeflag, h.Name, h.Mode = tar.TypeDir, h.Name+"/", cmp.Or(f.Mode, 0o755)
		return tw.WriteHeader(h)
	case f.Link != "":
		h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, f.Link, 0o777
		return tw.WriteHeader(h)
	case f.Source == "":
		h.Typeflag, h.Size, h.Mode = tar.TypeReg, int64(len(f.Content)), cmp.Or(f.Mode, 0o644)
		return put(tw, h, bytes.NewReader(f.Content))
	}
	src, err := os.Open(f.Source)
	if err != nil {
		return err
	}
	defer src.Close()
	info, err := src.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("source %s is not a regular file", f.Source)
	}
	h.Typeflag, h.Size, h.Mode = tar.TypeReg, info.Size(), cmp.Or(f.Mode, 0o755)
	return put(tw, h, src)
}

func put(tw *tar.Writer, h *tar.Header, content io.Reader) error {
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.Copy(tw, content)
	return err
}

func putRegular(tw *tar.Writer, name string, size int64, content io.Reader) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
	if err := put(tw, h, content); err != nil {
		return fmt.Errorf("archive %s: %w", name, err)
	}
	return nil
}

func blob(mediaType string, v any) ([]byte, descriptor, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, descriptor{}, fmt.Errorf("encode %s: %w", mediaType, err)
	}
	sum := sha256.Sum256(b)
	return b, descriptor{MediaType: mediaType, Digest: "sha256:" + hex.EncodeToString(sum[:]), Size: int64(len(b))}, nil
}

func blobPath(d descriptor) string {
	return "blobs/sha256/" + strings.TrimPrefix(d.Digest, "sha256:")
}
