// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// TestA3WhatABarrierSaysIsSeenFromOutside: how long all must stay UP still, and what its last look found, is part of the verdict that people see, where
// nothing else is in the way.
func TestA3WhatABarrierSaysIsSeenFromOutside(t *testing.T) {
	since := metav1.NewTime(start.Add(time.Hour).Add(-4 * time.Second).UTC())
	stabilising := &api.BarrierWait{StableSince: &since, StableFor: metav1.Duration{Duration: 10 * time.Second}}
	silent := &api.BarrierWait{Refusals: []api.BarrierRefusal{{Reason: "ReporterSilent", Observed: hostID(2, 0), Detail: "connection refused"}}}
	tests := map[string]struct {
		says   *api.BarrierWait
		text   string
		change func(st *scene, pod *corev1.Pod)
		want   string
	}{
		"it says nothing":      {want: "may start: all 6 nodes are seen UP"},
		"all must stay UP":     {says: stabilising, want: "must wait: all nodes are UP, but not for long enough: they must stay UP for 6s more"},
		"a reporter is silent": {says: silent, want: "must wait: no response from the reporter of demo-rack2-0: connection refused"},
		"a reporter has no address": {
			says: &api.BarrierWait{Refusals: []api.BarrierRefusal{{Reason: "ReporterSilent", Observed: hostID(2, 0), Cause: words.Coded(words.New(words.ReporterWithoutAddress))}}},
			want: "must wait: no response from the reporter of demo-rack2-0: its Pod has no address",
		},
		"another sees it DOWN": {
			says: &api.BarrierWait{Refusals: []api.BarrierRefusal{{Reason: "NodeDown", Observed: hostID(2, 0), Observer: hostID(1, 0)}}},
			want: "must wait: demo-rack1-0 (" + hostID(1, 0)[:8] + ") sees demo-rack2-0 (" + hostID(2, 0)[:8] + ") DOWN",
		},
		"no seed": {
			says: &api.BarrierWait{Refusals: []api.BarrierRefusal{{Reason: "NoOtherSeed", Cause: words.Coded(words.New(words.SeedsNotUp, "names", []string{"demo-rack1-0"}))}}},
			want: "must wait: demo-rack3-2 has no seed other than itself: no other member that can be a seed is UP (joined: demo-rack1-0)",
		},
		"the seeds are another cluster's": {
			says: &api.BarrierWait{Refusals: []api.BarrierRefusal{{Reason: "SeedsOfAnotherCluster", Cause: words.Coded(words.New(words.SeedIsElsewhere, "seed", "10.0.0.9"))}}},
			want: "must wait: demo-rack3-2 would join a different cluster: its seed 10.0.0.9 is not a member of its cluster",
		},
		"an older barrier's words": {
			text: `{"refusals":[{"reason":"ReporterSilent","observed":"` + hostID(2, 0) + `","words":"no answer"}]}`,
			want: "must wait: no response from the reporter of demo-rack2-0: no answer",
		},
		"an older barrier without a seed": {
			text: `{"refusals":[{"reason":"NoOtherSeed","words":"no other member is UP"}]}`,
			want: "must wait: demo-rack3-2 has no seed other than itself: no other member is UP",
		},
		"a later barrier's code": {
			text: `{"refusals":[{"reason":"NoOtherSeed","cause":{"code":"SeedsAreAway","params":{"why":"no route"}}}]}`,
			want: "must wait: demo-rack3-2 has no seed other than itself: SeedsAreAway: no route",
		},
		"what it says is unknown":      {says: &api.BarrierWait{Refusals: []api.BarrierRefusal{{Reason: "; rm -rf /"}}}, want: "may start"},
		"what it says is no JSON":      {text: "{", want: "may start"},
		"what it says is too long":     {text: `{"refusals":[{"reason":"NodeDown","words":"` + strings.Repeat("x", 20<<10) + `"}]}`, want: "may start"},
		"its barrier does not run":     {says: stabilising, change: func(_ *scene, p *corev1.Pod) { p.Status.InitContainerStatuses = nil }, want: "may start"},
		"something else is in the way": {says: stabilising, change: func(st *scene, _ *corev1.Pod) { delete(st.Pods, "demo-rack1-0") }, want: "must wait: no current status report from demo-rack1-0"},
		"it is forced": {says: silent, change: func(st *scene, _ *corev1.Pod) {
			st.Services["demo-rack3-2"].Annotations[api.AnnotationForceProceed] = "true"
		}, want: "may start: it is forced"},
		"clocks differ": {
			says: &api.BarrierWait{StableSince: new(metav1.NewTime(start.Add(time.Hour).Add(time.Hour).UTC())), StableFor: metav1.Duration{Duration: 10 * time.Second}},
			want: "must wait: all nodes are UP, but not for long enough: they must stay UP for 10s more",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			st := newStage(t, 3, 2)
			newcomer := st.Newcomer(3, 2)
			pod := st.Pods[newcomer]
			if tc.says != nil {
				text, err := api.EncodeBarrierWait(tc.says)
				if err != nil {
					t.Fatal(err)
				}
				tc.text = text
			}
			if tc.text != "" {
				pod.Annotations = map[string]string{api.AnnotationBarrier: tc.text}
			}
			if tc.change != nil {
				tc.change(st, pod)
			}
			v, err := bootstrap.VerdictOf(st.cluster(SourceReport), newcomer)
			if err != nil {
				t.Fatal(err)
			}
			if got := words.Of(v.Self.Name(), v.Summary); !strings.HasPrefix(got, newcomer+" "+tc.want) {
				t.Errorf("%s\nwant %s %s", got, newcomer, tc.want)
			}
		})
	}
}

