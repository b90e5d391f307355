// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"sigs.k8s.io/yaml"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// hiddenText is a version as a member reports it: a terminal title, a colour by a control character beyond ASCII, a change of order, and invisible characters.
const hiddenText = "2026\x1b]0;title\x07\u009b31m\u202eh\u200bi\u2028d\u0085\U000e0041<b>"

// A terminal obeys control characters in JSON and in errors as it does elsewhere, and a browser the ones that change the order.
func TestAttack5NothingHiddenIsInAnyOutput(t *testing.T) {
	t.Parallel()
	c := plugintest.New(3, 1).Down("demo-dc1-rack3-0").Says(func(_ plugintest.Node, said *api.NodeStatusReport) { said.ScyllaVersion = hiddenText })
	c.Newcomer("dc1", "rack2", 1)
	parse := map[string]func([]byte) error{
		"json": func(b []byte) error { return json.Unmarshal(b, new(any)) },
		"yaml": func(b []byte) error { return yaml.Unmarshal(b, new(any)) },
	}
	quotes := 0
	for _, args := range []string{
		"status", "status -o wide", "status -o json", "status -o yaml", "status -A -o json", "status -o jsonpath={.nodes[*].version}", "status -o go-template={{.nodes}}",
		"report -o html", "report -o wide", "report -o json", "describe demo-dc1-rack1-0", "describe demo-dc1-rack1-0 -o json",
		"barrier demo-dc1-rack2-1 -o json", "dashboard --once",
	} {
		r := plugintest.Run{Args: append(strings.Fields(args), "-n", "demo", "--source", "annotation"), Objects: c.Objects()}.Do(t)
		noneHidden(t, args, r)
		if strings.Contains(r.Stdout+r.Stderr, "202") && strings.Contains(strings.ToLower(r.Stdout), "202e") {
			quotes++
		}
		_, format, _ := strings.Cut(args, "-o ")
		if read := parse[format]; read != nil && read([]byte(r.Stdout)) != nil {
			t.Errorf("%s: it cannot be read: %v", args, read([]byte(r.Stdout)))
		}
	}
	if quotes < 8 {
		t.Errorf("the version is shown by %d commands only", quotes)
	}
}

// An error repeats names from the file.
func TestAttack5NothingHiddenIsInAnError(t *testing.T) {
	t.Parallel()
	bad := filepath.Join(t.TempDir(), "saved.json")
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"namespace": hiddenText, "name": hiddenText, "creationTimestamp": hiddenText}})
	if err == nil {
		err = os.WriteFile(bad, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := plugintest.Run{Args: []string{"status", "--from", bad}}.Do(t)
	noneHidden(t, "an error", r)
	if !strings.Contains(r.Stderr, "U+202E") && !strings.Contains(r.Stderr, `\u202e`) {
		t.Errorf("it does not say what is there:\n%s", r.Stderr)
	}
}

func noneHidden(t *testing.T, what string, r plugintest.Result) {
	t.Helper()
	text := r.Stdout + r.Stderr
	if i := strings.IndexFunc(text, func(c rune) bool {
		return unicode.IsControl(c) && c != '\n' && c != '\t' || unicode.In(c, unicode.Cf, unicode.Zl, unicode.Zp)
	}); i >= 0 {
		t.Errorf("%s: %q", what, text[max(0, i-60):min(len(text), i+40)])
	}
}
