// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// DefaultVersion is simulated when no version is chosen.
const DefaultVersion = "2026.2.0"

// Version is a ScyllaDB version and, through its methods, the rules that differ between versions. Open source numbers
// (major below 2000) and Enterprise or unified numbers are two lines that are never compared with each other.
type Version struct {
	Major, Minor, Patch int
	// Pre is the pre-release part, such as "rc1"; empty for a release.
	Pre string
}

// ParseVersion reads "2025.2.1", "2025.2", "2025.2.0-rc1", "2025.2.0~rc1" and forms with a trailing "-0.<date>.<hash>".
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

// Release returns what `scylla --version` and /storage_service/scylla_release_version say: <version>-0.<date>.<hash>.
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

// since reports whether v is at least oss on the open source line, or at least ent on the Enterprise and unified line.
// An empty bound means that no version of that line qualifies.
func (v Version) since(oss, ent string) bool {
	bound := oss
	if v.Major >= 2000 {
		bound = ent
	}
	if bound == "" {
		return false
	}
	b, err := ParseVersion(bound)
	if err != nil {
		return false
	}
	switch {
	case v.Major != b.Major:
		return v.Major > b.Major
	case v.Minor != b.Minor:
		return v.Minor > b.Minor
	default:
		return v.Patch >= b.Patch
	}
}

type hostIDForm int

const (
	hostIDAll        hostIDForm = iota // up to 5.2: everything in token metadata, map keyed by IP
	hostIDNormalOnly                   // 5.4 to 6.1: normal and leaving nodes, map keyed by IP
	hostIDByIP                         // 6.2 to 2025.2: every member, map keyed by IP: one of two IDs behind an IP is lost
	hostIDList                         // since 2025.3: list, an IP may come twice
)

func (v Version) hostIDForm() hostIDForm {
	switch {
	case v.since("", "2025.3.0"):
		return hostIDList
	case v.since("6.2.0", "2025.1.0"):
		return hostIDByIP
	case v.since("5.4.0", "2024.1.0"):
		return hostIDNormalOnly
	default:
		return hostIDAll
	}
}

// taskEntity says when the task manager names the node that a topology operation is about.
type taskEntity int

const (
	taskEntityNever     taskEntity = iota // up to 2025.4
	taskEntityWhileOpen                   // 2026.1 to 2026.3: the requesting node, while the request is queued or in transition
	taskEntityTarget                      // since 2026.4: the target, also after the end
)

func (v Version) taskEntity() taskEntity {
	switch {
	case v.since("", "2026.4.0"):
		return taskEntityTarget
	case v.since("", "2026.1.0"):
		return taskEntityWhileOpen
	default:
		return taskEntityNever
	}
}

func (v Version) gossiperNotReady500() bool {
	if v.Major == 2025 && v.Minor == 1 {
		return v.Patch >= 4
	}
	return v.since("", "2025.2.0")
}

func (v Version) indexesAddresses() bool    { return v.since("6.2.0", "") }
func (v Version) gossipByHostID() bool      { return v.since("", "2025.2.0") }
func (v Version) nodeOpsTasks() bool        { return v.since("6.2.0", "2025.1.0") }
func (v Version) zeroLocalHostID() bool     { return !v.since("6.2.0", "2025.1.0") }
func (v Version) replaceByHostID() bool     { return v.since("5.2.0", "2023.1.0") }
func (v Version) raftTopology() bool        { return v.since("6.0.0", "2024.2.0") }
func (v Version) banNotice() bool           { return v.since("", "2026.1.0") }
func (v Version) excludeNode() bool         { return v.since("", "2026.1.0") }
func (v Version) refusesOtherDead() bool    { return v.since("", "2026.3.0") }
func (v Version) sstableQuery() bool        { return v.since("", "2025.2.0") }
func (v Version) schemaCommitlog() bool     { return v.since("5.4.0", "2024.1.0") }
func (v Version) orphanRemover() bool       { return v.since("6.1.0", "2025.1.0") }
func (v Version) notifyUp() bool            { return v.since("6.1.0", "2025.1.0") }
func (v Version) onlyNormalAnnounces() bool { return v.since("", "2026.2.0") }
func (v Version) upgradeAlwaysDone() bool   { return v.since("", "2026.2.0") }
func (v Version) gossipRoutesAfterSS() bool { return !v.since("6.2.0", "2025.1.0") }
func (v Version) zeroTokenNodes() bool      { return v.since("6.2.0", "2025.1.0") }
func (v Version) rebuildsTablets() bool     { return v.since("6.0.0", "2024.2.0") }
func (v Version) sstableNullBug() bool {
	return v.Major == 2025 && v.Minor == 2 && v.Patch <= 2
}
