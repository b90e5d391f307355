// SPDX-License-Identifier: Apache-2.0

package scenes_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
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
