// SPDX-License-Identifier: Apache-2.0

package cql

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/credential"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	sim "github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/cql"
)

const (
	authenticator = "org.apache.cassandra.auth.PasswordAuthenticator"
	plain         = "Correct'Horse-Battery-Staple-7"
)

// A round leaves no connection and no goroutine of the driver behind: the container runs for months.
func TestMain(m *testing.M) {
	code := m.Run()
	err := goleak.Find()
	for range 20 { // a heartbeat that was left behind ends at its first beat
		if err != nil {
			err = goleak.Find()
		}
	}
	if err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// After the session's end no goroutine of the driver can connect again.
func TestNoConnectionAfterTheEnd(t *testing.T) {
	n := start(t, sim.Options{Release: "2026.1.0"}, false)
	n.Join()
	c, err := Detect(t.Context(), n.rest)
	if err != nil {
		t.Fatal(err)
	}
	closed := &atomic.Bool{}
	d := dialer{ctx: t.Context(), config: c, closed: closed, connect: (&net.Dialer{}).DialContext}
	if conn, err := d.DialHost(t.Context(), nil); err != nil {
		t.Fatal(err)
	} else {
		conn.Conn.Close()
	}
	closed.Store(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err := d.DialHost(t.Context(), nil)
		t.Errorf("the goroutine goes on: %v", err)
	}()
	<-done
}

// A connection ends with its round, and not with the driver's own time limit.
func TestConnectionEndsWithItsRound(t *testing.T) {
	n := start(t, sim.Options{Release: "2026.1.0"}, false)
	c, err := Detect(t.Context(), n.rest)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	d, err := dialer{ctx: ctx, config: c, closed: &atomic.Bool{}, connect: (&net.Dialer{}).DialContext}.DialHost(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Conn.Close()
	cancel()
	_ = d.Conn.SetReadDeadline(time.Now().Add(stepTimeout)) // fails where the connection has ended already
	if _, err := d.Conn.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("its round is over: %v", err)
	}
}

// node is one node: the simulated CQL on its sockets, and the REST answers of its configuration.
type node struct {
	*sim.Cluster
	config map[string]any
	rest   *scylla.Client
	socket string
}

// certificate is self-signed.
func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	x := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"scylla-client.ns.svc"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, x, x, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// start runs a node; its client encryption is on with secure.
func start(t *testing.T, o sim.Options, secure bool) *node {
	t.Helper()
	n := &node{Cluster: sim.New(o)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if secure {
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{certificate(t)}})
	}
	dir, err := os.MkdirTemp("", "cql") // t.TempDir() can be longer than a socket's path may be
	if err != nil {
		t.Fatal(err)
	}
	n.socket = filepath.Join(dir, "cql.m")
	u, err := net.Listen("unix", n.socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{}, 2)
	for l, socket := range map[net.Listener]bool{l: false, u: true} {
		go func() { n.Serve(ctx, l, socket); done <- struct{}{} }()
	}
	n.config = map[string]any{
		"authenticator": authenticator, "auth_superuser_name": o.Superuser, "rpc_address": "0.0.0.0", "native_transport_port": port, "native_transport_port_ssl": unused,
		"maintenance_socket": "workdir", "workdir,W": dir, "client_encryption_options": map[string]string{"enabled": fmt.Sprint(secure)},
	}
	if o.AllowAll {
		n.config["authenticator"] = "org.apache.cassandra.auth.AllowAllAuthenticator"
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, ok := strings.CutPrefix(r.URL.Path, "/v2/config/")
		v, known := n.config[name]
		switch {
		case strings.Contains(name, "salted"):
			t.Errorf("%s was requested", r.URL.Path)
		case r.URL.Path == "/storage_service/scylla_release_version":
			v, known = o.Release+"-0.20260801.abcdef012345", true
		case !ok:
			known = false
		}
		if !known {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(v)
	}))
	n.rest = scylla.NewClient(s.URL, s.Client())
	t.Cleanup(func() {
		s.Close()
		cancel()
		<-done
		<-done
		os.RemoveAll(dir)
	})
	return n
}

