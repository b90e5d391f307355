// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// The node's own configuration says which of its operations are repair-based; what does not answer says nothing.
func TestC4RepairBasedOperations(t *testing.T) {
	for name, tc := range map[string]struct {
		answers map[string]string
		want    []string
		failed  bool
	}{
		"on":               {map[string]string{"enable": "true", "allowed": `"replace, bootstrap,replace"`}, []string{"bootstrap", "replace"}, false},
		"off":              {map[string]string{"enable": "false", "allowed": `"replace"`}, nil, false},
		"on for none":      {map[string]string{"enable": "true", "allowed": `""`}, nil, false},
		"no such option":   {nil, nil, true},
		"no list":          {map[string]string{"enable": "true"}, nil, true},
		"another spelling": {map[string]string{"enable": `"true"`, "allowed": `"rebuild"`}, []string{"rebuild"}, false},
		"not a boolean":    {map[string]string{"enable": `"perhaps"`, "allowed": `"rebuild"`}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mux := http.NewServeMux()
			for short, path := range map[string]string{"enable": "/v2/config/enable_repair_based_node_ops", "allowed": "/v2/config/allowed_repair_based_node_ops"} {
				if answer, ok := tc.answers[short]; ok {
					mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) })
				}
			}
			s := httptest.NewServer(mux)
			defer s.Close()
			got, err := NewClient(s.URL, s.Client()).RepairBased(t.Context())
			if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.failed {
				t.Errorf("error %v, (-want +got):\n%s", err, diff)
			}
		})
	}
}

// Only a keyspace of users with vnodes needs a cleanup; a node that is not NORMAL, or that does not answer, says nothing.
func TestVnodeKeyspaces(t *testing.T) {
	for name, tc := range map[string]struct {
		mode, answer string
		status       int
		want         *bool
	}{
		"vnodes":              {modeNormal, `["app"]`, http.StatusOK, new(true)},
		"tablets, or none":    {modeNormal, `[]`, http.StatusOK, new(false)},
		"not NORMAL":          {"JOINING", `["app"]`, http.StatusOK, nil},
		"no such path":        {modeNormal, `{"message":"Not found","code":404}`, http.StatusNotFound, nil},
		"an error":            {modeNormal, `{"message":"x","code":500}`, http.StatusInternalServerError, nil},
		"an unknown spelling": {modeNormal, `{"app":1}`, http.StatusOK, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := ""
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = r.URL.String()
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, tc.answer)
			}))
			defer s.Close()
			got := NewReader(NewClient(s.URL, s.Client())).vnodes(t.Context(), &api.NodeStatusReport{OperationMode: tc.mode})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if want := "/storage_service/keyspaces?type=user&replication=vnodes"; tc.mode == modeNormal && asked != want {
				t.Errorf("asked %s", asked)
			}
		})
	}
}
