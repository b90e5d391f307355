// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Client talks to one supervisor.
type Client struct {
	http *http.Client
	name string
}

// NewClient returns a client of the supervisor that listens on socket in dir. The socket need not exist yet. dir is
// held open by its descriptor, because the address of a Unix socket must not be longer than 107 bytes and state
// directories can be.
func NewClient(dir *os.File, socket string) *Client {
	address := filepath.Join("/proc/self/fd", strconv.Itoa(int(dir.Fd())), socket)
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", address)
		},
		MaxIdleConnsPerHost: 4,
	}
	return &Client{http: &http.Client{Transport: transport}, name: strings.TrimSuffix(socket, ".sock")}
}

// Ping fails until the supervisor serves.
func (c *Client) Ping(ctx context.Context) error { return c.call(ctx, "ping", struct{}{}, nil) }

// Start starts a process; its name must not be that of a running one.
func (c *Client) Start(ctx context.Context, p Process) (Status, error) {
	var s Status
	return s, c.call(ctx, "start", p, &s)
}

// Status tells how the process of that name is; one never started is not running and has no exit.
func (c *Client) Status(ctx context.Context, name string) (Status, error) {
	var s Status
	return s, c.call(ctx, "status", Process{Name: name}, &s)
}

// Signal sends a signal to the process of that name. After SIGKILL it returns when the process is gone.
func (c *Client) Signal(ctx context.Context, name string, signal syscall.Signal) error {
	return c.call(ctx, "signal", SignalRequest{Name: name, Signal: int(signal)}, nil)
}

// SignalPIDs sends a signal to processes by their numbers in the supervisor's pid namespace.
func (c *Client) SignalPIDs(ctx context.Context, pids []int, signal syscall.Signal) error {
	return c.call(ctx, "signal", SignalRequest{PIDs: pids, Signal: int(signal)}, nil)
}

// Run runs a command and fails when its exit code is not 0; the error holds what it wrote to standard error.
func (c *Client) Run(ctx context.Context, cmd Command) ([]byte, error) {
	var r Result
	if err := c.call(ctx, "run", cmd, &r); err != nil {
		return nil, err
	}
	if r.Code != 0 {
		return r.Stdout, fmt.Errorf("%s in %s: exit code %d: %s", strings.Join(cmd.Argv, " "), c.name, r.Code,
			strings.TrimSpace(string(r.Stderr)+string(r.Stdout)))
	}
	return r.Stdout, nil
}

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

func (c *Client) call(ctx context.Context, verb string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("ask supervisor %s to %s: %w", c.name, verb, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://supervisor/"+verb, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("ask supervisor %s to %s: %w", c.name, verb, err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("ask supervisor %s to %s: %w", c.name, verb, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("ask supervisor %s to %s: %w", c.name, verb, err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("supervisor %s: %s: %s", c.name, verb, strings.TrimSpace(string(answer)))
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("ask supervisor %s to %s: decode answer: %w", c.name, verb, err)
	}
	return nil
}
