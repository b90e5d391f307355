// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// StorageClass is what decides whether its volumes can be enlarged.
type StorageClass struct {
	// Expands is allowVolumeExpansion. Local is true without a provisioner, as for local volumes.
	Expands bool `json:"expands,omitempty"`
	Local   bool `json:"local,omitempty"`
}

// NoProvisioner is the provisioner of a StorageClass for volumes that people create.
const NoProvisioner = "kubernetes.io/no-provisioner"

// FullAt returns the latest time at which the member's volume is known to have been full: the last
// end of a ScyllaDB whose log shows it, or what its reporter has had time to measure. Zero if
// unknown.
func (m *Member) FullAt() time.Time {
	var at time.Time
	if exit := m.LastExit(); exit != nil && m.objects().Logged[m.Ref.Member].Code == words.DiskNoSpace {
		at = exit.FinishedAt.Time
	}
	percent, known := m.DiskUsed()
	if m.c == nil || !known || percent < DiskFull || m.RowFrozen() && m.DiskUsedBy() == "" {
		return at
	}
	if measured := m.c.TakenAt.Add(-LimitReread); measured.After(at) {
		at = measured
	}
	return at
}

// Growth is whether the member's volume can be enlarged.
type Growth struct {
	Claim, Class string
	// Size is the requested size, Capacity the present one; zero if unknown. Capacity < Size while
	// the volume is being enlarged.
	Size, Capacity resource.Quantity
	// Grown is when the capacity was last written; zero if unknown.
	Grown time.Time
	// Read is true if the StorageClass was read.
	Read bool
	StorageClass
}

// Growth returns what the PVC and its StorageClass show; without a Claim if the PVC is unknown.
func (m *Member) Growth() (g Growth) {
	if m.PVC == nil {
		return g
	}
	g.Claim, g.Size, g.Capacity = m.PVC.Name, *m.PVC.Spec.Resources.Requests.Storage(),
		*m.PVC.Status.Capacity.Storage()
	g.Grown = writtenAt(m.PVC.ManagedFields, "f:capacity")
	if name := m.PVC.Spec.StorageClassName; name != nil {
		g.Class = *name
		g.StorageClass, g.Read = m.objects().Classes[g.Class]
	}
	return g
}

// Growing reports whether the volume is being enlarged.
func (g *Growth) Growing() bool { return !g.Capacity.IsZero() && g.Capacity.Cmp(g.Size) < 0 }

// Larger returns one and a half times the requested size, in whole GiB.
func (g *Growth) Larger() string {
	const gib = 1 << 30
	return resource.NewQuantity((g.Size.Value()*3/2+gib-1)/gib*gib, resource.BinarySI).String()
}

// ClassesOfFull returns the StorageClasses of the members whose volume is full, sorted.
func (c *Cluster) ClassesOfFull() []string {
	names := map[string]bool{}
	members := c.Members()
	for i := range members {
		if g := members[i].Growth(); g.Class != "" && !members[i].FullAt().IsZero() {
			names[g.Class] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// WithClasses returns the same Cluster with these StorageClasses.
func (c *Cluster) WithClasses(classes map[string]StorageClass) *Cluster {
	if len(classes) == 0 {
		return c
	}
	other := *c
	other.Classes = classes
	return other.judge(c.want)
}

// Volume returns the used bytes and the size of the member's data volume, false if unknown. The
// size is the capacity in its PVC. What is used is the percentage in its annotation, else the size
// of the node's data.
func (m *Member) Volume() (used, size int64, known bool) {
	if m.PVC == nil {
		return 0, 0, false
	}
	size = m.PVC.Status.Capacity.Storage().Value()
	if m.PVC.Status.Phase != corev1.ClaimBound || size <= 0 {
		return 0, 0, false
	}
	if percent, ok := m.DiskUsed(); ok {
		return size / 100 * int64(percent), size, true
	}
	if m.Vitals.LoadBytes == nil {
		return 0, size, false
	}
	return *m.Vitals.LoadBytes, size, true
}
