// SPDX-License-Identifier: Apache-2.0

package exec_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/plugintest"
)

// ran is what the API server was asked to run.
type ran struct {
	Where   string
	Command []string
	Stdin   string
	TTY     bool
}

// nodes answer a command as containers would.
type nodes struct {
	mu  sync.Mutex
	ran []ran
	end func(pod string) error
}

func (n *nodes) exec(_ context.Context, e kube.Exec) error {
	r := ran{Where: e.Namespace + "/" + e.Pod + "/" + e.Container, Command: e.Command, TTY: e.TTY}
	if e.Stdin != nil {
		b, err := io.ReadAll(e.Stdin)
		if err != nil {
			return err
		}
		r.Stdin = string(b)
	}
	n.mu.Lock()
	n.ran = append(n.ran, r)
	n.mu.Unlock()
	_, _ = fmt.Fprintf(e.Stdout, "one of %s\ntwo \x1b[31mred", e.Pod)
	if n.end != nil {
		return n.end(e.Pod)
	}
	return nil
}

func (n *nodes) run(args ...string) plugintest.Run {
	c := plugintest.New(3, 1)
	c.Newcomer("dc1", "rack2", 1)
	return plugintest.Run{Args: append(args, "-n", "demo"), Objects: c.Objects(), Setup: func(d *cli.Deps) {
		d.Exec = n.exec
		d.Raw = func() (func(), error) { return func() {}, nil }
	}}
}

// before puts the flags before the --, where they are ours.
func before(r plugintest.Run, command ...string) plugintest.Run {
	r.Args = append(append(r.Args, "--"), command...)
	return r
}

func TestOnOneMember(t *testing.T) {
	const where = "demo/demo-dc1-rack3-0/" + api.ContainerScyllaDB
	cases := map[string]struct {
		run  func(*nodes) plugintest.Run
		want ran
	}{
		"exec":               {func(n *nodes) plugintest.Run { return before(n.run("exec", "rack3/0"), "df", "-h") }, ran{Where: where, Command: []string{"df", "-h"}}},
		"exec without --":    {func(n *nodes) plugintest.Run { return n.run("exec", "rack3/0", "hostname") }, ran{Where: where, Command: []string{"hostname"}}},
		"exec with input":    {func(n *nodes) plugintest.Run { return input(before(n.run("exec", "rack3/0", "-i"), "cat"), "hello") }, ran{Where: where, Command: []string{"cat"}, Stdin: "hello"}},
		"exec leaves input":  {func(n *nodes) plugintest.Run { return input(before(n.run("exec", "rack3/0"), "cat"), "hello") }, ran{Where: where, Command: []string{"cat"}}},
		"exec on a terminal": {func(n *nodes) plugintest.Run { return terminal(before(n.run("exec", "rack3/0"), "bash"), true) }, ran{Where: where, Command: []string{"bash"}, Stdin: "typed", TTY: true}},
		"exec into a pipe":   {func(n *nodes) plugintest.Run { return terminal(before(n.run("exec", "rack3/0"), "df"), false) }, ran{Where: where, Command: []string{"df"}}},
		"exec elsewhere": {func(n *nodes) plugintest.Run {
			return before(n.run("exec", "rack3/0", "-c", api.ContainerReporter), "id")
		}, ran{Where: "demo/demo-dc1-rack3-0/" + api.ContainerReporter, Command: []string{"id"}}},
		"nodetool":               {func(n *nodes) plugintest.Run { return before(n.run("nodetool", "rack3/0"), "status", "-r") }, ran{Where: where, Command: []string{"nodetool", "status", "-r"}}},
		"cqlsh alone":            {func(n *nodes) plugintest.Run { return input(n.run("cqlsh", "rack3/0"), "SELECT 1;") }, ran{Where: where, Command: []string{"cqlsh"}, Stdin: "SELECT 1;"}},
		"cqlsh with a statement": {func(n *nodes) plugintest.Run { return before(n.run("cqlsh", "rack3/0"), "-e", "SELECT 1") }, ran{Where: where, Command: []string{"cqlsh", "-e", "SELECT 1"}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			n := &nodes{}
			res := c.run(n).Do(t)
			if diff := cmp.Diff([]ran{c.want}, n.ran); diff != "" || res.Code != 0 {
				t.Errorf("exit %d: %s\n(-want +got):\n%s", res.Code, res.Stderr, diff)
			}
			if !strings.HasPrefix(res.Stdout, "one of demo-dc1-rack3-0\n") {
				t.Errorf("stdout %q", res.Stdout)
			}
		})
	}
}

