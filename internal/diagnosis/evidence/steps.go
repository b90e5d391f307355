// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Commands that several steps have.
const (
	seeLog      = "{log...} {at}"
	seePod      = "get pod {pod} {at}"
	seeStatus   = "scylla status {in}"
	seeCluster  = "scylla status {cluster} {in}"
	seeVolume   = "get pvc {claim} -o yaml {in}"
	seeSelected = "get statefulsets,services --selector " + api.LabelCluster + "={cluster} {in}"
	relabel     = "label statefulset {statefulSets...} " + api.LabelCluster + "={own} --overwrite {in}"
	seeLeft     = "describe {left...} {at}"
	seeMachine  = "describe node {kubernetesNode}"
	tasks       = "scylla nodetool {member} {in} -- tasks list node_ops"
	describe    = "scylla describe {pod} {in}"
	connect     = "scylla remote add NAME {cluster} --remote-context CONTEXT --remote-namespace NAMESPACE {in}"
	force       = "scylla force-proceed {member} {in} --volume-uid={uid?} --unless-down"
	forceVolume = "scylla force-proceed {member} {in} --volume-uid={uid} --unless-down"
	forceItself = "scylla force-proceed {member} {in} --volume-uid={uid}" // a restart: no DOWN node cancels it
	replaceNode = "scylla replace {hostID} {at}"
	replaceHow  = "scylla replace status {member} {in}"
	seeTopology = "exec {witness} {in} -c {container} -- cqlsh -e {topology}"
	askGroup0   = "exec {pod} {in} -c {container} -- cqlsh -e {query}"
	forget      = "annotate service {member} " + api.AnnotationHostID + "- " + api.AnnotationNodeJoined +
		"- {in} " + unchanged
	deleteClaim = "delete pvc {claim} {in} --wait=false"
	deletePod   = "delete pod {pod} {in}"
	unchanged   = "--resource-version={service?}"
	keepVolume  = "patch persistentvolume {volume} --patch {retain}"
	leave       = "exec {pod} {in} -c {container} -- nodetool decommission"
)

// sameClaim precedes a deletion: kubectl deletes by name, and a PVC that was deleted and made again
// has the same name.
var sameClaim = "patch pvc {claim} {in} --patch=" + SameUID("{uid}")

