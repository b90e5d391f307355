// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/controller/remote"
	"github.com/kubectl-scylla/kubectl-scylla/controller/scope"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// both sees the two nodes here and the one there UP.
var both = stage.UUIDs(`{"observedNodes":[{"hostID":"h0","status":"UP"},{"hostID":"h1","status":"UP"},{"hostID":"h9","status":"UP"}]}`) + "\n"

// three is a cluster of two nodes here that see a third in a datacenter elsewhere.
func three() []client.Object {
	o := []client.Object{set("demo-r1", "dc1", "r1", 1), set("demo-r2", "dc1", "r2", 1)}
	o = append(o, member("demo-r1-0", "dc1", "r1", 0, stage.UUID("h0"), both)...)
	return append(o, member("demo-r2-0", "dc1", "r2", 0, stage.UUID("h1"), both)...)
}

// there is the report of that datacenter as its own controller writes it.
func there() api.ScyllaDBDatacenterNodesStatusReport {
	return api.ScyllaDBDatacenterNodesStatusReport{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "far", Name: "demo-dc2-abcde", UID: "far"},
		DatacenterName: "dc2",
		Racks:          []api.RackReport{{Name: "r1", Nodes: []api.NodeReport{{HostID: ptr.To(stage.UUID("h9")), ObservedNodes: api.Plain(sees("UP", stage.UUID("h0"), stage.UUID("h1"), stage.UUID("h9")))}}}},
	}
}

var copyName = scope.ObjectName("demo", "eu", "dc2", "external")

func reachable() []remote.State {
	return []remote.State{{Name: "eu", Read: true, Reports: []api.ScyllaDBDatacenterNodesStatusReport{there()}}}
}

func (b *bench) blocked() bool {
	b.t.Helper()
	var l api.ScyllaDBDatacenterNodesStatusReportList
	if err := b.client.List(b.t.Context(), &l); err != nil {
		b.t.Fatal(err)
	}
	narrow := len(matrix.New(matrix.FromReports(l.Items), matrix.Options{}).Blockers()) > 0
	s := b.status()
	wide := len(matrix.New(matrix.FromStatusReport(s), matrix.Options{NotVerified: matrix.NotVerified(s)}).Blockers()) > 0
	if narrow != wide {
		b.t.Errorf("by the datacenter reports blocked is %v, by the cluster report %v", narrow, wide)
	}
	return wide
}

