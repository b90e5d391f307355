// SPDX-License-Identifier: Apache-2.0

package diagnosis_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/scenes"
)

func ready(c *plugintest.Cluster, name string, is corev1.ConditionStatus) {
	conditions := c.Pod(name).Status.Conditions
	for i := range conditions {
		if conditions[i].Type == corev1.PodReady {
			conditions[i].Status = is
		}
	}
}

// A member without a Pod, whose StatefulSet makes Pods in order and waits for a lower ordinal, has that as its next step, both in status and at the barrier of a member that
// waits for it.
func TestOrderedReadyHoldsAMember(t *testing.T) {
	const lower, higher = "demo-dc1-rack1-0", "demo-dc1-rack1-1"
	const parallel = "delete StatefulSet demo-dc1-rack1 but not its Pods, which cannot be undone without its manifest: kubectl delete statefulset demo-dc1-rack1 --cascade=orphan -n demo; then apply it again with podManagementPolicy Parallel. " +
		"With OrderedReady it does not create Pod demo-dc1-rack1-1 while demo-dc1-rack1-0 is not Ready"
	look := func(verb string) string {
		return "check what demo-dc1-rack1-0 is waiting for: kubectl scylla " + verb + " demo-dc1-rack1-0 -n demo. " +
			"StatefulSet demo-dc1-rack1 does not create Pod demo-dc1-rack1-1 while demo-dc1-rack1-0 is not Ready (podManagementPolicy OrderedReady)"
	}
	starting := started(time.Minute, &api.NodeStatusReport{}).Pod("demo-dc1-rack1-1").Status
	for name, tc := range map[string]struct {
		change func(*plugintest.Cluster)
		want   string
	}{
		"in order": {func(*plugintest.Cluster) {}, parallel},
		"saved":    {func(*plugintest.Cluster) {}, look("barrier")}, // perhaps without its Pod
		// the lower ordinal waits for nobody, so it becomes Ready, or has a step of its own
		"the lower one restarts":            {func(c *plugintest.Cluster) { c.Pod(lower).Annotations = nil }, look("barrier")},
		"the lower one starts":              {func(c *plugintest.Cluster) { c.Pod(lower).Status = starting }, look("describe")},
		"the lower one has no Pod":          {func(c *plugintest.Cluster) { c.Ghost(lower) }, look("describe")},
		"the lower one has lost its volume": {func(c *plugintest.Cluster) { c.Ghost(lower) }, parallel},
		"in parallel": {func(c *plugintest.Cluster) {
			c.Set("dc1", "rack1").Spec.PodManagementPolicy = appsv1.ParallelPodManagement
		}, ""},
		"the lower one is ready":            {func(c *plugintest.Cluster) { ready(c, lower, corev1.ConditionTrue) }, ""},
		"the Scylla Operator's StatefulSet": {func(c *plugintest.Cluster) { c.Operator() }, look("barrier")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := plugintest.New(3, 3)
			waits := c.Newcomer("dc1", "rack2", 3)
			c.Set("dc1", "rack1").Spec.PodManagementPolicy = appsv1.OrderedReadyPodManagement
			c.NoRow(lower).Pod(lower).Status = c.Pod(waits).Status
			c.Pod(lower).Annotations = map[string]string{api.AnnotationBarrier: `{"emptyVolume":true}`}
			c.Ghost(higher).NoRow(higher)
			for _, n := range c.Nodes {
				if n.Name != higher {
					c.Sees(n.Name, higher, api.NodeStatusDown, scenes.Now.Add(-time.Hour))
				}
			}
			tc.change(c)
			o := scenes.Objects(c)
			o.Offline = name == "saved"
			if strings.HasSuffix(name, "volume") {
				o.PVCs = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data-" + lower}, Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimLost}}}
			}
			snap := cluster.New(o, cluster.SourceAuto, scenes.Now)
			v, err := bootstrap.VerdictOf(snap, waits)
			if err != nil {
				t.Fatal(err)
			}
			diagnosis.Advise(snap, &v, diagnosis.Asks{Self: v.Self})
			h := bootstrap.HealthOf(snap)
			findings := diagnosis.From(snap, h, diagnosis.Known{})
			for where, blockers := range map[string][]matrix.Blocker{"barrier": v.Blockers, "status": h.Blockers} {
				var got []string
				for _, b := range blockers {
					if b.Observed.Member == higher && (b.Step.Code == words.ApplyParallel || b.Step.Code == words.LowerOrdinalFirst) {
						got = append(got, words.Text(b.Step))
					}
				}
				slices.Sort(got)
				got = slices.Compact(got)
				var want []string
				if tc.want != "" {
					want = []string{tc.want}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", where, diff)
				}
			}
			if tc.want == "" {
				return
			}
			if !slices.ContainsFunc(findings, func(f diagnosis.Finding) bool { return words.Text(f.Step) == tc.want }) {
				t.Errorf("no finding has the step: %v", said(findings))
			}
		})
	}
}

