// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/net/websocket"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// apiServer is the port-forward of an API server. Instead of an address a Pod can have "refuse" (connection refused), "hang" (no answer), "forbid" (no right) or "pair" (an
// error as soon as another request is there too); "create:" before an address is the right to create alone.
type apiServer struct {
	// old servers know SPDY only and refuse a websocket.
	old bool
	// pods maps a Pod's name to the address of its ScyllaDB.
	pods map[string]string

	mu       sync.Mutex
	requests []string
	now, top atomic.Int32  // requests for "pair" at present, and at most
	pair     chan struct{} // where two of them meet
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.requests = append(a.requests, r.Method+" "+r.URL.Path+" "+r.Header.Get("Upgrade"))
	a.mu.Unlock()
	name := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/db/pods/"), "/portforward")
	target, ok := a.pods[name]
	target, createOnly := strings.CutPrefix(target, "create:")
	switch {
	case !ok:
		writeStatus(w, http.StatusNotFound, metav1.StatusReasonNotFound, fmt.Sprintf("pods %q not found", name))
		return
	case createOnly && r.Method == http.MethodGet:
		writeStatus(w, http.StatusForbidden, metav1.StatusReasonForbidden, fmt.Sprintf(`pods %q is forbidden: User "me" cannot get resource "pods/portforward"`, name))
		return
	case target == "forbid":
		writeStatus(w, http.StatusForbidden, metav1.StatusReasonForbidden, fmt.Sprintf(`pods %q is forbidden: User "me" cannot create resource "pods/portforward"`, name))
		return
	case target == "pair":
		if n := a.now.Add(1); n > a.top.Load() {
			a.top.Store(n)
		}
		select {
		case a.pair <- struct{}{}:
		case <-a.pair:
		}
		a.now.Add(-1)
		http.Error(w, "paired", http.StatusTeapot)
		return
	case target == "hang":
		<-r.Context().Done()
		return
	case !a.old && r.Method == http.MethodGet:
		websocket.Server{
			Handshake: func(c *websocket.Config, _ *http.Request) error {
				c.Protocol = []string{"SPDY/3.1+portforward.k8s.io"}
				return nil
			},
			Handler: func(ws *websocket.Conn) {
				ws.PayloadType = websocket.BinaryFrame
				a.serveStreams(target, func(handle httpstream.NewStreamHandler) (httpstream.Connection, error) {
					return spdy.NewServerConnection(ws, handle)
				})
			},
		}.ServeHTTP(w, r)
		return
	case strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		http.Error(w, "unable to upgrade: websocket is not supported here", http.StatusBadRequest)
		return
	}
	if _, err := httpstream.Handshake(r, w, []string{"portforward.k8s.io"}); err != nil {
		return
	}
	a.serveStreams(target, func(handle httpstream.NewStreamHandler) (httpstream.Connection, error) {
		if conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, handle); conn != nil {
			return conn, nil
		}
		return nil, errors.New("no upgrade")
	})
}

func (a *apiServer) serveStreams(target string, open func(httpstream.NewStreamHandler) (httpstream.Connection, error)) {
	streams := make(chan httpstream.Stream, 16)
	conn, err := open(func(s httpstream.Stream, _ <-chan struct{}) error {
		streams <- s
		return nil
	})
	if err != nil {
		return
	}
	defer conn.Close()
	waiting := map[string]httpstream.Stream{}
	for {
		select {
		case <-conn.CloseChan():
			return
		case s := <-streams:
			id := s.Headers().Get(corev1.PortForwardRequestIDHeader)
			if s.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
				waiting[id] = s
				continue
			}
			go a.pipe(s, waiting[id], target)
		}
	}
}

