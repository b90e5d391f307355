// SPDX-License-Identifier: Apache-2.0

package replace_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// uuids of requests are made anew in each run.
var request = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)

// busy lines come after a second of the fake clock, or not: the stage moves it while the command reads.
var busy = regexp.MustCompile(`(?m)^(reading cluster|listing clusters|querying the replicas).*\n`)

func golden(t *testing.T, name, text string) {
	t.Helper()
	text = busy.ReplaceAllString(text, "")
	text = request.ReplaceAllStringFunc(text, func(id string) string {
		if strings.Contains(id, "-5ea1-4d00-8000-") {
			return id // a host ID
		}
		return "REQUEST"
	})
	plugintest.Golden(t, name, text)
}

// data has the nodes say where the data is.
func data(r plugintest.Run, say func(context.Context, []corev1.Pod) ([]maintenance.Keyspace, error)) plugintest.Run {
	before := r.Setup
	r.Setup = func(d *cli.Deps) {
		if before != nil {
			before(d)
		}
		d.Replication = say
	}
	return r
}

func transcript(args []string, r plugintest.Result) string {
	return "$ kubectl scylla " + strings.Join(args, " ") + "\n-- stdout --\n" + r.Stdout + "-- stderr --\n" + r.Stderr
}

func TestGoldenPlans(t *testing.T) {
	terminal := cli.Terminal{Out: true, Err: true, Width: 100, Height: 40}
	for name, r := range map[string]plugintest.Run{
		"plan.txt":        run(t, dead(), target, "--dry-run=client"),
		"plan_json.txt":   run(t, dead(), oldID[:8], "--dry-run=client", "-o", "json"),
		"refused.txt":     run(t, prepared(), "rack2/0", "--yes"),
		"refused_two.txt": run(t, dead().Down("demo-dc1-rack4-0"), target, "--yes"),
		"refused_launcher.txt": func() plugintest.Run {
			c := dead()
			c.Set("dc1", "rack2").Spec.Template.Spec.Containers[0].Command = nil
			return run(t, c, target, "--dry-run=server")
		}(),
		"ignore_dead.txt": run(t, ignoring(), target, "--dry-run=client", "--ignore-dead", plugintest.HostID(4)),
		"no_terminal.txt": run(t, dead(), target),
		"old_version.txt": run(t, old(), target, "--dry-run=client"),
		"operator.txt":    run(t, operated(dead()), target, "--dry-run=client"),
		"refused_data.txt": data(run(t, dead(), target, "--yes"), func(context.Context, []corev1.Pod) ([]maintenance.Keyspace, error) {
			return []maintenance.Keyspace{{Name: "app", Replicas: [][]hostid.ID{{hostid.ID(oldID), hostid.ID(plugintest.HostID(0)), hostid.ID(plugintest.HostID(2))}}}, {Name: "log", Replicas: [][]hostid.ID{{hostid.ID(oldID)}, {hostid.ID(plugintest.HostID(0))}}}}, nil
		}),
		"refused_data_unknown.txt": data(run(t, dead(), target, "--yes"), func(_ context.Context, pods []corev1.Pod) ([]maintenance.Keyspace, error) {
			return nil, fmt.Errorf("query %s: no response within 30s", pods[0].Name)
		}),
		"skipped.txt": func() plugintest.Run {
			c := dead()
			c.Set("dc1", "rack2").Spec.Template.Spec.Containers[0].Image = "scylladb/scylla:latest"
			return run(t, c.NoRow("demo-dc1-rack3-0"), target, "--dry-run=client", "--skip-check", "rows-fresh,others-up")
		}(),
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, r.Transcript(t)) })
	}
	t.Run("plan_terminal.txt", func(t *testing.T) {
		r := run(t, dead(), target, "--dry-run=client", "--color=always")
		r.Terminal = terminal
		golden(t, "plan_terminal.txt", r.Transcript(t))
	})
}

