// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/memory"
)

// A reporter has 128 MiB. Whatever answers in ScyllaDB's place with 31 MB must cost less than half of that, this test's own binary included.
func TestHostileAnswersTakeLittleMemory(t *testing.T) {
	const size = 31 << 20
	for name, c := range map[string]struct {
		begin, repeat, end string
		taken              bool // it is within the limits
		ask                func(context.Context, *Client) error
	}{
		"empty texts": {"[", `"",`, `""]`, false, func(ctx context.Context, c *Client) error { _, err := c.Live(ctx); return err }},
		"empty members": {"[", `{"key":""},`, `{"key":""}]`, false,
			func(ctx context.Context, c *Client) error { _, err := c.Members(ctx); return err }},
		"empty endpoints": {"[", `{},`, `{}]`, false, func(ctx context.Context, c *Client) error { _, err := c.Endpoints(ctx); return err }},
		"empty states": {`[{"application_state":[`, `{},`, `{}]}]`, false,
			func(ctx context.Context, c *Client) error { _, err := c.Endpoints(ctx); return err }},
		"states of many endpoints": {`[`, `{"application_state":[` + strings.Repeat("{},", 1000) + `{}]},`, `{}]`, true,
			func(ctx context.Context, c *Client) error { _, err := c.Endpoints(ctx); return err }},
		"endpoints as large as one may be": {`[`, `{"application_state":[` + strings.Repeat("{},", 80_000) + `{}]},`, `{}]`, true,
			func(ctx context.Context, c *Client) error { _, err := c.Endpoints(ctx); return err }},
		"empty tasks": {"[", `{},`, `{}]`, false, func(ctx context.Context, c *Client) error { _, err := c.NodeOperations(ctx); return err }},
		"empty addresses of a schema": {`[{"key":"k","value":[`, `"",`, `""]}]`, false,
			func(ctx context.Context, c *Client) error { _, err := c.SchemaVersions(ctx); return err }},
		"schemas":  {"[", `{"key":"k"},`, `{}]`, false, func(ctx context.Context, c *Client) error { _, err := c.SchemaVersions(ctx); return err }},
		"one text": {`"`, "x", `"`, false, func(ctx context.Context, c *Client) error { _, err := c.OperationMode(ctx); return err }},
		"brackets": {"", "[", "", false, func(ctx context.Context, c *Client) error { _, err := c.Endpoints(ctx); return err }},
		"error of a task": {`{"error":"`, "x", `"}`, false,
			func(ctx context.Context, c *Client) error { _, err := c.TaskError(ctx, "t"); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			memory.Under(t, 64<<20, func(t *testing.T) {
				s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					_, _ = io.WriteString(w, c.begin)
					chunk := strings.Repeat(c.repeat, max(1, 64<<10/len(c.repeat)))
					for n := 0; n < size; n += len(chunk) {
						if _, err := io.WriteString(w, chunk); err != nil {
							return // the client has had enough
						}
					}
					_, _ = io.WriteString(w, c.end)
				}))
				defer s.Close()
				err := c.ask(t.Context(), NewClient(s.URL, nil).WithTimeout(time.Minute))
				if refused := bounded.IsTooLarge(err) || err != nil && strings.Contains(err.Error(), "exceeded max depth"); refused == c.taken {
					t.Errorf("%v", err)
				}
			})
		})
	}
}
