// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"cmp"
	"fmt"
	"strings"
)

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
