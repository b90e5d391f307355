// SPDX-License-Identifier: Apache-2.0

package support

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
)

// Cluster is a snapshot with the additional data of an archive; Open restores both.
type Cluster struct {
	Snapshot *cluster.Cluster
	// Requested is the requested source of the snapshot; empty means auto.
	Requested cluster.Source
	// Events about the cluster's objects, newest last.
	Events []corev1.Event
	// Waiting are the failing or waiting containers, with the first and last error of their logs.
	Waiting []Container
	// Conditions are the Scylla Operator's conditions about progress and failures; empty if our
	// controller manages the cluster.
	Conditions []string
	// Nodes are the Kubernetes nodes of its Pods if NodesRead; a Kubernetes node that is missing
	// then does not exist.
	Nodes     []corev1.Node
	NodesRead bool
	// Operator are the Scylla Operator's objects about the cluster.
	Operator []unstructured.Unstructured
	// Tables are the REST answers of each node, by member; nil if no node was queried.
	Tables map[string]Tables
	// Context is the kubeconfig's context; empty if unknown.
	Context string
	// Kubernetes is the API server's version; empty if unknown.
	Kubernetes string
	// LeftOut lists the data that were not collected, with the reason. Uncollected does the same
	// for data that only an archive contains.
	LeftOut, Uncollected []LeftOut

	// redacted counts the values removed from texts at reading.
	redacted Tally

	// archived is the complete snapshot of an archive, else nil.
	archived *cluster.Cluster
}

func (cl *Cluster) addRedacted(t Tally) {
	if cl.redacted == nil {
		cl.redacted = Tally{}
	}
	cl.redacted.Add(t)
}

// Server reads data outside the API objects. A nil function is not called.
type Server struct {
	// Log opens a container's log.
	Log func(ctx context.Context, namespace, pod string, opts *corev1.PodLogOptions) (io.ReadCloser, error)
	// Version returns the API server's version.
	Version func(ctx context.Context) (string, error)
	// Tables queries the ScyllaDB of each Pod.
	Tables func(ctx context.Context, pods []corev1.Pod, progress func(done, total int)) (map[string]Tables,
		[]cluster.Problem)
	// Progress receives the name of each part.
	Progress func(string)
}

// Gather reads what a snapshot lacks: events, Kubernetes nodes and the Scylla Operator's objects.
// Through server it reads logs of waiting containers, the version, and ScyllaDB's tables. LeftOut
// lists unreadable parts; the only error is that ctx ended.
func Gather(ctx context.Context, c client.Reader, s *cluster.Cluster, requested cluster.Source, server Server,
	limits Limits) (*Cluster, error) {
	limits = limits.withDefaults()
	progress := server.Progress
	if progress == nil {
		progress = func(string) {}
	}
	cl := &Cluster{Snapshot: s, Requested: cmp.Or(requested, cluster.SourceAuto)}
	for _, p := range s.Problems {
		cl.LeftOut = append(cl.LeftOut, leftOutProblem(p))
	}
	if c != nil {
		progress("reading events")
		cl.readEvents(ctx, c, limits)
		progress("reading Kubernetes nodes")
		cl.readNodes(ctx, c, limits)
		if s.Operator {
			progress("reading the Scylla Operator's objects")
			cl.readOperatorObjects(ctx, c)
		}
	}
	if server.Version != nil {
		v, err := server.Version(ctx)
		if err != nil {
			cl.leaveOut("version of Kubernetes", err)
		}
		cl.Kubernetes = v
	}
	if server.Log != nil && c != nil && s.Operator {
		conditions, err := kube.OperatorConditions(ctx, c, s.Key)
		if err != nil {
			cl.leaveOut("conditions of ScyllaDBDatacenter "+s.Name, err)
		}
		cl.Conditions = conditions
	}
	cl.Waiting = waiting(s)
	if server.Log != nil {
		cl.readLogs(ctx, server, limits, progress)
	}
	if server.Tables != nil {
		cl.readTables(ctx, server, limits, progress)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("collect cluster %s: %w", s.Key, err)
	}
	slices.SortStableFunc(cl.LeftOut,
		func(a, b LeftOut) int { return cmp.Or(cmp.Compare(a.What, b.What), cmp.Compare(a.Detail, b.Detail)) })
	cl.LeftOut = slices.Compact(cl.LeftOut)
	return cl, nil
}
