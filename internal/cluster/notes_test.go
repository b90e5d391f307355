// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// noted returns a member's notes as texts; those that warn begin with "!".
func noted(m *Member) []string {
	var out []string
	for _, n := range m.Notes() {
		text := words.Text(n.Message)
		if n.Warn {
			text = "! " + text
		}
		out = append(out, text)
	}
	return out
}

// The age of label scylla/node-maintenance is the age of its managed field; absent without one.
func TestMaintenance(t *testing.T) {
	t.Parallel()
	now := start.Add(time.Hour) // as the stage is read
	entry := func(manager string, ago time.Duration, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Time: &metav1.Time{Time: now.Add(-ago)}, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	const label = `{"f:metadata":{"f:labels":{"f:scylla/node-maintenance":{}}}}`
	timeless := entry("a", 0, label)
	timeless.Time = nil
	for name, tc := range map[string]struct {
		unlabelled bool
		fields     []metav1.ManagedFieldsEntry
		want       []string
	}{
		"no label":          {unlabelled: true, fields: []metav1.ManagedFieldsEntry{entry("kubectl-label", time.Hour, label)}},
		"no managed fields": {want: []string{"! label node-maintenance"}},
		"an entry": {
			fields: []metav1.ManagedFieldsEntry{entry("scylla-operator", time.Minute, `{"f:metadata":{"f:labels":{"f:scylla/rack":{}}}}`), entry("kubectl-label", 3*time.Hour+10*time.Second, label)},
			want:   []string{"! label node-maintenance for 3h0m, set by kubectl-label"},
		},
		"two owners: the last one": {
			fields: []metav1.ManagedFieldsEntry{entry("b", time.Hour, label), entry("a", 48*time.Hour, label)},
			want:   []string{"! label node-maintenance for 1h0m, set by b"},
		},
		"an annotation of that name": {
			fields: []metav1.ManagedFieldsEntry{entry("a", time.Hour, `{"f:metadata":{"f:annotations":{"f:scylla/node-maintenance":{}}}}`)},
			want:   []string{"! label node-maintenance"},
		},
		"fields that cannot be read": {fields: []metav1.ManagedFieldsEntry{entry("a", time.Hour, `{"f:metadata":[`), {Manager: "b"}, timeless}, want: []string{"! label node-maintenance"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, 1, 2)
			svc := st.Services["demo-rack1-0"]
			if svc.ManagedFields = tc.fields; !tc.unlabelled {
				svc.Labels[api.LabelNodeMaintenance] = "" // with any value
			}
			if diff := cmp.Diff(tc.want, noted(st.cluster(SourceAnnotation).Member("demo-rack1-0"))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The disk is shown as in the row of the node's reporter: unknown for our reporter without the
// mount, absent for the Scylla Operator's reporter.
func TestTheDisk(t *testing.T) {
	t.Parallel()
	heartbeat := &api.ReportHeartbeat{Port: 1, Fingerprint: strings.Repeat("ab", 32)}
	for name, tc := range map[string]struct {
		percent   int32 // -2 for none
		heartbeat *api.ReportHeartbeat
		want      []string
	}{
		"fine":               {percent: 85, want: []string{"disk 85 %"}},
		"empty":              {percent: 0, want: []string{"disk 0 %"}},
		"nearly full":        {percent: 90, want: []string{"! disk 90 %"}},
		"full":               {percent: 100, want: []string{"! disk 100 %"}},
		"more than full":     {percent: 101, heartbeat: heartbeat, want: nil},
		"less than nothing":  {percent: -1},
		"our own reporter":   {percent: -2, heartbeat: heartbeat, want: nil},
		"the operator's row": {percent: -2},
	} {
		for _, source := range []Source{SourceAnnotation, SourceReport, SourceLive} {
			t.Run(name+" by "+string(source), func(t *testing.T) {
				t.Parallel()
				st := newStage(t, 1, 2)
				pod := st.Pods["demo-rack1-0"]
				row, err := api.DecodeNodeStatusReport(pod.Annotations[api.AnnotationNodeStatusReport])
				if err != nil {
					t.Fatal(err)
				}
				if row.Heartbeat = tc.heartbeat; tc.percent != -2 {
					row.DiskUsedPercent = &tc.percent
				}
				text, err := api.EncodeNodeStatusReport(row)
				if err != nil {
					t.Fatal(err)
				}
				pod.Annotations[api.AnnotationNodeStatusReport] = text
				if diff := cmp.Diff(tc.want, noted(st.cluster(source).Member("demo-rack1-0"))); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// A joining node has its progress; a node in NORMAL has none.
func TestJoining(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		mode    string
		percent int32
		want    []string
	}{
		"joining":        {"JOINING", 43, []string{"joining, 43 %"}},
		"begun":          {"BOOTSTRAP", 0, []string{"joining, 0 %"}},
		"it has joined":  {"NORMAL", 43, nil},
		"over":           {"JOINING", 100, []string{"joining, 100 %"}},
		"below zero":     {"JOINING", -1, nil},
		"more than full": {"JOINING", 4300, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, 1, 2)
			text, err := api.EncodeNodeStatusReport(&api.NodeStatusReport{HostID: "99d2f3a2-9999-4999-8999-999999999999", OperationMode: tc.mode, JoinedPercent: &tc.percent})
			if err != nil {
				t.Fatal(err)
			}
			st.Pods["demo-rack1-0"].Annotations[api.AnnotationNodeStatusReport] = text
			if diff := cmp.Diff(tc.want, noted(st.cluster(SourceAnnotation).Member("demo-rack1-0"))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Who set label scylla/replace decides whether a person is to be asked, or an option of the Scylla Operator is on.
func TestReplaceAsker(t *testing.T) {
	t.Parallel()
	entry := func(manager, label string) []metav1.ManagedFieldsEntry {
		return []metav1.ManagedFieldsEntry{{Manager: manager, Time: &metav1.Time{Time: start}, FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:scylla/` + label + `":{}}}}`)}}
	}
	for name, tc := range map[string]struct {
		ours   bool
		fields []metav1.ManagedFieldsEntry
		want   words.Code
	}{
		"the operator, whose user agent is cut":   {fields: entry("scylla-operator (linux", "replace"), want: words.AskedByOperator},
		"the operator":                            {fields: entry("scylla-operator", "replace"), want: words.AskedByOperator},
		"its sidecar":                             {fields: entry("scylla-operator-sidecar (linux", "replace"), want: words.AskedBy},
		"a person":                                {fields: entry("kubectl-label", "replace"), want: words.AskedBy},
		"the operator owns another label":         {fields: entry("scylla-operator (linux", "rack")},
		"no managed fields, as of most files":     {},
		"a cluster of ours: nothing is automatic": {ours: true, fields: entry("scylla-operator", "replace")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, 1, 2)
			st.Services["demo-rack1-0"].ManagedFields = tc.fields
			c := st.cluster(SourceAnnotation)
			c.Operator = !tc.ours
			if diff := cmp.Diff(tc.want, c.Member("demo-rack1-0").ReplaceAsker().Code); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
