// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

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
			simulate(t, 3, Options{Version: version, StreamTime: time.Minute}, func(t *testing.T, c *Cluster) {
				dead := kill(t, c, 2)
				n := replacement(t, c, 2, dead.HostID(), nil)
				eventually(t, "the replacement streams", func() string { return strings.TrimPrefix(n.Mode(), rules.ModeBootstrap) })
				joiner := add(t, c, nil)
				waitTasks(t, c.Node(1), 5)
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
