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

// transport is a node's messaging service.
type transport struct {
	n      *Node
	ctx    context.Context // of all connections; ends with close
	cancel context.CancelFunc
	wg     sync.WaitGroup
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
	var r rpcRequest
	if json.NewDecoder(c).Decode(&r) != nil {
		return
	}
	out := rpcResponse{HostID: t.n.hostID}
	switch banned := rules.Banned(t.n.g0.state(), r.From); {
	case banned && t.n.v.BanNotice():
		out.Banned = true
	case banned && !slices.Contains([]string{"discover", "topo.join"}, r.Method):
		return // versions without a notice drop a banned node's connections, but still answer its join request, with the reason
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
	if b, err := json.Marshal(out); err == nil {
		_, _ = c.Write(b)
	}
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
	c, err := t.n.o.Network.dial(ctx, t.n.o.BroadcastAddress, net.JoinHostPort(ip, storagePort))
	if err != nil {
		return err
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
	t.wg.Wait()
}
