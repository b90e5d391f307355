// SPDX-License-Identifier: Apache-2.0

package nodetool_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

const member, address = "demo-dc1-rack3-0", "10.0.3.7"

// recorded puts the kubectl of testdata on PATH, and returns what it was run with for a Pod: nil where it was not.
func recorded(t *testing.T) func(pod string) []string {
	t.Helper()
	here, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("PATH", here+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("RECORD", dir)
	return func(pod string) []string {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, pod))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			t.Fatal(err)
		}
		all := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
		for i, a := range all {
			if strings.HasPrefix(a, "--kubeconfig=") {
				all[i] = "--kubeconfig"
			}
		}
		return all
	}
}

// objects are a cluster of three nodes, and a newcomer that waits at its barrier.
func objects() []client.Object {
	c := plugintest.New(3, 1)
	c.Newcomer("dc1", "rack2", 1)
	c.Pod(member).Status.PodIP = address
	return c.Objects()
}

func TestHandsOver(t *testing.T) {
	terminal, pipe := cli.Terminal{In: true, Out: true, Width: 80, Height: 24}, cli.Terminal{In: true}
	id := plugintest.New(3, 1).Node(member).HostID
	runs := func(args ...string) []string {
		return append([]string{"exec", "--kubeconfig", "--namespace=demo", "--container=" + api.ContainerScyllaDB, member, "--", "nodetool"}, args...)
	}
	for name, c := range map[string]struct {
		args     string
		terminal cli.Terminal
		want     []string
	}{
		"a Pod's name":       {args: "demo-dc1-rack3-0 -- info", want: runs("info")},
		"pod/NAME":           {args: "pod/demo-dc1-rack3-0 -- info", want: runs("info")},
		"rack/ordinal":       {args: "rack3/0 -- info", want: runs("info")},
		"an IP address":      {args: address + " -- info", want: runs("info")},
		"a host ID":          {args: id + " -- info", want: runs("info")},
		"a host ID's prefix": {args: id[:4] + " -- info", want: runs("info")},
		"without --":         {args: "rack3/0 info", want: runs("info")},
		"flags of a command": {args: "rack3/0 -- status -r --all -n x", want: runs("status", "-r", "--all", "-n", "x")},
		"into a pipe":        {args: "rack3/0 -- info", terminal: pipe, want: runs("info")},
		"on a terminal":      {args: "rack3/0 -- info", terminal: terminal, want: slices.Concat([]string{"exec", "--stdin", "--tty"}, runs("info", "stdin: typed")[1:])},
		"flags of kubectl": {args: "rack3/0 --context=prod --as=ada --as-group=a --as-group=b,c --as-user-extra=k=v --token=secret --request-timeout=5s --insecure-skip-tls-verify --color=never -- info",
			want: []string{"exec", "--as=ada", "--as-group=a", "--as-group=b,c", "--as-user-extra=k=v", "--context=prod", "--insecure-skip-tls-verify=true", "--request-timeout=5s", "--kubeconfig", "--user=kubectl-scylla",
				"--namespace=demo", "--container=" + api.ContainerScyllaDB, member, "--", "nodetool", "info"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := recorded(t)
			res := plugintest.Run{Args: append([]string{"nodetool", "-n", "demo"}, strings.Fields(c.args)...), Objects: objects(), Stdin: "typed", Terminal: c.terminal}.Do(t)
			if diff := cmp.Diff(c.want, got(member)); diff != "" || res.Code != 0 {
				t.Errorf("exit %d: %s\n(-want +got):\n%s", res.Code, res.Stderr, diff)
			}
			if want := "one of " + member + "\ntwo \x1b[31mred"; res.Stdout != want || res.Stderr != "beside\n" {
				t.Errorf("stdout %q, stderr %q", res.Stdout, res.Stderr)
			}
		})
	}
}

