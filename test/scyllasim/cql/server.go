// SPDX-License-Identifier: Apache-2.0

package cql

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
)

// Opcodes of the protocol.
const (
	opError        = 0x00
	opStartup      = 0x01
	opReady        = 0x02
	opAuthenticate = 0x03
	opOptions      = 0x05
	opSupported    = 0x06
	opQuery        = 0x07
	opResult       = 0x08
	opPrepare      = 0x09
	opExecute      = 0x0A
	opAuthResponse = 0x0F
	opAuthSuccess  = 0x10
)

const (
	version   = 4
	answerBit = 0x80
	// largest frame that is read.
	largest = 1 << 20
)

// Serve answers on a listener until ctx ends; socket is true for the maintenance socket. It returns
// when every connection has ended.
func (c *Cluster) Serve(ctx context.Context, l net.Listener, socket bool) {
	Accept(ctx, l, func(n net.Conn) { (&conn{c: c, user: User{Socket: socket}, prepared: map[string]string{}}).serve(n) })
}

// Accept serves each connection until ctx ends, which closes them all, as the end of a process does. It returns when all have ended.
func Accept(ctx context.Context, l net.Listener, serve func(net.Conn)) {
	var wg sync.WaitGroup
	defer wg.Wait()
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

type conn struct {
	c        *Cluster
	user     User
	ready    bool
	prepared map[string]string // ID, statement
}

func (n *conn) serve(rw io.ReadWriter) {
	in := bufio.NewReader(rw)
	for {
		var h [9]byte
		if _, err := io.ReadFull(in, h[:]); err != nil {
			return
		}
		length := binary.BigEndian.Uint32(h[5:])
		if length > largest {
			return
		}
		body := make([]byte, length)
		if _, err := io.ReadFull(in, body); err != nil {
			return
		}
		event := event(h[4], body)
		if n.held(in, "before", event) {
			return
		}
		op, out, drop := n.answer(h[4], body)
		if drop || n.held(in, "after", event) {
			return
		}
		frame := append([]byte{version | answerBit, 0, h[2], h[3], op}, binary.BigEndian.AppendUint32(nil, uint32(len(out)))...)
		if _, err := rw.Write(append(frame, out...)); err != nil {
			return
		}
	}
}

// event names a log-in or a change; empty for any other message.
func event(op byte, body []byte) string {
	r := &reader{body}
	switch op {
	case opAuthResponse:
		name, _ := r.login()
		return "LOGIN " + name
	case opQuery:
		if words := strings.Fields(r.long()); len(words) > 1 && words[0] != "SELECT" {
			return words[0] + " " + words[1]
		}
	}
	return ""
}

// held waits for the end of the connection where this event is held.
func (n *conn) held(in *bufio.Reader, when, event string) bool {
	if event == "" || n.c.o.Hold == nil || !n.c.o.Hold(when+" "+event) {
		return false
	}
	_, _ = io.Copy(io.Discard, in)
	return true
}

// answer is the opcode and the body of the answer; drop ends the connection.
func (n *conn) answer(op byte, body []byte) (byte, []byte, bool) {
	if !n.ready && !slices.Contains([]byte{opOptions, opStartup, opAuthResponse}, op) { // transport/server.cc:475-486 in 2025.1
		return failed(refuse(codeProtocol, "Unexpected message %d, expecting SASL_RESPONSE", op))
	}
	r := &reader{body}
	switch op {
	case opOptions:
		return opSupported, []byte{0, 0}, false
	case opStartup:
		if n.user.Socket || n.c.o.AllowAll {
			n.ready = true
			return opReady, nil, false
		}
		return opAuthenticate, text(nil, passwordAuthenticator), false
	case opAuthResponse:
		name, password := r.login()
		if err := n.c.LogIn(name, password); err != nil {
			return failed(err)
		}
		n.user.Name, n.ready = name, true
		return opAuthSuccess, binary.BigEndian.AppendUint32(nil, ^uint32(0)), false
	case opPrepare:
		return n.prepare(r.long())
	case opExecute:
		id := r.short()
		_, values := r.uint16(), r.values()
		return n.query(n.prepared[id], values)
	case opQuery:
		return n.query(r.long(), nil)
	}
	return failed(refuse(codeProtocol, "Unknown opcode %d", op)) // transport/server.cc:514 in 2026.1
}

func failed(err *Error) (byte, []byte, bool) {
	return opError, text(binary.BigEndian.AppendUint32(nil, uint32(err.Code)), err.Text), false
}

// prepare answers with the statement as its own ID.
func (n *conn) prepare(statement string) (byte, []byte, bool) {
	markers, ok := selects[statement]
	if !ok {
		return failed(refuse(codeSyntax, "line 1:0 no viable alternative at input '%s'", statement))
	}
	n.c.mu.Lock()
	t, err := n.c.selected(n.user, statement, make([]string, markers))
	n.c.mu.Unlock()
	if err != nil {
		return failed(err)
	}
	n.prepared[statement] = statement
	out := binary.BigEndian.AppendUint32(nil, 4) // kind: prepared
	out = text(out, statement)
	arguments := table{keyspace: t.keyspace, name: t.name, columns: slices.Repeat([]column{{"key", typeText}}, markers)}
	out = arguments.metadata(out, true)
	return opResult, t.metadata(out, false), false
}

func (n *conn) query(statement string, values []string) (byte, []byte, bool) {
	fault := n.c.faultOf(statement)
	if fault == Before {
		return 0, nil, true
	}
	t, keyspace, err := n.c.do(n.user, statement, values)
	switch {
	case fault == After:
		return 0, nil, true
	case err != nil:
		return failed(err)
	case t != nil:
		return opResult, t.append(binary.BigEndian.AppendUint32(nil, 2)), false // kind: rows
	case keyspace == "":
		return opResult, binary.BigEndian.AppendUint32(nil, 1), false // kind: void
	}
	out := binary.BigEndian.AppendUint32(nil, 5) // kind: schema change
	for _, s := range []string{"UPDATED", "KEYSPACE", keyspace} {
		out = text(out, s)
	}
	return opResult, out, false
}

// metadata appends a table's columns; arguments says that they are those of a prepared statement's
// markers.
func (t *table) metadata(b []byte, arguments bool) []byte {
	b = binary.BigEndian.AppendUint32(b, 1) // one table for all columns
	b = binary.BigEndian.AppendUint32(b, uint32(len(t.columns)))
	if arguments {
		b = binary.BigEndian.AppendUint32(b, 0) // no indexes of a partition key
	}
	b = text(text(b, t.keyspace), t.name)
	for _, c := range t.columns {
		b = binary.BigEndian.AppendUint16(text(b, c.name), uint16(c.kind))
		if c.kind == typeMap {
			b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, uint16(typeText)), uint16(typeText))
		}
	}
	return b
}

