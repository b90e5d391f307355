// SPDX-License-Identifier: Apache-2.0

package scenes_test

import (
	"context"
	"encoding/json"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

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
