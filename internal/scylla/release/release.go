// SPDX-License-Identifier: Apache-2.0

// Package release has ScyllaDB's release numbers: their syntax, their order, and the features of
// each release. It must do no I/O, because packages that only decide import it.
package release

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/memory"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/pattern"
)

// Support is whether a version has a feature. The zero value is Unknown, neither Yes nor No.
type Support uint8

// Values of Support.
const (
	Unknown Support = iota
	No
	Yes
)

// String returns "unknown", "no" or "yes".
func (s Support) String() string {
	switch s {
	case Yes:
		return "yes"
	case No:
		return "no"
	}
	return "unknown"
}

// Version is a ScyllaDB version. If Known is false, every feature is Unknown.
type Version struct {
	// Raw is the original text.
	Raw string
	// Major, Minor, Patch are valid if Known. From 2021 on the numbers belong to Enterprise or,
	// from 2025.1, to the unified line. For a feature they are never compared with open source
	// numbers (5.x, 6.x).
	Major, Minor, Patch int
	// Pre is the pre-release part ("rc1", "dev", "candidate-20250601"), empty for a release.
	Pre string
	// Known is false if the text is not a version ("latest", only a digest).
	Known bool
}

// String returns the original text, "unknown" if it is empty.
func (v Version) String() string {
	if v.Raw == "" {
		return "unknown"
	}
	return v.Raw
}

// Enterprise reports whether the version belongs to Enterprise or the unified line.
func (v Version) Enterprise() bool { return v.Known && v.Major >= 2000 }

var (
	versionText = pattern.Lazy(`^(0|[1-9]\d{0,4})\.(0|[1-9]\d{0,4})\.(0|[1-9]\d{0,4})(?:[-~](.+))?$`)
	// Before 5.1 candidates were named 5.0.rc8, without the third number.
	oldCandidate = pattern.Lazy(`^([1-9]\d?)\.(0|[1-9]\d?)\.(rc\d+)(?:[-~].+)?$`)
	// A package's release: 0.20240808.a56f7ce21ad4, or 20240904.4c26004e5311 on Enterprise. It
	// follows the version and does not make it a pre-release.
	packageRelease = pattern.Lazy(`^(?:0\.)?\d{8}\.[0-9a-z]+$`)
)

var versions, images memory.Of[Version]

// Parse parses the output of `scylla --version`, scylla_release_version or an image tag: 2026.2.4,
// 2025.2.0-rc3, 2025.2.0~rc3-0.2025..., 6.0.3-0.20240808.a56f7ce21ad4, 5.0.rc8. On error the
// Version has only Raw.
func Parse(text string) (Version, error) { return versions.Read(text, parse) }

func parse(text string) (Version, error) {
	text = strings.TrimSpace(text)
	unknown := Version{Raw: text}
	if m := oldCandidate().FindStringSubmatch(text); m != nil {
		v := Version{Raw: text, Pre: m[3], Known: true}
		v.Major, _ = strconv.Atoi(m[1])
		v.Minor, _ = strconv.Atoi(m[2])
		return v, nil
	}
	m := versionText().FindStringSubmatch(text)
	if m == nil {
		if text == "" {
			return unknown, errors.New("no version given")
		}
		return unknown, fmt.Errorf("%q is not a full ScyllaDB version such as 2025.2.1 or 2025.2.0-rc1", text)
	}
	v := Version{Raw: text, Known: true}
	for i, n := range []*int{&v.Major, &v.Minor, &v.Patch} {
		*n, _ = strconv.Atoi(m[i+1])
	}
	if rest := m[4]; rest != "" && !packageRelease().MatchString(rest) {
		v.Pre = rest
		// dev-0.20260801.9d1b1e2 and rc2-20240904.4c26004e5311 end in the package's release, which
		// does not affect the order.
		for _, cut := range []string{"-", "~"} {
			if head, tail, ok := strings.Cut(rest, cut); ok && packageRelease().MatchString(tail) {
				v.Pre = head
			}
		}
	}
	return v, nil
}

// The grammar of an image reference: [host[:port]/]path[:tag][@digest].
var imageReference = pattern.Lazy(
	`^((?:(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*(?::\d+)?|\[[0-9a-fA-F:]+\](?::\d+)?)/)?` +
		`([a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*)` +
		`(?::([\w][\w.-]{0,127}))?(?:@([A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?$`)

// OfImage parses the version in an image's tag and ignores a digest after the tag. Errors: not an
// image reference, no tag, or a tag that is not a version ("latest"; Raw is then the tag). The
// running version may differ from the tag: see Effective.
func OfImage(ref string) (Version, error) { return images.Read(ref, ofImage) }

// Reference returns the tag and the digest of an image reference, or an error if ref is none.
func Reference(ref string) (tag, digest string, err error) {
	m := imageReference().FindStringSubmatch(ref)
	if m == nil {
		return "", "", fmt.Errorf("%q is not an image reference", ref)
	}
	// Only a name with a dot or port, or localhost, is a registry; any other first part belongs to
	// the path, in lower case.
	host := strings.TrimSuffix(m[1], "/")
	if host != "" && host != "localhost" && !strings.ContainsAny(host, ".:[") && strings.ToLower(host) != host {
		return "", "", fmt.Errorf("%q is not an image reference: the repository must be lower case", ref)
	}
	return m[3], m[4], nil
}

