// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/faultproxy"
)

// lease is the Lease that barriers read: its holder, what it keeps and when it was renewed.
func (p *place) lease(ctx context.Context) (holder string, keeps []string, renewed time.Time) {
	l := &coordinationv1.Lease{}
	if err := p.get(ctx, manifests.Namespace, api.LeaseName, l); err != nil {
		return "", nil, time.Time{}
	}
	return ptr.Deref(l.Spec.HolderIdentity, ""), strings.Fields(l.Annotations[api.AnnotationKeeps]), ptr.Deref(l.Spec.RenewTime, metav1.MicroTime{}).Time
}

func (p *place) kept(what string, want bool) {
	p.t.Helper()
	p.eventually(what, func(ctx context.Context) error {
		holder, keeps, _ := p.lease(ctx)
		if got := holder != "" && slices.Contains(keeps, api.KeepMark("demo", "demo")); got != want {
			return fmt.Errorf("kept is %v (holder %q, keeps %v)", got, holder, keeps)
		}
		return nil
	})
}

// TestAttack1And2BarriersTrustOnlyWhatIsKept puts a proxy between the controller and the API server. The Lease that barriers read shows that the reports are kept while they are,
// and not while they are not, whatever other part of the controller lives.
func TestAttack1And2BarriersTrustOnlyWhatIsKept(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.install()
	p.namespace(rack("rack1"), rack("rack2"))
	proxy, err := faultproxy.Start(p.asController())
	p.must(err)
	t.Cleanup(proxy.Stop)

	// The first list of Pods takes long: the new leader has not seen the cluster, and proves nothing.
	remove := proxy.Add(faultproxy.Fault{Resource: "pods", Methods: []string{http.MethodGet}, Hold: true})
	r := p.runBy(proxy.Config())
	p.eventually("the election", func(ctx context.Context) error {
		return p.get(ctx, manifests.Namespace, api.LeaseName, &coordinationv1.Lease{})
	})
	p.eventually("a list of Pods that is held back", func(context.Context) error {
		if proxy.Hits() == 0 {
			return errors.New("not asked for yet")
		}
		return nil
	})
	if _, keeps, _ := p.lease(t.Context()); len(keeps) > 0 {
		t.Errorf("before the first assembly the Lease keeps %v", keeps)
	}
	remove()
	p.kept("a kept report", true)
	p.say("demo-rack1-0", row(h0, "", h0, h1))
	p.say("demo-rack2-0", row(h1, "", h0, h1))
	p.condition(api.ConditionAllNodesUp, metav1.ConditionTrue, "2 nodes")
	p.eventually("readiness", r.ready)

	// Admission rejects the reports: the process lives, leads, and renews the Lease.
	remove = proxy.Add(faultproxy.Fault{
		Methods: []string{http.MethodPut, http.MethodPost}, Resource: "scylladbdatacenternodesstatusreports", Reject: http.StatusForbidden, Message: "exceeded quota",
	})
	p.say("demo-rack1-0", row(h0, h1, h0, h1))
	p.kept("a report that cannot be written", false)
	p.eventually("no readiness", func(ctx context.Context) error {
		if err := r.ready(ctx); err == nil {
			return errors.New("it is ready")
		}
		return nil
	})
	p.condition(api.ConditionReportsKept, metav1.ConditionFalse, "exceeded quota")
	remove()
	p.kept("a report that can be written again", true)
	p.eventually("readiness again", r.ready)
	p.condition(api.ConditionAllNodesUp, metav1.ConditionFalse, "demo-rack1-0")

	r.stop(t)
	p.kept("a controller that has stopped", false)
}
