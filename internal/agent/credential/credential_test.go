// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/credential"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	sim "github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/cql"
)

const plain = "Correct'Horse-Battery-Staple-7"

// pod is one Pod: a node, the folders of the container, and what the reporter does.
type pod struct {
	*runner
	*sim.Cluster
	clock *clocktesting.FakeClock
	log   *bytes.Buffer
	down  bool
}

func newPod(t *testing.T, mode credential.Mode) *pod {
	t.Helper()
	c := sim.New(sim.Options{Release: "2026.1.0", Datacenters: []string{"dc1"}})
	c.Join()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { c.Serve(ctx, l, false); close(done) }()
	p := &pod{Cluster: c, clock: clocktesting.NewFakeClock(time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)), log: &bytes.Buffer{}}
	config := map[string]any{
		"authenticator": "PasswordAuthenticator", "auth_superuser_name": "", "rpc_address": "127.0.0.1", "native_transport_port": l.Addr().(*net.TCPAddr).Port,
		"native_transport_port_ssl": 1, "maintenance_socket": "ignore", "client_encryption_options": map[string]string{},
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, known := config[strings.TrimPrefix(r.URL.Path, "/v2/config/")]
		if r.URL.Path == "/storage_service/scylla_release_version" {
			v, known = "2026.1.0-0.20260801.abcdef012345", true
		}
		if !known || p.down {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(v)
	}))
	t.Cleanup(func() { s.Close(); cancel(); <-done })
	p.runner = &runner{Options: Options{
		Mode: mode, Secret: t.TempDir(), Dir: t.TempDir(), ScyllaDB: scylla.NewClient(s.URL, s.Client()), Clock: p.clock, Log: slog.New(slog.NewTextHandler(p.log, nil)),
	}}
	return p
}