// The arguments of a process are visible to all users of the machine: a token is passed in a file that only this user can read, and that does not outlive kubectl.
func TestTheTokenIsNoArgument(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	config := filepath.Join(t.TempDir(), "config")
	const text = `{"apiVersion":"v1","kind":"Config","current-context":"test","clusters":[{"name":"c","cluster":{"server":"https://a.example"}}],
"contexts":[{"name":"test","context":{"cluster":"c","user":"ada"}},{"name":"bare","context":{"cluster":"c"}}],"users":[{"name":"ada","user":{"tokenFile":"/nowhere","as":"bob"}},{"name":"eve","user":{"token":"other"}}]}`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ flags, user string }{
		"of the context":    {"", "ada"},
		"given":             {"--user=eve", "eve"},
		"a context without": {"--context=bare", "kubectl-scylla"},
		"a named context":   {"--context=test", "ada"},
	} {
		t.Run(name, func(t *testing.T) {
			got := recorded(t)
			args := slices.Concat([]string{"nodetool", "rack3/0", "-n", "demo", "--kubeconfig", config, "--token=s3cret"}, strings.Fields(c.flags), []string{"--", "info"})
			r := plugintest.Run{Args: args, Objects: objects()}.Do(t)
			all := strings.Join(got(member), " ")
			if r.Code != 0 || strings.Contains(all, "s3cret") || !strings.Contains(all, "--user="+c.user) || strings.Count(all, "--kubeconfig") != 1 {
				t.Errorf("exit %d: %s\n%s", r.Code, all, r.Stderr)
			}
			b, err := os.ReadFile(filepath.Join(os.Getenv("RECORD"), member+".kubeconfig"))
			if err != nil {
				t.Fatal(err)
			}
			mode, rest, _ := strings.Cut(string(b), "\n")
			kubeconfig, err := clientcmd.Load([]byte(rest))
			if err != nil {
				t.Fatal(err)
			}
			user := kubeconfig.AuthInfos[c.user]
			if mode != "-rw-------" || user == nil || user.Token != "s3cret" || user.TokenFile != "" || c.user == "ada" && user.Impersonate != "bob" || kubeconfig.Clusters["c"].Server != "https://a.example" {
				t.Errorf("mode %s, user %+v", mode, user)
			}
			if left, err := filepath.Glob(filepath.Join(temp, "kubectl-scylla-*")); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

// ScyllaDB's container is known by more than its name.
func TestAContainerOfAnotherName(t *testing.T) {
	c := plugintest.New(3, 1)
	pod := c.Pod(member)
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == api.ContainerScyllaDB {
			pod.Spec.Containers[i].Name, pod.Spec.Containers[i].Image = "db", "docker.io/scylladb/scylla:2026.1"
			pod.Status.ContainerStatuses[i].Name = "db"
		}
	}
	got := recorded(t)
	res := plugintest.Run{Args: []string{"nodetool", "rack3/0", "-n", "demo", "--", "info"}, Objects: c.Objects()}.Do(t)
	if res.Code != 0 || !slices.Contains(got(member), "--container=db") {
		t.Errorf("exit %d, %q: %s", res.Code, got(member), res.Stderr)
	}
}

func TestRefusals(t *testing.T) {
	two := append(objects(), plugintest.NewNamed("demo", "other", "dc1", 3, 1).Objects()...)
	noPod := plugintest.New(3, 1)
	withoutPod := slices.DeleteFunc(noPod.Objects(), func(o client.Object) bool { return o == client.Object(noPod.Pod(member)) })
	unknown := plugintest.New(3, 1)
	pod := unknown.Pod(member)
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; c.Name == api.ContainerScyllaDB {
			c.Name, c.Image, c.Command, c.Ports = "db", "registry.example.com/db:1", nil, nil
			pod.Status.ContainerStatuses[i].Name = "db"
		}
	}
	for name, c := range map[string]struct {
		args, says string
		objects    []client.Object
	}{
		"nobody":              {args: "-- info", says: "specify a member: kubectl scylla nodetool (MEMBER | --all) -- COMMAND [ARGS...]"},
		"nothing to run":      {args: "rack3/0", says: "specify a command after --"},
		"nothing to run, all": {args: "--all", says: "specify a command after --"},
		"two members":         {args: "rack3/0 rack1/0 -- info", says: `unexpected argument "rack1/0"`},
		"one and all":         {args: "rack3/0 --all -- info", says: `unexpected argument "rack3/0"`},
		"an unknown member":   {args: "rack9/0 -- info", says: `no member "rack9/0" in cluster demo/demo`},
		"an ambiguous prefix": {args: plugintest.HostID(0)[:8] + " -- info", says: "other-dc1-rack1-0 of demo/other", objects: two},
		"an ambiguous place":  {args: "rack1/0 -- info", says: "other-dc1-rack1-0 of demo/other", objects: two},
		"one without a Pod":   {args: "rack3/0 -- info", says: "member demo/demo-dc1-rack3-0 has no Pod", objects: withoutPod},
		"one that waits": {args: "rack2/1 -- info",
			says: "member demo/demo-dc1-rack2-1 does not run ScyllaDB: it waits for init container " + api.ContainerBarrier},
		"no known container":  {args: "rack3/0 -- info", says: "member demo/demo-dc1-rack3-0 does not run ScyllaDB", objects: unknown.Objects()},
		"a host ID of nobody": {args: plugintest.HostID(77) + " -- info", says: "no member"},
	} {
		t.Run(name, func(t *testing.T) {
			recorded(t)
			run := plugintest.Run{Args: append([]string{"nodetool", "-n", "demo"}, strings.Fields(c.args)...), Objects: objects()}
			if c.objects != nil {
				run.Objects = c.objects
			}
			res := run.Do(t)
			if ran, err := os.ReadDir(os.Getenv("RECORD")); res.Code != 2 || !strings.Contains(res.Stderr, c.says) || len(ran) > 0 || err != nil {
				t.Errorf("exit %d, ran %v, want 2 and %q:\n%s", res.Code, ran, c.says, res.Stderr)
			}
		})
	}
}

// One error, before anything is asked, however many nodes there are.
func TestWithoutKubectl(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, args := range []string{"nodetool rack3/0 -n demo -- info", "nodetool --all -n demo -- decommission"} {
		res := plugintest.Run{Args: strings.Fields(args), Objects: plugintest.New(3, 1).Down(member).Objects()}.Do(t)
		if want := "error: kubectl not found in PATH: it runs this command\ninstall kubectl, or add its directory to PATH\n"; res.Code != 2 || res.Stderr != want || res.Stdout != "" {
			t.Errorf("%s: %+v", args, res)
		}
	}
}

// TestNoHarm12TopologyCommandsAsk: nodetool decommission ran at once, whatever the status says.
func TestNoHarm12TopologyCommandsAsk(t *testing.T) {
	id := plugintest.New(3, 1).Node(member).HostID
	for name, c := range map[string]struct {
		healthy bool
		flags   []string
		command []string
		answer  string
		asks    string // part of what is shown before the question; empty for no question
		runs    bool
	}{
		"status":                          {command: []string{"status"}, runs: true},
		"removenode status":               {command: []string{"removenode", "status"}, runs: true},
		"decommission":                    {command: []string{"decommission"}, asks: member + " DOWN"},
		"decommission, yes":               {command: []string{"decommission"}, answer: "yes\n", asks: member + " DOWN", runs: true},
		"decommission, no":                {command: []string{"decommission"}, answer: "no\n", asks: member + " DOWN"},
		"decommission, -y":                {flags: []string{"-y"}, command: []string{"decommission"}, runs: true},
		"decommission, all UP":            {healthy: true, command: []string{"decommission"}, runs: true},
		"rebuild":                         {command: []string{"rebuild", "dc2"}, asks: member + " DOWN"},
		"drain":                           {command: []string{"drain"}, asks: member + " DOWN"},
		"stopdaemon":                      {command: []string{"stopdaemon"}, asks: member + " DOWN"},
		"drain, all UP":                   {healthy: true, command: []string{"drain"}, runs: true},
		"removenode of a member, all UP":  {healthy: true, command: []string{"removenode", id}, asks: "host ID " + id + " belongs to member " + member},
		"excludenode of a member, all UP": {healthy: true, command: []string{"excludenode", id}, asks: "belongs to member " + member},
		"removenode of nobody, all UP":    {healthy: true, command: []string{"removenode", plugintest.HostID(77)}, asks: "must not be removed"},
	} {
		t.Run(name, func(t *testing.T) {
			got := recorded(t)
			cl := plugintest.New(3, 1)
			if !c.healthy {
				cl.Down(member)
			}
			args := slices.Concat([]string{"nodetool", "rack1/0", "-n", "demo"}, c.flags, []string{"--"}, c.command)
			res := plugintest.Run{Args: args, Objects: cl.Objects(), Stdin: c.answer, Terminal: cli.Terminal{In: c.answer != ""}}.Do(t)
			if ran := got("demo-dc1-rack1-0") != nil; ran != c.runs || res.Code != map[bool]int{true: 0, false: 2}[c.runs] {
				t.Errorf("ran: %v, exit %d, want %v: %s", ran, res.Code, c.runs, res.Stderr)
			}
			if asked := strings.Contains(res.Stderr, "anyway?") || strings.Contains(res.Stderr, "cannot ask for confirmation"); asked != (c.asks != "") || !strings.Contains(res.Stderr, c.asks) {
				t.Errorf("asked: %v, want %q: %s", asked, c.asks, res.Stderr)
			}
		})
	}
}

// TestNoHarm46OnAllNodesAsk: drain ran on every node at once, because it harms none of them alone.
func TestNoHarm46OnAllNodesAsk(t *testing.T) {
	names := []string{"demo-dc1-rack1-0", "demo-dc1-rack2-0", "demo-dc1-rack3-0"}
	for name, c := range map[string]struct {
		args   string
		answer string
		one    bool // the cluster has one node
		asks   bool
		runs   bool
	}{
		"status":                {args: "--all -- status", runs: true},
		"repair":                {args: "--all -- repair -pr", runs: true},
		"decommission":          {args: "--all -- decommission", asks: true},
		"rebuild":               {args: "--all -- rebuild dc2", asks: true},
		"drain":                 {args: "--all -- drain", asks: true},
		"stopdaemon":            {args: "--all -- stopdaemon", asks: true},
		"disablebinary":         {args: "--all -- disablebinary", asks: true},
		"disablegossip":         {args: "--all -- -p 7199 disablegossip", asks: true},
		"drain, yes":            {args: "--all -- drain", answer: "yes\n", asks: true, runs: true},
		"drain, no":             {args: "--all -- drain", answer: "no\n", asks: true},
		"drain, -y":             {args: "--all -y -- drain", runs: true},
		"drain of the one node": {args: "--all -- drain", one: true, runs: true},
	} {
		t.Run(name, func(t *testing.T) {
			got := recorded(t)
			nodes := names
			if c.one {
				nodes = names[:1]
			}
			res := plugintest.Run{Args: append([]string{"nodetool", "-n", "demo"}, strings.Fields(c.args)...), Objects: plugintest.New(len(nodes), 1).Objects(), Stdin: c.answer, Terminal: cli.Terminal{In: c.answer != ""}}.Do(t)
			for _, n := range nodes {
				if ran := got(n) != nil; ran != c.runs || res.Code != map[bool]int{true: 0, false: 2}[c.runs] {
					t.Errorf("ran on %s: %v, exit %d, want %v: %s", n, ran, res.Code, c.runs, res.Stderr)
				}
			}
			asked := strings.Contains(res.Stderr, "Run nodetool ") || strings.Contains(res.Stderr, "cannot ask for confirmation")
			if asked != c.asks || c.asks && !strings.Contains(res.Stderr, "at once: "+strings.Join(names[:2], ", ")) {
				t.Errorf("asked: %v, want %v: %s", asked, c.asks, res.Stderr)
			}
		})
	}
}

func TestTheExitCodeIsKubectls(t *testing.T) {
	recorded(t)
	t.Setenv("ENDS", member+"=42")
	args := []string{"nodetool", "rack3/0", "-n", "demo", "--", "status"}
	if res := (plugintest.Run{Args: args, Objects: objects()}).Do(t); res.Code != 42 || res.Stderr != "beside\n" {
		t.Errorf("exit %d: %q", res.Code, res.Stderr)
	}
}

func TestOnAll(t *testing.T) {
	got := recorded(t)
	t.Setenv("ENDS", "demo-dc1-rack2-0=3")
	res := plugintest.Run{Args: []string{"nodetool", "--all", "-n", "demo", "--", "status"}, Objects: objects(), Terminal: cli.Terminal{In: true, Out: true}}.Do(t)
	lines := strings.Split(strings.TrimSuffix(res.Stdout, "\n"), "\n")
	slices.Sort(lines)
	var want []string
	for _, m := range []string{"demo-dc1-rack1-0", "demo-dc1-rack2-0", "demo-dc1-rack3-0"} {
		want = append(want, m+" | one of "+m, m+" | two  [31mred")
		if diff := cmp.Diff([]string{"exec", "--kubeconfig", "--namespace=demo", "--container=" + api.ContainerScyllaDB, m, "--", "nodetool", "status"}, got(m)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", m, diff)
		}
		if !strings.Contains(res.Stderr, m+" | beside\n") {
			t.Errorf("the standard error of %s is missing: %s", m, res.Stderr)
		}
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if res.Code != 1 || !strings.Contains(res.Stderr, "error: 2 of 4 nodes failed: demo-dc1-rack2-0: exit status 3; demo-dc1-rack2-1: member demo/demo-dc1-rack2-1 does not run ScyllaDB") {
		t.Errorf("exit %d: %s", res.Code, res.Stderr)
	}
	t.Setenv("ENDS", "")
	if res := (plugintest.Run{Args: []string{"nodetool", "--all", "-n", "demo", "--", "info"}, Objects: plugintest.New(2, 1).Objects()}).Do(t); res.Code != 0 {
		t.Errorf("every node ran it: %+v", res)
	}
}

// onText ends a context at the first thing written.
type onText struct{ end func() }

func (w onText) Write(p []byte) (int, error) {
	w.end()
	return len(p), nil
}

func TestCtrlCEndsIt(t *testing.T) {
	recorded(t)
	t.Setenv("HANGS", "yes")
	silent, keep, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer keep.Close()
	defer silent.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	res := plugintest.Run{Args: []string{"nodetool", "rack3/0", "-n", "demo", "--", "repair"}, Objects: objects(), In: silent, Stdout: onText{cancel}}.DoContext(ctx, t)
	if res.Code != 130 || !strings.Contains(res.Stderr, "interrupted") {
		t.Errorf("exit %d: %s", res.Code, res.Stderr)
	}
}
