// SPDX-License-Identifier: Apache-2.0

package replace_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

var now = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

const ns, hostA, hostB = "scylla", "aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002"

const hostC = "cccccccc-0000-4000-8000-000000000003"

func service(rack, id string) *corev1.Service {
	return stage.Joined(stage.Bare(ns, "demo").NewService("demo-"+rack+"-0", "dc1", rack, 0), id)
}

func set(rack, image string, command ...string) *appsv1.StatefulSet {
	s := stage.Bare(ns, "demo").NewSet("demo-"+rack, "dc1", rack, 1)
	s.UID = "set"
	s.Spec.Template.Spec.Containers[0].Image, s.Spec.Template.Spec.Containers[0].Command = image, command
	s.Spec.VolumeClaimTemplates = append(s.Spec.VolumeClaimTemplates,
		corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "commitlog"}})
	return s
}

func pod(rack string, report *api.NodeStatusReport) *corev1.Pod {
	p := stage.Bare(ns, "demo").NewPod("demo-"+rack+"-0", "dc1", rack)
	text, _ := api.EncodeNodeStatusReport(report) // plain strings
	p.UID, p.Spec.NodeName, p.CreationTimestamp = "pod", "k1", metav1.NewTime(now.Add(-24*time.Hour))
	p.Annotations = map[string]string{api.AnnotationNodeStatusReport: text}
	return p
}

func says(id, version string, seen ...api.ObservedNodeStatusReport) *api.NodeStatusReport {
	return &api.NodeStatusReport{HostID: hostid.ID(id), OperationMode: "NORMAL", ScyllaVersion: version, Complete: true, ObservedNodes: seen}
}

func claim(name, uid string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns, UID: types.UID("uid-" + uid)}}
}

func load(t *testing.T, objs ...any) *replace.Reading {
	t.Helper()
	o := cluster.Objects{Key: cluster.Key{Namespace: ns, Name: "demo"}, Read: cluster.KindServices | cluster.KindPods | cluster.KindStatefulSets | cluster.KindPVCs}
	for i, obj := range objs {
		switch obj := obj.(type) {
		case *corev1.Service:
			o.Services = append(o.Services, *obj)
		case *corev1.Pod:
			o.Pods = append(o.Pods, *obj)
		case *appsv1.StatefulSet:
			o.StatefulSets = append(o.StatefulSets, *obj)
		case *corev1.PersistentVolumeClaim:
			obj.ResourceVersion = fmt.Sprint(i)
			o.PVCs = append(o.PVCs, *obj)
		case *api.ScyllaDBStatusReport:
			o.StatusReport = obj
		case *api.ScyllaDBDatacenterNodesStatusReport:
			o.Reports = append(o.Reports, *obj)
		default:
			t.Fatalf("object of type %T", obj)
		}
	}
	return replace.Read(cluster.New(o, cluster.SourceAuto, now))
}

// How long a node must be DOWN is what the cluster's own health policy says, as it is for the condition NodeReplaceable.
func TestTheHealthPolicySaysForHowLongANodeIsDown(t *testing.T) {
	report := &api.ScyllaDBStatusReport{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: ns, Labels: map[string]string{api.LabelCluster: "demo"}}}
	report.Status.HealthPolicy = healthpolicy.Standard(healthpolicy.Stabilisation, 0)
	report.Status.HealthPolicy.Dead.Duration = 7 * time.Minute
	if in := load(t, service("a", hostA), report).Input("demo-a-0", now, "id"); in.Dead != 7*time.Minute {
		t.Errorf("DOWN for at least %s", in.Dead)
	}
	if in := load(t, service("a", hostA)).Input("demo-a-0", now, "id"); in.Dead != healthpolicy.Dead {
		t.Errorf("without a report DOWN for at least %s", in.Dead)
	}
}

// Rows come from the Pods even where a report differs: the report may be out of date while the controller is away.
func TestPodsSpeakBeforeReports(t *testing.T) {
	up := api.ObservedNodeStatusReport{HostID: hostB, Status: api.NodeStatusUp}
	in := besideReports(t, matrix.Up, pod("a", says(hostA, "2025.2.1", up)))
	if !in.OperationsKnown {
		t.Error("a NORMAL node's reporter has looked for operations")
	}
}

// A barrier reads no Pods. The row of another Kubernetes cluster is no reason to omit the rows of the reports here.
func TestReportsSpeakWithoutPods(t *testing.T) { besideReports(t, matrix.Down) }

