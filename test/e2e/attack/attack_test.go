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
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/plane"
)

var update = flag.Bool("update", false, "write docs/security.md")

const (
	ns   = "db"
	own  = "db-rack1-0"
	peer = "db-rack2-0"
	web  = "web" // a Pod of other software
	// account carries the member ClusterRole under an arbitrary name.
	account  = "anything-at-all"
	document = "../../../docs/security.md"
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
	// tokenOfOperatorMember is the token of an account of --operator-member.
	tokenOfOperatorMember = "operator's"
	ownEvents             = "writes Events about its own Pod only"
	thisPod               = "writes to its own Pod only"
	oneAnnotation         = "writes two annotations"
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

// lease is the Lease of the controller.
func lease() *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: manifests.Namespace, Name: api.LeaseName}}
}

var attacks = []attack{
	{name: "own row", tries: "a reporter writes its row", happens: "written", run: merge(own, row(`{"observedNodes":[]}`))},
	{name: "row of a peer", tries: "a member writes the row of a peer", happens: "refused", run: merge(peer, row("{}")), refused: thisPod},
	{name: "token of no Pod", tries: "a token of the account for no Pod writes a row", happens: "refused", as: tokenOfNoPod, run: merge(own, row("{}")), refused: thisPod},
	{name: "token of a peer", tries: "the token of another Pod writes a row", happens: "refused", as: tokenOfAnother, run: merge(own, row("{}")), refused: thisPod},
	{name: "own label", tries: "a member changes its cluster label", happens: "refused", run: merge(own, object{"labels": object{api.LabelCluster: "x"}}), refused: oneAnnotation},
	{name: "other annotation", tries: "a member sets another annotation of its Pod", happens: "refused", run: merge(own, object{"annotations": object{"x/y": "z"}}), refused: oneAnnotation},
	{name: "lost annotation", tries: "a member removes another annotation of its Pod", happens: "refused", run: merge(own, object{"annotations": object{"example.com/kept": nil}}), refused: oneAnnotation},
	{name: "finalizer", tries: "a member sets a finalizer on its Pod", happens: "refused", run: merge(own, object{"finalizers": []string{"x/y"}}), refused: oneAnnotation},
	{name: "owner", tries: "a member changes the owner of its Pod", happens: "refused",
		run: merge(own, object{"ownerReferences": []object{{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "y"}}}), refused: oneAnnotation},
	{name: "large row", tries: "a member writes a row of 240 kB", happens: "refused", run: merge(own, row(strings.Repeat("x", 240_000))), refused: "at most 200,000 characters"},
	{name: "what a barrier found", tries: "a barrier writes its blockers to its Pod", happens: "written", run: merge(own, object{"annotations": object{api.AnnotationBarrier: "{}"}})},
	{name: "what a barrier found, of a peer", tries: "a member writes the blockers of a peer", happens: "refused", run: merge(peer, object{"annotations": object{api.AnnotationBarrier: "{}"}}), refused: thisPod},
	{name: "what a barrier found, large", tries: "a member writes 24 kB of blockers", happens: "refused", run: merge(own, object{"annotations": object{api.AnnotationBarrier: strings.Repeat("x", 24_000)}}), refused: "at most 20,000 characters"},
	{name: "image", tries: "a member changes the image of a peer", happens: "refused", run: func(ctx context.Context, c client.Client) error {
		return c.Patch(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: peer}},
			client.RawPatch(types.StrategicMergePatchType, []byte(`{"spec":{"containers":[{"name":"scylla","image":"evil"}]}}`)))
	}, refused: thisPod},
	{name: "image of other software", tries: "a member changes the image of another application", happens: "refused", run: func(ctx context.Context, c client.Client) error {
		return c.Patch(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: web}},
			client.RawPatch(types.StrategicMergePatchType, []byte(`{"spec":{"containers":[{"name":"scylla","image":"evil"}]}}`)))
	}, refused: thisPod},
	{name: "delete a peer", tries: "a member deletes the Pod of a peer", happens: "refused by RBAC", run: remove(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: peer}}), refused: "forbidden"},
	{name: "evict a peer", tries: "a member evicts the Pod of a peer", happens: "refused by RBAC", run: func(ctx context.Context, c client.Client) error {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: peer}}
		return c.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{ObjectMeta: pod.ObjectMeta})
	}, refused: "forbidden"},
	{name: "force", tries: "a member forces its own Service", happens: "refused by RBAC", run: func(ctx context.Context, c client.Client) error {
		return c.Patch(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: own}},
			client.RawPatch(types.MergePatchType, []byte(fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, api.AnnotationForceProceed))))
	}, refused: "forbidden"},
	{name: "report", tries: "a member writes a report", happens: "refused by RBAC", run: func(ctx context.Context, c client.Client) error {
		return c.Create(ctx, &api.ScyllaDBDatacenterNodesStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "x"}, DatacenterName: "dc1"})
	}, refused: "forbidden"},
	{name: "Secrets", tries: "a member reads Secrets", happens: "refused by RBAC", run: func(ctx context.Context, c client.Client) error {
		if err := c.List(ctx, &corev1.SecretList{}, client.InNamespace(ns)); !apierrors.IsForbidden(err) {
			return err
		}
		return c.Get(ctx, client.ObjectKey{Namespace: ns, Name: "any"}, &corev1.Secret{})
	}, refused: "forbidden"},
	{name: "a Lease in the controller's name", tries: "a member creates the controller's Lease", happens: "refused by RBAC", run: func(ctx context.Context, c client.Client) error {
		return c.Create(ctx, &coordinationv1.Lease{ObjectMeta: lease().ObjectMeta})
	}, refused: "forbidden"},
	{name: "the controller's Lease", tries: "a member changes holder, annotations or finalizers of the controller's Lease", happens: "refused by RBAC", run: func(ctx context.Context, c client.Client) error {
		for _, patch := range []string{`{"spec":{"holderIdentity":"evil"}}`, `{"metadata":{"annotations":{"x":"` + strings.Repeat("x", 200_000) + `"}}}`, `{"metadata":{"finalizers":["x/y"]}}`} {
			if err := c.Patch(ctx, lease(), client.RawPatch(types.MergePatchType, []byte(patch))); !apierrors.IsForbidden(err) {
				return fmt.Errorf("%.60s: %w", patch, err)
			}
		}
		return c.Update(ctx, lease())
	}, refused: "cannot update"},
	{name: "no Lease of the controller", tries: "a member deletes the controller's Lease", happens: "refused by RBAC", run: remove(lease()), refused: "forbidden"},
	{name: "a Lease of its namespace", tries: "a member creates a Lease in its own namespace", happens: "refused by RBAC", run: func(ctx context.Context, c client.Client) error {
		return c.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: api.LeaseName}})
	}, refused: "forbidden"},
	{name: "Event of its own", tries: "a barrier writes an Event about its own Pod", happens: "written", run: event("own", "scylla-agent-barrier", "Pod", own)},
	{name: "Event in the controller's name", tries: "a member writes an Event of the controller", happens: "refused", run: event("forged", api.ManagedByUs, "Service", peer), refused: ownEvents},
	{name: "Event of the controller with more", tries: "a member writes an Event of the controller with annotations, and with its own Pod as related object", happens: "refused", run: eventWithMore("forged-more", api.ManagedByUs, peer, own), refused: ownEvents},
	{name: "Event about a peer and its Pod", tries: "a member writes an Event about a peer, with its own Pod as related object", happens: "refused", run: eventWithMore("related", "scylla-agent-barrier", peer, own), refused: ownEvents},
	{name: "Event about a peer", tries: "a member writes an Event about a peer", happens: "refused", run: event("of-peer", "scylla-agent-barrier", "Pod", peer), refused: ownEvents},
	{name: "Event about another kind", tries: "a member writes an Event about a Service of its own name", happens: "refused", run: event("of-kind", "scylla-agent-barrier", "Service", own), refused: ownEvents},
	{name: "Event of no Pod", tries: "a token of the account for no Pod writes an Event about a Pod", happens: "refused", as: tokenOfNoPod, run: event("of-none", "scylla-agent-barrier", "Pod", own), refused: ownEvents},
	{name: "Event that the controller wrote", tries: "a member changes an Event of the controller", happens: "refused", run: rewriteEvent("true"), refused: ownEvents},
	{name: "Event by the old API", tries: "the same through core Events, with an extra permission", happens: "refused", as: tokenWithCoreEvents, run: func(ctx context.Context, c client.Client) error {
		return c.Create(ctx, &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "forged-core"}, EventTime: metav1.NowMicro(), ReportingController: api.ManagedByUs, ReportingInstance: "x",
			Action: "ReplaceNode", Reason: "FinishedReplacingNode", Type: corev1.EventTypeNormal, Message: "forged",
			InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Service", Namespace: ns, Name: peer},
		})
	}, refused: ownEvents},
	{name: "Event in nobody's name", tries: "a member writes an Event of an unknown controller", happens: "refused", run: event("else", "somebody", "Service", peer), refused: ownEvents},
	{name: "Event of the kubelet about its Pod", tries: "a member writes an Event of the kubelet about its own Pod", happens: "refused", run: event("as-kubelet", "kubelet", "Pod", own), refused: ownEvents},
	{name: "Event that the kubelet wrote", tries: "a member changes an Event of the kubelet", happens: "refused", run: rewriteEvent("of-kubelet"), refused: ownEvents},
	{name: "Event that the scheduler wrote", tries: "a member changes an Event of the scheduler about its own Pod", happens: "refused", run: rewriteEvent("of-scheduler"), refused: ownEvents},
	{name: "Event that the operator wrote", tries: "a member changes an Event of the Scylla Operator", happens: "refused", run: rewriteEvent("of-operator"), refused: ownEvents},
	{name: "Event that is deleted", tries: "a member deletes an Event of the kubelet, with an extra permission", happens: "refused", as: tokenWithCoreEvents,
		run: remove(&eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "of-kubelet"}}), refused: ownEvents},
	{name: "Event of an operator's Pod", tries: "a Pod of --operator-member changes an Event of the Scylla Operator", happens: "refused", as: tokenOfOperatorMember, run: rewriteEvent("of-operator"), refused: ownEvents},
	{name: "Event of an operator's Pod of its own", tries: "a barrier in a Pod of --operator-member writes an Event about its own Pod", happens: "written", as: tokenOfOperatorMember,
		run: event("own-operator", "scylla-agent-barrier", "Pod", own)},
}

