// SPDX-License-Identifier: Apache-2.0

package api

// Names of the objects, labels and annotations with which Kubernetes clusters exchange reports.
const (
	// LabelRemoteKubeconfig is on a Secret in the controller's namespace that contains the
	// kubeconfig of another Kubernetes cluster with datacenters of one of our clusters. Its value
	// is the remote's name. The Secret also has LabelCluster, the local cluster. Written by a user,
	// read by our controller.
	LabelRemoteKubeconfig = "kubectl-scylla.scylladb.com/remote-kubeconfig"
	// KeyKubeconfig is the key of the kubeconfig in such a Secret. Credentials must be inline:
	// files, commands and authentication plugins are refused.
	KeyKubeconfig = "kubeconfig"

	// AnnotationRemoteLocalNamespace on such a Secret is the local namespace of the cluster in
	// LabelCluster. Required.
	AnnotationRemoteLocalNamespace = "kubectl-scylla.scylladb.com/local-namespace"
	// AnnotationRemoteNamespace is the cluster's remote namespace; default: the local namespace.
	AnnotationRemoteNamespace = "kubectl-scylla.scylladb.com/remote-namespace"
	// AnnotationRemoteCluster is the remote value of LabelReportSelector: the cluster's name, or
	// with the Scylla Operator the ScyllaDBDatacenter's name. Default: the name of the local
	// cluster.
	AnnotationRemoteCluster = "kubectl-scylla.scylladb.com/remote-cluster"

	// AnnotationCopy is on a copied report, with LabelRemoteReport. CopyPulled: the local
	// controller fetched the copy, updates and prunes it. CopyPushed: a remote controller wrote it,
	// keeps changing AnnotationCopyRenewed, and prunes it.
	AnnotationCopy = "kubectl-scylla.scylladb.com/copy"
	CopyPulled     = "pulled"
	CopyPushed     = "pushed"
	// AnnotationCopyOf names the original of a copied report, for display: "REMOTE/NAMESPACE/NAME".
	AnnotationCopyOf = "kubectl-scylla.scylladb.com/copy-of"
	// AnnotationCopyPusher distinguishes two pushing controllers: the UID of the Secret that
	// configured the push.
	AnnotationCopyPusher = "kubectl-scylla.scylladb.com/copy-pusher"
	// AnnotationCopyRenewed changes on a pushed copy while its pusher runs. Only the change counts:
	// no clocks are compared.
	AnnotationCopyRenewed = "kubectl-scylla.scylladb.com/copy-renewed"
	// AnnotationStaleSince and AnnotationStaleReason are on a copy whose origin cannot be read. Its
	// rows are then written without observations, which every reader treats as "has not reported".
	// The last rows are in the ScyllaDBStatusReport.
	AnnotationStaleSince  = "kubectl-scylla.scylladb.com/stale-since"
	AnnotationStaleReason = "kubectl-scylla.scylladb.com/stale-reason"

	// AnnotationOverrideRefPropagatedFrom names the object whose AnnotationStatusReportOverrideRef
	// our controller copied to this Service, so that it removes only its own copies. Only our
	// controller reads and writes it.
	AnnotationOverrideRefPropagatedFrom = "kubectl-scylla.scylladb.com/override-ref-propagated-from"
)

// NodeStatusMissing is the status of a host ID that the row lacks, among the exceptions of a row
// with a membership digest. It occurs nowhere else. A reader must treat every unknown status as not
// UP.
const NodeStatusMissing NodeStatus = "MISSING"

// More condition types of ScyllaDBStatusReport; each is absent while it does not apply.
const (
	// ConditionOverridden is True if AnnotationStatusReportOverrideRef makes barriers of the
	// cluster use another ScyllaDBStatusReport, which the message names, and False if that report
	// does not exist.
	ConditionOverridden = "Overridden"
	// ConditionReportsKept is present, and False, while a report cannot be written: barriers then
	// trust none of the cluster's reports.
	ConditionReportsKept = "ReportsKept"
	// ConditionFieldsKept was written by earlier versions; the controller removes it.
	ConditionFieldsKept = "FieldsKept"
	// ConditionReportsComplete is False if a datacenter's report would exceed the API server's size
	// limit: its rows are then written without observations, and only the cluster report has the
	// matrix.
	ConditionReportsComplete = "DatacenterReportsComplete"
)
