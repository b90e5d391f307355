// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
)

// Client returns a client of the remote. It knows reports and errors alone: the server chooses the
// type of its answer, and an empty Pod of two bytes takes a kilobyte.
func (c Config) Client() (client.WithWatch, error) {
	cfg, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	utilruntime.Must(errors.Join(api.AddToScheme(scheme), metav1.AddMetaToScheme(scheme)))
	cl, err := client.NewWithWatch(cfg, client.Options{Scheme: scheme, Mapper: kube.NewMapper()})
	if err != nil {
		return nil, c.KeyFault("is not usable")
	}
	return cl, nil
}

// Selection selects the reports of the cluster in the remote.
func (c Config) Selection() []client.ListOption {
	return []client.ListOption{client.InNamespace(c.RemoteNamespace),
		client.MatchingLabels{api.LabelReportSelector: c.RemoteCluster}}
}

// List returns the reports of the cluster in the remote, sorted by name, and the resource version
// from which a watch continues. It reads one report per request: each answer has a limit that all
// of them together may exceed.
func (c Config) List(ctx context.Context, cl client.Reader) (reports []api.ScyllaDBDatacenterNodesStatusReport,
	version string, err error) {
	next := ""
	for range maxReports {
		var l api.ScyllaDBDatacenterNodesStatusReportList
		if err := cl.List(ctx, &l, append(c.Selection(), client.Limit(1), client.Continue(next))...); err != nil {
			return nil, "", fmt.Errorf("list reports: %w", err)
		}
		reports = append(reports, l.Items...)
		if next = l.Continue; next == "" {
			slices.SortFunc(reports, func(a, b api.ScyllaDBDatacenterNodesStatusReport) int {
				return strings.Compare(a.Name, b.Name)
			})
			return reports, l.ResourceVersion, nil
		}
	}
	return nil, "", &bounded.TooLargeError{What: "the list of reports there",
		Limit: fmt.Sprintf("%d reports", maxReports)}
}
