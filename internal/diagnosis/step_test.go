// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"regexp"
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
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// TestStepsOfReasons: each reason, with each of its causes, has the step that helps.
func TestStepsOfReasons(t *testing.T) {
	t.Parallel()
	self := member("demo-rack4-0", 0, "")
	other := func(o *cluster.Objects) {
		o.StatusReport = &api.ScyllaDBStatusReport{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}
		o.StatusReport.Status.View = &api.StatusReportView{Founder: "demo-rack1-0"}
	}
	about := func(r words.Code, cause words.Message) matrix.Blocker {
		return matrix.Blocker{Reason: r, Observed: self, Cause: cause}
	}
	rollout := func(revision string) func(*cluster.Objects) { // to revision "new", which waits for the Pod
		return func(o *cluster.Objects) {
			labels := map[string]string{api.LabelCluster: "demo", api.LabelDatacenter: "dc1", api.LabelRack: "rack4",
				appsv1.StatefulSetPodNameLabel: "demo-rack4-0", appsv1.ControllerRevisionHashLabelKey: revision}
			meta := func(name string) metav1.ObjectMeta {
				return metav1.ObjectMeta{Namespace: "demo", Name: name, Labels: labels}
			}
			o.Pods = []corev1.Pod{{ObjectMeta: meta("demo-rack4-0")}}
			o.PVCs = []corev1.PersistentVolumeClaim{{ObjectMeta: meta("data-demo-rack4-0")}}
			o.StatefulSets = []appsv1.StatefulSet{{ObjectMeta: meta("demo-rack4"), Spec: appsv1.StatefulSetSpec{Replicas: new(int32(1)),
				VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}},
				Status: appsv1.StatefulSetStatus{CurrentRevision: "old", UpdateRevision: "new"}}}
			o.Read = cluster.KindPods | cluster.KindPVCs | cluster.KindStatefulSets
		}
	}
	launched := func(annotation string) func(*cluster.Objects) { // the barrier of the old Pod has opened
		return func(o *cluster.Objects) {
			rollout("old")(o)
			pod := &o.Pods[0]
			o.Services = append(o.Services, corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: pod.Name, Labels: pod.Labels}})
			pod.Annotations = map[string]string{api.AnnotationBarrier: annotation}
			pod.Spec = corev1.PodSpec{InitContainers: []corev1.Container{{Name: api.ContainerBarrier}}, Containers: []corev1.Container{{Name: api.ContainerScyllaDB}}}
			pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerBarrier, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerScyllaDB,
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}}}
		}
	}
	tooOld := about(words.VersionTooOld, words.New(words.OlderThanOldest, "oldest", "2026.1.0"))
	queued := func(reason words.Code) matrix.Blocker {
		return about(words.PermitPending, words.New(words.PermitQueued, "place", 1, "waiting", 1, "why", words.New(words.PermitWaitsForReason, "reason", string(reason))))
	}
	const newerImage, deletesOldPod = "use an image of 2026.1.0 or later: ScyllaDB rejects and bans a node that lacks features that the cluster uses",
		"delete Pod demo-rack4-0: StatefulSet demo-rack4 now has another template, but with OrderedReady Kubernetes does not replace a Pod that is not Ready. Its volume stays: kubectl delete pod demo-rack4-0 -n demo"
	for name, tc := range map[string]struct {
		b      matrix.Blocker
		change func(*cluster.Objects)
		old    bool
		want   string
	}{
		"a data directory that is spent": {b: about(words.DataDirectoryUnusable, words.New(words.HostIDBanned)),
			want: "delete PVC data-demo-rack4-0, which cannot be undone; the member then starts as a new node: " +
				`kubectl patch pvc data-demo-rack4-0 -n demo '--patch={"metadata":{"uid":"UID"}}' && ` +
				"kubectl delete pvc data-demo-rack4-0 -n demo --wait=false && kubectl delete pod demo-rack4-0 -n demo"},
		"the same, by objects of yesterday": {b: about(words.DataDirectoryUnusable, words.New(words.HostIDBanned)), old: true,
			want: "check the running cluster, because the saved objects are more than an hour old, or their age is unknown: kubectl scylla status demo -n demo"},
		"a barrier's own refusal, which has its step": {b: about(words.DataDirectoryUnusable, words.Message{})},
		"a volume of another":                         {b: about(words.ForeignVolume, words.New(words.VolumeOfOtherHostID, "recorded", idA)), want: "bind the correct volume to PVC data-demo-rack4-0; if its own data is lost, replace the node that the Service records"},
		"a volume of another, and nothing recorded": {b: about(words.ForeignVolume, words.New(words.VolumeOfOtherHostID)),
			want: "give the member an empty volume of its own, or bind the correct one to PVC data-demo-rack4-0. Two nodes with the same host ID must never run. Check where its volume came from: kubectl get pvc data-demo-rack4-0 -o yaml -n demo"},
		"files of nobody knows whom": {b: about(words.VolumeUnreadable, words.New(words.VolumeOfUnknownHostID)),
			want: "check where the volume of PVC data-demo-rack4-0 came from: kubectl get pvc data-demo-rack4-0 -o yaml -n demo. If it is a copy or a restored backup, give demo-rack4-0 an empty volume. " +
				"Only if it was empty at the first start of demo-rack4-0, which was interrupted, let it start, which cannot be undone: kubectl scylla force-proceed demo-rack4-0 -n demo --volume-uid=UID --unless-down"},
		"a volume that is not mounted": {b: about(words.VolumeUnreadable, words.New(words.VolumeNotLooked)), want: "mount the ScyllaDB volume read-only in the barrier's container, so that the container's user can read it"},
		"a force of another value":     {b: about(words.ForceValueInvalid, words.Message{}), want: `set it to "true", after which its start cannot be undone, or remove it with --undo: kubectl scylla force-proceed demo-rack4-0 -n demo --unless-down`},
		"an address that is not its own": {b: about(words.ReplaceRequestInvalid, words.New(words.ReplacedAddressIsNotOwn)),
			want: "set the label to the empty value; the controller determines the address. With this address, ScyllaDB would replace the node that had it. A replacement cannot be undone: kubectl label --overwrite service demo-rack4-0 scylla/replace= -n demo"},
		"a label that is no host ID": {b: about(words.ReplaceRequestInvalid, words.New(words.ReplacingLabelIsNone)), want: "set it to the host ID of the node to replace, or remove the label. Without a host ID, ScyllaDB would start as an ordinary new node"},
		"no rack":                    {b: about(words.LabelMissing, words.New(words.ServiceLabelMissing, "label", api.LabelRack)), want: "label the Service: kubectl label service demo-rack4-0 scylla/rack=NAME -n demo"},
		"no cluster":                 {b: about(words.LabelMissing, words.New(words.ServiceLabelMissing, "label", api.LabelCluster)), want: "label the Service with the cluster's name, or set --selector-label-value of the barrier"},
		"no ordinal":                 {b: about(words.LabelMissing, words.New(words.ServiceWithoutOrdinal)), want: "name the Service after its Pod: STATEFULSET-ORDINAL"},
		"an old image":               {b: tooOld, want: newerImage},
		"a Pod that is to go":        {b: about(words.PodToBeReplaced, words.Message{}), want: "wait up to 10m0s: the next Pod starts as the replacement: kubectl scylla replace status demo-rack4-0 -n demo"},
		"a node that lives":          {b: matrix.Blocker{Reason: words.ReplacedNodeUp, Observed: memberC}, want: "do not replace a running node; check which nodes are replaced and ignored: kubectl scylla replace status demo-rack4-0 -n demo"},
		"another one is the first":   {b: matrix.Blocker{Reason: words.FirstNodePending, Observed: memberA}, want: "wait up to 15m0s until demo-rack1-0 has joined; check its Pod: kubectl get pod demo-rack1-0 -n demo"},
		"two newcomers":              {b: matrix.Blocker{Reason: words.OneNewcomerAtATime, Observed: memberA}, want: "wait up to 12h0m until demo-rack1-0 has joined: kubectl get pod demo-rack1-0 -n demo"},
		"a newcomer without a name":  {b: matrix.Blocker{Reason: words.OneNewcomerAtATime, Observed: matrix.Ref{HostID: idA}}},
		"a rollout":                  {b: matrix.Blocker{Reason: words.RolloutInProgress, Cause: words.New(words.PodsOfOldRevision, "statefulSet", "demo-rack1")}, want: "wait up to 12h0m until the rollout has finished: kubectl rollout status statefulset/demo-rack1 -n demo"},
		"a rollout by inject":        {b: matrix.Blocker{Reason: words.RolloutInProgress, Cause: words.New(words.PodsOfOldTemplate, "statefulSet", "demo-rack1")}, want: "wait up to 12h0m until kubectl scylla inject has finished; if it was interrupted, run the same command again; check the revision of each Pod: kubectl get pods --selector scylla/cluster=demo --label-columns controller-revision-hash -n demo"},
		"a Pod that is not ready":    {b: matrix.Blocker{Reason: words.PodsNotReady, Cause: words.New(words.FewerPodsReady, "statefulSet", "demo-rack1", "pods", []string{"demo-rack1-0"})}, want: "check why it is not Ready: kubectl describe pod demo-rack1-0 -n demo"},
		"no Pod that could be":       {b: matrix.Blocker{Reason: words.PodsNotReady, Cause: words.New(words.FewerPodsReady, "statefulSet", "demo-rack1")}, want: "check why it is not Ready: kubectl describe statefulset demo-rack1 -n demo"},
		"no report":                  {b: matrix.Blocker{Reason: words.ReportMissing, Cause: words.New(words.ClusterNotNew)}, want: "check that the controller and the reporters of all joined members are running; collect the details: kubectl scylla report -n demo"},
		"the data is gone":           {b: matrix.Blocker{Reason: words.ReportMissing, Cause: words.New(words.DataIsGone)}, want: "restore its former volume or a backup while this Pod waits; or, only if no copy is left, start with an empty cluster, which cannot be undone: kubectl scylla init reset demo -n demo"},
		"no report of a datacenter":  {b: matrix.Blocker{Reason: words.ReportMissing, Cause: words.New(words.NoReportOf)}, want: "check that the controller is running: it rewrites the report"},
		"a report that is named":     {b: matrix.Blocker{Reason: words.ReportMissing, Cause: words.New(words.SourceClusterReportGone, "report", "all")}, want: "check that the program that writes ScyllaDBStatusReport all is running, or remove the annotation that names it: kubectl get scylladbstatusreports all -n demo"},
		"one row freezes the report": {b: matrix.Blocker{Reason: words.ReportOutdated, Cause: words.New(words.ReportFrozenByOneRow, "members", []string{"demo-rack1-0"})},
			want: "remove the annotation; the reporter rewrites it: kubectl annotate pod demo-rack1-0 internal.scylla.scylladb.com/scylladb-node-status-report- -n demo"},
		"a silent controller":              {b: matrix.Blocker{Reason: words.ControllerSilent, Cause: words.New(words.ControllerNamed)}, want: "restart the controller; until then the reports may be out of date"},
		"an operator that is off":          {b: matrix.Blocker{Reason: words.ControllerSilent, Cause: words.New(words.OperatorScaledDown)}, change: func(o *cluster.Objects) { o.OperatorState = &cluster.OperatorState{Deployment: "here/operator"} }, want: "check who scaled the Scylla Operator to 0 and why, then scale it back, because only it updates its report; its Events show the former number: kubectl describe deployment operator -n here"},
		"an operator of unknown namespace": {b: matrix.Blocker{Reason: words.ControllerSilent, Cause: words.New(words.OperatorLeaseSilent)}, want: "check that the Scylla Operator is running, because only it updates its report: kubectl get deployment,pods -n scylla-operator"},
		"a datacenter elsewhere":           {b: matrix.Blocker{Reason: words.DatacenterNotVerified}, want: "check manually that every node of the other datacenter sees every node UP, then let the new node skip the barrier; its start cannot be undone: kubectl scylla force-proceed demo-rack4-0 -n demo --unless-down"},
		"a report older than a member":     {b: about(words.RowMissing, words.New(words.JoinedAndNotReported)), want: "check that the controller is running: the report has not been updated since this member joined"},
		"a list without a host ID":         {b: matrix.Blocker{Reason: words.HostIDMissing, Observer: memberA}, want: "if this persists, restart the reporter of demo-rack1-0: every node has a host ID, so its report is wrong"},
		"a member without a host ID":       {b: about(words.HostIDMissing, words.Message{}), want: "check that demo-rack4-0 starts; its host ID is recorded on its Service once ScyllaDB has one"},

		"no view":               {b: about(words.PermitPending, words.New(words.NoViewYet)), want: words.Text(words.New(words.MakeView).Do(words.Scylla("", "install", "--upgrade")))},
		"an override":           {b: about(words.PermitPending, words.New(words.ViewOfAnOverride)), want: words.Text(words.New(words.GoByReports))},
		"no permits":            {b: about(words.PermitPending, words.New(words.ControllerGivesNoPermits)), want: words.Text(words.New(words.UpgradeForPermits).Do(words.Scylla("", "install", "--upgrade")))},
		"in the queue":          {b: about(words.PermitPending, words.New(words.PermitQueued)), want: "wait up to 12h0m for the permit; to show the queue: kubectl scylla status -n demo"},
		"behind the founder":    {b: about(words.PermitPending, words.New(words.PermitQueued)), change: other, want: "start demo-rack1-0: only this member may bootstrap the cluster; check why it has not joined: kubectl scylla describe demo-rack1-0 -n demo"},
		"a view that went back": {b: about(words.PermitPending, words.New(words.ViewTooOld)), want: words.Text(words.New(words.ForgetViews).Do(words.Kubectl("demo", "delete", "pod", "demo-rack4-0")))},
		"a permit for another":  {b: about(words.PermitForOther, words.New(words.PermitForOtherPod)), want: "wait up to 12h0m for the permit; to show the queue: kubectl scylla status -n demo"},
		"a hold":                {b: about(words.ViewHeld, words.New(words.ViewHolds)), want: "wait up to 12h0m for the permit; to show the queue: kubectl scylla status -n demo"},

		"an old image, and the StatefulSet has another template": {b: tooOld, change: rollout("old"), want: deletesOldPod},
		"an old image, and the StatefulSet has the same":         {b: tooOld, change: rollout("new"), want: newerImage},
		"an old image, and its launcher waits":                   {b: tooOld, change: launched(`{"launcher":true}`), want: deletesOldPod},
		"an old image, and its ScyllaDB runs":                    {b: tooOld, change: launched(`{}`), want: newerImage},
		"queued for its old image, as before":                    {b: queued(words.VersionTooOld), change: rollout("old"), want: deletesOldPod},
		"queued for another reason, in an old Pod": {b: queued(words.NodeDown), change: rollout("old"),
			want: "wait up to 12h0m for the permit; to show the queue: kubectl scylla status -n demo"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := cluster.Objects{Key: cluster.Key{Namespace: "demo", Name: "demo"}}
			if tc.change != nil {
				tc.change(&o)
			}
			c := cluster.New(o, cluster.SourceReport, now)
			if tc.old {
				c = c.Aged(now.Add(24 * time.Hour))
			}
			step := newAsker(c, Asks{Self: self, Claim: "data-demo-rack4-0"}).step(&tc.b)
			if diff := cmp.Diff(tc.want, words.Text(step)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !tc.old && !step.IsZero() && !slices.Contains(StepsFor(tc.b.Reason), step.Code) {
				t.Errorf("StepsFor(%s) does not have %s", tc.b.Reason, step.Code)
			}
		})
	}
}

