// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/run/golden"
)

// asAgent makes the test binary be scylla-agent, so that signals and exit codes are those of a process.
const asAgent = "SCYLLA_AGENT_TEST_RUN"

func TestMain(m *testing.M) {
	if os.Getenv(asAgent) != "" {
		os.Exit(run())
	}
	os.Exit(m.Run())
}

func agentProcess(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append([]string{asAgent + "=1", "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}, env...)
	return cmd
}

func TestHelp(t *testing.T) {
	for _, name := range []string{"", "reporter", "barrier", "copy-to", "version"} {
		t.Run("scylla-agent "+name, func(t *testing.T) {
			args := []string{"--help"}
			if name != "" {
				args = []string{name, "--help"}
			}
			out, err := agentProcess(t, nil, args...).Output()
			if err != nil {
				t.Fatal(err)
			}
			golden.Text(t, "help-"+strings.TrimSuffix("agent-"+name, "-")+".txt", string(out))
		})
	}
}

// Every flag of these commands is in the manual, which is the package comment.
func TestManualNamesEveryFlag(t *testing.T) {
	manual, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"reporter", "barrier"} {
		help, err := os.ReadFile(filepath.Join("testdata", "help-agent-"+name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(help)) {
			_, flags, ok := strings.Cut(line, "--")
			if !ok || strings.Contains(line, "Usage") {
				continue
			}
			f := "--" + strings.Fields(flags)[0]
			if f != "--help" && f != "--termination-log" && !bytes.Contains(manual, []byte(f)) {
				t.Errorf("%s of %s is not in the manual", f, name)
			}
		}
	}
}

func TestExitCodesAndMessages(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	bootstrapped := write("yes.json", `[{"bootstrapped":"COMPLETED"}]`)
	decommissioned := write("gone.json", `[{"bootstrapped":"DECOMMISSIONED"}]`)
	member := []string{"POD_NAME=demo-rack1-0", "POD_NAMESPACE=demo"}
	for name, c := range map[string]struct {
		env    []string
		args   []string
		code   int
		stderr string
		stdout string
	}{
		"nothing to do":               {code: 2, stderr: "error: specify a subcommand"},
		"unknown subcommand":          {args: []string{"foo"}, code: 2, stderr: `error: unknown command "foo"`},
		"unknown flag":                {args: []string{"barrier", "--foo"}, code: 2, stderr: "error: unknown flag: --foo"},
		"arguments where none go":     {args: []string{"reporter", "x"}, code: 2, stderr: "takes no arguments"},
		"log level":                   {args: []string{"version", "--log-level=loud"}, code: 2, stderr: `unknown --log-level="loud"`},
		"a manifest of before":        {env: member, args: []string{"reporter", "--heartbeat=lease", "--status-report-interval=999ms"}, code: 2, stderr: `inject the manifest again","flag":"--heartbeat"`},
		"interval too short":          {env: member, args: []string{"reporter", "--status-report-interval=999ms"}, code: 2, stderr: "must be at least 1s"},
		"interval is no duration":     {args: []string{"reporter", "--status-report-interval=5"}, code: 2, stderr: "missing unit"},
		"feature gate":                {args: []string{"barrier", "--feature-gates=Foo=true"}, code: 2, stderr: `--feature-gates: unknown feature gate "Foo"`},
		"version":                     {args: []string{"barrier", "--scylla-version=latest"}, code: 2, stderr: "--scylla-version"},
		"no Pod":                      {args: []string{"barrier"}, code: 2, stderr: "POD_NAMESPACE"},
		"not in a Pod":                {env: member, args: []string{"reporter"}, code: 1, stderr: "specify --kubeconfig"},
		"kubeconfig that is not":      {env: member, args: []string{"reporter", "--kubeconfig=" + filepath.Join(dir, "absent")}, code: 1, stderr: "absent"},
		"port that is taken":          {env: member, args: []string{"reporter", "--kubeconfig=" + kubeconfig(t, "http://127.0.0.1:1"), "--health-probe-bind-address=256.0.0.1:1"}, code: 1, stderr: "listen on 256.0.0.1:1"},
		"bootstrapped needs nothing":  {env: member, args: []string{"barrier", "--query-file=" + bootstrapped}, stderr: "AlreadyBootstrapped"},
		"gate off needs nothing":      {env: member, args: []string{"barrier", "--feature-gates=BootstrapSynchronisation=false"}, stderr: "feature gate BootstrapSynchronisation is off"},
		"decommissioned refuses":      {env: member, args: []string{"barrier", "--query-file=" + decommissioned}, code: 2, stderr: "data-demo-rack1-0"},
		"version in one line":         {args: []string{"version"}, stdout: "scylla-agent "},
		"version as JSON":             {args: []string{"version", "-o", "json"}, stdout: `"goVersion"`},
		"version as what":             {args: []string{"version", "-o", "xml"}, code: 2, stderr: `unknown --output="xml"`},
		"copy nowhere":                {args: []string{"copy-to"}, code: 2, stderr: "requires exactly one path"},
		"copy into what is not there": {args: []string{"copy-to", filepath.Join(dir, "no", "agent")}, code: 1, stderr: "copy "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := agentProcess(t, c.env, c.args...)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			err := cmd.Run()
			if code := cmd.ProcessState.ExitCode(); code != c.code {
				t.Errorf("exit code %d (%v), want %d\n%s", code, err, c.code, &stderr)
			}
			if !strings.Contains(stderr.String(), c.stderr) || !strings.Contains(stdout.String(), c.stdout) {
				t.Errorf("stdout %q, want %q; stderr %q, want %q", &stdout, c.stdout, &stderr, c.stderr)
			}
			if c.stdout == "" && stdout.Len() > 0 {
				t.Errorf("prints %q to standard output", &stdout)
			}
			if said := strings.Count(stderr.String(), "error: ") + strings.Count(stderr.String(), `"level":"ERROR"`); c.code != 0 && said != 1 {
				t.Errorf("says it %d times:\n%s", said, &stderr)
			}
		})
	}
}

func TestCopyToPutsAnExecutable(t *testing.T) {
	to := filepath.Join(t.TempDir(), "scylla-agent")
	for range 2 { // the second time over the existing files
		if out, err := agentProcess(t, nil, "copy-to", to).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	info, err := os.Stat(to)
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Fatalf("%v, %v", info, err)
	}
	cmd := exec.Command(to, "version")
	cmd.Env = []string{asAgent + "=1"}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "scylla-agent ") {
		t.Errorf("%v\n%s", err, out)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(to), ".scylla-agent-*")); len(left) > 0 {
		t.Errorf("leaves %v", left)
	}
}

