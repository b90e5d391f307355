// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/itchyny/gojq"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// flat is a text in one line, in which no command is broken.
func flat(text string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "\\\n", "")), " ")
}

// printed is what command lines print of objects in namespace demo, as flat gives it.
func printed(t *testing.T, objects []client.Object, lines ...string) string {
	t.Helper()
	var all strings.Builder
	for _, line := range lines {
		all.WriteString(plugintest.Run{Args: append(strings.Fields(line), "-n", "demo"), Objects: objects}.Transcript(t))
	}
	return flat(all.String())
}

const exit0, exit3 = "-- exit 0 --", "-- exit 3 --"

// shows checks that all of has is in what a command line prints of objects in namespace demo, and nothing of not.
func shows(t *testing.T, objects []client.Object, line string, has []string, not ...string) {
	t.Helper()
	got := printed(t, objects, line)
	for _, text := range has {
		if !strings.Contains(got, text) {
			t.Errorf("no %q in\n%s", text, got)
		}
	}
	for _, text := range not {
		if strings.Contains(got, text) {
			t.Errorf("%q in\n%s", text, got)
		}
	}
}

// edit changes the objects of one kind, or only the one of that name.
func edit[T client.Object](objects []client.Object, name string, change func(T)) []client.Object {
	for _, o := range objects {
		if x, is := o.(T); is && (name == "" || o.GetName() == name) {
			change(x)
		}
	}
	return objects
}

func demoDown() *plugintest.Cluster {
	c := plugintest.New(3, 1).Down("demo-dc1-rack3-0")
	c.Newcomer("dc1", "rack2", 1)
	return c
}

