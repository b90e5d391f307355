// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// apiModuleTasks is what list_module_tasks prints of the topology requests; no other module is simulated.
func (n *Node) apiModuleTasks(c apiCall) (any, error) {
	if c.param != "node_ops" || !n.v.NodeOpsTasks() {
		return nil, badParam("task manager module %s not found", c.param)
	}
	out := []printedTask{}
	if s := n.g0.state(); s != nil {
		for _, t := range s.Tasks {
			if !t.expired(n.clock.Real(time.Hour)) {
				p := printTask(n.v, s, t)
				p.TaskID = t.ID
				out = append(out, p)
			}
		}
	}
	return out, nil
}

// printedTask is a task in the list of its module, with its ID as TaskID, and by itself.
type printedTask struct {
	TaskID string     `json:"task_id,omitempty"`
	ID     string     `json:"id,omitempty"`
	Type   rules.Kind `json:"type"`
	Kind   string     `json:"kind"`
	State  string     `json:"state"`
	Entity string     `json:"entity"`
	Error  string     `json:"error,omitempty"`
	Start  string     `json:"start_time"`
	End    string     `json:"end_time"`
}

// printTask returns what version v prints of task t. Up to 2025.4 a task never names its node, and a queued one not even its type; up to
// 2026.3 it names the requesting node while the request is queued or in transition; after that it names the target, which for a replace
// is the replaced node, for as long as the task is listed.
func printTask(v rules.Version, s *topology, t *topoTask) printedTask {
	p := printedTask{Type: t.Type, Kind: "cluster", State: t.State, Start: apiTime(t.Start), End: apiTime(t.End)}
	x := s.node(t.HostID)
	open := t.State == "running" && x != nil && x.RequestID == t.ID
	switch v.TaskEntity() {
	case rules.TaskEntityNever:
		if open && x.Stage == "" {
			p.Type, p.State = "", "created"
		}
	case rules.TaskEntityWhileOpen:
		if open {
			p.Entity = t.HostID
		}
	case rules.TaskEntityTarget:
		p.Entity = cmp.Or(t.Replaces, t.HostID)
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
		if t := n.g0.state().task(id); t != nil && !t.expired(n.clock.Real(time.Hour)) {
			return t, nil
		}
	}
	return nil, badParam("task with id %s not found", id)
}

func (n *Node) apiTaskStatus(c apiCall) (any, error) {
	t, err := n.findTask(c.param)
	if err != nil {
		return nil, err
	}
	p := printTask(n.v, n.g0.state(), t)
	p.ID, p.Error = t.ID, t.Error
	return p, nil
}

func (n *Node) apiAbortTask(c apiCall) (any, error) {
	t, err := n.findTask(c.param)
	if err != nil {
		return nil, err
	}
	err = n.ask(n.ctx, "topo.request", topologyRequest{Kind: "abort", ID: t.ID}, nil)
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
	if s != nil {
		if i := slices.IndexFunc(s.Tasks, func(t *topoTask) bool { return t.ID == id }); i >= 0 {
			return s.Tasks[i]
		}
	}
	return nil
}

// addTask begins a task for the request of a node.
func (s *topology) addTask(x *topoNode) {
	t := &topoTask{ID: x.RequestID, Type: x.Request, HostID: x.HostID, State: "running", Start: time.Now().UTC()}
	if x.Request == rules.Replace {
		t.Replaces = x.Replaces
	}
	s.Tasks = append(s.Tasks, t)
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

func newTaskID() string { return uuid.Must(uuid.NewUUID()).String() }
