// SPDX-License-Identifier: Apache-2.0

package replace_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	sim "github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// putBack is the command that requests a lost replacement again while the old Pod exists.
var putBack = "kubectl label service " + target + " scylla/replace= -n demo"

// TestNoHarm11TheOldPodIsNotTheNewNode: the printed fix recorded the host ID as well. Then the Scylla Operator no longer evicts the old Pod, which a disruption budget had delayed,
// and `replace status` took that Pod for the new node and ended with 0.
func TestNoHarm11TheOldPodIsNotTheNewNode(t *testing.T) {
	both := "kubectl label service " + target + " scylla/replace= internal.scylla-operator.scylladb.com/replacing-node-hostid=" + oldID + " -n demo"
	noPod := func(objects []client.Object) []client.Object {
		return slices.DeleteFunc(objects, func(o client.Object) bool {
			_, pod := o.(*corev1.Pod)
			return pod && o.GetName() == target
		})
	}
	recorded := func(c *plugintest.Cluster) []client.Object {
		svc := c.Operator().Service(target)
		svc.Labels[api.LabelReplace], svc.Labels[api.LabelReplacingNodeHostID] = "", oldID
		return terminating(c.Objects())
	}
	restarted := func(c *plugintest.Cluster) *plugintest.Cluster {
		st := &c.Pod(target).Status.ContainerStatuses[0]
		st.RestartCount, st.State = 1, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(plugintest.Now.Add(-8 * time.Second))}}
		return c
	}
	lately := func(objects []client.Object) []client.Object {
		written(objects, time.Hour, 4*time.Minute)
		return objects
	}
	unknown := func(objects []client.Object) []client.Object { written(objects, 0, 0); return objects }
	for name, tc := range map[string]struct {
		objects []client.Object
		says    string
		saysNot string
	}{
		"no label, the old Pod exists": {terminating(dead().Operator().Objects()), putBack, api.LabelReplacingNodeHostID + "="},
		// the eviction deletes the data of the old Pod
		"no label, and the node is alive":          {terminating(prepared().Operator().Objects()), "do not restart or delete Pod " + target, "scylla/replace="},
		"no label, DOWN for 4 minutes":             {lately(terminating(dead().Operator().Objects())), "check whether the old node is DOWN", "scylla/replace="},
		"both labels, DOWN for 4 minutes":          {lately(recorded(dead())), "check whether the old node is DOWN", "-hostid- "},
		"both labels, restarted 8 s ago":           {recorded(restarted(dead())), "check whether the old node is DOWN", "-hostid- "},
		"both labels, DOWN, and since when is not": {unknown(recorded(dead())), "check whether the old node is DOWN", "-hostid- "},
		"no label, the old Pod is gone":            {noPod(terminating(dead().Operator().Objects())), both, putBack},
		"both labels, the old Pod exists":          {recorded(dead()), "Pod " + target + " still belongs to the old node", "exit 0"},
		"both labels, and the node is alive":       {recorded(prepared()), "check whether the old node is DOWN", "-hostid- "},
	} {
		t.Run(name, func(t *testing.T) {
			got := plugintest.Run{Args: []string{"replace", "status", target, "-n", "demo"}, Objects: tc.objects}.Do(t)
			text := strings.Join(strings.Fields(got.Stdout), " ")
			if got.Code != 3 || !strings.Contains(text, tc.says) || strings.Contains(text, tc.saysNot) {
				t.Errorf("exit %d, want 3, %q and not %q:\n%s%s", got.Code, tc.says, tc.saysNot, got.Stdout, got.Stderr)
			}
		})
	}
}

