// SPDX-License-Identifier: Apache-2.0

// Package examples adapts docs/examples/scylladb.yaml, which is for the real ScyllaDB, for the demo and the end-to-end tests, so that they test the manifest that users copy.
// Its tests check both.
package examples

import (
	"errors"
	"fmt"
	"strings"
)

// difference is a text of scylladb.yaml that has another in the demo.
type difference struct {
	// times is how often the text is there; 0 means any number but none.
	times    int
	from, to string
}

// racks is how many StatefulSets the manifest has.
const racks = 3

// ShippedProbe is the readiness probe of ScyllaDB's container in scylladb.yaml.
const ShippedProbe = "{exec: {command: [/usr/bin/nodetool, info]}, periodSeconds: 10, timeoutSeconds: 10, failureThreshold: 2}"

// demoDifferences are made in this order.
var demoDifferences = []difference{
	{0, "orders", "demo"},
	{0, "docker.io/scylladb/scylla:", "localhost/scylla:"},

	// The Kubernetes nodes of package test/cluster.
	{1, "topology.kubernetes.io/zone: zone-a", "topology.kubernetes.io/zone: rack1"},
	{1, "topology.kubernetes.io/zone: zone-b", "topology.kubernetes.io/zone: rack2"},
	{1, "topology.kubernetes.io/zone: zone-c", "topology.kubernetes.io/zone: rack3"},
	{racks, "storageClassName: scylladb-local-xfs # a local disk with XFS\n", "storageClassName: local\n"},
	{racks, "requests: {storage: 1Ti}", "requests: {storage: 1Gi}"},
	// Each run of nodetool starts two processes: too many for a small machine that runs many Pods.
	{racks, "          # A ScyllaDB that hangs still accepts connections: ask for an answer.\n", ""},
	{racks, "readinessProbe: " + ShippedProbe, "readinessProbe: {tcpSocket: {port: 9042}, periodSeconds: 2}"},
	{racks, "{requests: {cpu: 4, memory: 32Gi}, limits: {cpu: 4, memory: 32Gi}}", "{requests: {cpu: 20m, memory: 64Mi}, limits: {memory: 512Mi}}"},

	// The simulated ScyllaDB needs no root.
	{racks, "            # The setup scripts of ScyllaDB's image ask for root; the Scylla Operator runs it so too. Its capabilities are the ones that they use.\n", ""},
	{racks, "            runAsUser: 0\n            runAsGroup: 0\n", "            runAsUser: 999\n            runAsGroup: 999\n"},
	{racks, "capabilities: {drop: [ALL], add: [CHOWN, DAC_OVERRIDE, FOWNER, SETGID, SETUID, SYS_NICE]}", "capabilities: {drop: [ALL]}"},

	// A quick story.
	{racks, "terminationGracePeriodSeconds: 900 # a clean stop writes all memtables to the disk\n", "terminationGracePeriodSeconds: 60\n"},
	{racks, "            - {name: HOME, value: /tmp}", "            - {name: SCYLLASIM_SPEED, value: \"4\"} # the simulated ScyllaDB's clock, four times as fast\n            - {name: HOME, value: /tmp}"},
}

// Demo returns the demo's manifest made of scylladb.yaml; the guards are not in it. The error names a difference that does not fit any more.
func Demo(scylladb string) (string, error) {
	_, text, found := strings.Cut(scylladb, "\napiVersion: ")
	if !found {
		return "", errors.New("make the demo's manifest: no line begins with apiVersion: give the text of scylladb.yaml")
	}
	text = "apiVersion: " + text
	for _, d := range demoDifferences {
		n := strings.Count(text, d.from)
		if n == 0 || d.times > 0 && n != d.times {
			return "", fmt.Errorf("make the demo's manifest: %q is there %d times, want %d: mend demoDifferences", d.from, n, max(d.times, 1))
		}
		text = strings.ReplaceAll(text, d.from, d.to)
	}
	return text, nil
}
