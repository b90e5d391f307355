// SPDX-License-Identifier: Apache-2.0

// Package release holds the release tools beside goreleaser: the software bill of materials of a binary, read from the build information that Go
// embeds, the krew manifest, and the images. It publishes nothing and uses no network.
package release

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
)

// Document is an SPDX 2.3 document, as far as we fill it.
type Document struct {
	SPDXVersion       string         `json:"spdxVersion"`
	DataLicense       string         `json:"dataLicense"`
	SPDXID            string         `json:"SPDXID"`
	Name              string         `json:"name"`
	DocumentNamespace string         `json:"documentNamespace"`
	CreationInfo      Creation       `json:"creationInfo"`
	Packages          []Package      `json:"packages"`
	Relationships     []Relationship `json:"relationships"`
}

// Creation is the creator of the document, and the time.
type Creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

// Package is a Go module, or the binary itself.
type Package struct {
	SPDXID           string        `json:"SPDXID"`
	Name             string        `json:"name"`
	VersionInfo      string        `json:"versionInfo,omitempty"`
	DownloadLocation string        `json:"downloadLocation"`
	FilesAnalyzed    bool          `json:"filesAnalyzed"`
	LicenseConcluded string        `json:"licenseConcluded"`
	LicenseDeclared  string        `json:"licenseDeclared"`
	CopyrightText    string        `json:"copyrightText"`
	Checksums        []Checksum    `json:"checksums,omitempty"`
	ExternalRefs     []ExternalRef `json:"externalRefs,omitempty"`
}

// Checksum of a package.
type Checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

// ExternalRef names a package for scanners.
type ExternalRef struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

// Relationship of two packages.
type Relationship struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

const noAssertion = "NOASSERTION"

var notID = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// SBOM is the bill of materials of a Go binary. created is RFC 3339; the same binary and time give the same document.
func SBOM(binary, created string) (*Document, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("read build information of %s: %w", binary, err)
	}
	sum, err := fileSum(binary)
	if err != nil {
		return nil, err
	}
	name := filepath.Base(binary)
	d := &Document{
		SPDXVersion: "SPDX-2.3", DataLicense: "CC0-1.0", SPDXID: "SPDXRef-DOCUMENT", Name: name,
		DocumentNamespace: "https://github.com/kubectl-scylla/kubectl-scylla/sbom/" + name + "-" + sum,
		CreationInfo:      Creation{Created: created, Creators: []string{"Tool: kubectl-scylla-release"}},
	}
	add := func(p Package) string {
		p.SPDXID = "SPDXRef-" + notID.ReplaceAllString(p.Name+"-"+p.VersionInfo, "-")
		p.LicenseConcluded, p.LicenseDeclared, p.CopyrightText = noAssertion, noAssertion, noAssertion
		if p.DownloadLocation == "" {
			p.DownloadLocation = noAssertion
		}
		d.Packages = append(d.Packages, p)
		return p.SPDXID
	}
	self := add(Package{Name: name, VersionInfo: info.Main.Version, Checksums: []Checksum{{"SHA256", sum}}})
	d.Relationships = append(d.Relationships, Relationship{d.SPDXID, "DESCRIBES", self})
	modules := append([]*debug.Module{{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go")}}, info.Deps...)
	for _, m := range modules {
		if m.Replace != nil {
			m = m.Replace
		}
		id := add(Package{
			Name: m.Path, VersionInfo: m.Version,
			ExternalRefs: []ExternalRef{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + m.Path + "@" + m.Version}},
		})
		d.Relationships = append(d.Relationships, Relationship{self, "CONTAINS", id})
	}
	return d, nil
}

// Write writes the document as JSON.
func (d *Document) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(d)
}

func fileSum(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("sum up %s: %w", name, err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("sum up %s: %w", name, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
