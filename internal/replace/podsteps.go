// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// PodRule is one line of the table of what Kubernetes says about a Pod that does not run: a cause
// has one step.
type PodRule struct {
	// Cause is a code of cluster.Trouble, or the reason of the scheduler that decides.
	Cause, Step words.Code
	// With is the parameter of the cause that this step needs; without it the next rule applies.
	With string
}

// podRules serve nodes that are DOWN, new nodes and replacements. A cause without a rule is shown
// in Kubernetes' words, with SeePodEvents.
var podRules = []PodRule{
	{words.PodImage, words.FixImage, ""},
	{words.PodConfig, words.FixConfig, ""},
	{words.PodMemory, words.FixMemory, ""},
	{words.PodProbe, words.SeeProbe, "setBy"},
	{words.PodProbe, words.FixProbe, ""},
	{words.PodExits, words.SeeLastRun, ""},
	{words.SidecarNotReady, words.SeeContainerLog, ""},
	{words.PodWasEvicted, words.FreeMachine, "resource"},
	{words.PodLacks, words.FixLacking, ""},
	{words.PodMount, words.FixMount, "kubernetesNode"},
	{words.PodAttach, words.FixAttach, ""},
	{words.PodNotAllowed, words.FixQuota, "quota"},
	{words.PodNotAllowed, words.FixRefusal, ""},
	{words.PodNotEnded, words.SeeEnding, ""},
	{words.ClaimNotBound, words.FixClaim, ""},

	{words.AioExhausted, words.RaiseAio, "kubernetesNode"},
	{words.DiskNoSpace, words.SeeVolumeGrowth, "claim"},
	{words.SSTableMalformed, words.SeeSSTable, "kubernetesNode"},
	{words.DuplicateAddress, words.SeeAddresses, ""},
	{words.ScyllaDBKilled, words.SeeKilled, "kubernetesNode"},
	{words.AddressExists, words.SeeAddressOfOther, ""},
	{words.PodSays, words.SeeHaltedScyllaDB, ""},

	{words.PlaceNoClaim, words.SeeClaims, ""},
	{words.PlaceClaimEnds, words.SeeClaims, ""},
	{words.PlaceUnbound, words.FixClaim, "claim"},
	{words.PlaceResource, words.MakeRoomOn, "kubernetesNode"},
	{words.PlaceResource, words.MakeRoom, ""},
	{words.PlaceFull, words.AddMachine, ""},
	{words.PlaceVolumes, words.AddMachine, ""},
	{words.PlaceApart, words.AddMachine, ""},
	{words.PlaceCordon, words.UncordonAny, ""},
	{words.PlaceTaint, words.FixTaint, ""},
	{words.PlaceAffinity, words.FixAffinity, ""},
	{words.PlaceVolume, words.FixVolumePlace, "volume"},
	{words.PodNoPlace, words.SeeSchedule, ""},
}

// PodRules returns the table, for the documents.
func PodRules() []PodRule { return slices.Clone(podRules) }

// OfPods are the steps of the table, and those for any cause.
func OfPods() []words.Code {
	out := append([]words.Code{words.DeleteOldPod, words.SeeSchedule, words.SeePodEvents}, OfVolumes()...)
	for _, r := range podRules {
		if !slices.Contains(out, r.Step) {
			out = append(out, r.Step)
		}
	}
	return out
}

// OfSidecars are the steps of SidecarStep.
func OfSidecars() []words.Code {
	return []words.Code{words.RestartOldPod, words.FixImage, words.FixConfig, words.FixMemory, words.SeeProbe,
		words.FixProbe, words.SeeContainerLog, words.SeePodEvents}
}

// podStep is the step for a member whose Pod Kubernetes does not create, place or run. The Pod is
// deleted only if it is of an old template and its PVCs stay.
func podStep(c *cluster.Cluster, member string, f evidence.Facts) words.Message {
	why, object := c.Trouble(member), templateOf(c, member)
	if step := OldPodStep(c, member); !step.IsZero() {
		return step
	}
	if why.IsZero() {
		return evidence.Do(words.New(words.SeeSchedule), f)
	}
	if first, _ := why.Params["first"].(words.Code); first == words.DiskNoSpace {
		return VolumeStep(c, member)
	}
	return stepOf(why, object, f)
}

