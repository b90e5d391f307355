// SPDX-License-Identifier: Apache-2.0

package diagnosis_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/scenes"
)

// commandsIn returns the commands of a message and of the messages in it.
func commandsIn(v any) []words.Command {
	var out []words.Command
	switch v := v.(type) {
	case words.Message:
		out = slices.Clone(v.Commands)
		for _, p := range v.Params {
			out = append(out, commandsIn(p)...)
		}
	case []words.Message:
		for _, m := range v {
			out = append(out, commandsIn(m)...)
		}
	}
	return out
}

// anyState is a container in any state of its life.
func anyState(t *rapid.T, st *corev1.ContainerStatus) {
	at := func(what string) metav1.Time {
		return metav1.NewTime(scenes.Now.Add(-rapid.SampledFrom([]time.Duration{time.Second, 5 * time.Minute, time.Hour}).Draw(t, what)))
	}
	ended := &corev1.ContainerStateTerminated{ExitCode: rapid.SampledFrom([]int32{0, 1, 137}).Draw(t, "code"), Reason: rapid.SampledFrom([]string{"Error", "OOMKilled"}).Draw(t, "reason"),
		StartedAt: at("started"), FinishedAt: at("finished")}
	*st = corev1.ContainerStatus{Name: st.Name, RestartCount: rapid.Int32Range(0, 30).Draw(t, "restarts")}
	switch rapid.IntRange(0, 3).Draw(t, "state") {
	case 0:
		st.State.Running, st.Ready = &corev1.ContainerStateRunning{StartedAt: at("since")}, rapid.Bool().Draw(t, "ready")
		st.Started = &st.Ready
	case 1:
		st.State.Terminated = ended
	case 2:
		st.State.Waiting = &corev1.ContainerStateWaiting{
			Reason: rapid.SampledFrom([]string{"PodInitializing", "ContainerCreating", "CrashLoopBackOff", "ImagePullBackOff", "CreateContainerConfigError"}).Draw(t, "waits"), Message: "why"}
	}
	if rapid.Bool().Draw(t, "ran before") {
		st.LastTerminationState.Terminated = ended
	}
}

// TestEveryPrintedLogExists: a printed `kubectl logs` names a container that has run, and --previous one whose last run is known.
func TestEveryPrintedLogExists(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := plugintest.New(3, 1)
		const member = "demo-dc1-rack2-0"
		newcomer := c.Newcomer("dc1", "rack1", 1)
		switch rapid.IntRange(0, 4).Draw(t, "member") {
		case 0:
			c.Down(member)
		case 1:
			c.NoRow(member)
		case 2:
			c.DownSince(member, time.Hour).Replacing(member)
		case 3:
			c.Ghost(member)
		}
		for _, name := range []string{member, newcomer} {
			p := c.Pod(name)
			if p == nil {
				continue
			}
			p.Status.Phase = rapid.SampledFrom([]corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodFailed}).Draw(t, "phase")
			for _, list := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
				for i := range list {
					if rapid.IntRange(0, 2).Draw(t, "any") > 0 {
						anyState(t, &list[i])
					}
				}
			}
			if rapid.IntRange(0, 5).Draw(t, "no status") == 0 {
				p.Status.InitContainerStatuses, p.Status.ContainerStatuses = nil, nil
			}
		}
		s := cluster.New(scenes.Objects(c), cluster.SourceAuto, scenes.Now)
		var printed []words.Command
		for _, f := range diagnosis.Of(s) {
			printed = append(printed, commandsIn([]words.Message{f.Message, f.Evidence, f.Step})...)
		}
		for _, m := range []string{member, newcomer} {
			in, err := bootstrap.Of(s, m)
			if err != nil {
				continue
			}
			v := bootstrap.Decide(in)
			diagnosis.Advise(s, &v, diagnosis.Asks{Self: s.Member(m).Ref})
			printed = append(printed, commandsIn(v.Notes)...)
			for _, b := range v.Blockers {
				printed = append(printed, commandsIn([]words.Message{b.Cause, b.Step})...)
			}
			if i := replace.Read(s).Input(m, scenes.Now, "1"); i != nil {
				step := replace.Next(*i)
				printed = append(printed, commandsIn(append(slices.Clone(step.Waiting), step.Message, step.Cure))...)
				for _, check := range step.Checks {
					printed = append(printed, commandsIn([]words.Message{check.Cure, check.Evidence})...)
				}
			}
		}
		for _, command := range printed {
			i := slices.Index(command, "logs")
			if i != 1 || i+1 >= len(command) {
				continue
			}
			hasLog(t, c.Pod(command[i+1]), command)
		}
	})
}

func hasLog(t *rapid.T, pod *corev1.Pod, command words.Command) {
	k := slices.Index(command, "-c")
	if pod == nil || k < 0 {
		t.Fatalf("%s: no such Pod, or no container", words.Shell(command))
	}
	for _, st := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if st.Name != command[k+1] {
			continue
		}
		now, before := st.State.Running != nil || st.State.Terminated != nil, st.LastTerminationState.Terminated != nil
		if previous := slices.Contains(command, "--previous"); previous && !before || !previous && !now {
			t.Fatalf("%s of a container with state %+v, before %+v", words.Shell(command), st.State, st.LastTerminationState)
		}
		return
	}
	t.Fatalf("%s names a container without a status", words.Shell(command))
}
