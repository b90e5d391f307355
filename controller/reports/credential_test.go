// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/controller/views"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/credential"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// managed is a cluster whose first member has the container of the credential and has joined, and whose second one waits.
func managed(t *testing.T) (*bench, *views.Tracker) {
	t.Helper()
	o := append(one(), set("demo-r2", "dc1", "r2", 1))
	o = append(o, waiting("r2", 0, time.Hour)...)
	withCredential(o[2].(*corev1.Pod))
	b, tracker := viewed(t, append(o, pvc("demo-r2-0", "claim"))...)
	b.join()
	return b, tracker
}

func withCredential(p *corev1.Pod) {
	p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: api.ContainerCredential, Args: []string{"credential", "--mode=managed"}})
}

// answers is the row of the first member with a result of its container.
func (b *bench) answers(result string) {
	b.t.Helper()
	b.say("demo-r1-0", strings.TrimSuffix(firstWell, "}\n")+`,"credential":`+result+"}\n")
}

// setAnnotation annotates the first StatefulSet.
func (b *bench) setAnnotation(key, value string) {
	b.t.Helper()
	update(b, "demo-r1", func(s *appsv1.StatefulSet) { metav1.SetMetaDataAnnotation(&s.ObjectMeta, key, value) })
}

const verified = `{"credential":{"mode":"managed","code":"Verified","default":"closed","at":"2026-11-21T12:01:00Z"},"settings":{"hash":"h1","appliedAt":"2026-11-21T12:01:00Z","items":[` +
	`{"name":"system_distributed","state":"Applied","replication":"NetworkTopologyStrategy dc1=1","ours":["NetworkTopologyStrategy dc1=1"]},` +
	`{"name":"system_traces","state":"Applied","replication":"NetworkTopologyStrategy dc1=1","ours":["NetworkTopologyStrategy dc1=1"],"repairDue":true}]}}`

const due = `{"credential":{"mode":"managed","code":"Verified","default":"closed"},"settings":{"hash":"h0","items":[{"name":"system_traces","state":"Due","replication":"SimpleStrategy replication_factor=2","wanted":{"dc1":1},` +
	`"ours":["SimpleStrategy replication_factor=2","NetworkTopologyStrategy dc1=1"]}]}}`

// The first attempt precedes the second node's permit, and no attempt that stays away holds it up for longer than a minute.
func TestTheFirstAttemptPrecedesTheSecondNode(t *testing.T) {
	for name, answer := range map[string]string{"answered": verified, "failed": `{"credential":{"mode":"managed","code":"Pending","reason":"SocketClosed"}}`, "silent": "", "due": due} {
		t.Run(name, func(t *testing.T) {
			b, tracker := managed(t)
			if v := b.status().Status.View; v.Credential != nil {
				t.Errorf("the cluster is not initialised, and %+v is told to act", v.Credential)
			}
			b.pass(tracker, 2*view.Stabilisation)
			v := b.status().Status.View
			if c := v.Credential; c == nil || c.Member != "demo-r1-0" || !c.Quiet || c.Datacenters["dc1"] != (api.StatusReportViewDatacenter{Racks: 1, Nodes: 1}) {
				t.Fatalf("view %+v", c)
			}
			if len(v.Permits) > 0 || v.Queue[0].Reason != string(words.PermitWaitsForCredential) {
				t.Fatalf("permits %+v, queue %+v", v.Permits, v.Queue)
			}
			since := b.clock.Now()
			if answer != "" {
				b.answers(answer)
			}
			for len(b.permitted()) == 0 && b.clock.Since(since) < 2*view.Attempt {
				b.pass(tracker, view.Interval)
			}
			took, limit := b.clock.Since(b.status().Status.Initialization.At.Time), view.Attempt+3*view.Interval
			settled := answer != "" && answer != due
			if settled {
				took, limit = b.clock.Since(since), 3*view.Interval
			}
			if got := b.permitted(); !slices.Equal(got, []string{"demo-r2-0 claim"}) || took > limit || !settled && took < view.Attempt {
				t.Errorf("permits of %q after %s, limit %s", got, took, limit)
			}
			// A setting that is only due is stored and in the order, and no Event says anything about it.
			if answer == due {
				if c := b.status().Status.View.Credential; c == nil || c.Settings == nil || !credential.Ready(c.Settings, c.Settings) {
					t.Errorf("the order does not have it: %+v", c)
				}
				b.said(0, "Settings")
			}
		})
	}
}

