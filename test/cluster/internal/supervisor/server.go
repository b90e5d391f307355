// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// server runs processes as it is told on its control socket.
type server struct {
	config Config
	// ownPID is whether the server is process 1 of a pid namespace: the kernel then ends its children with it, and it
	// inherits orphans that it has to reap.
	ownPID bool
	starts chan func() // run on the one thread that never ends, see startLoop

	// forking is read-locked from before a fork until the child is in children, so that reapOrphans does not take a child whose exit status another
	// goroutine waits for.
	forking sync.RWMutex

	mu       sync.Mutex
	procs    map[string]*process // long-running, by name
	children map[int]bool        // every child started here, running or not yet waited for
}

type process struct {
	cmd  *exec.Cmd
	pipe *os.File      // lifeline of a server
	done chan struct{} // closed after err is set
	err  error
}

func newServer(config Config, ownPID bool) *server {
	s := &server{config: config, ownPID: ownPID, starts: make(chan func()), procs: map[string]*process{}, children: map[int]bool{}}
	go s.startLoop()
	return s
}

// startLoop runs starts on one thread that lives as long as the process: a parent-death signal comes when the starting
// thread ends, not when the starting process does.
func (s *server) startLoop() {
	runtime.LockOSThread()
	for f := range s.starts {
		f()
	}
}

// listen makes the control socket.
func (s *server) listen() (net.Listener, error) {
	// A killed predecessor leaves the file behind. The path is relative to the working directory to be short.
	if err := os.Remove(s.config.Socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove stale control socket: %w", err)
	}
	l, err := net.Listen("unix", s.config.Socket)
	if err != nil {
		return nil, fmt.Errorf("listen on control socket: %w", err)
	}
	return l, nil
}

// serve answers until the listener fails.
func (s *server) serve(l net.Listener) error {
	mux := http.NewServeMux()
	handle(mux, "ping", func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil })
	handle(mux, "start", func(_ context.Context, p Process) (Status, error) { return s.start(p) })
	handle(mux, "status", func(_ context.Context, p Process) (Status, error) { return s.status(p.Name), nil })
	handle(mux, "signal", func(ctx context.Context, r SignalRequest) (struct{}, error) { return struct{}{}, s.signal(ctx, r) })
	handle(mux, "run", s.run)
	return http.Serve(l, mux)
}

func handle[In, Out any](mux *http.ServeMux, verb string, do func(context.Context, In) (Out, error)) {
	mux.HandleFunc("POST /"+verb, func(w http.ResponseWriter, r *http.Request) {
		var in In
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		out, err := do(r.Context(), in)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(out) // an error means that the caller has gone away
	})
}

func (s *server) start(p Process) (Status, error) {
	s.mu.Lock()
	if old, ok := s.procs[p.Name]; ok && old.running() {
		s.mu.Unlock()
		return Status{}, fmt.Errorf("start %s: it runs already as process %d", p.Name, old.cmd.Process.Pid)
	}
	s.mu.Unlock()
	log, err := os.OpenFile(filepath.Join(s.config.Dir, p.Log), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return Status{}, fmt.Errorf("start %s: open log: %w", p.Name, err)
	}
	defer log.Close()
	proc := &process{done: make(chan struct{})}
	if p.Server != nil {
		proc.cmd, proc.pipe, err = serverCommand(*p.Server, log, nil)
		if err != nil {
			return Status{}, fmt.Errorf("start %s: %w", p.Name, err)
		}
	} else {
		proc.cmd = exec.Command(p.Argv[0], p.Argv[1:]...)
		proc.cmd.Env = p.Env
		proc.cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	proc.cmd.Dir = s.config.Dir
	proc.cmd.Stdout, proc.cmd.Stderr = log, log
	proc.cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if err := s.fork(proc.cmd); err != nil {
		return Status{}, fmt.Errorf("start %s: %w", p.Name, err)
	}
	s.mu.Lock()
	s.procs[p.Name] = proc
	s.mu.Unlock()
	go func() {
		proc.err = proc.cmd.Wait()
		if proc.pipe != nil {
			_ = proc.pipe.Close()
		}
		s.forget(proc.cmd.Process.Pid)
		close(proc.done)
	}()
	return proc.status(), nil
}

// fork starts a command on the thread of startLoop and registers the child.
func (s *server) fork(cmd *exec.Cmd) error {
	result := make(chan error)
	s.starts <- func() { result <- s.forkHere(cmd) }
	err := <-result
	for _, f := range cmd.ExtraFiles {
		_ = f.Close() // the child has its copies
	}
	return err
}

func (s *server) forkHere(cmd *exec.Cmd) error {
	s.forking.RLock()
	defer s.forking.RUnlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.children[cmd.Process.Pid] = true
	return nil
}

func (s *server) forget(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.children, pid)
}

