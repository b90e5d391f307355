// SPDX-License-Identifier: Apache-2.0

// Package preflight judges an installation: its input is the objects that `kubectl scylla check` has read, its output one result per checked subject.
// It is pure: no client, no clock, no logger. It does not judge whether nodes are UP; package cluster does.
package preflight

import (
	"cmp"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// State of one result.
type State string

// The states, the gravest first.
const (
	Failed  State = "failed"  // something does not work, or a join is not guarded
	Unknown State = "unknown" // it could not be checked
	Warning State = "warning" // it works now, and is likely to fail later
	OK      State = "ok"
)

// Result is the result for one subject.
type Result struct {
	// Check is the name of the check, Subject the object it checked ("statefulset demo/db-a"); empty for the installation as a whole.
	Check   string
	Subject string
	State   State
	// Text is the finding, Step the next step; Step is zero where none is needed.
	Text words.Message
	Step words.Message
}

// Access is one right that a subject needs.
type Access struct {
	// Who is "you", "the controller", or a ServiceAccount as "namespace/name"; For is the verb of the plugin that needs the right.
	Who, For string
	// Right is "patch pods", Namespace where it is needed, empty for all.
	Right, Namespace string
	Allowed          bool
	// Err is why the right could not be checked.
	Err string
}

// Kind is one of our kinds, or the one shared with the Scylla Operator.
type Kind struct {
	Name string
	// Served are the versions that are served; none where the kind is not installed.
	Served []string
	// Err is why the kind could not be checked.
	Err string
}

// Input holds the objects and answers that were read.
type Input struct {
	// Pre is true before an installation: objects that install creates are then not reported as missing.
	Pre bool
	// AnyVersion accepts a ScyllaDB whose disk cannot be queried.
	AnyVersion bool
	// Version of the plugin; Installed is that of the annotation on the namespace, empty when there is none.
	Version, Installed string
	// KubernetesMinor is 36 for 1.36; zero is not known.
	KubernetesMinor int
	Kinds           []Kind
	Access          []Access
	// Aggregated is the ClusterRole of an earlier version of ours that the Scylla Operator's scyllacluster-member takes in; empty when none does.
	// AggregatedErr is why it could not be read.
	Aggregated, AggregatedErr string
	// Admission is the state of each of Policies.
	Admission []Admission
	// Denials are tries of a member's write to a Pod that is not its own, as dry runs.
	Denials []Denial
	// Controller is nil where there is none, ControllerErr why it could not be read. Lease is its leader's.
	Controller    *appsv1.Deployment
	ControllerErr string
	Lease         *coordinationv1.Lease
	// Now is by this machine's clock, Skew how far it is ahead of the API server's; SkewKnown is false where the server gave no time.
	Now       time.Time
	Skew      time.Duration
	SkewKnown bool

	Services []corev1.Service
	// Slices are the EndpointSlices of Services, from which the DNS server answers; SlicesErr is why they could not be read.
	Slices    []discoveryv1.EndpointSlice
	SlicesErr string
	// Pods of ScyllaDB, and no others that carry the cluster's label.
	Pods         []corev1.Pod
	StatefulSets []appsv1.StatefulSet
	PDBs         []policyv1.PodDisruptionBudget
	// PDBErr is why disruption budgets could not be read.
	PDBErr string
	// Reach holds, by "namespace/name" of a Pod, why its reporter did not answer; an empty text when it did, no entry when it was not asked.
	Reach map[string]string
}

// Check looks at everything and gives the results, those of one check together in a fixed order.
func Check(in *Input) []Result {
	c := &checker{in: in}
	c.kubernetes()
	c.kinds()
	c.rights()
	c.clock()
	if in.Pre {
		c.queries()
	}
	if !in.Pre {
		c.aggregation()
		c.policy()
		c.denials()
		c.controller()
		c.lease()
		c.versions()
	}
	for i := range in.StatefulSets {
		if s := &in.StatefulSets[i]; guardable(s) {
			c.gates(s)
			c.probes(s)
			c.seeds(s)
			c.update(s)
			c.budget(s)
		}
	}
	c.scylla()
	c.images()
	c.services()
	c.names()
	c.forced()
	c.reporters()
	return c.results
}

// Worst is the gravest state among the results; OK when there are none.
func Worst(results []Result) State {
	order := []State{Failed, Unknown, Warning, OK}
	if len(results) == 0 {
		return OK
	}
	return slices.MinFunc(results, func(a, b Result) int {
		return cmp.Compare(slices.Index(order, a.State), slices.Index(order, b.State))
	}).State
}

type checker struct {
	in      *Input
	results []Result
}

func (c *checker) add(check, subject string, s State, text words.Message, step ...words.Message) {
	r := Result{Check: check, Subject: subject, State: s, Text: text}
	if len(step) > 0 {
		r.Step = step[0]
	}
	c.results = append(c.results, r)
}

// fine adds one OK result, unless the check has added a result since index from.
func (c *checker) fine(from int, check, subject string, text words.Message) {
	if len(c.results) == from {
		c.add(check, subject, OK, text)
	}
}
