// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
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
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/output"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

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
	healthy, down := plugintest.New(3, 1), demoDown()
	maintained := plugintest.New(3, 1).Maintenance("demo-dc1-rack2-0", 52*time.Hour)
	other := plugintest.NewNamed("prod", "analytics", "eu", 2, 1)
	two := append(healthy.Objects(), plugintest.NewNamed("demo", "second", "dc1", 1, 2).Down("second-dc1-rack1-1").Objects()...)
	everywhere := append(healthy.Objects(), other.Objects()...)
	forbidden := func(resource string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", fmt.Errorf(`User "bob" cannot list resource %q in API group "" in the namespace "demo"`, resource))
	}
	noPods := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		if _, ok := list.(*corev1.PodList); ok {
			return forbidden("pods")
		}
		return c.List(ctx, list, opts...)
	}}
	nothing := interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return forbidden("services")
	}}
	wide := cli.Terminal{Out: true, Width: 120, Height: 40}
	cases := map[string]plugintest.Run{
		"healthy":                            {Args: []string{"status", "-n", "demo"}, Objects: healthy.Objects()},
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
		"an unknown format":                  {Args: []string{"status", "-n", "demo", "-o", "xml"}, Objects: healthy.Objects()},
		"a broken template":                  {Args: []string{"status", "-n", "demo", "-o", "jsonpath={.nodes["}, Objects: healthy.Objects()},
		"an unknown source":                  {Args: []string{"status", "-n", "demo", "--source", "guess"}, Objects: healthy.Objects()},
		"an unknown cluster":                 {Args: []string{"status", "dmo", "-n", "demo"}, Objects: healthy.Objects()},
		"an empty namespace":                 {Args: []string{"status", "-n", "prdo"}, Objects: everywhere},
		"nothing anywhere":                   {Args: []string{"status", "-A"}, Objects: []client.Object{&corev1.Service{}}[:0:0], Client: plugintest.NewClient(nil, interceptor.Funcs{})},
		"a selector that fits nothing":       {Args: []string{"status", "-n", "demo", "-l", "team=x"}, Objects: healthy.Objects()},
		"a selector that cannot be read":     {Args: []string{"status", "-n", "demo", "-l", "a in ("}, Objects: healthy.Objects()},
		"a name and a selector":              {Args: []string{"status", "demo", "-n", "demo", "-l", "a=b"}, Objects: healthy.Objects()},
		"too many names":                     {Args: []string{"status", "a", "b"}, Objects: healthy.Objects()},
		"an unknown flag":                    {Args: []string{"status", "--colour"}, Objects: healthy.Objects()},
		"a timeout that nothing waits for":   {Args: []string{"status", "-n", "demo", "--timeout", "1m"}, Objects: healthy.Objects()},
		"watch and wait":                     {Args: []string{"status", "-n", "demo", "--watch", "--wait"}, Objects: healthy.Objects()},
		"wait without time":                  {Args: []string{"status", "demo", "-n", "demo", "--wait", "--timeout", "0"}, Objects: down.Objects()},
		"partial: Pods may not be listed":    {Args: []string{"status", "-n", "demo"}, Objects: healthy.Objects(), Funcs: noPods},
		"nothing may be listed":              {Args: []string{"status", "-n", "demo"}, Objects: healthy.Objects(), Funcs: nothing},
		"a cluster that begins":              {Args: []string{"status", "-n", "demo"}, Objects: begins()},
		"a report older than the members":    {Args: []string{"status", "-n", "demo"}, Objects: older(plugintest.New(3, 1))},
		"a silent controller":                {Args: []string{"status", "-n", "demo"}, Objects: kept(plugintest.New(3, 1), 10*time.Minute)},
		"live with saved objects":            {Args: []string{"status", "--from", "x.yaml", "--source", "live"}},
		"a file that is not there":           {Args: []string{"status", "--from", "nowhere.yaml"}},
		"a file without a cluster":           {Args: []string{"status", "--from", "-"}, Stdin: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"},
		"a file that is not YAML":            {Args: []string{"status", "--from", "-"}, Stdin: "a: [\n"},
		"watching saved objects":             {Args: []string{"status", "--from", "-", "--watch"}, Stdin: "{}"},
		"no kubeconfig":                      {Args: []string{"status"}},
		"an unknown context":                 {Args: []string{"status", "--context", "nowhere", "--server", "https://127.0.0.1:1"}},
		"an API server that is not there":    {Args: []string{"status", "--server", "https://127.0.0.1:1"}},
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
	return append(c.Objects(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: cli.DefaultControllerNamespace, Name: api.LeaseName,
			Annotations: map[string]string{api.AnnotationKeeps: api.KeepMark(c.Namespace, c.Name)}},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("kubectl-scylla-controller-0"), LeaseDurationSeconds: new(int32(15)), RenewTime: new(metav1.NewMicroTime(plugintest.Now.Add(-ago))),
		},
	})
}