// besideReports has reports in which A has B as DOWN, and a node elsewhere has it as UP.
func besideReports(t *testing.T, want matrix.Status, pods ...any) *replace.Input {
	t.Helper()
	down := api.ObservedNodeStatusReport{HostID: hostB, Status: api.NodeStatusDown}
	up := api.ObservedNodeStatusReport{HostID: hostB, Status: api.NodeStatusUp}
	id := hostA
	report := func(dc string, node api.NodeReport, remote bool) *api.ScyllaDBDatacenterNodesStatusReport {
		r := &api.ScyllaDBDatacenterNodesStatusReport{
			ObjectMeta:     metav1.ObjectMeta{Name: "demo-" + dc, Namespace: ns, Labels: map[string]string{api.LabelReportSelector: "demo"}},
			DatacenterName: dc, Racks: []api.RackReport{{Name: "a", Nodes: []api.NodeReport{node}}},
		}
		if remote {
			r.Labels[api.LabelRemoteReport] = "west"
		}
		return r
	}
	far := "ffffffff-0000-4000-8000-000000000009"
	c := load(t, append(pods, service("a", hostA), service("b", hostB), set("b", "scylladb/scylla:2025.2.1"),
		report("dc1", api.NodeReport{HostID: &id, ObservedNodes: api.Plain([]api.ObservedNodeStatusReport{down})}, false),
		report("dc2", api.NodeReport{HostID: &far, ObservedNodes: api.Plain([]api.ObservedNodeStatusReport{up})}, true))...)
	in := c.Input("demo-b-0", now, "id")
	seen := map[string]matrix.Status{}
	for r := range in.Matrix.Rows() {
		for o := range r.Each() {
			if o.HostID == hostB {
				seen[string(r.Reporter.HostID)] = o.Status
			}
		}
	}
	if seen[hostA] != want || seen[far] != matrix.Up || len(seen) != 2 {
		t.Errorf("rows say %v of %s", seen, hostB)
	}
	return in
}

func TestClaimsOfAllTemplates(t *testing.T) {
	c := load(t, service("b", hostB), set("b", "scylladb/scylla:2025.2.1"), claim("data-demo-b-0", "1"), claim("commitlog-demo-b-0", "2"), claim("data-demo-b-1", "3"))
	in := c.Input("demo-b-0", now, "id")
	var names []string
	for _, p := range in.Claims {
		names = append(names, p.Name)
		if p.ResourceVersion == "" || p.UID == "" {
			t.Errorf("claim %+v", p)
		}
	}
	if got := strings.Join(names, " "); got != "data-demo-b-0 commitlog-demo-b-0" {
		t.Errorf("claims %s", got)
	}
}

func TestLauncher(t *testing.T) {
	for name, tc := range map[string]struct {
		command []string
		want    release.Support
	}{
		"as inject writes it": {[]string{"/mnt/shared/scylla-agent", "launch", "--", "/docker-entrypoint.py"}, release.Yes},
		"in a shell":          {[]string{"sh", "-c", "exec /opt/scylla-agent launch -- /docker-entrypoint.py"}, release.Yes},
		"none":                {[]string{"/docker-entrypoint.py"}, release.No},
		"the image's own":     {nil, release.No},
		"another subcommand":  {[]string{"/mnt/shared/scylla-agent", "reporter"}, release.No},
	} {
		t.Run(name, func(t *testing.T) {
			c := load(t, service("b", hostB), set("b", "scylladb/scylla:2025.2.1", tc.command...))
			if got := c.Input("demo-b-0", now, "").Self.Launcher(); got != tc.want {
				t.Errorf("%d, want %d", got, tc.want)
			}
		})
	}
	c := load(t, service("b", hostB))
	if in := c.Input("demo-b-0", now, ""); in.Self.StatefulSet != nil {
		t.Error("a StatefulSet from nowhere")
	}
}

