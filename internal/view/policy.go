// SPDX-License-Identifier: Apache-2.0

package view

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Time limits by which nodes are judged, in one place: docs/reference/policy.md is generated from
// them.
const (
	// Interval is how often members are polled.
	Interval = healthpolicy.LookInterval
	// MissedLimit is the number of consecutive missed polls after which a member is UNKNOWN.
	MissedLimit = healthpolicy.MissedLooks
	// RecoveryLimit is the number of consecutive heard polls after which a member is UP.
	RecoveryLimit = 2
	// ContactLimit is the maximum age of the data of a poll.
	ContactLimit = healthpolicy.Contact
	// Stabilisation is how long a first node must be healthy without interruption before its
	// cluster counts as initialised. By default it is also how long all nodes must stay UP before a
	// barrier opens.
	Stabilisation = healthpolicy.Stabilisation
	// Trailing is how many entries a member may be behind the leader in the log of group 0; beyond
	// that for TrailingLimit consecutive polls it is UNKNOWN.
	Trailing      = healthpolicy.Trailing
	TrailingLimit = 2
	// Dead is how long a node must have been DOWN before any output suggests replacing it.
	Dead = healthpolicy.Dead
)

// limit is one line of the health policy.
type limit struct {
	Name string
	// Value is a duration, a number, a string or a bool.
	Value any
	// Meaning is its description. Flag is the flag and Field the health policy field that change
	// it, with Bounds of the permitted values; each is empty if there is none.
	Meaning     words.Code
	Flag, Field string
	Bounds      words.Message
}

// Policy returns the health policy, in display order.
func Policy() []limit {
	standard := healthpolicy.Standard(Stabilisation, 0)
	all := []limit{
		{Name: "poll interval", Value: Interval, Meaning: words.LimitInterval, Field: healthpolicy.FieldLook},
		{Name: "missed polls", Value: MissedLimit, Meaning: words.LimitMissed, Field: healthpolicy.FieldMissed},
		{Name: "recovery", Value: RecoveryLimit, Meaning: words.LimitRecovery},
		{Name: "view limit", Value: healthpolicy.ViewLimit, Meaning: words.LimitViewLimit,
			Field: healthpolicy.FieldViewLimit},
		{Name: "peer check", Value: Renewal, Meaning: words.LimitPeerCheck, Field: healthpolicy.FieldPeerCheck},
		{Name: "contact", Value: ContactLimit, Meaning: words.LimitContact, Field: healthpolicy.FieldContact},
		{Name: "stabilisation of the first node", Value: Stabilisation, Meaning: words.LimitStabilisation,
			Field: healthpolicy.FieldStabilisation},
		{Name: "stabilisation of a permit", Value: Stabilisation, Meaning: words.LimitPermit,
			Flag: "scylla-agent controller --stabilisation", Field: healthpolicy.FieldStabilisation},
		{Name: "stabilisation of a barrier", Value: Stabilisation, Meaning: words.LimitBarrier,
			Flag: "scylla-agent barrier --stabilisation", Field: healthpolicy.FieldStabilisation},
		{Name: "trailing", Value: standard.Trailing, Meaning: words.LimitTrailing, Field: healthpolicy.FieldTrailing},
		{Name: "dead", Value: Dead, Meaning: words.LimitDead, Field: healthpolicy.FieldDead},
		{Name: "profile", Value: standard.Profile, Meaning: words.LimitProfile, Field: healthpolicy.FieldProfile},
		{Name: "minimum quorum", Value: standard.MinQuorum, Meaning: words.LimitQuorum,
			Field: healthpolicy.FieldMinQuorum},
		{Name: "clean-up of dead reports", Value: standard.CleanUpDeadReports, Meaning: words.LimitCleanUp,
			Field: healthpolicy.FieldCleanUp},
	}
	cures := healthpolicy.Cures()
	for i := range all {
		all[i].Bounds = cures[all[i].Field]
	}
	return all
}

// ReasonDead is the reason of condition NodeReplaceable.
const ReasonDead = "Dead"

// Replaceable returns the condition with the nodes that have been DOWN for long, and their number.
// It names no replacement, because the controller reads no volume: `status` does, if the objects
// show that the data is lost.
func Replaceable(c *cluster.Cluster) (Condition, int) {
	var names []string
	nodes := c.Matrix().Nodes()
	for i := range nodes {
		if n := &nodes[i]; c.Matrix().NodeReplaceable(n.HostID) {
			names = append(names, n.Ref.String())
		}
	}
	return Condition{
		Type: api.ConditionNodeReplaceable, Status: metav1.ConditionTrue, Reason: ReasonDead,
		Message: words.New(words.NodesReplaceable, "nodes", names, "dead", c.HealthPolicy().Dead.Duration).Do(
			words.Scylla(c.Namespace, "status", c.Name)),
	}, len(names)
}
