// SPDX-License-Identifier: Apache-2.0

package words

// rowSentences are the reasons why a row is missing, or may be old.
var (
	ScyllaDBNoAnswer = define("ScyllaDBNoAnswer", "ask the local ScyllaDB: {words}")
	RowMalformed     = define("RowMalformed", "{words}")
	PodMissing       = define("PodMissing", "pod {pod} does not exist")
	PodUnreachable   = define("PodUnreachable", "{words}")
	NotAsked         = define("NotAsked", "ScyllaDB was not asked")
	OtherHostID      = define("OtherHostID", "the Pod reports as host ID {object}, which is not the one that its Service records")
	ReportDamaged    = define("ReportDamaged", "the report does not carry the membership[ {object}] of its rows, or carries it wrongly")

	PodNotSaved          = define("PodNotSaved", "pod {pod} is not among the saved objects")
	PodGone              = define("PodGone", "pod {pod} is gone")
	PodDeleting          = define("PodDeleting", "pod {pod} is being deleted")
	PodNotRunning        = define("PodNotRunning", "pod {pod} is {words}")
	ContainerUnknown     = define("ContainerUnknown", "pod {pod}: no state of container {object} is known")
	ContainerEnded       = define("ContainerEnded", "pod {pod}: container {object} ended ({words})")
	ContainerExited      = define("ContainerExited", "pod {pod}: container {object} ended (exit code {words})")
	ContainerWaits       = define("ContainerWaits", "pod {pod}: container {object} waits ({words})")
	ContainerNotRunning  = define("ContainerNotRunning", "pod {pod}: container {object} is not running")
	ReporterNotReady     = define("ReporterNotReady", "pod {pod}: container {object} is not ready")
	KubernetesNodeSilent = define("KubernetesNodeSilent", "pod {pod}: its Kubernetes node {object} does not answer")
	NotInAnnotation      = define("NotInAnnotation", "pod {pod} carries no row any more, and the report still has one")
	DatacenterUnreadable = define("DatacenterUnreadable", "the report of datacenter {object} can no longer be read")
)

var rows = []Code{
	ScyllaDBNoAnswer,
	RowMalformed,
	PodMissing,
	PodUnreachable,
	NotAsked,
	OtherHostID,
	ReportDamaged,
	PodNotSaved,
	PodGone,
	PodDeleting,
	PodNotRunning,
	ContainerUnknown,
	ContainerEnded,
	ContainerExited,
	ContainerWaits,
	ContainerNotRunning,
	ReporterNotReady,
	KubernetesNodeSilent,
	NotInAnnotation,
	DatacenterUnreadable,
}
