// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// place is a member's place; rows of reports have no other reference.
type place struct {
	datacenter, rack string
	ordinal          int32
}

// index finds the cluster's objects by name, place and host ID.
type index struct {
	services map[string]*corev1.Service
	pods     map[string]*corev1.Pod
	pvcs     map[string]*corev1.PersistentVolumeClaim
	sets     map[string]*appsv1.StatefulSet // by StatefulSet name
	refs     map[string]matrix.Ref          // by member name
	places   func() map[place]string        // member name
	hosts    map[hostid.ID]string           // host ID -> member name, by the Services
	scyllaDB matrix.Containers
	sorted   []string // the names in refs
	// datacenters of the cluster here, sorted
	datacenters []string
}

func (c *Cluster) makeIndex() *index {
	ix := &index{
		services: make(map[string]*corev1.Service, len(c.Services)),
		pods:     make(map[string]*corev1.Pod, len(c.Pods)),
		pvcs:     make(map[string]*corev1.PersistentVolumeClaim, len(c.PVCs)),
		sets:     make(map[string]*appsv1.StatefulSet, len(c.StatefulSets)),
		refs:     make(map[string]matrix.Ref, len(c.Services)+len(c.Pods)),
		hosts:    make(map[hostid.ID]string, len(c.Services)),
		scyllaDB: matrix.Containers{}, datacenters: c.datacenters(),
	}
	for i := range c.StatefulSets {
		ix.sets[c.StatefulSets[i].Name] = &c.StatefulSets[i]
	}
	for i := range c.Pods {
		p := &c.Pods[i]
		ix.pods[p.Name] = p
		ix.refs[p.Name] = placeOfPod(p)
	}
	for i := range c.Services {
		v := &c.Services[i]
		ix.services[v.Name] = v
		ref := Place(v.Name, v.Labels)
		ref.Datacenter, ref.Rack = cmp.Or(ref.Datacenter, ix.refs[v.Name].Datacenter),
			cmp.Or(ref.Rack, ix.refs[v.Name].Rack)
		ref.HostID = recordedHostID(v)
		ix.refs[v.Name] = ref
		if ref.HostID != "" {
			ix.hosts[ref.HostID] = v.Name
		}
	}
	for name := range ix.refs {
		if own := ix.container(name); own != api.ContainerScyllaDB {
			ix.scyllaDB[name] = own
		}
	}
	ix.places = sync.OnceValue(ix.makePlaces)
	ix.sorted = slices.AppendSeq(make([]string, 0, len(ix.refs)), maps.Keys(ix.refs))
	slices.Sort(ix.sorted)
	if len(c.PVCs) == 0 {
		return ix
	}
	// PVCs without a label were listed with all other PVCs of their namespace.
	wanted := sync.OnceValue(ix.wanted)
	c.PVCs = slices.DeleteFunc(c.PVCs, func(p corev1.PersistentVolumeClaim) bool {
		return api.ClusterOf(p.Labels) != c.Name && !wanted()[p.Name] && !ix.claims(p.Name)
	})
	for i := range c.PVCs {
		ix.pvcs[c.PVCs[i].Name] = &c.PVCs[i]
	}
	return ix
}

// wanted returns the names of the PVCs that members have, or would have.
func (ix *index) wanted() map[string]bool {
	wanted := make(map[string]bool, len(ix.refs))
	for name := range ix.refs {
		wanted[ix.pvcName(name)] = true
		for _, claim := range ix.claimNames(name) {
			wanted[claim] = true
		}
	}
	return wanted
}

// claims reports whether a PVC belongs to a member, or to an ordinal of a StatefulSet: its name is
// TEMPLATE-MEMBER.
func (ix *index) claims(name string) bool {
	for i := range name {
		if name[i] == '-' {
			if _, ok := ix.refs[name[i+1:]]; ok {
				return true
			}
			if set, _, ok := cutOrdinal(name[i+1:]); ok && ix.sets[set] != nil {
				return true
			}
		}
	}
	return false
}

// recordedHostID returns the host ID that a member Service records; empty if it is not valid.
func recordedHostID(v *corev1.Service) hostid.ID {
	return hostid.Known(v.Annotations[api.AnnotationHostID])
}

// Place returns a member's place by its Service: labels datacenter and rack, and the ordinal from
// the digits after the last dash of the name. An absent, empty or out-of-range value stays empty in
// the Ref and blocks a start.
func Place(serviceName string, labels map[string]string) matrix.Ref {
	r := matrix.Ref{Member: serviceName, Datacenter: labels[api.LabelDatacenter], Rack: labels[api.LabelRack]}
	dash := strings.LastIndexByte(serviceName, '-')
	if n, err := strconv.ParseUint(serviceName[dash+1:], 10, 32); dash >= 0 && err == nil && n <= math.MaxInt32 {
		ordinal := int32(n)
		r.Ordinal = &ordinal
	}
	return r
}