// All that run and the image that will run must be able to.
func TestVersionOfAll(t *testing.T) {
	for name, tc := range map[string]struct {
		image, running string
		want           release.Support
	}{
		"both new":            {"scylladb/scylla:2025.2.1", "2025.2.1-0.2025.abc", release.Yes},
		"image old":           {"scylladb/scylla:5.1.0", "5.2.0", release.No},
		"running old":         {"scylladb/scylla:5.2.0", "5.1.0", release.No},
		"image without a tag": {"scylladb/scylla", "2025.2.1", release.Yes},
		"nothing known":       {"scylladb/scylla:latest", "", release.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			c := load(t, service("a", hostA), service("b", hostB), set("b", tc.image), pod("a", says(hostA, tc.running)))
			in := c.Input("demo-b-0", now, "")
			if in.ByHostID != tc.want {
				t.Errorf("%d (%s, %s), want %d", in.ByHostID, in.Version, in.VersionDetail, tc.want)
			}
			if tc.want == release.Unknown && !strings.Contains(in.VersionDetail, "latest") {
				t.Errorf("detail %q", in.VersionDetail)
			}
		})
	}
}

// By the image alone the answer is the Scylla Operator's, with its errors as unknown.
func TestVersionVectors(t *testing.T) {
	data, err := os.ReadFile("../../test/simulation/vectors/version-cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		ID    string
		Input struct{ Image string }
		Want  struct {
			ReplaceUsingHostID bool
			ReplaceError       string
		} `json:"expected"`
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	differs := map[string]string{}
	for _, tc := range cases {
		t.Run(tc.ID, func(t *testing.T) {
			c := load(t, service("b", hostB), set("b", tc.Input.Image))
			got := c.Input("demo-b-0", now, "").ByHostID
			want := release.No
			switch {
			case tc.Want.ReplaceError != "":
				want = release.Unknown
			case tc.Want.ReplaceUsingHostID:
				want = release.Yes
			}
			if got != want && differs[tc.ID] == "" {
				t.Errorf("%d, the operator %d", got, want)
			}
		})
	}
}

func TestOthers(t *testing.T) {
	a := service("a", hostA)
	a.Labels[api.LabelReplace], a.Labels[api.LabelReplacingNodeHostID] = "", hostA
	a.Labels[api.LabelDecommissioned] = "false"
	a.Spec.ClusterIP = "10.96.0.1"
	c := load(t, a, service("b", hostB))
	o := c.Input("demo-b-0", now, "").Others
	if len(o) != 1 || !o[0].Decommissioning() || o[0].Addresses()[0].String() != "10.96.0.1" {
		t.Errorf("%+v", o)
	}
	if rec := replace.RecordOf(o[0]); !rec.Open() || rec.Original != hostA || rec.Accepted != "" {
		t.Errorf("%+v", rec)
	}
	if got := c.Requested(); len(got) != 1 || got[0] != "demo-a-0" {
		t.Errorf("requested %v", got)
	}
}

// What the scheduler, the claim and the barrier say of a new Pod is passed on in their own words.
func TestWhatAPodWaitsFor(t *testing.T) {
	pending := pod("b", says(hostB, "2025.2.1"))
	pending.Annotations, pending.Spec.NodeName = nil, ""
	pending.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available: 3 Insufficient cpu."},
	}}
	bound := claim("commitlog-demo-b-0", "2")
	bound.Spec.VolumeName = "pv-2"
	in := load(t, service("a", hostA), service("b", hostB), set("b", "scylladb/scylla:2025.2.1"), pending, claim("data-demo-b-0", "1"), bound).Input("demo-b-0", now, "id")
	if want := "scheduling: 0/3 nodes are available: 3 Insufficient cpu."; words.Text(in.Self.Waiting) != want {
		t.Errorf("waits for %q, want %q", in.Self.Waiting, want)
	}
	if in.Barrier != nil || in.Claims[0].Spec.VolumeName != "" || in.Claims[1].Spec.VolumeName == "" {
		t.Errorf("barrier %v, claims %+v", in.Barrier, in.Claims)
	}

	held := pod("b", says(hostB, "2025.2.1"))
	held.Annotations = nil
	held.Status.InitContainerStatuses[2] = corev1.ContainerStatus{
		Name: api.ContainerBarrier, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	seen := api.ObservedNodeStatusReport{HostID: hostC, Status: api.NodeStatusDown}
	newcomer := service("b", "")
	newcomer.Annotations = nil
	in = load(t, service("a", hostA), newcomer, service("c", hostC), pod("a", says(hostA, "2025.2.1", seen)), held).Input("demo-b-0", now, "id")
	if got := strings.Join(words.Texts(in.Barrier), "\n"); !strings.Contains(got, "demo-c-0 (cccccccc) is seen DOWN by demo-a-0") && !strings.Contains(got, "sees demo-c-0 (cccccccc) DOWN") {
		t.Errorf("the barrier waits for %q", got)
	}
}