// TestNoHarm12TopologyCommandsAsk: nodetool decommission ran at once, whatever the status says.
func TestNoHarm12TopologyCommandsAsk(t *testing.T) {
	const down = "demo-dc1-rack3-0"
	id := plugintest.New(3, 1).Node(down).HostID
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
		"decommission":                    {command: []string{"decommission"}, asks: down + " is DOWN"},
		"decommission, yes":               {command: []string{"decommission"}, answer: "yes\n", asks: down + " is DOWN", runs: true},
		"decommission, -y":                {flags: []string{"-y"}, command: []string{"decommission"}, runs: true},
		"decommission, all UP":            {healthy: true, command: []string{"decommission"}, runs: true},
		"rebuild":                         {command: []string{"rebuild", "dc2"}, asks: down + " is DOWN"},
		"removenode of a member, all UP":  {healthy: true, command: []string{"removenode", id}, asks: "is that of member " + down},
		"excludenode of a member, all UP": {healthy: true, command: []string{"excludenode", id}, asks: "is that of member " + down},
	} {
		t.Run(name, func(t *testing.T) {
			n := &nodes{}
			r := before(n.run(append([]string{"nodetool", "rack1/0"}, c.flags...)...), c.command...)
			cl := plugintest.New(3, 1)
			if !c.healthy {
				cl.Down(down)
			}
			r.Objects, r.Stdin, r.Terminal = cl.Objects(), c.answer, cli.Terminal{In: c.answer != ""}
			res := r.Do(t)
			if ran := len(n.ran) > 0; ran != c.runs || res.Code != map[bool]int{true: 0, false: 2}[c.runs] {
				t.Errorf("ran: %v, exit %d, want %v: %s", ran, res.Code, c.runs, res.Stderr)
			}
			if asked := strings.Contains(res.Stderr, "all the same?") || strings.Contains(res.Stderr, "not confirmed"); asked != (c.asks != "") || !strings.Contains(res.Stderr, c.asks) {
				t.Errorf("asked: %v, want %q: %s", asked, c.asks, res.Stderr)
			}
		})
	}
}

func input(r plugintest.Run, text string) plugintest.Run {
	r.Stdin = text
	return r
}

func terminal(r plugintest.Run, out bool) plugintest.Run {
	r.Terminal, r.Stdin = cli.Terminal{In: true, Out: out, Width: 80, Height: 24}, "typed"
	return r
}

func TestTheExitCodeIsTheCommands(t *testing.T) {
	n := &nodes{end: func(string) error { return &kube.ExitError{Code: 42} }}
	res := before(n.run("nodetool", "rack3/0"), "status").Do(t)
	if res.Code != 42 || !strings.Contains(res.Stderr, "the command on demo-dc1-rack3-0 ended with exit code 42") {
		t.Errorf("exit %d: %s", res.Code, res.Stderr)
	}
}

