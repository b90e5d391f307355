// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"fmt"
	"image/color"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/golden"
)

// start is the moment of every first snapshot.
var start = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

// world describes a cluster as its nodes report it.
type world struct {
	racks, members int
	datacenters    []string
	// not is status by observer and observed name; a missing row by name in silent, an error in failed.
	not    map[[2]string]api.NodeStatus
	silent map[string]bool
	failed map[string]string
	ghosts map[string]bool
	// newcomers are members that wait.
	newcomers []string
	since     time.Time
	lease     time.Time
	problems  []cluster.Problem
	unread    bool   // neither Pods nor reports may be listed
	deleting  string // the member whose claim is being deleted
	replacing string // the member whose node is to be replaced
	readAt    time.Time
}

func newWorld(racks, members int) *world {
	return &world{
		racks: racks, members: members, datacenters: []string{"dc1"}, not: map[[2]string]api.NodeStatus{}, silent: map[string]bool{},
		failed: map[string]string{}, ghosts: map[string]bool{}, since: start.Add(-12 * time.Second), lease: start.Add(-2 * time.Second), readAt: start,
	}
}

type place struct {
	name, dc, rack, id string
	ordinal            int32
}

func (w *world) places() []place {
	var out []place
	for _, dc := range w.datacenters {
		for r := 1; r <= w.racks; r++ {
			for o := range w.members {
				rack := fmt.Sprintf("rack%d", r)
				// A node keeps its host ID when others come or go.
				n := int(dc[2]-'0')<<16 | r<<8 | o
				out = append(out, place{fmt.Sprintf("demo-%s-%s-%d", dc, rack, o), dc, rack, fmt.Sprintf("%08x-5ea1-4d00-8000-%012x", 0xa0000000+n, n), int32(o)})
			}
		}
	}
	return out
}

// down lets all others see a node DOWN; its own row is an error.
func (w *world) down(name string) *world {
	for _, p := range w.places() {
		if p.name != name {
			w.not[[2]string{p.name, name}] = api.NodeStatusDown
		}
	}
	w.failed[name] = "connection refused"
	return w
}

func (w *world) sees(by, of string, s api.NodeStatus) *world {
	w.not[[2]string{by, of}] = s
	return w
}

// apart lets the nodes of two racks see each other DOWN.
func (w *world) apart() *world {
	for _, a := range w.places() {
		for _, b := range w.places() {
			if a.rack != b.rack {
				w.sees(a.name, b.name, api.NodeStatusDown)
			}
		}
	}
	return w
}

func (w *world) labels(p place) map[string]string {
	return map[string]string{api.LabelCluster: "demo", api.LabelDatacenter: p.dc, api.LabelRack: p.rack, api.LabelManagedBy: api.ManagedByUs}
}

