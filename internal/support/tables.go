// SPDX-License-Identifier: Apache-2.0

package support

import (
	"context"

	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
)

// Tables are the answers of one node's REST API about the cluster. A failed query leaves its field
// empty and adds its error to NoAnswer.
type Tables struct {
	Version       string `json:"version,omitempty"`
	OperationMode string `json:"operationMode,omitempty"`
	HostID        string `json:"hostID,omitempty"`
	// Leader is the host ID of the topology coordinator.
	Leader string `json:"raftLeader,omitempty"`
	// Members by host ID from the topology; Gossip is the gossip state of each address.
	Members []scylla.Member   `json:"members,omitempty"`
	Gossip  []scylla.Endpoint `json:"gossip,omitempty"`
	// Live, Down, Joining and Leaving are addresses.
	Live    []string `json:"live,omitempty"`
	Down    []string `json:"down,omitempty"`
	Joining []string `json:"joining,omitempty"`
	Leaving []string `json:"leaving,omitempty"`
	// Tasks are the topology operations, Errors their errors by task ID.
	Tasks  []scylla.Task     `json:"tasks,omitempty"`
	Errors map[string]string `json:"taskErrors,omitempty"`
	// Schemas maps schema versions to addresses.
	Schemas  map[string][]string `json:"schemaVersions,omitempty"`
	NoAnswer []string            `json:"noAnswer,omitempty"`
}

// maxTaskErrors is the maximum of failed tasks whose error is read.
const maxTaskErrors = 20

// readTables reads all fields of Tables from one node. Errors are in NoAnswer.
func readTables(ctx context.Context, c *scylla.Client) Tables {
	var t Tables
	text := func(into *string, ask func(context.Context) (string, error)) { answer(ctx, &t, into, ask) }
	list := func(into *[]string, ask func(context.Context) ([]string, error)) { answer(ctx, &t, into, ask) }
	text(&t.Version, c.ReleaseVersion)
	text(&t.OperationMode, c.OperationMode)
	text(&t.HostID, c.LocalHostID)
	text(&t.Leader, c.RaftLeader)
	answer(ctx, &t, &t.Members, c.Members)
	answer(ctx, &t, &t.Gossip, c.Endpoints)
	list(&t.Live, c.Live)
	list(&t.Down, c.Down)
	list(&t.Joining, c.Joining)
	list(&t.Leaving, c.Leaving)
	answer(ctx, &t, &t.Tasks, c.NodeOperations)
	answer(ctx, &t, &t.Schemas, c.SchemaVersions)
	for _, task := range t.Tasks {
		if task.State != "failed" || len(t.Errors) >= maxTaskErrors {
			continue
		}
		var text string
		answer(ctx, &t, &text, func(ctx context.Context) (string, error) { return c.TaskError(ctx, task.ID) })
		if text != "" {
			if t.Errors == nil {
				t.Errors = map[string]string{}
			}
			t.Errors[task.ID] = Text(text)
		}
	}
	return t
}

func answer[T any](ctx context.Context, t *Tables, into *T, ask func(context.Context) (T, error)) {
	got, err := ask(ctx)
	if err != nil {
		t.NoAnswer = append(t.NoAnswer, Text(err.Error()))
		return
	}
	*into = got
}