// The launcher of the lower one waits for the only other node that has joined, whose Pod is not created before it is Ready.
func TestOrderedReadyHoldsTheOnlySeed(t *testing.T) {
	t.Parallel()
	for racks, want := range map[int]words.Code{1: words.ApplyParallel, 2: words.LowerOrdinalFirst} {
		c := plugintest.New(racks, 2)
		c.Set("dc1", "rack1").Spec.PodManagementPolicy = appsv1.OrderedReadyPodManagement
		ready(c.NoRow("demo-dc1-rack1-0"), "demo-dc1-rack1-0", corev1.ConditionFalse)
		c.Ghost("demo-dc1-rack1-1").NoRow("demo-dc1-rack1-1")
		for i, pod := 0, c.Pod("demo-dc1-rack1-0"); i < len(pod.Spec.Containers); i++ {
			if pod.Spec.Containers[i].Name == api.ContainerScyllaDB {
				pod.Spec.Containers[i].Command = []string{"scylla-agent", "launch", "--"}
			}
		}
		snap := cluster.New(scenes.Objects(c), cluster.SourceAuto, scenes.Now)
		if got := replace.WhileCause(snap, "demo-dc1-rack1-1", cluster.CauseOrder, "demo-dc1-rack1-0"); got.Code != want {
			t.Errorf("%d racks: %s, want %s", racks, words.Text(got), want)
		}
	}
}

// started is a cluster of three with a newcomer whose ScyllaDB has run for that long and reports row.
func started(running time.Duration, row *api.NodeStatusReport) *plugintest.Cluster {
	c := plugintest.New(3, 1)
	pod := c.Pod(c.Newcomer("dc1", "rack1", 1))
	pod.Status.InitContainerStatuses[2].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	pod.Status.ContainerStatuses[0].State.Running.StartedAt.Time = scenes.Now.Add(-running)
	text, err := api.EncodeNodeStatusReport(row)
	if err != nil {
		panic(err) // strings always marshal
	}
	pod.Annotations = map[string]string{api.AnnotationNodeStatusReport: text}
	return c
}

// ended is a cluster with a newcomer whose container ended before it joined.
func ended() *plugintest.Cluster {
	c := started(time.Minute, &api.NodeStatusReport{})
	c.Pod("demo-dc1-rack1-1").Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	return c
}

