// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/launch"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/examples"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/scenario"
)

// A frozen ScyllaDB takes no signal: the kubelet kills it after the grace period.
func shortGrace(s *appsv1.StatefulSet) {
	seconds := int64(3)
	s.Spec.Template.Spec.TerminationGracePeriodSeconds = &seconds
}

// nodetool runs ScyllaDB's own tool in a member's container.
func (f *fixture) nodetool(member string, args ...string) {
	f.t.Helper()
	args = append([]string{"-n", f.namespace, "exec", member, "-c", api.ContainerScyllaDB, "--", "/usr/bin/nodetool"}, args...)
	if out, err := f.Cluster.Kubectl(f.ctx, args...); err != nil {
		f.t.Fatal(out, err)
	}
}

// kill freezes a member's ScyllaDB and waits until its Pod is not Ready: a replacement does not touch a Pod that is Ready.
// It closes the CQL port first, because the kernel accepts connections for a frozen process, and the readiness probe with them.
func (f *fixture) kill(member, observer string) {
	f.t.Helper()
	f.nodetool(member, "disablebinary")
	f.freeze(member, observer)
	f.untilNotReady(member)
}

// revive undoes kill.
func (f *fixture) revive(member string) {
	f.t.Helper()
	f.thaw(member)
	f.nodetool(member, "enablebinary")
}

func (f *fixture) untilNotReady(member string) {
	f.t.Helper()
	f.waitFor(member+" to be not ready", func(ctx context.Context) (bool, string, error) {
		p := &corev1.Pod{}
		err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: member}, p)
		return err == nil && !scenario.Ready(p), scenario.Describe(p), err
	})
}

func (f *fixture) hostID(member string) string {
	f.t.Helper()
	return f.service(member).Annotations[api.AnnotationHostID]
}

func (f *fixture) claim(member string) types.UID {
	f.t.Helper()
	c := &corev1.PersistentVolumeClaim{}
	f.must(f.Client.Get(f.ctx, client.ObjectKey{Namespace: f.namespace, Name: "data-" + member}, c))
	return c.UID
}

