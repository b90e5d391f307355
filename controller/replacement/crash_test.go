// SPDX-License-Identifier: Apache-2.0

package replacement

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/launch"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
)

const turns = 60

// sampled selects the positions that are tried: all near a write, where state is lost or doubled, and every sample-th of the reads between them.
func sampled(calls []string, k int) bool {
	const sample = 7
	for i := max(k-1, 0); i <= min(k+1, len(calls)-1); i++ {
		if !strings.HasPrefix(calls[i], "get") && !strings.HasPrefix(calls[i], "list") {
			return true
		}
	}
	return k%sample == 0
}

// plain runs a replacement without failures and returns the controller's requests.
func plain(t *testing.T) []string {
	t.Helper()
	w := newWorld(t)
	return w.plain()
}

func (w *world) plain() []string {
	w.t.Helper()
	w.ask()
	w.run(turns)
	w.replaced()
	return w.calls
}

func TestReplacementWithoutTrouble(t *testing.T) {
	w := newWorld(t)
	calls := w.plain()
	var writes []string
	for _, c := range calls {
		if !strings.HasPrefix(c, "get") && !strings.HasPrefix(c, "list") && !strings.HasSuffix(c, " Event") {
			writes = append(writes, c)
		}
	}
	if got, want := strings.Join(writes, ", "), "patch Service, patch PersistentVolumeClaim, delete PersistentVolumeClaim, create eviction, patch Service"; got != want {
		t.Errorf("writes are %s, want %s", got, want)
	}
	// Each stage is told once, and none is left.
	if got, want := strings.Join(w.stages, ", "), "demo map[Verify:1], demo map[DeleteVolume:1], demo map[EvictPod:1], demo map[NewPod:1], demo map[Join:1], demo map[Ready:1], demo map[]"; got != want {
		t.Errorf("stages were %s, want %s", got, want)
	}
}

// The controller dies at every single request, once before it takes effect and once after.
func TestKilledAtEveryRequest(t *testing.T) {
	t.Parallel()
	calls := plain(t)
	t.Logf("%d positions", len(calls))
	for _, when := range []string{"before", "after"} {
		for k := range calls {
			if !sampled(calls, k) {
				continue
			}
			t.Run(fmt.Sprintf("%s request %d", when, k), func(t *testing.T) {
				w := newWorld(t)
				w.ask()
				die := func(n int, _, _ string) error {
					if n == k {
						return errKilled
					}
					return nil
				}
				if when == "before" {
					w.onCall = die
				} else {
					w.onDone = die
				}
				w.run(turns)
				w.replaced()
			})
		}
	}
}

// The controller dies at two requests of one replacement.
func TestKilledTwice(t *testing.T) {
	t.Parallel()
	n := len(plain(t))
	for k := 0; k < n; k += 24 {
		for l := k + 1; l < n+10; l += 29 {
			w := newWorld(t)
			w.ask()
			w.onDone = func(n int, _, _ string) error {
				if n == k || n == l {
					return errKilled
				}
				return nil
			}
			w.run(turns)
			w.replaced()
		}
	}
}

// Every request fails once: a conflict on a write, a lost answer although the write took effect, a server that restarts.
func TestEveryRequestFailsOnce(t *testing.T) {
	t.Parallel()
	calls := plain(t)
	n := len(calls)
	refused := &url.Error{Op: "Get", URL: "https://10.0.0.1", Err: &net.OpError{Op: "dial", Err: errors.New("connection refused")}}
	for name, tc := range map[string]struct {
		answer error
		effect bool
		length int
		only   string // prefix of the requests
	}{
		"conflict":              {apierrors.NewConflict(schema.GroupResource{Resource: "services"}, target, errors.New("changed")), false, 1, "patch"},
		"conflict on deletion":  {apierrors.NewConflict(schema.GroupResource{Resource: "persistentvolumeclaims"}, target, errors.New("changed")), false, 1, "delete"},
		"conflict on eviction":  {apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, target, errors.New("changed")), false, 1, "create eviction"},
		"time-out after effect": {apierrors.NewTimeoutError("lost", 1), true, 1, ""},
		"server restarts":       {refused, false, 12, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for k := range n {
				switch {
				case !sampled(calls, k), tc.length == 1 && !strings.HasPrefix(calls[k], tc.only),
					tc.effect && (strings.HasPrefix(calls[k], "get") || strings.HasPrefix(calls[k], "list")),
					tc.length > 1 && k%3 != 0: // the outages overlap
					continue
				}
				w := newWorld(t)
				w.ask()
				var hit atomic.Bool
				fail := func(at int, verb, what string) error {
					if at < k || at >= k+tc.length || !strings.HasPrefix(verb+" "+what, tc.only) {
						return nil
					}
					hit.Store(true)
					return tc.answer
				}
				if tc.effect {
					w.onDone = fail
				} else {
					w.onCall = fail
				}
				w.run(turns + tc.length)
				w.replaced()
				if t.Failed() {
					t.Fatalf("at request %d (hit %v)", k, hit.Load())
				}
			}
		})
	}
}

