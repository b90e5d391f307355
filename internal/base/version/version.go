// SPDX-License-Identifier: Apache-2.0

// Package version has the build information of a binary. The linker sets the variables; without
// them it uses the Go toolchain's build information. It does not concern ScyllaDB's versions.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Set by the linker: -X
// github.com/kubectl-scylla/kubectl-scylla/internal/base/version.version=v1.2.3 and so on.
var (
	version string
	commit  string
	date    string
	image   string
)

// Info describes this build.
type Info struct {
	// Version is the release ("v1.2.3"), or "dev".
	Version string `json:"version"`
	// Commit is the full hash, with "-dirty" if the tree had changes; empty if unknown.
	Commit string `json:"commit,omitempty"`
	// Date of the commit, RFC 3339; empty if unknown.
	Date      string `json:"date,omitempty"`
	GoVersion string `json:"goVersion"`
	// Platform is "linux/amd64".
	Platform string `json:"platform"`
}

// AgentImage returns the image of scylla-agent released with this build; empty in other builds.
func AgentImage() string { return image }

// Get collects the build information.
func Get() Info {
	i := Info{Version: version, Commit: commit, Date: date, GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" +
		runtime.GOARCH}
	if i.Commit == "" || i.Date == "" || i.Version == "" {
		i.fill(debug.ReadBuildInfo())
	}
	if i.Version == "" {
		i.Version = "dev"
	}
	return i
}

func (i *Info) fill(b *debug.BuildInfo, ok bool) {
	if !ok {
		return
	}
	if v := b.Main.Version; i.Version == "" && v != "(devel)" {
		i.Version = v
	}
	settings := map[string]string{}
	for _, s := range b.Settings {
		settings[s.Key] = s.Value
	}
	if i.Commit == "" && settings["vcs.revision"] != "" {
		i.Commit = settings["vcs.revision"]
		if settings["vcs.modified"] == "true" {
			i.Commit += "-dirty"
		}
	}
	if i.Date == "" {
		i.Date = settings["vcs.time"]
	}
}

// Short returns the release with an abbreviated commit: "v1.2.3 (9c1979f)".
func (i Info) Short() string {
	if i.Commit == "" {
		return i.Version
	}
	c := i.Commit
	if len(c) > 7 {
		c = c[:7]
	}
	return fmt.Sprintf("%s (%s)", i.Version, c)
}

// UserAgent identifies program to the API server: "kubectl-scylla/v1.2.3 (linux/amd64)".
func (i Info) UserAgent(program string) string {
	return fmt.Sprintf("%s/%s (%s)", program, i.Version, i.Platform)
}
