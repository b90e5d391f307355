// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	constants "k8s.io/apimachinery/pkg/util/portforward"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/transport/websocket"
	"k8s.io/streaming/pkg/httpstream"
	streamspdy "k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// LiveOptions limits the queries. Zero values: 8 at a time, 10 s per node, port 10000.
type LiveOptions struct {
	Parallelism    int
	PerNodeTimeout time.Duration
	Port           int
	// Progress, when set, is called after each node, by one goroutine at a time.
	Progress func(done, total int)
	// Ask, if set, is called from several goroutines after a node's row was read, with a client for
	// that node. It returns the failed requests.
	Ask func(ctx context.Context, member string, c *scylla.Client) []error
}

func (o LiveOptions) withDefaults() LiveOptions {
	if o.Parallelism <= 0 {
		o.Parallelism = 8
	}
	if o.PerNodeTimeout <= 0 {
		o.PerNodeTimeout = 10 * time.Second
	}
	if o.Port == 0 {
		o.Port = 10000
	}
	return o
}

// Live queries the ScyllaDB of each Pod through a port-forward without a local port. The rows are
// keyed by Pod name. If a query fails, the row has Error set. A failed or partial query is a
// Problem. If the permission is missing, that is the only Problem, and Live skips the other Pods.
func Live(ctx context.Context, cfg *rest.Config, pods []corev1.Pod, opts LiveOptions) (map[string]*api.NodeStatusReport,
	[]cluster.Problem) {
	opts = opts.withDefaults()
	rows, problems := make([]api.NodeStatusReport, len(pods)), make([]*cluster.Problem, len(pods))
	var (
		g         errgroup.Group
		mu        sync.Mutex // guards done and the calls of Progress
		done      int
		forbidden atomic.Pointer[cluster.Problem]
	)
	g.SetLimit(opts.Parallelism)
	for i := range pods {
		g.Go(func() error {
			row, gaps, err := askPod(ctx, cfg, &pods[i], opts, &forbidden)
			rows[i], problems[i] = row, partOf(&pods[i], gaps, err)
			if opts.Progress != nil {
				mu.Lock()
				defer mu.Unlock()
				done++
				opts.Progress(done, len(pods))
			}
			return nil
		})
	}
	_ = g.Wait() // the functions return no error: each row has its own
	out := make(map[string]*api.NodeStatusReport, len(pods))
	for i := range pods {
		out[pods[i].Name] = &rows[i]
	}
	var found []cluster.Problem
	for _, p := range problems {
		if p != nil {
			found = append(found, *p)
		}
	}
	return out, cluster.SortProblems(found)
}

// partOf returns the cluster.Problem of a Pod whose query failed or was partial, else nil.
func partOf(pod *corev1.Pod, gaps []error, err error) *cluster.Problem {
	if p, ok := errors.AsType[*cluster.Problem](err); ok {
		return p
	}
	p := cluster.Problem{Verb: "create", Resource: cluster.ResourcePortForward, Namespace: pod.Namespace,
		Name: pod.Name, Kind: cluster.ProblemOther}
	switch {
	case err != nil:
		if errors.Is(err, errNoAnswerInTime) || scylla.IsTimeout(err) {
			p.Kind = cluster.ProblemTimeout
		}
		if _, scyllaDB := errors.AsType[*scylla.APIError](err); !scyllaDB {
			p.Err = err // an error of ScyllaDB's API must not look like the API server's
		}
		p = p.OnPod("no response from", reasonOf(err))
	case len(gaps) > 0:
		reason := gaps[0].Error()
		if more := len(gaps) - 1; more > 0 {
			reason += fmt.Sprintf(" (and %s more)", words.Count(more, "question", "questions"))
		}
		p = p.OnPod("no complete response from", reason)
	default:
		return nil
	}
	return &p
}

// podError is an error with the name of its Pod: what failed, and its cause or nil.
type podError struct {
	what  string
	short string // what without the Pod name
	cause error
}

func (e *podError) Error() string {
	if e.cause == nil {
		return e.what
	}
	return e.what + e.cause.Error()
}

func (e *podError) Unwrap() error { return e.cause }

// reasonOf returns the text of err without the Pod name: equal reasons can be grouped.
func reasonOf(err error) string {
	if errors.Is(err, errNoAnswerInTime) {
		return "timed out"
	}
	text := err.Error()
	if e, ok := errors.AsType[*podError](err); ok {
		text = strings.Replace(text, e.what, e.short, 1)
	}
	return strings.Replace(text, "unable to upgrade connection: ", "", 1) // client-go's prefix
}

