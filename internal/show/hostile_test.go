// SPDX-License-Identifier: Apache-2.0

package show_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// TestAHostileHostIDIsNoCommand: a text that is a shell's command is no host ID. It is shown quoted where it is named, and is in no next step.
func TestAHostileHostIDIsNoCommand(t *testing.T) {
	const hostile = "x; touch /tmp/p #\u202e"
	const newcomer = "demo-dc1-rack2-1"
	c := plugintest.New(4, 1)
	c.Newcomer("dc1", "rack2", 1)
	for i := range c.Nodes {
		if c.Nodes[i].Name == replacedMember {
			c.Nodes[i].HostID = hostile
		}
	}
	c.Service(replacedMember).Annotations[api.AnnotationHostID] = hostile
	s := load(t, c.Down(replacedMember))
	status := document.NewClusterStatus(diagnosis.Judge(s, plugintest.Now))
	barrier, err := document.NewBarrierVerdict(diagnosis.Judge(s, plugintest.Now, newcomer), newcomer)
	if err != nil {
		t.Fatal(err)
	}
	for who, text := range map[string]string{"status": show.Cluster(status, show.Options{Wide: true}), "barrier": show.Barrier(barrier, show.Options{})} {
		if !strings.Contains(text, `"x; touch /tmp/p #\u202e" is not a host ID`) || strings.Contains(text, "\u202e") {
			t.Errorf("%s:\n%s", who, text)
		}
	}
	type said struct {
		Step struct {
			Commands []struct {
				Args  []string
				Shell string
			}
		}
	}
	var documents struct {
		Blockers []said
	}
	var barriers struct {
		Verdict struct{ Blockers []said }
	}
	for doc, into := range map[any]any{status: &documents, barrier: &barriers} {
		data, err := json.Marshal(doc)
		if err == nil {
			err = json.Unmarshal(data, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell on this machine")
	}
	commands := 0
	for _, b := range append(documents.Blockers, barriers.Verdict.Blockers...) {
		for _, command := range b.Step.Commands {
			commands++
			if strings.Contains(command.Shell, "touch") {
				t.Errorf("a next step has it: %s", command.Shell)
			}
			out, err := exec.Command(sh, "-c", `kubectl() { printf '%s\0' kubectl "$@"; }; `+command.Shell).Output()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(command.Args, strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")); diff != "" {
				t.Errorf("what the shell reads of %s (-want +got):\n%s", command.Shell, diff)
			}
		}
	}
	if commands < 4 {
		t.Errorf("%d commands, want some of status and of barrier", commands)
	}
}
