// SPDX-License-Identifier: Apache-2.0

// Command gen generates docs/reference, docs/install, completions and the screens in docs, from the
// command tree, the manifests and the tables of the program. For release archives it also writes
// dist/man, which is not committed. It is a separate program, so that the plugin does not link its
// dependencies. The output is the same on every machine.
//
//	go run ./cmd/gen [DIR]            writes below DIR, the current directory by default
//	go run ./cmd/gen DIR VERSION      also writes the chart of a release, dist/chart
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/plugin"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/completion"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/install"
)

func main() {
	dir, version := ".", ""
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if len(os.Args) > 2 {
		version = os.Args[2]
	}
	if err := run(dir, version); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// file is one generated file.
type file struct {
	name string // below the directory, with slashes
	mode os.FileMode
	data []byte
}

func run(dir, version string) error {
	files, err := generate()
	if err != nil {
		return err
	}
	man, err := manPages(tree())
	if err != nil {
		return err
	}
	if version != "" {
		root, err := moduleRoot()
		if err != nil {
			return err
		}
		chart, err := packed(root, version, os.Getenv("AGENT_IMAGE"))
		if err != nil {
			return err
		}
		if err := os.RemoveAll(filepath.Join(dir, "dist", "chart")); err != nil {
			return fmt.Errorf("remove what was generated before: %w", err)
		}
		files = append(files, chart...)
	}
	// Remove files that are no longer generated: a page of a removed command misleads.
	for _, pattern := range []string{"dist/man/*.1", "completions/kubectl*"} {
		old, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
		if err != nil {
			return fmt.Errorf("find generated files: %w", err)
		}
		for _, name := range old {
			if err := os.Remove(name); err != nil {
				return fmt.Errorf("remove what was generated before: %w", err)
			}
		}
	}
	for _, f := range append(files, man...) {
		name := filepath.Join(dir, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return fmt.Errorf("make folder for %s: %w", f.name, err)
		}
		if err := os.WriteFile(name, f.data, f.mode); err != nil {
			return fmt.Errorf("write %s: %w", f.name, err)
		}
	}
	return nil
}

// tree returns the command tree that kubectl runs, without values of this machine.
func tree() *cobra.Command {
	d := cli.New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard},
		clock.RealClock{}, nil,
		func() cli.Terminal { return cli.Terminal{} })
	root := plugin.NewCmd(d, plugin.Name)
	// The default depends on the home directory of the user who runs the generator.
	root.PersistentFlags().Lookup("cache-dir").DefValue = "$HOME/.kube/cache"
	root.DisableAutoGenTag = true
	root.InitDefaultHelpCmd()
	root.InitDefaultHelpFlag()
	return root
}

// generate returns the committed files.
func generate() ([]file, error) {
	root := tree()
	var files []file
	for shell, name := range map[string]string{
		"bash": "kubectl-scylla.bash", "zsh": "kubectl-scylla.zsh", "fish": "kubectl-scylla.fish",
		"powershell": "kubectl-scylla.ps1", "kubectl": "kubectl_complete-scylla",
	} {
		var b bytes.Buffer
		if err := completion.Write(root, shell, &b); err != nil {
			return nil, fmt.Errorf("generate completion for %s: %w", shell, err)
		}
		mode := os.FileMode(0o644)
		if shell == "kubectl" {
			mode = 0o755 // kubectl executes it
		}
		files = append(files, file{name: "completions/" + name, mode: mode, data: b.Bytes()})
	}
	files, err := documents(files)
	if err != nil {
		return nil, err
	}
	return kustomize(files)
}

// documents adds docs/reference and the pages with generated parts.
func documents(files []file) ([]file, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	page, _ := codesPage()
	numbers, err := metricsPage()
	if err != nil {
		return nil, err
	}
	rights, err := permissionsPage(root)
	if err != nil {
		return nil, err
	}
	for name, data := range map[string][]byte{
		"codes": page, "json": jsonPage(), "metrics": numbers, "policy": policyPage(),
		"commands": commandsPage(tree()), "permissions": rights,
	} {
		files = append(files, file{name: "docs/reference/" + name + ".md", mode: 0o644, data: data})
	}
	return screens(root, files)
}

// kustomize adds docs/install: the objects that `kubectl scylla install` applies, and the chart of
// them.
func kustomize(files []file) ([]file, error) {
	objects, err := manifests.Objects(manifests.Options{Image: "scylla-agent"})
	if err != nil {
		return nil, fmt.Errorf("generate docs/install: %w", err)
	}
	b, err := install.Documents(objects)
	if err != nil {
		return nil, fmt.Errorf("generate docs/install: %w", err)
	}
	base := `# kubectl apply --server-side -k docs/install, or a base of your own kustomization. Set the image to your copy of scylla-agent.
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [kubectl-scylla.yaml]
sortOptions: {order: fifo} # the admission policies before the roles that they limit
images:
  - {name: scylla-agent, newName: localhost/scylla-agent, newTag: dev}
`
	files = append(files, file{name: "docs/install/kubectl-scylla.yaml", mode: 0o644, data: b},
		file{name: "docs/install/kustomization.yaml", mode: 0o644, data: []byte(base)})
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	return chart(root, files)
}

// manDate is the date of every page; the current date would change each page in each run.
var manDate = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// manPages returns a page for each command.
func manPages(root *cobra.Command) (files []file, err error) {
	for _, cmd := range documented(root) {
		name, date := strings.ReplaceAll(cmd.CommandPath(), " ", "-"), manDate
		var b bytes.Buffer
		header := &doc.GenManHeader{Title: strings.ToUpper(name), Section: "1", Date: &date, Source: plugin.Name,
			Manual: "kubectl scylla"}
		if err := doc.GenMan(cmd, header, &b); err != nil {
			return nil, fmt.Errorf("generate man page of %s: %w", cmd.CommandPath(), err)
		}
		files = append(files, file{name: "dist/man/" + name + ".1", mode: 0o644, data: b.Bytes()})
	}
	return files, nil
}

// documented returns the commands that have a page.
func documented(cmd *cobra.Command) []*cobra.Command {
	if !cmd.IsAvailableCommand() && cmd.HasParent() || cmd.Name() == "help" {
		return nil
	}
	list := []*cobra.Command{cmd}
	for _, sub := range cmd.Commands() {
		list = append(list, documented(sub)...)
	}
	return list
}

// moduleRoot returns the directory of go.mod, above the current directory.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("find the module: no go.mod here or above: run in the repository")
		}
		dir = up
	}
}