// stabilising is a cluster in which all nodes are UP, with a newcomer whose barrier waits until that has lasted long enough.
func stabilising(t *testing.T) *plugintest.Cluster {
	t.Helper()
	c := plugintest.New(3, 1)
	since := metav1.NewTime(plugintest.Now.Add(-3 * time.Second))
	text, err := api.EncodeBarrierWait(&api.BarrierWait{StableSince: &since, StableFor: metav1.Duration{Duration: 10 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	c.Pod(c.Newcomer("dc1", "rack2", 1)).Annotations = map[string]string{api.AnnotationBarrier: text}
	return c
}

func TestStatus(t *testing.T) {
	whole, down := healthy(), demoDown()
	maintained := plugintest.New(3, 1).Maintenance("demo-dc1-rack2-0", 52*time.Hour)
	other := plugintest.NewNamed("prod", "analytics", "eu", 2, 1)
	two := append(whole.Objects(), plugintest.NewNamed("demo", "second", "dc1", 1, 2).Down("second-dc1-rack1-1").Objects()...)
	everywhere := append(whole.Objects(), other.Objects()...)
	noPods := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		if _, ok := list.(*corev1.PodList); ok {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New(`User "bob" cannot list resource "pods" in API group "" in the namespace "demo"`))
		}
		return c.List(ctx, list, opts...)
	}}
	wide := cli.Terminal{Out: true, Width: 120, Height: 40}
	cases := map[string]plugintest.Run{
		"healthy":                            {Args: []string{"status", "-n", "demo"}, Objects: whole.Objects()},
		"a newcomer while all must stay UP":  {Args: []string{"status", "-n", "demo"}, Objects: stabilising(t).Objects()},
		"not healthy":                        {Args: []string{"status", "demo", "-n", "demo"}, Objects: down.Objects()},
		"not healthy on a terminal":          {Args: []string{"status", "demo", "-n", "demo"}, Objects: down.Objects(), Terminal: wide},
		"wide":                               {Args: []string{"status", "demo", "-n", "demo", "-o", "wide"}, Objects: down.Objects()},
		"a forgotten maintenance label wide": {Args: []string{"status", "demo", "-n", "demo", "-o", "wide"}, Objects: maintained.Objects()},
		"json":                               {Args: []string{"status", "demo", "-n", "demo", "-o", "json"}, Objects: down.Objects()},
		"jsonpath":                           {Args: []string{"status", "demo", "-n", "demo", "-o", `jsonpath={.items[*].nodes[?(@.seen.status=="DOWN")].member}`}, Objects: down.Objects()},
		"go-template":                        {Args: []string{"status", "demo", "-n", "demo", "-o", `go-template={{range .items}}{{.healthy}} {{len .nodes}}{{end}}`}, Objects: down.Objects()},
		"lines for awk":                      {Args: []string{"status", "-n", "demo", "--no-headers"}, Objects: down.Objects()},
		"lines for awk on a terminal":        {Args: []string{"status", "-n", "demo", "--no-headers", "-o", "wide"}, Objects: down.Objects(), Terminal: cli.Terminal{Out: true, Width: 80, Height: 24}},
		"a list of names":                    {Args: []string{"status", "-A", "-o", "name"}, Objects: everywhere},
		"a list as json":                     {Args: []string{"status", "-n", "demo", "-l", "scylla/cluster=demo", "-o", "jsonpath={.kind} {.items[*].metadata.name}"}, Objects: two},
		"several clusters in a namespace":    {Args: []string{"status", "-n", "demo"}, Objects: two},
		"all namespaces":                     {Args: []string{"status", "-A"}, Objects: everywhere},
		"an unknown cluster":                 {Args: []string{"status", "dmo", "-n", "demo"}, Objects: whole.Objects()},
		"a selector that fits nothing":       {Args: []string{"status", "-n", "demo", "-l", "team=x"}, Objects: whole.Objects()},
		"a selector that cannot be read":     {Args: []string{"status", "-n", "demo", "-l", "a in ("}, Objects: whole.Objects()},
		"a name and a selector":              {Args: []string{"status", "demo", "-n", "demo", "-l", "a=b"}, Objects: whole.Objects()},
		"a timeout that nothing waits for":   {Args: []string{"status", "-n", "demo", "--timeout", "1m"}, Objects: whole.Objects()},
		"wait without time":                  {Args: []string{"status", "demo", "-n", "demo", "--wait", "--timeout", "0"}, Objects: down.Objects()},
		"partial: Pods may not be listed":    {Args: []string{"status", "-n", "demo"}, Objects: whole.Objects(), Funcs: noPods},
		"a cluster that begins":              {Args: []string{"status", "-n", "demo"}, Objects: begins()},
		"a report older than the members":    {Args: []string{"status", "-n", "demo"}, Objects: older(plugintest.New(3, 1))},
		"a silent controller":                {Args: []string{"status", "-n", "demo"}, Objects: kept(plugintest.New(3, 1), 10*time.Minute)},
		"a file that is not YAML":            {Args: []string{"status", "--from", "-"}, Stdin: "a: [\n"},
	}
	plugintest.Screens(t, cases, plugintest.Run.Transcript)
}

// TestColoursAndGlyphsByEnvironment: what a terminal or the caller asks for is used, in this order of weight.
func TestColoursAndGlyphsByEnvironment(t *testing.T) {
	for name, c := range map[string]struct {
		args, environ  string
		colour, glyphs bool
	}{
		"nothing is asked for":              {environ: "TERM=xterm-256color", glyphs: true},
		"colour forced into a file":         {args: "--color=always", environ: "TERM=xterm-256color", colour: true, glyphs: true},
		"CLICOLOR_FORCE without a terminal": {environ: "TERM=xterm-256color CLICOLOR_FORCE=1", colour: true, glyphs: true},
		"NO_COLOR wins over CLICOLOR_FORCE": {environ: "TERM=xterm-256color CLICOLOR_FORCE=1 NO_COLOR=1", glyphs: true},
		"a locale without glyphs":           {environ: "LANG=C"},
	} {
		args := append([]string{"status", "demo", "-n", "demo"}, strings.Fields(c.args)...)
		got := plugintest.Run{Args: args, Objects: demoDown().Objects(), Environ: strings.Fields(c.environ)}.Do(t)
		if strings.Contains(got.Stdout, "\x1b[") != c.colour || strings.Contains(got.Stdout, "✗") != c.glyphs || got.Code != 3 {
			t.Errorf("%s: want colour %t, glyphs %t, exit 3; exit %d:\n%q", name, c.colour, c.glyphs, got.Code, got.Stdout)
		}
	}
}

