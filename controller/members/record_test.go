// SPDX-License-Identifier: Apache-2.0

package members

import (
	"encoding/json"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/hostids"
)

func flag(b bool) *bool { return &b }

var at = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func TestRecord(t *testing.T) {
	said := func(hostID, joined string) map[string]string {
		m := map[string]string{}
		if hostID != "" {
			m[api.AnnotationHostID] = hostID
		}
		if joined != "" {
			m[api.AnnotationNodeJoined] = joined
		}
		return m
	}
	joins := func(hostID string, m map[string]string) map[string]string {
		m[api.AnnotationJoinedAt] = hostID + " 2026-11-22T12:00:00Z"
		return m
	}
	for name, c := range map[string]struct {
		recorded map[string]string
		row      *api.NodeStatusReport
		want     map[string]string
	}{
		"nothing said":                                   {recorded: said("a", "true")},
		"a node that does not know its host ID":          {recorded: said("a", "true"), row: &api.NodeStatusReport{}},
		"a new node knows its host ID":                   {row: &api.NodeStatusReport{HostID: "a"}, want: said("a", "")},
		"a new node owns no tokens yet":                  {row: &api.NodeStatusReport{HostID: "a", OwnsTokens: flag(false)}, want: said("a", "false")},
		"a new node owns tokens":                         {recorded: said("a", "false"), row: &api.NodeStatusReport{HostID: "a", OwnsTokens: flag(true)}, want: joins("a", map[string]string{api.AnnotationNodeJoined: "true"})},
		"C4: a member from before anything was recorded": {row: &api.NodeStatusReport{HostID: "a", OwnsTokens: flag(true)}, want: said("a", "true")},
		"a new node tries again with another host ID":    {recorded: said("a", "false"), row: &api.NodeStatusReport{HostID: "b", OwnsTokens: flag(false)}, want: said("b", "")},
		"B1: a zero-token node serves": {recorded: said("a", "false"), row: &api.NodeStatusReport{
			HostID: "a", OwnsTokens: flag(false), OperationMode: "NORMAL", ObservedNodes: []api.ObservedNodeStatusReport{{HostID: "a", Status: api.NodeStatusUp}},
		}, want: joins("a", said("", "true"))},
		"B1: a zero-token node joins": {row: &api.NodeStatusReport{
			HostID: "a", OwnsTokens: flag(false), OperationMode: "JOINING", ObservedNodes: []api.ObservedNodeStatusReport{{HostID: "a", Status: api.NodeStatusUp}},
		}, want: said("a", "false")},
		"a member that is silent about tokens":              {recorded: said("a", "true"), row: &api.NodeStatusReport{HostID: "a"}},
		"a member that restarts and owns none yet":          {recorded: said("a", "true"), row: &api.NodeStatusReport{HostID: "a", OwnsTokens: flag(false), OperationMode: "STARTING"}},
		"a member that was decommissioned":                  {recorded: said("a", "true"), row: &api.NodeStatusReport{HostID: "a", OwnsTokens: flag(false), OperationMode: "DECOMMISSIONED"}, want: said("", "false")},
		"a member that leaves and owns tokens still":        {recorded: said("a", "true"), row: &api.NodeStatusReport{HostID: "a", OwnsTokens: flag(true), OperationMode: "LEAVING"}},
		"another host ID that has not joined":               {recorded: said("a", "true"), row: &api.NodeStatusReport{HostID: "b", OwnsTokens: flag(false)}},
		"another host ID of which that is not known":        {recorded: said("a", "true"), row: &api.NodeStatusReport{HostID: "b"}},
		"another host ID that was decommissioned":           {recorded: said("a", "true"), row: &api.NodeStatusReport{HostID: "b", OwnsTokens: flag(false), OperationMode: "DECOMMISSIONED"}},
		"another host ID that has joined replaces it":       {recorded: said("a", "true"), row: &api.NodeStatusReport{HostID: "b", OwnsTokens: flag(true)}, want: joins("b", said("b", ""))},
		"its host ID was lost, and the node has not joined": {recorded: said("", "true"), row: &api.NodeStatusReport{HostID: "a", OwnsTokens: flag(false)}},
		"a member whose host ID was lost from its Service":  {recorded: said("", "true"), row: &api.NodeStatusReport{HostID: "a"}, want: said("a", "")},
	} {
		t.Run(name, func(t *testing.T) {
			got := Record(c.recorded, c.row, at)
			if len(got) == 0 && len(c.want) == 0 {
				return
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A node that joined and ended while no controller recorded it has a last row. Its host ID is recorded where none is; whether it had joined stays unknown.
func TestNoHarm30ANodeThatEndedUnrecordedIsRecordedByItsLastRow(t *testing.T) {
	said := func(hostID, joined string) map[string]string {
		return map[string]string{api.AnnotationHostID: hostID, api.AnnotationNodeJoined: joined}
	}
	refused := "connection refused"
	row := &api.NodeStatusReport{Error: &refused, LastRow: &api.LastRow{HostID: "a"}}
	for name, c := range map[string]struct {
		recorded, want map[string]string
	}{
		"nothing is recorded":                    {want: map[string]string{api.AnnotationHostID: "a"}},
		"a member, without its host ID":          {recorded: said("", "true"), want: map[string]string{api.AnnotationHostID: "a"}},
		"another host ID":                        {recorded: said("b", "true")},
		"another host ID, and it has not joined": {recorded: said("b", "false")},
	} {
		if diff := cmp.Diff(c.want, Record(c.recorded, row, at)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := Record(nil, &api.NodeStatusReport{Error: &refused}, at); got != nil {
		t.Errorf("no last row: %v", got)
	}
}

// The Scylla Operator's sidecar asks ScyllaDB and writes the Service in one step. Here the reporter asks, which its own tests cover, and this package
// writes; the case's answers are converted to the row that the reporter would write. The hash of the token ring is the operator's alone.
func TestRecordAgreesWithTheScyllaOperatorsSidecar(t *testing.T) {
	data, err := os.ReadFile("../../test/simulation/vectors/sidecar-annotation-cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		ID    string
		Input struct {
			LocalHostID, HostIDMap string
			HTTPErrors             map[string]int
			NodeTokens             map[string]string
		}
		Expected struct{ AnnotationsWritten map[string]string }
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) != 9 {
		t.Fatalf("%d cases, want 9", len(cases))
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			row := &api.NodeStatusReport{}
			if c.Input.HTTPErrors["/storage_service/hostid/local"] == 0 {
				row.HostID = hostid.ID(c.Input.LocalHostID)
			}
			var pairs []struct{ Key, Value string }
			if c.Input.HTTPErrors["/storage_service/host_id"] == 0 {
				if err := json.Unmarshal([]byte(c.Input.HostIDMap), &pairs); err != nil {
					t.Fatal(err)
				}
			}
			for _, p := range pairs {
				var tokens []string
				if p.Value == string(row.HostID) && c.Input.HTTPErrors["/storage_service/tokens/"+p.Key] == 0 && json.Unmarshal([]byte(c.Input.NodeTokens[p.Key]), &tokens) == nil {
					row.OwnsTokens = flag(len(tokens) > 0)
				}
			}
			want := maps.Clone(c.Expected.AnnotationsWritten)
			maps.DeleteFunc(want, func(k, _ string) bool { return strings.HasSuffix(k, "token-ring-hash") })
			got := Record(nil, row, at)
			if got == nil {
				got = map[string]string{}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatIsRecordedNeverGetsWorse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		annotations := map[string]string{}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			row := &api.NodeStatusReport{
				HostID:        hostid.ID(rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "host")),
				OwnsTokens:    rapid.SampledFrom([]*bool{nil, flag(false), flag(true)}).Draw(t, "owns"),
				OperationMode: rapid.SampledFrom([]string{"", "STARTING", "JOINING", "NORMAL", "DECOMMISSIONED"}).Draw(t, "mode"),
			}
			before := maps.Clone(annotations)
			maps.Copy(annotations, Record(annotations, row, at))
			joined := before[api.AnnotationNodeJoined] == "true"
			if id := before[api.AnnotationHostID]; joined && annotations[api.AnnotationHostID] != id && id != "" && (row.OwnsTokens == nil || !*row.OwnsTokens) {
				t.Fatalf("%v overwrote %v", row, before)
			}
			if joined && annotations[api.AnnotationNodeJoined] != "true" && row.OperationMode != "DECOMMISSIONED" {
				t.Fatalf("%v made %v not joined", row, before)
			}
			if again := Record(annotations, row, at); len(again) > 0 {
				t.Fatalf("the same again writes %v", again)
			}
		}
	})
}

func TestLeft(t *testing.T) {
	sees := func(ids ...string) *api.NodeStatusReport {
		r := &api.NodeStatusReport{}
		for _, id := range ids {
			r.ObservedNodes = append(r.ObservedNodes, api.ObservedNodeStatusReport{HostID: hostid.ID(id), Status: api.NodeStatusUp})
		}
		return r
	}
	boom, x := "boom", hostids.UUID("x")
	// member has a Pod whose reporter runs, unless flags have s for stale; j has joined.
	member := func(flags string, row *api.NodeStatusReport) *cluster.Member {
		m := &cluster.Member{Service: &corev1.Service{}, Joined: flag(strings.Contains(flags, "j")), Report: row, Pod: &corev1.Pod{}}
		m.Pod.Status.Phase = corev1.PodRunning
		m.Pod.Spec.Containers = []corev1.Container{{Name: api.ContainerReporter}}
		m.Pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: api.ContainerReporter, Ready: !strings.Contains(flags, "s"), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		}}
		return m
	}
	type members = []*cluster.Member
	for name, c := range map[string]struct {
		hostID string
		joined bool
		others members
		left   bool
	}{
		"no node ever started":                   {"", false, nil, true},
		"all others have forgotten it":           {x, true, members{member("j", sees("a", "b")), member("j", sees("a", "b"))}, true},
		"a majority has":                         {x, true, members{member("j", sees("a")), member("j", sees("a")), member("j", nil)}, true},
		"a minority has":                         {x, true, members{member("j", sees("a")), member("j", nil), member("j", nil)}, false},
		"one lists it":                           {x, true, members{member("j", sees("a")), member("j", sees("a", x))}, false},
		"an old row lists it":                    {x, true, members{member("j", sees("a")), member("j", sees("a")), member("js", sees(x))}, false},
		"one that has not joined lists it":       {x, true, members{member("j", sees("a")), member("", sees(x))}, false},
		"old rows do not speak for its absence":  {x, true, members{member("js", sees("a"))}, false},
		"rows with errors do not either":         {x, true, members{member("j", &api.NodeStatusReport{Error: &boom})}, false},
		"empty rows do not either":               {x, true, members{member("j", sees())}, false},
		"nobody is there to be asked":            {x, true, nil, false},
		"it never joined, and nobody else has":   {x, false, nil, true},
		"it never joined, and others cannot say": {x, false, members{member("j", nil)}, false},
		"joined without a recorded host ID":      {"", true, members{member("j", sees("a"))}, false},
		"listed as decommissioned": {x, true, members{member("j", &api.NodeStatusReport{ObservedNodes: []api.ObservedNodeStatusReport{
			{HostID: hostid.ID(x), Status: api.NodeStatusDown, State: api.NodeStateDecommissioned}}})}, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := &cluster.Member{Service: &corev1.Service{}, Joined: flag(c.joined)}
			if c.hostID != "" {
				m.Service.Annotations = map[string]string{api.AnnotationHostID: c.hostID}
			}
			left, why := left(m, c.others)
			if left != c.left || why == "" {
				t.Errorf("left %v because %q", left, why)
			}
		})
	}
}