// TestStatusWithdrawsAMalformedRequestOfARunningNode: the step made the label a valid request to replace a node that is UP.
func TestStatusWithdrawsAMalformedRequestOfARunningNode(t *testing.T) {
	for name, tc := range map[string]struct {
		c             *plugintest.Cluster
		says, saysNot string
	}{
		"ours, UP":     {prepared(), "kubectl scylla replace cancel " + target, "scylla/replace= "},
		"operator, UP": {operated(prepared()), "kubectl scylla replace cancel " + target, "scylla/replace= "},
		"ours, DOWN":   {dead(), "scylla/replace= ", "replace cancel"},
	} {
		tc.c.Service(target).Labels[api.LabelReplace] = "yes"
		for _, verb := range []string{"replace status " + target, "status demo", "barrier " + target} {
			got := plugintest.Run{Args: append(strings.Fields(verb), "-n", "demo"), Objects: tc.c.Objects()}.Do(t)
			if text := strings.Join(strings.Fields(got.Stdout+got.Stderr), " "); strings.Contains(text, tc.saysNot) || verb[0] == 'r' && !strings.Contains(text, tc.says) {
				t.Errorf("%s, %s: want %q and not %q:\n%s", name, verb, tc.says, tc.saysNot, text)
			}
		}
	}
}

// TestNoHarm17ASecondDeadNodeIsExcluded: beside the Scylla Operator the hint was a setting for the whole cluster, which restarts every node while two are dead.
func TestNoHarm17ASecondDeadNodeIsExcluded(t *testing.T) {
	const other, look = "demo-dc1-rack4-0", "kubectl scylla status demo -n demo"
	for name, tc := range map[string]struct {
		version string
		since   time.Duration
		rows    string // whose reporter writes them: the operator's rows have no times
		exclude bool
	}{
		"2026.1":                    {"2026.1.0", 10 * time.Minute, "ours", true},
		"2026.1, DOWN for a moment": {"2026.1.0", 10 * time.Second, "ours", false},
		"2026.1, only the Pod's condition has a time": {"2026.1.0", 10 * time.Minute, "the operator's", false},
		"2025.4": {"2025.4.0", 10 * time.Minute, "ours", false},
	} {
		t.Run(name, func(t *testing.T) {
			c := dead().DownSince(other, tc.since)
			id := c.Node(other).HostID
			p := c.Pod(other)
			p.Status.Conditions = []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
				{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(plugintest.Now.Add(-tc.since))},
			}
			for i := range c.Nodes {
				c.Nodes[i].Version = tc.version
				c.Set("dc1", c.Nodes[i].Rack).Spec.Template.Spec.Containers[0].Image = "scylladb/scylla:" + tc.version
				c.Pod(c.Nodes[i].Name).Spec.Containers[0].Image = "scylladb/scylla:" + tc.version
			}
			if tc.rows == "the operator's" {
				c.Operator()
			}
			objects := c.NoReports().Objects()
			for _, o := range objects {
				if labels := o.GetLabels(); labels != nil {
					labels[api.LabelManagedBy] = api.ManagedByOperator
				}
			}
			got := plugintest.Run{Objects: objects, Args: []string{"replace", "-n", "demo", target, "--dry-run=client", "--ignore-dead", other}}.Do(t)
			said := strings.Contains(got.Stderr, "-- excludenode "+id) && strings.Contains(got.Stderr, "bans it permanently, and a join still requires every node UP")
			if got.Code != 2 || said != tc.exclude || !tc.exclude && (strings.Contains(got.Stderr, "excludenode") || !strings.Contains(got.Stderr, look)) || strings.Contains(got.Stderr, "ignore_dead_nodes_for_replace") {
				t.Errorf("exit %d, excludenode %v, want %v:\n%s%s", got.Code, said, tc.exclude, got.Stdout, got.Stderr)
			}
		})
	}
}

// terminating marks the target's claim as being deleted.
func terminating(objects []client.Object) []client.Object {
	for _, o := range unchanged(objects) {
		if o.GetName() == "data-"+target {
			o.SetFinalizers([]string{"kubernetes.io/pvc-protection"})
			o.SetDeletionTimestamp(&metav1.Time{Time: plugintest.Now})
		}
	}
	return objects
}

