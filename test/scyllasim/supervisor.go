// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// supervisor restarts a program as supervisord does with its defaults: exit code 0 is the end, any other one means again.
type supervisor struct {
	start func() (wait func() int, signal func(os.Signal), err error)
	say   func(format string, args ...any)
	clock *clock
	// minUptime is how long the program must run to count as started; faster deaths back off and end after three retries.
	minUptime time.Duration
	stopWait  time.Duration

	mu   sync.Mutex
	info processInfo
}

// processInfo is the answer of supervisor.getProcessInfo, with supervisord's names and numbers.
type processInfo struct {
	state       string
	start, stop int64 // Unix time; 0 before the first
	exit        int   // 0 while there is none
	spawnerr    string
}

// States of a process, by number as well.
var processStates = map[string]int{"STOPPED": 0, "STARTING": 10, "RUNNING": 20, "BACKOFF": 30, "STOPPING": 40, "EXITED": 100, "FATAL": 200}

func (s *supervisor) note(change func(*processInfo)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.info)
}

// processInfo is how the program is now; STOPPED before its first start.
func (s *supervisor) processInfo() processInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.info
	if out.state == "" {
		out.state = "STOPPED"
	}
	return out
}

// run supervises until ctx ends; then it stops the program cleanly. The container goes on after the program has ended with 0.
func (s *supervisor) run(ctx context.Context) error {
	retries := 0
	for {
		began := s.clock.Now()
		wait, sig, err := s.start()
		if err != nil {
			return err
		}
		s.note(func(p *processInfo) { *p = processInfo{state: "STARTING", start: time.Now().Unix(), stop: p.stop} })
		exited := make(chan int, 1)
		go func() { exited <- wait() }()
		code, ended := s.watch(ctx, exited, s.clock.After(s.minUptime))
		if !ended {
			s.say("WARN received SIGTERM indicating exit request")
			sig(syscall.SIGTERM)
			select {
			case <-exited:
			case <-s.clock.After(s.stopWait):
				sig(syscall.SIGKILL)
				<-exited
			}
			s.say("INFO stopped: scylla")
			return nil
		}
		if s.clock.Now().Sub(began) < s.minUptime {
			s.say("INFO exited: scylla (exit status %d; not expected)", code)
			s.ended("BACKOFF", 0)
			if retries++; retries > 3 {
				s.say("INFO gave up: scylla entered FATAL state, too many start retries too quickly")
				s.note(func(p *processInfo) { p.state = "FATAL" })
				<-ctx.Done()
				return nil
			}
			select {
			case <-s.clock.After(time.Duration(retries) * s.minUptime):
			case <-ctx.Done():
				return nil
			}
			continue
		}
		retries = 0
		s.ended("EXITED", code)
		if code == 0 {
			s.say("INFO exited: scylla (exit status 0; expected)")
			<-ctx.Done()
			return nil
		}
		s.say("INFO exited: scylla (exit status %d; not expected)", code)
		select {
		case <-s.clock.After(s.minUptime / 2):
		case <-ctx.Done():
			return nil
		}
	}
}

// watch waits for the program's end; ended is false where ctx ends first. A program that has run for the least time is RUNNING.
func (s *supervisor) watch(ctx context.Context, exited <-chan int, running <-chan time.Time) (code int, ended bool) {
	for {
		select {
		case code = <-exited:
			return code, true
		case <-ctx.Done():
			return 0, false
		case <-running:
			s.note(func(p *processInfo) { p.state = "RUNNING" })
		}
	}
}

func (s *supervisor) ended(state string, code int) {
	s.note(func(p *processInfo) {
		p.state, p.exit, p.stop = state, code, time.Now().Unix()
		if state == "BACKOFF" {
			p.spawnerr = "Exited too quickly (process log may have details)"
		}
	})
}

// supervisorAddress is where the image's supervisord listens, for any container of the Pod and without credentials; SCYLLASIM_SUPERVISOR is another one.
const supervisorAddress = "127.0.0.1:9001"

// programName is that of the image's conf.d file.
const programName = "scylla"

// Faults of supervisord.
const (
	faultUnknownMethod = 1
	faultBadName       = 10
)

// listen answers XML-RPC until the returned function is called. Where the port is taken, supervisord would end; here other nodes share the machine in tests.
func (s *supervisor) listen(ctx context.Context, address string) (stop func()) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		s.say("WARN supervisord does not listen: %v", err)
		return func() {}
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	return func() { _ = server.Close() }
}

// ServeHTTP answers supervisor.getProcessInfo at /RPC2.
func (s *supervisor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<10))
	var call struct {
		Method string   `xml:"methodName"`
		Params []string `xml:"params>param>value>string"`
	}
	switch {
	case r.URL.Path != "/RPC2":
		http.NotFound(w, r)
		return
	case err != nil || xml.Unmarshal(body, &call) != nil:
		http.Error(w, "Bad Request", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/xml")
	_, _ = io.WriteString(w, s.answer(call.Method, call.Params))
}

func (s *supervisor) answer(method string, params []string) string {
	named := len(params) > 0 && slices.Contains([]string{programName, programName + ":" + programName}, params[0])
	switch {
	case method == "supervisor.getProcessInfo" && named:
		return rpcValue(s.processInfo().xml(time.Now().Unix()))
	case method == "supervisor.getProcessInfo":
		return rpcFault(faultBadName, "BAD_NAME: "+strings.Join(params, " "))
	}
	return rpcFault(faultUnknownMethod, "UNKNOWN_METHOD")
}

func (p processInfo) xml(now int64) string {
	var b strings.Builder
	b.WriteString("<struct>\n")
	for _, m := range []struct {
		name  string
		value any
	}{
		{"name", programName}, {"group", programName}, {"start", p.start}, {"stop", p.stop}, {"now", now}, {"state", processStates[p.state]},
		{"statename", p.state}, {"spawnerr", p.spawnerr}, {"exitstatus", p.exit}, {"logfile", "/dev/stdout"}, {"stdout_logfile", "/dev/stdout"},
		{"stderr_logfile", "/dev/stderr"}, {"pid", map[bool]int{true: 2}[p.state == "STARTING" || p.state == "RUNNING"]}, {"description", p.spawnerr},
	} {
		kind := "int"
		if _, is := m.value.(string); is {
			kind = "string"
		}
		fmt.Fprintf(&b, "<member>\n<name>%s</name>\n<value><%s>%v</%[2]s></value>\n</member>\n", m.name, kind, m.value)
	}
	b.WriteString("</struct>")
	return b.String()
}

const rpcHead = "<?xml version='1.0'?>\n<methodResponse>\n"

func rpcValue(value string) string {
	return rpcHead + "<params>\n<param>\n<value>" + value + "</value>\n</param>\n</params>\n</methodResponse>\n"
}

func rpcFault(number int, text string) string {
	return fmt.Sprintf("%s<fault>\n<value><struct>\n<member>\n<name>faultCode</name>\n<value><int>%d</int></value>\n</member>\n"+
		"<member>\n<name>faultString</name>\n<value><string>%s</string></value>\n</member>\n</struct></value>\n</fault>\n</methodResponse>\n", rpcHead, number, text)
}