// begins is a cluster whose first member waits.
func begins() []client.Object {
	c := plugintest.New(0, 0)
	c.Newcomer("dc1", "rack1", 0)
	return c.Objects()
}

// older is a cluster whose report was written when its first member had joined and its second was joining; its Services are newer.
func older(c *plugintest.Cluster) []client.Object {
	all := c.Objects()
	for _, o := range all {
		switch r := o.(type) {
		case *api.ScyllaDBDatacenterNodesStatusReport:
			r.Racks = r.Racks[:1]
			row := &r.Racks[0].Nodes[0]
			row.ObservedNodes = row.ObservedNodes[:2]
		case *api.ScyllaDBStatusReport:
			r.Membership, r.Datacenters[0].Nodes = nil, r.Datacenters[0].Nodes[:1]
			r.Status.Members = r.Status.Members[:1]
			row := &r.Datacenters[0].Nodes[0]
			row.MembershipDigest, row.ObservedNodes = "", []api.ObservedNodeStatusReport{
				{HostID: hostid.ID(plugintest.HostID(0)), Status: api.NodeStatusUp}, {HostID: hostid.ID(plugintest.HostID(1)), Status: api.NodeStatusUp, State: api.NodeStateJoining},
			}
		}
	}
	return all
}

// kept is a cluster whose controller renewed its Lease that long ago.
func kept(c *plugintest.Cluster, ago time.Duration) []client.Object {
	return append(c.Objects(), controllerLease(ago, api.AnnotationKeeps))
}

// controllerLease is that of our controller, which says this of cluster demo.
func controllerLease(ago time.Duration, says string) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: cli.DefaultControllerNamespace, Name: api.LeaseName,
			Annotations: map[string]string{says: api.KeepMark("demo", "demo")}},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("kubectl-scylla-controller-0"), LeaseDurationSeconds: new(int32(15)), RenewTime: new(metav1.NewMicroTime(plugintest.Now.Add(-ago))),
		},
	}
}

// Nothing is healthy here that holds up a newcomer there.
func TestHealthyIsWhatABarrierWouldSay(t *testing.T) {
	lost := healthy()
	lost.Ghost("demo-dc1-rack3-0")
	objects := (*plugintest.Cluster).Objects
	keeps := func(ago time.Duration) func(*plugintest.Cluster) []client.Object {
		return func(c *plugintest.Cluster) []client.Object { return kept(c, ago) }
	}
	for name, c := range map[string]struct {
		cluster *plugintest.Cluster
		change  func(*plugintest.Cluster) []client.Object
		code    int
	}{
		"all UP":                          {healthy(), objects, 0},
		"one DOWN":                        {down(), objects, 3},
		"a row missing":                   {healthy().NoRow("demo-dc1-rack2-0"), objects, 3},
		"a report older than the members": {healthy(), older, 3},
		"a controller that is heard":      {healthy(), keeps(time.Second), 0},
		"a silent controller":             {healthy(), keeps(10 * time.Minute), 3},
		"a member without a Pod":          {lost, objects, 3},
		"two datacenters, one DOWN":       {plugintest.New(2, 1).AddDatacenter("dc2", 2, 1).Down("demo-dc2-rack1-0"), objects, 3},
	} {
		newcomer := c.cluster.Newcomer("dc1", "rack1", 7)
		all := c.change(c.cluster)
		for _, source := range []string{"report", "auto"} {
			for _, args := range [][]string{{"status", "demo"}, {"barrier", newcomer}} {
				if got := (plugintest.Run{Args: append(args, "-n", "demo", "--source", source), Objects: all}).Do(t); got.Code != c.code {
					t.Errorf("%s, --source=%s: %s ends with %d, want %d\n%s", name, source, args[0], got.Code, c.code, got.Stdout)
				}
			}
		}
	}
}