// unused is a port on which nothing listens: TCP's own service of that number has long been gone.
const unused = 1

func (n *node) round(t *testing.T, mode credential.Mode, username, password string) api.RootCredential {
	t.Helper()
	c, err := Detect(t.Context(), n.rest)
	if err != nil {
		t.Fatal(err)
	}
	in := credential.Input{Mode: mode, Config: c, Secret: credential.Secret{Username: username, Password: credential.PasswordOf(password)}}
	if username == "" {
		in.SecretReason = credential.SecretAbsent
	}
	return credential.Round(t.Context(), Database{c}, in)
}

func text(r api.RootCredential) string {
	return strings.TrimRight(fmt.Sprintf("%s %s %s %s", r.Code, r.Default, r.Reason, r.Server), " ")
}

// Each generation over TCP, TLS and the maintenance socket.
func TestRound(t *testing.T) {
	old, young := sim.Options{Release: "2026.1.0"}, sim.Options{Release: "2026.2.0"}
	root := func(o sim.Options) sim.Options {
		o.Superuser, o.Salted = "root", sim.Hash(plain)
		return o
	}
	tests := map[string]struct {
		options            sim.Options
		secure             bool
		mode               credential.Mode
		username, password string
		change             func(*node)
		want               string
		statements         int
	}{
		"up to 2026.1, managed":               {old, false, credential.Managed, "Admin", plain, nil, "Verified closed", 2},
		"up to 2026.1, managed, TLS":          {old, true, credential.Managed, "Admin", plain, nil, "Verified closed", 2},
		"2025.1, managed":                     {sim.Options{Release: "2025.1.0"}, false, credential.Managed, "o'brien", plain, nil, "Verified closed", 2},
		"roles in system_auth":                {sim.Options{Release: "2025.1.0"}, false, credential.Managed, "Admin", plain, func(n *node) { n.SetLegacy() }, "Verified closed", 2},
		"from 2026.2, managed":                {young, false, credential.Managed, "Admin", plain, nil, "Verified closed", 1},
		"from 2026.2, managed, TLS":           {young, true, credential.Managed, "Admin", plain, nil, "Verified closed", 1},
		"from 2026.2, socket closed":          {young, false, credential.Managed, "Admin", plain, func(n *node) { n.config["maintenance_socket"] = "ignore" }, "Pending closed SocketClosed", 0},
		"socket by its path":                  {young, false, credential.Managed, "Admin", plain, func(n *node) { n.config["maintenance_socket"] = n.socket }, "Verified closed", 1},
		"socket of an unknown work directory": {young, false, credential.Managed, "Admin", plain, func(n *node) { delete(n.config, "workdir,W") }, "Pending closed Unreachable", 0},
		"upgraded, default still open": {young, false, credential.Managed, "Admin", plain, func(n *node) {
			n.SetRole("cassandra", sim.Role{Superuser: true, CanLogIn: true, Hash: sim.Hash("cassandra")})
		}, "Verified closed", 2},
		"verify, open default": {old, false, credential.Verify, "", "", nil, "DefaultSuperuserOpen open", 0},
		"verify, closed default": {old, false, credential.Verify, "", "", func(n *node) {
			n.SetRole("cassandra", sim.Role{Superuser: true, CanLogIn: true, Hash: sim.Hash(plain)})
		}, "Verified closed", 0},
		"verify, default without LOGIN":    {old, false, credential.Verify, "", "", func(n *node) { n.SetRole("cassandra", sim.Role{Hash: sim.Hash("cassandra")}) }, "Verified closed", 0},
		"verify, Secret":                   {young, true, credential.Verify, "Admin", plain, func(n *node) { n.SetRole("Admin", sim.Role{Superuser: true, CanLogIn: true, Hash: sim.Hash(plain)}) }, "Verified closed", 0},
		"verify, another case":             {young, true, credential.Verify, "admin", plain, func(n *node) { n.SetRole("Admin", sim.Role{Superuser: true, CanLogIn: true, Hash: sim.Hash(plain)}) }, "WrongPassword closed", 0},
		"verify, no superuser":             {young, false, credential.Verify, "app", plain, func(n *node) { n.SetRole("app", sim.Role{CanLogIn: true, Hash: sim.Hash(plain)}) }, "Missing closed RoleNotSuperuser", 0},
		"managed, no Secret":               {old, false, credential.Managed, "", "", nil, "DefaultSuperuserOpen open SecretAbsent", 0},
		"another password, default open":   {old, false, credential.Managed, "Admin", plain, func(n *node) { n.SetRole("Admin", sim.Role{Superuser: true, CanLogIn: true, Hash: sim.Hash("x")}) }, "DefaultSuperuserOpen open Incorrect", 1},
		"another password, socket":         {young, false, credential.Managed, "Admin", plain, func(n *node) { n.SetRole("Admin", sim.Role{Superuser: true, CanLogIn: true, Hash: sim.Hash("x")}) }, "WrongPassword closed", 1},
		"another password, default closed": {old, false, credential.Managed, "Admin", plain, func(n *node) { n.SetRole("cassandra", sim.Role{Hash: sim.Hash("cassandra")}) }, "WrongPassword closed", 0},
		"role without LOGIN":               {old, false, credential.Managed, "Admin", plain, func(n *node) { n.SetRole("Admin", sim.Role{Superuser: true, Hash: sim.Hash(plain)}) }, "DefaultSuperuserOpen open RoleCannotLogIn", 0},
		"default is no superuser":          {old, false, credential.Managed, "Admin", plain, func(n *node) { n.SetRole("cassandra", sim.Role{CanLogIn: true, Hash: sim.Hash("cassandra")}) }, "Pending open Refused 0x2100", 1},
		"Secret is the default":            {old, false, credential.Managed, "cassandra", "cassandra", nil, "DefaultSuperuserOpen open SecretIsDefault", 0},
		"by configuration, socket":         {root(old), false, credential.Verify, "", "", nil, "ByConfiguration closed", 0},
		"by configuration, from 2026.2":    {root(young), true, credential.Verify, "", "", nil, "ByConfiguration closed", 0},
		"by configuration, no socket":      {root(old), false, credential.Verify, "", "", func(n *node) { n.config["maintenance_socket"] = "ignore" }, "Unknown closed SocketClosed", 0},
		"by configuration, Secret":         {root(old), false, credential.Verify, "root", plain, func(n *node) { n.config["maintenance_socket"] = "ignore" }, "ByConfiguration closed", 0},
		"by configuration, another Secret": {root(old), false, credential.Verify, "Admin", plain, func(n *node) {
			n.config["maintenance_socket"] = "ignore"
			n.SetRole("root", sim.Role{})
			n.SetRole("Admin", sim.Role{Superuser: true, CanLogIn: true, Hash: sim.Hash(plain)})
		}, "Verified closed", 0},
		"by configuration, role gone": {root(young), false, credential.Managed, "", "", func(n *node) { n.SetRole("root", sim.Role{}) }, "Pending closed RoleAbsent", 0},
		"no authentication":           {sim.Options{Release: "2026.1.0", AllowAll: true}, false, credential.Managed, "Admin", plain, nil, "NotApplicable unknown", 0},
		"certificate of the client": {old, true, credential.Managed, "Admin", plain, func(n *node) {
			n.config["client_encryption_options"] = map[string]string{"enabled": "true", "require_client_auth": "true"}
		}, "Unknown unknown ClientCertificate", 0},
		"TLS on one side": {old, false, credential.Managed, "Admin", plain, func(n *node) { n.config["client_encryption_options"] = map[string]string{"enabled": "True"} }, "Unknown unknown TLSFailed", 0},
		"nothing listens": {old, false, credential.Managed, "Admin", plain, func(n *node) { n.config["native_transport_port"] = n.config["native_transport_port_ssl"] }, "Unknown unknown Unreachable", 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := start(t, tc.options, tc.secure)
			n.Join()
			if tc.change != nil {
				tc.change(n)
			}
			roles := n.Roles()
			if got := text(n.round(t, tc.mode, tc.username, tc.password)); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
			if s := n.Statements(); len(s) != tc.statements {
				t.Errorf("%d statements, want %d: %v", len(s), tc.statements, s)
			}
			for role, was := range roles {
				if now := n.Roles()[role]; now != was && (role != "cassandra" || tc.statements != 2) {
					t.Errorf("role %s was changed: %+v, then %+v", role, was, now)
				}
			}
			limit := 2
			if strings.HasPrefix(tc.want, "WrongPassword") && tc.statements > 0 { // the role exists: it logs in once more
				limit = 3
			}
			if n.Refused() > limit {
				t.Errorf("%d log-ins were refused in one round", n.Refused())
			}
		})
	}
}

