// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/pattern"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// placeReason is a reason of the scheduler (pkg/scheduler/framework/plugins of Kubernetes) for
// which a Kubernetes node does not take a Pod. param is the name of the pattern's group.
type placeReason struct {
	pattern func() *regexp.Regexp
	code    words.Code
	param   string
}

// placeReasons are in the order in which they decide the step: what lacks for every Kubernetes
// node, then what lacks where the volume can be used, and last that it cannot be used on the
// others.
var placeReasons = []placeReason{
	{pattern.Lazy(`persistentvolumeclaim "([^"]+)" not found`), words.PlaceNoClaim, "claim"},
	{pattern.Lazy(`persistentvolumeclaim "([^"]+)" is being deleted`), words.PlaceClaimEnds, "claim"},
	{pattern.Lazy(`unbound immediate PersistentVolumeClaims|didn't find available persistent volumes to bind|` +
		`not have enough free storage`), words.PlaceUnbound, ""},
	{pattern.Lazy(`Insufficient ([^,.]+)`), words.PlaceResource, "resource"},
	{pattern.Lazy(`Too many pods`), words.PlaceFull, ""},
	{pattern.Lazy(`exceed max volume count`), words.PlaceVolumes, ""},
	{pattern.Lazy(`were unschedulable`), words.PlaceCordon, ""},
	{pattern.Lazy(`taints? \{([^}]*)\}`), words.PlaceTaint, "taint"},
	{pattern.Lazy(`taint`), words.PlaceTaint, ""},
	{pattern.Lazy(`match pod (?:anti-affinity|affinity|topology spread)`), words.PlaceApart, ""},
	{pattern.Lazy(`match (?:Pod's )?node (?:affinity|selector)`), words.PlaceAffinity, ""},
	{pattern.Lazy(`volume node affinity conflict|PersistentVolume's node affinity`), words.PlaceVolume, ""},
}

// placeParts begins a part of the scheduler's message: a number of Kubernetes nodes, and the
// reason.
var placeParts = pattern.Lazy(`(?:^|, )(\d+) `)

// noPlace returns why the scheduler finds no Kubernetes node for the member's Pod.
func (c *Cluster) noPlace(pod *corev1.Pod) words.Message {
	said := podCondition(pod, corev1.PodScheduled)
	if said == nil || said.Reason != corev1.PodReasonUnschedulable {
		return words.Message{} // it has not been tried
	}
	reasons := placesOf(said.Message)
	if len(reasons) == 0 {
		return words.Message{}
	}
	first := reasons[0]
	for _, r := range placeReasons {
		for _, m := range reasons {
			if m.Code == r.code {
				return c.noPlaceFor(pod, m, reasons)
			}
		}
	}
	return c.noPlaceFor(pod, first, reasons)
}

// noPlaceFor joins the reasons with the deciding one, and the claim if that is at fault.
func (c *Cluster) noPlaceFor(pod *corev1.Pod, first words.Message, all []words.Message) words.Message {
	m := words.New(words.PodNoPlace, "reasons", all, "first", first.Code, "resource", first.Params["resource"],
		"taint", first.Params["taint"])
	if n, pinned, _ := c.volumeNode(pod.Name); pinned && n.State != "" {
		m.Params["kubernetesNode"] = n.Name
	}
	m.Params["volume"] = c.volumeOf(pod.Name)
	switch first.Code {
	case words.PlaceNoClaim, words.PlaceClaimEnds:
		m.Params["claim"] = first.Params["claim"]
	case words.PlaceUnbound:
		m.Params["claim"] = c.ix.pvcName(pod.Name)
		for _, p := range c.Claims(pod.Name) {
			if p.Spec.VolumeName == "" {
				return c.unbound(p)
			}
		}
	}
	return m
}

// unbound returns that a claim has no volume, with the words of Kubernetes' controllers about it.
func (c *Cluster) unbound(p *corev1.PersistentVolumeClaim) words.Message {
	m := words.New(words.ClaimNotBound, "claim", p.Name)
	if class := p.Spec.StorageClassName; class != nil {
		m.Params["class"] = *class
	}
	if size, ok := p.Spec.Resources.Requests[corev1.ResourceStorage]; ok {
		m.Params["size"] = size.String()
	}
	for i := range c.Events {
		if e := &c.Events[i]; e.InvolvedObject.Kind == "PersistentVolumeClaim" && e.InvolvedObject.Name == p.Name {
			m.Params["words"] = FirstLine(e.Message)
			break
		}
	}
	return m
}

// placesOf splits the scheduler's message: "0/3 nodes are available: 1 Insufficient cpu, 2 node(s)
// had volume node affinity conflict. preemption: ...".
func placesOf(message string) []words.Message {
	message, _, _ = strings.Cut(message, "preemption:")
	if _, after, found := strings.Cut(message, "nodes are available: "); found {
		message = after
	}
	message = strings.TrimRight(strings.TrimSpace(message), ". ")
	if message == "" {
		return nil
	}
	starts := placeParts().FindAllStringSubmatchIndex(message, -1)
	if len(starts) == 0 {
		return []words.Message{placeOf(message, 0)}
	}
	var out []words.Message
	for i, at := range starts {
		end := len(message)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		count, _ := strconv.Atoi(message[at[2]:at[3]]) // digits
		out = append(out, placeOf(message[at[1]:end], count))
	}
	return out
}

// placeOf returns one reason; an unknown one in the scheduler's words.
func placeOf(text string, count int) words.Message {
	m := words.New(words.PlaceOther, "words", FirstLine(text))
	for _, r := range placeReasons {
		if found := r.pattern().FindStringSubmatch(text); found != nil {
			m = words.New(r.code)
			m.Params = words.Params{}
			if r.param != "" {
				m.Params[r.param] = strings.TrimRight(strings.TrimSpace(found[1]), ": ")
			}
			break
		}
	}
	if count > 0 {
		m.Params["count"] = count
	}
	return m
}
