// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Operator is what guards joins in the Scylla Operator's clusters.
type Operator struct {
	Clusters []*cluster.Cluster
	// Err is why a cluster could not be read.
	Err string
	// Namesakes are its objects with the namespace and name of a cluster, if it can adopt a
	// StatefulSet of ours there.
	Namesakes map[cluster.Key]string
	// Member is true if `install --operator-member` gave an account there our permissions.
	Member bool
	// Remotes are the ServiceAccounts ("namespace/name") that `remote add` created there.
	Remotes []string
}

// Ours is false if all StatefulSets are the Scylla Operator's and its Pods have no agent of ours:
// then nothing of our installation guards a join.
func (in *Input) Ours() bool {
	return in.Pre || in.Operator.Member ||
		!slices.ContainsFunc(in.StatefulSets, func(s appsv1.StatefulSet) bool { return operators(&s) }) ||
		slices.ContainsFunc(in.StatefulSets, func(s appsv1.StatefulSet) bool { return guardable(&s) })
}

// operator checks the parts that guard a join in the Scylla Operator's clusters.
func (c *checker) operator() {
	if c.in.Operator.Err != "" {
		c.add("operator", "", Unknown, words.New(words.CannotTell, "why", c.in.Operator.Err))
	}
	for i := range c.in.StatefulSets {
		if s := &c.in.StatefulSets[i]; operators(s) && container(s) != nil {
			c.operatorGate(s)
		}
	}
	for _, s := range c.in.Operator.Clusters {
		c.operatorOf(s)
	}
	for _, account := range c.in.Operator.Remotes {
		c.add("remote", "serviceaccount "+account, Warning, words.New(words.RemoteAccount),
			words.New(words.StepRemoveRemote).Do(words.Scylla("", "remote", "list")))
	}
}

// adoption checks that the operator selects no StatefulSet of ours.
func (c *checker) adoption() {
	for i := range c.in.StatefulSets {
		s := &c.in.StatefulSets[i]
		name := api.ClusterOf(s.Labels)
		owner, may := cluster.Selected(s, name)
		if !may || api.OwnCluster(name) == name {
			continue
		}
		relabel := words.New(words.StepRelabel).Do(words.Kubectl(s.Namespace, "label", "statefulset", s.Name,
			api.LabelCluster+"="+api.OwnCluster(name), "--overwrite"))
		there := c.in.Operator.Namesakes[cluster.Key{Namespace: s.Namespace, Name: name}]
		switch {
		case owner != "":
			c.add("adoption", subject(s), Failed, words.New(words.AdoptedSet, "owner", owner), relabel)
		case there != "":
			c.add("adoption", subject(s), Failed, words.New(words.AdoptableNow, "owner", there), relabel)
		default:
			c.add("adoption", subject(s), Warning, words.New(words.AdoptableLater, "cluster", name), relabel)
		}
	}
}

// operatorGate checks the init container of the operator's barrier, in the Pod template and in the
// Pods.
func (c *checker) operatorGate(s *appsv1.StatefulSet) {
	if !cluster.HasBarrier(&s.Spec.Template.Spec) {
		c.add("gates", subject(s), Failed, words.New(words.OperatorGateMissing, "gate", api.ContainerBarrier),
			words.New(words.StepFeatureGate))
		return
	}
	from := len(c.results)
	for i := range c.in.Pods {
		p := &c.in.Pods[i]
		if o := metav1.GetControllerOf(p); o != nil && o.Name == s.Name && p.Namespace == s.Namespace &&
			!cluster.HasBarrier(&p.Spec) {
			c.add("gates", "pod "+p.Namespace+"/"+p.Name, Failed,
				words.New(words.PodGateMissing, "gate", api.ContainerBarrier),
				words.New(words.StepOperatorRolls).Do(
					words.Kubectl(s.Namespace, "rollout", "status", "statefulset/"+s.Name)))
		}
	}
	c.fine(from, "gates", subject(s), words.New(words.OperatorGateThere))
}

// operatorOf checks the operator itself: Deployment, Lease, its conditions about the cluster, and
// what else it or we would do there.
func (c *checker) operatorOf(s *cluster.Cluster) {
	from, subject, h := len(c.results), "cluster "+s.Key.String(), bootstrap.HealthOf(s)
	diagnosis.From(s, h, diagnosis.Known{}) // gives the blockers their steps
	for _, b := range h.Blockers {
		switch b.Reason {
		case words.ControllerSilent, words.OperatorDegraded, words.ReportMissing:
			c.add("operator", subject, Failed, words.New(b.Reason, "why", b.Cause), b.Step)
		}
	}
	if from == len(c.results) && !s.OperatorLeads() {
		c.add("operator", subject, Unknown, words.New(words.OperatorNotSeen), words.New(words.StepAskRights))
	}
	c.fine(from, "operator", subject, words.New(words.OperatorRuns))
	switch o := s.OperatorState; {
	case o == nil || o.ReplacesOrphans == nil: // not read, which a note says
	case !*o.ReplacesOrphans:
		c.add("replace", subject, OK, words.New(words.OperatorKeepsOrphans), words.Message{})
	default:
		c.add("replace", subject, Warning, words.New(words.OperatorReplacesOrphans), words.New(words.StepKeepOrphans))
	}
	for i := range s.Reports {
		if r := &s.Reports[i]; r.Labels[api.LabelManagedBy] == api.ManagedByUs {
			c.add("remote", "report "+r.Namespace+"/"+r.Name, Warning, words.New(words.RemoteReport),
				words.New(words.StepRemoveRemote).Do(words.Scylla("", "remote", "list")))
		}
	}
}