func TestARemoteDatacenterIsCopiedAndCounted(t *testing.T) {
	b := newBench(t, three()...)
	b.remote.states = reachable()
	b.reconcile()
	c := b.report(copyName)
	if diff := cmp.Diff(map[string]string{
		api.LabelManagedBy: api.ManagedByUs, api.LabelReportSelector: "demo", api.LabelRemoteReport: "eu",
	}, c.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{api.AnnotationCopy: api.CopyPulled, api.AnnotationCopyOf: "eu/far/demo-dc2-abcde"}, c.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(there().Racks, c.Racks); diff != "" {
		t.Errorf("racks (-want +got):\n%s", diff)
	}
	if b.blocked() {
		t.Errorf("blocked by %s", b.status().Status.FirstBlocker)
	}
	if s := b.status().Status; s.Up != "3/3" {
		t.Errorf("status %+v", s)
	}
	if got := b.reconcile(); len(got) > 0 {
		t.Errorf("nothing has changed, and written were %q", got)
	}
	var published []string
	for _, r := range b.remote.published {
		published = append(published, r.DatacenterName)
		if r.UID == "" && r.ResourceVersion == "" {
			t.Errorf("report of %s is published without its identity", r.DatacenterName)
		}
	}
	if diff := cmp.Diff([]string{"dc1", "dc2"}, published); diff != "" {
		t.Errorf("published (-want +got):\n%s", diff)
	}
}

// A text that is no host ID costs its cell, from the JSON of a foreign report to the verdict: the list is read, all other cells of the row count, and the cell blocks.
func TestABrokenHostIDInAForeignReportCostsItsCell(t *testing.T) {
	text, err := json.Marshal(api.ScyllaDBDatacenterNodesStatusReportList{Items: []api.ScyllaDBDatacenterNodesStatusReport{there()}})
	if err != nil {
		t.Fatal(err)
	}
	const broken = "no host ID"
	var list api.ScyllaDBDatacenterNodesStatusReportList
	if err := json.Unmarshal([]byte(strings.Replace(string(text), stage.UUID("h1"), broken, 1)), &list); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, three()...)
	b.remote.states = []remote.State{{Name: "eu", Read: true, Reports: list.Items}}
	b.reconcile()
	if c := b.report(copyName).Racks[0].Nodes[0].ObservedNodes; len(c) != 3 || c[1].HostID != broken {
		t.Errorf("the copy has not the same texts: %+v", c)
	}
	rows := matrix.FromStatusReport(b.status())
	var got []string
	for o := range rows[len(rows)-1].Each() {
		got = append(got, string(o.HostID)+" "+o.Status.String())
	}
	slices.Sort(got)
	want := []string{" UP", stage.UUID("h0") + " UP", stage.UUID("h9") + " UP"}
	if slices.Sort(want); len(rows) != 3 || !slices.Equal(got, want) {
		t.Errorf("%d rows, the foreign one has %q, want %q", len(rows), got, want)
	}
	for _, blocker := range matrix.New(rows, matrix.Options{}).Blockers() {
		if string(blocker.Observer.HostID) != stage.UUID("h9") {
			t.Errorf("another row is in doubt: %+v", blocker)
		}
	}
	if !b.blocked() {
		t.Error("nothing blocks")
	}
}

func TestAVanishedRemoteKeepsItsLastRowsAndBlocks(t *testing.T) {
	b := newBench(t, three()...)
	b.remote.states = reachable()
	b.reconcile()
	failed := b.clock.Now()
	b.remote.states = []remote.State{{Name: "eu", Read: true, Reports: b.remote.states[0].Reports, Stale: true, FailedSince: failed, Reason: "its API server refuses connections"}}
	b.reconcile()

	check := func(when string) {
		t.Helper()
		c := b.report(copyName)
		if n := c.Racks[0].Nodes[0]; n.HostID == nil || len(n.ObservedNodes) > 0 {
			t.Errorf("%s: the copy looks fresh: %+v", when, n)
		}
		if c.Annotations[api.AnnotationStaleReason] != "its API server refuses connections" || c.Annotations[api.AnnotationStaleSince] != failed.Format(time.RFC3339) {
			t.Errorf("%s: annotations %v", when, c.Annotations)
		}
		d := b.status().Datacenters[1]
		far := *b.status()
		far.Datacenters = []api.StatusReportDatacenter{d}
		var row []api.ObservedNodeStatusReport
		for o := range matrix.FromStatusReport(&far)[0].Each() {
			row = append(row, o.Wire())
		}
		slices.SortFunc(row, func(a, b api.ObservedNodeStatusReport) int {
			return strings.Compare(string(a.HostID), string(b.HostID))
		})
		if !d.Stale || !d.StaleSince.Time.Equal(failed) || cmp.Diff(sees("UP", stage.UUID("h0"), stage.UUID("h1"), stage.UUID("h9")), row) != "" {
			t.Errorf("%s: datacenter %+v, row %v", when, d, row)
		}
		if !b.blocked() {
			t.Errorf("%s: nothing blocks", when)
		}
	}
	check("just vanished")
	if c := b.condition(api.ConditionRemotesReachable); c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "remote eu: its API server refuses connections") {
		t.Errorf("condition %+v", c)
	}
	if got := b.reconcile(); len(got) > 0 {
		t.Errorf("nothing has changed, and written were %q", got)
	}

	// A new leader has read no remote yet; the copies are its only data.
	b.remote.states = []remote.State{{Name: "eu"}}
	b.reconcile()
	check("after a change of leaders")
	b.remote.states = []remote.State{{Name: "eu", Stale: true, FailedSince: b.clock.Now(), Reason: "its API server refuses connections"}}
	b.reconcile()
	check("still gone for the new leader")

	b.remote.states = reachable()
	b.reconcile()
	if b.blocked() {
		t.Errorf("it is back, and blocked is by %s", b.status().Status.FirstBlocker)
	}
	if c := b.report(copyName); c.Annotations[api.AnnotationStaleSince] != "" {
		t.Errorf("annotations %v", c.Annotations)
	}
}

