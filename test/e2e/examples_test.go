// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/images"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/scenario"
)

// example is one of help. TestScripts, which reads every help, fails when an example is in neither list or no longer in help.
type example struct {
	line string
	code int
	says string // what it prints, in part
	// asks is what a person waits to see in a terminal before typing the answer; examples without it have no terminal.
	asks   string
	answer func(*fixture) string
	// meanwhile examples end by what the next one does.
	meanwhile bool
	// do, in a step without a line, brings the demo cluster about what the next examples speak of.
	do func(*fixture)
}

// offlineExamples are those that need no node: they run on an API server alone.
var offlineExamples = []example{
	{line: "kubectl scylla version", says: "kubectl-scylla "},
	{line: "kubectl scylla version -o short"},
	{line: "kubectl scylla version -o json", says: `"kind": "Version"`},

	{line: "kubectl scylla demo", says: "kubectl scylla barrier --from sample:incident"},
	{line: "kubectl scylla demo incident", code: 3, says: "NOT HEALTHY demo/demo"},
	{line: "kubectl scylla barrier --from sample:incident", code: 3, says: "demo-dc1-rack2-1"},
	{line: "kubectl scylla describe rack2/1 --from sample:incident", says: "demo/demo-dc1-rack2-1: must wait"},

	{line: "kubectl scylla barrier demo-dc1-rack2-1 --from sample:incident -o yaml", code: 3, says: "member: demo-dc1-rack2-1"},

	{line: "kubectl scylla check --pre -n demo", says: "you in demo: 6 permissions, none missing"},

	{line: "kubectl scylla install --image registry.example.com/scylla-agent@sha256:DIGEST --dry-run=client -o yaml", says: "kind: Deployment"},
	{line: "kubectl scylla install --no-controller --operator-member demo:db-member --yes", says: "kubectl-scylla-member-of-operator-db-member applied"},
	// Guarded clusters are there, so that nothing is removed; TestInstall has the others.
	{line: "kubectl scylla uninstall --dry-run=client", code: 2},
	{line: "kubectl scylla uninstall --dry-run=server", code: 2},
	{line: "kubectl scylla uninstall --yes", code: 2},

	{line: "kubectl scylla inject -f scylladb.yaml --image registry.example.com/scylla-agent@sha256:DIGEST | kubectl apply -f -", says: "statefulset.apps/db-a created"},
	// No controller and no Pod is there, so that nothing is changed; TestDoorOfAClusterThatKnowsNothingOfUs has the others.
	{line: "kubectl scylla inject shop -n inject --image registry.example.com/scylla-agent@sha256:DIGEST --dry-run=client", code: 2},
	{line: "kubectl scylla inject shop -n inject --image registry.example.com/scylla-agent@sha256:DIGEST --yes", code: 2},
	{line: "kubectl scylla inject shop -n inject --undo --yes", code: 2},

	{line: "kubectl scylla remote add eu demo -n demo --remote-kubeconfig eu.kubeconfig --dry-run=client", says: "serviceaccount/kubectl-scylla-remote-eu-"},
	{line: "kubectl scylla remote list"},
	{line: "kubectl scylla remote check"},

	{line: "kubectl scylla completion kubectl > ~/.local/bin/kubectl_complete-scylla"},
	{line: "chmod +x ~/.local/bin/kubectl_complete-scylla"},
	{line: "source <(kubectl scylla completion bash)"},
	{line: "kubectl scylla completion zsh > ~/.kubectl-scylla.zsh"},
}

const (
	q        = "q"
	yes      = "yes\r"
	newcomer = rack2 + "-1"
	dead     = rack3 + "-0"
	deadToo  = rack2 + "-0"
)

