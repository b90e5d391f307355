// SPDX-License-Identifier: Apache-2.0

package real

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// label marks what the recorder creates: nothing else is ever removed.
const label = "kubectl-scylla-recorder"

// Engine runs the containers of one image. A node's container and volume have the node's name; its address stays the same.
type Engine interface {
	// About names the engine and its version, and the image's ID.
	About(ctx context.Context) (engine, digest string, err error)
	// Address is the address of the node with this number.
	Address(number int) string
	// Start creates a node's container with its volume, and starts it.
	Start(ctx context.Context, node, address string, args []string) error
	// End ends the container (with SIGKILL for all of it, or by SIGTERM) and removes it, not its volume.
	End(ctx context.Context, node string, kill bool) (logs []string, exit int, err error)
	Logs(ctx context.Context, node string) ([]string, error)
	// Exec runs a command in the node's container. Probe runs the recorder's own program there.
	Exec(ctx context.Context, node string, args ...string) Result
	Probe(ctx context.Context, node string, args ...string) Result
	// OnVolume runs a probe in a container of its own on the volume of a node that may be running.
	OnVolume(ctx context.Context, node string, args ...string) Result
	// Clone copies the volume of a node that is not running.
	Clone(ctx context.Context, from, to string) error
	// Close removes all that was created.
	Close(ctx context.Context) error
}

// Result is the end of a command; Exit is -1 if it did not start.
type Result struct {
	Out, Err string
	Exit     int
}

func (r Result) failed() error {
	if r.Exit == 0 {
		return nil
	}
	return fmt.Errorf("exit code %d: %s", r.Exit, strings.TrimSpace(r.Err+" "+r.Out))
}

