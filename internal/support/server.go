// SPDX-License-Identifier: Apache-2.0

package support

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
)

// NewServer returns a Server for the API server of cfg, which reads ScyllaDB's tables through
// port-forwards. NewServer itself does not use the network.
func NewServer(cfg *rest.Config) (Server, error) {
	c := rest.CopyConfig(cfg)
	c.GroupVersion, c.APIPath = &corev1.SchemeGroupVersion, "/api"
	// Only errors are decoded, and they are Status objects.
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return Server{}, fmt.Errorf("create client for logs: %w", err)
	}
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	if c.UserAgent == "" {
		c.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	r, err := rest.RESTClientFor(c)
	if err != nil {
		return Server{}, fmt.Errorf("create client for logs of %s: %w", cfg.Host, err)
	}
	return Server{
		Tables: func(ctx context.Context, pods []corev1.Pod, progress func(done, total int)) (map[string]Tables,
			[]cluster.Problem) {
			var mu sync.Mutex
			out := map[string]Tables{}
			_, problems := kube.Live(ctx, cfg, pods,
				kube.LiveOptions{Progress: progress,
					Ask: func(ctx context.Context, member string, c *scylla.Client) []error {
						t := readTables(ctx, c)
						mu.Lock()
						defer mu.Unlock()
						out[member] = t
						return nil
					}})
			return out, problems
		},
		Log: func(ctx context.Context, namespace, pod string, opts *corev1.PodLogOptions) (io.ReadCloser, error) {
			req := r.Get().Namespace(namespace).Resource("pods").Name(pod).SubResource("log").
				Param("container", opts.Container).Param("previous", strconv.FormatBool(opts.Previous))
			if opts.LimitBytes != nil {
				req = req.Param("limitBytes", strconv.FormatInt(*opts.LimitBytes, 10))
			}
			if opts.TailLines != nil {
				req = req.Param("tailLines", strconv.FormatInt(*opts.TailLines, 10))
			}
			return req.Stream(ctx)
		},
		Version: func(ctx context.Context) (string, error) {
			data, err := r.Get().AbsPath("/version").DoRaw(ctx)
			if err != nil {
				return "", fmt.Errorf("read version of the API server: %w", err)
			}
			var v struct {
				GitVersion string `json:"gitVersion"`
			}
			if err := json.Unmarshal(data, &v); err != nil {
				return "", fmt.Errorf("read version of the API server: %w", err)
			}
			return v.GitVersion, nil
		},
	}, nil
}
