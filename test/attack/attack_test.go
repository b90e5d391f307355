// SPDX-License-Identifier: Apache-2.0

// Package attack runs the attacks that are open to a member of a ScyllaDB cluster, or to a holder of its token, against a real API server with the
// objects of `kubectl scylla install`, and documents the results in docs/security.md.
package attack

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/heartbeat"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/plane"
)

var update = flag.Bool("update", false, "write docs/security.md")

const (
	ns   = "db"
	own  = "db-rack1-0"
	peer = "db-rack2-0"
	web  = "web" // a Pod of other software
	// account carries the member ClusterRole under an arbitrary name.
	account  = "anything-at-all"
	document = "../../docs/security.md"
)

// attack is one row of the table.
type attack struct {
	name, tries, happens string
	// as is the account of the token that is used: the Pod own when empty.
	as string
	// run makes the request; it must be refused with the text refused, or succeed when refused is empty.
	run     func(context.Context, client.Client) error
	refused string
}

const (
	tokenOfNoPod   = "no Pod" // a token of the account that is not bound to a Pod
	tokenOfAnother = "another Pod's"
	// tokenWithCoreEvents is the token of an account that carries the ClusterRole and may also write Events of the core group.
	tokenWithCoreEvents = "core Events"
	ownEvents           = "writes Events about its own Pod only"
	thisPod             = "writes to its own Pod only"
	oneAnnotation       = "writes two annotations"
	ownLease            = "writes the Lease of its own heartbeat only"
)

// merge patches a Pod's metadata.
func merge(pod string, metadata any) func(context.Context, client.Client) error {
	return func(ctx context.Context, c client.Client) error {
		b, err := json.Marshal(map[string]any{"metadata": metadata})
		if err != nil {
			return err
		}
		return c.Patch(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: pod}}, client.RawPatch(types.MergePatchType, b))
	}
}

type object = map[string]any

func row(text string) object {
	return object{"annotations": object{api.AnnotationNodeStatusReport: text}}
}

func remove(o client.Object) func(context.Context, client.Client) error {
	return func(ctx context.Context, c client.Client) error { return c.Delete(ctx, o) }
}