// Until the node has joined, its socket has no roles; a moment later the next round makes one.
func TestSocketIsNotReadyYet(t *testing.T) {
	n := start(t, sim.Options{Release: "2026.2.0"}, false)
	if got := text(n.round(t, credential.Managed, "Admin", plain)); got != "Pending closed ManagerNotReady 0x0000" {
		t.Error(got)
	}
	n.Join()
	if got := text(n.round(t, credential.Managed, "Admin", plain)); got != "Verified closed" {
		t.Error(got)
	}
}

// The connection ends before or after each change; the rounds that follow finish what was begun.
func TestConnectionEndsAtEachChange(t *testing.T) {
	for _, release := range []string{"2026.1.0", "2026.2.0"} {
		for _, verb := range []string{"CREATE", "ALTER"} {
			for _, fault := range []sim.Fault{sim.Before, sim.After} {
				if release == "2026.2.0" && verb == "ALTER" {
					continue
				}
				t.Run(fmt.Sprint(release, verb, fault), func(t *testing.T) {
					t.Parallel()
					n := start(t, sim.Options{Release: release}, false)
					n.Join()
					n.SetFault(func(s string) sim.Fault {
						if strings.HasPrefix(s, verb) {
							return fault
						}
						return sim.None
					})
					if r := n.round(t, credential.Managed, "Admin", plain); r.Code != credential.Pending || r.Server != "" {
						t.Errorf("%+v", r)
					}
					n.SetFault(nil)
					if got := text(n.round(t, credential.Managed, "Admin", plain)); got != "Verified closed" {
						t.Error(got)
					}
				})
			}
		}
	}
}