// OldPodStep is the step for a member whose Pod has an old template, which Kubernetes does not
// replace by itself; zero if deleting the Pod would not help or could harm.
func OldPodStep(c *cluster.Cluster, member string) words.Message {
	policy := c.StuckOldPod(member)
	if policy == "" {
		return words.Message{}
	}
	step := words.New(words.DeleteOldPod, "pod", member, "object", templateOf(c, member), "policy", policy)
	return evidence.Do(step, evidence.Facts{"namespace": c.Namespace, "pod": member})
}

// VolumeStep is the step for a member whose volume is full or nearly full.
func VolumeStep(c *cluster.Cluster, member string) words.Message {
	f := evidence.Facts{"namespace": c.Namespace, "pod": member}
	m := c.Member(member)
	if m == nil || m.PVC == nil {
		return evidence.Do(words.New(words.SeeVolumeGrowth), f)
	}
	g := m.Growth()
	step := words.New(words.SeeVolumeGrowth, "claim", g.Claim, "class", g.Class)
	f["claim"] = g.Claim
	if !g.Size.IsZero() {
		step.Params["size"] = g.Size.String()
	}
	switch {
	case g.Growing():
		step.Code, step.Params["capacity"] = words.VolumeGrows, g.Capacity.String()
	case !g.Read:
	case g.Local:
		step.Code = words.VolumeLocal
	case !g.Expands:
		step.Code = words.VolumeFixed
	case !g.Size.IsZero() && !g.Capacity.IsZero() && g.Grown.Before(m.FullAt()): // else it may be large enough
		step.Code, step.Params["object"], step.Params["larger"] = words.GrowVolume, templateOf(c, member), g.Larger()
		f["patch"] = `{"spec":{"resources":{"requests":{"storage":"` + g.Larger() + `"}}}}`
	}
	return evidence.Do(step, f)
}

// OfVolumes are the steps of VolumeStep.
func OfVolumes() []words.Code {
	return []words.Code{words.GrowVolume, words.SeeVolumeGrowth, words.VolumeFixed, words.VolumeLocal,
		words.VolumeGrows}
}

// templateOf is the object that has the template of the member's Pod.
func templateOf(c *cluster.Cluster, member string) string {
	if set := c.StatefulSet(member); set != nil && !c.Operator {
		return "StatefulSet " + set.Name
	}
	return "the ScyllaCluster"
}

// SidecarStep is the step for a Pod that is not Ready for the reason why, a cluster.SidecarTrouble.
func SidecarStep(c *cluster.Cluster, member string, why words.Message) words.Message {
	f := evidence.Facts{"namespace": c.Namespace, "pod": member,
		"log": strings.Join(logArgs(member, cluster.SidecarLog(c.Pod(member))), " ")}
	if policy := c.StuckOldPod(member); policy != "" && why.Code != words.SidecarNotReady {
		return evidence.Do(words.New(words.RestartOldPod, "pod", member, "object", templateOf(c, member), "policy",
			policy), f)
	}
	if why.Code == words.PodExits {
		why.Code = words.SidecarNotReady
	}
	return stepOf(why, templateOf(c, member), f)
}

// stepOf is the step of the table for a cause, with the parameters of the cause.
func stepOf(why words.Message, object string, f evidence.Facts) words.Message {
	step := words.New(words.SeePodEvents)
	first, _ := why.Params["first"].(words.Code)
	for _, r := range podRules {
		if (r.Cause == why.Code || r.Cause == first) && (r.With == "" || why.Params[r.With] != nil &&
			why.Params[r.With] != "") {
			step.Code = r.Step
			break
		}
	}
	put := func(name string, v any) {
		if v != "" && words.Takes(step.Code, name) {
			if step.Params == nil {
				step.Params = words.Params{}
			}
			step.Params[name] = v
		}
	}
	put("object", object)
	for name, v := range why.Params {
		if text, ok := v.(string); ok {
			f[name] = cmp.Or(text, f[name])
		}
		put(name, v)
	}
	return evidence.Do(step, f)
}