// The Service still records the host ID whose join failed, while the claim and the Pod are new: only the Pod's own row shows whose the volume is.
func TestDiscardClaimIsForTheHostIDOfThePod(t *testing.T) {
	t.Parallel()
	const own, failed, fresh = "demo-dc1-rack1-1", "99d2f3a2-9999-4999-8999-999999999999", "88d2f3a2-9999-4999-8999-999999999999"
	for name, tc := range map[string]struct {
		row  api.NodeStatusReport
		want bool
	}{
		"it has not responded":        {api.NodeStatusReport{}, false},
		"it starts with another one":  {api.NodeStatusReport{HostID: fresh, OperationMode: "STARTING"}, false},
		"it has the one that failed":  {api.NodeStatusReport{HostID: failed, OperationMode: "STARTING"}, true},
		"it had it, and does not run": {api.NodeStatusReport{Error: new("connection refused"), LastRow: &api.LastRow{HostID: failed}}, true},
		"it had another one":          {api.NodeStatusReport{Error: new("connection refused"), LastRow: &api.LastRow{HostID: fresh}}, false},
	} {
		c := started(time.Minute, &tc.row)
		c.Says(func(_ plugintest.Node, r *api.NodeStatusReport) {
			r.Operations = []api.NodeOperation{{Type: "bootstrap", State: "failed", HostID: failed}}
		})
		c.Service(own).Annotations = map[string]string{api.AnnotationHostID: failed, api.AnnotationNodeJoined: "false"}
		snap := cluster.New(scenes.Objects(c), cluster.SourceAuto, scenes.Now)
		v, err := bootstrap.VerdictOf(snap, own)
		if err != nil {
			t.Fatal(err)
		}
		diagnosis.Advise(snap, &v, diagnosis.Asks{Self: v.Self})
		if got := len(v.Blockers) > 0 && v.Blockers[0].Step.Code == words.DiscardClaim; got != tc.want {
			t.Errorf("%s: %s %v", name, v.Decision, v.Blockers)
		}
	}
}

// A member that has just joined is in no row yet: its used volume is not that of a removed node.
func TestDiscardClaimIsNotForAMemberThatJustJoined(t *testing.T) {
	t.Parallel()
	const own = "demo-dc1-rack2-0"
	for ago, want := range map[time.Duration]bool{30 * time.Second: false, time.Hour: true} {
		c := gone(plugintest.New(3, 1), own).Says(func(_ plugintest.Node, r *api.NodeStatusReport) { r.Complete = true })
		c.Service(own).Annotations[api.AnnotationJoinedAt] = c.Node(own).HostID + " " + scenes.Now.Add(-ago).UTC().Format(time.RFC3339)
		in, err := bootstrap.Of(cluster.New(scenes.Objects(c), cluster.SourceAnnotation, scenes.Now), own)
		if err != nil {
			t.Fatal(err)
		}
		in.Volume, in.Disk = bootstrap.VolumeUsed, bootstrap.BootstrappedNo
		if v := bootstrap.Decide(in); (v.Decision == bootstrap.DecisionRefuse) != want {
			t.Errorf("%s after its join: %s %s", ago, v.Decision, words.Text(v.Summary))
		}
	}
}

