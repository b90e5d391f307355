// SPDX-License-Identifier: Apache-2.0

// Package evidence is the only table of the evidence for steps that cannot be undone: ScyllaDB's
// texts and fields, with their versions and source lines, and Kubernetes objects that show where
// the data is. Package scylla has the patterns of the texts, package words the sentences.
//
// It imports only packages words and api.
package evidence

import (
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Fate is what one piece of evidence shows about the volume of its node.
type Fate string

// Fates of a volume.
const (
	Lost    Fate = "lost"    // ScyllaDB never starts on it again
	Kept    Fate = "kept"    // ScyllaDB refused before it stored anything
	Unknown Fate = "unknown" // the text alone does not decide: print how to check
)

// Origin is where a piece of evidence is read.
type Origin string

// Origins.
const (
	Log        Origin = "log"
	REST       Origin = "REST API"
	CQL        Origin = "CQL"
	Disk       Origin = "data directory"
	Kubernetes Origin = "Kubernetes"
)

// Item is one piece of evidence.
type Item struct {
	Code   words.Code
	Origin Origin
	// Field is the field or object; empty for a log, whose texts package scylla has.
	Field string
	// First and Last are the ScyllaDB branches that have it, of 5.2 to 2026.3 and master as of
	// 2026-08-21. Last is empty if master has it.
	First, Last string
	// Source is file:line in ScyllaDB's master, else on branch Last.
	Source []string
	Volume Fate
	// Bans is true if, in a replacement, the replaced node is banned by then: the request was
	// stored.
	Bans bool
}

const (
	coordinator = "service/topology_coordinator.cc"
	service     = "service/storage_service.cc"
)

// table has the texts in the order of package scylla, then fields and objects.
//
// A text in the answer to a join request (storage_service.cc:6541-6617) is Kept: nothing is stored
// in the topology. Even so, a host ID that has gossiped and then is absent for 60 s is banned (6.1
// and later); its next start logs AlreadyRemoved.
var table = []Item{
	{Code: words.JoinCancelled, First: "6.0", Source: []string{coordinator + ":3140", coordinator + ":3170"},
		Volume: Lost, Bans: true},
	{Code: words.RackInvalid, First: "2026.1", Source: []string{coordinator + ":3305"}, Volume: Lost, Bans: true},
	{Code: words.RolledBack, First: "6.0", Source: []string{coordinator + ":4960"}, Volume: Lost, Bans: true},
	{Code: words.AlreadyRemoved, First: "5.2", Source: []string{service + ":6541", service + ":1706"}, Volume: Lost},
	// The host ID can be in any state except `left`: queued, joining, or a normal member, whose
	// data the volume then has.
	{Code: words.JoinUnfinished, First: "5.4", Source: []string{service + ":6546"}, Volume: Unknown},
	{Code: words.Decommissioned, First: "5.2", Source: []string{service + ":2007"}, Volume: Lost},
	// Thrown before gossip starts. A member that stopped before it recorded the end of its own
	// replacement also logs it, and its volume has data.
	{Code: words.ReplacedNodeNotFound, First: "5.2", Source: []string{service + ":2428"}, Volume: Kept},
	{Code: words.ReplaceAliveNode, First: "5.4", Source: []string{service + ":6559", service + ":6520"}, Volume: Kept},
	// The handler logs it before the request is stored, the coordinator after that (only the
	// coordinator up to 6.1).
	{Code: words.ReplaceTargetNotNormal, First: "5.4", Source: []string{service + ":6567", coordinator + ":4239"},
		Volume: Unknown},
	{Code: words.ReplaceIgnoredAlive, First: "2026.3", Source: []string{service + ":6597"}, Volume: Kept},
	{Code: words.ReplaceOtherDown, First: "2026.3", Source: []string{service + ":6610"}, Volume: Kept},
	{Code: words.ReplaceOtherPlace, First: "6.0", Source: []string{service + ":1544"}, Volume: Kept},
	{Code: words.ReplacePlaceRefused, First: "2025.1", Source: []string{service + ":6574"}, Volume: Kept},
	{Code: words.ReplaceTokensRefused, First: "6.2", Source: []string{service + ":6582", service + ":6588"},
		Volume: Kept},
	{Code: words.ReplaceBootstrapped, First: "5.2", Source: []string{service + ":1538"}, Volume: Kept},
	{Code: words.AddressExists, First: "5.2", Last: "2026.1", Source: []string{service + ":3601"}, Volume: Kept},
	// The new node logs it before the coordinator has decided; if the coordinator removes the host
	// ID, the next start logs AlreadyRemoved.
	{Code: words.NotAliveInTime, First: "5.2", Source: []string{"gms/gossiper.cc:2255"}, Volume: Unknown},
	{Code: words.FeatureCheckFailed, First: "6.0", Source: []string{coordinator + ":4250", coordinator + ":4046"},
		Volume: Lost, Bans: true},
	{Code: words.AddressNotKnown, First: "6.0", Source: []string{coordinator + ":4034", coordinator + ":4046"},
		Volume: Lost, Bans: true},
	{Code: words.JoinInvalid, First: "6.0", Source: []string{coordinator + ":4046"}, Volume: Lost, Bans: true},
	// The handler of the request and the coordinator's answer have the same text before their
	// reason.
	{Code: words.JoinRejected, First: "5.4", Source: []string{service + ":1314", service + ":6723"}, Volume: Unknown},
	{Code: words.Banned, First: "2026.1", Source: []string{service + ":6981"}, Volume: Lost},
	// After the node joined group 0 and before it recorded that: it may be a normal member.
	{Code: words.RequestNotFound, First: "6.0", Source: []string{"db/system_keyspace.cc:3553"}, Volume: Unknown},
	{Code: words.ReadBarrierTimedOut, First: "6.0", Source: []string{"service/raft/raft_group_registry.cc:532"},
		Volume: Unknown},
	{Code: words.LegacyTopology, First: "2026.2", Source: []string{service + ":2111"}, Volume: Kept},
	{Code: words.OtherOperation, First: "5.2", Last: "2026.1", Source: []string{service + ":3616"}, Volume: Kept},
	{Code: words.GossipStatusUnknown, First: "5.2", Last: "2026.1", Source: []string{service + ":3611"}, Volume: Kept},
	{Code: words.ReplaceNotInGossip, First: "5.2", Last: "2026.1", Source: []string{service + ":3693"}, Volume: Kept},
	// Seastar's reactor; the process ends with status 7.
	{Code: words.AioExhausted, First: "5.2", Source: []string{"main.cc:2869"}, Volume: Kept},
	// The text of errno ENOSPC, also of the image's entrypoint.
	{Code: words.DiskNoSpace, First: "5.2", Source: []string{"main.cc:629", "main.cc:2848"}, Volume: Unknown},
	// One file: it does not show that the volume is lost as a whole.
	{Code: words.SSTableMalformed, First: "5.2", Source: []string{"sstables/exceptions.hh:20"}, Volume: Unknown},
	// An internal error, which ends the process where it aborts on these.
	{Code: words.DuplicateAddress, First: "6.0", Source: []string{"db/system_keyspace.cc:1935"}, Volume: Unknown},
	// The text of supervisord, which runs ScyllaDB in its image.
	{Code: words.ScyllaDBKilled, First: "5.2",
		Source: []string{"dist/docker/etc/supervisord.conf.d/scylla-server.conf:1"},
		Volume: Unknown},
	{Code: words.TabletsNotDrained, First: "6.0", Source: []string{coordinator + ":3517"}, Volume: Unknown},
	{Code: words.MemberWithoutAddress, First: "2025.1",
		Source: []string{"service/address_map.hh:320", "gms/gossiper.cc:1455"}, Volume: Unknown},
	{Code: words.LastVoter, First: "5.2", Source: []string{"raft/raft.hh:170"}, Volume: Unknown},
	{Code: words.NoSeedReached, First: "5.2", Source: []string{"gms/gossiper.cc:1996"}, Volume: Kept},
	// The seeds of the command line are tried until one answers. Peers are on disk only after
	// discovery has begun (raft_group0.cc:531), and a new Pod on this volume uses its own seeds.
	{Code: words.ShadowRound, First: "5.2", Source: []string{"gms/gossiper.cc:1953"}, Volume: Kept},
	{Code: words.StartupFailed, First: "5.2", Source: []string{"main.cc:2848"}, Volume: Unknown},

	{Code: words.JoinOperationFailed, Origin: REST,
		Field: "/task_manager/list_module_tasks/node_ops: state failed, type bootstrap or replace, entity the host ID",
		First: "2026.1", Source: []string{"node_ops/task_manager_module.cc", coordinator + ":4960"}, Volume: Lost,
		Bans: true},
	// The same error of a decommission that is rolled back: "Rolled back: Failed to drain tablets"
	// (topology_coordinator.cc:3518), and of one that is refused (topology_state_machine.cc:273).
	{Code: TabletsWithoutPlace, Origin: REST,
		Field: "/task_manager/task_status: error of a failed decommission", First: "6.0",
		Source: []string{"service/tablet_allocator.cc:4185"}, Volume: Kept},
	{Code: DiskDecommissioned, Origin: Disk, Field: "system.local.bootstrapped = DECOMMISSIONED", First: "5.2",
		Source: []string{service + ":2007"}, Volume: Lost},
	{Code: MajorityDown, Origin: REST,
		Field: "/gossiper/endpoint/down: the host ID, in a majority of fresh status reports, UP in none, for the " +
			"time `dead` of the health policy", First: "5.2",
		Source: []string{"api/gossiper.cc"}, Volume: Unknown},
	{Code: ListedMember, Origin: REST,
		Field: "/storage_service/host_id: the host ID as a normal member, in fresh status reports", First: "5.2",
		Source: []string{"api/token_metadata.cc"}, Volume: Unknown},
	{Code: NotListed, Origin: REST,
		Field: "/storage_service/host_id of every member, in complete fresh status reports: neither the host ID " +
			"recorded on the member Service nor the host ID of its replacement", First: "5.2",
		Source: []string{"api/token_metadata.cc"}, Volume: Lost},
	{Code: TopologyLeft, Origin: CQL, Field: "system.topology: node_state of the host ID is left", First: "6.0",
		Source: []string{coordinator + ":911", "db/system_keyspace.cc:274"}, Volume: Lost},
	{Code: VolumeOfNoneOrOther, Origin: Disk,
		Field: "no file of ScyllaDB, or system.local.host_id is not the host ID that the member Service records",
		First: "5.2", Source: []string{"db/system_keyspace.cc"}, Volume: Unknown},
	{Code: ReplacementOpen, Origin: Kubernetes,
		Field:  "the member Service's record of an open replacement, requested by a user for this lost node",
		Volume: Unknown},
	{Code: VolumeLost, Origin: Kubernetes,
		Field: "the PVC in phase Lost, or its PersistentVolume bound to a Kubernetes node that no longer exists, and " +
			"a majority of fresh status reports that show the node DOWN, none UP", Volume: Lost},
	{Code: NewVolumeLost, Origin: Kubernetes,
		Field: "the PVC in phase Lost, or its PersistentVolume bound to a Kubernetes node that no longer exists, and " +
			"a member Service that records no host ID, or one that no report lists, by fresh reports of a majority, " +
			"or an open replacement whose new Pod has no Kubernetes node",
		Volume: Lost},
	{Code: VolumeEmpty, Origin: Disk, Field: "no file, as the member's barrier records on its Pod", Volume: Unknown},
	{Code: VolumeDeleting, Origin: Kubernetes,
		Field: "deletionTimestamp of the member's PVC, whose Pod still runs", Volume: Unknown},
	{Code: ReplacementLabels, Origin: Kubernetes,
		Field: "the labels of a replacement on the member Service, malformed or incomplete", Volume: Unknown},
	{Code: OrderedStart, Origin: Kubernetes,
		Field: "podManagementPolicy OrderedReady of the StatefulSet, " +
			"and a lower ordinal whose barrier waits for the member, whose launcher finds no seed without it, " +
			"or whose volume is gone, which is not replaced while the member is DOWN",
		Volume: Unknown},
}

// Codes of evidence that is not a log text.
const (
	TabletsWithoutPlace = "TabletsWithoutPlace"
	DiskDecommissioned  = "DiskDecommissioned"
	MajorityDown        = "MajorityDown"
	ListedMember        = "ListedMember"
	NotListed           = "NotListed"
	TopologyLeft        = "TopologyLeft"
	VolumeOfNoneOrOther = "VolumeOfNoneOrOther"
	ReplacementOpen     = "ReplacementOpenHere"
	VolumeEmpty         = "VolumeEmpty"
	VolumeDeleting      = "VolumeDeleting"
	VolumeLost          = "VolumeLost"
	NewVolumeLost       = "NewVolumeLost"
	ReplacementLabels   = "ReplacementLabels"
	OrderedStart        = "OrderedStart"
)

// WithoutPlace reports whether ScyllaDB's error of a decommission means that the node's data has no
// other place: up to 2025.4 it has two texts for tablets, from 2026.1 one also for racks.
func WithoutPlace(text string) bool {
	return slices.ContainsFunc([]string{
		"Unable to find new replica for tablet",
		"There are nodes with tablets to drain but no candidate nodes",
		"its removal would make some existing keyspace RF-rack-invalid",
	}, func(known string) bool { return strings.Contains(text, known) })
}

// Table returns all evidence.
func Table() []Item {
	out := slices.Clone(table)
	for i := range out {
		if out[i].Origin == "" {
			out[i].Origin = Log
		}
	}
	return out
}

// Of returns the evidence with this code; false if the table has none.
func Of(c words.Code) (Item, bool) {
	all := Table()
	if i := slices.IndexFunc(all, func(e Item) bool { return e.Code == c }); i >= 0 {
		return all[i], true
	}
	return Item{}, false
}

// VolumeOf returns the fate of a volume whose ScyllaDB logged this; Unknown if the table does not
// have it.
func VolumeOf(c words.Code) Fate {
	if e, ok := Of(c); ok {
		return e.Volume
	}
	return Unknown
}

// Step is a next step that cannot be undone.
type Step struct {
	Code words.Code
	// Rests on at least one of these.
	Rests []words.Code
}

// Steps returns every code that prints a command that Destroys knows, in the order of the
// documents. Commands that check again and ask (force-proceed, init reset) are not listed. Code
// that creates such a step has its evidence.
func Steps() []Step {
	return []Step{
		{"DiscardClaim", append(lost(), DiskDecommissioned, words.JoinOperationFailed, NotListed, NewVolumeLost)},
		{"DiscardClaimIfLeft", []words.Code{TopologyLeft}},
		{"DiscardClaimOf", append(lost(), DiskDecommissioned, words.JoinOperationFailed, NotListed)},
		{"BannedBefore", append(lost(), DiskDecommissioned, words.JoinOperationFailed)},
		{"CureResume", append(lost(), words.JoinOperationFailed)},
		// its second command, which ignores other nodes, rests on the last three
		{"CureResumeAfter", append(append(lost(), words.JoinOperationFailed), noReturn()...)},
		{"CureBringBackOrResume", noReturn()},
		{"CureIgnoreOther", noReturn()},
		{"OthersBringBack", noReturn()},
		{"CureVolumeLost", []words.Code{NewVolumeLost}},
		{"CureNewcomerLost", []words.Code{NewVolumeLost}},
		{"CureUnrecordedLost", []words.Code{NewVolumeLost}},
		{"CureNewcomerIsMember", []words.Code{ListedMember}},
		{"CureRecordNewcomer", []words.Code{ListedMember}},
		{"CureStartAsNew", []words.Code{NotListed}},
		{"CureTakeBack", []words.Code{NotListed}},
		{"CureAliveTarget", []words.Code{ListedMember}},
		{"RemoveGhost", []words.Code{MajorityDown}},
		{"OthersExclude", noReturn()},
		{"ReplaceFormerNode", []words.Code{VolumeOfNoneOrOther}},
		{"ReplaceLost", []words.Code{VolumeLost}},
		{"OperatorLetEvict", []words.Code{MajorityDown}},
		{"RemoveReplacingLabel", []words.Code{ListedMember}},
		{"RecordedHostIDRemoved", []words.Code{NotListed}},
		{"RecordedHostIDNotListed", []words.Code{TopologyLeft}},
		{"SeeIfRemoved", []words.Code{TopologyLeft}},
		{"SaveData", []words.Code{VolumeDeleting}},
		{"SaveVolumeAndData", []words.Code{VolumeDeleting}},
		{"OldNodeCameBackCure", []words.Code{VolumeDeleting}},
		{"OldNodeCameBackKeep", []words.Code{VolumeDeleting}},
		{"PutRequestBack", []words.Code{VolumeDeleting}},
		{"PutLabelBack", []words.Code{VolumeDeleting}},
		{"EmptyReplaceLabel", []words.Code{ReplacementLabels}},
		{"ReplaceEmptyLabel", []words.Code{ReplacementLabels}},
		{"ApplyParallel", []words.Code{OrderedStart}},
		{"GrowVolume", []words.Code{words.DiskNoSpace}},
	}
}

// Irreversible reports whether the step cannot be undone, or has such a step as a parameter.
func Irreversible(m words.Message) bool {
	if len(For(m.Code)) > 0 || slices.ContainsFunc(m.Commands, Destroys) {
		return true
	}
	for _, v := range m.Params {
		switch v := v.(type) {
		case words.Message:
			if Irreversible(v) {
				return true
			}
		case []words.Message:
			if slices.ContainsFunc(v, Irreversible) {
				return true
			}
		}
	}
	return false
}

// For returns the evidence for a step, nil for a step that can be undone.
func For(step words.Code) []words.Code {
	all := Steps()
	if i := slices.IndexFunc(all, func(s Step) bool { return s.Code == step }); i >= 0 {
		return all[i].Rests
	}
	return nil
}

// lost returns the texts after which ScyllaDB never starts on the volume again.
func lost() []words.Code {
	var out []words.Code
	for _, e := range Table() {
		if e.Origin == Log && e.Volume == Lost {
			out = append(out, e.Code)
		}
	}
	return out
}

// noReturn are the objects that show that a node which is DOWN cannot come back.
func noReturn() []words.Code { return []words.Code{VolumeLost, VolumeEmpty, ReplacementOpen} }

// Lost returns what the evidence shows to be lost.
func (e Item) Lost() words.Code {
	switch {
	case e.Volume == Lost && e.Bans:
		return words.LostVolumeAndNode
	case e.Volume == Lost:
		return words.LostVolume
	case e.Volume == Kept:
		return words.LostNothing
	}
	return words.LostUnknown
}

// Kept returns what the evidence shows not to be lost.
func (e Item) Kept() words.Code {
	switch e.Volume {
	case Lost:
		return words.KeptOtherNodes
	case Kept:
		return words.KeptVolume
	}
	return words.KeptUnknown
}

// Message is the piece of evidence of a code: its origin, versions and source; only the code if
// there is none.
func Message(c words.Code) words.Message {
	e, ok := Of(c)
	lost, kept := words.New(e.Lost()), words.New(e.Kept())
	switch {
	case !ok:
		return words.New(c)
	case e.First == "":
		return words.New(words.RestsOnObject, "code", c, "origin", e.Origin, "lost", lost, "kept", kept)
	case e.Last != "":
		return words.New(words.RestsOnUntil, "code", c, "origin", e.Origin, "first", e.First, "last", e.Last, "source",
			e.Source[0], "lost", lost, "kept", kept)
	}
	return words.New(words.RestsOn, "code", c, "origin", e.Origin, "first", e.First, "source", e.Source[0], "lost",
		lost, "kept", kept)
}
