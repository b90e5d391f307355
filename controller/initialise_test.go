// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"slices"
	"strings"
	"testing"

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
	p.namespace(rack("rack1"))
	first := p.run()
	p.condition(api.ConditionInitialized, metav1.ConditionFalse, "no node of the cluster has joined yet")
	p.say("demo-rack1-0", strings.Replace(row(h0, "", h0), `"hostID":"`+h0+`","operationMode"`, `"hostID":"`+h0+`","coordinator":"`+h0+`","operationMode"`, 1))

	up := func(s *api.ScyllaDBStatusReportStatus) bool {
		return s.View != nil && len(s.View.Members) == 1 && s.View.Members[0].State == api.NodeStatusUp
	}
	p.report("a view that says UP", up)
	report := p.report("the initialisation", func(s *api.ScyllaDBStatusReportStatus) bool { return s.Initialized })
	if i := report.Status.Initialization; i == nil || i.FirstHostID != h0 || i.Recovered {
		t.Errorf("initialisation %+v", i)
	}
	var owners []string
	for _, f := range report.ManagedFields {
		if f.Subresource == "status" && f.FieldsV1 != nil && strings.Contains(string(f.FieldsV1.GetRawBytes()), `"f:initialized":`) {
			owners = append(owners, f.Manager)
		}
	}
	if !slices.Equal(owners, []string{api.FieldOwnerInitialization}) {
		t.Errorf("status.initialized is owned by %q", owners)
	}

	was := view.StampOf(report.Status.View)
	first.stop(t)
	p.run()
	p.report("the view of a newer term", func(s *api.ScyllaDBStatusReportStatus) bool {
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