// Nothing is healthy here that holds up a newcomer there.
func TestHealthyIsWhatABarrierWouldSay(t *testing.T) {
	lost := plugintest.New(3, 1)
	lost.Ghost("demo-dc1-rack3-0")
	for name, c := range map[string]struct {
		cluster *plugintest.Cluster
		change  func(*plugintest.Cluster) []client.Object
		healthy bool
	}{
		"all UP":                          {plugintest.New(3, 1), (*plugintest.Cluster).Objects, true},
		"one DOWN":                        {plugintest.New(3, 1).Down("demo-dc1-rack2-0"), (*plugintest.Cluster).Objects, false},
		"a row missing":                   {plugintest.New(3, 1).NoRow("demo-dc1-rack2-0"), (*plugintest.Cluster).Objects, false},
		"a report older than the members": {plugintest.New(3, 1), older, false},
		"a controller that is heard":      {plugintest.New(3, 1), func(c *plugintest.Cluster) []client.Object { return kept(c, time.Second) }, true},
		"a silent controller":             {plugintest.New(3, 1), func(c *plugintest.Cluster) []client.Object { return kept(c, 10*time.Minute) }, false},
		"a member without a Pod":          {lost, (*plugintest.Cluster).Objects, false},
		"two datacenters, one DOWN":       {plugintest.New(2, 1).AddDatacenter("dc2", 2, 1).Down("demo-dc2-rack1-0"), (*plugintest.Cluster).Objects, false},
	} {
		t.Run(name, func(t *testing.T) {
			newcomer := c.cluster.Newcomer("dc1", "rack1", 7)
			objects := c.change(c.cluster)
			for _, source := range []string{"report", "auto"} {
				status := plugintest.Run{Args: []string{"status", "demo", "-n", "demo", "--source", source}, Objects: objects}.Do(t)
				barrier := plugintest.Run{Args: []string{"barrier", newcomer, "-n", "demo", "--source", source}, Objects: objects}.Do(t)
				want := 3
				if c.healthy {
					want = 0
				}
				if status.Code != want || barrier.Code != want {
					t.Errorf("--source=%s: status ends with %d, the newcomer's barrier with %d, want %d\n%s\n%s", source, status.Code, barrier.Code, want, status.Stdout, barrier.Stdout)
				}
			}
		})
	}
}

// Saved objects show what the API server shows, from a file and from standard input, but for ages and the word that says so.
func TestSavedObjectsShowTheSame(t *testing.T) {
	for name, c := range map[string]*plugintest.Cluster{"healthy": plugintest.New(3, 1), "down": demoDown(), "operator": demoDown().Operator()} {
		t.Run(name, func(t *testing.T) {
			live := plugintest.Run{Args: []string{"status", "-o", "json", "-n", "demo", "demo"}, Objects: c.Objects()}.Do(t)
			file := plugintest.Run{Args: []string{"status", "-o", "json", "--from", plugintest.Save(t, c.Objects())}}.Do(t)
			stdin := plugintest.Run{Args: []string{"status", "-o", "json", "--from", "-"}, Stdin: string(plugintest.SavedYAML(t, c.Objects()))}.Do(t)
			if diff := cmp.Diff(file, stdin); diff != "" {
				t.Errorf("file and standard input differ:\n%s", diff)
			}
			if live.Code != file.Code || file.Stderr != "" {
				t.Errorf("exit %d live, %d saved; stderr %q", live.Code, file.Code, file.Stderr)
			}
			if diff := cmp.Diff(facts(t, live.Stdout), facts(t, file.Stdout)); diff != "" {
				t.Errorf("(-live +saved):\n%s", diff)
			}
		})
	}
}

