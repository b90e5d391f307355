// SPDX-License-Identifier: Apache-2.0

package support

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/version"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// The API version and kind of a manifest.
const (
	APIVersion = "kubectl-scylla/v1"
	Kind       = "ReportArchive"
)

// Manifest describes an archive. It is manifest.json, and the document of `kubectl scylla report
// --archive -o json`.
type Manifest struct {
	metav1.TypeMeta `json:",inline"`
	// CreatedAt is when it was packed, TakenAt when the objects were read. For saved objects
	// TakenAt is the newest time in them, absent if they have none.
	CreatedAt metav1.Time  `json:"createdAt"`
	TakenAt   *metav1.Time `json:"takenAt,omitempty"`
	// CreatedBy is the build that packed it.
	CreatedBy version.Info `json:"createdBy"`
	// Clusters in the archive.
	Clusters []ManifestCluster `json:"clusters"`
	// Files in the order of the archive, except this one.
	Files []ManifestFile `json:"files"`
	// LeftOut lists the parts that were not collected or were too big.
	LeftOut []LeftOut `json:"leftOut,omitempty"`
	// Redacted counts the removed values, by rule.
	Redacted Tally `json:"redacted,omitempty"`
}

// ManifestCluster is one cluster of an archive.
type ManifestCluster struct {
	cluster.Key `json:",inline"`
	// Kubernetes is the API server's version, Context the kubeconfig's context. ScyllaDB counts
	// nodes by version, Images containers by image.
	Kubernetes string         `json:"kubernetes,omitempty"`
	Context    string         `json:"context,omitempty"`
	ScyllaDB   map[string]int `json:"scylladb,omitempty"`
	Images     map[string]int `json:"images,omitempty"`
}

// ManifestFile is one file of an archive.
type ManifestFile struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// GetObjectKind implements runtime.Object for the printers of cli-runtime.
func (m *Manifest) GetObjectKind() schema.ObjectKind { return &m.TypeMeta }

// DeepCopyObject implements runtime.Object. A complete manifest is immutable, so parts are shared.
func (m *Manifest) DeepCopyObject() runtime.Object {
	c := *m
	return &c
}

func manifestCluster(c *Cluster) ManifestCluster {
	m := ManifestCluster{Key: c.Snapshot.Key, Kubernetes: c.Kubernetes, Context: Text(c.Context),
		ScyllaDB: map[string]int{}, Images: map[string]int{}}
	for _, member := range c.Snapshot.Members() {
		if member.Version != "" {
			m.ScyllaDB[member.Version]++
		}
	}
	for i := range c.Snapshot.Pods {
		spec := &c.Snapshot.Pods[i].Spec
		for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
			if container.Image != "" {
				m.Images[Text(container.Image)]++
			}
		}
	}
	return m
}
