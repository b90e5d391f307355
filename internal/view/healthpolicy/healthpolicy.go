// SPDX-License-Identifier: Apache-2.0

package healthpolicy

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Defaults.
const (
	// Dead is how long a node must have been DOWN before its replacement is suggested: most nodes
	// that go DOWN recover without help.
	Dead = 5 * time.Minute
	// Interval is the time between two polls of a reporter; LeastInterval and MostInterval bound it
	// on its heartbeat server.
	Interval      = 5 * time.Second
	LeastInterval = time.Second
	MostInterval  = mostContact / 2
	// Contact is the maximum age of an observation: twice the interval at which a reporter confirms
	// that it runs.
	Contact = 2 * Interval
	// Stabilisation is how long all nodes must be UP continuously.
	Stabilisation = 10 * time.Second
	// minQuorum is the minimum number of members that a production cluster's clean-up leaves, for
	// any cluster size.
	minQuorum = 3
	// Trailing is the maximum number of entries of the log of group 0 that a member may be behind
	// its leader.
	Trailing = 1000
	// ViewLimit is the maximum age of a view that lets a member start, by the receiver's clock.
	ViewLimit = 20 * time.Second
	// PeerCheck is how often the controller renews a view that lets a member start. It is also how
	// often a barrier that does not see it advance queries other members' reporters.
	PeerCheck = 5 * time.Second
	// LookInterval is how often the controller polls the members. MissedLooks is the number of
	// consecutive missed polls after which a member is UNKNOWN.
	LookInterval = 2 * time.Second
	MissedLooks  = 3
	// cleanUpFrom is the minQuorum from which dead reports are cleaned up if no annotation sets it.
	cleanUpFrom = 3
)

// Bounds of the values in annotations.
const (
	least       = time.Second
	mostContact = time.Minute
	most        = 24 * time.Hour
	mostQuorum  = 1000
	mostBehind  = 1_000_000
	shown       = 60 // bytes of an invalid value
)

// Bounds that keep an old view from opening a barrier. They hold for every combination of values,
// so that no two fields depend on each other:
//
//	MostViewLimit <= 2 * duration of the controller's Lease
//	2 * (mostCheck+mostLook) <= ViewLimit
//	mostMissed * mostLook <= ViewLimit
//	2 * mostLook < Contact
//
// By the first, no view opens for longer than it takes to detect a missing leader. By the second, a
// view with an open permit is renewed twice before it is too old. By the third, a member that stops
// responding is UNKNOWN before the last view with its UP is too old. By the last, an observation
// outlives one missed poll.
//
// ViewLimit is also the minimum of its field: after a longer pause a receiver treats no view as
// young.
const (
	MostViewLimit = 30 * time.Second
	leastCheck    = 2 * time.Second
	mostCheck     = 5 * time.Second
	LeastLook     = time.Second
	mostLook      = 4 * time.Second
	leastMissed   = 2
	mostMissed    = 5
)

// Fields of the policy: the suffixes of the annotations that override them.
const (
	FieldProfile       = "profile"
	FieldDead          = "dead"
	FieldContact       = "contact"
	FieldStabilisation = "stabilisation"
	FieldMinQuorum     = "min-quorum"
	FieldTrailing      = "trailing"
	FieldCleanUp       = "clean-up-dead-reports"
	FieldViewLimit     = "view-limit"
	FieldPeerCheck     = "peer-check"
	FieldLook          = "look-interval"
	FieldMissed        = "missed-looks"
)

// Annotation returns the annotation that overrides a field.
func Annotation(field string) string { return api.AnnotationHealthPrefix + field }

// Standard returns the policy of a cluster without annotations. window is how long all nodes must
// be UP before a permit is given.
func Standard(window time.Duration, members int) *api.StatusReportHealthPolicy {
	p := &api.StatusReportHealthPolicy{
		Profile: api.ProfileProduction, Dead: metav1.Duration{Duration: Dead},
		Contact:       metav1.Duration{Duration: Contact},
		Stabilisation: metav1.Duration{Duration: window}, MinQuorum: quorum(api.ProfileProduction, members),
		Trailing:  Trailing,
		ViewLimit: metav1.Duration{Duration: ViewLimit}, PeerCheck: metav1.Duration{Duration: PeerCheck},
		LookInterval: metav1.Duration{Duration: LookInterval}, MissedLooks: MissedLooks,
	}
	p.CleanUpDeadReports = p.MinQuorum >= cleanUpFrom
	return p
}

// quorum returns the default of minQuorum.
func quorum(profile api.HealthProfile, members int) int32 {
	if profile == api.ProfileDevelopment {
		return int32(min(max(1, members), mostQuorum))
	}
	return int32(min(max(minQuorum, members), mostQuorum))
}

var standard = *Standard(Stabilisation, 0)

// Of returns the policy of a report, with the default for each missing or invalid number; the
// defaults if it has no policy.
func Of(r *api.ScyllaDBStatusReport) api.StatusReportHealthPolicy {
	out := standard
	if r == nil || r.Status.HealthPolicy == nil {
		return out
	}
	p := *r.Status.HealthPolicy
	if p.Dead.Duration < least {
		p.Dead = out.Dead
	}
	if p.Contact.Duration < Contact {
		p.Contact = out.Contact
	}
	p.Stabilisation.Duration = max(0, p.Stabilisation.Duration)
	p.MinQuorum = max(1, p.MinQuorum)
	for _, name := range []string{FieldTrailing, FieldViewLimit, FieldPeerCheck, FieldLook, FieldMissed} {
		if f := fields[name]; !f.within(&p) {
			f.keep(&p, &out)
		}
	}
	return p
}

// ContactOf returns the maximum age of a reporter's observation: max(contact, 2*interval). A
// reporter's own interval cannot raise it above the maximum that an annotation can set.
func ContactOf(contact, interval time.Duration) time.Duration {
	return max(contact, min(2*interval, mostContact))
}

// First returns how long the first node of a cluster must be UP continuously before the cluster
// counts as initialised.
func First(r *api.ScyllaDBStatusReport) time.Duration {
	if p := Of(r); overrides(&p, FieldStabilisation) {
		return p.Stabilisation.Duration
	}
	return Stabilisation
}

// Window returns how long all nodes must be UP continuously before a barrier opens: given, the
// barrier's own flag, else the stabilisation with which the cluster's controller gives permits.
func Window(given *time.Duration, r *api.ScyllaDBStatusReport) time.Duration {
	if given != nil {
		return *given
	}
	p := Of(r)
	return p.Stabilisation.Duration
}