func TestObjectsAsTheScyllaOperatorWritesThem(t *testing.T) {
	var all bytes.Buffer
	for _, name := range []string{"report.yaml", "member-service.yaml", "pod.yaml", "statefulset.yaml"} {
		data, err := os.ReadFile(filepath.Join("..", "..", "internal", "kube", "testdata", "operator", name))
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
		all.WriteString("\n---\n")
	}
	shortly := clocktesting.NewFakeClock(time.Date(2026, 11, 21, 7, 40, 0, 0, time.UTC)) // after they were saved
	plugintest.Golden(t, "operator-samples.txt", plugintest.Run{Args: []string{"status", "--from", "-"}, Stdin: all.String(), Clock: shortly}.Transcript(t))
}

func TestLiveWhenNothingElseSpeaks(t *testing.T) {
	c := plugintest.New(3, 1).NoReports()
	for _, n := range c.Nodes {
		c.NoRow(n.Name)
	}
	asked := 0
	live := func(_ context.Context, s *cluster.Cluster, o kube.LiveOptions) (*cluster.Cluster, error) {
		asked++
		rows := map[string]*api.NodeStatusReport{}
		for i, n := range c.Nodes {
			row := &api.NodeStatusReport{HostID: hostid.ID(n.HostID), OwnsTokens: new(true), OperationMode: "NORMAL", ScyllaVersion: "2026.1.0"}
			for _, m := range c.Nodes {
				row.ObservedNodes = append(row.ObservedNodes, api.ObservedNodeStatusReport{HostID: hostid.ID(m.HostID), Status: api.NodeStatusUp})
			}
			rows[n.Name] = row
			o.Progress(i+1, len(c.Nodes))
		}
		facts := map[string]cluster.LiveFacts{"demo-dc1-rack2-0": {Vitals: cluster.Vitals{UptimeSeconds: new(int64(0)), LoadBytes: new(int64(1536)), Tokens: new(0)}}, "demo-dc1-rack1-0": {Vitals: cluster.Vitals{UptimeSeconds: new(int64(273_600)), LoadBytes: new(int64(13_314_398_617)), Tokens: new(256)}, Schemas: map[string][]string{"aaaa": {"10.0.0.1", "10.0.0.2"}, "bbbb": {"10.0.0.3"}}}}
		return s.WithLive(rows, facts, nil), nil
	}
	runs := map[string]plugintest.Run{}
	for name, args := range map[string][]string{
		"auto takes live": {"status", "-n", "demo"},
		"live wide":       {"status", "-n", "demo", "--source=live", "-o", "wide"},
		"live JSONPath":   {"status", "-n", "demo", "--source=live", "-o", "jsonpath={range .items[*].nodes[*]}{.member} {.uptimeSeconds} {.loadBytes} {.tokens}{\"\\n\"}{end}"},
		"live described":  {"describe", "rack1/0", "-n", "demo", "--source=live"},
	} {
		runs[name] = plugintest.Run{Args: args, Objects: c.Objects(), Live: live}
	}
	plugintest.Screens(t, runs, plugintest.Run.Transcript)
	if asked != len(runs) {
		t.Errorf("nodes were asked %d times, want %d", asked, len(runs))
	}
	withReport := plugintest.Run{Args: []string{"status", "-n", "demo"}, Objects: plugintest.New(3, 1).Objects(), Live: live}.Do(t)
	if asked != len(runs) || strings.Contains(withReport.Stdout, "ptime") || withReport.Code != 0 {
		t.Errorf("nodes were asked although a report is there (%d), exit %d", asked, withReport.Code)
	}
}

