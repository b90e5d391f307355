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
func three() []client.Object { return racks(both, both) }

// there is the report of that datacenter as its own controller writes it.
func there() report {
	return report{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "far", Name: "demo-dc2-abcde", UID: "far"},
		DatacenterName: "dc2",
		Racks:          []api.RackReport{{Name: "r1", Nodes: []api.NodeReport{{HostID: ptr.To(stage.UUID("h9")), ObservedNodes: api.Plain(sees("UP", stage.UUID("h0"), stage.UUID("h1"), stage.UUID("h9")))}}}},
	}
}

const refuses = "its API server refuses connections"

var copyName = scope.ObjectName("demo", "eu", "dc2", "external")

func reachable() []remote.State {
	return []remote.State{{Name: "eu", Read: true, Reports: []report{there()}}}
}

// reads is a reconciliation after these remotes were read.
func (b *bench) reads(states ...remote.State) {
	b.t.Helper()
	b.remote.states = states
	b.reconcile()
}

// blocks fails unless a new member has to wait, or has not to, by either kind of report.
func (b *bench) blocks(want bool) {
	b.t.Helper()
	var l api.ScyllaDBDatacenterNodesStatusReportList
	b.must(b.client.List(b.t.Context(), &l))
	s := b.status()
	narrow := matrix.New(matrix.FromReports(l.Items), matrix.Options{}).Blockers()
	wide := matrix.New(matrix.FromStatusReport(s), matrix.Options{NotVerified: matrix.NotVerified(s)}).Blockers()
	if (len(narrow) > 0) != want || (len(wide) > 0) != want {
		b.t.Errorf("want blockers: %t; by the datacenter reports there are %v, by the cluster report %v", want, narrow, wide)
	}
}

func TestARemoteDatacenterIsCopiedAndCounted(t *testing.T) {
	b := newBench(t, three()...)
	b.reads(reachable()...)
	c := b.report(copyName)
	want := metav1.ObjectMeta{
		Labels: map[string]string{
			api.LabelManagedBy: api.ManagedByUs, api.LabelReportSelector: "demo", api.LabelRemoteReport: "eu",
		},
		Annotations: map[string]string{api.AnnotationCopy: api.CopyPulled, api.AnnotationCopyOf: "eu/far/demo-dc2-abcde"},
	}
	if diff := cmp.Diff(want, metav1.ObjectMeta{Labels: c.Labels, Annotations: c.Annotations}); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(there().Racks, c.Racks); diff != "" {
		t.Errorf("racks (-want +got):\n%s", diff)
	}
	b.blocks(false)
	if s := b.status().Status; s.Up != "3/3" {
		t.Errorf("status %+v", s)
	}
	b.quiet()
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
	const broken = "no host ID"
	b := newBench(t, three()...)
	text, err := json.Marshal([]report{there()})
	b.must(err)
	var far []report
	b.must(json.Unmarshal([]byte(strings.Replace(string(text), stage.UUID("h1"), broken, 1)), &far))
	b.reads(remote.State{Name: "eu", Read: true, Reports: far})
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
	b.blocks(true)
}

func TestAVanishedRemoteKeepsItsLastRowsAndBlocks(t *testing.T) {
	b := newBench(t, three()...)
	b.reads(reachable()...)
	failed := b.clock.Now()
	gone := remote.State{Name: "eu", Read: true, Stale: true, FailedSince: failed, Reason: refuses}
	gone.Reports = b.remote.states[0].Reports
	b.reads(gone)

	check := func(when string) {
		t.Helper()
		c := b.report(copyName)
		if n := c.Racks[0].Nodes[0]; n.HostID == nil || len(n.ObservedNodes) > 0 {
			t.Errorf("%s: the copy looks fresh: %+v", when, n)
		}
		a := c.Annotations
		if a[api.AnnotationStaleReason] != refuses || a[api.AnnotationStaleSince] != failed.Format(time.RFC3339) {
			t.Errorf("%s: annotations %v", when, a)
		}
		far := b.status()
		far.Datacenters = far.Datacenters[1:]
		d := far.Datacenters[0]
		var row []api.ObservedNodeStatusReport
		for o := range matrix.FromStatusReport(far)[0].Each() {
			row = append(row, o.Wire())
		}
		slices.SortFunc(row, func(a, b api.ObservedNodeStatusReport) int {
			return strings.Compare(string(a.HostID), string(b.HostID))
		})
		if !d.Stale || !d.StaleSince.Time.Equal(failed) || cmp.Diff(sees("UP", stage.UUID("h0"), stage.UUID("h1"), stage.UUID("h9")), row) != "" {
			t.Errorf("%s: datacenter %+v, row %v", when, d, row)
		}
		b.blocks(true)
	}
	check("just vanished")
	b.says(api.ConditionRemotesReachable, metav1.ConditionFalse, "remote eu: "+refuses)
	b.quiet()

	// A new leader has read no remote yet; the copies are its only data.
	b.reads(remote.State{Name: "eu"})
	check("after a change of leaders")
	b.reads(remote.State{Name: "eu", Stale: true, FailedSince: b.clock.Now(), Reason: refuses})
	check("still gone for the new leader")

	b.reads(reachable()...)
	b.blocks(false)
	if c := b.report(copyName); c.Annotations[api.AnnotationStaleSince] != "" {
		t.Errorf("annotations %v", c.Annotations)
	}
}

