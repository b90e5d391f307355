// SPDX-License-Identifier: Apache-2.0

package matrix

import "github.com/kubectl-scylla/kubectl-scylla/internal/code"

// Trouble is why a row is missing, or why it may be old: a code with what it is about. The zero value is no trouble.
type Trouble struct {
	Code code.Code
	// Object is the container, Kubernetes node, host ID or digest that the code is about.
	Object string
	// Words are quoted: from ScyllaDB, the decoder or Kubernetes.
	Words string
}

// Codes of rows that are missing or cannot be used.
const (
	TroubleScyllaDB       code.Code = "ScyllaDBNoAnswer" // the ScyllaDB of the Pod does not answer, or its answer does not give a row
	TroubleMalformed      code.Code = "RowMalformed"     // the row written by the reporter (Object: its container) cannot be read
	TroublePodMissing     code.Code = "PodMissing"       // there is no Pod
	TroublePodUnreachable code.Code = "PodUnreachable"   // the Pod could not be reached
	TroubleNotAsked       code.Code = "NotAsked"         // the ScyllaDB of the Pod was not asked
	TroubleOtherHostID    code.Code = "OtherHostID"      // the Pod's row has host ID Object, not the one that its Service records
	TroubleReportDamaged  code.Code = "ReportDamaged"    // the report that carries the row is inconsistent
)

// Codes of rows that may be old.
const (
	StalePodNotSaved         code.Code = "PodNotSaved" // the Pod is not among the saved objects
	StalePodGone             code.Code = "PodGone"
	StalePodDeleting         code.Code = "PodDeleting"
	StalePodNotRunning       code.Code = "PodNotRunning" // Words is its phase
	StaleContainerUnknown    code.Code = "ContainerUnknown"
	StaleContainerEnded      code.Code = "ContainerEnded"
	StaleContainerExited     code.Code = "ContainerExited" // without a reason of Kubernetes; words are the exit code
	StaleContainerWaits      code.Code = "ContainerWaits"
	StaleContainerNotRunning code.Code = "ContainerNotRunning"
	StaleReporterNotReady    code.Code = "ReporterNotReady"
	StaleKubernetesNodeLost  code.Code = "KubernetesNodeSilent" // Object is the Kubernetes node
	StaleDatacenter          code.Code = "DatacenterUnreadable" // the report of datacenter Object can no longer be read
	StaleNoAnnotation        code.Code = "NotInAnnotation"      // a report has the row, and the Pod that it must come from carries none
)

// IsZero is true when there is no trouble.
func (t Trouble) IsZero() bool { return t == Trouble{} }

// Message is the trouble of a member's row. pod is "namespace/name", or as much of it as is known.
func (t Trouble) Message(pod string) code.Message {
	if t.IsZero() {
		return code.Message{}
	}
	return code.New(t.Code, "pod", pod, "object", t.Object, "words", t.Words)
}

// Fault is the origin of a row's trouble, which decides the next step.
type Fault uint8

const (
	FaultReporter Fault = iota // the reporter's row cannot be read
	FaultScyllaDB              // ScyllaDB, or the operator's reporter in its container
	FaultPod                   // there is no Pod, or it could not be reached
	FaultReport                // the report that carries the row
)

// Fault is the origin of the trouble.
func (t Trouble) Fault(scyllaDBContainer string) Fault {
	switch t.Code {
	case TroubleMalformed:
		if t.Object == scyllaDBContainer {
			return FaultScyllaDB // the Scylla Operator's reporter shares ScyllaDB's container, and so its log
		}
		return FaultReporter
	case TroublePodMissing, TroublePodUnreachable, TroubleNotAsked:
		return FaultPod
	case TroubleReportDamaged:
		return FaultReport
	}
	return FaultScyllaDB
}