func (f *fixture) healthy() {
	f.t.Helper()
	if r := f.plugin("status", "--wait", "--timeout=5m"); r.Code != 0 {
		f.t.Fatalf("status: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
}

// replaced checks what must be true after a replacement: another host ID, another volume, no label left, everyone sees everyone.
func (f *fixture) replaced(member, oldID string, oldClaim types.UID) {
	f.t.Helper()
	s := f.service(member)
	if id := s.Annotations[api.AnnotationHostID]; id == oldID || id == "" {
		f.t.Errorf("host ID of %s is %q after the replacement of %s", member, id, oldID)
	}
	for _, l := range []string{api.LabelReplace, api.LabelReplacingNodeHostID} {
		if v, ok := s.Labels[l]; ok {
			f.t.Errorf("label %s=%q is left", l, v)
		}
	}
	if f.claim(member) == oldClaim {
		f.t.Errorf("%s still has its old volume", member)
	}
	f.healthy()
	for _, p := range []string{rack1 + "-0", member} {
		// The errors of earlier attempts may name it for ever.
		if row := f.pod(p).Annotations[api.AnnotationNodeStatusReport]; strings.Contains(row, `"hostID":"`+oldID) {
			f.t.Errorf("%s still lists %s: %s", p, oldID, row)
		}
	}
}

// twoDead makes it a cluster of five and kills two of them, until rack1's first node sees both DOWN.
func (f *fixture) twoDead() (victim, other string) {
	f.t.Helper()
	f.must(f.Scale(f.ctx, f.namespace, rack1, 2))
	f.must(f.Scale(f.ctx, f.namespace, rack2, 2))
	f.ready(5)
	f.healthy()
	victim, other = rack3+"-0", rack2+"-1"
	for _, m := range []string{victim, other} {
		f.kill(m, rack1+"-0")
		f.untilRow(rack1+"-0", fmt.Sprintf(`"hostID":"%s","status":"DOWN"`, f.hostID(m)))
	}
	return victim, other
}

// atOnce skips the checks that tell a death from a restart by the time that it takes: a test does not wait for five minutes.
const atOnce = "--skip-check=down-for,just-started"

// label asks for a replacement as a person without the plugin does, at once.
func (f *fixture) label(member, value string) {
	f.t.Helper()
	for _, args := range [][]string{
		{"annotate", "--overwrite", "service", member, api.AnnotationReplaceSkipChecks + "=down-for,just-started"},
		{"label", "service", member, api.LabelReplace + value},
	} {
		if out, err := f.Cluster.Kubectl(f.ctx, append([]string{"-n", f.namespace}, args...)...); err != nil {
			f.t.Fatal(out, err)
		}
	}
}

// This test alone has the readiness probe of docs/examples/scylladb.yaml, which finds out that ScyllaDB hangs: nodetool gets no
// answer. The others have one that costs no process.
func TestReplaceADeadNode(t *testing.T) {
	covers(t, "controller/replacement", "internal/agent/launch", "internal/replace", "plugin/replace")
	t.Parallel()
	pods(t, 3)
	f := deploy(t, scenario.Cluster{Mutate: func(s *appsv1.StatefulSet) {
		shortGrace(s)
		shipped := &corev1.Probe{}
		if err := yaml.UnmarshalStrict([]byte(examples.ShippedProbe), shipped); err != nil {
			t.Fatal(err)
		}
		s.Spec.Template.Spec.Containers[0].ReadinessProbe = shipped
	}})
	f.healthy()
	victim := rack3 + "-0"
	old, claim := f.hostID(victim), f.claim(victim)

	// Alive: refused, and nothing is touched.
	r := f.replace(victim, "--yes", atOnce)
	if r.Code != 2 {
		t.Errorf("replace of a live node: exit %d, want 2\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	contains(t, "the refusal", r.Stdout+r.Stderr, victim, "UP")
	if f.claim(victim) != claim {
		t.Fatal("the refused replacement has deleted the volume")
	}
	if _, ok := f.service(victim).Labels[api.LabelReplace]; ok {
		t.Error("the refused replacement has labelled the Service")
	}

	f.freeze(victim, rack1+"-0")
	f.untilNotReady(victim)
	f.untilRow(rack2+"-0", `"DOWN"`)
	f.longDown(victim)
	if r := f.plugin("replace", old[:8], atOnce); r.Code != 2 {
		t.Errorf("replace without a terminal and without --yes: exit %d, want 2\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	if r := f.plugin("replace", old[:8], "--dry-run=client", atOnce); r.Code != 0 {
		t.Errorf("replace --dry-run=client: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	} else if f.claim(victim) != claim {
		t.Fatal("a dry run has deleted the volume")
	}
	r = f.plugin("replace", old[:8], "--yes", "--timeout=10m", atOnce)
	if r.Code != 0 {
		t.Fatalf("replace: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	f.replaced(victim, old, claim)
}

// The label is enough, as the proposal has it; a replacement that is asked for while another node is down waits, and can be withdrawn.
func TestReplaceByLabelAndCancel(t *testing.T) {
	covers(t, "controller/replacement", "internal/replace", "plugin/replace")
	t.Parallel()
	pods(t, 5)
	f := deploy(t, scenario.Cluster{Mutate: shortGrace})
	victim, other := f.twoDead()
	old, claim := f.hostID(victim), f.claim(victim)

	label := func(value string) {
		t.Helper()
		f.label(victim, value)
	}
	label("=")
	f.refusedFor(victim, other)
	if f.claim(victim) != claim {
		t.Fatal("the volume was deleted while another node is down")
	}
	if r := f.plugin("replace", "cancel", victim); r.Code != 0 {
		t.Fatalf("replace cancel: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	if _, ok := f.service(victim).Labels[api.LabelReplace]; ok {
		t.Error("after replace cancel the label is still there")
	}

	// Asked for in spite of that, this version cancels it after it has placed the request, which has banned the target. Nothing shows that the
	// other dead node's data is lost, so the cure is to bring it back. A person who knows better names it, and another attempt goes ahead; the
	// other one is replaced next.
	otherID, otherClaim := f.hostID(other), f.claim(other)
	f.replaceInSpite(victim, "request canceled because some required nodes are dead", "Bring "+other)
	f.untilRow(rack1+"-0", "Canceled. Dead nodes: {")
	f.resume(victim, "--ignore-dead="+otherID)
	if id := f.hostID(victim); id == old {
		t.Errorf("%s still has host ID %s", victim, id)
	}
	label = func(value string) {
		t.Helper()
		f.label(other, value)
	}
	label("=")
	f.waitFor(other+" to be replaced by its label alone", func(ctx context.Context) (bool, string, error) {
		s := &corev1.Service{}
		err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: other}, s)
		_, open := s.Labels[api.LabelReplace]
		return err == nil && !open && s.Annotations[api.AnnotationHostID] != otherID, fmt.Sprint(s.Labels, s.Annotations), err
	})
	f.replaced(other, otherID, otherClaim)
}

// refusedFor waits until the controller has refused to replace a member, and checks that status names the other node as the cause.
func (f *fixture) refusedFor(member, other string) {
	f.t.Helper()
	f.untilEvent(member, replace.EventRefused)
	r := f.plugin("replace", "status")
	contains(f.t, "replace status", r.Stdout, other)
}

// replaceInSpite asks for a replacement that ScyllaDB will refuse, skipping the checks that say so, and waits until the refusal is recognised.
func (f *fixture) replaceInSpite(member, says, cure string) {
	f.t.Helper()
	f.longDown(member)
	var r scenario.Result
	var g errgroup.Group
	g.Go(func() (err error) {
		r, err = f.Plugin(f.ctx, "replace", member, "--yes", "--skip-check=rows-fresh,others-up,data", atOnce, "--timeout=10m", "-n", f.namespace)
		return err
	})
	// The barrier of the new Pod would wait for the other node, and never ask ScyllaDB. A force that comes earlier is taken for the start of the old Pod.
	f.untilBarrierRuns(member)
	out, err := f.Cluster.Kubectl(f.ctx, "-n", f.namespace, "annotate", "service", member, api.AnnotationForceProceed+"="+api.ForceProceedValue)
	if err != nil {
		f.t.Fatal(out, err)
	}
	f.must(g.Wait())
	if r.Code != 1 {
		f.t.Fatalf("replace while another node is down: exit %d, want 1\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	// Whether it found the task manager's words first or the log's depends on the moment.
	contains(f.t, "replace", r.Stdout, "Failed", cure)
	contains(f.t, "the error of replace", r.Stderr, "the replacement failed: ", cure)
	f.failed(member, says, cure)
}

// failed holds the verbs against each other: each says that the attempt has failed, in ScyllaDB's words, and what to do.
func (f *fixture) failed(member, says, cure string) {
	f.t.Helper()
	for _, verb := range [][]string{{"replace", "status", member}, {"status", "-o", "json"}, {"barrier", member, "-o", "json"}} {
		r := f.plugin(verb...)
		if verb[0] == "replace" && r.Code != 3 {
			f.t.Errorf("%v: exit %d, want 3", verb, r.Code)
		}
		contains(f.t, strings.Join(verb, " "), r.Stdout, says, cure)
	}
}

// resume makes another attempt as soon as ScyllaDB has given the failed one up, and follows it to the end.
func (f *fixture) resume(member string, args ...string) {
	f.t.Helper()
	f.untilGivenUp()
	if r := f.plugin(slices.Concat([]string{"replace", "resume", member, "--yes", "--wait=false", atOnce}, args)...); r.Code != 0 {
		f.t.Fatalf("replace resume: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	f.finished(member)
}

// untilGivenUp waits until ScyllaDB has given a failed attempt up: before, another one is refused.
func (f *fixture) untilGivenUp() {
	f.t.Helper()
	f.waitFor("ScyllaDB to give the failed attempt up", func(ctx context.Context) (bool, string, error) {
		r, err := f.report(ctx, "demo")
		if err != nil || slices.ContainsFunc(r.Status.Operations, cluster.OperationOpen) {
			return false, fmt.Sprintf("%+v", r.Status.Operations), err
		}
		pods, err := f.Pods(ctx, f.namespace)
		for i := range pods {
			row, err := api.DecodeNodeStatusReport(pods[i].Annotations[api.AnnotationNodeStatusReport])
			if err == nil && slices.ContainsFunc(row.ObservedNodes, func(o api.ObservedNodeStatusReport) bool { return o.State == api.NodeStateReplacing }) {
				return false, pods[i].Name + " still has it joining", nil // the last row of a dead node, which is kept beside, may have it for ever
			}
		}
		return err == nil, "", err
	})
}

// finished waits until the replacement is over, and the status says so.
func (f *fixture) finished(member string) {
	f.t.Helper()
	f.waitFor("the replacement of "+member+" to be finished", func(ctx context.Context) (bool, string, error) {
		s := &corev1.Service{}
		err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: member}, s)
		_, open := s.Labels[api.LabelReplace]
		return err == nil && !open, fmt.Sprint(s.Labels, s.Annotations), err
	})
	r := f.plugin("replace", "status", member)
	contains(f.t, "the status of a finished replacement", r.Stdout, "Done ", " was replaced by "+f.hostID(member))
}

// Since 2026.3 ScyllaDB refuses the request instead of placing and cancelling it: no operation is left behind, the volume is not lost, and once the
// other node is back the same process goes on, without a second request.
func TestReplaceIsRefusedWhileAnotherNodeIsDown(t *testing.T) {
	covers(t, "controller/replacement", "internal/replace", "internal/scylla", "plugin/replace")
	t.Parallel()
	pods(t, 5)
	// As fast as the wall: a minute after a refused node was first seen ScyllaDB bans it, and the verbs below take their time.
	f := deploy(t, scenario.Cluster{Version: newVersion, Mutate: shortGrace, Env: map[string]string{"SCYLLASIM_SPEED": "1"}})
	victim, other := f.twoDead()
	old, claim := f.hostID(victim), f.claim(victim)
	f.replaceInSpite(victim, "Cannot replace node "+old+" because node "+f.hostID(other)+" is down and not ignored", "bring "+other)
	if row := f.pod(rack1 + "-0").Annotations[api.AnnotationNodeStatusReport]; strings.Contains(row, "Canceled.") {
		t.Errorf("the request was placed: %s", row)
	}
	fresh := f.claim(victim)
	f.revive(other)
	f.finished(victim)
	f.replaced(victim, old, claim)
	if f.claim(victim) != fresh {
		t.Error("the refused attempt has cost its volume")
	}
}

// A member whose Service names a node that cannot be replaced, whatever its writer, and whose barrier is forced, as it would wait for a node that is UP
// to be DOWN: ScyllaDB refuses, the verbs say why, and the commands that they show
// turn it into a plain new node.
func TestScyllaDBRefusesAWrongTarget(t *testing.T) {
	covers(t, "controller/replacement", "internal/agent/launch", "internal/replace", "plugin/replace")
	t.Parallel()
	pods(t, 5)
	// As fast as the wall, for the reason of TestReplaceIsRefusedWhileAnotherNodeIsDown.
	f := deploy(t, scenario.Cluster{Mutate: shortGrace, Env: map[string]string{"SCYLLASIM_SPEED": "1"}})
	f.healthy()
	const unknown = "5ca1ab1e-0000-4000-8000-0000000000ff"
	alive := f.hostID(rack2 + "-0")
	wrong := map[string]struct{ rack, target, says, cure string }{
		rack1 + "-1": {rack1, unknown, "Replaced node with Host ID " + unknown + " not found", "host ID " + unknown + " is not a member"},
		rack2 + "-1": {rack2, alive, "tried to replace alive node " + alive, rack2 + "-0 (" + alive[:8] + ") is running and cannot be replaced"},
	}
	for member, w := range wrong {
		svc := f.service(w.rack + "-0")
		f.must(f.Client.Create(f.ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: member, Labels: map[string]string{
				api.LabelManagedBy: api.ManagedByUs, api.LabelServiceType: api.ServiceTypeMember, api.LabelCluster: "demo", api.LabelDatacenter: "dc1",
				api.LabelRack: svc.Labels[api.LabelRack], api.LabelRackOrdinal: "1", api.LabelReplace: "", api.LabelReplacingNodeHostID: w.target,
			}, Annotations: map[string]string{api.AnnotationForceProceed: api.ForceProceedValue}},
			Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Ports: svc.Spec.Ports,
				Selector: map[string]string{appsv1.StatefulSetPodNameLabel: member}},
		}))
		f.must(f.Scale(f.ctx, f.namespace, w.rack, 2))
	}
	for member, w := range wrong {
		f.waitFor("ScyllaDB to refuse "+member, func(ctx context.Context) (bool, string, error) {
			log, err := f.ContainerLog(ctx, f.namespace, member, api.ContainerScyllaDB)
			return strings.Contains(log, w.says), tail(log, 3), err
		})
		f.failed(member, w.says, w.cure)
	}
	for member := range wrong {
		var doc struct {
			Items []struct{ Cure struct{ Text string } }
		}
		r := f.plugin("replace", "status", member, "-o", "json")
		f.must(json.Unmarshal([]byte(r.Stdout), &doc))
		_, commands, _ := strings.Cut(doc.Items[0].Cure.Text, "withdraw the replacement: ")
		commands, _, _ = strings.Cut(commands, ";")
		for command := range strings.SplitSeq(commands, " && ") {
			out, err := f.Cluster.Kubectl(f.ctx, strings.Fields(strings.TrimPrefix(command, "kubectl "))...)
			if err != nil {
				t.Fatalf("%s: %v\n%s", command, err, out)
			}
		}
	}
	f.ready(5)
	f.healthy()
	if f.hostID(rack2+"-0") != alive {
		t.Error("the node that is alive was replaced")
	}
}

// A member keeps its address where its Service has one, as under the Scylla Operator: two host IDs are behind one address until the old one has left. A
// disruption budget that refuses the eviction is named meanwhile, and nothing else is deleted.
func TestReplaceAtTheSameAddress(t *testing.T) {
	covers(t, "controller/notice", "controller/replacement", "internal/replace", "plugin/replace")
	t.Parallel()
	pods(t, 3)
	w := world(t)
	f := deploy(t, scenario.Cluster{Env: map[string]string{"SCYLLASIM_STREAM_SECONDS": "20"}, Mutate: func(s *appsv1.StatefulSet) {
		shortGrace(s)
		member := s.Name + "-0"
		labels := maps.Clone(s.Labels)
		labels[api.LabelServiceType], labels[api.LabelRackOrdinal] = api.ServiceTypeMember, "0"
		svc := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: member, Labels: labels},
			Spec: corev1.ServiceSpec{PublishNotReadyAddresses: true, Ports: []corev1.ServicePort{{Name: "inter-node", Port: 7000}},
				Selector: map[string]string{appsv1.StatefulSetPodNameLabel: member}},
		}
		if err := w.Client.Create(t.Context(), svc); err != nil {
			t.Fatal(err)
		}
		c := &s.Spec.Template.Spec.Containers[0]
		for i, arg := range c.Args {
			c.Args[i] = strings.Replace(arg, "broadcast-address=$(POD_IP)", "broadcast-address="+svc.Spec.ClusterIP, 1)
		}
	}})
	f.healthy()
	victim := rack3 + "-0"
	old, claim, address, pod := f.hostID(victim), f.claim(victim), f.service(victim).Spec.ClusterIP, f.pod(victim).UID
	f.budget(`{"maxUnavailable":0,"unhealthyPodEvictionPolicy":"IfHealthyBudget"}`)
	f.kill(victim, rack1+"-0")
	f.untilRow(rack2+"-0", `"DOWN"`)
	watched, stop := f.watchRows(old)
	f.longDown(victim)

	asked := make(chan scenario.Result, 1)
	go func() {
		r, err := f.Plugin(f.ctx, "replace", victim, "--yes", atOnce, "--timeout=10m", "-n", f.namespace)
		if err != nil {
			t.Error(err)
		}
		asked <- r
	}()
	f.waitFor("the eviction to be refused twice", func(ctx context.Context) (bool, string, error) {
		s := &corev1.Service{}
		err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: victim}, s)
		refused := s.Annotations[api.AnnotationReplaceRefused]
		return err == nil && strings.Contains(refused, `"times":2`), refused, err
	})
	if r := f.plugin("replace", "status", victim); r.Code != 3 {
		t.Errorf("status of a refused eviction: exit %d, want 3", r.Code)
	} else {
		contains(t, "status of a refused eviction", r.Stdout, "disruption budget demo", "refused 2 times since")
	}
	if p := f.pod(victim); p.UID != pod || p.DeletionTimestamp != nil || f.claim(victim) != claim {
		t.Error("something was deleted while the budget refuses")
	}
	f.budget(`{"maxUnavailable":1,"unhealthyPodEvictionPolicy":"AlwaysAllow"}`)
	r := <-asked
	if r.Code != 0 {
		t.Fatalf("replace: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	contains(t, "the progress of replace", r.Stderr, "Pod "+victim+" cannot be evicted", "disruption budget demo", "evicting the dead node's Pod: refused", "next try at ")
	f.replaced(victim, old, claim)
	log, err := f.ContainerLog(f.ctx, f.namespace, victim, api.ContainerScyllaDB)
	f.must(err)
	contains(t, "ScyllaDB's log", log, fmt.Sprintf("Host %s/%s is replacing %s/%s", f.hostID(victim), address, old, address))
	stop()
	if both := <-watched; both == 0 {
		t.Error("no row had both host IDs at once: the test has not seen what it is about")
	}
}

func (f *fixture) budget(spec string) {
	f.t.Helper()
	if out, err := f.Cluster.Kubectl(f.ctx, "-n", f.namespace, "patch", "poddisruptionbudget", "demo", "--type=merge", "-p", `{"spec":`+spec+`}`); err != nil {
		f.t.Fatal(out, err)
	}
}

// watchRows complains of every row that has a dead host ID UP, and counts those that have it beside a newcomer, until stop is called.
func (f *fixture) watchRows(dead string) (both <-chan int, stop func()) {
	f.t.Helper()
	events, err := f.Client.Watch(f.ctx, &corev1.PodList{}, client.InNamespace(f.namespace))
	f.must(err)
	counted := make(chan int, 1)
	go func() {
		n := 0
		for e := range events.ResultChan() {
			p, ok := e.Object.(*corev1.Pod)
			if !ok {
				continue
			}
			row, err := api.DecodeNodeStatusReport(p.Annotations[api.AnnotationNodeStatusReport])
			if err != nil || p.Name == rack3+"-0" {
				continue
			}
			has, joins := false, false
			for _, o := range row.ObservedNodes {
				has, joins = has || string(o.HostID) == dead, joins || o.State == api.NodeStateReplacing
				if string(o.HostID) == dead && o.Status == api.NodeStatusUp {
					f.t.Errorf("%s has the dead node UP: %s", p.Name, p.Annotations[api.AnnotationNodeStatusReport])
				}
			}
			if has && joins {
				n++
			}
		}
		counted <- n
	}()
	return counted, events.Stop
}

// A newcomer that dies while it joins is banned, its volume is lost, and the node it was to replace is banned too: replace resume goes on with the
// original host ID on a fresh volume.
func TestReplaceResumesAFailedAttempt(t *testing.T) {
	covers(t, "controller/replacement", "internal/replace", "plugin/replace")
	t.Parallel()
	pods(t, 3)
	f := deploy(t, scenario.Cluster{Mutate: shortGrace, Env: map[string]string{"SCYLLASIM_STREAM_SECONDS": "40"}})
	f.healthy()
	victim := rack3 + "-0"
	old, claim := f.hostID(victim), f.claim(victim)
	f.kill(victim, rack1+"-0")
	f.untilRow(rack2+"-0", `"DOWN"`)
	f.longDown(victim)
	if r := f.plugin("replace", old, "--yes", "--wait=false", atOnce); r.Code != 0 {
		t.Fatalf("replace: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	f.waitFor("the newcomer to stream", func(ctx context.Context) (bool, string, error) {
		p := &corev1.Pod{}
		if err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: rack1 + "-0"}, p); err != nil {
			return false, "", err
		}
		row := p.Annotations[api.AnnotationNodeStatusReport]
		return strings.Contains(row, `"REPLACING"`), row, nil
	})
	f.must(f.Cluster.SignalContainer(f.ctx, f.namespace, victim, api.ContainerScyllaDB, syscall.SIGKILL))
	f.untilGivenUp()
	f.waitFor("the log to show that the new volume is lost", func(context.Context) (bool, string, error) {
		text := f.plugin("replace", "status").Stdout // the exit of the container alone shows nothing
		return strings.Contains(text, "replace resume"), text, nil
	})
	if got := f.service(victim).Labels[api.LabelReplacingNodeHostID]; got != old {
		t.Errorf("the original host ID is %q, want %q", got, old)
	}
	failed := f.claim(victim)
	if r := f.plugin("replace", "resume", victim, "--yes", "--wait=false", atOnce); r.Code != 0 {
		t.Fatalf("replace resume: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	f.waitFor("the resumed replacement to be finished", func(ctx context.Context) (bool, string, error) {
		s := &corev1.Service{}
		err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: victim}, s)
		_, open := s.Labels[api.LabelReplace]
		return err == nil && !open, fmt.Sprint(s.Labels, s.Annotations), err
	})
	if f.claim(victim) == failed {
		t.Error("replace resume kept the volume of the failed attempt")
	}
	f.replaced(victim, old, claim)
}

