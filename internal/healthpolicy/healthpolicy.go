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
	// Contact is the greatest age of an observation that a node is judged by: twice the interval at which a reporter confirms that it runs.
	Contact = 10 * time.Second
	// Stabilisation is how long all nodes must be UP without a break.
	Stabilisation = 10 * time.Second
	// MinQuorum is the least number of members that a production cluster's clean-up leaves, whatever its size.
	MinQuorum = 3
	// Trailing is the most entries of the log of group 0 that a member may be behind its leader.
	Trailing = 1000
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
)

// Annotation is the annotation that overrides a field.
func Annotation(field string) string { return api.AnnotationHealthPrefix + field }

// Standard returns the policy of a cluster without annotations. window is how long all nodes must be UP before a permit is given.
func Standard(window time.Duration, members int) *api.StatusReportHealthPolicy {
	p := &api.StatusReportHealthPolicy{
		Profile: api.ProfileProduction, Dead: metav1.Duration{Duration: Dead}, Contact: metav1.Duration{Duration: Contact},
		Stabilisation: metav1.Duration{Duration: window}, MinQuorum: quorum(api.ProfileProduction, members),
		Trailing: Trailing, WhenControllerSilent: api.WhenSilentWait,
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
	if p.Trailing < 1 || p.Trailing > mostBehind {
		p.Trailing = out.Trailing
	}
	if p.WhenControllerSilent != api.WhenSilentPeers {
		p.WhenControllerSilent = api.WhenSilentWait
	}
	return p
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
