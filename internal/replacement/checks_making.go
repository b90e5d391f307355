// SPDX-License-Identifier: Apache-2.0

package replacement

import (
	"net/netip"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/code"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
)

// Checks of the objects that create the new node.

func (v *verifier) checkVersion() finding {
	in, p := v.in, v.procedure
	switch {
	case in.ByHostID == release.Yes && p == ByHostID:
		return ok(code.New(saysVersionByHostID, "version", in.Version))
	case in.ByHostID == release.No && p == ByAddress:
		return ok(code.New(saysVersionByAddress, "version", in.Version))
	case in.ByHostID == release.Unknown:
		return unknown(code.New(saysVersionUnknown, "why", in.VersionDetail), code.New(saysVersionUseFullTag, "check", CheckVersion))
	case v.rec.Open():
		return failed(code.New(saysVersionDoesNotFit, "procedure", string(p), "version", in.Version), code.New(saysVersionGoBack))
	}
	return failed(code.New(saysVersionCannot, "version", in.Version, "procedure", string(p)), code.New(saysVersionUpgrade))
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
		return unknown(code.New(saysAddressUnknown, "member", member), code.New(saysAddressRemoveNode))
	}
	addr := own[0]
	if text, given := v.rec.Address(); given {
		a, err := netip.ParseAddr(text)
		if err != nil || !slices.Contains(own, a) {
			return failed(code.New(saysAddressNotOwn, "label", api.LabelReplace, "address", text, "member", member, "own", own[0].String()), emptyLabel(in))
		}
		addr = a
	}
	if addr.Is6() {
		return failed(code.New(saysAddressIPv6, "address", addr.String()), code.New(saysAddressUpgrade))
	}
	for _, o := range in.Others {
		for _, a := range o.Addresses {
			if other, err := netip.ParseAddr(a); err == nil && other.Unmap() == addr {
				return failed(code.New(saysAddressOfAnother, "address", addr.String(), "node", refName(o.Ref)), code.New(saysAddressRemoveNode))
			}
		}
	}
	v.address = addr.String()
	return ok(code.New(saysAddressOwn, "member", member, "address", v.address))
}

func (v *verifier) checkPlace() finding {
	s := v.in.Self
	place := func(r matrix.Ref) string { return r.Datacenter + "/" + r.Rack }
	if s.Datacenter == "" || s.Rack == "" {
		return unknown(code.New(saysPlaceUnlabelled, "member", s.Member, "labels", []string{api.LabelDatacenter, api.LabelRack}), code.New(saysPlaceLabelService))
	}
	for i := range v.in.Rows {
		r := v.in.Rows[i].Reporter
		if r.HostID == v.target && (r.Datacenter != "" || r.Rack != "") && (r.Datacenter != s.Datacenter || r.Rack != s.Rack) {
			return failed(code.New(saysPlaceDiffers, "node", place(r), "member", place(s)), code.New(saysPlaceCorrect))
		}
	}
	if ss := v.in.StatefulSet; ss != nil && (ss.Datacenter != "" && ss.Datacenter != s.Datacenter || ss.Rack != "" && ss.Rack != s.Rack) {
		return failed(code.New(saysPlaceOfStatefulSetDiffers, "set", ss.Name, "place", ss.Datacenter+"/"+ss.Rack, "member", place(s)), code.New(saysPlaceCorrect))
	}
	return ok(code.New(saysPlaceSame, "place", place(s)))
}

func checkStatefulSet(in *Input) finding {
	ss, member := in.StatefulSet, in.Self.Member
	makes := code.New(saysStatefulSetMustMake)
	switch {
	case ss == nil:
		return unknown(code.New(saysStatefulSetNotFound, "member", member), makes)
	case ss.Deleting:
		return failed(code.New(saysStatefulSetDeleting, "set", ss.Name), makes)
	case in.Self.Ordinal == nil:
		return unknown(code.New(saysOrdinalUnknown, "member", member), makes)
	case *in.Self.Ordinal < ss.First || *in.Self.Ordinal >= ss.First+ss.Replicas:
		return failed(code.New(saysStatefulSetScaledAway, "set", ss.Name, "replicas", int(ss.Replicas), "member", member), code.New(saysStatefulSetRemoveNode))
	case len(ss.ClaimTemplates) == 0:
		return failed(code.New(saysStatefulSetNoVolume, "set", ss.Name), code.New(saysStatefulSetNeedsVolume))
	case in.Pod != nil && !in.Pod.Owned && in.Pod.Deleting:
		// Of a StatefulSet that was deleted and applied again: the new one makes its Pod when this one is gone.
		why, cure := in.cannotEnd()
		if why.IsZero() {
			why, cure = code.New(saysWaitPodGone, "pod", in.Pod.Name), code.New(saysPodEnds)
		}
		return failed(why, cure)
	case in.Pod != nil && !in.Pod.Owned:
		return failed(code.New(saysPodOfAnother, "pod", in.Pod.Name, "set", ss.Name), code.New(saysPodOfAnotherDelete))
	}
	return ok(code.New(saysStatefulSetMakes, "set", ss.Name, "member", member))
}

func (v *verifier) checkLauncher() finding {
	ss := v.in.StatefulSet
	if ss == nil {
		return unknown(code.New(saysLauncherUnknown), code.New(saysLauncherSee))
	}
	switch ss.Launcher {
	case release.Yes:
		return ok(code.New(saysLauncherThere, "set", ss.Name))
	case release.No:
		return failed(code.New(saysLauncherMissing, "set", ss.Name), code.New(saysLauncherAdd))
	}
	return unknown(code.New(saysLauncherUnknown), code.New(saysLauncherSee))
}

// checkSeeds: a replacement whose only seed is itself fails to start, after its target's volume was deleted.
func (v *verifier) checkSeeds() finding {
	choice := *v.in.Seeds
	if choice.Usable() && choice.Code == bootstrap.SeedsFound {
		return ok(choice.Message())
	}
	return failed(choice.Message(), code.New(saysSeedsWanted))
}
