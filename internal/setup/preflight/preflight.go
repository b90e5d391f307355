// SPDX-License-Identifier: Apache-2.0

// Package preflight judges an installation. Its input is the objects that `kubectl scylla check`
// has read, its output one result per checked subject. It is pure: no client, no clock, no logger.
// It does not judge whether nodes are UP; package cluster does.
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

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// State of one result.
type State string

// The states, most severe first.
const (
	Failed  State = "failed"  // something does not work, or a join is not guarded
	Unknown State = "unknown" // the check was not possible
	Warning State = "warning" // works now, and is likely to fail later
	OK      State = "ok"
)

// Result is the result for one subject.
type Result struct {
	// Check is the name of the check, Subject the checked object ("statefulset demo/db-a"); empty
	// for the whole installation.
	Check   string
	Subject string
	State   State
	// Text is the finding, Step the next step, zero if there is none.
	Text words.Message
	Step words.Message
}

// Access is one permission of a subject.
type Access struct {
	// Who is "you", "the controller", or a ServiceAccount as "namespace/name"; For is the plugin
	// command that needs the permission.
	Who, For string
	// `Right` is "patch pods"; Namespace is its namespace, empty for all.
	Right, Namespace string
	Allowed          bool
	// Err is the error of the check.
	Err string
}

// Kind is one of our CRDs, or the CRD shared with the Scylla Operator.
type Kind struct {
	Name string
	// Served are the served versions; none if the CRD is not installed.
	Served []string
	// Err is the error of the check.
	Err string
}

// Input holds the objects and answers that were read.
type Input struct {
	// Pre is true before an installation: objects that install creates are then not reported as
	// missing.
	Pre bool
	// AnyVersion accepts a ScyllaDB whose disk cannot be queried.
	AnyVersion bool
	// Version of the plugin; Installed is the version in the namespace's annotation, empty if there
	// is none.
	Version, Installed string
	// KubernetesMinor is 36 for 1.36, zero if unknown.
	KubernetesMinor int
	Kinds           []Kind
	Access          []Access
	// Aggregated is the ClusterRole of an earlier version of ours that aggregates into the Scylla
	// Operator's scyllacluster-member; empty if there is none. AggregatedErr is its read error.
	Aggregated, AggregatedErr string
	// Admission is the state of each entry of Policies.
	Admission []Admission
	// Denials are dry runs of a member's write to another member's Pod.
	Denials []Denial
	// Controller is nil if there is none, ControllerErr its read error. Lease is the leader's
	// Lease.
	Controller    *appsv1.Deployment
	ControllerErr string
	Lease         *coordinationv1.Lease
	// Namespaces that the controller manages; none means all.
	Namespaces []string
	// Now is the local time, Skew the local clock minus the API server's; SkewKnown is false if the
	// server sent no time.
	Now       time.Time
	Skew      time.Duration
	SkewKnown bool

	Services []corev1.Service
	// Slices are the EndpointSlices of Services, the source of the DNS server; SlicesErr is their
	// read error.
	Slices    []discoveryv1.EndpointSlice
	SlicesErr string
	// Pods of ScyllaDB only, without other Pods that have the cluster's label.
	Pods         []corev1.Pod
	StatefulSets []appsv1.StatefulSet
	PDBs         []policyv1.PodDisruptionBudget
	// PDBErr is the read error of the disruption budgets.
	PDBErr string
	// Zones are the zone labels of the Pods' Kubernetes nodes, by name; an unknown one is
	// absent.
	Zones map[string]string
	// Operator is about the Scylla Operator's clusters.
	Operator Operator
	// Reports of the clusters that could be read.
	Reports []api.ScyllaDBStatusReport
	// Reach has by "namespace/name" of a Pod the error of its reporter; empty if the reporter
	// responded, no entry if it was not queried.
	Reach map[string]string
}

// Check runs all checks and returns their results, grouped by check in a fixed order.
func Check(in *Input) []Result {
	c := &checker{in: in}
	c.kubernetes()
	if in.Ours() {
		c.kinds()
	}
	c.rights()
	c.clock()
	if in.Pre {
		c.queries()
	}
	if !in.Pre {
		c.aggregation()
	}
	if !in.Pre && in.Ours() {
		c.policy()
		c.denials()
		c.controller()
		c.unmanaged()
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
	if !in.Pre {
		c.adoption()
		c.operator()
	}
	c.scylla()
	c.racks()
	c.images()
	c.services()
	c.names()
	c.forced()
	c.reporters()
	c.credentials()
	return c.results
}

// Worst returns the most severe state of the results; OK if there are none.
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