// TestBesideOperator5CancelPastThePointOfNoReturn: once the claim is being deleted, by any actor, the label must stay.
func TestBesideOperator5CancelPastThePointOfNoReturn(t *testing.T) {
	asked := func(operator bool) *plugintest.Cluster {
		c := dead()
		c.Service(target).Labels[api.LabelReplace] = ""
		if operator {
			c.Operator()
		}
		return c
	}
	cancel := []string{"replace", "cancel", "-n", "demo", target, "--wait=false"}
	label := func(t *testing.T, c client.Client) bool {
		t.Helper()
		var svc corev1.Service
		if err := c.Get(t.Context(), types.NamespacedName{Namespace: "demo", Name: target}, &svc); err != nil {
			t.Fatal(err)
		}
		_, there := svc.Labels[api.LabelReplace]
		return there
	}
	for name, tc := range map[string]struct {
		objects []client.Object
		code    int
		stays   bool
		says    string
	}{
		"the claim is untouched":                     {asked(true).Objects(), 0, false, ""},
		"the operator deletes the claim":             {terminating(asked(true).Objects()), 2, true, "PVC data-" + target + " is being deleted"},
		"under our controller somebody else does so": {terminating(asked(false).Objects()), 2, true, "PVC data-" + target + " is being deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			c := plugintest.NewClient(tc.objects, interceptor.Funcs{})
			got := plugintest.Run{Client: c, Args: cancel}.Do(t)
			if got.Code != tc.code || !strings.Contains(got.Stderr, tc.says) || label(t, c) != tc.stays {
				t.Errorf("exit %d, label there: %t\n%s%s", got.Code, label(t, c), got.Stdout, got.Stderr)
			}
		})
	}

	t.Run("the operator deletes while the label goes", func(t *testing.T) {
		c := plugintest.NewClient(unchanged(asked(true).Objects()), interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
				if err := c.Patch(ctx, obj, patch, opts...); err != nil || obj.GetName() != target {
					return err
				}
				return c.Delete(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "data-" + target}})
			},
		})
		got := plugintest.Run{Client: c, Args: cancel}.Do(t)
		if got.Code != 2 || !strings.Contains(got.Stderr, putBack) {
			t.Errorf("exit %d, want the command that puts the label back:\n%s%s", got.Code, got.Stdout, got.Stderr)
		}
	})

	t.Run("the claim was listed and made anew since", func(t *testing.T) {
		c := plugintest.NewClient(asked(true).Objects(), interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
				err := c.Get(ctx, key, obj, opts...)
				if pvc, is := obj.(*corev1.PersistentVolumeClaim); is {
					pvc.UID = "made-anew"
				}
				return err
			},
		})
		got := plugintest.Run{Client: c, Args: cancel}.Do(t)
		if got.Code != 2 || !strings.Contains(got.Stderr, "PVC data-"+target+" is being deleted or is deleted") || !label(t, c) {
			t.Errorf("exit %d, label there: %t\n%s%s", got.Code, label(t, c), got.Stdout, got.Stderr)
		}
	})

	t.Run("a label lost there is offered to be put back", func(t *testing.T) {
		objects := terminating(dead().Operator().Objects())
		got := plugintest.Run{Objects: objects, Args: cancel}.Do(t)
		if got.Code != 2 || !strings.Contains(got.Stderr, putBack) {
			t.Errorf("cancel: exit %d\n%s%s", got.Code, got.Stdout, got.Stderr)
		}
		for _, args := range [][]string{{"replace", "status", "-n", "demo"}, {"replace", "status", target, "-n", "demo"}, {"replace", "status", "--from", plugintest.Save(t, objects)}} {
			run := plugintest.Run{Args: args}
			if args[2] != "--from" {
				run.Objects = objects
			}
			if got := run.Do(t); got.Code != 3 || !strings.Contains(got.Stdout, putBack) {
				t.Errorf("%v: exit %d\n%s%s", args, got.Code, got.Stdout, got.Stderr)
			}
		}
	})
}

