// SPDX-License-Identifier: Apache-2.0

package release

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Version{
		"2026.2.4":                                {Major: 2026, Minor: 2, Patch: 4},
		"2025.2.0-rc3":                            {Major: 2025, Minor: 2, Pre: "rc3"},
		"2025.2.0~rc3":                            {Major: 2025, Minor: 2, Pre: "rc3"},
		"2024.2.0~rc2-20240904.4c26004e5311":      {Major: 2024, Minor: 2, Pre: "rc2"},
		"2024.2.1-20241001.4c26004e5311":          {Major: 2024, Minor: 2, Patch: 1},
		"6.0.3-0.20240808.a56f7ce21ad4":           {Major: 6, Patch: 3},
		"2025.2.0-0.20250601.abcdef":              {Major: 2025, Minor: 2},
		"2025.2.0-rc1-0.20250601.abcdef":          {Major: 2025, Minor: 2, Pre: "rc1"},
		"2026.3.0-dev-0.20260801.9d1b1e2":         {Major: 2026, Minor: 3, Pre: "dev"},
		"2025.2.0-candidate-20250601120000":       {Major: 2025, Minor: 2, Pre: "candidate-20250601120000"},
		"5.0.rc8":                                 {Major: 5, Pre: "rc8"},
		"4.6.rc1-0.20211230.abcdef":               {Major: 4, Minor: 6, Pre: "rc1"},
		" 5.4.0 \n":                               {Major: 5, Minor: 4},
		"2026.4.0-dev-x86_64-0.20260801.9d1b1e2a": {Major: 2026, Minor: 4, Pre: "dev-x86_64-0.20260801.9d1b1e2a"},
	} {
		want.Raw, want.Known = strings.TrimSpace(text), true
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "latest", "2025", "2025.2", "v2025.2.0", "2025.02.0", "2025.2.0.1", "2025.2.x", "-1.2.3", "2025.2.0-", "999999.1.1", "enterprise"} {
		if got, err := Parse(text); err == nil || got.Known {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestFeaturesOfVersions(t *testing.T) {
	const y, n, u = Yes, No, Unknown
	for text, want := range map[string]struct{ barrier, replace, parallel, tasks, shared, null Support }{
		"5.1.18":        {n, n, n, n, n, n},
		"5.2.0":         {n, y, n, n, n, n},
		"6.1.5":         {n, y, n, n, n, n},
		"6.2.0":         {n, y, n, y, n, n},
		"2022.2.14":     {n, n, n, n, n, n},
		"2023.1.0":      {n, y, n, n, n, n},
		"2024.2.9":      {n, y, n, n, n, n},
		"2025.1.0":      {n, y, n, y, n, n},
		"2025.2.0-rc2":  {n, y, n, y, n, y},
		"2025.2.0":      {y, y, n, y, n, y},
		"2025.2.2":      {y, y, n, y, n, y},
		"2025.2.3":      {y, y, n, y, n, n},
		"2025.3.0":      {y, y, n, y, y, n},
		"2026.2.0-rc0":  {y, y, n, y, y, n},
		"2026.2.0":      {y, y, y, y, y, n},
		"2026.4.0-dev":  {y, y, y, y, y, n},
		"2021.1.0":      {n, n, n, n, n, n}, // an old Enterprise is a higher number than any open source release, and no newer
		"latest":        {u, u, u, u, u, u},
		"2025.2.0-0.20": {n, y, n, y, n, y}, // no package release: counted as a pre-release, the cautious way
	} {
		v, _ := Parse(text)
		got := struct{ barrier, replace, parallel, tasks, shared, null Support }{
			v.SupportsBootstrapSynchronisation(), v.SupportsReplaceByHostID(), v.SupportsParallelBootstrap(), v.SupportsNodeOperations(),
			v.ListsSharedAddresses(), v.MishandlesNullBootstrapped(),
		}
		if got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	for text, want := range map[string]Support{"6.2.0": n, "2025.4.3": n, "2026.1.0-rc1": n, "2026.1.0": y, "2026.2.1": y, "latest": u} {
		if v, _ := Parse(text); v.SupportsExcludeNode() != want {
			t.Errorf("%s: excludenode %v, want %v", text, v.SupportsExcludeNode(), want)
		}
	}
	if v := (Version{}); v.String() != "unknown" || v.Enterprise() || Unknown.String() != "unknown" || Yes.String() != "yes" || No.String() != "no" {
		t.Error("words for the unknown")
	}
}

func TestReplaceTaskNamesReplaced(t *testing.T) {
	for text, want := range map[string]Support{"6.2.3": No, "2026.3.1": No, "2026.4.0-dev": Yes, "2026.4.0": Yes, "2027.1.0": Yes, "latest": Unknown} {
		v, _ := Parse(text)
		if got := v.ReplaceTaskNamesReplaced(); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestGossipsByHostID(t *testing.T) {
	for text, want := range map[string]Support{"6.2.3": No, "2025.1.9": No, "2025.2.0": Yes, "2026.1.0": Yes, "latest": Unknown} {
		v, _ := Parse(text)
		if got := v.GossipsByHostID(); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestFloating(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0", 64)
	for ref, want := range map[string]bool{
		"scylla-agent": true, "scylla-agent:latest": true, "example.com/scylla-agent": true, "localhost:5000/scylla-agent": true, "localhost:5000/scylla-agent:latest": true, "a:": true,
		"scylla-agent:1.2.3": false, "localhost/scylla-agent:dev": false, "localhost:5000/scylla-agent:1": false,
		"scylla-agent" + digest: false, "scylla-agent:latest" + digest: false, "localhost:5000/scylla-agent" + digest: false,
	} {
		if got := Floating(ref); got != want {
			t.Errorf("%s: %v, want %v", ref, got, want)
		}
	}
}

func TestEffective(t *testing.T) {
	for name, c := range map[string]struct{ running, image, want, from, error string }{
		"the node wins over the tag":    {"2025.1.9-0.20250701.ab", "scylla:2026.2.0", "2025.1.9-0.20250701.ab", "node", ""},
		"the tag while no node runs":    {"", "scylla:2026.2.0", "2026.2.0", "image", ""},
		"a node that says nonsense":     {"dev", "scylla:2026.2.0", "2026.2.0", "image", ""},
		"a tag that is none":            {"", "scylla:latest", "latest", "", `tag "latest" is not a full ScyllaDB version`},
		"digest alone":                  {"", "scylla@sha256:" + strings.Repeat("0", 64), "unknown", "", "has a digest but no tag"},
		"no tag":                        {"", "scylla", "unknown", "", "has no tag"},
		"nothing":                       {"", "", "unknown", "", "neither"},
		"no reference":                  {"", "a b", "unknown", "", "not an image reference"},
		"registry with port and no tag": {"", "localhost:5000/scylla", "unknown", "", "has no tag"},
		"path in capitals":              {"", "Foo/bar:1.2.3", "unknown", "", "lower case"},
		"registry by address":           {"", "[fd00::1]:5000/scylla/scylla:2025.2.1", "2025.2.1", "image", ""},
	} {
		t.Run(name, func(t *testing.T) {
			v, from, err := Effective(c.running, c.image)
			if v.String() != c.want || from != c.from || (err == nil) != (c.error == "") || (err != nil && !strings.Contains(err.Error(), c.error)) {
				t.Errorf("%v, %q, %v; want %+v", v, from, err, c)
			}
		})
	}
}
