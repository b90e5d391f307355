// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kubectl-scylla/kubectl-scylla/controller/remote"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// keeps records the results that the reconciler passes to the keeper of the Lease.
func (b *bench) keeps() *[]error {
	var told []error
	b.o.Kept = func(key types.NamespacedName, began time.Time, err error) {
		if key != demo.NamespacedName || began.After(b.clock.Now()) {
			b.t.Errorf("told of %s from %s", key, began)
		}
		told = append(told, err)
	}
	return &told
}

func TestWhatIsKeptIsWhatWasWrittenOrFoundEqual(t *testing.T) {
	b := newBench(t, two()...)
	told := b.keeps()
	b.reconcile()
	b.reconcile()
	if len(*told) != 2 || (*told)[0] != nil || (*told)[1] != nil {
		t.Fatalf("told %v: the first was written, the second found equal", *told)
	}
	for kind, refuse := range map[string]func(client.Object) bool{
		"datacenter report": func(o client.Object) bool { _, ok := o.(*api.ScyllaDBDatacenterNodesStatusReport); return ok },
		"cluster report":    func(o client.Object) bool { _, ok := o.(*api.ScyllaDBStatusReport); return ok },
	} {
		t.Run(kind, func(t *testing.T) {
			b := newBench(t, two()...)
			told := b.keeps()
			b.reconcile()
			b.fail = func(verb string, o client.Object) error {
				if verb != "status" && refuse(o) {
					return errors.New("admission webhook says no")
				}
				return nil
			}
			b.say("demo-r1-0", oneDn)
			b.clock.Step(2 * minInterval)
			if _, err := b.Reconcile(t.Context(), demo); err == nil {
				t.Fatal("no error")
			}
			if err := (*told)[len(*told)-1]; err == nil || !strings.Contains(err.Error(), "admission webhook says no") {
				t.Errorf("told %v", err)
			}
			b.says(api.ConditionReportsKept, metav1.ConditionFalse, "admission webhook says no")
			b.said(1, "ReportNotKept StatefulSet/demo-r1: ")
			b.fail = nil
			b.reconcile()
			if err := (*told)[len(*told)-1]; err != nil {
				t.Errorf("told %v", err)
			}
			b.says(api.ConditionReportsKept, absent)
		})
	}
}

// TestNoClusterReportUnderAKindThatLacksFields: datacenter reports are written, and nothing else, so that nothing that is stored is lost.
func TestNoClusterReportUnderAKindThatLacksFields(t *testing.T) {
	b := newBench(t, two()...)
	b.withViews(1)
	told := b.keeps()
	lacks := errors.New("the kind lacks status.view: kubectl scylla install --upgrade")
	b.o.Whole = func() error { return lacks }
	narrow := func() string {
		t.Helper()
		b.clock.Step(maxBackOff)
		b.writes = nil
		if _, err := b.Reconcile(t.Context(), demo); !errors.Is(err, lacks) || !errors.Is((*told)[len(*told)-1], lacks) {
			t.Errorf("error %v, told %v", err, *told)
		}
		return strings.Join(b.writes, "\n")
	}
	if got := narrow(); !strings.Contains(got, "create *api.ScyllaDBDatacenterNodesStatusReport") || strings.Contains(got, "ScyllaDBStatusReport demo") {
		t.Errorf("written without a cluster report:\n%s", got)
	}
	b.said(1, "kubectl scylla install --upgrade")
	whole := lacks
	lacks = nil
	b.reconcile()
	if b.status().Status.View == nil {
		t.Fatal("no view")
	}
	lacks = whole
	b.say("demo-r1-0", oneDn)
	if got := narrow(); !strings.Contains(got, "update *api.ScyllaDBDatacenterNodesStatusReport") || strings.Contains(got, "api.ScyllaDBStatusReport") {
		t.Errorf("written beside a cluster report:\n%s", got)
	}
}

