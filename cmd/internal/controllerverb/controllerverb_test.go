// SPDX-License-Identifier: Apache-2.0

package controllerverb

import (
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/exit"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/plugintest"
)

// What is wrong with the options is said first: somebody who also lacks a kubeconfig has mended that for nothing otherwise.
func TestWrongOptionsAreRefusedBeforeAnythingIsAsked(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"an option's value":          {[]string{"--concurrency=0"}, "--concurrency is 0: give 1 or more"},
		"a level that is none":       {[]string{"--log-level=loud"}, `--log-level is "loud": give debug, info, warn or error`},
		"the namespace of a kubectl": {[]string{"-n", "demo"}, "--namespaces demo"},
		"an argument":                {[]string{"demo"}, `"demo" is one`},
	} {
		t.Run(name, func(t *testing.T) {
			r := plugintest.Run{Args: append([]string{"controller", "--kubeconfig=/nowhere"}, c.args...), Setup: func(d *cli.Deps) {
				d.Controller = NewCmd
			}}.Do(t)
			if r.Code != exit.CodeUsage || r.Stdout != "" || !strings.Contains(r.Stderr, c.want) {
				t.Errorf("exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
			}
		})
	}
}
