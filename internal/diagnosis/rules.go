// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// rule is one line of the table: if it applies, the step is one of steps.
type rule struct {
	steps []words.Code
	when  func(*asked) bool          // nil: always
	take  func(*asked) words.Message // zero: it does not apply; nil: the one step, alone
}

var ofSidecar = rule{steps: replace.OfSidecars(), take: (*asked).sidecarStep}

// rules are the steps for each reason of a blocker; the first rule that applies counts. Package
// evidence has the commands of a step, and the evidence for a step that cannot be undone.
var rules = map[words.Code][]rule{
	words.SplitCluster: {
		{steps: one(words.TellClustersApart), when: func(a *asked) bool { return a.m.Split() != nil },
			take: (*asked).tellClustersApart},
		{steps: one(words.TellGroupApart), when: func(a *asked) bool { return len(a.m.Strays()) > 0 },
			take: (*asked).tellGroupApart},
	},

	// The member itself: its volume, its Service, its image.
	words.DataDirectoryUnusable: {
		discardIfLeft,
		{steps: []words.Code{words.DiscardClaim, words.DiscardClaimOf}, when: (*asked).hasCause,
			take: (*asked).discard}},
	words.ForeignVolume: {
		{steps: one(words.MendForeignVolume), when: func(a *asked) bool { return a.b.Cause.Params["recorded"] != nil },
			take: of(words.MendForeignVolume, "claim")},
		{steps: one(words.GiveOwnVolume), take: of(words.GiveOwnVolume, "claim")},
	},
	words.HostIDShared: {{steps: one(words.SeeHostIDs)}},
	words.VolumeUnreadable: {
		{steps: one(words.MountVolume), when: not(because(words.VolumeOfUnknownHostID))},
		{steps: one(words.TellVolume), when: func(a *asked) bool { return !a.down },
			take: of(words.TellVolume, "member", "claim")},
	},
	words.ForceValueInvalid: {{steps: one(words.MendForceValue)}},
	words.ReplaceRequestInvalid: {
		{steps: one(words.MendReplaceLabel), when: because(words.ReplacingLabelIsEmpty, words.ReplacingLabelIsNone)},
		{steps: one(words.WithdrawRequest),
			when: func(a *asked) bool { return a.n != nil && (a.n.Reports || a.n.SeenUp > 0) }},
		{steps: one(words.EmptyReplaceLabel)},
	},
	words.LabelMissing: {
		{steps: one(words.NameService), when: because(words.ServiceWithoutOrdinal)},
		{steps: one(words.NameCluster), when: (*asked).lacksCluster},
		{steps: one(words.LabelService)},
	},
	words.VersionTooOld: {
		{steps: one(words.DeleteOldPod), take: (*asked).oldPodStep},
		{steps: one(words.GiveNewerImage), take: of(words.GiveNewerImage, "oldest")},
	},
	words.PodToBeReplaced:       {{steps: one(words.WaitForEviction), take: howReplaced(words.WaitForEviction)}},
	words.ReplacedNodeUp:        {{steps: one(words.ReplacedNodeLives), take: howReplaced(words.ReplacedNodeLives)}},
	words.NoOtherSeed:           {{steps: one(words.SeeOtherSeed)}},
	words.SeedsOfAnotherCluster: {{steps: one(words.NameOneCluster)}},
	words.MemberServiceMissing:  {{steps: one(words.SeeControllerMakesServices)}},

	// Other objects of the cluster.
	words.ClaimDeleting: {
		{steps: one(words.SaveVolumeAndData), when: func(a *asked) bool { return a.volume() != "" },
			take: of(words.SaveVolumeAndData, "pod", "volume")},
		{steps: one(words.SaveData), take: of(words.SaveData, "pod")},
	},
	words.DecommissionLabel: {{steps: one(words.SeeDecommissioned)}},
	words.DecommissionStuck: {{steps: []words.Code{words.AddNodeOrLowerRF, words.SeeDecommission,
		words.SeeSlowDecommission, words.ScaleDownDecommissioned, words.KeepDecommissioned},
		take: (*asked).stuckDecommission}},
	words.ScyllaDBHalted: {{steps: replace.OfHalted(), take: func(a *asked) words.Message {
		return replace.HaltedStep(a.c, a.b.Observed.Member, a.b.Cause.Code)
	}}},
	words.FirstNodePending: {{steps: one(words.WaitForFirstNode), take: of(words.WaitForFirstNode, "first")}},
	words.OneNewcomerAtATime: {
		{steps: one(words.WaitForNewcomer), when: isMember, take: of(words.WaitForNewcomer, "node")}},
	words.ReporterSilent: {{steps: one(words.ReachReporter), when: isMember}},
	words.RolloutInProgress: {
		ofSidecar,
		{steps: one(words.WaitForInject), when: because(words.PodsOfOldTemplate)},
		{steps: one(words.WaitForRollout)},
	},
	words.PodsNotReady: {
		ofSidecar,
		{steps: one(words.SeeNotReady)},
	},
	words.Stabilising: {{steps: one(words.WaitWhileAllStayUp)}},

	// Reports, and the controllers that maintain them.
	words.ReportMissing: {
		{steps: one(words.BeginAnew), when: because(words.DataIsGone),
			take: func(a *asked) words.Message { return replace.BeginAnew(a.c) }},
		{steps: one(words.MakeNamedReport), when: because(words.SourceClusterReportGone),
			take: of(words.MakeNamedReport, "report")},
		{steps: one(words.RunControllerAndReporters), when: not(because(words.NoReportOf, words.ReportLost))},
		disarm,
		{steps: one(words.SeeOperatorLog), when: operatorLeads},
		{steps: one(words.StartOperator), when: ofOperator},
		{steps: one(words.RunController)},
	},
	words.ReportOutdated: {
		{steps: one(words.ClearPodAnnotation), when: because(words.ReportFrozenByOneRow)},
		disarm,
		{steps: one(words.SeeOperatorLog), when: operatorLeads},
		{steps: one(words.StartOperator), when: ofOperator},
		{steps: one(words.RunController)},
	},
	words.ControllerSilent: {
		disarm,
		{steps: one(words.ScaleOperatorBack), when: because(words.OperatorScaledDown)},
		{steps: one(words.StartOperator), when: because(words.OperatorNotAvailable, words.OperatorLeaseSilent)},
		{steps: one(words.StartController)},
	},
	words.OperatorDegraded: {{steps: one(words.ReadDegraded)}},
	words.DatacenterNotVerified: {
		{steps: one(words.CheckElsewhereThenForce), when: func(a *asked) bool { return a.b.Observed.Datacenter != "" },
			take: forceSelf(words.CheckElsewhereThenForce)},
		{steps: one(words.CheckOtherDatacenterThenForce), take: forceSelf(words.CheckOtherDatacenterThenForce)},
	},
	words.APIUnreachable:    {{steps: one(words.BarrierRetries)}},
	words.ReadingIncomplete: {{steps: one(words.GrantMemberRights)}},
	words.Isolated:          {{steps: one(words.ReachMembers)}},

	// Permits.
	words.PermitPending: {
		{steps: one(words.GoByReports), when: because(words.ViewOfAnOverride)},
		{steps: one(words.MakeView), when: because(words.NoViewYet)},
		{steps: one(words.UpgradeForPermits), when: because(words.ControllerGivesNoPermits)},
		{steps: one(words.StartFounder), when: func(a *asked) bool { return a.founder() != "" },
			take: of(words.StartFounder, "founder")},
		{steps: one(words.DeleteOldPod), take: (*asked).oldPodStep,
			when: func(a *asked) bool { return a.queuedFor(words.VersionTooOld) }},
		{steps: one(words.WaitForPermit), when: because(words.PermitQueued, words.PermitNotQueued)},
		{steps: one(words.ForgetViews)},
	},
	words.PermitForOther: {{steps: one(words.WaitForPermit)}},
	words.ViewHeld:       {{steps: one(words.WaitForPermit)}},

	// A node that is DOWN, not seen or not reporting.
	words.RowMissing: append([]rule{
		seeIfRemoved,
		{steps: one(words.CheckThereThenForce), when: onlyUnreadElsewhere, take: forceSelf(words.CheckThereThenForce)},
		{steps: one(words.RenewReport), when: because(words.JoinedAndNotReported, words.JoinedAndReportedAsNewcomer)},
	}, helps...),
	words.HostIDMissing: append([]rule{
		{steps: one(words.RestartReporter), when: func(a *asked) bool { return a.b.Observed == (matrix.Ref{}) },
			take: of(words.RestartReporter, "node")},
	}, helps...),
	words.NodeDown:    helps,
	words.NodeUnknown: helps,
	words.NodeNotSeen: helps,
	words.RowError:    helps,
	words.RowStale:    helps,
}

