// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	constants "k8s.io/apimachinery/pkg/util/portforward"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/transport/websocket"
	"k8s.io/streaming/pkg/httpstream"
	streamspdy "k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
)

const resourcePortForward = "pods/portforward"

// LiveOptions bound the asking. Zero values: 8 at a time, 10 s per node, port 10000.
type LiveOptions struct {
	Parallelism    int
	PerNodeTimeout time.Duration
	Port           int
	// Progress, when set, is called after each node, by one goroutine at a time.
	Progress func(done, total int)
	// Ask, when set, is called after a node's row was read, with a client for the same node, from several goroutines.
	Ask func(ctx context.Context, member string, c *scylla.Client)
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

// LiveFacts is what a node said beyond its row.
type LiveFacts struct {
	// Schemas maps schema versions to the addresses that have them, as this node sees it; one key means agreement. Nil when it did not say.
	Schemas map[string][]string
	// GossipOnly are the nodes that gossip with this one and are not among its members.
	GossipOnly []scylla.Endpoint
}

// Live asks the ScyllaDB of each Pod through a port-forward (no local port is opened), keyed by Pod name. A node that could not be
// asked has a row whose Error says why; a right that is missing is also a Problem, and the other Pods are then not tried.
func Live(ctx context.Context, cfg *rest.Config, pods []corev1.Pod, opts LiveOptions) (map[string]*api.NodeStatusReport, []Problem) {
	opts = opts.withDefaults()
	rows := make([]api.NodeStatusReport, len(pods))
	var (
		g         errgroup.Group
		mu        sync.Mutex // guards done and the calls of Progress
		done      int
		forbidden atomic.Pointer[Problem]
	)
	g.SetLimit(opts.Parallelism)
	for i := range pods {
		g.Go(func() error {
			row, err := askPod(ctx, cfg, &pods[i], opts, &forbidden)
			if err != nil {
				row = api.NodeStatusReport{Error: new(err.Error())}
			}
			rows[i] = row
			if opts.Progress != nil {
				mu.Lock()
				defer mu.Unlock()
				done++
				opts.Progress(done, len(pods))
			}
			return nil
		})
	}
	_ = g.Wait() // the functions give no error: each row has its own
	out := make(map[string]*api.NodeStatusReport, len(pods))
	for i := range pods {
		out[pods[i].Name] = &rows[i]
	}
	if p := forbidden.Load(); p != nil {
		return out, []Problem{*p}
	}
	return out, nil
}

func askPod(ctx context.Context, cfg *rest.Config, pod *corev1.Pod, opts LiveOptions, forbidden *atomic.Pointer[Problem]) (api.NodeStatusReport, error) {
	if p := forbidden.Load(); p != nil {
		return api.NodeStatusReport{}, p
	}
	if err := ctx.Err(); err != nil {
		return api.NodeStatusReport{}, fmt.Errorf("ask pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	if pod.Status.Phase != corev1.PodRunning {
		return api.NodeStatusReport{}, fmt.Errorf("pod %s/%s is %s", pod.Namespace, pod.Name, pod.Status.Phase)
	}
	ctx, cancel := context.WithTimeout(ctx, opts.PerNodeTimeout)
	defer cancel()
	f, err := forward(ctx, cfg, pod.Namespace, pod.Name, opts.Port)
	if err != nil {
		if apierrors.IsForbidden(err) {
			p := &Problem{
				Verb: "create", Resource: resourcePortForward, Namespace: pod.Namespace, Kind: ProblemForbidden, Err: err,
				Message: attempt("create", resourcePortForward, pod.Namespace, "") +
					": forbidden; ask for a Role with verbs create and get on resource " + resourcePortForward,
			}
			forbidden.CompareAndSwap(nil, p)
			return api.NodeStatusReport{}, p
		}
		return api.NodeStatusReport{}, err
	}
	defer f.Close()
	c := scylla.NewClient("http://localhost:"+strconv.Itoa(opts.Port), f.client())
	row := scylla.ReadRow(ctx, c)
	if opts.Ask != nil && row.Error == nil {
		opts.Ask(ctx, pod.Name, c)
	}
	return row, nil
}

// ReadLive asks every Pod's ScyllaDB (see Live), fills Live and Facts and makes Rows use them. It changes s: not for a snapshot that
// other goroutines read.
func (s *Snapshot) ReadLive(ctx context.Context, cfg *rest.Config, opts LiveOptions) {
	var mu sync.Mutex
	s.Facts = map[string]LiveFacts{}
	ask := opts.Ask
	opts.Ask = func(ctx context.Context, member string, c *scylla.Client) {
		facts := readFacts(ctx, c)
		mu.Lock()
		s.Facts[member] = facts
		mu.Unlock()
		if ask != nil {
			ask(ctx, member, c)
		}
	}
	live, problems := Live(ctx, cfg, s.Pods, opts)
	s.setLive(live, problems)
}

func (s *Snapshot) setLive(live map[string]*api.NodeStatusReport, problems []Problem) {
	s.Live = live
	s.Problems = sortProblems(append(s.Problems, problems...))
	answered := 0
	for _, r := range live {
		if r.Error == nil {
			answered++
		}
	}
	s.Source = SourceLive
	s.SourceReason = fmt.Sprintf("ScyllaDB answered on %d of %s", answered, plural(len(s.Pods), "Pod"))
}

// readFacts reads what it can; what a version or a stage of starting does not have stays empty.
func readFacts(ctx context.Context, c *scylla.Client) LiveFacts {
	var f LiveFacts
	if schemas, err := c.SchemaVersions(ctx); err == nil {
		f.Schemas = schemas
	}
	members, err := c.Members(ctx)
	if err != nil || len(members) == 0 {
		return f
	}
	known := map[string]bool{}
	for _, m := range members {
		known[m.HostID] = true
	}
	endpoints, err := c.Endpoints(ctx)
	if err != nil {
		return f
	}
	for _, e := range endpoints {
		if e.HostID != "" && !known[e.HostID] {
			f.GossipOnly = append(f.GossipOnly, e)
		}
	}
	return f
}

// forwarder is one port-forward connection to one Pod; each connection through it is a pair of streams.
type forwarder struct {
	conn httpstream.Connection
	port int
	what string
	next atomic.Int64
}

// forward opens a port-forward: over a websocket, and where the API server or a proxy refuses that, over SPDY.
func forward(ctx context.Context, cfg *rest.Config, ns, pod string, port int) (*forwarder, error) {
	what := fmt.Sprintf("forward port %d of pod %s/%s", port, ns, pod)
	target, err := portForwardURL(cfg, ns, pod)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	type result struct {
		conn httpstream.Connection
		err  error
	}
	// The handshakes heed a context's deadline and not its end: a connection that comes too late is closed when it comes.
	ready := make(chan result, 1)
	go func() {
		conn, err := overWebsocket(ctx, cfg, target)
		// A clear no is not asked for a second time in another form.
		if err != nil && !apierrors.IsForbidden(upgradeCause(err)) && (httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)) {
			conn, err = overSPDY(ctx, cfg, target)
		}
		ready <- result{conn, err}
	}()
	select {
	case r := <-ready:
		switch {
		case r.err != nil && (ctx.Err() != nil || errors.Is(r.err, os.ErrDeadlineExceeded)):
			return nil, fmt.Errorf("%s: %w", what, timedOut(ctx))
		case r.err != nil:
			return nil, fmt.Errorf("%s: %w", what, upgradeCause(r.err))
		}
		return &forwarder{conn: r.conn, port: port, what: what}, nil
	case <-ctx.Done():
		go func() {
			if r := <-ready; r.err == nil {
				_ = r.conn.Close() // nobody waits for it any more
			}
		}()
		return nil, fmt.Errorf("%s: %w", what, timedOut(ctx))
	}
}

// overWebsocket tunnels SPDY through a websocket, as API servers since 1.31 have it.
func overWebsocket(ctx context.Context, cfg *rest.Config, target *url.URL) (httpstream.Connection, error) {
	transport, holder, err := websocket.RoundTripperFor(cfg)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, err
	}
	conn, err := websocket.Negotiate(transport, holder, req, constants.WebsocketsSPDYTunnelingPrefix+portforward.PortForwardProtocolV1Name)
	if err != nil {
		return nil, err
	}
	return streamspdy.NewClientConnectionWithPings(portforward.NewTunnelingConnection("client", conn), portforward.PingPeriod)
}