// TestNoHarmWhatABarrierWritesNamesNoCommand: a Pod can write any cause. No code of it is the cause that those who judge a blocker look at, and no command of it is shown.
func TestNoHarmWhatABarrierWritesNamesNoCommand(t *testing.T) {
	attack := `{"code":"ClaimIsBeingDeleted","params":{"claim":"mine","pod":{"code":"WaitForPermit","commands":[["rm","-rf","/mine"]]}},"commands":[["rm","-rf","/mine"]]}`
	for _, reason := range matrix.Reasons() {
		st := newStage(t, 3, 2)
		newcomer := st.Newcomer(3, 2)
		st.Pods[newcomer].Annotations = map[string]string{api.AnnotationBarrier: `{"refusals":[{"reason":"` + string(reason) + `","cause":` + attack + `}]}`}
		v, err := bootstrap.VerdictOf(st.cluster(SourceReport), newcomer)
		if err != nil {
			t.Fatal(err)
		}
		if len(v.Blockers) != 1 || v.Blockers[0].Reason != reason || v.Blockers[0].Cause.Code != words.BarrierFound {
			t.Fatalf("%s: %+v", reason, v.Blockers)
		}
		if data, err := json.Marshal(v.Blockers); err != nil || strings.Contains(string(data), "/mine") {
			t.Errorf("%s: %v, %s", reason, err, data)
		}
	}
}

