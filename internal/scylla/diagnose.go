// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"bufio"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/pattern"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Diagnosis is a known failure found in a log. Package evidence derives the state of the volume
// from it.
type Diagnosis struct {
	// Code is stable and in CamelCase: JoinCancelled, Banned, AlreadyRemoved, Decommissioned,
	// ReplacedNodeNotFound, ...
	Code words.Code `json:"code"`
	// Text is ScyllaDB's message, without the log prefix.
	Text string `json:"text"`
}

// Lost reports whether ScyllaDB can never start on this data directory again.
func (d *Diagnosis) Lost() bool { return evidence.VolumeOf(d.Code) == evidence.Lost }

type known struct {
	code    words.Code
	pattern func() *regexp.Regexp
}

// failures are the known fatal errors by ScyllaDB's exact texts. The order matters if one message
// contains another.
var failures = []known{
	{words.JoinCancelled,
		pattern.Lazy(`request canceled because some required nodes are dead|Canceled\. Dead nodes: `)},
	{words.RackInvalid, pattern.Lazy(`its addition would make some existing keyspace RF-rack-invalid`)},
	{words.RolledBack, pattern.Lazy(`Rolled back: `)},
	{words.AlreadyRemoved,
		pattern.Lazy(
			`The node has already been removed from the cluster|is removed from the cluster\. Can not restart the removed node|A node that already left the cluster cannot be restarted`)},
	{words.JoinUnfinished, pattern.Lazy(`The node requested to join before but didn't finish the procedure`)},
	{words.Decommissioned, pattern.Lazy(`This node was decommissioned and will not rejoin the ring`)},
	{words.ReplacedNodeNotFound, pattern.Lazy(`Replaced node with Host ID \S+ not found`)},
	{words.ReplaceAliveNode, pattern.Lazy(`tried to replace alive node|It is only allowed to replace dead nodes`)},
	{words.ReplaceTargetNotNormal, pattern.Lazy(`Cannot replace node \S+ because it is not in the 'normal' state`)},
	{words.ReplaceIgnoredAlive, pattern.Lazy(`Cannot replace node \S+ because ignored node \S+ is alive`)},
	{words.ReplaceOtherDown, pattern.Lazy(`Cannot replace node \S+ because node \S+ is down and not ignored`)},
	{words.ReplaceOtherPlace, pattern.Lazy(`Cannot replace node \S+ with a node on a different data center or rack`)},
	{words.ReplacePlaceRefused, pattern.Lazy(`Cannot replace node in \S+ with node in \S+`)},
	{words.ReplaceTokensRefused,
		pattern.Lazy(
			`Cannot replace the zero-token node \S+ with a token-owning node|Cannot replace the token-owning node \S+ with a zero-token node`)},
	{words.ReplaceBootstrapped, pattern.Lazy(`Cannot replace address with a node that is already bootstrapped`)},
	{words.AddressExists, pattern.Lazy(`A node with address \S+ already exists, cancelling join`)},
	{words.NotAliveInTime, pattern.Lazy(`Failed to mark node as alive in \d+ ms`)},
	{words.FeatureCheckFailed,
		pattern.Lazy(`Feature check failed\. The node does not support some features that are enabled by the cluster`)},
	{words.AddressNotKnown, pattern.Lazy(`wait_for_ip failed, error`)},
	{words.JoinInvalid, pattern.Lazy(`Join is rejected during validation`)},
	{words.JoinRejected, pattern.Lazy(`the topology coordinator rejected request to join the cluster`)},
	{words.Banned, pattern.Lazy(`received notification of being banned from the cluster`)},
	{words.RequestNotFound, pattern.Lazy(`no entry for request id`)},
	{words.ReadBarrierTimedOut, pattern.Lazy(`raft operation .read_barrier. timed out`)},
	{words.LegacyTopology, pattern.Lazy(`Cannot join existing cluster in legacy topology operations mode`)},
	{words.OtherOperation, pattern.Lazy(`Other bootstrapping/leaving/moving nodes detected, cannot bootstrap`)},
	{words.GossipStatusUnknown, pattern.Lazy(`has gossip status=UNKNOWN\. Try fixing it before adding new node`)},
	{words.NoSeedReached, pattern.Lazy(`Unable to gossip with any nodes`)},
	{words.ReplaceNotInGossip, pattern.Lazy(`Cannot replace_address \S+ because it doesn't exist in gossip`)},
	{words.AioExhausted, pattern.Lazy(`Could not setup Async I/O`)},
	{words.DiskNoSpace, pattern.Lazy(`No space left on device`)},
	{words.SSTableMalformed, pattern.Lazy(`malformed_sstable_exception|bufsize_mismatch_exception`)},
	{words.DuplicateAddress, pattern.Lazy(`duplicate IP for host_id`)},
	{words.ScyllaDBKilled, pattern.Lazy(`terminated by SIGKILL; not expected`)},
	{words.TabletsNotDrained, pattern.Lazy(`tablets draining failed with|Failed to drain tablets`)},
	{words.MemberWithoutAddress, pattern.Lazy(`No ip address for \S+ when one is expected|does not have HOST_ID application_state`)},
	{words.LastVoter, pattern.Lazy(`The configuration must have at least one voter`)},
	{words.ShadowRound, pattern.Lazy(`Gossip shadow round started with nodes=`)},
	{words.StartupFailed, pattern.Lazy(`Startup failed: `)},
}

