// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"os"
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
		exited := make(chan int, 1)
		go func() { exited <- wait() }()
		var code int
		select {
		case code = <-exited:
		case <-ctx.Done():
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
			if retries++; retries > 3 {
				s.say("INFO gave up: scylla entered FATAL state, too many start retries too quickly")
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
