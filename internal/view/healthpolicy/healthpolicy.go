// SPDX-License-Identifier: Apache-2.0

package healthpolicy

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Defaults.
const (
	// Dead is how long a node must have been DOWN before its replacement is suggested: most nodes that go DOWN come back by themselves.
	Dead = 5 * time.Minute
	// Interval is the time between two polls of a reporter; LeastInterval and MostInterval bound it where its heartbeat is served.
	Interval      = 5 * time.Second
	LeastInterval = time.Second
	MostInterval  = mostContact / 2
	// Contact is the greatest age of an observation that a node is judged by: twice the interval at which a reporter confirms that it runs.
	Contact = 2 * Interval
	// Stabilisation is how long all nodes must be UP without a break.
	Stabilisation = 10 * time.Second
	// MinQuorum is the least number of members that a production cluster's clean-up leaves, whatever its size.
	MinQuorum = 3
	// Trailing is the most entries of the log of group 0 that a member may be behind its leader.
	Trailing = 1000
	// ViewLimit is the greatest age of a view that lets a member start, by the receiver's clock.
	ViewLimit = 20 * time.Second
	// PeerCheck is how often a view that lets a member start is written anew, and how often a barrier that does not see it advance asks other members' reporters.
	PeerCheck = 5 * time.Second
	// LookInterval is how often the controller looks at the members, MissedLooks after how many looks in a row that heard nothing a member is UNKNOWN.
	LookInterval = 2 * time.Second
	MissedLooks  = 3
	// CleanUpFrom is the minQuorum from which dead reports are cleaned up where no annotation sets it.
	CleanUpFrom = 3
)

// Bounds of the values in annotations.
const (
	least       = time.Second
	mostContact = time.Minute
	most        = 24 * time.Hour
	mostQuorum  = 1000
	mostBehind  = 1_000_000
	shown       = 60 // bytes of a value that cannot be used
)

// Bounds of what keeps an old view from opening anything. They hold for every combination of the values, so that no two fields depend on each other:
//
//	MostViewLimit <= 2 * duration of the controller's Lease      no view opens for longer than it takes to see that no controller leads
//	2 * (mostCheck+mostLook) <= ViewLimit                    a view with an open permit is renewed twice before it is too old
//	mostMissed * mostLook <= ViewLimit                           a member that falls silent is UNKNOWN before the last view in which it was UP is too old
//	2 * mostLook < Contact                                       an observation outlives one look that missed it
//
// ViewLimit is the least one, too: a receiver takes no view for young after a longer pause.
const (
	MostViewLimit = 30 * time.Second
	leastCheck    = 2 * time.Second
	mostCheck     = 5 * time.Second
	LeastLook     = time.Second
	mostLook      = 4 * time.Second
	leastMissed   = 2
	mostMissed    = 5
)

// Fields of the policy, as the ends of the annotations that override them.
const (
	FieldProfile       = "profile"
	FieldDead          = "dead"
	FieldContact       = "contact"
	FieldStabilisation = "stabilisation"
	FieldMinQuorum     = "min-quorum"
	FieldTrailing      = "trailing"
	FieldCleanUp       = "clean-up-dead-reports"
	FieldSilent        = "when-controller-silent"
	FieldViewLimit     = "view-limit"
	FieldPeerCheck     = "peer-check"
	FieldLook          = "look-interval"
	FieldMissed        = "missed-looks"
)

// Annotation is the annotation that overrides a field.
func Annotation(field string) string { return api.AnnotationHealthPrefix + field }

// Standard returns the policy of a cluster without annotations. window is how long all nodes must be UP before a permit is given.
func Standard(window time.Duration, members int) *api.StatusReportHealthPolicy {
	p := &api.StatusReportHealthPolicy{
		Profile: api.ProfileProduction, Dead: metav1.Duration{Duration: Dead}, Contact: metav1.Duration{Duration: Contact},
		Stabilisation: metav1.Duration{Duration: window}, MinQuorum: quorum(api.ProfileProduction, members),
		Trailing: Trailing, WhenControllerSilent: api.WhenSilentWait,
		ViewLimit: metav1.Duration{Duration: ViewLimit}, PeerCheck: metav1.Duration{Duration: PeerCheck},
		LookInterval: metav1.Duration{Duration: LookInterval}, MissedLooks: MissedLooks,
	}
	p.CleanUpDeadReports = p.MinQuorum >= CleanUpFrom
	return p
}

// quorum returns the default of minQuorum.
func quorum(profile api.HealthProfile, members int) int32 {
	if profile == api.ProfileDevelopment {
		return int32(min(max(1, members), mostQuorum))
	}
	return int32(min(max(MinQuorum, members), mostQuorum))
}

// Of returns the policy of a report; the defaults where it has none, or one in which a number is missing.
func Of(r *api.ScyllaDBStatusReport) api.StatusReportHealthPolicy {
	out := *Standard(Stabilisation, 0)
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
	if p.WhenControllerSilent != api.WhenSilentPeers {
		p.WhenControllerSilent = api.WhenSilentWait
	}
	return p
}

// ContactOf returns the greatest age of a reporter's observation: contact, or twice the reporter's interval if that is more. No reporter's own word makes
// it more than the most that an annotation can set.
func ContactOf(contact, interval time.Duration) time.Duration {
	return max(contact, min(2*interval, mostContact))
}

// First returns how long the first node of a cluster must be UP without a break before the cluster counts as initialised.
func First(r *api.ScyllaDBStatusReport) time.Duration {
	if p := Of(r); overrides(&p, FieldStabilisation) {
		return p.Stabilisation.Duration
	}
	return Stabilisation
}

// Window returns how long all nodes must be UP without a break before a barrier opens: given, the barrier's own flag, else the stabilisation by which
// the cluster's controller gives permits.
func Window(given *time.Duration, r *api.ScyllaDBStatusReport) time.Duration {
	if given != nil {
		return *given
	}
	p := Of(r)
	return p.Stabilisation.Duration
}

// Silent returns what a barrier does while no controller leads: given, its own flag, else the value in the cluster's report.
func Silent(given api.WhenSilent, r *api.ScyllaDBStatusReport) api.WhenSilent {
	if given != "" {
		return given
	}
	p := Of(r)
	return p.WhenControllerSilent
}
