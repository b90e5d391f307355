// SPDX-License-Identifier: Apache-2.0

package diagnosis_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/scenes"
)

func afterwards(list []diagnosis.Afterwards) []string {
	var out []string
	for i := range list {
		a := &list[i]
		out = append(out, strings.TrimSuffix(fmt.Sprintf("%s: %s; %s", a.Operation, words.Text(a.Message), words.Text(a.Wait)), "; "))
		for _, t := range a.Tasks {
			text := fmt.Sprintf("  %s %s", t.State, words.Text(t.Message))
			if t.Command != nil {
				text += ": " + words.Shell(t.Command)
			}
			out = append(out, text)
		}
	}
	return out
}

// What ScyllaDB's documentation asks for after a replacement and after a join is listed, with commands, and what was observed to make a task unnecessary ticks
// it off.
func TestC4AfterAnOperation(t *testing.T) {
	const one, two, three, old = "demo-dc1-rack1-0", "demo-dc1-rack2-0", "demo-dc1-rack3-0", "00d2f3a2-0000-4999-8999-999999999999"
	const undone = "ScyllaDB does not record whether this was done: kubectl scylla nodetool demo-dc1-rack"
	const repairONE = "  Open repair ONE: " + undone + "1-0 -n demo -- repair"
	cleanup := func(name string, rack int) string {
		return fmt.Sprintf("  Open run cleanup on %s, one node at a time, off-peak: %s%d-0 -n demo -- cleanup", name, undone, rack)
	}
	now := scenes.Now
	joins := func(c *plugintest.Cluster, name string, ago time.Duration) {
		c.Service(name).Annotations[api.AnnotationJoinedAt] = c.Node(name).HostID + " " + now.Add(-ago).UTC().Format(time.RFC3339)
	}
	replaces := func(c *plugintest.Cluster, name string, ago time.Duration) {
		b, err := json.Marshal(replace.Last{Outcome: replace.OutcomeReplaced, HostID: old, NewHostID: hostid.ID(c.Node(name).HostID), FinishedAt: now.Add(-ago).UTC().Truncate(time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		c.Service(name).Annotations[api.AnnotationReplaceLast] = string(b)
	}
	repairBased := func(c *plugintest.Cluster, operations ...string) {
		c.Says(func(_ plugintest.Node, r *api.NodeStatusReport) { r.RepairBased = operations })
	}
	for name, tc := range map[string]struct {
		change func(*plugintest.Cluster)
		want   []string
	}{
		"nothing was seen to end": {func(*plugintest.Cluster) {}, nil},
		"a join":                  {func(c *plugintest.Cluster) { joins(c, three, time.Hour) }, []string{"Joined: THREE has joined", cleanup("ONE", 1), cleanup("TWO", 2)}},
		"no keyspace has vnodes": {func(c *plugintest.Cluster) {
			joins(c, three, time.Hour)
			c.Says(func(_ plugintest.Node, r *api.NodeStatusReport) { r.VnodeKeyspaces = new(false) })
		}, nil},
		"one node knows of no vnodes, an older reporter says nothing": {func(c *plugintest.Cluster) {
			joins(c, three, time.Hour)
			c.Says(func(n plugintest.Node, r *api.NodeStatusReport) {
				if n.Name == two {
					r.VnodeKeyspaces = new(false)
				}
			})
		}, []string{
			"Joined: THREE has joined",
			cleanup("ONE", 1),
			"  NotNeeded no cleanup of TWO needed: no keyspace of users has vnodes",
		}},
		"a keyspace has vnodes, in a cluster that is new": {func(c *plugintest.Cluster) {
			joins(c, one, 3*time.Hour)
			joins(c, two, 2*time.Hour)
			joins(c, three, time.Hour)
			c.Says(func(_ plugintest.Node, r *api.NodeStatusReport) { r.VnodeKeyspaces = new(true) })
		}, []string{"Joined: THREE has joined a cluster that was created 3h0m ago; only data that was written before it joined needs a cleanup", cleanup("ONE", 1), cleanup("TWO", 2)}},
		"a join of yesterday":          {func(c *plugintest.Cluster) { joins(c, three, diagnosis.Fresh+time.Second) }, nil},
		"one cleanup serves two joins": {func(c *plugintest.Cluster) { joins(c, three, time.Hour); joins(c, two, time.Minute) }, []string{"Joined: TWO has joined", cleanup("ONE", 1), cleanup("THREE", 3)}},
		"the record of another host ID says nothing": {func(c *plugintest.Cluster) {
			c.Service(three).Annotations[api.AnnotationJoinedAt] = old + " " + now.UTC().Format(time.RFC3339)
		}, nil},
		"a record that cannot be read says nothing": {func(c *plugintest.Cluster) {
			c.Service(three).Annotations[api.AnnotationJoinedAt] = c.Node(three).HostID + " yesterday"
		}, nil},
		"a replacement after a join has no old data, and a node without tokens has none": {func(c *plugintest.Cluster) {
			joins(c, three, time.Hour)
			replaces(c, one, time.Minute)
			repairBased(c, "bootstrap")
			c.Says(func(n plugintest.Node, r *api.NodeStatusReport) {
				if n.Name == two {
					r.OperationMode, r.OwnsTokens = "NORMAL", new(false)
				}
			})
		}, []string{
			"Replaced: ONE has replaced " + old,
			repairONE,
			"Joined: THREE has joined",
			"  NotNeeded no cleanup of ONE needed: its data is newer than the join",
			"  NotNeeded no cleanup of TWO needed: it owns no tokens",
		}},
		"a replacement whose configuration covers it": {func(c *plugintest.Cluster) { replaces(c, one, time.Minute); repairBased(c, "bootstrap", "replace") }, []string{
			"Replaced: ONE has replaced " + old,
			"  NotNeeded no repair of ONE needed: its configuration enables repair-based node operations for replace",
		}},
		"while a node is DOWN everything waits": {func(c *plugintest.Cluster) {
			replaces(c, one, time.Minute)
			c.Sees(one, two, api.NodeStatusDown, now.Add(-time.Minute))
		}, []string{"Replaced: ONE has replaced " + old + "; not yet: 2 of 3 nodes are UP", repairONE}},
		"while an operation is under way everything waits": {func(c *plugintest.Cluster) {
			replaces(c, one, time.Minute)
			c.Says(func(_ plugintest.Node, r *api.NodeStatusReport) {
				r.Operations = []api.NodeOperation{{Type: "decommission", State: "running"}}
			})
		}, []string{"Replaced: ONE has replaced " + old + "; not yet: a topology operation is in progress", repairONE}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := plugintest.New(3, 1)
			tc.change(c)
			spelt := func(name string) string {
				return matrix.Ref{Member: name, HostID: hostid.ID(c.Node(name).HostID)}.String()
			}
			named := strings.NewReplacer(spelt(one), "ONE", spelt(two), "TWO", spelt(three), "THREE")
			var got []string
			for _, line := range afterwards(diagnosis.After(cluster.New(scenes.Objects(c), cluster.SourceAuto, now), now)) {
				got = append(got, named.Replace(line))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
