// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// queries warns before an injection whose disk cannot be queried.
func (c *checker) queries() {
	for i := range c.in.StatefulSets {
		s := &c.in.StatefulSets[i]
		if operators(s) || container(s) == nil {
			continue
		}
		if v, _, err := release.Effective("", container(s).Image); err == nil &&
			v.SupportsBootstrapSynchronisation() == release.No {
			state := Failed
			if c.in.AnyVersion {
				state = Warning
			}
			c.add("scylladb", subject(s), state, words.New(words.ScyllaVersionNoQuery, "version", v.String()),
				words.New(words.StepAllowVersion))
		}
	}
}

// scylla checks the versions of each cluster's nodes, from their rows, else from their images.
func (c *checker) scylla() {
	found := map[cluster.Key]map[string]release.Version{}
	unknown := map[cluster.Key]bool{}
	for i := range c.in.Pods {
		p := &c.in.Pods[i]
		key := cluster.Key{Namespace: p.Namespace, Name: api.ClusterOf(p.Labels)}
		container := cluster.ScyllaDBContainer(&p.Spec)
		if key.Name == "" || container == nil {
			continue
		}
		running := ""
		if said, err := api.DecodeNodeStatusReport(p.Annotations[api.AnnotationNodeStatusReport]); err == nil &&
			said != nil {
			running = said.ScyllaVersion
		}
		v, _, err := release.Effective(running, container.Image)
		if err != nil {
			unknown[key] = true
			c.add("scylladb", "pod "+p.Namespace+"/"+p.Name, Warning,
				words.New(words.ScyllaVersionUnknown, "why", err.Error()), words.New(words.StepNameVersion))
			continue
		}
		if found[key] == nil {
			found[key] = map[string]release.Version{}
		}
		// without the build, which images lack
		name := fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
		if v.Pre != "" {
			name += "-" + v.Pre
		}
		found[key][name] = v
	}
	for _, key := range slices.SortedFunc(maps.Keys(found), func(a, b cluster.Key) int {
		return slices.Compare([]string{a.Namespace, a.Name}, []string{b.Namespace, b.Name})
	}) {
		subject, versions := "cluster "+key.String(), slices.Sorted(maps.Keys(found[key]))
		from := len(c.results)
		if len(versions) > 1 {
			c.add("scylladb", subject, Warning, words.New(words.ScyllaVersionsDiffer, "versions", versions),
				words.New(words.StepEndUpgrade).Do(
					words.Scylla(key.Namespace, "check", "--for=upgrade")))
		}
		for _, v := range versions {
			if found[key][v].SupportsReplaceByHostID() == release.No {
				c.add("scylladb", subject, Warning, words.New(words.ScyllaVersionOld, "version", v),
					words.New(words.StepNewerScylla))
			}
		}
		if !unknown[key] {
			c.fine(from, "scylladb", subject, words.New(words.ScyllaVersionOf, "version", versions[0]))
		}
	}
}
