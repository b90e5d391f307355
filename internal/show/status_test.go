// SPDX-License-Identifier: Apache-2.0

package show_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

func load(t testing.TB, c *plugintest.Cluster) *cluster.Cluster {
	t.Helper()
	return loadCluster(t, cluster.Key{Namespace: c.Namespace, Name: c.Name}, c.Objects())
}

func loadObjects(t testing.TB, objects []client.Object) *cluster.Cluster {
	t.Helper()
	return loadCluster(t, cluster.Key{Namespace: "demo", Name: "demo"}, objects)
}

func loadCluster(t testing.TB, key cluster.Key, objects []client.Object) *cluster.Cluster {
	t.Helper()
	read, err := kube.Load(t.Context(), plugintest.NewClient(objects, interceptor.Funcs{}), key,
		kube.LoadOptions{StatefulSets: true, PVCs: true, StatusReport: true})
	if err != nil {
		t.Fatal(err)
	}
	return cluster.New(read, cluster.SourceAuto, plugintest.Now)
}

func documentOf(t testing.TB, c *plugintest.Cluster) *document.ClusterStatus {
	t.Helper()
	return document.NewClusterStatus(diagnosis.Judge(load(t, c), plugintest.Now))
}

// situations of twelve nodes, each a screen that an administrator reads during an incident.
func situations() map[string]*plugintest.Cluster {
	twelve := func() *plugintest.Cluster { return plugintest.New(3, 4) }
	waiting := twelve().Down("demo-dc1-rack3-0")
	waiting.Newcomer("dc1", "rack2", 4)
	two := twelve().Down("demo-dc1-rack3-0").Down("demo-dc1-rack1-2")
	two.Newcomer("dc1", "rack2", 4)
	two.Newcomer("dc1", "rack3", 4)
	partition := twelve()
	for _, a := range partition.Nodes {
		for _, b := range partition.Nodes {
			if (a.Rack == "rack3") != (b.Rack == "rack3") {
				partition.Sees(a.Name, b.Name, api.NodeStatusDown, plugintest.Now.Add(-90*time.Second))
			}
		}
	}
	replaced := twelve().Down("demo-dc1-rack3-0")
	replaced.Service("demo-dc1-rack3-0").Labels[api.LabelReplace] = ""
	replaced.Service("demo-dc1-rack3-0").Labels[api.LabelReplacingNodeHostID] = replaced.Node("demo-dc1-rack3-0").HostID
	malformed := twelve().NoRow("demo-dc1-rack2-1").NoReports()
	malformed.Pod("demo-dc1-rack2-1").Annotations = map[string]string{api.AnnotationNodeStatusReport: "{not json"}
	return map[string]*plugintest.Cluster{
		"healthy": twelve(), "one down": twelve().Down("demo-dc1-rack3-0"), "one down and a newcomer": waiting, "two down and two newcomers": two,
		"a partition": partition, "a replacement": replaced, "a ghost": twelve().Ghost("demo-dc1-rack1-3"), "a row missing": twelve().NoRow("demo-dc1-rack2-1"),
		"no reports": twelve().NoReports(), "a malformed annotation": malformed,
		"one pair not known": twelve().Sees("demo-dc1-rack1-0", "demo-dc1-rack3-3", api.NodeStatusUnknown, time.Time{}),
		"a row without one":  twelve().Sees("demo-dc1-rack1-0", "demo-dc1-rack3-3", "", time.Time{}),
		"two datacenters":    plugintest.New(2, 3).AddDatacenter("us-east-1", 2, 3),
		"the operator's":     twelve().Down("demo-dc1-rack3-0").Operator(),
		"long names":         plugintest.NewNamed("scylla-production", "scylla-prod-analytics", "us-east-1-primary", 3, 4).Down("scylla-prod-analytics-us-east-1-primary-rack2-1"),
	}
}

// isCommand is true for a line that is one command, which is never broken.
func isCommand(line string) bool {
	return strings.HasPrefix(strings.TrimLeft(line, " →"), "kubectl ")
}

func TestTwelveNodesFitTheScreen(t *testing.T) {
	for name, c := range situations() {
		t.Run(name, func(t *testing.T) {
			d := documentOf(t, c)
			text := show.Cluster(d, show.Options{Width: 80, Height: 24})
			lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
			if len(lines) > 23 {
				t.Errorf("%d lines, 23 leave room for the prompt:\n%s", len(lines), text)
			}
			for _, line := range lines {
				if w := lipgloss.Width(line); w > 80 && !isCommand(line) {
					t.Errorf("%d cells wide: %s", w, line)
				}
			}
			switch name {
			case "healthy", "one down", "a partition", "a replacement", "a row without one", "two datacenters":
				return // TestScenes has these screens, or another situation has the same one
			}
			plugintest.Golden(t, "80x24/"+strings.ReplaceAll(name, " ", "-")+".txt", text)
		})
	}
}