// helps are the steps for a node. Facts from outside the rows come first, then that it is DOWN: the
// cause that keeps a node DOWN also prevents its row, and one cause has one step.
var helps = []rule{
	// nothing is replaced or removed before each node's cluster is known
	{steps: one(words.TellClustersApartFirst), when: func(a *asked) bool { return !a.m.SplitFact().IsZero() }},
	seeIfRemoved,
	{steps: one(words.StartMember), when: func(a *asked) bool { return a.n == nil || a.n.HostID == "" },
		take: of(words.StartMember, "node")},
	{steps: []words.Code{words.ResumeReplacement, words.ReplacementWaits, words.RemoveGhost, words.GhostCannotGo,
		words.ScaleBack, words.ScaleBackOrLook, words.SeeLeftVolume},
		take: func(a *asked) words.Message { return a.Known.Steps[a.n.HostID] }},
	{steps: replace.OfCauses(), take: (*asked).whileCause},
	{steps: one(words.ReplacementOpen), when: func(a *asked) bool { return a.fate().Open },
		take: howReplaced(words.ReplacementOpen)},
	{steps: one(words.ReplacementRequested), when: func(a *asked) bool { return a.fate().Member != "" },
		take: howReplaced(words.ReplacementRequested)},
	{steps: one(words.WaitForRollback), when: func(a *asked) bool {
		return a.isSelf() && a.fate().Joining &&
			a.mayRollBack()
	}},
	{steps: one(words.OrphansFirst), when: whileOrphaned((*asked).isSelfWithoutData)},
	{steps: one(words.ReplaceLater), when: (*asked).isSelfWithoutData, take: (*asked).later},
	{steps: one(words.ReplaceFormerNode), when: (*asked).isSelfWithoutData},
	{steps: one(words.KeepOwnVolume), when: (*asked).isSelf},
	{steps: one(words.WaitForJoin), when: func(a *asked) bool { return a.fate().Joining }},
	{steps: one(words.WaitForGossip), when: reason(words.NodeUnknown)},
	{steps: one(words.WaitForMembership), when: reason(words.NodeNotSeen)},

	{steps: one(words.MendNetwork), when: isDown(func(a *asked) bool { return a.m.Parted() })},
	{steps: []words.Code{words.SeeDatacenter, words.SeeRack},
		when: isDown(func(a *asked) bool { _, _, away := a.m.PlaceAway(a.n.HostID); return away }),
		take: func(a *asked) words.Message { return replace.WhileAway(a.m, a.n.HostID) }},
	{steps: one(words.MendLink), when: isDown(func(a *asked) bool { return a.few() && a.n.Reports })},
	// its own row proves that it runs
	{steps: one(words.ReachCutOffNode), when: isDown(func(a *asked) bool { return a.n.Reports && a.isNormalMember() })},
	{steps: one(words.ReachPod), when: isDown(func(a *asked) bool { return a.few() && a.isNormalMember() })},
	{steps: one(words.WaitForJoin),
		when: isDown(func(a *asked) bool { return a.n.State.NewNode() && !a.recordsJoin() })},
	// ScyllaDB refuses to remove a node that is leaving (storage_service.cc:2804): it must restart.
	{steps: one(words.FinishLeavingOrRemove), when: isDown(state(matrix.StateLeaving))},
	{steps: one(words.WaitForReplacement), when: isDown(state(matrix.StateBeingReplaced))},
	{steps: []words.Code{words.GhostCannotGo, words.ScaleBack, words.ScaleBackOrLook, words.SeeLeftVolume},
		when: isDown(func(a *asked) bool {
			return a.isOrphan(a.n) && a.c.KnowsPods() && !a.c.WhyNotRemovable(a.n.HostID).IsZero()
		}),
		take: func(a *asked) words.Message { return keep(a.c, a.c.WhyNotRemovable(a.n.HostID)) }},
	{steps: one(words.SeeOrphan), when: isDown(func(a *asked) bool { return a.isOrphan(a.n) })},
	{steps: one(words.StartElsewhere), when: isDown(func(a *asked) bool { return a.n.Member == "" && a.n.Row == nil })},
	{steps: one(words.StartInItsDatacenter), when: isDown((*asked).isElsewhere),
		take: of(words.StartInItsDatacenter, "datacenter")},
	{steps: one(words.BringReport), when: isDown(not(isMember))}, // only a member is replaced
	{steps: one(words.OrphansFirst), when: whileOrphaned(isDown(func(a *asked) bool {
		return a.m.NodeReplaceable(a.n.HostID) || a.volumeGone()
	}))},
	{steps: one(words.ReplaceLater), when: isDown((*asked).volumeGone), take: (*asked).later},
	{steps: one(words.ReplaceLost), when: isDown((*asked).volumeGone), take: (*asked).replaceLost},
	// neither DOWN nor its age shows that the data is lost
	{steps: one(words.ReadScyllaDBLog), when: isDown((*asked).isFaulty)},
	{steps: one(words.ReachPod), when: isDown(func(*asked) bool { return true })},

	{steps: one(words.ReadScyllaDBLog), when: fault(matrix.FaultScyllaDB)},
	{steps: one(words.ReachPod), when: fault(matrix.FaultPod)},
	{steps: one(words.RunController), when: fault(matrix.FaultReport)},
	{steps: one(words.ReadReporterLog), when: fault(matrix.FaultReporter)},
	{steps: one(words.BringReport), when: func(a *asked) bool { return a.n.Member == "" && a.n.Row == nil }},
	{steps: one(words.KeepDatacenterReport), when: func(a *asked) bool {
		return a.n.Member == "" &&
			a.b.Reason == words.RowStale
	}, take: of(words.KeepDatacenterReport, "datacenter")},
	{steps: one(words.RunMemberAndReporter), when: reason(words.RowStale)},
	{steps: one(words.RunMemberAndWriteRow), take: of(words.RunMemberAndWriteRow, "node")},
}

