// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/vectors"
)

// statusReportCase is one case of status-report-cases.json: the annotation that the Scylla Operator's sidecar wrote.
type statusReportCase struct {
	ID       string
	Expected struct{ AnnotationValue string }
}

// TestAnnotationsOfTheOperator reads every annotation that the Scylla Operator was seen to write, and writes it back byte for byte.
func TestAnnotationsOfTheOperator(t *testing.T) {
	var cases []statusReportCase
	vectors.Read(t, "status-report-cases.json", &cases)
	if len(cases) != 21 {
		t.Fatalf("%d cases, want 21", len(cases))
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			r, err := api.DecodeNodeStatusReport(c.Expected.AnnotationValue)
			if err != nil {
				t.Fatal(err)
			}
			got, err := api.EncodeNodeStatusReport(r)
			if err != nil {
				t.Fatal(err)
			}
			if got != c.Expected.AnnotationValue {
				t.Errorf("written back: %q, want %q", got, c.Expected.AnnotationValue)
			}
		})
	}
}

// TestNamesOfTheSourceTexts: the names that the texts and the Scylla Operator use, letter by letter. Another program or a person writes or reads each.
func TestNamesOfTheSourceTexts(t *testing.T) {
	for want, got := range map[string]string{
		"scylla-operator.scylladb.com/force-proceed-to-bootstrap":                   api.AnnotationForceProceed,
		"internal.scylla.scylladb.com/scylladb-node-status-report":                  api.AnnotationNodeStatusReport,
		"internal.scylla-operator.scylladb.com/scylladb-status-report-override-ref": api.AnnotationStatusReportOverrideRef,
		"internal.scylla-operator.scylladb.com/host-id":                             api.AnnotationHostID,
		"internal.scylla-operator.scylladb.com/replacing-node-hostid":               api.LabelReplacingNodeHostID,
		"scylla/replace":             api.LabelReplace,
		"scylladb-bootstrap-barrier": api.ContainerBarrier,
		"UP":                         string(api.NodeStatusUp),
		"DOWN":                       string(api.NodeStatusDown),
	} {
		if got != want {
			t.Errorf("%q, the texts have %q", got, want)
		}
	}
}