// uids are those of the Pods, set once they are created.
var uids = map[string]types.UID{}

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

// eventWithMore writes an Event about a Pod with annotations, a note that hides characters, and another Pod as related object.
func eventWithMore(name, controller, about, related string) func(context.Context, client.Client) error {
	return func(ctx context.Context, c client.Client) error {
		return c.Create(ctx, &eventsv1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Annotations: map[string]string{api.AnnotationForceProceed: "true"}},
			EventTime:  metav1.NowMicro(), ReportingController: controller, ReportingInstance: "x", Action: "ReplaceNode", Reason: "FinishedReplacingNode",
			Type: corev1.EventTypeNormal, Note: "\u202e\u200b" + strings.Repeat("x", 1000),
			Regarding: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: ns, Name: about, UID: uids[about]},
			Related:   &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: ns, Name: related, UID: uids[related]},
		})
	}
}

// rewriteEvent changes an Event that TestAttacks writes in the name of another component.
func rewriteEvent(name string) func(context.Context, client.Client) error {
	return func(ctx context.Context, c client.Client) error {
		e := &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
		return c.Patch(ctx, e, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"said":"forged"}}}`)))
	}
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
	for _, write := range []func(context.Context, client.Client) error{event("true", api.ManagedByUs, "Service", peer), event("of-kubelet", "kubelet", "Pod", peer),
		event("of-scheduler", "default-scheduler", "Pod", own), event("of-operator", "scylla-operator", "Service", own)} {
		if err := write(t.Context(), admin); err != nil {
			t.Fatal(err)
		}
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
		if as == tokenOfOperatorMember {
			name = account + "-of-operator"
		}
		cfg.Impersonate = rest.ImpersonationConfig{
			UserName: "system:serviceaccount:" + ns + ":" + name, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + ns, "system:authenticated"},
		}
		pod := map[string]string{tokenWithCoreEvents: own, tokenOfAnother: peer, tokenOfOperatorMember: own}[as]
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
		return pods != nil && strings.Contains(pods.Error(), thisPod) && err != nil && strings.Contains(err.Error(), ownEvents), fmt.Sprint(pods, err), nil
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
		{"-n", ns, "create", "role", "events", "--verb=create,delete", "--resource=events,events.events.k8s.io"},
		{"-n", ns, "create", "serviceaccount", account + "-of-operator"},
		{"-n", ns, "create", "rolebinding", "o", "--clusterrole=" + manifests.OperatorMemberRole, "--serviceaccount=" + ns + ":" + account + "-of-operator"},
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
	var results []string
	tries := map[string][]string{}
	for _, a := range attacks {
		if tries[a.happens] == nil {
			results = append(results, a.happens)
		}
		tries[a.happens] = append(tries[a.happens], a.tries)
	}
	var b strings.Builder
	for _, happens := range results {
		fmt.Fprintf(&b, "\n%s:\n\n- %s\n", strings.ToUpper(happens[:1])+happens[1:], strings.Join(tries[happens], "\n- "))
	}
	b.WriteString(alsoText())
	is, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- attacks -->\n", "<!-- end of attacks -->"
	before, rest, ok := strings.Cut(string(is), begin)
	now, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the attacks", document)
	}
	if *update {
		if err := os.WriteFile(document, []byte(before+begin+b.String()+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if now != b.String() {
		t.Errorf("%s is not the list of this package: go test ./test/e2e/attack -run Document -update", document)
	}
}