// The step for a Pod without a Kubernetes node brings the Kubernetes node of its volume back, unless that no longer exists. The member can be replaced only where
// no Kubernetes node is known that can use its volume.
func TestNoHarm17TheStepForAPodWithoutAKubernetesNode(t *testing.T) {
	for state, want := range map[string]struct {
		step   words.Code
		usable bool
		gone   words.Code
	}{
		cluster.KubernetesNodeReady:                         {words.MakeRoomOn, true, ""},
		cluster.KubernetesNodeReady + ",SchedulingDisabled": {words.UncordonNode, true, ""},
		cluster.KubernetesNodeNotReady:                      {words.MendKubernetesNode, false, ""},
		cluster.KubernetesNodeGone:                          {"", false, words.VolumeOfGoneNode},
		"":                                                  {words.MakeRoom, false, ""}, // it was not read
	} {
		pending := pod("b", says(hostB, "2025.2.1"))
		pending.Annotations, pending.Spec.NodeName = nil, ""
		pending.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available: 3 Insufficient cpu."},
		}}
		bound := claim("data-demo-b-0", "1")
		bound.Spec.VolumeName = "pv-1"
		c := load(t, service("a", hostA), service("b", hostB), set("b", "scylladb/scylla:2025.2.1"), pending, bound).Cluster
		o := c.Objects
		if state != "" {
			o.Volumes, o.Machines = map[string][]string{"pv-1": {"k8"}}, map[string]string{"k8": state}
		}
		in := replace.Read(cluster.New(o, cluster.SourceAuto, now)).Input("demo-b-0", now, "id")
		if in.Unscheduled.Code != want.step || in.VolumeUsable != want.usable || in.VolumeGone.Code != want.gone {
			t.Errorf("%q: %q, usable %v, gone %q", state, in.Unscheduled.Code, in.VolumeUsable, in.VolumeGone.Code)
		}
	}
}

func TestOthersHaveTheirPodsWord(t *testing.T) {
	in := load(t, service("a", hostA), service("b", hostB), pod("a", says(hostC, "2025.2.1"))).Input("demo-b-0", now, "id")
	if len(in.Others) != 1 || in.Others[0].RecordedID() != hostA || in.Others[0].Says().HostID != hostC {
		t.Errorf("%+v", in.Others)
	}
}

