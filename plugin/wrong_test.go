// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// TestWrongInputs: testdata/wrong-inputs.txt has inputs that people got wrong, by what is wrong with them; a new one is a new line there, and -update writes
// what it gives. Each ends with an exit code that is not 0, its reason in one line, and what to do in the next one, and writes nothing to standard output. They
// run against one cluster whose member demo-dc1-rack3-0 is DOWN and whose member demo-dc1-rack2-1 waits.
func TestWrongInputs(t *testing.T) {
	waits := plugintest.New(3, 1).Down("demo-dc1-rack3-0")
	waits.Newcomer("dc1", "rack2", 1)
	objects := waits.Objects()
	home, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := os.ReadFile("testdata/wrong-inputs.txt")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\n"
	for file, text := range map[string]string{
		"words.txt": "hello", "empty.yaml": "", "broken.yaml": "not: [yaml", "other.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n", "cut.zip": "PK broken",
		"joined.yaml": fmt.Sprintf(pod+pod, "a", "b"), "log.txt": "INFO  2026-11-23 12:22:00,000 [shard 0] init - serving\n",
		"nodetool.txt": "Datacenter: dc1\n===============\nStatus=Up/Down\n|/ State=Normal/Leaving/Joining/Moving\n--  Address   Load\nUN  10.0.0.1  1 GB\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var b strings.Builder
	rows := 0
	for line := range strings.Lines(string(recorded)) {
		line, is := strings.CutPrefix(line, "$ kubectl scylla ")
		if !is {
			continue
		}
		args := strings.Fields(line)
		if i := strings.Index(line, "foo bar"); i >= 0 {
			args = []string{"install", "--image", "foo bar:1"}
		}
		elsewhere := []string{"install", "uninstall", "demo", "version", "completion", "help", "remote"}
		if !strings.HasPrefix(line, "-") && !slices.Contains(elsewhere, args[0]) && !strings.Contains(line, " -n") && !strings.Contains(line, "--from") {
			args = append([]string{args[0], "-n", "demo"}, args[1:]...)
		}
		r := plugintest.Run{Args: args, Objects: objects, Live: answers}.Do(t)
		rows++
		said := strings.Split(strings.TrimSuffix(r.Stderr, "\n"), "\n")
		if text, hint := errorOf(r.Stderr); r.Code == 0 || r.Stdout != "" || len(said) < 2 || stutters(text) != "" || !cured.MatchString(hint) {
			t.Errorf("%sexit %d\n%s%s", line, r.Code, r.Stdout, r.Stderr)
		}
		fmt.Fprintf(&b, "$ kubectl scylla %s", line)
		for _, l := range said[max(0, len(said)-2):] {
			fmt.Fprintf(&b, "%d   %s\n", r.Code, l)
		}
	}
	if rows < 100 {
		t.Errorf("%d inputs", rows)
	}
	t.Chdir(home)
	plugintest.Golden(t, "wrong-inputs.txt", b.String())
}

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

// TestBadInput: a wrong name, a missing cluster, an unreachable server, a file that is none, no kubeconfig: every verb says it once, with the cure.
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
	missing := filepath.Join(dir, "none.yaml")
	var all []bad
	add := func(code int, want, line string, more ...string) {
		all = append(all, bad{append(strings.Fields(line), more...), want, code})
	}
	for _, line := range []string{
		"status", "barrier", "report", "describe x", "nodetool x -- status", "force-proceed x", "replace x", "replace status", "replace resume x", "check", "uninstall", "remote list",
	} {
		verb, rest, _ := strings.Cut(line, " ")
		for flag, want := range map[string]string{
			"--kubeconfig=" + dead:    "cannot reach the API server at https://127.0.0.1:1: connection refused",
			"--kubeconfig=" + missing: "read kubeconfig", "--kubeconfig=" + broken: "read kubeconfig", "--server=ht!tp://": "must be a URL or host:port",
		} {
			add(1, want, verb+" "+flag+" "+rest)
		}
	}
	add(1, "cannot reach the API server at https://no-such-host.invalid:6443: ", "status --kubeconfig "+noHost)
	add(1, `read kubeconfig: context "nope" does not exist`, "status --context nope --kubeconfig "+dead)
	froms := map[string]string{
		missing: "no such file", broken: "document 1: yaml: line 1", file("words.txt", "hello"): "not a Kubernetes object", file("empty.yaml", ""): "no objects in 0 documents",
		file("other.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"): "no cluster in the objects", file("cut.zip", "PK broken"): "document 1",
		dir: "broken.yaml: document 1: yaml: line 1",
	}
	for _, verb := range []string{"status", "barrier", "report", "describe x", "dashboard --once", "replace x --dry-run", "replace status"} {
		for from, want := range froms {
			add(1, want, verb, "--from", from)
		}
		add(2, `unknown sample "nope"`, verb, "--from", "sample:nope")
		add(2, "--from is empty: specify a file, - for standard input, or sample:NAME", verb, "--from=")
	}
	for _, line := range []string{"status nope", "report nope", "status -n nope"} {
		add(1, "do not contain this cluster", line, "--from", "sample:incident")
	}
	for _, line := range []string{"barrier nope", "describe nope", "describe 10.0.0.1", "describe rack9/0", "replace nope --dry-run", "replace status nope"} {
		add(2, `no member "`, line, "--from", "sample:incident")
	}
	for format, want := range map[string]string{
		"jsonpath={.items.x}": "print ClusterStatusList in the format of -o: x is not found", "jsonpath={.items[99].x}": "array index out of bounds: index 99, length 1", "go-template={{.items.x}}": "can't evaluate field x",
		"go-template={{.nope | len}}": "print ClusterStatusList in the format of -o: ",
	} {
		add(1, want, "status --from sample:incident --allow-missing-template-keys=false", "-o", format)
	}
	for _, b := range all {
		r := plugintest.Run{Args: b.args}.Do(t)
		text, hint := errorOf(r.Stderr)
		name := strings.Join(b.args, " ")
		switch {
		case text == "" || r.Code != b.code || !strings.Contains(text, b.want):
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

// TestWhatPeopleType: names of verbs of other tools lead to the verb here, and no suggestion is an abbreviation.
func TestWhatPeopleType(t *testing.T) {
	for typed, want := range map[string]string{
		"ls": "did you mean status?", "get": "did you mean status?", "remove": "did you mean uninstall?", "statsu": "did you mean status?",
		"sttaus": "did you mean status?", "versio": "did you mean version?", "events": "did you mean report?", "nodes": "did you mean status?", "clusters": "did you mean status -A?",
		"force": "did you mean force-proceed?", "remote lst": "did you mean list?", "remote ad": "did you mean add?",
		"controller": "controller is not part of the plugin: run scylla-agent controller --kubeconfig FILE", "controller --namespaces demo": "run scylla-agent controller --kubeconfig FILE",
		"logs": "run kubectl logs POD -c CONTAINER -n NAMESPACE", "log": "run kubectl logs POD",
		"exec": "run kubectl exec -it POD -c CONTAINER -n NAMESPACE --", "cqlsh": "-c CONTAINER -n NAMESPACE -- cqlsh",
		// Near to nothing: a letter or two, a piece out of the middle of a name, another word, what only another command has.
		"x": "", "to": "", "all": "", "port": "", "tuition": "", "foo": "", "apply": "", "remote ls": "", "remote statsu": "",
	} {
		r := plugintest.Run{Args: strings.Fields(typed)}.Do(t)
		if meant := strings.Contains(r.Stderr, "did you mean"); r.Code != 2 || !strings.Contains(r.Stderr, want) || meant != strings.HasPrefix(want, "did") {
			t.Errorf("%s: exit code %d, %s", typed, r.Code, r.Stderr)
		}
	}
	if r := (plugintest.Run{Args: []string{"--version"}}).Do(t); r.Code != 0 || !strings.HasPrefix(r.Stdout, "kubectl-scylla ") || r.Stderr != "" {
		t.Errorf("--version: %+v", r)
	}
}

// TestFlagsAreCompleted: -n with the namespaces, --context with those of the kubeconfig.
func TestFlagsAreCompleted(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config, []byte("apiVersion: v1\nkind: Config\ncurrent-context: prod\ncontexts: [{name: prod, context: {cluster: x}}, {name: test, context: {cluster: x}}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	objects := append(plugintest.New(3, 1).Objects(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "demo"}})
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"status", "-n", ""}, "demo\thas a ScyllaDB cluster\nother\n:4\n"},
		{[]string{"nodetool", "--namespace", "o"}, "other\n:4\n"},
		{[]string{"status", "--kubeconfig", config, "--context", ""}, "prod\tcurrent context\ntest\n:4\n"},
		{[]string{"describe", "--kubeconfig", config, "--context", "te"}, "test\n:4\n"},
		{[]string{"force"}, "force-proceed\tLet a member start ScyllaDB even though its barrier blocks it\nforce-bootstrap\tAlias of force-proceed\n:4\n"},
		{[]string{"status", "--from", "sample:inc"}, "sample:incident\ta node has failed, and a new node is waiting\n:4\n"},
		{[]string{"status", "--from", "s"}, ":0\n"}, // files
		{[]string{"describe", "--from", "sample:incident", "demo-dc1-rack3"}, "demo-dc1-rack3-0\tMember, Pod Running 1/2\n:4\n"},
		{[]string{"status", "--from", "sample:incident", ""}, "demo\n:4\n"},
		{[]string{"describe", "--from", "-", ""}, ":4\n"},
		{[]string{"version", "--"}, "--color\tWhen to use colour. auto: on terminals only; respects NO_COLOR and CLICOLOR_FORCE.\n--context\tThe name of the kubeconfig context to use\n--namespace\tIf present, the namespace scope for this CLI request\n--help\thelp for version\n--output\tOutput format. One of: short, json, yaml.\n:4\n"},
		{[]string{"version", "--cl"}, "--client-certificate\tPath to a client certificate file for TLS\n--client-key\tPath to a client key file for TLS\n--cluster\tThe name of the kubeconfig cluster to use\n:4\n"},
		{[]string{"force-bootstrap", "--per"}, "--per-service\tWith --datacenter or --cluster: annotate only the Services of members that have not joined.\n:4\n"},
	} {
		r := plugintest.Run{Args: append([]string{"__complete"}, tc.args...), Objects: objects}.Do(t)
		if r.Stdout != tc.want {
			t.Errorf("%q gives %q, want %q", tc.args, r.Stdout, tc.want)
		}
	}
}

// TestAnUnknownNameHasOneExitCode: 2 for a member or node; for a cluster 1, and 2 if the verb would change it. docs/reference/commands.md states it.
func TestAnUnknownNameHasOneExitCode(t *testing.T) {
	t.Parallel()
	cases := map[string]int{
		"barrier nobody": 2, "barrier nobody --wait --timeout 0": 2, "describe nobody": 2, "check nobody --for=restart": 2, "check nobody --for=decommission": 2,
		"nodetool nobody -- status": 2, "force-proceed nobody --yes --reason x": 2,
		"replace nobody --yes": 2, "replace status nobody": 2, "replace cancel nobody": 2, "replace resume nobody --yes": 2,
		"status nothing": 1, "report nothing": 1, "dashboard nothing --once": 1, "init reset nothing --yes --confirm demo/nothing": 2,
	}
	live := func(_ context.Context, s *cluster.Cluster, _ kube.LiveOptions) (*cluster.Cluster, error) {
		return s, nil
	}
	tested := map[string]bool{}
	for args, code := range cases {
		verb, _, _ := strings.Cut(args, " no")
		tested[verb] = true
		t.Run(args, func(t *testing.T) {
			r := plugintest.Run{Args: append([]string{"-n", "demo"}, strings.Fields(args)...), Objects: plugintest.New(3, 1).Objects(), Live: live}.Do(t)
			if r.Code != code || !strings.Contains(r.Stderr, "no ") && !strings.Contains(r.Stderr, "not ") {
				t.Errorf("exit %d, want %d\n%s%s", r.Code, code, r.Stdout, r.Stderr)
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
