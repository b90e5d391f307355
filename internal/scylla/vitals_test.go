// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReadVitals(t *testing.T) {
	t.Parallel()
	const self, other = "35d0f1a0-5ea1-4d00-8000-000000000000", "36d1f2a1-5ea1-4d00-8000-000000000001"
	ok := func(body string) answer { return answer{status: http.StatusOK, body: body} }
	whole := func() map[string]answer {
		return map[string]answer{
			"/system/uptime_ms": ok("273600123"), "/storage_service/load": ok("1.3314398617e+10"), "/storage_service/hostid/local": ok(`"` + self + `"`),
			"/storage_service/tokens/10.0.0.1": ok(`["-3", "5", "7"]`),
		}
	}
	members := []Member{{Address: "10.0.0.1", HostID: self}, {Address: "10.0.0.2", HostID: other}}
	uptime := 273600123 * time.Millisecond
	said := Vitals{Uptime: &uptime, Load: new(int64(13314398617)), Tokens: new(3)}
	cases := map[string]struct {
		change  func(map[string]answer)
		members []Member
		want    Vitals
		gaps    string
	}{
		"all of it":       {members: members, want: said},
		"a plain integer": {change: func(a map[string]answer) { a["/storage_service/load"] = ok("13314398617") }, members: members, want: said},
		"no tokens":       {change: func(a map[string]answer) { a["/storage_service/tokens/10.0.0.1"] = ok("[]") }, members: members, want: Vitals{Uptime: &uptime, Load: said.Load, Tokens: new(0)}},
		"starting: no load yet, not among the members": {
			change: func(a map[string]answer) { delete(a, "/storage_service/load") }, members: members[1:], want: Vitals{Uptime: &uptime},
		},
		"two members behind its address": {members: append(members, Member{Address: "10.0.0.1", HostID: other}), want: Vitals{Uptime: &uptime, Load: said.Load}},
		"two addresses of its own":       {members: append(members, Member{Address: "10.0.0.3", HostID: self}), want: Vitals{Uptime: &uptime, Load: said.Load}},
		"it has no host ID yet": {
			change: func(a map[string]answer) {
				a["/storage_service/hostid/local"] = answer{status: http.StatusNotFound, body: `{"message": "local host ID is not yet set", "code": 404}`}
			},
			members: members, want: Vitals{Uptime: &uptime, Load: said.Load},
		},
		"what is no amount": {
			change: func(a map[string]answer) {
				a["/system/uptime_ms"], a["/storage_service/load"] = ok("-5"), ok(`"NaN"`)
			},
			members: members, want: Vitals{Tokens: said.Tokens}, gaps: "GET /system/uptime_ms: GET /storage_service/load: ",
		},
		"an error is a gap": {
			change: func(a map[string]answer) {
				a["/storage_service/tokens/10.0.0.1"] = answer{status: http.StatusInternalServerError, body: `{"message": "std::runtime_error (no)", "code": 500}`}
			},
			members: members, want: Vitals{Uptime: &uptime, Load: said.Load}, gaps: "GET /storage_service/tokens/10.0.0.1: ",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answers := whole()
			if tc.change != nil {
				tc.change(answers)
			}
			got, gaps := ReadVitals(t.Context(), NewClient(newFakeNode(t, answers).URL, nil), tc.members)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("vitals (-want +got):\n%s", diff)
			}
			var texts strings.Builder
			for _, err := range gaps {
				what, _, _ := strings.Cut(err.Error(), ": ")
				texts.WriteString(what + ": ")
			}
			if texts.String() != tc.gaps {
				t.Errorf("gaps %v, want of %q", gaps, tc.gaps)
			}
		})
	}
}
