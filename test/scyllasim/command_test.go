// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/run/output"
	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// startProcess runs this test binary under another name, as the image's binary is run.
func startProcess(t *testing.T, name string, env []string, args ...string) (*exec.Cmd, *output.Buffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := &output.Buffer{}
	cmd := exec.Command(self, args...)
	cmd.Args[0] = name
	root := t.TempDir()
	cmd.Env = append(os.Environ(), append([]string{"SCYLLASIM_ROOT=" + root, "HOME=" + root}, env...)...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(out.String())
		}
	})
	return cmd, out
}

var loopbacks atomic.Uint32

// loopback returns an address of this machine that no other process uses: the process ID is in it.
func loopback() string {
	pid := uint32(os.Getpid())
	return fmt.Sprintf("127.%d.%d.%d", 1+63*(loopbacks.Add(1)%4)+pid>>16%63, pid>>8&255, pid&255)
}

// until waits until a process has written a text so many times.
func until(t *testing.T, out *output.Buffer, text string, times int) {
	t.Helper()
	if err := out.Wait(t.Context(), func(all string) bool { return strings.Count(all, text) >= times }); err != nil {
		t.Fatalf("%q is not written %d times: %v", text, times, err)
	}
}

func childPID(t *testing.T, out *output.Buffer) int {
	t.Helper()
	s := out.String()
	i := strings.LastIndex(s, "with pid ")
	line, _, _ := strings.Cut(s[i+len("with pid "):], "\n")
	pid, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestEntrypointSupervises(t *testing.T) {
	t.Parallel()
	ip := loopback()
	env := []string{"SCYLLASIM_SPEED=20", "SCYLLASIM_VERSION=2026.1.0"}
	args := []string{"", "--workdir=" + t.TempDir(), "--listen-address", ip, "--rpc-address=" + ip, "--api-address", ip, "--seeds=" + ip,
		"--smp", "1", "--overprovisioned", "--memory=1G", "--developer-mode=1", "--cluster-name=demo", "--dc=dc1", "--rack=r1"}
	cmd, out := startProcess(t, "/docker-entrypoint.py", env, args...)
	url := "http://" + net.JoinHostPort(ip, "10000")
	hostID := func() string {
		code, body, err := request(t.Context(), "GET", url+"/storage_service/hostid/local")
		if err != nil || code != 200 {
			return ""
		}
		return body
	}
	completed := func(n int) {
		t.Helper()
		until(t, out, "initialization completed", n)
	}
	completed(1)
	id := hostID()
	if _, body, _ := request(t.Context(), "GET", url+"/storage_service/scylla_release_version"); !strings.HasPrefix(body, `"2026.1.0-0.`) {
		t.Errorf("version %s", body)
	}
	if _, body, _ := request(t.Context(), "GET", url+"/failure_detector/endpoints"); !strings.Contains(body, `"r1"`) {
		t.Errorf("rack %s", body)
	}
	for _, tc := range []struct {
		method string
		open   bool
	}{{"GET", true}, {"DELETE", false}, {"POST", true}} {
		if code, body, err := request(t.Context(), tc.method, url+"/storage_service/native_transport"); code != 200 || err != nil {
			t.Errorf("%s native_transport: %d %s %v", tc.method, code, body, err)
		}
		c, err := net.Dial("tcp", net.JoinHostPort(ip, "9042"))
		if (err == nil) != tc.open {
			t.Errorf("CQL port after %s: %v, want it open: %v", tc.method, err, tc.open)
		}
		if err == nil {
			_ = c.Close()
		}
	}
	// A crash: the same data is used again.
	if err := syscall.Kill(childPID(t, out), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	completed(2)
	if got := hostID(); got != id || id == "" {
		t.Errorf("host ID %s after a crash, was %s", got, id)
	}
	// An end with code 0 is final: the container goes on with no scylla in it.
	if err := syscall.Kill(childPID(t, out), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	until(t, out, "exited: scylla (exit status 0; expected)", 1)
	if got := hostID(); got != "" {
		t.Errorf("something answers: %s", got)
	}
	if got := strings.Count(out.String(), "spawned: 'scylla'"); got != 2 {
		t.Errorf("spawned %d times, want 2", got)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("entrypoint: %v", err)
	}
}

func TestEntrypointForwardsSIGTERM(t *testing.T) {
	t.Parallel()
	ip := loopback()
	dir := t.TempDir()
	cmd, out := startProcess(t, "/docker-entrypoint.py", []string{"SCYLLASIM_SPEED=20"},
		"--workdir="+dir, "--listen-address="+ip, "--api-address="+ip, "--seeds="+ip)
	until(t, out, "initialization completed", 1)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("entrypoint: %v", err)
	}
	if got, _, _ := query(t, "2026.2.0", dataFiles(t, dir)...); got != `[{"bootstrapped":"COMPLETED"}]` {
		t.Errorf("a clean stop left %s", got)
	}
}

func TestSupervisor(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		codes  []int
		slow   bool
		starts int
		last   string
		state  string
	}{
		"exit 0 is final":                  {[]int{1, 137, 0}, true, 3, "INFO exited: scylla (exit status 0; expected)", "EXITED"},
		"quick deaths end in FATAL":        {[]int{1, 1, 1, 1}, false, 4, "INFO gave up: scylla entered FATAL state, too many start retries too quickly", "FATAL"},
		"a quick exit 0 is a failed start": {[]int{0, 0, 0, 0}, false, 4, "INFO gave up: scylla entered FATAL state, too many start retries too quickly", "FATAL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var mu sync.Mutex
				starts := 0
				var said []string
				s := &supervisor{
					minUptime: time.Second, stopWait: time.Minute, clock: newClock(1),
					say: func(f string, a ...any) { mu.Lock(); said = append(said, fmt.Sprintf(f, a...)); mu.Unlock() },
					start: func() (func() int, func(os.Signal), error) {
						mu.Lock()
						defer mu.Unlock()
						if starts >= len(tc.codes) {
							return nil, nil, errors.New("started too often")
						}
						code := tc.codes[starts]
						starts++
						return func() int {
							if tc.slow {
								time.Sleep(2 * time.Second)
							}
							return code
						}, func(os.Signal) {}, nil
					},
				}
				done := make(chan error, 1)
				go func() { done <- s.run(ctx) }()
				time.Sleep(patience)
				synctest.Wait() // what follows reads what it has written
				if said[len(said)-1] != tc.last {
					t.Error(said)
				}
				if p := s.processInfo(); p.state != tc.state || p.exit != 0 || p.stop < p.start {
					t.Errorf("supervisord says %+v, want %s", p, tc.state)
				}
				select {
				case err := <-done:
					t.Errorf("the container ended: %v", err)
				default:
				}
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
				if starts != tc.starts {
					t.Errorf("%d starts, want %d", starts, tc.starts)
				}
			})
		})
	}
}

