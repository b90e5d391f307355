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

func (s *supervisor) note(change func(*processInfo)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.info)
}

// processInfo is how the program is now.
func (s *supervisor) processInfo() processInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info
}

// run supervises until ctx ends; then it stops the program cleanly. The container goes on after the program has ended with 0.
func (s *supervisor) run(ctx context.Context) error {
	for retries := 0; ctx.Err() == nil; {
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
		quick := s.clock.Now().Sub(began) < s.minUptime
		if code == 0 && !quick {
			s.ended("EXITED", 0)
			s.say("INFO exited: scylla (exit status 0; expected)")
			<-ctx.Done()
			return nil
		}
		s.say("INFO exited: scylla (exit status %d; not expected)", code)
		if !quick {
			retries = 0
			s.ended("EXITED", code)
			_ = s.clock.sleep(ctx, s.minUptime/2)
			continue
		}
		s.ended("BACKOFF", 0)
		if retries++; retries > 3 {
			s.say("INFO gave up: scylla entered FATAL state, too many start retries too quickly")
			s.note(func(p *processInfo) { p.state = "FATAL" })
			<-ctx.Done()
			return nil
		}
		_ = s.clock.sleep(ctx, time.Duration(retries)*s.minUptime)
	}
	return nil
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

// ServeHTTP answers supervisor.getProcessInfo of program scylla at /RPC2, and nothing else.
func (s *supervisor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var call struct {
		Method string `xml:"methodName"`
		Name   string `xml:"params>param>value>string"`
	}
	if err := xml.NewDecoder(io.LimitReader(r.Body, 64<<10)).Decode(&call); err != nil || r.URL.Path != "/RPC2" ||
		call.Method != "supervisor.getProcessInfo" || call.Name != "scylla" {
		http.Error(w, "Bad Request", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/xml")
	p := s.processInfo()
	_, _ = fmt.Fprintf(w, `<?xml version='1.0'?>
<methodResponse><params><param><value><struct>
<member><name>name</name><value><string>scylla</string></value></member>
<member><name>start</name><value><int>%d</int></value></member>
<member><name>stop</name><value><int>%d</int></value></member>
<member><name>statename</name><value><string>%s</string></value></member>
<member><name>spawnerr</name><value><string>%s</string></value></member>
<member><name>exitstatus</name><value><int>%d</int></value></member>
</struct></value></param></params></methodResponse>
`, p.start, p.stop, p.state, p.spawnerr, p.exit)
}