// ignoring has five racks, two of them dead.
func ignoring() *plugintest.Cluster {
	c := prepared()
	c.AddDatacenter("dc2", 1, 1)
	return longDown(c.Down(target)).Down("demo-dc2-rack1-0")
}

func old() *plugintest.Cluster {
	c := dead()
	for i := range c.Nodes {
		c.Nodes[i].Version = "5.1.18"
		c.Set("dc1", c.Nodes[i].Rack).Spec.Template.Spec.Containers[0].Image = "scylladb/scylla:5.1.18"
	}
	return c
}

// A dead node is ignored by any name by which it could be replaced, and recorded by its host ID.
func TestIgnoreDeadByName(t *testing.T) {
	want := run(t, ignoring(), target, "--dry-run=client", "-o", "json", "--ignore-dead", plugintest.HostID(4)).Do(t)
	if want.Code != 0 || !strings.Contains(want.Stdout, plugintest.HostID(4)) {
		t.Fatalf("exit %d: %s%s", want.Code, want.Stdout, want.Stderr)
	}
	for _, name := range []string{"demo-dc2-rack1-0", "dc2/rack1/0", plugintest.HostID(4)[:8], " " + strings.ToUpper(plugintest.HostID(4))} {
		got := run(t, ignoring(), target, "--dry-run=client", "-o", "json", "--ignore-dead", name).Do(t)
		if got != want {
			t.Errorf("--ignore-dead %q: exit %d, want as by host ID:\n%s%s", name, got.Code, got.Stdout, got.Stderr)
		}
	}
}

func TestUsage(t *testing.T) {
	for name, args := range map[string][]string{
		"no target":                     {},
		"two ways":                      {target, "rack1/0"},
		"host ID without resume":        {target, "--host-id", oldID},
		"malformed host ID":             {"resume", target, "--host-id", "x"},
		"too short an ignored host ID":  {target, "--ignore-dead", oldID[:7]},
		"nobody to be ignored":          {target, "--ignore-dead", "demo-dc1-rack9-0"},
		"unknown check":                 {target, "--skip-check", "luck"},
		"check that may not be skipped": {target, "--skip-check", "down"},
		"saved objects":                 {target, "--from", "x.yaml"},
		"ignore list with status":       {"status", "--ignore-dead", oldID},
		"no target to resume":           {"resume"},
		"no target to cancel":           {"cancel"},
		"the target ignored":            {target, "--ignore-dead", target},
		"timeout without wait":          {target, "--wait=false", "--timeout", "1m"},
		"nobody":                        {"demo-dc1-rack9-0"},
		"too short":                     {oldID[:7]},
		"nothing to resume":             {"resume", target},
		"nothing to cancel":             {"cancel", target},
	} {
		t.Run(name, func(t *testing.T) {
			res := run(t, dead(), args...).Do(t)
			if res.Code != 2 || res.Stderr == "" {
				t.Errorf("exit %d: %s", res.Code, res.Stderr)
			}
			if res.Stdout != "" {
				t.Errorf("standard output: %s", res.Stdout)
			}
		})
	}
}

func TestConfirmation(t *testing.T) {
	for name, tc := range map[string]struct {
		typed string
		code  int
	}{
		"the first 8 characters": {oldID[:8] + "\n", 0},
		"yes":                    {"yes\n", 2},
		"nothing":                {"", 2},
		"another node's":         {plugintest.HostID(0)[:8] + "\n", 2},
	} {
		t.Run(name, func(t *testing.T) {
			s, r := newStage(t, dead())
			r.Args = []string{"replace", "-n", "demo", target, "--wait=false"}
			r.Stdin, r.Terminal = tc.typed, cli.Terminal{In: true}
			res := r.Do(t)
			if res.Code != tc.code {
				t.Errorf("exit %d: %s", res.Code, res.Stderr)
			}
			if _, asked := s.service().Labels[api.LabelReplace]; asked != (tc.code == 0) {
				t.Errorf("label set: %v", asked)
			}
		})
	}
}

