// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
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
		"status", "status -o wide", "status -o json", "status -o yaml", "status -A -o json", "status -o jsonpath={.items[*].nodes[*].version}", "status -o go-template={{.items}}",
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

// A manifest of somebody else, with hidden text wherever it has text: nothing of it is hidden in what inject prints, and the printed manifest has the same texts.
func TestAttack5NothingHiddenIsInAnInjectedManifest(t *testing.T) {
	t.Parallel()
	plain, err := os.ReadFile("../test/simulation/manifests/plain.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{hiddenText, "db\x1b]0;title\x07\u202eh\u200bi\U000e0041"} {
		quoted, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		// YAML has control characters only as escapes.
		text := strings.NewReplacer("\u009b", `\u009b`, "\u0085", `\u0085`).Replace(string(quoted))
		sneaky := strings.NewReplacer("metadata: {name: db, ", "metadata: {name: "+text+", ", "# headless", "# head\u202eless").Replace(string(plain))
		account := strings.Replace(sneaky, "    spec:\n", "    spec:\n      serviceAccountName: "+text+"\n", 1)
		for _, args := range []string{"", "-o diff", "--undo", "--root-credential=managed", "--rack=z"} {
			for _, in := range []string{sneaky, account} {
				injected(t, name, in, args)
			}
		}
	}
}

// injected runs inject on a manifest with an object of that name.
func injected(t *testing.T, name, in, args string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "chart.yaml")
	if err := os.WriteFile(file, []byte(in), 0o600); err != nil {
		t.Fatal(err)
	}
	image := []string{"--image=example.com/scylla-agent:1"}
	if args == "--undo" {
		image = nil
	}
	r := plugintest.Run{Args: slices.Concat([]string{"inject", "-f", file}, image, strings.Fields(args))}.Do(t)
	noneHidden(t, "inject "+args, r)
	if args != "" && args != "--undo" {
		return
	}
	names := 0
	for _, doc := range strings.Split(r.Stdout, "---\n") {
		var o struct{ Metadata struct{ Name string } }
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			t.Fatalf("inject %s prints no YAML: %v\n%s", args, err, doc)
		}
		if o.Metadata.Name == name {
			names++
		}
	}
	if names == 0 {
		t.Errorf("inject %s: no object has the name any more:\n%s", args, r.Stdout)
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