// askPod returns a node's row, the failed requests of a readable row, and the row's error.
func askPod(ctx context.Context, cfg *rest.Config, pod *corev1.Pod, opts LiveOptions,
	forbidden *atomic.Pointer[cluster.Problem]) (api.NodeStatusReport, []error, error) {
	fail := func(err error) (api.NodeStatusReport, []error, error) {
		return api.NodeStatusReport{Error: new(err.Error()), Fault: api.FaultPodUnreachable}, nil, err
	}
	name := "Pod " + pod.Namespace + "/" + pod.Name
	if pod.Status.Phase != corev1.PodRunning {
		state := string(cmp.Or(pod.Status.Phase, corev1.PodUnknown))
		if more := cluster.PodState(pod); more != state {
			state += ", " + more
		}
		return fail(&podError{what: name + " is " + state, short: "the Pod is " + state})
	}
	if p := forbidden.Load(); p != nil {
		return fail(p)
	}
	if err := ctx.Err(); err != nil {
		return fail(&podError{what: "query " + name + ": ", short: "query the Pod: ", cause: err})
	}
	ctx, cancel := context.WithTimeout(ctx, opts.PerNodeTimeout)
	defer cancel()
	f, err := forward(ctx, cfg, pod.Namespace, pod.Name, opts.Port)
	if err != nil {
		if apierrors.IsForbidden(err) {
			p := &cluster.Problem{
				Verb: "create", Resource: cluster.ResourcePortForward, Namespace: pod.Namespace,
				Kind: cluster.ProblemForbidden, Err: err,
				Message: forbiddenMessage("create", cluster.ResourcePortForward, pod.Namespace, ""),
			}
			forbidden.CompareAndSwap(nil, p)
			return fail(p)
		}
		return fail(err)
	}
	defer f.Close()
	c := scylla.NewClient("http://localhost:"+strconv.Itoa(opts.Port), f.client())
	r := scylla.NewReader(c)
	row := r.Read(ctx)
	gaps := r.Gaps()
	if opts.Ask != nil && row.Error == nil {
		gaps = append(gaps, opts.Ask(ctx, pod.Name, c)...)
	}
	return row, gaps, r.Err()
}

// ReadLive queries each Pod's ScyllaDB (see Live) for its row and facts, both by member name.
func ReadLive(ctx context.Context, cfg *rest.Config, pods []corev1.Pod,
	opts LiveOptions) (rows map[string]*api.NodeStatusReport, facts map[string]cluster.LiveFacts,
	problems []cluster.Problem) {
	var mu sync.Mutex
	facts = map[string]cluster.LiveFacts{}
	ask := opts.Ask
	opts.Ask = func(ctx context.Context, member string, c *scylla.Client) []error {
		f, gaps := readFacts(ctx, c)
		mu.Lock()
		facts[member] = f
		mu.Unlock()
		if ask != nil {
			gaps = append(gaps, ask(ctx, member, c)...)
		}
		return gaps
	}
	rows, problems = Live(ctx, cfg, pods, opts)
	return rows, facts, problems
}

// readFacts reads the facts that the node provides. A fact that does not exist at this stage of the
// start stays empty, and its request is in gaps.
func readFacts(ctx context.Context, c *scylla.Client) (f cluster.LiveFacts, gaps []error) {
	var err error
	if f.Schemas, err = c.SchemaVersions(ctx); err != nil {
		f.Schemas, gaps = nil, append(gaps, err)
	}
	members, err := c.Members(ctx)
	if err != nil {
		return f, append(gaps, err)
	}
	var more []error
	f.Vitals, more = readVitals(ctx, c, members)
	gaps = append(gaps, more...)
	if len(members) == 0 {
		return f, gaps
	}
	known := map[string]bool{}
	for _, m := range members {
		known[m.HostID] = true
	}
	endpoints, err := c.Endpoints(ctx)
	if err != nil {
		return f, append(gaps, err)
	}
	for _, e := range endpoints {
		if e.HostID != "" && !known[e.HostID] {
			f.GossipOnly = append(f.GossipOnly, cluster.Endpoint{HostID: e.HostID, Address: e.Address})
		}
	}
	return f, gaps
}

func readVitals(ctx context.Context, c *scylla.Client, members []scylla.Member) (cluster.Vitals, []error) {
	said, gaps := scylla.ReadVitals(ctx, c, members)
	v := cluster.Vitals{LoadBytes: said.Load, Tokens: said.Tokens}
	if said.Uptime != nil {
		v.UptimeSeconds = new(int64(*said.Uptime / time.Second))
	}
	return v, gaps
}

// forwarder is one port-forward connection to one Pod; each connection is a pair of streams.
type forwarder struct {
	conn httpstream.Connection
	port int
	what string
	next atomic.Int64
}