func (f *fixture) pvc(member string) *corev1.PersistentVolumeClaim {
	f.t.Helper()
	c := &corev1.PersistentVolumeClaim{}
	f.must(f.Client.Get(f.ctx, client.ObjectKey{Namespace: f.namespace, Name: "data-" + member}, c))
	return c
}

// A member whose disk is lost must not join under its old name: the message names the replacement as the cure.
func TestALostDiskIsNotARestart(t *testing.T) {
	covers(t, "internal/agent/barrier", "internal/bootstrap", "internal/agent/disk")
	t.Parallel()
	pods(t, 3)
	f := deploy(t, scenario.Cluster{Mutate: func(s *appsv1.StatefulSet) {
		shortGrace(s)
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, api.AnnotationHealthPrefix+healthpolicy.FieldDead, "40s") // 5 minutes otherwise
	}})
	f.healthy()
	victim := rack3 + "-0"
	f.must(f.Client.Delete(f.ctx, f.pvc(victim)))
	f.must(f.Client.Delete(f.ctx, f.pod(victim)))
	f.untilBarrierRuns(victim)
	f.waitFor("the barrier to point at a replacement", func(ctx context.Context) (bool, string, error) {
		log, err := f.ContainerLog(ctx, f.namespace, victim, api.ContainerBarrier)
		return strings.Contains(log, "kubectl scylla replace"), tail(log, 3), err
	})
}