func TestTableFlags(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args   string
		stdout []string // lines, whole or their beginnings
		not    string
		code   int
		stderr string
	}{
		"only problems":           {args: "--problems", stdout: []string{"4  dc1  rack3  demo-dc1-rack3-0"}, not: "1  dc1  rack1  demo-dc1-rack1-0  35d0f1a0  UP", code: 3},
		"the worst first":         {args: "--sort-by seen --no-headers", stdout: []string{"demo-dc1-rack3-0  37d2f3a2-5ea1-4d00-8000-000000000002  DOWN  2/2  error  -", "demo-dc1-rack1-0"}, not: "NOT HEALTHY", code: 3},
		"problems as a document":  {args: "--problems -o jsonpath={.items[*].nodes[*].member}", stdout: []string{"demo-dc1-rack2-1 demo-dc1-rack3-0"}, code: 3},
		"table is the plain text": {args: "-o table", stdout: []string{"✗ NOT HEALTHY"}, code: 3},
		"several clusters":        {args: "-A --problems --no-headers", stdout: []string{"demo  demo  NOT_HEALTHY  2/3  1  1  report  NodeDown  0"}, not: "NAMESPACE", code: 3},
		"Pods for kubectl":        {args: "-o name --problems", stdout: []string{"pod/demo-dc1-rack2-1", "pod/demo-dc1-rack3-0"}, not: "rack1", code: 3},
		"a format that is none":   {args: "-o xml", code: 2, stderr: `unknown output format "xml": use one of table, wide, json, yaml, name, jsonpath=`},
		"an order that is none":   {args: "--sort-by age", code: 2, stderr: "must be one of host-id"},
		"headers of a document":   {args: "--no-headers -o json", code: 2, stderr: "--no-headers requires a table"},
		"the order of no nodes":   {args: "-A --sort-by seen", code: 2, stderr: "--sort-by applies to nodes only"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := plugintest.Run{Args: append([]string{"status", "-n", "demo"}, strings.Fields(tc.args)...), Objects: demoDown().Objects()}.Do(t)
			if got.Code != tc.code || !strings.Contains(got.Stderr, tc.stderr) {
				t.Fatalf("exit %d, want %d:\n%s%s", got.Code, tc.code, got.Stdout, got.Stderr)
			}
			lines := strings.Split(got.Stdout, "\n")
			for _, want := range tc.stdout {
				for len(lines) > 0 && !strings.HasPrefix(lines[0], want) {
					lines = lines[1:]
				}
				if len(lines) == 0 {
					t.Errorf("no line begins with %q, or not in this order:\n%s", want, got.Stdout)
				}
			}
			if tc.not != "" && strings.Contains(got.Stdout, tc.not) {
				t.Errorf("it has %q:\n%s", tc.not, got.Stdout)
			}
		})
	}
}

