// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

func (n *Node) apiModuleTasks(c apiCall) (any, error) {
	switch c.param {
	case "compaction", "repair":
		return []any{}, nil
	case "streaming", "tablets":
		if n.v.NodeOpsTasks() {
			return []any{}, nil
		}
	case "node_ops":
		if n.v.NodeOpsTasks() {
			return n.nodeOpsTasks(), nil
		}
	}
	return nil, badParam("task manager module %s not found", c.param)
}

// nodeOpsTasks is what list_module_tasks prints of the topology requests.
func (n *Node) nodeOpsTasks() []any {
	out := []any{}
	s := n.knownTopology()
	if s == nil {
		return out
	}
	for _, t := range s.Tasks {
		if t.expired(n.clock.Real(time.Hour)) {
			continue
		}
		p := printTask(n.v, s, t)
		out = append(out, obj{
			{"task_id", t.ID}, {"type", p.kind}, {"kind", "cluster"}, {"scope", "cluster"}, {"state", p.state},
			{"sequence_number", 0}, {"keyspace", ""}, {"table", ""}, {"entity", p.entity}, {"shard", 0},
			{"start_time", apiTime(t.Start)}, {"end_time", apiTime(t.End)},
		})
	}
	return out
}

// knownTopology returns the committed topology for routes that exist before the node has group 0; nil until then.
func (n *Node) knownTopology() *topology {
	if n.stage.Load() < 2 {
		return nil
	}
	return n.g0.state()
}

// printedTask holds the fields of a task that versions print differently.
type printedTask struct{ kind, state, entity string }

// printTask returns what version v prints of task t. Up to 2025.4 a task never names its node, and a queued one not even its type; up to
// 2026.3 it names the requesting node while the request is queued or in transition; after that it names the target, which for a replace
// is the replaced node, for as long as the task is listed.
func printTask(v rules.Version, s *topology, t *topoTask) printedTask {
	p := printedTask{kind: string(t.Type), state: t.State}
	x := s.node(t.HostID)
	open := t.State == "running" && x != nil && x.RequestID == t.ID
	switch v.TaskEntity() {
	case rules.TaskEntityNever:
		if open && x.Stage == "" {
			p.kind, p.state = "", "created"
		}
	case rules.TaskEntityWhileOpen:
		if open {
			p.entity = t.HostID
		}
	case rules.TaskEntityTarget:
		p.entity = cmp.Or(t.Replaces, t.HostID)
	}
	return p
}

// expired reports whether a finished task is older than user_task_ttl.
func (t *topoTask) expired(ttl time.Duration) bool {
	return t.State != "running" && time.Since(t.End) > ttl
}

func apiTime(t time.Time) string {
	if t.IsZero() {
		t = time.Unix(0, 0)
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

func (n *Node) findTask(id string) (*topoTask, error) {
	if _, err := uuid.Parse(id); err != nil {
		return nil, badParam("Cannot parse task id %s", id)
	}
	if n.v.NodeOpsTasks() {
		if t := n.knownTopology().task(id); t != nil && !t.expired(n.clock.Real(time.Hour)) {
			return t, nil
		}
	}
	return nil, badParam("task with id %s not found", id)
}

func (n *Node) taskStatus(t *topoTask) obj {
	s := n.g0.state()
	x, p := s.node(t.HostID), printTask(n.v, s, t)
	abortable := t.State == "running" && x != nil && x.Stage == ""
	done := 0.0
	if t.State == "done" {
		done = 1
	}
	return obj{
		{"id", t.ID}, {"type", p.kind}, {"kind", "cluster"}, {"scope", "cluster"}, {"state", p.state},
		{"is_abortable", abortable}, {"start_time", apiTime(t.Start)}, {"end_time", apiTime(t.End)}, {"error", t.Error},
		{"parent_id", "none"}, {"sequence_number", 0}, {"shard", 0}, {"keyspace", ""}, {"table", ""}, {"entity", p.entity},
		{"progress_units", ""}, {"progress_total", 1.0}, {"progress_completed", done}, {"children_ids", []any{}},
	}
}

func (n *Node) apiTaskStatus(c apiCall) (any, error) {
	t, err := n.findTask(c.param)
	if err != nil {
		return nil, err
	}
	return n.taskStatus(t), nil
}

func (n *Node) apiAbortTask(c apiCall) (any, error) {
	t, err := n.findTask(c.param)
	if err != nil {
		return nil, err
	}
	err = n.ask(n.ctx, "topo.request", topologyRequest{Kind: "abort", HostIDs: []string{t.ID}}, nil)
	if err != nil && strings.Contains(err.Error(), "not abortable") {
		return nil, &apiError{403, err.Error()}
	}
	return void{}, err
}

// topoTask is one topology request, open or finished.
type topoTask struct {
	ID       string     `json:"id"`
	Type     rules.Kind `json:"type"`
	HostID   string     `json:"hostID"` // the node that joins, leaves, is removed or is rebuilt
	Replaces string     `json:"replaces,omitempty"`
	State    string     `json:"state"` // running, done or failed
	Error    string     `json:"error,omitempty"`
	Start    time.Time  `json:"start"`
	End      time.Time  `json:"end,omitzero"`
}

func (s *topology) task(id string) *topoTask {
	if s == nil {
		return nil
	}
	for _, t := range s.Tasks {
		if t.ID == id {
			return t
		}
	}
	return nil
}

func (s *topology) finishTask(id, errText string, now time.Time) {
	t := s.task(id)
	if t == nil || t.State != "running" {
		return
	}
	t.State, t.Error, t.End = "done", errText, now
	if errText != "" {
		t.State = "failed"
	}
}

const keptTasks = 200

func (s *topology) addTask(t *topoTask) {
	s.Tasks = append(s.Tasks, t)
	if len(s.Tasks) > keptTasks {
		s.Tasks = s.Tasks[len(s.Tasks)-keptTasks:]
	}
}

// abort cancels a request that is still queued. A joining node becomes left and stays banned.
func (n *Node) abort(ctx context.Context, task string) error {
	var joiner *topoNode
	err := n.g0.propose(ctx, func(t *topology) error {
		joiner = nil
		for _, x := range t.sorted() {
			if x.RequestID != task || x.Request == "" || x.Stage != "" {
				continue
			}
			if x.Request == rules.Join || x.Request == rules.Replace {
				joiner = x
				x.State = rules.Left
			}
			x.Request = ""
			t.finishTask(task, "Aborted on user request", time.Now().UTC())
			return nil
		}
		return fmt.Errorf("task with id %s is not abortable", task)
	})
	if err == nil && joiner != nil {
		n.wg.Go(func() { n.respond(*joiner, "request was aborted") })
	}
	return err
}

// awaitTask waits for the end of a task and returns its error text, "" for success.
func (n *Node) awaitTask(ctx context.Context, id string) (text string, err error) {
	err = n.await(ctx, func() bool {
		t := n.g0.state().task(id)
		ended := t != nil && t.State != "running"
		if ended {
			text = t.Error
		}
		return ended
	})
	return text, err
}

func newTaskID() string {
	id, err := uuid.NewUUID()
	if err != nil {
		return uuid.NewString()
	}
	return id.String()
}
