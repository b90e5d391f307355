// SPDX-License-Identifier: Apache-2.0

package document

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Afterwards is an operation that has ended, with the tasks that ScyllaDB's documentation asks for next.
type Afterwards struct {
	// Operation is Replaced or Joined, Node its newcomer, Original the host ID that it replaced.
	Operation  string       `json:"operation"`
	Node       matrix.Ref   `json:"node"`
	Original   string       `json:"original,omitempty"`
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
	Summary    string       `json:"summary"`
	// Wait is the reason why the open tasks must wait; absent when they can be done now.
	Wait  string `json:"wait,omitempty"`
	Tasks []Task `json:"tasks"`
}

// Task is one thing to do on one node.
type Task struct {
	Node matrix.Ref `json:"node"`
	// State is Open or NotNeeded. Whether an open one was done cannot be observed.
	State   string        `json:"state"`
	Text    words.Message `json:"text"`
	Command words.Command `json:"command,omitempty"`
}

// NewAfterwards translates the tasks that follow finished operations into sentences.
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

// Open is true for a task that is left.
func (t *Task) Open() bool { return t.State == string(diagnosis.TaskOpen) }

// Title is the operation with its age.
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

// Next is the reason to wait, in brackets; empty without one.
func (a *Afterwards) Next() string {
	if a.Wait == "" {
		return ""
	}
	return " (" + a.Wait + ")"
}

// Box is ticked for a task that is not left. It is the same in every character set.
func (t *Task) Box() string {
	if t.Open() {
		return "[ ]"
	}
	return "[x]"
}