// A cluster whose reports cannot be written is assembled less and less often, whatever arrives in between, and at once again after a success.
func TestNoHarm27AFailingClusterIsTriedLessAndLessOften(t *testing.T) {
	b := assembled(t, two()...)
	failing, tries := true, 0
	b.fail = func(_ string, o client.Object) error {
		if _, ok := o.(*api.ScyllaDBDatacenterNodesStatusReport); ok && failing {
			tries++
			return errors.New("admission webhook says no")
		}
		return nil
	}
	b.say("demo-r1-0", oneDn)
	pass := func(d time.Duration) {
		for ; d > 0; d -= minInterval / 2 {
			b.clock.Step(minInterval / 2)
			_, _ = b.Reconcile(t.Context(), demo) // its error is counted
		}
	}
	pass(10 * time.Minute)
	if tries < 10 || tries > 20 {
		t.Errorf("%d attempts in ten minutes, want pauses that grow to %v", tries, maxBackOff)
	}
	failing = false
	pass(maxBackOff + minInterval)
	failing, tries = true, 0
	b.say("demo-r1-0", allUp)
	pass(2 * minInterval)
	if tries != 2 {
		t.Errorf("%d attempts in %v after a success, want 2", tries, 2*minInterval)
	}
}

// An empty request waits behind all clusters, so each assembly shows that the loop runs.
func TestNoHarm29EachAssemblyIsProgress(t *testing.T) {
	b := newBench(t, two()...)
	beats := 0
	b.o.Pulse = func() { beats++ }
	b.reconcile()
	b.reconcile()
	if beats != 2 {
		t.Errorf("%d beats in two assemblies", beats)
	}
	if _, err := b.Reconcile(t.Context(), reconcile.Request{}); err != nil || beats != 3 {
		t.Errorf("%d beats after an empty request: %v", beats, err)
	}
}

func TestWhatCannotBeReadIsNotKept(t *testing.T) {
	b := newBench(t, two()...)
	told := b.keeps()
	b.reconcile()
	if keys, err := b.Clusters(t.Context()); err != nil || len(keys) != 1 || keys[0] != demo.NamespacedName {
		t.Errorf("clusters %v, %v", keys, err)
	}
	b.o.Remotes = broken{}
	b.clock.Step(2 * minInterval)
	if _, err := b.Reconcile(t.Context(), demo); err == nil || (*told)[len(*told)-1] == nil {
		t.Errorf("told %v", *told)
	}
}

// A row that an attacker makes unwritable is dropped alone, and the other members' rows are still written.
func TestAttack1ATimeThatNoReportCanSayCostsItsRow(t *testing.T) {
	b := assembled(t, two()...)
	b.say("demo-r1-0", strings.Replace(oneDn, "2026-11-21T11:59:00Z", "9999-12-31T23:59:59-23:00", 1))
	b.reconcile()
	b.says(api.ConditionRowsDecoded, metav1.ConditionFalse, "demo-r1-0")
}

// Rows that change all the time cause one write of each report within two seconds.
func TestAttack9FlappingRowsCostAWriteInTwoSeconds(t *testing.T) {
	b := assembled(t, two()...)
	b.writes = nil
	const seconds = 60
	for i := range seconds * 4 {
		b.say("demo-r1-0", []string{oneDn, allUp, allUp}[i%3])
		b.clock.Step(250 * time.Millisecond)
		b.writes = b.writes[:len(b.writes)-1] // the reporter's own
		if _, err := b.Reconcile(t.Context(), demo); err != nil {
			t.Fatal(err)
		}
	}
	count := map[string]int{}
	for _, w := range b.writes {
		count[w]++
	}
	for w, n := range count {
		if n > seconds/2+1 && !strings.Contains(w, "Event") {
			t.Errorf("%d times %s within %d s", n, w, seconds)
		}
	}
	if len(count) < 2 {
		t.Errorf("nothing was written: %v", count)
	}
}

type broken struct{ remotes }

func (broken) For(context.Context, string, string) ([]remote.State, error) {
	return nil, errors.New("the remotes cannot be read")
}
