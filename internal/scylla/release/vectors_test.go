// SPDX-License-Identifier: Apache-2.0

package release

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestVersionOrder(t *testing.T) {
	draw := func(t *rapid.T, name string) Version {
		return Version{Known: true, Major: rapid.IntRange(0, 3).Draw(t, name), Minor: rapid.IntRange(0, 3).Draw(t, name),
			Patch: rapid.IntRange(0, 3).Draw(t, name), Pre: rapid.SampledFrom([]string{"", "rc1", "rc2"}).Draw(t, name)}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := draw(t, "a"), draw(t, "b"), draw(t, "c")
		if a.Compare(b) != -b.Compare(a) {
			t.Fatalf("%v %v: not antisymmetric", a, b)
		}
		if a.Compare(b) <= 0 && b.Compare(c) <= 0 && a.Compare(c) > 0 {
			t.Fatalf("%v %v %v: not transitive", a, b, c)
		}
	})
}

func FuzzVersions(f *testing.F) {
	for _, s := range []string{"2025.2.0-rc1", "2024.2.0~rc2-20240904.4c26004e5311", "6.0.3-0.20240808.a56f7ce21ad4", "5.0.rc8", "latest", "",
		"docker.io/scylladb/scylla:2025.2.0@sha256:" + strings.Repeat("a", 64), "localhost:5000/scylla", "[::1]:5000/x:1.2.3", "UPPER/Case:1.0.0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := Parse(s)
		if (err == nil) != v.Known {
			t.Fatalf("%q: %+v, %v", s, v, err)
		}
		if !v.Known && (v.SupportsBootstrapSynchronisation() != Unknown || v.SupportsReplaceByHostID() != Unknown) {
			t.Fatalf("%q: a guess about an unknown version", s)
		}
		i, err := OfImage(s)
		if (err == nil) != i.Known {
			t.Fatalf("image %q: %+v, %v", s, i, err)
		}
		if e, from, err := Effective(s, s); (err == nil) != e.Known || (err == nil) != (from != "") {
			t.Fatalf("%q: %+v, %q, %v", s, e, from, err)
		}
	})
}

func TestVersionVectors(t *testing.T) {
	var cases []struct {
		ID    string `json:"id"`
		Input struct {
			Image string `json:"image"`
		} `json:"input"`
		Expected struct {
			Version      *string `json:"version"`
			ImageError   string  `json:"imageError"`
			Safe         bool    `json:"bootstrapSynchronisationSafe"`
			Unsafe       bool    `json:"bootstrapSynchronisationUnsafe"`
			Parallel     bool    `json:"supportsParallelBootstrap"`
			ByHostID     bool    `json:"replaceUsingHostID"`
			ReplaceError string  `json:"replaceError"`
		} `json:"expected"`
	}
	data, err := os.ReadFile("../../../test/simulation/vectors/version-cases.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) != 33 {
		t.Fatalf("%d cases, want 33", len(cases))
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			v, err := OfImage(c.Input.Image)
			if c.Expected.Version == nil {
				if err == nil || v.Known || v.Raw != "" {
					t.Fatalf("version %+v, error %v; want an error (%s)", v, err, c.Expected.ImageError)
				}
				for name, s := range map[string]Support{"barrier": v.SupportsBootstrapSynchronisation(), "replace": v.SupportsReplaceByHostID()} {
					if s != Unknown {
						t.Errorf("%s: %v, want unknown", name, s)
					}
				}
				return
			}
			if v.Raw != *c.Expected.Version {
				t.Errorf("version %q, want %q", v.Raw, *c.Expected.Version)
			}
			if (err != nil) != (c.Expected.ReplaceError != "") {
				t.Errorf("error %v, the recorded one is %q", err, c.Expected.ReplaceError)
			}
			// "Safe" there is "surely yes", "unsafe" is "not surely no".
			b := v.SupportsBootstrapSynchronisation()
			if got := b == Yes; got != c.Expected.Safe {
				t.Errorf("bootstrap synchronisation surely: %v, want %v", got, c.Expected.Safe)
			}
			if got := b != No; got != c.Expected.Unsafe {
				t.Errorf("bootstrap synchronisation perhaps: %v, want %v", got, c.Expected.Unsafe)
			}
			if got := v.SupportsParallelBootstrap() == Yes; got != c.Expected.Parallel {
				t.Errorf("parallel bootstrap: %v, want %v", got, c.Expected.Parallel)
			}
			if got := v.SupportsReplaceByHostID() == Yes; got != c.Expected.ByHostID {
				t.Errorf("replace by host ID: %v, want %v", got, c.Expected.ByHostID)
			}
		})
	}
}
