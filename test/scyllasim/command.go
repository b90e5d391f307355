// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// VersionFile names the simulated version in an image.
const VersionFile = "/etc/scyllasim/version"

// chooseVersion takes SCYLLASIM_VERSION, else the version file, else the default.
func chooseVersion(env func(string) string) (Version, error) {
	s := env("SCYLLASIM_VERSION")
	if s == "" {
		if b, err := os.ReadFile(VersionFile); err == nil {
			s = strings.TrimSpace(string(b))
		}
	}
	if s == "" {
		s = DefaultVersion
	}
	return ParseVersion(s)
}

// Main is the whole program: args[0] says which command it is, by the name under which the binary was started, or
// else the first argument does (scylla, docker-entrypoint, nodetool, sh).
func Main(args []string) int {
	name := ""
	if len(args) > 0 {
		name = commandName(args[0])
		args = args[1:]
	}
	if name == "" && len(args) > 0 {
		name = commandName(args[0])
		args = args[1:]
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	switch name {
	case "scylla":
		return ServerCommand(ctx, args, os.Getenv, os.Stdout, os.Stderr)
	case "docker-entrypoint":
		return EntrypointCommand(ctx, args, os.Getenv, os.Stdout, os.Stderr)
	case "nodetool":
		return NodetoolCommand(ctx, args, os.Stdout, os.Stderr)
	case "sh":
		return ShellCommand(args, os.Stdin, os.Stdout, os.Stderr)
	}
	_, _ = fmt.Fprintln(os.Stderr, "usage: start as scylla, docker-entrypoint.py, nodetool, sh or bash, or name one of them as the first argument")
	return 2
}

func commandName(arg string) string {
	switch filepath.Base(arg) {
	case "scylla":
		return "scylla"
	case "docker-entrypoint.py", "docker-entrypoint":
		return "docker-entrypoint"
	case "nodetool":
		return "nodetool"
	case "sh", "bash":
		return "sh"
	}
	return ""
}

// boolFlags take a value only in the form --flag=value.
var boolFlags = []string{"overprovisioned", "help", "version", "mmap-backed"}

// oldFlags do not exist in versions that cannot replace by host ID.
const replaceNodeFlag = "replace-node-first-boot"

type flagList [][2]string

// parseFlags reads --name=value, --name value, -name value and bare switches. Order is kept, the last one of a name wins.
func parseFlags(args []string) (flagList, error) {
	var out flagList
	for i := 0; i < len(args); i++ {
		a := args[i]
		name := strings.TrimLeft(a, "-")
		if name == a || name == "" {
			if a == "" || a == "--" {
				continue
			}
			return nil, fmt.Errorf("too many positional options have been specified on the command line: %q", a)
		}
		name, val, has := strings.Cut(name, "=")
		if !has && !slices.Contains(boolFlags, name) && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			i++
			val = args[i]
		}
		out = append(out, [2]string{name, val})
	}
	return out, nil
}

func (l flagList) get(names ...string) string {
	v := ""
	for _, f := range l {
		if slices.Contains(names, f[0]) {
			v = f[1]
		}
	}
	return v
}

// ServerCommand is /usr/bin/scylla: the server, `scylla sstable ...` and `scylla --version`.
func ServerCommand(ctx context.Context, args []string, env func(string) string, stdout, stderr io.Writer) int {
	v, err := chooseVersion(env)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "error:", err)
		return exitFailed
	}
	if len(args) > 0 {
		switch args[0] {
		case "sstable":
			return SSTableCommand(v, args[1:], env, stdout, stderr)
		case "nodetool":
			return NodetoolCommand(ctx, args[1:], stdout, stderr)
		case "server":
			args = args[1:]
		}
	}
	if slices.Contains(args, "--version") {
		_, _ = fmt.Fprintln(stdout, v.Release())
		return exitOK
	}
	o, err := serverOptions(v, args, env)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "error:", err)
		return exitFailed
	}
	o.Log = stderr
	// SIGTERM must not kill the node: it begins a clean stop.
	n, err := StartNode(context.WithoutCancel(ctx), o)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "error:", err)
		return exitFailed
	}
	select {
	case <-ctx.Done():
		n.Stop()
	case <-n.Done():
	}
	return n.ExitCode()
}

