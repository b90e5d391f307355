// SPDX-License-Identifier: Apache-2.0

package words

// rowSentences are the reasons why a row is missing, or may be old.
var (
	ScyllaDBNoAnswer = define("ScyllaDBNoAnswer", "cannot query the local ScyllaDB: {words}")
	RowMalformed     = define("RowMalformed", "{words}")
	PodMissing       = define("PodMissing", "Pod {pod} does not exist")
	PodUnreachable   = define("PodUnreachable", "{words}")
	NotAsked         = define("NotAsked", "ScyllaDB was not queried")
	OtherHostID      = define("OtherHostID",
		"the Pod reports host ID {object}, but its Service records a different one")
	ReportDamaged = define("ReportDamaged", "the membership[ {object}] in the report is missing or invalid")

	PodNotSaved          = define("PodNotSaved", "Pod {pod} is not among the saved objects")
	PodGone              = define("PodGone", "Pod {pod} no longer exists")
	PodDeleting          = define("PodDeleting", "Pod {pod} is being deleted")
	PodNotRunning        = define("PodNotRunning", "Pod {pod} is {words}")
	ContainerUnknown     = define("ContainerUnknown", "the state of container {object} of Pod {pod} is unknown")
	ContainerEnded       = define("ContainerEnded", "container {object} of Pod {pod} terminated ({words})")
	ContainerExited      = define("ContainerExited", "container {object} of Pod {pod} exited (code {words})")
	ContainerWaits       = define("ContainerWaits", "container {object} of Pod {pod} is waiting ({words})")
	ContainerNotRunning  = define("ContainerNotRunning", "container {object} of Pod {pod} is not running")
	ReporterNotReady     = define("ReporterNotReady", "container {object} of Pod {pod} is not ready")
	KubernetesNodeSilent = define("KubernetesNodeSilent",
		"Pod {pod} is on Kubernetes node {object}, which is not responding")
	PodMarkedNotReady = define("PodMarkedNotReady",
		"Pod {pod} has condition Ready False, although its containers are ready")
	NotInAnnotation = define("NotInAnnotation",
		"Pod {pod} has no status report any more, but the datacenter report still has it")
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
	PodMarkedNotReady,
	NotInAnnotation,
	DatacenterUnreadable,
}