// overSPDY is how older API servers have it.
func overSPDY(ctx context.Context, cfg *rest.Config, target *url.URL) (httpstream.Connection, error) {
	transport, upgrader, err := spdy.RoundTripperFor(cfg)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), nil)
	if err != nil {
		return nil, err
	}
	conn, _, err := spdy.NegotiateStreaming(upgrader, &http.Client{Transport: transport}, req, portforward.PortForwardProtocolV1Name)
	return conn, err
}

// upgradeCause digs the API's own answer out of a refused upgrade, which hides it from errors.As. An answer without words gives the
// refusal itself.
func upgradeCause(err error) error {
	if u, ok := errors.AsType[*httpstream.UpgradeFailureError](err); ok && u.Cause != nil && u.Cause.Error() != "" {
		return u.Cause
	}
	return err
}

func timedOut(ctx context.Context) error {
	if err := ctx.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return errors.New("no answer in time")
}

func portForwardURL(cfg *rest.Config, ns, pod string) (*url.URL, error) {
	c := rest.CopyConfig(cfg)
	c.APIPath, c.GroupVersion = "/api", &corev1.SchemeGroupVersion
	base, path, err := rest.DefaultServerUrlFor(c)
	if err != nil {
		return nil, fmt.Errorf("read address of the API server: %w", err)
	}
	return base.JoinPath(path, "namespaces", ns, "pods", pod, "portforward"), nil
}

