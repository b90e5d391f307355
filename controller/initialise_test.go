// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
)

// The view and the initialisation on a real API server, with the kinds and the rights that are shipped, past a change of the leader.
func TestViewAndInitialisationOnARealAPIServer(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.install()
	p.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}, rack("rack1"))
	first := p.run(nil)
	p.condition(api.ConditionInitialized, metav1.ConditionFalse, "no node of the cluster has joined yet")
	p.say("demo-rack1-0", strings.Replace(row(h0, "", h0), `"hostID":"`+h0+`","operationMode"`, `"hostID":"`+h0+`","coordinator":"`+h0+`","operationMode"`, 1))

	report := &api.ScyllaDBStatusReport{}
	read := func(what string, cond func(s *api.ScyllaDBStatusReportStatus) bool) {
		t.Helper()
		p.eventually(what, func(ctx context.Context) error {
			*report = api.ScyllaDBStatusReport{}
			if err := p.get(ctx, "demo", "demo", report); err != nil {
				return err
			}
			if s := &report.Status; !cond(s) {
				return fmt.Errorf("view %+v, initialized %t, %+v", s.View, s.Initialized, s.Conditions)
			}
			return nil
		})
	}
	up := func(s *api.ScyllaDBStatusReportStatus) bool {
		return s.View != nil && len(s.View.Members) == 1 && s.View.Members[0].State == api.NodeStatusUp
	}
	read("a view that says UP", up)
	read("the initialisation", func(s *api.ScyllaDBStatusReportStatus) bool { return s.Initialized })
	if i := report.Status.Initialization; i == nil || i.FirstHostID != h0 || i.Recovered {
		t.Errorf("initialisation %+v", i)
	}
	owner := errors.New("nobody")
	for _, f := range report.ManagedFields {
		if f.Subresource == "status" && f.FieldsV1 != nil && strings.Contains(string(f.FieldsV1.GetRawBytes()), `"f:initialized":`) {
			owner = errors.Join(owner, errors.New(f.Manager))
		}
	}
	if owner.Error() != "nobody\n"+api.FieldOwnerInitialization {
		t.Errorf("status.initialized is owned by %v", owner)
	}

	was := view.StampOf(report.Status.View)
	first.stop(t)
	p.run(nil)
	read("the view of a newer term", func(s *api.ScyllaDBStatusReportStatus) bool {
		return up(s) && s.View.Epoch > was.Epoch && s.Initialized
	})
	// The kind's list of statuses: what an older controller has written is taken, another word is not.
	for word, taken := range map[string]bool{"UP": true, "DOWN": true, "UNKNOWN": true, "MISSING": true, "Up": false, "": false} {
		r := &api.ScyllaDBStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", GenerateName: "words-"}}
		r.Datacenters = []api.StatusReportDatacenter{{Name: "dc1", Nodes: []api.StatusReportNode{{
			HostID: h0, ObservedNodes: []api.ObservedNodeStatusReport{{HostID: h0, Status: api.NodeStatus(word)}}}}}}
		if err := p.client.Create(t.Context(), r); (err == nil) != taken || err != nil && !apierrors.IsInvalid(err) {
			t.Errorf("status %q: %v", word, err)
		}
	}
}
