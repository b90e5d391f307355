// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// scyllaYAML is read, not written, by the entrypoint of ScyllaDB's image: a volume over /etc/scylla hides the image's.
const scyllaYAML = "/etc/scylla/scylla.yaml"

const writableCure = "ScyllaDB's entrypoint writes /etc/scylla.d/*, /etc/scylla/cassandra-rackdc.properties and $HOME/.cassandra/cqlshrc. " +
	"Make these folders writable for the container's user: with readOnlyRootFilesystem mount an emptyDir on /etc/scylla.d and on /etc/scylla " +
	"(the latter with a copy of the image's files), and set HOME to a writable folder"

// EntrypointCommand is /docker-entrypoint.py: it writes the configuration that the image's entrypoint writes, then runs the server with
// the same arguments as a child process and supervises it. Like the real one it logs whatever it cannot do, starts nothing then, and ends
// with code 0 (dist/docker/docker-entrypoint.py); the real one names the first file that it cannot write.
func EntrypointCommand(ctx context.Context, args []string, env func(string) string, stdout, stderr io.Writer) int {
	say := func(format string, a ...any) {
		_, _ = fmt.Fprintf(stdout, time.Now().UTC().Format("2006-01-02 15:04:05,000 ")+format+"\n", a...)
	}
	failed := func(err error) int {
		_, _ = fmt.Fprintf(stdout, "failed!\n%v\n", err)
		return 0
	}
	self, err := os.Executable()
	if err != nil {
		return failed(fmt.Errorf("find own binary: %w", err))
	}
	if err := writeSetup(args, env); err != nil {
		return failed(err)
	}
	if _, err := os.Stat(filepath.Join(rootFolder(env), scyllaYAML)); err != nil {
		say("WARN %s is missing: the entrypoint of ScyllaDB's image would fail here", scyllaYAML)
	}
	var o Options
	_ = environment(&o, env) // the server names what it cannot read
	s := &supervisor{
		say: say, clock: newClock(o.Speed), minUptime: time.Second, stopWait: 15 * time.Minute,
		start: func() (func() int, func(os.Signal), error) {
			cmd := exec.Command(self, args...)
			cmd.Args[0] = "scylla"
			cmd.Stdout, cmd.Stderr = stdout, stderr
			cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			if err := cmd.Start(); err != nil {
				return nil, nil, fmt.Errorf("start scylla: %w", err)
			}
			say("INFO spawned: 'scylla' with pid %d", cmd.Process.Pid)
			return func() int {
				_ = cmd.Wait()
				return cmd.ProcessState.ExitCode()
			}, func(sig os.Signal) { _ = cmd.Process.Signal(sig) }, nil
		},
	}
	// The kernel kills the child when the thread that started it ends (Pdeathsig), so this goroutine keeps its thread.
	runtime.LockOSThread()
	say("INFO supervisord started with pid %d", os.Getpid())
	defer s.listen(ctx, cmp.Or(env("SCYLLASIM_SUPERVISOR"), supervisorAddress))()
	if err := s.run(ctx); err != nil {
		return failed(err)
	}
	return 0
}

// rootFolder returns the folder that the paths above are relative to: / unless SCYLLASIM_ROOT is set.
func rootFolder(env func(string) string) string {
	return cmp.Or(env("SCYLLASIM_ROOT"), "/")
}

// EntrypointFiles are the paths that the entrypoint of ScyllaDB's image writes when it is started with these arguments, in its order.
func EntrypointFiles(args []string, env func(string) string) ([]string, error) {
	var developer, cpuset, setup, dc, rack string
	f := newFlags(map[string]*string{"developer-mode": &developer, "cpuset": &cpuset, "io-setup": &setup, "dc": &dc, "rack": &rack})
	if err := parse(f, args); err != nil {
		return nil, fmt.Errorf("read the arguments of the entrypoint: %w", err)
	}
	var out []string
	for _, file := range []struct {
		path    string
		written bool
	}{
		{"/etc/scylla.d/dev-mode.conf", true},
		{"/etc/scylla.d/cpuset.conf", cpuset != ""},
		{"/etc/scylla.d/io.conf", developer == "0" && setup != "0"},
		{"/etc/scylla.d/io_properties.yaml", developer == "0" && setup != "0"},
		{filepath.Join(cmp.Or(env("HOME"), "/"), ".cassandra", "cqlshrc"), true},
		{"/etc/scylla/cassandra-rackdc.properties", dc != "" || rack != ""},
		{"/etc/scylla.d/docker.conf", true},
		{"/etc/scylla.d/housekeeping.cfg", true},
	} {
		if file.written {
			out = append(out, file.path)
		}
	}
	return out, nil
}

// writeSetup writes all files, without their contents. The error names every one that cannot be written, and what to do.
func writeSetup(args []string, env func(string) string) error {
	files, err := EntrypointFiles(args, env)
	if err != nil {
		return err
	}
	var errs []error
	for _, f := range files {
		f = filepath.Join(rootFolder(env), f)
		err := os.MkdirAll(filepath.Dir(f), 0o755)
		if err == nil {
			err = os.WriteFile(f, nil, 0o644)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("write %s: %w", f, err))
		}
	}
	if len(errs) > 0 {
		errs = append(errs, errors.New(writableCure))
	}
	return errors.Join(errs...)
}