func (s *server) find(name string) *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.procs[name]
}

func (s *server) status(name string) Status {
	if p := s.find(name); p != nil {
		return p.status()
	}
	return Status{}
}

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

func (p *process) status() Status {
	if p.running() {
		return Status{PID: p.cmd.Process.Pid, Running: true}
	}
	return Status{PID: p.cmd.Process.Pid, Exit: p.cmd.ProcessState.String()}
}

func (s *server) signal(ctx context.Context, r SignalRequest) error {
	signal := syscall.Signal(r.Signal)
	if r.Name == "" {
		var errs []error
		for _, pid := range r.PIDs {
			if pid <= 1 { // 0, -1 and 1 mean everything
				errs = append(errs, fmt.Errorf("signal process %d: refused", pid))
			} else if err := syscall.Kill(pid, signal); err != nil {
				errs = append(errs, fmt.Errorf("signal process %d: %w", pid, err))
			}
		}
		return errors.Join(errs...)
	}
	p := s.find(r.Name)
	if p == nil || !p.running() {
		return fmt.Errorf("signal %s: it does not run", r.Name)
	}
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %s: %w", r.Name, err)
	}
	if signal != syscall.SIGKILL {
		return nil
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the end of %s: %w", r.Name, ctx.Err())
	}
}

func (s *server) run(ctx context.Context, c Command) (Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Dir = s.config.Dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/", "LC_ALL=C"}
	cmd.Stdin = bytes.NewReader(c.Stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second
	result := make(chan error, 1)
	go func() {
		if c.NetPID != 0 {
			// The thread stays in the other namespace, so it is never unlocked and ends with this goroutine.
			runtime.LockOSThread()
			if err := enterNetwork(c.NetPID); err != nil {
				result <- err
				return
			}
		}
		if err := s.forkHere(cmd); err != nil {
			result <- err
			return
		}
		err := cmd.Wait()
		s.forget(cmd.Process.Pid)
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = nil
		}
		result <- err
	}()
	if err := <-result; err != nil {
		return Result{}, fmt.Errorf("run %s: %w", c.Argv[0], err)
	}
	return Result{Stdout: stdout.Bytes(), Stderr: stderr.Bytes(), Code: cmd.ProcessState.ExitCode()}, nil
}

func enterNetwork(pid int) error {
	path := fmt.Sprintf("/proc/%d/ns/net", pid)
	ns, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open network namespace: %w", err)
	}
	defer ns.Close()
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter network namespace %s: %w", path, err)
	}
	return nil
}

// killAll ends every long-running process and waits until they are gone.
func (s *server) killAll() {
	s.mu.Lock()
	procs := make([]*process, 0, len(s.procs))
	for _, p := range s.procs {
		procs = append(procs, p)
	}
	s.mu.Unlock()
	for _, p := range procs {
		_ = p.cmd.Process.Kill() // gone already: fine
	}
	for _, p := range procs {
		<-p.done
	}
}

// reapOrphans collects the exit status of processes that ended after their parent did: they are children of process 1
// and would stay as zombies.
func (s *server) reapOrphans() {
	for range time.Tick(500 * time.Millisecond) {
		for s.reapOne() {
		}
	}
}

func (s *server) reapOne() bool {
	s.forking.Lock()
	defer s.forking.Unlock()
	// WNOWAIT: examine the process first, because children that were started here are waited for elsewhere.
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err != nil {
		return false
	}
	pid := siginfoPID(&info)
	s.mu.Lock()
	known := s.children[pid]
	s.mu.Unlock()
	if pid == 0 || known {
		return false
	}
	_, err := unix.Wait4(pid, nil, unix.WNOHANG, nil)
	return err == nil
}