// A leader that was cut off sends a request that it had prepared, after its successor has finished everything.
func TestOldLeaderGoesOn(t *testing.T) {
	t.Parallel()
	calls := plain(t)
	for k := range calls {
		if !sampled(calls, k) {
			continue
		}
		w := newWorld(t)
		w.ask()
		w.onCall = func(n int, _, _ string) error {
			if n == k {
				w.run(turns)
			}
			return nil
		}
		w.run(turns)
		w.onCall = nil
		w.replaced()
		if t.Failed() {
			t.Fatalf("at request %d", k)
		}
	}
}

// The same, and the person has withdrawn the request meanwhile: the old leader must not delete.
func TestOldLeaderAfterCancellation(t *testing.T) {
	t.Parallel()
	calls := plain(t)
	n := len(calls)
	cancelled := 0
	for k := range calls {
		if !sampled(calls, k) {
			continue
		}
		w := newWorld(t)
		w.ask()
		w.onCall = func(n int, _, _ string) error {
			if n == k {
				svc, _, _ := w.get()
				delete(svc.Labels, api.LabelReplace)
				w.must(w.raw.Update(context.Background(), svc))
				r := w.controller()
				for range 5 {
					w.reconcile(r)
				}
			}
			return nil
		}
		w.run(turns)
		w.onCall = nil
		svc, _, _ := w.get()
		rec := replace.ReadRecord(svc.Labels, svc.Annotations)
		switch {
		case rec.Open() || rec.Requested:
			t.Fatalf("request %d: not over: %v", k, svc.Labels)
		case rec.Last == nil: // withdrawn before anybody had seen it: nothing was to be done
			cancelled++
			if len(w.deleted)+len(w.evicted) > 0 {
				t.Fatalf("request %d: never seen, and deleted %v", k, w.deleted)
			}
		case rec.Last.Outcome == replace.OutcomeCancelled:
			cancelled++
			if len(w.deleted)+len(w.evicted) > 0 {
				t.Fatalf("request %d: cancelled, and deleted %v evicted %v", k, w.deleted, w.evicted)
			}
		case len(w.deleted) == 0:
			if k < n-3 {
				t.Fatalf("request %d: replaced without a deletion", k)
			}
		default:
			w.replaced()
		}
	}
	if cancelled == 0 {
		t.Error("no position was early enough to cancel")
	}
}

// The controller restarts before each reconciliation: the back-off is recorded on the Service, not in memory.
func TestDisruptionBudget(t *testing.T) {
	w := newWorld(t)
	w.ask()
	w.budget = 4
	r := w.controller()
	var waits []time.Duration
	for range 2 * turns {
		r = w.controller()
		before := len(w.evicted)
		budget := w.budget
		res, err, _ := w.reconcile(r)
		if err != nil {
			t.Fatal(err)
		}
		if w.budget < budget {
			waits = append(waits, res.RequeueAfter)
			if len(w.deleted) != 1 || len(w.evicted) != before {
				t.Errorf("deleted %v evicted %v while the budget refuses", w.deleted, w.evicted)
			}
		}
		w.tick()
	}
	w.reconcile(r)
	w.replaced()
	if got, want := fmt.Sprint(waits), "[5s 10s 20s 40s]"; got != want {
		t.Errorf("waited %s, want %s", got, want)
	}
	if got := w.events(replace.EventEvictionRefused); len(got) != 1 || !strings.Contains(got[0], "needs 3 healthy pods and has 2") {
		t.Errorf("events %q", got)
	}
	svc, _, _ := w.get()
	if text, left := svc.Annotations[api.AnnotationReplaceRefused]; left {
		t.Errorf("the record of the refusal outlives the replacement: %s", text)
	}
}

