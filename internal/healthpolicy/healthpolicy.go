// SPDX-License-Identifier: Apache-2.0

package healthpolicy

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Defaults.
const (
	// Dead is how long a node must have been DOWN before anything suggests to replace it: most nodes that go DOWN come back by themselves.
	Dead = 5 * time.Minute
	// Contact is how old what a node is judged by may be: twice the time in which a reporter says that it still runs.
	Contact = 10 * time.Second
	// Stabilisation is how long all must be well without a break.
	Stabilisation = 10 * time.Second
	// MinQuorum is the least that a production cluster's clean-up leaves, whatever its size.
	MinQuorum = 3
	// CleanUpFrom is the minQuorum from which dead reports are cleaned up where nobody says whether they are.
	CleanUpFrom = 3
)

// Bounds of what may be said instead.
const (
	least       = time.Second
	mostContact = time.Minute
	most        = 24 * time.Hour
	mostQuorum  = 1000
	shown       = 60 // bytes of a value that cannot be used
)

// Fields of the policy, as the ends of the annotations that override them.
const (
	FieldProfile       = "profile"
	FieldDead          = "dead"
	FieldContact       = "contact"
	FieldStabilisation = "stabilisation"
	FieldMinQuorum     = "min-quorum"
	FieldCleanUp       = "clean-up-dead-reports"
	FieldSilent        = "when-controller-silent"
)

// Annotation is the annotation that overrides a field.
func Annotation(field string) string { return api.AnnotationHealthPrefix + field }

// Standard is the policy of a cluster of which nothing is said. window is how long all must be UP before a permit is given.
func Standard(window time.Duration, members int) *api.StatusReportHealthPolicy {
	p := &api.StatusReportHealthPolicy{
		Profile: api.ProfileProduction, Dead: metav1.Duration{Duration: Dead}, Contact: metav1.Duration{Duration: Contact},
		Stabilisation: metav1.Duration{Duration: window}, MinQuorum: quorum(api.ProfileProduction, members),
		WhenControllerSilent: api.WhenSilentWait,
	}
	p.CleanUpDeadReports = p.MinQuorum >= CleanUpFrom
	return p
}

// quorum is the default of minQuorum.
func quorum(profile api.HealthProfile, members int) int32 {
	if profile == api.ProfileDevelopment {
		return int32(min(max(1, members), mostQuorum))
	}
	return int32(min(max(MinQuorum, members), mostQuorum))
}

// Of is the policy that a report has; the defaults where it has none, or one in which a number is missing.
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
	if p.WhenControllerSilent != api.WhenSilentPeers {
		p.WhenControllerSilent = api.WhenSilentWait
	}
	return p
}

// First is how long the first node of a cluster must be well without a break before the cluster counts as initialised.
func First(r *api.ScyllaDBStatusReport) time.Duration {
	if p := Of(r); overrides(&p, FieldStabilisation) {
		return p.Stabilisation.Duration
	}
	return Stabilisation
}

// Window is how long all must be UP without a break before a barrier opens: what was given to it, else the one by which the cluster's controller gives its permits.
func Window(given *time.Duration, r *api.ScyllaDBStatusReport) time.Duration {
	if given != nil {
		return *given
	}
	p := Of(r)
	return p.Stabilisation.Duration
}

// Silent is what a barrier does while no controller leads: what was given to it, else what the cluster's report says.
func Silent(given api.WhenSilent, r *api.ScyllaDBStatusReport) api.WhenSilent {
	if given != "" {
		return given
	}
	p := Of(r)
	return p.WhenControllerSilent
}