// A refusal that is no definite answer leaves the state unknown.
func TestUnclearRefusals(t *testing.T) {
	tests := map[string]struct {
		code int
		text string
		want credential.Reason
	}{
		"wrong":           {0x0100, "Username and/or password are incorrect", credential.Incorrect},
		"no role":         {0x0100, "User x doesn't exist - create it with CREATE USER query first", credential.Incorrect},
		"no LOGIN":        {0x0100, "x is not permitted to log in", credential.RoleCannotLogIn},
		"could not read":  {0x0100, "Could not verify password", credential.Refused},
		"no quorum":       {0x0100, "Cannot achieve consistency level for cl QUORUM. Requires 2, alive 1", credential.Refused},
		"other number":    {0x2200, "Username and/or password are incorrect", credential.Refused},
		"exists":          {0x2200, "Role x already exists.", credential.Exists},
		"not ready":       {0x0000, "role manager: CREATE operation not available because manager not ready yet (role operations not enabled)", credential.ManagerNotReady},
		"maintenance":     {0x0000, "role manager: CREATE operation not available through maintenance socket in maintenance mode", credential.Refused},
		"syntax, quoting": {0x2000, "line 1:0 no viable alternative at input '" + plain + "'", credential.Refused},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f, ok := errors.AsType[*credential.Failure](failure(t.Context(), answer{tc.code, tc.text}))
			if !ok || f.Reason != tc.want || f.Server != tc.code || strings.Contains(fmt.Sprintf("%v %+v", f, f), "Horse") {
				t.Errorf("%+v, want %s", f, tc.want)
			}
		})
	}
}

// answer is a driver's error with ScyllaDB's number.
type answer struct {
	code int
	text string
}

func (a answer) Code() int       { return a.code }
func (a answer) Message() string { return a.text }
func (a answer) Error() string   { return a.text }