func TestALostReportOfARemoteIsNotANewDatacenter(t *testing.T) {
	b := newBench(t, three()...)
	b.remote.states = reachable()
	b.reconcile()
	b.remote.states = []remote.State{{Name: "eu", Read: true}}
	b.reconcile()
	if !b.blocked() {
		t.Error("nothing blocks")
	}
	if c := b.condition(api.ConditionRemotesReachable); c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "no longer exists") {
		t.Errorf("condition %+v", c)
	}
}

// A new process does not know the age of the copies that it finds: they count once it has read the remote, or has seen the pusher renew its mark.
func TestANewControllerDoesNotTrustCopiesOfAnyAge(t *testing.T) {
	for name, c := range map[string]struct {
		before, after []remote.State
		pushed        bool
		reason        string
	}{
		"it has read the remote":              {reachable(), reachable(), false, ""},
		"it has not read the remote":          {reachable(), []remote.State{{Name: "eu"}}, false, "this controller has not read it yet"},
		"the pusher has not renewed its copy": {nil, nil, true, "the controller that copies it here has not renewed it yet"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := three()
			if c.pushed {
				objects = append(objects, pushedCopy())
			}
			b := newBench(t, objects...)
			b.remote.states = c.before
			b.reconcile()
			if c.pushed {
				b.renew("2")
				b.reconcile()
			}
			if b.blocked() {
				t.Fatalf("before: blocked by %s", b.status().Status.FirstBlocker)
			}
			b.reconciler = New(b.o) // another process
			b.remote.states = c.after
			for range 2 {
				b.reconcile()
				if b.blocked() != (c.reason != "") {
					t.Fatalf("blocked by %q", b.status().Status.FirstBlocker)
				}
			}
			if got := b.condition(api.ConditionRemotesReachable).Message; !strings.Contains(got, c.reason) {
				t.Errorf("condition %q, want %q", got, c.reason)
			}
			if got := b.reconcile(); len(got) > 0 {
				t.Errorf("nothing has changed, and written were %q", got)
			}
			b.remote.states = c.before
			if c.pushed {
				b.renew("3")
			}
			b.reconcile()
			if b.blocked() {
				t.Errorf("after it was read: blocked by %s", b.status().Status.FirstBlocker)
			}
		})
	}
}

func TestARemoteThatWasNeverReadIsNotVerified(t *testing.T) {
	b := newBench(t, two()...)
	b.remote.states = []remote.State{{Name: "eu", Stale: true, Reason: "secret x/y: key kubeconfig is missing"}}
	b.reconcile()
	if c := b.condition(api.ConditionAllNodesUp); c.Status != metav1.ConditionFalse || c.Reason != string(words.DatacenterNotVerified) {
		t.Errorf("condition %+v", c)
	}
}

func TestCopiesGoWithTheirConfigurationOnly(t *testing.T) {
	b := newBench(t, three()...)
	b.remote.states = reachable()
	b.reconcile()
	remotes := b.o.Remotes
	b.o.Remotes = nil
	b.reconcile()
	if !b.blocked() {
		t.Error("remotes are turned off, and the datacenter there dropped out")
	}
	if c := b.condition(api.ConditionRemotesReachable); c.Status != metav1.ConditionFalse {
		t.Errorf("condition %+v", c)
	}
	b.o.Remotes = remotes
	b.remote.states = nil
	b.reconcile()
	if diff := cmp.Diff([]string{scope.ObjectName("demo", "dc1")}, b.names()); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
}