// ofFindings are the steps of findings, by their messages. Any other finding, or one whose steps do
// not apply, has the step of its most severe blocker.
var ofFindings = map[words.Code][]words.Code{
	words.FindingRightsMissing:      one(words.GetRights),
	words.FindingRightsMissingPart:  one(words.GetRights),
	words.FindingNoNodes:            one(words.FirstJoins),
	words.FindingNobodyAsked:        {words.AskNodes, words.SeeSilentLog},
	words.FindingPartition:          one(words.MendNetwork),
	words.FindingDatacenterDown:     one(words.SeeDatacenter),
	words.FindingDatacenterAway:     one(words.SeeThereTogether),
	words.FindingNoneSeesAny:        {words.MendNetwork, words.SeeFormerAddresses},
	words.FindingRackDown:           one(words.SeeRack),
	words.FindingKubernetesNodeDown: one(words.MendKubernetesNode),
	words.FindingNodeStarting:       one(words.WaitForStart),
	words.FindingNodesRestarted:     one(words.SeeOneLog),
	words.FindingAllStarting:        {words.WaitForAll, words.SeeOneLog, words.SeeSilentLog},
	words.FindingNodesDownElsewhere: one(words.SeeThereTogether),
	words.FindingPlaceNotHeard:      one(words.MendLinksOfPlace),
	words.FindingPlaceHearsNot:      one(words.MendLinksOfPlace),
	words.FindingNodeDown:           {words.SeeStatefulSet, words.SeeSchedule},
	words.FindingNodeNotServing: {words.SeeStatefulSet, words.SeeSchedule, words.SeeSlowStart,
		words.SeePodEvents},
	words.FindingNodeDownElsewhere:  {words.SeeThere, words.CheckThere, words.SeeLeftover},
	words.FindingSeenBoth:           {words.SeeWhereItRuns, words.MendLinksToward},
	words.FindingDatacenterNotRead:  one(words.CheckThere),
	words.FindingGhost:              one(words.SeeLeftover),
	words.FindingLinkDownGroups:     one(words.MendLinkBetween),
	words.FindingLinkDown:           one(words.MendLinkBetween),
	words.FindingLinkDownOneWay:     one(words.MendLinkBetween),
	words.FindingNodeNotHeard:       one(words.MendLinksOf),
	words.FindingNodeHearsNot:       one(words.MendLinksOf),
	words.FindingForced:             {words.TakeForceBack, words.SeeBarrier},
	words.FindingNodeUnheard:        one(words.SeeDiscovery),
	words.FindingReplacingLabelLeft: one(words.RemoveReplacingLabel),
	words.FindingDecommissionOpen:   one(words.WaitForDecommission),
	words.FindingNodeEnded:          one(words.SeeWhyEnded),
	words.FindingSchemaDisagreement: one(words.WaitForSchema),
	words.FindingVersionMix:         one(words.FinishUpgrade),
	words.FindingNodetoolDiffers:    one(words.SeeWhichIsNewer),
	words.FindingReportLeftBehind:   one(words.DeleteLeftReport),
	words.FindingBesideOperator:     {words.PartFromOperator, words.ProtectServices},
	words.FindingAdopted:            {words.PartAdopted, words.ProtectServices},
	words.FindingClockAhead:         one(words.SeeClock),
	words.FindingClockBehind:        one(words.SeeClock),
}