// TestAttack8ChecksAnewRightBeforeTheLabel: the node is back by the time the person has read the plan and answered.
func TestAttack8ChecksAnewRightBeforeTheLabel(t *testing.T) {
	alive := prepared().Objects()
	back := false
	c := plugintest.NewClient(dead().Objects(), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if _, is := obj.(*corev1.Service); is && key.Name == target && !back {
				back = true
				for _, o := range alive {
					if p, is := o.(*corev1.Pod); is {
						now := &corev1.Pod{}
						if err := c.Get(ctx, client.ObjectKeyFromObject(p), now); err != nil {
							return err
						}
						now.Annotations, now.Status = p.Annotations, p.Status
						if err := c.Update(ctx, now); err != nil {
							return err
						}
					}
				}
			}
			return c.Get(ctx, key, obj, opts...)
		},
	})
	got := plugintest.Run{Client: c, Args: []string{"replace", "-n", "demo", target, "--yes", "--wait=false"}}.Do(t)
	var svc corev1.Service
	if err := c.Get(t.Context(), types.NamespacedName{Namespace: "demo", Name: target}, &svc); err != nil {
		t.Fatal(err)
	}
	if _, asked := svc.Labels[api.LabelReplace]; got.Code != 2 || asked || !back || !strings.Contains(got.Stderr, "refused by") {
		t.Errorf("exit %d, label there: %t\n%s%s", got.Code, asked, got.Stdout, got.Stderr)
	}
}

// TestBesideOperator8StatusWhileTheOperatorIsHeld: a disruption budget, or an operator that does not run, is a condition that is not met; and no step is shown as done that is
// not done.
func TestBesideOperator8StatusWhileTheOperatorIsHeld(t *testing.T) {
	asked := func(more ...client.Object) []client.Object {
		c := dead().Operator()
		c.Service(target).Labels[api.LabelReplace] = ""
		return append(c.Objects(), more...)
	}
	budget := func(healthy int32) client.Object {
		return &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "demo", Labels: map[string]string{api.LabelCluster: "demo"}},
			Status:     policyv1.PodDisruptionBudgetStatus{ExpectedPods: 4, DesiredHealthy: 3, CurrentHealthy: healthy},
		}
	}
	operator := func(replicas int32) client.Object {
		return &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: api.OperatorNamespace, Name: api.OperatorName},
			Spec:       appsv1.DeploymentSpec{Replicas: &replicas}, Status: appsv1.DeploymentStatus{AvailableReplicas: replicas},
		}
	}
	datacenter := func(objects []client.Object, reason, message string) []client.Object {
		objects = slices.DeleteFunc(objects, func(o client.Object) bool {
			m, is := o.(*metav1.PartialObjectMetadata)
			return is && m.Kind == api.ScyllaDBDatacenterGVK.Kind
		})
		o := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"namespace": "demo", "name": "demo"},
			"status": map[string]any{"conditions": []any{map[string]any{
				"type": "ServiceControllerProgressing", "status": "True", "reason": reason, "message": message, "lastTransitionTime": "2026-11-21T11:50:00Z",
			}}},
		}}
		o.SetGroupVersionKind(api.ScyllaDBDatacenterGVK)
		return append(objects, o)
	}
	for name, tc := range map[string]struct {
		objects   []client.Object
		code      int
		says, not string
	}{
		"it is at work":                       {asked(operator(2), budget(3)), 0, "the Scylla Operator deletes PVC and Pod", ""},
		"a budget holds it":                   {asked(operator(2), budget(2)), 3, "PodDisruptionBudget demo allows no disruption", "deletes PVC and Pod"},
		"its own words tell of the budget":    {datacenter(asked(), "Error", "Cannot evict pod as it would violate the pod's disruption budget."), 3, "PodDisruptionBudget allows no disruption", ""},
		"it is scaled to 0":                   {asked(operator(0)), 3, "nothing happens: the Scylla Operator is scaled to 0", "the Scylla Operator deletes"},
		"AsExpected is no reason":             {datacenter(asked(), "AsExpected", ""), 0, "ServiceControllerProgressing", "AsExpected"},
		"what is refused is not recommended":  {asked(), 0, "", "--ignore-dead"},
		"the launcher is none of the checks":  {asked(), 0, "", "launcher"},
		"nor while another node is DOWN, too": {func() []client.Object { return dead().Down("demo-dc1-rack4-0").Operator().Objects() }(), 0, "", "--ignore-dead"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, args := range [][]string{{"replace", "status", "-n", "demo"}, {"replace", "status", "--from", plugintest.Save(t, tc.objects)}} {
				run := plugintest.Run{Args: args}
				if args[2] == "-n" {
					run.Objects = tc.objects
				}
				got := run.Do(t)
				if got.Code != tc.code || !strings.Contains(got.Stdout, tc.says) || tc.not != "" && strings.Contains(got.Stdout+got.Stderr, tc.not) {
					t.Errorf("%v: exit %d\n%s%s", args, got.Code, got.Stdout, got.Stderr)
				}
			}
			if plan := (plugintest.Run{Objects: tc.objects, Args: []string{"replace", "-n", "demo", target, "--dry-run=client"}}).Do(t); tc.not != "" && strings.Contains(plan.Stdout+plan.Stderr, tc.not) {
				t.Errorf("the plan says %q:\n%s%s", tc.not, plan.Stdout, plan.Stderr)
			}
		})
	}
}