func TestDryRunsChangeNothing(t *testing.T) {
	for _, how := range []string{"client", "server"} {
		s, r := newStage(t, dead())
		r.Args = []string{"replace", "-n", "demo", target, "--dry-run=" + how}
		if res := r.Do(t); res.Code != 0 {
			t.Errorf("%s: exit %d: %s", how, res.Code, res.Stderr)
		}
		if svc := s.service(); svc.Labels[api.LabelReplace] != "" || svc.Annotations[api.AnnotationReplaceRequest] != "" || len(s.events("ReplacementRequested")) > 0 {
			t.Errorf("%s: changed %v %v", how, svc.Labels, svc.Annotations)
		}
	}
}

func TestFollowsToTheEnd(t *testing.T) {
	s, r := newStage(t, dead())
	s.budget = 2
	r.Args = []string{"replace", "-n", "demo", target, "--yes"}
	res := r.Do(t)
	if res.Code != 0 {
		t.Fatalf("exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	golden(t, "progress.txt", transcript(r.Args, res))
	if notes := s.events("ReplacementRequested"); len(notes) != 1 || !strings.Contains(notes[0], "ada@example.com requested with kubectl scylla to replace "+oldID) {
		t.Errorf("events %q", notes)
	}
	last := replace.ReadRecord(s.service().Labels, s.service().Annotations).Last
	if last == nil || string(last.HostID) != oldID || string(last.NewHostID) != newID(1) {
		t.Errorf("outcome %+v", last)
	}
}

// On a terminal the phases that ended stay, and the present one is a live line that goes.
func TestFollowsOnATerminal(t *testing.T) {
	s, r := newStage(t, dead())
	s.budget = 1
	r.Args = []string{"replace", "-n", "demo", target, "--yes", "--color=never"}
	r.Terminal = cli.Terminal{Out: true, Err: true, Width: 100, Height: 40}
	res := r.Do(t)
	if res.Code != 0 {
		t.Fatalf("exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	live := regexp.MustCompile("\r[^\r\n]*\x1b\\[K")
	if !live.MatchString(res.Stderr) {
		t.Errorf("no live line in %q", res.Stderr)
	}
	if !strings.Contains(res.Stderr, "evicting the dead node's Pod: refused 1 time since 12:00:09 UTC, next try at 12:00:14 UTC") {
		t.Errorf("the refusal is in no live line: %q", res.Stderr)
	}
	golden(t, "progress_terminal.txt", live.ReplaceAllString(res.Stderr, ""))
}

func TestFollowsAsJSON(t *testing.T) {
	_, r := newStage(t, dead())
	r.Args = []string{"replace", "-n", "demo", target, "--yes", "-o", "json"}
	res := r.Do(t)
	if res.Code != 0 {
		t.Fatalf("exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	var doc struct {
		Kind, Phase, OriginalHostID, NewHostID, Request string
	}
	if err := json.Unmarshal([]byte(res.Stdout), &doc); err != nil {
		t.Fatalf("standard output is not one document: %v\n%s", err, res.Stdout)
	}
	if doc.Kind != "ReplacementStatus" || doc.Phase != "Done" || doc.OriginalHostID != oldID || doc.NewHostID != newID(1) || doc.Request == "" {
		t.Errorf("%+v", doc)
	}
	golden(t, "done_json.txt", res.Stdout)
}

// An outcome of an older request is not taken for this one's.
func TestBoundToItsRequest(t *testing.T) {
	c := dead()
	c.Service(target).Annotations[api.AnnotationReplaceLast] = `{"request":"older","outcome":"Replaced","hostID":"x","newHostID":"y"}`
	s, r := newStage(t, c)
	s.stuck = true
	r.Args = []string{"replace", "-n", "demo", target, "--yes", "--timeout", "1m"}
	res := r.Do(t)
	if res.Code != 4 || !strings.Contains(res.Stderr, "the controller has not acted for") {
		t.Errorf("exit %d\n%s", res.Code, res.Stderr)
	}
}

func TestFailedThenResumed(t *testing.T) {
	s, r := newStage(t, dead())
	s.fail = true
	r.Args = []string{"replace", "-n", "demo", target, "--yes"}
	res := r.Do(t)
	if res.Code != 1 {
		t.Fatalf("exit %d\n%s", res.Code, res.Stderr)
	}
	golden(t, "failed.txt", transcript(r.Args, res))

	again := r
	again.Args = []string{"replace", "-n", "demo", target, "--yes"}
	if res := again.Do(t); res.Code != 2 || !strings.Contains(res.Stderr, "is open on "+target) {
		t.Errorf("a second request: exit %d %s", res.Code, res.Stderr)
	}
	status := r
	status.Args = []string{"replace", "status", "-n", "demo"}
	res = status.Do(t)
	if res.Code != 3 {
		t.Errorf("status: exit %d", res.Code)
	}
	golden(t, "failed_status.txt", transcript(status.Args, res))
	cancel := r
	cancel.Args = []string{"replace", "cancel", "-n", "demo", target}
	if res := cancel.Do(t); res.Code != 2 || !strings.Contains(res.Stderr, "too late to cancel") {
		t.Errorf("cancel: exit %d %s", res.Code, res.Stderr)
	}

	s.fail = false
	resume := r
	resume.Args = []string{"replace", "resume", "-n", "demo", target, "--yes"}
	res = resume.Do(t)
	if res.Code != 0 {
		t.Fatalf("resume: exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	golden(t, "resumed.txt", transcript(resume.Args, res))
	if last := replace.ReadRecord(s.service().Labels, s.service().Annotations).Last; string(last.HostID) != oldID || last.Attempts != 2 {
		t.Errorf("%+v", last)
	}
}

// Nothing shows that an attempt has failed whose new Pod waits at its barrier: another one would delete its fresh volume and begin again. A person who
// knows better, or who ignores other nodes, gets it.
func TestAnAttemptThatWaitsIsNotBegunAgain(t *testing.T) {
	s, r := newStage(t, dead())
	s.waits = true
	r.Args = []string{"replace", "-n", "demo", target, "--yes", "--timeout=1m"}
	if res := r.Do(t); res.Code != 4 {
		t.Fatalf("exit %d\n%s", res.Code, res.Stderr)
	}
	before := s.service()
	r.Args = []string{"replace", "resume", "-n", "demo", target, "--yes"}
	res := r.Do(t)
	if after := s.service(); res.Code != 2 || !strings.Contains(res.Stderr, "attempt 1 of the replacement of "+target+" has not failed: ") ||
		after.ResourceVersion != before.ResourceVersion {
		t.Errorf("exit %d, %v\n%s", res.Code, after.Annotations, res.Stderr)
	}
	r.Args = append(r.Args, "--skip-check="+replace.CheckAttempt)
	if res := r.Do(t); res.Code != 0 || replace.ReadRecord(s.service().Labels, s.service().Annotations).Last.Attempts != 2 {
		t.Errorf("exit %d, %v\n%s", res.Code, s.service().Annotations, res.Stderr)
	}
}

// A superseded attempt succeeds before the next one begins: the command that asked for the next one reports the outcome.
func TestResumedAndTheAttemptSucceedsAfterAll(t *testing.T) {
	s, r := newStage(t, dead())
	s.fail = true
	r.Args = []string{"replace", "-n", "demo", target, "--yes"}
	if res := r.Do(t); res.Code != 1 {
		t.Fatalf("exit %d\n%s", res.Code, res.Stderr)
	}
	s.fail, s.late = false, true
	resume := r
	resume.Args = []string{"replace", "resume", "-n", "demo", target, "--yes"}
	if res := resume.Do(t); res.Code != 0 {
		t.Errorf("resume: exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	if last := replace.ReadRecord(s.service().Labels, s.service().Annotations).Last; last == nil || string(last.NewHostID) != newID(1) || last.Attempts != 1 {
		t.Errorf("outcome %+v", last)
	}
}

// The first error of the log explains a failure that nothing else shows.
func TestTheLogExplains(t *testing.T) {
	s, r := newStage(t, dead())
	s.logText = "INFO  2026-11-21 12:00:01 [shard 0:main] init - starting\n" +
		"ERROR 2026-11-21 12:00:09 [shard 0:main] init - Startup failed: std::runtime_error (the topology coordinator rejected request to join the cluster: request canceled because some required nodes are dead)\n" +
		"ERROR 2026-11-21 12:00:12 [shard 0:main] init - Startup failed: std::runtime_error (The node has already been removed from the cluster)\n"
	s.freeze = true
	r.Args = []string{"replace", "-n", "demo", target, "--yes"}
	res := r.Do(t)
	if res.Code != 1 || !strings.Contains(res.Stderr, "request canceled because some required nodes are dead") || !strings.Contains(res.Stderr, "replace resume") {
		t.Errorf("exit %d\n%s", res.Code, res.Stderr)
	}
}

// What the log says of a start that may still join is a code, in which the sentence is found.
func TestTheLogExplainsAWait(t *testing.T) {
	s, r := newStage(t, plugintest.New(4, 1).Replacing(target))
	s.stuck = true
	s.logText = "ERROR 2026-11-21 12:00:09 [shard 0:main] init - Startup failed: std::runtime_error (Unable to gossip with any nodes={10.0.0.1} (ShadowRound).)\n"
	r.Args = []string{"replace", "status", "-n", "demo", "-o", "json"}
	res := r.Do(t)
	type cure struct {
		Code   words.Code
		Params words.Params
		Text   string
	}
	var list struct{ Items []struct{ Cure cure } }
	if err := json.Unmarshal([]byte(res.Stdout), &list); err != nil || len(list.Items) != 1 {
		t.Fatalf("exit %d, %v\n%s%s", res.Code, err, res.Stdout, res.Stderr)
	}
	want := cure{
		Code: words.LogCure, Params: words.Params{"text": map[string]any{"code": string(words.NoSeedReached)}},
		Text: "No seed answered: check the seeds, DNS, network policies and that a seed is running. Nothing was stored: the volume can be used and no node is banned. " +
			"ScyllaDB tries again when it is restarted.",
	}
	if diff := cmp.Diff(want, list.Items[0].Cure); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, res.Stdout)
	}
}

func TestCancel(t *testing.T) {
	c := dead()
	svc := c.Service(target)
	svc.Labels[api.LabelReplace] = ""
	svc.Annotations[api.AnnotationReplaceRequest] = "mine"
	s, r := newStage(t, c)
	s.slow = true
	r.Args = []string{"replace", "cancel", "-n", "demo", target}
	res := r.Do(t)
	if res.Code != 0 {
		t.Fatalf("exit %d\n%s", res.Code, res.Stderr)
	}
	rec := replace.ReadRecord(s.service().Labels, s.service().Annotations)
	if rec.Open() || rec.Requested || rec.Last == nil || rec.Last.Outcome != replace.OutcomeCancelled {
		t.Errorf("%+v", rec)
	}
	golden(t, "cancelled.txt", transcript(r.Args, res))
}

// The condition that an open replacement waits for is named, for each actor that may cause it.
func TestGoldenStatus(t *testing.T) {
	pending := func(p *corev1.Pod) {
		p.Spec.NodeName, p.Status = "", corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable",
			Message: "0/3 nodes are available: 1 node(s) didn't find available persistent volumes to bind, 2 node(s) didn't match Pod's node affinity/selector.",
		}}}
	}
	crash := func(code int32) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0] = corev1.ContainerStatus{
				Name: api.ContainerScyllaDB, RestartCount: 4, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.NewTime(plugintest.Now)}},
			}
		}
	}
	barrier := func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodPending
		p.Status.InitContainerStatuses[2] = corev1.ContainerStatus{Name: api.ContainerBarrier, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
		p.Status.ContainerStatuses[0] = corev1.ContainerStatus{Name: api.ContainerScyllaDB, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}}
	}
	open := func(f func(*corev1.Pod)) *plugintest.Cluster {
		c := plugintest.New(4, 1).Replacing(target)
		f(c.Pod(target))
		return c
	}
	held := open(barrier)
	held.Down("demo-dc1-rack4-0")
	held.Service(target).Annotations[api.AnnotationForceProceed] = "yes"
	budget := dead()
	svc := budget.Service(target)
	svc.Labels[api.LabelReplace], svc.Labels[api.LabelReplacingNodeHostID] = "", oldID
	for k, v := range map[string]string{
		api.AnnotationReplaceOriginalHostID: oldID, api.AnnotationReplaceRequest: "request-1", api.AnnotationReplaceAccepted: "request-1", api.AnnotationReplaceAttempt: "1",
		api.AnnotationReplacePVCUIDs: "gone", api.AnnotationReplacePodUID: string(budget.Pod(target).UID), api.AnnotationReplaceStartedAt: "2026-11-21T11:58:00Z",
		api.AnnotationReplaceRefused: `{"uid":"` + string(budget.Pod(target).UID) + `","message":"Cannot evict pod as it would violate the pod's disruption budget. ` +
			`(The disruption budget demo needs 3 healthy pods and has 2 currently)","budget":true,"times":4,"since":"2026-11-21T11:58:05Z","next":"2026-11-21T12:00:10Z"}`,
	} {
		svc.Annotations[k] = v
	}
	for name, c := range map[string]*plugintest.Cluster{
		"budget": budget, "pending": open(pending), "launcher_crashes": open(crash(replace.ExitLaunchRetry)), "barrier": held,
		"operator_pending": open(pending).Operator(), "operator_failed": open(crash(1)).Operator(),
	} {
		t.Run(name, func(t *testing.T) { golden(t, "status_"+name+".txt", run(t, c, "status").Transcript(t)) })
	}
}

