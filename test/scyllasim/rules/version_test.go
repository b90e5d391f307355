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