// facts is a document without what tells when and how it was read.
func facts(t *testing.T, document string) map[string]any {
	t.Helper()
	var list struct{ Items []map[string]any }
	if err := json.Unmarshal([]byte(document), &list); err != nil || len(list.Items) != 1 {
		t.Fatalf("%v in %s", err, document)
	}
	m := list.Items[0]
	for _, k := range []string{"takenAt", "generatedAt", "source", "notes"} {
		delete(m, k)
	}
	return m
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

func TestWaitUntilHealthy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := plugintest.NewClient(plugintest.New(3, 1).Down("demo-dc1-rack3-0").Objects(), interceptor.Funcs{})
		done := make(chan plugintest.Result, 1)
		go func() {
			done <- plugintest.Run{Args: []string{"status", "demo", "-n", "demo", "--wait"}, Client: c, Clock: plugintest.BubbleClock()}.Do(t)
		}()
		synctest.Wait()
		for _, o := range plugintest.New(3, 1).Objects() {
			switch o.(type) {
			case *corev1.Pod, *api.ScyllaDBDatacenterNodesStatusReport, *api.ScyllaDBStatusReport:
				old, ok := o.DeepCopyObject().(client.Object)
				if !ok {
					t.Error("not an object")
				}
				if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), old); err != nil {
					t.Error(err)
				}
				o.SetResourceVersion(old.GetResourceVersion())
				if err := c.Update(t.Context(), o); err != nil {
					t.Error(err)
				}
			}
		}
		res := <-done
		if res.Code != 0 || !strings.Contains(res.Stdout, "HEALTHY demo/demo: 3 of 3") {
			t.Errorf("exit %d:\n%s%s", res.Code, res.Stdout, res.Stderr)
		}
		if want := "waiting for cluster demo/demo to be healthy: demo-dc1-rack3-0 DOWN: scylla exits with code 1, 3 restarts (0s of "; !strings.Contains(res.Stderr, want) {
			t.Errorf("stderr:\n%s\nwant first:\n%s", res.Stderr, want)
		}
	})
}

func TestWaitTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		res := plugintest.Run{
			Args:    []string{"status", "demo", "-n", "demo", "--wait", "--timeout", "10m"},
			Objects: plugintest.New(3, 1).Down("demo-dc1-rack3-0").Objects(), Clock: plugintest.BubbleClock(),
		}.Do(t)
		if res.Code != 4 {
			t.Errorf("exit %d, want 4", res.Code)
		}
		if !strings.Contains(res.Stderr, "error: timed out after 10m") || !strings.Contains(res.Stderr, "waiting for cluster demo/demo to be healthy: demo-dc1-rack3-0") {
			t.Errorf("stderr does not say what was waited for:\n%s", res.Stderr)
		}
		if !strings.Contains(res.Stdout, "NOT HEALTHY") {
			t.Errorf("the last status is not shown:\n%s", res.Stdout)
		}
	})
}

func TestInterrupt(t *testing.T) {
	for name, args := range map[string][]string{"wait": {"--wait"}, "watch": {"--watch"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan plugintest.Result, 1)
				go func() {
					done <- plugintest.Run{
						Args:    append([]string{"status", "demo", "-n", "demo"}, args...),
						Objects: plugintest.New(3, 1).Down("demo-dc1-rack3-0").Objects(), Clock: plugintest.BubbleClock(),
					}.DoContext(ctx, t)
				}()
				synctest.Wait()
				cancel()
				if res := <-done; res.Code != 130 || !strings.HasSuffix(res.Stderr, "interrupted\n") {
					t.Errorf("exit %d, stderr %q", res.Code, res.Stderr)
				}
			})
		})
	}
}

func TestWatchWritesAgainOnChangeOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := plugintest.NewClient(plugintest.New(3, 1).Objects(), interceptor.Funcs{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var out output.Buffer
		done := make(chan plugintest.Result, 1)
		go func() {
			done <- plugintest.Run{Args: []string{"status", "demo", "-n", "demo", "-w"}, Client: c, Clock: plugintest.BubbleClock(), Stdout: &out}.DoContext(ctx, t)
		}()
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if n := strings.Count(out.String(), "HEALTHY demo/demo"); n != 1 {
			t.Errorf("written %d times without a change:\n%s", n, out.String())
		}
		var pod corev1.Pod
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "demo", Name: "demo-dc1-rack3-0"}, &pod); err != nil {
			t.Fatal(err)
		}
		if err := c.Delete(t.Context(), &pod); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if !strings.Contains(out.String(), "NOT HEALTHY") {
			t.Errorf("the change is not shown:\n%s", out.String())
		}
		cancel()
		if res := <-done; res.Code != 130 {
			t.Errorf("exit %d, want 130", res.Code)
		}
	})
}
