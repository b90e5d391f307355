// SPDX-License-Identifier: Apache-2.0

package scenes_test

import (
	"context"
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

type statement struct {
	Code   words.Code   `json:"code"`
	Params words.Params `json:"params"`
	Text   string       `json:"text"`
	// Commands have arguments and shell text.
	Commands []any `json:"commands"`
}

// told is the part of each document that has facts about members.
type told struct {
	Nodes     []map[string]any `json:"nodes"`     // of status
	Newcomers []map[string]any `json:"newcomers"` // of status
	Findings  []struct {
		Remark  bool      `json:"remark"`
		Message statement `json:"message"`
	} `json:"findings"` // of status
	Node     map[string]any `json:"node"`     // of describe
	Newcomer map[string]any `json:"newcomer"` // of describe
	Claim    struct {
		Name   string `json:"name"`
		Exists bool   `json:"exists"`
	} `json:"claim"` // of describe
	SeenBy []struct {
		matrix.Ref
		Status string `json:"status"`
		Since  string `json:"since"`
	} `json:"seenBy"` // of describe
	Member matrix.Ref `json:"member"` // of replace
	Claims []struct {
		Name string `json:"name"`
	} `json:"claims"` // of replace
	Pod    json.RawMessage `json:"pod"` // of replace an object, of the others a word
	Checks []struct {
		Name     string    `json:"name"`
		Evidence statement `json:"evidence"`
	} `json:"checks"` // of replace
	Verdict json.RawMessage `json:"verdict"` // of barrier
	Results []struct {
		Check string    `json:"check"`
		State string    `json:"state"`
		Text  statement `json:"text"`
	} `json:"results"` // of check
	Items []told `json:"items"`
}

// answers are those of the nodes themselves: what their reporters write.
func answers(_ context.Context, s *cluster.Cluster, _ kube.LiveOptions) (*cluster.Cluster, error) {
	live := map[string]*api.NodeStatusReport{}
	for i := range s.Pods {
		if said, err := api.DecodeNodeStatusReport(s.Pods[i].Annotations[api.AnnotationNodeStatusReport]); err == nil {
			live[s.Pods[i].Name] = said
		}
	}
	return s.WithLive(live, nil, nil), nil
}

// of is the entry of a member in a list of a document.
func of(list []map[string]any, member string) map[string]any {
	if i := slices.IndexFunc(list, func(n map[string]any) bool { return n["member"] == member }); i >= 0 {
		return list[i]
	}
	return nil
}

// TestOneTruth: a fact about a member is the same in every document that has it: who sees it DOWN and since when, its host ID, Pod, Kubernetes node and claim, what its barrier decides
// (forced, banned, replaced), and what is wrong with the cluster.
func TestOneTruth(t *testing.T) { // not in parallel: see TestOneStep
	downs, replaced, checked := 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		c, newcomer := ill(rt)
		if rapid.IntRange(0, 3).Draw(rt, "its barrier refuses") == 0 {
			init := c.Pod(newcomer).Status.InitContainerStatuses
			at := slices.IndexFunc(init, func(s corev1.ContainerStatus) bool { return s.Name == api.ContainerBarrier })
			init[at].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: exit.CodeUsage, Message: "the data directory is another node's"}}
		}
		objects := c.Objects()
		read := func(args ...string) (d told) {
			r := plugintest.Run{Args: append(args, "-n", "demo", "-o", "json"), Objects: objects, Live: answers}.Do(t)
			if r.Stdout == "" && args[0] == "replace" {
				return d // refused, as one is open already
			}
			if err := json.Unmarshal([]byte(r.Stdout), &d); err != nil {
				rt.Fatalf("%v: %v: %s", args, err, r.Stderr)
			}
			if len(d.Items) == 1 {
				return d.Items[0]
			}
			return d
		}
		same := func(what string, want, got any) {
			if diff := cmp.Diff(want, got); diff != "" {
				rt.Errorf("%s:\n%s", what, diff)
			}
		}
		member := rapid.SampledFrom(c.Nodes).Draw(rt, "member").Name
		status := read("status", "--source=annotation")
		node := of(status.Nodes, member)
		d := read("describe", member, "--source=annotation")
		same("the node (-status +describe)", node, d.Node)
		count, since, by := map[string]int{}, map[string]bool{}, []string{}
		for _, s := range d.SeenBy {
			count[strings.ToLower(s.Status)]++
			if s.Status == "DOWN" {
				since[s.Since], by = true, append(by, s.Name())
			}
		}
		seen, _ := node["seen"].(map[string]any)
		for _, status := range []string{"up", "down"} {
			if n, known := seen[status].(float64); known && int(n) != count[status] {
				rt.Errorf("%s: status counts %v that see it %s, describe %d", member, n, status, count[status])
			}
		}
		if at, known := seen["since"].(string); known && !since[at] {
			rt.Errorf("%s is DOWN since %s by status, since %v by describe", member, at, since)
		}

		waiting := of(status.Newcomers, newcomer)
		same("the newcomer (-status +describe)", waiting, read("describe", newcomer, "--source=annotation").Newcomer)
		var verdict struct {
			Satisfied bool      `json:"satisfied"`
			Decision  string    `json:"decision"`
			Summary   statement `json:"summary"`
			Blockers  []blocked `json:"blockers"`
		}
		if err := json.Unmarshal(read("barrier", newcomer, "--source=annotation").Verdict, &verdict); err != nil {
			rt.Fatal(err)
		}
		summary, _ := waiting["summary"].(map[string]any)
		same("what the barrier decides (-status +barrier)", []any{waiting["decision"], waiting["mayStart"], summary["code"]}, []any{verdict.Decision, verdict.Satisfied, string(verdict.Summary.Code)})
		var observers []string
		for _, b := range verdict.Blockers {
			if b.Reason == words.NodeDown && b.Observed.Member == member {
				observers = append(observers, b.Observer.Name())
			}
		}
		if len(observers) > 0 {
			downs++
			slices.Sort(observers)
			slices.Sort(by)
			same("who sees "+member+" DOWN (-describe +barrier)", by, observers)
		}

		plan := read("replace", member, "--dry-run")
		if plan.Member.Member != "" {
			replaced++
		}
		if id, known := node["hostID"]; known && plan.Member.HostID != "" && string(plan.Member.HostID) != id {
			rt.Errorf("%s has host ID %v by status, %s by replace", member, id, plan.Member.HostID)
		}
		var pod struct {
			Name           string `json:"name"`
			KubernetesNode string `json:"kubernetesNode"`
		}
		if err := json.Unmarshal(plan.Pod, &pod); err == nil && pod.Name != "" {
			on, _ := node["kubernetesNode"].(map[string]any)
			if name, known := on["name"].(string); known {
				same("its Kubernetes node (-status +replace)", name, pod.KubernetesNode)
			}
		}
		for _, claim := range plan.Claims {
			if !d.Claim.Exists || claim.Name != d.Claim.Name {
				rt.Errorf("%s has claim %+v by describe, %s by replace", member, d.Claim, claim.Name)
			}
		}
		for _, check := range plan.Checks {
			if n, known := check.Evidence.Params["down"].(float64); check.Name == "down" && known && int(n) != count["down"] {
				rt.Errorf("%s: replace counts %v that see it DOWN, describe %d", member, n, count["down"])
			}
		}

		var want, got []string
		for _, f := range read("status", "--source=live").Findings {
			if !f.Remark {
				want = append(want, f.Message.Text)
			}
		}
		for _, r := range read("check", "--for=restart", member).Results {
			if r.Check == "nodes" && r.State == "failed" {
				checked++
				got = append(got, r.Text.Text)
			}
		}
		same("what is wrong (-status +check)", want, got)
	})
	if downs == 0 || replaced == 0 || checked == 0 {
		t.Errorf("compared %d nodes that are DOWN, %d plans and %d checks, want some of each", downs, replaced, checked)
	}
}

