// SPDX-License-Identifier: Apache-2.0

package release

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/test/cluster/image"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/images"
)

// Target is an operating system and an architecture.
type Target struct{ OS, Arch string }

func (t Target) String() string { return t.OS + "/" + t.Arch }

// Snapshot builds the artifacts of .goreleaser.yaml with the go command alone, for the wanted targets: archives, checksums, bills of materials, the
// krew manifest and the images. CI uses it where goreleaser is not available; both read the same file.
type Snapshot struct {
	Root, Out string
	Config    *Config
	Facts     Facts
	// Wanted selects the targets; Say is called with a line for each artifact.
	Wanted func(Target) bool
	Say    func(string)

	sums      []string
	platforms []Platform
}

// Make makes it all.
func (s *Snapshot) Make(ctx context.Context) error {
	if err := os.MkdirAll(s.Out, 0o755); err != nil {
		return fmt.Errorf("make %s: %w", s.Out, err)
	}
	for _, a := range s.Config.Archives {
		for _, b := range s.Config.Builds {
			if !slices.Contains(a.IDs, b.ID) {
				continue
			}
			for _, goos := range b.GOOS {
				for _, arch := range b.GOARCH {
					if t := (Target{goos, arch}); s.Wanted(t) {
						if err := s.target(ctx, a, b, t); err != nil {
							return fmt.Errorf("%s for %s: %w", b.ID, t, err)
						}
					}
				}
			}
		}
	}
	if len(s.platforms) > 0 {
		for _, k := range s.Config.Krews {
			b, err := KrewManifest(k, s.Facts.Version, s.platforms)
			if err != nil {
				return err
			}
			if err := s.write(k.Name+".yaml", b); err != nil {
				return err
			}
		}
	}
	slices.Sort(s.sums)
	return s.write(s.Config.Checksum.NameTemplate, []byte(strings.Join(s.sums, "")))
}

func (s *Snapshot) write(name string, content []byte) error {
	s.Say(name)
	return os.WriteFile(filepath.Join(s.Out, name), content, 0o644)
}

// target makes one program for one target, with everything that belongs to it.
func (s *Snapshot) target(ctx context.Context, a Archive, b Build, t Target) error {
	f := s.Facts
	f.Os, f.Arch, f.Binary = t.OS, t.Arch, b.Binary
	name, err := Render(a.NameTemplate, f)
	if err != nil {
		return err
	}
	binary := b.Binary
	if t.OS == "windows" {
		binary += ".exe"
	}
	built := filepath.Join(s.Out, "build", b.ID+"_"+t.OS+"_"+t.Arch, binary)
	if err := s.build(ctx, b, t, f, built); err != nil {
		return err
	}
	bill, err := SBOM(built, f.CommitDate)
	if err != nil {
		return err
	}
	sbom, err := os.Create(filepath.Join(s.Out, name+".spdx.json"))
	if err != nil {
		return err
	}
	if err := bill.Write(sbom); err != nil {
		return err
	}
	if err := sbom.Close(); err != nil {
		return err
	}
	s.Say(name + ".spdx.json")
	archive, err := s.archive(a, t, name, built)
	if err != nil {
		return err
	}
	sum, err := s.sum(archive)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(s.Config.Krews, func(k Krew) bool { return slices.Contains(k.IDs, a.ID) }) {
		s.platforms = append(s.platforms, Platform{
			URI: s.Config.Krews[0].Homepage + "/releases/download/v" + f.Version + "/" + archive, Sha256: sum, Bin: binary,
			Files:    []Copy{{binary, "."}, {"LICENSE", "."}},
			Selector: Selector{map[string]string{"os": t.OS, "arch": t.Arch}},
		})
	}
	if b.ID != "scylla-agent" {
		return nil
	}
	spec := images.Agent(built)
	spec.Architecture = t.Arch
	tarball := fmt.Sprintf("scylla-agent_%s_%s_%s.oci.tar", f.Version, t.OS, t.Arch)
	if err := image.Write(filepath.Join(s.Out, tarball), spec); err != nil {
		return err
	}
	s.Say(tarball)
	_, err = s.sum(tarball)
	return err
}

func (s *Snapshot) sum(name string) (string, error) {
	sum, err := fileSum(filepath.Join(s.Out, name))
	s.sums = append(s.sums, sum+"  "+name+"\n")
	return sum, err
}

func (s *Snapshot) build(ctx context.Context, b Build, t Target, f Facts, out string) error {
	args := append([]string{"build", "-o", out}, b.Flags...)
	var ld []string
	for _, l := range b.Ldflags {
		text, err := Render(l, f)
		if err != nil {
			return err
		}
		ld = append(ld, text)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "-ldflags="+strings.Join(ld, " "), b.Main)...)
	cmd.Dir = s.Root
	cmd.Env = append(append(os.Environ(), b.Env...), "GOFLAGS=", "GOOS="+t.OS, "GOARCH="+t.Arch)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, output)
	}
	return nil
}

// archive packs a program with the files that the configuration names, and returns the archive's name.
func (s *Snapshot) archive(a Archive, t Target, name, built string) (string, error) {
	files := map[string]string{filepath.Base(built): built}
	order := []string{filepath.Base(built)}
	for _, file := range a.Files {
		found, err := filepath.Glob(filepath.Join(s.Root, filepath.FromSlash(file.Src)))
		if err != nil || len(found) == 0 {
			return "", fmt.Errorf("archive %s: nothing is called %s: %w", a.ID, file.Src, err)
		}
		for _, f := range found {
			rel, err := filepath.Rel(s.Root, f)
			if err != nil {
				return "", err
			}
			rel = filepath.ToSlash(rel)
			if file.StripParent {
				rel = path.Join(file.Dst, path.Base(rel))
			}
			files[rel], order = f, append(order, rel)
		}
	}
	name += ".tar.gz"
	zipped := slices.ContainsFunc(a.FormatOverrides, func(o struct {
		GOOS    string   `json:"goos"`
		Formats []string `json:"formats"`
	}) bool {
		return o.GOOS == t.OS && slices.Contains(o.Formats, "zip")
	})
	pack := packTar
	if zipped {
		name, pack = strings.TrimSuffix(name, ".tar.gz")+".zip", packZip
	}
	out, err := os.Create(filepath.Join(s.Out, name))
	if err != nil {
		return "", err
	}
	s.Say(name)
	if err := pack(out, order, files); err != nil {
		return "", fmt.Errorf("archive %s: %w", name, err)
	}
	return name, out.Close()
}

func packTar(w io.Writer, order []string, files map[string]string) error {
	z := gzip.NewWriter(w)
	tw := tar.NewWriter(z)
	for _, name := range order {
		b, err := os.ReadFile(files[name])
		if err != nil {
			return err
		}
		info, err := os.Stat(files[name])
		if err != nil {
			return err
		}
		if err := tw.WriteHeader(&tar.Header{Name: name, Mode: int64(info.Mode().Perm()), Size: int64(len(b)), Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		if _, err := tw.Write(b); err != nil {
			return err
		}
	}
	if err := tw.Close(); err != nil {
		return err
	}
	return z.Close()
}

func packZip(w io.Writer, order []string, files map[string]string) error {
	z := zip.NewWriter(w)
	for _, name := range order {
		b, err := os.ReadFile(files[name])
		if err != nil {
			return err
		}
		f, err := z.Create(name)
		if err != nil {
			return err
		}
		if _, err := f.Write(b); err != nil {
			return err
		}
	}
	return z.Close()
}
