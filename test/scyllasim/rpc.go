// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"
)

// hello opens every connection between nodes. It names the caller and the host that must answer.
type hello struct {
	Cluster string `json:"cluster"`
	From    string `json:"from"` // host ID of the caller
	FromIP  string `json:"fromIP"`
	To      string `json:"to,omitempty"` // host ID that must answer; empty while only an address is known
}

type helloReply struct {
	HostID string `json:"hostID"`
	Err    string `json:"err,omitempty"`
	Banned bool   `json:"banned,omitempty"`
}

type rpcRequest struct {
	Method string          `json:"method"`
	Body   json.RawMessage `json:"body,omitempty"`
}

type rpcResponse struct {
	Err  string          `json:"err,omitempty"`
	Body json.RawMessage `json:"body,omitempty"`
}

// remoteError is an error that the other node answered with; the connection is intact.
type remoteError struct{ msg string }

func (e *remoteError) Error() string { return e.msg }

var errBanned = errors.New("banned from the cluster")

type rpcConn struct {
	net.Conn
	enc    *json.Encoder
	dec    *json.Decoder
	hostID string // of the other side
}

// transport is a node's messaging service. Calls of one class share connections; a connection carries one call at a time.
type transport struct {
	cluster, hostID, ip string
	port                int
	clock               Clock
	network             *Network
	gate                *gate
	handler             func(ctx context.Context, from hello, method string, body json.RawMessage) (any, error)
	// banned says whether a caller's host ID is refused; notice says whether it is told so (since 2026.1).
	banned   func(hostID string) bool
	notice   bool
	onBanned func(byHostID string)

	ctx    context.Context // of the handlers; ends with close
	cancel context.CancelFunc
	mu     sync.Mutex
	idle   map[string][]*rpcConn
	open   map[net.Conn]string // every open connection and the host ID on its other side
	ln     *heldListener
	closed bool
	wg     sync.WaitGroup
}

func (t *transport) listen(ctx context.Context, ip string) error {
	l, err := t.network.listen(ctx, net.JoinHostPort(ip, strconv.Itoa(t.port)))
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		_ = l.Close()
		return net.ErrClosed
	}
	t.ctx, t.cancel = context.WithCancel(ctx)
	t.idle = map[string][]*rpcConn{}
	t.open = map[net.Conn]string{}
	t.ln = newHeldListener(t.ctx, l, t.gate, func(remote string) <-chan struct{} { return t.network.held(t.ip, remote) })
	ln := t.ln
	t.wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			if !t.track(c, "") {
				_ = c.Close()
				return
			}
			t.wg.Go(func() {
				defer t.untrack(c)
				t.serve(c)
			})
		}
	})
	return nil
}

func (t *transport) track(c net.Conn, hostID string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.open[c] = hostID
	return true
}

func (t *transport) untrack(c net.Conn) {
	_ = c.Close()
	t.mu.Lock()
	delete(t.open, c)
	t.mu.Unlock()
}

func (t *transport) serve(c net.Conn) {
	enc, dec := json.NewEncoder(c), json.NewDecoder(c)
	var h hello
	if dec.Decode(&h) != nil {
		return
	}
	banned := t.banned(h.From)
	if banned && t.notice {
		_ = enc.Encode(helloReply{HostID: t.hostID, Err: errBanned.Error(), Banned: true})
		return
	}
	switch {
	case h.To != "" && h.To != t.hostID:
		_ = enc.Encode(helloReply{HostID: t.hostID, Err: "this is not host " + h.To})
		return
	case h.Cluster != t.cluster:
		_ = enc.Encode(helloReply{HostID: t.hostID, Err: fmt.Sprintf("ClusterName mismatch from %s %s!=%s", h.FromIP, h.Cluster, t.cluster)})
		return
	}
	if !t.track(c, h.From) || enc.Encode(helloReply{HostID: t.hostID}) != nil {
		return
	}
	for {
		var req rpcRequest
		if dec.Decode(&req) != nil {
			return
		}
		if t.gate.wait(t.ctx) != nil {
			return
		}
		// Versions without a notice drop a banned node's connections, but still answer its join request, with the reason.
		if (banned || t.banned(h.From)) && !slices.Contains([]string{"discover", "gossip.shadow", "topo.join"}, req.Method) {
			return
		}
		out, err := t.handler(t.ctx, h, req.Method, req.Body)
		var resp rpcResponse
		if err == nil && out != nil {
			resp.Body, err = json.Marshal(out)
		}
		if err != nil {
			resp.Err = err.Error()
			if resp.Err == "" {
				resp.Err = "error"
			}
		}
		if t.gate.wait(t.ctx) != nil || enc.Encode(resp) != nil {
			return
		}
	}
}

