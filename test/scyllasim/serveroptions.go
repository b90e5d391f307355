// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// newFlags are flags of the real image: those that are not added are accepted and ignored.
func newFlags(texts map[string]*string) *pflag.FlagSet {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.ParseErrorsAllowlist.UnknownFlags = true
	for name, to := range texts {
		f.StringVar(to, name, "", "")
	}
	return f
}

func parse(f *pflag.FlagSet, args []string) error {
	err := f.Parse(slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "" || a == "--" }))
	if err == nil && f.NArg() > 0 {
		err = fmt.Errorf("too many positional options have been specified on the command line: %q", f.Args())
	}
	return err
}

// ignored are options of the real server that change nothing here. It ends by any other option, as the real one does: a test
// whose option is not known would stage something else than it says.
var ignored = []string{
	"api-port", "authorizer", "blocked-reactor-notify-ms", "broadcast-rpc-address", "cpuset", "data-file-directories", "default-log-level", "developer-mode", "disable-version-check",
	"endpoint-snitch", "io-properties-file", "io-setup", "log-to-stdout", "log-to-syslog", "maintenance-mode", "memory", "network-stack",
	"options-file", "overprovisioned", "prometheus-address", "smp",
}

// serverOptions reads the server's flags and the environment.
func serverOptions(version string, args []string, env func(string) string) (Options, error) {
	o := Options{Version: version}
	var seeds, ignore string
	f := newFlags(map[string]*string{
		"cluster-name": &o.ClusterName, "dc": &o.DC, "rack": &o.Rack, "seeds": &seeds,
		"listen-address": &o.ListenAddress, "broadcast-address": &o.BroadcastAddress, "rpc-address": &o.RPCAddress, "api-address": &o.APIAddress,
		"replace-node-first-boot": &o.ReplaceNodeFirstBoot, "replace-address-first-boot": &o.ReplaceAddressFirstBoot,
		"ignore-dead-nodes-for-replace": &ignore,
		"authenticator":                 &o.Authenticator, "maintenance-socket": &o.MaintenanceSocket,
	})
	f.StringVarP(&o.Dir, "workdir", "W", "/var/lib/scylla", "")
	ring := f.Bool("join-ring", true, "")
	for _, a := range args {
		name, is := strings.CutPrefix(strings.SplitN(a, "=", 2)[0], "--")
		if is && name != "" && f.Lookup(name) == nil && !slices.Contains(ignored, name) {
			return o, fmt.Errorf("unrecognised option '%s'", a)
		}
	}
	if err := parse(f, args); err != nil {
		return o, err
	}
	o.Seeds, o.IgnoreDeadNodes, o.ZeroToken = splitList(seeds), splitList(ignore), !*ring
	if o.ListenAddress == "" {
		o.ListenAddress = ownAddress()
	}
	return o, environment(&o, env)
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
