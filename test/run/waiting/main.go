// SPDX-License-Identifier: Apache-2.0

// Command waiting measures what waiting barriers cost the API server: it starts a control plane with an audit log, a
// cluster of joined members and new nodes that wait for a permit, and renews the cluster's view as a controller does
// while another member's permit is open. It prints requests of the audit log and bytes on the wire, by minute.
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/barrier"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/crds"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	controlplane "github.com/kubectl-scylla/kubectl-scylla/test/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

const policy = `{"apiVersion":"audit.k8s.io/v1","kind":"Policy","omitStages":["RequestReceived"],"rules":[{"level":"Metadata"}]}`

const userAgent = "scylla-barrier"

func main() {
	members := flag.Int("members", 900, "joined members, in three racks")
	barriers := flag.Int("barriers", 100, "members that wait")
	renewed := flag.Duration("renewed", view.Renewal, "interval between views; 0 writes none")
	length := flag.Duration("for", time.Minute, "how long to count")
	agent := flag.String("agent", "", "a built scylla-agent: run its barrier for five members at 50m CPU instead")
	plugin := flag.String("plugin", "", "a built kubectl-scylla: compare its status with kubectl get pods instead")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *agent, *plugin, *members, *barriers, *renewed, *length); err != nil {
		fmt.Fprintln(os.Stderr, "waiting:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, program, plugin string, members, barriers int, renewed, length time.Duration) (err error) {
	dir, err := os.MkdirTemp("", "waiting")
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, os.RemoveAll(dir)) }()
	audit, rules := filepath.Join(dir, "audit.log"), filepath.Join(dir, "policy.json")
	if err := os.WriteFile(rules, []byte(policy), 0o600); err != nil {
		return err
	}
	c, err := controlplane.StartControlPlane(ctx, controlplane.Options{
		APIServerFlags: []string{"--audit-log-path=" + audit, "--audit-policy-file=" + rules},
	})
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, c.Stop()) }()
	c.Component("kube-controller-manager").Kill() // it would create Pods
	cfg := c.RESTConfig()
	cfg.QPS = -1 // no limit
	cl, err := kube.NewClient(cfg)
	if err != nil {
		return err
	}
	report, waiting, err := create(ctx, c, cl, members, barriers)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { control(ctx, cl, report, renewed) })
	if plugin != "" {
		return beside(ctx, out, [][]string{
			{c.KubectlPath(), "get", "pods", "-n", "demo", "--kubeconfig", c.Kubeconfig()},
			{plugin, "status", "-n", "demo", "--kubeconfig", c.Kubeconfig()},
		})
	}
	if program != "" {
		return first(ctx, out, program, c.Kubeconfig(), dir, waiting[:min(5, len(waiting))], 50)
	}
	var bytes atomic.Int64
	for _, name := range waiting {
		wg.Go(func() {
			if err := wait(ctx, c.RESTConfig(), dir, name, &bytes); !errors.Is(err, context.Canceled) {
				fmt.Fprintf(os.Stderr, "waiting: barrier %s: %v\n", name, err)
			}
		})
		if !sleep(ctx, time.Second) { // all at once, their first readings alone are too much for two cores
			return ctx.Err()
		}
	}
	if !sleep(ctx, 10*time.Second) {
		return ctx.Err()
	}
	from, before := time.Now(), bytes.Load()
	if !sleep(ctx, length) {
		return ctx.Err()
	}
	took, sent := time.Since(from), bytes.Load()-before
	requests, err := count(audit, from, from.Add(took))
	if err != nil {
		return err
	}
	total := 0
	for _, what := range slices.Sorted(maps.Keys(requests)) {
		total += requests[what]
		_, _ = fmt.Fprintf(out, "%8.0f  %s\n", float64(requests[what])/took.Minutes(), what)
	}
	_, err = fmt.Fprintf(out, "%8.0f  requests a minute of %d barriers among %d members, %.1f MB a minute on the wire\n",
		float64(total)/took.Minutes(), barriers, members, float64(sent)/took.Minutes()/1e6)
	return err
}