func serverOptions(v Version, args []string, env func(string) string) (Options, error) {
	flags, err := parseFlags(args)
	if err != nil {
		return Options{}, err
	}
	if s := flags.get("scyllasim-version"); s != "" {
		if v, err = ParseVersion(s); err != nil {
			return Options{}, err
		}
	}
	for _, f := range flags {
		if f[0] == replaceNodeFlag && !v.replaceByHostID() {
			return Options{}, fmt.Errorf("unrecognised option '--%s=%s'", f[0], f[1])
		}
	}
	o := Options{
		Version: v.String(), Dir: flags.get("workdir", "W"),
		ClusterName: flags.get("cluster-name"), Snitch: flags.get("endpoint-snitch"),
		DC: flags.get("dc"), Rack: flags.get("rack"),
		Seeds:         splitList(flags.get("seeds", "seed-provider-parameters")),
		ListenAddress: flags.get("listen-address"), BroadcastAddress: flags.get("broadcast-address"),
		RPCAddress: flags.get("rpc-address"), APIAddress: flags.get("api-address"),
		ReplaceNodeFirstBoot:    flags.get(replaceNodeFlag),
		ReplaceAddressFirstBoot: flags.get("replace-address-first-boot"),
		ReplaceAddress:          flags.get("replace-address"),
		IgnoreDeadNodes:         splitList(flags.get("ignore-dead-nodes-for-replace")),
	}
	if o.Dir == "" {
		o.Dir = "/var/lib/scylla"
	}
	if err := rackdc(&o, "/etc/scylla/cassandra-rackdc.properties"); err != nil {
		return Options{}, err
	}
	if o.ListenAddress == "" {
		o.ListenAddress = ownAddress()
	}
	for _, a := range []*string{&o.ListenAddress, &o.BroadcastAddress, &o.RPCAddress, &o.APIAddress} {
		if *a, err = resolveOne(*a); err != nil {
			return Options{}, err
		}
	}
	for name, p := range map[string]*int{"storage-port": &o.StoragePort, "api-port": &o.APIPort, "native-transport-port": &o.CQLPort} {
		if s := flags.get(name); s != "" {
			if *p, err = strconv.Atoi(s); err != nil {
				return Options{}, fmt.Errorf("the argument ('%s') for option '--%s' is invalid", s, name)
			}
		}
	}
	for name, p := range map[string]*time.Duration{"failure-detector-timeout-in-ms": &o.FailureDetectorTimeout, "shadow-round-ms": &o.ShadowRound} {
		if s := flags.get(name); s != "" {
			ms, err := strconv.ParseInt(s, 10, 64)
			if err != nil || ms <= 0 {
				return Options{}, fmt.Errorf("the argument ('%s') for option '--%s' is invalid", s, name)
			}
			*p = time.Duration(ms) * time.Millisecond
		}
	}
	if s := env("SCYLLASIM_SPEED"); s != "" {
		if o.Speed, err = strconv.ParseFloat(s, 64); err != nil || o.Speed <= 0 {
			return Options{}, fmt.Errorf("SCYLLASIM_SPEED=%q is not a positive number", s)
		}
	}
	for name, p := range map[string]*time.Duration{
		"SCYLLASIM_STREAM_SECONDS": &o.StreamTime, "SCYLLASIM_TABLET_REBUILD_SECONDS": &o.TabletRebuildTime, "SCYLLASIM_STAGE_SECONDS": &o.StageTime,
	} {
		if s := env(name); s != "" {
			sec, err := strconv.ParseFloat(s, 64)
			if err != nil || sec < 0 {
				return Options{}, fmt.Errorf("%s=%q is not a number of seconds", name, s)
			}
			*p = max(time.Duration(sec*float64(time.Second)), time.Millisecond)
		}
	}
	o.BanNoticeFirst = env("SCYLLASIM_BAN_NOTICE_FIRST") == "1"
	return o, nil
}

// rackdc fills DC and rack from a GossipingPropertyFileSnitch file, if there is one and the flags do not say.
func rackdc(o *Options, file string) error {
	b, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(b)) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch strings.TrimSpace(k) {
		case "dc":
			if o.DC == "" {
				o.DC = strings.TrimSpace(v)
			}
		case "rack":
			if o.Rack == "" {
				o.Rack = strings.TrimSpace(v)
			}
		}
	}
	return nil
}

func resolveOne(s string) (string, error) {
	if s == "" || net.ParseIP(s) != nil {
		return s, nil
	}
	if s == "localhost" {
		return "127.0.0.1", nil
	}
	ips, err := net.LookupHost(s)
	if err != nil || len(ips) == 0 {
		return "", fmt.Errorf("cannot resolve address %q: %w", s, err)
	}
	return ips[0], nil
}

// ownAddress is what `hostname -i` gives in a pod: the first address that others can reach.
func ownAddress() string {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return "127.0.0.1"
	}
	v6 := ""
	for _, a := range addrs {
		n, ok := a.(*net.IPNet)
		if !ok || !n.IP.IsGlobalUnicast() {
			continue
		}
		if n.IP.To4() != nil {
			return n.IP.String()
		}
		if v6 == "" {
			v6 = n.IP.String()
		}
	}
	if v6 != "" {
		return v6
	}
	return "127.0.0.1"
}

// supervisor restarts a program as supervisord does with its defaults: exit code 0 is the end, any other one means again.
type supervisor struct {
	start func() (wait func() int, signal func(os.Signal), err error)
	say   func(format string, args ...any)
	clock Clock
	// minUptime is how long the program must run to count as started; faster deaths back off and end after three retries.
	minUptime time.Duration
	stopWait  time.Duration
}

