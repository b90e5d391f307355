// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// Version is a ScyllaDB version and, through its methods, the rules that differ between versions.
// Open source numbers (major below 2000) and Enterprise or unified numbers are two lines that are
// never compared with each other. No branch of Enterprise is public: its bounds are those of the
// open source branch that it was made of.
type Version struct {
	Major, Minor, Patch int
	// Pre is the pre-release part, such as "rc1"; empty for a release.
	Pre string
}

// ParseVersion reads "2025.2.1", "2025.2", "2025.2.0-rc1", "2025.2.0~rc1" and forms with a
// trailing "-0.<date>.<hash>".
func ParseVersion(s string) (Version, error) {
	var v Version
	core := strings.TrimSpace(s)
	if i := strings.Index(core, "-0."); i > 0 {
		core = core[:i]
	}
	core = strings.Replace(core, "~", "-", 1)
	core, v.Pre, _ = strings.Cut(core, "-")
	parts := strings.Split(core, ".")
	if len(parts) < 2 || len(parts) > 3 {
		return Version{}, fmt.Errorf("parse ScyllaDB version %q: want MAJOR.MINOR or MAJOR.MINOR.PATCH", s)
	}
	for i, dst := range []*int{&v.Major, &v.Minor, &v.Patch}[:len(parts)] {
		n, err := strconv.Atoi(parts[i])
		if err != nil || n < 0 {
			return Version{}, fmt.Errorf("parse ScyllaDB version %q: %q is not a number", s, parts[i])
		}
		*dst = n
	}
	return v, nil
}

// String returns the version as image tags write it, for example "2025.2.0-rc1".
func (v Version) String() string {
	s := fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
	if v.Pre != "" {
		s += "-" + v.Pre
	}
	return s
}

// Release is what `scylla --version` and /storage_service/scylla_release_version say:
// <version>-0.<date>.<hash>.
func (v Version) Release() string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(v.String()))
	s := fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
	if v.Pre != "" {
		s += "~" + v.Pre
	}
	date := 20240808
	if v.Major >= 2000 {
		date = v.Major*10000 + min(1+v.Minor*3, 12)*100 + 8
	}
	return fmt.Sprintf("%s-0.%d.%012x", s, date, h.Sum64()&0xffffffffffff)
}

// since is true where v is at least oss on the open source line, or at least ent on the Enterprise
// and unified line. An empty bound means that no version of that line qualifies.
func (v Version) since(oss, ent string) bool {
	bound := oss
	if v.Major >= 2000 {
		bound = ent
	}
	if bound == "" {
		return false
	}
	b, err := ParseVersion(bound)
	return err == nil && cmp.Or(cmp.Compare(v.Major, b.Major), cmp.Compare(v.Minor, b.Minor), cmp.Compare(v.Patch, b.Patch)) >= 0
}

// HostIDForm is what /storage_service/host_id lists. api/token_metadata.cc of each branch.
type HostIDForm int

const (
	HostIDAll        HostIDForm = iota // up to 5.2: everything in token metadata, map keyed by IP
	HostIDNormalOnly                   // 5.4 to 6.1: normal and leaving nodes, map keyed by IP
	HostIDByIP                         // 6.2 to 2025.2: every member, map keyed by IP: one of two IDs behind an IP is lost
	HostIDList                         // since 2025.3: list, an IP may come twice
)

// HostIDForm of this version.
func (v Version) HostIDForm() HostIDForm {
	switch {
	case v.since("", "2025.3.0"):
		return HostIDList
	case v.since("6.2.0", "2025.1.0"):
		return HostIDByIP
	case v.since("5.4.0", "2024.1.0"):
		return HostIDNormalOnly
	}
	return HostIDAll
}

// TaskEntity says when the task manager names the node that a topology operation is about.
// node_ops/task_manager_module.cc of each branch; commit 47645d4402.
type TaskEntity int

const (
	TaskEntityNever     TaskEntity = iota // up to 2025.4
	TaskEntityWhileOpen                   // 2026.1 to 2026.3: the requesting node, while the request is queued or in transition
	TaskEntityTarget                      // since 2026.4: the target, also after the end
)

// TaskEntity of this version.
func (v Version) TaskEntity() TaskEntity {
	switch {
	case v.since("", "2026.4.0"):
		return TaskEntityTarget
	case v.since("", "2026.1.0"):
		return TaskEntityWhileOpen
	}
	return TaskEntityNever
}

// GossiperNotReady: host_id answers 500 while gossip is off. Commit e364995e28.
func (v Version) GossiperNotReady() bool {
	if v.Major == 2025 && v.Minor == 1 {
		return v.Patch >= 4
	}
	return v.since("", "2025.2.0")
}

// What a version does, and where that began.

// IndexesAddresses: system.peers of a gossip that knows addresses alone keeps one host ID for each.
func (v Version) IndexesAddresses() bool { return v.since("6.2.0", "") }

// GossipByHostID: gossip tells nodes apart by host ID, not by address. gms/gossiper.cc of 2025.2.
func (v Version) GossipByHostID() bool { return v.since("", "2025.2.0") }