// snapshot is the cluster as it is read.
func (w *world) snapshot() *cluster.Cluster {
	s := cluster.Objects{Key: cluster.Key{Namespace: "demo", Name: "demo"}, Problems: w.problems}
	reports := map[string]*api.ScyllaDBDatacenterNodesStatusReport{}
	status := &api.ScyllaDBStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "demo", ResourceVersion: "1", Labels: map[string]string{api.LabelManagedBy: api.ManagedByUs}}}
	all := w.places()
	since := metav1.NewTime(w.since)
	service := func(p place) corev1.Service {
		l := w.labels(p)
		l[api.LabelServiceType], l[api.LabelRackOrdinal] = api.ServiceTypeMember, fmt.Sprint(p.ordinal)
		return corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: p.name, Labels: l}}
	}
	pod := func(p place) corev1.Pod {
		l := w.labels(p)
		l[api.LabelPodType] = api.PodTypeNode
		out := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: p.name, Labels: l}}
		out.Spec.Containers = []corev1.Container{{Name: api.ContainerScyllaDB, Image: "scylladb/scylla:2025.2.1"}}
		out.Spec.NodeName = "worker-1"
		out.Status.Phase = corev1.PodRunning
		out.Status.PodIP = fmt.Sprintf("10.0.%c.%d", p.rack[len(p.rack)-1], p.ordinal+10)
		out.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerScyllaDB, Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
		return out
	}
	for _, p := range all {
		svc := service(p)
		svc.Annotations = map[string]string{api.AnnotationHostID: p.id, api.AnnotationNodeJoined: "true"}
		if p.name == w.replacing {
			svc.Labels[api.LabelReplace] = ""
		}
		s.Services = append(s.Services, svc)
		if !w.ghosts[p.name] {
			o := pod(p)
			if text := w.failed[p.name]; text != "" {
				v, err := api.EncodeNodeStatusReport(&api.NodeStatusReport{Error: &text})
				if err != nil {
					panic(err)
				}
				o.Annotations = map[string]string{api.AnnotationNodeStatusReport: v}
				o.Status.ContainerStatuses[0] = corev1.ContainerStatus{Name: api.ContainerScyllaDB, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
					LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}}
			}
			if p.name == w.deleting {
				s.PVCs = append(s.PVCs, goingClaim(w.labels(p), &o))
			}
			s.Pods = append(s.Pods, o)
		}
		r := reports[p.dc]
		if r == nil {
			r = &api.ScyllaDBDatacenterNodesStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "demo-" + p.dc}, DatacenterName: p.dc}
			reports[p.dc] = r
		}
		if len(r.Racks) == 0 || r.Racks[len(r.Racks)-1].Name != p.rack {
			r.Racks = append(r.Racks, api.RackReport{Name: p.rack})
		}
		var cells []api.ObservedNodeStatusReport
		if !w.silent[p.name] && w.failed[p.name] == "" {
			for _, q := range all {
				c := api.ObservedNodeStatusReport{HostID: hostid.ID(q.id), Status: api.NodeStatusUp}
				switch st, ok := w.not[[2]string{p.name, q.name}]; {
				case ok && st == "MISSING":
					continue
				case ok:
					c.Status, c.Since = st, &since
				}
				cells = append(cells, c)
			}
		}
		rack := &r.Racks[len(r.Racks)-1]
		rack.Nodes = append(rack.Nodes, api.NodeReport{Ordinal: p.ordinal, HostID: &p.id, ObservedNodes: api.Plain(cells)})
		w.report(status, p, cells)
	}
	s.StatusReport = status
	for _, dc := range w.datacenters {
		if r := reports[dc]; r != nil {
			s.Reports = append(s.Reports, *r)
		}
	}
	for i, name := range w.newcomers {
		p := place{name: name, dc: "dc1", rack: "rack1", ordinal: int32(w.members + i)}
		svc, o := service(p), pod(p)
		o.Status.Phase = corev1.PodPending
		o.Status.ContainerStatuses[0] = corev1.ContainerStatus{Name: api.ContainerScyllaDB, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}}
		o.Spec.InitContainers = []corev1.Container{{Name: api.ContainerBarrier, Args: []string{"--policy=" + string(api.PolicyReports)}}}
		o.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerBarrier, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(start.Add(-2 * time.Minute))}}}}
		s.Services, s.Pods = append(s.Services, svc), append(s.Pods, o)
	}
	if !w.lease.IsZero() {
		holder, renewed, seconds := "controller-0", metav1.NewMicroTime(w.lease), int32(15)
		s.Lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kubectl-scylla", Name: api.LeaseName,
			Annotations: map[string]string{api.AnnotationKeeps: api.KeepMark(s.Key.Namespace, s.Key.Name)}},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &renewed, LeaseDurationSeconds: &seconds}}
	}
	if w.unread {
		s.Pods, s.Reports, s.StatusReport, s.Read = nil, nil, nil, cluster.KindServices
		for _, resource := range []string{cluster.ResourcePods, cluster.ResourceReports} {
			s.Problems = append(s.Problems, cluster.Problem{
				Verb: "list", Resource: resource, Namespace: "demo", Kind: cluster.ProblemForbidden,
				Message: "list " + resource + " in namespace demo: forbidden; request a Role with verb list on resource " + resource,
			})
		}
	}
	return cluster.New(s, cluster.SourceReport, w.readAt)
}

// goingClaim is the claim of a Pod that is being deleted: it goes when the Pod ends.
func goingClaim(labels map[string]string, pod *corev1.Pod) corev1.PersistentVolumeClaim {
	deleted := metav1.NewTime(start.Add(-3 * time.Minute))
	claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "demo", Name: "data-" + pod.Name, Labels: labels, UID: "claim", DeletionTimestamp: &deleted, Finalizers: []string{"kubernetes.io/pvc-protection"},
	}}
	claim.Spec.VolumeName = "pvc-1"
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name},
	}})
	return claim
}

// report adds a row to the cluster report, which has room for ages and for why a row is missing.
func (w *world) report(r *api.ScyllaDBStatusReport, p place, cells []api.ObservedNodeStatusReport) {
	at := len(r.Datacenters) - 1
	if at < 0 || r.Datacenters[at].Name != p.dc {
		r.Datacenters = append(r.Datacenters, api.StatusReportDatacenter{Name: p.dc})
		at++
	}
	node := api.StatusReportNode{HostID: p.id, Member: p.name, ObservedNodes: cells}
	if why := w.failed[p.name]; why != "" {
		node.Fault = &api.RowTrouble{Code: api.FaultScyllaDB, Words: why}
	}
	r.Datacenters[at].Nodes = append(r.Datacenters[at].Nodes, node)
	r.Status.Members = append(r.Status.Members, api.StatusReportMember{
		Name: p.name, Namespace: "demo", Datacenter: p.dc, Rack: p.rack, Ordinal: p.ordinal, HostID: p.id, Joined: true,
	})
}

