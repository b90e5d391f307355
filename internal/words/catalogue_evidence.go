// SPDX-License-Identifier: Apache-2.0

package words

// Endings that several of scyllaWords share.
const (
	newVolume    = "The volume can never join: delete the Pod's PersistentVolumeClaim and then the Pod, so that the node starts on an empty volume with a new host ID (a replacement: kubectl scylla replace resume MEMBER)."
	allUpFirst   = " Before that, check that every node sees every node UP (kubectl scylla status)."
	nothingDone  = " Nothing was stored: the volume can be used and no node is banned. ScyllaDB tries again when it is restarted."
	lookFirst    = " Delete nothing yet. Check whether a node lists its host ID (kubectl scylla status): if one does, the volume has a member's data. If the cluster has removed the host ID, the log of the next start shows it."
	cancelOrTake = " Fix or withdraw the replacement (kubectl scylla replace status)."
)

// scyllaWords are the cause of each of ScyllaDB's log texts, whose patterns package scylla has, and
// the remedy. The text of a decommissioned node has code Decommissioned, which is declared for its
// data directory; its remedy is CureDecommissioned.
var (
	JoinCancelled = define("JoinCancelled",
		"A node was DOWN when the coordinator checked, so the request was cancelled and this host ID banned. "+
			newVolume+allUpFirst)
	RackInvalid = define("RackInvalid",
		"Joining would make a keyspace RF-rack-invalid: check that its replication factor fits the number of racks. "+
			newVolume)
	RolledBack     = define("RolledBack", "The join was accepted and then rolled back. "+newVolume+allUpFirst)
	AlreadyRemoved = define("AlreadyRemoved", "The cluster lists this host ID as a node that has left. "+
		newVolume)
	JoinUnfinished = define("JoinUnfinished",
		"This host ID has requested to join before; this text does not show the result."+lookFirst)
	CureDecommissioned = define("CureDecommissioned", "The node was decommissioned. "+newVolume+
		" If it is no longer needed, scale its StatefulSet down.")
	ReplacedNodeNotFound = define("ReplacedNodeNotFound",
		"The host ID to replace is not a member: it is a wrong one, or a replacement has ended before. Compare it with kubectl scylla status; if the new node is listed as a member, its volume has data."+nothingDone+cancelOrTake)
	ReplaceAliveNode = define("ReplaceAliveNode", "The node to replace is alive: stop it, or do not replace it."+
		nothingDone+cancelOrTake)
	ReplaceTargetNotNormal = define("ReplaceTargetNotNormal",
		"The node to replace is not a normal member: another operation on it is in progress. This text does not show whether the request was stored."+lookFirst)
	ReplaceIgnoredAlive = define("ReplaceIgnoredAlive",
		"A node on the ignore list is alive: remove it from ignore_dead_nodes_for_replace."+nothingDone)
	ReplaceOtherDown = define("ReplaceOtherDown", "Another node is DOWN and not ignored: bring it back."+
		nothingDone)
	ReplaceOtherPlace = define("ReplaceOtherPlace",
		"A replacement must be in the datacenter and rack of the node that it replaces: fix the rack's configuration."+
			nothingDone)
	ReplacePlaceRefused = define("ReplacePlaceRefused",
		"A replacement must be in the datacenter and rack of the node that it replaces: fix the rack's configuration."+
			nothingDone)
	ReplaceTokensRefused = define("ReplaceTokensRefused",
		"A node without tokens and a node with tokens cannot replace each other: fix join_ring."+nothingDone)
	ReplaceBootstrapped = define("ReplaceBootstrapped", "The volume has a member's data: remove the replace option.")
	AddressExists       = define("AddressExists",
		"A node with this address is a member: check which one with kubectl scylla status."+nothingDone)
	NotAliveInTime     = define("NotAliveInTime", "The new node did not see every node UP in time."+lookFirst)
	FeatureCheckFailed = define("FeatureCheckFailed",
		"Its ScyllaDB version lacks features that the cluster has enabled: install the cluster's version. "+newVolume)
	AddressNotKnown = define("AddressNotKnown",
		"Not every node learned the address of the new node in time (large clusters: scylladb issue 24790). "+
			newVolume+allUpFirst)
	JoinInvalid = define("JoinInvalid", "The coordinator refused the request after it was stored. "+
		newVolume)
	JoinRejected = define("JoinRejected",
		"The cluster refused the request for the reason in the text. This text does not show whether the request was stored."+lookFirst)
	Banned = define("Banned",
		"The cluster has banned this host ID; the process then ends with exit code 0 and is not started again. "+
			newVolume)
	RequestNotFound = define("RequestNotFound",
		"The node stopped after it had joined and before it recorded the join: it may be a member, and then its volume has data."+lookFirst+" A member that cannot start is replaced by its own host ID.")
	ReadBarrierTimedOut = define("ReadBarrierTimedOut",
		"The node did not reach a majority of group 0 in time: check that most nodes are UP and reachable from it."+
			lookFirst)
	LegacyTopology = define("LegacyTopology",
		"The cluster still uses gossip-based topology: upgrade it to Raft-based topology first."+nothingDone)
	OtherOperation = define("OtherOperation",
		"Another topology operation is in progress: wait until it has finished."+nothingDone)
	GossipStatusUnknown = define("GossipStatusUnknown", "A node has gossip status UNKNOWN: fix that node first."+
		nothingDone)
	NoSeedReached = define("NoSeedReached",
		"No seed answered: check the seeds, DNS, network policies and that a seed is running."+nothingDone)
	ShadowRound = define("ShadowRound",
		"ScyllaDB contacts its seeds and reaches none of them; it has not begun discovery, so a new Pod on the same volume gets current addresses.")
	StartupFailed = define("StartupFailed", "ScyllaDB could not start; the log message gives the reason.")
)

// evidenceWords are the codes of package evidence: what a piece of evidence shows to be lost, and
// not lost.
var (
	LostVolumeAndNode = define("LostVolumeAndNode",
		"the volume is lost; in a replacement, so is the replaced node, which is banned")
	LostVolume     = define("LostVolume", "the volume is lost, because ScyllaDB never starts on it again")
	LostNothing    = define("LostNothing", "nothing is lost")
	LostUnknown    = define("LostUnknown", "this alone does not show whether the volume is lost")
	KeptOtherNodes = define("KeptOtherNodes",
		"all other nodes and their data, and the files on the volume, are intact")
	KeptVolume  = define("KeptVolume", "the volume is intact, and no node is banned")
	KeptUnknown = define("KeptUnknown", "treat the volume as intact until more is known")
	RestsOn     = define("RestsOn",
		"{lost}; {kept} ({code} in the {origin}, ScyllaDB {first} and later, {source})")
	RestsOnUntil = define("RestsOnUntil",
		"{lost}; {kept} ({code} in the {origin}, ScyllaDB {first} to {last}, {source})")
	RestsOnObject = define("RestsOnObject", "{lost}; {kept} ({code} in {origin})")
)
