// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
)

// Feed sends Loaded, Contact and Lost until ctx ends, and returns after its last message. send
// blocks while the dashboard is busy.
type Feed func(ctx context.Context, send func(msg any))

// ErrInterrupted means that the user pressed Ctrl-C.
var ErrInterrupted = errors.New("interrupted")

// Terminal is where the dashboard runs.
type Terminal struct {
	// In is nil if standard input is not the terminal: keys then come from the controlling
	// terminal.
	In      io.Reader
	Out     io.Writer
	Environ []string
}

// Run shows the dashboard until the user leaves it or ctx ends. Errors: ErrInterrupted; ErrChoose;
// ctx's; the terminal's. feed may be nil.
func Run(ctx context.Context, m *model, term Terminal, feed Feed) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := program(ctx, m, term, m.opts.Profile)
	var wg sync.WaitGroup
	if feed != nil {
		wg.Go(func() { feed(ctx, func(msg any) { p.Send(msg) }) })
	}
	_, err := p.Run()
	interrupted := ctx.Err()
	cancel()
	wg.Wait()
	switch {
	case m.interrupted:
		return ErrInterrupted
	case interrupted != nil:
		return interrupted
	case err != nil:
		return terminalFailed(err)
	case m.choose:
		return ErrChoose
	}
	return nil
}

func terminalFailed(err error) error { return fmt.Errorf("run the dashboard: %w", err) }

// program runs a model on the terminal.
func program(ctx context.Context, m tea.Model, term Terminal, profile colorprofile.Profile) *tea.Program {
	options := []tea.ProgramOption{
		tea.WithContext(ctx), tea.WithOutput(term.Out), tea.WithEnvironment(term.Environ), tea.WithoutSignalHandler(),
	}
	if term.In != nil {
		options = append(options, tea.WithInput(term.In))
	}
	// Without colours the renderer keeps bold and underline; the model paints nothing for NoTTY.
	return tea.NewProgram(m, append(options, tea.WithColorProfile(max(profile, colorprofile.ASCII)))...)
}

// Once draws one frame of width x height cells and reads no key.
func Once(s *Snapshot, opts Options, width, height int) string {
	m := NewModel(s, opts)
	m.once = true
	m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	return m.Frame()
}