func (a *apiServer) pipe(data, errs httpstream.Stream, target string) {
	defer errs.Close()
	defer data.Close()
	if target == "refuse" {
		fmt.Fprintf(errs, "an error occurred forwarding 10000 -> 10000: connect: connection refused\nmore\n")
		return
	}
	c, err := net.Dial("tcp", target)
	if err != nil {
		fmt.Fprint(errs, err)
		return
	}
	defer c.Close()
	go func() {
		_, _ = io.Copy(c, data)
		c.Close()
	}()
	_, _ = io.Copy(data, c)
}

func writeStatus(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	})
}

// scyllaNode answers as the node with that ID in a cluster of the nodes in all; one more gossips without being a member. It answers the paths in
// not with that status and no more.
func scyllaNode(t *testing.T, id string, all []string, not ...func(path string) int) string {
	t.Helper()
	type kv struct {
		Key   string `json:"key"`
		Value any    `json:"value"`
	}
	address := func(i int) string { return fmt.Sprintf("10.0.0.%d", i+1) }
	var members []kv
	var live []string
	var endpoints []map[string]any
	endpoint := func(i int, host string) {
		endpoints = append(endpoints, map[string]any{
			"addrs": address(i), "generation": 1, "version": 1, "update_time": 0, "is_alive": true,
			"application_state": []map[string]any{{"application_state": 12, "value": host, "version": 1}},
		})
	}
	for i, h := range all {
		members, live = append(members, kv{address(i), h}), append(live, address(i))
		endpoint(i, h)
	}
	endpoint(len(all), hostID(9, 9))
	answers := map[string]any{
		"/storage_service/hostid/local": id, "/storage_service/operation_mode": "NORMAL", "/storage_service/scylla_release_version": "2026.2.0",
		"/storage_service/host_id": members, "/gossiper/endpoint/live": live, "/gossiper/endpoint/down": []string{},
		"/failure_detector/endpoints": endpoints, "/storage_service/nodes/joining": []string{}, "/storage_service/nodes/leaving": []string{},
		"/storage_proxy/schema_versions":           []kv{{"v1", live}},
		"/task_manager/list_module_tasks/node_ops": []string{},
	}
	for i := range all {
		answers["/storage_service/tokens/"+address(i)] = []string{"1"}
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, ok := answers[strings.TrimSuffix(r.URL.Path, "/")]
		w.Header().Set("Content-Type", "application/json")
		for _, status := range not {
			if code := status(r.URL.Path); code != 0 {
				w.WriteHeader(code)
				_ = json.NewEncoder(w).Encode(map[string]any{"message": "not now", "code": code})
				return
			}
		}
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			v = map[string]any{"message": "Not found", "code": 404}
		}
		_ = json.NewEncoder(w).Encode(v)
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func serve(t *testing.T, old bool, pods map[string]string) (*apiServer, *rest.Config) {
	t.Helper()
	a := &apiServer{old: old, pods: pods, pair: make(chan struct{})}
	s := httptest.NewServer(a)
	t.Cleanup(s.Close)
	return a, &rest.Config{Host: s.URL}
}

func TestLiveAsksEveryNode(t *testing.T) {
	t.Parallel()
	for name, old := range map[string]bool{"over a websocket": false, "over SPDY": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asksEveryNode(t, old)
		})
	}
}