// demoExamples are those that speak of the cluster of `make demo`, in an order in which it comes into the situations that they are for.
var demoExamples = []example{
	// It is installed already: applied again it changes nothing, and its controller leads.
	{line: "kubectl scylla install --image registry.example.com/scylla-agent@sha256:DIGEST --yes", says: "deployment.apps/kubectl-scylla-controller applied"},
	// Every node sees every node UP.
	{line: "kubectl scylla check -n demo -o junit > check.xml"},
	{line: "kubectl scylla check -n demo --for=decommission --datacenter=dc2", code: 2, says: "dc2"},
	{line: "kubectl scylla check -n demo --for=restart rack1/0", says: "all nodes see each other UP"},
	{line: "kubectl scylla check -n demo --for=drain worker-9", code: 2, says: "not found"},
	// Its nodes run, so that nothing is forgotten; and the ID of its group 0 is told from a Pod's second start on.
	{line: "kubectl scylla init reset demo -n demo --dry-run", code: 2},
	{line: "kubectl scylla init reset demo -n demo", code: 2},
	{line: "kubectl scylla init reset demo -n demo --group0", says: "Cluster demo/demo has no recorded group 0"},
	{line: "kubectl scylla status demo -n demo --wait --timeout 10m", says: "✓ HEALTHY demo/demo: 3 of 3 nodes seen UP by all"},
	{line: "kubectl scylla status -n demo", says: "✓ HEALTHY demo/demo: 3 of 3 nodes seen UP by all"},
	{line: "kubectl scylla status -n demo --source live", says: "source: live (ScyllaDB answered on 3 of 3 Pods)"},
	{line: "kubectl scylla report -n demo", says: "demo-dc1-rack3-0"},
	{line: "kubectl scylla report demo -n demo -o html > demo.html"},
	{line: "kubectl scylla report demo -n demo --archive demo.zip", says: "demo.zip"},
	{line: "kubectl scylla status --from demo.zip", says: "✓ HEALTHY demo/demo"},
	{line: "kubectl scylla dashboard demo -n demo --once --width 100 --height 30", says: "✓ HEALTHY demo/demo"},
	{line: "kubectl scylla dashboard -n demo", asks: "HEALTHY demo/demo", answer: typed(q)},
	{line: "kubectl scylla dashboard -n demo --source live", asks: "HEALTHY demo/demo", answer: typed(q)},
	{line: "kubectl get services,pods,scylladbdatacenternodesstatusreports -n demo -o yaml | kubectl scylla tui --from -",
		asks: "HEALTHY demo/demo", answer: typed(q)},
	{line: "kubectl scylla describe demo-dc1-rack3-0 -n demo", says: "Seen by:         UP: 2 of 2"},
	{line: "kubectl scylla describe rack3/0 -n demo -o jsonpath='{.items[*].pod.ip}'", says: "."},
	{line: "kubectl scylla nodetool rack1/0 -n demo -- status", says: "host_id: "},
	{line: "kubectl scylla nodetool --all -n demo -- status", says: "demo-dc1-rack3-0 | host_id: "},
	{line: "kubectl scylla nodetool rack1/2 -n demo --yes -- decommission", code: 2, says: `no member "rack1/2"`},
	// A reporter hangs, so newcomers wait, although every node is UP.
	{do: (*fixture).newcomersWait},
	{line: "kubectl scylla barrier -n demo", code: 3, says: newcomer},
	{line: `kubectl scylla barrier -n demo --no-headers | awk '$3=="WAIT"{print $1}'`, says: newcomer},
	{line: "kubectl scylla barrier demo-dc1-rack2-1 -n demo", code: 3, says: "✗ WAIT demo/demo-dc1-rack2-1"},
	{line: "kubectl scylla describe rack2/1 -n demo --log scylla.log", says: "request canceled because some required nodes are dead"},
	{line: "kubectl scylla force-proceed demo-dc1-rack2-1 -n demo --dry-run=client", says: " will be ignored: if a node really is DOWN"},
	{line: `kubectl scylla force-proceed demo-dc1-rack2-1 -n demo --reason "the reporter of rack3-0 hangs"`,
		asks: `Type "yes" to continue`, answer: typed(yes), says: "service/demo-dc1-rack2-1 annotated"},
	{do: func(f *fixture) {
		f.untilReady(newcomer)
		f.waitFor("the force to be spent", func(context.Context) (bool, string, error) {
			v, there := f.service(newcomer).Annotations[api.AnnotationForceProceed]
			return !there, v, nil
		})
	}},
	{line: "kubectl scylla force-proceed demo-dc1-rack2-1 -n demo --undo", says: "service/demo-dc1-rack2-1 not forced"},
	{line: "kubectl scylla barrier -n demo --wait --timeout 30m", meanwhile: true},
	{line: "kubectl scylla force-proceed --datacenter dc1 -n demo --per-service --yes", says: "service/demo-dc1-rack1-1 annotated"},

	// A node dies.
	{do: (*fixture).reporterHeals},
	{do: func(f *fixture) { f.dies(dead) }},
	{line: `kubectl scylla status demo -n demo --no-headers | awk '$3=="DOWN"{print $1}'`, says: dead},
	{line: "kubectl scylla replace demo-dc1-rack3-0 -n demo --dry-run=client", says: "service/demo-dc1-rack3-0 labeled (dry run)"},
	{line: "kubectl scylla replace demo-dc1-rack3-0 -n demo", asks: "to continue:", answer: first8, says: "was replaced by"},

	// It dies again, and another one with it: that is asked for which has to wait.
	{do: (*fixture).twoDieAndOneIsAskedFor},
	{line: "kubectl scylla replace status -n demo", code: 3, says: deadToo},
	{line: "kubectl scylla replace cancel demo-dc1-rack3-0 -n demo", says: "service/demo-dc1-rack3-0 unlabeled"},
	{line: "kubectl scylla replace rack3/0 -n demo --ignore-dead rack2/0", asks: "to continue:", answer: first8, says: "was replaced by"},

	// The newcomer that replaces the other one dies while it joins.
	{do: func(f *fixture) { f.attemptFails(deadToo) }},
	{line: "kubectl scylla replace resume demo-dc1-rack2-0 -n demo", asks: "to continue:",
		answer: func(f *fixture) string { return f.service(deadToo).Labels[api.LabelReplacingNodeHostID][:8] + "\r" }, says: "was replaced by"},
	{do: (*fixture).healthy},
}