// The boundary of both lines: the last versions that replace a node by its address, with a warning that this is deprecated, and the first that replace by host ID.
// What counts is the arguments of ScyllaDB itself.
func TestReplaceAtTheBoundary(t *testing.T) {
	covers(t, "controller/notice", "controller/replacement", "internal/agent/launch", "internal/replace", "internal/scylla/release")
	t.Parallel()
	for name, tc := range map[string]struct {
		version   string
		byAddress bool
	}{
		"open source 5.1":   {lastByAddress, true},
		"open source 5.2":   {firstByHostID, false},
		"Enterprise 2022.2": {lastEnterpriseByAddress, true},
		"Enterprise 2023.1": {firstEnterpriseByHostID, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pods(t, 3)
			f := deploy(t, scenario.Cluster{Namespace: "replace-" + strings.ReplaceAll(tc.version, ".", "-"), Version: tc.version, Mutate: shortGrace})
			f.healthy()
			victim := rack3 + "-0"
			old, claim, address := f.hostID(victim), f.claim(victim), f.pod(victim).Status.PodIP
			want, never := launch.FlagReplaceNode+"="+old, launch.FlagReplaceAddress
			if tc.byAddress {
				want, never = launch.FlagReplaceAddress+"="+address, launch.FlagReplaceNode
			}
			f.kill(victim, rack1+"-0")
			f.untilRow(rack2+"-0", `"DOWN"`)
			r := f.replace(victim, "--yes", "--timeout=10m", atOnce)
			if r.Code != 0 {
				t.Fatalf("replace: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
			}
			f.replaced(victim, old, claim)
			if args := f.arguments(victim); !slices.Contains(args, want) || strings.Contains(strings.Join(args, " "), never) {
				t.Errorf("ScyllaDB was started with %q: want %s and no %s", args, want, never)
			}
			events, err := f.Cluster.Kubectl(f.ctx, "-n", f.namespace, "get", "events.events.k8s.io", "-o", `jsonpath={range .items[*]}{.note}{"\n"}{end}`)
			f.must(err)
			for what, text := range map[string]string{"replace": r.Stdout + r.Stderr, "the events": events} {
				if strings.Contains(text, "deprecated") != tc.byAddress {
					t.Errorf("%s of a replacement by address %v: is it deprecated?\n%s", what, tc.byAddress, text)
				}
			}
			if tc.byAddress {
				contains(t, "replace", r.Stdout+r.Stderr, address)
			}
		})
	}
}

// spawned is what supervisord logs of each start of ScyllaDB.
var spawned = regexp.MustCompile(`spawned: 'scylla' with pid (\d+)`)

// arguments of the ScyllaDB process that runs in a member's container.
func (f *fixture) arguments(member string) []string {
	f.t.Helper()
	log, err := f.ContainerLog(f.ctx, f.namespace, member, api.ContainerScyllaDB)
	f.must(err)
	starts := spawned.FindAllStringSubmatch(log, -1)
	if len(starts) == 0 {
		f.t.Fatalf("%s: no start of ScyllaDB in its log:\n%s", member, tail(log, 20))
	}
	file := "/proc/" + starts[len(starts)-1][1] + "/cmdline"
	out, err := f.Cluster.Kubectl(f.ctx, "-n", f.namespace, "exec", member, "-c", api.ContainerScyllaDB, "--", "/bin/sh", "-c", "cat "+file)
	f.must(err)
	return strings.Split(out, "\x00")
}