func pushedCopy() *api.ScyllaDBDatacenterNodesStatusReport {
	r := there()
	r.ObjectMeta = metav1.ObjectMeta{Namespace: ns, Name: "pushed",
		Labels:        map[string]string{api.LabelReportSelector: "demo", api.LabelManagedBy: api.ManagedByUs, api.LabelRemoteReport: "dc2"},
		Annotations:   map[string]string{api.AnnotationCopy: api.CopyPushed, api.AnnotationCopyRenewed: "1", api.AnnotationCopyPusher: "far"},
		ManagedFields: writtenBy(api.FieldOwnerController)}
	return &r
}

// renew writes the copy as its pusher does.
func (b *bench) renew(value string) {
	b.t.Helper()
	c := b.report("pushed")
	c.Annotations = map[string]string{api.AnnotationCopy: api.CopyPushed, api.AnnotationCopyRenewed: value, api.AnnotationCopyPusher: "far"}
	c.Racks = there().Racks
	if err := b.client.Update(b.t.Context(), c); err != nil {
		b.t.Fatal(err)
	}
}

func TestAPushedCopyIsBelievedWhileItsPusherLives(t *testing.T) {
	b := newBench(t, append(three(), pushedCopy())...)
	b.reconcile()
	if !b.blocked() {
		t.Error("its pusher may have ended long ago, and nothing blocks")
	}
	b.renew("1b")
	b.reconcile()
	if b.blocked() {
		t.Errorf("blocked by %s", b.status().Status.FirstBlocker)
	}
	b.clock.Step(minInterval)
	res, err := b.Reconcile(t.Context(), demo)
	if err != nil || res.RequeueAfter <= 0 || res.RequeueAfter > remote.StaleAfter {
		t.Errorf("nobody looks again: %+v, %v", res, err)
	}
	b.clock.Step(remote.StaleAfter - 10*time.Second)
	b.renew("2")
	b.reconcile()
	b.clock.Step(remote.StaleAfter - 10*time.Second)
	b.reconcile()
	if b.blocked() {
		t.Errorf("it was renewed, and blocked is by %s", b.status().Status.FirstBlocker)
	}
	b.clock.Step(remote.StaleAfter)
	b.reconcile()
	if !b.blocked() {
		t.Error("its pusher is silent, and nothing blocks")
	}
	if d := b.status().Datacenters[1]; !d.Stale || d.Nodes[0].HostID != stage.UUID("h9") {
		t.Errorf("datacenter %+v", d)
	}
	if got := b.reconcile(); len(got) > 0 {
		t.Errorf("nothing has changed, and written were %q", got)
	}
	b.renew("3")
	b.reconcile()
	if b.blocked() {
		t.Errorf("its pusher is back, and blocked is by %s", b.status().Status.FirstBlocker)
	}
}

func TestAPulledCopyTakesThePlaceOfAPushedOne(t *testing.T) {
	b := newBench(t, append(three(), pushedCopy())...)
	b.reconcile()
	b.remote.states = reachable()
	b.reconcile()
	if diff := cmp.Diff([]string{scope.ObjectName("demo", "dc1"), copyName}, b.names()); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
	if b.blocked() || b.status().Status.Nodes != 3 {
		t.Errorf("status %+v", b.status().Status)
	}
}

func TestSomebodyElsesReportOfTheClusterCountsToo(t *testing.T) {
	r := there()
	r.ObjectMeta = metav1.ObjectMeta{Namespace: ns, Name: "by-hand", Labels: map[string]string{api.LabelReportSelector: "demo"}}
	b := newBench(t, append(three(), &r)...)
	b.reconcile()
	if b.blocked() || b.status().Status.Nodes != 3 {
		t.Errorf("status %+v", b.status().Status)
	}
}
