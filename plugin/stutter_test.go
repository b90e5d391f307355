// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// clauses are the parts of an error, without quotes: what stands between colons, semicolons and brackets.
func clauses(text string) []string {
	var out []string
	for _, c := range regexp.MustCompile(`: |; |, |\(|\)|\n`).Split(text, -1) {
		if c = strings.Trim(strings.ToLower(c), `"' .`); strings.Contains(c, " ") {
			out = append(out, c)
		}
	}
	return out
}

// libraries are words of client-go, pflag and YAML decoders that say again what the sentence around them says.
var libraries = []string{"invalid argument", "error parsing", "error loading", "error converting", "unable to construct", "error reading", "unable to decode", "failed to"}

// stutters says how an error says one thing twice, empty where it does not.
func stutters(text string) string {
	all := clauses(text)
	for i, a := range all {
		for j, b := range all {
			if i != j && (a == b && i < j || len(a) < len(b) && (strings.HasPrefix(b, a+" ") || strings.HasSuffix(b, " "+a))) {
				return fmt.Sprintf("%q and %q", a, b)
			}
		}
	}
	for _, w := range libraries {
		if strings.Contains(text, w) {
			return fmt.Sprintf("a library's %q", w)
		}
	}
	return ""
}

func TestStuttersAreSeen(t *testing.T) {
	for text, want := range map[string]bool{
		"read saved objects from a.yaml: read saved objects: document 1: no fields":                              true,
		`invalid argument "x" for "--color" flag: must be one of auto, always`:                                   true,
		"query the API server: connection refused: connection refused":                                           true,
		"read saved objects from a.yaml: document 1: it has no fields; save them with kubectl":                   false,
		"invalid --color=\"x\": must be one of auto, always, never":                                              false,
		"user \"bob\" cannot list services in namespace a\nuser \"bob\" cannot list statefulsets in namespace a": false,
	} {
		if got := stutters(text); (got != "") != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// errorOf is the error that a run told, without the hint below it, and that hint.
func errorOf(stderr string) (text, hint string) {
	_, text, found := strings.Cut("\n"+stderr, "\nerror: ")
	if !found {
		return "", ""
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return strings.Join(lines[:max(1, len(lines)-1)], "\n"), lines[len(lines)-1]
}

// TestNoErrorStutters walks over everything that a verb was ever recorded to say when it ends with an error.
func TestNoErrorStutters(t *testing.T) {
	files, err := filepath.Glob("*/testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	own, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, file := range append(files, own...) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, run := range strings.Split(string(data), "\n-- stderr --\n")[1:] {
			said, _, _ := strings.Cut(run, "-- exit ")
			text, _ := errorOf(said)
			if text == "" {
				continue
			}
			seen++
			if what := stutters(text); what != "" {
				t.Errorf("%s says one thing twice, %s: %s", file, what, text)
			}
		}
	}
	if seen < 50 {
		t.Errorf("only %d errors were found: the transcripts have another form", seen)
	}
}

// bad is one wrong input for every verb that takes it.
type bad struct {
	args []string
	want string
	code int
}

// cured is what an error or its hint has where it tells the person what to do.
var cured = regexp.MustCompile(`(?i)\b(add|check|choose|correct|create|did you mean|list|must be|name|omit|print|read|remove|request|restore|retry|run|save|see|set|show|specify|takes|they contain|use|wait|write)\b`)

// TestBadInput: a wrong name, a missing cluster, an unreachable server, a file that is none, no kubeconfig: said once, with the cure.
func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	config := "apiVersion: v1\nkind: Config\ncurrent-context: dead\ncontexts: [{name: dead, context: {cluster: x}}]\nclusters: [{name: x, cluster: {server: \"https://127.0.0.1:1\"}}]\n"
	dead, broken := file("dead.yaml", config), file("broken.yaml", "not: [yaml")
	noHost := file("nohost.yaml", strings.Replace(config, "127.0.0.1:1", "no-such-host.invalid:6443", 1))
	missing, words, empty := filepath.Join(dir, "none.yaml"), file("words.txt", "hello"), file("empty.yaml", "")
	other, cut := file("other.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"), file("cut.zip", "PK broken")
	var all []bad
	asking := [][]string{
		{"status"}, {"barrier"}, {"report"}, {"describe", "x"}, {"nodetool", "x", "--", "status"}, {"force-proceed", "x"},
		{"replace", "x"}, {"replace", "status"}, {"replace", "resume", "x"}, {"check"}, {"uninstall"}, {"remote", "list"},
	}
	with := func(flags, verb []string) []string { return append(append([]string{verb[0]}, flags...), verb[1:]...) }
	for _, verb := range asking {
		for flag, want := range map[string]string{
			"--kubeconfig=" + dead:    "cannot reach the API server at https://127.0.0.1:1: connection refused",
			"--kubeconfig=" + missing: "read kubeconfig", "--kubeconfig=" + broken: "read kubeconfig", "--server=ht!tp://": "must be a URL or host:port",
		} {
			all = append(all, bad{with([]string{flag}, verb), want, 1})
		}
	}
	all = append(all, bad{[]string{"status", "--kubeconfig", noHost}, "cannot reach the API server at https://no-such-host.invalid:6443: ", 1},
		bad{[]string{"status", "--kubeconfig", dead, "--context", "nope"}, `read kubeconfig: context "nope" does not exist`, 1})
	for _, verb := range [][]string{{"status"}, {"barrier"}, {"report"}, {"describe", "x"}, {"dashboard", "--once"}, {"replace", "x", "--dry-run"}, {"replace", "status"}} {
		for from, want := range map[string]string{
			missing: "no such file", broken: "document 1: yaml: line 1", words: "not a Kubernetes object", empty: "no objects in 0 documents", other: "no cluster in the objects", cut: "document 1",
			dir: "broken.yaml: document 1: yaml: line 1",
		} {
			all = append(all, bad{append(append([]string{}, verb...), "--from", from), want, 1})
		}
		all = append(all, bad{append(append([]string{}, verb...), "--from", "sample:nope"), `unknown sample "nope"`, 2},
			bad{append(append([]string{}, verb...), "--from="), "--from is empty: specify a file, - for standard input, or sample:NAME", 2})
	}
	for line, want := range map[string]string{
		"status nope": "the saved objects do not contain this cluster", "report nope": "do not contain this cluster", "status -n nope": "do not contain this cluster",
	} {
		all = append(all, bad{append(strings.Fields(line), "--from", "sample:incident"), want, 1})
	}
	for line, want := range map[string]string{
		"barrier nope": `no member "nope"`, "describe rack9/0": `no member "rack9/0"`, "replace nope --dry-run": `no member "nope"`, "replace status nope": `no member "nope"`,
		"status --source=nope": `invalid --source="nope": must be one of auto, report, annotation, live`, "status --sort-by=nope": `invalid --sort-by="nope": must be one of`, "status --color=x": `invalid --color="x": must be one of`,
		"status -o nope": `unknown output format "nope"`, "status -o jsonpath={.x": "invalid -o jsonpath={.x: unclosed action", "status -o go-template={{.x": "invalid -o go-template={{.x: ",
		"status --timeout=5": `invalid --timeout="5"`, "status a b": "unexpected argument", "status --watch": "saved objects do not change",
		"report --archive " + dir + "/no/a.zip": "directory " + dir + "/no does not exist",
	} {
		code := 2
		if strings.HasPrefix(line, "report --archive") {
			code = 1
		}
		all = append(all, bad{append(strings.Fields(line), "--from", "sample:incident"), want, code})
	}
	all = append(all, bad{[]string{"remote", "add"}, "specify a name for the remote Kubernetes cluster", 2},
		bad{[]string{"describe", "10.0.0.1", "--from", "sample:incident"}, `no member "10.0.0.1"`, 2})
	for format, want := range map[string]string{
		"jsonpath={.items.x}": "print ClusterStatusList in the format of -o: x is not found", "jsonpath={.items[99].x}": "array index out of bounds: index 99, length 1", "go-template={{.items.x}}": "can't evaluate field x",
		"go-template={{.nope | len}}": "print ClusterStatusList in the format of -o: ",
	} {
		all = append(all, bad{[]string{"status", "--from", "sample:incident", "--allow-missing-template-keys=false", "-o", format}, want, 1})
	}
	all = append(all, bad{[]string{"status", "--from", "sample:incident", "-o", "go-template-file=" + missing}, "open " + missing, 2})
	for _, f := range []struct{ file, want string }{{missing, "does not exist"}, {broken, "read the manifest: document 1: yaml: line 1"}, {other, "no StatefulSet runs ScyllaDB"}} {
		all = append(all, bad{[]string{"inject", "--image", "a:1", "-f", f.file}, f.want, 0})
	}
	for _, b := range all {
		r := plugintest.Run{Args: b.args}.Do(t)
		text, hint := errorOf(r.Stderr)
		name := strings.Join(b.args, " ")
		switch {
		case text == "" || b.code != 0 && r.Code != b.code || r.Code == 0 || !strings.Contains(text, b.want):
			t.Errorf("%s: exit %d, want %d and %q:\n%s", name, r.Code, b.code, b.want, r.Stderr)
		case stutters(text) != "":
			t.Errorf("%s says one thing twice, %s: %s", name, stutters(text), text)
		case r.Stdout != "" || strings.Contains(r.Stderr, "map[string]interface") || len(r.Stderr) > 1000:
			t.Errorf("%s writes what nobody asked for: %s%s", name, r.Stdout, r.Stderr)
		case !cured.MatchString(hint):
			t.Errorf("%s does not end with what to do: %s", name, r.Stderr)
		}
		if i := slices.Index(b.args, "--from"); i >= 0 && strings.Contains(r.Stderr, "list the members") && !strings.Contains(r.Stderr, "status --from "+b.args[i+1]) {
			t.Errorf("%s leads from the file to a cluster: %s", name, r.Stderr)
		}
		if strings.Contains(r.Stderr, "--from FILE") && (b.args[0] == "nodetool" || b.args[0] == "check") {
			t.Errorf("%s names a flag that the verb has not: %s", name, r.Stderr)
		}
	}
}