// A newcomer whose ScyllaDB has run for a while and that no node lists is reported, with how to look as the step; a newcomer that may be joining is not.
func TestANewcomerThatNobodyHasHeardOf(t *testing.T) {
	on := func(machine string) func(*plugintest.Cluster) {
		return func(c *plugintest.Cluster) { c.Pod("demo-dc1-rack1-1").Spec.NodeName = machine }
	}
	const id = "99d2f3a2-9999-4999-8999-999999999999"
	starting := api.NodeStatusReport{HostID: id, OperationMode: "STARTING"}
	unheard := []string{"remark NodeUnheard: demo-dc1-rack1-1 has been starting, but no node lists it: its seed addresses may be out of date; " +
		"do not delete anything yet. Once its log has \"found no local group 0. Discovering\", recreating its Pod does not help: the outdated seed addresses are stored on its volume. " +
		"Check its progress, and whether a node lists it: kubectl logs demo-dc1-rack1-1 -c scylla -n demo; kubectl scylla describe demo-dc1-rack1-1 -n demo"}
	for name, tc := range map[string]struct {
		running time.Duration
		row     api.NodeStatusReport
		change  func(*plugintest.Cluster)
		want    []string
	}{
		"for ten minutes": {10 * time.Minute, starting, nil, unheard},
		"for a minute":    {time.Minute, starting, nil, nil},
		"it streams":      {10 * time.Minute, api.NodeStatusReport{HostID: id, OperationMode: "BOOTSTRAP"}, nil, nil},
		"it lists others": {10 * time.Minute, api.NodeStatusReport{HostID: id, OperationMode: "STARTING", ObservedNodes: []api.ObservedNodeStatusReport{{HostID: id, Status: api.NodeStatusUp}}}, nil, nil},
		"an operation is queued": {10 * time.Minute, starting, func(c *plugintest.Cluster) {
			c.Says(func(_ plugintest.Node, r *api.NodeStatusReport) {
				r.Operations = []api.NodeOperation{{State: "created"}}
			})
		}, nil},
		"nobody asked for those": {10 * time.Minute, starting, func(c *plugintest.Cluster) {
			c.Says(func(_ plugintest.Node, r *api.NodeStatusReport) { r.OperationMode = "" })
		}, nil},
		"its StatefulSet is rolled, and waits for it": {10 * time.Minute, starting, func(c *plugintest.Cluster) {
			set := c.Set("dc1", "rack1")
			set.Status.CurrentRevision, set.Status.UpdateRevision, set.Status.UpdatedReplicas = "old", "new", 0
		}, unheard},
		"40445: its Kubernetes node does not answer": {10 * time.Minute, starting, on("lost"), nil},
		"its Kubernetes node does not exist":         {10 * time.Minute, starting, on("gone"), nil},
		"its Pod is lost": {10 * time.Minute, starting, func(c *plugintest.Cluster) {
			c.Pod("demo-dc1-rack1-1").Status.Reason = "NodeLost"
		}, nil},
		"its reporter does not run": {10 * time.Minute, starting, func(c *plugintest.Cluster) {
			c.Pod("demo-dc1-rack1-1").Status.InitContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
		}, nil},
		"a node is DOWN meanwhile": {10 * time.Minute, starting, func(c *plugintest.Cluster) {
			c.Sees("demo-dc1-rack2-0", "demo-dc1-rack3-0", api.NodeStatusDown, scenes.Now.Add(-time.Minute))
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := started(tc.running, &tc.row)
			if tc.change != nil {
				tc.change(c)
			}
			var got []string
			o := scenes.Objects(c)
			o.Machines = map[string]string{"lost": cluster.KubernetesNodeNotReady, "gone": cluster.KubernetesNodeGone}
			for _, f := range diagnosis.Of(cluster.New(o, cluster.SourceAuto, scenes.Now)) {
				if f.Kind == diagnosis.NodeUnheard {
					got = append(got, said([]diagnosis.Finding{f})[0]+"; "+words.Text(f.Step))
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A member whose join its Service records is DOWN, and the rows have it as joining still: nobody waits for its join.
func TestAMemberWhoseJoinIsRecordedIsNoNewNode(t *testing.T) {
	t.Parallel()
	const own = "demo-dc1-rack2-0"
	for joined, want := range map[string]words.Code{"true": words.ReachPod, "": words.WaitForJoin} {
		c := plugintest.New(3, 1)
		c.DownSince(own, time.Hour).NoRow(own).Ghost(own)
		id := hostid.ID(c.Node(own).HostID)
		c.Says(func(_ plugintest.Node, r *api.NodeStatusReport) {
			for i := range r.ObservedNodes {
				if r.ObservedNodes[i].HostID == id {
					r.ObservedNodes[i].State = api.NodeStateJoining
				}
			}
		})
		c.Service(own).Annotations[api.AnnotationNodeJoined] = joined
		snap := cluster.New(scenes.Objects(c), cluster.SourceAnnotation, scenes.Now)
		blockers := bootstrap.HealthOf(snap).Blockers
		at := slices.IndexFunc(blockers, func(b matrix.Blocker) bool { return b.Reason == words.NodeDown && b.Observed.HostID == id })
		if step := diagnosis.Step(snap, &blockers[at]); step.Code != want {
			t.Errorf("joined %q: step %s, want %s", joined, step.Code, want)
		}
	}
}

// TestNoHarmAMemberReplacesItselfOnlyByItsVolume: the barrier of a member that the others see DOWN waits, as their rows disagree on it. Only a volume that is empty or another node's
// proves that its data is lost: no other state of the volume leads to a step that replaces it. The command waits until the rows agree.
func TestNoHarmAMemberReplacesItselfOnlyByItsVolume(t *testing.T) {
	t.Parallel()
	const own, first = "demo-dc1-rack2-0", "demo-dc1-rack1-0"
	for name, tc := range map[string]struct {
		volume bootstrap.Volume
		other  bool // the volume has the host ID of another node, which no member records
		want   words.Code
	}{
		"its volume is used":           {bootstrap.VolumeUsed, false, words.KeepOwnVolume},
		"nobody has read its volume":   {bootstrap.VolumeNotLooked, false, words.KeepOwnVolume},
		"its volume cannot be read":    {bootstrap.VolumeUnreadable, false, words.KeepOwnVolume},
		"its volume is empty":          {bootstrap.VolumeEmpty, false, words.ReplaceLater},
		"its volume is another node's": {bootstrap.VolumeUsed, true, words.ReplaceLater},
	} {
		for _, joined := range []string{"true", "false", ""} {
			t.Run(name+", joined "+joined, func(t *testing.T) {
				t.Parallel()
				c := plugintest.New(3, 1)
				c.DownSince(own, time.Hour).NoRow(own)
				id := hostid.ID(c.Node(own).HostID)
				c.Says(func(by plugintest.Node, r *api.NodeStatusReport) {
					r.ScyllaVersion = "" // nothing says that the list hides nodes
					if by.Name == first {
						r.ObservedNodes = slices.DeleteFunc(r.ObservedNodes, func(o api.ObservedNodeStatusReport) bool { return o.HostID == id })
					}
				})
				c.Service(own).Annotations[api.AnnotationNodeJoined] = joined
				o := scenes.Objects(c)
				o.Pods, o.Read = nil, o.Read&^cluster.KindPods // as a barrier reads them
				snap := cluster.New(o, cluster.SourceReport, scenes.Now)
				in, err := bootstrap.Of(snap, own)
				if err != nil {
					t.Fatal(err)
				}
				if in.Volume = tc.volume; tc.other {
					in.VolumeHostID, in.Member.Joined = "99d2f3a2-9999-4999-8999-999999999999", new(false)
				}
				v := bootstrap.Decide(in)
				diagnosis.Advise(snap, &v, diagnosis.Asks{Self: v.Self})
				var got []words.Code
				for _, b := range v.Blockers {
					if b.Observed.HostID == id && b.Reason != words.VolumeUnreadable {
						got = append(got, b.Step.Code)
					}
				}
				if got = slices.Compact(got); len(got) != 1 || got[0] != tc.want {
					t.Errorf("%s: steps %v, want %s", words.Text(v.Summary), got, tc.want)
				}
			})
		}
	}
}

// TestAnOrphanComesBeforeAReplacement: a dead node that no Service records cancels each replacement. Where no other datacenter is known it was a member here: nothing starts it elsewhere.
func TestAnOrphanComesBeforeAReplacement(t *testing.T) {
	t.Parallel()
	const own, orphan = "demo-dc1-rack2-0", "99d2f3a2-9999-4999-8999-999999999999"
	seeds := func(c *plugintest.Cluster) {
		scylla := cluster.ScyllaDBContainer(&c.Set("dc1", "rack1").Spec.Template.Spec)
		scylla.Args = append(scylla.Args, "--seeds=10.99.0.1")
	}
	since := func(name string, age time.Duration) func(*plugintest.Cluster) {
		return func(c *plugintest.Cluster) { c.DownSince(name, age) }
	}
	for name, tc := range map[string]struct {
		orphan   bool
		change   func(*plugintest.Cluster)
		volume   bootstrap.Volume
		of, self words.Code // the steps of the orphan, and of the member that is DOWN
	}{
		"43338: the member's barrier":  {true, nil, bootstrap.VolumeEmpty, words.SeeOrphan, words.OrphansFirst},
		"its volume is used":           {true, nil, bootstrap.VolumeUsed, words.SeeOrphan, words.KeepOwnVolume},
		"seeds of another datacenter":  {true, seeds, bootstrap.VolumeEmpty, words.StartElsewhere, words.ReplaceLater},
		"there is no orphaned host ID": {false, nil, bootstrap.VolumeEmpty, "", words.ReplaceFormerNode},
		"the command waits":            {false, since(own, 20*time.Second), bootstrap.VolumeEmpty, "", words.ReplaceLater},
		"another node may return":      {false, since("demo-dc1-rack3-0", time.Hour), bootstrap.VolumeEmpty, "", words.ReplaceLater},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := plugintest.New(3, 1)
			c.DownSince(own, time.Hour).NoRow(own).Says(func(_ plugintest.Node, r *api.NodeStatusReport) {
				if tc.orphan {
					r.ObservedNodes = append(r.ObservedNodes, api.ObservedNodeStatusReport{
						HostID: orphan, Status: api.NodeStatusDown, Since: new(metav1.NewTime(scenes.Now.Add(-time.Hour))),
					})
				}
			})
			if tc.change != nil {
				tc.change(c)
			}
			o := scenes.Objects(c)
			o.Pods, o.Read = nil, o.Read&^cluster.KindPods // as a barrier reads them
			snap := cluster.New(o, cluster.SourceReport, scenes.Now)
			in, err := bootstrap.Of(snap, own)
			if err != nil {
				t.Fatal(err)
			}
			in.Volume, in.Member.Joined = tc.volume, new(false) // no restart
			v := bootstrap.Decide(in)
			diagnosis.Advise(snap, &v, diagnosis.Asks{Self: v.Self})
			got := map[hostid.ID]words.Code{}
			for _, b := range v.Blockers {
				if b.Reason == words.NodeDown {
					got[b.Observed.HostID] = b.Step.Code
				}
			}
			if self := got[v.Self.HostID]; got[orphan] != tc.of || self != tc.self {
				t.Errorf("steps %s and %s, want %s and %s", got[orphan], self, tc.of, tc.self)
			}
			for _, b := range bootstrap.HealthOf(snap).Blockers {
				if step := diagnosis.Step(snap, &b); tc.of == words.SeeOrphan && slices.ContainsFunc(step.Commands, func(c words.Command) bool { return slices.Contains(c, "replace") }) {
					t.Errorf("for another member: %s", words.Text(step))
				}
			}
		})
	}
}

// A rack of which each node is DOWN for a reason of its own is not away: each is replaced. The words of ScyllaDB are such a reason where it had to reach the others to say them.
func TestReasonsOfARackOfTheirOwn(t *testing.T) {
	t.Parallel()
	const empty, other = "demo-dc1-rack3-0", "demo-dc1-rack3-1"
	for name, tc := range map[string]struct {
		says     words.Code
		recorded string
		away     bool
	}{
		"its record is missing":             {words.RequestNotFound, "true", false},
		"its join is not recorded":          {words.RequestNotFound, "false", false},
		"its join has not finished":         {words.JoinUnfinished, "false", false},
		"it reached nobody":                 {words.ShadowRound, "true", true},
		"it reached no majority":            {words.ReadBarrierTimedOut, "true", true},
		"its disk is full, as of all disks": {words.DiskNoSpace, "true", true},
		"it says nothing":                   {"", "true", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := plugintest.New(3, 2).DownSince(empty, time.Hour).DownSince(other, time.Hour)
			model := plugintest.New(1, 1)
			c.NoRow(empty).Pod(empty).Status = model.Pod(model.Newcomer("dc1", "rack1", 1)).Status
			c.Pod(empty).Annotations = map[string]string{api.AnnotationBarrier: `{"emptyVolume":true}`}
			ready(c, other, corev1.ConditionFalse)
			c.Service(other).Annotations[api.AnnotationNodeJoined] = tc.recorded
			snap := cluster.New(scenes.Objects(c), cluster.SourceAuto, scenes.Now)
			if tc.says != "" {
				snap = snap.WithLogs(map[string]cluster.LogError{other: {Code: tc.says, Text: string(tc.says)}})
			}
			for _, member := range []string{empty, other} {
				if _, _, away := snap.Matrix().PlaceAway(hostid.ID(c.Node(member).HostID)); away != tc.away {
					t.Errorf("%s: the rack is away: %t", member, away)
				}
			}
		})
	}
}
