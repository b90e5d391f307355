// SPDX-License-Identifier: Apache-2.0

package version

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFill(t *testing.T) {
	build := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "9c1979f0aa"}, {Key: "vcs.time", Value: "2026-11-21T07:24:11Z"}, {Key: "vcs.modified", Value: "true"},
	}}
	cases := map[string]struct {
		have  Info
		build *debug.BuildInfo
		ok    bool
		want  Info
	}{
		"the toolchain's own information":     {Info{}, build, true, Info{Version: "v1.2.3", Commit: "9c1979f0aa-dirty", Date: "2026-11-21T07:24:11Z"}},
		"what the linker set wins":            {Info{Version: "v2.0.0", Commit: "abc", Date: "today"}, build, true, Info{Version: "v2.0.0", Commit: "abc", Date: "today"}},
		"no information at all":               {Info{}, nil, false, Info{}},
		"a build from a work tree has no tag": {Info{}, &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, true, Info{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.have.fill(c.build, c.ok)
			if diff := cmp.Diff(c.want, c.have); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTexts(t *testing.T) {
	i := Info{Version: "v1.2.3", Commit: "9c1979f0aa11", Platform: "linux/amd64"}
	if got, want := i.Short(), "v1.2.3 (9c1979f)"; got != want {
		t.Errorf("Short: got %q, want %q", got, want)
	}
	if got, want := (Info{Version: "dev"}).Short(), "dev"; got != want {
		t.Errorf("Short without a commit: got %q, want %q", got, want)
	}
	if got, want := i.UserAgent("kubectl-scylla"), "kubectl-scylla/v1.2.3 (linux/amd64)"; got != want {
		t.Errorf("UserAgent: got %q, want %q", got, want)
	}
	got := Get()
	if got.Version == "" || !strings.HasPrefix(got.GoVersion, "go") || !strings.Contains(got.Platform, "/") {
		t.Errorf("Get is incomplete: %+v", got)
	}
}
