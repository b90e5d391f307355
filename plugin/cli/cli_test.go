// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/barrier"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/output"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// bench is a Deps with streams that a test reads. Its clock keeps the time of the synctest bubble.
type bench struct {
	*cli.Deps
	out, err output.Buffer
}

func newBench(in io.Reader, term cli.Terminal, environ ...string) *bench {
	b := &bench{}
	b.Deps = cli.New(genericiooptions.IOStreams{In: in, Out: &b.out, ErrOut: &b.err}, plugintest.BubbleClock(), environ, func() cli.Terminal { return term })
	return b
}

// pass lets time pass, and what happens at its end happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestProgressIsQuietForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(nil, cli.Terminal{})
		p := b.Busy("reading")
		pass(999 * time.Millisecond)
		p.Stop()
		if got := b.err.String(); got != "" {
			t.Errorf("said %q about work of 0.999 s", got)
		}
	})
}

func TestProgressInPlainLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(nil, cli.Terminal{})
		p := b.Busy("reading")
		pass(time.Second)
		if got := b.err.String(); got != "reading\n" {
			t.Errorf("after a second: %q", got)
		}
		p.Update("reading")
		p.Update("asking: 1 of 3")
		p.Update("asking: 2 of 3\x1b[2J")
		pass(29 * time.Second)
		once := "reading\nasking: 1 of 3\nasking: 2 of 3 [2J\n"
		if diff := cmp.Diff(once, b.err.String()); diff != "" {
			t.Errorf("before half a minute (-want +got):\n%s", diff)
		}
		pass(time.Second)
		p.Stop()
		if diff := cmp.Diff(once+"asking: 2 of 3 [2J\n", b.err.String()); diff != "" {
			t.Errorf("the line again after half a minute (-want +got):\n%s", diff)
		}
	})
}

func TestProgressInOneLiveLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(nil, cli.Terminal{Err: true, Width: 24}, "TERM=xterm")
		p := b.NewProgress("waiting for a thing", 0)
		pass(120 * time.Millisecond)
		if got := b.err.String(); !strings.Contains(got, "⠙") {
			t.Errorf("no second frame: %q", got)
		}
		p.Stop()
		got := b.err.String()
		if strings.Contains(got, "\n") {
			t.Errorf("the live line broke: %q", got)
		}
		if want := "\r⠋ waiting for a thing …\x1b[K"; !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want first %q", got, want)
		}
		if !strings.HasSuffix(got, "\r\x1b[K") {
			t.Errorf("the live line is not taken away: %q", got)
		}
	})
}

func TestOnlyOneProgressTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(nil, cli.Terminal{})
		outer := b.NewProgress("outer", 0)
		inner := b.NewProgress("inner", 0)
		inner.Update("inner again")
		inner.Stop()
		outer.Stop()
		after := b.NewProgress("after", 0)
		after.Stop()
		if diff := cmp.Diff("outer\nafter\n", b.err.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestADumbTerminalGetsPlainLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(nil, cli.Terminal{Err: true, Width: 80}, "TERM=dumb")
		b.NewProgress("waiting", 0).Stop()
		if diff := cmp.Diff("waiting\n", b.err.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestConfirm(t *testing.T) {
	cases := map[string]struct {
		term cli.Terminal
		in   string
		code int
	}{
		"yes":                      {cli.Terminal{In: true}, "yes\n", 0},
		"yes with spaces":          {cli.Terminal{In: true}, "  yes \r\n", 0},
		"yes without a line's end": {cli.Terminal{In: true}, "yes", 0},
		"no":                       {cli.Terminal{In: true}, "no\n", 2},
		"another case":             {cli.Terminal{In: true}, "YES\n", 2},
		"nothing":                  {cli.Terminal{In: true}, "", 2},
		"nobody there":             {cli.Terminal{}, "yes\n", 2},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(strings.NewReader(c.in), c.term)
			err := b.Confirm(t.Context(), "Really?", "yes")
			if got := exit.Code(err); got != c.code {
				t.Errorf("exit code %d, want %d: %v", got, c.code, err)
			}
			if b.out.String() != "" {
				t.Errorf("the prompt went to standard output: %q", b.out.String())
			}
		})
	}
}

func TestConfirmCanBeInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		defer w.Close()
		b := newBench(r, cli.Terminal{In: true})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- b.Confirm(ctx, "Really?", "yes") }()
		synctest.Wait()
		if got := b.err.String(); !strings.Contains(got, "Really?") {
			t.Errorf("no prompt: %q", got)
		}
		cancel()
		if err := <-done; exit.Code(err) != exit.CodeInterrupted {
			t.Errorf("exit code %d: %v", exit.Code(err), err)
		}
	})
}

// spent is how much time of a wait is gone.
var spent = regexp.MustCompile(` \(\w+ of \w+\)`)

func TestWait(t *testing.T) {
	boom := errors.New("boom")
	type look struct {
		done     bool
		activity string
		err      error
	}
	cases := map[string]struct {
		looks   []look
		timeout time.Duration
		code    int
		stderr  string
		text    string
	}{
		"done at once says nothing":       {[]look{{done: true}}, time.Minute, 0, "", ""},
		"an error at once ends it":        {[]look{{err: boom}}, time.Minute, 1, "", "boom"},
		"zero looks once":                 {[]look{{activity: "b is DOWN"}}, 0, 4, "", "x to be y: not yet: b is DOWN"},
		"done later":                      {[]look{{activity: "b is DOWN"}, {activity: "b is DOWN"}, {done: true}}, time.Minute, 0, "waiting for x to be y: b is DOWN\n", ""},
		"a change is told":                {[]look{{activity: "b is DOWN"}, {activity: "c is DOWN"}, {done: true}}, time.Minute, 0, "waiting for x to be y: b is DOWN\nwaiting for x to be y: c is DOWN\n", ""},
		"an error later is tried again":   {[]look{{activity: "b is DOWN"}, {err: boom}, {done: true}}, time.Minute, 0, "waiting for x to be y: b is DOWN\nwaiting for x to be y: boom (retrying)\n", ""},
		"an answer later ends it":         {[]look{{activity: "b is DOWN"}, {err: exit.ConditionNotMet(boom)}}, time.Minute, 3, "waiting for x to be y: b is DOWN\n", "boom"},
		"time is up":                      {[]look{{activity: "b is DOWN"}}, 12 * time.Second, 4, "waiting for x to be y: b is DOWN\n", "timed out after 12s waiting for x to be y: b is DOWN"},
		"negative waits longer than that": {[]look{{activity: "b is DOWN"}, {activity: "b is DOWN"}, {activity: "b is DOWN"}, {activity: "b is DOWN"}, {done: true}}, -1, 0, "waiting for x to be y: b is DOWN\n", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(nil, cli.Terminal{})
				looks := 0
				err := b.Wait(t.Context(), cli.Wait{Subject: "x to be y", Timeout: c.timeout, Every: time.Second, Check: func(context.Context) (bool, string, error) {
					l := c.looks[min(looks, len(c.looks)-1)]
					looks++
					return l.done, l.activity, l.err
				}})
				if exit.Code(err) != c.code {
					t.Errorf("exit code %d, want %d: %v", exit.Code(err), c.code, err)
				}
				if c.text != "" && (err == nil || !strings.Contains(err.Error(), c.text)) {
					t.Errorf("error %v, want %q", err, c.text)
				}
				if diff := cmp.Diff(c.stderr, spent.ReplaceAllString(b.err.String(), "")); diff != "" {
					t.Errorf("stderr (-want +got):\n%s", diff)
				}
				if first, _, _ := strings.Cut(b.err.String(), "\n"); c.stderr != "" && !regexp.MustCompile(` \(0s of (1m0s|12s|7d0h)\)$`).MatchString(first) {
					t.Errorf("how much time is gone, and of how much, is not told: %q", first)
				}
			})
		})
	}
}

