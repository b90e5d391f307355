// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/cql"
	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// rpcRequest is a call of another node, and rpcResponse its answer. A connection has one call at a time, and is kept for the next one.
type rpcRequest struct {
	Cluster, FromIP string
	From            string // host ID of the caller
	To              string `json:",omitempty"` // host ID that must answer; empty while only an address is known
	Method          string
	Body            json.RawMessage
}

type rpcResponse struct {
	HostID string
	Err    string          `json:",omitempty"`
	Banned bool            `json:",omitempty"`
	Body   json.RawMessage `json:",omitempty"`
}

// remoteError is an error that the other node answered with.
type remoteError struct{ msg string }

func (e *remoteError) Error() string { return e.msg }

// transport is a node's messaging service.
type transport struct {
	n      *Node
	ctx    context.Context // of all connections; ends with close
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu   sync.Mutex
	idle map[string][]*link // by address
}

// link is a connection to another node.
type link struct {
	net.Conn
	answers *json.Decoder
	used    bool // for a call before
}

// mostIdle is how many connections to one address are kept.
const mostIdle = 2

// link returns a connection to ip, a kept one if there is one.
func (t *transport) link(ctx context.Context, ip string) (*link, error) {
	t.mu.Lock()
	if kept := t.idle[ip]; len(kept) > 0 {
		l := kept[len(kept)-1]
		t.idle[ip] = kept[:len(kept)-1]
		t.mu.Unlock()
		return l, nil
	}
	t.mu.Unlock()
	return t.newLink(ctx, ip)
}

func (t *transport) newLink(ctx context.Context, ip string) (*link, error) {
	c, err := t.n.o.Network.dial(ctx, t.n.o.BroadcastAddress, net.JoinHostPort(ip, storagePort))
	if err != nil {
		return nil, err
	}
	return &link{Conn: c, answers: json.NewDecoder(c)}, nil
}

// keep keeps a connection for the next call of ip.
func (t *transport) keep(ip string, l *link) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.used = true; t.ctx.Err() == nil && len(t.idle[ip]) < mostIdle {
		if t.idle == nil {
			t.idle = map[string][]*link{}
		}
		t.idle[ip] = append(t.idle[ip], l)
		return
	}
	_ = l.Close()
}

// ask sends a request and reads the answer. A connection that failed is closed.
func (t *transport) ask(ctx context.Context, l *link, request []byte) (rep rpcResponse, err error) {
	for _, end := range []context.Context{ctx, t.ctx} {
		stop := context.AfterFunc(end, func() { _ = l.Close() })
		defer func() {
			if !stop() && err == nil {
				err = end.Err()
			}
		}()
	}
	if _, err = l.Write(request); err == nil {
		err = l.answers.Decode(&rep)
	}
	if err != nil {
		_ = l.Close()
	}
	return rep, err
}

func (t *transport) listen(ip string) error {
	l, err := t.n.o.Network.listen(t.ctx, net.JoinHostPort(ip, storagePort))
	if err != nil {
		return err
	}
	t.wg.Go(func() { cql.Accept(t.ctx, l, t.serve) })
	return nil
}

func (t *transport) serve(c net.Conn) {
	for requests := json.NewDecoder(c); ; {
		var r rpcRequest
		if requests.Decode(&r) != nil {
			return
		}
		out, drop := t.answer(&r)
		if drop {
			return
		}
		b, err := json.Marshal(out)
		if err != nil {
			return
		}
		if _, err := c.Write(b); err != nil {
			return
		}
	}
}

// answer is the answer to a request; with drop its connection is closed without one.
func (t *transport) answer(r *rpcRequest) (out rpcResponse, drop bool) {
	out.HostID = t.n.hostID
	switch banned := rules.Banned(t.n.g0.state(), r.From); {
	case banned && t.n.v.BanNotice():
		out.Banned = true
	case banned && !slices.Contains([]string{"discover", "topo.join"}, r.Method):
		return out, true // versions without a notice drop a banned node's connections, but still answer its join request, with the reason
	case r.To != "" && r.To != t.n.hostID:
		out.Err = "this is not host " + r.To
	case r.Cluster != t.n.o.ClusterName:
		out.Err = fmt.Sprintf("ClusterName mismatch from %s %s!=%s", r.FromIP, r.Cluster, t.n.o.ClusterName)
	default:
		body, err := handlers[r.Method](t.ctx, t.n, r.Body)
		if err == nil {
			out.Body, err = json.Marshal(body)
		}
		if err != nil {
			out.Err = err.Error()
		}
	}
	return out, false
}

// call sends one request to ip. hostID, if set, is the host ID that must answer.
func (t *transport) call(ctx context.Context, hostID, ip, method string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	b, err := json.Marshal(rpcRequest{Cluster: t.n.o.ClusterName, From: t.n.hostID, FromIP: t.n.o.BroadcastAddress, To: hostID, Method: method, Body: body})
	if err != nil {
		return err
	}
	l, err := t.link(ctx, ip)
	if err != nil {
		return err
	}
	rep, err := t.ask(ctx, l, b)
	if err != nil && l.used && ctx.Err() == nil { // the other process has ended since the last call
		if l, err = t.newLink(ctx, ip); err == nil {
			rep, err = t.ask(ctx, l, b)
		}
	}
	if err == nil {
		t.keep(ip, l)
	}
	switch {
	case err != nil:
	case rep.Banned:
		err = errors.New("banned from the cluster")
		if t.n.v.BanNotice() {
			select {
			case t.n.bannedCh <- rep.HostID:
			default:
			}
		}
	case rep.Err != "":
		err = &remoteError{rep.Err}
	case out != nil:
		err = json.Unmarshal(rep.Body, out)
	}
	return err
}

// close ends all connections at once, as the end of the process does, and returns when no handler runs any more.
func (t *transport) close() {
	t.cancel()
	t.mu.Lock()
	for _, kept := range t.idle {
		for _, l := range kept {
			_ = l.Close()
		}
	}
	t.idle = nil
	t.mu.Unlock()
	t.wg.Wait()
}