var attacks = []attack{
	{name: "own row", tries: "a reporter writes its row", happens: "it is written: this is its work", run: merge(own, row(`{"observedNodes":[]}`))},
	{name: "row of a peer", tries: "a member writes the row of another", happens: "refused", run: merge(peer, row("{}")), refused: thisPod},
	{name: "token of no Pod", tries: "the account's token, made by hand for no Pod", happens: "refused", as: tokenOfNoPod, run: merge(own, row("{}")), refused: thisPod},
	{name: "token of a peer", tries: "the token of another Pod of the same account", happens: "refused", as: tokenOfAnother, run: merge(own, row("{}")), refused: thisPod},
	{name: "own label", tries: "a member moves itself to another cluster by label", happens: "refused", run: merge(own, object{"labels": object{api.LabelCluster: "x"}}), refused: oneAnnotation},
	{name: "other annotation", tries: "a member sets any other annotation of its Pod", happens: "refused", run: merge(own, object{"annotations": object{"x/y": "z"}}), refused: oneAnnotation},
	{name: "lost annotation", tries: "a member takes another annotation off its Pod", happens: "refused", run: merge(own, object{"annotations": object{"example.com/kept": nil}}), refused: oneAnnotation},
	{name: "finalizer", tries: "a member sets a finalizer, so that its Pod can never be replaced", happens: "refused", run: merge(own, object{"finalizers": []string{"x/y"}}), refused: oneAnnotation},
	{name: "owner", tries: "a member gives its Pod another owner", happens: "refused",
		run: merge(own, object{"ownerReferences": []object{{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "y"}}}), refused: oneAnnotation},
	{name: "large row", tries: "a member writes a row of 240 kB", happens: "refused", run: merge(own, row(strings.Repeat("x", 240_000))), refused: "at most 200,000 characters"},
	{name: "what a barrier found", tries: "a barrier says on its Pod what it waits for", happens: "it is written: this is its work", run: merge(own, object{"annotations": object{api.AnnotationBarrier: "{}"}})},
	{name: "what a barrier found, of a peer", tries: "a member says so of another", happens: "refused", run: merge(peer, object{"annotations": object{api.AnnotationBarrier: "{}"}}), refused: thisPod},
	{name: "what a barrier found, large", tries: "a member writes 24 kB of it", happens: "refused", run: merge(own, object{"annotations": object{api.AnnotationBarrier: strings.Repeat("x", 24_000)}}), refused: "at most 20,000 characters"},
	{name: "own heartbeat", tries: "a reporter makes and renews the Lease of its heartbeat", happens: "it is written: this is its work", run: func(ctx context.Context, c client.Client) error {
		l := beat(own, own)
		if err := c.Create(ctx, l); err != nil {
			return err
		}
		heartbeat.Fill(l, types.NamespacedName{Namespace: ns, Name: own}, uids[own], "db", 2, "d", metav1.NowMicro(), 15)
		return c.Update(ctx, l)
	}},
	{name: "heartbeat of a peer", tries: "a member says that another still asks its ScyllaDB", happens: "refused", run: create(peer, peer), refused: ownLease},
	{name: "heartbeat of another Pod", tries: "a member's own Lease, owned by another Pod", happens: "refused", as: tokenOfAnother, run: create(peer, own), refused: ownLease},
	{name: "heartbeat of no Pod", tries: "the account's token, made by hand for no Pod, writes a heartbeat", happens: "refused", as: tokenOfNoPod, run: create(own, own), refused: ownLease},
	{name: "other Lease", tries: "a member writes a Lease by which others elect a leader", happens: "refused", run: func(ctx context.Context, c client.Client) error {
		l := beat(own, own)
		l.Name = "leader-of-others"
		return c.Create(ctx, l)
	}, refused: ownLease},
	{name: "large heartbeat", tries: "a member keeps 10 kB in its Lease", happens: "refused", as: tokenOfAnother, run: func(ctx context.Context, c client.Client) error {
		l := beat(peer, peer)
		l.Annotations["x"] = strings.Repeat("x", 10_000)
		return c.Create(ctx, l)
	}, refused: "at most 200 characters"},
	{name: "delete a heartbeat", tries: "a member deletes the Lease of a heartbeat", happens: "refused: no right", run: func(ctx context.Context, c client.Client) error {
		return c.Delete(ctx, beat(own, own))
	}, refused: "forbidden"},
	{name: "image", tries: "a member changes the image of a peer", happens: "refused", run: func(ctx context.Context, c client.Client) error {
		return c.Patch(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: peer}},
			client.RawPatch(types.StrategicMergePatchType, []byte(`{"spec":{"containers":[{"name":"scylla","image":"evil"}]}}`)))
	}, refused: thisPod},
	{name: "image of other software", tries: "a member changes the image of a Pod that is not ScyllaDB's", happens: "refused", run: func(ctx context.Context, c client.Client) error {
		return c.Patch(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: web}},
			client.RawPatch(types.StrategicMergePatchType, []byte(`{"spec":{"containers":[{"name":"scylla","image":"evil"}]}}`)))
	}, refused: thisPod},
	{name: "delete a peer", tries: "a member deletes the Pod of another", happens: "refused: no right", run: remove(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: peer}}), refused: "forbidden"},
	{name: "evict a peer", tries: "a member evicts the Pod of another", happens: "refused: no right", run: func(ctx context.Context, c client.Client) error {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: peer}}
		return c.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{ObjectMeta: pod.ObjectMeta})
	}, refused: "forbidden"},
	{name: "force", tries: "a member forces its own Service", happens: "refused: no right", run: func(ctx context.Context, c client.Client) error {
		return c.Patch(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: own}},
			client.RawPatch(types.MergePatchType, []byte(fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, api.AnnotationForceProceed))))
	}, refused: "forbidden"},
	{name: "report", tries: "a member writes the report that barriers read", happens: "refused: no right", run: func(ctx context.Context, c client.Client) error {
		return c.Create(ctx, &api.ScyllaDBDatacenterNodesStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "x"}, DatacenterName: "dc1"})
	}, refused: "forbidden"},
	{name: "Secrets", tries: "a member reads Secrets", happens: "refused: no right", run: func(ctx context.Context, c client.Client) error {
		if err := c.List(ctx, &corev1.SecretList{}, client.InNamespace(ns)); !apierrors.IsForbidden(err) {
			return err
		}
		return c.Get(ctx, client.ObjectKey{Namespace: ns, Name: "any"}, &corev1.Secret{})
	}, refused: "forbidden"},
	{name: "Event of its own", tries: "a barrier writes an Event about its own Pod", happens: "it is written: this is its work", run: event("own", "scylla-agent-barrier", "Pod", own)},
	{name: "Event in the controller's name", tries: "a member says that a replacement has finished", happens: "refused", run: event("forged", api.ManagedByUs, "Service", peer), refused: ownEvents},
	{name: "Event about a peer", tries: "a member says of another what its barrier would say", happens: "refused", run: event("of-peer", "scylla-agent-barrier", "Pod", peer), refused: ownEvents},
	{name: "Event about another kind", tries: "a member writes an Event about a Service of its own name", happens: "refused", run: event("of-kind", "scylla-agent-barrier", "Service", own), refused: ownEvents},
	{name: "Event of no Pod", tries: "the account's token, made by hand for no Pod, writes an Event about a Pod", happens: "refused", as: tokenOfNoPod, run: event("of-none", "scylla-agent-barrier", "Pod", own), refused: ownEvents},
	{name: "Event that the controller wrote", tries: "a member adds to an Event that is there", happens: "refused", run: rewrite, refused: ownEvents},
	{name: "Event by the old API", tries: "the same through Events of the core group, with a right to write those besides", happens: "refused", as: tokenWithCoreEvents, run: func(ctx context.Context, c client.Client) error {
		return c.Create(ctx, &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "forged-core"}, EventTime: metav1.NowMicro(), ReportingController: api.ManagedByUs, ReportingInstance: "x",
			Action: "ReplaceNode", Reason: "FinishedReplacingNode", Type: corev1.EventTypeNormal, Message: "forged",
			InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Service", Namespace: ns, Name: peer},
		})
	}, refused: ownEvents},
	{name: "Event in nobody's name", tries: "a member writes an Event in a name that is not ours", happens: "it is written: an Event proves nothing (below)", run: event("else", "somebody", "Service", peer)},
}