// Under the Scylla Operator no reporter gives ScyllaDB's operations: the nodes themselves are asked, and the status quotes their answer.
func TestOperatorsFailureIsInTheTaskManager(t *testing.T) {
	c := plugintest.New(4, 1).Replacing(target).Operator()
	c.Service(target).Annotations[api.AnnotationHostID] = newID(1)
	for i := range c.Nodes {
		c.Nodes[i].Version = "" // its reporter says nothing of versions and modes either
	}
	r := run(t, c, "status")
	r.Live = func(_ context.Context, s *cluster.Cluster, _ kube.LiveOptions) (*cluster.Cluster, error) {
		live := map[string]*api.NodeStatusReport{target: {HostID: hostid.ID(newID(1)), OperationMode: "BOOTSTRAP"}}
		for _, n := range c.Nodes {
			if n.Name != target {
				live[n.Name] = &api.NodeStatusReport{HostID: hostid.ID(n.HostID), OperationMode: "NORMAL", ScyllaVersion: "2025.2.1",
					ObservedNodes: []api.ObservedNodeStatusReport{{HostID: hostid.ID(n.HostID), Status: api.NodeStatusUp}},
					Operations:    []api.NodeOperation{{Type: "replace", State: "failed", HostID: hostid.ID(newID(1)), Error: "Canceled. Dead nodes: {" + plugintest.HostID(3) + "}"}}}
			}
		}
		return s.WithLive(live, nil, nil), nil
	}
	golden(t, "status_operator_tasks.txt", r.Transcript(t))
}