// operatorObjects are the Deployment and the Lease of a Scylla Operator.
func operatorObjects(replicas, available int32, holder string, renewed time.Time) []client.Object {
	return []client.Object{
		&appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: api.OperatorNamespace, Name: api.OperatorName},
			Spec:       appsv1.DeploymentSpec{Replicas: &replicas}, Status: appsv1.DeploymentStatus{AvailableReplicas: available},
		},
		&coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: api.OperatorNamespace, Name: api.OperatorLeaseName},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: new(int32(15)), RenewTime: &metav1.MicroTime{Time: renewed}},
		},
	}
}

// operated is the cluster with a Scylla Operator that runs.
func operated(c *plugintest.Cluster) *plugintest.Cluster {
	return c.Operator().Add(operatorObjects(1, 1, "operator-1", plugintest.Now)...)
}

// TestNoHarm47NoRequestWhileTheOperatorIsOff: the label was set, and "nothing happens" until the operator is back; then it deletes the claim of a node that is UP again.
func TestNoHarm47NoRequestWhileTheOperatorIsOff(t *testing.T) {
	long := plugintest.Now.Add(-time.Hour)
	for name, tc := range map[string]struct {
		operator []client.Object
		skip     bool // may be skipped: nothing is known
		runs     bool
	}{
		"it runs and leads":               {operator: operatorObjects(2, 2, "operator-1", plugintest.Now), runs: true},
		"it is scaled to 0":               {operator: operatorObjects(0, 0, "operator-1", plugintest.Now)},
		"no Pod of it is available":       {operator: operatorObjects(1, 0, "operator-1", plugintest.Now)},
		"its Lease is not renewed":        {operator: operatorObjects(1, 1, "operator-1", long)},
		"it leads by its Lease alone":     {operator: operatorObjects(1, 1, "operator-1", plugintest.Now)[1:], runs: true},
		"nobody leads":                    {operator: operatorObjects(1, 1, "", plugintest.Now), skip: true},
		"its Lease is unknown":            {operator: operatorObjects(1, 1, "", plugintest.Now)[:1], skip: true},
		"nothing is known of it":          {skip: true},
		"its Lease alone is not renewed":  {operator: operatorObjects(1, 1, "operator-1", long)[1:]},
		"Lease released, and scaled to 0": {operator: operatorObjects(0, 0, "", long)},
	} {
		t.Run(name, func(t *testing.T) {
			for _, skip := range []bool{false, true} {
				s, r := newStage(t, dead().Operator().Add(tc.operator...))
				r.Args = []string{"replace", "-n", "demo", target, "--yes", "--wait=false", "--skip-check", "no-operation,down-for"}
				if skip {
					r.Args[len(r.Args)-1] += ",operator"
				}
				res := r.Do(t)
				_, labelled := s.service().Labels[api.LabelReplace]
				if want := tc.runs || tc.skip && skip; labelled != want || res.Code != map[bool]int{true: 0, false: 2}[want] || !want && !strings.Contains(res.Stderr, "refused by 1 check: operator") {
					t.Errorf("skip %v: exit %d, label set: %v, want %v\n%s%s", skip, res.Code, labelled, want, res.Stdout, res.Stderr)
				}
			}
		})
	}
}

