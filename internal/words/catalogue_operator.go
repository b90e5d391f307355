// SPDX-License-Identifier: Apache-2.0

package words

// The Scylla Operator's own procedure of a replacement.
var (
	OperatorManages      = define("OperatorManages", "the Scylla Operator manages this member and replaces its node")
	OperatorLabelRemoved = define("OperatorLabelRemoved",
		"label {label} was removed during the replacement: the Scylla Operator no longer finishes it, and every later start of this member replaces {original}")
	OperatorOldPod = define("OperatorOldPod",
		"Pod {pod} still belongs to the old node: because of label {label} the Scylla Operator does not evict it, and waits for a new host ID")
	OperatorLetEvict = define("OperatorLetEvict",
		"remove the label; then the Scylla Operator evicts the Pod and records the host ID again, which cannot be undone: {1}")
	OperatorSeeOldPod = define("OperatorSeeOldPod", "check whether the old node is DOWN: {1}")
	OperatorEndByHand = define("OperatorEndByHand",
		"check whether the new node has joined: {1}. Until then only the other label names the node that it replaces")
	OperatorDeletes     = define("OperatorDeletes", "the Scylla Operator deletes PVC and Pod and records the host ID")
	OperatorHasNotBegun = define("OperatorHasNotBegun",
		"the Scylla Operator deletes the PVC within seconds of a request. If PVC {claim} still exists after a minute, check that the operator is running: {1}")
	OperatorNoOriginal   = define("OperatorNoOriginal", "the Scylla Operator recorded no usable host ID: {why}")
	OperatorPlainNewNode = define("OperatorPlainNewNode",
		"the new node joins as a plain new node; the dead node remains a member until it is removed ({1} lists it)")
	OperatorHeldByBudget = define("OperatorHeldByBudget",
		"the Scylla Operator deletes the PVC, but cannot evict the Pod: PodDisruptionBudget[ {budget}] allows no disruption")
	OperatorOff            = define("OperatorOff", "nothing happens: {why}")
	OperatorWouldDelete    = define("OperatorWouldDelete", "{member} is running again[: {why}]; the Scylla Operator checks nothing before it deletes the volume")
	CancelBeforeStart      = define("CancelBeforeStart", "withdraw the request to replace {member} before the Scylla Operator starts: {1}")
	ReplaceOperatorLeads   = define("ReplaceOperatorLeads", "the Scylla Operator is running")
	ReplaceOperatorUnknown = ofReplacement("ReplaceOperatorUnknown", "whether the Scylla Operator is running is unknown: no renewed Lease of it was read", ReplaceSeeOperator)
	ReplaceSeeOperator     = define("ReplaceSeeOperator", "check that the Scylla Operator is running ({1}), then continue with --skip-check={check}")
	ReplaceStartOperator   = define("ReplaceStartOperator", "start the Scylla Operator first: later it would carry out this request without any check, even if the node is UP again: {1}")
	ScaleOperatorBack      = define("ScaleOperatorBack",
		"check who scaled the Scylla Operator to 0 and why, then scale it back, because only it updates its report; its Events show the former number: {1}")
	SeeOperatorLog = define("SeeOperatorLog",
		"the Scylla Operator is running and has not written this report; check its log: {1}")
	StartOperatorAgain = define("StartOperatorAgain",
		"check that the Scylla Operator is running, or withdraw the request while nothing is deleted: {1}")
	OperatorOffDeleted = define("OperatorOffDeleted",
		"the PVC is deleted, is being deleted or was not found, and the host ID of the dead node is not recorded yet: {why}")
	StartOperatorToRecord = define("StartOperatorToRecord",
		"do not withdraw the request: only it names the node to replace. Start the Scylla Operator, which evicts the Pod and records the host ID: {1}")
	OperatorOffMeanwhile = define("OperatorOffMeanwhile", "{state}; the Scylla Operator's report may be out of date: {why}")
	OperatorOffAtEnd     = define("OperatorOffAtEnd", "the new node has joined, and the labels of the replacement stay: {why}")
	StartOperatorToEnd   = define("StartOperatorToEnd",
		"start the Scylla Operator, which removes the labels when the new node has joined; do not remove them manually: {1}")
	OperatorHasDeleted = define("OperatorHasDeleted", "the Scylla Operator has deleted the volume of {member}")
	ClaimIsDeleted     = define("ClaimIsDeleted",
		"do not remove the label: PVC {claim} is being deleted or is deleted, and only the label names the node to replace")
	VolumeDeleted = define("VolumeDeleted",
		"the volume of {member} is deleted, and the cluster may have banned the old node")
	PutLabelBack   = define("PutLabelBack", "restore the host ID {hostID} before the new Pod starts; its start cannot be undone: {1}")
	PutRequestBack = define("PutRequestBack",
		"request it again; the Scylla Operator records the host ID once the old Pod is evicted, which cannot be undone: {1}")
	RecordLost = define("RecordLost",
		"the volume of {member} is being deleted, and no label names the node to replace any more: its new node would start as a plain new node")
	FindingBesideOperator = define("FindingBesideOperator",
		"{objects&} {objects?has|have} label scylla/cluster={cluster}, and {owner} exists in this namespace: the Scylla Operator adopts them and deletes the StatefulSets")
	FindingAdopted = define("FindingAdopted",
		"{objects&} {objects?has|have} label scylla/cluster={cluster}, and {owner} of the Scylla Operator has adopted some of them: the operator deletes StatefulSets that it did not create")
	PartFromOperator = define("PartFromOperator",
		"check what it selects: {1}; then, before {owner} is changed or deleted, give the StatefulSets a label that it does not select, which restarts no Pod: {2}")
	PartAdopted = define("PartAdopted",
		"check what it selects: {1}; give the StatefulSets a label that it does not select, which restarts no Pod: {2}; then check that their ownerReferences do not name {owner}: with it, Kubernetes deletes what it owns: {3}")
	ProtectServices = define("ProtectServices",
		"upgrade the controller, which gives its Services an owner, so that the Scylla Operator does not adopt them: {1}")
	OperatorWaitsForPod   = define("OperatorWaitsForPod", "waiting for the new Pod, which its StatefulSet creates")
	OperatorRemovesLabels = define("OperatorRemovesLabels", "the Scylla Operator is removing the labels")
	OperatorCondition     = define("OperatorCondition", "{condition}")
	OperatorReplaced      = define("OperatorReplaced",
		"node {original} was replaced by {node}[, which the Scylla Operator does not report {joined}]")
)
