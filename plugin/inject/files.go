// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
)

// files are kubectl's -f, -k and -R.
type files struct {
	names     []string
	kustomize string
	recursive bool
}

func (f *files) addFlags(cmd *cobra.Command) {
	flags := genericclioptions.FileNameFlags{Filenames: &f.names, Kustomize: &f.kustomize, Recursive: &f.recursive,
		Usage: "Manifest: file, directory or URL, or - for standard input. Can be repeated."}
	flags.AddFlags(cmd.Flags())
	cmd.Flags().Lookup("kustomize").Usage = "Kustomization directory with the manifest."
	cmd.Flags().Lookup("recursive").Usage = "With -f: also read the directories in a directory."
	_ = cmd.MarkFlagDirname("kustomize")
	cmd.MarkFlagsMutuallyExclusive("filename", "kustomize")
	cmd.MarkFlagsMutuallyExclusive("kustomize", "recursive")
}

// set reports whether a manifest is named.
func (f *files) set() bool { return len(f.names) > 0 || f.kustomize != "" }

// all names the sources of the manifest.
func (f *files) all() []string {
	if f.kustomize != "" {
		return []string{f.kustomize}
	}
	return f.names
}

// read returns the manifest, with the bytes of files unchanged.
func (o *options) read(ctx context.Context) ([]byte, error) {
	var docs [][]byte
	for _, name := range o.files.all() {
		parts, err := bounded.Until(ctx, func() ([][]byte, error) { return o.readOne(name) })
		switch {
		case ctx.Err() != nil:
			return nil, exit.Interrupted(fmt.Errorf("read %s: %w", name, context.Cause(ctx)))
		case err != nil:
			return nil, err
		}
		docs = append(docs, parts...)
	}
	return bytes.Join(docs, []byte("\n---\n")), nil
}

func (o *options) readOne(name string) ([][]byte, error) {
	if name == "-" && o.files.kustomize == "" {
		b, err := limit.Read(o.d.Streams.In, "the manifest")
		return [][]byte{b}, err
	}
	// A pipe can be read only once, so it is no matter for the builder.
	if at, err := os.Stat(name); err == nil && !at.IsDir() {
		b, err := readFile(name)
		return [][]byte{b}, err
	}
	options := resource.FilenameOptions{Recursive: o.files.recursive, Kustomize: o.files.kustomize}
	if options.Kustomize == "" {
		options.Filenames = []string{name}
	}
	infos, err := resource.NewLocalBuilder().Unstructured().FilenameParam(false, &options).Do().Infos()
	if err != nil {
		return nil, exit.WithHint(fmt.Errorf("read manifest: %w", err),
			"check the path after -f or -k; - is standard input")
	}
	return documents(infos)
}

// documents returns every file of the objects once, and the YAML of objects that are in no file.
func documents(infos []*resource.Info) (docs [][]byte, err error) {
	seen := map[string]bool{}
	for _, info := range infos {
		var doc []byte
		switch at, statErr := os.Stat(info.Source); {
		case statErr != nil || at.IsDir():
			doc, err = yaml.Marshal(info.Object)
		case seen[info.Source]:
			continue
		default:
			doc, err = readFile(info.Source)
		}
		if err != nil {
			return nil, err
		}
		seen[info.Source] = true
		docs = append(docs, doc)
	}
	return docs, nil
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	defer func() { _ = f.Close() }() // read only
	b, err := limit.Read(f, name)
	if err != nil {
		return nil, fmt.Errorf("read manifest %s: %w", name, err)
	}
	return b, nil
}