// The container runs on after ScyllaDB has ended in it, and its supervisord says how; it has no other method than the one that is simulated.
func TestNoHarm8SupervisordSaysHowScyllaDBEnded(t *testing.T) {
	t.Parallel()
	ip := loopback()
	env := []string{"SCYLLASIM_SPEED=20", "SCYLLASIM_SUPERVISOR=" + ip + ":9001"}
	_, out := startProcess(t, "/docker-entrypoint.py", env, "--workdir="+t.TempDir(), "--listen-address="+ip, "--api-address="+ip, "--seeds="+ip)
	until(t, out, "initialization completed", 1)
	call := func(method, name string) string {
		t.Helper()
		body := "<?xml version='1.0'?><methodCall><methodName>supervisor." + method + "</methodName><params><param><value><string>" + name + "</string></value></param></params></methodCall>"
		resp, err := http.Post("http://"+ip+":9001/RPC2", "text/xml", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp.Status, err)
		}
		return strings.ReplaceAll(string(b), "\n", "")
	}
	has := func(answer string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(answer, w) {
				t.Errorf("no %s in %s", w, answer)
			}
		}
	}
	has(call("getProcessInfo", "scylla"), "<name>statename</name><value><string>RUNNING</string>", "<name>stop</name><value><int>0</int>")
	has(call("getProcessInfo", "other"), "<fault>", "BAD_NAME")
	has(call("shutdown", "scylla"), "<fault>", "UNKNOWN_METHOD")
	if err := syscall.Kill(childPID(t, out), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	until(t, out, "exited: scylla (exit status 0; expected)", 1)
	has(call("getProcessInfo", "scylla"), "<name>statename</name><value><string>EXITED</string>", "<name>exitstatus</name><value><int>0</int>")
}