// helpImage is the image of scylla-agent in the examples of help; the Kubernetes nodes have it under another name.
const helpImage = "registry.example.com/scylla-agent@sha256:DIGEST"

// replacesAtOnce is a line that asks for a replacement, without the wait for a restart.
func replacesAtOnce(line string) string {
	rest, asks := strings.CutPrefix(line, "kubectl scylla replace ")
	if !asks || strings.HasPrefix(rest, "status") || strings.HasPrefix(rest, "cancel") {
		return line
	}
	return line + " " + atOnce
}

func typed(keys string) func(*fixture) string { return func(*fixture) string { return keys } }

// first8 are the characters that a person reads in the plan and types.
func first8(f *fixture) string { return f.hostID(dead)[:8] + "\r" }

// Every example of help that speaks of a cluster, in the situation that it is for, in real Pods.
func TestExamples(t *testing.T) {
	covers(t, "internal/support", "internal/show/page", "plugin/barrier", "plugin/check", "plugin/dashboard",
		"plugin/describe", "plugin/forceproceed", "plugin/initreset", "plugin/nodetool", "plugin/replace", "plugin/report", "plugin/status")
	t.Parallel()
	pods(t, 5)
	f := deploy(t, scenario.Cluster{Namespace: nsDemo, Mutate: func(s *appsv1.StatefulSet) {
		shortGrace(s)
		if s.Name == rack2 { // slow enough to die while it joins
			c := &s.Spec.Template.Spec.Containers[0]
			c.Env = append(c.Env, corev1.EnvVar{Name: "SCYLLASIM_STREAM_SECONDS", Value: "30"})
		}
	}})
	f.untilAllUp("demo", 3) // a Pod is ready before the report knows its node: the first examples speak of all three
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	f.must(os.Mkdir(bin, 0o755))
	kubectl, err := filepath.EvalSymlinks(f.Cluster.KubectlPath())
	f.must(err)
	f.must(os.Symlink(kubectl, filepath.Join(bin, "kubectl")))
	f.must(os.Symlink(f.Images.Plugin, filepath.Join(bin, "kubectl-scylla")))
	f.must(os.WriteFile(filepath.Join(dir, "scylla.log"), []byte("ERROR 2026-11-29 20:13:34,305 [shard 0:main] init - Startup failed: std::runtime_error "+
		"(the topology coordinator rejected request to join the cluster: request canceled because some required nodes are dead)\n"), 0o600))
	env := (&scriptStage{bin: bin, env: map[string]string{"KUBECONFIG": f.Cluster.Kubeconfig(), "TERM": "xterm-256color"}}).environ(dir)

	var meanwhile func()
	for _, e := range demoExamples {
		began := time.Now()
		switch {
		case e.do != nil:
			e.do(f)
		case e.meanwhile:
			ended := make(chan struct{})
			go func() { defer close(ended); f.try(e, dir, env) }()
			meanwhile = func() { <-ended }
		default:
			f.try(e, dir, env)
		}
		if meanwhile != nil && e.answer != nil {
			meanwhile()
			meanwhile = nil
		}
		t.Logf("%s %s", time.Since(began).Round(time.Millisecond), e.line)
	}
	for _, name := range []string{"demo.html"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("an example was to write %s: %v", name, err)
		}
	}
}