// TestEveryReasonHasAStep, and every step of the table a sentence and as many commands as its sentence has.
func TestEveryReasonHasAStep(t *testing.T) {
	t.Parallel()
	for _, r := range append(matrix.Reasons(), words.MemberServiceMissing, words.APIUnreachable, words.ReadingIncomplete) {
		if len(StepsFor(r)) == 0 {
			t.Errorf("reason %s has no step", r)
		}
	}
	command, optional := regexp.MustCompile(`\{[1-9*]\}`), regexp.MustCompile(`\[[^]]*\]`)
	byReplacement := []words.Code{words.ResumeReplacement, words.ReplacementWaits, words.RemoveGhost, words.GhostCannotGo}
	check := func(step words.Code) {
		sentence, ok := words.Sentence(step)
		made := len(evidence.Facts{}.Commands(step))
		if named := len(command.FindAllString(optional.ReplaceAllString(sentence, ""), -1)); !ok || made < named && !slices.Contains(byReplacement, step) {
			t.Errorf("step %s has %d commands, and its sentence %q names %d", step, made, sentence, named)
		}
	}
	for c := range rules {
		for _, step := range StepsFor(c) {
			check(step)
		}
	}
	for _, steps := range ofFindings {
		for _, step := range steps {
			check(step)
		}
	}
}

