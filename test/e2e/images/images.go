// SPDX-License-Identifier: Apache-2.0

// Package images builds the project's binaries and the images that tests and the demo load into their Kubernetes nodes: scylla-agent as it
// ships (one static binary, non-root, nothing else) and the simulated ScyllaDB with the paths of the real image. No registry and no
// Docker is involved.
package images

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/kubectl-scylla/kubectl-scylla/test/cluster/image"
)

// AgentRef is the name of scylla-agent's image in the Kubernetes nodes.
const AgentRef = "localhost/scylla-agent:dev"

// DefaultVersion of the simulated ScyllaDB.
const DefaultVersion = "2026.2.0"

// ScyllaRef is the name of the simulated ScyllaDB's image of one version.
func ScyllaRef(version string) string { return "localhost/scylla:" + version }

// Set is the result of Build.
type Set struct {
	// Plugin, Agent and Scylla are paths of static binaries.
	Plugin, Agent, Scylla string
	// Archives are paths of image archives: the agent's first, then one for each version.
	Archives []string
}

// Build compiles the binaries of the module at root into dir and writes the archives beside them: the agent's and the simulated
// ScyllaDB's of each version (DefaultVersion when none is named). Compiling again after no change takes a second.
func Build(ctx context.Context, root, dir string, versions ...string) (*Set, error) {
	if len(versions) == 0 {
		versions = []string{DefaultVersion}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make folder for images: %w", err)
	}
	s := &Set{
		Plugin: filepath.Join(dir, "kubectl-scylla"),
		Agent:  filepath.Join(dir, "scylla-agent"),
		Scylla: filepath.Join(dir, "scylla"),
	}
	for _, b := range []struct{ pkg, out string }{
		{"./cmd/kubectl-scylla", s.Plugin}, {"./cmd/scylla-agent", s.Agent}, {"./test/scyllasim/cmd/scylla", s.Scylla},
	} {
		if err := image.BuildBinary(ctx, root, b.pkg, b.out); err != nil {
			return nil, err
		}
	}
	archive := filepath.Join(dir, "scylla-agent.tar")
	if err := image.Write(archive, Agent(s.Agent)); err != nil {
		return nil, err
	}
	s.Archives = append(s.Archives, archive)
	for _, v := range versions {
		archive := filepath.Join(dir, "scylla-"+v+".tar")
		if err := image.Write(archive, Scylla(s.Scylla, v)); err != nil {
			return nil, err
		}
		s.Archives = append(s.Archives, archive)
	}
	return s, nil
}

// Release is a version of the module: its plugin, and the name and the archive of its agent's image.
type Release struct {
	Version, Plugin, Ref, Archive string
}

// BuildRelease builds a version of the module at root into dir, with more flags of the go command, as -overlay.
func BuildRelease(ctx context.Context, root, dir, version string, more ...string) (*Release, error) {
	r := releaseIn(dir, version)
	agent := filepath.Join(dir, "scylla-agent-"+version)
	more = append(more, "-ldflags=-s -w -X github.com/kubectl-scylla/kubectl-scylla/internal/base/version.version="+version)
	for pkg, out := range map[string]string{"./cmd/kubectl-scylla": r.Plugin, "./cmd/scylla-agent": agent} {
		if err := image.BuildBinary(ctx, root, pkg, out, more...); err != nil {
			return nil, err
		}
	}
	spec := Agent(agent)
	spec.Ref = r.Ref
	return r, image.Write(r.Archive, spec)
}

func releaseIn(dir, version string) *Release {
	return &Release{Version: version, Ref: "localhost/scylla-agent:" + version,
		Plugin: filepath.Join(dir, "kubectl-scylla-"+version), Archive: filepath.Join(dir, "scylla-agent-"+version+".tar")}
}

// BuildCommit builds a commit of the repository at root as a version, once: it is kept in the user's cache folder.
func BuildCommit(ctx context.Context, root, commit, version string) (*Release, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("find the user's cache folder: %w", err)
	}
	dir := filepath.Join(cache, "kubectl-scylla", "commit-"+commit+"-"+version)
	r := releaseIn(dir, version)
	if _, err := os.Stat(r.Archive); err == nil {
		return r, nil
	}
	tree := dir + ".tree"
	unpack := exec.CommandContext(ctx, "sh", "-ec", `rm -rf "$2"; mkdir "$2"; git archive --output="$2/tar" "$1"; tar -xf "$2/tar" -C "$2"`, "sh", commit, tree)
	unpack.Dir = root
	defer os.RemoveAll(tree)
	if text, err := unpack.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("read commit %s: %w\n%s", commit, err, text)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("keep the build of commit %s: %w", commit, err)
	}
	return BuildRelease(ctx, tree, dir, version) // the archive, which is complete when it has its name, is the last
}

// Agent is scylla-agent's image: the binary, and a user other than root.
func Agent(binary string) image.Spec {
	return image.Spec{
		Ref:        AgentRef,
		Files:      []image.File{{Path: "/scylla-agent", Source: binary}},
		Entrypoint: []string{"/scylla-agent"},
		User:       "65532:65532",
		Labels:     map[string]string{"org.opencontainers.image.licenses": "Apache-2.0"},
	}
}

// Scylla is the simulated ScyllaDB's image, laid out as the real one.
func Scylla(binary, version string) image.Spec {
	return image.Spec{
		Ref: ScyllaRef(version),
		Files: []image.File{
			{Path: "/usr/bin/scylla", Source: binary},
			{Path: "/usr/bin/bash", Link: "/usr/bin/scylla"},
			{Path: "/usr/bin/nodetool", Link: "/usr/bin/scylla"},
			{Path: "/bin/sh", Link: "/usr/bin/scylla"},
			{Path: "/docker-entrypoint.py", Link: "/usr/bin/scylla"},
			{Path: "/etc/scyllasim/version", Content: []byte(version + "\n")},
			// The simulated entrypoint looks for scylla.yaml and does not read it; ScyllaDB's defaults apply to an absent key.
			{Path: "/etc/scylla/scylla.yaml", Content: []byte("# simulated ScyllaDB: all settings are defaults\n")},
			{Path: "/etc/scylla.d", Dir: true},
			{Path: "/var/lib/scylla", Dir: true, Mode: 0o755, UID: 999, GID: 999},
			{Path: "/tmp", Dir: true, Mode: 0o1777},
		},
		Users:      []image.User{{Name: "root", Home: "/"}, {Name: "scylla", UID: 999, GID: 999, Home: "/var/lib/scylla"}},
		Entrypoint: []string{"/docker-entrypoint.py"},
		Env:        []string{"PATH=/usr/bin:/bin"},
	}
}