// stepped is what the documents of status, report, barrier and describe have in common.
type stepped struct {
	Items    []stepped `json:"items"`
	Blockers []blocked `json:"blockers"`
	Findings []struct {
		Explains []int      `json:"explains"`
		Remark   bool       `json:"remark"`
		Step     *statement `json:"step"`
	} `json:"findings"`
	Verdict  json.RawMessage `json:"verdict"` // of status a word
	NextStep *statement      `json:"nextStep"`
}

type blocked struct {
	Reason             words.Code `json:"reason"`
	Observer, Observed matrix.Ref `json:",omitzero"`
	Step               *statement `json:"step"`
}

func (b blocked) key() string {
	return string(b.Reason) + " " + b.Observer.String() + " " + b.Observed.String()
}

// ill draws a cluster with a newcomer, in which anything may be wrong with any member.
func ill(t *rapid.T) (c *plugintest.Cluster, newcomer string) {
	c = plugintest.New(rapid.IntRange(2, 3).Draw(t, "racks"), rapid.IntRange(1, 2).Draw(t, "members"))
	newcomer = c.Newcomer("dc1", "rack1", 5)
	for _, n := range c.Nodes {
		switch rapid.SampledFrom([]string{"", "", "", "DOWN", "DOWN long", "no Pod", "no row", "replace", "replacing", "not seen by one", "leaving", "force"}).Draw(t, n.Name) {
		case "DOWN":
			c.Down(n.Name)
		case "DOWN long":
			c.DownSince(n.Name, time.Hour)
		case "no Pod":
			c.Down(n.Name).Ghost(n.Name)
		case "no row":
			c.NoRow(n.Name)
		case "replace":
			c.DownSince(n.Name, time.Hour)
			c.Service(n.Name).Labels[api.LabelReplace] = ""
		case "replacing":
			c.DownSince(n.Name, time.Hour)
			c.Service(n.Name).Labels[api.LabelReplacingNodeHostID] = n.HostID
		case "not seen by one":
			if other := c.Nodes[0].Name; other != n.Name {
				c.Sees(other, n.Name, api.NodeStatusDown, plugintest.Now.Add(-time.Hour))
			}
		case "leaving":
			c.Service(n.Name).Labels[api.LabelDecommissioned] = api.DecommissionedDone
		case "force":
			c.Service(newcomer).Annotations = map[string]string{api.AnnotationForceProceed: "perhaps"}
		}
	}
	if rapid.Bool().Draw(t, "operator") {
		c.Operator()
	}
	if rapid.Bool().Draw(t, "no reports") {
		c.NoReports()
	}
	return c, newcomer
}