// TestNoHarmNoStepOnHearsay: what a Pod writes of itself leads to no step that deletes, removes or replaces, whatever it writes.
func TestNoHarmNoStepOnHearsay(t *testing.T) {
	t.Parallel()
	a := newAsker(Nothing("demo"), Asks{})
	for _, r := range append(matrix.Reasons(), words.MemberServiceMissing, words.APIUnreachable) {
		for _, cause := range append([]words.Code{words.BarrierFound, words.DataIsGone, words.HostIDBanned}, words.All()...) {
			step := a.step(&matrix.Blocker{Reason: r, Observed: memberA, Cause: words.New(cause), Hearsay: true})
			if step.IsZero() || step.Code == words.ReachReporter || step.Code == words.SeeOtherSeed || step.Code == words.NameOneCluster {
				continue
			}
			t.Errorf("%s with cause %s leads to %s", r, cause, words.Text(step))
		}
	}
}

// TestAdviseOfWhatNobodyRead: a barrier that has read nothing names the step that its own disk gives.
func TestAdviseOfWhatNobodyRead(t *testing.T) {
	t.Parallel()
	v := bootstrap.Decide(bootstrap.Input{Member: &cluster.Member{Ref: memberA, Namespace: "demo"}, Disk: bootstrap.BootstrappedDecommissioned})
	Advise(Nothing("demo"), &v, Asks{Self: v.Self, Claim: "data-demo-rack1-0"})
	want := []words.Command{
		{"kubectl", "patch", "pvc", "data-demo-rack1-0", "-n", "demo", `--patch={"metadata":{"uid":"UID"}}`},
		{"kubectl", "delete", "pvc", "data-demo-rack1-0", "-n", "demo", "--wait=false"}, {"kubectl", "delete", "pod", "demo-rack1-0", "-n", "demo"},
	}
	if diff := cmp.Diff(want, v.Blockers[0].Step.Commands); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNoStepForcesPastADownNode: a force past an unknown volume was printed where it lost the join because of a DOWN node, or was typed once a node was DOWN.
func TestNoStepForcesPastADownNode(t *testing.T) {
	t.Parallel()
	volume := matrix.Blocker{Reason: words.VolumeUnreadable, Observed: memberA, Cause: words.New(words.VolumeOfUnknownHostID)}
	down := matrix.Blocker{Reason: words.NodeDown, Observed: memberB, Observer: memberC}
	for name, tc := range map[string]struct {
		blockers []matrix.Blocker
		step     words.Code // of the last blocker
		loses    bool
	}{
		"an unknown volume": {[]matrix.Blocker{volume}, words.TellVolume, false},
		"and a DOWN node":   {[]matrix.Blocker{down, volume}, "", true},
		"a DOWN node":       {[]matrix.Blocker{volume, down}, words.StartMember, true},
	} {
		v := bootstrap.Verdict{Self: memberA, Blockers: tc.blockers}
		Advise(Nothing("demo"), &v, Asks{Self: v.Self, Claim: "data-demo-rack1-0", VolumeUID: "a-uid"})
		if got := v.Blockers[len(v.Blockers)-1].Step.Code; got != tc.step {
			t.Errorf("%s: step %q, want %q", name, got, tc.step)
		}
		if b := ForceLoses(v); (b != nil) != tc.loses {
			t.Errorf("%s: loses the join because of %v, want %t", name, b, tc.loses)
		}
	}
}

// TestNotesHaveTheirCommands.
func TestNotesHaveTheirCommands(t *testing.T) {
	t.Parallel()
	o := cluster.Objects{Key: cluster.Key{Namespace: "demo", Name: "demo"}, Services: []corev1.Service{{ObjectMeta: metav1.ObjectMeta{Name: "demo-rack1-0", Namespace: "demo"}}}}
	v := bootstrap.Verdict{Self: memberA, Notes: []words.Message{
		words.New(words.BannedBefore, "evidence", "a text"), words.New(words.MayWaitForItself, "member", "demo-rack1-0", "hostID", idA),
		words.New(words.RecordedHostIDRemoved, "member", "demo-rack2-0", "hostID", idB), words.New(words.RackIsNew),
	}}
	Advise(cluster.New(o, cluster.SourceReport, now), &v, Asks{Self: v.Self, Claim: "data-demo-rack1-0", VolumeUID: "a-uid"})
	var got []string
	for _, n := range v.Notes {
		for _, c := range n.Commands {
			got = append(got, words.Shell(c))
		}
	}
	want := []string{
		`kubectl patch pvc data-demo-rack1-0 -n demo '--patch={"metadata":{"uid":"a-uid"}}'`,
		"kubectl delete pvc data-demo-rack1-0 -n demo --wait=false", "kubectl delete pod demo-rack1-0 -n demo",
		"kubectl get pvc data-demo-rack1-0 -o yaml -n demo", "kubectl scylla force-proceed demo-rack1-0 -n demo --volume-uid=a-uid",
		"kubectl annotate service demo-rack2-0 internal.scylla-operator.scylladb.com/host-id- internal.scylla-operator.scylladb.com/node-joined-scylladb-cluster- -n demo",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !evidence.Irreversible(v.Notes[0]) {
		t.Error("a note that deletes a claim is not known as such")
	}
}

// TestABarrierGivesTheStepOfTheCluster: one trouble has one step, also where the barrier has another cause for it; two StatefulSets are two troubles.
func TestABarrierGivesTheStepOfTheCluster(t *testing.T) {
	t.Parallel()
	c := cluster.New(cluster.Objects{Read: cluster.KindPods}, cluster.SourceReport, now)
	notReady := func(set string) matrix.Blocker {
		return matrix.Blocker{Reason: words.PodsNotReady, Cause: words.New(words.FewerPodsReady, "statefulSet", set), Step: words.New(words.WaitForRollout, "statefulSet", set)}
	}
	ofCluster := []matrix.Blocker{
		{Reason: words.ReportMissing, Cause: words.New(words.ReportLost), Step: words.New(words.AskNodes)},
		notReady("demo-rack1"), notReady("demo-rack2"),
	}
	for name, tc := range map[string]struct {
		blocker matrix.Blocker
		want    words.Message
	}{
		"the same cause":      {ofCluster[0], ofCluster[0].Step},
		"another cause":       {matrix.Blocker{Reason: words.ReportMissing, Cause: words.New(words.ClusterNotNew)}, ofCluster[0].Step},
		"about a node":        {matrix.Blocker{Reason: words.ReportMissing, Observed: memberA}, words.Message{}},
		"another reason":      {matrix.Blocker{Reason: words.ControllerSilent}, words.Message{}},
		"a StatefulSet":       {notReady("demo-rack1"), ofCluster[1].Step},
		"another StatefulSet": {notReady("demo-rack2"), ofCluster[2].Step},
		"a third one":         {notReady("demo-rack3"), words.Message{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := stepsOf(c, ofCluster, nil)
			k, ok := said.key(&tc.blocker)
			step := said.steps[k]
			if diff := cmp.Diff(tc.want, step); diff != "" || ok != !tc.want.IsZero() {
				t.Errorf("found %t (-want +got):\n%s", ok, diff)
			}
		})
	}
}

const (
	idA = "8ebd0fc0-1111-4111-8111-111111111111"
	idB = "35d0f1aa-2222-4222-8222-222222222222"
	idC = "1ffac2bb-3333-4333-8333-333333333333"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

func member(name string, ordinal int32, hostID hostid.ID) matrix.Ref {
	rack := strings.Split(name, "-")[1]
	return matrix.Ref{HostID: hostID, Member: name, Datacenter: "dc1", Rack: rack, Ordinal: &ordinal}
}

var memberA, memberB, memberC = member("demo-rack1-0", 0, idA), member("demo-rack2-0", 0, idB), member("demo-rack3-0", 0, idC)

func row(reporter matrix.Ref, cells ...matrix.Observation) matrix.Row {
	return matrix.Row{Reporter: reporter, Observed: cells, Reported: true}
}

func three() []matrix.Row {
	var rows []matrix.Row
	for _, reporter := range []matrix.Ref{memberA, memberB, memberC} {
		r := row(reporter)
		for _, id := range []hostid.ID{idA, idB, idC} {
			r.Observed = append(r.Observed, matrix.Observation{HostID: id, Status: matrix.Up})
		}
		rows = append(rows, r)
	}
	return rows
}

func newcomer() *matrix.Ref { return new(member("demo-rack1-1", 1, "")) }

// asking are the blockers of a matrix, and the table asked about them.
func asking(rows []matrix.Row, opts matrix.Options) ([]matrix.Blocker, *asker) {
	m := matrix.New(rows, opts)
	ask := &asker{c: Nothing(opts.Namespace), m: m, volumeLost: true}
	if opts.Self != nil {
		ask.Self = *opts.Self
	}
	return m.Blockers(), ask
}

// TestNextSteps: the node memberC (demo-rack3-0) is in trouble, and every blocker about it has the step that helps.
func TestNextSteps(t *testing.T) {
	const gone = "99990000-4444-4444-8444-444444444444"
	down := func(state matrix.State) func([]matrix.Row) []matrix.Row {
		return func(rows []matrix.Row) []matrix.Row {
			n := 2
			if state != matrix.StateNormal {
				n = 3 // only what all agree on counts
			}
			for i := range rows[:n] {
				rows[i].Observed[2] = matrix.Observation{HostID: idC, Status: matrix.Down, State: state, Since: ago(10 * time.Minute)}
			}
			return rows
		}
	}
	// c changes the row of memberC itself.
	c := func(change func(*matrix.Row)) func([]matrix.Row) []matrix.Row {
		return func(rows []matrix.Row) []matrix.Row { change(&rows[2]); return rows }
	}
	failed := func(fault matrix.Fault) func([]matrix.Row) []matrix.Row {
		codes := map[matrix.Fault]matrix.Trouble{
			matrix.FaultReporter: {Code: words.RowMalformed}, matrix.FaultScyllaDB: {Code: words.ScyllaDBNoAnswer}, matrix.FaultPod: {Code: words.PodUnreachable}, matrix.FaultReport: {Code: words.ReportDamaged},
		}
		return c(func(r *matrix.Row) { r.Observed, r.Trouble = nil, codes[fault] })
	}
	stale := c(func(r *matrix.Row) { r.Stale = matrix.Trouble{Code: words.PodGone} })
	silent := c(func(r *matrix.Row) { r.Observed, r.Reported = nil, false })
	both := func(changes ...func([]matrix.Row) []matrix.Row) func([]matrix.Row) []matrix.Row {
		return func(rows []matrix.Row) []matrix.Row {
			for _, change := range changes {
				rows = change(rows)
			}
			return rows
		}
	}
	ghost := func(rows []matrix.Row) []matrix.Row {
		for i := range rows {
			rows[i].Observed = append(rows[i].Observed, matrix.Observation{HostID: gone, Status: matrix.Down})
		}
		return rows
	}
	parted := func(rows []matrix.Row) []matrix.Row { // C sees no other node, and no other node sees it
		rows[2].Observed[0].Status, rows[2].Observed[1].Status = matrix.Down, matrix.Down
		return down(matrix.StateNormal)(rows)
	}
	itself := func(f matrix.NodeFacts) matrix.Options {
		return matrix.Options{Self: &memberC, Namespace: "demo", Fates: map[hostid.ID]matrix.NodeFacts{idC: f}}
	}
	const former = "replace the former node of this member, which the cluster still lists; this cannot be undone: kubectl scylla replace " + idC + " -n demo"
	// unmade is a row of ours that could not be made: it does not even have the mode of its node.
	unmade := c(func(r *matrix.Row) {
		r.Observed, r.NoStates, r.Trouble = nil, true, matrix.Trouble{Code: words.ScyllaDBNoAnswer, Words: "connection refused"}
	})
	stateless := func(rows []matrix.Row) []matrix.Row {
		for i := range rows {
			rows[i].NoStates = true
		}
		return rows
	}
	fate := func(f matrix.NodeFacts) matrix.Options {
		return matrix.Options{Namespace: "demo", Fates: map[hostid.ID]matrix.NodeFacts{idC: f}}
	}
	demo := matrix.Options{Namespace: "demo"}
	long := matrix.Options{Namespace: "demo", Settled: ago(5 * time.Minute)}
	somewhere := long
	somewhere.Namespace = ""
	d, e, s, m, g := words.NodeDown, words.RowError, words.RowStale, words.RowMissing, words.DatacenterNotVerified
	const (
		reach      = "check that its Pod is running and reachable: kubectl get pod demo-rack3-0 -n demo"
		logOf      = "kubectl logs demo-rack3-0 -c scylla -n demo"
		resume     = "the replacement failed: kubectl scylla replace resume demo-rack3-0 -n demo"
		underWay   = "wait up to 12h0m until its replacement has finished; check its progress: kubectl scylla replace status demo-rack3-0 -n demo"
		removenode = "remove this orphaned host ID, which belongs to no member; this cannot be undone: kubectl scylla nodetool demo-rack1-0 -n demo -- removenode " + gone
	)
	tests := map[string]struct {
		change func([]matrix.Row) []matrix.Row
		opts   matrix.Options
		// want is the one step of all blockers, which are of these reasons.
		reasons []words.Code
		want    string
		known   hostid.ID // the node whose step package replace knows
	}{
		"DOWN, and it lives": {down(matrix.StateNormal), demo, []words.Code{d, d}, "fix the network between it and the nodes that see it DOWN; do not replace it: it sends status reports, so it is running", ""},
		"DOWN, and nobody says in which namespace": {
			both(down(matrix.StateNormal), silent), somewhere, []words.Code{d, d, m}, "check that its Pod is running and reachable: kubectl get pod demo-rack3-0", "",
		},
		"DOWN, and it lives in another namespace": {
			both(both(down(matrix.StateNormal), silent), c(func(r *matrix.Row) { r.Namespace = "other" })), long, []words.Code{d, d, m},
			"check that its Pod is running and reachable: kubectl get pod demo-rack3-0 -n other", "",
		},
		"DOWN, and its ScyllaDB does not answer": {both(down(matrix.StateNormal), failed(matrix.FaultScyllaDB)), long, []words.Code{d, d, e}, "check the ScyllaDB log: " + logOf, ""},
		"DOWN, and it has no Pod":                {both(down(matrix.StateNormal), failed(matrix.FaultPod)), long, []words.Code{d, d, e}, reach, ""},
		"DOWN, and its row is old":               {both(down(matrix.StateNormal), stale), long, []words.Code{d, d, s}, reach, ""},
		"DOWN, and it has no row":                {both(down(matrix.StateNormal), silent), long, []words.Code{d, d, m}, reach, ""},
		"DOWN, and nobody says since when":       {both(down(matrix.StateNormal), failed(matrix.FaultScyllaDB)), demo, []words.Code{d, d, e}, "check the ScyllaDB log: " + logOf, ""},
		"DOWN while joining":                     {down(matrix.StateJoining), demo, []words.Code{d, d, d}, "wait up to 12h0m until it has joined; if it stopped, check its log: " + logOf, ""},
		"DOWN while replacing":                   {down(matrix.StateReplacing), demo, []words.Code{d, d, d}, "wait up to 12h0m until it has joined; if it stopped, check its log: " + logOf, ""},
		"DOWN while leaving": {
			down(matrix.StateLeaving), demo, []words.Code{d, d, d},
			"start it again so that it can finish leaving; check its log for why it stopped: " + logOf, "",
		},
		"being replaced, and no more is known": {down(matrix.StateBeingReplaced), demo, []words.Code{d, d, d}, "wait up to 12h0m until its replacement has joined", ""},
		"out of sight": {
			parted, demo, []words.Code{d, d, d, d}, "fix the network first (routes, firewalls, NetworkPolicies; ports 7000 and 7001); do not replace any node", "",
		},

		"a replacement is open": {both(down(matrix.StateNormal), failed(matrix.FaultScyllaDB)), fate(matrix.NodeFacts{Member: "demo-rack3-0", Open: true}), []words.Code{d, d, e}, underWay, ""},
		"a replacement is open and the row old": {both(down(matrix.StateBeingReplaced), stale), matrix.Options{
			Self: newcomer(), Namespace: "demo", Fates: map[hostid.ID]matrix.NodeFacts{idC: {Member: "demo-rack3-0", Open: true}},
		}, []words.Code{d, d, s}, underWay, ""},
		"a replacement is asked for": {
			both(down(matrix.StateNormal), silent), fate(matrix.NodeFacts{Member: "demo-rack3-0"}), []words.Code{d, d, m},
			"wait up to 2m0s: its replacement is requested; check its progress: kubectl scylla replace status demo-rack3-0 -n demo", "",
		},
		"a replacement failed": {
			both(down(matrix.StateNormal), failed(matrix.FaultScyllaDB)), fate(matrix.NodeFacts{Member: "demo-rack3-0", Open: true}), []words.Code{d, d, e}, resume, idC,
		},
		"the failed replacement of the very member that wants to start": {
			down(matrix.StateNormal), matrix.Options{Self: &memberC, Fates: map[hostid.ID]matrix.NodeFacts{idC: {Member: "demo-rack3-0"}}}, []words.Code{d, d, m}, resume, idC,
		},
		"the former node of the very member that wants to start": {
			down(matrix.StateNormal), matrix.Options{Self: &memberC, Namespace: "demo"}, []words.Code{d, d, m},
			"replace the former node of this member, which the cluster still lists; this cannot be undone: kubectl scylla replace " + idC + " -n demo", "",
		},
		"a member whose Service does not say yet that it has joined, and that wants to start": {
			down(matrix.StateNormal), itself(matrix.NodeFacts{Joining: true}), []words.Code{d, d, m}, former, "",
		},
		"the same, while a row could not be made": {
			both(down(matrix.StateNormal), unmade), itself(matrix.NodeFacts{Joining: true}), []words.Code{d, d, m}, former, "",
		},
		"a newcomer whose join was cut short": {
			down(matrix.StateJoining), itself(matrix.NodeFacts{Joining: true}), []words.Code{d, d}, "wait up to 30m0s until no node lists it: its join was interrupted, and ScyllaDB rolls it back automatically; check its log: kubectl logs demo-rack3-0 -c scylla -n demo", "",
		},
		"a newcomer of rows without states": {
			both(down(matrix.StateNormal), stateless), itself(matrix.NodeFacts{Joining: true}), []words.Code{d, d, m}, "wait up to 30m0s until no node lists it: its join was interrupted, and ScyllaDB rolls it back automatically; check its log: kubectl logs demo-rack3-0 -c scylla -n demo", "",
		},
		"DOWN, past its join by one row, while rows from elsewhere have no states": {
			both(down(matrix.StateNormal), both(unmade, func(rows []matrix.Row) []matrix.Row { rows[1].NoStates = true; return rows })),
			itself(matrix.NodeFacts{Joining: true}), []words.Code{d, d, m}, former, "",
		},
		"a ghost": {ghost, demo, []words.Code{d, d, d, m}, removenode, gone},
		"a host ID that nobody here knows": {
			ghost, demo, []words.Code{d, d, d, m}, "if it runs in another datacenter, start it there; check whether it is an orphaned host ID that can be removed: kubectl scylla status -n demo", "",
		},

		"its ScyllaDB does not answer": {failed(matrix.FaultScyllaDB), demo, []words.Code{e}, "check the ScyllaDB log: " + logOf, ""},
		"its Pod cannot be reached":    {failed(matrix.FaultPod), demo, []words.Code{e}, "check that its Pod is running and reachable: kubectl get pod demo-rack3-0 -n demo", ""},
		"its row cannot be read": {
			failed(matrix.FaultReporter), demo, []words.Code{e},
			"wait up to 5m0s for its next status report; if the problem persists, check the reporter log: kubectl logs demo-rack3-0 -c scylla-reporter -n demo", "",
		},
		"the report does not fit together": {failed(matrix.FaultReport), demo, []words.Code{e}, "check that the controller is running: it rewrites the report", ""},
		"its row is old":                   {stale, demo, []words.Code{s}, "check that it and its reporter are running: kubectl get pod demo-rack3-0 -n demo", ""},
		"its row is old and comes from elsewhere": {
			both(stale, c(func(r *matrix.Row) { r.Reporter.Member = "" })), demo, []words.Code{s}, "check that the report of its datacenter dc1 is updated and readable", "",
		},
		"it has no row": {silent, demo, []words.Code{m}, "check that demo-rack3-0 is running and that its reporter updates the Pod's annotation", ""},
		"a datacenter that nobody can ask": {
			nil, matrix.Options{Self: newcomer(), Namespace: "demo", NotVerified: []string{"dc2"}}, []words.Code{g},
			"check there manually that every node sees every node UP, then let the new node skip the barrier; its start cannot be undone: kubectl scylla force-proceed demo-rack1-1 -n demo --unless-down", "",
		},
		"a datacenter that nobody can ask, for nobody in particular": {
			nil, matrix.Options{NotVerified: []string{"dc2"}}, []words.Code{g},
			"check there manually that every node sees every node UP, then let the new node skip the barrier; its start cannot be undone: kubectl scylla force-proceed MEMBER --unless-down", "",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			rows := three()
			if tc.change != nil {
				rows = tc.change(rows)
			}
			var reasons []words.Code
			blockers, ask := asking(rows, tc.opts)
			if tc.known != "" {
				ask.Known.Steps = map[hostid.ID]words.Message{tc.known: words.New(words.Code(tc.want))}
			}
			for i := range blockers {
				reasons = append(reasons, blockers[i].Reason)
				if got := words.Text(ask.step(&blockers[i])); got != tc.want {
					t.Errorf("%s:\n got %s\nwant %s", blockers[i].Reason, got, tc.want)
				}
			}
			if diff := cmp.Diff(tc.reasons, reasons); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
		})
	}
	rows := []matrix.Row{row(memberA, matrix.Observation{HostID: idA, Status: matrix.Up}, matrix.Observation{HostID: idC, Status: matrix.Down, State: matrix.StateJoining})}
	blockers, ask := asking(rows, demo)
	if got := words.Text(ask.step(&blockers[0])); !strings.HasSuffix(got, "kubectl logs POD -c scylla") {
		t.Errorf("the step for a node whose Pod nobody knows: %q", got)
	}
}

// bounded are the steps whose sentence has its end: a time, or a fact that the same check judges.
var bounded = map[words.Code]string{
	"ReplaceWaitUntil": "the time is in it",
	"PodEnds":          "PodOverdue follows it",
}

// TestNoWaitWithoutAnEnd: a step that said "wait" said so for ever, and named nothing that one could look at.
func TestNoWaitWithoutAnEnd(t *testing.T) {
	t.Parallel()
	facts := evidence.Facts{"namespace": "demo", "cluster": "demo", "member": "demo-rack1-0", "pod": "demo-rack1-0", "reporterLog": "logs demo-rack1-0 -c scylla-reporter", "node": "demo-rack1-0", "statefulSet": "demo-rack1", "report": "demo",
		"log": "logs demo-rack1-0 -c scylla", "container": "scylla"}
	found := 0
	for _, code := range words.All() {
		sentence, _ := words.Sentence(code)
		if !strings.HasPrefix(sentence, "wait ") && !strings.HasPrefix(sentence, "wait:") && !strings.HasPrefix(sentence, "wait[") || bounded[code] != "" {
			continue
		}
		found++
		early := words.Text(replace.Waited(words.New(code), time.Second, facts))
		if !strings.Contains(early, "wait up to ") && !strings.Contains(early, "within ") {
			t.Errorf("%s names no limit: %s", code, early)
		}
		late := replace.Waited(words.New(code), 1000*time.Hour, facts)
		if late.Code == code {
			t.Errorf("%s has no end: %s", code, sentence)
			continue
		}
		text := words.Text(late)
		if strings.HasPrefix(text, "wait ") || strings.HasPrefix(text, "wait:") || len(late.Commands) == 0 {
			t.Errorf("%s after 1000 h: %s", code, text)
		}
		if !strings.Contains(text, "demo") || strings.Contains(text, "POD") || strings.Contains(text, "MEMBER") {
			t.Errorf("%s after 1000 h names no object: %s", code, text)
		}
		if again := replace.Waited(late, 1000*time.Hour, facts); again.Code != late.Code {
			t.Errorf("%s waits again: %s", code, text)
		}
	}
	if found < 15 {
		t.Errorf("only %d steps begin with wait: this test does not find them", found)
	}
}