// status and replace status list the same ghosts, from the same evidence.
func TestGhostsAreTheSameEverywhere(t *testing.T) {
	ghost := plugintest.New(3, 2).DownSince("demo-dc1-rack2-1", time.Hour).Leftover("demo-dc1-rack2-1")
	newcomer := plugintest.New(4, 1).Replacing("demo-dc1-rack3-0")
	newcomer.Pod("demo-dc1-rack3-0").Annotations = map[string]string{api.AnnotationNodeStatusReport: `{"hostID":"` + plugintest.HostID(2) + `"}`}
	newcomer.Service("demo-dc1-rack3-0").Annotations[api.AnnotationHostID] = newID(1)
	for name, tc := range map[string]struct {
		objects []client.Object
		want    int
	}{
		"a ghost": {ghost, 1}, "none": {plugintest.New(3, 2).Objects(), 0}, "a newcomer whose Service has another host ID": {newcomer.Objects(), 0},
	} {
		t.Run(name, func(t *testing.T) {
			ghosts := func(field string, args ...string) (ids []string) {
				t.Helper()
				res := plugintest.Run{Args: append(args, "-n", "demo", "-o", "json"), Objects: tc.objects}.Do(t)
				var doc map[string]json.RawMessage
				if err := json.Unmarshal([]byte(res.Stdout), &doc); err != nil {
					t.Fatal(err, res.Stdout, res.Stderr)
				}
				if args[0] == "status" {
					var items []map[string]json.RawMessage
					if err := json.Unmarshal(doc["items"], &items); err != nil || len(items) != 1 {
						t.Fatal(err, res.Stdout)
					}
					doc = items[0]
				}
				if doc[field] != nil {
					var out []struct{ HostID string }
					if err := json.Unmarshal(doc[field], &out); err != nil {
						t.Fatal(err)
					}
					for _, g := range out {
						ids = append(ids, g.HostID)
					}
				}
				return ids
			}
			status, verb := ghosts("leftovers", "status", "demo"), ghosts("ghosts", "replace", "status")
			if diff := cmp.Diff(status, verb); diff != "" || len(status) != tc.want {
				t.Errorf("%d, want %d (-status +replace status)\n%s", len(status), tc.want, diff)
			}
		})
	}
}

