// SPDX-License-Identifier: Apache-2.0

package words

// Steps for what Kubernetes says about a Pod that does not run, of internal/replace.
var (
	FixProbe = define("FixProbe",
		"give {container} more time in {object}: a startupProbe, or a higher failureThreshold of its {probe} probe[. {database} replays its commit log before it responds, and each restart begins that again]; no data is lost: {1}")
	SeeProbe = define("SeeProbe",
		"the {setBy} sets this probe, and the ScyllaCluster has no field for it: check in its log why the start takes so long[. {database} replays its commit log before it responds, and each restart begins that again]; no data is lost: {1}")
	SeeContainerLog = define("SeeContainerLog", "check the log of this container; ScyllaDB in the same Pod is ready: {1}")
	FixLacking      = define("FixLacking",
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

// Causes that ScyllaDB's log has, in addition to the texts about joins, and their steps.
var (
	ReplaceNotInGossip = define("ReplaceNotInGossip",
		"No node has the address to replace: it is a former address, or a replacement has ended before. Replace by host ID; compare it with kubectl scylla status."+nothingDone+cancelOrTake)
	AioExhausted = define("AioExhausted",
		"The Kubernetes node has too few asynchronous I/O requests left: raise its sysctl fs.aio-max-nr, or give ScyllaDB fewer CPUs."+nothingDone)
	DiskNoSpace = define("DiskNoSpace",
		"A file system is full: enlarge the PersistentVolumeClaim, or remove snapshots with nodetool clearsnapshot on a node that runs. Do not delete files on the volume.")
	SSTableMalformed = define("SSTableMalformed",
		"ScyllaDB could not read one file. This does not show that the volume is lost as a whole: check the disk of the Kubernetes node, and which file the log names. Delete nothing yet.")
	DuplicateAddress = define("DuplicateAddress",
		"Two addresses of one host ID are in system.peers. Do not restart nodes that are UP: they may end with the same error. Compare both addresses with the addresses of the Pods.")
	ScyllaDBKilled = define("ScyllaDBKilled",
		"The ScyllaDB process was killed inside its container, by the kernel (out of memory) or by a person: check the kernel log and the memory of the Kubernetes node.")
	TabletsNotDrained = define("TabletsNotDrained",
		"A node cannot leave, because no other node may take its tablets: add a node to its rack, or lower the replication factor, and then decommission it again.")
	MemberWithoutAddress = define("MemberWithoutAddress",
		"ScyllaDB knows a member without its address: check which node has this host ID and that it runs. Restarting nodes that are UP does not help.")
	LastVoter = define("LastVoter",
		"The operation would remove the last voter of group 0: it ran on a cluster of one node, or there are several clusters with one name (kubectl scylla status).")

	PodSays  = define("PodSays", "[{ends}; ]its log: {text}")
	RaiseAio = define("RaiseAio",
		"raise sysctl fs.aio-max-nr on Kubernetes node {kubernetesNode}, or give ScyllaDB fewer CPUs in {object}; no data is lost: {1}")
	GrowVolume = define("GrowVolume",
		"enlarge PVC {claim}[ (now {size})], which cannot be undone: StorageClass {class} allows it; {larger} is an example: {1}. The template in {object} keeps the old size for PVCs created later. Do not delete files on the volume, and do not replace it")
	SeeVolumeGrowth = define("SeeVolumeGrowth",
		"enlarge its volume[, PVC {claim}][ (now {size})], if its StorageClass[ {class}] allows expansion; do not delete files on the volume, and do not replace it: {1}")
	VolumeFixed = define("VolumeFixed",
		"add nodes to its rack, or remove snapshots that are not needed: StorageClass {class} does not allow PVC {claim} to be enlarged. Do not delete files on the volume, and do not replace it. Show the snapshots: {1}")
	VolumeLocal = define("VolumeLocal",
		"add nodes to its rack, or remove snapshots that are not needed: PVC {claim} has a local volume (StorageClass {class}), which cannot be enlarged. Do not delete files on the volume, and do not replace it. Show the snapshots: {1}")
	VolumeGrows = define("VolumeGrows",
		"PVC {claim} is being enlarged from {capacity} to {size}: check what this waits for: {1}. Do not delete files on the volume, and do not replace it")
	SeeSSTable = define("SeeSSTable",
		"do not delete or replace it: one damaged file does not show that its volume is lost. Check the disk of Kubernetes node {kubernetesNode} and the file that its log names: {1}")
	SeeAddresses = define("SeeAddresses",
		"do not restart nodes that are UP: they may end with the same error. Compare the two addresses in its log with the Pods: {1}")
	SeeKilled = define("SeeKilled",
		"check the memory and the kernel log of Kubernetes node {kubernetesNode} (out of memory), and who ended the process; no data is lost: {1}")
	SeeAddressOfOther = define("SeeAddressOfOther",
		"do not replace anything, although the log suggests it: check which Pod has this address: {1}; and whether its volume is its own, by the host ID in its log: {2}")
)