func TestOnSeveral(t *testing.T) {
	n := &nodes{end: func(pod string) error {
		if pod == "demo-dc1-rack2-0" {
			return &kube.ExitError{Code: 3}
		}
		return nil
	}}
	run := before(n.run("nodetool", "--all"), "status")
	run.Terminal = cli.Terminal{Out: true}
	res := run.Do(t)
	lines := strings.Split(strings.TrimSuffix(res.Stdout, "\n"), "\n")
	slices.Sort(lines)
	want := []string{
		"demo-dc1-rack1-0 | one of demo-dc1-rack1-0", "demo-dc1-rack1-0 | two  [31mred",
		"demo-dc1-rack2-0 | one of demo-dc1-rack2-0", "demo-dc1-rack2-0 | two  [31mred",
		"demo-dc1-rack3-0 | one of demo-dc1-rack3-0", "demo-dc1-rack3-0 | two  [31mred",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if res.Code != 1 || !strings.Contains(res.Stderr, "2 of 4 nodes failed: demo-dc1-rack2-0: exit code 3; demo-dc1-rack2-1: container "+api.ContainerScyllaDB+" of demo/demo-dc1-rack2-1 does not run") {
		t.Errorf("exit %d: %s", res.Code, res.Stderr)
	}
	n = &nodes{}
	if res := before(n.run("exec", "-l", api.LabelRack+"=rack1"), "true").Do(t); res.Code != 0 || len(n.ran) != 1 || !strings.HasPrefix(res.Stdout, "demo-dc1-rack1-0 | ") {
		t.Errorf("by a label: exit %d, %v: %s%s", res.Code, n.ran, res.Stdout, res.Stderr)
	}
}

func TestRefusals(t *testing.T) {
	cases := map[string]struct {
		run  func(*nodes) plugintest.Run
		says string
	}{
		"nobody":               {func(n *nodes) plugintest.Run { return before(n.run("exec"), "df") }, "name a member, or choose several with --all or --selector"},
		"nothing to run":       {func(n *nodes) plugintest.Run { return n.run("exec", "rack3/0") }, "say what to run after --: kubectl scylla exec rack3/0 -- ..."},
		"nodetool alone":       {func(n *nodes) plugintest.Run { return n.run("nodetool", "rack3/0") }, "say what to run after --"},
		"two members":          {func(n *nodes) plugintest.Run { return before(n.run("exec", "rack3/0", "rack1/0"), "df") }, `"rack1/0" is one too many`},
		"one and all":          {func(n *nodes) plugintest.Run { return before(n.run("exec", "rack3/0", "--all"), "df") }, `"rack3/0" is before the --`},
		"input for several":    {func(n *nodes) plugintest.Run { return before(n.run("exec", "--all", "-i"), "df") }, "standard input can be read once"},
		"an unknown member":    {func(n *nodes) plugintest.Run { return before(n.run("nodetool", "rack9/0"), "info") }, `no member "rack9/0" in cluster demo/demo`},
		"an unknown container": {func(n *nodes) plugintest.Run { return before(n.run("exec", "rack3/0", "-c", "x"), "id") }, `Pod demo/demo-dc1-rack3-0 has no container "x"`},
		"one that waits":       {func(n *nodes) plugintest.Run { return before(n.run("exec", "rack2/1"), "id") }, "does not run: it waits for init container " + api.ContainerBarrier},
		"labels of nobody":     {func(n *nodes) plugintest.Run { return before(n.run("exec", "-l", "a=b"), "id") }, "no Pod of ScyllaDB in namespace demo carries labels a=b"},
		"no selector":          {func(n *nodes) plugintest.Run { return before(n.run("exec", "-l", "a=(b"), "id") }, "read --selector"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			n := &nodes{}
			res := c.run(n).Do(t)
			if res.Code != 2 || !strings.Contains(res.Stderr, c.says) || len(n.ran) > 0 {
				t.Errorf("exit %d, ran %v, want 2 and %q:\n%s", res.Code, n.ran, c.says, res.Stderr)
			}
		})
	}
}

func TestCtrlCEndsIt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := &nodes{end: func(string) error {
		cancel()
		return ctx.Err()
	}}
	if res := before(n.run("exec", "rack3/0"), "sleep", "60").DoContext(ctx, t); res.Code != 130 {
		t.Errorf("exit %d: %s", res.Code, res.Stderr)
	}
}