// try runs an example as a person would and checks how it ends.
func (f *fixture) try(e example, dir string, env map[string]string) {
	ctx, cancel := context.WithTimeout(f.ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", replacesAtOnce(strings.ReplaceAll(e.line, helpImage, images.AgentRef)))
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, list(env), time.Minute
	var text string
	var err error
	if e.answer == nil {
		var out bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(nil), &out, &out
		err = cmd.Run()
		text = out.String()
	} else {
		text, err = inTerminal(ctx, cmd, e.asks, func() string { return e.answer(f) })
	}
	if cmd.ProcessState == nil {
		f.t.Errorf("%s\n%v\n%s", e.line, err, text)
		return
	}
	if got := cmd.ProcessState.ExitCode(); got != e.code || !strings.Contains(text, e.says) {
		f.t.Errorf("%s\nexit code %d (%v), want %d and %q in:\n%s", e.line, got, err, e.code, e.says, text)
	} else if testing.Verbose() {
		f.t.Logf("%s\nexit code %d\n%s", e.line, got, text)
	}
}

// inTerminal runs a command in a terminal of its own, types the answer once it has asked, and gives all that was on the screen.
func inTerminal(ctx context.Context, cmd *exec.Cmd, asks string, answer func() string) (string, error) {
	person, program, err := openTerminal(120, 40)
	if err != nil {
		return "", err
	}
	defer person.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	_ = program.Close() // the command has its own
	if err != nil {
		return "", fmt.Errorf("start in a terminal: %w", err)
	}
	var mu sync.Mutex
	var screen bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 4096)
		for {
			n, err := person.Read(buf)
			mu.Lock()
			screen.Write(buf[:n])
			mu.Unlock()
			if err != nil {
				return // the last process that had it open has ended
			}
		}
	}()
	shown := func() string {
		mu.Lock()
		defer mu.Unlock()
		return screen.String()
	}
	asked := cluster.WaitFor(ctx, fmt.Sprintf("%q on the screen", asks), 50*time.Millisecond, func(context.Context) (bool, string, error) {
		select {
		case <-read:
			return false, "", cluster.Permanent(io.EOF)
		default:
			return strings.Contains(shown(), asks), "", nil
		}
	})
	if asked == nil {
		_, asked = person.WriteString(answer())
	}
	if asked != nil {
		_ = cmd.Process.Kill()
	}
	err = cmd.Wait()
	<-read
	if asked != nil {
		err = asked
	}
	return shown(), err
}

// openTerminal gives the two ends of a new terminal.
func openTerminal(width, height uint16) (person, program *os.File, err error) {
	person, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	conn, err := person.SyscallConn()
	if err == nil {
		var number int
		var failed error
		err = conn.Control(func(fd uintptr) {
			if failed = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); failed == nil {
				failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: height})
			}
			if failed == nil {
				number, failed = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
			}
		})
		if err == nil {
			err = failed
		}
		if err == nil {
			program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
		}
	}
	if err != nil {
		_ = person.Close()
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	return person, program, nil
}

func (f *fixture) untilReady(member string) {
	f.t.Helper()
	f.waitFor(member+" to be ready", func(ctx context.Context) (bool, string, error) {
		p := f.pod(member)
		return scenario.Ready(p), scenario.Describe(p), nil
	})
}

// newcomersWait has two of them held back by a reporter that hangs.
func (f *fixture) newcomersWait() {
	f.t.Helper()
	f.must(f.Cluster.PauseContainer(f.ctx, f.namespace, dead, api.ContainerReporter))
	f.waitFor("the controller to miss its heartbeat", func(ctx context.Context) (bool, string, error) {
		states, err := f.states(ctx)
		return strings.Contains(states, dead+"="+string(api.NodeStatusUnknown)), states, err
	})
	for _, rack := range []string{rack1, rack2} {
		f.must(f.Scale(f.ctx, f.namespace, rack, 2))
	}
	f.untilBarrierRuns(rack1 + "-1")
	f.untilBarrierRuns(newcomer)
}

func (f *fixture) reporterHeals() {
	f.t.Helper()
	f.must(f.Cluster.ResumeContainer(f.ctx, f.namespace, dead, api.ContainerReporter))
	f.ready(5)
	f.healthy()
}

