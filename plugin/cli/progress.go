// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"sync"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const (
	progressQuiet  = time.Second            // shorter work shows nothing
	progressTick   = 120 * time.Millisecond // of the live line
	progressRepeat = 30 * time.Second       // of an unchanged plain line
)

// Progress shows the current activity on standard error. A terminal gets one live line. Other
// outputs get a plain line at each change, repeated at intervals.
type Progress struct {
	d      *Deps
	start  time.Time
	tty    bool
	frames []string
	limit  time.Duration // total time limit; zero for none

	mu      sync.Mutex
	text    string
	changed bool
	shown   bool      // the live line is on the screen
	last    time.Time // time of the last plain line

	stop chan struct{}
	done chan struct{}
	// silent is set while another Progress is shown: two live lines would overwrite each other.
	silent bool
}

// NewProgress starts output after quiet; zero starts at once. While another Progress is shown, this
// one shows nothing. Stop must be called.
func (d *Deps) NewProgress(text string, quiet time.Duration) *Progress {
	return d.newProgress(text, quiet, 0)
}

// NewLimitedProgress is NewProgress without delay, for a wait with a time limit: it shows the
// elapsed time of limit.
func (d *Deps) NewLimitedProgress(text string, limit time.Duration) *Progress {
	return d.newProgress(text, 0, limit)
}

func (d *Deps) newProgress(text string, quiet, limit time.Duration) *Progress {
	if !d.telling.CompareAndSwap(false, true) {
		return &Progress{silent: true}
	}
	p := &Progress{d: d, start: d.Clock.Now(), limit: limit, text: text, changed: true, stop: make(chan struct{}),
		done: make(chan struct{})}
	p.tty = d.Terminal().Err && d.env("TERM") != "dumb"
	p.frames = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}
	if !show.Unicode(d.Environ) {
		p.frames = []string{"|", "/", "-", "\\"}
	}
	if quiet == 0 {
		p.show(0)
	}
	go p.run(quiet)
	return p
}

// Busy is NewProgress for work that usually takes less than a second.
func (d *Deps) Busy(text string) *Progress { return d.NewProgress(text, progressQuiet) }

// Update changes the text. On a terminal the live line follows at the next tick.
func (p *Progress) Update(text string) {
	if p.silent {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if text == p.text {
		return
	}
	p.text, p.changed = text, true
	if !p.tty && !p.last.IsZero() {
		p.plain()
	}
}

// Stop removes the live line. After it returns, nothing more is written.
func (p *Progress) Stop() {
	if p.silent {
		return
	}
	close(p.stop)
	<-p.done
	p.d.telling.Store(false)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		p.raw("\r\x1b[K")
		p.shown = false
	}
}

func (p *Progress) run(quiet time.Duration) {
	defer close(p.done)
	if quiet > 0 {
		t := p.d.Clock.NewTimer(quiet)
		defer t.Stop()
		select {
		case <-p.stop:
			return
		case <-t.C():
			p.show(0)
		}
	}
	every := progressTick
	if !p.tty {
		every = time.Second
	}
	tick := p.d.Clock.NewTicker(every)
	defer tick.Stop()
	for frame := 1; ; frame++ {
		select {
		case <-p.stop:
			return
		case <-tick.C():
			p.show(frame)
		}
	}
}

func (p *Progress) show(frame int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.tty {
		if p.changed || p.d.Clock.Since(p.last) >= progressRepeat {
			p.plain()
		}
		return
	}
	line := fmt.Sprintf("%s %s (%s)", p.frames[frame%len(p.frames)], show.Clean(p.text), p.elapsed())
	if w := p.d.Terminal().Width; w > 1 {
		line = show.Shorten(line, w-1, false, "…")
	}
	p.raw("\r" + line + "\x1b[K")
	p.shown = true
}

// raw bypasses the colour writer: cursor movement is not colour, and only a terminal gets it.
func (p *Progress) raw(text string) { _, _ = fmt.Fprint(p.d.Streams.ErrOut, text) }

func (p *Progress) plain() {
	p.changed, p.last = false, p.d.Clock.Now()
	text := show.Clean(p.text)
	if p.limit > 0 {
		text += " (" + p.elapsed() + ")"
	}
	p.raw(text + "\n")
}

// elapsed returns the elapsed time and the limit.
func (p *Progress) elapsed() string {
	text := words.Age(p.d.Clock.Since(p.start))
	if p.limit > 0 {
		text += " of " + words.Age(p.limit)
	}
	return text
}
