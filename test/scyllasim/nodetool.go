// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/pflag"
)

// nodetool is one call of the tool: the address it asks, and its operation with operands.
type nodetool struct {
	ctx    context.Context
	client *http.Client
	base   string
	ignore string
	words  []string
}

// nodetoolOperations return what is printed.
var nodetoolOperations = map[string]func(t *nodetool) (string, error){
	"drain":         func(t *nodetool) (string, error) { return t.post("/storage_service/drain") },
	"decommission":  func(t *nodetool) (string, error) { return t.post("/storage_service/decommission") },
	"enablebinary":  func(t *nodetool) (string, error) { return t.post("/storage_service/native_transport") },
	"disablebinary": func(t *nodetool) (string, error) { return t.do(http.MethodDelete, "/storage_service/native_transport") },
	"removenode": func(t *nodetool) (string, error) {
		if len(t.words) < 2 {
			return "", errors.New("required parameters are missing: remove-operation")
		}
		return t.post("/storage_service/remove_node?host_id=" + url.QueryEscape(t.words[1]) + "&ignore_nodes=" + url.QueryEscape(t.ignore))
	},
	// Native transport is not there (404) before the node has joined, and so nodetool info fails, too.
	"info": func(t *nodetool) (string, error) {
		return t.both("/storage_service/hostid/local", "/storage_service/native_transport", "ID                     : %s\nNative Transport active: %s")
	},
	"status": func(t *nodetool) (string, error) {
		return t.both("/storage_service/host_id", "/gossiper/endpoint/live", "host_id: %s\nlive: %s")
	},
}

// NodetoolCommand is a small nodetool over the REST API: drain, decommission, removenode, status, info, enablebinary,
// disablebinary. It returns 1 when the operation is unknown or fails.
func NodetoolCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return parseNodetool(ctx, args).run(stdout, stderr)
}

func (t *nodetool) run(stdout, stderr io.Writer) int {
	if len(t.words) == 0 {
		_, _ = fmt.Fprintln(stderr, "error processing arguments: missing operation argument")
		return 1
	}
	out, err := "", fmt.Errorf("unrecognized operation argument: %s", t.words[0])
	if run := nodetoolOperations[t.words[0]]; run != nil {
		out, err = run(t)
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "error executing:", err)
		return 1
	}
	if out != "" {
		_, _ = fmt.Fprintln(stdout, out)
	}
	return 0
}

func parseNodetool(ctx context.Context, args []string) *nodetool {
	t := &nodetool{ctx: ctx, client: http.DefaultClient}
	flags := pflag.NewFlagSet("nodetool", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	host, port := flags.StringP("host", "h", "127.0.0.1", ""), flags.StringP("port", "p", "10000", "")
	flags.StringVar(&t.ignore, "ignore-dead-nodes", "", "")
	if err := flags.Parse(args); err == nil {
		t.words = flags.Args()
	}
	t.base = "http://" + net.JoinHostPort(*host, *port)
	return t
}

func (t *nodetool) post(path string) (string, error) {
	_, err := t.do(http.MethodPost, path)
	return "", err
}

// both returns format with the answers of two paths; the first loses its quotes.
func (t *nodetool) both(first, second, format string) (string, error) {
	a, err := t.do(http.MethodGet, first)
	if err != nil {
		return "", err
	}
	b, err := t.do(http.MethodGet, second)
	return fmt.Sprintf(format, strings.Trim(a, `"`), b), err
}

func (t *nodetool) do(method, path string) (string, error) {
	req, err := http.NewRequestWithContext(t.ctx, method, t.base+path, nil)
	if err != nil {
		return "", err
	}
	resp, err := t.client.Do(req)
	if err != nil {
		return "", fmt.Errorf("failed to connect to %s: %w", t.base, err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("remote replied with status code %d: %s", resp.StatusCode, b)
	}
	return string(b), err
}

// CqlshCommand is a small cqlsh: it runs the statement of -e, else those on standard input, and knows DESCRIBE KEYSPACES and SELECT release_version FROM
// system.local, which it answers from the REST API. Any other statement fails with 2, as a statement that ScyllaDB refuses does.
func CqlshCommand(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := pflag.NewFlagSet("cqlsh", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	text := ""
	flags.StringVarP(&text, "execute", "e", "", "")
	_ = flags.Parse(args)
	if text == "" {
		b, err := io.ReadAll(stdin)
		if err != nil {
			_, _ = fmt.Fprintln(stderr, "cqlsh:", err)
			return 1
		}
		text = string(b)
	}
	t := parseNodetool(ctx, nil)
	for statement := range strings.SplitSeq(text, ";") {
		var out string
		var err error
		switch words := strings.ToUpper(strings.Join(strings.Fields(statement), " ")); words {
		case "":
			continue
		case "DESCRIBE KEYSPACES", "DESC KEYSPACES":
			var names []string
			if out, err = t.do(http.MethodGet, "/storage_service/keyspaces"); err == nil {
				err = json.Unmarshal([]byte(out), &names)
			}
			out = strings.Join(names, "  ")
		case "SELECT RELEASE_VERSION FROM SYSTEM.LOCAL":
			out, err = t.do(http.MethodGet, "/storage_service/release_version")
			out = " release_version\n-----------------\n           " + strings.Trim(out, `"`) + "\n\n(1 rows)"
		default:
			err = fmt.Errorf("SyntaxException: statement %q is not simulated", strings.TrimSpace(statement))
		}
		if err != nil {
			_, _ = fmt.Fprintln(stderr, "<stdin>:1:"+err.Error())
			return 2
		}
		_, _ = fmt.Fprintln(stdout, "\n"+out+"\n")
	}
	return 0
}
