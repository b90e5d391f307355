// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os/exec"
	"strings"
	"time"
)

// theVerbNodetool runs nodetool in real containers through a real kubelet: the member in any form, streams, terminal, exit code, several nodes.
func (f *fixture) theVerbNodetool() {
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

	if r := f.plugin("nodetool", member, "nosuch"); r.Code != 1 || r.Stdout != "" || !strings.Contains(r.Stderr, "nosuch") {
		t.Errorf("nodetool nosuch: exit %d, stdout %q, stderr %q", r.Code, r.Stdout, r.Stderr)
	}

	// Every node, each line with its member.
	r := f.plugin("nodetool", "--all", "info")
	for _, m := range []string{rack1 + "-0", member, rack3 + "-0"} {
		if !strings.Contains(r.Stdout, m+" | ID                     : "+f.hostID(m)) {
			t.Errorf("nodetool --all info: exit %d, and nothing of %s:\n%s%s", r.Code, m, r.Stdout, r.Stderr)
		}
	}

	// A terminal of its own.
	ctx, cancel := context.WithTimeout(f.ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, f.Images.Plugin, "nodetool", member, "-n", f.namespace, "info")
	cmd.Env, cmd.WaitDelay = append(f.Cluster.KubectlEnviron(), "KUBECONFIG="+f.Cluster.Kubeconfig(), "TERM=xterm-256color"), time.Minute
	screen, err := inTerminal(ctx, cmd, f.hostID(member), func() string { return "" })
	if !strings.Contains(screen, f.hostID(member)) || cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("in a terminal: %v, %v\n%s", err, cmd.ProcessState, screen)
	}
}
