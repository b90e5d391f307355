// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/credential"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
)

// The wire: a fresh view's order reaches the container and its result the annotation.
func TestTheCredentialOnTheWire(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.o.CredentialDir = t.TempDir()
		l := &leader{v: stamped(1, 41)}
		at := metav1.NewTime(time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC))
		l.v.Credential = &api.StatusReportViewCredential{Member: pod, Quiet: true, Datacenters: map[string]api.StatusReportViewDatacenter{"dc1": {Racks: 2, Nodes: 4}}, Settings: &api.InitialSettings{
			Hash: "h", AppliedAt: &at, Items: []api.InitialSetting{{Name: "system_traces", State: "Applied", Ours: []string{"x"}, RepairDue: true}},
		}}
		f := w.follows(l)
		order := func() (o credential.Order, err error) {
			err = credential.Load(filepath.Join(w.o.CredentialDir, credential.OrderFile), &o)
			return o, err
		}
		if f.credential(); f.orderFailed {
			t.Error("an order that never was cannot be withdrawn, which is no failure")
		}
		if _, err := order(); err == nil {
			t.Error("an order without a view")
		}
		f.look(t.Context())
		f.credential()
		got, err := order()
		want := credential.Order{At: time.Now(), StatusReportViewCredential: *l.v.Credential}
		if diff := cmp.Diff(want, got, cmp.Comparer(time.Time.Equal)); diff != "" || err != nil || !got.Stands(time.Now()) {
			t.Errorf("%v\n%s", err, diff)
		}
		// The view grows old: the order is withdrawn.
		time.Sleep(healthpolicy.MostViewLimit + time.Second)
		f.credential()
		if _, err := order(); err == nil {
			t.Error("an order by an old view")
		}
		// It names another member.
		l.v = stamped(1, 42)
		l.v.Credential = &api.StatusReportViewCredential{Member: "demo-rack2-0"}
		f.look(t.Context())
		f.credential()
		if _, err := order(); err == nil {
			t.Error("an order for another member")
		}

		result := credential.Report{}
		result.Note(api.RootCredential{Mode: credential.Managed, Code: credential.Pending, Reason: credential.Refused, Server: "0x2100", Default: credential.DefaultOpen}, at.Time)
		result.Settings = &api.InitialSettings{Hash: "0123456789abcdef", AppliedAt: &at, Items: []api.InitialSetting{{
			Name: "system_traces", State: credential.Due, Reason: credential.NotQuiet, Replication: "SimpleStrategy replication_factor=2", Wanted: map[string]int32{"d'c": 3}, Ours: []string{"x"}, RepairDue: true,
		}}}
		if err := credential.Write(filepath.Join(w.o.CredentialDir, credential.ReportFile), result); err != nil {
			t.Fatal(err)
		}
		w.step(f.reporter)
		if diff := cmp.Diff(&result.CredentialReport, w.row().Credential); diff != "" {
			t.Error(diff)
		}
		if strings.Contains(w.annotation(), "ALTER") {
			t.Errorf("CQL in %s", w.annotation())
		}
	})
}
