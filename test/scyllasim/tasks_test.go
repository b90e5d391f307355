// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// tasksByVersion is what each version prints of the same requests.
type tasksByVersion struct {
	versions []string
	queued, running, replacing, removing,
	done, replaced, failed printedTask
}

var taskShapes = map[string]tasksByVersion{
	"6.2 to 2025.4 never name the node, and a queued task not even its type": {
		versions: []string{"6.2.3", "2025.1.9", "2025.2.2", "2025.3.1", "2025.4.0"},
		queued:   printedTask{"", "created", ""}, running: printedTask{"bootstrap", "running", ""},
		replacing: printedTask{"replace", "running", ""}, removing: printedTask{"remove node", "running", ""},
		done: printedTask{"bootstrap", "done", ""}, replaced: printedTask{"replace", "done", ""}, failed: printedTask{"bootstrap", "failed", ""},
	},
	"2026.1 to 2026.3 name the requesting node while the task is open": {
		versions: []string{"2026.1.0", "2026.1.3", "2026.2.4", "2026.3.0", "2026.3.0-rc1"},
		queued:   printedTask{"bootstrap", "running", "new"}, running: printedTask{"bootstrap", "running", "new"},
		replacing: printedTask{"replace", "running", "new"}, removing: printedTask{"remove node", "running", "old"},
		done: printedTask{"bootstrap", "done", ""}, replaced: printedTask{"replace", "done", ""}, failed: printedTask{"bootstrap", "failed", ""},
	},
	"HEAD names the target, also after the end; for a replace it is the replaced node": {
		versions: []string{"2026.4.0-dev"},
		queued:   printedTask{"bootstrap", "running", "new"}, running: printedTask{"bootstrap", "running", "new"},
		replacing: printedTask{"replace", "running", "old"}, removing: printedTask{"remove node", "running", "old"},
		done: printedTask{"bootstrap", "done", "new"}, replaced: printedTask{"replace", "done", "old"}, failed: printedTask{"bootstrap", "failed", "new"},
	},
}

func TestTaskShapeByVersion(t *testing.T) {
	t.Parallel()
	for name, tc := range taskShapes {
		for _, version := range tc.versions {
			v, err := rules.ParseVersion(version)
			if err != nil {
				t.Fatal(err)
			}
			for state, c := range map[string]struct {
				node topoNode
				task topoTask
				want printedTask
			}{
				"queued":    {topoNode{Request: rules.Join}, topoTask{Type: rules.Join, State: "running"}, tc.queued},
				"running":   {topoNode{Request: rules.Join, Stage: rules.ReadOld}, topoTask{Type: rules.Join, State: "running"}, tc.running},
				"replacing": {topoNode{Request: rules.Replace, Stage: rules.ReadOld, Replaces: "old"}, topoTask{Type: rules.Replace, Replaces: "old", State: "running"}, tc.replacing},
				"removing":  {topoNode{HostID: "old", Request: rules.Remove, Stage: rules.ReadOld}, topoTask{HostID: "old", Type: rules.Remove, State: "running"}, tc.removing},
				"done":      {topoNode{State: rules.Normal}, topoTask{Type: rules.Join, State: "done"}, tc.done},
				"replaced":  {topoNode{State: rules.Normal, Replaces: "old"}, topoTask{Type: rules.Replace, Replaces: "old", State: "done"}, tc.replaced},
				"failed":    {topoNode{State: rules.Left}, topoTask{Type: rules.Join, State: "failed", Error: "x"}, tc.failed},
			} {
				c.task.ID, c.node.RequestID = "id", "id"
				if c.node.HostID == "" {
					c.node.HostID, c.task.HostID = "new", "new"
				}
				s := &topology{Nodes: map[string]*topoNode{c.node.HostID: &c.node}, Tasks: []*topoTask{&c.task}}
				if got := printTask(v, s, &c.task); got != c.want {
					t.Errorf("%s: %s, %s: %+v, want %+v", name, version, state, got, c.want)
				}
			}
		}
	}
}

// TestTasksOfARunningReplaceAndAQueuedJoin reads the same through the API: the list and the status of each task agree.
func TestTasksOfARunningReplaceAndAQueuedJoin(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]func(newcomer, dead, joiner string) (open, closed []task){
		"6.2.3":    unnamedTasks,
		"2025.4.0": unnamedTasks,
		"2026.2.0": func(newcomer, _, joiner string) (open, closed []task) {
			return []task{{Type: "replace", State: "running", Entity: newcomer}, {Type: "bootstrap", State: "running", Entity: joiner}},
				[]task{{Type: "replace", State: "done"}, {Type: "bootstrap", State: "done"}}
		},
		"2026.4.0": func(_, dead, joiner string) (open, closed []task) {
			return []task{{Type: "replace", State: "running", Entity: dead}, {Type: "bootstrap", State: "running", Entity: joiner}},
				[]task{{Type: "replace", State: "done", Entity: dead}, {Type: "bootstrap", State: "done", Entity: joiner}}
		},
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := startCluster(t, 3, Options{Version: version, StreamTime: time.Minute})
				dead := c.Node(2)
				dead.Kill()
				waitDown(t, c.Node(0), dead.Address())
				waitDown(t, c.Node(1), dead.Address())
				n := replacement(t, c, 2, dead.HostID(), nil)
				eventually(t, "the replacement streams", func() string { return strings.TrimPrefix(n.Mode(), rules.ModeBootstrap) })
				joiner := add(t, c, nil)
				eventually(t, "the join is queued", func() string {
					if l := tasks(t, c.Node(1)); len(l) != 5 {
						return fmt.Sprint(l)
					}
					return ""
				})
				open, closed := want(n.HostID(), dead.HostID(), joiner.HostID())
				if diff := cmp.Diff(open, tasks(t, c.Node(1))[3:]); diff != "" {
					t.Errorf("open tasks (-want +got):\n%s", diff)
				}
				ready(t, n)
				ready(t, joiner)
				eventually(t, "the member has applied the end of both", func() string {
					if got := tasks(t, c.Node(1))[3:]; !slices.Equal(got, closed) {
						return fmt.Sprintf("finished tasks %+v, want %+v", got, closed)
					}
					return ""
				})
			})
		})
	}
}

func unnamedTasks(string, string, string) (open, closed []task) {
	return []task{{Type: "replace", State: "running"}, {State: "created"}}, []task{{Type: "replace", State: "done"}, {Type: "bootstrap", State: "done"}}
}