// uids are those of the Pods, set once they are created.
var uids = map[string]types.UID{}

// beat is the Lease of a Pod's heartbeat, with that owner.
func beat(pod, owner string) *coordinationv1.Lease {
	l := &coordinationv1.Lease{}
	heartbeat.Fill(l, types.NamespacedName{Namespace: ns, Name: owner}, uids[owner], "db", 1, "d", metav1.NowMicro(), 15)
	l.Name = heartbeat.LeaseName(pod)
	return l
}

func create(pod, owner string) func(context.Context, client.Client) error {
	return func(ctx context.Context, c client.Client) error { return c.Create(ctx, beat(pod, owner)) }
}

// event writes an Event.
func event(name, controller, kind, about string) func(context.Context, client.Client) error {
	return func(ctx context.Context, c client.Client) error {
		return c.Create(ctx, &eventsv1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, EventTime: metav1.NowMicro(), ReportingController: controller, ReportingInstance: "x",
			Action: "ReplaceNode", Reason: "FinishedReplacingNode", Type: corev1.EventTypeNormal, Note: "forged",
			Regarding: corev1.ObjectReference{APIVersion: "v1", Kind: kind, Namespace: ns, Name: about},
		})
	}
}

// rewrite changes the Event that TestAttacks writes as the controller.
func rewrite(ctx context.Context, c client.Client) error {
	e := &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "true"}}
	return c.Patch(ctx, e, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"said":"forged"}}}`)))
}

// covers names the packages of the product whose behaviour a test proves. Others read it in the source; running, it does nothing.
func covers(t *testing.T, _ ...string) { t.Helper() }

// TestAttacks runs every row of the table on a control plane.
func TestAttacks(t *testing.T) {
	covers(t, "internal/peer/heartbeat", "internal/setup/manifests")
	c := plane.Start(t)
	admin, err := kube.NewClient(c.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	install(t, c)
	for _, name := range []string{own, peer, web} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{api.LabelCluster: "db"}, Annotations: map[string]string{"example.com/kept": "yes"}},
			Spec:       corev1.PodSpec{ServiceAccountName: account, AutomountServiceAccountToken: ptr.To(false), Containers: []corev1.Container{{Name: "scylla", Image: "x"}}},
		}
		if name == web {
			pod.Labels = nil
		}
		if err := admin.Create(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		uids[name] = pod.UID
	}
	if err := event("true", api.ManagedByUs, "Service", peer)(t.Context(), admin); err != nil {
		t.Fatal(err)
	}
	token, err := c.Kubectl(t.Context(), "-n", ns, "create", "token", account, "--bound-object-kind=Pod", "--bound-object-name="+own)
	if err != nil {
		t.Fatal(token, err)
	}
	who := func(as string) client.Client {
		if as == "" { // the token that the kubelet gives to the Pod
			cfg := rest.AnonymousClientConfig(c.RESTConfig())
			cfg.BearerToken = strings.TrimSpace(token)
			cl, err := kube.NewClient(cfg)
			if err != nil {
				t.Fatal(err)
			}
			return cl
		}
		cfg := c.RESTConfig()
		name := account
		if as == tokenWithCoreEvents {
			name = account + "-and-events"
		}
		cfg.Impersonate = rest.ImpersonationConfig{
			UserName: "system:serviceaccount:" + ns + ":" + name, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + ns, "system:authenticated"},
		}
		pod := map[string]string{tokenWithCoreEvents: own, tokenOfAnother: peer}[as]
		if pod != "" {
			cfg.Impersonate.Extra = map[string][]string{"authentication.kubernetes.io/pod-name": {pod}, "authentication.kubernetes.io/pod-uid": {string(uids[pod])}}
		}
		cl, err := kube.NewClient(cfg)
		if err != nil {
			t.Fatal(err)
		}
		return cl
	}
	// An admission policy takes a moment to be enforced.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := cluster.WaitFor(ctx, "the admission policies", 100*time.Millisecond, func(ctx context.Context) (bool, string, error) {
		pods := merge(peer, row("{}"))(ctx, who(""))
		err := event("probe-"+strings.ToLower(rand.Text()), api.ManagedByUs, "Service", peer)(ctx, who(""))
		lease := create(peer, peer)(ctx, who(""))
		return lease != nil && strings.Contains(lease.Error(), ownLease) && pods != nil && strings.Contains(pods.Error(), thisPod) && err != nil && strings.Contains(err.Error(), ownEvents), fmt.Sprint(pods, err), nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			switch err := a.run(t.Context(), who(a.as)); {
			case a.refused == "" && err != nil:
				t.Error(err)
			case a.refused != "" && (err == nil || !strings.Contains(err.Error(), a.refused)):
				t.Errorf("%v, want it to be refused with %q", err, a.refused)
			}
		})
	}
	// The controller writes Events under its own name, so that it can still report a replacement.
	controller := c.RESTConfig()
	controller.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:kubectl-scylla:kubectl-scylla-controller", Groups: []string{"system:serviceaccounts", "system:authenticated"},
	}
	cl, err := kube.NewClient(controller)
	if err != nil {
		t.Fatal(err)
	}
	if err := event("by-the-controller", api.ManagedByUs, "Service", peer)(t.Context(), cl); err != nil {
		t.Errorf("the controller: %v", err)
	}
	if err := cl.List(t.Context(), &coordinationv1.LeaseList{}, client.MatchingLabels{api.LabelCluster: "db"}); err != nil {
		t.Errorf("the controller reads no heartbeats: %v", err)
	}
	// Nor are other clients that patch Pods and elect a leader, in the same namespace.
	elects := c.RESTConfig()
	elects.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + ns + ":elects", Groups: []string{"system:serviceaccounts", "system:authenticated"}}
	other, err := kube.NewClient(elects)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "leader-of-elects"}}); err != nil {
		t.Errorf("somebody who elects a leader: %v", err)
	}
	// The policies do not restrict an administrator of the cluster.
	if err := merge(peer, object{"annotations": object{"x/y": "z"}})(t.Context(), admin); err != nil {
		t.Errorf("an administrator: %v", err)
	}
}

func install(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	objs, err := manifests.Objects(manifests.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, o := range objs {
		b, err := o.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		text.Write(b)
		text.WriteString("\n---\n")
	}
	if _, err := c.KubectlInput(t.Context(), text.String(), "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"create", "namespace", ns},
		{"-n", ns, "create", "serviceaccount", account},
		{"-n", ns, "create", "rolebinding", "x", "--clusterrole=kubectl-scylla-member", "--serviceaccount=" + ns + ":" + account},
		{"-n", ns, "create", "serviceaccount", account + "-and-events"},
		{"-n", ns, "create", "rolebinding", "y", "--clusterrole=kubectl-scylla-member", "--serviceaccount=" + ns + ":" + account + "-and-events"},
		{"-n", ns, "create", "role", "events", "--verb=create", "--resource=events"},
		{"-n", ns, "create", "rolebinding", "z", "--role=events", "--serviceaccount=" + ns + ":" + account + "-and-events"},
		{"-n", ns, "create", "role", "elects", "--verb=create,update,patch,get", "--resource=leases.coordination.k8s.io,pods"},
		{"-n", ns, "create", "rolebinding", "elects", "--role=elects", "--serviceaccount=" + ns + ":elects"},
		{"wait", "--for=condition=Established", "--timeout=30s", "crd", "--all"},
	} {
		if _, err := c.Kubectl(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheDocumentIsTheTable compares docs/security.md with the attacks that are run.
func TestTheDocumentIsTheTable(t *testing.T) {
	covers(t)
	var b strings.Builder
	b.WriteString(intro)
	for _, a := range attacks {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", a.name, a.tries, a.happens)
	}
	b.WriteString(outro)
	b.WriteString(alsoText())
	b.WriteString(pods)
	if *update {
		if err := os.WriteFile(document, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	is, err := os.ReadFile(document)
	if err != nil || string(is) != b.String() {
		t.Errorf("%s is not the table of this package (%v): go test ./test/attack -run Document -update", document, err)
	}
}

const intro = `# What a member may try

