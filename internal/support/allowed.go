// SPDX-License-Identifier: Apache-2.0

package support

import (
	"strings"
	"sync"
)

// allowed are the fields of each kind that an archive contains: the fields that the commands read
// or that explain a cluster to a person without access to it. Braces lead into an object, or into
// each item of a list; a field without braces is kept whole. All other fields are dropped, so that
// a new or unexpected field puts no secret into an archive. redactor.metadata handles the metadata.
var allowed = sync.OnceValue(func() map[string]fields {
	const (
		container = `{name image command args ports volumeMounts{name mountPath} restartPolicy resources}`
		podSpec   = `{nodeName hostNetwork serviceAccountName nodeSelector tolerations readinessGates terminationGracePeriodSeconds
			volumes{name persistentVolumeClaim} initContainers` + container + ` containers` + container + `}`
		containerStatus = `{name state lastState ready restartCount image imageID containerID started}`
		claim           = `{metadata spec{volumeName storageClassName volumeMode accessModes resources} status{phase accessModes capacity conditions}}`
		operatorStorage = `storage{capacity storageClassName} resources`
		operatorRack    = `{name members nodes scyllaDB{` + operatorStorage + `} ` + operatorStorage + `}`
		operatorStatus  = `{observedGeneration conditions nodes currentNodes readyNodes updatedNodes availableNodes members readyMembers availableMembers currentVersion
			updatedVersion version stale updating racks datacenters{name remoteNamespaceName conditions nodes currentNodes readyNodes updatedNodes availableNodes}}`
		exposeOptions = `exposeOptions{nodeService{type} broadcastOptions{clients{type} nodes{type}}}`
	)
	all := map[string]fields{}
	for kind, text := range map[string]string{
		"Service": `{spec{type clusterIP clusterIPs ipFamilies ports publishNotReadyAddresses selector} status{loadBalancer}}`,
		"Pod": `{spec` + podSpec + ` status{phase reason message podIP podIPs hostIP startTime conditions
			initContainerStatuses` + containerStatus + ` containerStatuses` + containerStatus + `}}`,
		"StatefulSet": `{spec{replicas serviceName selector ordinals podManagementPolicy updateStrategy template{metadata spec` + podSpec + `} volumeClaimTemplates` + claim + `}
			status{observedGeneration replicas readyReplicas currentReplicas updatedReplicas availableReplicas currentRevision updateRevision}}`,
		"PersistentVolumeClaim": claim,
		"Node": `{spec{taints unschedulable} status{addresses allocatable capacity conditions
			nodeInfo{architecture containerRuntimeVersion kernelVersion kubeletVersion operatingSystem osImage}}}`,
		"Event": `{involvedObject related reason message type count series firstTimestamp lastTimestamp eventTime action source reportingComponent reportingInstance}`,
		"Lease": `{spec{holderIdentity leaseDurationSeconds acquireTime renewTime leaseTransitions}}`,
		// Our own kinds have no field that could contain a secret, except texts.
		"ScyllaDBDatacenterNodesStatusReport": `{datacenterName racks}`,
		"ScyllaDBStatusReport":                `{membership datacenters lastListed status}`,
		"ScyllaCluster": `{spec{version repository agentVersion developerMode externalSeeds forceRedeploymentReason datacenter{name racks` + operatorRack + `} ` + exposeOptions + `}
			status` + operatorStatus + `}`,
		"ScyllaDBDatacenter": `{spec{clusterName datacenterName scyllaDB{image externalSeeds enableDeveloperMode} forceRedeploymentReason
			rackTemplate` + operatorRack + ` racks` + operatorRack + ` ` + exposeOptions + `} status` + operatorStatus + `}`,
		"ScyllaDBCluster": `{spec{clusterName scyllaDB{image externalSeeds enableDeveloperMode} forceRedeploymentReason datacenterTemplate{racks` + operatorRack + `}
			datacenters{name remoteKubernetesClusterName forceRedeploymentReason rackTemplate` + operatorRack + ` racks` + operatorRack + `}} status` + operatorStatus + `}`,
	} {
		all[kind] = parseFields(text)
		for _, name := range []string{"apiVersion", "kind", "metadata"} {
			all[kind][name] = nil
		}
	}
	return all
})

// fields are the fields of an object; nil means all of them.
type fields map[string]fields

// parseFields parses "{name spec{replicas}}".
func parseFields(text string) fields {
	words := strings.Fields(strings.NewReplacer("{", " { ", "}", " } ").Replace(text))
	_, f := parseObject(words[1:])
	return f
}

// parseObject parses up to the closing brace and returns the words after it.
func parseObject(words []string) ([]string, fields) {
	f, last := fields{}, ""
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		switch word {
		case "{":
			words, f[last] = parseObject(words)
		case "}":
			return words, f
		default:
			f[word], last = nil, word
		}
	}
	return nil, f
}

// flags are the flags of ScyllaDB, its launcher, barrier and reporter whose values are kept.
var flags = set(
	`--api-address --broadcast-address --broadcast-rpc-address --cluster-name --data-file-directories --dc
	--developer-mode --external-seeds --feature-gates --health-probe-bind-address --heartbeat
	--heartbeat-bind-address --ignore-dead-nodes-for-replace --lease-namespace --listen-address --memory
	--policy --rack --replace-address-first-boot --replace-node-first-boot --rpc-address --scylla-data-dir
	--scylla-image --scylla-version --seed-provider-parameters --seeds
	--single-report-allow-non-reporting-host-ids --smp --stabilisation --status-report-interval
	--when-controller-silent --workdir`)

// programs are the words, by the last part of their path, that identify what a container runs.
var programs = set("scylla scylla-agent scylla-operator docker-entrypoint.py launch barrier reporter sidecar")

func set(text string) map[string]bool {
	out := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		out[word] = true
	}
	return out
}
