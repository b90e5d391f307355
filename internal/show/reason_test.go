// SPDX-License-Identifier: Apache-2.0

package show_test

import (
	"strings"
	"testing"

	"charm.land/lipgloss/v2"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// oneLine joins the lines of a screen, so that a wrapped sentence is found.
func oneLine(text string) string { return strings.Join(strings.Fields(plain(text)), " ") }

func TestFirstReasonIsWhole(t *testing.T) {
	t.Parallel()
	sizes := []show.Options{{Width: 80, Height: 24}, {Width: 100, Height: 30}, {Width: 60, Height: 24}}
	for name, c := range situations() {
		d := documentOf(t, c)
		var reasons []string
		if len(d.Newcomers) > 0 {
			reasons = append(reasons, words.Text(d.Newcomers[0].Summary))
		}
		if len(d.Replacements) > 0 {
			reasons = append(reasons, d.Replacements[0].Summary)
		}
		// The controller's view gives the reason after names that could fill the screen.
		d.View = &api.StatusReportView{Hold: string(words.PodsNotReady)}
		for _, n := range d.Nodes {
			d.View.Members = append(d.View.Members, api.StatusReportViewMember{Name: n.Member, State: api.NodeStatusDown})
		}
		reasons = append(reasons, "blocks new nodes: "+words.Text(words.New(words.PodsNotReady)))
		for _, o := range sizes {
			text := show.Cluster(d, o)
			if n := strings.Count(text, "\n"); n >= o.Height {
				t.Errorf("%s: %d lines on a screen of %d:\n%s", name, n, o.Height, text)
			}
			for _, reason := range reasons {
				if !strings.Contains(oneLine(text), oneLine(reason)) {
					t.Errorf("%s at %dx%d: %q is cut:\n%s", name, o.Width, o.Height, reason, text)
				}
			}
		}
	}
}

func TestListsShowTheFirstReasonWhole(t *testing.T) {
	t.Parallel()
	const lost = "demo-dc1-rack3-0"
	cases := map[string]struct {
		newcomers int
		whole     int // reasons that are not cut
		options   show.Options
	}{
		"one":                  {newcomers: 1, whole: 1, options: show.Options{Width: 80, Height: 24}},
		"three":                {newcomers: 3, whole: 3, options: show.Options{Width: 80, Height: 24}},
		"more than the screen": {newcomers: 9, whole: 1, options: show.Options{Width: 80, Height: 24}},
		"wide":                 {newcomers: 9, whole: 9, options: show.Options{Width: 80, Height: 24, Wide: true}},
		"into a file":          {newcomers: 9, whole: 9},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := plugintest.New(3, 2).Down(lost)
			for i := range tc.newcomers {
				c.Newcomer("dc1", "rack2", int32(2+i))
			}
			j := diagnosis.Judge(load(t, c), plugintest.Now)
			list, err := document.NewBarrierList([]*diagnosis.Judged{j})
			if err != nil {
				t.Fatal(err)
			}
			text := show.Barriers(list, tc.options)
			if got := strings.Count(oneLine(text), "demo-dc1-rack3-0 DOWN for 12s: scylla exits with code 1, 3 restarts"); got != tc.whole {
				t.Errorf("%d whole reasons, want %d:\n%s", got, tc.whole, text)
			}
			for i := range tc.newcomers {
				if member := list.Items[i].Name; !strings.Contains(text, member) {
					t.Errorf("%s is missing:\n%s", member, text)
				}
			}
			if tc.whole > 3 {
				return // nothing limits the width
			}
			lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
			if len(lines) >= tc.options.Height {
				t.Errorf("%d lines on a screen of %d:\n%s", len(lines), tc.options.Height, text)
			}
			for _, line := range lines {
				if lipgloss.Width(line) > tc.options.Width {
					t.Errorf("wider than %d: %s", tc.options.Width, line)
				}
			}
			plugintest.Golden(t, "barriers/"+strings.ReplaceAll(name, " ", "-")+".txt", text)
		})
	}
}

func TestClustersShowTheFirstReasonWhole(t *testing.T) {
	t.Parallel()
	d := documentOf(t, plugintest.New(3, 2).Down("demo-dc1-rack3-0"))
	for _, n := range []int{1, 30} {
		list := &document.ClusterStatusList{}
		for range n {
			list.Items = append(list.Items, *d)
		}
		list.Items = append(list.Items, *documentOf(t, plugintest.New(1, 1)))
		for _, headers := range []bool{true, false} {
			text := show.Clusters(list, show.Options{Width: 80, Height: 24, NoHeaders: !headers})
			if got := strings.Contains(oneLine(text), oneLine(d.FirstLine())); got != headers {
				t.Errorf("%d clusters, headers %v: the reason is whole: %v:\n%s", n, headers, got, text)
			}
			if !headers && strings.Count(text, "\n") != n+1 {
				t.Errorf("a script expects %d lines:\n%s", n+1, text)
			}
			if strings.Contains(text, "\n  -") {
				t.Errorf("a cluster without a problem has a reason:\n%s", text)
			}
		}
	}
}
