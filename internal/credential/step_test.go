// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

const password = "org.apache.cassandra.auth.PasswordAuthenticator"

// What a round knows, and what it does next.
func TestNext(t *testing.T) {
	old := Config{Authenticator: password}
	configured := Config{Authenticator: password, Superuser: "root"}
	young := Config{Authenticator: password, Socket: "/var/lib/scylla/cql.m", SocketRoles: true}
	lost := &Failure{Reason: Unreachable, Server: -1}
	tests := map[string]struct {
		facts  Facts
		action Action
		want   string // code, reason
	}{
		"no authentication":                   {Facts{Config: Config{Authenticator: "org.apache.cassandra.auth.AllowAllAuthenticator"}}, Stop, "NotApplicable "},
		"short name of a class":               {Facts{Config: Config{Authenticator: "TransitionalAuthenticator"}}, Stop, "NotApplicable "},
		"certificates":                        {Facts{Config: Config{Authenticator: "com.scylladb.auth.CertificateAuthenticator"}}, Stop, "NotApplicable "},
		"unknown class":                       {Facts{Config: Config{Authenticator: "com.example.Authenticator"}}, Stop, "Unknown Authenticator"},
		"certificate of the client":           {Facts{Config: Config{Authenticator: password, ClientCertificate: true}}, Stop, "Unknown ClientCertificate"},
		"nothing known":                       {Facts{Config: old}, LogInDefault, ""},
		"default known":                       {Facts{Config: old, Default: No}, LogIn, ""},
		"nothing known, no Secret":            {Facts{Config: old, SecretReason: SecretAbsent}, LogInDefault, ""},
		"own log-in known":                    {Facts{Config: old, Own: No}, LogInDefault, ""},
		"log-in unclear":                      {Facts{Config: old, Own: Unclear, Failure: lost}, Stop, "Unknown Unreachable"},
		"verify, both closed":                 {Facts{Mode: Verify, Config: old, SecretReason: SecretAbsent, Default: No}, Stop, "Verified "},
		"verify, default without LOGIN":       {Facts{Mode: Verify, Config: old, SecretReason: SecretAbsent, Default: NoLogin}, Stop, "Verified "},
		"verify, default open":                {Facts{Mode: Verify, Config: old, SecretReason: SecretAbsent, Default: Yes}, Stop, "DefaultSuperuserOpen "},
		"verify, Secret and default open":     {Facts{Mode: Verify, Config: old, Own: Yes, Superuser: true, Default: Yes}, Stop, "DefaultSuperuserOpen "},
		"verify, Secret":                      {Facts{Mode: Verify, Config: old, Own: Yes, Superuser: true, Default: No}, Stop, "Verified "},
		"verify, Secret of another role":      {Facts{Mode: Verify, Config: old, Own: Yes, Default: No}, Stop, "Missing RoleNotSuperuser"},
		"verify, wrong password":              {Facts{Mode: Verify, Config: young, Own: No, Default: No}, Stop, "WrongPassword "},
		"verify, Secret not readable":         {Facts{Mode: Verify, Config: old, SecretReason: SecretInvalid, Default: No}, Stop, "Missing SecretInvalid"},
		"managed, no Secret":                  {Facts{Mode: Managed, Config: old, SecretReason: SecretAbsent, Default: No}, Stop, "Missing SecretAbsent"},
		"managed, no Secret, default open":    {Facts{Mode: Managed, Config: old, SecretReason: SecretAbsent, Default: Yes}, Stop, "Missing SecretAbsent"},
		"managed, create by the default":      {Facts{Mode: Managed, Config: old, Own: No, Default: Yes}, CreateAsDefault, ""},
		"managed, upgraded with default":      {Facts{Mode: Managed, Config: young, Own: No, Default: Yes}, CreateAsDefault, ""},
		"managed, create by the socket":       {Facts{Mode: Managed, Config: young, Own: No, Default: No}, CreateOnSocket, ""},
		"managed, no way to create":           {Facts{Mode: Managed, Config: old, Own: No, Default: No}, Stop, "WrongPassword "},
		"managed, socket closed":              {Facts{Mode: Managed, Config: Config{Authenticator: password, SocketRoles: true}, Own: No, Default: No}, Stop, "Pending SocketClosed"},
		"managed, created":                    {Facts{Mode: Managed, Config: old, Created: Yes, Default: Yes}, LogIn, ""},
		"managed, created and refused":        {Facts{Mode: Managed, Config: old, Own: No, Created: Yes, Default: Yes}, Stop, "Pending RoleNotVisible"},
		"managed, role exists":                {Facts{Mode: Managed, Config: old, Own: No, Created: No, Default: Yes}, Stop, "WrongPassword "},
		"managed, role was created before":    {Facts{Mode: Managed, Config: old, Own: Yes, Superuser: true, Created: No, Default: NoLogin}, Stop, "Verified "},
		"managed, closing refused":            {Facts{Mode: Managed, Config: old, Own: Yes, Superuser: true, Default: Yes, Closed: NoLogin}, Stop, "DefaultSuperuserOpen NotYetEffective"},
		"managed, creation refused":           {Facts{Mode: Managed, Config: old, Own: No, Default: Yes, Created: NoLogin}, Stop, "WrongPassword "},
		"managed, role without LOGIN":         {Facts{Mode: Managed, Config: old, Own: NoLogin, Default: Yes}, Stop, "WrongPassword RoleCannotLogIn"},
		"managed, creation unclear":           {Facts{Mode: Managed, Config: young, Own: No, Default: No, Created: Unclear, Failure: &Failure{ManagerNotReady, 0}}, Stop, "Pending ManagerNotReady"},
		"managed, close the default":          {Facts{Mode: Managed, Config: old, Own: Yes, Superuser: true, Default: Yes}, CloseDefault, ""},
		"managed, never as no superuser":      {Facts{Mode: Managed, Config: old, Own: Yes, Default: Yes}, Stop, "DefaultSuperuserOpen RoleNotSuperuser"},
		"managed, Secret is the default":      {Facts{Mode: Managed, Config: old, Own: Yes, Superuser: true, Default: Yes, SecretIsDefault: true}, Stop, "DefaultSuperuserOpen SecretIsDefault"},
		"managed, closed":                     {Facts{Mode: Managed, Config: old, Own: Yes, Superuser: true, Closed: Yes}, LogInDefault, ""},
		"managed, closed and verified":        {Facts{Mode: Managed, Config: old, Own: Yes, Superuser: true, Default: NoLogin, Closed: Yes}, Stop, "Verified "},
		"managed, closed and still open":      {Facts{Mode: Managed, Config: old, Own: Yes, Superuser: true, Default: Yes, Closed: Yes}, Stop, "DefaultSuperuserOpen NotYetEffective"},
		"managed, closing unclear":            {Facts{Mode: Managed, Config: old, Own: Yes, Superuser: true, Default: Yes, Closed: Unclear, Failure: lost}, Stop, "Pending Unreachable"},
		"by configuration, default open":      {Facts{Mode: Managed, Config: configured, SecretReason: SecretAbsent, Default: Yes}, Stop, "DefaultSuperuserOpen "},
		"by configuration, with Secret":       {Facts{Mode: Verify, Config: configured, Own: Yes, Superuser: true, Default: No}, ReadConfigured, ""},
		"by configuration, seen by Secret":    {Facts{Mode: Verify, Config: configured, Own: Yes, Superuser: true, Default: No, Configured: Yes}, Stop, "ByConfiguration "},
		"by configuration, role of Secret":    {Facts{Mode: Verify, Config: configured, Own: Yes, Superuser: true, Default: No, Configured: No}, Stop, "Verified "},
		"by configuration, never closes":      {Facts{Mode: Managed, Config: configured, Own: Yes, Superuser: true, Default: Yes}, Stop, "DefaultSuperuserOpen "},
		"by configuration, never creates":     {Facts{Mode: Managed, Config: configured, Own: No, Default: Yes}, Stop, "WrongPassword "},
		"by configuration, no socket":         {Facts{Mode: Verify, Config: configured, SecretReason: SecretAbsent, Default: No}, Stop, "Unknown SocketClosed"},
		"by configuration, socket":            {Facts{Mode: Verify, Config: Config{Authenticator: password, Superuser: "root", Socket: "s"}, SecretReason: SecretAbsent, Default: No}, ReadConfigured, ""},
		"by configuration, role absent":       {Facts{Mode: Verify, Config: Config{Authenticator: password, Superuser: "root", Socket: "s"}, SecretReason: SecretAbsent, Default: No, Configured: No}, Stop, "Pending RoleAbsent"},
		"by configuration, role there":        {Facts{Mode: Verify, Config: Config{Authenticator: password, Superuser: "root", Socket: "s"}, SecretReason: SecretAbsent, Default: No, Configured: Yes}, Stop, "ByConfiguration "},
		"by configuration, role not readable": {Facts{Mode: Verify, Config: Config{Authenticator: password, Superuser: "root", Socket: "s"}, SecretReason: SecretAbsent, Default: No, Configured: Unclear, Failure: lost}, Stop, "Unknown Unreachable"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			action, v := Next(tc.facts)
			got := ""
			if action == Stop {
				got = fmt.Sprintf("%s %s", v.Code, v.Reason)
			}
			if action != tc.action || got != tc.want {
				t.Errorf("action %d, %q; want %d, %q", action, got, tc.action, tc.want)
			}
		})
	}
}