// commands of the steps, without "kubectl", in the order in which a user runs them. {name} is a
// fact. {in} is the namespace of the cluster and {at} the node's, as "-n NAMESPACE"; empty
// namespaces are left out. {name...} is a fact of several words. An argument with {name?} is left
// out if the fact is unknown. Such an argument makes the command refuse if the Service, of resource
// version "service", was written since, or if the volume, of UID "uid", is another by then.
var commands = map[words.Code][]string{
	words.TellClustersApart: {askGroup0},
	words.TellGroupApart:    {askGroup0, "scylla init reset {report} --group0 {in}"},

	words.ReplacementOpen:      {replaceHow},
	words.ReplacementRequested: {replaceHow},
	words.WaitForEviction:      {replaceHow},
	words.ReplacedNodeLives:    {replaceHow},
	words.ReplaceFormerNode:    {replaceNode},
	words.ReplaceLost:          {replaceNode},

	words.WaitForRollback:       {seeLog},
	words.WaitForJoin:           {seeLog},
	words.WaitForLeaving:        {seeLog},
	words.FinishLeavingOrRemove: {seeLog},
	words.ReadScyllaDBLog:       {seeLog},
	words.ReadReporterLog:       {"{reporterLog...} {at}"},
	words.SeeHaltedScyllaDB:     {seeLog, describe},
	words.SeeDiscovery:          {seeLog, describe},
	words.SeeWhyEnded:           {seeLog, describe},

	words.RunMemberAndReporter: {seePod},
	words.ReachPod:             {seePod},
	words.WaitForStart:         {seePod},
	words.WaitForFirstNode:     {"get pod {first} {in}"},
	words.StartFounder:         {"scylla describe {founder} {in}"},
	words.WaitForNewcomer:      {seePod},
	words.EndMaintenance:       {"get pod {pod} --output yaml {in}"},
	words.SeeClock:             {"exec {pod} {in} -c {container} -- date -u"},
	words.ScaleBack:            {"scale statefulset {statefulSet} --replicas={wanted} {in}", seeLeft},
	words.ScaleBackOrLook:      {seeLeft},
	words.SeeLeftVolume:        {seeLeft},
	words.SeeNotReady:          {"describe {object...} {in}"},
	words.SeeSchedule:          {"describe pod {pod} {in}"},
	words.FixImage:             {"describe pod {pod} {in}"},
	words.FixConfig:            {"describe pod {pod} {in}"},
	words.FixMemory:            {"describe pod {pod} {in}"},
	words.SeePodEvents:         {"describe pod {pod} {in}"},
	words.FixProbe:             {seeLog},
	words.SeeProbe:             {seeLog},
	words.SeeContainerLog:      {seeLog},
	words.RaiseAio:             {seeLog},
	words.GrowVolume:           {"patch pvc {claim} --type=merge -p {patch} {in}"},
	words.SeeVolumeGrowth:      {"get pvc,storageclass {in}"},
	words.VolumeFixed:          {"scylla nodetool {pod} {in} -- listsnapshots"},
	words.VolumeLocal:          {"scylla nodetool {pod} {in} -- listsnapshots"},
	words.VolumeGrows:          {"describe pvc {claim} {in}"},
	words.SeeSSTable:           {seeLog},
	words.SeeAddresses:         {seeLog},
	words.SeeKilled:            {seeMachine},
	words.SeeAddressOfOther:    {"get pods -o wide {in}", seeLog},
	words.FixLacking:           {"describe pod {pod} {in}"},
	words.FixMount:             {"describe pod {pod} {in}"},
	words.FixAttach:            {"get volumeattachments"},
	words.FixQuota:             {"describe resourcequota {quota} {in}"},
	words.FixRefusal:           {"describe statefulset {statefulSet} {in}"},
	words.FixClaim:             {"describe pvc {claim} {in}"},
	words.OldNodeCameBackLook:  {"describe pvc {claim} {in}"},
	words.SeeClaims:            {"get persistentvolumes"},
	words.SeeEnding:            {"describe pod {pod} {in}"},
	words.FreeMachine:          {seeMachine},
	words.MakeRoomOn:           {seeMachine},
	words.MakeRoom:             {"describe pod {pod} {in}"},
	words.AddMachine:           {"describe pod {pod} {in}"},
	words.UncordonAny:          {"get nodes"},
	words.FixTaint:             {"describe pod {pod} {in}"},
	words.FixAffinity:          {"describe pod {pod} {in}"},
	words.FixVolumePlace:       {"get persistentvolume {volume} -o yaml"},
	words.SeeSlowStart:         {seeLog, "describe pod {pod} {in}"},
	words.SeeLastRun:           {seeLog},
	words.BringBackMajority:    {"scylla nodetool {pod} {in} -- status"},
	words.SeeWhichIsNewer:      {"scylla nodetool {pod} {in} -- status"},
	words.BringBackMajorityOld: {"scylla nodetool {pod} {in} -- status"},
	words.DeleteOldPod:         {deletePod},
	words.RestartOldPod:        {"scylla check --for=restart {pod} {in}", deletePod},
	words.ReachReporter:        {"describe pod {pod} {in}"},
	words.SeeStatefulSet:       {"describe statefulset {statefulSet} {in}"},
	words.WaitForRollout:       {"rollout status statefulset/{statefulSet} {in}"},
	words.WaitForInject: {"get pods --selector " + api.LabelCluster +
		"={cluster} --label-columns controller-revision-hash {in}"},
	words.MendKubernetesNode: {seeMachine},
	words.UncordonNode:       {"uncordon {kubernetesNode}"},
	words.RestartDrained:     {deletePod},
	words.ForgetViews:        {deletePod},
	words.LowerOrdinalFirst:  {"scylla {show} {lower} {in}"},
	words.ApplyParallel:      {"delete statefulset {statefulSet} --cascade=orphan {in}"},

	words.BringReport:        {seeStatus},
	words.StartElsewhere:     {seeStatus},
	words.SeeOrphan:          {seeStatus},
	words.OrphansFirst:       {seeStatus},
	words.SeeOtherSeed:       {seeStatus},
	words.WaitForPermit:      {seeStatus},
	words.SeeLeftover:        {"scylla status {cluster} --all {in}"},
	words.SeeSilentLog:       {seeLog},
	words.AskNodes:           {"scylla status {cluster} --source live {in}"},
	words.ReadNow:            {seeCluster},
	words.FirstJoins:         {"scylla barrier {in}"},
	words.SeeThere:           {connect},
	words.SeeThereTogether:   {connect},
	words.StartsInSplit:      {seeCluster},
	words.SeeFormerAddresses: {"scylla nodetool --all {in} -- status", "get services {in}"},
	words.SeeOneLog:          {seeLog},
	words.WaitForAll:         {seeLog},
	words.GhostElsewhere:     {connect},

	words.CheckElsewhereThenForce:       {force},
	words.CheckThereThenForce:           {force},
	words.CheckOtherDatacenterThenForce: {force},
	words.MendForceValue:                {force},
	words.NameOneCluster:                {force},
	words.JoinNotRecorded:               {seeVolume, forceItself},
	words.MayWaitForItself:              {seeVolume, forceItself},
	words.ForcePastZeroToken:            {"scylla force-proceed {target} {in} --volume-uid={uid?} --unless-down"},
	words.TakeForceBack:                 {"scylla force-proceed {target...} --undo {in}"},

	words.DiscardClaim:        {sameClaim, deleteClaim, deletePod},
	words.DiscardClaimIfLeft:  {seeTopology, sameClaim, deleteClaim, deletePod, forceItself},
	words.GiveOwnVolume:       {seeVolume},
	words.SeeHostIDs:          {"scylla nodetool --all {in} -- info"},
	words.TellVolume:          {seeVolume, forceVolume},
	words.KeepOwnVolume:       {seeVolume, seeStatus},
	words.SaveData:            {leave},
	words.SaveVolumeAndData:   {keepVolume, leave},
	words.OldNodeCameBackKeep: {keepVolume, leave},
	words.OldNodeCameBackCure: {leave},
	words.BeginAnew:           {"scylla init reset {cluster} {in}"},

	words.EmptyReplaceLabel: {"label --overwrite service {member} " + api.LabelReplace + "= {in} " + unchanged},
	words.LabelService:      {"label service {member} {label}=NAME {in}"},
	words.SeeDecommissioned: {"scylla nodetool {member} {in} -- status",
		"get service {member} --output yaml --show-managed-fields {in}"},
	words.SeeBarrier:              {"scylla barrier {member} {in}"},
	words.PastJoin:                {describe},
	words.PastReplacement:         {"scylla describe {member} {in}"},
	words.PastGossip:              {"scylla nodetool --all {in} -- status"},
	words.PastRollout:             {"describe statefulset {statefulSet} {in}"},
	words.PastPermit:              {"describe scylladbstatusreports {report} {in}"},
	words.PastStable:              {"scylla status {cluster} --watch {in}"},
	words.PastAPI:                 {"describe pod {pod} {in}"},
	words.PastReporter:            {"{reporterLog...} {at}"},
	words.PastSchema:              {"scylla nodetool --all {in} -- describecluster"},
	words.AddNodeOrLowerRF:        {"exec {pod} {in} -c {container} -- cqlsh -e {replication}"},
	words.SeeDecommission:         {seeLog},
	words.SeeSlowDecommission:     {tasks, seeLog},
	words.WaitForDecommission:     {tasks},
	words.KeepDecommissioned:      {describe},
	words.ScaleDownDecommissioned: {"scale statefulset {statefulSet} --replicas={wanted} {in}"},
	words.SeeMaintenance: {"get service {member} --output yaml --show-managed-fields {in}",
		"label service {member} " + api.LabelNodeMaintenance + "- {in}"},
	words.ClearPodAnnotation:      {"annotate pod {pod} " + api.AnnotationNodeStatusReport + "- {in}"},
	words.RemoveReplacingLabel:    {"label service {member} " + api.LabelReplacingNodeHostID + "- {in} " + unchanged},
	words.RecordedHostIDRemoved:   {forget},
	words.RecordedHostIDNotListed: {seeTopology, forget},
	words.SeeIfRemoved:            {seeTopology, forget},

	words.RunControllerAndReporters: {"scylla report {in}"},
	words.DeleteLeftReport: {
		"get scylladbdatacenternodesstatusreports {report} --output yaml --show-managed-fields {in}"},
	words.MakeNamedReport:   {"get scylladbstatusreports {report} {in}"},
	words.MakeView:          {"scylla install --upgrade"},
	words.UpgradeForPermits: {"scylla install --upgrade"},
	words.ProtectAgain:      {"scylla install --feature-gates BootstrapSynchronisation=true"},
	words.CancelBeforeStart: {"scylla replace cancel {member} {in}"},
	words.WithdrawRequest:   {"scylla replace cancel {member} {in}"},
	words.StartOperator:     {"get deployment,pods -n {operatorNamespace}"},
	words.ScaleOperatorBack: {"describe deployment {operator} -n {operatorNamespace}"},
	words.SeeOperatorLog:    {"logs deployment/{operator} -n {operatorNamespace} --tail 100"},
	words.PartFromOperator:  {seeSelected, relabel},
	words.PartAdopted:       {seeSelected, relabel, "get statefulsets {statefulSets...} --output yaml {in}"},
	words.ProtectServices:   {"scylla install --upgrade"},
	words.ReadDegraded:      {"describe scylladbdatacenter {cluster} {in}"},

	words.ResetMembersRun:  {seeCluster},
	words.ResetNodesUp:     {seeCluster},
	words.ResetPermitGiven: {seeCluster},
}