// TestAPipeIsWhole: what does not go to a terminal is not shortened, folded or limited, whatever COLUMNS says; a terminal of 80x24 has the status of a cluster of any size.
func TestAPipeIsWhole(t *testing.T) {
	t.Parallel()
	down := func(racks, members int) []client.Object {
		return plugintest.New(racks, members).Down("demo-dc1-rack3-0").Objects()
	}
	clusters := map[string][]client.Object{
		"3 nodes": down(3, 1), "12 nodes": down(4, 3), "60 nodes": down(4, 15), "healthy": plugintest.New(3, 1).Objects(), "60 healthy": plugintest.New(4, 15).Objects(),
		"newcomer": demoDown().Objects(), "two datacenters": plugintest.New(3, 9).AddDatacenter("us-east-1", 3, 9).Down("demo-us-east-1-rack2-4").Objects(),
	}
	for name, objects := range clusters {
		run := plugintest.Run{Args: []string{"status", "-n", "demo"}, Objects: objects, Environ: []string{"LANG=C.UTF-8", "COLUMNS=80"}}
		pipe := run.Do(t).Stdout
		for _, o := range objects {
			if pod, is := o.(*corev1.Pod); is && strings.Count(pipe, " "+pod.Name+" ") < 2 && !strings.Contains(name, "newcomer") {
				t.Errorf("%s: Pod %s is not in the table and in the matrix:\n%s", name, pod.Name, pipe)
			}
		}
		if strings.Contains(pipe, "…") || strings.Contains(pipe, "--all") {
			t.Errorf("%s: something is left out:\n%s", name, pipe)
		}
		run.Terminal = cli.Terminal{Out: true, Width: 80, Height: 24}
		screen := run.Do(t).Stdout
		lines := strings.Split(strings.TrimSuffix(screen, "\n"), "\n")
		for _, line := range lines {
			if lipgloss.Width(line) > 80 {
				t.Errorf("%s: a line is too long: %s", name, line)
			}
		}
		if len(lines) > 23 || !strings.Contains(lines[0], "HEALTHY demo/demo") {
			t.Errorf("%s: %d lines:\n%s", name, len(lines), screen)
		}
	}
	for _, flag := range []string{"--all", "-o=wide"} {
		if all := (plugintest.Run{Args: []string{"status", "-n", "demo", flag}, Objects: clusters["60 nodes"]}).Do(t); strings.Count(all.Stdout, "\n") < 120 || !strings.Contains(all.Stdout, " datacenter); managed by kubectl-scylla\n") {
			t.Errorf("%s leaves something out, or breaks lines:\n%s", flag, all.Stdout)
		}
	}
	script := plugintest.Run{Args: []string{"status", "-n", "demo", "--no-headers"}, Objects: clusters["60 nodes"]}.Do(t)
	if n := strings.Count(script.Stdout, "\n"); n != 60 || !strings.Contains(script.Stdout, "  fresh  4m0s  Running           2/2  ") {
		t.Errorf("--no-headers has %d lines, want one of each node:\n%s", n, script.Stdout)
	}
}

// TestEveryLineHasTheColumns that the page names, one word each, also of a node without a Pod, a host ID or a report; awk '$3=="DOWN"{print $1}' finds the node.
func TestEveryLineHasTheColumns(t *testing.T) {
	t.Parallel()
	left := demoDown()
	left.Pod("demo-dc1-rack2-0").Status.Phase = corev1.PodPending
	for name, objects := range map[string][]client.Object{
		"a node is DOWN": left.Objects(), "begins": begins(), "no reports": plugintest.New(3, 1).NoReports().Objects(), "60 nodes": plugintest.New(4, 15).Down("demo-dc1-rack3-0").Objects(),
	} {
		for args, columns := range map[string]string{
			"status --no-headers": show.PlainNodes, "status -o wide --no-headers": show.PlainNodes + " " + show.PlainWide,
			"status -A --no-headers": show.PlainClusters, "barrier --no-headers": show.PlainBarriers, "report --no-headers": show.PlainNodes,
		} {
			for _, terminal := range []cli.Terminal{{}, {Out: true, Width: 80, Height: 24}} {
				got := plugintest.Run{Args: append(strings.Fields(args), "-n", "demo"), Objects: objects, Terminal: terminal}.Do(t)
				down := ""
				for line := range strings.Lines(got.Stdout) {
					words := strings.Fields(line)
					if len(words) != len(strings.Fields(columns)) {
						t.Errorf("%s: %s: want the columns %s:\n%s", name, args, columns, line)
					} else if words[2] == "DOWN" {
						down += words[0]
					}
				}
				if (down == "demo-dc1-rack3-0") != (strings.HasPrefix(columns, show.PlainNodes) && (name == "60 nodes" || name == "a node is DOWN")) {
					t.Errorf("%s: %s: DOWN is %q:\n%s", name, args, down, got.Stdout)
				}
			}
		}
	}
}

