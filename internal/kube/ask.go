// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
)

// AskPort sends a GET request for an HTTP path to a Pod's port through a port-forward. The error is
// non-nil unless the status is 200, and contains up to 200 bytes of the response.
func AskPort(ctx context.Context, cfg *rest.Config, namespace, pod string, port int, path string) error {
	f, err := forward(ctx, cfg, namespace, pod, port)
	if err != nil {
		return err
	}
	defer f.Close()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://pod"+path, nil)
	if err != nil {
		return fmt.Errorf("create request for %s: %w", path, err)
	}
	resp, err := f.client().Do(req)
	if err != nil {
		return fmt.Errorf("query port %d of Pod %s/%s: %w", port, namespace, pod, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	said, _ := bounded.Head(resp.Body, 200) // a partial read only shortens the error text
	return fmt.Errorf("query port %d of Pod %s/%s: %s: %s", port, namespace, pod, resp.Status, said)
}
