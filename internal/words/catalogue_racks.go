// SPDX-License-Identifier: Apache-2.0

package words

// rackWords are about racks that fail together.
var (
	RacksApart     = define("RacksApart", "no two racks are on one Kubernetes node")
	RacksOnOneNode = ofCheck("RacksOnOneNode",
		"Kubernetes node {kubernetesNode} runs members of racks {racks&}: if it fails, more than one replica of the same data is DOWN", StepApart)
	RacksInOneZone = ofCheck("RacksInOneZone",
		"racks {racks&} are in zone {zone}, although the datacenter has several zones: if it fails, more than one replica of the same data is DOWN", StepZones)
	RackInZones = ofCheck("RackInZones",
		"rack {rack} has members in zones {zones&}: ScyllaDB places replicas by rack, and the failure of one zone stops only a part of this rack",
		StepZones)
	StepApart = define("StepApart",
		"add a podAntiAffinity for all members of the datacenter to the template of each rack")
	StepZones = define("StepZones",
		"give each rack one zone of its own: a node affinity for label topology.kubernetes.io/zone in its template. A member stays in the zone of its volume")
)
