// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// A root credential that is not verified is a warning: it changes neither the verdict nor the exit code.
func TestRootCredential(t *testing.T) {
	for code, want := range map[string]string{
		"":                     "",
		"Verified":             "",
		"WrongPassword":        "root credential: ScyllaDB refuses the username and password of Secret demo-root-credential",
		"DefaultSuperuserOpen": "root credential: the default superuser cassandra logs in with its default password",
		"Unknown":              "root credential: the root credential is not verified",
	} {
		t.Run(code, func(t *testing.T) {
			objects := plugintest.New(3, 1).Objects()
			for _, o := range objects {
				if r, ok := o.(*api.ScyllaDBStatusReport); ok {
					r.Status.RootCredential = &api.RootCredential{Mode: "verify", Code: api.RootCredentialCode(code), Member: "demo-dc1-rack1-0"}
				}
			}
			for _, verb := range []string{"status", "describe"} {
				args := map[string][]string{"status": {"status", "demo"}, "describe": {"describe", "demo-dc1-rack1-0"}}[verb]
				r := plugintest.Run{Args: append(args, "-n", "demo", "-o", "wide"), Objects: objects}.Do(t)
				text := strings.Join(strings.Fields(r.Stdout), " ")
				if verb == "describe" {
					want = strings.TrimPrefix(want, "root credential: ")
				}
				if r.Code != 0 || !strings.Contains(text, want) || want == "" && verb == "status" && strings.Contains(text, "root credential") {
					t.Errorf("%s: exit %d, want %q\n%s%s", verb, r.Code, want, r.Stdout, r.Stderr)
				}
			}
		})
	}
}
