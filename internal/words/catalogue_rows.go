// SPDX-License-Identifier: Apache-2.0

package words

// rowSentences are the reasons why a row is missing, or may be old.
var (
	ScyllaDBNoAnswer = define("ScyllaDBNoAnswer", "query the local ScyllaDB: {words}")
	RowMalformed     = define("RowMalformed", "{words}")
	PodMissing       = define("PodMissing", "pod {pod} does not exist")
	PodUnreachable   = define("PodUnreachable", "{words}")
	NotAsked         = define("NotAsked", "ScyllaDB was not queried")
	OtherHostID      = define("OtherHostID", "the Pod reports host ID {object}, but its Service records a different one")
	ReportDamaged    = define("ReportDamaged", "the membership[ {object}] in the report is missing or invalid")

	PodNotSaved          = define("PodNotSaved", "pod {pod} is not among the saved objects")
	PodGone              = define("PodGone", "pod {pod} no longer exists")
	PodDeleting          = define("PodDeleting", "pod {pod} is being deleted")
	PodNotRunning        = define("PodNotRunning", "pod {pod} is {words}")
	ContainerUnknown     = define("ContainerUnknown", "pod {pod}: the state of container {object} is unknown")
	ContainerEnded       = define("ContainerEnded", "pod {pod}: container {object} terminated ({words})")
	ContainerExited      = define("ContainerExited", "pod {pod}: container {object} exited (code {words})")
	ContainerWaits       = define("ContainerWaits", "pod {pod}: container {object} is waiting ({words})")
	ContainerNotRunning  = define("ContainerNotRunning", "pod {pod}: container {object} is not running")
	ReporterNotReady     = define("ReporterNotReady", "pod {pod}: container {object} is not ready")
	KubernetesNodeSilent = define("KubernetesNodeSilent", "pod {pod}: its Kubernetes node {object} is not responding")
	NotInAnnotation      = define("NotInAnnotation", "pod {pod} has no status report any more, but the datacenter report still has it")
	DatacenterUnreadable = define("DatacenterUnreadable", "the report of datacenter {object} is no longer readable")
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
