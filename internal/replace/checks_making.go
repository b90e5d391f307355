// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"net/netip"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Checks of the objects that create the new node.

func (v *verifier) checkVersion() finding {
	in, p := v.in, v.procedure
	switch {
	case in.ByHostID == release.Yes && p == byHostID:
		return ok(words.New(words.VersionByHostID, "version", in.Version))
	case in.ByHostID == release.No && p == ByAddress:
		return ok(words.New(words.VersionByAddress, "version", in.Version))
	case in.ByHostID == release.Unknown:
		return unknown(words.New(words.VersionUnknown, "why", in.VersionDetail),
			words.New(words.VersionUseFullTag, "check", CheckVersion))
	case v.rec.Open():
		return failed(words.New(words.VersionDoesNotFit, "procedure", string(p), "version", in.Version),
			words.New(words.VersionGoBack))
	}
	return failed(words.New(words.VersionCannot, "version", in.Version, "procedure", string(p)),
		words.New(words.VersionUpgrade))
}

// ownAddresses returns the addresses of the dead node: the cluster IP of its Service or, for a
// headless Service, the recorded address and the address of its Pod.
func ownAddresses(in *Input, rec Record) []netip.Addr {
	// "None" for a headless Service
	if ip, err := netip.ParseAddr(in.Self.Service.Spec.ClusterIP); err == nil {
		return []netip.Addr{ip.Unmap()}
	}
	texts := []string{rec.RecordedAddress}
	if in.Self.Pod != nil {
		texts = append(texts, in.Self.Pod.Status.PodIP)
	}
	var out []netip.Addr
	for _, text := range texts {
		if ip, err := netip.ParseAddr(text); err == nil {
			out = append(out, ip.Unmap())
		}
	}
	return out
}

// checkAddress finds the address to replace. It is recorded before the Pod is deleted, because
// another Pod may get the address afterwards.
func (v *verifier) checkAddress() finding {
	in, member := v.in, v.in.Self.Member
	own := ownAddresses(in, v.rec)
	if len(own) == 0 {
		return unknown(words.New(words.AddressUnknown, "member", member), words.New(words.AddressRemoveNode))
	}
	addr := own[0]
	if text, given := v.rec.Address(); given {
		a, err := netip.ParseAddr(text)
		if err != nil || !slices.Contains(own, a) {
			return failed(words.New(words.AddressNotOwn, "label", api.LabelReplace, "address", text, "member", member,
				"own", own[0].String()), emptyLabel(in))
		}
		addr = a
	}
	if addr.Is6() {
		return failed(words.New(words.AddressIPv6, "address", addr.String()), words.New(words.AddressUpgrade))
	}
	for _, o := range in.Others {
		if slices.Contains(o.Addresses(), addr) {
			return failed(words.New(words.AddressOfAnother, "address", addr.String(), "node", refName(o.Recorded())),
				words.New(words.AddressRemoveNode))
		}
	}
	v.address = addr.String()
	return ok(words.New(words.AddressOwn, "member", member, "address", v.address))
}

func (v *verifier) checkPlace() finding {
	s := v.in.Self.Ref
	place := func(r matrix.Ref) string { return r.Datacenter + "/" + r.Rack }
	if s.Datacenter == "" || s.Rack == "" {
		return unknown(words.New(words.PlaceUnlabelled, "member", s.Member, "labels",
			[]string{api.LabelDatacenter, api.LabelRack}), words.New(words.PlaceLabelService))
	}
	for row := range v.all.Rows() {
		r := row.Reporter
		if r.HostID == v.target && (r.Datacenter != "" || r.Rack != "") &&
			(r.Datacenter != s.Datacenter || r.Rack != s.Rack) {
			return failed(words.New(words.PlaceDiffers, "node", place(r), "member", place(s)),
				words.New(words.PlaceCorrect))
		}
	}
	if ss := v.in.Self.StatefulSet; ss != nil {
		of := matrix.Ref{Datacenter: ss.Labels[api.LabelDatacenter], Rack: ss.Labels[api.LabelRack]}
		if of.Datacenter != "" && of.Datacenter != s.Datacenter || of.Rack != "" && of.Rack != s.Rack {
			return failed(words.New(words.PlaceOfStatefulSetDiffers, "set", ss.Name, "place", place(of), "member",
				place(s)), words.New(words.PlaceCorrect))
		}
	}
	return ok(words.New(words.PlaceSame, "place", place(s)))
}

func checkStatefulSet(in *Input) finding {
	ss, member, pod := in.Self.StatefulSet, in.Self.Member, in.Self.Pod
	makes := words.New(words.StatefulSetMustMake)
	if ss == nil {
		return unknown(words.New(words.StatefulSetNotFound, "member", member), makes)
	}
	first, n := cluster.Ordinals(ss)
	switch {
	case ss.DeletionTimestamp != nil:
		return failed(words.New(words.StatefulSetDeleting, "set", ss.Name), makes)
	case in.Self.Ordinal == nil:
		return unknown(words.New(words.OrdinalUnknown, "member", member), makes)
	case int(*in.Self.Ordinal) < first || int(*in.Self.Ordinal) >= first+n:
		return failed(words.New(words.StatefulSetScaledAway, "set", ss.Name, "replicas", n, "member", member),
			words.New(words.StatefulSetScaleBack, "wanted", int(*in.Self.Ordinal)-first+1))
	case len(ss.Spec.VolumeClaimTemplates) == 0:
		return failed(words.New(words.StatefulSetNoVolume, "set", ss.Name), words.New(words.StatefulSetNeedsVolume))
	case pod != nil && !in.Self.Owned() && in.Self.Deleting():
		// The StatefulSet was recreated: it creates its Pod once the old one is deleted.
		why, cure := in.cannotEnd()
		if why.IsZero() {
			why, cure = words.New(words.WaitPodGone, "pod", pod.Name), words.New(words.PodEnds)
		}
		return failed(why, cure)
	case pod != nil && !in.Self.Owned():
		return failed(words.New(words.PodOfAnother, "pod", pod.Name, "set", ss.Name),
			words.New(words.PodOfAnotherDelete))
	}
	return ok(words.New(words.StatefulSetMakes, "set", ss.Name, "member", member))
}

func (v *verifier) checkLauncher() finding {
	switch m := v.in.Self; m.Launcher() {
	case release.Yes:
		return ok(words.New(words.LauncherThere, "set", m.StatefulSet.Name))
	case release.No:
		return failed(words.New(words.LauncherMissing, "set", m.StatefulSet.Name), words.New(words.LauncherAdd))
	}
	return unknown(words.New(words.LauncherUnknown), words.New(words.LauncherSee))
}

// checkSeeds: a new node whose only seed is itself fails to start, after its target's volume was
// deleted.
func (v *verifier) checkSeeds() finding {
	choice := *v.in.Seeds
	if choice.Usable() && choice.Code == words.SeedsFound {
		return ok(choice.Message())
	}
	return failed(choice.Message(), words.New(words.SeedsWanted))
}
