// SPDX-License-Identifier: Apache-2.0

package support

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// Merge returns what several files have, such as the must-gather of each datacenter. A cluster that
// several files have is one cluster of plain saved objects. The error names an object that differs.
func Merge(all []*Saved, names []string) (*Saved, error) {
	out, from := &Saved{Logs: map[string][]byte{}}, map[cluster.Key]string{}
	for i, s := range all {
		if s.TakenAt.After(out.TakenAt) {
			out.TakenAt = s.TakenAt
		}
		maps.Copy(out.Logs, s.Logs)
		for _, c := range s.Clusters {
			key := c.Snapshot.Key
			k := slices.IndexFunc(out.Clusters, func(x *Cluster) bool { return x.Snapshot.Key == key })
			if k < 0 {
				from[key] = names[i]
				out.Clusters = append(out.Clusters, c)
				continue
			}
			objects, err := out.Clusters[k].Snapshot.Merge(&c.Snapshot.Objects)
			if err != nil {
				return nil, fmt.Errorf("merge %s and %s: %w", from[key], names[i], err)
			}
			out.Clusters[k] = &Cluster{Snapshot: cluster.New(objects, cluster.SourceAuto, objects.SavedAt),
				Requested: cluster.SourceAuto}
		}
	}
	slices.SortFunc(out.Clusters, func(a, b *Cluster) int {
		x, y := a.Snapshot.Key, b.Snapshot.Key
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
	})
	return out, nil
}
