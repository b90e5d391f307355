// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/test/cluster/build"
)

// fakes returns a builder that notes its calls in out, between what the plugin prints.
func fakes(out io.Writer, done bool, pluginErr error) builder {
	return builder{
		done: func() (bool, error) { return done, nil },
		plugin: func(_ context.Context, path string, progress io.Writer) error {
			io.WriteString(progress, "BUILD plugin\n")
			return errors.Join(pluginErr, os.WriteFile(path, []byte("#!/bin/sh\necho RUN $*\nexit 3\n"), 0o755))
		},
		kubernetes: func(_ context.Context, progress io.Writer) (build.Binaries, error) {
			io.WriteString(progress, "BUILD kubernetes\n")
			return build.Binaries{}, nil
		},
	}
}

func TestSamplesComeBeforeKubernetes(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out, t.TempDir(), fakes(&out, false, nil)); err != nil {
		t.Fatal(err)
	}
	rest := out.String()
	for _, step := range []string{
		"about 11 minutes", "BUILD plugin",
		"$ kubectl scylla status --from sample:incident\nRUN status --from sample:incident\n(exit code 3)\n",
		"$ kubectl scylla barrier --from sample:incident\nRUN barrier --from sample:incident\n(exit code 3)\n",
		"BUILD kubernetes",
	} {
		_, after, ok := strings.Cut(rest, step)
		if !ok {
			t.Fatalf("%q is not shown, or too late:\n%s", step, out.String())
		}
		rest = after
	}
}

func TestBuiltKubernetesNeedsNoSamples(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out, t.TempDir(), fakes(&out, true, nil)); err != nil || out.Len() > 0 {
		t.Errorf("printed %q, error %v", out.String(), err)
	}
}

func TestFailedPluginEndsTheDemo(t *testing.T) {
	var out bytes.Buffer
	broken := errors.New("broken")
	err := run(t.Context(), &out, t.TempDir(), fakes(&out, false, broken))
	if !errors.Is(err, broken) || strings.Contains(out.String(), "RUN") || strings.Contains(out.String(), "BUILD kubernetes") {
		t.Errorf("error %v, printed:\n%s", err, out.String())
	}
}