func ofImage(ref string) (Version, error) {
	tag, digest, err := Reference(ref)
	switch {
	case err != nil:
		return Version{}, err
	case tag == "" && digest != "":
		return Version{}, fmt.Errorf("image %q has a digest but no tag: its version is unknown", ref)
	case tag == "":
		return Version{}, fmt.Errorf("image %q has no tag: its version is unknown", ref)
	}
	v, err := Parse(tag)
	if err != nil {
		return v, fmt.Errorf("image %q: tag %w", ref, err)
	}
	return v, nil
}

// Floating reports whether each pull may get a different image: the reference has no digest, and
// its tag is latest or missing.
func Floating(ref string) bool {
	name := ref[strings.LastIndex(ref, "/")+1:]
	_, tag, tagged := strings.Cut(name, ":")
	return !strings.Contains(name, "@") && (!tagged || tag == "" || tag == "latest")
}

// Effective returns the running node's version if known, else the image tag's. from is "node",
// "image" or empty. If neither is known, the Version is unknown and err gives the reason.
func Effective(running, image string) (v Version, from string, err error) {
	if running != "" {
		if v, err := Parse(running); err == nil {
			return v, "node", nil
		}
	}
	if image == "" {
		return Version{Raw: running}, "", errors.New("neither the node nor an image contains the version")
	}
	v, err = OfImage(image)
	if err != nil {
		return v, "", err
	}
	return v, "image", nil
}

// Compare orders two known versions by number, a pre-release before its release. Both must belong
// to the same line.
func (v Version) Compare(w Version) int {
	if c := cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor),
		cmp.Compare(v.Patch, w.Patch)); c != 0 {
		return c
	}
	switch {
	case v.Pre == w.Pre:
		return 0
	case v.Pre == "":
		return 1
	case w.Pre == "":
		return -1
	}
	return strings.Compare(v.Pre, w.Pre)
}

func number(major, minor int) Version { return Version{Known: true, Major: major, Minor: minor} }

// since compares with one threshold per line; nil means that no version of the line has the
// feature.
func (v Version) since(oss, enterprise *Version) Support {
	if !v.Known {
		return Unknown
	}
	t := oss
	if v.Enterprise() {
		t = enterprise
	}
	if t != nil && v.Compare(*t) >= 0 {
		return Yes
	}
	return No
}

// SupportsBootstrapSynchronisation: `scylla sstable query` exists, which the query container runs.
// 2025.2.0 and later; its release candidates count as older, as in the Scylla Operator.
func (v Version) SupportsBootstrapSynchronisation() Support {
	e := number(2025, 2)
	return v.since(nil, &e)
}

// SupportsReplaceByHostID: replace_node_first_boot exists. Open source 5.2.0, Enterprise 2023.1.0.
func (v Version) SupportsReplaceByHostID() Support {
	o, e := number(5, 2), number(2023, 1)
	return v.since(&o, &e)
}

// SupportsParallelBootstrap: several new nodes may start at once and join one after another.
// 2026.2.0 and later.
func (v Version) SupportsParallelBootstrap() Support {
	e := number(2026, 2)
	return v.since(nil, &e)
}

// SupportsExcludeNode: `nodetool excludenode` exists. 2026.1.0 and later.
func (v Version) SupportsExcludeNode() Support {
	e := number(2026, 1)
	return v.since(nil, &e)
}

// SupportsNodeOperations: the task manager lists topology operations. Open source 6.2.0, Enterprise
// 2025.1.0.
func (v Version) SupportsNodeOperations() Support {
	o, e := number(6, 2), number(2025, 1)
	return v.since(&o, &e)
}

// RecoversByLeader: a lost majority of group 0 is recovered with option recovery_leader, also with
// tablets. 2025.2.0 and later.
func (v Version) RecoversByLeader() Support {
	e := number(2025, 2)
	return v.since(nil, &e)
}

// KnowsTopologyByRaft: Raft may manage the topology, and the node reports whether it does. Open
// source 6.0.0; Enterprise 2025.1.0 at the latest. Only used if a node does not report it.
func (v Version) KnowsTopologyByRaft() Support {
	v.Pre = ""
	o, e := number(6, 0), number(2025, 1)
	return v.since(&o, &e)
}

// ReplaceTaskNamesReplaced: the task of a replacement names the replaced node, not the new node.
// 2026.4 and later, including development versions.
func (v Version) ReplaceTaskNamesReplaced() Support {
	v.Pre = ""
	e := number(2026, 4)
	return v.since(nil, &e)
}

// GossipsByHostID: gossip keeps each member under its host ID. 2025.2.0 and later; before, a node
// takes over the entry of another one with its address.
func (v Version) GossipsByHostID() Support {
	e := number(2025, 2)
	return v.since(nil, &e)
}

// ListsSharedAddresses: the list of members names both of two members at one address. 2025.3.0 and
// later; earlier versions omit one of them.
func (v Version) ListsSharedAddresses() Support {
	e := number(2025, 3)
	return v.since(nil, &e)
}

// MishandlesNullBootstrapped: `scylla sstable query` crashes or prints invalid JSON if the
// bootstrapped cell is missing. 2025.2.0 to 2025.2.2.
func (v Version) MishandlesNullBootstrapped() Support {
	switch {
	case !v.Known:
		return Unknown
	case v.Major == 2025 && v.Minor == 2 && v.Patch <= 2:
		return Yes
	}
	return No
}