// forward opens a port-forward over a websocket, or over SPDY if the API server or a proxy refuses
// websockets. A websocket needs verb get (since Kubernetes 1.35 also create), SPDY only create. So
// only a refusal of SPDY shows that the permission is missing.
func forward(ctx context.Context, cfg *rest.Config, ns, pod string, port int) (*forwarder, error) {
	f := &forwarder{port: port, what: fmt.Sprintf("forward port %d of Pod %s/%s", port, ns, pod)}
	target, err := podURL(cfg, ns, pod, "portforward")
	if err != nil {
		return nil, f.failed(err)
	}
	type result struct {
		conn httpstream.Connection
		err  error
	}
	// Handshakes respect a context's deadline but not its cancellation: close a late connection.
	ready := make(chan result, 1)
	go func() {
		conn, err := overWebsocket(ctx, cfg, target)
		if err != nil && (httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)) {
			first := upgradeCause(err)
			if conn, err = overSPDY(ctx, cfg, target); err != nil && !apierrors.IsForbidden(err) &&
				apierrors.IsForbidden(first) {
				// A proxy may pass only websockets: then that permission is missing.
				err = fmt.Errorf("%w; over a websocket: %s", err, first.Error())
			}
		}
		ready <- result{conn, err}
	}()
	select {
	case r := <-ready:
		switch {
		case r.err != nil && (ctx.Err() != nil || errors.Is(r.err, os.ErrDeadlineExceeded)):
			return nil, f.failed(timedOut(ctx))
		case r.err != nil:
			return nil, f.failed(upgradeCause(r.err))
		}
		f.conn = r.conn
		return f, nil
	case <-ctx.Done():
		go func() {
			if r := <-ready; r.err == nil {
				_ = r.conn.Close() // unused
			}
		}()
		return nil, f.failed(timedOut(ctx))
	}
}

func (f *forwarder) failed(err error) error { return &podError{what: f.what + ": ", cause: err} }

// overWebsocket tunnels SPDY through a websocket, which API servers support since 1.31.
func overWebsocket(ctx context.Context, cfg *rest.Config, target *url.URL) (httpstream.Connection, error) {
	transport, holder, err := websocket.RoundTripperFor(cfg)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, err
	}
	conn, err := websocket.Negotiate(transport, holder, req,
		constants.WebsocketsSPDYTunnelingPrefix+portforward.PortForwardProtocolV1Name)
	if err != nil {
		return nil, err
	}
	return streamspdy.NewClientConnectionWithPings(portforward.NewTunnelingConnection("client", conn),
		portforward.PingPeriod)
}

// overSPDY connects to older API servers.
func overSPDY(ctx context.Context, cfg *rest.Config, target *url.URL) (httpstream.Connection, error) {
	transport, upgrader, err := spdy.RoundTripperFor(cfg)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), nil)
	if err != nil {
		return nil, err
	}
	seen := &statusOf{RoundTripper: transport}
	conn, _, err := spdy.NegotiateStreaming(upgrader, &http.Client{Transport: seen}, req,
		portforward.PortForwardProtocolV1Name)
	if err != nil && seen.code == http.StatusForbidden {
		// The upgrader keeps only the text of the API server's response.
		return nil, &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
			Message: strings.TrimPrefix(err.Error(), "unable to upgrade connection: "),
		}}
	}
	return conn, err
}

// statusOf records the status code of the last response.
type statusOf struct {
	http.RoundTripper
	code int
}

// RoundTrip implements http.RoundTripper.
func (s *statusOf) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := s.RoundTripper.RoundTrip(req)
	if err == nil {
		s.code = resp.StatusCode
	}
	return resp, err
}

// upgradeCause returns the API server's error from a refused upgrade, or err if it has no text.
func upgradeCause(err error) error {
	if u, ok := errors.AsType[*httpstream.UpgradeFailureError](err); ok && u.Cause != nil && u.Cause.Error() != "" {
		return u.Cause
	}
	return err
}

var errNoAnswerInTime = errors.New("no response in time")

func timedOut(ctx context.Context) error {
	if err := ctx.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return errNoAnswerInTime
}

func podURL(cfg *rest.Config, ns, pod, sub string) (*url.URL, error) {
	c := rest.CopyConfig(cfg)
	c.APIPath, c.GroupVersion = "/api", &corev1.SchemeGroupVersion
	base, path, err := rest.DefaultServerUrlFor(c)
	if err != nil {
		return nil, fmt.Errorf("read address of the API server: %w", err)
	}
	return base.JoinPath(path, "namespaces", ns, "pods", pod, sub), nil
}

// Close ends all connections through f.
func (f *forwarder) Close() { _ = f.conn.Close() } // an error on close has no effect

// client returns a client whose requests all go to the Pod, whatever the host in the URL.
func (f *forwarder) client() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{DialContext: f.dial, MaxIdleConnsPerHost: 1},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (f *forwarder) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h := http.Header{}
	h.Set(corev1.StreamType, corev1.StreamTypeError)
	h.Set(corev1.PortHeader, strconv.Itoa(f.port))
	h.Set(corev1.PortForwardRequestIDHeader, strconv.FormatInt(f.next.Add(1)-1, 10))
	errs, err := f.conn.CreateStream(h)
	if err != nil {
		return nil, f.failed(fmt.Errorf("open error stream: %w", err))
	}
	_ = errs.Close() // this side sends no errors
	h.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := f.conn.CreateStream(h)
	if err != nil {
		f.conn.RemoveStreams(errs)
		return nil, f.failed(fmt.Errorf("open data stream: %w", err))
	}
	c := &forwarded{f: f, data: data, errs: errs, failed: make(chan struct{})}
	go c.listen()
	return c, nil
}