// NodeOpsTasks: the task manager lists requests. node_ops/task_manager_module.cc.
func (v Version) NodeOpsTasks() bool { return v.since("6.2.0", "2025.1.0") }

// ZeroLocalHostID: hostid/local answers zeroes before it is set. Up to commit 10566256fd.
func (v Version) ZeroLocalHostID() bool { return !v.since("6.2.0", "2025.1.0") }

// ReplaceByHostID: there is replace_node_first_boot. Commit 32e79185d4.
func (v Version) ReplaceByHostID() bool { return v.since("5.2.0", "2023.1.0") }

// RaftTopology: group 0 keeps the topology.
func (v Version) RaftTopology() bool { return v.since("6.0.0", "2024.2.0") }

// BanNotice: a member tells a banned node, which ends with code 0. SS:6981, 2026.1 SS:8203.
func (v Version) BanNotice() bool { return v.since("", "2026.1.0") }

// OtherDown: see Replacement.OtherDown. SS:6590, 2026.3 SS:2842; commit e9abb31e.
func (v Version) OtherDown() bool { return v.since("", "2026.3.0") }

// SSTableQuery: the image has `scylla sstable query`. tools/scylla-sstable.cc of 2025.2.
func (v Version) SSTableQuery() bool { return v.since("", "2025.2.0") }

// SchemaCommitlog: system.local is not flushed when it changes. Commit 7881ce1e09.
func (v Version) SchemaCommitlog() bool { return v.since("5.4.0", "2024.1.0") }

// OrphanRemover: see Orphan. Commit 6c90a25014.
func (v Version) OrphanRemover() bool { return v.since("6.1.0", "2025.1.0") }

// NotifyUp: a node that has joined tells every other one before it opens CQL. Commit 28c0a27467.
func (v Version) NotifyUp() bool { return v.since("6.1.0", "2025.1.0") }

// UpgradeAlwaysDone: raft_topology/upgrade is a constant. Commit be6cced978.
func (v Version) UpgradeAlwaysDone() bool { return v.since("", "2026.2.0") }

// GossipRoutesAfterSS: /gossiper comes after /storage_service at the start. main.cc of 6.0.
func (v Version) GossipRoutesAfterSS() bool { return !v.since("6.2.0", "2025.1.0") }

// ZeroTokenNodes: there is join_ring=false. locator/topology.hh of 6.2.
func (v Version) ZeroTokenNodes() bool { return v.since("6.2.0", "2025.1.0") }

// AwaitsTablets: a node that has replaced another one is COMPLETED only when the tablets of that
// one are rebuilt. SS:1513, SS:1725; commit 1c71f44e63.
func (v Version) AwaitsTablets() bool { return v.since("6.0.0", "2024.2.0") }

// Passes is true for a request that does not wait until the tablets that migrate have migrated.
// Only a join does not, and only if it would be the next one to begin. TC:2011, TC:2080;
// commit 4d727e1f.
func (v Version) Passes(k Kind) bool { return k == Join && v.since("", "2026.3.0") }

// LeavingAnnounces: see Announces. Up to 2026.1; PR #29445.
func (v Version) LeavingAnnounces() bool { return !v.since("", "2026.2.0") }

// SSTableNullBug: `scylla sstable query --output-format=json` mishandles a NULL.
// tools/scylla-sstable.cc of 2025.2.2.
func (v Version) SSTableNullBug() bool {
	return v.Major == 2025 && v.Minor == 2 && v.Patch <= 2
}

const featuresName = "SCYLLASIM_"

// RaftTopologyFeatures are those that an upgrade to Raft topology needs of every node.
const RaftTopologyFeatures = featuresName + "6_0"

// Features is the name of what this version supports. One name stands for all cluster features of
// a minor version; a later version supports those of every earlier one.
func (v Version) Features() string { return fmt.Sprintf("%s%d_%d", featuresName, v.Major, v.Minor) }

// Supports is true for a node with features have that understands a cluster with want.
func Supports(have, want string) bool { return compareFeatures(have, want) >= 0 }

func compareFeatures(a, b string) int {
	number := func(s string) (major, minor int) {
		// A value that does not parse is 0.0: a node that supports nothing, a cluster that asks for nothing.
		_, _ = fmt.Sscanf(strings.TrimPrefix(s, featuresName), "%d_%d", &major, &minor)
		return major, minor
	}
	x, xm := number(a)
	y, ym := number(b)
	return cmp.Or(cmp.Compare(x, y), cmp.Compare(xm, ym))
}

// Enabled is what a cluster has enabled, for good: what each of its normal nodes supports. Enabling
// is a barrier of all of them, so that one that is DOWN delays it. TC:1531, TC:3212; since 6.0.
func Enabled(was string, supported []string, dead []string) string {
	lowest := ""
	for _, f := range supported {
		if lowest == "" || compareFeatures(f, lowest) < 0 {
			lowest = f
		}
	}
	if len(dead) > 0 || compareFeatures(lowest, was) < 0 {
		return was
	}
	return lowest
}
