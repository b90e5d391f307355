// SPDX-License-Identifier: Apache-2.0

package rules

import "testing"

func TestVersions(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"2025.2.0": "2025.2.0", "2025.2": "2025.2.0", "2025.2.0-rc1": "2025.2.0-rc1", "2024.2.0~rc2-0.20240904.4c26004e5311": "2024.2.0-rc2",
		"6.0.3-0.20240808.a56f7ce21ad4": "6.0.3",
	} {
		v, err := ParseVersion(in)
		if err != nil || v.String() != want {
			t.Errorf("%q: %v %v, want %s", in, v, err, want)
			continue
		}
		again, err := ParseVersion(v.Release())
		if err != nil || again != v {
			t.Errorf("%q: release %q reads back as %v %v", in, v.Release(), again, err)
		}
	}
	for _, in := range []string{"", "latest", "5", "2025.2.0.rc1", "v2025.2.0", "2025.x", "-1.2"} {
		if v, err := ParseVersion(in); err == nil {
			t.Errorf("%q is read as %v", in, v)
		}
	}
}

func TestVersionRules(t *testing.T) {
	t.Parallel()
	type row struct {
		form                                                HostIDForm
		ready500, byHostID, tasks, replaceID, notice, query bool
	}
	for version, want := range map[string]row{
		"5.1.18":   {HostIDAll, false, false, false, false, false, false},
		"5.2.0":    {HostIDAll, false, false, false, true, false, false},
		"5.4.9":    {HostIDNormalOnly, false, false, false, true, false, false},
		"6.2.3":    {HostIDByIP, false, false, true, true, false, false},
		"2022.2.0": {HostIDAll, false, false, false, false, false, false},
		"2023.1.0": {HostIDAll, false, false, false, true, false, false},
		"2024.2.0": {HostIDNormalOnly, false, false, false, true, false, false},
		"2025.1.3": {HostIDByIP, false, false, true, true, false, false},
		"2025.1.4": {HostIDByIP, true, false, true, true, false, false},
		"2025.2.0": {HostIDByIP, true, true, true, true, false, true},
		"2025.3.0": {HostIDList, true, true, true, true, false, true},
		"2026.1.0": {HostIDList, true, true, true, true, true, true},
	} {
		v, err := ParseVersion(version)
		if err != nil {
			t.Fatal(err)
		}
		got := row{v.HostIDForm(), v.GossiperNotReady(), v.GossipByHostID(), v.NodeOpsTasks(), v.ReplaceByHostID(), v.BanNotice(), v.SSTableQuery()}
		if got != want {
			t.Errorf("%s: %+v, want %+v", version, got, want)
		}
	}
}

func TestSupports(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		have, want string
		ok         bool
	}{
		"the same":             {"2025.2.0", "2025.2.3", true},
		"a later minor":        {"2025.3.0", "2025.2.3", true},
		"an earlier minor":     {"2025.1.9", "2025.2.0", false},
		"another line, later":  {"2025.1.0", "6.2.3", true},
		"another line, older":  {"6.2.3", "2025.1.0", false},
		"ten is more than two": {"2026.10.0", "2026.2.0", true},
	} {
		t.Run(name, func(t *testing.T) {
			have, err := ParseVersion(tc.have)
			if err != nil {
				t.Fatal(err)
			}
			want, err := ParseVersion(tc.want)
			if err != nil {
				t.Fatal(err)
			}
			if got := Supports(have.Features(), want.Features()); got != tc.ok {
				t.Errorf("%s in a cluster of %s: %v", tc.have, tc.want, got)
			}
		})
	}
}

// Whether a version does each of these, from which one on.
func TestWhatBegan(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		has           func(v Version) bool
		before, since string
	}{
		"Raft topology":              {Version.RaftTopology, "5.4.9", "6.0.0"},
		"zero-token nodes":           {Version.ZeroTokenNodes, "6.1.5", "6.2.0"},
		"a replacement waits":        {Version.AwaitsTablets, "5.4.9", "6.0.0"},
		"orphans are banned":         {Version.OrphanRemover, "6.0.4", "6.1.0"},
		"a ban is told":              {Version.BanNotice, "2025.4.9", "2026.1.0"},
		"a leaving node is silent":   {func(v Version) bool { return !v.LeavingAnnounces() }, "2026.1.9", "2026.2.0"},
		"another node DOWN":          {Version.OtherDown, "2026.2.9", "2026.3.0"},
		"a join passes tablets":      {func(v Version) bool { return v.Passes(Join) }, "2026.2.9", "2026.3.0"},
		"a replacement does not":     {func(v Version) bool { return !v.Passes(Replace) }, "", "2026.3.0"},
		"and a removal does not":     {func(v Version) bool { return !v.Passes(Remove) }, "", "2026.3.0"},
		"system.local in commit log": {Version.SchemaCommitlog, "5.2.19", "5.4.0"},
	} {
		for s, want := range map[string]bool{tc.before: false, tc.since: true} {
			if v, err := ParseVersion(s); s != "" && (err != nil || tc.has(v) != want) {
				t.Errorf("%s, %s: want %v (%v)", name, s, want, err)
			}
		}
	}
}
