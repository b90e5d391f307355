// SPDX-License-Identifier: Apache-2.0

package words

// Steps for what Kubernetes says about a Pod that does not run, of internal/replace.
var (
	FixProbe = define("FixProbe",
		"give {container} more time in {object}: a startupProbe, or a higher failureThreshold of its {probe} probe. ScyllaDB replays its commit log before it responds, and each restart begins that again; no data is lost: {1}")
	FixLacking = define("FixLacking",
		"create {missing}, or fix its name in {object}; its Pod then starts, and no data is lost: {1}")
	FixMount = define("FixMount",
		"check the volume and its driver on Kubernetes node {kubernetesNode}; treat the data as intact: {1}")
	FixAttach = define("FixAttach",
		"check which Kubernetes node still has its volume[ {volume}] attached, and bring that back or detach it; treat the volume as intact: {1}")
	FixQuota = define("FixQuota",
		"raise ResourceQuota {quota}, or lower what {object} requests; no data is lost: {1}")
	FixRefusal = define("FixRefusal",
		"change {object} so that it is accepted, or the policy that rejects its Pod; no data is lost: {1}")
	FixClaim = define("FixClaim",
		"give PVC {claim} a volume[ of {size}]: fix its StorageClass[ {class}] or provisioner, or create a PersistentVolume; its Events show the cause: {1}")
	SeeClaims = define("SeeClaims",
		"do not delete anything: check who deleted PVC {claim}, and whether a PersistentVolume has kept its data: {1}")
	SeeEnding = define("SeeEnding",
		"do not use --force while its containers may run; check its Kubernetes node, finalizers and Events: {1}")
	FreeMachine = define("FreeMachine",
		"free {resource} on Kubernetes node {kubernetesNode}; its StatefulSet then creates the Pod again, and no data is lost: {1}")
	MakeRoomOn = define("MakeRoomOn",
		"free {resource} on Kubernetes node {kubernetesNode}, which has its volume, or lower the request of its Pod in {object}; no data is lost: {1}")
	MakeRoom = define("MakeRoom",
		"free {resource} on a Kubernetes node, add one, or lower the request of its Pod in {object}; no data is lost: {1}")
	AddMachine = define("AddMachine",
		"make room on a Kubernetes node that can use its volume, add one, or relax the placement in {object}; no data is lost: {1}")
	UncordonAny = define("UncordonAny",
		"uncordon a Kubernetes node that can use its volume, when its maintenance is finished; no data is lost: {1}")
	FixTaint = define("FixTaint",
		"remove taint[ {taint}] from a Kubernetes node that can use its volume, or add a toleration in {object}; no data is lost: {1}")
	FixAffinity = define("FixAffinity",
		"give a Kubernetes node the labels that {object} requires, or change its nodeSelector or node affinity; no data is lost: {1}")
	FixVolumePlace = define("FixVolumePlace",
		"bring back or add a Kubernetes node that can use volume {volume}, as its node affinity requires; treat the volume as intact: {1}")
)
