// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

func TestNewClientTouchesNoNetwork(t *testing.T) {
	t.Parallel()
	c, err := NewClient(&rest.Config{Host: "https://192.0.2.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []runtimeKind{
		{"", "v1", "Service", "services"}, {"apps", "v1", "StatefulSet", "statefulsets"}, {"events.k8s.io", "v1", "Event", "events"},
		{"scylla.scylladb.com", "v1alpha1", "ScyllaDBDatacenterNodesStatusReport", "scylladbdatacenternodesstatusreports"},
		{"scylla.scylladb.com", "v1", "ScyllaCluster", "scyllaclusters"}, {"policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets"},
	} {
		m, err := c.RESTMapper().RESTMapping(o.gvk().GroupKind(), o.version)
		if err != nil || m.Resource.Resource != o.resource {
			t.Errorf("%s: %v, %v", o.kind, m, err)
		}
	}
	if _, err := NewClient(&rest.Config{Host: "::"}); err == nil || !strings.HasPrefix(err.Error(), "create client for ::") {
		t.Errorf("err = %v", err)
	}
}

type runtimeKind struct{ group, version, kind, resource string }

func (k runtimeKind) gvk() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: k.group, Version: k.version, Kind: k.kind}
}
