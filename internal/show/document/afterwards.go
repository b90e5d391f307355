// SPDX-License-Identifier: Apache-2.0

package document

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Afterwards is a finished operation, with the next tasks from ScyllaDB's documentation.
type Afterwards struct {
	// Operation is Replaced or Joined, Node the new node, Original the host ID that it replaced.
	Operation  string       `json:"operation"`
	Node       matrix.Ref   `json:"node"`
	Original   string       `json:"original,omitempty"`
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
	Summary    string       `json:"summary"`
	// Wait is why the open tasks must wait; absent if they can be done now.
	Wait  string `json:"wait,omitempty"`
	Tasks []Task `json:"tasks"`
}

// Task is one action on one node.
type Task struct {
	Node matrix.Ref `json:"node"`
	// State is Open or NotNeeded. ScyllaDB does not show whether an open task was done.
	State   string        `json:"state"`
	Text    words.Message `json:"text"`
	Command words.Command `json:"command,omitempty"`
}

// NewAfterwards converts the tasks of finished operations to text.
func NewAfterwards(list []diagnosis.Afterwards) []Afterwards {
	var out []Afterwards
	for i := range list {
		a := &list[i]
		d := Afterwards{
			Operation: string(a.Operation), Node: a.Node, Original: string(a.Original), FinishedAt: TimePtr(a.Finished),
			Summary: words.Text(a.Message), Wait: words.Text(a.Wait),
		}
		for _, t := range a.Tasks {
			d.Tasks = append(d.Tasks, Task{Node: t.Node, State: string(t.State), Text: t.Message, Command: t.Command})
		}
		out = append(out, d)
	}
	return out
}

// Open reports whether a task is left.
func (t *Task) Open() bool { return t.State == string(diagnosis.TaskOpen) }

// Title returns the operation with its age.
func (a *Afterwards) Title(now time.Time) string {
	text := a.Summary
	if a.FinishedAt != nil {
		if ago := words.Ago(a.FinishedAt.Time, now); ago != "" {
			text += " (" + ago + ")"
		}
	}
	if a.Wait != "" {
		text += "; " + a.Wait
	}
	return text
}

// Next returns the reason to wait, in brackets; empty without one.
func (a *Afterwards) Next() string {
	if a.Wait == "" {
		return ""
	}
	return " (" + a.Wait + ")"
}

// Box is ticked if no task is left. It is the same in every character set.
func (t *Task) Box() string {
	if t.Open() {
		return "[ ]"
	}
	return "[x]"
}
