// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/pflag"
)

// restTool asks a node by its REST API.
type restTool struct {
	ctx    context.Context
	client *http.Client
	base   string
}

// nodetoolOperations are one call each, and those that print something: their calls with a format.
var (
	nodetoolOperations = map[string][2]string{
		"drain":         {http.MethodPost, "/storage_service/drain"},
		"decommission":  {http.MethodPost, "/storage_service/decommission"},
		"enablebinary":  {http.MethodPost, "/storage_service/native_transport"},
		"disablebinary": {http.MethodDelete, "/storage_service/native_transport"},
		"removenode":    {http.MethodPost, "/storage_service/remove_node"},
	}
	nodetoolPrints = map[string][3]string{
		// Native transport is not there (404) before the node has joined, and so nodetool info fails, too.
		"info":   {"/storage_service/hostid/local", "/storage_service/native_transport", "ID                     : %s\nNative Transport active: %s\n"},
		"status": {"/storage_service/host_id", "/gossiper/endpoint/live", "host_id: %s\nlive: %s\n"},
	}
)

// NodetoolCommand is a small nodetool over the REST API: drain, decommission, removenode, status, info, enablebinary,
// disablebinary. It returns 1 when the operation is unknown or fails.
func NodetoolCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return nodetool(restTool{ctx: ctx, client: http.DefaultClient}, args, stdout, stderr)
}

func nodetool(t restTool, args []string, stdout, stderr io.Writer) int {
	flags := pflag.NewFlagSet("nodetool", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	host, port := flags.StringP("host", "h", "127.0.0.1", ""), flags.StringP("port", "p", apiPort, "")
	ignore := flags.String("ignore-dead-nodes", "", "")
	err := flags.Parse(args)
	t.base = "http://" + net.JoinHostPort(*host, *port)
	operation := flags.Arg(0)
	call, calls := nodetoolOperations[operation]
	printed, prints := nodetoolPrints[operation]
	switch {
	case err != nil:
	case calls:
		query := url.Values{"host_id": {flags.Arg(1)}, "ignore_nodes": {*ignore}}.Encode()
		_, err = t.do(call[0], call[1]+"?"+query)
	case prints:
		first, failed := t.do(http.MethodGet, printed[0])
		second, too := t.do(http.MethodGet, printed[1])
		if err = errors.Join(failed, too); err == nil {
			_, _ = fmt.Fprintf(stdout, printed[2], strings.Trim(first, `"`), second)
		}
	default:
		err = fmt.Errorf("unrecognized operation argument: %q", operation)
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "error executing:", err)
		return 1
	}
	return 0
}

func (t restTool) do(method, path string) (string, error) {
	code, body, err := request(t.ctx, t.client, method, t.base+path)
	switch {
	case err != nil:
		err = fmt.Errorf("failed to connect to %s: %w", t.base, err)
	case code != http.StatusOK:
		err = fmt.Errorf("remote replied with status code %d: %s", code, body)
	}
	return body, err
}

// request returns status and body.
func request(ctx context.Context, client *http.Client, method, url string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return 0, "", err
	}
	req.Close = true
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}
