// SPDX-License-Identifier: Apache-2.0

// Package scope computes the place of our controller's objects in a ScyllaDB cluster, and their
// names. It reads labels; it must not use a client.
package scope

import (
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Place is the cluster, datacenter and rack of an object.
type Place struct {
	Namespace, Cluster, Datacenter, Rack string
}

// PlaceOf reads the place from labels. The error names the first missing label.
func PlaceOf(obj metav1.Object) (Place, error) {
	l := obj.GetLabels()
	for _, k := range []string{api.LabelCluster, api.LabelDatacenter, api.LabelRack} {
		if l[k] == "" {
			return Place{}, fmt.Errorf("label %s is missing: set it to assign %s/%s to a cluster, datacenter and rack",
				k, obj.GetNamespace(), obj.GetName())
		}
	}
	return Place{Namespace: obj.GetNamespace(), Cluster: api.ClusterOf(l), Datacenter: l[api.LabelDatacenter],
		Rack: l[api.LabelRack]}, nil
}

// Ordinal returns the number at the end of a member's name, given the name of its StatefulSet.
func Ordinal(member, statefulSet string) (int32, bool) {
	text, ok := strings.CutPrefix(member, statefulSet+"-")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != text {
		return 0, false
	}
	return int32(n), true
}

// StatefulSetOf returns the name of a member's StatefulSet; no two StatefulSets have members with
// the same name.
func StatefulSetOf(member string) (string, bool) {
	dash := strings.LastIndexByte(member, '-')
	if dash <= 0 {
		return "", false
	}
	if _, ok := Ordinal(member, member[:dash]); !ok {
		return "", false
	}
	return member[:dash], true
}
