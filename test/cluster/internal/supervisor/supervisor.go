// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// cleanupLimit bounds how long the removal of control groups and files is tried.
const cleanupLimit = 20 * time.Second

// Main is the supervisor binary: args are a role (keep, serve) and its Config in JSON.
func Main(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: supervisor keep|serve CONFIG; package test/cluster starts it")
	}
	var config Config
	if err := json.Unmarshal([]byte(args[1]), &config); err != nil {
		return fmt.Errorf("decode configuration: %w", err)
	}
	switch args[0] {
	case "keep":
		return keep(config)
	case "serve":
		return serve(config)
	}
	return fmt.Errorf("unknown role %q", args[0])
}

// KeeperCommand returns the command that starts a keeper with the supervisor binary at path, its standard output and
// error going to log. The keeper ends when the returned lifeline is closed, and so when the calling process ends.
// listener (may be nil) is where the keeper's server accepts connections to forward.
func KeeperCommand(path string, config Config, log, listener *os.File) (cmd *exec.Cmd, lifeline *os.File, err error) {
	cmd, lifeline, err = roleCommand(path, "keep", config, log, listener)
	if err != nil {
		return nil, nil, err
	}
	// A session of its own: Ctrl-C at the terminal, or a kill of the caller's process group, must not end the keeper
	// before it has cleaned up.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, lifeline, nil
}

func serverCommand(config Config, log, listener *os.File) (cmd *exec.Cmd, lifeline *os.File, err error) {
	cmd, lifeline, err = roleCommand("/proc/self/exe", "serve", config, log, listener)
	if err != nil {
		return nil, nil, err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET}
	return cmd, lifeline, nil
}

func roleCommand(path, role string, config Config, log, listener *os.File) (cmd *exec.Cmd, lifeline *os.File, err error) {
	text, err := json.Marshal(config)
	if err != nil {
		return nil, nil, fmt.Errorf("encode configuration: %w", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("make lifeline: %w", err)
	}
	cmd = exec.Command(path, role, string(text))
	cmd.Args[0] = "supervisor"
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{r} // lifelineFD
	if listener != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, listener) // listenerFD
	}
	return cmd, w, nil
}

// lifelineEnd is closed when the process at the other end of the lifeline is gone.
func lifelineEnd() <-chan struct{} {
	unix.CloseOnExec(lifelineFD)
	end := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.NewFile(lifelineFD, "lifeline"))
		close(end)
	}()
	return end
}

// keep is the keeper: see the package comment.
func keep(config Config) error {
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	parentGone := lifelineEnd()
	owner, err := Owner(os.Getpid())
	if err != nil {
		return err
	}
	defer Cleanup(owner, config.Remove)
	if err := os.Chdir(config.Dir); err != nil {
		return fmt.Errorf("enter state directory: %w", err)
	}
	s := newServer(config, false)
	defer s.killAll()
	failed := make(chan error, 1)
	if config.Inner == nil {
		l, err := s.listen()
		if err != nil {
			return err
		}
		go func() { failed <- s.serve(l) }()
	} else {
		if err := MakeCgroups(owner, config.Cgroups); err != nil {
			return err
		}
		if err := s.keepInner(config, failed); err != nil {
			return err
		}
	}
	select {
	case <-parentGone:
		return nil
	case <-term:
		return nil
	case err := <-failed:
		return err
	}
}

// keepInner starts the cluster's server in namespaces of its own and reports its end to failed.
func (s *server) keepInner(config Config, failed chan<- error) error {
	var listener *os.File
	if config.Inner.Forward != "" {
		unix.CloseOnExec(listenerFD)
		listener = os.NewFile(listenerFD, "listener")
	}
	cmd, lifeline, err := serverCommand(*config.Inner, os.Stderr, listener)
	if err != nil {
		return err
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	p := &process{cmd: cmd, pipe: lifeline, done: make(chan struct{})}
	if err := s.fork(cmd); err != nil {
		return fmt.Errorf("start server in new namespaces (this needs root): %w", err)
	}
	s.procs["server"] = p
	go func() {
		p.err = cmd.Wait()
		close(p.done)
		failed <- fmt.Errorf("server ended: %s", cmd.ProcessState)
	}()
	return nil
}

// serve is process 1 of new namespaces: see the package comment.
func serve(config Config) error {
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE, syscall.SIGTERM)
	parentGone := lifelineEnd()
	if err := prepareMounts(config); err != nil {
		return err
	}
	for name, value := range config.Sysctls {
		if err := os.WriteFile(filepath.Join("/proc/sys", name), []byte(value), 0o644); err != nil {
			return fmt.Errorf("set sysctl: %w", err)
		}
	}
	if err := os.Chdir(config.Dir); err != nil {
		return fmt.Errorf("enter state directory: %w", err)
	}
	s := newServer(config, true)
	go s.reapOrphans()
	if config.Forward != "" {
		unix.CloseOnExec(listenerFD)
		l, err := net.FileListener(os.NewFile(listenerFD, "listener"))
		if err != nil {
			return fmt.Errorf("take over listener: %w", err)
		}
		go forward(l, config.Forward)
	}
	l, err := s.listen()
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- s.serve(l) }()
	select {
	case <-parentGone: // the kernel ends the rest with us
		return nil
	case err := <-failed:
		return err
	}
}

// forward hands connections accepted outside the network namespace (the listener was made there) to address inside.
func forward(l net.Listener, address string) {
	for {
		outside, err := l.Accept()
		if err != nil {
			fmt.Fprintf(os.Stderr, "forward to %s: accept: %v\n", address, err)
			time.Sleep(50 * time.Millisecond)
			continue
		}
		go func() {
			defer outside.Close()
			inside, err := net.DialTimeout("tcp", address, 10*time.Second)
			if err != nil {
				return // the client sees its connection closed, as with a server that is down
			}
			defer inside.Close()
			var wg sync.WaitGroup
			wg.Go(func() { pipe(inside, outside) })
			wg.Go(func() { pipe(outside, inside) })
			wg.Wait()
		}()
	}
}

func pipe(to, from net.Conn) {
	if _, err := io.Copy(to, from); err != nil {
		_ = to.Close()
		_ = from.Close()
		return
	}
	_ = to.(*net.TCPConn).CloseWrite()
}

// siginfoPID returns si_pid. On 64-bit Linux it follows three ints and their padding.
func siginfoPID(info *unix.Siginfo) int {
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(info), 16)))
}
