// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/golden"
)

// The Lease has to say that the very report is kept by which the cluster is judged.
func TestTheNamedReportMustBeKept(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		report, manager string // of the report that the Services name; no report for an empty name
		keeps           string
		notKept         bool
	}{
		"ours, and kept":               {"all", api.ManagedByUs, "all", false},
		"ours, and another is kept":    {"all", api.ManagedByUs, "demo", true},
		"another writer's":             {"all", "", "demo", false},
		"it is missing":                {"", "", "demo", false},
		"missing, and nothing is kept": {"", "", "all", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			holder := "c"
			o := Objects{
				Key: Key{Namespace: "db", Name: "demo"},
				Services: []corev1.Service{{ObjectMeta: metav1.ObjectMeta{
					Name: "demo-rack1-0", Labels: map[string]string{api.LabelServiceType: api.ServiceTypeMember}, Annotations: map[string]string{api.AnnotationStatusReportOverrideRef: "all"},
				}}},
				Lease: &coordinationv1.Lease{
					ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{api.AnnotationKeeps: api.KeepMark("db", tc.keeps)}},
					Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &metav1.MicroTime{Time: start}},
				},
			}
			if tc.report != "" {
				o.StatusReport = &api.ScyllaDBStatusReport{ObjectMeta: metav1.ObjectMeta{Name: tc.report, Labels: map[string]string{api.LabelManagedBy: tc.manager}}}
			}
			if st := New(o, SourceReport, start).LeaseState(); st.NotKept != tc.notKept {
				t.Errorf("%+v", st)
			}
		})
	}
}

func TestLeaseAt(t *testing.T) {
	t.Parallel()
	now := start
	lease := func(holder string, age time.Duration) *coordinationv1.Lease {
		return &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kubectl-scylla", Name: api.LeaseName},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity: &holder, LeaseDurationSeconds: new(int32(15)), RenewTime: new(metav1.NewMicroTime(now.Add(-age))),
			},
		}
	}
	never := lease("x", 0)
	never.Spec.RenewTime = nil
	cases := map[string]*coordinationv1.Lease{
		"fresh": lease("ctrl-1", 2*time.Second), "at the limit": lease("ctrl-1", 30*time.Second), "silent": lease("ctrl-1", 31*time.Second),
		"given back": lease("", 3*time.Second), "given back long ago": lease("", time.Hour), "clock ahead": lease("ctrl-1", -time.Hour),
		"none": nil, "never renewed": never,
	}
	var out strings.Builder
	for _, name := range sortedKeys(cases) {
		st := LeaseAt(cases[name], now)
		fmt.Fprintf(&out, "%s: silent=%v since=%v holder=%q age=%s\n", name, st.Silent, st.Since.Format(time.TimeOnly), st.Holder, st.Age)
	}
	golden.Text(t, "lease.txt", out.String())
}

func TestLeaseMonitorUsesItsOwnClockOnly(t *testing.T) {
	t.Parallel()
	lease := func(holder string, renewed time.Time) *coordinationv1.Lease {
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: new(int32(10)), RenewTime: new(metav1.NewMicroTime(renewed)),
		}}
	}
	// The controller's clock is a year off: it must not matter.
	theirs := start.AddDate(-1, 0, 0)
	var m LeaseMonitor
	silent := func(at time.Duration) bool {
		_, _, s := m.Silent(start.Add(at))
		return s
	}
	if silent(time.Hour) {
		t.Error("silent before the first look")
	}
	m.Observe(lease("a", theirs), start)
	m.Observe(lease("a", theirs), start.Add(20*time.Second))
	if silent(20 * time.Second) {
		t.Error("silent at twice the duration")
	}
	if !silent(21 * time.Second) {
		t.Error("not silent after twice the duration without renewal")
	}
	if who, since, _ := m.Silent(start.Add(21 * time.Second)); who != "a" || !since.Equal(start) {
		t.Errorf("who %q since %v", who, since)
	}
	m.Observe(lease("a", theirs.Add(time.Second)), start.Add(25*time.Second))
	if silent(45 * time.Second) {
		t.Error("silent right after a renewal")
	}
	m.Observe(lease("b", theirs.Add(-time.Hour)), start.Add(46*time.Second))
	if silent(60 * time.Second) {
		t.Error("a new holder with an older clock is a sign of life")
	}
	m.Observe(lease("", theirs.Add(-time.Hour)), start.Add(61*time.Second))
	if silent(70*time.Second) || !silent(100*time.Second) {
		t.Error("a lease given back counts from the last sign of life, with the ordinary limit")
	}
	m.Observe(nil, start.Add(101*time.Second))
	if silent(131*time.Second) || !silent(132*time.Second) {
		t.Error("a lease that vanishes counts from when it was seen to vanish")
	}
}