func asksEveryNode(t *testing.T, old bool) {
	st := newStage(t, 1, 3)
	ids := []string{hostID(1, 0), hostID(1, 1), hostID(1, 2)}
	pods := map[string]string{}
	for i, id := range ids {
		pods[fmt.Sprintf("demo-rack1-%d", i)] = scyllaNode(t, id, ids)
	}
	a, cfg := serve(t, old, pods)
	// Nothing of ours is there: no report, no annotation, no member Service.
	clear(st.Reports)
	clear(st.Services)
	for _, p := range st.Pods {
		p.Annotations = nil
	}
	var progress []string
	s := st.live(t, cluster.SourceLive, cfg, LiveOptions{Parallelism: 2, PerNodeTimeout: 20 * time.Second, Progress: func(done, total int) {
		progress = append(progress, fmt.Sprintf("%d/%d", done, total))
	}})
	if s.Source != cluster.SourceLive || words.Text(s.SourceReason()) != "ScyllaDB answered on 3 of 3 Pods" || len(s.Problems) != 0 {
		t.Fatalf("source %s, %q, problems %v, live %v", s.Source, words.Text(s.SourceReason()), s.Problems, errorsOf(s.Live))
	}
	m := s.Matrix()
	if h := m.Health(); !h.AllUp || h.Nodes != 3 {
		t.Errorf("health %+v", h)
	}
	if diff := cmp.Diff([]string{"1/3", "2/3", "3/3"}, progress); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	facts := s.Facts["demo-rack1-1"]
	if len(facts.Schemas) != 1 || len(facts.GossipOnly) != 1 || facts.GossipOnly[0].HostID != hostID(9, 9) {
		t.Errorf("facts %+v", facts)
	}
	states := map[cluster.MemberState]int{}
	for _, mb := range s.Members() {
		states[mb.State]++
		if mb.State == cluster.MemberJoined && (mb.Version != "2026.2.0" || mb.OperationMode != "NORMAL" || !mb.RowWritten.Equal(s.TakenAt)) {
			t.Errorf("member %+v", mb)
		}
	}
	if diff := cmp.Diff(map[cluster.MemberState]int{cluster.MemberJoined: 3, cluster.MemberGossipOnly: 1}, states); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	fellBack := 0
	for _, r := range a.requests {
		if strings.HasPrefix(r, "POST") && strings.HasSuffix(r, "SPDY/3.1") {
			fellBack++
		}
	}
	if want := map[bool]int{false: 0, true: 3}[old]; fellBack != want || len(a.requests) != 3+want {
		t.Errorf("%d connections over SPDY, want %d: %v", fellBack, want, a.requests)
	}
}

// live loads the stage and asks its nodes.
func (st *scene) live(t *testing.T, source cluster.Source, cfg *rest.Config, opts LiveOptions) *cluster.Cluster {
	t.Helper()
	s := st.load(t, LoadOptions{Source: source})
	return s.WithLive(ReadLive(t.Context(), cfg, s.Pods, opts))
}

func errorsOf(live map[string]*api.NodeStatusReport) map[string]string {
	out := map[string]string{}
	for name, r := range live {
		if r.Error != nil {
			out[name] = *r.Error
		}
	}
	return out
}

func TestLiveSaysWhyANodeDoesNotAnswer(t *testing.T) {
	t.Parallel()
	st := newStage(t, 1, 5)
	_, cfg := serve(t, false, map[string]string{
		"demo-rack1-0": scyllaNode(t, hostID(1, 0), []string{hostID(1, 0)}), "demo-rack1-1": "refuse", "demo-rack1-2": "hang",
	})
	st.Pods["demo-rack1-4"].Status.Phase = corev1.PodPending
	s := st.live(t, cluster.SourceLive, cfg, LiveOptions{PerNodeTimeout: 2 * time.Second})
	if words.Text(s.SourceReason()) != "ScyllaDB answered on 1 of 5 Pods" {
		t.Errorf("reason %q", words.Text(s.SourceReason()))
	}
	want := map[string]string{
		"demo-rack1-1": "forward port 10000 of Pod db/demo-rack1-1: an error occurred forwarding 10000 -> 10000: connect: connection refused",
		"demo-rack1-2": "forward port 10000 of Pod db/demo-rack1-2: no response in time",
		"demo-rack1-3": `forward port 10000 of Pod db/demo-rack1-3: `,
		"demo-rack1-4": "Pod db/demo-rack1-4 is Pending",
	}
	got := errorsOf(s.Live)
	for name, text := range want {
		if !strings.Contains(got[name], text) {
			t.Errorf("%s: %q, want %q in it", name, got[name], text)
		}
	}
	if !strings.Contains(got["demo-rack1-3"], "not found") {
		t.Errorf("a Pod that is gone: %q", got["demo-rack1-3"])
	}
	// Each of them is a cluster.Problem, which marks the output as partial.
	if diff := cmp.Diff([]string{
		"no response from Pod demo-rack1-1: GET /storage_service/hostid/local: an error occurred forwarding 10000 -> 10000: connect: connection refused",
		"no response from Pod demo-rack1-2: timed out",
		`no response from Pod demo-rack1-3: pods "demo-rack1-3" not found`,
		"no response from Pod demo-rack1-4: the Pod is Pending",
	}, document.ProblemLines(s.Partial())); diff != "" {
		t.Errorf("partial (-want +got):\n%s", diff)
	}
	if k := s.Partial()[1]; k.Kind != cluster.ProblemTimeout || k.Name != "demo-rack1-2" || k.Reason != "timed out" {
		t.Errorf("problem %+v", k)
	}
	for _, r := range s.Rows()[1:] {
		if r.Trouble.IsZero() || len(r.Observed) != 0 {
			t.Errorf("row of %s: %+v", r.Reporter.Member, r)
		}
	}
	// It matters while live rows are looked at.
	if s, err := s.Using(cluster.SourceReport); err != nil || len(s.Partial()) != 0 {
		t.Errorf("%v, partial %v", err, s.Partial())
	}
}