// Facts are the values in the commands of a step. A missing fact stays as its name in capitals, as
// in documents.
type Facts map[string]string

// constants are arguments with spaces.
var constants = Facts{
	// A node stores the ID of its group 0 there, and the REST API does not have it.
	"query":             "SELECT value FROM system.scylla_local WHERE key = 'raft_group0_id'",
	"topology":          "SELECT host_id, node_state FROM system.topology",
	"replication":       "SELECT keyspace_name, replication FROM system_schema.keyspaces",
	"retain":            `{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}`,
	"operatorNamespace": api.OperatorNamespace,
	"operator":          api.OperatorName,
	"object":            "pod POD",
	"log":               "logs POD -c CONTAINER",
	"show":              "describe",
	"reporterLog":       "logs POD -c " + api.ContainerReporter,
	"target":            "MEMBER",
	"statefulSets":      "STATEFULSET",
	"own":               "own_CLUSTER",
	"kubernetesNode":    "NODE",
}

// Do returns the step, or the note, with its commands.
func Do(step words.Message, f Facts) words.Message { return step.Do(f.Commands(step.Code)...) }

// Commands returns the commands of a step, nil if it has none.
func (f Facts) Commands(step words.Code) []words.Command {
	var out []words.Command
	for _, template := range commands[step] {
		c := words.Command{"kubectl"}
		for _, arg := range strings.Fields(template) {
			switch name, several := strings.CutSuffix(strings.Trim(arg, "{}"), "..."); {
			case arg == "{in}":
				c = f.namespace(c, "namespace")
			case arg == "{at}":
				c = f.namespace(c, "podNamespace")
			case strings.HasSuffix(arg, "?}"):
				flag, name, _ := strings.Cut(strings.TrimSuffix(arg, "?}"), "{")
				if v := f[name]; v != "" {
					c = append(c, flag+v)
				}
			case several:
				c = append(c, strings.Fields(f.fact(name))...)
			default:
				c = append(c, f.fill(arg))
			}
		}
		out = append(out, c)
	}
	return out
}

func (f Facts) namespace(c words.Command, name string) words.Command {
	switch namespace, known := f[name]; {
	case !known && name != "namespace":
		return f.namespace(c, "namespace")
	case !known:
		return append(c, "-n", "NAMESPACE")
	case namespace == "":
		return c
	default:
		return append(c, "-n", namespace)
	}
}

// fill puts one fact, named in the innermost braces, into an argument.
func (f Facts) fill(arg string) string {
	at := strings.LastIndex(arg, "{")
	if at < 0 {
		return arg
	}
	name, after, _ := strings.Cut(arg[at+1:], "}")
	return arg[:at] + f.fact(name) + after
}

func (f Facts) fact(name string) string {
	if v := f[name]; v != "" {
		return v
	}
	if v := constants[name]; v != "" {
		return v
	}
	return strings.ToUpper(name)
}

// SameUID returns the patch that changes nothing, and that the API server refuses if the object of
// that name has another UID (ValidateObjectMetaUpdate of Kubernetes: the field is immutable).
func SameUID(uid string) string { return `{"metadata":{"uid":"` + uid + `"}}` }