func (t *table) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(t.metadata(b, false), uint32(len(t.rows)))
	for _, row := range t.rows {
		for _, v := range row {
			b = value(b, encode(v))
		}
	}
	return b
}

func encode(v any) []byte {
	switch v := v.(type) {
	case bool:
		if v {
			return []byte{1}
		}
		return []byte{0}
	case string:
		return []byte(v)
	case [16]byte:
		return v[:]
	case [4]byte:
		return v[:]
	case map[string]string:
		out := binary.BigEndian.AppendUint32(nil, uint32(len(v)))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = value(value(out, []byte(k)), []byte(v[k]))
		}
		return out
	}
	return nil
}

func text(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...)
}

func value(b, v []byte) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
}

// reader takes a body apart; what is missing is empty.
type reader struct{ b []byte }

func (r *reader) take(n int) []byte {
	n = max(0, min(n, len(r.b)))
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) uint16() int {
	var b [2]byte
	copy(b[:], r.take(2))
	return int(binary.BigEndian.Uint16(b[:]))
}

func (r *reader) uint32() int {
	var b [4]byte
	copy(b[:], r.take(4))
	return int(int32(binary.BigEndian.Uint32(b[:])))
}

// login is SASL PLAIN's: authzId, authnId, password.
func (r *reader) login() (name, password string) {
	_, b, _ := bytes.Cut(r.bytes(), []byte{0})
	name, password, _ = strings.Cut(string(b), "\x00")
	return name, password
}

func (r *reader) bytes() []byte { return r.take(r.uint32()) }
func (r *reader) short() string { return string(r.take(r.uint16())) }
func (r *reader) long() string  { return strings.TrimSpace(string(r.bytes())) }

// values are those of an EXECUTE, after its consistency: flags, then their number and each.
func (r *reader) values() []string {
	if flags := r.take(1); len(flags) == 0 || flags[0]&1 == 0 {
		return nil
	}
	out := make([]string, r.uint16())
	for i := range out {
		out[i] = string(r.bytes())
	}
	return out
}
