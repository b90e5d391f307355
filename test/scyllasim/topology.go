// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"encoding/json"
	"slices"
	"time"
)

// Node states in the topology.
const (
	stateNone            = "none"
	stateBootstrapping   = "bootstrapping"
	stateReplacing       = "replacing"
	stateNormal          = "normal"
	stateDecommissioning = "decommissioning"
	stateRemoving        = "removing"
	stateRebuilding      = "rebuilding"
	stateLeft            = "left"
)

// Topology requests, named as the task manager prints them.
const (
	requestJoin    = "bootstrap"
	requestReplace = "replace"
	requestLeave   = "decommission"
	requestRemove  = "remove node"
	requestRebuild = "rebuild"
)

// Stages of the one node in transition.
const (
	stageAccept   = "accept"
	stageReadOld  = "write_both_read_old"
	stageReadNew  = "write_both_read_new"
	stageLeftRing = "left_token_ring"
	// stageRollback carries a node out after a failure; what follows is left.
	stageRollback = "rollback_to_normal"
)

// topology is the replicated state, the same on every member: system.topology, topology_requests and the group 0 voters.
type topology struct {
	GroupID     string               `json:"groupID"`
	ClusterName string               `json:"clusterName"`
	Snitch      string               `json:"snitch"`
	Schema      string               `json:"schema"`
	Nodes       map[string]*topoNode `json:"nodes"`
	Voters      []string             `json:"voters"`
	// Ignored holds the host IDs that a replace or removenode named as dead. They are banned from the moment of the request.
	Ignored []string `json:"ignored,omitempty"`
	// Excluded holds host IDs banned by exclude_node.
	Excluded []string    `json:"excluded,omitempty"`
	Tasks    []*topoTask `json:"tasks,omitempty"`
}

type topoNode struct {
	HostID string  `json:"hostID"`
	IP     string  `json:"ip"`
	DC     string  `json:"dc"`
	Rack   string  `json:"rack"`
	State  string  `json:"state"`
	Tokens []int64 `json:"tokens,omitempty"`
	// Stage is set while this node is in transition; at most one node has it.
	Stage     string   `json:"stage,omitempty"`
	Request   string   `json:"request,omitempty"`
	RequestID string   `json:"requestID,omitempty"`
	Replaces  string   `json:"replaces,omitempty"`
	Ignore    []string `json:"ignore,omitempty"`
	// Nonce tells one start of the joining process from the next on the same data directory.
	Nonce string `json:"nonce,omitempty"`
	// InGroup0 nodes receive the replicated state.
	InGroup0 bool `json:"inGroup0,omitempty"`
}

type topoTask struct {
	ID     string    `json:"id"`
	Type   string    `json:"type"`
	Entity string    `json:"entity"`
	State  string    `json:"state"` // running, done or failed
	Error  string    `json:"error,omitempty"`
	Start  time.Time `json:"start"`
	End    time.Time `json:"end,omitzero"`
}

func (s *topology) clone() *topology {
	b, err := json.Marshal(s)
	if err != nil {
		return &topology{}
	}
	var c topology
	if json.Unmarshal(b, &c) != nil {
		return &topology{}
	}
	if c.Nodes == nil {
		c.Nodes = map[string]*topoNode{}
	}
	return &c
}

// sorted returns the nodes in order of host ID, so that every walk over them is repeatable.
func (s *topology) sorted() []*topoNode {
	if s == nil {
		return nil
	}
	out := make([]*topoNode, 0, len(s.Nodes))
	for _, n := range s.Nodes {
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b *topoNode) int {
		if a.HostID < b.HostID {
			return -1
		}
		return 1
	})
	return out
}

func (s *topology) node(id string) *topoNode {
	if s == nil {
		return nil
	}
	return s.Nodes[id]
}

func (s *topology) state(id string) string {
	if n := s.node(id); n != nil {
		return n.State
	}
	return ""
}

// owner reports whether a node in this state owns normal tokens.
func (n *topoNode) owner() bool {
	switch n.State {
	case stateNormal, stateRebuilding:
		return true
	case stateDecommissioning, stateRemoving:
		return n.Stage != stageLeftRing
	}
	return false
}

// visible reports whether the node is in token metadata: tokens chosen and not left.
func (n *topoNode) visible() bool {
	switch n.State {
	case stateNone, stateLeft:
		return false
	case stateBootstrapping, stateReplacing:
		return len(n.Tokens) > 0
	}
	return true
}

func (s *topology) transition() *topoNode {
	for _, n := range s.sorted() {
		if n.Stage != "" {
			return n
		}
	}
	return nil
}

// banned reports whether connections from id are refused.
func (s *topology) banned(id string) bool {
	if s == nil {
		return false
	}
	return s.state(id) == stateLeft || slices.Contains(s.Ignored, id) || slices.Contains(s.Excluded, id)
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

func addUnique(list []string, ids ...string) []string {
	for _, id := range ids {
		if !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list
}

// wantedVoters are the normal nodes that are neither leaving nor given up.
func (s *topology) wantedVoters() []string {
	var out []string
	for _, n := range s.sorted() {
		if (n.State == stateNormal || n.State == stateRebuilding) && !slices.Contains(s.Ignored, n.HostID) && !slices.Contains(s.Excluded, n.HostID) {
			out = append(out, n.HostID)
		}
	}
	return out
}

// nextVoters returns the voters after one step towards the wanted set. One change at a time keeps any two majorities overlapping.
func (s *topology) nextVoters() ([]string, bool) {
	wanted := s.wantedVoters()
	for _, id := range wanted {
		if !slices.Contains(s.Voters, id) {
			return append(slices.Clone(s.Voters), id), true
		}
	}
	for i, id := range s.Voters {
		if !slices.Contains(wanted, id) && len(s.Voters) > 1 {
			return slices.Delete(slices.Clone(s.Voters), i, i+1), true
		}
	}
	return s.Voters, false
}