// nobody answers where no row is left, and status asks the nodes themselves.
func nobody(_ context.Context, s *cluster.Cluster, _ kube.LiveOptions) (*cluster.Cluster, error) {
	return s, nil
}

// TestOneStep: one cause has one next step, whatever command shows it: in status and report each blocker has the step of the finding that explains it, the newcomer's barrier has that
// step, and so has describe of the node.
func TestOneStep(t *testing.T) { // not in parallel: what report packs is opened with a limit on the memory of the whole process
	rapid.Check(t, func(rt *rapid.T) {
		c, newcomer := ill(rt)
		objects := c.Objects()
		read := func(args ...string) stepped {
			r := plugintest.Run{Args: append(args, "-n", "demo", "-o", "json"), Objects: objects, Live: nobody}.Do(t)
			var d stepped
			if err := json.Unmarshal([]byte(r.Stdout), &d); err != nil {
				rt.Fatalf("%v: %v: %s", args, err, r.Stderr)
			}
			if len(d.Items) == 1 {
				return d.Items[0]
			}
			return d
		}
		status := read("status")
		if rapid.IntRange(0, 4).Draw(rt, "report") == 0 {
			runtime.GC()
			if diff := cmp.Diff(status.Blockers, read("report").Blockers); diff != "" {
				rt.Errorf("status and report (-status +report):\n%s", diff)
			}
		}
		byStatus, of := map[string]*statement{}, map[hostid.ID]*statement{}
		given := map[int]bool{}
		for _, f := range status.Findings {
			for _, i := range f.Explains {
				b := status.Blockers[i]
				if given[i] {
					continue
				}
				given[i] = true
				if f.Step != nil && (b.Step == nil || b.Step.Code != f.Step.Code) {
					rt.Errorf("%s has step %+v, and its finding %+v", b.key(), b.Step, f.Step)
				}
			}
		}
		for _, b := range status.Blockers {
			byStatus[b.key()] = b.Step
			if of[b.Observed.HostID] == nil {
				of[b.Observed.HostID] = b.Step
			}
		}
		var verdict stepped
		if err := json.Unmarshal(read("barrier", newcomer).Verdict, &verdict); err != nil {
			rt.Fatal(err)
		}
		for _, b := range verdict.Blockers {
			if step, both := byStatus[b.key()]; both {
				if diff := cmp.Diff(step, b.Step); diff != "" {
					rt.Errorf("%s (-status +barrier):\n%s", b.key(), diff)
				}
			}
		}
		if len(status.Findings) != 1 || status.Findings[0].Remark || len(status.Findings[0].Explains) == 0 {
			return
		}
		if about := status.Blockers[status.Findings[0].Explains[0]].Observed; about.Member != "" && about.HostID != "" {
			if diff := cmp.Diff(status.Findings[0].Step, read("describe", about.Member).NextStep); diff != "" {
				rt.Errorf("%s (-status +describe):\n%s", about.Name(), diff)
			}
		}
	})
}
