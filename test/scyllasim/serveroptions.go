// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// boolFlags take a value only in the form --flag=value.
var boolFlags = []string{"overprovisioned", "help", "version", "mmap-backed", "disable-version-check"}

// replaceNodeFlag does not exist in versions that cannot replace by host ID.
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

// serverOptions reads the server's flags and the environment.
func serverOptions(v rules.Version, args []string, env func(string) string) (Options, error) {
	flags, err := parseFlags(args)
	if err != nil {
		return Options{}, err
	}
	for _, f := range flags {
		if f[0] == replaceNodeFlag && !v.ReplaceByHostID() {
			return Options{}, fmt.Errorf("unrecognised option '--%s=%s'", f[0], f[1])
		}
	}
	o := Options{
		Version: v.String(), Dir: cmp.Or(flags.get("workdir", "W"), "/var/lib/scylla"),
		ClusterName: flags.get("cluster-name"), Snitch: flags.get("endpoint-snitch"),
		DC: flags.get("dc"), Rack: flags.get("rack"),
		Seeds:                splitList(flags.get("seeds", "seed-provider-parameters")),
		ReplaceNodeFirstBoot: flags.get(replaceNodeFlag),
		Authenticator:        flags.get("authenticator"),
		Superuser:            flags.get("auth-superuser-name"),
		Salted:               flags.get("auth-superuser-salted-password"),
		MaintenanceSocket:    flags.get("maintenance-socket"),
		IgnoreDeadNodes:      splitList(flags.get("ignore-dead-nodes-for-replace")),
		ZeroToken:            slices.Contains([]string{"false", "0"}, flags.get("join-ring")),
	}
	err = errors.Join(rackdc(&o, filepath.Join(rootFolder(env), rackdcFile)), addressFlags(&o, flags), numberFlags(&o, flags), environment(&o, env))
	return o, err
}

func addressFlags(o *Options, flags flagList) error {
	for _, a := range []struct {
		flag string
		to   *string
	}{
		{"listen-address", &o.ListenAddress}, {"broadcast-address", &o.BroadcastAddress}, {"rpc-address", &o.RPCAddress}, {"api-address", &o.APIAddress},
	} {
		ip, err := resolveOne(flags.get(a.flag))
		if err != nil {
			return err
		}
		*a.to = ip
	}
	if o.ListenAddress == "" {
		o.ListenAddress = ownAddress()
	}
	return nil
}

// numberFlags reads ports, times in milliseconds and the one boolean that takes a value.
func numberFlags(o *Options, flags flagList) error {
	invalid := func(name string) error {
		return fmt.Errorf("the argument ('%s') for option '--%s' is invalid", flags.get(name), name)
	}
	for name, p := range map[string]*int{"storage-port": &o.StoragePort, "api-port": &o.APIPort, "native-transport-port": &o.CQLPort} {
		if s := flags.get(name); s != "" {
			port, err := strconv.Atoi(s)
			if err != nil {
				return invalid(name)
			}
			*p = port
		}
	}
	for name, p := range map[string]*time.Duration{"failure-detector-timeout-in-ms": &o.FailureDetectorTimeout, "shadow-round-ms": &o.ShadowRound} {
		if s := flags.get(name); s != "" {
			ms, err := strconv.ParseInt(s, 10, 64)
			if err != nil || ms <= 0 {
				return invalid(name)
			}
			*p = time.Duration(ms) * time.Millisecond
		}
	}
	if s := flags.get("join-ring"); s != "" {
		join, err := strconv.ParseBool(s)
		if err != nil {
			return invalid("join-ring")
		}
		o.ZeroToken = !join
	}
	return nil
}

// environment reads the variables that are the simulator's own.
func environment(o *Options, env func(string) string) error {
	var err error
	if s := env("SCYLLASIM_SPEED"); s != "" {
		if o.Speed, err = strconv.ParseFloat(s, 64); err != nil || o.Speed <= 0 {
			return fmt.Errorf("SCYLLASIM_SPEED=%q is not a positive number", s)
		}
	}
	if s := env("SCYLLASIM_STREAM_SECONDS"); s != "" {
		sec, err := strconv.ParseFloat(s, 64)
		if err != nil || sec < 0 {
			return fmt.Errorf("SCYLLASIM_STREAM_SECONDS=%q is not a number of seconds", s)
		}
		o.StreamTime = max(time.Duration(sec*float64(time.Second)), time.Millisecond)
	}
	o.CQLTLS = env("SCYLLASIM_CQL_TLS") == "1"
	o.CQLHolds = splitList(env("SCYLLASIM_CQL_HOLDS"))
	if o.Keyspaces, err = ParseKeyspaces(env("SCYLLASIM_KEYSPACES")); err != nil {
		return fmt.Errorf("SCYLLASIM_KEYSPACES: %w", err)
	}
	return nil
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
		if to := map[string]*string{"dc": &o.DC, "rack": &o.Rack}[strings.TrimSpace(k)]; to != nil {
			*to = cmp.Or(*to, strings.TrimSpace(v))
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
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	return "127.0.0.1"
}

func (l flagList) has(name string) bool {
	return slices.ContainsFunc(l, func(f [2]string) bool { return f[0] == name })
}

// without returns the flags as arguments, except the named ones. A bare switch and an empty value are both "--name=".
func (l flagList) without(names ...string) []string {
	var out []string
	for _, f := range l {
		if !slices.Contains(names, f[0]) {
			out = append(out, "--"+f[0]+"="+f[1])
		}
	}
	return out
}
