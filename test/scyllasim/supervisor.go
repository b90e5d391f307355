// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"os"
	"sync"
	"syscall"
	"time"
)

// supervisor restarts a program as supervisord does with its defaults: exit code 0 is the end, any other one means again.
type supervisor struct {
	start func() (wait func() int, signal func(os.Signal), err error)
	say   func(format string, args ...any)
	clock Clock
	// minUptime is how long the program must run to count as started; faster deaths back off and end after three retries.
	minUptime time.Duration
	stopWait  time.Duration

	mu      sync.Mutex
	info    processInfo
	program func(os.Signal) // signals the program; nil while it does not run
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
		s.note(func(p *processInfo) {
			*p = processInfo{state: "STARTING", start: time.Now().Unix(), stop: p.stop}
			s.program = sig
		})
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
		s.program = nil
	})
}

// signal sends a signal to the program; false while it does not run.
func (s *supervisor) signal(sig os.Signal) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.program == nil {
		return false
	}
	s.program(sig)
	return true
}
