// SPDX-License-Identifier: Apache-2.0

package replace_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replacement"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/plugintest"
)

// uuids of requests are made anew in each run.
var request = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)

// busy lines come after a second of the fake clock, or not: the stage moves it while the command reads.
var busy = regexp.MustCompile(`(?m)^(reading cluster|looking for clusters).*\n`)

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
		"server.txt":      run(t, dead(), target, "--yes", "--dry-run=server"),
		"old_version.txt": run(t, old(), target, "--dry-run=client"),
		"operator.txt":    run(t, dead().Operator(), target, "--dry-run=client"),
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
	return c.Down(target).Down("demo-dc2-rack1-0")
}

func old() *plugintest.Cluster {
	c := dead()
	for i := range c.Nodes {
		c.Nodes[i].Version = "5.1.18"
		c.Set("dc1", c.Nodes[i].Rack).Spec.Template.Spec.Containers[0].Image = "scylladb/scylla:5.1.18"
	}
	return c
}

func TestUsage(t *testing.T) {
	for name, args := range map[string][]string{
		"no target":                     {},
		"two ways":                      {target, "--resume", "--cancel"},
		"host ID without resume":        {target, "--host-id", oldID},
		"malformed host ID":             {target, "--resume", "--host-id", "x"},
		"short ignored host ID":         {target, "--ignore-dead", oldID[:8]},
		"unknown check":                 {target, "--skip-check", "luck"},
		"check that may not be skipped": {target, "--skip-check", "down"},
		"saved objects":                 {target, "--from", "x.yaml"},
		"ignore list with status":       {"--status", "--ignore-dead", oldID},
		"timeout without wait":          {target, "--wait=false", "--timeout", "1m"},
		"nobody":                        {"demo-dc1-rack9-0"},
		"too short":                     {oldID[:7]},
		"nothing to resume":             {target, "--resume"},
		"nothing to cancel":             {target, "--cancel"},
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
	if notes := s.events("ReplacementRequested"); len(notes) != 1 || !strings.Contains(notes[0], "ada@example.com asked with kubectl scylla to replace "+oldID) {
		t.Errorf("events %q", notes)
	}
	last := replacement.ReadRecord(s.service().Labels, s.service().Annotations).Last
	if last == nil || last.HostID != oldID || last.NewHostID != newID(1) {
		t.Errorf("outcome %+v", last)
	}
}

// On a terminal the phases that ended stay, and the present one is a live line that goes.
func TestFollowsOnATerminal(t *testing.T) {
	_, r := newStage(t, dead())
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
	if res.Code != 4 || !strings.Contains(res.Stderr, "is the controller running?") {
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
	status.Args = []string{"replace", "-n", "demo", "--status"}
	res = status.Do(t)
	if res.Code != 3 {
		t.Errorf("status: exit %d", res.Code)
	}
	golden(t, "failed_status.txt", transcript(status.Args, res))
	cancel := r
	cancel.Args = []string{"replace", "-n", "demo", target, "--cancel"}
	if res := cancel.Do(t); res.Code != 2 || !strings.Contains(res.Stderr, "too late to cancel") {
		t.Errorf("cancel: exit %d %s", res.Code, res.Stderr)
	}

	s.fail = false
	resume := r
	resume.Args = []string{"replace", "-n", "demo", "--resume", target, "--yes"}
	res = resume.Do(t)
	if res.Code != 0 {
		t.Fatalf("resume: exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	golden(t, "resumed.txt", transcript(resume.Args, res))
	if last := replacement.ReadRecord(s.service().Labels, s.service().Annotations).Last; last.HostID != oldID || last.Attempts != 2 {
		t.Errorf("%+v", last)
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
	if res.Code != 1 || !strings.Contains(res.Stderr, "request canceled because some required nodes are dead") || !strings.Contains(res.Stderr, "--resume") {
		t.Errorf("exit %d\n%s", res.Code, res.Stderr)
	}
}

func TestCancel(t *testing.T) {
	c := dead()
	svc := c.Service(target)
	svc.Labels[api.LabelReplace] = ""
	svc.Annotations[api.AnnotationReplaceRequest] = "mine"
	s, r := newStage(t, c)
	s.slow = true
	r.Args = []string{"replace", "-n", "demo", target, "--cancel"}
	res := r.Do(t)
	if res.Code != 0 {
		t.Fatalf("exit %d\n%s", res.Code, res.Stderr)
	}
	rec := replacement.ReadRecord(s.service().Labels, s.service().Annotations)
	if rec.Open() || rec.Requested || rec.Last == nil || rec.Last.Outcome != replacement.OutcomeCancelled {
		t.Errorf("%+v", rec)
	}
	golden(t, "cancelled.txt", transcript(r.Args, res))
}

func TestStatusWithGhosts(t *testing.T) {
	c := dead()
	delete(c.Service("demo-dc1-rack4-0").Annotations, api.AnnotationHostID)
	c.Service("demo-dc1-rack4-0").Annotations[api.AnnotationNodeJoined] = "false"
	c.Down("demo-dc1-rack4-0")
	c.Pod("demo-dc1-rack4-0").Annotations = nil
	golden(t, "ghosts.txt", run(t, c, "--status").Transcript(t))
}

// Under the Scylla Operator only the label is set, and its own words are shown.
func TestOperator(t *testing.T) {
	s, r := newStage(t, dead().Operator())
	s.byOp = true
	r.Args = []string{"replace", "-n", "demo", target, "--yes", "--skip-check", "no-operation"}
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