// StepsFor returns the steps for a reason, or for a finding's message, without duplicates, in the
// order in which they are tried.
func StepsFor(c words.Code) []words.Code {
	out := slices.Clone(ofFindings[c])
	for _, r := range rules[c] {
		for _, step := range r.steps {
			if !slices.Contains(out, step) {
				out = append(out, step)
			}
		}
	}
	return out
}

func one(step words.Code) []words.Code { return []words.Code{step} }

func because(causes ...words.Code) func(*asked) bool {
	return func(a *asked) bool { return slices.Contains(causes, a.b.Cause.Code) }
}

func reason(r words.Code) func(*asked) bool {
	return func(a *asked) bool { return a.b.Reason == r }
}

func state(states ...matrix.State) func(*asked) bool {
	return func(a *asked) bool { return slices.Contains(states, a.n.State) }
}

func isDown(when func(*asked) bool) func(*asked) bool {
	return func(a *asked) bool { return a.n.SeenDown > 0 && when(a) }
}

// whileOrphaned is for a step that replaces a node: ScyllaDB cancels it while an orphaned host ID
// is DOWN.
func whileOrphaned(when func(*asked) bool) func(*asked) bool {
	return func(a *asked) bool { return when(a) && a.hasOrphan() }
}

func fault(f matrix.Fault) func(*asked) bool {
	return func(a *asked) bool { return a.b.Reason == words.RowError && a.fault() == f }
}