func TestStatusWithGhosts(t *testing.T) {
	c := dead()
	delete(c.Service("demo-dc1-rack4-0").Annotations, api.AnnotationHostID)
	c.Service("demo-dc1-rack4-0").Annotations[api.AnnotationNodeJoined] = "false"
	c.Down("demo-dc1-rack4-0")
	c.Pod("demo-dc1-rack4-0").Annotations = nil
	res := run(t, c, "status").Do(t)
	if want := "do not remove: it may be the node of demo-dc1-rack4-0, whose host ID is unknown"; !strings.Contains(res.Stdout, want) {
		t.Errorf("the host ID may be that of a node that runs here: want %q in\n%s", want, res.Stdout)
	}
	c.Newcomer("dc1", "rack4", 0) // on a new volume, in its barrier: it has started no node
	golden(t, "ghosts.txt", run(t, c, "status").Transcript(t))
}

// Under the Scylla Operator only the label is set, and its own words are shown.
func TestOperator(t *testing.T) {
	s, r := newStage(t, operated(dead()))
	s.byOp = true
	r.Args = []string{"replace", "-n", "demo", target, "--yes", "--skip-check", "no-operation,down-for"}
	res := r.Do(t)
	if res.Code != 0 {
		t.Fatalf("exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	golden(t, "operator_progress.txt", transcript(r.Args, res))
	for k := range s.service().Annotations {
		if strings.HasPrefix(k, "kubectl-scylla.") {
			t.Errorf("annotation %s on the operator's Service", k)
		}
	}
}
