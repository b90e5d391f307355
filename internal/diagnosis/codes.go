// SPDX-License-Identifier: Apache-2.0

package diagnosis

import "github.com/kubectl-scylla/kubectl-scylla/internal/code"

// Codes of findings. Parameters are named beside them.
const (
	saySplit          code.Code = "FindingSplitCluster"       // why
	sayPartition      code.Code = "FindingPartition"          // parts
	sayDatacenterDown code.Code = "FindingDatacenterDown"     // datacenter, nodes
	sayRackDown       code.Code = "FindingRackDown"           // rack, datacenter, nodes
	sayClaimDeleting  code.Code = "FindingClaimDeleting"      // claim, node, pod
	sayDecommission   code.Code = "FindingDecommissionLabel"  // service, node, rows
	sayKubernetesNode code.Code = "FindingKubernetesNodeDown" // kubernetesNode, nodes
	sayNodeDown       code.Code = "FindingNodeDown"           // node, why
	sayNotServing     code.Code = "FindingNodeNotServing"     // node, why
	sayNodeDownSelf   code.Code = "FindingNodeSeesItselfDown" // node
	sayNodeAway       code.Code = "FindingNodeDownElsewhere"  // node, why
	sayStarting       code.Code = "FindingNodeStarting"       // nodes, waits
	sayLinkBoth       code.Code = "FindingLinkDown"           // a, b
	sayLinkOneWay     code.Code = "FindingLinkDownOneWay"     // observer, observed
	sayLinkGroups     code.Code = "FindingLinkDownGroups"     // parts
	sayNotHeard       code.Code = "FindingNodeNotHeard"       // node, count
	sayHearsNot       code.Code = "FindingNodeHearsNot"       // node, count
	sayNotSure        code.Code = "FindingNodeNotSure"        // node, observers
	sayReporter       code.Code = "FindingReporterSilent"     // nodes, why
	sayController     code.Code = "FindingControllerSilent"   // controller
	sayRollout        code.Code = "FindingRollout"            // why, nodes
	sayReplacing      code.Code = "FindingReplacementOpen"    // node
	sayReplaceFailed  code.Code = "FindingReplacementFailed"  // node, why
	sayGhost          code.Code = "FindingGhost"              // node
	sayRights         code.Code = "FindingRightsMissing"      // rights
	sayRightsPartly   code.Code = "FindingRightsMissingPart"  // rights
	sayNobodyAsked    code.Code = "FindingNobodyAsked"        // why
	sayDatacenterDark code.Code = "FindingDatacenterNotAsked" // datacenter
	sayUnclear        code.Code = "FindingUnclear"            // fact
	sayNoNodes        code.Code = "FindingNoNodes"            // newcomers
	saySchemas        code.Code = "FindingSchemaDisagreement" // count
	sayForced         code.Code = "FindingForced"             // objects
	sayVersions       code.Code = "FindingVersionMix"         // versions

	whyNoPod   code.Code = "BecauseNoPod"              //
	whyPod     code.Code = "BecausePod"                // state
	whyGone    code.Code = "BecauseKubernetesNodeGone" // kubernetesNode
	whyNoPlace code.Code = "BecauseNoPlace"            // waits

	// whereIs is the location of a Pod.
	whereIs code.Code = "WhereItIs" // ip, kubernetesNode
)

// The numbers that are the evidence of findings.
const (
	numbersSplit    code.Code = "NumbersSplit"    // sizes
	numbersPairs    code.Code = "NumbersPairs"    // down, pairs, nodes
	numbersRows     code.Code = "NumbersRows"     // down, up, rows, machine
	numbersLink     code.Code = "NumbersLink"     // up, rows, a, b
	numbersGroup    code.Code = "NumbersGroup"    // rows, starting, kubernetesNodes
	numbersSilent   code.Code = "NumbersSilent"   // silent, rows
	numbersVersions code.Code = "NumbersVersions" // counts
)

// Next steps beyond those of package matrix.
const (
	stepSeeSet      code.Code = "SeeStatefulSet"  // command: describe the StatefulSet
	stepMendLink    code.Code = "MendLinkBetween" // a, b
	stepMendLinks   code.Code = "MendLinksOf"     // node
	stepGetRights   code.Code = "GetRights"       //
	stepAskNodes    code.Code = "AskNodes"        // command: status --source live
	stepFirstJoins  code.Code = "FirstJoins"      // command: barrier
	stepUpgrade     code.Code = "FinishUpgrade"   //
	stepWaitSchema  code.Code = "WaitForSchema"   //
	stepUndoForce   code.Code = "TakeForceBack"   // command: force-proceed --undo
	stepSeeLeftover code.Code = "SeeLeftover"     // command: status
	stepSeeThere    code.Code = "SeeThere"        // command: remote add
)

// A newcomer that no node lists.
const (
	sayUnheard     code.Code = "FindingNodeUnheard" // node
	numbersUnheard code.Code = "NumbersUnheard"     // mode
	stepDiscovery  code.Code = "SeeDiscovery"       // commands: its log, describe
)

// A newcomer whose container ended before it joined.
const (
	sayEnded  code.Code = "FindingNodeEnded" // node, code
	stepEnded code.Code = "SeeWhyEnded"      // commands: its log, describe
)

// Tasks after an operation.
const (
	sayReplaced         code.Code = "AfterReplaced"        // node, original
	sayJoined           code.Code = "AfterJoined"          // node
	taskRepair          code.Code = "AfterRepair"          // node
	taskRepairCovered   code.Code = "AfterRepairCovered"   // node
	taskCleanup         code.Code = "AfterCleanup"         // node
	taskCleanupNewer    code.Code = "AfterCleanupNewer"    // node
	taskCleanupNoTokens code.Code = "AfterCleanupNoTokens" // node
	waitOperation       code.Code = "AfterWaitOperation"   // the task manager lists one
	waitNewcomer        code.Code = "AfterWaitNewcomer"    // node
	waitAllUp           code.Code = "AfterWaitAllUp"       // up, nodes
)
