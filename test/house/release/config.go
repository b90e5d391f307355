// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"os"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"
)

// Config is .goreleaser.yaml. It is read strictly: a key that is not here is a mistake, or is to be added here with a test.
type Config struct {
	Version     int                      `json:"version"`
	ProjectName string                   `json:"project_name"`
	Dist        string                   `json:"dist"`
	Before      struct{ Hooks []string } `json:"before"`
	Builds      []Build                  `json:"builds"`
	Archives    []Archive                `json:"archives"`
	Checksum    struct {
		NameTemplate string `json:"name_template"`
	} `json:"checksum"`
	SBOMs []struct {
		Artifacts string   `json:"artifacts"`
		Cmd       string   `json:"cmd"`
		Args      []string `json:"args"`
		Documents []string `json:"documents"`
		Env       []string `json:"env"`
	} `json:"sboms"`
	Changelog struct{ Use string } `json:"changelog"`
	Snapshot  struct {
		VersionTemplate string `json:"version_template"`
	} `json:"snapshot"`
	Krews []Krew `json:"krews"`
}

// Build is one program for some targets.
type Build struct {
	ID           string   `json:"id"`
	Main         string   `json:"main"`
	Binary       string   `json:"binary"`
	Env          []string `json:"env"`
	GOOS         []string `json:"goos"`
	GOARCH       []string `json:"goarch"`
	Flags        []string `json:"flags"`
	Ldflags      []string `json:"ldflags"`
	ModTimestamp string   `json:"mod_timestamp"`
}

// Archive is what people download.
type Archive struct {
	ID              string   `json:"id"`
	IDs             []string `json:"ids"`
	NameTemplate    string   `json:"name_template"`
	FormatOverrides []struct {
		GOOS    string   `json:"goos"`
		Formats []string `json:"formats"`
	} `json:"format_overrides"`
	Files []File `json:"files"`
}

// File is a pattern of files that an archive has, and where it has them: by their own path, or by their names in Dst.
type File struct {
	Src         string `json:"src"`
	Dst         string `json:"dst"`
	StripParent bool   `json:"strip_parent"`
}

// Krew is the source of krew's manifest.
type Krew struct {
	Name             string   `json:"name"`
	IDs              []string `json:"ids"`
	SkipUpload       bool     `json:"skip_upload"`
	Homepage         string   `json:"homepage"`
	ShortDescription string   `json:"short_description"`
	Description      string   `json:"description"`
}

// ReadConfig reads .goreleaser.yaml.
func ReadConfig(name string) (*Config, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	c := &Config{}
	if err := yaml.UnmarshalStrict(b, c); err != nil {
		return nil, fmt.Errorf("decode %s: %w", name, err)
	}
	return c, nil
}

// Facts are the values for templates in the configuration, by goreleaser's names.
type Facts struct {
	Version, ShortCommit, CommitDate, CommitTimestamp, Os, Arch, Binary, ArtifactName string
	Env                                                                               map[string]string
}

// Render fills a template of the configuration in.
func Render(text string, f Facts) (string, error) {
	t, err := template.New("").Option("missingkey=error").Parse(text)
	if err != nil {
		return "", fmt.Errorf("template %q: %w", text, err)
	}
	var b strings.Builder
	if err := t.Execute(&b, f); err != nil {
		return "", fmt.Errorf("template %q: %w", text, err)
	}
	return b.String(), nil
}