// mount is the kubelet's update of the mounted Secret.
func (p *pod) mount(t *testing.T, username, password string) {
	t.Helper()
	for key, text := range map[string]string{credential.UsernameKey: username, credential.PasswordKey: password} {
		if err := os.WriteFile(filepath.Join(p.Options.Secret, key), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// order has the reporter write an order.
func (p *pod) order(t *testing.T, racks int32, earlier *api.InitialSettings) {
	t.Helper()
	o := credential.Order{At: p.clock.Now(), StatusReportViewCredential: api.StatusReportViewCredential{
		Datacenters: map[string]api.StatusReportViewDatacenter{"dc1": {Racks: racks, Nodes: racks}}, Quiet: true, Settings: earlier,
	}}
	if err := credential.Write(p.file(credential.OrderFile), o); err != nil {
		t.Fatal(err)
	}
}

func (p *pod) result(t *testing.T) credential.Report {
	t.Helper()
	var r credential.Report
	if err := credential.Load(p.file(credential.ReportFile), &r); err != nil && !os.IsNotExist(err) {
		t.Log(err)
	}
	return r
}

// Without an order, and by one that its reporter has not renewed, nobody logs in.
func TestActsOnlyByAnOrder(t *testing.T) {
	p := newPod(t, credential.Managed)
	p.mount(t, "admin", plain)
	p.step(t.Context())
	p.order(t, 1, nil)
	p.clock.Step(31 * time.Second)
	p.step(t.Context())
	if p.Refused() > 0 || len(p.Statements()) > 0 || p.result(t).Credential.Code != "" {
		t.Fatalf("%d refused log-ins, statements %v, %+v", p.Refused(), p.Statements(), p.result(t))
	}
	p.order(t, 1, nil)
	p.step(t.Context())
	if s := p.result(t).Settings; s.Items[0].State != credential.Due || len(p.Statements()) != 2 {
		t.Fatalf("altered before the status has it: %+v, %v", s, p.Statements())
	}
	p.order(t, 1, p.result(t).Settings)
	p.step(t.Context())
	r := p.result(t)
	if r.Credential.Code != credential.Verified || r.Credential.Mode != credential.Managed || r.Settings.Items[0].State != credential.Applied || len(p.Statements()) != 4 {
		t.Fatalf("%+v, %v", r, p.Statements())
	}
	if strings.Contains(p.log.String(), plain) {
		t.Error("the log has the password")
	}
}

// The rounds of one container: confirmed after a minute, then daily; a new Secret and a new rack are reasons at once.
func TestRounds(t *testing.T) {
	p := newPod(t, credential.Managed)
	p.mount(t, "admin", plain)
	logins := 0 // each round asks the default superuser, which is refused once it is closed
	step := func(after time.Duration, racks int32, want credential.Code, more int) {
		t.Helper()
		p.clock.Step(after)
		for range 2 { // the controller stores each result
			p.order(t, racks, p.result(t).Settings)
			p.step(t.Context())
		}
		if r := p.result(t); r.Credential.Code != want || p.Refused() != logins+more {
			t.Errorf("after %s: %+v, %d refused log-ins, want %s and %d", after, r.Credential, p.Refused(), want, logins+more)
		}
		logins = p.Refused()
	}
	step(0, 1, credential.Verified, 2) // the role does not exist yet, and the default is closed
	step(2*time.Second, 1, credential.Verified, 0)
	step(time.Minute, 1, credential.Verified, 1)
	step(time.Hour, 1, credential.Verified, 0)
	step(2*time.Second, 3, credential.Verified, 0)
	if got := p.Replication("system_traces")["dc1"]; got != "3" || !p.result(t).Settings.Items[0].RepairDue {
		t.Errorf("three racks: factor %s, %+v", got, p.result(t).Settings)
	}
	p.mount(t, "admin", plain+"x")
	step(2*time.Second, 3, credential.WrongPassword, 2)
	step(2*time.Second, 3, credential.WrongPassword, 0)
	step(time.Minute, 3, credential.WrongPassword, 2)
	step(time.Minute, 3, credential.WrongPassword, 2)
	step(59*time.Minute, 3, credential.WrongPassword, 0)
	p.mount(t, "admin", plain)
	step(2*time.Second, 3, credential.Verified, 1)
}

// While the default superuser is open, a refused password is not tried again for the settings.
func TestRefusedPasswordIsNotTriedForTheSettings(t *testing.T) {
	p := newPod(t, credential.Managed)
	p.SetRole("admin", sim.Role{Superuser: true, CanLogIn: true, Hash: sim.Hash("another")})
	p.mount(t, "admin", plain)
	p.order(t, 1, nil)
	p.step(t.Context())
	r := p.result(t)
	if r.Credential.Code != credential.DefaultSuperuserOpen || r.Credential.Reason != credential.Incorrect || p.Refused() != 2 { // before and after the creation
		t.Errorf("%+v after %d refused log-ins", r.Credential, p.Refused())
	}
}

// A container that starts again goes on where its file says, and another member's knows what was set.
func TestGoesOn(t *testing.T) {
	p := newPod(t, credential.Managed)
	p.mount(t, "admin", plain)
	for range 2 {
		p.order(t, 1, p.result(t).Settings)
		p.step(t.Context())
	}
	first := p.result(t)
	before := p.Refused()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Run(over, p.Options); err != nil || p.Refused() != before || p.result(t).Settings.Hash != first.Settings.Hash {
		t.Errorf("%v, %d log-ins after the start, %+v", err, p.Refused()-before, p.result(t).Settings)
	}
	other := newPod(t, credential.Managed)
	other.Cluster.SetReplication("system_traces", p.Replication("system_traces"))
	other.mount(t, "admin", plain)
	other.order(t, 3, first.Settings)
	other.step(t.Context())
	other.order(t, 3, other.result(t).Settings)
	other.step(t.Context())
	if got := other.Replication("system_traces")["dc1"]; got != "3" {
		t.Errorf("factor %s: %+v", got, other.result(t).Settings)
	}
}

// A Pod that is recreated before the controller has stored its result: its settings are not another user's.
func TestSettingsOfARecreatedPod(t *testing.T) {
	const steps = 8
	for lost := range steps {
		p := newPod(t, credential.Managed)
		p.mount(t, "admin", plain)
		var status *api.InitialSettings
		for i := range steps + 4 {
			p.order(t, map[bool]int32{true: 1, false: 3}[i < steps/2], status)
			p.step(t.Context())
			p.clock.Step(interval)
			if i == lost {
				if err := os.Remove(p.file(credential.ReportFile)); err != nil {
					t.Fatal(err)
				}
				p.runner = &runner{Options: p.Options}
				continue
			}
			status = p.result(t).Settings
		}
		for _, i := range status.Items {
			if i.State != credential.Applied || i.Replication != "NetworkTopologyStrategy dc1=3" {
				t.Errorf("recreated after step %d: %+v", lost, i)
			}
		}
	}
}

// A node that does not tell its configuration is asked again with growing pauses.
func TestConfigurationUnreadable(t *testing.T) {
	p := newPod(t, credential.Verify)
	p.down = true
	for range 20 { // 40 s: rounds at 0, 10 and 30 s
		p.order(t, 1, nil)
		p.step(t.Context())
		p.clock.Step(2 * time.Second)
	}
	r := p.result(t)
	if r.Credential.Code != credential.Unknown || r.Credential.Reason != credential.ConfigUnreadable || r.Rounds != 3 {
		t.Errorf("%+v", r)
	}
	p.down = false
	p.clock.Step(time.Minute)
	p.order(t, 1, nil)
	p.step(t.Context())
	if r := p.result(t).Credential; r.Code != credential.DefaultSuperuserOpen {
		t.Errorf("%+v", r)
	}
}