Every row is run against a real API server with what ` + "`kubectl scylla install`" + ` installs (` + "`test/attack`" + `). The account carries the ClusterRole
` + "`kubectl-scylla-member`" + ` and nothing else, under a name of its own.

| attack | what it tries | what happens |
|---|---|---|
`

const outro = `
## What holds it

The ClusterRole lets an agent patch Pods, because RBAC cannot say "its own". The ValidatingAdmissionPolicy ` + "`kubectl-scylla-own-pod-only`" + ` says it: whoever
carries the ClusterRole, under whatever name and whatever else it may do, writes two annotations to the Pod that its token was made for, and nothing else to any Pod of its namespace: its row, of at most
200,000 characters, and what its barrier has found, of at most 20,000. They are two because two processes write them, the reporter and the barrier, at the same time and each without reading the other's:
in one annotation a row would be lost by the write of what the barrier found, or the other way round. No decision reads what a barrier found. The policy knows the account by verb ` + "`restricted`" + ` of
` + "`members.kubectl-scylla.scylladb.com`" + `, which allows nothing and which that ClusterRole alone grants. Other accounts, those of the Scylla Operator and its Pods among them, are not concerned, nor is whoever has
every verb. ` + "`install`" + ` refuses where admission policies are off, and ` + "`check`" + ` tries as the member, by a dry run, what must be denied.