func TestOwnAddress(t *testing.T) {
	_, pod, _ := net.ParseCIDR("10.1.2.3/24")
	pod.IP = net.ParseIP("10.1.2.3")
	own := []net.Addr{&net.IPNet{IP: net.ParseIP("127.0.0.1"), Mask: net.CIDRMask(8, 32)}, pod}
	for text, want := range map[string]bool{"127.0.0.1": true, "127.0.0.9": true, "::1": true, "10.1.2.3": true, "10.1.2.4": false, "192.0.2.1": false} {
		if got := isOwn(&net.TCPAddr{IP: net.ParseIP(text), Port: 9042}, own); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

// elsewhere is a connection with an address that is not this Pod's.
type elsewhere struct{ net.Conn }

func (elsewhere) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP("192.0.2.1"), Port: 9042} }

// A name or a route that leads out of the Pod gets no password: the connection is closed before anything is written.
func TestNoConnectionOutOfThePod(t *testing.T) {
	here, there := net.Pipe()
	d := dialer{ctx: t.Context(), config: credential.Config{Addresses: []credential.Address{{HostPort: "db.example:9042"}, {HostPort: "db.example:9142", TLS: true}}}, closed: &atomic.Bool{},
		connect: func(context.Context, string, string) (net.Conn, error) { return elsewhere{here}, nil }}
	if host, err := d.DialHost(t.Context(), nil); !errors.Is(err, errNotLocal) {
		t.Fatalf("%v, %v", host, err)
	}
	if n, err := there.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("read %d bytes, %v", n, err)
	}
}

func TestAddresses(t *testing.T) {
	tests := map[string]struct {
		a    scylla.Authentication
		want []credential.Address
	}{
		"everywhere":         {scylla.Authentication{Address: "0.0.0.0", Port: 9042, TLSPort: 9142}, []credential.Address{{HostPort: "127.0.0.1:9042"}}},
		"everywhere by IPv6": {scylla.Authentication{Address: "::", Port: 9042}, []credential.Address{{HostPort: "[::1]:9042"}}},
		"one address":        {scylla.Authentication{Address: "10.0.0.1", Port: 9042}, []credential.Address{{HostPort: "10.0.0.1:9042"}}},
		"a name":             {scylla.Authentication{Address: "localhost", Port: 9042}, []credential.Address{{HostPort: "localhost:9042"}}},
		"TLS":                {scylla.Authentication{Address: "fd00::1", Port: 9042, TLSPort: 9142, TLS: true}, []credential.Address{{HostPort: "[fd00::1]:9142", TLS: true}, {HostPort: "[fd00::1]:9042", TLS: true}}},
	}
	for name, tc := range tests {
		if got := addresses(tc.a); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// apply applies the settings of a quiet cluster of one node, once the status has them.
func apply(t *testing.T, c credential.Config, in credential.Input, dc string) (s api.InitialSettings) {
	t.Helper()
	order := &api.StatusReportViewCredential{Datacenters: map[string]api.StatusReportViewDatacenter{dc: {Racks: 1, Nodes: 1}}, Quiet: true}
	for range 2 {
		stored := s
		order.Settings = &stored
		s = credential.Apply(t.Context(), Database{c}, in, s, order, time.Now())
	}
	return s
}

// The settings over the network, with ScyllaDB's own refusal of a datacenter that does not exist.
func TestSettings(t *testing.T) {
	n := start(t, sim.Options{Release: "2026.2.0", Datacenters: []string{"dc1"}}, true)
	n.Join()
	n.round(t, credential.Managed, "Admin", plain)
	c, err := Detect(t.Context(), n.rest)
	if err != nil {
		t.Fatal(err)
	}
	in := credential.Input{Mode: credential.Managed, Config: c, Secret: credential.Secret{Username: "Admin", Password: credential.PasswordOf(plain)}}
	if s := apply(t, c, in, "dc9"); s.Items[0].State != credential.Waiting || s.Items[0].Reason != credential.Refused {
		t.Errorf("%+v", s)
	}
	s := apply(t, c, in, "dc1")
	for _, i := range s.Items {
		if now := n.Replication(i.Name); i.State != credential.Applied || now["dc1"] != "1" || now["class"] != "org.apache.cassandra.locator.NetworkTopologyStrategy" {
			t.Errorf("%+v: %v", i, now)
		}
	}
}

// A round ends with its context even where the other side never answers.
func TestNoAnswer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		if c, err := l.Accept(); err == nil {
			defer c.Close()
			_, _ = c.Read(make([]byte, 9)) // the driver waits for the answer from here on
			cancel()
			<-t.Context().Done()
		}
	}()
	d := Database{credential.Config{Addresses: []credential.Address{{HostPort: l.Addr().String()}}}}
	if _, err := d.Open(ctx, credential.Login{}); err == nil || err.Error() != string(credential.TimedOut) {
		t.Errorf("%v", err)
	}
}