func TestServerCommandOptions(t *testing.T) {
	t.Parallel()
	env := func(string) string { return "" }
	v := rules.Version{Major: 2026, Minor: 1}
	o, err := serverOptions(v, []string{"--seeds=a,b", "--listen-address", "10.0.0.1", "--broadcast-address=10.0.0.2", "--api-address=0.0.0.0",
		"--replace-node-first-boot", unknownID, "--ignore-dead-nodes-for-replace=x,y", "--overprovisioned", "--smp", "2", "-W", "/data",
		"--failure-detector-timeout-in-ms=5000", "--some-real-flag=1"}, env)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(o.Seeds, o.ListenAddress, o.BroadcastAddress, o.APIAddress, o.ReplaceNodeFirstBoot, o.IgnoreDeadNodes, o.Dir, o.FailureDetectorTimeout)
	if want := "[a b]10.0.0.110.0.0.20.0.0.0" + unknownID + "[x y]/data5s"; strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
		t.Errorf("%s, want %s", got, want)
	}
	for name, tc := range map[string]struct {
		v    rules.Version
		args []string
		env  map[string]string
		text string
	}{
		"host ID replace before 2023.1": {rules.Version{Major: 2022, Minor: 2}, []string{"--replace-node-first-boot=x"}, nil, "unrecognised option"},
		"host ID replace before 5.2":    {rules.Version{Major: 5, Minor: 1}, []string{"--replace-node-first-boot=x"}, nil, "unrecognised option"},
		"positional":                    {v, []string{"--smp=1", "oops", "--x"}, nil, "positional"},
		"bad port":                      {v, []string{"--api-port=x"}, nil, "invalid"},
		"bad timeout":                   {v, []string{"--failure-detector-timeout-in-ms=-1"}, nil, "invalid"},
		"bad join-ring":                 {v, []string{"--join-ring=perhaps"}, nil, "invalid"},
		"bad keyspaces":                 {v, nil, map[string]string{"SCYLLASIM_KEYSPACES": "app"}, "SCYLLASIM_KEYSPACES"},
		"bad speed":                     {v, nil, map[string]string{"SCYLLASIM_SPEED": "fast"}, "SCYLLASIM_SPEED"},
		"bad stream time":               {v, nil, map[string]string{"SCYLLASIM_STREAM_SECONDS": "-2"}, "SCYLLASIM_STREAM_SECONDS"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := serverOptions(tc.v, tc.args, func(k string) string { return tc.env[k] })
			if err == nil || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("%v, want %q", err, tc.text)
			}
		})
	}
	for arg, want := range map[string]bool{"--join-ring=0": true, "--join-ring=false": true, "--join-ring=1": false, "--smp=1": false} {
		if o, err := serverOptions(v, []string{arg}, env); err != nil || o.ZeroToken != want {
			t.Errorf("%s: zero-token %v, %v", arg, o.ZeroToken, err)
		}
	}
}

func TestNodetool(t *testing.T) {
	inBubble(t, 2, Options{}, func(t *testing.T, c *Cluster) {
		n := c.Node(1)
		run := func(args ...string) (string, int) {
			var out bytes.Buffer
			tool := parseNodetool(t.Context(), append([]string{"-h", n.Address(), "-p", "10000"}, args...))
			tool.client = c.Network.Client()
			code := tool.run(&out, &out)
			return out.String(), code
		}
		if out, code := run("info"); code != 0 || !strings.Contains(out, n.HostID()) {
			t.Errorf("%q %d", out, code)
		}
		if out, code := run("removenode", c.Node(0).HostID()); code != 1 || !strings.Contains(out, "is alive") {
			t.Errorf("%q %d", out, code)
		}
		if out, code := run("drain"); code != 0 || n.Mode() != modeDrained {
			t.Errorf("%q %d %s", out, code, n.Mode())
		}
		if _, code := run("nope"); code != 1 {
			t.Errorf("%d", code)
		}
		if _, code := run(); code != 1 {
			t.Errorf("%d", code)
		}
	})
}

func request(ctx context.Context, method, url string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return 0, "", err
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	var b bytes.Buffer
	_, err = b.ReadFrom(resp.Body)
	return resp.StatusCode, b.String(), err
}