func TestALostReportOfARemoteIsNotANewDatacenter(t *testing.T) {
	b := newBench(t, three()...)
	b.reads(reachable()...)
	b.reads(remote.State{Name: "eu", Read: true})
	b.blocks(true)
	b.says(api.ConditionRemotesReachable, metav1.ConditionFalse, "no longer exists")
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
			b.blocks(false)
			b.reconciler = New(b.o) // another process
			b.remote.states = c.after
			for range 2 {
				b.reconcile()
				b.blocks(c.reason != "")
			}
			if got := b.condition(api.ConditionRemotesReachable).Message; !strings.Contains(got, c.reason) {
				t.Errorf("condition %q, want %q", got, c.reason)
			}
			b.quiet()
			b.remote.states = c.before
			if c.pushed {
				b.renew("3")
			}
			b.reconcile()
			b.blocks(false)
		})
	}
}

func TestARemoteThatWasNeverReadIsNotVerified(t *testing.T) {
	b := newBench(t, two()...)
	b.reads(remote.State{Name: "eu", Stale: true, Reason: "secret x/y: key kubeconfig is missing"})
	b.says(api.ConditionAllNodesUp, metav1.ConditionFalse, string(words.DatacenterNotVerified)+": ")
}

func TestCopiesGoWithTheirConfigurationOnly(t *testing.T) {
	b := newBench(t, three()...)
	b.reads(reachable()...)
	remotes := b.o.Remotes
	b.o.Remotes = nil
	b.reconcile()
	b.blocks(true) // remotes are turned off, and the datacenter there stays
	b.says(api.ConditionRemotesReachable, metav1.ConditionFalse)
	b.o.Remotes = remotes
	b.reads()
	b.wantReports(own)
}

func pushedCopy() *report {
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
	update(b, "pushed", func(c *report) {
		c.Annotations, c.Racks = pushedCopy().Annotations, there().Racks
		c.Annotations[api.AnnotationCopyRenewed] = value
	})
}

func TestAPushedCopyIsBelievedWhileItsPusherLives(t *testing.T) {
	b := assembled(t, append(three(), pushedCopy())...)
	b.blocks(true) // its pusher may have ended long ago
	b.renew("1b")
	b.reconcile()
	b.blocks(false)
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
	b.blocks(false)
	b.clock.Step(remote.StaleAfter)
	b.reconcile()
	b.blocks(true) // its pusher is silent
	if d := b.status().Datacenters[1]; !d.Stale || d.Nodes[0].HostID != stage.UUID("h9") {
		t.Errorf("datacenter %+v", d)
	}
	b.quiet()
	b.renew("3")
	b.reconcile()
	b.blocks(false)
}

func TestAPulledCopyTakesThePlaceOfAPushedOne(t *testing.T) {
	b := assembled(t, append(three(), pushedCopy())...)
	b.reads(reachable()...)
	b.wantReports(own, copyName)
	b.blocks(false)
	if n := b.status().Status.Nodes; n != 3 {
		t.Errorf("%d nodes", n)
	}
}

func TestSomebodyElsesReportOfTheClusterCountsToo(t *testing.T) {
	r := there()
	r.ObjectMeta = metav1.ObjectMeta{Namespace: ns, Name: "by-hand", Labels: map[string]string{api.LabelReportSelector: "demo"}}
	b := assembled(t, append(three(), &r)...)
	b.blocks(false)
	if n := b.status().Status.Nodes; n != 3 {
		t.Errorf("%d nodes", n)
	}
}
