// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// verbsOfMembers are all verbs that take a member, each with what it says of demo-dc1-rack3-0 once that was found.
var verbsOfMembers = map[string]struct {
	args []string
	says string
}{
	"describe":       {[]string{"describe", "MEMBER"}, "demo/demo-dc1-rack3-0"},
	"nodetool":       {[]string{"nodetool", "MEMBER", "info"}, "one of demo-dc1-rack3-0"},
	"barrier":        {[]string{"barrier", "MEMBER"}, "demo/demo-dc1-rack3-0"},
	"force-proceed":  {[]string{"force-proceed", "MEMBER", "--yes"}, "member demo/demo-dc1-rack3-0 is running"},
	"replace":        {[]string{"replace", "MEMBER", "--dry-run=client"}, "demo-dc1-rack3-0"},
	"replace status": {[]string{"replace", "status", "MEMBER"}, "demo-dc1-rack3-0"},
}

// TestEveryVerbTakesAMember: one name means the same to all of them, in every form.
func TestEveryVerbTakesAMember(t *testing.T) {
	here, err := filepath.Abs("../nodetool/testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", here+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("RECORD", t.TempDir())
	id := plugintest.HostID(2)
	forms := map[string]string{
		"a Pod": "demo-dc1-rack3-0", "a Pod with its kind": "pod/demo-dc1-rack3-0", "rack/ordinal": "rack3/0", "datacenter/rack/ordinal": "dc1/rack3/0",
		"a host ID": id, "a prefix": id[:8], "an IP": "10.0.0.3",
	}
	c := plugintest.New(3, 1)
	c.Pod("demo-dc1-rack3-0").Status.PodIP = "10.0.0.3"
	for verb, v := range verbsOfMembers {
		for form, name := range forms {
			t.Run(verb+" "+form, func(t *testing.T) {
				res := do(t, c, v.args, name)
				if out := res.Stdout + res.Stderr; !strings.Contains(out, v.says) || strings.Contains(out, "no member") {
					t.Errorf("exit %d, and nothing of %s:\n%s", res.Code, v.says, out)
				}
			})
		}
		t.Run(verb+" unknown", func(t *testing.T) {
			res := do(t, c, v.args, "rack3/7")
			if res.Code != 2 || !strings.HasPrefix(res.Stderr, `error: no member "rack3/7" in cluster demo/demo; did you mean "rack3/0"`) {
				t.Errorf("exit %d: %s", res.Code, res.Stderr)
			}
		})
		t.Run(verb+" ambiguous", func(t *testing.T) {
			both := append(c.Objects(), plugintest.NewNamed("demo", "second", "dc1", 3, 1).Objects()...)
			res := plugintest.Run{Args: typed(v.args, "rack3/0"), Objects: both}.Do(t)
			want := `error: "rack3/0" matches 2 members in clusters demo/demo, demo/second, specify one: demo-dc1-rack3-0 of demo/demo (` + id + "), second-dc1-rack3-0 of demo/second"
			if res.Code != 2 || !strings.HasPrefix(res.Stderr, want) {
				t.Errorf("exit %d: %s", res.Code, res.Stderr)
			}
		})
	}
	t.Run("replace wants more of a host ID", func(t *testing.T) {
		res := do(t, c, []string{"replace", "MEMBER", "--yes"}, id[:5])
		if res.Code != 2 || !strings.Contains(res.Stderr, "host ID prefix \"37d2f\" is too short") {
			t.Errorf("exit %d: %s", res.Code, res.Stderr)
		}
	})
}

func typed(args []string, member string) []string {
	out := []string{"-n", "demo"}
	for _, a := range args {
		if a == "MEMBER" {
			a = member
		}
		out = append(out, a)
	}
	return out
}

func do(t *testing.T, c *plugintest.Cluster, args []string, member string) plugintest.Result {
	t.Helper()
	return plugintest.Run{Args: typed(args, member), Objects: c.Objects()}.Do(t)
}