With ` + "`--heartbeat=lease`" + ` a reporter renews a Lease. ` + "`kubectl-scylla-own-lease-only`" + ` lets whoever has the rights of a member write the one of its own heartbeat, owned by the Pod that its token was
made for, and no other Lease of its namespace, by which others may elect leaders.

## What a member can still do

It can say what it likes about itself and about whom it sees. A row that sees a node DOWN that is UP holds joins up until it is mended: the graver word
counts. One that sees a node UP that is DOWN outweighs nobody: every other row must say so too. A row that cannot be read costs that row, and a report that
cannot be written is not trusted ([controller.md](controller.md)). A host ID that is no UUID, or another member's, is not recorded on its Service (Event
` + "`HostIDRefused`" + `).

Its heartbeat ([view.md](view.md#heartbeats-without-writes)) proves no more than its row: it says that the reporter still stands by it. Nobody else can beat for it. The certificate's
fingerprint is in the annotation that only the member's own token may write, the private key never leaves the reporter's memory, and an answer with another certificate, of
another row, or with a number that does not advance counts as none. What a reporter answers is read within limits of size and time.

## What an Event proves

Who wrote it, where the ValidatingAdmissionPolicy ` + "`kubectl-scylla-own-events-only`" + ` is bound, as ` + "`install`" + ` binds it: an Event whose reporting controller is
` + "`kubectl-scylla`" + ` is the controller's, or of somebody who may delete Pods; one of ` + "`scylla-agent-barrier`" + ` about a Pod is of that Pod's agent. An agent
keeps the right to write Events, because a barrier must be heard while no controller runs. What an agent says of its own Pod may be a lie, and an Event in any other name proves nothing.

No part of this project reads an Event to decide anything. What was decided stands on objects that members cannot write: annotations and labels of member Services, the reports, their conditions.
`

// pods is about what restricted_test.go and test/netpolicy test.
const pods = `
## How our Pods run

The controller's Pod and what ` + "`" + `inject` + "`" + ` adds (reporter, copy, query, barrier) fit the Pod Security Standard *restricted*: not root, no capabilities, seccomp ` + "`" + `RuntimeDefault` + "`" + `, no escalation;
and their root file systems are read-only. A real API server that enforces the standard accepts them (` + "`" + `TestPodSecurity` + "`" + `). One exception: where ScyllaDB itself runs as root, as its
image does by itself, query and barrier have to read files that belong to another user; they then run as root with ` + "`" + `DAC_OVERRIDE` + "`" + ` alone, on a volume that is mounted read-only. That fits
*baseline*. Let the StatefulSet name ScyllaDB's user (` + "`" + `runAsUser` + "`" + `) to avoid it.

While ScyllaDB gives no row, a reporter queries the supervisord of ScyllaDB's image in its own Pod, on 127.0.0.1:9001, with the one method ` + "`supervisor.getProcessInfo`" + `. That port has no
password and can also stop ScyllaDB: nothing of ours forwards or opens it, and ` + "`--scylla-supervisor-url=`" + ` turns the query off, as ` + "`inject`" + ` does for Pods on the Kubernetes node's network.

## Network

[install/networkpolicies](install/networkpolicies) has two NetworkPolicies to adapt, one for the controller, one for a guarded cluster. Each connection that is needed, and each that must not be, is a
row of ` + "`" + `TestNeededConnectionsArePossibleAndOthersAreNot` + "`" + `, evaluated by what the API says that a policy means. The clusters of our tests enforce no NetworkPolicy, so that real packets
were not tried. ` + "`" + `install` + "`" + ` applies none of them: a policy that does not know your clients would cut them off.
`