func TestCompletion(t *testing.T) {
	c := plugintest.New(3, 1)
	c.Newcomer("dc1", "rack2", 1)
	objects := append(c.Objects(), plugintest.NewNamed("prod", "analytics", "eu", 1, 1).Objects()...)
	cases := map[string]struct {
		args []string
		want string
	}{
		"clusters":                            {[]string{"status", "-n", "demo", ""}, "demo\n:4\n"},
		"clusters of another namespace":       {[]string{"status", "-n", "prod", ""}, "analytics\n:4\n"},
		"clusters by prefix":                  {[]string{"status", "-n", "demo", "x"}, ":4\n"},
		"no second cluster":                   {[]string{"status", "-n", "demo", "demo", ""}, ":4\n"},
		"members with what they are":          {[]string{"barrier", "-n", "demo", "demo-dc1-rack2"}, "demo-dc1-rack2-0\tMember, Pod Running 2/2\ndemo-dc1-rack2-1\tNewcomer, Pod Init:2/3\n:4\n"},
		"members to force":                    {[]string{"force-proceed", "-n", "demo", "demo-dc1-rack3"}, "demo-dc1-rack3-0\tMember, Pod Running 2/2\n:4\n"},
		"members by rack":                     {[]string{"barrier", "-n", "demo", "rack3"}, "rack3/0\tdemo-dc1-rack3-0\nrack3-0\tdemo-dc1-rack3-0\n:4\n"},
		"members by host ID":                  {[]string{"replace", "-n", "demo", plugintest.HostID(2)[:5]}, plugintest.HostID(2) + "\tdemo-dc1-rack3-0\n:4\n"},
		"members of a list":                   {[]string{"replace", "-n", "demo", "--ignore-dead", "rack1/0,rack3/"}, "rack1/0,rack3/0\tdemo-dc1-rack3-0\n:4\n"},
		"datacenters":                         {[]string{"force-proceed", "-n", "demo", "--datacenter", ""}, "dc1\n:4\n"},
		"sources":                             {[]string{"status", "--source", ""}, "auto\nreport\nannotation\nlive\n:4\n"},
		"formats":                             {[]string{"status", "-o", "j"}, "table\nwide\njson\nyaml\nname\njsonpath=...\njsonpath-file=...\ngo-template=...\ngo-template-file=...\n:6\n"},
		"shells":                              {[]string{"completion", "z"}, "zsh\n:4\n"},
		"verbs":                               {[]string{"for"}, "force-proceed\tLet a member start ScyllaDB even though its barrier blocks it\nforce-bootstrap\tAlias of force-proceed\n:4\n"},
		"nothing that cannot be read is said": {[]string{"status", "-n", "nowhere", ""}, ":4\n"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			res := plugintest.Run{Args: append([]string{cobra.ShellCompRequestCmd}, c.args...), Objects: objects}.Do(t)
			if diff := cmp.Diff(c.want, res.Stdout); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompletionSaysNothingOfErrors(t *testing.T) {
	broken := interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return errors.New("boom")
	}}
	for name, run := range map[string]plugintest.Run{
		"an API server that fails": {Args: []string{cobra.ShellCompRequestCmd, "status", ""}, Objects: plugintest.New(1, 1).Objects(), Funcs: broken},
		"no kubeconfig":            {Args: []string{cobra.ShellCompRequestCmd, "status", ""}},
	} {
		res := run.Do(t)
		if res.Code != 0 || res.Stdout != ":4\n" || strings.Contains(res.Stderr, "boom") || strings.Contains(res.Stderr, "error") {
			t.Errorf("%s: exit %d, stdout %q, stderr %q", name, res.Code, res.Stdout, res.Stderr)
		}
	}
}

func TestCompletionGivesUpInTime(t *testing.T) {
	var once sync.Once // the lists after the first one find the time spent
	var patience time.Duration
	stuck := interceptor.Funcs{List: func(ctx context.Context, _ client.WithWatch, _ client.ObjectList, _ ...client.ListOption) error {
		once.Do(func() {
			if end, ok := ctx.Deadline(); ok {
				patience = time.Until(end)
			}
		})
		<-ctx.Done()
		return ctx.Err()
	}}
	res := plugintest.Run{Args: []string{cobra.ShellCompRequestCmd, "status", ""}, Objects: plugintest.New(1, 1).Objects(), Funcs: stuck}.Do(t)
	if patience <= 0 || patience > 3*time.Second || res.Stdout != ":4\n" {
		t.Errorf("waits %s for the API server, then says %q", patience, res.Stdout)
	}
}

// The default namespace of the CLI must be that of the controller.
func TestDefaultControllerNamespace(t *testing.T) {
	if cli.DefaultControllerNamespace != barrier.DefaultLeaseNamespace {
		t.Errorf("the CLI looks in %s, barriers in %s", cli.DefaultControllerNamespace, barrier.DefaultLeaseNamespace)
	}
}
