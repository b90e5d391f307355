// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"regexp"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
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
				"Only if it was empty at the first start of demo-rack4-0, which was interrupted, let it start, which cannot be undone: kubectl scylla force-proceed demo-rack4-0 -n demo --volume-uid=UID"},
		"a volume that is not mounted": {b: about(words.VolumeUnreadable, words.New(words.VolumeNotLooked)), want: "mount the ScyllaDB volume read-only in the barrier's container, so that the container's user can read it"},
		"a force of another value":     {b: about(words.ForceValueInvalid, words.Message{}), want: `set it to "true", after which its start cannot be undone, or remove it with --undo: kubectl scylla force-proceed demo-rack4-0 -n demo`},
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
		"a datacenter elsewhere":           {b: matrix.Blocker{Reason: words.DatacenterNotVerified}, want: "check manually that every node of the other datacenter sees every node UP, then let the new node skip the barrier; its start cannot be undone: kubectl scylla force-proceed demo-rack4-0 -n demo"},
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
