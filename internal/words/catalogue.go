// SPDX-License-Identifier: Apache-2.0

package words

import (
	"maps"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/code"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// sentences is the catalogue: one English sentence for each code.
var sentences = join(facts, steps, verdicts, rowSentences, clusterWords, sourceWords, barrierWords, renderWords, replacementSentences, preflightSentences, adoptWords,
	findingWords, viewWords, permitWords, memberWords, resetWords)

func join(catalogues ...map[code.Code]string) map[code.Code]string {
	all := map[code.Code]string{}
	for _, c := range catalogues {
		maps.Copy(all, c)
	}
	return all
}

// facts are the sentences of blockers and groups of blockers.
var facts = map[code.Code]string{
	code.Code(matrix.ReasonSplitCluster):         "there are two clusters of one name[: {why}]",
	code.Code(matrix.ReasonNodeDown):             "{observer} sees {observed} DOWN[: {why}][ (and so do {more} more nodes)][; {coordinator} is the topology coordinator]",
	code.Code(matrix.ReasonNodeUnknown):          "{observer} cannot say whether {observed} is UP[: {why}][ (and so do {more} more nodes)][; {coordinator} is the topology coordinator]",
	code.Code(matrix.ReasonNodeNotSeen):          "{observer} does not list {observed}[: {why}][ (and so do {more} more nodes)][; {coordinator} is the topology coordinator]",
	code.Code(matrix.ReasonRowMissing):           "no status report from {observed}[: {why}]",
	code.Code(matrix.ReasonRowError):             "the report of {observed} cannot be used[: {why}]",
	code.Code(matrix.ReasonRowStale):             "the report of {observed} is old[: {why}]",
	code.Code(matrix.ReasonHostIDMissing):        "the host ID of {observed} is not known yet[: {why}]",
	code.Code(matrix.ReasonDatacenterUnverified): "datacenter {datacenter} was not verified: its nodes cannot be asked from here",
	code.Code(matrix.ReasonDecommissionLabel):    "{name} is labelled as decommissioned and is a member[: {why}]",
	code.Code(matrix.ReasonHalted):               "ScyllaDB of {name} does not come up by itself[: {why}]",
	code.Code(matrix.ReasonReportMissing):        "there is no status report, and the cluster is not new[: {why}]",
	code.Code(matrix.ReasonForceInvalid):         "annotation " + api.AnnotationForceProceed + ` on the Service of {name} is {q:why}; only "` + api.ForceProceedValue + `" opens`,
	code.Code(matrix.ReasonReplaceInvalid):       "which node {name} replaces is not known[: {why}]",
	code.Code(matrix.ReasonLabelMissing):         "the place of {name} is not known[: {why}]",
	code.Code(matrix.ReasonDataDirectory):        "the data directory of {name} cannot be used again[: {why}]",
	code.Code(matrix.ReasonControllerSilent):     "the controller that keeps the reports is silent[: {why}]",

	code.Code(matrix.ReasonReportOutdated):   "the status report is not what the Pods say, of which the graver word counts[: {why}]",
	code.Code(matrix.ReasonOperatorDegraded): "the Scylla Operator cannot do its work[: {why}]",
	code.Code(matrix.ReasonForeignVolume):    "the volume of {name} belongs to another node[: {why}]",
	code.Code(matrix.ReasonClaimDeleting):    "the volume of {name} goes when its Pod ends[: {why}]",
	code.Code(matrix.ReasonVolumeUnread):     "the volume of {name} cannot be looked into[: {why}]",
	code.Code(matrix.ReasonFirstNodePending): "the cluster is new, and another member is its first node[: {why}]",
	code.Code(matrix.ReasonRollout):          "a rollout is in progress[: {why}]",
	code.Code(matrix.ReasonPodsNotReady):     "not every member that has joined is ready[: {why}]",
	code.Code(matrix.ReasonReporterSilent):   "the reporter of {name} does not answer[: {why}]",
	code.Code(matrix.ReasonVersionTooOld):    "the version of {name} is older than that of the cluster[: {why}]",
	code.Code(matrix.ReasonOneAtATime):       "one newcomer at a time, as topology is not managed by Raft[: {why}]",
	code.Code(matrix.ReasonStabilising):      "everything is UP, and not for long enough yet[: {why}]",
	code.Code(matrix.ReasonNoOtherSeed):      "{name} would have nobody but itself as seed[: {why}]",
	code.Code(matrix.ReasonPermitPending):    "{name} has no permit yet[: {why}]",
	code.Code(matrix.ReasonPermitOther):      "the permit of {name} is not for this start[: {why}]",
	code.Code(matrix.ReasonViewHeld):         "the controller's view holds newcomers[: {why}]",
	code.Code(matrix.ReasonIsolated):         "this Pod has seen no view of the controller advance for too long, and no other member's reporter answers it[: {why}]",
	code.Code(matrix.ReasonOtherCluster):     "{name} would not found its cluster but join another one[: {why}]",
	code.Code(matrix.ReasonPodToGo):          "{observed} is about to be replaced: this Pod goes first",
	code.Code(matrix.ReasonTargetUp):         "{observed} is to be replaced or ignored, and is UP[: {why}]",

	bootstrap.CauseVersionTooOld:        "{version}, while {node} runs {oldest}, the oldest there is",
	bootstrap.CauseOnItsWay:             "{node} is on its way in",
	bootstrap.CauseBefore:               "{node} waits too, and goes first",
	bootstrap.CauseStabilising:          "it must hold for {window} without a break, {left} left",
	bootstrap.CauseForeignVolume:        "it holds host ID {volume}[, which is that of {owner}][, while its Service records {recorded}]",
	bootstrap.CauseVolumeUnknown:        "ScyllaDB's files are in it, and neither they nor its Service show a host ID: they may be a copy of another member's volume",
	bootstrap.CauseOperatorScaledDown:   "the Scylla Operator is scaled to 0 (Deployment {deployment})",
	bootstrap.CauseOperatorNotAvailable: "no Pod of the Scylla Operator is available (Deployment {deployment} wants {replicas})",
	bootstrap.CauseOperatorLease:        "the Scylla Operator[ ({holder})] has not renewed its Lease {lease} for more than twice its duration",
	bootstrap.CauseOperatorDegraded:     "condition {condition}[: {words}]",
	bootstrap.CauseDecommissionLabel:    "Service {service} has label " + api.LabelDecommissioned + "=" + api.DecommissionedDone + ", and {rows} fresh status {rows?report lists|reports list} its host ID as a normal member",
	bootstrap.CauseClaimDeleting:        "PersistentVolumeClaim {claim} is being deleted, and Pod {pod} alone keeps it",
	bootstrap.CauseReportBehindPods:     "the row of {members&} is another than the annotation of its Pod",
	bootstrap.CauseReportFrozen:         "the annotation of Pod {members&} cannot be read, and the Scylla Operator then leaves the whole report as it was",

	bootstrap.CauseSeedOfCluster:    "its seed {seed} is {member}[ of cluster {cluster}]",
	bootstrap.CauseSeedElsewhere:    "its seed {seed} is no member of its cluster",
	bootstrap.CausePodOfCluster:     "label " + api.LabelCluster + " of its Pod is {q:pod}, and of its Service {q:service}",
	bootstrap.CauseSetOfCluster:     "{member} of the same StatefulSet {statefulSet} is of cluster {cluster}",
	bootstrap.CauseReportLost:       "the Pods carry rows, and the Scylla Operator has no report of them; its own barriers open without one",
	bootstrap.CauseNoReportOf:       "none of datacenter {datacenters}, where members have joined",
	bootstrap.CauseAddressNotOwn:    "label " + api.LabelReplace + "={address} on its Service is not its own address, which is {own}",
	bootstrap.CauseAddressUnknown:   "label " + api.LabelReplace + "={address} on its Service cannot be told to be its own address: its Service has no ClusterIP, and none is recorded",
	bootstrap.CauseReplacesNonsense: "label " + api.LabelReplacingNodeHostID + "={value} on its Service is no host ID",
	bootstrap.CauseReplacesNobody:   "label " + api.LabelReplacingNodeHostID + " on its Service is empty",

	bootstrap.CauseDataGone:     "the volume of {member} is empty, and no other member has ever joined: the data of the cluster is gone",
	bootstrap.CauseVolumeUnread: "{why}",
	bootstrap.CauseSeenUp:       "by the rows of {observers}",
	bootstrap.CauseFirstNode:    "{first} starts first",
	bootstrap.CauseRemoved:      "host ID {hostID} was removed from the cluster: no node lists it any more",
	bootstrap.RolloutRevision:   "StatefulSet {statefulSet} has {updated} of {replicas} Pods of its newest revision",
	bootstrap.RolloutNotReady:   "StatefulSet {statefulSet} has {ready} ready Pods for {joined} members that have joined[; not ready: {pods&}][; readiness gate {gate} is not True]",

	matrix.CauseSplit:          "the members that {parts} list have no host ID in common, and all of these nodes serve[; their topology coordinators are {coordinators}]",
	matrix.CauseOtherGroup:     "{nodes&} {nodes?is|are} of group 0 {group} by {nodes?its|their} own {nodes?disk|disks}, and the cluster was recorded with group 0 {recorded}",
	matrix.StepOtherGroup:      "see which cluster the node is of ({1}); only if group 0 was made anew by the recovery of a lost majority, forget the recorded one: {2}",
	matrix.CauseSplitGroups:    "{parts} are of different group 0s by their own disks, {groups}, and all of these nodes serve[; their topology coordinators are {coordinators}]",
	matrix.FactCoordinator:     "the topology coordinator is {node}[, by {named} of {rows} rows]",
	matrix.FactNoCoordinator:   "the {rows} rows do not agree on the topology coordinator",
	matrix.FactOtherUnverified: "another datacenter exists, and its nodes cannot be asked from here[: {why}]",
	matrix.FactSeesItselfDown:  "{observer} sees itself DOWN[: {why}][; {coordinator} is the topology coordinator]",
	matrix.FactNamelessListed:  "{observer} lists a node without a host ID[: {why}][; {coordinator} is the topology coordinator]",
	matrix.FactNodesDown:       "{observed} is seen DOWN by {observers}[ and {more} more][; {coordinator} is the topology coordinator]",
	matrix.FactNodesUnknown:    "whether {observed} is UP cannot be said by {observers}[ and {more} more][; {coordinator} is the topology coordinator]",
	matrix.FactNodesNotSeen:    "{observed} is not listed by {observers}[ and {more} more][; {coordinator} is the topology coordinator]",
	matrix.FactNamelessForMany: "a node without a host ID is listed by {observers}[ and {more} more][; {coordinator} is the topology coordinator]",
	matrix.FactSeveralTimes:    "{fact} ({times} times)",

	bootstrap.CauseDecommissioned: "its data directory belongs to a node that was decommissioned, and ScyllaDB will not start on it",
	bootstrap.CauseBanned:         "the cluster has banned the host ID in its data directory ({evidence})",
	bootstrap.CauseLabelMissing:   "label {label} is missing or empty on its Service",
	bootstrap.CauseNoOrdinal:      "the name of its Service does not end in a dash and an ordinal",
	bootstrap.CauseNotMentioned:   "its Service says that it has joined, and no report mentions it",
	bootstrap.CauseStillNewcomer:  "its Service says that it has joined, and the report has it as {state} still",
	bootstrap.CauseNotNew:         "{facts}[, and {more} more]",
	bootstrap.CauseController:     "{controller}",
	bootstrap.FactAndOneMore:      "{reason}, and one more reason",
	bootstrap.FactAndMore:         "{reason}, and {more} more reasons",
	bootstrap.FactSelfHasJoined:   "{member} itself has joined before",
	bootstrap.FactHasJoined:       "{member} has joined",
	bootstrap.FactHasHostID:       "{member} has a host ID",
	bootstrap.FactInitialized:     "it has had its first node before, as status.initialized of its report says",
	bootstrap.FactOtherDatacenter: "another datacenter exists",

	bootstrap.QueryNoSSTable:      "the query could not load an SSTable of system.local (exit code 1), as on an empty data directory",
	bootstrap.QueryFailed:         "the query failed while it ran (exit code 2)",
	bootstrap.QueryNotKnown:       "this ScyllaDB has no sstable query, it is older than 2025.2 (exit code 100)",
	bootstrap.QueryExitCode:       "the query ended with exit code {exitCode}",
	bootstrap.QueryPrintedNothing: "the query printed nothing",
	bootstrap.QueryNotItsResult:   "the query printed something that is not its result: {error}",
	bootstrap.QueryNoRow:          "system.local has no row",
	bootstrap.QueryNullRow:        "system.local says nothing of a bootstrap",
	bootstrap.QuerySays:           "system.local says {state}",
	bootstrap.DiskOnlyPodReads:    "only the Pod can read its data directory",

	bootstrap.SeedsFound:            "the seeds are {seeds}",
	bootstrap.SeedsFirstNode:        "no node of the cluster has joined, and {names} founds it: the seed is itself, {seeds}",
	bootstrap.SeedsFirstNodePending: "no node of the cluster has joined yet, and {names} has to be the first",
	bootstrap.SeedsNotUp:            "no other member is UP that could be a seed (joined: {names}); with itself as only seed this node would found a second cluster",
	bootstrap.SeedsOwnVolume:        "{names} is the only member that has joined, and comes back on its own volume",
	bootstrap.SeedsElsewhere:        "the cluster has nodes elsewhere ({names}), and no member here has joined: give their addresses with --seeds",
	bootstrap.SeedsOnlySelfJoined: "{names} has joined before, and no other member has: on a new volume it would found a second cluster. If its data are given up, " +
		"remove the annotations " + api.AnnotationNodeJoined + " and " + api.AnnotationHostID + " from its Service",
}

// steps are the next steps for an administrator.
var steps = map[code.Code]string{
	matrix.StepTellApart: "start, replace, remove and delete nothing here before it is known which of them has your data[; the ID of group 0 tells them apart: {1}][; {2}]. A node of " +
		"the other one can join only with an empty volume, and loses what it has",
	matrix.StepSplitFirst:          "first see which cluster each node is of",
	matrix.StepRestartReporter:     "restart the reporter of {node} if this lasts; a node always has a host ID",
	matrix.StepStartMember:         "see that {node} starts; its host ID is recorded on its Service once ScyllaDB has one",
	matrix.StepReplacementOpen:     "its replacement is under way; how far it is: {1}",
	matrix.StepReplacementAsked:    "its replacement is asked for; how far it is: {1}",
	matrix.StepWaitForRollback:     "the join of this very member was cut short: ScyllaDB takes it back by itself, so wait until no node lists it; what became of it, its log says: {1}",
	matrix.StepReplaceFormerNode:   "the cluster still counts the former node of this very member: replace it: {1}",
	matrix.StepWaitForGossip:       "gossip has not settled; if this lasts, compare nodetool status on both nodes",
	matrix.StepWaitForMembership:   "membership has not spread yet; if this lasts, compare nodetool status on both nodes",
	matrix.StepReportElsewhere:     "if it runs in another datacenter, bring that one's report here; whether it is a ghost and may be removed: {1}",
	matrix.StepKeepReport:          "see that the report of its datacenter[ {datacenter}] is kept and can be read",
	matrix.StepRunWithReporter:     "see that it and its reporter run: {1}",
	matrix.StepWriteRow:            "see that {node} runs and that its reporter writes the Pod's annotation",
	matrix.StepMendNetwork:         "mend the network between the parts first: routes, firewalls and network policies, ports 7000 and 7001; replace no node",
	matrix.StepReachCutOff:         "it has a row of its own, so it lives and is cut off: mend the network between it and those that see it DOWN; do not replace it",
	matrix.StepMendLink:            "most nodes see it UP, and it has a row of its own: mend the network to those that do not; do not replace it",
	matrix.StepWaitForJoin:         "wait until it has joined; if it stopped, its log says why: {1}",
	matrix.StepFinishLeaving:       "start it again so that it can finish leaving; its log says why: {1}",
	matrix.StepWaitForReplacement:  "wait until its replacement has joined",
	matrix.StepStartElsewhere:      "if it runs in another datacenter, start it there; whether it is a ghost and may be removed: {1}",
	matrix.StepStartThere:          "see that it runs and is reached, where the Pods of datacenter {datacenter} are",
	matrix.StepReadLogOrReplace:    "its log says why: {1}; if it is lost: {2}",
	matrix.StepRunOrReplace:        "see that it runs and is reached; if it is lost, replace it: {1}",
	matrix.StepReadScyllaDBLog:     "look at that ScyllaDB, its log says why: {1}",
	matrix.StepReachPod:            "see that its Pod runs and can be reached: {1}",
	matrix.StepRunController:       "see that the controller runs: it writes the report anew",
	matrix.StepReadReporterLog:     "the row heals with its next report; if not, the reporter's log says why: {1}",
	matrix.StepCheckElsewhereForce: "check there by hand that every node sees every node UP, then let the newcomer through: {1}",

	bootstrap.StepDiscardClaim:         "delete PVC {claim}, and the member starts again as a new node[: {1} && {2}]",
	bootstrap.StepDiscardClaimOf:       "delete PVC of {member}, and the member starts again as a new node",
	bootstrap.StepMendForce:            `set it to "` + api.ForceProceedValue + `", or take it away with --undo: {1}`,
	bootstrap.StepMendReplaceLabel:     "give it the host ID of the node to replace, or remove the label: without one ScyllaDB would start as a plain new node",
	bootstrap.StepEmptyReplaceLabel:    "leave the address out, the controller finds it; ScyllaDB would replace whoever has had that one: {1}",
	bootstrap.StepNameOneCluster:       "correct label " + api.LabelCluster + " or --seeds; if it is to join nodes elsewhere, see by hand that each of them sees every node UP, then: {1}",
	bootstrap.StepLabelService:         "label the Service: {1}",
	bootstrap.StepNameService:          "a member Service is called as its Pod: STATEFULSET-ORDINAL",
	bootstrap.StepBeginAnew:            "decide: bring its former volume or a backup back, while this Pod waits; or, if no copy is left, begin with an empty cluster[: {1}]",
	bootstrap.StepRunReporters:         "see that the controller runs and that the reporters of the members that have joined are up; what there is: {1}",
	bootstrap.StepCheckOtherDatacenter: "see by hand that every node of the other datacenter sees every node UP, then: {1}",
	bootstrap.StepStartController:      "start the controller again; until then it cannot be told whether the reports are still true",
	bootstrap.StepWaitForFirstNode:     "wait until {first} has joined; how far it is: {1}",
	bootstrap.StepSeeNotReady:          "see why it is not ready: {1}",
	bootstrap.StepWaitForRollout:       "wait until it has ended: {1}",
	bootstrap.StepNewerImage:           "give it an image of {oldest} or later: ScyllaDB refuses a node that lacks what the cluster uses, and bans it",
	bootstrap.StepWaitForNewcomer:      "wait until {node} has joined: {1}",
	bootstrap.StepStabilise:            "wait: nobody has to do anything while every node stays UP",
	bootstrap.StepReachReporter:        "see that its reporter runs and that the newcomer's Pod may connect to it (a NetworkPolicy?): {1}",
	bootstrap.StepOtherSeed:            "see that another member has joined and is UP, or give the addresses of nodes elsewhere with --seeds; the members: {1}",
	bootstrap.StepStartOperator:        "see that the Scylla Operator runs: nobody else keeps its report: {1}",
	bootstrap.StepReadDegraded:         "its own words are in the conditions: {1}",
	bootstrap.StepClearAnnotation:      "take the annotation away, and its reporter writes it anew: {1}",
	bootstrap.StepForeignVolume:        "bind the right volume to claim {claim}; if its own data are lost, replace the node that the Service records",
	bootstrap.StepCopiedVolume: "two nodes with one host ID must never run: give the member an empty volume of its own, or bind the right one to claim {claim}; where its volume " +
		"came from: {1}",
	bootstrap.StepTellVolume: "check where the volume of claim {claim} came from: {1}. If it is a copy or a restored backup, give {member} an empty volume. Only if it was empty at the " +
		"first start of {member}, which was cut short: {2}",
	bootstrap.StepReadVolume:        "mount ScyllaDB's volume into the barrier's container, read-only, so that its user may read it",
	bootstrap.StepReplacementGoesOn: "wait: the next Pod starts as the replacement: {1}",
	bootstrap.StepTargetLives:       "a live node must not be replaced: see what is replaced and ignored: {1}",
	bootstrap.StepRenewReport:       "see that the controller runs: the report is older than the member",
}

// verdicts are summaries, of which the member is the subject, and notes.
var verdicts = map[code.Code]string{
	bootstrap.SummaryBootstrapped:    "may start: its data directory says that it has bootstrapped",
	bootstrap.SummaryKnownToPeer:     "may start: it is a restart, {peer} has its host ID {hostID} as a member",
	bootstrap.SummaryOnlyMember:      "may start: it is a restart, it has joined before and no other member has, so there is nobody to ask",
	bootstrap.SummaryLastListed:      "may start: it is a restart, no node reports and the last row of {peer} has its host ID {hostID} as a member",
	bootstrap.SummaryColdStart:       "may start: it is a restart, no node reports and its volume holds the host ID {hostID} that its Service records",
	bootstrap.SummaryLikelyRestart:   "may start as a restart if its volume is its own, which only its Pod can tell: {peer} has its host ID {hostID} as a member",
	bootstrap.SummaryForced:          "may start: it is forced, and nothing was in its way",
	bootstrap.SummaryForcedOver:      "may start: it is forced, which overrules that {reasons}",
	bootstrap.SummaryReplacesHostID:  "may start: it replaces the node with host ID {hostID}",
	bootstrap.SummaryReplacesAddress: "may start: it replaces the node with address {address}",
	bootstrap.SummaryFirstNode:       "may start as the first node: no member of this cluster has ever joined",
	bootstrap.SummaryOneNodeUp:       "may start: the one node there is sees itself UP",
	bootstrap.SummaryPerhapsRemoved:  "may start as a new node if its volume is empty, which only its Pod can tell: no node lists its host ID {hostID} any more, and ScyllaDB refuses a volume that holds it",
	bootstrap.SummaryAllUp:           "may start: all {nodes} nodes are seen UP by every one that reports",
	bootstrap.SummaryMustWait:        "must wait: {reasons}",
	bootstrap.SummaryUnusable:        "cannot start, however long it waits: {why}",

	bootstrap.NoteBannedBefore:  "ScyllaDB has refused this host ID before ({evidence}); if it does again, {cure}",
	bootstrap.NoteDiskUnread:    "the data directory could not be read ({why}), so the cluster was asked instead",
	bootstrap.NoteRemoved:       "no node lists host ID {hostID} of {member} any more: it was removed, and nothing is required of it; to forget it: {1}",
	bootstrap.NoteNotVerified:   "datacenter {datacenter} was not verified: its nodes cannot be asked from here",
	bootstrap.NoteOneWithoutRow: "1 host ID without a row of its own was accepted by --single-report-allow-non-reporting-host-ids",
	bootstrap.NoteWithoutRow:    "{count} host IDs without a row of their own were accepted by --single-report-allow-non-reporting-host-ids",
	bootstrap.NoteNewRack: "rack {rack} is new in datacenter {datacenter}: ScyllaDB takes the join back where it would make a keyspace RF-rack-invalid " +
		"(as many racks as its replication factor, or one)",
	bootstrap.NoteNotRecorded: "the nodes list {hostID}, which the Service of {member} records, as a member that is DOWN, and the Service does not say that it has joined: its machine may have " +
		"failed before that was seen. If the volume of {member} is that of this node, and no later attempt was begun on it, let it start: {1}",
	bootstrap.NotePerhapsItself: "the volume of {member} holds a node's files, and no host ID of a member is recorded of it: it may be {hostID} itself, which is DOWN and which no member here has. If " +
		"the volume is the one that it had, let it start: {1}",
	bootstrap.NoteCoordinator: "{coordinator}, whose own view alone decides a join",
	bootstrap.NoteJudgedBy:    "policy reports: annotation {annotation} names ScyllaDBStatusReport {report}, which has no permits for this cluster",
	bootstrap.NoteState:       "{node} is {state}, as every row that mentions it says",
}

// clusterWords belong to internal/cluster, whose own tests import this package: its codes are written out here.
var clusterWords = map[code.Code]string{
	"StrangerUnjudged":  "the Services, which record host IDs, were not read",
	"StrangerNotDown":   "it is not DOWN[: {by&} {by?sees|see} it UP, so that it runs somewhere]",
	"StrangerRecorded":  "Service {service} records it: it is a node there",
	"StrangerElsewhere": "it is of [datacenter {datacenter}][, rack {rack}, which has no member here][another datacenter: not known here ({sign})]",
	"StrangerMayBeOurs": "it may be the node of {members&}, whose host ID is not known",
	"StrangerNoPlace":   "its datacenter and rack are not known: no majority of the status reports has them (--source=live may)",
	"StrangerShared":    "datacenter {datacenter} has nodes that are no members here: {nodes&}",
	"StrangerOthers":    "{nodes&} {nodes?is|are} listed too, and nothing here explains {nodes?it|them}",
	"StrangerOld":       "the saved objects are more than an hour old, or their age is not known; read the cluster as it is now",

	"ReadNow": "the saved objects are more than an hour old, or their age is not known; read the cluster as it is now: {1}",

	"JoinOperationFailed": "its {operation} of host ID {hostID} failed[: {error}]",

	"SignDatacenterNotVerified": "the members of {datacenters&} cannot be asked",
	"SignReportCopiedIn":        "report {report} was copied in from datacenter {datacenter}",
	"SignRowOfOtherDatacenter":  "{node} has a row and is of [datacenter {datacenter}, which is] no datacenter here",
	"SignPartOfScyllaDBCluster": "it is a part of ScyllaDBCluster {name}, which may have others",
	"SignExternalSeeds":         "its Pods have seeds that are no members here: {seeds&}",
	"SignLenientBarrier":        "its barriers run with {flag}, which is for external seeds",
	"SignPodsNotRead":           "neither StatefulSets nor Pods were read, which would tell of one",
}

// barrierWords belong to the barrier, which imports this package: its codes are written out here.
var barrierWords = map[code.Code]string{
	"MemberServiceMissing": "{why}",
	"APIUnreachable":       "{why}",
	"ReadingIncomplete":    "{why}",

	"ServiceDoesNotExist": "Service {namespace}/{service} does not exist",
	"NoLease":             "there is no Lease {lease}, so no controller has led there (is --lease-namespace right?)",
	"LeaseForbidden":      "Lease {lease} may not be read, so it cannot be told whether the controller lives: bind Role kubectl-scylla-lease-reader",
	"LeaseUnread":         "Lease {lease} cannot be read: {error}",
	"LeaseWithoutHolder":  "no controller leads: Lease {lease} has no holder",
	"LeaseNotRenewed":     "controller {controller} has not renewed Lease {lease} for more than twice its duration",
	"ReportsNotKept":      "controller {controller} does not keep the reports of this cluster by Lease {lease}: it cannot write them (its log says why), or does not look after this namespace",
	"LeaseNotSeenRenewed": "controller {controller} has not been seen to renew Lease {lease} yet",

	"DecidedByPeers": "no controller leads: decided by the members' own fresh rows, without permit, hold or turn (--when-controller-silent=Peers)",
	"RelaysAreFresh": "it is this Pod that does not reach the API server: {answering} other members' reporters answer, and have a fresh view of the controller, which opens nothing from them ({error})",
	"RelaysAreOld":   "{answering} other members' reporters answer, and have no fresh view either ({error})",
	"ReachMembers":   "see that this Pod reaches the API server, and the other members' reporters (port 8083): a NetworkPolicy or the Kubernetes node's network may be in the way",

	"GrantMemberRights":          "give the Pod's ServiceAccount the rights of ClusterRole kubectl-scylla-member",
	"NameCluster":                "label the Service with the cluster's name, or give the barrier --selector-label-value",
	"SeeControllerMakesServices": "the controller makes one Service for each member: see that it runs, and that the StatefulSet has label " + api.LabelManagedBy + "=" + api.ManagedByUs,
	"MakeNamedReport":            "check that the program that makes ScyllaDBStatusReport {report} runs, or remove the annotation that names it: {1}",
	"BarrierRetries":             "the barrier never opens without having read the reports, and goes on trying",

	"QueryLeftNoAnswer":        "no answer of the query: {error}",
	"VolumeNotRead":            "look into {dir}: {error}",
	"VolumeNotNamed":           "the barrier was given no data directory to look into",
	"ScyllaDBWithoutQuery":     "ScyllaDB {version} is older than 2025.2.0 and has no sstable query: the data directory cannot be asked",
	"ScyllaDBQueryFailsOnNull": "{detail}; ScyllaDB {version} fails on a node that has started and not joined, 2025.2.3 is mended",
	"OperationFailed":          "{operation} of host ID {hostID} failed[: {error}]",
}

// renderWords belong to internal/render, which imports this package: its codes are written out here.
var renderWords = map[code.Code]string{
	"BarrierRefuses":        "cannot start, its barrier refuses: {message}",
	"MemberWithoutService":  "has no member Service yet, so its barrier does not know its place",
	"NewcomerWithoutMember": "{detail}",
	"NotJudged":             "{error}",

	"ReplacementAttemptFailed": "{summary}; {cure}",
	"ReplacementFailure":       "{text}",

	"ResumeReplacement": "the replacement failed: {cure}",
	"ReplacementWaits":  "the replacement waits: {cure}",
	"RemoveGhost":       "no member has it; remove it: {1}",
	"ExcludeThenRemove": "no member has it; {first}; then remove it: {1}",
	"GhostCannotGo":     "no member here has it, and it must not be removed: {why}",
}
