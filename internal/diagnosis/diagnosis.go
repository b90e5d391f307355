// SPDX-License-Identifier: Apache-2.0

// Package diagnosis finds the few causes behind a cluster's many blockers: a network partition, a
// rack, a Kubernetes node, a node, a link. It is the only source of the first line of every output.
// It is pure: a Cluster goes in, findings come out as codes with parameters.
package diagnosis

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Level is the size of a finding's scope.
type Level string

const (
	LevelCluster        Level = "cluster"
	LevelDatacenter     Level = "datacenter"
	LevelRack           Level = "rack"
	LevelKubernetesNode Level = "kubernetesNode"
	LevelNode           Level = "node"
	LevelLink           Level = "link"
)

// Scope is the part of the cluster that a finding is about.
type Scope struct {
	Level          Level  `json:"level"`
	Datacenter     string `json:"datacenter,omitempty"`
	Rack           string `json:"rack,omitempty"`
	KubernetesNode string `json:"kubernetesNode,omitempty"`
	// Nodes are the affected nodes; empty for a network partition, which affects all nodes.
	Nodes []matrix.Ref `json:"nodes"`
}

// Finding is one cause.
type Finding struct {
	Kind  Kind
	Scope Scope
	// Message is the cause in one sentence, Evidence the numbers behind it, Step the next step.
	Message, Evidence, Step words.Message
	// Since is when the first of its blockers began; zero if unknown.
	Since time.Time
	// Blockers that it explains, by their indexes in Health.Blockers.
	Blockers []int
	// Remark is true for a finding that does not block new nodes: a cluster with remarks only is
	// healthy.
	Remark bool
}

// Known is the result of package replace in addition to the Cluster.
type Known struct {
	// Failed are the failed replacements, by replaced host ID, with the reason.
	Failed map[hostid.ID]words.Message
	// Newcomers maps the host IDs of nodes that replace others to the replaced host IDs.
	Newcomers map[hostid.ID]hostid.ID
	// Steps are the exact next steps of nodes: how to continue a failed replacement, how to remove
	// a host ID that no member has.
	Steps map[hostid.ID]words.Message
}

// Of returns the findings, the most severe first. Exactly a healthy cluster has none except
// remarks, and one of them explains every blocker.
func Of(c *cluster.Cluster) []Finding { return From(c, bootstrap.HealthOf(c), Known{}) }

// From is Of with known facts in addition to the Cluster. h is the Cluster's own health. It gives
// the blockers of h their steps: the step of the finding that explains them, so that one cause has
// one step.
func From(c *cluster.Cluster, h bootstrap.Health, known Known) []Finding {
	s := newScene(c, h, known)
	s.asker.steps(h.Blockers)
	if !h.Healthy {
		s.unasked()
		s.assign()
	}
	s.remarks()
	out := make([]Finding, 0, len(s.findings))
	for _, f := range s.findings {
		if MayReplace(f.Step) && f.Kind != NodeDown && f.Kind != KubernetesNodeDown && f.Kind != ReplacementOpen &&
			f.Kind != ReplacementFailed {
			f.Step = s.do(words.AskNodes, nil)
		}
		f.Step = replace.Allowed(c, f.Step)
		slices.Sort(f.Blockers)
		f.Blockers = slices.Compact(f.Blockers)
		out = append(out, *f)
	}
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(matrix.FalseFirst(a.Remark, b.Remark), cmp.Compare(a.Kind.rank(), b.Kind.rank()),
			cmp.Compare(len(b.Scope.Nodes), len(a.Scope.Nodes)))
	})
	given := make([]bool, len(h.Blockers))
	for i := range out {
		for _, k := range out[i].Blockers {
			if b := &h.Blockers[k]; !given[k] && !out[i].Step.IsZero() && b.Step.Code != out[i].Step.Code {
				b.Step = out[i].Step
			}
			given[k] = true
		}
	}
	return out
}

// do returns a step of a finding, with its commands. params are the parameters of its sentence,
// names and values in turn.
func (s *scene) do(step words.Code, f evidence.Facts, params ...any) words.Message {
	all := s.asker.factsOf("")
	maps.Copy(all, f)
	return evidence.Do(words.New(step, params...), all)
}
