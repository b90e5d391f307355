// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	clientexec "k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/kubectl-scylla/kubectl-scylla/internal/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// Exec is one command in one container.
type Exec struct {
	Namespace, Pod, Container string
	Command                   []string
	// Stdin is nil for a command that gets none. With TTY the container's standard error comes on Stdout.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	TTY            bool
	// Sizes are those of the terminal, nil without one.
	Sizes remotecommand.TerminalSizeQueue
}

// ExitError is a command that ran and ended with another code than zero.
type ExitError struct{ Code int }

// Error gives the exit code only: the command itself has printed its error.
func (e *ExitError) Error() string { return fmt.Sprintf("exit code %d", e.Code) }

// Run runs the command to its end, or until ctx ends. Error: *ExitError; otherwise the command did not run, or its exit code is unknown.
func (e Exec) Run(ctx context.Context, cfg *rest.Config) error {
	what := fmt.Sprintf("run %s in pod %s/%s", e.Command[0], e.Namespace, e.Pod)
	target, err := podURL(cfg, e.Namespace, e.Pod, "exec")
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	query := url.Values{"container": {e.Container}, "command": e.Command}
	for name, on := range map[string]bool{"stdin": e.Stdin != nil, "stdout": true, "stderr": !e.TTY, "tty": e.TTY} {
		if on {
			query.Set(name, "true")
		}
	}
	target.RawQuery = query.Encode()
	over, err := remotecommand.NewWebSocketExecutor(cfg, http.MethodGet, target.String())
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	older, err := remotecommand.NewSPDYExecutor(cfg, http.MethodPost, target)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	executor, err := remotecommand.NewFallbackExecutor(over, older, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	opts := remotecommand.StreamOptions{Stdin: e.Stdin, Stdout: e.Stdout, Stderr: e.Stderr, Tty: e.TTY, TerminalSizeQueue: e.Sizes}
	if e.TTY {
		opts.Stderr = nil
	}
	err = executor.StreamWithContext(ctx, opts)
	if ended, ok := errors.AsType[clientexec.CodeExitError](err); ok {
		return &ExitError{Code: ended.Code}
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", what, ctx.Err())
	}
	return fmt.Errorf("%s: %w", what, upgradeCause(err))
}

// Logs streams a container's log until it ends, or with Follow until ctx ends.
func Logs(ctx context.Context, cfg *rest.Config, namespace, pod string, opts corev1.PodLogOptions) (io.ReadCloser, error) {
	what := fmt.Sprintf("read log of container %s of pod %s/%s", opts.Container, namespace, pod)
	target, err := podURL(cfg, namespace, pod, "log")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	query := url.Values{"container": {opts.Container}}
	for name, on := range map[string]bool{"follow": opts.Follow, "previous": opts.Previous, "timestamps": opts.Timestamps} {
		if on {
			query.Set(name, "true")
		}
	}
	for name, n := range map[string]*int64{"tailLines": opts.TailLines, "sinceSeconds": opts.SinceSeconds, "limitBytes": opts.LimitBytes} {
		if n != nil {
			query.Set(name, strconv.FormatInt(*n, 10))
		}
	}
	target.RawQuery = query.Encode()
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = 0 // a log that is followed has no end
	hc, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	resp, err := hc.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	defer func() { _ = resp.Body.Close() }()
	said, _ := bounded.Head(resp.Body, maxForwardError) // what could not be read is missing from the words
	return nil, fmt.Errorf("%s: %w", what, statusError(resp.StatusCode, said))
}

// statusError is the API server's own answer, such as the right that is missing.
func statusError(code int, said []byte) error {
	var status metav1.Status
	if err := json.Unmarshal(said, &status); err == nil && status.Kind == "Status" {
		return &apierrors.StatusError{ErrStatus: status}
	}
	return fmt.Errorf("%d %s: %s", code, http.StatusText(code), cluster.FirstLine(string(said)))
}
