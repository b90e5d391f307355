// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/scenario"
)

// execs runs commands in real containers through a real kubelet: the member in any form, streams, terminal, exit code, Ctrl-C, several nodes.
func (f *fixture) execs() {
	f.t.Helper()
	t := f.t
	member := rack2 + "-0"

	for _, form := range []string{member, "pod/" + member, "rack2/0", f.hostID(member), f.hostID(member)[:8], f.pod(member).Status.PodIP} {
		if r := f.plugin("nodetool", form, "info"); r.Code != 0 || !strings.Contains(r.Stdout, f.hostID(member)) {
			t.Errorf("nodetool %s info: exit %d\n%s%s", form, r.Code, r.Stdout, r.Stderr)
		}
	}
	if r := f.plugin("nodetool", "rack9/9", "info"); r.Code != 2 || !strings.Contains(r.Stderr, `no member "rack9/9"`) {
		t.Errorf("an unknown member: exit %d\n%s", r.Code, r.Stderr)
	}

	run := func(stdin string, args ...string) scenario.Result {
		ctx, cancel := context.WithTimeout(f.ctx, patience)
		defer cancel()
		cmd := f.command(ctx, args...)
		var out, errs strings.Builder
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
		_ = cmd.Run() // how it ended is in its state
		return scenario.Result{Stdout: out.String(), Stderr: errs.String(), Code: cmd.ProcessState.ExitCode()}
	}
	if r := run("", "exec", member, "--", "bash", "-c", "echo out; echo err >&2; exit 7"); r.Code != 7 || r.Stdout != "out\n" || !strings.HasPrefix(r.Stderr, "err\n") {
		t.Errorf("exit 7: %d, stdout %q, stderr %q", r.Code, r.Stdout, r.Stderr)
	}
	if r := run("hello\n", "exec", member, "-i", "--", "bash", "-c", "cat"); r.Code != 0 || r.Stdout != "hello\n" {
		t.Errorf("standard input: exit %d, %q\n%s", r.Code, r.Stdout, r.Stderr)
	}
	if r := run("DESCRIBE KEYSPACES;", "cqlsh", member); r.Code != 0 || !strings.Contains(r.Stdout, "system") {
		t.Errorf("cqlsh reads standard input: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}

	// Every node, each line with its member.
	r := f.plugin("nodetool", "--all", "info")
	for _, m := range []string{rack1 + "-0", member, rack3 + "-0"} {
		if !strings.Contains(r.Stdout, m+" | ID                     : "+f.hostID(m)) {
			t.Errorf("nodetool --all info: exit %d, and nothing of %s:\n%s%s", r.Code, m, r.Stdout, r.Stderr)
		}
	}
	if r := f.plugin("logs", member, "--tail", "1"); r.Code != 0 || strings.Count(r.Stdout, "\n") != 1 {
		t.Errorf("logs: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}

	// A terminal of its own: typed text comes back twice, by the terminal and by cat; then Ctrl-D.
	ctx, cancel := context.WithTimeout(f.ctx, patience)
	defer cancel()
	cmd := f.command(ctx, "exec", member, "--", "bash", "-c", "echo ready; cat; exit 5")
	screen, err := inTerminal(ctx, cmd, "ready", func() string { return "ping\r\x04" })
	if strings.Count(screen, "ping") != 2 || cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 5 {
		t.Errorf("in a terminal: %v, %v\n%s", err, cmd.ProcessState, screen)
	}
	// Ctrl-C goes to the command there, and ends it.
	began := time.Now()
	cmd = f.command(ctx, "exec", member, "--", "bash", "-c", "echo asleep; sleep 3600")
	screen, err = inTerminal(ctx, cmd, "asleep", func() string { return ctrlC })
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() <= 0 || ctx.Err() != nil {
		t.Errorf("Ctrl-C in a terminal after %s: %v, %v\n%s", time.Since(began), err, cmd.ProcessState, screen)
	}
}

// command is the plugin with the cluster's kubeconfig and namespace.
func (f *fixture) command(ctx context.Context, args ...string) *exec.Cmd {
	dash := slices.Index(args, "--")
	if dash < 0 {
		dash = len(args)
	}
	args = slices.Insert(slices.Clone(args), dash, "-n", f.namespace)
	cmd := exec.CommandContext(ctx, f.Images.Plugin, args...)
	cmd.Env, cmd.WaitDelay = append(f.Cluster.KubectlEnviron(), "KUBECONFIG="+f.Cluster.Kubeconfig(), "TERM=xterm-256color"), time.Minute
	return cmd
}
