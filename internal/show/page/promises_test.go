// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"bytes"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/page"
	"github.com/kubectl-scylla/kubectl-scylla/internal/support"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// incident is a cluster with a node that is DOWN, a new node that waits, and a host ID without a member.
func incident(t *testing.T) *page.Report {
	t.Helper()
	c := plugintest.New(3, 1).Down("demo-dc1-rack3-0")
	c.Newcomer("dc1", "rack2", 1)
	objects := cluster.Objects{Key: cluster.Key{Namespace: "demo", Name: "demo"}}
	for _, o := range c.Objects() {
		switch o := o.(type) {
		case *corev1.Service:
			objects.Services = append(objects.Services, *o)
		case *corev1.Pod:
			objects.Pods = append(objects.Pods, *o)
		case *api.ScyllaDBDatacenterNodesStatusReport:
			lone := api.ObservedNodeStatusReport{HostID: "c0ffee00-5ea1-4d00-8000-000000000099", Status: api.NodeStatusDown}
			for r := range o.Racks {
				for n := range o.Racks[r].Nodes {
					if node := &o.Racks[r].Nodes[n]; node.ObservedNodes != nil {
						node.ObservedNodes = append(node.ObservedNodes, api.Plain([]api.ObservedNodeStatusReport{lone})...)
					}
				}
			}
			objects.Reports = append(objects.Reports, *o)
		}
	}
	s := cluster.New(objects, cluster.SourceReport, plugintest.Now)
	return page.New(&support.Cluster{Snapshot: s}, document.NewClusterStatus(diagnosis.Judge(s, plugintest.Now)))
}

// What the page promises, one test each.
func TestPromises(t *testing.T) {
	t.Parallel()
	r := incident(t)
	r.GossipOnly = []hostid.ID{"c0ffee00-5ea1-4d00-8000-000000000099"}
	r.Findings[0].Since = document.TimePtr(plugintest.Now.Add(-5 * time.Minute))
	var b bytes.Buffer
	if err := page.HTML(&b, r); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	tags := regexp.MustCompile(`<[^>]*>`)
	plain := html.UnescapeString(tags.ReplaceAllString(text[strings.Index(text, "<body>"):], ""))
	t.Run("findings are above the matrix, with their age", func(t *testing.T) {
		t.Parallel()
		for i := range r.Findings {
			at := strings.Index(plain, r.Findings[i].Text(r.At()))
			if at < 0 || at > strings.Index(plain, "Who sees whom") {
				t.Errorf("finding %q is at %d", r.Findings[i].Text(r.At()), at)
			}
		}
		if !strings.Contains(plain, " for 5m0s") {
			t.Errorf("no age:\n%s", plain)
		}
	})
	t.Run("each step once", func(t *testing.T) {
		t.Parallel()
		for _, code := range regexp.MustCompile(`<code>(.*?)</code>`).FindAllStringSubmatch(text, -1) {
			if command := html.UnescapeString(tags.ReplaceAllString(code[1], "")); strings.HasPrefix(command, "kubectl") && strings.Count(plain, command) != 1 {
				t.Errorf("%d times: %s", strings.Count(plain, command), command)
			}
		}
	})
	t.Run("the words of the project", func(t *testing.T) {
		t.Parallel()
		for _, want := range []string{">Status report<", ">Status reports<", "new node, not joined", "New nodes", "Orphaned host IDs"} {
			if !strings.Contains(text, want) {
				t.Errorf("the page lacks %q", want)
			}
		}
		for _, not := range []string{">Row<", ">Rows<", "Newcomer", "Ghost", "GossipOnly"} {
			if strings.Contains(text, not) {
				t.Errorf("the page has %q", not)
			}
		}
	})
	t.Run("the grid has no holes, and every mark a meaning", func(t *testing.T) {
		t.Parallel()
		cells := regexp.MustCompile(`<use href="#mx-([A-Za-z]+)" x="\d+" y="\d+"/>`).FindAllStringSubmatch(text, -1)
		if n := len(r.Nodes); len(cells) != n*n {
			t.Errorf("%d cells of %d nodes", len(cells), n)
		}
		for _, c := range cells {
			if !strings.Contains(text, `<use href="#mx-l-`+c[1]+`"`) {
				t.Errorf("the legend lacks %s", c[1])
			}
		}
		for _, want := range []string{"demo-dc1-rack2-1 has no host ID yet", "demo-dc1-rack2-1 has no fresh status report"} {
			if !strings.Contains(text, want) {
				t.Errorf("no cell says %q", want)
			}
		}
	})
}
