// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"fmt"
	"regexp"

	"sigs.k8s.io/yaml"
)

// Manifest is a plugin manifest of krew, all of its fields that we use (krew.googlecontainertools.github.com/v1alpha2).
type Manifest struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec ManifestSpec `json:"spec"`
}

// ManifestSpec says what the plugin is and where its archives are.
type ManifestSpec struct {
	Version          string     `json:"version"`
	Homepage         string     `json:"homepage,omitempty"`
	ShortDescription string     `json:"shortDescription"`
	Description      string     `json:"description,omitempty"`
	Caveats          string     `json:"caveats,omitempty"`
	Platforms        []Platform `json:"platforms"`
}

// Platform is one archive.
type Platform struct {
	URI      string   `json:"uri"`
	Sha256   string   `json:"sha256"`
	Bin      string   `json:"bin"`
	Files    []Copy   `json:"files"`
	Selector Selector `json:"selector"`
}

// Selector selects the machines that an archive is for.
type Selector struct {
	MatchLabels map[string]string `json:"matchLabels"`
}

// Copy is a file of the archive that is kept.
type Copy struct {
	From string `json:"from"`
	To   string `json:"to"`
}

const (
	krewVersion = "krew.googlecontainertools.github.com/v1alpha2"
	krewKind    = "Plugin"
)

var (
	safeName = regexp.MustCompile(`^[\w-]+$`)
	checksum = regexp.MustCompile(`^[a-f0-9]{64}$`)
	semver   = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
)

// KrewManifest writes the manifest of the archives; version without the v.
func KrewManifest(k Krew, version string, platforms []Platform) ([]byte, error) {
	m := Manifest{APIVersion: krewVersion, Kind: krewKind, Spec: ManifestSpec{
		Version: "v" + version, Homepage: k.Homepage, ShortDescription: k.ShortDescription, Description: k.Description, Platforms: platforms,
	}}
	m.Metadata.Name = k.Name
	b, err := yaml.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode the krew manifest: %w", err)
	}
	return b, CheckKrew(k.Name, b)
}

// CheckKrew checks a manifest against the rules by which krew accepts one: no unknown fields, a safe name, a semantic version with its v, and for
// each platform its URL, its sum, its program, the files that are kept, and a selector of os and arch.
func CheckKrew(name string, manifest []byte) error {
	var m Manifest
	if err := yaml.UnmarshalStrict(manifest, &m); err != nil {
		return fmt.Errorf("krew manifest: %w", err)
	}
	var errs []error
	must := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("krew manifest: "+format, args...))
		}
	}
	must(m.APIVersion == krewVersion, "apiVersion is %q, want %s", m.APIVersion, krewVersion)
	must(m.Kind == krewKind, "kind is %q, want %s", m.Kind, krewKind)
	must(safeName.MatchString(name) && m.Metadata.Name == name, "the name is %q, want %q", m.Metadata.Name, name)
	must(m.Spec.ShortDescription != "", "there is no short description")
	// krew's index refuses longer ones in review: its list has one line for each plugin.
	must(len(m.Spec.ShortDescription) <= 50, "the short description has %d characters, and at most 50 are allowed", len(m.Spec.ShortDescription))
	must(semver.MatchString(m.Spec.Version), "version %q is no semantic version with a v", m.Spec.Version)
	must(len(m.Spec.Platforms) > 0, "there is no platform")
	for i, p := range m.Spec.Platforms {
		must(p.URI != "", "platform %d has no uri", i)
		must(checksum.MatchString(p.Sha256), "platform %d: %q is no sha256", i, p.Sha256)
		must(p.Bin != "", "platform %d has no bin", i)
		must(len(p.Files) > 0, "platform %d keeps no files", i)
		must(len(p.Selector.MatchLabels) > 0, "platform %d has no selector", i)
		for key := range p.Selector.MatchLabels {
			must(key == "os" || key == "arch", "platform %d selects by %q, and krew knows os and arch", i, key)
		}
	}
	return errors.Join(errs...)
}
