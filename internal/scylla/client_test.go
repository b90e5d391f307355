// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestErrorsOfTheAPI(t *testing.T) {
	for name, c := range map[string]struct {
		answer answer
		want   string
	}{
		"ScyllaDB's error":      {fails(500, "std::runtime_error (The gossiper is not ready yet)"), "HTTP 500: std::runtime_error (The gossiper is not ready yet)"},
		"route is missing":      {fails(404, "Not found"), "HTTP 404: Not found"},
		"plain text":            {answer{status: 400, body: "bad\n  request"}, "HTTP 400: bad request"},
		"nothing":               {answer{status: 503}, "HTTP 503: Service Unavailable"},
		"a status of nobody":    {answer{status: 599}, "HTTP 599: no message"},
		"JSON without message":  {answer{status: 500, body: `{"code":500}`}, `HTTP 500: {"code":500}`},
		"message is no string":  {answer{status: 500, body: `{"message":5}`}, `HTTP 500: {"message":5}`},
		"not UTF-8":             {answer{status: 500, body: "caf\xe9"}, "HTTP 500: caf\uFFFD"},
		"redirect":              {answer{status: 302}, "HTTP 302: Found"},
		"not what was asked":    {answer{body: `{"a":1}`}, "unexpected response"},
		"empty body":            {answer{body: ""}, "empty body"},
		"two values":            {answer{body: `[] []`}, "unexpected response"},
		"entry without address": {answer{body: `[{"value":"x"}]`}, "entry 0 has no address"},
		"closed":                {answer{eof: true}, "connection closed before the response was complete"},
		"reset":                 {answer{reset: true}, "connection reset by peer"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newFakeNode(t, map[string]answer{pathMembers: c.answer})
			_, err := n.client().Members(t.Context())
			e, ok := errors.AsType[*APIError](err)
			if !ok {
				t.Fatalf("%T %v", err, err)
			}
			if !strings.HasPrefix(err.Error(), "GET "+pathMembers+": ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q, want %q in it", err, c.want)
			}
			if strings.Contains(err.Error(), "127.0.0.1") {
				t.Errorf("%q carries a connection's address", err)
			}
			if e.Path != pathMembers || IsMissing(err) != (c.answer.status == 404) || IsUnreachable(err) != (c.answer.eof || c.answer.reset) {
				t.Errorf("%+v", e)
			}
		})
	}
}

func TestLongErrorsAreCut(t *testing.T) {
	n := newFakeNode(t, map[string]answer{pathMembers: fails(500, strings.Repeat("é", 1000))})
	_, err := n.client().Members(t.Context())
	if len(err.Error()) > maxErrorMessage+100 || !strings.HasSuffix(err.Error(), "é…") {
		t.Errorf("%d bytes: %q", len(err.Error()), err)
	}
}

func TestTimeOut(t *testing.T) {
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer s.Close()
	defer close(release)
	c := NewClient(s.URL, nil).WithTimeout(20 * time.Millisecond)
	_, err := c.Members(t.Context())
	if err == nil || err.Error() != "GET "+pathMembers+": no response within 20ms" {
		t.Errorf("%v", err)
	}
	c.CloseIdleConnections()
}

func TestAnswerThatBreaksOffOrNeverEnds(t *testing.T) {
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"breaks off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("["))
		}, "ended early"},
		"never ends": {func(w http.ResponseWriter, r *http.Request) {
			chunk := []byte(strings.Repeat(" ", 1<<20))
			for r.Context().Err() == nil {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}, "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(c.serve)
			defer s.Close()
			cl := NewClient(s.URL, nil)
			defer cl.CloseIdleConnections()
			if _, err := cl.Members(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestBadBaseAddress(t *testing.T) {
	if _, err := NewClient("http://[::1", nil).Members(t.Context()); err == nil || !strings.Contains(err.Error(), "bad address") {
		t.Errorf("%v", err)
	}
}

func TestEndpointsOfTheClient(t *testing.T) {
	n := newFakeNode(t, map[string]answer{
		"/storage_service/keyspace_flush/system":  {},
		"/raft/leader_host":                       text(strings.ToUpper(idA)),
		"/storage_proxy/schema_versions":          {body: `[{"key": "v1", "value": ["10.0.0.1"]}, {"key": "UNREACHABLE", "value": ["10.0.0.2"]}]`},
		"/storage_service/generation_number":      {body: "1724198400"},
		"/storage_service/operation_mode":         {body: "NORMAL"}, // without quotes
		pathLocal:                                 text(zeroHostID),
		pathTarget:                                text(""),
		"/storage_service/tokens/fd00::1":         list("1", "2"),
		"/task_manager/task_status/a":             {body: `{"error":"  Rolled back: Failed stream ranges  "}`},
		"/storage_service/scylla_release_version": text(" 6.0.3-0.20240808.a56f7ce21ad4 "),
		pathEndpoints: {body: `[{"addrs":"10.0.0.1","is_alive":true,"generation":5,"application_state":[{"application_state":"HOST_ID","value":"` + idA + `","version":1}]},
			{"addrs":"10.0.0.2","application_state":[]}]`},
	})
	c, ctx := n.client(), t.Context()
	check := func(name string, got any, err error, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	check("flush", nil, c.FlushSystemLocal(ctx), nil)
	leader, err := c.RaftLeader(ctx)
	check("leader", leader, err, idA)
	schema, err := c.SchemaVersions(ctx)
	check("schema", schema, err, map[string][]string{"v1": {"10.0.0.1"}, "UNREACHABLE": {"10.0.0.2"}})
	generation, err := c.Generation(ctx)
	check("generation", generation, err, int64(1724198400))
	mode, err := c.OperationMode(ctx)
	check("mode", mode, err, "NORMAL")
	local, err := c.LocalHostID(ctx)
	check("host ID", local, err, "")
	target, err := c.ReplaceTarget(ctx)
	check("replace target", target, err, "")
	tokens, err := c.Tokens(ctx, "fd00::1")
	check("tokens", tokens, err, []string{"1", "2"})
	text, err := c.TaskError(ctx, "a")
	check("task error", text, err, "Rolled back: Failed stream ranges")
	version, err := c.ReleaseVersion(ctx)
	check("version", version, err, "6.0.3-0.20240808.a56f7ce21ad4")
	endpoints, err := c.Endpoints(ctx)
	check("endpoints", endpoints, err, []Endpoint{{Address: "10.0.0.1", HostID: idA, Alive: true, Generation: 5}, {Address: "10.0.0.2"}})
	for _, bad := range []string{`null`, `[1]`, `{"a":1}`, "<html>", "", `"x`, "[\"a\",null]"} {
		n.set("/storage_service/operation_mode", answer{body: bad})
		n.set(pathLive, answer{body: bad})
		if m, err := c.OperationMode(ctx); err == nil {
			t.Errorf("mode %q from %q", m, bad)
		}
		if l, err := c.Live(ctx); err == nil && bad != "null" {
			t.Errorf("live %q from %q", l, bad)
		}
	}
}

func TestRequestsHaveNoTrailingSlashAndUseTheirMethods(t *testing.T) {
	var got []string
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = append(got, r.Method+" "+r.URL.String()) }))
	defer s.Close()
	c := NewClient(s.URL+"/", nil)
	defer c.CloseIdleConnections()
	_ = c.FlushSystemLocal(t.Context())
	_, _ = c.Tokens(t.Context(), "a/b?c")
	want := []string{"POST /storage_service/keyspace_flush/system?cf=local", "GET /storage_service/tokens/a%2Fb%3Fc"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q", got)
	}
}