// TestA1SeedsAreKnownBeforeAnythingIsDeleted: the choice that launch will make, once the target's volume is gone, is among what the checks look at.
func TestA1SeedsAreKnownBeforeAnythingIsDeleted(t *testing.T) {
	up := func(id string) api.ObservedNodeStatusReport {
		return api.ObservedNodeStatusReport{HostID: hostid.ID(id), Status: api.NodeStatusUp}
	}
	down := api.ObservedNodeStatusReport{HostID: hostB, Status: api.NodeStatusDown}
	launch := []string{"/mnt/shared/scylla-agent", "launch", "--", "/docker-entrypoint.py"}
	for name, tc := range map[string]struct {
		command []string
		address string
		want    string
	}{
		"another is UP":       {launch, "10.0.0.1", "SeedsFound"},
		"it has no address":   {launch, "", "SeedsNotUp"},
		"somebody else seeds": {nil, "10.0.0.1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := pod("a", says(hostA, "2026.1.0", up(hostA), down)), pod("b", says(hostB, "2026.1.0"))
			b.Annotations = nil
			a.Status.PodIP, b.Status.PodIP = tc.address, "10.0.0.2"
			a.Spec.Containers[0].Command, b.Spec.Containers[0].Command = tc.command, tc.command
			in := load(t, service("a", hostA), service("b", hostB), a, b, set("a", "scylladb/scylla:2026.1.0", tc.command...),
				set("b", "scylladb/scylla:2026.1.0", tc.command...)).Input("demo-b-0", now, "")
			got := ""
			if in.Seeds != nil {
				got = string(in.Seeds.Code)
			}
			if got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

// TestNoHarm8APausedNodeIsRead: by its own mode, while its reporter and its container run.
func TestNoHarm8APausedNodeIsRead(t *testing.T) {
	for mode, want := range map[string]words.Code{"DRAINED": words.ScyllaDBDrained, "MAINTENANCE": words.ScyllaDBInMaintenance, "STARTING": "", "NORMAL": ""} {
		said := says(hostA, "2025.2.1")
		said.OperationMode = mode
		p := pod("a", said)
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerScyllaDB, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
		if in := load(t, service("a", hostA), p).Input("demo-a-0", now, "id"); in.Paused.Code != want || in.Resume.IsZero() != (want == "") {
			t.Errorf("%s: %s, %s", mode, words.Text(in.Paused), words.Text(in.Resume))
		}
		p.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
		if in := load(t, service("a", hostA), p).Input("demo-a-0", now, "id"); !in.Paused.IsZero() {
			t.Errorf("%s, and its container has ended: %s", mode, words.Text(in.Paused))
		}
	}
}

// TestAHostIDOfALastRowAloneNeedsNoRow: a member whose Service has the host ID of an ended attempt to join waits for the replacement, and the replacement does not wait for its row.
func TestAHostIDOfALastRowAloneNeedsNoRow(t *testing.T) {
	up := func(id string) api.ObservedNodeStatusReport {
		return api.ObservedNodeStatusReport{HostID: hostid.ID(id), Status: api.NodeStatusUp}
	}
	down := api.ObservedNodeStatusReport{HostID: hostB, Status: api.NodeStatusDown, Since: new(metav1.NewTime(now.Add(-time.Hour)))}
	refused := "connection refused"
	const attempt = "dddddddd-0000-4000-8000-000000000004"
	for name, tc := range map[string]struct {
		row            api.NodeStatusReport
		runs, required bool
	}{
		"its reporter has an error": {api.NodeStatusReport{Error: &refused}, false, false},
		"its row is empty":          {api.NodeStatusReport{}, false, false},
		"its ScyllaDB serves":       {api.NodeStatusReport{}, true, true},
		"it is past joining":        {api.NodeStatusReport{Error: &refused, OperationMode: "NORMAL"}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := service("b", hostB)
			b.Labels[api.LabelReplace] = ""
			other := service("d", attempt)
			delete(other.Annotations, api.AnnotationNodeJoined)
			p := pod("d", &tc.row)
			p.Status.ContainerStatuses[0].Ready = tc.runs
			in := load(t, service("a", hostA), b, other, p, pod("a", says(hostA, "2025.2.1", up(hostA), down)),
				set("b", "scylladb/scylla:2025.2.1")).Input("demo-b-0", now, "id")
			checks := replace.Next(*in).Checks
			at := slices.IndexFunc(checks, func(c replace.Check) bool { return c.Name == replace.CheckRows })
			if got := words.Text(checks[at].Evidence); strings.Contains(got, "demo-d-0") != tc.required {
				t.Errorf("its row is required: want %v, check %s: %s", tc.required, checks[at].Result, got)
			}
		})
	}
}

// TestAnOrphanIsNotBroughtBack: where no other datacenter is known, a dead node that no Service records was a member here, and its member has another node by now.
func TestAnOrphanIsNotBroughtBack(t *testing.T) {
	const orphan = "dddddddd-0000-4000-8000-000000000004"
	cell := func(id string, status api.NodeStatus) api.ObservedNodeStatusReport {
		return api.ObservedNodeStatusReport{HostID: hostid.ID(id), Status: status, Since: new(metav1.NewTime(now.Add(-time.Hour)))}
	}
	for seeds, want := range map[string]words.Code{"": words.OrphansFirst, "--seeds=10.99.0.1": words.OthersBringBackOnly} {
		b := service("b", hostB)
		b.Labels[api.LabelReplace] = ""
		rows := []api.ObservedNodeStatusReport{cell(hostA, "UP"), cell(hostC, "UP"), cell(hostB, "DOWN"), cell(orphan, "DOWN")}
		sets := set("b", "scylladb/scylla:2025.2.1")
		if seeds != "" {
			sets.Spec.Template.Spec.Containers[0].Args = []string{seeds}
		}
		in := load(t, service("a", hostA), b, service("c", hostC), pod("a", says(hostA, "2025.2.1", rows...)),
			pod("c", says(hostC, "2025.2.1", rows...)), sets).Input("demo-b-0", now, "id")
		checks := replace.Next(*in).Checks
		at := slices.IndexFunc(checks, func(c replace.Check) bool { return c.Name == replace.CheckOthersUp })
		if got := checks[at].Cure.Code; got != want {
			t.Errorf("seeds %q: %s, want %s", seeds, got, want)
		}
	}
}