type answers func(*http.Request) (*http.Response, error)

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

// TestATimeoutIsKnownByItsType: a text that somebody else wrote makes none.
func TestATimeoutIsKnownByItsType(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "demo-rack1-0"}}
	forwarder := &forwarder{what: "forward port 10000 of Pod db/demo-rack1-0"}
	asked := func(err error) error {
		_, err = scylla.NewClient("http://localhost", &http.Client{Transport: answers(func(*http.Request) (*http.Response, error) { return nil, err })}).LocalHostID(t.Context())
		return err
	}
	for name, tc := range map[string]struct {
		err    error
		kind   cluster.ProblemKind
		reason string
	}{
		"the port-forward":                  {forwarder.failed(errNoAnswerInTime), cluster.ProblemTimeout, "timed out"},
		"ScyllaDB":                          {asked(context.DeadlineExceeded), cluster.ProblemTimeout, "GET /storage_service/hostid/local: no response within 5s"},
		"the words of the kubelet":          {asked(forwarder.failed(errors.New("no response in time"))), cluster.ProblemOther, "GET /storage_service/hostid/local: no response in time"},
		"the words of the API server":       {forwarder.failed(errors.New("unable to upgrade connection: no answer within 3s")), cluster.ProblemOther, "no answer within 3s"},
		"a Pod that does not run":           {&podError{what: "Pod db/demo-rack1-0 is Pending", short: "the Pod is Pending"}, cluster.ProblemOther, "the Pod is Pending"},
		"the end of the command's own time": {&podError{what: "query Pod db/demo-rack1-0: ", short: "query the Pod: ", cause: context.DeadlineExceeded}, cluster.ProblemTimeout, "query the Pod: context deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if p := partOf(pod, nil, tc.err); p.Kind != tc.kind || p.Reason != tc.reason {
				t.Errorf("%s, %q, want %s, %q", p.Kind, p.Reason, tc.kind, tc.reason)
			}
		})
	}
}