// A step whose answer is not definite ends the round; a change is followed by the log-in that shows its effect.
func TestAfter(t *testing.T) {
	lost := &Failure{Reason: TimedOut, Server: -1}
	for _, a := range []Action{LogIn, LogInDefault, ReadConfigured, CreateAsDefault, CreateOnSocket, CloseDefault} {
		f := Facts{Mode: Managed, Config: Config{Authenticator: password}, Own: No, Default: Yes}.After(a, Outcome{Answer: Unclear, Failure: lost})
		if next, v := Next(f); next != Stop || Status(v.Code) != "Unknown" || v.Reason != TimedOut {
			t.Errorf("after action %d: %d, %+v", a, next, v)
		}
	}
	for _, answer := range []Answer{No, NoLogin} { // another container was faster
		for _, a := range []Action{CreateAsDefault, CreateOnSocket, CloseDefault} {
			f := Facts{Mode: Managed, Config: Config{Authenticator: password}, Own: No, Default: Yes}.After(a, Outcome{Answer: answer})
			if f.Own != NotAsked || f.Default != NotAsked && a != CreateOnSocket {
				t.Errorf("action %d was refused, and the earlier log-ins still count: %+v", a, f)
			}
		}
	}
	f := Facts{Own: No, Default: Yes}.After(CreateAsDefault, Outcome{Answer: Yes})
	if f.Own != NotAsked || f.Created != Yes {
		t.Errorf("after the creation: %+v", f)
	}
	if f = f.After(LogIn, Outcome{Answer: Yes, Superuser: true}).After(CloseDefault, Outcome{Answer: Yes}); f.Default != NotAsked || f.Closed != Yes || !f.Superuser {
		t.Errorf("after the closing: %+v", f)
	}
}

