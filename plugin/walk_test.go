// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/readme"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// typed are the commands of a page as a person copies them: a line of a code block, or code within a sentence. What stands below a prompt
// is a screen, which other tests print.
func typed(t *testing.T, page string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../docs", page))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile("(?m)^    (kubectl scylla .*)$|`(kubectl scylla [^`]*)`").FindAllStringSubmatch(string(data), -1) {
		if command := strings.TrimSpace(m[1] + m[2]); !slices.Contains(out, command) {
			out = append(out, command)
		}
	}
	return out
}

// step is what a command of a page does in one situation.
type step struct {
	in   string // healthy, live, down, waits, replaced, nothing, server
	code int
	want string // in its output
}

// server stands for a real API server: a fake one cannot run these, test/e2e does. Here their flags are parsed.
const server = "server"

// walked are the commands of the pages in which a person is led, by situation.
var walked = map[string]step{
	// looking
	"kubectl scylla version":                                       {"nothing", 0, "kubectl-scylla "},
	"kubectl scylla demo":                                          {"nothing", 0, "kubectl scylla barrier --from sample:incident"},
	"kubectl scylla status --from sample:incident":                 {"nothing", 3, "demo-dc1-rack3-0 DOWN for 5m33s"},
	"kubectl scylla barrier --from sample:incident":                {"nothing", 3, "WAIT demo/demo-dc1-rack2-1"},
	"kubectl scylla dashboard --from sample:partition":             {"nothing", 2, "requires a terminal"},
	"kubectl scylla dashboard -n NAMESPACE":                        {"down", 2, "requires a terminal"},
	"kubectl scylla status -n NAMESPACE":                           {"down", 3, "demo-dc1-rack3-0 DOWN for 12s"},
	"kubectl scylla status CLUSTER --all -n NAMESPACE":             {"down", 3, "Blockers ("},
	"kubectl scylla status -A":                                     {"down", 3, "demo-dc1-rack3-0 DOWN for 12s"},
	"kubectl scylla status -n NAMESPACE --source=live":             {"live", 0, "3 of 3 nodes seen UP by all\nsource: live (ScyllaDB answered on 3 of 3 Pods)"},
	"kubectl scylla status -n NAMESPACE --wait":                    {"healthy", 0, "HEALTHY demo/demo: 3 of 3 nodes seen UP by all"},
	"kubectl scylla status -n NAMESPACE --source=live --wait":      {"live", 0, "3 of 3 nodes seen UP by all\nsource: live (ScyllaDB answered on 3 of 3 Pods)"},
	"kubectl scylla barrier MEMBER -n NAMESPACE":                   {"waits", 3, "WAIT demo/demo-dc1-rack2-1: demo-dc1-rack3-0 DOWN"},
	"kubectl scylla barrier POD -n NAMESPACE":                      {"waits", 3, "WAIT demo/demo-dc1-rack2-1: demo-dc1-rack3-0 DOWN"},
	"kubectl scylla barrier -n NAMESPACE --wait":                   {"healthy", 0, "No member is waiting"},
	"kubectl scylla describe MEMBER -n NAMESPACE":                  {"down", 0, "demo/demo-dc1-rack3-0: DOWN"},
	"kubectl scylla describe --log FILE":                           {"nothing", 0, "has been banned"},
	"kubectl scylla describe MEMBER -n NAMESPACE --log FILE":       {"down", 0, "has been banned"},
	"kubectl scylla report -n NAMESPACE":                           {"down", 0, "demo-dc1-rack3-0"},
	"kubectl scylla report -n NAMESPACE --archive report.zip":      {"down", 0, "report.zip"},
	"kubectl scylla status --from report.zip":                      {"nothing", 3, "demo-dc1-rack3-0 DOWN"},
	"kubectl scylla nodetool MEMBER -n NAMESPACE -- status":        {"live", 0, "one of demo-dc1-rack3-0"},
	"kubectl scylla nodetool MEMBER -n NAMESPACE -- clearsnapshot": {"live", 0, "one of demo-dc1-rack3-0"},
	// before maintenance
	"kubectl scylla check -n NAMESPACE":                                            {"healthy", 3, "the admission policy kubectl-scylla-own-pod-only is missing"},
	"kubectl scylla check --pre -n NAMESPACE":                                      {"healthy", 0, "ok: 19 checks"},
	"kubectl scylla check --for=restart MEMBER -n NAMESPACE":                       {"live", 0, "ok: 5 checks"},
	"kubectl scylla check --for=drain KUBERNETES_NODE -n NAMESPACE":                {"live", 3, "move one node at a time, demo-dc1-rack1-0 first: kubectl drain worker-1"},
	"kubectl scylla check --for=scale -n NAMESPACE":                                {"live", 0, "ok: 3 checks"},
	"kubectl scylla check --for=upgrade -n NAMESPACE":                              {"live", 0, "ok: 4 checks"},
	"kubectl scylla check --for=decommission MEMBER -n NAMESPACE":                  {"live", 3, "2 nodes remain: once one is DOWN"},
	"kubectl scylla check --for=decommission --datacenter=DATACENTER -n NAMESPACE": {"live", 3, "ScyllaDB refuses to decommission the last one"},
	// force
	"kubectl scylla force-proceed MEMBER -n NAMESPACE --dry-run=client":                              {"waits", 0, "service/demo-dc1-rack2-1 annotated (dry run)"},
	`kubectl scylla force-proceed MEMBER -n NAMESPACE --reason "its reporter hangs, the node is UP"`: {"waits", 2, "3 blockers will be ignored"},
	`kubectl scylla force-proceed MEMBER -n NAMESPACE --reason "rack3/0 is UP, its reporter hangs"`:  {"waits", 2, "3 blockers will be ignored"},
	"kubectl scylla force-proceed MEMBER -n NAMESPACE --undo":                                        {"waits", 0, "service/demo-dc1-rack2-1 not forced"},
	// replacement
	"kubectl scylla replace": {"nothing", 2, "specify a node: its Pod"},
	"kubectl scylla replace MEMBER -n NAMESPACE --dry-run=client":                                {"down", 2, "Refused: 3 checks failed (down-for, statefulset, launcher)"},
	"kubectl scylla replace MEMBER -n NAMESPACE":                                                 {"down", 2, "Refused: 3 checks failed (down-for, statefulset, launcher)"},
	"kubectl scylla replace demo-dc1-rack3-0 --from sample:incident --dry-run --skip-check=data": {"nothing", 0, "Replace demo/demo-dc1-rack3-0"},
	"kubectl scylla replace status --from sample:replacement":                                    {"nothing", 3, "Failed demo/demo-dc1-rack3-0"},
	"kubectl scylla replace status -n NAMESPACE":                                                 {"replaced", 0, "Join demo/demo-dc1-rack3-0"},
	"kubectl scylla replace resume MEMBER -n NAMESPACE":                                          {"replaced", 2, "Refused: 2 checks failed (down-for, launcher)"},
	"kubectl scylla replace cancel MEMBER -n NAMESPACE":                                          {"replaced", 2, "too late to cancel"},
	// set up
	"kubectl scylla install --image IMAGE":                                                {server, 0, "Usage:"},
	"kubectl scylla install --image IMAGE --dry-run=client -o yaml > kubectl-scylla.yaml": {"nothing", 0, "kind: Deployment"},
	"kubectl scylla install --image IMAGE --upgrade":                                      {server, 0, "Usage:"},
	"kubectl scylla install --image OLDER-IMAGE --allow-downgrade":                        {server, 0, "Usage:"},
	"kubectl scylla uninstall":                                                            {server, 0, "Usage:"},
	"kubectl scylla inject CLUSTER -n NAMESPACE --image IMAGE":                            {server, 0, "Usage:"},
	"kubectl scylla inject CLUSTER -n NAMESPACE --image IMAGE --dry-run=client":           {server, 0, "Usage:"},
	"kubectl scylla inject CLUSTER -n NAMESPACE --image OLDER-IMAGE":                      {server, 0, "Usage:"},
	"kubectl scylla inject CLUSTER -n NAMESPACE --undo":                                   {server, 0, "Usage:"},
	"kubectl scylla inject -f scylladb.yaml --image IMAGE > guarded.yaml":                 {"nothing", 0, "scylladb-bootstrap-barrier"},
	"kubectl scylla init reset CLUSTER -n NAMESPACE --dry-run":                            {"healthy", 2, "cannot be reset: ScyllaDB is running in demo-dc1-rack1-0"},
	`kubectl scylla init reset CLUSTER -n NAMESPACE --reason "..."`:                       {"healthy", 2, "cannot be reset: ScyllaDB is running in demo-dc1-rack1-0"},
	"kubectl scylla remote add":                                                           {"nothing", 2, "specify a name for the remote Kubernetes cluster"},
	"kubectl scylla report --archive":                                                     {"nothing", 2, "flag needs an argument: --archive"},
}

// TestEveryCommandOfThePagesIsTyped walks through the pages as a person does, command by command.
func TestEveryCommandOfThePagesIsTyped(t *testing.T) {
	manifest, err := os.ReadFile("../docs/examples/scylladb.yaml")
	if err != nil {
		t.Fatal(err)
	}
	waits := plugintest.New(3, 1).Down("demo-dc1-rack3-0")
	waits.Newcomer("dc1", "rack2", 1)
	situations := map[string][]client.Object{
		"nothing": nil, server: nil, "live": plugintest.New(3, 1).Objects(), "healthy": plugintest.New(3, 1).Objects(), "down": plugintest.New(3, 1).Down("demo-dc1-rack3-0").Objects(),
		"waits": waits.Objects(), "replaced": plugintest.New(3, 1).Replacing("demo-dc1-rack3-0").Objects(),
	}
	var commands []string
	for _, page := range []string{"start.md", "on-call.md", "replace-a-node.md", "protect-joins.md"} {
		commands = append(commands, typed(t, page)...)
	}
	for command := range walked {
		if !slices.Contains(commands, command) {
			t.Errorf("no page has %s", command)
		}
	}
	here, err := filepath.Abs("nodetool/testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", here+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("RECORD", t.TempDir())
	t.Chdir(t.TempDir())
	for file, text := range map[string]string{"scylladb.yaml": string(manifest), "scylla.log": "ERROR init - Startup failed: this node has been banned from the cluster\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range commands {
		step, ok := walked[command]
		if !ok {
			t.Errorf("no row types %s", command)
			continue
		}
		member := "demo-dc1-rack3-0"
		if step.in == "waits" {
			member = "demo-dc1-rack2-1"
		}
		line, _, _ := strings.Cut(strings.NewReplacer("KUBERNETES_NODE", "worker-1", "MEMBER", member, "POD", member, "NAMESPACE", "demo", "CLUSTER", "demo", "DATACENTER", "dc1",
			"OLDER-IMAGE", "example.com/scylla-agent:0.9", "IMAGE", "example.com/scylla-agent:1", "FILE", "scylla.log").Replace(command), " > ")
		args := words(line)
		if step.in == server {
			args = append(args, "--help")
		}
		if slices.Contains(args, "--wait") {
			args = append(args, "--timeout=0") // the condition is met at once, or the test fails
		}
		r := plugintest.Run{Args: args[2:], Objects: situations[step.in], Live: answers}.Do(t)
		if r.Code != step.code || !strings.Contains(r.Stdout+r.Stderr, step.want) || step.want == "" {
			t.Errorf("%s: exit %d, want %d and %q\n%.600s%.500s", line, r.Code, step.code, step.want, r.Stdout, r.Stderr)
		}
	}
}

// TestThePluginsOfK9s: each is a command of the plugin that takes these flags, with the Pod, the namespace and the context that k9s gives.
func TestThePluginsOfK9s(t *testing.T) {
	data, err := os.ReadFile("../docs/examples/k9s.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Plugins map[string]struct {
			ShortCut, Description, Command string
			Scopes, Args                   []string
		}
	}
	if err := yaml.UnmarshalStrict(bytes.ReplaceAll(data, []byte("    background: false\n"), nil), &doc); err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	for name, p := range doc.Plugins {
		line := strings.Join(append([]string{p.Command}, p.Args...), " ")
		_, line, _ = strings.Cut(line, "scylla ")
		line, _, _ = strings.Cut(line, " 2>&1")
		r := plugintest.Run{Args: append(strings.Fields(line), "--help")}.Do(t)
		if r.Code != 0 || keys[p.ShortCut] || len(p.Scopes) == 0 || p.Description == "" || !strings.Contains(line, "-n $NAMESPACE --context $CONTEXT") {
			t.Errorf("%s (%s) of %v: exit %d\n%s", name, p.ShortCut, p.Scopes, r.Code, r.Stderr)
		}
		keys[p.ShortCut] = true
	}
	if len(keys) != 4 {
		t.Errorf("%d plugins", len(keys))
	}
}

// TestTheREADMEShowsACheck: the example of check in the README is what is printed.
func TestTheREADMEShowsACheck(t *testing.T) {
	const line = "kubectl scylla check --for=restart demo-dc1-rack3-0 -n demo"
	r := plugintest.Run{Args: words(line)[2:], Objects: plugintest.New(3, 1).Objects(), Live: answers}.Do(t)
	if diff := cmp.Diff(readme.Screen(t, "..", line), r.Stdout); diff != "" {
		t.Errorf("exit %d (-README +printed):\n%s", r.Code, diff)
	}
}

// answers are those of nodes that see each other UP.
func answers(_ context.Context, s *cluster.Cluster, _ kube.LiveOptions) (*cluster.Cluster, error) {
	rows, facts := map[string]*api.NodeStatusReport{}, map[string]cluster.LiveFacts{}
	for i := range s.Pods {
		row := &api.NodeStatusReport{HostID: s.Member(s.Pods[i].Name).HostID, OperationMode: "NORMAL", ScyllaVersion: "2025.2.1", OwnsTokens: new(true)}
		for k := range s.Pods {
			row.ObservedNodes = append(row.ObservedNodes, api.ObservedNodeStatusReport{HostID: s.Member(s.Pods[k].Name).HostID, Status: api.NodeStatusUp})
		}
		rows[s.Pods[i].Name], facts[s.Pods[i].Name] = row, cluster.LiveFacts{Vitals: cluster.Vitals{LoadBytes: new(int64(20 << 30))}}
	}
	return s.WithLive(rows, facts, nil), nil
}

// printed matches a command of kubectl that may be pasted.
var printed = regexp.MustCompile(`\bkubectl( scylla)? [a-z'-][^"\n]*`)

// TestPrintedCommandsWorkWhereTheyArePasted: whatever verb prints a command, in whatever format, it has the flags that were given; on a terminal it stands whole
// on a line of its own, however long; and the context, which is not the current one, is shown.
func TestPrintedCommandsWorkWhereTheyArePasted(t *testing.T) {
	here, err := filepath.Abs("kubectl/testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", here+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("RECORD", t.TempDir())
	const flags = "--context=production-of-the-whole-company --as=ada"
	given := []string{"-n", "demo", "--context", "production-of-the-whole-company", "--as", "ada"}
	c := plugintest.New(3, 1).Down("demo-dc1-rack3-0")
	newcomer := c.Newcomer("dc1", "rack2", 1)
	objects := c.Objects()
	replacing := plugintest.New(3, 1).Replacing("demo-dc1-rack3-0").Objects()
	tty := cli.Terminal{In: true, Out: true, Err: true, Width: 80, Height: 24}
	cases := map[string]struct {
		run     plugintest.Run
		context bool // is shown
		cut     bool // a line that is too long is cut, and a key copies it whole
		prose   bool // commands may stand within a sentence: in an error, or in JSON's text
	}{
		"status":                 {run: plugintest.Run{Args: []string{"status"}, Objects: objects}, context: true},
		"status -o wide":         {run: plugintest.Run{Args: []string{"status", "-o", "wide"}, Objects: objects}, context: true},
		"status -o json":         {run: plugintest.Run{Args: []string{"status", "-o", "json"}, Objects: objects}, context: true, prose: true},
		"status -A -o yaml":      {run: plugintest.Run{Args: []string{"status", "-A", "-o", "yaml"}, Objects: objects}, context: true, prose: true},
		"status of an operation": {run: plugintest.Run{Args: []string{"status"}, Objects: replacing}, context: true},
		"barrier":                {run: plugintest.Run{Args: []string{"barrier", newcomer}, Objects: objects}},
		"barrier -o json":        {run: plugintest.Run{Args: []string{"barrier", newcomer, "-o", "json"}, Objects: objects}, context: true, prose: true},
		"describe":               {run: plugintest.Run{Args: []string{"describe", "rack3/0"}, Objects: objects}},
		"describe -o json":       {run: plugintest.Run{Args: []string{"describe", "rack3/0", "-o", "json"}, Objects: objects}, prose: true},
		"report":                 {run: plugintest.Run{Args: []string{"report"}, Objects: objects}},
		"report -o json":         {run: plugintest.Run{Args: []string{"report", "-o", "json"}, Objects: objects}, context: true, prose: true},
		"dashboard":              {run: plugintest.Run{Args: []string{"dashboard", "--once", "--width", "200", "--height", "60"}, Objects: objects}, context: true, cut: true},
		"nodetool, no start yet": {run: plugintest.Run{Args: []string{"nodetool", newcomer, "info"}, Objects: objects}, prose: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.run.Args, tc.run.Terminal = append(tc.run.Args, given...), tty
			tc.run.Environ = []string{"TERM=xterm-256color", "NO_COLOR=1"}
			r := tc.run.Do(t)
			text := ansi.Strip(r.Stdout + r.Stderr)
			commands := 0
			for _, line := range strings.Split(text, "\n") {
				for _, command := range printed.FindAllString(line, -1) {
					if strings.Contains(command, " --help") || strings.Contains(command, "kubectl-scylla") || strings.Contains(line, " text: '") {
						continue // YAML folds sentences; the command is in "shell", too
					}
					commands++
					if !strings.Contains(command, flags) {
						t.Errorf("it lacks the flags: %s", line)
					}
					if before, _, _ := strings.Cut(line, command); !tc.prose && strings.Trim(before, " →│•") != "" && !strings.Contains(before, "│") {
						t.Errorf("it does not stand on a line of its own: %s", line)
					}
					if whole := strings.Contains(command, "-n demo") || tc.cut && strings.HasSuffix(command, "…"); !tc.prose && !whole {
						t.Errorf("it is not whole: %s", line)
					}
				}
			}
			if commands == 0 {
				t.Errorf("no command is printed:\n%s", text)
			}
			shown := "context production-of-the-whole-company"
			if strings.HasPrefix(strings.TrimSpace(r.Stdout), "{") {
				shown = `"context": "production-of-the-whole-company"`
			}
			if strings.Contains(fmt.Sprint(tc.run.Args), "yaml") {
				shown = "context: production-of-the-whole-company"
			}
			if tc.context && !strings.Contains(text, shown) {
				t.Errorf("the context is not shown:\n%s", text)
			}
		})
	}
}

// TestPrintedCommandsReadTheSavedObjectsAgain: a screen of saved objects never sends to a running cluster.
func TestPrintedCommandsReadTheSavedObjectsAgain(t *testing.T) {
	reads := regexp.MustCompile(`kubectl scylla (status|barrier|describe|report|dashboard|replace status)\b`)
	for _, args := range [][]string{
		{"status"}, {"status", "-A"}, {"status", "-o", "wide"}, {"status", "-o", "json"}, {"barrier"}, {"barrier", "rack2/1"}, {"barrier", "rack2/1", "-o", "json"},
		{"describe", "rack2/1"}, {"describe", "rack3/0"}, {"describe", "rack3/0", "-o", "json"}, {"report"}, {"describe", "no-such-member"},
		{"dashboard", "--once", "--width", "200", "--height", "60"}, {"replace", "status"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			r := plugintest.Run{Args: append(args, "--from", "sample:incident"), Environ: []string{"NO_COLOR=1"}}.Do(t)
			for _, line := range strings.Split(ansi.Strip(r.Stdout+r.Stderr), "\n") {
				if reads.MatchString(line) && !strings.Contains(line, "--from sample:incident") && !strings.Contains(line, "…") {
					t.Errorf("it reads the running cluster: %s", line)
				}
			}
		})
	}
	r := plugintest.Run{Args: []string{"barrier", "--from", "sample:incident"}}.Do(t)
	if want := "kubectl scylla describe demo-dc1-rack3-0 -n demo --from sample:incident"; !strings.Contains(r.Stdout, want) {
		t.Errorf("%q is missing:\n%s", want, r.Stdout)
	}
}
