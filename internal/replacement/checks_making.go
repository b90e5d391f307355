// SPDX-License-Identifier: Apache-2.0

package replacement

import (
	"net/netip"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Checks of the objects that create the new node.

func (v *verifier) checkVersion() finding {
	in, p := v.in, v.procedure
	switch {
	case in.ByHostID == release.Yes && p == ByHostID:
		return ok(words.New(words.VersionByHostID, "version", in.Version))
	case in.ByHostID == release.No && p == ByAddress:
		return ok(words.New(words.VersionByAddress, "version", in.Version))
	case in.ByHostID == release.Unknown:
		return unknown(words.New(words.VersionUnknown, "why", in.VersionDetail), words.New(words.VersionUseFullTag, "check", CheckVersion))
	case v.rec.Open():
		return failed(words.New(words.VersionDoesNotFit, "procedure", string(p), "version", in.Version), words.New(words.VersionGoBack))
	}
	return failed(words.New(words.VersionCannot, "version", in.Version, "procedure", string(p)), words.New(words.VersionUpgrade))
}

// ownAddresses are the addresses that the dead node had: its Service's, or of a headless Service the recorded one and its Pod's.
func ownAddresses(in *Input, rec Record) []netip.Addr {
	if ip, err := netip.ParseAddr(in.Service.ClusterIP); err == nil { // "None" for a headless Service
		return []netip.Addr{ip.Unmap()}
	}
	texts := []string{rec.RecordedAddress}
	if in.Pod != nil {
		texts = append(texts, in.Pod.IP)
	}
	var out []netip.Addr
	for _, text := range texts {
		if ip, err := netip.ParseAddr(text); err == nil {
			out = append(out, ip.Unmap())
		}
	}
	return out
}

// checkAddress finds the address to replace. It is recorded before the Pod goes, because afterwards another Pod may get it.
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
			return failed(words.New(words.AddressNotOwn, "label", api.LabelReplace, "address", text, "member", member, "own", own[0].String()), emptyLabel(in))
		}
		addr = a
	}
	if addr.Is6() {
		return failed(words.New(words.AddressIPv6, "address", addr.String()), words.New(words.AddressUpgrade))
	}
	for _, o := range in.Others {
		for _, a := range o.Addresses {
			if other, err := netip.ParseAddr(a); err == nil && other.Unmap() == addr {
				return failed(words.New(words.AddressOfAnother, "address", addr.String(), "node", refName(o.Ref)), words.New(words.AddressRemoveNode))
			}
		}
	}
	v.address = addr.String()
	return ok(words.New(words.AddressOwn, "member", member, "address", v.address))
}

func (v *verifier) checkPlace() finding {
	s := v.in.Self
	place := func(r matrix.Ref) string { return r.Datacenter + "/" + r.Rack }
	if s.Datacenter == "" || s.Rack == "" {
		return unknown(words.New(words.PlaceUnlabelled, "member", s.Member, "labels", []string{api.LabelDatacenter, api.LabelRack}), words.New(words.PlaceLabelService))
	}
	for i := range v.in.Rows {
		r := v.in.Rows[i].Reporter
		if r.HostID == v.target && (r.Datacenter != "" || r.Rack != "") && (r.Datacenter != s.Datacenter || r.Rack != s.Rack) {
			return failed(words.New(words.PlaceDiffers, "node", place(r), "member", place(s)), words.New(words.PlaceCorrect))
		}
	}
	if ss := v.in.StatefulSet; ss != nil && (ss.Datacenter != "" && ss.Datacenter != s.Datacenter || ss.Rack != "" && ss.Rack != s.Rack) {
		return failed(words.New(words.PlaceOfStatefulSetDiffers, "set", ss.Name, "place", ss.Datacenter+"/"+ss.Rack, "member", place(s)), words.New(words.PlaceCorrect))
	}
	return ok(words.New(words.PlaceSame, "place", place(s)))
}

func checkStatefulSet(in *Input) finding {
	ss, member := in.StatefulSet, in.Self.Member
	makes := words.New(words.StatefulSetMustMake)
	switch {
	case ss == nil:
		return unknown(words.New(words.StatefulSetNotFound, "member", member), makes)
	case ss.Deleting:
		return failed(words.New(words.StatefulSetDeleting, "set", ss.Name), makes)
	case in.Self.Ordinal == nil:
		return unknown(words.New(words.OrdinalUnknown, "member", member), makes)
	case *in.Self.Ordinal < ss.First || *in.Self.Ordinal >= ss.First+ss.Replicas:
		return failed(words.New(words.StatefulSetScaledAway, "set", ss.Name, "replicas", int(ss.Replicas), "member", member), words.New(words.StatefulSetRemoveNode))
	case len(ss.ClaimTemplates) == 0:
		return failed(words.New(words.StatefulSetNoVolume, "set", ss.Name), words.New(words.StatefulSetNeedsVolume))
	case in.Pod != nil && !in.Pod.Owned && in.Pod.Deleting:
		// Of a StatefulSet that was deleted and applied again: the new one makes its Pod when this one is gone.
		why, cure := in.cannotEnd()
		if why.IsZero() {
			why, cure = words.New(words.WaitPodGone, "pod", in.Pod.Name), words.New(words.PodEnds)
		}
		return failed(why, cure)
	case in.Pod != nil && !in.Pod.Owned:
		return failed(words.New(words.PodOfAnother, "pod", in.Pod.Name, "set", ss.Name), words.New(words.PodOfAnotherDelete))
	}
	return ok(words.New(words.StatefulSetMakes, "set", ss.Name, "member", member))
}

func (v *verifier) checkLauncher() finding {
	ss := v.in.StatefulSet
	if ss == nil {
		return unknown(words.New(words.LauncherUnknown), words.New(words.LauncherSee))
	}
	switch ss.Launcher {
	case release.Yes:
		return ok(words.New(words.LauncherThere, "set", ss.Name))
	case release.No:
		return failed(words.New(words.LauncherMissing, "set", ss.Name), words.New(words.LauncherAdd))
	}
	return unknown(words.New(words.LauncherUnknown), words.New(words.LauncherSee))
}

// checkSeeds: a replacement whose only seed is itself fails to start, after its target's volume was deleted.
func (v *verifier) checkSeeds() finding {
	choice := *v.in.Seeds
	if choice.Usable() && choice.Code == words.SeedsFound {
		return ok(choice.Message())
	}
	return failed(choice.Message(), words.New(words.SeedsWanted))
}
