// SPDX-License-Identifier: Apache-2.0

package words

import (
	"github.com/kubectl-scylla/kubectl-scylla/internal/code"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// rowSentences are the reasons why a row is missing, or may be old.
var rowSentences = map[code.Code]string{
	matrix.TroubleScyllaDB:       "ask the local ScyllaDB: {words}",
	matrix.TroubleMalformed:      "{words}",
	matrix.TroublePodMissing:     "pod {pod} does not exist",
	matrix.TroublePodUnreachable: "{words}",
	matrix.TroubleNotAsked:       "ScyllaDB was not asked",
	matrix.TroubleOtherHostID:    "the Pod reports as host ID {object}, which is not the one that its Service records",
	matrix.TroubleReportDamaged:  "the report does not carry the membership[ {object}] of its rows, or carries it wrongly",

	matrix.StalePodNotSaved:         "pod {pod} is not among the saved objects",
	matrix.StalePodGone:             "pod {pod} is gone",
	matrix.StalePodDeleting:         "pod {pod} is being deleted",
	matrix.StalePodNotRunning:       "pod {pod} is {words}",
	matrix.StaleContainerUnknown:    "pod {pod}: no state of container {object} is known",
	matrix.StaleContainerEnded:      "pod {pod}: container {object} ended ({words})",
	matrix.StaleContainerExited:     "pod {pod}: container {object} ended (exit code {words})",
	matrix.StaleContainerWaits:      "pod {pod}: container {object} waits ({words})",
	matrix.StaleContainerNotRunning: "pod {pod}: container {object} is not running",
	matrix.StaleReporterNotReady:    "pod {pod}: container {object} is not ready",
	matrix.StaleKubernetesNodeLost:  "pod {pod}: its Kubernetes node {object} does not answer",
	matrix.StaleNoAnnotation:        "pod {pod} carries no row any more, and the report still has one",
	matrix.StaleDatacenter:          "the report of datacenter {object} can no longer be read",
}
