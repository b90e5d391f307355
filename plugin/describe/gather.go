// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/support"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

const (
	// logTimeout limits the read of the log: the kubelet of a failed Kubernetes node does not
	// respond.
	logTimeout = 5 * time.Second
	// eventPage is the page size of Events, eventPages the largest number of pages.
	eventPage, eventPages = 500, 20
)

// around is the member's data outside the cluster's own objects.
type around struct {
	node     *corev1.Node
	nodeGone bool
	events   []corev1.Event
	log      *support.Container
	// missing lists the parts that could not be read.
	missing []string
}

func (a *around) miss(what string, err error) {
	a.missing = append(a.missing, fmt.Sprintf("%s: %s", what, exit.Describe(err).Error()))
}

func gather(ctx context.Context, d *cli.Deps, reader *cli.Reader, s *cluster.Cluster, m *cluster.Member) *around {
	if reader.Saved() {
		return archived(s, reader.Archived(s), m)
	}
	a := &around{}
	if m.Pod != nil && m.Pod.Spec.NodeName != "" {
		a.readNode(ctx, reader.Client(), m.Pod.Spec.NodeName)
	}
	if m.Member != "" && m.Namespace != "" {
		a.readEvents(ctx, reader.Client(), m)
	}
	if m.Pod != nil {
		a.readLog(ctx, d, m)
	}
	return a
}

// archived returns the data of an archive. Other saved objects have only warnings.
func archived(s *cluster.Cluster, c *support.Cluster, m *cluster.Member) *around {
	a := &around{}
	if c == nil {
		a.missing = []string{"saved objects contain no Events, logs or Kubernetes nodes"}
		if a.keep(s.Events, m); len(a.events) > 0 {
			a.missing = []string{"saved objects contain no logs, and only the newest warnings of the Events"}
		}
		return a
	}
	if m.Pod != nil {
		i := slices.IndexFunc(c.Nodes, func(n corev1.Node) bool { return n.Name == m.Pod.Spec.NodeName })
		switch {
		case i >= 0:
			a.node = &c.Nodes[i]
		case m.Pod.Spec.NodeName == "":
		case c.NodesRead:
			a.nodeGone = true
		case c.Snapshot.KubernetesNode(m.Pod).State == "":
			a.missing = append(a.missing, "Kubernetes node: not in the saved objects")
		}
		name := cluster.LogOf(m.Pod, "").Container
		if i := slices.IndexFunc(c.Waiting, func(w support.Container) bool {
			return w.Pod == m.Pod.Name &&
				w.Container == name
		}); i >= 0 {
			a.log = &c.Waiting[i]
		}
	}
	a.keep(c.Events, m)
	return a
}

func (a *around) readNode(ctx context.Context, c client.Reader, name string) {
	var n corev1.Node
	switch err := c.Get(ctx, client.ObjectKey{Name: name}, &n); {
	case apierrors.IsNotFound(err):
		a.nodeGone = true
	case err != nil:
		a.miss("Kubernetes node", err)
	default:
		a.node = &n
	}
}

func (a *around) readEvents(ctx context.Context, c client.Reader, m *cluster.Member) {
	next := ""
	for range eventPages {
		var list corev1.EventList
		if err := c.List(ctx, &list, client.InNamespace(m.Namespace), client.Limit(eventPage),
			client.Continue(next)); err != nil {
			a.miss("Events", err)
			break
		}
		a.keep(list.Items, m)
		if next = list.Continue; next == "" {
			return
		}
	}
	if next != "" {
		a.missing = append(a.missing, fmt.Sprintf("Events: only the first %d of the namespace were read",
			eventPage*eventPages))
	}
}

// keep selects the Events about the member's own objects, newest last.
func (a *around) keep(events []corev1.Event, m *cluster.Member) {
	for _, e := range events {
		about := e.InvolvedObject
		own := (about.Kind == "Pod" || about.Kind == "Service") && about.Name == m.Member ||
			about.Kind == "PersistentVolumeClaim" && about.Name == m.PVCName
		if own && about.Name != "" {
			a.events = append(a.events, e)
		}
	}
	slices.SortStableFunc(a.events,
		func(x, y corev1.Event) int { return cluster.EventTime(&x).Compare(cluster.EventTime(&y)) })
}

func (a *around) readLog(ctx context.Context, d *cli.Deps, m *cluster.Member) {
	name := cluster.LogOf(m.Pod, "").Container
	if name == "" {
		return
	}
	c := support.Container{Pod: m.Pod.Name, Container: name}
	for _, st := range slices.Concat(m.Pod.Status.InitContainerStatuses, m.Pod.Status.ContainerStatuses) {
		if st.Name == name {
			c.Restarts = st.RestartCount
		}
	}
	cfg, err := d.RESTConfig()
	if err == nil {
		var server support.Server
		if server, err = support.NewServer(cfg); err == nil {
			within, cancel := context.WithTimeout(ctx, logTimeout)
			defer cancel()
			err = c.ReadLog(within, server, m.Pod.Namespace, support.Limits{})
		}
	}
	if err != nil {
		a.miss("log of container "+name, err)
		return
	}
	a.log = &c
}