func TestLiveSaysWhatANodeDoesNotAnswer(t *testing.T) {
	t.Parallel()
	only := func(code int, paths ...string) func(string) int {
		return func(path string) int {
			if slices.Contains(paths, strings.TrimSuffix(path, "/")) {
				return code
			}
			return 0
		}
	}
	for name, tc := range map[string]struct {
		not     func(string) int
		rowless bool
		want    []string
	}{
		"all":                                  {not: only(0)},
		"a version without tasks":              {not: only(404, "/task_manager/list_module_tasks/node_ops")},
		"tasks that fail":                      {not: only(500, "/task_manager/list_module_tasks/node_ops"), want: []string{"no complete response from Pod demo-rack1-0: GET /task_manager/list_module_tasks/node_ops: HTTP 500: not now"}},
		"no mode yet":                          {not: only(404, "/storage_service/operation_mode"), want: []string{"no complete response from Pod demo-rack1-0: GET /storage_service/operation_mode: HTTP 404: not now"}},
		"no schema, no list of the dead, ever": {not: only(404, "/storage_proxy/schema_versions", "/gossiper/endpoint/down"), want: []string{"no complete response from Pod demo-rack1-0: GET /gossiper/endpoint/down: HTTP 404: not now (and 1 question more)"}},
		"no members": {
			not: only(500, "/storage_service/host_id", "/storage_proxy/schema_versions"), rowless: true,
			want: []string{"no response from Pod demo-rack1-0: GET /storage_service/host_id: HTTP 500: not now"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, 1, 1)
			_, cfg := serve(t, false, map[string]string{"demo-rack1-0": scyllaNode(t, hostID(1, 0), []string{hostID(1, 0)}, tc.not)})
			s := st.live(t, cluster.SourceLive, cfg, LiveOptions{})
			if diff := cmp.Diff(tc.want, document.ProblemLines(s.Partial()), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("partial (-want +got):\n%s", diff)
			}
			if r := s.Live["demo-rack1-0"]; (r.Error != nil) != tc.rowless {
				t.Errorf("row %+v", r)
			}
		})
	}
}

// A websocket is a GET, which asks for the verb get too; the right to create is enough all the same.
func TestLiveNeedsOnlyTheRightToCreate(t *testing.T) {
	t.Parallel()
	st := newStage(t, 1, 1)
	_, cfg := serve(t, false, map[string]string{"demo-rack1-0": "create:" + scyllaNode(t, hostID(1, 0), []string{hostID(1, 0)})})
	s := st.live(t, cluster.SourceLive, cfg, LiveOptions{})
	if words.Text(s.SourceReason()) != "ScyllaDB answered on 1 of 1 Pod" || len(s.Problems) != 0 {
		t.Errorf("%s, %v, %v", words.Text(s.SourceReason()), s.Problems, errorsOf(s.Live))
	}
}

func TestLiveThatNobodyAskedFor(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		pods   map[string]string
		source cluster.Source
		reason string
	}{
		"forbidden": {map[string]string{"demo-rack1-0": "forbid", "demo-rack1-1": "forbid"}, cluster.SourceAnnotation,
			"no report found; no status report on any Pod, and no permission to query ScyllaDB"},
		"no answer": {map[string]string{"demo-rack1-0": "refuse", "demo-rack1-1": "refuse"}, cluster.SourceLive,
			"no status report in reports or annotations; ScyllaDB answered on 0 of 2 Pods"},
		"one may be asked": {map[string]string{"demo-rack1-0": scyllaNode(t, hostID(1, 0), []string{hostID(1, 0)}), "demo-rack1-1": "forbid"}, cluster.SourceLive,
			"no status report in reports or annotations; ScyllaDB answered on 1 of 2 Pods"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, 1, 2)
			clear(st.Reports)
			for _, p := range st.Pods {
				p.Annotations = nil
			}
			_, cfg := serve(t, false, tc.pods)
			s := st.live(t, cluster.SourceAuto, cfg, LiveOptions{Parallelism: 1})
			if s.Source != tc.source || words.Text(s.SourceReason()) != tc.reason || (s.Live == nil) != (tc.source != cluster.SourceLive) {
				t.Errorf("source %s, %q, live %v", s.Source, words.Text(s.SourceReason()), s.Live)
			}
			if len(s.Partial()) == 0 {
				t.Error("it is not partial")
			}
		})
	}
}