// The order is quiet only while all nodes are UP and NORMAL; nodes that own tokens are counted with their racks.
func TestTheOrderIsQuiet(t *testing.T) {
	const joined = `,"operationMode":"NORMAL","ownsTokens":true,"coordinator":"h0"}`
	for name, tc := range map[string]struct {
		first, second string // rows without the columns that both have
		quiet         bool
		nodes         int32
	}{
		"all UP":         {`{"hostID":"h0","status":"UP"},{"hostID":"h1","status":"UP"}`, `{"hostID":"h0","status":"UP"},{"hostID":"h1","status":"UP"}`, true, 2},
		"one DOWN":       {`{"hostID":"h0","status":"UP"},{"hostID":"h1","status":"DOWN"}`, `{"hostID":"h0","status":"UP"},{"hostID":"h1","status":"UP"}`, false, 2},
		"joining":        {`{"hostID":"h0","status":"UP"},{"hostID":"h1","status":"UP","state":"JOINING"}`, "", false, 1},
		"leaving":        {`{"hostID":"h0","status":"UP"},{"hostID":"h1","status":"UP","state":"LEAVING"}`, `{"hostID":"h0","status":"UP"},{"hostID":"h1","status":"UP","state":"LEAVING"}`, false, 2},
		"no row of a UP": {`{"hostID":"h0","status":"UP"},{"hostID":"h1","status":"UP"}`, "", false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			b, tracker := managed(t)
			b.pass(tracker, 2*view.Stabilisation)
			b.say("demo-r1-0", stage.UUIDs(`{"observedNodes":[`+tc.first+`],"hostID":"h0"`+joined)+"\n")
			if tc.second != "" {
				b.say("demo-r2-0", stage.UUIDs(`{"observedNodes":[`+tc.second+`],"hostID":"h1"`+joined)+"\n")
			}
			b.pass(tracker, 2*view.Interval)
			want := api.StatusReportViewDatacenter{Racks: tc.nodes, Nodes: tc.nodes}
			if c := b.status().Status.View.Credential; c == nil || c.Quiet != tc.quiet || c.Datacenters["dc1"] != want {
				t.Errorf("%+v, want quiet %t and %+v", c, tc.quiet, want)
			}
		})
	}
}

// One member acts: the first healthy one with the container, until it is no longer healthy.
func TestOneMemberActs(t *testing.T) {
	b, tracker := managed(t)
	update(b, "demo-r2-0", withCredential)
	updateStatus(b, "demo-r2-0", func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerScyllaDB, Ready: true, State: running(true).State}}
	})
	b.pass(tracker, 2*view.Stabilisation)
	row := func(id, mode string) string {
		return stage.UUIDs(`{"observedNodes":[{"hostID":"h0","status":"UP"},{"hostID":"h1","status":"UP"}],"hostID":"`+id+`","operationMode":"`+mode+`","ownsTokens":true,"coordinator":"h0"}`) + "\n"
	}
	for _, tc := range []struct{ first, second, acts string }{
		{"NORMAL", "NORMAL", "demo-r1-0"},
		{"DRAINED", "NORMAL", "demo-r2-0"},
		{"NORMAL", "NORMAL", "demo-r2-0"},
		{"DRAINED", "DRAINED", ""},
	} {
		b.say("demo-r1-0", row("h0", tc.first))
		b.say("demo-r2-0", row("h1", tc.second))
		b.pass(tracker, view.Interval)
		for range 3 { // and it stays that member
			b.pass(tracker, view.Interval)
			acts := ""
			if c := b.status().Status.View.Credential; c != nil {
				acts = c.Member
			}
			if acts != tc.acts {
				t.Errorf("%s and %s: %q acts, want %q", tc.first, tc.second, acts, tc.acts)
			}
		}
	}
}