// own matches the last lines of a process: only there does a text above refer to the node itself. A
// coordinator logs the same texts about other nodes.
var own = pattern.Lazy(`Startup failed: |received notification of being banned from the cluster|` +
	`FATAL: Exception during startup|No space left on device|duplicate IP for host_id|terminated by SIGKILL; not expected`)

// ofOperations matches errors of operations, which a running node logs also about other nodes: they
// count if nothing else ended the process.
var ofOperations = pattern.Lazy(`tablets draining failed with|Failed to drain tablets|No ip address for \S+ when one is expected|does not have HOST_ID application_state|` +
	`The configuration must have at least one voter`)

// prefix matches the text of ScyllaDB's logger before a message: "ERROR 2025-09-01 12:00:00,123
// [shard 0:main] init - ". A container runtime may add a timestamp before that prefix.
var prefix = pattern.Lazy(
	`^(?:\S+Z? )?(?:(?:TRACE|DEBUG|INFO|WARN|ERROR)\s+)?\d{4}-\d\d-\d\d[ T][\d:,.]+Z?\s+(?:\[[^\]]*\]\s+)?(?:[\w:.-]+ - )?`)

// started matches the line after which earlier failures no longer matter.
var started = pattern.Lazy(`initialization completed\.`)

// inShadowRound matches the line that begins a shadow round, pastIt a line that a process logs
// after the round or at its end.
var (
	inShadowRound = failures[len(failures)-2].pattern
	pastIt        = pattern.Lazy(
		`Gossip shadow round finished|Skip ShadowRound|found no local group 0|Startup (?:failed|interrupted)|Signal received; shutting down|initialization completed\.`)
)

const maxLine = 16 << 10

// FirstError finds the failure that explains a container log. A process that restarts on the same
// directory adds messages that only follow from the first failure. Therefore the first failure that
// makes the directory unusable counts, else the first of any kind. Failures before a successful
// start are ignored. It returns false if the log has no known failure, and accepts lines of any
// length and truncated logs.
//
// If the log ends in a shadow round, and only shadow rounds failed before, the result is
// words.ShadowRound: the process is contacting its seeds, and has not begun discovery.
func FirstError(log io.Reader) (Diagnosis, bool) {
	r := bufio.NewReaderSize(log, maxLine)
	var first, shadow, operation Diagnosis
	found, looks := false, false
	for {
		line, err := r.ReadSlice('\n')
		text := strings.TrimRight(string(line), "\r\n")
		long := errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = r.ReadSlice('\n')
		}
		if pastIt().MatchString(text) {
			looks = false
		} else if inShadowRound().MatchString(text) {
			shadow, looks = Recognise(text)
		}
		if started().MatchString(text) && !long {
			first, found = Diagnosis{}, false
		} else if own().MatchString(text) {
			if d, ok := Recognise(text); ok && (!found || d.Lost() && !first.Lost()) {
				first, found = d, true
			}
		} else if operation.Code == "" && ofOperations().MatchString(text) {
			operation, _ = Recognise(text)
		}
		if err != nil {
			if looks && (!found || first.Code == words.NoSeedReached) {
				return shadow, true
			}
			if !found && operation.Code != "" {
				return operation, true
			}
			return first, found
		}
	}
}

// Recognise finds a known failure in one message, such as a log line or a task's error, else false.
func Recognise(message string) (Diagnosis, bool) {
	for _, k := range failures {
		if k.pattern().MatchString(message) {
			return Diagnosis{Code: k.code, Text: clip(prefix().ReplaceAllString(message, ""))}, true
		}
	}
	return Diagnosis{}, false
}

// Cure returns the cause of a known failure and the next step. It is zero for an unknown code, for
// example from an archive of another version.
func Cure(c words.Code) words.Message {
	switch {
	case !slices.ContainsFunc(failures, func(k known) bool { return k.code == c }):
		return words.Message{}
	case c == words.Decommissioned:
		return words.New(words.CureDecommissioned)
	}
	return words.New(c)
}