// TestNoHarm47ARequestOfALivingNodeIsWithdrawnFirst: while the operator was off, the node came back; the printed step started the operator, which deletes its claim.
func TestNoHarm47ARequestOfALivingNodeIsWithdrawnFirst(t *testing.T) {
	const start = "get deployment,pods"
	for name, tc := range map[string]struct {
		cluster func() *plugintest.Cluster
		off     bool
		alive   bool
	}{
		"UP in every row, off": {prepared, true, true},
		"UP in one row, off": {func() *plugintest.Cluster {
			return dead().Sees("demo-dc1-rack1-0", target, api.NodeStatusUp, plugintest.Now)
		}, true, true},
		"DOWN and its Pod is Ready": {func() *plugintest.Cluster {
			c := dead()
			c.Pod(target).Status = prepared().Pod(target).Status
			return c
		}, true, true},
		"DOWN, off":         {dead, true, false},
		"UP, and it runs":   {prepared, false, true},
		"DOWN, and it runs": {dead, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := tc.cluster()
			c.Service(target).Labels[api.LabelReplace] = ""
			if tc.off {
				c.Operator().Add(operatorObjects(0, 0, "operator-1", plugintest.Now.Add(-time.Hour))...)
			} else {
				operated(c)
			}
			objects := c.Objects()
			verbs := [][]string{{"replace", "status"}, {"replace", "status", target}}
			if tc.off {
				verbs = append(verbs, []string{"status"})
			}
			for _, args := range verbs {
				got := plugintest.Run{Args: append(args, "-n", "demo"), Objects: objects}.Do(t)
				text := strings.Join(strings.Fields(got.Stdout), " ")
				if strings.Contains(text, "kubectl scylla replace cancel "+target) != tc.alive || tc.alive && (got.Code != 3 || strings.Contains(text, start)) {
					t.Errorf("%v: exit %d, withdrawn first: want %v\n%s%s", args, got.Code, tc.alive, got.Stdout, got.Stderr)
				}
			}
			client := plugintest.NewClient(objects, interceptor.Funcs{})
			if got := (plugintest.Run{Client: client, Args: []string{"replace", "cancel", target, "-n", "demo"}}).Do(t); got.Code != 0 {
				t.Errorf("the printed step: exit %d\n%s%s", got.Code, got.Stdout, got.Stderr)
			}
		})
	}
}

// TestBesideOperator5AServiceThatIsMadeAnewHasLostItsLabel: after a member Service was deleted, the operator makes it anew, without the request and without the host ID, while
// the claim is being deleted. The one host ID in the rows that belongs to no other member is the replaced one.
func TestBesideOperator5AServiceThatIsMadeAnewHasLostItsLabel(t *testing.T) {
	anew := func(also func(*plugintest.Cluster)) []client.Object {
		c := dead().Operator()
		svc := c.Service(target)
		delete(svc.Annotations, api.AnnotationHostID)
		delete(svc.Annotations, api.AnnotationNodeJoined)
		also(c)
		return terminating(c.Objects())
	}
	for name, tc := range map[string]struct {
		objects []client.Object
		offered bool
	}{
		"one host ID is nobody's":   {anew(func(*plugintest.Cluster) {}), true},
		"two host IDs are nobody's": {second(anew(func(*plugintest.Cluster) {})), false},
		"it is scaled away":         {anew(func(c *plugintest.Cluster) { c.Service(target).Labels[api.LabelDecommissioned] = "false" }), false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, args := range [][]string{{"replace", "status", target, "-n", "demo"}, {"replace", "status", "-n", "demo"}} {
				got := plugintest.Run{Args: args, Objects: tc.objects}.Do(t)
				if strings.Contains(got.Stdout, putBack) != tc.offered || !tc.offered && strings.Contains(got.Stdout, api.LabelReplacingNodeHostID+"=") {
					t.Errorf("%v: exit %d\n%s%s", args, got.Code, got.Stdout, got.Stderr)
				}
			}
		})
	}
}