// A refusal that lasts until an administrator changes something is recorded on the Service, and nothing else is deleted meanwhile.
func TestRefusedByTheAPIServer(t *testing.T) {
	pods, claims := schema.GroupResource{Resource: "pods"}, schema.GroupResource{Resource: "persistentvolumeclaims"}
	twoBudgets := &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 500,
		Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."}}
	for name, tc := range map[string]struct {
		request string
		answer  error
		says    string
		budget  bool
	}{
		"two budgets":                 {"create eviction", twoBudgets, "more than one PodDisruptionBudget", true},
		"no right to evict":           {"create eviction", apierrors.NewForbidden(pods, target, errors.New("no")), "is forbidden", false},
		"a policy protects the claim": {"delete PersistentVolumeClaim", apierrors.NewForbidden(claims, "data-"+target, errors.New("denied by policy")), "denied by policy", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.ask()
			asked := 0
			w.onCall = func(_ int, verb, what string) error {
				if verb+" "+what != tc.request {
					return nil
				}
				asked++
				return tc.answer
			}
			for range 17 { // 34 seconds: at once, after 5 and after 15, and the mark of the claim before each
				if _, err, _ := w.reconcile(w.controller()); err != nil {
					t.Fatal(err)
				}
				w.tick()
			}
			svc, pod, pvc := w.get()
			rec := replace.ReadRecord(svc.Labels, svc.Annotations).Refused
			if rec == nil || !strings.Contains(rec.Message, tc.says) || rec.Budget != tc.budget || rec.Times != asked || asked != 3 {
				t.Errorf("asked %d times, recorded %+v", asked, rec)
			}
			if pod.UID != "pod-1" || pvc.UID != "pvc-1" || len(w.evicted) != 0 {
				t.Errorf("pod %s claim %s evicted %v", pod.UID, pvc.UID, w.evicted)
			}
			w.onCall = nil
			w.run(3 * turns)
			w.replaced()
		})
	}
}

func TestCancelInTime(t *testing.T) {
	w := newWorld(t)
	w.ask()
	r := w.controller()
	w.reconcile(r) // recorded
	svc, _, _ := w.get()
	if svc.Labels[api.LabelReplacingNodeHostID] != hostOld {
		t.Fatal("not recorded")
	}
	delete(svc.Labels, api.LabelReplace)
	w.must(w.raw.Update(t.Context(), svc))
	w.run(turns)
	svc, pod, pvc := w.get()
	if rec := replace.ReadRecord(svc.Labels, svc.Annotations); rec.Open() || rec.Last.Outcome != replace.OutcomeCancelled {
		t.Errorf("%+v", rec)
	}
	if pvc.UID != "pvc-1" || pvc.DeletionTimestamp != nil || pod.UID != "pod-1" || pod.DeletionTimestamp != nil {
		t.Error("claim or Pod was touched")
	}
	if got := w.events(replace.EventCancelled); len(got) != 1 {
		t.Errorf("events %q", got)
	}
}

func TestCancelTooLate(t *testing.T) {
	w := newWorld(t)
	w.ask()
	r := w.controller()
	for len(w.deleted) == 0 {
		w.steps(r, 1, time.Second)
	}
	svc, _, _ := w.get()
	delete(svc.Labels, api.LabelReplace)
	w.must(w.raw.Update(t.Context(), svc))
	w.reconcile(r)
	if svc, _, _ := w.get(); svc.Labels[api.LabelReplace] != "" {
		t.Error("label is not back")
	} else if _, ok := svc.Labels[api.LabelReplace]; !ok {
		t.Error("label is not back")
	}
	if got := w.events(replace.EventCancelRefused); len(got) != 1 {
		t.Errorf("events %q", got)
	}
	w.run(turns)
	w.replaced()
}