// Nothing that a round leaves has the password, its hash or the statement with it; the same search finds a planted one.
func TestNothingHasThePassword(t *testing.T) {
	var left bytes.Buffer
	log := slog.New(slog.NewTextHandler(&left, nil))
	collect := func(v any) {
		fmt.Fprintf(&left, "%v\n%+v\n%#v\n", v, v, v)
		_ = json.NewEncoder(&left).Encode(v)
		log.Info("a line", "value", v)
	}
	hashes := []string{}
	for _, release := range []string{"2026.1.0", "2026.2.0"} {
		n := start(t, sim.Options{Release: release, Datacenters: []string{"dc1"}}, false)
		if release == "2026.1.0" {
			n.Join()
		}
		n.SetFault(func(s string) sim.Fault {
			return map[bool]sim.Fault{true: sim.After}[strings.HasPrefix(s, "ALTER ROLE")]
		})
		for range 3 {
			collect(n.round(t, credential.Managed, "Admin", plain))
			n.Join()
		}
		n.SetFault(nil)
		c, err := Detect(t.Context(), n.rest)
		if err != nil {
			t.Fatal(err)
		}
		s := credential.Secret{Username: "Admin", Password: credential.PasswordOf(plain)}
		in := credential.Input{Mode: credential.Managed, Config: c, Secret: s}
		collect(in)
		settings := apply(t, c, in, "dc1")
		collect(api.CredentialReport{Credential: n.round(t, credential.Managed, "Admin", plain), Settings: &settings})
		collect(n.round(t, credential.Managed, "Admin", plain+"x"))
		session, err := Database{c}.Open(t.Context(), credential.Login{Secret: s})
		if err != nil {
			t.Fatal(err)
		}
		collect(session.Create(t.Context(), s))
		collect(session.Alter(t.Context(), "CREATE USER 'x' WITH PASSWORD "+credential.Quote(plain)))
		session.Close()
		_, err = Database{c}.Open(t.Context(), credential.Login{Secret: credential.Secret{Username: "nobody", Password: credential.PasswordOf(plain)}})
		collect(err)
		name := filepath.Join(t.TempDir(), "result.json")
		if err := credential.Write(name, api.CredentialReport{Credential: n.round(t, credential.Managed, "Admin", plain)}); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		left.Write(b)
		hashes = append(hashes, n.Roles()["Admin"].Hash)
	}
	secrets := append(hashes, plain)
	if found := leaks(left.String(), secrets); len(found) > 0 || left.Len() < 2000 {
		t.Errorf("of %d bytes, these have a password or a hash:\n%s", left.Len(), strings.Join(found, "\n"))
	}
	for _, s := range secrets {
		planted := left
		collect(struct{ Text string }{s})
		if len(leaks(left.String(), secrets)) == 0 {
			t.Errorf("the search does not find a planted %q", s)
		}
		left = planted
	}
}

// leaks are the lines that have a secret.
func leaks(text string, secrets []string) (lines []string) {
	for line := range strings.Lines(text) {
		if slices.ContainsFunc(secrets, func(s string) bool { return s == "" || strings.Contains(line, s) }) {
			lines = append(lines, line)
		}
	}
	return lines
}
