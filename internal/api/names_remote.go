// SPDX-License-Identifier: Apache-2.0

package api

// Names of the objects, labels and annotations by which Kubernetes clusters exchange reports.
const (
	// LabelRemoteKubeconfig on a Secret in the controller's own namespace says that it holds the kubeconfig of another Kubernetes
	// cluster with datacenters of one of our clusters; its value is the remote's name. The Secret also carries LabelCluster, the
	// cluster here. Written by a person, read by our controller.
	LabelRemoteKubeconfig = "kubectl-scylla.scylladb.com/remote-kubeconfig"
	// KeyKubeconfig is the key of the kubeconfig in such a Secret. Credentials must be inline: files, commands and
	// authentication plugins are refused.
	KeyKubeconfig = "kubeconfig"

	// AnnotationRemoteLocalNamespace on such a Secret is the namespace here of the cluster named by LabelCluster. Required.
	AnnotationRemoteLocalNamespace = "kubectl-scylla.scylladb.com/local-namespace"
	// AnnotationRemoteNamespace is the cluster's namespace there; as here when absent.
	AnnotationRemoteNamespace = "kubectl-scylla.scylladb.com/remote-namespace"
	// AnnotationRemoteCluster is the value of LabelReportSelector there: the cluster's name, or with the Scylla Operator the
	// ScyllaDBDatacenter's; the name of the cluster here when absent.
	AnnotationRemoteCluster = "kubectl-scylla.scylladb.com/remote-cluster"

	// AnnotationCopy is on a copied report beside LabelRemoteReport. CopyPulled: the controller here fetched it, and keeps and prunes it. CopyPushed: a
	// controller elsewhere wrote it, keeps changing AnnotationCopyRenewed, and prunes it.
	AnnotationCopy = "kubectl-scylla.scylladb.com/copy"
	CopyPulled     = "pulled"
	CopyPushed     = "pushed"
	// AnnotationCopyOf names the original of a copied report, for people: "REMOTE/NAMESPACE/NAME".
	AnnotationCopyOf = "kubectl-scylla.scylladb.com/copy-of"
	// AnnotationCopyPusher distinguishes two pushing controllers: the UID of the Secret that configured the push.
	AnnotationCopyPusher = "kubectl-scylla.scylladb.com/copy-pusher"
	// AnnotationCopyRenewed changes on a pushed copy while its pusher is alive. Only that it changes matters: no clock is compared.
	AnnotationCopyRenewed = "kubectl-scylla.scylladb.com/copy-renewed"
	// AnnotationStaleSince and AnnotationStaleReason are on a copy whose origin can no longer be read. Its rows are then written without observations,
	// which every reader treats as "has not reported"; the last rows are in the ScyllaDBStatusReport.
	AnnotationStaleSince  = "kubectl-scylla.scylladb.com/stale-since"
	AnnotationStaleReason = "kubectl-scylla.scylladb.com/stale-reason"

	// AnnotationOverrideRefPropagatedFrom names the object whose AnnotationStatusReportOverrideRef our controller copied to this Service, so that it
	// removes only its own copies. Written and read by our controller alone.
	AnnotationOverrideRefPropagatedFrom = "kubectl-scylla.scylladb.com/override-ref-propagated-from"
)

// NodeStatusMissing is the status, among the exceptions of a row that carries a membership digest, of a host ID that the row lacks. It occurs nowhere
// else; a reader that does not know it must treat it, like any other text, as not UP.
const NodeStatusMissing NodeStatus = "MISSING"

// More condition types of ScyllaDBStatusReport; each is absent while it does not apply.
const (
	// ConditionOverridden is True when AnnotationStatusReportOverrideRef makes barriers of the cluster judge by another
	// ScyllaDBStatusReport, which the message names, and False when that one does not exist.
	ConditionOverridden = "Overridden"
	// ConditionReportsKept is present, and False, while a report cannot be written: barriers then trust none of the cluster's reports.
	ConditionReportsKept = "ReportsKept"
	// ConditionFieldsKept was written by earlier versions, and is removed.
	ConditionFieldsKept = "FieldsKept"
	// ConditionReportsComplete is False when a datacenter's report would exceed the API server's size limit: its rows are then written without
	// observations, and only the cluster report has the matrix.
	ConditionReportsComplete = "DatacenterReportsComplete"
)
