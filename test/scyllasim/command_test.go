// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

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
				starts := 0
				var said []string
				s := &supervisor{
					minUptime: time.Second, stopWait: time.Minute, clock: newClock(1),
					say: func(f string, a ...any) { said = append(said, fmt.Sprintf(f, a...)) },
					start: func() (func() int, func(os.Signal), error) {
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

func TestServerCommandOptions(t *testing.T) {
	t.Parallel()
	env := func(string) string { return "" }
	o, err := serverOptions("2026.1.0", []string{"--seeds=a,b", "--listen-address", "10.0.0.1", "--broadcast-address=10.0.0.2", "--api-address=0.0.0.0",
		"--replace-node-first-boot", unknownID, "--replace-address-first-boot=10.0.0.9", "--ignore-dead-nodes-for-replace=x,y", "--overprovisioned", "--smp", "2", "-W", "/data", "--memory=1G"}, env)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(o.Seeds, o.ListenAddress, o.BroadcastAddress, o.APIAddress, o.ReplaceNodeFirstBoot, o.ReplaceAddressFirstBoot, o.IgnoreDeadNodes, o.Dir)
	if want := "[a b]10.0.0.110.0.0.20.0.0.0" + unknownID + "10.0.0.9[x y]/data"; strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
		t.Errorf("%s, want %s", got, want)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tc := range map[string]struct {
		version   string
		arg       string
		key, text string
	}{
		"host ID replace before 2023.1": {"2022.2.0", "--replace-node-first-boot=x", "", "unrecognised option"},
		"host ID replace before 5.2":    {"5.1.0", "--replace-node-first-boot=x", "", "unrecognised option"},
		"no such option":                {"2026.1.0", "--scyllasim-stage=1", "", "unrecognised option '--scyllasim-stage=1'"},
		"zero-token before 6.2":         {"6.1.0", "--join-ring=0", "", "has no zero-token nodes"},
		"positional":                    {"2026.1.0", "oops", "", "positional"},
		"bad join-ring":                 {"2026.1.0", "--join-ring=perhaps", "", "invalid"},
		"bad keyspaces":                 {"2026.1.0", "", "SCYLLASIM_KEYSPACES", "SCYLLASIM_KEYSPACES"},
		"bad speed":                     {"2026.1.0", "", "SCYLLASIM_SPEED", "SCYLLASIM_SPEED"},
		"bad stream time":               {"2026.1.0", "", "SCYLLASIM_STREAM_SECONDS", "SCYLLASIM_STREAM_SECONDS"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			env := func(k string) string { return map[string]string{"SCYLLASIM_VERSION": tc.version, tc.key: "app"}[k] }
			code := ServerCommand(ended, []string{tc.arg, "--listen-address=127.0.0.1", "--workdir=" + t.TempDir()}, env, &out, &out)
			if code != exitFailed || !strings.Contains(out.String(), tc.text) {
				t.Errorf("code %d, %s, want %q", code, out.String(), tc.text)
			}
		})
	}
	for arg, want := range map[string]bool{"--join-ring=0": true, "--join-ring=false": true, "--join-ring=1": false, "--smp=1": false} {
		if o, err := serverOptions("2026.1.0", []string{arg}, env); err != nil || o.ZeroToken != want {
			t.Errorf("%s: zero-token %v, %v", arg, o.ZeroToken, err)
		}
	}
	for _, bad := range []string{"app", "=dc1:3", "app=", "app=dc1", "app=dc1:x", "app=dc1:-1", "app=tablets"} {
		if got, err := ParseKeyspaces(bad); err == nil {
			t.Errorf("%q is read as %v", bad, got)
		}
	}
}

func TestNodetool(t *testing.T) {
	inBubble(t, 2, Options{}, func(t *testing.T, c *Cluster) {
		n := c.Node(1)
		run := func(args ...string) (string, int) {
			var out bytes.Buffer
			code := nodetool(restTool{ctx: t.Context(), client: c.Network.Client()}, append([]string{"-h", n.Address()}, args...), &out, &out)
			return out.String(), code
		}
		for command, want := range map[string]string{"info": "ID                     : " + n.HostID(), "status": "host_id: [{"} {
			if out, code := run(command); code != 0 || !strings.HasPrefix(out, want) {
				t.Errorf("%q %d", out, code)
			}
		}
		for command, open := range map[string]string{"disablebinary": "false", "enablebinary": "true"} {
			_, code := run(command)
			if _, body := get(t, n, "/storage_service/native_transport"); code != 0 || body != open {
				t.Errorf("%s: exit code %d, %s", command, code, body)
			}
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
	})
}

// TestNoHarm6EntrypointEndsWith0WhereItFails: as the real one does, it logs what it cannot write, starts nothing and ends with code 0.
func TestNoHarm6EntrypointEndsWith0WhereItFails(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		blocked []string // files where the entrypoint needs folders
		args    []string
		want    []string
		absent  string
	}{
		"nothing is writable": {[]string{"etc", "root"}, []string{"--dc=dc1"},
			[]string{"dev-mode.conf", "cassandra-rackdc.properties", "docker.conf", "housekeeping.cfg", ".cassandra/cqlshrc"}, ""},
		"only /etc/scylla is missing, and it is needed": {[]string{"etc/scylla"}, []string{"--rack=r1"}, []string{"cassandra-rackdc.properties"}, "/etc/scylla.d/docker.conf"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for _, b := range tc.blocked {
				if err := writeFileAtomic(filepath.Join(root, b), nil); err != nil {
					t.Fatal(err)
				}
			}
			env := func(k string) string { return map[string]string{"SCYLLASIM_ROOT": root, "HOME": "/root"}[k] }
			var out, errOut bytes.Buffer
			args := append(slices.Clone(tc.args), "--listen-address=127.0.0.1", "--workdir="+root+"/data")
			if code := EntrypointCommand(t.Context(), args, env, &out, &errOut); code != 0 {
				t.Errorf("code %d, want 0", code)
			}
			for _, w := range append(tc.want, "failed!\n", "readOnlyRootFilesystem") {
				if !strings.Contains(out.String(), w) {
					t.Errorf("no %q in %s", w, out.String())
				}
			}
			if tc.absent != "" && strings.Contains(out.String(), root+tc.absent) {
				t.Errorf("%s is named, although it is writable: %s", tc.absent, out.String())
			}
			if strings.Contains(out.String(), "spawned") {
				t.Error("the server was started")
			}
		})
	}
}