func TestEveryNodeHasItsLineWhenTwelveAreInTrouble(t *testing.T) {
	for _, name := range []string{"healthy", "one down", "one down and a newcomer"} {
		d := documentOf(t, situations()[name])
		text := show.Cluster(d, show.Options{Width: 80, Height: 24})
		for _, n := range d.Nodes {
			if !strings.Contains(text, n.Member) {
				t.Errorf("%s: %s has no line:\n%s", name, n.Member, text)
			}
		}
	}
}

func TestManyNodesDegradeByRack(t *testing.T) {
	cases := map[string]struct{ racks, members, width, height int }{
		"thirty":             {3, 10, 80, 24},
		"three hundred":      {30, 10, 80, 24},
		"on a small screen":  {3, 10, 60, 16},
		"twenty to a window": {4, 5, 120, 40},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := documentOf(t, plugintest.New(c.racks, c.members).Down("demo-dc1-rack2-3"))
			text := show.Cluster(d, show.Options{Width: c.width, Height: c.height})
			if n := strings.Count(text, "\n"); n > c.height-1 {
				t.Errorf("%d lines in %d:\n%s", n, c.height, text)
			}
			if !strings.Contains(text, "NOT HEALTHY") || !strings.Contains(text, "demo-dc1-rack2-3") {
				t.Errorf("the verdict or the node that is DOWN is missing:\n%s", text)
			}
			plugintest.Golden(t, "racks/"+strings.ReplaceAll(name, " ", "-")+".txt", text)
		})
	}
}

// The document is the only source of the text: the document decoded from JSON or YAML draws the same screen.
func TestDocumentEqualsText(t *testing.T) {
	for name, c := range situations() {
		for _, o := range []show.Options{{}, {Wide: true}, {Width: 80, Height: 24}, {Width: 132, Height: 60}} {
			t.Run(fmt.Sprintf("%s %dx%d", name, o.Width, o.Height), func(t *testing.T) {
				d := documentOf(t, c)
				want := show.Cluster(d, o)
				asJSON, err := json.Marshal(d)
				if err != nil {
					t.Fatal(err)
				}
				asYAML, err := yaml.Marshal(d)
				if err != nil {
					t.Fatal(err)
				}
				for format, data := range map[string][]byte{"json": asJSON, "yaml": asYAML} {
					var back document.ClusterStatus
					if err := yaml.UnmarshalStrict(data, &back); err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(want, show.Cluster(&back, o)); diff != "" {
						t.Errorf("text from %s differs (-live +document):\n%s", format, diff)
					}
				}
			})
		}
	}
}

// A node that is not UP in some row is on the screen whenever nothing limits the height, and a healthy verdict has no such node.
func TestNobodyWhoIsNotUpIsLeftOut(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := plugintest.New(rapid.IntRange(1, 3).Draw(rt, "racks"), rapid.IntRange(1, 3).Draw(rt, "members"))
		bad := map[string]bool{}
		for range rapid.IntRange(0, 4).Draw(rt, "faults") {
			from := c.Nodes[rapid.IntRange(0, len(c.Nodes)-1).Draw(rt, "from")].Name
			to := c.Nodes[rapid.IntRange(0, len(c.Nodes)-1).Draw(rt, "to")].Name
			if from == to {
				continue
			}
			c.Sees(from, to, rapid.SampledFrom([]api.NodeStatus{api.NodeStatusDown, api.NodeStatusUnknown, ""}).Draw(rt, "status"), time.Time{})
			bad[to] = true
		}
		d := documentOf(t, c)
		if d.Healthy != (len(bad) == 0) {
			rt.Fatalf("healthy is %v with %d nodes not UP", d.Healthy, len(bad))
		}
		text := show.Cluster(d, show.Options{})
		for _, n := range d.Nodes {
			if bad[n.Member] == (n.Seen == nil || n.Seen.Status == "UP") && len(c.Nodes) > 1 {
				rt.Fatalf("%s is shown as %s", n.Member, n.Seen.Text())
			}
			if !strings.Contains(text, n.Member) {
				rt.Fatalf("%s has no line:\n%s", n.Member, text)
			}
		}
	})
}

func TestASCIIHasNothingElse(t *testing.T) {
	for name, c := range situations() {
		text := show.Cluster(documentOf(t, c), show.Options{Width: 80, Height: 40, ASCII: true})
		for _, r := range text {
			if r > 0x7e && r != '\x1b' {
				t.Errorf("%s: %q in\n%s", name, r, text)
				break
			}
		}
	}
}

func TestDeepCopyIsEqualAndApart(t *testing.T) {
	d := documentOf(t, situations()["one down and a newcomer"])
	c, ok := d.DeepCopyObject().(*document.ClusterStatus)
	if !ok {
		t.Fatal("another type")
	}
	if diff := cmp.Diff(show.Cluster(d, show.Options{Wide: true}), show.Cluster(c, show.Options{Wide: true})); diff != "" {
		t.Errorf("the copy differs:\n%s", diff)
	}
	c.Nodes[0].Member = "changed"
	if d.Nodes[0].Member == "changed" {
		t.Error("the copy shares its nodes")
	}
}
