// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// config holds the values of ScyllaDB's own configuration, if its ConfigMaps are in the same files.
type config struct{ cluster, dc, rack, api, authenticator string }

// configOf reads the ConfigMaps that the StatefulSet mounts. A file that cannot be parsed is
// skipped: a missing value is refused later.
func configOf(set *appsv1.StatefulSet, beside []*unstructured.Unstructured) config {
	var c config
	for _, u := range beside {
		if u.GetKind() != "ConfigMap" || u.GetNamespace() != set.Namespace ||
			!mounts(&set.Spec.Template.Spec, u.GetName()) {
			continue
		}
		data, _, _ := unstructured.NestedStringMap(u.Object, "data")
		for name, text := range data {
			switch {
			case strings.HasSuffix(name, "rackdc.properties"):
				c.dc, c.rack = property(text, "dc"), property(text, "rack")
			case name == "scylla.yaml":
				var y struct {
					ClusterName   string `json:"cluster_name"`
					APIAddress    string `json:"api_address"`
					Authenticator string `json:"authenticator"`
				}
				if yaml.Unmarshal([]byte(text), &y) == nil {
					c.cluster, c.api, c.authenticator = y.ClusterName, y.APIAddress, y.Authenticator
				}
			}
		}
	}
	return c
}

func mounts(spec *corev1.PodSpec, configMap string) bool {
	for i := range spec.Volumes {
		v := &spec.Volumes[i]
		if v.ConfigMap != nil && v.ConfigMap.Name == configMap {
			return true
		}
		if v.Projected == nil {
			continue
		}
		for j := range v.Projected.Sources {
			if m := v.Projected.Sources[j].ConfigMap; m != nil && m.Name == configMap {
				return true
			}
		}
	}
	return false
}

// property returns the value of "key = value" in a Java properties file.
func property(text, key string) string {
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(line, "="); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
