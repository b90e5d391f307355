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
)

// rpcRequest is a call of another node, and rpcResponse its answer. Each call has a connection of its own.
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

var errBanned = errors.New("banned from the cluster")

// transport is a node's messaging service.
type transport struct {
	cluster, hostID, ip string
	port                int
	network             *Network
	handler             func(ctx context.Context, r *rpcRequest) (any, error)
	// banned says whether a caller's host ID is refused; notice says whether it is told so (since 2026.1).
	banned   func(hostID string) bool
	notice   bool
	onBanned func(byHostID string)

	ctx    context.Context // of all connections; ends with close
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

func (t *transport) listen(ip string) error {
	l, err := t.network.listen(t.ctx, net.JoinHostPort(ip, strconv.Itoa(t.port)))
	if err != nil {
		return err
	}
	t.wg.Go(func() { acceptAll(t.ctx, l, &t.wg, t.serve) })
	return nil
}

// acceptAll serves each connection until ctx ends, which closes them all, as the end of a process does.
func acceptAll(ctx context.Context, l net.Listener, wg *sync.WaitGroup, serve func(net.Conn)) {
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		wg.Go(func() {
			defer context.AfterFunc(ctx, func() { _ = c.Close() })()
			defer func() { _ = c.Close() }()
			serve(c)
		})
	}
}

func (t *transport) serve(c net.Conn) {
	var r rpcRequest
	if json.NewDecoder(c).Decode(&r) != nil {
		return
	}
	out := rpcResponse{HostID: t.hostID}
	switch banned := t.banned(r.From); {
	case banned && t.notice:
		out.Banned = true
	case banned && !slices.Contains([]string{"discover", "gossip.shadow", "topo.join"}, r.Method):
		return // versions without a notice drop a banned node's connections, but still answer its join request, with the reason
	case r.To != "" && r.To != t.hostID:
		out.Err = "this is not host " + r.To
	case r.Cluster != t.cluster:
		out.Err = fmt.Sprintf("ClusterName mismatch from %s %s!=%s", r.FromIP, r.Cluster, t.cluster)
	default:
		body, err := t.handler(t.ctx, &r)
		if err == nil {
			out.Body, err = json.Marshal(body)
		}
		if err != nil {
			out.Err = err.Error()
		}
	}
	if b, err := json.Marshal(out); err == nil {
		_, _ = c.Write(b)
	}
}

// call sends one request to ip. hostID, if set, is the host ID that must answer; the one that has answered is returned.
func (t *transport) call(ctx context.Context, hostID, ip, method string, in, out any) (string, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(rpcRequest{Cluster: t.cluster, From: t.hostID, FromIP: t.ip, To: hostID, Method: method, Body: body})
	if err != nil {
		return "", err
	}
	c, err := t.network.dial(ctx, t.ip, net.JoinHostPort(ip, strconv.Itoa(t.port)))
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	for _, end := range []context.Context{ctx, t.ctx} {
		defer context.AfterFunc(end, func() { _ = c.Close() })()
	}
	var rep rpcResponse
	if _, err = c.Write(b); err == nil {
		err = json.NewDecoder(c).Decode(&rep)
	}
	switch {
	case err != nil:
	case rep.Banned:
		err = errBanned
		t.onBanned(rep.HostID)
	case rep.Err != "":
		err = &remoteError{rep.Err}
	case out != nil:
		err = json.Unmarshal(rep.Body, out)
	}
	return rep.HostID, err
}

// close ends all connections at once, as the end of the process does, and returns when no handler runs any more.
func (t *transport) close() {
	t.cancel()
	t.wg.Wait()
}
