// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"context"
	"log/slog"
	"sync"
	"time"
	"unicode/utf8"

	"k8s.io/utils/clock"
)

// Limits of a waiting barrier's log, because nodes that go DOWN and come back all the time would fill a disk: at first, and per hour.
const (
	logAtOnce  = 80_000
	logPerHour = 300_000
	// logLine is the largest length of one text in a line; lineRoom is the length of a line beside its texts.
	logLine  = 2_000
	lineRoom = 200
)

// budget is a handler that drops lines once they exceed the limit, and adds to the next line how many were dropped. Lines that must not be dropped are written to the handler
// behind it.
type budget struct {
	slog.Handler
	*purse
}

type purse struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	left    float64 // bytes
	at      time.Time
	skipped int
}

func newBudget(h slog.Handler, clk clock.PassiveClock) *budget {
	return &budget{Handler: h, purse: &purse{clock: clk, left: logAtOnce, at: clk.Now()}}
}

// Handle implements slog.Handler.
func (b *budget) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, cutText(r.Message), r.PC)
	cost := lineRoom + len(out.Message)
	r.Attrs(func(a slog.Attr) bool {
		switch v := a.Value.Any().(type) {
		case string:
			a.Value = slog.StringValue(cutText(v))
			cost += len(a.Value.String())
		case []string:
			cut := make([]string, len(v))
			for i := range v {
				cut[i] = cutText(v[i])
				cost += len(cut[i])
			}
			a.Value = slog.AnyValue(cut)
		default:
			cost += len(a.Value.String())
		}
		cost += len(a.Key)
		out.AddAttrs(a)
		return true
	})
	skipped, ok := b.pay(cost + cost/8) // quotes and escapes
	if !ok {
		return nil
	}
	if skipped > 0 {
		out.AddAttrs(slog.Int("linesLeftOut", skipped))
	}
	return b.Handler.Handle(ctx, out)
}

// pay takes the cost of a line where the purse has enough.
func (p *purse) pay(cost int) (skipped int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	p.left = min(logAtOnce, p.left+float64(logPerHour)*max(0, now.Sub(p.at).Hours()))
	p.at = now
	if p.left < float64(cost) {
		p.skipped++
		return 0, false
	}
	p.left -= float64(cost)
	skipped, p.skipped = p.skipped, 0
	return skipped, true
}

// WithAttrs implements slog.Handler.
func (b *budget) WithAttrs(a []slog.Attr) slog.Handler {
	return &budget{Handler: b.Handler.WithAttrs(a), purse: b.purse}
}

// WithGroup implements slog.Handler.
func (b *budget) WithGroup(name string) slog.Handler {
	return &budget{Handler: b.Handler.WithGroup(name), purse: b.purse}
}

func cutText(text string) string {
	if len(text) <= logLine {
		return text
	}
	cut := logLine
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "..."
}
