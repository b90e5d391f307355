// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// TestAnUnknownNameHasOneExitCode: 2 for a member or node; for a cluster 1, and 2 if the verb would change it. docs/reference/commands.md states it.
func TestAnUnknownNameHasOneExitCode(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		args string
		code int
	}{
		"barrier": {"barrier nobody", 2}, "barrier --wait": {"barrier nobody --wait --timeout 0", 2}, "describe": {"describe nobody", 2},
		"check --for=restart": {"check --for=restart nobody", 2}, "check --for=decommission": {"check --for=decommission nobody", 2},
		"nodetool":      {"nodetool nobody -- status", 2},
		"force-proceed": {"force-proceed nobody --yes --reason x", 2},
		"replace":       {"replace nobody --yes", 2}, "replace status": {"replace status nobody", 2}, "replace cancel": {"replace cancel nobody", 2}, "replace resume": {"replace resume nobody --yes", 2},
		"status of a cluster": {"status nothing", 1}, "report of a cluster": {"report nothing", 1}, "dashboard of a cluster": {"dashboard nothing --once", 1},
		"init reset of a cluster": {"init reset nothing --yes --confirm demo/nothing", 2},
	}
	live := func(_ context.Context, s *cluster.Cluster, _ kube.LiveOptions) (*cluster.Cluster, error) {
		return s, nil
	}
	tested := map[string]bool{}
	for name, tc := range cases {
		verb, _, _ := strings.Cut(name, " -")
		tested[strings.TrimSuffix(verb, " of a cluster")] = true
		t.Run(name, func(t *testing.T) {
			r := plugintest.Run{Args: append([]string{"-n", "demo"}, strings.Fields(tc.args)...), Objects: plugintest.New(3, 1).Objects(), Live: live}.Do(t)
			if r.Code != tc.code || !strings.Contains(r.Stderr, "no ") && !strings.Contains(r.Stderr, "not ") {
				t.Errorf("exit %d, want %d\n%s%s", r.Code, tc.code, r.Stdout, r.Stderr)
			}
		})
	}
	page, err := os.ReadFile("../docs/reference/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{"| 1 | error | ", "; the cluster does not exist |\n", "| 2 | wrong usage, or refused | an unknown flag or member;"} {
		if !strings.Contains(string(page), row) {
			t.Errorf("commands.md lacks %q", row)
		}
	}
	takes := regexp.MustCompile(`\b(MEMBER|NODE)\b`)
	each(tree("kubectl-scylla"), func(cmd *cobra.Command) {
		verb := strings.Join(strings.Fields(cmd.CommandPath())[2:], " ")
		if !takes.MatchString(cmd.Use) {
			return
		}
		if !tested[verb] {
			t.Errorf("no row tests %s", verb)
		}
		if !regexp.MustCompile(`2 (if refused before: )?no such (member|node)`).MatchString(strings.ReplaceAll(cmd.Long, "\n", " ")) {
			t.Errorf("the exit codes of %s do not state what an unknown member is", verb)
		}
	})
}
