// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/mask"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/pattern"
)

// DefaultBaseURL is the address of ScyllaDB's REST API inside its Pod.
const DefaultBaseURL = "http://localhost:10000"

const (
	// defaultTimeout limits one request. ScyllaDB answers these reads from memory; a slower node is
	// not healthy.
	defaultTimeout = 5 * time.Second
	// maxErrorBody limits how many bytes of an error body are read; its message becomes part of an
	// annotation.
	maxErrorBody    = 64 << 10
	maxErrorMessage = 512
)

// Limits of a response. A thousand nodes need at most a third of each limit. A reporter has 128 MiB
// of memory, and decodes a list one item at a time.
const oddAnswer = "check that ScyllaDB is the process that responds on its REST API port"

var (
	// limitValue is the limit for a single text or number.
	limitValue = bounded.Limit{Bytes: 64 << 10, Cure: oddAnswer}
	// limitTexts is the limit for lists of addresses, and of tokens: 256 per node.
	limitTexts = bounded.Limit{Bytes: 16 << 20, Items: 1 << 19, ItemBytes: 4 << 10, Cure: oddAnswer}
	// limitMembers is the limit for the list of members: one pair of address and host ID each.
	limitMembers = bounded.Limit{Bytes: 8 << 20, Items: 1 << 15, ItemBytes: 4 << 10, Cure: oddAnswer}
	// limitEndpoints is the limit for gossip, the largest response: about 10 KiB per node,
	// including tokens and features. Each node is decoded as a whole; a list of empty states takes
	// thirteen times its size.
	limitEndpoints = bounded.Limit{Bytes: 32 << 20, Items: 1 << 15, ItemBytes: 256 << 10, Cure: oddAnswer}
	// limitSchemas is the limit for schema versions, each with the addresses that have it.
	limitSchemas = bounded.Limit{Bytes: 1 << 20, Items: 1 << 12, Cure: oddAnswer}
	// limitTasks is the limit for the task manager, which keeps finished tasks for some time.
	limitTask  = bounded.Limit{Bytes: 1 << 20, Cure: oddAnswer}
	limitTasks = bounded.Limit{Bytes: 16 << 20, Items: 1 << 15, ItemBytes: 64 << 10, Cure: oddAnswer}
)

// Client queries one node. It is safe for concurrent use.
type Client struct {
	base    string
	http    *http.Client
	timeout time.Duration
}