// Command runs a program of this machine.
func Command(ctx context.Context, name string, args ...string) Result {
	cmd := exec.CommandContext(ctx, name, args...)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	if cmd.ProcessState == nil && err != nil {
		return Result{Err: err.Error(), Exit: -1}
	}
	return Result{out.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// Docker is docker or podman, which have the same commands.
type Docker struct {
	program, image, binary, subnet string
}

const prefix = "ks-record-"

// NewDocker makes the network. binary is the recorder's own program for the image's platform. It fails if there is a recording
// already: containers with these names may be somebody's.
func NewDocker(ctx context.Context, program, image, binary string) (*Docker, error) {
	d := &Docker{program: program, image: image, binary: binary}
	if r := d.run(ctx, "ps", "-aq", "--filter", "label="+label); r.Exit != 0 || r.Out != "" {
		return nil, errors.Join(r.failed(), fmt.Errorf("%s has containers of another recording, or cannot list them; "+
			"if none runs, remove those with the label %s", program, label))
	}
	if d.run(ctx, "image", "inspect", image).Exit != 0 {
		if err := d.run(ctx, "pull", image).failed(); err != nil {
			return nil, fmt.Errorf("pull the image: %w", err)
		}
	}
	var errs []error
	for _, subnet := range []string{"10.213.77", "172.29.77", "192.168.213"} {
		err := d.run(ctx, "network", "create", "--label", label, "--subnet", subnet+".0/24", prefix+"net").failed()
		if err == nil {
			d.subnet = subnet
			return d, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("create a network: %w", errors.Join(errs...))
}

func (d *Docker) run(ctx context.Context, args ...string) Result {
	return Command(ctx, d.program, args...)
}

// About implements Engine.
func (d *Docker) About(ctx context.Context) (engine, digest string, err error) {
	v, id := d.run(ctx, "--version"), d.run(ctx, "image", "inspect", "--format", "{{.Id}}", d.image)
	return strings.TrimSpace(v.Out), strings.TrimSpace(id.Out), errors.Join(v.failed(), id.failed())
}

// Address implements Engine. The engine itself counts from 2.
func (d *Docker) Address(number int) string { return d.subnet + "." + strconv.Itoa(100+number) }

// Start implements Engine.
func (d *Docker) Start(ctx context.Context, node, address string, args []string) error {
	create := []string{"--network", prefix + "net", "--ip", address, "--hostname", node, "--volume", prefix + node + ":/var/lib/scylla"}
	if err := d.create(ctx, prefix+node, create, args); err != nil {
		return err
	}
	return d.run(ctx, "start", prefix+node).failed()
}

// create makes the node's volume where it is missing, a container, and puts the probe in.
func (d *Docker) create(ctx context.Context, name string, options, args []string) error {
	for _, o := range options {
		volume, _, is := strings.Cut(o, ":/")
		if is && d.run(ctx, "volume", "inspect", volume).Exit != 0 {
			if err := d.run(ctx, "volume", "create", "--label", label, volume).failed(); err != nil {
				return err
			}
		}
	}
	line := append([]string{"create", "--name", name, "--label", label}, options...)
	if err := d.run(ctx, append(append(line, d.image), args...)...).failed(); err != nil {
		return err
	}
	return d.run(ctx, "cp", d.binary, name+":/record").failed()
}

// once runs a container to its end.
func (d *Docker) once(ctx context.Context, options []string, args ...string) Result {
	name := prefix + "once"
	defer d.run(ctx, "rm", "-f", name)
	if err := d.create(ctx, name, append(options, "--user", "0", "--network", prefix+"net"), args); err != nil {
		return Result{Err: err.Error(), Exit: -1}
	}
	return d.run(ctx, "start", "--attach", name)
}

// End implements Engine.
func (d *Docker) End(ctx context.Context, node string, kill bool) (logs []string, exit int, err error) {
	end := []string{"stop", "-t", "120", prefix + node}
	if kill {
		end = []string{"kill", "--signal", "KILL", prefix + node}
	}
	err = d.run(ctx, end...).failed()
	code := d.run(ctx, "wait", prefix+node)
	exit, parse := strconv.Atoi(strings.TrimSpace(code.Out))
	logs, failed := d.Logs(ctx, node)
	return logs, exit, errors.Join(err, parse, failed, d.run(ctx, "rm", "-f", prefix+node).failed())
}

// Logs implements Engine.
func (d *Docker) Logs(ctx context.Context, node string) ([]string, error) {
	out, err := exec.CommandContext(ctx, d.program, "logs", prefix+node).CombinedOutput() // in the order of both streams
	return lines(string(out)), err
}

// lines are the lines of a log, the last ones if there are too many.
func lines(log string) []string {
	const most = 4000
	out := strings.Split(strings.TrimRight(log, "\n"), "\n")
	return out[max(0, len(out)-most):]
}

// Exec implements Engine.
func (d *Docker) Exec(ctx context.Context, node string, args ...string) Result {
	return d.run(ctx, append([]string{"exec", prefix + node}, args...)...)
}

// Probe implements Engine.
func (d *Docker) Probe(ctx context.Context, node string, args ...string) Result {
	return d.Exec(ctx, node, append([]string{"/record", "probe"}, args...)...)
}

// OnVolume implements Engine.
func (d *Docker) OnVolume(ctx context.Context, node string, args ...string) Result {
	return d.once(ctx, []string{"--volume", prefix + node + ":/var/lib/scylla", "--entrypoint", "/record"},
		append([]string{"probe"}, args...)...)
}

// Clone implements Engine.
func (d *Docker) Clone(ctx context.Context, from, to string) error {
	return d.once(ctx, []string{"--volume", prefix + from + ":/from", "--volume", prefix + to + ":/var/lib/scylla", "--entrypoint", "/bin/sh"},
		"-c", "cp -a /from/. /var/lib/scylla/").failed()
}

// Close implements Engine.
func (d *Docker) Close(ctx context.Context) error {
	var errs []error
	for _, kind := range []struct{ list, remove []string }{
		{[]string{"ps", "-aq"}, []string{"rm", "-f"}},
		{[]string{"volume", "ls", "-q"}, []string{"volume", "rm"}},
		{[]string{"network", "ls", "-q"}, []string{"network", "rm"}},
	} {
		ids := d.run(ctx, append(kind.list, "--filter", "label="+label)...)
		if all := strings.Fields(ids.Out); len(all) > 0 {
			errs = append(errs, d.run(ctx, append(kind.remove, all...)...).failed())
		}
		errs = append(errs, ids.failed())
	}
	return errors.Join(errs...)
}
