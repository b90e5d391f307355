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
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/pattern"
)

// DefaultBaseURL is where ScyllaDB's REST API listens inside its Pod.
const DefaultBaseURL = "http://localhost:10000"

const (
	// DefaultTimeout bounds one request. ScyllaDB answers these reads from memory; a node that takes longer is not healthy.
	DefaultTimeout = 5 * time.Second
	// maxErrorBody bounds how much of an error's body is read; its message goes into an annotation.
	maxErrorBody    = 64 << 10
	maxErrorMessage = 512
)

// Limits of an answer. A thousand nodes need a third of it at most; a reporter has 128 MiB of memory, and holds one item of a list at a time.
const oddAnswer = "check that ScyllaDB is the process that responds on its REST API port"

var (
	// limitValue is for a single text or number.
	limitValue = bounded.Limit{Bytes: 64 << 10, Cure: oddAnswer}
	// limitTexts is for lists of addresses, and of tokens: 256 of each node.
	limitTexts = bounded.Limit{Bytes: 16 << 20, Items: 1 << 19, ItemBytes: 4 << 10, Cure: oddAnswer}
	// limitMembers is for the list of members: one pair of address and host ID each.
	limitMembers = bounded.Limit{Bytes: 8 << 20, Items: 1 << 15, ItemBytes: 4 << 10, Cure: oddAnswer}
	// limitEndpoints is for gossip, the largest answer: some 10 KiB of each node, tokens and features among it. A node is decoded whole, and a list of empty
	// states takes thirteen times its own size.
	limitEndpoints = bounded.Limit{Bytes: 32 << 20, Items: 1 << 15, ItemBytes: 256 << 10, Cure: oddAnswer}
	// limitSchemas is for schema versions: each with the addresses that have it.
	limitSchemas = bounded.Limit{Bytes: 1 << 20, Items: 1 << 12, Cure: oddAnswer}
	// limitTasks is for the task manager: finished tasks stay for a while.
	limitTask  = bounded.Limit{Bytes: 1 << 20, Cure: oddAnswer}
	limitTasks = bounded.Limit{Bytes: 16 << 20, Items: 1 << 15, ItemBytes: 64 << 10, Cure: oddAnswer}
)

// Client asks one node. It is safe for concurrent use.
type Client struct {
	base    string
	http    *http.Client
	timeout time.Duration
}