// second adds to every row another DOWN host ID of no member: nothing tells which of the two was the member's.
func second(objects []client.Object) []client.Object {
	const id = "c0ffee00-5ea1-4d00-8000-000000000099"
	for _, o := range objects {
		switch o := o.(type) {
		case *corev1.Pod:
			if text, there := o.Annotations[api.AnnotationNodeStatusReport]; there {
				o.Annotations[api.AnnotationNodeStatusReport] = strings.Replace(text, `"observedNodes":[`, `"observedNodes":[{"hostID":"`+id+`","status":"DOWN"},`, 1)
			}
		case *api.ScyllaDBDatacenterNodesStatusReport:
			for r := range o.Racks {
				for n := range o.Racks[r].Nodes {
					if cells := o.Racks[r].Nodes[n].ObservedNodes; len(cells) > 0 {
						o.Racks[r].Nodes[n].ObservedNodes = append(cells, api.ObservedNode{HostID: id, Status: api.NodeStatusDown})
					}
				}
			}
		}
	}
	return slices.DeleteFunc(objects, func(o client.Object) bool { _, ours := o.(*api.ScyllaDBStatusReport); return ours })
}

// written sets how long ago the operator's report and the rows of the Pods but that of target were last written; zero is unknown.
func written(objects []client.Object, report time.Duration, rows ...time.Duration) {
	set := func(o client.Object, fields string, age time.Duration) {
		if o.SetManagedFields(nil); age > 0 {
			f := sim.Written(fields)
			f[0].Time.Time = plugintest.Now.Add(-age)
			o.SetManagedFields(f)
		}
	}
	others := 0
	for _, o := range objects {
		switch o := o.(type) {
		case *api.ScyllaDBDatacenterNodesStatusReport:
			set(o, `{"f:racks":{}}`, report)
		case *corev1.Pod:
			if o.Name != target {
				set(o, `{"f:metadata":{"f:annotations":{"f:`+api.AnnotationNodeStatusReport+`":{}}}}`, rows[others%len(rows)])
				others++
			}
		}
	}
}

// unchanged are objects whose rows were last written an hour ago.
func unchanged(objects []client.Object) []client.Object {
	written(objects, time.Hour, time.Hour)
	return objects
}

// TestNoHarm47HowLongItHasBeenDown: the operator's rows have no times, so down-for was unknown forever. Report and annotations are written at changes only: their last write is a lower bound.
func TestNoHarm47HowLongItHasBeenDown(t *testing.T) {
	for name, tc := range map[string]struct {
		report time.Duration
		rows   [3]time.Duration // ages of the last writes, of three witnesses
		want   string
	}{
		"long":                            {time.Hour, [3]time.Duration{time.Hour, time.Hour, time.Hour}, "down-for ok demo-dc1-rack2-0 (36d1f2a1) has been DOWN since 11:00:00 UTC or longer"},
		"not yet":                         {time.Hour, [3]time.Duration{4 * time.Minute, 4 * time.Minute, time.Hour}, "> down-for: wait until 12:01:00 UTC"},
		"the operator was away meanwhile": {time.Hour, [3]time.Duration{2 * time.Minute, time.Minute, 2 * time.Minute}, "> down-for: wait until 12:03:00 UTC"},
		"a majority":                      {time.Hour, [3]time.Duration{time.Hour, time.Minute, 6 * time.Minute}, "has been DOWN since 11:54:00 UTC or longer"},
		"unknown":                         {0, [3]time.Duration{}, "> down-for: check how long it has been DOWN"},
		"unknown of the annotations":      {time.Hour, [3]time.Duration{time.Hour}, "> down-for: check how long it has been DOWN"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := operated(dead()).Objects()
			written(objects, tc.report, tc.rows[:]...)
			got := plugintest.Run{Objects: objects, Args: []string{"replace", target, "-n", "demo", "--dry-run=client"}}.Do(t)
			if text := strings.Join(strings.Fields(got.Stdout), " "); !strings.Contains(text, tc.want) {
				t.Errorf("want %q\n%s%s", tc.want, got.Stdout, got.Stderr)
			}
		})
	}
}