func kubeconfig(t *testing.T, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	content := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":%q}}],
"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":{}}]}`, server)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A process that is told to stop: the barrier was interrupted and says so, a reporter ends well.
func TestSIGTERM(t *testing.T) {
	const nobody = "http://127.0.0.1:1"
	// An API server that has the reporter's Pod and nothing else.
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"demo-rack1-0","namespace":"demo","uid":"u"}}`)
	}))
	defer s.Close()
	member := []string{"POD_NAME=demo-rack1-0", "POD_NAMESPACE=demo", "POD_UID=u"}
	for name, c := range map[string]struct {
		args  []string
		until string
		code  int
	}{
		"barrier":  {[]string{"barrier", "--metrics-bind-address=0", "--kubeconfig=" + kubeconfig(t, nobody)}, "APIUnreachable", 130},
		"reporter": {[]string{"reporter", "--health-probe-bind-address=0", "--scylla-api=" + nobody, "--kubeconfig=" + kubeconfig(t, s.URL)}, "no status report", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := agentProcess(t, member, c.args...)
			pipe, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			watchdog := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
			defer watchdog.Stop()
			said := false
			var log strings.Builder
			for scan := bufio.NewScanner(pipe); scan.Scan(); {
				fmt.Fprintln(&log, scan.Text())
				var line struct{ Time, Level, Msg string }
				if err := json.Unmarshal(scan.Bytes(), &line); err != nil || line.Time == "" || line.Level == "" || line.Msg == "" {
					t.Errorf("not a line of JSON: %s", scan.Text())
				}
				if !said && strings.Contains(scan.Text(), c.until) {
					said = true
					_ = cmd.Process.Signal(syscall.SIGTERM)
				}
			}
			err = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != c.code || !said {
				t.Errorf("exit code %d (%v), want %d\n%s", code, err, c.code, &log)
			}
		})
	}
}
