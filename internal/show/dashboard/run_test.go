// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/exp/teatest/v2"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// teatest's own listener for interrupts never ends. A tick that bubbletea has begun cannot be taken back: it outlives its program by up to a second,
	// which is longer than goleak looks.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("charm.land/bubbletea/v2.Tick.func1"),
		goleak.IgnoreAnyFunction("charm.land/bubbletea/v2.(*Program).execBatchMsg"),
		goleak.IgnoreTopFunction("github.com/charmbracelet/x/exp/teatest/v2.NewTestModel.func2"),
		goleak.IgnoreTopFunction("os/signal.loop"), goleak.IgnoreAnyFunction("os/signal.signal_recv"))
}

// The real program starts, takes keys and snapshots, and ends.
func TestProgram(t *testing.T) {
	w := demo()
	s := newScreen(t, w, 80, 24)
	tm := teatest.NewTestModel(t, s.model, teatest.WithInitialTermSize(80, 24), teatest.WithProgramOptions(tea.WithColorProfile(colorprofile.TrueColor)))
	tm.Send(tea.KeyPressMsg{Code: tea.KeyDown})
	tm.Type("z")
	larger := newWorld(3, 2).snapshot()
	tm.Send(Loaded{NewSnapshot(larger, statusOf(larger, start), s.last, true, start)})
	tm.Type("q")
	m, ok := tm.FinalModel(t, teatest.WithFinalTimeout(30*time.Second)).(*model)
	if !ok {
		t.Fatal("no model")
	}
	if m.matrix.level != 1 || !m.snap.doc.Healthy || len(m.changes.log) == 0 {
		t.Errorf("level %d, healthy %v, %d changes", m.matrix.level, m.snap.doc.Healthy, len(m.changes.log))
	}
}

// The real program: keys in, the last frame out.
func TestProgramFrame(t *testing.T) {
	s := newScreen(t, demo(), 80, 24, plain, func(o *Options) { o.Actions.Replace = func(string) error { return nil } })
	tm := teatest.NewTestModel(t, s.model, teatest.WithInitialTermSize(80, 24))
	for _, k := range []string{"z", "enter", "tab", "tab", "r", "esc", "down", "y"} {
		if key, ok := special[k]; ok {
			tm.Send(tea.KeyPressMsg(key))
		} else {
			tm.Type(k)
		}
	}
	c := demo().snapshot()
	tm.Send(Loaded{NewSnapshot(c, statusOf(c, start), s.last, true, start)})
	tm.Send(Contact{})
	if err := tm.Quit(); err != nil {
		t.Fatal(err)
	}
	m, ok := tm.FinalModel(t, teatest.WithFinalTimeout(30*time.Second)).(*model)
	if !ok {
		t.Fatal("no model")
	}
	screenFile(t, "program_80x24", m.Frame())
}

// terminalOf is a terminal that sends keys and then nothing until it is closed.
func terminalOf(keys string) (Terminal, io.Closer) {
	r, w := io.Pipe()
	go func() { _, _ = io.WriteString(w, keys) }()
	return Terminal{In: r, Out: &bytes.Buffer{}, Environ: []string{"TERM=xterm-256color"}}, w
}

func TestRunEnds(t *testing.T) {
	cases := map[string]struct {
		keys   string
		cancel bool
		want   error
	}{
		"by q":          {keys: "q"},
		"by ctrl+c":     {keys: "\x03", want: ErrInterrupted},
		"by the caller": {cancel: true, want: context.Canceled},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			term, closer := terminalOf(c.keys)
			m := newScreen(t, demo(), 80, 24).model
			ended := false
			err := Run(ctx, m, term, func(ctx context.Context, send func(any)) {
				send(Contact{})
				if c.cancel {
					cancel()
				}
				<-ctx.Done()
				send(Contact{}) // no receiver is left, and send must not block
				ended = true
			})
			if closer.Close() != nil || !ended {
				t.Error("the feed has not ended")
			}
			if !errors.Is(err, c.want) || c.want == nil && err != nil {
				t.Errorf("Run ends with %v, want %v", err, c.want)
			}
		})
	}
}