// placeOfPod returns a Pod's place by its labels; without them, by the arguments of its ScyllaDB.
func placeOfPod(p *corev1.Pod) matrix.Ref {
	ref := Place(p.Name, p.Labels)
	if ref.Datacenter == "" && ref.Rack == "" {
		if c := ScyllaDBContainer(&p.Spec); c != nil {
			ref.Datacenter, ref.Rack = Argument(c, "--dc"), Argument(c, "--rack")
		}
	}
	return ref
}

func placeKey(r matrix.Ref) place {
	p := place{datacenter: r.Datacenter, rack: r.Rack, ordinal: -1}
	if r.Ordinal != nil {
		p.ordinal = *r.Ordinal
	}
	return p
}

// names returns the members known by Service or Pod, sorted. The caller must not change them.
func (ix *index) names() []string { return ix.sorted }

func (ix *index) makePlaces() map[place]string {
	places := make(map[place]string, len(ix.refs))
	for name, ref := range ix.refs {
		if ref.Ordinal != nil {
			places[placeKey(ref)] = name
		}
	}
	return places
}

// member returns the member of a report's row, "" if it is not in this namespace.
func (ix *index) member(r matrix.Ref) string {
	if r.Ordinal != nil {
		if name, ok := ix.places()[placeKey(r)]; ok {
			return name
		}
	}
	if name, ok := ix.hosts[r.HostID]; ok && r.HostID != "" {
		return name
	}
	return ""
}

// cutOrdinal splits "demo-rack1-2" into "demo-rack1" and 2.
func cutOrdinal(name string) (set string, ordinal int32, ok bool) {
	dash := strings.LastIndexByte(name, '-')
	if dash <= 0 {
		return "", 0, false
	}
	n, err := strconv.ParseUint(name[dash+1:], 10, 31)
	if err != nil {
		return "", 0, false
	}
	return name[:dash], int32(n), true
}

// set returns the StatefulSet of a member, nil if it was not read.
func (ix *index) set(member string) *appsv1.StatefulSet {
	if p := ix.pods[member]; p != nil {
		if o := metav1.GetControllerOfNoCopy(p); o != nil && o.Kind == "StatefulSet" {
			return ix.sets[o.Name]
		}
	}
	name, _, _ := cutOrdinal(member)
	return ix.sets[name]
}

// container returns the name of the container in which a member's ScyllaDB runs: from its Pod, else
// from its StatefulSet.
func (ix *index) container(member string) string {
	if p := ix.pods[member]; p != nil {
		if c := ScyllaDBContainer(&p.Spec); c != nil {
			return c.Name
		}
	}
	if s := ix.set(member); s != nil {
		if c := ScyllaDBContainer(&s.Spec.Template.Spec); c != nil {
			return c.Name
		}
	}
	return api.ContainerScyllaDB
}

// dataPath is ScyllaDB's data directory.
const dataPath = "/var/lib/scylla"

// pvcName returns the name of a member's data PVC: from its Pod, else from the StatefulSet's claim
// templates, else the Scylla Operator's name for it.
func (ix *index) pvcName(member string) string {
	if p := ix.pods[member]; p != nil {
		if vol := dataVolume(&p.Spec); vol != "" {
			for i := range p.Spec.Volumes {
				if v := &p.Spec.Volumes[i]; v.Name == vol && v.PersistentVolumeClaim != nil {
					return v.PersistentVolumeClaim.ClaimName
				}
			}
		}
	}
	if s := ix.set(member); s != nil {
		vol := dataVolume(&s.Spec.Template.Spec)
		for i := range s.Spec.VolumeClaimTemplates {
			if t := &s.Spec.VolumeClaimTemplates[i]; t.Name == vol ||
				vol == "" && len(s.Spec.VolumeClaimTemplates) == 1 {
				return t.Name + "-" + member
			}
		}
	}
	return "data-" + member
}

// dataVolume returns the name of the volume that ScyllaDB's container mounts at dataPath, "" if
// none.
func dataVolume(spec *corev1.PodSpec) string {
	if c := ScyllaDBContainer(spec); c != nil {
		for _, m := range c.VolumeMounts {
			if strings.TrimSuffix(m.MountPath, "/") == dataPath {
				return m.Name
			}
		}
	}
	return ""
}