// The result becomes the status, the condition and Events, once each; what was once self-initialised stays so, and a recorded repair is no longer due.
func TestTheRootCredentialInTheStatus(t *testing.T) {
	b, tracker := managed(t)
	b.pass(tracker, 2*view.Stabilisation)
	if c := b.condition(api.ConditionRootCredential); c.Type != "" || b.status().Status.RootCredential.Mode != "managed" {
		t.Errorf("nothing is known, and %+v", c)
	}
	if s := b.status().Status.InitialSettings; s == nil || len(s.Items) != 1 || s.Items[0].Name != api.SettingHealthPolicy || s.AppliedAt == nil {
		t.Errorf("settings %+v", s)
	}
	tests := []struct {
		answer         string
		status, reason string
		event          string
	}{
		{`{"credential":{"mode":"managed","code":"Pending","reason":"ManagerNotReady"}}`, "Unknown", "ManagerNotReady", ""},
		{verified, "True", "Verified", "CredentialVerified"},
		{`{"credential":{"mode":"managed","code":"WrongPassword","default":"closed"}}`, "False", "WrongPassword", "CredentialFailed"},
		{`{"credential":{"mode":"managed","code":"Missing","reason":"SecretAbsent"}}`, "False", "Missing", "CredentialFailed"},
		{`{"credential":{"mode":"managed","code":"Missing","reason":"SecretAbsent","default":"open"}}`, "False", "DefaultSuperuserOpen", "CredentialFailed"}, // of an older container
		{`{"credential":{"mode":"managed","code":"Pending","reason":"ManagerNotReady"}}`, "Unknown", "ManagerNotReady", ""},
		{`{"credential":{"mode":"managed","code":"WrongPassword","default":"open"}}`, "False", "DefaultSuperuserOpen", "CredentialFailed"},
		{`{"credential":{"mode":"managed","code":"ByConfiguration"}}`, "True", "ByConfiguration", "CredentialVerified"},
		{`{"credential":{"mode":"managed","code":"FromTheFuture"}}`, "Unknown", "FromTheFuture", ""},
		{`{"credential":{"mode":"managed","code":"two words"}}`, "Unknown", "FromTheFuture", ""}, // is no result: the last one stays
	}
	configured := false
	for _, tc := range tests {
		before := b.events()
		b.answers(tc.answer)
		b.pass(tracker, 2*view.Interval)
		c := b.condition(api.ConditionRootCredential)
		var fresh []string
		for _, e := range b.events() {
			if strings.Contains(e, "Credential") && !slices.Contains(before, e) {
				fresh = append(fresh, e)
			}
		}
		if string(c.Status) != tc.status || c.Reason != tc.reason || c.Message == "" || tc.event == "" != (len(fresh) == 0) || len(fresh) > 1 || len(fresh) == 1 && !strings.Contains(fresh[0], tc.event) {
			t.Errorf("%s: condition %+v, Events %q; want %s %s, %q", tc.answer, c, fresh, tc.status, tc.reason, tc.event)
		}
		b.wantGauge("kubectl_scylla_cluster_root_credential", 1) // of the present code, and of no other
		// A Secret is not self-initialisation. Once true it stays.
		configured = configured || strings.Contains(tc.answer, "ByConfiguration")
		if got := b.status().Status.SelfInitialized; got != configured {
			t.Errorf("%s: selfInitialized %t", tc.answer, got)
		}
	}
	s := b.status().Status
	if !s.SelfInitialized || s.RootCredential.Member != "demo-r1-0" {
		t.Errorf("self-initialised %t, %+v", s.SelfInitialized, s.RootCredential)
	}

	b.answers(verified)
	b.pass(tracker, 2*view.Interval)
	s = b.status().Status
	if i := s.InitialSettings; i.Hash != "h1" || len(i.Items) != 3 || !i.Items[2].RepairDue || i.Items[1].Ours == nil || !s.SelfInitialized {
		t.Errorf("settings %+v", i)
	}
	b.pass(tracker, 2*view.Interval)
	if c := b.status().Status.View.Credential; c.Settings == nil || len(c.Settings.Items) != 3 {
		t.Errorf("a later member does not know the settings: %+v", c)
	}
	b.answers(strings.ReplaceAll(verified, `,"ours":["NetworkTopologyStrategy dc1=1"]`, "")) // of a container that knows of no earlier one
	b.pass(tracker, 2*view.Interval)
	if i := b.status().Status.InitialSettings; !slices.Equal(i.Items[1].Ours, []string{"NetworkTopologyStrategy dc1=1"}) {
		t.Errorf("what an earlier member has set is forgotten: %+v", i)
	}
	b.setAnnotation(api.AnnotationRepaired, "h1")
	b.pass(tracker, 2*view.Interval)
	if i := b.status().Status.InitialSettings; i.Items[2].RepairDue {
		t.Errorf("the repair is recorded, and still due: %+v", i)
	}
	b.writes = nil
	b.pass(tracker, 4*view.Interval)
	for _, w := range b.writes {
		if !strings.HasPrefix(w, "status") {
			t.Errorf("nothing has changed, and written was %s", w)
		}
	}
	b.setAnnotation(api.AnnotationRootCredential, api.CredentialOff)
	b.pass(tracker, 2*view.Interval)
	if s := b.status().Status; s.View.Credential != nil || s.RootCredential.Mode != api.CredentialOff || b.condition(api.ConditionRootCredential).Type != "" || !s.SelfInitialized {
		t.Errorf("it is off, and %+v, %+v", s.View.Credential, s.RootCredential)
	}
}