func TestLiveNamesTheMissingRightOnce(t *testing.T) {
	t.Parallel()
	pods, servers := []corev1.Pod{}, map[string]string{}
	st := newStage(t, 1, 20)
	for name, p := range st.Pods {
		pods = append(pods, *p)
		servers[name] = "forbid"
	}
	a, cfg := serve(t, false, servers)
	live, problems := Live(t.Context(), cfg, pods, LiveOptions{Parallelism: 1})
	want := "create pods/portforward in namespace db: forbidden; request a Role with verb create on resource pods/portforward"
	if len(problems) != 1 || problems[0].Message != want || problems[0].Kind != cluster.ProblemForbidden {
		t.Errorf("problems %v", problems)
	}
	for name, text := range errorsOf(live) {
		if text != want {
			t.Errorf("%s: %s", name, text)
		}
	}
	// Once over a websocket, which needs the verb get as well, and once over SPDY.
	if len(live) != 20 || len(a.requests) != 2 {
		t.Errorf("%d rows, %d requests; a clear no need not be asked for 20 times", len(live), len(a.requests))
	}
}

func TestLiveBoundsItsParallelism(t *testing.T) {
	t.Parallel()
	var pods []corev1.Pod
	targets := map[string]string{}
	for name, p := range newStage(t, 1, 12).Pods {
		pods, targets[name] = append(pods, *p), "pair"
	}
	a, cfg := serve(t, false, targets)
	// Two nodes are asked in step, each over a websocket and then over SPDY.
	live, _ := Live(t.Context(), cfg, pods, LiveOptions{Parallelism: 2})
	if len(errorsOf(live)) != 12 || a.top.Load() != 2 {
		t.Errorf("%d errors, %d requests at once; want 12 and 2", len(errorsOf(live)), a.top.Load())
	}
}

func TestLiveEndsWithItsContext(t *testing.T) {
	t.Parallel()
	_, cfg := serve(t, false, map[string]string{"demo-rack1-0": "hang", "demo-rack1-1": "hang"})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	live, _ := Live(ctx, cfg, []corev1.Pod{*newStage(t, 1, 1).Pods["demo-rack1-0"]}, LiveOptions{PerNodeTimeout: time.Hour})
	if r := live["demo-rack1-0"]; r == nil || r.Error == nil || !strings.Contains(*r.Error, "no response in time") {
		t.Errorf("row %+v", r)
	}
}

func TestLiveOfABadConfig(t *testing.T) {
	t.Parallel()
	live, problems := Live(t.Context(), &rest.Config{Host: "http://%zz"}, []corev1.Pod{*newStage(t, 1, 1).Pods["demo-rack1-0"]}, LiveOptions{})
	if r := live["demo-rack1-0"]; r.Error == nil || len(problems) != 1 || problems[0].Kind != cluster.ProblemOther {
		t.Errorf("row %+v, problems %v", r, problems)
	}
}

func TestForwardedConnectionIsHonest(t *testing.T) {
	t.Parallel()
	c := &forwarded{f: &forwarder{what: "forward port 10000 of Pod db/x"}}
	if c.RemoteAddr().String() != "forward port 10000 of Pod db/x" || c.RemoteAddr().Network() != "port-forward" || c.LocalAddr().String() == "" {
		t.Errorf("addresses %v, %v", c.LocalAddr(), c.RemoteAddr())
	}
	for _, err := range []error{c.SetDeadline(start), c.SetReadDeadline(start), c.SetWriteDeadline(start)} {
		if err == nil {
			t.Error("a deadline is taken and not kept")
		}
	}
	if !scylla.IsUnreachable(scyllaError(t)) {
		t.Error("a port-forward that fails is not unreachable to the client")
	}
}

// scyllaError is what a ScyllaDB client gives when the port-forward fails.
func scyllaError(t *testing.T) error {
	t.Helper()
	hc := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("forward port 10000 of Pod db/x: gone")
	}}}
	_, err := scylla.NewClient("http://localhost:10000", hc).OperationMode(t.Context())
	return err
}
