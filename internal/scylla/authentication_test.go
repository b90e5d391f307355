// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The answers are those of ScyllaDB's configuration: JSON texts, numbers and a map of texts.
func TestAuthentication(t *testing.T) {
	base := map[string]string{
		"authenticator": `"org.apache.cassandra.auth.PasswordAuthenticator"`, "auth_superuser_name": `""`, "rpc_address": `"0.0.0.0"`, "maintenance_socket": `"ignore"`,
		"native_transport_port": "9042", "native_transport_port_ssl": "9142", "client_encryption_options": `{}`,
	}
	want := Authentication{Authenticator: "org.apache.cassandra.auth.PasswordAuthenticator", Address: "0.0.0.0", Port: 9042, TLSPort: 9142}
	tests := map[string]struct {
		change map[string]string
		want   func(*Authentication)
		fails  string
	}{
		"defaults":                  {nil, func(*Authentication) {}, ""},
		"superuser":                 {map[string]string{"auth_superuser_name": `"root"`}, func(a *Authentication) { a.Superuser = "root" }, ""},
		"socket in the workdir":     {map[string]string{"maintenance_socket": `"workdir"`, "workdir,W": `"/data/"`}, func(a *Authentication) { a.Socket = "/data/cql.m" }, ""},
		"workdir not readable":      {map[string]string{"maintenance_socket": `"workdir"`}, func(a *Authentication) { a.Socket = "/var/lib/scylla/cql.m" }, ""},
		"socket by its path":        {map[string]string{"maintenance_socket": `"/run/cql.m"`}, func(a *Authentication) { a.Socket = "/run/cql.m" }, ""},
		"TLS":                       {map[string]string{"client_encryption_options": `{"enabled": "true", "keyfile": "/k", "require_client_auth": "False"}`}, func(a *Authentication) { a.TLS = true }, ""},
		"certificate of the client": {map[string]string{"client_encryption_options": `{"enabled": "True", "require_client_auth": "true"}`}, func(a *Authentication) { a.TLS, a.ClientCertificate = true, true }, ""},
		"not a map":                 {map[string]string{"client_encryption_options": `"x"`}, nil, "/v2/config/client_encryption_options"},
		"unknown option":            {map[string]string{"authenticator": ""}, nil, "/v2/config/authenticator: HTTP 400"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				option := strings.TrimPrefix(r.URL.Path, "/v2/config/")
				if strings.Contains(option, "salted") {
					t.Errorf("%s was requested", option)
				}
				body, ok := tc.change[option]
				if !ok {
					body = base[option]
				}
				if body == "" {
					w.WriteHeader(http.StatusBadRequest)
				}
				_, _ = w.Write([]byte(body))
			}))
			defer s.Close()
			got, err := NewClient(s.URL, s.Client()).Authentication(t.Context())
			if tc.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fails) {
					t.Errorf("%v, want %s", err, tc.fails)
				}
				return
			}
			expected := want
			tc.want(&expected)
			if diff := cmp.Diff(expected, got); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}