// viewed gives the cluster report of the objects a view.
func viewed(v *api.StatusReportView) []client.Object {
	return edit(healthy().Objects(), "", func(r *api.ScyllaDBStatusReport) { r.Status.View = v })
}

// Every verb that judges says which view the controller has, and for how long it has said so; none does where there is no view.
func TestEveryVerbSaysHowOldTheViewIs(t *testing.T) {
	v := &api.StatusReportView{Epoch: 3, Seq: 41, ObservedAt: metav1.NewTime(plugintest.Now.Add(-12 * time.Second)), Members: []api.StatusReportViewMember{{Name: "demo-dc1-rack1-0", State: api.NodeStatusUp}}}
	const long, short = "controller view 3.41", "controller: 1 of 1 members UP; unchanged for 12s"
	const items = " -o jsonpath={.items[0].view.epoch}.{.items[0].view.seq}/{.items[0].view.observedAt}"
	const json = "3.41/2026-11-21T11:59:48Z"
	for args, want := range map[string]string{
		"status demo": short, "status demo -o wide": long + ": 1 of 1 members UP", "report demo": short, "report demo -o html": long,
		"barrier demo-dc1-rack1-0": long + "; unchanged for 12s", "barrier": long + "; unchanged for 12s",
		"describe demo-dc1-rack1-0": "Based on: controller view 3.41; unchanged for 12s",
		"status demo" + items:       json, "barrier demo-dc1-rack1-0" + items: json, "describe demo-dc1-rack1-0" + items: json,
		"barrier -o jsonpath={.views[0].namespace}/{.views[0].cluster}/{.views[0].epoch}.{.views[0].seq}": "demo/demo/3.41",
	} {
		shows(t, viewed(v), args, []string{want})
		shows(t, viewed(nil), args, nil, "3.41", "controller:")
	}
}

func TestStatusSaysTheView(t *testing.T) {
	up := api.StatusReportViewMember{Name: "demo-dc1-rack1-0", State: api.NodeStatusUp}
	tests := map[string]struct {
		view *api.StatusReportView
		want string // empty: no line about a view
	}{
		"none": {},
		"all UP": {
			&api.StatusReportView{Epoch: 3, Seq: 41, ObservedAt: metav1.NewTime(plugintest.Now.Add(-12 * time.Second)), Members: []api.StatusReportViewMember{up, up}},
			"controller: 2 of 2 members UP; unchanged for 12s",
		},
		"all UP in the rows, and not yet in the view": {
			&api.StatusReportView{Epoch: 3, Seq: 41, ObservedAt: metav1.NewTime(plugintest.Now.Add(-3 * time.Second)), Members: []api.StatusReportViewMember{
				up, {Name: "demo-dc1-rack2-0", State: api.NodeStatusUnknown}, {Name: "demo-dc1-rack3-0", State: api.NodeStatusDown},
			}},
			"controller: 1 of 3 members UP; demo-dc1-rack2-0 and demo-dc1-rack3-0 not counted as UP yet; unchanged for 3s",
		},
		"not all UP, and held": {
			&api.StatusReportView{Epoch: 1, Seq: 2, ObservedAt: metav1.NewTime(plugintest.Now.Add(-3 * time.Minute)), Hold: "RolloutInProgress", Members: []api.StatusReportViewMember{
				up, {Name: "demo-dc1-rack2-0", State: api.NodeStatusDown}, {HostID: "0f0e0d0c-0000-4000-8000-000000000000", State: "?"},
			}},
			"controller: 1 of 3 members UP; DOWN: demo-dc1-rack2-0; UNKNOWN: 0f0e0d0c; blocks new nodes: rollout in progress; unchanged for 3m0s",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			text := plugintest.Run{Args: []string{"status", "demo", "-n", "demo", "--all"}, Objects: viewed(tt.view)}.Do(t).Stdout
			if has := strings.Contains(text, "controller: "); has != (tt.want != "") || !strings.Contains(text, tt.want+"\n") {
				t.Errorf("want %q in:\n%s", tt.want, text)
			}
		})
	}
}