// screen is a dashboard under test with a clock of its own.
type screen struct {
	*model
	t    testing.TB
	now  time.Time
	last *Snapshot
}

func (w *world) first() *Snapshot {
	return NewSnapshot(w.snapshot(), statusOf(w.snapshot(), w.readAt), nil, true, w.readAt)
}

func newScreen(t testing.TB, w *world, width, height int, opts ...func(*Options)) *screen {
	t.Helper()
	s := &screen{t: t, now: start.Add(3 * time.Second), last: w.first()}
	o := Options{Now: func() time.Time { return s.now }, Profile: colorprofile.TrueColor, Live: true}
	for _, f := range opts {
		f(&o)
	}
	s.model = NewModel(s.last, o)
	s.send(tea.WindowSizeMsg{Width: width, Height: height})
	return s
}

func plain(o *Options) { o.Profile = colorprofile.NoTTY }

// send gives a message and returns the command that comes of it.
func (s *screen) send(msg tea.Msg) tea.Cmd {
	s.t.Helper()
	m, cmd := s.Update(msg)
	if m != tea.Model(s.model) {
		s.t.Fatal("Update gave another model")
	}
	return cmd
}

// loads takes the next state of the world in.
func (s *screen) loads(w *world) {
	s.t.Helper()
	w.readAt = s.now
	s.last = NewSnapshot(w.snapshot(), statusOf(w.snapshot(), s.now), s.last, true, s.now)
	s.send(Loaded{s.last})
}

var special = map[string]tea.Key{
	"up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown}, "left": {Code: tea.KeyLeft}, "right": {Code: tea.KeyRight}, "enter": {Code: tea.KeyEnter},
	"esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab}, "shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift}, "pgup": {Code: tea.KeyPgUp},
	"pgdown": {Code: tea.KeyPgDown}, "home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd}, "backspace": {Code: tea.KeyBackspace},
	"ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, "space": {Code: tea.KeySpace, Text: " "},
}

// press gives keys by their names; other words are typed letter by letter. The last command is returned.
func (s *screen) press(keys ...string) tea.Cmd {
	s.t.Helper()
	var cmd tea.Cmd
	for _, k := range keys {
		if key, ok := special[k]; ok {
			cmd = s.send(tea.KeyPressMsg(key))
			continue
		}
		for _, r := range k {
			cmd = s.send(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
	return cmd
}

// ticks lets time pass as the clock of the dashboard does, second by second.
func (s *screen) ticks(d time.Duration) {
	s.t.Helper()
	for ; d > 0; d -= time.Second {
		s.now = s.now.Add(time.Second)
		s.send(tick(s.now))
	}
}

// at is the pair under the cursor.
func (s *screen) at() string {
	name := func(item int) string {
		if item < 0 {
			return "-"
		}
		return strings.TrimPrefix(s.matrix.key(item), "demo-dc1-")
	}
	if s.matrix.level == 0 { // nodes by name, not by host ID
		name = func(item int) string {
			if item < 0 {
				return "-"
			}
			return strings.TrimPrefix(s.snap.nodes[item].label(), "demo-dc1-")
		}
	}
	return name(s.matrix.rows.item()) + " on " + name(s.matrix.columns.item())
}

func (s *screen) has(texts ...string) {
	s.t.Helper()
	frame := stripped(s.Frame())
	for _, text := range texts {
		if !strings.Contains(frame, text) {
			s.t.Errorf("the screen lacks %q:\n%s", text, frame)
		}
	}
}

func (s *screen) lacks(texts ...string) {
	s.t.Helper()
	frame := stripped(s.Frame())
	for _, text := range texts {
		if strings.Contains(frame, text) {
			s.t.Errorf("the screen has %q:\n%s", text, frame)
		}
	}
}

// screenFile compares a text with testdata/NAME.txt; escape sequences are written so that a reader sees them.
func screenFile(t *testing.T, name, text string) {
	t.Helper()
	golden.Text(t, name+".txt", strings.ReplaceAll(text, "\x1b", `\e`)+"\n")
}

var lightBackground = tea.BackgroundColorMsg{Color: color.White}

// statusOf makes the document of a cluster.
func statusOf(c *cluster.Cluster, now time.Time) func() *document.ClusterStatus {
	return func() *document.ClusterStatus { return document.NewClusterStatus(diagnosis.Judge(c, now)) }
}
