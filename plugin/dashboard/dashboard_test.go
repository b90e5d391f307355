// SPDX-License-Identifier: Apache-2.0

package dashboard_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

func down() *plugintest.Cluster {
	c := plugintest.New(3, 1).Down("demo-dc1-rack3-0")
	c.Newcomer("dc1", "rack2", 1)
	return c
}

func TestDashboard(t *testing.T) {
	healthy := plugintest.New(3, 1)
	two := append(healthy.Objects(), plugintest.NewNamed("demo", "second", "dc1", 1, 2).Objects()...)
	tty := cli.Terminal{In: true, Out: true, Err: true, Width: 80, Height: 24}
	xterm := []string{"TERM=xterm-256color"}
	cases := map[string]plugintest.Run{
		"once":                           {Args: []string{"dashboard", "demo", "-n", "demo", "--once"}, Objects: down().Objects()},
		"once on a terminal":             {Args: []string{"dashboard", "-n", "demo", "--once"}, Objects: down().Objects(), Terminal: tty, Environ: xterm},
		"a terminal that is too small":   {Args: []string{"dashboard", "-n", "demo", "--once"}, Objects: healthy.Objects(), Terminal: cli.Terminal{Out: true, Width: 30, Height: 10}},
		"standard output is no terminal": {Args: []string{"dashboard", "-n", "demo"}, Objects: healthy.Objects(), Terminal: cli.Terminal{In: true}, Environ: xterm},
		"standard input is no terminal":  {Args: []string{"dashboard", "-n", "demo"}, Objects: healthy.Objects(), Terminal: cli.Terminal{Out: true, Width: 80, Height: 24}, Environ: xterm},
		"a dumb terminal":                {Args: []string{"dashboard", "-n", "demo"}, Objects: healthy.Objects(), Terminal: tty, Environ: []string{"TERM=dumb"}},
		"a width without once":           {Args: []string{"dashboard", "-n", "demo", "--width", "80"}, Objects: healthy.Objects(), Terminal: tty, Environ: xterm},
		"a width that is too small":      {Args: []string{"dashboard", "-n", "demo", "--once", "--width", "39"}, Objects: healthy.Objects()},
		"several clusters":               {Args: []string{"dashboard", "-n", "demo", "--once"}, Objects: two},
		"an unknown cluster":             {Args: []string{"dashboard", "dmo", "-n", "demo", "--once"}, Objects: healthy.Objects()},
		"an empty namespace":             {Args: []string{"dashboard", "-n", "nowhere", "--once"}, Objects: []client.Object{healthy.Objects()[0]}},
		"live with saved objects":        {Args: []string{"dashboard", "--from", "x.yaml", "--source", "live"}, Terminal: tty, Environ: xterm},
		"once from standard input":       {Args: []string{"dashboard", "--from", "-", "--once", "--width", "80", "--height", "24"}, Stdin: string(plugintest.SavedYAML(t, down().Objects()))},
	}
	plugintest.Screens(t, cases, plugintest.Run.Transcript)
}

// Several clusters are a list on a terminal, also in other namespaces than the kubeconfig's; once, they are an error.
func TestSeveralClusters(t *testing.T) {
	two := append(plugintest.New(3, 1).Objects(), plugintest.NewNamed("shop", "carts", "dc1", 1, 2).Objects()...)
	same := append(plugintest.New(3, 1).Objects(), plugintest.NewNamed("demo", "second", "dc1", 1, 2).Objects()...)
	tty := cli.Terminal{In: true, Out: true, Err: true, Width: 80, Height: 24}
	for name, tc := range map[string]struct {
		args    []string
		objects []client.Object
		code    int
	}{
		"two in the namespace":       {[]string{"-n", "demo"}, same, 0},
		"none in the namespace":      {nil, two, 0},
		"none in the given one":      {[]string{"-n", "nowhere"}, two, 1},
		"once":                       {[]string{"-n", "demo", "--once"}, same, 2},
		"a name that does not exist": {[]string{"-n", "demo", "other"}, same, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := plugintest.Run{Args: append([]string{"dashboard"}, tc.args...), Objects: tc.objects, Terminal: tty, Environ: []string{"TERM=xterm-256color"}, Stdin: "q"}.Do(t)
			if r.Code != tc.code {
				t.Errorf("exit code %d, want %d: %s", r.Code, tc.code, r.Stderr)
			}
			if listed := strings.Contains(r.Stdout, "\x1b[?1049h"); listed != (tc.code == 0) {
				t.Errorf("a list is shown: %v\n%q", listed, r.Stdout)
			}
		})
	}
}