// A failed attempt stays as it is until a person resumes it; the second has the original host ID and deletes the poisoned claim once.
func TestFailedAttemptAndResume(t *testing.T) {
	w := newWorld(t)
	w.ask()
	w.failNext = true
	w.run(25)
	if got := w.events(replace.EventFailed); len(got) != 1 || !strings.Contains(got[0], "Dead nodes") || !strings.Contains(got[0], "replace resume "+target) {
		t.Fatalf("events %q", got)
	}
	if len(w.deleted) != 1 || len(w.starts) != 1 {
		t.Fatalf("deleted %v, started %v", w.deleted, w.starts)
	}
	svc, _, _ := w.get()
	patch := replace.ResumePatch(replace.ReadRecord(svc.Labels, svc.Annotations), "second", "", nil, nil)
	patch.Apply(&svc.Labels, &svc.Annotations)
	w.must(w.raw.Update(t.Context(), svc))
	w.run(turns)
	svc, _, _ = w.get()
	last := replace.ReadRecord(svc.Labels, svc.Annotations).Last
	if last == nil || last.Request != "second" || last.HostID != hostOld || string(last.NewHostID) != newID(2) || last.Attempts != 2 {
		t.Fatalf("outcome %+v", last)
	}
	if fmt.Sprint(w.deleted) != "[pvc-1 pvc-2]" {
		t.Errorf("deleted %v", w.deleted)
	}
	for _, s := range w.starts {
		if fmt.Sprint(s.args) != "["+launch.FlagReplaceNode+"="+hostOld+"]" {
			t.Errorf("started with %v", s.args)
		}
	}
}

func TestResumeKilledAtEveryRequest(t *testing.T) {
	t.Parallel()
	prepare := func() *world {
		w := newWorld(t)
		w.ask()
		w.failNext = true
		w.run(25)
		svc, _, _ := w.get()
		replace.ResumePatch(replace.ReadRecord(svc.Labels, svc.Annotations), "second", "", nil, nil).Apply(&svc.Labels, &svc.Annotations)
		w.must(w.raw.Update(t.Context(), svc))
		w.calls = nil
		return w
	}
	w := prepare()
	w.run(turns)
	calls := w.calls
	for k := range calls {
		if !sampled(calls, k) {
			continue
		}
		w := prepare()
		w.onDone = func(n int, _, _ string) error {
			if n == k {
				return errKilled
			}
			return nil
		}
		w.run(turns)
		svc, _, _ := w.get()
		last := replace.ReadRecord(svc.Labels, svc.Annotations).Last
		if last == nil || last.Request != "second" || last.HostID != hostOld || fmt.Sprint(w.deleted) != "[pvc-1 pvc-2]" {
			t.Fatalf("at request %d: %+v, deleted %v", k, last, w.deleted)
		}
	}
}

// The replacement of a live node is refused with a reason, once, and nothing is written however often it reconciles.
func TestRefusedForALiveNode(t *testing.T) {
	w := newWorld(t)
	w.rows([]api.ObservedNodeStatusReport{{HostID: hostOld, Status: api.NodeStatusUp}})
	w.ask()
	r := w.controller()
	for range 5 {
		res, err, _ := w.reconcile(r)
		if err != nil || res.RequeueAfter != afterHold {
			t.Fatal(res, err)
		}
	}
	if got := w.events(replace.EventRefused); len(got) != 1 || !strings.Contains(got[0], "UP") {
		t.Errorf("events %q", got)
	}
	for _, c := range w.calls {
		if strings.HasPrefix(c, "patch") || strings.HasPrefix(c, "delete") || c == "create eviction" {
			t.Errorf("wrote: %s", c)
		}
	}
}

// Objects that the Scylla Operator owns are left alone even when they carry our label.
func TestOperatorsServiceIsLeftAlone(t *testing.T) {
	for name, change := range map[string]func(labels, annotations map[string]string){
		"by label":      func(l, _ map[string]string) { l[api.LabelManagedBy] = api.ManagedByOperator },
		"by annotation": func(_, a map[string]string) { a[api.AnnotationManagedHash] = "x" },
		"not ours":      func(l, _ map[string]string) { delete(l, api.LabelManagedBy) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.ask()
			svc, _, _ := w.get()
			change(svc.Labels, svc.Annotations)
			w.must(w.raw.Update(t.Context(), svc))
			r := w.controller()
			for range 3 {
				w.reconcile(r)
			}
			if got := strings.Join(w.calls, ","); got != "get Service,get Service,get Service" {
				t.Errorf("requests %s", got)
			}
		})
	}
}