// TestANodeHasOneAge: a node was DOWN for 5m33s on one screen and for 5m37s on another. Every screen has the time of the last observer, since when all these have it DOWN; a single observer's is shown with its name.
func TestANodeHasOneAge(t *testing.T) {
	const down = "demo-dc1-rack3-0"
	c := plugintest.New(3, 1).DownSince(down, 5*time.Minute)
	c.Newcomer("dc1", "rack1", 1)
	objects := c.Says(func(by plugintest.Node, said *api.NodeStatusReport) {
		for i := range said.ObservedNodes {
			if o := &said.ObservedNodes[i]; o.Since != nil {
				o.Since = &metav1.Time{Time: plugintest.Now.Add(map[bool]time.Duration{true: -337 * time.Second, false: -333 * time.Second}[by.Name < "demo-dc1-rack2"])}
			}
		}
	}).Objects()
	for _, args := range []string{"status demo", "status demo --all", "describe " + down} {
		shows(t, objects, args, []string{"5m33s"}, "5m37s")
	}
}

// A root credential that is not verified is a warning: it changes neither the verdict nor the exit code.
func TestRootCredential(t *testing.T) {
	for code, want := range map[string]string{
		"":                     "",
		"Verified":             "",
		"WrongPassword":        "root credential: ScyllaDB refuses the username and password of Secret demo-root-credential",
		"DefaultSuperuserOpen": "root credential: the default superuser cassandra logs in with its default password",
		"Unknown":              "root credential: the root credential is not verified",
	} {
		objects := edit(healthy().Objects(), "", func(r *api.ScyllaDBStatusReport) {
			r.Status.RootCredential = &api.RootCredential{Mode: "verify", Code: api.RootCredentialCode(code), Member: "demo-dc1-rack1-0"}
		})
		shows(t, objects, "describe demo-dc1-rack1-0 -o wide", []string{strings.TrimPrefix(want, "root credential: "), exit0})
		if shows(t, objects, "status demo -o wide", []string{want, exit0}); want == "" {
			shows(t, objects, "status demo -o wide", nil, "root credential")
		}
	}
}

// TestEveryLineForJq runs the table of docs/reference/json.md on the sample that it names.
func TestEveryLineForJq(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reference/json.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| (.+\\?) \\| `(.+)` \\| `(.+)` \\| `(.+)` \\|$").FindAllStringSubmatch(string(page), -1)
	if len(rows) < 15 {
		t.Fatalf("%d questions are found", len(rows))
	}
	for _, row := range rows {
		got := plugintest.Run{Args: append(strings.Fields(row[2]), "--from", "sample:incident", "-o", "json")}.Do(t)
		var doc any
		if err := json.Unmarshal([]byte(got.Stdout), &doc); err != nil {
			t.Fatalf("%s: %v: %s", row[2], err, got.Stderr)
		}
		query, err := gojq.Parse(strings.ReplaceAll(row[3], `\|`, "|"))
		if err != nil {
			t.Errorf("%s: %v", row[3], err)
			continue
		}
		var lines []string
		for answers := query.Run(doc); ; {
			v, more := answers.Next()
			if !more {
				break
			}
			if err, bad := v.(error); bad {
				t.Errorf("%s: %v", row[3], err)
			}
			line, raw := v.(string)
			if !raw {
				text, _ := gojq.Marshal(v)
				line = string(text)
			}
			lines = append(lines, line)
		}
		if answer := strings.Join(lines, ", "); answer != row[4] {
			t.Errorf("%s: jq answers %q, the page %q", row[1], answer, row[4])
		}
	}
}
