// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/plugin"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// screen matches a generated part of a page in docs. It is the output of a command on a sample, the
// sentences of codes, or the measured times.
var screen = regexp.MustCompile(`(?s)<!-- (screen|says|rehearsals)([^\n]*) -->\n.*?<!-- end -->`)

// screens adds the pages in docs that have generated parts.
func screens(root string, files []file) ([]file, error) {
	names, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		return nil, fmt.Errorf("find the pages: %w", err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read a page: %w", err)
		}
		var failed error
		filled := screen.ReplaceAllFunc(text, func(place []byte) []byte {
			m := screen.FindSubmatch(place)
			shown, err := show(root, string(m[1]), strings.TrimSpace(string(m[2])))
			if err != nil {
				failed = fmt.Errorf("fill %s: %w", filepath.Base(name), err)
				return place
			}
			return fmt.Appendf(nil, "<!-- %s%s -->\n%s<!-- end -->", m[1], m[2], shown)
		})
		if failed != nil {
			return nil, failed
		}
		if !bytes.Equal(filled, text) || screen.Match(text) {
			files = append(files, file{name: "docs/" + filepath.Base(name), mode: 0o644, data: filled})
		}
	}
	return files, nil
}

func show(root, kind, what string) (string, error) {
	switch kind {
	case "screen":
		return printed(what)
	case "rehearsals":
		return rehearsals(root)
	}
	var b strings.Builder
	for c := range strings.FieldsSeq(what) {
		text, ok := shape(words.Code(c), nil, italic)
		if !ok {
			return "", fmt.Errorf("code %s has no sentence", c)
		}
		fmt.Fprintf(&b, "- %s (`%s`)\n", text, c)
	}
	return b.String(), nil
}

// printed returns the output of a command, indented. The command must use a sample: only then is
// the output the same on every machine.
func printed(line string) (string, error) {
	args := strings.Fields(strings.TrimPrefix(line, plugin.DisplayName+" "))
	if !strings.Contains(line, "--from sample:") {
		return "", fmt.Errorf("%q reads no sample", line)
	}
	var out, errs bytes.Buffer
	// what a person sees on a terminal of 80 columns; colours need a terminal that is one
	d := cli.New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errs}, clock.RealClock{},
		nil, func() cli.Terminal { return cli.Terminal{Out: true, Width: 80, Height: 60} })
	if code := plugin.Execute(context.Background(), d, append([]string{plugin.Name}, args...)); code != exit.CodeOK &&
		code != exit.CodeNotMet {
		return "", fmt.Errorf("%s: exit code %d: %s", line, code, errs.String())
	}
	var b strings.Builder
	for l := range strings.Lines(out.String()) {
		b.WriteString(strings.TrimRight("    "+l, " \n") + "\n")
	}
	return "\n" + b.String() + "\n", nil
}
