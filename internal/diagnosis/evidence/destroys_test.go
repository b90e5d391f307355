// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"strings"
	"testing"
)

// TestNoHarm46EveryVerbThatDestroys: `kubectl delete node` and `delete pod --force` were printed from old files, because only the deletion of a PVC counted.
func TestNoHarm46EveryVerbThatDestroys(t *testing.T) {
	const host = "internal.scylla-operator.scylladb.com/replacing-node-hostid"
	const id = "internal.scylla-operator.scylladb.com/host-id"
	for command, want := range map[string]bool{
		"": false, "kubectl": false, "delete pvc a": false,
		"kubectl delete pvc a -n demo":                                              true,
		"kubectl delete node k1":                                                    true,
		"kubectl delete pod a --force --grace-period=0 -n demo":                     true,
		"kubectl delete pod a -n demo":                                              false,
		"kubectl delete pvc pod":                                                    true,
		"kubectl --context=c delete pv a":                                           true,
		"kubectl -n demo delete statefulset a --cascade=orphan":                     true,
		"kubectl delete service a":                                                  true,
		"kubectl drain k1 --ignore-daemonsets":                                      true,
		"kubectl uncordon k1":                                                       false,
		"kubectl get pod drain":                                                     true, // a false alarm only hides a step of old files
		"kubectl describe node k1":                                                  false,
		"kubectl label service a scylla/replace= -n demo":                           true,
		"kubectl label --overwrite service a scylla/replace=10.0.0.1":               true,
		"kubectl label service a scylla/replace- -n demo":                           false,
		"kubectl label service a " + host + "-":                                     true,
		"kubectl label service a scylla/node-maintenance-":                          false,
		"kubectl annotate service a internal.scylla-operator.scylladb.com/host-id-": true,
		"kubectl annotate service a " + id + "- -n demo --resource-version=7":       true,
		"kubectl annotate pod a kubectl-scylla.scylladb.com/other-":                 false,
		"kubectl exec a -n demo -c scylla -- nodetool removenode ID":                true,
		"kubectl exec a -n demo -c scylla -- nodetool removenode status":            false,
		"kubectl exec a -n demo -c scylla -- nodetool decommission":                 true,
		"kubectl scylla nodetool rack1/0 -- decommission":                           true,
		"kubectl scylla nodetool rack1/0 -n demo -- status":                         false,
		"kubectl scylla replace HOSTID -n demo":                                     true,
		"kubectl scylla replace resume a --ignore-dead ID":                          true,
		"kubectl scylla replace status a":                                           false,
		"kubectl scylla replace cancel a":                                           false,
		"kubectl scylla force-proceed a":                                            true,
		"kubectl scylla force-bootstrap a":                                          true,
		"kubectl scylla force-proceed a --undo":                                     false,
		"kubectl scylla init reset demo":                                            true,
		"kubectl scylla uninstall":                                                  true,
		"kubectl scylla remote remove east":                                         true,
		"kubectl scylla remote add east demo":                                       false,
		"kubectl scylla --context=c status demo":                                    false,
	} {
		if got := Destroys(strings.Fields(command)); got != want {
			t.Errorf("%q: %v", command, got)
		}
	}
}