// NewClient returns a client for the node at base ("http://localhost:10000"). If hc is nil, the
// client uses no proxy, follows no redirects and keeps at most one idle connection. DefaultTimeout
// also limits each request; see WithTimeout.
func NewClient(base string, hc *http.Client) *Client {
	if hc == nil {
		hc = &http.Client{
			Transport: &http.Transport{
				DialContext:         (&net.Dialer{Timeout: defaultTimeout}).DialContext,
				MaxIdleConnsPerHost: 1,
				IdleConnTimeout:     30 * time.Second,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return &Client{base: strings.TrimRight(base, "/"), http: hc, timeout: defaultTimeout}
}

// WithTimeout returns a copy of c that limits each request to d.
func (c *Client) WithTimeout(d time.Duration) *Client {
	cc := *c
	cc.timeout = d
	return &cc
}

// CloseIdleConnections closes idle connections.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

// APIError is a failed request: an error status, no response (Status 0), or a body that cannot be
// decoded (Status 200). Its text contains no host and no port, so the same failure always has the
// same text.
type APIError struct {
	Method, Path string
	// Status is the HTTP status, 0 without a response.
	Status int
	// Message is ScyllaDB's error text, or a description of the cause.
	Message string

	cause error
}

// Error returns text like "GET /storage_service/host_id: HTTP 500: std::runtime_error (...)".
func (e *APIError) Error() string {
	if e.Status == 0 || e.Status/100 == 2 {
		return fmt.Sprintf("%s %s: %s", e.Method, e.Path, e.Message)
	}
	return fmt.Sprintf("%s %s: HTTP %d: %s", e.Method, e.Path, e.Status, e.Message)
}

// Unwrap returns the transport's or decoder's error, nil for an error status.
func (e *APIError) Unwrap() error { return e.cause }

// Missing reports whether this version, or this stage of the start, does not have the path.
func (e *APIError) Missing() bool { return e.Status == http.StatusNotFound }

// IsMissing reports whether err is an *APIError with status 404: the node does not have the path
// (yet).
func IsMissing(err error) bool {
	e, ok := errors.AsType[*APIError](err)
	return ok && e.Missing()
}

// IsUnreachable reports whether err means that there was no response.
func IsUnreachable(err error) bool {
	e, ok := errors.AsType[*APIError](err)
	return ok && e.Status == 0
}

// IsTimeout reports whether err means that the response was not in time.
func IsTimeout(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout() || errors.Is(err, context.DeadlineExceeded)
}

func (c *Client) get(ctx context.Context, path string, decode func(io.Reader) error) error {
	return c.do(ctx, http.MethodGet, path, decode)
}

func (c *Client) do(ctx context.Context, method, path string, decode func(io.Reader) error) error {
	return c.send(ctx, method, path, "", decode)
}

// send sends a request, with body unless it is empty, and streams the body of a successful response
// to decode.
func (c *Client) send(ctx context.Context, method, path, body string, decode func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	fail := func(status int, message string, cause error) error {
		return &APIError{Method: method, Path: path, Status: status, Message: clip(message), cause: cause}
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, strings.NewReader(body))
	if err != nil {
		return fail(0, "bad address of the API: "+err.Error(), err)
	}
	if req.Header.Set("Accept", "application/json"); body != "" {
		req.Header.Set("Accept", "text/xml")
		req.Header.Set("Content-Type", "text/xml")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fail(0, c.transportMessage(err), err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode/100 != 2 {
		// The status counts, even if the body breaks off.
		b, _ := bounded.Head(resp.Body, maxErrorBody)
		return fail(resp.StatusCode, errorMessage(b, resp.StatusCode), nil)
	}
	in := &noting{r: resp.Body}
	err = decode(in)
	switch {
	case in.err != nil:
		return fail(0, "response ended early: "+c.transportMessage(in.err), in.err)
	case bounded.IsTooLarge(err):
		return fail(resp.StatusCode, err.Error(), err)
	case err != nil:
		return fail(resp.StatusCode, "unexpected response: "+err.Error(), err)
	}
	return nil
}

// noting records a read error, which distinguishes a response that broke off from an invalid one.
type noting struct {
	r   io.Reader
	err error
}

func (n *noting) Read(p []byte) (int, error) {
	count, err := n.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		n.err = err
	}
	return count, err
}

// peerPorts matches the two ends of a connection as package net prints them; the first has an
// ephemeral port.
var peerPorts = pattern.Lazy(`\S+:\d+->\S+:\d+`)

// transportMessage returns the cause of a failed request without hosts and ports. The local port of
// a connection differs at each attempt, and the port of a port-forward at each command.
func (c *Client) transportMessage(err error) string {
	if IsTimeout(err) {
		return "no response within " + c.timeout.String()
	}
	if errors.Is(err, context.Canceled) {
		return "cancelled"
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "connection closed before the response was complete"
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Err != nil {
		text := op.Err.Error()
		if i := strings.LastIndex(text, ": "); i >= 0 {
			text = text[i+2:]
		}
		return op.Op + ": " + text
	}
	return strings.TrimSpace(peerPorts().ReplaceAllString(err.Error(), ""))
}

// errorMessage returns the message of {"message","code"}, whatever the Content-Type; other bodies
// are returned as text.
func errorMessage(body []byte, status int) string {
	var m struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &m) == nil && m.Message != "" {
		return m.Message
	}
	if text := strings.Join(strings.Fields(string(body)), " "); text != "" {
		return text
	}
	if text := http.StatusText(status); text != "" {
		return text
	}
	return "no message"
}

// clip removes secrets from a text, cuts it at a rune boundary, and replaces bytes that are invalid
// in JSON.
func clip(text string) string {
	text = strings.ToValidUTF8(mask.Text(text), "\uFFFD")
	if len(text) <= maxErrorMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxErrorMessage], "") + "…"
}

// Member is one entry of the list of members.
type Member struct {
	// Address in ScyllaDB's format.
	Address string `json:"address"`
	// HostID is a UUID in lower case, another text unchanged, or empty if ScyllaDB returns none.
	HostID string `json:"hostID,omitempty"`
}

// Members lists the members in the node's topology, including joining, leaving, replacing and
// replaced nodes (GET /storage_service/host_id), sorted by host ID, then address. Addresses may
// repeat (since 2025.3). Up to 2025.2, one of two members at one address is missing. Errors:
// *APIError; status 500 while gossip does not run.
func (c *Client) Members(ctx context.Context) ([]Member, error) {
	var out []Member
	return out,
		c.get(ctx, "/storage_service/host_id", func(b io.Reader) (err error) { out, err = decodeMembers(b); return })
}

// Live lists the addresses that gossip has as alive, members or not.
func (c *Client) Live(ctx context.Context) ([]string, error) {
	return c.strings(ctx, "/gossiper/endpoint/live")
}

// Down lists the addresses that gossip has as dead. A member may be in neither list.
func (c *Client) Down(ctx context.Context) ([]string, error) {
	return c.strings(ctx, "/gossiper/endpoint/down")
}

// Joining lists the addresses with bootstrap tokens. A queued or replacing node is not listed.
func (c *Client) Joining(ctx context.Context) ([]string, error) {
	return c.strings(ctx, "/storage_service/nodes/joining")
}

// Leaving lists the addresses that are being decommissioned or removed.
func (c *Client) Leaving(ctx context.Context) ([]string, error) {
	return c.strings(ctx, "/storage_service/nodes/leaving")
}

// Tokens lists the normal tokens of the node at address. An empty list means that the node is
// unknown or owns no tokens. ScyllaDB answers for the current node at the address: during a
// replacement at the same address, the new node.
func (c *Client) Tokens(ctx context.Context, address string) ([]string, error) {
	return c.strings(ctx, "/storage_service/tokens/"+url.PathEscape(address))
}

// RingTokens lists the tokens of all nodes in this node's ring; available before gossip starts.
func (c *Client) RingTokens(ctx context.Context) ([]string, error) {
	return c.strings(ctx, "/storage_service/tokens")
}

func (c *Client) strings(ctx context.Context, path string) ([]string, error) {
	var out []string
	return out, c.get(ctx, path, func(b io.Reader) (err error) { out, err = decodeStrings(b); return })
}

func (c *Client) string(ctx context.Context, path string) (string, error) {
	var out string
	return out, c.get(ctx, path, func(b io.Reader) (err error) { out, err = decodeString(b); return })
}

// LocalHostID returns the node's host ID, which exists before the node joins. It is empty while
// ScyllaDB has not set it (zero UUID up to 6.1, 404 "not yet set" since). A 404 for a missing path
// is an error.
func (c *Client) LocalHostID(ctx context.Context) (string, error) {
	id, err := c.string(ctx, "/storage_service/hostid/local")
	if e, ok := errors.AsType[*APIError](err); ok && e.Missing() && strings.Contains(e.Message, "not yet set") {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return canonicalHostID(id), nil
}

// OperationMode returns ScyllaDB's operation mode: STARTING, JOINING, BOOTSTRAP, NORMAL, LEAVING,
// DECOMMISSIONED, DRAINING, DRAINED, ... Since 2026.1 this path is missing in maintenance mode.
func (c *Client) OperationMode(ctx context.Context) (string, error) {
	return c.string(ctx, "/storage_service/operation_mode")
}

// ReleaseVersion returns the running release, "2025.2.1-0.20250901.abcdef". (release_version
// without scylla_ is Cassandra's number.)
func (c *Client) ReleaseVersion(ctx context.Context) (string, error) {
	return c.string(ctx, "/storage_service/scylla_release_version")
}

// Generation returns the node's gossip generation, the start of the process in Unix seconds: it
// identifies the process.
func (c *Client) Generation(ctx context.Context) (int64, error) {
	var out int64
	return out,
		c.get(ctx, "/storage_service/generation_number",
			func(b io.Reader) (err error) { out, err = decodeInt(b); return })
}

// ReplaceTarget returns the node's configuration value replace_node_first_boot: the host ID to
// replace, empty if not set.
func (c *Client) ReplaceTarget(ctx context.Context) (string, error) {
	id, err := c.string(ctx, "/v2/config/replace_node_first_boot")
	return canonicalHostID(id), err
}

// RepairBased returns the node operations that the node's configuration makes repair-based, by
// ScyllaDB's names, sorted; none if the mechanism is off. The two options are in ScyllaDB's
// documentation of repair-based node operations. Their types, a boolean and a comma-separated text,
// are [derived] from the printed form of the configuration.
func (c *Client) RepairBased(ctx context.Context) ([]string, error) {
	var on bool
	if err := c.get(ctx, "/v2/config/enable_repair_based_node_ops",
		func(b io.Reader) (err error) { on, err = decodeBool(b); return }); err != nil || !on {
		return nil, err
	}
	text, err := c.string(ctx, "/v2/config/allowed_repair_based_node_ops")
	if err != nil {
		return nil, err
	}
	list := api.SplitList(text)
	slices.Sort(list)
	return slices.Compact(list), nil
}

// HasVnodeKeyspaces reports whether a keyspace of users has vnodes, not tablets. Before 6.0 the
// filter is ignored, and every keyspace has vnodes.
func (c *Client) HasVnodeKeyspaces(ctx context.Context) (bool, error) {
	names, err := c.strings(ctx, "/storage_service/keyspaces?type=user&replication=vnodes")
	return len(names) > 0, err
}

// TopologyUpgrade returns "done" if Raft manages the topology, otherwise another text (before 6.0:
// 404).
func (c *Client) TopologyUpgrade(ctx context.Context) (string, error) {
	return c.string(ctx, "/storage_service/raft_topology/upgrade")
}

// RaftLeader returns the host ID of the topology coordinator, empty if the node knows none (before
// 6.0: 404).
func (c *Client) RaftLeader(ctx context.Context) (string, error) {
	id, err := c.string(ctx, "/raft/leader_host")
	return canonicalHostID(id), err
}

// SchemaVersions maps each schema version to its addresses. Key "UNREACHABLE" lists live nodes that
// did not respond. One key means agreement.
func (c *Client) SchemaVersions(ctx context.Context) (map[string][]string, error) {
	var out map[string][]string
	return out,
		c.get(ctx, "/storage_proxy/schema_versions",
			func(b io.Reader) (err error) { out, err = decodeSchemaVersions(b); return })
}

// FlushSystemLocal writes system.local to an SSTable, so that the data directory records that the
// node has bootstrapped. Since 5.4 ScyllaDB writes it only at a clean stop.
func (c *Client) FlushSystemLocal(ctx context.Context) error { return c.flushSystem(ctx, "local") }

// FlushScyllaLocal writes system.scylla_local to an SSTable, so that the data directory has the
// node's group 0 ID [derived].
func (c *Client) FlushScyllaLocal(ctx context.Context) error {
	return c.flushSystem(ctx, "scylla_local")
}

func (c *Client) flushSystem(ctx context.Context, table string) error {
	return c.do(ctx, http.MethodPost, "/storage_service/keyspace_flush/system?cf="+table, func(b io.Reader) error {
		_, err := limitValue.Read(b, theAnswer)
		return err
	})
}

// Endpoint is one node in gossip.
type Endpoint struct {
	Address string `json:"address"`
	// HostID is the application state HOST_ID, canonical; empty if gossip does not have it.
	HostID     string `json:"hostID,omitempty"`
	Alive      bool   `json:"alive"`
	Generation int64  `json:"generation,omitempty"`
	// Datacenter and Rack are the application states DC and RACK; empty if gossip does not have
	// them.
	Datacenter string `json:"datacenter,omitempty"`
	Rack       string `json:"rack,omitempty"`
}

// Endpoints lists every node in gossip, members or not (GET /failure_detector/endpoints). Only this
// response has the host ID that gossips from an address.
func (c *Client) Endpoints(ctx context.Context) ([]Endpoint, error) {
	var out []Endpoint
	return out,
		c.get(ctx, "/failure_detector/endpoints",
			func(b io.Reader) (err error) { out, err = decodeEndpoints(b); return })
}

// Task is a topology operation in the task manager's list.
type Task struct {
	ID string `json:"id"`
	// bootstrap, replace, decommission, "remove node", rebuild (texts since 2025.1); empty while
	// pending
	Type string `json:"type"`
	// created, running, done, failed; queued operations are also running
	State string `json:"state"`
	// HostID is the node that the operation is about, empty if ScyllaDB does not name it. A
	// replacement names the new node, from 2026.4 on the replaced node.
	HostID string `json:"hostID"`
	Ended  string `json:"ended,omitempty"` // in ScyllaDB's format, for ordering only
}

// Open reports whether the operation is queued or in progress.
func (t Task) Open() bool { return t.State == "created" || t.State == "running" }

// NodeOperations lists the cluster's topology operations, including recently finished ones (6.2 and
// later, else 404). All members return the same list.
func (c *Client) NodeOperations(ctx context.Context) ([]Task, error) {
	var out []Task
	return out,
		c.get(ctx, "/task_manager/list_module_tasks/node_ops",
			func(b io.Reader) (err error) { out, err = decodeTasks(b); return })
}

// TaskError returns the error text of a task, empty if it has none.
func (c *Client) TaskError(ctx context.Context, id string) (string, error) {
	var out string
	return out, c.get(ctx, "/task_manager/task_status/"+url.PathEscape(id), func(b io.Reader) error {
		var t struct {
			Error string `json:"error"`
		}
		data, err := limitTask.Read(b, theAnswer)
		if err != nil {
			return err
		}
		err = decodeJSON(data, &t)
		out = clip(strings.TrimSpace(t.Error))
		return err
	})
}

// decodeJSON decodes exactly one JSON value.
func decodeJSON(b []byte, into any) error {
	if len(bytes.TrimSpace(b)) == 0 {
		return errors.New("empty body where JSON was expected")
	}
	return json.Unmarshal(b, into)
}