// Close ends all connections through f.
func (f *forwarder) Close() { _ = f.conn.Close() } // an error of hanging up changes nothing

// client asks the Pod whatever host a URL names.
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
		return nil, fmt.Errorf("%s: open error stream: %w", f.what, err)
	}
	_ = errs.Close() // our side has nothing to say on it
	h.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := f.conn.CreateStream(h)
	if err != nil {
		f.conn.RemoveStreams(errs)
		return nil, fmt.Errorf("%s: open data stream: %w", f.what, err)
	}
	c := &forwarded{f: f, data: data, errs: errs, failed: make(chan struct{})}
	go c.listen()
	return c, nil
}

// forwarded is one connection to the Pod's port.
type forwarded struct {
	f          *forwarder
	data, errs httpstream.Stream

	failed  chan struct{} // closed when the error stream has ended
	failure error         // set before that
	once    sync.Once
}

// maxForwardError bounds what the kubelet can make us keep.
const maxForwardError = 4096

// listen waits for the kubelet's word about the port: nobody listens there, say.
func (c *forwarded) listen() {
	defer close(c.failed)
	if msg, err := io.ReadAll(io.LimitReader(c.errs, maxForwardError)); err == nil && len(msg) > 0 {
		c.failure = fmt.Errorf("%s: %s", c.f.what, firstLine(string(msg)))
	}
}

func (c *forwarded) Read(p []byte) (int, error) {
	n, err := c.data.Read(p)
	if n > 0 || err == nil {
		return n, err
	}
	// The reason comes on the other stream, perhaps a moment later than the end of this one.
	t := time.NewTimer(time.Second)
	defer t.Stop()
	select {
	case <-c.failed:
		if c.failure != nil {
			return 0, c.failure
		}
	case <-t.C:
	}
	return 0, err
}

func (c *forwarded) Write(p []byte) (int, error) { return c.data.Write(p) }

func (c *forwarded) Close() error {
	c.once.Do(func() {
		// Reset lets go of what was not read; otherwise it would block the connection's other streams.
		_ = c.data.Reset()
		_ = c.errs.Reset()
		c.f.conn.RemoveStreams(c.data, c.errs)
	})
	return nil
}

type forwardAddr string

func (forwardAddr) Network() string  { return "port-forward" }
func (a forwardAddr) String() string { return string(a) }

func (c *forwarded) LocalAddr() net.Addr  { return forwardAddr("kubectl-scylla") }
func (c *forwarded) RemoteAddr() net.Addr { return forwardAddr(c.f.what) }

// Deadlines are the request's context here: http.Transport closes the connection when that ends.
func (c *forwarded) SetDeadline(time.Time) error      { return os.ErrNoDeadline }
func (c *forwarded) SetReadDeadline(time.Time) error  { return os.ErrNoDeadline }
func (c *forwarded) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }
