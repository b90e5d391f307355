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
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Files that the entrypoint of ScyllaDB's image writes before it starts anything, besides $HOME/.cassandra/cqlshrc.
const (
	devModeFile      = "/etc/scylla.d/dev-mode.conf"
	cpusetFile       = "/etc/scylla.d/cpuset.conf"
	ioFile           = "/etc/scylla.d/io.conf"
	ioPropertiesFile = "/etc/scylla.d/io_properties.yaml"
	dockerFile       = "/etc/scylla.d/docker.conf"
	housekeepingFile = "/etc/scylla.d/housekeeping.cfg"
	rackdcFile       = "/etc/scylla/cassandra-rackdc.properties"
	// scyllaYAML is read, not written: a volume over /etc/scylla hides the image's.
	scyllaYAML = "/etc/scylla/scylla.yaml"
)

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
	flags, err := parseFlags(args)
	if err != nil {
		return failed(err)
	}
	if err := writeSetup(setupFiles(flags, env)); err != nil {
		return failed(err)
	}
	if _, err := os.Stat(filepath.Join(rootFolder(env), scyllaYAML)); err != nil {
		say("WARN %s is missing: the entrypoint of ScyllaDB's image would fail here", scyllaYAML)
	}
	speed := 1.0
	if s, err := strconv.ParseFloat(env("SCYLLASIM_SPEED"), 64); err == nil && s > 0 {
		speed = s
	}
	s := &supervisor{
		say: say, clock: newClock(speed), minUptime: time.Second, stopWait: 15 * time.Minute,
		start: func() (func() int, func(os.Signal), error) {
			cmd := exec.Command(self, flags.without("dc", "rack")...)
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

// EntrypointFiles are the paths that the entrypoint of ScyllaDB's image writes when it is started with these arguments.
func EntrypointFiles(args []string, env func(string) string) ([]string, error) {
	flags, err := parseFlags(args)
	if err != nil {
		return nil, fmt.Errorf("read the arguments of the entrypoint: %w", err)
	}
	var paths []string
	for _, f := range setupFiles(flags, env) {
		paths = append(paths, f.path)
	}
	return paths, nil
}

type setupFile struct{ path, content string }

// setupFiles are the files for these arguments, in the order in which the image's entrypoint writes them.
func setupFiles(flags flagList, env func(string) string) []setupFile {
	root := rootFolder(env)
	var out []setupFile
	add := func(path, format string, a ...any) {
		out = append(out, setupFile{filepath.Join(root, path), fmt.Sprintf(format, a...)})
	}
	developer := flags.get("developer-mode") != "0"
	if developer {
		add(devModeFile, "DEV_MODE=--developer-mode=1\n")
	} else {
		add(devModeFile, "")
	}
	if cpus := flags.get("cpuset"); cpus != "" {
		add(cpusetFile, "CPUSET=\"--cpuset %s \"\n", cpus)
	}
	if !developer && flags.get("io-setup") != "0" {
		add(ioFile, "SEASTAR_IO=\"--io-properties-file=%s\"\n", ioPropertiesFile)
		add(ioPropertiesFile, "disks: []\n")
	}
	host := cmp.Or(flags.get("rpc-address"), flags.get("listen-address"), ownAddress())
	out = append(out, setupFile{filepath.Join(cmp.Or(env("HOME"), "/"), ".cassandra", "cqlshrc"), "[connection]\nhostname = " + host + "\n"})
	dc, rack := flags.get("dc"), flags.get("rack")
	if dc != "" || rack != "" {
		var b strings.Builder
		for _, p := range [][2]string{{"dc", dc}, {"rack", rack}} {
			if p[1] != "" {
				b.WriteString(p[0] + "=" + p[1] + "\n")
			}
		}
		add(rackdcFile, "%s", b.String())
	}
	add(dockerFile, "SCYLLA_DOCKER_ARGS=\"%s\"\n", strings.Join(flags.without("dc", "rack", "developer-mode", "cpuset", "io-setup"), " "))
	add(housekeepingFile, "[housekeeping]\ncheck-version: %s\n", map[bool]string{true: "False", false: "True"}[flags.has("disable-version-check")])
	return out
}

// writeSetup writes all files. The error names every one that cannot be written, and what to do.
func writeSetup(files []setupFile) error {
	var errs []error
	for _, f := range files {
		err := os.MkdirAll(filepath.Dir(f.path), 0o755)
		if err == nil {
			err = os.WriteFile(f.path, []byte(f.content), 0o644)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("write %s: %w", f.path, err))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("%w\n%s", errors.Join(errs...), writableCure)
}