// An old version uses the procedure by address, reports so, and keeps the original host ID all the same.
func TestOldVersionByAddress(t *testing.T) {
	w := newWorld(t)
	var log bytes.Buffer
	w.image, w.log = "docker.io/scylladb/scylla:5.1.18", &log
	for _, name := range []string{"demo-a", "demo-b", "demo-c", "demo-d"} {
		set := w.set(name[5:])
		w.must(w.raw.Delete(t.Context(), set))
		w.must(w.raw.Create(t.Context(), w.set(name[5:])))
	}
	w.rows(nil)
	_, pod, _ := w.get()
	w.ask()
	w.run(turns)
	svc, _, _ := w.get()
	last := replace.ReadRecord(svc.Labels, svc.Annotations).Last
	if last == nil || last.Outcome != replace.OutcomeReplaced || last.HostID != hostOld {
		t.Fatalf("%+v %v", last, svc.Labels)
	}
	if len(w.starts) != 1 || fmt.Sprint(w.starts[0].args) != "["+launch.FlagReplaceAddress+"="+pod.Status.PodIP+"]" {
		t.Errorf("started with %v, the old Pod had %s", w.starts, pod.Status.PodIP)
	}
	if got := w.events(replace.EventAddressDeprecated); len(got) != 1 || !strings.Contains(got[0], "deprecated") {
		t.Errorf("events %q", got)
	}
	// The warning is in the log too, once.
	warned := 0
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "level=WARN") && strings.Contains(line, "deprecated") && strings.Contains(line, "service="+target) {
			warned++
		}
	}
	if warned != 1 {
		t.Errorf("%d warnings in the log:\n%s", warned, log.String())
	}
}

// An object that cannot be read is never taken for absent.
func TestAMissingRightIsAnErrorNotAStep(t *testing.T) {
	w := newWorld(t)
	w.ask()
	w.onCall = func(_ int, _, what string) error {
		if what == "PodList" {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no"))
		}
		return nil
	}
	_, err, _ := w.reconcile(w.controller())
	if err == nil || !strings.Contains(err.Error(), "pods") {
		t.Errorf("%v", err)
	}
	svc, _, _ := w.get()
	if _, ok := svc.Labels[api.LabelReplacingNodeHostID]; ok {
		t.Error("recorded without having read the Pods")
	}
}

// The Event of the end that could not be written is written later, by the same process.
func TestTheEndIsSaidLater(t *testing.T) {
	w := newWorld(t)
	w.ask()
	r := w.controller()
	w.onCall = func(_ int, _, what string) error {
		if what == "Event" {
			return apierrors.NewInternalError(errors.New("boom"))
		}
		return nil
	}
	for range turns {
		w.reconcile(r)
		w.tick()
	}
	if got := w.events(replace.EventFinished); len(got) != 0 {
		t.Fatalf("events %q", got)
	}
	res, err, _ := w.reconcile(r)
	if err != nil || res.RequeueAfter != afterEnd {
		t.Fatalf("%v %v: nobody comes back", res, err)
	}
	w.onCall = nil
	w.reconcile(r)
	w.replaced()
	w.clock.Step(time.Hour)
	if res, _, _ := w.reconcile(r); res.RequeueAfter != 0 {
		t.Errorf("it comes back for ever: %v", res)
	}
}

// The proof that a cancelled request deletes nothing rests on this order: what becomes of a claim after the Services were read is not in the reading.
func TestClaimsAreReadFirst(t *testing.T) {
	w := newWorld(t)
	svc, _, _ := w.get()
	w.onCall = func(_ int, verb, what string) error {
		if verb+" "+what == "list ServiceList" {
			_, _, pvc := w.get()
			pvc.Annotations = map[string]string{"changed": "after the Services were read"}
			w.must(w.raw.Update(context.Background(), pvc))
		}
		return nil
	}
	reading, err := w.controller().read(t.Context(), clusterKey(svc))
	w.must(err)
	if got := reading.Input(target, w.clock.Now(), "x").Claims; len(got) != 1 || got[0].Annotations["changed"] != "" {
		t.Errorf("claims %v, want the one as it was before the Services were read", got)
	}
	w.onCall, w.calls = nil, nil
	w.ask()
	w.reconcile(w.controller())
	claims, services := slices.Index(w.calls, "list PersistentVolumeClaimList"), slices.Index(w.calls, "list ServiceList")
	if claims < 0 || services < claims {
		t.Errorf("requests %v", w.calls)
	}
}
