// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// OperatorState is the visible state of the Scylla Operator that manages a cluster. Objects that
// were not read, for lack of permission for example, are absent and prove nothing.
type OperatorState struct {
	// Conditions of the cluster's ScyllaDBDatacenter.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// ExternalSeeds are the external seeds of the ScyllaDBDatacenter, even before a Pod's command
	// line has them. ScyllaDBCluster is the cluster of that datacenter, empty if there is none.
	ExternalSeeds   []string `json:"externalSeeds,omitempty"`
	ScyllaDBCluster string   `json:"scyllaDBCluster,omitempty"`
	// ReplacesOrphans is true if the operator replaces a node by itself when the Kubernetes node of
	// its volume is gone; nil if the ScyllaDBDatacenter was not read.
	ReplacesOrphans *bool `json:"replacesOrphans,omitempty"`
	// Deployment is "namespace/name" of the operator's Deployment, empty if not found. Replicas is
	// how many Pods it wants, Available how many are available.
	Deployment string `json:"deployment,omitempty"`
	Replicas   int32  `json:"replicas,omitempty"`
	Available  int32  `json:"available,omitempty"`
	// Budgets are the cluster's disruption budgets that allow no eviction now, not even of a Pod
	// that is not Ready.
	Budgets []string `json:"budgets,omitempty"`
	// Namesakes are the operator's objects with the cluster's namespace and name, as "ScyllaCluster
	// demo". They are read if the operator could adopt objects of ours.
	Namesakes []string `json:"namesakes,omitempty"`
	// Lease is the operator's leader election.
	Lease *coordinationv1.Lease `json:"lease,omitempty"`
}

// OperatorOff returns why the Scylla Operator does not run and since when, if visible. Zero if it
// manages nothing here, runs, or its state is not readable.
func (c *Cluster) OperatorOff() (why words.Message, since time.Time) {
	s := c.OperatorState
	switch {
	case !c.Operator || s == nil:
		return words.Message{}, time.Time{}
	case s.Deployment != "" && s.Replicas == 0:
		return words.New(words.OperatorScaledDown, "deployment", s.Deployment), time.Time{}
	case s.Deployment != "" && s.Available == 0:
		return words.New(words.OperatorNotAvailable, "deployment", s.Deployment, "replicas", s.Replicas), time.Time{}
	case s.Lease == nil || c.TakenAt.IsZero():
		return words.Message{}, time.Time{}
	}
	l := LeaseAt(s.Lease, c.TakenAt)
	if !l.Silent {
		return words.Message{}, time.Time{}
	}
	return words.New(words.OperatorLeaseSilent, "lease", s.Lease.Namespace+"/"+s.Lease.Name, "holder", l.Holder),
		l.Since
}

// OperatorLeads reports whether the Scylla Operator runs: its Lease is held and renewed, and its
// Deployment, if it was read, has an available Pod.
func (c *Cluster) OperatorLeads() bool {
	if why, _ := c.OperatorOff(); !why.IsZero() || c.OperatorState == nil || c.TakenAt.IsZero() {
		return false
	}
	l := LeaseAt(c.OperatorState.Lease, c.TakenAt)
	return !l.Silent && l.Holder != ""
}

// ConditionWords returns the text of the operator's progressing and degraded conditions about
// Services and StatefulSets that are true. Reason "AsExpected", the operator's default, is left
// out.
func ConditionWords(conditions []metav1.Condition) []string {
	var out []string
	for _, c := range conditions {
		if c.Status != metav1.ConditionTrue ||
			!strings.HasPrefix(c.Type, "ServiceController") && !strings.HasPrefix(c.Type, "StatefulSetController") {
			continue
		}
		line := c.Type
		for _, terms := range []string{strings.TrimPrefix(c.Reason, asExpected), c.Message} {
			if terms != "" {
				line += ": " + terms
			}
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

// degraded returns the conditions with which the operator reports that it cannot work. The summary
// condition is left out if another one has more detail.
func (c *Cluster) degraded() []metav1.Condition {
	if !c.Operator || c.OperatorState == nil {
		return nil
	}
	var out []metav1.Condition
	for _, cond := range c.OperatorState.Conditions {
		if cond.Status == metav1.ConditionTrue && strings.HasSuffix(cond.Type, degradedCondition) {
			out = append(out, cond)
		}
	}
	if len(out) > 1 {
		out = slices.DeleteFunc(out, func(c metav1.Condition) bool { return c.Type == degradedCondition })
	}
	slices.SortStableFunc(out, func(a, b metav1.Condition) int { return cmp.Compare(a.Type, b.Type) })
	return out
}

const degradedCondition = "Degraded"

// operatorBlockers returns the operator's own problems. While it is off or degraded, its report may
// be out of date.
func (c *Cluster) operatorBlockers() []matrix.Blocker {
	var out []matrix.Blocker
	if why, since := c.OperatorOff(); !why.IsZero() {
		out = append(out, matrix.Blocker{Reason: words.ControllerSilent, Cause: why, Since: since})
	}
	for _, d := range c.degraded() {
		terms := d.Reason
		if d.Message != "" && d.Reason != asExpected {
			terms = d.Reason + ": " + FirstLine(d.Message)
		}
		out = append(out, matrix.Blocker{
			Reason: words.OperatorDegraded, Detail: d.Type, Since: d.LastTransitionTime.Time,
			Cause: words.New(words.OperatorSaysDegraded, "condition", d.Type, "words",
				strings.TrimPrefix(terms, asExpected)),
		})
	}
	return out
}

// asExpected is the reason of the operator's conditions without a finding.
const asExpected = "AsExpected"
