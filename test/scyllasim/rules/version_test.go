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

func parsed(t *testing.T, s string) Version {
	t.Helper()
	v, err := ParseVersion(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
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
		if got := Supports(parsed(t, tc.have).Features(), parsed(t, tc.want).Features()); got != tc.ok {
			t.Errorf("%s: %s in a cluster of %s: %v", name, tc.have, tc.want, got)
		}
	}
}

// Whether a version does each of these, from which one on.
func TestWhatBegan(t *testing.T) {
	t.Parallel()
	form := func(f HostIDForm) func(Version) bool { return func(v Version) bool { return v.HostIDForm() == f } }
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
		"500 before gossip":          {Version.GossiperNotReady, "2025.1.3", "2025.1.4"},
		"the same, later":            {Version.GossiperNotReady, "6.2.3", "2025.2.0"},
		"gossip by host ID":          {Version.GossipByHostID, "2025.1.9", "2025.2.0"},
		"tasks of requests":          {Version.NodeOpsTasks, "6.1.5", "6.2.0"},
		"the same, in Enterprise":    {Version.NodeOpsTasks, "2024.2.9", "2025.1.0"},
		"replace by host ID":         {Version.ReplaceByHostID, "5.1.18", "5.2.0"},
		"so in Enterprise":           {Version.ReplaceByHostID, "2022.2.9", "2023.1.0"},
		"normal nodes' host IDs":     {form(HostIDNormalOnly), "5.2.0", "5.4.0"},
		"these, in Enterprise":       {form(HostIDNormalOnly), "2023.1.0", "2024.1.0"},
		"host IDs by address":        {form(HostIDByIP), "6.1.5", "6.2.0"},
		"by address, in Enterprise":  {form(HostIDByIP), "2024.2.0", "2025.1.0"},
		"a list of host IDs":         {form(HostIDList), "2025.2.9", "2025.3.0"},
		"the query of SSTables":      {Version.SSTableQuery, "2025.1.9", "2025.2.0"},
	} {
		for s, want := range map[string]bool{tc.before: false, tc.since: true} {
			if s != "" && tc.has(parsed(t, s)) != want {
				t.Errorf("%s, %s: want %v", name, s, want)
			}
		}
	}
}
