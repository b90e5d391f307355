// SPDX-License-Identifier: Apache-2.0

package real

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim"
)

// speed of the simulated ScyllaDB's own time.
const speed = 10

// processes is an Engine without containers: each node is a process of scyllasim's entrypoint, with a folder as its volume and a
// loopback address.
type processes struct {
	dir, version, net string
	nodes             map[string]*process
}

type process struct {
	cmd     *exec.Cmd
	address string
}

// programs that this test binary is under these names.
var programs = []string{"scylla", "docker-entrypoint.py", "nodetool", "sh"}

func TestMain(m *testing.M) {
	switch name := filepath.Base(os.Args[0]); {
	case slices.Contains(programs, name):
		os.Exit(scyllasim.Main(os.Args))
	case name == "docker" || name == "kubectl":
		os.Exit(fakeEngine(os.Args))
	}
	os.Exit(m.Run())
}

func newProcesses(t *testing.T, version string) *processes {
	t.Helper()
	p := &processes{dir: t.TempDir(), version: version, nodes: map[string]*process{}}
	p.net = fmt.Sprintf("127.%d.%d", 64+os.Getpid()%128, os.Getpid()/128%256)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range programs[1:] {
		if err := os.Symlink(self, p.at(name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = p.Close(context.WithoutCancel(t.Context())) })
	return p
}

func (p *processes) at(name string) string { return filepath.Join(p.dir, name) }

func (p *processes) About(context.Context) (engine, digest string, err error) {
	return "processes", "", nil
}

func (p *processes) Address(number int) string { return p.net + "." + strconv.Itoa(10+number) }

func (p *processes) Start(_ context.Context, node, address string, args []string) error {
	root := p.at("root-" + node)
	if err := os.MkdirAll(p.volume(node), 0o755); err != nil {
		return err
	}
	log, err := os.Create(p.at(node + ".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	args = append([]string{"--workdir=" + p.volume(node)}, args...)
	for _, a := range []string{"listen", "api", "rpc", "broadcast"} {
		args = append(args, "--"+a+"-address="+address)
	}
	cmd := exec.Command(p.at("docker-entrypoint.py"), args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "SCYLLASIM_ROOT="+root, "HOME="+root, "SCYLLASIM_VERSION="+p.version,
		"SCYLLASIM_SPEED="+strconv.Itoa(speed), "SCYLLASIM_SUPERVISOR="+address+":9001")
	p.nodes[node] = &process{cmd, address}
	return cmd.Start()
}

func (p *processes) End(ctx context.Context, node string, kill bool) (logs []string, exit int, err error) {
	n, sig := p.nodes[node], syscall.SIGTERM
	if kill {
		sig = syscall.SIGKILL
	}
	_ = n.cmd.Process.Signal(sig)
	_ = n.cmd.Wait()
	delete(p.nodes, node)
	logs, err = p.Logs(ctx, node)
	if exit = n.cmd.ProcessState.ExitCode(); exit < 0 {
		exit = 137
	}
	return logs, exit, err
}

func (p *processes) Logs(_ context.Context, node string) ([]string, error) {
	b, err := os.ReadFile(p.at(node + ".log"))
	return lines(string(b)), err
}

func (p *processes) Exec(ctx context.Context, node string, args ...string) Result {
	return Command(ctx, p.at(args[0]), append([]string{"-h", p.nodes[node].address}, args[1:]...)...)
}

func (p *processes) Probe(ctx context.Context, node string, args ...string) Result {
	var out bytes.Buffer
	address := "" // nothing runs on the volume's own
	if n := p.nodes[node]; n != nil {
		address = n.address
	}
	err := (&Probe{Address: address, Dir: p.volume(node), Shell: p.at("sh"), Simulated: true}).Run(ctx, args, &out)
	if err != nil {
		return Result{Err: err.Error(), Exit: 1}
	}
	return Result{Out: out.String()}
}

func (p *processes) OnVolume(ctx context.Context, node string, args ...string) Result {
	if err := os.MkdirAll(p.volume(node), 0o755); err != nil {
		return Result{Err: err.Error(), Exit: -1}
	}
	return p.Probe(ctx, node, args...)
}

func (p *processes) Clone(_ context.Context, from, to string) error {
	return os.CopyFS(p.volume(to), os.DirFS(p.volume(from)))
}

func (p *processes) Close(ctx context.Context) error {
	for node := range p.nodes {
		_, _, _ = p.End(ctx, node, true)
	}
	return nil
}

func (p *processes) volume(node string) string { return p.at("volume-" + node) }
