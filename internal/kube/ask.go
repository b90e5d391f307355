// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
)

// AskPort requests an HTTP path of a Pod's port through a port-forward and returns an error unless the answer is 200. The error holds up to 200 bytes of another answer.
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
		return fmt.Errorf("query port %d of pod %s/%s: %w", port, namespace, pod, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	said, _ := bounded.Head(resp.Body, 200) // what could not be read is missing from the words
	return fmt.Errorf("query port %d of pod %s/%s: %s: %s", port, namespace, pod, resp.Status, said)
}
