// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"errors"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/preflight"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

// A version that a person has to accept is a refusal, as with inject; what else failed is a condition that is not met.
func TestExitCode(t *testing.T) {
	t.Parallel()
	version := words.New(words.ScyllaVersionNoQuery, "version", "2025.1.4")
	for name, tc := range map[string]struct {
		results []preflight.Result
		want    int
	}{
		"nothing":             {nil, 0},
		"a warning":           {[]preflight.Result{{State: preflight.Warning, Text: version}}, 0},
		"a failure":           {[]preflight.Result{{State: preflight.Failed, Text: words.New(words.ControllerMissing)}}, 3},
		"an old ScyllaDB":     {[]preflight.Result{{State: preflight.Failed, Text: version}}, 2},
		"not to be found out": {[]preflight.Result{{State: preflight.Unknown, Text: words.New(words.CannotTell)}}, 3},
	} {
		var out bytes.Buffer
		o := &options{d: &cli.Deps{Flags: genericclioptions.NewConfigFlags(false), Streams: genericiooptions.IOStreams{Out: &out, ErrOut: &out}}}
		cmd := &cobra.Command{}
		o.output.AddFlags(cmd)
		if err := errors.Join(cmd.Flags().Set("output", "json"), o.output.Validate()); err != nil {
			t.Fatal(err)
		}
		if got := exit.Code(o.end(tc.results, nil)); got != tc.want {
			t.Errorf("%s: exit %d, want %d", name, got, tc.want)
		}
	}
}
