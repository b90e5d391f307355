// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// processInfo is supervisord's answer, by name: numbers are ints there.
func processInfo(values map[string]any) string {
	var b strings.Builder
	b.WriteString("<?xml version='1.0'?>\n<methodResponse>\n<params>\n<param>\n<value><struct>\n")
	for name, v := range values {
		kind := "int"
		if _, ok := v.(string); ok {
			kind = "string"
		}
		fmt.Fprintf(&b, "<member>\n<name>%s</name>\n<value><%s>%v</%[2]s></value>\n</member>\n", name, kind, v)
	}
	return b.String() + "</struct></value>\n</param>\n</params>\n</methodResponse>\n"
}

// TestNoHarm8TheRowTellsHowScyllaDBEnded: supervisord is queried only for a row that could not be made, and with the one method that changes nothing.
func TestNoHarm8TheRowTellsHowScyllaDBEnded(t *testing.T) {
	const fault = "<?xml version='1.0'?><methodResponse><fault><value><struct><member><name>faultCode</name><value><int>10</int></value></member></struct></value></fault></methodResponse>"
	for name, tc := range map[string]struct {
		answer, want string
	}{
		"ended with 0":               {processInfo(map[string]any{"statename": "EXITED", "start": 100, "stop": 1764072000, "exitstatus": 0}), `{"state":"EXITED","exitStatus":0,"ended":"2025-11-25T12:00:00Z"}`},
		"killed":                     {processInfo(map[string]any{"statename": "EXITED", "start": 100, "stop": 1764072000, "exitstatus": -1}), `{"state":"EXITED","exitStatus":-1,"ended":"2025-11-25T12:00:00Z"}`},
		"given up, without a status": {processInfo(map[string]any{"statename": "FATAL", "start": 100, "stop": 1764072000, "exitstatus": 0}), `{"state":"FATAL","ended":"2025-11-25T12:00:00Z"}`},
		"not to be started":          {processInfo(map[string]any{"statename": "FATAL", "start": 100, "stop": 0, "spawnerr": "can't find command"}), `{"state":"FATAL"}`},
		"about to be started again":  {processInfo(map[string]any{"statename": "BACKOFF", "stop": 1764072000}), `{"state":"BACKOFF","ended":"2025-11-25T12:00:00Z"}`},
		"stopped by a person":        {processInfo(map[string]any{"statename": "STOPPED", "stop": 1764072000, "exitstatus": 0}), `{"state":"STOPPED","exitStatus":0,"ended":"2025-11-25T12:00:00Z"}`},
		"started again":              {processInfo(map[string]any{"statename": "RUNNING", "start": 1764072001, "stop": 1764072000}), `{"state":"RUNNING","ended":"2025-11-25T12:00:00Z"}`},
		"its first start":            {processInfo(map[string]any{"statename": "RUNNING", "start": 100, "stop": 0}), "null"},
		"not started yet":            {processInfo(map[string]any{"statename": "STOPPED", "start": 0, "stop": 0}), "null"},
		"being stopped":              {processInfo(map[string]any{"statename": "STOPPING", "stop": 1764072000}), "null"},
		"no such program":            {fault, "null"},
		"no XML":                     {"{}", "null"},
		"too long":                   {processInfo(map[string]any{"statename": "EXITED", "stop": 1764072000, "x": strings.Repeat("x", 64<<10)}), "null"},
		"no number":                  {processInfo(map[string]any{"statename": "EXITED", "stop": 1e300}), "null"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			supervisord := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				body, _ := io.ReadAll(r.Body)
				if r.Method != http.MethodPost || r.URL.Path != "/RPC2" || !strings.Contains(string(body), "<methodName>supervisor.getProcessInfo</methodName><params><param><value><string>scylla</string>") {
					t.Errorf("%s %s: %s", r.Method, r.URL.Path, body)
				}
				_, _ = io.WriteString(w, tc.answer)
			}))
			defer supervisord.Close()
			n := newFakeNode(t, usual())
			r := NewReader(n.client())
			r.Supervisor = NewClient(supervisord.URL+"/RPC2", nil)
			if row := r.Read(t.Context()); row.Error != nil || row.Process != nil || asked != 0 {
				t.Errorf("of a node that serves: %+v, queried %d times", row, asked)
			}
			n.Close()
			row := r.Read(t.Context())
			got, err := json.Marshal(row.Process)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tc.want || row.Error == nil || asked != 1 {
				t.Errorf("%s, want %s; error %v, queried %d times", got, tc.want, row.Error, asked)
			}
			value, err := api.EncodeNodeStatusReport(&row)
			if err != nil {
				t.Fatal(err)
			}
			if back, err := api.DecodeNodeStatusReport(value); err != nil || (back.Process == nil) != (row.Process == nil) {
				t.Errorf("%s reads back as %+v, %v", value, back, err)
			}
		})
	}
	n := newFakeNode(t, usual())
	n.Close()
	r := NewReader(n.client())
	r.Supervisor = n.client()
	if row := r.Read(t.Context()); row.Error == nil || row.Process != nil {
		t.Errorf("without an answer of supervisord: %+v", row)
	}
}

// TestNoHarm8MaintenanceModeIsSaid: since 2026.1 a node in maintenance mode has no path for its mode; its configuration says it.
func TestNoHarm8MaintenanceModeIsSaid(t *testing.T) {
	for name, tc := range map[string]struct {
		mode, config, want string
	}{
		"up to 2025.4":             {"MAINTENANCE", "", "MAINTENANCE"},
		"since 2026.1":             {"", "true", "MAINTENANCE"},
		"an early stage":           {"", "false", ""},
		"a version without it":     {"", "", ""},
		"a mode that is there, on": {"NORMAL", "true", "NORMAL"},
	} {
		t.Run(name, func(t *testing.T) {
			answers := map[string]answer{pathLocal: text(idA)}
			if tc.mode != "" {
				answers[pathMode] = text(tc.mode)
			}
			if tc.config != "" {
				answers["/v2/config/maintenance_mode"] = answer{body: tc.config}
			}
			if row := NewReader(newFakeNode(t, answers).client()).Read(t.Context()); row.OperationMode != tc.want {
				t.Errorf("mode %q, want %q", row.OperationMode, tc.want)
			}
		})
	}
}