func TestBootstrapInputKnowsASilentController(t *testing.T) {
	t.Parallel()
	st := newStage(t, 1, 2)
	name := st.Newcomer(1, 2)
	renewed := start.Add(time.Hour - time.Minute)
	o := st.objects()
	o.Lease = &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "sys", Name: api.LeaseName, Annotations: map[string]string{api.AnnotationKeeps: api.KeepMark(o.Key.Namespace, o.Key.Name)}},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("ctrl-1"), LeaseDurationSeconds: new(int32(15)), RenewTime: new(metav1.NewMicroTime(renewed))},
	}
	in, err := bootstrap.Of(New(o, SourceAuto, start.Add(time.Hour)), name)
	if err != nil {
		t.Fatal(err)
	}
	if words.Text(in.ControllerSilent) != "ctrl-1" || !in.ControllerSilentSince.Equal(renewed) {
		t.Errorf("silent %q since %v", words.Text(in.ControllerSilent), in.ControllerSilentSince)
	}
	o.Lease.Spec.RenewTime = new(metav1.NewMicroTime(start.Add(time.Hour)))
	if in, err = bootstrap.Of(New(o, SourceAuto, start.Add(time.Hour)), name); err != nil || !in.ControllerSilent.IsZero() {
		t.Errorf("silent %q, err %v: the Lease is renewed, and its holder keeps the reports", words.Text(in.ControllerSilent), err)
	}
	for _, keeps := range []string{"", api.KeepMark(o.Key.Namespace, "other"), api.KeepMark(o.Key.Namespace, o.Key.Name)[1:]} {
		o.Lease.Annotations[api.AnnotationKeeps] = keeps
		c := New(o, SourceAuto, start.Add(time.Hour))
		if in, err = bootstrap.Of(c, name); err != nil || in.ControllerSilent.Code != words.ReportsNotKept || bootstrap.HealthOf(c).Healthy {
			t.Errorf("keeps %q: silent %q, err %v: a renewed Lease is not a kept report", keeps, words.Text(in.ControllerSilent), err)
		}
	}
	o.Reports[0].Labels[api.LabelManagedBy] = api.ManagedByOperator
	if in, err = bootstrap.Of(New(o, SourceAuto, start.Add(time.Hour)), name); err != nil || !in.ControllerSilent.IsZero() {
		t.Errorf("silent %q, err %v: the operator's reports are not our controller's to keep", words.Text(in.ControllerSilent), err)
	}
}

// A Lease that was given up proves nothing from that moment on: no barrier opens on it, so status must not say otherwise for as long as it takes to lapse.
func TestAttack1ALeaseThatWasGivenUpIsSilentAtOnce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		holder string
		keeps  bool
		want   LeaseState
	}{
		"kept":              {"ctrl-1", true, LeaseState{Holder: "ctrl-1", Age: time.Second}},
		"of another":        {"ctrl-1", false, LeaseState{Holder: "ctrl-1", Age: time.Second, Silent: true, NotKept: true}},
		"given up":          {"", false, LeaseState{Age: time.Second, Silent: true, Since: start}},
		"given up, by half": {"", true, LeaseState{Age: time.Second, Silent: true, Since: start}},
	} {
		l := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &tc.holder, LeaseDurationSeconds: new(int32(15)), RenewTime: new(metav1.NewMicroTime(start))}}
		if tc.keeps {
			l.Annotations = map[string]string{api.AnnotationKeeps: api.KeepMark(key.Namespace, key.Name)}
		}
		c := New(Objects{Key: key, Lease: l}, SourceReport, start.Add(time.Second))
		if diff := cmp.Diff(tc.want, c.LeaseState()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