func TestWait(t *testing.T) {
	tests := map[string]struct {
		code   Code
		rounds int
		want   time.Duration
		reason Reason
	}{
		"first good result is confirmed":     {Verified, 1, time.Minute, ""},
		"then daily":                         {Verified, 2, 24 * time.Hour, ""},
		"by configuration":                   {ByConfiguration, 1, time.Minute, ""},
		"not applicable":                     {NotApplicable, 1, 24 * time.Hour, ""},
		"wrong once":                         {WrongPassword, 1, time.Minute, ""},
		"wrong twice":                        {WrongPassword, 2, time.Minute, ""},
		"three wrong answers slow it down":   {WrongPassword, 3, time.Hour, ""},
		"no Secret":                          {Missing, 2, time.Minute, ""},
		"no Secret for long":                 {Missing, 4, time.Hour, ""},
		"pending, first":                     {Pending, 1, 10 * time.Second, ""},
		"pending, second":                    {Pending, 2, 20 * time.Second, ""},
		"pending, at most":                   {Pending, 7, 10 * time.Minute, ""},
		"pending, for years":                 {Unknown, 1 << 40, 10 * time.Minute, ""},
		"open default, tried again at first": {DefaultSuperuserOpen, 1, 10 * time.Second, ""},
		"open default, a refused Secret":     {DefaultSuperuserOpen, 3, time.Hour, Incorrect},
		"open default, a role without LOGIN": {DefaultSuperuserOpen, 2, time.Minute, RoleCannotLogIn},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := Report{Rounds: tc.rounds}
			r.Credential.Code, r.Credential.Reason = tc.code, tc.reason
			if got := r.Wait(); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

func TestNote(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC))
	later, last := metav1.NewTime(at.Add(time.Minute)), metav1.NewTime(at.Add(2*time.Minute))
	var r Report
	for _, tc := range []struct {
		code      Code
		at, since metav1.Time
		rounds    int
	}{{Pending, at, at, 1}, {Pending, later, at, 2}, {Verified, last, last, 1}} {
		r.Note(api.RootCredential{Code: tc.code}, tc.at.Time)
		want := Report{Rounds: tc.rounds}
		want.Credential = api.RootCredential{Code: tc.code, At: &tc.at, Since: &tc.since}
		if diff := cmp.Diff(want, r); diff != "" {
			t.Error(diff)
		}
	}
}