// dies makes a member dead in every row.
func (f *fixture) dies(member string) {
	f.t.Helper()
	id := f.hostID(member)
	f.kill(member, rack1+"-0")
	for _, observer := range []string{rack1 + "-0", rack1 + "-1", newcomer} {
		f.untilRow(observer, fmt.Sprintf(`"hostID":"%s","status":"DOWN"`, id))
	}
	f.longDown(member)
}

func (f *fixture) twoDieAndOneIsAskedFor() {
	f.t.Helper()
	f.healthy()
	f.dies(dead)
	f.dies(deadToo)
	f.label(dead, "=")
	f.refusedFor(dead, deadToo)
}

// attemptFails has a replacement that can be resumed.
func (f *fixture) attemptFails(member string) {
	f.t.Helper()
	if r := f.replace(member, "--yes", "--wait=false", atOnce); r.Code != 0 {
		f.t.Fatalf("replace %s: exit %d\n%s%s", member, r.Code, r.Stdout, r.Stderr)
	}
	f.untilRow(rack1+"-0", `"REPLACING"`)
	f.must(f.Cluster.SignalContainer(f.ctx, f.namespace, member, api.ContainerScyllaDB, syscall.SIGKILL))
	f.untilGivenUp()
}

// examples runs those that need no node, and checks that every example of every help is run here or in real Pods.
func (s *scriptStage) examples(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, ".local/bin")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	s.env["PATH"] = s.bin + string(os.PathListSeparator) + folder + string(os.PathListSeparator) + os.Getenv("PATH")
	// What the examples of inject call a person's own manifest, and one that was injected.
	plain := readFile(t, "testdata/plain.yaml")
	for name, text := range map[string]string{
		"scylladb.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: inject}\n---\n" + plain,
		"eu.kubeconfig": readFile(t, s.env["BARE"]),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range offlineExamples {
		out, errs, got := s.run(t, dir, "bash", "-c", strings.ReplaceAll(e.line, helpImage, images.AgentRef))
		if got != e.code || !strings.Contains(out, e.says) {
			t.Errorf("%s\nexit code %d, want %d and %q in:\n%s%s", e.line, got, e.code, e.says, out, errs)
		}
	}
	if out, errs, _ := s.run(t, dir, "kubectl", "__complete", "scylla", "stat"); !strings.Contains(out, "status") {
		t.Errorf("after the examples of completion kubectl does not complete scylla stat:\n%s%s", out, errs)
	}

	program := filepath.Join(s.bin, "kubectl-scylla")
	verbs, errs, code := s.run(t, dir, program, "__complete", "")
	if code != 0 {
		t.Fatalf("list the verbs: exit code %d\n%s", code, errs)
	}
	helps := [][]string{{"--help"}}
	for line := range strings.Lines(verbs) {
		if verb, _, ok := strings.Cut(line, "\t"); ok && verb != "help" {
			helps = append(helps, []string{verb, "--help"})
		}
	}
	known := slices.Concat(offlineExamples, demoExamples)
	seen := map[string]bool{"": true} // steps without a line
	for _, args := range helps {
		stdout, _, code := s.run(t, dir, program, args...)
		lines := examplesOf(stdout)
		if code != 0 || len(lines) < 3 {
			t.Errorf("%s: exit code %d and %d examples, want at least 3:\n%s", strings.Join(args, " "), code, len(lines), stdout)
		}
		for _, line := range lines {
			seen[line] = true
			if !slices.ContainsFunc(known, func(e example) bool { return e.line == line }) {
				t.Errorf("%s has an example that no test runs: %s", strings.Join(args, " "), line)
			}
		}
	}
	reference := readFile(t, "../../docs/reference/commands.md")     // which has those that help leaves out
	for _, command := range []string{"cancel", "resume", "status"} { // whose help has more than the tests run
		stdout, _, _ := s.run(t, dir, program, "replace", command, "--help")
		for _, line := range examplesOf(stdout) {
			seen[line] = true
		}
	}
	for _, e := range known {
		if !seen[e.line] && !strings.Contains(reference, e.line) {
			t.Errorf("no help has this example any more: %s", e.line)
		}
	}
}

// examplesOf gives the command lines of the examples in a help text.
func examplesOf(help string) []string {
	_, rest, _ := strings.Cut(help, "\nExamples:\n")
	rest, _, _ = strings.Cut(rest, "\nUsage:\n")
	var lines []string
	for line := range strings.Lines(rest) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
