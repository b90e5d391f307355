// SPDX-License-Identifier: Apache-2.0

package words

// preflightSentences are the findings of `kubectl scylla check` and their remedies. The codes
// belong to internal/setup/preflight, which imports internal/cluster, whose own tests import this
// package, so they are declared here.
var (
	AllNodesUpNow        = define("AllNodesUpNow", "all nodes see each other UP")
	NobodyThereNow       = define("NobodyThereNow", "no ScyllaDB node of this namespace is on it")
	NotHealthyNow        = define("NotHealthyNow", "not all nodes are known to see each other UP")
	NotAskedNow          = define("NotAskedNow", "it was not queried")
	NotAskedSaved        = define("NotAskedSaved", "saved objects: no node was queried")
	AllAnswerNow         = define("AllAnswerNow", "queried: {nodes} nodes")
	ReplacementNow       = ofCheck("ReplacementNow", "its replacement is requested or in progress", StepWaitNow)
	RolloutNow           = ofCheck("RolloutNow", "a rolling update is in progress", StepWaitNow)
	OperationsUnknownNow = define("OperationsUnknownNow",
		"no node reported whether a topology operation is in progress")
	NothingUnderWayNow = define("NothingUnderWayNow", "no topology operation, replacement or rollout in progress")
	QuorumLostNow      = ofCheck("QuorumLostNow",
		"without {nodes}, too few replicas of {keyspaces} are UP for a quorum", StepQuorumNow, StepDrainFirst)
	QuorumKeptNow = define("QuorumKeptNow",
		"every token range keeps a quorum of UP replicas (keyspaces: {keyspaces})")
	BudgetSpentNow = ofCheck("BudgetSpentNow", "it allows {allowed} disruptions now; {pods} would be stopped",
		StepWaitNow)
	BudgetAllowsNow = define("BudgetAllowsNow", "no PodDisruptionBudget prevents it")
	StepWaitNow     = define("StepWaitNow", "check again once this has ended[; what is in progress now: {1}]")
	StepQuorumNow   = define("StepQuorumNow",
		"stop one node at a time, and none that has data with a replication factor of 1 or 2; or accept that queries fail meanwhile")
	StepDrainFirst = define("StepDrainFirst",
		"move one node at a time, {node} first: {1}; when it is UP and its Pod is Ready on another Kubernetes node, check for the next: {2}")
	StepLookAtData   = define("StepLookAtData", "check the replication factors: DESCRIBE KEYSPACES")
	KubernetesFits   = define("KubernetesFits", "Kubernetes 1.{minor}")
	KubernetesTooOld = ofCheck("KubernetesTooOld",
		"Kubernetes 1.{minor} is too old: 1.{oldest} or later is required", StepKubernetes)
	VersionNotTold = define("VersionNotTold", "the API server did not report its version")
	KindServed     = define("KindServed", "served as {version}")
	KindMissing    = ofCheck("KindMissing", "CRD {kind} is not installed", StepInstall)
	KindNotServed  = ofCheck("KindNotServed", "CRD {kind} is served as {served}, not as {wanted}", StepUpgrade)
	CannotTell     = ofCheck("CannotTell", "unknown: {why}", StepLookAtData)
	RightsThere    = define("RightsThere", "{rights} permissions, none missing")
	RightMissing   = ofCheck("RightMissing", "cannot {right}, which {for} requires", StepAskRights, StepInstall,
		StepBind)
	BlocksOperator = ofCheck("BlocksOperator",
		"it is part of the Scylla Operator's ClusterRole scyllacluster-member and has rules that the operator lacks: the API server rejects the operator's RoleBindings", StepUnlabel)
	ClockAgrees  = define("ClockAgrees", "this machine's clock agrees with the API server's")
	ClockDiffers = ofCheck("ClockDiffers",
		"this machine's clock is {difference} ahead of the API server's: ages are wrong by as much", StepClock)
	OwnPodOnly    = define("OwnPodOnly", "an agent may write to its own Pod only")
	OwnEventsOnly = define("OwnEventsOnly", "an agent may write Events about its own Pod only")
	EveryPod      = define("EveryPod", "an agent may write to all Pods of its namespace")
	EveryEvent    = define("EveryEvent",
		"an agent may write Events in the controller's name, and about all Pods of its namespace")
	PolicyMissing = ofCheck("PolicyMissing", "the admission policy {policy} is missing: {means}",
		StepInstallPolicy)
	PolicyNotBound = ofCheck("PolicyNotBound", "the admission policy {policy} is not bound: {means}",
		StepInstallPolicy)
	WriteDenied    = define("WriteDenied", "the API server denies it a write to another Pod (dry run)")
	WriteNotDenied = ofCheck("WriteNotDenied",
		"the API server allows it to write to Pod {pod} with a token of no Pod (dry run): it may rewrite all Pods of its namespace", StepInstallPolicy)
	ControllerRuns    = define("ControllerRuns", "{replicas} available")
	ControllerMissing = ofCheck("ControllerMissing",
		"the controller is not installed: no report is updated, so every barrier waits", StepInstall)
	ControllerNotReady = ofCheck("ControllerNotReady",
		"none of the controller's {replicas} Pods is available: every barrier waits", StepControllerLog)
	NamespaceNotManaged = ofCheck("NamespaceNotManaged",
		"the controller manages only namespaces {namespaces}: every barrier here waits", StepManage)
	LeaseRenewed = define("LeaseRenewed", "the controller's leader renews its Lease")
	LeaseMissing = ofCheck("LeaseMissing", "no controller has become leader", StepControllerLog)
	LeaseOld     = ofCheck("LeaseOld",
		"the controller's leader has not renewed its Lease for {age}: every barrier waits", StepControllerLog)
	VersionsAgree  = define("VersionsAgree", "plugin, controller and agents have the same version")
	VersionsDiffer = ofCheck("VersionsDiffer", "this plugin is {plugin}, and {installed} is installed",
		StepUpgrade)
	AgentImageDiffers = ofCheck("AgentImageDiffers", "its agent is {image}, and the controller is {controller}",
		StepInject)
	GatesThere       = define("GatesThere", "reporter, query, barrier and launcher are configured")
	GateMissing      = ofCheck("GateMissing", "{gate} is missing: its joins are unprotected", StepInject)
	ReadinessThere   = define("ReadinessThere", "a readiness probe, and no liveness probe")
	ReadinessMissing = ofCheck("ReadinessMissing",
		"ScyllaDB's container has no readiness probe: a rolling update does not wait for it", StepReadiness)
	LivenessKills = ofCheck("LivenessKills",
		"ScyllaDB's container has a liveness probe: it kills a busy node, which all other nodes then see DOWN",
		StepLiveness)
	SeedsChosen = define("SeedsChosen", "the launcher chooses the seeds")
	SeedsOfOwn  = ofCheck("SeedsOfOwn",
		"--seeds names a member of the cluster, {seed}: if it loses its disk and starts without the launcher, it bootstraps a second cluster", StepSeeds)
	UpdateFits = define("UpdateFits", "rolling updates, and a PVC for each Pod")
	OnDelete   = ofCheck("OnDelete",
		"its update strategy is OnDelete: a change reaches a Pod only after a manual deletion", StepUpdate)
	NoClaim = ofCheck("NoClaim", "it has no volume claim template: a Pod that moves loses its data",
		StepClaim)
	BudgetThere   = define("BudgetThere", "PodDisruptionBudget {budget} allows one disruption at a time")
	BudgetMissing = ofCheck("BudgetMissing", "no PodDisruptionBudget: a drain may stop several nodes at once",
		StepBudget)
	BudgetTooWide = ofCheck("BudgetTooWide",
		"PodDisruptionBudget {budget} allows more than one disruption at a time", StepBudget)
	BudgetHoldsUnhealthy = ofCheck("BudgetHoldsUnhealthy",
		"PodDisruptionBudget {budget} also protects Pods that are not Ready, so a dead node cannot be evicted for its replacement", StepUnhealthy)
	ScyllaVersionOf      = define("ScyllaVersionOf", "every node runs ScyllaDB {version}")
	ScyllaVersionsDiffer = ofCheck("ScyllaVersionsDiffer",
		"nodes of {versions&} are running: a new node must not be older than the newest of them", StepEndUpgrade)
	ScyllaVersionUnknown = ofCheck("ScyllaVersionUnknown", "its version is unknown: {why}", StepNameVersion)
	ScyllaVersionNoQuery = ofCheck("ScyllaVersionNoQuery",
		"ScyllaDB {version} is older than 2025.2.0, so its disk cannot be queried: a restart is detected only while the API server and the other nodes respond", StepAllowVersion)
	ScyllaVersionOld = ofCheck("ScyllaVersionOld",
		"a dead node of ScyllaDB {version} is replaced by its address; 5.2, 2023.1 and later replace by host ID",
		StepNewerScylla)
	ImagesAgree    = define("ImagesAgree", "{images} images, each the same everywhere")
	ImagesDiffer   = ofCheck("ImagesDiffer", "{digests} different images named {image} are running", StepImages)
	ServicesThere  = define("ServicesThere", "{services} members, each with a Service of its name")
	ServiceMissing = ofCheck("ServiceMissing", "Service {service} is missing: the member has no DNS name",
		StepService)
	ServiceSelectsOther = ofCheck("ServiceSelectsOther", "Service {service} does not select the Pod of its name",
		StepService)
	PodGateMissing = ofCheck("PodGateMissing",
		"it is running without {gate}, which its StatefulSet has: the Pod is older than the change", StepRoll,
		StepOperatorRolls)
	NamesResolve = define("NamesResolve",
		"{names} DNS names, each with the address of its Pod, by Services and EndpointSlices")
	NameLeadsElsewhere = ofCheck("NameLeadsElsewhere",
		"the name {name} resolves to {addresses&}, by its EndpointSlices, and the Pod has {address}", StepEndpoints)
	NameHidden = ofCheck("NameHidden",
		"the name {name} resolves only while its Pod is Ready: the Service lacks publishNotReadyAddresses", StepPublish)
	NoGoverningService = ofCheck("NoGoverningService",
		"its headless Service {service} does not exist or is not headless: POD.{service} does not resolve",
		StepGoverning)
	AdoptedSet = ofCheck("AdoptedSet",
		"{owner} of the Scylla Operator has adopted it, and deletes StatefulSets that it did not create", StepRelabel)
	AdoptableNow = ofCheck("AdoptableNow",
		"its label scylla/cluster lets {owner} of the Scylla Operator adopt and delete it", StepRelabel)
	AdoptableLater = ofCheck("AdoptableLater",
		"its label scylla/cluster={cluster} would let a ScyllaDBDatacenter of that name adopt and delete it",
		StepRelabel)
	StepRelabel = define("StepRelabel",
		"give it a label that the Scylla Operator does not select, which restarts no Pod: {1}")
	OperatorGateThere   = define("OperatorGateThere", "the Scylla Operator's barrier is configured")
	OperatorGateMissing = ofCheck("OperatorGateMissing",
		"the Scylla Operator's barrier ({gate}) is missing: its joins are unprotected", StepFeatureGate)
	OperatorRuns    = define("OperatorRuns", "the Scylla Operator runs and is not degraded")
	OperatorNotSeen = ofCheck("OperatorNotSeen",
		"unknown whether the Scylla Operator runs: its Deployment and its Lease were not found, or you cannot read them",
		StepAskRights)
	OperatorKeepsOrphans    = define("OperatorKeepsOrphans", "the Scylla Operator replaces a node only on request")
	OperatorReplacesOrphans = ofCheck("OperatorReplacesOrphans",
		"the Scylla Operator may replace a node by itself if the Kubernetes node of its volume is gone, without a check that it is DOWN",
		StepKeepOrphans)
	RemoteReport = ofCheck("RemoteReport",
		"a remote of kubectl-scylla wrote it: the Scylla Operator's barrier waits for its rows", StepRemoveRemote)
	RemoteAccount = ofCheck("RemoteAccount", "a remote of kubectl-scylla uses it: its token does not expire",
		StepRemoveRemote)
	ForcedNext = ofCheck("ForcedNext",
		"it has annotation {annotation}=true: the next start skips the barrier", StepUndoForce)
	ReportersAnswer       = define("ReportersAnswer", "{reporters} reporters respond")
	ReporterDoesNotAnswer = ofCheck("ReporterDoesNotAnswer", "its reporter is not responding: {why}", StepReporterLog)

	StepInstall       = define("StepInstall", "install it: {1}")
	StepManage        = define("StepManage", "add the namespace: {1}")
	StepInstallPolicy = define("StepInstallPolicy", "install it: {1}; docs/security.md describes it")
	StepUpgrade       = define("StepUpgrade", "install the same version of both: {1}")
	StepEndUpgrade    = define("StepEndUpgrade", "finish the upgrade before you add a node: {1}")
	StepNameVersion   = define("StepNameVersion", "use an image tag that is its version")
	StepNewerScylla   = define("StepNewerScylla", "upgrade ScyllaDB")
	StepAllowVersion  = define("StepAllowVersion",
		"upgrade ScyllaDB, or accept this with --allow-version, here and with inject")
	StepInject    = define("StepInject", "add it, node by node: {1}; or to its manifest, with -f FILE")
	StepRoll      = define("StepRoll", "restart it safely: {1}")
	StepEndpoints = define("StepEndpoints", "check what writes them: {1}")
	StepPublish   = define("StepPublish", "set it, otherwise starting nodes do not find each other: {1}")
	StepGoverning = define("StepGoverning", "create it, headless, with a selector that matches the Pods")
	StepBind      = define("StepBind", "bind the ClusterRole to {account}: {1}")
	StepUnlabel   = define("StepUnlabel",
		"remove the label: {1}; for a barrier of ours in the operator's Pods see docs/scylla-operator.md")
	StepAskRights = define("StepAskRights",
		"ask an administrator to bind the ClusterRole in docs/security.md to your account")
	StepClock         = define("StepClock", "synchronise the clock of this machine")
	StepControllerLog = define("StepControllerLog", "check its log: {1}")
	StepReadiness     = define("StepReadiness", "add the probe of docs/examples/scylladb.yaml")
	StepLiveness      = define("StepLiveness", "remove the liveness probe")
	StepSeeds         = define("StepSeeds", "remove --seeds, or name only nodes of another datacenter")
	StepUpdate        = define("StepUpdate", "use RollingUpdate")
	StepClaim         = define("StepClaim", "add a volumeClaimTemplate, as in docs/examples/scylladb.yaml")
	StepBudget        = define("StepBudget", "create one with maxUnavailable: 1 for all Pods of the datacenter")
	StepUnhealthy     = define("StepUnhealthy", "allow the eviction of Pods that are not Ready: {1}")
	StepImages        = define("StepImages", "reference the image by its digest")
	StepService       = define("StepService",
		"label the StatefulSet app.kubernetes.io/managed-by=kubectl-scylla: then the controller creates the Service")
	StepUndoForce   = define("StepUndoForce", "remove it, unless you still want that start to skip the barrier: {1}")
	StepFeatureGate = define("StepFeatureGate",
		"turn on the Scylla Operator's feature gate BootstrapSynchronisation, which requires ScyllaDB 2025.2.0 or later; the operator then restarts its Pods one by one")
	StepOperatorRolls = define("StepOperatorRolls", "check that the Scylla Operator restarts it: {1}")
	StepKeepOrphans   = define("StepKeepOrphans",
		"unless you want this, set disableAutomaticOrphanedNodeReplacement: true in the ScyllaDBDatacenter or ScyllaDBCluster, or automaticOrphanedNodeCleanup: false in the ScyllaCluster")
	StepRemoveRemote = define("StepRemoveRemote",
		"if that remote is no longer needed, remove it in the Kubernetes cluster where it was added: {1}")
	StepReporterLog = define("StepReporterLog", "check its log: {1}")
	StepKubernetes  = define("StepKubernetes", "upgrade Kubernetes")
)
