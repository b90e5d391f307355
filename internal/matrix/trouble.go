// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Trouble is why a row is missing, or why it may be old: a code with its object. The zero value
// means no trouble.
type Trouble struct {
	Code words.Code
	// Object is the container, Kubernetes node, host ID or digest of the code.
	Object string
	// Words are quoted: from ScyllaDB, the decoder or Kubernetes.
	Words string
}

// IsZero reports whether there is no trouble.
func (t Trouble) IsZero() bool { return t == Trouble{} }

// Message is the trouble of a member's row. pod is "namespace/name", or the known part of it.
func (t Trouble) Message(pod string) words.Message {
	if t.IsZero() {
		return words.Message{}
	}
	return words.New(t.Code, "pod", pod, "object", t.Object, "words", t.Words)
}

// Fault is the origin of a row's trouble, which decides the next step.
type Fault uint8

const (
	FaultReporter Fault = iota // the reporter's row is not readable
	FaultScyllaDB              // ScyllaDB, or the operator's reporter in its container
	FaultPod                   // there is no Pod, or it was not reachable
	FaultReport                // the report that carries the row
)

// Fault returns the origin of the trouble.
func (t Trouble) Fault(scyllaDBContainer string) Fault {
	switch t.Code {
	case words.RowMalformed:
		if t.Object == scyllaDBContainer {
			// the Scylla Operator's reporter shares ScyllaDB's container and log
			return FaultScyllaDB
		}
		return FaultReporter
	case words.PodMissing, words.PodUnreachable, words.NotAsked:
		return FaultPod
	case words.ReportDamaged:
		return FaultReport
	}
	return FaultScyllaDB
}

// podName returns "namespace/name" of a node's Pod, or the known part of it.
func (m *Matrix) podName(n *Node) string {
	namespace := m.opts.Namespace
	if n.Row != nil {
		namespace = cmp.Or(n.Row.Namespace, namespace)
	}
	if namespace == "" {
		return n.Name()
	}
	return namespace + "/" + n.Name()
}