// run supervises until ctx ends; then it stops the program cleanly. The container outlives a program that ended with 0.
func (s *supervisor) run(ctx context.Context) error {
	retries := 0
	for {
		began := s.clock.Now()
		wait, sig, err := s.start()
		if err != nil {
			return err
		}
		exited := make(chan int, 1)
		go func() { exited <- wait() }()
		var code int
		select {
		case code = <-exited:
		case <-ctx.Done():
			s.say("WARN received SIGTERM indicating exit request")
			sig(syscall.SIGTERM)
			select {
			case <-exited:
			case <-s.clock.After(s.stopWait):
				sig(syscall.SIGKILL)
				<-exited
			}
			s.say("INFO stopped: scylla")
			return nil
		}
		if s.clock.Now().Sub(began) < s.minUptime {
			s.say("INFO exited: scylla (exit status %d; not expected)", code)
			if retries++; retries > 3 {
				s.say("INFO gave up: scylla entered FATAL state, too many start retries too quickly")
				<-ctx.Done()
				return nil
			}
			select {
			case <-s.clock.After(time.Duration(retries) * s.minUptime):
			case <-ctx.Done():
				return nil
			}
			continue
		}
		retries = 0
		if code == 0 {
			s.say("INFO exited: scylla (exit status 0; expected)")
			<-ctx.Done()
			return nil
		}
		s.say("INFO exited: scylla (exit status %d; not expected)", code)
		select {
		case <-s.clock.After(s.minUptime / 2):
		case <-ctx.Done():
			return nil
		}
	}
}

// EntrypointCommand is /docker-entrypoint.py: it runs the server with the same arguments as a child process and supervises it.
func EntrypointCommand(ctx context.Context, args []string, env func(string) string, stdout, stderr io.Writer) int {
	say := func(format string, a ...any) {
		_, _ = fmt.Fprintf(stdout, time.Now().UTC().Format("2006-01-02 15:04:05,000 ")+format+"\n", a...)
	}
	self, err := os.Executable()
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "error: find own binary:", err)
		return 1
	}
	speed := 1.0
	if s, err := strconv.ParseFloat(env("SCYLLASIM_SPEED"), 64); err == nil && s > 0 {
		speed = s
	}
	s := supervisor{
		say: say, clock: NewClock(speed), minUptime: time.Second, stopWait: 15 * time.Minute,
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
	// The child dies with the thread that started it, so this one has to stay.
	runtime.LockOSThread()
	say("INFO supervisord started with pid %d", os.Getpid())
	if err := s.run(ctx); err != nil {
		_, _ = fmt.Fprintln(stderr, "error:", err)
		return 1
	}
	return 0
}

// NodetoolCommand is a small nodetool over the REST API: drain, decommission, removenode, flush, status, info, version.
func NodetoolCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	host, port := "127.0.0.1", "10000"
	var words []string
	ignore := ""
	for i := 0; i < len(args); i++ {
		name, val, has := strings.Cut(args[i], "=")
		take := func() string {
			if has {
				return val
			}
			if i+1 < len(args) {
				i++
				return args[i]
			}
			return ""
		}
		switch name {
		case "-h", "--host":
			host = take()
		case "-p", "--port":
			port = take()
		case "--ignore-dead-nodes":
			ignore = take()
		default:
			words = append(words, args[i])
		}
	}
	if len(words) == 0 {
		_, _ = fmt.Fprintln(stderr, "error processing arguments: missing operation argument")
		return 1
	}
	base := "http://" + net.JoinHostPort(host, port)
	do := func(method, path string) (string, error) {
		req, err := http.NewRequestWithContext(ctx, method, base+path, nil)
		if err != nil {
			return "", err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return "", fmt.Errorf("failed to connect to %s: %w", base, err)
		}
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(resp.Body)
		if err == nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("remote replied with status code %d: %s", resp.StatusCode, b)
		}
		return string(b), err
	}
	var out string
	var err error
	switch words[0] {
	case "drain":
		_, err = do("POST", "/storage_service/drain")
	case "decommission":
		_, err = do("POST", "/storage_service/decommission")
	case "removenode":
		if len(words) < 2 {
			err = errors.New("required parameters are missing: remove-operation")
			break
		}
		_, err = do("POST", "/storage_service/remove_node?host_id="+url.QueryEscape(words[1])+"&ignore_nodes="+url.QueryEscape(ignore))
	case "flush":
		_, err = do("POST", "/storage_service/flush")
	case "version":
		out, err = do("GET", "/storage_service/release_version")
		out = "ReleaseVersion: " + strings.Trim(out, `"`)
	case "info":
		// Not there (404) before the node has joined, and so nodetool info fails, too.
		var id, native string
		if id, err = do("GET", "/storage_service/hostid/local"); err == nil {
			native, err = do("GET", "/storage_service/native_transport")
		}
		out = "ID                     : " + strings.Trim(id, `"`) + "\nNative Transport active: " + native
	case "status":
		var ids, live string
		if ids, err = do("GET", "/storage_service/host_id"); err == nil {
			live, err = do("GET", "/gossiper/endpoint/live")
		}
		out = "host_id: " + ids + "\nlive: " + live
	default:
		err = fmt.Errorf("unrecognized operation argument: %s", words[0])
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "error executing:", err)
		return 1
	}
	if out != "" {
		_, _ = fmt.Fprintln(stdout, out)
	}
	return 0
}