// beside runs commands in turn, ten times, and prints the shortest time of each.
func beside(ctx context.Context, out io.Writer, commands [][]string) error {
	took := make([]time.Duration, len(commands))
	for range 10 {
		for i, c := range commands {
			began := time.Now()
			var exit *exec.ExitError
			// A cluster with nodes that wait is not all well: exit code 3.
			text, err := exec.CommandContext(ctx, c[0], c[1:]...).CombinedOutput()
			if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 3) {
				return fmt.Errorf("run %s: %w: %s", strings.Join(c, " "), err, text)
			}
			if t := time.Since(began); took[i] == 0 || t < took[i] {
				took[i] = t
			}
		}
	}
	for i, c := range commands {
		if _, err := fmt.Fprintf(out, "%8v  %s %s\n", took[i].Round(time.Millisecond), filepath.Base(c[0]), c[1]); err != nil {
			return err
		}
	}
	return nil
}

// create makes the objects of the cluster as our controller keeps them, and returns its report and the new members.
func create(ctx context.Context, c *controlplane.Cluster, cl client.Client, members, barriers int) (
	*api.ScyllaDBStatusReport, []string, error) {
	if err := install(ctx, c); err != nil {
		return nil, nil, err
	}
	st := plugintest.New(3, members/3)
	v := &api.StatusReportView{Epoch: 1, Seq: 1, ObservedAt: metav1.Now(), Policy: api.PolicyPermits,
		Waiting: int32(barriers)}
	for _, n := range st.Nodes {
		v.Members = append(v.Members, api.StatusReportViewMember{Name: n.Name, HostID: n.HostID, Datacenter: n.Datacenter,
			Rack: n.Rack, State: api.NodeStatusUp, Digest: "0123456789abcdef", Contact: api.ContactHeartbeat})
	}
	var waiting []string
	for i := range barriers {
		name := fmt.Sprintf("demo-dc1-rack1-%d", members/3+i)
		waiting = append(waiting, name)
		st.Add(st.NewService(name, "dc1", "rack1", int32(members/3+i)))
		if i < 64 {
			v.Queue = append(v.Queue, api.StatusReportViewWaiting{Member: name, Kind: api.PermitJoin,
				Reason: "PermitWaitsForNewcomer", Nodes: []string{"other-0"}})
		}
	}
	v.Permits = []api.StatusReportViewPermit{{Kind: api.PermitJoin, Member: "other-0", PodUID: "1", Since: metav1.Now()}}
	var report *api.ScyllaDBStatusReport
	objects := append([]client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "demo"}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: barrier.DefaultLeaseNamespace}},
	}, st.Objects()...)
	for _, o := range objects {
		o.SetResourceVersion("")
		o.SetUID("")
		o.SetManagedFields(nil)
		switch o := o.(type) {
		case *corev1.Pod:
			continue // made below
		case *corev1.Service:
			o.Spec.Ports = []corev1.ServicePort{{Port: 9042}}
		case *appsv1.StatefulSet:
			for i := range o.Spec.Template.Spec.InitContainers {
				o.Spec.Template.Spec.InitContainers[i].Image = "agent"
			}
			o.Spec.VolumeClaimTemplates = nil
		case *api.ScyllaDBDatacenterNodesStatusReport:
			o.Racks = cluster.WithoutObservations(o.Racks) // as of each cluster of more than about 146 nodes
		case *api.ScyllaDBStatusReport:
			report = o.DeepCopy()
			report.Status.View, report.Status.Initialized = v, true
		}
		if err := cl.Create(ctx, o); err != nil {
			return nil, nil, err
		}
		if set, ok := o.(*appsv1.StatefulSet); ok {
			n := *set.Spec.Replicas
			set.Status = appsv1.StatefulSetStatus{ObservedGeneration: set.Generation, Replicas: n, ReadyReplicas: n,
				CurrentReplicas: n, UpdatedReplicas: n, AvailableReplicas: n}
			if err := cl.Status().Update(ctx, set); err != nil {
				return nil, nil, err
			}
		}
	}
	names := slices.Clone(waiting)
	for _, n := range st.Nodes {
		names = append(names, n.Name)
	}
	return report, waiting, createPods(ctx, cl, names)
}