// NewClient asks the node at base ("http://localhost:10000"). With a nil hc it makes a client that uses no proxy, follows no
// redirects and keeps at most one idle connection. Each request has DefaultTimeout beside its context; see WithTimeout.
func NewClient(base string, hc *http.Client) *Client {
	if hc == nil {
		hc = &http.Client{
			Transport: &http.Transport{
				DialContext:         (&net.Dialer{Timeout: DefaultTimeout}).DialContext,
				MaxIdleConnsPerHost: 1,
				IdleConnTimeout:     30 * time.Second,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return &Client{base: strings.TrimRight(base, "/"), http: hc, timeout: DefaultTimeout}
}

// WithTimeout returns a client that bounds each request by d.
func (c *Client) WithTimeout(d time.Duration) *Client {
	cc := *c
	cc.timeout = d
	return &cc
}

// CloseIdleConnections closes kept connections.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

// APIError is a failed request: an error status, no answer at all (Status 0), or a body that cannot be decoded (Status 200). Its text never has the host or a port, so that the
// same failure has the same text each time.
type APIError struct {
	Method, Path string
	// Status is the HTTP status, 0 when there was no answer.
	Status int
	// Message is ScyllaDB's own text, or the cause in words.
	Message string

	cause error
}

// Error is "GET /storage_service/host_id: HTTP 500: std::runtime_error (...)".
func (e *APIError) Error() string {
	if e.Status == 0 || e.Status/100 == 2 {
		return fmt.Sprintf("%s %s: %s", e.Method, e.Path, e.Message)
	}
	return fmt.Sprintf("%s %s: HTTP %d: %s", e.Method, e.Path, e.Status, e.Message)
}

// Unwrap gives the transport's or decoder's error, nil for an answer of ScyllaDB.
func (e *APIError) Unwrap() error { return e.cause }

// Missing is true for a path that this version, or this stage of starting, does not have.
func (e *APIError) Missing() bool { return e.Status == http.StatusNotFound }

// IsMissing is true when err is an *APIError for a path that the node does not have (yet).
func IsMissing(err error) bool {
	e, ok := errors.AsType[*APIError](err)
	return ok && e.Missing()
}

// IsUnreachable is true when err means that no answer came at all.
func IsUnreachable(err error) bool {
	e, ok := errors.AsType[*APIError](err)
	return ok && e.Status == 0
}

// IsTimeout is true when err means that no answer came in time.
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

// send sends a request, with a body where that is not empty, and passes the body of a successful answer to decode while it arrives.
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
		// The status is the answer, even where the body breaks off.
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

// noting records the error of a read, which distinguishes an answer that broke off from one that cannot be decoded.
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

// peerPorts matches the two ends of a connection as package net prints them; the first has an ephemeral port.
var peerPorts = pattern.Lazy(`\S+:\d+->\S+:\d+`)

// transportMessage is the cause of a failed request without hosts and ports: a kept connection's own port differs at each attempt,
// and a port-forward's at each command.
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

// errorMessage reads {"message","code"} whatever the Content-Type says; anything else is taken as text.
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

// clip bounds a text at a rune's border and drops characters that are invalid in JSON.
func clip(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= maxErrorMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxErrorMessage], "") + "…"
}

// Member is one entry of the list of members.
type Member struct {
	// Address as ScyllaDB prints it.
	Address string `json:"address"`
	// HostID is canonical (lower-case UUID) where it is a UUID, as it came where not, and empty when ScyllaDB has none.
	HostID string `json:"hostID,omitempty"`
}

// Members lists the members of the cluster as the node's topology has them, joining, leaving, replacing and being-replaced ones
// included (GET /storage_service/host_id). Addresses may repeat (since 2025.3), and up to 2025.2 one of two members behind one
// address is missing. Sorted by host ID, then address. Errors: *APIError; 500 as a whole while gossip does not run.
func (c *Client) Members(ctx context.Context) ([]Member, error) {
	var out []Member
	return out, c.get(ctx, "/storage_service/host_id", func(b io.Reader) (err error) { out, err = decodeMembers(b); return })
}

// Live lists the addresses that gossip holds alive, members or not.
func (c *Client) Live(ctx context.Context) ([]string, error) {
	return c.strings(ctx, "/gossiper/endpoint/live")
}

// Down lists the addresses that gossip holds dead. A member may be in neither list.
func (c *Client) Down(ctx context.Context) ([]string, error) {
	return c.strings(ctx, "/gossiper/endpoint/down")
}

// Joining lists the addresses with bootstrap tokens; a queued or replacing node is not among them.
func (c *Client) Joining(ctx context.Context) ([]string, error) {
	return c.strings(ctx, "/storage_service/nodes/joining")
}

// Leaving lists the addresses that are being decommissioned or removed.
func (c *Client) Leaving(ctx context.Context) ([]string, error) {
	return c.strings(ctx, "/storage_service/nodes/leaving")
}

// Tokens lists the normal tokens of the node at address. Empty means that it owns none or is not known. ScyllaDB answers for the present holder of the address: during a
// replacement with the same address that is the newcomer.
func (c *Client) Tokens(ctx context.Context, address string) ([]string, error) {
	return c.strings(ctx, "/storage_service/tokens/"+url.PathEscape(address))
}

// RingTokens are the tokens of all nodes, as far as this one knows the ring; available before it gossips.
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

// LocalHostID is the node's own host ID, which it has before it has joined a cluster. Empty when it is not set yet (zero UUID up to 6.1, 404 "not yet set" since); a 404 for a path
// that does not exist yet is an error like any other.
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

// OperationMode is ScyllaDB's own word: STARTING, JOINING, BOOTSTRAP, NORMAL, LEAVING, DECOMMISSIONED, DRAINING, DRAINED, ... Since 2026.1 a node in maintenance mode does not have
// the path.
func (c *Client) OperationMode(ctx context.Context) (string, error) {
	return c.string(ctx, "/storage_service/operation_mode")
}

// ReleaseVersion is the running release, "2025.2.1-0.20250901.abcdef". (release_version without scylla_ is Cassandra's number.)
func (c *Client) ReleaseVersion(ctx context.Context) (string, error) {
	return c.string(ctx, "/storage_service/scylla_release_version")
}

// Generation is the node's gossip generation, the second at which the process started: it identifies the process.
func (c *Client) Generation(ctx context.Context) (int64, error) {
	var out int64
	return out, c.get(ctx, "/storage_service/generation_number", func(b io.Reader) (err error) { out, err = decodeInt(b); return })
}

// ReplaceTarget is the node's own configuration replace_node_first_boot: the host ID that it has to replace, empty when none.
func (c *Client) ReplaceTarget(ctx context.Context) (string, error) {
	id, err := c.string(ctx, "/v2/config/replace_node_first_boot")
	return canonicalHostID(id), err
}

// RepairBased are the node operations that the node's configuration has as repair-based, in ScyllaDB's words, sorted; none where the mechanism is off. The two options are those of
// ScyllaDB's documentation of repair-based node operations; that one is a boolean and the other a text with commas is [derived] from the printed form of the configuration.
func (c *Client) RepairBased(ctx context.Context) ([]string, error) {
	var on bool
	if err := c.get(ctx, "/v2/config/enable_repair_based_node_ops", func(b io.Reader) (err error) { on, err = decodeBool(b); return }); err != nil || !on {
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

// TopologyUpgrade is "done" where topology is managed by Raft, and another word while it is not (before 6.0: 404).
func (c *Client) TopologyUpgrade(ctx context.Context) (string, error) {
	return c.string(ctx, "/storage_service/raft_topology/upgrade")
}

// RaftLeader is the host ID of the topology coordinator, empty while there is none known (versions before 6.0: 404).
func (c *Client) RaftLeader(ctx context.Context) (string, error) {
	id, err := c.string(ctx, "/raft/leader_host")
	return canonicalHostID(id), err
}

// SchemaVersions maps each schema version to the addresses that have it; "UNREACHABLE" is the key for live nodes that did not
// answer. One key means agreement.
func (c *Client) SchemaVersions(ctx context.Context) (map[string][]string, error) {
	var out map[string][]string
	return out, c.get(ctx, "/storage_proxy/schema_versions", func(b io.Reader) (err error) { out, err = decodeSchemaVersions(b); return })
}

// FlushSystemLocal writes system.local to an SSTable, so that the data directory records that the node has bootstrapped. Since 5.4 ScyllaDB leaves that to a clean stop.
func (c *Client) FlushSystemLocal(ctx context.Context) error { return c.flushSystem(ctx, "local") }

// FlushScyllaLocal does so with system.scylla_local, so that the data directory has the ID of the node's group 0 [derived].
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
	// HostID is the application state HOST_ID, canonical; empty when the node has not gossiped it.
	HostID     string `json:"hostID,omitempty"`
	Alive      bool   `json:"alive"`
	Generation int64  `json:"generation,omitempty"`
	// Datacenter and Rack are the application states DC and RACK; empty when the node has not gossiped them.
	Datacenter string `json:"datacenter,omitempty"`
	Rack       string `json:"rack,omitempty"`
}

// Endpoints lists every node in gossip, members or not (GET /failure_detector/endpoints): the only answer with the host ID that gossips from an address.
func (c *Client) Endpoints(ctx context.Context) ([]Endpoint, error) {
	var out []Endpoint
	return out, c.get(ctx, "/failure_detector/endpoints", func(b io.Reader) (err error) { out, err = decodeEndpoints(b); return })
}

// Task is a topology operation in the task manager's list.
type Task struct {
	ID    string `json:"id"`
	Type  string `json:"type"`  // bootstrap, replace, decommission, "remove node", rebuild (texts since 2025.1); empty while pending
	State string `json:"state"` // created, running, done, failed; queued operations are running too
	// HostID of the node that the operation is about; empty where ScyllaDB does not name it. Of a replacement it is the new node, from 2026.4 on the replaced one.
	HostID string `json:"hostID"`
	Ended  string `json:"ended,omitempty"` // as printed, for ordering only
}

// Open is true while the operation is queued or under way.
func (t Task) Open() bool { return t.State == "created" || t.State == "running" }

// NodeOperations lists the cluster's topology operations; finished ones stay for a while (6.2 and later, else 404). Every member
// gives the same answer.
func (c *Client) NodeOperations(ctx context.Context) ([]Task, error) {
	var out []Task
	return out, c.get(ctx, "/task_manager/list_module_tasks/node_ops", func(b io.Reader) (err error) { out, err = decodeTasks(b); return })
}

// TaskError is the error text of a task, empty when it has none.
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

// decodeJSON reads exactly one JSON value.
func decodeJSON(b []byte, into any) error {
	if len(bytes.TrimSpace(b)) == 0 {
		return errors.New("empty body where JSON was expected")
	}
	return json.Unmarshal(b, into)
}