func not(when func(*asked) bool) func(*asked) bool {
	return func(a *asked) bool { return !when(a) }
}

func isMember(a *asked) bool { return a.b.Observed.Member != "" }

// disarm is the only step while the start of the Scylla Operator would delete the volume of a
// running node.
var disarm = rule{steps: one(words.CancelBeforeStart),
	take: func(a *asked) words.Message { return replace.Disarm(a.c) }}

func ofOperator(a *asked) bool { return a.c.Operator }

func operatorLeads(a *asked) bool { return a.c.Operator && a.c.OperatorLeads() }

// onlyUnreadElsewhere reports whether the cluster's only blockers are missing rows of nodes that
// every fresh row has UP, in a datacenter that nothing of ours can read.
func onlyUnreadElsewhere(a *asked) bool {
	unread := a.c.UnreadElsewhere()
	return len(unread) > 0 && !slices.ContainsFunc(bootstrap.HealthOf(a.c).Blockers, func(b matrix.Blocker) bool {
		return b.Reason != words.RowMissing || !slices.Contains(unread, b.Observed.HostID)
	})
}

// of takes a step whose sentence has these facts as parameters.
func of(step words.Code, params ...string) func(*asked) words.Message {
	return func(a *asked) words.Message { return a.do(step, params...) }
}