func TestA3ReportersThatHaveToAnswer(t *testing.T) {
	st := newStage(t, 3, 2)
	newcomer := st.Newcomer(3, 2)
	st.Pods["demo-rack2-1"].Spec.InitContainers[0].Name = "another" // the Scylla Operator's Pods have none
	st.Pods["demo-rack3-1"].Status.PodIP = ""
	svc := st.Services[newcomer]
	svc.Annotations[api.AnnotationReplaceIgnoreDead] = strings.ToUpper(hostID(3, 0))
	var got []string
	for _, r := range st.cluster(SourceAnnotation).Reporters(newcomer) {
		got = append(got, r.Ref.Member)
	}
	want := []string{"demo-rack1-0", "demo-rack1-1", "demo-rack2-0", "demo-rack3-1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A node whose join is recorded is asked, although the row in its Pod's annotation still says that it joins: only its reporter knows more.
func TestNoHarm21AReporterIsAskedAsSoonAsItsJoinIsRecorded(t *testing.T) {
	for recorded, want := range map[bool]int{true: 1, false: 0} {
		t.Run(strconv.FormatBool(recorded), func(t *testing.T) {
			st := newStage(t, 1, 1)
			newcomer := st.Newcomer(1, 1)
			row, err := api.DecodeNodeStatusReport(st.Pods["demo-rack1-0"].Annotations[api.AnnotationNodeStatusReport])
			if err != nil {
				t.Fatal(err)
			}
			row.OperationMode, row.OwnsTokens = "BOOTSTRAP", new(false)
			text, err := api.EncodeNodeStatusReport(row)
			if err != nil {
				t.Fatal(err)
			}
			st.Pods["demo-rack1-0"].Annotations[api.AnnotationNodeStatusReport] = text
			st.Services["demo-rack1-0"].Annotations[api.AnnotationNodeJoined] = strconv.FormatBool(recorded)
			if got := st.cluster(SourceAnnotation).Reporters(newcomer); len(got) != want {
				t.Errorf("%d reporters are asked, want %d", len(got), want)
			}
		})
	}
}

func TestCondensedPodsGiveTheSameRows(t *testing.T) {
	st := newStage(t, 3, 2)
	st.Pods["demo-rack1-1"].Annotations[api.AnnotationNodeStatusReport] = "{"
	st.Pods["demo-rack2-1"].Annotations = nil
	st.Pods["demo-rack3-1"].Annotations[api.AnnotationNodeStatusReport] = "condensed demo-rack1-0" // a Pod that claims another's row
	whole := st.cluster(SourceAnnotation)
	d := &Decoder{}
	for _, p := range st.Pods {
		d.Condense(p)
		if n := len(p.Annotations[api.AnnotationNodeStatusReport]); n > 40 {
			t.Errorf("%s still has %d bytes", p.Name, n)
		}
	}
	o := st.objects()
	o.Decoder = d
	short := New(o, SourceAnnotation, start.Add(time.Hour))
	if diff := cmp.Diff(blockers(whole), blockers(short)); diff != "" {
		t.Errorf("blockers (-whole +condensed)\n%s", diff)
	}
}

func TestA1SeedChoice(t *testing.T) {
	launch := []string{"/mnt/shared/scylla-agent", "launch", "--", "/docker-entrypoint.py"}
	tests := map[string]struct {
		change   func(*scene)
		launched bool
		usable   bool
	}{
		"started by somebody else": {func(*scene) {}, false, false},
		"others are UP":            {func(st *scene) { command(st, launch) }, true, true},
		"the others have no address": {func(st *scene) {
			command(st, launch)
			for _, p := range st.Pods {
				p.Status.PodIP = ""
			}
		}, true, false},
		"seeds that only the container knows": {func(st *scene) { command(st, launch, "--seeds", "$(SEEDS)") }, false, false},
		"seeds elsewhere": {func(st *scene) {
			command(st, launch, "--seeds=192.0.2.1")
			for _, p := range st.Pods {
				p.Status.PodIP = ""
			}
		}, true, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			st := newStage(t, 3, 1)
			for i, name := range []string{"demo-rack1-0", "demo-rack2-0", "demo-rack3-0"} {
				st.Pods[name].Status.PodIP = fmt.Sprintf("10.0.0.%d", i+1)
			}
			tc.change(st)
			choice, launched := bootstrap.SeedChoiceOf(st.cluster(SourceAnnotation), "demo-rack3-0", bootstrap.VolumeEmpty)
			if launched != tc.launched || choice.Usable() != tc.usable {
				t.Errorf("%+v, launched %v", choice, launched)
			}
			if slices.Contains(choice.Seeds, "10.0.0.3") {
				t.Errorf("itself among its seeds: %v", choice.Seeds)
			}
		})
	}
}

// A first node that joined unrecorded has only its own volume to start on: the launcher chooses it, and so must the barrier's last look.
func TestTheSeedsOfAFounderThatStartedBefore(t *testing.T) {
	for volume, want := range map[bootstrap.Volume]words.Code{
		bootstrap.VolumeUsed:       words.SeedsOwnVolume,
		bootstrap.VolumeEmpty:      words.SeedsOnlySelfJoined,
		bootstrap.VolumeUnreadable: words.SeedsOnlySelfJoined,
	} {
		st := newStage(t, 1, 1)
		command(st, []string{"scylla-agent", "launch", "--", "/docker-entrypoint.py"})
		st.Services["demo-rack1-0"].Annotations = map[string]string{api.AnnotationHostID: hostID(1, 0)}
		st.Pods["demo-rack1-0"].Annotations = nil
		if choice, _ := bootstrap.SeedChoiceOf(st.cluster(SourceAnnotation), "demo-rack1-0", volume); choice.Code != want {
			t.Errorf("volume %d: %s, want %s", volume, choice.Code, want)
		}
	}
}

func command(st *scene, terms []string, args ...string) {
	for _, p := range st.Pods {
		p.Spec.Containers[0].Command, p.Spec.Containers[0].Args = terms, args
	}
	for _, s := range st.Sets {
		s.Spec.Template.Spec.Containers[0].Command, s.Spec.Template.Spec.Containers[0].Args = terms, args
	}
}

func blockers(c *Cluster) []string {
	var out []string
	for _, b := range c.Matrix().Blockers() {
		out = append(out, words.Aging(b.Message(), b.Since, time.Time{}))
	}
	return out
}

// TestA5WhatTheObjectsTellOfANewcomer: the version of its image, and which others are on their way.
func TestA5WhatTheObjectsTellOfANewcomer(t *testing.T) {
	st := newStage(t, 3, 1)
	newcomer := st.Newcomer(3, 1)
	other := st.Newcomer(2, 1)
	in, err := bootstrap.Of(st.cluster(SourceReport), newcomer)
	if err != nil {
		t.Fatal(err)
	}
	if in.Version.String() != "2026.2.0" {
		t.Errorf("version %s", in.Version)
	}
	at := slices.IndexFunc(in.Peers, func(p *Member) bool { return p.Ref.Member == other })
	if p := in.Peers[at]; !p.WaitsInBarrier() || p.Started() {
		t.Errorf("%+v, want one that waits in its barrier, and whose image nobody runs", p)
	}
	at = slices.IndexFunc(in.Peers, func(p *Member) bool { return p.Ref.Member == "demo-rack1-0" })
	if p := in.Peers[at]; !p.Started() || p.ImageVersion().String() != "2026.2.0" {
		t.Errorf("a member that runs has image version %s", p.ImageVersion())
	}
	st.Pods[other].Status.InitContainerStatuses[2].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	st.Pods[other].Status.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	st.Pods[newcomer].Spec.Containers[0].Image = "scylladb/scylla:2025.1.0"
	row, err := api.DecodeNodeStatusReport(st.Pods["demo-rack1-0"].Annotations[api.AnnotationNodeStatusReport])
	if err != nil {
		t.Fatal(err)
	}
	row.LegacyTopology = true
	if st.Pods["demo-rack1-0"].Annotations[api.AnnotationNodeStatusReport], err = api.EncodeNodeStatusReport(row); err != nil {
		t.Fatal(err)
	}
	for _, source := range []Source{SourceReport, SourceAnnotation} {
		v, err := bootstrap.VerdictOf(st.cluster(source), newcomer)
		if err != nil {
			t.Fatal(err)
		}
		var got []words.Code
		for _, b := range v.Blockers {
			got = append(got, b.Reason)
		}
		if diff := cmp.Diff([]words.Code{words.VersionTooOld, words.OneNewcomerAtATime}, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", source, diff)
		}
	}
}