// createPods makes the Pods, whose reporters serve their rows, and which no Kubernetes node runs. A barrier reads those of a few
// reporters, and writes to its own.
func createPods(ctx context.Context, cl client.Client, names []string) error {
	if err := cl.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "default"}}); err != nil {
		return err
	}
	row, err := api.EncodeNodeStatusReport(&api.NodeStatusReport{Heartbeat: &api.ReportHeartbeat{Port: 8083, Fingerprint: strings.Repeat("0", 64)}})
	if err != nil {
		return err
	}
	var g errgroup.Group
	g.SetLimit(8)
	for i, name := range names {
		g.Go(func() error {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, Annotations: map[string]string{api.AnnotationNodeStatusReport: row}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: api.ContainerScyllaDB, Image: "scylla"}}}}
			if err := cl.Create(ctx, p); err != nil {
				return err
			}
			before := p.DeepCopy()
			p.Status.PodIP = fmt.Sprintf("10.0.%d.%d", i/250, i%250+1)
			p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}}
			return cl.Status().Patch(ctx, p, client.MergeFrom(before)) // the scheduler also writes it
		})
	}
	return g.Wait()
}

func install(ctx context.Context, c *controlplane.Cluster) error {
	files, err := fs.Glob(crds.FS, "*.yaml")
	if err != nil {
		return err
	}
	for _, f := range files {
		text, err := fs.ReadFile(crds.FS, f)
		if err != nil {
			return err
		}
		if out, err := c.KubectlInput(ctx, string(text), "create", "-f", "-"); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
	out, err := c.Kubectl(ctx, "wait", "--for=condition=Established", "crd", "--all", "--timeout=1m")
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// control renews the Lease and the view until ctx ends.
func control(ctx context.Context, cl client.Client, want *api.ScyllaDBStatusReport, renewed time.Duration) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: barrier.DefaultLeaseNamespace,
		Name: api.LeaseName, Annotations: map[string]string{api.AnnotationKeeps: api.KeepMark("demo", "demo")}}}
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = new("controller"), new(int32(15))
	var written time.Time
	for {
		now := metav1.NowMicro()
		lease.Spec.RenewTime = &now
		failed := cl.Update(ctx, lease)
		if lease.UID == "" {
			failed = cl.Create(ctx, lease)
		}
		if written.IsZero() || renewed > 0 && time.Since(written) >= renewed {
			written = time.Now()
			var r api.ScyllaDBStatusReport
			if failed = cl.Get(ctx, client.ObjectKeyFromObject(want), &r); failed == nil {
				want.Status.View.Seq++
				r.Status = want.Status
				failed = cl.Status().Update(ctx, &r)
			}
		}
		if failed != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "waiting: controller:", failed)
		}
		if !sleep(ctx, time.Second) {
			return
		}
	}
}

// wait is one barrier, on a connection of its own.
func wait(ctx context.Context, cfg *rest.Config, dir, member string, bytes *atomic.Int64) error {
	cfg.UserAgent = userAgent
	dial := &net.Dialer{}
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial.DialContext(ctx, network, address)
		return &counted{c, bytes}, err
	}
	return barrier.Run(ctx, barrier.Options{
		NewClient: func() (client.WithWatch, error) { return kube.NewClient(cfg) },
		Namespace: "demo", Service: member, PodUID: "1", QueryFile: filepath.Join(dir, "none"), DataDir: dir,
		LeaseNamespace: barrier.DefaultLeaseNamespace, Log: slog.New(slog.DiscardHandler),
	})
}

type counted struct {
	net.Conn
	bytes *atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.bytes.Add(int64(n))
	return n, err
}

// count returns the requests of barriers in that time by verb and resource.
func count(audit string, from, to time.Time) (map[string]int, error) {
	f, err := os.Open(audit)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	requests := map[string]int{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct {
			Verb, UserAgent          string
			Stage                    string
			ObjectRef                struct{ Resource string }
			RequestReceivedTimestamp metav1.MicroTime
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, err
		}
		at := e.RequestReceivedTimestamp.Time
		if e.UserAgent == userAgent && !at.Before(from) && at.Before(to) && (e.Stage == "ResponseStarted") == (e.Verb == "watch") {
			requests[e.Verb+" "+e.ObjectRef.Resource]++
		}
	}
	return requests, lines.Err()
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