func TestDecodeNodeStatusReport(t *testing.T) {
	boom, yes := "connection refused", true
	tests := map[string]struct {
		value string
		want  *api.NodeStatusReport // nil for an error
	}{
		"shipped shape":           {`{"observedNodes":[{"hostID":"a","status":"UP"}]}` + "\n", &api.NodeStatusReport{ObservedNodes: []api.ObservedNodeStatusReport{{HostID: hostid.ID(stage.UUID("a")), Status: "UP"}}}},
		"shipped error":           {`{"error":"connection refused"}`, &api.NodeStatusReport{Error: &boom}},
		"proposal's shape":        {`{"nodeStatusReport":{"hostID":"a","observedNodes":[{"hostID":"a","status":"UP"}]}}`, &api.NodeStatusReport{HostID: hostid.ID(stage.UUID("a")), ObservedNodes: []api.ObservedNodeStatusReport{{HostID: hostid.ID(stage.UUID("a")), Status: "UP"}}}},
		"proposal's error":        {`{"error":"connection refused","nodeStatusReport":null}`, &api.NodeStatusReport{Error: &boom}},
		"both: the flat one wins": {`{"hostID":"f","observedNodes":[],"nodeStatusReport":{"hostID":"n","observedNodes":[{"hostID":"a","status":"UP"}]}}`, &api.NodeStatusReport{HostID: hostid.ID(stage.UUID("f")), ObservedNodes: []api.ObservedNodeStatusReport{}}},
		"our additions": {
			`{"observedNodes":[{"hostID":"a","status":"UNKNOWN","state":"JOINING","since":"2026-11-21T12:00:00Z"}],"hostID":"o","operationMode":"NORMAL","ownsTokens":true,"scyllaVersion":"2025.2.1","operations":[{"type":"bootstrap","state":"running","hostID":"a"}]}`,
			&api.NodeStatusReport{
				ObservedNodes: []api.ObservedNodeStatusReport{{HostID: hostid.ID(stage.UUID("a")), Status: "UNKNOWN", State: "JOINING", Since: &metav1.Time{Time: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}}},
				HostID:        hostid.ID(stage.UUID("o")), OperationMode: "NORMAL", OwnsTokens: &yes, ScyllaVersion: "2025.2.1",
				Operations: []api.NodeOperation{{Type: "bootstrap", State: "running", HostID: hostid.ID(stage.UUID("a"))}},
			},
		},
		"empty":                          {`{}`, &api.NodeStatusReport{}},
		"fields of tomorrow are skipped": {`{"observedNodes":[{"hostID":"a","status":"UP","load":7}],"tomorrow":{"x":[]}}`, &api.NodeStatusReport{ObservedNodes: []api.ObservedNodeStatusReport{{HostID: hostid.ID(stage.UUID("a")), Status: "UP"}}}},
		"words of tomorrow are kept":     {`{"observedNodes":[{"hostID":"a","status":"Up"}]}`, &api.NodeStatusReport{ObservedNodes: []api.ObservedNodeStatusReport{{HostID: hostid.ID(stage.UUID("a")), Status: "Up"}}}},
		"no value":                       {``, nil},
		"not JSON":                       {`UP`, nil},
		"cut short":                      {`{"observedNodes":[{"hostID":"a","status":"UP"}`, nil},
		"something after it":             {`{"observedNodes":[]} {}`, nil},
		"a list":                         {`[]`, nil},
		"a status that is no word":       {`{"observedNodes":[{"hostID":"a","status":true}]}`, nil},
		"a time that is none":            {`{"observedNodes":[{"hostID":"a","status":"DOWN","since":"yesterday"}]}`, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := api.DecodeNodeStatusReport(stage.UUIDs(tc.value))
			if tc.want == nil {
				if err == nil || !strings.HasPrefix(err.Error(), "decode node status report: ") {
					t.Errorf("error %v, want one that says what was attempted", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEncodeIsStableAndLeavesItsInputAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-f0-9]{8}-0000-4000-8000-000000000000`), 0, 8, rapid.ID[string]).Draw(t, "host IDs")
		r := &api.NodeStatusReport{}
		for _, id := range ids {
			r.ObservedNodes = append(r.ObservedNodes, api.ObservedNodeStatusReport{HostID: hostid.ID(id), Status: rapid.SampledFrom([]api.NodeStatus{"UP", "DOWN", "UNKNOWN"}).Draw(t, "status")})
			r.Operations = append(r.Operations, api.NodeOperation{Type: "bootstrap", State: "running", HostID: hostid.ID(id)})
		}
		first, err := api.EncodeNodeStatusReport(r)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(first, "\n") || strings.Count(first, "\n") != 1 {
			t.Errorf("not one line: %q", first)
		}
		for i, id := range ids {
			if string(r.ObservedNodes[i].HostID) != id {
				t.Error("the input was sorted")
			}
		}
		slices.Reverse(r.ObservedNodes)
		slices.Reverse(r.Operations)
		again, err := api.EncodeNodeStatusReport(r)
		if err != nil {
			t.Fatal(err)
		}
		if first != again {
			t.Errorf("the same facts give %q and %q", first, again)
		}
		back, err := api.DecodeNodeStatusReport(first)
		if err != nil {
			t.Fatal(err)
		}
		if len(back.ObservedNodes) != len(ids) {
			t.Errorf("%d cells come back, want %d", len(back.ObservedNodes), len(ids))
		}
	})
}

func TestNewMembership(t *testing.T) {
	ids := []string{"b", "a", "b"}
	m := api.NewMembership(ids)
	if diff := cmp.Diff([]string{"a", "b"}, m.HostIDs); diff != "" {
		t.Errorf("host IDs (-want +got):\n%s", diff)
	}
	if want := "7e18f737311b2dc3"; m.Digest != want { // sha256("a\nb")
		t.Errorf("digest %q, want %q", m.Digest, want)
	}
	if ids[0] != "b" {
		t.Error("the input was sorted")
	}
	if m.Digest == api.NewMembership([]string{"ab"}).Digest || m.Digest == api.NewMembership[string](nil).Digest {
		t.Error("different sets have one digest")
	}
}

// FuzzNodeStatusReport: any value decodes to a report or an error, and a decoded report survives encoding and decoding unchanged.
func FuzzNodeStatusReport(f *testing.F) {
	var cases []statusReportCase
	vectors.Read(f, "status-report-cases.json", &cases)
	for _, c := range cases {
		f.Add(c.Expected.AnnotationValue)
	}
	f.Add(`{"nodeStatusReport":{"hostID":"a","observedNodes":[{"hostID":"a","status":"UP"}]},"error":null}`)
	f.Add(`{"observedNodes":[{"hostID":"a","status":"DOWN","state":"LEAVING","since":"2026-11-21T12:00:00Z"}],"ownsTokens":false}`)
	f.Add(`{"error":"x","process":{"state":"EXITED","exitStatus":0,"ended":"2026-11-21T12:00:00Z"}}`)
	f.Add(`{"error":"x","process":{"state":"FATAL","ended":"9999-12-31T23:59:59-23:00"}}`)
	f.Fuzz(func(t *testing.T, value string) {
		r, err := api.DecodeNodeStatusReport(value)
		if err != nil {
			if r != nil {
				t.Error("a report beside an error")
			}
			return
		}
		once, err := api.EncodeNodeStatusReport(r)
		if err != nil {
			t.Skip("a time that JSON cannot write")
		}
		again, err := api.DecodeNodeStatusReport(once)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		twice, err := api.EncodeNodeStatusReport(again)
		if err != nil {
			t.Fatal(err)
		}
		if once != twice {
			t.Errorf("written twice: %q and %q", once, twice)
		}
	})
}

// The API server would refuse a whole report for one time that cannot be written as it was read.
func TestTimesThatNoReportCanSayAreMalformed(t *testing.T) {
	row := func(since string) string {
		return `{"observedNodes":[{"hostID":"11111111-0000-4000-8000-000000000000","status":"DOWN","since":"` + since + `"}]}`
	}
	for since, ok := range map[string]bool{
		"9999-12-31T23:59:59-23:00": false, "9999-12-31T23:59:59-00:01": false, "0000-12-31T00:00:00Z": false, "0001-01-01T00:00:00+23:00": false,
		"9999-12-31T23:59:59Z": true, "0001-01-01T00:00:00Z": true, "2026-11-22T12:00:00-23:00": true,
	} {
		r, err := api.DecodeNodeStatusReport(row(since))
		if (err == nil) != ok {
			t.Errorf("%s: %v, want it to be well formed: %v", since, err, ok)
		}
		if err != nil {
			continue
		}
		text, err := api.EncodeNodeStatusReport(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := api.DecodeNodeStatusReport(text); err != nil {
			t.Errorf("%s: written back it is %s: %v", since, text, err)
		}
	}
}

// A host ID is shown to people and becomes part of commands: a text that cannot be one makes its row malformed.
func TestHostIDsThatAreNoneAreMalformed(t *testing.T) {
	const good = "11111111-0000-4000-8000-000000000000"
	for _, bad := range []string{"x; touch /tmp/p #", "$(id)", "a b", "a\nb", "\u202e" + good, good + "\u200b", strings.Repeat("a", 65), "a'b", `a"b`, "a\x1b[2J"} {
		text, err := json.Marshal(bad)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range []string{
			`{"hostID":` + string(text) + `}`, `{"observedNodes":[{"hostID":` + string(text) + `,"status":"UP"}]}`,
			`{"nodeStatusReport":{"hostID":` + string(text) + `}}`, `{"operations":[{"type":"x","state":"y","hostID":` + string(text) + `}]}`,
		} {
			if _, err := api.DecodeNodeStatusReport(row); err == nil {
				t.Errorf("%s is taken", row)
			}
		}
	}
}

// TestAttack5AHostIDThatIsNoUUIDMakesItsRowMalformed: at any place in the row, including the reporter's own host ID. An absent host ID is no error.
func TestAttack5AHostIDThatIsNoUUIDMakesItsRowMalformed(t *testing.T) {
	good := stage.UUID("a")
	for _, bad := range []string{
		"h0", "x; touch /tmp/p #", "$(id)", good + "'", good[:35], good + "0", "00000000-0000-0000-0000-000000000000", "\u202e" + good, good[:8] + "\u200b" + good[8:],
		strings.Repeat("a", 200_000), "6100000000000000000000000000000000000", "--help", "../x", "{" + good + "}",
	} {
		for where, shape := range map[string]string{
			"hostID": `{"hostID":%s}`, "observedNodes[1].hostID": `{"observedNodes":[{"hostID":"` + good + `","status":"UP"},{"hostID":%s,"status":"UP"}]}`,
			"operations[0].hostID": `{"operations":[{"type":"replace","state":"running","hostID":%s}]}`, "coordinator": `{"coordinator":%s}`,
		} {
			text, err := json.Marshal(bad)
			if err != nil {
				t.Fatal(err)
			}
			_, err = api.DecodeNodeStatusReport(strings.Replace(shape, "%s", string(text), 1))
			if err == nil || !strings.Contains(err.Error(), where) || !strings.Contains(err.Error(), "host ID") || len(err.Error()) > 300 {
				t.Errorf("%s %.50q: %.400v", where, bad, err)
			}
		}
	}
	for _, is := range []string{"", good, " " + strings.ToUpper(good) + "\n"} {
		text, err := json.Marshal(is)
		if err != nil {
			t.Fatal(err)
		}
		r, err := api.DecodeNodeStatusReport(`{"hostID":` + string(text) + `}`)
		if err != nil || string(r.HostID) != strings.ToLower(strings.TrimSpace(is)) {
			t.Errorf("%q: %+v, %v", is, r, err)
		}
	}
}

// TestAttack6ARowIsBounded: too many items make the row malformed, too long texts are truncated, and no error repeats the whole input.
func TestAttack6ARowIsBounded(t *testing.T) {
	huge := strings.Repeat("x", 200_000)
	for name, value := range map[string]string{
		"80,000 empty cells": `{"observedNodes":[` + strings.Repeat("{},", 79_999) + `{}]}`,
		"5,000 operations":   `{"operations":[` + strings.Repeat("{},", 4_999) + `{}]}`,
		"300 kB":             `{"error":"` + huge + huge[:100_000] + `"}`,
		"a huge number":      `{"hostID":` + strings.Repeat("9", 200_000) + `}`,
		"a huge host ID":     `{"hostID":"` + huge + `"}`,
		"a huge field":       `{"observedNodes":[{"since":"` + huge + `"}]}`,
	} {
		if _, err := api.DecodeNodeStatusReport(value); err == nil || len(err.Error()) > 400 {
			t.Errorf("%s: %.500v", name, err)
		}
	}
	r, err := api.DecodeNodeStatusReport(`{"error":"` + huge + `","operationMode":"` + huge[:50_000] + `"}`)
	if err != nil || len(*r.Error) > 2100 || len(r.OperationMode) > 300 {
		t.Errorf("a huge error: %v", err)
	}
}

// TestB3ALastRowIsBounded: a last row counts only beside an error, has host IDs and no ages, and has the same bounds as a row.
func TestB3ALastRowIsBounded(t *testing.T) {
	id := "8ebd2a16-0000-4000-8000-00000000000a"
	cell := `{"hostID":"` + strings.ToUpper(id) + `","status":"UP","since":"2026-01-01T00:00:00Z"}`
	for name, c := range map[string]struct {
		annotation string
		wrong      string
		want       *api.LastRow
	}{
		"beside an error": {
			annotation: `{"error":"refused","lastRow":{"hostID":"` + id + `","observedNodes":[` + cell + `]}}`,
			want:       &api.LastRow{HostID: hostid.ID(id), ObservedNodes: []api.ObservedNodeStatusReport{{HostID: hostid.ID(id), Status: "UP"}}},
		},
		"beside a row":       {annotation: `{"observedNodes":[` + cell + `],"lastRow":{"hostID":"` + id + `","observedNodes":[` + cell + `]}}`},
		"of nobody":          {annotation: `{"error":"refused","lastRow":{"hostID":"me","observedNodes":[]}}`, wrong: "lastRow.hostID"},
		"of a strange node":  {annotation: `{"error":"refused","lastRow":{"observedNodes":[{"hostID":"you"}]}}`, wrong: "lastRow.observedNodes[0]"},
		"far too long a row": {annotation: `{"error":"refused","lastRow":{"observedNodes":[{}` + strings.Repeat(",{}", 4096) + `]}}`, wrong: "4097 nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := api.DecodeNodeStatusReport(c.annotation)
			if c.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), c.wrong) {
					t.Errorf("error %v, want one with %q", err, c.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, r.LastRow); diff != "" {
				t.Error(diff)
			}
		})
	}
}