func (t *transport) dial(ctx context.Context, ip, hostID string) (*rpcConn, error) {
	for {
		ch := t.network.held(t.ip, ip)
		if ch == nil {
			break
		}
		select {
		case <-ch:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	raw, err := t.network.dial(ctx, t.ip, net.JoinHostPort(ip, strconv.Itoa(t.port)))
	if err != nil {
		return nil, err
	}
	c := newHeldConn(raw, func() <-chan struct{} {
		if ch := t.gate.held(); ch != nil {
			return ch
		}
		return t.network.held(t.ip, ip)
	})
	if !t.track(c, hostID) {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	rc := &rpcConn{Conn: c, enc: json.NewEncoder(c), dec: json.NewDecoder(c)}
	if dl, ok := ctx.Deadline(); ok {
		_ = c.SetDeadline(dl)
	}
	var rep helloReply
	err = rc.enc.Encode(hello{Cluster: t.cluster, From: t.hostID, FromIP: t.ip, To: hostID})
	if err == nil {
		err = rc.dec.Decode(&rep)
	}
	switch {
	case err != nil:
	case rep.Banned:
		err = errBanned
		if t.onBanned != nil {
			t.onBanned(rep.HostID)
		}
	case rep.Err != "":
		err = &remoteError{rep.Err}
	}
	if err != nil {
		t.untrack(c)
		return nil, err
	}
	rc.hostID = rep.HostID
	return rc, nil
}

// call sends one request to ip. hostID, if set, is the host ID that must answer. ctx carries the deadline, in wall time.
func (t *transport) call(ctx context.Context, class, hostID, ip, method string, in, out any) (string, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return "", err
	}
	key := class + "|" + hostID + "|" + ip
	for {
		rc, reused, err := t.conn(ctx, key, hostID, ip)
		if err != nil {
			return "", err
		}
		err = t.roundTrip(ctx, rc, rpcRequest{Method: method, Body: body}, out)
		var re *remoteError
		if err == nil || errors.As(err, &re) {
			t.putIdle(key, rc)
			return rc.hostID, err
		}
		t.untrack(rc.Conn)
		if !reused || isTimeout(err) || ctx.Err() != nil {
			return rc.hostID, err
		}
		// An idle connection may have been closed with the process behind it: try once more on a new one.
	}
}

func (t *transport) conn(ctx context.Context, key, hostID, ip string) (*rpcConn, bool, error) {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil, false, net.ErrClosed
	}
	if l := t.idle[key]; len(l) > 0 {
		rc := l[len(l)-1]
		t.idle[key] = l[:len(l)-1]
		t.mu.Unlock()
		return rc, true, nil
	}
	t.mu.Unlock()
	rc, err := t.dial(ctx, ip, hostID)
	return rc, false, err
}

func (t *transport) roundTrip(ctx context.Context, rc *rpcConn, req rpcRequest, out any) error {
	dl, ok := ctx.Deadline()
	if !ok {
		dl = time.Time{}
	}
	_ = rc.SetDeadline(dl)
	stop := context.AfterFunc(ctx, func() { _ = rc.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := rc.enc.Encode(req); err != nil {
		return err
	}
	var resp rpcResponse
	if err := rc.dec.Decode(&resp); err != nil {
		return err
	}
	if resp.Err != "" {
		return &remoteError{resp.Err}
	}
	if out == nil || resp.Body == nil {
		return nil
	}
	return json.Unmarshal(resp.Body, out)
}

func (t *transport) putIdle(key string, rc *rpcConn) {
	t.mu.Lock()
	if t.closed || len(t.idle[key]) >= 4 {
		t.mu.Unlock()
		t.untrack(rc.Conn)
		return
	}
	t.idle[key] = append(t.idle[key], rc)
	t.mu.Unlock()
}

// drop closes all connections with hostID: it was banned.
func (t *transport) drop(hostID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for c, id := range t.open {
		if id == hostID {
			_ = c.Close()
		}
	}
}

// close ends all connections at once, as the end of the process does, and returns when no handler runs any more.
func (t *transport) close() {
	t.mu.Lock()
	t.closed = true
	if t.cancel != nil {
		t.cancel()
	}
	for c := range t.open {
		_ = c.Close()
	}
	ln := t.ln
	t.mu.Unlock()
	if ln != nil {
		ln.closeAll()
	}
	t.wg.Wait()
}
